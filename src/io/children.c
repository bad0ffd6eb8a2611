/* children.c -- see children.h. */
#include "io/children.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/banned.h"

static struct {
    pthread_mutex_t lock; /* of the list */
    pthread_once_t once;
    pdl_child *first;
} running = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_ONCE_INIT, NULL};

/* Nothing that holds the lock allocates or waits. */
static void kill_all(void) {
    pthread_mutex_lock(&running.lock);
    for (pdl_child *c = running.first; c; c = c->next)
        if (c->owner == getpid()) kill(-c->pid, SIGKILL);
    pthread_mutex_unlock(&running.lock);
}

static void promise(void) {
    atexit(kill_all);
}

void pdl_child_add(pdl_child *c, int pid) {
    pthread_once(&running.once, promise);
    pthread_mutex_lock(&running.lock);
    *c = (pdl_child){.pid = pid, .owner = getpid(), .next = running.first, .link = &running.first};
    if (c->next) c->next->link = &c->next;
    running.first = c;
    pthread_mutex_unlock(&running.lock);
}

void pdl_child_remove(pdl_child *c) {
    if (!c->link) return;
    pthread_mutex_lock(&running.lock);
    *c->link = c->next;
    if (c->next) c->next->link = c->link;
    c->link = NULL;
    pthread_mutex_unlock(&running.lock);
}
