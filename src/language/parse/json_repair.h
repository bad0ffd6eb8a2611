/* json_repair.h -- the cursor of the repairing reader and its readers of single tokens. Private to
 * parse.
 *
 * json_repair.c reads containers, json_repair_text.c strings and words, json_repair_number.c
 * numbers and literals.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_PARSE_JSON_REPAIR_H
#define PDL_PARSE_JSON_REPAIR_H

#include "base/buf.h"
#include "parse/readers.h"

/* The position of a token, which decides where the token ends. */
typedef enum { PDL_RP_KEY, PDL_RP_VALUE, PDL_RP_ITEM } pdl_rp_place;

/* `at` is the nearest occurrence of a byte at or after `from` (the text's length when there is
 * none). Searches move forward, so a remembered answer mostly holds and all searches together are
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
    uint32_t lists;                 /* number of open lists around the cursor */
    uint32_t values;                /* number of enclosing dicts whose value is being read */
    uint32_t keys;                  /* number of enclosing lists that are written in braces */
    pdl_rp_memo memo[PDL_RP_MEMOS]; /* indexed by ASCII byte */
    /* the nearest unescaped occurrences, indexed by ASCII byte */
    pdl_rp_memo plain[PDL_RP_MEMOS];
    pdl_buf text; /* the token that is being read */
    /* count is the number of closing quotes from count_from on to the bracket at count_to */
    size_t count, count_from, count_to;
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

/* Returns the code point at byte i (i < length) and the offset after it. */
uint32_t pdl_rp_cp(const pdl_rp *r, size_t i, size_t *next);

/* Returns the offset of the next byte c (ASCII) at or after i. Returns the text's length when c
 * does not follow. */
size_t pdl_rp_find(pdl_rp *r, int c, size_t i);

/* Returns true when the quoted text at the cursor ends before a colon. */
bool pdl_rp_item_is_key(pdl_rp *r);

/* Returns the length of the quote at i: 1, or 3 for a curly quote. Returns 0 when there is no quote
 * at i. */
size_t pdl_rp_quote(const pdl_rp *r, size_t i);

/* The next functions read tokens. The cursor is at the first byte (a quote; a letter; a digit, sign
 * or point) and moves past the token. */
pdl_val pdl_rp_string(pdl_rp *r, pdl_rp_place place);
pdl_val pdl_rp_word(pdl_rp *r, pdl_rp_place place);
/* returns false when the word was not a key and was skipped */
bool pdl_rp_bare_key(pdl_rp *r, pdl_val *out);
pdl_val pdl_rp_number(pdl_rp *r, pdl_rp_place place);

/* Reads true, false, null or none, and ignores case. The cursor moves only when the literal is a
 * whole word. */
bool pdl_rp_literal(pdl_rp *r, pdl_val *out);

#endif
