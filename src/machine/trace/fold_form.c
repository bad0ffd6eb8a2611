/* fold_form.c -- see fold_form.h.
 *
 * Most of the JSON of a block is the same for all its executions: its kind, its fields as written,
 * the defaults. Making a tree of values for each execution, searching the tree for secrets and
 * writing it took nine tenths of the time of a run with a trace. So a block that is executed a
 * second time gets a form: that text, with slots where an execution differs. A form is made by the
 * dump that also makes the tree (lang/dump.h). The dump asks its view for each value and each
 * child; while a form is made, the view notes these questions and answers them with slots. Later
 * executions answer the same questions in the same order, and their answers are written between the
 * pieces of text.
 *
 * The text of a dump depends on which of the answers are missing or null. So a block has a form for
 * each such combination that was seen lately; an execution with another combination makes one more.
 * This is right only as long as a dump asks the same questions for all executions of a block. A
 * dump may only place an answer in the text, or leave out an answer that is missing or null. Other
 * nodes are written without a form (has_form in fold_write.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "trace/fold_form.h"

#include <assert.h>
#include <string.h>

#include "value/json_write.h"

#include "base/banned.h"

/* maximum number of forms for a block; an `if` has two */
enum { MAX_FORMS = 4 };
/* nodes that are deeper than this are written without a form */
enum { FORM_LEVEL = PDL_MAX_JSON_DEPTH / 2 };

/* The place in a form for one answer. */
typedef struct form_slot {
    size_t end; /* end of the text before the slot */
    size_t answer;
    unsigned depth; /* number of containers of the block that are around the slot */
} form_slot;

/* The state of an answer: missing, null, or any other value. */
typedef enum { ANSWER_ABSENT, ANSWER_NULL, ANSWER_VALUE } presence;
typedef struct form_answer {
    const char *key;
    presence is;
} form_answer;

typedef struct fold_form {
    pdl_buf text;
    PDL_VEC(form_slot) slots;
    PDL_VEC(form_answer) shape;
} fold_form;

/* The forms of a block that was executed. */
typedef struct fold_forms {
    fold_questions questions; /* empty when no form was made */
    fold_form form[MAX_FORMS];
    size_t n, oldest;
    fold_answers answers; /* the answers of the execution that is being written */
    bool none;            /* no form can be made for the block: its text is too long or too deep */
} fold_forms;

static void form_fini(fold_form *m) {
    pdl_buf_fini(&m->text);
    pdl_vec_fini(&m->slots);
    pdl_vec_fini(&m->shape);
    *m = (fold_form){.text = PDL_BUF};
}

void pdl_fold_forms_free(pdl_fold *f) {
    for (size_t i = 0; i < pdl_idmap_places(&f->forms); i++) {
        fold_forms *all = pdl_idmap_at(&f->forms, i);
        if (!all) continue;
        for (size_t k = 0; k < all->n; k++) form_fini(&all->form[k]);
        pdl_vec_fini(&all->questions);
        pdl_vec_fini(&all->answers.list);
        pdl_free(all);
    }
    pdl_idmap_fini(&f->forms);
}

/* --- questions and answers -------------------------------------------------------------------- */

void pdl_fold_note_question(const fold_answers *a, fold_question q) {
    if (a && a->questions) *pdl_vec_push(a->questions) = q;
}

pdl_val pdl_fold_answer(fold_answers *a, const char *key, pdl_val v) {
    if (!a) return v;
    *pdl_vec_push(&a->list) = (fold_answer){key, v};
    if (!a->questions) return pdl_absent();
    return pdl_is_absent(v) || pdl_is_null(v) ? v : pdl_fold_hole_slot(a->list.n - 1);
}

pdl_val pdl_fold_add_entry(fold_answers *a, pdl_val dict, const char *key, pdl_val v) {
    if (pdl_is_absent(v)) return dict;
    v = pdl_fold_answer(a, key, v);
    return a && !a->questions ? dict : pdl_dict_putz(dict, key, v);
}

static presence presence_of(pdl_vref v) {
    if (pdl_is_absent(v)) return ANSWER_ABSENT;
    return pdl_is_null(v) ? ANSWER_NULL : ANSWER_VALUE;
}

static bool fits(const fold_form *m, const fold_answers *a) {
    if (m->shape.n != a->list.n) return false;
    for (size_t i = 0; i < a->list.n; i++)
        if (m->shape.p[i].key != a->list.p[i].key ||
            m->shape.p[i].is != presence_of(a->list.p[i].value))
            return false;
    return true;
}

static void clear_answers(fold_answers *a) {
    for (size_t i = 0; i < a->list.n; i++) pdl_drop(a->list.p[i].value);
    a->list.n = 0;
}

/* Returns true when a redaction covers an answer. The label of a container covers its parts, so a
 * redaction must see the whole tree. */
static bool any_redacted(const pdl_fold *f, const fold_answers *a) {
    for (size_t i = 0; f->redaction && i < a->list.n; i++)
        if (pdl_redaction_covers(f->redaction, pdl_label_of(a->list.p[i].value))) return true;
    return false;
}

/* --- making ----------------------------------------------------------------------------------- */

/* Called for each value that JSON cannot express, such as a slot. */
static bool put_slot(void *user, pdl_vref v, unsigned depth, pdl_buf *out) {
    fold_form *m = user;
    size_t answer;
    if (!pdl_fold_is_slot(v, &answer)) return pdl_fold_put_hole(NULL, v, depth, out);
    *pdl_vec_push(&m->slots) = (form_slot){out->len, answer, depth - FORM_LEVEL};
    return true;
}

/* Called after PDL_BUF_CHECK_EVERY bytes. A form of that length saves no time. */
static bool refuse_long(void *user, pdl_buf *out, pdl_err *err) {
    (void)user;
    (void)out;
    return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "the text of a block is too long");
}

static bool make_text(const pdl_fold *f, pdl_val tree, fold_form *m) {
    pdl_json_part part = {.flags = PDL_FOLD_JSON_FLAGS & ~PDL_JSON_CUT,
                          .depth = FORM_LEVEL,
                          .other = put_slot,
                          .room = refuse_long,
                          .user = m};
    pdl_err err = {0};
    tree = pdl_redact_val(f->secrets, tree);
    bool ok = !pdl_is_walk_cancelled() && pdl_json_write_part(tree, &part, &m->text, &err);
    pdl_err_fini(&err);
    pdl_drop(tree);
    return ok;
}

/* Makes a form for this execution, whose answers are noted. Returns NULL when no form
 * can be made. */
static fold_form *form_made(const pdl_fold *f, fold_forms *all, const fold_form_calls *calls,
                            fold_answers *a) {
    fold_form m = {.text = PDL_BUF};
    clear_answers(a);
    all->questions.n = 0;
    a->questions = &all->questions;
    pdl_val tree = calls->dump(calls->user, a);
    a->questions = NULL;
    if (!make_text(f, tree, &m)) {
        form_fini(&m);
        all->none = true;
        return NULL;
    }
    for (size_t i = 0; i < a->list.n; i++)
        *pdl_vec_push(&m.shape) = (form_answer){a->list.p[i].key, presence_of(a->list.p[i].value)};
    size_t to = all->n < MAX_FORMS ? all->n++ : all->oldest++ % MAX_FORMS;
    form_fini(&all->form[to]);
    all->form[to] = m;
    return &all->form[to];
}

/* Notes the answers of this execution in a. Returns the form that fits them; NULL when no form can
 * be made. */
static const fold_form *form_for(const pdl_fold *f, fold_forms *all, const fold_form_calls *calls,
                                 fold_answers *a) {
    for (size_t i = 0; i < all->questions.n; i++) calls->ask(calls->user, &all->questions.p[i], a);
    for (size_t i = 0; i < all->n; i++)
        if (fits(&all->form[i], a)) return &all->form[i];
    return form_made(f, all, calls, a);
}

/* --- filling ---------------------------------------------------------------------------------- */

/* Writes an answer, which it takes. */
static bool put_answer(pdl_fold *f, fold_answer *a, unsigned level, pdl_buf *out) {
    pdl_val v = a->value;
    a->value = pdl_absent();
    if (!pdl_is_int(v)) v = pdl_redact_val(f->secrets, v);
    bool ok = pdl_fold_put_node(f, v, level, out);
    pdl_drop(v);
    return ok;
}

enum { USUAL_ANSWER = 24 }; /* bytes */

static bool fill_form(pdl_fold *f, const fold_node *n, const fold_form *m, fold_answers *a,
                      pdl_buf *out) {
    pdl_str text = pdl_buf_str(&m->text);
    size_t at = 0;
    (void)pdl_buf_room(out, text.n + m->slots.n * USUAL_ANSWER);
    for (size_t i = 0; i < m->slots.n; i++) {
        const form_slot *s = &m->slots.p[i];
        assert(s->answer < a->list.n);
        pdl_buf_put(out, pdl_str_sub(text, at, s->end));
        at = s->end;
        if (!put_answer(f, &a->list.p[s->answer], n->level + s->depth, out)) return false;
    }
    pdl_buf_put(out, pdl_str_sub(text, at, text.n));
    return pdl_check_walk(&f->err);
}

bool pdl_fold_form_put(pdl_fold *f, const fold_node *n, const fold_form_calls *calls,
                       pdl_buf *out) {
    fold_forms *all = pdl_idmap_find(&f->forms, (uintptr_t)n->block);
    if (!all) { /* at the first execution a form costs more than it saves */
        all = PDL_NEW(fold_forms);
        pdl_idmap_put(&f->forms, (uintptr_t)n->block, all);
        return false;
    }
    if (all->none || n->level > FORM_LEVEL) return false;
    fold_answers *a = &all->answers;
    const fold_form *m = form_for(f, all, calls, a);
    bool ok = m && !any_redacted(f, a) && fill_form(f, n, m, a, out);
    if (!ok) pdl_buf_clear(out);
    clear_answers(a);
    return ok;
}
