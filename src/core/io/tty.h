/* tty.h -- capabilities of a terminal, and questions on it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_IO_TTY_H
#define PDL_IO_TTY_H

#include <stdbool.h>

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
 * FORCE_COLOR (when not empty) switches it on, and "0" switches it off. Otherwise a terminal has
 * colour unless its TERM is "dumb" or empty. */
bool pdl_tty_color(int fd, const pdl_tty_env *env);

/* Keeps the settings of the terminal at fd, before the caller changes them. pdl_tty_forget is
 * called when the caller has restored them. When a second signal ends the process, the settings are
 * restored first. */
void pdl_tty_keep(int fd);
void pdl_tty_forget(void);
/* Restores the settings that are kept, if any. A handler of signals may call it. */
void pdl_tty_restore(void);

/* These prevent a progress line, which is drawn again and again, from overwriting a question on the
 * terminal of the process. The code that draws the line sets `clear`, which removes it before the
 * question is written. It draws nothing while a question is open. The process has one `clear`; with
 * NULL, no line is drawn. */
void pdl_tty_before_question(void (*clear)(void *user), void *user);
void pdl_tty_question_begin(void);
void pdl_tty_question_end(void);
bool pdl_tty_is_asked(void);

#endif
