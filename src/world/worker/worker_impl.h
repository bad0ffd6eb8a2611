/* worker_impl.h -- the state of the world, its jobs, and the wire. Private to worker.
 *
 *    `worker.c`  the world: effects become jobs, jobs get replies.
 *    `python.c`  the Python process: start, messages, questions, end.
 *    `worker_values.c`    values <-> the JSON of the protocol.
 *    `command.c` commands.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_WORKER_WORKER_IMPL_H
#define PDL_WORKER_WORKER_IMPL_H

#include "base/vec.h"
#include "io/frame.h"
#include "io/proc.h"
#include "worker/worker.h"

typedef struct worker worker;

/* An effect in flight. Invariant: a job is in worker.jobs until its reply was given; e is NULL
 * after the effect was cancelled. */
typedef struct job {
    worker *w;
    pdl_effect *e;
    uint64_t id;      /* number on the wire */
    bool python;      /* the job was sent to the Python process */
    bool asked;       /* the block has asked a question, so other blocks may have run meanwhile */
    uint64_t started; /* ns */
    pdl_timer *limit;
    /* for a cancelled job that has not ended: the timer of its next interrupt */
    pdl_timer *interrupt_retry;
    int n_interrupts;
    pdl_proc *proc; /* the process of a command */
    pdl_buf out;    /* the standard output of code so far */
} job;

/* A question of Python code that the run has not answered yet. */
typedef struct question {
    worker *w;
    uint64_t id; /* number on the wire */
    uint64_t job;
    uint32_t generation;
    struct question *next, **link;
} question;

/* The connection between handles and the world. A lease lives until the world and all its handles
 * are released; w is NULL after the world was closed. */
typedef struct lease {
    size_t refs;
    worker *w;
} lease;

/* A value that Python refers to by its number: a function, or an object without a Python form. */
typedef struct held {
    uint64_t id;
    pdl_val v;
} held;

struct worker {
    pdl_world base;
    pdl_loop *loop;
    pdl_worker_options opt;
    PDL_VEC(char *) pythons;
    char *dir;
    PDL_VEC(job *) jobs;
    uint64_t next_id;
    /* --- the Python process --- */
    pdl_proc *proc;
    pdl_frame frame;
    bool ready; /* the process handles signals */
    /* set when the process has closed its messages: when the timer fires, the process is killed */
    pdl_timer *shutdown_timer;
    uint32_t generation; /* number of the process, part of the ids of handles */
    size_t n_python;     /* number of jobs that the process is working on */
    question *questions;
    PDL_VEC(held) held; /* sorted by id */
    uint64_t next_held;
    size_t n_released;       /* number of entries of `held` that were released */
    PDL_VEC(uint64_t) drops; /* ids of released handles that were not sent to Python yet */
    lease *lease;
    bool busy_at_close; /* code was running when the world was closed */
    pdl_err broken;     /* the reason why the stream of messages cannot be trusted any more */
};

/* worker.c. Returns true when the invariants hold: jobs have numbers in the order of their start,
 * and n_python is the count of those in Python; `held` is sorted, and at most half of its values
 * are released; `ready` is set only when there is a process. */
bool pdl_worker_ok(const worker *w);
job *pdl_worker_job_find(worker *w, uint64_t id);
void pdl_worker_job_answer(job *j, pdl_val value); /* takes value; releases j */
void pdl_worker_job_refuse(job *j, pdl_err *err);  /* takes the content of err; releases j */

/* python.c */
void pdl_python_start(job *j);  /* starts a code or object effect */
void pdl_python_cancel(job *j); /* called after the job's effect was cancelled */
void pdl_python_close(worker *w);

/* command.c */
void pdl_command_start(job *j);

/* worker_values.c */
typedef struct wire_out {
    worker *w;
    pdl_buf body, refs; /* refs: the entries that describe functions and opaque values of body */
    pdl_err *err;
    unsigned depth;
    size_t check_at; /* length of body at which the next check for a cancellation is made */
    pdl_label said;  /* labels of the descriptions of tool functions in the message */
} wire_out;
bool pdl_worker_wire_put(wire_out *o, pdl_vref v);
void pdl_worker_wire_fini(wire_out *o);
/* Begins a message to Python: its kind, and the number of the block or question that it is about.
 * The caller ends it with '}'. */
void pdl_worker_message_open(pdl_buf *b, const char *type, uint64_t id);
/* Writes the member `error` of a message. */
void pdl_worker_message_error(pdl_buf *b, const pdl_err *err);
/* Reads j, a part of a message in JSON. */
bool pdl_worker_wire_get(worker *w, pdl_vref j, pdl_val *out, pdl_err *err);
void pdl_worker_wire_release(worker *w, uint64_t held_id);
void pdl_worker_wire_forget(worker *w); /* releases everything held */

enum { HANDLE_BITS = 40 }; /* number of bits of a handle's id that are below the generation */

#endif
