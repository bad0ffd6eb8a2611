/* spill.h -- text that is stored in order and read again later: in memory while it is short, then
 * in a file without a name. Private to trace.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_TRACE_SPILL_H
#define PDL_TRACE_SPILL_H

#include "base/buf.h"
#include "base/err.h"

/* Invariants: bytes [0, in_file) are in fd, [in_file, in_file + rest.len) in rest. An empty
 * spill has fd -1 and no bytes. */
typedef struct pdl_spill {
    int fd; /* -1 when the file is not open yet */
    uint64_t in_file;
    pdl_buf rest;
    char *folder; /* owned: folder of the file; NULL means the default folder */
    bool no_file; /* no file can be made, so all text stays in memory */
} pdl_spill;

void pdl_spill_init(pdl_spill *s, const char *folder);
void pdl_spill_fini(pdl_spill *s);

/* Appends text. *at is the position at which the text is stored. Error: io. */
PDL_MUST bool pdl_spill_add(pdl_spill *s, pdl_str text, uint64_t *at, pdl_err *err);
/* Reads n bytes at position at, which one call of pdl_spill_add has stored. Error: io. */
PDL_MUST bool pdl_spill_read(const pdl_spill *s, uint64_t at, char *to, size_t n, pdl_err *err);

#endif
