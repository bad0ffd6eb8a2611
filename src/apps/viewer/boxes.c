/* boxes.c -- makes boxes from the JSON of a trace; see boxes.h. A block is recognised by its form
 * and not by a table of kinds: a dict with a text as its "kind" is a block in every member of the
 * source. So all blocks are shown even in traces of other versions, with members that are not known
 * here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/boxes.h"

#include <string.h>

#include "base/buf.h"
#include "base/nanos.h"
#include "base/utf8.h"
#include "value/json_partial.h"
#include "value/json_read.h"

#include "base/banned.h"

/* maximum depth of lists and dicts between a block and a block inside it. In `match` the depth is
 * 2, because a case is in a list */
enum { MAX_BETWEEN = 16 };

#define ABANDONED "abandoned" /* the step to a failed attempt */

/* --- what a block is -------------------------------------------------------------------------- */

bool pdl_doc_is_fact(pdl_str key) { return pdl_str_starts(key, PDL_STR("pdl__")); }

pdl_vref pdl_box_get(const pdl_box *b, const char *key) { return pdl_dict_getz(b->block, key); }

bool pdl_doc_is_block(pdl_vref v) { return pdl_is_dict(v) && pdl_is_str(pdl_dict_getz(v, "kind")); }

/* Returns true for an executed block. A failed block is wrapped in a block of kind error, which has
 * no times. */
static bool was_executed(pdl_vref block) {
    return pdl_is_dict(pdl_dict_getz(block, "pdl__timing")) ||
           pdl_text_is(pdl_dict_getz(block, "kind"), "error");
}

/* Returns a time in whole ns; 0 for other values, such as fractions in traces of other programs. */
static int64_t time_of(pdl_vref timing, const char *key) {
    pdl_vref v = pdl_is_dict(timing) ? pdl_dict_getz(timing, key) : pdl_absent();
    return pdl_is(v, PDL_V_INT) && pdl_int_of(v) > 0 ? pdl_int_of(v) : 0;
}

static pdl_str text_of(pdl_vref block, const char *key, const char *otherwise) {
    pdl_vref v = pdl_dict_getz(block, key);
    return pdl_is_str(v) ? pdl_str_get(v) : pdl_str_of(otherwise);
}

/* Returns the state. A failed block has no result and no end. Some blocks that ended have no
 * result, too. */
static pdl_box_state state_of(pdl_vref block, bool running) {
    const pdl_box_state without_end = running ? PDL_BOX_RUNNING : PDL_BOX_FAILED;
    pdl_vref fallback = pdl_dict_getz(block, "fallback");
    if (pdl_text_is(pdl_dict_getz(block, "kind"), "error")) return PDL_BOX_FAILED;
    if (!pdl_is_absent(pdl_dict_getz(block, "pdl__result"))) return PDL_BOX_DONE;
    if (pdl_is_dict(fallback) && was_executed(fallback)) return PDL_BOX_RECOVERED;
    /* the question has no answer yet */
    if (pdl_text_is(pdl_dict_getz(block, "kind"), "model")) return without_end;
    return time_of(pdl_dict_getz(block, "pdl__timing"), "end_nanos") ? PDL_BOX_DONE : without_end;
}

static pdl_box box_of(const pdl_doc *d, pdl_vref block, uint32_t parent, pdl_str step) {
    pdl_vref timing = pdl_dict_getz(block, "pdl__timing");
    return (pdl_box){
        .parent = parent,
        .depth = d->boxes.n ? d->boxes.p[parent].depth + 1 : 0,
        .block = block,
        .kind = text_of(block, "kind", "block"),
        .place = text_of(block, "pdl__id", ""),
        .step = step,
        .start = time_of(timing, "start_nanos"),
        .end = time_of(timing, "end_nanos"),
        .state = state_of(block, d->running),
    };
}

/* --- children --------------------------------------------------------------------------------- */

typedef struct box_walk {
    pdl_doc *doc;
    uint32_t parent;
    pdl_buf step; /* the steps from the parent to the present value */
} box_walk;

static void add_child(box_walk *w, pdl_vref block) {
    pdl_doc *d = w->doc;
    if (d->boxes.n >= PDL_DOC_MAX_BOXES) {
        d->cut = true;
        return;
    }
    pdl_str step = pdl_arena_str(d->arena, pdl_buf_str(&w->step));
    pdl_box b = box_of(d, block, w->parent, step);
    b.abandoned = d->boxes.p[w->parent].abandoned || pdl_str_starts(step, PDL_STR(ABANDONED "."));
    *pdl_vec_push(&d->boxes) = b;
}

static void walk_value(box_walk *w, pdl_vref v, unsigned depth);

static void walk_part(box_walk *w, pdl_str name, pdl_vref v, unsigned depth) {
    size_t before = w->step.len;
    if (before) pdl_buf_putc(&w->step, '.');
    pdl_buf_put(&w->step, name);
    walk_value(w, v, depth + 1);
    pdl_buf_cut(&w->step, before);
}

static void walk_list(box_walk *w, pdl_vref v, unsigned depth) {
    for (size_t i = 0; i < pdl_list_len(v); i++) {
        char number[24];
        pdl_vref x = pdl_list_at(v, i);
        if (!pdl_is_dict(x) && !pdl_is_list(x)) continue;
        pdl_buf text = pdl_buf_in(number, sizeof number, PDL_BUF.limit);
        pdl_buf_putf(&text, "%zu", i);
        walk_part(w, pdl_buf_str(&text), x, depth);
        pdl_buf_fini(&text);
    }
}

static void walk_dict(box_walk *w, pdl_vref v, unsigned depth) {
    for (size_t i = 0; i < pdl_dict_len(v); i++) {
        pdl_vref key = pdl_dict_key_at(v, i), x = pdl_dict_val_at(v, i);
        if (!pdl_is_str(key) || pdl_doc_is_fact(pdl_str_get(key))) continue;
        if (pdl_is_dict(x) || pdl_is_list(x)) walk_part(w, pdl_str_get(key), x, depth);
    }
}

/* Adds the blocks in a value. Recursion is limited to MAX_BETWEEN. */
static void walk_value(box_walk *w, pdl_vref v, unsigned depth) {
    if (depth > MAX_BETWEEN) return;
    if (pdl_is_list(v)) {
        walk_list(w, v, depth);
    } else if (pdl_doc_is_block(v)) {
        if (was_executed(v)) add_child(w, v);
    } else if (pdl_is_dict(v) && pdl_is_absent(pdl_dict_getz(v, "pdl__expr"))) {
        walk_dict(w, v, depth);
    }
}

/* Adds the blocks that a loop, a call, an include or an import has run. The trace has them in a
 * separate member. Each iteration gets the step of the loop's body. */
static void walk_trace(box_walk *w, pdl_vref block, pdl_vref trace) {
    pdl_str body = PDL_STR("trace");
    if (!pdl_is_absent(pdl_dict_getz(block, "repeat"))) body = PDL_STR("repeat");
    if (!pdl_is_absent(pdl_dict_getz(block, "map"))) body = PDL_STR("map");
    pdl_buf_clear(&w->step);
    pdl_buf_put(&w->step, body);
    if (!pdl_is_list(trace)) {
        walk_value(w, trace, 1);
        return;
    }
    for (size_t i = 0; i < pdl_list_len(trace); i++) walk_value(w, pdl_list_at(trace, i), 1);
}

/* Returns true for a member that is a part of the program. Members that hold values are skipped,
 * since their values may look like blocks. */
static bool may_hold_blocks(pdl_vref block, pdl_str key, bool has_trace) {
    if (pdl_doc_is_fact(key) || pdl_str_is(key, "spec") || pdl_str_is(key, "parameters"))
        return false;
    if (pdl_str_is(key, "repeat") || pdl_str_is(key, "map")) return !has_trace;
    return !pdl_str_is(key, "return") || !pdl_text_is(pdl_dict_getz(block, "kind"), "function");
}

static void add_children(pdl_doc *d, uint32_t i) {
    box_walk w = {d, i, PDL_BUF};
    pdl_vref block = d->boxes.p[i].block, trace = pdl_dict_getz(block, "pdl__trace");
    pdl_vref abandoned = pdl_dict_getz(block, "pdl__abandoned");
    size_t first = d->boxes.n;
    if (pdl_is_list(abandoned)) walk_part(&w, PDL_STR(ABANDONED), abandoned, 0);
    for (size_t k = 0; k < pdl_dict_len(block); k++) {
        pdl_vref key = pdl_dict_key_at(block, k);
        if (!pdl_is_str(key)) continue;
        if (pdl_text_is(key, "program") && pdl_str_is(d->boxes.p[i].kind, "error")) {
            /* the error block takes the place of the failed block in the source */
            walk_value(&w, pdl_dict_val_at(block, k), 0);
        } else if (pdl_text_is(key, "pdl__trace")) {
            walk_trace(&w, block, trace);
            pdl_buf_clear(&w.step);
        } else if (pdl_text_is(key, "pdl__calls")) {
            walk_part(&w, PDL_STR("calls"), pdl_dict_val_at(block, k), 0);
        } else if (may_hold_blocks(block, pdl_str_get(key), !pdl_is_absent(trace))) {
            walk_part(&w, pdl_str_get(key), pdl_dict_val_at(block, k), 0);
        }
    }
    pdl_buf_fini(&w.step);
    d->boxes.p[i].first = (uint32_t)first;
    d->boxes.p[i].n_children = (uint32_t)(d->boxes.n - first);
}

/* --- failures --------------------------------------------------------------------------------- */

/* Returns true for a block that ended without a result because a part of it failed. An answer for
 * which nothing waits may fail after the block around it has ended. */
static bool ended_for_nothing(const pdl_box *b) {
    return b->state == PDL_BOX_DONE && pdl_is_absent(pdl_dict_getz(b->block, "pdl__result"));
}

/* Returns true for a block that neither ended nor failed: a failure has a message. */
static bool has_no_end(const pdl_box *b) { return !b->end && !pdl_str_is(b->kind, "error"); }

/* Sets `counts` and `stopped`. A failure also ends the blocks around it, but it is counted only in
 * the block in which it happened. Inner boxes have higher numbers, so they are examined first. */
static void count_failures(pdl_doc *d) {
    bool *below = PDL_NEW_N(bool, d->boxes.n), any = false;
    for (size_t i = d->boxes.n; i-- > 0;) {
        pdl_box *b = &d->boxes.p[i], *up = &d->boxes.p[b->parent];
        /* the failed block is inside an error block, which has the message */
        bool in_error = i && pdl_str_is(up->kind, "error");
        if (b->abandoned) { /* the failure was handled */
            if (b->state == PDL_BOX_FAILED) b->state = PDL_BOX_RECOVERED;
            continue;
        }
        bool innermost = b->state == PDL_BOX_FAILED && !below[i] && !in_error;
        b->stopped = innermost && has_no_end(b);
        b->counts = innermost && !b->stopped;
        any = any || b->counts;
        if (!i || !(innermost || below[i])) continue;
        below[b->parent] = true;
        if (b->state == PDL_BOX_FAILED && ended_for_nothing(up)) up->state = PDL_BOX_FAILED;
    }
    d->stopped = d->boxes.p[0].state == PDL_BOX_FAILED && !any;
    pdl_free(below);
}

/* --- messages --------------------------------------------------------------------------------- */

static bool was_asked(const pdl_box *b) {
    return !pdl_is_absent(pdl_box_get(b, "pdl__model_input"));
}

static void find_places(pdl_doc *d) {
    for (size_t i = 0; i < d->boxes.n; i++) {
        const pdl_box *b = &d->boxes.p[i];
        if (!pdl_str_is(b->kind, "model") || !b->place.n) continue;
        /* when a block ended with its fallback, it has the id of its last attempt, which has sent
         * the request */
        uintptr_t found = (uintptr_t)pdl_map_find(&d->places, b->place);
        if (!found || (!was_asked(&d->boxes.p[found - 1]) && was_asked(b)))
            pdl_map_put(&d->places, b->place, (void *)(uintptr_t)(i + 1));
    }
}

uint32_t pdl_doc_model_at(const pdl_doc *d, pdl_str place) {
    uintptr_t found = (uintptr_t)pdl_map_find(&d->places, place);
    return found ? (uint32_t)(found - 1) : (uint32_t)d->boxes.n;
}

/* Returns the box that has this place and is box i or around it. Returns the number of boxes when
 * there is none. */
static uint32_t box_around(const pdl_doc *d, uint32_t i, pdl_str place) {
    for (; !pdl_str_eq(d->boxes.p[i].place, place); i = d->boxes.p[i].parent)
        if (!i) return (uint32_t)d->boxes.n;
    return i;
}

static bool is_short(pdl_vref v) {
    return pdl_is_dict(v) && pdl_is_str(pdl_dict_getz(v, "pdl__same")) &&
           pdl_is_list(pdl_dict_getz(v, "pdl__more"));
}

/* v is in the member *member of box *i. Returns the list that v continues. The list belongs to
 * another block, or it is the context of the same model. Sets *i and *member to the box and the
 * member with that list. Returns absent when the trace does not have the list. */
static pdl_vref continued(const pdl_doc *d, uint32_t *i, pdl_str *member, pdl_vref v) {
    pdl_str id = pdl_str_get(pdl_dict_getz(v, "pdl__same"));
    uint32_t found = box_around(d, *i, id);
    bool context = pdl_str_is(*member, "pdl__context") || found < d->boxes.n;
    if (found >= d->boxes.n) found = pdl_doc_model_at(d, id);
    if (found >= d->boxes.n) return pdl_absent();
    *member = context ? PDL_STR("pdl__context") : PDL_STR("pdl__model_input");
    *i = found;
    return pdl_dict_gets(d->boxes.p[*i].block, *member);
}

bool pdl_doc_continues(const pdl_doc *d, uint32_t *i, pdl_str *member, pdl_vref v) {
    return is_short(v) && !pdl_is_absent(continued(d, i, member, v));
}

pdl_val pdl_doc_messages(const pdl_doc *d, uint32_t i, pdl_str member, pdl_vref v) {
    PDL_VEC(pdl_vref) parts = {0};
    /* bounds the walk, because in a hostile trace blocks may name each other in a circle */
    size_t most = 2 * d->boxes.n;
    for (; is_short(v) && parts.n < most; v = continued(d, &i, &member, v))
        *pdl_vec_push(&parts) = pdl_dict_getz(v, "pdl__more");
    bool is_list = pdl_is_list(v) || parts.n;
    pdl_val out = is_list ? pdl_list_new(0) : pdl_absent();
    if (pdl_is_list(v)) *pdl_vec_push(&parts) = v;
    while (parts.n) {
        pdl_vref part = parts.p[--parts.n];
        for (size_t k = 0; k < pdl_list_len(part); k++)
            out = pdl_list_push(out, pdl_keep(pdl_list_at(part, k)));
    }
    pdl_vec_fini(&parts);
    return out;
}

/* --- waiting ---------------------------------------------------------------------------------- */

/* Returns the time of the failed attempts that another attempt followed. Their requests were sent
 * over the network, too. */
static int64_t nanos_of_attempts(pdl_vref list) {
    double seconds = 0;
    for (size_t i = 0; pdl_is_list(list) && i < pdl_list_len(list); i++) {
        pdl_vref one = pdl_list_at(list, i);
        pdl_vref s = pdl_is_dict(one) ? pdl_dict_getz(one, "seconds") : pdl_absent();
        bool is_last = pdl_is_dict(one) && pdl_text_is(pdl_dict_getz(one, "next"), "none");
        if (pdl_is(s, PDL_V_FLOAT) && pdl_float_of(s) > 0 && !is_last) seconds += pdl_float_of(s);
    }
    return pdl_nanos_of(seconds);
}

/* Returns how long the call waited. A call that does not wait is sent as soon as the parts of its
 * block have ended. */
int64_t pdl_doc_waited(const pdl_doc *d, uint32_t i) {
    enum { MIN_NS = 5000000 };
    const pdl_box *b = &d->boxes.p[i];
    int64_t sent = time_of(pdl_box_get(b, "pdl__timing"), "sent_nanos"), ready = b->start;
    if (!pdl_str_is(b->kind, "model") || !b->start || sent < b->start || sent > b->end) return 0;
    for (uint32_t k = b->first; k < b->first + b->n_children; k++)
        if (d->boxes.p[k].end > ready && d->boxes.p[k].end <= sent) ready = d->boxes.p[k].end;
    int64_t waited = sent - ready - nanos_of_attempts(pdl_box_get(b, "pdl__attempts"));
    return waited >= MIN_NS ? waited : 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Reads the text as JSON. When the text is damaged, reads the part that is certain. */
static bool read_json(pdl_doc *d, pdl_str text, pdl_err *err) {
    pdl_err why = {0};
    text = pdl_utf8_unmarked(text);
    if (pdl_json_read(text, PDL_JSON_PYTHON, &d->trace, NULL, &why)) {
        if (pdl_is_dict(d->trace)) return true;
        return pdl_err_set(err, PDL_E_syntax, (pdl_loc){0},
                           "not a trace: the file holds JSON, but no object");
    }
    d->trace = pdl_json_partial(text);
    if (pdl_is_dict(d->trace) && pdl_dict_len(d->trace) > 0) {
        pdl_buf b = PDL_BUF;
        pdl_buf_putf(&b, "The trace is cut or damaged, and is shown as far as it goes: %s",
                     why.msg);
        d->notice = pdl_buf_take(&b);
        pdl_err_fini(&why);
        return true;
    }
    pdl_err_set(err, PDL_E_syntax, (pdl_loc){0}, "not a trace: no JSON object: %s", why.msg);
    pdl_err_fini(&why);
    return false;
}

static void note(pdl_doc *d, const char *text) {
    if (!d->notice) d->notice = pdl_str_dup(pdl_str_of(text));
}

bool pdl_doc_read(pdl_str text, bool running, pdl_doc **out, pdl_err *err) {
    pdl_doc *d = PDL_NEW(pdl_doc);
    d->running = running;
    d->arena = pdl_arena_make();
    d->trace = pdl_absent();
    if (!read_json(d, text, err)) {
        pdl_doc_free(d);
        return false;
    }
    pdl_box root = box_of(d, d->trace, 0, (pdl_str){0});
    *pdl_vec_push(&d->boxes) = root;
    if (!pdl_doc_is_block(d->trace))
        note(d, "This is JSON, but no trace of a program: it names no kind of block.");
    for (size_t i = 0; i < d->boxes.n; i++) add_children(d, (uint32_t)i);
    count_failures(d);
    find_places(d);
    if (d->cut) note(d, "The trace has more blocks than can be shown; the first 5 000 000 are.");
    *out = d;
    return true;
}

void pdl_doc_free(pdl_doc *d) {
    if (!d) return;
    pdl_vec_fini(&d->boxes);
    pdl_map_fini(&d->places);
    if (!pdl_is_absent(d->trace)) pdl_drop(d->trace);
    pdl_arena_free(d->arena);
    pdl_free(d->notice);
    pdl_free(d);
}

/* --- paths ------------------------------------------------------------------------------------ */

void pdl_doc_source_path(const pdl_doc *d, uint32_t i, pdl_buf *out) {
    PDL_VEC(uint32_t) chain = {0};
    for (; d->boxes.p[i].depth > 0; i = d->boxes.p[i].parent) *pdl_vec_push(&chain) = i;
    while (chain.n) {
        pdl_str step = d->boxes.p[chain.p[--chain.n]].step;
        if (out->len) pdl_buf_putc(out, '.');
        pdl_buf_put(out, step);
    }
    pdl_vec_fini(&chain);
}
