/* reply_builder.c -- collects the events of a stream into a response in OpenAI's form; see
 * reply_builder.h. Text between tags of thinking is separated while it arrives.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/wire/reply_builder.h"

#include "base/utf8.h"
#include "base/word_list.h"
#include "model/ask/messages.h"
#include "model/ask/params.h"
#include "model/wire/dialect.h"
#include "model/wire/message_parts.h"
#include "value/member.h"
#include "value/peer_message.h"

#include "base/banned.h"

/* SHOWN: bytes of an unreadable event that a message quotes. ASIDE: number of choices with another
 * index than 0 that wait for choice 0. DEEPEST: how deep parts inside parts are read. */
enum { SHOWN = 2000, ASIDE = 20000, DEEPEST = 4 };

static const char think_open[] = "<think>", think_close[] = "</think>";

void pdl_reply_builder_init(pdl_reply_builder *d) {
    *d = (pdl_reply_builder){.head = pdl_dict_new(8),
                             .extra = pdl_dict_new(0),
                             .role = pdl_absent(),
                             .finish = pdl_absent(),
                             .finish_message = pdl_absent(),
                             .usage = pdl_absent(),
                             .logprobs = pdl_absent(),
                             .content = PDL_BUF,
                             .reasoning = PDL_BUF,
                             .refusal = PDL_BUF,
                             .held = PDL_BUF,
                             .piece = PDL_BUF,
                             .error = pdl_absent(),
                             .suspect = pdl_absent(),
                             .aside = pdl_absent(),
                             .tool_ids = pdl_absent(),
                             .details = pdl_absent(),
                             .detail = pdl_absent(),
                             .detail_text = PDL_BUF,
                             .new_logprobs = pdl_absent()};
}

void pdl_reply_builder_fini(pdl_reply_builder *d) {
    pdl_drop(d->head);
    pdl_drop(d->extra);
    pdl_drop(d->role);
    pdl_drop(d->finish);
    pdl_drop(d->finish_message);
    pdl_drop(d->usage);
    pdl_drop(d->logprobs);
    pdl_drop(d->error);
    pdl_drop(d->suspect);
    pdl_drop(d->aside);
    pdl_reply_tools_fini(d);
    pdl_reply_details_fini(d);
    pdl_buf_fini(&d->content);
    pdl_buf_fini(&d->reasoning);
    pdl_buf_fini(&d->refusal);
    pdl_buf_fini(&d->held);
    pdl_buf_fini(&d->piece);
    pdl_json_keys_fini(&d->keys);
    pdl_vec_fini(&d->growing);
    pdl_drop(d->new_logprobs);
    *d = (pdl_reply_builder){.head = pdl_absent(),
                             .finish_message = pdl_absent(),
                             .suspect = pdl_absent(),
                             .aside = pdl_absent(),
                             .tool_ids = pdl_absent(),
                             .new_logprobs = pdl_absent()};
}

void pdl_reply_builder_set(pdl_val *slot, pdl_val v) {
    pdl_drop(*slot);
    *slot = v;
}

void pdl_reply_builder_finish(pdl_reply_builder *d, pdl_vref reason) {
    if (!pdl_is_str(reason) || pdl_str_get(reason).n == 0) return;
    bool first = pdl_is_absent(d->finish);
    d->arrived += first;
    pdl_reply_builder_set(&d->finish, pdl_keep(reason));
    if (first) pdl_reply_tools_end(d);
}

/* --- text and thinking ------------------------------------------------------------------------ */

static void show(pdl_reply_builder *d, pdl_str text) {
    pdl_buf_put(&d->content, text);
    if (!d->quiet) pdl_buf_put(&d->piece, text);
}

/* Adds text inside <think>: everything before </think> is reasoning. A possible beginning of the
 * end tag is held back. */
static void think_more(pdl_reply_builder *d, pdl_str text) {
    pdl_buf_put(&d->held, text);
    pdl_str all = pdl_buf_str(&d->held), tag = pdl_str_of(think_close);
    size_t at = pdl_str_find(all, tag, 0);
    if (at == PDL_NOT_FOUND) {
        size_t keep = all.n < tag.n - 1 ? all.n : tag.n - 1;
        while (keep && memcmp(all.p + all.n - keep, tag.p, keep) != 0) keep--;
        pdl_buf_put(&d->reasoning, pdl_str_sub(all, 0, all.n - keep));
        pdl_buf_shift(&d->held, all.n - keep);
        return;
    }
    pdl_buf_put(&d->reasoning, pdl_str_sub(all, 0, at));
    d->has_reasoning = true;
    d->think = PDL_THINK_NONE;
    show(d, pdl_str_sub(all, at + tag.n, all.n));
    pdl_buf_clear(&d->held);
}

/* Keeps an event that is a text or a list as the error of the server. */
static bool keep_words(pdl_reply_builder *d, pdl_val json) {
    pdl_reply_builder_set(&d->error, pdl_dict_putz(pdl_dict_new(1), "error", json));
    return true;
}

static bool no_object(pdl_str text, pdl_err *err) {
    return pdl_err_set(err, PDL_E_protocol, (pdl_loc){0},
                       "an event of the stream is not a JSON object: '%.*s'",
                       PDL_FMT(pdl_utf8_cut(text, SHOWN)));
}

/* Keeps an event that may explain why no answer came. An event that added nothing, but has words,
 * is only a note: services write notes beside answers, too. Takes json. */
static void note_suspect(pdl_reply_builder *d, pdl_val json, bool added_nothing) {
    bool begun = d->content.len || d->reasoning.len || d->refusal.len || d->tools.n;
    bool is_odd = !begun && (d->has_unread || pdl_peer_fails_within(json));
    bool is_note =
        !is_odd && added_nothing && (pdl_peer_has_note(json) || pdl_peer_fails_within(json));
    if (pdl_is_absent(d->suspect) ? !is_odd && !is_note : !is_odd || !d->suspect_is_note) {
        pdl_drop(json);
        return;
    }
    pdl_reply_builder_set(&d->suspect, json);
    d->suspect_is_note = is_note;
}

static bool read_event(pdl_reply_builder *d, const struct pdl_ask *a, pdl_str text,
                       pdl_is_ours_fn *is_ours, pdl_add_event_fn *add, pdl_err *err) {
    pdl_val json;
    text = pdl_str_trim(text);
    if (text.n == 0 || d->done || d->closed) return true;
    if (pdl_str_is(text, "[DONE]")) {
        d->closed = true;
        return true;
    }
    if (!pdl_json_read_with(text, PDL_JSON_PYTHON, &d->keys, &json, NULL, err)) {
        pdl_err_fini(err);
        return no_object(text, err);
    }
    if (pdl_is_str(json) && pdl_str_get(json).n) return keep_words(d, json);
    if (pdl_is_list(json) && pdl_list_len(json)) return keep_words(d, json);
    if (!pdl_is_dict(json)) {
        pdl_drop(json);
        return no_object(text, err);
    }
    if (pdl_peer_fails(json) || !is_ours(json)) {
        pdl_reply_builder_set(&d->error, json);
        return true;
    }
    size_t arrived = d->arrived;
    bool was_begun = d->begun;
    add(a, json, d);
    note_suspect(d, json, d->arrived == arrived && d->begun == was_begun);
    return true;
}

/* Returns true when the program asked for more than one choice. */
static bool asks_several(const struct pdl_ask *a) {
    static const char *const keys[] = {"n", "candidateCount", "candidate_count"};
    pdl_vref extra = pdl_member(a->params, "extra_body");
    const pdl_vref where[] = {a->params, extra, pdl_member(extra, "generationConfig"),
                              pdl_member(extra, "generation_config")};
    for (size_t i = 0; i < sizeof where / sizeof where[0]; i++)
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
            if (pdl_is_dict(where[i]) && pdl_params_number(where[i], keys[k], 1) > 1) return true;
    return false;
}

/* Returns the index of a choice; a choice without one is the first. */
static int64_t index_of(pdl_vref choice) {
    int64_t index = 0;
    return pdl_index_read(pdl_member(choice, "index"), &index) ? index : 0;
}

static void take_aside(pdl_reply_builder *d, const struct pdl_ask *a, pdl_add_event_fn *add) {
    pdl_val kept = d->aside;
    d->aside = pdl_absent();
    d->choice = index_of(pdl_list_at(kept, 0));
    d->begun = true;
    for (size_t i = 0; i < pdl_list_len(kept); i++) add(a, pdl_list_at(kept, i), d);
    pdl_drop(kept);
}

/* Keeps a choice whose index is not 0, unless the program asked for several choices or another such
 * index came first. After ASIDE choices it is unlikely that choice 0 comes. */
static void put_aside(pdl_reply_builder *d, const struct pdl_ask *a, pdl_vref choice,
                      pdl_add_event_fn *add) {
    if (asks_several(a)) return;
    int64_t index = index_of(choice);
    if (pdl_is_absent(d->aside))
        d->aside = pdl_list_new(1);
    else if (index_of(pdl_list_at(d->aside, 0)) != index)
        return;
    d->aside = pdl_list_push(d->aside, pdl_keep(choice));
    d->add_aside = add;
    d->arrived++;
    if (pdl_list_len(d->aside) >= ASIDE) take_aside(d, a, add);
}

void pdl_reply_builder_choices(pdl_reply_builder *d, const struct pdl_ask *a, pdl_vref list,
                               pdl_add_event_fn *add) {
    for (size_t i = 0; pdl_is_list(list) && i < pdl_list_len(list); i++) {
        pdl_vref choice = pdl_list_at(list, i);
        if (!pdl_is_dict(choice)) continue;
        if (index_of(choice) == d->choice) {
            d->begun = true;
            pdl_reply_builder_set(&d->aside, pdl_absent());
            add(a, choice, d);
        } else if (!d->begun) {
            put_aside(d, a, choice, add);
        }
    }
}

void pdl_reply_builder_close(pdl_reply_builder *d, const struct pdl_ask *a) {
    if (!d->begun && !pdl_is_absent(d->aside)) take_aside(d, a, d->add_aside);
}

bool pdl_reply_builder_event(pdl_reply_builder *d, const struct pdl_ask *a, pdl_str text,
                             pdl_is_ours_fn *is_ours, pdl_add_event_fn *add, pdl_err *err) {
    pdl_buf joined = PDL_BUF;
    bool ok = read_event(d, a, pdl_halves_join(&d->half, text, &joined), is_ours, add, err);
    pdl_buf_fini(&joined);
    return ok;
}

void pdl_reply_builder_text(pdl_reply_builder *d, pdl_str text) {
    d->has_content = true;
    d->arrived += text.n;
    if (d->think == PDL_THINK_NONE) {
        show(d, text);
        return;
    }
    if (d->think == PDL_THINK_INSIDE) {
        think_more(d, text);
        return;
    }
    if (text.n == 0) return;
    pdl_buf_put(&d->held, text);
    pdl_str all = pdl_buf_str(&d->held), tag = pdl_str_of(think_open);
    size_t n = all.n < tag.n ? all.n : tag.n;
    if (d->has_reasoning || memcmp(all.p, tag.p, n) != 0) {
        d->think = PDL_THINK_NONE;
        show(d, all);
        pdl_buf_clear(&d->held);
    } else if (all.n >= tag.n) {
        d->think = PDL_THINK_INSIDE;
        pdl_buf_shift(&d->held, tag.n);
        think_more(d, (pdl_str){0});
    }
}

/* Adds a thought, which is a text or a list of parts. */
static void add_thought(pdl_reply_builder *d, pdl_vref v) {
    pdl_buf text = PDL_BUF;
    pdl_message_text(v, &text);
    if (text.len) pdl_reply_builder_reasoning(d, pdl_buf_str(&text));
    pdl_buf_fini(&text);
}

/* Appends an item to a list that the message has besides its text and its calls: the thinking
 * blocks or the images. Takes item. */
static void push_extra(pdl_reply_builder *d, const char *key, pdl_val item) {
    pdl_vref old = pdl_dict_getz(d->extra, key);
    pdl_val list = pdl_list_push(pdl_is_list(old) ? pdl_keep(old) : pdl_list_new(1), item);
    d->extra = pdl_dict_putz(d->extra, key, list);
    d->arrived++;
}

void pdl_reply_builder_thought(pdl_reply_builder *d, pdl_val block) {
    push_extra(d, "thinking_blocks", block);
}

static void add_parts(pdl_reply_builder *d, pdl_vref v, unsigned depth);

/* Adds the text of a part. Some servers write it as {value: text}, or as a list of further parts.
 * The members `value`, `content` and `parts` count only in a part that has no type or is a text: in
 * other parts they hold what a tool answered. */
static void add_inner(pdl_reply_builder *d, pdl_vref part, unsigned depth) {
    static const char *const keys[] = {"text", "value", "content", "parts"};
    pdl_str type = pdl_member_str(part, "type");
    bool is_text = !type.n || pdl_str_ends(type, PDL_STR("text"));
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        pdl_vref inner = pdl_member(part, keys[i]);
        if ((i && !is_text) || pdl_is_absent(inner) || pdl_is_null(inner)) continue;
        add_parts(d, inner, depth + 1);
        return;
    }
    if (is_text && pdl_is_null(pdl_member(part, "text")))
        pdl_reply_builder_text(d, PDL_STR("")); /* an empty text, as some servers write it */
    else if (pdl_dict_len(part))
        d->has_unread = true;
}

/* Returns the text of a part that is a thought, or its parts, or null when it has none. Returns
 * absent for any other part. */
static pdl_vref thought_of(pdl_vref part) {
    static const char *const types[] = {"thinking", "reasoning", "reasoning_text", "summary_text"},
                             *const keys[] = {"thinking", "text", "summary", "content"};
    pdl_vref thought = pdl_absent();
    if (!PDL_STR_IN(pdl_member_str(part, "type"), types)) return thought;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0] && pdl_is_absent(thought); i++)
        thought = pdl_member(part, keys[i]);
    return pdl_is_absent(thought) ? pdl_null() : thought;
}

static void add_part(pdl_reply_builder *d, pdl_vref part, unsigned depth) {
    pdl_str type = pdl_member_str(part, "type");
    pdl_vref text = pdl_member(part, "text"), refusal = pdl_member(part, "refusal"),
             thought = thought_of(part);
    if (!pdl_is_absent(thought))
        add_thought(d, thought);
    else if (pdl_str_is(type, "image_url"))
        push_extra(d, "images", pdl_keep(part));
    else if (pdl_is_str(refusal) && !pdl_is_str(text))
        pdl_reply_builder_refusal(d, pdl_str_get(refusal));
    else
        add_inner(d, part, depth);
}

static void add_parts(pdl_reply_builder *d, pdl_vref v, unsigned depth) {
    if (pdl_is_absent(v) || pdl_is_null(v)) return;
    if (pdl_is_str(v)) {
        pdl_reply_builder_text(d, pdl_str_get(v));
    } else if (depth > DEEPEST || (!pdl_is_list(v) && !pdl_is_dict(v))) {
        d->has_unread = true;
    } else if (pdl_is_dict(v)) {
        add_part(d, v, depth);
    } else {
        for (size_t i = 0; i < pdl_list_len(v); i++) add_parts(d, pdl_list_at(v, i), depth + 1);
    }
}

void pdl_reply_builder_parts(pdl_reply_builder *d, pdl_vref parts) { add_parts(d, parts, 0); }

void pdl_reply_builder_refusal(pdl_reply_builder *d, pdl_str text) {
    d->has_refusal = true;
    d->arrived += text.n;
    pdl_buf_put(&d->refusal, text);
}

void pdl_reply_builder_reasoning(pdl_reply_builder *d, pdl_str text) {
    d->has_reasoning = true;
    d->arrived += text.n;
    pdl_buf_put(&d->reasoning, text);
}

/* Ends the thinking. The beginning of a tag that was not completed counts as text. */
static void end_thinking(pdl_reply_builder *d) {
    if (d->think == PDL_THINK_INSIDE) {
        pdl_buf all = PDL_BUF;
        pdl_buf_put(&all, pdl_str_of(think_open));
        pdl_buf_put(&all, pdl_buf_str(&d->reasoning));
        pdl_buf_put(&all, pdl_buf_str(&d->held));
        pdl_buf_clear(&d->reasoning);
        show(d, pdl_buf_str(&all));
        pdl_buf_fini(&all);
    } else if (d->held.len) {
        show(d, pdl_buf_str(&d->held));
    }
    pdl_buf_clear(&d->held);
    d->think = PDL_THINK_NONE;
}

/* --- logprobs --------------------------------------------------------------------------------- */

/* Appends the lists of v to those of *to. When *to is absent, it becomes v. */
static void add_logprobs(pdl_val *to, pdl_vref v) {
    if (!pdl_is_dict(v) || !pdl_is_dict(*to)) {
        if (pdl_is_absent(*to)) *to = pdl_keep(v);
        return;
    }
    for (size_t i = 0; i < pdl_dict_len(v); i++) {
        pdl_vref k = pdl_dict_key_at(v, i), more = pdl_dict_val_at(v, i),
                 old = pdl_dict_find(*to, k);
        if (!pdl_is_list(more)) continue;
        pdl_val all = pdl_is_list(old) ? pdl_keep(old) : pdl_absent();
        if (pdl_is_list(all)) { /* a list that is not shared grows in place */
            *to = pdl_dict_put(*to, pdl_keep(k), pdl_null());
            all = pdl_list_concat(all, more);
        } else {
            all = pdl_keep(more);
        }
        *to = pdl_dict_put(*to, pdl_keep(k), all);
    }
}

void pdl_reply_builder_logprobs(pdl_reply_builder *d, pdl_vref v) {
    add_logprobs(&d->logprobs, v);
    d->arrived += pdl_is_dict(v) && pdl_dict_len(v);
    if (d->wants_extra) add_logprobs(&d->new_logprobs, v);
}

/* --- parts since the last call ---------------------------------------------------------------- */

static pdl_val put_new_text(pdl_val extra, const char *name, const pdl_buf *all, size_t *sent) {
    if (all->len == *sent) return extra;
    pdl_val text = pdl_text(pdl_str_sub(pdl_buf_str(all), *sent, all->len));
    *sent = all->len;
    return pdl_dict_putz(extra, name, text);
}

pdl_val pdl_reply_builder_extra(pdl_reply_builder *d) {
    pdl_val extra = pdl_dict_new(0);
    if (d->think != PDL_THINK_INSIDE)
        extra = put_new_text(extra, "reasoning_content", &d->reasoning, &d->reasoning_sent);
    extra = put_new_text(extra, "refusal", &d->refusal, &d->refusal_sent);
    extra = pdl_reply_tools_grown(extra, d);
    if (!pdl_is_absent(d->new_logprobs)) {
        extra = pdl_dict_putz(extra, "logprobs", d->new_logprobs);
        d->new_logprobs = pdl_absent();
    }
    if (pdl_dict_len(extra)) return extra;
    pdl_drop(extra);
    return pdl_absent();
}

void pdl_reply_builder_stop(pdl_reply_builder *d, pdl_vref reason) {
    bool has_text = d->content.len || d->held.len || d->schema.len;
    bool schema = pdl_text_is(reason, "tool_use") && d->tools.n == 0 && has_text;
    pdl_val stop = schema ? pdl_textz("stop") : pdl_keep(reason);
    pdl_reply_builder_finish(d, stop);
    pdl_drop(stop);
}

static pdl_val or_text(pdl_val v, const char *z) { return pdl_is_absent(v) ? pdl_textz(z) : v; }

/* --- the whole -------------------------------------------------------------------------------- */

bool pdl_reply_builder_is_complete(const pdl_reply_builder *d) {
    return !pdl_is_absent(d->finish) || (d->done && d->begun);
}

bool pdl_reply_builder_is_unread(const pdl_reply_builder *d) {
    bool has_text = d->content.len || d->held.len || d->reasoning.len || d->refusal.len,
         has_calls = d->tools.n || d->schema.len;
    return d->has_unread && !has_text && !has_calls && pdl_dict_len(d->extra) == 0;
}

bool pdl_reply_builder_check(const pdl_reply_builder *d, pdl_err *err) {
    /* when the model ended for another reason, that reason explains more than the form of the
     * answer */
    const char *end = pdl_is_str(d->finish) ? pdl_finish_reason(pdl_str_get(d->finish)) : "stop";
    if (pdl_reply_builder_is_unread(d) && end && strcmp(end, "stop") == 0)
        return pdl_err_set(err, PDL_E_protocol, (pdl_loc){0},
                           "the answer has no text that can be read");
    return pdl_reply_builder_is_complete(d) ||
           pdl_err_set(err, PDL_E_protocol, (pdl_loc){0},
                       "the answer does not say that the model ended");
}

static pdl_val take(pdl_val *slot) {
    pdl_val v = *slot;
    *slot = pdl_absent();
    return v;
}

static pdl_val put_calls(pdl_val m, pdl_reply_builder *d) {
    pdl_val function, calls = pdl_reply_tools_take(d, &function);
    if (!pdl_is_absent(function)) m = pdl_dict_putz(m, "function_call", function);
    if (pdl_list_len(calls)) return pdl_dict_putz(m, "tool_calls", calls);
    pdl_drop(calls);
    return m;
}

static pdl_val take_message(pdl_reply_builder *d) {
    pdl_reply_tools_end(d);
    pdl_val m = pdl_dict_putz(pdl_dict_new(4), "role", or_text(take(&d->role), "assistant"));
    m = pdl_dict_putz(m, "content", d->has_content ? pdl_text_of_buf(&d->content) : pdl_null());
    if (d->has_reasoning) m = pdl_dict_putz(m, "reasoning_content", pdl_text_of_buf(&d->reasoning));
    if (d->has_refusal) m = pdl_dict_putz(m, "refusal", pdl_text_of_buf(&d->refusal));
    if (d->tools.n) m = put_calls(m, d);
    if (pdl_reply_details_any(d))
        m = pdl_dict_putz(m, "reasoning_details", pdl_reply_details_take(d));
    for (size_t i = 0; i < pdl_dict_len(d->extra); i++) {
        pdl_vref key = pdl_dict_key_at(d->extra, i), made = pdl_dict_find(m, key);
        /* a member that was built from pieces is not replaced by a member that arrived whole */
        if (!pdl_is_absent(made) && pdl_val_truth(made)) continue;
        m = pdl_dict_put(m, pdl_keep(key), pdl_keep(pdl_dict_val_at(d->extra, i)));
    }
    return m;
}

pdl_val pdl_reply_builder_take(pdl_reply_builder *d) {
    if (d->half && d->has_content) pdl_reply_builder_text(d, PDL_STR("\xef\xbf\xbd"));
    end_thinking(d);
    pdl_val choice = pdl_dict_putz(pdl_dict_new(4), "index", pdl_int(0));
    choice = pdl_dict_putz(choice, "message", take_message(d));
    if (!pdl_is_absent(d->logprobs)) choice = pdl_dict_putz(choice, "logprobs", take(&d->logprobs));
    choice = pdl_dict_putz(choice, "finish_reason", or_text(take(&d->finish), "stop"));
    if (!pdl_is_absent(d->finish_message))
        choice = pdl_dict_putz(choice, "finish_message", take(&d->finish_message));
    pdl_val raw = pdl_dict_putz(take(&d->head), "object", pdl_textz("chat.completion"));
    raw = pdl_dict_putz(raw, "choices", pdl_list_push(pdl_list_new(1), choice));
    if (!pdl_is_absent(d->usage)) raw = pdl_dict_putz(raw, "usage", take(&d->usage));
    d->head = pdl_absent();
    return raw;
}

bool pdl_reply_builder_end(pdl_reply_builder *d, pdl_val answer, pdl_val *raw, pdl_err *err) {
    bool ok = pdl_reply_builder_check(d, err);
    if (ok) *raw = pdl_reply_builder_take(d);
    pdl_reply_builder_fini(d);
    pdl_drop(answer);
    return ok;
}
