/* subruns.h -- runs programs inside other programs: code in Python starts them with exec_str.
 * Private to api.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_SUBRUNS_H
#define PDL_API_SUBRUNS_H

#include "vm/vm.h"

/* The ranges of effect ids. All runs of a session use the same worlds, so each run has a range of
 * ids. Range 0 belongs to the main run. Ranges from 1 to PDL_SUB_RANGES - 1 belong to programs
 * inside others, and the ranges after these to runs beside the main run (pdl_session_spawn). */
enum { PDL_RANGE_IDS = 1 << 17, PDL_SUB_RANGES = 1024 };

typedef struct pdl_subruns pdl_subruns;
pdl_subruns *pdl_subruns_new(void);
void pdl_subruns_free(pdl_subruns *s); /* The programs are ended without answers; s may be NULL. */

typedef void pdl_sub_done_fn(void *user, pdl_val result,
                             const pdl_err *err); /* result is taken; it is absent on failure */

/* A program for a code block, and the receiver of its result. */
typedef struct pdl_subrun_start {
    pdl_code *code;
    pdl_vref variables;
    bool all; /* the result is {result, scope, trace, replay, usage} */
    pdl_sub_done_fn *done;
    void *done_user;
} pdl_subrun_start;

/* Runs a program for the code block `asker`. o has the options of the run, without its ids and
 * place; o->dir is copied. Error: limit, when too many programs are running. */
PDL_MUST bool pdl_subruns_start(pdl_subruns *s, const pdl_effect *asker, pdl_run_options *o,
                                const pdl_subrun_start *start, pdl_err *err);

/* Steps all programs. Returns true when one of the programs ended. */
bool pdl_subruns_step(pdl_subruns *s);
bool pdl_subruns_are_ready(const pdl_subruns *s);

/* Returns the range of the outermost run in which this effect was requested. */
uint32_t pdl_subruns_root(const pdl_subruns *s, uint32_t effect);
/* Ends the programs inside the run of this range, because their results are not needed any more. */
void pdl_subruns_cancel(pdl_subruns *s, uint32_t range);

#endif
