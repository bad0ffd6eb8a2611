/* emit.h -- builds a pdl_code: instructions, source places, jumps, constants. Private to compile.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_COMPILE_EMIT_H
#define PDL_COMPILE_EMIT_H

#include "base/idmap.h"
#include "compile/code.h"
#include "compile/operand.h"
#include "value/int.h"

typedef struct pdl_emit {
    pdl_code *code;
    pdl_arena *a;        /* code->arena */
    uint32_t site;       /* site of the next instruction */
    uint32_t start, end; /* span of the next instruction */
    bool trace;
    PDL_VEC(const pdl_xnode *) spine; /* scratch memory for chains of expressions */
    /* variables of the closed loops around the current node; the index is the slot */
    PDL_VEC(pdl_name) locals;
} pdl_emit;

uint32_t pdl_emit_op(pdl_emit *e, pdl_opcode op, unsigned a,
                     size_t c); /* returns the index of the instruction; only emit_OP calls it */
uint32_t pdl_emit_next_index(const pdl_emit *e);
/* lets the jump at `at` go to the next instruction */
void pdl_emit_patch(pdl_emit *e, uint32_t at);
void pdl_emit_patch_to(pdl_emit *e, uint32_t at, uint32_t target);
void pdl_emit_const(pdl_emit *e, pdl_val v); /* takes v */
void pdl_emit_text(pdl_emit *e, pdl_str s);
void pdl_emit_attr(pdl_emit *e, pdl_str name);
uint32_t pdl_emit_add_const(pdl_emit *e, pdl_val v); /* takes v */
uint32_t pdl_emit_add_ptr(pdl_emit *e, const void *p, pdl_ptr_type type);
pdl_name pdl_emit_intern(pdl_emit *e, pdl_str s);
const char *pdl_emit_segment(pdl_emit *e, pdl_str s); /* interned text, NUL-terminated */

/* There is emit_OP(e, operands) for each row of ops.def. Each returns the index of its instruction.
 * A target that is unknown is PDL_LATER and patched later. */
#define PDL_LATER           UINT32_MAX
#define PARAM_CONST_TYPE    uint32_t
#define A_NONE              0
#define A_FLAG(what)        what
#define A_ENUM(type)        (unsigned)how
#define C_NONE              0
#define C_NAME              c
#define C_CONST             c
#define C_TARGET            c
#define C_ENTRY             c
#define C_COUNT             c
#define C_SLOT              c
#define C_PTR(type)         pdl_emit_add_ptr(e, c, PDL_PTR_##type)
#define C_PTR_OR_NULL(type) pdl_emit_add_ptr(e, c, PDL_PTR_##type)
#define OP(name, pops, pushes, flow, sees, a, c, doc)                                              \
    static inline uint32_t emit_##name(pdl_emit *e PARAM_##a PARAM_##c) {                          \
        return pdl_emit_op(e, PDL_OP_##name, A_##a, C_##c);                                        \
    }
#include "compile/ops.def"

/* The site of the instructions that follow. pdl_emit_at_site sets it and returns the old site,
 * which the caller restores later. */
typedef struct {
    uint32_t site, start, end;
} emit_place;
emit_place pdl_emit_at_site(pdl_emit *e, const pdl_expr *expr, const pdl_node *node, pdl_loc loc);
void pdl_emit_at_place(pdl_emit *e, emit_place p);
/* the instructions that follow have the place of x */
void pdl_emit_set_span(pdl_emit *e, const pdl_xnode *x);

/* Emits one expression of any form, which leaves its value on the stack (emit_expr.c). */
void pdl_emit_expr(pdl_emit *e, const pdl_expr *x, const pdl_node *node, pdl_loc loc);
/* Emits a template in the current frame. The template ends with RETURN. */
void pdl_emit_template(pdl_emit *e, const pdl_expr *x, const pdl_node *node, pdl_loc loc);
void pdl_emit_xnode(pdl_emit *e, const pdl_xnode *x);
void pdl_emit_stmt(pdl_emit *e, const pdl_xnode *x);
/* Binds `self`, the object of the blocks of a template, when the template has blocks. */
void pdl_emit_self(pdl_emit *e, const pdl_xnode *root);
void pdl_emit_target(
    pdl_emit *e, const pdl_xnode *t); /* moves the top of the stack to a target of an assignment */
void pdl_emit_for(pdl_emit *e, const pdl_xnode *x);
/* Returns true when the instructions from `from` on leave variables in the scope. */
bool pdl_emit_has_bindings(const pdl_emit *e, uint32_t from);
bool pdl_emit_local_find(const pdl_emit *e, pdl_name name, uint32_t *slot);
/* Filters the value on the stack by a FILTER chain. The innermost obj of the chain is NULL. */
void pdl_emit_filter_on_top(pdl_emit *e, const pdl_xnode *x);

/* Emits a tree of data (emit_data.c). */
void pdl_emit_tree(pdl_emit *e, const pdl_tree *t);
/* Emits the parts of retry, budget, endorse or an aggregator in the order of records.def; a part
 * that is not written gets its default, or is absent. base is the struct into which the field was
 * read. */
void pdl_emit_record(pdl_emit *e, pdl_record record, const void *base);
/* Does what pdl_emit_tree does, but errors of expressions in t get the place loc. */
void pdl_emit_tree_at(pdl_emit *e, const pdl_tree *t, pdl_loc loc);

/* The position of a block: how its id continues that of its parent (emit_block.c). */
typedef struct pdl_pos {
    pdl_seg seg;
    uint32_t index;
    pdl_str name;
    bool no_context;  /* no other part of the program can see the messages of the block */
    pdl_str def_name; /* name in defs, for the block of a function */
} pdl_pos;
void pdl_emit_block(pdl_emit *e, const pdl_block *b, pdl_pos pos);
/* Emits a block that is a part of another one, such as its `input`. The part prints nothing, and
 * its messages are not added to the context: they stay in the fiber's register `background`. */
void pdl_emit_value_of(pdl_emit *e, const pdl_block *b, pdl_pos pos);
pdl_loc pdl_emit_field_loc(const pdl_block *b, const char *key);
void pdl_emit_set_loc(pdl_emit *e, pdl_loc loc);
void pdl_emit_trace_field(pdl_emit *e, const char *key);
void pdl_emit_trace_case(pdl_emit *e, const char *key,
                         /* number of a case of match, from 1; 0 outside of match */
                         uint32_t number);

/* These functions emit bodies. Each is for a family of kinds. */
void pdl_emit_list_body(pdl_emit *e, const pdl_blocks *items, pdl_blockinfo *info,
                        const pdl_join *join);
void pdl_emit_reduce(pdl_emit *e); /* pops function and list, pushes the folded value */
void pdl_emit_body(pdl_emit *e, const pdl_block *b, pdl_blockinfo *info, pdl_pos pos);
void pdl_emit_if(pdl_emit *e, const pdl_b_if *b, pdl_blockinfo *info);
void pdl_emit_match(pdl_emit *e, const pdl_b_match *b, pdl_blockinfo *info);
void pdl_emit_repeat(pdl_emit *e, const pdl_b_repeat *b, pdl_blockinfo *info);
void pdl_emit_map(pdl_emit *e, const pdl_b_map *b, pdl_blockinfo *info);
void pdl_emit_function(pdl_emit *e, const pdl_b_function *b, pdl_pos pos);
void pdl_emit_call(pdl_emit *e, const pdl_b_call *b);
void pdl_emit_model(pdl_emit *e, const pdl_b_model *b);
void pdl_emit_code(pdl_emit *e, const pdl_b_code *b, pdl_blockinfo *info);
void pdl_emit_read(pdl_emit *e, const pdl_b_read *b, const pdl_blockinfo *info);
void pdl_emit_message(pdl_emit *e, const pdl_b_message *b);
void pdl_emit_aggregator(pdl_emit *e, const pdl_b_aggregator *b);
/* Emits the body of a function after the code that was emitted before. */
void pdl_emit_function_body(pdl_emit *e, pdl_func_info *f);

#endif
