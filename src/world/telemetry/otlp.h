/* otlp.h -- runs as traces of OpenTelemetry, sent to a collector by OTLP over HTTP with JSON (spec
 * runs 4).
 *
 * There are two kinds of objects. The exporter, one for all runs of a loop, gathers spans in
 * batches and sends them. A pdl_otlp_run, one for each run, is a sink that makes spans from the
 * events of its run. Telemetry must never slow or stop what it observes. So the exporter has a
 * separate event loop. The exporter's transfers must not be in the loop of the runs, because there
 * an open transfer means that a run waits for something. The exporter's loop is stepped while the
 * other loop waits, and whenever a batch is full. Spans that the collector does not accept are
 * dropped and counted, and reported once.
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
    pdl_loop *loop; /* loop of the runs; borrowed */
    /* whole address; when empty, the address of the environment is used if PDL_OTLP is 1 */
    pdl_str url;
    bool content; /* texts are sent, too: messages, answers, code, results */
    bool all;     /* spans of blocks inside the library are sent, too */
    const char *(*env)(void *user, const char *name);
    void *env_user;
    /* Secrets that are redacted in everything that is sent, and in messages of the collector. The
     * keys with which the collector is called become secrets, too. Borrowed. */
    pdl_secrets *secrets;
    const pdl_debug *debug;
    void (*note)(void *user, pdl_str text); /* receives messages for the user; may be NULL */
    void *note_user;
} pdl_otlp_options;

/* Makes an exporter. *out is NULL when nothing has to be sent. Error: usage (the address of the
 * collector or the value of PDL_OTLP is malformed). */
PDL_MUST bool pdl_otlp_new(const pdl_otlp_options *o, pdl_otlp **out, pdl_err *err);
/* How long pdl_otlp_free waits for the collector when it sends the last spans. When the collector
 * has named a time for them, the wait begins at that time. pdl_otlp_free accepts NULL. */
enum { PDL_OTLP_LAST_MS = 1000 };
void pdl_otlp_free(pdl_otlp *o);

/* The size of the header `traceparent` for an open effect. pdl_otlp_traceparent returns false when
 * the effect has no span. */
enum { PDL_TRACEPARENT_SIZE = 56 };
bool pdl_otlp_traceparent(const pdl_otlp *o, uint32_t effect, char out[PDL_TRACEPARENT_SIZE]);

/* Returns the header `tracestate` of the process that started this one; NULL when there is none. */
const char *pdl_otlp_tracestate(const pdl_otlp *o);

typedef struct pdl_otlp_run pdl_otlp_run;

/* Begins the spans of a run of the program `file`. id: the id of a durable run; empty for other
 * runs. redaction: the labels of values that a policy redacts everywhere, even in names and errors.
 * Borrows o and redaction. */
pdl_otlp_run *pdl_otlp_run_new(pdl_otlp *o, const pdl_redaction *redaction, pdl_str file,
                               pdl_str id);
pdl_sink pdl_otlp_run_sink(pdl_otlp_run *r);
void pdl_otlp_run_free(pdl_otlp_run *r); /* Ends the open spans; r may be NULL. */

#endif
