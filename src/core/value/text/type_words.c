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

const pdl_type_word *pdl_type_word_of(pdl_vref v) {
    pdl_buf b = PDL_BUF;
    const pdl_type_word *row = NULL;
    pdl_buf_putf(&b, pdl_is_null(v) ? "None" : "<class '%s'>", pdl_type_name(v));
    for (size_t i = 0; i < PDL_N_TYPE_WORDS && !row; i++)
        if (pdl_str_is(pdl_buf_str(&b), pdl_type_words[i].python)) row = &pdl_type_words[i];
    pdl_buf_fini(&b);
    return row;
}

const char *pdl_type_plain(pdl_vref v) {
    const pdl_type_word *row = pdl_type_word_of(v);
    return row ? row->plain : pdl_type_name(v);
}
