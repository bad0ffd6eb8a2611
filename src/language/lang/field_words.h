/* field_words.h -- words that fields accept besides the keys of blocks, from field_words.def: for
 * completion, hover and the manual.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LANG_FIELD_WORDS_H
#define PDL_LANG_FIELD_WORDS_H

#include "base/str.h"

/* The places where the words of a group are written. */
typedef enum {
    PDL_WORDS_NONE,        /* a group without words */
    PDL_WORDS_ROLE,        /* role; any role is allowed, and these roles are usual */
    PDL_WORDS_LANG,        /* lang of a code block */
    PDL_WORDS_PLATFORM,    /* platform of a model block */
    PDL_WORDS_PARSER,      /* parser as a word */
    PDL_WORDS_REGEX,       /* keys of a parser that is an object */
    PDL_WORDS_REGEX_MODE,  /* `mode` of a parser that is an object */
    PDL_WORDS_JOIN,        /* keys of join */
    PDL_WORDS_JOIN_AS,     /* the values of `as` in a join that is an object */
    PDL_WORDS_CASE,        /* keys of a case of match */
    PDL_WORDS_PATTERN,     /* keys of a pattern */
    PDL_WORDS_EXPECTATION, /* keys of an item of expectations */
    PDL_WORDS_TARGET,      /* items of contribute */
    PDL_WORDS_TARGET_KEY,  /* keys of an item of contribute that is an object */
    PDL_WORDS_CONTEXT,     /* context of a block */
    PDL_WORDS_TYPE,        /* a type as a word */
    PDL_WORDS_TYPE_KEY,    /* keys of a type that is a JSON Schema, or of the older forms */
    PDL_WORDS_AGGREGATOR,  /* aggregator as a word */
    PDL_WORDS_FLAG         /* a boolean */
} pdl_word_group;

typedef struct pdl_word {
    pdl_word_group group;
    const char *word, *doc;
} pdl_word;

/* Returns the rows of a group, in order; *n is their number. */
const pdl_word *pdl_words_of(pdl_word_group group, size_t *n);
/* Returns the row of a word in a group, or NULL for an unknown word. */
const pdl_word *pdl_word_find(pdl_word_group group, pdl_str word);

#endif
