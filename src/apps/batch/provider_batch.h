/* provider_batch.h -- the batch interfaces of providers: requests of many rows in one upload,
 * answers hours later at a lower price (OpenAI-like files and batches, Anthropic's message
 * batches).
 *
 * This code receives the HTTP requests of model calls in place of libcurl, so that all other parts
 * of a call (writing requests, reading answers, retries, errors) work as usual. When no row can
 * continue any more, all requests that wait are uploaded, and the answers are passed on as if they
 * had just arrived. Each upload is in the journal before the batch waits for it. When a batch
 * continues days later, its rows run again up to the same requests. These are recognised by their
 * content, and get the answers of the upload.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_PROVIDER_BATCH_H
#define PDL_BATCH_PROVIDER_BATCH_H

#include "base/cancel.h"
#include "batch/ledger.h"
#include "effect/budget.h"
#include "io/http.h"

typedef struct pdl_batch_provider pdl_batch_provider;

pdl_batch_provider *pdl_batch_provider_new(void);
/* Called after the session was freed. p may be NULL. */
void pdl_batch_provider_free(pdl_batch_provider *p);
/* Returns the carrier for pdl_session_options. Borrowed. */
const pdl_http_carrier *pdl_batch_provider_carrier(pdl_batch_provider *p);

/* The objects that the provider uses. All are borrowed, and are set before the first wait. note
 * receives messages for the user. */
typedef struct pdl_batch_provider_use {
    pdl_loop *loop;
    pdl_ledger *ledger;
    void (*note)(void *user, const char *text);
    void *user;
    pdl_cancel_flag *cancel;
    const pdl_budget *budget; /* a wait ends when no seconds of this budget are left; may be NULL */
} pdl_batch_provider_use;
void pdl_batch_provider_begin(pdl_batch_provider *p, const pdl_batch_provider_use *use);

/* From now on, requests that failed in earlier uploads are uploaded again when a row sends them
 * again. */
PDL_MUST bool pdl_batch_provider_retry(pdl_ledger *l, pdl_err *err);

/* Returns the number of requests that wait for an answer. */
size_t pdl_batch_provider_open(const pdl_batch_provider *p);
/* Uploads new requests, waits until an upload has ended, and passes on its answers. Errors: those
 * of the requests to the provider, io, budget, interrupt. After an error the requests stay open,
 * and the journal has the uploads. */
PDL_MUST bool pdl_batch_provider_wait(pdl_batch_provider *p, pdl_err *err);

#endif
