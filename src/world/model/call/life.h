/* life.h -- functions that the files of a call's life share: call.c (states, sending), call_timer.c
 * (timers), receive.c (replies and streams), recover.c (after a failure), polled_job.c (replies
 * that are polled for). Private to model/call.
 *
 * A function that gets a call may end it: after pdl_call_fail, pdl_call_finish, pdl_call_stop,
 * pdl_call_release and every function that leads to one of them, the caller returns without
 * touching the call.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_LIFE_H
#define PDL_MODEL_LIFE_H

#include "model/call/call.h"

/* --- call.c ----------------------------------------------------------------------------------- */

/* The only way to change c->state; a step that the table of states does not allow is a bug. */
void pdl_call_enter(pdl_call *c, pdl_call_state next);
/* Returns true when c holds only what its state allows. For assertions. */
bool pdl_call_is_ok(const pdl_call *c);
/* Writes the request for the current model, and begins to send the request, or to answer it by a
 * mock. */
void pdl_call_write_request(pdl_call *c);
/* Sends the written request; first gets a token, if the key of the call is exchanged for one. */
void pdl_call_send(pdl_call *c);
/* Sends the written request again once it has a rate slot; a poll for a job does not need one. */
void pdl_call_send_again(pdl_call *c);
/* Releases the call but not its effect, which the caller answers, refuses or frees. */
void pdl_call_release(pdl_call *c);
/* Returns true when the program wants a stream and the service can send one. */
bool pdl_call_is_streamed(const pdl_call *c);
/* Returns the model as the program wrote it, or the fallback that is tried now; borrowed. */
pdl_str pdl_call_model(const pdl_call *c);
/* Notifies the user about a call that continues. A text that equals the previous note is
 * dropped. */
PDL_PRINTF(2, 3)
void pdl_call_note(const pdl_call *c, const char *fmt, ...);
/* Returns the id under which the token of the call is cached. */
pdl_str pdl_call_token_id(const pdl_call *c);

/* --- call_timer.c ----------------------------------------------------------------------------- */

/* Starts the timer of c; the state decides what its end means. */
void pdl_call_wait(pdl_call *c, uint64_t ms);
void pdl_call_stop_waiting(pdl_call *c);
/* Returns how many ms a call may wait before it receives the first byte; 0 means no limit. */
uint64_t pdl_call_patience(const pdl_call *c);
/* Returns how many seconds the call may still wait for a service (patience_ms of the options);
 * HUGE_VAL when there is no limit. */
double pdl_call_seconds_left(const pdl_call *c);

/* --- prefix_first.c --------------------------------------------------------------------------- */

/* Computes c->beginning from the body. Called before marks for the prompt cache are added to the
 * body. */
void pdl_follow_read(pdl_call *c, pdl_vref body);
/* Returns true when c now has to wait for a call whose request begins alike. When the wait is over,
 * the timer of c sends c. */
bool pdl_follow_waits(pdl_call *c);
/* Ends the wait of c for another call. */
void pdl_follow_leave(pdl_call *c);
/* Lets the calls that wait for c be sent. answered: the answer of c has begun. */
void pdl_follow_settle(pdl_call *c, bool answered);
void pdl_follow_close(pdl_calls *calls);

/* --- receive.c -------------------------------------------------------------------------------- */

void pdl_call_reset_answer(pdl_call *c);
/* Receives a piece of a stream; see pdl_http_request.data. */
bool pdl_call_on_data(void *user, pdl_str bytes);
/* Reads a whole reply with status 2xx. */
void pdl_call_read_reply(pdl_call *c, const pdl_http_reply *r);
/* Passes text to the sink when the program wants pieces. Returns false when the sink cancelled the
 * call, or when c->fault says why the call must end. The caller then calls pdl_call_stop. */
bool pdl_call_show(pdl_call *c, pdl_str text);
/* Shows the text of a whole reply in pieces of n_cp code points, or as one piece when n_cp is 0.
 * The part of a job's text that was shown before is left out. Returns false in the same cases as
 * pdl_call_show.
 */
bool pdl_call_show_whole(pdl_call *c, pdl_vref raw, size_t n_cp);
/* Ends the call after pdl_call_show returned false. Takes raw. */
void pdl_call_stop(pdl_call *c, pdl_val raw);
/* Answers the effect with a response in OpenAI's shape. Takes raw. */
void pdl_call_finish(pdl_call *c, pdl_val raw, int status);

/* --- recover.c -------------------------------------------------------------------------------- */

/* Handles the failure f of a call: tries again, tries another model, or refuses the effect. Takes
 * the content of f. */
void pdl_call_fail(pdl_call *c, pdl_fault *f);
/* Fails a call before anything was sent. Takes the content of err. */
void pdl_call_fail_early(pdl_call *c, pdl_err *err);
bool pdl_call_retries_after_output(const pdl_call *c);

/* --- polled_job.c ----------------------------------------------------------------------------- */

/* Returns true when json is the reply of an unfinished job; c->job then has the address to poll. */
bool pdl_job_is_pending(pdl_call *c, pdl_vref json);
/* Shows the new part of the job's text, and polls again later. */
void pdl_job_wait(pdl_call *c);
void pdl_job_end(pdl_call *c);
/* Asks the service to stop a job whose result is not needed any more. */
void pdl_job_best_effort_cancel(pdl_call *c);

#endif
