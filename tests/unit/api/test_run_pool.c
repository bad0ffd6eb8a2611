/* test_run_pool.c -- slots of a pool of runs: which slot is taken next, that a run in the slot of
 * an ended run is stepped at once, the resources that runs use, and the failure of runs that wait
 * in vain.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "api/hooks.h"
#include "api/run_pool.h"
#include "effect/budget.h"
#include "lang/load.h"

#include "base/banned.h"

enum { SLOTS = 3 };

/* A pool and what was reported of it. */
typedef struct pool_case {
    pdl_session *session;
    pdl_program *program;
    pdl_code *code;
    pdl_run_pool *pool;
    pdl_request *asked; /* the last question; nobody answers */
    uint32_t more;      /* runs that begin in the slots of others */
    char log[64];
    size_t n_log;
} pool_case;

static void log_slot(pool_case *c, uint32_t slot, pdl_step step) {
    assert_true(c->n_log + 2 < sizeof c->log);
    c->log[c->n_log++] = (char)('0' + slot);
    c->log[c->n_log++] = step == PDL_STEP_DONE ? 'd' : step == PDL_STEP_FAIL ? 'f' : 'h';
    c->log[c->n_log] = 0;
}

static void begin(pool_case *c) {
    uint32_t slot = pdl_run_pool_take(c->pool);
    pdl_run_pool_begin(c->pool, slot, (pdl_spawn){.code = c->code, .variables = pdl_absent()});
}

static bool stepped(void *user, uint32_t slot, pdl_step step, pdl_err *err) {
    pool_case *c = user;
    (void)err;
    log_slot(c, slot, step);
    pdl_run_pool_end(c->pool, slot);
    if (c->more && c->more--) begin(c);
    return true;
}

static void on_input(void *user, pdl_request *r) {
    pool_case *c = user;
    c->asked = r;
}

static pool_case *open_case(const char *text, pdl_hook *hook) {
    pool_case *c = PDL_NEW(pool_case);
    pdl_session_options o = {0};
    pdl_err err = {0};
    bool loads;
    *hook = (pdl_hook){PDL_EFFECT_input, {"", 0}, on_input, c};
    o.host.hooks = hook;
    o.host.n_hooks = 1;
    assert_true(pdl_session_new(&o, &c->session, &err));
    c->program = pdl_program_new();
    pdl_program_load(c->program, PDL_STR("p.pdl"), t_str(text), &loads);
    assert_true(loads);
    c->code = pdl_session_compile(c->session, c->program);
    c->pool = pdl_run_pool_new(&(pdl_run_pool_options){
        .session = c->session, .n = SLOTS, .counts_cost = true, .stepped = stepped, .user = c});
    return c;
}

static void close_case(pool_case *c) {
    pdl_run_pool_free(c->pool);
    pdl_code_drop(c->code);
    pdl_session_free(c->session);
    pdl_program_drop(c->program);
    pdl_free(c);
}

static void test_slots(void **state) {
    pdl_hook hook;
    pdl_err err = {0};
    pool_case *c = open_case("data: 1\n", &hook);
    (void)state;
    assert_int_equal(SLOTS, pdl_run_pool_room(c->pool));
    begin(c);
    begin(c);
    assert_int_equal(1, pdl_run_pool_room(c->pool));
    assert_int_equal(2, pdl_run_pool_open(c->pool));
    assert_true(pdl_run_pool_is_ready(c->pool));
    c->more = 2;
    assert_true(pdl_run_pool_step(c->pool, &err));
    assert_string_equal("0d0d0d1d", c->log); /* those that began in slot 0 were stepped at once */
    assert_int_equal(0, pdl_run_pool_open(c->pool));
    assert_int_equal(SLOTS, pdl_run_pool_room(c->pool));
    assert_false(pdl_run_pool_is_ready(c->pool));
    assert_true(pdl_run_pool_wait(c->pool, 0)); /* nothing waits */
    close_case(c);
}

/* A run that waits when its pool is freed ends with it. */
static void test_waiting(void **state) {
    pdl_hook hook;
    pdl_err err = {0};
    pool_case *c = open_case("read:\nmessage: Name\n", &hook);
    (void)state;
    begin(c);
    assert_true(pdl_run_pool_step(c->pool, &err));
    assert_true(pdl_run_pool_wait(c->pool, 0));
    assert_non_null(c->asked);
    assert_int_equal(1, pdl_run_pool_open(c->pool));
    assert_string_equal("", c->log);
    assert_int_equal(0, pdl_run_pool_use(c->pool, 0).calls);
    pdl_run_pool_give_up(c->pool, "no answer can come");
    assert_true(pdl_run_pool_step(c->pool, &err));
    assert_string_equal("0f", c->log);
    pdl_request_decline(c->asked);
    begin(c);
    assert_true(pdl_run_pool_step(c->pool, &err));
    assert_true(pdl_run_pool_wait(c->pool, 0));
    pdl_request *asked = c->asked;
    close_case(c); /* ends the run */
    pdl_request_decline(asked);
}

static void test_spent(void **state) {
    static const double most[PDL_BUDGET_COUNT] = {-1, -1, -1, -1, -1};
    pdl_budget *b = pdl_budget_new(most, NULL, (pdl_loc){0});
    pdl_err e = {.kind = PDL_E_budget};
    (void)state;
    pdl_run_pool *p = pdl_run_pool_new(&(pdl_run_pool_options){.n = 1, .budget = b});
    assert_false(pdl_run_pool_is_spent(p, &e)); /* not a budget with numbers */
    e.facts.has_budget = true;
    assert_true(pdl_run_pool_is_spent(p, &e));
    e.facts.budget_depth = 1; /* a budget in the program */
    assert_false(pdl_run_pool_is_spent(p, &e));
    pdl_run_pool_free(p);
    pdl_budget_drop(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slots),
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_spent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
