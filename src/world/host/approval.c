/* approval.c -- asks a person on the terminal of the process. The questions and answers use neither
 * the output of the program nor its piped input.
 *
 * Text that was typed before the question is discarded, so that nothing typed for another purpose
 * becomes an answer. Questions are asked one at a time, and nothing else reads the terminal while
 * one is open.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "host/host_impl.h"
#include "io/tty.h"

#include "base/banned.h"

enum { MAX_LINE = 256 };

static host_wait *first_question(host *h) {
    for (size_t i = 0; i < h->waits.n; i++)
        if (h->waits.p[i]->asks) return h->waits.p[i];
    return NULL;
}

static void put(int fd, pdl_str s) {
    while (s.n) {
        ssize_t n = write(fd, s.p, s.n);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return;
        s = pdl_str_sub(s, (size_t)n, s.n);
    }
}

static void stop(host *h) {
    if (h->tty_watch) pdl_watch_stop(h->tty_watch);
    h->tty_watch = NULL;
    if (h->tty >= 0) {
        close(h->tty);
        pdl_tty_question_end();
    }
    h->tty = -1;
    h->asking = 0;
}

static void refuse(host_wait *s) {
    pdl_err err = {0};
    pdl_effect *e = s->e;
    pdl_host_wait_end(s);
    pdl_err_set(&err, PDL_E_policy, (pdl_loc){0}, "there is no terminal to ask on");
    pdl_effect_refuse(e, &err);
}

static void ask_next(host *h);

static void on_answer(void *user, int events) {
    host *h = user;
    char line[MAX_LINE];
    (void)events;
    ssize_t n = read(h->tty, line, sizeof line);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    bool yes = n > 0 && line[n - 1] == '\n' && pdl_str_is_yes((pdl_str){line, (size_t)n});
    host_wait *s = first_question(h);
    pdl_effect *e = s && s->e->id == h->asking ? s->e : NULL;
    put(h->tty, yes ? PDL_STR("approved\n") : PDL_STR("refused\n"));
    stop(h);
    if (e) {
        pdl_host_wait_end(s);
        pdl_effect_answer(e, pdl_bool(yes), 0);
    }
    ask_next(h);
    if (!h->asking) pdl_host_input_resume(h);
}

/* Writes the question with its secrets redacted: others may see the screen, and it may be
 * recorded. */
static void put_question(const host *h, const pdl_effect *e) {
    pdl_buf b = PDL_BUF;
    pdl_redact_text(h->opt.secrets, pdl_host_text(e, "text"), &b);
    put(h->tty, PDL_STR("\n"));
    put(h->tty, pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

static void ask_next(host *h) {
    for (host_wait *s; !h->asking && (s = first_question(h));) {
        h->tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
        if (h->tty < 0) {
            refuse(s);
            continue;
        }
        pdl_tty_question_begin();
        pdl_host_input_pause(h);
        h->asking = s->e->id;
        tcflush(h->tty, TCIFLUSH);
        put_question(h, s->e);
        h->tty_watch = pdl_watch_start(h->loop, h->tty, PDL_WATCH_READ, on_answer, h);
        if (h->tty_watch) continue;
        stop(h);
        refuse(s);
    }
}

void pdl_host_approval_start(host *h, pdl_effect *e) {
    host_wait *s = pdl_host_wait_new(h, e);
    s->asks = true;
    s->text = PDL_BUF;
    ask_next(h);
}

void pdl_host_approval_idle(host *h) {
    host_wait *s = first_question(h);
    if (!h->asking || (s && s->e->id == h->asking)) return;
    put(h->tty, PDL_STR("\nnot needed any more\n"));
    stop(h);
    ask_next(h);
    if (!h->asking) pdl_host_input_resume(h);
}

void pdl_host_approval_close(host *h) {
    if (h->asking) put(h->tty, PDL_STR("\n"));
    stop(h);
}
