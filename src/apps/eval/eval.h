/* eval.h -- measures a program on a table of questions with answers.
 *
 * An evaluation is two batches. First the program is run for each row, several times with
 * `samples`. Then each answer is scored by a metric of the pattern library (lib/eval), or by a
 * judge program, which is run for each row as well. So rates, budgets, the number of rows in flight
 * and the handling of failed rows are the same as for batches. A row that fails counts as wrong.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_EVAL_EVAL_H
#define PDL_EVAL_EVAL_H

#include "batch/batch.h"
#include "infer/infer.h"

/* The options of an evaluation. Borrowed for the call. */
typedef struct pdl_eval_options {
    /* the files of the programs; against is empty when there is no second program */
    pdl_str program, against;
    pdl_table data;
    /* the column with the right answers; when it is empty, a judge decides alone */
    pdl_str expect;
    /* file of a program that judges answers; when it is empty, the metric decides */
    pdl_str judge;
    pdl_str metric;         /* one of exact, numeric and contains */
    uint64_t samples, pass; /* both are 1 when not given */
    /* Each row is an inference with these options, and its answer is the most probable value. When
     * it is NULL, each row is one run. `samples` must be 1. The evaluation sets its program,
     * variables and session. */
    const pdl_infer_options *infer;
    /* needs `against`: rows are run in random order until it is certain which program is better */
    bool until_decided;
    /* a number below 1; a smaller difference counts as equal; with 0 every difference counts */
    double difference;
    uint64_t seed;  /* shuffles the rows */
    uint64_t limit; /* the maximum number of rows; 0 means all rows */
    pdl_str output; /* the JSONL file that gets all rows with their scores; may be empty */
    pdl_str junit;  /* the name of a file; may be empty */
    const pdl_batch_map *map;
    size_t n_map;
    uint32_t jobs;
    bool types;
    pdl_vref variables; /* dict or absent */
    const char *giver;  /* the option that gave the variables, for messages */
    /* Options of the sessions: cache, time limits, prices, rates. The evaluation sets the members
     * file, dir and variables. */
    pdl_session_options session;
    const double *budget; /* budget that all programs and the judge share; may be NULL */
    /* note and tick are called like those of pdl_batch_options, in each run over the table. */
    void (*note)(void *user, const char *text); /* warnings of inferences; may be NULL */
    void (*tick)(void *user, const pdl_batch_totals *t);
    uint32_t tick_ms;
    void *user;
} pdl_eval_options;

/* Runs the evaluation. *out is the result, an owned dict (docs/manual/evaluation.md). After an
 * error, *out is absent, unless the only error was that a file of results could not be written.
 * Errors: those of pdl_batch_run; usage, before anything is sent; io. */
PDL_MUST bool pdl_eval_run(const pdl_eval_options *o, pdl_val *out, pdl_err *err);
/* Appends the result as a table for people. */
void pdl_eval_put_table(pdl_vref result, pdl_buf *out);

#endif
