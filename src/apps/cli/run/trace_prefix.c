/* trace_prefix.c -- pdl trace --prefix: replays a run to compare the beginnings of its model calls;
 * see prefix_report.h. No effect is executed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/prefix_report.h"
#include "cli/run_surroundings.h"
#include "cli/search_again.h"

#include "base/plural.h"
#include "io/file.h"
#include "journal/journal.h"
#include "value/int.h"
#include "value/json_write.h"
#include "value/member.h"
#include "value/text.h"

#include "base/banned.h"

/* --- as text ---------------------------------------------------------------------------------- */

static int64_t number(pdl_vref d, const char *name) {
    int64_t n;
    return pdl_is_dict(d) && pdl_int_get(pdl_dict_getz(d, name), &n) ? n : -1;
}

static int percent(int64_t part, int64_t whole) {
    return whole > 0 ? (int)(part * 100 / whole) : 0;
}

static void put_differs(pdl_vref d, pdl_buf *out) {
    pdl_str variable = pdl_member_str(d, "variable"), file = pdl_member_str(d, "file");
    int64_t message = number(d, "message"), line = number(d, "line"), used = number(d, "used");
    if (message >= 0)
        pdl_buf_putf(out, "  differs in message %lld at byte %lld", (long long)message,
                     (long long)number(d, "byte"));
    else
        pdl_buf_putf(out, "  differs before the messages, at byte %lld",
                     (long long)number(d, "byte"));
    pdl_buf_putf(out, ": %.*s", PDL_FMT(pdl_member_str(d, "origin")));
    if (variable.n) pdl_buf_putf(out, ", `%.*s`", PDL_FMT(variable));
    if (file.n) pdl_buf_putf(out, ", made in %.*s:%lld", PDL_FMT(file), (long long)line);
    if (used > 0 && used != line) pdl_buf_putf(out, ", put in at line %lld", (long long)used);
    PDL_PUT(out, "\n");
}

static void put_lost(pdl_vref lost, pdl_buf *out) {
    pdl_vref cost = pdl_dict_getz(lost, "cost");
    pdl_buf_putf(out, "lost: about %lld tokens", (long long)number(lost, "tokens"));
    if (pdl_is(cost, PDL_V_FLOAT)) pdl_buf_putf(out, ", $%.6g", pdl_float_of(cost));
}

static void put_seconds(int64_t s, pdl_buf *out) {
    static const struct {
        int64_t seconds;
        const char *name;
    } units[] = {{86400, "day"}, {3600, "hour"}, {60, "minute"}, {1, "second"}};
    size_t i = 0;
    while (i + 1 < sizeof units / sizeof *units && (s < units[i].seconds || s % units[i].seconds))
        i++;
    int64_t n = s / units[i].seconds;
    pdl_buf_putf(out, "%lld %s%s", (long long)n, units[i].name, PDL_PLURAL(n));
}

static void put_expired(pdl_vref e, pdl_buf *out) {
    pdl_vref seconds = pdl_dict_getz(e, "seconds"), cost = pdl_dict_getz(e, "cost");
    pdl_str remedy = pdl_member_str(e, "remedy");
    pdl_buf_putf(out, "  expired: last used %.0f s before, and kept for ", pdl_float_of(seconds));
    put_seconds(number(e, "kept"), out);
    pdl_buf_putf(out, "; lost: about %lld tokens", (long long)number(e, "tokens"));
    if (pdl_is(cost, PDL_V_FLOAT)) pdl_buf_putf(out, ", $%.6g", pdl_float_of(cost));
    if (remedy.n)
        pdl_buf_putf(out, "; %.*s would have kept it\n", PDL_FMT(remedy));
    else
        PDL_PUT(out, "; no longer time that is known would have kept it\n");
}

static void put_call(pdl_vref c, pdl_buf *out) {
    pdl_vref shared = pdl_dict_getz(c, "shared"), with = pdl_dict_getz(shared, "call"),
             differs = pdl_dict_getz(c, "differs"), lost = pdl_dict_getz(c, "lost");
    int64_t bytes = number(c, "bytes"), found = number(c, "cached_tokens");
    pdl_buf_putf(out, "call %lld: %.*s:%lld %.*s: ", (long long)number(c, "call"),
                 PDL_FMT(pdl_member_str(c, "file")), (long long)number(c, "line"),
                 PDL_FMT(pdl_member_str(c, "place")));
    if (pdl_is_null(with))
        pdl_buf_putf(out, "%lld bytes, the first of its kind", (long long)bytes);
    else
        pdl_buf_putf(out, "prefix %d %%, %lld of %lld bytes and %lld whole messages, shared with ",
                     percent(number(shared, "bytes"), bytes), (long long)number(shared, "bytes"),
                     (long long)bytes, (long long)number(shared, "messages"));
    if (pdl_is_str(with))
        pdl_buf_putf(out, "the other run");
    else if (!pdl_is_null(with))
        pdl_buf_putf(out, "call %lld", (long long)number(shared, "call"));
    if (found >= 0) pdl_buf_putf(out, "; the service found %lld tokens", (long long)found);
    PDL_PUT(out, "\n");
    if (pdl_is_dict(differs)) put_differs(differs, out);
    if (pdl_is_dict(pdl_dict_getz(c, "expired"))) put_expired(pdl_dict_getz(c, "expired"), out);
    if (number(lost, "tokens") <= 0) return;
    PDL_PUT(out, "  ");
    put_lost(lost, out);
    pdl_buf_putf(out, "; %.*s\n", PDL_FMT(pdl_member_str(c, "remedy")));
}

static void put_origins(pdl_vref by, pdl_buf *out) {
    for (size_t i = 0; pdl_is_dict(by) && i < pdl_dict_len(by); i++)
        pdl_buf_putf(out, "%s%.*s %lld", i ? ", " : " (",
                     PDL_FMT(pdl_str_get(pdl_dict_key_at(by, i))),
                     (long long)pdl_int_of(pdl_dict_val_at(by, i)));
    if (pdl_is_dict(by) && pdl_dict_len(by)) PDL_PUT(out, ")");
}

static void put_expired_total(pdl_vref e, pdl_buf *out) {
    int64_t calls = number(e, "calls");
    pdl_vref cost = pdl_dict_getz(e, "cost");
    if (calls <= 0) return;
    pdl_buf_putf(out, "; expired: about %lld tokens", (long long)number(e, "tokens"));
    if (pdl_is(cost, PDL_V_FLOAT)) pdl_buf_putf(out, ", $%.6g", pdl_float_of(cost));
    pdl_buf_putf(out, " in %lld call%s", (long long)calls, PDL_PLURAL(calls));
}

void pdl_cli_put_prefixes(pdl_vref report, pdl_buf *out) {
    pdl_vref calls = pdl_dict_getz(report, "calls"), t = pdl_dict_getz(report, "total"),
             lost = pdl_dict_getz(t, "lost");
    for (size_t i = 0; i < pdl_list_len(calls); i++) put_call(pdl_list_at(calls, i), out);
    if (!pdl_list_len(calls)) {
        PDL_PUT(out, "no call of a model is known\n");
        return;
    }
    pdl_buf_putf(out, "total: %lld call%s, %lld bytes, %d %% shared", (long long)number(t, "calls"),
                 PDL_PLURAL(number(t, "calls")), (long long)number(t, "bytes"),
                 percent(number(t, "shared_bytes"), number(t, "bytes")));
    if (number(t, "cached_tokens") >= 0)
        pdl_buf_putf(out, ", %lld tokens found by the service",
                     (long long)number(t, "cached_tokens"));
    PDL_PUT(out, "; ");
    put_lost(lost, out);
    put_origins(pdl_dict_getz(lost, "by_origin"), out);
    put_expired_total(pdl_dict_getz(t, "expired"), out);
    PDL_PUT(out, "\n");
}

/* --- replays ---------------------------------------------------------------------------------- */

static pdl_session_options options_of(const arguments *a, pdl_prefix *p, pdl_str file) {
    return (pdl_session_options){
        .program = {.file = file, .dir = pdl_file_folder(file)},
        .run = {.stream = PDL_STREAM_RESULT, .cancel = pdl_cli_signal_received()},
        .models.prices = a->value[OPT_prices],
        .reports = {.prefix = p, .labels = true, .all_blocks = true},
    };
}

/* Runs the loaded program of s with the answers in its journal. *out gets the report. */
static void replay(pdl_session *s, pdl_prefix *p, pdl_val *out) {
    if (pdl_session_run(s) == PDL_STEP_WAIT) pdl_session_stop(s);
    pdl_drop(*out);
    *out = pdl_prefix_report(p);
}

static bool replay_run(const arguments *a, pdl_str path, pdl_prefix *p, pdl_val *out,
                       pdl_err *err) {
    pdl_durable *run = NULL;
    pdl_session *s = NULL;
    pdl_val inputs = pdl_absent();
    if (!pdl_durable_open(path, PDL_DURABLE_SHOW, false, false, &run, err)) return false;
    if (!pdl_cli_is_one_run(run, err)) {
        pdl_durable_close(run);
        return false;
    }
    const pdl_durable_facts *f = pdl_durable_get_facts(run);
    pdl_session_options o = options_of(a, p, f->file);
    o.files.offline = true;
    pdl_buf prices = PDL_BUF; /* its name is relative to the command's folder, not the run's */
    pdl_cli_put_file(a, OPT_prices, &prices);
    o.models.prices = pdl_buf_str(&prices);
    run_surroundings around;
    bool ok = pdl_cli_enter_run(f, &around, &o, err) && pdl_session_new(&o, &s, err);
    ok = ok && pdl_cli_recording_load(s, f->text, err) &&
         pdl_session_resume_durable(s, run, &(pdl_durable_options){0}, pdl_absent(), &inputs, err);
    if (ok) replay(s, p, out);
    pdl_session_free(s);
    pdl_cli_leave_run(&around);
    pdl_buf_fini(&prices);
    pdl_drop(inputs);
    pdl_durable_close(run);
    return ok;
}

static bool replay_recording(const arguments *a, pdl_str path, pdl_prefix *p, pdl_val *out,
                             pdl_err *err) {
    pdl_journal_program program;
    pdl_session *s = NULL;
    if (!pdl_cli_recording_open(NULL, path, (pdl_str){0}, &program, err)) return false;
    pdl_session_options o = options_of(a, p, pdl_buf_str(&program.file));
    o.program.variables = program.inputs;
    o.guards.recorded = program.policies;
    o.files.replay = path;
    bool ok =
        pdl_session_new(&o, &s, err) && pdl_cli_recording_load(s, pdl_buf_str(&program.text), err);
    if (ok) replay(s, p, out);
    pdl_session_free(s);
    pdl_journal_program_fini(&program);
    return ok;
}

bool pdl_cli_prefix_report(const arguments *a, pdl_str name, pdl_prefix *p, pdl_val *out,
                           pdl_err *err) {
    return pdl_journal_is(name) ? replay_recording(a, name, p, out, err)
                                : replay_run(a, name, p, out, err);
}

static int print(const arguments *a, pdl_vref report) {
    pdl_buf out = PDL_BUF;
    pdl_err err = {0};
    if (!a->given[OPT_json]) {
        pdl_cli_put_prefixes(report, &out);
    } else if (pdl_json_write(report, PDL_JSON_SPACED | PDL_JSON_LOOSE, 0, &out, &err)) {
        PDL_PUT(&out, "\n");
    } else {
        pdl_cli_print_error(&err, NULL);
        pdl_err_fini(&err);
        return 1;
    }
    int code = pdl_cli_put_stdout(pdl_buf_str(&out));
    pdl_buf_fini(&out);
    return code;
}

int pdl_cli_trace_prefix(const arguments *a) {
    pdl_err err = {0};
    pdl_prefix *p = pdl_prefix_new(true);
    pdl_val report = pdl_absent();
    bool ok = true;
    for (size_t i = 0; ok && i < a->files.n; i++) {
        char *path = NULL;
        ok = pdl_cli_durable_path(a->files.p[i], &path, &err);
        pdl_str name = pdl_str_of(path ? path : "");
        ok = ok && pdl_cli_prefix_report(a, name, p, &report, &err);
        pdl_free(path);
    }
    int code = ok ? print(a, report) : err.kind == PDL_E_usage ? 2 : 1;
    if (!ok) pdl_cli_print_error(&err, NULL);
    pdl_err_fini(&err);
    pdl_drop(report);
    pdl_prefix_free(p);
    return code;
}
