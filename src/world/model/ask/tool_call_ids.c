/* tool_call_ids.c -- gives the calls of tools in a conversation a type, and ids and arguments that
 * the service accepts; see messages.h. Services refuse calls without a type or an id, and results
 * that name no call. A conversation may have begun at a service that does not use ids. Many servers
 * also refuse every later request of a conversation with one call whose arguments are not JSON,
 * such as one that was cut by the limit of tokens.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/hash.h"
#include "model/ask/messages.h"
#include "value/json_read.h"
#include "value/json_write.h"
#include "value/member.h"
#include "value/text.h"

#include "base/banned.h"

enum { SHORT = 9 }; /* length of an id for services that accept only short ids */

/* The ids of the calls that wait for their results. */
typedef struct model_ids {
    bool nine;
    pdl_val open; /* list of texts: the ids of the calls in the last message that has calls */
    pdl_val used; /* dict: the ids in `open` for which a result was found */
    size_t next;  /* index in `open` of the first call that may still lack a result */
    bool changed; /* some call got a new id, a type or other arguments */
} ids;

static bool is_short(pdl_str s) {
    if (s.n != SHORT) return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if ((c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')) return false;
    }
    return true;
}

pdl_val pdl_id_short(pdl_str s) {
    static const char digits[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    unsigned char sum[32];
    char out[SHORT];
    pdl_sha256 h;
    pdl_sha256_init(&h);
    pdl_sha256_add(&h, s);
    pdl_sha256_done(&h, sum);
    for (size_t i = 0; i < SHORT; i++) out[i] = digits[sum[i] % (sizeof digits - 1)];
    return pdl_text((pdl_str){out, SHORT});
}

/* Returns the id as a text, which is empty when there is none. */
static pdl_val text_of(pdl_vref id) {
    pdl_buf out = PDL_BUF;
    if (pdl_is_str(id) || pdl_is(id, PDL_V_INT)) pdl_message_text(id, &out);
    return pdl_text_of_buf(&out);
}

/* Returns the id in the form that the service accepts. Takes id. */
static pdl_val formed(const ids *s, pdl_val id) {
    if (!s->nine || pdl_str_get(id).n == 0 || is_short(pdl_str_get(id))) return id;
    pdl_val out = pdl_id_short(pdl_str_get(id));
    pdl_drop(id);
    return out;
}

pdl_val pdl_call_typed(pdl_val call) {
    bool is_typed = pdl_member_str(call, "type").n > 0;
    if (is_typed || !pdl_is_dict(pdl_member(call, "function"))) return call;
    return pdl_dict_putz(call, "type", pdl_textz("function"));
}

/* Returns the object that the text of arguments holds, as JSON or as JSON inside a JSON text;
 * absent when there is none. *is_plain is set when the text itself is JSON. Owned. */
static pdl_val object_in(pdl_str text, bool *is_plain) {
    pdl_val v = pdl_absent();
    pdl_err err = {0};
    *is_plain = pdl_json_read(text, 0, &v, NULL, &err);
    if (!*is_plain) pdl_err_fini(&err);
    if (!*is_plain && !pdl_json_read(text, PDL_JSON_PYTHON | PDL_JSON_CONTROL, &v, NULL, &err)) {
        pdl_err_fini(&err);
        return pdl_absent();
    }
    if (pdl_is_str(v)) {
        pdl_val inner = pdl_absent();
        *is_plain = false;
        if (!pdl_json_read(pdl_str_get(v), PDL_JSON_PYTHON, &inner, NULL, &err)) pdl_err_fini(&err);
        pdl_drop(v);
        v = inner;
    }
    if (pdl_is_dict(v)) return v;
    pdl_drop(v);
    return pdl_absent();
}

static pdl_val text_of_object(pdl_vref v) {
    pdl_buf text = PDL_BUF;
    pdl_err err = {0};
    if (!pdl_is_dict(v))
        PDL_PUT(&text, "{}");
    else if (!pdl_json_write(v, PDL_JSON_SPACED | PDL_JSON_NAN_NULL, 0, &text, &err))
        pdl_err_fini(&err);
    return pdl_text_of_buf(&text);
}

/* Returns the call with arguments that are the text of a JSON object: the same text when it is one,
 * otherwise the object that it holds, or an empty one. Takes call. */
static pdl_val call_with_arguments(ids *s, pdl_val call) {
    pdl_vref f = pdl_member(call, "function"), args = pdl_member(f, "arguments");
    bool is_plain = false;
    if (!pdl_is_dict(f)) return call;
    pdl_val v = pdl_is_str(args) ? object_in(pdl_str_get(args), &is_plain) : pdl_keep(args);
    if (!pdl_is_dict(v) || !is_plain) {
        s->changed = true;
        pdl_val mended = pdl_dict_putz(pdl_keep(f), "arguments", text_of_object(v));
        call = pdl_dict_putz(call, "function", mended);
    }
    pdl_drop(v);
    return call;
}

static pdl_val call_with_id(ids *s, pdl_vref call, size_t message, size_t i) {
    if (!pdl_is_dict(call)) return pdl_keep(call);
    pdl_vref given = pdl_dict_getz(call, "id");
    pdl_val id = text_of(given);
    if (pdl_str_get(id).n == 0) {
        pdl_drop(id);
        id = pdl_textf("call_%zu_%zu", message, i);
    }
    id = formed(s, id);
    s->open = pdl_list_push(s->open, pdl_keep(id));
    bool is_same = pdl_is_str(given) && pdl_val_eq(given, id);
    if (is_same && pdl_member_str(call, "type").n) {
        pdl_drop(id);
        return call_with_arguments(s, pdl_keep(call));
    }
    s->changed = true;
    return call_with_arguments(s, pdl_call_typed(pdl_dict_putz(pdl_keep(call), "id", id)));
}

/* Fills `used` with the ids that are named by the results directly after message i. */
static void note_used(ids *s, pdl_vref messages, size_t i) {
    pdl_drop(s->used);
    s->used = pdl_dict_new(2);
    for (i++; i < pdl_list_len(messages); i++) {
        pdl_vref m = pdl_list_at(messages, i);
        if (!pdl_str_is(pdl_message_role(m), "tool")) return;
        pdl_val id = formed(s, text_of(pdl_member(m, "tool_call_id")));
        s->used = pdl_dict_put(s->used, id, pdl_null());
    }
}

static pdl_val calls_with_ids(ids *s, pdl_vref messages, size_t i) {
    pdl_vref m = pdl_list_at(messages, i), calls = pdl_dict_getz(m, "tool_calls");
    pdl_val list = pdl_list_new(pdl_list_len(calls));
    pdl_drop(s->open);
    s->open = pdl_list_new(pdl_list_len(calls));
    s->next = 0;
    s->changed = false;
    for (size_t k = 0; k < pdl_list_len(calls); k++)
        list = pdl_list_push(list, call_with_id(s, pdl_list_at(calls, k), i, k));
    note_used(s, messages, i);
    if (s->changed) return pdl_dict_putz(pdl_keep(m), "tool_calls", list);
    pdl_drop(list);
    return pdl_keep(m);
}

static pdl_val result_with_id(ids *s, pdl_vref m) {
    pdl_vref given = pdl_dict_getz(m, "tool_call_id");
    pdl_val id = formed(s, text_of(given));
    size_t n = pdl_list_len(s->open);
    if (pdl_str_get(id).n == 0) {
        while (s->next < n && !pdl_is_absent(pdl_dict_find(s->used, pdl_list_at(s->open, s->next))))
            s->next++;
        if (s->next == n) {
            pdl_drop(id);
            return pdl_keep(m);
        }
        pdl_drop(id);
        id = pdl_keep(pdl_list_at(s->open, s->next++));
    }
    if (pdl_is_str(given) && pdl_val_eq(given, id)) {
        pdl_drop(id);
        return pdl_keep(m);
    }
    return pdl_dict_putz(pdl_keep(m), "tool_call_id", id);
}

pdl_val pdl_messages_identified(pdl_vref messages, bool nine) {
    if (!pdl_is_list(messages)) return pdl_keep(messages);
    ids s = {.nine = nine, .open = pdl_list_new(0), .used = pdl_dict_new(0)};
    pdl_val out = pdl_list_new(pdl_list_len(messages));
    for (size_t i = 0; i < pdl_list_len(messages); i++) {
        pdl_vref m = pdl_list_at(messages, i);
        if (pdl_is_list(pdl_member(m, "tool_calls")))
            out = pdl_list_push(out, calls_with_ids(&s, messages, i));
        else if (pdl_str_is(pdl_message_role(m), "tool"))
            out = pdl_list_push(out, result_with_id(&s, m));
        else
            out = pdl_list_push(out, pdl_keep(m));
    }
    pdl_drop(s.open);
    pdl_drop(s.used);
    return out;
}
