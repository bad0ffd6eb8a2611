/* cmd_serve.c -- pdl serve FILE...: serves programs as models over HTTP. The programs are checked
 * before the server begins to listen, so that an error that every request would meet is reported at
 * once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/plural.h"
#include "base/utf8.h"
#include "base/version.h"
#include "cli/cli.h"
#include "cli/ping.h"
#include "io/file.h"
#include "io/httpd.h"
#include "lang/load.h"
#include "serve/serve.h"

#include "base/banned.h"

enum { DEFAULT_WAITING = 1024, MAX_WAITING = 100000, MAX_TOKEN = 4096 };

typedef struct server {
    const arguments *a;
    pdl_session *session;
    pdl_serve *serve;
    pdl_durable *journal; /* the journal of --durable; NULL without this option */
    PDL_VEC(pdl_served) models;
    PDL_VEC(char *) names; /* the names of the models; owned */
    char *host, *token;    /* owned */
    int log;               /* the descriptor of the log of requests */
    bool log_failed;
    /* descriptors of a client that speaks MCP in lines; 0 when there is none */
    int mcp_in, mcp_out;
} server;

/* --- programs --------------------------------------------------------------------------------- */

/* Returns the file's name without folder and suffix. Clients read it in JSON, so bytes that are not
 * UTF-8 are replaced. */
static pdl_str model_name(server *v, pdl_str file) {
    pdl_buf b = PDL_BUF;
    pdl_utf8_repair(&b, pdl_file_name(file));
    file = pdl_buf_str(&b);
    *pdl_vec_push(&v->names) = b.p;
    static const char *const suffixes[] = {".pdl", ".yaml", ".yml"};
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        pdl_str suffix = pdl_str_of(suffixes[i]);
        if (file.n > suffix.n && pdl_str_ends(file, suffix))
            return pdl_str_sub(file, 0, file.n - suffix.n);
    }
    return file;
}

static int64_t file_time(pdl_str file) {
    struct stat st;
    char *path = pdl_str_dup(file);
    int64_t t = stat(path, &st) == 0 ? st.st_mtime : 0;
    pdl_free(path);
    return t;
}

static bool is_new(const server *v, pdl_str name, pdl_str file) {
    for (size_t i = 0; i < v->models.n; i++)
        if (pdl_str_eq(v->models.p[i].name, name)) {
            pdl_cli_note("pdl: error: %.*s: there is a program %.*s already", PDL_FMT(file),
                         PDL_FMT(name));
            return false;
        }
    return true;
}

static bool load_one(server *v, pdl_str file) {
    pdl_buf text = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE);
    pdl_err err = {0};
    pdl_str name = model_name(v, file);
    bool ok = is_new(v, name, file);
    if (ok && !pdl_cli_read_program(file, &text, &err)) {
        pdl_cli_print_error(&err, v->session);
        pdl_err_fini(&err);
        ok = false;
    }
    if (ok) {
        pdl_program *p = pdl_program_new();
        *pdl_vec_push(&v->models) = (pdl_served){name, pdl_file_folder(file), p, file_time(file)};
        pdl_program_load(p, file, pdl_buf_str(&text), &ok);
        if (!ok) pdl_cli_print_load_errors(p, v->session);
    }
    pdl_buf_fini(&text);
    return ok;
}

static bool load_all(server *v) {
    bool ok = true;
    for (size_t i = 0; i < v->a->files.n; i++) ok = load_one(v, v->a->files.p[i]) && ok;
    return ok;
}

/* Checks the programs in the state in which requests will find them, so that an error that every
 * request would meet is reported here. */
static bool check_all(const server *v, pdl_vref vars) {
    static const char *const every[] = {"pdl_args", "messages",   "question",
                                        "request",  "max_tokens", "stop"};
    PDL_VEC(pdl_str) names = {0};
    bool ok = true;
    for (size_t i = 0; i < sizeof every / sizeof every[0]; i++)
        *pdl_vec_push(&names) = pdl_str_of(every[i]);
    for (size_t i = 0; pdl_is_dict(vars) && i < pdl_dict_len(vars); i++)
        if (pdl_is_str(pdl_dict_key_at(vars, i)))
            *pdl_vec_push(&names) = pdl_str_get(pdl_dict_key_at(vars, i));
    const pdl_check_inputs inputs = {names.p, names.n, .closed = false};
    for (size_t i = 0; i < v->models.n; i++)
        ok = pdl_cli_passes(v->a, v->session, v->models.p[i].program, &inputs) && ok;
    pdl_vec_fini(&names);
    if (!ok) pdl_cli_note("pdl: error: every request would fail; --check=warn serves nevertheless");
    return ok;
}

/* --- options ---------------------------------------------------------------------------------- */

/* Reads an integer from least to most. Returns false when the value is wrong. *out is unchanged
 * when the option is not given. */
static bool number(const arguments *a, opt_id id, int64_t least, int64_t most, int64_t *out) {
    int64_t n;
    if (!a->given[id]) return true;
    if (!pdl_num_read_int(a->value[id], &n) || n < least || n > most) return false;
    *out = n;
    return true;
}

/* Checks a token. where: what holds it. A client can send only what a header can have, and no
 * client would ever be let in with another token. */
static bool is_token(pdl_str text, const char *where, pdl_err *err) {
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] < ' ' || (unsigned char)text.p[i] > '~')
            return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                               "%s holds no token: a token has visible ASCII characters", where);
    return text.n || pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s holds no token", where);
}

/* Reads the token, which is the first line of the file, or else PDL_SERVE_TOKEN. */
static bool read_token(server *v, pdl_err *err) {
    const char *env = pdl_session_env(v->session, "PDL_SERVE_TOKEN");
    pdl_buf b = PDL_BUF_INIT(MAX_TOKEN);
    bool ok = true;
    if (v->a->given[OPT_token_file]) {
        char *path = pdl_str_dup(v->a->value[OPT_token_file]);
        ok = pdl_file_read(path, &b, err);
        pdl_str text = pdl_buf_str(&b), mark = PDL_STR("\xef\xbb\xbf");
        if (pdl_str_starts(text, mark)) text = pdl_str_sub(text, mark.n, text.n);
        text = pdl_str_trim(pdl_str_sub(text, 0, pdl_str_find(text, PDL_STR("\n"), 0)));
        v->token = pdl_str_dup(text);
        ok = ok && is_token(text, path, err);
        pdl_free(path);
    } else if (env) {
        /* a secret that was not filled in must not open the server */
        pdl_str text = pdl_str_trim(pdl_str_of(env));
        v->token = pdl_str_dup(text);
        ok = text.n ? is_token(text, "PDL_SERVE_TOKEN", err)
                    : pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                                  "PDL_SERVE_TOKEN is empty: give it a token, or unset it");
    }
    pdl_buf_fini(&b);
    if (!ok || v->token || pdl_serve_is_loopback(pdl_str_of(v->host))) return ok;
    return pdl_err_set(
        err, PDL_E_usage, (pdl_loc){0},
        "a server that others can reach needs a token: --token-file FILE, or PDL_SERVE_TOKEN");
}

/* Returns true for the origin of a web page, which is a scheme, a host and perhaps a port, and for
 * *, which means any origin. */
static bool is_origin(pdl_str s) {
    size_t slashes = pdl_str_find(s, PDL_STR("://"), 0);
    if (pdl_str_is(s, "*")) return true;
    if (slashes == PDL_NOT_FOUND || slashes == 0 || s.n <= slashes + 3) return false;
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || (unsigned char)s.p[i] >= 127 ||
            (s.p[i] == '/' && i >= slashes + 3))
            return false;
    return true;
}

static bool are_origins(pdl_str list) {
    bool ok = true, more = true;
    while (ok && more) {
        size_t comma = pdl_str_find(list, PDL_STR(","), 0);
        more = comma != PDL_NOT_FOUND;
        ok = is_origin(pdl_str_trim(pdl_str_sub(list, 0, comma)));
        if (more) list = pdl_str_sub(list, comma + 1, list.n);
    }
    return ok;
}

/* Writes a line of the log. A slow reader must not block the server. So lines that do not fit into
 * a pipe are dropped, which is reported once. */
static void write_log(void *user, pdl_str line) {
    server *v = user;
    ssize_t n = write(v->log, line.p, line.n);
    if ((n >= 0 && (size_t)n == line.n) || v->log_failed) return;
    v->log_failed = true;
    pdl_cli_note("pdl: warning: the log %.*s is not complete: %s", PDL_FMT(v->a->value[OPT_log]),
                 n < 0 ? strerror(errno) : "a line was cut");
}

static bool open_log(server *v) {
    pdl_str file = v->a->value[OPT_log];
    if (!v->a->given[OPT_log]) return true;
    if (pdl_str_is(file, "-")) {
        v->log = STDERR_FILENO;
        return true;
    }
    char *path = pdl_str_dup(file);
    v->log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
                  S_IRUSR | S_IWUSR);
    pdl_free(path);
    if (v->log < 0)
        pdl_cli_note("pdl: error: argument --log: the log %.*s: %s", PDL_FMT(file),
                     strerror(errno));
    return v->log >= 0;
}

/* --- life ------------------------------------------------------------------------------------- */

static void on_signal(void *user, int sig) {
    (void)sig;
    pdl_serve_stop(((server *)user)->serve);
}

/* Reserves standard input and output for messages. Other output goes to standard error. */
static bool take_standard_streams(server *v) {
    v->mcp_in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    v->mcp_out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return v->mcp_in > 0 && v->mcp_out > 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
}

/* Raises the limit of descriptors, since every client takes one, and closes standard input for
 * programs. */
static void prepare_process(void) {
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
        r.rlim_cur = r.rlim_max;
        setrlimit(RLIMIT_NOFILE, &r);
    }
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        close(null);
    }
}

static int serve(server *v) {
    pdl_signals *watch = pdl_cli_watch_signals(pdl_session_loop(v->session), on_signal, v);
    pdl_buf where = PDL_BUF;
    if (v->mcp_out) {
        PDL_PUT(&where, "as tools on standard input and output");
    } else {
        PDL_PUT(&where, "at ");
        pdl_httpd_put_origin(pdl_str_of(v->host), pdl_serve_port(v->serve), &where);
        pdl_buf_put(&where, v->a->given[OPT_mcp] ? PDL_STR("/mcp") : PDL_STR("/v1"));
    }
    pdl_cli_note("pdl: serving %zu program%s %s", v->models.n, PDL_PLURAL(v->models.n),
                 pdl_buf_z(&where));
    pdl_buf_fini(&where);
    pdl_serve_run(v->serve);
    pdl_signals_stop(watch);
    return 0;
}

/* Opens the journal of --durable. When an earlier server has made a journal of this name, it is
 * continued. */
static bool open_journal(server *v, pdl_err *err) {
    const arguments *a = v->a;
    pdl_buf id = PDL_BUF, note = PDL_BUF;
    char *path = NULL, cwd[4096] = "";
    if (a->given[OPT_id])
        pdl_buf_put(&id, a->value[OPT_id]);
    else
        pdl_buf_putf(&id, "serve-%.*s", PDL_FMT(v->models.p[0].name));
    (void)!getcwd(cwd, sizeof cwd);
    pdl_durable_facts f = {.id = pdl_buf_str(&id),
                           .file = a->files.p[0],
                           .folder = pdl_str_of(cwd),
                           .options = PDL_STR("{}"),
                           .version = PDL_STR(PDL_VERSION)};
    const pdl_durable_server how = {&f, pdl_cli_syncs_fully(a), a->given[OPT_take_over]};
    bool ok = pdl_cli_journal_path(a, pdl_buf_str(&id), &path, err) &&
              pdl_durable_open_server(pdl_str_of(path), &how, &v->journal, &note, err);
    if (ok) {
        for (size_t i = 0; i < a->values.n; i++)
            if (a->values.p[i].id == OPT_again) pdl_durable_again(v->journal, a->values.p[i].value);
        pdl_session_attach_server(v->session, v->journal);
    }
    if (note.len) pdl_cli_note("pdl: note: %s", pdl_buf_z(&note));
    pdl_free(path);
    pdl_buf_fini(&note);
    pdl_buf_fini(&id);
    return ok;
}

/* Options whose values are numbers. */
typedef struct numbers {
    int64_t port, runs, waiting, seconds;
} numbers;

/* Reads the options. Returns 0, or the exit status after it has printed the reason. */
static int read_options(const arguments *a, numbers *n) {
    *n = (numbers){.port = PDL_CLI_SERVE_PORT, .waiting = DEFAULT_WAITING};
    if (!number(a, OPT_port, 0, 65535, &n->port))
        return pdl_cli_refuse(a, "argument --port: expected a whole number from 0 to 65535");
    if (!number(a, OPT_max_requests, 1, PDL_SERVE_MAX_RUNS, &n->runs))
        return pdl_cli_refuse(a, "argument --max-requests: expected a whole number from 1 to 1024");
    if (!number(a, OPT_max_waiting, 0, MAX_WAITING, &n->waiting))
        return pdl_cli_refuse(a,
                              "argument --max-waiting: expected a whole number from 0 to 100000");
    if (!number(a, OPT_request_time, 1, 1000000, &n->seconds))
        return pdl_cli_refuse(a, "argument --request-time: expected a whole number of seconds");
    if (a->given[OPT_allow_origin] && !are_origins(a->value[OPT_allow_origin]))
        return pdl_cli_refuse(a,
                              "argument --allow-origin: expected origins as https://a.example or "
                              "http://localhost:3000, with commas, or *");
    return 0;
}

/* Returns how long a request may last. Returns 0 when the option is missing or wrong, because
 * read_options reports a wrong one. */
static uint64_t request_ms(const arguments *a) {
    int64_t seconds = 0;
    return number(a, OPT_request_time, 1, 1000000, &seconds) ? (uint64_t)seconds * 1000 : 0;
}

static int failed(const server *v, pdl_err *err) {
    return pdl_cli_fail_option(v->a, err, v->session);
}

/* Opens the token, the programs, the log, the journal, and the streams of a client. The result is
 * like that of read_options. */
static int open_all(server *v, pdl_vref vars) {
    const arguments *a = v->a;
    pdl_err err = {0};
    if (!read_token(v, &err)) return failed(v, &err);
    if (!load_all(v) || !check_all(v, vars) || !open_log(v)) return 1;
    if (a->given[OPT_durable] && !open_journal(v, &err)) return failed(v, &err);
    bool lines = a->given[OPT_mcp] && !a->given[OPT_port] && !a->given[OPT_host];
    if (!lines || take_standard_streams(v)) return 0;
    pdl_cli_note("pdl: error: --mcp wants pipes as standard input and output");
    return 1;
}

static int start(server *v, pdl_vref vars, const pdl_debug *debug) {
    numbers n;
    pdl_err err = {0};
    int code = read_options(v->a, &n);
    if (!code) code = open_all(v, vars);
    if (code) return code;
    prepare_process();
    pdl_serve_options o = {
        .session = v->session,
        .models = v->models.p,
        .n_models = v->models.n,
        .host = v->host,
        .port = (uint16_t)n.port,
        .token = v->token ? pdl_str_of(v->token) : (pdl_str){0},
        .variables = vars,
        .max_runs = (uint32_t)n.runs,
        .max_waiting = (uint32_t)n.waiting,
        .run_ms = (uint64_t)n.seconds * 1000,
        .debug = debug,
        .mcp_in = v->mcp_in,
        .mcp_out = v->mcp_out,
        .journal = v->journal,
        .provisional = v->a->given[OPT_provisional],
        .origins = v->a->value[OPT_allow_origin],
        .log = v->a->given[OPT_log] ? write_log : NULL,
        .log_user = v,
    };
    if (pdl_serve_start(&o, &v->serve, &err)) return serve(v);
    return pdl_cli_fail_option(v->a, &err, v->session);
}

/* Closes the journal after an orderly end. Open runs continue when clients send their
 * keys again. */
static void close_journal(server *v) {
    pdl_err err = {0};
    if (v->journal && !pdl_durable_finish(v->journal, NULL, &err)) pdl_cli_print_error(&err, NULL);
    pdl_err_fini(&err);
    pdl_durable_close(v->journal);
}

static void release(server *v) {
    pdl_serve_free(v->serve);
    for (size_t i = 0; i < v->models.n; i++) pdl_program_drop(v->models.p[i].program);
    pdl_vec_fini(&v->models);
    for (size_t i = 0; i < v->names.n; i++) pdl_free(v->names.p[i]);
    pdl_vec_fini(&v->names);
    pdl_session_free(v->session);
    close_journal(v);
    if (v->log > STDERR_FILENO) close(v->log);
    if (v->mcp_in > STDERR_FILENO) close(v->mcp_in);
    if (v->mcp_out > STDERR_FILENO) close(v->mcp_out);
    pdl_free(v->host);
    pdl_free(v->token);
}

int pdl_cli_cmd_serve(const arguments *a) {
    static const opt_id own[] = {OPT_id,    OPT_record,    OPT_sync, OPT_provisional,
                                 OPT_again, OPT_take_over, OPT_COUNT};
    if (a->given[OPT_ping]) return pdl_cli_ping(a);
    if (!a->files.n) return pdl_cli_refuse(a, "the following arguments are required: FILE");
    int refused = pdl_cli_refuse_undurable(a, own);
    if (refused >= 0) return refused;
    if (a->given[OPT_durable])
        pdl_cli_say_at_interrupt("nothing was served: the same command starts the server");
    server v = {.a = a, .log = -1};
    pdl_err err = {0};
    pdl_val vars = pdl_absent();
    pdl_debug debug = {0};
    char why[PDL_DEBUG_WHY];
    shared_options limits = {0};
    if (!pdl_debug_init(&debug, getenv("PDL_DEBUG"), getenv("PDL_STRESS"), getenv("PDL_DEBUG_FILE"),
                        why))
        return pdl_cli_refuse(a, why);
    pdl_session_options o = {
        .program = {.file = a->files.p[0], .dir = pdl_file_folder(a->files.p[0])},
        .reports.debug = &debug,
    };
    int code = pdl_cli_shared_options_read(a, &limits, &o);
    if (code) return code;
    v.host = pdl_str_dup(pdl_cli_host(a));
    pdl_check_config config = {.arena = pdl_arena_make()};
    bool ok =
        pdl_cli_read_data(a, &vars, &err) && pdl_cli_read_config(a, a->files.p[0], &config, &err);
    pdl_config_use(&config, &o);
    o.run.unchecked = pdl_cli_is_unchecked(a);
    o.models.patience_ms = request_ms(a);
    if (ok && pdl_session_new(&o, &v.session, &err)) {
        code = start(&v, vars, &debug);
    } else {
        code = failed(&v, &err);
    }
    release(&v);
    pdl_config_fini(&config);
    pdl_cli_shared_options_fini(&limits);
    if (!pdl_is_absent(vars)) pdl_drop(vars);
    PDL_TRACE(o.reports.debug, mem, "%zu objects are alive", pdl_live_objects());
    pdl_debug_fini(&debug);
    return code;
}
