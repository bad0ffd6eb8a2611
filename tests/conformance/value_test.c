/* value_test.c -- build/pdl-value-test: answers the protocol of tests/conformance/values.
 * `value-test KIND` reads cases on standard input, one JSON object a line, and writes one answer a
 * line. Not installed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/compile.h"
#include "lang/block.h"
#include "parse/parse.h"
#include "types/type.h"
#include "value/int.h"
#include "value/json_read.h"
#include "value/json_write.h"
#include "value/pyvalues.h"
#include "value/text.h"
#include "vm/vm.h"
#include "yaml/yaml.h"

typedef struct {
    const char *kind, *message;
    char *owned;
    uint32_t line, column;
} fault;

/* --- values in JSON --------------------------------------------------------------------------- */

static pdl_val decode(pdl_vref v);

static pdl_val decode_items(pdl_vref items) {
    pdl_val l = pdl_list_new(pdl_list_len(items));
    for (size_t i = 0; i < pdl_list_len(items); i++)
        l = pdl_list_push(l, decode(pdl_list_at(items, i)));
    return l;
}

static pdl_val decode_time(pdl_str text) {
    pdl_time t;
    bool date;
    pdl_val out = pdl_null();
    pdl_err err = {0};
    if (!pdl_time_read(text, &date, &t)) return out;
    if (date ? !pdl_date_new(&t, &out, &err) : !pdl_datetime_new(&t, &out, &err))
        pdl_err_fini(&err);
    return out;
}

static pdl_val decode_py(pdl_vref v, pdl_str kind) {
    pdl_vref items = pdl_dict_getz(v, "items"), value = pdl_dict_getz(v, "value");
    if (pdl_str_is(kind, "float")) return pdl_float(strtod(pdl_str_get(value).p, NULL));
    if (pdl_str_is(kind, "tuple")) return pdl_list_as_tuple(decode_items(items));
    if (pdl_str_is(kind, "dict")) {
        pdl_val d = pdl_dict_new(4);
        for (size_t i = 0; i < pdl_list_len(items); i++)
            d = pdl_dict_put(d, decode(pdl_list_at(pdl_list_at(items, i), 0)),
                             decode(pdl_list_at(pdl_list_at(items, i), 1)));
        return d;
    }
    if (pdl_str_is(kind, "set")) {
        pdl_val d = pdl_dict_new(4);
        for (size_t i = 0; i < pdl_list_len(items); i++)
            d = pdl_dict_put(d, decode(pdl_list_at(items, i)), pdl_null());
        return pdl_set_from_dict(d);
    }
    if (pdl_str_is(kind, "bytes")) {
        pdl_str hex = pdl_str_get(pdl_dict_getz(v, "hex"));
        pdl_buf b = PDL_BUF;
        for (size_t i = 0; i + 1 < hex.n; i += 2) {
            char two[3] = {hex.p[i], hex.p[i + 1], 0};
            pdl_buf_putc(&b, (char)strtol(two, NULL, 16));
        }
        pdl_val out = pdl_bytes(pdl_buf_str(&b));
        pdl_buf_fini(&b);
        return out;
    }
    if (pdl_str_is(kind, "range")) {
        pdl_vref a = pdl_dict_getz(v, "args");
        return pdl_range_new(pdl_int_of(pdl_list_at(a, 0)), pdl_int_of(pdl_list_at(a, 1)),
                             pdl_int_of(pdl_list_at(a, 2)));
    }
    return decode_time(pdl_str_get(value));
}

static pdl_val decode(pdl_vref v) {
    if (pdl_is_list(v)) return decode_items(v);
    if (!pdl_is_dict(v)) return pdl_keep(v);
    pdl_vref kind = pdl_dict_getz(v, "$py");
    if (pdl_is_str(kind)) return decode_py(v, pdl_str_get(kind));
    pdl_val d = pdl_dict_new(pdl_dict_len(v));
    for (size_t i = 0; i < pdl_dict_len(v); i++)
        d = pdl_dict_put(d, pdl_keep(pdl_dict_key_at(v, i)), decode(pdl_dict_val_at(v, i)));
    return d;
}

static void encode(pdl_vref v, pdl_buf *b);

static void encode_list(pdl_vref v, pdl_buf *b) {
    pdl_val list;
    pdl_err err = {0};
    if (!pdl_val_to_list(v, &list, &err)) {
        pdl_err_fini(&err);
        PDL_PUT(b, "null");
        return;
    }
    pdl_buf_putc(b, '[');
    for (size_t i = 0; i < pdl_list_len(list); i++) {
        if (i) PDL_PUT(b, ", ");
        encode(pdl_list_at(list, i), b);
    }
    pdl_buf_putc(b, ']');
    pdl_drop(list);
}

static bool string_keys(pdl_vref d) {
    for (size_t i = 0; i < pdl_dict_len(d); i++)
        if (!pdl_is_str(pdl_dict_key_at(d, i)) || pdl_text_is(pdl_dict_key_at(d, i), "$py"))
            return false;
    return true;
}

static void encode_dict(pdl_vref v, pdl_buf *b) {
    bool plain = string_keys(v);
    PDL_PUT(b, "{");
    if (!plain) PDL_PUT(b, "\"$py\": \"dict\", \"items\": [");
    for (size_t i = 0; i < pdl_dict_len(v); i++) {
        if (i) PDL_PUT(b, ", ");
        if (!plain) pdl_buf_putc(b, '[');
        encode(pdl_dict_key_at(v, i), b);
        pdl_buf_put(b, plain ? PDL_STR(": ") : PDL_STR(", "));
        encode(pdl_dict_val_at(v, i), b);
        if (!plain) pdl_buf_putc(b, ']');
    }
    if (!plain) pdl_buf_putc(b, ']');
    pdl_buf_putc(b, '}');
}

static int by_repr(const void *a, const void *b) {
    pdl_buf x = PDL_BUF, y = PDL_BUF;
    pdl_val_show(*(const pdl_val *)a, true, 1000, &x);
    pdl_val_show(*(const pdl_val *)b, true, 1000, &y);
    int c = pdl_str_cmp(pdl_buf_str(&x), pdl_buf_str(&y));
    pdl_buf_fini(&x);
    pdl_buf_fini(&y);
    return c;
}

static void encode_set(pdl_vref v, pdl_buf *b) {
    size_t n = pdl_dict_len(pdl_set_dict(v));
    pdl_val *all = PDL_NEW_N(pdl_val, n);
    for (size_t i = 0; i < n; i++) all[i] = pdl_dict_key_at(pdl_set_dict(v), i);
    qsort(all, n, sizeof *all, by_repr);
    PDL_PUT(b, "{\"$py\": \"set\", \"items\": [");
    for (size_t i = 0; i < n; i++) {
        if (i) PDL_PUT(b, ", ");
        encode(all[i], b);
    }
    PDL_PUT(b, "]}");
    pdl_free(all);
}

static void encode_py(pdl_vref v, const char *kind, pdl_buf *b) {
    pdl_buf_putf(b, "{\"$py\": \"%s\", \"value\": \"", kind);
    if (pdl_is(v, PDL_V_FLOAT))
        pdl_val_show(v, false, 100, b);
    else
        pdl_time_iso(v, ' ', b);
    PDL_PUT(b, "\"}");
}

static void encode_bytes(pdl_vref v, pdl_buf *b) {
    pdl_str s = pdl_bytes_get(v);
    PDL_PUT(b, "{\"$py\": \"bytes\", \"hex\": \"");
    for (size_t i = 0; i < s.n; i++) pdl_buf_putf(b, "%02x", (unsigned char)s.p[i]);
    PDL_PUT(b, "\"}");
}

static void encode(pdl_vref v, pdl_buf *b) {
    pdl_err err = {0};
    switch ((int)pdl_tag_of(v)) {
    case PDL_V_LIST: encode_list(v, b); return;
    case PDL_V_TUPLE:
        PDL_PUT(b, "{\"$py\": \"tuple\", \"items\": ");
        encode_list(v, b);
        PDL_PUT(b, "}");
        return;
    case PDL_V_DICT: encode_dict(v, b); return;
    case PDL_V_SET: encode_set(v, b); return;
    case PDL_V_BYTES: encode_bytes(v, b); return;
    case PDL_V_DATE: encode_py(v, "date", b); return;
    case PDL_V_DATETIME: encode_py(v, "datetime", b); return;
    case PDL_V_RANGE: {
        int64_t x, y, z;
        pdl_range_get(v, &x, &y, &z);
        pdl_buf_putf(b, "{\"$py\": \"range\", \"args\": [%lld, %lld, %lld]}", (long long)x,
                     (long long)y, (long long)z);
        return;
    }
    case PDL_V_VIEW: {
        static const char *const names[] = {"dict_keys", "dict_values", "dict_items"};
        pdl_buf_putf(b, "{\"$py\": \"%s\", \"items\": ", names[pdl_view_kind_of(v)]);
        encode_list(v, b);
        PDL_PUT(b, "}");
        return;
    }
    case PDL_V_FLOAT: {
        double d = pdl_float_of(v);
        if (d != d || d - d != 0) {
            encode_py(v, "float", b);
            return;
        }
        break;
    }
    default: break;
    }
    if (!pdl_json_write(v, PDL_JSON_SPACED | PDL_JSON_LOOSE, 0, b, &err)) {
        pdl_err_fini(&err);
        PDL_PUT(b, "null");
    }
}

/* --- evaluators ------------------------------------------------------------------------------- */

static pdl_interner *names;

static bool fail(pdl_err *err, fault *f) {
    const char *cls = err->py_class ? err->py_class : err->kind == PDL_E_limit ? "Limit" : "Error";
    size_t comma = strcspn(cls, ",");
    pdl_buf b = PDL_BUF;
    pdl_buf_put(&b, (pdl_str){cls, comma});
    pdl_buf_putc(&b, 0);
    pdl_buf_putf(&b, "%s", err->msg ? err->msg : "");
    f->owned = pdl_buf_take(&b);
    f->kind = f->owned;
    f->message = f->owned + comma + 1;
    pdl_err_fini(err);
    return false;
}

static bool run_code(pdl_code *code, pdl_vref scope, pdl_val *out, fault *f) {
    pdl_run_options opt = {.names = names, .world = pdl_null_world()};
    pdl_run *r = pdl_run_new(&opt);
    pdl_run_start(r, code, scope);
    bool ok = pdl_run_wait(r) == PDL_STEP_DONE;
    if (ok) {
        *out = pdl_keep(pdl_run_result(r));
    } else {
        pdl_err err = {0};
        pdl_err_copy(&err, pdl_run_error(r));
        fail(&err, f);
    }
    pdl_run_free(r);
    return ok;
}

/* A tree of data whose strings are expressions, as lang makes them from a program. */
static const pdl_tree *tree_of(pdl_arena *a, pdl_vref v) {
    pdl_tree *t = pdl_arena_new(a, pdl_tree);
    t->value = pdl_null();
    if (pdl_is_str(v)) {
        t->kind = PDL_TREE_EXPR;
        t->text = pdl_expr_read(a, pdl_str_get(v), &pdl_known_xnames);
    } else if (pdl_is_list(v) || pdl_is_dict(v)) {
        bool map = pdl_is_dict(v);
        t->kind = map ? PDL_TREE_MAP : PDL_TREE_LIST;
        t->n = (uint32_t)(map ? pdl_dict_len(v) : pdl_list_len(v));
        t->items = pdl_arena_new_n(a, const pdl_tree *, t->n);
        t->keys = pdl_arena_new_n(a, const pdl_tree *, t->n);
        for (uint32_t i = 0; i < t->n; i++) {
            t->items[i] = tree_of(a, map ? pdl_dict_val_at(v, i) : pdl_list_at(v, i));
            if (map) t->keys[i] = tree_of(a, pdl_dict_key_at(v, i));
        }
    } else {
        t->value = v; /* borrowed: the case outlives the tree */
    }
    return t;
}

/* The message without the words that users see around it. */
static void unwrap(fault *f, const char *prefix, pdl_str source) {
    size_t n = strlen(prefix);
    if (strncmp(f->message, prefix, n) != 0) return;
    const char *m = f->message + n;
    if (strncmp(m, source.p, source.n) == 0 && strncmp(m + source.n, ": ", 2) == 0)
        f->message = m + source.n + 2;
}

static bool ev_expressions(pdl_vref c, pdl_val *out, fault *f) {
    pdl_arena *a = pdl_arena_make();
    pdl_vref t = pdl_dict_getz(c, "template");
    pdl_val scope =
        decode(pdl_is_dict(pdl_dict_getz(c, "scope")) ? pdl_dict_getz(c, "scope") : pdl_null());
    pdl_val tv = decode(t);
    pdl_code *code = pdl_compile_tree(tree_of(a, tv), names);
    bool ok = run_code(code, scope, out, f);
    if (!ok && pdl_is_str(t)) {
        unwrap(f, "Error during the evaluation of ", pdl_str_get(t));
        unwrap(f, "Syntax error in ", pdl_str_get(t));
    }
    pdl_code_drop(code);
    pdl_drop(tv);
    pdl_drop(scope);
    pdl_arena_free(a);
    return ok;
}

static bool ev_jinja(pdl_vref c, pdl_val *out, fault *f) {
    pdl_arena *a = pdl_arena_make();
    pdl_val scope =
        decode(pdl_is_dict(pdl_dict_getz(c, "scope")) ? pdl_dict_getz(c, "scope") : pdl_null());
    pdl_val params = pdl_is_dict(pdl_dict_getz(c, "parameters"))
                         ? decode(pdl_dict_getz(c, "parameters"))
                         : pdl_dict_new(0);
    /* The block as lang makes it, its text being raw data so that `${ }` is not touched. */
    pdl_b_data *text = pdl_arena_new(a, pdl_b_data);
    text->head.kind = PDL_BLOCK_data;
    text->head.rare = &pdl_block_no_rare;
    text->raw = (pdl_flag){true, true};
    pdl_tree *code_tree = pdl_arena_new(a, pdl_tree), *params_tree = pdl_arena_new(a, pdl_tree);
    code_tree->value = pdl_dict_getz(c, "code");
    params_tree->value = params;
    text->data = code_tree;
    pdl_b_code *b = pdl_arena_new(a, pdl_b_code);
    b->head.kind = PDL_BLOCK_code;
    b->head.rare = &pdl_block_no_rare;
    b->lang.s = PDL_STR("jinja");
    b->code = &text->head;
    b->parameters = params_tree;
    pdl_program *p = pdl_program_new();
    p->main = &b->head;
    pdl_code *code = pdl_compile_program(p, names, false);
    bool ok = run_code(code, scope, out, f);
    pdl_code_drop(code);
    pdl_program_drop(p);
    pdl_drop(scope);
    pdl_drop(params);
    pdl_arena_free(a);
    return ok;
}

static bool ev_yaml(pdl_vref c, pdl_val *out, fault *f) {
    pdl_err err = {0};
    if (pdl_yaml_read(pdl_str_get(pdl_dict_getz(c, "text")), out, &f->line, &f->column, &err))
        return true;
    return fail(&err, f);
}

static bool spec_error(fault *f, const char *message) {
    f->kind = "SpecError";
    f->message = message;
    return false;
}

static bool ev_types(pdl_vref c, pdl_val *out, fault *f) {
    pdl_arena *a = pdl_arena_make();
    pdl_err err = {0};
    const pdl_type *t;
    pdl_val spec = decode(pdl_dict_getz(c, "spec")), value = decode(pdl_dict_getz(c, "value"));
    bool ok = false;
    pdl_type_verdict found;
    if (!pdl_type_from_val(a, spec, &t, &err)) {
        pdl_err_fini(&err);
        spec_error(f, "the type does not respect the schema");
    } else if (!pdl_type_check(t, value, NULL, a, &found, &err)) {
        fail(&err, f);
        f->kind = "Internal:SchemaError";
    } else if (found.fits) {
        *out = pdl_textz("ok");
        ok = true;
    } else {
        pdl_problems problems = found.problems;
        pdl_val lines = pdl_list_new(problems.n);
        for (size_t i = 0; i < problems.n; i++)
            lines = pdl_list_push(lines, pdl_textf("line 0 - %.*s", PDL_FMT(problems.p[i].text)));
        qsort(((pdl_listobj *)(void *)pdl_obj_of(lines))->items, problems.n, sizeof(pdl_val),
              by_repr);
        pdl_buf b = PDL_BUF;
        for (size_t i = 0; i < problems.n; i++) {
            if (i) pdl_buf_putc(&b, '\n');
            pdl_buf_put(&b, pdl_str_get(pdl_list_at(lines, i)));
        }
        pdl_drop(lines);
        f->owned = pdl_buf_take(&b);
        f->kind = "TypeCheck";
        f->message = f->owned;
    }
    pdl_drop(spec);
    pdl_drop(value);
    pdl_arena_free(a);
    return ok;
}

static bool parser_of(pdl_arena *a, pdl_vref v, pdl_parser **out) {
    bool found;
    if (pdl_is_str(v)) {
        pdl_parser_kind k = pdl_parser_find(pdl_str_get(v), &found);
        if (found && k != PDL_PARSE_REGEX) *out = pdl_parser_word(a, k);
        return found;
    }
    pdl_parser_mode mode = PDL_PM_FULLMATCH;
    pdl_vref m = pdl_dict_getz(v, "mode"), re = pdl_dict_getz(v, "regex");
    if (!pdl_is_str(re) || (pdl_is_str(m) && !pdl_parser_mode_find(pdl_str_get(m), &mode)))
        return false;
    pdl_err err = {0};
    const pdl_type *t = NULL;
    pdl_vref spec = pdl_dict_getz(v, "spec");
    if (!pdl_is_absent(spec) && !pdl_type_from_val(a, spec, &t, &err)) {
        pdl_err_fini(&err);
        return false;
    }
    bool object = t && pdl_type_is_object(t);
    size_t n = object ? pdl_type_fields(t) : 0;
    pdl_str *groups = pdl_arena_new_n(a, pdl_str, n);
    for (size_t i = 0; i < n; i++) groups[i] = pdl_type_field_name(t, i);
    *out = pdl_parser_regex(a, pdl_str_get(re), mode, groups, n, object);
    return true;
}

static bool ev_parsers(pdl_vref c, pdl_val *out, fault *f) {
    pdl_arena *a = pdl_arena_make();
    pdl_parser *p = NULL;
    pdl_err err = {0};
    pdl_val parser = decode(pdl_dict_getz(c, "parser")), text = decode(pdl_dict_getz(c, "text"));
    bool ok = parser_of(a, parser, &p) ? pdl_parse_raw(p, text, out, &err)
                                       : spec_error(f, "the parser does not respect the schema");
    if (err.kind) fail(&err, f);
    pdl_drop(parser);
    pdl_drop(text);
    pdl_arena_free(a);
    return ok;
}

static bool ev_stringify(pdl_vref c, pdl_val *out, fault *f) {
    pdl_err err = {0};
    pdl_buf b = PDL_BUF;
    pdl_val v = decode(pdl_dict_getz(c, "value"));
    pdl_str mode = pdl_str_get(pdl_dict_getz(c, "mode"));
    bool ok;
    if (pdl_str_is(mode, "text")) {
        ok = pdl_stringify(v, &b, &err);
    } else if (pdl_str_is(mode, "textblock")) {
        PDL_PUT(&b, "a");
        ok = pdl_stringify(v, &b, &err);
        PDL_PUT(&b, "b");
    } else if (pdl_str_starts(mode, PDL_STR("stdout"))) {
        pdl_val w = pdl_keep(v);
        if (pdl_str_is(mode, "stdout-array"))
            w = pdl_list_push(pdl_list_push(pdl_list_new(2), w), pdl_keep(v));
        if (pdl_str_is(mode, "stdout-object")) w = pdl_dict_putz(pdl_dict_new(1), "k", w);
        ok = pdl_stringify(w, &b, &err);
        pdl_buf_putc(&b, '\n');
        pdl_drop(w);
    } else {
        ok = pdl_val_str(v, &b, &err);
    }
    if (ok)
        *out = pdl_text(pdl_buf_str(&b));
    else
        fail(&err, f);
    pdl_buf_fini(&b);
    pdl_drop(v);
    return ok;
}

static bool ev_json(pdl_vref c, pdl_val *out, fault *f) {
    pdl_err err = {0};
    pdl_vref hex = pdl_dict_getz(c, "hex"), text = pdl_dict_getz(c, "text");
    pdl_buf b = PDL_BUF;
    if (pdl_is_str(hex)) {
        pdl_str h = pdl_str_get(hex);
        for (size_t i = 0; i + 1 < h.n; i += 2) {
            char two[3] = {h.p[i], h.p[i + 1], 0};
            pdl_buf_putc(&b, (char)strtol(two, NULL, 16));
        }
    } else {
        pdl_buf_put(&b, pdl_str_get(text));
    }
    pdl_val v;
    bool ok = pdl_json_read(pdl_buf_str(&b), 0, &v, NULL, &err);
    pdl_buf_fini(&b);
    if (!ok) return fail(&err, f);
    pdl_drop(v);
    *out = pdl_textz("ok");
    return true;
}

/* Schemas that $ref names by http://localhost:1234/PATH are files below PDL_SCHEMA_REMOTES. */
static pdl_val remotes;

static pdl_vref remote(pdl_str uri) {
    static const char base[] = "http://localhost:1234/";
    pdl_vref known = pdl_dict_gets(remotes, uri);
    const char *dir = getenv("PDL_SCHEMA_REMOTES");
    if (!pdl_is_absent(known) || !dir || !pdl_str_starts(uri, PDL_STR("http://localhost:1234/")))
        return known;
    pdl_buf path = PDL_BUF, text = PDL_BUF;
    pdl_buf_putf(&path, "%s/%.*s", dir, (int)(uri.n - sizeof base + 1), uri.p + sizeof base - 1);
    FILE *file = fopen(pdl_buf_z(&path), "rb");
    pdl_buf_fini(&path);
    if (!file) return pdl_absent();
    char chunk[4096];
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, file)) > 0;)
        pdl_buf_put(&text, (pdl_str){chunk, n});
    fclose(file);
    pdl_val v;
    pdl_err err = {0};
    bool ok = pdl_json_read(pdl_buf_str(&text), 0, &v, NULL, &err);
    pdl_buf_fini(&text);
    pdl_err_fini(&err);
    if (!ok) return pdl_absent();
    remotes = pdl_dict_puts(remotes, uri, v);
    return pdl_dict_gets(remotes, uri);
}

static bool ev_schema(pdl_vref c, pdl_val *out, fault *f) {
    pdl_arena *a = pdl_arena_make();
    pdl_err err = {0};
    pdl_type_verdict found;
    bool ok = pdl_schema_validate(pdl_dict_getz(c, "schema"), pdl_dict_getz(c, "value"), remote, a,
                                  &found, &err);
    if (!ok)
        fail(&err, f);
    else
        *out = pdl_bool(found.fits);
    pdl_arena_free(a);
    return ok;
}

static const struct {
    const char *kind;
    bool (*fn)(pdl_vref c, pdl_val *out, fault *f);
} kinds[] = {
    {"expressions", ev_expressions},
    {"jinja_templates", ev_jinja},
    {"yaml", ev_yaml},
    {"parsers", ev_parsers},
    {"types", ev_types},
    {"stringify", ev_stringify},
    {"json", ev_json},
    {"schema", ev_schema},
};

static void answer(pdl_vref id, bool ok, pdl_vref v, const fault *f) {
    pdl_buf b = PDL_BUF;
    PDL_PUT(&b, "{\"id\": ");
    encode(id, &b);
    if (ok) {
        PDL_PUT(&b, ", \"result\": ");
        encode(v, &b);
    } else {
        PDL_PUT(&b, ", \"error\": {\"kind\": ");
        pdl_json_quote(pdl_str_of(f->kind), 0, &b);
        PDL_PUT(&b, ", \"message\": ");
        pdl_json_quote(pdl_str_of(f->message), 0, &b);
        if (f->line) pdl_buf_putf(&b, ", \"line\": %u, \"column\": %u", f->line, f->column);
        PDL_PUT(&b, "}");
    }
    PDL_PUT(&b, "}\n");
    fwrite(b.p, 1, b.len, stdout);
    fflush(stdout);
    pdl_buf_fini(&b);
}

int main(int argc, char **argv) {
    size_t k = 0, n = sizeof kinds / sizeof kinds[0];
    while (argc == 3 && k < n && strcmp(kinds[k].kind, argv[2]) != 0) k++;
    if (argc != 3 || k == n || strcmp(argv[1], "value-test") != 0) {
        fprintf(stderr, "usage: pdl-value-test value-test KIND\n");
        return 2;
    }
    names = pdl_interner_new();
    remotes = pdl_dict_new(0);
    char *line = NULL;
    size_t cap = 0;
    for (ssize_t len; (len = getline(&line, &cap, stdin)) > 0;) {
        pdl_val c, out = pdl_absent();
        pdl_err err = {0};
        fault f = {"Error", "", NULL, 0, 0};
        if (!pdl_json_read((pdl_str){line, (size_t)len}, PDL_JSON_PYTHON, &c, NULL, &err)) {
            fprintf(stderr, "bad case: %s\n", err.msg);
            pdl_err_fini(&err);
            continue;
        }
        bool ok = kinds[k].fn(c, &out, &f);
        answer(pdl_dict_getz(c, "id"), ok, out, &f);
        pdl_free(f.owned);
        pdl_drop(out);
        pdl_drop(c);
    }
    (free)(line);
    pdl_drop(remotes);
    pdl_interner_drop(names);
    return 0;
}
