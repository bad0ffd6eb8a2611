/* parts.h -- inside of telemetry: spans, the facts about them, the exporter. Private to telemetry.
 *
 *   otel_env.c    the environment: address, headers, resource
 *   facts.c       attributes: what is known of effects, by the conventions for generative AI
 *   otlp_spans.c  events of a run become spans
 *   export.c      batches of spans go to the collector
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
    char *url;               /* owned; NULL: nothing is sent */
    PDL_VEC(char *) headers; /* owned lines "Name: value" */
    pdl_buf resource;        /* JSON: list of attributes */
    bool sampled;            /* does the caller of the process want spans? */
    char trace[33];          /* of TRACEPARENT; empty: none */
    char parent[17];
    char *state; /* TRACESTATE; owned; NULL: none */
} otlp_config;

/* Error: usage. */
PDL_MUST bool pdl_otlp_configure(const pdl_otlp_options *o, otlp_config *out, pdl_err *err);
void pdl_otlp_config_fini(otlp_config *c);

/* --- export.c --------------------------------------------------------------------------------- */

struct pdl_otlp {
    pdl_otlp_options opt;
    otlp_config config;
    pdl_loop *loop; /* its own; NULL until the first batch */
    struct pdl_http *http;
    pdl_watch *watch; /* of its loop, on that of the runs */
    pdl_timer *timer; /* on the loop of the runs: it has something to do by then */
    pdl_buf batch;    /* spans that are not sent, after the head of the message */
    size_t n_batch;
    struct otlp_sending *sending; /* waiting or in flight, oldest first */
    size_t n_sending;             /* in flight */
    size_t n_bytes;               /* of all of them */
    uint64_t retry_ns;            /* what is to be sent before is dropped; 0: nothing is */
    uint64_t hold_ns;             /* nothing is sent before, and nothing dropped */
    pdl_timer *later;             /* on its loop: the end of that */
    pdl_buf why;                  /* what the collector said then */
    size_t n_lost;
    bool noted, busy;
    uint64_t next_id;  /* state of the generator of ids */
    pdl_idmap effects; /* open effects -> spans of all runs */
};

/* 16 hexadecimal digits that no other span has. */
void pdl_otlp_make_id(pdl_otlp *o, char out[17]);
/* Room for the next span: what is put there is one JSON object, and span_done follows. */
pdl_buf *pdl_otlp_span_room(pdl_otlp *o);
void pdl_otlp_span_done(pdl_otlp *o);

/* --- facts.c: attributes as JSON ("{...},{...}") ---------------------------------------------- */

/* Texts are cut to this many bytes. */
enum { PDL_OTLP_TEXT = 65536 };
void pdl_otlp_put_text(pdl_buf *out, const char *key, pdl_str text);
/* Where facts of a span go, and what is shown of them. */
typedef struct pdl_otlp_facts {
    pdl_buf *out;
    const pdl_mask *mask;
    bool content; /* texts of requests and answers, too, none of which is hidden */
} pdl_otlp_facts;
void pdl_otlp_put_shown(pdl_otlp_facts *to, const char *key, pdl_str text, pdl_label label);
void pdl_otlp_put_int(pdl_buf *out, const char *key, int64_t n);
/* The name of the span of an effect, and what is known of it before its reply. */
void pdl_otlp_put_name(const pdl_effect *e, const pdl_mask *mask, pdl_buf *out);
void pdl_otlp_put_request(const pdl_effect *e, pdl_otlp_facts *to);
void pdl_otlp_put_reply(const pdl_effect *e, const pdl_reply *r, pdl_otlp_facts *to);

#endif
