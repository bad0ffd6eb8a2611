/* test_approvals.c -- effects that wait for a person: each question is asked once, and the answer
 * is for what was judged at the time of the question.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/policy.h"
#include "value/int.h"
#include "value/label.h"

#include "base/banned.h"

/* The world behind the policy: it keeps questions, and answers all else at once. */
typedef struct person {
    pdl_world world;
    pdl_effect *question; /* the open one; NULL: none */
    unsigned n_questions, n_done;
} person;

static void start(pdl_world *w, pdl_effect *e) {
    person *p = (person *)(void *)w;
    if (e->kind != PDL_EFFECT_approval) {
        p->n_done++;
        pdl_effect_answer(e, pdl_null(), 0);
        return;
    }
    assert_null(p->question);
    p->question = e;
    p->n_questions++;
}

static void cancel(pdl_world *w, uint32_t id) {
    person *p = (person *)(void *)w;
    if (!p->question || p->question->id != id) return;
    pdl_effect_free(p->question);
    p->question = NULL;
}

static bool poll(pdl_world *w, int timeout_ms) {
    (void)w;
    (void)timeout_ms;
    return false;
}

static void close_world(pdl_world *w) { (void)w; }

static const pdl_world_ops ops = {
    .start = start, .cancel = cancel, .poll = poll, .close = close_world};

static void answer(person *p, bool yes) {
    pdl_effect *e = p->question;
    assert_non_null(e);
    p->question = NULL;
    pdl_effect_answer(e, pdl_bool(yes), 0);
}

typedef struct test {
    person person;
    pdl_policies *policies;
    pdl_policy_memories *memories;
    pdl_world *world;
    pdl_buf log;
} test;

static void begin(test *t, const char *policy, const char *folder) {
    pdl_err err = {0};
    *t = (test){.person.world.ops = &ops, .policies = pdl_policies_new(NULL), .log = PDL_BUF};
    if (!pdl_policies_add(t->policies, PDL_STR("p.yaml"), t_str(policy), false, &err))
        fail_msg("%s", err.msg);
    t->memories = pdl_policy_memories_new(NULL);
    pdl_policy_options o = {.policies = t->policies,
                            .memory = pdl_policy_memory_join(t->memories, t->policies),
                            .folder = t_str(folder),
                            .first_id = 1000};
    t->world = pdl_policy_world_new(&o, &t->person.world);
}

static void end(test *t) {
    t->world->ops->close(t->world);
    pdl_policy_memories_free(t->memories);
    pdl_policies_free(t->policies);
    pdl_buf_fini(&t->log);
}

static void on_reply(void *user, const pdl_effect *e, const pdl_reply *r) {
    test *t = user;
    pdl_buf_putf(&t->log, "%u %s, ", e->id, r->err.kind ? "refused" : "done");
}

/* Which rule said what. */
static void on_decided(void *user, const pdl_effect *e, pdl_vref d) {
    test *t = user;
    int64_t line;
    t_assert(pdl_int_get(pdl_dict_getz(d, "line"), &line));
    pdl_buf_putf(&t->log, "%u %.*s by line %d, ", e->id,
                 PDL_FMT(pdl_str_get(pdl_dict_getz(d, "outcome"))), (int)line);
}

static void ask(test *t, pdl_effect_kind kind, uint32_t id, pdl_val request, bool reports) {
    pdl_effect_sink sink = {.user = t, .reply = on_reply, .decided = reports ? on_decided : NULL};
    t->world->ops->start(t->world, pdl_effect_new(kind, (pdl_effect_at){.id = id}, request, sink));
}

static void ask_command(test *t, uint32_t id, const char *word) {
    pdl_val argv = pdl_list_push(pdl_list_new(2), pdl_textz("echo"));
    argv = pdl_list_push(argv, pdl_with_label(pdl_textz(word), PDL_LABEL_model));
    ask(t, PDL_EFFECT_command, id, pdl_dict_putz(pdl_dict_new(1), "argv", argv), false);
}

static const char approve_all[] =
    "policy: 1\napprovals: 2\nrules: [{sink: command, allow: [user], otherwise: approve}]\n";

/* An effect by number, "y" or "n" for an answer, "-" and a number for one that is cancelled. */
static const struct {
    const char *steps, *log;
    unsigned questions;
} rows[] = {
    {"1 2 y 3", "2 done, 1 done, 3 done, ", 1}, {"1 2 n 3", "2 refused, 1 refused, 3 refused, ", 1},
    {"1 2 3 -1 y", "3 done, 2 done, ", 2}, /* one of those that wait asks again */
    {"1 2 3 -1 -3 y", "2 done, ", 3},      /* and the next one */
    {"1 2 3 -2 -3 y", "1 done, ", 1},      /* the question was not theirs */
    {"1 -1 4 -4 5", "5 refused, ", 2},     /* `approvals` counts what was asked */
};

static void each_question_is_asked_once(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        test t;
        begin(&t, approve_all, "/tmp");
        for (const char *s = rows[i].steps; *s; s++) {
            if (*s == 'y' || *s == 'n') answer(&t.person, *s == 'y');
            if (*s == '-')
                t.world->ops->cancel(t.world, (uint32_t)(*++s - '0'));
            else if (*s >= '1' && *s <= '9')
                ask_command(&t, (uint32_t)(*s - '0'), *s == '4' ? "b" : *s == '5' ? "c" : "a");
        }
        t_assert_str(pdl_buf_str(&t.log), rows[i].log);
        t_assert(t.person.n_questions == rows[i].questions);
        end(&t);
    }
}

static const char by_path[] = "policy: 1\nrules:\n- {sink: write in, always: approve}\n"
                              "- {sink: write out, always: approve}\notherwise: deny\n";

/* The rule for a path looks at the file system. What a person was shown is what is reported, and
 * nothing is judged again when the answer comes. */
static void answers_are_about_what_was_judged(void **state) {
    (void)state;
    test t;
    char folder[] = "/tmp/pdl_approvals_XXXXXX", link[64], in[64], out[64];
    t_assert(mkdtemp(folder));
    snprintf(link, sizeof link, "%s/link", folder);
    snprintf(in, sizeof in, "%s/in", folder);
    snprintf(out, sizeof out, "%s/out", folder);
    t_assert(!mkdir(in, 0700) && !mkdir(out, 0700) && !symlink(in, link));
    begin(&t, by_path, folder);
    pdl_val request = pdl_dict_putz(pdl_dict_new(2), "path", pdl_textz(link));
    ask(&t, PDL_EFFECT_write, 1, pdl_dict_putz(request, "text", pdl_textz("x")), true);
    t_assert(!unlink(link) && !symlink(out, link));
    answer(&t.person, true);
    t_assert_str(pdl_buf_str(&t.log), "1 approved by line 3, 1 done, ");
    end(&t);
    t_assert(!unlink(link) && !rmdir(in) && !rmdir(out) && !rmdir(folder));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_question_is_asked_once),
                                       cmocka_unit_test(answers_are_about_what_was_judged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
