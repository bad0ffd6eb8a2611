/* values.c -- the functions of pdl_value, the handles by which users of the library hold values.
 * Each function checks its arguments for misuse.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "api/embed/objects.h"
#include "api/handles.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "value/context.h"
#include "value/int.h"
#include "value/json_partial.h"
#include "value/json_read.h"
#include "value/json_write.h"
#include "value/label.h"
#include "value/promise.h"
#include "value/pyvalues.h"
#include "value/text.h"

#include "base/banned.h"

pdl_value *pdl_value_box(pdl_val v) {
    pdl_value *box = PDL_NEW(pdl_value);
    box->v = v;
    return box;
}

/* --- making ----------------------------------------------------------------------------------- */

static bool is_text(const char *p, size_t n) {
    return p && n <= PDL_MAX_TEXT && pdl_utf8_check((pdl_str){p, n}) == PDL_NOT_FOUND;
}

pdl_value *pdl_value_null(void) { return pdl_value_box(pdl_null()); }
pdl_value *pdl_value_bool(bool b) { return pdl_value_box(pdl_bool(b)); }
pdl_value *pdl_value_int(int64_t i) { return pdl_value_box(pdl_int(i)); }
pdl_value *pdl_value_float(double d) { return pdl_value_box(pdl_float(d)); }
pdl_value *pdl_value_list(void) { return pdl_value_box(pdl_list_new(0)); }
pdl_value *pdl_value_dict(void) { return pdl_value_box(pdl_dict_new(0)); }
pdl_value *pdl_value_text(const char *text) {
    return text ? pdl_value_text_n(text, strlen(text)) : NULL;
}

pdl_value *pdl_value_text_n(const char *text, size_t n_bytes) {
    return is_text(text, n_bytes) ? pdl_value_box(pdl_text((pdl_str){text, n_bytes})) : NULL;
}

/* Returns the value in the form that a reader sees. The messages of a model call are a context,
 * which a report presents as a list. That list is made only here, since few programs read reports.
 */
static pdl_vref whole(const pdl_value *v) {
    if (v->shows_list) {
        pdl_value *own = (pdl_value *)(uintptr_t)v;
        pdl_val list = pdl_context_to_list(v->v);
        own->shows_list = false;
        pdl_drop(own->v);
        own->v = list;
    }
    return v->v;
}

pdl_value *pdl_value_keep(const pdl_value *v) {
    return v ? pdl_value_box(pdl_keep(whole(v))) : NULL;
}

void pdl_value_drop(pdl_value *v) {
    if (!v) return;
    pdl_drop(v->v);
    pdl_free(v);
}

/* Appends an item. A shared container is copied first. A value cannot come to contain itself: when
 * the item is the list itself, the list has two owners, so a copy gets the item. */
bool pdl_value_push(pdl_value *v, const pdl_value *item) {
    if (!v || !item || !pdl_is_list(v->v)) return false;
    pdl_val x = pdl_keep(item->v);
    v->v = pdl_list_push(v->v, x);
    return true;
}

bool pdl_value_put(pdl_value *v, const char *key, const pdl_value *item) {
    if (!v || !item || !key || !pdl_is_dict(v->v) || !is_text(key, strlen(key))) return false;
    pdl_val x = pdl_keep(item->v);
    v->v = pdl_dict_putz(v->v, key, x);
    return true;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Returns the value that filled the promise v. Returns any other v as it is. */
pdl_vref pdl_value_settled(const pdl_value *v) {
    pdl_vref x = whole(v);
    while (pdl_is(x, PDL_V_PROMISE) && pdl_promise_of(x)->state == PDL_PROMISE_FILLED &&
           !pdl_is_absent(pdl_promise_of(x)->value))
        x = pdl_promise_of(x)->value;
    return x;
}

pdl_kind pdl_value_kind(const pdl_value *v) {
    if (!v) return PDL_KIND_NONE;
    pdl_tag t = pdl_tag_of(pdl_value_settled(v));
    static const struct {
        pdl_tag tag;
        pdl_kind kind;
    } rows[] = {
        {PDL_V_NULL, PDL_KIND_NULL},     {PDL_V_BOOL, PDL_KIND_BOOL},
        {PDL_V_INT, PDL_KIND_INT},       {PDL_V_BIGINT, PDL_KIND_INT},
        {PDL_V_FLOAT, PDL_KIND_FLOAT},   {PDL_V_STR, PDL_KIND_TEXT},
        {PDL_V_LIST, PDL_KIND_LIST},     {PDL_V_TUPLE, PDL_KIND_LIST},
        {PDL_V_DICT, PDL_KIND_DICT},     {PDL_V_ABSENT, PDL_KIND_NULL},
        {PDL_V_CONTEXT, PDL_KIND_LIST},  {PDL_V_RANGE, PDL_KIND_LIST},
        {PDL_V_DATE, PDL_KIND_DATE},     {PDL_V_DATETIME, PDL_KIND_DATE},
        {PDL_V_FUNC, PDL_KIND_FUNCTION}, {PDL_V_BYTES, PDL_KIND_BYTES},
        {PDL_V_SET, PDL_KIND_SET},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].tag == t) return rows[i].kind;
    if (pdl_objects_in(pdl_value_settled(v)))
        return pdl_objects_is_function(pdl_value_settled(v)) ? PDL_KIND_FUNCTION : PDL_KIND_OBJECT;
    return PDL_KIND_OTHER;
}

bool pdl_value_get_bool(const pdl_value *v, bool *out) {
    if (!v || !out || !pdl_is_bool(pdl_value_settled(v))) return false;
    *out = pdl_bool_of(pdl_value_settled(v));
    return true;
}

bool pdl_value_get_int(const pdl_value *v, int64_t *out) {
    if (!v || !out || !pdl_is(pdl_value_settled(v), PDL_V_INT)) return false;
    *out = pdl_int_of(pdl_value_settled(v));
    return true;
}

bool pdl_value_get_float(const pdl_value *v, double *out) {
    if (!v || !out) return false;
    pdl_vref x = pdl_value_settled(v);
    if (pdl_is(x, PDL_V_INT))
        *out = (double)pdl_int_of(x);
    else if (pdl_is(x, PDL_V_FLOAT))
        *out = pdl_float_of(x);
    else
        return false;
    return true;
}

const char *pdl_value_get_text(const pdl_value *v, size_t *n_bytes) {
    if (!v || !pdl_is_str(pdl_value_settled(v))) return NULL;
    pdl_str s = pdl_str_get(pdl_value_settled(v));
    if (n_bytes) *n_bytes = s.n;
    return s.p;
}

pdl_val pdl_value_part(pdl_vref container, pdl_vref part) {
    return pdl_with_label(pdl_keep(part), pdl_label_of_part(container));
}

static bool is_list(pdl_vref v) { return pdl_is_list(v) || pdl_is(v, PDL_V_TUPLE); }
static bool is_context(pdl_vref v) { return pdl_is(v, PDL_V_CONTEXT); }

size_t pdl_value_len(const pdl_value *v) {
    if (!v) return 0;
    pdl_vref x = pdl_value_settled(v);
    if (pdl_is_str(x)) return pdl_str_get(x).n;
    if (is_context(x)) return pdl_context_count(x);
    if (pdl_is(x, PDL_V_RANGE)) return pdl_range_len(x);
    if (pdl_is(x, PDL_V_SET)) return pdl_dict_len(pdl_set_dict(x));
    if (pdl_is(x, PDL_V_BYTES)) return pdl_bytes_get(x).n;
    return is_list(x) ? pdl_list_len(x) : pdl_is_dict(x) ? pdl_dict_len(x) : 0;
}

pdl_value *pdl_value_at(const pdl_value *v, size_t i) {
    if (!v || i >= pdl_value_len(v)) return NULL;
    pdl_vref x = pdl_value_settled(v);
    if (is_list(x)) return pdl_value_box(pdl_value_part(x, pdl_list_at(x, i)));
    if (is_context(x)) return pdl_value_box(pdl_context_at(x, i));
    if (pdl_is(x, PDL_V_RANGE))
        return pdl_value_box(pdl_value_part(x, pdl_int(pdl_range_at(x, i))));
    if (pdl_is(x, PDL_V_SET))
        return pdl_value_box(pdl_value_part(x, pdl_dict_key_at(pdl_set_dict(x), i)));
    return pdl_is_dict(x) ? pdl_value_box(pdl_value_part(x, pdl_dict_val_at(x, i))) : NULL;
}

pdl_value *pdl_value_key_at(const pdl_value *v, size_t i) {
    if (!v || i >= pdl_value_len(v) || !pdl_is_dict(pdl_value_settled(v))) return NULL;
    pdl_vref x = pdl_value_settled(v);
    return pdl_value_box(pdl_value_part(x, pdl_dict_key_at(x, i)));
}

pdl_value *pdl_value_get(const pdl_value *v, const char *key) {
    if (!v || !key || !pdl_is_dict(pdl_value_settled(v))) return NULL;
    pdl_vref d = pdl_value_settled(v), x = pdl_dict_getz(d, key);
    return pdl_is_absent(x) ? NULL : pdl_value_box(pdl_value_part(d, x));
}

bool pdl_value_equal(const pdl_value *a, const pdl_value *b) {
    return a && b && pdl_val_eq(pdl_value_settled(a), pdl_value_settled(b));
}

/* --- origins ---------------------------------------------------------------------------------- */

pdl_origins pdl_value_origins(const pdl_value *v) {
    pdl_vref x = v ? pdl_value_settled(v) : pdl_null();
    if (!pdl_label_origins(pdl_label_of(x))) return PDL_ORIGINS_NONE;
    return pdl_flags_of(x) & PDL_F_PARTS ? PDL_ORIGINS_PARTS : PDL_ORIGINS_WHOLE;
}

bool pdl_value_add_origins(pdl_value *v, const pdl_value *from) {
    if (!v || !from) return false;
    v->v = pdl_with_label(v->v, pdl_label_of(pdl_value_settled(from)));
    return true;
}

/* Returns the label of a name, and adds the name when it is new. Returns 0 when there are too many
 * names. */
static pdl_label label_named(pdl_label_names *names, const char *text) {
    uint32_t i = 0;
    while (i < names->n && strcmp(names->text[i], text) != 0) i++;
    if (i == PDL_LABEL_MAX_NAMED) return 0;
    if (i == names->n) names->text[names->n++] = pdl_str_dup(pdl_str_of(text));
    return pdl_label_named(i);
}

bool pdl_engine_add_origins(pdl_engine *engine, pdl_value *v, const pdl_engine *source,
                            const pdl_value *from) {
    if (!engine || !v || !from) return false;
    pdl_label given = pdl_label_elsewhere(pdl_label_of(pdl_value_settled(from))), label = given;
    for (uint32_t i = 0; i < PDL_LABEL_MAX_NAMED; i++) label &= ~pdl_label_named(i);
    for (uint32_t i = 0; source && i < source->labels.n; i++)
        if (given & pdl_label_named(i))
            label |= label_named(&engine->labels, source->labels.text[i]);
    v->v = pdl_with_label(v->v, label);
    return true;
}

/* --- text ------------------------------------------------------------------------------------- */

pdl_value *pdl_value_from_json(const char *text, size_t n_bytes, pdl_error **error) {
    pdl_err err = {0};
    pdl_val v;
    if (!text) {
        pdl_misuse(error, "pdl_value_from_json: text is NULL");
        return NULL;
    }
    if (!is_text(text, n_bytes)) {
        pdl_err_set(&err, PDL_E_syntax, (pdl_loc){0}, "JSON text is not UTF-8");
        pdl_error_give(error, &err, NULL);
        return NULL;
    }
    if (pdl_json_read((pdl_str){text, n_bytes}, 0, &v, NULL, &err)) return pdl_value_box(v);
    pdl_error_give(error, &err, NULL);
    return NULL;
}

/* Stores the content of v in *out, with the values of its promises in their places. Fails when a
 * promise has no value yet. */
static bool ready(const pdl_value *v, pdl_val *out, pdl_err *err) {
    if (!pdl_may_hold_promise(whole(v))) {
        *out = pdl_keep(v->v);
        return true;
    }
    if (pdl_is_absent(pdl_promise_blocking(v->v))) return pdl_promise_resolve(v->v, out, err);
    return pdl_err_set(err, PDL_E_type, (pdl_loc){0}, "a value that is still to come has no text");
}

/* Returns the content of b, into which v was written, as a text value. When `ok` is false, sets
 * *error from err and returns NULL. Takes b. */
static pdl_value *written(const pdl_value *v, bool ok, pdl_buf *b, pdl_err *err,
                          pdl_error **error) {
    pdl_label label = pdl_label_built(pdl_label_of(v->v));
    if (ok) return pdl_value_box(pdl_with_label(pdl_text_of_buf(b), label));
    pdl_buf_fini(b);
    pdl_error_give(error, err, NULL);
    return NULL;
}

pdl_value *pdl_value_from_partial_json(const char *text, size_t n_bytes) {
    if (!text) return NULL;
    pdl_str s = {text, n_bytes};
    size_t bad = pdl_utf8_check(s); /* the last character may be incomplete */
    pdl_val v = pdl_json_partial(bad == PDL_NOT_FOUND ? s : pdl_str_sub(s, 0, bad));
    return pdl_is_absent(v) ? NULL : pdl_value_box(v);
}

pdl_value *pdl_value_to_json(const pdl_value *v, unsigned indent, pdl_error **error) {
    pdl_err err = {0};
    pdl_buf b = PDL_BUF_INIT(PDL_MAX_TEXT);
    pdl_val x;
    if (!v) {
        pdl_misuse(error, "pdl_value_to_json: the value is NULL");
        return NULL;
    }
    if (indent > PDL_JSON_MAX_INDENT) indent = PDL_JSON_MAX_INDENT;
    bool ok = ready(v, &x, &err);
    if (ok) {
        ok = pdl_json_write(x, PDL_JSON_SPACED | PDL_JSON_CONTEXT, (int)indent, &b, &err);
        pdl_drop(x);
    }
    return written(v, ok, &b, &err, error);
}

pdl_value *pdl_value_to_text(const pdl_value *v, pdl_error **error) {
    pdl_err err = {0};
    pdl_buf b = PDL_BUF_INIT(PDL_MAX_TEXT);
    pdl_val x;
    if (!v) {
        pdl_misuse(error, "pdl_value_to_text: the value is NULL");
        return NULL;
    }
    bool ok = ready(v, &x, &err);
    if (ok) {
        ok = pdl_stringify(x, &b, &err);
        pdl_drop(x);
    }
    return written(v, ok, &b, &err, error);
}
