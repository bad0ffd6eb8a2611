/* test_http_head.c -- heads that are read or refused, and chunked bodies that arrive whole or cut
 * at every byte.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/http_head.h"

#include <string.h>

#include "t.h"

#include "base/banned.h"

static const struct {
    const char *head;
    int status;
    const char *path; /* where it is read */
    int64_t length;
    bool keep_alive;
} heads[] = {
    {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 0, "/", 0, true},
    {"GET /a?b=/c HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n", 0, "/a", 0, false},
    {"GET /a%20b%c3%A4 HTTP/1.0\r\n\r\n", 0, "/a b\xc3\xa4", 0, false},
    {"GET / HTTP/1.0\r\nConnection: x, keep-alive\r\n\r\n", 0, "/", 0, true},
    {"GET http://a:1/b HTTP/1.1\r\nHost: A:1\r\n\r\n", 0, "/b", 0, true},
    {"GET http://a HTTP/1.1\r\nHost: a\r\n\r\n", 0, "/", 0, true},
    {"GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, NULL, 0, false},
    {"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 0, "*", 0, true},
    {"GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400, NULL, 0, false},
    {"POST / HTTP/1.1\r\nHost:a\r\ncontent-length:\t7 \r\n\r\n", 0, "/", 7, true},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n", 0, "/", -1, true},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", 0, "/",
     INT64_MAX, true},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400, NULL, 0,
     false},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400,
     NULL, 0, false},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n", 400, NULL, 0, false},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\n", 400, NULL, 0, false},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501, NULL, 0, false},
    {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400, NULL, 0, false},
    {"GET / HTTP/1.1\r\n\r\n", 400, NULL, 0, false},
    {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400, NULL, 0, false},
    {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505, NULL, 0, false},
    {"GET /\r\nHost: a\r\n\r\n", 400, NULL, 0, false},
    {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400, NULL, 0, false},
    {"GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400, NULL, 0, false},
    {"GET /%0a HTTP/1.1\r\nHost: a\r\n\r\n", 400, NULL, 0, false},
    {"GET /%ff HTTP/1.1\r\nHost: a\r\n\r\n", 400, NULL, 0, false},
    {"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n", 400, NULL, 0, false},
    {"GET /%4 HTTP/1.1\r\nHost: a\r\n\r\n", 400, NULL, 0, false},
    {"G(T / HTTP/1.1\r\nHost: a\r\n\r\n", 400, NULL, 0, false},
    {"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400, NULL, 0, false},
    {"GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", 400, NULL, 0, false},
    {"GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", 400, NULL, 0, false},
    {"GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", 400, NULL, 0, false},
};

static void test_heads(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        pdl_http_head h;
        const char *why = NULL;
        size_t scanned = 0;
        pdl_str s = t_str(heads[i].head);
        t_assert(pdl_http_head_end(s, &scanned) == s.n);
        int status = pdl_http_head_read(s, &h, &why);
        if (status != heads[i].status) print_error("%s: %d %s\n", heads[i].head, status, why);
        t_assert(status == heads[i].status);
        if (!status) {
            t_assert_str(pdl_str_of(h.path), heads[i].path);
            t_assert(h.length == heads[i].length && h.keep_alive == heads[i].keep_alive);
        }
        pdl_http_head_fini(&h);
    }
}

/* The end is found at the same place however the bytes come; each byte is looked at once. */
static void test_ends(void **state) {
    (void)state;
    pdl_str s = PDL_STR("A: b\r\n\r\nC: d\r\n\r\n");
    for (size_t cut = 0; cut < 8; cut++) {
        size_t scanned = 0;
        t_assert(pdl_http_head_end(pdl_str_sub(s, 0, cut), &scanned) == 0);
        t_assert(pdl_http_head_end(s, &scanned) == 8);
    }
    size_t scanned = 0;
    t_assert(pdl_http_head_end(PDL_STR("A: b\n"), &scanned) == PDL_NOT_FOUND);
}

static void test_nonsense(void **state) {
    (void)state;
    t_assert(!pdl_http_head_nonsense(PDL_STR("")) && !pdl_http_head_nonsense(PDL_STR("\r")));
    t_assert(!pdl_http_head_nonsense(PDL_STR("G")));
    t_assert(strstr(pdl_http_head_nonsense(PDL_STR("\x16\x03")), "http://"));
    t_assert(pdl_http_head_nonsense(PDL_STR("\0")) && pdl_http_head_nonsense(PDL_STR(" GET")));
}

/* Bodies; NULL: not valid, "...": not at its end. */
static const struct {
    const char *in, *want, *rest;
} bodies[] = {
    {"0\r\n\r\n", "", ""},
    {"3\r\nabc\r\n0\r\n\r\nGET", "abc", "GET"},
    {"00a;x=\"y\"\r\n0123456789\r\n1\r\nz\r\n0;e\r\nT: v\r\nU: w\r\n\r\n", "0123456789z", ""},
    {"A \r\n0123456789\r\n0\r\n\r\n", "0123456789", ""},
    {"3\r\nabc", "...", ""},
    {"\r\n", NULL, ""},
    {"x\r\n", NULL, ""},
    {"-1\r\n", NULL, ""},
    {"3\nabc", NULL, ""},
    {"3\r\nabcd\r\n", NULL, ""},
    {"3\r\rabc", NULL, ""},
    {"3;a\nb\r\n", NULL, ""},
    {"0\r\n\n", NULL, ""},
    {"1000000000000000\r\n", NULL, ""},
};

static void check_chunks(size_t row, size_t step) {
    pdl_chunks c = {0};
    pdl_buf out = PDL_BUF;
    pdl_str all = t_str(bodies[row].in), rest = {0}, piece;
    bool ok = true;
    for (size_t at = 0; ok && at < all.n && c.at != CHUNK_END; at += step) {
        pdl_str in = pdl_str_sub(all, at, at + step);
        do {
            ok = pdl_chunks_take(&c, &in, &piece);
            pdl_buf_put(&out, piece);
        } while (ok && piece.n);
        rest = (pdl_str){in.p, (size_t)(all.p + all.n - in.p)};
    }
    t_assert(ok == (bodies[row].want != NULL));
    if (ok && strcmp(bodies[row].want, "...") == 0)
        t_assert(c.at != CHUNK_END);
    else if (ok) {
        t_assert(c.at == CHUNK_END);
        t_assert_str(pdl_buf_str(&out), bodies[row].want);
        t_assert_str(rest, bodies[row].rest);
    }
    pdl_buf_fini(&out);
}

static void test_chunks(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
        for (size_t step = 1; step < 40; step++) check_chunks(i, step);
}

/* What is between the data has an end. */
static void test_long_lines(void **state) {
    (void)state;
    static const char *const begins[] = {"1;", "0\r\n"};
    for (size_t i = 0; i < 2; i++) {
        pdl_chunks c = {0};
        pdl_buf b = PDL_BUF;
        pdl_buf_putf(&b, "%s", begins[i]);
        for (int k = 0; k <= PDL_HTTP_MAX_CHUNK_LINE; k++) pdl_buf_putc(&b, 'x');
        pdl_str in = pdl_buf_str(&b), piece;
        t_assert(!pdl_chunks_take(&c, &in, &piece));
        pdl_buf_fini(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heads),      cmocka_unit_test(test_ends),
        cmocka_unit_test(test_nonsense),   cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_long_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
