/* mcp_stdio.c -- messages as lines on two descriptors; see mcp_server.h. Answers that the client
 * does not read are buffered up to a size; then no further lines are read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/loop.h"
#include "io/sse.h"
#include "serve/mcp_server.h"
#include "value/json_read.h"
#include "value/json_write.h"

#include "base/banned.h"

enum { FULL = 1 << 20, AT_ONCE = 4096 /* a ready pipe accepts this many bytes without blocking */ };

struct stdio {
    pdl_serve *s;
    int in, out;
    pdl_watch *reads, *writes;
    pdl_lines lines;
    pdl_buf unsent;
    size_t sent; /* number of bytes of `unsent` that were written */
    bool over;   /* the client has closed its end of the pipe */
};

static size_t pending(const struct stdio *t) { return t->unsent.len - t->sent; }

static bool on_line(void *user, pdl_str line, pdl_err *err) {
    struct stdio *t = user;
    pdl_val m;
    pdl_err ignored = {0};
    (void)err;
    if (!pdl_str_trim(line).n) return true;
    if (pdl_json_read_document(line, 0, &m, &ignored))
        pdl_serve_mcp_take(t->s, NULL, m);
    else
        pdl_serve_mcp_refuse_text(t->s, NULL);
    pdl_err_fini(&ignored);
    return true;
}

/* Stops reading, because the input has ended or cannot be read. */
static void end_input(struct stdio *t) {
    t->over = true;
    pdl_watch_stop(t->reads);
    t->reads = NULL;
}

static void on_readable(void *user, int events) {
    struct stdio *t = user;
    char bytes[65536];
    pdl_err err = {0};
    (void)events;
    ssize_t n = read(t->in, bytes, sizeof bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    bool ok = n > 0 ? pdl_lines_feed(&t->lines, (pdl_str){bytes, (size_t)n}, on_line, t, &err)
                    : pdl_lines_end(&t->lines, on_line, t, &err);
    if (!ok)
        pdl_serve_mcp_refuse_text(
            t->s, NULL); /* the line is too long, so it is unknown where the next line begins */
    pdl_err_fini(&err);
    if (n <= 0 || !ok) end_input(t);
}

static void on_writable(void *user, int events) {
    struct stdio *t = user;
    size_t left = pending(t);
    (void)events;
    ssize_t n = write(t->out, t->unsent.p + t->sent, left < AT_ONCE ? left : AT_ONCE);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n < 0) { /* the reader has closed its end of the pipe */
        t->sent = t->unsent.len;
        pdl_serve_stop(t->s);
    } else
        t->sent += (size_t)n;
    if (!pending(t)) {
        pdl_buf_fini(&t->unsent);
        t->unsent = PDL_BUF;
        t->sent = 0;
        pdl_watch_set(t->writes, 0);
    }
    if (t->reads && pending(t) < FULL) pdl_watch_set(t->reads, PDL_WATCH_READ);
}

bool pdl_serve_mcp_stdio_start(pdl_serve *s, int in, int out, pdl_err *err) {
    struct stdio *t = PDL_NEW(struct stdio);
    *t = (struct stdio){.s = s,
                        .in = in,
                        .out = out,
                        .lines = {.max_line = PDL_MAX_SERVE_BYTES},
                        .unsent = PDL_BUF};
    s->stdio = t;
    t->reads = pdl_watch_start(s->loop, in, PDL_WATCH_READ, on_readable, t);
    t->writes = pdl_watch_start(s->loop, out, 0, on_writable, t);
    if (t->reads && t->writes) return true;
    return pdl_err_set(err, PDL_E_io, (pdl_loc){0},
                       "--mcp wants pipes or a terminal as standard input and output");
}

void pdl_serve_mcp_stdio_put(pdl_serve *s, pdl_val v) {
    struct stdio *t = s->stdio;
    pdl_err err = {0};
    pdl_buf b = PDL_BUF;
    if (t && pdl_json_write(v, PDL_JSON_LOOSE | PDL_JSON_NAN_NULL, 0, &b, &err)) {
        pdl_buf_put(&t->unsent, pdl_buf_str(&b));
        pdl_buf_putc(&t->unsent, '\n');
        pdl_watch_set(t->writes, PDL_WATCH_WRITE);
        if (t->reads && pending(t) >= FULL) pdl_watch_set(t->reads, 0);
    }
    pdl_buf_fini(&b);
    pdl_err_fini(&err);
    pdl_drop(v);
}

bool pdl_serve_mcp_stdio_is_over(const pdl_serve *s) {
    return s->stdio && s->stdio->over && !pending(s->stdio) && !s->going.first && !s->waiting.first;
}

void pdl_serve_mcp_stdio_free(pdl_serve *s) {
    struct stdio *t = s->stdio;
    if (!t) return;
    pdl_watch_stop(t->reads);
    pdl_watch_stop(t->writes);
    pdl_lines_fini(&t->lines);
    pdl_buf_fini(&t->unsent);
    pdl_free(t);
    s->stdio = NULL;
}
