/* block.h -- programs as blocks: structs and tables made from blocks.def and common.def
 * (architecture D5).
 *
 * Everything lives in the program's arena and is immutable after loading. Each part knows its
 * place: `loc` is what FILE:LINE prints (the key of a mapping entry, the first character of a list
 * item), `node` is the syntax it was made from (NULL when made up).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LANG_BLOCK_H
#define PDL_LANG_BLOCK_H

#include <assert.h>

#include "base/arena.h"
#include "base/source.h"
#include "expr/expr.h"
#include "parse/parse.h"
#include "types/type.h"
#include "value/val.h"
#include "yaml/node.h"

typedef struct pdl_block pdl_block;

typedef enum {
#define BLOCK(id, cls, parts, schema, doc) PDL_BLOCK_##id,
#include "lang/blocks.def"
    PDL_BLOCK_COUNT
} pdl_block_kind;

/* What a field holds. C type of the member in the comment. */
typedef enum {
    PDL_FT_STR,          /* pdl_text_field: literal string */
    PDL_FT_BOOL,         /* pdl_flag: literal boolean */
    PDL_FT_INT,          /* pdl_count: literal integer */
    PDL_FT_EXPR,         /* const pdl_tree *: anything, evaluated */
    PDL_FT_XBOOL,        /* const pdl_tree *: boolean or string */
    PDL_FT_XINT,         /* const pdl_tree *: integer or string */
    PDL_FT_XNUM,         /* const pdl_tree *: number or string */
    PDL_FT_XSTR,         /* const pdl_tree *: string */
    PDL_FT_XDICT,        /* const pdl_tree *: object or string */
    PDL_FT_ANY,          /* const pdl_node *: read and not looked at */
    PDL_FT_BLOCK,        /* const pdl_block * */
    PDL_FT_BLOCKS,       /* pdl_blocks: list */
    PDL_FT_TEXTS,        /* pdl_blocks: block or list */
    PDL_FT_FIELDS,       /* pdl_blocks: mapping (names set) or list */
    PDL_FT_TYPE,         /* const pdl_type * */
    PDL_FT_PARAMS,       /* pdl_params */
    PDL_FT_JOIN,         /* const pdl_join *: NULL when absent */
    PDL_FT_CASES,        /* pdl_cases */
    PDL_FT_FORS,         /* const pdl_fors *: NULL when absent or null */
    PDL_FT_ARGV,         /* const pdl_tree *: LIST of strings */
    PDL_FT_AGG,          /* const pdl_agg * */
    PDL_FT_DEFS,         /* pdl_blocks with names */
    PDL_FT_CTX,          /* bool: independent */
    PDL_FT_FLAG,         /* bool */
    PDL_FT_RETRY,        /* const pdl_retry *: NULL when absent */
    PDL_FT_BUDGET,       /* const pdl_budget_field *: NULL when absent */
    PDL_FT_CONTRIBUTE,   /* pdl_contributes */
    PDL_FT_PARSER,       /* const pdl_parser_field * */
    PDL_FT_EXPECTATIONS, /* pdl_expectations */
    PDL_FT_COUNT
} pdl_field_type;

/* REQ: must be there; OPT: may be absent or null; DEF: may be absent, not null; NUL: must be there,
 * may be null; OLD: accepted old name. */
typedef enum { PDL_NEED_REQ, PDL_NEED_OPT, PDL_NEED_DEF, PDL_NEED_NUL, PDL_NEED_OLD } pdl_need;

/* A literal string field. s.p == NULL: absent or null. */
typedef struct pdl_text_field {
    pdl_str s;
    pdl_loc loc; /* of the key */
} pdl_text_field;
typedef struct pdl_flag {
    bool given, value;
} pdl_flag;
typedef struct pdl_count {
    bool given;
    int64_t value;
} pdl_count;

/* A tree of data whose strings are expressions. */
typedef enum { PDL_TREE_CONST, PDL_TREE_EXPR, PDL_TREE_LIST, PDL_TREE_MAP } pdl_tree_kind;
typedef struct pdl_tree {
    pdl_tree_kind kind;
    uint32_t n; /* parts of a LIST, MAP */
    const pdl_node *node;
    pdl_loc loc;
    union {
        pdl_val value;        /* CONST: owned by the program (also plain strings) */
        const pdl_expr *expr; /* EXPR */
        struct {
            const struct pdl_tree **items; /* LIST, MAP */
            const struct pdl_tree **keys;  /* MAP: CONST or EXPR */
        };
    };
} pdl_tree;

typedef struct pdl_blocks {
    uint32_t n;
    const pdl_block **p;
    pdl_str *names; /* mapping form: name of each; else NULL */
    bool single;    /* TEXTS: written as one block, not a list */
    bool is_map;    /* FIELDS, DEFS */
    pdl_loc loc;    /* of the key */
} pdl_blocks;

typedef struct pdl_params {
    uint32_t n;
    pdl_str *names;
    const pdl_type **types;
    const pdl_type *all; /* the type of the arguments as one object, closed */
    const pdl_node *node;
    bool is_null; /* `function:` with nothing */
} pdl_params;

typedef enum {
    PDL_JOIN_TEXT,
    PDL_JOIN_ARRAY,
    PDL_JOIN_OBJECT,
    PDL_JOIN_LASTOF,
    PDL_JOIN_REDUCE
} pdl_join_kind;
typedef struct pdl_join {
    pdl_join_kind kind;
    pdl_str with;           /* TEXT */
    const pdl_tree *reduce; /* REDUCE */
    pdl_loc loc;
} pdl_join;

/* Pattern of a case (spec 2.10 match). */
typedef enum {
    PDL_PAT_CONST,
    PDL_PAT_ANY,
    PDL_PAT_ANYOF,
    PDL_PAT_ARRAY,
    PDL_PAT_OBJECT
} pdl_pattern_kind;
typedef struct pdl_pattern {
    pdl_pattern_kind kind;
    pdl_val value;                    /* CONST */
    pdl_str def;                      /* variable, or p == NULL */
    const struct pdl_pattern **items; /* ANYOF, ARRAY, OBJECT */
    pdl_str *keys;                    /* OBJECT */
    uint32_t n;
    pdl_loc loc;
    const pdl_node *node;
} pdl_pattern;

typedef struct pdl_case {
    const pdl_pattern *pattern; /* NULL: no test */
    const pdl_tree *cond;       /* NULL: no guard */
    const pdl_block *then;
    pdl_loc loc;
    const pdl_node *node;
} pdl_case;
typedef struct pdl_cases {
    uint32_t n;
    pdl_case *p;
} pdl_cases;

typedef struct pdl_fors {
    uint32_t n;
    const pdl_tree **names; /* CONST string or EXPR */
    const pdl_tree **lists;
    pdl_loc loc; /* of the key `for` */
    const pdl_node *node;
} pdl_fors;

/* The parts of a field that is an object: a tree for each row of records.def, NULL where the part
 * is absent or null and its default is used. */
typedef enum { PDL_RECORD_retry, PDL_RECORD_budget, PDL_RECORD_aggregator } pdl_record;

/* Members for the rows of one record: the other two macros are empty at the time. */
#define PDL_PART(record, member) PDL_PART_##record(member)

#define R(record, member, type, need, doc) PDL_PART(record, member)
#define PDL_PART_retry(member)             const pdl_tree *member;
#define PDL_PART_budget(member)
#define PDL_PART_aggregator(member)
typedef struct pdl_retry {
#include "lang/records.def"
    bool is_object;
    int64_t count; /* integer form */
    pdl_loc loc;
    const pdl_node *node;
} pdl_retry;
#undef PDL_PART_retry
#undef PDL_PART_budget
#define R(record, member, type, need, doc) PDL_PART(record, member)
#define PDL_PART_retry(member)
#define PDL_PART_budget(member) const pdl_tree *member;
typedef struct pdl_budget_field {
#include "lang/records.def"
    pdl_loc loc;
    const pdl_node *node;
} pdl_budget_field;
#undef PDL_PART_budget
#undef PDL_PART_aggregator
#define R(record, member, type, need, doc) PDL_PART(record, member)
#define PDL_PART_budget(member)
#define PDL_PART_aggregator(member) const pdl_tree *member;
typedef struct pdl_agg {
#include "lang/records.def"
    bool is_file; /* else the context aggregator */
    pdl_loc loc;
    const pdl_node *node;
} pdl_agg;
#undef PDL_PART_retry
#undef PDL_PART_budget
#undef PDL_PART_aggregator

/* One row of records.def. */
typedef enum {
    PDL_RT_XINT,
    PDL_RT_XNUM,
    PDL_RT_XSTR,
    PDL_RT_XBOOL,
    PDL_RT_WORDS,
    PDL_RT_RANGE,
    PDL_RT_NOTE
} pdl_record_type;
typedef struct pdl_record_part {
    pdl_record record;
    const char *key;
    pdl_record_type type;
    pdl_need need;
    size_t offset; /* of the tree in pdl_retry, pdl_budget_field or pdl_agg */
    const char *doc;
} pdl_record_part;

/* The rows of a record in order. */
const pdl_record_part *pdl_record_parts(pdl_record record, size_t *n);
/* The tree of a part; base: what the field was read into. */
static inline const pdl_tree *pdl_record_part_at(const void *base, const pdl_record_part *part) {
    return *(const pdl_tree *const *)(const void *)((const char *)base + part->offset);
}

typedef enum {
    PDL_TO_RESULT,
    PDL_TO_CONTEXT,
    PDL_TO_STDOUT,
    PDL_TO_STDERR,
    PDL_TO_NAME,
    PDL_TO_INVALID
} pdl_target;
typedef struct pdl_contribute {
    pdl_target target;     /* INVALID: a mapping with no or several keys: fails when executed */
    pdl_str name;          /* NAME: the aggregator */
    const pdl_tree *value; /* {TARGET: {value: E}}, or NULL */
    pdl_loc loc;
    const pdl_node *node;
} pdl_contribute;
typedef struct pdl_contributes {
    bool given;           /* false: the default [result, context] */
    bool result, context; /* these two are in the list */
    uint32_t n;
    pdl_contribute *p;
} pdl_contributes;

typedef struct pdl_expectation {
    const pdl_tree *expect;
    const pdl_tree *feedback;        /* expression; NULL: stdlib's, unless feedback_block */
    const pdl_block *feedback_block; /* inline function */
    pdl_loc loc;
} pdl_expectation;
typedef struct pdl_expectations {
    uint32_t n;
    pdl_expectation *p;
} pdl_expectations;

typedef struct pdl_parser_field {
    const pdl_parser *parser;
    const pdl_type *spec; /* regex parser: as written, or NULL */
    pdl_str description;
    bool is_word;
} pdl_parser_field;

/* What a field of each type is in a struct. */
#define PDL_MEMBER_STR(member)          pdl_text_field member;
#define PDL_MEMBER_BOOL(member)         pdl_flag member;
#define PDL_MEMBER_INT(member)          pdl_count member;
#define PDL_MEMBER_EXPR(member)         const pdl_tree *member;
#define PDL_MEMBER_XBOOL(member)        const pdl_tree *member;
#define PDL_MEMBER_XINT(member)         const pdl_tree *member;
#define PDL_MEMBER_XNUM(member)         const pdl_tree *member;
#define PDL_MEMBER_XSTR(member)         const pdl_tree *member;
#define PDL_MEMBER_XDICT(member)        const pdl_tree *member;
#define PDL_MEMBER_ARGV(member)         const pdl_tree *member;
#define PDL_MEMBER_ANY(member)          const pdl_node *member;
#define PDL_MEMBER_BLOCK(member)        const pdl_block *member;
#define PDL_MEMBER_BLOCKS(member)       pdl_blocks member;
#define PDL_MEMBER_TEXTS(member)        pdl_blocks member;
#define PDL_MEMBER_FIELDS(member)       pdl_blocks member;
#define PDL_MEMBER_PARAMS(member)       pdl_params member;
#define PDL_MEMBER_JOIN(member)         const pdl_join *member;
#define PDL_MEMBER_CASES(member)        pdl_cases member;
#define PDL_MEMBER_FORS(member)         const pdl_fors *member;
#define PDL_MEMBER_AGG(member)          const pdl_agg *member;
#define PDL_MEMBER_DEFS(member)         pdl_blocks member;
#define PDL_MEMBER_RETRY(member)        const pdl_retry *member;
#define PDL_MEMBER_BUDGET(member)       const pdl_budget_field *member;
#define PDL_MEMBER_CONTRIBUTE(member)   pdl_contributes member;
#define PDL_MEMBER_EXPECTATIONS(member) pdl_expectations member;
#define PDL_MEMBER_TYPE(member)                                                                    \
    const pdl_type *member;                                                                        \
    pdl_loc member##_loc;                                                                          \
    const pdl_node *member##_node;
#define PDL_MEMBER_PARSER(member)                                                                  \
    const pdl_parser_field *member;                                                                \
    pdl_loc member##_loc;
#define PDL_MEMBER_FLAG(member) bool member;
#define PDL_MEMBER_CTX(member)  bool member, member##_given;

/* Common fields that few blocks have: the rows RARE of common.def. */
#define C(where, part, member, key, type, when, doc) PDL_##where##_MEMBER(PDL_MEMBER_##type(member))
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
#define C(where, part, member, key, type, when, doc) PDL_##where##_MEMBER(PDL_MEMBER_##type(member))
#define PDL_HEAD_MEMBER(text)                        text
#define PDL_RARE_MEMBER(text)
struct pdl_block {
    pdl_block_kind kind;
#include "lang/common.def"
    pdl_loc loc; /* what FILE:LINE says of the block itself */
    const pdl_node *node;
    /* Never NULL: blocks without any of these fields share an empty one. */
    const pdl_block_rare *rare;
};
#undef PDL_HEAD_MEMBER
#undef PDL_RARE_MEMBER

/* pdl_b_text, pdl_b_if, ...: one struct a kind. */
#define BLOCK(id, cls, parts, schema, doc)                                                         \
    typedef struct pdl_b_##id {                                                                    \
        pdl_block head;
#define F(id, member, key, type, need, doc) PDL_MEMBER_##type(member)
#define END(id)                                                                                    \
    }                                                                                              \
    pdl_b_##id;
#include "lang/blocks.def"

/* The kind's own struct of a block of that kind. Asking for another kind is a fault of ours, which
 * builds with assertions find. */
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
    return (f->in_rare ? (const char *)b->rare : (const char *)b) + f->offset;
}
/* Field of a kind by key (own or common, `context` only where allowed), NULL when there is none. */
const pdl_field *pdl_field_find(pdl_block_kind kind, pdl_str key);

/* "text", ...; "data" is the trace name of scalar blocks: see pdl_block_trace_name */
const char *pdl_block_name(pdl_block_kind k);
const char *pdl_block_trace_name(pdl_block_kind k);
const char *pdl_block_doc(pdl_block_kind k);
bool pdl_block_is_structured(pdl_block_kind k);
/* Do the parts of the block print nothing while they run, because its result is not their text? */
bool pdl_block_silences_parts(const pdl_block *b);
bool pdl_block_kind_find(pdl_str name, pdl_block_kind *out); /* not scalar */

/* The place of a field's key in a block, or the block's when it is not written. */
pdl_loc pdl_field_loc(const pdl_block *b, const char *key);

#endif
