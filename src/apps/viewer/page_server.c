/* page_server.c -- serves the page and the boxes over HTTP; see viewer.h. access.h decides which
 * requests are answered.
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
#include "value/json_put.h"
#include "viewer/access.h"
#include "viewer/live.h"
#include "viewer/page.h"
#include "viewer/page_data.h"
#include "viewer/rerun_request.h"
#include "viewer/shown_run.h"

#include "base/banned.h"

enum {
    MAX_BODY = 65536,
    MAX_AGAIN = 1 << 20, /* maximum size of a request with changed programs and answers */
    MAX_BODIES = 4 << 20,
    MAX_CONNECTIONS = 64,
    RECEIVE_MS = 30000,
    SEND_MS = 30000,
    BOXES_AT_ONCE = 500,
    FRAME_MS = 33,            /* minimum time between two lists of changes */
    MAX_PENDING = 256 * 1024, /* a page with more unread bytes than this gets no further changes */
    /* maximum number of pages that keep their connection; a browser has six connections for all its
     * tabs */
    MAX_STREAMS = 3,
    MAX_LISTS = 200, /* maximum number of lists of changes in one answer to a page */
    /* number of frames without changes after which a page gets a sign that the server still runs */
    QUIET_FRAMES = 450,
};

/* A page that receives changes. */
typedef struct watcher {
    pdl_exchange *x;
    size_t from; /* number of changes that the page has received */
    unsigned quiet;
} watcher;

struct pdl_viewer {
    pdl_viewer_options opt;
    pdl_httpd *httpd;
    pdl_access *access;
    PDL_VEC(watcher) watchers;
    pdl_timer *frame; /* NULL while no page watches the run */
    /* makes the view of a run that is over; NULL after the view was made */
    void (*make)(void *user);
    void *make_user;
    unsigned n_lives; /* number of runs that were in progress so far */
    /* The view of the run in progress, owned; NULL when there is none. The members below say how
     * many events it shows, when it was made, and how long that took (ns). */
    pdl_view_run *now;
    size_t now_events;
    int64_t now_end, now_took;
    size_t asked_events; /* number of events when a page last asked for the view */
};

/* --- what is asked ---------------------------------------------------------------------------- */

static void forget_now(pdl_viewer *v) {
    pdl_view_run_free(v->now);
    v->now = NULL;
    v->now_end = v->now_took = 0;
    v->now_events = v->asked_events = 0;
}

/* Returns true when a new view may be made. Making a view delays the run, so at most a twentieth of
 * the time is spent on views. The time for a new view is estimated from the previous one. While
 * events arrive, the estimate grows with their number. When nothing has happened since a page last
 * asked, the run waits, and the estimate does not grow. */
static bool may_make_view(pdl_viewer *v, size_t events, int64_t now) {
    enum { SHARE = 20 };
    bool waits = events == v->asked_events;
    double grown = v->now_events ? (double)events / (double)v->now_events : 1;
    v->asked_events = events;
    if (!v->now) return true;
    double took = (double)v->now_took * (waits ? 1 : grown);
    return v->now_events != events && (double)(now - v->now_end) >= SHARE * took;
}

/* Returns a view of the run in progress, which may be an earlier one; NULL when there is none. */
static const pdl_view_run *run_so_far(pdl_viewer *v) {
    int64_t start = (int64_t)pdl_clock_ns();
    if (!v->opt.live || !v->opt.so_far) return NULL;
    size_t events = pdl_live_events(v->opt.live);
    if (!may_make_view(v, events, start)) return v->now;
    pdl_live_gather_all(v->opt.live); /* a view needs the files of all blocks */
    pdl_view_run *fresh = v->opt.so_far(v->opt.user);
    if (!fresh) return v->now;
    pdl_view_run_free(v->now);
    v->now = fresh;
    v->now_events = events;
    v->now_end = (int64_t)pdl_clock_ns();
    v->now_took = v->now_end - start;
    return fresh;
}

/* Returns true when the view of the run in progress does not show all events. */
static bool is_late(const pdl_viewer *v) {
    return v->now && v->opt.live && v->now_events != pdl_live_events(v->opt.live);
}

/* Returns the run with this number; NULL when there is none. */
static const pdl_view_run *run_at(pdl_viewer *v, uint32_t i) {
    if (v->opt.live) return i ? NULL : run_so_far(v);
    return i < v->opt.n_runs ? v->opt.runs[i] : NULL;
}

static void answer_runs(const pdl_viewer *v, pdl_exchange *x) {
    pdl_buf b = PDL_BUF;
    pdl_json_open(&b, '{');
    pdl_json_put_key(&b, "runs");
    pdl_json_open(&b, '[');
    if (v->opt.live) pdl_view_live_summary(v->opt.live_name, &b);
    for (size_t i = 0; !v->opt.live && i < v->opt.n_runs; i++) pdl_view_summary(v->opt.runs[i], &b);
    pdl_buf_putc(&b, ']');
    if (v->opt.again.text.p) pdl_again_json(v->opt.runs[0], &v->opt.again, v->opt.user, &b);
    pdl_buf_putc(&b, '}');
    pdl_access_answer_json(x, &b);
}

static bool parameter_of(const void *user, const char *name, pdl_buf *out) {
    return pdl_exchange_parameter(user, name, out);
}

/* Answers /api/RUN/WORD/NUMBER...; the status is 404 when the run has no such part. */
static void answer_api(pdl_viewer *v, pdl_exchange *x, pdl_str path) {
    uint32_t run = 0;
    size_t slash = pdl_str_find(path, PDL_STR("/"), 0);
    bool ok = pdl_page_numbers(pdl_str_sub(path, 0, slash), &run, 1) == 1;
    const char *type;
    pdl_buf b = PDL_BUF;
    pdl_view_request q = {
        .path = slash == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_sub(path, slash + 1, path.n),
        .body = pdl_exchange_body(x),
        .posted = pdl_str_is(pdl_exchange_method(x), "POST"),
        .running = v->opt.live != NULL,
        .parameter = parameter_of,
        .user = x,
    };
    const pdl_view_run *r = ok ? run_at(v, run) : NULL;
    q.late = is_late(v);
    int status = pdl_view_ask(r, &q, &type, &b);
    if (status == 200)
        pdl_access_answer(x, status, type, pdl_buf_str(&b));
    else
        pdl_access_refuse(x, status, pdl_buf_z(&b));
    pdl_buf_fini(&b);
}

static void answer_file(pdl_exchange *x, pdl_str name) {
    pdl_buf text = PDL_BUF;
    const pdl_page_file *f = pdl_page_named(name);
    if (pdl_str_is(name, "kinds.css")) {
        pdl_page_colours(&text);
        pdl_access_answer(x, 200, "text/css; charset=utf-8", pdl_buf_str(&text));
    } else if (f && !pdl_str_is(name, "index.html")) {
        pdl_access_answer(x, 200, f->type, pdl_page_bytes(f));
    } else {
        pdl_access_refuse(x, 404, "The page has no such file.");
    }
    pdl_buf_fini(&text);
}

/* --- changes of a run in progress ------------------------------------------------------------ */

/* Sends changes to a page. When the page has too many unread bytes, nothing is sent until it reads
 * again; then it gets the newest state. Returns true when there were changes. */
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
    pdl_live_gather(v->opt.live);
    for (size_t i = 0; i < v->watchers.n; i++) (void)send_changes(v, &v->watchers.p[i]);
    if (v->watchers.n) v->frame = pdl_timer_start(v->opt.loop, pdl_pace_ms(FRAME_MS), on_frame, v);
}

/* Reads from a request which run and how many of its changes the page already has. Returns false
 * when the page shows another run. */
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

/* Answers with all changes so far. The page connects again to get later changes. */
static void answer_changes(const pdl_viewer *v, watcher w) {
    pdl_exchange_put(w.x, PDL_STR("retry: 500\n\n"));
    pdl_live_gather(v->opt.live);
    for (size_t i = 0; i < MAX_LISTS && send_changes(v, &w); i++) continue;
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
    if (v->watchers.n >= MAX_STREAMS) {
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
    if (v->watchers.n && v->opt.live) pdl_live_gather(v->opt.live);
    while (v->watchers.n) {
        watcher w = v->watchers.p[--v->watchers.n];
        (void)send_changes(v, &w);
        pdl_exchange_put(w.x, pdl_buf_str(&event));
        pdl_exchange_end(w.x);
    }
    pdl_buf_fini(&event);
}

static void answer_program(const pdl_viewer *v, pdl_exchange *x) {
    pdl_buf b = PDL_BUF;
    pdl_live_put_program(v->opt.live, v->opt.live_name, v->opt.program, &b);
    pdl_access_answer_json(x, &b);
}

/* Handles /api/0/answer/EFFECT, whose body is the text that the user typed. */
static void take_answer(const pdl_viewer *v, pdl_exchange *x, pdl_str rest) {
    uint32_t effect = 0;
    pdl_str text = pdl_exchange_body(x);
    if (!pdl_str_is(pdl_exchange_method(x), "POST") || pdl_page_numbers(rest, &effect, 1) != 1)
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

/* Handles /api/again, with the lines that the user changed. The status is 202 when the run was
 * started. */
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

/* Handles /api/again/answer/BOX. The answer is the recorded answer of a block of the first run, or
 * null when the block has sent no request. */
static void show_answer(const pdl_viewer *v, pdl_exchange *x, pdl_str rest) {
    const pdl_view_again *g = &v->opt.again;
    uint32_t box = 0;
    pdl_buf text = PDL_BUF, b = PDL_BUF;
    pdl_err err = {0};
    bool json = false;
    bool known =
        g->text.p && pdl_page_numbers(rest, &box, 1) == 1 && box < v->opt.runs[0]->doc->boxes.n;
    if (known &&
        g->answer_at(v->opt.user, v->opt.runs[0]->doc->boxes.p[box].place, &text, &json, &err)) {
        pdl_json_open(&b, '{');
        pdl_json_put_text(&b, "text", pdl_buf_str(&text));
        pdl_json_put_bool(&b, "json", json);
        pdl_buf_putc(&b, '}');
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
        pdl_access_answer(x, 200, index->type, pdl_page_bytes(index));
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
