/* failed.c -- finds the values with which a block failed; see failed.h. A trace contains no scopes.
 * So the value of a name is searched in the order in which the program would find it: among the
 * arguments of the function around the block, the variables of loops, and the definitions that
 * ended before.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/reading/failed.h"

#include "base/utf8.h"
#include "value/json_put.h"
#include "value/json_write.h"
#include "value/member.h"
#include "value/text.h"
#include "viewer/box_json.h"
#include "viewer/reading/printing.h"

#include "base/banned.h"

enum { MAX_NAMES = 8, MAX_WAY = 12, MAX_TEXT = 600, DEEPEST = 8, MAX_SIBLINGS = 400 };

static const pdl_box *box_at(const pdl_reading *r, uint32_t i) { return &r->doc->boxes.p[i]; }

/* --- what a name means ------------------------------------------------------------------------ */

/* Returns the position of a child among the rounds of a loop. */
static uint32_t round_of(const pdl_reading *r, uint32_t i, const char *member) {
    const pdl_box *up = box_at(r, box_at(r, i)->parent);
    uint32_t n = 0;
    for (uint32_t k = up->first; k < i; k++) n += pdl_step_is_in(box_at(r, k), member);
    return n;
}

static const char *body_of(const pdl_box *loop) {
    if (pdl_box_is_kind(loop, "repeat")) return "repeat";
    return pdl_box_is_kind(loop, "map") ? "map" : NULL;
}

/* Returns the value that a variable of `for` had in the round that contains box i. */
static pdl_vref loop_value(const pdl_reading *r, const pdl_box *loop, uint32_t i, pdl_str name) {
    pdl_vref all = pdl_box_loop_lists(loop);
    pdl_vref list = pdl_is_dict(all) ? pdl_dict_gets(all, name) : pdl_absent();
    if (pdl_is_dict(list)) list = pdl_dict_getz(list, "pdl__result");
    uint32_t round = round_of(r, i, body_of(loop));
    return pdl_is_list(list) && round < pdl_list_len(list) ? pdl_list_at(list, round)
                                                           : pdl_absent();
}

static pdl_vref result_of(const pdl_box *b) {
    pdl_vref v = pdl_box_get(b, "pdl__parsed");
    return pdl_is_absent(v) ? pdl_box_get(b, "pdl__result") : v;
}

/* Returns the value that the newest sibling before child i gave to the name. */
static pdl_vref defined_before(const pdl_reading *r, uint32_t i, pdl_str name) {
    const pdl_box *up = box_at(r, box_at(r, i)->parent);
    uint32_t n = 0;
    for (uint32_t k = i; k-- > up->first && n < MAX_SIBLINGS; n++)
        if (pdl_str_eq(pdl_box_variable(box_at(r, k)), name)) return result_of(box_at(r, k));
    return pdl_absent();
}

static pdl_vref meaning_of(const pdl_reading *r, uint32_t i, pdl_str name) {
    for (; i; i = box_at(r, i)->parent) {
        const pdl_box *up = box_at(r, box_at(r, i)->parent);
        pdl_vref v = defined_before(r, i, name);
        if (!pdl_is_absent(v)) return v;
        if (body_of(up) && pdl_step_is_in(box_at(r, i), body_of(up)))
            v = loop_value(r, up, i, name);
        pdl_vref args = pdl_box_arguments(up);
        if (pdl_is_absent(v) && pdl_is_dict(args)) v = pdl_dict_gets(args, name);
        if (!pdl_is_absent(v)) return v;
    }
    return pdl_absent();
}

/* --- names ------------------------------------------------------------------------------------ */

typedef struct found_names {
    pdl_str p[MAX_NAMES];
    size_t n;
} found_names;

static void add_name(found_names *f, pdl_str name) {
    for (size_t i = 0; i < f->n; i++)
        if (pdl_str_eq(f->p[i], name)) return;
    if (f->n < MAX_NAMES) f->p[f->n++] = name;
}

/* Adds the names in the text of an expression, without words in quotes and without attributes. */
static void names_of_text(const pdl_reading *r, uint32_t box, pdl_str s, found_names *f) {
    const char *p = s.p, *end = s.p + s.n, *start = NULL;
    char quote = 0, before = ' ';
    while (p <= end) {
        const char *here = p;
        uint32_t c = p < end ? pdl_utf8_next(&p) : ' ';
        bool is_name = !quote && (start ? pdl_cp_is_id_continue(c) : pdl_cp_is_id_start(c));
        if (is_name && !start) start = here;
        if (start && !is_name) {
            pdl_str name = {start, (size_t)(here - start)};
            if (before != '.' && !pdl_is_absent(meaning_of(r, box, name))) add_name(f, name);
            start = NULL;
        }
        if (!is_name && c < 128) before = (char)c;
        if (quote ? c == (uint32_t)quote : (c == '"' || c == '\'')) quote = quote ? 0 : (char)c;
        if (here == end) return;
    }
}

/* Adds the names in a value. The recursion ends at DEEPEST. */
static void names_of(const pdl_reading *r, uint32_t box, pdl_vref v, unsigned depth,
                     found_names *f) {
    if (depth > DEEPEST) return;
    if (pdl_is_str(v)) {
        size_t at = pdl_str_find(pdl_str_get(v), PDL_STR("${"), 0);
        if (at != PDL_NOT_FOUND)
            names_of_text(r, box, pdl_str_sub(pdl_str_get(v), at, pdl_str_get(v).n), f);
    } else if (pdl_is_list(v)) {
        for (size_t i = 0; i < pdl_list_len(v); i++)
            names_of(r, box, pdl_list_at(v, i), depth + 1, f);
    } else if (pdl_is_dict(v) && (depth == 0 || !pdl_doc_is_block(v))) {
        pdl_vref expr = pdl_dict_getz(v, "pdl__expr");
        if (!pdl_is_absent(expr)) {
            names_of(r, box, expr, depth + 1, f);
            return;
        }
        for (size_t i = 0; i < pdl_dict_len(v); i++) {
            pdl_vref key = pdl_dict_key_at(v, i);
            bool skip =
                pdl_is_str(key) && (pdl_doc_is_fact(pdl_str_get(key)) || pdl_text_is(key, "defs"));
            if (!skip) names_of(r, box, pdl_dict_val_at(v, i), depth + 1, f);
        }
    }
}

static bool is_function(pdl_vref v) {
    return pdl_is_dict(v) && pdl_text_is(pdl_dict_getz(v, "kind"), "function");
}

static void put_value(pdl_str name, pdl_vref v, pdl_buf *out) {
    pdl_buf text = PDL_BUF, shown = PDL_BUF;
    pdl_err ignored = {0};
    if (!pdl_stringify(v, &text, &ignored)) pdl_err_fini(&ignored);
    pdl_put_unescaped(pdl_utf8_cut(pdl_buf_str(&text), MAX_TEXT), &shown);
    pdl_json_open(out, '{');
    pdl_json_put_text(out, "name", name);
    pdl_json_put_text(out, "text", pdl_buf_str(&shown));
    if (text.len > MAX_TEXT) pdl_json_put_bool(out, "cut", true);
    pdl_buf_putc(out, '}');
    pdl_buf_fini(&text);
    pdl_buf_fini(&shown);
}

/* Returns the block that has failed. In a trace such a block is inside an error block, which has
 * the message. */
static pdl_vref inner_block(const pdl_box *b) {
    pdl_vref program = pdl_box_get(b, "program");
    return pdl_is_dict(program) ? program : b->block;
}

void pdl_put_failure_text(const pdl_box *b, pdl_buf *out) {
    pdl_str text = pdl_str_get(pdl_box_get(b, "msg"));
    bool is_read = !pdl_is_absent(pdl_member(inner_block(b), "read"));
    if (is_read && pdl_str_eq(text, PDL_STR("EOF")))
        PDL_PUT(out, "The input ended before this question was answered");
    else
        pdl_buf_put(out, text);
}

void pdl_put_values(const pdl_reading *r, uint32_t box, pdl_buf *out) {
    found_names f = {.n = 0};
    pdl_vref program = pdl_box_get(box_at(r, box), "program");
    names_of(r, box, pdl_is_str(program) ? program : inner_block(box_at(r, box)), 0, &f);
    pdl_json_put_key(out, "values");
    pdl_json_open(out, '[');
    for (size_t i = 0; i < f.n; i++) {
        pdl_vref v = meaning_of(r, box, f.p[i]);
        if (!is_function(v)) put_value(f.p[i], v, out);
    }
    pdl_buf_putc(out, ']');
}

/* --- the way to it ---------------------------------------------------------------------------- */

static void put_place(const pdl_view_source *s, uint32_t box, pdl_buf *out) {
    const pdl_view_lines *l = &s->lines[box];
    if (!l->first) return;
    if (l->file && !s->files.p[l->file].written) {
        PDL_PUT(out, " in ");
        pdl_put_unescaped(s->files.p[l->file].shown, out);
        pdl_buf_putc(out, ',');
    } else {
        PDL_PUT(out, " at");
    }
    pdl_buf_putf(out, " line %u", l->first);
}

/* Appends a text such as "called at line 17" or "iteration 2". Appends nothing for a block that
 * adds no information. i: the box inside `up` that contains the failure. */
static void put_step(const pdl_reading *r, const pdl_view_source *s, uint32_t up, uint32_t i,
                     pdl_buf *out) {
    const pdl_box *b = box_at(r, up);
    if (pdl_box_is_kind(b, "call")) {
        PDL_PUT(out, "called");
        put_place(s, up, out);
    } else if (pdl_box_is_kind(b, "include") || pdl_box_is_kind(b, "import")) {
        pdl_buf_put(out, pdl_box_is_kind(b, "include") ? PDL_STR("included") : PDL_STR("imported"));
        put_place(s, up, out);
    } else if (body_of(b) && pdl_step_is_in(box_at(r, i), body_of(b))) {
        pdl_buf_putf(out, "%s %u", pdl_box_is_kind(b, "map") ? "row" : "iteration",
                     round_of(r, i, body_of(b)) + 1);
    }
}

void pdl_put_failure(const pdl_reading *r, const pdl_view_source *s, uint32_t box, pdl_buf *out) {
    size_t n = 0; /* number of steps that were appended */
    pdl_put_values(r, box, out);
    pdl_json_put_key(out, "way");
    pdl_json_open(out, '[');
    for (uint32_t i = box; i && n < MAX_WAY; i = box_at(r, i)->parent) {
        pdl_buf text = PDL_BUF;
        put_step(r, s, box_at(r, i)->parent, i, &text);
        if (text.len) {
            n++;
            pdl_json_open(out, '{');
            pdl_json_put_text(out, "text", pdl_buf_str(&text));
            pdl_json_put_int(out, "box", box_at(r, i)->parent);
            pdl_buf_putc(out, '}');
        }
        pdl_buf_fini(&text);
    }
    pdl_buf_putc(out, ']');
}
