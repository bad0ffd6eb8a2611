/* check.h -- problems of a program, found without running it (`pdl check`, spec language-syntax
 * 6.5, 7.1).
 *
 * Errors are what fails whenever it is executed; an undefined name and everything else are
 * warnings.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LANG_CHECK_H
#define PDL_LANG_CHECK_H

#include "base/err.h"
#include "lang/program.h"

/* Finds the text of `include: path` / `import: path` written in the source named `from`. Fills name
 * (for messages) and bytes. Error: the file is missing or cannot be read. */
typedef bool pdl_open_source_fn(void *user, pdl_str from, pdl_str path, bool import, pdl_buf *name,
                                pdl_buf *bytes, pdl_err *err);

/* All-zero: no file is opened (names are then not judged after an include), no names from outside,
 * all lint checks. */
typedef struct pdl_check_options {
    pdl_open_source_fn *open;
    void *user;
    const pdl_str *names; /* variables defined outside: -d, -f */
    size_t n_names;
    bool no_names; /* do not report undefined names */
    bool no_lint;  /* errors only */
    /* Called for each undefined name, perhaps more than once; optional: the program tests whether
     * it is defined. NULL: not called */
    void (*input)(void *user, pdl_str name, bool optional);
    void *input_user;
} pdl_check_options;

/* Adds diagnostics to a loaded program, which has a main block, and sorts them. */
void pdl_program_check(pdl_program *p, const pdl_check_options *opt);

/* One lint check, for documentation. */
typedef struct pdl_lint_row {
    const char *id;
    const char *doc;
} pdl_lint_row;
const pdl_lint_row *pdl_lint_rows(size_t *n);

#endif
