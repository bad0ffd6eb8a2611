/* test_worker_process.c -- a Python process that dies, breaks its connection or forks, and what it
 * leaves behind. Skipped without a python3 on PATH.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "worker_kit.h"

#include "base/banned.h"

static void a_dead_process_is_replaced(void **state) {
    (void)state;
    block("result = object()", NULL);
    const char *msg = "code: Python Code error: the Python process ended unexpectedly (signal 9) "
                      "[RuntimeError,Exception] ";
    t_assert_str(t_str(block("import os\nos.kill(os.getpid(), 9)", NULL)), msg);
    assert_true(pdl_str_starts(t_str(block("result = kept", NULL)),
                               PDL_STR("expression: the object of class object is gone")));
    pdl_drop(t.kept);
    t.kept = pdl_absent();
    t_assert_str(t_str(block("result = 'again'", NULL)), "'again'");
}

/* Code that breaks the process or what connects it: one error, and the next block finds a new
 * process. */
static const struct {
    const char *code, *want;
} breakers[] = {
    {"import os\nos._exit(3)", ENDED "ended unexpectedly (status 3)"},
    {"import os\nos.abort()", ENDED "ended unexpectedly (signal 6)"},
    {"import os\nos.write(4, b'junk of some length')",
     ENDED "wrote what is no message on descriptor 4"},
    {"import os\nos.write(4, b'\\xff\\xff\\xff\\xff{')", "code: Python Code error: a message of"},
    {"import os\nos.write(4, b'\\0\\0\\0\\2{]')", "code: Python Code error: "},
    {"import os\nos.write(4, b'\\0\\0\\0\\2[]')", ENDED "sent a message that is not an object"},
    {"import os\nos.write(4, b'\\0\\0\\0\\2\\xff\\xfe')", ENDED "sent text that is not UTF-8"},
    {"import os\nos.write(4, b'\\0\\0\\0\\4{')\nos._exit(0)",
     ENDED "ended unexpectedly (status 0)"},
    {"import os, time\nos.closerange(0, 64)\ntime.sleep(100)", ENDED "closed descriptor 4"},
    {"import os, time\nos.close(4)\ntime.sleep(100)", ENDED "closed descriptor 4"},
    {"import os\nif os.fork() == 0:\n  os.setpgid(0, 0)\n  os._exit(0)\nos.closerange(3, 5)",
     ENDED},
    {"import ctypes\nctypes.string_at(0)", ENDED "ended unexpectedly (signal 11)"},
};

static void a_broken_process_is_one_error(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(breakers); i++) {
        T_ROW(i);
        uint64_t start_ns = pdl_clock_ns();
        t_assert_str(pdl_str_sub(t_str(block(breakers[i].code, NULL)), 0, strlen(breakers[i].want)),
                     breakers[i].want);
        assert_true(pdl_clock_ns() - start_ns < 10000000000u);
        t_assert_str(t_str(block("result = 1", NULL)), "1");
    }
}

/* What a block leaves behind: forks that continue with the code, children, threads. */
static void forks_do_not_disturb(void **state) {
    (void)state;
    t_assert_str(t_str(block("import os\nfor _ in range(4): os.fork()\nresult = 1", NULL)), "1");
    t_assert_str(t_str(block("import os\npid = os.fork()\nif pid == 0:\n  print('child', "
                             "flush=True)\n  os._exit(0)\nos.waitpid(pid, 0)\nresult = 2",
                             NULL)),
                 "2");
    t_assert_str(pdl_buf_str(&t.out), "child\n");
    t_assert_str(
        t_str(block("import multiprocessing as m\np = m.get_context('fork').Pool(2)\nresult = "
                    "p.map(abs, [-1, 2])\np.terminate()",
                    NULL)),
        "[1, 2]");
    t_assert_str(t_str(block("result = 3", NULL)), "3");
}

static int sleeper;

/* Does it run? One that nobody has collected yet does not. */
static bool sleeper_runs(void) {
    char path[40], line[200] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", sleeper);
    FILE *f = fopen(path, "re");
    if (!f) return false;
    size_t n = fread(line, 1, sizeof line - 1, f);
    fclose(f);
    return n && !strstr(line, ") Z");
}

static void assert_gone(void) {
    for (int i = 0; i < 200 && sleeper_runs(); i++) wait_10_ms();
    assert_false(sleeper_runs());
}

static void start_sleeper(const char *end) {
    char code[300];
    snprintf(code, sizeof code,
             "import os, subprocess\np = subprocess.Popen(['sleep', '100'])\nprint(p.pid, "
             "flush=True)\n%s",
             end);
    block(code, NULL);
    sleeper = (int)strtol(pdl_buf_z(&t.out), NULL, 10);
    assert_true(sleeper > 1);
}

static void what_code_started_ends_with_its_process(void **state) {
    (void)state;
    start_sleeper("os._exit(1)");
    assert_gone();
    start_sleeper("os.kill(os.getpid(), 9)");
    assert_gone();
    start_sleeper("result = 1");
    assert_true(sleeper_runs());
    t.world->ops->close(t.world);
    t.world = pdl_worker_world_new(t.loop, NULL);
    assert_gone();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_WORLD(a_dead_process_is_replaced),
        IN_WORLD(a_broken_process_is_one_error),
        IN_WORLD(forks_do_not_disturb),
        IN_WORLD(what_code_started_ends_with_its_process),
    };
    return has_python() ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
