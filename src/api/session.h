/* session.h -- one run with everything around it: environment, loop, worlds in their order,
 * program, sinks. What the command and the library's public functions share.
 *
 * What lies between the run and who answers its effects is the table session/chain.def, read from
 * top to bottom: policy, explain, durable, record, cache, budget, precheck, jobs, answer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_SESSION_H
#define PDL_API_SESSION_H

#include "api/session_options.h"
#include "check/check.h"
#include "journal/durable.h"
#include "lang/program.h"
#include "trace/fold.h"
#include "vm/vm.h"

/* Opens journals, makes worlds. Borrows options->... for the life of the session. Errors: usage
 * (the record file exists), io. */
PDL_MUST bool pdl_session_new(const pdl_session_options *options, pdl_session **out, pdl_err *err);
void pdl_session_free(pdl_session *s); /* NULL is fine */

/* Checks a program with the variables of the session: a second program, owned, with the
 * diagnostics; NULL: it cannot be checked, since it has no text. */
pdl_program *pdl_session_check(const pdl_session *s, const pdl_program *p);

/* The same for a program that gets other variables, with these names; closed: and no others. */
typedef struct pdl_check_inputs {
    const pdl_str *names;
    size_t n_names;
    bool closed;
} pdl_check_inputs;
pdl_program *pdl_session_check_with(const pdl_session *s, const pdl_program *p, pdl_str file,
                                    const pdl_check_inputs *inputs);

/* What a check knows about models; keys: also whether their keys are set. Borrows s. */
pdl_check_models pdl_session_models(pdl_session *s, bool keys);

/* Load the program's text. False: it has errors, which are in the program (borrowed until free). */
PDL_MUST bool pdl_session_load(pdl_session *s, pdl_str bytes, const pdl_program **program);

/* The run is durable. Before the start. The session fills in dir, debug, secrets and what belongs
 * to owner. variables replace those of the options, unless they are absent. d is borrowed until
 * free. */
void pdl_session_attach(pdl_session *s, pdl_durable *d, const pdl_durable_options *o,
                        pdl_vref variables);
/* The journal of a server: runs beside others may be durable. Before the first of them; borrowed
 * until free. */
void pdl_session_attach_server(pdl_session *s, pdl_durable *server);
/* Registers the keys of the environment with it. */
void pdl_session_name_keys(const pdl_session *s, pdl_durable *d);
/* The keys that the environment and the program of a journal hold. Owned. */
pdl_secrets *pdl_session_secrets_of(pdl_str journal);
/* Appends the text of a program without the keys that it or the environment holds: for pages, which
 * are given to others. */
void pdl_session_hide_program(pdl_str text, pdl_buf *out);
/* After WAIT: what waits is cancelled. */
void pdl_session_stop(pdl_session *s);
/* What was printed may go out: everything that is due is written first. */
void pdl_session_flush(pdl_session *s);

/* The profiles of the policies with the numbers from `from` on, and the profile with this name (one
 * that --sandbox takes; empty: none), confine the run, within the sandbox of the session or of that
 * which it shares. Before a program is loaded or used. Errors: those of a sandbox. */
PDL_MUST bool pdl_session_confine(pdl_session *s, size_t from, pdl_str name, pdl_err *err);

/* A program that is loaded already; kept. In place of pdl_session_load. */
void pdl_session_use(pdl_session *s, pdl_program *program);
/* The same program as code of another session with the same names and the same option `trace`;
 * kept. After pdl_session_use. */
void pdl_session_use_code(pdl_session *s, pdl_code *code);
/* The code of the program, after start. Borrowed. */
pdl_code *pdl_session_code(const pdl_session *s);

/* After the end: what was to be kept is kept, the recording and the cache are whole. Errors: io. */
PDL_MUST bool pdl_session_finish(pdl_session *s, pdl_err *err);

/* Run to the end. DONE or FAIL. */
pdl_step pdl_session_run(pdl_session *s);
/* The same in steps: start once, then step until it is DONE or FAIL. A step waits for the outside
 * at most timeout_ms (-1: no limit). */
void pdl_session_start(pdl_session *s);
pdl_step pdl_session_step(pdl_session *s, int timeout_ms);
/* How long the next step may be put off: 0: not at all, -1: until the loop's descriptor is
 * readable. */
int pdl_session_deadline_ms(const pdl_session *s);
/* End the run with this error; callable from sinks and signal callbacks of the loop. Takes the
 * content of err. */
void pdl_session_cancel(pdl_session *s, pdl_err *err);

/* --- many runs over one set of worlds (serve) ------------------------------------------------- */

typedef struct pdl_spawn {
    pdl_code *code; /* from pdl_session_compile; kept by the run */
    pdl_str dir;    /* directory of its program; borrowed */
    pdl_stream stream;
    pdl_vref variables;   /* a dict from pdl_session_variables, and more; borrowed for the call */
    pdl_sink sink;        /* event NULL: none */
    bool provisional;     /* durable: pieces of answers are shown before they are kept */
    pdl_durable *durable; /* of a durable run of a server; borrowed; NULL: none */
    pdl_str name;         /* of its program, for telemetry; borrowed */
    uint32_t slot;        /* below PDL_SPAWN_SLOTS; no other run that is alive has it */
    /* Slot of the first run of a group, which is spawned first and freed with the others. */
    uint32_t group;
    pdl_str draw; /* names the replies of its group in the cache; borrowed; empty: no name */
    pdl_run_waker waker; /* fn NULL: none */
    /* what the run is charged to; kept. NULL: it has the budget of the options for itself */
    struct pdl_budget *budget;
} pdl_spawn;
enum { PDL_SPAWN_SLOTS = 7168, PDL_MEMBER_SLOTS = 7168 };

/* The policy of a program that runs beside others: it holds for all runs of the session, since one
 * process of code may answer all of them. Before the first run. */
PDL_MUST bool pdl_session_take_policy(pdl_session *s, const pdl_program *p, pdl_err *err);
/* A program as code that runs of this session share; owned. */
pdl_code *pdl_session_compile(pdl_session *s, pdl_program *program);
/* What programs begin with: defaults of models, then these variables (borrowed; absent: none).
 * Owned dict. */
PDL_MUST bool pdl_session_variables(pdl_vref variables, pdl_val *out, pdl_err *err);
/* Wait for the outside at most timeout_ms, as poll of a world. Returns false when nothing is open
 * there: a run that waits gets no answer. */
bool pdl_session_poll(pdl_session *s, int timeout_ms);
/* A run beside others, started; the caller steps and releases it, and polls. The repetitions of
 * what is asked of the cache are counted in its group. */
pdl_run *pdl_session_spawn(pdl_session *s, const pdl_spawn *spawn);
/* Frees the run of a slot, and ends the programs that its code runs. */
void pdl_session_release(pdl_session *s, pdl_run *run, uint32_t slot);

/* The text of the standard library. */
pdl_str pdl_session_library_text(void);
/* The standard library as programs have it under `stdlib`: a dict; null where it cannot be loaded.
 * Owned. */
pdl_val pdl_session_library(pdl_session *s);

/* With a shared one: what can run does, nothing waits for the outside; the caller runs the loop. */
pdl_step pdl_session_turn(pdl_session *s);
/* The same for the programs that run inside those of the members, and calls of models that waited
 * for their turn. True when a program ended. */
bool pdl_session_turn_inner(pdl_session *shared);
bool pdl_session_inner_is_ready(const pdl_session *shared);
/* Has it something to do before anything happens on the loop? */
bool pdl_session_is_ready(const pdl_session *s);
/* Is all it waits for a question without an answer (a durable run that may park)? */
bool pdl_session_only_waits(const pdl_session *s);
/* Then it ends, or continues with what has come. After a look at the loop. */
bool pdl_session_park(pdl_session *s);

/* The run, for its result and error. Borrowed. */
const pdl_run *pdl_session_get(const pdl_session *s);
/* pdl_run_set_variable of the run. */
bool pdl_session_set_variable(pdl_session *s, uint32_t fiber, pdl_str name, pdl_vref old,
                              pdl_vref v);
struct pdl_loop *pdl_session_loop(const pdl_session *s);
/* Answers the input effect with this id, which waits for standard input; false: none does. */
bool pdl_session_answer_input(pdl_session *s, uint32_t effect, pdl_str text);
/* Before the engine itself writes a file (a trace): a link in a folder that confined code may
 * write may not lead out of it. Error: policy. */
PDL_MUST bool pdl_session_check_path(const pdl_session *s, const char *path, pdl_err *err);
/* Folders of PDL_PATH and of the installed library, in which imports are looked for. Borrowed. */
const pdl_str *pdl_session_path(const pdl_session *s, size_t *n);
const char *pdl_session_env(pdl_session *s, const char *name);

/* With options.explain, after the run, whose step may also be WAIT: {calls, not_done, not_known,
 * not_reached}, secrets replaced. Owned; the forms are in docs/manual/calls.md. */
pdl_val pdl_session_explained(pdl_session *s);

/* After the end: the trace as one line of JSON, in pieces (options.trace). Errors: limit, io, those
 * of put. */
PDL_MUST bool pdl_session_trace(const pdl_session *s, pdl_fold_put_fn *put, void *user,
                                pdl_err *err);

/* What of a program that was not loaded here is secret is not shown either. */
void pdl_session_note(const pdl_session *s, const pdl_program *program);
/* v as the policies let it be printed: without what the sink `output` hides. Owned. */
pdl_val pdl_session_shown(const pdl_session *s, pdl_vref v);
pdl_val pdl_session_recorded(const pdl_session *s, pdl_vref v); /* the same for recordings */
/* Does the message of an error hold text that is not to be printed? Then what to say instead. */
bool pdl_session_hides_error(const pdl_session *s, const pdl_err *e, pdl_buf *instead);
/* Text with every secret that is in use replaced by [REDACTED]. */
void pdl_session_redact(const pdl_session *s, pdl_str text, pdl_buf *out);

#endif
