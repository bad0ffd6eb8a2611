/* shared_options.c -- the options that all commands that run programs share: limits and logs of
 * model calls, the files with their answers, sandboxes, and policies. Each of these commands must
 * treat such an option in the same way, so they are read in one function, into the options of a
 * session.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/termsafe.h"
#include "cli/cli.h"
#include "io/file.h"

#include "base/banned.h"

static int refuse_with(const arguments *a, const char *name, const char *why) {
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "argument --%s: %s", name, why);
    int code = pdl_cli_refuse(a, pdl_buf_z(&b));
    pdl_buf_fini(&b);
    return code;
}

bool pdl_cli_read_whole(const arguments *a, opt_id id, int64_t least, int64_t most, int64_t *out) {
    int64_t n;
    pdl_buf why = PDL_BUF;
    if (!a->given[id]) return true;
    bool ok = pdl_num_read_int(a->value[id], &n) && n >= least && n <= most;
    if (ok) {
        *out = n;
        return true;
    }
    pdl_buf_putf(&why, "expected a whole number from %lld ", (long long)least);
    if (most == INT64_MAX)
        PDL_PUT(&why, "up");
    else
        pdl_buf_putf(&why, "to %lld", (long long)most);
    if (id == OPT_pass) PDL_PUT(&why, " (the N of --samples)");
    (void)refuse_with(a, pdl_cli_option_of(id)->name, pdl_buf_z(&why));
    pdl_buf_fini(&why);
    return false;
}

/* Reads --jobs, the maximum number of open calls of a run, or of open rows of a batch. */
static bool read_jobs(const arguments *a, uint32_t *jobs) {
    int64_t n = 0;
    *jobs = 0;
    if (!a->given[OPT_jobs]) return true;
    if (!pdl_num_read_int(a->value[OPT_jobs], &n) || n < 1 || n > PDL_MAX_MAP_WORKERS) return false;
    *jobs = (uint32_t)n;
    return true;
}

/* Raises the limit of descriptors as far as the system allows, since every open call has a
 * connection. Then reduces the number of calls to that limit. */
static void make_room(uint32_t *jobs) {
    enum { OTHERS = 64 }; /* number of descriptors that files, the worker and the loop need */
    struct rlimit files;
    rlim_t need = (rlim_t)*jobs + OTHERS;
    if (!*jobs || getrlimit(RLIMIT_NOFILE, &files) != 0) return;
    if (files.rlim_cur < need) {
        files.rlim_cur = files.rlim_max < need ? files.rlim_max : need;
        if (setrlimit(RLIMIT_NOFILE, &files) != 0 && getrlimit(RLIMIT_NOFILE, &files) != 0) return;
    }
    if (files.rlim_cur < need)
        *jobs = files.rlim_cur > 2 * OTHERS ? (uint32_t)(files.rlim_cur - OTHERS) : OTHERS;
}

static bool read_rate(const arguments *a, opt_id id, double *out) {
    return !a->given[id] || (pdl_num_read_double(a->value[id], out) && *out > 0 && *out <= 1e12);
}

static void write_wire(void *user, pdl_str text) {
    shared_options *l = user;
    if (l->wire_failed || (pdl_write_termsafe(l->wire, text) && fflush(l->wire) == 0)) return;
    l->wire_failed = true;
    pdl_cli_note("pdl: warning: the log of requests %.*s is not complete: %s",
                 PDL_FMT(l->wire_name), strerror(errno));
}

/* Opens a file that only its owner can read, from the moment when it is made. */
static FILE *open_private(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (fd >= 0 && !f) close(fd);
    return f;
}

/* Opens the file of --wire. When the file cannot be written, the exit code is 1 and not 2, as for
 * --output, because the command line is correct. */
static int open_wire(const arguments *a, shared_options *l) {
    pdl_err err = {0};
    if (!a->given[OPT_wire]) return 0;
    char *path = pdl_str_dup(a->value[OPT_wire]);
    l->wire_name = a->value[OPT_wire];
    l->wire = strcmp(path, "-") == 0 ? stderr : open_private(path);
    int code = l->wire ? 0 : 1;
    if (code) {
        (void)pdl_file_errno(&err, errno, path);
        pdl_cli_print_option_error(a, &err, NULL);
    }
    pdl_err_fini(&err);
    pdl_free(path);
    return code;
}

static void note_text(void *user, pdl_str text) {
    (void)user;
    pdl_cli_note("pdl: %.*s", PDL_FMT(text));
}

/* Copies the options that need no conversion. An option that the command does not have is never
 * set, so it needs no test. */
static void take_options(const arguments *a, pdl_session_options *o) {
    o->files.cache = a->value[OPT_cache];
    o->models.timeouts = a->given[OPT_timeout] ? a->value[OPT_timeout].p : NULL;
    o->models.prefix.marks =
        a->given[OPT_cache_marks] && pdl_str_is(a->value[OPT_cache_marks], "auto");
    o->models.prefix.first = a->given[OPT_prefix_first];
    o->guards.sandbox = pdl_cli_sandbox_profile(a);
    o->guards.no_sandbox = a->given[OPT_no_sandbox];
    o->guards.sandbox_process =
        a->given[OPT_sandbox_min] && pdl_str_is(a->value[OPT_sandbox_min], "process");
    o->reports.note = note_text;
    o->guards.policies = a->policies.p;
    o->guards.n_policies = a->policies.n;
    o->telemetry.collector = a->value[OPT_otlp];
    o->telemetry.content = a->given[OPT_otlp_content];
    o->telemetry.all = a->given[OPT_otlp_all];
    o->telemetry.note = note_text;
    o->run.cancel = pdl_cli_signal_received();
}

bool pdl_cli_can_open(const arguments *a, const pdl_session_options *o) {
    pdl_session *s = NULL;
    pdl_err err = {0};
    bool ok = pdl_session_new(o, &s, &err);
    if (!ok) pdl_cli_print_option_error(a, &err, NULL);
    pdl_session_free(s);
    pdl_err_fini(&err);
    return ok;
}

/* Adds the files that options name to the lists of files that confined code must not see, or must
 * not change. */
static void mask_files(const arguments *a, shared_options *l, pdl_session_options *o) {
    pdl_cli_written_files(a, &l->written);
    char *journal = a->given[OPT_durable] ? pdl_cli_journal_hidden(a) : NULL;
    if (journal) *pdl_vec_push(&l->written) = journal;
    const char *debug = getenv("PDL_DEBUG_FILE");
    if (debug && *debug) *pdl_vec_push(&l->written) = pdl_str_dup(pdl_str_of(debug));
    /* the token file is not written by the command, but it contains a key */
    if (a->given[OPT_token_file])
        *pdl_vec_push(&l->written) = pdl_str_dup(a->value[OPT_token_file]);
    for (const char *const *f = o->files.own; f && *f; f++) *pdl_vec_push(&l->own) = *f;
    for (size_t i = 0; i < l->written.n; i++) *pdl_vec_push(&l->own) = l->written.p[i];
    *pdl_vec_push(&l->own) = NULL;
    o->files.own = l->own.p;
    pdl_cli_input_files(a, &l->inputs);
    *pdl_vec_push(&l->inputs) = NULL;
    o->files.inputs = (const char *const *)l->inputs.p;
}

int pdl_cli_shared_options_read(const arguments *a, shared_options *l, pdl_session_options *o) {
    static const char rate[] = "expected a number greater than 0";
    pdl_err err = {0};
    if (!read_jobs(a, &o->run.jobs))
        return refuse_with(a, "jobs", "expected a whole number from 1 up");
    make_room(&o->run.jobs);
    if (!read_rate(a, OPT_max_rps, &o->models.rates.requests_per_second))
        return refuse_with(a, "max-rps", rate);
    if (!read_rate(a, OPT_max_tpm, &o->models.rates.tokens_per_minute))
        return refuse_with(a, "max-tokens-per-minute", rate);
    if (a->given[OPT_timeout] && !a->value[OPT_timeout].n)
        return refuse_with(a, "timeout", "expected seconds, or connect=S,first=S,idle=S,total=S");
    if (a->given[OPT_budget] && !pdl_budget_read(a->value[OPT_budget], l->budget, &err)) {
        pdl_buf text = PDL_BUF;
        pdl_buf_putf(&text, "%s%s%s", err.msg, err.hint ? "\n  " : "", err.hint ? err.hint : "");
        int code = refuse_with(a, "budget", pdl_buf_z(&text));
        pdl_buf_fini(&text);
        pdl_err_fini(&err);
        return code;
    }
    if (open_wire(a, l) != 0) return 1;
    take_options(a, o);
    mask_files(a, l, o);
    o->run.budget = a->given[OPT_budget] ? l->budget : NULL;
    o->models.prices = a->value[OPT_prices];
    o->models.wire = l->wire ? write_wire : NULL;
    o->models.wire_user = l;
    return 0;
}

void pdl_cli_shared_options_fini(shared_options *l) {
    if (l->wire && l->wire != stderr) fclose(l->wire);
    l->wire = NULL;
    for (size_t i = 0; i < l->written.n; i++) pdl_free(l->written.p[i]);
    pdl_vec_fini(&l->written);
    for (size_t i = 0; i < l->inputs.n; i++) pdl_free(l->inputs.p[i]);
    pdl_vec_fini(&l->inputs);
    pdl_vec_fini(&l->own);
}
