/* children.h -- the running child processes, so that no child outlives a process that ends without
 * unwinding.
 *
 * A process may end because memory runs out, because its host calls exit(), or in the handler of a
 * second signal. The groups of its children are then killed by a function given to atexit, or by
 * the handler. A handler may run at any moment and in any thread. So the list has a spin lock that
 * is only held while signals are blocked. The thread that holds the lock is never interrupted, and
 * a handler waits for at most one start of a child. The list is global because exit ends the whole
 * process. Private to io.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_IO_CHILDREN_H
#define PDL_IO_CHILDREN_H

#include <signal.h>

/* A member of the struct that owns the child, so that adding it to the list allocates nothing. */
typedef struct pdl_child {
    int pid; /* the child leads its process group */
    /* the process that started the child; a forked copy of that process ignores the child */
    int owner;
    struct pdl_child *next, **link; /* link is NULL outside the list */
} pdl_child;

/* Makes exit() kill the children in the list from now on. Called before the first child is
 * started. */
void pdl_children_watch_exit(void);

/* A child is started and added between lock and unlock. Otherwise a handler that runs after the
 * start and before the add would miss the child. *old gets the previous signal mask. */
void pdl_children_lock(sigset_t *old);
void pdl_children_unlock(const sigset_t *old);

void pdl_child_add(pdl_child *c, int pid); /* the list must be locked */
void pdl_child_remove(pdl_child *c);       /* does nothing for a child that is not in the list */

/* Sends SIGKILL to each group in the list. Async-signal-safe. */
void pdl_children_kill(void);

#endif
