/* edit_answers.c -- changes answers of a run in a copy of its journal; see durable.h.
 *
 * The copy shows what the run would have done with another answer. The new answer replaces the
 * recorded one in its row. A run that continues from the copy sends again all requests that depend
 * on this answer. A text of a row may have a reference instead of a key (secret_references.h). The
 * user sees [REDACTED] there; parts that the user does not change keep their references, and no
 * typed text can become a reference.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "journal/durable/durable_impl.h"
#include "value/json_read.h"
#include "value/json_write.h"

#include "base/banned.h"

enum { KEY_MARK = 1 }; /* the byte that begins and ends a reference */

/* --- finding the row -------------------------------------------------------------------------- */

typedef struct found_row {
    pdl_str place;
    store_effect row; /* the row without its texts; its id is 0 when no row was found */
    pdl_effect_kind kind;
    /* the texts without abbreviations; the reply is empty when the row has no reply */
    pdl_buf request, reply;
} found_row;

static bool on_row(void *user, const store_effect *e) {
    found_row *f = user;
    pdl_effect_kind kind;
    if (!pdl_str_eq(e->place, f->place) || !pdl_effect_kind_find(e->kind, &kind) ||
        kind == PDL_EFFECT_source || kind == PDL_EFFECT_write || kind == PDL_EFFECT_sleep)
        return true;
    f->row = (store_effect){.id = e->id,
                            .end = e->end,
                            .end_clock = e->end_clock,
                            .state = STORE_DONE,
                            .attempt = e->attempt,
                            .tokens = e->tokens,
                            .cost = e->cost};
    if (e->end <= 0) f->row.end_clock = e->begin_clock;
    f->kind = kind;
    pdl_buf_clear(&f->request);
    pdl_buf_clear(&f->reply);
    pdl_buf_put(&f->request, e->request);
    if (e->reply.p) pdl_durable_expand_reply(e->reply, &f->reply);
    return true;
}

/* Finds the last effect of the block at this place, without the effects of the blocks inside. */
static bool find_row(pdl_store *s, pdl_str place, found_row *out, pdl_err *err) {
    *out = (found_row){.place = place, .request = PDL_BUF, .reply = PDL_BUF};
    if (!pdl_store_each(s, STORE_ALL, 0, on_row, out, err)) return false;
    return out->row.id ||
           pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                       "the block at %.*s asked for nothing: it has no answer", PDL_FMT(place));
}

static void found_row_fini(found_row *f) {
    pdl_buf_fini(&f->request);
    pdl_buf_fini(&f->reply);
}

/* --- showing the answer ----------------------------------------------------------------------- */

/* Returns true when the user types this answer as plain text and not as JSON. */
static bool is_text(const found_row *f, pdl_vref answer) {
    bool no_answer = pdl_is_absent(answer) || pdl_is_null(answer);
    return pdl_is_str(answer) || f->kind == PDL_EFFECT_input || f->kind == PDL_EFFECT_command ||
           f->kind == PDL_EFFECT_read || (f->kind == PDL_EFFECT_model && no_answer);
}

static bool put_answer(const found_row *f, pdl_buf *text, bool *json, pdl_err *err) {
    pdl_buf shown = PDL_BUF;
    pdl_val reply = pdl_absent();
    pdl_secret_refs_redact(pdl_buf_str(&f->reply), &shown);
    bool ok = !shown.len || pdl_effect_decode(pdl_buf_str(&shown), &reply, err);
    pdl_buf_fini(&shown);
    if (!ok) return false;
    pdl_vref answer = pdl_is_absent(reply) ? reply : pdl_effect_value(f->kind, reply);
    *json = !is_text(f, answer);
    if (pdl_is_str(answer))
        pdl_buf_put(text, pdl_str_get(answer));
    else if (*json && !pdl_is_absent(answer))
        ok = pdl_json_write(answer, PDL_JSON_LOOSE, 2, text, err);
    if (!pdl_is_absent(reply)) pdl_drop(reply);
    return ok;
}

bool pdl_durable_answer_at(pdl_str path, pdl_str place, pdl_buf *text, bool *json, pdl_err *err) {
    pdl_store *s = NULL;
    found_row f = {.request = PDL_BUF, .reply = PDL_BUF};
    bool ok = pdl_store_open(path, false, false, &s, err) && find_row(s, place, &f, err) &&
              put_answer(&f, text, json, err);
    pdl_store_close(s, false);
    found_row_fini(&f);
    return ok;
}

/* --- changing the answer ---------------------------------------------------------------------- */

/* Returns the text as a row holds it: a mark byte in the text is escaped, so that it cannot begin a
 * reference. */
static pdl_val typed_text(pdl_str text) {
    pdl_buf b = PDL_BUF;
    for (size_t i = 0; i < text.n; i++) {
        pdl_buf_putc(&b, text.p[i]);
        if (text.p[i] == KEY_MARK) pdl_buf_put(&b, PDL_STR("l\x01"));
    }
    return pdl_text_of_buf(&b);
}

static bool typed_value(const found_row *f, pdl_vref old, pdl_str text, pdl_val *out,
                        pdl_err *err) {
    pdl_err why = {0};
    if (is_text(f, old)) {
        *out = typed_text(text);
        return true;
    }
    if (memchr(text.p, KEY_MARK, text.n))
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "the answer has a control character");
    if (pdl_json_read(text, 0, out, NULL, &why)) return true;
    pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "the answer at %.*s is JSON: %s", PDL_FMT(f->place),
                why.msg);
    pdl_err_fini(&why);
    return false;
}

/* Makes a reply in which a model says only the text: no calls of tools, no reasoning. Takes
 * content. */
static pdl_val model_reply(pdl_vref old, pdl_val content) {
    pdl_vref message = pdl_is_dict(old) ? pdl_dict_getz(old, "message") : pdl_absent(),
             raw = pdl_is_dict(old) ? pdl_dict_getz(old, "raw") : pdl_absent(),
             usage = pdl_is_dict(old) ? pdl_dict_getz(old, "usage") : pdl_absent();
    pdl_vref role = pdl_is_dict(message) ? pdl_dict_getz(message, "role") : pdl_absent();
    pdl_val said = pdl_dict_putz(pdl_dict_new(2), "role",
                                 pdl_is_str(role) ? pdl_keep(role) : pdl_textz("assistant"));
    said = pdl_dict_putz(said, "content", pdl_keep(content));
    pdl_val choice = pdl_dict_putz(pdl_dict_new(3), "index", pdl_int(0));
    choice = pdl_dict_putz(choice, "message", pdl_keep(said));
    choice = pdl_dict_putz(choice, "finish_reason", pdl_textz("stop"));
    pdl_val whole = pdl_is_dict(raw) ? pdl_keep(raw) : pdl_dict_new(1);
    whole = pdl_dict_putz(whole, "choices", pdl_list_push(pdl_list_new(1), choice));
    pdl_val out = pdl_dict_putz(pdl_dict_new(4), "content", content);
    out = pdl_dict_putz(out, "message", said);
    out = pdl_dict_putz(out, "usage", pdl_is_dict(usage) ? pdl_keep(usage) : pdl_null());
    return pdl_dict_putz(out, "raw", whole);
}

/* Makes a reply whose value is v. Takes v. */
static pdl_val new_reply(const found_row *f, pdl_vref old, pdl_val v) {
    if (f->kind == PDL_EFFECT_model) return model_reply(old, v);
    if (!pdl_effect_value_key(f->kind)) return v;
    pdl_val d = pdl_is_dict(old) ? pdl_keep(old) : pdl_dict_new(3);
    if (f->kind == PDL_EFFECT_command && !pdl_is_dict(old)) {
        d = pdl_dict_putz(d, "stderr", pdl_textz(""));
        d = pdl_dict_putz(d, "status", pdl_int(0));
    }
    return pdl_dict_putz(d, pdl_effect_value_key(f->kind), v);
}

/* Returns true when the reply has the form of its kind. A reply that a run cannot read must not get
 * into the copy. */
static bool is_reply(const found_row *f, pdl_str json, pdl_err *err) {
    pdl_effect e = {.kind = f->kind};
    pdl_val v;
    if (!pdl_effect_decode(pdl_buf_str(&f->request), &e.request, err)) return false;
    bool ok = pdl_effect_read(&e, json, &v, err);
    if (ok) pdl_drop(v);
    pdl_drop(e.request);
    return ok;
}

static bool write_reply(pdl_store *s, found_row *f, pdl_vref reply, pdl_err *err) {
    pdl_buf json = PDL_BUF;
    bool ok = pdl_effect_encode(reply, &json, err) && is_reply(f, pdl_buf_str(&json), err);
    f->row.reply = pdl_buf_str(&json);
    if (f->row.end <= 0) f->row.end = pdl_journal_wall();
    ok = ok && pdl_store_end(s, &f->row, err);
    pdl_buf_fini(&json);
    return ok;
}

bool pdl_durable_change_answer(pdl_str path, pdl_str place, pdl_str text, pdl_err *err) {
    pdl_store *s = NULL;
    found_row f = {.request = PDL_BUF, .reply = PDL_BUF};
    pdl_val old = pdl_absent(), v;
    bool ok =
        pdl_store_open(path, true, true, &s, err) && find_row(s, place, &f, err) &&
        (!f.reply.len || pdl_effect_decode(pdl_buf_str(&f.reply), &old, err)) &&
        typed_value(&f, pdl_is_absent(old) ? old : pdl_effect_value(f.kind, old), text, &v, err);
    if (ok) {
        pdl_val reply = new_reply(&f, old, v);
        ok = write_reply(s, &f, reply, err);
        pdl_drop(reply);
    }
    if (!pdl_is_absent(old)) pdl_drop(old);
    pdl_store_close(s, ok);
    found_row_fini(&f);
    return ok;
}

/* --- a recording as a run --------------------------------------------------------------------- */

struct first_error {
    int64_t row; /* row of the first refused request; 0 when no request was refused */
    pdl_err *err;
    bool ok;
};

/* Finds the first request that a replay refused because the recording had no answer for it. */
static bool find_replay_error(void *user, const store_effect *e) {
    struct first_error *x = user;
    pdl_val v;
    x->ok = pdl_effect_decode(e->error, &v, x->err);
    if (!x->ok) return false;
    if (pdl_is_dict(v) && pdl_text_is(pdl_dict_getz(v, "kind"), "replay")) x->row = e->id;
    pdl_drop(v);
    return !x->row;
}

bool pdl_durable_forget_unanswered(pdl_str path, pdl_err *err) {
    pdl_store *s = NULL;
    struct first_error x = {.err = err, .ok = true};
    bool ok = pdl_store_open(path, true, true, &s, err) &&
              pdl_store_each(s, STORE_BY_ERROR, 0, find_replay_error, &x, err) && x.ok &&
              (!x.row || pdl_store_drop_from(s, x.row, err));
    pdl_store_close(s, ok);
    return ok;
}
