/* footer.h -- writes the column names of a Parquet file again. Private to batch.
 *
 * To DuckDB `word` and `Word` are one name, so it cannot write a file with both, which other
 * libraries read and write. Such columns are written under other names, and get their real ones
 * here: names are only in the footer of a file, and nothing in the file refers to positions after
 * it, so it may become longer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_FOOTER_H
#define PDL_BATCH_FOOTER_H

#include "base/buf.h"

/* Gives n columns these names, in their order. Error: io. */
PDL_MUST bool pdl_batch_footer_name(const char *path, char *const *names, size_t n, pdl_err *err);

#endif
