/* script_world.c -- a world with prepared answers, for tests; see script_world.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "script_world.h"

#include <string.h>

#include "base/vec.h"

#include "base/banned.h"

/* An effect that waits for poll, with its line of the script (owned). */
typedef struct waiting {
    pdl_effect *e;
    pdl_val line;
} waiting;

typedef struct script {
    pdl_world world;
    pdl_val lines;
    size_t next;
    int order;
    PDL_VEC(waiting) open;
    uint32_t busy;  /* id of the effect being delivered, 0: none */
    bool cancelled; /* the effect being delivered was cancelled */
} script;

static script *of(pdl_world *w) { return (script *)(void *)w; }

static pdl_err_kind kind_named(pdl_str name) {
    for (int k = 1; k < PDL_E_COUNT; k++)
        if (pdl_str_is(name, pdl_err_kind_name((pdl_err_kind)k))) return (pdl_err_kind)k;
    return PDL_E_runtime;
}

/* Makes an error of its text, or of {kind, message, py_class, status}. */
static void fill_error(pdl_vref given, const pdl_effect *e, pdl_err *err) {
    pdl_vref kind = pdl_absent(), msg = given, py_class = pdl_absent(), status = pdl_absent();
    if (pdl_is_dict(given)) {
        kind = pdl_dict_getz(given, "kind");
        msg = pdl_dict_getz(given, "message");
        py_class = pdl_dict_getz(given, "py_class");
        status = pdl_dict_getz(given, "status");
    }
    pdl_str text = pdl_is_str(msg) ? pdl_str_get(msg) : PDL_STR("failed");
    pdl_err_set(err, pdl_is_str(kind) ? kind_named(pdl_str_get(kind)) : PDL_E_runtime, e->loc,
                "%.*s", PDL_FMT(text));
    if (pdl_is_str(py_class)) err->py_class = pdl_str_dup(pdl_str_get(py_class));
    if (pdl_is(status, PDL_V_INT)) {
        err->status = (int)pdl_int_of(status);
        err->has_status = true;
    }
}

/* Delivers the answer of a line. Takes e and line. */
static void deliver(script *s, pdl_effect *e, pdl_val line) {
    pdl_err err = {0};
    pdl_vref want = pdl_is_dict(line) ? pdl_dict_getz(line, "kind") : pdl_absent();
    const char *name = pdl_effect_kind_name(e->kind);
    s->busy = e->id;
    s->cancelled = false;
    if (!pdl_is_dict(line)) {
        pdl_err_set(&err, PDL_E_runtime, e->loc, "the script has no more answers: %s", name);
    } else if (pdl_is_str(want) && !pdl_text_is(want, name)) {
        pdl_err_set(&err, PDL_E_runtime, e->loc, "the script expects %.*s, not %s",
                    PDL_FMT(pdl_str_get(want)), name);
    } else {
        pdl_vref pieces = pdl_dict_getz(line, "pieces"), error = pdl_dict_getz(line, "error");
        for (size_t i = 0; pdl_is_list(pieces) && i < pdl_list_len(pieces) && !s->cancelled; i++)
            if (e->sink.piece) e->sink.piece(e->sink.user, e, pdl_str_get(pdl_list_at(pieces, i)));
        if (!pdl_is_absent(error)) fill_error(error, e, &err);
    }
    s->busy = 0;
    if (s->cancelled) {
        pdl_err_fini(&err);
        pdl_effect_free(e);
    } else if (err.kind != PDL_E_NONE) {
        pdl_effect_refuse(e, &err);
    } else {
        pdl_vref reply = pdl_dict_getz(line, "reply");
        pdl_effect_answer(e, pdl_is_absent(reply) ? pdl_null() : pdl_keep(reply), 0);
    }
    pdl_drop(line);
}

static void start(pdl_world *w, pdl_effect *e) {
    script *s = of(w);
    pdl_val line =
        s->next < pdl_list_len(s->lines) ? pdl_keep(pdl_list_at(s->lines, s->next)) : pdl_absent();
    s->next++;
    if (s->order == 0)
        deliver(s, e, line);
    else
        *pdl_vec_push(&s->open) = (waiting){e, line};
}

static waiting take(script *s, size_t i) {
    waiting x = s->open.p[i];
    memmove(s->open.p + i, s->open.p + i + 1, (s->open.n - i - 1) * sizeof x);
    s->open.n--;
    return x;
}

static void cancel(pdl_world *w, uint32_t id) {
    script *s = of(w);
    if (s->busy && s->busy == id) s->cancelled = true;
    for (size_t i = 0; i < s->open.n; i++) {
        if (s->open.p[i].e->id != id) continue;
        waiting x = take(s, i);
        pdl_effect_free(x.e);
        pdl_drop(x.line);
        return;
    }
}

/* Delivers one answer, the oldest or the youngest. */
static bool poll(pdl_world *w, int timeout_ms) {
    script *s = of(w);
    (void)timeout_ms;
    if (!s->open.n) return false;
    waiting x = take(s, s->order == 2 ? s->open.n - 1 : 0);
    deliver(s, x.e, x.line);
    return true;
}

static void close(pdl_world *w) {
    script *s = of(w);
    for (size_t i = 0; i < s->open.n; i++) {
        pdl_effect_free(s->open.p[i].e);
        pdl_drop(s->open.p[i].line);
    }
    pdl_vec_fini(&s->open);
    pdl_drop(s->lines);
    pdl_free(s);
}

static const pdl_world_ops ops = {.start = start, .cancel = cancel, .poll = poll, .close = close};

pdl_world *script_world_new(pdl_val lines, int order) {
    script *s = PDL_NEW(script);
    s->world.ops = &ops;
    s->lines = lines;
    s->order = order;
    return &s->world;
}
