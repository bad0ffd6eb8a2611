/* checking.h -- the check of a value against a schema that is ready. Private to types.
 *
 * A check interprets the schema value itself, keyword by keyword (schema_keywords.c). It has two
 * modes. In the first mode it stops at the first failure; in the second mode it collects the
 * failures.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_TYPES_CHECKING_H
#define PDL_TYPES_CHECKING_H

#include "types/fail.h"
#include "types/schema.h"

typedef pdl_vref pdl_remote_fn(pdl_str uri);

typedef struct pdl_remote_doc {
    pdl_schema *s;
    struct pdl_remote_doc *next;
} pdl_remote_doc;

/* Limits of a check: references can multiply its work without bound, and failures can fill the
 * memory. */
enum { PDL_CHECK_STEPS = 10000000, PDL_CHECK_FAILS = 100000 };

typedef struct pdl_check {
    const pdl_schema *schema;
    pdl_arena *arena; /* memory for the check */
    pdl_err *err;
    bool stopped; /* err is set, and every level returns */
    unsigned depth;
    uint64_t steps;   /* the number of schema objects that were visited, at most PDL_CHECK_STEPS */
    size_t n_fails;   /* at most PDL_CHECK_FAILS failures are kept */
    pdl_fails *fails; /* NULL when failures are not collected */
    const pdl_step *path, *path_start;
    pdl_remote_fn *remote;
    pdl_remote_doc *docs; /* the documents that were fetched during this check */
    pdl_resource *metas;
} pdl_check;

/* The resources that were entered, innermost first. */
typedef struct pdl_dyn {
    const pdl_resource *res;
    const struct pdl_dyn *up;
} pdl_dyn;

/* The entries of the current value that were evaluated, for the keywords unevaluatedItems and
 * unevaluatedProperties. */
typedef struct pdl_seen {
    uint64_t *bits;
    size_t n;
} pdl_seen;

void pdl_check_init(pdl_check *c, const pdl_schema *s, pdl_arena *scratch, pdl_err *err);
void pdl_check_fini(pdl_check *c);
/* Returns true when v satisfies schema, a part of the resource dyn->res; false when it does not, or
 * when the check is stopped. seen may be NULL. */
bool pdl_check_run(pdl_check *c, pdl_vref schema, pdl_vref v, const pdl_dyn *dyn, pdl_seen *seen);
/* Works as pdl_check_run, for a part v of a container: the value of `key`, or item i when key is
 * absent. */
bool pdl_check_in(pdl_check *c, pdl_vref schema, pdl_vref v, const pdl_dyn *dyn, pdl_vref key,
                  size_t i);
/* Works as pdl_check_run, without collecting failures. */
bool pdl_check_quiet(pdl_check *c, pdl_vref schema, pdl_vref v, const pdl_dyn *dyn, pdl_seen *seen);
/* Records a failure. Returns NULL when failures are not collected. */
pdl_fail *pdl_check_fail(pdl_check *c, pdl_fail_kind kind, pdl_vref v, pdl_vref want,
                         pdl_vref schema);
/* Returns the compiled pattern, or stops the check and returns NULL. */
const pdl_regex *pdl_check_regex(pdl_check *c, pdl_vref pattern);
bool pdl_check_match(pdl_check *c, pdl_vref pattern, pdl_str s);

/* Resolves $ref of a schema in dyn->res to the target and its resource. Returns false after it has
 * stopped the check. */
PDL_MUST bool pdl_check_ref(pdl_check *c, pdl_str ref, const pdl_dyn *dyn, pdl_vref *target,
                            const pdl_resource **res);
PDL_MUST bool pdl_check_dynamic_ref(pdl_check *c, pdl_str ref, const pdl_dyn *dyn, pdl_vref *target,
                                    const pdl_resource **res);
PDL_MUST bool pdl_check_recursive_ref(pdl_check *c, const pdl_dyn *dyn, pdl_vref *target,
                                      const pdl_resource **res);
/* Returns the resource whose root is v, or res when there is no such resource. */
const pdl_resource *pdl_check_enter(const pdl_check *c, pdl_vref v, const pdl_resource *res);

/* --- keywords (schema_keywords.c) ------------------------------------------------------------- */

/* The form that the metaschema demands of a keyword's value. */
typedef enum {
    PDL_KW_schema,
    PDL_KW_schemas,
    PDL_KW_schema_map,
    PDL_KW_pattern_map,
    PDL_KW_items,
    PDL_KW_bool_or_schema,
    PDL_KW_dependencies,
    PDL_KW_strings_map,
    PDL_KW_string,
    PDL_KW_id,
    PDL_KW_anchor,
    PDL_KW_bool,
    PDL_KW_number,
    PDL_KW_positive,
    PDL_KW_count,
    PDL_KW_strings,
    PDL_KW_strings1,
    PDL_KW_type,
    PDL_KW_array,
    PDL_KW_pattern,
    PDL_KW_bool_map,
    PDL_KW_any
} pdl_kw_shape;

typedef struct pdl_kw_at {
    pdl_check *c;
    pdl_vref want, schema, v;
    const pdl_dyn *dyn;
    pdl_seen *seen;
} pdl_kw_at;

typedef struct pdl_keyword {
    const char *name;
    unsigned drafts;
    pdl_kw_shape shape;
    bool late;                      /* the keyword is checked after the others */
    bool (*fn)(const pdl_kw_at *k); /* NULL when the keyword asserts nothing */
} pdl_keyword;

/* Returns the keyword of this name in this draft, or NULL. */
const pdl_keyword *pdl_keyword_find(pdl_str name, unsigned draft);

/* Returns true when v is of the type that a word of the JSON Schema names. */
bool pdl_json_is(pdl_vref v, pdl_str word, unsigned draft);
/* Compares two values by the rules of JSON: 1 == 1.0, true != 1. */
bool pdl_json_eq(pdl_vref a, pdl_vref b);
/* Returns true when no two items are equal. */
bool pdl_json_unique(pdl_vref list, pdl_arena *scratch);

#endif
