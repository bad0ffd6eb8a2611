/* sse.h -- incremental readers of lines and of server-sent events (WHATWG), whose input may be cut
 * anywhere by the network.
 *
 * Lines end in LF, CRLF or CR. Text handed out is valid UTF-8: invalid bytes become U+FFFD, in
 * complete lines only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_IO_SSE_H
#define PDL_IO_SSE_H

#include "base/buf.h"
#include "base/err.h"

/* --- lines ------------------------------------------------------------------------------------ */

/* All-zero except max_line is the initial state. */
typedef struct pdl_lines {
    pdl_buf part;    /* beginning of a line that has not ended yet */
    bool after_cr;   /* the last byte was CR: a LF that follows belongs to it */
    size_t max_line; /* 0: PDL_MAX_SSE_LINE_BYTES */
} pdl_lines;

/* A line without its end; borrowed for the call. Returning false stops the reading, and feed
 * returns false. */
typedef bool pdl_line_fn(void *user, pdl_str line, pdl_err *err);

/* Reads more bytes. Returns false when fn did (with its err), or with PDL_E_limit for a line that
 * is too long. */
PDL_MUST bool pdl_lines_feed(pdl_lines *r, pdl_str bytes, pdl_line_fn *fn, void *user,
                             pdl_err *err);
/* Ends the input: hands out a last line that has no end. */
PDL_MUST bool pdl_lines_end(pdl_lines *r, pdl_line_fn *fn, void *user, pdl_err *err);
void pdl_lines_fini(pdl_lines *r);

/* --- events ----------------------------------------------------------------------------------- */

typedef struct pdl_sse {
    pdl_lines lines;
    pdl_buf data; /* data lines of the event being read, joined by LF */
    pdl_buf name; /* the event field of the event being read */
    /* Id of the last complete event; empty: none. At most PDL_MAX_SSE_ID bytes, no control
     * characters. */
    pdl_buf id;
    pdl_buf next_id;   /* the id of the event being read */
    uint64_t retry_ms; /* wait before the stream is requested again; 0: unspecified */
    pdl_buf stray;     /* lines that are no field, joined by LF: at most PDL_MAX_SSE_STRAY bytes */
    bool has_data, has_id;
    bool not_first; /* the first line was read, so a byte order mark is no longer expected */
} pdl_sse;
enum { PDL_MAX_SSE_ID = 4096, PDL_MAX_SSE_STRAY = 2000 };

/* One event: data lines joined by LF; name is the event field or empty. Borrowed for the call. A
 * field `error` (llama.cpp) is an event of that name, whose data is its value. */
typedef bool pdl_sse_fn(void *user, pdl_str name, pdl_str data, pdl_err *err);

/* Like pdl_lines_feed. Events without data are not reported, except those named error; their ids
 * are stored all the same. */
PDL_MUST bool pdl_sse_feed(pdl_sse *s, pdl_str bytes, pdl_sse_fn *fn, void *user, pdl_err *err);
/* Ends the input. An event without its blank line is reported as well, because some servers close
 * early.
 */
PDL_MUST bool pdl_sse_end(pdl_sse *s, pdl_sse_fn *fn, void *user, pdl_err *err);
void pdl_sse_fini(pdl_sse *s);

/* Appends data as one event, for servers: "event:" (name may be empty), one data line for each
 * line, a blank line. */
void pdl_sse_write(pdl_str name, pdl_str data, pdl_buf *out);

#endif
