/* search.h -- a search in flight: its rows, its candidates and what is known about their scores.
 * Private to optimize.
 *
 * Rows are numbered as in the table, from 0, since the names of answers in the cache have these
 * numbers. Candidates are numbered from 0, which is the program as it was.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_OPTIMIZE_SEARCH_H
#define PDL_OPTIMIZE_SEARCH_H

#include <math.h>
#include <stdio.h>

#include "base/vec.h"
#include "effect/budget.h"
#include "optimize/configuration.h"
#include "optimize/literal.h"
#include "optimize/optimize.h"
#include "optimize/series.h"

/* The parts of the table, and the rows of --keep, which are in none of them. */
typedef enum { OPT_TRAIN, OPT_VALIDATION, OPT_TEST, OPT_PARTS, OPT_KEPT = OPT_PARTS } opt_part;
enum { OPT_ALL_PARTS = OPT_PARTS + 1 };
const char *pdl_search_part_name(opt_part p);

typedef struct opt_row {
    pdl_val columns; /* all of them; owned */
    opt_part part;
    uint64_t number; /* in its file, from 1 */
} opt_row;

/* Something that varies. */
typedef struct opt_place {
    char *name;   /* the name that the user wrote; owned */
    bool is_free; /* a variable that the program gets; else a literal of its text */
    opt_literal literal;
    pdl_val first; /* the value in the program as it was; owned */
    bool is_tuned; /* its texts keep the words of --require */
} opt_place;

/* A score that is not known yet, and that of an answer that failed. Scores of the reference's form
 * may be any other number. */
#define OPT_UNKNOWN (-INFINITY)
#define OPT_FAILED  NAN

/* The use of a run, which objectives.h compares. */
typedef enum { OPT_CALLS, OPT_TOKENS, OPT_COST, OPT_USES } opt_use_item;
typedef struct opt_use {
    float of[OPT_USES]; /* NaN: a price is unknown */
} opt_use;

typedef struct opt_candidate {
    pdl_val values;       /* dict from names of places; other places are as they were; owned */
    char *text;           /* its program; owned; NULL: the program as it was */
    pdl_program *program; /* owned */
    pdl_code *code;       /* owned; NULL until it is needed */
    pdl_val variables;    /* owned; absent until they are needed */
    float *scores;        /* one for each row of the table; owned; NULL: all are unknown */
    opt_use *uses;        /* owned; NULL when `scores` is */
    uint64_t evaluated, failed;
    bool is_out;       /* it is worse on a row of --keep */
    char *first_error; /* place and reason; owned; NULL when no answer failed */
} opt_candidate;

/* An answer to a row for training that was right, as the variable of demonstrations has it. */
typedef struct opt_demo {
    size_t candidate;
    pdl_val shown; /* owned */
} opt_demo;

/* How a candidate did on a row for training, as a method shows it to a model. */
typedef struct opt_example {
    size_t candidate, row;
    pdl_val shown; /* owned */
} opt_example;

typedef struct opt_search {
    const pdl_optimize_options *o;
    pdl_buf text; /* the program as it was, byte for byte */
    pdl_arena *arena;
    const pdl_ytree *tree;
    PDL_VEC(opt_row) rows;
    PDL_VEC(size_t) part[OPT_ALL_PARTS]; /* numbers of rows, in the order in which they are asked */
    bool reads_kept;                 /* the rows that are read now are those of --keep */
    bool has_splits;                 /* the table says which row belongs to which part */
    PDL_VEC(opt_place) places;
    PDL_VEC(opt_candidate) candidates;
    uint64_t combinations; /* number of combinations in the space; 0: the candidates are given */
    pdl_session *session, *judges;
    pdl_program *judge;
    pdl_code *judge_code;
    pdl_val judge_variables;
    pdl_budget *budget; /* NULL: none */
    bool captures;      /* right answers are kept as demonstrations, with their traces */
    PDL_VEC(opt_demo) demos;
    bool examines; /* answers are kept as examples, with their traces */
    PDL_VEC(opt_example) examples;
    char *proposer; /* the model that writes texts; owned; NULL: none does */
    pdl_program *proposing; /* asks it */
    pdl_code *proposing_code;
    size_t proposals, proposed; /* how many texts it may write, and was asked for */
    char *proposer_error;       /* the first one; owned or NULL */
    pdl_val history; /* the steps that the method lists; absent without */
    bool wanted_low[OPT_USES]; /* objectives beside the score */
    double most[OPT_USES];     /* limits of the mean row; negative: none */
    double reserved;    /* share of the budget that is left for the test */
    bool has_policy;    /* the session has the policy of the program, which candidates share */
    bool spent;
    uint64_t evaluations, answered; /* the second: answers without a score yet */
    int64_t calls, tokens;
    double cost;
    FILE *used;        /* holds the use of a durable search; NULL: none */
    uint64_t before;   /* evaluations that it made before it was killed */
    FILE *scores;      /* receives a line for each evaluation; NULL: none */
    char *folder, *id; /* the folder of the experiment; owned; NULL before it exists */
    char *cache;       /* file in it; owned; NULL: the user has named another one */
    size_t alive;      /* number of candidates of the last evaluation, for the progress */
    size_t best;       /* the one with the best mean so far */
    uint64_t begun_ns, ticked_ns;
    int64_t table_size, table_ns; /* size and time of the file; negative: the table is no file */
} opt_search;

/* standings.c. Invariants: each row is in one part at most; candidate 0 is the program as it was; a
 * candidate has scores exactly when it was evaluated, and all evaluations are those of candidates;
 * demonstrations and the best mean belong to candidates. */
bool pdl_search_ok(const opt_search *z);

/* reference_form.c. What is different in a search that the reference describes: three files of
 * rows, and candidates with demonstrations. Errors: usage. */
PDL_MUST bool pdl_search_read_sets(opt_search *z, pdl_err *err);
PDL_MUST bool pdl_search_draw_as_reference(opt_search *z, pdl_err *err);
/* Appends the program that scores an answer by the user's `score`. */
void pdl_search_put_scorer(const opt_search *z, pdl_buf *out);
/* Returns the factor by which the rows of a round grow. */
double pdl_search_growth(const opt_search *z);

/* split.c. Puts numbers into a random order. */
void pdl_search_shuffle(size_t *p, size_t n, uint64_t seed);
/* Adds a row of the table; user: the search. A function for pdl_rows_each. */
bool pdl_search_take_row(void *user, const pdl_rowset *r, const pdl_row *row, pdl_err *err);
/* Finds a row, of those from `from` on, whose question is one for the test. */
bool pdl_search_repeats_test(const opt_search *z, size_t from, size_t *row, size_t *like);
/* Reads the table and splits it. Errors: usage, io. */
PDL_MUST bool pdl_search_read_rows(opt_search *z, pdl_err *err);
/* Returns the row without the right answer and without the name of its part; owned. */
pdl_val pdl_search_question(const opt_search *z, size_t row);
/* Appends the columns that programs see. Borrowed from the row. */
void pdl_search_put_columns(const opt_search *z, size_t row, pdl_val *list);
/* Returns the right answer, null without --expect; borrowed. */
pdl_vref pdl_search_right(const opt_search *z, size_t row);

/* space.c. Finds the places and makes the candidates beside the program as it was, which is there.
 * Errors: usage. */
PDL_MUST bool pdl_search_make_candidates(opt_search *z, pdl_err *err);
/* Adds a candidate unless there is an equal one; takes values. *number: of this or the equal one.
 * Errors: usage, when a value does not fit its place. */
PDL_MUST bool pdl_search_add(opt_search *z, pdl_val values, size_t *number, pdl_err *err);

/* prepare.c. Opens sessions and checks every candidate and the judge. Errors: usage. */
PDL_MUST bool pdl_search_prepare(opt_search *z, pdl_err *err);
/* Opens the sessions again, with a cache in the folder of the search when the user names none:
 * candidates then share answers. */
PDL_MUST bool pdl_search_open(opt_search *z, pdl_err *err);
void pdl_search_close(opt_search *z);
void pdl_search_drop_last(opt_search *z); /* releases the last candidate, which was refused */
/* Loads and checks a candidate that a method has added. Error: usage. */
PDL_MUST bool pdl_search_load(opt_search *z, size_t candidate, pdl_err *err);
/* Makes the code of a candidate. */
PDL_MUST bool pdl_search_compile(opt_search *z, opt_candidate *c, pdl_err *err);
/* Estimates the use of one evaluation from some rows; sends nothing. */
typedef struct opt_estimate {
    double calls, prompt_tokens, answer_tokens, cost;
    bool is_least; /* some calls depend on answers */
    char *unpriced; /* the first model without a price; owned; NULL: there is none */
    char *model;   /* the first that the program asks; owned; NULL: none is known */
} opt_estimate;
PDL_MUST bool pdl_search_estimate(const opt_search *z, opt_estimate *out, pdl_err *err);

/* demos.c. Adds what a model was asked and said in a run to its trace, a list of {id, messages,
 * answer}. */
void pdl_demo_take_event(pdl_val *trace, const pdl_event *e);
/* Keeps an answer that was right, with its trace, as a demonstration. */
void pdl_demo_keep(opt_search *z, size_t candidate, size_t row, pdl_vref result, pdl_vref trace);

/* Returns a value with the values of JSON alone; null when it has no such form. */
pdl_val pdl_demo_plain(pdl_vref v);
/* Returns the trace without the numbers of its calls. */
pdl_val pdl_demo_trace(pdl_vref trace);

/* scoring.c. Returns where runs of this file in a session are made. */
opt_stage pdl_search_stage_of(opt_search *z, pdl_session *s, pdl_str file);
/* Adds what a run used. */
void pdl_search_count(opt_search *z, const opt_end *how);
typedef struct opt_pair {
    size_t candidate, row;
} opt_pair;
/* Evaluates candidates on rows; pairs that are known already cost nothing. Where the budget ends,
 * z->spent is set and the other pairs stay unknown. Errors: usage, when no answer could be judged;
 * those of a signal. */
PDL_MUST bool pdl_search_evaluate(opt_search *z, const opt_pair *pairs, size_t n, pdl_err *err);
/* Returns the score of a known pair, 0 for one that failed. */
double pdl_search_score(const opt_search *z, size_t candidate, size_t row);
bool pdl_search_knows(const opt_search *z, size_t candidate, size_t row);

/* standings.c. Stores the mean score of a candidate over the first n rows of a part. Returns false
 * when not all of them are known. */
bool pdl_search_mean(const opt_search *z, size_t candidate, opt_part part, size_t n, double *out);
/* Stores the interval of means that its scores there leave possible, at 95 % and at any moment. */
void pdl_search_interval(const opt_search *z, size_t candidate, opt_part part, size_t n,
                         double *low, double *high);
/* Returns the number of first rows of a part that all these candidates know. */
size_t pdl_search_common(const opt_search *z, const size_t *candidates, size_t n, opt_part part);
/* Returns true when a candidate has certainly a lower mean than another one, whenever that is
 * asked, for all `among` candidates that are compared with each other. */
bool pdl_search_is_worse(const opt_search *z, size_t candidate, size_t than, size_t among);
/* Adds the best mean score to the progress. */
void pdl_search_put_best(const opt_search *z, pdl_optimize_progress *p);

/* keep.c. Puts the rows of --keep aside. Error: usage. */
PDL_MUST bool pdl_search_read_kept(opt_search *z, pdl_err *err);
/* Compares a candidate with the original program on these rows. *out is set when the candidate is
 * worse on one of them; then it is dropped. Errors: those of an evaluation. */
PDL_MUST bool pdl_search_check_kept(opt_search *z, size_t candidate, bool *out, pdl_err *err);
void pdl_search_note_table(opt_search *z);
/* Checks that the table is the file that was noted. Error: usage. */
PDL_MUST bool pdl_search_check_table(const opt_search *z, pdl_err *err);

/* method.c. Runs the method. *winner: the candidate that it chose; *certain: it says that all
 * others are certainly worse. Errors: those of its program. */
PDL_MUST bool pdl_search_run_method(opt_search *z, size_t *winner, bool *certain, pdl_err *err);

/* Writes down what a durable search has used. */
void pdl_search_note_use(const opt_search *z);

/* Returns true when the method is the name of a file, not a word. */
bool pdl_search_method_is_file(pdl_str name);
/* experiment.c. Makes the folder of the search. Errors: io. */
PDL_MUST bool pdl_search_begin_records(opt_search *z, pdl_err *err);
PDL_MUST bool pdl_search_end_records(opt_search *z, pdl_vref result, pdl_err *err);

/* optimize.c. Appends the program of a candidate. *left: values that it has no place for; owned. */
PDL_MUST bool pdl_search_put_program(const opt_search *z, size_t candidate, pdl_buf *out,
                                     pdl_val *left, pdl_err *err);
/* search_result.c. Returns the result, an owned dict. */
pdl_val pdl_search_result(const opt_search *z, size_t winner, bool certain);

#endif
