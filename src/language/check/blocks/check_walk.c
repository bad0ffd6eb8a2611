/* check_walk.c -- see check.h: a walk over all blocks in the order of execution, and the checks
 * that all kinds of blocks have in common: definitions, attempts and fallback, contributions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <assert.h>

#include "check/checker.h"
#include "lang/walk.h"

#include "base/banned.h"

/* Returns true when t calls nothing, so that computing t again, or not at all, makes no difference.
 * The recursion is as deep as the nesting of the YAML source. */
static bool is_pure_tree(const pdl_tree *t) {
    if (!t || t->kind == PDL_TREE_CONST) return true;
    if (t->kind == PDL_TREE_EXPR) return !pdl_tree_expr(t)->has_call;
    for (uint32_t i = 0; i < t->n; i++)
        if (!is_pure_tree(t->items[i])) return false;
    return true;
}

static bool is_pure(const pdl_block *b) {
    if (b->rare->defs.n || b->rare->spec.type || b->rare->parser) return false;
    if (b->kind == PDL_BLOCK_scalar) return is_pure_tree(PDL_AS(scalar, b)->value);
    if (b->kind == PDL_BLOCK_data) return is_pure_tree(PDL_AS(data, b)->data);
    return b->kind == PDL_BLOCK_function;
}

/* --- definitions ------------------------------------------------------------------------------ */

/* Returns the place of the key of the i-th entry of a mapping of blocks. When the field is not a
 * mapping with this entry, returns the place of the field. */
static pdl_loc entry_loc(const pdl_block *b, const char *field, uint32_t i, pdl_str name) {
    const pdl_node *n = pdl_node_find(b->node, pdl_str_of(field), NULL);
    if (n && n->kind == PDL_NODE_MAP && i < n->n && pdl_str_eq(n->pairs[i].key->text, name))
        return pdl_node_loc(n->pairs[i].key);
    return pdl_field_loc(b, field);
}

/* Checks definitions. Names that are defined inside of a definition are not visible after it. */
static PDL_NOINLINE void check_defs(pdl_checker *c, const pdl_block *b) {
    const pdl_blocks *defs = &b->rare->defs;
    for (uint32_t i = 0; i < defs->n; i++) {
        size_t mark = pdl_scope_mark(&c->scope);
        const pdl_ty *t = pdl_checker_block(c, defs->p[i], defs->names[i]);
        pdl_scope_back(&c->scope, mark);
        pdl_checker_define(c, PDL_DEF_DEFS, defs->names[i], t,
                           entry_loc(b, "defs", i, defs->names[i]));
        pdl_scope_binding(&c->scope, defs->names[i])->is_local = c->local && is_pure(defs->p[i]);
    }
}

static PDL_NOINLINE void check_record(pdl_checker *c, pdl_record record, const void *base) {
    size_t n;
    const pdl_record_part *parts = pdl_record_parts(record, &n);
    for (size_t i = 0; i < n; i++) pdl_checker_tree(c, pdl_record_part_at(base, &parts[i]));
}

/* Checks `endorse`. Only the expressions of this field can read the tested result, as pdl_value.
 */
static PDL_NOINLINE void check_endorse(pdl_checker *c, const pdl_endorse_field *endorse) {
    size_t mark = pdl_scope_mark(&c->scope);
    pdl_checker_define(c, PDL_DEF_PREDEFINED, PDL_STR("pdl_value"), &pdl_ty_any, (pdl_loc){0});
    check_record(c, PDL_RECORD_endorse, endorse);
    pdl_scope_back(&c->scope, mark);
}

static PDL_NOINLINE void check_expectations(pdl_checker *c, const pdl_block *b) {
    const pdl_expectations *all = &b->rare->expectations;
    for (uint32_t i = 0; i < all->n; i++) {
        pdl_checker_tree(c, all->p[i].expect);
        pdl_checker_tree(c, all->p[i].feedback);
        size_t mark = pdl_scope_mark(&c->scope);
        if (all->p[i].feedback_block) pdl_checker_block(c, all->p[i].feedback_block, (pdl_str){0});
        pdl_scope_back(&c->scope, mark);
    }
}

/* --- attempts --------------------------------------------------------------------------------- */

static PDL_NOINLINE const pdl_ty *attempt(pdl_checker *c, const pdl_block *b, pdl_str self) {
    const pdl_ty *t = pdl_checker_kind(c, b, self);
    if (b->rare->parser) t = pdl_checker_parsed(c, b, t);
    if (b->rare->spec.type && b->kind != PDL_BLOCK_function) t = pdl_checker_fitted(c, b, t);
    if (b->rare->endorse) check_endorse(c, b->rare->endorse);
    if (b->rare->expectations.n) check_expectations(c, b);
    return t;
}

/* Checks the attempt and the fallback as two branches, and returns the join of their types. */
static PDL_NOINLINE const pdl_ty *with_fallback(pdl_checker *c, const pdl_block *b, pdl_str self) {
    pdl_branches branches;
    bool sure = c->sure;
    pdl_branches_begin(&c->scope, &branches);
    c->caught++;
    const pdl_ty *t = attempt(c, b, self);
    c->caught--;
    pdl_branches_next(&c->scope, &branches);
    c->sure = false;
    pdl_checker_define(c, PDL_DEF_PREDEFINED, PDL_STR("pdl_error"), &pdl_ty_any, (pdl_loc){0});
    const pdl_ty *other = pdl_checker_block(c, b->rare->fallback, (pdl_str){0});
    if (b->rare->spec.type && b->kind != PDL_BLOCK_function) {
        /* a fallback rarely runs, and often its value misfits on purpose, so its problems are
         * warnings */
        c->caught++;
        other = pdl_checker_fitted(c, b, other);
        c->caught--;
    }
    c->sure = sure;
    pdl_branches_next(&c->scope, &branches);
    pdl_branches_end(&c->scope, &branches);
    return pdl_ty_join(pdl_checker_arena(c), t, other);
}

/* --- contributions ---------------------------------------------------------------------------- */

static void undefined_target(pdl_checker *c, const pdl_contribute *k) {
    static const pdl_str words[] = {{"result", 6}, {"context", 7}, {"stdout", 6}, {"stderr", 6}};
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_name_undefined, k->loc, pdl_node_loc(k->node),
                                   "'%.*s' is undefined", PDL_FMT(k->name));
    if (d && c->opt->closed && !c->caught && !c->dead) d->severity = PDL_DIAG_ERROR;
    pdl_str near = pdl_str_nearest(k->name, words, 4);
    if (near.n) pdl_checker_hint(c, d, "did you mean '%.*s'?", PDL_FMT(near));
}

static void check_target(pdl_checker *c, const pdl_contribute *k) {
    pdl_binding *b = pdl_scope_binding(&c->scope, k->name);
    if (!b) {
        if (!c->open_ended && !c->outer_unknown && !c->opt->no_names) undefined_target(c, k);
        return;
    }
    b->is_used = true;
    if (b->def.type->kinds & (PDL_TY_AGGREGATOR | PDL_TY_OTHER)) return;
    pdl_buf shown = PDL_BUF;
    pdl_ty_show(b->def.type, &shown);
    pdl_checker_diag(c, PDL_RULE_aggregator_type, k->loc, pdl_node_loc(k->node),
                     "'%.*s' is no aggregator but %.*s", PDL_FMT(k->name),
                     PDL_FMT(pdl_buf_str(&shown)));
    pdl_buf_fini(&shown);
}

/* Reports a value that is computed without any effect and not used. */
static void check_lost(pdl_checker *c, const pdl_block *b) {
    const pdl_contributes *k = &b->contribute;
    if (!k->given || k->n || b->def.s.p || !is_pure(b)) return;
    pdl_loc loc = pdl_field_loc(b, "contribute");
    pdl_checker_diag(c, PDL_RULE_contribute_nothing, loc, loc,
                     "the value goes nowhere: `contribute` is empty and there is no `def`");
}

static PDL_NOINLINE void check_contribute(pdl_checker *c, const pdl_block *b) {
    check_lost(c, b);
    for (uint32_t i = 0; i < b->contribute.n; i++) {
        const pdl_contribute *k = &b->contribute.p[i];
        const pdl_ty *value = k->value ? pdl_checker_tree(c, k->value) : NULL;
        if (value && k->target == PDL_TO_CONTEXT)
            pdl_checker_context(c, value, k->value->node, k->value->loc,
                                k->value->node ? pdl_node_loc(k->value->node) : k->value->loc,
                                false);
        if (k->target == PDL_TO_INVALID)
            pdl_checker_diag(
                c, PDL_RULE_contribute, k->loc, pdl_node_loc(k->node),
                "Contributions are expected to be strings or dictionaries of length 1");
        if (k->target == PDL_TO_NAME) check_target(c, k);
        for (uint32_t j = 0; j < i && i < 16; j++)
            if (b->contribute.p[j].target == k->target && k->target != PDL_TO_NAME && !k->value &&
                !b->contribute.p[j].value)
                pdl_checker_diag(c, PDL_RULE_contribute_nothing, k->loc, pdl_node_loc(k->node),
                                 "`contribute` names this target twice");
    }
}

/* --- a block ---------------------------------------------------------------------------------- */

const pdl_ty *pdl_checker_block(pdl_checker *c, const pdl_block *b, pdl_str self) {
    const pdl_check_watch *w = c->quiet ? NULL : c->opt->watch;
    bool assumed = c->assumed;
    c->assumed = false;
    if (w && w->before) w->before(w->user, b, c);
    pdl_checker_lint_block(c, b);
    if (b->rare->budget) pdl_checker_budget(c, b->rare->budget);
    if (b->rare->defs.n) check_defs(c, b);
    pdl_checker_retry(c, b);
    const pdl_ty *t = b->rare->fallback ? with_fallback(c, b, self) : attempt(c, b, self);
    if (b->def.s.p)
        pdl_checker_define(c, PDL_DEF_VARIABLE, b->def.s, t, pdl_checker_value_loc(b, "def"));
    if (b->contribute.given) check_contribute(c, b);
    if (w && w->after) w->after(w->user, b, c, t);
    c->assumed = c->assumed || assumed;
    return b->contribute.given && !b->contribute.result ? &pdl_ty_str : t;
}

/* Removes problems that follow from other problems of a program that did not load: when a key is
 * misspelt, its field is not reported as missing, too. */
static void leave_causes(pdl_program *p) {
    size_t kept = 0;
    for (size_t i = 0; i < p->diags.n; i++)
        if (!p->diags.p[i].follows) p->diags.p[kept++] = p->diags.p[i];
    p->diags.n = kept;
}

bool pdl_checker_ok(const pdl_checker *c) {
    return !c->spine.n && !c->in_code && !c->in_jinja && !c->local;
}

void pdl_program_check(pdl_program *p, const pdl_check_options *opt) {
    if (!p->main) {
        leave_causes(p);
        return;
    }
    pdl_modules modules = {0};
    pdl_checker c = {.p = p, .opt = opt, .modules = &modules, .sure = true};
    c.scope.arena = pdl_arena_make();
    pdl_checker_predefine(&c);
    for (size_t i = 0; i < opt->n_names; i++)
        pdl_checker_define(&c, PDL_DEF_OUTSIDE, opt->names[i],
                           opt->kinds && opt->kinds[i]
                               ? pdl_ty_of_kinds(c.scope.arena, opt->kinds[i])
                               : &pdl_ty_any,
                           (pdl_loc){0});
    if (!opt->no_lint) {
        pdl_checker_lint_keys(&c, p->root);
        pdl_checker_lint_program(&c, p->main);
    }
    pdl_checker_block(&c, p->main, (pdl_str){0});
    assert(pdl_checker_ok(&c) && c.sure && !c.dead && !c.caught);
    pdl_checker_modules_fini(&modules, p);
    pdl_scope_state_fini(&c.scope);
    pdl_arena_free(c.scope.arena);
    pdl_vec_fini(&c.spine);
    pdl_checker_forget_prompts(&c);
    pdl_checker_settle(p, opt);
    pdl_program_sort_diags(p);
}

pdl_program *pdl_program_copy(pdl_program *p) {
    pdl_program *own = pdl_program_new();
    own->source = p->source;
    own->root = p->root;
    own->main = p->main;
    own->has_profiles = p->has_profiles;
    own->yaml_failed = p->yaml_failed;
    for (size_t i = 0; i < p->diags.n; i++) *pdl_vec_push(&own->diags) = p->diags.p[i];
    *pdl_vec_push(&own->others) = pdl_program_keep(p);
    return own;
}

pdl_program *pdl_program_checked_module(const pdl_program *p, pdl_str name, pdl_str text) {
    for (size_t i = 0; i < p->others.n; i++) {
        pdl_program *m = p->others.p[i];
        if (m->main && m->source && pdl_str_eq(m->source->name, name) &&
            pdl_str_eq(m->source->text, text))
            return m;
    }
    return NULL;
}

const pdl_diag *pdl_program_certain_error(const pdl_program *p) {
    for (size_t i = 0; i < p->diags.n; i++)
        if (p->diags.p[i].certain && p->diags.p[i].severity == PDL_DIAG_ERROR)
            return &p->diags.p[i];
    return NULL;
}
