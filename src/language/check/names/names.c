/* names.c -- finds the names that an expression reads, and checks that something may have defined
 * them before. Definitions are followed in the order of execution; what may have run counts as run.
 *
 * The check is lenient because a warning about a name that turns out to be defined costs more trust
 * than a missing warning. So names that are defined in a branch, a loop or a handler count as
 * defined, although this code may never run. Only a name that no path defines is reported.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/word_list.h"
#include "check/checker.h"
#include "lang/variables.h"
#include "lang/walk.h"
#include "native/native.h"

#include "base/banned.h"

/* --- definitions ------------------------------------------------------------------------------ */

/* Reports a definition without effect. `stdlib` and `pdl_usage` always have the values that the
 * interpreter gives them. Inside of ${ } the reference reads `range` and similar names as Jinja's
 * functions, even when the program defines these names. */
static void check_shadow(pdl_checker *c, pdl_str name, pdl_loc loc) {
    bool own = pdl_str_is(name, "stdlib") || pdl_str_is(name, "pdl_usage");
    if (c->quiet || (!own && !pdl_global_find(name))) return;
    pdl_checker_diag(c, PDL_RULE_name_shadowed, loc, loc,
                     own ? "'%.*s' is replaced by that of the interpreter"
                         : "'%.*s' is a function of templates, which the reference interpreter "
                           "reads instead of this one",
                     PDL_FMT(name));
}

void pdl_checker_define(pdl_checker *c, pdl_def_kind kind, pdl_str name, const pdl_ty *type,
                        pdl_loc loc) {
    if (!name.p) return;
    if (kind != PDL_DEF_PREDEFINED && kind != PDL_DEF_OUTSIDE && kind != PDL_DEF_INCLUDED)
        check_shadow(c, name, loc);
    if (kind == PDL_DEF_FOR || kind == PDL_DEF_PARAMETER || kind == PDL_DEF_DEFS)
        pdl_checker_lint_name(c, name, loc, loc);
    pdl_binding *b = pdl_scope_define(&c->scope, kind, name, type, loc);
    b->is_assumed = kind == PDL_DEF_PARAMETER || c->assumed;
    const pdl_check_watch *w = c->opt->watch;
    if (w && w->define && !c->quiet) w->define(w->user, &b->def);
}

bool pdl_checker_has(const pdl_checker *c, pdl_str name) {
    return pdl_scope_binding(&c->scope, name) != NULL;
}

void pdl_checker_predefine(pdl_checker *c) {
    static const struct {
        const char *name;
        const pdl_ty *type;
    } names[] = {{"pdl_context", &pdl_ty_context},
                 {"pdl_particle_id", &pdl_ty_int},
                 {"pdl_llm_as_judge", &pdl_ty_str},
                 {"pdl_llm_context_transformer", &pdl_ty_str},
                 {"pdl_model_default_parameters", &pdl_ty_list},
                 {"stdlib", &pdl_ty_any},
                 {"pdl_usage", &pdl_ty_any},
                 {"pdl_scope", &pdl_ty_any}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        pdl_checker_define(c, PDL_DEF_PREDEFINED, pdl_str_of(names[i].name), names[i].type,
                           (pdl_loc){0});
}

void pdl_checker_leave(pdl_checker *c, size_t mark) {
    for (size_t i = mark; i < c->scope.log.n && !c->reads_all && !c->quiet; i++) {
        pdl_binding *b = pdl_scope_logged(&c->scope, i);
        if (!b || b->is_used || !b->is_local || !b->def.loc.src) continue;
        if (b->def.name.n && b->def.name.p[0] == '_') continue;
        b->is_used = true; /* so another branch does not report the name again */
        pdl_checker_diag(c, PDL_RULE_name_unused, b->def.loc, b->def.loc,
                         "nothing reads '%.*s', which ends with the function or iteration",
                         PDL_FMT(b->def.name));
    }
    pdl_scope_back(&c->scope, mark);
}

/* --- what is defined inside of the body of a loop --------------------------------------------- */

static void loosen(pdl_checker *c, pdl_str name) {
    if (!name.p) return;
    if (pdl_scope_binding(&c->scope, name))
        pdl_scope_forget(&c->scope, name, false);
    else
        pdl_scope_define(&c->scope, PDL_DEF_VARIABLE, name, &pdl_ty_any, (pdl_loc){0});
    pdl_scope_binding(&c->scope, name)->is_used = true; /* the next iteration may read the name */
}

static void loosen_result(void *user, const pdl_variable *v) {
    if (v->value) loosen(user, v->name);
}

static void loosen_variable(void *user, const pdl_variable *v) { loosen(user, v->name); }

static void loosen_child(void *user, const pdl_block *child) {
    pdl_checker_loosen_body(user, child);
}

static void loosen_changed(void *user, const pdl_xnode *x);

static void loosen_tree(pdl_checker *c, const pdl_tree *t);

void pdl_checker_loosen_body(pdl_checker *c, const pdl_block *b) {
    /* after a function or a map, only the variables of its `def` and `defs` may be visible */
    bool encloses = b->kind == PDL_BLOCK_function || b->kind == PDL_BLOCK_map;
    pdl_block_each_variable(b, encloses ? loosen_result : loosen_variable, c);
    if (b->kind == PDL_BLOCK_scalar) loosen_tree(c, PDL_AS(scalar, b)->value);
    if (b->kind == PDL_BLOCK_data) loosen_tree(c, PDL_AS(data, b)->data);
    if (b->kind == PDL_BLOCK_include) c->open_ended = c->open_ended || !c->opt->open;
    if (b->kind == PDL_BLOCK_code) c->scope.epoch++;
    if (b->kind != PDL_BLOCK_function) pdl_block_each_child(b, loosen_child, c);
}

/* Forgets the value of l at `l.append(x)` anywhere in a tree. */
static void loosen_changed(void *user, const pdl_xnode *x) {
    pdl_checker *c = user;
    const pdl_xnode *f = x->kind == PDL_X_CALL ? x->u.call.obj : NULL;
    if (!f || f->kind != PDL_X_ATTR) return;
    while (f && (f->kind == PDL_X_ATTR || f->kind == PDL_X_ITEM)) f = f->u.access.obj;
    if (f && f->kind == PDL_X_NAME && pdl_scope_binding(&c->scope, f->u.name)) loosen(c, f->u.name);
}

static void loosen_tree(pdl_checker *c, const pdl_tree *t) {
    if (!t || t->kind == PDL_TREE_CONST) return;
    if (t->kind == PDL_TREE_EXPR) {
        const pdl_expr *e = pdl_tree_expr(t);
        if (e->has_call) pdl_xnode_each_plain(e->root, loosen_changed, c);
        return;
    }
    for (uint32_t i = 0; i < t->n; i++) loosen_tree(c, t->items[i]);
}

/* Returns the name at the root of x.y.z, or NULL. */
static const pdl_xnode *root_name(const pdl_xnode *x) {
    while (x && (x->kind == PDL_X_ATTR || x->kind == PDL_X_ITEM)) x = x->u.access.obj;
    return x && x->kind == PDL_X_NAME ? x : NULL;
}

/* Returns the name that `x is defined`, `x | default(1)` and the like accept without a
 * definition. */
static const pdl_xnode *guarded(const pdl_xnode *x) {
    static const char *const tests[] = {"defined", "undefined", "callable"};
    static const char *const filters[] = {"default", "d"};
    bool guards = (x->kind == PDL_X_TEST && PDL_STR_IN(x->u.filter.name, tests)) ||
                  (x->kind == PDL_X_FILTER && PDL_STR_IN(x->u.filter.name, filters));
    return guards ? root_name(x->u.filter.obj) : NULL;
}

static void add_guarded(void *user, const pdl_xnode *x) {
    pdl_checker *c = user;
    const pdl_xnode *name = guarded(x);
    if (!name || pdl_checker_has(c, name->u.name)) return;
    pdl_scope_define(&c->scope, PDL_DEF_OUTSIDE, name->u.name, &pdl_ty_any, (pdl_loc){0});
}

/* Narrows the name that a condition tests, compares with null or uses as a truth value. */
static void narrow_one(void *user, const pdl_xnode *x) {
    pdl_checker *c = user;
    const pdl_xnode *name = NULL;
    if (x->kind == PDL_X_TEST || x->kind == PDL_X_FILTER) name = root_name(x->u.filter.obj);
    if (x->kind == PDL_X_COMPARE) {
        name = root_name(x->u.compare.first);
        for (uint32_t i = 0; i < x->u.compare.n; i++) {
            const pdl_xnode *other = root_name(x->u.compare.rest[i]);
            if (other) pdl_scope_forget(&c->scope, other->u.name, true);
        }
    }
    if (x->kind == PDL_X_NAME || x->kind == PDL_X_ATTR || x->kind == PDL_X_ITEM)
        name = root_name(x);
    if (name) pdl_scope_forget(&c->scope, name->u.name, true);
}

void pdl_checker_narrow(pdl_checker *c, const pdl_xnode *x) {
    pdl_xnode_each_plain(x, narrow_one, c);
}

void pdl_checker_guards(pdl_checker *c, const pdl_tree *t) {
    if (t && t->kind == PDL_TREE_EXPR) pdl_xnode_each_plain(pdl_tree_expr(t)->root, add_guarded, c);
}

/* --- one expression --------------------------------------------------------------------------- */

typedef struct seen {
    pdl_checker *c;
    const pdl_expr *e;
    const pdl_node *node;
    pdl_loc loc;
    pdl_str wanted;
    const pdl_xnode *found;
    bool lenient; /* a template: an undefined name prints as nothing */
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

/* Suggests the name in scope that is most like `name`, which is not in scope. */
void pdl_checker_suggest(pdl_checker *c, pdl_diag *d, pdl_loc mark, pdl_str name) {
    if (!d || !pdl_checker_may_suggest(c)) return;
    PDL_VEC(pdl_str) names = {0};
    for (size_t i = 0; i < c->scope.names.n; i++)
        if (c->scope.names.p[i].now) *pdl_vec_push(&names) = c->scope.names.p[i].name;
    pdl_str near = pdl_str_nearest(name, names.p, names.n);
    pdl_vec_fini(&names);
    if (!near.n) return;
    /* near is probably meant here, so it is not reported as unused */
    pdl_scope_binding(&c->scope, near)->is_used = true;
    pdl_checker_hint(c, d, "did you mean '%.*s'?", PDL_FMT(near));
    if (mark.src && mark.end - mark.start == name.n) pdl_program_edit(c->p, d, mark, near);
}

/* Returns the variable whose name begins with `name` and a dash, when the expression has it as a
 * subtraction, or an empty text. */
static pdl_str dashed_variable(pdl_checker *c, const seen *s, pdl_str name) {
    size_t from = 0;
    pdl_str whole;
    do whole = pdl_dashed_name(s->e->source, name, &from);
    while (whole.n && !pdl_checker_has(c, whole));
    return whole;
}

/* Suggests what to write instead of a function of another language, such as len(x), or of a
 * misspelt name. */
static void suggest(pdl_checker *c, const seen *s, pdl_diag *d, pdl_loc mark, pdl_str name) {
    pdl_buf other = PDL_BUF;
    pdl_loc where;
    if (!d || !pdl_checker_may_suggest(c)) return; /* each suggestion walks through the program */
    unsigned used = pdl_xnode_uses(s->e->root, name);
    pdl_name_advise(name, used & PDL_USED_CALLED, used & PDL_USED_DOTTED, &other);
    pdl_str dashed = dashed_variable(c, s, name);
    if (dashed.n)
        pdl_checker_hint(c, d, PDL_DASH, PDL_FMT(dashed));
    else if (pdl_program_sets_later(c->p, name, s->loc, &where))
        pdl_checker_hint(c, d, PDL_SETS_LATER, PDL_FMT(name), pdl_loc_line(where));
    else if (other.len)
        pdl_checker_hint(c, d, "%s", pdl_buf_z(&other));
    else
        pdl_checker_suggest(c, d, mark, name);
    pdl_buf_fini(&other);
}

/* Finds out whether an expression must fail when the name is not defined. */
typedef struct need {
    pdl_str name;
    struct {
        uint32_t start, end;
    } part[32]; /* parts that a run may skip, or that accept a name without a value */
    uint32_t n;
    bool found; /* the name is read outside of the parts in `part` */
} need;

static void add_part(need *d, const pdl_xnode *x) {
    enum { MAX = sizeof d->part / sizeof *d->part };
    if (!x || d->n > MAX) return;
    if (d->n < MAX) {
        d->part[d->n].start = x->start;
        d->part[d->n].end = x->end;
    }
    d->n++; /* n is MAX + 1 when there are too many parts; the name then does not count as needed */
}

static void find_parts(void *user, const pdl_xnode *x) {
    static const char *const tests[] = {"none",    "string", "number",  "boolean",
                                        "integer", "float",  "mapping", "sequence",
                                        "sameas",  "true",   "false"};
    need *d = user;
    if (x->kind == PDL_X_TEST && PDL_STR_IN(x->u.filter.name, tests) &&
        x->u.filter.obj->kind == PDL_X_NAME)
        add_part(d, x->u.filter.obj);
    if (x->kind == PDL_X_COND) {
        add_part(d, x->u.cond.yes);
        add_part(d, x->u.cond.no);
    }
    if (x->kind == PDL_X_AND || x->kind == PDL_X_OR) add_part(d, x->u.op.b);
    if (x->kind == PDL_X_LIST || x->kind == PDL_X_TUPLE)
        for (uint32_t i = 0; i < x->u.list.n; i++)
            if (x->u.list.p[i]->kind == PDL_X_NAME) add_part(d, x->u.list.p[i]);
    if (x->kind == PDL_X_DICT)
        for (uint32_t i = 0; i < x->u.dict.n; i++)
            if (x->u.dict.vals[i]->kind == PDL_X_NAME) add_part(d, x->u.dict.vals[i]);
}

static void find_need(void *user, const pdl_xnode *x) {
    need *d = user;
    if (x->kind != PDL_X_NAME || !pdl_str_eq(x->u.name, d->name)) return;
    for (uint32_t i = 0; i < d->n; i++)
        if (d->part[i].start <= x->start && x->end <= d->part[i].end) return;
    d->found = true;
}

static bool is_needed(const pdl_expr *e, pdl_str name) {
    need d = {.name = name};
    pdl_xnode_each(e->root, find_parts, &d);
    if (d.n > sizeof d.part / sizeof *d.part) return false;
    pdl_xnode_each(e->root, find_need, &d);
    return d.found;
}

static void undefined(seen *s, pdl_str name) {
    pdl_checker *c = s->c;
    s->wanted = name;
    s->found = NULL;
    pdl_xnode_each(s->e->root, find_name, s);
    pdl_loc mark = s->found ? part_loc(s, s->found->start, s->found->end) : s->loc;
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_name_undefined, s->loc, mark, "'%.*s' is undefined",
                                   PDL_FMT(name));
    if (d && c->opt->closed && !c->caught && !c->dead && !s->lenient && is_needed(s->e, name)) {
        d->severity = PDL_DIAG_ERROR;
        d->certain = c->sure && s->found && s->e->form == PDL_X_NATIVE && s->e->root == s->found;
    }
    suggest(c, s, d, mark, name);
}

/* Returns the index, from i on, of the first free name of e that is neither in scope nor a global
 * function of templates. Returns n_free when there is no such name. */
static uint32_t next_undefined(const pdl_checker *c, const pdl_expr *e, uint32_t i) {
    while (i < e->n_free &&
           (pdl_checker_has(c, e->free_names[i]) || pdl_global_find(e->free_names[i])))
        i++;
    return i;
}

static void report_inputs(const pdl_checker *c, const pdl_expr *e, uint32_t first, bool optional) {
    if (!c->opt->input) return;
    for (uint32_t i = next_undefined(c, e, first); i < e->n_free; i = next_undefined(c, e, i + 1))
        c->opt->input(c->opt->input_user, e->free_names[i], optional);
}

void pdl_checker_free_names(pdl_checker *c, const pdl_expr *e, const pdl_node *node, pdl_loc loc,
                            bool lenient) {
    seen s = {.c = c, .e = e, .node = node, .loc = loc, .lenient = lenient};
    if (c->quiet || c->opt->no_names || c->open_ended || c->outer_unknown) return;
    uint32_t first = next_undefined(c, e, 0);
    if (first == e->n_free) return;
    size_t mark = pdl_scope_mark(&c->scope);
    if (!lenient) report_inputs(c, e, first, true);
    (lenient ? pdl_xnode_each : pdl_xnode_each_plain)(e->root, add_guarded, c);
    if (!lenient) report_inputs(c, e, first, false);
    for (uint32_t i = next_undefined(c, e, first); i < e->n_free; i = next_undefined(c, e, i + 1))
        undefined(&s, e->free_names[i]);
    pdl_scope_back(&c->scope, mark);
}

bool pdl_check_is_builtin(pdl_str name) { return pdl_global_find(name) != NULL; }
