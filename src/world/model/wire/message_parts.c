/* message_parts.c -- reads media, tools, calls and usage out of messages, and merges messages into
 * turns; see message_parts.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/wire/message_parts.h"

#include "base/num.h"
#include "io/entropy.h"
#include "model/ask/messages.h"
#include "value/json_read.h"
#include "value/json_write.h"

#include "base/banned.h"

static pdl_vref get(pdl_vref v, const char *key) {
    return pdl_is_dict(v) ? pdl_dict_getz(v, key) : pdl_absent();
}

static pdl_str text_of(pdl_vref v) { return pdl_is_str(v) ? pdl_str_get(v) : (pdl_str){0}; }

/* --- content ---------------------------------------------------------------------------------- */

size_t pdl_parts_count(pdl_vref content) {
    if (pdl_is_absent(content) || pdl_is_null(content)) return 0;
    return pdl_message_is_parts(content) ? pdl_list_len(content) : 1;
}

/* Returns the type alone, without its parameters, in the form that services know. */
static pdl_str plain_type(pdl_str mime) {
    mime = pdl_str_sub(mime, 0, pdl_str_find(mime, PDL_STR(";"), 0));
    return pdl_str_eq_nocase(mime, PDL_STR("image/jpg")) ? PDL_STR("image/jpeg") : mime;
}

/* Reads "data:<mime>;base64,<data>" or an address. */
static void read_url(pdl_str s, pdl_part *p) {
    size_t at = pdl_str_starts(s, PDL_STR("data:")) ? pdl_str_find(s, PDL_STR(";base64,"), 0)
                                                    : PDL_NOT_FOUND;
    if (at == PDL_NOT_FOUND) {
        p->url = s;
        return;
    }
    p->mime = plain_type(pdl_str_sub(s, 5, at));
    p->data = pdl_str_sub(s, at + 8, s.n);
}

static void read_audio(pdl_vref audio, pdl_part *p) {
    static const struct {
        const char *format, *mime;
    } mimes[] = {
        {"mp3", "audio/mpeg"}, {"wav", "audio/wav"}, {"flac", "audio/flac"}, {"ogg", "audio/ogg"}};
    p->kind = PDL_PART_AUDIO;
    p->data = text_of(get(audio, "data"));
    p->mime = PDL_STR("audio/wav");
    for (size_t i = 0; i < sizeof mimes / sizeof mimes[0]; i++)
        if (pdl_text_is(get(audio, "format"), mimes[i].format)) p->mime = pdl_str_of(mimes[i].mime);
}

pdl_part pdl_parts_at(pdl_vref content, size_t i, pdl_buf *scratch) {
    pdl_part p = {.kind = PDL_PART_TEXT, .value = pdl_absent()};
    if (!pdl_message_is_parts(content)) {
        pdl_buf_clear(scratch);
        pdl_message_text(content, scratch);
        p.text = pdl_is_str(content) ? pdl_str_get(content) : pdl_buf_str(scratch);
        return p;
    }
    p.value = pdl_list_at(content, i);
    pdl_vref type = get(p.value, "type");
    if (pdl_text_is(type, "text")) {
        p.text = text_of(get(p.value, "text"));
    } else if (pdl_text_is(type, "image_url")) {
        pdl_vref image = get(p.value, "image_url");
        p.kind = PDL_PART_IMAGE;
        read_url(text_of(pdl_is_dict(image) ? get(image, "url") : image), &p);
    } else if (pdl_text_is(type, "input_audio")) {
        read_audio(get(p.value, "input_audio"), &p);
    } else if (pdl_text_is(type, "file")) {
        pdl_vref file = get(p.value, "file");
        p.kind = PDL_PART_FILE;
        pdl_str data = text_of(get(file, "file_data"));
        read_url(data.n ? data : text_of(get(file, "file_id")), &p);
    } else {
        p.kind = PDL_PART_OTHER;
    }
    return p;
}

pdl_val pdl_parts_push(pdl_val list, pdl_vref content, pdl_val (*form)(const pdl_part *p)) {
    pdl_buf scratch = PDL_BUF;
    for (size_t i = 0; i < pdl_parts_count(content); i++) {
        pdl_part p = pdl_parts_at(content, i, &scratch);
        pdl_val made = form(&p);
        if (!pdl_is_absent(made)) list = pdl_list_push(list, made);
    }
    pdl_buf_fini(&scratch);
    return list;
}

/* --- turns ------------------------------------------------------------------------------------ */

static void end_turn(pdl_turns *t) {
    if (t->role && pdl_list_len(t->parts)) {
        pdl_val m = pdl_dict_putz(pdl_dict_new(2), "role", pdl_textz(t->role));
        t->done = pdl_list_push(t->done, pdl_dict_putz(m, t->key, t->parts));
    } else {
        pdl_drop(t->parts);
    }
    t->parts = pdl_list_new(1);
    t->n_results = 0;
}

/* Adds the parts to the turn of a role. Takes parts; adds no turn for an empty list. */
static void add_parts(pdl_turns *t, const char *role, pdl_val parts) {
    if (pdl_list_len(parts)) {
        if (t->role && strcmp(t->role, role) != 0) end_turn(t);
        t->role = role;
        t->parts = pdl_list_concat(t->parts, parts);
    }
    pdl_drop(parts);
}

/* Adds the result of a call to the turn of the user. Takes part. */
static void add_result(pdl_turns *t, pdl_val part) {
    if (t->role && strcmp(t->role, "user") != 0) end_turn(t);
    t->role = "user";
    t->parts = pdl_list_insert(t->parts, t->n_results++, part);
}

static pdl_val parts_of_assistant(const pdl_turns_form *form, pdl_vref m) {
    pdl_vref thoughts = get(m, "thinking_blocks"), calls = pdl_message_calls(m);
    pdl_val parts = pdl_list_new(2);
    for (size_t i = 0; form->thought && pdl_is_list(thoughts) && i < pdl_list_len(thoughts); i++) {
        pdl_val part = form->thought(pdl_list_at(thoughts, i));
        if (!pdl_is_absent(part)) parts = pdl_list_push(parts, part);
    }
    parts = form->parts(m, parts);
    for (size_t i = 0; pdl_is_list(calls) && i < pdl_list_len(calls); i++)
        if (pdl_is_dict(pdl_list_at(calls, i))) parts = pdl_list_push(parts, form->call(m, i));
    return parts;
}

static void add_message(pdl_turns *t, const pdl_turns_form *form, pdl_vref messages, size_t i) {
    pdl_vref m = pdl_list_at(messages, i);
    pdl_str role = pdl_message_role(m);
    if (pdl_str_is(role, "system") || pdl_str_is(role, "developer"))
        t->head = form->parts(m, t->head);
    else if (pdl_str_is(role, "assistant"))
        add_parts(t, form->assistant, parts_of_assistant(form, m));
    else if (pdl_str_is(role, "tool") || pdl_str_is(role, "function"))
        add_result(t, form->result(messages, i));
    else
        add_parts(t, "user", form->parts(m, pdl_list_new(2)));
}

pdl_turns pdl_turns_write(const pdl_turns_form *form, pdl_vref messages) {
    pdl_turns t = {.done = pdl_list_new(4),
                   .head = pdl_list_new(1),
                   .parts = pdl_list_new(1),
                   .key = form->key};
    for (size_t i = 0; pdl_is_list(messages) && i < pdl_list_len(messages); i++)
        if (pdl_is_dict(pdl_list_at(messages, i))) add_message(&t, form, messages, i);
    end_turn(&t);
    pdl_drop(t.parts);
    t.parts = pdl_absent();
    return t;
}

bool pdl_turns_put(const pdl_turns *t, pdl_val *body) {
    bool any = pdl_list_len(t->done) > 0;
    *body = pdl_dict_putz(*body, "messages", t->done);
    if (pdl_list_len(t->head))
        *body = pdl_dict_putz(*body, "system", t->head);
    else
        pdl_drop(t->head);
    return any;
}

pdl_val pdl_turns_id(pdl_vref id, const char *more) {
    pdl_str s = text_of(id);
    pdl_buf out = PDL_BUF;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  (c && strchr(more, c));
        pdl_buf_putc(&out, ok ? c : '_');
    }
    return pdl_text_of_buf(&out);
}

/* --- tools ------------------------------------------------------------------------------------ */

pdl_vref pdl_tool_function(pdl_vref tool) {
    pdl_vref f = get(tool, "function");
    return pdl_is_dict(f) ? f : pdl_absent();
}

pdl_val pdl_tool_schema(pdl_vref function) {
    pdl_vref p = get(function, "parameters");
    if (pdl_is_dict(p)) return pdl_keep(p);
    pdl_val s = pdl_dict_putz(pdl_dict_new(2), "type", pdl_textz("object"));
    return pdl_dict_putz(s, "properties", pdl_dict_new(0));
}

pdl_vref pdl_message_calls(pdl_vref message) {
    pdl_vref calls = get(message, "tool_calls");
    return pdl_is_list(calls) ? calls : pdl_absent();
}

pdl_str pdl_call_name(pdl_vref call) { return text_of(get(get(call, "function"), "name")); }

pdl_val pdl_call_arguments(pdl_vref call) {
    pdl_vref args = get(get(call, "function"), "arguments");
    pdl_err err = {0};
    pdl_val v;
    if (!pdl_is_str(args)) return pdl_is_absent(args) ? pdl_dict_new(0) : pdl_keep(args);
    if (pdl_str_trim(pdl_str_get(args)).n == 0) return pdl_dict_new(0);
    if (pdl_json_read(pdl_str_get(args), PDL_JSON_PYTHON | PDL_JSON_CONTROL, &v, NULL, &err))
        return v;
    pdl_err_fini(&err);
    return pdl_keep(args);
}

pdl_val pdl_call_input(pdl_vref call) {
    pdl_val v = pdl_call_arguments(call);
    if (pdl_is_dict(v)) return v;
    pdl_drop(v);
    return pdl_dict_new(0);
}

pdl_val pdl_call_fresh_id(void) {
    return pdl_textf("call_%016llx", (unsigned long long)pdl_rand_fresh_seed());
}

pdl_val pdl_call_new(pdl_vref id, pdl_vref name, pdl_vref args) {
    pdl_buf text = PDL_BUF;
    pdl_err err = {0};
    if (pdl_is_str(args))
        pdl_buf_put(&text, pdl_str_get(args));
    else if (pdl_is_absent(args) || pdl_is_null(args))
        PDL_PUT(&text, "{}");
    else if (!pdl_json_write(args, PDL_JSON_SPACED | PDL_JSON_NAN, 0, &text, &err))
        pdl_err_fini(&err);
    pdl_val g =
        pdl_dict_putz(pdl_dict_new(2), "name", pdl_is_str(name) ? pdl_keep(name) : pdl_textz(""));
    g = pdl_dict_putz(g, "arguments", pdl_text_of_buf(&text));
    pdl_val own = text_of(id).n ? pdl_keep(id) : pdl_call_fresh_id();
    pdl_val out = pdl_dict_putz(pdl_dict_new(3), "id", own);
    out = pdl_dict_putz(out, "type", pdl_textz("function"));
    return pdl_dict_putz(out, "function", g);
}

pdl_str pdl_call_name_of(pdl_vref messages, size_t n, pdl_str id) {
    while (n-- > 0) {
        pdl_vref calls = pdl_message_calls(pdl_list_at(messages, n));
        for (size_t i = 0; pdl_is_list(calls) && i < pdl_list_len(calls); i++)
            if (pdl_str_eq(text_of(get(pdl_list_at(calls, i), "id")), id))
                return pdl_call_name(pdl_list_at(calls, i));
    }
    return (pdl_str){0};
}

bool pdl_index_read(pdl_vref v, int64_t *out) {
    double d = pdl_is(v, PDL_V_FLOAT) ? pdl_float_of(v) : 0;
    if (pdl_is(v, PDL_V_INT)) {
        *out = pdl_int_of(v);
        return true;
    }
    if (pdl_is_str(v)) return pdl_num_read_int(pdl_str_get(v), out);
    if (!pdl_is(v, PDL_V_FLOAT) || !(d > -0x1p53 && d < 0x1p53) || d != (double)(int64_t)d)
        return false;
    *out = (int64_t)d;
    return true;
}

/* --- usage ------------------------------------------------------------------------------------ */

int64_t pdl_count_of(pdl_vref dict, const char *key, int64_t dflt) {
    pdl_vref v = get(dict, key);
    return pdl_is(v, PDL_V_INT) && pdl_int_of(v) >= 0 && pdl_int_of(v) < INT32_MAX ? pdl_int_of(v)
                                                                                   : dflt;
}

static pdl_val details(const char *key, int64_t n) {
    return pdl_dict_putz(pdl_dict_new(1), key, pdl_int(n));
}

pdl_val pdl_usage_new(int64_t prompt, int64_t completion, int64_t cached, int64_t reasoning) {
    pdl_val u = pdl_dict_putz(pdl_dict_new(5), "prompt_tokens", pdl_int(prompt));
    u = pdl_dict_putz(u, "completion_tokens", pdl_int(completion));
    u = pdl_dict_putz(u, "total_tokens", pdl_int(prompt + completion));
    if (cached >= 0)
        u = pdl_dict_putz(u, "prompt_tokens_details", details("cached_tokens", cached));
    if (reasoning >= 0)
        u = pdl_dict_putz(u, "completion_tokens_details", details("reasoning_tokens", reasoning));
    return u;
}
