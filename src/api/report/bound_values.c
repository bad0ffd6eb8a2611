/* bound_values.c -- finds out what is known about values before a run: the names that a program
 * sets, lengths of texts, and the functions that expressions call; see bound_impl.h.
 *
 * Only certain facts are used. A variable is known when the program sets it at exactly one place;
 * an expression is known when it only joins constants and known variables.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/report/bound_impl.h"

#include "base/limits.h"
#include "base/word_list.h"
#include "check/check.h"
#include "lang/variables.h"
#include "lang/walk.h"
#include "value/json_write.h"

#include "base/banned.h"

/* --- names ------------------------------------------------------------------------------------ */

bound_name *pdl_bound_find(const bound_names *names, pdl_str name) {
    size_t at = (size_t)(uintptr_t)pdl_map_find(&names->index, name);
    return at ? &names->all.p[at - 1] : NULL;
}

void pdl_bound_names_fini(bound_names *names) {
    pdl_vec_fini(&names->all);
    pdl_map_fini(&names->index);
}

static bound_name *set(bound_names *names, pdl_str name) {
    bound_name *n = pdl_bound_find(names, name);
    if (!n) {
        n = pdl_vec_push(&names->all);
        *n = (bound_name){.name = name, .given = pdl_absent(), .words = INFINITY};
        pdl_map_put(&names->index, name, (void *)(uintptr_t)names->all.n);
    }
    n->times++;
    return n;
}

static void set_variable(void *user, const pdl_variable *v) {
    bound_name *n = set(user, v->name);
    const pdl_block *b = v->value;
    n->indexes += v->by == PDL_SETS_INDEX;
    if (v->by == PDL_SETS_PARAMETER) n->type = v->type;
    if (v->by != PDL_SETS_DEF && v->by != PDL_SETS_DEFS) return;
    /* a fallback or a parser makes another value than the one that the block shows */
    bool plain = b && !b->rare->fallback;
    n->tree = b ? pdl_block_plain_tree(b) : NULL;
    n->type = plain ? b->rare->spec.type : NULL;
    n->block = plain && !b->rare->parser ? b : NULL;
    n->function = b && b->kind == PDL_BLOCK_function ? b : NULL;
}

static void collect(void *user, const pdl_block *b) {
    pdl_block_each_variable(b, set_variable, user);
    pdl_block_each_child(b, collect, user);
}

void pdl_bound_collect(bound_names *names, const pdl_program *p, pdl_vref variables) {
    for (size_t i = 0; pdl_is_dict(variables) && i < pdl_dict_len(variables); i++) {
        pdl_vref key = pdl_dict_key_at(variables, i);
        bool named = pdl_is_str(key) && pdl_str_get(key).n;
        if (named) set(names, pdl_str_get(key))->given = pdl_dict_val_at(variables, i);
    }
    if (p->main) collect(names, p->main);
}

const bound_name *pdl_bound_once(const bound_names *names, pdl_str name) {
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

/* Returns the number of words in all texts of a value. */
static double words_inside(pdl_vref v, int depth) {
    double n = 0;
    if (pdl_is_str(v)) return pdl_bound_count_words(pdl_str_get(v));
    if (depth > PDL_MAX_VALUE_DEPTH) return INFINITY;
    for (size_t i = 0; pdl_is_list(v) && i < pdl_list_len(v); i++)
        n += words_inside(pdl_list_at(v, i), depth + 1);
    for (size_t i = 0; pdl_is_dict(v) && i < pdl_dict_len(v); i++)
        n += words_inside(pdl_dict_val_at(v, i), depth + 1);
    return n;
}

double pdl_bound_value_words(pdl_vref v) {
    pdl_buf b = PDL_BUF;
    pdl_err ignored = {0};
    if (pdl_is_str(v)) return pdl_bound_count_words(pdl_str_get(v));
    bool ok = pdl_json_write(v, PDL_JSON_SPACED | PDL_JSON_LOOSE, 0, &b, &ignored);
    double n = ok ? pdl_bound_count_words(pdl_buf_str(&b)) : INFINITY;
    pdl_err_fini(&ignored);
    pdl_buf_fini(&b);
    return fmax(n, words_inside(v, 0));
}

static double words_of_name(const bound_names *names, pdl_str name) {
    const bound_name *n = pdl_bound_find(names, name);
    if (!n) return INFINITY;
    if (n->times == 1 && !pdl_is_absent(n->given)) return pdl_bound_value_words(n->given);
    if (n->times == n->indexes) return 1;
    if (n->times != 1) return INFINITY;
    return n->type ? fmin(n->words, pdl_bound_type_words(n->type)) : n->words;
}

static double words_of_node(const bound_names *names, const pdl_xnode *x, int depth);

static double words_of_list(const bound_names *names, const pdl_xlist *l, int depth) {
    double n = 0;
    for (uint32_t i = 0; i < l->n; i++) n += words_of_node(names, l->p[i], depth + 1);
    return n;
}

/* Returns the number of words in a part of a value: `a.b` or `a[0]`. */
static double words_of_part(const bound_names *names, const pdl_xnode *x, int depth) {
    const pdl_xnode *of = x->u.access.obj, *key = x->u.access.key;
    bool is_name = of->kind == PDL_X_NAME;
    const bound_name *n = is_name ? pdl_bound_once(names, of->u.name) : NULL;
    bool typed = n && n->type && pdl_is_absent(n->given) && x->kind == PDL_X_ATTR;
    double part = typed ? pdl_bound_field_words(n->type, x->u.access.name) : INFINITY;
    if (key && key->kind == PDL_X_SLICE) return part;
    bool inside = is_name || of->kind == PDL_X_ATTR || of->kind == PDL_X_ITEM;
    return fmin(part, inside ? words_of_node(names, of, depth + 1) : INFINITY);
}

static double words_of_choice(const bound_names *names, const pdl_xnode *x, int depth) {
    double yes = words_of_node(names, x->u.cond.yes, depth + 1);
    return x->u.cond.no ? fmax(yes, words_of_node(names, x->u.cond.no, depth + 1)) : yes;
}

/* Returns true for a filter whose result never has more words than the text. */
static bool keeps_words(pdl_str filter) {
    static const char *const kept[] = {"trim", "upper", "lower", "string", "title", "capitalize"};
    return PDL_STR_IN(filter, kept);
}

static double words_of_filter(const bound_names *names, const pdl_xnode *x, int depth) {
    static const char *const counts[] = {"length", "count", "int", "float", "round", "wordcount"};
    const pdl_xargs *args = &x->u.filter.args;
    if (!x->u.filter.obj) return INFINITY;
    if (PDL_STR_IN(x->u.filter.name, counts)) return 1;
    double n = words_of_node(names, x->u.filter.obj, depth + 1);
    if (keeps_words(x->u.filter.name)) return n;
    bool is_default = pdl_str_is(x->u.filter.name, "default") && args->n_pos;
    return is_default ? fmax(n, words_of_node(names, args->pos[0], depth + 1)) : INFINITY;
}

static double words_of_node(const bound_names *names, const pdl_xnode *x, int depth) {
    if (!x || depth > PDL_MAX_EXPR_DEPTH) return INFINITY;
    switch (x->kind) {
    case PDL_X_TEXT: return pdl_bound_count_words(x->u.text);
    case PDL_X_CONST: return pdl_bound_value_words(x->u.value);
    case PDL_X_NAME: return words_of_name(names, x->u.name);
    case PDL_X_SEQ:
    case PDL_X_OUTPUT:
    case PDL_X_CONCAT: return words_of_list(names, &x->u.list, depth);
    case PDL_X_FILTER: return words_of_filter(names, x, depth);
    case PDL_X_ATTR:
    case PDL_X_ITEM: return words_of_part(names, x, depth);
    case PDL_X_IF:
    case PDL_X_COND: return words_of_choice(names, x, depth);
    case PDL_X_SLICE:
    case PDL_X_CALL:
    case PDL_X_TEST:
    case PDL_X_UNARY:
    case PDL_X_BINARY:
    case PDL_X_AND:
    case PDL_X_OR:
    case PDL_X_COMPARE:
    case PDL_X_LIST:
    case PDL_X_TUPLE:
    case PDL_X_DICT:
    case PDL_X_FOR:
    case PDL_X_SET:
    case PDL_X_SETBLOCK:
    case PDL_X_NSREF:
    case PDL_X_MACRO:
    case PDL_X_CALLBLOCK:
    case PDL_X_FILTERBLOCK:
    case PDL_X_WITH:
    case PDL_X_BLOCK:
    case PDL_X_AUTOESCAPE:
    case PDL_X_RAISE:
    case PDL_X_COUNT: break;
    }
    return INFINITY;
}

double pdl_bound_words(const bound_names *names, const pdl_tree *t) {
    if (!t) return 0;
    if (t->kind == PDL_TREE_CONST) return pdl_bound_value_words(t->value);
    if (t->kind != PDL_TREE_EXPR) return INFINITY;
    const pdl_expr *e = pdl_tree_expr(t);
    if (e->form == PDL_X_PLAIN) return pdl_bound_count_words(e->source);
    return e->form == PDL_X_BROKEN || !e->root ? 0 : words_of_node(names, e->root, 0);
}

/* --- items ------------------------------------------------------------------------------------ */

static const bound_name *named_by(const bound_names *names, const pdl_tree *t) {
    const pdl_expr *e = t && t->kind == PDL_TREE_EXPR ? pdl_tree_expr(t) : NULL;
    const pdl_xnode *x = e && e->form == PDL_X_NATIVE ? e->root : NULL;
    return x && x->kind == PDL_X_NAME ? pdl_bound_once(names, x->u.name) : NULL;
}

static pdl_vref value_of(const bound_names *names, const pdl_tree *t, int depth) {
    if (!t || depth > 8) return pdl_absent();
    if (t->kind == PDL_TREE_CONST) return t->value;
    const bound_name *n = named_by(names, t);
    if (!n) return pdl_absent();
    return pdl_is_absent(n->given) ? value_of(names, n->tree, depth + 1) : n->given;
}

pdl_vref pdl_bound_value(const bound_names *names, const pdl_tree *t) {
    return value_of(names, t, 0);
}

double pdl_bound_item_words(const bound_names *names, const pdl_tree *t) {
    pdl_vref list = value_of(names, t, 0);
    const bound_name *n = named_by(names, t);
    double most = pdl_is_list(list) ? 0 : INFINITY;
    if (!pdl_is_list(list) && n && n->type) return pdl_bound_type_item_words(n->type);
    for (size_t i = 0; pdl_is_list(list) && i < pdl_list_len(list); i++)
        most = fmax(most, pdl_bound_value_words(pdl_list_at(list, i)));
    return most;
}

/* --- calls ------------------------------------------------------------------------------------ */

static const pdl_block *function_of(const bound_names *names, const pdl_xnode *x) {
    const bound_name *n = x && x->kind == PDL_X_NAME ? pdl_bound_once(names, x->u.name) : NULL;
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
    /* Set only for a method of a computed value: a variable may be an object that holds a function
     * of the program under this name. */
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
