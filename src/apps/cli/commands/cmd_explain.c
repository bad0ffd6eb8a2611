/* cmd_explain.c -- pdl explain FILE: shows what a program would send to models, without sending it.
 * Calls get no answers, so the run ends where it needs an answer. Places that the run did not reach
 * are listed, each with the call whose reply is needed to reach it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/plural.h"
#include "cli/bound_text.h"
#include "cli/cli.h"
#include "cli/prefix_report.h"
#include "infer/infer.h"
#include "value/int.h"
#include "value/json_write.h"
#include "value/member.h"
#include "value/text.h"

#include "base/banned.h"

static void put_json(pdl_vref v, pdl_buf *out) {
    pdl_err err = {0};
    if (pdl_json_write(v, PDL_JSON_SPACED | PDL_JSON_LOOSE, 0, out, &err)) return;
    pdl_buf_putf(out, "(%s)", err.msg);
    pdl_err_fini(&err);
}

static void put_place(pdl_vref d, pdl_buf *out) {
    int64_t line = 0;
    pdl_vref v = pdl_dict_getz(d, "line");
    if (pdl_is(v, PDL_V_INT)) line = pdl_int_of(v);
    pdl_buf_putf(out, "%.*s:%lld", PDL_FMT(pdl_member_str(d, "file")), (long long)line);
}

/* Appends a text. All its lines after the first begin with `indent`. */
static void put_indented(pdl_str text, const char *indent, pdl_buf *out) {
    for (size_t i = 0; i < text.n; i++) {
        pdl_buf_putc(out, text.p[i]);
        if (text.p[i] == '\n') pdl_buf_put(out, pdl_str_of(indent));
    }
    pdl_buf_putc(out, '\n');
}

static void put_messages(pdl_vref list, pdl_buf *out) {
    if (!pdl_is_list(list)) return;
    PDL_PUT(out, "  messages:\n");
    for (size_t i = 0; i < pdl_list_len(list); i++) {
        pdl_vref m = pdl_list_at(list, i);
        pdl_str role = pdl_member_str(m, "role"), content = pdl_member_str(m, "content");
        pdl_buf rest = PDL_BUF;
        if (!content.p) put_json(m, &rest);
        pdl_buf_putf(out, "    %.*s: ", PDL_FMT(role));
        put_indented(content.p ? content : pdl_buf_str(&rest), "      ", out);
        pdl_buf_fini(&rest);
    }
}

static void put_request(pdl_vref r, pdl_buf *out) {
    if (!pdl_is_dict(r)) return;
    if (!pdl_is_absent(pdl_dict_getz(r, "mock"))) {
        PDL_PUT(out, "  request: none, the answer is that of mock_response\n");
        return;
    }
    pdl_buf_putf(out, "  request: %.*s %.*s\n", PDL_FMT(pdl_member_str(r, "method")),
                 PDL_FMT(pdl_member_str(r, "url")));
    pdl_vref h = pdl_dict_getz(r, "headers");
    for (size_t i = 0; pdl_is_dict(h) && i < pdl_dict_len(h); i++)
        pdl_buf_putf(out, "    %.*s: %.*s\n", PDL_FMT(pdl_str_get(pdl_dict_key_at(h, i))),
                     PDL_FMT(pdl_str_get(pdl_dict_val_at(h, i))));
    PDL_PUT(out, "    ");
    put_json(pdl_dict_getz(r, "body"), out);
    PDL_PUT(out, "\n");
}

static void put_tokens(pdl_vref c, pdl_buf *out) {
    pdl_vref t = pdl_dict_getz(c, "tokens"), most = pdl_dict_getz(t, "answer_at_most"),
             cost = pdl_dict_getz(c, "cost");
    pdl_buf_putf(out, "  tokens: about %lld", (long long)pdl_int_of(pdl_dict_getz(t, "prompt")));
    if (pdl_is(most, PDL_V_INT))
        pdl_buf_putf(out, ", and at most %lld in the answer", (long long)pdl_int_of(most));
    if (pdl_is(cost, PDL_V_FLOAT)) pdl_buf_putf(out, "; cost: about %.6g", pdl_float_of(cost));
    PDL_PUT(out, "\n");
}

static void put_call(pdl_vref c, pdl_buf *out) {
    pdl_vref params = pdl_dict_getz(c, "parameters");
    pdl_str problem = pdl_member_str(c, "problem"), policy = pdl_member_str(c, "policy");
    pdl_buf_putf(out, "call %lld: ", (long long)pdl_int_of(pdl_dict_getz(c, "call")));
    put_place(c, out);
    pdl_buf_putf(out, ", model %.*s\n", PDL_FMT(pdl_member_str(c, "model")));
    put_messages(pdl_dict_getz(c, "messages"), out);
    if (pdl_is_list(pdl_dict_getz(c, "input"))) {
        PDL_PUT(out, "  input: ");
        put_json(pdl_dict_getz(c, "input"), out);
        PDL_PUT(out, "\n");
    }
    if (pdl_is_dict(params) && pdl_dict_len(params)) {
        PDL_PUT(out, "  parameters: ");
        put_json(params, out);
        PDL_PUT(out, "\n");
    }
    put_request(pdl_dict_getz(c, "request"), out);
    put_tokens(c, out);
    if (problem.n) pdl_buf_putf(out, "  would fail: %.*s\n", PDL_FMT(problem));
    if (policy.n) pdl_buf_putf(out, "  %.*s\n", PDL_FMT(policy));
}

static bool is_same_place(pdl_vref a, pdl_vref b) {
    return pdl_str_eq(pdl_member_str(a, "file"), pdl_member_str(b, "file")) &&
           pdl_int_of(pdl_dict_getz(a, "line")) == pdl_int_of(pdl_dict_getz(b, "line"));
}

/* Appends one line for all iterations of a map that wait at the same place. */
static void put_unknown(pdl_vref list, pdl_buf *out) {
    if (pdl_list_len(list)) PDL_PUT(out, "not known:\n");
    for (size_t i = 0, next; i < pdl_list_len(list); i = next) {
        pdl_vref d = pdl_list_at(list, i);
        next = i + 1;
        while (next < pdl_list_len(list) && is_same_place(d, pdl_list_at(list, next))) next++;
        PDL_PUT(out, "  ");
        put_place(d, out);
        pdl_buf_putf(out, ": waits for %.*s", PDL_FMT(pdl_member_str(d, "waits_for")));
        if (next > i + 1) pdl_buf_putf(out, ", and %zu times more for others", next - i - 1);
        PDL_PUT(out, "\n");
    }
}

/* Appends a text such as " p.pdl:7:3 if, with 2 model blocks: after the reply of call 1". */
static void put_unreached(pdl_vref list, pdl_buf *out) {
    if (pdl_list_len(list)) PDL_PUT(out, "not reached:\n");
    for (size_t i = 0; i < pdl_list_len(list); i++) {
        pdl_vref d = pdl_list_at(list, i);
        pdl_str kind = pdl_member_str(d, "kind");
        int64_t models = pdl_int_of(pdl_dict_getz(d, "models"));
        PDL_PUT(out, "  ");
        put_place(d, out);
        pdl_buf_putf(out, ":%lld ", (long long)pdl_int_of(pdl_dict_getz(d, "column")));
        pdl_buf_put(out, kind);
        if (models && !pdl_str_is(kind, "model"))
            pdl_buf_putf(out, ", with %lld model block%s", (long long)models, PDL_PLURAL(models));
        pdl_buf_putf(out, ": after %.*s\n", PDL_FMT(pdl_member_str(d, "waits_for")));
    }
}

static int64_t number_at(pdl_vref d, const char *key) { return pdl_int_of(pdl_dict_getz(d, key)); }

/* Appends a text such as "total: 4 calls, about 21 tokens in prompts, at most 60 in answers, 1
 * without max_tokens". */
static void put_totals(pdl_vref notes, pdl_buf *out) {
    pdl_vref t = pdl_dict_getz(notes, "totals");
    long long calls = number_at(t, "calls"), endless = number_at(t, "calls_without_limit"),
              unpriced = number_at(t, "calls_without_price");
    size_t waits = pdl_list_len(pdl_dict_getz(notes, "not_known")),
           blocks = pdl_list_len(pdl_dict_getz(notes, "not_reached"));
    pdl_vref cached = pdl_dict_getz(t, "from_cache");
    long long answered = pdl_is(cached, PDL_V_INT) ? pdl_int_of(cached) : 0;
    if (answered)
        pdl_buf_putf(out, "from the cache: %lld call%s, not counted\n", answered,
                     PDL_PLURAL(answered));
    if (!calls) return;
    bool more = !pdl_is_absent(pdl_dict_getz(t, "more"));
    pdl_vref runs = pdl_dict_getz(notes, "particles");
    if (pdl_is(runs, PDL_V_INT))
        pdl_buf_putf(out, "total of %lld runs: ", (long long)pdl_int_of(runs));
    else
        PDL_PUT(out, "total: ");
    pdl_buf_putf(out, "%s%lld call%s%s, about %lld tokens in prompts", more ? "at least " : "",
                 calls, PDL_PLURAL(calls), more ? " (no more are counted)" : "",
                 (long long)number_at(t, "prompt_tokens"));
    if (calls > endless)
        pdl_buf_putf(out, ", at most %lld in answers",
                     (long long)number_at(t, "answer_tokens_at_most"));
    if (endless) pdl_buf_putf(out, ", %lld without max_tokens", endless);
    if (calls > unpriced)
        pdl_buf_putf(out, "; cost: about %.6g", pdl_float_of(pdl_dict_getz(t, "cost")));
    if (unpriced) pdl_buf_putf(out, "; %lld without a price (--prices)", unpriced);
    if (waits || blocks) PDL_PUT(out, "; more that is not known yet");
    PDL_PUT(out, "\n");
}

/* Appends a line such as "budget: calls 4 of 3: the run would stop", or the line for a budget that
 * is not exceeded. */
static void put_budget(pdl_vref list, pdl_buf *out) {
    size_t over = 0;
    for (size_t i = 0; pdl_is_list(list) && i < pdl_list_len(list); i++) {
        pdl_vref d = pdl_list_at(list, i);
        if (!pdl_bool_of(pdl_dict_getz(d, "over"))) continue;
        pdl_buf_putf(out, "%s%.*s %.10g of %.10g",
                     over++ ? ", " : "budget: ", PDL_FMT(pdl_member_str(d, "item")),
                     pdl_float_of(pdl_dict_getz(d, "known")),
                     pdl_float_of(pdl_dict_getz(d, "limit")));
    }
    if (over)
        PDL_PUT(out, ": the run would stop\n");
    else if (pdl_is_list(list) && pdl_list_len(list))
        PDL_PUT(out, "budget: what is known does not exceed it\n");
}

static void put_text(pdl_vref notes, pdl_buf *out) {
    pdl_vref calls = pdl_dict_getz(notes, "calls"), no = pdl_dict_getz(notes, "not_done"),
             waits = pdl_dict_getz(notes, "not_known");
    for (size_t i = 0; i < pdl_list_len(calls); i++) put_call(pdl_list_at(calls, i), out);
    if (!pdl_list_len(calls)) PDL_PUT(out, "no call of a model is reached\n");
    if (pdl_list_len(no)) PDL_PUT(out, "not done:\n");
    for (size_t i = 0; i < pdl_list_len(no); i++) {
        pdl_vref d = pdl_list_at(no, i);
        PDL_PUT(out, "  ");
        put_place(d, out);
        pdl_str policy = pdl_member_str(d, "policy");
        pdl_buf_putf(out, ": %.*s (--allow %.*s)%s%.*s\n", PDL_FMT(pdl_member_str(d, "kind")),
                     PDL_FMT(pdl_member_str(d, "allow")), policy.n ? "; " : "", PDL_FMT(policy));
    }
    put_unknown(waits, out);
    put_unreached(pdl_dict_getz(notes, "not_reached"), out);
    put_totals(notes, out);
    put_budget(pdl_dict_getz(notes, "budget"), out);
}

/* --- an inference ----------------------------------------------------------------------------- */

static pdl_val times(pdl_vref v, int64_t n) {
    int64_t product;
    if (!pdl_is(v, PDL_V_INT)) return pdl_float(pdl_num_to_double(v) * (double)n);
    return pdl_int(PDL_MUL_OVERFLOWS(pdl_int_of(v), n, &product) ? INT64_MAX : product);
}

/* Multiplies all counts in the notes by n, for an inference that runs the program n times. Takes
 * notes. */
static pdl_val multiply(pdl_val notes, int64_t n) {
    pdl_val totals = pdl_keep(pdl_dict_getz(notes, "totals")), budget = pdl_list_new(4);
    pdl_vref of_one = pdl_dict_getz(notes, "budget");
    for (size_t i = 0; i < pdl_dict_len(totals); i++) {
        pdl_vref v = pdl_dict_val_at(totals, i);
        if (pdl_is(v, PDL_V_INT) || pdl_is(v, PDL_V_FLOAT))
            totals = pdl_dict_put(totals, pdl_keep(pdl_dict_key_at(totals, i)), times(v, n));
    }
    for (size_t i = 0; pdl_is_list(of_one) && i < pdl_list_len(of_one); i++) {
        pdl_val d = pdl_keep(pdl_list_at(of_one, i)), known = times(pdl_dict_getz(d, "known"), n);
        bool over = pdl_num_to_double(known) > pdl_num_to_double(pdl_dict_getz(d, "limit"));
        d = pdl_dict_putz(d, "known", known);
        budget = pdl_list_push(budget, pdl_dict_putz(d, "over", pdl_bool(over)));
    }
    notes = pdl_dict_putz(notes, "totals", totals);
    if (pdl_is_list(pdl_dict_getz(notes, "budget")))
        notes = pdl_dict_putz(notes, "budget", pdl_keep(budget));
    pdl_drop(budget);
    return pdl_dict_putz(notes, "particles", pdl_int(n));
}

/* Appends the report about the beginnings that the calls share, as far as the beginnings are known
 * before the run. */
static void put_prefixes(const arguments *a, pdl_prefix *prefix, pdl_vref notes, pdl_buf *out) {
    static const char *const unknown[] = {"not_known", "not_reached", "not_done"};
    pdl_val r = pdl_prefix_report(prefix);
    if (a->given[OPT_json]) {
        for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
            r = pdl_dict_putz(r, unknown[i], pdl_keep(pdl_dict_getz(notes, unknown[i])));
        put_json(r, out);
        PDL_PUT(out, "\n");
    } else {
        pdl_cli_put_prefixes(r, out);
        put_unknown(pdl_dict_getz(notes, "not_known"), out);
        put_unreached(pdl_dict_getz(notes, "not_reached"), out);
    }
    pdl_drop(r);
}

/* Prints the notes, and then the error that ended the run, if there was one. */
static int report(const arguments *a, pdl_session *s, pdl_prefix *prefix, pdl_step step,
                  pdl_vref problems) {
    int64_t particles = 0;
    if (!pdl_cli_read_whole(a, OPT_particles, 1, PDL_INFER_MAX, &particles)) return 2;
    pdl_val notes = a->given[OPT_bound] ? pdl_null() : pdl_session_explained(s);
    pdl_buf out = PDL_BUF;
    if (particles > 0) notes = multiply(notes, particles);
    if (a->given[OPT_bound]) {
        pdl_val bound = pdl_session_bound(s);
        if (a->given[OPT_json])
            put_json(bound, &out);
        else
            pdl_cli_put_bound(bound, &out);
        if (a->given[OPT_json]) PDL_PUT(&out, "\n");
        pdl_drop(bound);
    } else if (a->given[OPT_prefix]) {
        put_prefixes(a, prefix, notes, &out);
    } else if (a->given[OPT_json]) {
        if (!pdl_is_absent(problems)) notes = pdl_dict_putz(notes, "problems", pdl_keep(problems));
        put_json(notes, &out);
        PDL_PUT(&out, "\n");
    } else {
        put_text(notes, &out);
    }
    int code = pdl_cli_put_stdout(pdl_buf_str(&out));
    pdl_buf_fini(&out);
    pdl_drop(notes);
    if (step != PDL_STEP_FAIL || code) return code;
    const pdl_err *e = pdl_run_error(pdl_session_get(s));
    pdl_cli_print_error(e, s);
    return pdl_err_exit_code(e);
}

static int run(const arguments *a, pdl_session *s, pdl_prefix *prefix) {
    pdl_buf text = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE);
    pdl_err err = {0};
    const pdl_program *p;
    pdl_val problems = pdl_absent();
    bool ok = pdl_cli_read_program(a->files.p[0], &text, &err);
    if (!ok) {
        pdl_cli_print_error(&err, s);
        pdl_err_fini(&err);
    } else if (!pdl_session_load(s, pdl_buf_str(&text), &p)) {
        pdl_cli_print_load_errors(p, s);
        ok = false;
    } else {
        pdl_cli_show_problems(a, s, p, true);
        if (a->given[OPT_json]) problems = pdl_cli_list_problems(a, s, p);
    }
    pdl_buf_fini(&text);
    /* --bound is about the text of the program, so nothing is run */
    pdl_step step = ok && !a->given[OPT_bound] ? pdl_session_run(s) : PDL_STEP_DONE;
    int code = ok ? report(a, s, prefix, step, problems) : 1;
    if (!pdl_is_absent(problems)) pdl_drop(problems);
    return code;
}

int pdl_cli_cmd_explain(const arguments *a) {
    pdl_err err = {0};
    pdl_val vars = pdl_absent();
    pdl_session *s = NULL;
    if (!a->files.n) return pdl_cli_refuse(a, "the following arguments are required: FILE");
    if (a->given[OPT_bound] && a->given[OPT_prefix])
        return pdl_cli_refuse(a, "--bound and --prefix exclude each other");
    if (a->given[OPT_particles] && (a->given[OPT_bound] || a->given[OPT_prefix]))
        return pdl_cli_refuse(a, "-n/--particles has no effect with --bound and --prefix");
    int64_t particles = 1;
    if (!pdl_cli_read_whole(a, OPT_particles, 1, PDL_INFER_MAX, &particles)) return 2;
    bool streams = !a->given[OPT_stream] || !pdl_str_is(a->value[OPT_stream], "none");
    shared_options limits = {0};
    pdl_session_options o = {
        .program = {.file = a->files.p[0], .dir = pdl_file_folder(a->files.p[0])},
        .run = {.stream = streams ? PDL_STREAM_RESULT : PDL_STREAM_NONE,
                .explain = true,
                .allow = a->value[OPT_allow]},
    };
    int wrong = pdl_cli_shared_options_read(a, &limits, &o);
    if (wrong) return wrong;
    /* calls are not answered, so with a smaller number of jobs some calls would never begin */
    o.run.jobs = PDL_MAX_MAP_WORKERS;
    pdl_check_config config = {.arena = pdl_arena_make()};
    bool ok =
        pdl_cli_read_data(a, &vars, &err) && pdl_cli_read_config(a, a->files.p[0], &config, &err);
    pdl_config_use(&config, &o);
    o.program.variables = vars;
    pdl_prefix *prefix = a->given[OPT_prefix] ? pdl_prefix_new(true) : NULL;
    o.reports.prefix = prefix;
    o.reports.all_blocks = o.reports.labels = prefix != NULL;
    ok = ok && pdl_session_new(&o, &s, &err);
    int code = ok ? run(a, s, prefix) : err.kind == PDL_E_usage ? 2 : 1;
    if (!ok) pdl_cli_print_option_error(a, &err, NULL);
    pdl_err_fini(&err);
    pdl_session_free(s);
    pdl_prefix_free(prefix);
    pdl_config_fini(&config);
    if (!pdl_is_absent(vars)) pdl_drop(vars);
    pdl_cli_shared_options_fini(&limits);
    return code;
}
