/* batch.h -- runs a program once for each row of a table.
 *
 * A table may have millions of rows and a run of the program may take minutes, so a batch has three
 * parts. A window has at most `jobs` rows in flight on one loop, with back-pressure to the reader.
 * A journal beside the output stores each row before it counts as finished. A writer appends rows
 * to the output in the order of the input, or as they finish. A finished row that waits for an
 * earlier row waits in the journal; only some of these rows are in memory, too. What must stay
 * true: whenever the process is killed, the same command continues, no finished row is run again,
 * and each row is in the output exactly once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_BATCH_H
#define PDL_BATCH_BATCH_H

#include "api/session.h"
#include "batch/rows.h"

/* Makes the value of a column the value of a variable with another name. */
typedef struct pdl_batch_map {
    pdl_str column, variable;
} pdl_batch_map;

/* The progress of a batch. Counts of rows include the rows of earlier processes. */
typedef struct pdl_batch_totals {
    uint64_t finished, failed; /* failed is the number of finished rows that have no result */
    uint64_t reused;           /* number of rows that earlier processes finished */
    uint64_t open;             /* number of rows in flight */
    /* number of bytes of the input that were read, and size of the input, which is 0 when it is
     * unknown */
    uint64_t bytes, all_bytes;
    int64_t calls, prompt_tokens, completion_tokens;
    double cost, seconds; /* cost of all rows, and the seconds of this process */
    /* set after the tables and the journal were opened. When an error comes earlier, no request was
     * sent, and no new journal is left */
    bool begun;
    bool ended; /* the input was read to its end or to the limit */
} pdl_batch_totals;

/* The options of a batch. Borrowed for the call. */
typedef struct pdl_batch_options {
    pdl_session *session;
    pdl_program *program; /* the program, which was loaded without errors */
    pdl_str text, dir;    /* the bytes of the program, and its folder */
    pdl_vref variables;   /* the variables that all rows have; a dict or absent */
    /* the option by which the user gave these variables, for messages; NULL means --data */
    const char *giver;
    /* name of the input in messages; when it is empty, the name of the table is used */
    pdl_str shown_input;
    /* a column that the user's table has and the input of the batch lacks; empty when there is
     * none */
    pdl_str hidden;
    pdl_table input, output;
    const pdl_batch_map *map;
    size_t n_map;
    const double *budget; /* limits of the whole batch; NULL means no limits */
    bool has_policy;      /* the policy of the program is in force in the session already */
    /* Appends the name under which the cache stores the replies to a row. number is the number of
     * the row, from 1. When the function is NULL, replies have no name. */
    void (*put_draw)(void *draw_user, uint64_t number, pdl_buf *out);
    void *draw_user;
    /* A further budget to which the use of the rows is charged; may be NULL. */
    struct pdl_budget *around;
    uint32_t jobs;   /* maximum number of rows in flight, at most PDL_SPAWN_SLOTS */
    uint64_t limit;  /* maximum number of rows that are run; 0 means all rows */
    uint64_t sample; /* number of rows that are drawn at random; with 0 all rows are run */
    /* the batch ends when more rows than this have failed; a negative number means no limit */
    int64_t max_errors;
    /* files that get a summary at the end: as JSON when the name ends in .json or is "-", otherwise
     * as HTML */
    const pdl_str *reports;
    size_t n_reports;
    /* table of prices for an estimate; when it is empty, the table that PDL_PRICES names */
    pdl_str prices;
    /* receives the requests to models; when it is NULL, they are sent */
    struct pdl_batch_provider *provider;
    /* in a CSV file, a cell that looks like a number, a boolean or null becomes one */
    bool types;
    bool unordered;    /* rows are written in the order in which they finish */
    bool overwrite;    /* an existing output is replaced */
    bool retry_errors; /* failed rows are run again */
    /* continues the batch of another program or input, with the results that still apply */
    bool reuse_changed;
    bool allow_files; /* the program may write files */
    bool keep;        /* the journal keeps the requests to models */
    /* checks the names of files; when it is NULL, they are not checked */
    struct pdl_batch_files *files;
    /* note receives messages for the user, one line each. tick receives the progress every tick_ms,
     * unless tick_ms is 0. */
    void (*note)(void *user, const char *text);
    void (*tick)(void *user, const pdl_batch_totals *t);
    uint32_t tick_ms;
    void *user;
    pdl_cancel_flag *cancel; /* the batch ends when this number is not 0; may be NULL */
} pdl_batch_options;

/* Runs the batch to its end. Returns false when the batch stopped before the last row, or did not
 * begin; t has its progress. Errors: usage (before the first row: wrong columns or files, or a
 * journal of another batch; later: a stream that differs from its journal), io, runtime (more than
 * max_errors rows failed), budget, interrupt. */
PDL_MUST bool pdl_batch_run(const pdl_batch_options *o, pdl_batch_totals *t, pdl_err *err);

/* Checks whether pdl_batch_run could begin, without sending or writing anything. The program is
 * checked with `columns`; when columns is NULL, with the columns and the first values of the input.
 * Errors: usage, io. */
PDL_MUST bool pdl_batch_check(const pdl_batch_options *o, const pdl_str *columns, size_t n,
                              pdl_err *err);

/* The estimated use of a batch, computed from some of its rows. */
typedef struct pdl_batch_estimate {
    uint64_t rows, looked_at;
    /* broken is the number of unreadable rows in the whole input; failed is the number of examined
     * rows whose run failed */
    uint64_t broken, failed;
    double calls, prompt_tokens;
    double answer_tokens; /* an upper bound; 0 when the program sets no limit */
    double cost;          /* 0 when it is unknown */
    /* number of blocks that call models and whose use is unknown because it depends on answers */
    double unknown;
} pdl_batch_estimate;
/* Estimates the use of a batch without sending anything. The errors are those of pdl_batch_run
 * before its first row. */
PDL_MUST bool pdl_batch_estimate_rows(const pdl_batch_options *o, pdl_batch_estimate *out,
                                      pdl_err *err);

#endif
