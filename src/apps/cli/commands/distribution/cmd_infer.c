/* cmd_infer.c -- pdl infer FILE: runs a program many times, and prints its results as a
 * distribution. It reads the options, calls apps/infer, and prints the distribution as bars or as
 * JSON. A durable inference also gets a journal, from which `pdl resume` continues it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cli.h"
#include "cli/each_run.h"
#include "cli/infer_options.h"
#include "cli/rows_line.h"
#include "cli/run_output.h"
#include "cli/search_again.h"
#include "io/file.h"
#include "value/json_write.h"
#include "value/text.h"

#include "base/banned.h"

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
    rows_line line;
    durable_command *durable; /* the journal of the inference; NULL when it is not durable */
    term term;                /* the terminal on which a durable run asks */
} inferrer;

static void on_opened(void *user, pdl_session *s) {
    inferrer *n = user;
    n->signals = pdl_cli_watch_signals(pdl_session_loop(s), on_signal, NULL);
}

static void on_closing(void *user) {
    inferrer *n = user;
    pdl_signals_stop(n->signals);
}

static bool on_ended(void *user, pdl_vref distribution, pdl_err *err) {
    inferrer *n = user;
    return pdl_durable_put_result(n->durable->run, distribution, err);
}

/* Makes the journal of a durable inference. When an inference continues, uses its journal. */
static bool on_attach(void *user, pdl_session *s, pdl_err *err) {
    inferrer *n = user;
    durable_command *l = n->durable;
    bool resumes = l->resumes;
    l->seed = n->o.seed;
    l->term = &n->term;
    if (resumes && !pdl_cli_infer_is_unchanged(l, n->o.text, err)) return false;
    if (resumes) {
        if (!pdl_cli_durable_resume(l, n->a, s, pdl_absent(), err)) return false;
        n->o.variables = l->inputs;
        return true;
    }
    if (!pdl_cli_durable_begin(l, n->a, s, n->o.text, n->o.variables, err)) return false;
    pdl_cli_note("pdl: if it is interrupted: pdl resume %s", l->is_listed ? l->id : l->path);
    return true;
}

static void on_tick(void *user, const pdl_infer_progress *p) {
    inferrer *n = user;
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%llu of %llu runs ended", (unsigned long long)p->ended,
                 (unsigned long long)p->n);
    if (p->held) pdl_buf_putf(&b, ", %llu at a factor", (unsigned long long)p->held);
    PDL_PUT(&b, ", ");
    pdl_cli_put_count(&b, (uint64_t)p->calls, "call", "calls");
    if (p->cost > 0) pdl_buf_putf(&b, ", cost %.4g", p->cost);
    PDL_PUT(&b, ", ");
    pdl_cli_put_time(&b, p->seconds);
    pdl_cli_rows_line_put(&n->line, pdl_buf_str(&b), p->seconds);
    pdl_buf_fini(&b);
}

static bool refuse_workers(const inferrer *n, bool is_parallel) {
    const char *algorithm = pdl_infer_algorithm_name(n->o.algorithm);
    pdl_buf b = PDL_BUF;
    if (n->a->given[OPT_workers] && !is_parallel)
        pdl_buf_putf(&b,
                     "-w/--workers has no effect with --algo %s: give --algo parallel-%s, "
                     "or --jobs",
                     algorithm, algorithm);
    else if (n->a->given[OPT_workers] && n->a->given[OPT_jobs])
        PDL_PUT(&b, "-w/--workers and --jobs exclude each other");
    bool refused = b.len;
    if (refused) (void)pdl_cli_refuse(n->a, pdl_buf_z(&b));
    pdl_buf_fini(&b);
    return refused;
}

static bool read_options(inferrer *n) {
    bool is_parallel = false;
    pdl_infer_options *o = &n->o;
    if (!pdl_cli_infer_options_read(n->a, OPT_algo, OPT_infer_seed, o, &is_parallel) ||
        refuse_workers(n, is_parallel))
        return false;
    if (n->durable && n->durable->has_seed) o->seed = n->durable->seed;
    o->file = n->a->files.p[0];
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

/* Reads the program. When an inference continues and its file is gone, the text is taken from the
 * journal. */
static bool read_text(const inferrer *n, pdl_buf *text, pdl_err *err) {
    pdl_str file = n->a->files.p[0];
    char *path = pdl_str_dup(file);
    bool is_gone = n->durable && n->durable->resumes && pdl_file_kind_of(path) != PDL_FILE_REGULAR;
    pdl_free(path);
    return is_gone ? pdl_buf_add(text, pdl_durable_get_facts(n->durable->run)->text, err)
                   : pdl_cli_read_program(file, text, err);
}

/* An error of a run is not about an option, even when it contains a word that is the value of an
 * option. */
static void print_error(const arguments *a, const pdl_err *err) {
    bool is_of_options =
        err->kind == PDL_E_usage || err->kind == PDL_E_config || err->kind == PDL_E_io;
    if (is_of_options)
        pdl_cli_print_option_error(a, err, NULL);
    else
        pdl_cli_print_error(err, NULL);
}

static int infer(inferrer *n) {
    const arguments *a = n->a;
    each_run m;
    pdl_err err = {0};
    pdl_val result = pdl_absent();
    pdl_session_options *so = &n->o.session;
    pdl_buf text = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE);
    int64_t workers = 0;
    if (!pdl_cli_read_whole(a, OPT_workers, 1, PDL_MAX_MAP_WORKERS, &workers)) return 2;
    int code = pdl_cli_each_begin(&m, a, so);
    if (code) return code;
    if (workers) so->run.jobs = (uint32_t)workers;
    so->files.record = n->durable ? (pdl_str){0} : a->value[OPT_record];
    so->files.replay = a->value[OPT_replay];
    if (n->durable && n->durable->resumes) {
        so->guards.policies = n->durable->guards.policies.p;
        so->guards.n_policies = n->durable->guards.policies.n;
    }
    bool ok = pdl_cli_each_read(&m, a->files.p[0], &err) && read_text(n, &text, &err);
    n->o.budget = m.budget;
    n->o.variables = m.variables;
    n->o.text = pdl_buf_str(&text);
    n->o.tick_ms = pdl_cli_rows_line_init(&n->line, a);
    n->o.tick = n->o.tick_ms ? on_tick : NULL;
    ok = ok && pdl_infer_run(&n->o, &result, NULL, &err);
    pdl_cli_rows_line_clear(&n->line);
    if (!pdl_is_absent(result)) code = print(n, result, ok);
    if (!ok) {
        code = pdl_cli_each_code(&err);
        print_error(a, &err);
    }
    pdl_err_fini(&err);
    if (!pdl_is_absent(result)) pdl_drop(result);
    pdl_buf_fini(&text);
    pdl_cli_each_end(&m);
    return code;
}

/* Refuses options that exclude each other. Returns the exit code, or -1 when no option is
 * refused. */
static int refuse(const arguments *a) {
    static const opt_id durable[] = {OPT_id, OPT_sync, OPT_COUNT};
    if (a->given[OPT_record] && a->given[OPT_replay])
        return pdl_cli_refuse(a, "--record and --replay exclude each other");
    if (a->given[OPT_durable] && a->given[OPT_replay])
        return pdl_cli_refuse(a, "--durable and --replay exclude each other");
    return pdl_cli_refuse_undurable(a, durable);
}

int pdl_cli_cmd_infer(const arguments *a) {
    inferrer n = {.a = a};
    durable_command begun = {.inputs = pdl_absent()};
    if (a->given[OPT_version]) return pdl_cli_cmd_version(a);
    if (!a->files.n) return pdl_cli_refuse(a, "the following arguments are required: FILE");
    int code = refuse(a);
    if (code >= 0) return code;
    if (a->given[OPT_durable]) n.durable = a->inference ? a->inference : &begun;
    if (n.durable == &begun) pdl_cli_say_at_interrupt(PDL_CLI_NOT_BEGUN);
    n.o.attach = n.durable ? on_attach : NULL;
    n.o.ended = on_ended;
    code = read_options(&n) ? infer(&n) : 2;
    pdl_cli_durable_fini(&begun);
    return code;
}
