/* engine.c -- the functions of pdl_engine, which has settings and handlers, and which loads and
 * checks programs. The settings are checked and copied once here, because the structures of the
 * caller need not outlive the call.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <assert.h>
#include <string.h>

#include "api/handles.h"
#include "api/import_search.h"
#include "api/policy.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "base/version.h"
#include "check/report.h"
#include "io/file.h"
#include "io/loop.h"
#include "lang/load.h"
#include "lang/walk.h"
#include "value/int.h"

#include "base/banned.h"

const char *pdl_version(void) { return PDL_VERSION; }

static pdl_str own(const char *z) { return (pdl_str){pdl_str_dup(pdl_str_of(z)), strlen(z)}; }
static void disown(pdl_str s) { pdl_free((char *)(uintptr_t)s.p); }
static bool is_utf8(const char *p, size_t n) {
    return pdl_utf8_check((pdl_str){p, n}) == PDL_NOT_FOUND;
}

pdl_engine *pdl_engine_new(const pdl_engine_options *options, pdl_error **error) {
    pdl_engine_options o = {0};
    if (!pdl_options_read(&o, options, sizeof o, "pdl_engine_options", error)) return NULL;
    if (o.jobs > PDL_MAX_MAP_WORKERS) {
        pdl_misuse(error, "pdl_engine_options.jobs is %u, at most %d", o.jobs, PDL_MAX_MAP_WORKERS);
        return NULL;
    }
    if (!(o.max_rps >= 0) || !(o.max_tokens_per_minute >= 0)) {
        pdl_misuse(error, "pdl_engine_options: max_rps and max_tokens_per_minute are 0 or greater");
        return NULL;
    }
    for (size_t i = 0; i < o.n_paths; i++)
        if (!o.paths || !o.paths[i]) {
            pdl_misuse(error, "pdl_engine_options.paths: folder %zu is NULL", i);
            return NULL;
        }
    for (size_t i = 0; i < o.n_policies; i++)
        if (!o.policies || !o.policies[i] || !*o.policies[i]) {
            pdl_misuse(error, "pdl_engine_options.policies: number %zu is NULL or empty", i);
            return NULL;
        }
    pdl_engine *e = PDL_NEW(pdl_engine);
    e->refs = 1;
    e->pool = pdl_pool_new();
    e->names = pdl_interner_new();
    e->codes = pdl_codes_new();
    e->files = pdl_policy_files_new();
    e->library = pdl_absent();
    e->timeout = pdl_str_dup(pdl_str_of(o.timeout ? o.timeout : ""));
    e->prices = pdl_str_dup(pdl_str_of(o.prices ? o.prices : ""));
    e->rates = (pdl_rate_limits){o.max_rps, o.max_tokens_per_minute};
    e->jobs = o.jobs;
    e->user = o.user;
    e->note = o.note;
    e->shared = o.shared;
    e->sandbox = pdl_str_dup(pdl_str_of(o.sandbox ? o.sandbox : ""));
    e->sandbox_process = o.sandbox_process;
    e->no_sandbox = o.no_sandbox;
    for (size_t i = 0; i < o.n_paths; i++) *pdl_vec_push(&e->paths) = own(o.paths[i]);
    for (size_t i = 0; i < o.n_policies; i++) *pdl_vec_push(&e->policies) = own(o.policies[i]);
    return e;
}

void pdl_engine_set_telemetry(pdl_engine *e, const pdl_session_telemetry_options *o) {
    assert(!e->base);
    e->telemetry = *o;
}

pdl_engine *pdl_engine_keep(pdl_engine *e) {
    e->refs++;
    return e;
}

void pdl_engine_say(const pdl_engine *e, pdl_str text) {
    char *z = pdl_str_dup(text);
    if (e->note) e->note(e->user, z, text.n);
    pdl_free(z);
}

void pdl_engine_free(pdl_engine *engine) {
    if (!engine || --engine->refs > 0) return;
    for (size_t i = 0; i < engine->paths.n; i++) disown(engine->paths.p[i]);
    for (size_t i = 0; i < engine->hooks.n; i++) disown(engine->hooks.p[i].prefix);
    for (size_t i = 0; i < engine->policies.n; i++) disown(engine->policies.p[i]);
    pdl_vec_fini(&engine->policies);
    pdl_vec_fini(&engine->paths);
    pdl_vec_fini(&engine->hooks);
    pdl_turns_close(engine);
    pdl_program_drop(engine->calling);
    pdl_codes_free(engine->codes);
    pdl_drop(engine->library);
    pdl_interner_drop(engine->names);
    pdl_label_names_fini(&engine->labels);
    pdl_policy_files_free(engine->files);
    pdl_free(engine->sandbox);
    pdl_free(engine->timeout);
    pdl_free(engine->prices);
    pdl_pool_close(engine->pool);
    pdl_free(engine);
}

typedef struct rule_search {
    pdl_sink_id sink;
    bool found;
} rule_search;

static void look_at_rule(void *user, size_t i, const pdl_rule_view *rule) {
    rule_search *s = user;
    (void)i;
    s->found = s->found || rule->sink == s->sink;
}

bool pdl_engine_has_rule(pdl_engine *engine, const char *sink, bool *has, pdl_error **error) {
    pdl_sink_id id;
    pdl_err err = {0};
    pdl_session *s = NULL;
    if (!engine || !sink || !has)
        return pdl_misuse(error, "pdl_engine_has_rule: the %s is NULL",
                          !engine ? "engine"
                          : !sink ? "sink"
                                  : "place of the answer");
    if (!pdl_sink_find(pdl_str_of(sink), &id))
        return pdl_misuse(error, "pdl_engine_has_rule: no sink '%s'", sink);
    pdl_pool *before = pdl_pool_enter(engine->pool);
    pdl_session_options o = {
        .program = {.path = engine->paths.p, .n_path = engine->paths.n, .names = engine->names},
        .guards = {.policies = engine->policies.p, .n_policies = engine->policies.n},
    };
    pdl_policies *all = NULL;
    rule_search search = {.sink = id};
    bool ok = pdl_session_new(&o, &s, &err) && pdl_session_policies(s, NULL, &all, &err);
    if (ok && all) pdl_policies_each_rule(all, look_at_rule, &search);
    if (ok)
        *has = search.found;
    else
        pdl_error_give(error, &err, NULL);
    pdl_policies_free(all);
    pdl_session_free(s);
    pdl_pool_enter(before);
    return ok;
}

bool pdl_engine_handle(pdl_engine *engine, const char *kind, const char *prefix, pdl_handler_fn *fn,
                       void *user, pdl_error **error) {
    pdl_effect_kind k;
    if (!engine || !kind || !fn)
        return pdl_misuse(error, "pdl_engine_handle: the %s is NULL",
                          !engine ? "engine"
                          : !kind ? "kind"
                                  : "handler");
    if (!pdl_effect_kind_find(pdl_str_of(kind), &k) || k == PDL_EFFECT_object)
        return pdl_misuse(error, "pdl_engine_handle: no kind '%s'", kind);
    *pdl_vec_push(&engine->hooks) = (pdl_hook){k, own(prefix ? prefix : ""), fn, user};
    return true;
}

/* --- programs --------------------------------------------------------------------------------- */

/* Returns a program with its diagnostics; NULL when its name is not UTF-8. *ok is false when the
 * program has errors. */
static pdl_program *load(const char *text, size_t n, const char *name, bool from_tree, bool *ok,
                         pdl_error **error) {
    pdl_str file = pdl_str_of(name ? name : "");
    if (!is_utf8(file.p, file.n)) {
        pdl_misuse(error, "the name of the program is not UTF-8");
        return NULL;
    }
    pdl_program *p = pdl_program_new();
    pdl_program_load(p, file, (pdl_str){text, n}, ok);
    pdl_program_set_from_tree(p, from_tree);
    return p;
}

static bool read_file(pdl_engine *engine, const char *path, const char *what, pdl_buf *out,
                      pdl_error **error) {
    pdl_err err = {0};
    if (!engine || !path)
        return pdl_misuse(error, "%s: the %s is NULL", what, engine ? "path" : "engine");
    *out = PDL_BUF_INIT((size_t)PDL_MAX_SOURCE_BYTES);
    if (pdl_file_read(path, out, &err)) return true;
    pdl_buf_fini(out);
    return pdl_error_give(error, &err, NULL);
}

static void note_deprecated(void *user, pdl_loc loc, const char *old, const char *now) {
    const pdl_engine *e = user;
    pdl_buf b = PDL_BUF;
    pdl_loc_put(loc, &b);
    pdl_buf_putf(&b, "Deprecated type syntax: use %s instead of %s.", now, old);
    e->note(e->user, pdl_buf_z(&b), b.len);
    pdl_buf_fini(&b);
}

pdl_program *pdl_api_load(pdl_engine *engine, const char *text, size_t n, const char *name,
                          bool from_tree, pdl_error **error) {
    pdl_pool *before = pdl_pool_enter(engine->pool);
    bool ok;
    pdl_program *p = load(text, n, name, from_tree, &ok, error);
    if (p && !ok) {
        pdl_error_of_program(error, p);
        pdl_program_drop(p);
        p = NULL;
    }
    if (p && engine->note) pdl_program_each_deprecated(p, note_deprecated, engine);
    pdl_pool_enter(before);
    return p;
}

pdl_program *pdl_load_file(pdl_engine *engine, const char *path, pdl_error **error) {
    pdl_buf b = PDL_BUF;
    if (!read_file(engine, path, "pdl_load_file", &b, error)) return NULL;
    pdl_program *p = pdl_api_load(engine, pdl_buf_z(&b), b.len, path, false, error);
    pdl_buf_fini(&b);
    return p;
}

static bool has_text(const pdl_engine *engine, const char *text, const char *what,
                     pdl_error **error) {
    return (engine && text) ||
           pdl_misuse(error, "%s: the %s is NULL", what, engine ? "text" : "engine");
}

pdl_program *pdl_load_text(pdl_engine *engine, const char *text, size_t n_bytes, const char *name,
                           pdl_error **error) {
    return has_text(engine, text, "pdl_load_text", error)
               ? pdl_api_load(engine, text, n_bytes, name, false, error)
               : NULL;
}

void pdl_program_free(pdl_program *program) { pdl_program_drop(program); }

/* --- checking --------------------------------------------------------------------------------- */

static pdl_val report(const pdl_diag *d) {
    pdl_val v = pdl_report_value(d, PDL_STR(""), true);
    pdl_loc place = d->mark.src ? d->mark : d->loc;
    pdl_buf part = PDL_BUF;
    if (!place.src || !place.src->from_tree) return v;
    pdl_api_put_part(place, &part);
    v = pdl_dict_putz(v, "path", pdl_text(pdl_buf_str(&part)));
    pdl_buf_fini(&part);
    return v;
}

static pdl_value *list_of(const pdl_program *p) {
    pdl_val list = pdl_list_new(p->diags.n);
    for (size_t i = 0; i < p->diags.n; i++) {
        const pdl_diag *d = &p->diags.p[i];
        if (d->reference_only) continue;
        list = pdl_list_push(list, report(d));
    }
    return pdl_value_box(list);
}

static pdl_value *checked(const pdl_engine *engine, const char *text, size_t n, const char *name,
                          bool from_tree, pdl_error **error) {
    bool ok;
    pdl_program *p = load(text, n, name, from_tree, &ok, error);
    if (!p) return NULL;
    pdl_err err = {0};
    pdl_finder finder = {.file = pdl_str_of(name ? name : "")};
    pdl_session_options o = {.program = {.path = engine->paths.p, .n_path = engine->paths.n}};
    pdl_session *s = NULL;
    pdl_value *list = NULL;
    if (!pdl_session_new(&o, &s, &err)) {
        pdl_error_give(error, &err, NULL);
    } else {
        finder.path = pdl_session_path(s, &finder.n_path);
        if (ok) pdl_program_check(p, &(pdl_check_options){.open = pdl_find_open, .user = &finder});
        list = list_of(p);
    }
    pdl_session_free(s);
    pdl_program_drop(p);
    return list;
}

void pdl_engine_drop_value(pdl_engine *engine, pdl_value *v) {
    pdl_pool *before = pdl_pool_enter(engine ? engine->pool : NULL);
    pdl_value_drop(v);
    pdl_pool_enter(before);
}

static pdl_value *check(const pdl_engine *engine, const char *text, size_t n, const char *name,
                        bool from_tree, pdl_error **error) {
    pdl_pool *before = pdl_pool_enter(engine->pool);
    pdl_value *list = checked(engine, text, n, name, from_tree, error);
    pdl_pool_enter(before);
    return list;
}

pdl_value *pdl_check_file(pdl_engine *engine, const char *path, pdl_error **error) {
    pdl_buf b = PDL_BUF;
    if (!read_file(engine, path, "pdl_check_file", &b, error)) return NULL;
    pdl_value *list = check(engine, pdl_buf_z(&b), b.len, path, false, error);
    pdl_buf_fini(&b);
    return list;
}

pdl_value *pdl_check_text(pdl_engine *engine, const char *text, size_t n_bytes, const char *name,
                          pdl_error **error) {
    return has_text(engine, text, "pdl_check_text", error)
               ? check(engine, text, n_bytes, name, false, error)
               : NULL;
}

pdl_value *pdl_check_program(pdl_engine *engine, const pdl_program *program, pdl_error **error) {
    if (!engine || !program || !program->source) {
        pdl_misuse(error, "pdl_check_program: the %s is NULL", engine ? "program" : "engine");
        return NULL;
    }
    const pdl_source *src = program->source;
    char *name = pdl_str_dup(src->name);
    pdl_value *list = check(engine, src->text.p, src->text.n, name, src->from_tree, error);
    pdl_free(name);
    return list;
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Makes GMP and libuv use our allocator. They would abort when they run out of memory. */
static void direct_libraries(void) {
    pdl_int_use_alloc();
    pdl_loop_use_alloc();
}

bool pdl_set_allocator(void *(*alloc)(size_t n), void *(*resize)(void *p, size_t n),
                       void (*release)(void *p)) {
    bool none = !alloc && !resize && !release;
    if (!none && (!alloc || !resize || !release)) return false;
    pdl_alloc_from(none ? NULL : &(pdl_allocator){alloc, resize, release});
    direct_libraries();
    return true;
}

void pdl_set_out_of_memory(bool (*fn)(size_t n)) {
    pdl_alloc_on_oom(fn);
    direct_libraries();
}
