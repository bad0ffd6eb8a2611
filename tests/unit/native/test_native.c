/* test_native.c -- filters, tests, globals and methods called with JSON arguments; results as
 * Python's repr.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "native/native.h"
#include "value/json_read.h"
#include "value/label.h"
#include "value/pyvalues.h"
#include "value/text.h"

#include "base/banned.h"

typedef struct {
    const char *what; /* "|name" filter, "?name" test, ".name" method */
    const char *value, *args,
        *kw;          /* JSON: any, array, object or NULL; the value "undefined" is undefined */
    const char *want; /* repr of the result, or "!message" */
} row;

static double half(void *user) {
    (void)user;
    return 0.5;
}

static pdl_val json(const char *z) {
    pdl_val v = pdl_null();
    pdl_err err = {0};
    if (pdl_str_is(t_str(z), "undefined")) return pdl_undefined(pdl_textz("'u' is undefined"));
    t_assert(pdl_json_read(t_str(z), 0, &v, NULL, &err));
    return v;
}

static const pdl_native *find(const char *what, pdl_vref value) {
    pdl_str name = t_str(what + 1);
    if (*what == '|') return pdl_filter_find(name);
    return *what == '?' ? pdl_test_find(name) : pdl_method_find(value, name);
}

enum { MAX_ARGS = 8 };

static void check(const row *r, const pdl_native_env *env) {
    pdl_val value = json(r->value), args = json(r->args ? r->args : "[]"),
            kw = json(r->kw ? r->kw : "{}"), got;
    const pdl_native *n = find(r->what, value);
    t_assert(n != NULL);
    pdl_val pos[MAX_ARGS] = {value}, kv[MAX_ARGS];
    pdl_str names[MAX_ARGS];
    for (size_t i = 0; i < pdl_list_len(args); i++) pos[i + 1] = pdl_list_at(args, i);
    for (size_t i = 0; i < pdl_dict_len(kw); i++) {
        names[i] = pdl_str_get(pdl_dict_key_at(kw, i));
        kv[i] = pdl_dict_val_at(kw, i);
    }
    pdl_err err = {0};
    pdl_buf b = PDL_BUF;
    const pdl_call_args given = {pos, 1 + pdl_list_len(args), names, kv, pdl_dict_len(kw), 0};
    if (pdl_native_call(n, env, &given, &got, &err)) {
        t_assert(pdl_val_repr(got, &b, &err));
        pdl_drop(got);
    } else {
        pdl_buf_putf(&b, "!%s", err.msg);
    }
    t_assert_str(pdl_buf_str(&b), r->want);
    pdl_buf_fini(&b);
    pdl_err_fini(&err);
    pdl_drop(value), pdl_drop(args), pdl_drop(kw);
}

static void check_rows(const row *rows, size_t n, const pdl_native_env *env) {
    size_t start = pdl_live_objects();
    for (size_t i = 0; i < n; i++) {
        T_ROW(i);
        check(&rows[i], env);
        t_assert(pdl_live_objects() == start);
    }
}

static const row strict[] = {
    {"|abs", "-3", NULL, NULL, "3"},
    {"|batch", "[1,2,3]", "[2,\"x\"]", NULL, "[[1, 2], [3, 'x']]"},
    {"|capitalize", "\"hELLO\"", NULL, NULL, "'Hello'"},
    {"|center", "\"ab\"", "[5]", NULL, "'  ab '"},
    {"|default", "undefined", "[5]", NULL, "5"},
    {"|default", "\"\"", "[5]", "{\"boolean\":true}", "5"},
    {"|dictsort", "{\"b\":1,\"A\":2}", NULL, NULL, "[('A', 2), ('b', 1)]"},
    {"|escape", "\"<a> & 'b'\"", NULL, NULL, "Markup('&lt;a&gt; &amp; &#39;b&#39;')"},
    {"|filesizeformat", "1500", NULL, NULL, "'1.5 kB'"},
    {"|filesizeformat", "1048576", "[true]", NULL, "'1.0 MiB'"},
    {"|first", "[]", NULL, NULL, "Undefined"},
    {"|float", "\"1_0.5\"", NULL, NULL, "10.5"},
    {"|float", "\"x\"", NULL, NULL, "0.0"},
    {"|format", "\"%s-%05.1f\"", "[1,2.25]", NULL, "'1-002.2'"},
    {"|groupby", "[{\"a\":\"X\"},{\"a\":\"y\"},{\"a\":\"x\"}]", "[\"a\"]", NULL,
     "[('X', [{'a': 'X'}, {'a': 'x'}]), ('y', [{'a': 'y'}])]"},
    {"|indent", "\"a\\nb\\n\\nc\"", "[2]", NULL, "'a\\n  b\\n\\n  c'"},
    {"|int", "\"0x1f\"", "[0,16]", NULL, "31"},
    {"|int", "\"3.7\"", NULL, NULL, "3"},
    {"|join", "[1,null,\"a\"]", "[\",\"]", NULL, "'1,None,a'"},
    {"|length", "5", NULL, NULL, "!object of type 'int' has no len()"},
    {"|map", "[\"a\",\"b\"]", "[\"upper\"]", NULL, "['A', 'B']"},
    {"|map", "[{\"a\":{\"b\":1}},{}]", NULL, "{\"attribute\":\"a.b\",\"default\":0}", "[1, 0]"},
    {"|map", "[1]", "[\"nosuch\"]", NULL, "!No filter named 'nosuch'."},
    {"|max", "[\"b\",\"C\",\"a\"]", NULL, NULL, "'C'"},
    {"|random", "[1,2,3]", NULL, NULL, "2"},
    {"|replace", "\"aaa\"", "[\"a\",\"b\",2]", NULL, "'bba'"},
    {"|replace", "\"a\"", "[\"a\"]", NULL,
     "!do_replace() missing 1 required positional argument: 'new'"},
    {"|reverse", "\"a\u00e9\"", NULL, NULL, "'\u00e9a'"},
    {"|round", "2.5", NULL, NULL, "2.0"},
    {"|round", "2.675", "[2]", NULL, "2.67"},
    {"|round", "1250", "[-2]", NULL, "1200"},
    {"|round", "42.5", "[0,\"floor\"]", NULL, "42.0"},
    {"|round", "1", NULL, "{\"x\":1}", "!do_round() got an unexpected keyword argument 'x'"},
    {"|round", "1", "[1]", "{\"precision\":1}",
     "!do_round() got multiple values for argument 'precision'"},
    {"|round", "1", "[1,2,3]", NULL,
     "!do_round() takes from 1 to 3 positional arguments but 4 were given"},
    {"|select", "[1,2,3]", "[\"odd\"]", NULL, "[1, 3]"},
    {"|rejectattr", "[{\"a\":1},{\"a\":0}]", "[\"a\"]", NULL, "[{'a': 0}]"},
    {"|slice", "[1,2,3,4]", "[3]", NULL, "[[1, 2], [3], [4]]"},
    {"|sort", "[{\"a\":1,\"b\":2},{\"a\":1,\"b\":1}]", NULL, "{\"attribute\":\"a,b\"}",
     "[{'a': 1, 'b': 1}, {'a': 1, 'b': 2}]"},
    {"|sort", "[1,\"a\"]", NULL, NULL, "!'<' not supported between instances of 'str' and 'int'"},
    {"|striptags", "\"<b>x</b>  &amp; <!-- > -->y\"", NULL, NULL, "'x & y'"},
    {"|sum", "[{\"a\":1},{\"a\":2}]", "[\"a\",10]", NULL, "13"},
    {"|title", "\"foo-bar (baz) it's\"", NULL, NULL, "\"Foo-Bar (Baz) It's\""},
    {"|tojson", "{\"b\":1,\"a\":\"<\u00e9>\"}", NULL, NULL,
     "Markup('{\"a\": \"\\\\u003c\\\\u00e9\\\\u003e\", \"b\": 1}')"},
    {"|tojson", "[1,{\"a\":2}]", "[\"--\"]", NULL,
     "Markup('[\\n--1,\\n--{\\n----\"a\": 2\\n--}\\n]')"},
    {"|tojson", "[1,[]]", "[0]", NULL, "Markup('[\\n1,\\n[]\\n]')"},
    {"|truncate", "\"hello world foo\"", "[8]", NULL, "'hello...'"},
    {"|truncate", "\"hello\"", "[8.5]", NULL, "'hello'"},
    {"|truncate", "\"hello world\"", "[8.5,true,\"\",0]", NULL,
     "!slice indices must be integers or None or have an __index__ method"},
    {"|truncate", "\"a\"", "[\"a\"]", NULL,
     "!'>=' not supported between instances of 'str' and 'int'"},
    {"|wordwrap", "\"\"", "[null]", NULL, "''"},
    {"|unique", "[\"a\",\"A\",1,1.0]", NULL, NULL, "['a', 1]"},
    {"|upper", "undefined", NULL, NULL, "!'u' is undefined"},
    {"|urlencode", "{\"a b\":\"/\u00e9\"}", NULL, NULL, "'a+b=%2F%C3%A9'"},
    {"|urlize", "\"see (www.x.org).\"", NULL, NULL,
     "'see (<a href=\"https://www.x.org\" rel=\"noopener\">www.x.org</a>).'"},
    {"|wordwrap", "\"well-known words\"", "[6]", NULL, "'well-\\nknown\\nwords'"},
    {"|xmlattr", "{\"a\":1,\"b\":null,\"c\":\"<\"}", NULL, NULL, "' a=\"1\" c=\"&lt;\"'"},
    {"?divisibleby", "9", "[3]", NULL, "True"},
    {"?in", "\"a\"", "[\"abc\"]", NULL, "True"},
    {"?sequence", "\"a\"", NULL, NULL, "True"},
    {"?integer", "true", NULL, NULL, "False"},
    {"?defined", "undefined", NULL, NULL, "False"},
    {"?filter", "\"upper\"", NULL, NULL, "True"},
    {".append", "[1]", "[2]", NULL, "([1, 2], None)"},
    {".pop", "{\"a\":1}", "[\"a\"]", NULL, "({}, 1)"},
    {".pop", "[]", NULL, NULL, "!pop from empty list"},
    {".sort", "[2,1]", NULL, "{\"reverse\":true}", "([2, 1], None)"},
    {".items", "{\"a\":1}", NULL, NULL, "dict_items([('a', 1)])"},
    {".split", "\" a  b \"", NULL, NULL, "['a', 'b']"},
    {".split", "\" a  b c \"", "[null,1]", NULL, "['a', 'b c ']"},
    {".rsplit", "\" a b c \"", "[null,1]", NULL, "[' a b', 'c']"},
    {".sort", "[2,1]", "[null]", NULL, "!sort() takes no positional arguments"},
    {".find", "\"a\"", NULL, "{\"sub\":\"a\"}", "!find() takes no keyword arguments"},
    {".find", "\"a\"", NULL, NULL, "!find() takes at least 1 argument (0 given)"},
    {".rsplit", "\"a,b,c\"", "[\",\",1]", NULL, "['a,b', 'c']"},
    {".upper", "\"a\"", "[1]", NULL, "!str.upper() takes no arguments (1 given)"},
    {".upper", "\"a\"", "[1]", "{\"x\":1}", "!str.upper() takes no keyword arguments"},
    {".replace", "\"a\"", "[\"a\"]", NULL, "!replace expected at least 2 arguments, got 1"},
    {".find", "\"\u00e9ab\"", "[\"b\"]", NULL, "2"},
    {".format", "\"{a[0]} {:>4}\"", "[5]", "{\"a\":[1]}", "'1    5'"},
    {".hex", "1.5", NULL, NULL, "'0x1.8000000000000p+0'"},
    {".bit_length", "255", NULL, NULL, "8"},
};

static const row lenient[] = {
    {"|upper", "undefined", NULL, NULL, "''"},
    {"|length", "undefined", NULL, NULL, "0"},
    {"|list", "undefined", NULL, NULL, "[]"},
    {"|sum", "undefined", NULL, NULL, "0"},
    {"|int", "undefined", NULL, NULL, "!'u' is undefined"},
    {"|abs", "undefined", NULL, NULL, "!bad operand type for abs(): 'Undefined'"},
    {"|attr", "undefined", "[\"x\"]", NULL, "!'u' is undefined"},
    {"?odd", "undefined", NULL, NULL, "!'u' is undefined"},
    {"?iterable", "undefined", NULL, NULL, "True"},
};

static void results_are_pythons(void **state) {
    (void)state;
    const pdl_native_env env = {.random = half};
    check_rows(strict, T_LEN(strict), &env);
}

static void lenient_undefined_is_empty(void **state) {
    (void)state;
    const pdl_native_env env = {.lenient = true};
    check_rows(lenient, T_LEN(lenient), &env);
}

/* Look-ups are binary searches. */
static void tables_are_sorted(void **state) {
    (void)state;
    for (size_t k = 0; k < PDL_NATIVE_TABLES; k++) {
        const pdl_native_table table = pdl_native_table_at(k);
        const pdl_native *rows = table.rows;
        for (size_t i = 1; i < table.n; i++) {
            T_ROW(i);
            if (strcmp(rows[i - 1].name, rows[i].name) >= 0)
                fail_msg("%s: '%s' must not stand before '%s': rows are in the order of names",
                         table.title, rows[i - 1].name, rows[i].name);
            t_assert(rows[i].n_max <= PDL_NATIVE_MAX_ARGS && rows[i].n_min <= rows[i].n_max);
        }
    }
    const char *const methods[] = {"capitalize", "casefold",     "center",       "count",
                                   "encode",     "format_map",   "isalnum",      "isupper",
                                   "join",       "removesuffix", "rstrip",       "splitlines",
                                   "swapcase",   "translate",    "removeprefix", "zfill"};
    pdl_val s = pdl_textz("x");
    for (size_t i = 0; i < T_LEN(methods); i++) {
        T_ROW(i);
        t_assert(pdl_method_find(s, t_str(methods[i])) != NULL);
    }
    t_assert(!pdl_method_find(s, t_str("__class__")));
    pdl_drop(s);
    t_assert_str(pdl_filter_near(t_str("uper")), "upper");
}

static void cells_keep_state(void **state) {
    (void)state;
    size_t start = pdl_live_objects();
    const pdl_native_env env = {0};
    pdl_err err = {0};
    pdl_val ns, x, j;
    const pdl_str names[] = {PDL_STR("n")};
    const pdl_val values[] = {pdl_int(1)};
    const pdl_call_args named = {NULL, 0, names, values, 1, 0}, nothing = {0};
    t_assert(pdl_native_call(pdl_global_find(t_str("namespace")), &env, &named, &ns, &err));
    t_assert(pdl_is_namespace(ns) && pdl_namespace_set(ns, t_str("n"), pdl_int(5), &err));
    t_assert(pdl_attr(ns, t_str("n"), &x, &err) && pdl_int_of(x) == 5);
    t_assert(
        !pdl_namespace_set(ns, t_str("me"), pdl_list_push(pdl_list_new(1), pdl_keep(ns)), &err));
    pdl_err_fini(&err);
    t_assert(pdl_native_call(pdl_global_find(t_str("joiner")), &env, &nothing, &j, &err));
    const char *const want[] = {"", ", ", ", "};
    for (size_t i = 0; i < T_LEN(want); i++) {
        bool handled;
        t_assert(pdl_cell_call(j, 0, &handled, &x, &err) && handled && pdl_text_is(x, want[i]));
        pdl_drop(x);
    }
    pdl_drop(ns), pdl_drop(j);
    t_assert(pdl_live_objects() == start);
}

static void labels_join(void **state) {
    (void)state;
    const pdl_native_env env = {0};
    pdl_err err = {0};
    pdl_val x, pos[3] = {pdl_with_label(pdl_textz("ab"), 1), pdl_textz("b"),
                         pdl_with_label(pdl_textz("c"), 4)};
    const pdl_call_args args = {.pos = pos, .n_pos = 3};
    t_assert(pdl_native_call(pdl_filter_find(t_str("replace")), &env, &args, &x, &err));
    t_assert(pdl_text_is(x, "ac") && pdl_label_origins(pdl_label_of(x)) == 5);
    pdl_drop(x);
    for (size_t i = 0; i < 3; i++) pdl_drop(pos[i]);
}

/* The page of builtins and hover texts are made of these. */
static void test_every_row_has_a_sentence(void **state) {
    (void)state;
    for (size_t i = 0; i < PDL_NATIVE_TABLES; i++) {
        pdl_native_table t = pdl_native_table_at(i);
        assert_true(t.n > 0 && t.title[0]);
        for (size_t k = 0; k < t.n; k++) {
            const char *doc = t.rows[k].doc;
            size_t len = strlen(doc);
            if (len < 5 || doc[len - 1] != '.')
                fail_msg("%s %s: \"%s\" is no sentence", t.title, t.rows[k].name, doc);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_has_a_sentence),
        cmocka_unit_test(results_are_pythons),
        cmocka_unit_test(lenient_undefined_is_empty),
        cmocka_unit_test(tables_are_sorted),
        cmocka_unit_test(cells_keep_state),
        cmocka_unit_test(labels_join),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
