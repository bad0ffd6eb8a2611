/* compose.c -- the last row of the chain; see compose.h. It has the steps that an effect takes
 * there (STEP and ANSWER of chain.def), and the worlds that answer. A world is opened when it is
 * first needed. Confined code needs its own worker and tool servers for each sandbox profile. One
 * world routes all kinds of effects, so that only one place knows which worker or server an effect
 * needs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/session/compose.h"

#include "api/embed/objects.h"
#include "api/session/confined.h"
#include "api/setup/env_settings.h"
#include "base/vec.h"
#include "host/host.h"
#include "mcp/mcp.h"
#include "model/model.h"
#include "native/native.h"
#include "web/web.h"

#include "base/banned.h"

/* The worker and tool servers of one sandbox profile. */
typedef struct confined_backends {
    const pdl_sandbox *sandbox; /* NULL when the worker and the servers are not confined */
    /* profiles of the effects that this worker and these servers answer; absent when they are not
     * confined */
    pdl_val profiles;
    pdl_world *worker, *mcp; /* NULL until it is needed */
    /* the numbers `process` and `session` of the effects that the worker answers; 0 when these
     * effects have no numbers */
    uint32_t process, session;
    /* the only spawned run that may use this worker and these servers; 0 when all runs may */
    uint32_t owner;
    /* code has begun a new session since; this worker is only kept for the objects in it */
    bool was_left;
} confined_backends;

typedef struct router {
    pdl_world world;
    pdl_compose_options opt;
    pdl_world *model, *host, *web, *hooks; /* NULL until it is needed */
    PDL_VEC(confined_backends) backends;
    uint32_t generations; /* count of the processes of all workers */
} router;

static pdl_val record_of(void *user, pdl_vref record) {
    static const char *const names[] = {"model_calls", "completion_tokens", "prompt_tokens"};
    (void)user;
    pdl_val d = pdl_dict_new(3);
    for (size_t i = 0; i < 3; i++) {
        pdl_val v;
        pdl_err err = {0};
        if (pdl_attr(record, pdl_str_of(names[i]), &v, &err)) d = pdl_dict_putz(d, names[i], v);
        pdl_err_fini(&err);
    }
    return d;
}

/* Opens the worker with the Python that PDL_PYTHON names. Without this variable, uses the Python of
 * the active virtual environment, or else the Python on PATH. */
static bool open_worker(router *r, confined_backends *backends, pdl_err *err) {
    const char *own = r->opt.env(r->opt.env_user, "PDL_PYTHON"), *candidates[2];
    pdl_buf venv = PDL_BUF;
    size_t n = 0;
    uint64_t ms, bytes;
    void *user = r->opt.env_user;
    if (!pdl_code_limit_read(PDL_CODE_LIMIT_MS, r->opt.env, user, &ms, err) ||
        !pdl_code_limit_read(PDL_CODE_LIMIT_BYTES, r->opt.env, user, &bytes, err))
        return false;
    if (own && *own) {
        candidates[n++] = own;
    } else {
        const char *dir = r->opt.env(r->opt.env_user, "VIRTUAL_ENV");
        if (dir && *dir) {
            pdl_buf_putf(&venv, "%s/bin/python3", dir);
            candidates[n++] = pdl_buf_z(&venv);
        }
        candidates[n++] = "python3";
    }
    pdl_worker_options o = {
        .pythons = candidates,
        .n_pythons = n,
        .dir = r->opt.dir,
        .debug = r->opt.debug,
        .user = r->opt.user,
        .errors = r->opt.takes_errors(r->opt.user) ? r->opt.errors : NULL,
        .ask_input = r->opt.ask_input,
        .run_program = r->opt.run_program,
        .record = record_of,
        .sandbox = backends->sandbox,
        .generations = &r->generations,
        .time_limit_ms = ms,
        .max_memory = (size_t)bytes,
        .seed = r->opt.code_seed,
    };
    backends->worker = pdl_worker_world_new(r->opt.loop, &o);
    pdl_buf_fini(&venv);
    return true;
}

/* --- by profile ------------------------------------------------------------------------------- */

/* Returns the spawned run to which the worker belongs; 0 when all runs share it. Tool servers are
 * shared by all runs, because they keep state between calls in any case. */
static uint32_t owner_of(const router *r, const pdl_effect *e, const pdl_sandbox *s) {
    bool own = s && e->kind != PDL_EFFECT_tool && r->opt.owner;
    return own ? r->opt.owner(r->opt.user, e->id) : 0;
}

static bool find_backends(router *r, const pdl_effect *e, confined_backends **out, pdl_err *err) {
    const pdl_sandbox *s = NULL;
    if (r->opt.confined && !pdl_confined_find(r->opt.confined, e->sandbox, &s, err)) return false;
    uint32_t owner = owner_of(r, e, s);
    for (size_t i = 0; i < r->backends.n; i++) {
        *out = &r->backends.p[i];
        if ((*out)->sandbox == s && (*out)->process == e->process && (*out)->owner == owner &&
            !(*out)->was_left)
            return true;
    }
    *out = pdl_vec_push(&r->backends);
    **out = (confined_backends){.sandbox = s,
                                .profiles = pdl_keep(e->sandbox),
                                .process = e->process,
                                .session = e->session,
                                .owner = owner};
    return true;
}

/* Leaves a session of Python. The worker is kept as long as its objects are used. The worker is not
 * closed here, because it may be delivering a reply at this moment. */
static bool leave_session(router *r, confined_backends *c, pdl_err *err) {
    enum { MAX_LEFT = 32 };
    size_t n = 0;
    if (!c->worker) return true;
    for (size_t i = 0; i < r->backends.n; i++)
        n += r->backends.p[i].was_left && r->backends.p[i].worker;
    if (n >= MAX_LEFT)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0},
                           "objects of more than %d sessions of Python are in use", MAX_LEFT);
    confined_backends left = {.sandbox = c->sandbox,
                              .profiles = pdl_keep(c->profiles),
                              .process = c->process,
                              .session = c->session,
                              .owner = c->owner,
                              .worker = c->worker,
                              .was_left = true};
    c->worker = NULL;
    *pdl_vec_push(&r->backends) = left;
    return true;
}

/* Finds the earlier session with this number in the process of `now`, or adds it. Code of an
 * earlier session may arrive after code of a later session. This happens when a journal has
 * answered the earlier code. The journal then sends this code to a worker only when other code
 * needs its objects (journal/durable/rebuild.c). */
static confined_backends *find_left(router *r, const confined_backends *now, uint32_t session) {
    confined_backends like = *now;
    for (size_t i = 0; i < r->backends.n; i++) {
        confined_backends *c = &r->backends.p[i];
        if (c->was_left && c->process == like.process && c->session == session &&
            c->owner == like.owner)
            return c;
    }
    confined_backends *c = pdl_vec_push(&r->backends);
    *c = (confined_backends){.sandbox = like.sandbox,
                             .profiles = pdl_keep(like.profiles),
                             .process = like.process,
                             .session = session,
                             .owner = like.owner,
                             .was_left = true};
    return c;
}

/* Finds the worker for the session in which code runs. A new worker is made when the code begins a
 * session, or when an effect that a journal answered began one. */
static bool find_session(router *r, const pdl_effect *e, confined_backends **out, pdl_err *err) {
    if (!find_backends(r, e, out, err)) return false;
    if (e->session < (*out)->session) {
        *out = find_left(r, *out, e->session);
        return true;
    }
    if (!pdl_effect_begins_session(e) && e->session == (*out)->session) return true;
    if (!leave_session(r, *out, err) || !find_backends(r, e, out, err)) return false;
    (*out)->session = e->session;
    return true;
}

/* Closes sessions that are not used any more. */
static void close_left(router *r) {
    size_t n = 0;
    for (size_t i = 0; i < r->backends.n; i++) {
        confined_backends c = r->backends.p[i];
        if (c.was_left && (!c.worker || pdl_worker_is_idle(c.worker))) {
            if (c.worker) c.worker->ops->close(c.worker);
            pdl_drop(c.profiles);
        } else {
            r->backends.p[n++] = c;
        }
    }
    r->backends.n = n;
}

/* Marks the workers of the run `owner` as left. They are closed later, when they are idle, because
 * a worker may be delivering a reply at this moment. */
void pdl_compose_forget(pdl_world *w, uint32_t owner) {
    router *r = (router *)(void *)w;
    for (size_t i = 0; owner && i < r->backends.n; i++)
        if (r->backends.p[i].owner == owner) {
            r->backends.p[i].was_left = true;
            /* no run has this process number, so these backends are not found again */
            r->backends.p[i].process = UINT32_MAX;
        }
}

/* Finds the worker whose process has the object. The code of an object keeps the rights of the
 * profile in which the object was made. So a block may use the object only if the profile of the
 * block allows at least the same. */
static bool find_object(router *r, const pdl_effect *e, pdl_world **out, pdl_err *err) {
    for (size_t i = 0; i < r->backends.n; i++) {
        confined_backends *c = &r->backends.p[i];
        if (!c->worker || !pdl_worker_has_object(c->worker, e->request)) continue;
        *out = c->worker;
        return pdl_confined_is_inside(c->profiles, e->sandbox) ||
               pdl_err_set(err, PDL_E_policy, (pdl_loc){0},
                           "the object is in the Python process of a wider sandbox than the block "
                           "that uses it");
    }
    confined_backends *own;
    if (!find_session(r, e, &own, err) || (!own->worker && !open_worker(r, own, err))) return false;
    *out = own->worker;
    return true;
}

static bool confine_server(void *user, pdl_vref own, pdl_str folder, pdl_vref profiles,
                           const pdl_sandbox **out, pdl_err *err) {
    const router *r = user;
    *out = NULL;
    return !r->opt.confined ||
           pdl_confined_server(r->opt.confined, own, folder, profiles, out, err);
}

static pdl_world *tools_of(router *r, confined_backends *c) {
    if (!c->mcp)
        c->mcp = pdl_mcp_world_new(r->opt.loop, &(pdl_mcp_options){
                                                    .env = r->opt.env,
                                                    .user = r->opt.env_user,
                                                    .env_of_file = r->opt.env_of_file,
                                                    .debug = r->opt.debug,
                                                    .secrets = r->opt.secrets,
                                                    .confine = confine_server,
                                                    .confine_user = r,
                                                    .profiles = c->profiles,
                                                    .traceparent = r->opt.traceparent,
                                                    .tracestate = r->opt.tracestate,
                                                });
    return c->mcp;
}

/* --- the room that answers a kind of effect --------------------------------------------------- */

/* The functions mcp_of, worker_of, model_of, host_of and web_of return the world for an effect.
 * They return NULL, with err set, when the world cannot be opened. */

static pdl_world *mcp_of(router *r, const pdl_effect *e, pdl_err *err) {
    confined_backends *c;
    return find_session(r, e, &c, err) ? tools_of(r, c) : NULL;
}

static pdl_world *worker_of(router *r, const pdl_effect *e, pdl_err *err) {
    pdl_world *w = NULL;
    confined_backends *c;
    if (e->kind == PDL_EFFECT_object) return find_object(r, e, &w, err) ? w : NULL;
    if (!find_session(r, e, &c, err)) return NULL;
    return c->worker || open_worker(r, c, err) ? c->worker : NULL;
}

static pdl_world *models_of(router *r) {
    if (!r->model)
        r->model = pdl_model_world_new(r->opt.loop, &(pdl_model_options){
                                                        .env = r->opt.env,
                                                        .user = r->opt.env_user,
                                                        .env_of_file = r->opt.env_of_file,
                                                        .debug = r->opt.debug,
                                                        .timeouts = r->opt.timeouts,
                                                        .prices = r->opt.prices,
                                                        .wire = r->opt.wire,
                                                        .redaction = r->opt.redaction,
                                                        .note = r->opt.note,
                                                        .traceparent = r->opt.traceparent,
                                                        .tracestate = r->opt.tracestate,
                                                        .secrets = r->opt.secrets,
                                                        .rates = r->opt.rates,
                                                        .prefix = r->opt.prefix,
                                                        .patience_ms = r->opt.patience_ms,
                                                        .carrier = r->opt.carrier,
                                                    });
    return r->model;
}

static pdl_world *model_of(router *r, const pdl_effect *e, pdl_err *err) {
    (void)e;
    (void)err;
    return models_of(r);
}

static pdl_world *host_of(router *r, const pdl_effect *e, pdl_err *err) {
    (void)e;
    (void)err;
    if (!r->host)
        r->host =
            pdl_host_world_new(r->opt.loop, &(pdl_host_options){
                                                .terminal = r->opt.terminal,
                                                .open = r->opt.confined ? pdl_confined_open : NULL,
                                                .open_user = r->opt.confined,
                                                .secrets = r->opt.secrets,
                                            });
    return r->host;
}

static pdl_world *web_of(router *r, const pdl_effect *e, pdl_err *err) {
    (void)e;
    (void)err;
    if (!r->web)
        r->web = pdl_web_world_new(r->opt.loop, &(pdl_web_options){
                                                    .env = r->opt.env,
                                                    .user = r->opt.env_user,
                                                    .is_model_key = pdl_model_is_key,
                                                    .debug = r->opt.debug,
                                                    .secrets = r->opt.secrets,
                                                    .traceparent = r->opt.traceparent,
                                                    .trace_user = r->opt.env_user,
                                                });
    return r->web;
}

static pdl_world *world_for(router *r, const pdl_effect *e, pdl_err *err) {
    switch (e->kind) {
/* clang-format would put the include into the macro. */
/* clang-format off */
#define ANSWER(kind, room)                                                                         \
    case PDL_EFFECT_##kind: return room##_of(r, e, err);
#include "api/session/chain.def"
        /* clang-format on */
    case PDL_EFFECT_COUNT: break;
    }
    PDL_BUG("effect kind %d", (int)e->kind);
}

pdl_world *pdl_compose_model(pdl_world *w) { return models_of((router *)(void *)w); }

/* --- requests of confined code ---------------------------------------------------------------- */

static bool refuse_code(pdl_err *err, const char *verb, pdl_str what) {
    pdl_err_set(err, PDL_E_policy, (pdl_loc){0},
                "the sandbox of the code that asks for it does not let it %s %.*s", verb,
                PDL_FMT(what));
    err->py_class = pdl_str_dup(PDL_STR("PermissionError,OSError"));
    return false;
}

/* Restricts a search to the folders in which code may read. */
static void narrow_search(const router *r, const pdl_sandbox *s, pdl_effect *e, pdl_vref under) {
    pdl_str path = pdl_str_get(pdl_dict_getz(e->request, "path"));
    pdl_val left = pdl_list_new(pdl_list_len(under));
    for (size_t i = 0; i < pdl_list_len(under); i++) {
        pdl_buf b = PDL_BUF;
        pdl_buf_putf(&b, "%.*s/%.*s", PDL_FMT(pdl_str_get(pdl_list_at(under, i))), PDL_FMT(path));
        if (pdl_confined_may_load(r->opt.confined, s, pdl_buf_z(&b)))
            left = pdl_list_push(left, pdl_keep(pdl_list_at(under, i)));
        pdl_buf_fini(&b);
    }
    e->request = pdl_dict_putz(e->request, "under", left);
}

typedef struct reach {
    const pdl_sandbox *sandbox;
    pdl_err *err;
} reach;

static bool may_reach(void *user, pdl_vref address, pdl_label labels) {
    const reach *to = user;
    (void)labels;
    if (!pdl_is_str(address))
        return refuse_code(to->err, "use", PDL_STR("parameters as deep as these"));
    return pdl_sandbox_may_reach(to->sandbox, pdl_str_get(address)) ||
           refuse_code(to->err, "reach", pdl_str_get(address));
}

static bool may_read_for_call(void *user, pdl_vref path, pdl_label labels) {
    const reach *to = user;
    (void)labels;
    if (!pdl_is_str(path)) return may_reach(user, path, labels);
    return pdl_sandbox_may_read(to->sandbox, pdl_str_get(path).p) ||
           refuse_code(to->err, "read", pdl_str_get(path));
}

typedef enum { DEPUTY_DOES, DEPUTY_REFUSES, DEPUTY_SEES_NOTHING } deputy_answer;

/* Judges a search for a program, in the folders `under` or at one path. A file that the sandbox
 * does not show counts as missing, as for the code itself: a refusal would reveal which files of
 * the user exist. */
static deputy_answer look_for(const router *r, const pdl_sandbox *s, pdl_effect *e) {
    pdl_vref under = pdl_dict_getz(e->request, "under");
    if (pdl_is_list(under)) {
        narrow_search(r, s, e, under);
        return DEPUTY_DOES;
    }
    pdl_vref path = pdl_dict_getz(e->request, "path");
    bool ok = pdl_confined_may_load(r->opt.confined, s, pdl_str_get(path).p);
    return ok ? DEPUTY_DOES : DEPUTY_SEES_NOTHING;
}

static bool may_ask(const pdl_sandbox *s, const pdl_effect *e, pdl_err *err) {
    pdl_vref path = pdl_dict_getz(e->request, "path");
    if (e->kind == PDL_EFFECT_model || e->kind == PDL_EFFECT_embed || e->kind == PDL_EFFECT_http)
        return pdl_effect_each_address(e, may_reach, &(reach){s, err}) &&
               pdl_effect_each_file(e, may_read_for_call, &(reach){s, err});
    if (e->kind == PDL_EFFECT_read)
        return pdl_sandbox_may_read(s, pdl_str_get(path).p) ||
               refuse_code(err, "read", pdl_str_get(path));
    if (e->kind == PDL_EFFECT_write)
        return pdl_sandbox_may_write(s, pdl_str_get(path).p) ||
               refuse_code(err, "write", pdl_str_get(path));
    return true;
}

/* Judges a request of confined code: the engine does for the code only what the code itself may do.
 * Requests to a person, to tool servers and to a model at its configured address are allowed,
 * because the user has set them up. */
static deputy_answer ask_deputy(router *r, pdl_effect *e, pdl_err *err) {
    confined_backends *c;
    if (!e->by_code || !r->opt.confined) return DEPUTY_DOES;
    if (!find_backends(r, e, &c, err)) return DEPUTY_REFUSES;
    if (!c->sandbox) return DEPUTY_DOES;
    if (e->kind == PDL_EFFECT_source) return look_for(r, c->sandbox, e);
    e->keeps_keys = true;
    return may_ask(c->sandbox, e, err) ? DEPUTY_DOES : DEPUTY_REFUSES;
}

/* --- the steps -------------------------------------------------------------------------------- */

/* A step that answers the effect takes it and returns true. */
typedef bool step_fn(router *r, pdl_effect *e);

static bool step_deputy(router *r, pdl_effect *e) {
    pdl_err err = {0};
    switch (ask_deputy(r, e, &err)) {
    case DEPUTY_REFUSES: pdl_effect_refuse(e, &err); return true;
    case DEPUTY_SEES_NOTHING: pdl_effect_answer(e, pdl_null(), 0); return true;
    case DEPUTY_DOES: break;
    }
    return false;
}

/* Returns true for code that must be confined. The host program is not asked to run such code,
 * because the code would then have the rights of the host program. */
static bool is_confined_code(const router *r, const pdl_effect *e) {
    const pdl_sandbox *s = NULL;
    pdl_err err = {0};
    if (e->kind != PDL_EFFECT_code || !r->opt.confined) return false;
    bool known = pdl_confined_find(r->opt.confined, e->sandbox, &s, &err);
    /* the world that answers the effect meets this error again, and refuses the effect */
    pdl_err_fini(&err);
    return !known || s;
}

bool pdl_compose_is_hooked(const pdl_world *w, const pdl_effect *e) {
    const router *r = (const router *)(const void *)w;
    return pdl_hooks_match(r->opt.hooks, r->opt.n_hooks, e) && !is_confined_code(r, e);
}

static void start_declined(void *user, pdl_effect *e);

static bool step_hooks(router *r, pdl_effect *e) {
    if (!pdl_compose_is_hooked(&r->world, e)) return false;
    if (!r->hooks)
        r->hooks = pdl_hooks_world_new(
            &(pdl_hooks_options){r->opt.loop, r->opt.hooks, r->opt.n_hooks, r->opt.task},
            start_declined, r);
    r->hooks->ops->start(r->hooks, e);
    return true;
}

static bool step_objects(router *r, pdl_effect *e) {
    pdl_err err = {0};
    (void)r;
    if (e->kind != PDL_EFFECT_code || !pdl_objects_in(pdl_dict_getz(e->request, "vars")))
        return false;
    pdl_err_host(&err, "TypeError",
                 "a function or an object of the host program cannot be given to the process of "
                 "code blocks");
    pdl_effect_refuse(e, &err);
    return true;
}

static bool step_engine(router *r, pdl_effect *e) {
    if (!r->opt.engine) return false;
    r->opt.engine->ops->start(r->opt.engine, e);
    return true;
}

static bool step_room(router *r, pdl_effect *e) {
    pdl_err err = {0};
    pdl_world *world = world_for(r, e, &err);
    if (world)
        world->ops->start(world, e);
    else
        pdl_effect_refuse(e, &err);
    return true;
}

typedef enum {
#define STEP(name, when, why) STEP_##name,
#include "api/session/chain.def"
} step_id;

static step_fn *const steps[] = {
#define STEP(name, when, why) step_##name,
#include "api/session/chain.def"
};

/* Takes the effect through the steps from this one on. */
static void start_at(router *r, pdl_effect *e, step_id i) {
    while (!steps[i](r, e)) i++; /* the last step returns true */
}

/* Continues with an effect that all handlers of the host program have declined. */
static void start_declined(void *user, pdl_effect *e) {
    start_at(user, e, (step_id)(STEP_hooks + 1));
}

static void start(pdl_world *w, pdl_effect *e) { start_at((router *)(void *)w, e, (step_id)0); }

static void cancel(pdl_world *w, uint32_t id) {
    router *r = (router *)(void *)w;
    if (r->model) r->model->ops->cancel(r->model, id);
    for (size_t i = 0; i < r->backends.n; i++) {
        const confined_backends *c = &r->backends.p[i];
        if (c->worker) c->worker->ops->cancel(c->worker, id);
        if (c->mcp) c->mcp->ops->cancel(c->mcp, id);
    }
    if (r->host) r->host->ops->cancel(r->host, id);
    if (r->web) r->web->ops->cancel(r->web, id);
    if (r->hooks) r->hooks->ops->cancel(r->hooks, id);
    if (r->opt.engine) r->opt.engine->ops->cancel(r->opt.engine, id);
}

static bool poll_loop(pdl_world *w, int timeout_ms) {
    router *r = (router *)(void *)w;
    close_left(r);
    return r->hooks ? r->hooks->ops->poll(r->hooks, timeout_ms)
                    : pdl_loop_run(r->opt.loop, timeout_ms);
}

bool pdl_compose_answer_input(pdl_world *w, uint32_t id, pdl_str text) {
    router *r = (router *)(void *)w;
    return r->host && pdl_host_answer_input(r->host, id, text);
}

bool pdl_compose_is_ready(const pdl_world *w) {
    const router *r = (const router *)(const void *)w;
    return r->hooks && pdl_hooks_are_ready(r->hooks);
}

static void close_all(pdl_world *w) {
    router *r = (router *)(void *)w;
    if (r->model) r->model->ops->close(r->model);
    for (size_t i = 0; i < r->backends.n; i++)
        if (r->backends.p[i].worker) r->backends.p[i].worker->ops->close(r->backends.p[i].worker);
    if (r->host) r->host->ops->close(r->host);
    if (r->web) r->web->ops->close(r->web);
    if (r->hooks) r->hooks->ops->close(r->hooks);
    for (size_t i = 0; i < r->backends.n; i++) {
        /* the tool servers are closed last: the loop runs until they have ended */
        confined_backends *c = &r->backends.p[i];
        if (c->mcp) c->mcp->ops->close(c->mcp);
        pdl_drop(c->profiles);
    }
    pdl_vec_fini(&r->backends);
    pdl_free(r);
}

/* Returns true for code, commands and operations on objects of code, in a sandbox without network
 * and without folders to write. */
static bool may_repeat(pdl_world *w, const pdl_effect *e) {
    const router *r = (const router *)(void *)w;
    const pdl_sandbox *box = NULL;
    pdl_err ignored = {0};
    if (e->kind != PDL_EFFECT_code && e->kind != PDL_EFFECT_command && e->kind != PDL_EFFECT_object)
        return false;
    if (!r->opt.confined || !pdl_confined_find(r->opt.confined, e->sandbox, &box, &ignored))
        box = NULL;
    pdl_err_fini(&ignored);
    return box && pdl_sandbox_is_closed(box);
}

static const pdl_world_ops ops = {.start = start,
                                  .cancel = cancel,
                                  .poll = poll_loop,
                                  .close = close_all,
                                  .may_repeat = may_repeat};

pdl_world *pdl_compose(const pdl_compose_options *options) {
    router *r = PDL_NEW(router);
    r->world.ops = &ops;
    r->opt = *options;
    return &r->world;
}
