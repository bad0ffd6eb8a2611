/* fuzz_frame.c -- messages of the code worker and of the language server. Properties: they do not
 * depend on where the pipe cuts the bytes. A message that was read and is written is read again.
 * The written bytes are a whole number of messages.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "feed.h"

#include "io/frame.h"

static bool note(void *user, pdl_str message, pdl_err *err) {
    (void)err;
    pdl_buf_putf(user, "%zu|", message.n);
    pdl_buf_put(user, message);
    return true;
}

typedef struct writer {
    pdl_frame_kind kind;
    pdl_buf out;
} writer;

static bool write_again(void *user, pdl_str message, pdl_err *err) {
    writer *w = user;
    (void)err;
    pdl_frame_write(w->kind, message, &w->out);
    return true;
}

static bool feed_kind(pdl_frame_kind kind, pdl_str s, size_t step, pdl_frame_fn *fn, void *user,
                      bool *partial) {
    pdl_frame f = {.kind = kind, .max_message = 1 << 16};
    pdl_err err = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < s.n; i += step)
        ok = pdl_frame_feed(&f, fuzz_portion(s, i, step), fn, user, &err);
    FUZZ_MUST(ok || (err.kind && err.msg));
    *partial = ok && pdl_frame_is_partial(&f);
    pdl_frame_fini(&f);
    pdl_err_fini(&err);
    return ok;
}

static bool feed_length(pdl_str s, size_t step, pdl_buf *out) {
    bool partial, ok = feed_kind(PDL_FRAME_LENGTH, s, step, note, out, &partial);
    pdl_buf_putc(out, partial ? '.' : '!');
    return ok;
}

static bool feed_content(pdl_str s, size_t step, pdl_buf *out) {
    bool partial, ok = feed_kind(PDL_FRAME_CONTENT, s, step, note, out, &partial);
    pdl_buf_putc(out, partial ? '.' : '!');
    return ok;
}

static void check_written(pdl_frame_kind kind, pdl_str s) {
    writer w = {kind, PDL_BUF};
    pdl_buf a = PDL_BUF, b = PDL_BUF;
    bool partial;
    if (feed_kind(kind, s, s.n + 1, write_again, &w, &partial)) {
        FUZZ_MUST(feed_kind(kind, s, s.n + 1, note, &a, &partial));
        FUZZ_MUST(feed_kind(kind, pdl_buf_str(&w.out), 3, note, &b, &partial) && !partial);
        FUZZ_MUST(pdl_str_eq(pdl_buf_str(&a), pdl_buf_str(&b)));
    }
    pdl_buf_fini(&w.out);
    pdl_buf_fini(&a);
    pdl_buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pdl_str s = {(const char *)data, size};
    fuzz_portions(feed_length, s);
    fuzz_portions(feed_content, s);
    check_written(PDL_FRAME_LENGTH, s);
    check_written(PDL_FRAME_CONTENT, s);
    return 0;
}
