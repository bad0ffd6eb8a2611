/* test_policy.c -- verdicts on labels, patterns of names and paths, and all problems of a policy
 * file reported together.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include <time.h>

#include "policy/policy.h"
#include "value/label.h"

#include "base/banned.h"

static pdl_policies *read_ok(const char *text) {
    pdl_policies *p = pdl_policies_new(NULL);
    pdl_err err = {0};
    if (!pdl_policies_add(p, PDL_STR("p.yaml"), t_str(text), false, &err)) fail_msg("%s", err.msg);
    return p;
}

enum {
    user = PDL_LABEL_user,
    model = PDL_LABEL_model | PDL_LABEL_FREE,
    tool = PDL_LABEL_tool | PDL_LABEL_FREE,
    bounded = PDL_LABEL_model,
    shaped = PDL_LABEL_model | PDL_LABEL_UNBOUNDED,
    secret = 1 << PDL_LABEL_NAMED_BIT,
};

static const char example[] =
    "policy: 1\n"
    "labels:\n"
    "  secret: [{read: \"salaries/**\"}, {tool: \"hr/*\"}]\n"
    "read_only: [{tool: \"*/search*\"}]\n"
    "rules:\n"
    "- {sink: tool mail/send, argument: to, allow: [user, data], otherwise: approve}\n"
    "- {sink: tool mail/send, argument: body, deny: [secret]}\n"
    "- {sink: tool */read*}\n"
    "- {sink: tool, read_only: true}\n"
    "- {sink: command, argument: 0, allow: []}\n"
    "- {sink: command, allow: [user, bounded]}\n"
    "- {sink: code, allow: [user, shaped]}\n"
    "- {sink: model, model: \"ollama*/*\"}\n"
    "- {sink: model, deny: [secret]}\n"
    "- {sink: write out/**, always: approve}\n"
    "- {sink: write, always: approve, allow: [user], otherwise: deny}\n"
    "otherwise: deny\n";

static const struct {
    pdl_sink_id sink;
    const char *name, *argument;
    pdl_label label;
    pdl_verdict want;
} verdicts[] = {
    {PDL_SINK_tool, "mail/send", "to", 0, PDL_VERDICT_ALLOW}, /* the empty set always passes */
    {PDL_SINK_tool, "mail/send", "to", user, PDL_VERDICT_ALLOW},
    {PDL_SINK_tool, "mail/send", "to", user | model, PDL_VERDICT_APPROVE},
    {PDL_SINK_tool, "mail/send", "to.address", model, PDL_VERDICT_APPROVE}, /* a part of it */
    {PDL_SINK_tool, "mail/send", "token", model, PDL_VERDICT_DENY}, /* not a part: no rule */
    {PDL_SINK_tool, "mail/send", "body", model, PDL_VERDICT_ALLOW}, /* deny alone */
    {PDL_SINK_tool, "mail/send", "body", model | secret, PDL_VERDICT_DENY},
    {PDL_SINK_tool, "disk/read_file", "path", model | secret, PDL_VERDICT_ALLOW},
    {PDL_SINK_tool, "web/search", "q", model, PDL_VERDICT_ALLOW},
    {PDL_SINK_tool, "disk/write", "path", model, PDL_VERDICT_DENY},
    {PDL_SINK_command, "rm", "0", user, PDL_VERDICT_DENY}, /* allow: [] */
    {PDL_SINK_command, "rm", "0", 0, PDL_VERDICT_ALLOW},
    {PDL_SINK_command, "rm", "1", user, PDL_VERDICT_ALLOW},
    {PDL_SINK_command, "rm", "1", bounded, PDL_VERDICT_ALLOW},
    {PDL_SINK_command, "rm", "1", shaped, PDL_VERDICT_DENY},
    {PDL_SINK_command, "rm", "1", model, PDL_VERDICT_DENY},
    {PDL_SINK_code, "python", "text", shaped, PDL_VERDICT_ALLOW},
    {PDL_SINK_code, "python", "text", bounded, PDL_VERDICT_ALLOW},
    {PDL_SINK_code, "python", "text", model, PDL_VERDICT_DENY},
    {PDL_SINK_model, "ollama_chat/x/y", "user", secret, PDL_VERDICT_ALLOW},
    {PDL_SINK_model, "openai/x", "user", secret, PDL_VERDICT_DENY},
    {PDL_SINK_model, "openai/x", "user", model | tool, PDL_VERDICT_ALLOW},
    {PDL_SINK_write, "/tmp/out/a", "path", 0, PDL_VERDICT_APPROVE},
    {PDL_SINK_write, "/tmp/out/a/b", "path", model, PDL_VERDICT_APPROVE},
    {PDL_SINK_write, "/tmp/out/../x", "path", 0, PDL_VERDICT_APPROVE},
    {PDL_SINK_write, "/tmp/out/../x", "path", model, PDL_VERDICT_DENY},
    {PDL_SINK_read, "x", "path", model, PDL_VERDICT_DENY}, /* no rule: otherwise */
    {PDL_SINK_read, "x", "path", 0, PDL_VERDICT_ALLOW},
};

static void verdicts_of_the_example(void **state) {
    (void)state;
    pdl_policies *p = read_ok(example);
    for (size_t i = 0; i < T_LEN(verdicts); i++) {
        T_ROW(i);
        pdl_argument a = {t_str(verdicts[i].argument), pdl_null(), verdicts[i].label, 0};
        pdl_policy_ask ask = {verdicts[i].sink,
                              t_str(verdicts[i].name),
                              0,
                              &a,
                              1,
                              PDL_STR("/tmp"),
                              0,
                              NULL,
                              {0},
                              0,
                              false};
        t_assert(pdl_policies_judge(p, &ask).verdict == verdicts[i].want);
    }
    pdl_policies_free(p);
}

/* Of arguments and of policies the strictest counts. */
static void the_strictest_counts(void **state) {
    (void)state;
    pdl_policies *p = read_ok("policy: 1\nrules: [{sink: command, argument: 1, allow: [user], "
                              "otherwise: approve}]\notherwise: allow\n");
    pdl_err err = {0};
    pdl_argument args[] = {{PDL_STR("0"), pdl_null(), user, 0},
                           {PDL_STR("1"), pdl_null(), model, 0}};
    pdl_policy_ask ask = {.sink = PDL_SINK_command,
                          .name = PDL_STR("ls"),
                          .args = args,
                          .n = 2,
                          .folder = PDL_STR("")};
    pdl_decision d = pdl_policies_judge(p, &ask);
    t_assert(d.verdict == PDL_VERDICT_APPROVE && d.arg == &args[1] && d.line == 2);
    t_assert(pdl_policies_add(p, PDL_STR("q"),
                              PDL_STR("policy: 1\nrules: [{sink: command, deny: "
                                      "[model]}]\n"),
                              false, &err));
    d = pdl_policies_judge(p, &ask);
    t_assert(d.verdict == PDL_VERDICT_DENY && d.labels == PDL_LABEL_model);
    pdl_policies_free(p);
}

/* A built-in policy has no opinion on a name that another file gives. */
static void names_belong_to_their_file(void **state) {
    (void)state;
    pdl_policies *p = read_ok("policy: 1\nlabels: {secret: [{read: x}]}\notherwise: allow\n");
    pdl_err err = {0};
    t_assert(pdl_policies_add(p, PDL_STR("b"),
                              PDL_STR("policy: 1\nrules: [{sink: command, allow: "
                                      "[user]}]\n"),
                              true, &err));
    pdl_argument a = {PDL_STR("0"), pdl_null(), secret, 0};
    pdl_policy_ask ask = {
        .sink = PDL_SINK_command, .name = PDL_STR("ls"), .args = &a, .n = 1, .folder = PDL_STR("")};
    t_assert(pdl_policies_judge(p, &ask).verdict == PDL_VERDICT_ALLOW);
    a.label = secret | model;
    t_assert(pdl_policies_judge(p, &ask).verdict == PDL_VERDICT_DENY);
    pdl_policies_free(p);
}

static const struct {
    const char *text, *want; /* want: a part of the message */
} mistakes[] = {
    {"rules: []\n", "p.yaml:1 - a policy should say `policy: 1`"},
    {"policy: 2\n", "p.yaml:1 - policy, the version, should be 1"},
    {"- a\n", "p.yaml:1 - a policy should be a mapping"},
    {"policy: 1\nrulez: []\n", "p.yaml:2 - no key of a policy: 'rulez'; did you mean 'rules'?"},
    {"policy: 1\nrules:\n- {sink: comand}\n",
     "p.yaml:3 - no sink 'comand'; did you mean 'command'?"},
    {"policy: 1\nrules:\n- {sink: command, allow: [modle]}\n",
     "p.yaml:3 - no label 'modle'; did you mean 'model'?"},
    {"policy: 1\nrules:\n- {allow: [model]}\n", "p.yaml:3 - a rule without a sink"},
    {"policy: 1\nrules:\n- {snk: command}\n",
     "p.yaml:3 - a rule without a sink; did you mean 'sink' for 'snk'?"},
    {"policy: 1\nrules:\n- {sink: url, argument: addres, deny: [model]}\n",
     "p.yaml:3 - no argument of this sink: 'addres'; did you mean 'address'?"},
    {"policy: 1\nrules:\n- {sink: pdl, argument: code, deny: [model]}\n",
     "p.yaml:3 - no argument of this sink: 'code'"},
    {"policy: 1\nrules:\n- {sink: model, argument: usr, deny: [model]}\n",
     "p.yaml:3 - no argument of this sink: 'usr'; did you mean 'user'?"},
    {"policy: 1\nrules:\n- {sink: command, argument: program, deny: [model]}\n",
     "p.yaml:3 - the arguments of the sink command are numbers: 0 is the program"},
    {"policy: 1\nrules:\n- {sink: output, argument: text, deny: [model]}\n",
     "p.yaml:3 - the sink output has no arguments"},
    {"policy: 1\nrules:\n- {sink: command, alow: []}\n",
     "no key of a rule for this sink: 'alow'; did you mean 'allow'?"},
    {"policy: 1\notherwise: maybe\n", "p.yaml:2 - no verdict (allow, approve, deny): 'maybe'"},
    {"policy: 1\ncontrol: stirct\n", "did you mean 'strict'?"},
    {"policy: 1\nrules:\n- {sink: command, allow: [model], deny: [model]}\n",
     "p.yaml:3 - the rule both allows and denies model"},
    {"policy: 1\nrules:\n- {sink: command, allow: [model]}\n- {sink: command, deny: [model]}\n",
     "p.yaml:4 - this rule never decides: line 3 has one"},
    {"policy: 1\nrules:\n- {sink: pdl x}\n", "the sink pdl has no names"},
    {"policy: 1\nlabels: {model: [{read: x}]}\n", "'model' cannot be the name of a label"},
    {"policy: 1\nlabels: {s: [{raed: x}]}\n", "no kind of source 'raed'; did you mean 'read'?"},
    {"policy: 1\nread_only: [{read: x}]\n", "only tools can be named here"},
    {"policy: 1\nrules:\n- {sink: command, durable: deny}\n", "durable: allow or deny is for"},
    {"policy: 1\nrules:\n- {sink: command, always: allow}\n", "always can be approve"},
    {"policy: 1\napprovals: -1\n", "approvals should be an integer from 0"},
    {"policy: 1\nrules: {a: b}\n", "rules should be a list"},
    {"", "p.yaml:1 - a policy should be a mapping"},
};

static void mistakes_have_their_place(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(mistakes); i++) {
        T_ROW(i);
        pdl_policies *p = pdl_policies_new(NULL);
        pdl_err err = {0};
        t_assert(!pdl_policies_add(p, PDL_STR("p.yaml"), t_str(mistakes[i].text), false, &err));
        if (!strstr(err.msg, mistakes[i].want))
            fail_msg("row %zu: %s\nin: %s", i, mistakes[i].want, err.msg);
        pdl_err_fini(&err);
        pdl_policies_free(p);
    }
}

static void all_problems_come_at_once(void **state) {
    (void)state;
    pdl_policies *p = pdl_policies_new(NULL);
    pdl_err err = {0};
    t_assert(!pdl_policies_add(p, PDL_STR("p.yaml"),
                               PDL_STR("policy: 1\ncontrl: x\notherwise: no\nrules:\n- {sink: x}\n"
                                       "- {sink: command, allow: [a, b]}\n"),
                               false, &err));
    size_t lines = 1;
    for (const char *s = err.msg; *s; s++) lines += *s == '\n';
    assert_int_equal(lines, 5);
    t_assert(err.preformatted && err.kind == PDL_E_schema);
    pdl_err_fini(&err);
    pdl_policies_free(p);
}

static void seventeen_names_are_too_many(void **state) {
    (void)state;
    for (int n = 16; n <= 17; n++) {
        pdl_buf b = PDL_BUF;
        PDL_PUT(&b, "policy: 1\nlabels:\n");
        for (int i = 0; i < n; i++) pdl_buf_putf(&b, "  l%d: [{read: x}]\n", i);
        pdl_policies *p = pdl_policies_new(NULL);
        pdl_err err = {0};
        bool ok = pdl_policies_add(p, PDL_STR("p"), pdl_buf_str(&b), false, &err);
        assert_int_equal(ok, n == 16);
        pdl_err_fini(&err);
        pdl_policies_free(p);
        pdl_buf_fini(&b);
    }
}

static void redactions_are_what_rules_deny(void **state) {
    (void)state;
    pdl_policies *p =
        read_ok("policy: 1\nlabels: {secret: [{read: x}]}\nrules:\n- {sink: output, "
                "deny: [secret]}\n- {sink: journal, deny: [secret], durable: deny}\n");
    assert_int_equal(pdl_policies_redacted(p, PDL_SINK_output), secret);
    assert_int_equal(pdl_policies_redacted(p, PDL_SINK_trace), 0);
    t_assert(!pdl_policies_allow_durable(p, secret) && pdl_policies_allow_durable(p, model));
    pdl_policies_free(p);
}

/* Paths begin at /f, a folder that is not there. */
static const struct {
    const char *pattern, *path;
    bool fits;
} paths[] = {
    {"a/*", "/f/a/b", true},
    {"a/*", "/f/a/b/c", false},
    {"a/*", "/f/a/", false},
    {"a/**", "/f/a/b/c", true},
    {"**", "/f/a/b/c", true},
    {"**/keys", "/f/keys", true},
    {"**/keys", "/f/a/b/keys", true},
    {"**/keys", "/keys", false},
    {"/**/keys", "/keys", true},
    {"/**/keys", "/f/xkeys", false},
    {"**keys", "/f/a/xkeys", true},
    {"a/**/b/**/c", "/f/a/b/c", true},
    {"a/**/b/**/c", "/f/a/x/b/y/z/c", true},
    {"a/**/b/**/c", "/f/a/x/b/y/z/d", false},
    {"a/**/**/c", "/f/a/c", true},
    {"***/c", "/f/x/c", true},
    {"a?c", "/f/abc", true},
    {"a?c", "/f/a/c", false},
    {"a?c",
     "/f/a\xc3\xa4"
     "c",
     true}, /* one character, two bytes */
    {"a??c",
     "/f/a\xc3\xa4"
     "c",
     false},
    {"*a*b*/c*", "/f/xaab/c", true},
    {"*a*b*/c*", "/f/xa/b/c", false},
    {"A", "/f/a", false},
    {"a b ", "/f/a b ", true},
    {"a[b]", "/f/a[b]", true},
    {"a/../b", "/f/b", true},
};

static bool path_fits(const char *pattern, const char *path) {
    pdl_buf b = PDL_BUF;
    bool is_trusted;
    pdl_buf_putf(&b, "policy: 1\nlabels: {secret: [{read: \"%s\"}]}\n", pattern);
    pdl_policies *p = read_ok(pdl_buf_z(&b));
    bool fits =
        pdl_policies_label_of(p, PDL_EFFECT_read, t_str(path), PDL_STR("/f"), 0, &is_trusted) != 0;
    pdl_policies_free(p);
    pdl_buf_fini(&b);
    return fits;
}

static void paths_fit_patterns(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(paths); i++) {
        T_ROW(i);
        t_assert(path_fits(paths[i].pattern, paths[i].path) == paths[i].fits);
    }
}

/* One after the other these places would be tried for longer than anybody waits. */
static void many_stars_take_no_time(void **state) {
    (void)state;
    static const char *const parts[] = {"/**/a", "**a", "/**/*a*"};
    for (size_t i = 0; i < T_LEN(parts); i++) {
        T_ROW(i);
        pdl_buf pattern = PDL_BUF, path = PDL_BUF;
        for (size_t k = 0; k < 40; k++) pdl_buf_putf(&pattern, "%s", parts[i]);
        PDL_PUT(&path, "/f");
        for (size_t k = 0; k < 500; k++) pdl_buf_putf(&path, "/a");
        t_assert(path_fits(pdl_buf_z(&pattern), pdl_buf_z(&path)));
        PDL_PUT(&pattern, "/x");
        t_assert(!path_fits(pdl_buf_z(&pattern), pdl_buf_z(&path)));
        pdl_buf_fini(&pattern);
        pdl_buf_fini(&path);
    }
}

/* The place up to which a path exists is found without trying one part after the other. */
static void long_paths_take_no_time(void **state) {
    (void)state;
    enum { PARTS = 12000, MAX_SECONDS = 15 }; /* 0.2 of processor time; 120 one by one */
    pdl_buf path = PDL_BUF;
    for (size_t k = 0; k < PARTS; k++) PDL_PUT(&path, "/proc/..");
    PDL_PUT(&path, "/proc");
    for (size_t k = 0; k < PARTS; k++) PDL_PUT(&path, "/a");
    clock_t begin = clock();
    t_assert(!path_fits("x", pdl_buf_z(&path)));
    t_assert(clock() - begin < (clock_t)MAX_SECONDS * CLOCKS_PER_SEC);
    pdl_buf_fini(&path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_of_the_example),
        cmocka_unit_test(the_strictest_counts),
        cmocka_unit_test(names_belong_to_their_file),
        cmocka_unit_test(mistakes_have_their_place),
        cmocka_unit_test(all_problems_come_at_once),
        cmocka_unit_test(seventeen_names_are_too_many),
        cmocka_unit_test(redactions_are_what_rules_deny),
        cmocka_unit_test(paths_fit_patterns),
        cmocka_unit_test(many_stars_take_no_time),
        cmocka_unit_test(long_paths_take_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
