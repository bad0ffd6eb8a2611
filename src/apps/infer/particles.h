/* particles.h -- runs the particles of an inference, and knows which of them are running, held or
 * ended. Private to infer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_INFER_PARTICLES_H
#define PDL_INFER_PARTICLES_H

#include <string.h>

#include "api/hooks.h"
#include "api/run_pool.h"
#include "effect/budget.h"
#include "infer/infer.h"

typedef enum {
    PARTICLE_NEW, /* the particle has not begun */
    PARTICLE_RUNS,
    PARTICLE_HELD, /* the particle waits at a factor */
    PARTICLE_DONE,
    PARTICLE_FAILED
} particle_state;

typedef struct population population;

/* The way of a particle is what its run has executed so far. A part of the way leads from the
 * beginning, or from a factor, to the next factor, and has the lineage that the particle had in
 * this part. Particles share the parts of their ancestors. */
typedef struct particle_part {
    uint32_t refs;
    uint32_t generation, number, try;
    struct particle_part *before; /* NULL for the first part */
} particle_part;

/* A particle. The lineage of a particle consists of the round of resampling that made the particle,
 * its number in that round, and with rejection also the number of the try. */
typedef struct particle {
    population *of;
    uint32_t slot; /* when the state is RUNS or HELD, the slot of the run in the pool */
    particle_state state;
    uint32_t generation, number, try;
    uint32_t begun; /* number of the run among all runs that were begun; 0 before the first run */
    double taken;   /* the part of the run's score that `weight` already contains */
    double weight;  /* log weight since the last resampling */
    pdl_val result; /* the result when the state is DONE; otherwise absent */
    pdl_err *err;   /* the error when the state is FAILED, owned; otherwise NULL */
    char *place;    /* place of that error as FILE:LINE, owned; NULL when it has none */
    pdl_run_use counted; /* the part of the run's use that was counted already */
    particle_part *way;  /* the last part of the particle's way; NULL when ways are not kept */
} particle;

struct population {
    /* when the population began, and when its progress was last reported */
    uint64_t begun_ns, ticked_ns;
    const pdl_infer_options *o;
    pdl_session *session;
    pdl_program *program;
    pdl_code *code;
    pdl_val variables;
    pdl_hook on_input;  /* answers requests for input, which only the shared part may make */
    pdl_budget *budget; /* budget that all particles share; never NULL */
    uint64_t seed;
    particle *all; /* the n particles */
    uint32_t n;
    pdl_particle options; /* options that all particles have; only number and seed differ */
    /* the run of the shared part, held before the first random effect; NULL when there is none */
    pdl_run *shared;
    /* the program has no random effect, so `shared` is the run of all particles */
    bool is_shared_ended;
    bool sharing;       /* the shared part is running */
    bool is_attached;   /* the inference is durable, and has opened its journal */
    bool keeps_ways;    /* particles are copied, and replayed when that is not possible */
    bool noted;         /* the note that particles are replayed was given */
    pdl_run_pool *pool; /* the runs of the particles */
    uint32_t *in_slot;  /* for each of the n_slots slots of the pool, the particle in the slot */
    uint32_t n_slots;
    uint32_t n_begun; /* number of runs that were begun, with copies */
    /* the call of pdl_population_run that is stepping particles; or NULL */
    struct population_work *work;
    int64_t calls, completion, prompt;
    char *place;        /* FILE:LINE of the error of the population, owned; or NULL */
    pdl_loc impossible; /* a factor that gave the weight zero; all-zero when no factor did */
    uint64_t failures;
};

/* Loads the program and runs the part that all particles share. The errors are those of
 * pdl_infer_run. */
PDL_MUST bool pdl_population_open(population *p, const pdl_infer_options *o, pdl_err *err);
/* Ends all runs, and counts their use. */
void pdl_population_end(population *p);
void pdl_population_fini(population *p);
/* Returns true when the invariants hold: a particle has a result exactly when it is done, and an
 * error exactly when it has failed. */
bool pdl_particle_ok(const particle *q);

/* Runs particles from `from` to `to` until each is held, has ended or has failed. New particles
 * begin, and held ones continue. decided is called after each particle that has ended, in any
 * order. decided returns true when the other particles are not needed any more, and may be NULL.
 * Error: the first failure in the order of lineage, when failures are errors. */
PDL_MUST bool pdl_population_run(population *p, uint32_t from, uint32_t to,
                                 bool (*decided)(void *user), void *user, pdl_err *err);
/* Makes the particle at `to` a copy of the held or ended particle at `from`, with a new lineage.
 * When `from` equals `to`, the particle only gets a new lineage. A particle whose code left objects
 * of Python or used PDL_SESSION is replayed. Error: a state that cannot be copied or replayed. */
PDL_MUST bool pdl_population_copy(population *p, uint32_t from, uint32_t to, uint32_t generation,
                                  pdl_err *err);
/* Starts the run of a particle that has none, in a slot. */
void pdl_particle_start(particle *q);
/* Makes the held run of a particle follow its new lineage: the places of its further effects begin
 * with the lineage, and its random numbers come from it. */
void pdl_particle_rename(particle *q);
/* particle_replay.c. Adds a part to the way of a particle. The part begins where the particle is
 * now, with its present lineage. */
void pdl_particle_begin_part(particle *q);
void pdl_particle_forget_way(particle *q);
/* particle_replay.c. The way of q is that of the held particle `of`. Runs q with the answers that
 * `of` got, up to the factor where `of` is held. Errors: those of the run; runtime when the run
 * does not come to that factor. */
PDL_MUST bool pdl_particle_replay(particle *q, const particle *of, pdl_err *err);

/* Releases the run of a particle and forgets its outcome, so that it is NEW again. */
void pdl_population_reset(population *p, uint32_t i);
/* Returns the lineages that a particle and its ancestors had, such as "round1.particle3", the
 * newest first. The place of each effect begins with one of these lineages. A lineage may occur
 * twice. Owned. */
pdl_val pdl_particle_lineage(const particle *q);
/* Returns a number that depends only on the seed and the lineage. */
uint64_t pdl_population_seed(const population *p, uint64_t generation, uint64_t number,
                             uint64_t try);
/* Returns the place of an error as FILE:LINE, which the caller frees; NULL when the error has no
 * place. */
char *pdl_population_place(const pdl_err *err);
/* Returns the run of a particle that runs or is held. Borrowed. */
const pdl_run *pdl_particle_run(const particle *q);
/* Appends the name of a particle for messages, such as "particle 3". */
void pdl_particle_put_name(const particle *q, pdl_buf *out);

#endif
