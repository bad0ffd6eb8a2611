/* unstable.c -- finds values that change in each run or call, and precede text that does not
 * change. From such a value on, prompt caches of models find nothing (spec know 1).
 *
 * What is read: the input of a model, system messages, and the texts that a list contributes to the
 * context before its first model block without an input. A text counts as unchanging when it is
 * written literally in the program, in the prompt or in a variable. Texts one after the other are
 * one run of text, as long as they go into one message or have no role; branches, loops and
 * messages of an array begin a separate run, because what is before them may be absent.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "check/checker.h"
#include "lang/walk.h"

#include "base/banned.h"

/* Texts that follow each other. */
typedef struct text_run {
    pdl_checker *c;
    /* the last part that changes; NULL again as soon as a text of the program follows it */
    const pdl_xnode *found;
    const pdl_tree *tree; /* the text that contains `found` */
} text_run;

struct changing_part {
    pdl_checker *c;
    const pdl_xnode *found;
    bool changes;         /* the part that is being examined changes */
    uint32_t first, last; /* where the first and the last changing part begin */
};

static void on_node(void *user, const pdl_xnode *x) {
    struct changing_part *p = user;
    bool names = x->kind == PDL_X_NAME && pdl_checker_name_is(p->c, x->u.name, PDL_NAME_CHANGES);
    if (!names && !pdl_checker_node_draws(x)) return;
    if (!p->found) p->found = x;
    p->changes = true;
}

/* Returns true for a part that is a text of the program, or a variable whose value is such a text.
 */
static bool is_text(pdl_checker *c, const pdl_xnode *x) {
    if (x->kind == PDL_X_TEXT) return pdl_checker_has_letter(x->u.text);
    if (x->kind == PDL_X_OUTPUT && x->u.list.n == 1) x = x->u.list.p[0];
    return x->kind == PDL_X_NAME && pdl_checker_name_is(c, x->u.name, PDL_NAME_IS_WRITTEN);
}

/* Finds the parts that change. Returns true when a text of the program follows the first of these
 * parts. */
static bool find_changing(struct changing_part *p, const pdl_xlist *parts) {
    bool followed = false;
    for (uint32_t i = 0; i < parts->n; i++) {
        const pdl_xnode *x = parts->p[i];
        p->changes = false;
        followed = followed || (p->found && is_text(p->c, x));
        if (x->kind != PDL_X_TEXT) pdl_xnode_each_plain(x, on_node, p);
        if (!p->changes) continue;
        if (x->start < p->first) p->first = x->start;
        p->last = x->start;
    }
    return followed;
}

static pdl_diag *report(pdl_checker *c, const pdl_tree *t, const pdl_xnode *x) {
    pdl_loc mark = t->node ? pdl_node_text_loc(t->node, x->start, x->end) : t->loc;
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_prefix_unstable, t->loc, mark,
                                   "a value that changes in each run is before text that does "
                                   "not: prompt caches find nothing from here on");
    pdl_checker_hint(c, d, "move it below the text that stays the same");
    return d;
}

/* Reports the part that changes, because a text of the program follows it. */
static void follow_with_text(text_run *r) {
    if (r->found) (void)report(r->c, r->tree, r->found);
    r->found = NULL;
}

static void lint_template(text_run *r, const pdl_tree *t, const pdl_xlist *parts) {
    struct changing_part p = {.c = r->c, .first = UINT32_MAX};
    bool followed = find_changing(&p, parts);
    for (uint32_t i = 0; r->found && i < parts->n; i++)
        if (is_text(r->c, parts->p[i])) follow_with_text(r);
    if (followed) {
        pdl_diag *d = report(r->c, t, p.found);
        pdl_checker_move_sentence(r->c, d, t->node, parts, p.first, p.last);
    } else if (p.found && !r->found) {
        r->found = p.found;
        r->tree = t;
    }
}

static bool is_template(const pdl_tree *t) {
    if (!t || t->kind != PDL_TREE_EXPR) return false;
    const pdl_expr *e = pdl_tree_expr(t);
    return e->form == PDL_X_TEMPLATE && e->root && e->root->kind == PDL_X_SEQ;
}

/* Examines an expression that is a whole text. When it is a variable with a text of the program,
 * that text is examined where it is written. */
static void lint_value(text_run *r, const pdl_tree *t, const pdl_xnode *x) {
    struct changing_part p = {.c = r->c};
    if (is_text(r->c, x)) follow_with_text(r);
    pdl_xnode_each_plain(x, on_node, &p);
    if (!p.changes) return;
    const pdl_tree *text = x->kind == PDL_X_NAME ? pdl_checker_take_prompt(r->c, x->u.name) : NULL;
    if (is_template(text))
        lint_template(&(text_run){.c = r->c}, text, &pdl_tree_expr(text)->root->u.list);
    if (r->found) return;
    r->found = p.found;
    r->tree = t;
}

static void lint_text(text_run *r, const pdl_tree *t) {
    if (!t || t->kind > PDL_TREE_EXPR) return;
    if (t->kind == PDL_TREE_CONST) {
        bool written = pdl_is_str(t->value) && pdl_checker_has_letter(pdl_str_get(t->value));
        if (written) follow_with_text(r);
        return;
    }
    const pdl_expr *e = pdl_tree_expr(t);
    if (e->form == PDL_X_PLAIN && pdl_checker_has_letter(e->source)) follow_with_text(r);
    if (e->form == PDL_X_NATIVE && e->root) lint_value(r, t, e->root);
    if (is_template(t)) lint_template(r, t, &e->root->u.list);
}

static void lint_alone(void *user, const pdl_block *b);

static bool reads_context(const pdl_block *b) {
    return b->kind == PDL_BLOCK_model && !PDL_AS(model, b)->input;
}

/* Returns how many blocks of a list come before the first model block that reads the context.
 * Without such a block, returns the number of all blocks. */
static uint32_t count_before_model(const pdl_blocks *list) {
    uint32_t n = 0;
    while (n < list->n && !reads_context(list->p[n])) n++;
    return n;
}

/* Returns true for a list with a model block that reads its texts. Such a list is examined when the
 * list itself is checked. If it were examined again with each list around it, nested lists would
 * take quadratic time. */
static bool has_reader(const pdl_block *b) {
    if (b->kind != PDL_BLOCK_text) return false;
    const pdl_blocks *items = &PDL_AS(text, b)->items;
    return count_before_model(items) < items->n;
}

/* Examines the texts of a block. Inputs of models, system messages and lists with a model block are
 * left out: they are examined when these inner blocks are checked. */
static void lint_texts(text_run *r, const pdl_block *b) {
    if (b->kind == PDL_BLOCK_scalar) lint_text(r, PDL_AS(scalar, b)->value);
    if (b->kind == PDL_BLOCK_data && !PDL_AS(data, b)->raw.value)
        lint_text(r, PDL_AS(data, b)->data);
    if (b->kind == PDL_BLOCK_model) return;
    if (b->kind != PDL_BLOCK_text) {
        pdl_block_each_child(b, lint_alone, r->c);
        return;
    }
    const pdl_blocks *items = &PDL_AS(text, b)->items;
    for (uint32_t i = 0; i < items->n; i++) {
        const pdl_contributes *to = &items->p[i]->contribute;
        if ((to->given && !to->result) || has_reader(items->p[i])) continue;
        if (items->p[i]->rare->role.s.p)
            lint_alone(r->c, items->p[i]);
        else
            lint_texts(r, items->p[i]);
    }
}

static void lint_alone(void *user, const pdl_block *b) {
    text_run r = {.c = user};
    if (!pdl_str_is(b->rare->role.s, "system")) lint_texts(&r, b);
}

/* Returns the blocks of a list whose results go into the context one after the other, or NULL. */
static const pdl_blocks *list_of(const pdl_block *b) {
    if (b->kind == PDL_BLOCK_text) return &PDL_AS(text, b)->items;
    if (b->kind == PDL_BLOCK_lastOf) return &PDL_AS(lastOf, b)->items;
    if (b->kind == PDL_BLOCK_array) return &PDL_AS(array, b)->items;
    return b->kind == PDL_BLOCK_sequence ? &PDL_AS(sequence, b)->items : NULL;
}

/* Examines what is in the context when the first model block of a list reads it. */
static void lint_context(pdl_checker *c, const pdl_blocks *list) {
    text_run r = {.c = c};
    uint32_t n = count_before_model(list);
    for (uint32_t i = 0; n < list->n && i < n; i++) {
        const pdl_block *b = list->p[i];
        bool is_plain = b->kind == PDL_BLOCK_scalar || b->kind == PDL_BLOCK_data ||
                        (b->kind == PDL_BLOCK_text && !has_reader(b));
        if (!is_plain || b->rare->role.s.p) r.found = NULL;
        if (is_plain && !b->rare->role.s.p && (!b->contribute.given || b->contribute.context))
            lint_texts(&r, b);
    }
}

void pdl_checker_lint_prefix(pdl_checker *c, const pdl_block *b) {
    text_run r = {.c = c};
    const pdl_blocks *list = list_of(b);
    if (b->kind == PDL_BLOCK_model && PDL_AS(model, b)->input)
        lint_texts(&r, PDL_AS(model, b)->input);
    else if (pdl_str_is(b->rare->role.s, "system"))
        lint_texts(&r, b);
    else if (list)
        lint_context(c, list);
}
