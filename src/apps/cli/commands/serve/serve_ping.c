/* serve_ping.c -- pdl serve --ping: asks a running server whether it works.
 *
 * The health check of a container is a command, and a small container has no shell and no curl. So
 * the command that serves can also ask.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <assert.h>

#include "cli/cli.h"
#include "cli/ping.h"
#include "io/http.h"

#include "base/banned.h"

enum { PING_MS = 2000 };

typedef struct pong {
    bool ended;
    int status; /* the status of the reply; 0 when no reply came */
    pdl_buf why;
} pong;

/* Describes how a transfer ended. The words do not depend on the library that made the transfer. */
static const char *what_happened(pdl_http_end end) {
    if (end == PDL_HTTP_CONNECT) return "no server can be reached there";
    if (end == PDL_HTTP_TIMEOUT) return "it does not answer within 2 seconds";
    return "what answers there is no server of HTTP";
}

static void on_answer(void *user, const pdl_http_reply *r) {
    pong *to = user;
    to->ended = true;
    to->status = r->end == PDL_HTTP_OK ? r->status : 0;
    if (r->end == PDL_HTTP_OK)
        pdl_buf_putf(&to->why, "it answers with status %d", r->status);
    else
        pdl_buf_put(&to->why, pdl_str_of(what_happened(r->end)));
}

static void ask(const char *url, pong *to) {
    pdl_loop *loop = pdl_loop_new();
    pdl_http *http = pdl_http_new(loop, &(pdl_http_options){.max_reply_bytes = 4096});
    pdl_http_request q = {
        .method = "GET", .url = url, .total_ms = PING_MS, .user = to, .done = on_answer};
    pdl_http_start(http, &q);
    while (!to->ended && pdl_loop_run(loop, -1)) {}
    assert(to->ended); /* a transfer ends, because it has a time limit */
    pdl_http_free(http);
    pdl_loop_free(loop);
}

int pdl_cli_ping(const arguments *a) {
    int64_t port = PDL_CLI_SERVE_PORT;
    if (a->files.n) return pdl_cli_refuse(a, "--ping takes no FILE: it asks a server that runs");
    if (a->given[OPT_port] &&
        (!pdl_num_read_int(a->value[OPT_port], &port) || port < 1 || port > 65535))
        return pdl_cli_refuse(a, "argument --port: expected a whole number from 1 to 65535");
    pdl_buf url = PDL_BUF;
    pong got = {.why = PDL_BUF};
    pdl_cli_put_local_origin(a, (uint16_t)port, &url);
    PDL_PUT(&url, "/health");
    ask(pdl_buf_z(&url), &got);
    if (got.status != 200) pdl_cli_note("pdl: error: %s: %s", pdl_buf_z(&url), pdl_buf_z(&got.why));
    pdl_buf_fini(&url);
    pdl_buf_fini(&got.why);
    return got.status == 200 ? 0 : 1;
}
