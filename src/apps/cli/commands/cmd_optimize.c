/* cmd_optimize.c -- pdl optimize PROGRAM: searches for the texts and parameters of a program that
 * score best on a table. This file turns options into the description of a search; apps/optimize
 * runs the search. When the description comes from a configuration, options that would contradict
 * it are refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/each_run.h"
#include "cli/rows_line.h"
#include "cli/search_again.h"
#include "fmt/diff.h"
#include "io/file.h"
#include "optimize/configuration.h"
#include "optimize/optimize.h"
#include "value/int.h"
#include "value/json_write.h"
#include "yaml/yaml.h"

#include "base/banned.h"

enum { DEFAULT_JOBS = 16 };

typedef struct optimizer {
    const arguments *a;
    pdl_optimize_options o;
    rows_line line;
    pdl_optimize_config config;
    pdl_buf config_text, command;
    char *output; /* owned */
    PDL_VEC(pdl_batch_map) map;
    PDL_VEC(pdl_str) tuned, required;
    pdl_val space;
} optimizer;

/* --- messages --------------------------------------------------------------------------------- */

static void on_note(void *user, const char *text) {
    (void)user;
    pdl_cli_note("pdl: warning: %s", text);
}

/* Shows the user how the search can be continued. For a durable search, the command is printed now,
 * because the process may be killed. For every search, it is printed after an interrupt. */
static void on_begin(void *user, pdl_str folder) {
    const optimizer *z = user;
    const arguments *a = z->a;
    if (a->given[OPT_durable]) {
        if (!a->continued.n)
            pdl_cli_note("pdl: if it is interrupted: pdl resume %.*s", PDL_FMT(folder));
        pdl_cli_say_at_interrupt("it continues with: pdl resume %.*s", PDL_FMT(folder));
    } else if (a->given[OPT_cache]) {
        pdl_cli_say_at_interrupt("%s", PDL_CLI_SAME_COMMAND);
    } else {
        pdl_cli_say_at_interrupt("with --cache %.*s/replies.db, %s", PDL_FMT(folder),
                                 PDL_CLI_SAME_COMMAND);
    }
}

static void on_answer(void *user, pdl_str text) {
    pdl_buf b = PDL_BUF;
    optimizer *z = user;
    pdl_cli_rows_line_clear(&z->line);
    pdl_buf_putf(&b, "%.*s\n", PDL_FMT(text));
    (void)pdl_cli_put_stdout(pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

/* --- options ---------------------------------------------------------------------------------- */

/* Reads one value as YAML, so that 1 is a number. A value that is not YAML is a text. */
static pdl_val value_of(pdl_str text) {
    pdl_val v;
    uint32_t line, column;
    pdl_err ignored = {0};
    if (!text.n || !pdl_yaml_read_written(text, &v, &line, &column, &ignored)) v = pdl_text(text);
    pdl_err_fini(&ignored);
    return v;
}

/* Reads values: V1,V2, or a list of YAML, in which a value may have commas. */
static pdl_val values_of(pdl_str text) {
    pdl_val list = pdl_list_new(4);
    if (pdl_str_starts(text, PDL_STR("["))) {
        pdl_val v = value_of(text);
        if (pdl_is_list(v)) {
            pdl_drop(list);
            return v;
        }
        pdl_drop(v);
    }
    while (text.n) {
        pdl_str word = pdl_str_take(&text, PDL_STR(","));
        pdl_val v = value_of(word);
        if (pdl_is_list(v) || pdl_is_dict(v)) { /* the value is a text that has a colon in it */
            pdl_drop(v);
            v = pdl_text(word);
        }
        list = pdl_list_push(list, v);
    }
    return list;
}

/* Reads NAME=VALUES, where the name may be a place. Values for the same name are collected. */
static bool read_vary(optimizer *z, pdl_str given) {
    size_t eq = pdl_str_find(given, PDL_STR("="), 0);
    if (eq == PDL_NOT_FOUND || !eq || eq + 1 == given.n) {
        (void)pdl_cli_refuse(z->a, "argument --vary: expected NAME=VALUE,VALUE...");
        return false;
    }
    pdl_str name = pdl_str_trim(pdl_str_sub(given, 0, eq));
    pdl_val values = values_of(pdl_str_sub(given, eq + 1, given.n));
    pdl_vref known = pdl_dict_gets(z->space, name);
    pdl_val all = pdl_is_list(known) ? pdl_keep(known) : pdl_list_new(4);
    for (size_t i = 0; i < pdl_list_len(values); i++)
        all = pdl_list_push(all, pdl_keep(pdl_list_at(values, i)));
    z->space = pdl_dict_puts(z->space, name, all);
    pdl_drop(values);
    return true;
}

static bool read_pair(optimizer *z, pdl_str v) {
    size_t eq = pdl_str_rfind(v, PDL_STR("="));
    if (eq == PDL_NOT_FOUND || eq == 0 || eq + 1 == v.n) {
        (void)pdl_cli_refuse(z->a, "argument --map: expected COLUMN=VARIABLE");
        return false;
    }
    *pdl_vec_push(&z->map) = (pdl_batch_map){pdl_str_sub(v, 0, eq), pdl_str_sub(v, eq + 1, v.n)};
    return true;
}

static bool read_lists(optimizer *z) {
    bool ok = true;
    for (size_t i = 0; ok && i < z->a->values.n; i++) {
        pdl_str v = z->a->values.p[i].value;
        opt_id id = z->a->values.p[i].id;
        if (id == OPT_vary) ok = read_vary(z, v);
        if (id == OPT_map) ok = read_pair(z, v);
        if (id == OPT_tune) *pdl_vec_push(&z->tuned) = v;
        if (id == OPT_require) *pdl_vec_push(&z->required) = v;
    }
    if (z->a->given[OPT_config]) return true;
    z->o.space = z->space;
    z->o.map = z->map.p;
    z->o.n_map = z->map.n;
    z->o.tuned = z->tuned.p;
    z->o.n_tuned = z->tuned.n;
    z->o.required = z->required.p;
    z->o.n_required = z->required.n;
    return ok;
}

static bool read_numbers(optimizer *z) {
    enum { MAX_PROPOSALS = 1000 };
    int64_t jobs = z->config.jobs ? z->config.jobs : DEFAULT_JOBS, seed = (int64_t)z->o.seed,
            proposals = (int64_t)z->o.proposals;
    if (!pdl_cli_read_whole(z->a, OPT_jobs, 1, PDL_SPAWN_SLOTS, &jobs) ||
        !pdl_cli_read_whole(z->a, OPT_proposals, 1, MAX_PROPOSALS, &proposals) ||
        !pdl_cli_read_whole(z->a, OPT_seed, 0, INT64_MAX, &seed))
        return false;
    z->o.proposals = (size_t)proposals;
    z->o.yes = z->a->given[OPT_yes];
    z->o.jobs = (uint32_t)jobs;
    z->o.seed = (uint64_t)seed;
    return true;
}

static bool read_table(optimizer *z) {
    pdl_err err = {0};
    if (z->a->given[OPT_config]) return true;
    bool ok =
        pdl_table_of(z->a->value[OPT_data_rows], z->a->value[OPT_rows_form], &z->o.data, &err);
    if (!ok) pdl_cli_print_option_error(z->a, &err, NULL);
    pdl_err_fini(&err);
    return ok && pdl_cli_use_separator(z->a, &z->o.data, NULL);
}

/* Returns the file for the optimised program, beside the program, with the name that the reference
 * gives it. */
static char *default_output(pdl_str program) {
    pdl_buf b = PDL_BUF;
    pdl_str folder = pdl_file_folder(program);
    if (folder.n) pdl_buf_putf(&b, "%.*s/", PDL_FMT(folder));
    pdl_buf_putf(&b, "optimized_%.*s", PDL_FMT(pdl_file_name(program)));
    return pdl_buf_take(&b);
}

/* Returns the reason why an option cannot be given together with a configuration, which contains
 * the same setting; NULL when there is no such option. */
static const char *said_twice(const arguments *a) {
    static const opt_id said[] = {
        OPT_demos,     OPT_data_rows, OPT_expect,     OPT_judge,     OPT_metric, OPT_vary,
        OPT_tune,      OPT_require,   OPT_candidates, OPT_method,    OPT_map,    OPT_rows_form,
        OPT_separator, OPT_types,     OPT_variable,   OPT_data_file, OPT_init,   OPT_keep_rows,
        OPT_proposer,  OPT_proposals, OPT_objective,  OPT_at_most};
    if (a->files.n) return "--config says which program it is: leave FILE out";
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (a->given[said[i]])
            return "--config describes the whole search: only -o, --diff, --dry-run, --jobs, "
                   "--seed and what limits the calls of models are given beside it";
    if (a->given[OPT_yield_output] && a->given[OPT_no_yield_output])
        return "--yield_output and --no-yield_output exclude each other";
    return NULL;
}

static const char *missing(const arguments *a) {
    if (a->given[OPT_config]) return said_twice(a);
    if (a->is_reference) return "the following arguments are required: --config/-c";
    if (!a->files.n) return "the following arguments are required: PROGRAM";
    if (pdl_str_is(a->files.p[0], "-"))
        return "standard input cannot be the program, whose text is edited: give a file";
    if (!a->given[OPT_data_rows]) return "the following arguments are required: --data ROWS";
    if (!a->given[OPT_expect] && !a->given[OPT_judge])
        return "one of the arguments --expect COLUMN and --judge PROGRAM is required";
    if (a->given[OPT_metric] && a->given[OPT_judge])
        return "--metric and --judge exclude each other";
    if (a->given[OPT_require] && !a->given[OPT_tune]) return "--require belongs to --tune PLACE";
    if ((a->given[OPT_proposer] || a->given[OPT_proposals]) && !a->given[OPT_tune])
        return "--proposer and --proposals belong to --method reflect and --tune PLACE";
    if (a->given[OPT_diff] && a->given[OPT_output]) return "--diff writes no file: leave -o out";
    return NULL;
}

static void read_output(optimizer *z) {
    const arguments *a = z->a;
    z->output = a->given[OPT_output] ? pdl_str_dup(pdl_cli_written(a->value[OPT_output]))
                                     : default_output(z->o.program);
    z->o.output = pdl_str_of(z->output);
    z->o.experiments =
        a->given[OPT_experiments] ? a->value[OPT_experiments] : PDL_STR("experiments");
    z->o.dry_run = a->given[OPT_dry_run];
    z->o.diff = a->given[OPT_diff];
    z->o.answered = a->given[OPT_yield_output] ? on_answer : NULL;
    z->o.note = on_note;
    z->o.continued = a->continued;
    if (a->given[OPT_durable]) {
        z->command = PDL_BUF;
        pdl_cli_search_command(a, &z->command);
        z->o.command_text = pdl_buf_str(&z->command);
    }
    z->o.begun = on_begin;
}

static void read_words(optimizer *z) {
    const arguments *a = z->a;
    z->o.program = a->files.p[0];
    z->o.expect = a->value[OPT_expect];
    z->o.judge = a->value[OPT_judge];
    z->o.metric = a->given[OPT_metric] ? a->value[OPT_metric] : PDL_STR("exact");
    z->o.method = a->given[OPT_method]  ? a->value[OPT_method]
                  : a->given[OPT_demos] ? PDL_STR("demos")
                                        : PDL_STR("race");
    z->o.demos = a->value[OPT_demos];
    z->o.proposer = a->value[OPT_proposer];
    z->o.kept = a->value[OPT_keep_rows];
    z->o.objective = a->value[OPT_objective];
    z->o.at_most = a->value[OPT_at_most];
    z->o.candidates = a->value[OPT_candidates];
    z->o.types = a->given[OPT_types];
}

/* Reads the configuration. Returns 0, or the exit code after an error. */
static int read_config(optimizer *z) {
    pdl_err err = {0};
    char *path = pdl_str_dup(z->a->value[OPT_config]);
    z->config_text = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE);
    bool ok = pdl_optimize_read_config(z->a->value[OPT_config], &z->config, &z->o, &err) &&
              pdl_file_read(path, &z->config_text, &err);
    z->o.config_text = pdl_buf_str(&z->config_text);
    if (!ok) pdl_cli_print_option_error(z->a, &err, NULL);
    pdl_err_fini(&err);
    pdl_free(path);
    return ok ? 0 : z->a->is_reference ? 1 : 2;
}

/* --- progress --------------------------------------------------------------------------------- */

static void on_tick(void *user, const pdl_optimize_progress *p) {
    optimizer *z = user;
    pdl_buf b = PDL_BUF;
    pdl_cli_put_count(&b, p->evaluations, "evaluation", "evaluations");
    PDL_PUT(&b, ", ");
    pdl_cli_put_count(&b, p->candidates, "candidate", "candidates");
    if (p->low <= p->high)
        pdl_buf_putf(&b, ", best score %.3f (%.3f to %.3f)", p->best, p->low, p->high);
    pdl_buf_putf(&b, ", %lld calls", (long long)p->calls);
    if (p->cost > 0) pdl_buf_putf(&b, ", cost %.4g", p->cost);
    PDL_PUT(&b, ", ");
    pdl_cli_put_time(&b, p->seconds);
    if (p->left >= 0) {
        PDL_PUT(&b, ", at most ");
        pdl_cli_put_time(&b, p->left);
        PDL_PUT(&b, " left");
    }
    pdl_cli_rows_line_put(&z->line, pdl_buf_str(&b), p->seconds);
    pdl_buf_fini(&b);
}

/* --- output ----------------------------------------------------------------------------------- */

static double number(pdl_vref d, const char *key) {
    pdl_vref v = pdl_dict_getz(d, key);
    return pdl_is_int(v) || pdl_is(v, PDL_V_FLOAT) ? pdl_num_to_double(v) : 0;
}

static void put_estimate(pdl_vref r, pdl_buf *out) {
    pdl_optimize_put_candidates(r, out);
    pdl_buf_putf(out,
                 "; %.0f rows for training, %.0f for validation, %.0f for the test\n"
                 "at most %.0f evaluations: %.0f calls, %.0f tokens of prompts",
                 number(r, "train"), number(r, "validation"), number(r, "test"),
                 number(r, "evaluations"), number(r, "calls"), number(r, "prompt_tokens"));
    if (number(r, "answer_tokens") > 0)
        pdl_buf_putf(out, ", at most %.0f of answers", number(r, "answer_tokens"));
    if (number(r, "cost") > 0) pdl_buf_putf(out, ", cost %.4g", number(r, "cost"));
    PDL_PUT(out, "\n");
    pdl_vref by = pdl_dict_getz(r, "proposer");
    if (pdl_is_str(by)) {
        pdl_cli_put_count(out, (uint64_t)number(r, "proposals"), "text", "texts");
        pdl_buf_putf(out, " proposed by %.*s: what these use is estimated\n",
                     PDL_FMT(pdl_str_get(by)));
    }
    if (number(r, "selections") > 0)
        pdl_buf_putf(out,
                     "at most %.0f selections of demonstrations are drawn; prompts with them are "
                     "longer than that\n",
                     number(r, "selections"));
    if (pdl_bool_of(pdl_dict_getz(r, "depends")))
        PDL_PUT(out, "and calls that depend on answers, which cannot be counted before\n");
}

static int put_result(const optimizer *z, pdl_vref result) {
    pdl_buf out = PDL_BUF;
    pdl_err err = {0};
    pdl_vref before = pdl_dict_getz(result, "before_text"), text = pdl_dict_getz(result, "text");
    if (z->a->given[OPT_json]) {
        if (!pdl_json_write(result, PDL_JSON_SPACED, 2, &out, &err)) pdl_err_fini(&err);
        pdl_buf_putc(&out, '\n');
    } else if (z->o.dry_run) {
        put_estimate(result, &out);
    } else if (pdl_is_str(text)) {
        pdl_str a = pdl_str_get(before), b = pdl_str_get(text);
        if (!pdl_str_eq(a, b)) pdl_diff(z->o.program, a, b, &out);
    } else {
        pdl_optimize_put_report(result, &out);
    }
    int code = pdl_cli_put_stdout(pdl_buf_str(&out));
    pdl_buf_fini(&out);
    if (!code && pdl_is_str(text) && !z->a->given[OPT_json]) {
        out = PDL_BUF;
        pdl_optimize_put_report(result, &out);
        pdl_cli_put_stderr(pdl_buf_str(&out), NULL);
        pdl_buf_fini(&out);
    }
    return code;
}

/* --- the command ------------------------------------------------------------------------------ */

static int run(optimizer *z) {
    const arguments *a = z->a;
    each_run m;
    pdl_err err = {0};
    pdl_val result = pdl_absent();
    int code = pdl_cli_each_begin(&m, a, &z->o.session);
    if (code) return code;
    bool ok = pdl_cli_each_read(&m, z->o.program, &err);
    z->o.budget = m.budget;
    if (!a->given[OPT_config]) {
        z->o.variables = m.variables;
        z->o.giver = m.giver;
    }
    ok = ok && pdl_optimize_run(&z->o, &result, &err);
    pdl_cli_rows_line_clear(&z->line);
    if (!pdl_is_absent(result)) code = put_result(z, result);
    if (!ok) {
        code = pdl_cli_each_code(&err);
        pdl_cli_print_option_error(a, &err, NULL);
    }
    pdl_err_fini(&err);
    if (!pdl_is_absent(result)) pdl_drop(result);
    pdl_cli_each_end(&m);
    return code;
}

/* Writes the configuration of the search instead of searching. */
static int init(optimizer *z) {
    pdl_buf out = PDL_BUF;
    pdl_err err = {0};
    pdl_val vars;
    if (!pdl_cli_read_data(z->a, &vars, &err)) {
        pdl_cli_print_option_error(z->a, &err, NULL);
        pdl_err_fini(&err);
        return 2;
    }
    z->o.variables = vars;
    pdl_optimize_put_config(&z->o, &out);
    int code = 0;
    if (!z->a->given[OPT_output]) {
        code = pdl_cli_put_stdout(pdl_buf_str(&out));
    } else if (!pdl_file_write(z->output, pdl_buf_str(&out), PDL_FILE_SHARED, &err)) {
        pdl_cli_print_error(&err, NULL);
        code = 1;
    }
    pdl_err_fini(&err);
    pdl_buf_fini(&out);
    pdl_drop(vars);
    return code;
}

int pdl_cli_cmd_optimize(const arguments *a) {
    optimizer z = {.a = a, .space = pdl_dict_new(4), .config.yaml = pdl_absent()};
    const char *why = missing(a);
    int code = why ? pdl_cli_refuse(a, why) : 0;
    if (a->given[OPT_durable] && !a->continued.n) pdl_cli_say_at_interrupt(PDL_CLI_NOT_BEGUN);
    z.o.variables = z.o.space = pdl_absent();
    if (!code && a->given[OPT_config])
        code = read_config(&z);
    else if (!code)
        read_words(&z);
    if (!code) {
        read_output(&z);
        z.o.tick_ms = pdl_cli_rows_line_init(&z.line, a);
        z.o.tick = z.o.tick_ms ? on_tick : NULL;
        z.o.user = &z;
        bool ok = read_lists(&z) && read_numbers(&z) && read_table(&z);
        code = !ok ? 2 : a->given[OPT_init] ? init(&z) : run(&z);
    }
    pdl_optimize_config_fini(&z.config);
    pdl_buf_fini(&z.config_text);
    pdl_buf_fini(&z.command);
    pdl_drop(z.space);
    pdl_free(z.output);
    pdl_vec_fini(&z.map);
    pdl_vec_fini(&z.tuned);
    pdl_vec_fini(&z.required);
    return code;
}
