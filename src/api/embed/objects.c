/* objects.c -- functions and objects of the host program as handles; see objects.h. Each object is
 * a handle (value/handle.h) whose `user` is a host_object. Native functions call the object at
 * once. Operations in expressions are effects, as for objects of Python code, because the host
 * program may need time to answer.
 *
 * A journal must find the same request in another process. So the number of a handle is a hash of a
 * name: the name of the function, or of the object's type.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/embed/objects.h"

#include <string.h>

#include "api/handles.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "value/handle.h"
#include "value/pyvalues.h"
#include "value/text.h"

#include "base/banned.h"

typedef struct host_object {
    char *name;         /* name of the function, or of the type */
    pdl_handler_fn *fn; /* handler of a function; NULL for an object */
    void *user;         /* user of fn, or the object */
    pdl_object_ops ops;
    void (*release)(void *user); /* this function may be NULL */
} host_object;

static host_object *host_of(const pdl_handle *h) { return h->user; }

/* --- reading ------------------------------------------------------------------------------ */

/* Fails the expression that uses the object, because a function of the object failed. Takes error,
 * which may be NULL. Always returns false. */
static bool fail(pdl_err *err, pdl_error *error, const host_object *o, const char *what) {
    pdl_err_kind kind = error ? pdl_error_kind_of(error->kind) : PDL_E_code;
    if (kind == PDL_E_code) kind = PDL_E_expression;
    if (error)
        pdl_err_set(err, kind, (pdl_loc){0}, "%s", error->message);
    else
        pdl_err_set(err, kind, (pdl_loc){0}, "'%s' object has no %s", o->name, what);
    pdl_error_free(error);
    return false;
}

static bool put_text(const pdl_handle *h, bool repr, pdl_buf *out, pdl_err *err) {
    const host_object *o = host_of(h);
    if (!o->ops.text) {
        pdl_buf_put(out, pdl_str_get(repr ? h->repr : h->str));
        return true;
    }
    pdl_error *error = NULL;
    pdl_value *text = o->ops.text(o->user, repr, &error);
    size_t n = 0;
    const char *p = pdl_value_get_text(text, &n);
    bool ok = p != NULL;
    if (ok)
        pdl_buf_put(out, (pdl_str){p, n});
    else
        fail(err, error, o, "text");
    pdl_value_drop(text);
    return ok;
}

static bool truth_of(const pdl_handle *h, bool *out, pdl_err *err) {
    const host_object *o = host_of(h);
    pdl_error *error = NULL;
    size_t n;
    if (o->ops.truth)
        return o->ops.truth(o->user, out, &error) || fail(err, error, o, "truth value");
    *out = !(o->ops.length && o->ops.length(o->user, &n)) || n > 0;
    return true;
}

static bool len_of(const pdl_handle *h, size_t *out) {
    const host_object *o = host_of(h);
    return o->ops.length && o->ops.length(o->user, out);
}

static bool is_equal(const pdl_handle *a, const pdl_handle *b) {
    const host_object *x = host_of(a), *y = host_of(b);
    if (x->fn || y->fn) return x->fn == y->fn && x->user == y->user;
    if (x->user == y->user) return true;
    return x->ops.equal && x->ops.equal == y->ops.equal && x->ops.equal(x->user, y->user);
}

static const pdl_handle_ops looks = {put_text, truth_of, len_of, is_equal};

/* --- making ------------------------------------------------------------------------------- */

static void gone(void *user, uint64_t id) {
    host_object *o = user;
    (void)id;
    if (o->release) o->release(o->user);
    pdl_free(o->name);
    pdl_free(o);
}

/* Returns an FNV-1a hash, which is the same in every process. No object of code has such a
 * number. */
static uint64_t number_of(pdl_str name) {
    uint64_t x = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < name.n; i++)
        x = (x ^ (unsigned char)name.p[i]) * UINT64_C(0x100000001b3);
    return x | UINT64_C(0xffff) << 48;
}

static bool is_name(pdl_str s) {
    return s.n && s.n <= PDL_MAX_TEXT / 2 && pdl_utf8_check(s) == PDL_NOT_FOUND;
}

/* Makes a handle. Takes o and the texts. */
static pdl_val handle_of(host_object *o, pdl_val type, pdl_val shown) {
    pdl_val v =
        pdl_handle_new(number_of(pdl_str_of(o->name)), type, shown, pdl_keep(shown), true, -1);
    pdl_handle *h = pdl_handle_of(v);
    h->gone = gone;
    h->user = o;
    h->ops = &looks;
    return v;
}

pdl_value *pdl_value_function_with(const char *name, pdl_handler_fn *fn, void *user,
                                   void (*release)(void *user)) {
    pdl_str s = pdl_str_of(name ? name : "");
    if (!is_name(s) || !fn) return NULL;
    host_object *o = PDL_NEW(host_object);
    *o = (host_object){.name = pdl_str_dup(s), .fn = fn, .user = user, .release = release};
    pdl_val v = handle_of(o, pdl_textz("function"), pdl_textf("<function %s>", name));
    pdl_handle_of(v)->callable = true;
    return pdl_value_box(v);
}

pdl_value *pdl_value_function(const char *name, pdl_handler_fn *fn, void *user) {
    return pdl_value_function_with(name, fn, user, NULL);
}

pdl_value *pdl_value_object(void *object, const pdl_object_ops *ops) {
    pdl_object_ops o = {0};
    pdl_error *error = NULL;
    if (!object || !ops || !pdl_options_read(&o, ops, sizeof o, "pdl_object_ops", &error)) {
        pdl_error_free(error);
        return NULL;
    }
    unsigned traits = 0;
    const char *type = o.type_name ? o.type_name(object, &traits) : "object";
    pdl_str s = pdl_str_of(type ? type : "");
    if (!is_name(s)) return NULL;
    host_object *host = PDL_NEW(host_object);
    *host = (host_object){.name = pdl_str_dup(s), .user = object, .ops = o, .release = o.release};
    pdl_val v = handle_of(host, pdl_text(s), pdl_textf("<%s object>", host->name));
    pdl_handle *h = pdl_handle_of(v);
    h->callable = o.call && (!o.type_name || (traits & PDL_OBJECT_CALLABLE));
    h->iterable = o.iterate && (!o.type_name || (traits & PDL_OBJECT_ITERABLE));
    h->sequence = (traits & PDL_OBJECT_SEQUENCE) != 0;
    h->mapping = (traits & PDL_OBJECT_MAPPING) != 0;
    h->number = (traits & PDL_OBJECT_NUMBER) != 0;
    return pdl_value_box(v);
}

static const host_object *host_in(const pdl_value *v) {
    if (!v) return NULL;
    pdl_vref x = pdl_value_settled(v);
    bool ours = pdl_is(x, PDL_V_HANDLE) && pdl_handle_of(x)->ops == &looks;
    return ours ? host_of(pdl_handle_of(x)) : NULL;
}

void *pdl_value_object_of(const pdl_value *v, const pdl_object_ops *ops) {
    const host_object *o = host_in(v);
    return o && !o->fn && ops && o->ops.release == ops->release && o->ops.text == ops->text &&
                   o->ops.call == ops->call && o->ops.attribute == ops->attribute
               ? o->user
               : NULL;
}

void *pdl_value_function_of(const pdl_value *v, pdl_handler_fn *fn) {
    const host_object *o = host_in(v);
    return o && fn && o->fn == fn ? o->user : NULL;
}

/* --- operations of programs ----------------------------------------------------------------- */

/* Returns the first object of the host program in v; absent when there is none. *others is set when
 * v has objects of code blocks, too. */
static pdl_vref find(pdl_vref v, bool *others, unsigned depth) {
    pdl_vref found = pdl_absent();
    if (!(pdl_flags_of(v) & PDL_F_HANDLE) || depth > PDL_MAX_VALUE_DEPTH) return found;
    if (pdl_is(v, PDL_V_HANDLE)) {
        if (pdl_handle_of(v)->ops == &looks) return v;
        *others = true;
        return found;
    }
    bool is_dict = pdl_is_dict(v), is_list = pdl_is_list(v) || pdl_is(v, PDL_V_TUPLE);
    size_t n = is_dict ? pdl_dict_len(v) : is_list ? pdl_list_len(v) : 0;
    for (size_t i = 0; i < n; i++) {
        pdl_vref x = find(is_dict ? pdl_dict_val_at(v, i) : pdl_list_at(v, i), others, depth + 1);
        if (pdl_is_absent(found)) found = x;
    }
    return found;
}

bool pdl_objects_in(pdl_vref v) {
    bool others = false;
    return !pdl_is_absent(find(v, &others, 0));
}

bool pdl_objects_is_function(pdl_vref v) {
    return pdl_is(v, PDL_V_HANDLE) && pdl_handle_of(v)->ops == &looks &&
           host_of(pdl_handle_of(v))->fn;
}

/* Returns the object on which an operation works: the object that it names, or else the first
 * object among its operands. */
static pdl_vref target_of(const pdl_effect *e, bool *others) {
    static const char *const operands[] = {"left", "right", "args", "kwargs"};
    pdl_vref object = pdl_dict_getz(e->request, "object");
    if (!pdl_is_absent(object)) return find(object, others, 0);
    pdl_vref found = pdl_absent();
    for (size_t i = 0; i < sizeof operands / sizeof operands[0]; i++) {
        pdl_vref v = pdl_dict_getz(e->request, operands[i]);
        pdl_vref x = pdl_is_absent(v) ? v : find(v, others, 0);
        if (pdl_is_absent(found)) found = x;
    }
    return found;
}

bool pdl_objects_own(const pdl_effect *e) {
    bool others = false;
    return e->kind == PDL_EFFECT_object && !pdl_is_absent(target_of(e, &others));
}

static bool is_op(const pdl_effect *e, const char *op) {
    return pdl_text_is(pdl_dict_getz(e->request, "op"), op);
}

static pdl_val entry(pdl_val d, const pdl_effect *e, const char *key) {
    pdl_vref v = pdl_dict_getz(e->request, key);
    return pdl_is_absent(v) ? d : pdl_dict_putz(d, key, pdl_keep(v));
}

static bool function_data(const pdl_effect *e, const host_object *f, pdl_val *out, pdl_err *err) {
    if (!is_op(e, "call") || pdl_is_str(pdl_dict_getz(e->request, "name")))
        return pdl_err_host(
            err, "TypeError",
            "%s is a function of the host program: it can be called and nothing else", f->name);
    *out = entry(entry(pdl_dict_new(2), e, "args"), e, "kwargs");
    return true;
}

/* Refuses an operation that the host program does not provide. */
static bool refuse(const pdl_effect *e, const host_object *o, pdl_err *err) {
    const char *shown = is_op(e, "call")                       ? "callable"
                        : is_op(e, "iter")                     ? "iterable"
                        : is_op(e, "attr") || is_op(e, "item") ? "subscriptable"
                                                               : "an operand of this operator";
    return pdl_err_host(err, "TypeError", "'%s' object is not %s", o->name, shown);
}

static bool is_known(const pdl_effect *e, const pdl_object_ops *ops) {
    if (is_op(e, "attr") || is_op(e, "item")) return ops->attribute || ops->item;
    if (is_op(e, "call") && pdl_is_str(pdl_dict_getz(e->request, "name")))
        return ops->call_method != NULL;
    if (is_op(e, "call")) return ops->call != NULL;
    if (is_op(e, "iter")) return ops->iterate != NULL;
    return ops->operate != NULL;
}

bool pdl_objects_data(const pdl_effect *e, pdl_val *out, pdl_err *err) {
    static const char *const keys[] = {"op",     "object", "name",  "key",      "args",
                                       "kwargs", "left",   "right", "operator", "negated"};
    bool others = false;
    const host_object *o = host_of(pdl_handle_of(target_of(e, &others)));
    if (o->fn && !others && (is_op(e, "call") || is_op(e, "attr") || is_op(e, "item")))
        return function_data(e, o, out, err);
    if (o->fn || !is_known(e, &o->ops)) return refuse(e, o, err);
    if (others)
        return pdl_err_host(err, "TypeError",
                            "'%s' object of the host program and an object of the process of code "
                            "blocks cannot be used together",
                            o->name);
    pdl_val d = pdl_dict_new(sizeof keys / sizeof keys[0]);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) d = entry(d, e, keys[i]);
    *out = d;
    return true;
}

/* Asks for the attribute or the item `key`. Returns false when the object has no function for that,
 * or when the name of an attribute is not a text. */
static bool look_up(const host_object *o, bool attribute, pdl_vref key, pdl_request *r) {
    pdl_value boxed = {.v = pdl_lent(key)};
    if (attribute && (!o->ops.attribute || !pdl_is_str(key))) return false;
    if (!attribute && !o->ops.item) return false;
    if (attribute)
        o->ops.attribute(o->user, pdl_value_get_text(&boxed, NULL), r);
    else
        o->ops.item(o->user, &boxed, r);
    return true;
}

static void look_up_first(const host_object *o, bool attribute, pdl_vref key, pdl_request *r) {
    if (!look_up(o, attribute, key, r)) pdl_request_answer(r, NULL);
}

bool pdl_objects_look_again(const pdl_effect *e, pdl_request *r) {
    bool others = false, attribute = is_op(e, "attr");
    pdl_val target = pdl_keep(target_of(e, &others)),
            key = pdl_keep(pdl_dict_getz(e->request, attribute ? "name" : "key"));
    bool can = look_up(host_of(pdl_handle_of(target)), !attribute, key, r);
    pdl_drop(key);
    pdl_drop(target);
    return can;
}

static void ask_object(const pdl_effect *e, const host_object *o, pdl_request *r) {
    const pdl_object_ops *ops = &o->ops;
    pdl_value args = {.v = pdl_lent(pdl_dict_getz(e->request, "args"))},
              kwargs = {.v = pdl_lent(pdl_dict_getz(e->request, "kwargs"))},
              name = {.v = pdl_lent(pdl_dict_getz(e->request, "name"))};
    if (is_op(e, "attr"))
        look_up_first(o, true, name.v, r);
    else if (is_op(e, "item"))
        look_up_first(o, false, pdl_dict_getz(e->request, "key"), r);
    else if (is_op(e, "call") && pdl_is_str(name.v))
        ops->call_method(o->user, pdl_value_get_text(&name, NULL), &args, &kwargs, r);
    else if (is_op(e, "call"))
        ops->call(o->user, &args, &kwargs, r);
    else if (is_op(e, "iter"))
        ops->iterate(o->user, r);
    else
        ops->operate(o->user, pdl_request_data(r), r);
}

/* Asks the host program. The values of the request are kept during the call, because the host
 * program may free e. */
void pdl_objects_ask(const pdl_effect *e, pdl_request *r) {
    bool others = false;
    pdl_val target = pdl_keep(target_of(e, &others)), request = pdl_keep(e->request);
    const host_object *o = host_of(pdl_handle_of(target));
    if (o->fn)
        o->fn(o->user, r);
    else
        ask_object(&(pdl_effect){.kind = e->kind, .request = request}, o, r);
    pdl_drop(request);
    pdl_drop(target);
}

pdl_val pdl_objects_missing(const pdl_effect *e) {
    bool others = false;
    const host_object *o = host_of(pdl_handle_of(target_of(e, &others)));
    pdl_vref key = pdl_dict_getz(e->request, is_op(e, "attr") ? "name" : "key");
    pdl_buf b = PDL_BUF;
    pdl_err ignored = {0};
    pdl_buf_putf(&b, "'%s object' has no %s ", o->name, pdl_is_str(key) ? "attribute" : "element");
    if (!pdl_val_repr(key, &b, &ignored)) pdl_err_fini(&ignored);
    return pdl_undefined(pdl_text_of_buf(&b));
}
