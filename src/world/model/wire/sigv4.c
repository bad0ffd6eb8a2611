/* sigv4.c -- computes the signature of a request to AWS; see sigv4.h. Tests compare it with the
 * signatures in conformance/providers/bedrock-sigv4-vectors.json.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/wire/sigv4.h"

#include <time.h>

#include "base/hash.h"
#include "base/os.h"
#include "model/wire/headers.h"

#include "base/banned.h"

enum { BLOCK = 64, DIGEST = 32, DATE = 8 };

static void hmac(pdl_str key, pdl_str data, unsigned char out[DIGEST]) {
    unsigned char pad[BLOCK] = {0}, inner[DIGEST];
    pdl_sha256 h;
    if (key.n > BLOCK) {
        pdl_sha256_init(&h);
        pdl_sha256_add(&h, key);
        pdl_sha256_done(&h, pad);
    } else if (key.n) {
        memcpy(pad, key.p, key.n);
    }
    for (size_t i = 0; i < BLOCK; i++) pad[i] ^= 0x36;
    pdl_sha256_init(&h);
    pdl_sha256_add(&h, (pdl_str){(const char *)pad, BLOCK});
    pdl_sha256_add(&h, data);
    pdl_sha256_done(&h, inner);
    for (size_t i = 0; i < BLOCK; i++) pad[i] ^= 0x36 ^ 0x5c;
    pdl_sha256_init(&h);
    pdl_sha256_add(&h, (pdl_str){(const char *)pad, BLOCK});
    pdl_sha256_add(&h, (pdl_str){(const char *)inner, DIGEST});
    pdl_sha256_done(&h, out);
    pdl_os_wipe(pad, sizeof pad);
    pdl_os_wipe(inner, sizeof inner);
}

static void put_hash(pdl_str bytes, pdl_buf *out) {
    char hex[65];
    pdl_hash_hex(bytes, hex);
    pdl_buf_put(out, pdl_str_of(hex));
}

static void put_signed_names(const pdl_sigv4 *s, pdl_buf *out) {
    PDL_PUT(out, "content-type;host;x-amz-date");
    if (s->session_token.n) PDL_PUT(out, ";x-amz-security-token");
}

/* Appends the canonical request. Its path is percent-encoded twice, because the path of the request
 * is encoded already. */
static void put_canonical(const pdl_sigv4 *s, pdl_buf *out) {
    PDL_PUT(out, "POST\n");
    pdl_url_quote(s->path, "/", out);
    pdl_buf_putf(out, "\n\ncontent-type:%.*s\nhost:%.*s\nx-amz-date:%.*s\n",
                 PDL_FMT(s->content_type), PDL_FMT(s->host), PDL_FMT(s->timestamp));
    if (s->session_token.n)
        pdl_buf_putf(out, "x-amz-security-token:%.*s\n", PDL_FMT(s->session_token));
    pdl_buf_putc(out, '\n');
    put_signed_names(s, out);
    pdl_buf_putc(out, '\n');
    put_hash(s->body, out);
}

static void put_scope(const pdl_sigv4 *s, pdl_buf *out) {
    pdl_buf_putf(out, "%.*s/%.*s/%.*s/aws4_request", PDL_FMT(pdl_str_sub(s->timestamp, 0, DATE)),
                 PDL_FMT(s->region), PDL_FMT(s->service));
}

static void derive_key(const pdl_sigv4 *s, unsigned char key[DIGEST]) {
    pdl_buf first = PDL_BUF;
    pdl_str as_text = {(const char *)key, DIGEST};
    pdl_buf_putf(&first, "AWS4%.*s", PDL_FMT(s->secret_key));
    hmac(pdl_buf_str(&first), pdl_str_sub(s->timestamp, 0, DATE), key);
    hmac(as_text, s->region, key);
    hmac(as_text, s->service, key);
    hmac(as_text, PDL_STR("aws4_request"), key);
    pdl_os_wipe(first.p, first.cap);
    pdl_buf_fini(&first);
}

void pdl_sigv4_write(const pdl_sigv4 *s, pdl_buf *out) {
    static const char digits[] = "0123456789abcdef";
    unsigned char key[DIGEST], signature[DIGEST];
    pdl_buf canonical = PDL_BUF, text = PDL_BUF;
    put_canonical(s, &canonical);
    pdl_buf_putf(&text, "AWS4-HMAC-SHA256\n%.*s\n", PDL_FMT(s->timestamp));
    put_scope(s, &text);
    pdl_buf_putc(&text, '\n');
    put_hash(pdl_buf_str(&canonical), &text);
    derive_key(s, key);
    hmac((pdl_str){(const char *)key, DIGEST}, pdl_buf_str(&text), signature);
    pdl_buf_putf(out, "AWS4-HMAC-SHA256 Credential=%.*s/", PDL_FMT(s->access_key));
    put_scope(s, out);
    PDL_PUT(out, ", SignedHeaders=");
    put_signed_names(s, out);
    PDL_PUT(out, ", Signature=");
    for (size_t i = 0; i < DIGEST; i++) {
        pdl_buf_putc(out, digits[signature[i] >> 4]);
        pdl_buf_putc(out, digits[signature[i] & 15]);
    }
    pdl_os_wipe(key, sizeof key);
    pdl_buf_fini(&canonical);
    pdl_buf_fini(&text);
}

void pdl_sigv4_time(int64_t wall_ns, pdl_buf *out) {
    time_t t = (time_t)(wall_ns / INT64_C(1000000000));
    struct tm tm;
    if (!gmtime_r(&t, &tm)) tm = (struct tm){0};
    pdl_buf_putf(out, "%04d%02d%02dT%02d%02d%02dZ", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
                 tm.tm_hour, tm.tm_min, tm.tm_sec);
}
