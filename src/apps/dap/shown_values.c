/* shown_values.c -- prepares variables, messages and requests for the client; see debugger.h. While
 * the run is stopped, a value that the client may unfold has a number. Texts of values are
 * shortened and contain no keys, and no values that the policies redact in the output. A value that
 * a model has not returned yet is marked.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "dap/debugger.h"
#include "value/context.h"
#include "value/promise.h"
#include "value/text.h"

#include "base/banned.h"

enum { MAX_SHOWN = 400, MAX_CHILDREN = 10000 };

void pdl_dap_references_fini(debugger *g) {
    for (size_t i = 0; i < g->references.n; i++) {
        pdl_drop(g->references.p[i].value);
        pdl_drop(g->references.p[i].key);
    }
    pdl_vec_fini(&g->references);
}

/* Returns a number for a value that has parts; 0 for a value without parts. parent: number of the
 * value that contains it under `key`; 0 when no value does. */
static int64_t reference(debugger *g, pdl_vref v, size_t parent, pdl_vref key) {
    bool parts = (pdl_is_list(v) && pdl_list_len(v)) || (pdl_is_dict(v) && pdl_dict_len(v)) ||
                 (pdl_is(v, PDL_V_TUPLE) && pdl_list_len(v));
    if (!parts) return 0;
    *pdl_vec_push(&g->references) =
        (dap_reference){.value = pdl_keep(v), .parent = parent, .key = pdl_keep(key)};
    return (int64_t)g->references.n;
}

/* Returns v with its promises replaced by their values. When a promise is not filled, returns v
 * unchanged. Owned. */
static pdl_val settled(pdl_vref v) {
    pdl_err err = {0};
    pdl_val out;
    if (!pdl_may_hold_promise(v) || !pdl_is_absent(pdl_promise_blocking(v))) return pdl_keep(v);
    if (pdl_promise_resolve(v, &out, &err)) return out;
    pdl_err_fini(&err);
    return pdl_keep(v);
}

/* Returns v without the parts that the policies redact in the output. Owned. */
static pdl_val allowed(const debugger *g, pdl_vref v) {
    return g->session ? pdl_session_shown(g->session, v) : pdl_keep(v);
}

static void show(debugger *g, pdl_vref v, pdl_buf *out) {
    pdl_buf text = PDL_BUF;
    if (pdl_is(v, PDL_V_PROMISE))
        PDL_PUT(&text, "(not known yet)");
    else if (pdl_may_hold_promise(v))
        PDL_PUT(&text, "(parts are not known yet)");
    else
        pdl_val_show(v, true, MAX_SHOWN, &text);
    if (g->session)
        pdl_session_redact(g->session, pdl_buf_str(&text), out);
    else
        pdl_buf_put(out, pdl_buf_str(&text));
    pdl_buf_fini(&text);
}

/* Returns the value at `name`, and what the client can unfold. A list or dict that is redacted as a
 * whole is shown as a text, which has no parts. */
static pdl_val put_part(debugger *g, const char *name, pdl_vref given, size_t parent,
                        pdl_vref key) {
    pdl_buf b = PDL_BUF;
    pdl_val v = settled(given), shown = allowed(g, v);
    show(g, shown, &b);
    pdl_val d = pdl_dict_putz(pdl_dict_new(5), name, pdl_text(pdl_buf_str(&b)));
    d = pdl_dict_putz(d, "type", pdl_textz(pdl_type_name(v)));
    int64_t n = pdl_is_str(shown) ? 0 : reference(g, v, parent, key);
    d = pdl_dict_putz(d, "variablesReference", pdl_int(n));
    if (pdl_is_list(shown))
        d = pdl_dict_putz(d, "indexedVariables", pdl_int((int64_t)pdl_list_len(v)));
    if (pdl_is_dict(shown))
        d = pdl_dict_putz(d, "namedVariables", pdl_int((int64_t)pdl_dict_len(v)));
    pdl_buf_fini(&b);
    pdl_drop(v);
    pdl_drop(shown);
    return d;
}

pdl_val pdl_dap_put_value(debugger *g, const char *name, pdl_vref v) {
    return put_part(g, name, v, 0, pdl_absent());
}

/* Returns the name that the client shows for a key, or for the number of an item. */
static pdl_val name_of(const debugger *g, pdl_vref key) {
    pdl_buf b = PDL_BUF;
    pdl_val shown = allowed(g, key);
    if (g->session) shown = pdl_session_redact_val(g->session, shown);
    if (pdl_is_str(shown)) return shown;
    pdl_val_show(shown, true, MAX_SHOWN, &b);
    pdl_drop(shown);
    return pdl_text_of_buf(&b);
}

static size_t count_parts(pdl_vref v) {
    return pdl_is_absent(v) ? 0 : pdl_is_dict(v) ? pdl_dict_len(v) : pdl_list_len(v);
}

/* Returns the key of the part with the number i; owned. */
static pdl_val key_at(pdl_vref v, size_t i) {
    return pdl_is_dict(v) ? pdl_keep(pdl_dict_key_at(v, i)) : pdl_int((int64_t)i);
}

static pdl_val put_variable(debugger *g, size_t parent, pdl_vref v, size_t i) {
    pdl_val key = key_at(v, i);
    pdl_vref part = pdl_is_dict(v) ? pdl_dict_val_at(v, i) : pdl_list_at(v, i);
    pdl_val d = pdl_dict_putz(put_part(g, "value", part, parent, key), "name", name_of(g, key));
    pdl_drop(key);
    return d;
}

pdl_val pdl_dap_variables(debugger *g, pdl_vref args) {
    int64_t at = pdl_member_int(args, "variablesReference", 0);
    int64_t start = pdl_member_int(args, "start", 0), count = pdl_member_int(args, "count", 0);
    pdl_val list = pdl_list_new(8);
    if (count <= 0 || count > MAX_CHILDREN) count = MAX_CHILDREN;
    if (at < 1 || (size_t)at > g->references.n || start < 0) return list;
    pdl_val v = pdl_keep(g->references.p[at - 1].value);
    /* a dict has no indexed parts, and a list no named ones */
    const char *other = pdl_is_dict(v) ? "indexed" : "named";
    size_t n = pdl_text_is(pdl_member(args, "filter"), other) ? 0 : count_parts(v);
    for (size_t i = (size_t)start; i < n && (int64_t)pdl_list_len(list) < count; i++)
        list = pdl_list_push(list, put_variable(g, (size_t)at, v, i));
    pdl_drop(v);
    return list;
}

/* --- scopes ----------------------------------------------------------------------------------- */

pdl_val pdl_dap_scope(debugger *g, uint32_t fiber) {
    return g->session ? pdl_run_scope_of(pdl_session_get(g->session), fiber) : pdl_dict_new(0);
}

pdl_val pdl_dap_scope_of_frame(debugger *g, const dap_thread *t, const dap_frame *f) {
    if (f == &t->frames.p[t->frames.n - 1] || !f->scope) return pdl_dap_scope(g, t->fiber);
    pdl_val d = pdl_dict_new(0);
    if (!pdl_is_absent(f->context)) d = pdl_dict_putz(d, "pdl_context", pdl_keep(f->context));
    pdl_val rest = pdl_scope_to_dict(f->scope, g->names);
    d = pdl_dict_merge(d, rest);
    pdl_drop(rest);
    return d;
}

static bool is_predefined(pdl_str name) {
    return pdl_str_starts(name, PDL_STR("pdl_")) || pdl_str_is(name, "stdlib");
}

/* Returns the variables of the program itself, or the variables that every program has. */
static pdl_val part_of(pdl_vref scope, bool predefined) {
    pdl_val d = pdl_dict_new(8);
    for (size_t i = 0; i < pdl_dict_len(scope); i++) {
        pdl_vref key = pdl_dict_key_at(scope, i);
        if (!pdl_is_str(key) || is_predefined(pdl_str_get(key)) != predefined) continue;
        d = pdl_dict_put(d, pdl_keep(key), pdl_keep(pdl_dict_val_at(scope, i)));
    }
    return d;
}

/* Adds a scope, unless it is empty, or redacted as a whole. frame: the frame of its variables; 0
 * when the client cannot set them. */
static pdl_val add_scope(debugger *g, pdl_val list, const char *name, pdl_val v, bool expensive,
                         uint32_t frame) {
    pdl_val shown = allowed(g, v);
    bool none = pdl_is_str(shown) || !count_parts(v);
    pdl_drop(shown);
    if (none) {
        pdl_drop(v);
        return list;
    }
    *pdl_vec_push(&g->references) =
        (dap_reference){.value = v, .frame = frame, .key = pdl_absent()};
    pdl_val d = pdl_dict_putz(pdl_dict_new(4), "name", pdl_textz(name));
    d = pdl_dict_putz(d, "variablesReference", pdl_int((int64_t)g->references.n));
    return pdl_list_push(list, pdl_dict_putz(d, "expensive", pdl_bool(expensive)));
}

/* Returns the messages of a context as a list; empty when one of its parts is not known yet. */
static pdl_val messages_of(pdl_vref context) {
    if (pdl_is_list(context)) return pdl_keep(context);
    pdl_val v = pdl_is_absent(context) ? pdl_absent() : settled(context);
    if (pdl_is_absent(v) || !pdl_is(v, PDL_V_CONTEXT) || pdl_may_hold_promise(v)) {
        if (!pdl_is_absent(v)) pdl_drop(v);
        return pdl_list_new(0);
    }
    pdl_val list = pdl_context_messages(v);
    pdl_drop(v);
    return list;
}

pdl_val pdl_dap_scopes(debugger *g, uint32_t frame) {
    dap_thread *t;
    const dap_frame *f = pdl_dap_frame_of(g, frame, &t);
    pdl_val list = pdl_list_new(4);
    if (!f) return list;
    pdl_val scope = pdl_dap_scope_of_frame(g, t, f);
    if (!pdl_is_absent(g->request))
        list = add_scope(g, list, "Request", pdl_keep(g->request), false, 0);
    list = add_scope(g, list, "Variables", part_of(scope, false), false, frame);
    list = add_scope(g, list, "Context", messages_of(f->context), false, 0);
    if (!pdl_is_absent(g->last_result)) {
        pdl_val d = pdl_dict_putz(pdl_dict_new(1), "result", pdl_keep(g->last_result));
        list = add_scope(g, list, "Block before", d, false, 0);
    }
    list = add_scope(g, list, "Predefined", part_of(scope, true), true, 0);
    pdl_drop(scope);
    return list;
}

/* --- setting ---------------------------------------------------------------------------------- */

/* Returns the number of the scope that contains a value, and stores the name of the variable in
 * *name. Returns 0 when the value is in no scope whose variables can be set. */
static size_t scope_of(const debugger *g, size_t at, pdl_vref key, pdl_str *name) {
    while (!pdl_is_absent(g->references.p[at - 1].value) && g->references.p[at - 1].parent) {
        key = g->references.p[at - 1].key;
        at = g->references.p[at - 1].parent;
    }
    const dap_reference *r = &g->references.p[at - 1];
    if (pdl_is_absent(r->value) || !r->frame || !pdl_is_str(key)) return 0;
    *name = pdl_str_get(key);
    return at;
}

/* Returns v with the part at `key` replaced. Takes part. */
static pdl_val with_part(pdl_vref v, pdl_vref key, pdl_val part) {
    if (pdl_is_dict(v)) return pdl_dict_put(pdl_keep(v), pdl_keep(key), part);
    bool tuple = pdl_is(v, PDL_V_TUPLE);
    pdl_val list = pdl_list_set(pdl_keep(v), (size_t)pdl_int_of(key), part);
    return tuple ? pdl_list_as_tuple(list) : list;
}

static void forget_part(debugger *g, size_t parent, pdl_vref key) {
    for (size_t i = 0; i < g->references.n; i++) {
        dap_reference *r = &g->references.p[i];
        if (r->parent != parent || !pdl_val_eq(r->key, key)) continue;
        pdl_drop(r->value);
        r->value = pdl_absent();
    }
}

/* Replaces a part. Values are immutable, so every value around the part is made again. Returns the
 * new value of the variable, owned. The client's numbers of the values around the part then refer
 * to the new values; its numbers of the old part become invalid. */
static pdl_val replace(debugger *g, size_t at, pdl_vref key, pdl_vref part) {
    pdl_val v = pdl_keep(part);
    while (!g->references.p[at - 1].frame) {
        dap_reference *r = &g->references.p[at - 1];
        v = with_part(r->value, key, v);
        pdl_drop(r->value);
        r->value = pdl_keep(v);
        key = r->key;
        at = r->parent;
    }
    dap_reference *scope = &g->references.p[at - 1];
    scope->value = pdl_dict_put(scope->value, pdl_keep(key), pdl_keep(v));
    return v;
}

/* Returns the frame with this id when it belongs to the innermost call; otherwise NULL, with the
 * reason in text. A change to the variables of a caller would be lost, because the machine reads
 * the stored scope of the caller only when the call returns. */
static dap_frame *settable_frame(debugger *g, uint32_t id, dap_thread **t, pdl_buf *text) {
    dap_frame *f = pdl_dap_frame_of(g, id, t);
    for (dap_frame *up = f ? &(*t)->frames.p[(*t)->frames.n - 1] : NULL; f && up > f; up--)
        if (up->is_called) f = NULL;
    if (!f) PDL_PUT(text, "variables of a caller cannot be set before the call has returned");
    return f;
}

/* Returns the key of the part that the client names; absent when there is no such part. Owned. */
static pdl_val find_key(const debugger *g, int64_t at, pdl_str name) {
    if (at < 1 || (size_t)at > g->references.n) return pdl_absent();
    pdl_vref v = g->references.p[at - 1].value;
    for (size_t i = 0, n = count_parts(v); i < n; i++) {
        pdl_val key = key_at(v, i), shown = name_of(g, key);
        bool found = pdl_str_eq(pdl_str_get(shown), name);
        pdl_drop(shown);
        if (found) return key;
        pdl_drop(key);
    }
    return pdl_absent();
}

static pdl_val set_part(debugger *g, size_t at, pdl_vref key, pdl_str expression, pdl_buf *text) {
    pdl_str name;
    dap_thread *t = NULL;
    pdl_val v;
    size_t scope = scope_of(g, at, key, &name);
    if (!scope) {
        PDL_PUT(text, "only variables of the program can be set");
        return pdl_absent();
    }
    dap_frame *f = settable_frame(g, g->references.p[scope - 1].frame, &t, text);
    if (!f) return pdl_absent();
    if (!pdl_dap_evaluate(g, expression, pdl_dap_scope_of_frame(g, t, f), &v, text))
        return pdl_absent();
    pdl_val old = pdl_keep(pdl_dict_gets(g->references.p[scope - 1].value, name));
    pdl_val whole = replace(g, at, key, v), body = pdl_absent();
    forget_part(g, at, key);
    if (!pdl_session_set_variable(g->session, t->fiber, name, old, whole))
        pdl_buf_putf(text, "no block that runs now has the variable %.*s", PDL_FMT(name));
    else
        body = put_part(g, "value", v, at, key);
    for (size_t i = t->frames.n; i > 0; i--) {
        pdl_scope_rebind(&t->frames.p[i - 1].scope, pdl_intern(g->names, name), old, whole);
        if (t->frames.p[i - 1].is_called) break;
    }
    pdl_drop(old);
    pdl_drop(whole);
    pdl_drop(v);
    return body;
}

pdl_val pdl_dap_set_variable(debugger *g, pdl_vref args, pdl_buf *text) {
    int64_t at = pdl_member_int(args, "variablesReference", 0);
    pdl_str name = pdl_member_str(args, "name"), value = pdl_member_str(args, "value");
    pdl_val key = find_key(g, at, name), body = pdl_absent();
    if (!g->stopped)
        PDL_PUT(text, "the program is not stopped");
    else if (pdl_is_absent(key))
        pdl_buf_putf(text, "there is no variable %.*s", PDL_FMT(name));
    else if (!pdl_str_trim(value).n)
        PDL_PUT(text, "the value is an expression, such as 5, 'text' or [1, 2]");
    else
        body = set_part(g, (size_t)at, key, value, text);
    pdl_drop(key);
    return body;
}
