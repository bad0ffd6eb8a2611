/* batch.h -- a program run once for each row of a table.
 *
 * A table may have millions of rows and a run of the program may take minutes, so a batch is three
 * things at once: a window of at most `jobs` rows in flight on one loop, with back-pressure to the
 * reader; a journal beside the output in which a row is finished before it counts as done; and a
 * writer that follows in the order of the input (or as rows come). Rows that are finished and wait
 * for an earlier one wait in the journal, not in memory. What must stay true: whenever the process
 * is killed, the same command continues, no finished row is asked again, and each row is in the
 * output exactly once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_BATCH_H
#define PDL_BATCH_BATCH_H

#include "api/session.h"
#include "batch/rows.h"

/* A column that is a variable of another name. */
typedef struct pdl_batch_map {
    pdl_str column, variable;
} pdl_batch_map;

/* How far a batch is. Rows: since its beginning, those of earlier processes too. */
typedef struct pdl_batch_totals {
    uint64_t finished, failed; /* failed: of the finished ones */
    uint64_t reused;           /* finished by earlier processes */
    uint64_t open;             /* rows in flight */
    uint64_t bytes, all_bytes; /* of the input, read and in all; all 0: not known */
    int64_t calls, prompt_tokens, completion_tokens;
    double cost, seconds; /* seconds: of this process */
    bool begun;           /* the tables could be opened: before that, nothing is asked or written */
    bool ended;           /* the input was read to its end, or to the limit */
} pdl_batch_totals;

/* Borrowed for the call. */
typedef struct pdl_batch_options {
    pdl_session *session;
    pdl_program *program; /* loaded without errors */
    pdl_str text, dir;    /* of the program: its bytes, its folder */
    pdl_vref variables;   /* of all rows; dict or absent */
    const char *giver;    /* the option that gives them, for messages; NULL: --data */
    pdl_str shown_input;  /* the name of the input for messages; empty: its own */
    pdl_table input, output;
    const pdl_batch_map *map;
    size_t n_map;
    const double *budget; /* limits of the whole batch; NULL: none */
    /* Appends the name that the replies to a row have in the cache; number: of the row, from 1.
     * NULL: they have none. */
    void (*put_draw)(void *draw_user, uint64_t number, pdl_buf *out);
    void *draw_user;
    /* what its rows use is a part of this one; NULL: of none */
    struct pdl_budget *around;
    uint32_t jobs;          /* rows in flight at a time, at most PDL_SPAWN_SLOTS */
    uint64_t limit;         /* at most so many rows; 0: all */
    uint64_t sample;        /* so many rows drawn at random; 0: all */
    int64_t max_errors;     /* more failed rows end the batch; negative: any number may fail */
    const pdl_str *reports; /* files for a summary at the end: .json, or HTML */
    size_t n_reports;
    pdl_str prices; /* table of prices for an estimate; empty: that of PDL_PRICES, if any */
    struct pdl_batch_provider *provider; /* carries the requests to models; NULL: they are sent */
    bool types;                    /* cells of a CSV file are read as numbers, booleans, null */
    bool unordered;                /* rows are written as they come */
    bool overwrite;                /* an output that is there is replaced */
    bool retry_errors;             /* rows that failed are asked again */
    bool reuse_changed;            /* of another program or input: what fits is kept */
    bool allow_files;              /* the program may write files */
    bool keep;                     /* the journal keeps the requests to models */
    struct pdl_batch_files *files; /* examines the names of files; NULL: not examined */
    /* Told of what the user should know, a line; and now and then, with tick_ms above 0, how far
     * it is. */
    void (*note)(void *user, const char *text);
    void (*tick)(void *user, const pdl_batch_totals *t);
    uint32_t tick_ms;
    void *user;
    pdl_cancel_flag *cancel; /* not 0 when the batch is to end; may be NULL */
} pdl_batch_options;

/* Runs to the end. False: it stopped, or did not begin; t says how far it came. Errors: usage
 * (columns, files, a journal of another batch: before the first row), io, runtime (a row failed and
 * no more may), budget, interrupt. */
PDL_MUST bool pdl_batch_run(const pdl_batch_options *o, pdl_batch_totals *t, pdl_err *err);

/* Could pdl_batch_run begin? Sends and writes nothing. The program is examined beside these
 * columns; columns NULL: beside those of the input and the values of its first rows. Errors: usage,
 * io. */
PDL_MUST bool pdl_batch_check(const pdl_batch_options *o, const pdl_str *columns, size_t n,
                              pdl_err *err);

/* What a batch would take, from some of its rows. */
typedef struct pdl_batch_estimate {
    uint64_t rows, looked_at;
    uint64_t broken, failed; /* of all rows; of those that were examined */
    double calls, prompt_tokens;
    double answer_tokens; /* at most; 0: the program sets no limit */
    double cost;          /* 0: not known */
    double unknown;       /* blocks that ask models and depend on answers */
} pdl_batch_estimate;
/* Sends nothing. Errors: those of pdl_batch_run before its first row. */
PDL_MUST bool pdl_batch_estimate_rows(const pdl_batch_options *o, pdl_batch_estimate *out,
                                      pdl_err *err);

#endif
