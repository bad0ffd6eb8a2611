/* children.c -- the list of running children, and their end at exit; see children.h.
 *
 * All signals are blocked while the lock is held, because a signal handler may need the list. A
 * forked copy of the process must not kill the children of the original, so each entry has the
 * process that started the child.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/children.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/banned.h"

static struct {
    atomic_flag lock; /* the lock protects the list */
    pthread_once_t once;
    pdl_child *first;
} running = {ATOMIC_FLAG_INIT, PTHREAD_ONCE_INIT, NULL};

void pdl_children_lock(sigset_t *old) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, old);
    while (atomic_flag_test_and_set_explicit(&running.lock, memory_order_acquire)) sched_yield();
}

void pdl_children_unlock(const sigset_t *old) {
    atomic_flag_clear_explicit(&running.lock, memory_order_release);
    pthread_sigmask(SIG_SETMASK, old, NULL);
}

void pdl_children_kill(void) {
    sigset_t old;
    pdl_children_lock(&old);
    for (pdl_child *c = running.first; c; c = c->next)
        if (c->owner == getpid()) kill(-c->pid, SIGKILL);
    pdl_children_unlock(&old);
}

/* Kills the children at exit. Sets SIGCHLD to its default first: libuv has ended, and its handler
 * must not be called when a child dies. */
static void end(void) {
    signal(SIGCHLD, SIG_DFL);
    pdl_children_kill();
}

static void end_at_exit(void) { atexit(end); }

void pdl_child_add(pdl_child *c, int pid) {
    *c = (pdl_child){.pid = pid, .owner = getpid(), .next = running.first, .link = &running.first};
    if (c->next) c->next->link = &c->next;
    running.first = c;
}

void pdl_child_remove(pdl_child *c) {
    sigset_t old;
    pdl_children_lock(&old);
    if (c->link) {
        *c->link = c->next;
        if (c->next) c->next->link = c->link;
        c->link = NULL;
    }
    pdl_children_unlock(&old);
}

void pdl_children_watch_exit(void) { pthread_once(&running.once, end_at_exit); }
