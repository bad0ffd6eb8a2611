/* page_server.c -- see viewer.h: the page and the boxes over HTTP. Who is answered: access.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/hash.h"
#include "base/num.h"
#include "base/pace.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "io/clock.h"
#include "io/httpd.h"
#include "value/json_read.h"
#include "value/json_write.h"
#include "viewer/access.h"
#include "viewer/again.h"
#include "viewer/box_json.h"
#include "viewer/box_search.h"
#include "viewer/lanes.h"
#include "viewer/live.h"
#include "viewer/page.h"
#include "viewer/reading/call_table.h"
#include "viewer/reading/item_origins.h"
#include "viewer/reading/item_search.h"
#include "viewer/reading/reading_json.h"
#include "viewer/reading/map_rows.h"
#include "viewer/read_files.h"
#include "viewer/shown_run.h"

#include "base/banned.h"

enum {
    MAX_BODY = 65536,
    MAX_AGAIN = 1 << 20, /* size of a request with changed programs and answers */
    MAX_BODIES = 4 << 20,
    MAX_CONNECTIONS = 64,
    RECEIVE_MS = 30000,
    SEND_MS = 30000,
    BOXES_AT_ONCE = 500,
    ITEMS_AT_ONCE = 500,
    CALLS_AT_ONCE = 20000,
    FOUND_AT_ONCE = 1000,
    NEWEST_ITEMS = 1000, /* most items of a run in progress that a page gets */
    FRAME_MS = 33,            /* time between two lists of changes */
    MAX_PENDING = 256 * 1024, /* bytes that a page may leave unread before it gets no more */
    MOST_STREAMS = 3,         /* pages whose connection stays; a browser has six for all its tabs */
    MOST_LISTS = 200,         /* lists of changes in one answer to a page */
    QUIET_FRAMES = 450,       /* frames without changes until a page gets a sign of life */
};

/* A page that gets the changes. */
typedef struct watcher {
    pdl_exchange *x;
    size_t from; /* number of changes that it has */
    unsigned quiet;
} watcher;

struct pdl_viewer {
    pdl_viewer_options opt;
    pdl_httpd *httpd;
    pdl_access *access;
    PDL_VEC(watcher) watchers;
    pdl_timer *frame; /* NULL while no page watches */
    void (*make)(void *user); /* makes the view of the run that is over; NULL when it is made */
    void *make_user;
    unsigned n_lives; /* number of runs in progress so far */
    /* The view of the run in progress, owned; NULL when there is none. It shows these events, and
     * another one is made after this time (ns) at the earliest. */
    pdl_view_run *now;
    size_t now_events;
    int64_t now_until;
};

/* --- what is asked ---------------------------------------------------------------------------- */

/* Reads the numbers of a path after its prefix, with slashes between them. */
static size_t read_numbers(pdl_str path, uint32_t *out, size_t most) {
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

static void forget_now(pdl_viewer *v) {
    pdl_view_run_free(v->now);
    v->now = NULL;
    v->now_until = 0;
}

/* Returns the view of the run in progress, as far as it is; NULL when there is none. Making it
 * takes time of the run: at most a twentieth. */
static const pdl_view_run *run_so_far(pdl_viewer *v) {
    enum { SHARE = 20 };
    int64_t start = (int64_t)pdl_clock_ns();
    size_t events = v->opt.live ? pdl_live_events(v->opt.live) : 0;
    if (!v->opt.live || !v->opt.so_far) return NULL;
    if (v->now && (v->now_events == events || start < v->now_until)) return v->now;
    pdl_view_run *fresh = v->opt.so_far(v->opt.user);
    if (!fresh) return v->now;
    pdl_view_run_free(v->now);
    int64_t end = (int64_t)pdl_clock_ns();
    v->now = fresh;
    v->now_events = events;
    v->now_until = end + SHARE * (end - start);
    return fresh;
}

/* Returns true when something has happened that the view of the run in progress does not show. */
static bool is_late(const pdl_viewer *v) {
    return v->now && v->opt.live && v->now_events != pdl_live_events(v->opt.live);
}

/* Returns a run by its number; NULL when there is none. */
static const pdl_view_run *run_at(pdl_viewer *v, uint32_t i) {
    if (v->opt.live) return i ? NULL : run_so_far(v);
    return i < v->opt.n_runs ? v->opt.runs[i] : NULL;
}

static void answer_runs(const pdl_viewer *v, pdl_exchange *x) {
    pdl_buf b = PDL_BUF;
    PDL_PUT(&b, "{\"runs\":[");
    if (v->opt.live) {
        pdl_buf_putc(&b, '{');
        pdl_json_put_text(&b, "name", v->opt.live_name);
        PDL_PUT(&b, ",\"live\":true}");
    }
    for (size_t i = 0; !v->opt.live && i < v->opt.n_runs; i++) {
        const pdl_view_run *r = v->opt.runs[i];
        if (i) pdl_buf_putc(&b, ',');
        pdl_buf_putc(&b, '{');
        pdl_json_put_text(&b, "name", pdl_str_of(r->name));
        pdl_doc_json_totals(r->doc, &b);
        pdl_reading_json_head(r->reading, r->source, &b);
        if (r->doc->notice) pdl_json_put_text(&b, "notice", pdl_str_of(r->doc->notice));
        pdl_buf_putc(&b, '}');
    }
    pdl_buf_putc(&b, ']');
    if (v->opt.again.text.p) pdl_again_json(v->opt.runs[0], &v->opt.again, v->opt.user, &b);
    pdl_buf_putc(&b, '}');
    pdl_access_answer_json(x, &b);
}

static void answer_boxes(const pdl_view_run *r, pdl_exchange *x, uint32_t from, uint32_t n) {
    pdl_buf b = PDL_BUF;
    size_t end = (size_t)from + (n < BOXES_AT_ONCE ? n : BOXES_AT_ONCE);
    if (end > r->doc->boxes.n) end = r->doc->boxes.n;
    pdl_buf_putc(&b, '[');
    for (size_t i = from; i < end; i++) {
        if (i > from) pdl_buf_putc(&b, ',');
        pdl_box_json_line(r->doc, r->source, (uint32_t)i, &b);
    }
    pdl_buf_putc(&b, ']');
    pdl_access_answer_json(x, &b);
}

static void answer_source(const pdl_view_run *r, pdl_exchange *x) {
    pdl_buf b = PDL_BUF;
    pdl_buf_putc(&b, '{');
    pdl_view_source_json(r->source, &b);
    pdl_buf_putc(&b, '}');
    pdl_access_answer_json(x, &b);
}

/* Answers with the boxes whose block begins on a line of a file. */
static void answer_line(const pdl_view_run *r, pdl_exchange *x, uint32_t line, uint32_t file) {
    pdl_buf b = PDL_BUF;
    size_t n = 0;
    pdl_buf_putc(&b, '[');
    for (size_t i = 0; i < r->doc->boxes.n && n < BOXES_AT_ONCE; i++)
        if (r->source->lines[i].first == line && r->source->lines[i].file == file)
            pdl_buf_putf(&b, "%s%zu", n++ ? "," : "", i);
    pdl_buf_putc(&b, ']');
    pdl_access_answer_json(x, &b);
}

static void answer_text(const pdl_view_run *r, pdl_exchange *x, uint32_t i) {
    pdl_buf b = PDL_BUF;
    pdl_box_result_text(r->doc, i, &b);
    pdl_access_answer(x, 200, "text/plain; charset=utf-8", pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

static void answer_find(const pdl_view_run *r, pdl_exchange *x) {
    pdl_buf b = PDL_BUF;
    pdl_err err = {0};
    pdl_val query;
    if (!pdl_json_read(pdl_exchange_body(x), 0, &query, NULL, &err)) {
        pdl_access_refuse(x, 400, err.msg);
    } else {
        if (pdl_doc_find(r->doc, query, &b, &err))
            pdl_access_answer(x, 200, "application/json", pdl_buf_str(&b));
        else
            pdl_access_refuse(x, 400, err.msg);
        pdl_drop(query);
    }
    pdl_err_fini(&err);
    pdl_buf_fini(&b);
}

static void answer_lanes(const pdl_view_run *r, pdl_exchange *x) {
    pdl_buf b = PDL_BUF;
    pdl_doc_lanes(r->doc, &b);
    pdl_access_answer_json(x, &b);
}

/* Answers with the rows of a map in the order, and with the filter, of the query. */
static void put_rows(const pdl_reading *d, const pdl_exchange *x, const uint32_t *at,
                     pdl_buf *out) {
    pdl_buf sort = PDL_BUF, where = PDL_BUF;
    (void)pdl_exchange_parameter(x, "sort", &sort);
    (void)pdl_exchange_parameter(x, "where", &where);
    pdl_rows_query q = {at[0], at[1], at[2] < ITEMS_AT_ONCE ? at[2] : ITEMS_AT_ONCE,
                        pdl_buf_str(&sort), pdl_buf_str(&where)};
    pdl_rows_json(d, &q, out);
    pdl_buf_fini(&sort);
    pdl_buf_fini(&where);
}

static void put_call_table(const pdl_reading *d, const pdl_exchange *x, pdl_buf *out) {
    pdl_buf sort = PDL_BUF;
    (void)pdl_exchange_parameter(x, "sort", &sort);
    pdl_call_table(d, pdl_buf_str(&sort), CALLS_AT_ONCE, out);
    pdl_buf_fini(&sort);
}

static bool has_flag(const pdl_exchange *x, const char *name) {
    pdl_buf value = PDL_BUF;
    bool on = pdl_exchange_parameter(x, name, &value) && !pdl_str_is(pdl_buf_str(&value), "0");
    pdl_buf_fini(&value);
    return on;
}

static void put_found(const pdl_reading *d, const pdl_exchange *x, pdl_buf *out) {
    pdl_buf text = PDL_BUF, kind = PDL_BUF, model = PDL_BUF;
    (void)pdl_exchange_parameter(x, "text", &text);
    (void)pdl_exchange_parameter(x, "kind", &kind);
    (void)pdl_exchange_parameter(x, "model", &model);
    pdl_item_query q = {pdl_buf_str(&text),     pdl_buf_str(&kind),  pdl_buf_str(&model),
                        has_flag(x, "failed"), has_flag(x, "slow"), has_flag(x, "costly")};
    pdl_item_find(d, &q, FOUND_AT_ONCE, out);
    pdl_buf_fini(&text);
    pdl_buf_fini(&kind);
    pdl_buf_fini(&model);
}

/* Answers with a range of the document, with the items inside of one, or with one call. */
static void answer_document(const pdl_view_run *r, pdl_exchange *x, pdl_str word,
                            const uint32_t *at, bool late) {
    pdl_buf b = PDL_BUF;
    const pdl_reading *d = r->reading;
    if (pdl_str_is(word, "document"))
        pdl_reading_json_items(d, r->source, at[0], at[1] < ITEMS_AT_ONCE ? at[1] : ITEMS_AT_ONCE,
                               &b);
    else if (pdl_str_is(word, "inside") && at[0] < d->items.n)
        pdl_reading_json_inside(d, r->source, at[0], at[1],
                                at[2] < ITEMS_AT_ONCE ? at[2] : ITEMS_AT_ONCE, &b);
    else if (pdl_str_is(word, "call") && at[0] && at[0] <= d->n_calls)
        pdl_reading_json_call(d, r->source, at[0], &b);
    else if (pdl_str_is(word, "calls"))
        put_call_table(d, x, &b);
    else if (pdl_str_is(word, "rows") && at[0] < d->items.n &&
             d->items.p[at[0]].shape == PDL_SHAPE_map)
        put_rows(d, x, at, &b);
    else if (pdl_str_is(word, "origin") && at[0] < d->items.n)
        pdl_item_origin(d, at[0], &b);
    else if (pdl_str_is(word, "find"))
        put_found(d, x, &b);
    else if (pdl_str_is(word, "newest"))
        pdl_reading_json_newest(d, r->source, NEWEST_ITEMS, late, &b);
    if (b.len)
        pdl_access_answer_json(x, &b);
    else
        pdl_access_refuse(x, 404, "There is no such thing here.");
    if (!b.len) pdl_buf_fini(&b);
}

/* Returns one more than the numbers that such a request has; 0 when the word is no request of the
 * document. Only these are answered during a run. */
static size_t numbers_of(pdl_str word) {
    static const struct {
        const char *word;
        size_t n;
    } words[] = {{"document", 2}, {"inside", 3}, {"call", 1}, {"calls", 0}, {"newest", 0},
                 {"rows", 3}, {"origin", 1}, {"find", 0}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (pdl_str_is(word, words[i].word)) return words[i].n + 1;
    return 0;
}

/* Answers with the whole trace as it was read; of a damaged one with the readable part. */
static void answer_trace(const pdl_view_run *r, pdl_exchange *x) {
    pdl_buf b = PDL_BUF;
    pdl_err err = {0};
    if (pdl_json_write(r->doc->trace, PDL_JSON_NAN | PDL_JSON_LOOSE, 0, &b, &err))
        pdl_access_answer(x, 200, "application/json", pdl_buf_str(&b));
    else
        pdl_access_refuse(x, 500, err.msg);
    pdl_err_fini(&err);
    pdl_buf_fini(&b);
}

/* Answers with the document as `pdl view --md` writes it. */
static void answer_markdown(const pdl_view_run *r, pdl_exchange *x) {
    pdl_buf b = PDL_BUF;
    pdl_reading_markdown(r->reading, r->source, false, &b);
    pdl_access_answer(x, 200, "text/markdown; charset=utf-8", pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

/* Answers /api/RUN/WORD/NUMBER...; with 404 when there is no such thing. */
static void answer_api(pdl_viewer *v, pdl_exchange *x, pdl_str path) {
    uint32_t run = 0, at[3] = {0};
    size_t slash = pdl_str_find(path, PDL_STR("/"), 0);
    bool ok = read_numbers(pdl_str_sub(path, 0, slash), &run, 1) == 1;
    pdl_str rest = slash == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_sub(path, slash + 1, path.n);
    size_t end = pdl_str_find(rest, PDL_STR("/"), 0);
    pdl_str word = pdl_str_sub(rest, 0, end);
    size_t n = end == PDL_NOT_FOUND ? 0 : read_numbers(pdl_str_sub(rest, end + 1, rest.n), at, 3);
    const pdl_view_run *r = ok ? run_at(v, run) : NULL;
    bool box = r && n && at[0] < r->doc->boxes.n;
    if (r && pdl_str_is(word, "program"))
        answer_source(r, x);
    else if (r && numbers_of(word) == n + 1 && !pdl_str_is(pdl_exchange_method(x), "POST"))
        answer_document(r, x, word, at, is_late(v));
    else if (v->opt.live)
        pdl_access_refuse(x, 404, "There is no such thing here yet.");
    else if (r && pdl_str_is(word, "source"))
        answer_source(r, x);
    else if (r && pdl_str_is(word, "trace"))
        answer_trace(r, x);
    else if (r && pdl_str_is(word, "markdown"))
        answer_markdown(r, x);
    else if (r && pdl_str_is(word, "lanes"))
        answer_lanes(r, x);
    else if (r && pdl_str_is(word, "find") && pdl_str_is(pdl_exchange_method(x), "POST"))
        answer_find(r, x);
    else if (r && n && pdl_str_is(word, "line"))
        answer_line(r, x, at[0], at[1]); /* without a file number it is that of the program */
    else if (box && n == 2 && pdl_str_is(word, "boxes"))
        answer_boxes(r, x, at[0], at[1]);
    else if (box && n == 1 && pdl_str_is(word, "text"))
        answer_text(r, x, at[0]);
    else if (box && n == 1 && pdl_str_is(word, "details")) {
        pdl_buf b = PDL_BUF;
        pdl_box_json_details(r->doc, r->source, at[0], &b);
        pdl_access_answer_json(x, &b);
    } else
        pdl_access_refuse(x, 404, "There is no such thing here.");
}

static void answer_file(pdl_exchange *x, pdl_str name) {
    pdl_buf text = PDL_BUF;
    const pdl_page_file *f = pdl_page_named(name);
    if (pdl_str_is(name, "kinds.css")) {
        pdl_page_colours(&text);
        pdl_access_answer(x, 200, "text/css; charset=utf-8", pdl_buf_str(&text));
    } else if (f && !pdl_str_is(name, "index.html")) {
        pdl_page_put(f, &text);
        pdl_access_answer(x, 200, f->type, pdl_buf_str(&text));
    } else {
        pdl_access_refuse(x, 404, "The page has no such file.");
    }
    pdl_buf_fini(&text);
}

/* --- changes of a run in progress ------------------------------------------------------------ */

/* Sends changes to a page unless it has too many unread bytes: it then gets the newest state once
 * it reads again. Returns true when there were changes. */
static bool send_changes(const pdl_viewer *v, watcher *w) {
    pdl_buf list = PDL_BUF;
    char id[40];
    if (pdl_exchange_pending(w->x) > MAX_PENDING) return false;
    bool any = pdl_live_json(v->opt.live, &w->from, BOXES_AT_ONCE, &list);
    if (any) {
        pdl_buf head = pdl_buf_in(id, sizeof id, PDL_BUF.limit);
        pdl_buf_putf(&head, "id: %u.%zu\n", v->n_lives, w->from);
        w->quiet = 0;
        pdl_exchange_put(w->x, pdl_buf_str(&head));
        pdl_buf_fini(&head);
        pdl_exchange_put(w->x, PDL_STR("data: "));
        pdl_exchange_put(w->x, pdl_buf_str(&list));
        pdl_exchange_put(w->x, PDL_STR("\n\n"));
    } else if (++w->quiet >= QUIET_FRAMES) {
        w->quiet = 0;
        pdl_exchange_put(w->x, PDL_STR(":\n\n"));
    }
    pdl_buf_fini(&list);
    return any;
}

static void on_frame(void *user) {
    pdl_viewer *v = user;
    v->frame = NULL;
    for (size_t i = 0; i < v->watchers.n; i++) (void)send_changes(v, &v->watchers.p[i]);
    if (v->watchers.n) v->frame = pdl_timer_start(v->opt.loop, pdl_pace_ms(FRAME_MS), on_frame, v);
}

/* Reads what a page that connects again already knows: of which run, and how many changes. Returns
 * false when it is another run. */
static bool known_to(const pdl_viewer *v, const pdl_exchange *x, size_t *from) {
    pdl_str last = pdl_exchange_header(x, "Last-Event-ID");
    size_t dot = pdl_str_find(last, PDL_STR("."), 0);
    int64_t run = 0, n = 0;
    if (dot == PDL_NOT_FOUND) return true;
    bool read = pdl_num_read_int(pdl_str_sub(last, 0, dot), &run) &&
                pdl_num_read_int(pdl_str_sub(last, dot + 1, last.n), &n) && n >= 0;
    if (!read || run != v->n_lives || (uint64_t)n > pdl_live_changes(v->opt.live)) return false;
    *from = (size_t)n;
    return true;
}

/* Answers with all changes so far; the page connects again for later ones. */
static void answer_changes(const pdl_viewer *v, watcher w) {
    pdl_exchange_put(w.x, PDL_STR("retry: 500\n\n"));
    for (size_t i = 0; i < MOST_LISTS && send_changes(v, &w); i++) continue;
    pdl_exchange_put(w.x, PDL_STR("event: later\ndata: {}\n\n"));
    pdl_exchange_end(w.x);
}

static void begin_events(pdl_viewer *v, pdl_exchange *x) {
    pdl_access_begin(x, "text/event-stream");
    watcher w = {.x = x};
    if (!v->opt.live || !known_to(v, x, &w.from)) {
        pdl_exchange_put(x, PDL_STR("event: over\ndata: {}\n\n"));
        pdl_exchange_end(x);
        return;
    }
    if (v->watchers.n >= MOST_STREAMS) {
        answer_changes(v, w);
        return;
    }
    *pdl_vec_push(&v->watchers) = w;
    if (!v->frame) v->frame = pdl_timer_start(v->opt.loop, 0, on_frame, v);
}

void pdl_viewer_begin(pdl_viewer *v, pdl_live *live, pdl_str name, pdl_str program) {
    forget_now(v);
    v->opt.live = live;
    v->n_lives++;
    v->opt.live_name = name;
    v->opt.program = program;
}

void pdl_viewer_over(pdl_viewer *v, pdl_view_run *const *runs, size_t n) {
    v->opt.runs = runs;
    v->opt.n_runs = n;
    v->opt.live = NULL;
    forget_now(v);
    pdl_timer_stop(v->frame);
    v->frame = NULL;
    while (v->watchers.n) {
        pdl_exchange *x = v->watchers.p[--v->watchers.n].x;
        pdl_exchange_put(x, PDL_STR("event: over\ndata: {}\n\n"));
        pdl_exchange_end(x);
    }
}

static void make_runs(pdl_viewer *v) {
    void (*make)(void *user) = v->make;
    v->make = NULL;
    if (make) make(v->make_user);
}

void pdl_viewer_when_asked(pdl_viewer *v, void (*make)(void *user), void *user) {
    v->make = make;
    v->make_user = user;
    if (v->watchers.n) make_runs(v);
}

void pdl_viewer_leave(pdl_viewer *v, const char *why) {
    pdl_buf event = PDL_BUF;
    PDL_PUT(&event, "event: gone\ndata: {");
    pdl_json_put_text(&event, "text", pdl_str_of(why));
    PDL_PUT(&event, "}\n\n");
    pdl_timer_stop(v->frame);
    v->frame = NULL;
    while (v->watchers.n) {
        watcher w = v->watchers.p[--v->watchers.n];
        (void)send_changes(v, &w);
        pdl_exchange_put(w.x, pdl_buf_str(&event));
        pdl_exchange_end(w.x);
    }
    pdl_buf_fini(&event);
}

static void answer_program(const pdl_viewer *v, pdl_exchange *x) {
    pdl_buf b = PDL_BUF, shown = PDL_BUF;
    pdl_live_redact(v->opt.live, v->opt.program, &shown);
    pdl_buf_putc(&b, '{');
    pdl_json_put_text(&b, "source_name", v->opt.live_name);
    pdl_json_put_text(&b, "source", pdl_buf_str(&shown));
    pdl_view_files_json(pdl_live_files(v->opt.live), v->opt.live, &b);
    pdl_buf_putc(&b, '}');
    pdl_access_answer_json(x, &b);
    pdl_buf_fini(&shown);
}

/* Handles /api/0/answer/EFFECT: the body is what the user typed. */
static void take_answer(const pdl_viewer *v, pdl_exchange *x, pdl_str rest) {
    uint32_t effect = 0;
    pdl_str text = pdl_exchange_body(x);
    if (!pdl_str_is(pdl_exchange_method(x), "POST") || read_numbers(rest, &effect, 1) != 1)
        pdl_access_refuse(x, 400, "An answer is posted, with the number of the question.");
    else if (!v->opt.live || !v->opt.answer || !pdl_live_asks(v->opt.live, effect))
        pdl_access_refuse(x, 409, "This is not asked any more.");
    else if (pdl_utf8_check(text) != PDL_NOT_FOUND)
        pdl_access_refuse(x, 400, "The answer is not UTF-8.");
    else if (!v->opt.answer(v->opt.user, effect, text))
        pdl_access_refuse(x, 409, "This is not asked any more.");
    else
        pdl_access_answer(x, 204, "text/plain; charset=utf-8", PDL_STR(""));
}

/* --- the program again ------------------------------------------------------------------------ */

/* Handles /api/again: the lines that the user changed. 202: it runs. */
static void start_again(const pdl_viewer *v, pdl_exchange *x) {
    const pdl_view_again *g = &v->opt.again;
    pdl_again_asked asked = {.request = pdl_absent()};
    pdl_err err = {0};
    if (!pdl_str_is(pdl_exchange_method(x), "POST"))
        pdl_access_refuse(x, 400, "What is run again is posted.");
    else if (!g->text.p)
        pdl_access_refuse(x, 403, "Nothing is run here: pdl view --run PROGRAM allows it.");
    else if (v->opt.live)
        pdl_access_refuse(x, 409, "A run is in progress already.");
    else if (!pdl_again_read(pdl_exchange_body(x), v->opt.runs[0], g, v->opt.user, &asked, &err))
        pdl_access_refuse(x, 400, err.msg);
    else if (!pdl_again_start(&asked, g, v->opt.user, &err))
        pdl_access_refuse(x, 422, err.msg);
    else
        pdl_access_answer(x, 202, "text/plain; charset=utf-8", PDL_STR(""));
    pdl_again_fini(&asked);
    pdl_err_fini(&err);
}

/* Handles /api/again/answer/BOX: the answer that a block of the first run got; null when it sent no
 * request. */
static void show_answer(const pdl_viewer *v, pdl_exchange *x, pdl_str rest) {
    const pdl_view_again *g = &v->opt.again;
    uint32_t box = 0;
    pdl_buf text = PDL_BUF, b = PDL_BUF;
    pdl_err err = {0};
    bool json = false;
    bool known =
        g->text.p && read_numbers(rest, &box, 1) == 1 && box < v->opt.runs[0]->doc->boxes.n;
    if (known &&
        g->answer_at(v->opt.user, v->opt.runs[0]->doc->boxes.p[box].place, &text, &json, &err)) {
        pdl_buf_putc(&b, '{');
        pdl_json_put_text(&b, "text", pdl_buf_str(&text));
        pdl_buf_putf(&b, ",\"json\":%s}", json ? "true" : "false");
        pdl_access_answer_json(x, &b);
    } else if (known) {
        pdl_access_answer(x, 200, "application/json", PDL_STR("null"));
    } else {
        pdl_access_refuse(x, 404, "There is no such thing here.");
    }
    pdl_buf_fini(&text);
    pdl_buf_fini(&b);
    pdl_err_fini(&err);
}

static void stop_again(const pdl_viewer *v, pdl_exchange *x) {
    if (!pdl_str_is(pdl_exchange_method(x), "POST") || !v->opt.again.text.p || !v->opt.live) {
        pdl_access_refuse(x, 409, "No run that was started here is in progress.");
        return;
    }
    v->opt.again.stop(v->opt.user);
    pdl_access_answer(x, 202, "text/plain; charset=utf-8", PDL_STR(""));
}

/* --- requests --------------------------------------------------------------------------------- */

static void on_head(void *user, pdl_exchange *x) {
    const pdl_viewer *v = user;
    pdl_access_check(v->access, pdl_httpd_port(v->httpd), x);
}

static void on_request(void *user, pdl_exchange *x) {
    pdl_viewer *v = user;
    pdl_str path = pdl_exchange_path(x), open = PDL_STR("/open/"), page = PDL_STR("/page/"),
            api = PDL_STR("/api/"), given = PDL_STR("/api/0/answer/"),
            said = PDL_STR("/api/again/answer/");
    const pdl_page_file *index = pdl_page_named(PDL_STR("index.html"));
    if (pdl_str_starts(path, api)) make_runs(v);
    if (pdl_str_starts(path, open) && pdl_str_is(pdl_exchange_method(x), "GET"))
        pdl_access_open(v->access, pdl_httpd_port(v->httpd), x, pdl_str_sub(path, open.n, path.n));
    else if (pdl_str_is(path, "/"))
        pdl_access_answer(x, 200, index->type, (pdl_str){(const char *)index->bytes, *index->n});
    else if (pdl_str_starts(path, page))
        answer_file(x, pdl_str_sub(path, page.n, path.n));
    else if (pdl_str_is(path, "/api/runs"))
        answer_runs(v, x);
    else if (pdl_str_is(path, "/api/events") || pdl_str_is(path, "/api/live"))
        begin_events(v, x);
    else if (pdl_str_starts(path, given))
        take_answer(v, x, pdl_str_sub(path, given.n, path.n));
    else if (pdl_str_is(path, "/api/again"))
        start_again(v, x);
    else if (pdl_str_is(path, "/api/again/stop"))
        stop_again(v, x);
    else if (pdl_str_starts(path, said))
        show_answer(v, x, pdl_str_sub(path, said.n, path.n));
    else if (v->opt.live && pdl_str_is(path, "/api/0/source"))
        answer_program(v, x);
    else if (pdl_str_starts(path, api))
        answer_api(v, x, pdl_str_sub(path, api.n, path.n));
    else
        pdl_access_refuse(x, 404, "There is no such thing here.");
}

static void on_over(void *user, pdl_exchange *x) {
    pdl_viewer *v = user;
    for (size_t i = 0; i < v->watchers.n; i++)
        if (v->watchers.p[i].x == x) {
            v->watchers.p[i] = v->watchers.p[--v->watchers.n];
            return;
        }
}

/* --- life ------------------------------------------------------------------------------------- */

bool pdl_viewer_start(const pdl_viewer_options *o, pdl_viewer **out, pdl_err *err) {
    pdl_viewer *v = PDL_NEW(pdl_viewer);
    v->opt = *o;
    pdl_httpd_options http = {
        .host = o->host,
        .port = o->port,
        .max_body = o->again.text.p ? MAX_AGAIN : MAX_BODY,
        .max_bodies = MAX_BODIES,
        .max_connections = MAX_CONNECTIONS,
        .receive_ms = RECEIVE_MS,
        .send_ms = SEND_MS,
        .debug = o->debug,
        .user = v,
        .head = on_head,
        .request = on_request,
        .over = on_over,
    };
    if (!pdl_access_new(o->host, o->frames, &v->access, err) ||
        !pdl_httpd_start(o->loop, &http, &v->httpd, err)) {
        pdl_viewer_free(v);
        return false;
    }
    *out = v;
    return true;
}

uint16_t pdl_viewer_port(const pdl_viewer *v) { return pdl_httpd_port(v->httpd); }

void pdl_viewer_address(pdl_viewer *v, pdl_buf *out) {
    pdl_access_put_address(v->access, pdl_httpd_port(v->httpd), out);
}

bool pdl_viewer_was_opened(const pdl_viewer *v) { return pdl_access_was_opened(v->access); }

void pdl_viewer_free(pdl_viewer *v) {
    if (!v) return;
    pdl_timer_stop(v->frame);
    pdl_httpd_free(v->httpd);
    pdl_access_free(v->access);
    forget_now(v);
    pdl_vec_fini(&v->watchers);
    pdl_free(v);
}
