/* run_open.c -- makes, opens, owns and ends a durable run. What the user says about unfinished
 * actions (--again, --skip) is checked here, before the run begins.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/json_plain.h"
#include "base/nanos.h"
#include "base/num.h"
#include "base/os.h"
#include "base/version.h"
#include "journal/durable/durable_impl.h"
#include "journal/run_lock.h"
#include "value/json_read.h"
#include "value/json_write.h"

#include "base/banned.h"

static const char *const state_names[] = {"running", "ended", "failed", "killed", "waiting"};
const char *pdl_run_state_name(pdl_run_state s) { return state_names[s]; }

pdl_str pdl_durable_path(const pdl_durable *d) { return pdl_store_path(d->file.store); }
const pdl_durable_facts *pdl_durable_get_facts(const pdl_durable *d) { return &d->file.facts; }
int64_t pdl_durable_time_of(void *user, const pdl_event *e) {
    const pdl_durable *d = user;
    if (e->kind == PDL_EVENT_piece) return 0; /* a journal has no times of single pieces */
    return pdl_nanos_of(d->progress.clock.seen);
}

bool pdl_durable_asks(const pdl_durable *d) { return d->setup.use == PDL_DURABLE_CONTINUE; }
bool pdl_durable_is(pdl_str path) { return pdl_store_is(path); }
uint64_t pdl_durable_printed(const pdl_durable *d) { return d->progress.output.printed_before; }
const uint64_t *pdl_durable_earlier_ns(const pdl_durable *d) {
    return &d->progress.clock.earlier_ns;
}

/* --- facts ------------------------------------------------------------------------------------ */

/* The names of the facts in the table, and their offsets in the struct. */
static const struct {
    const char *key;
    size_t at;
} fact_rows[] = {
    {"id", offsetof(pdl_durable_facts, id)},
    {"file", offsetof(pdl_durable_facts, file)},
    {"text", offsetof(pdl_durable_facts, text)},
    {"folder", offsetof(pdl_durable_facts, folder)},
    {"options", offsetof(pdl_durable_facts, options)},
    {"version", offsetof(pdl_durable_facts, version)},
};
enum { N_FACTS = sizeof fact_rows / sizeof fact_rows[0] };

static pdl_str *fact(pdl_durable_facts *f, size_t i) {
    return (pdl_str *)(void *)((char *)f + fact_rows[i].at);
}

static void keep_fact(pdl_durable *d, size_t i, pdl_str text) {
    char *copy = pdl_str_dup(text);
    *pdl_vec_push(&d->file.texts) = copy;
    *fact(&d->file.facts, i) = (pdl_str){copy, text.n};
}

static bool read_facts(pdl_durable *d, pdl_err *err) {
    for (size_t i = 0; i < N_FACTS; i++) {
        pdl_buf b = PDL_BUF;
        bool ok = pdl_store_get(d->file.store, fact_rows[i].key, &b, err);
        if (ok) keep_fact(d, i, pdl_buf_str(&b));
        pdl_buf_fini(&b);
        if (!ok) return false;
    }
    return true;
}

static double get_number(pdl_store *s, const char *key) {
    pdl_buf b = PDL_BUF;
    pdl_err ignored = {0};
    double n = 0;
    if (!pdl_store_get(s, key, &b, &ignored) || !pdl_num_read_double(pdl_buf_str(&b), &n)) n = 0;
    pdl_err_fini(&ignored);
    pdl_buf_fini(&b);
    return n >= 0 && n < 1e15 ? n : 0;
}

static bool put_number(pdl_store *s, const char *key, double n, pdl_err *err) {
    char text[40];
    snprintf(text, sizeof text, "%.6f", n);
    return pdl_store_put(s, key, pdl_str_of(text), err);
}

static bool get_text(pdl_store *s, const char *key, char *out, size_t size, pdl_err *err) {
    pdl_buf b = PDL_BUF;
    bool ok = pdl_store_get(s, key, &b, err);
    snprintf(out, size, "%s", pdl_buf_z(&b));
    pdl_buf_fini(&b);
    return ok;
}

/* --- one owner -------------------------------------------------------------------------------- */

/* Returns true when the row of the owner names this host, or when no owner is recorded. */
static bool is_of_this_host(pdl_store *s) {
    pdl_buf row = PDL_BUF, here = PDL_BUF;
    pdl_err ignored = {0};
    bool ok = pdl_store_get(s, "owner", &row, &ignored);
    pdl_buf_putc(&here, ' ');
    pdl_lock_put_host(&here);
    bool same = !ok || !row.len || pdl_str_ends(pdl_buf_str(&row), pdl_buf_str(&here));
    pdl_err_fini(&ignored);
    pdl_buf_fini(&row);
    pdl_buf_fini(&here);
    return same;
}

static bool own(pdl_durable *d, bool take_over, pdl_err *err) {
    pdl_str path = pdl_store_path(d->file.store);
    pdl_buf who = PDL_BUF;
    lock_state l = pdl_lock_take(path, d->file.store, &d->file.lock);
    bool far = !is_of_this_host(d->file.store), ok = l == LOCK_TAKEN && !far;
    bool copy = ok && pdl_lock_is_copy_of_live(path, d->file.store);
    pdl_lock_put_owner(path, d->file.store, &who);
    if (l == LOCK_GONE)
        ok = false; /* the caller sees that the file is not there */
    else if (l == LOCK_OF_ANOTHER)
        pdl_err_set(err, PDL_E_runtime, (pdl_loc){0}, "%s runs already: %s", path.p,
                    pdl_buf_z(&who));
    else if (copy && !take_over)
        ok = pdl_err_set(err, PDL_E_runtime, (pdl_loc){0},
                         "%s is a copy of the journal of a run that is at work (%s): --take-over "
                         "continues it here",
                         path.p, pdl_buf_z(&who));
    else if (!ok && !take_over)
        pdl_err_set(err, PDL_E_runtime, (pdl_loc){0},
                    "it cannot be known whether %s still runs (%s): --take-over continues it here",
                    path.p, pdl_buf_z(&who));
    else
        ok = true;
    pdl_buf_fini(&who);
    return ok;
}

/* --- making and opening ----------------------------------------------------------------------- */

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

pdl_durable *pdl_durable_new(pdl_durable_use use, bool full) {
    pdl_durable *d = PDL_NEW(pdl_durable);
    d->file.lock = -1;
    d->setup.use = use;
    d->file.full = full;
    d->progress.clock.start_ns = now_ns();
    d->file.keys.lenient = use == PDL_DURABLE_REPLAY || use == PDL_DURABLE_SHOW;
    for (size_t i = 0; i < KNOWN_LISTS; i++) d->match.lists[i].list = pdl_absent();
    return d;
}

static bool make_salt(pdl_durable *d, pdl_err *err) {
    unsigned char bytes[16];
    if (!pdl_os_random(bytes, sizeof bytes, true))
        return pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "no random numbers: %s", strerror(errno));
    for (size_t i = 0; i < sizeof bytes; i++) snprintf(d->file.salt + 2 * i, 3, "%02x", bytes[i]);
    return pdl_store_put(d->file.store, "salt", pdl_str_of(d->file.salt), err);
}

/* Keeps a value, which may be absent, with the names of keys in place of the keys. */
static bool put_value(pdl_durable *d, const char *name, pdl_vref v, pdl_err *err) {
    pdl_buf raw = PDL_BUF, text = PDL_BUF;
    bool ok = pdl_is_absent(v) || pdl_effect_encode(v, &raw, err);
    if (ok) pdl_secret_refs_refer(&d->file.keys, pdl_buf_str(&raw), &text);
    ok = ok && pdl_store_put(d->file.store, name, pdl_buf_str(&text), err);
    pdl_buf_fini(&raw);
    pdl_buf_fini(&text);
    return ok;
}

bool pdl_durable_guards(const pdl_durable *d, pdl_buf *out, pdl_err *err) {
    return pdl_store_get(d->file.store, "guards", out, err);
}

bool pdl_durable_put_guards(pdl_durable *d, pdl_str text, pdl_err *err) {
    return pdl_store_put(d->file.store, "guards", text, err);
}

/* Reads a value that put_value has kept. */
static bool get_object(const pdl_durable *d, const char *name, pdl_val *out, pdl_err *err) {
    pdl_buf raw = PDL_BUF, text = PDL_BUF;
    *out = pdl_absent();
    bool ok = pdl_store_get(d->file.store, name, &raw, err) &&
              pdl_secret_refs_fill(&d->file.keys, pdl_buf_str(&raw), &text, err) &&
              (!text.len || pdl_effect_decode(pdl_buf_str(&text), out, err));
    if (ok && !pdl_is_absent(*out) && !pdl_is_dict(*out))
        ok = pdl_err_set(err, PDL_E_replay, (pdl_loc){0}, "%s is damaged: its %s are no object",
                         pdl_store_path(d->file.store).p, name);
    pdl_buf_fini(&raw);
    pdl_buf_fini(&text);
    return ok;
}

bool pdl_durable_inputs(const pdl_durable *d, pdl_val *out, pdl_err *err) {
    return get_object(d, "inputs", out, err);
}

bool pdl_durable_put_result(pdl_durable *d, pdl_vref result, pdl_err *err) {
    return put_value(d, "results", result, err);
}

bool pdl_durable_result(const pdl_durable *d, pdl_val *out, pdl_err *err) {
    return get_object(d, "results", out, err);
}

bool pdl_durable_resume_inputs(pdl_durable *d, pdl_vref given, pdl_val *out, pdl_err *err) {
    if (!pdl_durable_inputs(d, out, err)) return false;
    if (pdl_is_absent(given)) return true;
    pdl_val recorded = pdl_keep(*out);
    *out = pdl_is_absent(*out) ? pdl_keep(given) : pdl_dict_merge(*out, given);
    if (!pdl_val_eq(recorded, *out)) pdl_durable_is_other(d);
    pdl_drop(recorded);
    return true;
}

bool pdl_durable_begin(pdl_durable *d, const pdl_durable_facts *facts, pdl_vref inputs,
                       pdl_err *err) {
    for (size_t i = 0; i < N_FACTS; i++)
        keep_fact(d, i, *fact((pdl_durable_facts *)(uintptr_t)facts, i));
    for (size_t i = 0; i < N_FACTS; i++)
        if (!pdl_store_put(d->file.store, fact_rows[i].key, *fact(&d->file.facts, i), err))
            return false;
    return put_value(d, "inputs", inputs, err) && make_salt(d, err) &&
           pdl_lock_write_owner(d->file.store, err) &&
           pdl_store_put(d->file.store, "state", PDL_STR("running"), err) &&
           put_number(d->file.store, "started", pdl_journal_wall(), err) &&
           pdl_store_commit(d->file.store, true, err);
}

bool pdl_durable_create(pdl_str path, bool full, pdl_durable **out, pdl_buf *note, pdl_err *err) {
    pdl_durable *d = pdl_durable_new(PDL_DURABLE_CONTINUE, full);
    d->file.is_new = true;
    bool ok = pdl_lock_claim(path, false, &d->file.lock, err) != CLAIM_FAILED &&
              pdl_store_create(path, full, &d->file.store, note, err);
    if (ok)
        *out = d;
    else
        pdl_durable_close(d);
    return ok;
}

static bool read_rest(pdl_durable *d, pdl_err *err) {
    char redacted[8], started[40], other[8];
    if (!read_facts(d, err) ||
        !get_text(d->file.store, "salt", d->file.salt, sizeof d->file.salt, err) ||
        !get_text(d->file.store, "redacted", redacted, sizeof redacted, err) ||
        !get_text(d->file.store, "started", started, sizeof started, err) ||
        !get_text(d->file.store, "other", other, sizeof other, err))
        return false;
    d->match.is_other = other[0] != 0 || !pdl_str_is(d->file.facts.version, PDL_VERSION);
    d->file.replays_only = redacted[0] != 0;
    d->progress.clock.seen = get_number(d->file.store, "started");
    d->progress.output.printed = d->progress.output.printed_before =
        (uint64_t)get_number(d->file.store, "printed");
    if (!started[0])
        return pdl_err_set(err, PDL_E_runtime, (pdl_loc){0},
                           "nothing was recorded in %s: its run ended before it began",
                           pdl_store_path(d->file.store).p);
    bool continues = d->setup.use == PDL_DURABLE_CONTINUE || d->setup.use == PDL_DURABLE_CHECK;
    char server[8];
    if (!get_text(d->file.store, "server", server, sizeof server, err)) return false;
    if (d->group.is_server != (server[0] != 0))
        return pdl_err_set(err, PDL_E_runtime, (pdl_loc){0},
                           d->group.is_server
                               ? "%s is the journal of one run: pdl resume continues it"
                               : "%s is the journal of a server: pdl serve --durable "
                                 "continues it",
                           pdl_store_path(d->file.store).p);
    return !continues || !d->file.replays_only ||
           pdl_err_set(err, PDL_E_runtime, (pdl_loc){0},
                       "%s was redacted: it replays, but it cannot continue",
                       pdl_store_path(d->file.store).p);
}

/* Refuses a journal that belongs to a batch. */
static bool check_kind(const pdl_durable *d, pdl_err *err) {
    char kind[8];
    if (!get_text(d->file.store, "kind", kind, sizeof kind, err)) return false;
    return strcmp(kind, "batch") != 0 ||
           pdl_err_set(err, PDL_E_runtime, (pdl_loc){0},
                       "%s is the journal of a batch: the command that began it continues it",
                       pdl_store_path(d->file.store).p);
}

/* Replaces the error of a journal that cannot be used when the reason is that it is not there:
 * another process may have removed it at any moment. */
static void name_missing(pdl_str path, pdl_err *err) {
    char *name = pdl_str_dup(path);
    if (access(name, F_OK) != 0 && errno == ENOENT) {
        pdl_err_fini(err);
        pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "there is no journal %s", name);
    } else if (!err->kind) {
        pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "%s was replaced by another process", name);
    }
    pdl_free(name);
}

bool pdl_durable_check_begun(pdl_str path, pdl_err *err) {
    if (!pdl_store_is_unbegun(path)) return true;
    if (pdl_lock_is_held(path)) return pdl_lock_refuse(path, err);
    return pdl_err_set(err, PDL_E_runtime, (pdl_loc){0},
                       "nothing was recorded in %.*s: its run ended before it began",
                       PDL_FMT(path));
}

static bool open_run(pdl_str path, pdl_durable *d, bool take_over, pdl_durable **out,
                     pdl_err *err) {
    pdl_durable_use use = d->setup.use;
    bool full = d->file.full;
    bool writes = use == PDL_DURABLE_CONTINUE;
    if (!pdl_durable_check_begun(path, err)) {
        pdl_durable_close(d);
        return false;
    }
    bool holds = use == PDL_DURABLE_CHECK || use == PDL_DURABLE_SHOW;
    bool ok = pdl_store_open(path, writes, full, &d->file.store, err) &&
              (!holds || pdl_store_hold(d->file.store, err)) && check_kind(d, err) &&
              (!writes || own(d, take_over, err)) && read_rest(d, err);
    if (ok) {
        *out = d;
    } else {
        pdl_durable_close(d);
        name_missing(path, err);
    }
    return ok;
}

bool pdl_durable_open(pdl_str path, pdl_durable_use use, bool full, bool take_over,
                      pdl_durable **out, pdl_err *err) {
    return open_run(path, pdl_durable_new(use, full), take_over, out, err);
}

bool pdl_durable_reopen_server(pdl_str path, bool full, bool take_over, pdl_durable **out,
                               pdl_err *err) {
    pdl_durable *d = pdl_durable_new(PDL_DURABLE_CONTINUE, full);
    d->group.is_server = true;
    if (!open_run(path, d, take_over, out, err)) return false;
    if (pdl_lock_write_owner(d->file.store, err) &&
        pdl_store_put(d->file.store, "state", PDL_STR("running"), err) &&
        pdl_store_commit(d->file.store, true, err) && pdl_durable_cut_open_files(d, err))
        return true;
    pdl_durable_close(d);
    return false;
}

void pdl_durable_key(pdl_durable *d, pdl_str name, pdl_str value) {
    pdl_secret_refs_add(&d->file.keys, name, value);
}

/* --- before it begins ------------------------------------------------------------------------- */

void pdl_durable_again(pdl_durable *d, pdl_str place) {
    *pdl_vec_push(&d->match.overrides) =
        (run_override){.place = pdl_str_dup(place), .result = pdl_absent()};
}

bool pdl_durable_skip(pdl_durable *d, const char *option, pdl_str given, pdl_err *err) {
    pdl_val v;
    size_t eq = pdl_str_find(given, PDL_STR("="), 0);
    if (eq == PDL_NOT_FOUND || !eq)
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s %.*s: expected PLACE=JSON", option,
                           PDL_FMT(given));
    pdl_str place = pdl_str_sub(given, 0, eq);
    if (!pdl_json_read(pdl_str_sub(given, eq + 1, given.n), 0, &v, NULL, err)) {
        pdl_buf why = PDL_BUF;
        pdl_buf_putf(&why, "%s %.*s: %s", option, PDL_FMT(place), err->msg);
        pdl_err_reword(err, &why);
        err->kind = PDL_E_usage;
        return false;
    }
    *pdl_vec_push(&d->match.overrides) =
        (run_override){.place = pdl_str_dup(place), .skip = true, .result = v};
    return true;
}

/* Makes the reply of an action from the result that the user gave. Takes v. */
static pdl_val reply_of(pdl_str kind, pdl_val v) {
    if (pdl_str_is(kind, "command")) {
        pdl_val d = pdl_dict_putz(pdl_dict_new(3), "stdout", v);
        d = pdl_dict_putz(d, "stderr", pdl_textz(""));
        return pdl_dict_putz(d, "status", pdl_int(0));
    }
    if (pdl_str_is(kind, "http")) return pdl_effect_http_reply(v);
    if (pdl_str_is(kind, "code")) return pdl_dict_putz(pdl_dict_new(1), "result", v);
    if (pdl_str_is(kind, "write")) {
        pdl_drop(v);
        return pdl_null();
    }
    return v;
}

bool pdl_durable_use_skip(run_override *w, pdl_str kind, pdl_err *err) {
    if (w->used) return true;
    w->used = true;
    w->result = reply_of(kind, w->result);
    const pdl_effect request = {.kind = PDL_EFFECT_http, .request = pdl_absent()};
    pdl_err ignored = {0};
    if (pdl_str_is(kind, "http") && !pdl_effect_check(&request, w->result, &ignored)) {
        pdl_err_fini(&ignored);
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "--skip %s: the result of a request is the text of its answer, a JSON "
                           "string, or an object {status, headers, text}",
                           w->place);
    }
    return !pdl_str_is(kind, "command") || pdl_is_str(pdl_dict_getz(w->result, "stdout")) ||
           pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                       "--skip %s: the result of a command is its standard output, a JSON string",
                       w->place);
}

struct looking {
    pdl_durable *d;
    pdl_buf *wrong, first; /* first: place of the first unfinished action */
    pdl_err *err;
    bool ok;
};

/* Collects actions that began and were not finished. */
static bool on_open(void *user, const store_effect *row) {
    struct looking *l = user;
    pdl_effect_kind kind;
    if (!pdl_effect_kind_find(row->kind, &kind) || !pdl_effect_has(kind, PDL_EFFECT_ACTS) ||
        kind == PDL_EFFECT_write || kind == PDL_EFFECT_input)
        return true;
    run_override *skip = pdl_durable_override(l->d, row->place, true),
                 *again = pdl_durable_override(l->d, row->place, false);
    if (skip) l->ok = pdl_durable_use_skip(skip, row->kind, l->err);
    if (again) again->used = true;
    bool stops = !skip && !again && !row->again;
    if (stops && !l->first.len) pdl_buf_put(&l->first, row->place);
    if (stops)
        pdl_buf_putf(l->wrong, "%s%.*s (%.*s)", l->wrong->len ? ", " : "", PDL_FMT(row->place),
                     PDL_FMT(row->kind));
    return l->ok;
}

struct known_place {
    pdl_str name;
    bool found, acts; /* acts: only actions are searched */
};

static bool on_place(void *user, const store_effect *row) {
    struct known_place *x = user;
    pdl_effect_kind kind;
    x->found =
        pdl_str_eq(row->place, x->name) &&
        (!x->acts || (pdl_effect_kind_find(row->kind, &kind) && pdl_durable_acts_outside(kind)));
    return !x->found;
}

static bool on_file(void *user, const store_file *f) {
    struct known_place *x = user;
    if (pdl_str_eq(f->path, x->name)) x->found = true;
    return true;
}

/* Checks that --again names something in the run: an effect, or a file that the run writes. Any
 * name is accepted when the program or its inputs have changed. */
static bool check_again(const pdl_durable *d, const run_override *w, pdl_err *err) {
    struct known_place x = {.name = pdl_str_of(w->place)};
    if (!pdl_store_each(d->file.store, STORE_BRIEF, 0, on_place, &x, err) ||
        (!x.found && !pdl_store_each_file(d->file.store, on_file, &x, err)))
        return false;
    if (x.found || d->match.is_other) return true;
    pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "--again %s: the run has nothing of that name",
                *w->place ? w->place : "''");
    pdl_err_hint(err, "a place as pdl runs show prints it, a file that the run writes, or all");
    return false;
}

/* Accepts --skip for a finished action, because the program may have the action at another place
 * now. */
static bool check_skip(const pdl_durable *d, const run_override *w, pdl_err *err) {
    struct known_place x = {.name = pdl_str_of(w->place), .acts = true};
    if (!pdl_store_each(d->file.store, STORE_BRIEF, 0, on_place, &x, err)) return false;
    return x.found || d->match.is_other ||
           pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                       "--skip %s: the run has no action of that place", w->place);
}

/* Refuses an override whose place does not exist: it would have no effect, and the user would not
 * notice. The runs of a server share the overrides, so there the place may be in another run. */
static bool check_ways(const pdl_durable *d, pdl_err *err) {
    for (size_t i = 0; i < d->match.overrides.n; i++) {
        const run_override *w = &d->match.overrides.p[i];
        if (w->used || strcmp(w->place, "all") == 0) continue;
        if (!w->skip && !d->group.server && !check_again(d, w, err)) return false;
        if (!w->skip || strchr(w->place, '/')) continue;
        if (!check_skip(d, w, err)) return false;
    }
    return true;
}

struct finding {
    pdl_str place;
    int64_t row, attempt; /* row of the last action at the place; 0 when there is none */
};

static bool on_done(void *user, const store_effect *row) {
    struct finding *f = user;
    pdl_effect_kind kind;
    bool acts = pdl_effect_kind_find(row->kind, &kind) && pdl_effect_has(kind, PDL_EFFECT_ACTS) &&
                kind != PDL_EFFECT_write && kind != PDL_EFFECT_input;
    if (acts && pdl_str_eq(row->place, f->place)) f->row = row->id, f->attempt = row->attempt;
    return true;
}

/* In a failed run, marks as open the last action at each place that --again names. Otherwise a run
 * that failed because of a command, code or a tool would fail on the recorded result for ever.
 */
static bool reopen_named(pdl_durable *d, pdl_err *err) {
    char state[12];
    if (!get_text(d->file.store, "state", state, sizeof state, err)) return false;
    snprintf(d->file.was_state, sizeof d->file.was_state, "%s", state);
    if (strcmp(state, pdl_run_state_name(PDL_RUN_FAILED)) != 0) return true;
    for (size_t i = 0; i < d->match.overrides.n; i++) {
        run_override *w = &d->match.overrides.p[i];
        struct finding f = {.place = pdl_str_of(w->place)};
        if (w->skip || w->used || strcmp(w->place, "all") == 0) continue;
        if (!pdl_store_each(d->file.store, STORE_BY_STATE, STORE_DONE, on_done, &f, err))
            return false;
        store_effect row = {.id = f.row, .attempt = f.attempt, .state = STORE_OPEN};
        if (f.row && !pdl_store_end(d->file.store, &row, err)) return false;
    }
    return true;
}

/* Refuses a resume and returns false. A check notes the reason instead, and continues: the result
 * is true. Takes why. */
static bool refuse(pdl_durable *d, pdl_str place, pdl_err *why, pdl_err *err) {
    bool checks = d->setup.use == PDL_DURABLE_CHECK;
    if (checks)
        pdl_durable_forecast_stop(d, place, why);
    else
        pdl_err_move(err, why);
    pdl_err_fini(why);
    return checks;
}

bool pdl_durable_prepare(pdl_durable *d, pdl_err *err) {
    pdl_buf open = PDL_BUF, files = PDL_BUF;
    struct looking l = {d, &open, PDL_BUF, err, true};
    bool checks = d->setup.use == PDL_DURABLE_CHECK;
    pdl_err wrong = {0};
    if (d->file.is_new || !(checks || pdl_durable_asks(d))) return true;
    bool ok = pdl_store_last(d->file.store, &d->match.last_row, err) &&
              pdl_store_each(d->file.store, STORE_BY_STATE, STORE_OPEN, on_open, &l, err) && l.ok &&
              check_ways(d, err);
    if (ok && open.len) {
        pdl_err_set(&wrong, PDL_E_runtime, (pdl_loc){0},
                    "it is not known whether this was done before the run ended: %s",
                    pdl_buf_z(&open));
        pdl_err_hint(&wrong,
                     "--again PLACE (or --again all) does it again; --skip PLACE=JSON gives its "
                     "result without doing it");
        ok = refuse(d, pdl_buf_str(&l.first), &wrong, err);
    }
    ok = ok && pdl_durable_cut_files(d, &files, err);
    if (ok && files.len) {
        pdl_err_set(&wrong, PDL_E_runtime, (pdl_loc){0},
                    "files that the run writes are not as it left them: %s", pdl_buf_z(&files));
        pdl_err_hint(&wrong, "--again FILE continues with a file as it is");
        ok = refuse(d, (pdl_str){0}, &wrong, err);
    }
    if (checks && open.len) pdl_durable_notef(d, "begun without an end: %s", pdl_buf_z(&open));
    if (checks && files.len) pdl_durable_notef(d, "files: %s", pdl_buf_z(&files));
    pdl_buf_fini(&open);
    pdl_buf_fini(&files);
    pdl_buf_fini(&l.first);
    return ok && (checks || (reopen_named(d, err) && pdl_lock_write_owner(d->file.store, err) &&
                             (!d->match.is_other ||
                              pdl_store_put(d->file.store, "other", PDL_STR("yes"), err)) &&
                             pdl_store_put(d->file.store, "state", PDL_STR("running"), err) &&
                             pdl_store_commit(d->file.store, true, err)));
}

/* --- the end ---------------------------------------------------------------------------------- */

struct refused {
    int64_t row, attempt;
    double end;
};

struct refusing {
    pdl_durable *d;
    const char *message;
    double last_begun; /* the time at which the last answered effect began */
    PDL_VEC(struct refused) rows;
};

static bool has_message(const struct refusing *r, pdl_str error) {
    pdl_val v;
    pdl_err ignored = {0};
    bool same = false;
    if (pdl_effect_decode(error, &v, &ignored)) {
        pdl_vref m = pdl_is_dict(v) ? pdl_dict_getz(v, "message") : pdl_absent();
        same = pdl_is_str(m) && pdl_str_get(m).n && strstr(r->message, pdl_str_get(m).p);
        pdl_drop(v);
    }
    pdl_err_fini(&ignored);
    return same;
}

static bool on_ended(void *user, const store_effect *row) {
    struct refusing *r = user;
    pdl_effect_kind kind;
    if (row->run != r->d->group.run) return true;
    if (row->state == STORE_DONE && row->reply.p && row->start > r->last_begun)
        r->last_begun = row->start;
    bool asks = row->error.p && pdl_effect_kind_find(row->kind, &kind) &&
                (kind == PDL_EFFECT_model || kind == PDL_EFFECT_embed || kind == PDL_EFFECT_read);
    if (asks && has_message(r, row->error))
        *pdl_vec_push(&r->rows) = (struct refused){row->id, row->attempt, row->end};
    return true;
}

/* Marks as refused the calls that failed with the error that ended the run, so that a resume
 * executes them again. Simultaneous calls nearly always fail together with the same text. All of
 * them are marked, because a map would otherwise need one resume for each failed call. A call with
 * the same error is kept when the run got another answer after it, because the program has caught
 * that error. */
bool pdl_durable_reopen_failure(pdl_durable *d, const pdl_err *why, pdl_err *err) {
    struct refusing r = {.d = d, .message = why->msg ? why->msg : ""};
    bool ok = pdl_store_each(d->file.store, STORE_ALL, d->group.first_row, on_ended, &r, err);
    for (size_t i = 0; ok && i < r.rows.n; i++) {
        const struct refused *x = &r.rows.p[i];
        store_effect row = {.id = x->row, .attempt = x->attempt, .state = STORE_REFUSED};
        if (i + 1 < r.rows.n && x->end < r.last_begun) continue;
        ok = pdl_store_end(d->file.store, &row, err);
    }
    pdl_vec_fini(&r.rows);
    return ok;
}

static pdl_run_state state_of(const pdl_durable *d, const pdl_err *why) {
    if (d->progress.parked) return PDL_RUN_WAITING;
    if (!why) return PDL_RUN_ENDED;
    return why->kind == PDL_E_interrupt || why->kind == PDL_E_terminated ? PDL_RUN_KILLED
                                                                         : PDL_RUN_FAILED;
}

bool pdl_durable_finish(pdl_durable *d, const pdl_err *why, pdl_err *err) {
    if (d->setup.use != PDL_DURABLE_CONTINUE) return true;
    if (!why) pdl_durable_decide(d);
    pdl_durable_flush(d);
    if (!why && !d->progress.parked) pdl_durable_note_left(d);
    if (d->file.problem.kind) {
        pdl_err_copy(err, &d->file.problem);
        return false;
    }
    const char *state = pdl_run_state_name(state_of(d, why));
    bool ok = !why || d->progress.parked || pdl_durable_reopen_failure(d, why, err);
    ok = ok && pdl_store_put(d->file.store, "state", pdl_str_of(state), err) &&
         put_number(d->file.store, "ended", d->progress.parked ? 0 : pdl_journal_wall(), err) &&
         pdl_store_put(d->file.store, "owner", PDL_STR(""), err) &&
         pdl_store_commit(d->file.store, true, err);
    d->file.is_whole = ok;
    return ok && pdl_lock_check_there(pdl_durable_path(d), d->file.lock, "run", err);
}

void pdl_durable_report(pdl_durable *d, pdl_buf *out) {
    if (d->setup.use == PDL_DURABLE_CHECK) pdl_durable_note_left(d);
    size_t n = d->match.found.n_reused;
    pdl_buf_putf(out, "%zu %s from the journal, %zu asked", n, n == 1 ? "answer" : "answers",
                 d->match.found.n_asked);
    for (size_t i = 0; i < d->match.found.notes.n; i++)
        pdl_buf_putf(out, "\n  %s", d->match.found.notes.p[i]);
    if (d->match.found.n_unlisted) pdl_buf_putf(out, "\n  and %zu more", d->match.found.n_unlisted);
}

bool pdl_durable_has_changes(const pdl_durable *d) {
    return d->match.found.n_moved || d->match.found.n_changed || d->match.found.n_replaced ||
           d->match.found.n_left;
}

void pdl_durable_is_other(pdl_durable *d) { d->match.is_other = true; }

bool pdl_durable_runs_text(pdl_durable *d, pdl_str text) {
    bool same = pdl_str_eq(text, pdl_durable_get_facts(d)->text);
    if (!same) pdl_durable_is_other(d);
    return same;
}

bool pdl_durable_replace_inputs(pdl_durable *d, pdl_vref inputs, pdl_err *err) {
    return put_value(d, "inputs", inputs, err) &&
           pdl_store_commit(d->file.store, d->file.full, err);
}

void pdl_durable_questions(const pdl_durable *d,
                           void (*fn)(void *user, pdl_str place, pdl_str text), void *user) {
    for (size_t i = 0; i < d->pending.unanswered.n; i++) {
        const pdl_effect *e = d->pending.unanswered.p[i]->e;
        pdl_buf place = PDL_BUF;
        pdl_vref prompt =
            pdl_dict_getz(e->request, e->kind == PDL_EFFECT_approval ? "text" : "prompt");
        pdl_path_text(e->place, &place);
        fn(user, pdl_buf_str(&place), pdl_is_str(prompt) ? pdl_str_get(prompt) : PDL_STR(""));
        pdl_buf_fini(&place);
    }
}

void pdl_durable_setup_end(durable_setup *s) { pdl_free(s->dir); }

void pdl_durable_file_end(durable_file *f) {
    for (size_t i = 0; i < f->texts.n; i++) pdl_free(f->texts.p[i]);
    pdl_vec_fini(&f->texts);
    pdl_secret_refs_fini(&f->keys);
    pdl_secrets_free(f->secrets);
    pdl_err_fini(&f->problem);
    if (f->lock >= 0) close(f->lock);
}

/* Invariant: a new run has no state from an earlier process, and it is not a copy that can only be
 * replayed. */
bool pdl_durable_file_ok(const durable_file *f) {
    return f->store && (!f->is_new || !*f->was_state) && (!f->is_new || !f->replays_only);
}

void pdl_durable_close(pdl_durable *d) {
    if (!d) return;
    pdl_durable_pending_end(&d->pending);
    pdl_durable_rebuild_end(&d->rebuild);
    pdl_durable_match_end(&d->match);
    pdl_durable_forecast_end(&d->forecast);
    if (d->group.server)
        pdl_durable_leave(d);
    else
        pdl_store_close(d->file.store, d->file.is_whole);
    pdl_durable_group_end(&d->group);
    pdl_durable_file_end(&d->file);
    pdl_durable_setup_end(&d->setup);
    pdl_free(d);
}

bool pdl_durable_ok(const pdl_durable *d) {
    return pdl_durable_file_ok(&d->file) && pdl_durable_group_ok(&d->group) &&
           pdl_durable_pending_ok(&d->pending) && pdl_durable_match_ok(&d->match) &&
           pdl_durable_rebuild_ok(&d->rebuild) && pdl_durable_progress_ok(&d->progress);
}
