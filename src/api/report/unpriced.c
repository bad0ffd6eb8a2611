/* unpriced.c -- finds the models of a program that have no price, on all branches and in the
 * modules that it uses; see api/bound.h.
 *
 * A name or a price that only a run shows is not reported, so a model in the list has certainly no
 * price.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/report/bound_impl.h"

#include "lang/walk.h"
#include "value/member.h"

#include "base/banned.h"

typedef struct pricing {
    const pdl_prices *prices;
    pdl_idmap seen;    /* programs that were walked; each is walked once */
    bound_names names; /* names of the program that is being walked */
    pdl_val list;
} pricing;

/* Returns true when the parameters may have prices that the text does not show. */
static bool may_have_prices(const pdl_tree *t) {
    if (!t || t->kind == PDL_TREE_CONST) return false;
    for (uint32_t i = 0; t->kind == PDL_TREE_MAP && i < t->n; i++) {
        pdl_vref key = t->keys[i]->kind == PDL_TREE_CONST ? t->keys[i]->value : pdl_absent();
        if (!pdl_is_str(key) || pdl_str_is(pdl_str_get(key), "input_cost_per_token")) return true;
    }
    return t->kind != PDL_TREE_MAP;
}

static void add(pricing *w, pdl_vref name, pdl_loc loc) {
    for (size_t i = 0; i < pdl_list_len(w->list); i++)
        if (pdl_str_eq(pdl_member_str(pdl_list_at(w->list, i), "model"), pdl_str_get(name))) return;
    pdl_val d = pdl_dict_putz(pdl_dict_new(3), "model", pdl_keep(name));
    d = pdl_dict_putz(d, "file", loc.src ? pdl_text(loc.src->name) : pdl_null());
    d = pdl_dict_putz(d, "line", loc.src ? pdl_int(pdl_loc_line(loc)) : pdl_null());
    w->list = pdl_list_push(w->list, d);
}

static void look(void *user, const pdl_block *b) {
    pricing *w = user;
    pdl_block_each_child(b, look, w);
    if (b->kind != PDL_BLOCK_model) return;
    const pdl_b_model *m = PDL_AS(model, b);
    pdl_vref name = m->model ? pdl_bound_value(&w->names, m->model) : pdl_absent();
    bool is_const = m->parameters && m->parameters->kind == PDL_TREE_CONST;
    pdl_vref parameters = is_const ? m->parameters->value : pdl_absent();
    pdl_price ignored;
    if (pdl_is_str(name) && !may_have_prices(m->parameters) &&
        !pdl_price_find(w->prices, pdl_str_get(name), parameters, &ignored))
        add(w, name, b->loc);
}

static void walk(pricing *w, const pdl_program *p, pdl_vref variables) {
    if (!p->main || pdl_idmap_find(&w->seen, (uintptr_t)p)) return;
    pdl_idmap_put(&w->seen, (uintptr_t)p, w);
    pdl_bound_collect(&w->names, p, variables);
    /* the defaults of a program may have prices, too */
    if (!pdl_bound_find(&w->names, PDL_STR("pdl_model_default_parameters"))) look(w, p->main);
    pdl_bound_names_fini(&w->names);
    for (size_t i = 0; i < p->uses.n; i++) walk(w, p->uses.p[i].program, pdl_absent());
}

pdl_val pdl_program_unpriced(const pdl_program *p, const pdl_bound_options *o) {
    pricing w = {.prices = o->prices, .list = pdl_list_new(2)};
    walk(&w, p, o->variables);
    pdl_idmap_fini(&w.seen);
    return w.list;
}
