/* encode.c -- see effect.h: writes any value as JSON text and reads it back.
 *
 * JSON values are written unchanged, views as lists, functions and objects of templates as their
 * text. Any other value is an object whose first member "$pdl" is its kind. A dict that has a key
 * "$pdl", or a key that is not a string, is written as such an object, too; otherwise a reader
 * could not distinguish it. Labels are not written, except the labels of a reply that a reader
 * cannot compute from its kind and request. A context is written as its messages in order, so
 * independent groups of messages are read back as one sequence.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "effect/encode.h"

#include <math.h>
#include <string.h>

#include "base/limits.h"
#include "base/num.h"
#include "base/sort.h"
#include "effect/effect.h"
#include "value/context.h"
#include "value/handle.h"
#include "value/int.h"
#include "value/json_put.h"
#include "value/json_read.h"
#include "value/json_write.h"
#include "value/label.h"
#include "value/pyvalues.h"
#include "value/text.h"

#include "base/banned.h"

typedef struct enc {
    pdl_buf *out;
    int flags;
    const pdl_secrets *secrets;
    unsigned depth;  /* depth of the JSON that is being written */
    size_t start;    /* where the value begins in out */
    size_t check_at; /* length of out at which space and cancellation are checked next */
} enc;

/* --- writing ---------------------------------------------------------------------------------- */

static bool put(enc *e, pdl_vref v, pdl_err *err);

/* Writes a text, which is redacted before it is escaped. Every text passes here. */
static bool put_quoted(enc *e, pdl_str text, pdl_err *err) {
    if (!pdl_secrets_any(e->secrets)) return pdl_json_quote_long(text, 0, e->out, err);
    pdl_buf b = PDL_BUF;
    pdl_redact_text(e->secrets, text, &b);
    bool ok = pdl_json_quote_long(pdl_buf_str(&b), 0, e->out, err);
    pdl_buf_fini(&b);
    return ok;
}

static bool deeper(enc *e, unsigned n, pdl_err *err) {
    e->depth += n;
    if (e->depth <= PDL_MAX_JSON_DEPTH) return true;
    return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "value is nested deeper than %d levels",
                       (int)PDL_MAX_JSON_DEPTH);
}

static bool put_list(enc *e, pdl_vref list, pdl_err *err) {
    if (!deeper(e, 1, err)) return false;
    pdl_buf_putc(e->out, '[');
    for (size_t i = 0; i < pdl_list_len(list); i++) {
        if (i) pdl_buf_putc(e->out, ',');
        if (!put(e, pdl_list_at(list, i), err)) return false;
    }
    pdl_buf_putc(e->out, ']');
    e->depth--;
    return true;
}

static bool put_owned(enc *e, pdl_val list, pdl_err *err) {
    bool ok = put_list(e, list, err);
    pdl_drop(list);
    return ok;
}

/* Writes {"$pdl": kind, "items": list}. Takes list. */
static bool put_items(enc *e, const char *kind, pdl_val list, pdl_err *err) {
    pdl_json_open_kind(e->out, kind);
    pdl_json_put_key(e->out, "items");
    if (!deeper(e, 1, err)) {
        pdl_drop(list);
        return false;
    }
    if (!put_owned(e, list, err)) return false;
    e->depth--;
    pdl_buf_putc(e->out, '}');
    return true;
}

typedef struct entry {
    pdl_str key;
    size_t i;
} entry;

static int by_key(const void *a, const void *b) {
    return pdl_str_cmp(((const entry *)a)->key, ((const entry *)b)->key);
}

/* Writes a dict whose keys are all strings. */
static bool put_object(enc *e, pdl_vref d, pdl_err *err) {
    size_t n = pdl_dict_len(d);
    bool ok = deeper(e, 1, err);
    entry *order = PDL_NEW_N(entry, n);
    for (size_t i = 0; i < n; i++) order[i] = (entry){pdl_str_get(pdl_dict_key_at(d, i)), i};
    if (ok && (e->flags & PDL_ENC_SORT)) ok = pdl_sort(order, n, sizeof *order, by_key, err);
    pdl_buf_putc(e->out, '{');
    for (size_t i = 0; ok && i < n; i++) {
        pdl_vref x = pdl_dict_val_at(d, order[i].i);
        if (i) pdl_buf_putc(e->out, ',');
        ok = put_quoted(e, order[i].key, err);
        pdl_buf_putc(e->out, ':');
        if (!ok) break;
        if ((e->flags & PDL_ENC_REDACT) && pdl_is_str(x) && pdl_is_secret_parameter(order[i].key))
            PDL_PUT(e->out, "\"[REDACTED]\"");
        else
            ok = put(e, x, err);
    }
    pdl_buf_putc(e->out, '}');
    e->depth--;
    pdl_free(order);
    return ok;
}

static bool put_dict(enc *e, pdl_vref d, pdl_err *err) {
    bool plain = true;
    for (size_t i = 0; plain && i < pdl_dict_len(d); i++) {
        pdl_vref key = pdl_dict_key_at(d, i);
        plain = pdl_is_str(key) && !(pdl_flags_of(key) & PDL_F_SAFE) && !pdl_text_is(key, "$pdl");
    }
    if (plain) return put_object(e, d, err);
    pdl_val list = pdl_list_new(pdl_dict_len(d));
    for (size_t i = 0; i < pdl_dict_len(d); i++) {
        pdl_val pair = pdl_list_new(2);
        pair = pdl_list_push(pair, pdl_keep(pdl_dict_key_at(d, i)));
        pair = pdl_list_push(pair, pdl_keep(pdl_dict_val_at(d, i)));
        list = pdl_list_push(list, pair);
    }
    return put_items(e, "dict", list, err);
}

static pdl_val keys_of(pdl_vref d) {
    pdl_val list = pdl_list_new(pdl_dict_len(d));
    for (size_t i = 0; i < pdl_dict_len(d); i++)
        list = pdl_list_push(list, pdl_keep(pdl_dict_key_at(d, i)));
    return list;
}

static bool put_iterable(enc *e, const char *kind, pdl_vref v, pdl_err *err) {
    pdl_val list;
    if (!pdl_val_to_list(v, &list, err)) return false;
    return kind ? put_items(e, kind, list, err) : put_owned(e, list, err);
}

static void put_float(enc *e, double d) {
    char text[PDL_NUM_MAX];
    if (isfinite(d)) {
        pdl_buf_put(e->out, (pdl_str){text, pdl_num_double(d, text)});
        return;
    }
    pdl_json_open_kind(e->out, "float");
    pdl_json_put_text(e->out, "text", pdl_str_of(isnan(d) ? "nan" : d > 0 ? "inf" : "-inf"));
    pdl_buf_putc(e->out, '}');
}

static bool put_tagged_text(enc *e, const char *kind, pdl_str text, pdl_err *err) {
    pdl_json_open_kind(e->out, kind);
    pdl_json_put_key(e->out, "text");
    bool ok = put_quoted(e, text, err);
    pdl_buf_putc(e->out, '}');
    return ok;
}

static void put_bytes(enc *e, pdl_str s) {
    pdl_buf shown = PDL_BUF;
    pdl_redact_text(e->secrets, s, &shown);
    pdl_json_open_kind(e->out, "bytes");
    pdl_json_put_hex(e->out, "hex", pdl_buf_str(&shown));
    pdl_buf_putc(e->out, '}');
    pdl_buf_fini(&shown);
}

/* Writes an object of the worker: its number and the facts that arrived with it, so that a replay
 * can make the same request again. */
static bool put_handle(enc *e, pdl_vref v, pdl_err *err) {
    const pdl_handle *h = pdl_handle_of(v);
    pdl_json_open_kind(e->out, "handle");
    pdl_json_put_key(e->out, "id");
    pdl_buf_putf(e->out, "%llu", (unsigned long long)h->id);
    pdl_json_put_int(e->out, "len", h->len);
    pdl_json_put_bool(e->out, "truth", h->truth);
    pdl_json_put_bool(e->out, "callable", h->callable);
    pdl_json_put_key(e->out, "texts");
    pdl_json_open(e->out, '[');
    const pdl_str texts[] = {pdl_str_get(h->type_name), pdl_str_get(h->str), pdl_str_get(h->repr)};
    bool ok = true;
    for (size_t i = 0; ok && i < sizeof texts / sizeof *texts; i++) {
        if (i) pdl_buf_putc(e->out, ',');
        ok = put_quoted(e, texts[i], err);
    }
    PDL_PUT(e->out, "]");
    if (ok && !pdl_is_absent(h->json)) {
        pdl_json_put_key(e->out, "json");
        ok = put(e, h->json, err);
    }
    pdl_buf_putc(e->out, '}');
    return ok;
}

/* Writes functions and objects of templates as their text. */
static bool put_text_of(enc *e, pdl_vref v, pdl_err *err) {
    pdl_buf b = PDL_BUF;
    bool ok = pdl_val_str(v, &b, err);
    if (ok) ok = put_quoted(e, pdl_buf_str(&b), err);
    pdl_buf_fini(&b);
    return ok;
}

static bool put_time(enc *e, pdl_vref v, pdl_err *err) {
    pdl_buf b = PDL_BUF;
    pdl_time_iso(v, ' ', &b);
    bool ok = put_tagged_text(e, pdl_is(v, PDL_V_DATE) ? "date" : "datetime", pdl_buf_str(&b), err);
    pdl_buf_fini(&b);
    return ok;
}

static void put_range(enc *e, pdl_vref v) {
    int64_t start, stop, step;
    pdl_range_get(v, &start, &stop, &step);
    pdl_json_open_kind(e->out, "range");
    pdl_json_put_key(e->out, "items");
    pdl_buf_putf(e->out, "[%lld,%lld,%lld]}", (long long)start, (long long)stop, (long long)step);
}

static void put_absent(enc *e) {
    pdl_json_open_kind(e->out, "absent");
    pdl_buf_putc(e->out, '}');
}

PDL_COLD static bool check_room(enc *e, pdl_err *err) {
    if (e->out->len - e->start > PDL_MAX_TEXT)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0},
                           "a value that is recorded is longer than %zu bytes", PDL_MAX_TEXT);
    e->check_at = e->out->len + PDL_BUF_CHECK_EVERY;
    return pdl_buf_check(e->out, err);
}

/* This function is a flat switch over the kinds of values. */
static bool put(enc *e, pdl_vref v, pdl_err *err) {
    if (PDL_UNLIKELY(e->out->len > e->check_at) && !check_room(e, err)) return false;
    switch (pdl_tag_of(v)) {
    case PDL_V_ABSENT: put_absent(e); return true;
    case PDL_V_NULL: PDL_PUT(e->out, "null"); return true;
    case PDL_V_BOOL:
        pdl_buf_put(e->out, pdl_bool_of(v) ? PDL_STR("true") : PDL_STR("false"));
        return true;
    case PDL_V_INT:
    case PDL_V_BIGINT: pdl_int_write(v, 10, e->out); return true;
    case PDL_V_FLOAT: put_float(e, pdl_float_of(v)); return true;
    case PDL_V_STR:
        if (pdl_flags_of(v) & PDL_F_SAFE) return put_tagged_text(e, "safe", pdl_str_get(v), err);
        return put_quoted(e, pdl_str_get(v), err);
    case PDL_V_LIST: return put_list(e, v, err);
    case PDL_V_DICT: return put_dict(e, v, err);
    case PDL_V_TUPLE: return put_iterable(e, "tuple", v, err);
    case PDL_V_SET: return put_items(e, "set", keys_of(pdl_set_dict(v)), err);
    case PDL_V_BYTES: put_bytes(e, pdl_bytes_get(v)); return true;
    case PDL_V_DATE:
    case PDL_V_DATETIME: return put_time(e, v, err);
    case PDL_V_RANGE: put_range(e, v); return true;
    case PDL_V_VIEW: return put_iterable(e, NULL, v, err);
    case PDL_V_CONTEXT: return put_items(e, "context", pdl_context_to_list(v), err);
    case PDL_V_UNDEFINED:
        return put_tagged_text(e, "undefined", pdl_str_get(pdl_undefined_why(v)), err);
    case PDL_V_HANDLE: return put_handle(e, v, err);
    case PDL_V_FUNC:
    case PDL_V_PROMISE:
    case PDL_V_NATIVE:
    case PDL_V_CELL:
    case PDL_V_AGGREGATOR:
    case PDL_V_RECORD: return put_text_of(e, v, err);
    case PDL_V_COUNT: break;
    }
    PDL_BUG("value kind %d", (int)pdl_tag_of(v));
}

bool pdl_effect_encode_with(pdl_vref v, int flags, const pdl_secrets *secrets, pdl_buf *out,
                            pdl_err *err) {
    enc e = {.out = out,
             .flags = flags,
             .secrets = secrets,
             .start = out->len,
             .check_at = out->len + PDL_BUF_CHECK_EVERY};
    return put(&e, v, err);
}

/* Writes {"$pdl": "labelled", "items": names, "value": v} when there are labels. */
bool pdl_effect_encode_reply(const pdl_effect *e, pdl_vref reply, const pdl_secrets *secrets,
                             pdl_buf *out, pdl_err *err) {
    if (!e->added_labels) return pdl_effect_encode_redacted(reply, secrets, out, err);
    pdl_json_open_kind(out, "labelled");
    pdl_json_put_key(out, "items");
    pdl_json_open(out, '[');
    for (size_t i = 0; i < PDL_LABEL_COUNT; i++)
        if (e->added_labels >> i & 1) pdl_json_add_text(out, pdl_str_of(pdl_label_name(i)));
    pdl_buf_putc(out, ']');
    pdl_json_put_key(out, "value");
    if (!pdl_effect_encode_redacted(reply, secrets, out, err)) return false;
    pdl_buf_putc(out, '}');
    return true;
}

bool pdl_effect_encode(pdl_vref v, pdl_buf *out, pdl_err *err) {
    return pdl_effect_encode_with(v, 0, NULL, out, err);
}

bool pdl_effect_encode_redacted(pdl_vref v, const pdl_secrets *secrets, pdl_buf *out,
                                pdl_err *err) {
    return pdl_effect_encode_with(v, 0, secrets, out, err);
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool revive(pdl_vref v, pdl_val *out, pdl_err *err);

static bool malformed(pdl_vref kind, pdl_err *err) {
    pdl_str k = pdl_is_str(kind) ? pdl_str_get(kind) : PDL_STR("?");
    return pdl_err_set(err, PDL_E_protocol, (pdl_loc){0}, "malformed value of kind '%.*s'",
                       PDL_FMT(k));
}

static bool revive_list(pdl_vref v, pdl_val *out, pdl_err *err) {
    pdl_val list = pdl_list_new(pdl_list_len(v)), x;
    for (size_t i = 0; i < pdl_list_len(v); i++) {
        if (!revive(pdl_list_at(v, i), &x, err)) {
            pdl_drop(list);
            return false;
        }
        list = pdl_list_push(list, x);
    }
    *out = list;
    return true;
}

static bool revive_object(pdl_vref v, pdl_val *out, pdl_err *err) {
    pdl_val d = pdl_dict_new(pdl_dict_len(v)), x;
    for (size_t i = 0; i < pdl_dict_len(v); i++) {
        if (!revive(pdl_dict_val_at(v, i), &x, err)) {
            pdl_drop(d);
            return false;
        }
        d = pdl_dict_put_known(d, pdl_keep(pdl_dict_key_at(v, i)), x);
    }
    *out = d;
    return true;
}

/* Makes a dict, or a set, from a list of its items, which were revived before. Takes list. */
static bool from_items(pdl_val list, bool set, pdl_vref kind, pdl_val *out, pdl_err *err) {
    pdl_val d = pdl_dict_new(pdl_list_len(list));
    bool ok = true;
    for (size_t i = 0; ok && i < pdl_list_len(list); i++) {
        pdl_vref item = pdl_list_at(list, i);
        ok = set || (pdl_is_list(item) && pdl_list_len(item) == 2);
        pdl_vref key = set ? item : ok ? pdl_list_at(item, 0) : item;
        ok = ok && pdl_is_hashable(key);
        if (ok)
            d = pdl_dict_put(d, pdl_keep(key), set ? pdl_null() : pdl_keep(pdl_list_at(item, 1)));
    }
    pdl_drop(list);
    if (!ok) {
        pdl_drop(d);
        return malformed(kind, err);
    }
    *out = set ? pdl_set_from_dict(d) : d;
    return true;
}

static int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool revive_bytes(pdl_vref text, pdl_vref kind, pdl_val *out, pdl_err *err) {
    if (!pdl_is_str(text) || pdl_str_get(text).n % 2) return malformed(kind, err);
    pdl_str s = pdl_str_get(text);
    pdl_buf b = PDL_BUF;
    bool ok = true;
    for (size_t i = 0; ok && i < s.n; i += 2) {
        ok = hex(s.p[i]) >= 0 && hex(s.p[i + 1]) >= 0;
        if (ok) pdl_buf_putc(&b, (char)(unsigned char)(hex(s.p[i]) << 4 | hex(s.p[i + 1])));
    }
    if (ok) *out = pdl_bytes(pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return ok || malformed(kind, err);
}

static bool revive_text(pdl_vref kind, pdl_vref text, pdl_val *out, pdl_err *err) {
    pdl_time t;
    bool is_date;
    if (!pdl_is_str(text)) return malformed(kind, err);
    pdl_str s = pdl_str_get(text);
    if (pdl_text_is(kind, "float")) {
        bool nan = pdl_str_is(s, "nan"), inf = pdl_str_is(s, "inf");
        if (!nan && !inf && !pdl_str_is(s, "-inf")) return malformed(kind, err);
        *out = pdl_float(nan ? (double)NAN : inf ? (double)INFINITY : -(double)INFINITY);
        return true;
    }
    bool date = pdl_text_is(kind, "date");
    if (date || pdl_text_is(kind, "datetime")) {
        if (!pdl_time_read(s, &is_date, &t)) return malformed(kind, err);
        return date ? pdl_date_new(&t, out, err) : pdl_datetime_new(&t, out, err);
    }
    if (pdl_text_is(kind, "safe"))
        *out = pdl_with_flags(pdl_keep(text), PDL_F_SAFE);
    else if (pdl_text_is(kind, "undefined"))
        *out = pdl_undefined(pdl_keep(text));
    else
        return malformed(kind, err);
    return true;
}

static bool revive_range(pdl_vref items, pdl_vref kind, pdl_val *out, pdl_err *err) {
    int64_t n[3];
    for (size_t i = 0; i < 3; i++)
        if (pdl_list_len(items) != 3 || !pdl_int_get(pdl_list_at(items, i), &n[i]))
            return malformed(kind, err);
    if (!n[2]) return malformed(kind, err);
    pdl_val r = pdl_range_new(n[0], n[1], n[2]);
    /* a few bytes of input must not cause unbounded work */
    if (pdl_range_len(r) > PDL_MAX_RANGE_ITEMS) {
        pdl_drop(r);
        return malformed(kind, err);
    }
    *out = r;
    return true;
}

static bool revive_items(pdl_vref kind, pdl_vref items, pdl_val *out, pdl_err *err) {
    pdl_val list;
    bool ok;
    if (!pdl_is_list(items)) return malformed(kind, err);
    if (pdl_text_is(kind, "range")) return revive_range(items, kind, out, err);
    if (!revive_list(items, &list, err)) return false;
    if (pdl_text_is(kind, "tuple")) {
        *out = pdl_list_as_tuple(list);
        return true;
    }
    if (pdl_text_is(kind, "set")) return from_items(list, true, kind, out, err);
    if (pdl_text_is(kind, "dict")) return from_items(list, false, kind, out, err);
    if (pdl_text_is(kind, "context")) {
        ok = true;
        if (pdl_list_len(list))
            ok = pdl_context_from(pdl_list_len(list) == 1 ? pdl_list_at(list, 0) : list, out, err);
        else
            *out = pdl_context_empty();
        pdl_drop(list);
        return ok;
    }
    pdl_drop(list);
    return malformed(kind, err);
}

static bool revive_handle(pdl_vref v, pdl_vref kind, pdl_val *out, pdl_err *err) {
    pdl_vref texts = pdl_dict_getz(v, "texts"), json = pdl_dict_getz(v, "json");
    int64_t id, len;
    bool whole = pdl_is_list(texts) && pdl_list_len(texts) == 3 &&
                 pdl_int_get(pdl_dict_getz(v, "id"), &id) &&
                 pdl_int_get(pdl_dict_getz(v, "len"), &len) && len >= -1;
    for (size_t i = 0; whole && i < 3; i++) whole = pdl_is_str(pdl_list_at(texts, i));
    if (!whole) return malformed(kind, err);
    pdl_vref truth = pdl_dict_getz(v, "truth"), callable = pdl_dict_getz(v, "callable");
    *out = pdl_handle_new((uint64_t)id, pdl_keep(pdl_list_at(texts, 0)),
                          pdl_keep(pdl_list_at(texts, 1)), pdl_keep(pdl_list_at(texts, 2)),
                          pdl_val_truth(truth), len);
    pdl_handle *h = pdl_handle_of(*out);
    h->callable = pdl_val_truth(callable);
    if (pdl_is_absent(json)) return true;
    pdl_val revived;
    if (!revive(json, &revived, err)) {
        pdl_drop(*out);
        return false;
    }
    h->json = revived;
    return true;
}

static bool revive_labelled(pdl_vref v, pdl_vref kind, pdl_val *out, pdl_err *err) {
    pdl_vref names = pdl_dict_getz(v, "items"), value = pdl_dict_getz(v, "value");
    pdl_label label = 0;
    if (!pdl_is_list(names) || pdl_is_absent(value)) return malformed(kind, err);
    for (size_t i = 0; i < pdl_list_len(names); i++) {
        pdl_vref name = pdl_list_at(names, i);
        for (size_t k = 0; pdl_is_str(name) && k < PDL_LABEL_COUNT; k++)
            if (pdl_text_is(name, pdl_label_name(k))) label |= (pdl_label)1 << k;
    }
    pdl_val revived;
    if (!revive(value, &revived, err)) return false;
    *out = pdl_with_label(revived, label);
    return true;
}

static bool revive_tagged(pdl_vref v, pdl_vref kind, pdl_val *out, pdl_err *err) {
    pdl_vref items = pdl_dict_getz(v, "items"), text = pdl_dict_getz(v, "text");
    if (pdl_text_is(kind, "handle")) return revive_handle(v, kind, out, err);
    if (pdl_text_is(kind, "labelled")) return revive_labelled(v, kind, out, err);
    if (!pdl_is_absent(items)) return revive_items(kind, items, out, err);
    if (!pdl_is_absent(text)) return revive_text(kind, text, out, err);
    if (pdl_text_is(kind, "bytes")) return revive_bytes(pdl_dict_getz(v, "hex"), kind, out, err);
    /* "absent" is malformed as well, because it occurs in requests and never in an answer */
    return malformed(kind, err);
}

/* Makes a value from its JSON form. The JSON reader bounds the depth (PDL_MAX_JSON_DEPTH). */
static bool revive(pdl_vref v, pdl_val *out, pdl_err *err) {
    if (pdl_is_list(v)) return revive_list(v, out, err);
    if (pdl_is_dict(v)) {
        pdl_vref kind = pdl_dict_getz(v, "$pdl");
        return pdl_is_absent(kind) ? revive_object(v, out, err) : revive_tagged(v, kind, out, err);
    }
    *out = pdl_keep(v);
    return true;
}

bool pdl_effect_decode(pdl_str json, pdl_val *out, pdl_err *err) {
    pdl_val raw;
    if (!pdl_json_read(json, 0, &raw, NULL, err)) return false;
    bool ok = revive(raw, out, err);
    pdl_drop(raw);
    return ok;
}
