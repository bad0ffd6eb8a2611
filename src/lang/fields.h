/* fields.h -- private to the room: further rows of the field tables.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PDL_LANG_FIELDS_H
#define PDL_LANG_FIELDS_H

#include "lang/block.h"

typedef struct pdl_select_row {
    const char *key;
    pdl_block_kind kind;
} pdl_select_row;
/* Keys that decide on the kind; the first of them that occurs in a mapping wins. */
const pdl_select_row *pdl_selecting_keys(size_t *n);

typedef struct pdl_trace_row {
    const char *key;
    uint32_t kinds; /* set of 1 << kind */
} pdl_trace_row;
const pdl_trace_row *pdl_trace_fields(size_t *n);

typedef struct pdl_synonym_row {
    const char *old, *key;
} pdl_synonym_row;
const pdl_synonym_row *pdl_key_synonyms(size_t *n);

/* May a block of this kind have the field (a row of pdl_fields or pdl_common_fields)? */
bool pdl_field_allowed(pdl_block_kind kind, const pdl_field *f);

#endif
