/* test_live.c -- how many boxes are made for a run in progress, and when.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "lang/load.h"
#include "trace/delayed_events.h"
#include "trace/fold.h"
#include "viewer/live.h"

#include "base/banned.h"

enum { BLOCKS = 6000, EVENTS = 2 * BLOCKS + 1 };

typedef struct watched {
    pdl_program *program;
    pdl_fold *fold;
    pdl_later *later;
    pdl_live *live;
    pdl_sinks sinks;
} watched;

static pdl_later *later_of(const void *user) { return ((const watched *)user)->later; }

static watched *watched_new(void) {
    watched *w = PDL_NEW(watched);
    bool ok;
    pdl_sink out, kept;
    w->program = pdl_program_new();
    pdl_program_load(w->program, PDL_STR("t.pdl"), PDL_STR("text: a"), &ok);
    t_assert(ok);
    w->fold = pdl_fold_new(w->program, NULL, NULL);
    w->live = pdl_live_new(NULL, NULL);
    w->later = pdl_later_new(pdl_fold_sink(w->fold));
    pdl_live_listen_later(w->live, later_of, w, &out, &kept);
    pdl_later_follow(w->later, kept);
    pdl_sinks_add(&w->sinks, out);
    pdl_sinks_add(&w->sinks, pdl_later_sink(w->later));
    return w;
}

static void watched_free(watched *w) {
    pdl_live_free(w->live);
    pdl_later_free(w->later);
    pdl_fold_free(w->fold);
    pdl_program_drop(w->program);
    pdl_free(w);
}

static void send(watched *w, pdl_event_kind kind) {
    pdl_event e = {.kind = kind,
                   .fiber = 1,
                   .block = w->program->main,
                   .program = w->program,
                   .value = pdl_absent(),
                   .context = pdl_absent()};
    pdl_sinks_send(&w->sinks, &e);
}

/* A block with many blocks in it, of which the last has not ended. */
static void run_blocks(watched *w) {
    send(w, PDL_EVENT_block_begin);
    for (size_t i = 0; i < BLOCKS; i++) {
        send(w, PDL_EVENT_block_begin);
        if (i + 1 < BLOCKS) send(w, PDL_EVENT_block_end);
    }
}

/* Nobody watches: no boxes are made, but the events are counted. */
static void makes_no_boxes_without_pages(void **state) {
    (void)state;
    watched *w = watched_new();
    run_blocks(w);
    assert_int_equal(pdl_live_changes(w->live), 0);
    assert_int_equal(pdl_live_events(w->live), EVENTS - 1);
    watched_free(w);
}

/* The run has computed since the last list of changes: only some boxes are made. When nothing has
 * happened since, the rest is made. */
static void makes_few_boxes_while_the_run_computes(void **state) {
    (void)state;
    watched *w = watched_new();
    run_blocks(w);
    pdl_live_gather(w->live);
    size_t some = pdl_live_changes(w->live);
    t_assert(some > 0 && some < BLOCKS / 2);
    send(w, PDL_EVENT_block_end);
    pdl_live_gather(w->live);
    t_assert(pdl_live_changes(w->live) < BLOCKS);
    pdl_live_gather(w->live);
    assert_int_equal(pdl_live_changes(w->live), BLOCKS + 1);
    watched_free(w);
}

/* A piece belongs to a block that has begun, so the boxes are made before it. */
static void makes_all_boxes_before_a_piece(void **state) {
    (void)state;
    watched *w = watched_new();
    run_blocks(w);
    send(w, PDL_EVENT_piece);
    assert_int_equal(pdl_live_changes(w->live), BLOCKS + 1);
    watched_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_no_boxes_without_pages),
        cmocka_unit_test(makes_few_boxes_while_the_run_computes),
        cmocka_unit_test(makes_all_boxes_before_a_piece),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
