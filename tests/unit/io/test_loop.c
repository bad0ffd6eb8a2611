/* test_loop.c -- timers, watches, wake-up, child processes, signals.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/loop.h"

#include <signal.h>
#include <unistd.h>

#include "io/clock.h"
#include "io/proc.h"
#include "io/signal_watch.h"
#include "io/tty.h"
#include "t.h"

#include "base/banned.h"

static void count(void *user) { ++*(int *)user; }

static void test_timers(void **state) {
    (void)state;
    pdl_loop *l = pdl_loop_new();
    int a = 0, b = 0;
    assert_false(pdl_loop_run(l, -1)); /* nothing open: does not wait */
    uint64_t t0 = pdl_clock_ns();
    pdl_timer_start(l, 20, count, &a);
    pdl_timer *stopped = pdl_timer_start(l, 1, count, &b);
    pdl_timer_stop(stopped);
    assert_true(pdl_loop_is_open(l));
    assert_true(pdl_loop_run(l, 1)); /* too short */
    while (pdl_loop_run(l, -1)) continue;
    assert_int_equal(a, 1);
    assert_int_equal(b, 0);
    assert_true(pdl_clock_ns() - t0 >= 19000000);
    pdl_loop_free(l);
}

typedef struct again {
    pdl_loop *l;
    pdl_timer *t;
    int n;
} again;

static void on_again(void *user) {
    again *a = user;
    a->n++;
    uint64_t t0 = pdl_clock_ns();
    while (pdl_clock_ns() - t0 < 2000000) continue; /* longer than libuv's clock is fine */
    a->t = pdl_timer_start(a->l, 0, on_again, a);
}

/* Timers that start themselves again at once, taking their time: the loop comes back between their
 * turns. */
static void test_timers_again(void **state) {
    (void)state;
    pdl_loop *l = pdl_loop_new();
    again a[3] = {{.l = l}, {.l = l}, {.l = l}};
    for (int i = 0; i < 3; i++) a[i].t = pdl_timer_start(l, 0, on_again, &a[i]);
    for (int i = 0; i < 5; i++) assert_true(pdl_loop_run(l, -1));
    for (int i = 0; i < 3; i++) {
        assert_in_range(a[i].n, 1, 10);
        pdl_timer_stop(a[i].t);
    }
    pdl_loop_free(l);
}

typedef struct pipe_test {
    int fd[2];
    int reads;
    pdl_watch *w;
} pipe_test;

static void on_ready(void *user, int events) {
    pipe_test *t = user;
    char c;
    assert_int_equal(events, PDL_WATCH_READ);
    assert_int_equal(read(t->fd[0], &c, 1), 1);
    if (++t->reads == 2) pdl_watch_stop(t->w);
}

static void test_watch(void **state) {
    (void)state;
    pdl_loop *l = pdl_loop_new();
    pipe_test t = {0};
    assert_int_equal(pipe(t.fd), 0);
    t.w = pdl_watch_start(l, t.fd[0], PDL_WATCH_READ, on_ready, &t);
    assert_int_equal(write(t.fd[1], "xy", 2), 2);
    while (pdl_loop_run(l, 1000)) continue;
    assert_int_equal(t.reads, 2);
    close(t.fd[0]);
    close(t.fd[1]);
    pdl_loop_free(l);
}

/* --- processes -------------------------------------------------------------------------------- */

typedef struct ended {
    int n, status, signal;
    bool timed_out, too_large;
    pdl_buf out, err;
} ended;

static void on_end(void *user, const pdl_proc_result *r) {
    ended *e = user;
    e->n++;
    e->status = r->status;
    e->signal = r->signal;
    e->timed_out = r->timed_out;
    e->too_large = r->too_large;
    pdl_buf_put(&e->out, r->out);
    pdl_buf_put(&e->err, r->err);
}

static const struct {
    const char *script, *input, *out, *err;
    int status, signal;
    uint64_t timeout_ms;
    size_t max_bytes;
} children[] = {
    {"cat; echo oops >&2; exit 3", "hello", "hello", "oops\n", 3, 0, 0, 0},
    {"exit 0", "never read", "", "", 0, 0, 0, 0},
    {"kill -9 $$", "", "", "", -1, SIGKILL, 0, 0},
    {"echo a; sleep 30; echo b", "", "a\n", "", -1, SIGKILL, 150, 0},
    {"sleep 30 & echo started", "", "started\n", "", 0, 0, 0,
     0}, /* a grandchild holds the output */
    {"printf 12345; printf 6789; sleep 30", "", NULL, "", -1, SIGKILL, 0, 8},
};

static void test_children(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(children); i++) {
        T_ROW(i);
        pdl_loop *l = pdl_loop_new();
        ended e = {.out = PDL_BUF, .err = PDL_BUF};
        pdl_err err = {0};
        pdl_proc *p;
        const char *const argv[] = {"sh", "-c", children[i].script, NULL};
        pdl_proc_options o = {.argv = argv,
                              .input = t_str(children[i].input),
                              .timeout_ms = children[i].timeout_ms,
                              .max_bytes = children[i].max_bytes,
                              .user = &e,
                              .done = on_end};
        t_assert(pdl_proc_start(l, &o, &p, &err));
        while (pdl_loop_run(l, 5000)) continue;
        t_assert(e.n == 1);
        if (children[i].out) t_assert_str(pdl_buf_str(&e.out), children[i].out);
        t_assert_str(pdl_buf_str(&e.err), children[i].err);
        t_assert(e.status == children[i].status && e.signal == children[i].signal);
        t_assert(e.timed_out == (children[i].timeout_ms > 0) &&
                 e.too_large == (children[i].max_bytes > 0));
        pdl_proc_kill(p, SIGKILL);
        pdl_proc_free(p);
        pdl_loop_free(l);
        pdl_buf_fini(&e.out);
        pdl_buf_fini(&e.err);
    }
}

static void test_not_found(void **state) {
    (void)state;
    pdl_loop *l = pdl_loop_new();
    pdl_err err = {0};
    pdl_proc *p;
    const char *const argv[] = {"no-such-command-of-pdl", NULL};
    pdl_proc_options o = {.argv = argv};
    assert_false(pdl_proc_start(l, &o, &p, &err));
    assert_int_equal(err.kind, PDL_E_code);
    assert_non_null(strstr(err.py_class, "FileNotFoundError"));
    pdl_err_fini(&err);
    assert_false(pdl_loop_is_open(l));
    pdl_loop_free(l);
}

/* A worker: answers lines on descriptor 4 for lines on descriptor 3. */
typedef struct talk {
    pdl_proc *p;
    pdl_buf got;
    int asked;
} talk;

static void on_msg(void *user, pdl_str bytes) {
    talk *t = user;
    pdl_buf_put(&t->got, bytes);
    if (t->got.p[t->got.len - 1] != '\n') return;
    if (++t->asked < 3)
        pdl_proc_write(t->p, PDL_STR("more\n"));
    else
        pdl_proc_close_input(t->p);
}

static void test_worker(void **state) {
    (void)state;
    pdl_loop *l = pdl_loop_new();
    talk t = {.got = PDL_BUF};
    pdl_err err = {0};
    const char *const argv[] = {"sh", "-c", "while read x <&3; do echo \"got $x\" >&4; done", NULL};
    pdl_proc_options o = {.argv = argv, .extra_fds = 1, .user = &t, .on_msg = on_msg};
    assert_true(pdl_proc_start(l, &o, &t.p, &err));
    pdl_proc_write(t.p, PDL_STR("first\n"));
    while (pdl_loop_run(l, 5000)) continue;
    t_assert_str(pdl_buf_str(&t.got), "got first\ngot more\ngot more\n");
    assert_false(pdl_proc_is_running(t.p));
    pdl_proc_free(t.p);
    pdl_loop_free(l);
    pdl_buf_fini(&t.got);
}

static void test_idle_worker(void **state) {
    (void)state;
    pdl_loop *l = pdl_loop_new();
    pdl_err err = {0};
    pdl_proc *p;
    const char *const argv[] = {"sleep", "30", NULL};
    pdl_proc_options o = {.argv = argv};
    assert_true(pdl_proc_start(l, &o, &p, &err));
    pdl_proc_set_open(p, false);
    assert_false(pdl_loop_run(l, -1));
    pdl_proc_set_open(p, true);
    assert_true(pdl_loop_run(l, 0));
    pdl_proc_free(p); /* kills it */
    assert_false(pdl_loop_is_open(l));
    pdl_loop_free(l);
}

/* --- terminal and signals --------------------------------------------------------------------- */

static void on_signal(void *user, int sig) { *(int *)user = sig; }

static void test_signals(void **state) {
    (void)state;
    pdl_loop *l = pdl_loop_new();
    const int sigs[] = {SIGUSR1, SIGUSR2};
    int got = 0, fired = 0;
    pdl_signals *s = pdl_signals_watch(l, sigs, 2, on_signal, &got);
    assert_false(pdl_loop_is_open(l));
    pdl_timer *t = pdl_timer_start(l, 5000, count, &fired);
    raise(SIGUSR2);
    for (int i = 0; i < 20 && !got; i++) pdl_loop_run(l, 100);
    assert_int_equal(got, SIGUSR2);
    pdl_signals_stop(s);
    pdl_timer_stop(t);
    pdl_loop_free(l);
}

static void test_color(void **state) {
    (void)state;
    pdl_tty_env no = {.no_color = "1", .force_color = "1"}, yes = {.force_color = "1"},
                zero = {.force_color = "0"}, none = {.term = "xterm"};
    int fd[2];
    assert_int_equal(pipe(fd), 0);
    assert_false(pdl_tty_color(fd[1], &no));
    assert_true(pdl_tty_color(fd[1], &yes));
    assert_false(pdl_tty_color(fd[1], &zero));
    assert_false(pdl_tty_color(fd[1], &none));
    assert_int_equal(pdl_tty_width(fd[1], NULL), 80);
    assert_int_equal(pdl_tty_width(fd[1], "132"), 132);
    assert_int_equal(pdl_tty_width(fd[1], "wide"), 80);
    close(fd[0]);
    close(fd[1]);
}

static void on_ready_again(void *user, int events) {
    int *n = user;
    ++*n;
    assert_int_equal(events, PDL_WATCH_READ);
}

/* A watch that rests reports nothing and keeps nothing open, and is there again when it is set. */
static void test_rest(void **state) {
    (void)state;
    int fd[2], n = 0;
    assert_int_equal(pipe(fd), 0);
    pdl_loop *l = pdl_loop_new();
    pdl_watch *w = pdl_watch_start(l, fd[0], PDL_WATCH_READ, on_ready_again, &n);
    pdl_watch_rest(w);
    assert_false(pdl_loop_is_open(l));
    pdl_watch_set(w, PDL_WATCH_READ);
    assert_true(pdl_loop_is_open(l));
    assert_int_equal(write(fd[1], "x", 1), 1);
    pdl_loop_run(l, -1);
    assert_int_equal(n, 1);
    pdl_watch_rest(w);
    pdl_loop_run(l, 0); /* the byte is still there: the kernel lets go of it */
    pdl_loop_run(l, 0);
    assert_int_equal(n, 1);
    pdl_watch_set(w, PDL_WATCH_READ);
    pdl_loop_run(l, -1);
    assert_int_equal(n, 2);
    pdl_watch_stop(w);
    w = pdl_watch_start(l, fd[1], PDL_WATCH_WRITE, on_ready_again, &n);
    pdl_watch_rest(w);
    pdl_loop_run(l, 0);
    assert_int_equal(n, 2);
    pdl_watch_rest(w);
    pdl_watch_stop(w);
    pdl_loop_free(l);
    close(fd[0]);
    close(fd[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timers),       cmocka_unit_test(test_watch),
        cmocka_unit_test(test_children),     cmocka_unit_test(test_not_found),
        cmocka_unit_test(test_worker),       cmocka_unit_test(test_idle_worker),
        cmocka_unit_test(test_signals),      cmocka_unit_test(test_color),
        cmocka_unit_test(test_timers_again), cmocka_unit_test(test_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
