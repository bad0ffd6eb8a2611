/* match_cases.c -- `match`: finds the patterns that can fit a value of a type, and the types of
 * their variables.
 *
 * Kinds, fields and the values of an enum are compared: a case for another value of the same kind
 * is no mistake.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "base/word_list.h"
#include "check/checker.h"
#include "lang/fields.h"
#include "value/text.h"

#include "base/banned.h"

enum {
    OPAQUE = PDL_TY_OTHER | PDL_TY_UNDEFINED,
    SEQUENCES = PDL_TY_LIST | PDL_TY_TUPLE | PDL_TY_STR | PDL_TY_CONTEXT | PDL_TY_RANGE,
    MAX_COMPARED = 64 /* the number of earlier cases with which a case is compared */
};

/* --- patterns --------------------------------------------------------------------------------- */

static const pdl_ty *part_of(pdl_arena *a, const pdl_ty *t, pdl_str key) {
    bool known;
    const pdl_ty *x = pdl_ty_field_of(a, t, key, &known);
    return x ? x : &pdl_ty_any;
}

static bool array_may_fit(pdl_arena *a, const pdl_pattern *p, const pdl_ty *t);
static bool object_may_fit(pdl_arena *a, const pdl_pattern *p, const pdl_ty *t);

static bool may_fit(pdl_arena *a, const pdl_pattern *p, const pdl_ty *t) {
    if (t->kinds & OPAQUE) return true;
    switch (p->kind) {
    case PDL_PAT_CONST: {
        uint32_t kind = pdl_ty_of_value(a, p->value)->kinds;
        if (kind & PDL_TY_NUMBER) kind = PDL_TY_NUMBER; /* 1 == 1.0 == true */
        return (t->kinds & kind) != 0 && pdl_ty_may_be(t, p->value);
    }
    case PDL_PAT_ANY: return true;
    case PDL_PAT_ANYOF:
        for (uint32_t i = 0; i < p->n; i++)
            if (may_fit(a, p->items[i], t)) return true;
        return p->n == 0;
    case PDL_PAT_ARRAY: return array_may_fit(a, p, t);
    case PDL_PAT_OBJECT: return object_may_fit(a, p, t);
    }
    return true;
}

/* Returns true when an array pattern may match a value of the type: a list of the same length. */
static bool array_may_fit(pdl_arena *a, const pdl_pattern *p, const pdl_ty *t) {
    if (!(t->kinds & SEQUENCES)) return false;
    if (t->kinds != PDL_TY_LIST) return true;
    if (t->has_value && pdl_list_len(t->value) != p->n) return false;
    if (!t->has_value && (p->n < t->least || (t->sized && p->n > t->least))) return false;
    for (uint32_t i = 0; i < p->n; i++)
        if (!may_fit(a, p->items[i], pdl_ty_items(a, t))) return false;
    return true;
}

static bool object_may_fit(pdl_arena *a, const pdl_pattern *p, const pdl_ty *t) {
    if (!(t->kinds & PDL_TY_DICT)) return false;
    if (t->kinds != PDL_TY_DICT || t->has_value) return true;
    for (uint32_t i = 0; i < p->n; i++) {
        bool known;
        const pdl_ty *x = pdl_ty_field_of(a, t, p->keys[i], &known);
        if (x ? !may_fit(a, p->items[i], x) : known) return false;
    }
    return true;
}

static void bind(pdl_checker *c, const pdl_pattern *p, const pdl_ty *t) {
    pdl_arena *a = pdl_checker_arena(c);
    if (p->kind == PDL_PAT_CONST) t = pdl_ty_of_kinds(a, t->kinds);
    for (uint32_t i = 0; i < p->n; i++) {
        const pdl_ty *part = p->kind == PDL_PAT_ANYOF    ? t
                             : p->kind == PDL_PAT_OBJECT ? part_of(a, t, p->keys[i])
                             : p->kind == PDL_PAT_ARRAY  ? pdl_ty_items(a, t)
                                                         : &pdl_ty_any;
        bind(c, p->items[i], part);
    }
    if (!p->def.p) return;
    const pdl_node *n = p->node && p->node->kind == PDL_NODE_MAP
                            ? pdl_node_find(p->node, PDL_STR("def"), NULL)
                            : NULL;
    pdl_checker_define(c, PDL_DEF_PATTERN, p->def, t, n ? pdl_node_loc(n) : p->loc);
}

/* --- cases ------------------------------------------------------------------------------------ */

static bool is_always(const pdl_case *k) {
    return !k->cond && (!k->pattern || k->pattern->kind == PDL_PAT_ANY);
}

/* Returns true when the pattern fits every value that is equal to the constant. */
static bool takes(const pdl_pattern *p, pdl_vref value) {
    if (p->kind == PDL_PAT_CONST) return pdl_val_eq(p->value, value);
    for (uint32_t i = 0; p->kind == PDL_PAT_ANYOF && i < p->n; i++)
        if (takes(p->items[i], value)) return true;
    return p->kind == PDL_PAT_ANY;
}

/* Returns true when an earlier case fits every value that this case fits. */
static bool is_taken(const pdl_cases *cases, uint32_t at) {
    const pdl_case *k = &cases->p[at];
    for (uint32_t i = at > MAX_COMPARED ? at - MAX_COMPARED : 0; i < at; i++) {
        const pdl_case *before = &cases->p[i];
        if (is_always(before)) return true;
        if (!before->cond && k->pattern && k->pattern->kind == PDL_PAT_CONST &&
            takes(before->pattern, k->pattern->value))
            return true;
    }
    return false;
}

/* Returns true for `case: '> 5'`, which is a text. */
static bool is_comparison(pdl_str s) {
    size_t at = 1;
    if (!s.n || !pdl_byte_in(s.p[0], PDL_STR("<>=!"))) return false;
    while (at < s.n && pdl_byte_in(s.p[at], PDL_STR("= -"))) at++;
    return at < s.n && s.p[at] >= '0' && s.p[at] <= '9';
}

static bool hint_comparison(pdl_checker *c, pdl_diag *d, pdl_str s) {
    if (!is_comparison(s)) return false;
    pdl_checker_hint(c, d, "a pattern compares nothing: write `if: ${ x %.*s }` in place of `case`",
                     PDL_FMT(pdl_utf8_cut(s, 40)));
    return true;
}

/* Reports `case: _` and `case: ${ x }`. They fit only the texts "_" and "${ x }", although the
 * author meant any value and the value of x. */
static bool check_text(pdl_checker *c, const pdl_cases *cases, uint32_t i) {
    static const char *const words[] = {"_", "*", "default", "else", "otherwise"};
    const pdl_pattern *p = cases->p[i].pattern;
    if (!p || p->kind != PDL_PAT_CONST || !pdl_is_str(p->value)) return false;
    pdl_str s = pdl_str_get(p->value);
    bool everything = PDL_STR_IN(s, words);
    bool expr = pdl_str_find(s, PDL_STR("${"), 0) != PDL_NOT_FOUND;
    bool is_mark = pdl_str_is(s, "_") || pdl_str_is(s, "*");
    bool compares = is_comparison(s), several = pdl_str_find(s, PDL_STR(" | "), 0) != PDL_NOT_FOUND;
    if (!expr && !compares && !several && !(everything && (is_mark || i + 1 == cases->n)))
        return false;
    pdl_loc mark = p->node ? pdl_node_loc(p->node) : cases->p[i].loc;
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_case_text, cases->p[i].loc, mark,
                                   "`case` fits the text '%.*s' and nothing else",
                                   PDL_FMT(pdl_utf8_cut(s, 60)));
    if (compares)
        hint_comparison(c, d, s);
    else if (several && !expr)
        pdl_checker_hint(c, d, "several values are {anyOf: [a, b]}");
    else
        pdl_checker_hint(c, d,
                         expr ? "patterns are not evaluated: a condition is `if: ${ ... }`"
                              : "a case without `case` fits everything: - then: ...");
    return true;
}

/* Suggests the value of an enum that is most like the text of a pattern. */
static void suggest_choice(pdl_checker *c, pdl_diag *d, const pdl_pattern *p, const pdl_ty *t) {
    pdl_str names[MAX_COMPARED];
    size_t n = 0;
    if (!d || p->kind != PDL_PAT_CONST || !pdl_is_str(p->value)) return;
    if (hint_comparison(c, d, pdl_str_get(p->value)) || !t->is_choice) return;
    for (size_t i = 0; i < pdl_list_len(t->choices) && n < MAX_COMPARED; i++)
        if (pdl_is_str(pdl_list_at(t->choices, i)))
            names[n++] = pdl_str_get(pdl_list_at(t->choices, i));
    pdl_str near = pdl_str_nearest(pdl_str_get(p->value), names, n);
    if (near.n) pdl_checker_hint(c, d, "did you mean '%.*s'?", PDL_FMT(near));
}

/* Reports the parts of {anyOf: [...]} that are not values of the enum. */
static void check_parts(pdl_checker *c, const pdl_pattern *p, const pdl_ty *t) {
    pdl_buf shown = PDL_BUF;
    pdl_ty_show(t, &shown);
    for (uint32_t i = 0; i < p->n; i++) {
        const pdl_pattern *part = p->items[i];
        if (part->kind != PDL_PAT_CONST || may_fit(pdl_checker_arena(c), part, t)) continue;
        pdl_loc mark = part->node ? pdl_node_loc(part->node) : part->loc;
        pdl_diag *d = pdl_checker_diag(c, PDL_RULE_case_impossible, part->loc, mark,
                                       "this part never fits: the value is %.*s",
                                       PDL_FMT(pdl_buf_str(&shown)));
        suggest_choice(c, d, part, t);
    }
    pdl_buf_fini(&shown);
}

static void check_pattern(pdl_checker *c, const pdl_cases *cases, uint32_t i, const pdl_ty *t) {
    const pdl_case *k = &cases->p[i];
    pdl_loc mark = k->pattern && k->pattern->node ? pdl_node_loc(k->pattern->node) : k->loc;
    if (is_taken(cases, i)) {
        pdl_checker_diag(c, PDL_RULE_unreachable, k->loc, mark,
                         "this case never runs: an earlier one takes its values");
    } else if (!check_text(c, cases, i) && k->pattern &&
               !may_fit(pdl_checker_arena(c), k->pattern, t)) {
        pdl_buf shown = PDL_BUF;
        pdl_ty_show(t, &shown);
        pdl_diag *d = pdl_checker_diag(c, PDL_RULE_case_impossible, k->loc, mark,
                                       "this case never fits: the value is %.*s",
                                       PDL_FMT(pdl_buf_str(&shown)));
        suggest_choice(c, d, k->pattern, t);
        pdl_buf_fini(&shown);
    } else if (t->is_choice && k->pattern && k->pattern->kind == PDL_PAT_ANYOF) {
        check_parts(c, k->pattern, t);
    }
}

/* Returns true when the pattern has a text that is no value of the enum. The text may be a misspelt
 * value. */
static bool has_stranger(pdl_arena *a, const pdl_pattern *p, const pdl_ty *t) {
    for (uint32_t i = 0; p->kind == PDL_PAT_ANYOF && i < p->n; i++)
        if (!may_fit(a, p->items[i], t)) return true;
    return !may_fit(a, p, t);
}

/* Reports missing values of an enum when the cases name most of its values one by one. All values
 * are then probably meant. */
static void check_coverage(pdl_checker *c, const pdl_b_match *b, const pdl_ty *t) {
    size_t n = pdl_list_len(t->choices), missed = 0;
    pdl_buf list = PDL_BUF;
    if (n > MAX_COMPARED || b->cases.n > MAX_COMPARED) return;
    for (uint32_t k = 0; k < b->cases.n; k++)
        if (!b->cases.p[k].pattern || has_stranger(pdl_checker_arena(c), b->cases.p[k].pattern, t))
            return;
    for (size_t i = 0; i < n; i++) {
        bool found = false;
        for (uint32_t k = 0; k < b->cases.n && !found; k++)
            found = takes(b->cases.p[k].pattern, pdl_list_at(t->choices, i));
        if (found) continue;
        if (missed++) PDL_PUT(&list, ", ");
        pdl_val_show(pdl_list_at(t->choices, i), true, 60, &list);
    }
    if (missed && missed < n - missed) {
        pdl_loc loc = pdl_field_loc(&b->head, "match");
        pdl_diag *d = pdl_checker_diag(c, PDL_RULE_case_missing, loc, loc,
                                       "no case fits %.*s, which the value may be",
                                       PDL_FMT(pdl_buf_str(&list)));
        pdl_checker_hint(c, d, "a case without `case` fits everything: - then: ...");
    }
    pdl_buf_fini(&list);
}

/* Reports `match: {data: [1]}`, which compares with the mapping and not with the value of the
 * block. */
static void check_subject(pdl_checker *c, const pdl_b_match *b) {
    const pdl_node *n = b->value ? b->value->node : NULL;
    size_t n_rows;
    const pdl_select_row *rows = pdl_selecting_keys(&n_rows);
    if (n && pdl_node_is_str(n) && pdl_checker_has(c, n->text)) {
        pdl_diag *d = pdl_checker_diag(c, PDL_RULE_text_variable, b->value->loc, pdl_node_loc(n),
                                       "`match` compares the text '%.*s'", PDL_FMT(n->text));
        pdl_checker_hint(c, d, "the variable is written ${ %.*s }", PDL_FMT(n->text));
    }
    if (!n || n->kind != PDL_NODE_MAP || n->n != 1) return;
    for (size_t i = 0; i < n_rows; i++)
        if (pdl_str_is(n->pairs[0].key->text, rows[i].key))
            pdl_checker_diag(c, PDL_RULE_match_block, b->value->loc, pdl_node_loc(n),
                             "`match` compares this mapping itself, it is not run as a block");
}

static PDL_NOINLINE const pdl_ty *check_case(pdl_checker *c, const pdl_case *k, const pdl_ty *t) {
    bool sure = c->sure;
    if (k->pattern) bind(c, k->pattern, t);
    c->sure = false;
    if (k->cond) pdl_checker_condition(c, pdl_checker_tree(c, k->cond), k->cond);
    pdl_checker_guards(c, k->cond);
    if (k->cond && k->cond->kind == PDL_TREE_EXPR && pdl_tree_expr(k->cond)->root)
        pdl_checker_narrow(c, pdl_tree_expr(k->cond)->root);
    const pdl_ty *result = pdl_checker_block(c, k->then, (pdl_str){0});
    c->sure = sure;
    return result;
}

const pdl_ty *pdl_checker_match(pdl_checker *c, const pdl_b_match *b) {
    const pdl_ty *t = pdl_checker_tree(c, b->value), *all = NULL;
    pdl_branches branches;
    bool complete = false;
    check_subject(c, b);
    pdl_branches_begin(&c->scope, &branches);
    for (uint32_t i = 0; i < b->cases.n; i++) {
        check_pattern(c, &b->cases, i, t);
        const pdl_ty *one = check_case(c, &b->cases.p[i], t);
        all = all ? pdl_ty_join(pdl_checker_arena(c), all, one) : one;
        complete = complete || is_always(&b->cases.p[i]);
        pdl_branches_next(&c->scope, &branches);
    }
    if (!complete && t->is_choice && !c->opt->no_lint) check_coverage(c, b, t);
    if (!complete) pdl_branches_next(&c->scope, &branches);
    pdl_branches_end(&c->scope, &branches);
    if (!all) return &pdl_ty_str;
    return complete ? all : pdl_ty_join(pdl_checker_arena(c), all, &pdl_ty_str);
}
