/* evaluation.h -- an evaluation in progress: eval.c runs it, and eval_result.c reports it. Private
 * to eval. Answers are numbered in the order in which rows are run: answer i is sample i % samples
 * of row order[i / samples]. Without --until all rows are one wave, in the order of the table.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_EVAL_EVALUATION_H
#define PDL_EVAL_EVALUATION_H

#include <stdio.h>

#include "base/vec.h"
#include "effect/budget.h"
#include "eval/comparison.h"
#include "eval/eval.h"
#include "eval/junit.h"

/* An answer whose judge failed. error and place are owned; place is NULL when it is unknown. */
typedef struct eval_fault {
    size_t answer;
    char *error, *place;
} eval_fault;

/* With inferences: from run number `from` (counted from 1) on, the value with this score leads. */
typedef struct eval_lead {
    size_t answer;
    uint64_t from;
    double score;
} eval_lead;

/* The answers of one program: a score for each row and sample, negative for a failed answer. */
typedef struct eval_scores {
    PDL_VEC(double) of;
    uint64_t failed;
    PDL_VEC(eval_fault) faults; /* the faults, in the order of the answers */
    PDL_VEC(char *) feedback;   /* an item for each answer; each item is owned, or NULL */
    /* the place and reason of the first failed answer; owned; NULL before an answer fails */
    char *first;
    pdl_batch_totals totals; /* only the members about use are set */
    /* The next three members are set with inferences. sure: the probability of each answer, which
     * is negative for an answer that failed. leads: the leading values, in the order of answers and
     * runs. runs: the number of runs. */
    PDL_VEC(double) sure;
    PDL_VEC(eval_lead) leads;
    uint64_t runs;
} eval_scores;

typedef struct evaluation {
    const pdl_eval_options *o;
    char *folder; /* the folder of the evaluation's tables; owned; NULL before the folder exists */
    PDL_VEC(char *) rows;  /* the data as JSON, one for each row; owned */
    PDL_VEC(size_t) order; /* the rows in the order in which they are asked */
    size_t from, n;        /* the wave that is being run: n rows of `order`, from this index on */
    size_t done;           /* number of rows of the order that have all their scores */
    size_t decided;        /* number of rows of the order that the verdict needed */
    /* Set while values of inferences are scored. It has, for each answer, the number of the value
     * in its row. NULL at other times. */
    const size_t *value_of;
    bool spent; /* the budget ended the evaluation before there was a verdict */
    pdl_eval_verdict verdict;
    eval_scores of[2];
    pdl_junit junit;
    pdl_buf lines;      /* lines for --output */
    pdl_budget *budget; /* budget that programs and judge share; may be NULL */
} evaluation;

/* An answer counts as right from this score on. */
enum { PDL_EVAL_RIGHT_PERCENT = 50 };
static inline bool pdl_eval_is_right(double score) { return score * 100 >= PDL_EVAL_RIGHT_PERCENT; }
static inline pdl_val pdl_eval_text_or_null(const char *s) {
    return s ? pdl_text(pdl_str_of(s)) : pdl_null();
}
/* Returns the path of a table of the evaluation, which the caller frees. */
char *pdl_eval_path_of(const evaluation *e, const char *name);
/* These functions make, fill and finish a table of the evaluation. pdl_eval_finish returns ok, or
 * false when the table cannot be written. */
FILE *pdl_eval_create(const char *path, pdl_err *err);
PDL_MUST bool pdl_eval_put_line(FILE *f, pdl_vref v, pdl_err *err);
PDL_MUST bool pdl_eval_finish(FILE *f, bool ok, const char *path, pdl_err *err);
/* Stores the row at a position of the order, owned. */
PDL_MUST bool pdl_eval_data_row(const evaluation *e, size_t at, pdl_val *out, pdl_err *err);
/* Returns the row without the right answer, which the program must not see. Takes row. */
pdl_val pdl_eval_without_answer(const evaluation *e, pdl_val row);
/* Scores the answers of the wave; they are the rows of the table `said`. */
PDL_MUST bool pdl_eval_score_answers(const evaluation *e, eval_scores *s, const char *said,
                                     pdl_err *err);
void pdl_eval_scores_fini(eval_scores *s);
/* Runs an inference for each row of the wave, scores the values that it finds, and writes the
 * answers to the table `said`. role is the first part of the names of replies in the cache. */
PDL_MUST bool pdl_eval_infer(const evaluation *e, pdl_str program, const char *role, eval_scores *s,
                             const char *said, pdl_err *err);
/* Returns an owned dict that says how reliable the probabilities of a program's inferences are. */
pdl_val pdl_eval_inference_result(const evaluation *e, const eval_scores *s);
/* Appends the result of pdl_eval_inference_result as lines for people. */
void pdl_eval_put_inference(pdl_vref program, pdl_buf *out);
/* Returns the difference of the mean scores that the two programs got for one row of `order`. */
double pdl_eval_difference(const evaluation *e, size_t at);
/* Returns true when the invariants hold between waves: a wave is a part of `order`, which contains
 * all rows; each answer to a row that is done has a score, and each failure of a judge belongs to a
 * failed answer. */
bool pdl_evaluation_ok(const evaluation *e);
/* Returns the result, an owned dict. */
pdl_val pdl_eval_result(const evaluation *e);

#endif
