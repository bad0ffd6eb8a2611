/* cmd_infer.c -- pdl infer FILE: a program as a distribution.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>

#include "base/num.h"
#include "cli/cli.h"
#include "infer/infer.h"
#include "io/entropy.h"
#include "value/json_write.h"
#include "value/text.h"

#include "base/banned.h"

enum { DEFAULT_PARTICLES = 5, DEFAULT_TRIES = 1000 };

static void on_note(void *user, const char *text) {
    (void)user;
    pdl_cli_note("pdl: warning: %s", text);
}

static void on_signal(void *user, int sig) {
    (void)user;
    (void)sig; /* the signal wakes the loop; the inference reads the flag */
}

typedef struct inferrer {
    const arguments *a;
    pdl_infer_options o;
    pdl_signals *signals;
} inferrer;

static void on_opened(void *user, pdl_session *s) {
    inferrer *n = user;
    n->signals = pdl_cli_watch_signals(pdl_session_loop(s), on_signal, NULL);
}

static void on_closing(void *user) {
    inferrer *n = user;
    pdl_signals_stop(n->signals);
}

/* Returns false after a message when an option is not a number from least to most. */
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

/* Refuses options that the algorithm does not use: whoever gives one expects that it does
 * something. */
static bool refuse_useless(const inferrer *n, bool is_parallel) {
    static const struct {
        opt_id id;
        pdl_infer_algorithm of;
    } own[] = {{OPT_sure, PDL_INFER_MAJ},          {OPT_ess, PDL_INFER_SMC},
               {OPT_resample, PDL_INFER_SMC},      {OPT_align, PDL_INFER_SMC},
               {OPT_max_score, PDL_INFER_REJECTION}, {OPT_tries, PDL_INFER_REJECTION}};
    pdl_buf b = PDL_BUF;
    const char *algorithm = pdl_infer_algorithm_name(n->o.algorithm);
    for (size_t i = 0; !b.len && i < sizeof own / sizeof *own; i++)
        if (n->a->given[own[i].id] && own[i].of != n->o.algorithm)
            pdl_buf_putf(&b, "--%s belongs to --algo %s, and has no effect with %s",
                         pdl_cli_option_of(own[i].id)->name, pdl_infer_algorithm_name(own[i].of),
                         algorithm);
    if (!b.len && n->a->given[OPT_workers] && !is_parallel)
        pdl_buf_putf(&b,
                     "-w/--workers has no effect with --algo %s: give --algo parallel-%s, "
                     "or --jobs",
                     algorithm, algorithm);
    if (!b.len && n->a->given[OPT_workers] && n->a->given[OPT_jobs])
        PDL_PUT(&b, "-w/--workers and --jobs exclude each other");
    bool refused = b.len;
    if (refused) (void)pdl_cli_refuse(n->a, pdl_buf_z(&b));
    pdl_buf_fini(&b);
    return refused;
}

static bool read_options(inferrer *n) {
    const arguments *a = n->a;
    pdl_infer_options *o = &n->o;
    int64_t particles = DEFAULT_PARTICLES, tries = DEFAULT_TRIES, seed = 0;
    bool is_parallel = false;
    pdl_str error = a->value[OPT_particle_error];
    o->algorithm = PDL_INFER_SMC;
    o->ess = 0.5;
    if (a->given[OPT_algo])
        (void)pdl_infer_algorithm_find(a->value[OPT_algo], &o->algorithm, &is_parallel);
    int64_t most = o->algorithm == PDL_INFER_SMC ? PDL_INFER_MOST_SMC : PDL_INFER_MOST;
    if (refuse_useless(n, is_parallel)) return false;
    if (!pdl_cli_read_whole(a, OPT_particles, 1, most, &particles) ||
        !pdl_cli_read_whole(a, OPT_tries, 1, PDL_INFER_MOST, &tries) ||
        !pdl_cli_read_whole(a, OPT_infer_seed, 0, INT64_MAX, &seed) ||
        !read_number(a, OPT_sure, 0.5, 1, "a probability from 0.5 to 1", &o->sure) ||
        !read_number(a, OPT_ess, 0, 1, "a number from 0 to 1", &o->ess) ||
        !read_number(a, OPT_max_score, -1e300, 1e300, "a number", &o->max_score))
        return false;
    o->n = (uint64_t)particles;
    o->tries = (uint64_t)tries;
    o->seed = a->given[OPT_infer_seed] ? (uint64_t)seed : pdl_rand_fresh_seed() >> 11;
    o->has_seed = a->given[OPT_infer_seed];
    o->on_error = pdl_str_is(error, "drop")   ? PDL_INFER_DROP
                  : pdl_str_is(error, "zero") ? PDL_INFER_ZERO
                                              : PDL_INFER_FAIL;
    o->multinomial = pdl_str_is(a->value[OPT_resample], "multinomial");
    o->aligned = a->given[OPT_align];
    o->by = a->value[OPT_by];
    o->file = a->files.p[0];
    o->note = on_note;
    o->opened = on_opened;
    o->closing = on_closing;
    o->user = n;
    return true;
}

static int print(const inferrer *n, pdl_vref result, bool ok) {
    pdl_buf out = PDL_BUF, bars = PDL_BUF;
    pdl_err err = {0};
    bool written = true;
    if (n->a->given[OPT_bars]) {
        pdl_infer_put_bars(result, &bars);
        pdl_cli_put_stderr(pdl_buf_str(&bars), NULL);
    }
    if (n->a->given[OPT_json])
        written = pdl_json_write(result, PDL_JSON_SPACED | PDL_JSON_NAN_NULL | PDL_JSON_LOOSE, 2,
                                 &out, &err);
    else if (ok)
        written = pdl_val_str(pdl_dict_getz(result, "sample"), &out, &err);
    if (out.len || (ok && !n->a->given[OPT_json])) pdl_buf_putc(&out, '\n');
    int code = written ? pdl_cli_put_stdout(pdl_buf_str(&out)) : 1;
    if (!written) pdl_cli_print_error(&err, NULL);
    pdl_err_fini(&err);
    pdl_buf_fini(&out);
    pdl_buf_fini(&bars);
    return code;
}

static int infer(inferrer *n) {
    const arguments *a = n->a;
    shared_options limits = {0};
    pdl_err err = {0};
    pdl_val vars = pdl_absent(), result = pdl_absent();
    pdl_session_options *so = &n->o.session;
    pdl_buf text = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE);
    int64_t workers = 0;
    if (!pdl_cli_read_whole(a, OPT_workers, 1, PDL_MAX_MAP_WORKERS, &workers)) return 2;
    int code = pdl_cli_shared_options_read(a, &limits, so);
    if (code) return code;
    if (workers) so->run.jobs = (uint32_t)workers;
    so->files.record = a->value[OPT_record];
    so->files.replay = a->value[OPT_replay];
    n->o.budget = so->run.budget;
    so->run.budget = NULL; /* the budget is one for all runs */
    pdl_check_config config = {.arena = pdl_arena_make()};
    bool ok = pdl_cli_read_data(a, &vars, &err) && pdl_config_read(a->files.p[0], &config, &err) &&
              pdl_cli_read_program(a->files.p[0], &text, &err);
    pdl_config_use(&config, so);
    n->o.variables = vars;
    n->o.text = pdl_buf_str(&text);
    ok = ok && pdl_infer_run(&n->o, &result, &err);
    if (!pdl_is_absent(result)) code = print(n, result, ok);
    if (!ok) {
        code = err.kind == PDL_E_usage ? 2 : pdl_err_exit_code(&err);
        pdl_cli_print_option_error(a, &err, NULL);
    }
    pdl_err_fini(&err);
    if (!pdl_is_absent(result)) pdl_drop(result);
    pdl_config_fini(&config);
    if (!pdl_is_absent(vars)) pdl_drop(vars);
    pdl_buf_fini(&text);
    pdl_cli_shared_options_fini(&limits);
    return code;
}

int pdl_cli_cmd_infer(const arguments *a) {
    inferrer n = {.a = a};
    if (a->given[OPT_version]) return pdl_cli_cmd_version(a);
    if (!a->files.n) return pdl_cli_refuse(a, "the following arguments are required: FILE");
    if (a->given[OPT_record] && a->given[OPT_replay])
        return pdl_cli_refuse(a, "--record and --replay exclude each other");
    return read_options(&n) ? infer(&n) : 2;
}
