/* cmd_eval.c -- pdl eval FILE: scores a program on questions with known answers. It reads the
 * options, calls apps/eval, and prints the result. With --fail-under the exit code says whether the
 * score is high enough, so that a build can require it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/num.h"
#include "cli/cli.h"
#include "cli/each_run.h"
#include "cli/infer_options.h"
#include "cli/rows_line.h"
#include "eval/eval.h"
#include "io/file.h"
#include "value/json_write.h"

#include "base/banned.h"

enum { DEFAULT_JOBS = 16, MAX_SAMPLES = 10000 };

typedef struct evaluator {
    const arguments *a;
    pdl_eval_options o;
    pdl_infer_options infer;
    rows_line line;
    double least_score; /* the score that --fail-under requires */
    PDL_VEC(pdl_batch_map) map;
} evaluator;

static bool read_map(evaluator *e) {
    for (size_t i = 0; i < e->a->values.n; i++) {
        pdl_str v = e->a->values.p[i].value;
        size_t eq = pdl_str_rfind(v, PDL_STR("="));
        if (e->a->values.p[i].id != OPT_map) continue;
        if (eq == PDL_NOT_FOUND || eq == 0 || eq + 1 == v.n) {
            (void)pdl_cli_refuse(e->a, "argument --map: expected COLUMN=VARIABLE");
            return false;
        }
        *pdl_vec_push(&e->map) =
            (pdl_batch_map){pdl_str_sub(v, 0, eq), pdl_str_sub(v, eq + 1, v.n)};
    }
    e->o.map = e->map.p;
    e->o.n_map = e->map.n;
    return true;
}

static bool read_numbers(evaluator *e) {
    int64_t jobs = DEFAULT_JOBS, samples = 1, pass = 1, limit = 0;
    const arguments *a = e->a;
    if (!pdl_cli_read_whole(a, OPT_jobs, 1, PDL_SPAWN_SLOTS, &jobs) ||
        !pdl_cli_read_whole(a, OPT_samples, 1, MAX_SAMPLES, &samples) ||
        !pdl_cli_read_whole(a, OPT_pass, 1, samples, &pass) ||
        !pdl_cli_read_whole(a, OPT_limit, 1, INT64_MAX, &limit))
        return false;
    e->o.jobs = (uint32_t)jobs;
    e->o.samples = (uint64_t)samples;
    e->o.pass = (uint64_t)pass;
    e->o.limit = (uint64_t)limit;
    return true;
}

static bool read_least_score(evaluator *e) {
    const arguments *a = e->a;
    double *least = &e->least_score;
    if (!a->given[OPT_fail_under]) return true;
    if (pdl_num_read_double(a->value[OPT_fail_under], least) && *least >= 0 && *least <= 1)
        return true;
    (void)pdl_cli_refuse(a, "argument --fail-under: expected a number from 0 to 1");
    return false;
}

static const char *refused_until(const arguments *a) {
    if (a->given[OPT_until] && !a->given[OPT_against])
        return "--until decided compares two programs: add --against PROGRAM";
    if (a->given[OPT_until]) return NULL;
    return a->given[OPT_seed] && !a->given[OPT_infer]
               ? "--seed belongs to --until decided or --infer"
           : a->given[OPT_difference] ? "--difference belongs to --until decided"
                                      : NULL;
}

/* Reads the options of a comparison that stops as soon as it is certain. */
static bool read_until(evaluator *e) {
    const arguments *a = e->a;
    const char *refused = refused_until(a);
    int64_t seed = 0;
    double *d = &e->o.difference;
    if (!refused && a->given[OPT_difference] &&
        (!pdl_num_read_double(a->value[OPT_difference], d) || !(*d > 0 && *d < 1)))
        refused = "argument --difference: expected a number between 0 and 1";
    if (refused) (void)pdl_cli_refuse(a, refused);
    e->o.until_decided = a->given[OPT_until];
    bool ok = !refused && pdl_cli_read_whole(a, OPT_seed, 0, INT64_MAX, &seed);
    e->o.seed = (uint64_t)seed;
    return ok;
}

static void on_note(void *user, const char *text) {
    evaluator *e = user;
    pdl_cli_rows_line_clear(&e->line);
    pdl_cli_note("pdl: warning: %s", text);
}

static bool read_infer(evaluator *e) {
    const arguments *a = e->a;
    opt_id useless = pdl_cli_infer_option_given(a);
    bool ignored;
    pdl_buf b = PDL_BUF;
    if (a->given[OPT_infer]) {
        if (a->given[OPT_samples])
            PDL_PUT(&b, "--samples and --infer exclude each other: -n is the number of runs");
        else if (a->given[OPT_pass])
            PDL_PUT(&b, "--pass and --infer exclude each other: an inference has one answer");
    } else if (useless != OPT_COUNT) {
        pdl_buf_putf(&b, "--%s belongs to --infer", pdl_cli_option_of(useless)->name);
    }
    bool ok = !b.len;
    if (!ok) (void)pdl_cli_refuse(a, pdl_buf_z(&b));
    pdl_buf_fini(&b);
    if (!ok || !a->given[OPT_infer]) return ok;
    e->o.infer = &e->infer;
    e->o.note = on_note;
    if (!pdl_cli_infer_options_read(a, OPT_infer, OPT_seed, &e->infer, &ignored)) return false;
    if (!a->given[OPT_seed]) e->infer.seed = 0;
    return true;
}

static bool read_table(evaluator *e) {
    pdl_err err = {0};
    bool ok = pdl_table_of(e->a->value[OPT_input], e->a->value[OPT_rows_form], &e->o.data, &err);
    if (!ok) pdl_cli_print_option_error(e->a, &err, NULL);
    pdl_err_fini(&err);
    return ok && pdl_cli_use_separator(e->a, &e->o.data, NULL);
}

static void on_tick(void *user, const pdl_batch_totals *t) {
    evaluator *e = user;
    pdl_cli_rows_line_show(&e->line, t);
}

/* Prints why answers failed. With their number alone, users would have to read the file of
 * --output. */
static void note_failures(pdl_vref result) {
    pdl_vref programs = pdl_dict_getz(result, "programs");
    for (size_t i = 0; i < pdl_list_len(programs); i++) {
        pdl_vref p = pdl_list_at(programs, i), first = pdl_dict_getz(p, "first_error");
        if (!pdl_is_str(first)) continue;
        pdl_cli_note("pdl: note: %.*s: answers that failed count as wrong (%lld); %.*s",
                     PDL_FMT(pdl_str_get(pdl_dict_getz(p, "program"))),
                     (long long)pdl_int_of(pdl_dict_getz(p, "failed")),
                     PDL_FMT(pdl_str_get(first)));
    }
}

/* Returns true, after a message, when the first program scores below --fail-under or has no score.
 * A mean that is smaller only by the rounding of its sum does not count as below. */
static bool is_below(const evaluator *e, pdl_vref result) {
    static const double rounding = 1e-9;
    pdl_vref first = pdl_list_at(pdl_dict_getz(result, "programs"), 0);
    pdl_vref known = pdl_dict_getz(first, "score");
    double score = pdl_is_null(known) ? 0 : pdl_float_of(known);
    if (!e->a->given[OPT_fail_under]) return false;
    if (!pdl_is_null(known) && score >= e->least_score - rounding) return false;
    pdl_err err = {0};
    if (pdl_is_null(known))
        (void)pdl_err_set(&err, PDL_E_runtime, (pdl_loc){0},
                          "%.*s: no score is known, which --fail-under wants",
                          PDL_FMT(e->a->files.p[0]));
    else
        (void)pdl_err_set(&err, PDL_E_runtime, (pdl_loc){0},
                          "%.*s: the mean score %.3f is below %.*s of --fail-under",
                          PDL_FMT(e->a->files.p[0]), score, PDL_FMT(e->a->value[OPT_fail_under]));
    pdl_cli_print_error(&err, NULL);
    pdl_err_fini(&err);
    return true;
}

static int report(const evaluator *e, pdl_vref result) {
    pdl_buf out = PDL_BUF;
    pdl_err err = {0};
    if (!e->a->given[OPT_json]) {
        pdl_eval_put_table(result, &out);
    } else if (!pdl_json_write(result, PDL_JSON_SPACED, 2, &out, &err)) {
        pdl_cli_print_error(&err, NULL);
        pdl_err_fini(&err);
    } else {
        pdl_buf_putc(&out, '\n');
    }
    int code = pdl_cli_put_stdout(pdl_buf_str(&out));
    pdl_buf_fini(&out);
    return code;
}

static int evaluate(evaluator *e) {
    const arguments *a = e->a;
    each_run m;
    pdl_err err = {0};
    pdl_val result = pdl_absent();
    int code = pdl_cli_each_begin(&m, a, &e->o.session);
    if (code) return code;
    bool ok = pdl_cli_each_read(&m, a->files.p[0], &err);
    e->o.budget = m.budget;
    e->o.variables = m.variables;
    e->o.giver = m.giver;
    pdl_cli_say_at_interrupt("%s", a->given[OPT_cache]
                                       ? PDL_CLI_SAME_COMMAND
                                       : "nothing is kept; with --cache FILE the answers are");
    ok = ok && pdl_eval_run(&e->o, &result, &err);
    pdl_cli_rows_line_clear(&e->line);
    if (!pdl_is_absent(result)) {
        /* users have paid for the result, so it is printed before anything else can fail */
        code = report(e, result);
        note_failures(result);
        if (ok && code == 0 && is_below(e, result)) code = 1;
    }
    if (!ok) {
        code = pdl_cli_each_code(&err);
        pdl_cli_print_option_error(a, &err, NULL);
    }
    pdl_err_fini(&err);
    if (!pdl_is_absent(result)) pdl_drop(result);
    pdl_cli_each_end(&m);
    return code;
}

int pdl_cli_cmd_eval(const arguments *a) {
    evaluator e = {.a = a};
    if (!a->files.n) return pdl_cli_refuse(a, "the following arguments are required: FILE");
    if (!a->given[OPT_input])
        return pdl_cli_refuse(a, "the following arguments are required: --input ROWS");
    if (!a->given[OPT_expect] && !a->given[OPT_judge])
        return pdl_cli_refuse(a, "one of the arguments --expect COLUMN and --judge PROGRAM is "
                                 "required");
    if (a->given[OPT_metric] && a->given[OPT_judge])
        return pdl_cli_refuse(a, "--metric and --judge exclude each other");
    e.o.program = a->files.p[0];
    e.o.against = a->value[OPT_against];
    e.o.expect = a->value[OPT_expect];
    e.o.judge = a->value[OPT_judge];
    e.o.metric = a->given[OPT_metric] ? a->value[OPT_metric] : PDL_STR("exact");
    e.o.output = pdl_cli_written(a->value[OPT_output]);
    e.o.junit = a->value[OPT_junit];
    e.o.types = a->given[OPT_types];
    e.o.tick_ms = pdl_cli_rows_line_init(&e.line, a);
    e.o.tick = e.o.tick_ms ? on_tick : NULL;
    e.o.user = &e;
    bool ok = read_map(&e) && read_numbers(&e) && read_until(&e) && read_infer(&e) &&
              read_least_score(&e) && read_table(&e);
    int code = ok ? evaluate(&e) : 2;
    pdl_vec_fini(&e.map);
    return code;
}
