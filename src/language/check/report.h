/* report.h -- writes diagnostics for people and programs: as text, JSON, SARIF, GitHub annotations.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CHECK_REPORT_H
#define PDL_CHECK_REPORT_H

#include "check/check.h"

typedef enum {
    PDL_REPORT_TEXT,
    PDL_REPORT_JSON,  /* one object on each line */
    PDL_REPORT_SARIF, /* SARIF 2.1.0, one document */
    PDL_REPORT_GITHUB /* workflow commands: ::error file=... */
} pdl_report_form;

/* Returns false when there is no such form. */
bool pdl_report_form_find(pdl_str word, pdl_report_form *out);

/* Returns a diagnostic as an owned dict: file, line, column, end_line, end_column, severity, code,
 * message; hint when requested, related and fix when there are any. file: the file of a diagnostic
 * without a source.
 */
pdl_val pdl_report_value(const pdl_diag *d, pdl_str file, bool hint);

/* A report of several files. */
typedef struct pdl_check_report {
    pdl_report_form form;
    pdl_val results; /* SARIF: owned list; absent before the first result */
} pdl_check_report;

/* Adds a diagnostic; appends to out what can be written at once. */
void pdl_report_add(pdl_check_report *r, const pdl_diag *d, pdl_str file, pdl_buf *out);
/* Appends what follows the last diagnostic; releases the content of r. */
void pdl_report_end(pdl_check_report *r, pdl_buf *out);

#endif
