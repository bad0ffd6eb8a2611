/* code.c -- holds and lists bytecode; see code.h. A reference count shares the code among runs. The
 * listing prints every operand by the columns of ops.def, so a new instruction appears in it
 * without further code.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "compile/code.h"

#include "base/buf.h"
#include "value/text.h"

#include "base/banned.h"

typedef enum { A_NONE, A_FLAG, A_ENUM } kind_a;
typedef enum { C_NONE, C_NAME, C_CONST, C_TARGET, C_COUNT, C_SLOT, C_PTR } kind_c;

#define KIND_FLAG(what)        A_FLAG, #what
#define KIND_ENUM(type)        A_ENUM, #type
#define KIND_PTR(type)         C_PTR, #type
#define KIND_PTR_OR_NULL(type) C_PTR, #type
#define KIND_NAME              C_NAME, ""
#define KIND_CONST             C_CONST, ""
#define KIND_TARGET            C_TARGET, ""
#define KIND_ENTRY             C_TARGET, ""
#define KIND_COUNT             C_COUNT, ""
#define KIND_SLOT              C_SLOT, ""
#define KIND_NONE              0, ""
#define SEES_VALUES            false
#define SEES_CONTEXT           true

static const struct {
    const char *name;
    bool sees_context;
    kind_a a;
    const char *a_name; /* name of the flag or enumeration */
    kind_c c;
    const char *emit_name; /* name of the type that is pointed to */
} ops[] = {
#define OP(name, pops, pushes, flow, sees, a, c, doc) {#name, SEES_##sees, KIND_##a, KIND_##c},
#include "compile/ops.def"
};

const char *pdl_opcode_name(pdl_opcode op) { return ops[op].name; }

bool pdl_opcode_sees_context(pdl_opcode op) { return ops[op].sees_context; }

void pdl_code_relabel(pdl_code *c, pdl_label label) {
    c->label |= label;
    for (size_t i = 0; i < c->consts.n; i++) c->consts.p[i] = pdl_with_label(c->consts.p[i], label);
}

pdl_code *pdl_code_keep(pdl_code *c) {
    if (c) c->refs++;
    return c;
}

void pdl_code_drop(pdl_code *c) {
    if (!c || --c->refs) return;
    for (size_t i = 0; i < c->consts.n; i++) pdl_drop(c->consts.p[i]);
    pdl_vec_fini(&c->consts);
    pdl_drop(c->signatures);
    pdl_drop(c->sandbox);
    pdl_vec_fini(&c->ins);
    pdl_vec_fini(&c->where);
    pdl_vec_fini(&c->sites);
    pdl_vec_fini(&c->operands);
    pdl_vec_fini(&c->operand_types);
    pdl_vec_fini(&c->functions);
    pdl_interner_drop(c->names);
    pdl_program_drop(c->program);
    pdl_arena_free(c->arena);
    pdl_free(c);
}

/* Prints the part of an operand's object that identifies the object best. */
static void dump_ptr(const pdl_code *c, uint32_t i, pdl_buf *out) {
    const void *p = c->operands.p[i];
    if (!p) return;
    if (c->operand_types.p[i] == PDL_PTR_pdl_blockinfo)
        pdl_buf_putf(out, " %s", ((const pdl_blockinfo *)p)->kind);
    if (c->operand_types.p[i] == PDL_PTR_pdl_callsig)
        pdl_buf_putf(out, " %.*s", PDL_FMT(((const pdl_callsig *)p)->name));
    if (c->operand_types.p[i] == PDL_PTR_pdl_macro_info)
        pdl_buf_putf(out, " %.*s", PDL_FMT(((const pdl_macro_info *)p)->name));
    if (c->operand_types.p[i] == PDL_PTR_pdl_func_info)
        pdl_buf_putf(out, " %.*s", PDL_FMT(((const pdl_func_info *)p)->name_text));
}

static void dump_operands(const pdl_code *c, const pdl_ins *i, pdl_buf *out) {
    switch (ops[i->op].c) {
    case C_NONE: break;
    case C_NAME: pdl_buf_putf(out, " %.*s", PDL_FMT(pdl_name_str(c->names, i->c))); break;
    case C_CONST:
        pdl_buf_putc(out, ' ');
        pdl_val_show(c->consts.p[i->c], true, 60, out);
        break;
    case C_TARGET: pdl_buf_putf(out, " -> %u", i->c); break;
    case C_COUNT:
    case C_SLOT: pdl_buf_putf(out, " %u", i->c); break;
    case C_PTR:
        pdl_buf_putf(out, " %s", ops[i->op].emit_name);
        dump_ptr(c, i->c, out);
        break;
    }
    if (ops[i->op].a == A_FLAG && i->a) pdl_buf_putf(out, " %s", ops[i->op].a_name);
    if (ops[i->op].a == A_ENUM) pdl_buf_putf(out, " %s %u", ops[i->op].a_name, i->a);
}

void pdl_code_dump_at(const pdl_code *c, size_t pc, pdl_buf *out) {
    const pdl_ins *ins = &c->ins.p[pc];
    uint32_t line = pdl_loc_line(c->sites.p[c->where.p[pc].site].loc);
    pdl_buf_putf(out, "%5zu  %4u  %-16s", pc, line, ops[ins->op].name);
    dump_operands(c, ins, out);
}

void pdl_code_dump(const pdl_code *c, pdl_buf *out) {
    for (size_t i = 0; i < c->ins.n; i++) {
        pdl_code_dump_at(c, i, out);
        pdl_buf_putc(out, '\n');
    }
}
