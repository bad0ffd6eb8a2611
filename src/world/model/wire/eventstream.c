/* eventstream.c -- see eventstream.h. The format of a frame, with big-endian numbers (spec
 * providers 13.5):
 *
 *   u32 total | u32 length of headers | u32 CRC of these 8 | headers | payload | u32 CRC of all
 *   each header: u8 length of name, name, u8 type, value
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/wire/eventstream.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "value/json_put.h"

#include "base/banned.h"

enum { PRELUDE = 12, MIN_FRAME = 16, TYPE_STRING = 7, TYPE_BYTES = 6 };

static uint32_t u32_at(const char *p) {
    const unsigned char *u = (const unsigned char *)p;
    return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

/* Computes a CRC-32 (IEEE 802.3), four bits at a time. */
static uint32_t crc_of(const char *p, size_t n) {
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < n; i++) {
        crc ^= (unsigned char)p[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

static bool broken(pdl_err *err, const char *what) {
    return pdl_err_set(err, PDL_E_protocol, (pdl_loc){0}, "a frame of the stream %s", what);
}

/* --- headers ---------------------------------------------------------------------------------- */

typedef struct event_head {
    pdl_str message_type, event_type, exception_type, error_code, error_message;
} head;

/* Returns the size of a value of this type after the type byte, or PDL_NOT_FOUND. */
static size_t value_size(unsigned type, pdl_str rest) {
    static const unsigned char fixed[] = {0, 0, 1, 2, 4, 8, 0, 0, 8, 16};
    if (type >= sizeof fixed) return PDL_NOT_FOUND;
    if (type != TYPE_STRING && type != TYPE_BYTES) return fixed[type];
    if (rest.n < 2) return PDL_NOT_FOUND;
    return 2 + ((size_t)(unsigned char)rest.p[0] << 8 | (unsigned char)rest.p[1]);
}

static void keep_header(head *h, pdl_str name, pdl_str value) {
    if (pdl_str_is(name, ":message-type"))
        h->message_type = value;
    else if (pdl_str_is(name, ":event-type"))
        h->event_type = value;
    else if (pdl_str_is(name, ":exception-type"))
        h->exception_type = value;
    else if (pdl_str_is(name, ":error-code"))
        h->error_code = value;
    else if (pdl_str_is(name, ":error-message"))
        h->error_message = value;
}

static bool read_headers(pdl_str s, head *h) {
    while (s.n) {
        size_t n = (unsigned char)s.p[0];
        if (n + 2 > s.n) return false;
        pdl_str name = pdl_str_sub(s, 1, 1 + n), rest = pdl_str_sub(s, n + 2, s.n);
        unsigned type = (unsigned char)s.p[n + 1];
        size_t size = value_size(type, rest);
        if (size > rest.n) return false;
        if (type == TYPE_STRING) keep_header(h, name, pdl_str_sub(rest, 2, size));
        s = pdl_str_sub(rest, size, rest.n);
    }
    return true;
}

/* --- events ----------------------------------------------------------------------------------- */

static void put_text(pdl_buf *out, const char *name, pdl_str s) {
    pdl_buf fixed = PDL_BUF;
    pdl_utf8_repair(&fixed, s);
    pdl_json_put_text(out, name, pdl_buf_str(&fixed));
    pdl_buf_fini(&fixed);
}

static void put_payload(pdl_str s, pdl_buf *out) {
    s = pdl_str_trim(s);
    if (s.n == 0)
        PDL_PUT(out, "{}");
    else
        pdl_utf8_repair(out, s);
}

/* Appends {"error": {"code": TYPE, ...}}. The payload of an exception is {"message": ...}, or a
 * text. */
static void put_exception(pdl_str type, pdl_str payload, pdl_buf *out) {
    pdl_str p = pdl_str_trim(payload);
    bool more = p.n > 2 && p.p[0] == '{' && pdl_str_trim(pdl_str_sub(p, 1, p.n)).p[0] != '}';
    pdl_json_put_key(out, "error");
    pdl_json_open(out, '{');
    put_text(out, "code", type);
    if (more) { /* the payload has the end of the object */
        pdl_buf_putc(out, ',');
        pdl_utf8_repair(out, pdl_str_sub(p, 1, p.n));
        return;
    }
    if (p.n && p.p[0] != '{') put_text(out, "message", p);
    pdl_buf_putc(out, '}');
}

/* Appends one event. An error has its text in a header. */
static void put_event(const head *h, pdl_str payload, pdl_buf *out) {
    pdl_json_open(out, '{');
    if (pdl_str_is(h->message_type, "exception")) {
        put_exception(h->exception_type, payload, out);
    } else if (pdl_str_is(h->message_type, "error")) {
        pdl_json_put_key(out, "error");
        pdl_json_open(out, '{');
        put_text(out, "code", h->error_code);
        put_text(out, "message", h->error_message);
        pdl_buf_putc(out, '}');
    } else {
        pdl_buf type = PDL_BUF;
        pdl_utf8_repair(&type, h->event_type);
        pdl_json_put_key(out, pdl_buf_z(&type));
        put_payload(payload, out);
        pdl_buf_fini(&type);
    }
    pdl_buf_putc(out, '}');
}

/* Reads one whole frame. */
static bool read_frame(pdl_eventstream *s, pdl_str f, pdl_eventstream_fn *fn, void *user,
                       pdl_err *err) {
    head h = {0};
    size_t n_head = u32_at(f.p + 4), end = f.n - 4;
    if (crc_of(f.p, end) != u32_at(f.p + end)) return broken(err, "has a wrong checksum");
    if (!read_headers(pdl_str_sub(f, PRELUDE, PRELUDE + n_head), &h))
        return broken(err, "has broken headers");
    s->text.limit = PDL_BUF.limit;
    pdl_buf_clear(&s->text);
    put_event(&h, pdl_str_sub(f, PRELUDE + n_head, end), &s->text);
    return fn(user, h.event_type, pdl_buf_str(&s->text), err);
}

/* Stores the length of the frame with which s begins; 0 when the length is not known yet. */
static bool frame_size(pdl_str s, size_t *size, pdl_err *err) {
    *size = 0;
    if (s.n < PRELUDE) return true;
    size_t total = u32_at(s.p), n_head = u32_at(s.p + 4);
    if (crc_of(s.p, 8) != u32_at(s.p + 8)) return broken(err, "has a wrong checksum");
    if (total < MIN_FRAME || n_head > total - MIN_FRAME) return broken(err, "has a wrong length");
    if (total > PDL_MAX_SSE_LINE_BYTES) return broken(err, "is too long");
    *size = total;
    return true;
}

bool pdl_eventstream_feed(pdl_eventstream *s, pdl_str bytes, pdl_eventstream_fn *fn, void *user,
                          pdl_err *err) {
    size_t pos = 0;
    bool ok = true;
    s->in.limit = PDL_BUF.limit;
    pdl_buf_put(&s->in, bytes);
    while (ok) {
        size_t size;
        pdl_str rest = pdl_str_sub(pdl_buf_str(&s->in), pos, s->in.len);
        if (!frame_size(rest, &size, err)) return false;
        if (size == 0 || size > rest.n) break;
        ok = read_frame(s, pdl_str_sub(rest, 0, size), fn, user, err);
        pos += size;
    }
    if (pos) pdl_buf_shift(&s->in, pos);
    return ok;
}

bool pdl_eventstream_end(pdl_eventstream *s, pdl_err *err) {
    return s->in.len == 0 ||
           pdl_err_set(err, PDL_E_stream, (pdl_loc){0}, "the stream ended inside of a frame");
}

void pdl_eventstream_fini(pdl_eventstream *s) {
    pdl_buf_fini(&s->in);
    pdl_buf_fini(&s->text);
}
