/* test_mcp_config.c -- the configuration of tool servers: what is read, what is refused and with
 * which message, and which tools are allowed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mcp/server_config.h"

#include <stdlib.h>
#include <unistd.h>

#include "t.h"

#include "base/banned.h"

static char path[] = "/tmp/pdl_config_XXXXXX";

static const char *variable(void *user, const char *name) {
    if (pdl_str_is(t_str(name), "PDL_MCP_CONFIG")) return user;
    if (pdl_str_is(t_str(name), "HOME")) return "/home/me";
    if (pdl_str_is(t_str(name), "KEY")) return "k1";
    return pdl_str_is(t_str(name), "EMPTY") ? "" : NULL;
}

static const pdl_mcp_options options = {.env = variable, .user = path};

static void write_config(const char *text) {
    FILE *f = fopen(path, "w");
    t_assert(f != NULL);
    fputs(text, f);
    fclose(f);
}

static void put_all(pdl_buf *b, const char *key, const char *const *lines, size_t n) {
    for (size_t i = 0; lines && i < n; i++) pdl_buf_putf(b, " %s=%s", key, lines[i]);
}

static size_t length(const char *const *lines) {
    size_t n = 0;
    while (lines && lines[n]) n++;
    return n;
}

static void show(const server_config *c, pdl_buf *b) {
    pdl_buf_putf(b, "%s", c->name);
    put_all(b, "argv", c->argv, length(c->argv));
    put_all(b, "env", c->env, length(c->env));
    if (c->cwd) pdl_buf_putf(b, " cwd=%s", c->cwd);
    if (c->url) pdl_buf_putf(b, " url=%s", c->url);
    put_all(b, "header", c->headers, c->n_headers);
    if (c->allow) pdl_buf_putf(b, " allow=%zu", c->n_allow);
    pdl_buf_putf(b, " %llu/%llu", (unsigned long long)c->timeout_ms,
                 (unsigned long long)c->start_ms);
}

/* The entry of server s, and what was read, or the part of the message behind the place in the
 * file. */
static const struct {
    const char *entry, *want;
} entries[] = {
    {"{\"command\":\"x\"}", "s argv=x env=HOME=/home/me 60000/60000"},
    {"{\"command\":\"x\",\"args\":[\"a\",\"${KEY}-${KEY}\",\"${\",\"$KEY\"]}",
     "s argv=x argv=a argv=k1-k1 argv=${ argv=$KEY env=HOME=/home/me 60000/60000"},
    {"{\"command\":\"x\",\"env\":{\"HOME\":\"/other\",\"T\":\"${KEY}\"},\"cwd\":\"/w\"}",
     "s argv=x env=HOME=/other env=T=k1 cwd=/w 60000/60000"},
    {"{\"command\":\"x\",\"env\":null,\"allow\":null,\"timeout\":null}",
     "s argv=x env=HOME=/home/me 60000/60000"},
    {"{\"command\":\"x\",\"timeout\":1.5,\"startTimeout\":2,\"more\":1}",
     "s argv=x env=HOME=/home/me 1500/2000"},
    {"{\"command\":\"x\",\"timeout\":0.0001}", "s argv=x env=HOME=/home/me 1/60000"},
    {"{\"command\":\"x\",\"allow\":[\"a\",\"b*\"]}",
     "s argv=x env=HOME=/home/me allow=2 60000/60000"},
    {"{\"url\":\"https://h/mcp\",\"headers\":{\"A\":\"Bearer ${KEY}\"}}",
     "s url=https://h/mcp header=A: Bearer k1 60000/60000"},
    {"5", "!the entry should be an object"},
    {"{}", "!the entry needs either a command or a url"},
    {"{\"command\":\"x\",\"url\":\"http://h\"}", "!the entry needs either a command or a url"},
    {"{\"command\":\"\"}", "!command is empty"},
    {"{\"command\":5}", "!command should be a text, not of type int"},
    {"{\"command\":\"x\",\"args\":\"a\"}", "!args should be a list"},
    {"{\"command\":\"x\",\"args\":[null]}", "!args should be a text, not of type NoneType"},
    {"{\"command\":\"x\",\"args\":[\"a\\u0000b\"]}", "!args holds a zero byte"},
    {"{\"command\":\"${NONE}\"}", "!command needs the variable NONE, which is not set"},
    {"{\"command\":\"x${EMPTY}\"}", "!command needs the variable EMPTY, which is not set"},
    {"{\"command\":\"x\",\"env\":[]}", "!env should be an object of texts"},
    {"{\"command\":\"x\",\"env\":{\"A\":5}}", "!env should be a text, not of type int"},
    {"{\"command\":\"x\",\"env\":{\"A\\nB\":\"\"}}", "!a name in env holds a byte that it may not"},
    {"{\"command\":\"x\",\"cwd\":5}", "!cwd should be a text, not of type int"},
    {"{\"command\":\"x\",\"timeout\":0}",
     "!timeout should be a number of seconds from above 0 to 604800"},
    {"{\"command\":\"x\",\"startTimeout\":\"5\"}",
     "!startTimeout should be a number of seconds from above 0 to 604800"},
    {"{\"command\":\"x\",\"timeout\":1e9}",
     "!timeout should be a number of seconds from above 0 to 604800"},
    {"{\"command\":\"x\",\"allow\":\"a\"}", "!allow should be a list of names of tools"},
    {"{\"command\":\"x\",\"allow\":[5]}", "!allow should be a list of names of tools"},
    {"{\"url\":\"ftp://h\"}", "!url should begin with http:// or https://"},
    {"{\"url\":5}", "!url should be a text, not of type int"},
    {"{\"url\":\"http://h\",\"type\":\"sse\"}",
     "!the transport sse is not supported, only streamable HTTP"},
    {"{\"url\":\"http://h\",\"headers\":\"A\"}", "!headers should be an object of texts"},
    {"{\"url\":\"http://h\",\"headers\":{\"A\":\"b\\r\\nC: d\"}}",
     "!a value in headers has two lines"},
};

static void entries_are_read(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(entries); i++) {
        T_ROW(i);
        pdl_buf b = PDL_BUF;
        pdl_buf_putf(&b, "{\"mcpServers\": {\"s\": %s}, \"other\": 1}", entries[i].entry);
        write_config(pdl_buf_z(&b));
        pdl_buf_clear(&b);
        pdl_arena *a = pdl_arena_make();
        server_config c;
        pdl_err err = {0};
        if (pdl_mcp_config_read(&options, PDL_STR("s"), a, &c, &err)) {
            show(&c, &b);
        } else {
            pdl_buf_putf(&b, "tool server s: %s:1:", path);
            pdl_str msg = t_str(err.msg);
            t_assert(err.kind == PDL_E_runtime && pdl_str_starts(msg, pdl_buf_str(&b)));
            size_t colon = pdl_str_find(msg, PDL_STR(": "), b.len); /* behind the column */
            pdl_buf_clear(&b);
            pdl_buf_putf(&b, "!%.*s", PDL_FMT(pdl_str_sub(msg, colon + 2, msg.n)));
        }
        t_assert_str(pdl_buf_str(&b), entries[i].want);
        pdl_err_fini(&err);
        pdl_buf_fini(&b);
        pdl_arena_free(a);
    }
}

static const char *no_variable(void *user, const char *name) {
    (void)user;
    (void)name;
    return NULL;
}

static void files_that_do_not_say(void **state) {
    (void)state;
    static const struct {
        const char *text, *want; /* text NULL: no variable names a file */
    } rows[] = {
        {NULL, "tool server srv: PDL_MCP_CONFIG names no configuration file"},
        {"{", "Expecting property name enclosed in double quotes"},
        {"[]", "it has no object mcpServers"},
        {"{\"mcpServers\": []}", "it has no object mcpServers"},
        {"{\"mcpServers\": {\"serv\": {}}}", "there is no server of this name"},
        {"{\"mcpServers\": {}}", "there is no server of this name"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_mcp_options o = options;
        if (rows[i].text)
            write_config(rows[i].text);
        else
            o.env = no_variable;
        pdl_arena *a = pdl_arena_make();
        server_config c;
        pdl_err err = {0};
        t_assert(!pdl_mcp_config_read(&o, PDL_STR("srv"), a, &c, &err));
        if (pdl_str_find(t_str(err.msg), t_str(rows[i].want), 0) == PDL_NOT_FOUND)
            fail_msg("row %zu: %s", i, err.msg);
        pdl_err_fini(&err);
        pdl_arena_free(a);
    }
}

static void globs_allow(void **state) {
    (void)state;
    static const struct {
        const char *glob, *name;
        bool want;
    } rows[] = {
        {"a", "a", true},         {"a", "ab", false},   {"a*", "abc", true},
        {"*", "", true},          {"*c", "abc", true},  {"*c", "abd", false},
        {"a*c", "abcbc", true},   {"a**c", "ac", true}, {"a*b*c", "axbyc", true},
        {"a*b*c", "axyc", false}, {"", "", true},       {"", "a", false},
        {"a?", "ab", false},      {"*a*", "bab", true},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_str glob = t_str(rows[i].glob);
        server_config c = {.allow = &glob, .n_allow = 1};
        t_assert(pdl_mcp_config_allows(&c, t_str(rows[i].name)) == rows[i].want);
    }
    t_assert(pdl_mcp_config_allows(&(server_config){0}, PDL_STR("any")));
    t_assert(!pdl_mcp_config_allows(&(server_config){.allow = &(pdl_str){"a", 1}, .n_allow = 0},
                                    PDL_STR("a")));
}

/* A server that cannot be read hides what was read of it. */
static void secrets_are_told(void **state) {
    (void)state;
    write_config("{\"mcpServers\": {\"c\": {\"command\": \"x\", \"env\": {\"SOME_KEY\": "
                 "\"a-variable\"}, \"allow\": 5}, \"d\": 5}}");
    pdl_secrets *secrets = pdl_secrets_new();
    pdl_mcp_secrets(&options, secrets);
    pdl_buf b = PDL_BUF;
    pdl_redact_text(secrets, PDL_STR("a-variable"), &b);
    t_assert_str(pdl_buf_str(&b), "[REDACTED]");
    pdl_buf_fini(&b);
    pdl_secrets_free(secrets);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_read),
        cmocka_unit_test(files_that_do_not_say),
        cmocka_unit_test(globs_allow),
        cmocka_unit_test(secrets_are_told),
    };
    int fd = mkstemp(path);
    if (fd < 0) return 1;
    close(fd);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
