/* chain.h -- the chain of worlds of a session (chain.def is the table). Private to api.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_SESSION_CHAIN_H
#define PDL_API_SESSION_CHAIN_H

#include "api/session.h"

typedef enum {
#define ROW(name, tables, scope, is_there, owner, when, why) PDL_CHAIN_##name,
#include "api/session/chain.def"
#undef ROW
    PDL_CHAIN_COUNT
} pdl_chain_row;

typedef struct pdl_chain {
    pdl_world *rows[PDL_CHAIN_COUNT]; /* NULL: the run has no such row */
    pdl_world *first;                 /* the world that the run sees; NULL: it is not built */
} pdl_chain;

/* Builds the chain of the session. The policies are known; called once. */
void pdl_chain_open(pdl_session *s);
/* A durable run beside others gets its rows, before those of the session. */
void pdl_chain_open_run(pdl_session *s, const pdl_spawn *run, pdl_chain *out);
/* The one row that may come late, since it is the first: an included program brings a policy into a
 * run without one. The rows after it stay as they are. */
void pdl_chain_open_policy(pdl_session *s);
void pdl_chain_close(pdl_chain *c);

/* The row after this one, of those that are there; NULL: none. */
pdl_world *pdl_chain_after(const pdl_chain *c, pdl_chain_row row);
/* The names of its rows from the first to the last, " " between them. */
void pdl_chain_put_names(const pdl_chain *c, pdl_buf *out);
/* For assertions: what the run sees is the first row. */
bool pdl_chain_ok(const pdl_chain *c);

#endif
