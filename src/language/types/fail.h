/* fail.h -- the failures of a check, of which one is reported. Private to types.
 *
 * A failure keeps the values that it is about instead of its sentence, because at most one of a
 * thousand failures is printed. Failures in the branches of an anyOf or oneOf belong to the failure
 * of this anyOf or oneOf.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_TYPES_FAIL_H
#define PDL_TYPES_FAIL_H

#include "base/buf.h"
#include "value/val.h"

/* The kinds of failures; failure_words.c has a row of text for each. */
typedef enum {
    PDL_FAIL_false,
    PDL_FAIL_type,
    PDL_FAIL_enum,
    PDL_FAIL_const,
    PDL_FAIL_minimum,
    PDL_FAIL_maximum,
    PDL_FAIL_above,
    PDL_FAIL_below,
    PDL_FAIL_multiple,
    PDL_FAIL_short,
    PDL_FAIL_empty,
    PDL_FAIL_long,
    PDL_FAIL_not_empty,
    PDL_FAIL_pattern,
    PDL_FAIL_few_properties,
    PDL_FAIL_many_properties,
    PDL_FAIL_unique,
    PDL_FAIL_contains,
    PDL_FAIL_none,
    PDL_FAIL_few,
    PDL_FAIL_many,
    PDL_FAIL_not,
    PDL_FAIL_any,
    PDL_FAIL_each,
    PDL_FAIL_required,
    PDL_FAIL_depends,
    PDL_FAIL_additional,
    PDL_FAIL_no_pattern,
    PDL_FAIL_items,
    PDL_FAIL_items_old,
    PDL_FAIL_uneval_items,
    PDL_FAIL_uneval_props,
    PDL_FAIL_uneval_schema,
    PDL_FAIL_said
} pdl_fail_kind;

/* One step into the value. */
typedef struct pdl_step {
    const struct pdl_step *up;
    pdl_vref key; /* a key of a dict; absent for an index */
    size_t i;
} pdl_step;

typedef struct pdl_fail {
    pdl_fail_kind kind;
    bool weak;     /* a failure of anyOf or oneOf */
    pdl_vref v;    /* the value */
    pdl_vref want; /* the keyword's value */
    pdl_vref schema;
    pdl_vref x;     /* a name; for PDL_FAIL_depends, the missing name */
    pdl_vref *list; /* superfluous names or values, or the schemas that accept the value */
    size_t n_list;
    size_t n; /* a count */
    /* The steps from the checked value to v. For a failure in a branch of anyOf or oneOf, the steps
     * begin at the value that the anyOf or oneOf checks. */
    pdl_step *path;
    size_t n_path;
    pdl_str said; /* the text of PDL_FAIL_said */
    struct pdl_fail *inner, *next;
} pdl_fail;

typedef struct pdl_fails {
    pdl_fail *first, *last;
} pdl_fails;

/* Returns the failure to report (jsonschema's best_match), or NULL. */
const pdl_fail *pdl_fail_best(const pdl_fails *all);
/* Appends ".name" or "[3]". */
void pdl_step_put(const pdl_step *s, pdl_buf *out);
/* Appends the sentence of a failure. */
void pdl_fail_words(const pdl_fail *f, pdl_buf *out);

#endif
