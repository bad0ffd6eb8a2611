/* http_server.c -- a model on loopback for measurements: answers every POST after a delay with one
 * completion in OpenAI's form, or with a stream of tokens. One thread, epoll; it must never be what
 * is measured.
 *
 *   http_server [DELAY_MS [TOKENS [GAP_US]]]   prints its port; serves until standard input ends
 *
 * A streamed token is "@NANOSECONDS " : the clock (CLOCK_MONOTONIC) when its chunk was written.
 * GAP_US is the time between the chunks of a stream; 0: all of them at once.
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
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_REQUEST = 1 << 20, EVENTS = 512, MAX_CHUNK = 512 };

typedef struct client {
    int fd;
    char *in;
    size_t n_in, cap_in;
    char *out;
    size_t n_out, sent, cap_out;
    bool waiting, stream; /* a request was read and is not answered yet */
    unsigned token;       /* of the stream, next */
    uint64_t due_ns;
    bool in_heap;
} client;

/* Clients with something to write later, soonest first. */
static struct {
    client **p;
    size_t n, cap;
} heap;

static int poller;
static uint64_t delay_ns, gap_ns;
static unsigned n_tokens = 10;

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *grown(void *p, size_t n) {
    void *q = realloc(p, n);
    if (!q) exit(2);
    return q;
}

/* --- heap ------------------------------------------------------------------------------------- */

static void heap_push(client *c) {
    if (heap.n == heap.cap)
        heap.p = grown(heap.p, (heap.cap = heap.cap ? heap.cap * 2 : 64) * sizeof *heap.p);
    size_t i = heap.n++;
    for (; i && heap.p[(i - 1) / 2]->due_ns > c->due_ns; i = (i - 1) / 2)
        heap.p[i] = heap.p[(i - 1) / 2];
    heap.p[i] = c;
    c->in_heap = true;
}

static client *heap_pop(void) {
    client *first = heap.p[0], *last = heap.p[--heap.n];
    size_t i = 0;
    for (size_t k; (k = 2 * i + 1) < heap.n; i = k) {
        if (k + 1 < heap.n && heap.p[k + 1]->due_ns < heap.p[k]->due_ns) k++;
        if (heap.p[k]->due_ns >= last->due_ns) break;
        heap.p[i] = heap.p[k];
    }
    if (heap.n) heap.p[i] = last;
    first->in_heap = false;
    return first;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void put(client *c, const char *text, size_t n) {
    if (c->cap_out - c->n_out < n) c->out = grown(c->out, c->cap_out = (c->n_out + n) * 2);
    memcpy(c->out + c->n_out, text, n);
    c->n_out += n;
}

static void listen_for(const client *c, uint32_t events) {
    struct epoll_event e = {.events = events, .data.ptr = (void *)(uintptr_t)c};
    epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &e);
}

static void flush(client *c) {
    while (c->sent < c->n_out) {
        ssize_t n = write(c->fd, c->out + c->sent, c->n_out - c->sent);
        if (n < 0) {
            if (errno == EAGAIN) listen_for(c, EPOLLIN | EPOLLOUT);
            return;
        }
        c->sent += (size_t)n;
    }
    if (c->sent) listen_for(c, EPOLLIN);
    c->sent = c->n_out = 0;
}

/* One event of a stream as a chunk of the transfer encoding. */
static void put_event(client *c, const char *data) {
    char text[MAX_CHUNK], chunk[MAX_CHUNK + 32];
    int n = snprintf(text, sizeof text, "data: %s\n\n", data);
    int m = snprintf(chunk, sizeof chunk, "%x\r\n%s\r\n", (unsigned)n, text);
    put(c, chunk, (size_t)m);
}

static void put_token(client *c) {
    char data[MAX_CHUNK];
    static const char form[] = "{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,"
                               "\"model\":\"m\",\"choices\":[{\"index\":0,"
                               "\"delta\":{\"content\":\"@%llu \"},\"finish_reason\":null}]}";
    snprintf(data, sizeof data, form, (unsigned long long)now_ns());
    put_event(c, data);
}

static void put_stream_end(client *c) {
    put_event(c,
              "{\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}");
    put_event(c, "{\"id\":\"c\",\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_"
                 "tokens\":10,\"total_tokens\":15}}");
    put_event(c, "[DONE]");
    put(c, "0\r\n\r\n", 5);
}

static void put_whole(client *c) {
    static const char body[] =
        "{\"id\":\"c\",\"object\":\"chat.completion\",\"created\":1,\"model\":\"m\",\"choices\":[{"
        "\"index\":0,\"message\":"
        "{\"role\":\"assistant\",\"content\":\"a reply of the "
        "model\"},\"finish_reason\":\"stop\"}],"
        "\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":5,\"total_tokens\":10}}";
    char head[256];
    int n =
        snprintf(head, sizeof head,
                 "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                 sizeof body - 1);
    put(c, head, (size_t)n);
    put(c, body, sizeof body - 1);
}

/* What is due for a client; leaves it waiting for the next token, or for its next request. */
static void answer(client *c) {
    if (!c->stream) {
        put_whole(c);
    } else {
        static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: "
                                   "text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
        if (c->token == 0) put(c, head, sizeof head - 1);
        do {
            put_token(c);
            c->token++;
        } while (gap_ns == 0 && c->token < n_tokens);
        if (c->token < n_tokens) {
            c->due_ns += gap_ns;
            heap_push(c);
            flush(c);
            return;
        }
        put_stream_end(c);
    }
    c->waiting = false;
    flush(c);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void drop(client *c) {
    close(c->fd);
    if (c->in_heap) { /* rare: found by looking */
        size_t i = 0;
        while (heap.p[i] != c) i++;
        heap.p[i] = heap.p[--heap.n];
        client **all = heap.p;
        size_t n = heap.n;
        heap.n = 0;
        for (size_t k = 0; k < n; k++) heap_push(all[k]);
    }
    free(c->in);
    free(c->out);
    free(c);
}

/* The value of a header in the head of a request, or NULL. Clients write names in any case. */
static const char *header(const char *head, size_t n, const char *name) {
    size_t length = strlen(name);
    for (const char *p = head; (p = memchr(p, '\n', n - (size_t)(p - head))); p++)
        if (n - (size_t)(p - head) > length + 1 && strncasecmp(p + 1, name, length) == 0)
            return p + 1 + length;
    return NULL;
}

/* Length of a body that comes in chunks, with their sizes; 0: its end is not there yet. */
static size_t chunked_length(const char *body, size_t n) {
    for (size_t at = 0;;) {
        const char *line = memmem(body + at, n - at, "\r\n", 2);
        if (!line) return 0;
        size_t size = strtoul(body + at, NULL, 16), next = (size_t)(line - body) + 2 + size + 2;
        if (size > MAX_REQUEST || next > n) return 0;
        at = next;
        if (!size) return at;
    }
}

/* Is a whole request there? Its length, else 0. */
static size_t request_length(const client *c) {
    const char *end = memmem(c->in, c->n_in, "\r\n\r\n", 4);
    if (!end) return 0;
    size_t head = (size_t)(end - c->in) + 4, body = 0;
    const char *length = header(c->in, head, "Content-Length:");
    if (length) body = strtoul(length, NULL, 10);
    if (!length && header(c->in, head, "Transfer-Encoding:")) {
        body = chunked_length(c->in + head, c->n_in - head);
        if (!body) return 0;
    }
    return c->n_in >= head + body ? head + body : 0;
}

static void take_request(client *c) {
    size_t n = c->waiting ? 0 : request_length(c);
    if (!n) return;
    c->stream = memmem(c->in, n, "\"stream\":true", 13) || memmem(c->in, n, "\"stream\": true", 14);
    memmove(c->in, c->in + n, c->n_in - n);
    c->n_in -= n;
    c->waiting = true;
    c->token = 0;
    c->due_ns = now_ns() + delay_ns;
    if (delay_ns)
        heap_push(c);
    else
        answer(c);
}

/* False: the client is gone. */
static bool read_more(client *c) {
    for (;;) {
        if (c->cap_in - c->n_in < 2048)
            c->in = grown(c->in, c->cap_in = c->cap_in ? c->cap_in * 2 : 4096);
        ssize_t n = read(c->fd, c->in + c->n_in, c->cap_in - c->n_in - 1);
        if (n < 0 && errno != EAGAIN) return false;
        if (n < 0) break; /* what came so far may be a whole request */
        if (n == 0 || c->n_in > MAX_REQUEST) return false;
        c->n_in += (size_t)n;
        c->in[c->n_in] = 0;
        if ((size_t)n < c->cap_in - c->n_in) break;
    }
    take_request(c);
    return true;
}

static void accept_all(int listener) {
    for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
        int one = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        client *c = calloc(1, sizeof *c);
        if (!c) exit(2);
        c->fd = fd;
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
        epoll_ctl(poller, EPOLL_CTL_ADD, fd, &e);
    }
}

static int open_listener(void) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, n) < 0 || listen(fd, 16384) < 0) return -1;
    getsockname(fd, (struct sockaddr *)&a, &n);
    printf("%d\n", ntohs(a.sin_port));
    fflush(stdout);
    return fd;
}

/* Writes what is due; how long to wait for the next, -1 for ever. */
static int write_due(void) {
    while (heap.n && heap.p[0]->due_ns <= now_ns()) answer(heap_pop());
    if (!heap.n) return -1;
    uint64_t now = now_ns();
    return heap.p[0]->due_ns <= now ? 0 : (int)((heap.p[0]->due_ns - now) / 1000000);
}

int main(int argc, char **argv) {
    struct rlimit files;
    if (argc > 1) delay_ns = strtoul(argv[1], NULL, 10) * 1000000u;
    if (argc > 2) n_tokens = (unsigned)strtoul(argv[2], NULL, 10);
    if (argc > 3) gap_ns = strtoul(argv[3], NULL, 10) * 1000u;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    poller = epoll_create1(EPOLL_CLOEXEC);
    int listener = open_listener();
    if (listener < 0) return 1;
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = &listener}, got[EVENTS];
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &e);
    e.data.ptr = &poller; /* standard input */
    epoll_ctl(poller, EPOLL_CTL_ADD, 0, &e);
    for (;;) {
        int n = epoll_wait(poller, got, EVENTS, write_due());
        for (int i = 0; i < n; i++) {
            void *p = got[i].data.ptr;
            char byte;
            if (p == &poller && read(0, &byte, 1) <= 0) return 0;
            if (p == &listener) accept_all(listener);
            if (p == &listener || p == &poller) continue;
            client *c = p;
            if (got[i].events & (EPOLLHUP | EPOLLERR) ||
                (got[i].events & EPOLLIN && !read_more(c))) {
                drop(c);
                continue;
            }
            if (got[i].events & EPOLLOUT) flush(c);
        }
    }
}
