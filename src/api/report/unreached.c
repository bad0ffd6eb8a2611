/* unreached.c -- finds the blocks that explain could not reach; see explain.h.
 *
 * A waiting fiber is inside a chain of blocks. Parts of these blocks that were never entered would
 * be executed after the place where the fiber waits. Exceptions are the other branch of a decision,
 * a fallback, and the body of a function. The parts are reported with the reason why the fiber
 * waits. When several fibers wait before a part, it is reported once, with the reason of the first
 * fiber.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/report/explain.h"

#include "base/map.h"
#include "lang/walk.h"

#include "base/banned.h"

/* A set of blocks. The keys of the map are the bytes of pointers to blocks, which it borrows. */
struct pdl_reached {
    pdl_arena *arena;
    pdl_map blocks;
};

static pdl_str key_of(const pdl_block *const *b) {
    return (pdl_str){(const char *)(const void *)b, sizeof *b};
}

static bool has(const pdl_map *m, const pdl_block *b) {
    return pdl_map_find(m, key_of(&b)) != NULL;
}

static void note(pdl_arena *a, pdl_map *m, const pdl_block *b) {
    if (has(m, b)) return;
    pdl_map_put(m, pdl_arena_str(a, key_of(&b)), a);
}

pdl_reached *pdl_reached_new(void) {
    pdl_reached *r = PDL_NEW(pdl_reached);
    r->arena = pdl_arena_make();
    return r;
}

void pdl_reached_free(pdl_reached *r) {
    if (!r) return;
    pdl_map_fini(&r->blocks);
    pdl_arena_free(r->arena);
    pdl_free(r);
}

static void on_event(void *user, const pdl_event *e) {
    pdl_reached *r = user;
    if (e->kind == PDL_EVENT_block_begin) note(r->arena, &r->blocks, e->block);
}

pdl_sink pdl_reached_sink(pdl_reached *r) { return (pdl_sink){r, on_event, true}; }

/* --- the blocks after the place --------------------------------------------------------------- */

typedef struct search {
    const pdl_world *world;
    const pdl_reached *reached;
    pdl_arena *arena;
    pdl_map reported;        /* the blocks in `list` */
    pdl_val seen;            /* dict: place and reason -> the entry of not_known */
    pdl_val list;            /* the list not_reached */
    const pdl_block *parent; /* the block whose parts are being examined */
    /* the part in which the fiber waits; NULL when the fiber waits in the parent itself */
    const pdl_block *inner;
    pdl_vref why;
} search;

static pdl_val with_place(pdl_loc at, size_t more) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(2 + more), "file", pdl_text(at.src->name));
    return pdl_dict_putz(d, "line", pdl_int(pdl_loc_line(at)));
}

typedef struct count {
    int64_t n;
    /* The fallback of the block whose parts are counted: it runs only on failure. */
    const pdl_block *fallback;
} count;

static void count_models(void *user, const pdl_block *b) {
    count *c = user;
    const pdl_block *outer = c->fallback;
    if (b == outer) return;
    c->n += b->kind == PDL_BLOCK_model;
    c->fallback = b->rare->fallback;
    pdl_block_each_child(b, count_models, c);
    c->fallback = outer;
}

/* Returns true when another branch of the block was taken, so that this branch is never
 * executed. */
static bool is_other_branch(const search *s, const pdl_block *child) {
    if (!s->inner) return false;
    if (s->parent->kind == PDL_BLOCK_if) {
        const pdl_b_if *b = PDL_AS(if, s->parent);
        bool taken = s->inner == b->then_ || s->inner == b->else_;
        return taken && (child == b->then_ || child == b->else_);
    }
    bool taken = false, other = false;
    for (uint32_t i = 0;
         s->parent->kind == PDL_BLOCK_match && i < PDL_AS(match, s->parent)->cases.n; i++) {
        taken = taken || PDL_AS(match, s->parent)->cases.p[i].then == s->inner;
        other = other || PDL_AS(match, s->parent)->cases.p[i].then == child;
    }
    return taken && other;
}

static void look_at(void *user, const pdl_block *child) {
    search *s = user;
    bool asks_nothing = child->kind == PDL_BLOCK_scalar || child->kind == PDL_BLOCK_data ||
                        child->kind == PDL_BLOCK_get || child->kind == PDL_BLOCK_empty ||
                        child->kind == PDL_BLOCK_function;
    if (asks_nothing || child == s->parent->rare->fallback ||
        s->parent->kind == PDL_BLOCK_function || !child->loc.src)
        return;
    if (has(&s->reached->blocks, child) || has(&s->reported, child) || is_other_branch(s, child))
        return;
    count models = {0};
    count_models(&models, child);
    note(s->arena, &s->reported, child);
    pdl_val d = with_place(child->loc, 4);
    d = pdl_dict_putz(d, "column", pdl_int(pdl_source_column(child->loc.src, child->loc.start)));
    d = pdl_dict_putz(d, "kind", pdl_textz(pdl_block_name(child->kind)));
    d = pdl_dict_putz(d, "models", pdl_int(models.n));
    s->list = pdl_list_push(s->list, pdl_dict_putz(d, "waits_for", pdl_keep(s->why)));
}

static void on_wait(void *user, const pdl_wait *w) {
    search *s = user;
    pdl_val why = pdl_explain_reason(s->world, w->effect);
    if (pdl_is_absent(why) || !w->at.src) {
        pdl_drop(why);
        return;
    }
    pdl_val key = pdl_textf("%.*s:%u %.*s", PDL_FMT(w->at.src->name), pdl_loc_line(w->at),
                            PDL_FMT(pdl_str_get(why)));
    s->seen =
        pdl_dict_put(s->seen, key, pdl_dict_putz(with_place(w->at, 1), "waits_for", pdl_keep(why)));
    s->why = why;
    for (size_t i = 0; i < w->n_blocks; i++) {
        s->parent = w->blocks[i];
        s->inner = i ? w->blocks[i - 1] : NULL;
        pdl_block_each_child(s->parent, look_at, s);
    }
    pdl_drop(why);
}

pdl_val pdl_explain_waits(const pdl_world *w, const pdl_run *run, const pdl_reached *r,
                          pdl_val notes) {
    search s = {.world = w,
                .reached = r,
                .arena = pdl_arena_make(),
                .seen = pdl_dict_new(4),
                .list = pdl_list_new(4)};
    if (run) pdl_run_each_wait(run, on_wait, &s);
    pdl_val known = pdl_list_new(pdl_dict_len(s.seen));
    for (size_t i = 0; i < pdl_dict_len(s.seen); i++)
        known = pdl_list_push(known, pdl_keep(pdl_dict_val_at(s.seen, i)));
    pdl_drop(s.seen);
    pdl_map_fini(&s.reported);
    pdl_arena_free(s.arena);
    return pdl_dict_putz(pdl_dict_putz(notes, "not_known", known), "not_reached", s.list);
}
