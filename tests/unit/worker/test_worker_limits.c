/* test_worker_limits.c -- blocks that reach a limit: of time, of memory, or of the time to end.
 * Skipped without a python3 on PATH.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "worker_kit.h"

#include "base/banned.h"

/* It has two seconds to end; what waits for its turn then is reported. */
static void a_block_that_cannot_be_interrupted_is_ended(void **state) {
    (void)state;
    pdl_buf_clear(&t.out);
    uint32_t id = start_code("python",
                             "while True:\n  try:\n    print('x')\n    while True: pass\n  except "
                             "KeyboardInterrupt: pass",
                             NULL);
    while (!t.out.len) t.world->ops->poll(t.world, -1);
    t.world->ops->cancel(t.world, id);
    t_assert_str(t_str(block("result = 1", NULL)),
                 ENDED "was ended: a cancelled block did not end [RuntimeError,Exception] ");
    t_assert_str(t_str(block("result = 1", NULL)), "1");
}

/* Runs a block that ends at once. It has the limit of the world, too, and on a machine under load
 * the new Python process may take longer than that to start; the block is then run again. */
static void the_next_block_runs(void) {
    const char *got = block("result = 1", NULL);
    for (int i = 0; i < 30 && strstr(got, "TimeoutError"); i++) got = block("result = 1", NULL);
    t_assert_str(t_str(got), "1");
}

static void blocks_have_limits(void **state) {
    (void)state;
    pdl_world *before = t.world;
    t.world = pdl_worker_world_new(t.loop, &(pdl_worker_options){.max_memory = (size_t)1 << 30});
    assert_non_null(strstr(block("x = bytearray(1 << 31)", NULL),
                           "MemoryError [MemoryError,Exception] line 1"));
    t_assert_str(t_str(block("result = 1", NULL)), "1");
    t.world->ops->close(t.world);
    t.world = pdl_worker_world_new(t.loop, &(pdl_worker_options){.time_limit_ms = 1500});
    t_assert_str(t_str(block("while True: pass", NULL)),
                 "code: Python Code error: TimeoutError: the block ran longer than 1.5 seconds "
                 "[TimeoutError,OSError,Exception] ");
    the_next_block_runs();
    pdl_val argv;
    pdl_err err = {0};
    assert_true(pdl_json_read(PDL_STR("[\"sleep\", \"100\"]"), 0, &argv, NULL, &err));
    pdl_buf_clear(&t.got);
    start(PDL_EFFECT_command, pdl_dict_putz(pdl_dict_new(1), "argv", argv),
          (pdl_effect_sink){.user = NULL, .piece = NULL, .reply = on_reply});
    run();
    t_assert_str(pdl_buf_str(&t.got),
                 "code: Shell Code error: TimeoutExpired: the command ran longer than 1.5 seconds "
                 "[TimeoutExpired,SubprocessError,Exception] ");
    t.world->ops->close(t.world);
    t.world = before;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_WORLD(a_block_that_cannot_be_interrupted_is_ended),
        IN_WORLD(blocks_have_limits),
    };
    return has_python() ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
