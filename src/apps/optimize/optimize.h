/* optimize.h -- searches the texts and parameters of a program for those that score best on a
 * table.
 *
 * Rows are split into three parts. A method, which is a program of the pattern library
 * (lib/optimize) or of the user, decides which candidates are evaluated on which rows for
 * validation; this room evaluates them, keeps the budget and answers the questions of the method.
 * The test rows are asked once, at the end, for the winner and for the program as it was: only a
 * winner that is certainly better there replaces it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_OPTIMIZE_OPTIMIZE_H
#define PDL_OPTIMIZE_OPTIMIZE_H

#include "batch/batch.h"

/* How far a search is. */
typedef struct pdl_optimize_progress {
    uint64_t evaluations; /* one is that of a candidate on a row */
    uint64_t candidates;  /* only those that are not out yet count */
    double best, low, high;           /* best mean score and its interval; low > high: unknown */
    int64_t calls;
    double cost, seconds;
    double left; /* seconds that the rest takes at most, at this speed; negative: unknown */
} pdl_optimize_progress;

/* The options of a search. Borrowed for the call. */
typedef struct pdl_optimize_options {
    pdl_str program; /* a file */
    pdl_table data;
    pdl_str expect; /* column of the right answers; empty: none, a judge then decides alone */
    pdl_str judge;  /* file of a program; empty: the metric */
    pdl_str metric; /* exact, numeric or contains */
    const pdl_batch_map *map;
    size_t n_map;
    bool types;
    pdl_vref variables; /* dict or absent */
    pdl_vref space;     /* dict from names and places to lists of values, or absent */
    const pdl_str *tuned; /* places whose values only the file of candidates gives */
    size_t n_tuned;
    const pdl_str *required; /* words that every text for such a place keeps */
    size_t n_required;
    pdl_str demos;      /* the variable that gets demonstrations; empty: none */
    pdl_str objective;  /* names with commas: `score` and what should be low; empty: the score */
    pdl_str at_most;    /* NAME=N with commas: limits of the mean of a row; empty: none */
    pdl_str kept;       /* rows that must not get worse: their numbers, or a table; empty: none */
    pdl_str candidates; /* JSONL with the candidates; empty: they are drawn */
    pdl_str method;     /* a method of lib/optimize, or a file with one */
    pdl_str proposer;   /* the model that writes texts; empty: that of the program */
    size_t proposals;   /* how many it may write; 0: as many as the budget allows */
    bool yes;           /* the search is made also when the budget allows very few */
    uint64_t seed;
    pdl_str output;      /* file of the program that was found */
    pdl_str experiments; /* folder of the records of searches */
    bool dry_run, diff;  /* nothing is asked; the program is shown and not written */
    /* a search that the reference's configuration describes; NULL: it is another one */
    const struct pdl_optimize_reference *reference;
    pdl_str command_text; /* JSON of its command, with which it is durable; empty: it is not */
    pdl_str continued;    /* the folder of the durable search that continues; empty: none does */
    void (*begun)(void *user, pdl_str folder); /* a durable search has this folder; may be NULL */
    pdl_str config_text; /* the configuration that is kept with it; empty: it is made */
    uint32_t jobs;
    pdl_session_options session; /* its members have the same meaning as in pdl_eval_options */
    const double *budget;        /* candidates and the judge share it; NULL: none */
    void (*answered)(void *user, pdl_str text); /* gets each answer of a candidate; may be NULL */
    void (*note)(void *user, const char *text); /* messages for the user; may be NULL */
    void (*tick)(void *user, const pdl_optimize_progress *p);
    uint32_t tick_ms;
    void *user;
} pdl_optimize_options;

/* Runs the search; *out is its result, a dict (owned): docs/manual/optimize.md. Errors: usage,
 * before anything is sent; io; those of the method. */
PDL_MUST bool pdl_optimize_run(const pdl_optimize_options *o, pdl_val *out, pdl_err *err);
/* Appends the result as Markdown, which people read in a terminal, too. */
void pdl_optimize_put_report(pdl_vref result, pdl_buf *out);

#endif
