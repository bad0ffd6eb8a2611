/* many_runs.c -- makes the document of many runs; see many_runs.h. Records become an ordinary trace
 * of one text and one table, so everything that shows a run shows them, too.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/records/many_runs.h"

#include <math.h>

#include "base/limits.h"
#include "value/int.h"
#include "value/json_read.h"
#include "value/json_write.h"
#include "value/member.h"
#include "viewer/reading/reading.h"

#include "base/banned.h"

/* Returns a block without times; owned. */
static pdl_val new_block(const char *kind) {
    pdl_val timing = pdl_dict_putz(pdl_dict_new(2), "start_nanos", pdl_int(0));
    pdl_val b = pdl_dict_putz(pdl_dict_new(8), "kind", pdl_textz(kind));
    return pdl_dict_putz(b, "pdl__timing", pdl_dict_putz(timing, "end_nanos", pdl_int(0)));
}

/* Returns a value as the result of an expression. Takes v. */
static pdl_val evaluated(const char *expr, pdl_val v) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(2), "pdl__expr", pdl_textz(expr));
    return pdl_dict_putz(d, "pdl__result", v);
}

void pdl_put_counted(const char *before, uint64_t n, const char *after, pdl_buf *out) {
    pdl_buf_put(out, pdl_str_of(before));
    pdl_put_number(n, out);
    pdl_buf_put(out, pdl_str_of(after));
}

pdl_run_table pdl_run_table_begin(void) {
    return (pdl_run_table){pdl_dict_new(4), pdl_list_new(16)};
}

void pdl_run_table_given(pdl_run_table *t, pdl_str column, pdl_val v) {
    pdl_vref old = pdl_dict_gets(t->lists, column);
    pdl_val list = pdl_is_list(old) ? pdl_keep(old) : pdl_list_new(16);
    while (pdl_list_len(list) < pdl_list_len(t->rows)) list = pdl_list_push(list, pdl_null());
    /* the dict must not hold the list while the list grows, or the list would be copied for each
     * value */
    t->lists = pdl_dict_puts(t->lists, column, pdl_null());
    t->lists = pdl_dict_puts(t->lists, column, pdl_list_push(list, v));
}

void pdl_run_table_add(pdl_run_table *t, pdl_str run, pdl_val args, pdl_str said, pdl_val result,
                       pdl_val inside) {
    pdl_val b = pdl_dict_putz(new_block("run"), "run", pdl_text(run));
    if (!pdl_is_absent(args)) b = pdl_dict_putz(b, "args", evaluated("", args));
    b = pdl_dict_putz(b, "said", pdl_text(said));
    if (!pdl_is_absent(inside)) b = pdl_dict_putz(b, "pdl__trace", inside);
    t->rows = pdl_list_push(t->rows, pdl_dict_putz(b, "pdl__result", result));
}

void pdl_run_table_time(pdl_run_table *t, pdl_val timing) {
    size_t last = pdl_list_len(t->rows) - 1;
    pdl_val b = pdl_keep(pdl_list_at(t->rows, last));
    t->rows = pdl_list_set(t->rows, last, pdl_dict_putz(b, "pdl__timing", timing));
}

pdl_val pdl_run_table_take(pdl_run_table *t, const char *name) {
    pdl_val b = pdl_dict_putz(new_block("map"), "def", pdl_textz(name));
    b = pdl_dict_putz(b, "for", evaluated("", t->lists));
    b = pdl_dict_putz(b, "map", pdl_textz(""));
    b = pdl_dict_putz(b, "pdl__trace", t->rows);
    *t = (pdl_run_table){pdl_absent(), pdl_absent()};
    return pdl_dict_putz(b, "pdl__result", pdl_list_new(0));
}

/* Returns the block that prints the text and uses the table. */
static pdl_val text_block(pdl_str text, const char *name) {
    pdl_val b = pdl_dict_putz(new_block("data"), "data", pdl_textz(""));
    pdl_buf use = PDL_BUF;
    pdl_buf_putf(&use, "${ %s }", name);
    b = pdl_dict_putz(b, "about", evaluated(pdl_buf_z(&use), pdl_null()));
    pdl_buf_fini(&use);
    return pdl_dict_putz(b, "pdl__result", pdl_text(text));
}

bool pdl_many_runs_new(const pdl_many_runs *m, pdl_val table, pdl_view_run **out, pdl_err *err) {
    if (m->runs) table = pdl_dict_putz(table, "runs_in_all", pdl_int((int64_t)m->runs));
    pdl_val defs = pdl_dict_putz(pdl_dict_new(1), m->name, table);
    pdl_val root = pdl_dict_putz(new_block("text"), "defs", defs);
    pdl_val parts = pdl_list_push(pdl_list_new(1), text_block(m->text, m->name));
    pdl_buf trace = PDL_BUF_INIT(PDL_MAX_TEXT);
    root = pdl_dict_putz(root, "description", pdl_text(m->title));
    root = pdl_dict_putz(root, "text", parts);
    if (m->not_ended) root = pdl_dict_putz(root, "not_ended", pdl_bool(true));
    root = pdl_dict_putz(root, "pdl__result", pdl_text(m->text));
    bool ok = pdl_json_write(root, PDL_JSON_LOOSE | PDL_JSON_NAN_NULL, 0, &trace, err);
    pdl_view_program program = {.name = PDL_STR("")};
    ok = ok && pdl_view_run_new(m->file, pdl_buf_str(&trace), &program, out, err);
    pdl_drop(root);
    pdl_buf_fini(&trace);
    return ok;
}

/* --- records ---------------------------------------------------------------------------------- */

bool pdl_may_have_member(pdl_str json, const char *quoted) {
    return pdl_str_find(json, pdl_str_of(quoted), 0) != PDL_NOT_FOUND;
}

pdl_val pdl_next_record(pdl_str *rest) {
    while (rest->n) {
        pdl_str line = pdl_str_take(rest, PDL_STR("\n"));
        pdl_val v;
        pdl_err ignored = {0};
        if (!pdl_json_read(line, PDL_JSON_PYTHON, &v, NULL, &ignored)) {
            pdl_err_fini(&ignored);
            continue;
        }
        if (pdl_is_dict(v)) return v;
        pdl_drop(v);
    }
    return pdl_absent();
}

double pdl_record_number(pdl_vref record, const char *key) {
    pdl_vref v = pdl_member(record, key);
    bool is = pdl_is_int(v) || pdl_is(v, PDL_V_FLOAT);
    return is ? pdl_num_to_double(v) : (double)NAN;
}

pdl_val pdl_rounded(double x) {
    static const double thousand = 1000;
    return isfinite(x) ? pdl_float(round(x * thousand) / thousand) : pdl_null();
}
