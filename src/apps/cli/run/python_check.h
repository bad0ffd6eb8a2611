/* python_check.h -- checks whether Python compiles a text. Private to cli.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_PYTHON_CHECK_H
#define PDL_CLI_PYTHON_CHECK_H

#include "base/buf.h"
#include "check/check.h"
#include "io/proc.h"

enum { PDL_PYTHON_KNOWN = 512 };

/* A Python process that compiles code and never runs it. All members are zero before it is
 * started. */
typedef struct pdl_python_checker {
    pdl_loop *loop;
    pdl_proc *proc;
    pdl_buf out;
    /* The answers are found by the hash of the text; an unused entry is absent. Answers are kept
     * because an editor checks the same texts after each key.
     */
    uint64_t hashes[PDL_PYTHON_KNOWN];
    pdl_val known[PDL_PYTHON_KNOWN];
    bool ended, missing;
} pdl_python_checker;

/* Checks a code text. This is a pdl_check_options.python, whose user is a pdl_python_checker. */
void pdl_python_check(void *user, pdl_str code, pdl_python_report *report);
void pdl_python_checker_fini(pdl_python_checker *c);

#endif
