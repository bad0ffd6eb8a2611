/* debugger.h -- the state of a debugged run. Private to dap.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_DAP_DEBUGGER_H
#define PDL_DAP_DEBUGGER_H

#include "api/project_config.h"
#include "api/session.h"
#include "base/intern.h"
#include "base/vec.h"
#include "io/frame.h"
#include "value/member.h"
#include "value/scope.h"

/* A block that has begun and not ended. */
typedef struct dap_frame {
    uint32_t id; /* id in the protocol */
    const pdl_block *block;
    struct pdl_program *program; /* owned */
    /* incoming messages of the block; absent when they are not known */
    pdl_val context;
    /* variables at the beginning of the block, or of its last part; owned */
    pdl_scope *scope;
    bool is_called; /* the block is a function or a file that the block around it calls */
} dap_frame;

/* A fiber of the run, which the client sees as a thread: the main one, or an iteration of a map. */
typedef struct dap_thread {
    uint32_t fiber;
    PDL_VEC(dap_frame) frames; /* the blocks that have begun, outermost first */
} dap_thread;

/* A value that the client may unfold, and where it is, so that the client can change it. */
typedef struct dap_reference {
    pdl_val value; /* owned; absent when another value has replaced it */
    /* when the value is a scope whose variables can be set, the frame to which they belong;
     * otherwise 0 */
    uint32_t frame;
    size_t parent; /* the number of the value that contains it; 0 for the outermost value */
    pdl_val key;   /* its key in that value, owned; absent for the outermost value */
} dap_reference;

/* The ways in which the number of hits is compared with the wanted number. breakpoints.c has the
 * text by which a client writes each. */
typedef enum {
    DAP_HITS_FROM,
    DAP_HITS_IS,
    DAP_HITS_OVER,
    DAP_HITS_UP_TO,
    DAP_HITS_UNDER,
    DAP_HITS_EVERY
} dap_hits_test;

typedef struct dap_breakpoint {
    uint32_t id;
    char *file; /* path */
    uint32_t line;
    char *condition, *log; /* may be NULL */
    dap_hits_test hits_test;
    int64_t hits_wanted, hits;
} dap_breakpoint;

typedef enum { DAP_RUN, DAP_STEP_IN, DAP_STEP_OVER, DAP_STEP_OUT, DAP_PAUSE, DAP_ENTRY } dap_mode;

typedef struct debugger {
    int in, out; /* descriptors of the protocol */
    pdl_frame reader;
    PDL_VEC(pdl_val) queue; /* received messages, from queue_head on */
    size_t queue_head;
    int64_t seq;
    bool ended; /* the client has disconnected, or requested the end */
    /* The client has disconnected and lets the run continue (terminateDebuggee: false). From then
     * on nothing is sent or read, nothing stops the run, and the adapter ends with the run. */
    bool released;
    bool is_garbled; /* the client sent bytes that are not the protocol, so the exit code is 1 */

    char *program_path;
    char home[4096];   /* the folder in which the adapter was started */
    pdl_val data;      /* variables of the launch; a dict, or absent */
    pdl_val wanted;    /* the launch request that waits for configurationDone; may be absent */
    pdl_val arguments; /* arguments of the launch; may be absent */
    pdl_val again;     /* arguments of the launch with which the run begins again; may be absent */
    bool configured, no_debug;
    pdl_session *session;
    pdl_check_config config; /* settings of the program; the session borrows them */
    pdl_interner *names;
    volatile sig_atomic_t cancel;
    int input; /* write end of the program's standard input */

    PDL_VEC(dap_breakpoint) breakpoints;
    uint32_t next_id;
    bool stop_on_failure, stop_on_request;

    PDL_VEC(dap_thread) threads;
    dap_mode mode;
    uint32_t step_fiber, step_depth;
    bool stopped, evaluating;
    bool failing; /* the blocks of a fiber are ending because of a failure that was reported */
    uint32_t failing_fiber;
    pdl_val failed_call; /* error of the failed call that was shown most recently; may be absent */
    bool lines_from_0, columns_from_0; /* the client counts from 0, not from 1 */
    /* message of the failure at which the run is stopped; may be absent */
    pdl_val failure;
    const char *failure_kind; /* the kind of error; static */
    uint32_t at_fiber;        /* the fiber that is stopped */
    /* the request of an effect when the run is stopped before the effect; otherwise absent */
    pdl_val request;
    pdl_val last_result; /* result of the block that ended most recently; may be absent */
    /* filled while the run is stopped; the first has the number 1 */
    PDL_VEC(dap_reference) references;
} debugger;

/* Returns true when the invariants hold: queue_head is in the queue or at its end; a reference with
 * a parent comes after the parent, and has no frame; the frames of a fiber are in the order in
 * which their blocks began. */
bool pdl_dap_debugger_ok(const debugger *g);

/* --- dap_messages.c --------------------------------------------------------------------------- */

/* These functions send messages to the client. They take body. */
void pdl_dap_event(debugger *g, const char *name, pdl_val body);
void pdl_dap_answer(debugger *g, pdl_vref request, pdl_val body);
PDL_PRINTF(3, 4) void pdl_dap_refuse(debugger *g, pdl_vref request, const char *fmt, ...);
/* Sends output of the program to the client's console, with keys redacted. */
void pdl_dap_output(debugger *g, const char *category, pdl_str text, bool untrusted);
/* Reads the available messages. Waits at most timeout_ms for the first byte; -1 means no limit. */
void pdl_dap_read(debugger *g, int timeout_ms);
/* Returns true with the oldest message, owned. Returns false when there is no message. */
bool pdl_dap_next(debugger *g, pdl_val *out);

/* --- requests.c ------------------------------------------------------------------------------- */

void pdl_dap_handle(debugger *g, pdl_vref request);
/* Applies the arguments of launch, which were checked. */
void pdl_dap_take_launch(debugger *g, pdl_vref args);

/* --- launch.c --------------------------------------------------------------------------------- */

/* Runs the program of the launch to its end, and reports it. */
void pdl_dap_run(debugger *g);
void pdl_dap_cancel(debugger *g);
/* Cancels the run when the client has disconnected and does not want the run to continue. */
void pdl_dap_follow_client(debugger *g);

/* --- stops.c ---------------------------------------------------------------------------------- */

void pdl_dap_on_event(void *user, const pdl_event *e);
dap_thread *pdl_dap_thread(debugger *g, uint32_t fiber); /* returns a known thread, or makes it */
void pdl_dap_threads_fini(debugger *g);
/* Returns the frame with that id, and its thread. Returns NULL when the frame has ended. */
dap_frame *pdl_dap_frame_of(debugger *g, uint32_t id, dap_thread **thread);

/* --- breakpoints.c ---------------------------------------------------------------------------- */

/* Handles setBreakpoints, which replaces the breakpoints of a file. Returns the body of the
 * answer. */
pdl_val pdl_dap_set_breakpoints(debugger *g, pdl_vref args);
/* Returns true when a breakpoint stops at the block. Writes the messages of log points. */
bool pdl_dap_hits(debugger *g, const pdl_block *b, uint32_t fiber);
/* Returns the line at which a block begins; 0 when it is unknown. */
uint32_t pdl_dap_line_of(const pdl_block *b);
/* Resets the counts of hits, because the run begins again. */
void pdl_dap_breakpoints_restart(debugger *g);
void pdl_dap_breakpoints_fini(debugger *g);

/* --- shown_values.c --------------------------------------------------------------------------- */

pdl_val pdl_dap_scopes(debugger *g, uint32_t frame);
pdl_val pdl_dap_variables(debugger *g, pdl_vref args);
/* Returns {KEY, type, variablesReference, ...}: the text of a value at `key`, its type, and the
 * number by which the client can unfold it. v is borrowed. */
pdl_val pdl_dap_put_value(debugger *g, const char *key, pdl_vref v);
/* Returns the current variables of a fiber as a dict, owned; empty when it has ended. */
pdl_val pdl_dap_scope(debugger *g, uint32_t fiber);
/* Returns the variables that the block of a frame sees. For a frame of a caller, these are the
 * caller's variables. */
pdl_val pdl_dap_scope_of_frame(debugger *g, const dap_thread *t, const dap_frame *f);
void pdl_dap_references_fini(debugger *g);
/* Handles setVariable, which sets a variable, or a part of one, to the value of an expression.
 * Returns the body of the answer. When the request is refused, returns absent, with the reason in
 * text. */
pdl_val pdl_dap_set_variable(debugger *g, pdl_vref args, pdl_buf *text);

/* --- evaluate.c ------------------------------------------------------------------------------- */

/* Evaluates an expression (with or without its braces) with these variables. Takes scope. Returns
 * false with the reason in text. */
bool pdl_dap_evaluate(debugger *g, pdl_str expression, pdl_val scope, pdl_val *out, pdl_buf *text);

#endif
