/* shared.c -- tasks of an engine on one loop: pdl_engine_step, and what the tasks share. Written in
 * C11. Prints the failed checks, then the counts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "t.h"

static pdl_engine *new_engine(void) {
    pdl_engine_options o = {.size = sizeof o, .shared = true};
    return pdl_engine_new(&o, NULL);
}

/* --- who ended, and what became of it --------------------------------------------------------- */

enum { MANY = 200 };

typedef struct ended {
    int n, n_failed;
    char last[64];
    bool frees;          /* the task, inside the callback */
    pdl_task *cancels;   /* another task */
    pdl_program *starts; /* another run */
    pdl_engine *engine;
} ended;

static void on_done(void *user, pdl_task *t);

static pdl_task *start(pdl_engine *e, pdl_program *p, ended *all, const pdl_value *inputs) {
    pdl_error *error = NULL;
    pdl_task_options o = {.size = sizeof o, .inputs = inputs, .user = all, .done = on_done};
    pdl_task *t = pdl_task_start(e, p, &o, &error);
    if (!t) pdl_error_print(error, stdout);
    pdl_error_free(error);
    return t;
}

static void on_done(void *user, pdl_task *t) {
    ended *all = user;
    all->n++;
    CHECK(!all->engine || pdl_engine_current_user(all->engine) == user);
    CHECK(pdl_task_state(t) != PDL_TASK_WAITING);
    CHECK(!all->engine || (pdl_engine_step(all->engine, -1) < 10000 &&
                           pdl_task_step(t) == pdl_task_state(t))); /* does nothing */
    if (pdl_task_state(t) == PDL_TASK_FAILED) {
        all->n_failed++;
        snprintf(all->last, sizeof all->last, "%s", pdl_task_error(t)->kind);
    } else {
        pdl_value *v = pdl_task_result(t, NULL), *text = pdl_value_to_text(v, NULL);
        snprintf(all->last, sizeof all->last, "%s", pdl_value_get_text(text, NULL));
        pdl_value_drop(text);
        pdl_value_drop(v);
    }
    if (all->cancels) pdl_task_cancel(all->cancels);
    all->cancels = NULL;
    pdl_program *next = all->starts;
    all->starts = NULL;
    if (next) CHECK(start(all->engine, next, all, NULL));
    if (all->frees) pdl_task_free(t);
}

/* Requests that are answered in the reverse order, later. */
typedef struct kept {
    pdl_request *r[MANY];
    int n;
} kept;

static void keep(void *user, pdl_request *r) {
    kept *k = user;
    if (k->n < MANY) k->r[k->n++] = r;
}

static void answer_input(pdl_request *r) {
    pdl_value *messages = pdl_value_get(pdl_request_data(r), "messages"),
              *m = pdl_value_at(messages, 0), *text = pdl_value_get(m, "content");
    pdl_request_answer(r, text);
    pdl_value_drop(text);
    pdl_value_drop(m);
    pdl_value_drop(messages);
}

static void test_many(void) {
    pdl_engine *e = new_engine();
    kept open = {.n = 0};
    ended all = {.engine = e};
    CHECK(pdl_engine_fd(e) == -1 && pdl_engine_deadline_ms(e) == -1 && pdl_engine_step(e, 0) == 0);
    CHECK(pdl_engine_handle(e, "model", "", keep, &open, NULL));
    pdl_program *p = load(e, "model: any\ninput: ask ${ i }\n");
    pdl_task *tasks[MANY];
    for (int i = 0; i < MANY; i++) {
        pdl_value *inputs = pdl_value_dict(), *n = pdl_value_int(i);
        pdl_value_put(inputs, "i", n);
        tasks[i] = start(e, p, &all, inputs);
        pdl_value_drop(n);
        pdl_value_drop(inputs);
    }
    int turns = 0;
    for (; pdl_engine_step(e, 0) > 0 && turns < 1000; turns++) {
        if (open.n == MANY || turns > 10)
            while (open.n) answer_input(open.r[--open.n]);
        struct pollfd fd = {.fd = pdl_engine_fd(e), .events = POLLIN};
        poll(&fd, 1, pdl_engine_deadline_ms(e));
    }
    CHECK(turns < 1000 && all.n == MANY && all.n_failed == 0 && pdl_engine_deadline_ms(e) == -1);
    for (int i = 0; i < MANY; i++) {
        char want[32];
        snprintf(want, sizeof want, "ask %d", i);
        CHECK(pdl_task_fd(tasks[i]) == pdl_engine_fd(e) &&
              is_text(pdl_task_result(tasks[i], NULL), want));
        pdl_task_free(tasks[i]);
    }
    pdl_program_free(p);
    pdl_engine_free(e);
}

/* Calls of all tasks together are counted; those that wait are asked in their order. */
static void test_jobs(void) {
    enum { TASKS = 20, JOBS = 3 };
    pdl_engine_options o = {.size = sizeof o, .shared = true, .jobs = JOBS};
    pdl_engine *e = pdl_engine_new(&o, NULL);
    kept open = {.n = 0};
    ended all = {.engine = e};
    CHECK(pdl_engine_handle(e, "model", "", keep, &open, NULL));
    pdl_program *p = load(e, "model: any\ninput: x\n");
    pdl_task *tasks[TASKS];
    for (int i = 0; i < TASKS; i++) tasks[i] = start(e, p, &all, NULL);
    pdl_engine_step(e, 0);
    CHECK(open.n == JOBS);
    pdl_task_cancel(tasks[0]);  /* an open one */
    pdl_task_cancel(tasks[10]); /* one that waits */
    pdl_task_free(tasks[11]);
    pdl_engine_step(e, 0);
    CHECK(open.n == JOBS + 1 && pdl_request_is_cancelled(open.r[0]));
    int most = 0;
    for (int turns = 0; pdl_engine_step(e, 0) > 0 && turns < 1000; turns++) {
        int wanted = 0;
        for (int i = 0; i < open.n; i++) wanted += !pdl_request_is_cancelled(open.r[i]);
        if (wanted > most) most = wanted;
        if (open.n) answer_input(open.r[--open.n]);
    }
    while (open.n) answer_input(open.r[--open.n]);
    CHECK(most == JOBS && all.n == TASKS - 1 && all.n_failed == 2);
    for (int i = 0; i < TASKS; i++)
        if (i != 11) pdl_task_free(tasks[i]);
    tasks[0] = start(e, p, &all, NULL); /* its engine is freed while it waits */
    pdl_engine_step(e, 0);
    CHECK(open.n == 1);
    pdl_program_free(p);
    pdl_engine_free(e);
    pdl_task_free(tasks[0]);
    answer_input(open.r[0]);
}

/* More tasks at a time than there are calls, and than any one of them has ids for. */
static void test_thousands(void) {
    enum { TASKS = 5000 };
    pdl_engine *e = new_engine();
    ended all = {.engine = e};
    pdl_program *p = load(e, "model: any\ninput: x\n");
    kept open = {.n = 0};
    CHECK(pdl_engine_handle(e, "model", "", keep, &open, NULL));
    pdl_task **tasks = calloc(TASKS, sizeof *tasks);
    for (int i = 0; i < TASKS; i++) tasks[i] = start(e, p, &all, NULL);
    for (int turns = 0; pdl_engine_step(e, 0) > 0 && turns < 10000; turns++)
        while (open.n) answer_input(open.r[--open.n]);
    CHECK(all.n == TASKS && all.n_failed == 0);
    for (int i = 0; i < TASKS; i++) pdl_task_free(tasks[i]);
    free(tasks);
    pdl_program_free(p);
    pdl_engine_free(e);
}

/* Waiting for one task moves the others. */
static void test_wait(void) {
    pdl_engine *e = new_engine();
    ended all = {.engine = e};
    pdl_program *slow = load(e, "lang: command\ncode: sleep 0.2\n"),
                *quick = load(e, "text: now\n");
    pdl_task *first = start(e, slow, &all, NULL), *second = start(e, quick, &all, NULL);
    CHECK(pdl_task_wait(first, 1) == PDL_TASK_WAITING && pdl_task_state(second) == PDL_TASK_DONE);
    CHECK(pdl_task_wait(first, -1) == PDL_TASK_DONE && all.n == 2);
    pdl_task *third = start(e, slow, &all, NULL);
    pdl_task_cancel(third);
    CHECK(pdl_task_state(third) == PDL_TASK_FAILED && strcmp(all.last, "interrupt") == 0 &&
          all.n == 3);
    pdl_task_free(first);
    pdl_task_free(second);
    pdl_task_free(third);
    pdl_task_free(start(e, slow, &all, NULL)); /* before it ran */
    CHECK(pdl_engine_step(e, 0) == 0 && all.n == 3);
    pdl_program_free(slow);
    pdl_program_free(quick);
    pdl_engine_free(e);
}

static void test_callbacks(void) {
    pdl_engine *e = new_engine();
    ended all = {.frees = true, .engine = e}, other = {.engine = e};
    pdl_program *p = load(e, "text: one\n"), *waits = load(e, "lang: command\ncode: sleep 20\n");
    all.starts = p;
    all.cancels = start(e, waits, &other, NULL);
    pdl_task *victim = all.cancels;
    CHECK(start(e, p, &all, NULL) && pdl_engine_step(e, -1) == 0);
    CHECK(all.n == 2 && other.n == 1 && strcmp(other.last, "interrupt") == 0);
    other.frees = true;
    pdl_task *gone = start(e, p, &other, NULL);
    CHECK(pdl_task_wait(gone, -1) == PDL_TASK_DONE && other.n == 2); /* freed on the way */
    pdl_task_free(victim);
    pdl_program_free(p);
    pdl_program_free(waits);
    pdl_engine_free(e);
}

/* The engine goes first, tasks are left open. */
static void test_order_of_release(void) {
    pdl_engine *e = new_engine();
    ended all = {.n = 0};
    pdl_program *p = load(e, "lang: command\ncode: sleep 20\n");
    pdl_task *a = start(e, p, &all, NULL), *b = start(e, p, &all, NULL);
    CHECK(pdl_engine_step(e, 0) == 2);
    pdl_engine_free(e);
    pdl_program_free(p);
    CHECK(pdl_task_step(a) == PDL_TASK_WAITING);
    pdl_task_free(a);
    CHECK(pdl_task_step(b) == PDL_TASK_WAITING);
    pdl_task_free(b);
    CHECK(all.n == 0);
}

static void test_misuse(void) {
    pdl_engine *e = new_engine(), *own = pdl_engine_new(NULL, NULL);
    pdl_error *error = NULL;
    pdl_program *p = load(e, "text: x\n");
    pdl_task_options o = {.size = sizeof o, .max_rps = 3};
    CHECK(!pdl_task_start(e, p, &o, &error) && error && strcmp(error->kind, "usage") == 0);
    pdl_error_free(error);
    CHECK(pdl_engine_step(own, -1) == 0 && pdl_engine_fd(own) == -1 &&
          pdl_engine_deadline_ms(own) == -1);
    CHECK(pdl_engine_step(NULL, -1) == 0 && pdl_engine_fd(NULL) == -1 &&
          pdl_engine_deadline_ms(NULL) == -1);
    ended all = {.n = 0};
    pdl_task *t = start(own, p, &all, NULL); /* done is for every task */
    CHECK(pdl_task_wait(t, -1) == PDL_TASK_DONE && all.n == 1);
    pdl_task_free(t);
    pdl_program_free(p);
    pdl_engine_free(own);
    pdl_engine_free(e);
}

/* --- what is shared --------------------------------------------------------------------------- */

/* Code of all tasks runs in one Python process; what code asks of its run reaches its own. */
static void test_worker(void) {
    pdl_engine *e = new_engine();
    ended all = {.engine = e};
    pdl_program *p = load(e, "text:\n- {def: pid, contribute: [], lang: python, code: 'import os; "
                             "result = os.getpid()'}\n- ${ pid }\n");
    pdl_program *inner = load(e, "lang: python\ncode: |\n  from pdl.pdl import exec_str\n  result "
                                 "= exec_str('text: [\"${ n }\", \"!\"]', scope={'n': n})\n");
    pdl_task *a = start(e, p, &all, NULL), *b = start(e, p, &all, NULL);
    CHECK(pdl_engine_step(e, -1) == 0 && all.n_failed == 0);
    pdl_value *x = pdl_task_result(a, NULL), *y = pdl_task_result(b, NULL);
    CHECK(x && pdl_value_equal(x, y) && strlen(pdl_value_get_text(x, NULL)) > 0);
    pdl_value_drop(x);
    pdl_value_drop(y);
    pdl_task_free(a);
    pdl_task_free(b);
    pdl_task *t[8];
    for (int i = 0; i < 8; i++) {
        pdl_value *inputs = pdl_value_dict(), *n = pdl_value_int(i);
        pdl_value_put(inputs, "n", n);
        t[i] = start(e, inner, &all, inputs);
        pdl_value_drop(n);
        pdl_value_drop(inputs);
    }
    CHECK(pdl_engine_step(e, -1) == 0);
    for (int i = 0; i < 8; i++) {
        char want[8];
        snprintf(want, sizeof want, "%d!", i);
        CHECK(is_text(pdl_task_result(t[i], NULL), want));
        pdl_task_free(t[i]);
    }
    pdl_program_free(p);
    pdl_program_free(inner);
    pdl_engine_free(e);
}

/* A service on the loopback interface that counts connections and answers on each for ever. */
typedef struct service {
    int fd, n_connections;
    char base[64];
} service;

static void serve(int c) {
    static const char body[] = "{\"choices\":[{\"index\":0,\"finish_reason\":\"stop\",\"message\":{"
                               "\"role\":\"assistant\",\"content\":\"hi\"}}],"
                               "\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}";
    char in[65536];
    size_t n = 0;
    for (ssize_t got; (got = recv(c, in + n, sizeof in - 1 - n, 0)) > 0;) {
        n += (size_t)got;
        in[n] = 0;
        char *end = strstr(in, "\r\n\r\n"), *length = strcasestr(in, "content-length:");
        if (!end || !length || n < (size_t)(end + 4 - in) + strtoul(length + 15, NULL, 10))
            continue;
        char out[1024];
        int k = snprintf(
            out, sizeof out,
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %zu\r\n\r\n%s",
            strlen(body), body);
        if (send(c, out, (size_t)k, MSG_NOSIGNAL) != k) break;
        n = 0;
    }
    close(c);
}

static void *accept_all(void *user) {
    service *s = user;
    for (int c; (c = accept(s->fd, NULL, NULL)) >= 0;) {
        s->n_connections++;
        serve(c); /* one at a time: the tasks ask one after the other */
    }
    return NULL;
}

static void test_connections(void) {
    service s = {.fd = socket(AF_INET, SOCK_STREAM, 0)};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof at;
    pthread_t thread;
    CHECK(bind(s.fd, (struct sockaddr *)&at, len) == 0 && listen(s.fd, 8) == 0 &&
          getsockname(s.fd, (struct sockaddr *)&at, &len) == 0);
    CHECK(pthread_create(&thread, NULL, accept_all, &s) == 0);
    char text[256];
    snprintf(text, sizeof text,
             "model: openai/m\ninput: hi\nparameters: {api_key: k, api_base: "
             "'http://127.0.0.1:%d/v1'}\n",
             ntohs(at.sin_port));
    pdl_engine *e = new_engine();
    ended all = {.engine = e};
    pdl_program *p = load(e, text);
    for (int i = 0; i < 20; i++) {
        pdl_task *t = start(e, p, &all, NULL);
        CHECK(pdl_task_wait(t, 20000) == PDL_TASK_DONE && is_text(pdl_task_result(t, NULL), "hi"));
        pdl_task_free(t);
    }
    pdl_program_free(p);
    pdl_engine_free(e); /* closes the connection, on which the service waits */
    shutdown(s.fd, SHUT_RDWR);
    close(s.fd);
    pthread_join(thread, NULL);
    CHECK(s.n_connections == 1);
    if (s.n_connections != 1) printf("  %d connections\n", s.n_connections);
}

static volatile int alarmed;
static void on_alarm(int number) { alarmed = number; }

/* A run of many short operations, and a run that waits, end when a signal handler sets the flag. */
static void test_flag(void) {
    const char *texts[] = {"while: true\nrepeat: a", "lang: command\ncode: sleep 30"};
    signal(SIGALRM, on_alarm);
    for (int i = 0; i < 4; i++) {
        pdl_engine_options eo = {.size = sizeof eo, .shared = i > 1};
        pdl_engine *e = pdl_engine_new(&eo, NULL);
        pdl_program *p = load(e, texts[i % 2]);
        pdl_task_options o = {.size = sizeof o, .interrupt = &alarmed};
        alarmed = 0;
        pdl_task *t = pdl_task_start(e, p, &o, NULL);
        alarm(1);
        CHECK(pdl_task_wait(t, 20000) == PDL_TASK_FAILED && alarmed == SIGALRM);
        CHECK(pdl_task_error(t) && strcmp(pdl_task_error(t)->kind, "terminated") == 0);
        pdl_task_free(t);
        pdl_program_free(p);
        pdl_engine_free(e);
    }
}

int main(void) {
    test_flag();
    test_many();
    test_jobs();
    test_thousands();
    test_wait();
    test_callbacks();
    test_order_of_release();
    test_misuse();
    test_worker();
    test_connections();
    return counts();
}
