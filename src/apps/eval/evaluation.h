/* evaluation.h -- an evaluation in flight: eval.c gathers it, and eval_result.c reports it. Private
 * to eval.
 *
 * Answers are numbered over the order in which rows are asked: answer i is sample i % samples of
 * row order[i / samples]. Without --until all rows are one wave, in the order of the table.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_EVAL_EVALUATION_H
#define PDL_EVAL_EVALUATION_H

#include "base/vec.h"
#include "effect/budget.h"
#include "eval/eval.h"
#include "eval/junit.h"
#include "eval/verdict.h"

/* An answer whose judge failed. error and place are owned; place is NULL when it is unknown. */
typedef struct eval_fault {
    size_t answer;
    char *error, *place;
} eval_fault;

/* The answers of one program: a score for each row and sample, negative for a failed answer. */
typedef struct eval_scores {
    PDL_VEC(double) of;
    uint64_t failed;
    PDL_VEC(eval_fault) faults; /* in the order of the answers */
    PDL_VEC(char *) feedback;   /* an item for each answer, which is owned or NULL */
    char *first;     /* place and reason of the first failed answer; owned; NULL when none failed */
    pdl_batch_totals totals; /* only the use is filled */
} eval_scores;

typedef struct evaluation {
    const pdl_eval_options *o;
    char *folder; /* holds the tables of the evaluation; owned; NULL before it exists */
    PDL_VEC(char *) rows;   /* the data as JSON, one for each row; owned */
    PDL_VEC(size_t) order;  /* the rows in the order in which they are asked */
    size_t from, n;         /* the wave that is asked now: n rows of the order, beginning here */
    size_t done;            /* number of rows of the order that have all their scores */
    size_t decided;         /* number of rows of the order that the verdict needed */
    bool spent;             /* the budget ended it before the verdict */
    pdl_eval_verdict verdict;
    eval_scores of[2];
    pdl_junit junit;
    pdl_buf lines;      /* --output gets them */
    pdl_budget *budget; /* programs and judge share it; NULL: none */
} evaluation;

/* The score from which on an answer counts as right. */
enum { PDL_EVAL_RIGHT_PERCENT = 50 };
static inline bool pdl_eval_is_right(double score) { return score * 100 >= PDL_EVAL_RIGHT_PERCENT; }
static inline pdl_val pdl_eval_text_or_null(const char *s) {
    return s ? pdl_text(pdl_str_of(s)) : pdl_null();
}
/* Returns the difference of the mean scores that the two programs got for a row of the order. */
double pdl_eval_difference(const evaluation *e, size_t at);
/* Returns the result, an owned dict. */
pdl_val pdl_eval_result(const evaluation *e);

#endif
