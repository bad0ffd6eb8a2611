/* effect_rows.c -- converts effects and replies to rows of a durable run, and rows back to replies.
 * A reply may be large and contain a text several times, so a row stores a repeated text only once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <time.h>

#include "base/utf8.h"
#include "journal/durable/durable_impl.h"
#include "journal/recording_impl.h"
#include "value/int.h"
#include "value/json_write.h"

#include "base/banned.h"

double pdl_journal_wall(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

double pdl_durable_clock(const pdl_durable *d) {
    return (double)(now_ns() - d->progress.clock.start_ns + d->progress.clock.earlier_ns) / 1e9;
}

/* --- identity --------------------------------------------------------------------------------- */

static int64_t number_of(pdl_str text) {
    pdl_sha256 h;
    unsigned char digest[32];
    int64_t n;
    pdl_sha256_init(&h);
    pdl_sha256_add(&h, text);
    pdl_sha256_done(&h, digest);
    memcpy(&n, digest, sizeof n);
    return n;
}

static bool is_number(pdl_str s) {
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9') return false;
    return s.n > 0;
}

/* Returns the last part of a place, and removes it. */
static pdl_str pop_part(pdl_str *place) {
    size_t dot = pdl_str_rfind(*place, PDL_STR("."));
    pdl_str last = *place;
    if (dot == PDL_NOT_FOUND) {
        place->n = 0;
        return last;
    }
    last = pdl_str_sub(*place, dot + 1, place->n);
    *place = pdl_str_sub(*place, 0, dot);
    return last;
}

static bool ends_in(pdl_str place, const char *word) { return pdl_str_is(pop_part(&place), word); }

static bool is_iteration(pdl_str before) {
    return ends_in(before, "repeat") || ends_in(before, "map");
}

/* Returns the place of the block around an effect: "text.1.if.then.model" is in "text.1.if". */
static pdl_str parent_of(pdl_str place) {
    pdl_str last = pop_part(&place);
    /* "retry" is followed by the kind of the attempt */
    if (pdl_str_starts(last, PDL_STR("retry")) && last.n > 5) pop_part(&place);
    pdl_str rest = place;
    last = pop_part(&rest);
    if (is_number(last) && is_iteration(rest)) return place;
    if (ends_in(rest, "defs")) pop_part(&rest);
    return rest;
}

/* Appends a place without the numbers of parts of sequences. These numbers change when a line is
 * inserted above. */
static void put_shape(pdl_str place, pdl_buf *out) {
    pdl_str before = {place.p, 0};
    for (size_t from = 0; from < place.n;) {
        size_t dot = pdl_str_find(place, PDL_STR("."), from),
               to = dot == PDL_NOT_FOUND ? place.n : dot;
        pdl_str part = pdl_str_sub(place, from, to);
        if (!is_number(part) || is_iteration(before)) {
            pdl_buf_put(out, part);
            pdl_buf_putc(out, '.');
        }
        before = pdl_str_sub(place, 0, to);
        from = to + 1;
    }
}

static bool is_same(pdl_vref a, pdl_vref b) {
    return pdl_is_dict(a) && pdl_is_dict(b) && pdl_obj_of(a) == pdl_obj_of(b);
}

static known_list *list_to_use(pdl_durable *d, pdl_vref list) {
    known_list *best = &d->match.lists[0];
    size_t best_n = 0;
    for (size_t i = 0; i < KNOWN_LISTS; i++) {
        known_list *k = &d->match.lists[i];
        size_t n = 0, most = pdl_is_list(k->list) ? pdl_list_len(k->list) : 0;
        while (n < most && n < pdl_list_len(list) &&
               is_same(pdl_list_at(k->list, n), pdl_list_at(list, n)))
            n++;
        if (n > best_n || (n == best_n && !best_n && k->used < best->used)) {
            best = k;
            best_n = n;
        }
    }
    best->nodes.n = best_n;
    return best;
}

/* Stores a list of messages as a chain of nodes. The hash of a list is made from the hash of the
 * list without its last message, so lists with the same beginning share their nodes. */
static bool write_messages(pdl_durable *d, pdl_vref list, int64_t *id, char hash[65],
                           pdl_err *err) {
    known_list *k = list_to_use(d, list);
    bool ok = true;
    for (size_t i = k->nodes.n; ok && i < pdl_list_len(list); i++) {
        pdl_buf raw = PDL_BUF, text = PDL_BUF, all = PDL_BUF;
        struct known_node node = {0}, up = i ? k->nodes.p[i - 1] : (struct known_node){0};
        ok = pdl_effect_encode(pdl_list_at(list, i), &raw, err);
        if (ok) pdl_secret_refs_refer(&d->file.keys, pdl_buf_str(&raw), &text);
        pdl_buf_putf(&all, "%s\n", up.hash);
        pdl_buf_put(&all, pdl_buf_str(&text));
        pdl_hash_hex(pdl_buf_str(&all), node.hash);
        ok = ok && pdl_store_message(d->file.store, up.id, pdl_str_of(node.hash),
                                     pdl_buf_str(&text), &node.id, err);
        if (ok) *pdl_vec_push(&k->nodes) = node;
        pdl_buf_fini(&raw);
        pdl_buf_fini(&text);
        pdl_buf_fini(&all);
    }
    pdl_val old = k->list;
    k->list = ok ? pdl_keep(list) : pdl_absent();
    pdl_drop(old);
    k->used = ++d->match.n_lists;
    if (!ok) k->nodes.n = 0;
    *id = k->nodes.n ? k->nodes.p[k->nodes.n - 1].id : 0;
    memcpy(hash, k->nodes.n ? k->nodes.p[k->nodes.n - 1].hash : "", k->nodes.n ? 65 : 1);
    return ok;
}

/* Returns v without the member of this name. Takes v. */
static pdl_val without(pdl_val v, const char *name) {
    pdl_val key = pdl_textz(name);
    v = pdl_dict_del(v, key);
    pdl_drop(key);
    return v;
}

bool pdl_durable_identify(pdl_durable *d, const pdl_effect *e, identity *out, pdl_err *err) {
    pdl_buf raw = PDL_BUF, all = PDL_BUF;
    char list_hash[65] = "";
    bool ok = true;
    *out = (identity){.place = PDL_BUF, .request = PDL_BUF};
    pdl_path_text(e->place, &out->place);
    pdl_val request =
        pdl_effect_moved(e, pdl_str_of(d->setup.dir ? d->setup.dir : ""), (pdl_str){"", 0});
    if (e->kind == PDL_EFFECT_read) request = without(request, "shown");
    pdl_vref messages = pdl_dict_getz(request, "messages");
    if (e->kind == PDL_EFFECT_model && pdl_is_list(messages)) {
        ok = write_messages(d, messages, &out->messages, list_hash, err);
        request = without(request, "messages");
    }
    ok = ok && pdl_effect_canonical(e->kind, request, NULL, &raw, err);
    pdl_drop(request);
    if (ok) pdl_secret_refs_refer(&d->file.keys, pdl_buf_str(&raw), &out->request);
    pdl_buf_put(&all, pdl_buf_str(&out->request));
    pdl_buf_putf(&all, "\n%s", list_hash);
    pdl_hash_hex(pdl_buf_str(&all), out->hash);
    pdl_str place = pdl_buf_str(&out->place);
    const char *kind = pdl_effect_kind_name(e->kind);
    pdl_buf_clear(&all);
    if (d->group.run) pdl_buf_putf(&all, "%lld\n", (long long)d->group.run);
    pdl_buf_putf(&all, "%.*s\n%u\n%s\n%s", PDL_FMT(place), e->seq, kind, out->hash);
    out->key = number_of(pdl_buf_str(&all));
    pdl_buf_clear(&all);
    if (d->group.run) pdl_buf_putf(&all, "%lld\n", (long long)d->group.run);
    put_shape(parent_of(place), &all);
    pdl_buf_putf(&all, "\n%s\n%s", kind, out->hash);
    out->parent_key = number_of(pdl_buf_str(&all));
    pdl_buf_fini(&raw);
    pdl_buf_fini(&all);
    if (!ok) pdl_durable_identity_fini(out);
    return ok;
}

int64_t pdl_durable_place_key(const pdl_durable *d, pdl_str place, uint32_t seq, pdl_str kind) {
    pdl_buf all = PDL_BUF;
    pdl_buf_putf(&all, "%lld\n%.*s\n%u\n%.*s", (long long)d->group.run, PDL_FMT(place), seq,
                 PDL_FMT(kind));
    int64_t key = number_of(pdl_buf_str(&all));
    pdl_buf_fini(&all);
    return key;
}

int64_t pdl_durable_request_key(pdl_str kind, pdl_str hash) {
    pdl_buf all = PDL_BUF;
    pdl_buf_putf(&all, "%.*s\n%.*s", PDL_FMT(kind), PDL_FMT(hash));
    int64_t key = number_of(pdl_buf_str(&all));
    pdl_buf_fini(&all);
    return key;
}

void pdl_durable_identity_fini(identity *id) {
    pdl_buf_fini(&id->place);
    pdl_buf_fini(&id->request);
}

/* --- replies ---------------------------------------------------------------------------------- */

/* The reply of a model contains its text three times. This mark replaces the second and third copy;
 * no text can look like it (secret_references.h). */
#define SAME      "\"content\":\"\\u0001s\\u0001\""
#define FIRST_KEY "{\"content\":"

/* Returns the text at the beginning of the reply, as a JSON string with its quotes; empty when the
 * reply does not begin with a text. */
static pdl_str text_of(pdl_str json) {
    enum { AT = sizeof FIRST_KEY - 1 };
    if (!pdl_str_starts(json, PDL_STR("{\"content\":\""))) return (pdl_str){0};
    size_t i = AT + 1;
    while (i < json.n && json.p[i] != '"') i += json.p[i] == '\\' ? 2 : 1;
    return i < json.n ? pdl_str_sub(json, AT, i + 1) : (pdl_str){0};
}

static void replace(pdl_str in, size_t from, pdl_str what, pdl_str with, pdl_buf *out) {
    for (;;) {
        size_t at = pdl_str_find(in, what, from);
        pdl_buf_put(out, pdl_str_sub(in, from, at));
        if (at == PDL_NOT_FOUND) return;
        pdl_buf_put(out, with);
        from = at + what.n;
    }
}

static void put_other(pdl_str json, bool shorten, pdl_buf *out) {
    enum { WORTH = 64 };
    pdl_buf field = PDL_BUF;
    pdl_str text = text_of(json);
    size_t from = text.n ? (size_t)(text.p - json.p) + text.n : 0;
    if (!text.n || text.n < WORTH) {
        pdl_buf_put(out, json);
        return;
    }
    pdl_buf_putf(&field, "\"content\":%.*s", PDL_FMT(text));
    pdl_buf_put(out, pdl_str_sub(json, 0, from));
    pdl_str whole = pdl_buf_str(&field);
    replace(json, from, shorten ? whole : PDL_STR(SAME), shorten ? PDL_STR(SAME) : whole, out);
    pdl_buf_fini(&field);
}

void pdl_durable_expand_reply(pdl_str json, pdl_buf *out) { put_other(json, false, out); }

/* Appends the pieces. When the pieces of a model's reply make up its text, only their lengths are
 * stored. */
static bool put_pieces(pdl_durable *d, const pending_effect *o, pdl_buf *out, pdl_err *err) {
    pdl_vref content = pdl_is_dict(o->value) ? pdl_dict_getz(o->value, "content") : pdl_absent();
    pdl_buf all = PDL_BUF, raw = PDL_BUF;
    size_t n = pdl_list_len(o->pieces);
    for (size_t i = 0; i < n; i++) pdl_buf_put(&all, pdl_str_get(pdl_list_at(o->pieces, i)));
    bool same = o->e->kind == PDL_EFFECT_model && pdl_is_str(content) &&
                pdl_str_eq(pdl_str_get(content), pdl_buf_str(&all));
    bool ok = true;
    if (same) {
        pdl_buf_putc(out, '[');
        for (size_t i = 0; i < n; i++)
            pdl_buf_putf(out, i ? ",%zu" : "%zu", pdl_str_get(pdl_list_at(o->pieces, i)).n);
        pdl_buf_putc(out, ']');
    } else {
        ok = pdl_effect_encode(o->pieces, &raw, err);
        if (ok) pdl_secret_refs_refer(&d->file.keys, pdl_buf_str(&raw), out);
    }
    pdl_buf_fini(&all);
    pdl_buf_fini(&raw);
    return ok;
}

static double number(pdl_vref v) {
    return pdl_is_int(v) || pdl_is(v, PDL_V_FLOAT) ? pdl_num_to_double(v) : 0;
}

static void put_usage(const pending_effect *o, store_effect *row) {
    pdl_vref usage = pdl_is_dict(o->value) ? pdl_dict_getz(o->value, "usage") : pdl_absent();
    if (!pdl_is_dict(usage)) return;
    double n = number(pdl_dict_getz(usage, "prompt_tokens")) +
               number(pdl_dict_getz(usage, "completion_tokens"));
    row->tokens = n >= 0 && n < 1e15 ? (int64_t)n : 0;
    row->cost = number(pdl_dict_getz(usage, "cost"));
}

/* The texts of a row, made for one statement. */
typedef struct row_texts {
    pdl_buf pieces, reply;
} row_texts;

static bool fill_end(pdl_durable *d, const pending_effect *o, store_effect *row, row_texts *t,
                     pdl_err *err) {
    bool failed = o->err.kind != PDL_E_NONE;
    pdl_buf raw = PDL_BUF, clean = PDL_BUF;
    *t = (row_texts){PDL_BUF, PDL_BUF};
    pdl_val v =
        failed ? pdl_journal_error_value((pdl_str){"", 0}, o->e, &o->err) : pdl_keep(o->value);
    bool ok = pdl_effect_encode_reply(o->e, v, NULL, &raw, err);
    if (ok) pdl_secret_refs_refer(&d->file.keys, pdl_buf_str(&raw), &clean);
    ok = ok && pdl_durable_keep_secrets(d, pdl_buf_str(&clean), err);
    if (ok) put_other(pdl_buf_str(&clean), true, &t->reply);
    ok = ok && (!pdl_is_list(o->pieces) || put_pieces(d, o, &t->pieces, err));
    pdl_drop(v);
    pdl_buf_fini(&raw);
    pdl_buf_fini(&clean);
    row->id = o->row;
    row->end = pdl_journal_wall();
    row->end_clock = pdl_durable_clock(d);
    row->state = STORE_DONE;
    row->attempt = o->attempt;
    put_usage(o, row);
    if (t->pieces.len) row->pieces = pdl_buf_str(&t->pieces);
    *(failed ? &row->error : &row->reply) = pdl_buf_str(&t->reply);
    return ok;
}

static void fini_texts(row_texts *t) {
    pdl_buf_fini(&t->pieces);
    pdl_buf_fini(&t->reply);
}

bool pdl_durable_write_begin(pdl_durable *d, pending_effect *o, const identity *id, pdl_err *err) {
    store_effect row = {.run = d->group.run,
                        .key = id->key,
                        .parent_key = id->parent_key,
                        .place = pdl_buf_str(&id->place),
                        .kind = pdl_str_of(pdl_effect_kind_name(o->e->kind)),
                        .hash = pdl_str_of(id->hash),
                        .request = pdl_buf_str(&id->request),
                        .seq = o->e->seq,
                        .messages = id->messages,
                        .start = pdl_journal_wall(),
                        .begin_clock = pdl_durable_clock(d),
                        .again = pdl_durable_may_repeat(d, o->e)};
    row_texts t = {PDL_BUF, PDL_BUF};
    bool ok = !o->has_reply || fill_end(d, o, &row, &t, err);
    ok = ok && pdl_store_begin(d->file.store, &row, &o->row, err);
    if (ok && d->group.server && d->file.is_new && !d->group.first_row)
        d->group.first_row = o->row - 1;
    o->begin_clock = row.begin_clock;
    fini_texts(&t);
    PDL_TRACE(d->setup.opt.debug, journal, "row %lld: %s at %s%s", (long long)o->row,
              pdl_effect_kind_name(o->e->kind), pdl_buf_z(&id->place),
              o->has_reply ? ", answered" : "");
    return ok;
}

bool pdl_durable_write_end(pdl_durable *d, pending_effect *o, pdl_err *err) {
    store_effect row = {0};
    row_texts t;
    bool ok = fill_end(d, o, &row, &t, err) && pdl_store_end(d->file.store, &row, err);
    fini_texts(&t);
    PDL_TRACE(d->setup.opt.debug, journal, "row %lld: %s", (long long)o->row,
              o->err.kind ? "error" : "reply");
    return ok;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Reads the pieces, which are stored as lengths of parts of the text or as the texts themselves. */
static bool read_pieces(pdl_str json, pdl_vref value, pdl_val *out, pdl_err *err) {
    pdl_val v;
    pdl_vref content = pdl_is_dict(value) ? pdl_dict_getz(value, "content") : pdl_absent();
    pdl_str text = pdl_is_str(content) ? pdl_str_get(content) : (pdl_str){0};
    if (!pdl_effect_decode(json, &v, err)) return false;
    bool lengths = pdl_is_list(v) && pdl_list_len(v) && pdl_is_int(pdl_list_at(v, 0));
    if (!lengths) {
        pdl_drop(v);
        return pdl_effect_read_pieces(json, out, err);
    }
    pdl_val list = pdl_list_new(pdl_list_len(v));
    size_t from = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < pdl_list_len(v); i++) {
        int64_t n = -1;
        ok = pdl_int_get(pdl_list_at(v, i), &n) && n >= 0 && (uint64_t)n <= text.n - from;
        if (!ok) break;
        pdl_str part = pdl_str_sub(text, from, from + (size_t)n);
        from += (size_t)n;
        ok = pdl_utf8_check(part) == PDL_NOT_FOUND;
        if (ok) list = pdl_list_push(list, pdl_text(part));
    }
    pdl_drop(v);
    if (ok)
        *out = list;
    else
        pdl_drop(list);
    return ok || pdl_err_set(err, PDL_E_replay, (pdl_loc){0}, "pieces that are not of its text");
}

static bool read_error(pdl_str json, pdl_effect *e, pending_effect *out, pdl_err *err) {
    pdl_val v;
    if (!pdl_effect_decode(json, &v, err)) return false;
    e->added_labels |= pdl_label_of(v);
    if (pdl_is_dict(v))
        pdl_journal_error_read((pdl_str){"", 0}, e, v, &out->err);
    else
        pdl_err_set(&out->err, PDL_E_runtime, (pdl_loc){0}, "failed");
    pdl_drop(v);
    return true;
}

bool pdl_durable_read_answer(pdl_durable *d, const store_effect *row, pdl_effect *e,
                             pending_effect *out, pdl_err *err) {
    pdl_buf whole = PDL_BUF, text = PDL_BUF;
    put_other(row->reply.p ? row->reply : row->error, false, &whole);
    bool ok = pdl_secret_refs_fill(&d->file.keys, pdl_buf_str(&whole), &text, err);
    if (ok && row->reply.p)
        ok = pdl_effect_read(e, pdl_buf_str(&text), &out->value, err);
    else if (ok)
        ok = read_error(pdl_buf_str(&text), e, out, err);
    if (ok && row->reply.p) e->added_labels |= pdl_label_of(out->value);
    pdl_buf_clear(&text);
    if (ok && row->pieces.p)
        ok = pdl_secret_refs_fill(&d->file.keys, row->pieces, &text, err) &&
             read_pieces(pdl_buf_str(&text), out->value, &out->pieces, err);
    pdl_buf_fini(&whole);
    pdl_buf_fini(&text);
    out->has_reply = ok;
    return ok;
}
