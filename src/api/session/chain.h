/* chain.h -- the chain of worlds of a session (chain.def is the table). Private to api.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_SESSION_CHAIN_H
#define PDL_API_SESSION_CHAIN_H

#include "api/session.h"

typedef enum {
#define ROW(name, tables, scope, is_there, owner, when, takes, why) PDL_CHAIN_##name,
#include "api/session/chain.def"
    PDL_CHAIN_COUNT
} pdl_chain_row;

typedef struct pdl_chain {
    pdl_world *rows[PDL_CHAIN_COUNT]; /* NULL for a row that the run does not have */
    /* The world at which every effect enters, whether it comes from the run, from its code, or from
     * a program that its code starts. NULL until the chain is built. */
    pdl_world *first;
} pdl_chain;

/* Builds the chain of the session, once the policies are known; called once. */
void pdl_chain_open(pdl_session *s);
/* Opens the rows that a spawned durable run has for itself. The effects of the run pass these
 * rows before the rows of the session. */
void pdl_chain_open_run(pdl_session *s, const pdl_spawn *run, pdl_chain *out);
/* Opens the first row of chain.def, the policies, while the run is in progress. Called when an
 * included program has a policy and the run had none. The rows after it stay unchanged. */
void pdl_chain_open_policy(pdl_session *s);
void pdl_chain_close(pdl_chain *c);

/* Returns the world of the next row after `row` that exists; NULL when there is none. */
pdl_world *pdl_chain_after(const pdl_chain *c, pdl_chain_row row);
/* Appends the names of the existing rows, from first to last, separated by blanks. */
void pdl_chain_put_names(const pdl_chain *c, pdl_buf *out);
/* Returns true when the world that the run sees is the first row. For assertions. */
bool pdl_chain_ok(const pdl_chain *c);

#endif
