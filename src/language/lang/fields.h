/* fields.h -- the facts by which a kind of block and its fields are recognised, in addition to the
 * rows of the fields.
 *
 * Besides its fields, a kind is known by the keys that select it, by old spellings of keys, and by
 * fields that only traces have. Loader, schema and suggestions read these rows, so that a spelling
 * is accepted, offered and documented from one place.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LANG_FIELDS_H
#define PDL_LANG_FIELDS_H

#include "lang/block.h"

/* A key and the kind that it selects. */
typedef struct pdl_select_row {
    const char *key;
    pdl_block_kind kind;
} pdl_select_row;
/* Returns the keys that decide on the kind of a block. For a mapping, the first key of the list
 * that occurs in the mapping counts. */
const pdl_select_row *pdl_selecting_keys(size_t *n);

/* A field that only traces have, which is accepted and ignored (spec syntax 2.3). */
typedef struct pdl_trace_row {
    const char *key;
    uint32_t kinds; /* a bit 1 << kind for each kind that has the field */
} pdl_trace_row;
const pdl_trace_row *pdl_trace_fields(size_t *n);

/* An old spelling of a key (spec syntax 2.4). */
typedef struct pdl_synonym_row {
    const char *old, *key;
} pdl_synonym_row;
const pdl_synonym_row *pdl_key_synonyms(size_t *n);

/* One definition of a block in the JSON Schema: a kind, or one form of a kind that has several
 * (BLOCK and FORM of blocks.def). For a whole kind, tag and value are NULL and the lists are empty.
 */
typedef struct pdl_form {
    pdl_block_kind kind;
    const char *name, *tag, *value, *with, *without;
} pdl_form;
const pdl_form *pdl_forms(size_t *n);
/* Returns true when key is in a list "|a|b|". */
bool pdl_form_lists(const char *list, const char *key);
/* Returns the name of the union of a kind's forms, or NULL for a kind without forms. */
const char *pdl_block_union(pdl_block_kind kind);
/* Returns the name of a kind's definition in the JSON Schema, or NULL for a kind without a
 * definition. */
const char *pdl_block_schema(pdl_block_kind kind);

/* Returns true when a block of this kind may have the field (a row of pdl_fields or
 * pdl_common_fields). */
bool pdl_field_allowed(pdl_block_kind kind, const pdl_field *f);

#endif
