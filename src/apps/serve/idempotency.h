/* idempotency.h -- requests with an Idempotency-Key, whose runs are durable under `serve --durable`
 * (spec runs 2). Private to serve.
 *
 * A client that received nothing sends the request again with the same key. While the first run
 * continues, the request joins it and gets the answer from its start. When the run has ended, the
 * request gets the answer that was kept. When the server was restarted in between, the run
 * continues in the new server. A run with a key continues when its client disconnects.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SERVE_IDEMPOTENCY_H
#define PDL_SERVE_IDEMPOTENCY_H

#include "serve/serve_impl.h"

typedef struct keyed keyed;

/* Searches for the run of x. Returns true when x is handled: answered, refused, or joined to a run.
 * Otherwise the caller starts the request, and *out is the entry of the request's key; NULL when
 * the request has no key. */
bool pdl_serve_keyed_find(pdl_serve *s, pdl_exchange *x, const request *r, keyed **out);
/* Makes w the work for the key of k. From now on, other requests with the same key find w. */
void pdl_serve_keyed_own(work *w, keyed *k);
/* Returns the journal of a choice; NULL when it has no journal. */
pdl_durable *pdl_serve_keyed_run(const work *w, uint32_t i);
/* Notes that an exchange has ended before its answer. Returns false when the work has no key; the
 * caller then ends the work. */
bool pdl_serve_keyed_gone(work *w, const pdl_exchange *x);
/* pdl_serve_keyed_succeeded ends the runs of w with the answer; pdl_serve_keyed_failed ends them
 * with an error. */
void pdl_serve_keyed_succeeded(work *w);
void pdl_serve_keyed_failed(work *w, const pdl_err *why);
/* Unless the answer is complete, leaves the runs in the state that they would have after a crash,
 * so that a request with the same key continues them. */
void pdl_serve_keyed_leave(work *w);
void pdl_serve_keyed_free(work *w); /* Called after the runs of w were freed. */

/* --- the answer, for all exchanges that wait for it ------------------------------------------- */

/* Returns true when an exchange waits for the answer, or the journal keeps it. */
bool pdl_serve_out_any(const work *w);
void pdl_serve_out_begin(work *w);
void pdl_serve_out_put(work *w, pdl_str bytes);
void pdl_serve_out_end(work *w);
void pdl_serve_out_keep_alive(work *w);
/* Sends a whole answer; takes v. */
void pdl_serve_out_whole(work *w, pdl_val v);
/* Calls fn for every exchange that waits for the answer. */
void pdl_serve_out_each(work *w, void (*fn)(void *user, pdl_exchange *x), void *user);

#endif
