/* test_int.c -- arithmetic of numbers, and operators on any operands. Results and texts are those
 * of Python 3.11.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include <math.h>

#include "base/limits.h"
#include "base/num.h"
#include "value/int.h"
#include "value/label.h"
#include "value/pyvalues.h"

#include "base/banned.h"

/* Number as written: float when it has a dot, an exponent or is inf/nan. True/False are bools. */
static pdl_val num(const char *z) {
    pdl_val v;
    double d;
    if (!strcmp(z, "True") || !strcmp(z, "False")) return pdl_bool(z[0] == 'T');
    if (!strcmp(z, "inf")) return pdl_float((double)INFINITY);
    if (!strcmp(z, "-inf")) return pdl_float(-(double)INFINITY);
    if (pdl_int_read_decimal(t_str(z), &v)) return v;
    t_assert(pdl_num_read_double(t_str(z), &d));
    return pdl_float(d);
}

/* repr of a number, or "Class: text". */
static void show(bool ok, pdl_val v, pdl_err *err, pdl_buf *out) {
    char digits[PDL_NUM_MAX];
    pdl_buf_clear(out);
    if (!ok)
        pdl_buf_putf(out, "%s: %s", err->py_class ? err->py_class : pdl_err_kind_name(err->kind),
                     err->msg);
    else if (pdl_is(v, PDL_V_FLOAT))
        pdl_buf_put(out, (pdl_str){digits, pdl_num_double(pdl_float_of(v), digits)});
    else
        pdl_int_write(v, 10, out);
    if (ok) pdl_drop(v);
    pdl_err_fini(err);
}

#define ZERO_DIV "ZeroDivisionError: "
#define OVER     "OverflowError: "

static void numbers(void **state) {
    (void)state;
    static const struct {
        const char *a;
        pdl_arith op;
        const char *b, *want;
    } rows[] = {
        {"9223372036854775807", PDL_OP_ADD, "1", "9223372036854775808"},
        {"9223372036854775808", PDL_OP_SUB, "1", "9223372036854775807"},
        {"-9223372036854775808", PDL_OP_MUL, "-1", "9223372036854775808"},
        {"-9223372036854775808", PDL_OP_FLOORDIV, "-1", "9223372036854775808"},
        {"-9223372036854775808", PDL_OP_MOD, "-1", "0"},
        {"-7", PDL_OP_FLOORDIV, "2", "-4"},
        {"-7", PDL_OP_MOD, "2", "1"},
        {"7", PDL_OP_MOD, "-2", "-1"},
        {"True", PDL_OP_ADD, "True", "2"},
        {"1", PDL_OP_DIV, "0", ZERO_DIV "division by zero"},
        {"1", PDL_OP_FLOORDIV, "False", ZERO_DIV "integer division or modulo by zero"},
        {"1", PDL_OP_MOD, "0", ZERO_DIV "integer modulo by zero"},
        {"1.0", PDL_OP_DIV, "0", ZERO_DIV "float division by zero"},
        {"1", PDL_OP_FLOORDIV, "0.0", ZERO_DIV "float floor division by zero"},
        {"1", PDL_OP_MOD, "0.0", ZERO_DIV "float modulo"},
        {"0", PDL_OP_POW, "-1", ZERO_DIV "0.0 cannot be raised to a negative power"},
        {"2", PDL_OP_POW, "100", "1267650600228229401496703205376"},
        {"2", PDL_OP_POW, "-1074", "5e-324"},
        {"2", PDL_OP_POW, "0", "1"},
        {"-3", PDL_OP_POW, "-3", "-0.037037037037037035"},
        {"-1", PDL_OP_POW, "100000000000000000000001", "-1"},
        {"10", PDL_OP_POW, "100000000000", "limit: integer is longer than 4194304 bits"},
        {"1e200", PDL_OP_POW, "2", OVER "(34, 'Numerical result out of range')"},
        {"1", PDL_OP_DIV, "3", "0.3333333333333333"},
        {"0", PDL_OP_DIV, "-5", "-0.0"},
        {"100000000000000000000", PDL_OP_DIV, "3", "3.333333333333333e+19"},
        {"9007199254740993", PDL_OP_DIV, "1", "9007199254740992.0"},
        {"1267650600228229401496703205377", PDL_OP_DIV, "1267650600228229401496703205376", "1.0"},
        {"-5", PDL_OP_MOD, "inf", "inf"},
        {"5", PDL_OP_FLOORDIV, "-inf", "-1.0"},
        {"-0.0", PDL_OP_MOD, "3", "0.0"},
        {"5.5", PDL_OP_FLOORDIV, "-2", "-3.0"},
        {"5.5", PDL_OP_MOD, "-2", "-0.5"},
    };
    size_t start = pdl_live_objects();
    pdl_buf out = PDL_BUF;
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_val a = pdl_with_label(num(rows[i].a), 1), b = pdl_with_label(num(rows[i].b), 2),
                r = pdl_absent();
        pdl_err err = {0};
        bool ok = pdl_val_arith(rows[i].op, a, b, &r, &err);
        t_assert(!ok || pdl_label_origins(pdl_label_of(r)) == 3);
        show(ok, r, &err, &out);
        t_assert_str(pdl_buf_str(&out), rows[i].want);
        pdl_drop(a), pdl_drop(b);
    }
    pdl_buf_fini(&out);
    t_assert(pdl_live_objects() == start);
}

static pdl_val seq(int n, bool tuple) {
    pdl_val l = pdl_list_new(0);
    for (int i = 0; i < n; i++) l = pdl_list_push(l, pdl_int(i));
    return tuple ? pdl_list_as_tuple(l) : l;
}

static void refused(void **state) {
    (void)state;
    pdl_val s = pdl_textz("x"), i = pdl_int(3), l = seq(1, false), t = seq(1, true),
            f = pdl_float(1.5);
    pdl_val d = pdl_dict_new(0), n = pdl_null(), y = pdl_bytes(PDL_STR("x")),
            huge = pdl_int(INT64_MAX);
    pdl_time day = {.year = 2024, .month = 1, .day = 2};
    pdl_val date;
    pdl_err err = {0};
    t_assert(pdl_date_new(&day, &date, &err));
    const struct {
        pdl_val a;
        pdl_arith op;
        pdl_val b;
        const char *want;
    } rows[] = {
        {i, PDL_OP_ADD, s, "unsupported operand type(s) for +: 'int' and 'str'"},
        {s, PDL_OP_ADD, i, "can only concatenate str (not \"int\") to str"},
        {l, PDL_OP_ADD, t, "can only concatenate list (not \"tuple\") to list"},
        {t, PDL_OP_ADD, i, "can only concatenate tuple (not \"int\") to tuple"},
        {y, PDL_OP_ADD, s, "can't concat str to bytes"},
        {s, PDL_OP_MUL, s, "can't multiply sequence by non-int of type 'str'"},
        {f, PDL_OP_MUL, l, "can't multiply sequence by non-int of type 'float'"},
        {s, PDL_OP_SUB, i, "unsupported operand type(s) for -: 'str' and 'int'"},
        {i, PDL_OP_POW, s, "unsupported operand type(s) for ** or pow(): 'int' and 'str'"},
        {n, PDL_OP_FLOORDIV, i, "unsupported operand type(s) for //: 'NoneType' and 'int'"},
        {d, PDL_OP_ADD, d, "unsupported operand type(s) for +: 'dict' and 'dict'"},
        {date, PDL_OP_ADD, i, "unsupported operand type(s) for +: 'datetime.date' and 'int'"},
        {s, PDL_OP_MUL, huge, "repetition makes more than 2147483647 items or bytes"},
    };
    for (size_t k = 0; k < T_LEN(rows); k++) {
        T_ROW(k);
        pdl_val r;
        t_assert(!pdl_val_arith(rows[k].op, rows[k].a, rows[k].b, &r, &err));
        t_assert_str(t_str(err.msg), rows[k].want);
        pdl_err_fini(&err);
    }
    pdl_drop(s), pdl_drop(l), pdl_drop(t), pdl_drop(d), pdl_drop(y), pdl_drop(date);
}

static void sequences(void **state) {
    (void)state;
    size_t start = pdl_live_objects();
    pdl_err err = {0};
    pdl_val a = seq(2, false), b = seq(3, false), two = pdl_int(2), none = pdl_int(-1), r;
    t_assert(pdl_val_arith(PDL_OP_ADD, a, b, &r, &err) && pdl_list_len(r) == 5 &&
             pdl_list_len(a) == 2);
    pdl_drop(r);
    t_assert(pdl_val_arith(PDL_OP_MUL, two, b, &r, &err) && pdl_list_len(r) == 6);
    pdl_drop(r);
    t_assert(pdl_val_arith(PDL_OP_MUL, b, none, &r, &err) && pdl_list_len(r) == 0);
    pdl_drop(r), pdl_drop(a), pdl_drop(b);
    pdl_val s = pdl_textz("a<"), safe = pdl_with_flags(pdl_textz("<b>"), PDL_F_SAFE);
    t_assert(pdl_val_arith(PDL_OP_ADD, s, safe, &r, &err) && pdl_text_is(r, "a&lt;<b>"));
    t_assert(pdl_flags_of(r) & PDL_F_SAFE);
    pdl_drop(r);
    t_assert(pdl_val_arith(PDL_OP_ADD, safe, s, &r, &err) && pdl_text_is(r, "<b>a&lt;"));
    pdl_drop(r);
    t_assert(pdl_val_arith(PDL_OP_MUL, safe, two, &r, &err) && pdl_text_is(r, "<b><b>"));
    t_assert(pdl_flags_of(r) & PDL_F_SAFE);
    pdl_drop(r), pdl_drop(s), pdl_drop(safe);
    t_assert(pdl_live_objects() == start);
}

static void reading(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int base;
        const char *want; /* NULL: not an integer */
    } rows[] = {
        {" 42\n", 10, "42"},
        {"-1_000", 10, "-1000"},
        {"1__0", 10, NULL},
        {"_1", 10, NULL},
        {"1_", 10, NULL},
        {"0x1F", 16, "31"},
        {"0x_1f", 0, "31"},
        {"ff", 16, "255"},
        {"0b101", 0, "5"},
        {"0b12", 0, NULL},
        {"0b1", 16, "177"},
        {"010", 0, NULL},
        {"00", 0, "0"},
        {"010", 10, "10"},
        {"", 10, NULL},
        {"+", 10, NULL},
        {"- 1", 10, NULL},
        {"1.0", 10, NULL},
        {"zz", 36, "1295"},
        {"0x", 16, NULL},
        {"\xc2\xa0"
         "7\xe2\x80\x83",
         10, "7"},
        {"\xd9\xa3\xd9\xa4", 10, "34"},
        {"-340282366920938463463374607431768211456", 10,
         "-340282366920938463463374607431768211456"},
    };
    pdl_buf out = PDL_BUF;
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_val v;
        bool ok = pdl_int_read(t_str(rows[i].text), rows[i].base, &v);
        t_assert(ok == (rows[i].want != NULL));
        if (!ok) continue;
        pdl_buf_clear(&out);
        pdl_int_write(v, 10, &out);
        t_assert_str(pdl_buf_str(&out), rows[i].want);
        pdl_drop(v);
    }
    pdl_buf_fini(&out);
}

/* Powers and digits at the ceiling of an integer; beyond it nothing is computed. */
static void largest(void **state) {
    (void)state;
    static const struct {
        int64_t base, exponent;
        bool fits;
    } powers[] = {
        {2, PDL_MAX_INT_BITS - 1, true},
        {2, PDL_MAX_INT_BITS, false},
        {-2, PDL_MAX_INT_BITS, false},
        {3, 2646200, true},
        {3, 2646400, false},
        {INT64_MAX, 66000, true},
        {INT64_MAX, 67000, false},
        {7, INT64_MAX, false},
    };
    static const struct {
        int base;
        size_t digits; /* each of them 1 */
        bool fits;
    } texts[] = {{2, PDL_MAX_INT_BITS, true},
                 {2, PDL_MAX_INT_BITS + 1, false},
                 {16, PDL_MAX_INT_BITS / 4, true},
                 {16, PDL_MAX_INT_BITS / 4 + 1, false},
                 {10, 1262000, true},
                 {10, 1263000, false},
                 {36, PDL_MAX_INT_BITS / 5, false},
                 {10, 400000000, false}};
    for (size_t i = 0; i < T_LEN(powers); i++) {
        T_ROW(i);
        pdl_val r = pdl_absent();
        pdl_err err = {0};
        bool ok = pdl_val_arith(PDL_OP_POW, pdl_int(powers[i].base), pdl_int(powers[i].exponent),
                                &r, &err);
        t_assert(ok == powers[i].fits && (ok || err.kind == PDL_E_limit));
        if (ok) t_assert(pdl_int_bit_length(r) <= PDL_MAX_INT_BITS);
        pdl_drop(r);
        pdl_err_fini(&err);
    }
    for (size_t i = 0; i < T_LEN(texts); i++) {
        T_ROW(i);
        char *digits = pdl_alloc(texts[i].digits);
        pdl_val v = pdl_absent();
        memset(digits, '1', texts[i].digits);
        bool ok = pdl_int_read((pdl_str){digits, texts[i].digits}, texts[i].base, &v);
        t_assert(ok == texts[i].fits);
        if (ok) t_assert(pdl_int_bit_length(v) <= PDL_MAX_INT_BITS);
        pdl_drop(v);
        pdl_free(digits);
    }
}

static void comparing(void **state) {
    (void)state;
    static const struct {
        const char *a, *b;
        int want;
    } rows[] = {
        {"9007199254740993", "9007199254740992.0", 1},
        {"9223372036854775807", "9223372036854775808.0", -1},
        {"100000000000000000000", "1e20", 0},
        {"-100000000000000000001", "-1e20", -1},
        {"99999999999999999999999", "inf", -1},
        {"-99999999999999999999999", "-inf", 1},
        {"3", "3.5", -1},
        {"-3", "-3.5", 1},
        {"True", "1.0", 0},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_val a = num(rows[i].a), b = num(rows[i].b);
        t_assert(pdl_num_cmp(a, b) == rows[i].want && pdl_num_cmp(b, a) == -rows[i].want);
        pdl_drop(a), pdl_drop(b);
    }
    t_assert(pdl_num_cmp(pdl_int(1), pdl_float((double)NAN)) == 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers),   cmocka_unit_test(refused),
                                       cmocka_unit_test(sequences), cmocka_unit_test(reading),
                                       cmocka_unit_test(comparing), cmocka_unit_test(largest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
