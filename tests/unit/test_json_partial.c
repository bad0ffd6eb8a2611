/* test_json_partial.c -- beginnings of JSON: what is certain, and that later beginnings never contradict earlier ones. */
#include "value/json_partial.h"

#include "base/utf8.h"
#include "t.h"
#include "value/json_read.h"
#include "value/json_write.h"

static const struct {
    const char *text, *want; /* NULL: absent */
} rows[] = {
    {"", NULL},
    {"  ", NULL},
    {"tru", NULL},
    {"\"abc\"", NULL},
    {"{", "{}"},
    {"{\"a", "{}"},
    {"{\"a\"", "{}"},
    {"{\"a\":", "{}"},
    {"{\"a\": 1", "{}"},
    {"{\"a\": 1,", "{\"a\":1}"},
    {"{\"a\": 12}", "{\"a\":12}"},
    {"{\"a\": \"", "{\"a\":\"\"}"},
    {"{\"a\": \"x\\", "{\"a\":\"x\"}"},
    {"{\"a\": \"x\\u00e", "{\"a\":\"x\"}"},
    {"{\"a\": \"x\\ud83d\\ude0", "{\"a\":\"x\"}"},
    {"{\"a\": \"x\\n", "{\"a\":\"x\\n\"}"},
    {"{\"a\": [1, [2, {\"b\": tr", "{\"a\":[1,[2,{}]]}"},
    {"[\"a\", \"b\"], [", "[\"a\",\"b\"]"},
    {"```json\n{\"a\": [", "{\"a\":[]}"},
    {"{]", "{}"},
    {"[1 2]", NULL},
};

static pdl_str shown(pdl_vref v, pdl_buf *out) {
    pdl_err err = {0};
    pdl_buf_clear(out);
    if (!pdl_is_absent(v)) assert_true(pdl_json_write(v, 0, 0, out, &err));
    return pdl_buf_str(out);
}

static void what_is_certain(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(rows); i++) {
        pdl_buf out = PDL_BUF;
        T_ROW(i);
        pdl_val v = pdl_json_partial(t_str(rows[i].text));
        t_assert_str(shown(v, &out), rows[i].want ? rows[i].want : "");
        t_assert(pdl_is_absent(v) == !rows[i].want);
        pdl_drop(v);
        pdl_buf_fini(&out);
    }
}

/* Is b what a became by more text? */
static bool extends(pdl_vref a, pdl_vref b) {
    if (pdl_is_absent(a)) return true;
    if (pdl_is_str(a)) return pdl_is_str(b) && pdl_str_starts(pdl_str_get(b), pdl_str_get(a));
    if (pdl_is_list(a)) {
        if (!pdl_is_list(b) || pdl_list_len(b) < pdl_list_len(a)) return false;
        for (size_t i = 0; i < pdl_list_len(a); i++)
            if (!extends(pdl_list_at(a, i), pdl_list_at(b, i))) return false;
        return true;
    }
    if (!pdl_is_dict(a)) return pdl_val_eq(a, b);
    for (size_t i = 0; i < pdl_dict_len(a); i++)
        if (!pdl_is_dict(b) || !extends(pdl_dict_val_at(a, i), pdl_dict_find(b, pdl_dict_key_at(a, i)))) return false;
    return true;
}

static void only_extended(void **state) {
    static const char text[] = "{\"name\": \"Gr\\u00fc\xc3\x9f\\ud83d\\ude00e \\\"x\\\"\", \"n\": -12.5e3, \"list\": [1, 22, [], {}, "
                               "[true, false, null], \"z\"], \"deep\": {\"a\": {\"b\": [[[\"c\"]]]}}, \"end\": 7}";
    pdl_val last = pdl_absent(), whole;
    pdl_err err = {0};
    (void)state;
    assert_true(pdl_json_read(t_str(text), 0, &whole, NULL, &err));
    for (size_t n = 0; n <= sizeof text - 1; n++) {
        T_ROW(n);
        if (pdl_utf8_check((pdl_str){text, n}) != PDL_NOT_FOUND) continue; /* cut inside of a character */
        pdl_val v = pdl_json_partial((pdl_str){text, n});
        t_assert(extends(last, v));
        t_assert(extends(v, whole));
        pdl_drop(last);
        last = v;
    }
    assert_true(pdl_val_eq(last, whole));
    pdl_drop(last);
    pdl_drop(whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_certain), cmocka_unit_test(only_extended)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
