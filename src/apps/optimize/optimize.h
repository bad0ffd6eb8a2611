/* optimize.h -- searches the texts and parameters of a program for those that score best on a
 * table.
 *
 * Rows are split into three parts. A method decides which candidates are evaluated on which rows
 * for validation. The method is a program of the pattern library (lib/optimize) or of the user.
 * This code evaluates the candidates, keeps to the budget and answers the requests of the method.
 * The rows for the test are used once, at the end, for the winner and for the original program.
 * Only a winner that is certainly better there replaces the original.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_OPTIMIZE_OPTIMIZE_H
#define PDL_OPTIMIZE_OPTIMIZE_H

#include "batch/batch.h"

/* The progress of a search. */
typedef struct pdl_optimize_progress {
    uint64_t evaluations; /* an evaluation is one candidate on one row */
    uint64_t candidates;  /* number of candidates in the present evaluation */
    /* the best mean score, and its interval; low > high when it is unknown */
    double best, low, high;
    int64_t calls;
    double cost, seconds;
    /* maximum number of seconds that remain, at the present speed; negative when it is unknown */
    double left;
} pdl_optimize_progress;

/* The options of a search. Borrowed for the call. */
typedef struct pdl_optimize_options {
    pdl_str program; /* the file of the program */
    pdl_table data;
    /* the column with the right answers; when it is empty, a judge decides alone */
    pdl_str expect;
    /* file of a program that judges answers; when it is empty, the metric decides */
    pdl_str judge;
    pdl_str metric; /* one of exact, numeric and contains */
    const pdl_batch_map *map;
    size_t n_map;
    bool types;
    pdl_vref variables; /* dict or absent */
    const char *giver;  /* the option that gave the variables, for messages */
    /* dict from names and places to the lists of values that are tried, or absent */
    pdl_vref space;
    const pdl_str *tuned; /* places whose texts come from the file of candidates or from a model */
    size_t n_tuned;
    const pdl_str *required; /* words that every text for such a place must contain */
    size_t n_required;
    pdl_str demos; /* the variable that gets demonstrations; may be empty */
    /* names separated by commas: `score`, and uses that should be low; when it is empty, the score
     * alone counts */
    pdl_str objective;
    /* NAME=N separated by commas: limits of the mean use of a row; may be empty */
    pdl_str at_most;
    /* rows that must not get worse: their numbers, or a table; may be empty */
    pdl_str kept;
    pdl_str candidates; /* JSONL file with the candidates; when it is empty, they are drawn */
    pdl_str method;     /* a method of lib/optimize, or a file with one */
    /* the model that proposes texts; when it is empty, the model of the program */
    pdl_str proposer;
    /* the maximum number of texts that the method proposes; 0 means as many as the budget allows */
    size_t proposals;
    bool yes; /* the search is run even when the budget allows very few proposals */
    uint64_t seed;
    pdl_str output;      /* file for the program that was found */
    pdl_str experiments; /* folder for the records of searches */
    /* With dry_run, no request is sent. With diff, the program is shown and not written. */
    bool dry_run, diff;
    /* set when the reference's configuration describes the search; may be NULL */
    const struct pdl_optimize_reference *reference;
    /* the command of the search as JSON, by which it can be resumed; empty when the search is not
     * durable */
    pdl_str command_text;
    /* the folder of the durable search that is continued; empty for a new search */
    pdl_str continued;
    /* called with the folder of the search before anything is evaluated; may be NULL */
    void (*begun)(void *user, pdl_str folder);
    /* the configuration that is stored in the folder; when it is empty, it is made from the
     * options */
    pdl_str config_text;
    uint32_t jobs;
    pdl_session_options session; /* has the same meaning as in pdl_eval_options */
    const double *budget;        /* budget that candidates and the judge share; may be NULL */
    /* receives each answer that is a text; may be NULL */
    void (*answered)(void *user, pdl_str text);
    void (*note)(void *user, const char *text); /* gets messages for the user; may be NULL */
    void (*tick)(void *user, const pdl_optimize_progress *p);
    uint32_t tick_ms;
    void *user;
} pdl_optimize_options;

/* Runs the search. *out is its result, an owned dict that docs/manual/optimize.md describes.
 * Errors: usage, before anything is sent; io; those of the method. */
PDL_MUST bool pdl_optimize_run(const pdl_optimize_options *o, pdl_val *out, pdl_err *err);
/* Appends the result as Markdown, which is also readable in a terminal. */
void pdl_optimize_put_report(pdl_vref result, pdl_buf *out);
/* Appends the count of candidates, and of the combinations that they were drawn from. */
void pdl_optimize_put_candidates(pdl_vref result, pdl_buf *out);

#endif
