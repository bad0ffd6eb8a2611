/* markdown.c -- writes a document as Markdown, for tickets, mail and reviews. The text of the run
 * is in fenced blocks, so that nothing in it is read as Markdown. Everything else is in headings
 * and lists. A fence is longer than any fence in the text inside it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "value/json_write.h"
#include "value/text.h"
#include "viewer/box_json.h"
#include "viewer/reading/reading.h"

#include "base/banned.h"

enum {
    SHORT_TEXT = 240, /* maximum length of a text in a list, in bytes */
    /* number of rounds that are shown at the beginning, and at the end, of a long loop */
    SHOWN_ROUNDS = 3,
    FIRST_LINES = 20, /* number of rounds that are shown at the beginning of a loop that prints */
    LAST_LINES = 3,
    DEEPEST_LIST = 8, /* lists that are nested deeper than this are not indented further */
};

typedef struct paper {
    const pdl_reading *r;
    const pdl_view_source *source;
    pdl_buf *out;
    bool all;
    bool in_list;
    bool apart; /* the document already has the heading for works that no piece has used */
} paper;

/* --- text in Markdown ------------------------------------------------------------------------- */

/* Appends text inside a line: escapes characters with a meaning in Markdown, and replaces line ends
 * by spaces. */
static void put_inline(pdl_str s, pdl_buf *out) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '\n' || c == '\t') c = ' ';
        if (pdl_byte_in(c, PDL_STR("\\`*_[]<>#|~&"))) pdl_buf_putc(out, '\\');
        pdl_buf_putc(out, c);
    }
}

/* Appends the beginning of a text inside a line. */
static void put_short(const paper *p, pdl_str s) {
    pdl_str text = pdl_str_trim(s);
    pdl_str cut = p->all ? text : pdl_utf8_cut(text, SHORT_TEXT);
    put_inline(cut, p->out);
    if (cut.n < text.n) PDL_PUT(p->out, " …");
}

static void put_indent(pdl_buf *out, uint32_t depth) {
    for (uint32_t i = 0; i < depth; i++) PDL_PUT(out, "  ");
}

/* Returns a length for a fence that no line of the text can close. */
static size_t fence_of(pdl_str s) {
    size_t most = 2, n = 0;
    for (size_t i = 0; i < s.n; i++) {
        n = s.p[i] == '`' ? n + 1 : 0;
        if (n > most) most = n;
    }
    return most + 1;
}

static void put_fence(pdl_buf *out, size_t n, uint32_t depth) {
    put_indent(out, depth);
    for (size_t i = 0; i < n; i++) pdl_buf_putc(out, '`');
}

static void put_fenced(pdl_str s, const char *kind, uint32_t depth, pdl_buf *out) {
    size_t n = fence_of(s);
    put_fence(out, n, depth);
    pdl_buf_put(out, pdl_str_of(kind));
    pdl_buf_putc(out, '\n');
    while (s.n) {
        size_t end = pdl_str_find(s, PDL_STR("\n"), 0);
        put_indent(out, depth);
        pdl_buf_put(out, pdl_str_sub(s, 0, end));
        pdl_buf_putc(out, '\n');
        s = end == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_sub(s, end + 1, s.n);
    }
    put_fence(out, n, depth);
    pdl_buf_putc(out, '\n');
}

/* --- calls ------------------------------------------------------------------------------------ */

static pdl_str role_of(pdl_vref message) {
    pdl_vref role = pdl_is_dict(message) ? pdl_dict_getz(message, "role") : pdl_absent();
    return pdl_is_str(role) ? pdl_str_get(role) : PDL_STR("message");
}

static void put_message(const paper *p, pdl_vref message, uint32_t depth) {
    pdl_vref content = pdl_is_dict(message) ? pdl_dict_getz(message, "content") : message;
    pdl_vref calls = pdl_is_dict(message) ? pdl_dict_getz(message, "tool_calls") : pdl_absent();
    bool says_nothing = pdl_is_null(content) || pdl_text_is(content, "");
    if (says_nothing && pdl_is_list(calls)) content = calls;
    pdl_buf text = PDL_BUF, shown = PDL_BUF;
    pdl_err ignored = {0};
    if (!pdl_stringify(content, &text, &ignored)) pdl_err_fini(&ignored);
    pdl_put_unescaped(pdl_buf_str(&text), &shown);
    put_indent(p->out, depth);
    put_inline(role_of(message), p->out);
    PDL_PUT(p->out, ":\n\n");
    put_fenced(pdl_buf_str(&shown), "text", depth, p->out);
    pdl_buf_putc(p->out, '\n');
    pdl_buf_fini(&text);
    pdl_buf_fini(&shown);
}

static void put_call_facts(const paper *p, uint32_t box) {
    const pdl_box *b = &p->r->doc->boxes.p[box];
    pdl_vref usage = pdl_box_get(b, "pdl__usage"), model = pdl_box_get(b, "model");
    if (pdl_is_dict(model)) model = pdl_dict_getz(model, "pdl__result");
    if (pdl_is_str(model)) {
        PDL_PUT(p->out, ", ");
        put_inline(pdl_str_get(model), p->out);
    }
    if (b->start && b->end - b->start >= 1000000) {
        PDL_PUT(p->out, ", ");
        pdl_put_time(b->end - b->start, p->out);
    }
    if (!pdl_usage_tokens(usage)) return;
    PDL_PUT(p->out, ", ");
    pdl_put_number((uint64_t)pdl_usage_count(usage, "prompt_tokens"), p->out);
    PDL_PUT(p->out, " tokens in, ");
    pdl_put_number((uint64_t)pdl_usage_count(usage, "completion_tokens"), p->out);
    PDL_PUT(p->out, " out");
}

/* Writes the messages that were sent to the model. */
static void put_sent(const paper *p, uint32_t box, uint32_t depth) {
    const pdl_box *b = &p->r->doc->boxes.p[box];
    pdl_val sent = pdl_doc_messages(p->r->doc, box, PDL_STR("pdl__model_input"),
                                    pdl_box_get(b, "pdl__model_input"));
    pdl_buf_putc(p->out, '\n');
    put_indent(p->out, depth);
    pdl_buf_putf(p->out, "Call %u", p->r->calls[box]);
    put_call_facts(p, box);
    PDL_PUT(p->out, "; sent:\n\n");
    for (size_t i = 0; pdl_is_list(sent) && i < pdl_list_len(sent); i++)
        put_message(p, pdl_list_at(sent, i), depth);
    pdl_drop(sent);
}

/* --- parts of lines --------------------------------------------------------------------------- */

static void put_title(const paper *p, uint32_t i) {
    pdl_buf title = PDL_BUF;
    pdl_item_title(p->r, i, &title);
    put_short(p, pdl_buf_str(&title));
    pdl_buf_fini(&title);
}

static void put_took(const paper *p, uint32_t box) {
    const pdl_digest *g = &p->r->digests[box];
    if (!g->start || g->end - g->start < 1000000) return;
    PDL_PUT(p->out, " (");
    pdl_put_time(g->end - g->start, p->out);
    PDL_PUT(p->out, ")");
}

/* Writes the number of the call that made the item. */
static void put_number(const paper *p, uint32_t i) {
    uint32_t n = p->r->calls[p->r->items.p[i].call_box];
    if (n) pdl_buf_putf(p->out, "%u: ", n);
}

/* Writes the empty line that ends a list. */
static void end_list(paper *p) {
    if (p->in_list) pdl_buf_putc(p->out, '\n');
    p->in_list = false;
}

/* --- pieces ----------------------------------------------------------------------------------- */

static void put_calls_between(const paper *p, uint32_t from, uint32_t to, uint32_t depth) {
    for (uint32_t k = from; p->all && k < to; k++) {
        const pdl_item *x = &p->r->items.p[k];
        if (x->shape == PDL_SHAPE_piece && p->r->calls[x->box]) put_sent(p, x->box, depth);
    }
}

/* Writes the text of the pieces among these items as one block. */
static void put_text_of(paper *p, uint32_t from, uint32_t to, uint32_t depth) {
    pdl_buf text = PDL_BUF;
    for (uint32_t i = from; i < to; i++)
        if (p->r->items.p[i].shape == PDL_SHAPE_piece) pdl_item_text(p->r, i, &text);
    if (!depth) end_list(p);
    put_fenced(pdl_buf_str(&text), "text", depth, p->out);
    pdl_buf_putc(p->out, '\n');
    put_calls_between(p, from, to, depth);
    pdl_buf_fini(&text);
}

/* Returns true for a loop that only prints. Its text is shown instead of its rounds. */
static bool is_text_alone(const pdl_reading *r, uint32_t loop) {
    const pdl_item *x = &r->items.p[loop];
    if (x->shape != PDL_SHAPE_loop) return false;
    for (uint32_t i = loop + 1; i < x->end; i++) {
        pdl_shape shape = r->items.p[i].shape;
        if (shape != PDL_SHAPE_turn && shape != PDL_SHAPE_loop && shape != PDL_SHAPE_piece)
            return false;
    }
    return true;
}

/* Returns the item of this round; the end of the loop when the round has no item. */
static uint32_t round_of(const pdl_reading *r, uint32_t loop, uint32_t number) {
    uint32_t i = loop + 1, end = r->items.p[loop].end;
    while (i < end && r->items.p[i].number < number) i = r->items.p[i].end;
    return i;
}

static uint32_t put_text_loop(paper *p, uint32_t i, uint32_t depth) {
    const pdl_item *x = &p->r->items.p[i];
    uint32_t first = round_of(p->r, i, FIRST_LINES + 1),
             last = x->number > LAST_LINES ? round_of(p->r, i, x->number - LAST_LINES + 1) : i;
    if (p->all || first >= last) {
        put_text_of(p, i, x->end, depth);
        return x->end;
    }
    put_text_of(p, i, first, depth);
    put_indent(p->out, depth);
    pdl_buf_putf(p->out, "%u iterations, %d to %u\n\n", x->number - FIRST_LINES - LAST_LINES,
                 FIRST_LINES + 1, x->number - LAST_LINES);
    put_text_of(p, last, x->end, depth);
    return x->end;
}

/* Writes the pieces from number i on, up to the next item that is not a piece. Returns the number
 * of that item. */
static uint32_t put_pieces(paper *p, uint32_t i, uint32_t depth) {
    uint32_t end = i;
    while (end < p->r->items.n && p->r->items.p[end].shape == PDL_SHAPE_piece &&
           p->r->items.p[end].depth == p->r->items.p[i].depth)
        end++;
    put_text_of(p, i, end, depth);
    return end;
}

/* --- items ------------------------------------------------------------------------------------ */

/* Writes the text after an item. Returns false when there is none. */
static bool put_text_after(const paper *p, uint32_t i, const char *before) {
    pdl_buf text = PDL_BUF;
    pdl_item_text(p->r, i, &text);
    bool has_text = pdl_str_trim(pdl_buf_str(&text)).n > 0;
    if (has_text) {
        pdl_buf_put(p->out, pdl_str_of(before));
        put_short(p, pdl_buf_str(&text));
    }
    pdl_buf_fini(&text);
    return has_text;
}

static void put_place(const paper *p, uint32_t i) {
    pdl_buf place = PDL_BUF;
    pdl_item_place(p->r, p->source, i, &place);
    if (place.len) {
        PDL_PUT(p->out, " (");
        put_inline(pdl_buf_str(&place), p->out);
        PDL_PUT(p->out, ")");
    }
    pdl_buf_fini(&place);
}

/* Writes the reason why an attempt failed, and the text that it had made. */
static void put_attempt(const paper *p, uint32_t i) {
    pdl_buf gone = PDL_BUF;
    PDL_PUT(p->out, "**");
    put_title(p, i);
    PDL_PUT(p->out, "**");
    put_place(p, i);
    (void)put_text_after(p, i, ": ");
    pdl_item_gone(p->r, i, &gone);
    if (gone.len) PDL_PUT(p->out, "; not part of the document: ");
    put_short(p, pdl_buf_str(&gone));
    pdl_buf_fini(&gone);
}

/* Writes the content of an item on one line. */
static void put_saying(const paper *p, uint32_t i) {
    const pdl_item *x = &p->r->items.p[i];
    put_number(p, i);
    size_t start = p->out->len;
    switch (x->shape) {
    case PDL_SHAPE_step:
        if (x->maker != PDL_MADE_BY_model) put_title(p, i);
        if (p->out->len > start) PDL_PUT(p->out, ": ");
        if (!put_text_after(p, i, "")) pdl_buf_put(p->out, pdl_str_of(pdl_item_no_text(p->r, i)));
        return;
    case PDL_SHAPE_tool:
        put_title(p, i);
        (void)put_text_after(p, i, " → ");
        put_took(p, x->box);
        return;
    case PDL_SHAPE_failure:
        PDL_PUT(p->out, "**");
        put_title(p, i);
        PDL_PUT(p->out, "**");
        put_place(p, i);
        (void)put_text_after(p, i, ": ");
        return;
    case PDL_SHAPE_attempt: put_attempt(p, i); return;
    case PDL_SHAPE_typed:
    case PDL_SHAPE_shown:
    case PDL_SHAPE_approval:
        PDL_PUT(p->out, "**");
        put_title(p, i);
        PDL_PUT(p->out, "**");
        (void)put_text_after(p, i, ": ");
        return;
    case PDL_SHAPE_piece:
    case PDL_SHAPE_quiet:
    case PDL_SHAPE_setup:
    case PDL_SHAPE_work:
    case PDL_SHAPE_turn:
    case PDL_SHAPE_loop:
    case PDL_SHAPE_map:
    case PDL_SHAPE_row:
    case PDL_SHAPE_question:
    case PDL_SHAPE_note:
    case PDL_SHAPE_COUNT:
        put_title(p, i);
        if (x->shape == PDL_SHAPE_note || (x->shape == PDL_SHAPE_quiet && p->all))
            (void)put_text_after(p, i, x->shape == PDL_SHAPE_note ? "> " : ": ");
        if (x->shape == PDL_SHAPE_row && x->end == i + 1) (void)put_text_after(p, i, ": ");
    }
}

/* Writes an item: as a paragraph when it is in no work, and as a line of a list when it
 * is in one. */
static void put_line(paper *p, uint32_t i, uint32_t depth, bool in_list) {
    const pdl_item *x = &p->r->items.p[i];
    if (in_list) {
        put_indent(p->out, depth);
        PDL_PUT(p->out, "- ");
        p->in_list = true;
    } else {
        end_list(p);
    }
    put_saying(p, i);
    pdl_buf_put(p->out, in_list ? PDL_STR("\n") : PDL_STR("\n\n"));
    bool called = x->shape == PDL_SHAPE_step || x->shape == PDL_SHAPE_tool;
    if (p->all && called && p->r->calls[x->call_box]) put_sent(p, x->call_box, depth + 1);
}

static void put_heading(paper *p, uint32_t i) {
    const pdl_item *x = &p->r->items.p[i];
    end_list(p);
    if (x->unused && !p->apart) PDL_PUT(p->out, "## Also ran\n\n");
    p->apart = p->apart || x->unused;
    pdl_buf_put(p->out, x->unused ? PDL_STR("### ") : PDL_STR("## "));
    put_title(p, i);
    PDL_PUT(p->out, "\n\n");
    pdl_buf task = PDL_BUF;
    pdl_item_task(p->r, i, &task);
    if (task.len) {
        PDL_PUT(p->out, "Task: ");
        put_short(p, pdl_buf_str(&task));
        PDL_PUT(p->out, "\n\n");
    }
    pdl_buf_fini(&task);
}

/* Returns how many nested lists contain an item, at most DEEPEST_LIST. Headings do not count as
 * lists. */
static uint32_t list_depth(const pdl_reading *r, uint32_t i) {
    uint32_t depth = 0;
    while (r->items.p[i].depth) {
        i = r->items.p[i].parent;
        depth += r->items.p[i].shape != PDL_SHAPE_work;
    }
    return depth < DEEPEST_LIST ? depth : DEEPEST_LIST;
}

/* Leaves out rounds in the middle of a long loop or map. Returns the item that follows. */
static uint32_t skip_rounds(const paper *p, uint32_t i, uint32_t depth) {
    const pdl_item *x = &p->r->items.p[i], *up = &p->r->items.p[x->parent];
    bool is_round = x->depth && (x->shape == PDL_SHAPE_turn || x->shape == PDL_SHAPE_row) &&
                    (up->shape == PDL_SHAPE_loop || up->shape == PDL_SHAPE_map);
    if (!is_round || p->all || x->number <= SHOWN_ROUNDS || x->number + SHOWN_ROUNDS > up->number)
        return i;
    uint32_t first = x->number, last = first;
    for (; i < up->end && p->r->items.p[i].number + SHOWN_ROUNDS <= up->number;
         i = p->r->items.p[i].end)
        last = p->r->items.p[i].number;
    put_indent(p->out, depth);
    pdl_buf_putf(p->out, "- %u %s, %u to %u\n", last - first + 1,
                 up->shape == PDL_SHAPE_map ? "rows" : "iterations", first, last);
    return i;
}

static uint32_t put_item(paper *p, uint32_t i) {
    const pdl_item *x = &p->r->items.p[i];
    uint32_t depth = list_depth(p->r, i), after = skip_rounds(p, i, depth);
    if (after != i) return after;
    if (x->shape == PDL_SHAPE_piece) return put_pieces(p, i, depth);
    if (is_text_alone(p->r, i)) return put_text_loop(p, i, depth);
    bool is_heading = x->shape == PDL_SHAPE_work && !depth;
    if (is_heading)
        put_heading(p, i);
    else
        put_line(p, i, depth, x->depth > 0 || x->end > i + 1);
    return x->shape == PDL_SHAPE_setup && !p->all ? x->end : i + 1;
}

void pdl_reading_markdown(const pdl_reading *r, const pdl_view_source *s, bool all, pdl_buf *out) {
    paper p = {.r = r, .source = s, .out = out, .all = all};
    pdl_buf title = PDL_BUF, facts = PDL_BUF;
    pdl_reading_title(r, s, &title);
    pdl_reading_facts(r, s, PDL_STR(" · "), &facts);
    PDL_PUT(out, "# ");
    put_inline(pdl_buf_str(&title), out);
    PDL_PUT(out, "\n\n");
    put_inline(pdl_buf_str(&facts), out);
    PDL_PUT(out, "\n\n");
    for (uint32_t i = 0; i < r->items.n;) i = put_item(&p, i);
    pdl_buf_fini(&title);
    pdl_buf_fini(&facts);
}
