/* prefix_cause.c -- finds which value of a program made a piece of a request's text; see prefix.h.
 *
 * Each text that a block makes is kept with its block. These texts are searched for a piece of a
 * request. The shortest text that contains it is the value, and the next longer text is where the
 * value was inserted. When a block made the value, the cause is exact. When an expression inside a
 * text made it, the report has the words of that expression.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/report/prefix_impl.h"

#include "base/ident.h"
#include "value/label.h"
#include "value/promise.h"
#include "value/text.h"

#include "base/banned.h"

enum { MAX_TEXTS = 20000, MAX_SEARCHED = 4000 };

static bool is_loop(const pdl_block *b) {
    return b->kind == PDL_BLOCK_repeat || b->kind == PDL_BLOCK_map;
}

static void keep(made_texts *m, pdl_vref value, const pdl_block *b, const pdl_path *path,
                 bool is_reply) {
    pdl_buf place = PDL_BUF;
    if (m->all.n >= MAX_TEXTS || pdl_is_absent(value)) return;
    pdl_path_text(path, &place);
    *pdl_vec_push(&m->all) = (made_text){pdl_keep(value), b, pdl_buf_take(&place), is_reply};
}

void pdl_made_texts_take(made_texts *m, const pdl_event *e) {
    if (e->kind == PDL_EVENT_block_begin && e->block && is_loop(e->block))
        *pdl_vec_push(&m->loops) = e->block;
    /* the result of a block that contributes nothing is an empty text */
    bool result = e->kind == PDL_EVENT_field && pdl_str_is(e->key, "pdl__result");
    if ((result || e->kind == PDL_EVENT_block_end) && e->block)
        keep(m, e->value, e->block, e->path, e->block->kind == PDL_BLOCK_model);
}

void pdl_made_texts_clear(made_texts *m) {
    for (size_t i = 0; i < m->all.n; i++) {
        pdl_drop(m->all.p[i].value);
        pdl_free(m->all.p[i].place);
    }
    m->all.n = m->loops.n = 0;
    pdl_vec_fini(&m->all);
    pdl_vec_fini(&m->loops);
}

/* --- which block ------------------------------------------------------------------------------ */

/* Returns the text that the block made, after its replies have arrived. Owned; absent when the
 * value is not a text. */
static pdl_val text_of(const made_text *t) {
    pdl_val now = pdl_absent();
    pdl_err ignored = {0};
    pdl_buf b = PDL_BUF;
    if (pdl_may_hold_promise(t->value) && !pdl_is_absent(pdl_promise_blocking(t->value)))
        return pdl_absent();
    if (!pdl_promise_resolve(t->value, &now, &ignored)) {
        pdl_err_fini(&ignored);
        return pdl_absent();
    }
    if (pdl_is_str(now)) return now;
    bool plain = pdl_is_int(now) || pdl_is(now, PDL_V_FLOAT);
    if (plain && !pdl_stringify(now, &b, &ignored)) pdl_err_fini(&ignored);
    pdl_drop(now);
    if (plain) return pdl_text_of_buf(&b);
    pdl_buf_fini(&b);
    return pdl_absent();
}

/* Returns the start of a copy of `part` in text that covers the byte `at`. */
static size_t covers(pdl_str text, pdl_str part, size_t at) {
    size_t from = at + 1 > part.n ? at + 1 - part.n : 0;
    if (!part.n || part.n > text.n) return PDL_NOT_FOUND;
    size_t to = at + part.n < text.n ? at + part.n : text.n;
    return pdl_str_find(pdl_str_sub(text, 0, to), part, from);
}

struct found_text {
    const made_text *made;
    size_t start, n;
};

/* Finds the shortest text that contains the byte and is longer than `above`. When several texts are
 * equal, the earliest counts: its block made the value, and later blocks only passed it on. */
static struct found_text shortest(const made_texts *m, pdl_str text, size_t at, size_t above) {
    struct found_text best = {NULL, 0, (size_t)-1};
    size_t first = m->all.n > MAX_SEARCHED ? m->all.n - MAX_SEARCHED : 0;
    for (size_t i = first; i < m->all.n; i++) {
        pdl_val made = text_of(&m->all.p[i]);
        pdl_str part = pdl_is_absent(made) ? (pdl_str){0} : pdl_str_get(made);
        size_t start = part.n > above && part.n < best.n ? covers(text, part, at) : PDL_NOT_FOUND;
        if (start != PDL_NOT_FOUND) best = (struct found_text){&m->all.p[i], start, part.n};
        if (!pdl_is_absent(made)) pdl_drop(made);
    }
    return best;
}

/* --- what it is ------------------------------------------------------------------------------- */

static pdl_str source_of(const pdl_block *b) {
    pdl_loc loc = b->node ? pdl_node_loc(b->node) : b->loc;
    return loc.src ? pdl_str_sub(loc.src->text, loc.start, loc.end) : (pdl_str){0};
}

static bool has_any(pdl_str source, const char *const *words) {
    for (; *words; words++)
        if (pdl_ident_is_in(source, pdl_str_of(*words))) return true;
    return false;
}

static const char *origin_of_code(pdl_str source) {
    static const char *const clocks[] = {"now",       "utcnow",    "today",   "time", "time_ns",
                                         "monotonic", "localtime", "strftime", "date", NULL};
    static const char *const chances[] = {"random", "uuid",   "uuid1",  "uuid4",
                                          "secrets", "getpid", "shuffle", "urandom", NULL};
    static const char *const sets[] = {"set", "frozenset", NULL};
    if (has_any(source, chances)) return "random";
    if (has_any(source, clocks)) return "clock";
    return has_any(source, sets) ? "order" : "program";
}

/* Finds a loop or map with a variable that the source of a block names. */
static const pdl_block *loop_of(const made_texts *m, pdl_str source, pdl_str *variable) {
    for (size_t i = m->loops.n; i > 0; i--) {
        const pdl_block *b = m->loops.p[i - 1];
        const pdl_fors *fors = b->kind == PDL_BLOCK_map ? PDL_AS(map, b)->fors
                                                        : PDL_AS(repeat, b)->fors;
        for (uint32_t k = 0; fors && k < fors->n; k++) {
            const pdl_tree *name = fors->names[k];
            if (name->kind != PDL_TREE_CONST || !pdl_is_str(name->value)) continue;
            *variable = pdl_str_get(name->value);
            if (pdl_ident_is_in(source, *variable)) return b;
        }
    }
    return NULL;
}

static const char *origin_of_text(const made_texts *m, const made_text *t, pdl_str *variable) {
    static const char *const chances[] = {"random", "lipsum", "shuffle", NULL};
    pdl_str source = source_of(t->block);
    pdl_label label = pdl_label_of(t->value);
    if (has_any(source, chances)) return "random";
    const pdl_block *loop = loop_of(m, source, variable);
    if (loop) return loop->kind == PDL_BLOCK_map ? "row" : "loop";
    *variable = t->block->def.s;
    if (variable->n && pdl_ident_is_in(source, *variable) &&
        pdl_str_find(source, PDL_STR("${"), 0) != PDL_NOT_FOUND)
        return "counter";
    if (label & PDL_LABEL_model) return "reply";
    if (label & PDL_LABEL_file) return "file";
    if (label & PDL_LABEL_clock) return "clock";
    return label & PDL_LABEL_data ? "row" : "program";
}

static const char *origin_of(const made_texts *m, const made_text *t, pdl_str *variable) {
    *variable = t->block->def.s;
    if (t->is_reply) return "reply";
    if (t->block->kind == PDL_BLOCK_code) return origin_of_code(source_of(t->block));
    if (t->block->kind == PDL_BLOCK_read) return "file";
    return origin_of_text(m, t, variable);
}

static pdl_val line_of(pdl_loc loc) { return loc.src ? pdl_int(pdl_loc_line(loc)) : pdl_null(); }

pdl_val pdl_made_by(const made_texts *m, pdl_str text, size_t at, size_t *end) {
    if (at >= text.n) return pdl_absent();
    struct found_text value = shortest(m, text, at, 0);
    if (!value.made) return pdl_absent();
    struct found_text used = shortest(m, text, at, value.n);
    pdl_str variable;
    const pdl_block *b = value.made->block;
    const char *origin = origin_of(m, value.made, &variable);
    pdl_loc loc = b->loc, put = used.made ? used.made->block->loc : loc;
    pdl_val d = pdl_dict_putz(pdl_dict_new(6), "block", pdl_textz(value.made->place));
    d = pdl_dict_putz(d, "variable", variable.n ? pdl_text(variable) : pdl_null());
    d = pdl_dict_putz(d, "file", loc.src ? pdl_text(loc.src->name) : pdl_null());
    d = pdl_dict_putz(d, "line", line_of(loc));
    d = pdl_dict_putz(d, "used", line_of(put));
    /* A text with expressions contains the value as a part, and it is not known which
     * part that is. */
    if (b->kind != PDL_BLOCK_data && b->kind != PDL_BLOCK_scalar) *end = value.start + value.n;
    return pdl_dict_putz(d, "origin", pdl_textz(origin));
}
