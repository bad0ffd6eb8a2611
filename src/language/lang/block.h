/* block.h -- programs as blocks: structs and tables made from blocks.def and common.def.
 *
 * Kinds and fields are written once, in the tables, and everything that must agree about them is
 * made from there: the structs below, the loader, the checks, dumps, the JSON Schema and the
 * manual. Everything lives in the program's arena and is immutable after loading. Each part knows
 * its source place: `loc` is what FILE:LINE prints (the key of a mapping entry, the first character
 * of a list item), `node` is the syntax it was made from (NULL when it was made up).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LANG_BLOCK_H
#define PDL_LANG_BLOCK_H

#include <assert.h>

#include "base/arena.h"
#include "lang/parts.h"

typedef enum {
#define BLOCK(id, cls, parts, context, schema, doc) PDL_BLOCK_##id,
#include "lang/blocks.def"
    PDL_BLOCK_COUNT
} pdl_block_kind;

/* The forms of fields: name in the tables, C type of the member, what a program writes there; those
 * without blocks inside, and those with. A new form in the wrong one of them, or in none of the
 * switches over its table, does not compile. */
#define PDL_PLAIN_FIELD_TYPES(X)                                                                   \
    X(STR, pdl_text_field, "a literal text")                                                       \
    X(BOOL, pdl_flag, "a literal boolean")                                                         \
    X(INT, pdl_count, "a literal integer")                                                         \
    X(EXPR, const pdl_tree *, "anything; expressions inside are evaluated")                        \
    X(XBOOL, const pdl_tree *, "a boolean, or an expression as text")                              \
    X(XINT, const pdl_tree *, "an integer, or an expression as text")                              \
    X(XNUM, const pdl_tree *, "a number, or an expression as text")                                \
    X(XSTR, const pdl_tree *, "a text with expressions inside")                                    \
    X(XDICT, const pdl_tree *, "an object, or an expression as text")                              \
    X(ANY, const pdl_node *, "anything, stored and not interpreted")                               \
    X(TYPE, pdl_spec_field, "a type of values, as in spec")                                        \
    X(PARAMS, pdl_params, "parameters with their types")                                           \
    X(JOIN, const pdl_join *, "how results are put together; NULL when absent")                    \
    X(FORS, const pdl_fors *, "variables and their lists; NULL when absent or null")               \
    X(ARGV, const pdl_tree *, "a LIST of texts with expressions")                                  \
    X(AGG, const pdl_agg *, "an aggregator: context, or a file")                                   \
    X(CTX, pdl_flag, "independent (true) or dependent")                                            \
    X(FLAG, bool, "a boolean, or a text that is not empty")                                        \
    X(RETRY, const pdl_retry *, "further attempts; NULL when absent")                              \
    X(BUDGET, const pdl_budget_field *, "limits of use; NULL when absent")                         \
    X(ENDORSE, const pdl_endorse_field *, "labels that the result loses; NULL when absent")        \
    X(POLICY, const pdl_node *, "of the main block: a policy, or the name of one")                 \
    X(PROFILE, const pdl_node *, "a profile of the sandbox, or true; NULL when absent or null")    \
    X(CONTRIBUTE, pdl_contributes, "where the result goes")                                        \
    X(PARSER, const pdl_parser_field *, "from text to a value; NULL when absent")
#define PDL_BLOCK_FIELD_TYPES(X)                                                                   \
    X(BLOCK, const pdl_block *, "a block; NULL when absent")                                       \
    X(BLOCKS, pdl_blocks, "a list of blocks")                                                      \
    X(TEXTS, pdl_blocks, "a block or a list of blocks")                                            \
    X(FIELDS, pdl_blocks, "a mapping from names to blocks, or a list")                             \
    X(CASES, pdl_cases, "the cases of a match")                                                    \
    X(DEFS, pdl_blocks, "a mapping from variables to blocks")                                      \
    X(EXPECTATIONS, pdl_expectations, "what the result should satisfy")
#define PDL_FIELD_TYPES(X) PDL_PLAIN_FIELD_TYPES(X) PDL_BLOCK_FIELD_TYPES(X)
typedef enum {
#define X(name, type, doc) PDL_FT_##name,
    PDL_FIELD_TYPES(X)
#undef X
        PDL_FT_COUNT
} pdl_field_type;

/* A field is loaded, walked and dumped by its form and its offset alone: a second field of a form
 * needs no code. */
#define X(name, type, doc) typedef type pdl_in_##name;
PDL_FIELD_TYPES(X)
#undef X
#define PDL_MEMBER(type, member) pdl_in_##type member;

/* Common fields that few blocks have: the rows RARE of common.def. */
#define C(where, part, member, key, type, when, doc) PDL_##where##_MEMBER(PDL_MEMBER(type, member))
#define PDL_HEAD_MEMBER(text)
#define PDL_RARE_MEMBER(text) text
typedef struct pdl_block_rare {
#include "lang/common.def"
} pdl_block_rare;
#undef PDL_HEAD_MEMBER
#undef PDL_RARE_MEMBER

extern const pdl_block_rare pdl_block_no_rare; /* all empty */

/* The common part of every block: first member `head` of each kind's struct. The rows HEAD of
 * common.def follow the kind, because the first of them fill the gap after it. */
#define C(where, part, member, key, type, when, doc) PDL_##where##_MEMBER(PDL_MEMBER(type, member))
#define PDL_HEAD_MEMBER(text)                        text
#define PDL_RARE_MEMBER(text)
struct pdl_block {
    pdl_block_kind kind;
#include "lang/common.def"
    pdl_loc loc; /* FILE:LINE of the block itself */
    const pdl_node *node;
    /* Never NULL: blocks without any of these fields share an empty one. */
    const pdl_block_rare *rare;
};
#undef PDL_HEAD_MEMBER
#undef PDL_RARE_MEMBER

/* pdl_b_text, pdl_b_if, ...: one struct per kind. */
#define BLOCK(id, cls, parts, context, schema, doc)                                                \
    typedef struct pdl_b_##id {                                                                    \
        pdl_block head;
#define F(id, member, key, type, need, doc) PDL_MEMBER(type, member)
#define END(id)                                                                                    \
    }                                                                                              \
    pdl_b_##id;
#include "lang/blocks.def"

/* Returns the block as the struct of its kind. The kind must match, which builds with assertions
 * check. */
static inline const void *pdl_block_as(const pdl_block *b, pdl_block_kind kind) {
    assert(b && b->kind == kind);
    (void)kind;
    return b;
}
#define PDL_AS(id, block) ((const pdl_b_##id *)pdl_block_as(block, PDL_BLOCK_##id))

/* Where dumps have a common field (column `part` of common.def). */
typedef enum { PDL_PART_FIRST, PDL_PART_BACK, PDL_PART_LAST } pdl_dump_part;

/* One row of the field tables. */
typedef struct pdl_field {
    int kind; /* pdl_block_kind; -1: common */
    const char *key;
    pdl_field_type type;
    pdl_need need;
    size_t offset; /* of the member; of common fields in pdl_block or in pdl_block_rare */
    bool in_rare;
    pdl_dump_part part; /* of common fields */
    const char *doc;
} pdl_field;

/* All fields of blocks.def in order; those of one kind; the common ones. */
const pdl_field *pdl_fields(size_t *n);
const pdl_field *pdl_fields_of(pdl_block_kind kind, size_t *n);
const pdl_field *pdl_common_fields(size_t *n);
/* The member of b that f describes. */
static inline const void *pdl_field_at(const pdl_block *b, const pdl_field *f) {
    assert(f->kind < 0 || f->kind == (int)b->kind);
    return (f->in_rare ? (const char *)b->rare : (const char *)b) + f->offset;
}
/* Field of a kind by key (own or common, `context` only where allowed); NULL when there is none. */
const pdl_field *pdl_field_find(pdl_block_kind kind, pdl_str key);

/* "text", ...; "data" is the trace name of scalar blocks: see pdl_block_trace_name */
const char *pdl_block_name(pdl_block_kind k);
const char *pdl_block_trace_name(pdl_block_kind k);
const char *pdl_block_doc(pdl_block_kind k);
bool pdl_block_is_structured(pdl_block_kind k);
/* True when a block of the kind sees the background only where its expressions and blocks do. */
bool pdl_block_is_neutral(pdl_block_kind k);
/* True when the parts of the block print nothing, because its result is not their text. */
bool pdl_block_silences_parts(const pdl_block *b);
bool pdl_block_kind_find(pdl_str name, pdl_block_kind *out); /* not scalar */

/* The default of a field of a kind, or of a part of a record, which traces write out. Absent when
 * there is none. Owned. */
pdl_val pdl_field_default(pdl_block_kind kind, const char *key);
pdl_val pdl_record_default(pdl_record record, const char *key);

/* The place of a field's key in a block, or the block's place when the field is not written. */
pdl_loc pdl_field_loc(const pdl_block *b, const char *key);

#endif
