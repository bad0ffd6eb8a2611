/* signals.c -- the signals that end a command: the first asks for an orderly end, the next ends it
 * at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cli.h"

#include "base/banned.h"

static volatile sig_atomic_t received; /* the signal that asked for the end */

const volatile sig_atomic_t *pdl_cli_signal_received(void) { return &received; }

pdl_signals *pdl_cli_watch_signals(pdl_loop *loop, void (*fn)(void *user, int sig), void *user) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction hup;
    bool ignored = sigaction(SIGHUP, NULL, &hup) == 0 && hup.sa_handler == SIG_IGN; /* nohup */
    pdl_signals *watch = pdl_signals_watch(loop, signals, ignored ? 2 : 3, fn, user);
    pdl_signals_flag(watch, &received);
    return watch;
}
