/* signal_watch.h -- signals as events of the loop. A second signal (Ctrl-C twice) ends the process
 * at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_IO_SIGNAL_WATCH_H
#define PDL_IO_SIGNAL_WATCH_H

#include <signal.h>

#include "io/loop.h"

/* Returns the exit status of a command that a signal ended. It is 130 after Ctrl-C, and 143 after
 * any other signal. A closed terminal (SIGHUP) counts as an ordinary request to end. */
int pdl_signal_exit_status(int sig);

/* A handler. Ends the children, and then the process by the same signal; after a hangup with the
 * exit status of pdl_signal_exit_status. */
void pdl_signal_end(int sig);
/* Makes the signals that end the process end its children first, wherever no watch replaces this
 * handling. Each child leads a session, so that Ctrl-C of the terminal does not reach it. Ignored
 * signals stay ignored. */
void pdl_signals_end_children(void);

/* Calls fn(user, signal) from the loop when one of the signals arrives. The watch does not keep the
 * loop open. */
typedef struct pdl_signals pdl_signals;
pdl_signals *pdl_signals_watch(pdl_loop *loop, const int *signals, int n,
                               void (*fn)(void *user, int sig), void *user);
/* Makes the watch s also store the number of a signal in *flag at once, for work that does not
 * return to the loop. When the flag is set already, the process and its children end at once,
 * because the user has asked twice. SIGQUIT always ends them at once, and leaves a core. Only one
 * watch of a process can have a flag. The flag must outlive the watch. */
void pdl_signals_flag(pdl_signals *s, volatile sig_atomic_t *flag);
/* Restores the default handling. With a flag, each of the signals now ends the process and its
 * children at once. s may be NULL. */
void pdl_signals_stop(pdl_signals *s);

#endif
