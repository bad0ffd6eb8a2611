/* provider.h -- the batch interfaces of providers: requests of many rows in one upload, answers
 * hours later at a lower price (OpenAI-like files and batches, Anthropic's message batches).
 *
 * It takes the HTTP requests of calls instead of libcurl, so that writing requests, reading
 * answers, retries and errors are those of every other call. When no row can continue any more,
 * all requests that wait are uploaded, and the answers are passed on as if they had just
 * arrived. Each upload is in the journal before the batch waits for it: a batch that continues
 * days later runs its rows again up to the same requests, which are known by their content, and
 * finds the answers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_PROVIDER_H
#define PDL_BATCH_PROVIDER_H

#include "base/cancel.h"
#include "batch/ledger.h"
#include "io/http.h"

typedef struct pdl_batch_provider pdl_batch_provider;

pdl_batch_provider *pdl_batch_provider_new(void);
void pdl_batch_provider_free(pdl_batch_provider *p); /* called after the session; p may be NULL */
/* Returns the carrier for pdl_session_options. Borrowed. */
const pdl_http_carrier *pdl_batch_provider_carrier(pdl_batch_provider *p);

/* The objects that it works with, set before the first wait. All are borrowed. note receives
 * messages for the user. */
typedef struct pdl_batch_provider_use {
    pdl_loop *loop;
    pdl_ledger *ledger;
    void (*note)(void *user, const char *text);
    void *user;
    pdl_cancel_flag *cancel;
} pdl_batch_provider_use;
void pdl_batch_provider_begin(pdl_batch_provider *p, const pdl_batch_provider_use *use);

/* Lets requests that failed in the uploads so far be uploaded again when they are sent again. */
PDL_MUST bool pdl_batch_provider_retry(pdl_ledger *l, pdl_err *err);

/* Returns the number of requests that wait for an answer. */
size_t pdl_batch_provider_open(const pdl_batch_provider *p);
/* Uploads new requests, waits until an upload has ended, and passes on its answers. Errors: io,
 * auth, interrupt: the requests stay open, and the journal knows the uploads. */
PDL_MUST bool pdl_batch_provider_wait(pdl_batch_provider *p, pdl_err *err);

#endif
