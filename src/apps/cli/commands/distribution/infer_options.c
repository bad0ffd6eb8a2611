/* infer_options.c -- reads the options of an inference and refuses those that its algorithm does
 * not use; see infer_options.h. `pdl infer` and `pdl eval --infer` share these options, so both
 * refuse the same mistakes in the same words.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/infer_options.h"

#include <math.h>

#include "base/num.h"
#include "cli/cli.h"
#include "io/entropy.h"

#include "base/banned.h"

enum { DEFAULT_PARTICLES = 5, DEFAULT_TRIES = 1000 };

/* The options that only one algorithm uses. */
static const struct {
    opt_id id;
    pdl_infer_algorithm of;
} own[] = {{OPT_sure, PDL_INFER_MAJ},
           {OPT_ess, PDL_INFER_SMC},
           {OPT_resample, PDL_INFER_SMC},
           {OPT_align, PDL_INFER_SMC},
           {OPT_max_score, PDL_INFER_REJECTION},
           {OPT_tries, PDL_INFER_REJECTION}};

opt_id pdl_cli_infer_option_given(const arguments *a) {
    static const opt_id shared[] = {OPT_particles, OPT_by, OPT_particle_error};
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        if (a->given[shared[i]]) return shared[i];
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (a->given[own[i].id]) return own[i].id;
    return OPT_COUNT;
}

/* If an option is not a number from least to most, prints a message and returns false. */
static bool read_number(const arguments *a, opt_id id, double least, double most, const char *want,
                        double *out) {
    double x;
    if (!a->given[id]) return true;
    bool ok = pdl_num_read_double(a->value[id], &x) && isfinite(x) && x >= least && x <= most;
    if (ok) {
        *out = x;
        return true;
    }
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "argument --%s: expected %s", pdl_cli_option_of(id)->name, want);
    (void)pdl_cli_refuse(a, pdl_buf_z(&b));
    pdl_buf_fini(&b);
    return false;
}

/* Refuses options that the algorithm does not use, because a user who gives an option expects an
 * effect. Returns true when an option was refused. */
static bool refuse_useless(const arguments *a, opt_id algo, const pdl_infer_options *o) {
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        if (!a->given[own[i].id] || own[i].of == o->algorithm) continue;
        pdl_buf b = PDL_BUF;
        pdl_buf_putf(&b, "--%s belongs to --%s %s, and has no effect with %s",
                     pdl_cli_option_of(own[i].id)->name, pdl_cli_option_of(algo)->name,
                     pdl_infer_algorithm_name(own[i].of), pdl_infer_algorithm_name(o->algorithm));
        (void)pdl_cli_refuse(a, pdl_buf_z(&b));
        pdl_buf_fini(&b);
        return true;
    }
    return false;
}

bool pdl_cli_infer_options_read(const arguments *a, opt_id algo, opt_id seed_option,
                                pdl_infer_options *o, bool *is_parallel) {
    int64_t particles = DEFAULT_PARTICLES, tries = DEFAULT_TRIES, seed = 0;
    pdl_str error = a->value[OPT_particle_error];
    o->algorithm = PDL_INFER_SMC;
    o->ess = 0.5;
    if (a->given[algo]) (void)pdl_infer_algorithm_find(a->value[algo], &o->algorithm, is_parallel);
    int64_t most = o->algorithm == PDL_INFER_SMC ? PDL_INFER_MAX_SMC : PDL_INFER_MAX;
    if (refuse_useless(a, algo, o)) return false;
    if (!pdl_cli_read_whole(a, OPT_particles, 1, most, &particles) ||
        !pdl_cli_read_whole(a, OPT_tries, 1, PDL_INFER_MAX, &tries) ||
        !pdl_cli_read_whole(a, seed_option, 0, INT64_MAX, &seed) ||
        !read_number(a, OPT_sure, 0.5, 1, "a probability from 0.5 to 1", &o->sure) ||
        !read_number(a, OPT_ess, 0, 1, "a number from 0 to 1", &o->ess) ||
        !read_number(a, OPT_max_score, -1e300, 1e300, "a number", &o->max_score))
        return false;
    o->n = (uint64_t)particles;
    o->tries = (uint64_t)tries;
    o->seed = a->given[seed_option] ? (uint64_t)seed : pdl_rand_fresh_seed() >> 11;
    o->has_seed = a->given[seed_option];
    o->on_error = pdl_str_is(error, "drop")   ? PDL_INFER_DROP
                  : pdl_str_is(error, "zero") ? PDL_INFER_ZERO
                                              : PDL_INFER_FAIL;
    o->multinomial = pdl_str_is(a->value[OPT_resample], "multinomial");
    o->aligned = a->given[OPT_align];
    o->by = a->value[OPT_by];
    return true;
}
