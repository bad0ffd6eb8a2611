/* regex_scan.h -- tokens and single characters of Python `re` patterns. Used by regex_translate.c
 * only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_REGEX_SCAN_H
#define PDL_BASE_REGEX_SCAN_H

#include "base/err.h"
#include "base/str.h"

/* One character, or a backslash and the character after it. */
typedef struct {
    int32_t cp;      /* -1 at the end of the pattern; '\\' for an escape */
    uint32_t second; /* second character of an escape */
    size_t at, pos;  /* offset in bytes and in code points */
} pdl_rx_token;

typedef struct {
    pdl_str src;
    pdl_rx_token next;
    pdl_err *err;
} pdl_rx_scan;

PDL_MUST bool pdl_rx_start(pdl_rx_scan *s, pdl_str src, pdl_err *err);

/* Returns the next token and moves past it. A backslash as the last character is an error when it
 * becomes the next token. */
PDL_MUST bool pdl_rx_get(pdl_rx_scan *s, pdl_rx_token *out);

/* When the next token is the character c, skips it and sets *hit to true. Otherwise sets *hit to
 * false. */
PDL_MUST bool pdl_rx_accept(pdl_rx_scan *s, int32_t c, bool *hit);

/* Returns to a token that was read before. */
void pdl_rx_seek(pdl_rx_scan *s, pdl_rx_token to);

/* Returns the text from a token to the next one. */
pdl_str pdl_rx_since(const pdl_rx_scan *s, pdl_rx_token from);

/* Returns the text up to the character end, which is skipped; `what` names the text in errors. */
PDL_MUST bool pdl_rx_until(pdl_rx_scan *s, char end, const char *what, pdl_str *out);

/* Sets an error with " at position N" appended, as Python does. Always returns false. */
PDL_PRINTF(3, 4) bool pdl_rx_fail(pdl_rx_scan *s, size_t pos, const char *fmt, ...);

/* Does the same as pdl_rx_fail, with a message that is the text `before` followed by Python's repr
 * of name. */
bool pdl_rx_fail_name(pdl_rx_scan *s, size_t pos, const char *before, pdl_str name);

/* The meaning of an escape. */
typedef enum { PDL_RX_CHAR, PDL_RX_CLASS, PDL_RX_PLACE, PDL_RX_BACKREF } pdl_rx_escape_kind;

typedef struct {
    pdl_rx_escape_kind kind;
    /* The character, or the letter of a class (dDsSwW) or place (AbBZ), or the number of a
     * group. */
    uint32_t value;
} pdl_rx_escape;

/* Reads the rest of the escape esc, which is the token that was read last. */
PDL_MUST bool pdl_rx_read_escape(pdl_rx_scan *s, pdl_rx_token esc, bool in_set, pdl_rx_escape *out);

static inline bool pdl_rx_is_digit(int32_t c) { return c >= '0' && c <= '9'; }
static inline bool pdl_rx_is_letter(int32_t c) {
    return (c | 32) >= 'a' && (c | 32) <= 'z' && c < 0x80;
}

#endif
