/* fold_text.c -- the text of a trace, which is JSON with holes.
 *
 * The JSON of a trace is ASCII without control characters, so a byte below 4 can begin a hole. The
 * byte is the kind of the hole; 16 bytes follow. HOLE_ASIDE refers to spilled text by position and
 * length. HOLE_WRITTEN is a block that was not executed at this position. The hole will show the id
 * of the block's last execution, which is known only at the end; it contains an index of
 * pdl_fold.written. HOLE_TAKEN says whether a case of a match was taken, which is also known only
 * at the end. In the tree of a node that is being written, holes are objects of a private class,
 * which no program can make.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <assert.h>
#include <string.h>

#include "base/word.h"
#include "trace/fold_tree.h"
#include "value/json_write.h"

#include "base/banned.h"

enum { HOLE_ASIDE = 1, HOLE_WRITTEN, HOLE_TAKEN, HOLE_END };
enum { HOLE_BYTES = 17 };
/* shorter text is copied into the text around it; longer text is put aside */
enum { SHORT = 1 << 13 };
enum { CHUNK = 1 << 14 }; /* number of bytes that are read back at a time */

typedef struct hole {
    pdl_ext ext;
    /* text that fills this hole; NULL when the hole is of a kind above, or is a slot of a form */
    const pdl_buf *text;
    bool items, slot;
    size_t answer; /* number of a slot's answer */
    char bytes[HOLE_BYTES];
} hole;

static const pdl_class hole_class = {.type_name = "hole"};

/* --- making ----------------------------------------------------------------------------------- */

static void hole_bytes(char *to, int kind, uint64_t a, uint64_t b) {
    to[0] = (char)kind;
    memcpy(to + 1, &a, 8);
    memcpy(to + 9, &b, 8);
}

static hole *new_hole(pdl_val *v) {
    hole *h = pdl_ext_new(PDL_V_CELL, &hole_class, sizeof *h);
    *v = pdl_from_obj(PDL_V_CELL, &h->ext.head, 0);
    return h;
}

pdl_val pdl_fold_hole_text(const pdl_buf *text) {
    pdl_val v;
    new_hole(&v)->text = text;
    return v;
}

pdl_val pdl_fold_hole_items(const pdl_buf *items) {
    pdl_val v;
    hole *h = new_hole(&v);
    h->text = items;
    h->items = true;
    return v;
}

/* Returns the index in f->written of the entry of a block with this name; makes the entry if
 * needed. */
static size_t entry_of(pdl_fold *f, const pdl_block *b, pdl_str name) {
    size_t first = (size_t)(uintptr_t)pdl_idmap_find(&f->holes, (uintptr_t)b);
    for (size_t i = first; i; i = f->written.p[i - 1].next) {
        const char *known = f->written.p[i - 1].name;
        if (known ? name.p && pdl_str_is(name, known) : !name.p) return i - 1;
    }
    *pdl_vec_push(&f->written) = (fold_written){
        .block = b, .name = name.p ? pdl_str_dup(name) : NULL, .next = first, .text = PDL_BUF};
    pdl_idmap_put(&f->holes, (uintptr_t)b, (void *)(uintptr_t)f->written.n);
    return f->written.n - 1;
}

pdl_val pdl_fold_hole_written(pdl_fold *f, const pdl_block *b, pdl_str name) {
    pdl_val v;
    hole_bytes(new_hole(&v)->bytes, HOLE_WRITTEN, entry_of(f, b, name), 0);
    return v;
}

pdl_val pdl_fold_hole_taken(const pdl_case *c) {
    pdl_val v;
    hole_bytes(new_hole(&v)->bytes, HOLE_TAKEN, (uint64_t)(uintptr_t)c, 0);
    return v;
}

pdl_val pdl_fold_hole_slot(size_t answer) {
    pdl_val v;
    hole *h = new_hole(&v);
    h->slot = true;
    h->answer = answer;
    return v;
}

static const hole *hole_of(pdl_vref v) {
    bool is_hole = pdl_is(v, PDL_V_CELL) && pdl_class_of(v) == &hole_class;
    return is_hole ? (const hole *)(const void *)pdl_obj_of(v) : NULL;
}

bool pdl_fold_is_slot(pdl_vref v, size_t *answer) {
    const hole *h = hole_of(v);
    if (!h || !h->slot) return false;
    *answer = h->answer;
    return true;
}

bool pdl_fold_put_hole(void *user, pdl_vref v, unsigned depth, pdl_buf *out) {
    (void)user;
    (void)depth;
    const hole *h = hole_of(v);
    if (!h) return false;
    assert(!h->slot);
    if (h->items) pdl_buf_putc(out, '[');
    pdl_buf_put(out, h->text ? pdl_buf_str(h->text) : (pdl_str){h->bytes, HOLE_BYTES});
    if (h->items) pdl_buf_putc(out, ']');
    return true;
}

static size_t shorten(pdl_fold *f, pdl_buf *text, size_t from, size_t least) {
    uint64_t at;
    char bytes[HOLE_BYTES];
    pdl_str aside = pdl_str_sub(pdl_buf_str(text), from, text->len);
    if (aside.n < least || f->err.kind || !pdl_spill_add(&f->spill, aside, &at, &f->err))
        return from;
    hole_bytes(bytes, HOLE_ASIDE, at, aside.n);
    pdl_buf_cut(text, from);
    pdl_buf_put(text, (pdl_str){bytes, sizeof bytes});
    if (from == 0) { /* a waiting node keeps no unused memory */
        pdl_buf small = PDL_BUF;
        pdl_buf_put(&small, pdl_buf_str(text));
        pdl_buf_fini(text);
        *text = small;
    }
    return text->len;
}

size_t pdl_fold_shorten(pdl_fold *f, pdl_buf *text, size_t from) {
    return shorten(f, text, from, SHORT);
}

void pdl_fold_put_aside(pdl_fold *f, pdl_buf *text) { (void)shorten(f, text, 0, HOLE_BYTES + 1); }

/* The text of a node that is being written. */
typedef struct fold_part {
    pdl_fold *fold;
    size_t from; /* only holes are before this offset */
} fold_part;

/* Puts text aside while a node is written. The text of one node may not fit in memory, for example
 * when a value has the same part many times. */
static bool put_aside(void *user, pdl_buf *out, pdl_err *err) {
    fold_part *p = user;
    p->from = pdl_fold_shorten(p->fold, out, p->from);
    if (!p->fold->err.kind) return true;
    pdl_err_copy(err, &p->fold->err);
    return false;
}

static const pdl_json_part json_of_trace = {
    .flags = PDL_FOLD_JSON_FLAGS,
    .other = pdl_fold_put_hole,
};

bool pdl_fold_put_node(pdl_fold *f, pdl_vref v, unsigned level, pdl_buf *out) {
    fold_part p = {f, out->len};
    pdl_err err = {0};
    pdl_json_part part = json_of_trace;
    part.depth = level;
    part.room = put_aside;
    part.user = &p;
    if (pdl_json_write_part(v, &part, out, &err)) return true;
    if (f->err.kind)
        pdl_err_fini(&err);
    else
        pdl_err_move(&f->err, &err);
    return false;
}

bool pdl_fold_put_json(pdl_vref v, pdl_buf *out, pdl_err *err) {
    return pdl_json_write_part(v, &json_of_trace, out, err);
}

void pdl_fold_add_item(pdl_fold *f, fold_series *to, const pdl_buf *text) {
    if (to->items.len) PDL_PUT(&to->items, ", ");
    pdl_buf_put(&to->items, pdl_buf_str(text));
    to->aside = pdl_fold_shorten(f, &to->items, to->aside);
}

/* --- secrets that became known when text was written already ---------------------------------- */

/* Each string of the JSON that was written is compared with the register of secrets once more.
 * Invariant: the redactor never gets the quote that ends a string. */
typedef struct late {
    pdl_fold_put_fn *put;
    void *user;
    pdl_redactor redactor;
    bool in_string, escaped;
} late;

/* s begins inside a string. Returns the offset at which the string ends; s.n when it does not end
 * in s. */
static size_t string_end(late *l, pdl_str s) {
    for (size_t i = 0; i < s.n; i++) {
        bool escaped = l->escaped;
        l->escaped = !escaped && s.p[i] == '\\';
        if (!escaped && s.p[i] == '"') return i;
    }
    return s.n;
}

static bool put_late(void *user, pdl_str s, pdl_err *err) {
    late *l = user;
    pdl_buf out = PDL_BUF;
    while (s.n) {
        if (!l->in_string) {
            const char *quote = memchr(s.p, '"', s.n);
            size_t n = quote ? (size_t)(quote - s.p) + 1 : s.n;
            pdl_buf_put(&out, pdl_str_sub(s, 0, n));
            l->in_string = quote != NULL;
            s = pdl_str_sub(s, n, s.n);
            continue;
        }
        size_t n = string_end(l, s);
        pdl_redactor_feed(&l->redactor, pdl_str_sub(s, 0, n), &out);
        s = pdl_str_sub(s, n, s.n);
        if (!s.n) break;
        pdl_redactor_end(&l->redactor, &out);
        pdl_buf_putc(&out, '"');
        l->in_string = false;
        s = pdl_str_sub(s, 1, s.n);
    }
    bool ok = l->put(l->user, pdl_buf_str(&out), err);
    pdl_buf_fini(&out);
    return ok;
}

/* --- filling ---------------------------------------------------------------------------------- */

typedef struct fold_writer {
    pdl_fold *fold;
    pdl_fold_put_fn *put;
    void *user;
    pdl_err *err;
} writer;

static bool fill_aside(writer *w, uint64_t at, uint64_t n);

static bool fill_written(writer *w, size_t i) {
    fold_written *e = &w->fold->written.p[i];
    if (!e->text.len && !pdl_fold_written_json(w->fold, e, &e->text, w->err)) return false;
    return w->put(w->user, pdl_buf_str(&e->text), w->err);
}

static bool fill_hole(writer *w, const char *p) {
    uint64_t a, b;
    memcpy(&a, p + 1, 8);
    memcpy(&b, p + 9, 8);
    if (p[0] == HOLE_ASIDE) return fill_aside(w, a, b);
    if (p[0] == HOLE_WRITTEN) return fill_written(w, (size_t)a);
    bool taken = pdl_idmap_find(&w->fold->taken, (uintptr_t)a) != NULL;
    return w->put(w->user, taken ? PDL_STR("true") : PDL_STR("null"), w->err);
}

/* Returns the offset of the first hole from i on; s.n when there is no hole. All text of a trace is
 * searched here, so eight bytes are examined at once. */
static size_t hole_from(pdl_str s, size_t i) {
    for (; s.n - i >= sizeof(uint64_t); i += sizeof(uint64_t)) {
        uint64_t bytes = pdl_word64(s.p + i);
        if ((bytes - PDL_EACH_BYTE(HOLE_END)) & ~bytes & PDL_EACH_BYTE(0x80)) break;
    }
    while (i < s.n && (unsigned char)s.p[i] >= HOLE_END) i++;
    return i;
}

/* Writes s except an incomplete hole at its end. *n gets the number of bytes that were used. */
static bool fill(writer *w, pdl_str s, size_t *n) {
    size_t from = 0, i = 0;
    while ((i = hole_from(s, i)) < s.n) {
        if (i > from && !w->put(w->user, pdl_str_sub(s, from, i), w->err)) return false;
        from = i;
        if (s.n - i < HOLE_BYTES) break;
        if (!fill_hole(w, s.p + i)) return false;
        from = i += HOLE_BYTES;
    }
    *n = from == i ? i : s.n;
    return from == i || w->put(w->user, pdl_str_sub(s, from, s.n), w->err);
}

/* Writes spilled text. The C stack is as deep as the tree, since spilled text contains the texts of
 * the levels below it. */
static bool fill_aside(writer *w, uint64_t at, uint64_t n) {
    char *chunk = PDL_NEW_N(char, n < CHUNK ? (size_t)n : (size_t)CHUNK);
    bool ok = true;
    while (n && ok) {
        size_t want = n < CHUNK ? (size_t)n : CHUNK, done = 0;
        ok = pdl_spill_read(&w->fold->spill, at, chunk, want, w->err) &&
             fill(w, (pdl_str){chunk, want}, &done);
        at += done;
        n -= done;
    }
    pdl_free(chunk);
    return ok;
}

static bool write_tree(pdl_fold *f, pdl_fold_put_fn *put, void *user, pdl_err *err) {
    writer w = {f, put, user, err};
    size_t n;
    if (f->root) return fill(&w, pdl_buf_str(&f->root->text), &n);
    if (!f->program->main) return put(user, PDL_STR("null"), err);
    size_t i = entry_of(f, f->program->main, (pdl_str){0});
    return fill_written(&w, i);
}

bool pdl_fold_write(pdl_fold *f, pdl_fold_put_fn *put, void *user, pdl_err *err) {
    late l = {.put = put, .user = user, .redactor = PDL_REDACTOR(f->secrets)};
    pdl_fold_write_rest(f);
    if (f->err.kind) {
        pdl_err_copy(err, &f->err);
        return false;
    }
    if (pdl_secrets_size(f->secrets) == f->n_secrets) return write_tree(f, put, user, err);
    bool ok = write_tree(f, put_late, &l, err);
    pdl_buf_fini(&l.redactor.held);
    return ok;
}

bool pdl_fold_put_buf(void *user, pdl_str piece, pdl_err *err) {
    return pdl_buf_add(user, piece, err);
}

bool pdl_fold_json(pdl_fold *f, pdl_buf *out, pdl_err *err) {
    return pdl_fold_write(f, pdl_fold_put_buf, out, err);
}
