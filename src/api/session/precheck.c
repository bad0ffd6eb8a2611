/* precheck.c -- checks a program before its first request, so that a run that is certain to fail
 * does not first pay for requests.
 *
 * A world of the chain examines the effects that are sent. At the first request to a model or tool,
 * the program is checked with the variables of the run. When every way through the program meets an
 * error, the run ends before this request is sent. Programs that send no request are not checked,
 * and neither are replays and runs that a cache answers completely. Output that comes before the
 * first request is printed.
 *
 * The check writes into a copy that has the same blocks: the program that runs is shared and never
 * written. The result is remembered with the program, for later runs whose variables have the same
 * names. The copy is remembered, too, because it has the modules that the run will import, and
 * these are loaded only once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/import_search.h"
#include "api/session/session_impl.h"
#include "base/hash.h"
#include "check/check.h"
#include "lang/load.h"
#include "model/catalog.h"

#include "base/banned.h"

typedef struct precheck {
    pdl_world world;
    pdl_session *s;
    bool done;
    /* effects of a run that was ended by this check; they get no answer */
    PDL_VEC(pdl_effect *) held;
} precheck;

/* --- the check -------------------------------------------------------------------------------- */

typedef PDL_VEC(pdl_str) name_list;

/* Collects the names of the variables with which the run begins. They are borrowed from the dict of
 * variables. */
static void collect_names(const pdl_session *s, name_list *names) {
    pdl_vref v = s->running.run ? s->loaded.inputs : s->opt.program.variables;
    *pdl_vec_push(names) = PDL_STR("pdl_args");
    if (!pdl_is_dict(v)) return;
    for (size_t i = 0; i < pdl_dict_len(v); i++)
        if (pdl_is_str(pdl_dict_key_at(v, i)))
            *pdl_vec_push(names) = pdl_str_get(pdl_dict_key_at(v, i));
}

/* Returns true when each request goes to the service that the name of its model says. Otherwise a
 * model without a provider may be answered by the host program or from a recording, and is not an
 * error. */
static bool asks_services(const pdl_session *s) {
    bool hooked = s->opt.host.n_hooks || (s->group.shared && s->group.shared->opt.host.n_hooks);
    return !hooked && !s->opt.files.cache.n && !s->opt.files.replay.n && !s->opt.files.offline &&
           !s->files.owned;
}

/* Hashes the names of the variables; their order does not matter. pdl_model_default_parameters is
 * left out: every run has this variable, but only after it has begun. */
static uint64_t key_of(const name_list *names) {
    uint64_t key = 1;
    for (size_t i = 0; i < names->n; i++)
        if (!pdl_str_is(names->p[i], "pdl_model_default_parameters"))
            key += pdl_hash_str(names->p[i]);
    return key ? key : 1;
}

pdl_program *pdl_session_check_with(const pdl_session *s, const pdl_program *p, pdl_str file,
                                    const pdl_check_inputs *inputs) {
    pdl_finder finder = {.file = file, .only_files = true};
    /* a program that was made from values has no places to report */
    if (!p->main || !p->source) return NULL;
    pdl_program *own = pdl_program_copy((pdl_program *)(uintptr_t)p);
    finder.path = pdl_session_path(s, &finder.n_path);
    const pdl_check_models models = pdl_session_models((pdl_session *)(uintptr_t)s, false);
    pdl_program_check(own, &(pdl_check_options){.open = pdl_find_open,
                                                .stdlib = pdl_session_library_text(),
                                                .models = asks_services(s) ? &models : NULL,
                                                .user = &finder,
                                                .names = inputs->names,
                                                .n_names = inputs->n_names,
                                                .levels = s->opt.run.levels,
                                                .closed = inputs->closed});
    if (finder.left_out) { /* a part of the program is known only when it is executed */
        pdl_program_drop(own);
        return NULL;
    }
    return own;
}

pdl_program *pdl_session_check(const pdl_session *s, const pdl_program *p) {
    name_list names = {0};
    collect_names(s, &names);
    const pdl_check_inputs inputs = {names.p, names.n, .closed = true};
    pdl_program *own = pdl_session_check_with(s, p, s->opt.program.file, &inputs);
    /* a check that was made before the run is used again */
    if (p == s->loaded.program && (!own || !pdl_program_certain_error(own)))
        s->loaded.program->checked = key_of(&names);
    if (p == s->loaded.program && own)
        pdl_loaded_keep_checked((pdl_loaded *)(uintptr_t)&s->loaded, own);
    pdl_vec_fini(&names);
    return own;
}

/* Returns true when this request is for a model without a provider. Such a request fails with the
 * same error as the check, and costs nothing. */
static bool fails_itself(const pdl_session *s, const pdl_effect *e) {
    const pdl_model_env env = {pdl_session_env_of, (void *)(uintptr_t)s, pdl_session_env_of_file};
    pdl_vref model = pdl_dict_getz(e->request, "model");
    pdl_buf why = PDL_BUF;
    bool known = !pdl_is_str(model) || pdl_model_is_known(pdl_str_get(model), &env, false, &why);
    pdl_buf_fini(&why);
    return !known;
}

/* Checks the program. Returns false, with err set, when it will certainly meet an error. */
static bool passes(pdl_session *s, const pdl_effect *e, pdl_err *err) {
    name_list names = {0};
    collect_names(s, &names);
    uint64_t key = key_of(&names);
    pdl_vec_fini(&names);
    if (s->loaded.program->checked == key) return true;
    pdl_program *own = pdl_session_check(s, s->loaded.program);
    const pdl_diag *d = own ? pdl_program_certain_error(own) : NULL;
    bool provider = d && strcmp(d->code, "model-unknown") == 0;
    if (d && !(provider && fails_itself(s, e))) {
        pdl_err_set(err, provider ? PDL_E_unknown_provider : PDL_E_schema, d->loc, "%.*s",
                    PDL_FMT(d->text));
        err->mark = d->mark;
        pdl_err_hint(err,
                     "%.*s%sfound before the first request went out (%s); --check=off asks "
                     "nevertheless",
                     PDL_FMT(d->hint), d->hint.n ? "; " : "", d->code);
        /* the error points into the copy of the program, which lives as long as the program */
    } else {
        s->loaded.program->checked = key;
    }
    pdl_program_drop(own);
    return !err->kind;
}

/* --- the world -------------------------------------------------------------------------------- */

/* Returns true when an effect is sent to a service. An answer that is part of the program
 * (mock_response) costs nothing. */
static bool goes_out(const pdl_effect *e) {
    if (e->kind != PDL_EFFECT_model)
        return e->kind == PDL_EFFECT_embed || e->kind == PDL_EFFECT_tool ||
               e->kind == PDL_EFFECT_http;
    pdl_vref given = pdl_dict_getz(e->request, "parameters");
    pdl_vref mock = pdl_is_dict(given) ? pdl_dict_getz(given, "mock_response") : pdl_absent();
    return pdl_is_absent(mock) || pdl_is_null(mock);
}

bool pdl_session_would_send(pdl_session *s, const pdl_effect *e, pdl_err *err) {
    return s->opt.run.unchecked || !goes_out(e) || !s->loaded.program || passes(s, e, err);
}

static void start(pdl_world *w, pdl_effect *e) {
    precheck *p = (precheck *)(void *)w;
    pdl_err err = {0};
    bool first = !p->done && goes_out(e);
    p->done = p->done || first;
    if (!first || !p->s->running.run || !p->s->loaded.program || passes(p->s, e, &err)) {
        p->world.next->ops->start(p->world.next, e);
        return;
    }
    *pdl_vec_push(&p->held) = e;
    pdl_run_cancel(p->s->running.run, &err);
}

static void cancel(pdl_world *w, uint32_t id) {
    precheck *p = (precheck *)(void *)w;
    for (size_t i = 0; i < p->held.n; i++) {
        if (p->held.p[i]->id != id) continue;
        pdl_effect_free(p->held.p[i]);
        p->held.p[i] = p->held.p[--p->held.n];
        return;
    }
    p->world.next->ops->cancel(p->world.next, id);
}

static bool poll(pdl_world *w, int timeout_ms) {
    precheck *p = (precheck *)(void *)w;
    return p->world.next->ops->poll(p->world.next, timeout_ms);
}

static void close_world(pdl_world *w) {
    precheck *p = (precheck *)(void *)w;
    for (size_t i = 0; i < p->held.n; i++) pdl_effect_free(p->held.p[i]);
    pdl_vec_fini(&p->held);
    pdl_free(p);
}

static const pdl_world_ops ops = {
    .start = start, .cancel = cancel, .poll = poll, .close = close_world};

pdl_world *pdl_session_precheck(pdl_session *s, pdl_world *next) {
    precheck *p = PDL_NEW(precheck);
    p->world.ops = &ops;
    p->world.next = next;
    p->s = s;
    return &p->world;
}
