/* script_world.h -- a world with prepared answers, for unit tests and fuzzing.
 *
 * A test says what the world answers, and when: at once, or later in either order. So a test can
 * try every order of independent replies without a service.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_TESTS_SCRIPT_WORLD_H
#define PDL_TESTS_SCRIPT_WORLD_H

#include "effect/effect.h"

/* Makes a world that answers from a list. Takes script, a list of {kind?, reply | error, pieces?}
 * consumed in order; with a kind, an effect of another kind is refused. `order`: 0 at once inside
 * of start, 1 later in order of poll, 2 later in reverse order. */
pdl_world *script_world_new(pdl_val script, int order);

#endif
