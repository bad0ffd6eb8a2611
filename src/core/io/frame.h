/* frame.h -- cuts a byte stream into messages: by a 4-byte length prefix (worker) or by
 * Content-Length (language server). Lines are read by pdl_lines (sse.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_IO_FRAME_H
#define PDL_IO_FRAME_H

#include "base/buf.h"
#include "base/err.h"

typedef enum {
    PDL_FRAME_LENGTH,  /* length in 4 bytes, most significant first, then the message */
    PDL_FRAME_CONTENT, /* header lines with Content-Length, a blank line, then the message */
} pdl_frame_kind;

/* A frame is in its initial state when all members but kind are zero. */
typedef struct pdl_frame {
    pdl_frame_kind kind;
    pdl_buf in;         /* bytes that are not a whole message yet */
    size_t max_message; /* 0 means PDL_MAX_FRAME_BYTES */
} pdl_frame;

/* Gets a complete message, borrowed for the call. When it returns false, the reading stops and
 * pdl_frame_feed returns false. */
typedef bool pdl_frame_fn(void *user, pdl_str message, pdl_err *err);

/* Reads more bytes. Returns false when fn returned false, with PDL_E_limit for a long message, and
 * with PDL_E_protocol for a malformed header. */
PDL_MUST bool pdl_frame_feed(pdl_frame *f, pdl_str bytes, pdl_frame_fn *fn, void *user,
                             pdl_err *err);
/* Returns true when bytes of an unfinished message are left. */
bool pdl_frame_is_partial(const pdl_frame *f);
/* Ends the stream. Returns false with PDL_E_protocol in the middle of a message. */
PDL_MUST bool pdl_frame_end(const pdl_frame *f, pdl_err *err);
void pdl_frame_fini(pdl_frame *f);

/* Appends the framed message, which has at most UINT32_MAX bytes. */
void pdl_frame_write(pdl_frame_kind kind, pdl_str message, pdl_buf *out);

#endif
