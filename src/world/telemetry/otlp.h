/* otlp.h -- runs as traces of OpenTelemetry, sent to a collector by OTLP over HTTP with JSON (spec
 * runs 4).
 *
 * Two objects: the exporter, one for all runs of a loop, which gathers spans in batches and sends
 * them; and the spans of one run, a sink that makes them from its events. Telemetry must never slow
 * or stop what it watches. So the exporter has its own event loop: its transfers do not keep
 * the loop of the runs open, where "nothing is open" means that a run waits for nothing. That loop
 * takes its turns while the other one waits, and whenever a batch is full. What the collector does
 * not take is dropped and counted, and told once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_TELEMETRY_OTLP_H
#define PDL_TELEMETRY_OTLP_H

#include "base/debug.h"
#include "effect/secret.h"
#include "io/loop.h"
#include "trace/sink.h"
#include "value/label.h"

typedef struct pdl_otlp pdl_otlp;

typedef struct pdl_otlp_options {
    pdl_loop *loop;       /* of the runs; borrowed */
    pdl_str url;          /* whole address; empty: that of the environment, if PDL_OTLP is 1 */
    bool content;         /* also texts: messages, answers, code, results */
    bool all;             /* sends spans of the inside of the library */
    const char *(*env)(void *user, const char *name);
    void *env_user;
    const pdl_secrets *secrets; /* are replaced in all that is sent; borrowed */
    const pdl_debug *debug;
    void (*note)(void *user, pdl_str text); /* what the user should know; may be NULL */
    void *note_user;
} pdl_otlp_options;

/* *out is NULL where nothing is to be sent. Error: usage (it is not an address). */
PDL_MUST bool pdl_otlp_new(const pdl_otlp_options *o, pdl_otlp **out, pdl_err *err);
/* Sends what is left, and waits for the collector at most PDL_OTLP_LAST_MS. NULL is fine. */
enum { PDL_OTLP_LAST_MS = 1000 };
void pdl_otlp_free(pdl_otlp *o);

/* The header `traceparent` of a request that is made for an open effect; false: it has no span. */
enum { PDL_TRACEPARENT_SIZE = 56 };
bool pdl_otlp_traceparent(const pdl_otlp *o, uint32_t effect, char out[PDL_TRACEPARENT_SIZE]);

/* The header `tracestate` that goes with it, of who started this process; NULL: there is none. */
const char *pdl_otlp_tracestate(const pdl_otlp *o);

typedef struct pdl_otlp_run pdl_otlp_run;

/* The spans of a run of the program `file`; id: of a durable run, or empty. mask: what a policy
 * hides wherever it is, in names and errors, too. o and mask are borrowed. */
pdl_otlp_run *pdl_otlp_run_new(pdl_otlp *o, const pdl_mask *mask, pdl_str file, pdl_str id);
pdl_sink pdl_otlp_run_sink(pdl_otlp_run *r);
void pdl_otlp_run_free(pdl_otlp_run *r); /* ends what is open; NULL is fine */

#endif
