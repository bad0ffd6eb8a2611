/* page_data.c -- answers the page's questions about a run. Two users share this code, so that their
 * answers are the same: the server on loopback (page_server.c), and the module for browsers
 * (apps/wasm), which has no server.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/page_data.h"

#include "base/num.h"
#include "value/json_put.h"
#include "value/json_read.h"
#include "value/json_write.h"
#include "viewer/box_json.h"
#include "viewer/box_search.h"
#include "viewer/reading/asked.h"
#include "viewer/reading/call_table.h"
#include "viewer/reading/item_origins.h"
#include "viewer/reading/item_search.h"
#include "viewer/reading/map_rows.h"
#include "viewer/reading/reading_json.h"
#include "viewer/shown_run.h"
#include "viewer/time_lanes.h"

#include "base/banned.h"

enum {
    BOXES_AT_ONCE = 500,
    ITEMS_AT_ONCE = 500,
    CALLS_AT_ONCE = 20000,
    FOUND_AT_ONCE = 1000,
    NEWEST_ITEMS = 1000, /* maximum number of items of a run in progress that a page gets */
};

/* A question of the page. Its path is split into parts. */
typedef struct page_question {
    const pdl_view_run *run;
    const pdl_view_request *request;
    pdl_str word;
    uint32_t at[3];
    size_t n; /* how many numbers the path contains */
} page_question;

/* Appends an answer. Returns false when the run has no such part, and when the question has a
 * mistake, which err then describes. */
typedef bool answer_fn(const page_question *q, pdl_buf *out, pdl_err *err);

size_t pdl_page_numbers(pdl_str path, uint32_t *out, size_t most) {
    size_t n = 0;
    while (path.n && n < most) {
        size_t slash = pdl_str_find(path, PDL_STR("/"), 0);
        int64_t value;
        if (!pdl_num_read_int(pdl_str_sub(path, 0, slash), &value)) return 0;
        if (value < 0 || value > UINT32_MAX) return 0;
        out[n++] = (uint32_t)value;
        path = slash == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_sub(path, slash + 1, path.n);
    }
    return path.n ? 0 : n;
}

static bool parameter(const page_question *q, const char *name, pdl_buf *out) {
    const pdl_view_request *r = q->request;
    return r->parameter && r->parameter(r->user, name, out);
}

static uint32_t at_most(uint32_t n, uint32_t most) { return n < most ? n : most; }

/* --- the document ----------------------------------------------------------------------------- */

static bool put_document(const page_question *q, pdl_buf *out, pdl_err *err) {
    (void)err;
    pdl_reading_json_items(q->run->reading, q->run->source, q->at[0],
                           at_most(q->at[1], ITEMS_AT_ONCE), out);
    return true;
}

static bool is_item(const page_question *q) { return q->at[0] < q->run->reading->items.n; }

static bool put_inside(const page_question *q, pdl_buf *out, pdl_err *err) {
    (void)err;
    if (!is_item(q)) return false;
    pdl_reading_json_inside(q->run->reading, q->run->source, q->at[0], q->at[1],
                            at_most(q->at[2], ITEMS_AT_ONCE), out);
    return true;
}

static bool put_call(const page_question *q, pdl_buf *out, pdl_err *err) {
    (void)err;
    if (!q->at[0] || q->at[0] > q->run->reading->n_calls) return false;
    pdl_reading_json_call(q->run->reading, q->run->source, q->at[0], false, out);
    return true;
}

static bool put_call_table(const page_question *q, pdl_buf *out, pdl_err *err) {
    pdl_buf sort = PDL_BUF;
    (void)err;
    (void)parameter(q, "sort", &sort);
    pdl_call_table(q->run->reading, pdl_buf_str(&sort), CALLS_AT_ONCE, out);
    pdl_buf_fini(&sort);
    return true;
}

static bool put_asked(const page_question *q, pdl_buf *out, pdl_err *err) {
    (void)err;
    pdl_asked_json(q->run->reading, out);
    return true;
}

/* Appends the rows of a map. The query says how they are sorted and filtered. */
static bool put_rows(const page_question *q, pdl_buf *out, pdl_err *err) {
    pdl_buf sort = PDL_BUF, where = PDL_BUF;
    (void)err;
    if (!is_item(q) || q->run->reading->items.p[q->at[0]].shape != PDL_SHAPE_map) return false;
    (void)parameter(q, "sort", &sort);
    (void)parameter(q, "where", &where);
    pdl_rows_query rows = {q->at[0], q->at[1], at_most(q->at[2], ITEMS_AT_ONCE), pdl_buf_str(&sort),
                           pdl_buf_str(&where)};
    pdl_rows_json(q->run->reading, &rows, out);
    pdl_buf_fini(&sort);
    pdl_buf_fini(&where);
    return true;
}

static bool put_origin(const page_question *q, pdl_buf *out, pdl_err *err) {
    (void)err;
    if (!is_item(q)) return false;
    pdl_item_origin(q->run->reading, q->at[0], out);
    return true;
}

static bool has_flag(const page_question *q, const char *name) {
    pdl_buf value = PDL_BUF;
    bool on = parameter(q, name, &value) && !pdl_str_is(pdl_buf_str(&value), "0");
    pdl_buf_fini(&value);
    return on;
}

static bool put_found(const page_question *q, pdl_buf *out, pdl_err *err) {
    pdl_buf text = PDL_BUF, kind = PDL_BUF, model = PDL_BUF;
    (void)err;
    (void)parameter(q, "text", &text);
    (void)parameter(q, "kind", &kind);
    (void)parameter(q, "model", &model);
    pdl_item_query find = {pdl_buf_str(&text),    pdl_buf_str(&kind),  pdl_buf_str(&model),
                           has_flag(q, "failed"), has_flag(q, "slow"), has_flag(q, "costly")};
    pdl_item_find(q->run->reading, &find, FOUND_AT_ONCE, out);
    pdl_buf_fini(&text);
    pdl_buf_fini(&kind);
    pdl_buf_fini(&model);
    return true;
}

static bool put_newest(const page_question *q, pdl_buf *out, pdl_err *err) {
    (void)err;
    pdl_reading_json_newest(q->run->reading, q->run->source, NEWEST_ITEMS, q->request->late, out);
    return true;
}

/* --- the boxes, and the run as a whole -------------------------------------------------------- */

static bool put_source(const page_question *q, pdl_buf *out, pdl_err *err) {
    (void)err;
    pdl_buf_putc(out, '{');
    pdl_view_source_json(q->run->source, out);
    pdl_buf_putc(out, '}');
    return true;
}

static bool is_box(const page_question *q) { return q->at[0] < q->run->doc->boxes.n; }

static bool put_boxes(const page_question *q, pdl_buf *out, pdl_err *err) {
    const pdl_doc *d = q->run->doc;
    (void)err;
    if (!is_box(q)) return false;
    size_t end = (size_t)q->at[0] + at_most(q->at[1], BOXES_AT_ONCE);
    if (end > d->boxes.n) end = d->boxes.n;
    pdl_buf_putc(out, '[');
    for (size_t i = q->at[0]; i < end; i++) {
        if (i > q->at[0]) pdl_buf_putc(out, ',');
        pdl_box_json_line(d, q->run->source, (uint32_t)i, out);
    }
    pdl_buf_putc(out, ']');
    return true;
}

/* Appends the boxes whose block begins on this line of a file. A question without the number of a
 * file means the program. */
static bool put_line(const page_question *q, pdl_buf *out, pdl_err *err) {
    const pdl_view_run *r = q->run;
    size_t n = 0;
    (void)err;
    if (!q->n) return false;
    pdl_buf_putc(out, '[');
    for (size_t i = 0; i < r->doc->boxes.n && n < BOXES_AT_ONCE; i++)
        if (r->source->lines[i].first == q->at[0] && r->source->lines[i].file == q->at[1])
            pdl_buf_putf(out, "%s%zu", n++ ? "," : "", i);
    pdl_buf_putc(out, ']');
    return true;
}

static bool put_text(const page_question *q, pdl_buf *out, pdl_err *err) {
    (void)err;
    if (!is_box(q)) return false;
    pdl_box_result_text(q->run->doc, q->at[0], out);
    return true;
}

static bool put_details(const page_question *q, pdl_buf *out, pdl_err *err) {
    (void)err;
    if (!is_box(q)) return false;
    pdl_box_json_details(q->run->doc, q->run->source, q->at[0], NULL, out);
    return true;
}

static bool put_found_boxes(const page_question *q, pdl_buf *out, pdl_err *err) {
    pdl_val query;
    if (!pdl_json_read_document(q->request->body, 0, &query, err)) return false;
    bool ok = pdl_doc_find(q->run->doc, query, out, err);
    pdl_drop(query);
    return ok;
}

static bool put_lanes(const page_question *q, pdl_buf *out, pdl_err *err) {
    (void)err;
    pdl_doc_lanes(q->run->doc, out);
    return true;
}

/* Appends the trace as it was read. When it was damaged, appends its readable part. */
static bool put_trace(const page_question *q, pdl_buf *out, pdl_err *err) {
    return pdl_json_write(q->run->doc->trace, PDL_JSON_NAN | PDL_JSON_LOOSE, 0, out, err);
}

/* Appends the document as `pdl view --md` writes it. */
static bool put_markdown(const page_question *q, pdl_buf *out, pdl_err *err) {
    (void)err;
    pdl_reading_markdown(q->run->reading, q->run->source, false, out);
    return true;
}

/* --- the questions ---------------------------------------------------------------------------- */

static const char JSON[] = "application/json", PLAIN[] = "text/plain; charset=utf-8",
                  MARKDOWN[] = "text/markdown; charset=utf-8";

enum { ANY = -1 };

/* n: number of numbers in the path. early: the question is answered even during a run. */
static const struct {
    const char *word;
    int n;
    bool posted, early;
    const char *type;
    answer_fn *fn;
} questions[] = {
    {"program", ANY, false, true, JSON, put_source},
    {"document", 2, false, true, JSON, put_document},
    {"inside", 3, false, true, JSON, put_inside},
    {"call", 1, false, true, JSON, put_call},
    {"calls", 0, false, true, JSON, put_call_table},
    {"asked", 0, false, true, JSON, put_asked},
    {"newest", 0, false, true, JSON, put_newest},
    {"rows", 3, false, true, JSON, put_rows},
    {"origin", 1, false, true, JSON, put_origin},
    {"find", 0, false, true, JSON, put_found},
    {"find", ANY, true, false, JSON, put_found_boxes},
    {"source", ANY, false, false, JSON, put_source},
    {"trace", ANY, false, false, JSON, put_trace},
    {"markdown", ANY, false, false, MARKDOWN, put_markdown},
    {"lanes", ANY, false, false, JSON, put_lanes},
    {"line", ANY, false, false, JSON, put_line},
    {"boxes", 2, false, false, JSON, put_boxes},
    {"text", 1, false, false, PLAIN, put_text},
    {"details", 1, false, false, JSON, put_details},
};

static int refuse(int status, const char *why, const char **type, pdl_buf *out) {
    *type = PLAIN;
    pdl_buf_clear(out);
    pdl_buf_put(out, pdl_str_of(why));
    return status;
}

static int give(const page_question *q, size_t i, const char **type, pdl_buf *out) {
    pdl_err err = {0};
    int status = 200;
    *type = questions[i].type;
    if (!questions[i].fn(q, out, &err))
        status = !err.kind ? refuse(404, "There is no such thing here.", type, out)
                           : refuse(err.kind == PDL_E_limit ? 500 : 400, err.msg, type, out);
    pdl_err_fini(&err);
    return status;
}

int pdl_view_ask(const pdl_view_run *r, const pdl_view_request *request, const char **type,
                 pdl_buf *out) {
    pdl_str path = request->path;
    size_t end = pdl_str_find(path, PDL_STR("/"), 0);
    page_question q = {.run = r, .request = request, .word = pdl_str_sub(path, 0, end)};
    if (end != PDL_NOT_FOUND) q.n = pdl_page_numbers(pdl_str_sub(path, end + 1, path.n), q.at, 3);
    for (size_t i = 0; r && i < sizeof questions / sizeof *questions; i++) {
        bool fits = pdl_str_is(q.word, questions[i].word) &&
                    (questions[i].n == ANY || (size_t)questions[i].n == q.n) &&
                    questions[i].posted == request->posted &&
                    (questions[i].early || !request->running);
        if (fits) return give(&q, i, type, out);
    }
    return refuse(
        404, request->running ? "There is no such thing here yet." : "There is no such thing here.",
        type, out);
}

void pdl_view_summary(const pdl_view_run *r, pdl_buf *out) {
    pdl_json_open(out, '{');
    pdl_json_put_text(out, "name", pdl_str_of(r->name));
    pdl_doc_json_totals(r->doc, out);
    pdl_reading_json_head(r->reading, r->source, out);
    if (r->doc->notice) pdl_json_put_text(out, "notice", pdl_str_of(r->doc->notice));
    pdl_buf_putc(out, '}');
}

void pdl_view_live_summary(pdl_str name, pdl_buf *out) {
    pdl_json_open(out, '{');
    pdl_json_put_text(out, "name", name);
    pdl_json_put_bool(out, "live", true);
    pdl_buf_putc(out, '}');
}
