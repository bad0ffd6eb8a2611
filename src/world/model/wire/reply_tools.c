/* reply_tools.c -- the tool calls of a reply that is built from events; see reply_builder.h (spec
 * providers 6).
 *
 * Servers number calls as they like: some give all calls one index, and others give none; an id is
 * sent once, in each piece, or never. So an index does not identify a call. Each of these begins a
 * new call: an index or an id that was not seen before, another name, and arguments after arguments
 * that are one whole object. An exception is a new id without a name, beside arguments that
 * continue those so far: some servers make a new id for each piece. A piece with a known id and
 * without another name belongs to the last call with that id. A piece with a new index, but with
 * neither an id nor a name, continues the last call while its arguments are not whole. A piece may
 * repeat the arguments so far before it continues them. function_call, the form of calls before
 * tool_calls, holds one call without an index, so a piece of function_call is compared only with
 * other calls in this form. When there is one such call, it remains a function_call; when there are
 * several, they become tool calls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/ask/messages.h"
#include "model/wire/message_parts.h"
#include "model/wire/partial_arguments.h"
#include "model/wire/reply_builder.h"
#include "value/member.h"

#include "base/banned.h"

typedef pdl_reply_builder_tool tool;

/* Calls are compared with each other only when there are at most this many. A real model makes
 * fewer. */
enum { MAX_COMPARED = 256 };

void pdl_reply_tools_fini(pdl_reply_builder *d) {
    for (size_t i = 0; i < d->tools.n; i++) {
        tool *t = &d->tools.p[i];
        pdl_drop(t->id);
        pdl_drop(t->type);
        pdl_drop(t->name);
        pdl_drop(t->more);
        pdl_drop(t->function_more);
        pdl_buf_fini(&t->args);
        pdl_buf_fini(&t->whole);
        pdl_drop(t->partial);
    }
    pdl_vec_fini(&d->tools);
    pdl_idmap_fini(&d->tool_places);
    pdl_drop(d->tool_ids);
    d->tool_ids = pdl_absent();
    d->n_older = d->last_call[0] = d->last_call[1] = 0;
    pdl_buf_fini(&d->schema);
}

/* --- which call a piece belongs to ------------------------------------------------------------ */

/* Returns the key for an index: a server may number its calls as it likes. The key is odd because 0
 * is not a valid key; two indexes that differ by 2^63 have the same key. */
static uintptr_t key_of(int64_t index) { return ((uintptr_t)index << 1) | 1; }

static tool *slot_at(const pdl_reply_builder *d, int64_t index) {
    size_t place = (uintptr_t)pdl_idmap_find(&d->tool_places, key_of(index));
    return place && d->tools.p[place - 1].index == index ? &d->tools.p[place - 1] : NULL;
}

static tool *push_slot(pdl_reply_builder *d, int64_t index, bool older) {
    tool *t = pdl_vec_push(&d->tools);
    *t = (tool){.index = index,
                .older = older,
                .id = pdl_absent(),
                .type = pdl_absent(),
                .name = pdl_absent(),
                .more = pdl_absent(),
                .function_more = pdl_absent(),
                .args = PDL_BUF,
                .whole = PDL_BUF,
                .partial = pdl_absent()};
    d->last_call[older] = d->tools.n;
    d->n_older += older;
    return t;
}

static tool *open_slot(pdl_reply_builder *d, int64_t index) {
    tool *t = push_slot(d, index, false);
    pdl_idmap_put(&d->tool_places, key_of(index), (void *)(uintptr_t)d->tools.n);
    return t;
}

static tool *last_slot(const pdl_reply_builder *d, bool older) {
    size_t place = d->last_call[older];
    return place ? &d->tools.p[place - 1] : NULL;
}

static bool is_name(pdl_vref v) { return pdl_is_str(v) && pdl_str_get(v).n; }

static tool *slot_of_id(const pdl_reply_builder *d, pdl_vref id) {
    pdl_vref place =
        is_name(id) && pdl_is_dict(d->tool_ids) ? pdl_dict_find(d->tool_ids, id) : pdl_absent();
    return pdl_is_absent(place) ? NULL : &d->tools.p[pdl_int_of(place)];
}

/* Returns the id of a piece as a text, because some servers send a number. */
static pdl_val id_of(pdl_vref delta) {
    pdl_vref id = pdl_member(delta, "id");
    return pdl_is(id, PDL_V_INT) ? pdl_textf("%lld", (long long)pdl_int_of(id)) : pdl_keep(id);
}

/* Returns true for a piece without a name that can only continue the call t: it has arguments, and
 * those of t are not whole. */
static bool continues(const tool *t, pdl_vref delta) {
    pdl_vref f = pdl_member(delta, "function");
    return pdl_is_str(t->name) && !t->ended && !is_name(pdl_member(f, "name")) &&
           pdl_member_str(f, "arguments").n > 0;
}

/* Returns true when a piece with this id and name cannot be a part of the call t. A name that is
 * the same, or a longer form of the call's name, may still belong to t. */
static bool is_other(const tool *t, pdl_vref id, pdl_vref name) {
    if (is_name(id) && pdl_is_str(t->id) && !t->made) return !pdl_val_eq(t->id, id);
    if (!is_name(name) || !pdl_is_str(t->name)) return false;
    if (pdl_val_eq(t->name, name)) return false;
    return t->args.len > 0 || !pdl_str_starts(pdl_str_get(name), pdl_str_get(t->name));
}

static tool *find_slot(pdl_reply_builder *d, pdl_vref delta, pdl_vref id, pdl_vref name) {
    int64_t index = 0;
    bool has_index = pdl_index_read(pdl_member(delta, "index"), &index);
    tool *last = last_slot(d, false), *known = slot_of_id(d, id);
    int64_t next = last && last->index < INT64_MAX ? last->index + 1 : 0;
    if (known && is_name(name) && pdl_is_str(known->name) && is_other(known, pdl_absent(), name))
        return open_slot(d, has_index ? index : next);
    if (known) return known;
    if (has_index) {
        known = slot_at(d, index);
        /* some servers count the pieces of a call in place of the calls */
        if (!known && last && !is_name(id) && continues(last, delta)) return last;
        bool is_part = known && (!is_other(known, id, name) || continues(known, delta));
        return is_part ? known : open_slot(d, index);
    }
    return last && !is_other(last, id, name) ? last : open_slot(d, next);
}

static tool *find_older(pdl_reply_builder *d, pdl_vref name) {
    tool *last = last_slot(d, true);
    return last && !is_other(last, pdl_absent(), name) ? last : push_slot(d, 0, true);
}

static void first_text(pdl_reply_builder *d, pdl_val *slot, pdl_vref v) {
    if (!pdl_is_absent(*slot) || !is_name(v)) return;
    *slot = pdl_keep(v);
    d->arrived++;
}

static void set_id(pdl_reply_builder *d, tool *t, pdl_vref id) {
    /* an id that the builder made may already have been passed on */
    if (!is_name(id) || pdl_is_str(t->id)) return;
    /* services refuse two calls with one id, so the second call gets another one */
    t->made = slot_of_id(d, id) != NULL;
    t->id = t->made ? pdl_call_fresh_id() : pdl_keep(id);
    d->arrived++;
    if (!pdl_is_dict(d->tool_ids)) d->tool_ids = pdl_dict_new(4);
    d->tool_ids = pdl_dict_put(d->tool_ids, pdl_keep(id), pdl_int((int64_t)(t - d->tools.p)));
}

static void grow(pdl_reply_builder *d, tool *t) {
    if (!d->wants_extra || t->grows) return;
    t->grows = true;
    *pdl_vec_push(&d->growing) = (size_t)(t - d->tools.p);
}

/* Notes that a call has a new part. A function_call is left to the end of the stream, which shows
 * whether it becomes a tool call. */
static void note_growth(pdl_reply_builder *d, tool *t) {
    if (!t->older) grow(d, t);
}

/* --- arguments -------------------------------------------------------------------------------- */

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/* Updates the state of the arguments for one more byte. */
static void follow(tool *t, char c) {
    if (t->escaped) {
        t->escaped = false;
    } else if (t->quoted) {
        t->escaped = c == '\\';
        t->quoted = c != '"';
    } else if (c == '"') {
        t->quoted = true;
    } else if (c == '{' || c == '[') {
        t->object |= t->args.len == 0 && c == '{';
        t->depth++;
    } else if ((c == '}' || c == ']') && t->depth) {
        t->ended = --t->depth == 0 && t->object;
    }
}

/* Adds the beginning of text to the arguments, up to the end of their object. Returns how many
 * bytes of text were read, including the blanks before the arguments. */
static size_t take_part(tool *t, pdl_str text) {
    size_t from = 0, end;
    while (t->args.len == 0 && from < text.n && is_blank(text.p[from])) from++;
    for (end = from; end < text.n && !t->ended; end++) {
        follow(t, text.p[end]);
        if (t->args.len == 0) pdl_buf_putc(&t->args, text.p[from++]);
    }
    pdl_buf_put(&t->args, pdl_str_sub(text, from, end));
    return end;
}

/* Returns true for the empty object that some servers send with the name before the real arguments
 * follow. */
static bool is_placeholder(const tool *t) {
    return t->sent == 0 && pdl_str_is(pdl_buf_str(&t->args), "{}");
}

static void start_again(tool *t) {
    pdl_buf_clear(&t->args);
    t->object = t->ended = false;
}

static void add_arguments(pdl_reply_builder *d, tool *t, pdl_str text) {
    d->arrived += text.n;
    for (size_t pos = 0; pos < text.n;) {
        while (t->ended && pos < text.n && is_blank(text.p[pos])) pos++;
        if (pos == text.n) return;
        if (is_placeholder(t)) start_again(t);
        if (t->ended) { /* a second object belongs to the next call of the same function */
            pdl_val name = pdl_keep(t->name);
            t = t->older ? push_slot(d, t->index, true) : open_slot(d, t->index);
            t->name = name;
        }
        pos += take_part(t, pdl_str_sub(text, pos, text.n));
        note_growth(d, t);
    }
}

/* Keeps the members of a piece that this file does not read, such as the signature of a thought,
 * which Google's models want back. */
static void keep_more(pdl_val *more, pdl_vref piece, const char *const *known) {
    for (size_t i = 0; pdl_is_dict(piece) && i < pdl_dict_len(piece); i++) {
        pdl_vref key = pdl_dict_key_at(piece, i), v = pdl_dict_val_at(piece, i);
        bool is_known = pdl_is_null(v);
        for (size_t k = 0; !is_known && known[k]; k++) is_known = pdl_text_is(key, known[k]);
        if (is_known) continue;
        if (pdl_is_absent(*more)) *more = pdl_dict_new(1);
        *more = pdl_dict_put(*more, pdl_keep(key), pdl_keep(v));
    }
}

/* Returns the part of a piece that is new: some servers repeat the arguments so far in each piece,
 * or the whole call at the end. An object that is not whole cannot be followed by its own
 * beginning. After whole arguments, the same ones may be another call, unless the id of the piece
 * says that the call is the same. */
static pdl_str without_repeated(const tool *t, pdl_vref id, pdl_str piece) {
    pdl_str old = pdl_buf_str(&t->args);
    if (old.n == 0 || is_placeholder(t) || !pdl_str_starts(piece, old)) return piece;
    bool same_call = is_name(id) && pdl_is_str(t->id) && pdl_val_eq(t->id, id);
    if (t->ended ? !same_call || piece.n > old.n : !t->object) return piece;
    return pdl_str_sub(piece, old.n, piece.n);
}

/* Adds arguments: a piece of their text, or an object, which is all of them. */
static void add_value(pdl_reply_builder *d, tool *t, pdl_vref id, pdl_vref args) {
    if (pdl_is_str(args)) add_arguments(d, t, without_repeated(t, id, pdl_str_get(args)));
    if (!pdl_is_dict(args)) return;
    pdl_buf text = PDL_BUF;
    pdl_message_text(args, &text);
    add_arguments(d, t, pdl_buf_str(&text));
    pdl_buf_fini(&text);
}

static void add_delta(pdl_reply_builder *d, pdl_vref delta) {
    static const char *const of_call[] = {"index", "id",        "type", "function",
                                          "name",  "arguments", NULL},
                             *const of_function[] = {"name", "arguments", NULL};
    pdl_vref f =
        pdl_is_absent(pdl_member(delta, "function")) ? delta : pdl_member(delta, "function");
    pdl_vref args = pdl_member(f, "arguments"), name = pdl_member(f, "name");
    if (!pdl_is_dict(delta)) return;
    pdl_val id = id_of(delta);
    tool *t = find_slot(d, delta, id, name);
    note_growth(d, t);
    set_id(d, t, id);
    first_text(d, &t->type, pdl_member(delta, "type"));
    first_text(d, &t->name, name);
    keep_more(&t->more, delta, of_call);
    keep_more(&t->function_more, pdl_member(delta, "function"), of_function);
    add_value(d, t, id, args);
    pdl_drop(id);
}

void pdl_reply_builder_tools(pdl_reply_builder *d, pdl_vref list) {
    if (pdl_is_dict(list)) add_delta(d, list);
    for (size_t i = 0; pdl_is_list(list) && i < pdl_list_len(list); i++)
        add_delta(d, pdl_list_at(list, i));
}

void pdl_reply_builder_function(pdl_reply_builder *d, pdl_vref f) {
    pdl_vref name = pdl_member(f, "name");
    tool *t = find_older(d, name);
    first_text(d, &t->name, name);
    add_value(d, t, pdl_absent(), pdl_member(f, "arguments"));
}

/* --- calls of services that give each an index ------------------------------------------------ */

static void put_input(pdl_vref input, pdl_buf *out) {
    pdl_buf_clear(out);
    if ((pdl_is_dict(input) && pdl_dict_len(input)) || pdl_is_str(input))
        pdl_message_text(input, out);
}

void pdl_reply_builder_call(pdl_reply_builder *d, int64_t index, pdl_vref id, pdl_vref name,
                            pdl_vref input, bool schema) {
    if (schema) {
        d->schema.limit = PDL_BUF.limit;
        put_input(input, &d->schema);
        return;
    }
    pdl_val call = pdl_call_new(id, name, pdl_absent());
    tool *t = open_slot(d, index);
    set_id(d, t, pdl_member(call, "id"));
    first_text(d, &t->name, name);
    put_input(input, &t->whole);
    note_growth(d, t);
    pdl_drop(call);
}

static void add_piece(pdl_reply_builder *d, int64_t index, pdl_str piece, bool forced) {
    tool *t = slot_at(d, index);
    if (t) {
        pdl_buf_put(&t->args, piece);
        d->arrived += piece.n;
        note_growth(d, t);
    } else if (forced && piece.n) {
        pdl_buf_clear(&d->schema);
        pdl_reply_builder_text(d, piece);
    }
}

void pdl_reply_builder_arguments(pdl_reply_builder *d, int64_t index, pdl_vref piece, bool forced) {
    if (pdl_is_str(piece)) add_piece(d, index, pdl_str_get(piece), forced);
    if (!pdl_is_dict(piece)) return;
    pdl_buf text = PDL_BUF;
    pdl_message_text(piece, &text);
    add_piece(d, index, pdl_buf_str(&text), forced);
    pdl_buf_fini(&text);
}

/* Returns the arguments that arrived with the name of the call, or an empty dict. */
static pdl_val first_arguments(const tool *t) {
    pdl_err err = {0};
    pdl_val v;
    if (pdl_json_read(pdl_buf_str(&t->whole), 0, &v, NULL, &err)) return v;
    pdl_err_fini(&err);
    return pdl_dict_new(1);
}

void pdl_reply_builder_continue(pdl_reply_builder *d, pdl_vref args, pdl_vref partial) {
    tool *t = last_slot(d, false);
    if (!t) return;
    if (pdl_is_dict(args) && pdl_dict_len(args)) add_value(d, t, pdl_absent(), args);
    if (!pdl_is_list(partial)) return;
    if (pdl_is_absent(t->partial)) t->partial = first_arguments(t);
    t->partial = pdl_partial_arguments_add(t->partial, partial);
    d->arrived++;
}

/* Returns true for a function_call that repeats a call of tool_calls, since some servers send every
 * call in both forms. */
static bool is_repeated(const pdl_reply_builder *d, const tool *t) {
    if (!t->older || d->n_older < 2 || d->tools.n > MAX_COMPARED) return false;
    for (size_t i = 0; i < d->tools.n; i++) {
        const tool *o = &d->tools.p[i];
        if (!o->older && is_name(o->name) && pdl_val_eq(o->name, t->name) &&
            pdl_str_eq(pdl_buf_str(&o->args), pdl_buf_str(&t->args)))
            return true;
    }
    return false;
}

void pdl_reply_tools_end(pdl_reply_builder *d) {
    for (size_t i = 0; i < d->tools.n; i++) {
        tool *t = &d->tools.p[i];
        bool is_function = t->older && d->n_older == 1;
        t->repeated = is_repeated(d, t);
        if (!pdl_is_absent(t->partial)) put_input(t->partial, &t->whole);
        if (t->whole.len && is_placeholder(t)) pdl_buf_clear(&t->args);
        if (t->args.len == 0) pdl_buf_put(&t->args, pdl_buf_str(&t->whole));
        if (!is_function && !t->repeated && t->args.len > t->sent) grow(d, t);
    }
    if (d->schema.len) pdl_reply_builder_text(d, pdl_buf_str(&d->schema));
    pdl_buf_clear(&d->schema);
}

/* --- what is passed on ------------------------------------------------------------------------ */

/* Returns the new part of a call. Returns absent when there is none, or when the name of the call
 * is not known yet. A call whose arguments arrive before an id gets an id here. A placeholder is
 * only passed on at the end. */
static pdl_val growth_of(tool *t, size_t place, bool end) {
    size_t len = is_placeholder(t) && !end ? 0 : t->args.len;
    if (!pdl_is_str(t->name) || (t->begun && len == t->sent)) return pdl_absent();
    if (!pdl_is_str(t->id) && t->args.len == 0) return pdl_absent();
    if (!pdl_is_str(t->id)) {
        t->id = pdl_call_fresh_id();
        t->made = true;
    }
    pdl_val call = pdl_dict_putz(pdl_dict_new(4), "index", pdl_int((int64_t)place)),
            f = pdl_dict_new(2);
    if (!t->begun) {
        call = pdl_dict_putz(call, "id", pdl_keep(t->id));
        call = pdl_dict_putz(call, "type",
                             pdl_is_str(t->type) ? pdl_keep(t->type) : pdl_textz("function"));
        f = pdl_dict_putz(f, "name", pdl_keep(t->name));
    }
    f = pdl_dict_putz(f, "arguments", pdl_text(pdl_str_sub(pdl_buf_str(&t->args), t->sent, len)));
    t->begun = true;
    t->sent = len;
    return pdl_dict_putz(call, "function", f);
}

pdl_val pdl_reply_tools_grown(pdl_val extra, pdl_reply_builder *d) {
    pdl_val list = pdl_list_new(0);
    for (size_t i = 0; i < d->growing.n; i++) {
        tool *t = &d->tools.p[d->growing.p[i]];
        pdl_val call = growth_of(t, d->growing.p[i], !pdl_is_absent(d->finish));
        t->grows = false;
        if (!pdl_is_absent(call)) list = pdl_list_push(list, call);
    }
    d->growing.n = 0;
    if (pdl_list_len(list)) return pdl_dict_putz(extra, "tool_calls", list);
    pdl_drop(list);
    return extra;
}

static pdl_val or_text(pdl_val v, const char *z) { return pdl_is_absent(v) ? pdl_textz(z) : v; }

/* Returns an object with the further members; takes both. */
static pdl_val with_more(pdl_val v, pdl_val more) {
    if (!pdl_is_dict(more)) return v;
    v = pdl_dict_merge(v, more);
    pdl_drop(more);
    return v;
}

static pdl_val take_function(tool *t, const char *none) {
    pdl_val f = pdl_dict_putz(pdl_dict_new(2), "name", or_text(t->name, ""));
    f = pdl_dict_putz(f, "arguments", t->args.len ? pdl_text_of_buf(&t->args) : pdl_textz(none));
    t->name = pdl_absent();
    return f;
}

static pdl_val take_call(tool *t) {
    pdl_val f = with_more(take_function(t, "{}"), t->function_more),
            call = pdl_dict_putz(pdl_dict_new(3), "id", or_text(t->id, ""));
    call = pdl_dict_putz(call, "type", or_text(t->type, "function"));
    call = with_more(pdl_dict_putz(call, "function", f), t->more);
    t->id = t->type = t->more = t->function_more = pdl_absent();
    return call;
}

pdl_val pdl_reply_tools_take(pdl_reply_builder *d, pdl_val *function) {
    pdl_val list = pdl_list_new(d->tools.n);
    *function = pdl_absent();
    for (size_t i = 0; i < d->tools.n; i++) {
        tool *t = &d->tools.p[i];
        if (t->older && d->n_older == 1)
            *function = take_function(t, "");
        else if (!t->repeated)
            list = pdl_list_push(list, take_call(t));
    }
    pdl_reply_tools_fini(d);
    return list;
}
