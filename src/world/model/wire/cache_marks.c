/* cache_marks.c -- puts marks into a request, at the ends of beginnings that later requests share
 * (spec know 1).
 *
 * Some prompt caches keep only beginnings that a request marks. The next call of a conversation
 * shares all of this request, and another conversation shares the system prompt and the tools, so
 * marks are put at the ends of these parts. The previous call of the conversation ended with a
 * message of the same role as the last message of this call, and had its mark there. So the last
 * earlier message with this role gets a mark, too. The beginning is then found even when many
 * blocks were added. Marks that the program sets itself stay, and count. Services refuse a mark
 * that is kept for an hour when a mark before it is kept for minutes only. So when the program sets
 * a mark for an hour, the marks that are put before it are for an hour, too.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/wire/cache_marks.h"

#include "value/member.h"
#include "value/text.h"

#include "base/banned.h"

static size_t length(pdl_vref list) { return pdl_is_list(list) ? pdl_list_len(list) : 0; }

static bool is_marked(pdl_vref block, const char *key) {
    return !pdl_is_absent(pdl_member(block, key));
}

/* --- the marks that are there ----------------------------------------------------------------- */

static unsigned count_in(pdl_vref blocks, const char *key) {
    unsigned n = 0;
    for (size_t i = 0; i < length(blocks); i++) n += is_marked(pdl_list_at(blocks, i), key);
    return n;
}

/* Returns the name of the member by which a block contains other blocks, such as "toolResult" for
 * the result of a tool; "" when the list is a member of the block itself. Returns NULL when the
 * block contains no blocks. */
static const char *holder_in(pdl_vref block) {
    if (pdl_is_list(pdl_member(block, "content"))) return "";
    pdl_vref result = pdl_member(block, "toolResult");
    return pdl_is_list(pdl_member(result, "content")) ? "toolResult" : NULL;
}

static unsigned count_in_message(pdl_vref blocks, const char *key) {
    unsigned n = count_in(blocks, key);
    for (size_t i = 0; i < length(blocks); i++) {
        pdl_vref block = pdl_list_at(blocks, i);
        const char *in = holder_in(block);
        if (in) n += count_in(pdl_member(*in ? pdl_member(block, in) : block, "content"), key);
    }
    return n;
}

static unsigned count(const pdl_mark_form *f, pdl_vref body) {
    pdl_vref holder = f->tools_in ? pdl_member(body, f->tools_in) : body,
             messages = pdl_member(body, "messages");
    unsigned n = count_in(pdl_member(holder, "tools"), f->key) +
                 count_in(pdl_member(body, "system"), f->key) + is_marked(body, f->key);
    for (size_t i = 0; i < length(messages); i++)
        n += count_in_message(pdl_member(pdl_list_at(messages, i), "content"), f->key);
    return n;
}

/* --- how long marks are kept ------------------------------------------------------------------ */

/* Returns true for a long mark, which the service keeps longer than a mark without a time. */
static bool is_long(pdl_vref mark) {
    pdl_str ttl = pdl_member_str(mark, "ttl");
    return ttl.n && !pdl_str_is(ttl, "5m");
}

/* Returns the last long mark of these blocks, or else `found`. */
static pdl_vref long_in(pdl_vref blocks, const char *key, pdl_vref found) {
    for (size_t i = 0; i < length(blocks); i++) {
        pdl_vref block = pdl_list_at(blocks, i), mark = pdl_member(block, key);
        const char *in = holder_in(block);
        pdl_vref inside = in && *in ? pdl_member(block, in) : block;
        if (in) found = long_in(pdl_member(inside, "content"), key, found);
        if (is_long(mark)) found = mark;
    }
    return found;
}

/* Returns a long mark in the messages from `first` on, or of the request itself. Returns absent
 * when there is no long mark. */
static pdl_vref long_from(const pdl_mark_form *f, pdl_vref body, size_t first) {
    pdl_vref found = pdl_absent(), messages = pdl_member(body, "messages");
    if (is_long(pdl_member(body, f->key))) return pdl_member(body, f->key);
    for (size_t i = first; i < length(messages); i++)
        found = long_in(pdl_member(pdl_list_at(messages, i), "content"), f->key, found);
    return found;
}

bool pdl_marks_are_in(const pdl_mark_form *f, pdl_vref body, bool *is_long) {
    pdl_vref holder = f->tools_in ? pdl_member(body, f->tools_in) : body,
             found = long_from(f, body, 0);
    found = long_in(pdl_member(body, "system"), f->key, found);
    *is_long = !pdl_is_absent(long_in(pdl_member(holder, "tools"), f->key, found));
    return count(f, body) > 0;
}

bool pdl_marks_end(const pdl_mark_form *f, pdl_vref part) {
    pdl_vref blocks = pdl_is_list(part) ? part : pdl_member(part, "content");
    if (!pdl_is_list(blocks)) blocks = pdl_member(part, "tools");
    size_t n = length(blocks);
    return n && is_marked(pdl_list_at(blocks, n - 1), f->key);
}

/* --- one mark --------------------------------------------------------------------------------- */

/* Returns true for a block after which a beginning may end. Services refuse a mark on a thought. */
static bool takes_mark(const pdl_mark_form *f, pdl_vref block) {
    if (!pdl_is_dict(block)) return false;
    if (f->own_block) return pdl_is_absent(pdl_member(block, "reasoningContent"));
    pdl_str type = pdl_member_str(block, "type");
    return !pdl_str_is(type, "thinking") && !pdl_str_is(type, "redacted_thinking");
}

/* The state of setting marks. left is the number of marks that may still be added. later is a long
 * mark that the program set after this point, or absent. */
typedef struct marking {
    unsigned left;
    pdl_val later;
} marking;

/* Marks the last block that takes a mark, as long as marks are left. Takes and returns blocks. */
static pdl_val mark_end(const pdl_mark_form *f, pdl_val blocks, marking *m) {
    size_t n = pdl_list_len(blocks);
    if (!m->left) return blocks;
    while (n && !takes_mark(f, pdl_list_at(blocks, n - 1)) &&
           !is_marked(pdl_list_at(blocks, n - 1), f->key))
        n--;
    if (!n || is_marked(pdl_list_at(blocks, n - 1), f->key)) return blocks;
    pdl_val kind = pdl_is_absent(m->later)
                       ? pdl_dict_putz(pdl_dict_new(1), "type", pdl_textz(f->type))
                       : pdl_keep(m->later);
    m->left--;
    if (f->own_block)
        return pdl_list_insert(blocks, n, pdl_dict_putz(pdl_dict_new(1), f->key, kind));
    pdl_val block = pdl_keep(pdl_list_at(blocks, n - 1));
    return pdl_list_set(blocks, n - 1, pdl_dict_putz(block, f->key, kind));
}

/* Marks the end of the list of blocks that is the member `name` of d. Takes and returns d. */
static pdl_val mark_member(const pdl_mark_form *f, pdl_val d, const char *name, marking *m) {
    pdl_vref blocks = pdl_member(d, name);
    if (!pdl_is_list(blocks)) return d;
    return pdl_dict_putz(d, name, mark_end(f, pdl_keep(blocks), m));
}

static void expect_later(marking *m, pdl_vref later) {
    pdl_val before = m->later;
    m->later = pdl_keep(later);
    pdl_drop(before);
}

/* Marks the end of message i, from 0. */
static pdl_val mark_message(const pdl_mark_form *f, pdl_val body, size_t i, marking *m) {
    expect_later(m, long_from(f, body, i + 1));
    pdl_val list = pdl_keep(pdl_member(body, "messages"));
    pdl_val message = mark_member(f, pdl_keep(pdl_list_at(list, i)), "content", m);
    return pdl_dict_putz(body, "messages", pdl_list_set(list, i, message));
}

static pdl_val mark_system(const pdl_mark_form *f, pdl_val body, marking *m) {
    expect_later(m, long_from(f, body, 0));
    return mark_member(f, body, "system", m);
}

static pdl_val mark_tools(const pdl_mark_form *f, pdl_val body, marking *m) {
    pdl_vref later = long_from(f, body, 0);
    expect_later(m, pdl_is_absent(later) ? long_in(pdl_member(body, "system"), f->key, pdl_absent())
                                         : later);
    if (!f->tools_in) return mark_member(f, body, "tools", m);
    pdl_vref holder = pdl_member(body, f->tools_in);
    if (!pdl_is_dict(holder)) return body;
    return pdl_dict_putz(body, f->tools_in, mark_member(f, pdl_keep(holder), "tools", m));
}

pdl_val pdl_marks_put(const pdl_mark_form *f, unsigned most, pdl_str model, bool own,
                      pdl_val body) {
    pdl_mark_places places = f->places ? f->places(model, own) : PDL_MARKS_ALL;
    if (places == PDL_MARKS_NOWHERE) return body;
    unsigned had = count(f, body);
    marking m = {most > had ? most - had : 0, pdl_absent()};
    pdl_vref messages = pdl_member(body, "messages");
    size_t n = length(messages), before = n;
    pdl_str role = n ? pdl_member_str(pdl_list_at(messages, n - 1), "role") : (pdl_str){0};
    while (before > 1 &&
           !pdl_str_eq(pdl_member_str(pdl_list_at(messages, before - 2), "role"), role))
        before--;
    /* A mark of the request itself counts as a mark at the end of the last message. */
    if (n && !is_marked(body, f->key)) body = mark_message(f, body, n - 1, &m);
    body = mark_system(f, body, &m);
    if (before > 1) body = mark_message(f, body, before - 2, &m);
    if (places == PDL_MARKS_ALL) body = mark_tools(f, body, &m);
    expect_later(&m, pdl_absent());
    return body;
}

/* --- without marks ---------------------------------------------------------------------------- */

static pdl_val unmarked(const pdl_mark_form *f, pdl_vref blocks) {
    pdl_val out = pdl_list_new(pdl_list_len(blocks)), key = pdl_textz(f->key);
    for (size_t i = 0; i < pdl_list_len(blocks); i++) {
        pdl_vref block = pdl_list_at(blocks, i);
        if (f->own_block && is_marked(block, f->key)) continue;
        pdl_val kept = pdl_keep(block);
        out = pdl_list_push(out, pdl_is_dict(block) ? pdl_dict_del(kept, key) : kept);
    }
    pdl_drop(key);
    return out;
}

static pdl_val unmark_member(const pdl_mark_form *f, pdl_val d, const char *name) {
    pdl_vref blocks = pdl_member(d, name);
    return pdl_is_list(blocks) ? pdl_dict_putz(d, name, unmarked(f, blocks)) : d;
}

/* Removes the marks in the results of tools. Takes and returns the blocks of a message. */
static pdl_val unmark_results(const pdl_mark_form *f, pdl_val blocks) {
    for (size_t i = 0; i < pdl_list_len(blocks); i++) {
        pdl_vref block = pdl_list_at(blocks, i);
        const char *in = holder_in(block);
        if (!in) continue;
        pdl_val kept = pdl_keep(block);
        if (*in)
            kept = pdl_dict_putz(kept, in,
                                 unmark_member(f, pdl_keep(pdl_member(block, in)), "content"));
        else
            kept = unmark_member(f, kept, "content");
        blocks = pdl_list_set(blocks, i, kept);
    }
    return blocks;
}

static pdl_val unmark_message(const pdl_mark_form *f, pdl_val m) {
    pdl_vref blocks = pdl_member(m, "content");
    if (!pdl_is_list(blocks)) return m;
    return pdl_dict_putz(m, "content", unmark_results(f, unmarked(f, blocks)));
}

pdl_val pdl_marks_remove(const pdl_mark_form *f, pdl_val body) {
    pdl_vref holder = f->tools_in ? pdl_member(body, f->tools_in) : pdl_absent(),
             messages = pdl_member(body, "messages");
    if (pdl_is_dict(holder))
        body = pdl_dict_putz(body, f->tools_in, unmark_member(f, pdl_keep(holder), "tools"));
    body = unmark_member(f, unmark_member(f, body, "tools"), "system");
    pdl_val key = pdl_textz(f->key);
    body = pdl_dict_del(body, key);
    pdl_drop(key);
    messages = pdl_member(body, "messages");
    if (!pdl_is_list(messages)) return body;
    pdl_val list = pdl_list_new(pdl_list_len(messages));
    for (size_t i = 0; i < pdl_list_len(messages); i++) {
        pdl_vref m = pdl_list_at(messages, i);
        pdl_val kept = pdl_keep(m);
        list = pdl_list_push(list, pdl_is_dict(m) ? unmark_message(f, kept) : kept);
    }
    return pdl_dict_putz(body, "messages", list);
}
