/* proc.h -- child processes: start, feed, drain, time out, kill with all their descendants.
 *
 * A child leads its own process group, so that killing reaches its descendants. Descendants of a
 * child with extra_fds or end_group end with it; those of another child survive when the child ends
 * by itself.
 * No shell is involved.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_IO_PROC_H
#define PDL_IO_PROC_H

#include "base/err.h"
#include "base/str.h"
#include "io/loop.h"

typedef struct pdl_proc pdl_proc;

/* How a child ended. Borrowed for the call. */
typedef struct pdl_proc_result {
    int status;       /* exit status; -1 when killed by a signal */
    int signal;       /* the signal that killed it, or 0 */
    bool timed_out;   /* killed by us because timeout_ms passed */
    bool too_large;   /* killed by us because its output passed max_bytes */
    pdl_str out, err; /* its output, bytes (empty where a callback took it) */
} pdl_proc_result;

/* All-zero apart from argv, done is the default. */
typedef struct pdl_proc_options {
    const char *const *argv; /* NULL-terminated; argv[0] is searched in PATH; copied */
    const char *const *env;  /* NULL: inherited; else NULL-terminated "NAME=value" */
    const char *cwd;         /* NULL: inherited */
    pdl_str input;           /* copied; standard input is closed after it unless keep_stdin */
    bool keep_stdin;         /* more input follows with pdl_proc_write */
    bool inherit_stdin;      /* standard input is ours; input is then empty */
    bool inherit_stderr;     /* standard error is ours */
    /* 0 or 1: a second pair of pipes as descriptors 3 (child reads) and 4 (child writes), */
    int extra_fds;
    bool end_group; /* what the child has started and left ends with it; so with extra_fds */
    /*         used by pdl_proc_write / on_msg instead of stdin / stdout */
    uint64_t timeout_ms; /* 0: none */
    size_t max_bytes;    /* ceiling of each output; 0: PDL_MAX_COMMAND_BYTES */
    void *user;
    /* Address space, in bytes, of the child and of each of its descendants; 0: as ours. */
    size_t max_memory;
    /* Pieces as they arrive; NULL: collected. on_msg: bytes from descriptor 4, none when the child
     * closed it. */
    void (*on_out)(void *user, pdl_str bytes);
    void (*on_err)(void *user, pdl_str bytes);
    void (*on_msg)(void *user, pdl_str bytes);
    /* The child closed its standard output, and was not seen to end yet; may be NULL. */
    void (*on_out_end)(void *user);
    /* The child ended and its outputs were drained. Afterwards p is valid until pdl_proc_free. */
    void (*done)(void *user, const pdl_proc_result *r);
} pdl_proc_options;

/* Start a child. Error: PDL_E_code "cannot start NAME: REASON" with the py_class class
 * FileNotFoundError or PermissionError where it fits. The caller owns *out. Never calls back from
 * inside. */
PDL_MUST bool pdl_proc_start(pdl_loop *loop, const pdl_proc_options *opt, pdl_proc **out,
                             pdl_err *err);

/* Sends bytes (copied) to the child: to descriptor 3 with extra_fds, else to its standard input.
 * Order is kept. */
void pdl_proc_write(pdl_proc *p, pdl_str bytes);
/* Closes that pipe after everything was written. */
void pdl_proc_close_input(pdl_proc *p);
/* Reads what it has written to standard error so far, without waiting for the loop. */
void pdl_proc_drain_errors(pdl_proc *p);
/* Send a signal to the whole group. */
void pdl_proc_kill(pdl_proc *p, int sig);
/* Sends a signal to the child only, not to its group. */
void pdl_proc_signal(pdl_proc *p, int sig);
int pdl_proc_pid(const pdl_proc *p);
/* Is it still running? */
bool pdl_proc_is_running(const pdl_proc *p);
/* Whether this child keeps the loop open while it runs. Default true; false for an idle worker. */
void pdl_proc_set_open(pdl_proc *p, bool open);

/* Kills it if it still runs; no callback runs afterwards. NULL is fine. */
void pdl_proc_free(pdl_proc *p);

#endif
