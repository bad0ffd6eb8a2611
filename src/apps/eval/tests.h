/* tests.h -- the tests beside a program, NAME.test.yaml.
 *
 * A test is a run of the program without sources that answer differently each time: models answer
 * from a list, or from a recording; standard input is empty. A test checks what users see: the
 * result, the output, the error, and the texts that were sent to models.
 *
 *   tests:
 *   - name: greets
 *     input: {name: Ada}               # variables
 *     replies: [Hello Ada]             # as in `pdl mock --replies`; or record: FILE
 *     expect: {result: .., output: .., contains: [..], error: ..}
 *     requests: {must: [..], never: [..]}
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_EVAL_TESTS_H
#define PDL_EVAL_TESTS_H

#include "api/session.h"

/* Receives each test; problem is empty when it passed. */
typedef void pdl_test_report_fn(void *user, pdl_str program, pdl_str name, pdl_str problem);

/* Runs the tests of one file. The variables, policies, sandbox, jobs, budget, prices, telemetry and
 * the flag `cancel` are those of `session`. A program that cannot be loaded is a problem of each
 * test. Errors before the first test: io; usage, when the file has the wrong form. Later error: the
 * signal in `cancel`. */
PDL_MUST bool pdl_tests_run(pdl_str file, const pdl_session_options *session,
                            pdl_test_report_fn *report, void *user, pdl_err *err);

/* Calls fn for each file of tests in a folder and below it, in the order of names, until fn returns
 * false. */
PDL_MUST bool pdl_tests_find(pdl_str folder, bool (*fn)(void *user, pdl_str file), void *user,
                             pdl_err *err);

#endif
