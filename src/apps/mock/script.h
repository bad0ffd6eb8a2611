/* script.h -- the list of replies, and the choice of the item that answers. Private to mock.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MOCK_SCRIPT_H
#define PDL_MOCK_SCRIPT_H

#include "base/err.h"
#include "base/vec.h"
#include "value/val.h"

/* An item of the list (mock.h); texts and values are borrowed from it. */
typedef struct pdl_mock_item {
    pdl_str when, model; /* p NULL: any text */
    pdl_vref reply;      /* a text or a dict; absent: the request is refused or repeated */
    pdl_vref scores, logprobs; /* tables of log-probabilities by text, or absent */
    int64_t left;        /* requests that it may still answer; -1: any number */
    int64_t status;      /* 0: it does not refuse */
    pdl_str error;
    double retry_after; /* negative: the header is not sent */
    int64_t delay_ms;
} pdl_mock_item;

typedef struct pdl_mock_script {
    PDL_VEC(pdl_mock_item) items;
} pdl_mock_script;

/* Reads the list. Error: usage, with the number of the item and its mistake. */
PDL_MUST bool pdl_mock_script_read(pdl_vref list, pdl_mock_script *out, pdl_err *err);
void pdl_mock_script_fini(pdl_mock_script *s);

/* Returns the item that answers this request, and counts its use; NULL when there is none. */
const pdl_mock_item *pdl_mock_script_next(pdl_mock_script *s, pdl_str model, pdl_str last);

#endif
