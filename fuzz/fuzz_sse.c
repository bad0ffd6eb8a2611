/* fuzz_sse.c -- server-sent events. Properties: they do not depend on where the network cuts the
 * bytes. An event that was read and is written is read again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "feed.h"

#include "io/sse.h"

static bool note(void *user, pdl_str name, pdl_str data, pdl_err *err) {
    (void)err;
    pdl_buf_putf(user, "%.*s|%zu|", PDL_FMT(name), data.n);
    pdl_buf_put(user, data);
    pdl_buf_putc(user, '\n');
    return true;
}

static bool write_again(void *user, pdl_str name, pdl_str data, pdl_err *err) {
    (void)err;
    pdl_sse_write(name, data, user);
    return true;
}

static bool feed_to(pdl_str s, size_t step, pdl_sse_fn *fn, pdl_buf *out) {
    pdl_sse e = {0};
    pdl_err err = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < s.n; i += step)
        ok = pdl_sse_feed(&e, fuzz_portion(s, i, step), fn, out, &err);
    ok = ok && pdl_sse_end(&e, fn, out, &err);
    pdl_sse_fini(&e);
    pdl_err_fini(&err);
    return ok;
}

static bool feed(pdl_str s, size_t step, pdl_buf *out) { return feed_to(s, step, note, out); }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pdl_buf a = PDL_BUF, written = PDL_BUF, b = PDL_BUF;
    pdl_str s = {(const char *)data, size};
    fuzz_portions(feed, s);
    if (feed(s, size + 1, &a) && feed_to(s, size + 1, write_again, &written)) {
        FUZZ_MUST(feed(pdl_buf_str(&written), written.len + 1, &b));
        FUZZ_MUST(pdl_str_eq(pdl_buf_str(&a), pdl_buf_str(&b)));
    }
    pdl_buf_fini(&a);
    pdl_buf_fini(&written);
    pdl_buf_fini(&b);
    return 0;
}
