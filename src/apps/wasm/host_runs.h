/* host_runs.h -- the world of a run in the module, with the effects that wait for the host. Private
 * to wasm.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_WASM_HOST_RUNS_H
#define PDL_WASM_HOST_RUNS_H

#include "base/idmap.h"
#include "io/loop.h"
#include "model/prices.h"
#include "vm/vm.h"
#include "wasm/given_files.h"

/* The world of a run: effects go out as JSON and wait here until the host answers them. Two things
 * need no host: the request that a call would send, and calls that have a mock_response. The world
 * of models makes such requests and answers such calls. That world is made when it is first
 * needed. */
typedef struct pdl_wasm_world {
    pdl_world world;
    pdl_wasm_files files;
    pdl_idmap open; /* effects that wait for an answer, by id; owned */
    size_t n_open;
    pdl_buf asked;        /* effects that the host has not seen yet: JSON objects, with commas */
    pdl_buf cancelled;    /* ids of effects whose answer is not needed any more */
    pdl_prices *prices;   /* the host's table; NULL when it gave none; owned */
    pdl_loop *loop;       /* has the timers of mock_timeout; borrowed */
    pdl_secrets *secrets; /* borrowed */
    pdl_world *models;    /* NULL until it is needed; owned */
} pdl_wasm_world;

/* Opens a world, which borrows files, loop and secrets. */
void pdl_wasm_world_open(pdl_wasm_world *w, pdl_vref files, pdl_loop *loop, pdl_secrets *secrets);
void pdl_wasm_world_close(pdl_wasm_world *w);
/* Returns the world of models, which sends nothing. */
pdl_world *pdl_wasm_world_models(pdl_wasm_world *w);
/* Returns true while an effect has no answer. */
bool pdl_wasm_world_waits(const pdl_wasm_world *w);

/* These functions answer an effect, refuse it, and pass on a piece of its answer. They return false
 * when no effect with this id waits. That is not a mistake of the host, because the run may have
 * cancelled the effect. */
bool pdl_wasm_world_answer(pdl_wasm_world *w, uint32_t id, pdl_vref v, double seconds);
bool pdl_wasm_world_refuse(pdl_wasm_world *w, uint32_t id, pdl_str kind, pdl_str message);
bool pdl_wasm_world_piece(pdl_wasm_world *w, uint32_t id, pdl_str text);

#endif
