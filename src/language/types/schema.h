/* schema.h -- private to types: a JSON Schema made ready for checking.
 *
 * pdl_schema_open walks a schema once: it checks the form of each keyword (what the metaschema
 * demands), finds the embedded resources ($id) and anchors, and compiles the regexes. checking.h
 * has what then happens for each value.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_TYPES_SCHEMA_H
#define PDL_TYPES_SCHEMA_H

#include "base/map.h"
#include "base/regex.h"
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

/* uri.c: reference resolved against base (RFC 3986), in arena a, with the fragment split off. */
void pdl_uri_resolve(pdl_arena *a, pdl_str base, pdl_str ref, pdl_str *uri, pdl_str *fragment);
/* %XX decoded, in arena a. */
pdl_str pdl_uri_unquote(pdl_arena *a, pdl_str s);

#endif
