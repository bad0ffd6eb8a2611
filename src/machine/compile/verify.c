/* verify.c -- checks that instructions agree with ops.def: every path to an instruction arrives
 * with the same height of the value stack, and operands have the kinds that their row of the table
 * names. The check begins at each entry: at the start of the code, and at the routines that
 * operands point to.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "compile/code.h"

#include "base/err.h"

#include "base/banned.h"

/* The effect of an instruction on the height of the stack, and where control continues. */
typedef struct step {
    size_t pops, pushes;
    bool falls_through, jumps;
    size_t at_target; /* number of values that a jump pushes in place of the popped values */
} step;

typedef struct verifier {
    const pdl_code *code;
    pdl_err *err;
    int32_t *heights; /* indexed by instruction; -1: not reached yet */
    PDL_VEC(uint32_t) open;
} verifier;

static const void *ptr_of(const pdl_code *code, const pdl_ins *i) { return code->operands.p[i->c]; }

static size_t arguments(const pdl_callsig *s) {
    return (size_t)s->n_pos + s->n_kw + s->star + s->starstar;
}
static size_t lists(const pdl_fors_info *info) { return 2 * (size_t)info->n + info->has_max; }

#define SHAPE     ((const pdl_callsig *)ptr_of(code, i))
#define N         ((size_t)i->c)
#define FLAG      ((size_t)i->a)
#define ARGS      arguments(SHAPE)
#define KEYS      ((size_t)SHAPE->n_keys)
#define ROOT      (size_t)(SHAPE->root != 0)
#define LISTS     lists(ptr_of(code, i))
#define ON        true, false, 0
#define ENDS      false, false, 0
#define GOTO      false, true, 0
#define BRANCH(n) true, true, n

/* This function is a flat switch with a row for each case. */
static step step_of(const pdl_code *code, const pdl_ins *i) {
    switch ((pdl_opcode)i->op) {
/* Without this the formatter would put the include into the macro. */
/* clang-format off */
#define OP(name, pops, pushes, flow, sees, a, c, doc) \
    case PDL_OP_##name: return (step){pops, pushes, flow};
#include "compile/ops.def"
        /* clang-format on */
    case PDL_OPCODE_COUNT: break;
    }
    PDL_BUG("opcode %u", i->op);
}

#undef N
#undef FLAG

static bool is_ptr(const verifier *v, uint32_t c, pdl_ptr_type type, bool null_ok) {
    return c < v->code->operands.n && v->code->operand_types.p[c] == type &&
           (null_ok || v->code->operands.p[c]);
}

#define IS_NONE(x)             ((x) == 0)
#define OK_A_NONE              IS_NONE(i->a)
#define OK_A_FLAG(what)        (i->a <= 1)
#define OK_A_ENUM(type)        true
#define OK_C_NONE              IS_NONE(i->c)
#define OK_C_NAME              (i->c != 0)
#define OK_C_CONST             (i->c < v->code->consts.n)
#define OK_C_TARGET            (i->c < v->code->ins.n)
#define OK_C_ENTRY             (i->c < v->code->ins.n)
#define OK_C_COUNT             true
#define OK_C_SLOT              true
#define OK_C_PTR(type)         is_ptr(v, i->c, PDL_PTR_##type, false)
#define OK_C_PTR_OR_NULL(type) is_ptr(v, i->c, PDL_PTR_##type, true)

/* This function is a flat switch with a row for each case. */
static bool has_its_operands(const verifier *v, const pdl_ins *i) {
    switch (i->op) {
/* Without this the formatter would put the include into the macro. */
/* clang-format off */
#define OP(name, pops, pushes, flow, sees, a, c, doc) \
    case PDL_OP_##name: return OK_A_##a && OK_C_##c;
#include "compile/ops.def"
        /* clang-format on */
    default: return false;
    }
}

static bool wrong(const verifier *v, uint32_t at, const char *what, size_t a, size_t b) {
    return pdl_err_set(v->err, PDL_E_runtime, (pdl_loc){0}, "instruction %u, %s: %s (%zu, %zu)", at,
                       v->code->ins.p[at].op < PDL_OPCODE_COUNT
                           ? pdl_opcode_name((pdl_opcode)v->code->ins.p[at].op)
                           : "?",
                       what, a, b);
}

/* Records that an instruction is reached with this height. Fails when the instruction was reached
 * with another height before. */
static bool reach(verifier *v, uint32_t from, size_t at, size_t height) {
    if (at >= v->code->ins.n) return wrong(v, from, "leads past the end", at, v->code->ins.n);
    if (v->heights[at] < 0) {
        v->heights[at] = (int32_t)height;
        *pdl_vec_push(&v->open) = (uint32_t)at;
        return true;
    }
    return (size_t)v->heights[at] == height ||
           wrong(v, (uint32_t)at, "is reached with two heights", (size_t)v->heights[at], height);
}

static bool reach_routine(verifier *v, uint32_t at, const pdl_ins *i) {
    if (i->op == PDL_OP_MACRO)
        return reach(v, at, ((const pdl_macro_info *)ptr_of(v->code, i))->entry, 0);
    if (i->op == PDL_OP_MAP)
        return reach(v, at, ((const pdl_map_info *)ptr_of(v->code, i))->entry, 0);
    /* the items are on the stack when the routine begins */
    if (i->op == PDL_OP_LOOP_RECURSIVE) return reach(v, at, i->c, 1);
    if (i->op != PDL_OP_FUNC) return true;
    uint32_t entry = ((const pdl_func_info *)ptr_of(v->code, i))->entry;
    return !entry || reach(v, at, entry, 0);
}

static bool verify_at(verifier *v, uint32_t at) {
    const pdl_ins *i = &v->code->ins.p[at];
    if (!has_its_operands(v, i)) return wrong(v, at, "an operand is not of its kind", i->a, i->c);
    step s = step_of(v->code, i);
    size_t height = (size_t)v->heights[at];
    if (height < s.pops)
        return wrong(v, at, "there is less on the stack than it takes", height, s.pops);
    if (i->op == PDL_OP_RETURN && height != 1)
        return wrong(v, at, "more than the result is on the stack", height, 1);
    size_t below = height - s.pops;
    return reach_routine(v, at, i) &&
           (!s.falls_through || reach(v, at, (size_t)at + 1, below + s.pushes)) &&
           (!s.jumps || reach(v, at, i->c, below + s.at_target));
}

size_t pdl_code_operands_at(const pdl_code *c, size_t pc) { return step_of(c, &c->ins.p[pc]).pops; }

bool pdl_code_verify(const pdl_code *c, pdl_err *err) {
    verifier v = {.code = c, .err = err, .heights = PDL_NEW_N(int32_t, c->ins.n)};
    for (size_t i = 0; i < c->ins.n; i++) v.heights[i] = -1;
    bool ok = reach(&v, 0, 0, 0);
    while (ok && v.open.n) ok = verify_at(&v, v.open.p[--v.open.n]);
    pdl_vec_fini(&v.open);
    pdl_free(v.heights);
    return ok;
}
