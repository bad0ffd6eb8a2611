/* err.h -- the description of an error: what went wrong, where, and why. All functions report
 * errors in this way.
 *
 * The caller owns a pdl_err and passes its address as the last argument. When all its members are
 * zero, there is no error. The function that detects a failure fills it once and returns false.
 * Setters return false, so that a failure is reported in one line.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_ERR_H
#define PDL_BASE_ERR_H

#include <stdarg.h>

#include "base/alloc.h"
#include "base/source.h"

/* X(id, exit code, doc). A program names kinds in retry.exceptions and tests them in a fallback; a
 * shell sees the exit code. The kinds from auth on are the failures of a model call (spec providers
 * 9). */
#define PDL_ERR_KINDS(X)                                                                           \
    X(syntax, 1, "a program, data file or expression cannot be read")                              \
    X(schema, 1, "a program does not respect the language")                                        \
    X(expression, 1, "an expression failed")                                                       \
    X(type, 1, "a value does not fit its spec")                                                    \
    X(parser, 1, "text could not be parsed by the parser of a block")                              \
    X(code, 1, "a code block or command failed")                                                   \
    X(io, 1, "a file or stream cannot be read or written")                                         \
    X(include, 1, "an included or imported program is missing or broken")                          \
    X(runtime, 1, "any other failure of a running program")                                        \
    X(limit, 1, "a limit was exceeded")                                                            \
    X(replay, 1, "a replay requested something that was not recorded")                             \
    X(budget, 1, "a budget of the run or of a block is spent")                                     \
    X(policy, 1, "a policy refuses: untrusted text would reach a sink, or a profile is exceeded")  \
    X(memory, 1, "confined code used more memory than its profile allows")                         \
    X(time, 1, "confined code ran longer than its profile allows")                                 \
    X(processes, 1, "confined code started more processes than its profile allows")                \
    X(interrupt, 130, "the user pressed Ctrl-C")                                                   \
    X(terminated, 143, "the process was asked to end")                                             \
    X(parked, 75, "the run waits for an answer that a person gives later")                         \
    X(usage, 2, "the command line is wrong")                                                       \
    X(exit, 0, "Python code called sys.exit; the code is in status")                               \
    X(auth, 1, "a model: key missing or refused")                                                  \
    X(permission, 1, "a model: not allowed")                                                       \
    X(not_found, 1, "a model: unknown model or address")                                           \
    X(rate_limit, 1, "a model: too many requests")                                                 \
    X(quota, 1, "a model: the account is used up")                                                 \
    X(context_window, 1, "a model: the prompt is too long")                                        \
    X(content_policy, 1, "a model: refused by a content policy")                                   \
    X(timeout, 1, "a model: no answer in time")                                                    \
    X(bad_request, 1, "a model: the request was refused")                                          \
    X(unavailable, 1, "a model: overloaded")                                                       \
    X(server, 1, "a model: server error")                                                          \
    X(connection, 1, "a model: no connection")                                                     \
    X(protocol, 1, "a model: an answer that is not in the expected form")                          \
    X(stream, 1, "a model: the stream broke after it began")                                       \
    X(unsupported_params, 1, "a model: a parameter that the route cannot express")                 \
    X(unknown_provider, 1, "a model: no such provider")                                            \
    X(config, 1, "a model: a required setting is missing")

typedef struct pdl_buf pdl_buf;

typedef enum {
    PDL_E_NONE,
#define X(id, code, doc) PDL_E_##id,
    PDL_ERR_KINDS(X)
#undef X
        PDL_E_COUNT
} pdl_err_kind;

/* One frame of the PDL call stack, such as "in call to f, main.pdl:3, column 5". */
typedef struct pdl_err_frame {
    char *what; /* owned, such as "call to f" or "import of x.pdl" */
    pdl_loc loc;
    /* a library made this call, to a tool of an agent; the frame is printed above the message */
    bool is_tool;
    uint64_t label; /* origins of the arguments (value/label.h) */
} pdl_err_frame;

/* The facts that are known of an error besides its message. A program that catches the error sees
 * these facts in pdl_error; the machine and the server read them here. A fact that is unknown is
 * zero. */
typedef struct pdl_err_facts {
    uint32_t line1;      /* kind `code`: the failed line in the text of the block */
    double retry_after;  /* how many seconds the service of a model call asked to wait */
    bool has_budget;     /* kind `budget`: the next three members are set */
    uint8_t budget_item; /* pdl_budget_item */
    /* number of budgets around the spent one; 0 when the run's budget is spent */
    uint32_t budget_depth;
} pdl_err_facts;

/* Invariant: when kind is PDL_E_NONE, all other members are zero. */
typedef struct pdl_err {
    pdl_err_kind kind;
    pdl_loc loc;  /* the place that is printed as FILE:LINE */
    pdl_loc mark; /* the exact span for the caret; when it is all-zero, loc is used */
    char *msg;    /* owned; may have several lines (type errors); has no newline at its end */
    /* owned; msg in the words of JSON for types; NULL when msg has no words of Python for types
     * (value/type_words.h) */
    char *plain;
    char *hint; /* owned, such as "did you mean 'name'?"; may be NULL */
    /* owned; the class of the Python exception, and then its bases, as "A,B"; may be NULL */
    char *py_class;
    pdl_err_facts facts;
    /* owned; may be NULL. JSON {provider, model, retry_after_seconds, attempts} of a failed model
     * call. The program sees it as pdl_error and the trace shows it; the machine does not read
     * it. */
    char *detail;
    /* origins of the text of the message (value/label.h); 0 when the program wrote it */
    uint64_t label;
    /* The origins that decide whether the message may be a secret. Valid when has_words is set;
     * otherwise the reader uses `label`, which also has the origins of the values that led to the
     * error. */
    uint64_t words;
    bool has_words;
    int status; /* HTTP status, or exit status of a command or of sys.exit; 0 when there is none */
    bool has_status;
    bool uncatchable; /* retry and fallback do not catch the error */
    /* msg is printed unchanged, because each of its lines has a place (schema errors) */
    bool preformatted;
    /* loc is a call of the library; the frames inside of the library are not printed */
    bool skips_library;
    pdl_err_frame *frames; /* owned array; the innermost frame comes first */
    size_t n_frames;
    struct pdl_err *cause; /* owned; the error that this error wraps; may be NULL */
} pdl_err;

/* Fills err, which was not set before. Always returns false. */
PDL_PRINTF(4, 5)
bool pdl_err_set(pdl_err *err, pdl_err_kind kind, pdl_loc loc, const char *fmt, ...);
PDL_PRINTF(4, 0)
bool pdl_err_vset(pdl_err *err, pdl_err_kind kind, pdl_loc loc, const char *fmt, va_list ap);

/* Does what pdl_err_set does, for an error that the reference raises as a Python exception of class
 * py_class ("TypeError", "UndefinedError", ...). Always returns false. Natives and operators use
 * this form; the machine adds place and prefix. */
PDL_PRINTF(3, 4) bool pdl_err_host(pdl_err *err, const char *py_class, const char *fmt, ...);

/* Returns true when there is memory for n more bytes. Otherwise sets err to an error of the kind
 * limit, and returns false. */
bool pdl_err_memory(pdl_err *err, size_t n);

/* Sets the error for the signal sig, which no handler of the program catches. Always
 * returns false. */
bool pdl_err_signal(pdl_err *err, int sig);

/* Returns true when a signal or a budget ended the work, false when the work itself failed. */
static inline bool pdl_err_is_cancel(const pdl_err *err) {
    return err->kind == PDL_E_interrupt || err->kind == PDL_E_terminated ||
           err->kind == PDL_E_budget;
}

/* Wraps err in a new error of the same kind, whose message has "fmt: " before that of err. Always
 * returns false. */
PDL_PRINTF(3, 4) bool pdl_err_wrap(pdl_err *err, pdl_loc loc, const char *fmt, ...);

/* Replaces the message; err then has no message in the words of JSON. Takes the content of msg. */
void pdl_err_reword(pdl_err *err, pdl_buf *msg);

/* Puts text before the message, in both its forms. */
void pdl_err_put_before(pdl_err *err, pdl_str text);

/* Sets or replaces the message in the words of JSON. */
PDL_PRINTF(2, 3) void pdl_err_plain(pdl_err *err, const char *fmt, ...);

/* Returns the message in the words of JSON. Borrowed. */
pdl_str pdl_err_in_plain(const pdl_err *err);

/* Sets the place of err, unless err has a place. */
void pdl_err_at(pdl_err *err, pdl_loc loc);

/* Converts the places of err to text, for an error that outlives the sources into which
 * they point. */
void pdl_err_detach(pdl_err *err);

/* Sets or replaces the suggestion that is printed below the error. */
PDL_PRINTF(2, 3) void pdl_err_hint(pdl_err *err, const char *fmt, ...);

/* Adds a frame of the PDL call stack. Outer frames are added later. */
PDL_PRINTF(3, 4) void pdl_err_frame_add(pdl_err *err, pdl_loc loc, const char *fmt, ...);

/* Does what pdl_err_frame_add does, when a library called a function of the program, such as a tool
 * of an agent, and this function failed. Only the first call counts, because it is the innermost.
 */
PDL_PRINTF(4, 5)
void pdl_err_tool_add(pdl_err *err, pdl_loc loc, uint64_t label, const char *fmt, ...);
bool pdl_err_has_tool(const pdl_err *err);

/* Releases the memory that err owns, and makes err all-zero. May be called twice. */
void pdl_err_fini(pdl_err *err);

/* Moves *src to *dst, which was not set before. *src becomes all-zero. */
void pdl_err_move(pdl_err *dst, pdl_err *src);

/* Makes a deep copy of src in dst, which was not set before. */
void pdl_err_copy(pdl_err *dst, const pdl_err *src);

/* Returns the name of a kind ("syntax", "rate_limit", ...; static); "none" for PDL_E_NONE. */
const char *pdl_err_kind_name(pdl_err_kind k);

/* Returns the exit code of the process for an error: the code in the table, or the status of an
 * error PDL_E_exit. */
int pdl_err_exit_code(const pdl_err *err);

/* Appends the message as users see it: "FILE:LINE - MSG". When `rich` is set, further lines are
 * added. Above the message is the call of a tool that failed. Below the message are the source line
 * with a caret, the hint and the call stack. The text ends with a newline. */
void pdl_err_print(const pdl_err *err, bool rich, pdl_buf *out);

#endif
