/* durable.c -- Durable tasks and runs: they are begun, killed, resumed and listed, and their
 * questions are answered. Written in C11. Prints the failed checks, then the counts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "t.h"

static const char *const PROGRAM = "text:\n"
                                   "- {model: mine/m, input: \"one ${ who }\", def: first}\n"
                                   "- ' '\n"
                                   "- {model: mine/m, input: \"two ${ first[:0] }\"}\n";
static const char *const ASKS = "text: [{read: null, message: 'For whom? ', def: who}, ' and ', "
                                "\"${ who }\"]\n";

#define GUARD "policy: {policy: 1, rules: [{sink: tool, deny: [file]}], otherwise: allow}\n"

/* Of the next engine; NULL: none. */
static const char *policy, *sandbox;
/* How tasks are run: on the loop of the engine, by steps that do not wait. */
static bool is_shared, steps;
/* What a resume is given as `who`; NULL: no inputs. */
static const char *given;

/* What the program asked and printed. */
typedef struct seen {
    int asked;
    int dies_at; /* the call at which the process ends */
    char text[200];
    int asked_at_text; /* calls that were made when the first text was given */
} seen;

static void on_model(void *user, pdl_request *request) {
    seen *s = user;
    if (++s->asked == s->dies_at) _exit(9);
    const pdl_value *all = pdl_request_data(request);
    pdl_value *list = pdl_value_get(all, "messages"), *last = pdl_value_at(list, 0),
              *content = pdl_value_get(last, "content");
    char answer[100];
    snprintf(answer, sizeof answer, "<%s>", pdl_value_get_text(content, NULL));
    pdl_value *v = pdl_value_text(answer);
    pdl_request_answer(request, v);
    pdl_value_drop(v);
    pdl_value_drop(content);
    pdl_value_drop(last);
    pdl_value_drop(list);
}

static void on_text(void *user, const char *text, size_t n) {
    seen *s = user;
    size_t have = strlen(s->text);
    if (!have) s->asked_at_text = s->asked;
    if (have + n < sizeof s->text) memcpy(s->text + have, text, n), s->text[have + n] = 0;
}

static pdl_engine *new_engine(seen *s) {
    pdl_engine_options o = {.size = sizeof o,
                            .policies = &policy,
                            .n_policies = policy ? 1 : 0,
                            .sandbox = sandbox,
                            .shared = is_shared};
    pdl_engine *e = pdl_engine_new(&o, NULL);
    CHECK(pdl_engine_handle(e, "model", "mine/", on_model, s, NULL));
    return e;
}

/* The kind of its error, "" when it ended well; "start: " before what was wrong at the start. */
static const char *run(const char *program, const pdl_task_durable *d, seen *s, char *result) {
    static char kind[300];
    pdl_engine *e = new_engine(s);
    pdl_program *p = load(e, program);
    pdl_value *inputs = pdl_value_dict(), *who = pdl_value_text(d->resume && given ? given : "Ann");
    pdl_error *error = NULL;
    pdl_value_put(inputs, "who", who);
    pdl_task_options o = {.size = sizeof o,
                          .inputs = d->resume && !given ? NULL : inputs,
                          .output = PDL_OUTPUT_RESULT,
                          .user = s,
                          .text = on_text,
                          .durable = d};
    pdl_task *t = pdl_task_start(e, p, &o, &error);
    for (int i = 0; t && steps && i < 100000; i++)
        if (pdl_task_step(t) != PDL_TASK_WAITING) break;
    if (!t) {
        snprintf(kind, sizeof kind, "start: %s: %s", error->kind, error->message);
    } else if ((steps ? pdl_task_state(t) : pdl_task_wait(t, -1)) == PDL_TASK_DONE) {
        pdl_value *v = pdl_task_result(t, NULL);
        kind[0] = 0;
        if (result) snprintf(result, 100, "%s", pdl_value_get_text(v, NULL));
        pdl_value_drop(v);
    } else {
        snprintf(kind, sizeof kind, "%s", pdl_task_error(t)->kind);
    }
    pdl_error_free(error);
    pdl_task_free(t);
    pdl_value_drop(who);
    pdl_value_drop(inputs);
    pdl_program_free(p);
    pdl_engine_free(e);
    return kind;
}

/* A member of what is known of a run, as text. */
static pdl_value *fact(const char *id, const char *name) {
    pdl_value *all = pdl_runs_show(id, NULL), *one = all ? pdl_value_get(all, name) : NULL;
    pdl_value *text = one ? pdl_value_to_text(one, NULL) : pdl_value_text("no such run");
    pdl_value_drop(one);
    pdl_value_drop(all);
    return text;
}

static void whole(void) {
    seen s = {0};
    char result[100] = "";
    pdl_task_durable d = {.size = sizeof d, .run = "whole"};
    CHECK(strcmp(run(PROGRAM, &d, &s, result), "") == 0 && s.asked == 2);
    CHECK(strcmp(result, "<one Ann> <two >") == 0 && strcmp(s.text, result) == 0);
    CHECK(is_text(fact("whole", "state"), "ended") && is_text(fact("whole", "text"), PROGRAM));
    CHECK(strstr(run(PROGRAM, &d, &s, NULL), "start: usage: ")); /* the name is taken */
    d.resume = true;
    memset(&s, 0, sizeof s);
    CHECK(strcmp(run(PROGRAM, &d, &s, result), "") == 0 && s.asked == 0);
    CHECK(strcmp(s.text, "<one Ann> <two >") == 0);
}

/* The process of a run ends in the middle, at the second call. */
static bool dies(const char *program, const pdl_task_durable *d) {
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        seen s = {.dies_at = 2};
        run(program, d, &s, NULL);
        _exit(0);
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 9;
}

/* Another process continues it. */
static void killed(void) {
    pdl_task_durable d = {.size = sizeof d, .run = "killed"};
    CHECK(dies(PROGRAM, &d) && is_text(fact("killed", "state"), "killed"));
    seen s = {0};
    char result[100] = "";
    d.resume = true;
    CHECK(strcmp(run(PROGRAM, &d, &s, result), "") == 0 && s.asked == 1);
    CHECK(strcmp(result, "<one Ann> <two >") == 0);
}

/* With another program, what it asks at the place of a recorded call is asked or is an error. */
static void changed(void) {
    static const char other[] = "text:\n"
                                "- {model: mine/m, input: \"other ${ who }\", def: first}\n"
                                "- ' '\n"
                                "- {model: mine/m, input: two}\n";
    pdl_task_durable d = {.size = sizeof d, .run = "changed"};
    char result[100] = "";
    seen s = {0};
    CHECK(dies(PROGRAM, &d));
    d.resume = true;
    d.changed_fails = true;
    CHECK(*run(other, &d, &s, NULL) && s.asked == 0);
    d.changed_fails = false;
    CHECK(strcmp(run(other, &d, &s, result), "") == 0 && s.asked == 2);
    CHECK(strcmp(result, "<other Ann> <two>") == 0 && pdl_runs_remove("changed", NULL));
}

/* A task that is freed before its end is as one whose process ended. */
static void freed(void) {
    seen s = {0};
    pdl_engine *e = new_engine(&s);
    pdl_program *p = load(e, "text: [{model: mine/m, input: a}, {lang: python, code: 'import time; "
                             "time.sleep(600)', idempotent: true}]\n");
    pdl_task_durable d = {.size = sizeof d, .run = "./freed.journal"};
    pdl_task_options o = {.size = sizeof o, .durable = &d};
    pdl_task *t = pdl_task_start(e, p, &o, NULL);
    for (int i = 0; i < 1000 && !s.asked; i++) pdl_task_wait(t, 10);
    pdl_task_free(t);
    CHECK(is_text(fact("./freed.journal", "state"), "killed"));
    pdl_program_free(p);
    pdl_engine_free(e);
}

static void write_policy(const char *sink) {
    FILE *f = fopen("p.yaml", "w");
    if (f) fprintf(f, "policy: 1\nrules:\n- {sink: %s, deny: [file]}\notherwise: allow\n", sink);
    if (f) fclose(f);
}

/* What confined a run confines its resumes: policies of the engine and of the program. */
static void guarded(void) {
    seen s = {0};
    char text[400];
    pdl_task_durable d = {.size = sizeof d, .run = "./guarded.journal"};
    snprintf(text, sizeof text, "%s%s", GUARD, PROGRAM);
    policy = "./p.yaml";
    write_policy("tool");
    CHECK(dies(text, &d));
    d.resume = true;
    CHECK(strcmp(run(PROGRAM, &d, &s, NULL), "usage") == 0);
    policy = NULL;
    CHECK(strcmp(run(text, &d, &s, NULL), "usage") == 0);
    policy = "./p.yaml";
    write_policy("model");
    CHECK(strcmp(run(text, &d, &s, NULL), "usage") == 0 && s.asked == 0);
    write_policy("tool");
    CHECK(strcmp(run(text, &d, &s, NULL), "") == 0 && s.asked == 1);
    policy = NULL;
    CHECK(unlink("guarded.journal") == 0 && unlink("p.yaml") == 0);
}

/* And the sandbox, where there is one here. */
static void confined(void) {
    seen s = {0};
    pdl_task_durable d = {.size = sizeof d, .run = "./confined.journal"};
    sandbox = "code";
    if (!dies(PROGRAM, &d)) {
        sandbox = NULL;
        printf("skipped: no sandbox here\n");
        return;
    }
    d.resume = true;
    sandbox = NULL;
    CHECK(strcmp(run(PROGRAM, &d, &s, NULL), "usage") == 0 && s.asked == 0);
    sandbox = "code";
    CHECK(strcmp(run(PROGRAM, &d, &s, NULL), "") == 0 && s.asked == 1);
    sandbox = NULL;
    CHECK(unlink("confined.journal") == 0);
}

static void asked(void) {
    seen s = {0};
    char result[100] = "";
    pdl_error *error = NULL;
    pdl_task_durable d = {.size = sizeof d, .run = "asks", .park = true};
    CHECK(strcmp(run(ASKS, &d, &s, NULL), "parked") == 0);
    CHECK(is_text(fact("asks", "state"), "waiting"));
    pdl_value *all = pdl_runs_show("asks", NULL), *list = pdl_value_get(all, "questions"),
              *one = pdl_value_at(list, 0), *text = pdl_value_get(one, "text");
    CHECK(strcmp(pdl_value_get_text(text, NULL), "For whom? ") == 0);
    pdl_value_drop(text);
    pdl_value_drop(one);
    pdl_value_drop(list);
    pdl_value_drop(all);
    CHECK(!pdl_runs_answer("asks", "text.7", "Bob", &error) && is_error(&error, "runtime", "at"));
    CHECK(pdl_runs_answer("asks", NULL, "Bob", NULL));
    CHECK(!pdl_runs_answer("asks", NULL, "Bob", &error) &&
          is_error(&error, "runtime", "asks nothing"));
    d.resume = true;
    CHECK(strcmp(run(ASKS, &d, &s, result), "") == 0 && strcmp(result, "Bob and Bob") == 0);
}

/* A run parks on the loop of its engine too, and where nothing waits. */
static void parked_in_all_ways(void) {
    seen s = {0};
    char result[100] = "";
    for (int i = 1; i < 4; i++) {
        pdl_task_durable d = {.size = sizeof d, .run = "parks", .park = true};
        is_shared = i & 1;
        steps = i & 2;
        CHECK(strcmp(run(ASKS, &d, &s, NULL), "parked") == 0);
        CHECK(is_text(fact("parks", "state"), "waiting"));
        d.resume = true;
        CHECK(strcmp(run(ASKS, &d, &s, NULL), "parked") == 0);
        CHECK(pdl_runs_answer("parks", NULL, "Bob", NULL));
        CHECK(strcmp(run(ASKS, &d, &s, result), "") == 0 && strcmp(result, "Bob and Bob") == 0);
        CHECK(pdl_runs_remove("parks", NULL));
    }
    is_shared = steps = false;
}

/* Inputs of a resume replace those of the same name, for it and for the resumes after it. */
static void other_inputs(void) {
    static const char program[] = "text: [\"${ who } \", {model: mine/m, input: fixed}]\n";
    seen s = {0};
    char result[100] = "";
    pdl_task_durable d = {.size = sizeof d, .run = "inputs"};
    CHECK(strcmp(run(program, &d, &s, result), "") == 0 && strcmp(result, "Ann <fixed>") == 0);
    d.resume = true;
    given = "Eve";
    CHECK(strcmp(run(program, &d, &s, result), "") == 0 && strcmp(result, "Eve <fixed>") == 0);
    given = NULL;
    CHECK(strcmp(run(program, &d, &s, result), "") == 0 && strcmp(result, "Eve <fixed>") == 0);
    CHECK(s.asked == 1 && pdl_runs_remove("inputs", NULL));
}

static void wrong(void) {
    seen s = {0};
    pdl_error *error = NULL;
    pdl_task_durable d = {.size = sizeof d, .run = "nobody", .resume = true};
    CHECK(strstr(run(PROGRAM, &d, &s, NULL), "there is no run nobody"));
    d.run = "../x y";
    CHECK(strstr(run(PROGRAM, &d, &s, NULL), "start: "));
    d.run = "";
    CHECK(strstr(run(PROGRAM, &d, &s, NULL), "start: usage: "));
    CHECK(!pdl_runs_show("nobody", &error) && is_error(&error, "usage", "no run nobody"));
    CHECK(!pdl_runs_show(NULL, &error) && is_error(&error, "usage", "not named"));
    CHECK(!pdl_runs_answer("whole", NULL, NULL, &error) && is_error(&error, "usage", "NULL"));
    CHECK(!pdl_runs_remove("nobody", &error) && is_error(&error, "usage", "nobody"));
}

static void listed(void) {
    pdl_value *all = pdl_runs_list(NULL);
    CHECK(all && pdl_value_len(all) == 3);
    pdl_value_drop(all);
    CHECK(pdl_runs_remove("whole", NULL) && pdl_runs_remove("killed", NULL));
    all = pdl_runs_list(NULL);
    CHECK(all && pdl_value_len(all) == 1);
    pdl_value_drop(all);
}

int main(void) {
    char folder[] = "/tmp/pdl_api_runs_XXXXXX";
    if (!mkdtemp(folder) || chdir(folder) != 0 || setenv("PDL_RUNS", folder, 1) != 0) return 1;
    whole();
    killed();
    changed();
    freed();
    guarded();
    confined();
    asked();
    parked_in_all_ways();
    other_inputs();
    wrong();
    CHECK(unlink("freed.journal") == 0 && access("freed.journal-wal", F_OK) == 0);
    CHECK(pdl_runs_remove("freed", NULL) && access("freed.journal-wal", F_OK) != 0);
    listed();
    return counts();
}
