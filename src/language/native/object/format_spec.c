/* format_spec.c -- computes format(x, spec). A spec has the form
 * [[fill]align][sign][z][#][0][width][grouping][.precision][type].
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>
#include <stdlib.h>

#include "base/num.h"
#include "base/utf8.h"
#include "native/natives.h"
#include "value/int.h"
#include "value/pyvalues.h"
#include "value/text.h"

#include "base/banned.h"

enum { MAX_PRECISION = 1000000 }; /* maximum precision of a float */

/* A parsed spec. A member that the spec does not have is 0, but fill and align have their
 * defaults. */
typedef struct {
    pdl_str fill;
    char align, sign, group, type_ascii;
    uint32_t type;
    bool alt, no_neg_zero, has_align, zero, has_precision;
    int64_t width, precision;
} spec;

/* --- reading ---------------------------------------------------------------------------------- */

static bool is_align(int c) { return c == '<' || c == '>' || c == '=' || c == '^'; }

static bool read_digits(pdl_str s, size_t *i, int64_t *out, bool *any, pdl_err *err) {
    int64_t n = 0;
    *any = false;
    for (; *i < s.n && s.p[*i] >= '0' && s.p[*i] <= '9'; (*i)++) {
        *any = true;
        n = n * 10 + (s.p[*i] - '0');
        if (n > INT32_MAX)
            return pdl_err_host(err, "ValueError", "Too many decimal digits in format string");
    }
    *out = n;
    return true;
}

static bool invalid(pdl_str s, pdl_vref x, pdl_err *err) {
    return pdl_err_host(err, "ValueError",
                        "Invalid format specifier '%.*s' for object of type '%s'", PDL_FMT(s),
                        pdl_py_type(x));
}

/* Reads fill and alignment. Returns the number of their bytes. */
static size_t read_align(pdl_str s, spec *f) {
    if (s.n == 0) return 0;
    size_t n = pdl_utf8_len((unsigned char)s.p[0]);
    if (n < s.n && is_align(s.p[n])) {
        f->fill = pdl_str_sub(s, 0, n);
        f->align = s.p[n];
        f->has_align = true;
        return n + 1;
    }
    if (!is_align(s.p[0])) return 0;
    f->align = s.p[0];
    f->has_align = true;
    return 1;
}

static bool accept(pdl_str s, size_t *i, char c) {
    if (*i >= s.n || s.p[*i] != c) return false;
    ++*i;
    return true;
}

static bool read_grouping(pdl_str s, size_t *i, spec *f, pdl_err *err) {
    if (accept(s, i, ',')) f->group = ',';
    if (accept(s, i, '_')) {
        if (f->group) return pdl_err_host(err, "ValueError", "Cannot specify both ',' and '_'.");
        f->group = '_';
    }
    if (*i < s.n && s.p[*i] == ',' && f->group)
        return pdl_err_host(err, "ValueError",
                            f->group == ',' ? "Cannot specify ',' with ','."
                                            : "Cannot specify both ',' and '_'.");
    return true;
}

/* Returns true when the type allows the grouping. */
static bool check_grouping(const spec *f, pdl_err *err) {
    if (!f->group || !f->type) return true;
    if (strchr("defgEG%F", f->type_ascii)) return true;
    if (f->group == '_' && strchr("boxX", f->type_ascii)) return true;
    if (f->type > 32 && f->type < 128)
        return pdl_err_host(err, "ValueError", "Cannot specify '%c' with '%c'.", f->group,
                            f->type_ascii);
    return pdl_err_host(err, "ValueError", "Cannot specify '%c' with '\\x%x'.", f->group,
                        (unsigned)f->type);
}

/* Reads a spec. When it has no alignment, default_align is used. */
static bool read_spec(pdl_str s, pdl_vref x, char default_align, spec *f, pdl_err *err) {
    *f = (spec){.fill = PDL_STR(" "), .align = default_align};
    size_t i = read_align(s, f);
    bool filled = i > 1, any;
    if (i < s.n && (s.p[i] == '+' || s.p[i] == '-' || s.p[i] == ' ')) f->sign = s.p[i++];
    f->no_neg_zero = accept(s, &i, 'z');
    f->alt = accept(s, &i, '#');
    if (!filled && accept(s, &i, '0')) {
        f->fill = PDL_STR("0");
        f->zero = true;
        if (!f->has_align && default_align == '>') f->align = '=';
    }
    if (!read_digits(s, &i, &f->width, &any, err) || !read_grouping(s, &i, f, err)) return false;
    if (accept(s, &i, '.')) {
        if (!read_digits(s, &i, &f->precision, &any, err)) return false;
        if (!any) return pdl_err_host(err, "ValueError", "Format specifier missing precision");
        f->has_precision = true;
    }
    if (i == s.n) return true;
    const char *p = s.p + i;
    f->type = pdl_utf8_next(&p);
    if (p != s.p + s.n) return invalid(s, x, err);
    f->type_ascii = f->type < 0x80 ? (char)f->type : '?';
    return check_grouping(f, err);
}

static bool unknown_code(const spec *f, pdl_vref x, pdl_err *err) {
    if (f->type > 32 && f->type < 128)
        return pdl_err_host(err, "ValueError", "Unknown format code '%c' for object of type '%s'",
                            f->type_ascii, pdl_py_type(x));
    return pdl_err_host(err, "ValueError", "Unknown format code '\\x%x' for object of type '%s'",
                        (unsigned)f->type, pdl_py_type(x));
}

/* --- laying out ------------------------------------------------------------------------------- */

/* The parts of a number: sign, prefix, the digits before the point, and the rest. */
typedef struct {
    char sign; /* 0 when the number has no sign */
    pdl_str prefix, digits, rest;
} parts;

/* Returns the number of characters of `digits` digits in groups of `size`. */
static size_t grouped_len(size_t digits, size_t size) { return digits + (digits - 1) / size; }

/* Appends digits in groups of `size`, after as many zeros as make them min characters long. As in
 * Python, the text never begins with a separator, so the result may be one character longer. */
static bool put_grouped(pdl_str digits, char sep, size_t size, size_t min, pdl_buf *out,
                        pdl_err *err) {
    size_t n = digits.n;
    if (!sep)
        return pdl_buf_fill(out, PDL_STR("0"), min > n ? min - n : 0, err) &&
               pdl_buf_add(out, digits, err);
    size_t over = min % (size + 1),
           /* the number of digits that fit in min characters */
        most = min / (size + 1) * size + over;
    if (min && !over) most++;
    if (n < most) n = most;
    size_t len = grouped_len(n, size), from = out->len, done = 0;
    if (!pdl_buf_fill(out, PDL_STR("0"), len, err)) return false;
    for (size_t at = from + len; at > from; done++) { /* goes from right to left */
        if (done && done % size == 0) out->p[--at] = sep;
        --at;
        if (done < digits.n) out->p[at] = digits.p[digits.n - 1 - done];
    }
    return true;
}

static bool put_fill(pdl_buf *out, pdl_str fill, size_t n, pdl_err *err) {
    return pdl_pad_text(out, (pdl_str){"", 0}, n, 0, fill, err);
}

static bool lay_out(const spec *f, const parts *n, size_t group_size, pdl_buf *out, pdl_err *err) {
    size_t around = (n->sign ? 1 : 0) + n->prefix.n + pdl_utf8_count(n->rest),
           width = (size_t)f->width;
    bool zeros = f->align == '=' && f->fill.n == 1 && f->fill.p[0] == '0' && n->digits.n;
    if (width > PDL_MAX_TEXT) return pdl_too_long(err);
    pdl_buf mid = PDL_BUF;
    size_t min = zeros && width > around ? width - around : 0;
    if (n->digits.n && !put_grouped(n->digits, f->group, group_size, min, &mid, err)) {
        pdl_buf_fini(&mid);
        return false;
    }
    size_t len = around + mid.len, pad = width > len ? width - len : 0;
    size_t left = f->align == '>'   ? pad
                  : f->align == '^' ? pad / 2
                                    : 0,
           inner = f->align == '=' ? pad : 0;
    bool ok = put_fill(out, f->fill, left, err);
    if (ok && n->sign) pdl_buf_putc(out, n->sign);
    if (ok) pdl_buf_put(out, n->prefix);
    ok = ok && put_fill(out, f->fill, inner, err);
    if (ok) {
        pdl_buf_put(out, pdl_buf_str(&mid));
        pdl_buf_put(out, n->rest);
    }
    ok = ok && put_fill(out, f->fill, pad - left - inner, err);
    pdl_buf_fini(&mid);
    return ok;
}

static char sign_of(const spec *f, bool negative) {
    if (negative) return '-';
    return f->sign == '+' || f->sign == ' ' ? f->sign : 0;
}

/* --- text ------------------------------------------------------------------------------------- */

static bool format_text(pdl_vref x, pdl_str s, pdl_buf *out, pdl_err *err) {
    spec f;
    if (!read_spec(s, x, '<', &f, err)) return false;
    if (f.type && f.type != 's') return unknown_code(&f, x, err);
    if (f.group) return pdl_err_host(err, "ValueError", "Cannot specify '%c' with 's'.", f.group);
    if (f.sign)
        return pdl_err_host(err, "ValueError",
                            f.sign == ' ' ? "Space not allowed in string format specifier"
                                          : "Sign not allowed in string format specifier");
    if (f.no_neg_zero)
        return pdl_err_host(err, "ValueError",
                            "Negative zero coercion (z) not allowed in string format specifier");
    if (f.alt)
        return pdl_err_host(err, "ValueError",
                            "Alternate form (#) not allowed in string format specifier");
    if (f.align == '=')
        return pdl_err_host(err, "ValueError",
                            "'=' alignment not allowed in string format specifier");
    pdl_str t = pdl_str_get(x);
    size_t n = pdl_text_len_cp(x);
    if (f.has_precision && (size_t)f.precision < n) {
        n = (size_t)f.precision;
        t = pdl_str_sub(t, 0, pdl_utf8_offset(t, n));
    }
    size_t pad = (size_t)f.width > n ? (size_t)f.width - n : 0;
    size_t left = f.align == '>' ? pad : f.align == '^' ? pad / 2 : 0;
    return pdl_pad_text(out, t, left, pad - left, f.fill, err);
}

/* --- integers --------------------------------------------------------------------------------- */

static bool format_char(const spec *f, pdl_vref x, pdl_buf *out, pdl_err *err) {
    int64_t cp;
    if (f->sign)
        return pdl_err_host(err, "ValueError",
                            "Sign not allowed with integer format specifier 'c'");
    if (f->alt)
        return pdl_err_host(err, "ValueError",
                            "Alternate form (#) not allowed with integer format specifier 'c'");
    if (!pdl_int_get(x, &cp))
        return pdl_err_host(err, "OverflowError", "Python int too large to convert to C long");
    if (cp < 0 || cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000))
        return pdl_err_host(err, "OverflowError", "%%c arg not in range(0x110000)");
    char t[4];
    parts n = {.rest = {t, pdl_utf8_put((uint32_t)cp, t)}};
    return lay_out(f, &n, 3, out, err);
}

static bool format_int(pdl_vref x, const spec *f, pdl_buf *out, pdl_err *err) {
    if (f->has_precision)
        return pdl_err_host(err, "ValueError", "Precision not allowed in integer format specifier");
    if (f->no_neg_zero)
        return pdl_err_host(err, "ValueError",
                            "Negative zero coercion (z) not allowed in integer format specifier");
    if (f->type == 'c') return format_char(f, x, out, err);
    int base = f->type == 'b' ? 2 : f->type == 'o' ? 8 : f->type == 'x' || f->type == 'X' ? 16 : 10;
    pdl_buf b = PDL_BUF;
    pdl_vref v = pdl_is_bool(x) ? pdl_int(pdl_bool_of(x)) : x;
    pdl_int_write(v, base, &b);
    pdl_str digits = pdl_buf_str(&b);
    bool negative = digits.p[0] == '-';
    if (negative) digits = pdl_str_sub(digits, 1, digits.n);
    if (f->type == 'X')
        for (size_t i = 0; i < b.len; i++)
            if (b.p[i] >= 'a' && b.p[i] <= 'f') b.p[i] = (char)(b.p[i] - 'a' + 'A');
    char prefix[2] = {'0', f->type_ascii};
    parts n = {.sign = sign_of(f, negative), .digits = digits};
    if (f->alt && base != 10) n.prefix = (pdl_str){prefix, 2};
    bool ok = lay_out(f, &n, base == 10 ? 3 : 4, out, err);
    pdl_buf_fini(&b);
    return ok;
}

/* --- floats ----------------------------------------------------------------------------------- */

/* Appends a finite number. Each type has a separate call, because the compiler checks only literal
 * formats. */
static void put_finite(double v, char type, int p, bool alt, pdl_buf *out) {
    switch (type) {
    case 'e': alt ? pdl_buf_putf(out, "%#.*e", p, v) : pdl_buf_putf(out, "%.*e", p, v); break;
    case 'E': alt ? pdl_buf_putf(out, "%#.*E", p, v) : pdl_buf_putf(out, "%.*E", p, v); break;
    case 'f':
    case 'F': alt ? pdl_buf_putf(out, "%#.*f", p, v) : pdl_buf_putf(out, "%.*f", p, v); break;
    case 'G': alt ? pdl_buf_putf(out, "%#.*G", p, v) : pdl_buf_putf(out, "%.*G", p, v); break;
    default: alt ? pdl_buf_putf(out, "%#.*g", p, v) : pdl_buf_putf(out, "%.*g", p, v); break;
    }
}

enum { DEFAULT_PRECISION = 6 };

size_t pdl_format_fixed(double v, char type, int precision, bool alt, char out[PDL_NUM_MAX]) {
    if ((type != 'f' && type != 'F') || alt) return 0;
    return pdl_num_fixed(v, precision < 0 ? DEFAULT_PRECISION : precision, out);
}

void pdl_format_double(double v, char type, int precision, bool alt, pdl_buf *out) {
    char fixed[PDL_NUM_MAX];
    size_t n = pdl_format_fixed(v, type, precision, alt, fixed);
    if (precision < 0) precision = DEFAULT_PRECISION;
    bool upper = type == 'E' || type == 'F' || type == 'G';
    if (n > 0)
        pdl_buf_put(out, (pdl_str){fixed, n});
    else if (isnan(v))
        pdl_buf_put(out, upper ? PDL_STR("NAN") : PDL_STR("nan"));
    else if (isinf(v))
        pdl_buf_putf(out, "%s%s", v < 0 ? "-" : "", upper ? "INF" : "inf");
    else
        put_finite(v, type, precision, alt, out);
}

/* Appends "1.500e+10" without the zeros that end its fraction. */
static void put_trimmed(pdl_str s, pdl_buf *out) {
    size_t mark = (size_t)((const char *)memchr(s.p, 'e', s.n) - s.p), end = mark;
    if (memchr(s.p, '.', mark)) {
        while (s.p[end - 1] == '0') end--;
        if (s.p[end - 1] == '.') end--;
    }
    pdl_buf_put(out, pdl_str_sub(s, 0, end));
    pdl_buf_put(out, pdl_str_sub(s, mark, s.n));
}

/* Appends a number with a precision and without a type. The form is that of 'g' with two
 * differences: a number with as many digits before the point as the precision gets the exponent
 * form, and the other form has a digit after the point. */
static void put_general(double v, int precision, bool alt, pdl_buf *out) {
    if (precision == 0) precision = 1;
    pdl_buf b = PDL_BUF;
    put_finite(v, 'e', precision - 1, alt, &b);
    long e = strtol(strchr(b.p, 'e') + 1, NULL, 10);
    size_t at = out->len;
    if (e < -4 || e + 1 > precision - 1) { /* %g uses the exponent form from e == precision on */
        if (alt)
            pdl_buf_put(out, pdl_buf_str(&b));
        else
            put_trimmed(pdl_buf_str(&b), out);
    } else {
        put_finite(v, 'g', precision, alt, out);
        if (!memchr(out->p + at, '.', out->len - at)) PDL_PUT(out, ".0");
    }
    pdl_buf_fini(&b);
}

/* Appends the repr. With alt, a number with an exponent always has a point ("1.e-05"). */
static void put_shortest(double v, bool alt, pdl_buf *out) {
    char t[PDL_NUM_MAX];
    pdl_str s = {t, pdl_num_double(v, t)};
    const char *mark = memchr(s.p, 'e', s.n);
    if (!alt || !mark || !isfinite(v) || memchr(s.p, '.', s.n)) {
        pdl_buf_put(out, s);
        return;
    }
    pdl_buf_put(out, (pdl_str){s.p, (size_t)(mark - s.p)});
    pdl_buf_putc(out, '.');
    pdl_buf_put(out, (pdl_str){mark, s.n - (size_t)(mark - s.p)});
}

/* Returns 0 when v was printed as zero ("-0.00"), else v. */
static double without_neg_zero(double v, const pdl_buf *printed) {
    for (size_t i = 0; i < printed->len && printed->p[i] != 'e'; i++)
        if (printed->p[i] >= '1' && printed->p[i] <= '9') return v;
    return 0.0;
}

static void print_double(double v, const spec *f, pdl_buf *b) {
    int precision = f->has_precision ? (int)f->precision : -1;
    char type = f->type ? f->type_ascii : 0;
    if (type == 'n') type = 'g';
    if (type == '%') {
        pdl_format_double(v * 100, 'f', precision, f->alt, b);
        pdl_buf_putc(b, '%');
    } else if (type) {
        pdl_format_double(v, type, precision, f->alt, b);
    } else if (precision >= 0 && isfinite(v)) {
        put_general(v, precision, f->alt, b);
    } else {
        put_shortest(v, f->alt, b);
    }
}

static bool format_float(double v, const spec *f, pdl_buf *out, pdl_err *err) {
    if (f->precision > MAX_PRECISION) return pdl_err_host(err, "ValueError", "precision too big");
    pdl_buf b = PDL_BUF;
    print_double(v, f, &b);
    if (f->no_neg_zero && signbit(v) && isfinite(v)) {
        double w = without_neg_zero(v, &b);
        pdl_buf_clear(&b);
        print_double(w, f, &b);
    }
    pdl_str s = pdl_buf_str(&b);
    bool negative = s.n && s.p[0] == '-';
    if (negative) s = pdl_str_sub(s, 1, s.n);
    size_t n = 0;
    while (n < s.n && s.p[n] >= '0' && s.p[n] <= '9') n++;
    parts p = {.sign = sign_of(f, negative),
               .digits = pdl_str_sub(s, 0, n),
               .rest = pdl_str_sub(s, n, s.n)};
    bool ok = lay_out(f, &p, 3, out, err);
    pdl_buf_fini(&b);
    return ok;
}

static bool format_number(pdl_vref x, pdl_str s, pdl_buf *out, pdl_err *err) {
    spec f;
    if (!read_spec(s, x, '>', &f, err)) return false;
    bool is_float = pdl_is(x, PDL_V_FLOAT);
    if (!is_float && (!f.type || (f.type < 0x80 && strchr("bcdoxXn", f.type_ascii))))
        return format_int(x, &f, out, err);
    if ((f.type && (f.type >= 0x80 || !strchr("eEfFgGn%", f.type_ascii))))
        return unknown_code(&f, x, err);
    double d;
    return pdl_float_from(x, &d, err) && format_float(d, &f, out, err);
}

/* --- public ----------------------------------------------------------------------------------- */

static bool format_into(pdl_vref x, pdl_str s, pdl_buf *out, pdl_err *err) {
    if (s.n == 0) return pdl_val_str(x, out, err);
    if (pdl_is_str(x)) return format_text(x, s, out, err);
    if (pdl_is_number(x)) return format_number(x, s, out, err);
    if (pdl_is(x, PDL_V_DATE) || pdl_is(x, PDL_V_DATETIME)) {
        pdl_val t;
        if (!pdl_time_strftime(x, s, &t, err)) return false;
        pdl_buf_put(out, pdl_str_get(t));
        pdl_drop(t);
        return true;
    }
    return pdl_err_host(err, "TypeError", "unsupported format string passed to %s.__format__",
                        pdl_type_name(x));
}

bool pdl_format_value(pdl_vref x, pdl_str s, pdl_val *out, pdl_err *err) {
    if (s.n == 0 && pdl_is_str(x) && !pdl_is_safe(x)) {
        *out = pdl_keep(x);
        return true;
    }
    pdl_buf b = PDL_BUF;
    bool ok = format_into(x, s, &b, err) && pdl_text_like(&b, pdl_absent(), out, err);
    pdl_buf_fini(&b);
    if (ok) *out = pdl_with_label(*out, pdl_label_of(x));
    return ok;
}
