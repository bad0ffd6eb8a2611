/* type_words.c -- see type_words.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/type_words.h"

#include "base/banned.h"

const pdl_type_word pdl_type_words[] = {
    {"null", "None", "null"},
    {"string", "<class 'str'>", "a string"},
    {"boolean", "<class 'bool'>", "a boolean"},
    {"integer", "<class 'int'>", "an integer"},
    {"number", "<class 'float'>", "a number"},
    {"array", "<class 'list'>", "a list"},
    {"object", "<class 'dict'>", "an object"},
};

/* Returns the row whose word of Python begins s, or NULL. */
static const pdl_type_word *row_at(pdl_str s) {
    for (size_t i = 0; i < PDL_N_TYPE_WORDS; i++)
        if (pdl_str_starts(s, pdl_str_of(pdl_type_words[i].python))) return &pdl_type_words[i];
    return NULL;
}

const char *pdl_type_plain(pdl_vref v) {
    if (pdl_is_null(v)) return "null";
    const char *name = pdl_type_name(v);
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "<class '%s'>", name);
    const pdl_type_word *row = row_at(pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return row ? row->plain : name;
}

static bool is_at_end(pdl_str s, size_t n) { return n == s.n || s.p[n] == '\n'; }

void pdl_put_plain_types(pdl_str message, pdl_buf *out) {
    pdl_str should = PDL_STR("should be of type "), of_type = PDL_STR("of type ");
    for (size_t i = 0; i < message.n;) {
        pdl_str rest = pdl_str_sub(message, i, message.n);
        bool wants = pdl_str_starts(rest, should);
        pdl_str word = wants ? pdl_str_sub(rest, should.n, rest.n) : rest;
        const pdl_type_word *row = wants || rest.p[0] == '<' ? row_at(word) : NULL;
        size_t n = row ? strlen(row->python) : 0;
        if (row && wants && is_at_end(word, n)) {
            pdl_buf_putf(out, "should be %s", row->plain);
            i += should.n + n;
        } else if (row && !wants) {
            bool is_bare = pdl_str_ends(pdl_buf_str(out), of_type);
            pdl_buf_putf(out, "%s", is_bare ? row->json : row->plain);
            i += n;
        } else {
            pdl_buf_putc(out, message.p[i++]);
        }
    }
}
