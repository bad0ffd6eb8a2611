/* compile.c -- compiles programs, functions and expressions by calling the emitters; see compile.h.
 * Bodies of functions are emitted after the code that exists already, so that a body can be
 * compiled when it is first called.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "compile/compile.h"

#include "compile/emit.h"

#include "base/banned.h"

static pdl_emit begin(pdl_interner *names, pdl_program *p) {
    pdl_code *c = PDL_NEW(pdl_code);
    c->refs = 1;
    c->program = p ? pdl_program_keep(p) : NULL;
    c->arena = pdl_arena_make();
    c->names = pdl_interner_keep(names);
    pdl_emit e = {.code = c, .a = c->arena};
    pdl_emit_at_site(&e, NULL, NULL, (pdl_loc){0});
    return e;
}

static pdl_code *end(pdl_emit *e) {
    pdl_vec_fini(&e->spine);
    pdl_vec_fini(&e->locals);
#ifndef NDEBUG
    pdl_err err = {0};
    if (!pdl_code_verify(e->code, &err)) PDL_BUG("%s", err.msg);
#endif
    return e->code;
}

pdl_code *pdl_compile_module(pdl_program *p, pdl_interner *names, bool trace) {
    pdl_emit e = begin(names, p);
    e.trace = e.code->traced = trace;
    pdl_emit_block(&e, p->main, (pdl_pos){.seg = PDL_SEG_NONE});
    emit_RETURN(&e);
    return end(&e);
}

pdl_code *pdl_compile_program(pdl_program *p, pdl_interner *names, bool trace) {
    pdl_code *c = pdl_compile_module(p, names, trace);
    pdl_compile_functions(c);
    return c;
}

/* Adds the body of a function. When the code was made from a computed text, the constants of the
 * body get the label of the text, too. */
static void add_body(pdl_emit *e, pdl_func_info *info) {
    pdl_code *c = e->code;
    size_t n = c->consts.n;
    pdl_emit_function_body(e, info);
    for (size_t i = n; c->label && i < c->consts.n; i++)
        c->consts.p[i] = pdl_with_label(c->consts.p[i], c->label);
}

uint32_t pdl_compile_function(pdl_code *c, const pdl_func_info *info) {
    if (info->entry) return info->entry;
    pdl_emit e = {.code = c, .a = c->arena, .trace = c->traced};
    add_body(&e, (pdl_func_info *)(uintptr_t)info); /* info is in the arena of c */
    end(&e);
    return info->entry;
}

void pdl_compile_functions(pdl_code *c) {
    pdl_emit e = {.code = c, .a = c->arena, .trace = c->traced};
    /* the body of a function may define functions, which make this list longer */
    for (size_t i = 0; i < c->functions.n; i++)
        if (!c->functions.p[i]->entry) add_body(&e, c->functions.p[i]);
    end(&e);
}

pdl_code *pdl_compile_expr(const pdl_expr *x, bool jinja, const pdl_node *node, pdl_loc loc,
                           pdl_interner *names) {
    pdl_emit e = begin(names, NULL);
    e.code->jinja = jinja;
    if (jinja) {
        pdl_emit_template(&e, x, node, loc);
    } else {
        pdl_emit_expr(&e, x, node, loc);
        emit_RETURN(&e);
    }
    return end(&e);
}

pdl_code *pdl_compile_tree(const pdl_tree *t, pdl_interner *names) {
    pdl_emit e = begin(names, NULL);
    pdl_emit_tree(&e, t);
    emit_RETURN(&e);
    return end(&e);
}
