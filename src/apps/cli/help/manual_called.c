/* manual_called.c -- finds the section of the manual for a word of other tools. The last table of
 * the glossary has these words, such as "| logging, logs | [Logs](production.md#logs) |".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/manual.h"

#include "base/banned.h"

static const pdl_str called_heading = {"Words of other tools", 20};

/* Returns the text between two marks of a row, from *rest on, and moves *rest to the second mark.
 * Returns an empty text when the row lacks a mark. */
static pdl_str take_between(pdl_str *rest, pdl_str begin, pdl_str end) {
    size_t from = pdl_str_find(*rest, begin, 0);
    size_t to = from == PDL_NOT_FOUND ? from : pdl_str_find(*rest, end, from + begin.n);
    if (to == PDL_NOT_FOUND) return (pdl_str){0};
    pdl_str found = pdl_str_sub(*rest, from + begin.n, to);
    *rest = pdl_str_sub(*rest, to, rest->n);
    return found;
}

static bool has_word(pdl_str words, pdl_str word) {
    while (words.n)
        if (pdl_manual_is_named(pdl_str_trim(pdl_str_take(&words, PDL_STR(","))), word))
            return true;
    return false;
}

static pdl_str file_of(pdl_str path) {
    size_t slash = pdl_str_rfind(path, PDL_STR("/"));
    return pdl_str_sub(path, slash == PDL_NOT_FOUND ? 0 : slash + 1, path.n);
}

static bool read_row(pdl_str line, pdl_str word, manual_place *out) {
    if (!has_word(take_between(&line, PDL_STR("| "), PDL_STR(" |")), word)) return false;
    pdl_str anchor = take_between(&line, PDL_STR("]("), PDL_STR(")"));
    pdl_str path = pdl_str_take(&anchor, PDL_STR("#"));
    *out = (manual_place){file_of(path), anchor};
    return out->file.n > 0;
}

bool pdl_manual_has_called(const manual_section *s) {
    return pdl_str_eq(s->heading, called_heading);
}

bool pdl_manual_called(pdl_str word, manual_place *out) {
    manual_walk w = {0};
    for (manual_section s; pdl_manual_next(&w, &s);) {
        if (!pdl_manual_has_called(&s)) continue;
        while (s.body.n)
            if (read_row(pdl_manual_take_line(&s.body), word, out)) return true;
        return false;
    }
    return false;
}

bool pdl_manual_is_at(const manual_section *s, const manual_place *place) {
    if (!place->file.n || !pdl_str_eq(file_of(s->page), place->file)) return false;
    return place->anchor.n ? pdl_manual_is_named(s->heading, place->anchor) : s->is_first;
}
