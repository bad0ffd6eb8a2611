/* methods_class.c -- str.isalpha and similar methods, which check that every character is of a
 * class. The classes are those of Python (base/utf8.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "native/natives.h"

#include "base/banned.h"

typedef bool cp_fn(uint32_t cp);

static bool all_are(pdl_vref v, cp_fn *is, bool when_empty) {
    pdl_str s = pdl_str_get(v);
    const char *p = s.p, *end = s.p + s.n;
    if (s.n == 0) return when_empty;
    for (size_t i = 0; p < end && pdl_walk_may_continue_at(i); i++)
        if (!is(pdl_utf8_next(&p))) return false;
    return true;
}

/* Returns true for title case that is not upper case: the digraphs. */
static bool is_only_title(uint32_t cp) { return pdl_cp_is_title(cp) && !pdl_cp_is_upper(cp); }

/* Returns true when the text has a character of the wanted case, no character of the other case,
 * and no digraph in title case. */
static bool in_case(pdl_vref v, cp_fn *wanted, cp_fn *other) {
    pdl_str s = pdl_str_get(v);
    const char *p = s.p, *end = s.p + s.n;
    bool any = false;
    for (size_t i = 0; p < end && pdl_walk_may_continue_at(i); i++) {
        uint32_t cp = pdl_utf8_next(&p);
        if (other(cp) || is_only_title(cp)) return false;
        any = any || wanted(cp);
    }
    return any;
}

/* Returns true for a text in title case that has a letter with case. A lower case letter must
 * directly follow a letter with case. An upper or title case letter must not. */
static bool in_title(pdl_vref v) {
    pdl_str s = pdl_str_get(v);
    const char *p = s.p, *end = s.p + s.n;
    bool any = false, inside = false;
    for (size_t i = 0; p < end && pdl_walk_may_continue_at(i); i++) {
        uint32_t cp = pdl_utf8_next(&p);
        bool high = pdl_cp_is_title(cp), low = pdl_cp_is_lower(cp);
        if ((high && inside) || (low && !inside)) return false;
        inside = high || low;
        any = any || inside;
    }
    return any;
}

static bool is_identifier(pdl_vref v) {
    pdl_str s = pdl_str_get(v);
    const char *p = s.p, *end = s.p + s.n;
    if (s.n == 0) return false;
    uint32_t first = pdl_utf8_next(&p);
    if (first != '_' && !pdl_cp_is_id_start(first)) return false;
    for (size_t i = 0; p < end && pdl_walk_may_continue_at(i); i++)
        if (!pdl_cp_is_id_continue(pdl_utf8_next(&p))) return false;
    return true;
}

static bool is_ascii_cp(uint32_t cp) { return cp < 0x80; }

#define YIELD(x) return *out = pdl_bool(x), true

bool pdl_m_isalnum(PDL_ARGS) { YIELD(all_are(argv[0], pdl_cp_is_alnum, false)); }
bool pdl_m_isalpha(PDL_ARGS) { YIELD(all_are(argv[0], pdl_cp_is_alpha, false)); }
bool pdl_m_isascii(PDL_ARGS) { YIELD(all_are(argv[0], is_ascii_cp, true)); }
bool pdl_m_isdecimal(PDL_ARGS) { YIELD(all_are(argv[0], pdl_cp_is_decimal, false)); }
bool pdl_m_isdigit(PDL_ARGS) { YIELD(all_are(argv[0], pdl_cp_is_digit, false)); }
bool pdl_m_isidentifier(PDL_ARGS) { YIELD(is_identifier(argv[0])); }
bool pdl_m_islower(PDL_ARGS) { YIELD(in_case(argv[0], pdl_cp_is_lower, pdl_cp_is_upper)); }
bool pdl_m_isnumeric(PDL_ARGS) { YIELD(all_are(argv[0], pdl_cp_is_numeric, false)); }
bool pdl_m_isprintable(PDL_ARGS) { YIELD(all_are(argv[0], pdl_cp_is_printable, true)); }
bool pdl_m_isspace(PDL_ARGS) { YIELD(all_are(argv[0], pdl_cp_is_space, false)); }
bool pdl_m_istitle(PDL_ARGS) { YIELD(in_title(argv[0])); }
bool pdl_m_isupper(PDL_ARGS) { YIELD(in_case(argv[0], pdl_cp_is_upper, pdl_cp_is_lower)); }
