/* parquet_footer.h -- writes the column names of a Parquet file again. Private to batch.
 *
 * To DuckDB `word` and `Word` are one name, so it cannot write a file that has both; other
 * libraries can. Such columns are written under other names, and get their real names here. That is
 * possible because names are only in the footer of a file: nothing refers to positions after the
 * footer, so it may become longer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_PARQUET_FOOTER_H
#define PDL_BATCH_PARQUET_FOOTER_H

#include "base/buf.h"

/* Gives n columns these names, in their order. Error: io. */
PDL_MUST bool pdl_batch_footer_name(const char *path, char *const *names, size_t n, pdl_err *err);

#endif
