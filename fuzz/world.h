/* world.h -- a world that computes its answers from the questions. An answer depends only on the
 * canonical request. It is given at once, or later, and then the latest request is answered first.
 * The world notes its requests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_FUZZ_WORLD_H
#define PDL_FUZZ_WORLD_H

#include "fuzz.h"

#include "base/hash.h"
#include "base/vec.h"
#include "effect/effect.h"

typedef struct fuzz_world {
    pdl_world base;
    bool later;
    PDL_VEC(pdl_effect *) open;
    PDL_VEC(char *) asked; /* kind and canonical request of each effect */
} fuzz_world;

static inline fuzz_world *fuzz_world_of(pdl_world *w) { return (fuzz_world *)(void *)w; }

static inline pdl_val fuzz_model_reply(uint32_t h) {
    static const char *const contents[] = {"",
                                           "yes",
                                           "{\"a\": 1}",
                                           "[1, \"b\"]",
                                           "42",
                                           "```json\n{\"x\": [}\n```",
                                           "caf\xc3\xa9 ${ x }"};
    pdl_val text = pdl_textz(contents[h % 7]);
    pdl_val message = pdl_dict_putz(pdl_dict_putz(pdl_dict_new(2), "role", pdl_textz("assistant")),
                                    "content", pdl_keep(text));
    pdl_val choice = pdl_dict_putz(pdl_dict_putz(pdl_dict_new(2), "index", pdl_int(0)), "message",
                                   pdl_keep(message));
    pdl_val raw = pdl_dict_putz(pdl_dict_new(1), "choices", pdl_list_push(pdl_list_new(1), choice));
    pdl_val usage =
        pdl_dict_putz(pdl_dict_putz(pdl_dict_new(2), "completion_tokens", pdl_int(h % 5)),
                      "prompt_tokens", pdl_int(3));
    pdl_val r = pdl_dict_putz(pdl_dict_putz(pdl_dict_new(4), "content", text), "message", message);
    return pdl_dict_putz(pdl_dict_putz(r, "raw", raw), "usage", usage);
}

static inline pdl_val fuzz_code_reply(uint32_t h) {
    pdl_val result = h % 3 == 0   ? pdl_int(h % 10)
                     : h % 3 == 1 ? pdl_textz("made")
                                  : pdl_list_push(pdl_list_new(1), pdl_null());
    pdl_val r = pdl_dict_putz(pdl_dict_new(3), "result", result);
    return pdl_dict_putz(pdl_dict_putz(r, "rebound", pdl_dict_new(0)), "stdout", pdl_textz(""));
}

/* Returns the answer to an effect. Returns absent when the effect is refused. */
static inline pdl_val fuzz_reply(pdl_effect_kind kind, uint32_t h) {
    switch ((int)kind) {
    case PDL_EFFECT_model: return h % 11 == 0 ? pdl_absent() : fuzz_model_reply(h);
    case PDL_EFFECT_code: return h % 11 == 0 ? pdl_absent() : fuzz_code_reply(h);
    case PDL_EFFECT_command: {
        pdl_val r = pdl_dict_putz(pdl_dict_new(3), "stdout", pdl_textz("out\n"));
        return pdl_dict_putz(pdl_dict_putz(r, "stderr", pdl_textz("")), "status",
                             pdl_int(h % 7 == 0));
    }
    case PDL_EFFECT_read: return h % 5 == 0 ? pdl_absent() : pdl_textz("text of a file\n");
    case PDL_EFFECT_source: return h % 3 ? pdl_null() : pdl_textz("defs: {v: 1}\ndata: 2\n");
    case PDL_EFFECT_input: return h % 4 ? pdl_textz("a line") : pdl_null();
    case PDL_EFFECT_write:
    case PDL_EFFECT_sleep: return pdl_null();
    case PDL_EFFECT_now: return pdl_float(1.5);
    case PDL_EFFECT_random: return pdl_int(7);
    default: return pdl_absent();
    }
}

static inline void fuzz_answer(pdl_effect *e) {
    pdl_buf asked = PDL_BUF;
    pdl_err err = {0};
    bool ok = pdl_effect_canonical(e->kind, e->request, NULL, &asked, &err);
    pdl_err_fini(&err);
    pdl_val v = ok ? fuzz_reply(e->kind, pdl_hash_str(pdl_buf_str(&asked))) : pdl_absent();
    pdl_buf_fini(&asked);
    if (pdl_is_absent(v)) {
        pdl_err no = {0};
        pdl_err_set(&no, PDL_E_runtime, e->loc, "the world refuses: %s",
                    pdl_effect_kind_name(e->kind));
        pdl_effect_refuse(e, &no);
    } else {
        pdl_effect_answer(e, v, 0);
    }
}

static inline void fuzz_world_start(pdl_world *base, pdl_effect *e) {
    fuzz_world *w = fuzz_world_of(base);
    pdl_buf note = PDL_BUF;
    pdl_err err = {0};
    PDL_PUT(&note, "");
    pdl_buf_putf(&note, "%s ", pdl_effect_kind_name(e->kind));
    if (!pdl_effect_canonical(e->kind, e->request, NULL, &note, &err)) pdl_err_fini(&err);
    *pdl_vec_push(&w->asked) = pdl_str_dup(pdl_buf_str(&note));
    pdl_buf_fini(&note);
    if (w->later)
        *pdl_vec_push(&w->open) = e;
    else
        fuzz_answer(e);
}

static inline void fuzz_world_cancel(pdl_world *base, uint32_t id) {
    fuzz_world *w = fuzz_world_of(base);
    for (size_t i = 0; i < w->open.n; i++) {
        if (w->open.p[i]->id != id) continue;
        pdl_effect_free(w->open.p[i]);
        memmove(w->open.p + i, w->open.p + i + 1, (w->open.n - i - 1) * sizeof *w->open.p);
        w->open.n--;
        return;
    }
}

static inline bool fuzz_world_poll(pdl_world *base, int timeout_ms) {
    fuzz_world *w = fuzz_world_of(base);
    (void)timeout_ms;
    if (!w->open.n) return false;
    fuzz_answer(w->open.p[--w->open.n]);
    return true;
}

static inline void fuzz_world_close(pdl_world *base) { (void)base; }

static const pdl_world_ops fuzz_world_ops = {.start = fuzz_world_start,
                                             .cancel = fuzz_world_cancel,
                                             .poll = fuzz_world_poll,
                                             .close = fuzz_world_close};

static inline int fuzz_by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Appends the requests, sorted by their texts. */
static inline void fuzz_world_asked(fuzz_world *w, pdl_buf *out) {
    if (w->asked.n) qsort(w->asked.p, w->asked.n, sizeof *w->asked.p, fuzz_by_text);
    for (size_t i = 0; i < w->asked.n; i++) {
        pdl_buf_put(out, pdl_str_of(w->asked.p[i]));
        pdl_buf_putc(out, '\n');
    }
}

static inline void fuzz_world_fini(fuzz_world *w) {
    for (size_t i = 0; i < w->open.n; i++) pdl_effect_free(w->open.p[i]);
    for (size_t i = 0; i < w->asked.n; i++) pdl_free(w->asked.p[i]);
    pdl_vec_fini(&w->open);
    pdl_vec_fini(&w->asked);
}

#endif
