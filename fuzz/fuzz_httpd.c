/* fuzz_httpd.c -- requests as a server reads them: a head, then a body in chunks or of a known
 * length. Properties: the result does not depend on where the network cuts the bytes, and it ends
 * where the request ends. A path is UTF-8 without control characters. A body is never longer than
 * the bytes that arrived.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "feed.h"

#include "io/http_head.h"

/* Returns the length of the head, found in growing beginnings of s; 0 when the head is not
 * whole. */
static size_t find_head(pdl_str s, size_t step) {
    size_t scanned = 0, end = 0;
    for (size_t n = step < s.n ? step : s.n;; n = step < s.n - n ? n + step : s.n) {
        end = pdl_http_head_end(pdl_str_sub(s, 0, n), &scanned);
        if (end || n == s.n) return end;
    }
}

static bool read_chunks(pdl_str s, size_t step, pdl_buf *out) {
    pdl_chunks c = {0};
    size_t used = 0, body = 0;
    for (size_t i = 0; i < s.n && c.at != CHUNK_END; i += step) {
        pdl_str in = fuzz_portion(s, i, step), piece;
        size_t n = in.n;
        do {
            if (!pdl_chunks_take(&c, &in, &piece)) return false;
            pdl_buf_put(out, piece);
            body += piece.n;
        } while (piece.n);
        used += n - in.n;
        FUZZ_MUST(in.n == 0 || c.at == CHUNK_END);
    }
    FUZZ_MUST(body <= used && used <= s.n);
    pdl_buf_putf(out, "|%d|%zu", (int)c.at, used);
    return true;
}

static void note_head(const pdl_http_head *h, pdl_buf *out) {
    pdl_str path = pdl_str_of(h->path);
    FUZZ_MUST(fuzz_is_text(path) && path.n);
    for (size_t i = 0; i < path.n; i++)
        FUZZ_MUST((unsigned char)path.p[i] >= ' ' && path.p[i] != 127);
    FUZZ_MUST(h->fields.n <= PDL_HTTP_MAX_FIELDS && h->length >= -1 &&
              (h->length <= 0 || h->has_length));
    pdl_buf_putf(out, "%.*s %s %lld %d%d%d", PDL_FMT(h->method), h->path, (long long)h->length,
                 h->keep_alive, h->expects_continue, h->is_1_0);
    for (size_t i = 0; i < h->fields.n; i++)
        pdl_buf_putf(out, "|%.*s=%.*s", PDL_FMT(h->fields.p[i].name),
                     PDL_FMT(h->fields.p[i].value));
}

static bool feed(pdl_str s, size_t step, pdl_buf *out) {
    size_t end = s.n ? find_head(s, step) : 0;
    pdl_http_head h;
    const char *why = NULL;
    if (end == PDL_NOT_FOUND || !end) return !end;
    int status = pdl_http_head_read(pdl_str_sub(s, 0, end), &h, &why);
    bool ok = !status;
    if (status)
        FUZZ_MUST(why && (status == 400 || status == 431 || status == 501 || status == 505));
    if (ok) note_head(&h, out);
    if (ok && h.length < 0) ok = read_chunks(pdl_str_sub(s, end, s.n), step, out);
    pdl_http_head_fini(&h);
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_portions(feed, (pdl_str){(const char *)data, size});
    return 0;
}
