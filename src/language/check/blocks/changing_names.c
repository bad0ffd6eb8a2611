/* changing_names.c -- knows which variables of a program change in each run, for the rule
 * prefix-unstable.
 *
 * A variable changes when Python code makes it from the clock, from chance, or from the order of a
 * set. It also changes when its expression draws at random, or when it is a text with a variable
 * that changes. All definitions are read before the first prompt. They are read several times,
 * because a text may be above the definitions of the variables that it names.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/ident.h"
#include "check/checker.h"
#include "lang/variables.h"
#include "lang/walk.h"

#include "base/banned.h"

/* A longer chain of definitions in the wrong order is not followed. */
enum { MAX_PASSES = 4 };

static bool has_word(pdl_str source, const char *const *words) {
    for (; *words; words++)
        if (pdl_ident_is_in(source, pdl_str_of(*words))) return true;
    return false;
}

bool pdl_checker_has_letter(pdl_str s) {
    for (size_t i = 0; i < s.n; i++) {
        unsigned char b = (unsigned char)s.p[i];
        if ((b | 32) >= 'a' && (b | 32) <= 'z') return true;
        if (b >= 0x80) return true;
    }
    return false;
}

/* Returns true for code whose result differs from run to run. */
static bool code_changes(const pdl_block *b) {
    static const char *const words[] = {"now",    "utcnow",  "today",  "uuid1",   "uuid4",
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

/* The state of a pass over the definitions. */
typedef struct name_pass {
    pdl_checker *c;
    bool again; /* this is a later pass, which can only find further names that change */
    bool grew;  /* this pass has found a name that changes */
} name_pass;

static pdl_prompt_name kind_of(const pdl_checker *c, pdl_str name) {
    return (pdl_prompt_name)(uintptr_t)pdl_map_find(&c->prompt_names, name);
}

static void set_name(name_pass *w, pdl_str name, pdl_prompt_name kind) {
    pdl_prompt_name before = kind_of(w->c, name);
    if (before == PDL_NAME_CHANGES || (w->again && kind != PDL_NAME_CHANGES)) return;
    if (before && kind != PDL_NAME_CHANGES) kind = PDL_NAME_OTHER;
    w->grew = w->grew || kind == PDL_NAME_CHANGES;
    (void)pdl_map_put(&w->c->prompt_names, name, (void *)(uintptr_t)kind);
}

static void on_changing(void *user, const pdl_xnode *x) {
    name_pass *w = user;
    if (pdl_checker_node_draws(x) ||
        (x->kind == PDL_X_NAME && kind_of(w->c, x->u.name) == PDL_NAME_CHANGES))
        w->grew = true;
}

/* Returns true for a text or an expression that has a changing part. */
static bool has_changing(const name_pass *w, const pdl_block *b) {
    name_pass one = {.c = w->c};
    const pdl_tree *t = pdl_block_plain_tree(b);
    if (!t || t->kind != PDL_TREE_EXPR || !pdl_tree_expr(t)->root) return false;
    pdl_xnode_each_plain(pdl_tree_expr(t)->root, on_changing, &one);
    return one.grew;
}

static bool is_made_of_changing(const name_pass *w, const pdl_block *b) {
    if (b->kind != PDL_BLOCK_text) return has_changing(w, b);
    if (b->rare->spec.type || b->rare->parser || b->rare->fallback) return false;
    const pdl_blocks *items = &PDL_AS(text, b)->items;
    for (uint32_t i = 0; i < items->n; i++)
        if (has_changing(w, items->p[i])) return true;
    return false;
}

static void on_varying(void *user, const pdl_xnode *x) {
    bool *varies = user;
    *varies = *varies || x->kind == PDL_X_NAME || x->kind == PDL_X_CALL ||
              x->kind == PDL_X_FILTER || x->kind == PDL_X_TEST;
}

/* Returns true when the text is in the program, either as it is or as an expression of
 * constants. */
static bool is_written(const pdl_block *b) {
    bool varies = false;
    const pdl_tree *t = pdl_block_plain_tree(b);
    if (t && t->kind == PDL_TREE_CONST)
        return pdl_is_str(t->value) && pdl_checker_has_letter(pdl_str_get(t->value));
    if (!t || t->kind != PDL_TREE_EXPR) return false;
    const pdl_expr *e = pdl_tree_expr(t);
    if (e->form == PDL_X_PLAIN) return pdl_checker_has_letter(e->source);
    if (e->form != PDL_X_NATIVE || !e->root) return false;
    pdl_xnode_each(e->root, on_varying, &varies);
    return !varies && pdl_checker_has_letter(e->source);
}

static void set_block(name_pass *w, pdl_str name, const pdl_block *b) {
    bool changes = (b->kind == PDL_BLOCK_code && code_changes(b)) || is_made_of_changing(w, b);
    set_name(w, name,
             changes         ? PDL_NAME_CHANGES
             : is_written(b) ? PDL_NAME_IS_WRITTEN
                             : PDL_NAME_OTHER);
    if (w->again) return;
    bool is_second = pdl_map_find(&w->c->prompt_blocks, name) != NULL;
    (void)pdl_map_put(&w->c->prompt_blocks, name, is_second ? w->c : (void *)(uintptr_t)b);
}

static void set_variable(void *user, const pdl_variable *v) {
    if (v->value)
        set_block(user, v->name, v->value);
    else
        set_name(user, v->name, PDL_NAME_OTHER);
}

static void collect(void *user, const pdl_block *b) {
    pdl_block_each_variable(b, set_variable, user);
    pdl_block_each_child(b, collect, user);
}

static void collect_all(pdl_checker *c) {
    if (c->knows_prompt_names) return;
    c->knows_prompt_names = true;
    name_pass w = {.c = c, .grew = c->p->main != NULL};
    for (unsigned i = 0; w.grew && i < MAX_PASSES; i++) {
        w.grew = false;
        w.again = i > 0;
        collect(&w, c->p->main);
    }
}

bool pdl_checker_name_is(pdl_checker *c, pdl_str name, pdl_prompt_name kind) {
    collect_all(c);
    return kind_of(c, name) == kind;
}

const pdl_tree *pdl_checker_take_prompt(pdl_checker *c, pdl_str name) {
    collect_all(c);
    void *found = pdl_map_find(&c->prompt_blocks, name);
    if (!found || found == c) return NULL;
    (void)pdl_map_put(&c->prompt_blocks, name, c);
    return pdl_block_plain_tree(found);
}

void pdl_checker_forget_prompts(pdl_checker *c) {
    pdl_map_fini(&c->prompt_names);
    pdl_map_fini(&c->prompt_blocks);
}

bool pdl_checker_node_draws(const pdl_xnode *x) {
    return (x->kind == PDL_X_FILTER && pdl_str_is(x->u.filter.name, "random")) ||
           (x->kind == PDL_X_CALL && x->u.call.obj->kind == PDL_X_NAME &&
            pdl_str_is(x->u.call.obj->u.name, "lipsum"));
}
