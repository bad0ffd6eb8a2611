/* memory.c -- running out of memory becomes an error of the program.
 *
 * Every allocation may fail, but code that handled each failure would be most of the code and never
 * be tested. So allocation never fails for its caller (base/alloc.h). There is a reserve of memory,
 * which is released when malloc fails. The next block, call or turn of a loop then raises an
 * ordinary error with its place. When even the reserve was not enough, the process ends, and its
 * last message names the place. The runs of one session take turns, so one reserve serves them all.
 * With a reserve for each, the 2000 runs of a batch would need 4 GB of address space.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>

#include "base/termsafe.h"
#include "vm/fiber.h"
#include "vm/run.h"

#include "base/banned.h"

enum {
    RESERVE =
        2 *
        /* Enough memory for one instruction (large requests are checked before) and for ending the
         * program. */
        PDL_ALLOC_LARGE,
    WORDS = 1 << 16, /* bytes of the last message */
};

struct pdl_reserve {
    void *memory, *words; /* NULL after their release */
    uint32_t refs;
};

pdl_reserve *pdl_reserve_new(void) {
    pdl_reserve *v = PDL_NEW(pdl_reserve);
    v->refs = 1;
    return v;
}

pdl_reserve *pdl_reserve_keep(pdl_reserve *v) {
    v->refs++;
    return v;
}

void pdl_reserve_drop(pdl_reserve *v) {
    if (!v || --v->refs) return;
    pdl_free(v->memory);
    pdl_free(v->words);
    pdl_free(v);
}

/* Fails when the budget of the running fiber has no seconds left. */
static bool check_run_time(void *user, pdl_err *err) {
    const pdl_run *r = user;
    return !r->fibers.current || !r->fibers.current->budget ||
           pdl_budget_check_clock(r->fibers.current->budget, err);
}

void pdl_run_memory_open(pdl_run *r) {
    r->memory.scratch = pdl_arena_make();
    r->memory.reserve = r->opt.reserve ? pdl_reserve_keep(r->opt.reserve) : pdl_reserve_new();
    r->memory.cancel = (pdl_cancel){r->opt.cancel, check_run_time, r};
}

void pdl_run_memory_end(pdl_run_memory *m) {
    pdl_arena_free(m->scratch);
    pdl_reserve_drop(m->reserve);
}

bool pdl_run_memory_ok(const pdl_run_memory *m) {
    return m->scratch && m->reserve && m->reserve->refs;
}

/* This is the member `give` of pdl_alloc_watch. */
static bool release_reserve(void *user, size_t n) {
    pdl_run *r = user;
    if (!r->memory.reserve->memory) return false;
    pdl_free(r->memory.reserve->memory);
    r->memory.reserve->memory = NULL;
    r->memory.failed_size = n;
    r->fibers.turns = UINT32_MAX - 1;
    return true;
}

/* This is the member `last_words` of pdl_alloc_watch. */
static void report_oom(void *user, size_t n) {
    pdl_run *r = user;
    pdl_err err = {0};
    pdl_buf b = PDL_BUF;
    pdl_free(r->memory.reserve->words);
    r->memory.reserve->words = NULL;
    pdl_loc at = r->fibers.current ? pdl_fiber_loc(r->fibers.current) : (pdl_loc){0};
    pdl_err_set(&err, PDL_E_limit, at, "%sout of memory (%zu bytes asked for)",
                at.src ? "" : "pdl: error: ", n);
    pdl_err_print(&err, true, &b);
    fflush(stdout); /* earlier output comes first */
    (void)pdl_write_termsafe(stderr, pdl_buf_str(&b));
}

pdl_alloc_watch pdl_run_watch(pdl_run *r) {
    pdl_reserve *v = r->memory.reserve;
    if (!v->memory && !r->memory.failed_size) v->memory = pdl_alloc_try(RESERVE);
    if (!v->words) v->words = pdl_alloc_try(WORDS);
    return pdl_alloc_set_watch((pdl_alloc_watch){release_reserve, report_oom, r});
}

bool pdl_run_raise_oom(pdl_run *r, pdl_err *err) {
    size_t n = r->memory.failed_size;
    r->memory.failed_size = 0;
    return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "out of memory (%zu bytes asked for)", n);
}
