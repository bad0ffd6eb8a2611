/* record_rows.h -- private to viewer: rows of an evaluation, in the table of their runs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_RECORD_ROWS_H
#define PDL_VIEWER_RECORD_ROWS_H

#include "viewer/records/many_runs.h"

/* Adds a row in the form that pdl eval -o and the scores.jsonl of a search have. names_program: a
 * column says which program the row is about. */
void pdl_record_rows_add(pdl_run_table *t, pdl_vref record, bool names_program);

#endif
