/* test_config.c -- the configuration of tool servers: what is read, and which mistakes are
 * reported.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mcp/json_place.h"
#include "mcp/server_config.h"

#include "t.h"

static char path[] = "/tmp/pdl_config_XXXXXX";

/* The environment: NAME is its own value in small letters, NONE and what is not listed is not
 * set. */
static const char *env(void *user, const char *name) {
    static const char *const set[][2] = {
        {"TOKEN", "token"}, {"HOME", "home"}, {"PATH", "path"}, {"EMPTY", ""}};
    (void)user;
    if (strcmp(name, "PDL_MCP_CONFIG") == 0) return path;
    for (size_t i = 0; i < T_LEN(set); i++)
        if (strcmp(name, set[i][0]) == 0) return set[i][1];
    return NULL;
}

static const char *no_env(void *user, const char *name) {
    (void)user;
    (void)name;
    return NULL;
}

static void write_file(const char *text) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* A line a member: argv, env (what is added to ours), cwd, url, headers, allow, times. */
static void show(const server_config *c, pdl_buf *out) {
    for (size_t i = 0; c->argv && c->argv[i]; i++)
        pdl_buf_putf(out, "%s%s", i ? " " : "", c->argv[i]);
    for (size_t i = 0; c->env && c->env[i]; i++) pdl_buf_putf(out, " %s", c->env[i]);
    if (c->cwd) pdl_buf_putf(out, " in %s", c->cwd);
    if (c->url) pdl_buf_putf(out, "%s", c->url);
    for (size_t i = 0; i < c->n_headers; i++) pdl_buf_putf(out, " [%s]", c->headers[i]);
    if (c->allow) PDL_PUT(out, " allows");
    for (size_t i = 0; i < c->n_allow; i++) pdl_buf_putf(out, " %.*s", PDL_FMT(c->allow[i]));
    pdl_buf_putf(out, " %llu %llu", (unsigned long long)c->timeout_ms,
                 (unsigned long long)c->start_ms);
}

/* The entry of the server s. */
static const struct {
    const char *entry, *want;
} good[] = {
    {"{\"command\": \"run\"}", "run HOME=home PATH=path 60000 60000"},
    {"{\"command\": \"run\", \"args\": [], \"env\": null}", "run HOME=home PATH=path 60000 60000"},
    {"{\"command\": \"run\", \"args\": [\"-a\", \"${TOKEN}x\", \"$TOKEN\", \"${\"], \"cwd\": "
     "\"/d\"}",
     "run -a tokenx $TOKEN ${ HOME=home PATH=path in /d 60000 60000"},
    {"{\"command\": \"run\", \"env\": {\"HOME\": \"mine\", \"KEY\": \"${TOKEN}${TOKEN}\"}}",
     "run PATH=path HOME=mine KEY=tokentoken 60000 60000"},
    {"{\"url\": \"https://x/mcp\", \"timeout\": 1.5, \"startTimeout\": 7, \"other\": [1]}",
     "https://x/mcp 1500 7000"},
    {"{\"type\": \"http\", \"url\": \"http://${TOKEN}/\", \"headers\": {\"Authorization\": "
     "\"Bearer ${TOKEN}\", \"A\": \"\"}}",
     "http://token/ [Authorization: Bearer token] [A: ] 60000 60000"},
    {"{\"command\": \"run\", \"allow\": []}", "run HOME=home PATH=path allows 60000 60000"},
    {"{\"command\": \"run\", \"allow\": [\"a*\", \"b\"], \"timeout\": 0.0001}",
     "run HOME=home PATH=path allows a* b 1 60000"},
};

static void entries_are_read(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(good); i++) {
        pdl_arena *a = pdl_arena_make();
        pdl_err err = {0};
        server_config c;
        pdl_buf text = PDL_BUF, out = PDL_BUF;
        T_ROW(i);
        pdl_buf_putf(&text, "{\"mcpServers\": {\"t\": {}, \"s\": %s}}", good[i].entry);
        write_file(pdl_buf_z(&text));
        bool ok = pdl_mcp_config_read(&(pdl_mcp_options){.env = env}, PDL_STR("s"), a, &c, &err);
        if (!ok) fail_msg("row %zu: %s", i, err.msg);
        show(&c, &out);
        t_assert_str(pdl_buf_str(&out), good[i].want);
        pdl_err_fini(&err);
        pdl_buf_fini(&text);
        pdl_buf_fini(&out);
        pdl_arena_free(a);
    }
}

/* The whole file; want follows "tool server s: FILE:". */
static const struct {
    const char *text, *want;
} bad[] = {
    {"", "1:1: Expecting value"},
    {"{\"mcpServers\":\n  {\"s\": }}", "2:9: Expecting value"},
    {"[]", "1:1: it has no object mcpServers"},
    {"{}", "1:1: it has no object mcpServers"},
    {"{\"mcpServers\": 3}", "1:16: it has no object mcpServers"},
    {"{\"mcpServers\": {}}", "1:16: there is no server of this name"},
    {"{\"mcpServers\": {\n \"s\": 7}}", "2:7: the entry should be an object"},
    {"{\"mcpServers\": {\"s\": {}}}", "1:22: the entry needs either a command or a url"},
    {"{\"mcpServers\": {\"s\": {\"command\": \"x\", \"url\": \"http://x\"}}}",
     "1:22: the entry needs either a command or a url"},
    {"{\"mcpServers\": {\"s\": {\"command\": 3}}}",
     "1:34: command should be a text, not of type int"},
    {"{\"mcpServers\": {\"s\": {\"command\": \"\"}}}", "1:34: command is empty"},
    {"{\"mcpServers\": {\"s\": {\"command\": \"x\",\n  \"args\": \"y\"}}}",
     "2:11: args should be a list"},
    {"{\"mcpServers\": {\"s\": {\"command\": \"x\",\n  \"args\": [\"y\", [\"}\"], 4]}}}",
     "2:17: args should be a text, not of type list"},
    {"{\"mcpServers\": {\"s\": {\"command\": \"x\",\n  \"env\": [1]}}}",
     "2:10: env should be an object of texts"},
    {"{\"mcpServers\": {\"s\": {\"command\": \"x\",\n  \"env\": {\"A\": \"b\",\n   \"C\": 1}}}}",
     "3:9: env should be a text, not of type int"},
    {"{\"mcpServers\": {\"s\": {\"command\": \"x\",\n  \"env\": {\"A\": \"${NONE}\"}}}}",
     "2:16: env needs the variable NONE, which is not set"},
    {"{\"mcpServers\": {\"s\": {\"command\": \"x\",\n  \"env\": {\"A\": \"${EMPTY}\"}}}}",
     "2:16: env needs the variable EMPTY, which is not set"},
    {"{\"mcpServers\": {\"s\": {\"command\": \"x\\u0000y\"}}}", "1:34: command holds a zero byte"},
    {"{\"mcpServers\": {\"s\": {\"command\": \"x\", \"cwd\": {}}}}",
     "1:46: cwd should be a text, not of type dict"},
    {"{\"mcpServers\": {\"s\": {\"command\": \"x\", \"allow\": \"a\"}}}",
     "1:48: allow should be a list of names of tools"},
    {"{\"mcpServers\": {\"s\": {\"command\": \"x\", \"allow\": [\"a\",\n2]}}}",
     "2:1: allow should be a list of names of tools"},
    {"{\"mcpServers\": {\"s\": {\"command\": \"x\", \"timeout\": 0}}}",
     "1:50: timeout should be a number of seconds from above 0 to 604800"},
    {"{\"mcpServers\": {\"s\": {\"command\": \"x\", \"startTimeout\": \"1\"}}}",
     "1:55: startTimeout should be a number of seconds from above 0 to 604800"},
    {"{\"mcpServers\": {\"s\": {\"url\": \"ftp://x\"}}}",
     "1:30: url should begin with http:// or https://"},
    {"{\"mcpServers\": {\"s\": {\"url\": \"http://x\", \"type\": \"sse\"}}}",
     "1:50: the transport sse is not supported, only streamable HTTP"},
    {"{\"mcpServers\": {\"s\": {\"url\": \"http://x\", \"headers\": {\"A\": \"b\\nc\"}}}}",
     "1:59: a value in headers has two lines"},
    {"{\"mcpServers\": {\"s\": {\"url\": \"http://x\", \"headers\": {\"A\\n\": \"b\"}}}}",
     "1:61: a name in headers holds a byte that it may not"},
    {"{\"mcpServers\": {\"t\": {}, \"s\": {\"command\": \"\xc3\xa4\", \"args\": 1}}}",
     "1:56: args should be a list"},
    {"{\"mcpServers\": {\"s\": {}, \"s\": {\"command\": \"x\"}}}",
     "1:26: \"s\" is written twice, first at 1:17"},
};

static void faults_have_their_place(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(bad); i++) {
        pdl_arena *a = pdl_arena_make();
        pdl_err err = {0};
        server_config c;
        pdl_buf want = PDL_BUF;
        T_ROW(i);
        write_file(bad[i].text);
        t_assert(!pdl_mcp_config_read(&(pdl_mcp_options){.env = env}, PDL_STR("s"), a, &c, &err));
        pdl_buf_putf(&want, "tool server s: %s:%s", path, bad[i].want);
        t_assert_str(pdl_str_of(err.msg), pdl_buf_z(&want));
        assert_int_equal(err.kind, PDL_E_runtime);
        pdl_err_fini(&err);
        pdl_buf_fini(&want);
        pdl_arena_free(a);
    }
}

static void files_that_are_not_there(void **state) {
    static const struct {
        const char *(*env)(void *user, const char *name);
        const char *part;
    } rows[] = {{no_env, "PDL_MCP_CONFIG names no configuration file"}, {env, path}};
    (void)state;
    unlink(path);
    for (size_t i = 0; i < T_LEN(rows); i++) {
        pdl_arena *a = pdl_arena_make();
        pdl_err err = {0};
        server_config c;
        T_ROW(i);
        t_assert(!pdl_mcp_config_read(&(pdl_mcp_options){.env = rows[i].env}, PDL_STR("s"), a, &c,
                                      &err));
        t_assert(strstr(err.msg, "tool server s: ") == err.msg && strstr(err.msg, rows[i].part));
        pdl_err_fini(&err);
        pdl_arena_free(a);
    }
}

static void similar_names_are_hinted(void **state) {
    pdl_arena *a = pdl_arena_make();
    pdl_err err = {0};
    server_config c;
    (void)state;
    write_file("{\"mcpServers\": {\"github\": {\"command\": \"x\"}}}");
    assert_false(
        pdl_mcp_config_read(&(pdl_mcp_options){.env = env}, PDL_STR("gihub"), a, &c, &err));
    assert_string_equal(err.hint, "did you mean 'github'?");
    pdl_err_fini(&err);
    pdl_arena_free(a);
}

static const struct {
    const char *glob, *name;
    bool fits;
} globs[] = {
    {"a", "a", true},   {"a", "ab", false},   {"a*", "ab", true},       {"*", "", true},
    {"*b", "ab", true}, {"*b", "abc", false}, {"a*c*e", "abcde", true}, {"a*c*e", "abcd", false},
    {"**", "x", true},  {"", "", true},       {"", "x", false},         {"a*a", "a", false},
};

static void globs_allow(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(globs); i++) {
        pdl_str list = t_str(globs[i].glob);
        server_config c = {.allow = &list, .n_allow = 1};
        T_ROW(i);
        t_assert(pdl_mcp_config_allows(&c, t_str(globs[i].name)) == globs[i].fits);
    }
    assert_true(pdl_mcp_config_allows(&(server_config){0}, PDL_STR("anything")));
}

/* What the register of these servers makes of a text. */
static void expect_hidden(const pdl_mcp_options *opt, const char *text, const char *want) {
    pdl_secrets *secrets = pdl_secrets_new();
    pdl_buf out = PDL_BUF;
    pdl_mcp_secrets(opt, secrets);
    pdl_redact_text(secrets, t_str(text), &out);
    t_assert_str(pdl_buf_str(&out), want);
    pdl_buf_fini(&out);
    pdl_secrets_free(secrets);
}

static void secrets_are_told(void **state) {
    (void)state;
    write_file("{\"mcpServers\": {\"broken\": 3, \"a\": {\"command\": \"x\", \"args\": "
               "[\"--api-key\", \"arg-one\", \"--token=arg-two\", \"--mode\", \"ordinary\"],"
               " \"env\": {\"MY_KEY\": \"in-a-variable\", \"MODE\": \"ordinary\"}},"
               " \"b\": {\"url\": \"http://u:pass-word@x/?k=in-query\", \"headers\": {\"X-Any\": "
               "\"Bearer in-header ${TOKEN}\", \"Accept\": \"ordinary\"}}}}");
    expect_hidden(
        &(pdl_mcp_options){.env = env},
        "arg-one arg-two in-a-variable pass-word in-query 'in-header token' Bearer ordinary",
        "[REDACTED] [REDACTED] [REDACTED] [REDACTED] [REDACTED] '[REDACTED]' Bearer ordinary");
    expect_hidden(&(pdl_mcp_options){.env = no_env}, "in-header arg-one", "in-header arg-one");
    write_file("{");
    expect_hidden(&(pdl_mcp_options){.env = env}, "in-header arg-one", "in-header arg-one");
    unlink(path);
}

/* Keys, each behind a slash; the offset of the value. */
static const struct {
    const char *text, *keys;
    size_t at;
} places[] = {
    {" 7", "", 1},
    {"{\"a\": 1, \"b\": 2}", "/b", 14},
    {"{\"a\": {\"b\": 1}, \"b\": 2}", "/b", 21}, /* not the inner one */
    {"{\"a\": \"}\\\"{\", \"b\": 2}", "/b", 19}, /* brackets and quotes in texts */
    {"{\"a\": [1, [2, 3], {\"c\": 4}]}", "/a/2/c", 24},
    {"{\"a\": [1, 2]}", "/a/7", 6}, /* as far as it goes */
    {"{\"a\": 1}", "/a/b", 6},
    {"{\"\\u0061\": 1}", "/a", 11},
    {"{\"a\" : true , \"b\" : null}", "/b", 20},
    {"[]", "/0", 0},
};

static void paths_lead_to_values(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(places); i++) {
        pdl_str keys[4], rest = t_str(places[i].keys);
        size_t n = 0;
        while (rest.n) {
            size_t slash = pdl_str_find(rest, PDL_STR("/"), 1),
                   end = slash == PDL_NOT_FOUND ? rest.n : slash;
            keys[n++] = pdl_str_sub(rest, 1, end);
            rest = pdl_str_sub(rest, end, rest.n);
        }
        size_t at = pdl_mcp_json_place(t_str(places[i].text), keys, n);
        if (at != places[i].at) fail_msg("row %zu: %zu instead of %zu", i, at, places[i].at);
    }
}

int main(void) {
    int fd = mkstemp(path);
    if (fd < 0) return 1;
    close(fd);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_read),
        cmocka_unit_test(faults_have_their_place),
        cmocka_unit_test(files_that_are_not_there),
        cmocka_unit_test(similar_names_are_hinted),
        cmocka_unit_test(globs_allow),
        cmocka_unit_test(secrets_are_told),
        cmocka_unit_test(paths_lead_to_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
