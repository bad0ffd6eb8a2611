/* block.h -- programs as blocks: structs and tables made from blocks.def and common.def.
 *
 * Kinds and fields are written once, in the tables. The structs below, the loader, the checks,
 * dumps, the JSON Schema and the manual are made from these tables, so they cannot disagree.
 * Everything lives in the program's arena and is immutable after loading. Each part knows its place
 * in the source. `loc` is the place that messages print as FILE:LINE: the key of a mapping entry,
 * or the first character of a list item. `node` is the syntax from which the part was made; NULL
 * when there is none.
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

/* The forms of fields: field_types.def has a row for each. The row names the C type of the member,
 * the functions that walk and dump it, and the facts that an editor needs. libpdl does not compile
 * without the functions that a row names, so no form can be forgotten. */
typedef enum {
#define FIELD_TYPE(name, type, holds, walk, dump, role, opens, doc) PDL_FT_##name,
#include "lang/field_types.def"
    PDL_FT_COUNT
} pdl_field_type;

/* The columns `holds`, `opens` and `doc` are used outside of the loader, the walk and the dump. A
 * kind whose fields are all trees and blocks is compiled and checked by the forms of its fields. So
 * a new kind with such fields needs no code in the compiler and in the check. */

/* Says what a field contains, for code that only has to find the trees and blocks in it. CONSTANT:
 * nothing that is evaluated. TREE: one tree. BLOCK: one block. BLOCKS: a list or mapping of blocks.
 * CASES: cases, which have blocks. EXPECTATIONS: expectations, whose feedback may be a block.
 * PARTS: other parts, some of which are trees or types (lang/walk.h visits them). */
typedef enum {
    PDL_HOLDS_CONSTANT,
    PDL_HOLDS_TREE,
    PDL_HOLDS_BLOCK,
    PDL_HOLDS_BLOCKS,
    PDL_HOLDS_CASES,
    PDL_HOLDS_EXPECTATIONS,
    PDL_HOLDS_PARTS
} pdl_field_holds;
/* The text that an editor writes after a new key: a value on the line, a list or a mapping below,
 * or []. It is the most frequent of the allowed forms. */
typedef enum { PDL_OPENS_LINE, PDL_OPENS_LIST, PDL_OPENS_MAP, PDL_OPENS_FLOW } pdl_field_opens;
typedef struct pdl_field_form {
    pdl_field_holds holds;
    pdl_field_opens opens;
    const char *doc;
} pdl_field_form;
/* Indexed by pdl_field_type. */
extern const pdl_field_form pdl_field_forms[PDL_FT_COUNT];

/* A field is loaded, walked and dumped by its form and its offset alone, so a second field of a
 * form needs no code. The form of a field also decides the C type of its member, which is named
 * pdl_in_FORM. */
#define FIELD_TYPE(name, type, holds, walk, dump, role, opens, doc) typedef type pdl_in_##name;
#include "lang/field_types.def"
#define PDL_MEMBER(type, member) pdl_in_##type member;

/* The common fields that few blocks have: the rows RARE of common.def. */
#define C(where, part, member, key, type, when, doc) PDL_##where##_MEMBER(PDL_MEMBER(type, member))
#define PDL_HEAD_MEMBER(text)
#define PDL_RARE_MEMBER(text) text
typedef struct pdl_block_rare {
#include "lang/common.def"
} pdl_block_rare;
#undef PDL_HEAD_MEMBER
#undef PDL_RARE_MEMBER

/* shared by all blocks that have none of these fields */
extern const pdl_block_rare pdl_block_no_rare;

/* The common part of every block, and the first member `head` of each kind's struct. The members of
 * the rows HEAD of common.def come directly after `kind`, because the first of these members fit
 * into the padding after `kind`. */
#define C(where, part, member, key, type, when, doc) PDL_##where##_MEMBER(PDL_MEMBER(type, member))
#define PDL_HEAD_MEMBER(text)                        text
#define PDL_RARE_MEMBER(text)
struct pdl_block {
    pdl_block_kind kind;
#include "lang/common.def"
    pdl_loc loc; /* FILE:LINE of the block */
    const pdl_node *node;
    /* Never NULL; pdl_block_no_rare when the block has none of the fields in pdl_block_rare. */
    const pdl_block_rare *rare;
};
#undef PDL_HEAD_MEMBER
#undef PDL_RARE_MEMBER

/* One struct for each kind: pdl_b_text, pdl_b_if, ... */
#define BLOCK(id, cls, parts, context, schema, doc)                                                \
    typedef struct pdl_b_##id {                                                                    \
        pdl_block head;
#define F(id, member, key, type, need, doc) PDL_MEMBER(type, member)
#define END(id)                                                                                    \
    }                                                                                              \
    pdl_b_##id;
#include "lang/blocks.def"

/* Returns the block as the struct of its kind. The kind must match; builds with assertions check
 * that. */
static inline const void *pdl_block_as(const pdl_block *b, pdl_block_kind kind) {
    assert(b && b->kind == kind);
    (void)kind;
    return b;
}
#define PDL_AS(id, block) ((const pdl_b_##id *)pdl_block_as(block, PDL_BLOCK_##id))

/* The place of a common field in dumps (column `part` of common.def). */
typedef enum { PDL_PART_FIRST, PDL_PART_BACK, PDL_PART_LAST } pdl_dump_part;

/* One row of the field tables. */
typedef struct pdl_field {
    int kind; /* a pdl_block_kind, or -1 for a common field */
    const char *key;
    pdl_field_type type;
    pdl_need need;
    /* the offset of the member; for a common field, the offset in pdl_block or in pdl_block_rare */
    size_t offset;
    bool in_rare;
    pdl_dump_part part; /* set for common fields only */
    const char *doc;
} pdl_field;

/* The next three functions return all fields of blocks.def in order, the fields of one kind, and
 * the common fields. */
const pdl_field *pdl_fields(size_t *n);
const pdl_field *pdl_fields_of(pdl_block_kind kind, size_t *n);
const pdl_field *pdl_common_fields(size_t *n);
/* Returns the member of b that f describes. */
static inline const void *pdl_field_at(const pdl_block *b, const pdl_field *f) {
    assert(f->kind < 0 || f->kind == (int)b->kind);
    return (f->in_rare ? (const char *)b->rare : (const char *)b) + f->offset;
}
/* Returns the field of a kind by its key. It is a field of this kind or a common field. `context`
 * is found only for kinds that may have it. Returns NULL when no field has the key. */
const pdl_field *pdl_field_find(pdl_block_kind kind, pdl_str key);

/* pdl_block_name returns the name of a kind: "text", "scalar", ... pdl_block_trace_name returns its
 * name in traces, where a scalar block is "data". */
const char *pdl_block_name(pdl_block_kind k);
const char *pdl_block_trace_name(pdl_block_kind k);
const char *pdl_block_doc(pdl_block_kind k);
bool pdl_block_is_structured(pdl_block_kind k);
/* Returns true when a block of the kind reads the background messages only through its expressions
 * and inner blocks. */
bool pdl_block_is_neutral(pdl_block_kind k);
/* Returns true when the parts of the block print nothing, because its result is not their text. */
bool pdl_block_silences_parts(const pdl_block *b);
bool pdl_block_kind_find(pdl_str name, pdl_block_kind *out); /* never finds the kind `scalar` */

/* Returns the default that traces write out for a field of a kind, or for a part of a record.
 * Returns absent when the field has no default. Owned. */
pdl_val pdl_field_default(pdl_block_kind kind, const char *key);
pdl_val pdl_record_default(pdl_record record, const char *key);

/* Returns the place of a field's key in a block, or the block's place when the field is not
 * written. */
pdl_loc pdl_field_loc(const pdl_block *b, const char *key);
/* Returns the help for an expression that cannot be read. n is the text that has the expression;
 * may be NULL. */
pdl_str pdl_fault_hint(const pdl_xfault *f, const pdl_node *n);

/* Returns the place at which a failure of the block's action is shown, which is the place of the
 * block. When the block begins with `defs`, it is the place of the first key that is not a common
 * field, such as `model`. */
pdl_loc pdl_block_own_loc(const pdl_block *b);

#endif
