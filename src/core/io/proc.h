/* proc.h -- child processes: start, feed, drain, time out, kill with all their descendants.
 *
 * A child leads its own process group, so that killing reaches its descendants. When a child with
 * extra_fds or end_group ends, its descendants end, too. When any other child ends by itself, its
 * descendants may outlive it. No shell is involved.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_IO_PROC_H
#define PDL_IO_PROC_H

#include "base/err.h"
#include "base/str.h"
#include "io/loop.h"

typedef struct pdl_proc pdl_proc;

/* The result of a child. Borrowed during the call. */
typedef struct pdl_proc_result {
    int status;       /* exit status; -1 when a signal killed the child */
    int signal;       /* the signal that killed the child, or 0 */
    bool timed_out;   /* the child was killed because timeout_ms passed */
    bool too_large;   /* the child was killed because its output passed max_bytes */
    pdl_str out, err; /* output of the child; empty when a callback received it */
} pdl_proc_result;

/* argv and done are required; all other members may be zero. */
typedef struct pdl_proc_options {
    const char *const *argv; /* NULL-terminated; argv[0] is searched in PATH; copied */
    /* NULL means inherited; otherwise a NULL-terminated list of "NAME=value" */
    const char *const *env;
    const char *cwd; /* NULL means inherited */
    /* copied; standard input is closed after it unless keep_stdin is set */
    pdl_str input;
    bool keep_stdin; /* pdl_proc_write will send more input */
    /* the child shares the standard input of this process; input is then empty */
    bool inherit_stdin;
    bool inherit_stderr; /* the child shares the standard error of this process */
    /* 0 or 1. 1 adds a second pair of pipes as descriptors 3 (the child reads) and 4 (the child
     * writes). pdl_proc_write and on_msg then use these instead of stdin and stdout. */
    int extra_fds;
    /* when the child ends, so do the processes that it started, as with extra_fds */
    bool end_group;
    uint64_t timeout_ms; /* 0 means no limit */
    size_t max_bytes;    /* ceiling of each output; 0 means PDL_MAX_COMMAND_BYTES */
    void *user;
    /* Limit of the address space of the child and of each of its descendants, in bytes. With 0,
     * they have the limit of this process. */
    size_t max_memory;
    /* on_out is called with pieces of output as they arrive; when it is NULL, output is collected.
     * on_msg gets bytes from descriptor 4; an empty text means that the child closed the
     * descriptor. */
    void (*on_out)(void *user, pdl_str bytes);
    void (*on_err)(void *user, pdl_str bytes);
    void (*on_msg)(void *user, pdl_str bytes);
    /* Called when the child closed its standard output but is not known to have ended. May be
     * NULL. */
    void (*on_out_end)(void *user);
    /* Called when the child ended and its outputs were drained. p is valid until pdl_proc_free. */
    void (*done)(void *user, const pdl_proc_result *r);
} pdl_proc_options;

/* Starts a child. The caller owns *out. No callback is called from inside. Error: PDL_E_code
 * "cannot start NAME: REASON", with py_class FileNotFoundError or PermissionError where it fits. */
PDL_MUST bool pdl_proc_start(pdl_loop *loop, const pdl_proc_options *opt, pdl_proc **out,
                             pdl_err *err);

/* Sends bytes (copied) to the child in order. They go to descriptor 3 with extra_fds, and to
 * standard input otherwise. */
void pdl_proc_write(pdl_proc *p, pdl_str bytes);
/* Closes the pipe of pdl_proc_write after everything was written. */
void pdl_proc_close_input(pdl_proc *p);
/* Reads what the child has written to standard error so far, without waiting for the loop. */
void pdl_proc_drain_errors(pdl_proc *p);
/* Sends a signal to the whole group. */
void pdl_proc_kill(pdl_proc *p, int sig);
/* Sends a signal to the child only, not to its group. */
void pdl_proc_signal(pdl_proc *p, int sig);
int pdl_proc_pid(const pdl_proc *p);
/* Returns true while the child runs. */
bool pdl_proc_is_running(const pdl_proc *p);
/* Sets whether this child keeps the loop open while it runs. By default it does. An idle worker
 * does not. */
void pdl_proc_set_open(pdl_proc *p, bool open);

/* Kills the child if it still runs. No callback runs afterwards. p may be NULL. */
void pdl_proc_free(pdl_proc *p);

#endif
