/* filters_value.c -- filters on single values: numbers, conversion, defaults, JSON. Numbers are
 * read and rounded as in Python: digits of any script count, and a half is rounded to an even
 * digit. The filters `int` and `float` return their default where Python's functions would fail.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/num.h"
#include "base/utf8.h"
#include "native/natives.h"
#include "value/int.h"
#include "value/json_write.h"
#include "value/label.h"
#include "value/memo.h"
#include "value/pyvalues.h"
#include "value/text.h"

#include "base/banned.h"

/* --- conversion to numbers -------------------------------------------------------------------- */

enum { MAX_NUMBER_TEXT = 4096 }; /* a longer text is not a number that a person has written */

/* Appends the text of a float in ASCII: digits of any script become 0-9, and single underscores
 * between digits are removed. Returns false for other underscores and for other characters outside
 * of ASCII. */
static bool plain_number(pdl_str s, pdl_buf *out) {
    const char *p = s.p, *end = s.p + s.n;
    bool digit = false, under = false;
    while (p < end) {
        uint32_t cp = pdl_utf8_next(&p);
        int d = pdl_cp_digit_value(cp);
        if (cp == '_') {
            if (!digit) return false;
            digit = false;
            under = true;
            continue;
        }
        if (under && d < 0) return false;
        under = false;
        digit = d >= 0;
        if (d >= 0)
            pdl_buf_putc(out, (char)('0' + d));
        else if (cp < 0x80)
            pdl_buf_putc(out, (char)cp);
        else
            return false;
    }
    return !under;
}

static bool float_word(pdl_str s, double *out) {
    bool neg = s.n && s.p[0] == '-';
    if (s.n && (s.p[0] == '-' || s.p[0] == '+')) s = pdl_str_sub(s, 1, s.n);
    double v;
    if (pdl_str_eq_nocase(s, PDL_STR("inf")) || pdl_str_eq_nocase(s, PDL_STR("infinity")))
        v = INFINITY;
    else if (pdl_str_eq_nocase(s, PDL_STR("nan")))
        v = NAN;
    else
        return false;
    *out = neg ? -v : v;
    return true;
}

static bool float_from_text(pdl_str s, double *out) {
    pdl_str t = pdl_strip_text(s, (pdl_str){0}, true, true, true);
    if (t.n == 0 || t.n > MAX_NUMBER_TEXT) return false;
    if (float_word(t, out)) return true;
    pdl_buf b = PDL_BUF;
    bool ok = plain_number(t, &b) && pdl_num_read_double(pdl_buf_str(&b), out);
    pdl_buf_fini(&b);
    return ok;
}

/* Returns the text from which a number is read. It is the empty text, which is not a number, for
 * bytes that are not ASCII or that have one of the separators U+001C to U+001F: in bytes, these are
 * not blanks. */
static pdl_str number_text(pdl_vref v) {
    if (pdl_is_str(v)) return pdl_str_get(v);
    pdl_str s = pdl_bytes_get(v);
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c >= 0x80 || (c >= 0x1c && c <= 0x1f)) return (pdl_str){0};
    }
    return s;
}

bool pdl_float_from(pdl_vref v, double *out, pdl_err *err) {
    if (pdl_is(v, PDL_V_UNDEFINED)) return pdl_undefined_error(v, err);
    if (pdl_is_number(v)) {
        double d = pdl_num_to_double(v);
        if (pdl_is(v, PDL_V_BIGINT) && isinf(d))
            return pdl_err_host(err, "OverflowError", "int too large to convert to float");
        *out = d;
        return true;
    }
    if (!pdl_is_str(v) && !pdl_is(v, PDL_V_BYTES))
        return pdl_err_host(err, "TypeError",
                            "float() argument must be a string or a real number, not '%s'",
                            pdl_py_type(v));
    if (float_from_text(number_text(v), out)) return true;
    pdl_buf b = PDL_BUF;
    pdl_val_show(v, true, 300, &b);
    pdl_err_host(err, "ValueError", "could not convert string to float: %s", pdl_buf_z(&b));
    pdl_buf_fini(&b);
    return false;
}

/* Returns true when err is a failed conversion for which the filters return their default. */
static bool is_caught(const pdl_err *err, bool overflow) {
    if (!err->py_class) return false;
    return strcmp(err->py_class, "ValueError") == 0 || strcmp(err->py_class, "TypeError") == 0 ||
           (overflow && strcmp(err->py_class, "OverflowError") == 0);
}

bool pdl_f_float(PDL_ARGS) {
    double d;
    pdl_err why = {0};
    if (pdl_float_from(argv[0], &d, &why)) {
        *out = pdl_float(d);
        return true;
    }
    if (!is_caught(&why, false)) {
        pdl_err_move(err, &why);
        return false;
    }
    pdl_err_fini(&why);
    *out = pdl_is_absent(argv[1]) ? pdl_float(0.0) : pdl_keep(argv[1]);
    return true;
}

/* Computes int(v, base). Returns false for a failure after which the filter makes a second
 * attempt. */
static bool int_from(pdl_vref v, pdl_vref base_arg, pdl_val *out) {
    if (pdl_is_str(v) || pdl_is(v, PDL_V_BYTES)) {
        int64_t base = 10;
        bool bytes = pdl_is(v, PDL_V_BYTES);
        if (!pdl_is_absent(base_arg) && !bytes &&
            !((pdl_is_int(base_arg) || pdl_is_bool(base_arg)) && pdl_int_get(base_arg, &base)))
            return false;
        if (base != 0 && (base < 2 || base > 36)) return false;
        return pdl_int_read(number_text(v), (int)base, out);
    }
    if (pdl_is(v, PDL_V_BOOL))
        *out = pdl_int(pdl_bool_of(v));
    else if (pdl_is_int(v))
        *out = pdl_keep(v);
    else
        return pdl_is(v, PDL_V_FLOAT) && pdl_int_from_double(pdl_float_of(v), out);
    return true;
}

bool pdl_f_int(PDL_ARGS) {
    pdl_vref v = argv[0];
    if (int_from(v, argv[2], out)) return true;
    if (pdl_is(v, PDL_V_FLOAT) && isinf(pdl_float_of(v)))
        return pdl_err_host(err, "OverflowError", "cannot convert float infinity to integer");
    double d;
    pdl_err why = {0};
    if (pdl_float_from(v, &d, &why)) {
        if (pdl_int_from_double(d, out)) return true;
    } else if (!is_caught(&why, true)) {
        pdl_err_move(err, &why);
        return false;
    }
    pdl_err_fini(&why);
    *out = pdl_is_absent(argv[1]) ? pdl_int(0) : pdl_keep(argv[1]);
    return true;
}

/* --- abs, round ------------------------------------------------------------------------------- */

bool pdl_f_abs(PDL_ARGS) {
    if (!pdl_is_number(argv[0]))
        return pdl_err_host(err, "TypeError", "bad operand type for abs(): '%s'",
                            pdl_py_type(argv[0]));
    *out = pdl_num_abs(argv[0]);
    return true;
}

enum {
    MAX_DIGITS = 323,      /* rounding to more digits changes no float */
    DOUBLE_DECIMALS = 1100 /* the exact value of a double has fewer digits */
};

/* Rounds x to a multiple of 10 ** (e + 1), for 10 ** e <= |x| < 10 ** (e + 1). The result is 0 or
 * one unit; a tie goes to 0. */
static double round_first_digit(double x, int e) {
    char t[DOUBLE_DECIMALS + 32];
    (void)snprintf(t, sizeof t, "%.*e", DOUBLE_DECIMALS - 100, fabs(x));
    bool above = t[0] > '5';
    if (t[0] == '5')
        for (const char *p = t + 2; *p && *p != 'e' && !above; p++) above = *p != '0';
    if (!above) return copysign(0.0, x);
    (void)snprintf(t, sizeof t, "1e%d", e + 1);
    return copysign(strtod(t, NULL), x);
}

/* Rounds to even, using the exact binary value. */
static double round_double(double x, int64_t digits) {
    if (!isfinite(x) || x == 0 || digits > MAX_DIGITS) return x;
    if (digits < -MAX_DIGITS) return copysign(0.0, x);
    char t[2 * DOUBLE_DECIMALS];
    if (digits >= 0) {
        (void)snprintf(t, sizeof t, "%.*f", (int)digits, x);
        return strtod(t, NULL);
    }
    (void)snprintf(t, sizeof t, "%.17e", x);
    int e = (int)strtol(strchr(t, 'e') + 1, NULL, 10);
    if (fabs(x) >= 10 && e > 0) { /* printing may have rounded up to the next power */
        char u[32];
        (void)snprintf(u, sizeof u, "1e%d", e);
        if (fabs(x) < strtod(u, NULL)) e--;
    }
    int64_t places = e + digits;
    if (places < -1) return copysign(0.0, x);
    if (places == -1) return round_first_digit(x, e);
    (void)snprintf(t, sizeof t, "%.*e", (int)places, x);
    return strtod(t, NULL);
}

/* Rounds an integer to a multiple of 10 ** -digits, half to even. The result is v minus the rest of
 * its division by this unit. One unit is added when the rest is more than half a unit, or when it
 * is half a unit and the quotient is odd. */
static bool round_int(pdl_vref v, int64_t digits, pdl_val *out, pdl_err *err) {
    if (digits >= 0) {
        *out = pdl_is_bool(v) ? pdl_int(pdl_bool_of(v)) : pdl_keep(v);
        return true;
    }
    if (digits < -(int64_t)(pdl_int_bit_length(v) / 3 + 2)) {
        *out = pdl_int(0);
        return true;
    }
    pdl_val unit = pdl_absent(), rest = pdl_absent(), twice = pdl_absent(), low = pdl_absent(),
            q = pdl_absent(), odd = pdl_absent();
    bool ok = pdl_val_arith(PDL_OP_POW, pdl_int(10), pdl_int(-digits), &unit, err) &&
              pdl_val_arith(PDL_OP_MOD, v, unit, &rest, err) &&
              pdl_val_arith(PDL_OP_ADD, rest, rest, &twice, err) &&
              pdl_val_arith(PDL_OP_SUB, v, rest, &low, err) &&
              pdl_val_arith(PDL_OP_FLOORDIV, low, unit, &q, err) &&
              pdl_val_arith(PDL_OP_MOD, q, pdl_int(2), &odd, err);
    if (ok) {
        int c = pdl_num_cmp(twice, unit);
        bool up = c > 0 || (c == 0 && pdl_val_truth(odd));
        if (up)
            ok = pdl_val_arith(PDL_OP_ADD, low, unit, out, err);
        else
            *out = pdl_keep(low);
    }
    pdl_val all[] = {unit, rest, twice, low, q, odd};
    for (size_t i = 0; i < PDL_N_COUNT(all); i++) pdl_drop(all[i]);
    return ok;
}

static bool int_of_double(double d, pdl_val *out, pdl_err *err) {
    if (isnan(d)) return pdl_err_host(err, "ValueError", "cannot convert float NaN to integer");
    if (isinf(d))
        return pdl_err_host(err, "OverflowError", "cannot convert float infinity to integer");
    (void)pdl_int_from_double(d, out);
    return true;
}

bool pdl_round(pdl_vref v, bool has_digits, int64_t digits, pdl_val *out, pdl_err *err) {
    if (pdl_is_int(v) || pdl_is_bool(v)) return round_int(v, has_digits ? digits : 0, out, err);
    if (!pdl_is(v, PDL_V_FLOAT))
        return pdl_err_host(err, "TypeError", "type %s doesn't define __round__ method",
                            pdl_py_type(v));
    double d = round_double(pdl_float_of(v), has_digits ? digits : 0);
    if (!has_digits) return int_of_double(d, out, err);
    if (isinf(d) && !isinf(pdl_float_of(v)))
        return pdl_err_host(err, "OverflowError", "rounded value too large to represent");
    *out = pdl_float(d);
    return true;
}

/* Computes math.ceil or math.floor. */
static bool to_whole(pdl_vref v, bool up, pdl_val *out, pdl_err *err) {
    if (pdl_is_int(v) || pdl_is_bool(v)) return round_int(v, 0, out, err);
    if (!pdl_is(v, PDL_V_FLOAT))
        return pdl_err_host(err, "TypeError", "must be real number, not %s", pdl_py_type(v));
    double d = pdl_float_of(v);
    return int_of_double(up ? ceil(d) : floor(d), out, err);
}

/* Computes to_whole(v * 10 ** precision) / 10 ** precision. */
static bool round_towards(pdl_vref v, pdl_vref precision, bool up, pdl_val *out, pdl_err *err) {
    pdl_val unit = pdl_absent(), scaled = pdl_absent(), whole = pdl_absent();
    bool ok = pdl_val_arith(PDL_OP_POW, pdl_int(10),
                            pdl_is_absent(precision) ? pdl_int(0) : precision, &unit, err) &&
              pdl_val_arith(PDL_OP_MUL, v, unit, &scaled, err) &&
              to_whole(scaled, up, &whole, err) && pdl_val_arith(PDL_OP_DIV, whole, unit, out, err);
    pdl_drop(unit);
    pdl_drop(scaled);
    pdl_drop(whole);
    return ok;
}

bool pdl_f_round(PDL_ARGS) {
    bool common = pdl_is_absent(argv[2]) || pdl_text_is(argv[2], "common");
    bool up = !common && pdl_text_is(argv[2], "ceil");
    if (!common && !up && !pdl_text_is(argv[2], "floor"))
        return pdl_err_host(err, "FilterArgumentError", "method must be common, ceil or floor");
    if (!common && pdl_is(argv[0], PDL_V_UNDEFINED)) return pdl_undefined_error(argv[0], err);
    if (!common) return round_towards(argv[0], argv[1], up, out, err);
    int64_t digits = 0;
    bool has_digits = !pdl_is_null(argv[1]);
    if (has_digits && pdl_is_number(argv[0]) && !pdl_arg_int(argv[1], &digits, err)) return false;
    return pdl_round(argv[0], has_digits, digits, out, err);
}

/* --- sizes ------------------------------------------------------------------------------------ */

static bool size_in_units(double bytes, bool binary, pdl_val *out, pdl_err *err) {
    static const char prefixes[] = "kMGTPEZY";
    static const double decimal[] = {1e6, 1e9, 1e12, 1e15, 1e18, 1e21, 1e24, 1e27};
    double base = binary ? 1024 : 1000, unit = 0;
    size_t i = 0;
    for (; i < 8; i++) {
        unit = binary ? ldexp(1, 10 * (int)(i + 2)) : decimal[i];
        if (bytes < unit || (!binary && i == 6 && bytes == unit))
            break; /* the double that represents 10 ** 24 is smaller than 10 ** 24 */
    }
    if (i == 8) i = 7;
    pdl_buf b = PDL_BUF;
    pdl_format_double(base * bytes / unit, 'f', 1, false, &b);
    if (binary)
        pdl_buf_putf(&b, " %ciB", prefixes[i] == 'k' ? 'K' : prefixes[i]);
    else
        pdl_buf_putf(&b, " %cB", prefixes[i]);
    return pdl_text_like(&b, pdl_absent(), out, err);
}

bool pdl_f_filesizeformat(PDL_ARGS) {
    double bytes = 0;
    bool binary = false;
    if (!pdl_arg_truth(env, argv[1], &binary, err) || !pdl_float_from(argv[0], &bytes, err))
        return false;
    if (bytes == 1) {
        *out = pdl_textz("1 Byte");
        return true;
    }
    if (!(bytes < (binary ? 1024 : 1000))) return size_in_units(bytes, binary, out, err);
    pdl_val whole;
    if (!int_of_double(trunc(bytes), &whole, err)) return false;
    pdl_buf b = PDL_BUF;
    pdl_int_write(whole, 10, &b);
    pdl_drop(whole);
    PDL_PUT(&b, " Bytes");
    return pdl_text_like(&b, pdl_absent(), out, err);
}

bool pdl_f_length(PDL_ARGS) {
    size_t n = 0;
    if (!pdl_is(argv[0], PDL_V_UNDEFINED) && !pdl_val_len(argv[0], &n))
        return pdl_err_host(err, "TypeError", "object of type '%s' has no len()",
                            pdl_py_type(argv[0]));
    *out = pdl_int((int64_t)n);
    return true;
}

/* --- values as they are ----------------------------------------------------------------------- */

bool pdl_f_attr(PDL_ARGS) {
    if (pdl_is(argv[0], PDL_V_UNDEFINED)) return pdl_undefined_error(argv[0], err);
    if (!pdl_is_str(argv[1]))
        return pdl_err_host(err, "TypeError", "attribute name must be string, not '%s'",
                            pdl_py_type(argv[1]));
    pdl_str name = pdl_str_get(argv[1]);
    if (!pdl_own_attr(argv[0], name, out)) *out = pdl_no_attribute(argv[0], name);
    return true;
}

bool pdl_f_default(PDL_ARGS) {
    bool boolean = false, use = pdl_is(argv[0], PDL_V_UNDEFINED);
    if (!use && !pdl_arg_truth(env, argv[2], &boolean, err)) return false;
    if (!use && boolean) use = !pdl_val_truth(argv[0]);
    if (!use)
        *out = pdl_keep(argv[0]);
    else
        *out = pdl_is_absent(argv[1]) ? pdl_text((pdl_str){"", 0}) : pdl_keep(argv[1]);
    return true;
}

bool pdl_f_string(PDL_ARGS) { return pdl_arg_text(env, argv[0], out, err); }

bool pdl_f_pprint(PDL_ARGS) {
    pdl_buf b = PDL_BUF;
    if (!pdl_val_pprint(argv[0], &b, err)) {
        pdl_buf_fini(&b);
        return false;
    }
    return pdl_text_like(&b, pdl_absent(), out, err);
}

bool pdl_f_random(PDL_ARGS) {
    size_t n = 0;
    if (!pdl_is(argv[0], PDL_V_UNDEFINED) && !pdl_val_len(argv[0], &n))
        return pdl_err_host(err, "TypeError", "object of type '%s' has no len()",
                            pdl_py_type(argv[0]));
    if (n == 0) {
        *out = pdl_undefined(pdl_textz("No random item, sequence was empty."));
        return true;
    }
    if (!env->random)
        return pdl_err_host(err, "TemplateRuntimeError", "no source of random numbers here");
    if (pdl_is(argv[0], PDL_V_SET) || pdl_is(argv[0], PDL_V_VIEW))
        return pdl_err_host(err, "TypeError", "'%s' object is not subscriptable",
                            pdl_py_type(argv[0]));
    size_t i = (size_t)(env->random(env->user) * (double)n);
    if (!pdl_item(argv[0], pdl_int((int64_t)(i < n ? i : n - 1)), out, err)) return false;
    *out = pdl_with_label(*out, PDL_LABEL_clock | PDL_LABEL_FREE);
    return true;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void put_htmlsafe(pdl_str s, pdl_buf *out) {
    for (size_t i = 0; i < s.n && pdl_walk_may_continue_at(i); i++) {
        char c = s.p[i];
        if (c == '<' || c == '>' || c == '&' || c == '\'')
            pdl_buf_putf(out, "\\u%04x", (unsigned)c);
        else
            pdl_buf_putc(out, c);
    }
}

/* Returns true when a dict has a key that is not a text, at any depth that can be written. */
static bool has_other_keys(pdl_vref v, unsigned depth, pdl_steps *steps) {
    bool dict = pdl_is_dict(v);
    if ((!dict && !pdl_is_seq(v)) || depth > PDL_MAX_JSON_DEPTH || !pdl_steps_may_continue(steps))
        return false;
    size_t n = dict ? pdl_dict_len(v) : pdl_list_len(v);
    for (size_t i = 0; i < n && pdl_walk_may_continue_at(i); i++) {
        if (dict && !pdl_is_str(pdl_dict_key_at(v, i))) return true;
        if (has_other_keys(dict ? pdl_dict_val_at(v, i) : pdl_list_at(v, i), depth + 1, steps))
            return true;
    }
    return false;
}

static bool in_key_order(pdl_memo *m, pdl_vref v, unsigned depth, pdl_val *out, pdl_err *err);

/* Sorts the places of the entries, because an entry with the key NaN cannot be found by its key. */
static bool dict_in_order(pdl_memo *m, pdl_vref d, unsigned depth, pdl_val *out, pdl_err *err) {
    size_t n = pdl_dict_len(d);
    pdl_val keys = pdl_list_new(n), places = pdl_list_new(n);
    pdl_val sorted = pdl_absent(), r = pdl_dict_new(n);
    for (size_t i = 0; i < n && pdl_walk_may_continue_at(i); i++) {
        keys = pdl_list_push(keys, pdl_keep(pdl_dict_key_at(d, i)));
        places = pdl_list_push(places, pdl_int((int64_t)i));
    }
    bool ok = pdl_check_walk(err) && pdl_sorted(places, keys, false, &sorted, err);
    for (size_t i = 0; ok && i < n; i++) {
        pdl_val x;
        int64_t at = 0;
        ok = pdl_check_cancel_at(i, err) && pdl_int_get(pdl_list_at(sorted, i), &at) &&
             in_key_order(m, pdl_dict_val_at(d, (size_t)at), depth + 1, &x, err);
        if (ok) r = pdl_dict_put(r, pdl_keep(pdl_dict_key_at(d, (size_t)at)), x);
    }
    pdl_drop(sorted);
    pdl_drop(places);
    pdl_drop(keys);
    if (ok)
        *out = r;
    else
        pdl_drop(r);
    return ok;
}

static bool list_in_order(pdl_memo *m, pdl_vref v, unsigned depth, pdl_val *out, pdl_err *err) {
    pdl_val r = pdl_list_new(pdl_list_len(v)), x;
    for (size_t i = 0; i < pdl_list_len(v); i++) {
        if (!in_key_order(m, pdl_list_at(v, i), depth + 1, &x, err)) {
            pdl_drop(r);
            return false;
        }
        r = pdl_list_push(r, x);
    }
    *out = r;
    return true;
}

/* Returns v with the keys of all dicts sorted as in Python. Like in Python, this fails for keys of
 * different kinds. */
static bool in_key_order(pdl_memo *m, pdl_vref v, unsigned depth, pdl_val *out, pdl_err *err) {
    pdl_vref known;
    if (depth > PDL_MAX_JSON_DEPTH)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "value is nested deeper than %d levels",
                           PDL_MAX_JSON_DEPTH);
    if (!pdl_is_dict(v) && !pdl_is_seq(v)) {
        *out = pdl_keep(v);
        return true;
    }
    if (pdl_memo_find(m, v, 0, &known)) {
        *out = pdl_keep(known);
        return true;
    }
    if (!pdl_check_cancel_at(m->visits, err) ||
        !(pdl_is_dict(v) ? dict_in_order(m, v, depth, out, err)
                         : list_in_order(m, v, depth, out, err)))
        return false;
    pdl_memo_put(m, v, 0, *out);
    return true;
}

static bool write_sorted(pdl_vref v, const pdl_str *unit, pdl_buf *b, pdl_err *err) {
    const int flags = PDL_JSON_ASCII | PDL_JSON_SPACED | PDL_JSON_NAN | PDL_JSON_CONTEXT;
    pdl_steps steps = {0};
    bool other = has_other_keys(v, 0, &steps);
    if (!pdl_check_walk(err)) return false;
    if (!other) return pdl_json_write_lines(v, flags | PDL_JSON_SORT, unit, b, err);
    pdl_val ordered;
    pdl_memo memo = {0};
    bool sorted = in_key_order(&memo, v, 0, &ordered, err);
    pdl_memo_fini(&memo);
    if (!sorted) return false;
    bool ok = pdl_json_write_lines(ordered, flags, unit, b, err);
    pdl_drop(ordered);
    return ok;
}

enum { MAX_UNIT = 1000 }; /* maximum number of bytes of indentation for each level */

/* Stores in *unit the indentation that an argument gives as a number of blanks or as a text. */
static bool indent_unit(pdl_vref arg, pdl_buf *unit, pdl_err *err) {
    int64_t n = 0;
    if (pdl_is_str(arg))
        n = (int64_t)pdl_str_get(arg).n;
    else if (!pdl_is_int(arg) && !pdl_is_bool(arg))
        return pdl_err_host(err, "TypeError", "can't multiply sequence by non-int of type '%s'",
                            pdl_py_type(arg));
    else if (!pdl_arg_int(arg, &n, err))
        return false;
    if (n > MAX_UNIT)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "indentation is longer than %d bytes",
                           MAX_UNIT);
    if (pdl_is_str(arg)) pdl_buf_put(unit, pdl_str_get(arg));
    for (int64_t i = pdl_is_str(arg) ? n : 0; i < n; i++) pdl_buf_putc(unit, ' ');
    return true;
}

bool pdl_f_tojson(PDL_ARGS) {
    if (pdl_is(argv[0], PDL_V_UNDEFINED))
        return pdl_err_host(err, "TypeError", "Object of type %sUndefined is not JSON serializable",
                            env->lenient ? "" : "Strict");
    pdl_buf b = PDL_BUF, safe = PDL_BUF, indent = PDL_BUF;
    bool ok = !pdl_given(argv[1]) || indent_unit(argv[1], &indent, err);
    pdl_str unit = pdl_buf_str(&indent);
    ok = ok && write_sorted(argv[0], pdl_given(argv[1]) ? &unit : NULL, &b, err);
    if (ok) {
        put_htmlsafe(pdl_buf_str(&b), &safe);
        ok = pdl_text_like(&safe, pdl_absent(), out, err);
        if (ok) *out = pdl_with_flags(*out, PDL_F_SAFE);
    }
    if (!ok && err->kind == PDL_E_type) err->kind = PDL_E_expression;
    pdl_buf_fini(&b);
    pdl_buf_fini(&safe);
    pdl_buf_fini(&indent);
    return ok;
}

/* --- sum -------------------------------------------------------------------------------------- */

/* Computes acc + x. Takes acc. Lists grow in place. */
static bool add_to(pdl_val acc, pdl_vref x, pdl_val *out, pdl_err *err) {
    if (pdl_is(x, PDL_V_UNDEFINED)) {
        pdl_drop(acc);
        return pdl_undefined_error(x, err);
    }
    if (pdl_is_seq(acc) && pdl_tag_of(acc) == pdl_tag_of(x)) {
        if (pdl_list_len(acc) + pdl_list_len(x) > PDL_MAX_RANGE_ITEMS) {
            pdl_drop(acc);
            return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "list is longer than %d items",
                               PDL_MAX_RANGE_ITEMS);
        }
        *out = pdl_list_concat(acc, x);
        return true;
    }
    bool ok = pdl_val_arith(PDL_OP_ADD, acc, x, out, err);
    pdl_drop(acc);
    return ok;
}

bool pdl_f_sum(PDL_ARGS) {
    pdl_val acc = pdl_is_absent(argv[2]) ? pdl_int(0) : pdl_keep(argv[2]), items;
    if (!pdl_arg_list(env, argv[0], &items, err)) {
        pdl_drop(acc);
        return false;
    }
    bool ok = !pdl_is_str(acc) && !pdl_is(acc, PDL_V_BYTES);
    if (!ok) {
        bool text = pdl_is_str(acc);
        pdl_drop(acc);
        pdl_err_host(err, "TypeError", "sum() can't sum %s [use %s''.join(seq) instead]",
                     text ? "strings" : "bytes", text ? "" : "b");
    }
    pdl_getter g;
    pdl_getter_init(&g, pdl_is_null(argv[1]) ? pdl_absent() : argv[1], false, false);
    for (size_t i = 0; ok && i < pdl_list_len(items); i++) {
        pdl_val x;
        ok = pdl_getter_get(&g, pdl_list_at(items, i), &x, err);
        if (!ok) {
            pdl_drop(acc);
            break;
        }
        ok = add_to(acc, x, &acc, err);
        pdl_drop(x);
    }
    pdl_getter_fini(&g);
    pdl_drop(items);
    if (ok) *out = acc;
    return ok;
}
