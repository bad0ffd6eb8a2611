/* test_sse.c -- lines and events, whole and cut at every byte.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/sse.h"

#include "t.h"

#include "base/banned.h"

typedef struct row {
    const char *in, *want; /* want: events as name|data; */
} row;

static const row events[] = {
    {"data: a\n\n", "|a;"},
    {"data: a\r\n\r\ndata: b\r\n\r\n", "|a;|b;"},
    {"data: a\r\rdata: b\r\r", "|a;|b;"},
    {"data:a\ndata:  b\n\n", "|a\n b;"},
    {": comment\n\n: more\ndata: x\n\n", "|x;"},
    {"event: ping\ndata: {}\n\ndata: y\n\n", "ping|{};|y;"},
    {"id: 1\nretry: 5\nfoo: bar\ndata: z\n\n", "|z;"},
    {"data\n\n", "|;"},
    {"\xef\xbb\xbf"
     "data: bom\n\n",
     "|bom;"},
    {"data: no blank line", "|no blank line;"},
    {"data: no blank line\n", "|no blank line;"},
    {"event: lost\n\n", ""},
    {"data: \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\n\n", "|\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80;"},
    {"data: bad \xff byte\n\n", "|bad \xef\xbf\xbd byte;"},
    {"\n\n\n", ""},
    {"data: a\n\n\n\ndata: b\n\n", "|a;|b;"},
    {"data: a: b\n\n", "|a: b;"},
    {"dataset: a\n\n", ""},
};

static bool note(void *user, pdl_str name, pdl_str data, pdl_err *err) {
    pdl_buf *out = user;
    (void)err;
    pdl_buf_put(out, name);
    pdl_buf_putc(out, '|');
    pdl_buf_put(out, data);
    pdl_buf_putc(out, ';');
    return true;
}

static void check_cut(const row *r, size_t first, size_t step) {
    pdl_sse s = {0};
    pdl_err err = {0};
    pdl_buf out = PDL_BUF;
    pdl_str in = t_str(r->in);
    for (size_t pos = 0, n = first; pos < in.n; pos += n, n = step)
        t_assert(pdl_sse_feed(&s, pdl_str_sub(in, pos, pos + n), note, &out, &err));
    t_assert(pdl_sse_end(&s, note, &out, &err));
    t_assert_str(pdl_buf_str(&out), r->want);
    pdl_buf_fini(&out);
    pdl_sse_fini(&s);
}

/* The id of the last complete event, and the time to wait. */
static const struct {
    const char *in, *id;
    uint64_t retry_ms;
} places[] = {
    {"", "", 0},
    {"id: 1\ndata: a\n\n", "1", 0},
    {"id: 1\ndata: a\n\nid: 2\ndata: b\n", "1", 0}, /* the second is not complete */
    {"id: 1\ndata: a\n\nid: 2\n\n", "2", 0},        /* an event without data counts */
    {"id: 1\ndata: a\n\ndata: b\n\n", "1", 0},      /* an id holds on */
    {"id: 1\ndata: a\n\nid\ndata: b\n\n", "", 0},   /* until it is taken back */
    {"id: a\tb\ndata: a\n\n", "", 0},               /* what no header can carry is none */
    {"retry: 250\n\n", "", 250},
    {"retry: 250\nretry: -1\nretry: x\nretry: 99999999999\n\n", "", 250},
};

static void test_places(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(places); i++) {
        pdl_sse s = {0};
        pdl_err err = {0};
        pdl_buf out = PDL_BUF;
        T_ROW(i);
        t_assert(pdl_sse_feed(&s, t_str(places[i].in), note, &out, &err));
        t_assert(pdl_sse_end(&s, note, &out, &err));
        t_assert_str(pdl_buf_str(&s.id), places[i].id);
        assert_int_equal(s.retry_ms, places[i].retry_ms);
        pdl_buf_fini(&out);
        pdl_sse_fini(&s);
    }
}

static void test_events(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(events); i++) {
        T_ROW(i);
        size_t n = strlen(events[i].in);
        check_cut(&events[i], n, n);
        for (size_t cut = 1; cut < n; cut++) check_cut(&events[i], cut, n);
        for (size_t step = 1; step < 4; step++) check_cut(&events[i], step, step);
    }
}

static bool note_line(void *user, pdl_str line, pdl_err *err) {
    return note(user, (pdl_str){0}, line, err);
}

static void test_lines(void **state) {
    (void)state;
    pdl_lines r = {0};
    pdl_err err = {0};
    pdl_buf out = PDL_BUF;
    assert_true(pdl_lines_feed(&r, PDL_STR("{\"a\":1}\n{\"b\""), note_line, &out, &err));
    assert_true(pdl_lines_feed(&r, PDL_STR(":2}\r"), note_line, &out, &err));
    assert_true(pdl_lines_feed(&r, PDL_STR("\n\nlast"), note_line, &out, &err));
    assert_true(pdl_lines_end(&r, note_line, &out, &err));
    t_assert_str(pdl_buf_str(&out), "|{\"a\":1};|{\"b\":2};|;|last;");
    pdl_buf_fini(&out);
    pdl_lines_fini(&r);
}

static void test_limit(void **state) {
    (void)state;
    for (int whole = 0; whole < 2; whole++) {
        pdl_lines r = {.max_line = 8};
        pdl_err err = {0};
        pdl_buf out = PDL_BUF;
        assert_true(pdl_lines_feed(&r, PDL_STR("12345678\n"), note_line, &out, &err));
        pdl_str more = whole ? PDL_STR("123456789\n") : PDL_STR("123456789");
        assert_false(pdl_lines_feed(&r, more, note_line, &out, &err));
        assert_int_equal(err.kind, PDL_E_limit);
        pdl_err_fini(&err);
        pdl_buf_fini(&out);
        pdl_lines_fini(&r);
    }
}

static bool stop(void *user, pdl_str line, pdl_err *err) {
    (void)line;
    (void)err;
    return ++*(int *)user < 2;
}

static void test_stop(void **state) {
    (void)state;
    pdl_lines r = {0};
    pdl_err err = {0};
    int n = 0;
    assert_false(pdl_lines_feed(&r, PDL_STR("a\nb\nc\n"), stop, &n, &err));
    assert_int_equal(n, 2);
    assert_int_equal(err.kind, PDL_E_NONE);
    pdl_lines_fini(&r);
}

static void test_write(void **state) {
    (void)state;
    static const char *const data[] = {"a", "", "a\nb", "a\r\nb\n", "\xc3\xa4"};
    static const char *const back[] = {"e|a;", "e|;", "e|a\nb;", "e|a\nb\n;", "e|\xc3\xa4;"};
    for (size_t i = 0; i < T_LEN(data); i++) {
        T_ROW(i);
        pdl_buf wire = PDL_BUF, out = PDL_BUF;
        pdl_sse s = {0};
        pdl_err err = {0};
        pdl_sse_write(PDL_STR("e"), t_str(data[i]), &wire);
        t_assert(pdl_sse_feed(&s, pdl_buf_str(&wire), note, &out, &err));
        t_assert_str(pdl_buf_str(&out), back[i]);
        pdl_sse_fini(&s);
        pdl_buf_fini(&wire);
        pdl_buf_fini(&out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events), cmocka_unit_test(test_lines), cmocka_unit_test(test_limit),
        cmocka_unit_test(test_stop),   cmocka_unit_test(test_write), cmocka_unit_test(test_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
