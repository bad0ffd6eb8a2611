/* prompt.h -- one text from a conversation, for interfaces that take a prompt. Private to model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_PROMPT_H
#define PDL_MODEL_PROMPT_H

#include "base/buf.h"
#include "value/val.h"

typedef enum {
    PDL_PROMPT_JOIN,    /* contents joined by a blank */
    PDL_PROMPT_GRANITE, /* Granite 13B chat */
    PDL_PROMPT_MISTRAL,
    PDL_PROMPT_LLAMA3,      /* one line feed after a header */
    PDL_PROMPT_LLAMA3_WIDE, /* two of them */
} pdl_prompt_form;

/* Appends the prompt: by `roles` of params when given (spec providers 11.3), else in the form. */
void pdl_prompt_write(pdl_vref messages, pdl_vref params, pdl_prompt_form form, pdl_buf *out);

#endif
