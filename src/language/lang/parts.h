/* parts.h -- the structs of the fields of blocks: one struct for each form of field.
 *
 * lang/block.h makes the struct of each kind of block from these structs, by the rows of blocks.def
 * and common.def. The members are set once, in the arena of the program, so that a program can be
 * run many times and by several threads at once. A part keeps its syntax (`node`) if `pdl dump` or
 * an error needs the part as it was written. The part keeps the place of its key (`loc`) if errors
 * are about the field and not about its content.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LANG_PARTS_H
#define PDL_LANG_PARTS_H

#include <assert.h>

#include "base/source.h"
#include "expr/expr.h"
#include "parse/parse.h"
#include "types/type.h"
#include "value/val.h"
#include "yaml/node.h"

typedef struct pdl_block pdl_block;

/* Says whether a field may be absent or null, for the loader and for the schema of the language. A
 * field REQ is required. OPT may be absent or null. DEF may be absent but not null. NUL is required
 * and may be null. OLD is an accepted old name, which dumps replace by the new name. */
typedef enum { PDL_NEED_REQ, PDL_NEED_OPT, PDL_NEED_DEF, PDL_NEED_NUL, PDL_NEED_OLD } pdl_need;

/* A literal string field. s.p is NULL when the field is absent or null. */
typedef struct pdl_text_field {
    pdl_str s;
    pdl_loc loc; /* place of the key */
} pdl_text_field;
/* The type of `spec: TYPE`. */
typedef struct pdl_spec_field {
    const pdl_type *type; /* NULL when it is absent */
    pdl_loc loc;          /* place of the key */
} pdl_spec_field;

/* A literal boolean that may be absent; absent is not the same as false. */
typedef struct pdl_flag {
    bool given, value;
} pdl_flag;
/* A literal integer that may be absent; absent is not the same as 0. A literal is read at load, so
 * an expression is refused there. */
typedef struct pdl_count {
    bool given;
    int64_t value;
} pdl_count;

/* A tree of data whose strings are expressions: the content of `data`, `if`, `parameters` and most
 * fields. A part without expressions is a CONST as a whole, however deep it is. So a large literal
 * is one constant of the program, and costs nothing when it is executed. */
typedef enum { PDL_TREE_CONST, PDL_TREE_EXPR, PDL_TREE_LIST, PDL_TREE_MAP } pdl_tree_kind;
typedef struct pdl_tree {
    pdl_tree_kind kind;
    uint32_t n; /* the number of parts of a LIST or MAP */
    const pdl_node *node;
    pdl_loc loc;
    union {
        pdl_val value;        /* used by CONST, also for plain strings; owned by the program */
        const pdl_expr *text; /* used by EXPR; pdl_tree_expr reads it when it is first needed */
        struct {
            const struct pdl_tree **items; /* LIST, MAP */
            const struct pdl_tree **keys;  /* used by MAP; each key is a CONST or an EXPR */
        };
    };
} pdl_tree;

/* Returns the expression of an EXPR, which is read at the first call. */
static inline const pdl_expr *pdl_tree_expr(const pdl_tree *t) { return pdl_expr_now(t->text); }

/* Blocks in order: a list, one block in place of a list, or a mapping with a name for
 * each block. */
typedef struct pdl_blocks {
    uint32_t n;
    const pdl_block **p;
    pdl_str *names; /* the names of the blocks in a mapping; otherwise NULL */
    bool single;    /* used by TEXTS: the text has one block in place of a list */
    bool is_map;    /* set for FIELDS and DEFS */
    pdl_loc loc;    /* place of the key */
} pdl_blocks;

/* The parameters of `function: {x: string}` in the written order, in which arguments without names
 * are assigned. */
typedef struct pdl_params {
    uint32_t n;
    pdl_str *names;
    const pdl_type **types;
    const pdl_type *all; /* the type of the arguments as one closed object */
    const pdl_node *node;
    bool is_null; /* `function:` has no value */
} pdl_params;

/* The ways of a `join` to combine the results of iterations. An absent `join` is TEXT with nothing
 * between the results. */
typedef enum {
    PDL_JOIN_TEXT,   /* the texts of the results, separated by `with` */
    PDL_JOIN_ARRAY,  /* a list of the results */
    PDL_JOIN_OBJECT, /* the union of the results; a later key replaces an earlier one */
    PDL_JOIN_LASTOF, /* the last result; null without iterations */
    PDL_JOIN_REDUCE  /* a function of two arguments folds the results */
} pdl_join_kind;
typedef struct pdl_join {
    pdl_join_kind kind;
    pdl_str with;           /* used by TEXT */
    const pdl_tree *reduce; /* used by REDUCE */
    pdl_loc loc;
} pdl_join;

/* The pattern of a case: `case: {array: [1, {def: x}]}`. Patterns contain no expressions, so they
 * are complete after loading, and values in them are compared as they are. */
typedef enum {
    PDL_PAT_CONST, /* equal to the value */
    PDL_PAT_ANY,   /* fits every value; its variable gets the value */
    PDL_PAT_ANYOF, /* several patterns; the first one that fits counts */
    PDL_PAT_ARRAY, /* a list of n items, each of which fits */
    PDL_PAT_OBJECT /* an object that has these keys, and may have more */
} pdl_pattern_kind;
typedef struct pdl_pattern {
    pdl_pattern_kind kind;
    pdl_val value; /* used by CONST */
    /* the variable that the pattern sets; p is NULL when it sets no variable */
    pdl_str def;
    const struct pdl_pattern **items; /* used by ANYOF, ARRAY, OBJECT */
    pdl_str *keys;                    /* used by OBJECT */
    uint32_t n;
    pdl_loc loc;
    const pdl_node *node;
} pdl_pattern;

/* A case of `match`: executed when its pattern fits and its guard is true. */
typedef struct pdl_case {
    const pdl_pattern *pattern; /* NULL when the case has no pattern */
    const pdl_tree *cond;       /* NULL when the case has no guard */
    const pdl_block *then;
    pdl_loc loc;
    const pdl_node *node;
} pdl_case;
typedef struct pdl_cases {
    uint32_t n;
    pdl_case *p;
} pdl_cases;

/* `for: {x: LIST, y: LIST}`: all lists advance together. */
typedef struct pdl_fors {
    uint32_t n;
    const pdl_tree **names; /* each a CONST string or an EXPR */
    const pdl_tree **lists;
    pdl_loc loc; /* place of the key `for` */
    const pdl_node *node;
} pdl_fors;

/* The parts of a field that is an object. Each row of records.def has a tree. The tree is NULL when
 * the part is absent or null; its default is then used. */
typedef enum {
    PDL_RECORD_retry,
    PDL_RECORD_budget,
    PDL_RECORD_endorse,
    PDL_RECORD_aggregator
} pdl_record;

/* Makes members for the rows of one record. The macros of the other records are empty at that
 * time. */
#define PDL_PART(record, member) PDL_PART_##record(member)

#define R(record, member, type, need, doc) PDL_PART(record, member)
#define PDL_PART_retry(member)             const pdl_tree *member;
#define PDL_PART_budget(member)
#define PDL_PART_endorse(member)
#define PDL_PART_aggregator(member)
/* `retry: 3`, or an object with the parts of the table. */
typedef struct pdl_retry {
#include "lang/records.def"
    bool is_object;
    int64_t count; /* used by the integer form */
    pdl_loc loc;
    const pdl_node *node;
} pdl_retry;
#undef PDL_PART_retry
#undef PDL_PART_budget
#define R(record, member, type, need, doc) PDL_PART(record, member)
#define PDL_PART_retry(member)
#define PDL_PART_budget(member) const pdl_tree *member;
/* `budget: {usd: 0.5}`: an absent part limits nothing. */
typedef struct pdl_budget_field {
#include "lang/records.def"
    pdl_loc loc;
    const pdl_node *node;
} pdl_budget_field;
#undef PDL_PART_budget
#undef PDL_PART_endorse
#define R(record, member, type, need, doc) PDL_PART(record, member)
#define PDL_PART_budget(member)
#define PDL_PART_endorse(member) const pdl_tree *member;
/* `endorse: {labels: model, why: TEXT}`: the author answers for the result. */
typedef struct pdl_endorse_field {
#include "lang/records.def"
    pdl_loc loc;
    const pdl_node *node;
} pdl_endorse_field;
#undef PDL_PART_budget
#undef PDL_PART_endorse
#undef PDL_PART_aggregator
#define R(record, member, type, need, doc) PDL_PART(record, member)
#define PDL_PART_budget(member)
#define PDL_PART_endorse(member)
#define PDL_PART_aggregator(member) const pdl_tree *member;
/* `aggregator: context`, or `aggregator: {file: PATH}` with the parts of the table. */
typedef struct pdl_agg {
#include "lang/records.def"
    bool is_file; /* false for the aggregator `context` */
    pdl_loc loc;
    const pdl_node *node;
} pdl_agg;
#undef PDL_PART_retry
#undef PDL_PART_budget
#undef PDL_PART_endorse
#undef PDL_PART_aggregator

/* The forms of parts of records, and one row of records.def. */
typedef enum {
    PDL_RT_XINT,  /* an integer, or an expression that gives one */
    PDL_RT_XNUM,  /* a number, or an expression that gives one */
    PDL_RT_XSTR,  /* a text, or an expression that gives one */
    PDL_RT_XBOOL, /* a boolean, or an expression that gives one */
    PDL_RT_WORDS,
    PDL_RT_RANGE,
    PDL_RT_NOTE
} pdl_record_type;
typedef struct pdl_record_part {
    pdl_record record;
    const char *key;
    pdl_record_type type;
    pdl_need need;
    /* the offset of the tree in pdl_retry, pdl_budget_field, pdl_endorse_field or pdl_agg */
    size_t offset;
    const char *doc;
} pdl_record_part;

/* Returns the rows of a record in order. */
const pdl_record_part *pdl_record_parts(pdl_record record, size_t *n);
/* Returns the tree of a part. base is the struct of the field. */
static inline const pdl_tree *pdl_record_part_at(const void *base, const pdl_record_part *part) {
    assert(base && part->offset % sizeof(void *) == 0);
    return *(const pdl_tree *const *)(const void *)((const char *)base + part->offset);
}

/* The targets to which `contribute` sends a result. */
typedef enum {
    PDL_TO_RESULT,  /* result of the block around it */
    PDL_TO_CONTEXT, /* messages that a model sees later */
    PDL_TO_STDOUT,  /* printed output */
    PDL_TO_STDERR,  /* output for people who watch */
    PDL_TO_NAME,    /* an aggregator that the program defined */
    PDL_TO_INVALID  /* a mapping with no key or several keys: an error when the block is executed */
} pdl_target;
typedef struct pdl_contribute {
    pdl_target target;
    pdl_str name;          /* used by NAME: the name of the aggregator */
    const pdl_tree *value; /* the expression E of {TARGET: {value: E}}, or NULL */
    pdl_loc loc;
    const pdl_node *node;
} pdl_contribute;
/* The list of `contribute`. The two usual entries are also flags, because every block reads
 * them. */
typedef struct pdl_contributes {
    bool given;           /* false for the default, [result, context] */
    bool result, context; /* the list has this entry */
    uint32_t n;
    pdl_contribute *p;
} pdl_contributes;

/* An entry of `expectations`: the expectation that a model judges, and the feedback for the next
 * attempt when the answer did not meet the expectation. */
typedef struct pdl_expectation {
    const pdl_tree *expect;
    /* an expression; NULL means the feedback of stdlib, unless feedback_block is set */
    const pdl_tree *feedback;
    const pdl_block *feedback_block; /* an inline function */
    pdl_loc loc;
} pdl_expectation;
typedef struct pdl_expectations {
    uint32_t n;
    pdl_expectation *p;
} pdl_expectations;

/* `parser: json`, or an object `{regex: PATTERN}`. */
typedef struct pdl_parser_field {
    pdl_loc loc; /* place of the key */
    const pdl_parser *parser;
    const pdl_type *spec; /* the spec of a regex parser as written, or NULL */
    pdl_str description;
    bool is_word;
} pdl_parser_field;

#endif
