/* server_config.c -- reads the configuration of tool servers, with the place of each mistake, and
 * registers the secrets in it; see server_config.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mcp/server_config.h"

#include <stdio.h>

#include "base/glob.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "io/file.h"
#include "mcp/json_place.h"
#include "sandbox/sandbox.h"
#include "value/json_read.h"

#include "base/banned.h"

enum {
    MAX_CONFIG = 4 << 20,
    TIMEOUT_S = 60,
    START_S = 60, /* long, because the first start may download the server */
    MAX_SECONDS = 7 * 24 * 3600,
};

/* The environment variables that every server inherits; further ones are named in `env`. */
static const char *const base_env[] = {"HOME",  "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH",
                                       "SHELL", "TERM", "TMPDIR", "TZ",       "USER"};

/* The state of a reader of the file. path is the place that a message names: "mcpServers", then
 * a server, a field of the server, and a part of the field. */
typedef struct config_reader {
    const pdl_mcp_options *opt;
    pdl_arena *a;
    const char *file, *who; /* file: name of the file; who: "tool server x", for messages */
    pdl_err *err;
    pdl_buf text; /* text of the file */
    pdl_str path[4];
    size_t depth;
    /* the variable of a file `.env` that is a part of the server's address; NULL when the address
     * has no such variable */
    const char *file_variable;
} reader;

static const char *variable(const pdl_mcp_options *opt, const char *name) {
    const char *v = opt->env ? opt->env(opt->user, name) : NULL;
    return v && *v ? v : NULL;
}

PDL_PRINTF(2, 3) static bool wrong(reader *r, const char *fmt, ...) {
    pdl_buf b = PDL_BUF;
    va_list ap;
    va_start(ap, fmt);
    pdl_buf_vputf(&b, fmt, ap);
    va_end(ap);
    unsigned line, column;
    pdl_mcp_json_line(pdl_buf_str(&r->text),
                      pdl_mcp_json_place(pdl_buf_str(&r->text), r->path, r->depth), &line, &column);
    pdl_err_set(r->err, PDL_E_runtime, (pdl_loc){0}, "%s: %s:%u:%u: %s", r->who, r->file, line,
                column, pdl_buf_z(&b));
    pdl_buf_fini(&b);
    return false;
}

/* Moves the place of messages to a field of the server, or to a part of that field. */
static void at_field(reader *r, const char *key) {
    r->path[2] = pdl_str_of(key);
    r->depth = 3;
}

static void at_part(reader *r, pdl_str part) {
    r->path[3] = part;
    r->depth = 4;
}

static void at_number(reader *r, size_t i) {
    char number[24];
    snprintf(number, sizeof number, "%zu", i);
    at_part(r, pdl_arena_str(r->a, pdl_str_of(number)));
}

static const char *copy(pdl_arena *a, pdl_str s) { return pdl_arena_str(a, s).p; }

/* Finds the value of a variable in a text. A file `.env` may have come with the program. So a
 * command never contains a variable of the file, and a server whose address is from the file gets
 * only keys of the file. */
static bool find_value(reader *r, const char *key, const char *name, const char **value) {
    const char *of_file = r->opt->env_of_file ? r->opt->env_of_file(r->opt->user, name) : NULL;
    *value = variable(r->opt, name);
    if (!*value) return wrong(r, "%s needs the variable %s, which is not set", key, name);
    bool in_file = of_file == *value;
    if (in_file && strcmp(key, "command") == 0)
        return wrong(r,
                     "command has %s of a file .env, which may have come with the program: export "
                     "%s",
                     name, name);
    if (in_file && strcmp(key, "url") == 0) r->file_variable = name;
    if (!r->file_variable || !pdl_is_secret_variable(pdl_str_of(name))) return true;
    if (of_file && *of_file) {
        *value = of_file;
        return true;
    }
    return wrong(r,
                 "%s has the key %s of the environment, which is not sent to an address with %s of "
                 "a file .env: write the key into the file, or export %s",
                 key, name, r->file_variable, r->file_variable);
}

/* Returns the text with ${NAME} replaced, in the arena. */
static bool expand(reader *r, const char *key, pdl_vref v, const char **out) {
    if (!pdl_is_str(v))
        return wrong(r, "%s should be a text, not of type %s", key, pdl_type_name(v));
    pdl_str s = pdl_str_get(v);
    if (memchr(s.p, 0, s.n)) return wrong(r, "%s holds a zero byte", key);
    pdl_buf b = PDL_BUF;
    bool ok = true;
    while (ok && s.n) {
        size_t from = pdl_str_find(s, PDL_STR("${"), 0);
        size_t to = from == PDL_NOT_FOUND ? PDL_NOT_FOUND : pdl_str_find(s, PDL_STR("}"), from);
        if (to == PDL_NOT_FOUND) break;
        pdl_buf_put(&b, pdl_str_sub(s, 0, from));
        const char *value;
        ok = find_value(r, key, copy(r->a, pdl_str_sub(s, from + 2, to)), &value);
        if (ok) pdl_buf_put(&b, pdl_str_of(value));
        s = pdl_str_sub(s, to + 1, s.n);
    }
    pdl_buf_put(&b, s);
    *out = copy(r->a, pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return ok;
}

static bool seconds(reader *r, pdl_vref d, const char *key, uint64_t fallback, uint64_t *ms) {
    pdl_vref v = pdl_dict_getz(d, key);
    *ms = fallback * 1000;
    at_field(r, key);
    if (pdl_is_absent(v) || pdl_is_null(v)) return true;
    bool whole = pdl_is(v, PDL_V_INT), number = whole || pdl_is(v, PDL_V_FLOAT);
    double s = whole ? (double)pdl_int_of(v) : number ? pdl_float_of(v) : 0;
    if (!(s > 0 && s <= MAX_SECONDS))
        return wrong(r, "%s should be a number of seconds from above 0 to %d", key, MAX_SECONDS);
    *ms = s < 0.001 ? 1 : (uint64_t)(s * 1000);
    return true;
}

/* Reads command and args; argv stays NULL when there is no command. */
static bool read_argv(reader *r, pdl_vref d, server_config *c) {
    pdl_vref command = pdl_dict_getz(d, "command"), args = pdl_dict_getz(d, "args");
    if (pdl_is_absent(command)) return true;
    at_field(r, "args");
    if (!pdl_is_absent(args) && !pdl_is_list(args)) return wrong(r, "args should be a list");
    size_t n = pdl_is_list(args) ? pdl_list_len(args) : 0;
    const char **argv = pdl_arena_new_n(r->a, const char *, n + 2);
    at_field(r, "command");
    bool ok = expand(r, "command", command, &argv[0]);
    if (ok && !*argv[0]) ok = wrong(r, "command is empty");
    at_field(r, "args");
    for (size_t i = 0; ok && i < n; i++) {
        at_number(r, i);
        ok = expand(r, "args", pdl_list_at(args, i), &argv[i + 1]);
    }
    c->argv = argv;
    return ok;
}

/* Appends the entries of an object as "NAME<sep>value" to lines. */
static bool read_pairs(reader *r, pdl_vref d, const char *key, const char *sep, const char **lines,
                       size_t *n) {
    for (size_t i = 0, len = pdl_is_dict(d) ? pdl_dict_len(d) : 0; i < len; i++) {
        pdl_str name = pdl_str_get(pdl_dict_key_at(d, i));
        const char *value;
        at_part(r, name);
        if (memchr(name.p, 0, name.n) || pdl_str_find(name, PDL_STR("\n"), 0) != PDL_NOT_FOUND)
            return wrong(r, "a name in %s holds a byte that it may not", key);
        if (!expand(r, key, pdl_dict_val_at(d, i), &value)) return false;
        if (*sep == ':' && strpbrk(value, "\r\n"))
            return wrong(r, "a value in %s has two lines", key);
        pdl_buf b = PDL_BUF;
        pdl_buf_putf(&b, "%.*s%s%s", PDL_FMT(name), sep, value);
        lines[(*n)++] = copy(r->a, pdl_buf_str(&b));
        pdl_buf_fini(&b);
    }
    return true;
}

static bool object_at(reader *r, pdl_vref d, const char *key, pdl_vref *out, size_t *n) {
    *out = pdl_dict_getz(d, key);
    at_field(r, key);
    if (!pdl_is_absent(*out) && !pdl_is_null(*out) && !pdl_is_dict(*out))
        return wrong(r, "%s should be an object of texts", key);
    *n = pdl_is_dict(*out) ? pdl_dict_len(*out) : 0;
    return true;
}

/* Adds NAME=value to env, unless own, the `env` of the server, has this name. */
static void add_env(reader *r, pdl_vref own, pdl_str name, const char *value, const char **env,
                    size_t *n) {
    if (!value || (pdl_is_dict(own) && !pdl_is_absent(pdl_dict_gets(own, name)))) return;
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%.*s=%s", PDL_FMT(name), value);
    env[(*n)++] = copy(r->a, pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

/* Reads the environment. A server in a sandbox gets the environment of the sandbox instead of the
 * inherited one. */
static bool read_env(reader *r, pdl_vref d, server_config *c) {
    pdl_vref own;
    size_t n_own = 0, n = 0, n_base = sizeof base_env / sizeof base_env[0];
    const char *const *confined = c->sandbox ? pdl_sandbox_env(c->sandbox) : NULL;
    if (!object_at(r, d, "env", &own, &n_own)) return false;
    while (confined && confined[n]) n++;
    const char **env = pdl_arena_new_n(r->a, const char *, n_own + n_base + n + 1);
    n = 0;
    for (size_t i = 0; !confined && i < n_base; i++)
        add_env(r, own, pdl_str_of(base_env[i]), variable(r->opt, base_env[i]), env, &n);
    for (size_t i = 0; confined && confined[i]; i++) {
        pdl_str line = pdl_str_of(confined[i]);
        size_t equals = pdl_str_find(line, PDL_STR("="), 0);
        add_env(r, own, pdl_str_sub(line, 0, equals), confined[i] + equals + 1, env, &n);
    }
    c->env = env;
    return read_pairs(r, own, "env", "=", env, &n);
}

/* Reads `sandbox`. With true, the server is confined as with an empty profile. There is no false,
 * because a file must not remove a sandbox that the command line requests. */
static bool read_sandbox(reader *r, pdl_vref d, server_config *c) {
    pdl_vref v = pdl_dict_getz(d, "sandbox");
    bool given = !pdl_is_absent(v) && !pdl_is_null(v), plain = pdl_is_bool(v) && pdl_bool_of(v);
    pdl_err why = {0};
    at_field(r, "sandbox");
    if (given && !plain && !pdl_is_dict(v)) return wrong(r, "sandbox should be true, or a profile");
    if (given && !c->argv) return wrong(r, "sandbox is for a server that is started by a command");
    if (!c->argv || !r->opt->confine) return true;
    pdl_val own = plain ? pdl_dict_new(0) : given ? pdl_keep(v) : pdl_absent();
    bool ok = r->opt->confine(r->opt->confine_user, own, pdl_file_folder(pdl_str_of(r->file)),
                              r->opt->profiles, &c->sandbox, &why);
    pdl_drop(own);
    if (ok) return true;
    if (given && why.kind == PDL_E_schema)
        wrong(r, "%s", why.msg);
    else
        pdl_err_set(r->err, why.kind, (pdl_loc){0}, "%s: %s", r->who, why.msg);
    pdl_err_fini(&why);
    return false;
}

static bool read_http(reader *r, pdl_vref d, server_config *c) {
    pdl_vref url = pdl_dict_getz(d, "url"), headers;
    size_t n = 0;
    at_field(r, "type");
    if (pdl_text_is(pdl_dict_getz(d, "type"), "sse"))
        return wrong(r, "the transport sse is not supported, only streamable HTTP");
    at_field(r, "url");
    r->file_variable = NULL;
    if (!expand(r, "url", url, &c->url)) return false;
    if (!pdl_str_starts(pdl_str_of(c->url), PDL_STR("http://")) &&
        !pdl_str_starts(pdl_str_of(c->url), PDL_STR("https://")))
        return wrong(r, "url should begin with http:// or https://");
    if (!object_at(r, d, "headers", &headers, &n)) return false;
    const char **lines = pdl_arena_new_n(r->a, const char *, n + 1);
    c->headers = lines;
    return read_pairs(r, headers, "headers", ": ", lines, &c->n_headers);
}

static bool read_allow(reader *r, pdl_vref d, server_config *c) {
    pdl_vref list = pdl_dict_getz(d, "allow");
    at_field(r, "allow");
    if (pdl_is_absent(list) || pdl_is_null(list)) return true;
    if (!pdl_is_list(list)) return wrong(r, "allow should be a list of names of tools");
    pdl_str *names = pdl_arena_new_n(r->a, pdl_str, pdl_list_len(list) + 1);
    for (size_t i = 0; i < pdl_list_len(list); i++) {
        pdl_vref v = pdl_list_at(list, i);
        at_number(r, i);
        if (!pdl_is_str(v)) return wrong(r, "allow should be a list of names of tools");
        names[c->n_allow++] = pdl_arena_str(r->a, pdl_str_get(v));
    }
    c->allow = names;
    return true;
}

static bool read_parallel(reader *r, pdl_vref d, server_config *c) {
    pdl_vref v = pdl_dict_getz(d, "parallel");
    at_field(r, "parallel");
    if (pdl_is_absent(v) || pdl_is_null(v)) return true;
    if (!pdl_is_bool(v)) return wrong(r, "parallel should be true or false");
    c->one_by_one = !pdl_bool_of(v);
    return true;
}

static bool read_server(reader *r, pdl_vref d, server_config *c) {
    r->depth = 2;
    if (!pdl_is_dict(d)) return wrong(r, "the entry should be an object");
    if (!read_argv(r, d, c)) return false;
    bool has_url = !pdl_is_absent(pdl_dict_getz(d, "url"));
    r->depth = 2;
    if (!c->argv == !has_url) return wrong(r, "the entry needs either a command or a url");
    if (!read_sandbox(r, d, c) || (c->argv && !read_env(r, d, c))) return false;
    if (has_url && !read_http(r, d, c)) return false;
    pdl_vref cwd = pdl_dict_getz(d, "cwd");
    at_field(r, "cwd");
    if (!pdl_is_absent(cwd) && !expand(r, "cwd", cwd, &c->cwd)) return false;
    return read_allow(r, d, c) && read_parallel(r, d, c) &&
           seconds(r, d, "timeout", TIMEOUT_S, &c->timeout_ms) &&
           seconds(r, d, "startTimeout", START_S, &c->start_ms);
}

/* Reports text that is not JSON. The JSON reader's message ends with its position: "Expecting
 * value: line 1 column 7 (char 6)". */
static bool not_json(reader *r, const pdl_err *why) {
    pdl_str msg = pdl_str_of(why->msg);
    size_t at = pdl_str_rfind(msg, PDL_STR(": line ")),
           number = pdl_str_rfind(msg, PDL_STR("column "));
    pdl_str before = pdl_str_sub(msg, 0, at);
    if (at == PDL_NOT_FOUND || number == PDL_NOT_FOUND) return wrong(r, "%s", why->msg);
    pdl_str line = pdl_str_sub(msg, at + strlen(": line "), number - 1),
            column = pdl_str_sub(msg, number + strlen("column "), msg.n);
    column = pdl_str_sub(column, 0, pdl_str_find(column, PDL_STR(" "), 0));
    return pdl_err_set(r->err, PDL_E_runtime, (pdl_loc){0}, "%s: %s:%.*s:%.*s: %.*s", r->who,
                       r->file, PDL_FMT(line), PDL_FMT(column), PDL_FMT(before));
}

/* Refuses a key that is written twice: one of them would be ignored, and the user would not know
 * which. Other keys than mcpServers belong to other programs and may be repeated. */
static bool is_unique(reader *r) {
    enum { DEEP = 16 };
    pdl_str text = pdl_utf8_unmarked(pdl_buf_str(&r->text));
    pdl_mcp_json_repeat twice;
    unsigned line, column, first_line, first_column;
    size_t root = pdl_mcp_json_place(text, NULL, 0);
    size_t servers = pdl_mcp_json_place(text, r->path, 1);
    if (!pdl_mcp_json_repeats(text, root, 0, PDL_STR("\"mcpServers\""), &twice) &&
        !pdl_mcp_json_repeats(text, servers, DEEP, (pdl_str){0}, &twice))
        return true;
    pdl_mcp_json_line(text, twice.second, &line, &column);
    pdl_mcp_json_line(text, twice.first, &first_line, &first_column);
    return pdl_err_set(r->err, PDL_E_runtime, (pdl_loc){0},
                       "%s: %s:%u:%u: %.*s is written twice, first at %u:%u", r->who, r->file, line,
                       column, PDL_FMT(twice.key), first_line, first_column);
}

/* Reports a file that cannot be read. Takes why. */
static bool unreadable(reader *r, pdl_err *why) {
    if (pdl_err_is_cancel(why)) {
        pdl_err_move(r->err, why);
        return false;
    }
    pdl_err_set(r->err, PDL_E_usage, (pdl_loc){0}, "%s: %s", r->who, why->msg);
    pdl_err_hint(r->err, "PDL_MCP_CONFIG in the environment says so");
    pdl_err_fini(why);
    return false;
}

/* Reads the object mcpServers of the file into *out, owned. */
static bool read_file(reader *r, pdl_val *out) {
    pdl_err why = {0};
    pdl_val v = pdl_absent();
    if (!pdl_file_read(r->file, &r->text, &why)) return unreadable(r, &why);
    bool ok = pdl_json_read_document(pdl_buf_str(&r->text), 0, &v, &why) || not_json(r, &why);
    pdl_err_fini(&why);
    pdl_vref servers = pdl_is_dict(v) ? pdl_dict_getz(v, "mcpServers") : pdl_absent();
    r->path[0] = PDL_STR("mcpServers");
    r->depth = 1;
    if (ok && !pdl_is_dict(servers)) ok = wrong(r, "it has no object mcpServers");
    ok = ok && is_unique(r);
    if (ok)
        *out = pdl_keep(servers);
    else if (!r->err->hint)
        pdl_err_hint(r->err, "PDL_MCP_CONFIG in the environment names the file");
    pdl_drop(v);
    return ok;
}

static bool unknown(reader *r, pdl_vref servers, pdl_str name) {
    size_t n = pdl_dict_len(servers);
    pdl_str *names = pdl_arena_new_n(r->a, pdl_str, n + 1);
    for (size_t i = 0; i < n; i++) names[i] = pdl_str_get(pdl_dict_key_at(servers, i));
    pdl_str near = pdl_str_nearest(name, names, n);
    wrong(r, "there is no server of this name");
    if (near.n) pdl_err_hint(r->err, "did you mean '%.*s'?", PDL_FMT(near));
    return false;
}

static const char *who_of(pdl_arena *a, const char *name) {
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "tool server %s", name);
    const char *who = copy(a, pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return who;
}

bool pdl_mcp_config_read(const pdl_mcp_options *opt, pdl_str name, pdl_arena *a, server_config *out,
                         pdl_err *err) {
    const char *file = variable(opt, "PDL_MCP_CONFIG");
    *out = (server_config){.name = copy(a, name)};
    if (!file)
        return pdl_err_set(err, PDL_E_runtime, (pdl_loc){0},
                           "tool server %s: PDL_MCP_CONFIG names no configuration file", out->name);
    reader r = {.opt = opt,
                .a = a,
                .file = file,
                .who = who_of(a, out->name),
                .err = err,
                .text = PDL_BUF_INIT(MAX_CONFIG)};
    pdl_val servers = pdl_absent();
    bool ok = read_file(&r, &servers);
    pdl_vref d = ok ? pdl_dict_gets(servers, name) : pdl_absent();
    r.path[1] = name;
    if (ok) ok = pdl_is_absent(d) ? unknown(&r, servers, name) : read_server(&r, d, out);
    pdl_drop(servers);
    pdl_buf_fini(&r.text);
    return ok;
}

bool pdl_mcp_config_allows(const server_config *c, pdl_str tool) {
    for (size_t i = 0; i < c->n_allow; i++)
        if (pdl_glob_fits(c->allow[i], tool, 0)) return true;
    return !c->allow;
}

bool pdl_mcp_servers(const pdl_mcp_options *opt, pdl_val *names, pdl_err *err) {
    const char *file = variable(opt, "PDL_MCP_CONFIG");
    if (!file)
        return pdl_err_set(err, PDL_E_runtime, (pdl_loc){0},
                           "PDL_MCP_CONFIG names no configuration file of tool servers");
    pdl_arena *a = pdl_arena_make();
    reader r = {.opt = opt,
                .a = a,
                .file = file,
                .who = "tool servers",
                .err = err,
                .text = PDL_BUF_INIT(MAX_CONFIG)};
    pdl_val servers;
    bool ok = read_file(&r, &servers);
    if (ok) {
        *names = pdl_list_new(pdl_dict_len(servers));
        for (size_t i = 0; i < pdl_dict_len(servers); i++)
            *names = pdl_list_push(*names, pdl_keep(pdl_dict_key_at(servers, i)));
        pdl_drop(servers);
    }
    pdl_buf_fini(&r.text);
    pdl_arena_free(a);
    return ok;
}

/* --- secrets ---------------------------------------------------------------------------------- */

/* Splits a line into name and value at the first sep. */
static bool halves(const char *line, char sep, pdl_str *name, pdl_str *value) {
    pdl_str s = pdl_str_of(line);
    size_t at = pdl_str_find(s, (pdl_str){&sep, 1}, 0);
    if (at == PDL_NOT_FOUND) return false;
    *name = pdl_str_sub(s, 0, at);
    *value = pdl_str_trim(pdl_str_sub(s, at + 1, s.n));
    return true;
}

/* Registers the secrets of an argument: the value of "--api-key=VALUE" and "--api-key VALUE", and
 * the keys in an address. */
static void note_argument(pdl_secrets *secrets, const char *arg, const char *next) {
    pdl_str name = pdl_str_of(arg), value = pdl_str_of(next ? next : "");
    bool flag = arg[0] == '-';
    if (flag) (void)halves(arg, '=', &name, &value);
    if (flag && (value.n && value.p[0] != '-'))
        pdl_secrets_note_variable(secrets, name, value);
    else
        pdl_secrets_note_address(secrets, name);
}

static void note_server(pdl_secrets *secrets, const server_config *c) {
    pdl_str name, value;
    for (size_t k = 0; k < c->n_headers; k++)
        if (halves(c->headers[k], ':', &name, &value))
            pdl_secrets_note_header(secrets, name, value);
    for (size_t k = 0; c->env && c->env[k]; k++)
        if (halves(c->env[k], '=', &name, &value)) pdl_secrets_note_variable(secrets, name, value);
    for (size_t k = 1; c->argv && c->argv[0] && c->argv[k]; k++)
        note_argument(secrets, c->argv[k], c->argv[k + 1]);
    if (c->url) pdl_secrets_note_address(secrets, pdl_str_of(c->url));
}

void pdl_mcp_secrets(const pdl_mcp_options *opt, pdl_secrets *secrets) {
    const char *file = variable(opt, "PDL_MCP_CONFIG");
    if (!file) return;
    pdl_err err = {0};
    pdl_arena *a = pdl_arena_make();
    reader r = {.opt = opt,
                .a = a,
                .file = file,
                .who = "tool servers",
                .err = &err,
                .text = PDL_BUF_INIT(MAX_CONFIG)};
    pdl_val servers;
    bool ok = read_file(&r, &servers);
    for (size_t i = 0; ok && i < pdl_dict_len(servers); i++) {
        server_config c = {.name = ""};
        if (!read_server(&r, pdl_dict_val_at(servers, i), &c)) pdl_err_fini(&err);
        note_server(secrets, &c);
    }
    if (ok) pdl_drop(servers);
    pdl_buf_fini(&r.text);
    pdl_err_fini(&err);
    pdl_arena_free(a);
}
