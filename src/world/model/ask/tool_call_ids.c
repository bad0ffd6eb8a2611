/* tool_call_ids.c -- gives the calls of tools in a conversation a type, and ids that the service
 * accepts; see messages.h. Services refuse calls without a type or an id, and results that name no
 * call. A conversation may have begun at a service that does not use ids.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/hash.h"
#include "model/ask/messages.h"
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
    bool changed; /* some call got a new id or a type */
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
        return pdl_keep(call);
    }
    s->changed = true;
    return pdl_call_typed(pdl_dict_putz(pdl_keep(call), "id", id));
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
