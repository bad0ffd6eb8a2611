/* keyed.h -- private to serve: requests with an Idempotency-Key, whose runs are durable under
 * `serve --durable` (spec runs 2).
 *
 * A client that received nothing asks again with the same key. While the first run continues, the
 * request joins it and gets the answer from its start; when it has ended, it gets the answer that
 * was kept; after the server ended in between, the run continues. A run with a key continues when
 * its client has disconnected.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SERVE_KEYED_H
#define PDL_SERVE_KEYED_H

#include "serve/serve_impl.h"

typedef struct keyed keyed;

/* Looks for the run of x. Returns true when x is taken care of: answered, refused, or joined to a
 * run. Else *out is for the work that is to be started: NULL when the request has no key. */
bool pdl_serve_keyed_find(pdl_serve *s, pdl_exchange *x, const request *r, keyed **out);
/* w has it from now on: it can be found. */
void pdl_serve_keyed_own(work *w, keyed *k);
/* The journal of a choice; NULL: it has none. */
pdl_durable *pdl_serve_keyed_run(const work *w, uint32_t i);
/* An exchange has ended before its answer. Returns false when no exchange waits for the work. */
bool pdl_serve_keyed_gone(work *w, const pdl_exchange *x);
/* The runs of w are over: with its answer, or with an error. */
void pdl_serve_keyed_succeeded(work *w);
void pdl_serve_keyed_failed(work *w, const pdl_err *why);
/* The server ends before the runs: they are left as by a crash. */
void pdl_serve_keyed_leave(work *w);
void pdl_serve_keyed_free(work *w); /* after its runs were freed */

/* --- the answer, for all who wait for it ------------------------------------------------------ */

/* Does anybody want it? */
bool pdl_serve_out_any(const work *w);
void pdl_serve_out_begin(work *w);
void pdl_serve_out_put(work *w, pdl_str bytes);
void pdl_serve_out_end(work *w);
void pdl_serve_out_keep_alive(work *w);
/* A whole answer; takes v. */
void pdl_serve_out_whole(work *w, pdl_val v);
/* Calls fn for every exchange. */
void pdl_serve_out_each(work *w, void (*fn)(void *user, pdl_exchange *x), void *user);

#endif
