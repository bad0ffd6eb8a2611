/* access_token.h -- keys exchanged for tokens that are valid for a while: one exchange for all
 * calls that need the same token. Private to model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_ACCESS_TOKEN_H
#define PDL_MODEL_ACCESS_TOKEN_H

#include "model/call/fault.h"

typedef struct pdl_access_token pdl_access_token;

/* The tokens of a world. The struct is empty when all its members but http are zero. */
typedef struct pdl_tokens {
    pdl_http *http;
    pdl_access_token *first;
} pdl_tokens;

/* A call's wait for a token; embedded in the call. When all members are zero, the call does not
 * wait. */
typedef struct pdl_token_wait {
    pdl_access_token *token;
    struct pdl_token_wait *next, **prev;
    /* Called once. f is NULL when the token is available. Otherwise f says why there is no token,
     * and the function takes f. */
    void (*fn)(void *user, pdl_fault *f);
    void *user;
} pdl_token_wait;

/* Returns the token for id from url while the token is valid; an empty slice when there is no valid
 * token. Borrowed. */
pdl_str pdl_token_find(pdl_tokens *t, pdl_str url, pdl_str id);
/* Exchanges the key by posting form, and notifies w after this function has returned. */
void pdl_token_acquire(pdl_tokens *t, pdl_str url, pdl_str id, pdl_str form, pdl_token_wait *w);
/* Ends the wait. w is not notified any more. */
void pdl_token_cancel(pdl_token_wait *w);
/* Drops a token that was refused. The next call that needs a token gets a new one. */
void pdl_token_forget(pdl_tokens *t, pdl_str url, pdl_str id);
/* Cancels exchanges. No call may be waiting. */
void pdl_tokens_fini(pdl_tokens *t);

#endif
