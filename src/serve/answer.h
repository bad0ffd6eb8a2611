/* answer.h -- what a choice answers: a text, calls of tools, and what else the model said that
 * gives the result.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SERVE_ANSWER_H
#define PDL_SERVE_ANSWER_H

#include "serve/serve_impl.h"

typedef struct answer {
    pdl_buf text;
    pdl_val calls;      /* of tools, in OpenAI's form: a list that is not empty; or absent */
    pdl_val said;       /* dict: refusal, reasoning_content, ... as far as they are there */
    pdl_val logprobs;   /* of the tokens of text; or null */
    const char *finish; /* finish_reason */
} answer;

/* Of a choice whose run is over. Error: the result is not text. */
PDL_MUST bool pdl_serve_answer_read(choice *c, answer *out, pdl_err *err);
void pdl_serve_answer_fini(answer *a);

#endif
