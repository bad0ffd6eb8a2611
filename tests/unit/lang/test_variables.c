/* test_variables.c -- every way in which a block sets a variable, and blocks that set none.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lang/variables.h"

#include "lang/load.h"
#include "lang/walk.h"

#include "t.h"

#include "base/banned.h"

/* The variables of whole programs in the order of the walk: `way:name`, with `=` for a variable
 * that gets a block's result and `:type` for a parameter with a type. */
static const struct {
    const char *program, *want;
} rows[] = {
    {"hello", ""},
    {"text: hi\ndef: x", "def:x= "},
    {"text: hi\ndef: x\ndefs: {a: 1, b: 2}", "def:x= defs:a= defs:b= "},
    {"for: {x: [1], y: [2]}\nindex: i\nrepeat: hi", "item:x item:y index:i "},
    {"repeat: hi\nindex: i\nmaxIterations: 2", "index:i "},
    {"for: {x: [1]}\nindex: i\nmap: {text: hi, def: z}", "item:x index:i def:z= "},
    {"model: m\ninput: hi\nmodelResponse: r\ndef: x", "def:x= response:r "},
    {"function: {a: string, b: null}\nreturn: hi\ndef: f", "def:f= parameter:a:type parameter:b "},
    {"match: ${ v }\nwith:\n- case: {array: [{any: null, def: p}, 1], def: q}\n  then: hi\n"
     "- if: true\n  then: {text: hi, def: z}",
     "case:q case:p def:z= "},
};

static void add_variable(void *user, const pdl_variable *v) {
    static const char *const ways[] = {"def",      "defs",      "item", "index",
                                       "response", "parameter", "case"};
    pdl_buf_putf(user, "%s:%.*s%s%s ", ways[v->by], PDL_FMT(v->name), v->value ? "=" : "",
                 v->type ? ":type" : "");
}

static void add_block(void *user, const pdl_block *b) {
    pdl_block_each_variable(b, add_variable, user);
    pdl_block_each_child(b, add_block, user);
}

static void each_way_is_told(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool ok;
        pdl_buf found = PDL_BUF;
        pdl_program *p = pdl_program_new();
        pdl_program_load(p, PDL_STR(""), t_str(rows[i].program), &ok);
        if (!ok) fail_msg("row %zu does not load", i);
        add_block(&found, p->main);
        t_assert_str(pdl_buf_str(&found), rows[i].want);
        pdl_program_drop(p);
        pdl_buf_fini(&found);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_way_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
