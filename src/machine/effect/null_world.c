/* null_world.c -- a world that refuses every effect; see effect.h. With it, a run that must not
 * reach anything outside fails with a message in place of waiting for ever.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdint.h>

#include "effect/effect.h"

#include "base/banned.h"

static void start(pdl_world *w, pdl_effect *e) {
    pdl_err err = {0};
    (void)w;
    pdl_err_set(&err, PDL_E_runtime, e->loc, "nothing outside can be reached: %s",
                pdl_effect_kind_name(e->kind));
    pdl_effect_refuse(e, &err);
}

static void cancel(pdl_world *w, uint32_t id) {
    (void)w;
    (void)id;
}

static bool poll(pdl_world *w, int timeout_ms) {
    (void)w;
    (void)timeout_ms;
    return false;
}

static void close(pdl_world *w) { (void)w; }

static const pdl_world_ops ops = {.start = start, .cancel = cancel, .poll = poll, .close = close};
static const pdl_world world = {.ops = &ops};

pdl_world *pdl_null_world(void) { return (pdl_world *)(uintptr_t)(const void *)&world; }
