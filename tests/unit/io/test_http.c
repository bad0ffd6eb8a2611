/* test_http.c -- transfers without a server: refused and cancelled ones, bad addresses, headers.
 * tests/model has the tests that need a server.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/http.h"

#include "t.h"

#include "base/banned.h"

typedef struct seen {
    int n;
    pdl_http_end end;
    int status;
} seen;

static void on_done(void *user, const pdl_http_reply *r) {
    seen *s = user;
    s->n++;
    s->end = r->end;
    s->status = r->status;
    assert_non_null(r->why);
}

static const struct {
    const char *url;
    pdl_http_end want;
} urls[] = {
    {"http://127.0.0.1:1/x", PDL_HTTP_CONNECT},
    {"ftp://127.0.0.1/x", PDL_HTTP_BAD_REQUEST},
    {"http://", PDL_HTTP_BAD_REQUEST},
    {"http://no such host/", PDL_HTTP_BAD_REQUEST},
    {"file:///etc/passwd", PDL_HTTP_BAD_REQUEST},
};

static void test_failures(void **state) {
    (void)state;
    pdl_loop *l = pdl_loop_new();
    pdl_http *h = pdl_http_new(l, NULL);
    for (size_t i = 0; i < T_LEN(urls); i++) {
        T_ROW(i);
        seen s = {0};
        pdl_http_request r = {.method = "POST",
                              .url = urls[i].url,
                              .body = PDL_STR("{}"),
                              .user = &s,
                              .done = on_done};
        t_assert(pdl_http_start(h, &r) != 0);
        t_assert(s.n == 0 && pdl_http_open(h) == 1);
        for (int k = 0; k < 100 && s.n == 0; k++) pdl_loop_run(l, 100);
        t_assert(s.n == 1 && s.end == urls[i].want && s.status == 0 && pdl_http_open(h) == 0);
    }
    pdl_http_free(h);
    assert_false(pdl_loop_is_open(l));
    pdl_loop_free(l);
}

static void test_cancel(void **state) {
    (void)state;
    pdl_loop *l = pdl_loop_new();
    pdl_http *h = pdl_http_new(l, NULL);
    seen s = {0};
    pdl_http_request r = {
        .method = "GET", .url = "http://127.0.0.1:1/x", .user = &s, .done = on_done};
    uint64_t a = pdl_http_start(h, &r), b = pdl_http_start(h, &r);
    assert_true(a != b);
    pdl_http_cancel(h, a);
    pdl_http_cancel(h, a);
    pdl_http_cancel(h, 12345);
    for (int k = 0; k < 100 && pdl_http_open(h); k++) pdl_loop_run(l, 100);
    assert_int_equal(s.n, 1);
    pdl_http_start(h, &r); /* left open: freed with the client */
    pdl_http_free(h);
    assert_int_equal(s.n, 1);
    pdl_loop_free(l);
}

static void test_headers(void **state) {
    (void)state;
    pdl_http_reply r = {
        .header_text =
            PDL_STR("HTTP/1.1 200 OK\r\nRetry-After:  7 \r\nX: a\r\nEmpty:\r\nx: b\r\n\r\n")};
    t_assert_str(pdl_http_header(&r, "retry-after"), "7");
    t_assert_str(pdl_http_header(&r, "X"), "b");
    assert_non_null(pdl_http_header(&r, "empty").p);
    assert_null(pdl_http_header(&r, "retry").p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_failures),
                                       cmocka_unit_test(test_cancel),
                                       cmocka_unit_test(test_headers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
