/* percent_format.c -- printf-style formatting: '%-5s %(key)05.2f' % x. Flags, widths, conversions
 * and errors are those of Python's % operator.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>

#include "base/utf8.h"
#include "native/natives.h"
#include "value/int.h"
#include "value/pyvalues.h"
#include "value/text.h"

#include "base/banned.h"

enum { MAX_PRECISION = 1000000 }; /* maximum precision of a number */

/* A conversion as written. */
typedef struct {
    bool left, plus, blank, alt, zero;
    int64_t width, precision; /* precision is -1 when the conversion has none */
    uint32_t type;
    size_t at; /* the offset of the type in bytes */
} conv;

typedef struct {
    pdl_str s;
    size_t i;
    pdl_vref args;      /* the given arguments: a tuple of arguments, one argument, or a mapping */
    const pdl_val *pos; /* the arguments; NULL means the items of args */
    size_t n_pos, next; /* the number of arguments, and the number of used arguments */
    bool by_key;        /* a field has used a key; from then on, every field needs a key */
    bool fresh;         /* no field has used the value that the last key found */
    bool mapping;       /* args can be indexed, so unused arguments are no error */
    pdl_val found;      /* the value of the key, owned */
    bool safe;          /* the operation is Markup % x */
    bool lenient;       /* undefined values print as empty text */
    pdl_err *err;
} printer;

bool pdl_ascii_repr(pdl_vref x, pdl_buf *out, pdl_err *err) {
    pdl_buf b = PDL_BUF;
    if (!pdl_val_repr(x, &b, err)) {
        pdl_buf_fini(&b);
        return false;
    }
    const char *p = b.p, *end = b.p + b.len;
    for (size_t i = 0; p < end && pdl_walk_may_continue_at(i); i++) {
        uint32_t cp = pdl_utf8_next(&p);
        if (cp < 0x80)
            pdl_buf_putc(out, (char)cp);
        else
            pdl_buf_putf(out,
                         cp < 0x100     ? "\\x%02x"
                         : cp < 0x10000 ? "\\u%04x"
                                        : "\\U%08x",
                         (unsigned)cp);
    }
    pdl_buf_fini(&b);
    return true;
}

/* --- arguments -------------------------------------------------------------------------------- */

/* Finds the next argument; *out is borrowed. */
static bool next_arg(printer *p, pdl_vref *out) {
    if (p->by_key) {
        if (!p->fresh)
            return pdl_err_host(p->err, "TypeError", "not enough arguments for format string");
        p->fresh = false;
        *out = p->found;
        return true;
    }
    if (p->next >= p->n_pos)
        return pdl_err_host(p->err, "TypeError", "not enough arguments for format string");
    *out = p->pos ? p->pos[p->next] : pdl_list_at(p->args, p->next);
    p->next++;
    return true;
}

static bool find_key(printer *p, pdl_str key) {
    if (!p->mapping) return pdl_err_host(p->err, "TypeError", "format requires a mapping");
    if (pdl_is(p->args, PDL_V_UNDEFINED)) return pdl_undefined_error(p->args, p->err);
    if (!pdl_is_dict(p->args))
        return pdl_err_host(p->err, "TypeError", "%s indices must be integers or slices, not str",
                            pdl_type_name(p->args));
    pdl_vref v = pdl_dict_gets(p->args, key);
    if (pdl_is_absent(v)) {
        pdl_buf b = PDL_BUF;
        pdl_str_repr(key, &b);
        pdl_err_host(p->err, "KeyError", "%s", pdl_buf_z(&b));
        pdl_buf_fini(&b);
        return false;
    }
    pdl_drop(p->found);
    p->found = pdl_keep(v);
    p->by_key = p->fresh = true;
    return true;
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool incomplete(printer *p) {
    return pdl_err_host(p->err, "ValueError", "incomplete format");
}

/* Reads "(key)", with balanced parentheses inside. */
static bool read_key(printer *p) {
    size_t from = ++p->i, depth = 1;
    for (; p->i < p->s.n; p->i++) {
        if (p->s.p[p->i] == '(') depth++;
        if (p->s.p[p->i] == ')' && --depth == 0) break;
    }
    if (p->i == p->s.n) return pdl_err_host(p->err, "ValueError", "incomplete format key");
    return find_key(p, pdl_str_sub(p->s, from, p->i++));
}

static void read_flags(printer *p, conv *c) {
    for (; p->i < p->s.n; p->i++) {
        char ch = p->s.p[p->i];
        if (ch == '-')
            c->left = true;
        else if (ch == '+')
            c->plus = true;
        else if (ch == ' ')
            c->blank = true;
        else if (ch == '#')
            c->alt = true;
        else if (ch == '0')
            c->zero = true;
        else
            return;
    }
}

/* Reads digits or *. *out is unchanged when the text has neither. */
static bool read_number(printer *p, const char *what, int64_t *out) {
    if (p->i < p->s.n && p->s.p[p->i] == '*') {
        pdl_vref v;
        p->i++;
        if (!next_arg(p, &v)) return false;
        if (!pdl_is_int(v) && !pdl_is_bool(v))
            return pdl_err_host(p->err, "TypeError", "* wants int");
        if (pdl_arg_int(v, out, p->err) && *out <= INT32_MAX && *out >= -INT32_MAX) return true;
        return p->err->kind != PDL_E_NONE
                   ? false
                   : pdl_err_host(p->err, "OverflowError",
                                  "Python int too large to convert to C int");
    }
    for (bool first = true; p->i < p->s.n && p->s.p[p->i] >= '0' && p->s.p[p->i] <= '9';
         p->i++, first = false) {
        *out = (first ? 0 : *out * 10) + (p->s.p[p->i] - '0');
        if (*out > INT32_MAX) return pdl_err_host(p->err, "ValueError", "%s too big", what);
    }
    return true;
}

/* Returns true for a length modifier of C, which Python ignores. */
static bool is_length(char ch) { return ch == 'h' || ch == 'l' || ch == 'L'; }

static bool read_conv(printer *p, conv *c) {
    *c = (conv){.width = 0, .precision = -1};
    if (p->i < p->s.n && p->s.p[p->i] == '(' && !read_key(p)) return false;
    read_flags(p, c);
    if (!read_number(p, "width", &c->width)) return false;
    if (c->width < 0) {
        c->left = true;
        c->width = c->width < -INT32_MAX ? INT32_MAX : -c->width;
    }
    if (p->i < p->s.n && p->s.p[p->i] == '.') {
        p->i++;
        c->precision = 0;
        if (!read_number(p, "precision", &c->precision)) return false;
        if (c->precision < 0) c->precision = 0;
    }
    if (p->i < p->s.n && is_length(p->s.p[p->i])) p->i++;
    if (p->i >= p->s.n) return incomplete(p);
    const char *at = p->s.p + p->i;
    c->at = p->i;
    c->type = pdl_utf8_next(&at);
    p->i = (size_t)(at - p->s.p);
    return true;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Puts the sign and the prefix (head) and the body into the field. Zeros go between the prefix and
 * the body. */
static bool put_field(printer *p, const conv *c, pdl_str head, pdl_str body, bool number,
                      pdl_buf *out) {
    if (!c->width)
        return (!head.n || pdl_buf_add(out, head, p->err)) && pdl_buf_add(out, body, p->err);
    size_t len = head.n + pdl_utf8_count(body), width = (size_t)c->width,
           pad = width > len ? width - len : 0;
    bool zeros = number && c->zero && !c->left;
    if (pad && !c->left && !zeros &&
        !pdl_pad_text(out, (pdl_str){"", 0}, pad, 0, PDL_STR(" "), p->err))
        return false;
    if (!pdl_buf_add(out, head, p->err)) return false;
    if (zeros && !pdl_pad_text(out, (pdl_str){"", 0}, pad, 0, PDL_STR("0"), p->err)) return false;
    if (!pdl_buf_add(out, body, p->err)) return false;
    return !c->left || pdl_pad_text(out, (pdl_str){"", 0}, pad, 0, PDL_STR(" "), p->err);
}

static bool put_text(printer *p, const conv *c, pdl_vref x, pdl_buf *out) {
    pdl_buf b = PDL_BUF, safe = PDL_BUF;
    bool ok = true, marked = c->type == 's' && p->safe && pdl_is_safe(x);
    if (c->type == 's' && pdl_is(x, PDL_V_UNDEFINED))
        ok = p->lenient || pdl_undefined_error(x, p->err);
    else if (c->type == 's')
        ok = pdl_val_str(x, &b, p->err);
    else if (c->type == 'r')
        ok = pdl_val_repr(x, &b, p->err);
    else
        ok = pdl_ascii_repr(x, &b, p->err);
    pdl_str s = pdl_buf_str(&b);
    if (ok && p->safe && !marked) {
        pdl_escape_put(s, &safe);
        s = pdl_buf_str(&safe);
    }
    if (ok && c->precision >= 0) s = pdl_str_sub(s, 0, pdl_utf8_offset(s, (size_t)c->precision));
    ok = ok && put_field(p, c, (pdl_str){"", 0}, s, false, out);
    pdl_buf_fini(&b);
    pdl_buf_fini(&safe);
    return ok;
}

static pdl_str sign_of(const conv *c, bool negative) {
    return negative   ? PDL_STR("-")
           : c->plus  ? PDL_STR("+")
           : c->blank ? PDL_STR(" ")
                      : (pdl_str){"", 0};
}

/* Reads the whole number for %d and %x. */
static bool whole_of(printer *p, const conv *c, pdl_vref x, pdl_val *out) {
    bool decimal = c->type == 'd' || c->type == 'i' || c->type == 'u';
    if (pdl_is(x, PDL_V_UNDEFINED)) return pdl_undefined_error(x, p->err);
    if (pdl_is(x, PDL_V_BOOL))
        *out = pdl_int(pdl_bool_of(x));
    else if (pdl_is_int(x))
        *out = pdl_keep(x);
    else if (!decimal || !pdl_is(x, PDL_V_FLOAT))
        return pdl_err_host(p->err, "TypeError",
                            decimal ? "%%%c format: a real number is required, not %s"
                                    : "%%%c format: an integer is required, not %s",
                            (char)c->type, pdl_type_name(x));
    else {
        double d = pdl_float_of(x);
        if (isnan(d))
            return pdl_err_host(p->err, "ValueError", "cannot convert float NaN to integer");
        if (isinf(d))
            return pdl_err_host(p->err, "OverflowError",
                                "cannot convert float infinity to integer");
        (void)pdl_int_from_double(d, out);
    }
    return true;
}

static bool put_int(printer *p, const conv *c, pdl_vref x, pdl_buf *out) {
    pdl_val v;
    if (c->precision > MAX_PRECISION)
        return pdl_err_host(p->err, "OverflowError", "precision too large");
    if (!whole_of(p, c, x, &v)) return false;
    int base = c->type == 'o' ? 8 : c->type == 'x' || c->type == 'X' ? 16 : 10;
    pdl_buf digits = PDL_BUF, head = PDL_BUF, body = PDL_BUF;
    pdl_int_write(v, base, &digits);
    pdl_drop(v);
    pdl_str d = pdl_buf_str(&digits);
    bool negative = d.p[0] == '-';
    if (negative) d = pdl_str_sub(d, 1, d.n);
    pdl_buf_put(&head, sign_of(c, negative));
    if (c->alt && base != 10) pdl_buf_putf(&head, "0%c", (char)c->type);
    size_t zeros = c->precision > (int64_t)d.n ? (size_t)c->precision - d.n : 0;
    bool fits = pdl_buf_fill(&body, PDL_STR("0"), zeros, p->err) && pdl_buf_add(&body, d, p->err);
    for (size_t i = 0; c->type == 'X' && i < body.len; i++)
        if (body.p[i] >= 'a' && body.p[i] <= 'f') body.p[i] = (char)(body.p[i] - 'a' + 'A');
    bool ok = fits && put_field(p, c, pdl_buf_str(&head), pdl_buf_str(&body), true, out);
    pdl_buf_fini(&digits);
    pdl_buf_fini(&head);
    pdl_buf_fini(&body);
    return ok;
}

static bool real_of(printer *p, const conv *c, pdl_vref x, double *out) {
    if (PDL_LIKELY(pdl_is(x, PDL_V_FLOAT) && c->precision <= MAX_PRECISION)) {
        *out = pdl_float_of(x);
        return true;
    }
    if (pdl_is(x, PDL_V_UNDEFINED)) return pdl_undefined_error(x, p->err);
    if (!pdl_is_number(x))
        return pdl_err_host(p->err, "TypeError", "must be real number, not %s", pdl_py_type(x));
    if (c->precision > MAX_PRECISION)
        return pdl_err_host(p->err, "ValueError", "precision too big");
    return pdl_float_from(x, out, p->err);
}

static bool put_digits(printer *p, const conv *c, pdl_str s, pdl_buf *out) {
    bool negative = s.n && s.p[0] == '-';
    return put_field(p, c, sign_of(c, negative), pdl_str_sub(s, negative ? 1 : 0, s.n), true, out);
}

static bool put_float(printer *p, const conv *c, pdl_vref x, pdl_buf *out) {
    double d;
    if (!real_of(p, c, x, &d)) return false;
    char fixed[PDL_NUM_MAX];
    size_t n = pdl_format_fixed(d, (char)c->type, (int)c->precision, c->alt, fixed);
    if (n) return put_digits(p, c, (pdl_str){fixed, n}, out);
    pdl_buf b = PDL_BUF;
    pdl_format_double(d, (char)c->type, (int)c->precision, c->alt, &b);
    bool ok = put_digits(p, c, pdl_buf_str(&b), out);
    pdl_buf_fini(&b);
    return ok;
}

static bool put_char(printer *p, const conv *c, pdl_vref x, pdl_buf *out) {
    char t[4];
    int64_t cp;
    if (pdl_is_str(x)) {
        if (pdl_text_len_cp(x) != 1)
            return pdl_err_host(p->err, "TypeError", "%%c requires int or char");
        return put_field(p, c, (pdl_str){"", 0}, pdl_str_get(x), false, out);
    }
    if (!pdl_is_int(x) && !pdl_is_bool(x))
        return pdl_err_host(p->err, "TypeError", "%%c requires int or char");
    if (!pdl_int_get(x, &cp) || cp < 0 || cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000))
        return pdl_err_host(p->err, "OverflowError", "%%c arg not in range(0x110000)");
    return put_field(p, c, (pdl_str){"", 0}, (pdl_str){t, pdl_utf8_put((uint32_t)cp, t)}, false,
                     out);
}

static bool unsupported(printer *p, const conv *c) {
    char shown = c->type > 31 && c->type < 127 ? (char)c->type : '?';
    return pdl_err_host(p->err, "ValueError",
                        "unsupported format character '%c' (0x%x) at index %zu", shown,
                        (unsigned)c->type, pdl_utf8_count(pdl_str_sub(p->s, 0, c->at)));
}

static bool put_conv(printer *p, const conv *c, pdl_buf *out) {
    pdl_vref x;
    if (!next_arg(p, &x)) return false; /* Python takes the argument before it examines the type */
    switch (c->type) {
    case 's':
    case 'r':
    case 'a': return put_text(p, c, x, out);
    case 'd':
    case 'i':
    case 'u':
    case 'o':
    case 'x':
    case 'X': return put_int(p, c, x, out);
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G': return put_float(p, c, x, out);
    case 'c': return put_char(p, c, x, out);
    default: return unsupported(p, c);
    }
}

static bool print_all(printer *p, pdl_buf *out) {
    while (p->i < p->s.n) {
        const char *hit = memchr(p->s.p + p->i, '%', p->s.n - p->i);
        size_t to = hit ? (size_t)(hit - p->s.p) : p->s.n;
        if (to > p->i && !pdl_buf_add(out, pdl_str_sub(p->s, p->i, to), p->err)) return false;
        p->i = to;
        if (!hit) break;
        p->i++;
        if (p->i == p->s.n) return incomplete(p);
        if (p->s.p[p->i] == '%') {
            p->i++;
            if (!pdl_buf_add(out, PDL_STR("%"), p->err)) return false;
            continue;
        }
        conv c;
        if (!read_conv(p, &c) || !put_conv(p, &c, out)) return false;
    }
    if (p->mapping || p->next >= p->n_pos) return true;
    return pdl_err_host(p->err, "TypeError",
                        "not all arguments converted during string formatting");
}

bool pdl_format_percent(pdl_vref format, pdl_vref args, bool lenient, pdl_val *out, pdl_err *err) {
    pdl_tag t = pdl_tag_of(args);
    bool tuple = t == PDL_V_TUPLE;
    pdl_val single = pdl_lent(args);
    printer p = {
        .s = pdl_str_get(format),
        .args = args,
        .pos = tuple ? NULL : &single,
        .n_pos = tuple ? pdl_list_len(args) : 1,
        .found = pdl_absent(),
        .safe = pdl_is_safe(format),
        .lenient = lenient,
        .err = err,
    };
    p.mapping = t == PDL_V_DICT || t == PDL_V_LIST || t == PDL_V_RANGE || t == PDL_V_BYTES ||
                t == PDL_V_CONTEXT || t == PDL_V_UNDEFINED;
    char space[PDL_SHORT_TEXT];
    pdl_buf b = pdl_buf_in(space, sizeof space, PDL_MAX_TEXT);
    bool ok = print_all(&p, &b);
    pdl_drop(p.found);
    if (ok)
        *out = pdl_with_label(pdl_with_flags(pdl_text_of_buf(&b), p.safe ? PDL_F_SAFE : 0),
                              pdl_label_of(format) | pdl_label_of(args));
    pdl_buf_fini(&b);
    return ok;
}

bool pdl_format_percent_put(pdl_vref format, const pdl_val *args, size_t n, bool lenient,
                            pdl_buf *out, pdl_err *err) {
    printer p = {
        .s = pdl_str_get(format),
        .args = pdl_absent(),
        .pos = args,
        .n_pos = n,
        .found = pdl_absent(),
        .safe = pdl_is_safe(format),
        .lenient = lenient,
        .err = err,
    };
    return print_all(&p, out);
}
