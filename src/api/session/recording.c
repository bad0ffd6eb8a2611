/* recording.c -- opens the journal of --record and --replay, which is between a run and the worlds
 * that answer. A journal of either schema can answer a replay: a recording answers by itself, and
 * the journal of a durable run answers as a run that executes nothing new.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/session/session_impl.h"
#include "base/version.h"
#include "journal/durable.h"
#include "journal/journal.h"
#include "value/handle.h"

#include "base/banned.h"

static bool open_record(pdl_session *s, pdl_err *err) {
    static const char *const modes[] = {"--stream none", "--stream result", "--stream context"};
    pdl_journal_info info = {
        .file = s->opt.program.file,
        .version = PDL_STR(PDL_VERSION),
        .options = pdl_str_of(modes[s->opt.run.stream]),
        .secrets = s->around.secrets,
        .blocks = true,
    };
    return pdl_journal_record(s->opt.files.record, &info, &s->files.journal, err);
}

/* Opens a replay. A journal of schema 2 answers as a durable run that executes nothing new. A
 * journal of schema 1 is opened as a recording. */
static bool open_replay(pdl_session *s, pdl_err *err) {
    const pdl_session_options *o = &s->opt;
    if (pdl_durable_is(o->files.replay)) return pdl_session_open_replay(s, err);
    bool has_times = o->reports.trace || o->reports.prefix;
    return pdl_journal_replay(o->files.replay, &s->files.journal, err) &&
           (!has_times || pdl_times_read(o->files.replay, &s->reports.times, err));
}

static void use_journal(pdl_session *s) {
    pdl_journal_redact(s->files.journal, s->around.secrets);
    pdl_journal_redact_labels(s->files.journal, pdl_session_redaction(s, PDL_SINK_journal));
    pdl_journal_folder(s->files.journal, s->opt.program.dir);
    pdl_journal_debug(s->files.journal, s->opt.reports.debug);
}

bool pdl_session_open_journal(pdl_session *s, pdl_err *err) {
    if (s->opt.files.record.n && !open_record(s, err)) return false;
    if (s->opt.files.replay.n && !open_replay(s, err)) return false;
    if (s->files.journal) use_journal(s);
    return true;
}

pdl_val pdl_session_with_variables(pdl_val d, pdl_vref vars, pdl_label origin) {
    pdl_handles_made(vars, origin);
    for (size_t i = 0, n = pdl_is_dict(vars) ? pdl_dict_len(vars) : 0; i < n; i++)
        d = pdl_dict_put(d, pdl_keep(pdl_dict_key_at(vars, i)),
                         pdl_with_origin(pdl_dict_part(vars, i), origin));
    return d;
}

/* Records the program, so that a recording can be shown and traced without the program's files. */
void pdl_session_record_program(pdl_session *s) {
    if (!s->loaded.program) return;
    pdl_val vars = pdl_session_with_variables(pdl_dict_new(4), s->opt.program.variables,
                                              PDL_LABEL_data | PDL_LABEL_FREE);
    pdl_journal_put_program(s->files.journal, s->loaded.program->source->text, vars);
    pdl_drop(vars);
    pdl_session_record_policies(s);
}
