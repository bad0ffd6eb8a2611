/* json_repair_number.c -- numbers and literals in text that is not quite JSON.
 *
 * A text may begin like a number without being a number: a date, a version, a fraction, 12abc. Such
 * a text stays a text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/num.h"
#include "base/utf8.h"
#include "parse/json_repair.h"
#include "value/int.h"

#include "base/banned.h"

static bool in_number(int c, int before, pdl_rp_place place) {
    if (c >= '0' && c <= '9') return true;
    if (c == '+') return before == 'e' || before == 'E';
    /* a number such as 1,000 has commas, but a comma between items separates them */
    if (c == ',') return place == PDL_RP_VALUE;
    return c > 0 && strchr("-.eE/_", c) != NULL;
}

/* Collects the token without underscores in r->text. */
static void collect(pdl_rp *r, pdl_rp_place place) {
    int c, before = 0;
    pdl_buf_clear(&r->text);
    for (; in_number(c = rp_peek(r), before, place); r->pos++) {
        if (c != '_') pdl_buf_putc(&r->text, (char)c);
        before = c;
    }
}

static bool has_any(pdl_str s, const char *chars) {
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] && strchr(chars, s.p[i])) return true;
    return false;
}

/* Reads the digits of an integer, which may have a sign and leading zeros. */
static bool read_int(pdl_str s, pdl_val *out) {
    size_t at = s.n && s.p[0] == '-' ? 1 : 0;
    for (size_t i = at; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9') return false;
    return s.n > at && pdl_int_read(s, 10, out);
}

static pdl_val convert(pdl_str s) {
    double d;
    pdl_val v;
    bool odd = has_any(s, ",/");
    if (!odd && has_any(s, ".eE")) {
        if (pdl_num_read_double(s, &d)) return pdl_float(d);
    } else if (!odd && read_int(s, &v)) {
        return v;
    }
    return pdl_text(s);
}

pdl_val pdl_rp_number(pdl_rp *r, pdl_rp_place place) {
    size_t start = r->pos, next;
    collect(r, place);
    if (r->pos < r->src.n && pdl_cp_is_alpha(pdl_rp_cp(r, r->pos, &next))) {
        r->pos = start; /* this is a word that begins with digits; its sign is dropped */
        while (rp_peek(r) == '-' || rp_peek(r) == '.' || rp_peek(r) == '_') r->pos++;
        return pdl_rp_word(r, place);
    }
    pdl_str s = pdl_buf_str(&r->text);
    /* the last character belongs to the text that follows */
    if (s.n && strchr("-eE/,+", s.p[s.n - 1])) {
        s.n--;
        r->pos--;
    }
    return convert(s);
}

bool pdl_rp_literal(pdl_rp *r, pdl_val *out) {
    static const struct {
        const char *word;
        int8_t value; /* -1 means null */
    } words[] = {{"true", 1}, {"false", 0}, {"null", -1}, {"none", -1}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t n = strlen(words[i].word), end = r->pos + n;
        if (!pdl_str_eq_nocase(pdl_str_sub(r->src, r->pos, end), pdl_str_of(words[i].word)))
            continue;
        int c = rp_at(r, end);
        if (c >= 0 && !rp_blank(c) && !strchr(",]})", c)) return false;
        r->pos = end;
        *out = words[i].value < 0 ? pdl_null() : pdl_bool(words[i].value != 0);
        return true;
    }
    return false;
}
