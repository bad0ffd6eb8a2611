/* run_guards.h -- the policies and the sandbox with which a durable run began, which its journal
 * keeps. A resume gets the same policies and sandbox. A resume may add stricter ones, but cannot
 * remove any.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_RUN_GUARDS_H
#define PDL_API_RUN_GUARDS_H

#include "base/err.h"
#include "base/vec.h"
#include "value/val.h"

/* The policies and the sandbox of a run, as they were given or as a resume gets them. */
typedef struct pdl_run_guards {
    PDL_VEC(pdl_str) policies; /* names of files or of built-in policies */
    pdl_str sandbox;           /* a profile; empty when there is none */
    bool names_sandbox;        /* the command line has --sandbox or --no-sandbox */
    pdl_str sandbox_min;       /* full or process; empty when it was not given, which means full */
    PDL_VEC(char *) texts;     /* texts from the journal to which the other members point; owned */
} pdl_run_guards;

/* Adds the policies and the sandbox in force to the options that the journal keeps; environment is
 * the value of PDL_POLICY, or NULL. Takes options. */
pdl_val pdl_run_guards_put(pdl_val options, const pdl_run_guards *g, const char *environment);
/* Combines the policies and the sandbox in the journal with those of a resume, and stores the
 * result in out. out is all-zero before, and borrows the texts of `given`. Error: usage, when a
 * policy has changed, or when `given` is looser. */
PDL_MUST bool pdl_run_guards_resume(const pdl_run_guards *given, pdl_vref options,
                                    pdl_run_guards *out, pdl_err *err);
/* Reads the names of the policies in the journal, for a caller that only shows the run. out is
 * all-zero before. */
void pdl_run_guards_read(pdl_vref options, pdl_run_guards *out);
void pdl_run_guards_fini(pdl_run_guards *g);

/* Returns true when two names are the same, or name the same file. */
bool pdl_run_guards_same_file(pdl_str a, pdl_str b);

#endif
