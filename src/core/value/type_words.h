/* type_words.h -- the words for the types of JSON: those of JSON, and Python's, which the messages
 * of the reference have.
 *
 * The conformance kit fixes Python's words in these errors: values that do not fit a type, a field
 * of a block with a wrong type (lang), a loop over a value that is not a list, a call of a value
 * that is not a function, a wrong aggregator, a wrong context. All other text for a person or a
 * model has the words of JSON. Whoever makes such an error gives it both texts (pdl_err_plain), and
 * text that repeats the error has the words of JSON: the note of a retry, and the answer to a tool
 * call.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_TYPE_WORDS_H
#define PDL_VALUE_TYPE_WORDS_H

#include "base/buf.h"
#include "value/val.h"

typedef struct pdl_type_word {
    const char *json, *python, *plain; /* integer, <class 'int'>, an integer */
} pdl_type_word;

/* The first PDL_N_SCALAR_WORDS rows are types of values without parts. */
enum { PDL_N_TYPE_WORDS = 7, PDL_N_SCALAR_WORDS = 5 };
extern const pdl_type_word pdl_type_words[PDL_N_TYPE_WORDS];

/* Returns the row of the type of v, or NULL when JSON has no such value. */
const pdl_type_word *pdl_type_word_of(pdl_vref v);

/* Returns the type of v as "an integer". A value that JSON does not have is named as in Python. */
const char *pdl_type_plain(pdl_vref v);

#endif
