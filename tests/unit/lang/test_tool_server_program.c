/* test_tool_server_program.c -- the program that represents a tool server: names for models,
 * parameters, and the parts that are left out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lang/tool_server_program.h"

#include <time.h>

#include "t.h"

#include "value/json_read.h"
#include "value/json_write.h"

#include "base/banned.h"

static pdl_val json(const char *z) {
    pdl_val v = pdl_null();
    pdl_err err = {0};
    if (!pdl_json_read(t_str(z), 0, &v, NULL, &err)) fail_msg("%s: %s", z, err.msg);
    return v;
}

static void assert_json(pdl_vref v, const char *want) {
    pdl_buf b = PDL_BUF;
    pdl_err err = {0};
    t_assert(pdl_json_write(v, 0, 0, &b, &err));
    t_assert_str(pdl_buf_str(&b), want);
    pdl_buf_fini(&b);
}

#define L10 "aaaaaaaaaa"
#define L60 L10 L10 L10 L10 L10 L10

/* Names of the tools of server s, what models call them by, and what is taken afterwards. */
static const struct {
    const char *tools, *taken, *want, *then;
} names[] = {
    {"[]", "{}", "{}", "{}"},
    {"[\"a\"]", "{}", "{\"a\":\"a\"}", "{\"a\":\"s\"}"},
    {"[\"a\"]", "{\"a\":\"other\"}", "{\"a\":\"s_a\"}", "{\"a\":\"other\",\"s_a\":\"s\"}"},
    {"[\"a\"]", "{\"a\":\"s\",\"b\":\"s\"}", "{\"a\":\"a\"}", "{\"a\":\"s\"}"}, /* imported again */
    {"[\"a\"]", "{\"a\":\"x\",\"s_a\":\"y\",\"s_a_2\":\"z\"}", "{\"a\":\"s_a_3\"}",
     "{\"a\":\"x\",\"s_a\":\"y\",\"s_a_2\":\"z\",\"s_a_3\":\"s\"}"},
    {"[\"a.b\",\"a_b\",\"a-b\"]", "{}", "{\"a.b\":\"a_b\",\"a_b\":\"s_a_b\",\"a-b\":\"a-b\"}",
     NULL},
    {"[\"\xc3\xa4 x\"]", "{}", "{\"\xc3\xa4 x\":\"__x\"}", NULL},
    {"[\"" L60 "bbbbX\",\"" L60 "bbbbY\"]", "{}",
     "{\"" L60 "bbbbX\":\"" L60 "bbbb\",\"" L60 "bbbbY\":\"s_" L60 "bb\"}", NULL},
    {"[\"" L60 "bbbbX\"]", "{\"" L60 "bbbb\":\"x\",\"s_" L60 "bb\":\"y\"}",
     "{\"" L60 "bbbbX\":\"s_" L10 L10 L10 L10 L10 "a_2\"}", NULL},
};

static void names_are_those_of_one_server(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(names); i++) {
        T_ROW(i);
        pdl_val list = json(names[i].tools), tools = pdl_list_new(0), taken = json(names[i].taken),
                got = pdl_dict_new(0);
        for (size_t k = 0; k < pdl_list_len(list); k++) {
            pdl_val t = json("{\"inputSchema\":{\"type\":\"object\"}}");
            tools = pdl_list_push(tools, pdl_dict_putz(t, "name", pdl_keep(pdl_list_at(list, k))));
        }
        pdl_buf text = PDL_BUF;
        pdl_val declared = pdl_toolbox_write(PDL_STR("s"), tools, &taken, &text);
        for (size_t k = 0; k < pdl_dict_len(declared); k++) {
            pdl_vref f = pdl_dict_getz(pdl_dict_val_at(declared, k), "function");
            got = pdl_dict_put(got, pdl_keep(pdl_dict_key_at(declared, k)),
                               pdl_keep(pdl_dict_getz(f, "name")));
        }
        assert_json(got, names[i].want);
        if (names[i].then) assert_json(taken, names[i].then);
        pdl_buf_fini(&text);
        pdl_drop(list), pdl_drop(tools), pdl_drop(taken), pdl_drop(got), pdl_drop(declared);
    }
}

/* A text that the program has for one tool, or, with '!' in front, has not. */
static const struct {
    const char *tool, *has;
} programs[] = {
    {"{\"name\":\"a\",\"inputSchema\":{}}", "pdl_tool_result(pdl_tool_call('s', 'a', []))"},
    {"{\"name\":\"a\",\"description\":\"Adds\",\"inputSchema\":{}}", "description: Adds"},
    {"{\"name\":\"a\",\"inputSchema\":{\"properties\":{\"x\":{\"type\":\"integer\"},\"y\":{}},"
     "\"required\":[\"x\"]}}",
     "['x', 'y']"},
    {"{\"name\":\"a\",\"inputSchema\":{\"properties\":{\"x\":{\"type\":\"integer\"}},\"required\":["
     "\"x\"]}}",
     "x:\n        type: integer"},
    {"{\"name\":\"a\",\"inputSchema\":{\"properties\":{\"x\":{\"type\":\"integer\"}}}}",
     "x:\n        optional:\n          type: integer"},
    {"{\"name\":\"a\",\"inputSchema\":{\"properties\":{\"x\":{\"minimum\":1}},\"required\":[\"x\"]}"
     "}",
     "- object"}, /* of any type */
    {"{\"name\":\"a\",\"inputSchema\":{\"properties\":{\"x\":{\"$ref\":\"#/"
     "x\"}},\"required\":[\"x\"]}}",
     "function:\n      x: null\n"},
    {"{\"name\":\"a\",\"inputSchema\":{\"properties\":{\"x\":{\"items\":[{\"$ref\":\"#\"}]}},"
     "\"required\":[\"x\"]}}",
     "function:\n      x: null\n"},
    {"{\"name\":\"a\",\"inputSchema\":{\"properties\":{\"x\":5},\"required\":[\"x\"]}}",
     "- object"}, /* what is no type is any type */
    {"{\"name\":\"a\",\"inputSchema\":{\"properties\":{\"x\":{\"type\":5}},\"required\":[\"x\"]}}",
     "- object"},                                                 /* what is no type is any type */
    {"{\"name\":\"tools\",\"inputSchema\":{}}", "!'s', 'tools'"}, /* its own member */
    {"{\"name\":\"1st\",\"inputSchema\":{}}", "!'s', '1st'"},     /* no name of PDL */
    {"{\"name\":\"a b\",\"inputSchema\":{}}",
     "{''a_b'': ''a b''}.get(name, name)"}, /* called by call_tool only */
    {"{\"name\":\"a\",\"inputSchema\":{\"properties\":{\"pdl_context\":{}}}}", "!'s', 'a'"},
    {"{\"name\":\"a\"}", "!'s', 'a'"},
    {"{\"name\":5,\"inputSchema\":{}}", "data: []"},
    {"\"a\"", "data: []"},
};

static void programs_hold_a_function_a_tool(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(programs); i++) {
        T_ROW(i);
        pdl_val tools = pdl_list_push(pdl_list_new(1), json(programs[i].tool)),
                taken = pdl_dict_new(0);
        pdl_buf text = PDL_BUF;
        pdl_drop(pdl_toolbox_write(PDL_STR("s"), tools, &taken, &text));
        bool absent = programs[i].has[0] == '!';
        bool found =
            pdl_str_find(pdl_buf_str(&text), t_str(programs[i].has + absent), 0) != PDL_NOT_FOUND;
        if (found == absent) fail_msg("row %zu: <%s> in\n%s", i, programs[i].has, pdl_buf_z(&text));
        pdl_buf_fini(&text);
        pdl_drop(tools), pdl_drop(taken);
    }
}

/* Seconds of the processor for n tools whose names are alike. */
static double seconds_for(unsigned n) {
    pdl_val tools = pdl_list_new(n), taken = pdl_dict_new(0);
    for (unsigned i = 0; i < n; i++) {
        pdl_buf name = PDL_BUF;
        pdl_buf_putf(&name, L60 L10 "%u", i);
        pdl_val t = json("{\"inputSchema\":{\"type\":\"object\"}}");
        tools = pdl_list_push(tools, pdl_dict_putz(t, "name", pdl_text_of_buf(&name)));
    }
    pdl_buf text = PDL_BUF;
    clock_t begin = clock();
    pdl_val got = pdl_toolbox_write(PDL_STR("s"), tools, &taken, &text);
    clock_t end = clock();
    t_assert(pdl_dict_len(got) == n && pdl_dict_len(taken) == n);
    pdl_buf_fini(&text);
    pdl_drop(got), pdl_drop(tools), pdl_drop(taken);
    return (double)(end - begin) / (double)CLOCKS_PER_SEC;
}

static void many_names_that_are_alike_take_no_longer_each(void **state) {
    (void)state;
    double few = seconds_for(1000), many = seconds_for(10000);
    if (many > 25 * few + 0.5) fail_msg("%.2f s for 10000, %.2f s for 1000", many, few);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_those_of_one_server),
        cmocka_unit_test(programs_hold_a_function_a_tool),
        cmocka_unit_test(many_names_that_are_alike_take_no_longer_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
