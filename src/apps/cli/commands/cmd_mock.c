/* cmd_mock.c -- pdl mock: a model server for tests and first steps. The first lines that it prints
 * are settings of a shell, which make programs use this server, so that a user can try everything
 * without a key.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <unistd.h>

#include "cli/cli.h"
#include "io/file.h"
#include "mock/mock.h"
#include "yaml/yaml.h"

#include "base/banned.h"

enum { DEFAULT_PORT = 8765, MAX_DELAY = 3600000 };

typedef struct mocker {
    const arguments *a;
    pdl_val replies;
    bool stopped;
} mocker;

static bool read_replies(mocker *m, pdl_err *err) {
    pdl_buf b = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE);
    uint32_t line = 0, column = 0;
    pdl_err why = {0};
    if (!m->a->given[OPT_replies]) return true;
    char *path = pdl_str_dup(m->a->value[OPT_replies]);
    bool ok = pdl_file_read(path, &b, err);
    if (ok && !pdl_yaml_read_written(pdl_buf_str(&b), &m->replies, &line, &column, &why))
        ok = pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s:%u: %s (column %u)", path, line,
                         why.msg, column);
    pdl_err_fini(&why);
    pdl_buf_fini(&b);
    pdl_free(path);
    return ok;
}

static bool read_number(const arguments *a, opt_id id, int64_t most, int64_t *out) {
    return !a->given[id] || (pdl_num_read_int(a->value[id], out) && *out >= 0 && *out <= most);
}

static void on_signal(void *user, int sig) {
    (void)sig;
    ((mocker *)user)->stopped = true;
}

/* Writes a line of the log. A slow or closed standard error does not stop the server. */
static void write_log(void *user, pdl_str line) {
    (void)user;
    pdl_cli_put_stderr(line, NULL);
}

/* Prints the settings that clients need, one line for each interface, in a form that a shell can
 * evaluate. */
static int print_use(const arguments *a, uint16_t port) {
    pdl_buf b = PDL_BUF;
    PDL_PUT(&b, "export OPENAI_BASE_URL=");
    pdl_cli_put_local_origin(a, port, &b);
    PDL_PUT(&b, "/v1 OPENAI_API_KEY=mock\nexport OLLAMA_API_BASE=");
    pdl_cli_put_local_origin(a, port, &b);
    pdl_buf_putc(&b, '\n');
    int code = pdl_cli_put_stdout(pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return code;
}

static int serve(mocker *m, int64_t port, int64_t delay, pdl_err *err) {
    pdl_loop *loop = pdl_loop_new();
    pdl_mock *mock;
    char *host = pdl_str_dup(pdl_cli_host(m->a));
    pdl_mock_options o = {
        .loop = loop,
        .host = host,
        .port = (uint16_t)port,
        .replies = m->replies,
        .replies_file = m->a->value[OPT_replies],
        .strict = m->a->given[OPT_strict],
        .delay_ms = (uint32_t)delay,
        .log = write_log,
        .user = m,
    };
    int code = 1;
    if (pdl_mock_start(&o, &mock, err)) {
        pdl_signals *signals = pdl_cli_watch_signals(loop, on_signal, m);
        code = print_use(m->a, pdl_mock_port(mock));
        while (!code && !m->stopped) pdl_loop_run(loop, -1);
        pdl_signals_stop(signals);
        pdl_mock_free(mock);
    }
    pdl_loop_free(loop);
    pdl_free(host);
    return code;
}

int pdl_cli_cmd_mock(const arguments *a) {
    mocker m = {.a = a, .replies = pdl_absent()};
    int64_t port = DEFAULT_PORT, delay = 0;
    pdl_err err = {0};
    if (!read_number(a, OPT_port, 65535, &port))
        return pdl_cli_refuse(a, "argument --port: expected a whole number from 0 to 65535");
    if (!read_number(a, OPT_delay, MAX_DELAY, &delay))
        return pdl_cli_refuse(a, "argument --delay: expected a whole number of milliseconds");
    int code = read_replies(&m, &err) ? serve(&m, port, delay, &err) : 1;
    if (err.kind) {
        pdl_cli_print_option_error(a, &err, NULL);
        code = pdl_err_exit_code(&err);
        pdl_err_fini(&err);
    }
    if (!pdl_is_absent(m.replies)) pdl_drop(m.replies);
    return code;
}
