/* label.c -- walks that remove, add or redact labels of a value; see label.h.
 *
 * Values share parts. Each walk keeps its results (memo.h), so it goes through a shared part once,
 * and the new value shares its parts in the same way.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/label.h"

#include "base/cancel.h"
#include "base/limits.h"
#include "value/memo.h"

#include "base/banned.h"

const char *pdl_label_name(size_t bit) {
    static const char *const names[] = {
#define X(id, doc) #id,
        PDL_LABELS(X)
#undef X
    };
    assert(bit < PDL_LABEL_COUNT);
    return names[bit];
}

/* A walk over a value. */
typedef struct label_walk {
    /* the origins that the walk removes from values, or adds to them */
    pdl_label origins;
    const pdl_redaction *redaction; /* set in a walk that redacts; such a walk has no origins */
    pdl_steps steps;
    pdl_memo memo;
} label_walk;

/* Returns true when the walk is neither too deep nor cancelled. */
static bool may_enter(label_walk *w, unsigned depth) {
    return depth < (unsigned)PDL_MAX_VALUE_DEPTH && pdl_steps_may_continue(&w->steps);
}

static pdl_label rest_of(pdl_label l, pdl_label origins) {
    pdl_label rest = l & ~origins;
    return pdl_label_origins(rest) ? rest : 0;
}

static pdl_val without(label_walk *w, pdl_vref v, unsigned depth);

/* Makes a list or tuple of the items of v, each without the origins. */
static pdl_val list_without(label_walk *w, pdl_vref v, unsigned depth) {
    size_t n = pdl_list_len(v);
    pdl_val out = pdl_list_new(n);
    for (size_t i = 0; i < n; i++)
        out = pdl_list_push(out, without(w, pdl_list_at(v, i), depth + 1));
    return pdl_is(v, PDL_V_TUPLE) ? pdl_list_as_tuple(out) : out;
}

static pdl_val dict_without(label_walk *w, pdl_vref v, unsigned depth) {
    pdl_val out = pdl_dict_new(pdl_dict_len(v));
    for (size_t i = 0, n = pdl_dict_len(v); i < n; i++) {
        pdl_vref key = pdl_dict_key_at(v, i);
        pdl_val kept = pdl_relabelled(pdl_keep(key), rest_of(pdl_label_of(key), w->origins));
        out = pdl_dict_put_known(out, kept, without(w, pdl_dict_val_at(v, i), depth + 1));
    }
    return out;
}

/* Removes labels. A part below the maximum depth of values keeps its origins. So does a part that a
 * cancelled walk has not reached. */
static pdl_val without(label_walk *w, pdl_vref v, unsigned depth) {
    if (!(pdl_label_of(v) & w->origins) || !may_enter(w, depth)) return pdl_keep(v);
    bool list = pdl_is_list(v) || pdl_is(v, PDL_V_TUPLE),
         dict = pdl_is_dict(v) && !(pdl_flags_of(v) & PDL_F_MODULE);
    if (!list && !dict) return pdl_relabelled(pdl_keep(v), rest_of(pdl_label_of(v), w->origins));
    pdl_vref known;
    if (pdl_memo_find(&w->memo, v, 0, &known)) return pdl_keep(known);
    pdl_val out = list ? list_without(w, v, depth) : dict_without(w, v, depth);
    out = pdl_with_label(out, rest_of(pdl_label_of_part(v), w->origins));
    pdl_memo_put(&w->memo, v, 0, out);
    return out;
}

pdl_val pdl_without_labels(pdl_val v, pdl_label origins) {
    label_walk w = {.origins = origins};
    pdl_val out = without(&w, v, 0);
    pdl_memo_fini(&w.memo);
    pdl_drop(v);
    return out;
}

/* --- origins of what comes from outside --- */

static pdl_val given(label_walk *w, pdl_vref v, unsigned depth);

static pdl_val given_list(label_walk *w, pdl_vref v, unsigned depth) {
    size_t n = pdl_list_len(v);
    pdl_val out = pdl_list_new(n);
    for (size_t i = 0; i < n; i++) out = pdl_list_push(out, given(w, pdl_list_at(v, i), depth + 1));
    return pdl_is(v, PDL_V_TUPLE) ? pdl_list_as_tuple(out) : out;
}

static pdl_val given_dict(label_walk *w, pdl_vref v, unsigned depth) {
    pdl_val out = pdl_dict_new(pdl_dict_len(v));
    for (size_t i = 0, n = pdl_dict_len(v); i < n; i++)
        out = pdl_dict_put_known(out, given(w, pdl_dict_key_at(v, i), depth + 1),
                                 given(w, pdl_dict_val_at(v, i), depth + 1));
    return out;
}

/* Adds labels. Only a container that was made of labelled parts has parts with separate origins. */
static pdl_val given(label_walk *w, pdl_vref v, unsigned depth) {
    pdl_label own = pdl_label_of(v), kept = pdl_label_elsewhere(own);
    bool list = pdl_is_list(v) || pdl_is(v, PDL_V_TUPLE),
         dict = pdl_is_dict(v) && !(pdl_flags_of(v) & PDL_F_MODULE),
         parts = (list || dict) && pdl_flags_of(v) & PDL_F_PARTS;
    if (!pdl_label_origins(own) || (parts && !may_enter(w, depth)))
        return pdl_with_label(pdl_keep(v), w->origins);
    if (!parts) return kept == own ? pdl_keep(v) : pdl_relabelled(pdl_keep(v), kept);
    pdl_vref known;
    if (pdl_memo_find(&w->memo, v, 0, &known)) return pdl_keep(known);
    pdl_val out = list ? given_list(w, v, depth) : given_dict(w, v, depth);
    pdl_memo_put(&w->memo, v, 0, out);
    return out;
}

pdl_val pdl_with_origin(pdl_val v, pdl_label origin) {
    label_walk w = {.origins = origin};
    pdl_val out = given(&w, v, 0);
    pdl_memo_fini(&w.memo);
    pdl_drop(v);
    return out;
}

/* --- redaction -------------------------------------------------------------------------------- */

void pdl_redaction_put(const pdl_redaction *m, pdl_label l, pdl_buf *out) {
    pdl_buf_putc(out, '[');
    m->name(m->user, m->labels & l, out);
    pdl_buf_putc(out, ']');
}

static pdl_val redacted_text(const pdl_redaction *m, pdl_label l) {
    pdl_buf b = PDL_BUF;
    pdl_redaction_put(m, l, &b);
    return pdl_text_of_buf(&b);
}

static pdl_val redacted(label_walk *w, pdl_vref v, unsigned depth);

static pdl_val redacted_list(label_walk *w, pdl_vref v, unsigned depth) {
    size_t n = pdl_list_len(v);
    pdl_val out = pdl_list_new(n);
    for (size_t i = 0; i < n; i++)
        out = pdl_list_push(out, redacted(w, pdl_list_at(v, i), depth + 1));
    return out;
}

static pdl_val redacted_dict(label_walk *w, pdl_vref v, unsigned depth) {
    size_t n = pdl_dict_len(v);
    pdl_val out = pdl_dict_new(n);
    for (size_t i = 0; i < n; i++) {
        pdl_val key = redacted(w, pdl_dict_key_at(v, i), depth + 1);
        out = pdl_dict_put_known(out, key, redacted(w, pdl_dict_val_at(v, i), depth + 1));
    }
    return out;
}

/* Redacts parts. A part below the maximum depth of values is redacted as a whole. So is a part that
 * a cancelled walk has not reached. */
static pdl_val redacted(label_walk *w, pdl_vref v, unsigned depth) {
    pdl_label label = pdl_label_of(v);
    if (!pdl_redaction_covers(w->redaction, label)) return pdl_keep(v);
    bool list = pdl_is_list(v), dict = pdl_is_dict(v);
    bool whole = pdl_redaction_covers(w->redaction, pdl_label_of_part(v)) || !may_enter(w, depth);
    if (whole || !(list || dict)) return redacted_text(w->redaction, label);
    pdl_vref known;
    if (pdl_memo_find(&w->memo, v, 0, &known)) return pdl_keep(known);
    pdl_val out = list ? redacted_list(w, v, depth) : redacted_dict(w, v, depth);
    pdl_memo_put(&w->memo, v, 0, out);
    return out;
}

pdl_val pdl_redact_labelled(const pdl_redaction *m, pdl_val v) {
    if (!pdl_redaction_covers(m, pdl_label_of(v))) return v;
    label_walk w = {.redaction = m};
    pdl_val out = redacted(&w, v, 0);
    pdl_memo_fini(&w.memo);
    pdl_drop(v);
    return out;
}

static pdl_val blank(label_walk *w, pdl_label l, pdl_vref v, unsigned depth) {
    if (pdl_is_null(v) || pdl_is_absent(v)) return pdl_keep(v);
    if (pdl_is_bool(v)) return pdl_bool(false);
    if (pdl_is_int(v)) return pdl_int(0);
    if (pdl_is(v, PDL_V_FLOAT)) return pdl_float(0);
    if (pdl_is_list(v)) return pdl_list_new(0);
    if (!pdl_is_dict(v) || !may_enter(w, depth)) return redacted_text(w->redaction, l);
    pdl_vref known;
    if (pdl_memo_find(&w->memo, v, 0, &known)) return pdl_keep(known);
    pdl_val out = pdl_dict_new(pdl_dict_len(v));
    for (size_t i = 0, n = pdl_dict_len(v); i < n; i++)
        out = pdl_dict_put_known(out, pdl_keep(pdl_dict_key_at(v, i)),
                                 blank(w, l, pdl_dict_val_at(v, i), depth + 1));
    pdl_memo_put(&w->memo, v, 0, out);
    return out;
}

pdl_val pdl_redact_leaves(const pdl_redaction *m, pdl_label l, pdl_val v) {
    label_walk w = {.redaction = m};
    pdl_val out = blank(&w, l, v, 0);
    pdl_memo_fini(&w.memo);
    pdl_drop(v);
    return out;
}
