/* cmd_batch.c -- pdl batch FILE: a program for each row of a table. It reads the options, opens the
 * session in which all rows run, and prints progress, warnings and the summary; apps/batch does the
 * work.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/hooks.h"
#include "batch/batch.h"
#include "batch/files.h"
#include "batch/provider_batch.h"
#include "cli/cli.h"
#include "cli/each_run.h"
#include "cli/json_rows.h"
#include "cli/rows_line.h"
#include "io/file.h"
#include "lang/load.h"

#include "base/banned.h"

enum { DEFAULT_JOBS = 64, PROVIDER_JOBS = 5000 };

typedef struct batcher {
    const arguments *a;
    pdl_session *session;
    pdl_signals *signals;
    PDL_VEC(pdl_batch_map) map;
    PDL_VEC(pdl_str) reports;
    pdl_batch_options o;
    rows_line line;
} batcher;

/* --- options ---------------------------------------------------------------------------------- */

bool pdl_cli_use_separator(const arguments *a, pdl_table *input, pdl_table *output) {
    pdl_str s = a->value[OPT_separator];
    bool tab = pdl_str_is(s, "tab") || pdl_str_is(s, "\\t");
    bool any = false;
    if (!a->given[OPT_separator]) return true;
    if (!tab && (s.n != 1 || pdl_byte_in(s.p[0], PDL_STR("\"\r\n")) || (s.p[0] & 0x80))) {
        (void)pdl_cli_refuse(a, "argument --separator: expected one character such as ';', or tab");
        return false;
    }
    pdl_table *tables[] = {input, output};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (!tables[i] || tables[i]->form != PDL_TABLE_csv) continue;
        tables[i]->separator = tab ? '\t' : s.p[0];
        any = true;
    }
    if (any) return true;
    (void)pdl_cli_refuse(a, "argument --separator: no table is CSV");
    return false;
}

static bool read_map(batcher *b) {
    for (size_t i = 0; i < b->a->values.n; i++) {
        pdl_str v = b->a->values.p[i].value;
        size_t eq = pdl_str_rfind(v, PDL_STR("="));
        if (b->a->values.p[i].id != OPT_map) continue;
        if (eq == PDL_NOT_FOUND || eq == 0 || eq + 1 == v.n) {
            (void)pdl_cli_refuse(b->a, "argument --map: expected COLUMN=VARIABLE");
            return false;
        }
        *pdl_vec_push(&b->map) =
            (pdl_batch_map){pdl_str_sub(v, 0, eq), pdl_str_sub(v, eq + 1, v.n)};
    }
    b->o.map = b->map.p;
    b->o.n_map = b->map.n;
    return true;
}

static void read_reports(batcher *b) {
    for (size_t i = 0; i < b->a->values.n; i++)
        if (b->a->values.p[i].id == OPT_report)
            *pdl_vec_push(&b->reports) = pdl_cli_written(b->a->values.p[i].value);
    if (b->a->given[OPT_json]) *pdl_vec_push(&b->reports) = PDL_STR("-");
    b->o.reports = b->reports.p;
    b->o.n_reports = b->reports.n;
    b->o.prices = b->a->value[OPT_prices];
}

static bool read_tables(batcher *b) {
    const arguments *a = b->a;
    pdl_err err = {0};
    pdl_str form = a->value[OPT_rows_form],
            out = a->given[OPT_output] ? a->value[OPT_output] : PDL_STR("-");
    /* --format is only meant for names that do not show their format */
    bool ok = pdl_table_of(a->value[OPT_input], (pdl_str){0}, &b->o.input, &err);
    if (form.n && (!ok || pdl_table_is_standard(&b->o.input))) {
        pdl_err_fini(&err);
        ok = pdl_table_of(a->value[OPT_input], form, &b->o.input, &err);
    }
    bool second = ok && pdl_table_of(out, (pdl_str){0}, &b->o.output, &err);
    if (ok && form.n && (!second || pdl_table_is_standard(&b->o.output))) {
        pdl_err_fini(&err);
        second = pdl_table_of(out, form, &b->o.output, &err);
    }
    if (!second) pdl_cli_print_option_error(a, &err, NULL);
    pdl_err_fini(&err);
    b->o.output.stream = b->o.output.stream || b->o.output.is_open;
    return second && pdl_cli_use_separator(a, &b->o.input, &b->o.output);
}

static bool read_numbers(batcher *b) {
    int64_t jobs = DEFAULT_JOBS, most = -1, limit = 0, sample = 0;
    const arguments *a = b->a;
    if (a->given[OPT_provider_batch]) jobs = PROVIDER_JOBS;
    if (!pdl_cli_read_whole(a, OPT_jobs, 1, PDL_SPAWN_SLOTS, &jobs) ||
        !pdl_cli_read_whole(a, OPT_max_errors, 0, INT64_MAX, &most) ||
        !pdl_cli_read_whole(a, OPT_limit, 1, INT64_MAX, &limit) ||
        !pdl_cli_read_whole(a, OPT_sample, 1, INT64_MAX, &sample))
        return false;
    if (a->given[OPT_on_error] && pdl_str_is(a->value[OPT_on_error], "stop") &&
        !a->given[OPT_max_errors])
        most = 0;
    b->o.jobs = (uint32_t)jobs;
    b->o.max_errors = most;
    b->o.limit = (uint64_t)limit;
    b->o.sample = (uint64_t)sample;
    return true;
}

static void read_flags(batcher *b) {
    const arguments *a = b->a;
    b->o.types = a->given[OPT_types];
    b->o.unordered = a->given[OPT_unordered];
    b->o.overwrite = a->given[OPT_overwrite];
    b->o.retry_errors = a->given[OPT_retry_errors];
    b->o.allow_files = a->given[OPT_allow_files];
    b->o.keep = a->given[OPT_rows_keep];
    b->o.reuse_changed = a->given[OPT_changed] && pdl_str_is(a->value[OPT_changed], "reuse");
}

/* --- messages --------------------------------------------------------------------------------- */

static void on_tick(void *user, const pdl_batch_totals *t) {
    batcher *b = user;
    pdl_cli_rows_line_show(&b->line, t);
}

static void on_note(void *user, const char *text) {
    batcher *b = user;
    pdl_cli_rows_line_clear(&b->line);
    pdl_cli_note("pdl: note: %s", text);
}

static void choose_progress(batcher *b) {
    b->o.note = on_note;
    b->o.user = b;
    b->o.tick_ms = pdl_cli_rows_line_init(&b->line, b->a);
    b->o.tick = b->o.tick_ms ? on_tick : NULL;
}

/* --- the run ---------------------------------------------------------------------------------- */

static void on_signal(void *user, int sig) {
    (void)user;
    (void)sig; /* the signal wakes the loop; the batch reads the flag */
}

/* Returns the exit code. It is 2 for wrong usage, such as unusable columns or files, and for every
 * error before the first row except a cancellation. */
static int exit_code(const pdl_batch_totals *t, bool ok, const pdl_err *err) {
    if (ok) return t->failed ? 3 : 0;
    bool refused = err->kind == PDL_E_usage || (!t->begun && !pdl_err_is_cancel(err));
    return refused ? 2 : pdl_err_exit_code(err);
}

static void summarize(batcher *b, const pdl_batch_totals *t, bool ok) {
    pdl_buf line = PDL_BUF;
    pdl_cli_rows_line_clear(&b->line);
    PDL_PUT(&line, "pdl: ");
    pdl_cli_put_count(&line, t->finished, "row", "rows");
    pdl_buf_putf(&line, " done, %llu failed", (unsigned long long)t->failed);
    if (t->reused) pdl_buf_putf(&line, ", %llu of them before", (unsigned long long)t->reused);
    PDL_PUT(&line, ", ");
    pdl_cli_put_time(&line, t->seconds);
    if (t->cost > 0) pdl_buf_putf(&line, ", cost %.4g", t->cost);
    if (!ok && !b->o.output.stream) PDL_PUT(&line, "; the same command continues");
    pdl_cli_note("%s", pdl_buf_z(&line));
    pdl_buf_fini(&line);
}

/* Rounds an estimated number to three digits, since the estimate is not more precise. */
static double rough(double n) {
    double unit = 1;
    if (!isfinite(n)) return n;
    while (n / unit >= 1000) unit *= 10;
    return (double)(int64_t)(n / unit + 0.5) * unit;
}

static void put_about(pdl_buf *out, const char *name, double n) {
    pdl_buf_putf(out, "%s: about %.0f\n", name, rough(n));
}

/* Returns a number as JSON. 0 means that the number is unknown; it becomes null. */
static pdl_val known_number(double n) { return n > 0 ? pdl_cli_json_number(n) : pdl_null(); }

static int print_estimate_json(const pdl_batch_estimate *e) {
    pdl_buf out = PDL_BUF;
    pdl_val d = pdl_dict_putz(pdl_dict_new(9), "rows", pdl_int((int64_t)e->rows));
    d = pdl_dict_putz(d, "looked_at", pdl_int((int64_t)e->looked_at));
    d = pdl_dict_putz(d, "broken", pdl_int((int64_t)e->broken));
    d = pdl_dict_putz(d, "failed", pdl_int((int64_t)e->failed));
    d = pdl_dict_putz(d, "calls", pdl_cli_json_number(e->calls));
    d = pdl_dict_putz(d, "prompt_tokens", pdl_cli_json_number(e->prompt_tokens));
    d = pdl_dict_putz(d, "answer_tokens_at_most", known_number(e->answer_tokens));
    d = pdl_dict_putz(d, "cost", known_number(e->cost));
    d = pdl_dict_putz(d, "not_counted", pdl_cli_json_number(e->unknown));
    pdl_cli_put_json(d, &out);
    pdl_buf_putc(&out, '\n');
    int code = pdl_cli_put_stdout(pdl_buf_str(&out));
    pdl_buf_fini(&out);
    return code;
}

static int print_estimate(const pdl_batch_estimate *e) {
    pdl_buf out = PDL_BUF;
    pdl_buf_putf(&out, "rows: %llu, %llu of them examined\n", (unsigned long long)e->rows,
                 (unsigned long long)e->looked_at);
    if (e->broken)
        pdl_buf_putf(&out, "rows that cannot be read: %llu\n", (unsigned long long)e->broken);
    if (e->failed)
        pdl_buf_putf(&out, "rows that would fail before a model call: %llu of those examined\n",
                     (unsigned long long)e->failed);
    put_about(&out, "calls of models", e->calls);
    put_about(&out, "tokens of prompts", e->prompt_tokens);
    if (e->answer_tokens > 0)
        pdl_buf_putf(&out, "tokens of answers: at most %.0f\n", rough(e->answer_tokens));
    else
        PDL_PUT(&out, "tokens of answers: the program sets no limit\n");
    if (e->cost > 0)
        pdl_buf_putf(&out, "cost: about %.3g\n", e->cost);
    else
        PDL_PUT(&out, "cost: no price is known\n");
    if (e->unknown > 0)
        pdl_buf_putf(&out, "not counted: about %.0f model blocks that depend on answers\n",
                     rough(e->unknown));
    int code = pdl_cli_put_stdout(pdl_buf_str(&out));
    pdl_buf_fini(&out);
    return code;
}

static int estimate(batcher *b) {
    pdl_batch_estimate e;
    pdl_err err = {0};
    if (pdl_batch_estimate_rows(&b->o, &e, &err))
        return b->a->given[OPT_json] ? print_estimate_json(&e) : print_estimate(&e);
    pdl_cli_print_option_error(b->a, &err, b->session);
    int code = err.kind == PDL_E_usage || err.kind == PDL_E_io ? 2 : pdl_err_exit_code(&err);
    pdl_err_fini(&err);
    return code;
}

/* Returns the text that is printed when a signal arrives before the first row. Reading the program
 * and the table may take long. */
static const char *words_before_rows(const batcher *b) {
    char *journal = pdl_batch_output_journal(&b->o.output);
    bool continues = journal && pdl_file_kind_of(journal) != PDL_FILE_NONE;
    pdl_free(journal);
    if (b->a->given[OPT_dry_run]) return PDL_CLI_ONLY_READS;
    return continues ? "no row was begun: the same command continues" : PDL_CLI_NOT_BEGUN;
}

static int run_batch(batcher *b) {
    pdl_err err = {0};
    pdl_batch_totals t;
    /* computed now, because the batch makes the journal */
    const char *words = words_before_rows(b);
    b->signals = pdl_cli_watch_signals(pdl_session_loop(b->session), on_signal, b);
    bool ok = pdl_batch_run(&b->o, &t, &err);
    int code = exit_code(&t, ok, &err);
    pdl_cli_rows_line_clear(&b->line);
    /* the error of a failed row already has its place, which includes the name of the input */
    if (!ok && t.begun && err.kind == PDL_E_runtime)
        pdl_cli_print_error(&err, b->session);
    else if (!ok)
        pdl_cli_print_option_error(b->a, &err, b->session);
    if (t.begun)
        summarize(b, &t, ok);
    else if (!ok && pdl_err_is_cancel(&err))
        pdl_cli_note("pdl: %s", words);
    pdl_signals_stop(b->signals);
    pdl_err_fini(&err);
    return code;
}

static int run_program(batcher *b) {
    pdl_buf text = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE);
    pdl_err err = {0};
    pdl_str file = b->a->files.p[0];
    int code = 2;
    if (!pdl_cli_read_program(file, &text, &err)) {
        pdl_cli_print_error(&err, b->session);
        pdl_err_fini(&err);
    } else {
        bool ok;
        b->o.program = pdl_program_new();
        pdl_program_load(b->o.program, file, pdl_buf_str(&text), &ok);
        b->o.text = pdl_buf_str(&text);
        b->o.session = b->session;
        if (ok)
            code = b->a->given[OPT_dry_run] ? estimate(b) : run_batch(b);
        else
            pdl_cli_print_load_errors(b->o.program, b->session);
        pdl_program_drop(b->o.program);
    }
    pdl_buf_fini(&text);
    return code;
}

/* refuse_input refuses requests to read standard input, which is the table, or which all rows
 * share. refuse_write refuses requests to write files, because many rows would write them at the
 * same time. When the block is in the program itself, the batch is refused before the first row. So
 * only requests of included or called files come here. */
static void refuse_input(void *user, pdl_request *r) {
    (void)user;
    pdl_request_refuse(r, "io", "a row of a batch has no standard input");
}

static void refuse_write(void *user, pdl_request *r) {
    (void)user;
    pdl_request_refuse(r, "io", "a row of a batch does not write files: --allow-files allows it");
}

static int open_session(batcher *b, pdl_debug *debug) {
    const arguments *a = b->a;
    each_run m;
    pdl_err err = {0};
    const pdl_hook hooks[] = {{PDL_EFFECT_input, {"", 0}, refuse_input, NULL},
                              {PDL_EFFECT_write,
                               {"", 0},
                               b->o.files ? pdl_batch_files_handler : refuse_write,
                               b->o.files}};
    /* confined code must not see the output */
    char *out = pdl_batch_output_target(b->o.output.path);
    char *journal = pdl_batch_output_journal(&b->o.output);
    const char *own[] = {out, journal, NULL};
    pdl_cli_say_at_interrupt("%s", words_before_rows(b));
    pdl_session_options o = {
        .program = {.file = a->files.p[0], .dir = pdl_file_folder(a->files.p[0])},
        .run.stream = PDL_STREAM_NONE,
        .files.own = a->given[OPT_output] ? own : NULL,
        .reports.debug = debug,
        .host = {.hooks = hooks, .n_hooks = sizeof hooks / sizeof *hooks},
    };
    int code = pdl_cli_each_begin(&m, a, &o);
    if (code) {
        pdl_free(out);
        pdl_free(journal);
        return 2; /* not 1, because the exit code 1 would mean that rows were begun */
    }
    if (a->given[OPT_provider_batch]) {
        b->o.provider = pdl_batch_provider_new();
        o.models.carrier = pdl_batch_provider_carrier(b->o.provider);
    }
    b->o.budget = m.budget;
    b->o.cancel = o.run.cancel;
    b->o.dir = o.program.dir;
    bool ok = pdl_cli_each_read(&m, a->files.p[0], &err);
    b->o.variables = m.variables;
    b->o.giver = m.giver;
    ok = ok && pdl_session_new(&o, &b->session, &err);
    code = ok ? run_program(b) : 2; /* no row has begun at this time */
    if (!ok) pdl_cli_print_option_error(a, &err, NULL);
    pdl_err_fini(&err);
    pdl_session_free(b->session);
    pdl_batch_provider_free(b->o.provider);
    pdl_cli_each_end(&m);
    pdl_free(out);
    pdl_free(journal);
    return code;
}

int pdl_cli_cmd_batch(const arguments *a) {
    batcher b = {.a = a};
    pdl_debug debug = {0};
    char why[PDL_DEBUG_WHY];
    if (!pdl_debug_init(&debug, getenv("PDL_DEBUG"), getenv("PDL_STRESS"), getenv("PDL_DEBUG_FILE"),
                        why))
        return pdl_cli_refuse(a, why);
    if (!a->files.n) return pdl_cli_refuse(a, "the following arguments are required: FILE");
    if (!a->given[OPT_input])
        return pdl_cli_refuse(a, "the following arguments are required: --input ROWS");
    bool to_file = a->given[OPT_output] && !pdl_str_is(a->value[OPT_output], "-");
    if (a->given[OPT_json] && !to_file && !a->given[OPT_dry_run])
        return pdl_cli_refuse(a, "--json prints the report where the rows are: --output OUT is "
                                 "required beside it");
    read_flags(&b);
    read_reports(&b);
    choose_progress(&b);
    if (a->given[OPT_allow_files]) b.o.files = pdl_batch_files_new();
    int code = read_map(&b) && read_numbers(&b) && read_tables(&b) ? open_session(&b, &debug) : 2;
    pdl_batch_files_free(b.o.files);
    pdl_vec_fini(&b.map);
    pdl_vec_fini(&b.reports);
    pdl_debug_fini(&debug);
    return code;
}
