/* session_impl.h -- the functions that the files of a session share. Private to api.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_SESSION_IMPL_H
#define PDL_API_SESSION_IMPL_H

#include "api/session/session_parts.h"
#include "budget/budget_world.h"
#include "worker/worker.h"

/* The parts are declared in session_parts.h. */
struct pdl_session {
    pdl_session_options opt;
    pdl_around around;
    pdl_session_rules rules;
    pdl_open_files files;
    pdl_chain chain; /* pdl_session_chain builds it when it is first needed */
    pdl_loaded loaded;
    pdl_running running;
    pdl_reports reports;
    pdl_group group;
};
bool pdl_session_ok(const pdl_session *s); /* checks all parts; for assertions */

/* reports.c. Adds the sinks of the session's run. */
void pdl_session_add_sinks(pdl_session *s, pdl_sinks *sinks);

/* Returns the chain of the session. It is built at the first call, when the policies are known. */
pdl_chain *pdl_session_chain(pdl_session *s);
/* answerers.c. Returns the last world of the chain. */
pdl_world *pdl_session_answer_world(pdl_session *s);

/* durable_session.c. Makes the chain of a spawned durable run, and returns its first world.
 * pdl_session_end_durable closes the chain. */
pdl_world *pdl_session_spawn_durable(pdl_session *s, const pdl_spawn *spawn);
/* If the journal has parked the run, ends the run and returns true. */
bool pdl_session_end_parked(pdl_session *s);
pdl_sink pdl_session_output_sink(const pdl_session *s);
void pdl_session_end_durable(pdl_session *s, uint32_t slot);
/* Opens the world of the row `output` of chain.def. */
pdl_world *pdl_session_output_world(const pdl_session *s, pdl_world *next);

/* telemetry.c. Opens the exporter of a session that has a separate environment. Error: usage. */
PDL_MUST bool pdl_session_open_telemetry(pdl_session *s, pdl_err *err);
void pdl_session_close_telemetry(pdl_session *s);
void pdl_session_add_spans(pdl_session *s, pdl_sinks *sinks);
void pdl_session_add_spawn_spans(pdl_session *s, uint32_t slot, pdl_str file, pdl_sinks *sinks);
void pdl_session_end_spawn_spans(pdl_session *s, uint32_t slot);
/* Writes the trace context of requests to models. user is the session whose environment is used. */
bool pdl_session_traceparent(void *user, uint32_t effect, char out[56]);
const char *pdl_session_tracestate(const pdl_session *s);

/* Returns a variable of the environment of a session. user is that session. */
const char *pdl_session_env_of(void *user, const char *name);
/* Returns the value of a variable in a file `.env`, see pdl_environ_of_file. */
const char *pdl_session_env_of_file(void *user, const char *name);
/* Returns a variable of the environment that is read for the purpose `needed` and for purposes that
 * precede it in the enum. Returns NULL when the variable is not set, or is not read for the purpose
 * of this session. pdl_session_name_setting adds the name of the variable to an error about its
 * value. */
const char *pdl_session_setting(const pdl_session *s, pdl_session_purpose needed, const char *name);
void pdl_session_name_setting(pdl_err *err, const char *name);
/* Changes the kind of an error to `usage` when the value of an option, or the content of the file
 * that the option names, is wrong. Other errors keep their kind, such as the error that a file
 * cannot be opened. Returns false. */
bool pdl_session_blame_option(pdl_err *err);
int64_t pdl_session_wall(void *user, const pdl_event *e);

/* session_inner.c. pdl_session_machine_options returns the options that every run of the session
 * has. pdl_session_with_defaults returns the variables of a run, each with its origin.
 * pdl_session_run_program and pdl_session_ask_input answer code that requests the run of a program,
 * or a line of input. */
pdl_run_options pdl_session_machine_options(pdl_session *s);
pdl_val pdl_session_with_defaults(pdl_vref vars, pdl_label origin);
void pdl_session_run_program(void *user, const pdl_effect *code, pdl_val request,
                             pdl_worker_done_fn *done, void *done_user);
void pdl_session_ask_input(void *user, const pdl_effect *code, pdl_worker_answer_fn *answer,
                           void *answer_user);

/* precheck.c. Makes a world that checks the program of the session before its first request. */
pdl_world *pdl_session_precheck(pdl_session *s, pdl_world *next);

/* guard.c. Puts in force the policy of a program that is not the main program. The policy then
 * decides about everything that this program does. file is the file of the program; it is empty
 * when the text was computed. Errors: io, syntax, schema, limit. */
PDL_MUST bool pdl_session_take_module(pdl_session *s, const pdl_program *p, pdl_str file,
                                      pdl_code *code, pdl_err *err);
/* Sets the options of a run that depend on policies: pdl_run_options.guard. */
bool pdl_session_guard_run(void *session, pdl_run_options *o, pdl_err *err);
/* Reads the policies of the command line and the environment now. The policy of the program is read
 * when the run begins; then the policy world is opened. */
PDL_MUST bool pdl_session_read_policies(pdl_session *s, pdl_err *err);
pdl_world *pdl_session_policy_world(pdl_session *s, const pdl_spawn *run, pdl_world *next);
/* Writes the policies into the recording; called again when a module has added one. Does nothing
 * without a recording or policies. */
void pdl_session_record_policies(pdl_session *s);
/* Fills in the redactions. Called after policies were read. */
void pdl_session_fill_redactions(pdl_session *s);
/* Returns the memory that the session's policies share with other runs; the session joins it. */
pdl_policy_memory *pdl_session_memory(pdl_session *s);
PDL_MUST bool pdl_session_read_own_policy(pdl_session *s, pdl_err *err);
/* Stores in the journal of a durable run the policies and sandboxes that confine the run. When the
 * run continues, it is confined in the same way, even if its program or its host now requests less.
 * Error: usage. */
PDL_MUST bool pdl_session_keep_guards(pdl_session *s, pdl_err *err);
/* Returns the labels that the sink does not show. The pointer is valid from the beginning; the
 * labels are filled in when policies are read. */
const pdl_redaction *pdl_session_redaction(const pdl_session *s, pdl_sink_id sink);
/* Returns true when error output of code is shown by the session. user is a session. */
bool pdl_session_takes_errors(void *user);
void pdl_session_show_errors(void *user, pdl_str bytes);

/* profiles.c. Opens the sandbox, if the options or the policies that were read so far ask for
 * one. */
PDL_MUST bool pdl_session_open_sandbox(pdl_session *s, pdl_err *err);
PDL_MUST bool pdl_session_add_profile(pdl_session *s, size_t from, pdl_err *err);
/* Makes the sandboxes of blocks before anything is executed. The error names all profiles that
 * cannot be enforced. */
PDL_MUST bool pdl_session_keep_profiles(pdl_session *s, const pdl_program *p, pdl_err *err);

/* recording.c. Opens the journal of --record or --replay. Errors: usage, io, replay. */
PDL_MUST bool pdl_session_open_journal(pdl_session *s, pdl_err *err);
/* Records the program and its variables, before the run starts. */
void pdl_session_record_program(pdl_session *s);
/* Adds the variables, with their origin, to d. Takes d. */
pdl_val pdl_session_with_variables(pdl_val d, pdl_vref vars, pdl_label origin);

/* durable_session.c. Opens the durable run that --replay names, which then answers the effects.
 * Errors: io, replay. */
PDL_MUST bool pdl_session_open_replay(pdl_session *s, pdl_err *err);

#endif
