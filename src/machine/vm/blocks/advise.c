/* advise.c -- help for errors of expressions. The help is made where an error is reported, so that
 * an error that is caught, by `is defined` or by a fallback, costs no time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/num.h"
#include "base/plural.h"
#include "lang/walk.h"
#include "native/native.h"
#include "value/func.h"
#include "value/promise.h"
#include "value/text.h"
#include "vm/closure.h"
#include "vm/err_span.h"
#include "vm/run.h"

#include "base/banned.h"

typedef PDL_VEC(pdl_str) name_list;

/* Limits are needed because an object may have a million keys, and a fallback may catch as many
 * errors. */
enum { MAX_NAMES = 10000, MAX_DEPTH = 16, MAX_SEARCHES = 100 };

static void suggest(pdl_err *err, pdl_str name, const name_list *names) {
    pdl_str near = pdl_str_nearest(name, names->p, names->n);
    if (near.p) pdl_err_hint(err, "did you mean '%.*s'?", PDL_FMT(near));
}

/* --- variables -------------------------------------------------------------------------------- */

struct known {
    const pdl_fiber *f;
    name_list names;
};

static bool add_name(void *user, pdl_name name, pdl_vref v) {
    struct known *k = user;
    (void)v;
    *pdl_vec_push(&k->names) = pdl_name_str(k->f->run->opt.names, name);
    return true;
}

/* When the program sets name only later, says so. When name is a function of another language, such
 * as len, suggests what to write instead. Otherwise suggests a name in scope. */
static void advise_name(const pdl_fiber *f, const pdl_srcsite *site, pdl_str name, pdl_err *err) {
    pdl_loc at = site->node ? pdl_node_loc(site->node) : site->loc;
    struct known k = {.f = f};
    pdl_buf b = PDL_BUF;
    pdl_loc where;
    unsigned used = pdl_xnode_uses(site->expr->root, name);
    pdl_name_advise(name, used & PDL_USED_CALLED, used & PDL_USED_DOTTED, &b);
    pdl_scope_each(f->scope, add_name, &k);
    *pdl_vec_push(&k.names) = PDL_STR("pdl_context");
    if (f->run->code.n_searched++ < MAX_SEARCHES &&
        pdl_program_sets_later(f->code->program, name, at, &where))
        pdl_err_hint(err, PDL_SETS_LATER, PDL_FMT(name), pdl_loc_line(where));
    else if (b.len)
        pdl_err_hint(err, "%s", pdl_buf_z(&b));
    else
        suggest(err, name, &k.names);
    pdl_vec_fini(&k.names);
    pdl_buf_fini(&b);
}

/* Explains `${ my-var }` when my-var is a variable: the expression is a subtraction. */
static void advise_dash(const pdl_fiber *f, const pdl_expr *e, pdl_str name, pdl_err *err) {
    size_t from = 0;
    for (pdl_str whole; (whole = pdl_dashed_name(e->source, name, &from)).n;) {
        pdl_name known = pdl_intern_find(f->run->opt.names, whole);
        if (pdl_is_absent(pdl_scope_find(f->scope, known))) continue;
        pdl_err_hint(err, PDL_DASH, PDL_FMT(whole));
        return;
    }
}

/* --- attributes ------------------------------------------------------------------------------- */

/* Returns the value of v when v is a filled promise, and otherwise v. */
static pdl_vref settled(pdl_vref v) {
    bool is_filled = pdl_is(v, PDL_V_PROMISE) && pdl_promise_of(v)->state == PDL_PROMISE_FILLED;
    return is_filled ? pdl_promise_of(v)->value : v;
}

/* Returns the value of a variable, or of a path of names and numbers below it; absent for any other
 * expression. */
static pdl_vref value_of(const pdl_fiber *f, const pdl_xnode *x, int depth) {
    int64_t i;
    if (x->kind == PDL_X_NAME)
        return settled(pdl_scope_find(f->scope, pdl_intern_find(f->run->opt.names, x->u.name)));
    if ((x->kind != PDL_X_ATTR && x->kind != PDL_X_ITEM) || depth == 0) return pdl_absent();
    pdl_vref of = value_of(f, x->u.access.obj, depth - 1);
    if (x->kind == PDL_X_ATTR)
        return pdl_is_dict(of) ? settled(pdl_dict_gets(of, x->u.access.name)) : pdl_absent();
    const pdl_xnode *key = x->u.access.key;
    if (key->kind != PDL_X_CONST) return pdl_absent();
    if (pdl_is_dict(of)) return settled(pdl_dict_find(of, key->u.value));
    if (!pdl_is_list(of) || !pdl_int_get(key->u.value, &i)) return pdl_absent();
    bool is_item = i >= 0 && (size_t)i < pdl_list_len(of);
    return is_item ? settled(pdl_list_at(of, (size_t)i)) : pdl_absent();
}

/* Explains `call: ${ x.get }` for an object with a function `get`: the expression means the method
 * `get` that all objects have. */
void pdl_vm_advise_called(const pdl_fiber *f, const pdl_expr *e, pdl_err *err) {
    const pdl_xnode *x = e->is_unread ? NULL : e->root;
    if (!x || x->kind != PDL_X_ATTR) return;
    const pdl_xnode *of = x->u.access.obj;
    pdl_vref obj = value_of(f, of, MAX_DEPTH);
    pdl_str name = x->u.access.name, own = of->kind == PDL_X_NAME ? of->u.name : PDL_STR("x");
    if (!pdl_is_dict(obj) || pdl_is_absent(pdl_dict_gets(obj, name))) return;
    pdl_err_hint(err, "%.*s.%.*s is a method of objects: write ${ %.*s['%.*s'] }", PDL_FMT(own),
                 PDL_FMT(name), PDL_FMT(own), PDL_FMT(name));
}

struct wanted {
    const pdl_fiber *f;
    pdl_str name;
    pdl_vref of; /* the value that lacks the attribute */
    const pdl_xnode *x;
};

/* Returns true for the accesses x.name and x['name']. */
static bool reads_field(const pdl_fiber *f, const pdl_xnode *x, pdl_str name) {
    if (x->kind == PDL_X_ATTR) return pdl_str_eq(x->u.access.name, name);
    if (x->kind != PDL_X_ITEM) return false;
    const pdl_xnode *key = x->u.access.key;
    pdl_vref at = key->kind == PDL_X_CONST ? key->u.value : value_of(f, key, MAX_DEPTH);
    return pdl_is_str(at) && pdl_str_eq(pdl_str_get(at), name);
}

static void find_value(void *user, const pdl_xnode *x) {
    struct wanted *w = user;
    if (pdl_is_dict(w->of) || !reads_field(w->f, x, w->name)) return;
    w->of = value_of(w->f, x->u.access.obj, MAX_DEPTH);
    w->x = x;
}

static void advise_attribute(const pdl_fiber *f, const pdl_expr *e, pdl_str name, pdl_err *err) {
    struct wanted w = {f, name, pdl_absent(), NULL};
    name_list names = {0};
    pdl_str here = pdl_attribute_advice(name);
    pdl_vref left_out = pdl_dict_gets(f->run->code.left_out, name);
    if (e->root) pdl_xnode_each(e->root, find_value, &w);
    for (size_t i = 0; pdl_is_dict(w.of) && i < pdl_dict_len(w.of) && i < MAX_NAMES; i++) {
        pdl_vref key = pdl_dict_key_at(w.of, i);
        if (pdl_is_str(key)) *pdl_vec_push(&names) = pdl_str_get(key);
    }
    bool is_server = !pdl_is_dict(w.of) || !pdl_is_absent(pdl_dict_getz(w.of, "call_tool"));
    if (pdl_is_str(left_out) && is_server)
        pdl_err_hint(err, "%.*s", PDL_FMT(pdl_str_get(left_out)));
    else
        suggest(err, name, &names);
    if (!err->hint && here.n) pdl_err_hint(err, "%.*s", PDL_FMT(here));
    bool method = w.x && w.x->kind == PDL_X_ATTR && !pdl_is_absent(w.of);
    pdl_str near = method ? pdl_method_near(w.of, name) : (pdl_str){0};
    if (!err->hint && near.n) pdl_err_hint(err, "did you mean '%.*s'?", PDL_FMT(near));
    pdl_buf fields = PDL_BUF;
    if (!pdl_is_absent(w.of))
        pdl_fields_advise(w.of, name, pdl_xnode_is_called(e->root, w.x), &fields);
    if (!err->hint && fields.len) pdl_err_hint(err, "%s", pdl_buf_z(&fields));
    pdl_buf_fini(&fields);
    pdl_vec_fini(&names);
}

/* --- elements --------------------------------------------------------------------------------- */

struct element {
    const pdl_fiber *f;
    int64_t index;
    size_t n_found; /* number of accesses x[i] that may have caused the error */
    size_t length;  /* number of items or characters of the last such x */
    bool is_text;
};

static void find_element(void *user, const pdl_xnode *x) {
    struct element *w = user;
    int64_t i;
    if (x->kind != PDL_X_ITEM) return;
    const pdl_xnode *key = x->u.access.key;
    pdl_vref of = value_of(w->f, x->u.access.obj, MAX_DEPTH);
    pdl_vref at = key->kind == PDL_X_CONST ? key->u.value : value_of(w->f, key, MAX_DEPTH);
    if (pdl_int_get(at, &i) && i != w->index) return;
    if (!pdl_is_list(of) && !pdl_is_str(of)) return;
    w->n_found++;
    w->is_text = pdl_is_str(of);
    w->length = w->is_text ? pdl_text_len_cp(of) : pdl_list_len(of);
}

/* Says the length of the list or text that has no element at this index. */
static void advise_element(const pdl_fiber *f, const pdl_expr *e, pdl_str index, pdl_err *err) {
    struct element w = {.f = f};
    if (!pdl_num_read_int(index, &w.index) || !e->root) return;
    pdl_xnode_each(e->root, find_element, &w);
    const char *what = w.is_text ? "character" : "item";
    if (w.n_found != 1) return;
    if (!w.length)
        pdl_err_hint(err, "the %s is empty", w.is_text ? "text" : "list");
    else
        pdl_err_hint(err, "it has %zu %s%s: the last is [%zu], or [-1]", w.length, what,
                     PDL_PLURAL(w.length), w.length - 1);
}

/* --- tools ------------------------------------------------------------------------------------ */

/* Appends name='value', ... for the parameters that are bound. Returns the labels of the values. */
static pdl_label put_arguments(const pdl_fiber *f, const pdl_func *func, pdl_buf *out) {
    enum { MAX_SHOWN = 60, MAX_ADVICE = 8 };
    pdl_label label = 0;
    size_t n_all = pdl_is_dict(func->params) ? pdl_dict_len(func->params) : 0;
    for (size_t i = 0, n = 0; i < n_all && n < MAX_ADVICE; i++) {
        pdl_vref key = pdl_dict_key_at(func->params, i);
        if (!pdl_is_str(key)) continue;
        pdl_name name = pdl_intern_find(f->run->opt.names, pdl_str_get(key));
        pdl_vref v = pdl_scope_find(f->scope, name);
        if (pdl_is_absent(v)) continue;
        pdl_buf_putf(out, "%s%.*s=", n++ ? ", " : "", PDL_FMT(pdl_str_get(key)));
        pdl_val_show(v, true, MAX_SHOWN, out);
        label |= pdl_label_of(v);
    }
    return label;
}

static pdl_label put_call(const pdl_fiber *f, const pdl_vm_frame *fr, pdl_buf *out) {
    const pdl_func *func = pdl_func_about(fr->func);
    pdl_str name = pdl_is_str(func->name) ? pdl_str_get(func->name) : PDL_STR("a function");
    pdl_buf_putf(out, "%.*s(", PDL_FMT(name));
    pdl_label label = put_arguments(f, func, out);
    pdl_buf_putc(out, ')');
    return label;
}

uint32_t pdl_vm_now_ms(const pdl_fiber *f) {
    const pdl_sinks *s = &f->run->opt.sinks;
    const pdl_event e = {.kind = PDL_EVENT_note, .value = pdl_absent(), .context = pdl_absent()};
    return s->now ? (uint32_t)((uint64_t)s->now(s->now_user, &e) / 1000000) : 0;
}

void pdl_vm_report_tool(const pdl_fiber *f, const pdl_vm_frame *fr, bool failed) {
    pdl_buf call = PDL_BUF, line = PDL_BUF, shown = PDL_BUF;
    pdl_loc loc = closure_of(fr->func)->info->block->head.loc;
    if (pdl_redaction_covers(f->run->opt.redaction, put_call(f, fr, &call))) {
        pdl_buf_cut(&call, pdl_str_find(pdl_buf_str(&call), PDL_STR("("), 0));
        PDL_PUT(&call, "(...)");
    }
    uint32_t ms = pdl_vm_now_ms(f) - fr->begun_ms;
    pdl_buf_putf(&line, "pdl: line %u: tool %s%s %u.%02u s\n", pdl_loc_line(loc), pdl_buf_z(&call),
                 failed ? " failed after" : ",", ms / 1000, ms % 1000 / 10);
    pdl_redact_text(f->run->opt.secrets, pdl_buf_str(&line), &shown);
    pdl_sinks_send(&f->run->opt.sinks, &(pdl_event){.kind = PDL_EVENT_note,
                                                    .text = pdl_buf_str(&shown),
                                                    .untrusted = true,
                                                    .value = pdl_absent(),
                                                    .context = pdl_absent()});
    pdl_buf_fini(&shown);
    pdl_buf_fini(&line);
    pdl_buf_fini(&call);
}

void pdl_vm_note_tool(const pdl_fiber *f, const pdl_vm_frame *fr, pdl_err *err) {
    if (pdl_err_has_tool(err) || pdl_err_is_cancel(err)) return;
    pdl_buf b = PDL_BUF;
    pdl_label label = put_call(f, fr, &b);
    pdl_err_tool_add(err, err->loc, label, "%s", pdl_buf_z(&b));
    pdl_buf_fini(&b);
}

/* --- commands --------------------------------------------------------------------------------- */

void pdl_vm_advise_command(const pdl_b_code *b, pdl_err *err) {
    static const char *const signs[] = {" | ", " && ", " || ", " > ", " >> ", " < ", "; "};
    const pdl_node *node = b->code ? b->code->node : NULL;
    if (node && pdl_node_is_str(node) && pdl_byte_in('*', node->text) &&
        !pdl_byte_in('\'', node->text) && !pdl_byte_in('"', node->text)) {
        pdl_err_hint(err, "no shell reads a command, and * stays as it is: write args: [sh, -c, "
                          "'...']");
        return;
    }
    for (size_t i = 0; node && pdl_node_is_str(node) && i < sizeof signs / sizeof *signs; i++) {
        if (pdl_str_find(node->text, pdl_str_of(signs[i]), 0) == PDL_NOT_FOUND) continue;
        pdl_err_hint(err, "no shell reads a command: write args: [sh, -c, '...']");
        return;
    }
}

/* Returns true when the code itself, outside of ${ }, has the name that Python did not find. */
static bool is_own_name(pdl_str code, pdl_str msg) {
    size_t from = pdl_str_find(msg, PDL_STR("NameError: name '"), 0), depth = 0;
    if (from == PDL_NOT_FOUND) return false;
    from += strlen("NameError: name '");
    pdl_str name = pdl_str_sub(msg, from, pdl_str_find(msg, PDL_STR("'"), from));
    for (size_t i = 0; i < code.n; i++) {
        pdl_str rest = pdl_str_sub(code, i, code.n);
        if (!depth && pdl_str_starts(rest, PDL_STR("${")))
            depth = 1, i++;
        else if (depth)
            depth += (code.p[i] == '{') - (size_t)(code.p[i] == '}');
        else if (name.n && pdl_str_starts(rest, name))
            return true;
    }
    return false;
}

void pdl_vm_advise_python(const pdl_b_code *b, pdl_err *err) {
    const pdl_node *node = b->code ? b->code->node : NULL;
    pdl_str msg = pdl_str_of(err->msg);
    if (err->hint || !node || !pdl_node_is_str(node)) return;
    if (pdl_str_find(node->text, PDL_STR("${"), 0) == PDL_NOT_FOUND) return;
    if (pdl_str_find(msg, PDL_STR("NameError: "), 0) == PDL_NOT_FOUND &&
        pdl_str_find(msg, PDL_STR("SyntaxError: "), 0) == PDL_NOT_FOUND)
        return;
    if (is_own_name(node->text, msg)) return;
    pdl_err_hint(err, "the text of ${ } becomes part of the code: Python knows the variable itself "
                      "by its name, without ${ }");
}

/* --- methods ---------------------------------------------------------------------------------- */

struct hidden {
    const pdl_fiber *f;
    const pdl_expr *e;
    const pdl_xnode *x; /* the method that was found */
};

static void find_hidden(void *user, const pdl_xnode *x) {
    struct hidden *h = user;
    if (x->kind != PDL_X_ATTR || !pdl_xnode_is_called(h->e->root, x)) return;
    pdl_vref of = value_of(h->f, x->u.access.obj, MAX_DEPTH);
    pdl_vref own = pdl_is_dict(of) ? settled(pdl_dict_gets(of, x->u.access.name)) : pdl_absent();
    if (pdl_is(own, PDL_V_FUNC)) h->x = x;
}

/* Explains ${ x.get() } that fails because get takes other arguments than the function x['get']. */
static void advise_hidden(const pdl_fiber *f, const pdl_expr *e, pdl_str msg, pdl_err *err) {
    struct hidden h = {f, e, NULL};
    if (!e->root || pdl_str_find(msg, PDL_STR(" argument"), 0) == PDL_NOT_FOUND) return;
    pdl_xnode_each(e->root, find_hidden, &h);
    if (!h.x || pdl_str_find(msg, h.x->u.access.name, 0) == PDL_NOT_FOUND) return;
    pdl_err_hint(err, "%.*s is a method of objects: the function is x['%.*s'](...)",
                 PDL_FMT(h.x->u.access.name), PDL_FMT(h.x->u.access.name));
}

static void find_uncalled(void *user, const pdl_xnode *x) {
    struct hidden *h = user;
    if (x->kind != PDL_X_ATTR || pdl_xnode_is_called(h->e->root, x)) return;
    pdl_vref of = value_of(h->f, x->u.access.obj, MAX_DEPTH);
    if (!pdl_is_absent(of) && pdl_method_find(of, x->u.access.name)) h->x = x;
}

/* Explains ${ x.items + 1 }, where x.items is a method that is not called. */
static void advise_uncalled(const pdl_fiber *f, const pdl_expr *e, pdl_str msg, pdl_err *err) {
    struct hidden h = {f, e, NULL};
    pdl_buf hint = PDL_BUF;
    if (!e->root || pdl_str_find(msg, PDL_STR("builtin_function_or_method"), 0) == PDL_NOT_FOUND)
        return;
    pdl_xnode_each(e->root, find_uncalled, &h);
    if (!h.x) return;
    pdl_uncalled_advise(value_of(f, h.x->u.access.obj, MAX_DEPTH), h.x->u.access.name, &hint);
    pdl_err_hint(err, "%s", pdl_buf_z(&hint));
    pdl_buf_fini(&hint);
}

/* --- names and attributes --------------------------------------------------------------------- */

void pdl_vm_advise(const pdl_fiber *f, const pdl_srcsite *site, pdl_err *err) {
    const pdl_expr *e = site->expr;
    pdl_str msg = pdl_str_of(err->msg), undefined = PDL_STR("' is undefined"),
            attribute = PDL_STR("' has no attribute '");
    pdl_str failed = pdl_failure_advice(msg);
    if (!err->hint) advise_uncalled(f, e, msg, err);
    if (!err->hint && failed.n) pdl_err_hint(err, "%.*s", PDL_FMT(failed));
    size_t element = pdl_str_find(msg, PDL_STR(" has no element "), 0);
    if (!err->hint && element != PDL_NOT_FOUND)
        advise_element(f, e, pdl_str_sub(msg, element + strlen(" has no element "), msg.n), err);
    if (!err->hint) advise_hidden(f, e, msg, err);
    if (err->hint || msg.n < 3 || msg.p[0] != '\'') return;
    if (pdl_str_ends(msg, undefined)) {
        pdl_str name = pdl_str_sub(msg, 1, msg.n - undefined.n);
        advise_dash(f, e, name, err);
        if (!err->hint) advise_name(f, site, name, err);
        return;
    }
    size_t at = pdl_str_find(msg, attribute, 0);
    if (at != PDL_NOT_FOUND && pdl_str_ends(msg, PDL_STR("'")))
        advise_attribute(f, e, pdl_str_sub(msg, at + attribute.n, msg.n - 1), err);
}
