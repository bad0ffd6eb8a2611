/* provenance.c -- finds which part of a printed text came from which value; see provenance.h. A
 * text with expressions is a pattern: words of the author with values between them. The words are
 * searched in the result, and the text between two of them is a value. When words occur twice, the
 * result is not divided.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/reading/provenance.h"

#include "base/utf8.h"
#include "viewer/reading/reading.h"

#include "base/banned.h"

/* Returns the value of the first name with a known value in an expression; NULL when there is
 * none. */
static const pdl_named_value *value_in(const pdl_provenance *o, pdl_str expr) {
    if (!expr.n) return NULL; /* p may be NULL, and C does not allow adding to NULL */
    const char *p = expr.p, *end = expr.p + expr.n, *start = NULL;
    for (;;) {
        const char *here = p;
        uint32_t c = p < end ? pdl_utf8_next(&p) : ' ';
        if (start ? pdl_cp_is_id_continue(c) : pdl_cp_is_id_start(c)) {
            if (!start) start = here;
        } else if (start) {
            pdl_str word = {start, (size_t)(here - start)};
            uintptr_t found = (uintptr_t)pdl_map_find(&o->names, word);
            if (found) return &o->values.p[found - 1];
            start = NULL;
        }
        if (here >= end) return NULL;
    }
}

/* Returns the text of the expression that makes the block's value. When no expression makes it,
 * returns a text whose p is NULL. */
static pdl_str expression_of(pdl_vref block) {
    static const char *const members[] = {"data", "text"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        pdl_vref v = pdl_dict_getz(block, members[i]);
        if (pdl_is_dict(v)) v = pdl_dict_getz(v, "pdl__expr");
        if (pdl_is_str(v)) return pdl_str_get(v);
    }
    return (pdl_str){0};
}

void pdl_provenance_name(pdl_provenance *o, pdl_str name, uint32_t box, int maker, pdl_vref block) {
    const pdl_named_value *from = NULL;
    pdl_named_value value = {box, maker};
    if (!name.n) return;
    if (maker == PDL_MADE_BY_expression) from = value_in(o, expression_of(block));
    if (from) value = *from;
    bool is_made = from || (maker != PDL_MADE_BY_expression && maker != PDL_MADE_BY_literal);
    if (is_made) *pdl_vec_push(&o->values) = value;
    pdl_map_put(&o->names, name, (void *)(uintptr_t)(is_made ? o->values.n : 0));
}

/* --- cutting ---------------------------------------------------------------------------------- */

/* Returns the end of the expression that begins at i, after its brace; 0 when it has no end. Braces
 * in quotes do not count. */
static size_t expression_end(pdl_str s, size_t i) {
    size_t depth = 0;
    char quote = 0;
    for (i += 1; i < s.n; i++) {
        char c = s.p[i];
        if (quote) {
            if (c == '\\') i++;
            if (c == quote) quote = 0;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '{') {
            depth++;
        } else if (c == '}' && --depth == 0) {
            return i + 1;
        }
    }
    return 0;
}

/* Returns the author's words from i on, up to the next expression. */
static pdl_str words_at(pdl_str s, size_t i) {
    return pdl_str_sub(s, i, pdl_str_find(s, PDL_STR("${"), i));
}

static size_t count(pdl_str s, pdl_str part) {
    size_t n = 0;
    for (size_t at = 0; (at = pdl_str_find(s, part, at)) != PDL_NOT_FOUND; at += part.n) n++;
    return n;
}

/* Returns how often these words occur among the author's words, from index i of the
 * expression on. */
static size_t count_written(pdl_str s, size_t i, pdl_str words) {
    size_t n = 0;
    while (i < s.n) {
        pdl_str some = words_at(s, i);
        size_t next = i + some.n < s.n ? expression_end(s, i + some.n) : s.n;
        n += count(some, words);
        if (!next) return n;
        i = next;
    }
    return n;
}

/* Returns the end of the value that begins at `at` in the text. The author's words from index i of
 * s follow the value. Returns PDL_NOT_FOUND when the end is not certain, for example because the
 * value contains these words, too. */
static size_t value_end(pdl_str text, size_t at, pdl_str s, size_t i) {
    pdl_str words = words_at(s, i);
    if (i + words.n == s.n) {
        pdl_str rest = pdl_str_sub(text, at, text.n);
        return pdl_str_ends(rest, words) ? text.n - words.n : PDL_NOT_FOUND;
    }
    if (!words.n) return PDL_NOT_FOUND;
    pdl_str rest = pdl_str_sub(text, at, text.n);
    bool is_certain = count(rest, words) == count_written(s, i, words);
    return is_certain ? pdl_str_find(text, words, at) : PDL_NOT_FOUND;
}

bool pdl_text_divide(pdl_vref block, pdl_str text, size_t from, pdl_text_parts *out) {
    pdl_str s = expression_of(block), words = words_at(s, 0);
    size_t i = words.n, at = words.n, before = out->n;
    bool has_statements = pdl_str_find(s, PDL_STR("{%"), 0) != PDL_NOT_FOUND;
    if (has_statements || !pdl_str_starts(text, words)) return false;
    while (i < s.n) {
        size_t next = expression_end(s, i);
        if (!next) break;
        words = words_at(s, next);
        size_t end = value_end(text, at, s, next);
        if (end == PDL_NOT_FOUND) break;
        *pdl_vec_push(out) = (pdl_text_part){.maker = PDL_MADE_BY_expression,
                                             .from = from + at,
                                             .to = from + end,
                                             .expr = pdl_str_sub(s, i, next)};
        at = end + words.n;
        i = next + words.n;
    }
    if (i < s.n) out->n = before;
    return i >= s.n;
}

void pdl_provenance_cut(pdl_provenance *o, uint32_t item, pdl_vref block, pdl_str text,
                        size_t from) {
    pdl_text_parts all = {0};
    if (o->values.n) (void)pdl_text_divide(block, text, from, &all);
    for (size_t i = 0; i < all.n; i++) {
        pdl_text_part *p = &all.p[i];
        const pdl_named_value *v = value_in(o, p->expr);
        if (v && p->to > p->from)
            *pdl_vec_push(&o->parts) =
                (pdl_text_part){item, v->box, v->maker, p->from, p->to, p->expr};
    }
    pdl_vec_fini(&all);
}

/* --- lists ------------------------------------------------------------------------------------ */

void pdl_provenance_need(pdl_provenance *o, uint32_t item, uint32_t box) {
    *pdl_vec_push(&o->needs) = (pdl_need){item, box};
}

void pdl_provenance_shift(pdl_provenance *o, uint32_t n) {
    for (size_t i = 0; i < o->parts.n; i++) o->parts.p[i].item += n;
    for (size_t i = 0; i < o->needs.n; i++) o->needs.p[i].item += n;
}

size_t pdl_provenance_parts_at(const pdl_provenance *o, uint32_t item) {
    size_t low = 0, high = o->parts.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (o->parts.p[middle].item < item)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t pdl_provenance_needs_at(const pdl_provenance *o, uint32_t item) {
    size_t low = 0, high = o->needs.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (o->needs.p[middle].item < item)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void pdl_provenance_fini(pdl_provenance *o) {
    pdl_map_fini(&o->names);
    pdl_vec_fini(&o->values);
    pdl_vec_fini(&o->parts);
    pdl_vec_fini(&o->needs);
}
