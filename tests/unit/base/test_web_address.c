/* test_web_address.c -- addresses of the web in normal form.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/web_address.h"

#include <string.h>

#include "t.h"

#include "base/banned.h"

static const struct {
    const char *text, *want; /* NULL: it is refused */
} addresses[] = {
    {"http://example.org", "http://example.org/"},
    {" HTTP://Example.ORG:80/a#b ", "http://example.org/a"},
    {"https://example.org:443?q=1", "https://example.org/?q=1"},
    {"http://example.org:443/", "http://example.org:443/"},
    {"http://example.org./x", "http://example.org/x"},
    {"http://127.0.0.1:8080/x?y#z", "http://127.0.0.1:8080/x?y"},
    {"http://[::1]:99/", "http://[::1]:99/"},
    {"http://a/b/../c/./d/", "http://a/c/d/"},
    {"http://a/../../x", "http://a/x"},
    {"http://a/b/%2e%2E/c", "http://a/c"},
    {"http://a/b/..", "http://a/"},
    {"http://a/\xc3\xb6?\xc3\xb6", "http://a/%C3%B6?%C3%B6"},
    {"http://a/%zz?a=b&c[]=d|e", "http://a/%zz?a=b&c[]=d|e"},
    {"http://a/<x>", "http://a/%3Cx%3E"},
    {"http://x:0/", NULL},
    {"http://x:65536/", NULL},
    {"http://x:8o/", NULL},
    {"http://user@x/", NULL},
    {"http://a\\@b/", NULL},
    {"http://a b/", NULL},
    {"http://a\tb/", NULL},
    {"http:///x", NULL},
    {"http:/x", NULL},
    {"http://.x/", NULL},
    {"http://x..y/", NULL},
    {"http://127.1/", NULL},
    {"http://0177.0.0.1/", NULL},
    {"http://0x7f000001/", NULL},
    {"http://1.2.3.256/", NULL},
    {"http://x%2ey/", NULL},
    {"http://\xc3\xb6.de/", NULL},
    {"ftp://x/", NULL},
    {"file:///etc/passwd", NULL},
    {"//x/y", NULL},
    {"", NULL},
};

static void addresses_have_one_form(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(addresses); i++) {
        T_ROW(i);
        pdl_buf b = PDL_BUF, again = PDL_BUF;
        pdl_err err = {0};
        bool ok = pdl_web_address_read(pdl_str_of(addresses[i].text), &b, &err);
        assert_int_equal(ok, addresses[i].want != NULL);
        assert_int_equal(err.kind, ok ? PDL_E_NONE : PDL_E_bad_request);
        if (ok) {
            assert_string_equal(pdl_buf_z(&b), addresses[i].want);
            assert_true(pdl_web_address_read(pdl_buf_str(&b), &again, &err));
            assert_string_equal(pdl_buf_z(&again), addresses[i].want);
        }
        pdl_err_fini(&err);
        pdl_buf_fini(&b);
        pdl_buf_fini(&again);
    }
}

static const struct {
    const char *reference, *want;
} references[] = {
    {"x", "http://a/b/x"},
    {"./x", "http://a/b/x"},
    {"../x", "http://a/x"},
    {"/x", "http://a/x"},
    {"?x", "http://a/b/c?x"},
    {"#x", "http://a/b/c?q"},
    {"", "http://a/b/c?q"},
    {"//x/y", "http://x/y"},
    {"https://x", "https://x/"},
    {"../../../x", "http://a/x"},
    {"x?y/../z", "http://a/b/x?y/../z"},
    {"file:///x", NULL},
    {"javascript:x", NULL},
    {"//u@x/", NULL},
    {"a b", NULL},
    {"\\x", NULL},
};

static void references_are_resolved(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(references); i++) {
        T_ROW(i);
        pdl_buf b = PDL_BUF;
        pdl_err err = {0};
        bool ok = pdl_web_address_join(PDL_STR("http://a/b/c?q"),
                                       pdl_str_of(references[i].reference), &b, &err);
        assert_int_equal(ok, references[i].want != NULL);
        if (ok) assert_string_equal(pdl_buf_z(&b), references[i].want);
        pdl_err_fini(&err);
        pdl_buf_fini(&b);
    }
}

static void addresses_have_parts(void **state) {
    (void)state;
    pdl_str s = PDL_STR("http://[::1]:80/a?b"), t = PDL_STR("https://x.org/");
    assert_true(pdl_str_is(pdl_web_address_origin(s), "http://[::1]:80"));
    assert_true(pdl_str_is(pdl_web_address_authority(s), "[::1]:80"));
    assert_true(pdl_str_is(pdl_web_address_host(s), "[::1]"));
    assert_true(pdl_str_is(pdl_web_address_target(s), "/a?b"));
    assert_true(pdl_str_is(pdl_web_address_host(t), "x.org"));
    assert_true(pdl_str_is(pdl_web_address_target(t), "/"));
}

static void passwords_are_not_shown(void **state) {
    (void)state;
    pdl_buf text = PDL_BUF, out = PDL_BUF;
    for (int n = 1; n < 200; n += 66) {
        pdl_err err = {0};
        pdl_buf_clear(&text);
        PDL_PUT(&text, "http://me:");
        for (int i = 0; i < n; i++) PDL_PUT(&text, "pw");
        PDL_PUT(&text, "@x.org/");
        assert_false(pdl_web_address_read(pdl_buf_str(&text), &out, &err));
        assert_null(strstr(err.msg, "pw"));
        pdl_err_fini(&err);
    }
    pdl_buf_fini(&text);
    pdl_buf_fini(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_have_one_form), cmocka_unit_test(references_are_resolved),
        cmocka_unit_test(addresses_have_parts), cmocka_unit_test(passwords_are_not_shown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
