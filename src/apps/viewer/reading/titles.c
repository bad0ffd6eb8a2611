/* titles.c -- writes the words around the text of a run: titles, times, counts. The titles use
 * words that a person would use. They contain no names of fields, no ids of blocks, and no kinds
 * that a reader would not understand. A time that is too short to matter is left out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "value/member.h"
#include "value/text.h"
#include "viewer/box_json.h"
#include "viewer/reading/failed.h"
#include "viewer/reading/failed_attempts.h"
#include "viewer/reading/policy_answers.h"
#include "viewer/reading/printing.h"
#include "viewer/reading/reading.h"

#include "base/banned.h"

enum { LONGEST_TITLE = 72 };

static const pdl_box *box_of(const pdl_reading *r, uint32_t i) {
    return &r->doc->boxes.p[r->items.p[i].box];
}
static const pdl_digest *digest_of(const pdl_reading *r, uint32_t i) {
    return &r->digests[r->items.p[i].box];
}

/* --- numbers ---------------------------------------------------------------------------------- */

static void put_decimal(int64_t units, unsigned digits, pdl_buf *out) {
    int64_t one = digits == 2 ? 100 : 10;
    pdl_buf_putf(out, "%lld.%0*lld s", (long long)(units / one), (int)digits,
                 (long long)(units % one));
}

/* The function took() of page/dom.js writes times in the same way. */
void pdl_put_time(int64_t nanos, pdl_buf *out) {
    int64_t micros = nanos / 1000, seconds = (micros + 500000) / 1000000;
    if (micros < 1000) return;
    if (micros < 100000)
        pdl_buf_putf(out, "%lld ms", (long long)((micros + 500) / 1000));
    else if (micros < 10000000)
        put_decimal((micros + 5000) / 10000, 2, out);
    else if (micros < 120000000)
        put_decimal((micros + 50000) / 100000, 1, out);
    else
        pdl_buf_putf(out, "%lld min %lld s", (long long)(seconds / 60), (long long)(seconds % 60));
}

void pdl_put_number(uint64_t n, pdl_buf *out) {
    uint64_t unit = 1;
    while (n / unit >= 1000) unit *= 1000;
    pdl_buf_putf(out, "%u", (unsigned)(n / unit));
    while (unit > 1) {
        n %= unit;
        unit /= 1000;
        pdl_buf_putf(out, ",%03u", (unsigned)(n / unit));
    }
}

static void put_count(uint64_t n, const char *one, const char *many, pdl_buf *out) {
    pdl_put_number(n, out);
    pdl_buf_putf(out, " %s", n == 1 ? one : many);
}

/* Appends a separator, unless nothing was appended since `start`. */
static void put_between(size_t start, pdl_str between, pdl_buf *out) {
    if (out->len > start) pdl_buf_put(out, between);
}

static void put_took(const pdl_digest *g, pdl_str before, pdl_buf *out) {
    pdl_buf time = PDL_BUF;
    if (g->start && g->end > g->start) pdl_put_time(g->end - g->start, &time);
    if (time.len) {
        pdl_buf_put(out, before);
        pdl_buf_put(out, pdl_buf_str(&time));
    }
    pdl_buf_fini(&time);
}

/* --- texts ------------------------------------------------------------------------------------ */

/* Returns the end of the escape sequence that begins at i. It is a command to a terminal, a title
 * or link (up to BEL or ESC \), or two characters. */
static size_t escape_end(pdl_str s, size_t i) {
    char kind = ++i < s.n ? s.p[i] : 0;
    if (kind == '[') {
        while (++i < s.n && !(s.p[i] >= '@' && s.p[i] <= '~')) continue;
        return i < s.n ? i + 1 : s.n;
    }
    if (kind != ']' && kind != 'P' && kind != '_' && kind != '^') return i < s.n ? i + 1 : s.n;
    while (++i < s.n && s.p[i] != '\a' && s.p[i] != '\033') continue;
    if (i + 1 < s.n && s.p[i] == '\033' && s.p[i + 1] == '\\') i++;
    return i < s.n ? i + 1 : s.n;
}

void pdl_put_unescaped(pdl_str s, pdl_buf *out) {
    size_t from = 0;
    for (size_t i = 0; i < s.n;) {
        bool escape = s.p[i] == '\033';
        bool control = (unsigned char)s.p[i] < ' ' && s.p[i] != '\n' && s.p[i] != '\t';
        if (!escape && !control) {
            i++;
            continue;
        }
        pdl_buf_put(out, pdl_str_sub(s, from, i));
        from = i = escape ? escape_end(s, i) : i + 1;
    }
    pdl_buf_put(out, pdl_str_sub(s, from, s.n));
}

static void put_value(pdl_vref v, pdl_buf *out) {
    pdl_buf text = PDL_BUF;
    pdl_err ignored = {0};
    if (pdl_is_absent(v)) return;
    if (!pdl_stringify(v, &text, &ignored)) pdl_err_fini(&ignored);
    pdl_put_unescaped(pdl_buf_str(&text), out);
    pdl_buf_fini(&text);
}

/* Appends the contents of the messages in a list, or in lists inside it. Returns false when v has
 * another form. The recursion ends at LISTS_IN_LISTS. */
static bool put_contents(pdl_vref v, unsigned depth, pdl_buf *out) {
    enum { LISTS_IN_LISTS = 4 };
    if (pdl_is_dict(v)) {
        pdl_vref content = pdl_dict_getz(v, "content");
        if (pdl_is_absent(content) || pdl_is_absent(pdl_dict_getz(v, "role"))) return false;
        if (out->len) pdl_buf_putc(out, '\n');
        put_value(content, out);
        return true;
    }
    if (!pdl_is_list(v) || depth > LISTS_IN_LISTS) return false;
    for (size_t i = 0; i < pdl_list_len(v); i++)
        if (!put_contents(pdl_list_at(v, i), depth + 1, out)) return false;
    return true;
}

/* Appends the contents of messages, one below the other. Any other value is appended in the form in
 * which it would be printed. */
static void put_messages(const pdl_reading *r, uint32_t box, pdl_buf *out) {
    pdl_vref v = pdl_box_get(&r->doc->boxes.p[box], "pdl__result");
    pdl_val list = pdl_doc_messages(r->doc, box, PDL_STR("pdl__result"), v);
    pdl_buf text = PDL_BUF;
    if (put_contents(pdl_is_absent(list) ? v : list, 0, &text))
        pdl_buf_put(out, pdl_buf_str(&text));
    else
        pdl_box_print(r->doc, box, out);
    pdl_buf_fini(&text);
    pdl_drop(list);
}

/* Appends the result of a tool. A tool server answers with an object that contains the text. */
static void put_answer(const pdl_reading *r, uint32_t box, pdl_buf *out) {
    pdl_vref v = pdl_box_get(&r->doc->boxes.p[box], "pdl__result");
    pdl_vref text = pdl_is_dict(v) && !pdl_is_absent(pdl_dict_getz(v, "is_error"))
                        ? pdl_dict_getz(v, "text")
                        : pdl_absent();
    if (pdl_is_str(text))
        pdl_buf_put(out, pdl_str_get(text));
    else if (pdl_box_is_run(&r->doc->boxes.p[box]))
        pdl_buf_put(out, pdl_member_str(r->doc->boxes.p[box].block, "said"));
    else
        pdl_box_print(r->doc, box, out);
}

/* Returns true for items that show their result as a text. Other items show the items
 * inside them. */
static bool has_result_as_text(pdl_shape s) {
    return s != PDL_SHAPE_work && s != PDL_SHAPE_setup && s != PDL_SHAPE_loop &&
           s != PDL_SHAPE_map && s != PDL_SHAPE_turn;
}

void pdl_item_text(const pdl_reading *r, uint32_t i, pdl_buf *out) {
    const pdl_item *x = &r->items.p[i];
    const pdl_box *b = box_of(r, i);
    pdl_buf text = PDL_BUF;
    if (x->shape == PDL_SHAPE_piece)
        pdl_buf_put(&text, pdl_str_sub(pdl_buf_str(&r->text), x->from, x->to));
    else if (x->shape == PDL_SHAPE_note)
        pdl_buf_put(&text, pdl_str_of(r->doc->notice));
    else if ((x->shape == PDL_SHAPE_failure || x->shape == PDL_SHAPE_attempt) &&
             pdl_is_str(pdl_box_get(b, "msg")))
        pdl_put_failure_text(b, &text);
    else if (x->shape == PDL_SHAPE_quiet)
        put_messages(r, x->box, &text);
    else if (x->shape == PDL_SHAPE_tool)
        put_answer(r, x->box, &text);
    else if (x->shape == PDL_SHAPE_approval)
        pdl_put_approval_text(b, &text);
    else if (x->shape == PDL_SHAPE_shown)
        pdl_box_put_shown(r->doc, x->box, &text);
    else if (has_result_as_text(x->shape))
        pdl_box_print(r->doc, x->box, &text);
    pdl_put_unescaped(pdl_buf_str(&text), out);
    pdl_buf_fini(&text);
}

void pdl_item_gone(const pdl_reading *r, uint32_t i, pdl_buf *out) {
    const pdl_item *x = &r->items.p[i];
    pdl_buf made = PDL_BUF, gone = PDL_BUF;
    pdl_attempt_put_text(r->doc, x->box, &made);
    pdl_put_unescaped(pdl_buf_str(&made), &gone);
    bool again = !pdl_str_trim(pdl_buf_str(&gone)).n;
    for (uint32_t k = i + 1; !again && k < x->end; k = r->items.p[k].end) {
        pdl_buf_clear(&made);
        pdl_item_text(r, k, &made);
        again = pdl_str_eq(pdl_str_trim(pdl_buf_str(&made)), pdl_str_trim(pdl_buf_str(&gone)));
    }
    if (!again) pdl_buf_put(out, pdl_buf_str(&gone));
    pdl_buf_fini(&made);
    pdl_buf_fini(&gone);
}

static size_t count_words(pdl_str s) {
    size_t n = 0;
    bool in_word = false;
    for (size_t i = 0; i < s.n; i++) {
        bool blank = strchr(" \t\n\r", s.p[i]) != NULL;
        n += !blank && !in_word;
        in_word = !blank;
    }
    return n;
}

/* --- titles of items -------------------------------------------------------------------------- */

/* Returns how many turns the work has, including the turns inside a long loop. */
static uint32_t count_turns(const pdl_reading *r, uint32_t i) {
    const pdl_item *x = &r->items.p[i];
    uint32_t n = 0, k = i + 1;
    while (k < x->end) {
        pdl_shape shape = r->items.p[k].shape;
        n += shape == PDL_SHAPE_turn;
        k = shape == PDL_SHAPE_loop ? k + 1 : r->items.p[k].end;
    }
    return n;
}

/* Appends what the work is made of when it called nothing outside, such as "a map of 6 rows". */
static void put_loops(const pdl_reading *r, uint32_t i, pdl_buf *out) {
    enum { MAX_LOOPS = 3 };
    size_t start = out->len, n = 0;
    for (uint32_t k = i + 1; k < r->items.p[i].end; k = r->items.p[k].end) {
        bool is_map = r->items.p[k].shape == PDL_SHAPE_map;
        if (!is_map && r->items.p[k].shape != PDL_SHAPE_loop) continue;
        if (n++ >= MAX_LOOPS) continue;
        put_between(start, PDL_STR(", "), out);
        pdl_buf_put(out, is_map ? PDL_STR("a map of ") : PDL_STR("a loop of "));
        put_count(r->items.p[k].number, is_map ? "row" : "iteration",
                  is_map ? "rows" : "iterations", out);
    }
    if (n > MAX_LOOPS) PDL_PUT(out, " and more");
}

static void put_how(const pdl_reading *r, uint32_t i, pdl_buf *out) {
    const pdl_digest *g = digest_of(r, i);
    const pdl_box *b = box_of(r, i);
    size_t start = out->len;
    uint32_t turns = g->asked ? count_turns(r, i) : 0;
    pdl_str comma = PDL_STR(", ");
    if (turns && g->tools) PDL_PUT(out, "an agent");
    if (turns) {
        put_between(start, comma, out);
        put_count(turns, "turn", "turns", out);
    }
    if (!turns && g->models) put_count(g->models, "model call", "model calls", out);
    if (!turns && g->tools) {
        put_between(start, comma, out);
        put_count(g->tools, "tool call", "tool calls", out);
    }
    if (g->runs) {
        put_between(start, comma, out);
        put_count(g->runs, "run", "runs", out);
    }
    if (!g->asked) put_loops(r, i, out);
    if (out->len == start) {
        bool asks = pdl_box_is_kind(b, "read") && !pdl_box_reads_file(b);
        pdl_buf_put(out, asks                    ? PDL_STR("a question")
                         : pdl_box_reads_file(b) ? PDL_STR("a file")
                                                 : PDL_STR("code"));
    }
    put_took(g, comma, out);
}

/* Returns the box of the first model call inside the item; the number of all boxes when there is
 * none. */
static uint32_t first_call(const pdl_reading *r, uint32_t i) {
    uint32_t first = 0;
    for (uint32_t k = i + 1; k < r->items.p[i].end; k++) {
        uint32_t call = r->calls[r->items.p[k].call_box];
        if (call && (!first || call < first)) first = call;
    }
    return first ? r->by_number[first - 1] : (uint32_t)r->doc->boxes.n;
}

void pdl_item_task(const pdl_reading *r, uint32_t i, pdl_buf *out) {
    enum { MAX_TASK = 400 };
    bool is_agent =
        r->items.p[i].shape == PDL_SHAPE_work && digest_of(r, i)->tools && count_turns(r, i);
    uint32_t box = is_agent ? first_call(r, i) : (uint32_t)r->doc->boxes.n;
    if (box >= r->doc->boxes.n) return;
    pdl_str member = PDL_STR("pdl__model_input");
    pdl_val sent = pdl_doc_messages(r->doc, box, member,
                                    pdl_box_get(&r->doc->boxes.p[box], "pdl__model_input"));
    pdl_str task = {0};
    for (size_t k = 0; pdl_is_list(sent) && k < pdl_list_len(sent); k++)
        if (pdl_str_is(pdl_member_str(pdl_list_at(sent, k), "role"), "user"))
            task = pdl_str_trim(pdl_member_str(pdl_list_at(sent, k), "content"));
    if (task.n <= MAX_TASK) pdl_put_unescaped(task, out);
    pdl_drop(sent);
}

/* Fills the set with the names of the tools that the run has called. */
static void find_tools(const pdl_reading *r, pdl_map *names) {
    for (size_t i = 0; r->digests[0].tools && i < r->doc->boxes.n; i++) {
        pdl_str name = pdl_box_tool(&r->doc->boxes.p[i]);
        if (name.n) pdl_map_put(names, name, names);
    }
}

/* Appends a comma and a count; appends nothing when the count is zero. */
static void put_more(uint64_t n, const char *one, const char *many, size_t start, pdl_buf *out) {
    if (!n) return;
    put_between(start, PDL_STR(", "), out);
    put_count(n, one, many, out);
}

static void put_setup(const pdl_reading *r, uint32_t i, pdl_buf *out) {
    const pdl_item *x = &r->items.p[i];
    uint64_t libraries = 0, inside = 0, functions = 0, tools = 0, others = 0;
    pdl_map called = {0};
    find_tools(r, &called);
    for (uint32_t k = i + 1; k < x->end; k++) {
        const pdl_box *b = box_of(r, k);
        libraries += pdl_box_is_kind(b, "import");
        inside += pdl_box_is_kind(b, "import") ? digest_of(r, k)->functions : 0;
        bool is_tool = pdl_map_find(&called, r->items.p[k].name) != NULL;
        functions += pdl_box_is_kind(b, "function") && !is_tool;
        tools += pdl_box_is_kind(b, "function") && is_tool;
        others += !pdl_box_is_kind(b, "import") && !pdl_box_is_kind(b, "function");
    }
    PDL_PUT(out, "Set-up: ");
    size_t start = out->len;
    if (libraries) put_count(libraries, "library", "libraries", out);
    if (inside) {
        PDL_PUT(out, " with ");
        put_count(inside, "function", "functions", out);
    }
    put_more(tools, "tool", "tools", start, out);
    put_more(functions, "function", "functions", start, out);
    put_more(others, "value", "values", start, out);
    pdl_map_fini(&called);
}

/* Appends a value. When the value contains functions, appends its size instead, because a trace has
 * all parts of a function. */
static void put_plain(pdl_vref v, pdl_buf *out) {
    pdl_buf text = PDL_BUF;
    put_value(v, &text);
    bool whole = pdl_str_find(pdl_buf_str(&text), PDL_STR("\"pdl__"), 0) == PDL_NOT_FOUND;
    if (whole)
        pdl_buf_put(out, pdl_buf_str(&text));
    else if (pdl_is_list(v))
        pdl_buf_putf(out, "a list of %zu", pdl_list_len(v));
    else
        PDL_PUT(out, "an object");
    pdl_buf_fini(&text);
}

/* Appends the name of a definition, and its value. */
static void put_definition(const pdl_reading *r, uint32_t i, pdl_buf *out) {
    const pdl_box *b = box_of(r, i);
    pdl_vref path = pdl_box_get(b, "import");
    pdl_put_unescaped(r->items.p[i].name, out);
    if (pdl_box_is_kind(b, "function")) {
        pdl_box_signature(b, out);
        return;
    }
    PDL_PUT(out, ": ");
    if (pdl_is_str(path)) {
        PDL_PUT(out, "library ");
        pdl_put_unescaped(pdl_str_get(path), out);
    } else {
        put_plain(pdl_box_get(b, "pdl__result"), out);
    }
}

static void put_arguments(const pdl_box *b, pdl_buf *out) {
    pdl_vref args = pdl_box_tool_arguments(b);
    size_t start = out->len;
    for (size_t i = 0; pdl_is_dict(args) && i < pdl_dict_len(args); i++) {
        pdl_vref key = pdl_dict_key_at(args, i);
        bool own = pdl_is_str(key) && pdl_str_starts(pdl_str_get(key), PDL_STR("pdl_"));
        if (!pdl_is_str(key) || own) continue;
        pdl_buf_put(out, out->len > start ? PDL_STR(", ") : PDL_STR(" "));
        pdl_put_unescaped(pdl_str_get(key), out);
        PDL_PUT(out, ": ");
        put_value(pdl_dict_val_at(args, i), out);
    }
}

/* Returns the role of a box. A block without a role has the role of the block around it. */
static pdl_vref role_of(const pdl_doc *d, const pdl_box *b) {
    pdl_vref role = pdl_box_get(b, "role");
    while (!pdl_is_str(role) && &d->boxes.p[b->parent] != b) {
        b = &d->boxes.p[b->parent];
        role = pdl_box_get(b, "role");
    }
    return role;
}

static void put_quiet(const pdl_reading *r, uint32_t i, pdl_buf *out) {
    pdl_vref role = role_of(r->doc, box_of(r, i));
    pdl_buf text = PDL_BUF;
    pdl_item_text(r, i, &text);
    if (pdl_text_is(role, "system")) PDL_PUT(out, "System, ");
    put_count(count_words(pdl_buf_str(&text)), "word", "words", out);
    PDL_PUT(out, ", seen by the model and not printed");
    pdl_buf_fini(&text);
}

/* Appends the question to a person, when it contains a word. */
static void put_question(const pdl_box *b, pdl_buf *out) {
    pdl_vref v = pdl_box_get(b, "message");
    if (pdl_is_dict(v)) v = pdl_dict_getz(v, "pdl__result");
    pdl_str s = pdl_is_str(v) ? pdl_str_trim(pdl_str_get(v)) : (pdl_str){0};
    const char *p = s.p;
    bool has_word = false;
    while (!has_word && p < s.p + s.n) has_word = pdl_cp_is_alnum(pdl_utf8_next(&p));
    if (!has_word) return;
    PDL_PUT(out, " (");
    pdl_put_unescaped(s, out);
    PDL_PUT(out, ")");
}

/* Appends who wrote a piece. An answer within a line has no title, because nothing may come between
 * the pieces of one line. */
static void put_person(const pdl_reading *r, uint32_t i, pdl_buf *out) {
    const pdl_item *x = &r->items.p[i];
    bool begins = !x->from || r->text.p[x->from - 1] == '\n' || r->text.p[x->from] == '\n';
    if (x->maker != PDL_MADE_BY_person || !begins) return;
    PDL_PUT(out, "You");
    put_question(box_of(r, i), out);
}

static void put_failure(const pdl_box *b, pdl_buf *out) {
    pdl_buf_put(out, pdl_str_of(b->stopped ? "Stopped before its end" : "Failed"));
    if (b->state == PDL_BOX_RECOVERED) PDL_PUT(out, "; its fallback was used");
}

void pdl_item_title(const pdl_reading *r, uint32_t i, pdl_buf *out) {
    const pdl_item *x = &r->items.p[i];
    bool has_parts = x->shape == PDL_SHAPE_setup && !x->name.n;
    switch (x->shape) {
    case PDL_SHAPE_setup:
        if (has_parts)
            put_setup(r, i, out);
        else
            put_definition(r, i, out);
        return;
    case PDL_SHAPE_work:
        if (!digest_of(r, i)->runs) PDL_PUT(out, "How ");
        pdl_buf_put(out, x->name.n ? x->name : PDL_STR("this"));
        pdl_buf_put(out, digest_of(r, i)->runs ? PDL_STR(": ") : PDL_STR(" came about: "));
        put_how(r, i, out);
        return;
    case PDL_SHAPE_turn:
        pdl_buf_putf(out, "%s %u", digest_of(r, i)->models ? "Turn" : "Iteration", x->number);
        return;
    case PDL_SHAPE_row: pdl_buf_putf(out, "Row %u", x->number); return;
    case PDL_SHAPE_loop: put_count(x->number, "iteration", "iterations", out); break;
    case PDL_SHAPE_map: put_count(x->number, "row", "rows", out); break;
    case PDL_SHAPE_tool:
        pdl_put_unescaped(x->name, out);
        put_arguments(box_of(r, i), out);
        return;
    case PDL_SHAPE_quiet: put_quiet(r, i, out); return;
    case PDL_SHAPE_failure: put_failure(box_of(r, i), out); return;
    case PDL_SHAPE_typed:
        PDL_PUT(out, "You");
        put_question(box_of(r, i), out);
        return;
    case PDL_SHAPE_shown: PDL_PUT(out, "Shown"); return;
    case PDL_SHAPE_attempt: pdl_attempt_put_title(r->doc, x->box, out); return;
    case PDL_SHAPE_approval: pdl_put_approval(box_of(r, i), out); return;
    case PDL_SHAPE_question:
        PDL_PUT(out, "Question");
        put_question(box_of(r, i), out);
        return;
    case PDL_SHAPE_step:
        if (x->maker != PDL_MADE_BY_literal && x->maker != PDL_MADE_BY_expression)
            pdl_buf_put(out, pdl_str_of(pdl_maker_name(x->maker)));
        return;
    case PDL_SHAPE_piece: put_person(r, i, out); return;
    case PDL_SHAPE_note:
    case PDL_SHAPE_COUNT: return;
    }
    put_took(digest_of(r, i), PDL_STR(", "), out);
}

const char *pdl_item_no_text(const pdl_reading *r, uint32_t i) {
    pdl_vref given = pdl_box_get(box_of(r, i), "parameters");
    pdl_vref inner = pdl_is_dict(given) ? pdl_dict_getz(given, "pdl__result") : pdl_absent();
    if (pdl_is_dict(inner)) given = inner;
    bool has_tools = pdl_is_dict(given) && !pdl_is_absent(pdl_dict_getz(given, "tools"));
    const pdl_box *b = box_of(r, i);
    bool is_lost = b->abandoned && pdl_is_absent(pdl_box_get(b, "pdl__result"));
    if (!pdl_box_is_kind(b, "model")) return "no output";
    if (b->state == PDL_BOX_FAILED || is_lost) return "no answer";
    return has_tools ? "no words (it has tools)" : "an empty answer";
}

/* --- the head of the document ----------------------------------------------------------------- */

/* Appends the comment at the beginning of the program, with its lines joined by spaces. */
static void put_comment(pdl_str program, pdl_buf *out) {
    while (program.n) {
        size_t end = pdl_str_find(program, PDL_STR("\n"), 0);
        pdl_str line = pdl_str_trim(pdl_str_sub(program, 0, end));
        if (!line.n || line.p[0] != '#') return;
        line = pdl_str_trim(pdl_str_sub(line, 1, line.n));
        bool is_licence =
            pdl_str_starts(line, PDL_STR("SPDX-")) || pdl_str_starts(line, PDL_STR("!"));
        if (line.n && !is_licence) {
            if (out->len) pdl_buf_putc(out, ' ');
            pdl_buf_put(out, line);
        } else if (out->len) {
            return;
        }
        program = end == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_sub(program, end + 1, program.n);
    }
}

/* Returns the first sentence without its full stop. When it is long, returns only the text before
 * its colon. */
static pdl_str first_sentence(pdl_str s) {
    size_t end = pdl_str_find(s, PDL_STR(". "), 0), colon = pdl_str_find(s, PDL_STR(": "), 0);
    size_t line = pdl_str_find(s, PDL_STR("\n"), 0);
    if (line < end) end = line;
    s = pdl_str_trim(pdl_str_sub(s, 0, end));
    if (s.n > LONGEST_TITLE && colon < s.n) s = pdl_str_sub(s, 0, colon);
    if (pdl_str_ends(s, PDL_STR("."))) s = pdl_str_sub(s, 0, s.n - 1);
    return s;
}

/* Appends the first sentence, without the backquotes around code. */
static void put_first_sentence(pdl_str s, pdl_buf *out) {
    pdl_buf plain = PDL_BUF;
    s = first_sentence(s);
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != '`') pdl_buf_putc(&plain, s.p[i]);
    pdl_put_unescaped(pdl_buf_str(&plain), out);
    pdl_buf_fini(&plain);
}

/* Returns the name of the program's file; empty when the program was made from the trace. */
static pdl_str file_of(const pdl_view_source *s) { return pdl_file_name(s->files.p[0].name); }

void pdl_reading_title(const pdl_reading *r, const pdl_view_source *s, pdl_buf *out) {
    pdl_vref description = pdl_box_get(&r->doc->boxes.p[0], "description");
    pdl_buf comment = PDL_BUF;
    size_t start = out->len;
    if (pdl_is_str(description)) {
        put_first_sentence(pdl_str_trim(pdl_str_get(description)), out);
    } else {
        if (!s->files.p[0].written) put_comment(s->files.p[0].text, &comment);
        put_first_sentence(pdl_buf_str(&comment), out);
    }
    if (out->len == start) pdl_put_unescaped(file_of(s), out);
    if (out->len == start) pdl_put_unescaped(pdl_file_name(r->name), out);
    if (out->len == start) PDL_PUT(out, "A run");
    pdl_buf_fini(&comment);
}

static double number_of(pdl_vref v) {
    if (pdl_is(v, PDL_V_FLOAT)) return pdl_float_of(v);
    return pdl_is(v, PDL_V_INT) ? (double)pdl_int_of(v) : 0;
}

/* Appends the tokens and the cost of all calls, when the trace has them. */
static void put_usage(const pdl_reading *r, size_t start, pdl_str between, pdl_buf *out) {
    int64_t in = 0, made = 0;
    double cost = 0;
    for (size_t i = 0; i < r->doc->boxes.n; i++) {
        pdl_vref usage = pdl_box_get(&r->doc->boxes.p[i], "pdl__usage");
        in += pdl_usage_count(usage, "prompt_tokens");
        made += pdl_usage_count(usage, "completion_tokens");
        if (pdl_is_dict(usage)) cost += number_of(pdl_dict_getz(usage, "cost"));
    }
    if (in || made) {
        put_between(start, between, out);
        put_count((uint64_t)in, "token in, ", "tokens in, ", out);
        pdl_put_number((uint64_t)made, out);
        PDL_PUT(out, " out");
    }
    if (cost > 0) {
        put_between(start, between, out);
        pdl_buf_putf(out, "$%.*f", cost < 0.01 ? 6 : 2, cost);
    }
}

const char *pdl_reading_state(const pdl_reading *r) {
    if (r->doc->notice && !r->doc->cut) return "Cut";
    if (r->doc->running) return "Running";
    if (pdl_member_bool(r->doc->trace, "not_ended")) return "Not ended";
    if (r->doc->stopped) return "Stopped";
    return r->doc->boxes.p[0].state == PDL_BOX_FAILED ? "Failed" : "Finished";
}

void pdl_item_place(const pdl_reading *r, const pdl_view_source *s, uint32_t i, pdl_buf *out) {
    const pdl_view_lines *l = &s->lines[r->items.p[i].box];
    const pdl_view_file *f = &s->files.p[l->file];
    if (!l->first || f->written) return;
    pdl_put_unescaped(f->shown, out);
    pdl_buf_putf(out, ", line %u", l->first);
}

void pdl_reading_facts(const pdl_reading *r, const pdl_view_source *s, pdl_str between,
                       pdl_buf *out) {
    const pdl_digest *all = &r->digests[0];
    size_t start = out->len;
    pdl_buf_put(out, pdl_str_of(pdl_reading_state(r)));
    if (!s->files.p[0].written && file_of(s).n) {
        pdl_buf_put(out, between);
        pdl_put_unescaped(file_of(s), out);
    }
    put_took(all, between, out);
    if (pdl_is_bool(pdl_box_get(&r->doc->boxes.p[0], "pdl__replayed"))) {
        put_between(start, between, out);
        PDL_PUT(out, "replayed");
    }
    if (r->n_calls) {
        put_between(start, between, out);
        put_count(r->n_calls, "model call", "model calls", out);
    }
    if (all->tools) {
        put_between(start, between, out);
        put_count(all->tools, "tool call", "tool calls", out);
    }
    if (all->runs) {
        put_between(start, between, out);
        put_count(all->runs, "run", "runs", out);
    }
    put_usage(r, start, between, out);
}
