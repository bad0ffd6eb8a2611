/* calls.c -- The host program calls functions of programs, and its callbacks run further tasks.
 * Written in C11. Prints the failed checks, then the counts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include <pdl.h>

static int passed, failed;

static void check(bool ok, int line, const char *what) {
    passed += ok;
    failed += !ok;
    if (!ok) printf("calls.c:%d: %s\n", line, what);
}
#define CHECK(x) check((x), __LINE__, #x)

static pdl_program *load(pdl_engine *e, const char *text) {
    pdl_error *error = NULL;
    pdl_program *p = pdl_load_text(e, text, strlen(text), "lib.pdl", &error);
    if (!p) pdl_error_print(error, stdout);
    pdl_error_free(error);
    return p;
}

static const char LIBRARY[] = "defs:\n"
                              "  first: 1\n"
                              "  second: 40\n"
                              "  add:\n"
                              "    description: Adds.\n"
                              "    function: {a: integer, b: {type: integer}}\n"
                              "    return: ${ a + b + second }\n"
                              "  ask:\n"
                              "    function: {q: string}\n"
                              "    return: {model: m/x, input: '${ q }'}\n"
                              "  bad:\n"
                              "    function: {}\n"
                              "    return: ${ nowhere }\n"
                              "  outer:\n"
                              "    function: {f: obj}\n"
                              "    return: ${ f(1) }\n"
                              "text: ${ second }\n";

/* The variables of the library; its task and program are gone. */
static pdl_value *variables(pdl_engine *e) {
    pdl_program *p = load(e, LIBRARY);
    pdl_task *t = pdl_task_start(e, p, NULL, NULL);
    pdl_task_wait(t, -1);
    pdl_value *v = pdl_task_variables(t, NULL);
    pdl_task_free(t);
    pdl_program_free(p);
    return v;
}

static pdl_value *numbers(int64_t a, int64_t b) { return pdl_value_ints((int64_t[]){a, b}, 2); }

static bool is_int(pdl_value *v, int64_t want) {
    int64_t n = 0;
    bool ok = pdl_value_get_int(v, &n) && n == want;
    pdl_value_drop(v);
    return ok;
}

/* --- calls ---------------------------------------------------------------------------------- */

static void test_call(pdl_engine *e) {
    pdl_value *all = variables(e), *add = pdl_value_get(all, "add"), *args = numbers(1, 2);
    CHECK(pdl_value_kind(add) == PDL_KIND_FUNCTION);
    pdl_task *t = pdl_value_call(e, add, args, NULL, NULL, NULL);
    CHECK(pdl_task_wait(t, 1000) == PDL_TASK_DONE);
    CHECK(is_int(pdl_task_result(t, NULL), 43));
    pdl_task_free(t);

    pdl_value *kwargs = pdl_value_dict(), *ten = pdl_value_int(10);
    pdl_value_put(kwargs, "b", ten);
    pdl_value_put(kwargs, "a", ten);
    t = pdl_value_call(e, add, NULL, kwargs, NULL, NULL);
    CHECK(pdl_task_wait(t, 1000) == PDL_TASK_DONE);
    CHECK(is_int(pdl_task_result(t, NULL), 60));
    pdl_task_free(t);
    pdl_value_drop(kwargs);

    pdl_value *signature = pdl_value_signature(add), *json = pdl_value_to_json(signature, 0, NULL);
    const char *text = pdl_value_get_text(json, NULL);
    CHECK(text && strstr(text, "\"name\": \"add\"") && strstr(text, "\"description\": \"Adds.\""));
    pdl_value_drop(json);
    pdl_value_drop(signature);
    CHECK(!pdl_value_signature(ten) && !pdl_value_signature(NULL));

    pdl_value *bad = pdl_value_get(all, "bad");
    t = pdl_value_call(e, bad, NULL, NULL, NULL, NULL);
    CHECK(pdl_task_wait(t, 1000) == PDL_TASK_FAILED);
    CHECK(strstr(pdl_task_error(t)->text, "'nowhere' is undefined") &&
          strcmp(pdl_task_error(t)->file, "lib.pdl") == 0 && pdl_task_error(t)->line == 13);
    pdl_task_free(t);

    t = pdl_value_call(e, ten, args, NULL, NULL, NULL); /* no function */
    CHECK(pdl_task_wait(t, 1000) == PDL_TASK_FAILED);
    CHECK(strstr(pdl_task_error(t)->text, "not callable") != NULL);
    pdl_task_free(t);
    pdl_value_drop(bad);
    pdl_value_drop(ten);
    pdl_value_drop(args);
    pdl_value_drop(add);
    pdl_value_drop(all);
}

/* A function goes into the run of another program, whose names came in another order. */
static void test_functions_travel(pdl_engine *e) {
    pdl_value *all = variables(e), *add = pdl_value_get(all, "add"), *in = pdl_value_dict();
    pdl_value_put(in, "f", add);
    pdl_program *p = load(e, "defs: {zz: 1, yy: 2, second: 5}\ndata: ${ f(a=zz, b=yy) }");
    CHECK(is_int(pdl_run_program(e, p, in, NULL), 43));
    pdl_program_free(p);
    pdl_value_drop(in);
    pdl_value_drop(add);
    pdl_value_drop(all);
}

static void test_misuse(pdl_engine *e) {
    pdl_value *d = pdl_value_dict(), *one = pdl_value_int(1), *odd = pdl_value_dict();
    pdl_error *error = NULL;
    pdl_value_put_at(odd, one, one);
    pdl_task_options o = {.size = sizeof o, .inputs = d};
    CHECK(!pdl_value_call(NULL, d, NULL, NULL, NULL, NULL));
    CHECK(!pdl_value_call(e, NULL, NULL, NULL, NULL, &error));
    CHECK(error && strcmp(error->kind, "usage") == 0);
    pdl_error_free(error);
    CHECK(!pdl_value_call(e, d, d, NULL, NULL, NULL));
    CHECK(!pdl_value_call(e, d, NULL, one, NULL, NULL));
    CHECK(!pdl_value_call(e, d, NULL, odd, NULL, NULL));
    CHECK(!pdl_value_call(e, d, NULL, NULL, &o, NULL));
    pdl_value_drop(d);
    pdl_value_drop(one);
    pdl_value_drop(odd);
}

/* --- while a program waits -------------------------------------------------------------------- */

static pdl_request *asked;
static void on_model(void *user, pdl_request *r) {
    (void)user;
    asked = r;
}

static void answer_text(pdl_request *r, const char *text) {
    pdl_value *v = pdl_value_text(text);
    pdl_request_answer(r, v);
    pdl_value_drop(v);
}

/* A call waits for a model as any task does. */
static void test_call_waits(pdl_engine *e) {
    pdl_value *all = variables(e), *ask = pdl_value_get(all, "ask"), *q = pdl_value_text("bees?"),
              *args = pdl_value_list();
    pdl_value_push(args, q);
    CHECK(pdl_engine_handle(e, "model", "m/", on_model, NULL, NULL));
    pdl_task *t = pdl_value_call(e, ask, args, NULL, NULL, NULL);
    CHECK(pdl_task_step(t) == PDL_TASK_WAITING && asked);
    answer_text(asked, "bees!");
    CHECK(pdl_task_wait(t, 1000) == PDL_TASK_DONE);
    pdl_value *v = pdl_task_result(t, NULL);
    CHECK(strcmp(pdl_value_get_text(v, NULL), "bees!") == 0);
    pdl_value_drop(v);
    pdl_task_free(t);
    pdl_value_drop(args);
    pdl_value_drop(q);
    pdl_value_drop(ask);
    pdl_value_drop(all);
}

/* A function of the host program that is given a function of the program and calls it. */
static void calls_back(void *user, pdl_request *r) {
    pdl_engine *e = user;
    pdl_value *args = pdl_value_get(pdl_request_data(r), "args"), *f = pdl_value_at(args, 0),
              *with = numbers(1, 1);
    pdl_error *error = NULL;
    pdl_task_options o = {.size = sizeof o, .alone = true};
    pdl_task *t = pdl_value_call(e, f, with, NULL, &o, &error);
    CHECK(t && pdl_task_wait(t, 1000) == PDL_TASK_DONE);
    pdl_value *v = pdl_task_result(t, NULL);
    pdl_request_answer(r, v);
    pdl_error_free(error);
    pdl_value_drop(v);
    pdl_task_free(t);
    pdl_value_drop(with);
    pdl_value_drop(f);
    pdl_value_drop(args);
}

static void test_inside(pdl_engine *e) {
    static const char text[] = "defs:\n"
                               "  second: 5\n"
                               "  add:\n"
                               "    function: {a: integer, b: integer}\n"
                               "    return: ${ a + b + second }\n"
                               "data: ${ host(add) + 1 }\n";
    pdl_value *in = pdl_value_dict(), *host = pdl_value_function("host", calls_back, e);
    pdl_value_put(in, "host", host);
    pdl_program *p = load(e, text);
    CHECK(is_int(pdl_run_program(e, p, in, NULL), 8));
    pdl_program_free(p);
    pdl_value_drop(host);
    pdl_value_drop(in);
}

static void with_engine(bool shared) {
    pdl_engine_options o = {.size = sizeof o, .shared = shared};
    pdl_engine *e = pdl_engine_new(&o, NULL);
    test_call(e);
    test_functions_travel(e);
    test_misuse(e);
    test_call_waits(e);
    test_inside(e);
    pdl_value *all = variables(e), *add = pdl_value_get(all, "add");
    pdl_engine_free(e); /* functions may outlive it */
    CHECK(pdl_value_kind(add) == PDL_KIND_FUNCTION);
    pdl_value_drop(add);
    pdl_value_drop(all);
}

/* --- settings of the engine ------------------------------------------------------------------- */

static void test_settings(void) {
    pdl_error *error = NULL;
    pdl_engine_options o = {.size = sizeof o, .shared = true, .timeout = "nonsense"};
    pdl_engine *e = pdl_engine_new(&o, NULL);
    pdl_program *p = load(e, "text: hi");
    CHECK(!pdl_task_start(e, p, NULL, &error));
    CHECK(error && strcmp(error->kind, "usage") == 0 && strstr(error->message, "nonsense"));
    pdl_error_free(error);
    error = NULL;
    pdl_program_free(p);
    pdl_engine_free(e);
    o.timeout = NULL;
    o.max_rps = -1;
    CHECK(!pdl_engine_new(&o, &error) && error && strstr(error->message, "max_rps"));
    pdl_error_free(error);
    error = NULL;
    o.max_rps = 0;
    o.prices = "/nowhere/prices.json";
    e = pdl_engine_new(&o, NULL);
    p = load(e, "text: hi");
    CHECK(!pdl_task_start(e, p, NULL, &error) && error && strcmp(error->kind, "io") == 0);
    pdl_error_free(error);
    pdl_program_free(p);
    pdl_engine_free(e);
}

/* --- handlers that decline -------------------------------------------------------------------- */

static void says(void *user, pdl_request *r) { answer_text(r, user); }
static void declines(void *user, pdl_request *r) {
    ++*(int *)user;
    pdl_request_decline(r);
}

static void test_decline(bool shared) {
    int n = 0;
    pdl_error *error = NULL;
    pdl_engine_options o = {.size = sizeof o, .shared = shared};
    pdl_engine *e = pdl_engine_new(&o, NULL);
    pdl_program *p = load(e, "model: a/bc\ninput: x"), *other = load(e, "model: zz/x\ninput: x");
    CHECK(pdl_engine_handle(e, "model", "a/", says, "prefix", NULL));
    CHECK(pdl_engine_handle(e, "model", "", declines, &n, NULL));
    CHECK(pdl_engine_handle(e, "model", "a/b", declines, &n, NULL));
    CHECK(pdl_engine_handle(e, "model", "a/b", declines, &n, NULL));
    pdl_value *v = pdl_run_program(e, p, NULL, NULL);
    CHECK(v && strcmp(pdl_value_get_text(v, NULL), "prefix") == 0 && n == 2);
    pdl_value_drop(v);
    CHECK(!pdl_run_program(e, other, NULL, &error)); /* by the library itself */
    CHECK(error && strcmp(error->kind, "unknown_provider") == 0 && n == 3);
    pdl_error_free(error);
    pdl_request_decline(NULL);
    pdl_program_free(p);
    pdl_program_free(other);
    pdl_engine_free(e);
}

/* --- code that changes variables -------------------------------------------------------------- */

static void appends(void *user, pdl_request *r) {
    pdl_value *vars = pdl_value_get(pdl_request_data(r), "vars"), *xs = pdl_value_get(vars, "xs"),
              *four = pdl_value_int(4), *changed = pdl_value_dict();
    (void)user;
    pdl_value_push(xs, four);
    pdl_value_put(changed, "xs", xs);
    pdl_request_answer_code(r, four, changed);
    pdl_value_drop(vars);
    pdl_value_drop(xs);
    pdl_value_drop(four);
    pdl_value_drop(changed);
}

static void test_code(void) {
    pdl_engine *e = pdl_engine_new(NULL, NULL);
    pdl_program *p = load(e, "defs:\n  xs: {data: [1]}\nlastOf:\n"
                             "- {def: r, lang: python, code: xs}\n- data: ${ [xs, r] }\n");
    CHECK(pdl_engine_handle(e, "code", "python", appends, NULL, NULL));
    pdl_value *v = pdl_run_program(e, p, NULL, NULL), *json = pdl_value_to_json(v, 0, NULL);
    CHECK(json && strcmp(pdl_value_get_text(json, NULL), "[[1, 4], 4]") == 0);
    pdl_value_drop(json);
    pdl_value_drop(v);
    pdl_program_free(p);
    pdl_request_answer_code(NULL, NULL, NULL);
    pdl_engine_free(e);
}

int main(void) {
    test_code();
    test_decline(false);
    test_decline(true);
    with_engine(false);
    with_engine(true);
    test_settings();
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
