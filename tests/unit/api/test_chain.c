/* test_chain.c -- compares the worlds that a run got with chain.def: which rows it has, and in
 * which order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/session/session_impl.h"

#include "base/banned.h"

enum {
    POLICY = 1,
    CACHE = 2,
    RECORD = 4,
    DURABLE = 8,
    REPLAY = 16,
    EXPLAIN = 32,
    UNCHECKED = 64,
    MEMBER = 128,
    FILLED = 256, /* the cache is a file already */
    HELD = 512    /* output waits for the file of the durable run */
};

static const struct {
    unsigned asked;
    const char *rows;
} rows[] = {
    {0, "budget precheck answer"},
    {UNCHECKED, "budget answer"},
    {POLICY, "policy budget precheck answer"},
    {POLICY | CACHE, "policy cache budget precheck answer"},
    {RECORD | CACHE | UNCHECKED, "record cache budget answer"},
    {POLICY | DURABLE, "policy durable budget precheck answer"},
    {DURABLE | HELD, "durable output budget precheck answer"},
    {DURABLE | CACHE | RECORD, "durable record cache budget precheck answer"},
    {POLICY | DURABLE | RECORD | CACHE | MEMBER,
     "policy durable record cache budget precheck jobs answer"},
    {REPLAY, "record"}, /* nothing can go out */
    {POLICY | REPLAY | CACHE, "policy record"},
    {EXPLAIN, "explain answer"},
    {EXPLAIN | POLICY | CACHE, "policy explain answer"}, /* it makes no file */
    {EXPLAIN | POLICY | CACHE | FILLED, "policy cache explain answer"},
};

static char folder[64];

static pdl_str path_of(const char *name, size_t row, char out[128]) {
    snprintf(out, 128, "%s/%s%zu", folder, name, row);
    return t_str(out);
}

static pdl_session *session_of(const pdl_session_options *o) {
    pdl_session *s = NULL;
    pdl_err err = {0};
    if (!pdl_session_new(o, &s, &err)) fail_msg("%s", err.msg);
    return s;
}

/* A recording of a program that does nothing. A session that starts no program leaves none. */
static void record(pdl_str path) {
    pdl_session *s = session_of(&(pdl_session_options){.files.record = path});
    const pdl_program *program;
    assert_true(pdl_session_load(s, PDL_STR("a"), &program));
    pdl_session_start(s);
    pdl_session_free(s);
}

static pdl_durable *durable_of(pdl_str path) {
    pdl_durable *d = NULL;
    pdl_err err = {0};
    pdl_buf note = PDL_BUF;
    if (!pdl_durable_create(path, false, &d, &note, &err)) fail_msg("%s", err.msg);
    pdl_buf_fini(&note);
    return d;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where) {
    (void)st;
    (void)kind;
    (void)where;
    return remove(path);
}

static bool waits(void *user) {
    (void)user;
    return true;
}

static uint64_t write_held(void *user) {
    (void)user;
    return 7;
}

/* The order is that of the table, whatever is asked for. */
static void rows_of_the_table(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/pdl_chain_XXXXXX");
    t_assert(mkdtemp(folder));
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        unsigned asked = rows[i].asked;
        char record_file[128], cache_file[128], run_file[128], policy_file[128];
        pdl_str policy = path_of("policy.yaml", i, policy_file);
        pdl_session *engine = NULL;
        pdl_durable *d = NULL;
        pdl_val inputs = pdl_absent();
        FILE *f = fopen(policy_file, "w");
        t_assert(f && fputs("policy: 1\notherwise: allow\n", f) >= 0 && !fclose(f));
        pdl_session_options o = {
            .run = {.explain = asked & EXPLAIN, .unchecked = asked & UNCHECKED}};
        if (asked & POLICY) {
            o.guards.policies = &policy;
            o.guards.n_policies = 1;
        }
        if (asked & CACHE) o.files.cache = path_of("cache", i, cache_file);
        if (asked & FILLED)
            pdl_session_free(session_of(&(pdl_session_options){.files.cache = o.files.cache}));
        if (asked & RECORD) o.files.record = path_of("record", i, record_file);
        if (asked & REPLAY) record(o.files.replay = path_of("record", i, record_file));
        if (asked & MEMBER) o.host.shared = engine = session_of(&(pdl_session_options){0});
        pdl_session *s = session_of(&o);
        if (asked & DURABLE) {
            d = durable_of(path_of("run", i, run_file));
            if (asked & HELD)
                pdl_session_hold_output(s, &(pdl_held_output){NULL, waits, write_held});
            pdl_err err = {0};
            t_assert(pdl_session_resume_durable(s, d, &(pdl_durable_options){0}, pdl_absent(),
                                                &inputs, &err));
        }
        assert_null(s->chain.first); /* not before the policies of the program are known */
        pdl_buf got = PDL_BUF;
        pdl_chain_put_names(pdl_session_chain(s), &got);
        t_assert_str(pdl_buf_str(&got), rows[i].rows);
        t_assert(pdl_chain_ok(&s->chain));
        pdl_buf_fini(&got);
        pdl_session_free(s);
        pdl_session_free(engine);
        pdl_durable_close(d);
        pdl_drop(inputs);
    }
    t_assert(!nftw(folder, remove_one, 4, FTW_DEPTH | FTW_PHYS));
}

/* What is before a row that is not there is followed by the next one that is. */
static void neighbours(void **state) {
    (void)state;
    pdl_session *s = session_of(&(pdl_session_options){0});
    const pdl_chain *c = pdl_session_chain(s);
    t_assert(c->first == c->rows[PDL_CHAIN_budget]);
    t_assert(pdl_chain_after(c, PDL_CHAIN_policy) == c->rows[PDL_CHAIN_budget]);
    t_assert(pdl_chain_after(c, PDL_CHAIN_budget) == c->rows[PDL_CHAIN_precheck]);
    t_assert(pdl_chain_after(c, PDL_CHAIN_precheck) == c->rows[PDL_CHAIN_answer]);
    t_assert(!pdl_chain_after(c, PDL_CHAIN_answer));
    pdl_session_free(s);
}

static bool always(pdl_world *w, const pdl_effect *e) {
    (void)w;
    (void)e;
    return true;
}

static uint64_t some(pdl_world *w) {
    (void)w;
    return 7;
}

static bool holds(pdl_world *w) {
    (void)w;
    return true;
}

static unsigned n_charged;
static void charge(pdl_world *w, const pdl_effect *e, const pdl_reply *reply) {
    (void)w;
    (void)e;
    (void)reply;
    n_charged++;
}

/* What a world may leave out is found at any later world of the chain, and nowhere without one. */
static void members_that_may_be_left_out(void **state) {
    (void)state;
    const pdl_effect *e = NULL; /* no world here looks at it */
    static const pdl_world_ops none = {0};
    static const pdl_world_ops all = {
        .may_repeat = always, .charge = charge, .has_output = holds, .put_output = some};
    pdl_world last = {&all, NULL}, middle = {&none, &last}, first = {&none, &middle};
    pdl_world alone = {&none, NULL};
    t_assert(pdl_world_may_repeat(&first, e));
    t_assert(pdl_world_has_output(&first));
    t_assert(pdl_world_put_output(&first) == 7);
    pdl_world_charge(&first, e, NULL);
    t_assert(n_charged == 1);
    t_assert(!pdl_world_may_repeat(&alone, e));
    t_assert(!pdl_world_may_repeat(NULL, e));
    t_assert(!pdl_world_has_output(&alone));
    t_assert(pdl_world_put_output(&alone) == 0);
    pdl_world_charge(&alone, e, NULL);
    t_assert(n_charged == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_of_the_table),
                                       cmocka_unit_test(neighbours),
                                       cmocka_unit_test(members_that_may_be_left_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
