/* report.h -- writes diagnostics for people and programs, as text, JSON, SARIF, or GitHub
 * annotations.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CHECK_REPORT_H
#define PDL_CHECK_REPORT_H

#include "check/check.h"

typedef enum {
    PDL_REPORT_TEXT,
    PDL_REPORT_JSON,  /* one JSON object on each line */
    PDL_REPORT_SARIF, /* one document of SARIF 2.1.0 */
    PDL_REPORT_GITHUB /* workflow commands of GitHub: ::error file=... */
} pdl_report_form;

/* Returns false when no form has this name. */
bool pdl_report_form_find(pdl_str word, pdl_report_form *out);

/* Returns a diagnostic as an owned dict with file, line, column, end_line, end_column, severity,
 * code and message. With `hint`, the hint is a separate entry; otherwise message contains the hint.
 * The dict has related and fix when the diagnostic has them. file is the file of a diagnostic
 * without a source.
 */
pdl_val pdl_report_value(const pdl_diag *d, pdl_str file, bool hint);

/* A report of several files. */
typedef struct pdl_check_report {
    pdl_report_form form;
    pdl_val results; /* for SARIF, an owned list; absent before the first result */
} pdl_check_report;

/* Adds a diagnostic. Appends to out the text that can be written at once. */
void pdl_report_add(pdl_check_report *r, const pdl_diag *d, pdl_str file, pdl_buf *out);
/* Appends the text that follows the last diagnostic. Releases the content of r. */
void pdl_report_end(pdl_check_report *r, pdl_buf *out);

#endif
