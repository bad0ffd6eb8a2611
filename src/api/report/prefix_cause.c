/* prefix_cause.c -- finds which value of a program made a piece of a request's text; see
 * prefix_report.h.
 *
 * Each text that a block makes is kept with its block. These texts are searched for a piece of a
 * request. The shortest text that contains it is the value, and the next longer text is where the
 * value was inserted. When a block made the value, the cause is exact. When an expression inside a
 * text made it, the report has the words of that expression.
 *
 * Lists and objects that a program writes (`data`, `parameters`) are kept, too. Inside of them, a
 * text counts when one expression makes it. When no text contains the piece, the lists that one
 * expression makes are searched for a text with the piece, the latest list first.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/report/prefix_impl.h"

#include "base/ident.h"
#include "value/json_write.h"
#include "value/label.h"
#include "value/promise.h"
#include "value/text.h"

#include "base/banned.h"

/* When there are many texts, the latest texts are kept, and so are the first texts, with which a
 * program sets up its values. */
enum { MAX_TEXTS = 12000, FIRST_TEXTS = 1000, DROPPED_TEXTS = 4000 };

static bool is_loop(const pdl_block *b) {
    return b->kind == PDL_BLOCK_repeat || b->kind == PDL_BLOCK_map;
}

static void fini_texts(made_text *p, size_t n) {
    for (size_t i = 0; i < n; i++) {
        pdl_drop(p[i].value);
        pdl_free(p[i].place);
    }
}

static void drop_some(made_texts *m) {
    made_text *from = m->all.p + FIRST_TEXTS, *to = from + DROPPED_TEXTS;
    fini_texts(from, DROPPED_TEXTS);
    memmove(from, to, (size_t)(m->all.p + m->all.n - to) * sizeof *to);
    m->all.n -= DROPPED_TEXTS;
}

static void keep(made_texts *m, pdl_vref value, const pdl_tree *tree, const pdl_event *e) {
    pdl_buf place = PDL_BUF;
    bool is_reply = !tree && e->block->kind == PDL_BLOCK_model;
    if (pdl_is_absent(value)) return;
    if (m->all.n == MAX_TEXTS) drop_some(m);
    pdl_path_text(e->path, &place);
    *pdl_vec_push(&m->all) = (made_text){
        .value = pdl_keep(value),
        .block = e->block,
        .tree = tree,
        .place = pdl_buf_take(&place),
        .is_reply = is_reply,
    };
}

/* Returns the tree that the program writes for a field whose value may be a list or an object.
 * Returns NULL for other fields. */
static const pdl_tree *tree_of(const pdl_event *e) {
    const pdl_block *b = e->block;
    if (b->kind == PDL_BLOCK_model && pdl_str_is(e->key, "parameters"))
        return PDL_AS(model, b)->parameters;
    if (!pdl_str_is(e->key, "data")) return NULL;
    if (b->kind == PDL_BLOCK_data) return PDL_AS(data, b)->data;
    return b->kind == PDL_BLOCK_scalar ? PDL_AS(scalar, b)->value : NULL;
}

static bool has_parts(pdl_vref v) { return pdl_is_list(v) || pdl_is_dict(v); }

void pdl_made_texts_take(made_texts *m, const pdl_event *e) {
    if (!e->block) return;
    if (e->kind == PDL_EVENT_block_begin && is_loop(e->block)) *pdl_vec_push(&m->loops) = e->block;
    bool is_field = e->kind == PDL_EVENT_field;
    const pdl_tree *tree = is_field && has_parts(e->value) ? tree_of(e) : NULL;
    /* a block that contributes nothing ends with an empty text */
    bool result = is_field && pdl_str_is(e->key, "pdl__result");
    if (result || e->kind == PDL_EVENT_block_end)
        keep(m, e->value, NULL, e);
    else if (tree && tree->kind != PDL_TREE_CONST && tree->loc.src)
        keep(m, e->value, tree, e);
}

void pdl_made_texts_clear(made_texts *m) {
    fini_texts(m->all.p, m->all.n);
    m->all.n = m->loops.n = 0;
    pdl_vec_fini(&m->all);
    pdl_vec_fini(&m->loops);
}

/* --- which block ------------------------------------------------------------------------------ */

/* Returns the value, in which replies replace promises: a text, a number as text, or a list or an
 * object for which there is a tree. Owned. Absent for other values, and when a reply has not
 * arrived. */
static pdl_val value_of(const made_text *t) {
    pdl_val now = pdl_absent();
    pdl_err ignored = {0};
    pdl_buf b = PDL_BUF;
    if (pdl_may_hold_promise(t->value) && !pdl_is_absent(pdl_promise_blocking(t->value)))
        return pdl_absent();
    if (!pdl_promise_resolve(t->value, &now, &ignored)) {
        pdl_err_fini(&ignored);
        return pdl_absent();
    }
    if (pdl_is_str(now) || (t->tree && has_parts(now))) return now;
    bool plain = pdl_is_int(now) || pdl_is(now, PDL_V_FLOAT);
    if (plain && !pdl_stringify(now, &b, &ignored)) pdl_err_fini(&ignored);
    pdl_drop(now);
    if (plain) return pdl_text_of_buf(&b);
    pdl_buf_fini(&b);
    return pdl_absent();
}

/* Searches text for a copy of `part` that covers the byte `at` of text. Returns the start of the
 * copy; PDL_NOT_FOUND when there is none. */
static size_t covers(pdl_str text, pdl_str part, size_t at) {
    enum { FEW_STARTS = 64 };
    size_t from = at + 1 > part.n ? at + 1 - part.n : 0;
    if (!part.n || part.n > text.n) return PDL_NOT_FOUND;
    size_t to = at + part.n < text.n ? at + part.n : text.n;
    if (to - part.n - from > FEW_STARTS) return pdl_str_find(pdl_str_sub(text, 0, to), part, from);
    for (; from + part.n <= to; from++)
        if (!memcmp(text.p + from, part.p, part.n)) return from;
    return PDL_NOT_FOUND;
}

struct found_text {
    const made_text *made;
    const pdl_tree *tree; /* part of the block's tree that made the text; may be NULL */
    pdl_label label;
    size_t start, n;
};

/* A search for the shortest text that contains the byte `at` of text and is longer than `above`.
 * When several texts are equal, the earliest one counts: there the value was made, and the later
 * blocks only passed it on. */
struct text_search {
    pdl_str text;
    bool is_json; /* the text is JSON, so that texts in it are escaped */
    size_t at, above;
    /* a text inside a list or object counts, too, when one expression makes the whole */
    bool in_values;
    const made_text *made;
    struct found_text best;
};

static void consider(struct text_search *s, pdl_vref v, const pdl_tree *tree) {
    pdl_str part = pdl_str_get(v);
    pdl_buf escaped = PDL_BUF;
    if (s->is_json) {
        pdl_json_quote(part, 0, &escaped);
        part = pdl_str_sub(pdl_buf_str(&escaped), 1, escaped.len - 1);
    }
    bool is_shorter = part.n > s->above && part.n < s->best.n;
    size_t start = is_shorter ? covers(s->text, part, s->at) : PDL_NOT_FOUND;
    if (start != PDL_NOT_FOUND)
        s->best = (struct found_text){s->made, tree, pdl_label_of(v), start, part.n};
    pdl_buf_fini(&escaped);
}

enum { MAX_DEPTH = 32 };

static void consider_inside(struct text_search *s, pdl_vref v, const pdl_tree *t, int depth) {
    if (pdl_is_str(v)) consider(s, v, t);
    if (depth == MAX_DEPTH) return;
    for (size_t i = 0; pdl_is_list(v) && i < pdl_list_len(v); i++)
        consider_inside(s, pdl_list_at(v, i), t, depth + 1);
    for (size_t i = 0; pdl_is_dict(v) && i < pdl_dict_len(v); i++)
        consider_inside(s, pdl_dict_val_at(v, i), t, depth + 1);
}

/* Considers the texts that expressions of the tree make. v is the value of the tree. */
static void consider_parts(struct text_search *s, pdl_vref v, const pdl_tree *t) {
    if (t->kind == PDL_TREE_EXPR && (pdl_is_str(v) || s->in_values)) consider_inside(s, v, t, 0);
    bool is_list = t->kind == PDL_TREE_LIST && pdl_is_list(v) && pdl_list_len(v) == t->n;
    bool is_map = t->kind == PDL_TREE_MAP && pdl_is_dict(v) && pdl_dict_len(v) == t->n;
    for (uint32_t i = 0; i < t->n && (is_list || is_map); i++)
        consider_parts(s, is_list ? pdl_list_at(v, i) : pdl_dict_val_at(v, i), t->items[i]);
}

static void consider_made(struct text_search *s, const made_text *t) {
    pdl_val v = value_of(t);
    s->made = t;
    if (pdl_is_str(v))
        consider(s, v, NULL);
    else if (t->tree && !pdl_is_absent(v))
        consider_parts(s, v, t->tree);
    pdl_drop(v);
}

static struct found_text shortest(const made_texts *m, struct text_search s, size_t above) {
    s.above = above;
    s.best = (struct found_text){.n = (size_t)-1};
    for (size_t i = 0; i < m->all.n; i++) consider_made(&s, &m->all.p[i]);
    return s.best;
}

/* Searches for the text in the lists and objects that expressions make, the latest first. */
static struct found_text latest(const made_texts *m, struct text_search s) {
    s.in_values = true;
    s.best = (struct found_text){.n = (size_t)-1};
    for (size_t i = m->all.n; i > 0 && !s.best.made; i--)
        if (m->all.p[i - 1].tree) consider_made(&s, &m->all.p[i - 1]);
    return s.best;
}

/* --- what it is ------------------------------------------------------------------------------- */

static pdl_loc loc_of(const struct found_text *t) {
    return t->tree ? t->tree->loc : t->made->block->loc;
}

/* Returns the source from which the text was made: the source of the part of the tree, or of the
 * whole block. */
static pdl_str source_of(const struct found_text *t) {
    const pdl_node *node = t->tree ? t->tree->node : t->made->block->node;
    pdl_loc loc = node ? pdl_node_loc(node) : loc_of(t);
    return loc.src ? pdl_str_sub(loc.src->text, loc.start, loc.end) : (pdl_str){0};
}

static bool has_any(pdl_str source, const char *const *words) {
    for (; *words; words++)
        if (pdl_ident_is_in(source, pdl_str_of(*words))) return true;
    return false;
}

static const char *origin_of_code(pdl_str source) {
    static const char *const clocks[] = {"now",       "utcnow",    "today",    "time", "time_ns",
                                         "monotonic", "localtime", "strftime", "date", NULL};
    static const char *const chances[] = {"random", "uuid",    "uuid1",   "uuid4", "secrets",
                                          "getpid", "shuffle", "urandom", NULL};
    static const char *const sets[] = {"set", "frozenset", NULL};
    if (has_any(source, chances)) return "random";
    if (has_any(source, clocks)) return "clock";
    return has_any(source, sets) ? "order" : "program";
}

/* Finds a loop or map with a variable that the source of a block names. */
static const pdl_block *loop_of(const made_texts *m, pdl_str source, pdl_str *variable) {
    for (size_t i = m->loops.n; i > 0; i--) {
        const pdl_block *b = m->loops.p[i - 1];
        const pdl_fors *fors =
            b->kind == PDL_BLOCK_map ? PDL_AS(map, b)->fors : PDL_AS(repeat, b)->fors;
        for (uint32_t k = 0; fors && k < fors->n; k++) {
            const pdl_tree *name = fors->names[k];
            if (name->kind != PDL_TREE_CONST || !pdl_is_str(name->value)) continue;
            *variable = pdl_str_get(name->value);
            if (pdl_ident_is_in(source, *variable)) return b;
        }
    }
    return NULL;
}

static const char *origin_of_text(const made_texts *m, const struct found_text *t,
                                  pdl_str *variable) {
    static const char *const chances[] = {"random", "lipsum", "shuffle", NULL};
    pdl_str source = source_of(t);
    pdl_label label = t->label;
    if (has_any(source, chances)) return "random";
    const pdl_block *loop = loop_of(m, source, variable);
    if (loop) return loop->kind == PDL_BLOCK_map ? "row" : "loop";
    *variable = t->made->block->def.s;
    if (variable->n && pdl_ident_is_in(source, *variable) &&
        pdl_str_find(source, PDL_STR("${"), 0) != PDL_NOT_FOUND)
        return "counter";
    if (label & PDL_LABEL_model) return "reply";
    if (label & PDL_LABEL_file) return "file";
    if (label & PDL_LABEL_clock) return "clock";
    return label & PDL_LABEL_data ? "row" : "program";
}

static const char *origin_of(const made_texts *m, const struct found_text *t, pdl_str *variable) {
    const pdl_block *b = t->made->block;
    *variable = b->def.s;
    if (t->made->is_reply) return "reply";
    if (b->kind == PDL_BLOCK_code) return origin_of_code(source_of(t));
    if (b->kind == PDL_BLOCK_read) return "file";
    return origin_of_text(m, t, variable);
}

static pdl_val line_of(pdl_loc loc) { return loc.src ? pdl_int(pdl_loc_line(loc)) : pdl_null(); }

pdl_val pdl_made_by(const made_texts *m, pdl_str text, bool is_json, size_t at, size_t *end) {
    struct text_search s = {.text = text, .is_json = is_json, .at = at};
    if (at >= text.n) return pdl_absent();
    struct found_text value = shortest(m, s, 0);
    if (!value.made) value = latest(m, s);
    if (!value.made) return pdl_absent();
    struct found_text used = shortest(m, s, value.n);
    pdl_str variable;
    const pdl_block *b = value.made->block;
    const char *origin = origin_of(m, &value, &variable);
    pdl_loc loc = loc_of(&value);
    pdl_val d = pdl_dict_putz(pdl_dict_new(6), "block", pdl_textz(value.made->place));
    d = pdl_dict_putz(d, "variable", variable.n ? pdl_text(variable) : pdl_null());
    d = pdl_dict_putz(d, "file", loc.src ? pdl_text(loc.src->name) : pdl_null());
    d = pdl_dict_putz(d, "line", line_of(loc));
    d = pdl_dict_putz(d, "used", line_of(used.made ? loc_of(&used) : loc));
    /* In a text with expressions, only a part is the value, and it is not known which part. */
    if (b->kind != PDL_BLOCK_data && b->kind != PDL_BLOCK_scalar && !value.made->tree)
        *end = value.start + value.n;
    return pdl_dict_putz(d, "origin", pdl_textz(origin));
}
