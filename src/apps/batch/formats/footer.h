/* footer.h -- the names of the columns of a Parquet file, written again. Private to batch.
 *
 * To DuckDB `word` and `Word` are one name, so it cannot write a file with both, which other
 * libraries read and write. Such columns are written under other names, and get theirs here: names
 * are only in the footer of a file, which nothing in it refers to, so that it may get longer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_FOOTER_H
#define PDL_BATCH_FOOTER_H

#include "base/buf.h"

/* Gives n columns these names, in their order. Error: io. */
PDL_MUST bool pdl_batch_footer_name(const char *path, char *const *names, size_t n, pdl_err *err);

#endif
