/* test_format.c -- printf formats, format(), str.format.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "native/native.h"
#include "value/json_read.h"
#include "value/text.h"

#include "base/banned.h"

static pdl_val json(const char *z) {
    pdl_val v = pdl_null();
    pdl_err err = {0};
    t_assert(pdl_json_read(t_str(z), 0, &v, NULL, &err));
    return v;
}

/* got, or the error with a ! in front. */
static void expect(bool ok, pdl_val got, pdl_err *err, const char *want) {
    pdl_buf b = PDL_BUF;
    if (ok) {
        pdl_buf_put(&b, pdl_str_get(got));
        pdl_drop(got);
    } else {
        pdl_buf_putf(&b, "!%s", err->msg);
    }
    t_assert_str(pdl_buf_str(&b), want);
    pdl_buf_fini(&b);
    pdl_err_fini(err);
}

typedef struct {
    const char *format, *args, *want;
} row;

static void percent(void **state) {
    (void)state;
    static const row rows[] = {
        {"%d|%5d|%-5d|%05d|%+d", "[1,2,3,4,5]", "1|    2|3    |00004|+5"},
        {"%s %r %a", "[\"a\",\"b\",\"\u00e9\"]", "a 'b' '\\xe9'"},
        {"%x %#X %o %.5d", "[255,255,8,3]", "ff 0XFF 10 00003"},
        {"%e %.2f %g %G", "[1.5,2.345,1e20,1e-10]", "1.500000e+00 2.35 1e+20 1E-10"},
        {"%*d%%", "[4,7]", "   7%"},
        {"%.2s%c%c", "[\"abc\",65,\"z\"]", "abAz"},
        {"%d", "[\"x\"]", "!%d format: a real number is required, not str"},
        {"%x", "[1.5]", "!%x format: an integer is required, not float"},
        {"%s %s", "[1]", "!not enough arguments for format string"},
        {"%s", "[1,2]", "!not all arguments converted during string formatting"},
        {"%", "[1]", "!incomplete format"},
        {"%z", "[1]", "!unsupported format character 'z' (0x7a) at index 1"},
        {"%d", "[1000000000000000000000]", "1000000000000000000000"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_val f = pdl_textz(rows[i].format), args = pdl_list_as_tuple(json(rows[i].args)),
                got = pdl_null();
        pdl_err err = {0};
        bool ok = pdl_format_percent(f, args, false, &got, &err);
        expect(ok, got, &err, rows[i].want);
        pdl_drop(f), pdl_drop(args);
    }
}

static void percent_by_key(void **state) {
    (void)state;
    pdl_val f = pdl_textz("%(a)s %(b)03d"), args = json("{\"a\":\"x\",\"b\":5}"), got = pdl_null();
    pdl_err err = {0};
    bool ok = pdl_format_percent(f, args, false, &got, &err);
    expect(ok, got, &err, "x 005");
    pdl_drop(f), pdl_drop(args);
}

static void one_value(void **state) {
    (void)state;
    static const row rows[] = {
        {"", "1.0", "1.0"},
        {">6", "\"ab\"", "    ab"},
        {"*^7.2", "\"abc\"", "**ab***"},
        {"05", "\"a\"", "a0000"},
        {"06d", "-42", "-00042"},
        {",", "1234567", "1,234,567"},
        {"010,", "1234", "00,001,234"},
        {"_x", "1048575", "f_ffff"},
        {"#b", "5", "0b101"},
        {"+.1f", "2.25", "+2.2"},
        {".3", "123.0", "1.23e+02"},
        {".4", "123.0", "123.0"},
        {"%", "0.5", "50.000000%"},
        {".1%", "0.1234", "12.3%"},
        {"e", "12345.678", "1.234568e+04"},
        {"c", "97", "a"},
        {"z.0f", "-0.4", "0"},
        {"#.3", "2.5", "2.50"},
        {"5", "true", "    1"},
        {"d", "\"x\"", "!Unknown format code 'd' for object of type 'str'"},
        {"s", "5", "!Unknown format code 's' for object of type 'int'"},
        {"5.", "5", "!Format specifier missing precision"},
        {",s", "5", "!Cannot specify ',' with 's'."},
        {".2", "5", "!Precision not allowed in integer format specifier"},
        {"=5", "\"a\"", "!'=' alignment not allowed in string format specifier"},
        {"5", "[1]", "!unsupported format string passed to list.__format__"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_val x = json(rows[i].args), got = pdl_null();
        pdl_err err = {0};
        bool ok = pdl_format_value(x, t_str(rows[i].format), &got, &err);
        expect(ok, got, &err, rows[i].want);
        pdl_drop(x);
    }
}

static void braces(void **state) {
    (void)state;
    static const row rows[] = {
        {"{}-{}", "[1,\"a\"]", "1-a"},
        {"{1}{0}{{}}", "[1,2]", "21{}"},
        {"{0[k][1]!r:>5}", "[{\"k\":[0,\"x\"]}]", "  'x'"},
        {"{:{}}|", "[\"a\",3]", "a  |"},
        {"{:{}}", "[\"a\",\">3\"]", "  a"},
        {"{a:.1f}", "[]", "2.5"},
        {"{}{0}", "[1]",
         "!cannot switch from automatic field numbering to manual field specification"},
        {"{}", "[]", "!Replacement index 0 out of range for positional args tuple"},
        {"{b}", "[]", "!'b'"},
        {"{", "[]", "!Single '{' encountered in format string"},
        {"}", "[]", "!Single '}' encountered in format string"},
        {"{0", "[1]", "!expected '}' before end of string"},
        {"{0.}", "[1]", "!Empty attribute in format string"},
        {"{0[9]}", "[[1]]", "!list index out of range"},
    };
    pdl_val named = json("{\"a\":2.5}");
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_val args = json(rows[i].args), got = pdl_null(), pos[4];
        for (size_t k = 0; k < pdl_list_len(args); k++) pos[k] = pdl_list_at(args, k);
        pdl_err err = {0};
        bool ok =
            pdl_format_braces(t_str(rows[i].format), pos, pdl_list_len(args), named, &got, &err);
        expect(ok, got, &err, rows[i].want);
        pdl_drop(args);
    }
    pdl_drop(named);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percent),
        cmocka_unit_test(percent_by_key),
        cmocka_unit_test(one_value),
        cmocka_unit_test(braces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
