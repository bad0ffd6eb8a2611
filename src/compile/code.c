/* code.c -- see code.h. */
#include "compile/code.h"

#include "base/buf.h"
#include "value/text.h"

#include "base/banned.h"

static const struct {
    const char *name;
    int effect;
    const char *doc;
} ops[] = {
#define OP(name, effect, doc) {#name, effect, doc},
#include "compile/ops.def"
};

const char *pdl_opcode_name(pdl_opcode op) { return ops[op].name; }

pdl_code *pdl_code_keep(pdl_code *c) {
    if (c) c->refs++;
    return c;
}

void pdl_code_drop(pdl_code *c) {
    if (!c || --c->refs) return;
    for (size_t i = 0; i < c->consts.n; i++) pdl_drop(c->consts.p[i]);
    pdl_vec_fini(&c->consts);
    pdl_drop(c->signatures);
    pdl_vec_fini(&c->ins);
    pdl_vec_fini(&c->where);
    pdl_vec_fini(&c->sites);
    pdl_vec_fini(&c->ptrs);
    pdl_program_drop(c->program);
    pdl_arena_free(c->arena);
    pdl_free(c);
}

static void dump_operand(const pdl_code *c, const pdl_ins *i, pdl_buf *out) {
    switch (i->op) {
    case PDL_OP_CONST: case PDL_OP_OUT_TEXT: case PDL_OP_ATTR: case PDL_OP_UNDEFINED:
        PDL_PUT(out, "  ");
        pdl_val_show(c->consts.p[i->c], true, 60, out);
        break;
    case PDL_OP_NAME: case PDL_OP_BIND: case PDL_OP_BIND_KEEP: case PDL_OP_CARRY:
        pdl_buf_putf(out, "  %.*s", PDL_FMT(pdl_name_str(c->names, i->c)));
        break;
    case PDL_OP_ENTER: {
        const pdl_info *info = c->ptrs.p[i->c];
        pdl_buf_putf(out, "  %s", info->kind);
        break;
    }
    case PDL_OP_FILTER: case PDL_OP_OUT_FILTER: case PDL_OP_TEST: case PDL_OP_METHOD: {
        const pdl_shape *s = c->ptrs.p[i->c];
        pdl_buf_putf(out, "  %.*s", PDL_FMT(s->name));
        break;
    }
    default: break;
    }
}

void pdl_code_dump_at(const pdl_code *c, size_t pc, pdl_buf *out) {
    const pdl_ins *ins = &c->ins.p[pc];
    uint32_t line = pdl_loc_line(c->sites.p[c->where.p[pc].site].loc);
    pdl_buf_putf(out, "%5zu  %4u  %-16s", pc, line, ops[ins->op].name);
    if (ins->a || ins->b) pdl_buf_putf(out, " a=%u b=%u", ins->a, ins->b);
    pdl_buf_putf(out, " %d", (int)ins->c);
    dump_operand(c, ins, out);
}

void pdl_code_dump(const pdl_code *c, pdl_buf *out) {
    for (size_t i = 0; i < c->ins.n; i++) {
        pdl_code_dump_at(c, i, out);
        pdl_buf_putc(out, '\n');
    }
}
