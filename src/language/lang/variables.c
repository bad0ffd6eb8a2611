/* variables.c -- finds the variables that a block sets; see variables.h.
 *
 * All ways to set a variable are in one walk, so that no check forgets one of them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lang/variables.h"

#include "base/banned.h"

typedef struct variable_walk {
    void (*fn)(void *user, const pdl_variable *v);
    void *user;
} variable_walk;

static void report(const variable_walk *w, pdl_variable v) {
    if (v.name.n) w->fn(w->user, &v);
}

static void report_fors(const variable_walk *w, const pdl_fors *fors, pdl_str index) {
    for (uint32_t i = 0; fors && i < fors->n; i++) {
        const pdl_tree *t = fors->names[i];
        if (t && t->kind == PDL_TREE_CONST && pdl_is_str(t->value))
            report(w, (pdl_variable){.by = PDL_SETS_ITEM, .name = pdl_str_get(t->value)});
    }
    report(w, (pdl_variable){.by = PDL_SETS_INDEX, .name = index});
}

static void report_parameters(const variable_walk *w, const pdl_params *params) {
    for (uint32_t i = 0; i < params->n; i++)
        report(w, (pdl_variable){.by = PDL_SETS_PARAMETER,
                                 .name = params->names[i],
                                 .type = params->types[i]});
}

static void report_pattern(const variable_walk *w, const pdl_pattern *p) {
    report(w, (pdl_variable){.by = PDL_SETS_CASE, .name = p->def});
    for (uint32_t i = 0; i < p->n; i++) report_pattern(w, p->items[i]);
}

static void report_cases(const variable_walk *w, const pdl_cases *cases) {
    for (uint32_t i = 0; i < cases->n; i++)
        if (cases->p[i].pattern) report_pattern(w, cases->p[i].pattern);
}

void pdl_block_each_variable(const pdl_block *b, void (*fn)(void *user, const pdl_variable *v),
                             void *user) {
    const variable_walk w = {fn, user};
    const pdl_blocks *defs = &b->rare->defs;
    report(&w, (pdl_variable){.by = PDL_SETS_DEF, .name = b->def.s, .value = b});
    for (uint32_t i = 0; defs->names && i < defs->n; i++)
        report(&w,
               (pdl_variable){.by = PDL_SETS_DEFS, .name = defs->names[i], .value = defs->p[i]});
    if (b->kind == PDL_BLOCK_repeat)
        report_fors(&w, PDL_AS(repeat, b)->fors, PDL_AS(repeat, b)->index.s);
    if (b->kind == PDL_BLOCK_map) report_fors(&w, PDL_AS(map, b)->fors, PDL_AS(map, b)->index.s);
    if (b->kind == PDL_BLOCK_model)
        report(&w, (pdl_variable){.by = PDL_SETS_RESPONSE, .name = PDL_AS(model, b)->response.s});
    if (b->kind == PDL_BLOCK_function) report_parameters(&w, &PDL_AS(function, b)->params);
    if (b->kind == PDL_BLOCK_match) report_cases(&w, &PDL_AS(match, b)->cases);
}
