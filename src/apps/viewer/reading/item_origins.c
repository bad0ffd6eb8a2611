/* item_origins.c -- describes where a piece of text came from; see item_origins.h. The walk has
 * stored which value each part of a piece came from (provenance.h). This file turns that into
 * numbers of items, which the page marks, and into words, which a person reads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/reading/item_origins.h"

#include "value/json_put.h"
#include "viewer/reading/failed.h"
#include "viewer/reading/printing.h"

#include "base/banned.h"

enum {
    MAX_FROM = 32,
    /* maximum number of items inside a named result that are compared with a value */
    MAX_INSIDE = 2000,
    MIN_FOUND = 3,  /* minimum length of a value that is searched inside an answer */
    MAX_TEXT = 4096 /* maximum length of a piece that is divided into parts */
};

/* The source of a part of a piece. */
typedef struct item_source {
    uint32_t item; /* 1 + number of the item; 0 when it is unknown */
    pdl_maker maker;
} item_source;

/* Returns the item inside a work whose result is this text. If there is none, returns the last
 * answer that contains the text, or else the work itself. */
static uint32_t sayer_in(const pdl_reading *r, uint32_t work, pdl_str text) {
    uint32_t found = work, end = r->items.p[work].end;
    text = pdl_str_trim(text);
    for (uint32_t k = work + 1; k < end && k - work < MAX_INSIDE; k++) {
        const pdl_item *x = &r->items.p[k];
        if (x->shape != PDL_SHAPE_tool && x->shape != PDL_SHAPE_step) continue;
        pdl_buf said = PDL_BUF;
        pdl_item_text(r, k, &said);
        pdl_str s = pdl_str_trim(pdl_buf_str(&said));
        bool same = pdl_str_eq(s, text),
             inside = text.n >= MIN_FOUND && pdl_str_find(s, text, 0) != PDL_NOT_FOUND;
        pdl_buf_fini(&said);
        if (same) return k;
        if (inside) found = k;
    }
    return found;
}

static item_source source_of(const pdl_reading *r, const pdl_text_part *p) {
    item_source s = {r->item_of[p->box], (pdl_maker)p->maker};
    if (!s.item) return s;
    pdl_str text = pdl_str_sub(pdl_buf_str(&r->text), p->from, p->to);
    uint32_t said = sayer_in(r, s.item - 1, text);
    if (said != s.item - 1) {
        const pdl_item *x = &r->items.p[said];
        s.maker = x->shape == PDL_SHAPE_tool ? PDL_MADE_BY_tool : x->maker;
        s.item = said + 1;
    }
    return s;
}

/* --- lists ------------------------------------------------------------------------------------ */

typedef struct item_list {
    uint32_t p[MAX_FROM];
    size_t n;
} item_list;

static void add_item(item_list *l, uint32_t item) {
    for (size_t i = 0; i < l->n; i++)
        if (l->p[i] == item) return;
    if (l->n < MAX_FROM) l->p[l->n++] = item;
}

static void list_origins(const pdl_reading *r, uint32_t i, item_list *l) {
    const pdl_provenance *o = &r->origins;
    for (size_t k = pdl_provenance_parts_at(o, i); k < o->parts.n && o->parts.p[k].item == i; k++) {
        item_source s = source_of(r, &o->parts.p[k]);
        if (s.item && s.item - 1 != i) add_item(l, s.item - 1);
    }
    if (l->n) return; /* the parts show more than names would */
    for (size_t k = pdl_provenance_needs_at(o, i); k < o->needs.n && o->needs.p[k].item == i; k++) {
        uint32_t item = r->item_of[o->needs.p[k].box];
        if (item && item - 1 != i) add_item(l, item - 1);
    }
}

static void put_list(const char *name, const item_list *l, pdl_buf *out) {
    pdl_json_put_key(out, name);
    pdl_json_open(out, '[');
    for (size_t i = 0; i < l->n; i++) pdl_buf_putf(out, "%s%u", i ? "," : "", l->p[i]);
    pdl_buf_putc(out, ']');
}

/* --- parts ------------------------------------------------------------------------------------ */

static void put_part(const pdl_reading *r, size_t from, size_t to, const pdl_text_part *p,
                     pdl_buf *out) {
    pdl_buf text = PDL_BUF;
    if (to == from) return;
    pdl_put_unescaped(pdl_str_sub(pdl_buf_str(&r->text), from, to), &text);
    pdl_json_open(out, '{');
    pdl_json_put_text(out, "text", pdl_buf_str(&text));
    if (p && p->maker == PDL_MADE_BY_expression) {
        pdl_json_put_text(out, "kind", pdl_str_of(pdl_maker_name((pdl_maker)p->maker)));
    } else if (p) {
        item_source s = source_of(r, p);
        uint32_t call = s.item ? r->calls[r->items.p[s.item - 1].call_box] : 0;
        pdl_json_put_text(out, "kind", pdl_str_of(pdl_maker_name(s.maker)));
        if (call) pdl_json_put_int(out, "call", call);
        if (s.item) pdl_json_put_int(out, "from", s.item - 1);
    }
    pdl_buf_putc(out, '}');
    pdl_buf_fini(&text);
}

/* Appends the values in a piece that expressions made, in their order. Values with known makers
 * come from the stored parts. */
static void list_parts(const pdl_reading *r, uint32_t i, pdl_text_parts *out) {
    const pdl_provenance *o = &r->origins;
    const pdl_item *x = &r->items.p[i];
    pdl_text_parts all = {0};
    /* the printed text of the box; the piece may also have white space of other blocks */
    pdl_buf text = PDL_BUF;
    if (x->maker == PDL_MADE_BY_expression) {
        pdl_box_print(r->doc, x->box, &text);
        (void)pdl_text_divide(r->doc->boxes.p[x->box].block, pdl_buf_str(&text), x->from, &all);
    }
    size_t k = pdl_provenance_parts_at(o, i), n = 0;
    for (; k < o->parts.n && o->parts.p[k].item == i; k++) {
        for (; n < all.n && all.p[n].from < o->parts.p[k].from; n++) *pdl_vec_push(out) = all.p[n];
        n += n < all.n;
        *pdl_vec_push(out) = o->parts.p[k];
    }
    for (; n < all.n; n++) *pdl_vec_push(out) = all.p[n];
    pdl_vec_fini(&all);
    pdl_buf_fini(&text);
}

/* Returns true when an expression made the whole piece, except white space around it. */
static bool is_whole(const pdl_reading *r, uint32_t i, const pdl_text_parts *parts) {
    const pdl_item *x = &r->items.p[i];
    pdl_str all = pdl_str_sub(pdl_buf_str(&r->text), x->from, x->to);
    if (parts->n != 1 || parts->p[0].maker != PDL_MADE_BY_expression) return false;
    pdl_str part = pdl_str_sub(pdl_buf_str(&r->text), parts->p[0].from, parts->p[0].to);
    return pdl_str_trim(all).n == pdl_str_trim(part).n;
}

void pdl_put_origins(const pdl_reading *r, uint32_t i, pdl_buf *out) {
    const pdl_item *x = &r->items.p[i];
    size_t at = x->from;
    pdl_text_parts parts = {0};
    item_list from = {.n = 0};
    if (x->shape != PDL_SHAPE_piece) return;
    list_origins(r, i, &from);
    if (from.n) put_list("from", &from, out);
    if (x->to - x->from <= MAX_TEXT) list_parts(r, i, &parts);
    if (parts.n && !is_whole(r, i, &parts)) {
        pdl_json_put_key(out, "parts");
        pdl_json_open(out, '[');
        for (size_t k = 0; k < parts.n; k++) {
            put_part(r, at, parts.p[k].from, NULL, out);
            put_part(r, parts.p[k].from, parts.p[k].to, &parts.p[k], out);
            at = parts.p[k].to;
        }
        put_part(r, at, x->to, NULL, out);
        pdl_buf_putc(out, ']');
    }
    pdl_vec_fini(&parts);
}

/* --- words ------------------------------------------------------------------------------------ */

/* Appends words such as "turn 2 of out" for the items that contain an item. */
static void put_inside(const pdl_reading *r, uint32_t i, pdl_buf *out) {
    pdl_str before = PDL_STR(", in ");
    while (r->items.p[i].depth) {
        i = r->items.p[i].parent;
        const pdl_item *x = &r->items.p[i];
        bool named = (x->shape == PDL_SHAPE_work || x->shape == PDL_SHAPE_tool) && x->name.n;
        if (x->shape != PDL_SHAPE_turn && x->shape != PDL_SHAPE_row && !named) continue;
        pdl_buf_put(out, before);
        before = PDL_STR(" of ");
        if (named)
            pdl_put_unescaped(x->name, out);
        else
            pdl_buf_putf(out, "%s %u", x->shape == PDL_SHAPE_row ? "row" : "turn", x->number);
    }
}

/* Appends a description of an item for readers, such as "answer of call 6, in turn 2 of out". */
static void put_words(const pdl_reading *r, uint32_t i, pdl_buf *out) {
    const pdl_item *x = &r->items.p[i];
    uint32_t call = r->calls[x->call_box];
    if (x->shape == PDL_SHAPE_tool) {
        PDL_PUT(out, "result of ");
        pdl_put_unescaped(x->name, out);
    } else if (call) {
        pdl_buf_putf(out, "answer of call %u", call);
    } else if (x->shape == PDL_SHAPE_typed) {
        PDL_PUT(out, "what you typed");
    } else if (x->shape == PDL_SHAPE_work) {
        PDL_PUT(out, "work for ");
        pdl_put_unescaped(x->name.n ? x->name : PDL_STR("this"), out);
    } else if (x->maker == PDL_MADE_BY_code) {
        PDL_PUT(out, "result of code");
    } else if (x->maker == PDL_MADE_BY_file) {
        PDL_PUT(out, "a file");
    } else if (x->maker == PDL_MADE_BY_person) {
        PDL_PUT(out, "what you typed");
    } else {
        PDL_PUT(out, "the program");
    }
    put_inside(r, i, out);
}

static void list_goals(const pdl_reading *r, uint32_t i, item_list *l) {
    const pdl_provenance *o = &r->origins;
    uint32_t box = r->items.p[i].box;
    for (size_t k = 0; k < o->parts.n && l->n < MAX_FROM; k++)
        if (source_of(r, &o->parts.p[k]).item == i + 1 || o->parts.p[k].box == box)
            add_item(l, o->parts.p[k].item);
    for (size_t k = 0; k < o->needs.n && l->n < MAX_FROM; k++)
        if (o->needs.p[k].box == box) add_item(l, o->needs.p[k].item);
}

static void put_calls(const pdl_reading *r, const item_list *l, uint32_t own, pdl_buf *out) {
    size_t n = 0;
    pdl_json_put_key(out, "calls");
    pdl_json_open(out, '[');
    if (own) pdl_buf_putf(out, "%s%u", n++ ? "," : "", own);
    for (size_t i = 0; i < l->n; i++) {
        uint32_t end = r->items.p[l->p[i]].end;
        for (uint32_t k = l->p[i]; k < end && n < MAX_FROM; k++) {
            uint32_t call = r->calls[r->items.p[k].call_box];
            bool again = k > l->p[i] && call == r->calls[r->items.p[k - 1].call_box];
            if (call && call != own && !again) pdl_buf_putf(out, "%s%u", n++ ? "," : "", call);
        }
    }
    pdl_buf_putc(out, ']');
}

void pdl_item_origin(const pdl_reading *r, uint32_t i, pdl_buf *out) {
    item_list from = {.n = 0}, into = {.n = 0};
    pdl_buf text = PDL_BUF;
    list_origins(r, i, &from);
    list_goals(r, i, &into);
    if (!from.n) put_words(r, i, &text);
    for (size_t k = 0; k < from.n; k++) {
        if (k) PDL_PUT(&text, "; ");
        put_words(r, from.p[k], &text);
    }
    pdl_json_open(out, '{');
    put_list("from", &from, out);
    put_list("into", &into, out);
    put_calls(r, &from, r->calls[r->items.p[i].call_box], out);
    pdl_json_put_text(out, "text", pdl_buf_str(&text));
    pdl_put_values(r, r->items.p[i].box, out);
    pdl_buf_putc(out, '}');
    pdl_buf_fini(&text);
}
