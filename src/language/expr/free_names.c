/* free_names.c -- see read.h. Finds which names of a text are defined outside of it.
 *
 * Reading is one pass in the order of the text. A name counts as set from its assignment to the end
 * of the scope; a name set in a branch of `if` counts up to the end of the branch only. Inside of a
 * template's `block` statement, names from outside are visible only when they are set at top level.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/vec.h"
#include "base/word.h"

#include <assert.h>

#include "expr/read.h"

#include "base/banned.h"

void pdl_names_init(pdl_names *ns, pdl_arena *a) {
    ns->arena = a;
    ns->n = ns->depth = ns->n_free = 0;
    ns->block = ns->n_blocks = 1;
    ns->n_sets = 0;
    ns->many = (pdl_map){0};
    ns->undo.p = NULL;
    ns->undo.n = ns->undo.cap = 0;
    ns->first_free = NULL;
    ns->last_free = &ns->first_free;
    ns->macro = NULL;
}

void pdl_names_fini(pdl_names *ns) {
    pdl_map_fini(&ns->many);
    pdl_vec_fini(&ns->undo);
}

static pdl_symbol *symbol_of(pdl_names *ns, pdl_str name) {
    if (ns->n > PDL_FEW_SYMBOLS) {
        pdl_symbol *s = pdl_map_find(&ns->many, name);
        if (s) return s;
    } else {
        for (uint32_t i = 0; i < ns->n; i++)
            if (ns->few[i].name.n == name.n && pdl_bytes_eq(ns->few[i].name.p, name.p, name.n))
                return &ns->few[i];
    }
    bool few = ns->n < PDL_FEW_SYMBOLS;
    pdl_symbol *s = few ? &ns->few[ns->n] : pdl_arena_new(ns->arena, pdl_symbol);
    *s = (pdl_symbol){.name = name};
    for (uint32_t i = 0; ns->n == PDL_FEW_SYMBOLS && i < ns->n; i++)
        pdl_map_put(&ns->many, ns->few[i].name, &ns->few[i]);
    if (!few) pdl_map_put(&ns->many, name, s);
    ns->n++;
    return s;
}

static unsigned special_of(pdl_str name) {
    if (pdl_str_is(name, "caller")) return PDL_USES_CALLER;
    if (pdl_str_is(name, "varargs")) return PDL_USES_VARARGS;
    return pdl_str_is(name, "kwargs") ? PDL_USES_KWARGS : 0;
}

void pdl_names_read(pdl_names *ns, pdl_str name) {
    if (ns->macro) {
        unsigned bit = special_of(name);
        for (pdl_macro_use *m = bit ? ns->macro : NULL; m; m = m->outer)
            if (!(m->stops & bit)) m->reads |= bit;
    }
    pdl_symbol *s = symbol_of(ns, name);
    if (s->is_free || s->set_at_top || s->set_in == ns->block) return;
    s->is_free = true;
    *ns->last_free = s;
    ns->last_free = &s->next_free;
    ns->n_free++;
}

void pdl_names_set(pdl_names *ns, pdl_str name) {
    if (ns->macro) {
        unsigned bit = special_of(name);
        for (pdl_macro_use *m = bit ? ns->macro : NULL; m; m = m->outer)
            if (!(m->reads & bit)) m->stops |= bit;
    }
    ns->n_sets++;
    pdl_symbol *s = symbol_of(ns, name);
    if (!ns->depth) s->set_at_top = true;
    if (s->set_in == ns->block) return;
    if (ns->depth) *pdl_vec_push(&ns->undo) = (pdl_undo){s, s->set_in};
    s->set_in = ns->block;
}

size_t pdl_names_open(pdl_names *ns) {
    ns->depth++;
    return ns->undo.n;
}

void pdl_names_close(pdl_names *ns, size_t mark) {
    assert(ns->depth > 0 && mark <= ns->undo.n);
    while (ns->undo.n > mark) {
        pdl_undo *u = &ns->undo.p[--ns->undo.n];
        u->symbol->set_in = u->set_in;
    }
    ns->depth--;
}

uint32_t pdl_names_enter_block(pdl_names *ns) {
    uint32_t outer = ns->block;
    ns->block = ++ns->n_blocks;
    return outer;
}

void pdl_names_leave_block(pdl_names *ns, uint32_t outer) {
    assert(outer <= ns->n_blocks);
    ns->block = outer;
}

pdl_str *pdl_names_free(pdl_names *ns, uint32_t *n) {
    *n = ns->n_free;
    if (!ns->n_free) return NULL;
    pdl_str *p = pdl_arena_new_n(ns->arena, pdl_str, ns->n_free), *to = p;
    for (pdl_symbol *s = ns->first_free; s; s = s->next_free) *to++ = s->name;
    assert((uint32_t)(to - p) == ns->n_free);
    return p;
}
