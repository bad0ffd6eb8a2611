/* script.h -- the list of replies, and the choice of the item that answers.
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
    pdl_vref scores;     /* a list or dict of numbers; absent like the next one when not given */
    pdl_vref logprobs;   /* a dict of numbers, or entries as a service writes them */
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
/* Invariants: an item refuses with the status of an error, replies, or has scores; one that is used
 * up is not used again. */
bool pdl_mock_script_ok(const pdl_mock_script *s);

/* Returns the item that answers this request, and counts its use; NULL when there is none. */
const pdl_mock_item *pdl_mock_script_next(pdl_mock_script *s, pdl_str model, pdl_str last);

/* An answer of the script where there is no server. */
typedef struct pdl_mock_reply {
    int status;          /* 200, or that of a refusal */
    int64_t delay_ms;    /* before it is given */
    double retry_after;  /* seconds that a refused client should wait; negative: not said */
    pdl_val body;        /* owned: a chat completion as OpenAI writes it, or why it is refused */
} pdl_mock_reply;

/* Answers a request of OpenAI's chat interface. number: how many requests were before it. strict:
 * as in pdl_mock_options. */
pdl_mock_reply pdl_mock_reply_to(pdl_mock_script *s, bool strict, uint64_t number,
                                 pdl_vref request);

/* Returns the next word of s from *at on, with the blanks after it, and moves *at; empty at the
 * end. Words are the tokens of this server. */
pdl_str pdl_mock_next_word(pdl_str s, size_t *at);

/* Log-probabilities (logprobs.c). An item may be NULL. Returns that of a word of the answer, its
 * entry as OpenAI writes it, with at most `most` alternatives, and the entries of all words. */
double pdl_mock_logprob(const pdl_mock_item *item, pdl_str word, bool first);
pdl_val pdl_mock_entry(const pdl_mock_item *item, pdl_str word, bool first, int64_t most);
pdl_val pdl_mock_entries(const pdl_mock_item *item, pdl_str said, int64_t most);

/* Finds the number that the scores of an item give a prompt: the one at this place of a list, or
 * that of the longest text that ends it, whose bytes are stored in *tail. */
bool pdl_mock_score(const pdl_mock_item *item, pdl_str prompt, size_t number, size_t *tail,
                    double *out);

#endif
