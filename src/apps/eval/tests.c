/* tests.c -- reads files of tests, runs them and compares results with expectations; see tests.h.
 * This file answers the requests of a test itself: models reply from the list of the test, and
 * standard input is empty. Every key of a test is checked first, because a misspelt expectation
 * would otherwise never fail.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "eval/tests.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "api/hooks.h"
#include "api/project_config.h"
#include "base/limits.h"
#include "base/sort.h"
#include "base/vec.h"
#include "base/word_list.h"
#include "io/file.h"
#include "lang/load.h"
#include "mock/script.h"
#include "value/json_write.h"
#include "value/text.h"
#include "yaml/yaml.h"

#include "base/banned.h"

static const char suffix[] = ".test.yaml";

/* --- one test --------------------------------------------------------------------------------- */

typedef struct eval_test {
    pdl_vref spec; /* the item of the list that describes the test */
    pdl_str program, folder;
    pdl_mock_script script;
    pdl_buf output;           /* output of the program */
    PDL_VEC(char *) requests; /* requests to models, as texts; owned */
    pdl_buf problem;
} test;

static pdl_vref part(pdl_vref d, const char *key) {
    return pdl_is_dict(d) ? pdl_dict_getz(d, key) : pdl_absent();
}

/* Appends a value in the form that messages show. */
static void put_shown(pdl_vref v, pdl_buf *out) {
    enum { LONGEST = 300 };
    pdl_buf b = PDL_BUF;
    pdl_err ignored = {0};
    if (!pdl_json_write(v, PDL_JSON_SPACED | PDL_JSON_LOOSE, 0, &b, &ignored))
        pdl_err_fini(&ignored);
    pdl_buf_put(out, pdl_str_sub(pdl_buf_str(&b), 0, LONGEST));
    if (b.len > LONGEST) PDL_PUT(out, "...");
    pdl_buf_fini(&b);
}

PDL_PRINTF(2, 3) static void complain(test *t, const char *fmt, ...) {
    va_list ap;
    if (t->problem.len) PDL_PUT(&t->problem, "; ");
    va_start(ap, fmt);
    pdl_buf_vputf(&t->problem, fmt, ap);
    va_end(ap);
}

static void complain_values(test *t, const char *what, pdl_vref got, pdl_vref want) {
    pdl_buf a = PDL_BUF, b = PDL_BUF;
    put_shown(got, &a);
    put_shown(want, &b);
    complain(t, "%s is %s, expected %s", what, pdl_buf_z(&a), pdl_buf_z(&b));
    pdl_buf_fini(&a);
    pdl_buf_fini(&b);
}

/* --- models ----------------------------------------------------------------------------------- */

static const char *kind_of_status(int64_t status) {
    static const struct {
        int status;
        const char *kind;
    } rows[] = {{400, "bad_request"}, {401, "auth"},       {403, "permission"},
                {404, "not_found"},   {408, "timeout"},    {429, "rate_limit"},
                {503, "unavailable"}, {529, "unavailable"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].status == status) return rows[i].kind;
    return status >= 500 ? "server" : "bad_request";
}

/* Returns the text of the last message of a request. */
static pdl_value *last_text(const pdl_value *data) {
    pdl_value *messages = pdl_value_get(data, "messages");
    size_t n = pdl_value_len(messages);
    pdl_value *last = n ? pdl_value_at(messages, n - 1) : NULL,
              *content = last ? pdl_value_get(last, "content") : NULL;
    pdl_value_drop(last);
    pdl_value_drop(messages);
    return content;
}

static pdl_str text_of(const pdl_value *v) {
    size_t n = 0;
    const char *p = v ? pdl_value_get_text(v, &n) : NULL;
    return (pdl_str){p ? p : "", p ? n : 0};
}

static void answer_with(pdl_request *r, pdl_vref reply) {
    pdl_buf json = PDL_BUF;
    pdl_err ignored = {0};
    if (!pdl_json_write(reply, 0, 0, &json, &ignored)) pdl_err_fini(&ignored);
    pdl_value *v = pdl_value_from_json(pdl_buf_z(&json), json.len, NULL);
    pdl_request_answer(r, v);
    pdl_value_drop(v);
    pdl_buf_fini(&json);
}

/* Returns the scores of the continuations that a request names; absent when it requests
 * no scores. */
static pdl_val scores_for(const pdl_mock_item *item, const pdl_value *data, pdl_str prompt) {
    pdl_value *params = pdl_value_get(data, "parameters"),
              *asked = params ? pdl_value_get(params, "score") : NULL;
    pdl_val scores = asked ? pdl_list_new(pdl_value_len(asked)) : pdl_absent();
    for (size_t i = 0; asked && i < pdl_value_len(asked); i++) {
        pdl_value *one = pdl_value_at(asked, i);
        pdl_buf whole = PDL_BUF;
        double score = 0;
        size_t tail;
        pdl_buf_put(&whole, prompt);
        pdl_buf_put(&whole, text_of(one));
        scores = pdl_list_push(scores, pdl_mock_score(item, pdl_buf_str(&whole), i, &tail, &score)
                                           ? pdl_float(score)
                                           : pdl_null());
        pdl_buf_fini(&whole);
        pdl_value_drop(one);
    }
    pdl_value_drop(asked);
    pdl_value_drop(params);
    return scores;
}

/* Answers with the scores of an item. The answer becomes a chat completion, like that of a
 * service. */
static void answer_scores(pdl_request *r, pdl_val scores) {
    pdl_val said = pdl_dict_putz(pdl_dict_new(1), "scores", scores);
    pdl_val m = pdl_dict_putz(pdl_dict_new(2), "role", pdl_textz("assistant"));
    m = pdl_dict_putz(m, "content", said);
    pdl_val choice = pdl_dict_putz(pdl_dict_new(1), "message", m);
    pdl_val v = pdl_dict_putz(pdl_dict_new(1), "choices", pdl_list_push(pdl_list_new(1), choice));
    answer_with(r, v);
    pdl_drop(v);
}

/* Answers with the message of an item and with its log-probabilities, or with its scores when the
 * request asks for scores and the item has them. */
static void answer_item(pdl_request *r, const pdl_mock_item *item, pdl_str prompt) {
    enum { MAX_ALTERNATIVES = 20 };
    pdl_val scores =
        pdl_is_absent(item->scores) ? pdl_absent() : scores_for(item, pdl_request_data(r), prompt);
    if (!pdl_is_absent(scores)) {
        answer_scores(r, scores);
        return;
    }
    pdl_val m = pdl_is_dict(item->reply) ? pdl_keep(item->reply) : pdl_dict_new(2);
    if (pdl_is_str(item->reply)) m = pdl_dict_putz(m, "content", pdl_keep(item->reply));
    if (!pdl_is_absent(item->logprobs)) {
        pdl_vref content = pdl_dict_getz(m, "content");
        pdl_val entries = pdl_mock_entries(
            item, pdl_is_str(content) ? pdl_str_get(content) : PDL_STR(""), MAX_ALTERNATIVES);
        m = pdl_dict_putz(m, "logprobs", pdl_dict_putz(pdl_dict_new(1), "content", entries));
    }
    answer_with(r, m);
    pdl_drop(m);
}

static void answer_model(void *user, pdl_request *r) {
    test *t = user;
    const pdl_value *data = pdl_request_data(r);
    pdl_value *model = pdl_value_get(data, "model"), *last = last_text(data);
    const pdl_mock_item *item = pdl_mock_script_next(&t->script, text_of(model), text_of(last));
    if (item && !item->status)
        answer_item(r, item, text_of(last));
    else if (item)
        pdl_request_refuse(r, kind_of_status(item->status),
                           item->error.n ? item->error.p : "refused by the test");
    else
        pdl_request_refuse(r, "bad_request", "no reply of the test fits this request");
    pdl_value_drop(model);
    pdl_value_drop(last);
}

static void answer_input(void *user, pdl_request *r) {
    (void)user;
    pdl_value *end = pdl_value_null();
    pdl_request_answer(r, end);
    pdl_value_drop(end);
}

static void refuse_embedding(void *user, pdl_request *r) {
    (void)user;
    pdl_request_refuse(r, "bad_request", "a test has no embeddings: record a run, and name it");
}

static void refuse_web(void *user, pdl_request *r) {
    (void)user;
    pdl_request_refuse(r, "bad_request", "a test asks no web server: record a run, and name it");
}

/* --- events ----------------------------------------------------------------------------------- */

static void put_messages(pdl_vref messages, pdl_buf *out) {
    for (size_t i = 0; pdl_is_list(messages) && i < pdl_list_len(messages); i++) {
        pdl_vref m = pdl_list_at(messages, i), content = part(m, "content"), role = part(m, "role");
        if (pdl_is_str(role)) pdl_buf_put(out, pdl_str_get(role));
        PDL_PUT(out, ": ");
        if (pdl_is_str(content))
            pdl_buf_put(out, pdl_str_get(content));
        else
            put_shown(m, out);
        pdl_buf_putc(out, '\n');
    }
}

static void on_event(void *user, const pdl_event *e) {
    test *t = user;
    bool printed = e->kind == PDL_EVENT_text || (e->kind == PDL_EVENT_out && e->number != 2);
    if (printed) pdl_buf_put(&t->output, e->text);
    if (e->kind != PDL_EVENT_effect || e->effect->kind != PDL_EFFECT_model) return;
    pdl_buf text = PDL_BUF;
    pdl_vref model = part(e->effect->request, "model");
    if (pdl_is_str(model)) pdl_buf_putf(&text, "%.*s\n", PDL_FMT(pdl_str_get(model)));
    put_messages(part(e->effect->request, "messages"), &text);
    *pdl_vec_push(&t->requests) = pdl_buf_take(&text);
}

/* --- expectations ----------------------------------------------------------------------------- */

/* Calls fn for a text, or for each text of a list. */
static void each_text(test *t, pdl_vref v, void (*fn)(test *t, pdl_str text)) {
    if (pdl_is_str(v)) fn(t, pdl_str_get(v));
    for (size_t i = 0; pdl_is_list(v) && i < pdl_list_len(v); i++)
        if (pdl_is_str(pdl_list_at(v, i))) fn(t, pdl_str_get(pdl_list_at(v, i)));
}

static void check_contains(test *t, pdl_str text) {
    if (pdl_str_find(pdl_buf_str(&t->output), text, 0) == PDL_NOT_FOUND)
        complain(t, "the output does not contain '%.*s'", PDL_FMT(text));
}

static bool was_asked(const test *t, pdl_str text) {
    for (size_t i = 0; i < t->requests.n; i++)
        if (pdl_str_find(pdl_str_of(t->requests.p[i]), text, 0) != PDL_NOT_FOUND) return true;
    return false;
}

static void check_must(test *t, pdl_str text) {
    if (!was_asked(t, text))
        complain(t, "none of %zu requests contains '%.*s'", t->requests.n, PDL_FMT(text));
}

static void check_never(test *t, pdl_str text) {
    if (was_asked(t, text)) complain(t, "a request contains '%.*s'", PDL_FMT(text));
}

/* The test compares the whole message, but shows only the part that may be printed. */
static void check_failure(test *t, const pdl_session *s) {
    const pdl_err *e = pdl_run_error(pdl_session_get(s));
    pdl_vref want = part(part(t->spec, "expect"), "error");
    pdl_str text = pdl_is_str(want) ? pdl_str_get(want) : PDL_STR("");
    pdl_str kind = pdl_str_of(pdl_err_kind_name(e->kind)), msg = pdl_str_of(e->msg ? e->msg : "");
    pdl_buf shown = PDL_BUF;
    pdl_session_put_error(s, e, &shown);
    if (pdl_is_absent(want))
        complain(t, "it failed: %s", pdl_buf_z(&shown));
    else if (!pdl_str_eq(text, kind) && pdl_str_find(msg, text, 0) == PDL_NOT_FOUND)
        complain(t, "the error is '%s', expected '%.*s'", pdl_buf_z(&shown), PDL_FMT(text));
    pdl_buf_fini(&shown);
}

/* Returns the text without a newline at its end, because such a newline only matters on
 * a terminal. */
static pdl_str without_newline(pdl_str s) {
    return s.n && s.p[s.n - 1] == '\n' ? pdl_str_sub(s, 0, s.n - 1) : s;
}

static void check_result(test *t, const pdl_session *s, pdl_vref want) {
    pdl_vref got = pdl_run_result(pdl_session_get(s));
    if (pdl_is_absent(want) || pdl_val_eq(got, want)) return;
    pdl_val shown = pdl_session_shown(s, got);
    complain_values(t, "the result", shown, want);
    pdl_drop(shown);
}

static void check_success(test *t, const pdl_session *s) {
    pdl_vref expect = part(t->spec, "expect"), output = part(expect, "output");
    if (!pdl_is_absent(part(expect, "error"))) complain(t, "it should fail, and did not");
    check_result(t, s, part(expect, "result"));
    if (!pdl_is_str(output)) return;
    pdl_str said = without_newline(pdl_buf_str(&t->output));
    if (pdl_str_eq(said, without_newline(pdl_str_get(output)))) return;
    pdl_val shown = pdl_text(said);
    complain_values(t, "the output", shown, output);
    pdl_drop(shown);
}

static void check(test *t, const pdl_session *s, pdl_step step) {
    pdl_vref requests = part(t->spec, "requests");
    if (step == PDL_STEP_FAIL)
        check_failure(t, s);
    else
        check_success(t, s);
    each_text(t, part(part(t->spec, "expect"), "contains"), check_contains);
    each_text(t, part(requests, "must"), check_must);
    each_text(t, part(requests, "never"), check_never);
}

/* --- running ---------------------------------------------------------------------------------- */

/* Appends the path of a file that a test names. A relative name begins at the folder of the file of
 * tests. */
static void put_path(const test *t, pdl_str name, pdl_buf *out) {
    if (t->folder.n && !pdl_str_starts(name, PDL_STR("/")))
        pdl_buf_putf(out, "%.*s/", PDL_FMT(t->folder));
    pdl_buf_put(out, name);
}

/* Returns the variables of the command line and of the test. The variables of the test take
 * precedence. */
static pdl_val variables_of(const pdl_session_options *session, pdl_vref input) {
    pdl_vref given = session->program.variables;
    pdl_val all = pdl_is_dict(given) ? pdl_keep(given) : pdl_dict_new(1);
    for (size_t i = 0; pdl_is_dict(input) && i < pdl_dict_len(input); i++)
        all = pdl_dict_put(all, pdl_keep(pdl_dict_key_at(input, i)),
                           pdl_keep(pdl_dict_val_at(input, i)));
    return all;
}

static bool run_session(test *t, pdl_str text, const pdl_session_options *session, pdl_err *err) {
    pdl_vref input = part(t->spec, "input"), record = part(t->spec, "record");
    pdl_hook hooks[] = {{PDL_EFFECT_model, PDL_STR(""), answer_model, t},
                        {PDL_EFFECT_embed, PDL_STR(""), refuse_embedding, t},
                        {PDL_EFFECT_http, PDL_STR(""), refuse_web, t},
                        {PDL_EFFECT_input, PDL_STR(""), answer_input, t}};
    pdl_val variables = variables_of(session, input);
    pdl_buf path = PDL_BUF;
    pdl_session *s;
    const pdl_program *p;
    if (pdl_is_str(record)) put_path(t, pdl_str_get(record), &path);
    pdl_session_options o = {
        .program = {.file = t->program, .dir = t->folder, .variables = variables},
        .run = {.stream = PDL_STREAM_RESULT,
                .holds_refusable = true,
                .cancel = session->run.cancel,
                .jobs = session->run.jobs,
                .budget = session->run.budget},
        .files.replay = pdl_buf_str(&path),
        .guards = {.policies = session->guards.policies,
                   .n_policies = session->guards.n_policies,
                   .sandbox = session->guards.sandbox,
                   .sandbox_process = session->guards.sandbox_process,
                   .no_sandbox = session->guards.no_sandbox},
        .models.prices = session->models.prices,
        .telemetry = session->telemetry,
        .reports.sink = {t, on_event, false},
        .host = {.hooks = hooks, .n_hooks = path.len ? 0 : sizeof hooks / sizeof *hooks},
    };
    pdl_check_config config = {.arena = pdl_arena_make()};
    bool ok = pdl_config_read(t->program, &config, err);
    pdl_config_use(&config, &o);
    ok = ok && pdl_session_new(&o, &s, err);
    if (ok) {
        if (pdl_session_load(s, text, &p))
            check(t, s, pdl_session_run(s));
        else
            ok = pdl_program_refuse(p, err);
        pdl_session_free(s);
    }
    pdl_config_fini(&config);
    pdl_buf_fini(&path);
    pdl_drop(variables);
    return ok;
}

static bool run_test(test *t, pdl_str text, const pdl_session_options *session, pdl_err *err) {
    t->output = t->problem = PDL_BUF;
    return pdl_mock_script_read(part(t->spec, "replies"), &t->script, err) &&
           run_session(t, text, session, err);
}

static void release(test *t) {
    for (size_t i = 0; i < t->requests.n; i++) pdl_free(t->requests.p[i]);
    pdl_vec_fini(&t->requests);
    pdl_mock_script_fini(&t->script);
    pdl_buf_fini(&t->output);
    pdl_buf_fini(&t->problem);
}

/* --- the file --------------------------------------------------------------------------------- */

/* Checks that a mapping has only the allowed keys. where: the place in messages, such
 * as "test 2". */
static bool check_keys(pdl_vref d, const char *const *keys, size_t n, const char *where,
                       pdl_err *err) {
    pdl_str names[8];
    if (pdl_is_absent(d)) return true;
    if (!pdl_is_dict(d))
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s should be a mapping", where);
    for (size_t i = 0; i < n; i++) names[i] = pdl_str_of(keys[i]);
    for (size_t k = 0; k < pdl_dict_len(d); k++) {
        pdl_vref key = pdl_dict_key_at(d, k);
        pdl_str given = pdl_is_str(key) ? pdl_str_get(key) : PDL_STR("?");
        if (pdl_str_in(given, keys, n)) continue;
        pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s: there is no key '%.*s'", where,
                    PDL_FMT(given));
        pdl_str near = pdl_str_nearest(given, names, n);
        if (near.n) pdl_err_hint(err, "did you mean '%.*s'?", PDL_FMT(near));
        return false;
    }
    return true;
}

/* Checks that a part has the right form. Without this check, a wrong part would be ignored without
 * notice. */
static bool check_part(pdl_vref spec, const char *key, bool ok, const char *what, const char *where,
                       pdl_err *err) {
    return ok || pdl_is_absent(part(spec, key)) ||
           pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s: %s should be %s", where, key, what);
}

/* Returns true when the test expects something. An empty mapping or list would be satisfied by
 * every run. */
static bool expects_any(pdl_vref d) {
    bool any = false;
    for (size_t i = 0; pdl_is_dict(d) && i < pdl_dict_len(d) && !any; i++) {
        pdl_vref v = pdl_dict_val_at(d, i);
        any = !pdl_is_list(v) || pdl_list_len(v) || pdl_text_is(pdl_dict_key_at(d, i), "result") ||
              pdl_text_is(pdl_dict_key_at(d, i), "error");
    }
    return any;
}

static bool check_texts(pdl_vref v, const char *where, const char *key, pdl_err *err) {
    bool ok = pdl_is_absent(v) || pdl_is_str(v) || pdl_is_list(v);
    for (size_t i = 0; ok && pdl_is_list(v) && i < pdl_list_len(v); i++)
        ok = pdl_is_str(pdl_list_at(v, i));
    return ok || pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                             "%s: %s should be a text or a list of texts", where, key);
}

static bool check_replies(pdl_vref replies, const char *where, pdl_err *err) {
    pdl_mock_script script = {0};
    pdl_err why = {0};
    bool ok = pdl_mock_script_read(replies, &script, &why) ||
              pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s: %s", where, why.msg);
    pdl_mock_script_fini(&script);
    pdl_err_fini(&why);
    return ok;
}

static bool check_test(pdl_vref spec, const char *where, pdl_err *err) {
    static const char *const keys[] = {"name", "input", "replies", "record", "expect", "requests"},
                             *const expects[] = {"result", "output", "contains", "error"},
                             *const asks[] = {"must", "never"};
    if (!check_keys(spec, keys, sizeof keys / sizeof *keys, where, err)) return false;
    pdl_vref expect = part(spec, "expect"), requests = part(spec, "requests"),
             input = part(spec, "input"), output = part(expect, "output");
    if (!check_part(spec, "name", pdl_is_str(part(spec, "name")), "a text", where, err) ||
        !check_part(spec, "input", pdl_is_dict(input), "a mapping of variables", where, err) ||
        !check_part(spec, "record", pdl_is_str(part(spec, "record")), "the path of a file", where,
                    err) ||
        !check_part(spec, "expect", pdl_is_dict(expect), "a mapping", where, err) ||
        !check_part(spec, "requests", pdl_is_dict(requests), "a mapping", where, err) ||
        !check_part(expect, "output", pdl_is_str(output), "a text", where, err) ||
        !check_keys(expect, expects, sizeof expects / sizeof *expects, where, err) ||
        !check_keys(requests, asks, sizeof asks / sizeof *asks, where, err))
        return false;
    if (!pdl_is_absent(part(spec, "replies")) && !pdl_is_absent(part(spec, "record")))
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "%s: replies and record exclude each other", where);
    if (!expects_any(expect) && !expects_any(requests))
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "%s: it expects nothing: add expect or requests", where);
    return check_replies(part(spec, "replies"), where, err) &&
           check_texts(part(expect, "contains"), where, "contains", err) &&
           check_texts(part(expect, "error"), where, "error", err) &&
           check_texts(part(requests, "must"), where, "must", err) &&
           check_texts(part(requests, "never"), where, "never", err);
}

static bool check_file(pdl_vref file, pdl_str name, pdl_err *err) {
    static const char *const keys[] = {"tests"};
    char *where = pdl_str_dup(name);
    pdl_vref list = part(file, "tests");
    bool ok = check_keys(file, keys, 1, where, err);
    pdl_free(where);
    if (ok && (!pdl_is_list(list) || !pdl_list_len(list)))
        ok = pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%.*s: expected `tests:` with a list",
                         PDL_FMT(name));
    for (size_t i = 0; ok && i < pdl_list_len(list); i++) {
        pdl_buf place = PDL_BUF;
        pdl_buf_putf(&place, "%.*s: test %zu", PDL_FMT(name), i + 1);
        ok = check_test(pdl_list_at(list, i), pdl_buf_z(&place), err);
        pdl_buf_fini(&place);
    }
    return ok;
}

static bool read_tests(pdl_str file, pdl_val *out, pdl_err *err) {
    pdl_buf text = PDL_BUF_INIT((size_t)PDL_MAX_SOURCE_BYTES);
    uint32_t line = 0, column = 0;
    pdl_err why = {0};
    char *path = pdl_str_dup(file);
    bool ok = pdl_file_read(path, &text, err);
    if (ok && !pdl_yaml_read_written(pdl_buf_str(&text), out, &line, &column, &why))
        ok = pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s:%u: %s (column %u)", path, line,
                         why.msg, column);
    pdl_err_fini(&why);
    pdl_buf_fini(&text);
    pdl_free(path);
    return ok;
}

/* The program of a file of tests, and the way in which its tests are run. */
typedef struct {
    pdl_str program, text; /* path and source of the program */
    const pdl_session_options *session;
    pdl_test_report_fn *report;
    void *user;
} tested;

static bool run_all(const tested *p, pdl_vref list, pdl_err *err) {
    const pdl_session_options *session = p->session;
    for (size_t i = 0; i < pdl_list_len(list); i++) {
        test t = {.spec = pdl_list_at(list, i),
                  .program = p->program,
                  .folder = pdl_file_folder(p->program)};
        pdl_vref name = part(t.spec, "name");
        pdl_buf number = PDL_BUF;
        pdl_buf_putf(&number, "test %zu", i + 1);
        pdl_err why = {0};
        if (!run_test(&t, p->text, session, &why)) complain(&t, "%s", why.msg);
        pdl_err_fini(&why);
        p->report(p->user, p->program, pdl_is_str(name) ? pdl_str_get(name) : pdl_buf_str(&number),
                  pdl_buf_str(&t.problem));
        pdl_buf_fini(&number);
        release(&t);
        if (session->run.cancel && *session->run.cancel)
            return pdl_err_signal(err, *session->run.cancel);
    }
    return true;
}

static bool has_program(pdl_str program, pdl_str file, pdl_err *err) {
    return pdl_file_kind_named(program) != PDL_FILE_NONE ||
           pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                       "%.*s: there is no file %.*s, which these are the tests of", PDL_FMT(file),
                       PDL_FMT(program));
}

bool pdl_tests_run(pdl_str file, const pdl_session_options *session, pdl_test_report_fn *report,
                   void *user, pdl_err *err) {
    pdl_val tests;
    pdl_buf text = PDL_BUF_INIT((size_t)PDL_MAX_SOURCE_BYTES), program = PDL_BUF;
    if (!read_tests(file, &tests, err)) return false;
    pdl_buf_putf(&program, "%.*s.pdl", (int)(file.n - (sizeof suffix - 1)), file.p);
    bool ok = check_file(tests, file, err) && has_program(pdl_buf_str(&program), file, err) &&
              pdl_file_read(pdl_buf_z(&program), &text, err);
    const tested p = {pdl_buf_str(&program), pdl_buf_str(&text), session, report, user};
    ok = ok && run_all(&p, part(tests, "tests"), err);
    pdl_buf_fini(&program);
    pdl_buf_fini(&text);
    pdl_drop(tests);
    return ok;
}

/* --- folders ---------------------------------------------------------------------------------- */

enum { DEEPEST = 30 };

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in a folder that are not hidden, sorted; owned. */
typedef struct eval_names {
    PDL_VEC(char *) of;
} names;

static bool list_names(const char *folder, names *out, pdl_err *err) {
    DIR *d = opendir(folder);
    if (!d) return pdl_file_errno(err, errno, folder);
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.') *pdl_vec_push(&out->of) = pdl_str_dup(pdl_str_of(e->d_name));
    closedir(d);
    return out->of.n < 2 || pdl_sort(out->of.p, out->of.n, sizeof *out->of.p, by_name, err);
}

/* Returns true for a folder. Links to folders are not followed, because they may lead back to a
 * folder above. */
static bool is_folder(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Searches folders, at most DEEPEST levels down. *more: fn wants further files. */
static bool find_in(pdl_str folder, int depth, bool (*fn)(void *user, pdl_str file), void *user,
                    bool *more, pdl_err *err) {
    names list = {0};
    char *path = pdl_str_dup(folder);
    bool ok = list_names(path, &list, err);
    for (size_t i = 0; i < list.of.n; i++) {
        pdl_buf b = PDL_BUF;
        if (!pdl_str_is(folder, ".")) pdl_buf_putf(&b, "%.*s/", PDL_FMT(folder));
        pdl_buf_putf(&b, "%s", list.of.p[i]);
        bool is_test = pdl_str_ends(pdl_buf_str(&b), pdl_str_of(suffix));
        if (ok && *more && depth < DEEPEST && is_folder(pdl_buf_z(&b)))
            ok = find_in(pdl_buf_str(&b), depth + 1, fn, user, more, err);
        else if (ok && *more && is_test)
            *more = fn(user, pdl_buf_str(&b));
        pdl_buf_fini(&b);
        pdl_free(list.of.p[i]);
    }
    pdl_vec_fini(&list.of);
    pdl_free(path);
    return ok;
}

bool pdl_tests_find(pdl_str folder, bool (*fn)(void *user, pdl_str file), void *user,
                    pdl_err *err) {
    bool more = true;
    return find_in(folder, 0, fn, user, &more, err);
}
