/* fuzz_mcp.c -- a tool server that sends what the input contains, over each transport. The first
 * byte chooses between two kinds of servers. One is a process on stdio whose output is the rest of
 * the input. The other is a server over HTTP, whose answers are the parts between lines of "---".
 * Each part has a line before its body, with the status, and with "e" for a stream of events.
 * Requests have the ids 1, 2, 3. Properties: the list and the call are answered once, within their
 * time, with a reply of the right form or an error with a text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>

#include "folder.h"
#include "io/clock.h"
#include "io/loop.h"
#include "mcp/mcp.h"

enum { MAX_NS = 1000000000, ROOM = 16384, TURN_MS = 20 };
#define LIMITS "\"timeout\":0.1,\"startTimeout\":0.1"

/* --- the server over HTTP --------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pdl_str parts; /* the parts that are not sent yet; changed under the lock */

static pdl_str next_part(void) {
    pdl_str part;
    pthread_mutex_lock(&lock);
    fuzz_split(parts, &part, &parts);
    pthread_mutex_unlock(&lock);
    return part;
}

/* Waits until a whole request has arrived or the connection has ended. */
static void read_request(int fd) {
    char room[ROOM + 1];
    size_t n = 0, body = 0;
    char *end = NULL;
    while (n < ROOM && (!end || n < body)) {
        ssize_t got = recv(fd, room + n, ROOM - n, 0);
        if (got <= 0) return;
        n += (size_t)got;
        room[n] = '\0';
        if (end || !(end = strstr(room, "\r\n\r\n"))) continue;
        char *length = strcasestr(room, "\r\ncontent-length:");
        body = (size_t)(end - room) + 4;
        if (length && length < end) body += strtoul(length + 17, NULL, 10);
    }
}

static void answer(int fd) {
    pdl_str part = next_part(), head = part;
    pdl_buf out = PDL_BUF;
    size_t line = pdl_str_find(part, PDL_STR("\n"), 0);
    if (line != PDL_NOT_FOUND) head = pdl_str_sub(part, 0, line);
    pdl_str body = line == PDL_NOT_FOUND ? (pdl_str){"", 0} : pdl_str_sub(part, line + 1, part.n);
    unsigned status = 0;
    for (size_t i = 0; i < head.n && i < 3; i++) status = status * 10 + ((unsigned)head.p[i] & 7);
    if (status < 200 || status > 599) status = head.n ? 200 : 500;
    bool events = head.n && head.p[head.n - 1] == 'e';
    pdl_buf_putf(&out,
                 "HTTP/1.1 %u X\r\nContent-Type: %s\r\nMcp-Session-Id: s\r\nContent-Length: %zu\r\n"
                 "Connection: close\r\n\r\n",
                 status, events ? "text/event-stream" : "application/json", body.n);
    pdl_buf_put(&out, body);
    for (size_t i = 0; i < out.len;) {
        ssize_t sent = send(fd, out.p + i, out.len - i, MSG_NOSIGNAL);
        if (sent <= 0) break;
        i += (size_t)sent;
    }
    pdl_buf_fini(&out);
}

static void *serve(void *user) {
    int listener = *(int *)user;
    for (int fd; (fd = accept(listener, NULL, NULL)) >= 0; close(fd)) {
        read_request(fd);
        answer(fd);
    }
    return NULL;
}

/* The port at which the only server of the process listens. */
static unsigned port(void) {
    static int listener = -1;
    static unsigned number;
    if (listener >= 0) return number;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    pthread_t thread;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    FUZZ_MUST(listener >= 0 && bind(listener, (struct sockaddr *)&a, n) == 0);
    FUZZ_MUST(listen(listener, 64) == 0 && getsockname(listener, (struct sockaddr *)&a, &n) == 0);
    FUZZ_MUST(pthread_create(&thread, NULL, serve, &listener) == 0);
    return number = ntohs(a.sin_port);
}

/* --- the client ------------------------------------------------------------------------------- */

static const char *config_path;

static const char *variable(void *user, const char *name) {
    (void)user;
    return strcmp(name, "PDL_MCP_CONFIG") == 0 ? config_path : NULL;
}

static void on_reply(void *user, const pdl_effect *e, const pdl_reply *r) {
    size_t *n = user;
    pdl_err err = {0};
    ++*n;
    if (r->err.kind)
        FUZZ_MUST(r->err.msg && r->err.msg[0]);
    else
        FUZZ_MUST(pdl_effect_check(e, r->value, &err));
}

static void ask(pdl_world *w, uint32_t id, pdl_val request, size_t *answered) {
    pdl_effect_sink sink = {.user = answered, .reply = on_reply};
    request = pdl_dict_putz(request, "server", pdl_textz("s"));
    w->ops->start(w, pdl_effect_new(PDL_EFFECT_tool, (pdl_effect_at){.id = id}, request, sink));
}

static void use_server(const char *config) {
    size_t answered = 0;
    pdl_loop *loop = pdl_loop_new();
    config_path = config;
    pdl_world *w = pdl_mcp_world_new(loop, &(pdl_mcp_options){.env = variable});
    ask(w, 1, pdl_dict_putz(pdl_dict_new(2), "op", pdl_textz("list")), &answered);
    pdl_val call = pdl_dict_putz(pdl_dict_new(4), "op", pdl_textz("call"));
    call = pdl_dict_putz(call, "name", pdl_textz("t"));
    ask(w, 2, pdl_dict_putz(call, "arguments", pdl_dict_new(0)), &answered);
    uint64_t end = pdl_clock_ns() + 4ull * MAX_NS;
    while (answered < 2 && pdl_clock_ns() < end) w->ops->poll(w, TURN_MS);
    FUZZ_MUST(answered == 2);
    w->ops->close(w);
    FUZZ_MUST(answered == 2);
    pdl_loop_free(loop);
}

static void fill(pdl_buf *json, bool http, const char *file) {
    if (http)
        pdl_buf_putf(json, "{\"mcpServers\":{\"s\":{\"url\":\"http://127.0.0.1:%u/\"," LIMITS "}}}",
                     port());
    else
        pdl_buf_putf(json,
                     "{\"mcpServers\":{\"s\":{\"command\":\"/bin/cat\",\"args\":[\"%s\"]," LIMITS
                     "}}}",
                     file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_keep_library("libcurl.so.4");
    if (!size) return 0;
    pdl_str said = {(const char *)data + 1, size - 1};
    bool http = data[0] & 1;
    fuzz_folder f = fuzz_folder_new();
    char *file = fuzz_file(&f, "said"), *config = fuzz_file(&f, "config");
    pdl_buf json = PDL_BUF;
    fill(&json, http, file);
    fuzz_write(config, pdl_buf_str(&json));
    fuzz_write(file, said);
    pthread_mutex_lock(&lock);
    parts = said;
    pthread_mutex_unlock(&lock);
    use_server(config);
    pthread_mutex_lock(&lock);
    parts = (pdl_str){"", 0}; /* the input is gone when this returns */
    pthread_mutex_unlock(&lock);
    pdl_buf_fini(&json);
    pdl_free(file);
    pdl_free(config);
    fuzz_folder_remove(&f);
    return 0;
}
