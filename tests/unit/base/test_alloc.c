/* test_alloc.c -- what happens when memory runs out: the handler may release some; otherwise there
 * is one line, and the exit status is 1.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/alloc.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "t.h"

#include "base/banned.h"

static struct {
    int calls, gives; /* how often the handler was asked, how often it still says true */
    size_t asked;
} h;

static bool give(size_t n) {
    h.calls++;
    h.asked = n;
    return h.gives-- > 0;
}

static int set_up(void **state) {
    (void)state;
    memset(&h, 0, sizeof h);
    pdl_alloc_on_oom(give);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    pdl_alloc_on_oom(NULL);
    pdl_alloc_from(NULL);
    return 0;
}

static void the_handler_gives_some_back(void **state) {
    (void)state;
    h.gives = 1;
    pdl_alloc_fail_at(2);
    char *a = pdl_alloc(10);
    assert_int_equal(h.calls, 0);
    char *b = pdl_calloc(3, 1000);
    assert_int_equal(h.calls, 1);
    assert_int_equal(h.asked, 3000);
    for (size_t i = 0; i < 3000; i++) assert_int_equal(b[i], 0);
    memcpy(b, "kept", 5);
    h.gives = 1;
    pdl_alloc_fail_at(1);
    b = pdl_realloc(b, 100000);
    assert_int_equal(h.calls, 2);
    assert_string_equal(b, "kept");
    pdl_free(a);
    pdl_free(b);
}

/* Runs fn in its own process; -> its exit status, what it printed on standard error in
 * text. */
static int end_of(void (*fn)(void), char text[1000]) {
    int fds[2], status;
    assert_int_equal(pipe(fds), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fds[1], 2);
        fn();
        _exit(77);
    }
    close(fds[1]);
    size_t n = 0;
    for (ssize_t got; n < 999 && (got = read(fds[0], text + n, 999 - n)) > 0;) n += (size_t)got;
    text[n] = 0;
    close(fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void ask_for_much(void) { pdl_free(pdl_alloc(SIZE_MAX / 4)); }
static void overflow(void) { pdl_free(pdl_calloc(SIZE_MAX / 4, 8)); }
static void overflow_again(void) { pdl_free(pdl_realloc_n(NULL, SIZE_MAX / 4, 8)); }

static const struct {
    void (*fn)(void);
    const char *text;
} ends[] = {
    {ask_for_much, "pdl: error: out of memory (4611686018427387903 bytes asked for)\n"},
    {overflow, "pdl: error: out of memory (18446744073709551615 bytes asked for)\n"},
    {overflow_again, "pdl: error: out of memory (18446744073709551615 bytes asked for)\n"},
};

static void else_the_process_ends(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(ends); i++) {
        char text[1000];
        T_ROW(i);
        assert_int_equal(end_of(ends[i].fn, text), 1);
        size_t n = strlen(text), want = strlen(ends[i].text); /* a sanitizer may warn before */
        assert_true(n >= want);
        assert_string_equal(text + n - want, ends[i].text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_handler_gives_some_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(else_the_process_ends, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
