/* worker.h -- the world that answers CODE, OBJECT and COMMAND effects by running code outside of
 * the process.
 *
 * One Python process, started at the first code block and kept for the life of the world, runs the
 * python and ipython blocks; every command has its own process. Python does not run inside of this
 * process, because its interpreter cannot be interrupted, limited or unloaded safely. A crash of a
 * user's extension would also end the run without a trace. Blocks share one process, because a
 * start takes longer than most blocks, and later blocks use the objects of earlier ones.
 *
 * Messages are length-prefixed JSON over descriptors 3 and 4, so that what user code prints and
 * reads is never part of the protocol. Code may call back: while a block waits for an answer of the
 * run, the process serves other blocks, so that blocks and PDL functions nest to any depth. What
 * must stay true: every message names the block it belongs to, and the process never waits for an
 * answer without serving other messages meanwhile.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_WORKER_WORKER_H
#define PDL_WORKER_WORKER_H

#include "base/debug.h"
#include "effect/effect.h"
#include "io/loop.h"

/* Receives the result of a program that code started. result is taken; it is absent on failure.
 * Called once, and never after the world is closed. */
typedef void pdl_worker_done_fn(void *done_user, pdl_val result, const pdl_err *err);

/* Answers code that reads standard input: line (borrowed) has no line end; eof: the input has
 * ended. The function is called exactly once, and not after the world is closed. */
typedef void pdl_worker_answer_fn(void *answer_user, pdl_str line, bool eof);

/* Options, each of which may be zero. Everything is borrowed and must outlive the world, unless it
 * is marked as copied. */
typedef struct pdl_worker_options {
    /* Interpreters, which are tried in order until one starts: paths, or names that are searched in
     * PATH; copied. */
    const char *const *pythons;
    size_t n_pythons; /* 0 means "python3" */
    pdl_str dir;      /* directory of the program, used when a request has no cwd; copied */
    /* Limit for one python block, including its waits for the run, and for one command; 0 means no
     * limit. When the limit is reached the process is killed; the next block starts a new
     * process.
     */
    uint64_t time_limit_ms;
    /* Maximum address space of the Python process and of a command, in bytes; 0 means the limit of
     * this process. */
    size_t max_memory;
    uint64_t ipython_ms;    /* limit for one ipython block; 0 means 5000 */
    const pdl_debug *debug; /* category worker; may be NULL */
    void *user;             /* first argument of each callback */
    /* Receives the standard error of the Python process, which is then not a terminal. When the
     * function is NULL, the process writes to the standard error of this process. */
    void (*errors)(void *user, pdl_str bytes);
    /* Called when code of the effect `code` reads standard input: makes an INPUT effect and
     * answers. When the function is NULL, code finds the end of the input. */
    void (*ask_input)(void *user, const pdl_effect *code, pdl_worker_answer_fn *answer,
                      void *answer_user);
    /* Called when code uses the pdl package. request (taken) is a dict:
     *   op      "run": execute a program; "parse": only check that it is one (result: anything)
     *   text    the program
     *   name    file name for messages, or null
     *   dir     directory of the program, or null
     *   scope   dict of initial variables
     *   config  dict as given to exec_str (yield_result, role, ...)
     *   output  "result" | "all"
     * done gets the result, or for "all" a dict {result, scope, trace, replay, usage}. When the
     * function is NULL, the request is refused with an error. */
    void (*run_program)(void *user, const pdl_effect *code, pdl_val request,
                        pdl_worker_done_fn *done, void *done_user);
    /* confines code and commands; NULL when they are not confined */
    const struct pdl_sandbox *sandbox;
    /* Counts the Python processes that were started. The worlds of one run share the counter,
     * because their objects may meet in the run. NULL when the run has one world. */
    uint32_t *generations;
    /* Each block and each operation on an object begins with Python's generators seeded from this
     * number and the place of its effect. When the pointer is NULL, Python's generators are not
     * seeded. */
    const uint64_t *seed;
    /* Returns the attributes of a PDL_V_RECORD (pdl_usage) as an owned dict, or absent. When the
     * function is NULL, Python gets records as opaque objects. */
    pdl_val (*record)(void *user, pdl_vref record);
} pdl_worker_options;

/* Requests and replies:
 *
 * code     {lang: "python" | "ipython", code, vars: dict, cwd, left?}
 *          -> {result, rebound: dict, stdout, left?}
 *
 *          vars     the variables that travel, ready (no open promises)
 *          cwd      directory that is appended to the module path
 *          rebound  those lists, dicts and sets of vars that the code changed in place
 *          stdout   all that the code printed, which was also delivered in pieces
 *          left     names of modules in which blocks have left something that later blocks may
 *                   see, or "*" when all code may see it. It is a part of effects with a sender,
 *                   whose run may be resumed. When `left` of the request has such names, code that
 *                   would import one of them is not run: py_class "PDLNeedsSession"
 *
 *          Fails with PDL_E_code "Python Code error: " and the frames of the user's code.
 *          py_class has class and bases ("ZeroDivisionError,ArithmeticError,Exception").
 *          facts.line1 is the line of the code, from 1.
 *          sys.exit(n) is PDL_E_exit with status n, which a program cannot catch.
 *          ipython never fails because of the code: the text of the error is the result.
 *
 * object   an operation on a remote object; `id` is the number of its handle. Fails with
 *          PDL_E_code, the text of the exception, py_class = its class.
 *
 *          {op: "attr", id, name}                 the attribute, else the item; when there is
 *                                                 neither, an undefined value with the reason
 *          {op: "item", id, key}                  the item, else, when key is a text, the attribute
 *          {op: "call", id, args, kwargs, name?}  calls it, or its method `name`
 *          {op: "iter", id}                       the list of its items
 *          {op: "len" | "str" | "repr", id}
 *          {op: "set", id, key, value, item}      assigns an attribute, or an item (item: true)
 *          {op: "binary", operator, left, right, negated?}
 *                                                 + - * / // % ** ~ == != < <= > >= in "not in"
 *          {op: "unary", operator, id}            + - not
 *          {op: "slice", id, args}                args: [from, to, step]
 *          {op: "filter", name, args, kwargs, operator?}
 *                                                 a filter of the table `_filters` in later.py
 *
 * command  {argv} -> {stdout, stderr, status, ended?}
 *
 *          status is the exit status, or minus the signal; "\r\n" and "\r" become "\n".
 *          ended is "memory" when the command reached the memory limit of its sandbox.
 *          A command that cannot be started fails with PDL_E_code "Shell Code error:
 *            FileNotFoundError(2, 'No such file or directory')", py_class
 *            "FileNotFoundError,OSError,Exception".
 *          A command that is too slow fails with "Shell Code error: TimeoutExpired: ...", py_class
 *            "TimeoutExpired,..."; in a sandbox, with PDL_E_time.
 *
 * Values that travel into Python: JSON values, tuple, set, bytes, dates, range; PDL functions as
 * callables (effect->call_in starts them); contexts as lists of messages; records with their
 * attributes; handles as their objects; the rest opaque. The same kinds come back, and everything
 * else comes back as a handle; a PDL function or opaque value that comes back is the same value.
 *
 * Borrows loop, which must outlive the world. Handles may outlive the world. Closing ends the
 * Python process and the processes that it started. */
pdl_world *pdl_worker_world_new(pdl_loop *loop, const pdl_worker_options *opt);

/* Returns true when the request of an effect of kind object uses an object of the world's
 * process. */
bool pdl_worker_has_object(const pdl_world *w, pdl_vref request);

/* Returns true when the world may be closed: nothing runs in it, and no value of the program is an
 * object of its process. */
bool pdl_worker_is_idle(const pdl_world *w);

/* Returns the process id of the Python process; 0 when there is no such process. For tests and
 * traces. */
int pdl_worker_pid(const pdl_world *w);

#endif
