/* provider_impl.h -- the state that the files of the batch interfaces share. Private to batch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_PROVIDER_IMPL_H
#define PDL_BATCH_PROVIDER_IMPL_H

#include "base/vec.h"
#include "batch/provider_batch.h"
#include "value/val.h"

enum { PROVIDER_HASH = 40 };

/* A request that waits. A run may cancel requests and make others while the loop runs. So an item
 * keeps its address, and is not freed while pdl_batch_provider_wait is running. */
typedef struct provider_item {
    uint64_t id;
    /* the request was cancelled; pdl_batch_provider_wait frees it at its end */
    bool is_gone;
    char *url, *body;        /* owned */
    PDL_VEC(char *) headers; /* "Name: value", owned */
    char name[PROVIDER_HASH + 24];
    void *user;
    void (*done)(void *user, const pdl_http_reply *r);
} item;

/* uploads is a list of {id, url, form, names: {name: null}, fetched, retried}. answers maps a name
 * to [status, body]. asked maps the hash of a request to the number of times that it was sent. */
struct pdl_batch_provider {
    pdl_http_carrier carrier;
    pdl_batch_provider_use use;
    PDL_VEC(item *) items; /* owned */
    bool waits;            /* pdl_batch_provider_wait is running */
    uint64_t last_id;
    pdl_val asked, answers, uploads;
    size_t n_waiting; /* number of uploads in progress */
    /* number of polls since the provider last answered one */
    unsigned n_missed;
    /* the provider's message about the upload that was fetched last, when it failed */
    pdl_buf why;
    bool restored;
    /* answers that are errors are ignored, because an earlier process has received them */
    bool only_good;
};

/* Records the answer for the request of this name. */
void pdl_batch_provider_answer(pdl_batch_provider *p, pdl_str name, int status, pdl_str body);

/* Returns true after a signal, and sets the error. */
bool pdl_batch_provider_interrupted(const pdl_batch_provider *p, pdl_err *err);
/* Returns true after a signal, or when no seconds of the budget are left, and sets the error. */
bool pdl_batch_provider_stopped(const pdl_batch_provider *p, pdl_err *err);

/* Waits for ms. The loop runs while this function waits, and a signal ends the wait. Returns false
 * when the batch has to end. */
PDL_MUST bool pdl_batch_provider_rest(pdl_batch_provider *p, uint64_t ms, pdl_err *err);
void pdl_batch_provider_note_again(const pdl_batch_provider *p, const pdl_err *err);

/* provider_wire.c. Uploads requests to the same address. *made gets the upload, owned. Errors:
 * connection, auth, not_found, rate_limit, server, protocol, interrupt; usage, when the service has
 * no batches. */
PDL_MUST bool pdl_batch_provider_upload(pdl_batch_provider *p, const item *const *items, size_t n,
                                        pdl_val *made, pdl_err *err);
/* Polls an upload. When it has ended, records its answers. */
PDL_MUST bool pdl_batch_provider_fetch(pdl_batch_provider *p, pdl_vref upload, bool *ended,
                                       pdl_err *err);

#endif
