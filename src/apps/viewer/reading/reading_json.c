/* reading_json.c -- writes the document of a run as JSON for the page; see reading_json.h. Long
 * texts are cut here, and lists are written a page at a time, because the browser of a person has
 * to hold what is written.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/reading/reading_json.h"

#include "base/utf8.h"
#include "io/clock.h"
#include "value/json_put.h"
#include "value/json_write.h"
#include "value/member.h"
#include "value/text.h"
#include "viewer/box_json.h"
#include "viewer/reading/call_table.h"
#include "viewer/reading/failed.h"
#include "viewer/reading/item_origins.h"
#include "viewer/reading/printing.h"

#include "base/banned.h"

enum { NANOS_PER_MICRO = 1000 };

static const pdl_box *box_of(const pdl_reading *r, const pdl_item *x) {
    return &r->doc->boxes.p[x->box];
}

/* --- parts of items --------------------------------------------------------------------------- */

static void put_cut(const char *name, pdl_str text, pdl_buf *out) {
    pdl_str shown = pdl_utf8_cut(text, PDL_ITEM_TEXT_BYTES);
    pdl_json_put_text(out, name, shown);
    if (shown.n < text.n) pdl_json_put_bool(out, "cut", true);
}

/* Returns true for a value that is not a text, so that it is shown as a tree. */
static bool is_json(const pdl_reading *r, const pdl_item *x) {
    pdl_vref v = pdl_box_get(box_of(r, x), "pdl__result");
    bool has_value = x->shape == PDL_SHAPE_piece || x->shape == PDL_SHAPE_step ||
                     x->shape == PDL_SHAPE_tool || x->shape == PDL_SHAPE_quiet;
    return has_value && (pdl_is_dict(v) || pdl_is_list(v));
}

/* Appends the number of words in a text that was shortened. */
static void put_words(pdl_str text, pdl_buf *out) {
    int64_t n = 0;
    bool in_word = false;
    for (size_t i = 0; i < text.n; i++) {
        bool is_space = text.p[i] == ' ' || (text.p[i] >= '\t' && text.p[i] <= '\r');
        n += !is_space && !in_word;
        in_word = !is_space;
    }
    pdl_json_put_int(out, "words", n);
}

static void put_text(const pdl_reading *r, uint32_t i, pdl_buf *out) {
    pdl_buf text = PDL_BUF;
    pdl_item_text(r, i, &text);
    if (text.len) put_cut("text", pdl_buf_str(&text), out);
    bool is_reply =
        r->items.p[i].shape == PDL_SHAPE_step && r->items.p[i].maker == PDL_MADE_BY_model;
    if (is_reply && !pdl_str_trim(pdl_buf_str(&text)).n)
        pdl_json_put_text(out, "empty", pdl_str_of(pdl_item_no_text(r, i)));
    if (text.len > PDL_ITEM_TEXT_BYTES) put_words(pdl_buf_str(&text), out);
    if (text.len && is_json(r, &r->items.p[i])) pdl_json_put_bool(out, "json", true);
    pdl_buf_fini(&text);
}

/* Appends the arguments of a tool: [{"name", "text"}, ...]. */
static void put_arguments(const pdl_box *b, pdl_buf *out) {
    pdl_vref args = pdl_box_tool_arguments(b);
    pdl_json_put_key(out, "args");
    pdl_json_open(out, '[');
    for (size_t i = 0; pdl_is_dict(args) && i < pdl_dict_len(args); i++) {
        pdl_vref key = pdl_dict_key_at(args, i);
        bool own = pdl_is_str(key) && pdl_str_starts(pdl_str_get(key), PDL_STR("pdl_"));
        pdl_buf text = PDL_BUF;
        pdl_err ignored = {0};
        if (!pdl_is_str(key) || own) continue;
        if (!pdl_stringify(pdl_dict_val_at(args, i), &text, &ignored)) pdl_err_fini(&ignored);
        pdl_json_open(out, '{');
        pdl_json_put_text(out, "name", pdl_utf8_cut(pdl_str_get(key), 200));
        put_cut("text", pdl_buf_str(&text), out);
        pdl_buf_putc(out, '}');
        pdl_buf_fini(&text);
    }
    pdl_buf_putc(out, ']');
}

static void put_source(const pdl_view_source *s, uint32_t box, pdl_buf *out) {
    const pdl_view_lines *l = &s->lines[box];
    if (!l->first) return;
    pdl_json_put_key(out, "source");
    pdl_json_open(out, '{');
    pdl_json_put_int(out, "file", l->file);
    pdl_json_put_text(out, "name", s->files.p[l->file].shown);
    pdl_json_put_int(out, "line", l->first);
    pdl_json_put_int(out, "to", l->last);
    if (l->width) pdl_json_put_int(out, "column", l->column);
    if (l->width) pdl_json_put_int(out, "width", l->width);
    pdl_buf_putc(out, '}');
}

static void put_took(const pdl_digest *g, pdl_buf *out) {
    if (g->start && g->end > g->start)
        pdl_json_put_int(out, "took", (g->end - g->start) / NANOS_PER_MICRO);
}

/* Returns the value of a member. The member may be an expression. */
static pdl_vref value_of(const pdl_box *b, const char *key) {
    pdl_vref v = pdl_box_get(b, key);
    pdl_vref made = pdl_is_dict(v) ? pdl_dict_getz(v, "pdl__result") : pdl_absent();
    return pdl_is_absent(made) ? v : made;
}

/* --- items ------------------------------------------------------------------------------------ */

/* Returns true when lines of the program are shown beside the item. Records of many runs have no
 * program. */
static bool shows_source(const pdl_reading *r, const pdl_item *x) {
    if (r->digests[0].runs) return false;
    return x->shape != PDL_SHAPE_note && (x->shape != PDL_SHAPE_setup || x->name.n);
}

/* Marks an item that is in progress. The page finds the text that is arriving by the place of the
 * item. */
static void put_running(pdl_buf *out) { pdl_json_put_text(out, "state", PDL_STR("running")); }

/* Appends the name of the model without its provider. */
static void put_model(const pdl_box *b, pdl_buf *out) {
    pdl_vref model = value_of(b, "model");
    pdl_str name = pdl_is_str(model) ? pdl_str_get(model) : (pdl_str){0};
    size_t slash = pdl_str_rfind(name, PDL_STR("/"));
    if (slash != PDL_NOT_FOUND) name = pdl_str_sub(name, slash + 1, name.n);
    if (name.n) pdl_json_put_text(out, "model", pdl_utf8_cut(name, 100));
}

/* Appends the time at which the block began, in microseconds after the start of the run. */
static void put_start(const pdl_reading *r, const pdl_box *b, pdl_buf *out) {
    int64_t zero = r->digests[0].start;
    if (zero && b->start >= zero)
        pdl_json_put_int(out, "start", (b->start - zero) / NANOS_PER_MICRO);
}

/* Appends the duration of each round of a loop, in microseconds. When there are many rounds, they
 * are divided into groups, and the longest duration of each group is appended. */
static void put_heights(const pdl_reading *r, uint32_t i, pdl_buf *out) {
    enum { MAX_BARS = 200 };
    uint32_t n = r->items.p[i].number, at = 0;
    int64_t heights[MAX_BARS] = {0};
    uint32_t shown = n < MAX_BARS ? n : MAX_BARS;
    for (uint32_t k = i + 1; k < r->items.p[i].end; k = r->items.p[k].end) {
        const pdl_digest *g = &r->digests[r->items.p[k].box];
        uint32_t number = r->items.p[k].number;
        if (!number || number > n || !g->start || g->end <= g->start) continue;
        at = (uint32_t)((uint64_t)(number - 1) * shown / n);
        if (g->end - g->start > heights[at]) heights[at] = g->end - g->start;
    }
    pdl_json_put_key(out, "heights");
    pdl_json_open(out, '[');
    for (uint32_t k = 0; k < shown; k++)
        pdl_buf_putf(out, "%s%lld", k ? "," : "", (long long)(heights[k] / NANOS_PER_MICRO));
    pdl_buf_putc(out, ']');
}

/* Returns true for an answer that shares no line with other text, so that its Markdown can be laid
 * out. Also returns true for a value when the run printed nothing else. */
static bool fills_lines(const pdl_reading *r, const pdl_item *x) {
    pdl_str text = pdl_buf_str(&r->text);
    if (x->shape == PDL_SHAPE_piece && !x->from && x->to == text.n && is_json(r, x)) return true;
    if (x->shape != PDL_SHAPE_piece || x->maker != PDL_MADE_BY_model || x->to <= x->from)
        return false;
    bool begins = !x->from || text.p[x->from - 1] == '\n' || text.p[x->from] == '\n';
    return begins && (x->to == text.n || text.p[x->to] == '\n' || text.p[x->to - 1] == '\n');
}

/* Appends the text that the function `make` makes for the item. Appends nothing when the text is
 * empty. */
static void put_made(const pdl_reading *r, uint32_t i, const char *name,
                     void (*make)(const pdl_reading *, uint32_t, pdl_buf *), pdl_buf *out) {
    pdl_buf text = PDL_BUF;
    make(r, i, &text);
    if (text.len) put_cut(name, pdl_buf_str(&text), out);
    pdl_buf_fini(&text);
}

static void put_item(const pdl_reading *r, const pdl_view_source *s, uint32_t i, pdl_buf *out) {
    const pdl_item *x = &r->items.p[i];
    const pdl_box *b = box_of(r, x);
    pdl_buf title = PDL_BUF;
    uint32_t call = r->calls[x->call_box];
    pdl_item_title(r, i, &title);
    pdl_json_open(out, '{');
    pdl_json_put_int(out, "id", i);
    pdl_json_put_text(out, "shape", pdl_str_of(pdl_shape_name(x->shape)));
    pdl_json_put_int(out, "depth", x->depth);
    pdl_json_put_int(out, "box", x->box);
    if (b->place.n) pdl_json_put_text(out, "place", b->place);
    if (pdl_maker_name(x->maker)[0] && (x->shape == PDL_SHAPE_piece || x->shape == PDL_SHAPE_step))
        pdl_json_put_text(out, "kind", pdl_str_of(pdl_maker_name(x->maker)));
    if (title.len) put_cut("title", pdl_buf_str(&title), out);
    if (x->name.n) pdl_json_put_text(out, "name", pdl_utf8_cut(x->name, 200));
    put_text(r, i, out);
    if (x->shape == PDL_SHAPE_attempt) put_made(r, i, "gone", pdl_item_gone, out);
    if (x->shape == PDL_SHAPE_work) put_made(r, i, "task", pdl_item_task, out);
    if (x->shape == PDL_SHAPE_tool) put_arguments(b, out);
    if (call) pdl_json_put_int(out, "call", call);
    if (shows_source(r, x)) put_source(s, x->box, out);
    if (x->shape != PDL_SHAPE_note) put_took(&r->digests[x->box], out);
    if (call && pdl_doc_waited(r->doc, x->call_box))
        pdl_json_put_int(out, "waited", pdl_doc_waited(r->doc, x->call_box) / NANOS_PER_MICRO);
    if (call) put_model(&r->doc->boxes.p[x->call_box], out);
    if (call) pdl_put_usage(&r->doc->boxes.p[x->call_box], out);
    if (x->shape != PDL_SHAPE_note) put_start(r, b, out);
    if (x->shape == PDL_SHAPE_failure) pdl_put_failure(r, s, x->box, out);
    if (x->shape == PDL_SHAPE_loop) put_heights(r, i, out);
    pdl_put_origins(r, i, out);
    if (fills_lines(r, x)) pdl_json_put_bool(out, "alone", true);
    if (b->state == PDL_BOX_RUNNING) put_running(out);
    if (x->number) pdl_json_put_int(out, "number", x->number);
    if (x->end > i + 1) pdl_json_put_int(out, "inside", x->end - i - 1);
    if (x->unused) pdl_json_put_bool(out, "unused", true);
    pdl_buf_putc(out, '}');
    pdl_buf_fini(&title);
}

/* A range of n items from the number `from` on. */
typedef struct {
    uint32_t from, n;
} page;

/* Appends a page of the items from i up to `end`, without the items inside them. */
static void put_range(const pdl_reading *r, const pdl_view_source *s, uint32_t i, uint32_t end,
                      page p, pdl_buf *out) {
    uint32_t at = 0;
    pdl_json_open(out, '{');
    pdl_json_put_key(out, "items");
    pdl_json_open(out, '[');
    for (; i < end; i = r->items.p[i].end, at++)
        if (at >= p.from && at - p.from < p.n) put_item(r, s, i, out);
    pdl_buf_putc(out, ']');
    pdl_json_put_int(out, "total", at);
    pdl_buf_putc(out, '}');
}

void pdl_reading_json_items(const pdl_reading *r, const pdl_view_source *s, uint32_t from,
                            uint32_t n, pdl_buf *out) {
    put_range(r, s, 0, (uint32_t)r->items.n, (page){from, n}, out);
}

void pdl_reading_json_inside(const pdl_reading *r, const pdl_view_source *s, uint32_t i,
                             uint32_t from, uint32_t n, pdl_buf *out) {
    put_range(r, s, i + 1, r->items.p[i].end, (page){from, n}, out);
}

static void put_flat(const pdl_reading *r, const pdl_view_source *s, uint32_t from, pdl_buf *out) {
    pdl_json_open(out, '[');
    for (uint32_t i = from; i < r->items.n; i++) put_item(r, s, i, out);
    pdl_buf_putc(out, ']');
}

void pdl_reading_json_all(const pdl_reading *r, const pdl_view_source *s, pdl_buf *out) {
    put_flat(r, s, 0, out);
}

void pdl_reading_json_newest(const pdl_reading *r, const pdl_view_source *s, uint32_t most,
                             bool late, pdl_buf *out) {
    uint32_t from = 0, skipped = 0;
    uint32_t n = (uint32_t)r->items.n;
    for (; from < n && n - from > most && r->items.p[from].end < n; skipped++)
        from = r->items.p[from].end;
    pdl_json_open(out, '{');
    pdl_json_put_key(out, "items");
    put_flat(r, s, from, out);
    pdl_json_put_int(out, "from", from);
    pdl_json_put_int(out, "skipped", skipped);
    pdl_json_put_bool(out, "late", late);
    if (r->digests[0].start)
        pdl_json_put_int(out, "now", (pdl_clock_wall_ns() - r->digests[0].start) / NANOS_PER_MICRO);
    pdl_doc_json_totals(r->doc, out);
    pdl_reading_json_head(r, s, out);
    pdl_buf_putc(out, '}');
}

void pdl_reading_json_head(const pdl_reading *r, const pdl_view_source *s, pdl_buf *out) {
    pdl_buf title = PDL_BUF, facts = PDL_BUF;
    pdl_reading_title(r, s, &title);
    pdl_reading_facts(r, s, PDL_STR("\n"), &facts);
    pdl_json_put_text(out, "title", pdl_utf8_cut(pdl_buf_str(&title), 400));
    pdl_json_put_text(out, "ended", pdl_str_of(pdl_reading_state(r)));
    pdl_json_put_text(out, "facts", pdl_buf_str(&facts));
    if (r->digests[0].runs) pdl_json_put_bool(out, "many", true);
    pdl_buf_fini(&title);
    pdl_buf_fini(&facts);
}

/* --- calls ------------------------------------------------------------------------------------ */

/* Returns true when the messages of this call begin with its context. */
static bool begins_with_context(const pdl_doc *d, uint32_t box) {
    uint32_t at = box;
    pdl_str member = PDL_STR("pdl__model_input");
    pdl_vref v = pdl_box_get(&d->boxes.p[box], "pdl__model_input");
    return pdl_doc_continues(d, &at, &member, v) && at == box && pdl_str_is(member, "pdl__context");
}

/* Returns the number of the earlier call whose messages are the first messages of this call, and
 * sets *n_same to the number of these messages. Returns 0 when no earlier call has them. */
static uint32_t same_as(const pdl_reading *r, uint32_t box, size_t n_messages, size_t *n_same) {
    /* the messages may continue the context of this call, which continues a list of the earlier
     * call */
    enum { STEPS = 2 };
    uint32_t at = box;
    pdl_str member = PDL_STR("pdl__model_input");
    size_t more = 0;
    for (size_t i = 0; i < STEPS && at == box; i++) {
        pdl_vref v = pdl_dict_gets(r->doc->boxes.p[at].block, member);
        if (!pdl_doc_continues(r->doc, &at, &member, v)) return 0;
        pdl_vref rest = pdl_dict_getz(v, "pdl__more");
        more += pdl_is_list(rest) ? pdl_list_len(rest) : 0;
    }
    if (at == box || more > n_messages) return 0;
    if (pdl_str_is(member, "pdl__context") && !begins_with_context(r->doc, at)) return 0;
    *n_same = n_messages - more;
    return r->calls[at];
}

static void put_message(pdl_vref m, pdl_buf *out) {
    pdl_vref role = pdl_is_dict(m) ? pdl_dict_getz(m, "role") : pdl_absent(),
             content = pdl_is_dict(m) ? pdl_dict_getz(m, "content") : m,
             calls = pdl_is_dict(m) ? pdl_dict_getz(m, "tool_calls") : pdl_absent();
    pdl_buf text = PDL_BUF, shown = PDL_BUF;
    pdl_err ignored = {0};
    bool says_nothing = pdl_is_null(content) || pdl_text_is(content, "");
    if (says_nothing && pdl_is_list(calls)) content = calls;
    if (!pdl_stringify(content, &text, &ignored)) pdl_err_fini(&ignored);
    pdl_put_unescaped(pdl_buf_str(&text), &shown);
    pdl_json_open(out, '{');
    pdl_json_put_text(out, "role", pdl_is_str(role) ? pdl_str_get(role) : PDL_STR("message"));
    pdl_json_put_text(out, "text", pdl_buf_str(&shown));
    pdl_buf_putc(out, '}');
    pdl_buf_fini(&text);
    pdl_buf_fini(&shown);
}

/* is_short: messages that an earlier call had are left out. */
static void put_messages(const pdl_reading *r, uint32_t box, bool is_short, pdl_buf *out) {
    pdl_str member = PDL_STR("pdl__model_input");
    pdl_val sent = pdl_doc_messages(r->doc, box, member,
                                    pdl_box_get(&r->doc->boxes.p[box], "pdl__model_input"));
    size_t n = pdl_is_list(sent) ? pdl_list_len(sent) : 0, n_same = 0;
    pdl_json_put_key(out, "messages");
    pdl_json_open(out, '[');
    uint32_t other = same_as(r, box, n, &n_same);
    size_t first = is_short && other ? n_same : 0;
    for (size_t i = first; i < n; i++) put_message(pdl_list_at(sent, i), out);
    pdl_buf_putc(out, ']');
    if (other && n_same) {
        pdl_json_put_int(out, "same_call", other);
        pdl_json_put_int(out, "same", (int64_t)n_same);
    }
    pdl_drop(sent);
}

/* Appends the times of a call: "took" (the time on the network), "waited", and "first" (the time
 * until the first token). */
static void put_call_times(const pdl_reading *r, uint32_t box, pdl_buf *out) {
    const pdl_box *b = &r->doc->boxes.p[box];
    int64_t took = pdl_call_network(r, box), waited = pdl_doc_waited(r->doc, box);
    pdl_vref timing = pdl_box_get(b, "pdl__timing");
    pdl_vref first =
        pdl_is_dict(timing) ? pdl_dict_getz(timing, "first_token_nanos") : pdl_absent();
    if (took > 0) pdl_json_put_int(out, "took", took / NANOS_PER_MICRO);
    if (waited) pdl_json_put_int(out, "waited", waited / NANOS_PER_MICRO);
    if (pdl_is(first, PDL_V_INT) && pdl_int_of(first) > b->start + waited &&
        pdl_int_of(first) <= b->end)
        pdl_json_put_int(out, "first", (pdl_int_of(first) - b->start - waited) / NANOS_PER_MICRO);
}

/* Appends the reasons why attempts failed: "tries": [text]. */
static void put_tries(pdl_vref attempts, pdl_buf *out) {
    enum { MAX_BARS = 20, MAX_BYTES = 500 };
    size_t n = 0;
    pdl_json_put_key(out, "tries");
    pdl_json_open(out, '[');
    for (size_t i = 0; i < pdl_list_len(attempts) && i < MAX_BARS; i++) {
        pdl_vref one = pdl_list_at(attempts, i);
        pdl_vref why = pdl_is_dict(one) ? pdl_dict_getz(one, "message") : pdl_absent();
        if (!pdl_is_str(why)) continue;
        pdl_buf text = PDL_BUF;
        pdl_put_unescaped(pdl_utf8_cut(pdl_str_get(why), MAX_BYTES), &text);
        if (n++) pdl_buf_putc(out, ',');
        pdl_json_quote(pdl_buf_str(&text), 0, out);
        pdl_buf_fini(&text);
    }
    pdl_buf_putc(out, ']');
}

/* Appends "prefix": {...}: how much of its beginning the call shares with an earlier call, and
 * which value differs. The report numbers the calls in the order of the replay, which is nearly
 * always the order of the run. */
static void put_prefix(const pdl_reading *r, uint32_t number, pdl_str place, pdl_buf *out) {
    enum { NEAR = 64 };
    pdl_comparison *c = r->comparison;
    if (c->fn) c->report = c->fn(c->user);
    c->fn = NULL;
    pdl_vref calls = pdl_member(c->report, "calls");
    size_t n = pdl_is_list(calls) ? pdl_list_len(calls) : 0, i = number > NEAR ? number - NEAR : 0;
    for (; i < n && i < (size_t)number + NEAR; i++)
        if (pdl_str_eq(pdl_member_str(pdl_list_at(calls, i), "place"), place)) {
            pdl_json_put_value(out, "prefix", pdl_list_at(calls, i));
            return;
        }
}

void pdl_reading_json_call(const pdl_reading *r, const pdl_view_source *s, uint32_t number,
                           bool is_short, pdl_buf *out) {
    uint32_t box = r->by_number[number - 1];
    const pdl_box *b = &r->doc->boxes.p[box];
    pdl_vref model = value_of(b, "model"), parameters = value_of(b, "parameters");
    pdl_vref attempts = pdl_box_get(b, "pdl__attempts");
    pdl_buf reply = PDL_BUF, shown = PDL_BUF;
    pdl_box_print(r->doc, box, &reply);
    pdl_put_unescaped(pdl_buf_str(&reply), &shown);
    pdl_json_open(out, '{');
    pdl_json_put_int(out, "call", number);
    pdl_json_put_int(out, "box", box);
    if (pdl_is_str(model)) pdl_json_put_text(out, "model", pdl_str_get(model));
    put_messages(r, box, is_short, out);
    pdl_json_put_text(out, "reply", pdl_buf_str(&shown));
    if (b->state == PDL_BOX_RUNNING)
        put_running(out);
    else if (b->state != PDL_BOX_DONE)
        pdl_json_put_bool(out, "failed", true);
    put_call_times(r, box, out);
    pdl_put_usage(b, out);
    if (pdl_is_dict(parameters)) pdl_json_put_value(out, "settings", parameters);
    if (pdl_is_list(attempts)) pdl_json_put_int(out, "attempts", (int64_t)pdl_list_len(attempts));
    if (pdl_is_list(attempts)) put_tries(attempts, out);
    if (b->place.n) put_prefix(r, number, b->place, out);
    if (!r->digests[0].runs) put_source(s, box, out);
    pdl_buf_putc(out, '}');
    pdl_buf_fini(&reply);
    pdl_buf_fini(&shown);
}
