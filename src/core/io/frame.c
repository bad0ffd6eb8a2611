/* frame.c -- cuts a stream of bytes into messages, and frames messages; see frame.h.
 *
 * The bytes of an incomplete message are kept. A complete message is passed on as a part of these
 * bytes, without a copy.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/frame.h"

#include <assert.h>

#include "base/limits.h"

#include "base/banned.h"

/* maximum number of bytes before the blank line of a message with Content-Length */
enum { MAX_HEADER = 8192 };

static size_t max_message(const pdl_frame *f) {
    return f->max_message ? f->max_message : (size_t)PDL_MAX_FRAME_BYTES;
}

/* The header of a message. When the header is complete, `whole` is set, and so are the sizes of the
 * header and of the message. */
typedef struct head {
    bool whole;
    size_t header, message;
} head;

static bool read_length(pdl_str s, head *h) {
    if (s.n < 4) return true;
    const unsigned char *p = (const unsigned char *)s.p;
    *h = (head){true, 4, (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3]};
    return true;
}

/* Reads the decimal digits after "content-length:". Returns false when the line is something
 * else. */
static bool read_field(pdl_str line, size_t *out) {
    pdl_str name = PDL_STR("content-length:");
    if (line.n < name.n || !pdl_str_eq_nocase(pdl_str_sub(line, 0, name.n), name)) return false;
    pdl_str digits = pdl_str_trim(pdl_str_sub(line, name.n, line.n));
    size_t v = 0;
    if (digits.n == 0 || digits.n > 15) return false;
    for (size_t i = 0; i < digits.n; i++) {
        if (digits.p[i] < '0' || digits.p[i] > '9') return false;
        v = v * 10 + (size_t)(digits.p[i] - '0');
    }
    *out = v;
    return true;
}

static bool read_content(pdl_str s, head *h, pdl_err *err) {
    bool found = false;
    size_t message = 0;
    for (size_t pos = 0;;) {
        size_t end = pdl_str_find(s, PDL_STR("\n"), pos);
        if (end == PDL_NOT_FOUND && s.n > MAX_HEADER)
            return pdl_err_set(err, PDL_E_protocol, (pdl_loc){0},
                               "the header of a message is longer than %d bytes", (int)MAX_HEADER);
        if (end == PDL_NOT_FOUND) return true;
        pdl_str line = pdl_str_trim(pdl_str_sub(s, pos, end));
        pos = end + 1;
        if (line.n == 0) {
            if (!found)
                return pdl_err_set(err, PDL_E_protocol, (pdl_loc){0},
                                   "a message without the line Content-Length: NUMBER before it");
            *h = (head){true, pos, message};
            return true;
        }
        found = read_field(line, &message) || found;
    }
}

bool pdl_frame_feed(pdl_frame *f, pdl_str bytes, pdl_frame_fn *fn, void *user, pdl_err *err) {
    assert(f->in.len <= PDL_BUF.limit);
    f->in.limit = (size_t)-1 >> 2;
    pdl_buf_put(&f->in, bytes);
    size_t pos = 0;
    bool ok = true;
    while (ok && pos < f->in.len) {
        pdl_str rest = pdl_str_sub(pdl_buf_str(&f->in), pos, f->in.len);
        head h = {0};
        ok = f->kind == PDL_FRAME_LENGTH ? read_length(rest, &h) : read_content(rest, &h, err);
        if (!ok || !h.whole) break;
        if (h.message > max_message(f)) {
            ok =
                pdl_err_set(err, PDL_E_limit, (pdl_loc){0},
                            "a message of %zu bytes is longer than %zu", h.message, max_message(f));
            break;
        }
        if (rest.n - h.header < h.message) break;
        pos += h.header + h.message;
        ok = fn(user, pdl_str_sub(rest, h.header, h.header + h.message), err);
    }
    /* bytes are moved once per call, so that many small messages take linear time */
    pdl_buf_shift(&f->in, pos);
    return ok;
}

bool pdl_frame_is_partial(const pdl_frame *f) { return f->in.len > 0; }

bool pdl_frame_end(const pdl_frame *f, pdl_err *err) {
    return !pdl_frame_is_partial(f) ||
           pdl_err_set(err, PDL_E_protocol, (pdl_loc){0},
                       "the input ends in the middle of a message, after %zu bytes of it",
                       f->in.len);
}

void pdl_frame_fini(pdl_frame *f) { pdl_buf_fini(&f->in); }

void pdl_frame_write(pdl_frame_kind kind, pdl_str message, pdl_buf *out) {
    if (kind == PDL_FRAME_CONTENT) {
        pdl_buf_putf(out, "Content-Length: %zu\r\n\r\n", message.n);
    } else {
        assert(message.n <= UINT32_MAX);
        char n[4] = {(char)(message.n >> 24), (char)(message.n >> 16 & 255),
                     (char)(message.n >> 8 & 255), (char)(message.n & 255)};
        pdl_buf_put(out, (pdl_str){n, 4});
    }
    pdl_buf_put(out, message);
}
