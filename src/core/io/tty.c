/* tty.c -- the terminal of the process; see tty.h.
 *
 * A process has one terminal. So this state is global: the line that is drawn repeatedly, the
 * number of open questions, and the settings that a signal must restore.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/tty.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/num.h"

#include "base/banned.h"

/* The process has one terminal. A command draws and asks in one thread. The threads of an embedder
 * may ask at the same time, so the count of questions is atomic. */
static struct {
    void (*clear)(void *user);
    void *user;
} drawn;
static _Atomic int questions;

void pdl_tty_before_question(void (*clear)(void *user), void *user) {
    drawn.clear = clear;
    drawn.user = user;
}

void pdl_tty_question_begin(void) {
    questions++;
    if (drawn.clear) drawn.clear(drawn.user);
}

void pdl_tty_question_end(void) { questions--; }
bool pdl_tty_is_asked(void) { return questions > 0; }

bool pdl_tty_is(int fd) { return isatty(fd) == 1; }

int pdl_tty_width(int fd, const char *columns) {
    int64_t n;
    struct winsize w;
    if (columns && pdl_num_read_int(pdl_str_of(columns), &n) && n > 0 && n < 100000) return (int)n;
    if (ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col > 0) return w.ws_col;
    return 80;
}

bool pdl_tty_color(int fd, const pdl_tty_env *env) {
    if (env->no_color && *env->no_color) return false;
    if (env->force_color && *env->force_color) return strcmp(env->force_color, "0") != 0;
    return pdl_tty_is(fd) && env->term && *env->term && strcmp(env->term, "dumb") != 0;
}

/* The settings that a second signal restores, from a handler of signals. */
static struct {
    volatile sig_atomic_t is_kept;
    int fd;
    struct termios settings;
} terminal;

void pdl_tty_keep(int fd) {
    terminal.fd = fd;
    terminal.is_kept = tcgetattr(fd, &terminal.settings) == 0;
}

void pdl_tty_forget(void) { terminal.is_kept = 0; }

void pdl_tty_restore(void) {
    if (terminal.is_kept) (void)tcsetattr(terminal.fd, TCSANOW, &terminal.settings);
}
