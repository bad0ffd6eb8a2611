/* test_worker_cancel.c -- blocks that are cancelled at any moment of their life. Skipped without a
 * python3 on PATH.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "worker_kit.h"

#include "base/banned.h"

static void a_cancelled_block_ends(void **state) {
    (void)state;
    block("PDL_SESSION.n = 1\nresult = 0", NULL);
    uint32_t id = start_code("python", "while True: pass", NULL);
    pdl_loop_run(t.loop, 20);
    t.world->ops->cancel(t.world, id);
    t.world->ops->cancel(t.world, 12345);
    t_assert_str(t_str(block("result = PDL_SESSION.n", NULL)), "1");
}

/* A block is cancelled at a moment of its life, from before it is read to long after it began: the
 * next one must not notice. The moments are spread over 5 ms by a fixed sequence. */
static void blocks_are_given_up_at_any_moment(void **state) {
    static const char *const codes[] = {
        "while True: pass",
        "while True: print('x' * 50)",
        "while True: f(1)",
        "import time\nwhile True: time.sleep(0.001)",
        "import os\nos.system('sleep 10')",
        "while True:\n  try: f(1)\n  except ValueError: pass",
    };
    uint64_t x = 1;
    (void)state;
    block("PDL_SESSION.n = 7\nresult = 0", NULL);
    for (size_t i = 0; i < 150; i++) {
        T_ROW(i);
        uint32_t id = start_code("python", codes[i % T_LEN(codes)], NULL);
        uint32_t waiting = i % 5 == 0 ? start_code("python", codes[0], NULL) : 0;
        x = x * 6364136223846793005u + 1442695040888963407u;
        uint64_t until = pdl_clock_ns() + (x >> 33) % 5000000 / (1 + i % 10);
        while (pdl_clock_ns() < until) pdl_loop_run(t.loop, 0);
        t.world->ops->cancel(t.world, id);
        if (waiting) t.world->ops->cancel(t.world, waiting);
        t_assert_str(t_str(block("result = PDL_SESSION.n", NULL)), "7");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_WORLD(a_cancelled_block_ends),
        IN_WORLD(blocks_are_given_up_at_any_moment),
    };
    return has_python() ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
