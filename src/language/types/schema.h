/* schema.h -- a JSON Schema made ready for checking. Private to types.
 *
 * pdl_schema_open walks a schema once: it checks the form of each keyword (which the metaschema
 * demands), finds the embedded resources ($id) and anchors, and compiles the regexes. The checks of
 * values are in checking.h.
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
    pdl_str uri; /* an absolute URI without a fragment; empty for a document without a name */
    pdl_vref root;
    unsigned draft; /* one bit of PDL_D* */
    pdl_anchor *anchors;
    bool recursive; /* $recursiveAnchor: true */
    /* the published metaschema of `draft`, which accepts what pdl_schema_shape accepts */
    bool meta;
    struct pdl_resource *next;
} pdl_resource;

typedef struct pdl_schema {
    pdl_arena *arena;
    pdl_val held;        /* keeps the document alive */
    pdl_resource *first; /* the resource that is the whole document */
    pdl_resource *last;
    pdl_map regexes; /* maps each pattern of the document to its pdl_regex */
    pdl_map ids;     /* maps each uri to its resource */
} pdl_schema;

/* How a schema is to be read. */
typedef struct pdl_schema_form {
    pdl_str uri;    /* the address from which the schema was fetched, or empty */
    unsigned draft; /* a PDL_D* for schemas in which $schema names no draft */
    bool lenient;   /* the forms of keywords are not checked */
} pdl_schema_form;

/* Makes schema v ready for checks, in arena a. The caller calls pdl_schema_close before the arena
 * is freed. Error: PDL_E_schema with the validator's words, PDL_E_limit. */
PDL_MUST bool pdl_schema_open(pdl_arena *a, pdl_vref v, const pdl_schema_form *form,
                              pdl_schema **out, pdl_err *err);
void pdl_schema_close(pdl_schema *s);
/* Returns the published metaschema at uri, as a resource in arena a. Returns NULL when uri names no
 * metaschema. */
pdl_resource *pdl_schema_meta(pdl_arena *a, pdl_str uri);
/* Checks that v is a schema of this draft. Error: PDL_E_schema. */
PDL_MUST bool pdl_schema_shape(pdl_arena *a, pdl_vref v, unsigned draft, pdl_err *err);

/* Resolves a reference against base (RFC 3986), in arena a, with the fragment split off (uri.c). */
void pdl_uri_resolve(pdl_arena *a, pdl_str base, pdl_str ref, pdl_str *uri, pdl_str *fragment);
/* Returns s with %XX decoded, in arena a. */
pdl_str pdl_uri_unquote(pdl_arena *a, pdl_str s);

#endif
