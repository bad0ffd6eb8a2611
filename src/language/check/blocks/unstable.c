/* unstable.c -- finds values that change in each run or call, and precede text that does not
 * change. From such a value on, prompt caches of models find nothing (spec know 1).
 *
 * This code reads the texts of the input of a model and of system messages. A value changes when
 * its expression draws at random, or names a variable that Python code of the program makes from
 * the clock, from chance, or from the order of a set.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/ident.h"
#include "check/checker.h"
#include "lang/walk.h"

#include "base/banned.h"

/* --- variables that change -------------------------------------------------------------------- */

static bool has_word(pdl_str source, const char *const *words) {
    for (; *words; words++)
        if (pdl_ident_is_in(source, pdl_str_of(*words))) return true;
    return false;
}

/* Returns true for code whose result differs from run to run. */
static bool code_changes(const pdl_block *b) {
    static const char *const words[] = {"now",   "utcnow", "today",   "uuid1",  "uuid4",
                                        "random", "secrets", "getpid", "urandom", NULL};
    static const char *const texts[] = {"time.time", "in set(", "list(set(", "join(set("};
    pdl_str lang = PDL_AS(code, b)->lang.s;
    pdl_loc loc = b->node ? pdl_node_loc(b->node) : b->loc;
    bool python = !lang.p || pdl_str_is(lang, "python") || pdl_str_is(lang, "ipython");
    if (!python || !loc.src) return false;
    pdl_str source = pdl_str_sub(loc.src->text, loc.start, loc.end);
    if (has_word(source, words)) return true;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (pdl_str_find(source, pdl_str_of(texts[i]), 0) != PDL_NOT_FOUND) return true;
    return false;
}

static void add_changing(pdl_checker *c, pdl_str name, const pdl_block *b) {
    if (name.n && b->kind == PDL_BLOCK_code && code_changes(b)) *pdl_vec_push(&c->changing) = name;
}

static void collect(void *user, const pdl_block *b) {
    pdl_checker *c = user;
    const pdl_blocks *defs = &b->rare->defs;
    add_changing(c, b->def.s, b);
    for (uint32_t i = 0; defs->names && i < defs->n; i++)
        add_changing(c, defs->names[i], defs->p[i]);
    pdl_block_each_child(b, collect, c);
}

static bool is_changing(pdl_checker *c, pdl_str name) {
    if (!c->knows_changing && c->p->main) collect(c, c->p->main);
    c->knows_changing = true;
    for (size_t i = 0; i < c->changing.n; i++)
        if (pdl_str_eq(c->changing.p[i], name)) return true;
    return false;
}

/* --- texts ------------------------------------------------------------------------------------ */

struct changing_part {
    pdl_checker *c;
    const pdl_xnode *found;
    bool changes;         /* the part that is being examined changes */
    uint32_t first, last; /* where the first and the last changing part begin */
};

static void on_node(void *user, const pdl_xnode *x) {
    struct changing_part *p = user;
    bool draws = x->kind == PDL_X_FILTER && pdl_str_is(x->u.filter.name, "random");
    bool makes = x->kind == PDL_X_CALL && x->u.call.obj->kind == PDL_X_NAME &&
                 pdl_str_is(x->u.call.obj->u.name, "lipsum");
    bool names = x->kind == PDL_X_NAME && is_changing(p->c, x->u.name);
    if (!draws && !makes && !names) return;
    if (!p->found) p->found = x;
    p->changes = true;
}

static bool has_letter(pdl_str s) {
    for (size_t i = 0; i < s.n; i++) {
        unsigned char b = (unsigned char)s.p[i];
        if ((b | 32) >= 'a' && (b | 32) <= 'z') return true;
        if (b >= 0x80) return true;
    }
    return false;
}

/* Finds the parts that change. Returns true when words of the program follow the first one. */
static bool find_changing(struct changing_part *p, const pdl_xlist *parts) {
    bool followed = false;
    for (uint32_t i = 0; i < parts->n; i++) {
        const pdl_xnode *x = parts->p[i];
        p->changes = false;
        if (x->kind == PDL_X_TEXT)
            followed = followed || (p->found && has_letter(x->u.text));
        else
            pdl_xnode_each_plain(x, on_node, p);
        if (!p->changes) continue;
        if (x->start < p->first) p->first = x->start;
        p->last = x->start;
    }
    return followed;
}

static void lint_text(pdl_checker *c, const pdl_tree *t) {
    if (!t || t->kind != PDL_TREE_EXPR) return;
    const pdl_expr *e = pdl_tree_expr(t);
    if (e->form != PDL_X_TEMPLATE || !e->root || e->root->kind != PDL_X_SEQ) return;
    struct changing_part p = {.c = c, .first = UINT32_MAX};
    if (!find_changing(&p, &e->root->u.list)) return;
    const pdl_xnode *x = p.found;
    pdl_loc mark = t->node ? pdl_node_text_loc(t->node, x->start, x->end) : t->loc;
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_prefix_unstable, t->loc, mark,
                                   "a value that changes in each run is before text that does "
                                   "not: prompt caches find nothing from here on");
    pdl_checker_hint(c, d, "move it below the text that stays the same");
    pdl_checker_move_sentence(c, d, t->node, &e->root->u.list, p.first, p.last);
}

static void lint_texts(void *user, const pdl_block *b) {
    if (b->kind == PDL_BLOCK_scalar) lint_text(user, PDL_AS(scalar, b)->value);
    if (b->kind == PDL_BLOCK_data && !PDL_AS(data, b)->raw.value)
        lint_text(user, PDL_AS(data, b)->data);
    /* the input of a nested model block is read when that block is checked */
    if (b->kind != PDL_BLOCK_model) pdl_block_each_child(b, lint_texts, user);
}

void pdl_checker_lint_prefix(pdl_checker *c, const pdl_block *b) {
    if (b->kind == PDL_BLOCK_model && PDL_AS(model, b)->input)
        lint_texts(c, PDL_AS(model, b)->input);
    else if (pdl_str_is(b->rare->role.s, "system"))
        lint_texts(c, b);
}
