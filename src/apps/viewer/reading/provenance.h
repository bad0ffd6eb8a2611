/* provenance.h -- private to viewer: finds which part of a printed text came from which value. An
 * expression such as "Hello ${ name }" prints words of the author and a value. On the page, the
 * value has the colour of its maker, and leads to it. A trace has the expression and its result, so
 * the result is cut at the author's words. A result that could be cut in two ways is not cut.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_PROVENANCE_H
#define PDL_VIEWER_PROVENANCE_H

#include "base/map.h"
#include "base/vec.h"
#include "viewer/boxes.h"

/* The value of an expression in a piece. */
typedef struct pdl_text_part {
    uint32_t item;   /* number of the piece's item */
    uint32_t box;    /* the box that made the value */
    int maker;       /* pdl_maker of the box */
    size_t from, to; /* the part of the printed text, in bytes */
    pdl_str expr;    /* borrowed */
} pdl_text_part;

typedef PDL_VEC(pdl_text_part) pdl_text_parts;

/* A work or call that an item needed. */
typedef struct pdl_need {
    uint32_t item, box;
} pdl_need;

/* A value with a name: the box that made it, and the maker of that box. */
typedef struct pdl_named_value {
    uint32_t box;
    int maker;
} pdl_named_value;

/* The origins of the texts of a document. A struct whose members are all zero is empty. Parts and
 * needs are in the order of their items. */
typedef struct pdl_provenance {
    pdl_map names; /* name -> number of its value + 1 */
    PDL_VEC(pdl_named_value) values;
    pdl_text_parts parts;
    PDL_VEC(pdl_need) needs;
} pdl_provenance;

/* From now on, the name (which must outlive o) means the value of this box. When an expression made
 * the value, the makers of the names in it count as its makers. */
void pdl_provenance_name(pdl_provenance *o, pdl_str name, uint32_t box, int maker, pdl_vref block);
/* Appends the values of all expressions in a text that the block printed, from this byte on.
 * Returns false when the text cannot be divided with certainty; then nothing is appended. */
bool pdl_text_divide(pdl_vref block, pdl_str text, size_t from, pdl_text_parts *out);
/* Finds the values in a text that a box printed, from this byte on, and notes them for item number
 * `item`. */
void pdl_provenance_cut(pdl_provenance *o, uint32_t item, pdl_vref block, pdl_str text,
                        size_t from);
void pdl_provenance_need(pdl_provenance *o, uint32_t item, uint32_t box);
/* Adds n to the numbers of all items. */
void pdl_provenance_shift(pdl_provenance *o, uint32_t n);
/* Returns the index of the first part that belongs to an item; when it has none, the index of the
 * next part. */
size_t pdl_provenance_parts_at(const pdl_provenance *o, uint32_t item);
size_t pdl_provenance_needs_at(const pdl_provenance *o, uint32_t item);
void pdl_provenance_fini(pdl_provenance *o);

#endif
