/* regex_flags.c -- The order of the checks is the same as in Python: when a pattern has two faults,
 * Python reports the first that it finds.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/regex/regex_flags.h"

#include <string.h>

#include "base/regex/regex_translate.h"
#include "base/utf8.h"

#include "base/banned.h"

/* The letters of flags that have no bit PDL_RX_*. */
enum { FLAG_OTHER = 32, FLAG_UNICODE = 64, FLAG_DEBUG = 128 };

/* Flags that say how text is read. A pattern may have at most one of them. */
#define TYPE_FLAGS ((unsigned)PDL_RX_ASCII | FLAG_UNICODE | FLAG_OTHER)

/* Returns the flag of a letter, or 0. */
static unsigned flag_of(int32_t c) {
    switch (c) {
    case 'i': return PDL_RX_NOCASE;
    case 'm': return PDL_RX_MULTILINE;
    case 's': return PDL_RX_DOTALL;
    case 'x': return PDL_RX_VERBOSE;
    case 'a': return PDL_RX_ASCII;
    case 'u': return FLAG_UNICODE;
    case 'L': return FLAG_OTHER;
    case 't': return FLAG_DEBUG; /* an old flag without effect */
    default: return 0;
    }
}

bool pdl_rx_is_flag(int32_t c) { return flag_of(c) != 0; }

/* Reads the character after a flag: another flag or one of `ends`. Anything else is an error: an
 * unknown flag, or the text `missing`. At the end of the pattern the error is at_end. */
static bool next_flag(pdl_rx_scan *s, const char *ends, const char *missing, const char *at_end,
                      int32_t *c) {
    pdl_rx_token t;
    if (!pdl_rx_get(s, &t)) return false;
    *c = t.cp;
    if (t.cp < 0) return pdl_rx_fail(s, s->next.pos, "%s", at_end);
    if (flag_of(t.cp) || (t.cp < 0x80 && t.cp != 0 && strchr(ends, (int)t.cp))) return true;
    return pdl_rx_fail(s, t.pos, "%s", pdl_cp_is_alpha((uint32_t)t.cp) ? "unknown flag" : missing);
}

/* Reads flags up to a minus, a colon or a parenthesis. Before the call, *c is the first flag;
 * afterwards, it is the sign after the flags. */
static bool read_added(pdl_rx_scan *s, int32_t *c, unsigned *added) {
    static const char missing[] = "missing -, : or )";
    while (*c != ')' && *c != '-' && *c != ':') {
        unsigned flag = flag_of(*c);
        if (flag == FLAG_OTHER)
            return pdl_rx_fail(s, s->next.pos,
                               "bad inline flags: cannot use 'L' flag with a str pattern");
        *added |= flag;
        if ((flag & TYPE_FLAGS) && (*added & TYPE_FLAGS) != flag)
            return pdl_rx_fail(s, s->next.pos,
                               "bad inline flags: flags 'a', 'u' and 'L' are incompatible");
        if (!next_flag(s, ")-:", missing, missing, c)) return false;
    }
    return true;
}

/* Reads the flags after a minus, up to the colon. */
static bool read_removed(pdl_rx_scan *s, unsigned *removed) {
    int32_t c;
    if (!next_flag(s, "", "missing flag", "missing flag", &c)) return false;
    while (c != ':') {
        if (flag_of(c) & TYPE_FLAGS)
            return pdl_rx_fail(s, s->next.pos,
                               "bad inline flags: cannot turn off flags 'a', 'u' and 'L'");
        *removed |= flag_of(c);
        if (!next_flag(s, ":", "missing :", "missing :", &c)) return false;
    }
    return true;
}

bool pdl_rx_read_flags(pdl_rx_scan *s, int32_t c, pdl_rx_flags *out) {
    pdl_rx_flags f = {0};
    if (!read_added(s, &c, &f.added)) return false;
    f.for_all = c == ')';
    if (!f.for_all) {
        if (f.added & FLAG_DEBUG)
            return pdl_rx_fail(s, s->next.pos - 1, "bad inline flags: cannot turn on global flag");
        if (c == '-' && !read_removed(s, &f.removed)) return false;
        if (f.removed & FLAG_DEBUG)
            return pdl_rx_fail(s, s->next.pos - 1, "bad inline flags: cannot turn off global flag");
        if (f.added & f.removed)
            return pdl_rx_fail(s, s->next.pos - 1, "bad inline flags: flag turned on and off");
    }
    *out = f;
    return true;
}

unsigned pdl_rx_with_flags(unsigned flags, const pdl_rx_flags *change) {
    if (change->added & TYPE_FLAGS) flags &= ~(unsigned)PDL_RX_ASCII;
    return ((flags | change->added) & ~change->removed) & ~(unsigned)(FLAG_UNICODE | FLAG_DEBUG);
}
