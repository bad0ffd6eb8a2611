/* loop.h -- the event loop of a run: timers, descriptors, wake-up. libuv is used only inside of io.
 *
 * A run waits for many things at once: connections, processes, timers, input. One thread waits for
 * all of them here, so that the code above needs no locks. One loop belongs to one thread.
 * Everything asynchronous in io (transfers, child processes) is attached to a loop, and keeps the
 * loop "open" while a report is due. Callbacks run inside of pdl_loop_run, never inside of the call
 * that started the operation. They may start and stop anything, and may call pdl_loop_run only with
 * the timeout 0.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_IO_LOOP_H
#define PDL_IO_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"

typedef struct pdl_loop pdl_loop;

/* Makes libuv allocate through base/alloc.h from now on, because libuv aborts in some places when
 * memory runs out. Called once, before libuv is used, because the setting is for the whole
 * process. */
void pdl_loop_use_alloc(void);

/* Makes a loop. Unless the process has a handler for SIGPIPE, makes the process ignore this signal,
 * so that a write to a closed pipe fails with an error. */
pdl_loop *pdl_loop_new(void);
/* Does the same as pdl_loop_new, but returns NULL when the process is out of descriptors. */
pdl_loop *pdl_loop_try(void);
/* Frees the loop. Everything that was started on it must have been stopped or freed before. l may
 * be NULL. */
void pdl_loop_free(pdl_loop *l);

/* Reports what is ready, and waits at most timeout_ms. -1 waits until something happens, and 0 does
 * not wait. Does not wait when nothing is open. Returns true when something is open afterwards. A
 * signal may end the wait early. */
bool pdl_loop_run(pdl_loop *l, int timeout_ms);

/* Returns true when something is open (timers, watches, transfers, processes). */
bool pdl_loop_is_open(const pdl_loop *l);

/* Ends a wait in pdl_loop_run soon. Other threads and signal handlers may call this function and no
 * other. */
void pdl_loop_wake(pdl_loop *l);

/* For embedders with another event loop. pdl_loop_fd returns a descriptor that is readable when
 * pdl_loop_run has something to report. pdl_loop_deadline_ms returns how many milliseconds the
 * embedder may wait before it calls pdl_loop_run; -1 means no limit. */
int pdl_loop_fd(const pdl_loop *l);
int pdl_loop_deadline_ms(const pdl_loop *l);

/* --- timers: one shot ------------------------------------------------------------------------- */

typedef struct pdl_timer pdl_timer;

/* Calls fn(user) once, ms from now. The timer is released after the call of fn; before that,
 * pdl_timer_stop may be called. */
pdl_timer *pdl_timer_start(pdl_loop *l, uint64_t ms, void (*fn)(void *user), void *user);
/* Stops and releases a timer before it fires. NULL is allowed. */
void pdl_timer_stop(pdl_timer *t);
/* Starts a timer that does not keep the loop open, so it fires only while something else keeps the
 * loop open. */
pdl_timer *pdl_timer_background(pdl_loop *l, uint64_t ms, void (*fn)(void *user), void *user);

/* --- descriptors: pipes, sockets, terminals --------------------------------------------------- */

typedef struct pdl_watch pdl_watch;
enum { PDL_WATCH_READ = 1, PDL_WATCH_WRITE = 2 };

/* Calls fn(user, events) in each turn in which fd is ready, until the watch is stopped. fd is not a
 * regular file. An error of the descriptor is reported as all requested events. Does not own fd.
 * Returns NULL when fd cannot be watched. */
pdl_watch *pdl_watch_start(pdl_loop *l, int fd, int events, void (*fn)(void *user, int events),
                           void *user);
/* Watches for reading without keeping the loop open, so it reports only while something else keeps
 * the loop open. The events of this watch cannot be changed. */
pdl_watch *pdl_watch_background(pdl_loop *l, int fd, void (*fn)(void *user, int events),
                                void *user);
/* Changes the events to watch. With 0, no event is watched, and the watch does not keep the loop
 * open. */
void pdl_watch_set(pdl_watch *w, int events);
/* Does pdl_watch_set(w, 0) for a descriptor that will soon be read again. The kernel still polls
 * the descriptor until it is ready, so that watching it again for reading costs no system call. */
void pdl_watch_rest(pdl_watch *w);
void pdl_watch_stop(pdl_watch *w); /* called before fd is closed; w may be NULL */

#endif
