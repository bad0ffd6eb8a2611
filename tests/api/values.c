/* values.c -- contexts, messages, variables and notes that host programs make with pdl.h. Written
 * in C11. Prints the failed checks, then the counts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "t.h"

static bool is_json(pdl_value *v, const char *want) {
    pdl_error *error = NULL;
    pdl_value *json = pdl_value_to_json(v, 0, &error);
    if (error) pdl_error_print(error, stdout);
    pdl_error_free(error);
    pdl_value_drop(v);
    return is_text(json, want);
}

/* A task that has ended. */
static pdl_task *ended(pdl_engine *e, const char *text, const pdl_value *inputs) {
    pdl_error *error = NULL;
    pdl_task_options o = {.size = sizeof o, .inputs = inputs};
    pdl_program *p = load(e, text);
    pdl_task *t = pdl_task_start(e, p, &o, &error);
    CHECK(pdl_task_wait(t, -1) == PDL_TASK_DONE);
    if (pdl_task_error(t)) pdl_error_print(pdl_task_error(t), stdout);
    pdl_error_free(error);
    pdl_program_free(p);
    return t;
}

static const char MESSAGES[] = "text:\n- one\n- {data: two, role: assistant}\n- {def: c, "
                               "contribute: [], data: '${ pdl_context }'}\n";

/* A context is a list of messages, which are dicts; also inside of other values. */
static void test_contexts(pdl_engine *e) {
    pdl_task *t = ended(e, MESSAGES, NULL);
    pdl_value *vars = pdl_task_variables(t, NULL), *c = pdl_value_get(vars, "c");
    CHECK(pdl_value_kind(c) == PDL_KIND_LIST && pdl_value_len(c) == 2);
    pdl_value *second = pdl_value_at(c, 1);
    CHECK(pdl_value_kind(second) == PDL_KIND_DICT &&
          is_text(pdl_value_get(second, "role"), "assistant") &&
          is_text(pdl_value_get(second, "content"), "two"));
    CHECK(!pdl_value_at(c, 2) && !pdl_value_key_at(c, 0) && !pdl_value_get(c, "role") &&
          !pdl_value_push(c, second));
    CHECK(is_json(pdl_value_keep(c),
                  "[{\"role\": \"user\", \"content\": \"one\", \"pdl__defsite\": \"text.0.data\"}, "
                  "{\"role\": \"assistant\", "
                  "\"content\": \"two\"}]"));
    pdl_value *list = pdl_value_list();
    CHECK(pdl_value_push(list, c) && pdl_value_len(list) == 1);
    pdl_value_drop(second);
    pdl_value_drop(c);
    pdl_value_drop(vars);
    pdl_value_drop(list);
    pdl_task_free(t);
}

/* Variables of one run are inputs of the next, the context among them. */
static void test_context_goes_on(pdl_engine *e) {
    pdl_task *first = ended(e, "text: [one]\n", NULL);
    pdl_value *inputs = pdl_value_dict(), *messages = pdl_task_messages(first, NULL);
    CHECK(pdl_value_put(inputs, "pdl_context", messages));
    pdl_task *t = ended(e, "data: ${ pdl_context }\n", inputs);
    pdl_value *result = pdl_task_result(t, NULL);
    CHECK(pdl_value_kind(result) == PDL_KIND_LIST && pdl_value_len(result) == 1);
    pdl_value_drop(result);
    pdl_value_drop(messages);
    pdl_value_drop(inputs);
    pdl_task_free(first);
    pdl_task_free(t);
}

static void answer(void *user, pdl_request *r) {
    pdl_value *v = pdl_value_from_json(user, strlen(user), NULL);
    pdl_request_answer(r, v);
    pdl_value_drop(v);
}

static void test_variables(pdl_engine *e) {
    static char reply[] =
        "{\"content\": \"x\", \"usage\": {\"prompt_tokens\": 3, \"completion_tokens\": 4}}";
    CHECK(pdl_engine_handle(e, "model", "", answer, reply, NULL));
    pdl_task *t = ended(e, "model: any\n", NULL);
    pdl_value *vars = pdl_task_variables(t, NULL), *lib = pdl_value_get(vars, "stdlib");
    CHECK(is_json(pdl_value_get(vars, "pdl_usage"),
                  "{\"model_calls\": 1, \"completion_tokens\": 4, \"prompt_tokens\": 3}"));
    CHECK(pdl_value_kind(lib) == PDL_KIND_DICT && pdl_value_len(lib) > 0);
    pdl_value *said = pdl_value_get(vars, "pdl_context"), *first = pdl_value_at(said, 0);
    CHECK(pdl_value_len(said) == 1 && is_text(pdl_value_get(first, "content"), "x"));
    pdl_value_drop(first);
    pdl_value_drop(said);
    pdl_value_drop(lib);
    pdl_value_drop(vars);
    pdl_task_free(t);
    t = ended(e, "defs: {stdlib: mine, n: 1}\ndata: ${ n }\n", NULL); /* the program's own */
    vars = pdl_task_variables(t, NULL);
    CHECK(is_text(pdl_value_get(vars, "stdlib"), "mine"));
    pdl_value_drop(vars);
    pdl_task_free(t);
}

static void test_score(pdl_engine *e) {
    pdl_task *t = ended(e, "text: [{factor: 0.5}, {factor: 2}]\n", NULL);
    CHECK(pdl_task_score(t) > 2.49 && pdl_task_score(t) < 2.51 && pdl_task_score(NULL) == 0);
    pdl_task_free(t);
}

typedef struct notes {
    int n;
    char last[256];
} notes;

static void add_note(void *user, const char *text, size_t n) {
    notes *all = user;
    all->n++;
    snprintf(all->last, sizeof all->last, "%.*s", (int)n, text);
}

static void test_notes(void) {
    notes all = {0};
    pdl_engine_options o = {.size = sizeof o, .user = &all, .note = add_note};
    pdl_engine *e = pdl_engine_new(&o, NULL);
    pdl_program *p = load(e, "data: a\nspec: string\n");
    CHECK(all.n == 0);
    pdl_program_free(p);
    p = load(e, "data: z\nspec: str\n");
    CHECK(all.n == 1 && strstr(all.last, "Deprecated type syntax: use "));
    pdl_program_free(p);
    int before = all.n;
    pdl_error *error = NULL;
    CHECK(!pdl_load_text(e, "text: [", 7, NULL, &error) && error && all.n == before);
    pdl_error_free(error);
    pdl_engine_free(e);
}

int main(void) {
    pdl_engine *e = pdl_engine_new(NULL, NULL);
    test_contexts(e);
    test_context_goes_on(e);
    test_variables(e);
    test_score(e);
    test_notes();
    pdl_engine_free(e);
    return counts();
}
