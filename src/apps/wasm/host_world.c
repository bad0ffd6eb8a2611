/* host_world.c -- the world of a run in the module; see host_runs.h. The clock, random numbers, the
 * files that the host gave in advance, and calls with a mock_response are answered here. Other
 * calls of models, code, input and pauses are passed to the host as questions. All other effects
 * are refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/host_answers.h"
#include "base/limits.h"
#include "io/clock.h"
#include "io/entropy.h"
#include "model/model.h"
#include "value/text.h"
#include "wasm/host_runs.h"
#include "wasm/wasm.h"

#include "base/banned.h"

typedef struct asked_effect {
    pdl_effect *e;
    pdl_buf pieces; /* the text that was streamed so far */
} asked_effect;

static pdl_wasm_world *world_of(pdl_world *w) { return (pdl_wasm_world *)(void *)w; }

static void refuse(pdl_effect *e, pdl_err_kind kind, const char *what) {
    pdl_err err = {0};
    pdl_err_set(&err, kind, (pdl_loc){0}, "%s", what);
    pdl_effect_refuse(e, &err);
}

/* --- files of the host ------------------------------------------------------------------------ */

static void read_file(pdl_wasm_world *w, pdl_effect *e) {
    pdl_str path = pdl_wasm_text(e->request, "path");
    pdl_vref text = pdl_wasm_file(&w->files, path);
    if (!pdl_is_absent(text)) {
        pdl_effect_answer(e, pdl_keep(text), 0);
        return;
    }
    pdl_err err = {0};
    pdl_str shown = pdl_wasm_text(e->request, "shown");
    pdl_err_set(&err, PDL_E_io, (pdl_loc){0}, "file %.*s not found",
                PDL_FMT(shown.n ? shown : path));
    err.py_class = pdl_str_dup(PDL_STR("FileNotFoundError,OSError,Exception"));
    pdl_effect_refuse(e, &err);
}

static void find_source(pdl_wasm_world *w, pdl_effect *e) {
    pdl_vref text = pdl_wasm_file(&w->files, pdl_wasm_text(e->request, "path"));
    pdl_effect_answer(e, pdl_is_absent(text) ? pdl_null() : pdl_keep(text), 0);
}

/* --- effects that go out ---------------------------------------------------------------------- */

/* Returns true when a service accepts the content of a message unchanged: it is a text, is missing
 * or null, or is a list of parts that all have a type. */
static bool is_content(pdl_vref v) {
    if (pdl_is_str(v) || pdl_is_null(v) || pdl_is_absent(v)) return true;
    bool is_parts = pdl_is_list(v) && pdl_list_len(v);
    for (size_t i = 0; is_parts && i < pdl_list_len(v); i++) {
        pdl_vref part = pdl_list_at(v, i);
        is_parts = pdl_is_dict(part) && pdl_is_str(pdl_dict_getz(part, "type"));
    }
    return is_parts;
}

/* Returns the message as a service gets it: content that a service would not accept is converted to
 * a text. */
static pdl_val message_with_text(pdl_vref message) {
    pdl_buf text = PDL_BUF_INIT(PDL_MAX_TEXT);
    pdl_err err = {0};
    pdl_vref content = pdl_is_dict(message) ? pdl_dict_getz(message, "content") : pdl_absent();
    pdl_val m = pdl_keep(message);
    if (!is_content(content) && pdl_stringify(content, &text, &err))
        m = pdl_dict_putz(m, "content", pdl_text(pdl_buf_str(&text)));
    pdl_err_fini(&err);
    pdl_buf_fini(&text);
    return m;
}

/* Returns the request of a code effect with its variables as a text, because numbers of JavaScript
 * are not exact; owned. */
static pdl_val code_request(const pdl_effect *e) {
    pdl_buf vars = PDL_BUF;
    pdl_wasm_put(pdl_dict_getz(e->request, "vars"), &vars);
    return pdl_dict_putz(pdl_keep(e->request), "vars", pdl_text_of_buf(&vars));
}

/* Returns the request in the form that the host gets; owned. */
static pdl_val request_of(const pdl_effect *e) {
    pdl_vref given = pdl_dict_getz(e->request, "messages");
    if (e->kind == PDL_EFFECT_code) return code_request(e);
    if (e->kind != PDL_EFFECT_model || !pdl_is_list(given)) return pdl_keep(e->request);
    pdl_val messages = pdl_list_new(pdl_list_len(given));
    for (size_t i = 0; i < pdl_list_len(given); i++)
        messages = pdl_list_push(messages, message_with_text(pdl_list_at(given, i)));
    return pdl_dict_putz(pdl_keep(e->request), "messages", messages);
}

static void put_effect(const pdl_effect *e, pdl_buf *out) {
    pdl_val request = request_of(e);
    pdl_buf place = PDL_BUF;
    pdl_path_text(e->place, &place);
    pdl_json_open(out, '{');
    pdl_json_put_int(out, "id", e->id);
    pdl_json_put_text(out, "kind", pdl_str_of(pdl_effect_kind_name(e->kind)));
    pdl_json_put_int(out, "line", e->loc.src ? pdl_loc_line(e->loc) : 0);
    pdl_json_put_text(out, "place", pdl_buf_str(&place));
    pdl_json_put_key(out, "request");
    pdl_wasm_put(request, out);
    pdl_drop(request);
    pdl_buf_putc(out, '}');
    pdl_buf_fini(&place);
}

static void go_out(pdl_wasm_world *w, pdl_effect *e) {
    asked_effect *x = PDL_NEW(asked_effect);
    *x = (asked_effect){e, PDL_BUF};
    pdl_idmap_put(&w->open, e->id, x);
    w->n_open++;
    put_effect(e, &w->asked);
}

/* --- the world of models ---------------------------------------------------------------------- */

pdl_world *pdl_wasm_world_models(pdl_wasm_world *w) {
    const pdl_model_options o = {.prices = w->prices, .secrets = w->secrets};
    if (!w->models) w->models = pdl_model_world_new(w->loop, &o);
    return w->models;
}

bool pdl_wasm_world_waits(const pdl_wasm_world *w) {
    return w->n_open || (w->models && pdl_model_world_open(w->models));
}

static void call_model(pdl_wasm_world *w, pdl_effect *e) {
    if (!pdl_model_is_mocked(e)) {
        go_out(w, e);
        return;
    }
    pdl_world *models = pdl_wasm_world_models(w);
    models->ops->start(models, e);
}

/* --- all effects ------------------------------------------------------------------------------ */

static void start(pdl_world *world, pdl_effect *e) {
    pdl_wasm_world *w = world_of(world);
    switch (e->kind) {
    case PDL_EFFECT_model: call_model(w, e); return;
    case PDL_EFFECT_embed:
    case PDL_EFFECT_code:
    case PDL_EFFECT_input:
    case PDL_EFFECT_sleep: go_out(w, e); return;
    case PDL_EFFECT_read: read_file(w, e); return;
    case PDL_EFFECT_source: find_source(w, e); return;
    case PDL_EFFECT_now:
        pdl_effect_answer(e, pdl_float((double)pdl_clock_wall_ns() / 1e9), 0);
        return;
    case PDL_EFFECT_random:
        pdl_effect_answer(e, pdl_int((int64_t)pdl_rand_fresh_seed()), 0);
        return;
    case PDL_EFFECT_write:
        refuse(e, PDL_E_io, "files cannot be written here: the program runs in WebAssembly");
        return;
    case PDL_EFFECT_command:
        refuse(e, PDL_E_code, "commands cannot run here: the program runs in WebAssembly");
        return;
    case PDL_EFFECT_tool:
        refuse(e, PDL_E_runtime,
               "tool servers cannot be used here: the program runs in WebAssembly");
        return;
    case PDL_EFFECT_http:
        refuse(e, PDL_E_connection,
               "web servers cannot be asked here: the program runs in WebAssembly");
        return;
    case PDL_EFFECT_object:
    case PDL_EFFECT_approval:
    case PDL_EFFECT_permit: refuse(e, PDL_E_runtime, "the host cannot answer this"); return;
    case PDL_EFFECT_COUNT: break;
    }
    PDL_BUG("effect kind %d", (int)e->kind);
}

/* Removes the effect from the waiting ones. The caller owns it. Returns NULL when no such effect
 * waits. */
static pdl_effect *take(pdl_wasm_world *w, uint32_t id, pdl_buf *pieces) {
    asked_effect *x = pdl_idmap_find(&w->open, id);
    if (!x) return NULL;
    pdl_effect *e = x->e;
    *pieces = x->pieces;
    pdl_idmap_del(&w->open, id);
    w->n_open--;
    pdl_free(x);
    return e;
}

static void cancel(pdl_world *world, uint32_t id) {
    pdl_wasm_world *w = world_of(world);
    pdl_buf pieces = PDL_BUF;
    pdl_effect *e = take(w, id, &pieces);
    if (!e) {
        if (w->models) w->models->ops->cancel(w->models, id);
        return;
    }
    pdl_buf_fini(&pieces);
    pdl_effect_free(e);
    pdl_buf_putf(&w->cancelled, w->cancelled.len ? ",%u" : "%u", id);
}

/* There is nothing to poll, because an answer is delivered when the host gives it. */
static bool poll_nothing(pdl_world *world, int timeout_ms) {
    (void)timeout_ms;
    return pdl_wasm_world_waits(world_of(world));
}

static void stay_open(pdl_world *w) { (void)w; }

static const pdl_world_ops ops = {
    .start = start, .cancel = cancel, .poll = poll_nothing, .close = stay_open};

void pdl_wasm_world_open(pdl_wasm_world *w, pdl_vref files, pdl_loop *loop, pdl_secrets *secrets) {
    *w = (pdl_wasm_world){.world = {.ops = &ops},
                          .files = {files},
                          .asked = PDL_BUF,
                          .cancelled = PDL_BUF,
                          .loop = loop,
                          .secrets = secrets};
}

void pdl_wasm_world_close(pdl_wasm_world *w) {
    for (size_t i = 0; i < pdl_idmap_places(&w->open); i++) {
        asked_effect *x = pdl_idmap_at(&w->open, i);
        if (!x) continue;
        pdl_effect_free(x->e);
        pdl_buf_fini(&x->pieces);
        pdl_free(x);
    }
    pdl_idmap_fini(&w->open);
    pdl_buf_fini(&w->asked);
    pdl_buf_fini(&w->cancelled);
    if (w->models) w->models->ops->close(w->models);
    pdl_prices_free(w->prices);
}

/* --- answers ---------------------------------------------------------------------------------- */

static bool streams(const pdl_effect *e) {
    return e->kind == PDL_EFFECT_model && pdl_val_truth(pdl_dict_getz(e->request, "stream"));
}

bool pdl_wasm_world_piece(pdl_wasm_world *w, uint32_t id, pdl_str text) {
    asked_effect *x = pdl_idmap_find(&w->open, id);
    if (!x) return false;
    pdl_buf_put(&x->pieces, text);
    if (text.n && streams(x->e) && x->e->sink.piece) x->e->sink.piece(x->e->sink.user, x->e, text);
    return true;
}

/* Passes on the whole text as one piece, when the block streams and the host sent no pieces. The
 * piece may end the run and thus the effect. The function then returns false. */
static bool give_text(pdl_wasm_world *w, uint32_t id, const pdl_effect *e, bool streamed,
                      pdl_vref reply) {
    if (streamed || !streams(e)) return true;
    pdl_vref content = pdl_dict_getz(reply, "content");
    if (!pdl_is_str(content) || !pdl_str_get(content).n) return true;
    if (e->sink.piece) e->sink.piece(e->sink.user, e, pdl_str_get(content));
    return pdl_idmap_find(&w->open, id) != NULL;
}

/* Adds the cost to a reply (taken). */
static pdl_val with_cost(const pdl_wasm_world *w, const pdl_effect *e, pdl_val reply) {
    if (e->kind != PDL_EFFECT_model) return reply;
    pdl_vref parameters = pdl_dict_getz(e->request, "parameters");
    return pdl_prices_mark(w->prices, pdl_wasm_text(e->request, "model"), parameters, reply);
}

bool pdl_wasm_world_answer(pdl_wasm_world *w, uint32_t id, pdl_vref v, double seconds) {
    asked_effect *x = pdl_idmap_find(&w->open, id);
    if (!x) return false;
    pdl_err err = {0};
    pdl_val reply = pdl_absent();
    bool streamed = x->pieces.len != 0;
    bool ok = pdl_host_answer(x->e, v, pdl_buf_str(&x->pieces), &reply, &err);
    if (ok && !give_text(w, id, x->e, streamed, reply)) {
        pdl_drop(reply);
        return true;
    }
    pdl_buf pieces = PDL_BUF;
    pdl_effect *e = take(w, id, &pieces);
    pdl_buf_fini(&pieces);
    if (ok)
        pdl_effect_answer(e, with_cost(w, e, reply), seconds);
    else
        pdl_effect_refuse(e, &err);
    return true;
}

bool pdl_wasm_world_refuse(pdl_wasm_world *w, uint32_t id, pdl_str kind, pdl_str message) {
    pdl_buf pieces = PDL_BUF;
    pdl_effect *e = take(w, id, &pieces);
    pdl_buf_fini(&pieces);
    if (!e) return false;
    pdl_err err = {0};
    char *name = pdl_str_dup(kind);
    pdl_str model = pdl_wasm_text(e->request, "model");
    if (e->kind == PDL_EFFECT_model)
        pdl_err_set(&err, pdl_error_kind_of(name), (pdl_loc){0},
                    "Error during '%.*s' model call: %.*s", PDL_FMT(model), PDL_FMT(message));
    else
        pdl_err_set(&err, pdl_error_kind_of(name), (pdl_loc){0}, "%.*s", PDL_FMT(message));
    pdl_free(name);
    pdl_effect_refuse(e, &err);
    return true;
}
