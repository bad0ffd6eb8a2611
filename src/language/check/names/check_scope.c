/* check_scope.c -- see check_scope.h.
 *
 * Each expression looks up its names, so finding one is the most frequent operation in a check. A
 * scope has some dozens of names, for which hashing all bytes and growing a table take longer than
 * everything else. So names are in chains, chosen by their length and three of their bytes. A
 * hostile program may choose names that are all in one chain. So once a chain has a ninth name, all
 * names are in a map as well. A search that passes the eighth name of a chain continues in the map.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "check/names/check_scope.h"

#include <assert.h>

#include "base/word.h"

#include "base/banned.h"

enum {
    LONGEST_CHAIN = 8,
    EXPECTED_NAMES = 64,
    /* up to this number, names of branches are searched one by one; more get a map */
    FEW_NAMES = 16
};

void pdl_scope_state_fini(pdl_scope_state *s) {
    assert(pdl_scope_state_ok(s));
    pdl_vec_fini(&s->names);
    pdl_map_fini(&s->many);
    pdl_vec_fini(&s->log);
}

static inline size_t chain_of(pdl_str name) {
    const unsigned char *u = (const unsigned char *)name.p;
    if (!name.n) return 0;
    return (u[0] * 31u + u[name.n - 1] * 7u + u[name.n / 2] * 3u + name.n) % PDL_SCOPE_CHAINS;
}

bool pdl_scope_state_ok(const pdl_scope_state *s) {
    size_t found = 0;
    for (size_t c = 0; c < PDL_SCOPE_CHAINS; c++)
        for (uint32_t k = s->chains[c], next; k; k = next, found++) {
            if (k > s->names.n || chain_of(s->names.p[k - 1].name) != c) return false;
            next = s->names.p[k - 1].next;
            if (next >= k) return false;
        }
    for (size_t i = 0; i < s->log.n; i++)
        if (s->log.p[i].at >= s->names.n) return false;
    return found == s->names.n && (!s->many.n || s->many.n == found);
}

/* Returns 1 + index of the name in names, or 0. Searches the chain from entry k. */
PDL_APART static uint32_t find_along(const pdl_scope_state *s, pdl_str name, uint32_t k) {
    for (unsigned steps = 0; k; k = s->names.p[k - 1].next) {
        pdl_str other = s->names.p[k - 1].name;
        if (other.n == name.n && pdl_bytes_eq(other.p, name.p, name.n)) return k;
        if (++steps == LONGEST_CHAIN) return (uint32_t)(uintptr_t)pdl_map_find(&s->many, name);
    }
    return 0;
}

/* Finds a name, which is usually the newest of its chain. */
static inline uint32_t find_name(const pdl_scope_state *s, pdl_str name, size_t chain) {
    uint32_t k = s->chains[chain];
    if (!k) return 0;
    pdl_str first = s->names.p[k - 1].name;
    if (first.n == name.n && name.n <= 16 && pdl_bytes_eq(first.p, name.p, name.n)) return k;
    return find_along(s, name, k);
}

static bool is_full(const pdl_scope_state *s, size_t chain) {
    unsigned steps = 0;
    for (uint32_t k = s->chains[chain]; k && steps < LONGEST_CHAIN; k = s->names.p[k - 1].next)
        steps++;
    return steps == LONGEST_CHAIN;
}

static uint32_t add_name(pdl_scope_state *s, pdl_str name, size_t chain) {
    if (!s->names.n) {
        pdl_vec_expect(&s->names, EXPECTED_NAMES);
        pdl_vec_expect(&s->log, EXPECTED_NAMES);
    }
    size_t first = s->many.n; /* index of the first name that the map does not have */
    bool map = first || is_full(s, chain);
    *pdl_vec_push(&s->names) = (pdl_scope_name){name, NULL, s->chains[chain]};
    s->chains[chain] = (uint32_t)s->names.n;
    for (size_t i = first; map && i < s->names.n; i++)
        pdl_map_put(&s->many, s->names.p[i].name, (void *)(uintptr_t)(i + 1));
    return (uint32_t)s->names.n;
}

pdl_binding *pdl_scope_binding(const pdl_scope_state *s, pdl_str name) {
    uint32_t k = find_name(s, name, chain_of(name));
    return k ? s->names.p[k - 1].now : NULL;
}

pdl_binding *pdl_scope_logged(const pdl_scope_state *s, size_t i) {
    return s->names.p[s->log.p[i].at].now;
}

static void bind(pdl_scope_state *s, pdl_str name, pdl_binding *b) {
    size_t chain = chain_of(name);
    uint32_t k = find_name(s, name, chain);
    if (!k) k = add_name(s, name, chain);
    *pdl_vec_push(&s->log) = (pdl_scope_entry){k - 1, s->names.p[k - 1].now};
    s->names.p[k - 1].now = b;
}

pdl_binding *pdl_scope_define(pdl_scope_state *s, pdl_def_kind kind, pdl_str name,
                              const pdl_ty *type, pdl_loc loc) {
    pdl_binding *b = pdl_arena_new(s->arena, pdl_binding);
    b->def = (pdl_name_def){kind, name, type, loc};
    b->epoch = s->epoch;
    bind(s, name, b);
    return b;
}

const pdl_ty *pdl_scope_type(const pdl_scope_state *s, const pdl_binding *b) {
    const pdl_ty *t = b->def.type;
    if (b->epoch == s->epoch || !(t->kinds & (PDL_TY_LIST | PDL_TY_DICT))) return t;
    return pdl_ty_loosen(s->arena, t);
}

void pdl_scope_changed(pdl_scope_state *s, pdl_str name) {
    pdl_binding *b = pdl_scope_binding(s, name);
    for (; b; b = b->original) b->def.type = pdl_ty_loosen(s->arena, b->def.type);
}

void pdl_scope_forget(pdl_scope_state *s, pdl_str name, bool narrow) {
    pdl_binding *old = pdl_scope_binding(s, name);
    if (!old || (pdl_ty_is_unknown(old->def.type) && narrow)) return;
    pdl_binding *b = pdl_arena_new(s->arena, pdl_binding);
    *b = *old;
    b->def.type = &pdl_ty_any;
    b->is_narrowed = narrow;
    b->is_mixed = !narrow;
    b->original = narrow ? old : NULL;
    bind(s, name, b);
}

size_t pdl_scope_mark(const pdl_scope_state *s) { return s->log.n; }

void pdl_scope_back(pdl_scope_state *s, size_t mark) {
    assert(mark <= s->log.n);
    while (s->log.n > mark) {
        const pdl_scope_entry *e = &s->log.p[--s->log.n];
        const pdl_binding *now = s->names.p[e->at].now;
        s->names.p[e->at].now = e->before;
        bool same = now && (now->is_narrowed || now->is_mixed);
        if (same && e->before && now->is_used) e->before->is_used = true;
    }
}

/* --- branches --------------------------------------------------------------------------------- */

void pdl_branches_begin(const pdl_scope_state *s, pdl_branches *b) {
    *b = (pdl_branches){.mark = s->log.n};
}

static pdl_branch_name *find_counted(const pdl_branches *b, size_t at, pdl_str name) {
    if (b->many.n) {
        size_t k = (size_t)(uintptr_t)pdl_map_find(&b->many, name);
        return k ? &b->names.p[k - 1] : NULL;
    }
    for (size_t i = 0; i < b->names.n; i++)
        if (b->names.p[i].at == at) return &b->names.p[i];
    return NULL;
}

static void add_counted(pdl_branches *b, size_t at, const pdl_binding *now) {
    *pdl_vec_push(&b->names) = (pdl_branch_name){now->def, at, 1, b->n, now->is_used};
    for (size_t i = b->many.n; b->names.n > FEW_NAMES && i < b->names.n; i++)
        pdl_map_put(&b->many, b->names.p[i].def.name, (void *)(uintptr_t)(i + 1));
}

static void count_name(const pdl_scope_state *s, pdl_branches *b, size_t at) {
    const pdl_binding *now = s->names.p[at].now;
    if (!now || now->is_narrowed) return;
    pdl_branch_name *x = find_counted(b, at, now->def.name);
    if (!x) {
        add_counted(b, at, now);
        return;
    }
    if (x->last == b->n) return;
    x->last = b->n;
    x->count++;
    x->is_used = x->is_used || now->is_used;
    x->def.type = pdl_ty_join(s->arena, x->def.type, pdl_scope_type(s, now));
}

void pdl_branches_next(pdl_scope_state *s, pdl_branches *b) {
    b->n++;
    for (size_t i = b->mark; i < s->log.n; i++) count_name(s, b, s->log.p[i].at);
    pdl_scope_back(s, b->mark);
}

void pdl_branches_end(pdl_scope_state *s, pdl_branches *b) {
    for (size_t i = 0; i < b->names.n; i++) {
        const pdl_branch_name *x = &b->names.p[i];
        const pdl_binding *before = pdl_scope_binding(s, x->def.name);
        const pdl_ty *t = x->def.type;
        bool mixed = before && x->count < b->n;
        if (mixed) t = pdl_ty_join(s->arena, t, pdl_scope_type(s, before));
        pdl_binding *now = pdl_scope_define(s, x->def.kind, x->def.name, t, x->def.loc);
        now->is_used = x->is_used;
        now->is_mixed = mixed;
    }
    pdl_map_fini(&b->many);
    pdl_vec_fini(&b->names);
}
