/* confined.h -- the sandbox of a session: where the helper is, what is hidden. Private to api.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PDL_API_CONFINED_H
#define PDL_API_CONFINED_H

#include "api/session.h"
#include "sandbox/sandbox.h"

/* Makes the sandbox that the options ask for, in *out; NULL when they ask for none. Before anything
 * runs: what cannot be confined as asked is refused. arena: for the path of the helper. Errors:
 * those of pdl_sandbox_new. */
PDL_MUST bool pdl_api_open_sandbox(const pdl_session_options *o,
                                   const char *(*env)(void *user, const char *name), void *user,
                                   pdl_arena *arena, pdl_sandbox **out, pdl_err *err);

#endif
