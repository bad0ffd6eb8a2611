/* bytes.h -- reads a file or pipe in pieces, and divides it into records. Private to batch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_BYTES_H
#define PDL_BATCH_BYTES_H

#include <sys/stat.h>

#include "base/buf.h"

/* Invariant: pos <= buf.len. The caller has received the bytes before pos. */
typedef struct batch_bytes {
    int fd;
    bool owns; /* fd is closed together with this struct */
    bool ended, regular;
    bool too_long; /* the beginning of the record at pos was left out (rows_impl.h) */
    pdl_buf buf;
    size_t pos;
    uint64_t line; /* line of the byte at pos, from 1 */
    uint64_t gone; /* number of bytes of the file that were dropped from buf */
    struct stat opened;
    char *name; /* owned; for messages */
} bytes;

/* Opens a file. An empty path means standard input. Error: io. */
PDL_MUST bool pdl_batch_bytes_open(bytes *b, pdl_str path, pdl_err *err);
void pdl_batch_bytes_close(bytes *b); /* may be called twice */

typedef enum { BYTES_MORE, BYTES_END, BYTES_LATER, BYTES_FAIL } bytes_step;
/* Appends another piece to the bytes in buf. The bytes may move. */
PDL_MUST bytes_step pdl_batch_bytes_fill(bytes *b, bool wait, pdl_err *err);
/* Returns the bytes that the caller has not received yet. */
static inline pdl_str pdl_batch_bytes_rest(const bytes *b) {
    return pdl_str_sub(pdl_buf_str(&b->buf), b->pos, b->buf.len);
}
/* Checks the first record of a table that should be text. Error: usage, when the record shows that
 * the file is of another kind. */
PDL_MUST bool pdl_batch_bytes_are_text(pdl_str first, const char *name, pdl_err *err);
/* Checks that the file has not changed since it was opened. Error: io. */
PDL_MUST bool pdl_batch_bytes_unchanged(const bytes *b, pdl_err *err);

#endif
