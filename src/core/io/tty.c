/* tty.c -- see tty.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/tty.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/num.h"
#include "io/children.h"
#include "io/loop_uv.h"

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

/* --- signals ---------------------------------------------------------------------------------- */

enum { MAX_SIGNALS = 8 };

struct pdl_signals {
    uv_signal_t uv[MAX_SIGNALS];
    int n, open;
    bool flagged;
    void (*fn)(void *user, int sig);
    void *user;
};

static void on_signal(uv_signal_t *h, int sig) {
    pdl_signals *s = h->data;
    s->fn(s->user, sig);
}

pdl_signals *pdl_signals_watch(pdl_loop *loop, const int *signals, int n,
                               void (*fn)(void *user, int sig), void *user) {
    pdl_signals *s = PDL_NEW(pdl_signals);
    s->fn = fn;
    s->user = user;
    for (int i = 0; i < n && s->n < MAX_SIGNALS; i++) {
        uv_signal_t *h = &s->uv[s->n++];
        uv_signal_init(pdl_loop_uv(loop), h);
        h->data = s;
        uv_signal_start(h, on_signal, signals[i]);
    }
    s->open = s->n;
    return s;
}

/* State of the signal handler. It is set before the handler is installed. */
static struct {
    volatile sig_atomic_t *flag;
    void (*next)(int sig); /* libuv's */
} noted;

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

int pdl_signal_exit_status(int sig) { return sig == SIGINT ? 128 + SIGINT : 128 + SIGTERM; }

static void end_at_once(int sig) {
    pdl_children_kill();
    if (terminal.is_kept) (void)tcsetattr(terminal.fd, TCSANOW, &terminal.settings);
    _exit(pdl_signal_exit_status(sig));
}

static void quit_at_once(int sig) {
    pdl_children_kill();
    if (terminal.is_kept) (void)tcsetattr(terminal.fd, TCSANOW, &terminal.settings);
    signal(sig, SIG_DFL);
    raise(sig);
}

/* Ends writes that block because the reader of logs or messages has stopped reading. A signal ends
 * a blocking write with EINTR. But a write that begins after the signal would block for ever. So
 * from the first signal on, SIGALRM is sent every few milliseconds. */
enum { UNBLOCK_MS = 50 };

static void unblock(int sig) { (void)sig; }

static void start_unblocking(void) {
    enum { US = UNBLOCK_MS * 1000 };
    const struct itimerval often = {.it_interval = {.tv_usec = US}, .it_value = {.tv_usec = US}};
    (void)setitimer(ITIMER_REAL, &often, NULL);
}

static void note_signal(int sig) {
    if (*noted.flag) end_at_once(sig);
    *noted.flag = sig;
    start_unblocking();
    noted.next(sig);
}

static void handle(int sig, void (*handler)(int sig)) {
    struct sigaction a = {.sa_handler =
                              handler}; /* without SA_RESTART: a blocking read or write ends */
    /* no other signal may come between reading the flag and setting it */
    sigfillset(&a.sa_mask);
    (void)sigaction(sig, &a, NULL);
}

void pdl_signals_flag(pdl_signals *s, volatile sig_atomic_t *flag) {
    noted.flag = flag;
    for (int i = 0; i < s->n; i++) {
        struct sigaction a;
        if (sigaction(s->uv[i].signum, NULL, &a) != 0 || a.sa_handler == note_signal) continue;
        noted.next = a.sa_handler; /* all signals have the same handler */
        handle(s->uv[i].signum, note_signal);
    }
    handle(SIGALRM, unblock);
    s->flagged = true;
    handle(SIGQUIT, quit_at_once);
}

static void signal_closed(uv_handle_t *h) {
    pdl_signals *s = h->data;
    if (--s->open == 0) pdl_free(s);
}

void pdl_signals_stop(pdl_signals *s) {
    if (!s) return;
    if (s->n == 0)
        pdl_free(s);
    else
        for (int i = 0; i < s->n; i++) {
            int sig = s->uv[i].signum;
            uv_close((uv_handle_t *)&s->uv[i], signal_closed);
            if (s->flagged) handle(sig, end_at_once);
        }
}
