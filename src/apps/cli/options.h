/* options.h -- commands and options of `pdl` as tables, which parsing, help, man page and
 * completion read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_OPTIONS_H
#define PDL_CLI_OPTIONS_H

#include "base/buf.h"
#include "base/str.h"
#include "base/vec.h"

typedef enum {
    OPT_FLAG,     /* no value */
    OPT_VALUE,    /* a value */
    OPT_VALUES,   /* a value, and the option may be repeated */
    OPT_MAYBE,    /* the value may be left out; otherwise it is the next word */
    OPT_ATTACHED, /* the value may be left out, and is only given as --name=VALUE */
} opt_kind;

typedef enum {
    OPT_help,
    OPT_version,
    OPT_schema,
    OPT_sandbox,
    OPT_no_sandbox,
    OPT_sandbox_min,
    OPT_data,
    OPT_data_file,
    OPT_stream,
    OPT_trace,
    OPT_whole,
    OPT_record,
    OPT_replay,
    OPT_cache,
    OPT_output,
    OPT_command,
    OPT_durable,
    OPT_id,
    OPT_sync,
    OPT_park,
    OPT_provisional,
    OPT_changed,
    OPT_again,
    OPT_skip,
    OPT_rebuild,
    OPT_take_over,
    OPT_only_new,
    OPT_redact,
    OPT_at,
    OPT_trace_form,
    OPT_prefix,
    OPT_bound,
    OPT_jobs,
    OPT_timeout,
    OPT_budget,
    OPT_policy,
    OPT_prices,
    OPT_max_rps,
    OPT_max_tpm,
    OPT_wire,
    OPT_otlp,
    OPT_otlp_content,
    OPT_otlp_all,
    OPT_strict,
    OPT_check_form,
    OPT_check_run,
    OPT_fix,
    OPT_check_env,
    OPT_stdio,
    OPT_rule,
    OPT_nodes,
    OPT_blocks,
    OPT_expr,
    OPT_specs,
    OPT_code,
    OPT_table,
    OPT_older_than,
    OPT_model,
    OPT_all,
    OPT_allow,
    OPT_json,
    OPT_host,
    OPT_port,
    OPT_token_file,
    OPT_max_requests,
    OPT_max_waiting,
    OPT_request_time,
    OPT_allow_origin,
    OPT_log,
    OPT_mcp,
    OPT_html,
    OPT_svg,
    OPT_md,
    OPT_text,
    OPT_source,
    OPT_open,
    OPT_view_frame,
    OPT_view_run,
    OPT_view,
    OPT_replies,
    OPT_delay,
    OPT_eval,
    OPT_template,
    OPT_progress,
    OPT_verbose,
    OPT_input,
    OPT_rows_form,
    OPT_separator,
    OPT_map,
    OPT_types,
    OPT_on_error,
    OPT_max_errors,
    OPT_limit,
    OPT_sample,
    OPT_unordered,
    OPT_overwrite,
    OPT_retry_errors,
    OPT_allow_files,
    OPT_rows_keep,
    OPT_report,
    OPT_dry_run,
    OPT_resume_check,
    OPT_runs_check,
    OPT_provider_batch,
    OPT_expect,
    OPT_judge,
    OPT_metric,
    OPT_samples,
    OPT_pass,
    OPT_against,
    OPT_until,
    OPT_difference,
    OPT_seed,
    OPT_fail_under,
    OPT_infer,
    OPT_algo,
    OPT_particles,
    OPT_workers,
    OPT_bars,
    OPT_by,
    OPT_sure,
    OPT_particle_error,
    OPT_ess,
    OPT_resample,
    OPT_align,
    OPT_max_score,
    OPT_tries,
    OPT_infer_seed,
    OPT_junit,
    OPT_data_rows,
    OPT_variable,
    OPT_vary,
    OPT_tune,
    OPT_require,
    OPT_candidates,
    OPT_method,
    OPT_demos,
    OPT_proposer,
    OPT_proposals,
    OPT_yes,
    OPT_keep_rows,
    OPT_experiments,
    OPT_config,
    OPT_init,
    OPT_yield_output,
    OPT_no_yield_output,
    OPT_show_machine,
    OPT_net,
    OPT_repl_model,
    OPT_fmt_check,
    OPT_diff,
    OPT_lines,
    OPT_sort,
    OPT_COUNT
} opt_id;

typedef struct option {
    opt_id id;
    const char *name; /* long name without dashes */
    char letter;      /* may be 0 */
    opt_kind kind;
    const char *value;   /* placeholder of the value */
    const char *choices; /* "a|b|c", or NULL */
    const char *doc;
} option;

/* Returns true when the option takes a value that may not be left out. */
static inline bool option_needs_value(const option *o) {
    return o->kind == OPT_VALUE || o->kind == OPT_VALUES;
}
/* Returns a text that follows doc in help, manual page and completion. */
static inline const char *option_note(const option *o) {
    return o->kind == OPT_VALUES ? ". May be repeated" : "";
}

struct command;
typedef struct arguments {
    const struct command *command;
    bool given[OPT_COUNT];
    pdl_str value[OPT_COUNT]; /* p is NULL when it is given without a value */
    PDL_VEC(pdl_str) files;
    /* Each option with a value, in order; options that may be repeated are read here. */
    PDL_VEC(struct given_value {
        opt_id id;
        pdl_str value;
    })
    values;
    PDL_VEC(pdl_str) policies; /* values of --policy */
    PDL_VEC(pdl_str) args;     /* operands that a run passes to its program */
    PDL_VEC(char *) owned;     /* texts that members point to */
    bool is_reference;         /* called by the name of a command of the reference */
} arguments;

typedef struct command {
    const char *name; /* "run" is the command without a word */
    int (*run)(const arguments *a);
    const opt_id *options; /* ended by OPT_COUNT */
    const char *operands;  /* "FILE", "FILE..." */
    const char *doc;
    const char *text; /* further lines of its help; may be NULL */
} command;

/* help/overview.c. The commands, in a line each. */
extern const char pdl_cli_overview[];
const command *pdl_cli_commands(size_t *n);
const option *pdl_cli_option_of(opt_id id);

/* Reads the command line. Returns false when it is wrong: *message (owned by the caller) has the
 * reason, and the exit code is 2. *word: the command word, NULL when there is none. */
bool pdl_cli_arguments_read(int argc, char **argv, arguments *out, const char **word,
                            char **message);
/* program_operand.c. Finds the program among the operands: X may be X.pdl, or on standard input.
 * Returns as pdl_cli_arguments_read. */
bool pdl_cli_find_program(arguments *a, const char *word, char **message);
/* named_files.c. Checks that the programs and the files of options exist. Returns as
 * pdl_cli_arguments_read. */
bool pdl_cli_finds_files(const arguments *a, char **message);
/* overwrites.c. Checks that no file is both read and written. Returns as pdl_cli_arguments_read. */
bool pdl_cli_spares_files(const arguments *a, char **message);
void pdl_cli_arguments_fini(arguments *a);
/* Returns a word as messages show it: an empty one as ''. */
static inline pdl_str pdl_cli_visible(pdl_str word) { return word.n ? word : PDL_STR("''"); }
void pdl_cli_help_write(const command *c, pdl_buf *out);
/* help_name.c. Writes the help of a rule, option, error or message. Returns false for others. */
bool pdl_cli_help_name(pdl_str name, pdl_buf *out);

#include "cli/commands.h"

#endif
