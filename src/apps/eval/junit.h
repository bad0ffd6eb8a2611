/* junit.h -- writes results of tests as JUnit's XML, which build servers read. The format has no
 * standard. All readers accept one suite with its counts and, for each test, its class, its name
 * and the message of its failure. Cases are collected and written at the end, since the counts come
 * before them in the file. A pdl_junit of zeros is a suite without tests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_EVAL_JUNIT_H
#define PDL_EVAL_JUNIT_H

#include "base/buf.h"
#include "base/err.h"

typedef struct pdl_junit {
    pdl_buf cases;
    uint64_t n, failures;
} pdl_junit;

/* Adds a test to the suite; problem is empty when it passed. */
void pdl_junit_add(pdl_junit *j, pdl_str suite, pdl_str name, pdl_str problem);
/* Writes the whole file, or leaves the existing one unchanged. Error: io. */
PDL_MUST bool pdl_junit_write(const pdl_junit *j, pdl_str title, pdl_str file, pdl_err *err);
/* May be called twice. */
void pdl_junit_fini(pdl_junit *j);

#endif
