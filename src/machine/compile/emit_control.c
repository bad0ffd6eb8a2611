/* emit_control.c -- emits if, match, repeat and map. Branches are jumps. A repeat runs its body in
 * place, while a map starts a fiber for each iteration (vm/ops/ops_loop.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "compile/emit.h"

#include "base/banned.h"

void pdl_emit_if(pdl_emit *e, const pdl_b_if *b, pdl_blockinfo *info) {
    pdl_emit_tree(e, b->cond);
    pdl_emit_trace_field(e, "if");
    uint32_t no = emit_JUMP_FALSE(e, PDL_LATER);
    pdl_emit_block(e, b->then_,
                   (pdl_pos){
                       .seg = PDL_SEG_NAME,
                       .name = PDL_STR("then"),
                       .no_context = info->no_context,
                   });
    emit_CHILD(e);
    uint32_t over = emit_JUMP(e, PDL_LATER);
    pdl_emit_patch(e, no);
    if (b->else_) {
        pdl_emit_block(e, b->else_,
                       (pdl_pos){
                           .seg = PDL_SEG_NAME,
                           .name = PDL_STR("else_"),
                           .no_context = info->no_context,
                       });
        emit_CHILD(e);
    } else {
        pdl_emit_text(e, PDL_STR(""));
    }
    pdl_emit_patch(e, over);
}

void pdl_emit_match(pdl_emit *e, const pdl_b_match *b, pdl_blockinfo *info) {
    uint32_t *outs = pdl_arena_new_n(e->a, uint32_t, b->cases.n);
    pdl_emit_tree(e, b->value);
    pdl_emit_trace_field(e, "match");
    emit_AWAIT(e);
    for (uint32_t i = 0; i < b->cases.n; i++) {
        const pdl_case *c = &b->cases.p[i];
        uint32_t no_match = UINT32_MAX, no_guard = UINT32_MAX;
        pdl_emit_set_loc(e, c->loc);
        emit_SCOPE_SAVE(e);
        if (c->pattern) {
            emit_MATCH(e, c->pattern);
            pdl_emit_trace_case(e, "case", i + 1);
            no_match = emit_JUMP_FALSE(e, PDL_LATER);
        }
        if (c->cond) {
            pdl_emit_tree(e, c->cond);
            pdl_emit_trace_case(e, "if", i + 1);
            no_guard = emit_JUMP_FALSE(e, PDL_LATER);
        }
        emit_SCOPE_FORGET(e);
        emit_POP(e);
        pdl_emit_block(e, c->then,
                       (pdl_pos){.seg = PDL_SEG_NONE, .no_context = info->no_context, .index = i});
        emit_CHILD(e);
        outs[i] = emit_JUMP(e, PDL_LATER);
        if (no_match != UINT32_MAX) pdl_emit_patch(e, no_match);
        if (no_guard != UINT32_MAX) pdl_emit_patch(e, no_guard);
        emit_SCOPE_RESTORE(e);
    }
    emit_POP(e);
    pdl_emit_text(e, PDL_STR(""));
    for (uint32_t i = 0; i < b->cases.n; i++) pdl_emit_patch(e, outs[i]);
}

static const pdl_join default_join = {.kind = PDL_JOIN_TEXT};

/* Emits the names and lists of `for`, the bound, and the reducing function. FORS takes all but the
 * function from the stack. */
static void emit_loop_head(pdl_emit *e, const pdl_block *head, const pdl_fors *fors,
                           const pdl_text_field *index, const pdl_tree *max, const pdl_join *join) {
    pdl_fors_info *info = pdl_arena_new(e->a, pdl_fors_info);
    *info =
        (pdl_fors_info){.n = fors ? fors->n : 0, .has_for = fors != NULL, .has_max = max != NULL};
    if (index->s.p) info->index = pdl_emit_intern(e, index->s);
    for (uint32_t i = 0; i < info->n; i++) {
        pdl_emit_tree(e, fors->names[i]);
        pdl_emit_tree(e, fors->lists[i]);
        emit_FOR_LIST(e);
    }
    if (max) {
        pdl_emit_tree(e, max);
        pdl_emit_trace_field(e, "maxIterations");
    }
    pdl_emit_set_loc(e, fors ? fors->loc : pdl_field_loc(head, "maxIterations"));
    emit_FORS(e, info);
    if (join->kind == PDL_JOIN_REDUCE) {
        pdl_emit_set_loc(e, join->loc);
        pdl_emit_tree_at(e, join->reduce, head->loc);
        pdl_emit_trace_field(e, "reduce");
    }
}

static void emit_loop_start(pdl_emit *e, const pdl_join *join) {
    switch (join->kind) {
    case PDL_JOIN_TEXT: pdl_emit_text(e, PDL_STR("")); return;
    case PDL_JOIN_LASTOF: pdl_emit_const(e, pdl_null()); return;
    case PDL_JOIN_ARRAY:
    case PDL_JOIN_OBJECT:
    case PDL_JOIN_REDUCE: emit_LIST(e, 0); return;
    }
}

static void emit_loop_add(pdl_emit *e, const pdl_join *join) {
    switch (join->kind) {
    case PDL_JOIN_TEXT: emit_TEXT_ADD(e); return;
    case PDL_JOIN_LASTOF:
        emit_SWAP(e);
        emit_POP(e);
        return;
    case PDL_JOIN_ARRAY:
    case PDL_JOIN_OBJECT:
    case PDL_JOIN_REDUCE: emit_LIST_ADD(e); return;
    }
}

static void emit_loop_finish(pdl_emit *e, const pdl_join *join) {
    if (join->kind == PDL_JOIN_TEXT || join->kind == PDL_JOIN_LASTOF ||
        join->kind == PDL_JOIN_ARRAY)
        return;
    pdl_emit_set_loc(e, join->loc);
    if (join->kind == PDL_JOIN_REDUCE)
        pdl_emit_reduce(e);
    else
        emit_JOIN_LIST(e, join->kind, pdl_emit_add_const(e, pdl_text(join->with)));
}

/* Returns true when t names the background; with by_call, also when t calls a function, because the
 * function may read the background. The C stack is as deep as the YAML source. */
static bool sees_context(const pdl_tree *t, bool by_call) {
    if (t->kind == PDL_TREE_CONST) return false;
    if (t->kind == PDL_TREE_EXPR) {
        if (by_call && pdl_tree_expr(t)->has_call) return true;
        for (uint32_t i = 0; i < pdl_tree_expr(t)->n_free; i++)
            if (pdl_str_is(pdl_tree_expr(t)->free_names[i], "pdl_context") ||
                pdl_str_is(pdl_tree_expr(t)->free_names[i], "pdl_scope"))
                return true;
        return false;
    }
    for (uint32_t i = 0; i < t->n; i++)
        if (sees_context(t->items[i], by_call) ||
            (t->kind == PDL_TREE_MAP && sees_context(t->keys[i], by_call)))
            return true;
    return false;
}

static bool ignores_context_tree(const pdl_tree *t) { return !sees_context(t, true); }

static bool ignores_context(const pdl_block *b);

static bool all_ignore_context(const pdl_blocks *items) {
    for (uint32_t i = 0; i < items->n; i++)
        if (!ignores_context(items->p[i])) return false;
    return true;
}

/* Returns true when nothing in this field of b can see the background. */
static bool field_ignores_context(const pdl_block *b, const pdl_field *f) {
    const void *at = pdl_field_at(b, f);
    switch (pdl_field_forms[f->type].holds) {
    case PDL_HOLDS_CONSTANT: return true;
    case PDL_HOLDS_TREE: {
        const pdl_tree *t = *(const pdl_tree *const *)at;
        return !t || ignores_context_tree(t);
    }
    case PDL_HOLDS_BLOCK: {
        const pdl_block *part = *(const pdl_block *const *)at;
        return !part || ignores_context(part);
    }
    case PDL_HOLDS_BLOCKS: return all_ignore_context(at);
    case PDL_HOLDS_CASES:
    case PDL_HOLDS_EXPECTATIONS:
    case PDL_HOLDS_PARTS: break; /* parts may contain anything that reads the background */
    }
    return false;
}

/* Returns true for a plain block of values and expressions that cannot see the background. */
static bool ignores_context(const pdl_block *b) {
    if (b->rare != &pdl_block_no_rare || b->contribute.given) return false;
    if (!pdl_block_is_neutral(b->kind)) return false;
    size_t n;
    const pdl_field *f = pdl_fields_of(b->kind, &n);
    for (size_t i = 0; i < n; i++)
        if (!field_ignores_context(b, &f[i])) return false;
    return true;
}

/* Returns true when the iterations leave messages that no block can observe. The messages then need
 * not be kept, and the loop runs in constant memory. */
static bool messages_are_unobservable(const pdl_b_repeat *b, const pdl_blockinfo *info,
                                      const pdl_join *join) {
    if (!info->no_context || info->has_handler || join->kind == PDL_JOIN_REDUCE) return false;
    for (uint32_t i = 0; i < b->head.contribute.n; i++)
        if (b->head.contribute.p[i].value) return false;
    return (!b->while_ || ignores_context_tree(b->while_)) &&
           (!b->until || ignores_context_tree(b->until)) && ignores_context(b->body);
}

static bool is_const_truth(const pdl_tree *t, bool truth) {
    return t->kind == PDL_TREE_CONST && pdl_is_bool(t->value) && pdl_bool_of(t->value) == truth;
}

void pdl_emit_repeat(pdl_emit *e, const pdl_b_repeat *b, pdl_blockinfo *info) {
    const pdl_join *join = b->join ? b->join : &default_join;
    const pdl_tree *max = b->max ? b->max : b->num;
    uint32_t ends[2], n_ends = 0;
    emit_loop_head(e, &b->head, b->fors, &b->index, max, join);
    emit_loop_start(e, join);
    uint32_t again = pdl_emit_next_index(e);
    uint32_t next = emit_FOR_NEXT(e, PDL_LATER);
    if (b->while_ && !is_const_truth(b->while_, true)) {
        pdl_emit_tree(e, b->while_);
        ends[n_ends++] = emit_JUMP_FALSE(e, PDL_LATER);
    }
    if (join->kind == PDL_JOIN_TEXT && (join->with.n || !pdl_is_absent(info->role))) {
        uint32_t sep = pdl_emit_add_const(e, pdl_text(join->with));
        /* prints the separator and adds it to the text; does nothing before the first iteration */
        emit_FOR_SEP(e, sep);
    }
    emit_FOR_BIND(e);
    pdl_emit_block(
        e, b->body,
        (pdl_pos){.seg = PDL_SEG_ITER, .no_context = messages_are_unobservable(b, info, join)});
    /* In `until`, `pdl_context` has the messages of the iteration. A function that `until` calls
     * sees all messages, as it does anywhere else. */
    bool until_sees = b->until && sees_context(b->until, false);
    if (until_sees) emit_UNTIL_SAVE_CONTEXT(e);
    emit_CHILD(e);
    emit_loop_add(e, join);
    if (b->until && !is_const_truth(b->until, false)) {
        if (until_sees) emit_UNTIL_SET_CONTEXT(e);
        pdl_emit_tree(e, b->until);
        if (until_sees) emit_PART_END(e);
        ends[n_ends++] = emit_JUMP_TRUE(e, PDL_LATER);
    }
    emit_JUMP(e, again);
    pdl_emit_patch(e, next);
    while (n_ends-- > 0) pdl_emit_patch(e, ends[n_ends]);
    emit_FOR_END(e);
    emit_loop_finish(e, join);
}

void pdl_emit_map(pdl_emit *e, const pdl_b_map *b, pdl_blockinfo *info) {
    const pdl_join *join = b->join ? b->join : &default_join;
    emit_loop_head(e, &b->head, b->fors, &b->index, b->max, join);
    pdl_map_info *m = pdl_arena_new(e->a, pdl_map_info);
    m->block = b;
    m->info = info;
    uint32_t over = emit_JUMP(e, PDL_LATER);
    m->entry = pdl_emit_next_index(e);
    pdl_emit_block(e, b->body, (pdl_pos){.seg = PDL_SEG_ITER, .no_context = true});
    emit_RETURN(e);
    pdl_emit_patch(e, over);
    pdl_emit_set_loc(e, b->head.loc);
    emit_MAP(e, m);
    emit_FOR_END(e);
    if (join->kind == PDL_JOIN_ARRAY) return;
    pdl_emit_set_loc(e, join->loc);
    if (join->kind == PDL_JOIN_REDUCE)
        pdl_emit_reduce(e);
    else
        emit_JOIN_LIST(e, join->kind, pdl_emit_add_const(e, pdl_text(join->with)));
}
