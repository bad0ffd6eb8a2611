/* many.c -- uses the library when something is scarce: with thousands of engines, with threads,
 * without free descriptors, with allocators that fail. Written in C11. Prints the failed checks,
 * then the counts.
 *
 *     many                   many engines, threads and tasks
 *     many --allocator       one allocation fails, and the host gives memory back
 *     many --limited         an allocator with its own limit
 *     many --end             the process ends while threads wait for commands
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "t.h"

static void echo(void *user, pdl_request *r) { /* the value `user`, as text */
    pdl_value *v = user ? pdl_value_text(user) : pdl_value_null();
    pdl_request_answer(r, v);
    pdl_value_drop(v);
}

static bool run_once(int i) {
    static char said[] = "yes";
    pdl_engine *e = pdl_engine_new(NULL, NULL);
    pdl_engine_handle(e, "model", "", echo, said, NULL);
    char text[200];
    snprintf(text, sizeof text, "text:\n- model: m\n  input: hi\n- ${ %d + 1 }\n", i);
    pdl_value *v = run_text(e, text, NULL);
    pdl_engine_free(e);
    char want[40];
    snprintf(want, sizeof want, "yes%d", i + 1);
    return is_text(v, want);
}

static void *run_many(void *unused) {
    (void)unused;
    intptr_t good = 0;
    for (int i = 0; i < 100; i++) good += run_once(i);
    return (void *)good;
}

static void test_many(void) {
    int good = 0;
    for (int i = 0; i < 1000; i++) good += run_once(i);
    CHECK(good == 1000);
    pdl_engine *engines[1000];
    for (int i = 0; i < 1000; i++) engines[i] = pdl_engine_new(NULL, NULL);
    pdl_program *p = load(engines[0], "text: hi\n");
    for (int i = 0; i < 1000; i++) {
        pdl_value *v = pdl_run_program(engines[i], p, NULL, NULL);
        good += v != NULL;
        pdl_value_drop(v);
    }
    for (int i = 0; i < 1000; i++) pdl_engine_free(engines[i]);
    pdl_program_free(p);
    CHECK(good == 2000);
    pthread_t threads[4];
    void *said;
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, run_many, NULL);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &said);
        CHECK((intptr_t)said == 100);
    }
}

/* A process without descriptors: an error, and all is well when there are some again. */
static void test_descriptors(void) {
    enum { MANY = 300 };
    struct rlimit old, few;
    pdl_error *error = NULL;
    pdl_task *tasks[MANY] = {NULL};
    size_t n = 0;
    pdl_engine *e = pdl_engine_new(NULL, NULL);
    pdl_program *p = load(e, "text: hi\n");
    getrlimit(RLIMIT_NOFILE, &old);
    few = old;
    few.rlim_cur = 100;
    setrlimit(RLIMIT_NOFILE, &few);
    while (n < MANY && (tasks[n] = pdl_task_start(e, p, NULL, &error)) != NULL) n++;
    setrlimit(RLIMIT_NOFILE, &old);
    CHECK(n > 10 && n < MANY && is_error(&error, "io", "descriptors"));
    for (size_t i = 0; i < n; i++) {
        if (i % 2) CHECK(pdl_task_wait(tasks[i], -1) == PDL_TASK_DONE);
        pdl_task_free(tasks[i]);
    }
    pdl_program_free(p);
    pdl_engine_free(e);
}

static size_t n_allocated, fail_at, n_given; /* fail_at: that allocation fails */
static void *count_alloc(size_t n) { return ++n_allocated == fail_at ? NULL : malloc(n); }
static void *count_resize(void *p, size_t n) {
    return ++n_allocated == fail_at ? NULL : realloc(p, n);
}

static bool give_back(size_t n) { /* the allocation is tried again */
    n_given++;
    return n > 0;
}

/* An allocator with a limit: what the host lets programs have. A header of 16 bytes holds the
 * size. */
enum { HEAD = 16 };
static size_t n_bytes;
static const size_t MAX_BYTES = 32u << 20;
static void *limited_resize(void *p, size_t n) {
    size_t before = p ? *(size_t *)(void *)((char *)p - HEAD) : 0;
    if (n_bytes - before + n > MAX_BYTES) return NULL;
    char *q = realloc(p ? (char *)p - HEAD : NULL, n + HEAD);
    if (!q) return NULL;
    n_bytes += n - before;
    *(size_t *)(void *)q = n;
    return q + HEAD;
}
static void *limited_alloc(size_t n) { return limited_resize(NULL, n); }
static void limited_free(void *p) {
    if (!p) return;
    n_bytes -= *(size_t *)(void *)((char *)p - HEAD);
    free((char *)p - HEAD);
}

/* A program that uses up the memory is an error with its place, again and again; the host goes
 * on. */
static void test_limited(void) {
    CHECK(pdl_set_allocator(limited_alloc, limited_resize, limited_free));
    pdl_engine *e = pdl_engine_new(NULL, NULL);
    for (int i = 0; i < 3; i++) {
        pdl_error *error = NULL;
        pdl_program *p = load(e, "text:\n- first\n- for: {i: \"${ range(100000000) }\"}\n  "
                                 "repeat:\n    data: {a: \"${ i }\"}\n  join: {as: array}\n");
        pdl_value *v = pdl_run_program(e, p, NULL, &error);
        CHECK(!v && error && strcmp(error->kind, "limit") == 0 &&
              strstr(error->message, "memory") && error->line == 3);
        pdl_error_free(error);
        pdl_program_free(p);
        CHECK(run_once(i));
    }
    pdl_engine_free(e);
    CHECK(n_bytes < 1u << 20);
}

static void *run_command(void *unused) {
    (void)unused;
    pdl_engine *e = pdl_engine_new(NULL, NULL);
    pdl_value_drop(run_text(e, "lang: command\ncode: sleep 30\n", NULL));
    return e;
}

/* main returns while other threads wait for commands. */
static void test_end(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, run_command, NULL) == 0);
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--end") == 0) {
        test_end();
        return counts();
    }
    if (argc > 1 && strcmp(argv[1], "--limited") == 0) {
        test_limited();
        return counts();
    }
    if (argc > 1 && strcmp(argv[1], "--allocator") == 0) {
        CHECK(pdl_set_allocator(count_alloc, count_resize, free));
        pdl_set_out_of_memory(give_back);
        CHECK(run_once(1) && n_allocated > 100);
        fail_at = n_allocated + 50;
        CHECK(run_once(2) && n_given == 1);
        return counts();
    }
    test_many();
    test_descriptors();
    return counts();
}
