/* sse.h -- incremental readers of lines and of server-sent events (WHATWG), whose input may be cut
 * anywhere by the network.
 *
 * Lines end in LF, CRLF or CR. The readers pass on only valid UTF-8: invalid bytes become U+FFFD
 * when their line is complete.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_IO_SSE_H
#define PDL_IO_SSE_H

#include "base/buf.h"
#include "base/err.h"

/* --- lines ------------------------------------------------------------------------------------ */

/* A reader is in its initial state when all members but max_line are zero. */
typedef struct pdl_lines {
    pdl_buf part;    /* beginning of a line that has not ended yet */
    bool after_cr;   /* the last byte was CR, so that a following LF belongs to it */
    size_t max_line; /* 0 means PDL_MAX_SSE_LINE_BYTES */
} pdl_lines;

/* Gets a line without its end, borrowed for the call. When it returns false, the reading stops and
 * pdl_lines_feed returns false. */
typedef bool pdl_line_fn(void *user, pdl_str line, pdl_err *err);

/* Reads more bytes. Returns false when fn returned false (with its err), and with PDL_E_limit for a
 * line that is too long. */
PDL_MUST bool pdl_lines_feed(pdl_lines *r, pdl_str bytes, pdl_line_fn *fn, void *user,
                             pdl_err *err);
/* Ends the input. When the last line has no line end, passes that line to fn. */
PDL_MUST bool pdl_lines_end(pdl_lines *r, pdl_line_fn *fn, void *user, pdl_err *err);
void pdl_lines_fini(pdl_lines *r);

/* --- events ----------------------------------------------------------------------------------- */

typedef struct pdl_sse {
    pdl_lines lines;
    pdl_buf data; /* data lines of the event being read, joined by LF */
    pdl_buf name; /* the event field of the event being read */
    /* Id of the last complete event; empty before the first. It has at most PDL_MAX_SSE_ID bytes,
     * and no control characters. */
    pdl_buf id;
    pdl_buf next_id; /* the id of the event being read */
    /* wait before the stream is requested again; 0 when the server did not say it */
    uint64_t retry_ms;
    pdl_buf stray; /* lines that are no field, joined by LF: at most PDL_MAX_SSE_STRAY bytes */
    bool has_data, has_id;
    bool not_first; /* the first line was read, so a byte order mark is no longer expected */
} pdl_sse;
enum { PDL_MAX_SSE_ID = 4096, PDL_MAX_SSE_STRAY = 2000 };

/* Gets one event. data has its data lines, joined by LF; name is the event field, or empty. Both
 * are borrowed for the call. A field `error` (llama.cpp) counts as an event with the name error,
 * whose data is the value of the field. */
typedef bool pdl_sse_fn(void *user, pdl_str name, pdl_str data, pdl_err *err);

/* Does the same as pdl_lines_feed, for events. Events without data are not reported, except those
 * with the name error. Their ids are stored nevertheless. */
PDL_MUST bool pdl_sse_feed(pdl_sse *s, pdl_str bytes, pdl_sse_fn *fn, void *user, pdl_err *err);
/* Ends the input. An event without its blank line is reported as well, because some servers close
 * early.
 */
PDL_MUST bool pdl_sse_end(pdl_sse *s, pdl_sse_fn *fn, void *user, pdl_err *err);
void pdl_sse_fini(pdl_sse *s);

/* Appends data as one event, for servers. Writes "event:" with the name, unless the name is empty,
 * then a data line for each line of data, and a blank line. */
void pdl_sse_write(pdl_str name, pdl_str data, pdl_buf *out);

#endif
