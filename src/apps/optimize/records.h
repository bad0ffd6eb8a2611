/* records.h -- writes the files of a search that people and other programs may read. The files have
 * [REDACTED] in place of keys. Private to optimize; experiment.c implements it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_OPTIMIZE_RECORDS_H
#define PDL_OPTIMIZE_RECORDS_H

#include "optimize/search.h"

/* Makes the folder of the search, or uses the existing folder when a search is continued. Errors:
 * io; usage, when the program or the table has changed since the search began. */
PDL_MUST bool pdl_search_begin_records(opt_search *z, pdl_err *err);
PDL_MUST bool pdl_search_end_records(opt_search *z, pdl_vref result, pdl_err *err);
/* Writes a file of the folder. Error: io. */
PDL_MUST bool pdl_search_write_file(const opt_search *z, const char *name, pdl_str text,
                                    pdl_err *err);
/* Appends a value without keys as a line of JSON. Takes v. */
PDL_MUST bool pdl_search_put_line(const opt_search *z, pdl_val v, pdl_buf *out, pdl_err *err);
/* Writes candidates.jsonl again when candidates were added since the last call, so that the records
 * of a running search name all candidates that have scores. Errors: io. */
PDL_MUST bool pdl_search_list_candidates(opt_search *z, pdl_err *err);
/* Writes the use of a durable search into its file. */
void pdl_search_note_use(opt_search *z);

#endif
