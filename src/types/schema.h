/* schema.h -- private to types: a JSON Schema made ready for checking, and the parts of a check.
 *
 * pdl_schema_open walks a schema once: it checks the form of each keyword (what the metaschema
 * demands), finds the embedded resources ($id) and anchors, and compiles the regexes. A check
 * (pdl_check) then interprets the schema value itself, in one of two modes: valid or not (stops at
 * the first failure), or collecting the failures.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_TYPES_SCHEMA_H
#define PDL_TYPES_SCHEMA_H

#include "base/map.h"
#include "base/regex.h"
#include "base/vec.h"
#include "types/type.h"

enum { PDL_D4 = 1, PDL_D6 = 2, PDL_D7 = 4, PDL_D19 = 8, PDL_D20 = 16 };

typedef struct pdl_anchor {
    pdl_str name;
    pdl_vref at;
    bool dynamic;
    struct pdl_anchor *next;
} pdl_anchor;

/* A schema with its own identity: a document, or a part of one with $id. */
typedef struct pdl_resource {
    pdl_str uri; /* absolute, no fragment; empty for a document without a name */
    pdl_vref root;
    unsigned draft; /* one PDL_D* bit */
    pdl_anchor *anchors;
    bool recursive; /* $recursiveAnchor: true */
    bool meta;      /* the published metaschema of `draft`: accepts what pdl_schema_shape accepts */
    struct pdl_resource *next;
} pdl_resource;

typedef struct pdl_schema {
    pdl_arena *arena;
    pdl_val held;        /* keeps the document alive */
    pdl_resource *first; /* the document */
    pdl_resource *last;
    pdl_map regexes; /* pattern -> pdl_regex, all patterns of the document */
    pdl_map ids;     /* resources by uri */
} pdl_schema;

/* Schema v ready for checks, in arena a; pdl_schema_close before the arena goes. uri: where it was
 * fetched from, or empty. lenient: shapes are not checked. Error: PDL_E_schema with the validator's
 * words, PDL_E_limit. */
PDL_MUST bool pdl_schema_open(pdl_arena *a, pdl_vref v, pdl_str uri, unsigned draft, bool lenient,
                              pdl_schema **out, pdl_err *err);
void pdl_schema_close(pdl_schema *s);
/* The published metaschema at uri, as a resource in arena a; NULL when uri is not that of one. */
pdl_resource *pdl_schema_meta(pdl_arena *a, pdl_str uri);
/* Checks that v is a schema of this draft. Error: PDL_E_schema. */
PDL_MUST bool pdl_schema_shape(pdl_arena *a, pdl_vref v, unsigned draft, pdl_err *err);

/* --- failures --------------------------------------------------------------------------------- */

/* What failed; words.c has a row of text for each. */
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
    pdl_vref key; /* key of a dict; absent: index */
    size_t i;
} pdl_step;

typedef struct pdl_fail {
    pdl_fail_kind kind;
    bool weak;     /* of anyOf, oneOf */
    pdl_vref v;    /* the value */
    pdl_vref want; /* the keyword's value */
    pdl_vref schema;
    pdl_vref x;     /* a name; PDL_FAIL_depends: the missing one */
    pdl_vref *list; /* names or values that are too many, schemas that hold */
    size_t n_list;
    size_t n;       /* a count */
    pdl_step *path; /* steps from the start of the list this failure is in */
    size_t n_path;
    pdl_str said; /* PDL_FAIL_said: the text */
    struct pdl_fail *inner, *next;
} pdl_fail;

typedef struct pdl_fails {
    pdl_fail *first, *last;
} pdl_fails;

/* The failure to report (jsonschema's best_match), or NULL. */
const pdl_fail *pdl_fail_best(const pdl_fails *all);
/* ".name" or "[3]", appended. */
void pdl_step_put(const pdl_step *s, pdl_buf *out);
/* Its sentence, appended. */
void pdl_fail_words(const pdl_fail *f, pdl_buf *out);

/* --- a check ---------------------------------------------------------------------------------- */

typedef pdl_vref pdl_remote_fn(void *user, pdl_str uri);

typedef struct pdl_remote_doc {
    pdl_schema *s;
    struct pdl_remote_doc *next;
} pdl_remote_doc;

/* References can multiply work without bound, and failures memory. */
enum { PDL_CHECK_STEPS = 10000000, PDL_CHECK_FAILS = 100000 };

typedef struct pdl_check {
    const pdl_schema *schema;
    pdl_arena *arena; /* scratch */
    pdl_err *err;
    bool stopped; /* err is set: unwind */
    unsigned depth;
    uint64_t steps;   /* schema objects visited; at most PDL_CHECK_STEPS */
    size_t n_fails;   /* at most PDL_CHECK_FAILS are kept */
    pdl_fails *fails; /* NULL: only valid or not */
    const pdl_step *path, *path_start;
    pdl_remote_fn *remote;
    void *user;
    pdl_remote_doc *docs; /* fetched during this check */
    pdl_resource *metas;
} pdl_check;

/* Resources entered, innermost first. */
typedef struct pdl_dyn {
    const pdl_resource *res;
    const struct pdl_dyn *up;
} pdl_dyn;

/* Which entries of the current value were evaluated, for unevaluated*. */
typedef struct pdl_seen {
    uint64_t *bits;
    size_t n;
} pdl_seen;

void pdl_check_init(pdl_check *c, const pdl_schema *s, pdl_arena *scratch, pdl_err *err);
void pdl_check_fini(pdl_check *c);
/* Returns true when v satisfies schema, a part of the resource dyn->res; false also when stopped.
 * seen may be NULL. */
bool pdl_check_run(pdl_check *c, pdl_vref schema, pdl_vref v, const pdl_dyn *dyn, pdl_seen *seen);
/* As pdl_check_run, one step into the value. */
bool pdl_check_in(pdl_check *c, pdl_vref schema, pdl_vref v, const pdl_dyn *dyn, pdl_vref key,
                  size_t i);
/* As pdl_check_run without collecting. */
bool pdl_check_quiet(pdl_check *c, pdl_vref schema, pdl_vref v, const pdl_dyn *dyn, pdl_seen *seen);
/* Note a failure (NULL when not collecting). */
pdl_fail *pdl_check_fail(pdl_check *c, pdl_fail_kind kind, pdl_vref v, pdl_vref want,
                         pdl_vref schema);
/* Compiled pattern, NULL when stopped. */
const pdl_regex *pdl_check_regex(pdl_check *c, pdl_vref pattern);
bool pdl_check_match(pdl_check *c, pdl_vref pattern, pdl_str s);

/* Resolves $ref of a schema in dyn->res to the target and its resource. False: stopped. */
PDL_MUST bool pdl_check_ref(pdl_check *c, pdl_str ref, const pdl_dyn *dyn, pdl_vref *target,
                            const pdl_resource **res);
PDL_MUST bool pdl_check_dynamic_ref(pdl_check *c, pdl_str ref, const pdl_dyn *dyn, pdl_vref *target,
                                    const pdl_resource **res);
PDL_MUST bool pdl_check_recursive_ref(pdl_check *c, const pdl_dyn *dyn, pdl_vref *target,
                                      const pdl_resource **res);
/* The resource that v is the root of, else res. */
const pdl_resource *pdl_check_enter(const pdl_check *c, pdl_vref v, const pdl_resource *res);

/* --- keywords (keywords.c) -------------------------------------------------------------------- */

/* What the metaschema demands of a keyword's value. */
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
    bool late;                      /* runs after the others */
    bool (*fn)(const pdl_kw_at *k); /* NULL: no assertion */
} pdl_keyword;

/* The keyword of this name in this draft, or NULL. */
const pdl_keyword *pdl_keyword_find(pdl_str name, unsigned draft);

/* Is v of the type that a word of the JSON Schema names? */
bool pdl_json_is(pdl_vref v, pdl_str word, unsigned draft);
/* Equality of JSON: 1 == 1.0, true != 1. */
bool pdl_json_eq(pdl_vref a, pdl_vref b);
/* No two items are equal. */
bool pdl_json_unique(pdl_vref list, pdl_arena *scratch);

/* uri.c: reference resolved against base (RFC 3986), in arena a, with the fragment split off. */
void pdl_uri_resolve(pdl_arena *a, pdl_str base, pdl_str ref, pdl_str *uri, pdl_str *fragment);
/* %XX decoded, in arena a. */
pdl_str pdl_uri_unquote(pdl_arena *a, pdl_str s);

/* --- a type's inside -------------------------------------------------------------------------- */

typedef enum {
    PDL_TYPE_any,
    PDL_TYPE_base,
    PDL_TYPE_list,
    PDL_TYPE_optional,
    PDL_TYPE_object,
    PDL_TYPE_schema
} pdl_type_kind;
typedef enum {
    PDL_BASE_null,
    PDL_BASE_boolean,
    PDL_BASE_string,
    PDL_BASE_number,
    PDL_BASE_integer,
    PDL_BASE_array,
    PDL_BASE_object,
    PDL_BASE_COUNT
} pdl_base_type;

typedef struct pdl_type_entry {
    pdl_val name;         /* str */
    const pdl_type *type; /* NULL: any; without the {optional: } around */
    bool optional;
} pdl_type_entry;

struct pdl_type {
    pdl_type_kind kind;
    pdl_base_type base;
    const char *old; /* base: deprecated word as written, or NULL */
    bool wrapped;    /* object: written as {object: ..} */
    bool
        /* of a function: the extra argument pdl_context passes, functions count as objects */
        params;
    bool plain;           /* nothing below is a JSON Schema: checked without building one */
    const pdl_node *node; /* NULL: made from a value */
    const pdl_type *item; /* list, optional; NULL: any */
    pdl_type_entry *fields;
    size_t n_fields;
    pdl_val schema;    /* schema form as written */
    pdl_schema *ready; /* of the outermost type when it is not plain: its closed schema */
    pdl_str bad;       /* why it could not be made ready */
};

extern const char *const pdl_base_names[PDL_BASE_COUNT];

/* analyze.c: the problems of v against the schema of c, in the reference's words. */
typedef PDL_VEC(pdl_problem) pdl_problem_vec;
typedef struct pdl_analysis {
    pdl_check *c;
    pdl_arena *arena;
    const pdl_node *places; /* tree walked along with the value, or NULL */
    pdl_problem_vec *out;
} pdl_analysis;
void pdl_analyze(pdl_analysis *an, pdl_vref schema, pdl_vref v);
/* Append one problem at a step. */
void pdl_problem_add(pdl_analysis *an, const pdl_step *at, pdl_buf *text);

#endif
