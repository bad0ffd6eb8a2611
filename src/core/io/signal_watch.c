/* signal_watch.c -- delivers signals to the loop, and to work that does not return to the loop; see
 * signal_watch.h.
 *
 * Inside a signal handler few functions are allowed. So the handler stores the number of the signal
 * in a flag, and does little else. For a second signal it kills the children, restores the terminal
 * and ends the process.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/signal_watch.h"

#include <sys/time.h>
#include <unistd.h>

#include "io/children.h"
#include "io/loop_uv.h"
#include "io/tty.h"

#include "base/banned.h"

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

int pdl_signal_exit_status(int sig) { return sig == SIGINT ? 128 + SIGINT : 128 + SIGTERM; }

static void end_at_once(int sig) {
    pdl_children_kill();
    pdl_tty_restore();
    _exit(pdl_signal_exit_status(sig));
}

static void quit_at_once(int sig) {
    pdl_children_kill();
    pdl_tty_restore();
    signal(sig, SIG_DFL);
    raise(sig);
}

void pdl_signal_end(int sig) {
    if (sig == SIGHUP) end_at_once(sig);
    quit_at_once(sig);
}

void pdl_signals_end_children(void) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction act = {.sa_handler = pdl_signal_end}, old;
    sigemptyset(&act.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            (void)sigaction(signals[i], &act, NULL);
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
