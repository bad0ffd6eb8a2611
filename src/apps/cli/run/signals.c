/* signals.c -- handles the signals that end a command. The first signal requests an orderly end,
 * and the next ends the command at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <sys/time.h>

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

pdl_signals *pdl_cli_watch_signals(pdl_loop *loop, void (*fn)(void *user, int sig), void *user) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction hup;
    /* nohup has made the process ignore this signal */
    bool ignored = sigaction(SIGHUP, NULL, &hup) == 0 && hup.sa_handler == SIG_IGN;
    pdl_signals *watch = pdl_signals_watch(loop, signals, ignored ? 2 : 3, fn, user);
    pdl_signals_flag(watch, &received);
    return watch;
}
