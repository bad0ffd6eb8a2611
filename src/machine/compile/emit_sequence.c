/* emit_sequence.c -- emits lists of blocks (text, lastOf, array, object as a list, sequence) and
 * the joins of loops. The blocks push their results one after the other, and one instruction at the
 * end joins all of them. Where only the last result counts, the earlier blocks are muted, because
 * only the last block prints.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "compile/emit.h"

#include "base/banned.h"

void pdl_emit_reduce(pdl_emit *e) {
    emit_REDUCE(e);
    uint32_t again = pdl_emit_next_index(e);
    uint32_t end = emit_REDUCE_NEXT(e, PDL_LATER);
    emit_JUMP(e, again);
    pdl_emit_patch(e, end);
}

/* Emits the join of the results on the stack. The stack has one result for each child. */
static void emit_join_stack(pdl_emit *e, const pdl_join *join, uint32_t n) {
    switch (join->kind) {
    case PDL_JOIN_TEXT:
        if (!join->with.n) {
            emit_JOIN_TEXT(e, n);
            return;
        }
        break;
    case PDL_JOIN_ARRAY: emit_LIST(e, n); return;
    case PDL_JOIN_OBJECT:
    case PDL_JOIN_LASTOF:
    case PDL_JOIN_REDUCE: break;
    }
    emit_LIST(e, n);
    pdl_emit_set_loc(e, join->loc);
    if (join->kind == PDL_JOIN_REDUCE)
        pdl_emit_reduce(e);
    else
        emit_JOIN_LIST(e, join->kind, pdl_emit_add_const(e, pdl_text(join->with)));
}

/* Emits blocks. Only the last of them prints. */
static void emit_last_of(pdl_emit *e, const pdl_blocks *items, const pdl_blockinfo *info) {
    if (!items->n) {
        pdl_emit_const(e, pdl_null());
        emit_EMIT(e, false);
        return;
    }
    for (uint32_t i = 0; i < items->n; i++) {
        bool last = i + 1 == items->n;
        if (items->n > 1 && i == 0) emit_MUTE(e);
        if (last && items->n > 1 && !info->has_parser && !info->is_replaced) emit_UNMUTE(e);
        pdl_emit_block(e, items->p[i],
                       (pdl_pos){
                           .seg = PDL_SEG_INDEX,
                           .index = i,
                           .no_context = last && info->no_context,
                       });
        emit_CHILD(e);
        if (!last) emit_POP(e);
    }
}

void pdl_emit_list_body(pdl_emit *e, const pdl_blocks *items, pdl_blockinfo *info,
                        const pdl_join *join) {
    if (join->kind == PDL_JOIN_LASTOF) {
        emit_last_of(e, items, info);
        return;
    }
    if (join->kind == PDL_JOIN_REDUCE) {
        pdl_emit_set_loc(e, join->loc);
        pdl_emit_tree_at(e, join->reduce, info->block->loc);
    }
    for (uint32_t i = 0; i < items->n; i++) {
        bool last = i + 1 == items->n;
        if (i && join->kind == PDL_JOIN_TEXT && join->with.n)
            emit_EMIT_TEXT(e, pdl_emit_add_const(e, pdl_text(join->with)));
        pdl_pos pos = {.seg = PDL_SEG_INDEX, .index = i, .no_context = last && info->no_context};
        if (items->single) pos.seg = PDL_SEG_NONE;
        pdl_emit_block(e, items->p[i], pos);
        emit_CHILD(e);
    }
    emit_join_stack(e, join, items->n);
}
