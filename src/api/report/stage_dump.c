/* stage_dump.c -- writes the texts of `pdl dump`; each line begins with its category and the name
 * of the file. See stage_dump.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/report/stage_dump.h"

#include "compile/compile.h"
#include "lang/dump.h"
#include "yaml/yaml.h"

#include "base/banned.h"

static void put_nodes(const pdl_program *p, pdl_buf *out) { pdl_node_dump(p->root, out); }

static void put_types(const pdl_program *p, pdl_buf *out) {
    pdl_err err = {0};
    if (!pdl_list_types(p, out, &err)) pdl_buf_putf(out, "%s\n", err.msg);
    pdl_err_fini(&err);
}

static void put_blocks(const pdl_program *p, pdl_buf *out) {
    pdl_err err = {0};
    pdl_val v = pdl_block_dump(p->main, NULL);
    if (!pdl_yaml_write(v, out, &err)) pdl_buf_putf(out, "%s\n", err.msg);
    pdl_drop(v);
    pdl_err_fini(&err);
}

static const struct {
    uint32_t bit;
    const char *category;
    bool broken; /* this form is also written for a program that has errors */
    void (*put)(const pdl_program *p, pdl_buf *out);
} forms[] = {
    {1u << PDL_DBG_BIT_nodes, "nodes", true, put_nodes},
    {1u << PDL_DBG_BIT_blocks, "blocks", false, put_blocks},
    {1u << PDL_DBG_BIT_expr, "expr", false, pdl_list_exprs},
    {1u << PDL_DBG_BIT_types, "types", false, put_types},
};

static void put_lines(const pdl_debug *debug, const char *category, const pdl_program *p,
                      pdl_buf *text) {
    pdl_str rest = pdl_buf_str(text), name = p && p->source ? p->source->name : (pdl_str){0};
    while (rest.n) {
        size_t nl = pdl_str_find(rest, PDL_STR("\n"), 0), n = nl == PDL_NOT_FOUND ? rest.n : nl;
        pdl_debug_line(debug, category, "%.*s\t%.*s", PDL_FMT(name), (int)n, rest.p);
        rest = pdl_str_sub(rest, n + 1, rest.n);
    }
    pdl_buf_fini(text);
}

void pdl_api_debug_program(const pdl_debug *debug, const pdl_program *p) {
    for (size_t i = 0; debug && p->root && i < sizeof forms / sizeof forms[0]; i++) {
        if (!(debug->on & forms[i].bit) || (!p->main && !forms[i].broken)) continue;
        pdl_buf text = PDL_BUF;
        forms[i].put(p, &text);
        put_lines(debug, forms[i].category, p, &text);
    }
}

void pdl_api_debug_code(const pdl_debug *debug, pdl_code *c) {
    if (!PDL_TRACES(debug, code)) return;
    pdl_compile_functions(c);
    pdl_buf text = PDL_BUF;
    pdl_code_dump(c, &text);
    put_lines(debug, "code", c->program, &text);
}
