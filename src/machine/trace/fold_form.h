/* fold_form.h -- the unchanging text of a block that is executed again and again. Private to trace.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_TRACE_FOLD_FORM_H
#define PDL_TRACE_FOLD_FORM_H

#include "lang/dump.h"
#include "trace/fold_tree.h"

/* A question that the dump of a block asks its view: which value, child or entry is at a place. */
typedef struct fold_question {
    enum { FOLD_ASKS_VALUE, FOLD_ASKS_CHILD, FOLD_ASKS_ENTRIES } what;
    pdl_dump_place place;   /* set when the question is about entries */
    uint32_t index;         /* set when the question is about a value or a child */
    const char *key;        /* set for a value or a child */
    const pdl_block *child; /* set for a child */
} fold_question;

/* The answer of one execution. */
typedef struct fold_answer {
    const char *key; /* key of an entry that is added; NULL when this is the answer to a question */
    pdl_val value;   /* owned; may be absent or null */
} fold_answer;

/* The answers of one execution, in order. When `questions` is set, a form is being made: the dump
 * gets slots in place of values, and its questions are noted. When it is NULL, a form is being
 * filled and no dump is made. */
typedef PDL_VEC(fold_question) fold_questions;
typedef struct fold_answers {
    PDL_VEC(fold_answer) list;
    fold_questions *questions; /* NULL while a form is being filled */
} fold_answers;

/* Notes a question while a form is made. a may be NULL, here and below. */
void pdl_fold_note_question(const fold_answers *a, fold_question q);
/* Notes v as an answer, and returns the value that the dump gets in its place. Returns v when a is
 * NULL. */
pdl_val pdl_fold_answer(fold_answers *a, const char *key, pdl_val v);
/* Notes v as pdl_fold_answer does, unless v is absent. Returns dict, to which the entry was added
 * unless a form is being filled. */
pdl_val pdl_fold_add_entry(fold_answers *a, pdl_val dict, const char *key, pdl_val v);

/* Functions of the caller. `ask` answers a question for another execution of the block. `dump`
 * returns the block with the answers (owned). */
typedef struct fold_form_calls {
    void *user;
    void (*ask)(void *user, const fold_question *q, fold_answers *a);
    pdl_val (*dump)(void *user, fold_answers *a);
} fold_form_calls;

/* Appends the JSON of n with a form of its block to out, which is empty before. Returns false, with
 * out empty, when the block has no form or after an error (f->err). The node is then written
 * without a form. */
bool pdl_fold_form_put(pdl_fold *f, const fold_node *n, const fold_form_calls *calls, pdl_buf *out);
void pdl_fold_forms_free(pdl_fold *f);

#endif
