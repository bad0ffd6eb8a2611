/* resolve.c -- see resolve.h. Scalar types of YAML 1.1 as PyYAML's safe loader resolves and
 * constructs them.
 *
 * The types are not those of YAML 1.2, because programs are written for an interpreter that reads
 * YAML 1.1. There `no` is false, 010 is eight and 1:30 is ninety. With other rules the same text
 * would be another program. libyaml does not help: its events hold the text of a scalar and whether
 * it was quoted, and leave types to their reader. What must stay true: the type of a scalar depends
 * only on its text, its style and its tag, never on its position.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "yaml/resolve.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "base/utf8.h"
#include "base/word.h"
#include "value/int.h"
#include "value/pyvalues.h"
#include "value/text.h"

#include "base/banned.h"

static const struct {
    const char *name;
    pdl_node_type type;
} tags[] = {
    [PDL_YTAG_str] = {"str", PDL_NT_STR},
    [PDL_YTAG_null] = {"null", PDL_NT_NULL},
    [PDL_YTAG_bool] = {"bool", PDL_NT_BOOL},
    [PDL_YTAG_int] = {"int", PDL_NT_INT},
    [PDL_YTAG_float] = {"float", PDL_NT_FLOAT},
    [PDL_YTAG_binary] = {"binary", PDL_NT_BINARY},
    [PDL_YTAG_timestamp] = {"timestamp", PDL_NT_TIMESTAMP},
    [PDL_YTAG_omap] = {"omap", PDL_NT_OMAP},
    [PDL_YTAG_pairs] = {"pairs", PDL_NT_PAIRS},
    [PDL_YTAG_set] = {"set", PDL_NT_SET},
    [PDL_YTAG_seq] = {"seq", PDL_NT_SEQ},
    [PDL_YTAG_map] = {"map", PDL_NT_MAP},
    [PDL_YTAG_merge] = {"merge", PDL_NT_STR},
    [PDL_YTAG_value] = {"value", PDL_NT_STR},
};

const char *pdl_ytag_name(pdl_ytag t) { return t == PDL_YTAG_OTHER ? "" : tags[t].name; }
pdl_node_type pdl_ytag_type(pdl_ytag t) { return t == PDL_YTAG_OTHER ? PDL_NT_STR : tags[t].type; }

pdl_ytag pdl_ytag_find(pdl_str name) {
    if (!pdl_str_starts(name, PDL_STR("tag:yaml.org,2002:"))) return PDL_YTAG_OTHER;
    pdl_str rest = pdl_str_sub(name, PDL_STR("tag:yaml.org,2002:").n, name.n);
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++)
        if (pdl_str_is(rest, tags[i].name)) return (pdl_ytag)i;
    return PDL_YTAG_OTHER;
}

/* --- patterns: each takes the position in s and gives the position after the match ------------ */

static bool digit(char c) { return c >= '0' && c <= '9'; }
static char at(pdl_str s, size_t i) { return i < s.n ? s.p[i] : '\0'; }

static size_t run(pdl_str s, size_t i, const char *set) {
    while (i < s.n && s.p[i] && strchr(set, s.p[i])) i++;
    return i;
}

static size_t sign(pdl_str s, size_t i) {
    return i < s.n && (s.p[i] == '-' || s.p[i] == '+') ? i + 1 : i;
}

/* Returns the end of (:[0-5]?[0-9])+ from i, or 0 when there is none. A group never matches better
 * with one digit less, so greedy matching is exact. */
static size_t sixties(pdl_str s, size_t i) {
    size_t start = i;
    while (at(s, i) == ':' && digit(at(s, i + 1))) {
        if (at(s, i + 1) <= '5' && digit(at(s, i + 2)))
            i += 3;
        else
            i += 2;
    }
    return i > start ? i : 0;
}

static bool is_int(pdl_str s) {
    size_t i = sign(s, 0), e;
    char c = at(s, i);
    if (c == '0') {
        if (i + 1 == s.n) return true;
        if (at(s, i + 1) == 'b') return i + 2 < s.n && run(s, i + 2, "01_") == s.n;
        if (at(s, i + 1) == 'x')
            return i + 2 < s.n && run(s, i + 2, "0123456789abcdefABCDEF_") == s.n;
        return run(s, i + 1, "01234567_") == s.n;
    }
    if (!digit(c)) return false;
    i = run(s, i, "0123456789_");
    if (i == s.n) return true;
    e = sixties(s, i);
    return e && e == s.n;
}

static size_t exponent(pdl_str s, size_t i) {
    char c = at(s, i), g = at(s, i + 1);
    if ((c == 'e' || c == 'E') && (g == '-' || g == '+') && digit(at(s, i + 2)))
        return run(s, i + 2, "0123456789");
    return i;
}

static bool is_float(pdl_str s) {
    size_t i = sign(s, 0), e;
    pdl_str rest = pdl_str_sub(s, i, s.n);
    if (at(s, i) == '.') {
        if (pdl_str_is(rest, ".inf") || pdl_str_is(rest, ".Inf") || pdl_str_is(rest, ".INF"))
            return true;
        if (i) return false;
        if (pdl_str_is(s, ".nan") || pdl_str_is(s, ".NaN") || pdl_str_is(s, ".NAN")) return true;
        return digit(at(s, 1)) && exponent(s, run(s, 1, "0123456789_")) == s.n;
    }
    if (!digit(at(s, i))) return false;
    i = run(s, i, "0123456789_");
    if (at(s, i) == '.') return exponent(s, run(s, i + 1, "0123456789_")) == s.n;
    e = sixties(s, i);
    return e && at(s, e) == '.' && run(s, e + 1, "0123456789_") == s.n;
}

/* --- timestamps ------------------------------------------------------------------------------- */

static bool number(pdl_str s, size_t *i, size_t min, size_t max, int *out) {
    size_t n = 0;
    int v = 0;
    while (n < max && digit(at(s, *i + n))) v = v * 10 + (s.p[*i + n++] - '0');
    if (n < min) return false;
    *i += n;
    *out = v;
    return true;
}

static bool expect(pdl_str s, size_t *i, char c) {
    if (at(s, *i) != c || *i >= s.n) return false;
    ++*i;
    return true;
}

typedef struct stamp {
    pdl_time t;
    bool has_time;
    int zone_sign, zone_hour, zone_minute;
} stamp;

static bool read_zone(pdl_str s, size_t *pos, stamp *out) {
    size_t i = run(s, *pos, " \t");
    if (i == s.n) return i == *pos;
    out->t.has_zone = true;
    if (at(s, i) == 'Z') {
        i++;
    } else {
        if (at(s, i) != '-' && at(s, i) != '+') return false;
        out->zone_sign = at(s, i) == '-' ? -1 : 1;
        i++;
        if (!number(s, &i, 1, 2, &out->zone_hour)) return false;
        if (at(s, i) == ':') {
            i++;
            if (!number(s, &i, 2, 2, &out->zone_minute)) return false;
        }
    }
    *pos = i;
    return true;
}

/* Reads a timestamp. With `strict`, uses the resolver's pattern, in which a date without time has
 * two-digit month and day. Otherwise uses the constructor's pattern. */
static bool read_stamp(pdl_str s, bool strict, stamp *out) {
    size_t i = 0, month_at, day_at;
    memset(out, 0, sizeof *out);
    if (!number(s, &i, 4, 4, &out->t.year) || !expect(s, &i, '-')) return false;
    month_at = i;
    if (!number(s, &i, 1, 2, &out->t.month) || !expect(s, &i, '-')) return false;
    day_at = i;
    if (!number(s, &i, 1, 2, &out->t.day)) return false;
    if (i == s.n) return !strict || (day_at - month_at == 3 && i - day_at == 2);
    if (at(s, i) == 'T' || at(s, i) == 't') {
        i++;
    } else {
        size_t e = run(s, i, " \t");
        if (e == i) return false;
        i = e;
    }
    out->has_time = true;
    if (!number(s, &i, 1, 2, &out->t.hour) || !expect(s, &i, ':') ||
        !number(s, &i, 2, 2, &out->t.minute) || !expect(s, &i, ':') ||
        !number(s, &i, 2, 2, &out->t.second))
        return false;
    if (at(s, i) == '.') {
        int scale = 100000;
        for (i++; digit(at(s, i)); i++, scale /= 10) out->t.usec += (s.p[i] - '0') * scale;
    }
    return read_zone(s, &i, out) && i == s.n;
}

/* --- tag of a plain scalar -------------------------------------------------------------------- */

/* Returns true when s is the word in small letters, in capitals, or in small letters after a
 * capital. */
static bool is_word(pdl_str s, pdl_str word) {
    size_t capitals = 0;
    if (s.n != word.n) return false;
    for (size_t i = 0; i < word.n; i++) {
        if ((s.p[i] | 0x20) != word.p[i]) return false;
        capitals += s.p[i] != word.p[i];
    }
    return capitals == 0 || capitals == word.n || (capitals == 1 && s.p[0] != word.p[0]);
}

static bool is_null(pdl_str s) { return is_word(s, PDL_STR("null")); }

static bool is_bool(pdl_str s) {
    switch (s.n) {
    case 2: return is_word(s, PDL_STR("no")) || is_word(s, PDL_STR("on"));
    case 3: return is_word(s, PDL_STR("yes")) || is_word(s, PDL_STR("off"));
    case 4: return is_word(s, PDL_STR("true"));
    case 5: return is_word(s, PDL_STR("false"));
    default: return false;
    }
}

pdl_ytag pdl_ytag_of_short(pdl_str s) {
    stamp st;
    if (!s.n) return PDL_YTAG_null;
    char c = s.p[0];
    if (digit(c)) {
        if (is_int(s)) return PDL_YTAG_int;
        if (is_float(s)) return PDL_YTAG_float;
        return read_stamp(s, true, &st) ? PDL_YTAG_timestamp : PDL_YTAG_str;
    }
    if (c == '-' || c == '+')
        return is_int(s) ? PDL_YTAG_int : is_float(s) ? PDL_YTAG_float : PDL_YTAG_str;
    if (s.n > 5) return PDL_YTAG_str;
    switch (c) {
    case '.': return is_float(s) ? PDL_YTAG_float : PDL_YTAG_str;
    case '~': return s.n == 1 ? PDL_YTAG_null : PDL_YTAG_str;
    case '=': return s.n == 1 ? PDL_YTAG_value : PDL_YTAG_str;
    case '<': return pdl_str_is(s, "<<") ? PDL_YTAG_merge : PDL_YTAG_str;
    case 'n':
    case 'N':
        if (is_null(s)) return PDL_YTAG_null;
        return is_bool(s) ? PDL_YTAG_bool : PDL_YTAG_str;
    case 'y':
    case 'Y':
    case 't':
    case 'T':
    case 'f':
    case 'F':
    case 'o':
    case 'O': return is_bool(s) ? PDL_YTAG_bool : PDL_YTAG_str;
    default: return PDL_YTAG_str;
    }
}

/* --- constructors ----------------------------------------------------------------------------- */

static pdl_str without_underscores(pdl_str s, pdl_buf *b, bool lower) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '_') continue;
        pdl_buf_putc(b, lower && c >= 'A' && c <= 'Z' ? (char)(c + 32) : c);
    }
    return pdl_buf_str(b);
}

static bool bad_literal(pdl_err *err, const char *what, pdl_str s) {
    pdl_buf b = PDL_BUF;
    pdl_str_repr(s, &b);
    pdl_err_host(err, "ValueError", "%s: %s", what, pdl_buf_z(&b));
    pdl_buf_fini(&b);
    return false;
}

enum { LONG_LITERAL = 100000 }; /* maximum number of digits; more are too large, not wrong */

static bool too_large(size_t digits, pdl_err *err) {
    return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "an integer of %zu digits is too large",
                       digits);
}

static bool int_base(pdl_str s, int base, pdl_val *out, pdl_err *err) {
    if (pdl_int_read(s, base, out)) return true;
    if (s.n > LONG_LITERAL) return too_large(s.n, err);
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "invalid literal for int() with base %d", base);
    bad_literal(err, pdl_buf_z(&b), s);
    pdl_buf_fini(&b);
    return false;
}

static bool arith(pdl_arith op, pdl_val a, pdl_val b, pdl_val *out, pdl_err *err) {
    bool handled = false, ok = pdl_num_arith(op, a, b, &handled, out, err);
    pdl_drop(a);
    pdl_drop(b);
    return ok;
}

/* Reads 190:20:30 by Horner's rule. Its time grows with the square of the number of parts, so this
 * number is limited. */
static bool int_sixty(pdl_str s, pdl_val *out, pdl_err *err) {
    if (s.n > LONG_LITERAL) return too_large(s.n, err);
    pdl_val sum = pdl_int(0), part;
    for (size_t from = 0; from <= s.n;) {
        size_t to = pdl_str_find(s, PDL_STR(":"), from);
        if (to == PDL_NOT_FOUND) to = s.n;
        if (!int_base(pdl_str_sub(s, from, to), 10, &part, err)) {
            pdl_drop(sum);
            return false;
        }
        if (!arith(PDL_OP_MUL, sum, pdl_int(60), &sum, err)) {
            pdl_drop(part);
            return false;
        }
        if (!arith(PDL_OP_ADD, sum, part, &sum, err)) return false;
        from = to + 1;
    }
    *out = sum;
    return true;
}

static bool make_int(pdl_str s, pdl_val *out, pdl_err *err) {
    bool neg;
    pdl_val v;
    if (!s.n) return pdl_err_host(err, "IndexError", "string index out of range");
    neg = s.p[0] == '-';
    if (neg || s.p[0] == '+') s = pdl_str_sub(s, 1, s.n);
    if (pdl_str_is(s, "0")) {
        *out = pdl_int(0);
        return true;
    }
    bool ok = pdl_str_starts(s, PDL_STR("0b"))   ? int_base(pdl_str_sub(s, 2, s.n), 2, &v, err)
              : pdl_str_starts(s, PDL_STR("0x")) ? int_base(pdl_str_sub(s, 2, s.n), 16, &v, err)
              : !s.n          ? pdl_err_host(err, "IndexError", "string index out of range")
              : s.p[0] == '0' ? int_base(s, 8, &v, err)
              : pdl_str_find(s, PDL_STR(":"), 0) != PDL_NOT_FOUND ? int_sixty(s, &v, err)
                                                                  : int_base(s, 10, &v, err);
    if (!ok) return false;
    if (!neg) {
        *out = v;
        return true;
    }
    ok = pdl_num_neg(v, out, err);
    pdl_drop(v);
    return ok;
}

/* Does what Python's float() does for a text. */
static bool float_text(pdl_str s, double *out, pdl_err *err) {
    pdl_str t = pdl_str_trim(s), u = t;
    bool neg = u.n && u.p[0] == '-';
    if (u.n && (u.p[0] == '-' || u.p[0] == '+')) u = pdl_str_sub(u, 1, u.n);
    if (pdl_str_eq_nocase(u, PDL_STR("inf")) || pdl_str_eq_nocase(u, PDL_STR("infinity"))) {
        *out = neg ? -(double)INFINITY : (double)INFINITY;
        return true;
    }
    if (pdl_str_eq_nocase(u, PDL_STR("nan"))) {
        *out = (double)NAN;
        return true;
    }
    if (pdl_num_read_double(t, out)) return true;
    return bad_literal(err, "could not convert string to float", s);
}

static bool make_float(pdl_str s, pdl_val *out, pdl_err *err) {
    double v = 0, part, scale = 1, sgn;
    if (!s.n) return pdl_err_host(err, "IndexError", "string index out of range");
    sgn = s.p[0] == '-' ? -1.0 : 1.0;
    if (s.p[0] == '-' || s.p[0] == '+') s = pdl_str_sub(s, 1, s.n);
    if (pdl_str_is(s, ".inf")) {
        v = (double)INFINITY;
    } else if (pdl_str_is(s, ".nan")) {
        v = (double)NAN;
    } else if (pdl_str_find(s, PDL_STR(":"), 0) != PDL_NOT_FOUND) {
        /* Adds from the last part on, as the reference does, so that the rounding is the same. */
        for (size_t to = s.n;;) {
            size_t from = pdl_str_rfind(pdl_str_sub(s, 0, to), PDL_STR(":"));
            if (!float_text(pdl_str_sub(s, from == PDL_NOT_FOUND ? 0 : from + 1, to), &part, err))
                return false;
            v += part * scale;
            scale *= 60;
            if (from == PDL_NOT_FOUND) break;
            to = from;
        }
    } else if (!float_text(s, &v, err)) {
        return false;
    }
    *out = pdl_float(sgn * v);
    return true;
}

static bool make_bool(pdl_str s, pdl_val *out, pdl_err *err) {
    static const struct {
        const char *word;
        bool value;
    } words[] = {{"yes", true},    {"no", false}, {"true", true},
                 {"false", false}, {"on", true},  {"off", false}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (pdl_str_eq_nocase(s, pdl_str_of(words[i].word))) {
            *out = pdl_bool(words[i].value);
            return true;
        }
    pdl_buf low = PDL_BUF, b = PDL_BUF;
    pdl_utf8_lower(&low, s);
    pdl_str_repr(pdl_buf_str(&low), &b);
    pdl_err_host(err, "KeyError", "%s", pdl_buf_z(&b));
    pdl_buf_fini(&low);
    pdl_buf_fini(&b);
    return false;
}

static int base64_digit(unsigned char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes as binascii.a2b_base64 without strict mode: other characters are skipped, and the data
 * ends at the first complete padding. */
static bool make_binary(pdl_str s, pdl_val *out, pdl_err *err) {
    pdl_buf b = PDL_BUF;
    unsigned acc = 0;
    size_t quad = 0, pads = 0, digits = 0;
    bool done = false;
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] >= 0x80) {
            const char *p = s.p + i;
            uint32_t cp = pdl_utf8_next(&p);
            return pdl_err_host(
                err, "ConstructorError",
                "failed to convert base64 data into ascii: 'ascii' codec can't "
                "encode character '\\%c%0*x' in position %zu: ordinal not in range(128)",
                cp < 0x100     ? 'x'
                : cp < 0x10000 ? 'u'
                               : 'U',
                cp < 0x100     ? 2
                : cp < 0x10000 ? 4
                               : 8,
                (unsigned)cp, pdl_utf8_count(pdl_str_sub(s, 0, i)));
        }
    for (size_t i = 0; i < s.n && !done; i++) {
        int d = base64_digit((unsigned char)s.p[i]);
        if (s.p[i] == '=') {
            if (quad >= 2 && quad + ++pads >= 4) done = true;
            continue;
        }
        if (d < 0) continue;
        pads = 0;
        digits++;
        acc = acc << 6 | (unsigned)d;
        if (quad) pdl_buf_putc(&b, (char)(unsigned char)(acc >> (6 - 2 * quad)));
        quad = (quad + 1) & 3;
        acc &= 0xff;
    }
    if (quad && !done) {
        pdl_buf_fini(&b);
        if (quad == 1)
            return pdl_err_host(err, "ConstructorError",
                                "failed to decode base64 data: Invalid base64-encoded data: number "
                                "of data characters (%zu) cannot be 1 more than a multiple of 4",
                                digits);
        return pdl_err_host(err, "ConstructorError",
                            "failed to decode base64 data: Incorrect padding");
    }
    *out = pdl_bytes(pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return true;
}

static bool make_stamp(pdl_str s, pdl_val *out, pdl_err *err) {
    stamp st;
    if (!read_stamp(s, false, &st))
        return pdl_err_host(err, "AttributeError",
                            "'NoneType' object has no attribute 'groupdict'");
    if (!st.has_time) return pdl_date_new(&st.t, out, err);
    st.t.zone_seconds = st.zone_sign * (st.zone_hour * 3600 + st.zone_minute * 60);
    if (st.t.zone_seconds <= -86400 || st.t.zone_seconds >= 86400) {
        int days = st.t.zone_seconds / 86400, rest = st.t.zone_seconds % 86400;
        if (rest < 0) rest += 86400, days--;
        pdl_buf b = PDL_BUF;
        if (rest) pdl_buf_putf(&b, ", seconds=%d", rest);
        pdl_err_host(err, "ValueError",
                     "offset must be a timedelta strictly between -timedelta(hours=24) and "
                     "timedelta(hours=24), not datetime.timedelta(days=%d%s)",
                     days, pdl_buf_z(&b));
        pdl_buf_fini(&b);
        return false;
    }
    return pdl_datetime_new(&st.t, out, err);
}

bool pdl_yaml_scalar(pdl_ytag t, pdl_str text, pdl_val *out, pdl_err *err) {
    pdl_buf b = PDL_BUF;
    bool ok = true;
    if (t == PDL_YTAG_null)
        *out = pdl_null();
    else if (t == PDL_YTAG_bool)
        ok = make_bool(text, out, err);
    else if (t == PDL_YTAG_int)
        ok = make_int(without_underscores(text, &b, false), out, err);
    else if (t == PDL_YTAG_float)
        ok = make_float(without_underscores(text, &b, true), out, err);
    else if (t == PDL_YTAG_binary)
        ok = make_binary(text, out, err);
    else if (t == PDL_YTAG_timestamp)
        ok = make_stamp(text, out, err);
    else
        PDL_BUG("tag %d", (int)t);
    pdl_buf_fini(&b);
    return ok;
}
