/* programs.c -- programs as trees of values, and the requests that they would send. Written in C11.
 * Prints the failed checks, then the counts.
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
    if (!ok) printf("programs.c:%d: %s\n", line, what);
}
#define CHECK(x) check((x), __LINE__, #x)

static pdl_value *json(const char *text) { return pdl_value_from_json(text, strlen(text), NULL); }

static bool is_json(pdl_value *v, const char *want) {
    pdl_value *text = pdl_value_to_json(v, 0, NULL);
    const char *got = pdl_value_get_text(text, NULL);
    bool ok = got && strcmp(got, want) == 0;
    if (!ok) printf("  got %s, not %s\n", got ? got : "none", want);
    pdl_value_drop(text);
    pdl_value_drop(v);
    return ok;
}

static void test_trees(pdl_engine *e) {
    pdl_error *error = NULL;
    pdl_value *tree =
        json("{\"defs\": {\"a\": {\"data\": [1, \"2\"]}}, \"data\": [\"${ a }\", \"yes\"]}");
    pdl_program *p = pdl_load_value(e, tree, "made.pdl", &error);
    CHECK(p && is_json(pdl_run_program(e, p, NULL, NULL), "[[1, \"2\"], \"yes\"]"));
    pdl_value *text = pdl_program_text(p), *yaml = pdl_value_to_yaml(tree, NULL);
    CHECK(pdl_value_equal(text, yaml));
    pdl_value_drop(text);
    pdl_value_drop(yaml);
    pdl_program_free(p);
    pdl_value_drop(tree);

    tree = json("{\"text\": [\"a\", {\"iff\": 1}]}");
    CHECK(!pdl_load_value(e, tree, "made.pdl", &error));
    CHECK(error && strcmp(error->kind, "schema") == 0 && error->line == 3 &&
          strcmp(error->file, "made.pdl") == 0);
    CHECK(error && strcmp(error->path, "text[1].iff") == 0 &&
          strstr(error->text, "\n  at text[1].iff\n"));
    pdl_error_free(error);
    pdl_value_drop(tree);
}

/* The part of a tree that an error is in: of a run, of keys that are no names; none of texts. */
static void test_parts(pdl_engine *e) {
    static const char *const rows[][2] = {
        {"{\"text\": [\"a\", {\"data\": \"${ nope }\"}]}", "text[1].data"},
        {"{\"text\": [\"a\", \"x\\n${ nope }\"]}", "text[1]"},
        {"{\"data\": {\"a b\": [[\"${ nope }\"]]}}", "data[\"a b\"][0][0]"},
        {"[\"a\", {\"if\": \"${ nope }\", \"then\": \"b\"}]", "[1].if"},
        {"{\"defs\": {\"f\": {\"text\": \"${ nope }\"}}, \"text\": \"${ f }\"}", "defs.f.text"},
        {"\"${ nope }\"", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pdl_error *error = NULL;
        pdl_value *tree = json(rows[i][0]);
        pdl_program *p = pdl_load_value(e, tree, NULL, &error);
        CHECK(p && !pdl_run_program(e, p, NULL, &error) && error);
        CHECK(error && strcmp(error->path, rows[i][1]) == 0);
        if (error && strcmp(error->path, rows[i][1]) != 0) printf("  %s\n", error->path);
        pdl_error_free(error);
        pdl_value_drop(tree);
        if (i == 0) {
            pdl_value *found = pdl_check_program(e, p, NULL), *first = pdl_value_at(found, 0),
                      *path = pdl_value_get(first, "path");
            CHECK(is_json(path, "\"text[1].data\""));
            pdl_value_drop(first);
            pdl_value_drop(found);
        }
        pdl_program_free(p);
    }
    pdl_error *error = NULL;
    pdl_program *p = pdl_load_text(e, "text: ${ nope }", 15, NULL, NULL);
    CHECK(!pdl_run_program(e, p, NULL, &error) && error && !*error->path);
    pdl_error_free(error);
    pdl_value *found = pdl_check_program(e, p, NULL), *first = pdl_value_at(found, 0);
    CHECK(first && !pdl_value_get(first, "path"));
    pdl_value_drop(first);
    pdl_value_drop(found);
    pdl_program_free(p);
    CHECK(!pdl_check_program(e, NULL, NULL) && !pdl_check_program(NULL, NULL, NULL));
}

/* Values of an engine are dropped by it, also when they are somebody else's and none at all. */
static void test_drops(pdl_engine *e) {
    pdl_program *p = pdl_load_text(e, "data: {a: [1, b]}", 17, NULL, NULL);
    pdl_value *v = pdl_run_program(e, p, NULL, NULL), *again = pdl_value_keep(v);
    pdl_engine_drop_value(e, v);
    CHECK(is_json(again, "{\"a\": [1, \"b\"]}"));
    pdl_engine_drop_value(e, NULL);
    pdl_engine_drop_value(e, pdl_value_text("made by nobody"));
    pdl_engine_drop_value(NULL, pdl_value_list());
    v = pdl_run_program(e, p, NULL, NULL);
    pdl_program_free(p);
    pdl_engine_drop_value(e, v);
}

static void no_answer(void *user, pdl_request *r) {
    (void)user;
    pdl_request_refuse(r, NULL, "asked");
}

static void test_misuse(pdl_engine *e) {
    pdl_error *error = NULL;
    pdl_value *list = pdl_value_list(), *f = pdl_value_function("f", no_answer, NULL);
    pdl_value_push(list, f);
    CHECK(!pdl_load_value(e, list, NULL, &error) && error && strcmp(error->kind, "usage") == 0);
    pdl_error_free(error);
    CHECK(!pdl_load_value(NULL, list, NULL, NULL) && !pdl_load_value(e, NULL, NULL, NULL));
    CHECK(!pdl_program_text(NULL));
    pdl_program *p = pdl_load_text(e, "text: a", 7, NULL, NULL);
    CHECK(!pdl_explain(NULL, p, NULL, NULL, NULL) && !pdl_explain(e, NULL, NULL, NULL, NULL));
    error = NULL;
    CHECK(!pdl_explain(e, p, list, NULL, &error) && error && strstr(error->message, "inputs"));
    pdl_error_free(error);
    error = NULL;
    CHECK(!pdl_explain(e, p, NULL, "nonsense", &error) && error &&
          strstr(error->message, "nonsense"));
    pdl_error_free(error);
    pdl_program_free(p);
    pdl_value_drop(list);
    pdl_value_drop(f);
}

static void test_explain_call(pdl_engine *e) {
    static const char text[] = "model: openai/x\ninput: ${ q }\nparameters: {api_key: k}\n";
    pdl_value *in = json("{\"q\": \"bees\"}");
    pdl_program *p = pdl_load_text(e, text, strlen(text), NULL, NULL);
    pdl_value *v = pdl_explain(e, p, in, NULL, NULL), *calls = pdl_value_get(v, "calls"),
              *call = pdl_value_at(calls, 0), *no = pdl_value_get(v, "not_done");
    CHECK(pdl_value_len(calls) == 1 && pdl_value_len(no) == 0);
    CHECK(
        is_json(pdl_value_get(call, "messages"), "[{\"role\": \"user\", \"content\": \"bees\"}]"));
    pdl_value_drop(no);
    pdl_value_drop(call);
    pdl_value_drop(calls);
    pdl_value_drop(v);
    pdl_program_free(p);
    pdl_value_drop(in);
}

static void test_allow(pdl_engine *e) {
    static const char text[] = "lang: command\ncode: 'false'\n";
    pdl_error *error = NULL;
    pdl_program *p = pdl_load_text(e, text, strlen(text), NULL, NULL);
    pdl_value *v = pdl_explain(e, p, NULL, NULL, NULL), *no = pdl_value_get(v, "not_done");
    CHECK(pdl_value_len(no) == 1);
    pdl_value_drop(no);
    pdl_value_drop(v);
    CHECK(!pdl_explain(e, p, NULL, "command", &error)); /* it fails */
    CHECK(error && strcmp(error->kind, "code") == 0);
    pdl_error_free(error);
    pdl_program_free(p);
}

int main(void) {
    pdl_engine *e = pdl_engine_new(NULL, NULL);
    test_trees(e);
    test_drops(e);
    test_parts(e);
    test_misuse(e);
    test_explain_call(e);
    test_allow(e);
    pdl_engine_free(e);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
