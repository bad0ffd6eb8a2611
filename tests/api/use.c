/* use.c -- uses every function of pdl.h, also in every wrong way. Written in C11. Prints the failed
 * checks, then the counts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "t.h"

/* --- values ----------------------------------------------------------------------------------- */

static void test_values(void) {
    pdl_error *error = NULL;
    bool b = false;
    int64_t i = 0;
    double d = 0;
    size_t n = 0;
    pdl_value *t = pdl_value_bool(true), *k = pdl_value_int(INT64_MIN), *f = pdl_value_float(1.5),
              *s = pdl_value_text_n("a\0b", 3);
    CHECK(pdl_value_get_bool(t, &b) && b && !pdl_value_get_int(t, &i) &&
          pdl_value_kind(t) == PDL_KIND_BOOL);
    CHECK(pdl_value_get_int(k, &i) && i == INT64_MIN && pdl_value_get_float(k, &d) && d < 0);
    CHECK(pdl_value_get_float(f, &d) && d == 1.5 && !pdl_value_get_int(f, &i) &&
          pdl_value_kind(f) == PDL_KIND_FLOAT);
    CHECK(pdl_value_get_text(s, &n) && n == 3 && pdl_value_len(s) == 3 &&
          pdl_value_get_text(k, &n) == NULL);
    pdl_value *list = pdl_value_list(), *dict = pdl_value_dict();
    CHECK(pdl_value_push(list, t) && pdl_value_push(list, k) && pdl_value_push(list, list) &&
          pdl_value_len(list) == 3);
    pdl_value *other = pdl_value_keep(list);
    CHECK(pdl_value_push(other, s) && pdl_value_len(other) == 4 && pdl_value_len(list) == 3);
    CHECK(pdl_value_put(dict, "list", list) && pdl_value_put(dict, "f", f) &&
          pdl_value_put(dict, "list", f) && pdl_value_len(dict) == 2);
    CHECK(is_text(pdl_value_key_at(dict, 1), "f") &&
          is_text(pdl_value_to_json(dict, 0, &error), "{\"list\": 1.5, \"f\": 1.5}"));
    pdl_value *x = pdl_value_get(dict, "f");
    CHECK(pdl_value_equal(x, f) && !pdl_value_equal(x, t) && !pdl_value_equal(x, NULL) &&
          pdl_value_get(dict, "none") == NULL);
    CHECK(pdl_value_at(list, 3) == NULL && pdl_value_at(f, 0) == NULL &&
          pdl_value_key_at(list, 0) == NULL);
    CHECK(!pdl_value_push(dict, t) && !pdl_value_put(list, "a", t) &&
          !pdl_value_put(dict, "\xff", t) && !pdl_value_put(dict, NULL, t));
    CHECK(!pdl_value_push(list, NULL) && !pdl_value_push(NULL, t) &&
          pdl_value_text("\xc3") == NULL && pdl_value_text(NULL) == NULL);
    CHECK(pdl_value_kind(NULL) == PDL_KIND_NONE && pdl_value_len(NULL) == 0 &&
          pdl_value_keep(NULL) == NULL && !pdl_value_get_int(k, NULL));
    const char json[] =
        "{\"a\": [1, 2.5, null, \"\\u00e9\"], \"big\": 123456789012345678901234567890}";
    pdl_value *read = pdl_value_from_json(json, sizeof json - 1, &error),
              *big = pdl_value_get(read, "big");
    CHECK(read && !error && pdl_value_kind(big) == PDL_KIND_INT && !pdl_value_get_int(big, &i));
    CHECK(is_text(pdl_value_to_text(big, &error), "123456789012345678901234567890"));
    CHECK(!pdl_value_from_json("[1,", 3, &error) && is_error(&error, "syntax", "line 1 column 4"));
    CHECK(!pdl_value_from_json("\"\xff\"", 3, &error) && is_error(&error, "syntax", "UTF-8"));
    CHECK(!pdl_value_from_json(NULL, 3, &error) && is_error(&error, "usage", "NULL"));
    CHECK(!pdl_value_to_json(NULL, 0, &error) && is_error(&error, "usage", "NULL") &&
          !pdl_value_to_text(NULL, NULL));
    CHECK(!pdl_value_from_json("]", 1, NULL));
    pdl_value *all[] = {t, k, f, s, list, dict, other, x, read, big};
    for (size_t j = 0; j < sizeof all / sizeof all[0]; j++) pdl_value_drop(all[j]);
    pdl_value_drop(NULL);
}

/* --- programs --------------------------------------------------------------------------------- */

static void test_programs(pdl_engine *e) {
    pdl_error *error = NULL;
    const char wrong[] = "text:\n- nope: 1\n  modle: x\n";
    CHECK(!pdl_load_text(e, wrong, sizeof wrong - 1, "w.pdl", &error) && error &&
          error->line == 3 && strcmp(error->file, "w.pdl") == 0); /* that of the misspelt key */
    CHECK(is_error(&error, "schema", "w.pdl:2"));
    const char keyed[] = "{model: m, parameters: {api_key: literal-key}, modle: x}\n";
    CHECK(!pdl_load_text(e, keyed, sizeof keyed - 1, "k.pdl", &error) && error &&
          strstr(error->text, "[REDACTED]") && !strstr(error->text, "literal-key"));
    pdl_error_free(error);
    error = NULL;
    CHECK(!pdl_load_text(e, "a: [", 4, NULL, &error) && is_error(&error, "syntax", ""));
    CHECK(!pdl_load_text(e, "\xff\xfe", 2, NULL, &error) && is_error(&error, "syntax", ""));
    CHECK(!pdl_load_text(e, "a", 1, "\xff", &error) && is_error(&error, "usage", "UTF-8"));
    CHECK(!pdl_load_text(NULL, "a", 1, NULL, &error) && is_error(&error, "usage", "engine"));
    CHECK(!pdl_load_text(e, NULL, 1, NULL, &error) && is_error(&error, "usage", "text"));
    CHECK(!pdl_load_file(e, "/nonexistent/x.pdl", &error) && is_error(&error, "io", "x.pdl"));
    CHECK(!pdl_load_file(e, NULL, &error) && is_error(&error, "usage", "path") &&
          !pdl_load_file(e, NULL, NULL));
    const char unclear[] = "text: ${ undefined_name }\n";
    pdl_value *list = pdl_check_text(e, unclear, sizeof unclear - 1, "u.pdl", &error),
              *first = pdl_value_at(list, 0);
    CHECK(!error && pdl_value_len(list) == 1 &&
          is_text(pdl_value_get(first, "severity"), "warning") &&
          is_text(pdl_value_get(first, "file"), "u.pdl"));
    pdl_value_drop(first);
    pdl_value_drop(list);
    list = pdl_check_text(e, wrong, sizeof wrong - 1, NULL, &error);
    first = pdl_value_at(list, 0);
    CHECK(pdl_value_len(list) >= 1 && is_text(pdl_value_get(first, "severity"), "error"));
    pdl_value_drop(first);
    pdl_value_drop(list);
    list = pdl_check_text(e, "text: hi\n", 9, NULL, &error);
    CHECK(list && pdl_value_len(list) == 0);
    pdl_value_drop(list);
    CHECK(!pdl_check_file(e, "/nonexistent/x.pdl", &error) && is_error(&error, "io", "x.pdl") &&
          !pdl_check_text(e, NULL, 0, NULL, NULL));
    pdl_value *schema = pdl_schema_of_language(), *defs = pdl_value_get(schema, "$defs");
    CHECK(pdl_value_kind(defs) == PDL_KIND_DICT && pdl_value_len(defs) > 10);
    pdl_value_drop(defs);
    pdl_value_drop(schema);
    pdl_value *all = pdl_builtins_of_language(), *filters = pdl_value_get(all, "Filters"),
              *join = pdl_value_get(filters, "join"), *doc = pdl_value_get(join, "doc");
    CHECK(pdl_value_len(pdl_value_get_text(doc, NULL) ? doc : NULL) > 10);
    pdl_value_drop(doc);
    pdl_value_drop(join);
    pdl_value_drop(filters);
    pdl_value_drop(all);
    const char *trace = "{\"kind\": \"text\", \"pdl__id\": \"text\", \"pdl__result\": \"<hi>\"}";
    pdl_value *page = pdl_trace_page(trace, strlen(trace), "t", "text: <hi>", &error);
    CHECK(strstr(pdl_value_get_text(page, NULL), "<!doctype html>"));
    pdl_value_drop(page);
    CHECK(!pdl_trace_page("[1]", 3, "t", NULL, &error) && is_error(&error, "syntax", ""));
    CHECK(!pdl_trace_page(NULL, 0, NULL, NULL, &error) && is_error(&error, "usage", "trace"));
}

static void test_trees(pdl_engine *e) {
    pdl_error *error = NULL;
    const char text[] = "{text: [a, {data: 1, contribute: [result, context]}]}\n";
    pdl_program *p = pdl_load_text(e, text, sizeof text - 1, NULL, &error);
    pdl_value *tree = pdl_program_tree(p);
    CHECK(is_text(pdl_value_to_json(tree, 0, &error), "{\"text\": [\"a\", {\"data\": 1}]}"));
    CHECK(is_text(pdl_value_to_yaml(tree, &error), "text:\n- a\n- data: 1\n"));
    CHECK(!pdl_program_tree(NULL) && !pdl_value_to_yaml(NULL, &error) &&
          is_error(&error, "usage", "NULL"));
    pdl_value_drop(tree);
    pdl_program_free(p);
}

static void test_contexts(pdl_engine *e) {
    pdl_error *error = NULL;
    const char json[] =
        "[{\"role\": \"user\", \"content\": \"a\"}, {\"role\": \"user\", \"content\": \"b\"}]";
    pdl_value *two = pdl_value_from_json(json, sizeof json - 1, &error),
              *group = pdl_value_context(two, true, &error), *outer = pdl_value_list();
    CHECK(group && pdl_value_context_form(group) == PDL_CONTEXT_INDEPENDENT);
    CHECK(pdl_value_context_form(two) == PDL_CONTEXT_NONE && !pdl_value_context_parts(two));
    CHECK(pdl_value_kind(group) == PDL_KIND_LIST && pdl_value_len(group) == 2);
    CHECK(pdl_value_push(outer, group));
    pdl_value *first = pdl_value_at(two, 0), *whole = NULL, *parts = NULL, *part = NULL;
    CHECK(pdl_value_push(outer, first));
    whole = pdl_value_context(outer, false, &error);
    parts = pdl_value_context_parts(whole);
    part = pdl_value_at(parts, 0);
    CHECK(pdl_value_context_form(whole) == PDL_CONTEXT_DEPENDENT && pdl_value_len(parts) == 2);
    CHECK(pdl_value_context_form(part) == PDL_CONTEXT_INDEPENDENT && pdl_value_equal(part, group));
    pdl_value_drop(part);
    part = pdl_value_at(parts, 1);
    CHECK(pdl_value_context_form(part) == PDL_CONTEXT_MESSAGE && !pdl_value_context_parts(part));
    pdl_value *number = pdl_value_int(1), *none = pdl_value_list();
    pdl_value *empty = pdl_value_context(none, true, &error);
    CHECK(pdl_value_context_form(empty) == PDL_CONTEXT_DEPENDENT && pdl_value_len(empty) == 0);
    CHECK(pdl_value_push(none, first) && pdl_value_push(none, number));
    CHECK(!pdl_value_context(none, false, &error) &&
          is_error(&error, "expression", "not a valid context"));
    CHECK(!pdl_value_context(number, false, &error) && is_error(&error, "usage", "list"));
    pdl_program *p = pdl_load_text(e, "a", 1, NULL, &error);
    pdl_task *t = pdl_task_start(e, p, NULL, &error);
    CHECK(!pdl_task_context(t, &error) && is_error(&error, "usage", ""));
    pdl_task_wait(t, -1);
    pdl_value *context = pdl_task_context(t, &error);
    CHECK(pdl_value_context_form(context) == PDL_CONTEXT_MESSAGE);
    pdl_task_free(t);
    pdl_program_free(p);
    pdl_value *all[] = {two, group, outer, first, whole, parts, part, number, none, empty, context};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) pdl_value_drop(all[i]);
}

/* --- runs ------------------------------------------------------------------------------------- */

typedef struct seen {
    char text[4000];
    int blocks, effects, messages, ends;
    pdl_task *task;
} seen;

static void add_text(void *user, const char *text, size_t n) {
    seen *s = user;
    strncat(s->text, text, n < 1000 ? n : 1000);
}

static void add_message(void *user, const char *role, const char *text, size_t n) {
    seen *s = user;
    s->messages++;
    add_text(user, role, strlen(role));
    add_text(user, "=", 1);
    add_text(user, text, n);
    add_text(user, ";", 1);
}

static void add_report(void *user, const pdl_report *r) {
    seen *s = user;
    if (strcmp(r->kind, "block_begin") == 0) s->blocks++;
    if (strcmp(r->kind, "effect") == 0) s->effects++;
    if (strcmp(r->kind, "run_end") == 0) s->ends++;
    if (s->task && s->blocks == 2) pdl_task_cancel(s->task);
}

static void test_runs(pdl_engine *e) {
    pdl_error *error = NULL;
    seen s = {.text = ""};
    pdl_value *inputs = pdl_value_dict(), *name = pdl_value_text("Ada");
    pdl_value_put(inputs, "name", name);
    pdl_program *p =
        load(e, "text:\n- \"Hello ${ name }\"\n- def: n\n  data: ${ name | length }\n");
    pdl_task_options o = {.size = sizeof o,
                          .inputs = inputs,
                          .output = PDL_OUTPUT_RESULT,
                          .trace = true,
                          .blocks = true,
                          .user = &s,
                          .text = add_text,
                          .report = add_report};
    pdl_task *t = pdl_task_start(e, p, &o, &error);
    CHECK(t && !error && pdl_task_state(t) == PDL_TASK_WAITING && pdl_task_fd(t) >= 0);
    CHECK(!pdl_task_result(t, &error) && is_error(&error, "usage", "not ended"));
    CHECK(!pdl_task_trace(t, &error) && is_error(&error, "usage", "not ended"));
    CHECK(pdl_task_wait(t, -1) == PDL_TASK_DONE && pdl_task_wait(t, -1) == PDL_TASK_DONE &&
          pdl_task_step(t) == PDL_TASK_DONE);
    CHECK(strcmp(s.text, "Hello Ada3") == 0 && s.blocks >= 2 && s.ends == 1 &&
          pdl_task_error(t) == NULL && pdl_task_deadline_ms(t) == -1);
    pdl_value *vars = pdl_task_variables(t, &error), *trace = pdl_task_trace(t, &error),
              *messages = pdl_task_messages(t, &error);
    CHECK(is_text(pdl_task_result(t, &error), "Hello Ada3") && pdl_value_len(messages) == 2 &&
          trace && pdl_value_get_text(trace, NULL)[0] == '{');
    pdl_value *n = pdl_value_get(vars, "n"), *usage = pdl_task_usage(t);
    int64_t i = 0;
    CHECK(pdl_value_get_int(n, &i) && i == 3 && pdl_value_len(usage) == 3);
    pdl_value *gone[] = {vars, trace, messages, n, usage, name};
    for (size_t j = 0; j < sizeof gone / sizeof gone[0]; j++) pdl_value_drop(gone[j]);
    pdl_task_free(t);
    s = (seen){.text = ""};
    o = (pdl_task_options){.size = sizeof o,
                           .inputs = inputs,
                           .output = PDL_OUTPUT_CONTEXT,
                           .user = &s,
                           .message = add_message,
                           .report = add_report};
    t = pdl_task_start(e, p, &o, &error);
    CHECK(pdl_task_wait(t, 5000) == PDL_TASK_DONE && s.messages == 2 &&
          strstr(s.text, "user=Hello Ada;") && s.blocks == 0);
    CHECK(!pdl_task_trace(t, &error) && is_error(&error, "usage", "trace was not set"));
    pdl_task_free(t);
    pdl_program_free(p);
    pdl_value_drop(inputs);
}

/* What a call was asked is a list, whoever looks at it first, and stays one for who keeps it. */
static void look_at_messages(void *user, const pdl_report *r) {
    seen *s = user;
    pdl_error *error = NULL;
    if (strcmp(r->kind, "field") != 0 || strcmp(r->text, "pdl__model_input") != 0) return;
    pdl_value *kept, *text = NULL;
    if (s->effects++ == 0) text = pdl_value_to_json(r->value, 0, &error);
    kept = pdl_value_keep(r->value);
    if (!text) text = pdl_value_to_yaml(r->value, &error);
    add_text(s, pdl_value_get_text(text, NULL), 1000);
    s->ends += pdl_value_kind(kept) == PDL_KIND_LIST && pdl_value_len(kept) == 2 &&
               pdl_value_context_form(kept) == PDL_CONTEXT_NONE && pdl_value_equal(kept, r->value);
    pdl_value_drop(text);
    pdl_value_drop(kept);
}

static void test_messages(pdl_engine *e) {
    pdl_error *error = NULL;
    seen s = {.text = ""};
    pdl_program *p = load(e, "text:\n- {text: hi, role: system}\n"
                             "- {text: you, contribute: [context]}\n"
                             "- {model: m, parameters: {mock_response: x}, contribute: []}\n"
                             "- {model: m, parameters: {mock_response: x}, contribute: []}\n");
    pdl_task_options o = {.size = sizeof o, .blocks = true, .user = &s, .report = look_at_messages};
    pdl_task *t = pdl_task_start(e, p, &o, &error);
    CHECK(pdl_task_wait(t, -1) == PDL_TASK_DONE && s.effects == 2 && s.ends == 2);
    CHECK(s.text[0] == '[' && strstr(s.text, "\"hi\"") && strstr(s.text, "content: you"));
    pdl_task_free(t);
    pdl_program_free(p);
}

/* Tasks that end before their program does. */
static void test_ends(pdl_engine *e) {
    pdl_error *error = NULL;
    seen s = {.text = ""};
    pdl_value *inputs = pdl_value_dict(), *name = pdl_value_text("Ada");
    pdl_value_put(inputs, "name", name);
    pdl_value_drop(name);
    pdl_program *p =
        load(e, "text:\n- \"Hello ${ name }\"\n- def: n\n  data: ${ name | length }\n");
    pdl_task_options o = {.size = sizeof o,
                          .inputs = inputs,
                          .output = PDL_OUTPUT_CONTEXT,
                          .blocks = true, /* cancelled from a callback */
                          .user = &s,
                          .message = add_message,
                          .report = add_report};
    pdl_task *t;
    t = pdl_task_start(e, p, &o, &error);
    s.task = t;
    CHECK(pdl_task_wait(t, -1) == PDL_TASK_FAILED &&
          strcmp(pdl_task_error(t)->kind, "interrupt") == 0 && pdl_task_error(t)->exit_code == 130);
    CHECK(!pdl_task_result(t, &error) && is_error(&error, "interrupt", "cancelled"));
    pdl_task_free(t);
    t = pdl_task_start(e, p, NULL, &error); /* cancelled before it began */
    pdl_task_cancel(t);
    CHECK(pdl_task_state(t) == PDL_TASK_FAILED);
    pdl_task_free(t);
    t = pdl_task_start(e, p, NULL, &error); /* name is not there */
    pdl_program_free(p);
    CHECK(pdl_task_wait(t, -1) == PDL_TASK_FAILED && pdl_task_error(t)->line == 2 &&
          strstr(pdl_task_error(t)->text, "'name' is undefined"));
    pdl_task_free(t);
    pdl_value_drop(inputs);
}

static void test_misuse(pdl_engine *e) {
    pdl_error *error = NULL;
    pdl_program *p = load(e, "text: hi\n");
    pdl_value *list = pdl_value_list();
    pdl_task_options o = {.size = 0};
    CHECK(!pdl_task_start(e, p, &o, &error) && is_error(&error, "usage", "size"));
    o = (pdl_task_options){.size = sizeof o, .inputs = list};
    CHECK(!pdl_task_start(e, p, &o, &error) && is_error(&error, "usage", "inputs"));
    o = (pdl_task_options){.size = sizeof o, .record = "a", .replay = "b"};
    CHECK(!pdl_task_start(e, p, &o, &error) && is_error(&error, "usage", "exclude"));
    o = (pdl_task_options){.size = sizeof o, .output = (pdl_output)7};
    CHECK(!pdl_task_start(e, p, &o, &error) && is_error(&error, "usage", "output"));
    o = (pdl_task_options){.size = sizeof o, .replay = "/nonexistent/j"};
    CHECK(!pdl_task_start(e, p, &o, &error) && is_error(&error, "io", "/nonexistent/j"));
    o = (pdl_task_options){.size = sizeof o, .budget = "cals=1"};
    CHECK(!pdl_task_start(e, p, &o, &error));
    CHECK(is_error(&error, "usage", "'cals=1' is not a budget"));
    o = (pdl_task_options){.size = sizeof o, .timeout = "soon"};
    CHECK(!pdl_task_start(e, p, &o, &error) && is_error(&error, "usage", "soon"));
    o = (pdl_task_options){.size = sizeof o, .max_rps = -1};
    CHECK(!pdl_task_start(e, p, &o, &error) && is_error(&error, "usage", "max_rps"));
    o = (pdl_task_options){.size = sizeof o, .cache = "/nonexistent/c"};
    CHECK(!pdl_task_start(e, p, &o, &error) && is_error(&error, "io", "/nonexistent/c"));
    o = (pdl_task_options){.size = sizeof o, .prices = "/nonexistent/p"};
    CHECK(!pdl_task_start(e, p, &o, &error) && is_error(&error, "io", "/nonexistent/p"));
    CHECK(!pdl_task_start(NULL, p, NULL, &error) && is_error(&error, "usage", "engine"));
    CHECK(!pdl_task_start(e, NULL, NULL, &error) && is_error(&error, "usage", "program") &&
          !pdl_task_start(e, NULL, NULL, NULL));
    CHECK(!pdl_run_program(e, NULL, NULL, &error) && is_error(&error, "usage", "program"));
    pdl_value_drop(list);
    pdl_program_free(p);
}

static void test_misuse_of_engines(pdl_engine *e) {
    pdl_error *error = NULL;
    struct {
        pdl_engine_options o;
        char more[8];
    } newer = {.o = {.size = sizeof newer}};
    pdl_engine *other = pdl_engine_new(&newer.o, &error);
    CHECK(other && !error);
    pdl_engine_free(other);
    newer.more[0] = 1;
    CHECK(!pdl_engine_new(&newer.o, &error) && is_error(&error, "usage", "does not know"));
    pdl_engine_options bad = {.size = sizeof bad, .n_paths = 1};
    CHECK(!pdl_engine_new(&bad, &error) && is_error(&error, "usage", "paths"));
    CHECK(!pdl_engine_handle(e, "nothing", "", (pdl_handler_fn *)abort, NULL, &error) &&
          is_error(&error, "usage", "nothing"));
    CHECK(!pdl_engine_handle(NULL, "model", "", NULL, NULL, &error) &&
          is_error(&error, "usage", "engine"));
    CHECK(!pdl_engine_handle(e, "model", "", NULL, NULL, &error) &&
          is_error(&error, "usage", "handler"));
    CHECK(pdl_task_step(NULL) == PDL_TASK_FAILED && pdl_task_wait(NULL, 0) == PDL_TASK_FAILED &&
          pdl_task_state(NULL) == PDL_TASK_FAILED);
    CHECK(!pdl_task_result(NULL, &error) && is_error(&error, "usage", "NULL") &&
          !pdl_task_variables(NULL, NULL) && !pdl_task_messages(NULL, NULL));
    CHECK(!pdl_task_trace(NULL, &error) && is_error(&error, "usage", "NULL") &&
          !pdl_task_usage(NULL) && !pdl_task_error(NULL));
    CHECK(pdl_task_fd(NULL) == -1 && pdl_task_deadline_ms(NULL) == -1 && !pdl_request_data(NULL) &&
          pdl_request_is_cancelled(NULL));
    CHECK(!pdl_request_piece(NULL, "", 0) && !pdl_value_function(NULL, NULL, NULL) &&
          !pdl_set_allocator(malloc, NULL, NULL));
    pdl_request_answer(NULL, NULL);
    pdl_request_refuse(NULL, NULL, NULL);
    pdl_task_cancel(NULL);
    pdl_task_wake(NULL);
    pdl_task_free(NULL);
    pdl_program_free(NULL);
    pdl_engine_free(NULL);
    pdl_error_free(NULL);
    pdl_error_print(NULL, stdout);
}

/* --- requests --------------------------------------------------------------------------------- */

static void echo(void *user, pdl_request *r) { /* the value `user`, as text */
    pdl_value *v = user ? pdl_value_text(user) : pdl_value_null();
    pdl_request_answer(r, v);
    pdl_value_drop(v);
}

static void in_pieces(void *user, pdl_request *r) {
    (void)user;
    CHECK(pdl_request_piece(r, "one ", 4) && pdl_request_piece(r, "two", 3) &&
          !pdl_request_piece(r, "\xff", 1) && !pdl_request_piece(r, NULL, 1));
    pdl_value *v = pdl_value_dict(), *content = pdl_value_text("one two");
    pdl_value_put(v, "content", content);
    pdl_request_answer(r, v);
    pdl_value_drop(content);
    pdl_value_drop(v);
}

static void refuse(void *user, pdl_request *r) { pdl_request_refuse(r, user, "too much"); }
static void answer_number(void *user, pdl_request *r) {
    (void)user;
    pdl_value *v = pdl_value_int(7);
    pdl_request_answer(r, v);
    pdl_value_drop(v);
}
static void keep_request(void *user, pdl_request *r) { *(pdl_request **)user = r; }

typedef struct kept {
    pdl_request *r[4];
    size_t n;
} kept;
static void collect(void *user, pdl_request *r) {
    kept *k = user;
    k->r[k->n++] = r;
}

static void add_args(void *user, pdl_request *r) {
    (void)user;
    int64_t sum = 0, i;
    pdl_value *args = pdl_value_get(pdl_request_data(r), "args"),
              *kwargs = pdl_value_get(pdl_request_data(r), "kwargs");
    for (size_t j = 0; j < pdl_value_len(args) + pdl_value_len(kwargs); j++) {
        pdl_value *x = j < pdl_value_len(args) ? pdl_value_at(args, j)
                                               : pdl_value_at(kwargs, j - pdl_value_len(args));
        if (pdl_value_get_int(x, &i)) sum += i;
        pdl_value_drop(x);
    }
    pdl_value *v = pdl_value_int(sum);
    pdl_request_answer(r, v);
    pdl_value_drop(v);
    pdl_value_drop(args);
    pdl_value_drop(kwargs);
}

static void test_requests(void) {
    pdl_error *error = NULL;
    pdl_engine *e = pdl_engine_new(NULL, &error);
    static char any[] = "any", longer[] = "longer", line[] = "a line", file[] = "of a file",
                shell[] = "output", quota[] = "quota", code[] = "from code";
    CHECK(pdl_engine_handle(e, "model", "my/", echo, any, &error) &&
          pdl_engine_handle(e, "model", "my/long", echo, longer, &error));
    CHECK(pdl_engine_handle(e, "model", "pieces", in_pieces, NULL, &error) &&
          pdl_engine_handle(e, "model", "bad", refuse, quota, &error));
    CHECK(pdl_engine_handle(e, "model", "number", answer_number, NULL, &error) &&
          pdl_engine_handle(e, "input", NULL, echo, line, &error));
    CHECK(pdl_engine_handle(e, "read", "", echo, file, &error) &&
          pdl_engine_handle(e, "command", "uname", echo, shell, &error));
    CHECK(pdl_engine_handle(e, "code", "python", echo, code, &error));
    static const struct {
        const char *program, *want;
    } rows[] = {
        {"model: my/x\ninput: hi\n", "any"},
        {"model: my/longest\ninput: hi\n", "longer"},
        {"model: pieces\ninput: hi\n", "one two"},
        {"lastOf:\n- model: pieces\n  input: hi\n  modelResponse: raw\n- ${ "
         "raw.choices[0].message.role }\n",
         "assistant"},
        {"model: bad\ninput: hi\n", "Error during 'bad' model call: too much"},
        {"model: bad\ninput: hi\nfallback:\n  text: kept\n", "kept"},
        {"model: number\ninput: hi\n",
         "the host program answered a request of kind model with a value of "
         "type int, not text, {content, ...} or a chat completion"},
        {"read: null\nmessage: \"? \"\n", "a line"},
        {"read: ./nowhere.txt\n", "of a file"},
        {"lang: command\ncode: uname -a\n", "output"},
        {"lang: python\ncode: |\n  result = 1\n", "from code"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool ok = is_text(run_text(e, rows[i].program, NULL), rows[i].want);
        check(ok, __FILE__, __LINE__, rows[i].program);
    }
    pdl_value *inputs = pdl_value_dict(), *add = pdl_value_function("add", add_args, NULL);
    CHECK(pdl_value_put(inputs, "add", add) && pdl_value_kind(add) == PDL_KIND_FUNCTION);
    pdl_value_drop(add);
    CHECK(is_text(run_text(e, "text: ${ add(1, 2, three=3) + add() }\n", inputs), "6"));
    CHECK(is_text(
        run_text(e, "for: {i: [1, 2, 3]}\nrepeat: ${ add(i, 10) }\njoin: {as: array}\n", inputs),
        "[11, 12, 13]"));
    CHECK(is_text(run_text(e, "text: ${ add.name }\nfallback: none\n", inputs), "none"));
    CHECK(is_text(run_text(e, "text: ${ add }\n", inputs), "<function add>"));
    pdl_value_drop(inputs);
    pdl_engine_free(e);
}

static void answer_json(void *user, pdl_request *r) {
    pdl_value *v = pdl_value_from_json(user, strlen(user), NULL);
    pdl_request_answer(r, v);
    pdl_value_drop(v);
}

/* What a host program may answer to each kind of request; anything else is reported with the kind,
 * the type and what would do. */
static void test_answers(void) {
    static const struct {
        const char *kind, *answer, *program, *want;
    } rows[] = {
        {"command", "\"out\"", "args: [x]\n", "out"},
        {"command", "{\"stdout\": \"o\", \"stderr\": \"\"}", "args: [x]\n", "o"},
        {"command", "{\"status\": 3}", "args: [x]\nfallback: failed\n", "failed"},
        {"command", "7", "args: [x]\n",
         "the host program answered a request of kind command with a value of type int, not text "
         "or {stdout, stderr, status}"},
        {"command", "{\"stdout\": 7}", "args: [x]\n",
         "the host program answered a request of kind command with a value of type dict, not text "
         "or {stdout: text, stderr: text, status: integer}"},
        {"read", "\"text\"", "read: x\n", "text"},
        {"read", "7", "read: x\n",
         "the host program answered a request of kind read with a value of type int, not text"},
        {"input", "null", "read: null\nfallback: nothing\n", "nothing"},
        {"input", "7", "read: null\n",
         "the host program answered a request of kind input with a value of type int, not text or "
         "null"},
        {"source", "\"data: 5\"", "include: somewhere\n", "5"},
        {"source", "7", "include: somewhere\n",
         "the host program answered a request of kind source with a value of type int, not text or "
         "null"},
        {"random", "5", "text: ${ [1]|random }\n", "1"},
        {"model",
         "{\"content\": \"c\", \"usage\": {\"completion_tokens\": 3, \"prompt_tokens\": 4}}",
         "model: m\n", "c"},
        {"model", "[1]", "model: m\n",
         "the host program answered a request of kind model with a value of type list, not text, "
         "{content, ...} or a chat completion"},
        {"embed", "{\"embeddings\": [[1, 2]], \"usage\": null}",
         "text: \"${ stdlib.embed('m', ['a']) }\"\n",
         "{\"embeddings\": [[1, 2]], \"usage\": null}"},
        {"http", "7", "text: \"${ stdlib.http('http://x/') }\"\n",
         "the host program answered a request of kind http with a value of type int, not text or "
         "{status: integer, headers: object, text: text}"},
        {"embed", "7", "text: \"${ stdlib.embed('m', ['a']) }\"\n",
         "the host program answered a request of kind embed with a value of type int, not "
         "{embeddings, usage}"},
        {"write", "7",
         "data: x\ncontribute: [result, f]\ndefs: {f: {aggregator: {file: nowhere}}}\n", "x"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pdl_error *error = NULL;
        pdl_engine *e = pdl_engine_new(NULL, &error);
        char answer[128];
        snprintf(answer, sizeof answer, "%s", rows[i].answer);
        bool ok = pdl_engine_handle(e, rows[i].kind, NULL, answer_json, answer, &error);
        check(ok && is_text(run_text(e, rows[i].program, NULL), rows[i].want), __FILE__, __LINE__,
              rows[i].program);
        pdl_error_free(error);
        pdl_engine_free(e);
    }
}

/* An answer between two steps, as a program with its own loop gives it. */
static void test_loop(void) {
    pdl_error *error = NULL;
    kept open = {.n = 0};
    pdl_engine *e = pdl_engine_new(NULL, &error);
    CHECK(pdl_engine_handle(e, "model", "", collect, &open, &error));
    pdl_program *p =
        load(e, "text:\n- model: any\n  input: hi\n- \" \"\n- model: any\n  input: there\n");
    pdl_task *t = pdl_task_start(e, p, NULL, &error);
    pdl_engine_free(e); /* the task keeps it */
    pdl_program_free(p);
    pdl_state state = PDL_TASK_WAITING;
    for (int turns = 0; state == PDL_TASK_WAITING && turns < 100; turns++) {
        state = pdl_task_step(t);
        if (open.n == 2 && turns > 2) { /* both calls are open; the last is answered first */
            static char last[] = "world", first[] = "hello";
            echo(last, open.r[--open.n]);
            state = pdl_task_step(t);
            CHECK(state == PDL_TASK_WAITING);
            echo(first, open.r[--open.n]);
        }
        struct pollfd fd = {.fd = pdl_task_fd(t), .events = POLLIN};
        if (state == PDL_TASK_WAITING) poll(&fd, 1, pdl_task_deadline_ms(t));
    }
    CHECK(state == PDL_TASK_DONE && is_text(pdl_task_result(t, &error), "hello world"));
    pdl_task_free(t);
}

static void *wake_later(void *task) {
    usleep(30000);
    pdl_task_wake(task);
    return NULL;
}

static void test_cancelled_requests(void) {
    pdl_error *error = NULL;
    pdl_request *open = NULL;
    pdl_engine *e = pdl_engine_new(NULL, &error);
    CHECK(pdl_engine_handle(e, "model", "", keep_request, &open, &error));
    pdl_program *p = load(e, "model: any\ninput: hi\n");
    pdl_task *t = pdl_task_start(e, p, NULL, &error);
    CHECK(pdl_task_wait(t, 20) == PDL_TASK_WAITING && open && !pdl_request_is_cancelled(open));
    pthread_t thread;
    pthread_create(&thread, NULL, wake_later, t);
    CHECK(pdl_task_wait(t, 100) == PDL_TASK_WAITING); /* woken, nothing to do, waits on */
    pthread_join(thread, NULL);
    pdl_task_cancel(t);
    CHECK(pdl_task_state(t) == PDL_TASK_FAILED && pdl_request_is_cancelled(open) &&
          !pdl_request_piece(open, "x", 1));
    pdl_request_answer(open, NULL);
    pdl_task_free(t);
    open = NULL;
    t = pdl_task_start(e, p, NULL, &error);
    CHECK(pdl_task_step(t) == PDL_TASK_WAITING && open);
    pdl_task_free(t);
    CHECK(pdl_request_is_cancelled(open));
    pdl_request_refuse(open, "timeout", "late");
    open = NULL;
    t = pdl_task_start(e, p, NULL, &error); /* answered, and never looked at */
    CHECK(pdl_task_step(t) == PDL_TASK_WAITING && open);
    pdl_request_refuse(open, NULL, NULL);
    pdl_task_free(t);
    pdl_program_free(p);
    pdl_engine_free(e);
}

static void test_journal(void) {
    pdl_error *error = NULL;
    static char said[] = "recorded";
    char file[] = "/tmp/pdl_api_XXXXXX";
    int fd = mkstemp(file);
    if (fd >= 0) close(fd);
    unlink(file);
    pdl_engine *e = pdl_engine_new(NULL, &error), *plain = pdl_engine_new(NULL, &error);
    CHECK(pdl_engine_handle(e, "model", "", echo, said, &error));
    pdl_program *p = load(e, "model: any\ninput: hi\n");
    pdl_task_options o = {.size = sizeof o, .record = file};
    pdl_task *t = pdl_task_start(e, p, &o, &error);
    CHECK(pdl_task_wait(t, -1) == PDL_TASK_DONE);
    pdl_task_free(t);
    CHECK(!pdl_task_start(e, p, &o, &error) && is_error(&error, "usage", "exist"));
    o = (pdl_task_options){.size = sizeof o, .replay = file};
    t = pdl_task_start(plain, p, &o, &error);
    CHECK(pdl_task_wait(t, -1) == PDL_TASK_DONE && is_text(pdl_task_result(t, &error), "recorded"));
    pdl_task_free(t);
    pdl_program_free(p);
    pdl_engine_free(e);
    pdl_engine_free(plain);
    unlink(file);
}

static void answer_counted(void *user, pdl_request *r) {
    pdl_value *v = pdl_value_text("yes ");
    ++*(int *)user;
    pdl_request_answer(r, v);
    pdl_value_drop(v);
}

/* The result, or the kind of the error, of a run with these options. */
static bool ends_with(pdl_engine *e, pdl_program *p, const pdl_task_options *o, const char *result,
                      const char *kind) {
    pdl_error *error = NULL;
    pdl_task *t = pdl_task_start(e, p, o, &error);
    if (!t) return is_error(&error, "", "a task");
    pdl_task_wait(t, -1);
    pdl_value *v = pdl_task_result(t, &error);
    pdl_task_free(t);
    return v ? is_text(v, result) : is_error(&error, kind, "");
}

static void test_limits(void) {
    pdl_error *error = NULL;
    int asked = 0;
    char file[] = "/tmp/pdl_api_XXXXXX";
    int fd = mkstemp(file);
    if (fd >= 0) close(fd);
    unlink(file);
    pdl_engine *e = pdl_engine_new(NULL, &error);
    CHECK(pdl_engine_handle(e, "model", "", answer_counted, &asked, &error));
    pdl_program *p = load(e, "text:\n- {model: any, input: a}\n- {model: any, input: b}\n");
    pdl_task_options o = {.size = sizeof o, .budget = "calls=2"};
    CHECK(ends_with(e, p, &o, "yes yes ", "") && asked == 2);
    o.budget = "calls=1";
    CHECK(ends_with(e, p, &o, "", "budget") && asked == 3);
    o.budget = "cost=1"; /* the price is not known */
    CHECK(ends_with(e, p, &o, "", "config") && asked == 3);
    o = (pdl_task_options){.size = sizeof o, .cache = file};
    CHECK(ends_with(e, p, &o, "yes yes ", "") && asked == 5);
    o.budget = "calls=0"; /* what is cached is free */
    CHECK(ends_with(e, p, &o, "yes yes ", "") && asked == 5);
    pdl_program *loop = load(e, "repeat: ''\nwhile: true\n");
    o = (pdl_task_options){.size = sizeof o, .budget = "seconds=0.1"};
    CHECK(ends_with(e, loop, &o, "", "budget"));
    pdl_program_free(loop);
    pdl_program_free(p);
    pdl_engine_free(e);
    unlink(file);
}

/* A model that never says anything: a listening socket. */
static void test_timeout(void) {
    char url[64];
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&a, n) == 0 && listen(fd, 16) == 0 &&
          getsockname(fd, (struct sockaddr *)&a, &n) == 0);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/v1", ntohs(a.sin_port));
    setenv("OPENAI_API_BASE", url, 1);
    setenv("OPENAI_API_KEY", "none", 1);
    pdl_error *error = NULL;
    pdl_engine *e = pdl_engine_new(NULL, &error);
    pdl_program *p = load(e, "model: openai/any\ninput: hi\nparameters: {max_retries: 0}\n");
    pdl_task_options o = {.size = sizeof o, .timeout = "total=0.2"};
    CHECK(ends_with(e, p, &o, "", "timeout"));
    pdl_program_free(p);
    pdl_engine_free(e);
    close(fd);
}

static void free_inside(void *user, const pdl_report *r) {
    seen *s = user;
    if (s->task && strcmp(r->kind, "run_end") == 0) {
        CHECK(pdl_task_wait(s->task, -1) == PDL_TASK_WAITING &&
              pdl_task_step(s->task) == PDL_TASK_WAITING);
        pdl_task_free(s->task);
        s->task = NULL;
    }
}

static void test_free_inside(pdl_engine *e) {
    pdl_error *error = NULL;
    seen s = {.text = ""};
    pdl_program *p = load(e, "text: hi\n");
    pdl_task_options o = {.size = sizeof o, .user = &s, .report = free_inside};
    s.task = pdl_task_start(e, p, &o, &error);
    CHECK(pdl_task_wait(s.task, -1) == PDL_TASK_DONE && !s.task);
    s.task = pdl_task_start(e, p, &o, &error);
    pdl_task_cancel(s.task);
    CHECK(!s.task);
    pdl_program_free(p);
}

static volatile int alarmed;
static void on_alarm(int number) {
    (void)number;
    alarmed = SIGINT;
}

/* One comparison would take years: what it compares is put into itself twice, 60 times over. */
static void test_interrupt(pdl_engine *e) {
    pdl_error *error = NULL;
    pdl_program *p = load(e, "defs: {x: {data: [1]}, y: {data: [1]}}\ntext:\n"
                             "- for: {i: '${ range(60) }'}\n"
                             "  repeat: {defs: {x: '${ [x, x] }', y: '${ [y, y] }'}, text: ''}\n"
                             "- text: '${ x == y }'\n  fallback: no\n");
    pdl_task_options o = {.size = sizeof o, .interrupt = &alarmed};
    signal(SIGALRM, on_alarm);
    for (int early = 0; early < 2; early++) { /* the second time it is set before the begin */
        pdl_task *t = pdl_task_start(e, p, &o, &error);
        if (!early) alarm(1);
        CHECK(t && !error && pdl_task_wait(t, -1) == PDL_TASK_FAILED && alarmed == SIGINT);
        CHECK(strcmp(pdl_task_error(t)->kind, "interrupt") == 0);
        pdl_task_free(t);
    }
    pdl_program_free(p);
}

int main(void) {
    pdl_error *error = NULL;
    pdl_engine *e = pdl_engine_new(NULL, &error);
    CHECK(e && !error && strchr(pdl_version(), '.'));
    test_values();
    test_programs(e);
    test_trees(e);
    test_contexts(e);
    test_runs(e);
    test_messages(e);
    test_ends(e);
    test_misuse(e);
    test_misuse_of_engines(e);
    test_free_inside(e);
    test_interrupt(e);
    pdl_engine_free(e);
    test_requests();
    test_answers();
    test_loop();
    test_cancelled_requests();
    test_journal();
    test_limits();
    test_timeout();
    return counts();
}
