/* serve_load.c -- load for a server of chat completions: CLIENTS connections that are kept, each
 * asks again when it is answered, until REQUESTS answers have come. One thread, epoll; it must
 * never be what is measured.
 *
 *   serve_load PORT CLIENTS REQUESTS MODEL     prints seconds, and the milliseconds in which half
 *                                              and 99 % were answered
 *
 * An answer counts when its status is 200; anything else ends the measurement with status 1.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 512, MAX_ANSWER = 65536 };

typedef struct client {
    int fd;
    size_t n_in, sent;
    uint64_t asked_ns;
    bool asking;
    char in[MAX_ANSWER];
} client;

static int poller;
static char request[1024];
static size_t n_request;
static size_t started, ended, total;
static uint32_t *micros; /* of each answer */

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void give_up(const char *what) {
    fprintf(stderr, "serve_load: %s\n", what);
    exit(1);
}

static void write_request(client *c) {
    while (c->sent < n_request) {
        ssize_t n = write(c->fd, request + c->sent, n_request - c->sent);
        if (n < 0 && errno == EAGAIN) return;
        if (n <= 0) give_up("a request cannot be written");
        c->sent += (size_t)n;
    }
}

static void ask(client *c) {
    c->asking = started < total;
    if (!c->asking) return;
    started++;
    c->n_in = c->sent = 0;
    c->asked_ns = now_ns();
    write_request(c);
}

/* Length of the whole answer; 0: it is not there yet. */
static size_t answer_length(const client *c) {
    static const char name[] = "Content-Length: ";
    const char *end = memmem(c->in, c->n_in, "\r\n\r\n", 4);
    if (!end) return 0;
    size_t head = (size_t)(end - c->in) + 4;
    const char *length = memmem(c->in, head, name, sizeof name - 1);
    if (memcmp(c->in, "HTTP/1.1 200 ", 13) != 0 || !length)
        give_up("an answer is not what it should be");
    size_t n = head + strtoul(length + sizeof name - 1, NULL, 10);
    return c->n_in >= n ? n : 0;
}

static void read_answer(client *c) {
    ssize_t n = read(c->fd, c->in + c->n_in, sizeof c->in - c->n_in);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) give_up("the server closed a connection");
    c->n_in += (size_t)n;
    if (!answer_length(c)) return;
    micros[ended++] = (uint32_t)((now_ns() - c->asked_ns) / 1000);
    ask(c);
}

static client *connect_to(uint16_t port) {
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    client *c = calloc(1, sizeof *c);
    int one = 1;
    if (!c) exit(2);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&a, sizeof a) != 0)
        give_up("cannot connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = c};
    epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &e);
    return c;
}

static int by_size(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void make_request(const char *model) {
    char body[512];
    int n = snprintf(body, sizeof body,
                     "{\"model\":\"%s\",\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}",
                     model);
    n_request = (size_t)snprintf(request, sizeof request,
                                 "POST /v1/chat/completions HTTP/1.1\r\nHost: "
                                 "127.0.0.1\r\nContent-Type: application/json\r\n"
                                 "Content-Length: %d\r\n\r\n%s",
                                 n, body);
}

int main(int argc, char **argv) {
    if (argc < 5) return 2;
    struct rlimit files;
    struct epoll_event got[EVENTS];
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    size_t n_clients = strtoul(argv[2], NULL, 10);
    total = strtoul(argv[3], NULL, 10);
    make_request(argv[4]);
    micros = calloc(total + 1, sizeof *micros);
    client **clients = calloc(n_clients + 1, sizeof *clients);
    poller = epoll_create1(EPOLL_CLOEXEC);
    if (!micros || !clients || poller < 0) return 2;
    for (size_t i = 0; i < n_clients; i++)
        clients[i] = connect_to((uint16_t)strtoul(argv[1], NULL, 10));
    uint64_t start = now_ns();
    for (size_t i = 0; i < n_clients; i++) ask(clients[i]);
    while (ended < total) {
        int n = epoll_wait(poller, got, EVENTS, 60000);
        if (n <= 0) give_up("no answer for a minute");
        for (int i = 0; i < n; i++) {
            client *c = got[i].data.ptr;
            if (c->asking && got[i].events & EPOLLOUT) write_request(c);
            if (c->asking && got[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) read_answer(c);
        }
    }
    double seconds = (double)(now_ns() - start) / 1e9;
    qsort(micros, total, sizeof *micros, by_size);
    printf("%.6f %.3f %.3f\n", seconds, micros[total / 2] / 1e3,
           micros[total - 1 - total / 100] / 1e3);
    return 0;
}
