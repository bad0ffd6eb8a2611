/* recorded_trace.c -- makes traces of recordings of --record. The program is run again, its effects
 * are answered from the recording, and no real effect is executed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/session.h"
#include "cli/cli.h"
#include "io/file.h"
#include "journal/journal.h"
#include "viewer/viewer.h"

#include "base/banned.h"

/* Reads the program in its present state. */
static bool read_source(pdl_str source, pdl_journal_program *p, pdl_err *err) {
    char *path = pdl_str_dup(source);
    pdl_buf_clear(&p->text);
    pdl_buf_clear(&p->file);
    pdl_buf_put(&p->file, source);
    bool ok = pdl_file_read(path, &p->text, err);
    pdl_free(path);
    return ok;
}

/* Replaces inputs of the recording by the inputs that are given. */
static bool take_inputs(const arguments *a, pdl_journal_program *p, pdl_err *err) {
    bool given = a->given[OPT_data] || a->given[OPT_data_file];
    if (!given && pdl_is_dict(p->inputs)) return true;
    pdl_drop(p->inputs);
    return pdl_cli_read_data(a, &p->inputs, err);
}

bool pdl_cli_recording_open(const arguments *a, pdl_str journal, pdl_str source,
                            pdl_journal_program *out, pdl_err *err) {
    if (!pdl_journal_read_program(journal, out, err)) return false;
    bool ok = (!source.n || read_source(source, out, err)) && (!a || take_inputs(a, out, err));
    if (ok && !source.n && !out->text.len)
        ok = pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                         "%.*s is a recording that holds no program: pdl view --source FILE names "
                         "it, pdl --replay -t runs it",
                         PDL_FMT(journal));
    if (!ok) pdl_journal_program_fini(out);
    return ok;
}

bool pdl_cli_recording_load(pdl_session *s, pdl_str text, pdl_err *err) {
    const pdl_program *program;
    if (pdl_session_load(s, text, &program)) return true;
    pdl_cli_print_load_errors(program, s);
    return pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "the program of the recording cannot be read");
}

bool pdl_cli_recording_trace(const pdl_journal_program *p, pdl_str journal, const trace_wish *w,
                             pdl_err *err) {
    pdl_str file = pdl_buf_str(&p->file);
    pdl_session_options o = {
        .program = {.file = file, .dir = pdl_file_folder(file), .variables = p->inputs},
        .run = {.stream = PDL_STREAM_RESULT, .cancel = pdl_cli_signal_received()},
        .files.replay = journal,
        .guards.recorded = p->policies,
        .reports = {.trace = true, .trace_whole = w->whole, .trace_recorded = true, .labels = true},
    };
    pdl_session *s;
    if (w->files) pdl_view_files_listen(w->files, &o.reports.sink);
    if (!pdl_session_new(&o, &s, err)) return false;
    bool ok = pdl_cli_recording_load(s, pdl_buf_str(&p->text), err);
    if (ok) {
        pdl_session_run(s);
        ok = pdl_session_trace(s, w->put, w->user, err);
    }
    pdl_session_free(s);
    return ok;
}

bool pdl_cli_recording_view(const arguments *a, pdl_str journal, pdl_str source, pdl_view_run **out,
                            pdl_err *err) {
    pdl_journal_program p;
    pdl_buf trace = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE);
    if (!pdl_cli_recording_open(a, journal, source, &p, err)) return false;
    bool edited = a && a->given[OPT_view_run];
    pdl_view_program shown = {pdl_buf_str(&p.file),
                              pdl_buf_str(&p.text),
                              pdl_view_files_open,
                              pdl_view_files_new(),
                              edited ? NULL : pdl_session_redact_program,
                              false};
    const trace_wish wish = {.files = shown.user, .put = pdl_fold_put_buf, .user = &trace};
    bool ok = pdl_cli_recording_trace(&p, journal, &wish, err) &&
              pdl_view_run_new(journal, pdl_buf_str(&trace), &shown, out, err);
    pdl_view_files_free(shown.user);
    pdl_buf_fini(&trace);
    pdl_journal_program_fini(&p);
    return ok;
}
