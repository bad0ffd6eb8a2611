/* recorded.c -- makes a durable run from a recording; see recorded.h.
 *
 * A recording has no options, and may lack the program and the inputs; its run cannot be continued.
 * So the program runs once with the recorded answers, as in a replay, and a durable run keeps the
 * answers. All other code then handles only durable runs. The run stops where the recording ends or
 * differs from the program; the error at that place is not stored as an answer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/recorded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/file.h"
#include "journal/journal.h"
#include "journal/runs.h"

#include "base/banned.h"

static bool make_place(recorded *r, pdl_err *err) {
    const char *tmp = getenv("TMPDIR");
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%s/pdl-view-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    char *folder = pdl_buf_take(&b);
    if (!mkdtemp(folder)) {
        pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "cannot create a folder in %s: %s",
                    tmp && *tmp ? tmp : "/tmp", strerror(errno));
        pdl_free(folder);
        return false;
    }
    r->folder = folder;
    pdl_buf_putf(&b, "%s/recording.journal", folder);
    r->journal = pdl_buf_take(&b);
    return true;
}

/* Returns the arguments of the durable run that is made from the recording. *file is the
 * program. */
static arguments arguments_of(const arguments *a, const recorded *r, pdl_str recording,
                              pdl_str *file) {
    arguments own = *a;
    pdl_str name = pdl_file_name(recording);
    own.files.p = file;
    own.files.n = 1;
    own.given[OPT_record] = own.given[OPT_id] = own.given[OPT_sync] = true;
    own.value[OPT_record] = pdl_str_of(r->journal);
    own.value[OPT_id] = pdl_runs_is_id(name) ? name : PDL_STR("recording");
    own.value[OPT_sync] = PDL_STR("process");
    return own;
}

static bool run(pdl_session *s, durable_command *l, pdl_err *err) {
    pdl_session_run(s);
    const pdl_err *why = pdl_run_error(pdl_session_get(s));
    return pdl_durable_finish(l->run, why->kind ? why : NULL, err);
}

bool pdl_cli_recorded_open(const arguments *a, pdl_str recording, pdl_str file, pdl_str text,
                           recorded *out, pdl_err *err) {
    pdl_session_options o = {
        .program = {.file = file, .dir = pdl_file_folder(file)},
        .run = {.stream = PDL_STREAM_RESULT, .cancel = pdl_cli_signal_received()},
        .files.replay = recording,
    };
    durable_command l = {.inputs = pdl_absent()};
    pdl_session *s = NULL;
    pdl_journal_program p;
    *out = (recorded){0};
    if (!make_place(out, err)) return false;
    arguments own = arguments_of(a, out, recording, &file);
    if (!pdl_cli_recording_open(a, recording, file, &p, err)) return false;
    o.program.variables = p.inputs;
    o.guards.recorded = out->policies = pdl_keep(p.policies);
    bool ok = pdl_session_new(&o, &s, err) && pdl_cli_recording_load(s, text, err) &&
              pdl_cli_durable_begin(&l, &own, s, text, p.inputs, err) && run(s, &l, err);
    pdl_session_free(s);
    pdl_cli_durable_fini(&l);
    pdl_journal_program_fini(&p);
    return ok && pdl_durable_forget_unanswered(pdl_str_of(out->journal), err);
}

void pdl_cli_recorded_fini(recorded *r) {
    pdl_err ignored = {0};
    if (r->journal && !pdl_durable_remove(pdl_str_of(r->journal), &ignored)) pdl_err_fini(&ignored);
    if (r->folder) (void)rmdir(r->folder);
    pdl_free(r->journal);
    pdl_free(r->folder);
    pdl_drop(r->policies);
    *r = (recorded){0};
}
