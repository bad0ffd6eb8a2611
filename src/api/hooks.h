/* hooks.h -- the world in which handlers of the host program answer effects. Private to api.
 *
 * Answers are kept until the world is polled, so that a handler may answer inside its call, inside
 * any other callback, or between two steps.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_HOOKS_H
#define PDL_API_HOOKS_H

#include "effect/effect.h"
#include "io/loop.h"
#include "pdl.h"

/* One handler. */
typedef struct pdl_hook {
    pdl_effect_kind kind;
    pdl_str prefix;
    pdl_handler_fn *fn;
    void *user;
} pdl_hook;

/* Returns true when a handler answers this effect. */
bool pdl_hooks_match(const pdl_hook *hooks, size_t n, const pdl_effect *e);

typedef struct pdl_hooks_options {
    pdl_loop *loop;
    const pdl_hook *rows;
    size_t n;
    pdl_task *task; /* the task whose handlers are called; NULL when there is none */
} pdl_hooks_options;

/* Makes the world. Borrows all of o. `other` answers an effect e that all handlers have declined,
 * and takes e. */
pdl_world *pdl_hooks_world_new(const pdl_hooks_options *o, void (*other)(void *user, pdl_effect *e),
                               void *user);

/* Delivers the answers and pieces that the host program has given. Returns true when there was
 * one. */
bool pdl_hooks_deliver(pdl_world *w);
/* Returns true when there is an answer or a piece to deliver. */
bool pdl_hooks_are_ready(const pdl_world *w);

#endif
