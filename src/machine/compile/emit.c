/* emit.c -- appends instructions, constants and operands to a code; see emit.h. The source places
 * are in an array of the same length as the instructions: place i belongs to instruction i.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "compile/emit.h"

#include <assert.h>

#include "base/banned.h"

void pdl_emit_set_span(pdl_emit *e, const pdl_xnode *x) {
    assert(x->start <= x->end);
    e->start = x->start;
    e->end = x->end;
}

uint32_t pdl_emit_next_index(const pdl_emit *e) { return (uint32_t)e->code->ins.n; }

uint32_t pdl_emit_op(pdl_emit *e, pdl_opcode op, unsigned a, size_t c) {
    pdl_code *code = e->code;
    assert(op < PDL_OPCODE_COUNT && e->site < code->sites.n);
    assert(code->ins.n == code->where.n);
    if (code->ins.n >= UINT32_MAX || c > UINT32_MAX || a > UINT8_MAX) PDL_BUG("program too large");
    code->sees_context = code->sees_context || pdl_opcode_sees_context(op);
    *pdl_vec_push(&code->ins) = (pdl_ins){(uint8_t)op, (uint8_t)a, (uint32_t)c};
    *pdl_vec_push(&code->where) = (pdl_srcspan){e->site, e->start, e->end};
    return (uint32_t)code->ins.n - 1;
}

void pdl_emit_patch_to(pdl_emit *e, uint32_t at, uint32_t target) {
    assert(at < e->code->ins.n && target <= e->code->ins.n);
    e->code->ins.p[at].c = target;
}

void pdl_emit_patch(pdl_emit *e, uint32_t at) { pdl_emit_patch_to(e, at, pdl_emit_next_index(e)); }

uint32_t pdl_emit_add_const(pdl_emit *e, pdl_val v) {
    assert(e->code->consts.n < UINT32_MAX);
    *pdl_vec_push(&e->code->consts) = v;
    return (uint32_t)e->code->consts.n - 1;
}

uint32_t pdl_emit_add_ptr(pdl_emit *e, const void *p, pdl_ptr_type type) {
    assert(e->code->operands.n == e->code->operand_types.n);
    *pdl_vec_push(&e->code->operand_types) = (uint8_t)type;
    *pdl_vec_push(&e->code->operands) = p;
    return (uint32_t)e->code->operands.n - 1;
}

void pdl_emit_const(pdl_emit *e, pdl_val v) { emit_CONST(e, pdl_emit_add_const(e, v)); }
void pdl_emit_text(pdl_emit *e, pdl_str s) { pdl_emit_const(e, pdl_text(s)); }

void pdl_emit_attr(pdl_emit *e, pdl_str name) {
    emit_ATTR(e, pdl_is_dict_method(name), pdl_emit_add_const(e, pdl_text(name)));
}

pdl_name pdl_emit_intern(pdl_emit *e, pdl_str s) { return pdl_intern(e->code->names, s); }

/* Returns a copy of the segment that lives longer than the code, because contexts and traces keep
 * the ids that contain it. */
const char *pdl_emit_segment(pdl_emit *e, pdl_str s) {
    return pdl_name_str(e->code->names, pdl_intern(e->code->names, s)).p;
}

emit_place pdl_emit_at_site(pdl_emit *e, const pdl_expr *expr, const pdl_node *node, pdl_loc loc) {
    emit_place old = {e->site, e->start, e->end};
    size_t n = e->code->sites.n;
    const pdl_srcsite *last = n ? &e->code->sites.p[n - 1] : NULL;
    bool same = last && last->expr == expr && last->node == node && last->loc.src == loc.src &&
                last->loc.start == loc.start && last->loc.end == loc.end;
    if (!same) *pdl_vec_push(&e->code->sites) = (pdl_srcsite){expr, node, loc};
    e->site = (uint32_t)e->code->sites.n - 1;
    e->start = e->end = 0;
    return old;
}

void pdl_emit_at_place(pdl_emit *e, emit_place p) {
    assert(p.site <= e->code->sites.n && p.start <= p.end);
    e->site = p.site;
    e->start = p.start;
    e->end = p.end;
}
