/* mock.h -- a model server that knows nothing.
 *
 * Tests, tutorials and first hours need a model that costs nothing, answers at once, and says the
 * same each time. This is a server on loopback with the interface of OpenAI (chat completions,
 * whole or streamed, models, embeddings) whose answers come from a list that the user writes, or
 * that repeats what it is asked. It checks nothing that real services check by other means: keys
 * are taken as they are, and no model has a limit. What it refuses, it refuses as they do, with
 * status and error, so that programs meet failures before they cost money.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MOCK_MOCK_H
#define PDL_MOCK_MOCK_H

#include "base/buf.h"
#include "base/err.h"
#include "io/loop.h"
#include "value/val.h"

/* The list of replies that a user writes: an item is a text, which the next request gets, or a
 * mapping:
 *   reply    text, or a message {content, tool_calls}
 *   when     a text that the last message must contain
 *   model    the name that must be asked for, * matches anything
 *   times    how many requests it answers; without it, as many as come. Of texts: one
 *   status   refuses with this HTTP status instead, with `error` as the message and `retry_after`
 *            as the seconds that the client should wait
 *   delay    milliseconds before the answer
 * The first item that fits answers. Where none does, the last message is repeated; the model
 * `upper` says it in capitals. */

/* Everything is borrowed for the life of the server. */
typedef struct pdl_mock_options {
    pdl_loop *loop;
    const char *host;  /* address to listen at */
    uint16_t port;     /* 0: any that is free */
    pdl_vref replies;  /* the list; absent: none */
    bool strict;       /* a request that no item fits is refused with 404, not repeated */
    uint32_t delay_ms; /* before each answer, and between the words of a stream */
    /* A line for each request: what was asked and what was said. NULL: none. */
    void (*log)(void *user, pdl_str line);
    void *user;
} pdl_mock_options;

typedef struct pdl_mock pdl_mock;

/* Errors: usage when the list is not of its form, with the item; io with the address. */
PDL_MUST bool pdl_mock_start(const pdl_mock_options *o, pdl_mock **out, pdl_err *err);
uint16_t pdl_mock_port(const pdl_mock *m);
void pdl_mock_free(pdl_mock *m); /* NULL is fine */

#endif
