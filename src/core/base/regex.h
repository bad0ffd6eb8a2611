/* regex.h -- Python-dialect regular expressions over UTF-8. Only this code uses PCRE2.
 *
 * Patterns have the syntax of Python's `re`. A pattern is checked and translated (\Z, \uXXXX,
 * (?P<n>), (?a)...) before PCRE2 sees it. Forms that Python refuses, such as \p \z \K \h or unknown
 * letter escapes, are refused with Python's message. \w \d \s are Unicode-aware. Matching is
 * bounded by PDL_MAX_REGEX_STEPS.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_REGEX_H
#define PDL_BASE_REGEX_H

#include "base/err.h"
#include "base/str.h"

typedef struct pdl_regex pdl_regex;

enum {
    PDL_RE_MULTILINE = 1, /* ^ and $ match at each line */
    /* the pattern comes from JSON Schema; it is read as Python's re reads it, since the reference
     * uses re.search */
    PDL_RE_ECMA = 2,
    PDL_RE_DOTALL = 4,
    PDL_RE_NOCASE = 8,
};

/* Compiles a pattern; the caller owns *out (pdl_regex_free). Error: PDL_E_parser with Python's
 * re.error text in msg, for instance "missing ), unterminated subpattern at position 0", and
 * py_class "error", the name of the class. */
PDL_MUST bool pdl_regex_new(pdl_str pattern, int flags, pdl_regex **out, pdl_err *err);
void pdl_regex_free(pdl_regex *re);

/* Returns the number of capture groups, without group 0. */
size_t pdl_regex_groups(const pdl_regex *re);

/* Returns the number (1..) of the named group; 0 when the pattern has no such group. */
size_t pdl_regex_group_index(const pdl_regex *re, pdl_str name);

/* SEARCH_ON continues a search after an empty match at `from`: it finds no empty match there. */
typedef enum { PDL_RE_SEARCH, PDL_RE_MATCH, PDL_RE_FULLMATCH, PDL_RE_SEARCH_ON } pdl_regex_mode;

/* The span of a group in bytes. start is PDL_NOT_FOUND when the group matched nothing. */
typedef struct {
    size_t start, end;
} pdl_span;

/* Where and how a match is sought. */
typedef struct pdl_regex_search {
    pdl_str text;
    size_t from; /* the first byte that may be in the match */
    pdl_regex_mode mode;
} pdl_regex_search;

/* Sets *hit. On a hit, fills spans, which has room for groups + 1 items. Error: PDL_E_limit when
 * the match takes too many steps or too much memory. */
PDL_MUST bool pdl_regex_match(const pdl_regex *re, pdl_regex_search of, bool *hit, pdl_span *spans,
                              pdl_err *err);

#endif
