/* tty.h -- capabilities of a terminal, and signals as events of the loop.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_IO_TTY_H
#define PDL_IO_TTY_H

#include <signal.h>

#include "io/loop.h"

bool pdl_tty_is(int fd);

/* Returns the width of the terminal at fd. `columns` (the value of COLUMNS, or NULL) takes
 * precedence. Returns 80 when the width is unknown. */
int pdl_tty_width(int fd, const char *columns);

/* Values of the environment variables that decide about colour. NULL means that a variable is not
 * set. */
typedef struct pdl_tty_env {
    const char *no_color, *force_color, *term;
} pdl_tty_env;

/* Returns true when output to fd is coloured. NO_COLOR (when not empty) switches colour off.
 * FORCE_COLOR (when neither empty nor "0") switches it on. Otherwise a terminal has colour unless
 * its TERM is "dumb" or empty. */
bool pdl_tty_color(int fd, const pdl_tty_env *env);

/* Keeps the settings of the terminal at fd, which are changed until pdl_tty_forget. When a second
 * signal ends the process, the settings are restored first. */
void pdl_tty_keep(int fd);
void pdl_tty_forget(void);

/* These prevent a progress line, which is drawn again and again, from overwriting a question on the
 * terminal of the process. The code that draws the line sets `clear`, which removes it before the
 * question is written. It draws nothing while a question is open. The process has one `clear`; with
 * NULL, no line is drawn. */
void pdl_tty_before_question(void (*clear)(void *user), void *user);
void pdl_tty_question_begin(void);
void pdl_tty_question_end(void);
bool pdl_tty_is_asked(void);

/* Returns the exit status of a command that a signal ended. It is 130 after Ctrl-C, and 143 after
 * any other signal. A closed terminal (SIGHUP) counts as an ordinary request to end. */
int pdl_signal_exit_status(int sig);

/* Calls fn(user, signal) from the loop when one of the signals arrives. The watch does not keep the
 * loop open. */
typedef struct pdl_signals pdl_signals;
pdl_signals *pdl_signals_watch(pdl_loop *loop, const int *signals, int n,
                               void (*fn)(void *user, int sig), void *user);
/* Starts a watch that also stores the number of a signal in *flag at once, for work that does not
 * return to the loop. When the flag is set already, the process and its children end at once,
 * because the user has asked twice. SIGQUIT does the same, and leaves a core. Only one watch of a
 * process can have a flag, which must outlive it. */
void pdl_signals_flag(pdl_signals *s, volatile sig_atomic_t *flag);
/* Restores the default handling. With a flag, each of the signals now ends the process and its
 * children at once. s may be NULL. */
void pdl_signals_stop(pdl_signals *s);

#endif
