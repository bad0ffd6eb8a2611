/* proc.c -- see proc.h. The loop reads and writes the pipes. The end is reported when the child has
 * ended and its outputs are drained.
 *
 * A grandchild that keeps an output open must not delay the end for ever: after the child's exit
 * its outputs get a short grace period.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/proc.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/os.h"
#include "io/children.h"
#include "io/loop_uv.h"

#include "base/banned.h"

enum {
    /* Time between the child's exit and the closing of outputs that other processes keep open. */
    GRACE_MS = 200,
    READ_CHUNK = 65536,
    N_PIPES = 5, /* the child has the descriptors 0 to 4 */
};

/* One pipe of the child. Invariant: the pipe is open until its uv handle is closed. A held stream
 * keeps the loop open. */
typedef struct stream {
    uv_pipe_t uv;
    struct pdl_proc *proc;
    pdl_buf data; /* collected output */
    void (*fn)(void *user, pdl_str bytes);
    bool used, open, reading, shutting;
} stream;

/* Invariant: refs counts the uv handles and the writes that refer to the struct, plus one for the
 * owner. ended is set when done was called, or must not be called any more. */
struct pdl_proc {
    uv_process_t uv;
    pdl_loop *loop;
    pdl_timer *limit, *grace;
    stream pipes[N_PIPES];
    void *user;
    void (*done)(void *user, const pdl_proc_result *r);
    void (*on_out_end)(void *user);
    size_t max_bytes;
    size_t n_reading; /* number of outputs that have not ended */
    int status, sig, pid;
    pdl_child child; /* the process is in the list of children while it runs */
    int refs;
    bool running, ended, timed_out, too_large, holds, ends_group;
    /* one buffer for all outputs, because what libuv reads into it is reported at once */
    char *chunk;
};

typedef struct writing {
    uv_write_t uv;
    pdl_proc *proc;
    char *bytes;
} writing;

static void unref(pdl_proc *p) {
    if (--p->refs > 0) return;
    for (int i = 0; i < N_PIPES; i++) pdl_buf_fini(&p->pipes[i].data);
    pdl_free(p->chunk);
    pdl_free(p);
}

/* --- what keeps the loop open ----------------------------------------------------------------- */

static void set_hold(pdl_proc *p, bool hold) {
    if (hold == p->holds) return;
    p->holds = hold;
    pdl_loop_ref(p->loop, hold ? 1 : -1);
}

void pdl_proc_set_open(pdl_proc *p, bool open) {
    if (!p->ended) set_hold(p, open);
}

/* --- pipes ------------------------------------------------------------------------------------ */

static void pipe_closed(uv_handle_t *h) {
    stream *s = h->data;
    unref(s->proc);
}

static void close_pipe(stream *s) {
    if (!s->open) return;
    s->open = false;
    if (s->reading) s->proc->n_reading--;
    s->reading = false;
    uv_close((uv_handle_t *)&s->uv, pipe_closed);
}

/* Releases the timers and pipes, because the process does not need them any more. */
static void release(pdl_proc *p) {
    p->ended = true;
    pdl_timer_stop(p->limit);
    pdl_timer_stop(p->grace);
    p->limit = p->grace = NULL;
    for (int i = 0; i < N_PIPES; i++) close_pipe(&p->pipes[i]);
    set_hold(p, false);
}

static void maybe_end(pdl_proc *p) {
    if (p->running || p->n_reading || p->ended) return;
    release(p);
    if (!p->done) return;
    pdl_proc_result r = {
        .status = p->sig ? -1 : p->status,
        .signal = p->sig,
        .timed_out = p->timed_out,
        .too_large = p->too_large,
        .out = pdl_buf_str(&p->pipes[1].data),
        .err = pdl_buf_str(&p->pipes[2].data),
    };
    p->refs++; /* `done` may free p */
    p->done(p->user, &r);
    unref(p);
}

static void on_alloc(uv_handle_t *h, size_t hint, uv_buf_t *buf) {
    stream *s = h->data;
    (void)hint;
    *buf = uv_buf_init(s->proc->chunk, READ_CHUNK);
}

static void take_output(stream *s, pdl_str bytes) {
    pdl_proc *p = s->proc;
    if (s->fn) {
        s->fn(p->user, bytes);
        return;
    }
    if (bytes.n <= p->max_bytes - s->data.len) {
        pdl_buf_put(&s->data, bytes);
        return;
    }
    p->too_large = true;
    pdl_proc_kill(p, SIGKILL);
    close_pipe(s);
}

static void at_end(stream *s) {
    pdl_proc *p = s->proc;
    bool notify = s == &p->pipes[4] && p->running && s->fn;
    bool is_out = s == &p->pipes[1] && p->running && s->fn && p->on_out_end;
    close_pipe(s);
    if (notify) s->fn(p->user, (pdl_str){0});
    if (is_out) p->on_out_end(p->user);
}

static void on_read(uv_stream_t *h, ssize_t n, const uv_buf_t *buf) {
    stream *s = h->data;
    pdl_proc *p = s->proc;
    p->refs++;
    if (n > 0)
        take_output(s, (pdl_str){buf->base, (size_t)n});
    else if (n < 0)
        at_end(s);
    if (n != 0) maybe_end(p);
    unref(p);
}

void pdl_proc_drain_errors(pdl_proc *p) {
    char bytes[4096]; /* chunk is not used here, because the caller may still be reading it */
    stream *s = &p->pipes[2];
    uv_os_fd_t fd;
    ssize_t n;
    if (!s->reading || uv_fileno((uv_handle_t *)&s->uv, &fd) != 0) return;
    p->refs++;
    /* The descriptor does not block. The loop reports its end and errors. */
    while (s->reading && (n = read(fd, bytes, sizeof bytes)) > 0)
        take_output(s, (pdl_str){bytes, (size_t)n});
    unref(p);
}

static void on_written(uv_write_t *req, int status) {
    writing *w = (writing *)(void *)req; /* uv is the first member */
    (void)status;                        /* a child that closes its input is not an error */
    pdl_free(w->bytes);
    unref(w->proc);
    pdl_free(w);
}

static stream *input_of(pdl_proc *p) { return p->pipes[3].used ? &p->pipes[3] : &p->pipes[0]; }

static void write_to(stream *s, pdl_str bytes) {
    if (!s->open || bytes.n == 0) return;
    writing *w = PDL_NEW(writing);
    w->proc = s->proc;
    w->bytes = pdl_str_dup(bytes);
    s->proc->refs++;
    uv_buf_t b = uv_buf_init(w->bytes, (unsigned)bytes.n);
    if (uv_write(&w->uv, (uv_stream_t *)&s->uv, &b, 1, on_written) != 0) on_written(&w->uv, 0);
}

void pdl_proc_write(pdl_proc *p, pdl_str bytes) {
    enum { PART = 1 << 30 }; /* in some places uv_buf_t counts with 32 bits */
    for (size_t pos = 0; pos < bytes.n; pos += PART)
        write_to(input_of(p), pdl_str_sub(bytes, pos, pos + PART));
}

static void on_shutdown(uv_shutdown_t *req, int status) {
    stream *s = req->data;
    (void)status;
    pdl_free(req);
    pdl_proc *p = s->proc;
    close_pipe(s);
    unref(p);
}

/* Closes the pipe after all earlier input was written. */
static void close_input(stream *s) {
    if (!s->open || s->shutting) return;
    s->shutting = true;
    uv_shutdown_t *req = PDL_NEW(uv_shutdown_t);
    req->data = s;
    s->proc->refs++;
    if (uv_shutdown(req, (uv_stream_t *)&s->uv, on_shutdown) != 0) on_shutdown(req, 0);
}

void pdl_proc_close_input(pdl_proc *p) { close_input(input_of(p)); }

/* --- end of the child ------------------------------------------------------------------------- */

static void process_closed(uv_handle_t *h) { unref(h->data); }

static void on_grace(void *user) {
    pdl_proc *p = user;
    p->grace = NULL;
    for (int i = 1; i < N_PIPES; i++) close_pipe(&p->pipes[i]);
    maybe_end(p);
}

static void on_exit(uv_process_t *h, int64_t status, int sig) {
    pdl_proc *p = h->data;
    p->running = false;
    pdl_child_remove(&p->child);
    if (p->ends_group) kill(-p->pid, SIGKILL);
    p->status = (int)status;
    p->sig = sig;
    if (!p->ended && p->n_reading) p->grace = pdl_timer_start(p->loop, GRACE_MS, on_grace, p);
    p->refs++;
    maybe_end(p);
    uv_close((uv_handle_t *)h, process_closed);
    unref(p);
}

static void on_limit(void *user) {
    pdl_proc *p = user;
    p->limit = NULL;
    p->timed_out = true;
    pdl_proc_kill(p, SIGKILL);
}

void pdl_proc_kill(pdl_proc *p, int sig) {
    if (p->running && p->pid > 0) kill(-p->pid, sig);
}

void pdl_proc_signal(pdl_proc *p, int sig) {
    if (p->running && p->pid > 0) kill(p->pid, sig);
}

int pdl_proc_pid(const pdl_proc *p) { return p->pid; }

bool pdl_proc_is_running(const pdl_proc *p) { return p->running; }

/* --- start ------------------------------------------------------------------------------------ */

static void open_pipe(pdl_proc *p, int i, void (*fn)(void *user, pdl_str bytes),
                      uv_stdio_container_t *io, bool child_reads) {
    stream *s = &p->pipes[i];
    uv_pipe_init(pdl_loop_uv(p->loop), &s->uv, 0);
    s->uv.data = s;
    s->proc = p;
    s->fn = fn;
    s->data = PDL_BUF;
    s->used = s->open = true;
    p->refs++;
    io->flags = UV_CREATE_PIPE | (child_reads ? UV_READABLE_PIPE : UV_WRITABLE_PIPE);
    io->data.stream = (uv_stream_t *)&s->uv;
}

static bool start_failed(pdl_proc *p, const char *name, int e, pdl_err *err) {
    const char *py_class = e == UV_ENOENT   ? "FileNotFoundError,OSError"
                           : e == UV_EACCES ? "PermissionError,OSError"
                                            : "OSError";
    pdl_err_set(err, PDL_E_code, (pdl_loc){0}, "cannot start %s: %s", name, uv_strerror(e));
    err->py_class = pdl_str_dup(pdl_str_of(py_class));
    p->running = false;
    p->ended = true;
    for (int i = 0; i < N_PIPES; i++) close_pipe(&p->pipes[i]);
    uv_close((uv_handle_t *)&p->uv, process_closed);
    unref(p);
    return false;
}

static pdl_proc *new_proc(pdl_loop *loop, const pdl_proc_options *opt) {
    pdl_proc *p = PDL_NEW(pdl_proc);
    p->loop = loop;
    p->user = opt->user;
    p->done = opt->done;
    p->max_bytes = opt->max_bytes ? opt->max_bytes : (size_t)PDL_MAX_COMMAND_BYTES;
    p->on_out_end = opt->on_out_end;
    p->ends_group = opt->end_group || opt->extra_fds;
    p->chunk = pdl_alloc(READ_CHUNK);
    p->refs = 2; /* one reference for the owner, and one for the process handle */
    p->uv.data = p;
    return p;
}

static void begin_reading(pdl_proc *p) {
    for (int i = 1; i < N_PIPES; i++) {
        stream *s = &p->pipes[i];
        if (!s->open || i == 3) continue;
        s->reading = true;
        p->n_reading++;
        uv_read_start((uv_stream_t *)&s->uv, on_alloc, on_read);
    }
}

/* Starts the child and adds it to the list in one step. Returns 0, or an error of libuv. */
static int spawn(pdl_proc *p, const uv_process_options_t *options) {
    sigset_t old;
    pdl_children_watch_exit();
    pdl_children_lock(&old);
    int e = uv_spawn(pdl_loop_uv(p->loop), &p->uv, options);
    p->uv.data = p;
    p->running = e == 0;
    p->pid = p->uv.pid;
    if (p->running) pdl_child_add(&p->child, p->pid);
    pdl_children_unlock(&old);
    return e;
}

bool pdl_proc_start(pdl_loop *loop, const pdl_proc_options *opt, pdl_proc **out, pdl_err *err) {
    pdl_proc *p = new_proc(loop, opt);
    uv_stdio_container_t io[N_PIPES] = {{.flags = UV_IGNORE}};
    assert(opt->extra_fds == 0 || opt->extra_fds == 1);
    if (opt->inherit_stdin)
        io[0] = (uv_stdio_container_t){.flags = UV_INHERIT_FD, .data.fd = 0};
    else
        open_pipe(p, 0, NULL, &io[0], true);
    open_pipe(p, 1, opt->on_out, &io[1], false);
    if (opt->inherit_stderr)
        io[2] = (uv_stdio_container_t){.flags = UV_INHERIT_FD, .data.fd = 2};
    else
        open_pipe(p, 2, opt->on_err, &io[2], false);
    if (opt->extra_fds) {
        open_pipe(p, 3, NULL, &io[3], true);
        open_pipe(p, 4, opt->on_msg, &io[4], false);
    }
    uv_process_options_t uo = {
        .exit_cb = on_exit,
        .file = opt->argv[0],
        .args = (char **)(void *)opt->argv,
        .env = (char **)(void *)opt->env,
        .cwd = opt->cwd,
        .flags = UV_PROCESS_DETACHED, /* the child leads a new session and a new process group */
        .stdio_count = opt->extra_fds ? 5 : 3,
        .stdio = io,
    };
    int e = spawn(p, &uo);
    if (e != 0) return start_failed(p, opt->argv[0], e, err);
    if (opt->max_memory) (void)pdl_os_limit_memory(p->pid, opt->max_memory);
    set_hold(p, true);
    begin_reading(p);
    if (!opt->inherit_stdin) write_to(&p->pipes[0], opt->input);
    if (!opt->keep_stdin && !opt->inherit_stdin) close_input(&p->pipes[0]);
    if (opt->timeout_ms) p->limit = pdl_timer_start(loop, opt->timeout_ms, on_limit, p);
    *out = p;
    return true;
}

void pdl_proc_free(pdl_proc *p) {
    if (!p) return;
    p->done = NULL;
    for (int i = 0; i < N_PIPES; i++) p->pipes[i].fn = NULL;
    if (p->running) {
        /* A loop that may never run again must not wait for the child's end. */
        pdl_proc_kill(p, SIGKILL);
        pdl_child_remove(&p->child);
        while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR) continue;
        p->running = false;
        uv_close((uv_handle_t *)&p->uv, process_closed);
    }
    if (!p->ended) release(p);
    unref(p);
}
