/* bytes.h -- a file or pipe read in pieces, from which records are cut. Private to batch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_BYTES_H
#define PDL_BATCH_BYTES_H

#include <sys/stat.h>

#include "base/buf.h"

/* Invariant: pos <= buf.len; what precedes pos was handed out. */
typedef struct batch_bytes {
    int fd;
    bool owns; /* fd is closed at the end */
    bool ended, regular;
    pdl_buf buf;
    size_t pos;
    uint64_t line; /* of the byte at pos, from 1 */
    uint64_t gone; /* bytes of the file before buf */
    struct stat opened;
    char *name; /* owned; for messages */
} bytes;

/* path empty: standard input. Error: io. */
PDL_MUST bool pdl_batch_bytes_open(bytes *b, pdl_str path, pdl_err *err);
void pdl_batch_bytes_close(bytes *b); /* may be called twice */

typedef enum { BYTES_MORE, BYTES_END, BYTES_LATER, BYTES_FAIL } bytes_step;
/* Reads another piece after those that are there; may move buf. */
PDL_MUST bytes_step pdl_batch_bytes_fill(bytes *b, bool wait, pdl_err *err);
/* What is not handed out yet. */
static inline pdl_str pdl_batch_bytes_rest(const bytes *b) {
    return pdl_str_sub(pdl_buf_str(&b->buf), b->pos, b->buf.len);
}
/* The first record of a table in text. Error: usage, it is the beginning of something else. */
PDL_MUST bool pdl_batch_bytes_are_text(pdl_str first, const char *name, pdl_err *err);
/* Error: io, the file is another than when it was opened. */
PDL_MUST bool pdl_batch_bytes_unchanged(const bytes *b, pdl_err *err);

#endif
