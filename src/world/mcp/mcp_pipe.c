/* mcp_pipe.c -- a server as a child process: one message per line on its standard input and output.
 * Its standard error is its log. The last part of the log is shown when the server ends
 * unexpectedly; with PDL_DEBUG=mcp, the whole log is shown.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <signal.h>
#include <string.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "io/proc.h"
#include "io/sse.h"
#include "mcp/server_session.h"

#include "sandbox/sandbox.h"

#include "base/banned.h"

enum {
    LOG_BYTES = 2000, /* bytes of standard error that are kept */
    DEAF_MS = 1000    /* a server that closed its output is given this time to end */
};

typedef struct child {
    session *s; /* NULL when the session was closed while this pipe was read */
    pdl_proc *proc;
    pdl_lines out, err;
    pdl_buf log;
    bool reading;
    /* the input of the server was closed: output that it still writes is read and dropped */
    bool finishing;
    /* set when the server closed its output: when it fires, the server must have ended */
    pdl_timer *deaf;
} child;

static void child_free(child *p) {
    pdl_timer_stop(p->deaf);
    pdl_lines_fini(&p->out);
    pdl_lines_fini(&p->err);
    pdl_buf_fini(&p->log);
    pdl_free(p);
}

static bool on_line(void *user, pdl_str line, pdl_err *err) {
    child *p = user;
    (void)err;
    if (pdl_str_trim(line).n) pdl_mcp_session_message(p->s, line);
    return p->s != NULL;
}

static void on_out(void *user, pdl_str bytes) {
    child *p = user;
    pdl_err err = {0};
    if (p->finishing) return;
    p->reading = true;
    bool ok =
        pdl_mcp_session_counts(p->s, bytes.n) && pdl_lines_feed(&p->out, bytes, on_line, p, &err);
    p->reading = false;
    if (!p->s) {
        child_free(p);
    } else if (!ok) {
        session *s = p->s;
        pdl_err whole = {0};
        pdl_mcp_server_error(s, &whole, "%s", err.kind ? err.msg : "it cannot be read");
        if (err.kind) whole.kind = err.kind;
        pdl_mcp_session_failed(s, &whole);
    }
    pdl_err_fini(&err);
}

static bool on_log_line(void *user, pdl_str line, pdl_err *err) {
    child *p = user;
    (void)err;
    PDL_TRACE(p->s->world->opt.debug, mcp, "%s log: %.*s", p->s->config.name, PDL_FMT(line));
    return true;
}

static void on_err(void *user, pdl_str bytes) {
    child *p = user;
    pdl_err err = {0};
    p->reading = true;
    bool within = pdl_mcp_session_counts(p->s, bytes.n);
    p->reading = false;
    if (!within) { /* the session has ended and has closed this child */
        child_free(p);
        return;
    }
    if (PDL_TRACES(p->s->world->opt.debug, mcp) &&
        !pdl_lines_feed(&p->err, bytes, on_log_line, p, &err))
        pdl_err_fini(&err);
    if (bytes.n > LOG_BYTES) bytes = pdl_str_sub(bytes, bytes.n - LOG_BYTES, bytes.n);
    size_t over = p->log.len + bytes.n > LOG_BYTES ? p->log.len + bytes.n - LOG_BYTES : 0;
    if (over) pdl_buf_shift(&p->log, over);
    pdl_buf_put(&p->log, bytes);
}

/* Appends the last line of the server's log, as text. */
static void put_last_words(const child *p, pdl_buf *out) {
    pdl_str log = pdl_str_trim(pdl_buf_str(&p->log));
    size_t nl = pdl_str_rfind(log, PDL_STR("\n"));
    pdl_str last = nl == PDL_NOT_FOUND ? log : pdl_str_sub(log, nl + 1, log.n);
    if (!last.n) return;
    PDL_PUT(out, ": ");
    pdl_utf8_repair(out, last);
}

static void on_end(void *user, const pdl_proc_result *r) {
    child *p = user;
    session *s = p->s;
    pdl_err err = {0};
    pdl_buf words = PDL_BUF;
    pdl_timer_stop(p->deaf);
    p->deaf = NULL;
    put_last_words(p, &words);
    pdl_err why = {0};
    pdl_sandbox_end end = s->config.sandbox ? pdl_sandbox_end_of(r->signal) : PDL_SANDBOX_ENDED;
    if (pdl_sandbox_end_error(end, "server", pdl_buf_str(&p->log), &why)) {
        pdl_mcp_server_error(s, &err, "%s", why.msg);
        err.kind = why.kind;
        pdl_err_fini(&why);
    } else if (end == PDL_SANDBOX_NOT_FOUND || end == PDL_SANDBOX_DENIED)
        pdl_mcp_server_error(s, &err, "the sandbox shows no such program (read: adds its folder)");
    else if (r->signal)
        pdl_mcp_server_error(s, &err, "it was ended by signal %d%s", r->signal, pdl_buf_z(&words));
    else
        pdl_mcp_server_error(s, &err, "it ended with exit status %d%s", r->status,
                             pdl_buf_z(&words));
    pdl_buf_fini(&words);
    pdl_mcp_session_failed(s, &err);
}

static void on_deaf(void *user) {
    child *p = user;
    pdl_err err = {0};
    p->deaf = NULL;
    pdl_mcp_server_error(p->s, &err, "it closed its output and does not end");
    pdl_mcp_session_failed(p->s, &err);
}

/* Handles the end of the server's output. Most servers that close their output are about to end;
 * their exit status explains more than the end of output does. So the session waits for the end of
 * the process. */
static void on_out_end(void *user) {
    child *p = user;
    if (p->s && !p->deaf) p->deaf = pdl_timer_start(p->s->world->loop, DEAF_MS, on_deaf, p);
}

static bool start(session *s, pdl_err *err) {
    pdl_err why = {0};
    child *p = PDL_NEW(child);
    p->s = s;
    p->out.max_line = PDL_MAX_REPLY_BYTES;
    p->log = PDL_BUF;
    const pdl_sandbox *sandbox = s->config.sandbox;
    const char **confined = sandbox ? pdl_sandbox_argv(sandbox, s->config.argv) : NULL;
    const char **env = sandbox ? pdl_sandbox_wrap_env(s->config.env) : NULL;
    pdl_proc_options o = {
        .argv = confined ? confined : s->config.argv,
        .env = env ? env : s->config.env,
        .cwd = s->config.cwd,
        .keep_stdin = true,
        .end_group = true,
        .user = p,
        .on_out = on_out,
        .on_err = on_err,
        .on_out_end = on_out_end,
        .done = on_end,
    };
    PDL_TRACE(s->world->opt.debug, mcp, "%s: starts %s", s->config.name, s->config.argv[0]);
    bool started = pdl_proc_start(s->world->loop, &o, &p->proc, &why);
    pdl_free(confined);
    pdl_free(env);
    if (!started) {
        pdl_mcp_server_error(s, err, "%s", why.msg);
        pdl_err_fini(&why);
        child_free(p);
        return false;
    }
    s->child = p;
    return true;
}

static void write_line(session *s, pdl_str json, const call *c) {
    (void)c;
    if (!s->child) return;
    pdl_buf b = PDL_BUF;
    pdl_buf_put(&b, json);
    pdl_buf_putc(&b, '\n');
    pdl_proc_write(s->child->proc, pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

static void forget(session *s, const call *c) {
    (void)s;
    (void)c;
}

static void finish(session *s) {
    if (!s->child) return;
    s->child->finishing = true;
    pdl_proc_close_input(s->child->proc);
}

static bool finished(const session *s) { return !s->child || !pdl_proc_is_running(s->child->proc); }

static void insist(session *s, int sig) {
    if (s->child) pdl_proc_kill(s->child->proc, sig);
}

static void detach(session *s) {
    child *p = s->child;
    if (!p) return;
    s->child = NULL;
    p->s = NULL;
    pdl_timer_stop(p->deaf);
    p->deaf = NULL;
    pdl_proc_free(p->proc);
    p->proc = NULL;
    if (!p->reading) child_free(p);
}

int pdl_mcp_stdio_pid(const session *s) {
    return s->child && pdl_proc_is_running(s->child->proc) ? pdl_proc_pid(s->child->proc) : 0;
}

const transport pdl_mcp_transport_stdio = {true,   start,    write_line, forget,
                                           finish, finished, insist,     detach};
