/* compose.c -- see compose.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/compose.h"

#include "base/num.h"
#include "api/objects.h"
#include "host/host.h"
#include "mcp/mcp.h"
#include "model/model.h"
#include "native/native.h"

#include "base/banned.h"

typedef struct router {
    pdl_world world;
    pdl_compose_options opt;
    pdl_world *model, *worker, *mcp, *host, *hooks; /* NULL until needed */
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

/* A number of the environment times unit, as a whole number; 0 when it is not set. */
static bool read_limit(const router *r, const char *name, const char *what, double unit,
                       uint64_t *out, pdl_err *err) {
    const char *text = r->opt.env(r->opt.env_user, name);
    double n = 0;
    *out = 0;
    if (!text || !*text) return true;
    if (!pdl_num_read_double(pdl_str_of(text), &n) || !(n > 0) || n * unit >= 1e15)
        return pdl_err_set(err, PDL_E_code, (pdl_loc){0}, "%s: expected %s, not '%.40s'", name,
                           what, text);
    *out = n * unit < 1 ? 1 : (uint64_t)(n * unit);
    return true;
}

/* PDL_PYTHON, else the active virtual environment's, else the one on PATH. */
static bool open_worker(router *r, pdl_err *err) {
    const char *own = r->opt.env(r->opt.env_user, "PDL_PYTHON"), *candidates[2];
    pdl_buf venv = PDL_BUF;
    size_t n = 0;
    uint64_t ms, bytes;
    if (!read_limit(r, "PDL_CODE_TIMEOUT", "a number of seconds", 1000, &ms, err) ||
        !read_limit(r, "PDL_CODE_MEMORY", "a number of megabytes", 1 << 20, &bytes, err))
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
        .errors = r->opt.errors,
        .ask_input = r->opt.ask_input,
        .run_program = r->opt.run_program,
        .record = record_of,
        .sandbox = r->opt.sandbox,
        .time_limit_ms = ms,
        .max_memory = (size_t)bytes,
    };
    r->worker = pdl_worker_world_new(r->opt.loop, &o);
    pdl_buf_fini(&venv);
    return true;
}

/* NULL, and err set, where the room cannot be opened. */
static pdl_world *world_for(router *r, pdl_effect_kind kind, pdl_err *err) {
    switch (kind) {
    case PDL_EFFECT_model:
    case PDL_EFFECT_embed:
        if (!r->model)
            r->model = pdl_model_world_new(
                r->opt.loop, &(pdl_model_options){
                                 .env = r->opt.env,
                                 .user = r->opt.env_user,
                                 .debug = r->opt.debug,
                                 .timeouts = r->opt.timeouts,
                                 .prices = r->opt.prices,
                                 .wire = r->opt.wire,
                                 .traceparent = r->opt.traceparent,
                                 .secrets = r->opt.secrets,
                                 .max_requests_per_second = r->opt.max_requests_per_second,
                                 .max_tokens_per_minute = r->opt.max_tokens_per_minute,
                             });
        return r->model;
    case PDL_EFFECT_code:
    case PDL_EFFECT_object:
    case PDL_EFFECT_command: return r->worker || open_worker(r, err) ? r->worker : NULL;
    case PDL_EFFECT_tool:
        if (!r->mcp)
            r->mcp = pdl_mcp_world_new(r->opt.loop, &(pdl_mcp_options){
                                                        .env = r->opt.env,
                                                        .user = r->opt.env_user,
                                                        .debug = r->opt.debug,
                                                        .secrets = r->opt.secrets,
                                                        .sandbox = r->opt.sandbox,
                                                    });
        return r->mcp;
    case PDL_EFFECT_read:
    case PDL_EFFECT_write:
    case PDL_EFFECT_input:
    case PDL_EFFECT_source:
    case PDL_EFFECT_sleep:
    case PDL_EFFECT_now:
    case PDL_EFFECT_random:
    case PDL_EFFECT_approval:
    case PDL_EFFECT_permit:
        if (!r->host)
            r->host = pdl_host_world_new(r->opt.loop, &(pdl_host_options){
                                                          .show = r->opt.show_prompt,
                                                          .user = r->opt.show_user,
                                                      });
        return r->host;
    case PDL_EFFECT_COUNT: break;
    }
    PDL_BUG("effect kind %d", (int)kind);
}

pdl_world *pdl_compose_model(pdl_world *w) {
    pdl_err never = {0};
    return world_for((router *)(void *)w, PDL_EFFECT_model, &never);
}

/* Answered by the library, not by the host program. */
static void start_here(void *user, pdl_effect *e) {
    router *r = user;
    pdl_err err = {0};
    if (e->kind == PDL_EFFECT_code && pdl_objects_in(pdl_dict_getz(e->request, "vars"))) {
        pdl_err_host(&err, "TypeError",
                     "a function or an object of the host program cannot be given to the process "
                     "of code blocks");
        pdl_effect_refuse(e, &err);
        return;
    }
    pdl_world *world = r->opt.behind ? r->opt.behind : world_for(r, e->kind, &err);
    if (world)
        world->ops->start(world, e);
    else
        pdl_effect_refuse(e, &err);
}

static pdl_world *hooks_of(router *r) {
    if (!r->hooks)
        r->hooks =
            pdl_hooks_world_new(r->opt.loop, r->opt.hooks, r->opt.n_hooks, start_here, r);
    return r->hooks;
}

static void start(pdl_world *w, pdl_effect *e) {
    router *r = (router *)(void *)w;
    if (!pdl_hooks_match(r->opt.hooks, r->opt.n_hooks, e)) {
        start_here(r, e);
        return;
    }
    pdl_world *hooks = hooks_of(r);
    hooks->ops->start(hooks, e);
}

static void cancel(pdl_world *w, uint32_t id) {
    router *r = (router *)(void *)w;
    if (r->model) r->model->ops->cancel(r->model, id);
    if (r->worker) r->worker->ops->cancel(r->worker, id);
    if (r->mcp) r->mcp->ops->cancel(r->mcp, id);
    if (r->host) r->host->ops->cancel(r->host, id);
    if (r->hooks) r->hooks->ops->cancel(r->hooks, id);
    if (r->opt.behind) r->opt.behind->ops->cancel(r->opt.behind, id);
}

static bool poll_loop(pdl_world *w, int timeout_ms) {
    router *r = (router *)(void *)w;
    return r->hooks ? r->hooks->ops->poll(r->hooks, timeout_ms)
                    : pdl_loop_run(r->opt.loop, timeout_ms);
}

bool pdl_compose_is_hooked(const pdl_world *w, const pdl_effect *e) {
    const router *r = (const router *)(const void *)w;
    return pdl_hooks_match(r->opt.hooks, r->opt.n_hooks, e);
}

bool pdl_compose_is_ready(const pdl_world *w) {
    const router *r = (const router *)(const void *)w;
    return r->hooks && pdl_hooks_are_ready(r->hooks);
}

static void close_all(pdl_world *w) {
    router *r = (router *)(void *)w;
    if (r->model) r->model->ops->close(r->model);
    if (r->worker) r->worker->ops->close(r->worker);
    if (r->host) r->host->ops->close(r->host);
    if (r->hooks) r->hooks->ops->close(r->hooks);
    if (r->mcp)
        r->mcp->ops->close(r->mcp); /* last: it runs the loop until its servers have ended */
    pdl_free(r);
}

static const pdl_world_ops ops = {start, cancel, poll_loop, close_all};

pdl_world *pdl_compose(const pdl_compose_options *options) {
    router *r = PDL_NEW(router);
    r->world.ops = &ops;
    r->opt = *options;
    return &r->world;
}
