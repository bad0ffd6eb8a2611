/* parts.h -- spans, facts about them, and the exporter. Private to telemetry.
 *
 *   `otel_env.c`          the environment: address, headers, resource.
 *   `span_attributes.c`   attributes of effects, by the conventions for generative AI.
 *   `otlp_spans.c`        events of a run become spans.
 *   `otlp_export.c`       sends batches of spans to the collector.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_TELEMETRY_PARTS_H
#define PDL_TELEMETRY_PARTS_H

#include "base/idmap.h"
#include "base/vec.h"
#include "effect/effect.h"
#include "telemetry/otlp.h"

/* --- otel_env.c ------------------------------------------------------------------------------- */

typedef struct otlp_config {
    char *url;               /* owned; NULL when nothing is sent */
    PDL_VEC(char *) headers; /* owned lines "Name: value" */
    pdl_buf resource;        /* JSON: list of attributes */
    bool sampled;            /* false when the program that started this process wants no spans */
    char trace[33];          /* id of the trace in TRACEPARENT; empty when there is none */
    char parent[17];
    char *state; /* TRACESTATE; owned; NULL when there is none */
} otlp_config;

/* Reads the configuration. Error: usage. */
PDL_MUST bool pdl_otlp_configure(const pdl_otlp_options *o, otlp_config *out, pdl_err *err);
void pdl_otlp_config_fini(otlp_config *c);

/* --- otlp_export.c --------------------------------------------------------------------------- */

struct pdl_otlp {
    pdl_otlp_options opt;
    otlp_config config;
    pdl_loop *loop; /* the separate loop; NULL until the first batch */
    struct pdl_http *http;
    /* a watch on the loop of the runs: it reports that the separate loop is ready */
    pdl_watch *watch;
    /* a timer on the loop of the runs: when it fires, the separate loop has to be stepped */
    pdl_timer *timer;
    pdl_buf batch; /* the next message: its head, and the spans that were not sent yet */
    size_t n_batch;
    struct otlp_sending *sending; /* batches that wait or are in flight, oldest first */
    size_t n_sending;             /* number of batches in flight */
    size_t n_bytes;               /* bytes of all batches */
    /* after a failure, batches are dropped until this time; 0 when there was no failure */
    uint64_t retry_ns;
    /* set when the collector was busy: until this time nothing is sent and nothing is dropped */
    uint64_t hold_ns;
    /* equal to hold_ns when the collector has named that time; otherwise 0 */
    uint64_t named_ns;
    /* a timer on the separate loop, which fires when the collector's pause is over */
    pdl_timer *later;
    pdl_buf why; /* the collector's message of the last failure */
    size_t n_lost;
    bool noted, busy;
    uint64_t next_id;  /* state of the generator of ids */
    pdl_idmap effects; /* open effects of all runs -> their spans */
};

/* Returns true when the invariants hold: the counts are equal to the counts of the batches, and
 * only a few batches are in flight; spans that were not sent have a text; batches are sent on the
 * separate loop alone. */
bool pdl_otlp_ok(const pdl_otlp *o);
/* Makes 16 hexadecimal digits that no other span has. */
void pdl_otlp_make_id(pdl_otlp *o, char out[17]);
/* Returns the buffer for the next span: the caller appends one JSON object and calls
 * pdl_otlp_span_done. */
pdl_buf *pdl_otlp_span_room(pdl_otlp *o);
void pdl_otlp_span_done(pdl_otlp *o);

/* --- span_attributes.c ------------------------------------------------------------------------ */

/* The length to which texts are cut. */
enum { PDL_OTLP_TEXT = 65536 };
void pdl_otlp_put_text(pdl_buf *out, const char *key, pdl_str text);
/* Collects the facts of a span, as far as they may be shown. */
typedef struct pdl_otlp_facts {
    pdl_buf *out;
    const pdl_redaction *redaction;
    bool content; /* texts of requests and answers are added, unless a policy redacts them */
} pdl_otlp_facts;
void pdl_otlp_put_shown(pdl_otlp_facts *to, const char *key, pdl_str text, pdl_label label);
void pdl_otlp_put_int(pdl_buf *out, const char *key, int64_t n);
/* pdl_otlp_put_name appends the name of the span of an effect. pdl_otlp_put_request appends the
 * facts that are known before the reply. */
void pdl_otlp_put_name(const pdl_effect *e, const pdl_redaction *redaction, pdl_buf *out);
void pdl_otlp_put_request(const pdl_effect *e, pdl_otlp_facts *to);
void pdl_otlp_put_reply(const pdl_effect *e, const pdl_reply *r, pdl_otlp_facts *to);

#endif
