/* walk.c -- see walk.h: loops over the tables of fields, one function for each kind of content.
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

/* Flat switch over the types of fields that hold blocks. */
void pdl_field_each_block(const pdl_block *b, const pdl_field *f,
                          void (*fn)(void *user, const pdl_block *child), void *user) {
    const void *at = pdl_field_at(b, f);
    switch (f->type) {
    case PDL_FT_BLOCK: {
        const pdl_block *child = *(const pdl_block *const *)at;
        if (child) fn(user, child);
        return;
    }
    case PDL_FT_BLOCKS:
    case PDL_FT_TEXTS:
    case PDL_FT_FIELDS:
    case PDL_FT_DEFS: each_of(at, fn, user); return;
    case PDL_FT_CASES: {
        const pdl_cases *cases = at;
        for (uint32_t i = 0; i < cases->n; i++) fn(user, cases->p[i].then);
        return;
    }
    case PDL_FT_EXPECTATIONS: {
        const pdl_expectations *all = at;
        for (uint32_t i = 0; i < all->n; i++)
            if (all->p[i].feedback_block) fn(user, all->p[i].feedback_block);
        return;
    }
#define X(name, type, doc) case PDL_FT_##name:
        PDL_PLAIN_FIELD_TYPES(X)
#undef X
    case PDL_FT_COUNT: return;
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

__attribute__((noinline)) static void walk_tree(const walker *at, const pdl_tree *t) {
    if (!t) return;
    if (t->kind == PDL_TREE_EXPR && at->w->expr) at->w->expr(at->w->user, at->b, at->key, t);
    for (uint32_t i = 0; i < t->n; i++) {
        if (t->kind == PDL_TREE_MAP) walk_tree(at, t->keys[i]);
        walk_tree(at, t->items[i]);
    }
}

static void walk_trees(const walker *at, const pdl_tree *const *trees, size_t n) {
    for (size_t i = 0; i < n; i++) walk_tree(at, trees[i]);
}

static void walk_type(const walker *at, const pdl_type *t, pdl_loc loc) {
    if (t && at->w->type) at->w->type(at->w->user, at->b, at->key, t, loc);
}

static void walk_cases(const walker *at, const pdl_cases *cases) {
    for (uint32_t i = 0; i < cases->n; i++) walk_tree(at, cases->p[i].cond);
}

static void walk_fors(const walker *at, const pdl_fors *f) {
    if (!f) return;
    walk_trees(at, f->names, f->n);
    walk_trees(at, f->lists, f->n);
}

/* The parts of retry, budget, endorse or an aggregator; base may be NULL. */
static void walk_record(const walker *at, pdl_record record, const void *base) {
    size_t n;
    const pdl_record_part *parts = pdl_record_parts(record, &n);
    for (size_t i = 0; base && i < n; i++) walk_tree(at, pdl_record_part_at(base, &parts[i]));
}

static void walk_contribute(const walker *at, const pdl_contributes *c) {
    for (uint32_t i = 0; i < c->n; i++) walk_tree(at, c->p[i].value);
}

static void walk_expectations(const walker *at, const pdl_expectations *e) {
    for (uint32_t i = 0; i < e->n; i++) {
        walk_tree(at, e->p[i].expect);
        walk_tree(at, e->p[i].feedback);
    }
}

/* Flat switch over the types of fields; blocks inside are those of pdl_block_each_child. */
__attribute__((noinline)) static void walk_field(const walker *at, const pdl_field *f) {
    const void *member = pdl_field_at(at->b, f);
    switch (f->type) {
    case PDL_FT_EXPR:
    case PDL_FT_XBOOL:
    case PDL_FT_XINT:
    case PDL_FT_XNUM:
    case PDL_FT_XSTR:
    case PDL_FT_XDICT:
    case PDL_FT_ARGV: walk_tree(at, *(const pdl_tree *const *)member); return;
    case PDL_FT_TYPE:
        walk_type(at, ((const pdl_spec_field *)member)->type,
                  ((const pdl_spec_field *)member)->loc);
        return;
    case PDL_FT_PARAMS:
        walk_type(at, ((const pdl_params *)member)->all, pdl_field_loc(at->b, f->key));
        return;
    case PDL_FT_JOIN:
        if (*(const pdl_join *const *)member)
            walk_tree(at, (*(const pdl_join *const *)member)->reduce);
        return;
    case PDL_FT_CASES: walk_cases(at, member); return;
    case PDL_FT_FORS: walk_fors(at, *(const pdl_fors *const *)member); return;
    case PDL_FT_AGG:
        walk_record(at, PDL_RECORD_aggregator, *(const pdl_agg *const *)member);
        return;
    case PDL_FT_RETRY: walk_record(at, PDL_RECORD_retry, *(const pdl_retry *const *)member); return;
    case PDL_FT_BUDGET:
        walk_record(at, PDL_RECORD_budget, *(const pdl_budget_field *const *)member);
        return;
    case PDL_FT_ENDORSE:
        walk_record(at, PDL_RECORD_endorse, *(const pdl_endorse_field *const *)member);
        return;
    case PDL_FT_CONTRIBUTE: walk_contribute(at, member); return;
    case PDL_FT_PARSER: {
        const pdl_parser_field *parser = *(const pdl_parser_field *const *)member;
        if (parser) walk_type(at, parser->spec, parser->loc);
        return;
    }
    case PDL_FT_EXPECTATIONS: walk_expectations(at, member); return;
    case PDL_FT_STR:
    case PDL_FT_BOOL:
    case PDL_FT_INT:
    case PDL_FT_ANY:
    case PDL_FT_POLICY:
    case PDL_FT_PROFILE:
    case PDL_FT_BLOCK:
    case PDL_FT_BLOCKS:
    case PDL_FT_TEXTS:
    case PDL_FT_FIELDS:
    case PDL_FT_DEFS:
    case PDL_FT_CTX:
    case PDL_FT_FLAG:
    case PDL_FT_COUNT: return;
    }
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

/* Words are few and static: one in the list was reported already. */
typedef struct deprecated_words {
    PDL_VEC(const char *) words;
    void (*fn)(void *user, pdl_loc loc, const char *old, const char *now);
    void *user;
    pdl_loc loc; /* of the type that is being walked */
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
    if (strcmp(key, "parser") == 0) return; /* the reference does not warn there */
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
