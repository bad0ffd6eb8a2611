/* infer.h -- treats a program as a distribution: it runs the program many times, and weighs the
 * results. A particle is one of many runs of the program in one session. Up to the first random
 * effect (a model call, for example) all particles share one run, which is then copied for each of
 * them. At a factor, particles with a small weight may be replaced by copies of particles with a
 * large one. What must stay true: the effects, replies and random numbers of a particle are named
 * by its lineage, so the distribution does not depend on the order of replies. See
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

/* The maximum numbers of particles. All particles of smc live at the same time, so their maximum is
 * the number of runs that a session can have. */
enum { PDL_INFER_MAX = 1000000, PDL_INFER_MAX_SMC = PDL_SPAWN_SLOTS - 2 };

/* The progress of an inference. */
typedef struct pdl_infer_progress {
    /* the number of all runs, of the ended runs, and of the runs that wait at a factor */
    uint64_t n, ended, held;
    int64_t calls; /* model calls, which are counted when a run ends */
    double cost, seconds;
} pdl_infer_progress;

/* The options of an inference. Borrowed for the call. */
typedef struct pdl_infer_options {
    pdl_str file, text; /* the program: its name and its bytes */
    pdl_vref variables; /* dict of variables, or absent */
    pdl_infer_algorithm algorithm;
    uint64_t n; /* number of particles */
    bool has_seed;
    uint64_t seed;
    pdl_infer_on_error on_error;
    /* expression that maps `result` to the value that is counted; when it is empty, the result
     * itself is counted */
    pdl_str by;
    /* used by maj: the inference also ends when the leading value will win with this probability;
     * with 0 it ends only when the winner is certain */
    double sure;
    /* used by smc: resamples when the effective number of particles is below this share of n */
    double ess;
    /* used by smc: draws independently for each particle, instead of systematically */
    bool multinomial;
    bool aligned;     /* used by smc: resamples only when all particles are at the same place */
    double max_score; /* used by rejection: the largest score that a run can have */
    uint64_t tries;   /* used by rejection: maximum number of runs for one sample */
    /* Options of the session: cache, recording, limits. The inference sets the members for the
     * program and the stream. */
    pdl_session_options session;
    const double *budget;      /* budget that all particles share; may be NULL */
    struct pdl_budget *around; /* a further budget to which the use is charged; may be NULL */
    /* beginning of the names of replies in the cache; may be empty */
    pdl_str draw;
    void (*note)(void *user, const char *text); /* gets warnings, one line each; may be NULL */
    /* Called every tick_ms while runs are open; may be NULL. */
    void (*tick)(void *user, const pdl_infer_progress *p);
    uint32_t tick_ms;
    /* Called when the session has been made, and before it is freed, so that signals can be
     * watched; may be NULL. */
    void (*opened)(void *user, pdl_session *s);
    void (*closing)(void *user);
    /* Connects the session with the journal of a durable inference. The function is called after
     * the program was loaded and before anything is sent. When it is NULL, the inference is not
     * durable. */
    bool (*attach)(void *user, pdl_session *s, pdl_err *err);
    /* Called when a durable inference has its result, before the journal is closed. The result has
     * one more member, "lineages": for each of `particles` a list of prefixes. In the journal, the
     * places of the effects of the particle and of its ancestors begin with one of these prefixes.
     * May be NULL. */
    bool (*ended)(void *user, pdl_vref distribution, pdl_err *err);
    void *user;
} pdl_infer_options;

/* Reads the name of an algorithm, with or without "parallel-". *is_parallel may be NULL. */
bool pdl_infer_algorithm_find(pdl_str name, pdl_infer_algorithm *out, bool *is_parallel);
const char *pdl_infer_algorithm_name(pdl_infer_algorithm a);

/* The use of an inference, and the place where it failed. */
typedef struct pdl_infer_use {
    int64_t calls, prompt_tokens, completion_tokens;
    double cost;
    uint64_t runs; /* begun runs of the program; copies are not counted */
    char *place;   /* place of the error as FILE:LINE, owned; may be NULL */
} pdl_infer_use;

/* Runs the inference. *out is the distribution (owned), a dict that docs/manual/infer.md describes.
 * After an error, *out is absent, or the part of the distribution that is known. use gets what was
 * used, even after an error, and may be NULL. Errors: those of the program; usage; limit. */
PDL_MUST bool pdl_infer_run(const pdl_infer_options *o, pdl_val *out, pdl_infer_use *use,
                            pdl_err *err);
/* Appends lines with a bar for each of the first 20 values. */
void pdl_infer_put_bars(pdl_vref distribution, pdl_buf *out);

#endif
