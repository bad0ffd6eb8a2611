/* repair.h -- private to the room: the cursor of the repairing reader and its readers of single
 * tokens.
 *
 * repair.c walks containers, repair_text.c reads strings and words, repair_number.c numbers and
 * literals.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_PARSE_REPAIR_H
#define PDL_PARSE_REPAIR_H

#include "base/buf.h"
#include "parse/readers.h"

/* Where a token stands: what ends it depends on that. */
typedef enum { PDL_RP_KEY, PDL_RP_VALUE, PDL_RP_ITEM } pdl_rp_place;

/* The nearest occurrence of a byte at or behind `from` is `at` (text length when there is none).
 * Searches go forward, so that a remembered answer mostly holds and all searches together are
 * linear. */
typedef struct pdl_rp_memo {
    size_t from, at;
    bool known;
} pdl_rp_memo;

enum { PDL_RP_MEMOS = 128 };

/* Invariant: pos <= src.n. */
typedef struct pdl_rp {
    pdl_str src;
    size_t pos;
    uint32_t lists;                     /* open around the cursor */
    uint32_t values;                    /* dicts around it whose value is being read */
    uint32_t keys;                      /* lists around it that stand in braces */
    pdl_rp_memo memo[PDL_RP_MEMOS];     /* by ASCII byte */
    pdl_rp_memo plain[PDL_RP_MEMOS];    /* the same of bytes without a backslash */
    pdl_buf text;                       /* the token being read */
    size_t count, count_from, count_to; /* closing quotes from an offset to a bracket */
    bool count_known;
} pdl_rp;

static inline int rp_at(const pdl_rp *r, size_t i) {
    return i < r->src.n ? (unsigned char)r->src.p[i] : -1;
}
static inline int rp_peek(const pdl_rp *r) { return rp_at(r, r->pos); }
static inline bool rp_blank(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static inline size_t rp_skip_blanks(const pdl_rp *r, size_t i) {
    while (rp_blank(rp_at(r, i))) i++;
    return i;
}

/* Code point at byte i (i < length) and the offset behind it. */
uint32_t pdl_rp_cp(const pdl_rp *r, size_t i, size_t *next);

/* Offset of the next byte c (ASCII) at or behind i; the text's length when there is none. */
size_t pdl_rp_find(pdl_rp *r, int c, size_t i);

/* Does the quoted text at the cursor end before a colon? */
bool pdl_rp_item_is_key(pdl_rp *r);

/* Does a quote stand at i? Its length (1, or 3 for a curly one), or 0. */
size_t pdl_rp_quote(const pdl_rp *r, size_t i);

/* Tokens. The cursor is at the first byte (a quote; a letter; a digit, sign or point) and goes
 * behind the token. */
pdl_val pdl_rp_string(pdl_rp *r, pdl_rp_place place);
pdl_val pdl_rp_word(pdl_rp *r, pdl_rp_place place);
bool pdl_rp_bare_key(pdl_rp *r, pdl_val *out); /* false: it was none and is skipped */
pdl_val pdl_rp_number(pdl_rp *r, pdl_rp_place place);

/* true, false, null, none in any case, when a whole word; the cursor moves only then. */
bool pdl_rp_literal(pdl_rp *r, pdl_val *out);

#endif
