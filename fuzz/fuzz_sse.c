/* fuzz_sse.c -- property: events do not depend on where the network cuts the bytes. */
#include "fuzz.h"

#include "io/sse.h"

static bool note(void *user, pdl_str name, pdl_str data, pdl_err *err) {
    (void)err;
    pdl_buf_putf(user, "%.*s|%zu|", PDL_FMT(name), data.n);
    pdl_buf_put(user, data);
    pdl_buf_putc(user, '\n');
    return true;
}

static bool feed(pdl_str s, size_t step, pdl_buf *out) {
    pdl_sse e = {0};
    pdl_err err = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < s.n; i += step)
        ok = pdl_sse_feed(&e, pdl_str_sub(s, i, i + step < s.n ? i + step : s.n), note, out, &err);
    ok = ok && pdl_sse_end(&e, note, out, &err);
    pdl_sse_fini(&e);
    pdl_err_fini(&err);
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pdl_buf a = PDL_BUF, b = PDL_BUF, c = PDL_BUF;
    pdl_str s = {(const char *)data, size};
    bool ok = feed(s, size + 1, &a);
    FUZZ_MUST(feed(s, 1, &b) == ok && feed(s, 3, &c) == ok);
    FUZZ_MUST(pdl_str_eq(pdl_buf_str(&a), pdl_buf_str(&b)) && pdl_str_eq(pdl_buf_str(&a), pdl_buf_str(&c)));
    pdl_buf_fini(&a);
    pdl_buf_fini(&b);
    pdl_buf_fini(&c);
    return 0;
}
