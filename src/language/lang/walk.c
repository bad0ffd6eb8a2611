/* walk.c -- visits all parts of a program, in the order of its fields; see walk.h.
 *
 * The tables of fields say what each field contains. So there is one function for each kind of
 * content, and a new field needs no code.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lang/walk.h"

#include "lang/fields.h"

#include "base/banned.h"

/* --- sub-blocks --- */

static void each_of(const pdl_blocks *list, void (*fn)(void *user, const pdl_block *child),
                    void *user) {
    for (uint32_t i = 0; i < list->n; i++) fn(user, list->p[i]);
}

void pdl_field_each_block(const pdl_block *b, const pdl_field *f,
                          void (*fn)(void *user, const pdl_block *child), void *user) {
    const void *at = pdl_field_at(b, f);
    switch (pdl_field_forms[f->type].holds) {
    case PDL_HOLDS_BLOCK: {
        const pdl_block *child = *(const pdl_block *const *)at;
        if (child) fn(user, child);
        return;
    }
    case PDL_HOLDS_BLOCKS: each_of(at, fn, user); return;
    case PDL_HOLDS_CASES: {
        const pdl_cases *cases = at;
        for (uint32_t i = 0; i < cases->n; i++) fn(user, cases->p[i].then);
        return;
    }
    case PDL_HOLDS_EXPECTATIONS: {
        const pdl_expectations *all = at;
        for (uint32_t i = 0; i < all->n; i++)
            if (all->p[i].feedback_block) fn(user, all->p[i].feedback_block);
        return;
    }
    case PDL_HOLDS_CONSTANT:
    case PDL_HOLDS_TREE:
    case PDL_HOLDS_PARTS: return;
    }
}

void pdl_block_each_child(const pdl_block *b, void (*fn)(void *user, const pdl_block *child),
                          void *user) {
    size_t n;
    const pdl_field *f = pdl_fields_of(b->kind, &n);
    for (size_t i = 0; i < n; i++) pdl_field_each_block(b, &f[i], fn, user);
    f = pdl_common_fields(&n);
    for (size_t i = 0; i < n; i++) pdl_field_each_block(b, &f[i], fn, user);
}

/* --- the walk -----------------------------------------------------------------------------*/

typedef struct walker {
    const pdl_walk *w;
    const pdl_block *b;
    const char *key;
} walker;

__attribute__((noinline)) static void visit_tree(const walker *at, const pdl_tree *t) {
    if (!t) return;
    if (t->kind == PDL_TREE_EXPR && at->w->expr) at->w->expr(at->w->user, at->b, at->key, t);
    for (uint32_t i = 0; i < t->n; i++) {
        if (t->kind == PDL_TREE_MAP) visit_tree(at, t->keys[i]);
        visit_tree(at, t->items[i]);
    }
}

static void visit_trees(const walker *at, const pdl_tree *const *trees, size_t n) {
    for (size_t i = 0; i < n; i++) visit_tree(at, trees[i]);
}

static void visit_type(const walker *at, const pdl_type *t, pdl_loc loc) {
    if (t && at->w->type) at->w->type(at->w->user, at->b, at->key, t, loc);
}

/* Visits the parts of retry, budget, endorse or an aggregator; base may be NULL. */
static void visit_record(const walker *at, pdl_record record, const void *base) {
    size_t n;
    const pdl_record_part *parts = pdl_record_parts(record, &n);
    for (size_t i = 0; base && i < n; i++) visit_tree(at, pdl_record_part_at(base, &parts[i]));
}

/* There is one function for each name in the column `walk` of field_types.def. pdl_block_each_child
 * visits the blocks inside. */
static void walk_nothing(const walker *at, const void *member) {
    (void)at;
    (void)member;
}

static void walk_tree(const walker *at, const void *member) {
    visit_tree(at, *(const pdl_tree *const *)member);
}

static void walk_spec(const walker *at, const void *member) {
    const pdl_spec_field *spec = member;
    visit_type(at, spec->type, spec->loc);
}

static void walk_params(const walker *at, const void *member) {
    visit_type(at, ((const pdl_params *)member)->all, pdl_field_loc(at->b, at->key));
}

static void walk_join(const walker *at, const void *member) {
    const pdl_join *join = *(const pdl_join *const *)member;
    if (join) visit_tree(at, join->reduce);
}

static void walk_cases(const walker *at, const void *member) {
    const pdl_cases *cases = member;
    for (uint32_t i = 0; i < cases->n; i++) visit_tree(at, cases->p[i].cond);
}

static void walk_fors(const walker *at, const void *member) {
    const pdl_fors *f = *(const pdl_fors *const *)member;
    if (!f) return;
    visit_trees(at, f->names, f->n);
    visit_trees(at, f->lists, f->n);
}

static void walk_aggregator(const walker *at, const void *member) {
    visit_record(at, PDL_RECORD_aggregator, *(const pdl_agg *const *)member);
}

static void walk_retry(const walker *at, const void *member) {
    visit_record(at, PDL_RECORD_retry, *(const pdl_retry *const *)member);
}

static void walk_budget(const walker *at, const void *member) {
    visit_record(at, PDL_RECORD_budget, *(const pdl_budget_field *const *)member);
}

static void walk_endorse(const walker *at, const void *member) {
    visit_record(at, PDL_RECORD_endorse, *(const pdl_endorse_field *const *)member);
}

static void walk_contribute(const walker *at, const void *member) {
    const pdl_contributes *c = member;
    for (uint32_t i = 0; i < c->n; i++) visit_tree(at, c->p[i].value);
}

static void walk_parser(const walker *at, const void *member) {
    const pdl_parser_field *parser = *(const pdl_parser_field *const *)member;
    if (parser) visit_type(at, parser->spec, parser->loc);
}

static void walk_expectations(const walker *at, const void *member) {
    const pdl_expectations *e = member;
    for (uint32_t i = 0; i < e->n; i++) {
        visit_tree(at, e->p[i].expect);
        visit_tree(at, e->p[i].feedback);
    }
}

static void (*const walks[])(const walker *at, const void *member) = {
#define FIELD_TYPE(name, type, holds, walk, dump, role, opens, doc) walk_##walk,
#include "lang/field_types.def"
};

static void walk_field(const walker *at, const pdl_field *f) {
    walks[f->type](at, pdl_field_at(at->b, f));
}

__attribute__((noinline)) static void walk_fields(const pdl_walk *w, const pdl_block *b) {
    walker at = {w, b, ""};
    size_t n;
    const pdl_field *f = pdl_common_fields(&n);
    for (size_t i = 0; i < n; i++) {
        at.key = f[i].key;
        walk_field(&at, &f[i]);
    }
    f = pdl_fields_of(b->kind, &n);
    for (size_t i = 0; i < n; i++) {
        at.key = f[i].key;
        walk_field(&at, &f[i]);
    }
}

static void walk_block(void *user, const pdl_block *b) {
    walk_fields(user, b);
    pdl_block_each_child(b, walk_block, user);
}

void pdl_program_walk(const pdl_program *p, const pdl_walk *w) {
    pdl_walk copy = *w;
    if (p->main) walk_block(&copy, p->main);
}

/* The words that were reported already. The words are few and static. */
typedef struct deprecated_words {
    PDL_VEC(const char *) words;
    void (*fn)(void *user, pdl_loc loc, const char *old, const char *now);
    void *user;
    pdl_loc loc; /* place of the type that is being walked */
} deprecated_words;

static void on_old(void *user, const char *old, const char *now) {
    deprecated_words *t = user;
    for (size_t i = 0; i < t->words.n; i++)
        if (strcmp(t->words.p[i], old) == 0) return;
    *pdl_vec_push(&t->words) = old;
    t->fn(t->user, t->loc, old, now);
}

static void on_type(void *user, const pdl_block *b, const char *key, const pdl_type *t,
                    pdl_loc loc) {
    (void)b;
    if (strcmp(key, "parser") == 0) return; /* the reference does not warn in a parser */
    ((deprecated_words *)user)->loc = loc;
    pdl_type_deprecated(t, on_old, user);
}

void pdl_program_each_deprecated(const pdl_program *p,
                                 void (*fn)(void *user, pdl_loc loc, const char *old,
                                            const char *now),
                                 void *user) {
    deprecated_words t = {.fn = fn, .user = user};
    pdl_program_walk(p, &(pdl_walk){.user = &t, .type = on_type});
    pdl_vec_fini(&t.words);
}

/* --- values that are texts -------------------------------------------------------------------- */

const pdl_tree *pdl_block_plain_tree(const pdl_block *b) {
    bool plain = !b->rare->spec.type && !b->rare->parser && !b->rare->fallback;
    if (!plain) return NULL;
    if (b->kind == PDL_BLOCK_data) return PDL_AS(data, b)->raw.value ? NULL : PDL_AS(data, b)->data;
    return b->kind == PDL_BLOCK_scalar ? PDL_AS(scalar, b)->value : NULL;
}

bool pdl_tree_is_text(const pdl_tree *t, pdl_str *text) {
    if (!t || t->kind > PDL_TREE_EXPR) return false;
    if (t->kind == PDL_TREE_CONST) {
        *text = pdl_is_str(t->value) ? pdl_str_get(t->value) : (pdl_str){0};
        return text->n > 0;
    }
    const pdl_expr *e = pdl_tree_expr(t);
    *text = e->source;
    if (e->form != PDL_X_TEMPLATE || !e->root || e->root->kind != PDL_X_SEQ) return false;
    const pdl_xlist *parts = &e->root->u.list;
    for (uint32_t i = 0; i < parts->n; i++)
        if (parts->p[i]->kind == PDL_X_TEXT && parts->p[i]->u.text.n) return true;
    return false;
}
