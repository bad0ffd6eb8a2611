/* particle_replays.h -- keeps the answers of particles, so that a particle that cannot be copied
 * can be run again from them. Private to api.
 *
 * The effects of a particle have places that no other particle has. So when the place and number of
 * an effect are known already, its particle is being run again. The effect gets the stored answer,
 * so nothing is asked or executed twice. Only an effect that uses or creates an object of Python,
 * or uses PDL_SESSION, is executed again, because the particle needs its own object or session. The
 * repeated effect gets a place that no other effect has, so a journal keeps both answers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_PARTICLE_REPLAYS_H
#define PDL_API_PARTICLE_REPLAYS_H

#include "effect/effect.h"

/* Makes a world that keeps the answers of the next world, which it borrows. */
pdl_world *pdl_particle_replays_new(pdl_world *next);

#endif
