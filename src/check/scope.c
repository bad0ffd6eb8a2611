/* scope.c -- see scope.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "check/scope.h"

#include "base/word.h"

#include "base/banned.h"

void pdl_scope_state_fini(pdl_scope_state *s) {
    pdl_map_fini(&s->names);
    pdl_vec_fini(&s->log);
}

/* Each expression asks for its names twice, and hashing one takes longer than comparing it. */
static inline size_t near_of(pdl_str name) {
    const unsigned char *u = (const unsigned char *)name.p;
    if (!name.n) return 0;
    return (u[0] * 31u + u[name.n - 1] * 7u + u[name.n / 2] * 3u + name.n) % PDL_SCOPE_NEAR;
}

/* The entry of the name among those that are near, or NULL. */
static inline pdl_map_entry *find_near(const pdl_scope_state *s, pdl_str name) {
    uint32_t k = s->near[near_of(name)];
    pdl_map_entry *e = k ? &s->names.entries[k - 1] : NULL;
    return e && e->key.n == name.n && pdl_bytes_eq(e->key.p, name.p, name.n) ? e : NULL;
}

pdl_binding *pdl_scope_binding(const pdl_scope_state *s, pdl_str name) {
    const pdl_map_entry *e = find_near(s, name);
    return e ? e->value : pdl_map_find(&s->names, name);
}

pdl_binding *pdl_scope_logged(const pdl_scope_state *s, size_t i) {
    return s->names.entries[s->log.p[i].at].value;
}

static void bind(pdl_scope_state *s, pdl_str name, pdl_binding *b) {
    const pdl_map_entry *e = find_near(s, name);
    size_t at = e ? (size_t)(e - s->names.entries) : pdl_map_entry_index(&s->names, name);
    if (!e && at < UINT32_MAX) s->near[near_of(name)] = (uint32_t)at + 1;
    *pdl_vec_push(&s->log) = (pdl_scope_entry){at, s->names.entries[at].value};
    s->names.entries[at].value = b;
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
    b->original = narrow ? old : NULL;
    bind(s, name, b);
}

size_t pdl_scope_mark(const pdl_scope_state *s) { return s->log.n; }

void pdl_scope_back(pdl_scope_state *s, size_t mark) {
    while (s->log.n > mark) {
        const pdl_scope_entry *e = &s->log.p[--s->log.n];
        const pdl_binding *now = s->names.entries[e->at].value;
        s->names.entries[e->at].value = e->before;
        if (now && e->before && now->is_used && now->is_narrowed) e->before->is_used = true;
    }
}

/* --- branches --------------------------------------------------------------------------------- */

void pdl_branches_begin(const pdl_scope_state *s, pdl_branches *b) {
    *b = (pdl_branches){.mark = s->log.n};
}

static void count_name(const pdl_scope_state *s, pdl_branches *b, const pdl_binding *now) {
    size_t at = (size_t)(uintptr_t)pdl_map_find(&b->index, now->def.name);
    if (!at) {
        *pdl_vec_push(&b->names) = (pdl_branch_name){now->def, 1, b->n, now->is_used};
        pdl_map_put(&b->index, now->def.name, (void *)(uintptr_t)b->names.n);
        return;
    }
    pdl_branch_name *x = &b->names.p[at - 1];
    if (x->last == b->n) return;
    x->last = b->n;
    x->count++;
    x->is_used = x->is_used || now->is_used;
    x->def.type = pdl_ty_join(s->arena, x->def.type, pdl_scope_type(s, now));
}

void pdl_branches_next(pdl_scope_state *s, pdl_branches *b) {
    b->n++;
    for (size_t i = b->mark; i < s->log.n; i++) {
        const pdl_binding *now = pdl_scope_logged(s, i);
        if (now && !now->is_narrowed) count_name(s, b, now);
    }
    pdl_scope_back(s, b->mark);
}

void pdl_branches_end(pdl_scope_state *s, pdl_branches *b) {
    for (size_t i = 0; i < b->names.n; i++) {
        const pdl_branch_name *x = &b->names.p[i];
        const pdl_binding *before = pdl_scope_binding(s, x->def.name);
        const pdl_ty *t = x->def.type;
        if (before && x->count < b->n) t = pdl_ty_join(s->arena, t, pdl_scope_type(s, before));
        pdl_binding *now = pdl_scope_define(s, x->def.kind, x->def.name, t, x->def.loc);
        now->is_used = x->is_used;
    }
    pdl_map_fini(&b->index);
    pdl_vec_fini(&b->names);
}
