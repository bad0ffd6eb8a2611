/* stdio.c -- a server on standard input and output; see lsp.h.
 *
 * All available input is read before a message is handled, so that cancellations and newer texts
 * are known. The amount is limited, since a client may write faster than it is answered. Work for
 * which the client does not wait begins after a short silence, which is shorter than the usual
 * pause between two keys.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "io/file.h"
#include "io/frame.h"
#include "lsp/lsp.h"

#include "base/banned.h"

enum { QUIET_MS = 15, CHUNK = 65536, MAX_MESSAGE = 256 << 20, MAX_READS = 64, CLIENT_MS = 2000 };

typedef struct stdio_server {
    pdl_lsp *s;
    pdl_lsp_options opt;
    pdl_frame in;
    pdl_buf out;
    bool failed, ended; /* writing has failed; the input has ended */
    bool has_seen;      /* the process of the client was there */
} stdio_server;

static void send(void *user, pdl_str message) {
    stdio_server *o = user;
    pdl_err err = {0};
    pdl_buf_clear(&o->out);
    pdl_frame_write(PDL_FRAME_CONTENT, message, &o->out);
    if (!o->failed && !pdl_file_write_fd(STDOUT_FILENO, pdl_buf_str(&o->out), &err))
        o->failed = true;
    pdl_err_fini(&err);
}

static bool on_message(void *user, pdl_str message, pdl_err *err) {
    stdio_server *o = user;
    (void)err;
    pdl_lsp_receive(o->s, message);
    return true;
}

/* Returns true when there is input. Waits at most timeout_ms. */
static bool is_ready(int timeout_ms) {
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    int n = poll(&p, 1, timeout_ms);
    return n > 0;
}

static void read_some(stdio_server *o) {
    char chunk[CHUNK];
    pdl_err err = {0};
    ssize_t n = read(STDIN_FILENO, chunk, sizeof chunk);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    bool ok = n > 0 ? pdl_frame_feed(&o->in, (pdl_str){chunk, (size_t)n}, on_message, o, &err)
                    : pdl_frame_end(&o->in, &err);
    o->ended = o->ended || n <= 0 || !ok;
    if (err.kind) { /* when bytes are not a frame, the rest of the stream cannot be read */
        pdl_err e = {0};
        pdl_buf line = PDL_BUF;
        pdl_buf_putf(&line, "pdl lsp: %s\n", err.msg);
        if (!pdl_file_write_fd(STDERR_FILENO, pdl_buf_str(&line), &e)) pdl_err_fini(&e);
        pdl_buf_fini(&line);
    }
    pdl_err_fini(&err);
}

/* Returns true when the process of the client has ended. Other processes may still hold the other
 * end of the input open. A process that never was there is one of another machine or container. */
static bool is_alone(stdio_server *o) {
    int64_t client = pdl_lsp_client(o->s);
    if (client <= 0 || client > INT_MAX) return false;
    bool is_there = kill((pid_t)client, 0) == 0 || errno != ESRCH;
    bool was_there = o->has_seen;
    o->has_seen = o->has_seen || is_there;
    return was_there && !is_there;
}

/* Waits for input, and looks now and then whether the client is still there. */
static void await_input(stdio_server *o) {
    while (!o->ended && !is_ready(o->has_seen ? CLIENT_MS : -1)) o->ended = is_alone(o);
}

int pdl_lsp_serve(const pdl_lsp_options *options) {
    stdio_server o = {.opt = *options,
                      .in = {.kind = PDL_FRAME_CONTENT, .max_message = MAX_MESSAGE}};
    int code = 1;
    o.out = PDL_BUF;
    o.opt.send = send;
    o.opt.user = &o;
    o.s = pdl_lsp_new(&o.opt);
    while (!o.failed && !pdl_lsp_is_over(o.s, &code)) {
        for (int i = 0; i < MAX_READS && !o.ended && !pdl_lsp_is_full(o.s) && is_ready(0); i++)
            read_some(&o);
        if (pdl_lsp_step(o.s)) continue;
        if (o.ended) break;
        if (is_ready(QUIET_MS) || pdl_lsp_work(o.s)) continue;
        o.ended = is_alone(&o);
        await_input(&o);
    }
    if (!pdl_lsp_is_over(o.s, &code)) code = 1;
    pdl_lsp_free(o.s);
    pdl_frame_fini(&o.in);
    pdl_buf_fini(&o.out);
    return code;
}
