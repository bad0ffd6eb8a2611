/* worker_values.c -- values as the JSON of the worker protocol, and back. Values that JSON lacks
 * are written {"$pdl": KIND, ...}; a function, or an object without a Python form, is the number of
 * an entry in a table. A message describes each such entry once, beside its values.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "worker/worker_impl.h"

#include "base/bisect.h"
#include "base/limits.h"
#include "base/num.h"
#include "value/context.h"
#include "value/func.h"
#include "value/handle.h"
#include "value/int.h"
#include "value/json_put.h"
#include "value/json_read.h"
#include "value/json_write.h"
#include "value/promise.h"
#include "value/pyvalues.h"
#include "value/text.h"

#include "base/banned.h"

enum {
    DECIMAL_BITS = 13000
}; /* newer Pythons refuse longer decimal numbers, so longer numbers are sent in hexadecimal */

void pdl_worker_wire_fini(wire_out *o) {
    pdl_buf_fini(&o->body);
    pdl_buf_fini(&o->refs);
}

/* --- messages to Python ----------------------------------------------------------------------- */

void pdl_worker_message_open(pdl_buf *b, const char *type, uint64_t id) {
    pdl_json_open(b, '{');
    pdl_json_put_text(b, "t", pdl_str_of(type));
    pdl_json_put_int(b, "id", (int64_t)id);
}

void pdl_worker_message_error(pdl_buf *b, const pdl_err *err) {
    pdl_json_put_key(b, "error");
    pdl_json_open(b, '{');
    pdl_json_put_text(b, "kind", pdl_str_of(pdl_err_kind_name(err->kind)));
    if (err->msg) pdl_json_put_text(b, "msg", pdl_str_of(err->msg));
    if (err->py_class) pdl_json_put_text(b, "py_class", pdl_str_of(err->py_class));
    if (err->has_status) pdl_json_put_int(b, "status", err->status);
    pdl_buf_putc(b, '}');
}

/* --- values to Python ------------------------------------------------------------------------- */

static bool put_bytes(wire_out *o, pdl_str bytes) {
    pdl_json_open_kind(&o->body, "bytes");
    pdl_json_put_hex(&o->body, "hex", bytes);
    pdl_buf_putc(&o->body, '}');
    return true;
}

static bool put_int(wire_out *o, pdl_vref v) {
    if (pdl_is(v, PDL_V_INT) || pdl_int_bit_length(v) < DECIMAL_BITS) {
        pdl_int_write(v, 10, &o->body);
        return true;
    }
    pdl_json_open_kind(&o->body, "int");
    pdl_json_put_key(&o->body, "hex");
    pdl_buf_putc(&o->body, '"');
    pdl_int_write(v, 16, &o->body);
    PDL_PUT(&o->body, "\"}");
    return true;
}

/* Begins {"$pdl": KIND, "items": and the list. */
static void open_items(wire_out *o, const char *kind) {
    pdl_json_open_kind(&o->body, kind);
    pdl_json_put_key(&o->body, "items");
    pdl_json_open(&o->body, '[');
}

static bool put_items(wire_out *o, const char *kind, pdl_vref list) {
    if (kind)
        open_items(o, kind);
    else
        pdl_buf_putc(&o->body, '[');
    for (size_t i = 0; i < pdl_list_len(list); i++) {
        if (i) pdl_buf_putc(&o->body, ',');
        if (!pdl_worker_wire_put(o, pdl_list_at(list, i))) return false;
    }
    pdl_buf_putc(&o->body, ']');
    if (kind) pdl_buf_putc(&o->body, '}');
    return true;
}

static bool put_list_of(wire_out *o, const char *kind, pdl_vref v) {
    pdl_val list;
    if (!pdl_val_to_list(v, &list, o->err)) return false;
    bool ok = put_items(o, kind, list);
    pdl_drop(list);
    return ok;
}

static bool has_plain_keys(pdl_vref d) {
    for (size_t i = 0; i < pdl_dict_len(d); i++) {
        pdl_vref k = pdl_dict_key_at(d, i);
        if (!pdl_is_str(k) || pdl_text_is(k, "$pdl")) return false;
    }
    return true;
}

static bool put_dict(wire_out *o, pdl_vref d) {
    bool plain = has_plain_keys(d);
    if (plain)
        pdl_buf_putc(&o->body, '{');
    else
        open_items(o, "dict");
    for (size_t i = 0; i < pdl_dict_len(d); i++) {
        if (i) pdl_buf_putc(&o->body, ',');
        if (!plain) pdl_buf_putc(&o->body, '[');
        if (!pdl_worker_wire_put(o, pdl_dict_key_at(d, i))) return false;
        pdl_buf_putc(&o->body, plain ? ':' : ',');
        if (!pdl_worker_wire_put(o, pdl_dict_val_at(d, i))) return false;
        if (!plain) pdl_buf_putc(&o->body, ']');
    }
    pdl_buf_put(&o->body, plain ? PDL_STR("}") : PDL_STR("]}"));
    return true;
}

static bool put_context(wire_out *o, pdl_vref v) {
    pdl_val list = pdl_context_to_list(v);
    bool ok = put_items(o, "context", list);
    pdl_drop(list);
    return ok;
}

static bool put_time(wire_out *o, pdl_vref v) {
    pdl_buf iso = PDL_BUF;
    pdl_time_iso(v, ' ', &iso);
    pdl_json_open_kind(&o->body, pdl_is(v, PDL_V_DATE) ? "date" : "datetime");
    pdl_json_put_text(&o->body, "iso", pdl_buf_str(&iso));
    pdl_buf_putc(&o->body, '}');
    pdl_buf_fini(&iso);
    return true;
}

static bool put_range(wire_out *o, pdl_vref v) {
    int64_t start, stop, step;
    pdl_range_get(v, &start, &stop, &step);
    pdl_json_open_kind(&o->body, "range");
    pdl_json_put_int(&o->body, "start", start);
    pdl_json_put_int(&o->body, "stop", stop);
    pdl_json_put_int(&o->body, "step", step);
    pdl_buf_putc(&o->body, '}');
    return true;
}

/* Writes an object with the number of the value that it represents. */
static void put_number_of(wire_out *o, const char *kind, uint64_t id) {
    pdl_json_open_kind(&o->body, kind);
    pdl_json_put_int(&o->body, "id", (int64_t)id);
    pdl_buf_putc(&o->body, '}');
}

static void handle_gone(void *user, uint64_t id) {
    lease *l = user;
    if (l->w && id >> HANDLE_BITS == l->w->generation)
        *pdl_vec_push(&l->w->drops) = id & ((1ull << HANDLE_BITS) - 1);
    if (--l->refs == 0) pdl_free(l);
}

static bool put_handle(wire_out *o, pdl_vref v) {
    uint64_t id = pdl_handle_of(v)->id;
    const lease *maker = pdl_handle_of(v)->user;
    if (id >> HANDLE_BITS != o->w->generation && pdl_handle_of(v)->gone == handle_gone &&
        maker->w && maker->w != o->w && maker->w->generation == id >> HANDLE_BITS)
        return pdl_err_set(o->err, PDL_E_policy, (pdl_loc){0},
                           "the object of class %.*s is in the Python process of another sandbox",
                           PDL_FMT(pdl_str_get(pdl_handle_of(v)->type_name)));
    if (id >> HANDLE_BITS != o->w->generation)
        return pdl_err_host(o->err, "RuntimeError",
                            "the object of class %.*s is gone: its Python process ended",
                            PDL_FMT(pdl_str_get(pdl_handle_of(v)->type_name)));
    put_number_of(o, "handle", id & ((1ull << HANDLE_BITS) - 1));
    return true;
}

/* Writes one field of the description of a held value. pdl_worker_wire_put writes the text, so the
 * buffers are swapped meanwhile. */
static bool put_about(wire_out *o, const char *key, pdl_vref v) {
    pdl_buf body = o->body;
    o->body = o->refs;
    o->refs = PDL_BUF; /* descriptions are plain data and need no further descriptions */
    pdl_json_put_key(&o->body, key);
    bool ok = pdl_worker_wire_put(o, v);
    pdl_buf_fini(&o->refs);
    o->refs = o->body;
    o->body = body;
    return ok;
}

static bool put_func_about(wire_out *o, pdl_vref v) {
    const pdl_func *f = pdl_func_about(v);
    o->said |= pdl_label_of(f->signature);
    pdl_vref inner =
        pdl_is_dict(f->signature) ? pdl_dict_getz(f->signature, "function") : pdl_absent();
    pdl_vref about = pdl_is_dict(inner) ? pdl_dict_getz(inner, "description") : pdl_absent();
    return put_about(o, "name", f->name) && put_about(o, "signature", f->signature) &&
           put_about(o, "params", f->params) &&
           (pdl_is_absent(about) || put_about(o, "description", about));
}

static bool put_other_about(wire_out *o, pdl_vref v) {
    pdl_buf shown = PDL_BUF;
    pdl_val_show(v, true, 200, &shown);
    pdl_val text = pdl_text(pdl_buf_str(&shown));
    bool ok = put_about(o, "text", text);
    pdl_drop(text);
    pdl_buf_fini(&shown);
    if (!ok || !pdl_is(v, PDL_V_RECORD) || !o->w->opt.record) return ok;
    pdl_val attrs = o->w->opt.record(o->w->opt.user, v);
    if (!pdl_is_absent(attrs)) ok = put_about(o, "attrs", attrs);
    pdl_drop(attrs);
    return ok;
}

static bool put_held(wire_out *o, pdl_vref v) {
    worker *w = o->w;
    bool func = pdl_is(v, PDL_V_FUNC);
    held *h = pdl_vec_push(&w->held);
    *h = (held){++w->next_held, pdl_keep(v)};
    put_number_of(o, "ref", h->id);
    char id[PDL_NUM_MAX];
    id[pdl_num_int((int64_t)h->id, id)] = 0;
    pdl_json_put_key(&o->refs, id);
    pdl_json_open(&o->refs, '{');
    pdl_json_put_text(&o->refs, "kind", pdl_str_of(func ? "func" : "other"));
    if (!(func ? put_func_about(o, v) : put_other_about(o, v))) return false;
    pdl_buf_putc(&o->refs, '}');
    return true;
}

static bool put_promise(wire_out *o, pdl_vref v) {
    const pdl_promise *p = pdl_promise_of(v);
    if (p->state == PDL_PROMISE_FILLED) return pdl_worker_wire_put(o, p->value);
    if (p->state == PDL_PROMISE_FAILED) {
        pdl_err_copy(o->err, &p->err);
        return false;
    }
    return pdl_err_set(o->err, PDL_E_code, (pdl_loc){0}, "a value for code is not there yet");
}

static bool put_kind(wire_out *o, pdl_vref v) {
    switch (pdl_tag_of(v)) {
    case PDL_V_ABSENT:
    case PDL_V_NULL: PDL_PUT(&o->body, "null"); return true;
    case PDL_V_BOOL:
        pdl_buf_put(&o->body, pdl_bool_of(v) ? PDL_STR("true") : PDL_STR("false"));
        return true;
    case PDL_V_INT:
    case PDL_V_BIGINT: return put_int(o, v);
    case PDL_V_FLOAT: return pdl_json_write(v, PDL_JSON_NAN, 0, &o->body, o->err);
    case PDL_V_STR: return pdl_json_quote_long(pdl_str_get(v), 0, &o->body, o->err);
    case PDL_V_LIST: return put_items(o, NULL, v);
    case PDL_V_DICT: return put_dict(o, v);
    case PDL_V_TUPLE: return put_items(o, "tuple", v);
    case PDL_V_SET: return put_list_of(o, "set", v);
    case PDL_V_BYTES: return put_bytes(o, pdl_bytes_get(v));
    case PDL_V_DATE:
    case PDL_V_DATETIME: return put_time(o, v);
    case PDL_V_RANGE: return put_range(o, v);
    case PDL_V_VIEW: return put_list_of(o, NULL, v);
    case PDL_V_CONTEXT: return put_context(o, v);
    case PDL_V_PROMISE: return put_promise(o, v);
    case PDL_V_HANDLE: return put_handle(o, v);
    case PDL_V_FUNC:
    case PDL_V_UNDEFINED:
    case PDL_V_NATIVE:
    case PDL_V_CELL:
    case PDL_V_AGGREGATOR:
    case PDL_V_RECORD: return put_held(o, v);
    case PDL_V_COUNT: break;
    }
    PDL_BUG("value of kind %d", (int)pdl_tag_of(v));
}

PDL_COLD static bool check_cancel(wire_out *o) {
    o->check_at = o->body.len + PDL_BUF_CHECK_EVERY;
    return pdl_buf_check(&o->body, o->err);
}

bool pdl_worker_wire_put(wire_out *o, pdl_vref v) {
    if (o->depth >= PDL_MAX_VALUE_DEPTH - 100) /* the message and its tags add levels of nesting */
        return pdl_err_set(o->err, PDL_E_limit, (pdl_loc){0},
                           "a value for code is nested deeper than %d levels",
                           PDL_MAX_VALUE_DEPTH - 100);
    if (o->body.len > PDL_MAX_FRAME_BYTES / 2)
        return pdl_err_set(o->err, PDL_E_limit, (pdl_loc){0},
                           "the values for code are larger than %d bytes", PDL_MAX_FRAME_BYTES / 2);
    if (PDL_UNLIKELY(o->body.len > o->check_at) && !check_cancel(o)) return false;
    o->depth++;
    bool ok = put_kind(o, v);
    o->depth--;
    return ok;
}

/* --- values that Python holds ----------------------------------------------------------------- */

static held *find_held(worker *w, uint64_t id) {
    size_t lo = 0;
    PDL_BISECT(lo, w->held.n, w->held.p[mid].id < id);
    return lo < w->held.n && w->held.p[lo].id == id ? &w->held.p[lo] : NULL;
}

/* Removes the slots of released values, once they are half of the table. */
static void compact(worker *w) {
    size_t n = 0;
    for (size_t i = 0; i < w->held.n; i++)
        if (!pdl_is_absent(w->held.p[i].v)) w->held.p[n++] = w->held.p[i];
    w->held.n = n;
    w->n_released = 0;
}

void pdl_worker_wire_release(worker *w, uint64_t held_id) {
    held *h = find_held(w, held_id);
    if (!h) return;
    pdl_val v = h->v;
    h->v = pdl_absent();
    if (++w->n_released > w->held.n / 2) compact(w);
    pdl_drop(v);
}

void pdl_worker_wire_forget(worker *w) {
    while (w->held.n) {
        pdl_val v = w->held.p[--w->held.n].v;
        pdl_drop(v);
    }
    w->n_released = 0;
}

/* --- values from Python ----------------------------------------------------------------------- */

static bool bad(pdl_err *err, const char *what) {
    return pdl_err_set(err, PDL_E_protocol, (pdl_loc){0}, "the Python process sent a bad %s", what);
}

static bool get_int(pdl_str hex, pdl_val *out, pdl_err *err) {
    if (pdl_int_read(hex, 16, out)) return true;
    if (hex.n * 4 <= PDL_MAX_INT_BITS) return bad(err, "integer");
    return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "integer is longer than %d bits",
                       PDL_MAX_INT_BITS);
}

static pdl_val text_at(pdl_vref j, const char *key) {
    pdl_vref v = pdl_dict_getz(j, key);
    return pdl_is_str(v) ? pdl_keep(v) : pdl_textz("");
}

static bool is_a(pdl_vref kinds, const char *kind) {
    bool found = false;
    for (size_t i = 0; !found && pdl_is_list(kinds) && i < pdl_list_len(kinds); i++)
        found = pdl_text_is(pdl_list_at(kinds, i), kind);
    return found;
}

static bool get_handle(worker *w, pdl_vref j, pdl_val *out, pdl_err *err) {
    pdl_vref id = pdl_dict_getz(j, "id"), len = pdl_dict_getz(j, "len"),
             form = pdl_dict_getz(j, "json");
    pdl_vref truth = pdl_dict_getz(j, "truth"), is = pdl_dict_getz(j, "is");
    if (!pdl_is(id, PDL_V_INT)) return bad(err, "handle");
    uint64_t n = (uint64_t)pdl_int_of(id) | (uint64_t)w->generation << HANDLE_BITS;
    *out = pdl_handle_new(n, text_at(j, "type"), text_at(j, "str"), text_at(j, "repr"),
                          !pdl_is_bool(truth) || pdl_bool_of(truth),
                          pdl_is(len, PDL_V_INT) ? pdl_int_of(len) : -1);
    pdl_handle *h = pdl_handle_of(*out);
    h->callable = is_a(is, "callable");
    h->number = is_a(is, "number");
    h->iterable = is_a(is, "iterable");
    h->sequence = is_a(is, "sequence");
    h->mapping = is_a(is, "mapping");
    h->gone = handle_gone;
    h->user = w->lease;
    w->lease->refs++;
    if (pdl_is_absent(form) || pdl_worker_wire_get(w, form, &h->json, err)) return true;
    pdl_drop(*out); /* this also releases the object in the Python process */
    return false;
}

static bool get_list(worker *w, pdl_vref j, pdl_val *out, pdl_err *err) {
    if (!pdl_is_list(j)) return bad(err, "list");
    size_t n = pdl_list_len(j);
    pdl_val list = pdl_list_new(n);
    for (size_t i = 0; i < n; i++) {
        pdl_val x;
        if (!pdl_worker_wire_get(w, pdl_list_at(j, i), &x, err)) {
            pdl_drop(list);
            return false;
        }
        list = pdl_list_push(list, x);
    }
    *out = list;
    return true;
}

static bool get_plain_dict(worker *w, pdl_vref j, pdl_val *out, pdl_err *err) {
    size_t n = pdl_dict_len(j);
    pdl_val d = pdl_dict_new(n);
    for (size_t i = 0; i < n; i++) {
        pdl_val x;
        if (!pdl_worker_wire_get(w, pdl_dict_val_at(j, i), &x, err)) {
            pdl_drop(d);
            return false;
        }
        d = pdl_dict_put(d, pdl_keep(pdl_dict_key_at(j, i)), x);
    }
    *out = d;
    return true;
}

static bool get_dict(worker *w, pdl_vref j, pdl_val *out, pdl_err *err) {
    pdl_val items, d;
    if (!get_list(w, pdl_dict_getz(j, "items"), &items, err)) return false;
    d = pdl_dict_new(pdl_list_len(items));
    for (size_t i = 0; i < pdl_list_len(items); i++) {
        pdl_vref pair = pdl_list_at(items, i);
        if (!pdl_is_list(pair) || pdl_list_len(pair) != 2 ||
            !pdl_is_hashable(pdl_list_at(pair, 0))) {
            pdl_drop(items);
            pdl_drop(d);
            return bad(err, "dict");
        }
        d = pdl_dict_put(d, pdl_keep(pdl_list_at(pair, 0)), pdl_keep(pdl_list_at(pair, 1)));
    }
    pdl_drop(items);
    *out = d;
    return true;
}

static bool get_set(worker *w, pdl_vref j, pdl_val *out, pdl_err *err) {
    pdl_val items;
    if (!get_list(w, pdl_dict_getz(j, "items"), &items, err)) return false;
    pdl_val d = pdl_dict_new(pdl_list_len(items));
    bool ok = true;
    for (size_t i = 0; ok && i < pdl_list_len(items); i++) {
        ok = pdl_is_hashable(pdl_list_at(items, i));
        if (ok) d = pdl_dict_put(d, pdl_keep(pdl_list_at(items, i)), pdl_null());
    }
    pdl_drop(items);
    if (!ok) {
        pdl_drop(d);
        return bad(err, "set");
    }
    *out = pdl_set_from_dict(d);
    return true;
}

static bool get_bytes(pdl_str hex, pdl_val *out, pdl_err *err) {
    pdl_buf b = PDL_BUF;
    bool ok = hex.n % 2 == 0;
    for (size_t i = 0; ok && i < hex.n; i += 2) {
        int hi = pdl_hex_digit(hex.p[i]), lo = pdl_hex_digit(hex.p[i + 1]);
        ok = hi >= 0 && lo >= 0;
        if (ok) pdl_buf_putc(&b, (char)(hi << 4 | lo));
    }
    if (ok) *out = pdl_bytes(pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return ok || bad(err, "bytes");
}

static bool get_time(pdl_str iso, pdl_val *out, pdl_err *err) {
    pdl_time t;
    bool is_date;
    if (!pdl_time_read(iso, &is_date, &t)) return bad(err, "date");
    return is_date ? pdl_date_new(&t, out, err) : pdl_datetime_new(&t, out, err);
}

static bool get_range(pdl_vref j, pdl_val *out, pdl_err *err) {
    pdl_vref start = pdl_dict_getz(j, "start"), stop = pdl_dict_getz(j, "stop"),
             step = pdl_dict_getz(j, "step");
    if (!pdl_is(start, PDL_V_INT) || !pdl_is(stop, PDL_V_INT) || !pdl_is(step, PDL_V_INT) ||
        pdl_int_of(step) == 0)
        return bad(err, "range");
    *out = pdl_range_new(pdl_int_of(start), pdl_int_of(stop), pdl_int_of(step));
    return true;
}

static bool get_held(worker *w, pdl_vref j, pdl_val *out, pdl_err *err) {
    pdl_vref id = pdl_dict_getz(j, "id");
    held *h = pdl_is(id, PDL_V_INT) ? find_held(w, (uint64_t)pdl_int_of(id)) : NULL;
    if (!h || pdl_is_absent(h->v)) return bad(err, "reference");
    *out = pdl_keep(h->v);
    return true;
}

/* Reads a context. User code may have added items that are not messages; the value is then a list
 * and no context. */
static bool get_context(worker *w, pdl_vref j, pdl_val *out, pdl_err *err) {
    pdl_val list, context;
    if (!get_list(w, pdl_dict_getz(j, "items"), &list, err)) return false;
    pdl_err none = {0};
    if (pdl_context_from(list, &context, &none)) {
        pdl_drop(list);
        *out = context;
    } else {
        pdl_err_fini(&none);
        *out = list;
    }
    return true;
}

static bool get_tagged(worker *w, pdl_str kind, pdl_vref j, pdl_val *out, pdl_err *err) {
    pdl_vref iso = pdl_dict_getz(j, "iso"), hex = pdl_dict_getz(j, "hex"),
             why = pdl_dict_getz(j, "why");
    if (pdl_str_is(kind, "tuple")) {
        if (!get_list(w, pdl_dict_getz(j, "items"), out, err)) return false;
        *out = pdl_list_as_tuple(*out);
        return true;
    }
    if (pdl_str_is(kind, "context")) return get_context(w, j, out, err);
    if (pdl_str_is(kind, "handle")) return get_handle(w, j, out, err);
    if (pdl_str_is(kind, "ref")) return get_held(w, j, out, err);
    if (pdl_str_is(kind, "dict")) return get_dict(w, j, out, err);
    if (pdl_str_is(kind, "set")) return get_set(w, j, out, err);
    if (pdl_str_is(kind, "range")) return get_range(j, out, err);
    if (pdl_str_is(kind, "bytes") && pdl_is_str(hex)) return get_bytes(pdl_str_get(hex), out, err);
    if (pdl_str_is(kind, "int") && pdl_is_str(hex)) return get_int(pdl_str_get(hex), out, err);
    if (pdl_is_str(iso)) return get_time(pdl_str_get(iso), out, err);
    if (!pdl_str_is(kind, "undefined") || !pdl_is_str(why)) return bad(err, "value");
    *out = pdl_undefined(pdl_keep(why));
    return true;
}

/* Reads a value. The reader of JSON bounds the depth of the value. */
bool pdl_worker_wire_get(worker *w, pdl_vref j, pdl_val *out, pdl_err *err) {
    if (pdl_is_list(j)) return get_list(w, j, out, err);
    if (!pdl_is_dict(j)) {
        *out = pdl_keep(j);
        return true;
    }
    pdl_vref kind = pdl_dict_getz(j, "$pdl");
    if (pdl_is_str(kind)) return get_tagged(w, pdl_str_get(kind), j, out, err);
    return get_plain_dict(w, j, out, err);
}
