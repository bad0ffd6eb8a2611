/* kinds.c -- checks each kind of block: the order in which its parts run, the names that they
 * define, and the type of the result. check_walk.c checks what all kinds have in common.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "check/checker.h"
#include "lang/walk.h"
#include "value/pyvalues.h"

#include "base/banned.h"

static pdl_str no_name(void) { return (pdl_str){0}; }

/* --- conditions ------------------------------------------------------------------------------- */

typedef enum { UNKNOWN_TRUTH, ALWAYS, NEVER } truth;

/* Returns the truth of a condition without variables. A condition on a variable is unknown even
 * when the variable has a constant value, because the author may mean it as a setting. type is the
 * type of the condition. */
static truth truth_of(const pdl_tree *t, const pdl_ty *type) {
    if (!t) return UNKNOWN_TRUTH;
    if (t->kind == PDL_TREE_CONST) return pdl_val_truth(t->value) ? ALWAYS : NEVER;
    if (t->kind != PDL_TREE_EXPR || pdl_tree_expr(t)->form != PDL_X_NATIVE) return UNKNOWN_TRUTH;
    if (pdl_tree_expr(t)->n_free || !type->has_value) return UNKNOWN_TRUTH;
    return pdl_val_truth(type->value) ? ALWAYS : NEVER;
}

/* Returns the truth of a condition before the names that it may read are known. */
static truth constant_truth(pdl_checker *c, const pdl_tree *t) {
    bool quiet = c->quiet;
    if (!t || (t->kind == PDL_TREE_EXPR && pdl_tree_expr(t)->n_free)) return UNKNOWN_TRUTH;
    c->quiet = true;
    truth known = truth_of(t, pdl_checker_tree(c, t));
    c->quiet = quiet;
    return known;
}

static void report_unreachable(pdl_checker *c, const pdl_block *b, const char *key,
                               const char *why) {
    pdl_loc loc = pdl_field_loc(b, key);
    pdl_checker_diag(c, PDL_RULE_unreachable, loc, loc, "`%s` never runs: %s", key, why);
}

static void narrow(pdl_checker *c, const pdl_tree *t) {
    const pdl_expr *e = t && t->kind == PDL_TREE_EXPR ? pdl_tree_expr(t) : NULL;
    if (e && e->root) pdl_checker_narrow(c, e->root);
}

/* Checks one branch of a block, which surely runs when the condition is known to hold. */
static PDL_NOINLINE const pdl_ty *check_branch(pdl_checker *c, const pdl_block *b,
                                               const pdl_tree *cond, truth holds) {
    bool sure = c->sure, dead = c->dead;
    c->sure = sure && holds == ALWAYS;
    c->dead = dead || holds == NEVER;
    narrow(c, cond);
    const pdl_ty *t = b ? pdl_checker_block(c, b, no_name()) : &pdl_ty_str;
    c->sure = sure;
    c->dead = dead;
    return t;
}

static PDL_NOINLINE const pdl_ty *check_if(pdl_checker *c, const pdl_b_if *b) {
    pdl_branches branches;
    const pdl_ty *cond = pdl_checker_tree(c, b->cond);
    truth holds = truth_of(b->cond, cond);
    pdl_checker_condition(c, cond, b->cond);
    /* an error in a branch does not follow from the type of the condition */
    c->assumed = false;
    pdl_checker_guards(c, b->cond);
    if (holds == NEVER) report_unreachable(c, &b->head, "then", "the condition is false");
    if (holds == ALWAYS && b->else_)
        report_unreachable(c, &b->head, "else", "the condition is true");
    pdl_branches_begin(&c->scope, &branches);
    const pdl_ty *t = check_branch(c, b->then_, b->cond, holds);
    pdl_branches_next(&c->scope, &branches);
    truth fails = holds == ALWAYS ? NEVER : holds == NEVER ? ALWAYS : UNKNOWN_TRUTH;
    const pdl_ty *other = check_branch(c, b->else_, b->cond, fails);
    pdl_branches_next(&c->scope, &branches);
    pdl_branches_end(&c->scope, &branches);
    return holds == ALWAYS  ? t
           : holds == NEVER ? other
                            : pdl_ty_join(pdl_checker_arena(c), t, other);
}

/* --- loops ------------------------------------------------------------------------------------ */

enum {
    ITERABLE = PDL_TY_STR | PDL_TY_LIST | PDL_TY_TUPLE | PDL_TY_DICT | PDL_TY_CONTEXT |
               PDL_TY_RANGE | PDL_TY_OTHER | PDL_TY_UNDEFINED
};

static bool is_whole(pdl_str s) {
    size_t i = 0;
    while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9') i++;
    return i && i == s.n;
}

/* Returns true for two numbers with a dash or two dots between them, such as "1-3" and "1..3". */
static bool is_span(pdl_str s) {
    size_t digits = 0, dash = PDL_NOT_FOUND, dots = pdl_str_find(s, PDL_STR(".."), 0);
    if (dots != PDL_NOT_FOUND && dots)
        return is_whole(pdl_str_sub(s, 0, dots)) && is_whole(pdl_str_sub(s, dots + 2, s.n));
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '-' && i && dash == PDL_NOT_FOUND)
            dash = i;
        else if (s.p[i] >= '0' && s.p[i] <= '9')
            digits++;
        else
            return false;
    }
    return dash != PDL_NOT_FOUND && dash + 1 < s.n && digits + 1 == s.n;
}

/* Appends a hint for a text in place of a list. Appends nothing when the loop may be meant to take
 * the text's characters. */
static void put_meant(pdl_checker *c, pdl_str s, pdl_buf *out) {
    bool is_call =
        pdl_str_ends(s, PDL_STR(")")) && pdl_str_find(s, PDL_STR("("), 0) != PDL_NOT_FOUND;
    bool plain = true;
    for (size_t i = 0; i < s.n; i++)
        plain = plain && !pdl_byte_in(s.p[i], PDL_STR("'\"`()[]{}:#$&|;<>\n"));
    pdl_str shown = pdl_utf8_cut(s, 60);
    if (is_call || pdl_scope_binding(&c->scope, s))
        pdl_buf_putf(out, "its value is ${ %.*s }", PDL_FMT(shown));
    else if (pdl_str_find(s, PDL_STR("\n"), 0) != PDL_NOT_FOUND)
        PDL_PUT(out, "write a list with `-` before each item");
    else if (plain && pdl_str_find(s, PDL_STR(","), 0) != PDL_NOT_FOUND)
        pdl_buf_putf(out, "write the list: [%.*s]", PDL_FMT(shown));
    else if (pdl_str_starts(s, PDL_STR("[")) && pdl_str_ends(s, PDL_STR("]")))
        pdl_buf_putf(out, "write the list without quotes: %.*s", PDL_FMT(shown));
    else if (is_span(s))
        PDL_PUT(out, "numbers are ${ range(FIRST, LAST + 1) }");
}

/* Reports `for: {i: range(3)}` and `for: {i: "1,2"}`, which loop over the characters of the text,
 * although the value of the expression or the items of the list are meant. */
static void check_text_list(pdl_checker *c, const pdl_tree *list) {
    if (c->quiet || c->opt->no_lint || list->kind != PDL_TREE_CONST || !pdl_is_str(list->value))
        return;
    pdl_buf meant = PDL_BUF;
    pdl_str s = pdl_str_get(list->value);
    put_meant(c, s, &meant);
    if (meant.len) {
        pdl_diag *d = pdl_checker_diag(
            c, PDL_RULE_loop_text, list->loc, list->node ? pdl_node_loc(list->node) : list->loc,
            "'%.*s' is a text: the loop goes through its characters", PDL_FMT(pdl_utf8_cut(s, 60)));
        pdl_checker_hint(c, d, "%s", pdl_buf_z(&meant));
    }
    pdl_buf_fini(&meant);
}

static const pdl_ty *check_for_list(pdl_checker *c, const pdl_tree *list) {
    const pdl_ty *t = pdl_checker_tree(c, list);
    check_text_list(c, list);
    if (t->kinds & ITERABLE) return t;
    pdl_buf shown = PDL_BUF;
    pdl_ty_show(t, &shown);
    pdl_diag *d = pdl_checker_diag(
        c, PDL_RULE_loop_type, list->loc, list->node ? pdl_node_loc(list->node) : list->loc,
        "`for` goes through lists, and this is %.*s", PDL_FMT(pdl_buf_str(&shown)));
    pdl_checker_hint_method(c, d, t);
    if (t->kinds == PDL_TY_INT && !(d && d->hint.n)) pdl_checker_hint(c, d, PDL_NO_LIST);
    pdl_buf_fini(&shown);
    return &pdl_ty_any;
}

/* Returns the number of items; -1 when it is not known. */
static int64_t length_of(const pdl_tree *list, const pdl_ty *t) {
    if (list->kind == PDL_TREE_LIST) return list->n;
    if (t->has_value && pdl_is_list(t->value)) return (int64_t)pdl_list_len(t->value);
    if (t->has_value && t->kinds == PDL_TY_RANGE) return (int64_t)pdl_range_len(t->value);
    return t->kinds == PDL_TY_LIST && t->sized ? (int64_t)t->least : -1;
}

/* Checks the lists of `for`. Sets *least to the number of iterations of the loop. Sets it to -1
 * when that number is unknown or there are no lists. */
static PDL_NOINLINE void check_fors(pdl_checker *c, const pdl_block *b, const pdl_fors *f,
                                    int64_t *least) {
    *least = -1;
    if (f && !f->n && f->node && f->node->kind == PDL_NODE_MAP) {
        pdl_diag *d = pdl_checker_diag(c, PDL_RULE_loop_type, f->loc, pdl_field_loc(b, "for"),
                                       "`for` has no variable and no list");
        pdl_checker_hint(c, d, "write for: {NAME: LIST}: the name is each item in turn");
    }
    if (!f || !f->n) return;
    const pdl_ty **types = pdl_arena_new_n(pdl_checker_arena(c), const pdl_ty *, f->n);
    for (uint32_t i = 0; i < f->n; i++) {
        pdl_checker_tree(c, f->names[i]);
        types[i] = check_for_list(c, f->lists[i]);
        int64_t n = length_of(f->lists[i], types[i]);
        if (n >= 0 && *least >= 0 && n != *least)
            pdl_checker_diag(c, PDL_RULE_loop_type, f->loc, f->loc,
                             "the lists of `for` have different lengths: %lld and %lld",
                             (long long)*least, (long long)n);
        bool setting = f->lists[i]->kind == PDL_TREE_EXPR && pdl_tree_expr(f->lists[i])->n_free;
        if (n > 0 || (n == 0 && !setting)) *least = n;
    }
    for (uint32_t i = 0; i < f->n; i++) {
        const pdl_tree *name = f->names[i];
        if (name->kind == PDL_TREE_CONST && pdl_is_str(name->value))
            pdl_checker_define(c, PDL_DEF_FOR, pdl_str_get(name->value),
                               pdl_ty_items(pdl_checker_arena(c), types[i]),
                               name->node ? pdl_node_loc(name->node) : name->loc);
        else
            c->open_ended = true; /* the name is only known in a run */
    }
}

/* Reports a field whose value is never one of the kinds. The loader already reads a text as an
 * expression or a number where it can, so a text that is left is an error. */
static const pdl_ty *check_number(pdl_checker *c, const pdl_tree *value, pdl_rule_id rule,
                                  const char *key, unsigned kinds) {
    const pdl_ty *t = pdl_checker_tree(c, value);
    if (t->kinds & (kinds | PDL_TY_OTHER | PDL_TY_UNDEFINED)) return t;
    pdl_buf shown = PDL_BUF;
    pdl_ty_show(t, &shown);
    pdl_checker_diag(c, rule, value->loc, value->node ? pdl_node_loc(value->node) : value->loc,
                     "`%s` needs a number, and this is %.*s", key, PDL_FMT(pdl_buf_str(&shown)));
    pdl_buf_fini(&shown);
    return t;
}

/* Checks `maxIterations`. Returns true when `maxIterations` permits no iteration. */
static bool permits_none(pdl_checker *c, const pdl_tree *max) {
    if (!max) return false;
    const pdl_ty *t =
        check_number(c, max, PDL_RULE_loop_type, "maxIterations", PDL_TY_NUMBER | PDL_TY_NULL);
    (void)pdl_checker_truth_counts(c, PDL_RULE_loop_type, "maxIterations", max->node);
    return max->kind == PDL_TREE_CONST && pdl_checker_is_below(t, 1);
}

/* Reports a loop without iterations. none is set when `maxIterations` permits none. */
static void report_never(pdl_checker *c, const pdl_block *b, const char *key, const pdl_tree *max,
                         bool none) {
    pdl_loc loc = pdl_field_loc(b, key);
    bool negative = none && pdl_int_sign(max->value) < 0;
    pdl_diag *d =
        pdl_checker_diag(c, PDL_RULE_unreachable, loc, loc, "`%s` never runs: %s", key,
                         negative ? "`maxIterations` is negative" : "there are no iterations");
    if (negative) pdl_checker_hint(c, d, "leave `maxIterations` out to have no limit");
}

static bool is_null(const pdl_tree *t) {
    return !t || (t->kind == PDL_TREE_CONST && pdl_is_null(t->value));
}

/* Returns the truth of a condition in every iteration. The truth is known only if the condition
 * does not depend on the body of the loop, because the definitions of the body are unknown at its
 * start. */
static truth truth_known(const pdl_tree *cond, const pdl_ty *t) {
    return !cond || !t->has_value ? UNKNOWN_TRUTH : pdl_val_truth(t->value) ? ALWAYS : NEVER;
}

/* Reports a loop without any bound, or with conditions that nothing in it changes. */
static void report_endless(pdl_checker *c, const pdl_b_repeat *b, const pdl_tree *max,
                           truth continues, truth ends) {
    bool always = continues == ALWAYS, never = ends == NEVER;
    if (c->quiet || c->opt->no_lint || b->fors || !is_null(max)) return;
    if ((b->while_ && !always) || (b->until && !never)) return;
    const char *why = always && never ? "`while` is always true, `until` never"
                      : always        ? "`while` is always true"
                      : never         ? "`until` is never true"
                                      : "no for, while, until or maxIterations";
    const char *at = always ? "while" : never ? "until" : "repeat";
    pdl_checker_diag(c, PDL_RULE_endless_loop, b->head.loc, pdl_field_loc(&b->head, at),
                     "nothing ends this loop: %s", why);
}

/* Reports `repeat: i`, where the variable i of the loop is meant. */
static void check_body_text(pdl_checker *c, const pdl_fors *f, const pdl_block *body) {
    const pdl_node *n = body && body->kind == PDL_BLOCK_scalar ? body->node : NULL;
    if (!f || !n || c->quiet || c->opt->no_lint || !pdl_node_is_str(n)) return;
    for (uint32_t i = 0; i < f->n; i++) {
        const pdl_tree *name = f->names[i];
        if (name->kind != PDL_TREE_CONST || !pdl_is_str(name->value) ||
            !pdl_str_eq(pdl_str_get(name->value), n->text))
            continue;
        pdl_diag *d = pdl_checker_diag(c, PDL_RULE_text_variable, body->loc, pdl_node_loc(n),
                                       "`%.*s` is left in the text as it is", PDL_FMT(n->text));
        pdl_checker_hint(c, d, "the variable is written ${ %.*s }", PDL_FMT(n->text));
    }
}

/* Checks a loop. An iteration may read the definitions of the iteration before it, and the values
 * from before the loop are only those of the first iteration. So the variables that the body
 * defines are unknown. */
static PDL_NOINLINE const pdl_ty *check_repeat(pdl_checker *c, const pdl_b_repeat *b) {
    bool sure = c->sure, dead = c->dead;
    const pdl_tree *max = b->max ? b->max : b->num;
    pdl_branches branches;
    int64_t least;
    pdl_branches_begin(&c->scope, &branches);
    pdl_checker_loosen_body(c, b->body);
    bool none = permits_none(c, max);
    check_fors(c, &b->head, b->fors, &least);
    bool never = none || least == 0 || constant_truth(c, b->while_) == NEVER;
    bool once = !max && !b->while_ && (!b->fors || least > 0);
    if (never) report_never(c, &b->head, "repeat", max, none);
    if (b->join && b->join->reduce) pdl_checker_reduce(c, b->join, least);
    if (b->index.s.p)
        pdl_checker_define(c, PDL_DEF_INDEX, b->index.s, &pdl_ty_int,
                           pdl_checker_value_loc(&b->head, "index"));
    c->sure = sure && once;
    c->dead = dead || never;
    const pdl_ty *repeats = pdl_checker_tree(c, b->while_);
    truth continues = truth_known(b->while_, repeats);
    pdl_checker_condition(c, repeats, b->while_);
    pdl_checker_guards(c, b->while_);
    narrow(c, b->while_);
    check_body_text(c, b->fors, b->body);
    const pdl_ty *each = pdl_checker_block(c, b->body, no_name());
    const pdl_ty *stops = pdl_checker_tree(c, b->until);
    truth ends = truth_known(b->until, stops);
    pdl_checker_condition(c, stops, b->until);
    report_endless(c, b, max, continues, ends);
    const pdl_ty *t = pdl_checker_joined(c, b->join, each, !once);
    c->sure = sure;
    c->dead = dead;
    pdl_branches_next(&c->scope, &branches);
    if (!once) pdl_branches_next(&c->scope, &branches);
    pdl_branches_end(&c->scope, &branches);
    return t;
}

static PDL_NOINLINE const pdl_ty *check_map(pdl_checker *c, const pdl_b_map *b) {
    size_t mark = pdl_scope_mark(&c->scope);
    bool sure = c->sure, dead = c->dead, local = c->local;
    int64_t least;
    bool none = permits_none(c, b->max);
    check_fors(c, &b->head, b->fors, &least);
    bool never = none || least == 0;
    if (never) report_never(c, &b->head, "map", b->max, none);
    if (b->workers.given && b->workers.value < 0)
        pdl_checker_diag(c, PDL_RULE_loop_type, pdl_field_loc(&b->head, "maxWorkers"),
                         pdl_checker_value_loc(&b->head, "maxWorkers"), "`maxWorkers` is negative");
    if (b->join && b->join->reduce) pdl_checker_reduce(c, b->join, least);
    if (b->index.s.p)
        pdl_checker_define(c, PDL_DEF_INDEX, b->index.s, &pdl_ty_int,
                           pdl_checker_value_loc(&b->head, "index"));
    c->sure = sure && !b->max && least > 0;
    c->dead = dead || never;
    c->local = true;
    check_body_text(c, b->fors, b->body);
    const pdl_ty *each = pdl_checker_block(c, b->body, no_name());
    const pdl_ty *t = pdl_checker_joined(c, b->join, each, least <= 0 || b->max);
    c->sure = sure;
    c->dead = dead;
    pdl_checker_leave(c, mark);
    c->local = local;
    return t;
}

/* --- functions -------------------------------------------------------------------------------- */

static const pdl_ty *function_type(pdl_checker *c, const pdl_b_function *b, pdl_str name,
                                   const pdl_ty *result, bool assumed) {
    pdl_arena *a = pdl_checker_arena(c);
    pdl_ty_function *f = pdl_arena_new(a, pdl_ty_function);
    *f = (pdl_ty_function){name, b, result, assumed};
    return pdl_ty_new(a, (pdl_ty){.kinds = PDL_TY_FUNC, .one.function = f});
}

/* Defines the parameters. An optional parameter is undefined in calls without its argument. */
static void define_params(pdl_checker *c, const pdl_b_function *b) {
    const pdl_params *p = &b->params;
    for (uint32_t i = 0; i < p->n; i++) {
        bool pair = p->node && p->node->kind == PDL_NODE_MAP && i < p->node->n &&
                    pdl_str_eq(p->node->pairs[i].key->text, p->names[i]);
        const pdl_ty *t = pdl_ty_of_spec(pdl_checker_arena(c), p->types[i]);
        if (p->all && pdl_type_field_optional(p->all, i)) t = &pdl_ty_any;
        pdl_checker_define(c, PDL_DEF_PARAMETER, p->names[i], t,
                           pair ? pdl_node_loc(p->node->pairs[i].key) : b->head.loc);
    }
}

static PDL_NOINLINE const pdl_ty *check_function(pdl_checker *c, const pdl_b_function *b,
                                                 pdl_str self) {
    size_t mark = pdl_scope_mark(&c->scope);
    bool sure = c->sure, local = c->local, assumed = c->assumed, may_exit = c->may_exit,
         reads_all = c->reads_all;
    unsigned caught = c->caught;
    const pdl_type *spec = b->head.rare->spec.type;
    const pdl_ty *result = spec ? pdl_ty_of_spec(pdl_checker_arena(c), spec) : &pdl_ty_any;
    pdl_str name = b->head.def.s.p ? b->head.def.s : self;
    const pdl_ty *own = function_type(c, b, name, result, false);
    if (self.p) pdl_scope_define(&c->scope, PDL_DEF_DEFS, self, own, (pdl_loc){0});
    if (b->head.def.s.p)
        pdl_scope_define(&c->scope, PDL_DEF_VARIABLE, b->head.def.s, own, (pdl_loc){0});
    define_params(c, b);
    pdl_checker_params(c, &b->params);
    c->sure = c->reads_all = false;
    c->local = true;
    c->caught = 0; /* a fallback around the definition does not catch errors of calls */
    const pdl_ty *t = pdl_checker_block(c, b->body, no_name());
    if (spec)
        pdl_checker_fitted(c, &b->head, t);
    else
        result = t;
    pdl_checker_leave(c, mark);
    c->sure = sure;
    c->local = local;
    c->may_exit = may_exit;
    bool follows = c->assumed && !spec;
    c->assumed = assumed;
    c->reads_all = c->reads_all || reads_all;
    c->caught = caught;
    return function_type(c, b, name, result, follows);
}

/* --- lists of blocks -------------------------------------------------------------------------- */

/* Checks blocks that run in order. Returns the type of the last block, or the type of null when
 * there are no blocks. */
static const pdl_ty *check_last(pdl_checker *c, const pdl_blocks *items) {
    const pdl_ty *last = &pdl_ty_null;
    for (uint32_t i = 0; i < items->n; i++) last = pdl_checker_block(c, items->p[i], no_name());
    return last;
}

/* Checks `text`, whose value is known when it is one text of the program. */
static const pdl_ty *check_text(pdl_checker *c, const pdl_b_text *b) {
    const pdl_ty *t = &pdl_ty_null;
    for (uint32_t i = 0; i < b->items.n; i++) {
        const pdl_block *item = b->items.p[i];
        t = pdl_checker_block(c, item, no_name());
        if (item->kind == PDL_BLOCK_scalar)
            pdl_checker_printed(c, t, item->loc, item->node ? pdl_node_loc(item->node) : item->loc);
    }
    return b->items.n == 1 && t->has_value && pdl_is_str(t->value) ? t : &pdl_ty_str;
}

/* Checks blocks and returns the join of their types. *last gets the type of the last block. The
 * result and *last are NULL when there are no blocks. */
static const pdl_ty *check_items(pdl_checker *c, const pdl_blocks *items, const pdl_ty **last) {
    const pdl_ty *all = NULL;
    *last = NULL;
    for (uint32_t i = 0; i < items->n; i++) {
        *last = pdl_checker_block(c, items->p[i], no_name());
        all = all ? pdl_ty_join(pdl_checker_arena(c), all, *last) : *last;
    }
    return all;
}

static void refuse_part(pdl_checker *c, const pdl_block *b, const pdl_ty *t) {
    if (t->kinds & (PDL_TY_DICT | PDL_TY_OTHER | PDL_TY_UNDEFINED)) return;
    pdl_buf shown = PDL_BUF;
    pdl_ty_show(t, &shown);
    pdl_checker_diag(c, PDL_RULE_join_type, b->loc, b->node ? pdl_node_loc(b->node) : b->loc,
                     "objects are joined here, and this is %.*s", PDL_FMT(pdl_buf_str(&shown)));
    pdl_buf_fini(&shown);
}

static PDL_NOINLINE const pdl_ty *check_object(pdl_checker *c, const pdl_b_object *b) {
    pdl_arena *a = pdl_checker_arena(c);
    const pdl_blocks *list = &b->fields;
    pdl_ty_field *f = pdl_arena_new_n(a, pdl_ty_field, (size_t)list->n + 1);
    for (uint32_t i = 0; i < list->n; i++) {
        const pdl_ty *t = pdl_checker_block(c, list->p[i], no_name());
        if (list->is_map)
            f[i] = (pdl_ty_field){list->names[i], t, false};
        else
            refuse_part(c, list->p[i], t);
    }
    if (!list->is_map) return &pdl_ty_dict;
    return pdl_ty_new(
        a, (pdl_ty){.kinds = PDL_TY_DICT, .closed = true, .fields = f, .n_fields = list->n});
}

static PDL_NOINLINE const pdl_ty *check_sequence(pdl_checker *c, const pdl_b_sequence *b) {
    const pdl_ty *last, *all = check_items(c, &b->items, &last);
    if (b->join && b->join->reduce) pdl_checker_reduce(c, b->join, b->items.n);
    if (b->join && b->join->kind == PDL_JOIN_LASTOF) return last ? last : &pdl_ty_null;
    return pdl_checker_joined(c, b->join, all ? all : &pdl_ty_any, !b->items.n);
}

/* --- leaves ----------------------------------------------------------------------------------- */

static PDL_NOINLINE const pdl_ty *check_get(pdl_checker *c, const pdl_b_get *b) {
    static const pdl_xnames none = {0};
    pdl_buf text = PDL_BUF;
    pdl_buf_putf(&text, "${ %.*s }", PDL_FMT(b->get.s));
    const pdl_ty *t = pdl_checker_expr(
        c, pdl_expr_read(pdl_checker_arena(c), pdl_buf_str(&text), &none), NULL, b->get.loc);
    pdl_buf_fini(&text);
    return t;
}

static PDL_NOINLINE const pdl_ty *check_data(pdl_checker *c, const pdl_b_data *d) {
    if (!d->raw.given || !d->raw.value) {
        pdl_checker_lint_forms(c, d->data);
        return pdl_checker_tree(c, d->data);
    }
    return d->data && d->data->kind == PDL_TREE_CONST
               ? pdl_ty_of_value(pdl_checker_arena(c), d->data->value)
               : &pdl_ty_any;
}

typedef struct children {
    pdl_checker *c;
    const pdl_ty *last; /* type of the last block */
} children;

static void check_child(void *user, const pdl_block *child) {
    children *x = user;
    x->last = pdl_checker_block(x->c, child, no_name());
}

/* Checks the fields of kinds without a special order: trees and blocks in the order of the table.
 * Returns the type of the last block, or NULL when there is no block. */
static PDL_NOINLINE const pdl_ty *check_fields(pdl_checker *c, const pdl_block *b) {
    children x = {.c = c};
    size_t n;
    const pdl_field *f = pdl_fields_of(b->kind, &n);
    for (size_t i = 0; i < n; i++) {
        const void *at = pdl_field_at(b, &f[i]);
        if (pdl_field_forms[f[i].type].holds != PDL_HOLDS_TREE)
            pdl_field_each_block(b, &f[i], check_child, &x);
        else if (*(const pdl_tree *const *)at)
            pdl_checker_tree(c, *(const pdl_tree *const *)at);
    }
    return x.last;
}

/* Checks the fields of a block whose definitions are not visible after it. */
static PDL_NOINLINE const pdl_ty *check_alone(pdl_checker *c, const pdl_block *b) {
    size_t mark = pdl_scope_mark(&c->scope);
    const pdl_ty *t = check_fields(c, b);
    pdl_scope_back(&c->scope, mark);
    return t;
}

/* Returns the node below the key `data`, or NULL. */
static const pdl_node *data_of(const pdl_block *b) {
    const pdl_tree *t = b && b->kind == PDL_BLOCK_data ? PDL_AS(data, b)->data : NULL;
    return t ? t->node : NULL;
}

static PDL_NOINLINE const pdl_ty *check_model(pdl_checker *c, const pdl_b_model *b) {
    const pdl_ty *input = check_alone(c, &b->head);
    if (input && !(input->kinds & PDL_TY_STR))
        pdl_checker_context(c, input, data_of(b->input), pdl_field_loc(&b->head, "input"),
                            pdl_checker_value_loc(&b->head, "input"), true);
    pdl_checker_model(c, b);
    if (b->response.s.p)
        pdl_checker_define(c, PDL_DEF_RESPONSE, b->response.s, &pdl_ty_any,
                           pdl_checker_value_loc(&b->head, "modelResponse"));
    /* the result is usually a text; it is an object when scores or tools were requested */
    return &pdl_ty_any;
}

static PDL_NOINLINE const pdl_ty *check_code(pdl_checker *c, const pdl_block *b) {
    bool in_code = c->in_code, in_jinja = c->in_jinja;
    c->in_code = true;
    c->in_jinja = pdl_str_eq_nocase(PDL_AS(code, b)->lang.s, PDL_STR("jinja"));
    check_alone(c, b);
    c->in_code = in_code;
    c->in_jinja = in_jinja;
    return pdl_checker_code(c, PDL_AS(code, b));
}

static const pdl_ty *check_scalar(pdl_checker *c, const pdl_tree *value) {
    pdl_checker_lint_forms(c, value);
    return pdl_checker_tree(c, value);
}

static PDL_NOINLINE const pdl_ty *check_aggregator(pdl_checker *c, const pdl_agg *agg) {
    pdl_checker_aggregator(c, agg);
    return pdl_ty_of_kinds(pdl_checker_arena(c), PDL_TY_AGGREGATOR);
}

static const pdl_ty *check_factor(pdl_checker *c, const pdl_b_factor *b) {
    (void)check_number(c, b->factor, PDL_RULE_factor_type, "factor", PDL_TY_NUMBER);
    (void)pdl_checker_truth_counts(c, PDL_RULE_factor_type, "factor", b->factor->node);
    return &pdl_ty_str;
}

/* Checks a block by a flat switch over the kinds. The fields of a kind without a case are checked
 * in the order of the table. */
const pdl_ty *pdl_checker_kind(pdl_checker *c, const pdl_block *b, pdl_str self) {
    const pdl_ty *last, *all;
    switch (b->kind) {
    case PDL_BLOCK_text: return check_text(c, PDL_AS(text, b));
    case PDL_BLOCK_lastOf: return check_last(c, &PDL_AS(lastOf, b)->items);
    case PDL_BLOCK_array:
        all = check_items(c, &PDL_AS(array, b)->items, &last);
        return pdl_ty_list_sized(pdl_checker_arena(c), all, PDL_AS(array, b)->items.n, true);
    case PDL_BLOCK_object: return check_object(c, PDL_AS(object, b));
    case PDL_BLOCK_sequence: return check_sequence(c, PDL_AS(sequence, b));
    case PDL_BLOCK_if: return check_if(c, PDL_AS(if, b));
    case PDL_BLOCK_match: return pdl_checker_match(c, PDL_AS(match, b));
    case PDL_BLOCK_repeat: return check_repeat(c, PDL_AS(repeat, b));
    case PDL_BLOCK_map: return check_map(c, PDL_AS(map, b));
    case PDL_BLOCK_include: return pdl_checker_module(c, b, PDL_AS(include, b)->path.s, false);
    case PDL_BLOCK_import: return pdl_checker_module(c, b, PDL_AS(import, b)->path.s, true);
    case PDL_BLOCK_function: return check_function(c, PDL_AS(function, b), self);
    case PDL_BLOCK_call: return pdl_checker_call(c, PDL_AS(call, b));
    case PDL_BLOCK_model: return check_model(c, PDL_AS(model, b));
    case PDL_BLOCK_code: return check_code(c, b);
    case PDL_BLOCK_get: return check_get(c, PDL_AS(get, b));
    case PDL_BLOCK_data: return check_data(c, PDL_AS(data, b));
    case PDL_BLOCK_message: check_alone(c, b); return &pdl_ty_any;
    case PDL_BLOCK_read: check_fields(c, b); return &pdl_ty_str;
    case PDL_BLOCK_factor: return check_factor(c, PDL_AS(factor, b));
    case PDL_BLOCK_aggregator: return check_aggregator(c, PDL_AS(aggregator, b)->aggregator);
    case PDL_BLOCK_empty: return &pdl_ty_str;
    case PDL_BLOCK_scalar: return check_scalar(c, PDL_AS(scalar, b)->value);
    case PDL_BLOCK_error:
    case PDL_BLOCK_COUNT: break;
    }
    check_fields(c, b);
    return &pdl_ty_any;
}
