/* bound_values.c -- finds out what is known about values before a run: lengths of texts and lists,
 * numbers, and the functions that expressions call; see bound_impl.h.
 *
 * Only certain facts are used. A variable is known when the program sets it at exactly one place;
 * an expression is known when it only joins constants and known variables.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/report/bound_impl.h"

#include "check/check.h"
#include "lang/walk.h"
#include "value/int.h"
#include "value/json_write.h"

#include "base/banned.h"

/* --- names ------------------------------------------------------------------------------------ */

bound_name *pdl_bound_find(const bound_names *names, pdl_str name) {
    for (size_t i = 0; i < names->all.n; i++)
        if (pdl_str_eq(names->all.p[i].name, name)) return &names->all.p[i];
    return NULL;
}

static bound_name *set(bound_names *names, pdl_str name) {
    bound_name *n = name.n ? pdl_bound_find(names, name) : NULL;
    if (!name.n) return NULL;
    if (!n) {
        n = pdl_vec_push(&names->all);
        *n = (bound_name){.name = name, .given = pdl_absent(), .words = INFINITY};
    }
    n->times++;
    return n;
}

static const pdl_tree *tree_of(const pdl_block *b) {
    bool plain = !b->rare->spec.type && !b->rare->parser && !b->rare->fallback;
    if (!plain) return NULL;
    if (b->kind == PDL_BLOCK_data) return PDL_AS(data, b)->raw.value ? NULL : PDL_AS(data, b)->data;
    return b->kind == PDL_BLOCK_scalar ? PDL_AS(scalar, b)->value : NULL;
}

static void set_block(bound_names *names, pdl_str name, const pdl_block *b) {
    bound_name *n = set(names, name);
    if (!n) return;
    n->tree = b ? tree_of(b) : NULL;
    n->function = b && b->kind == PDL_BLOCK_function ? b : NULL;
}

static void set_fors(bound_names *names, const pdl_fors *fors, pdl_str index) {
    for (uint32_t i = 0; fors && i < fors->n; i++) {
        const pdl_tree *t = fors->names[i];
        if (t->kind == PDL_TREE_CONST && pdl_is_str(t->value)) set(names, pdl_str_get(t->value));
    }
    bound_name *n = set(names, index);
    if (n) n->words = 1;
}

static void collect(void *user, const pdl_block *b) {
    bound_names *names = user;
    const pdl_blocks *defs = &b->rare->defs;
    for (uint32_t i = 0; i < defs->n; i++)
        if (defs->names) set_block(names, defs->names[i], defs->p[i]);
    set_block(names, b->def.s, b);
    if (b->kind == PDL_BLOCK_repeat)
        set_fors(names, PDL_AS(repeat, b)->fors, PDL_AS(repeat, b)->index.s);
    if (b->kind == PDL_BLOCK_map) set_fors(names, PDL_AS(map, b)->fors, PDL_AS(map, b)->index.s);
    if (b->kind == PDL_BLOCK_model) set(names, PDL_AS(model, b)->response.s);
    if (b->kind == PDL_BLOCK_function)
        for (uint32_t i = 0; i < PDL_AS(function, b)->params.n; i++)
            set(names, PDL_AS(function, b)->params.names[i]);
    pdl_block_each_child(b, collect, names);
}

void pdl_bound_collect(bound_names *names, const pdl_program *p, pdl_vref variables) {
    for (size_t i = 0; pdl_is_dict(variables) && i < pdl_dict_len(variables); i++) {
        pdl_vref key = pdl_dict_key_at(variables, i);
        bound_name *n = pdl_is_str(key) ? set(names, pdl_str_get(key)) : NULL;
        if (n) n->given = pdl_dict_val_at(variables, i);
    }
    if (p->main) collect(names, p->main);
}

static const bound_name *once(const bound_names *names, pdl_str name) {
    const bound_name *n = pdl_bound_find(names, name);
    return n && n->times == 1 ? n : NULL;
}

/* --- lengths of texts ------------------------------------------------------------------------- */

double pdl_bound_count_words(pdl_str text) {
    double n = 0;
    bool inside = false;
    for (size_t i = 0; i < text.n; i++) {
        bool blank = text.p[i] == ' ' || text.p[i] == '\n' || text.p[i] == '\t';
        n += !blank && !inside;
        inside = !blank;
    }
    return n;
}

static double words_of_value(pdl_vref v) {
    pdl_buf b = PDL_BUF;
    pdl_err ignored = {0};
    if (pdl_is_str(v)) return pdl_bound_count_words(pdl_str_get(v));
    bool ok = pdl_json_write(v, PDL_JSON_SPACED | PDL_JSON_LOOSE, 0, &b, &ignored);
    double n = ok ? pdl_bound_count_words(pdl_buf_str(&b)) : INFINITY;
    pdl_err_fini(&ignored);
    pdl_buf_fini(&b);
    return n;
}

static double words_of_name(const bound_names *names, pdl_str name) {
    const bound_name *n = pdl_bound_find(names, name);
    if (!n) return INFINITY;
    if (n->times == 1 && !pdl_is_absent(n->given)) return words_of_value(n->given);
    return n->words;
}

static double words_of_node(const bound_names *names, const pdl_xnode *x);

static double words_of_list(const bound_names *names, const pdl_xlist *l) {
    double n = 0;
    for (uint32_t i = 0; i < l->n; i++) n += words_of_node(names, l->p[i]);
    return n;
}

/* Returns true for a filter whose result never has more words than the text. */
static bool keeps_words(pdl_str filter) {
    static const char *const kept[] = {"trim", "upper", "lower", "string", "title", "capitalize"};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (pdl_str_is(filter, kept[i])) return true;
    return false;
}

static double words_of_node(const bound_names *names, const pdl_xnode *x) {
    if (x->kind == PDL_X_TEXT) return pdl_bound_count_words(x->u.text);
    if (x->kind == PDL_X_CONST) return words_of_value(x->u.value);
    if (x->kind == PDL_X_NAME) return words_of_name(names, x->u.name);
    if (x->kind == PDL_X_SEQ || x->kind == PDL_X_OUTPUT || x->kind == PDL_X_CONCAT)
        return words_of_list(names, &x->u.list);
    if (x->kind == PDL_X_FILTER && x->u.filter.obj && keeps_words(x->u.filter.name))
        return words_of_node(names, x->u.filter.obj);
    return INFINITY;
}

double pdl_bound_words(const bound_names *names, const pdl_tree *t) {
    if (!t) return 0;
    if (t->kind == PDL_TREE_CONST) return words_of_value(t->value);
    if (t->kind != PDL_TREE_EXPR) return INFINITY;
    const pdl_expr *e = pdl_tree_expr(t);
    if (e->form == PDL_X_PLAIN) return pdl_bound_count_words(e->source);
    return e->form == PDL_X_BROKEN || !e->root ? 0 : words_of_node(names, e->root);
}

/* --- lengths of lists, numbers ---------------------------------------------------------------- */

static double number_of(pdl_vref v) {
    int64_t n;
    if (pdl_is(v, PDL_V_FLOAT)) return pdl_float_of(v);
    return pdl_int_get(v, &n) ? (double)n : -1;
}

static double length_of(pdl_vref v) { return pdl_is_list(v) ? (double)pdl_list_len(v) : -1; }

/* Returns the length of range(...) with constant arguments. */
static double range_length(const pdl_xargs *a) {
    double n[3] = {0, 0, 1};
    if (!a->n_pos || a->n_pos > 3 || a->n_kw || a->star || a->starstar) return -1;
    for (uint32_t i = 0; i < a->n_pos; i++) {
        const pdl_xnode *x = a->pos[i];
        int64_t k;
        if (x->kind != PDL_X_CONST || !pdl_int_get(x->u.value, &k)) return -1;
        n[i] = (double)k;
    }
    double from = a->n_pos == 1 ? 0 : n[0], to = a->n_pos == 1 ? n[0] : n[1];
    if (n[2] == 0) return -1;
    double length = ceil((to - from) / n[2]);
    return length > 0 ? length : 0;
}

static double measure(const bound_names *names, const pdl_tree *t, bool list, int depth) {
    if (!t || depth > 8) return -1;
    if (t->kind == PDL_TREE_CONST) return list ? length_of(t->value) : number_of(t->value);
    if (t->kind == PDL_TREE_LIST) return list ? (double)t->n : -1;
    if (t->kind != PDL_TREE_EXPR) return -1;
    const pdl_expr *e = pdl_tree_expr(t);
    if (e->form != PDL_X_NATIVE || !e->root) return -1;
    const pdl_xnode *x = e->root;
    if (x->kind == PDL_X_CONST) return list ? length_of(x->u.value) : number_of(x->u.value);
    if (list && (x->kind == PDL_X_LIST || x->kind == PDL_X_TUPLE)) return (double)x->u.list.n;
    if (list && x->kind == PDL_X_CALL && x->u.call.obj->kind == PDL_X_NAME &&
        pdl_str_is(x->u.call.obj->u.name, "range") && !pdl_bound_find(names, PDL_STR("range")))
        return range_length(&x->u.call.args);
    const bound_name *n = x->kind == PDL_X_NAME ? once(names, x->u.name) : NULL;
    if (!n) return -1;
    if (!pdl_is_absent(n->given)) return list ? length_of(n->given) : number_of(n->given);
    return measure(names, n->tree, list, depth + 1);
}

double pdl_bound_length(const bound_names *names, const pdl_tree *t) {
    return measure(names, t, true, 0);
}

static pdl_vref value_of(const bound_names *names, const pdl_tree *t, int depth) {
    if (!t || depth > 8) return pdl_absent();
    if (t->kind == PDL_TREE_CONST) return t->value;
    const pdl_expr *e = t->kind == PDL_TREE_EXPR ? pdl_tree_expr(t) : NULL;
    const pdl_xnode *x = e && e->form == PDL_X_NATIVE ? e->root : NULL;
    const bound_name *n = x && x->kind == PDL_X_NAME ? once(names, x->u.name) : NULL;
    if (!n) return pdl_absent();
    return pdl_is_absent(n->given) ? value_of(names, n->tree, depth + 1) : n->given;
}

pdl_vref pdl_bound_value(const bound_names *names, const pdl_tree *t) {
    return value_of(names, t, 0);
}

double pdl_bound_item_words(const bound_names *names, const pdl_tree *t) {
    pdl_vref list = value_of(names, t, 0);
    double most = pdl_is_list(list) ? 0 : INFINITY;
    for (size_t i = 0; pdl_is_list(list) && i < pdl_list_len(list); i++)
        most = fmax(most, words_of_value(pdl_list_at(list, i)));
    return most;
}

double pdl_bound_number(const bound_names *names, const pdl_tree *t) {
    return measure(names, t, false, 0);
}

/* --- calls ------------------------------------------------------------------------------------ */

static const pdl_block *function_of(const bound_names *names, const pdl_xnode *x) {
    const bound_name *n = x && x->kind == PDL_X_NAME ? once(names, x->u.name) : NULL;
    return n ? n->function : NULL;
}

const pdl_block *pdl_bound_function(const bound_names *names, const pdl_tree *t) {
    const pdl_expr *e = t && t->kind == PDL_TREE_EXPR ? pdl_tree_expr(t) : NULL;
    return e && e->form == PDL_X_NATIVE ? function_of(names, e->root) : NULL;
}

struct each_call {
    const bound_names *names;
    pdl_loc loc;
    void (*fn)(void *user, const pdl_block *function, pdl_loc loc);
    void *user;
};

static void on_node(void *user, const pdl_xnode *x) {
    struct each_call *c = user;
    if (x->kind != PDL_X_CALL) return;
    const pdl_xnode *f = x->u.call.obj;
    const pdl_block *function = function_of(c->names, f);
    bool builtin = f->kind == PDL_X_NAME && !pdl_bound_find(c->names, f->u.name) &&
                   pdl_check_is_builtin(f->u.name);
    /* a method of a computed text or list; for a variable it could be a function of the program
     * that an object holds under this name */
    bool method = f->kind == PDL_X_ATTR && f->u.access.obj->kind != PDL_X_NAME;
    if (!builtin && !method) c->fn(c->user, function, c->loc);
}

void pdl_bound_each_call(const bound_names *names, const pdl_tree *t,
                         void (*fn)(void *user, const pdl_block *function, pdl_loc loc),
                         void *user) {
    struct each_call c = {names, t->loc, fn, user};
    const pdl_expr *e = pdl_tree_expr(t);
    if (e->has_call && e->root) pdl_xnode_each(e->root, on_node, &c);
}
