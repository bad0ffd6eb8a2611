/* utf8.h -- validates, decodes and encodes UTF-8, changes the case of text, and knows the width and
 * class of characters. Only this code uses utf8proc.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_UTF8_H
#define PDL_BASE_UTF8_H

#include "base/buf.h"
#include "base/str.h"

/* Returns the offset of the first byte that is not part of valid UTF-8 (RFC 3629: no surrogates, no
 * overlong forms), or PDL_NOT_FOUND when all is valid. */
size_t pdl_utf8_check(pdl_str s);

/* The place where bytes stop being UTF-8: line and column from 1 (columns are code points; CR, LF
 * and CR LF end lines). */
typedef struct pdl_utf8_fault {
    size_t off;
    uint32_t line, column;
    unsigned char byte;
} pdl_utf8_fault;
/* Finds the first place where bytes are not UTF-8. Returns false when all is valid. */
bool pdl_utf8_find_fault(pdl_str bytes, pdl_utf8_fault *out);

/* Returns at most the first n bytes of s, which is valid UTF-8, cut between characters. */
pdl_str pdl_utf8_cut(pdl_str s, size_t n);

/* Returns the text without the byte order mark (U+FEFF) that editors of Windows put before it. */
pdl_str pdl_utf8_unmarked(pdl_str s);

/* Returns the number of code points of valid UTF-8. */
size_t pdl_utf8_count(pdl_str s);

/* Returns the length in bytes (1..4) of the sequence of valid UTF-8 that begins with byte c. */
static inline size_t pdl_utf8_len(unsigned char c) {
    return c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

/* Decodes the code point at *p (valid UTF-8, at least one byte left) and advances *p. */
uint32_t pdl_utf8_next(const char **p);

/* Writes cp (0..0x10FFFF, also surrogates as 3 bytes) to out. Returns the length, 1 to 4. */
size_t pdl_utf8_put(uint32_t cp, char out[4]);
void pdl_buf_put_cp(pdl_buf *b, uint32_t cp);

/* Returns the byte offset of the k-th code point of valid UTF-8. Returns the length of s when s has
 * fewer code points. */
size_t pdl_utf8_offset(pdl_str s, size_t k);

/* Appends s with every invalid byte sequence replaced by U+FFFD. */
void pdl_utf8_repair(pdl_buf *out, pdl_str bytes);

/* The next functions append the text that Python's str methods make. */
void pdl_utf8_lower(pdl_buf *out, pdl_str s);    /* str.lower(), final sigma included */
void pdl_utf8_upper(pdl_buf *out, pdl_str s);    /* str.upper(), full mapping: ß -> SS */
void pdl_utf8_casefold(pdl_buf *out, pdl_str s); /* str.casefold() */
void pdl_utf8_title(pdl_buf *out, pdl_str s);    /* str.title() */
void pdl_utf8_capitalize(pdl_buf *out, pdl_str s);
void pdl_utf8_swapcase(pdl_buf *out, pdl_str s);

/* The classes are those of Python's str.isX for one code point. */
bool pdl_cp_is_alpha(uint32_t cp);
bool pdl_cp_is_decimal(uint32_t cp);
bool pdl_cp_is_digit(uint32_t cp);
bool pdl_cp_is_numeric(uint32_t cp);
bool pdl_cp_is_alnum(uint32_t cp);
/* str.isspace() accepts these characters, and strip() and split() remove them */
bool pdl_cp_is_space(uint32_t cp);
bool pdl_cp_is_lower(uint32_t cp);
bool pdl_cp_is_upper(uint32_t cp);
bool pdl_cp_is_title(uint32_t cp);
bool pdl_cp_is_printable(uint32_t cp); /* repr() escapes the characters that are not printable */
/* Returns true for a printable character that leaves a mark on a screen. Some letters and marks
 * leave none, such as the fillers of Hangul and the selectors of variants. */
bool pdl_cp_is_visible(uint32_t cp);
bool pdl_cp_is_id_start(uint32_t cp); /* Python identifiers (XID) */
bool pdl_cp_is_id_continue(uint32_t cp);
int pdl_cp_digit_value(uint32_t cp); /* returns 0..9 for a decimal digit of any script, else -1 */
int pdl_cp_width(uint32_t cp);       /* returns the number of columns on a terminal */

/* Appends s in normal form C. */
void pdl_utf8_nfc(pdl_buf *out, pdl_str s);

#endif
