/* map_rows.c -- makes the table of the rows of a map; see map_rows.h. A map may have a hundred
 * thousand rows, and a page shows fifty. So rows are sorted and filtered here, and each column has
 * its distribution, from which a person sees what is unusual.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/reading/map_rows.h"

#include <stdlib.h>

#include "base/utf8.h"
#include "value/json_put.h"
#include "value/json_write.h"
#include "value/text.h"
#include "viewer/box_json.h"
#include "viewer/reading/printing.h"

#include "base/banned.h"

enum { NANOS_PER_MICRO = 1000, MAX_COLUMNS = 16, MAX_CELL = 240, MAX_VALUES = 5 };
enum { LOOKED_AT = 100 /* number of rows whose fields become columns */ };

/* A column: a variable of `for`, a field of the result, or the whole result. */
typedef struct row_column {
    pdl_str name;
    pdl_vref list; /* for a variable, the list of its values; absent for other columns */
    bool whole;
} row_column;

typedef struct row_table {
    const pdl_reading *r;
    uint32_t item;
    row_column columns[MAX_COLUMNS];
    size_t n_columns;
} row_table;

static const pdl_box *box_of(const row_table *t, uint32_t item) {
    return &t->r->doc->boxes.p[t->r->items.p[item].box];
}

static pdl_vref result_of(const row_table *t, uint32_t item) {
    const pdl_box *b = box_of(t, item);
    pdl_vref v = pdl_box_get(b, "pdl__parsed");
    if (pdl_is_absent(v)) v = pdl_box_get(b, "pdl__result");
    return pdl_is_absent(v) ? pdl_box_get(b, "msg") : v;
}

/* --- columns ---------------------------------------------------------------------------------- */

static void add_column(row_table *t, pdl_str name, pdl_vref list, bool whole) {
    for (size_t i = 0; i < t->n_columns; i++)
        if (pdl_str_eq(t->columns[i].name, name) && !whole) return;
    if (t->n_columns < MAX_COLUMNS) t->columns[t->n_columns++] = (row_column){name, list, whole};
}

static void add_variables(row_table *t) {
    pdl_vref all = pdl_box_loop_lists(box_of(t, t->item));
    for (size_t i = 0; pdl_is_dict(all) && i < pdl_dict_len(all); i++) {
        pdl_vref key = pdl_dict_key_at(all, i), list = pdl_dict_val_at(all, i);
        if (pdl_is_dict(list)) list = pdl_dict_getz(list, "pdl__result");
        if (pdl_is_str(key) && pdl_is_list(list)) add_column(t, pdl_str_get(key), list, false);
    }
}

static void add_fields(row_table *t) {
    const pdl_item *map = &t->r->items.p[t->item];
    bool any = false;
    for (uint32_t k = t->item + 1, n = 0; k < map->end && n < LOOKED_AT;
         k = t->r->items.p[k].end, n++) {
        pdl_vref v = result_of(t, k);
        for (size_t i = 0; pdl_is_dict(v) && i < pdl_dict_len(v); i++) {
            pdl_vref key = pdl_dict_key_at(v, i);
            if (!pdl_is_str(key)) continue;
            add_column(t, pdl_str_get(key), pdl_absent(), false);
            any = true;
        }
    }
    if (!any) add_column(t, PDL_STR("result"), pdl_absent(), true);
}

/* --- cells ------------------------------------------------------------------------------------ */

static pdl_vref value_at(const row_table *t, uint32_t item, const row_column *c) {
    pdl_vref v = result_of(t, item);
    uint32_t row = t->r->items.p[item].number - 1;
    if (c->whole) return v;
    if (pdl_is_list(c->list))
        return row < pdl_list_len(c->list) ? pdl_list_at(c->list, row) : pdl_absent();
    v = pdl_is_dict(v) ? pdl_dict_gets(v, c->name) : pdl_absent();
    /* in records of many runs null means that a number is unknown */
    return pdl_is_null(v) && pdl_box_is_run(box_of(t, item)) ? pdl_absent() : v;
}

static void put_text(pdl_vref v, pdl_buf *out) {
    pdl_buf text = PDL_BUF;
    pdl_err ignored = {0};
    if (pdl_is_absent(v)) return;
    if (!pdl_stringify(v, &text, &ignored)) pdl_err_fini(&ignored);
    pdl_put_unescaped(pdl_utf8_cut(pdl_buf_str(&text), MAX_CELL), out);
    pdl_buf_fini(&text);
}

static bool number_of(pdl_vref v, double *out) {
    if (pdl_is(v, PDL_V_INT)) *out = (double)pdl_int_of(v);
    if (pdl_is(v, PDL_V_FLOAT)) *out = pdl_float_of(v);
    return pdl_is(v, PDL_V_INT) || pdl_is(v, PDL_V_FLOAT);
}

/* --- filter and order ------------------------------------------------------------------------- */

static bool contains(const row_table *t, uint32_t item, pdl_str part) {
    bool found = false;
    for (size_t i = 0; !found && i < t->n_columns; i++) {
        pdl_buf text = PDL_BUF;
        put_text(value_at(t, item, &t->columns[i]), &text);
        pdl_str s = pdl_buf_str(&text);
        for (size_t k = 0; !found && k + part.n <= s.n; k++)
            found = pdl_str_eq_nocase(pdl_str_sub(s, k, k + part.n), part);
        pdl_buf_fini(&text);
    }
    return found;
}

static bool has_failed(const row_table *t, uint32_t item) {
    return t->r->digests[t->r->items.p[item].box].failed;
}

typedef struct sorted_row {
    double key;
    pdl_buf text; /* the text of a cell, in a column of texts */
    uint32_t item;
} sorted_row;

static int by_key(const void *a, const void *b) {
    const sorted_row *x = a, *y = b;
    int order = pdl_str_cmp(pdl_buf_str(&x->text), pdl_buf_str(&y->text));
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    if (order) return order;
    return (x->item > y->item) - (x->item < y->item);
}

static int by_key_down(const void *a, const void *b) {
    const sorted_row *x = a, *y = b;
    int order = by_key(b, a);
    return x->key == y->key && pdl_str_eq(pdl_buf_str(&x->text), pdl_buf_str(&y->text))
               ? (x->item > y->item) - (x->item < y->item)
               : order;
}

static double took_of(const row_table *t, uint32_t item) {
    const pdl_digest *g = &t->r->digests[t->r->items.p[item].box];
    return g->start && g->end > g->start ? (double)(g->end - g->start) : 0;
}

static const row_column *column_named(const row_table *t, pdl_str name) {
    for (size_t i = 0; i < t->n_columns; i++)
        if (pdl_str_eq(t->columns[i].name, name)) return &t->columns[i];
    return NULL;
}

static void set_key(const row_table *t, pdl_str sort, sorted_row *row) {
    const row_column *c = column_named(t, sort);
    const pdl_digest *g = &t->r->digests[t->r->items.p[row->item].box];
    if (pdl_str_is(sort, "time"))
        row->key = took_of(t, row->item);
    else if (pdl_str_is(sort, "tokens"))
        row->key = (double)(g->tokens_in + g->tokens_out);
    else if (pdl_str_is(sort, "state"))
        row->key = has_failed(t, row->item);
    else if (c && !number_of(value_at(t, row->item, c), &row->key))
        put_text(value_at(t, row->item, c), &row->text);
}

/* --- columns as JSON -------------------------------------------------------------------------- */

static int by_double(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void put_quantiles(double *p, size_t n, pdl_buf *out) {
    if (!n) return;
    qsort(p, n, sizeof *p, by_double);
    pdl_json_put_int(out, "median", (int64_t)p[n / 2]);
    pdl_json_put_int(out, "most", (int64_t)p[n - 1 - n / 100]);
}

/* Appends the member "values" of a column, with the values that its cells have; nothing when they
 * are more than MAX_VALUES. */
static void put_values(const row_table *t, const row_column *c, pdl_buf *out) {
    struct {
        pdl_buf text;
        uint32_t n;
    } seen[MAX_VALUES + 1];
    size_t n = 0;
    const pdl_item *map = &t->r->items.p[t->item];
    for (uint32_t k = t->item + 1; k < map->end && n <= MAX_VALUES; k = t->r->items.p[k].end) {
        pdl_buf text = PDL_BUF;
        size_t i = 0;
        put_text(value_at(t, k, c), &text);
        while (i < n && !pdl_str_eq(pdl_buf_str(&seen[i].text), pdl_buf_str(&text))) i++;
        if (i == n) {
            seen[n].text = text;
            seen[n++].n = 1;
        } else {
            seen[i].n++;
            pdl_buf_fini(&text);
        }
    }
    if (n <= MAX_VALUES) {
        pdl_json_put_key(out, "values");
        pdl_json_open(out, '[');
        for (size_t i = 0; i < n; i++) {
            pdl_json_open(out, '{');
            pdl_json_put_text(out, "text", pdl_utf8_cut(pdl_buf_str(&seen[i].text), 40));
            pdl_json_put_int(out, "n", seen[i].n);
            pdl_buf_putc(out, '}');
        }
        pdl_buf_putc(out, ']');
    }
    for (size_t i = 0; i < n; i++) pdl_buf_fini(&seen[i].text);
}

static void put_columns(const row_table *t, pdl_buf *out) {
    PDL_VEC(double) times = {0};
    const pdl_item *map = &t->r->items.p[t->item];
    pdl_json_put_key(out, "columns");
    pdl_json_open(out, '[');
    for (size_t i = 0; i < t->n_columns; i++) {
        pdl_json_open(out, '{');
        pdl_json_put_text(out, "name", pdl_utf8_cut(t->columns[i].name, 100));
        put_values(t, &t->columns[i], out);
        pdl_buf_putc(out, '}');
    }
    for (uint32_t k = t->item + 1; k < map->end; k = t->r->items.p[k].end)
        *pdl_vec_push(&times) = took_of(t, k) / NANOS_PER_MICRO;
    pdl_json_open(out, '{');
    pdl_json_put_text(out, "name", PDL_STR("time"));
    pdl_json_put_text(out, "kind", PDL_STR("time"));
    put_quantiles(times.p, times.n, out);
    PDL_PUT(out, "}]");
    pdl_vec_fini(&times);
}

static void put_row(const row_table *t, uint32_t item, pdl_buf *out) {
    const pdl_item *x = &t->r->items.p[item];
    const pdl_digest *g = &t->r->digests[x->box];
    pdl_json_open(out, '{');
    pdl_json_put_int(out, "id", item);
    pdl_json_put_int(out, "number", x->number);
    pdl_json_put_int(out, "inside", x->end - item - 1);
    pdl_json_put_key(out, "cells");
    pdl_json_open(out, '[');
    for (size_t i = 0; i < t->n_columns; i++) {
        pdl_buf text = PDL_BUF;
        put_text(value_at(t, item, &t->columns[i]), &text);
        if (i) pdl_buf_putc(out, ',');
        pdl_json_quote(pdl_buf_str(&text), 0, out);
        pdl_buf_fini(&text);
    }
    pdl_buf_putc(out, ']');
    int64_t took = (int64_t)(took_of(t, item) / NANOS_PER_MICRO);
    if (took > 0) pdl_json_put_int(out, "took", took);
    if (g->tokens_in) pdl_json_put_int(out, "tokens_in", g->tokens_in);
    if (g->tokens_out) pdl_json_put_int(out, "tokens_out", g->tokens_out);
    if (has_failed(t, item)) pdl_json_put_text(out, "state", PDL_STR("failed"));
    pdl_buf_putc(out, '}');
}

void pdl_rows_json(const pdl_reading *r, const pdl_rows_query *q, pdl_buf *out) {
    row_table t = {.r = r, .item = q->item};
    PDL_VEC(sorted_row) rows = {0};
    uint32_t all = 0, failed = 0, end = r->items.p[q->item].end;
    bool down = pdl_str_starts(q->sort, PDL_STR("-"));
    pdl_str sort = pdl_str_sub(q->sort, down, q->sort.n);
    add_variables(&t);
    add_fields(&t);
    for (uint32_t k = q->item + 1; k < end; k = r->items.p[k].end) {
        bool bad = has_failed(&t, k);
        all++;
        failed += bad;
        bool wants_failed = pdl_str_is(q->where, "failed");
        if (wants_failed ? !bad : q->where.n && !contains(&t, k, q->where)) continue;
        sorted_row row = {0, PDL_BUF, k};
        if (sort.n) set_key(&t, sort, &row);
        *pdl_vec_push(&rows) = row;
    }
    if (rows.n && sort.n) qsort(rows.p, rows.n, sizeof *rows.p, down ? by_key_down : by_key);
    pdl_json_open(out, '{');
    put_columns(&t, out);
    pdl_json_put_key(out, "items");
    pdl_json_open(out, '[');
    for (size_t i = q->from; i < rows.n && i - q->from < q->n; i++)
        put_row(&t, rows.p[i].item, out);
    pdl_buf_putc(out, ']');
    pdl_json_put_int(out, "total", (int64_t)rows.n);
    pdl_json_put_int(out, "all", all);
    pdl_json_put_int(out, "failed", failed);
    pdl_buf_putc(out, '}');
    for (size_t i = 0; i < rows.n; i++) pdl_buf_fini(&rows.p[i].text);
    pdl_vec_fini(&rows);
}
