/* values.c -- see debugger.h: variables, messages and requests, as the client shows them.
 *
 * What the client may unfold is kept under a number while the run is stopped. Text of values is cut
 * and has no keys; a value that a model still has to give says so.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "dap/debugger.h"
#include "value/context.h"
#include "value/promise.h"
#include "value/text.h"

#include "base/banned.h"

enum { MOST_SHOWN = 400, MOST_CHILDREN = 10000 };

void pdl_dap_references_fini(debugger *g) {
    for (size_t i = 0; i < g->references.n; i++) pdl_drop(g->references.p[i]);
    pdl_vec_fini(&g->references);
}

/* The number of a value that has parts; 0: it has none. */
static int64_t reference(debugger *g, pdl_vref v) {
    bool parts = (pdl_is_list(v) && pdl_list_len(v)) || (pdl_is_dict(v) && pdl_dict_len(v)) ||
                 (pdl_is(v, PDL_V_TUPLE) && pdl_list_len(v));
    if (!parts) return 0;
    *pdl_vec_push(&g->references) = pdl_keep(v);
    return (int64_t)g->references.n;
}

/* Without the promises in it, when all of them are filled. Owned. */
static pdl_val settled(pdl_vref v) {
    pdl_err err = {0};
    pdl_val out;
    if (!pdl_may_hold_promise(v) || !pdl_is_absent(pdl_promise_blocking(v))) return pdl_keep(v);
    if (pdl_promise_resolve(v, &out, &err)) return out;
    pdl_err_fini(&err);
    return pdl_keep(v);
}

static void show(debugger *g, pdl_vref v, pdl_buf *out) {
    pdl_buf text = PDL_BUF, safe = PDL_BUF;
    if (pdl_is(v, PDL_V_PROMISE))
        PDL_PUT(&text, "(not known yet)");
    else if (pdl_may_hold_promise(v))
        PDL_PUT(&text, "(parts are not known yet)");
    else
        pdl_val_show(v, true, MOST_SHOWN, &text);
    if (g->session)
        pdl_session_redact(g->session, pdl_buf_str(&text), &safe);
    else
        pdl_buf_put(&safe, pdl_buf_str(&text));
    pdl_buf_put(out, pdl_buf_str(&safe));
    pdl_buf_fini(&text);
    pdl_buf_fini(&safe);
}

pdl_val pdl_dap_put_value(debugger *g, const char *key, pdl_vref given) {
    pdl_buf b = PDL_BUF;
    pdl_val v = settled(given);
    show(g, v, &b);
    pdl_val d = pdl_dict_putz(pdl_dict_new(5), key, pdl_text(pdl_buf_str(&b)));
    d = pdl_dict_putz(d, "type", pdl_textz(pdl_type_name(v)));
    d = pdl_dict_putz(d, "variablesReference", pdl_int(reference(g, v)));
    if (pdl_is_list(v)) d = pdl_dict_putz(d, "indexedVariables", pdl_int((int64_t)pdl_list_len(v)));
    if (pdl_is_dict(v)) d = pdl_dict_putz(d, "namedVariables", pdl_int((int64_t)pdl_dict_len(v)));
    pdl_buf_fini(&b);
    pdl_drop(v);
    return d;
}

static pdl_val put_variable(debugger *g, pdl_val name, pdl_vref v) {
    return pdl_dict_putz(pdl_dap_put_value(g, "value", v), "name", name);
}

static pdl_val put_key(pdl_vref key) {
    pdl_buf b = PDL_BUF;
    if (pdl_is_str(key)) return pdl_keep(key);
    pdl_val_show(key, true, MOST_SHOWN, &b);
    return pdl_text_of_buf(&b);
}

pdl_val pdl_dap_variables(debugger *g, pdl_vref args) {
    int64_t at = pdl_member_int(args, "variablesReference", 0);
    int64_t start = pdl_member_int(args, "start", 0), count = pdl_member_int(args, "count", 0);
    pdl_val list = pdl_list_new(8);
    if (count <= 0 || count > MOST_CHILDREN) count = MOST_CHILDREN;
    if (at < 1 || (size_t)at > g->references.n || start < 0) return list;
    pdl_val v = pdl_keep(g->references.p[at - 1]);
    bool dict = pdl_is_dict(v);
    size_t n = dict ? pdl_dict_len(v) : pdl_list_len(v);
    for (size_t i = (size_t)start; i < n && (int64_t)pdl_list_len(list) < count; i++)
        list = pdl_list_push(
            list, dict ? put_variable(g, put_key(pdl_dict_key_at(v, i)), pdl_dict_val_at(v, i))
                       : put_variable(g, pdl_textf("%zu", i), pdl_list_at(v, i)));
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

/* The variables of the program, or those that every program has. */
static pdl_val part_of(pdl_vref scope, bool predefined) {
    pdl_val d = pdl_dict_new(8);
    for (size_t i = 0; i < pdl_dict_len(scope); i++) {
        pdl_vref key = pdl_dict_key_at(scope, i);
        if (!pdl_is_str(key) || is_predefined(pdl_str_get(key)) != predefined) continue;
        d = pdl_dict_put(d, pdl_keep(key), pdl_keep(pdl_dict_val_at(scope, i)));
    }
    return d;
}

static pdl_val add_scope(debugger *g, pdl_val list, const char *name, pdl_val v, bool expensive) {
    if ((pdl_is_dict(v) && !pdl_dict_len(v)) || (pdl_is_list(v) && !pdl_list_len(v))) {
        pdl_drop(v);
        return list;
    }
    *pdl_vec_push(&g->references) = v;
    pdl_val d = pdl_dict_putz(pdl_dict_new(4), "name", pdl_textz(name));
    d = pdl_dict_putz(d, "variablesReference", pdl_int((int64_t)g->references.n));
    return pdl_list_push(list, pdl_dict_putz(d, "expensive", pdl_bool(expensive)));
}

/* The messages of a context as a list; empty where a part is not known yet. */
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
        list = add_scope(g, list, "Request", pdl_keep(g->request), false);
    list = add_scope(g, list, "Variables", part_of(scope, false), false);
    list = add_scope(g, list, "Context", messages_of(f->context), false);
    if (!pdl_is_absent(g->last_result)) {
        pdl_val d = pdl_dict_putz(pdl_dict_new(1), "result", pdl_keep(g->last_result));
        list = add_scope(g, list, "Block before", d, false);
    }
    list = add_scope(g, list, "Predefined", part_of(scope, true), true);
    pdl_drop(scope);
    return list;
}
