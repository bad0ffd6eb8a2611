/* fuzz_ndjson.c -- lines of JSON, as some services stream them. Properties: they do not depend on
 * where the network cuts the bytes, nor on the kind of line end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "feed.h"

#include "io/sse.h"
#include "value/json_read.h"
#include "value/json_write.h"

static bool note(void *user, pdl_str line, pdl_err *err) {
    pdl_val v;
    pdl_err why = {0};
    FUZZ_MUST(fuzz_is_text(line) && !memchr(line.n ? line.p : "", '\n', line.n));
    if (pdl_json_read(line, PDL_JSON_PYTHON, &v, NULL, &why)) {
        FUZZ_MUST(pdl_json_write(v, PDL_JSON_NAN, 0, user, err));
        pdl_drop(v);
    } else {
        FUZZ_MUST(why.kind && why.msg);
        pdl_buf_put(user, line);
    }
    pdl_err_fini(&why);
    pdl_buf_putc(user, '\n');
    return true;
}

static bool feed(pdl_str s, size_t step, pdl_buf *out) {
    pdl_lines r = {0};
    pdl_err err = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < s.n; i += step)
        ok = pdl_lines_feed(&r, fuzz_portion(s, i, step), note, out, &err);
    ok = ok && pdl_lines_end(&r, note, out, &err);
    pdl_lines_fini(&r);
    pdl_err_fini(&err);
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pdl_str s = {(const char *)data, size};
    fuzz_portions(feed, s);
    if (memchr(size ? s.p : "", '\r', size)) return 0;
    pdl_buf crlf = PDL_BUF, a = PDL_BUF, b = PDL_BUF;
    for (size_t i = 0; i < size; i++) {
        if (s.p[i] == '\n') pdl_buf_putc(&crlf, '\r');
        pdl_buf_putc(&crlf, s.p[i]);
    }
    FUZZ_MUST(feed(s, size + 1, &a) == feed(pdl_buf_str(&crlf), 5, &b));
    FUZZ_MUST(pdl_str_eq(pdl_buf_str(&a), pdl_buf_str(&b)));
    pdl_buf_fini(&crlf);
    pdl_buf_fini(&a);
    pdl_buf_fini(&b);
    return 0;
}
