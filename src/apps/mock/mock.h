/* mock.h -- a model server without a model.
 *
 * Tests, tutorials and first experiments need a model that costs nothing, answers at once, and
 * gives the same answer each time. This is a server on loopback with the interfaces of OpenAI (chat
 * and text completions, whole or streamed, with log-probabilities; models, embeddings) and of
 * Ollama. Its answers come from a list that the user writes; without a list it repeats the request.
 * It does not check what only real services can check: any key is accepted, and no model has a
 * limit. It refuses a request in the same way as a real service, with status and error, so that
 * programs meet failures before these cost money.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MOCK_MOCK_H
#define PDL_MOCK_MOCK_H

#include "base/buf.h"
#include "base/err.h"
#include "io/loop.h"
#include "value/val.h"

/* The list of replies that a user writes. An item is a text, which answers one request, or a
 * mapping with these keys:
 *   reply    a text, or a message {content, reasoning_content, tool_calls, finish_reason}
 *   when     a text that the last message must contain
 *   model    the name of the requested model; * matches any text
 *   times    how many requests the item answers; without this key it answers any number
 *   status   the item refuses with this HTTP status; `error` is the message, and `retry_after` the
 *            seconds that the client should wait
 *   delay    milliseconds before the answer
 *   logprobs {word: log-probability}: the alternatives of the answer's first word; or a list with
 *            the entries of all words in the form of a service
 *   scores   log-probabilities of the continuations that a request wants weighed (`score`): a list,
 *            or {continuation: log-probability}
 * The first item that fits answers. When no item fits, the answer repeats the last message; the
 * model `upper` repeats it in capitals. */

/* The options of the server. Borrowed for its life. */
typedef struct pdl_mock_options {
    pdl_loop *loop;
    const char *host; /* address to listen on */
    uint16_t port;    /* 0 means any free port */
    pdl_vref replies; /* the list of replies, or absent */
    /* the name of the file with the replies, with which error messages begin; may be empty */
    pdl_str replies_file;
    /* a request that fits no item is refused with status 404; otherwise its text is repeated */
    bool strict;
    uint32_t delay_ms; /* delay before each answer, and between the words of a stream */
    /* Receives a line for each request, with the request and the answer. When it is NULL, there is
     * no log. */
    void (*log)(void *user, pdl_str line);
    void *user;
} pdl_mock_options;

typedef struct pdl_mock pdl_mock;

/* Starts the server. Errors: usage, when the list has a mistake (the message names the item); io,
 * with the address. */
PDL_MUST bool pdl_mock_start(const pdl_mock_options *o, pdl_mock **out, pdl_err *err);
uint16_t pdl_mock_port(const pdl_mock *m);
void pdl_mock_free(pdl_mock *m); /* m may be NULL */

#endif
