/* utf8.c -- see utf8.h. ASCII takes short paths. Categories and simple case come from utf8proc, and
 * facts that it lacks come from utf8_tables.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"

#include <utf8proc.h>

#include "base/bisect.h"
#include "base/cancel.h"
#include "base/text/utf8_tables.h"

#include "base/banned.h"

#define HIGH_BITS UINT64_C(0x8080808080808080)
/* maximum number of code points that one code point becomes in another case */
enum { MAX_CASE = 4 };

/* Returns the number of ASCII bytes at the start of s. */
static size_t ascii_prefix(pdl_str s) {
    size_t i = 0;
    for (uint64_t w; s.n - i >= sizeof w; i += sizeof w) {
        memcpy(&w, s.p + i, sizeof w);
        if (w & HIGH_BITS) break;
    }
    while (i < s.n && (unsigned char)s.p[i] < 0x80) i++;
    return i;
}

/* Returns the length of the sequence at p[0..n), n > 0. When it is not valid, *good is false, and
 * the result is the length of the part that could begin a valid sequence (at least 1). The Unicode
 * standard advises to replace this part. */
static size_t sequence(const unsigned char *p, size_t n, bool *good) {
    *good = p[0] < 0x80;
    if (p[0] < 0xc2 || p[0] > 0xf4) return 1;
    size_t len = pdl_utf8_len(p[0]);
    unsigned char low = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char high = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
    for (size_t i = 1; i < len; i++) {
        if (i == n || p[i] < low || p[i] > high) return i;
        low = 0x80;
        high = 0xbf;
    }
    *good = true;
    return len;
}

size_t pdl_utf8_check(pdl_str s) {
    for (size_t i = 0; i < s.n;) {
        i += ascii_prefix(pdl_str_sub(s, i, s.n));
        bool good = true;
        while (i < s.n && (unsigned char)s.p[i] >= 0x80) {
            size_t len = sequence((const unsigned char *)s.p + i, s.n - i, &good);
            if (!good) return i;
            i += len;
        }
    }
    return PDL_NOT_FOUND;
}

bool pdl_utf8_find_fault(pdl_str bytes, pdl_utf8_fault *out) {
    size_t off = pdl_utf8_check(bytes), start = 0;
    if (off == PDL_NOT_FOUND) return false;
    *out = (pdl_utf8_fault){.off = off, .line = 1, .byte = (unsigned char)bytes.p[off]};
    for (size_t i = 0; i < off; i++) {
        if (bytes.p[i] != '\n' &&
            (bytes.p[i] != '\r' || (i + 1 < bytes.n && bytes.p[i + 1] == '\n')))
            continue;
        out->line++;
        start = i + 1;
    }
    pdl_str before = pdl_str_sub(bytes, start, off);
    if (start == 0 && pdl_str_starts(before, PDL_STR("\xef\xbb\xbf")))
        before = pdl_str_sub(before, 3, before.n);
    out->column = (uint32_t)pdl_utf8_count(before) + 1;
    return true;
}

/* Counts the continuation bytes (10xxxxxx) of `words` words at p. Each byte of a sum counts one
 * column of the words, so a sum may add up to 255 words. */
static size_t continuations(const char *p, size_t words) {
    const uint64_t ones = HIGH_BITS >> 7, low = 0x00ff00ff00ff00ff;
    uint64_t sum = 0;
    for (size_t i = 0; i < words; i++) {
        uint64_t w;
        memcpy(&w, p + i * sizeof w, sizeof w);
        sum += w >> 7 & ~(w >> 6) & ones; /* bit 7 is set and bit 6 is clear */
    }
    sum = (sum & low) + (sum >> 8 & low);
    return (size_t)((sum * 0x0001000100010001) >> 48);
}

size_t pdl_utf8_count(pdl_str s) {
    size_t i = 0, n = s.n;
    for (size_t words; (words = (s.n - i) / sizeof(uint64_t)) > 0; i += words * sizeof(uint64_t)) {
        if (words > 255) words = 255;
        n -= continuations(s.p + i, words);
    }
    for (; i < s.n; i++) n -= ((unsigned char)s.p[i] & 0xc0) == 0x80;
    return n;
}

uint32_t pdl_utf8_next(const char **p) {
    const unsigned char *u = (const unsigned char *)*p;
    size_t len = pdl_utf8_len(u[0]);
    *p += len;
    switch (len) {
    case 1: return u[0];
    case 2: return (uint32_t)(u[0] & 0x1f) << 6 | (u[1] & 0x3f);
    case 3: return (uint32_t)(u[0] & 0x0f) << 12 | (uint32_t)(u[1] & 0x3f) << 6 | (u[2] & 0x3f);
    default:
        return (uint32_t)(u[0] & 0x07) << 18 | (uint32_t)(u[1] & 0x3f) << 12 |
               (uint32_t)(u[2] & 0x3f) << 6 | (u[3] & 0x3f);
    }
}

size_t pdl_utf8_put(uint32_t cp, char out[4]) {
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    size_t len = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = len - 1; i > 0; i--, cp >>= 6)
        out[i] = (char)(unsigned char)(0x80 | (cp & 0x3f));
    out[0] = (char)(unsigned char)(lead[len] | cp);
    return len;
}

void pdl_buf_put_cp(pdl_buf *b, uint32_t cp) {
    char tmp[4];
    pdl_buf_put(b, (pdl_str){tmp, pdl_utf8_put(cp, tmp)});
}

pdl_str pdl_utf8_cut(pdl_str s, size_t n) {
    if (s.n <= n) return s;
    while (n && ((unsigned char)s.p[n] & 0xc0) == 0x80) n--;
    return pdl_str_sub(s, 0, n);
}

pdl_str pdl_utf8_unmarked(pdl_str s) {
    return pdl_str_starts(s, PDL_STR("\xef\xbb\xbf")) ? pdl_str_sub(s, 3, s.n) : s;
}

size_t pdl_utf8_offset(pdl_str s, size_t k) {
    enum { PART = 4096 }; /* number of bytes that are counted at once */
    size_t i = 0;
    for (size_t n; s.n - i > PART; i += PART, k -= n) {
        n = pdl_utf8_count(pdl_str_sub(s, i, i + PART));
        if (n > k) break;
    }
    /* i may be inside a code point whose first byte was already counted */
    for (; i < s.n; i++)
        if (((unsigned char)s.p[i] & 0xc0) != 0x80 && k-- == 0) break;
    return i;
}

void pdl_utf8_repair(pdl_buf *out, pdl_str bytes) {
    for (size_t i = 0; i < bytes.n;) {
        pdl_str rest = pdl_str_sub(bytes, i, bytes.n);
        size_t bad = pdl_utf8_check(rest);
        pdl_buf_put(out, pdl_str_sub(rest, 0, bad));
        if (bad == PDL_NOT_FOUND) return;
        bool good;
        i += bad + sequence((const unsigned char *)rest.p + bad, rest.n - bad, &good);
        PDL_PUT(out, "\xef\xbf\xbd");
    }
}

static bool in_ranges(uint32_t cp, const cp_range *ranges, size_t n) {
    size_t lo = 0;
    PDL_BISECT(lo, n, cp > ranges[mid].last);
    return lo < n && cp >= ranges[lo].first;
}
#define IN(cp, table) in_ranges((cp), (table), sizeof(table) / sizeof(table)[0])

static utf8proc_category_t category(uint32_t cp) { return utf8proc_category((utf8proc_int32_t)cp); }
static bool between(utf8proc_category_t c, utf8proc_category_t lo, utf8proc_category_t hi) {
    return c >= lo && c <= hi;
}

/* The order of categories in utf8proc: Cn, Lu Ll Lt Lm Lo, Mn Mc Me, Nd Nl No, Pc.., Zs Zl Zp, Cc
 * Cf Cs Co. */
bool pdl_cp_is_alpha(uint32_t cp) {
    return between(category(cp), UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO);
}

bool pdl_cp_is_decimal(uint32_t cp) { return category(cp) == UTF8PROC_CATEGORY_ND; }

bool pdl_cp_is_digit(uint32_t cp) { return pdl_cp_is_decimal(cp) || IN(cp, other_digits); }

bool pdl_cp_is_numeric(uint32_t cp) {
    return between(category(cp), UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO) ||
           IN(cp, numeric_letters);
}

bool pdl_cp_is_alnum(uint32_t cp) { return pdl_cp_is_alpha(cp) || pdl_cp_is_numeric(cp); }

bool pdl_cp_is_space(uint32_t cp) {
    if (cp < 0x80) return cp == ' ' || (cp >= 9 && cp <= 13) || (cp >= 0x1c && cp <= 0x1f);
    return cp == 0x85 || between(category(cp), UTF8PROC_CATEGORY_ZS, UTF8PROC_CATEGORY_ZP);
}

bool pdl_cp_is_lower(uint32_t cp) {
    if (cp < 0x80) return cp >= 'a' && cp <= 'z';
    return category(cp) == UTF8PROC_CATEGORY_LL || IN(cp, other_lower);
}

bool pdl_cp_is_upper(uint32_t cp) {
    if (cp < 0x80) return cp >= 'A' && cp <= 'Z';
    return category(cp) == UTF8PROC_CATEGORY_LU || IN(cp, other_upper);
}

bool pdl_cp_is_title(uint32_t cp) {
    return category(cp) == UTF8PROC_CATEGORY_LT || pdl_cp_is_upper(cp);
}

bool pdl_cp_is_printable(uint32_t cp) {
    utf8proc_category_t c = category(cp);
    return cp == ' ' || (c != UTF8PROC_CATEGORY_CN && c < UTF8PROC_CATEGORY_ZS);
}

bool pdl_cp_is_visible(uint32_t cp) {
    static const uint32_t blank[][2] = {{0x034F, 0x034F},  {0x115F, 0x1160}, {0x17B4, 0x17B5},
                                        {0x180B, 0x180F},  {0x2800, 0x2800}, {0x3164, 0x3164},
                                        {0xFE00, 0xFE0F},  {0xFFA0, 0xFFA0}, {0x1D159, 0x1D159},
                                        {0xE0100, 0xE01EF}};
    for (size_t i = 0; i < sizeof blank / sizeof blank[0]; i++)
        if (cp >= blank[i][0] && cp <= blank[i][1]) return false;
    return pdl_cp_is_printable(cp);
}

bool pdl_cp_is_id_start(uint32_t cp) {
    if (cp < 0x80) return ((cp | 32) >= 'a' && (cp | 32) <= 'z') || cp == '_';
    utf8proc_category_t c = category(cp);
    bool usual =
        between(c, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO) || c == UTF8PROC_CATEGORY_NL;
    return usual != IN(cp, id_start_odd);
}

bool pdl_cp_is_id_continue(uint32_t cp) {
    if (cp < 0x80) return pdl_cp_is_id_start(cp) || (cp >= '0' && cp <= '9');
    utf8proc_category_t c = category(cp);
    bool usual = between(c, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_MC) ||
                 between(c, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NL) ||
                 c == UTF8PROC_CATEGORY_PC;
    return usual != IN(cp, id_continue_odd);
}

int pdl_cp_digit_value(uint32_t cp) {
    if (cp < 0x80) return cp >= '0' && cp <= '9' ? (int)cp - '0' : -1;
    if (!pdl_cp_is_decimal(cp)) return -1;
    /* Decimal digits come in runs of ten that begin with zero. The mathematical digits
     * (1D7CE..1D7FF) and those of a few adjacent scripts follow each other without a gap, so the
     * distance to the start of the run is taken modulo 10. */
    uint32_t first = cp;
    while (pdl_cp_is_decimal(first - 1)) first--;
    return (int)((cp - first) % 10);
}

int pdl_cp_width(uint32_t cp) { return utf8proc_charwidth((utf8proc_int32_t)cp); }

static bool is_cased(uint32_t cp) {
    return pdl_cp_is_lower(cp) || pdl_cp_is_upper(cp) || category(cp) == UTF8PROC_CATEGORY_LT;
}

static bool is_ignorable(uint32_t cp) {
    utf8proc_category_t c = category(cp);
    return c == UTF8PROC_CATEGORY_MN || c == UTF8PROC_CATEGORY_ME || c == UTF8PROC_CATEGORY_CF ||
           c == UTF8PROC_CATEGORY_LM || c == UTF8PROC_CATEGORY_SK || IN(cp, other_ignorable);
}

/* Returns true when the sigma at byte i of s ends a word: a cased letter precedes it and no cased
 * letter follows it. Ignorable characters do not count. */
static bool is_final_sigma(pdl_str s, size_t i) {
    const char *p = s.p + i;
    uint32_t cp = ' ';
    for (bool skip = true; skip && p > s.p; skip = is_ignorable(cp)) {
        do p--;
        while (((unsigned char)*p & 0xc0) == 0x80);
        const char *q = p;
        cp = pdl_utf8_next(&q);
    }
    if (is_ignorable(cp) || !is_cased(cp)) return false;
    p = s.p + i;
    pdl_utf8_next(&p);
    while (p < s.p + s.n) {
        cp = pdl_utf8_next(&p);
        if (!is_ignorable(cp)) return !is_cased(cp);
    }
    return true;
}

static const special_case *find_special(uint32_t cp) {
    if (cp < special_cases[0].cp) return NULL;
    size_t lo = 0, hi = sizeof special_cases / sizeof special_cases[0];
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (special_cases[mid].cp == cp) return &special_cases[mid];
        if (special_cases[mid].cp < cp)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

static void put_all(pdl_buf *out, const uint16_t cps[3]) {
    for (size_t i = 0; i < 3 && cps[i]; i++) pdl_buf_put_cp(out, cps[i]);
}

static void put_upper(pdl_buf *out, uint32_t cp) {
    const special_case *special = find_special(cp);
    if (special)
        put_all(out, special->upper);
    else
        pdl_buf_put_cp(out, (uint32_t)utf8proc_toupper((utf8proc_int32_t)cp));
}

static void put_title(pdl_buf *out, uint32_t cp) {
    const special_case *special = find_special(cp);
    if (special)
        put_all(out, special->title);
    else
        pdl_buf_put_cp(out, (uint32_t)utf8proc_totitle((utf8proc_int32_t)cp));
}

/* Appends the lower case of the code point cp at byte i of s. */
static void put_lower(pdl_buf *out, uint32_t cp, pdl_str s, size_t i) {
    if (cp == 0x3a3)
        pdl_buf_put_cp(out, is_final_sigma(s, i) ? 0x3c2 : 0x3c3);
    else if (cp == 0x130)
        PDL_PUT(out, "i\xcc\x87");
    else
        pdl_buf_put_cp(out, (uint32_t)utf8proc_tolower((utf8proc_int32_t)cp));
}

enum { PART = 1 << 15 }; /* number of bytes of ASCII between two checks of a walk */

/* Appends the ASCII bytes of s from byte i on, at most PART bytes. Changes the case of the letters
 * first..first+25. Returns the number of bytes. */
static size_t put_ascii(pdl_buf *out, pdl_str s, size_t i, char first) {
    size_t n = ascii_prefix(pdl_str_sub(s, i, s.n - i > PART ? i + PART : s.n));
    char *to = pdl_buf_room(out, n);
    for (size_t k = 0; k < n; k++) {
        char c = s.p[i + k];
        to[k] = c >= first && c <= first + 25 ? (char)(c ^ 0x20) : c;
    }
    pdl_buf_grown(out, n);
    return n;
}

/* Appends s from byte i in lower case. */
static void lower_from(pdl_buf *out, pdl_str s, size_t i) {
    pdl_steps steps = {0};
    while (i < s.n && pdl_steps_may_continue(&steps)) {
        i += put_ascii(out, s, i, 'A');
        while (i < s.n && (unsigned char)s.p[i] >= 0x80 && pdl_steps_may_continue(&steps)) {
            const char *p = s.p + i;
            put_lower(out, pdl_utf8_next(&p), s, i);
            i = (size_t)(p - s.p);
        }
    }
}

void pdl_utf8_lower(pdl_buf *out, pdl_str s) { lower_from(out, s, 0); }

void pdl_utf8_upper(pdl_buf *out, pdl_str s) {
    pdl_steps steps = {0};
    for (size_t i = 0; i < s.n && pdl_steps_may_continue(&steps);) {
        i += put_ascii(out, s, i, 'a');
        const char *p = s.p + i, *end = s.p + s.n;
        while (p < end && (unsigned char)*p >= 0x80 && pdl_steps_may_continue(&steps))
            put_upper(out, pdl_utf8_next(&p));
        i = (size_t)(p - s.p);
    }
}

void pdl_utf8_casefold(pdl_buf *out, pdl_str s) {
    pdl_steps steps = {0};
    for (size_t i = 0; i < s.n && pdl_steps_may_continue(&steps);) {
        i += put_ascii(out, s, i, 'A');
        const char *p = s.p + i, *end = s.p + s.n;
        while (p < end && (unsigned char)*p >= 0x80 && pdl_steps_may_continue(&steps)) {
            utf8proc_int32_t folded[MAX_CASE];
            int last = 0;
            utf8proc_ssize_t n = utf8proc_decompose_char(
                (utf8proc_int32_t)pdl_utf8_next(&p), folded, MAX_CASE, UTF8PROC_CASEFOLD, &last);
            for (utf8proc_ssize_t k = 0; k < n && k < MAX_CASE; k++)
                pdl_buf_put_cp(out, (uint32_t)folded[k]);
        }
        i = (size_t)(p - s.p);
    }
}

/* Returns the code point at byte `at` of s, and sets *next to the offset of the next one. */
static uint32_t cp_at(pdl_str s, size_t at, size_t *next) {
    const char *p = s.p + at;
    uint32_t cp = pdl_utf8_next(&p);
    *next = (size_t)(p - s.p);
    return cp;
}

void pdl_utf8_title(pdl_buf *out, pdl_str s) {
    bool inside = false; /* the previous code point had a case */
    pdl_steps steps = {0};
    for (size_t at = 0, next; at < s.n && pdl_steps_may_continue(&steps); at = next) {
        uint32_t cp = cp_at(s, at, &next);
        if (inside)
            put_lower(out, cp, s, at);
        else
            put_title(out, cp);
        inside = is_cased(cp);
    }
}

void pdl_utf8_capitalize(pdl_buf *out, pdl_str s) {
    if (s.n == 0) return;
    const char *p = s.p;
    put_title(out, pdl_utf8_next(&p));
    lower_from(out, s, (size_t)(p - s.p));
}

void pdl_utf8_swapcase(pdl_buf *out, pdl_str s) {
    pdl_steps steps = {0};
    for (size_t at = 0, next; at < s.n && pdl_steps_may_continue(&steps); at = next) {
        uint32_t cp = cp_at(s, at, &next);
        if (pdl_cp_is_upper(cp))
            put_lower(out, cp, s, at);
        else if (pdl_cp_is_lower(cp))
            put_upper(out, cp);
        else
            pdl_buf_put_cp(out, cp);
    }
}

void pdl_utf8_nfc(pdl_buf *out, pdl_str s) {
    if (ascii_prefix(s) == s.n) {
        pdl_buf_put(out, s);
        return;
    }
    utf8proc_option_t how = UTF8PROC_STABLE | UTF8PROC_COMPOSE;
    const utf8proc_uint8_t *bytes = (const utf8proc_uint8_t *)s.p;
    utf8proc_ssize_t n = utf8proc_decompose(bytes, (utf8proc_ssize_t)s.n, NULL, 0, how);
    if (n < 0) PDL_BUG("normalization: %s", utf8proc_errmsg(n));
    utf8proc_int32_t *cps = PDL_NEW_N(utf8proc_int32_t, (size_t)n + 1);
    n = utf8proc_decompose(bytes, (utf8proc_ssize_t)s.n, cps, n, how);
    /* done in place, because UTF-8 takes at most 4 bytes for a code point */
    if (n >= 0) n = utf8proc_reencode(cps, n, how);
    if (n < 0) PDL_BUG("normalization: %s", utf8proc_errmsg(n));
    pdl_buf_put(out, (pdl_str){(const char *)cps, (size_t)n});
    pdl_free(cps);
}
