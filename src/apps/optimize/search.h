/* search.h -- a running search: its rows, its candidates and the known scores. Private to optimize.
 *
 * Rows are numbered as in the table, from 0, since the names of answers in the cache have these
 * numbers. Candidates are numbered from 0, and candidate 0 is the original program.
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

/* The parts of the table. The rows of --keep are in no part. */
typedef enum { OPT_TRAIN, OPT_VALIDATION, OPT_TEST, OPT_PARTS, OPT_KEPT = OPT_PARTS } opt_part;
enum { OPT_ALL_PARTS = OPT_PARTS + 1 };
const char *pdl_search_part_name(opt_part p);

typedef struct opt_row {
    pdl_val columns; /* all columns; owned */
    opt_part part;
    uint64_t number; /* number of the row in its file, from 1 */
} opt_row;

/* A part of the program that varies. */
typedef struct opt_place {
    char *name; /* the name that the user wrote; owned */
    /* a variable that the program gets from outside; otherwise a literal of its text */
    bool is_free;
    opt_literal literal;
    pdl_val first; /* the value in the original program; owned */
    bool is_tuned; /* texts for this place must contain the words of --require */
} opt_place;

/* The score of a pair that was not evaluated yet, and the score of an answer that failed. Other
 * scores are from 0 to 1; in a search that the reference describes, they may be any finite
 * number. */
#define OPT_UNKNOWN (-INFINITY)
#define OPT_FAILED  NAN

/* The use of a run, which objectives.h compares. */
typedef enum { OPT_CALLS, OPT_TOKENS, OPT_COST, OPT_USES } opt_use_item;
typedef struct opt_use {
    float of[OPT_USES]; /* NaN when a price is unknown */
} opt_use;

typedef struct opt_candidate {
    /* dict: name of a place -> value; other places have their original value; owned */
    pdl_val values;
    /* the text of the candidate's program, owned; NULL means the text of the original program */
    char *text;
    pdl_program *program; /* owned */
    pdl_code *code;       /* owned; NULL until it is needed */
    pdl_val variables;    /* owned; absent until they are needed */
    /* one score for each row of the table, owned; NULL when all scores are unknown */
    float *scores;
    opt_use *uses; /* owned; NULL when `scores` is NULL */
    uint64_t evaluated, failed;
    bool is_out; /* the candidate is worse than the original on a row of --keep, and was excluded */
    /* the place and reason of the first error, owned; NULL before an answer fails */
    char *first_error;
} opt_candidate;

/* A right answer to a row for training, as the program gets it in a demonstration. */
typedef struct opt_demo {
    size_t candidate;
    pdl_val shown; /* owned */
} opt_demo;

/* How a candidate did on a row for training, in the form in which a method shows it to a model. */
typedef struct opt_example {
    size_t candidate, row;
    pdl_val shown; /* owned */
} opt_example;

typedef struct opt_search {
    const pdl_optimize_options *o;
    pdl_buf text; /* the text of the original program, byte for byte */
    pdl_arena *arena;
    const pdl_ytree *tree;
    PDL_VEC(opt_row) rows;
    PDL_VEC(size_t) part[OPT_ALL_PARTS]; /* numbers of rows, in the order in which they are used */
    bool reads_kept;                     /* the rows that are being read belong to --keep */
    bool has_splits;                     /* the table says which row belongs to which part */
    PDL_VEC(opt_place) places;
    PDL_VEC(opt_candidate) candidates;
    /* number of combinations in the space; 0 when the candidates are given */
    uint64_t combinations;
    pdl_session *session, *judges;
    pdl_program *judge;
    pdl_code *judge_code;
    pdl_val judge_variables;
    pdl_budget *budget; /* may be NULL */
    bool captures;      /* right answers are kept as demonstrations, with their model calls */
    PDL_VEC(opt_demo) demos;
    bool examines; /* answers are kept as examples, with their model calls */
    PDL_VEC(opt_example) examples;
    char *proposer;         /* the model that proposes texts; owned; may be NULL */
    pdl_program *proposing; /* the program that asks this model */
    pdl_code *proposing_code;
    size_t proposals, proposed; /* number of texts: the allowed ones, and the requested ones */
    char *proposer_error;       /* the first error of a proposal; owned; may be NULL */
    pdl_val history;            /* the steps that the method has listed, or absent */
    bool wanted_low[OPT_USES];  /* uses that are objectives in addition to the score */
    double most[OPT_USES];      /* limits of the mean use of a row; negative when not limited */
    double reserved;            /* share of the budget that is reserved for the test */
    bool has_policy; /* the session has the policy of the program, which candidates share */
    bool spent;
    uint64_t evaluations, answered; /* all evaluations, and the answers without a score */
    int64_t calls, tokens;
    double cost; /* the cost of the search, including earlier processes of a durable search */
    double open_cost, noted; /* cost of evaluations in flight; cost in the file `used` */
    FILE *used;              /* file with the use of a durable search; may be NULL */
    uint64_t before;         /* evaluations that were made before the search was killed */
    FILE *scores;            /* file that gets a line for each evaluation; may be NULL */
    size_t listed;           /* number of candidates in candidates.jsonl */
    char *folder, *id; /* the folder of the experiment, owned; NULL before the folder exists */
    PDL_VEC(const char *) own; /* files that code must not see; borrowed; NULL-terminated */
    char *cache;  /* a file in `folder`, owned; NULL when the user has named another file */
    size_t alive; /* number of candidates of the last evaluation, for the progress */
    size_t best;  /* the candidate with the best mean so far */
    uint64_t begun_ns, ticked_ns;
    /* size and time of the table's file; negative when the table is not a file */
    int64_t table_size, table_ns;
} opt_search;

/* standings.c. Returns true when the invariants hold: each row is in one part at most; candidate 0
 * is the original; evaluations, demonstrations and the best mean belong to candidates. */
bool pdl_search_ok(const opt_search *z);

/* reference_form.c, for a search that the reference describes. These functions read three files of
 * rows, and make candidates with demonstrations. Errors: usage. */
PDL_MUST bool pdl_search_read_sets(opt_search *z, pdl_err *err);
PDL_MUST bool pdl_search_draw_as_reference(opt_search *z, pdl_err *err);
/* Appends the program that scores an answer with the user's function `score`. */
void pdl_search_put_scorer(const opt_search *z, pdl_buf *out);
/* Returns the factor by which the rows of a round grow. */
double pdl_search_growth(const opt_search *z);

/* table_split.c. Puts numbers into a random order. */
void pdl_search_shuffle(size_t *p, size_t n, uint64_t seed);
/* Adds a row of the table. user is the search. pdl_rows_each calls this function. */
bool pdl_search_take_row(void *user, const pdl_rowset *r, const pdl_row *row, pdl_err *err);
/* Returns true when a row at `from` or later has the question of a row for the test. */
bool pdl_search_repeats_test(const opt_search *z, size_t from, size_t *row, size_t *like);
/* Reads the table and splits it. Errors: usage, io. */
PDL_MUST bool pdl_search_read_rows(opt_search *z, pdl_err *err);
/* Returns the columns of a row that the program may see; owned. */
pdl_val pdl_search_question(const opt_search *z, size_t row);
/* Appends the names of the columns of a row that the program may see. */
void pdl_search_put_columns(const opt_search *z, size_t row, pdl_val *list);
/* Returns the right answer, borrowed. Returns absent without --expect. */
pdl_vref pdl_search_right(const opt_search *z, size_t row);

/* search_space.c. Finds the places, and makes candidates besides the original. Errors: usage. */
PDL_MUST bool pdl_search_make_candidates(opt_search *z, pdl_err *err);
/* Writes the text of a program with these values. *out is NULL for the original program. */
PDL_MUST bool pdl_search_write_text(const opt_search *z, pdl_vref values, char **out, pdl_err *err);
/* Adds a candidate, or finds an equal one, and sets *number. Takes values. Error: usage. */
PDL_MUST bool pdl_search_add(opt_search *z, pdl_val values, size_t *number, pdl_err *err);

/* prepare.c. Opens sessions and checks every candidate and the judge. Errors: usage. */
PDL_MUST bool pdl_search_prepare(opt_search *z, pdl_err *err);
/* Opens the sessions again. Without the user's cache, they share a cache in the search's folder. */
PDL_MUST bool pdl_search_open(opt_search *z, pdl_err *err);
void pdl_search_close(opt_search *z);
void pdl_search_drop_last(opt_search *z); /* Releases the last candidate, because it was refused. */
/* Loads and checks a candidate that a method has added. Error: usage. */
PDL_MUST bool pdl_search_load(opt_search *z, size_t candidate, pdl_err *err);
/* Makes the code of a candidate. */
PDL_MUST bool pdl_search_compile(opt_search *z, opt_candidate *c, pdl_err *err);
/* An estimate of the use of one evaluation, made from some rows without sending anything. */
typedef struct opt_estimate {
    double calls, prompt_tokens, answer_tokens, cost;
    bool is_least;    /* the number of some calls depends on answers, so this is a minimum */
    pdl_val unpriced; /* {model, file, line} of the first call without a price; or absent */
    char *model;      /* the first model that the program calls, owned; NULL when it is unknown */
} opt_estimate;
PDL_MUST bool pdl_search_estimate(const opt_search *z, opt_estimate *out, pdl_err *err);

/* demos.c. When e is the reply of a model call that succeeded, adds the call to *trace, a list of
 * {id, messages, answer} in the order of the ids. */
void pdl_demo_take_event(pdl_val *trace, const pdl_event *e);
/* Keeps an answer that was right, with its trace, as a demonstration. */
void pdl_demo_keep(opt_search *z, size_t candidate, size_t row, pdl_vref result, pdl_vref trace);
/* Returns a value that has only the types of JSON. Returns null for a value without such a form. */
pdl_val pdl_demo_plain(pdl_vref v);
/* Returns the trace without the numbers of its calls. */
pdl_val pdl_demo_trace(pdl_vref trace);

/* scoring.c. Returns the session, loop and budget with which the program `file` is run. */
opt_stage pdl_search_stage_of(opt_search *z, pdl_session *s, pdl_str file);
/* Adds the use of a run to the counts of the search. */
void pdl_search_count(opt_search *z, const opt_end *how);
typedef struct opt_pair {
    size_t candidate, row;
} opt_pair;
/* Evaluates candidates on rows. Pairs whose score is known cost nothing. When the budget is used
 * up, z->spent is set and the other pairs remain unknown. Errors: usage, when no answer could be
 * judged; those of a signal. */
PDL_MUST bool pdl_search_evaluate(opt_search *z, const opt_pair *pairs, size_t n, pdl_err *err);
/* Returns the score of a known pair; 0 when its run failed. */
double pdl_search_score(const opt_search *z, size_t candidate, size_t row);
bool pdl_search_knows(const opt_search *z, size_t candidate, size_t row);

/* standings.c. Stores the mean over the first n rows. Returns false when a score is unknown. */
bool pdl_search_mean(const opt_search *z, size_t candidate, opt_part part, size_t n, double *out);
/* Stores the interval of the mean at 95 %, which holds however often it is computed. */
void pdl_search_interval(const opt_search *z, size_t candidate, opt_part part, size_t n,
                         double *low, double *high);
/* Returns how many of the first rows of a part were evaluated with all these candidates. */
size_t pdl_search_common(const opt_search *z, const size_t *candidates, size_t n, opt_part part);
/* Returns true when a candidate certainly has a lower mean than another one. The certainty holds
 * for all calls of this function together, when `among` candidates are compared with each other. */
bool pdl_search_is_worse(const opt_search *z, size_t candidate, size_t than, size_t among);
/* Adds the best mean score to the progress. */
void pdl_search_put_best(const opt_search *z, pdl_optimize_progress *p);

/* kept_rows.c. Separates the rows of --keep. Error: usage. */
PDL_MUST bool pdl_search_read_kept(opt_search *z, pdl_err *err);
/* Compares a candidate with the original program on the rows of --keep. *out is set when the
 * candidate is worse on one of these rows; it is then excluded. Errors: those of an evaluation. */
PDL_MUST bool pdl_search_check_kept(opt_search *z, size_t candidate, bool *out, pdl_err *err);
void pdl_search_note_table(opt_search *z);
/* Checks that the table's file is the file that was noted at the beginning. Error: usage. */
PDL_MUST bool pdl_search_check_table(const opt_search *z, pdl_err *err);

/* method.c. Runs the method. *winner is the candidate that it chose. *certain is set when the
 * method reported that all others are certainly worse. Errors: those of its program. */
PDL_MUST bool pdl_search_run_method(opt_search *z, size_t *winner, bool *certain, pdl_err *err);

/* Returns true when the method is the name of a file and no built-in method. */
bool pdl_search_method_is_file(pdl_str name);

/* optimize.c. Appends the program of a candidate. Keys are replaced by [REDACTED] unless has_keys
 * is set. *left gets the values for which the program has no place; owned. */
PDL_MUST bool pdl_search_put_program(const opt_search *z, size_t candidate, bool has_keys,
                                     pdl_buf *out, pdl_val *left, pdl_err *err);
/* search_result.c. These return the number of combinations (or null) and the result, owned. */
pdl_val pdl_search_combinations(const opt_search *z);
pdl_val pdl_search_result(const opt_search *z, size_t winner, bool certain);

#endif
