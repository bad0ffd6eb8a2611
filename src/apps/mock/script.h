/* script.h -- reads the list of replies, and chooses the item that answers a request.
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
    pdl_str when, model; /* p is NULL when any text fits */
    /* a text or a dict; absent when the item refuses the request, or repeats it */
    pdl_vref reply;
    const char *finish; /* why the reply ended; NULL when the item does not say why */
    pdl_vref scores;    /* a list or dict of numbers; absent when it is not given */
    /* a dict of numbers, or entries in the form of a service; absent when it is not given */
    pdl_vref logprobs;
    /* the number of requests that the item may still answer; -1 means any number */
    int64_t left;
    int64_t status; /* the HTTP status of a refusal; 0 for an item that answers */
    pdl_str error;
    double retry_after; /* when it is negative, the header is not sent */
    int64_t delay_ms;
} pdl_mock_item;

typedef struct pdl_mock_script {
    PDL_VEC(pdl_mock_item) items;
} pdl_mock_script;

/* Reads the list. Error: usage, with the number of the item and its mistake. */
PDL_MUST bool pdl_mock_script_read(pdl_vref list, pdl_mock_script *out, pdl_err *err);
void pdl_mock_script_fini(pdl_mock_script *s);
/* Returns true when the invariants hold: an item refuses with the status of an error, or replies,
 * or has scores; an item that is used up is not used again. */
bool pdl_mock_script_ok(const pdl_mock_script *s);

/* Returns the item that answers this request, and counts its use. Returns NULL when no
 * item fits. */
const pdl_mock_item *pdl_mock_script_next(pdl_mock_script *s, pdl_str model, pdl_str last);
/* Returns the item for another choice of the request. An item that refuses makes no choice: then
 * *refuses is set, and nothing is counted. */
const pdl_mock_item *pdl_mock_script_other(pdl_mock_script *s, pdl_str model, pdl_str last,
                                           bool *refuses);

/* An answer of the script, for a host that has no server. */
typedef struct pdl_mock_reply {
    int status;       /* 200, or the status of a refusal */
    int64_t delay_ms; /* delay before the answer is given */
    /* seconds that a refused client should wait; negative when it is not given */
    double retry_after;
    /* owned: a chat completion in the form of OpenAI, or the reason of a refusal */
    pdl_val body;
} pdl_mock_reply;

/* Answers a request of OpenAI's chat interface. number is the number of the request, from 1; the id
 * of the answer contains it. strict has the meaning that it has in pdl_mock_options. */
pdl_mock_reply pdl_mock_reply_to(pdl_mock_script *s, bool strict, uint64_t number,
                                 pdl_vref request);

/* Returns the next word of s from *at on, with the blanks after it, and moves *at; empty at the
 * end. Words are the tokens of this server. */
pdl_str pdl_mock_next_word(pdl_str s, size_t *at);

/* logprobs.c. These functions return the log-probability of a word of the answer, its entry in the
 * form of OpenAI with at most `most` alternatives, and the entries of all words. The item may be
 * NULL. */
double pdl_mock_logprob(const pdl_mock_item *item, pdl_str word, bool first);
pdl_val pdl_mock_entry(const pdl_mock_item *item, pdl_str word, bool first, int64_t most);
pdl_val pdl_mock_entries(const pdl_mock_item *item, pdl_str said, int64_t most);

/* Finds the score of a prompt in an item. When the item's scores are a list, the result is the
 * score at index `number`, and *tail is the length of the prompt's last letter. When the scores are
 * a dict, the result is the score of the longest key with which the prompt ends, and *tail is the
 * length of that key. Returns false when the item has no score for the prompt. */
bool pdl_mock_score(const pdl_mock_item *item, pdl_str prompt, size_t number, size_t *tail,
                    double *out);

#endif
