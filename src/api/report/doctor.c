/* doctor.c -- tries Python, libraries, keys, folders and services, and reports the results; see
 * doctor.h. Anything that is missing becomes a row of the report. The other rows follow
 * nevertheless, because a user wants the whole list at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/doctor.h"

#include <stdlib.h>
#include <unistd.h>

#include "api/session/session_impl.h"
#include "base/libraries.h"
#include "base/version.h"
#include "io/file.h"
#include "io/http.h"
#include "journal/runs.h"
#include "model/model.h"
#include "sandbox/sandbox.h"
#include "sqlite/sql.h"
#include "value/text.h"

#include "base/banned.h"

enum { ASK_MS = 5000 };

typedef struct service {
    pdl_buf text;
    char *url;
    bool is_ready, is_over, answered;
    uint64_t id;
} service;

typedef struct doctor {
    pdl_session *session;
    pdl_http *http; /* NULL when no requests are sent to services */
    PDL_VEC(service *) services;
    pdl_val rows;
    /* notes about .env, one on each line; they are made before there is a session */
    pdl_buf notes;
    /* address of the previous provider; several providers may share a service */
    pdl_buf last_address;
} doctor;

static void add(doctor *d, const char *topic, const char *state, const char *advice,
                pdl_buf *text) {
    pdl_buf hidden = PDL_BUF;
    pdl_session_redact(d->session, pdl_buf_str(text), &hidden);
    pdl_val row = pdl_dict_putz(pdl_dict_new(4), "topic", pdl_textz(topic));
    row = pdl_dict_putz(row, "state", pdl_textz(state));
    row = pdl_dict_putz(row, "text", pdl_text_of_buf(&hidden));
    row = pdl_dict_putz(row, "advice", pdl_textz(advice));
    d->rows = pdl_list_push(d->rows, row);
    pdl_buf_fini(text);
}

static pdl_str first_line(pdl_str s) {
    return pdl_str_sub(s, 0, pdl_str_find(s, PDL_STR("\n"), 0));
}

/* --- libraries that are opened when they are needed ------------------------------------------- */

/* Appends the first line of an error's message, without the prefix of errors of Python code. */
static void put_reason(const pdl_err *err, pdl_buf *out) {
    pdl_str prefix = PDL_STR("Python Code error: "), line = first_line(pdl_str_of(err->msg));
    pdl_buf_put(out, pdl_str_starts(line, prefix) ? pdl_str_sub(line, prefix.n, line.n) : line);
}

static void look_at_python(doctor *d) {
    static const char program[] = "lang: python\ncode: |\n  import sys\n"
                                  "  result = sys.version.split()[0] + ', ' + sys.executable\n";
    const pdl_program *p;
    pdl_buf text = PDL_BUF;
    bool ok = pdl_session_load(d->session, pdl_str_of(program), &p) &&
              pdl_session_run(d->session) == PDL_STEP_DONE;
    const pdl_run *run = pdl_session_get(d->session);
    if (ok)
        pdl_buf_put(&text, pdl_str_get(pdl_run_result(run)));
    else
        put_reason(pdl_run_error(run), &text);
    add(d, "Python", ok ? "ok" : "missing",
        ok ? "" : "code blocks need python3: install it, or set PDL_PYTHON", &text);
}

static void look_at_libraries(doctor *d) {
    pdl_buf http = PDL_BUF, sqlite = PDL_BUF;
    bool has_http = pdl_http_library(&http), has_sql = pdl_sql_library(&sqlite);
    add(d, "libcurl", has_http ? "ok" : "missing",
        has_http ? "" : "calls of models need it: install libcurl4", &http);
    add(d, "SQLite", has_sql ? "ok" : "missing",
        has_sql ? "" : "recordings, caches and durable runs need it: install libsqlite3-0",
        &sqlite);
    if (!pdl_library_is_inside()) return;
    pdl_buf text = PDL_BUF;
    PDL_PUT(&text, "without tables in Parquet, and without editing of lines");
    add(d, "static", "note", "its libraries are inside of it, and it opens no others", &text);
}

static void look_at_sandbox(doctor *d) {
    pdl_buf all = PDL_BUF, text = PDL_BUF, self = PDL_BUF;
    pdl_file_put_self(&self);
    pdl_sandbox_check(pdl_buf_z(&self), pdl_environ_get, d->session->around.env, false, &all);
    pdl_str word = PDL_STR("strength");
    size_t at = pdl_str_rfind(pdl_buf_str(&all), word);
    pdl_str last = pdl_str_sub(pdl_buf_str(&all), at == PDL_NOT_FOUND ? 0 : at + word.n, all.len);
    pdl_buf_put(&text, pdl_str_trim(first_line(last)));
    add(d, "sandbox", "note", "pdl sandbox --show says more", &text);
    pdl_buf_fini(&self);
    pdl_buf_fini(&all);
}

/* --- folders ---------------------------------------------------------------------------------- */

static bool is_folder(pdl_str path) {
    char *z = pdl_str_dup(path);
    bool ok = pdl_file_kind_of(z) == PDL_FILE_DIR;
    pdl_free(z);
    return ok;
}

static bool is_before(const pdl_folders *f, size_t n) {
    size_t i = 0;
    while (i < n && !pdl_str_eq(f->path[i], f->path[n])) i++;
    return i < n;
}

static void look_at_library(doctor *d) {
    pdl_val library = pdl_session_library(d->session);
    bool ok = pdl_is_dict(library);
    pdl_buf text = PDL_BUF;
    const pdl_folders *f = &d->session->around.folders;
    for (size_t i = 0; i < f->n; i++)
        if (is_folder(f->path[i]) && !is_before(f, i))
            pdl_buf_putf(&text, "%s%.*s", text.len ? ", " : "", PDL_FMT(f->path[i]));
    if (pdl_library_is_inside())
        pdl_buf_putf(&text, "%smodules inside of the command", text.len ? ", " : "");
    add(d, "imports", ok ? "ok" : "missing",
        ok ? "" : "the library modules are not found: install them, or set PDL_PATH", &text);
    pdl_drop(library);
}

static void look_at_runs(doctor *d) {
    char *folder;
    pdl_err err = {0};
    pdl_buf text = PDL_BUF;
    bool ok = pdl_runs_folder(&folder, &err);
    pdl_buf_put(&text, pdl_str_of(ok ? folder : err.msg));
    add(d, "durable runs", ok ? "ok" : "missing",
        ok ? "" : "--durable needs a folder that can be written: set PDL_RUNS", &text);
    if (ok) pdl_free(folder);
    pdl_err_fini(&err);
}

static void on_note(void *user, pdl_str text) {
    pdl_buf *notes = user;
    pdl_buf_put(notes, text);
    pdl_buf_putc(notes, '\n');
}

static void report_notes(doctor *d) {
    for (pdl_str rest = pdl_buf_str(&d->notes); rest.n;) {
        pdl_str line = first_line(rest);
        pdl_buf text = PDL_BUF;
        pdl_buf_put(&text, line);
        add(d, ".env", "note", "write NAME=VALUE, in quotes where the value has spaces", &text);
        rest = pdl_str_sub(rest, line.n + 1, rest.n);
    }
    pdl_buf_fini(&d->notes);
}

/* --- services --------------------------------------------------------------------------------- */

static void on_answer(void *user, const pdl_http_reply *r) {
    service *a = user;
    a->is_over = true;
    a->answered = r->end == PDL_HTTP_OK;
    if (a->answered)
        pdl_buf_putf(&a->text, "; answers (status %d)", r->status);
    else
        pdl_buf_putf(&a->text, "; does not answer: %s", r->why ? r->why : "no reason is known");
}

static void ask(const doctor *d, service *a, pdl_str address) {
    a->url = pdl_str_dup(address);
    pdl_http_request q = {
        .method = "GET", .url = a->url, .total_ms = ASK_MS, .user = a, .done = on_answer};
    a->id = pdl_http_start(d->http, &q);
}

static void on_provider(void *user, const pdl_provider_facts *f) {
    doctor *d = user;
    bool from_file = f->key.n && !f->key_is_exported;
    if (!f->address.n || (d->services.n && pdl_str_eq(f->address, pdl_buf_str(&d->last_address))))
        return;
    service *a = *pdl_vec_push(&d->services) = PDL_NEW(service);
    *a = (service){.text = PDL_BUF, .is_ready = f->key.n || !f->needs_key};
    pdl_buf_clear(&d->last_address);
    pdl_buf_put(&d->last_address, f->address);
    pdl_buf_putf(&a->text, "%s: ", f->prefix);
    if (f->key.n)
        pdl_buf_putf(&a->text, "key from %.*s%s", PDL_FMT(f->key), from_file ? " (.env)" : "");
    else
        pdl_buf_put(&a->text, pdl_str_of(f->needs_key ? "no key" : "without a key"));
    if (f->withheld.n)
        pdl_buf_putf(&a->text, " (%.*s of the environment is not sent to an address of .env)",
                     PDL_FMT(f->withheld));
    PDL_PUT(&a->text, ", ");
    pdl_address_put(f->address, &a->text);
    a->answered = a->is_over = !d->http;
    if (d->http) ask(d, a, f->address);
}

static bool is_waiting(const doctor *d) {
    for (size_t i = 0; i < d->services.n; i++)
        if (!d->services.p[i]->is_over) return true;
    return false;
}

/* Waits for the services, all of which were asked before. So the time limit of services that do not
 * answer passes only once. */
static void report_services(doctor *d) {
    while (is_waiting(d) && pdl_loop_run(d->session->around.loop, ASK_MS)) {}
    for (size_t i = 0; i < d->services.n; i++) {
        service *a = d->services.p[i];
        if (!a->is_over) pdl_http_cancel(d->http, a->id);
        add(d, "provider", a->is_ready && a->answered ? "ok" : "missing",
            !a->is_ready  ? "its calls are refused without a key"
            : a->answered ? ""
                          : "check the address, the network and proxy variables",
            &a->text);
        pdl_free(a->url);
        pdl_free(a);
    }
}

static void look_at_providers(doctor *d) {
    pdl_model_each_provider(pdl_environ_get, d->session->around.env, pdl_environ_of_file,
                            on_provider, d);
    report_services(d);
    if (d->services.n) return;
    pdl_buf text = PDL_BUF;
    PDL_PUT(&text, "no key and no address of a model service is set");
    add(d, "provider", "note",
        "export OPENAI_API_KEY=... or that of another service; `pdl mock` serves a model for tests",
        &text);
}

/* Opens a session. A setting of the environment that cannot be used becomes a row, and does not end
 * the report. */
static bool open_session(doctor *d, pdl_session_options *o, pdl_err *err) {
    pdl_buf text = PDL_BUF;
    pdl_err why = {0};
    if (pdl_session_new(o, &d->session, &why)) return true;
    o->run.purpose = PDL_FOR_TEXT;
    bool ok = pdl_session_new(o, &d->session, err);
    pdl_buf_put(&text, pdl_str_of(why.msg));
    if (ok) add(d, "settings", "missing", why.hint ? why.hint : "", &text);
    pdl_err_fini(&why);
    pdl_buf_fini(&text);
    return ok;
}

bool pdl_doctor(bool asks, pdl_val *out, pdl_err *err) {
    doctor d = {.rows = pdl_list_new(8), .notes = PDL_BUF, .last_address = PDL_BUF};
    pdl_buf version = PDL_BUF;
    pdl_session_options o = {
        .program = {.file = PDL_STR("doctor"), .variables = pdl_absent()},
        .run.stream = PDL_STREAM_NONE,
        .reports = {.note = on_note, .sink = {.user = &d.notes}},
    };
    if (!open_session(&d, &o, err)) {
        pdl_drop(d.rows);
        pdl_buf_fini(&d.notes);
        return false;
    }
    if (asks) d.http = pdl_http_new(d.session->around.loop, &(pdl_http_options){0});
    PDL_PUT(&version, PDL_VERSION);
    add(&d, "pdl", "ok", "", &version);
    look_at_python(&d);
    look_at_libraries(&d);
    look_at_library(&d);
    look_at_runs(&d);
    look_at_sandbox(&d);
    report_notes(&d);
    look_at_providers(&d);
    pdl_http_free(d.http);
    pdl_buf_fini(&d.last_address);
    pdl_vec_fini(&d.services);
    pdl_session_free(d.session);
    *out = d.rows;
    return true;
}
