/* answer.h -- the answer of a choice: text, tool calls, and other fields of the model reply that
 * yields the result. Every form of an answer with text is written from this one struct.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SERVE_ANSWER_H
#define PDL_SERVE_ANSWER_H

#include "serve/serve_impl.h"

typedef struct answer {
    pdl_buf text;
    /* calls of tools in OpenAI's form, a list that is not empty; absent when there are no calls */
    pdl_val calls;
    /* dict with the other members that the reply has: `refusal`, `reasoning_content`, ... */
    pdl_val said;
    pdl_val logprobs;   /* logprobs of the tokens of text; may be null */
    const char *finish; /* finish_reason */
} answer;

/* Fills out for a choice whose run has ended. Error: the result is not text. */
PDL_MUST bool pdl_serve_answer_read(choice *c, answer *out, pdl_err *err);
void pdl_serve_answer_fini(answer *a);

#endif
