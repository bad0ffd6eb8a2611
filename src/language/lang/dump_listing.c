/* dump_listing.c -- expressions and types of a program, with a line for each. The listing shows how
 * a text was read, for `pdl dump` and tests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lang/dump.h"
#include "lang/walk.h"
#include "value/json_write.h"

#include "base/banned.h"

/* Writes "LINE:COLUMN KEY  ". */
static void put_head(pdl_loc loc, const char *key, pdl_buf *out) {
    if (loc.src)
        pdl_buf_putf(out, "%u:%u", pdl_loc_line(loc), pdl_source_column(loc.src, loc.start));
    else
        PDL_PUT(out, "-");
    pdl_buf_putf(out, "\t%s\t", key);
}

static void on_expr(void *user, const pdl_block *b, const char *key, const pdl_tree *t) {
    pdl_buf *out = user;
    put_head(t->node ? pdl_node_loc(t->node) : t->loc, b->kind == PDL_BLOCK_scalar ? "text" : key,
             out);
    if (pdl_tree_expr(t)->form == PDL_X_BROKEN)
        pdl_buf_putf(out, "broken: %.*s", PDL_FMT(pdl_tree_expr(t)->fault->msg));
    else
        pdl_expr_print(pdl_tree_expr(t), out);
    pdl_buf_putc(out, '\n');
}

void pdl_list_exprs(const pdl_program *p, pdl_buf *out) {
    pdl_program_walk(p, &(pdl_walk){.user = out, .expr = on_expr});
}

typedef struct typed {
    pdl_buf *out;
    pdl_err *err;
    bool ok;
} typed;

static void on_type(void *user, const pdl_block *b, const char *key, const pdl_type *t,
                    pdl_loc loc) {
    (void)b;
    typed *d = user;
    if (!d->ok) return;
    pdl_val schema = pdl_type_schema(t, true);
    put_head(loc, key, d->out);
    d->ok =
        pdl_json_write(schema, PDL_JSON_SPACED | PDL_JSON_NAN | PDL_JSON_LOOSE, 0, d->out, d->err);
    pdl_drop(schema);
    pdl_buf_putc(d->out, '\n');
}

bool pdl_list_types(const pdl_program *p, pdl_buf *out, pdl_err *err) {
    typed d = {out, err, true};
    pdl_program_walk(p, &(pdl_walk){.user = &d, .type = on_type});
    return d.ok;
}
