/* session.h -- one run with everything around it: environment, loop, worlds in their order,
 * program, sinks. The command and the library's public functions share it.
 *
 * The table session/chain.def lists the worlds between the run and the rooms that answer its
 * effects, from first to last: policy, particle_replays, durable, output, record, cache, explain,
 * budget, precheck, merge, jobs, answer.
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

/* Opens journals and makes worlds. Everything to which the options point is borrowed until the
 * session is freed. Errors: usage (the file of --record exists), io. */
PDL_MUST bool pdl_session_new(const pdl_session_options *options, pdl_session **out, pdl_err *err);
void pdl_session_free(pdl_session *s); /* s may be NULL */

/* Checks a program with the variables of the session. Returns a second program, owned, which has
 * the diagnostics. Returns NULL for a program without a text, which cannot be checked. */
pdl_program *pdl_session_check(const pdl_session *s, const pdl_program *p);

/* The names of the variables with which a program is checked, when its run does not get the
 * variables of the session. With `closed`, the run gets no variables besides these. */
typedef struct pdl_check_inputs {
    const pdl_str *names;
    size_t n_names;
    bool closed;
} pdl_check_inputs;
pdl_program *pdl_session_check_with(const pdl_session *s, const pdl_program *p, pdl_str file,
                                    const pdl_check_inputs *inputs);

/* Returns the functions that answer a check's questions about models. With `keys`, a key that is
 * not set counts as a problem. Borrows s. */
pdl_check_models pdl_session_models(pdl_session *s, bool keys);

/* Loads the program from its text `bytes`. Returns false when it has errors, which are in the
 * program (borrowed until free). */
PDL_MUST bool pdl_session_load(pdl_session *s, pdl_str bytes, const pdl_program **program);

/* Returns true when the check before the first request would let that request be sent; otherwise
 * err says why not. */
PDL_MUST bool pdl_session_would_send(pdl_session *s, const pdl_effect *e, pdl_err *err);

/* Returns what a run of the loaded program can cost at most, with the variables, prices and budget
 * of the session (bound.h). Owned. */
pdl_val pdl_session_bound(const pdl_session *s);
/* Returns the models of a program that certainly have no price, as bound.h says. Owned. */
pdl_val pdl_session_unpriced(const pdl_session *s, const pdl_program *p, pdl_vref variables);
/* Returns true when the table of prices has a model. */
bool pdl_session_has_price(const pdl_session *s, pdl_str model);

/* The facts about a durable run that begins. */
typedef struct pdl_new_durable {
    pdl_str path; /* the file of its journal */
    bool full;    /* effects that were sent are safe even when the system crashes */
    /* the id of the run; the name of its program as it was given, and the bytes of the program */
    pdl_str id, file, text;
    pdl_str options; /* JSON: the part of the command line that a resume needs */
    pdl_vref inputs; /* variables, a dict */
    pdl_durable_options how;
} pdl_new_durable;
/* Makes the run of the session durable, before its start. Makes the journal, and writes its first
 * row with the working folder and the keys of the session. The buffer `note` gets a text for the
 * user, or stays empty. Sets *out as soon as the journal exists. The session borrows the journal
 * until it is freed; then the caller closes the journal. The session uses its own dir, debug and
 * secrets in place of those of n->how. Errors: usage when the file exists, runtime when another run
 * has it, io. */
PDL_MUST bool pdl_session_begin_durable(pdl_session *s, const pdl_new_durable *n, pdl_durable **out,
                                        pdl_buf *note, pdl_err *err);
/* Makes the run of the session continue the run in an open journal. Called before the start. The
 * run gets the recorded variables; those in `given` (may be absent) replace recorded ones. *inputs
 * has all of them, and the caller drops it after the session. Calls pdl_durable_prepare, which may
 * refuse to continue the run. d is borrowed like the journal of pdl_session_begin_durable, and
 * `how` is used like n->how there. Errors: config, replay, io, runtime when the user must say what
 * happens to actions without an end. */
PDL_MUST bool pdl_session_resume_durable(pdl_session *s, pdl_durable *d,
                                         const pdl_durable_options *how, pdl_vref given,
                                         pdl_val *inputs, pdl_err *err);

/* The output of a durable run. It waits until everything on which it depends is in the journal. */
typedef struct pdl_held_output {
    void *user;
    bool (*waits)(void *user);     /* returns true when output waits */
    uint64_t (*write)(void *user); /* returns the number of bytes that were written in total */
} pdl_held_output;
/* Called before the run is made durable, when its output is held back. */
void pdl_session_hold_output(pdl_session *s, const pdl_held_output *held);

/* Sets the journal of a server, before the first run is spawned. Spawned runs may then be durable.
 * The journal is borrowed until free, and gets the keys of the environment. */
void pdl_session_attach_server(pdl_session *s, pdl_durable *server);
/* Returns the keys that the environment and the program of a journal hold. Owned. */
pdl_secrets *pdl_session_secrets_of(pdl_str journal);
/* Appends the text of a program without the keys that are in it or in the environment, for pages
 * that the user may give to others. */
void pdl_session_redact_program(pdl_str text, pdl_buf *out);
/* Cancels everything that waits. Called after a step has returned WAIT. */
void pdl_session_stop(pdl_session *s);
/* Writes all waiting rows of the journal, so that output may be shown. */
void pdl_session_flush(pdl_session *s);

/* Confines the run further, within the sandbox of the session or of the shared session. Applies the
 * profiles of the policies whose numbers are at least `from`. Then applies the profile `name`,
 * which has the form of the value of --sandbox; when it is empty, there is no such profile. Called
 * before a program is loaded or used. Errors: those of a sandbox. */
PDL_MUST bool pdl_session_confine(pdl_session *s, size_t from, pdl_str name, pdl_err *err);

/* Uses a program that is loaded already; kept. Replaces pdl_session_load. */
void pdl_session_use(pdl_session *s, pdl_program *program);
/* Uses code that another session made from the same program, with the same names and the same
 * option `trace`; kept. Called after pdl_session_use. */
void pdl_session_use_code(pdl_session *s, pdl_code *code);
/* Returns the code of the program, after start. Borrowed. */
pdl_code *pdl_session_code(const pdl_session *s);

/* Completes the recording and the cache after the end. Error: io. */
PDL_MUST bool pdl_session_finish(pdl_session *s, pdl_err *err);
/* Ends the durable run of a session that failed. why is the error of the run. Error: io. */
PDL_MUST bool pdl_session_fail(pdl_session *s, const pdl_err *why, pdl_err *err);

/* Runs to the end. Returns DONE or FAIL. */
pdl_step pdl_session_run(pdl_session *s);
/* pdl_session_start begins a run, which the caller then steps until it is DONE or FAIL. A step
 * waits for answers at most timeout_ms (-1: no limit). */
void pdl_session_start(pdl_session *s);
pdl_step pdl_session_step(pdl_session *s, int timeout_ms);
/* Returns how many ms the next step may be delayed. Returns 0 when it must not be delayed, and -1
 * when it may be delayed until the descriptor of the loop is readable. */
int pdl_session_deadline_ms(const pdl_session *s);
/* Ends the run with this error; callable from sinks and signal callbacks of the loop. Takes the
 * content of err. */
void pdl_session_cancel(pdl_session *s, pdl_err *err);

/* --- many runs over one set of worlds (serve) ------------------------------------------------- */

typedef struct pdl_spawn {
    pdl_code *code; /* the code, made by pdl_session_compile; the run keeps a reference */
    pdl_str dir;    /* directory of its program; borrowed */
    pdl_stream stream;
    /* a dict of pdl_session_variables, to which the caller may have added variables; borrowed for
     * the call */
    pdl_vref variables;
    pdl_sink sink;        /* event may be NULL */
    bool provisional;     /* in a durable run, pieces of answers are shown before they are stored */
    pdl_durable *durable; /* journal of a durable run of a server; borrowed; may be NULL */
    pdl_str name;         /* name of the program of the run, for telemetry; borrowed */
    uint32_t slot;        /* a number below PDL_SPAWN_SLOTS that no other live run has */
    /* Slot of the first run of the group to which this run belongs. That run is spawned first, and
     * the runs of the group are freed together. */
    uint32_t group;
    /* the name of the group in the keys of the cache; borrowed; may be empty */
    pdl_str draw;
    pdl_run_waker waker; /* its fn may be NULL */
    /* The budget to which the run is charged; the run keeps a reference. When it is NULL, the run
     * only has the budget of the options. */
    struct pdl_budget *budget;
    /* prefix of the places of the run's effects; the run keeps a reference; may be NULL */
    pdl_path *place;
    pdl_particle particle;
} pdl_spawn;
enum { PDL_SPAWN_SLOTS = 14336, PDL_MEMBER_SLOTS = 7168 };

/* Puts in force the policy of a program that will be spawned. The policy applies to all runs of the
 * session, since one process of code may answer all of them. Called before the first run. */
PDL_MUST bool pdl_session_take_policy(pdl_session *s, const pdl_program *p, pdl_err *err);
/* Compiles a program as code that runs of this session share; owned. */
pdl_code *pdl_session_compile(pdl_session *s, pdl_program *program);
/* Makes the variables with which programs begin: the defaults for models, and the given variables
 * (borrowed; may be absent). Owned dict. */
PDL_MUST bool pdl_session_variables(pdl_vref variables, pdl_val *out, pdl_err *err);
/* Waits for answers for timeout_ms at most, like the poll of a world. Returns false when nothing is
 * in flight: a run that waits would get no answer. */
bool pdl_session_poll(pdl_session *s, int timeout_ms);
/* Starts a run beside the other runs of the session (a spawned run). The caller steps the run,
 * calls pdl_session_poll, and releases the run. The cache counts the repetitions of a request
 * separately for each group. */
pdl_run *pdl_session_spawn(pdl_session *s, const pdl_spawn *spawn);
/* Starts a copy of a held run (pdl_run_copy). The members code and variables of the spawn are not
 * used. */
pdl_run *pdl_session_copy(pdl_session *s, const pdl_spawn *spawn, const pdl_run *of,
                          const char **why, pdl_loc *loc);
/* Makes a held run another particle: from now on its effects and its replies in the cache have the
 * names of that particle. */
void pdl_session_rename(pdl_session *s, pdl_run *run, const pdl_spawn *spawn);
/* Frees the run of a slot, and ends the programs that its code has started. */
void pdl_session_release(pdl_session *s, pdl_run *run, uint32_t slot);

/* Returns the text of the standard library. */
pdl_str pdl_session_library_text(void);
/* Returns the standard library as programs have it under `stdlib`: a dict; null when it cannot be
 * loaded. Owned. */
pdl_val pdl_session_library(pdl_session *s);

/* For a member of a shared session: steps everything that can run, without waiting. The caller runs
 * the loop. */
pdl_step pdl_session_turn(pdl_session *s);
/* Steps the programs that code of the members has started, and starts model calls that waited
 * because too many calls were open. Returns true when one of these programs ended. */
bool pdl_session_turn_inner(pdl_session *shared);
/* Sends the model calls that wait to be merged. Returns false when no calls waited. */
bool pdl_session_send_waiting(pdl_session *s);
bool pdl_session_inner_is_ready(const pdl_session *shared);
/* Returns true when the session can be stepped before anything happens on the loop. */
bool pdl_session_is_ready(const pdl_session *s);
/* Returns true when the session waits only for questions that have no answer yet, in a durable run
 * that may park. */
bool pdl_session_only_waits(const pdl_session *s);
/* Parks a run that only waits for people; parking ends the run. If answers have arrived meanwhile,
 * the run continues instead. Called after the loop was polled. Returns true when it parked. */
bool pdl_session_park(pdl_session *s);

/* Returns the run, for its result and error. Borrowed. */
const pdl_run *pdl_session_get(const pdl_session *s);
/* Calls pdl_run_set_variable for the run. */
bool pdl_session_set_variable(pdl_session *s, uint32_t fiber, pdl_str name, pdl_vref old,
                              pdl_vref v);
struct pdl_loop *pdl_session_loop(const pdl_session *s);
/* Answers the input effect with this id, which waits for standard input. Returns false when no such
 * effect waits. */
bool pdl_session_answer_input(pdl_session *s, uint32_t effect, pdl_str text);
/* Checks the path of a file that the engine itself is about to write, such as a trace. A link in a
 * folder that confined code may write must not lead out of that folder. Error: policy. */
PDL_MUST bool pdl_session_check_path(const pdl_session *s, const char *path, pdl_err *err);
/* Returns the folders of PDL_PATH and of the installed library, in which imports are searched.
 * Borrowed. */
const pdl_str *pdl_session_path(const pdl_session *s, size_t *n);
const char *pdl_session_env(pdl_session *s, const char *name);

/* Returns what `explain` recorded: {calls, not_done, not_known, not_reached}, with secrets
 * replaced. Called after the run, whose last step may be WAIT. Owned; docs/manual/calls.md has the
 * forms. */
pdl_val pdl_session_explained(pdl_session *s);

/* Writes the trace after the end of the run (options.trace), in pieces that together are one line
 * of JSON. Errors: limit, io, and the errors of put. */
PDL_MUST bool pdl_session_trace(const pdl_session *s, pdl_fold_put_fn *put, void *user,
                                pdl_err *err);

/* Appends the trace of a run in progress, up to the present moment (options.trace_later). Returns
 * false without an error when the events since the start are too many to be kept. Errors: limit,
 * io. */
PDL_MUST bool pdl_session_trace_so_far(const pdl_session *s, pdl_buf *out, pdl_err *err);
/* Returns the events of the run that are kept (options.trace_later); NULL before the run.
 * Borrowed. */
struct pdl_later *pdl_session_later(const pdl_session *s);

/* Registers the secrets of a program that another session loaded, so that they are redacted,
 * too. */
void pdl_session_note(const pdl_session *s, const pdl_program *program);
/* Returns v without the values that the sink `output` redacts, so that it may be printed. Owned. */
pdl_val pdl_session_shown(const pdl_session *s, pdl_vref v);
/* Returns v without the values that recordings redact. Owned. */
pdl_val pdl_session_recorded(const pdl_session *s, pdl_vref v);
/* Appends the message of an error without secrets. When the message has a text that the sink
 * `output` redacts, appends another text instead. Appends nothing when there is no message. */
void pdl_session_put_error(const pdl_session *s, const pdl_err *e, pdl_buf *out);
/* Returns true when the message of an error has a text that the sink `output` redacts. `instead` is
 * then an error of the same kind and place that may be printed. */
bool pdl_session_hides_error(const pdl_session *s, const pdl_err *e, pdl_err *instead);
/* Appends text with every secret that is in use replaced by [REDACTED]. */
void pdl_session_redact(const pdl_session *s, pdl_str text, pdl_buf *out);
/* Replaces every secret in the texts of a value. Takes v; the result is owned. */
pdl_val pdl_session_redact_val(const pdl_session *s, pdl_val v);

/* The two functions below are for the state of a search. pdl_session_refer_keys appends JSON text
 * in which references replace the keys of the environment. pdl_session_fill_keys puts the keys
 * back. Errors: config, when a key is not set; replay, when a reference in json is damaged. */
void pdl_session_refer_keys(pdl_str json, pdl_buf *out);
PDL_MUST bool pdl_session_fill_keys(pdl_str json, pdl_buf *out, pdl_err *err);

#endif
