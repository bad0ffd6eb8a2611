/* fuzz_eventstream.c -- AWS event streams. The input is used in two ways: unchanged, and as pairs
 * of lines (headers, payload), from which frames with right lengths and checksums are made.
 * Properties: the events do not depend on where the network cuts the bytes. A frame with right
 * checksums and headers gives one event, which is JSON when its payload is JSON. A flipped bit is
 * noticed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "feed.h"

#include "model/wire/eventstream.h"
#include "value/json_read.h"

static bool note(void *user, pdl_str name, pdl_str text, pdl_err *err) {
    (void)name;
    (void)err;
    FUZZ_MUST(fuzz_is_text(text));
    pdl_buf_putf(user, "%zu|", text.n);
    pdl_buf_put(user, text);
    return true;
}

static bool feed(pdl_str s, size_t step, pdl_buf *out) {
    pdl_eventstream e = {0};
    pdl_err err = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < s.n; i += step)
        ok = pdl_eventstream_feed(&e, fuzz_portion(s, i, step), note, out, &err);
    ok = ok && pdl_eventstream_end(&e, &err);
    FUZZ_MUST(ok || (err.kind && err.msg));
    pdl_eventstream_fini(&e);
    pdl_err_fini(&err);
    return ok;
}

static uint32_t crc_of(pdl_str s) {
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < s.n; i++) {
        crc ^= (unsigned char)s.p[i];
        for (int k = 0; k < 8; k++) crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
    }
    return ~crc;
}

static void put_u32(pdl_buf *b, uint32_t v) {
    for (int shift = 24; shift >= 0; shift -= 8) pdl_buf_putc(b, (char)(v >> shift & 0xff));
}

static void put_header(pdl_buf *b, pdl_str name, pdl_str value) {
    value = pdl_str_sub(value, 0, 200);
    pdl_buf_putc(b, (char)name.n);
    pdl_buf_put(b, name);
    pdl_buf_putc(b, 7);
    pdl_buf_putc(b, 0);
    pdl_buf_putc(b, (char)value.n);
    pdl_buf_put(b, value);
}

static void put_frame(pdl_buf *out, pdl_str type, pdl_str payload) {
    pdl_buf head = PDL_BUF, frame = PDL_BUF;
    bool fault = type.n && type.p[0] == '!';
    put_header(&head, PDL_STR(":message-type"), fault ? PDL_STR("exception") : PDL_STR("event"));
    put_header(&head, fault ? PDL_STR(":exception-type") : PDL_STR(":event-type"), type);
    put_u32(&frame, (uint32_t)(16 + head.len + payload.n));
    put_u32(&frame, (uint32_t)head.len);
    put_u32(&frame, crc_of(pdl_buf_str(&frame)));
    pdl_buf_put(&frame, pdl_buf_str(&head));
    pdl_buf_put(&frame, payload);
    put_u32(&frame, crc_of(pdl_buf_str(&frame)));
    pdl_buf_put(out, pdl_buf_str(&frame));
    pdl_buf_fini(&head);
    pdl_buf_fini(&frame);
}

static pdl_str line_of(pdl_str *s) {
    size_t at = pdl_str_find(*s, PDL_STR("\n"), 0);
    pdl_str line = pdl_str_sub(*s, 0, at == PDL_NOT_FOUND ? s->n : at);
    *s = at == PDL_NOT_FOUND ? (pdl_str){"", 0} : pdl_str_sub(*s, at + 1, s->n);
    return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pdl_str s = {(const char *)data, size};
    pdl_buf frames = PDL_BUF, out = PDL_BUF;
    fuzz_portions(feed, s);
    while (s.n) {
        pdl_str type = line_of(&s);
        put_frame(&frames, type, line_of(&s));
    }
    FUZZ_MUST(feed(pdl_buf_str(&frames), frames.len + 1, &out));
    fuzz_portions(feed, pdl_buf_str(&frames));
    if (frames.len && size) {
        frames.p[data[0] * size % frames.len] ^= (char)(1 << (size & 7));
        pdl_buf_clear(&out);
        FUZZ_MUST(!feed(pdl_buf_str(&frames), 11, &out));
    }
    pdl_buf_fini(&frames);
    pdl_buf_fini(&out);
    return 0;
}
