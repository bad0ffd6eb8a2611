/* signals.c -- handles the signals that end a command. The first signal requests an orderly end,
 * and the next ends the command at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdarg.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli/cli.h"

#include "base/banned.h"

static volatile sig_atomic_t received; /* the signal that requested the end */

const volatile sig_atomic_t *pdl_cli_signal_received(void) { return &received; }

static void on_time(int sig) { received = sig; }

void pdl_cli_end_after(unsigned ms) {
    struct sigaction act = {.sa_handler = on_time, .sa_flags = SA_RESTART};
    struct itimerval t = {.it_value = {ms / 1000, (suseconds_t)(ms % 1000 * 1000)}};
    sigemptyset(&act.sa_mask);
    if (ms) (void)sigaction(SIGPROF, &act, NULL);
    (void)setitimer(ITIMER_PROF, &t, NULL);
    if (!ms && received == SIGPROF) received = 0;
}

/* Printed by on_interrupt, which may only call functions that are safe in a handler. */
static char last_words[512];
static size_t n_last_words;

static void on_interrupt(int sig) {
    ssize_t ignored = write(STDERR_FILENO, last_words, n_last_words);
    (void)ignored;
    pdl_signal_end(sig);
}

void pdl_cli_say_at_interrupt(const char *fmt, ...) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction act = {.sa_handler = on_interrupt}, old;
    pdl_buf b = PDL_BUF;
    va_list args;
    if (isatty(STDERR_FILENO)) PDL_PUT(&b, "\r\033[K"); /* removes the line of progress */
    PDL_PUT(&b, "pdl: interrupted; ");
    va_start(args, fmt);
    pdl_buf_vputf(&b, fmt, args);
    va_end(args);
    pdl_buf_putc(&b, '\n');
    n_last_words = b.len < sizeof last_words ? b.len : sizeof last_words;
    memcpy(last_words, b.p, n_last_words);
    pdl_buf_fini(&b);
    sigemptyset(&act.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            (void)sigaction(signals[i], &act, NULL);
}

pdl_signals *pdl_cli_watch_signals(pdl_loop *loop, void (*fn)(void *user, int sig), void *user) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction hup;
    /* nohup has made the process ignore this signal */
    bool ignored = sigaction(SIGHUP, NULL, &hup) == 0 && hup.sa_handler == SIG_IGN;
    pdl_signals *watch = pdl_signals_watch(loop, signals, ignored ? 2 : 3, fn, user);
    pdl_signals_flag(watch, &received);
    return watch;
}
