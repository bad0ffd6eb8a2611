/* provenance.h -- private to viewer: which part of a printed text came from where.
 *
 * An expression such as "Hello ${ name }" prints words of the author and a value. The value has the
 * colour of who made it, and leads there. A trace has the expression and its result, so the result
 * is cut at the author's words; where that can be done in two ways it is not done.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_PROVENANCE_H
#define PDL_VIEWER_PROVENANCE_H

#include "base/map.h"
#include "base/vec.h"
#include "viewer/doc.h"

/* The value of an expression in a piece. */
typedef struct pdl_text_part {
    uint32_t item;   /* the piece */
    uint32_t box;    /* the box that made the value */
    int maker;       /* pdl_maker of the box */
    size_t from, to; /* bytes of the printed text */
    pdl_str expr;    /* borrowed */
} pdl_text_part;

/* Something that an item needed. */
typedef struct pdl_need {
    uint32_t item, box;
} pdl_need;

/* A named value: the box that made it, and who that is. */
typedef struct pdl_named_value {
    uint32_t box;
    int maker;
} pdl_named_value;

/* All-zero is empty. Parts and needs are in the order of their items. */
typedef struct pdl_provenance {
    pdl_map names; /* maps a name to the number + 1 of its value */
    PDL_VEC(pdl_named_value) values;
    PDL_VEC(pdl_text_part) parts;
    PDL_VEC(pdl_need) needs;
} pdl_provenance;

/* From now on the name (which must outlive o) means the value of this box. An expression hands on
 * what its names mean. */
void pdl_provenance_name(pdl_provenance *o, pdl_str name, uint32_t box, int maker, pdl_vref block);
/* Notes the values in the text that a box printed from this byte on as item number `item`. */
void pdl_provenance_cut(pdl_provenance *o, uint32_t item, pdl_vref block, pdl_str text,
                        size_t from);
void pdl_provenance_need(pdl_provenance *o, uint32_t item, uint32_t box);
/* Adds n to the numbers of all items. */
void pdl_provenance_shift(pdl_provenance *o, uint32_t n);
/* Returns the number of the first part of an item, or of the one after it without any. */
size_t pdl_provenance_parts_at(const pdl_provenance *o, uint32_t item);
size_t pdl_provenance_needs_at(const pdl_provenance *o, uint32_t item);
void pdl_provenance_fini(pdl_provenance *o);

#endif
