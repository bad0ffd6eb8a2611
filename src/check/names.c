/* names.c -- which names an expression reads, and whether something may have defined them before.
 * Definitions are followed in the order of execution; what may have run counts as run.
 *
 * Why so lenient: a warning about a name that turns out to be defined costs more trust than a
 * missed one. Branches that may not run, loops that may run zero times and handlers that may not be
 * reached therefore define their names. Only a name that no path defines is reported.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "check/checker.h"
#include "lang/walk.h"
#include "native/native.h"

#include "base/banned.h"

static char defined_mark; /* its address is the value of names in scope */

void pdl_checker_scope_add(pdl_checker *c, pdl_str name) {
    if (!name.p || pdl_map_find(&c->names, name)) return;
    pdl_map_put(&c->names, name, &defined_mark);
    *pdl_vec_push(&c->trail) = name;
}

size_t pdl_checker_scope_mark(const pdl_checker *c) { return c->trail.n; }

void pdl_checker_scope_back(pdl_checker *c, size_t mark) {
    while (c->trail.n > mark) pdl_map_put(&c->names, c->trail.p[--c->trail.n], NULL);
}

bool pdl_checker_scope_has(const pdl_checker *c, pdl_str name) {
    return pdl_map_find(&c->names, name) != NULL;
}

void pdl_checker_scope_predefined(pdl_checker *c) {
    static const char *const names[] = {"pdl_context",
                                        "pdl_particle_id",
                                        "pdl_llm_as_judge",
                                        "pdl_llm_context_transformer",
                                        "pdl_model_default_parameters",
                                        "stdlib",
                                        "pdl_usage",
                                        "pdl_scope"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        pdl_checker_scope_add(c, pdl_str_of(names[i]));
}

/* --- what is defined inside of a block -------------------------------------------------------- */

static void collect_pattern(pdl_checker *c, const pdl_pattern *p) {
    pdl_checker_scope_add(c, p->def);
    for (uint32_t i = 0; i < p->n; i++) collect_pattern(c, p->items[i]);
}

static void collect_fors(pdl_checker *c, const pdl_fors *f) {
    for (uint32_t i = 0; f && i < f->n; i++)
        if (f->names[i] && f->names[i]->kind == PDL_TREE_CONST && pdl_is_str(f->names[i]->value))
            pdl_checker_scope_add(c, pdl_str_get(f->names[i]->value));
}

static void collect_child(void *user, const pdl_block *child) {
    pdl_checker_scope_collect(user, child);
}

void pdl_checker_scope_collect(pdl_checker *c, const pdl_block *b) {
    pdl_checker_scope_add(c, b->def.s);
    for (uint32_t i = 0; i < b->rare->defs.n; i++) pdl_checker_scope_add(c, b->rare->defs.names[i]);
    if (b->kind == PDL_BLOCK_model) pdl_checker_scope_add(c, PDL_AS(model, b)->response.s);
    if (b->kind == PDL_BLOCK_repeat) {
        pdl_checker_scope_add(c, PDL_AS(repeat, b)->index.s);
        collect_fors(c, PDL_AS(repeat, b)->fors);
    }
    if (b->kind == PDL_BLOCK_match) {
        const pdl_cases *cases = &PDL_AS(match, b)->cases;
        for (uint32_t i = 0; i < cases->n; i++)
            if (cases->p[i].pattern) collect_pattern(c, cases->p[i].pattern);
    }
    if (b->kind == PDL_BLOCK_include) c->open_ended = c->open_ended || !c->opt->open;
    if (b->kind != PDL_BLOCK_function) pdl_block_each_child(b, collect_child, c);
}

/* --- walking an expression -------------------------------------------------------------------- */

typedef struct xwalk {
    void (*fn)(void *user, const pdl_xnode *x);
    void *user;
} xwalk;

static void walk_x(const xwalk *w, const pdl_xnode *x);

static void walk_list(const xwalk *w, const pdl_xnode *const *p, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) walk_x(w, p[i]);
}

static void walk_args(const xwalk *w, const pdl_xargs *a) {
    walk_list(w, a->pos, a->n_pos);
    walk_list(w, a->kw, a->n_kw);
    walk_x(w, a->star);
    walk_x(w, a->starstar);
}

/* Visits all parts but the next one of a chain of any length, which is returned. Does not enter
 * statements of templates. */
static const pdl_xnode *walk_parts(const xwalk *w, const pdl_xnode *x) {
    switch ((int)x->kind) {
    case PDL_X_ATTR: return x->u.access.obj;
    case PDL_X_ITEM: walk_x(w, x->u.access.key); return x->u.access.obj;
    case PDL_X_SLICE:
        walk_x(w, x->u.slice.from);
        walk_x(w, x->u.slice.to);
        return x->u.slice.step;
    case PDL_X_CALL: walk_args(w, &x->u.call.args); return x->u.call.obj;
    case PDL_X_FILTER:
    case PDL_X_TEST: walk_args(w, &x->u.filter.args); return x->u.filter.obj;
    case PDL_X_UNARY: return x->u.op.a;
    case PDL_X_BINARY:
    case PDL_X_AND:
    case PDL_X_OR: walk_x(w, x->u.op.b); return x->u.op.a;
    case PDL_X_COMPARE: walk_list(w, x->u.compare.rest, x->u.compare.n); return x->u.compare.first;
    case PDL_X_COND:
        walk_x(w, x->u.cond.test);
        walk_x(w, x->u.cond.yes);
        return x->u.cond.no;
    case PDL_X_LIST:
    case PDL_X_TUPLE:
    case PDL_X_CONCAT:
    case PDL_X_OUTPUT:
    case PDL_X_SEQ: walk_list(w, x->u.list.p, x->u.list.n); return NULL;
    case PDL_X_DICT:
        walk_list(w, x->u.dict.keys, x->u.dict.n);
        walk_list(w, x->u.dict.vals, x->u.dict.n);
        return NULL;
    default: return NULL;
    }
}

/* C depth follows nesting of expressions, which the reader bounds. */
static void walk_x(const xwalk *w, const pdl_xnode *x) {
    while (x) {
        w->fn(w->user, x);
        x = walk_parts(w, x);
    }
}

/* The name at the root of x.y.z, or NULL. */
static const pdl_xnode *root_name(const pdl_xnode *x) {
    while (x && (x->kind == PDL_X_ATTR || x->kind == PDL_X_ITEM)) x = x->u.access.obj;
    return x && x->kind == PDL_X_NAME ? x : NULL;
}

/* `x is defined`, `x | default(1)` and the like accept a name that nothing defines. */
static const pdl_xnode *guarded(const pdl_xnode *x) {
    static const char *const tests[] = {"defined", "undefined", "callable"}, *const filters[] = {
                                                                                 "default", "d"};
    if (x->kind == PDL_X_TEST) {
        for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
            if (pdl_str_is(x->u.filter.name, tests[i])) return root_name(x->u.filter.obj);
    } else if (x->kind == PDL_X_FILTER) {
        for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
            if (pdl_str_is(x->u.filter.name, filters[i])) return root_name(x->u.filter.obj);
    }
    return NULL;
}

static void add_guarded(void *user, const pdl_xnode *x) {
    const pdl_xnode *name = guarded(x);
    if (name) pdl_checker_scope_add(user, name->u.name);
}

void pdl_checker_scope_guards(pdl_checker *c, const pdl_tree *t) {
    if (!t || t->kind != PDL_TREE_EXPR) return;
    xwalk w = {add_guarded, c};
    walk_x(&w, t->expr->root);
}

/* --- one expression --------------------------------------------------------------------------- */

typedef struct seen {
    pdl_checker *c;
    const pdl_expr *e;
    const pdl_node *node;
    pdl_loc loc;
    pdl_str wanted;
    const pdl_xnode *found;
} seen;

static pdl_loc part_loc(const seen *s, uint32_t from, uint32_t to) {
    return s->node && s->node->kind == PDL_NODE_SCALAR && pdl_str_eq(s->node->text, s->e->source)
               ? pdl_node_text_loc(s->node, from, to)
               : s->loc;
}

static void find_name(void *user, const pdl_xnode *x) {
    seen *s = user;
    if (x->kind == PDL_X_NAME && !s->found && pdl_str_eq(x->u.name, s->wanted)) s->found = x;
}

static void find_unknown(void *user, const pdl_xnode *x) {
    seen *s = user;
    if ((x->kind != PDL_X_FILTER && x->kind != PDL_X_TEST) || !x->u.filter.unknown) return;
    bool filter = x->kind == PDL_X_FILTER;
    pdl_diag *d =
        pdl_checker_diag(s->c, filter ? PDL_RULE_filter_unknown : PDL_RULE_test_unknown, s->loc,
                         part_loc(s, x->start, x->end), "No %s named '%.*s' found.",
                         filter ? "filter" : "test", PDL_FMT(x->u.filter.name));
    pdl_str near = filter ? pdl_filter_near(x->u.filter.name) : pdl_test_near(x->u.filter.name);
    if (near.n) pdl_checker_hint(s->c, d, "did you mean '%.*s'?", PDL_FMT(near));
}

static void undefined(seen *s, pdl_str name) {
    pdl_checker *c = s->c;
    xwalk w = {find_name, s};
    s->wanted = name;
    s->found = NULL;
    walk_x(&w, s->e->root);
    pdl_loc mark = s->found ? part_loc(s, s->found->start, s->found->end) : s->loc;
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_name_undefined, s->loc, mark, "'%.*s' is undefined",
                                   PDL_FMT(name));
    pdl_str near = pdl_str_nearest(name, c->trail.p, c->trail.n);
    if (near.n) pdl_checker_hint(c, d, "did you mean '%.*s'?", PDL_FMT(near));
}

/* Index of the first free name of e from i on that is not in scope; n_free: none. */
static uint32_t next_undefined(const pdl_checker *c, const pdl_expr *e, uint32_t i) {
    while (i < e->n_free &&
           (pdl_checker_scope_has(c, e->free_names[i]) || pdl_global_find(e->free_names[i])))
        i++;
    return i;
}

static void report_inputs(const pdl_checker *c, const pdl_expr *e, uint32_t first, bool optional) {
    if (!c->opt->input) return;
    for (uint32_t i = next_undefined(c, e, first); i < e->n_free; i = next_undefined(c, e, i + 1))
        c->opt->input(c->opt->input_user, e->free_names[i], optional);
}

void pdl_checker_expr(pdl_checker *c, const pdl_expr *e, const pdl_node *node, pdl_loc loc) {
    if (c->quiet) return;
    seen s = {.c = c, .e = e, .node = node, .loc = loc};
    if (e->form == PDL_X_BROKEN) {
        pdl_diag *d = pdl_checker_diag(
            c, PDL_RULE_expr_syntax, loc, part_loc(&s, e->fault->start, e->fault->end),
            "Syntax error in %.*s: %.*s", PDL_FMT(e->source), PDL_FMT(e->fault->msg));
        if (e->fault->hint.n)
            pdl_checker_hint(c, d, "did you mean '%.*s'?", PDL_FMT(e->fault->hint));
        return;
    }
    if (!e->root) return;
    pdl_checker_lint_text(c, e->source, node, loc);
    xwalk w = {find_unknown, &s};
    if (e->has_unknown) walk_x(&w, e->root);
    if (c->opt->no_names || c->open_ended || c->outer_unknown) return;
    uint32_t first = next_undefined(c, e, 0);
    if (first == e->n_free) return;
    size_t mark = pdl_checker_scope_mark(c);
    xwalk g = {add_guarded, c};
    report_inputs(c, e, first, true);
    walk_x(&g, e->root);
    report_inputs(c, e, first, false);
    for (uint32_t i = next_undefined(c, e, first); i < e->n_free; i = next_undefined(c, e, i + 1))
        undefined(&s, e->free_names[i]);
    pdl_checker_scope_back(c, mark);
}
