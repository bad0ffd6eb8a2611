/* particles.h -- the particles of an inference: which of them run, and until when. Private to
 * infer.
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
    PARTICLE_NEW,     /* not begun */
    PARTICLE_RUNS,
    PARTICLE_HELD,    /* at a factor */
    PARTICLE_DONE,
    PARTICLE_FAILED
} particle_state;

typedef struct population population;

/* A particle. Its lineage is the round of resampling that made it, its number there, and of
 * rejection the number of the try. */
typedef struct particle {
    population *of;
    uint32_t slot; /* RUNS, HELD: where its run is in the pool */
    particle_state state;
    uint32_t generation, number, try;
    double taken;   /* the part of the score of its run that is in `weight` */
    double weight;  /* log weight since the last resampling */
    pdl_val result; /* DONE; else absent */
    pdl_err *err;   /* FAILED: owned; else NULL */
    char *place;    /* FAILED: FILE:LINE, owned; NULL: it has none */
    pdl_run_use counted; /* use of its run that is counted already */
} particle;

struct population {
    uint64_t begun_ns, ticked_ns; /* when it began, and when its progress was shown last */
    const pdl_infer_options *o;
    pdl_session *session;
    pdl_program *program;
    pdl_code *code;
    pdl_val variables;
    pdl_hook on_input;  /* answers input, which is for what is shared */
    pdl_budget *budget; /* all particles share it; never NULL */
    uint64_t seed;
    particle *all; /* n */
    uint32_t n;
    pdl_particle options; /* each particle has them, with another number and seed */
    pdl_run *shared;      /* held before the first effect of chance; NULL: none */
    bool is_shared_ended; /* the program has no chance: `shared` is its result */
    bool sharing;         /* the shared part runs now */
    bool is_attached;     /* it is durable, and has its journal */
    pdl_run_pool *pool;   /* the runs of the particles */
    uint32_t *in_slot;    /* the particle in each of its n_slots slots */
    uint32_t n_slots;
    struct population_work *work; /* the call of pdl_population_run that steps them; NULL: none */
    int64_t calls, completion, prompt;
    char *place;        /* FILE:LINE of the error of the population, owned; or NULL */
    pdl_loc impossible; /* a factor that gave weight zero; all-zero: none did */
    uint64_t failures;
};

/* Loads the program and runs what all particles share. Errors: as pdl_infer_run. */
PDL_MUST bool pdl_population_open(population *p, const pdl_infer_options *o, pdl_err *err);
/* Ends all runs, whose use is counted then. */
void pdl_population_end(population *p);
void pdl_population_fini(population *p);
/* Invariants: a particle has a result exactly when it is done, and an error exactly when it has
 * failed. */
bool pdl_particle_ok(const particle *q);

/* Runs particles from `from` to `to` until each is held, has ended or has failed. Those that are
 * new begin, those that are held continue. decided: called after each that ended, in any order;
 * returns true when the rest is useless and is ended; may be NULL. Error: the first failure in the
 * order of lineage, when failures are errors. */
PDL_MUST bool pdl_population_run(population *p, uint32_t from, uint32_t to,
                             bool (*decided)(void *user), void *user, pdl_err *err);
/* Makes the particle at `to` a copy of the held or ended one at `from`, with a new lineage; the
 * same one is renamed. Error: a state that cannot be copied. */
PDL_MUST bool pdl_population_copy(population *p, uint32_t from, uint32_t to, uint32_t generation,
                              pdl_err *err);
/* Releases the run of a particle and forgets its outcome; it is NEW. */
void pdl_population_reset(population *p, uint32_t i);
/* Returns a number that depends on the seed and the lineage only. */
uint64_t pdl_population_seed(const population *p, uint64_t generation, uint64_t number,
                             uint64_t try);
/* Returns the place of an error, FILE:LINE, which the caller frees; NULL: it has none. */
char *pdl_population_place(const pdl_err *err);
/* Returns the run of a particle that runs or is held. Borrowed. */
const pdl_run *pdl_particle_run(const particle *q);
/* Appends how messages name a particle: "particle 3". */
void pdl_particle_put_name(const particle *q, pdl_buf *out);

#endif
