/* particle.h -- a run that is one of many in an inference: where it parks for its engine. Private
 * to vm.
 *
 * An engine of inference (apps/infer) steps many runs of one program. The engine needs the runs
 * parked at two kinds of places. At a factor, it may replace some runs by copies of others. Before
 * the first effect of chance, it makes copies of one run, because all runs do the same until then.
 * A parked fiber is HELD until pdl_run_release.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VM_PARTICLE_H
#define PDL_VM_PARTICLE_H

#include "vm/run.h"

/* Completes pdl_await_chance, for a run that is held before chance. */
pdl_step pdl_hold_at_chance(pdl_fiber *f, bool acts);
/* Called before an instruction of chance has changed anything. acts says that the instruction acts
 * on the outside world. In an `idempotent` block, such an instruction does not count as chance.
 * Returns WAIT when the fiber is held. */
static inline pdl_step pdl_await_chance(pdl_fiber *f, bool acts) {
    return PDL_LIKELY(!f->run->opt.particle.holds_chance) ? PDL_STEP_DONE
                                                          : pdl_hold_at_chance(f, acts);
}
/* Returns true when an effect must not be sent, because the run has to park before its first effect
 * of chance, and pdl_await_chance did not foresee this effect. The run is then useless:
 * pdl_run_missed_chance. */
bool pdl_run_misses_chance(pdl_run *r, pdl_effect_kind kind, bool is_repeatable);
/* Reports that code left something outside of the run that a copy would share: an object, or a
 * value in PDL_SESSION. */
void pdl_run_cannot_copy(pdl_run *r, pdl_loc loc);

#endif
