/* infer.h -- a program as a distribution: runs it many times and weighs the results.
 *
 * A particle is a run of the program beside others of one session. Up to the first effect of chance
 * there is one run, which is then copied for each particle; at factors light particles may be
 * replaced by copies of heavy ones. What must stay true: a particle's effects, replies and random
 * numbers are named by its lineage, so the distribution does not depend on the order of replies.
 * docs/internals/infer.md.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_INFER_INFER_H
#define PDL_INFER_INFER_H

#include "api/session.h"

typedef enum {
    PDL_INFER_MAJ,
    PDL_INFER_IS,
    PDL_INFER_SMC,
    PDL_INFER_REJECTION
} pdl_infer_algorithm;
typedef enum { PDL_INFER_FAIL, PDL_INFER_DROP, PDL_INFER_ZERO } pdl_infer_on_error;

/* The most particles; of smc, all of which live at a time, as many as a session runs. */
enum { PDL_INFER_MAX = 1000000, PDL_INFER_MAX_SMC = PDL_SPAWN_SLOTS - 2 };

/* How far an inference is. */
typedef struct pdl_infer_progress {
    uint64_t n, ended, held; /* all runs; those that have ended; those that wait at a factor */
    int64_t calls;           /* counted when a run ends */
    double cost, seconds;
} pdl_infer_progress;

/* The options of an inference. Borrowed for the call. */
typedef struct pdl_infer_options {
    pdl_str file, text; /* the program: its name and its bytes */
    pdl_vref variables; /* dict or absent */
    pdl_infer_algorithm algorithm;
    uint64_t n; /* particles */
    bool has_seed;
    uint64_t seed;
    pdl_infer_on_error on_error;
    pdl_str by;         /* expression that maps `result` to what is counted; empty: result itself */
    /* maj: it also ends when the first has this probability to stay so; 0: only when it is sure */
    double sure;
    double ess;         /* smc: resamples when the effective size is below this part of n */
    bool multinomial;   /* smc: draws independently, not systematically */
    bool aligned;       /* smc: resamples where all particles are at the same place */
    double max_score;   /* rejection: the greatest score that a run can have */
    uint64_t tries;     /* rejection: the most runs for a sample */
    /* Options of the session: cache, recording, limits. Its program and stream are set by the
     * inference. */
    pdl_session_options session;
    const double *budget; /* all particles share it; NULL: there is none */
    struct pdl_budget *around; /* a budget to which their use is charged, too; NULL: none */
    pdl_str draw;              /* begins the names of their draws in the cache; may be empty */
    void (*note)(void *user, const char *text); /* warnings, one line each; may be NULL */
    /* Called every tick_ms while runs are open; NULL: it is not. */
    void (*tick)(void *user, const pdl_infer_progress *p);
    uint32_t tick_ms;
    /* Called once the session exists, and before it is freed, for signals; may be NULL. */
    void (*opened)(void *user, pdl_session *s);
    void (*closing)(void *user);
    /* Connects the session with the journal of a durable inference, once its program is loaded and
     * before anything is asked; NULL: it is not durable. */
    bool (*attach)(void *user, pdl_session *s, pdl_err *err);
    void *user;
} pdl_infer_options;

/* Reads the name of an algorithm, with or without "parallel-". *is_parallel may be NULL. */
bool pdl_infer_algorithm_find(pdl_str name, pdl_infer_algorithm *out, bool *is_parallel);
const char *pdl_infer_algorithm_name(pdl_infer_algorithm a);

/* It says what an inference used, and where it failed. */
typedef struct pdl_infer_use {
    int64_t calls, prompt_tokens, completion_tokens;
    double cost;
    uint64_t runs; /* begun runs of the program, copies not counted */
    char *place;   /* FILE:LINE of the error, owned; NULL: there is none */
} pdl_infer_use;

/* Runs the inference. *out is the distribution (owned), a dict: docs/manual/infer.md. After an
 * error it is there when a part of the distribution is known (weights that are all zero), else
 * absent. use: gets what was used, after an error, too; may be NULL. Errors: those of the program;
 * usage; limit. */
PDL_MUST bool pdl_infer_run(const pdl_infer_options *o, pdl_val *out, pdl_infer_use *use,
                            pdl_err *err);
/* Appends a line with a bar for each value. */
void pdl_infer_put_bars(pdl_vref distribution, pdl_buf *out);

#endif
