/* calls.c -- checks calls of functions of the program (by `call:` or in an expression), calls of
 * methods and functions of templates, and uses of filters and tests.
 *
 * `call:` checks its arguments against the types of the parameters before the body runs, so a wrong
 * argument is an error. A call in an expression does not check the types. There a wrong argument is
 * a warning, and only a wrong number of arguments is an error.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "check/call_signature.h"
#include "check/infer.h"
#include "check/types/constants.h"
#include "lang/walk.h"

#include "base/banned.h"

enum { MAX_ARGS = 64 };

/* --- methods, filters, tests ------------------------------------------------------------------ */

/* The types of the arguments; a receiver or piped value comes first. */
typedef struct argument_types {
    const pdl_ty *pos[MAX_ARGS], *kw[MAX_ARGS];
    pdl_sig_args sig;
} argument_types;

static void collect(pdl_infer *in, const pdl_xargs *args, const pdl_ty *first,
                    argument_types *out) {
    size_t n = 0, n_kw = 0;
    bool open = args->star || args->starstar;
    if (first) out->pos[n++] = first;
    for (uint32_t i = 0; i < args->n_pos; i++) {
        const pdl_ty *t = pdl_infer_type(in, args->pos[i]);
        open = open || n == MAX_ARGS;
        if (n < MAX_ARGS) out->pos[n++] = t;
    }
    for (uint32_t i = 0; i < args->n_kw; i++) {
        const pdl_ty *t = pdl_infer_type(in, args->kw[i]);
        open = open || n_kw == MAX_ARGS;
        if (n_kw < MAX_ARGS) out->kw[n_kw++] = t;
    }
    if (args->star) pdl_infer_type(in, args->star);
    if (args->starstar) pdl_infer_type(in, args->starstar);
    out->sig = (pdl_sig_args){out->pos, n, args->kw_names, out->kw, n_kw, open};
}

static bool are_known(const pdl_sig_args *args) {
    for (size_t i = 0; i < args->n_pos; i++)
        if (!args->pos[i]->has_value) return false;
    for (size_t i = 0; i < args->n_kw; i++)
        if (!args->kw[i]->has_value) return false;
    return true;
}

/* Returns the result when all arguments are known. Returns NULL when the result is unknown. */
static const pdl_ty *computed(pdl_infer *in, const pdl_native *row, const argument_types *args,
                              pdl_buf *problem) {
    if (!are_known(&args->sig)) return NULL;
    pdl_err err = {0};
    const pdl_ty *t = pdl_fold_call(pdl_checker_arena(in->c), row, &args->sig, in->lenient, &err);
    if (err.kind) pdl_buf_put(problem, pdl_str_of(err.msg));
    pdl_err_fini(&err);
    return t && t->has_value ? t : NULL;
}

static const pdl_ty *call_row(pdl_infer *in, const pdl_xnode *x, const pdl_native *row,
                              const argument_types *args) {
    pdl_buf problem = PDL_BUF;
    int at;
    const pdl_ty *t = pdl_sig_call(pdl_checker_arena(in->c), row, &args->sig, &problem, &at);
    const pdl_ty *known = problem.len ? NULL : computed(in, row, args, &problem);
    if (problem.len) {
        pdl_diag *d =
            pdl_infer_diag(in, PDL_RULE_argument_wrong, x, "%.*s", PDL_FMT(pdl_buf_str(&problem)));
        pdl_str advice = pdl_failure_advice(pdl_buf_str(&problem));
        if (advice.n) pdl_checker_hint(in->c, d, "%.*s", PDL_FMT(advice));
    }
    if (problem.len) t = &pdl_ty_any;
    pdl_buf_fini(&problem);
    return known ? known : t;
}

/* Forgets the value of a receiver: `l.append(1)` changes the value that a variable holds, or a part
 * of it. */
static void change_receiver(pdl_infer *in, const pdl_xnode *x) {
    const pdl_xnode *root = x->u.call.obj;
    while (root && (root->kind == PDL_X_ATTR || root->kind == PDL_X_ITEM))
        root = root->u.access.obj;
    if (root && root->kind == PDL_X_NAME) pdl_scope_changed(&in->c->scope, root->u.name);
}

static void hint_unknown(pdl_infer *in, pdl_diag *d, pdl_str name, bool filter) {
    pdl_buf b = PDL_BUF;
    (filter ? pdl_filter_advise : pdl_test_advise)(name, &b);
    if (b.len) pdl_checker_hint(in->c, d, "%s", pdl_buf_z(&b));
    pdl_buf_fini(&b);
}

/* Checks the names of filters and tests that are passed as texts: map('upper'), select('odd').
 * Returns false after it reported a name that does not exist. */
static bool names_known(pdl_infer *in, const pdl_xnode *x) {
    const pdl_xargs *a = &x->u.filter.args;
    pdl_str filter = x->u.filter.name, name;
    bool map = pdl_str_is(filter, "map"), attr = pdl_str_ends(filter, PDL_STR("attr"));
    bool select =
        pdl_str_starts(filter, PDL_STR("select")) || pdl_str_starts(filter, PDL_STR("reject"));
    uint32_t at = attr ? 1 : 0;
    if ((!map && !select) || a->n_pos <= at || a->pos[at]->kind != PDL_X_CONST ||
        !pdl_is_str(a->pos[at]->u.value))
        return true;
    name = pdl_str_get(a->pos[at]->u.value);
    if (map ? pdl_filter_find(name) != NULL : pdl_test_find(name) != NULL) return true;
    pdl_diag *d =
        pdl_infer_diag(in, map ? PDL_RULE_filter_unknown : PDL_RULE_test_unknown, a->pos[at],
                       "No %s named '%.*s' found.", map ? "filter" : "test", PDL_FMT(name));
    pdl_checker_soften(d); /* the filter or test is not called when there are no items */
    hint_unknown(in, d, name, map);
    return false;
}

static void report_unknown(pdl_infer *in, const pdl_xnode *x, bool filter) {
    if (!x->u.filter.unknown) return;
    pdl_diag *d = pdl_infer_diag(in, filter ? PDL_RULE_filter_unknown : PDL_RULE_test_unknown, x,
                                 "No %s named '%.*s' found.", filter ? "filter" : "test",
                                 PDL_FMT(x->u.filter.name));
    hint_unknown(in, d, x->u.filter.name, filter);
}

static const pdl_ty *apply(pdl_infer *in, const pdl_xnode *x, const pdl_ty *t, bool filter) {
    const pdl_native *row =
        filter ? pdl_filter_find(x->u.filter.name) : pdl_test_find(x->u.filter.name);
    argument_types args;
    if (!row || !(row->flags & PDL_N_UNDEFINED)) t = pdl_infer_used(in, x->u.filter.obj, t);
    collect(in, &x->u.filter.args, t, &args);
    if (!row) {
        report_unknown(in, x, filter);
        return &pdl_ty_any;
    }
    if (filter && !names_known(in, x)) return &pdl_ty_any;
    return call_row(in, x, row, &args);
}

const pdl_ty *pdl_infer_filter(pdl_infer *in, const pdl_xnode *x, const pdl_ty *t) {
    pdl_infer_uncalled(in, x->u.filter.obj, t);
    return apply(in, x, t, true);
}

const pdl_ty *pdl_infer_test(pdl_infer *in, const pdl_xnode *x, const pdl_ty *t) {
    apply(in, x, t, false);
    return &pdl_ty_bool;
}

/* --- functions of the program ----------------------------------------------------------------- */

static bool is_optional(const pdl_params *p, uint32_t i) {
    return p->all && pdl_type_field_optional(p->all, i);
}

static uint32_t find_param(const pdl_params *p, pdl_str name) {
    uint32_t i = 0;
    while (i < p->n && !pdl_str_eq(p->names[i], name)) i++;
    return i;
}

static pdl_str name_of(const pdl_ty_function *f) {
    return f->name.n ? f->name : PDL_STR("the function");
}

/* Suggests `near`, the parameter whose name is most like `name`. near is empty when the call
 * already gives this parameter a value, or when no name is near; then nothing is suggested. */
static void suggest_param(pdl_checker *c, pdl_diag *d, pdl_str near, pdl_loc at, pdl_str name) {
    if (!d || !near.n || !pdl_checker_may_suggest(c)) return;
    pdl_checker_hint(c, d, "did you mean '%.*s'?", PDL_FMT(near));
    if (at.src && at.end - at.start == name.n) pdl_program_edit(c->p, d, at, near);
}

/* Checks the value for a parameter. When the value does not fit, the reason is appended to
 * problem. */
static bool fits_param(pdl_checker *c, const pdl_ty_function *f, uint32_t i, const pdl_ty *t,
                       pdl_buf *problem) {
    return pdl_ty_may_fit(pdl_checker_arena(c), t, f->block->params.types[i], problem);
}

/* Returns the span of the name of a keyword argument when this name is in the expression's source.
 * Otherwise returns the span of the call. */
static pdl_xnode keyword_node(const pdl_infer *in, const pdl_xnode *call, pdl_str name) {
    const pdl_str source = in->e->source;
    if (name.p < source.p || name.p + name.n > source.p + source.n)
        return (pdl_xnode){.start = call->start, .end = call->end};
    uint32_t at = (uint32_t)(name.p - source.p);
    return (pdl_xnode){.start = at, .end = at + (uint32_t)name.n};
}

static const pdl_ty *call_from_expression(pdl_infer *in, const pdl_xnode *x,
                                          const pdl_ty_function *f, const argument_types *args) {
    const pdl_params *p = &f->block->params;
    const pdl_sig_args *a = &args->sig;
    pdl_buf problem = PDL_BUF;
    if (a->n_pos > p->n && !a->open)
        pdl_infer_diag(in, PDL_RULE_argument_unknown, x, "Too many arguments to the call of %.*s",
                       PDL_FMT(name_of(f)));
    for (uint32_t i = 0; i < p->n; i++) {
        const pdl_ty *t = i < a->n_pos ? a->pos[i] : NULL;
        for (size_t k = 0; k < a->n_kw && !t; k++)
            if (pdl_str_eq(a->kw_names[k], p->names[i])) t = a->kw[k];
        pdl_buf_clear(&problem);
        if (!t && !a->open && !is_optional(p, i))
            pdl_checker_soften(pdl_infer_diag(in, PDL_RULE_argument_missing, x,
                                              "the call of %.*s has no argument %.*s",
                                              PDL_FMT(name_of(f)), PDL_FMT(p->names[i])));
        else if (t && !fits_param(in->c, f, i, t, &problem))
            pdl_checker_soften(pdl_infer_diag(in, PDL_RULE_argument_type, x,
                                              "argument %.*s of %.*s: %.*s", PDL_FMT(p->names[i]),
                                              PDL_FMT(name_of(f)), PDL_FMT(pdl_buf_str(&problem))));
    }
    for (size_t k = 0; k < a->n_kw; k++) {
        if (find_param(p, a->kw_names[k]) < p->n || pdl_str_is(a->kw_names[k], "pdl_context"))
            continue;
        const pdl_xnode key = keyword_node(in, x, a->kw_names[k]);
        pdl_diag *d =
            pdl_infer_diag(in, PDL_RULE_argument_unknown, &key, "%.*s has no parameter %.*s",
                           PDL_FMT(name_of(f)), PDL_FMT(a->kw_names[k]));
        pdl_checker_soften(d);
        pdl_str near = pdl_str_nearest(a->kw_names[k], p->names, p->n);
        for (size_t i = 0; i < a->n_kw; i++)
            if (pdl_str_eq(a->kw_names[i], near)) near = (pdl_str){0};
        suggest_param(in->c, d, near, pdl_infer_loc(in, &key), a->kw_names[k]);
        pdl_checker_relate(in->c, d, f->block->head.loc, "the function is defined here");
    }
    pdl_buf_fini(&problem);
    in->c->assumed = in->c->assumed || f->is_assumed;
    return f->result ? f->result : &pdl_ty_any;
}

enum {
    CALLABLE = PDL_TY_FUNC | PDL_TY_NATIVE | PDL_TY_OTHER | PDL_TY_UNDEFINED | PDL_TY_AGGREGATOR
};

static void not_callable(pdl_infer *in, const pdl_xnode *x, const pdl_ty *callee) {
    pdl_buf shown = PDL_BUF;
    pdl_ty_show(callee, &shown);
    pdl_infer_diag(in, PDL_RULE_call_type, x, "%.*s cannot be called",
                   PDL_FMT(pdl_buf_str(&shown)));
    pdl_buf_fini(&shown);
}

const pdl_ty *pdl_infer_call(pdl_infer *in, const pdl_xnode *x, const pdl_ty *callee) {
    argument_types args;
    const pdl_native *row = pdl_ty_native_of(callee);
    const pdl_ty_function *function = pdl_ty_function_of(callee);
    bool method = row && callee->receiver;
    collect(in, &x->u.call.args, method ? callee->receiver : NULL, &args);
    if (row) {
        pdl_infer_hidden(in, x, callee);
        const pdl_ty *t = call_row(in, x, row, &args);
        if (row->flags & PDL_N_MUTATES) change_receiver(in, x);
        return t;
    }
    const pdl_ty *result = &pdl_ty_any;
    if (function)
        result = call_from_expression(in, x, function, &args);
    else if (!(callee->kinds & CALLABLE))
        not_callable(in, x, callee);
    /* set after the checks, because a call that cannot be made does not end the program */
    in->c->may_exit = true;
    return result;
}

/* Checks `join: {reduce: f}`, which calls f with two values each time, and not at all when there is
 * one value. */
void pdl_checker_reduce(pdl_checker *c, const pdl_join *join, int64_t values) {
    const pdl_tree *t = join->reduce;
    const pdl_ty *f = pdl_checker_tree(c, t);
    const pdl_ty_function *function = pdl_ty_function_of(f);
    const pdl_params *p = function ? &function->block->params : NULL;
    pdl_loc mark = t->node ? pdl_node_loc(t->node) : t->loc;
    pdl_diag *d = NULL;
    if (!(f->kinds & CALLABLE)) {
        pdl_buf shown = PDL_BUF;
        pdl_ty_show(f, &shown);
        d = pdl_checker_diag(c, PDL_RULE_call_type, t->loc, mark,
                             "`reduce` needs a function, and this is %.*s",
                             PDL_FMT(pdl_buf_str(&shown)));
        pdl_buf_fini(&shown);
    } else if (p && p->n < 2) {
        d = pdl_checker_diag(c, PDL_RULE_argument_unknown, t->loc, mark,
                             "`reduce` calls %.*s with two arguments, and it has %s",
                             PDL_FMT(name_of(function)), p->n ? "one parameter" : "none");
        pdl_checker_relate(c, d, function->block->head.loc, "the function is defined here");
    }
    if (values < 2) pdl_checker_soften(d);
}

/* --- call: ------------------------------------------------------------------------------------ */

/* Returns the place of an argument's value, or of its key when key is set. Without such an
 * argument, returns the place of the whole field. */
static pdl_loc arg_loc(const pdl_b_call *b, pdl_str name, bool key) {
    const pdl_pair *pair = NULL;
    const pdl_node *args = b->args ? b->args->node : NULL;
    if (args && args->kind == PDL_NODE_MAP && pdl_node_find(args, name, &pair) && pair)
        return pdl_node_loc(key ? pair->key : pair->value);
    return b->args ? b->args->loc : pdl_field_loc(&b->head, "call");
}

static bool has_arg(const pdl_b_call *b, pdl_str name) {
    const pdl_node *args = b->args ? b->args->node : NULL;
    return args && args->kind == PDL_NODE_MAP && pdl_node_find(args, name, &(const pdl_pair *){0});
}

static void check_arg(pdl_checker *c, const pdl_b_call *b, const pdl_ty_function *f, pdl_str name,
                      const pdl_ty *t) {
    const pdl_params *p = &f->block->params;
    uint32_t i = find_param(p, name);
    pdl_diag *d = NULL;
    pdl_loc key = arg_loc(b, name, true), value = arg_loc(b, name, false);
    if (pdl_str_is(name, "pdl_context")) {
        pdl_checker_context(c, t, NULL, value, value, false);
        return;
    }
    pdl_buf problem = PDL_BUF;
    if (i == p->n) {
        d = pdl_checker_diag(c, PDL_RULE_argument_unknown, key, key, "%.*s has no parameter %.*s",
                             PDL_FMT(name_of(f)), PDL_FMT(name));
        pdl_str near = pdl_str_nearest(name, p->names, p->n);
        suggest_param(c, d, has_arg(b, near) ? (pdl_str){0} : near, key, name);
    } else if (!fits_param(c, f, i, t, &problem)) {
        d = pdl_checker_diag(c, PDL_RULE_argument_type, value, value, "argument %.*s of %.*s: %.*s",
                             PDL_FMT(name), PDL_FMT(name_of(f)), PDL_FMT(pdl_buf_str(&problem)));
    }
    pdl_checker_relate(c, d, f->block->head.loc, "the function is defined here");
    pdl_buf_fini(&problem);
}

static void check_args(pdl_checker *c, const pdl_b_call *b, const pdl_ty_function *f,
                       const pdl_ty *args) {
    const pdl_params *p = &f->block->params;
    bool known;
    for (uint32_t i = 0; i < p->n; i++) {
        const pdl_ty *t = pdl_ty_field_of(pdl_checker_arena(c), args, p->names[i], &known);
        if (t || !known || is_optional(p, i)) continue;
        pdl_loc at = b->args ? b->args->loc : pdl_field_loc(&b->head, "call");
        pdl_diag *d = pdl_checker_diag(c, PDL_RULE_argument_missing, at, at,
                                       "the call of %.*s has no argument %.*s", PDL_FMT(name_of(f)),
                                       PDL_FMT(p->names[i]));
        pdl_checker_relate(c, d, f->block->head.loc, "the function is defined here");
    }
    if (args->has_value) {
        for (size_t i = 0; pdl_is_dict(args->value) && i < pdl_dict_len(args->value); i++)
            if (pdl_is_str(pdl_dict_key_at(args->value, i)))
                check_arg(c, b, f, pdl_str_get(pdl_dict_key_at(args->value, i)),
                          pdl_ty_of_value(pdl_checker_arena(c), pdl_dict_val_at(args->value, i)));
        return;
    }
    for (uint32_t i = 0; i < args->n_fields; i++)
        if (!args->fields[i].optional)
            check_arg(c, b, f, args->fields[i].name, args->fields[i].type);
}

/* Reports a field whose value is of the wrong type. The message names the right type and the type
 * of the value. */
static pdl_diag *wrong_type(pdl_checker *c, pdl_rule_id rule, const pdl_b_call *b,
                            const char *field, const char *should, const pdl_ty *t) {
    pdl_buf shown = PDL_BUF;
    pdl_loc loc = pdl_field_loc(&b->head, field);
    pdl_ty_show(t, &shown);
    pdl_diag *d =
        pdl_checker_diag(c, rule, loc, pdl_checker_value_loc(&b->head, field),
                         "`%s` %s, and this is %.*s", field, should, PDL_FMT(pdl_buf_str(&shown)));
    pdl_buf_fini(&shown);
    return d;
}

static bool is_call(const pdl_expr *e) {
    return !e->is_unread && e->root && e->root->kind == PDL_X_CALL;
}

/* Reports a `call` of a value that is not a function of the program. Offers a fix for `call: f`,
 * where f is the text "f" and a function has this name. */
static void not_a_function(pdl_checker *c, const pdl_b_call *b, const pdl_ty *t) {
    bool native = t->kinds == PDL_TY_NATIVE;
    pdl_diag *d = wrong_type(c, PDL_RULE_call_type, b, "call",
                             native ? "needs a function of a program" : "needs a function", t);
    pdl_str hidden;
    if (pdl_checker_hides_field(c, t, &hidden))
        pdl_checker_hint_method(c, d, t);
    else if (native)
        pdl_checker_hint(c, d, "call it in an expression: ${ f(x) }");
    else if (b->func->kind == PDL_TREE_EXPR && is_call(b->func->text))
        pdl_checker_hint(c, d, PDL_CALL_NAMES);
    if (!d || !t->has_value || !pdl_is_str(t->value)) return;
    pdl_str name = pdl_str_get(t->value);
    const pdl_binding *f = pdl_scope_binding(&c->scope, name);
    if (!f || !(f->def.type->kinds & PDL_TY_FUNC)) {
        pdl_checker_hint(c, d, PDL_CALL_TEXT);
        return;
    }
    pdl_checker_hint(c, d, "write call: ${ %.*s }", PDL_FMT(name));
    const pdl_node *n = b->func->node;
    if (!n || n->kind != PDL_NODE_SCALAR || n->style != PDL_STYLE_PLAIN) return;
    pdl_buf text = PDL_BUF;
    pdl_buf_putf(&text, "${ %.*s }", PDL_FMT(name));
    pdl_checker_fix(c, d, pdl_node_loc(n), pdl_buf_str(&text));
    pdl_buf_fini(&text);
}

/* The kinds that `args` refuses; null counts as absent. */
enum { NO_ARGS = PDL_TY_STR | PDL_TY_LIST | PDL_TY_TUPLE | PDL_TY_NUMBER | PDL_TY_RANGE };

static void not_arguments(pdl_checker *c, const pdl_b_call *b, const pdl_ty *t) {
    pdl_diag *d = wrong_type(c, PDL_RULE_argument_type, b, "args", "is an object of arguments", t);
    pdl_checker_hint(c, d, "write args: {name: value}");
}

const pdl_ty *pdl_checker_call(pdl_checker *c, const pdl_b_call *b) {
    static const pdl_ty none = {.kinds = PDL_TY_DICT, .closed = true};
    const pdl_ty *args = b->args ? pdl_checker_tree(c, b->args) : &none;
    if (pdl_ty_is_only(args, NO_ARGS)) {
        not_arguments(c, b, args);
        args = &pdl_ty_any;
    }
    const pdl_ty *f = pdl_checker_tree(c, b->func);
    const pdl_ty_function *function = pdl_ty_function_of(f);
    if (function)
        check_args(c, b, function, args);
    else if (!(f->kinds & CALLABLE) || f->kinds == PDL_TY_NATIVE)
        not_a_function(c, b, f);
    /* set after the checks, because a call that cannot be made does not end the program */
    c->may_exit = true;
    return function && function->result ? function->result : &pdl_ty_any;
}
