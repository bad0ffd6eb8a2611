/* prompt_forms.h -- makes one text from a conversation, for services that take a prompt instead of
 * messages. Private to model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_PROMPT_FORMS_H
#define PDL_MODEL_PROMPT_FORMS_H

#include "base/buf.h"
#include "value/val.h"

typedef enum {
    PDL_PROMPT_JOIN,    /* contents, joined by a blank */
    PDL_PROMPT_GRANITE, /* the form of Granite 13B chat */
    PDL_PROMPT_MISTRAL,
    PDL_PROMPT_LLAMA3,      /* the form of Llama 3: one line feed after a header */
    PDL_PROMPT_LLAMA3_WIDE, /* the form of Llama 3 with two line feeds after a header */
} pdl_prompt_form;

/* Appends the prompt: in the form that `roles` of params prescribes (spec providers 11.3),
 * otherwise in `form`. */
void pdl_prompt_write(pdl_vref messages, pdl_vref params, pdl_prompt_form form, pdl_buf *out);

#endif
