/* proxy.c -- the network of a profile with `net:`. The sandbox has a separate network, in which
 * nothing listens but one socket; what connects to it is served from outside of the namespace.
 *
 * HTTP CONNECT, plain requests with an absolute address, and SOCKS5 with names. Names are resolved
 * here, once, and the address that was examined is the one that is connected to: a name cannot
 * change its meaning in between. Private, link-local and metadata addresses are refused unless the
 * profile has the address itself.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/sandbox_impl.h"

#include "base/banned.h"

enum {
    MOST_HEAD = 16384,
    MOST_HOST = 256,
    MOST_OPEN = 64,
    HEAD_SECONDS = 30, /* a connection that asks for nothing takes the place of another */
    IDLE_MS = 300000,
    CONNECT_MS = 30000
};

int pdl_proxy_listen(int *port) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) != 0 || listen(fd, 64) != 0 ||
        getsockname(fd, (struct sockaddr *)&a, &n) != 0)
        return -1;
    *port = ntohs(a.sin_port);
    return fd;
}

/* --- what is granted -------------------------------------------------------------------------- */

/* A port, 0 without one, or -1: none that there is. */
static int port_of(const char *text) {
    char *end;
    long n = strtol(text, &end, 10);
    return !*text ? 0 : *end || text[0] < '0' || text[0] > '9' || n < 1 || n > 65535 ? -1 : (int)n;
}

/* HOST or HOST:PORT; an address of version 6 in brackets. port 0: any. */
static void split(const char *item, char *host, int *port) {
    const char *colon = strrchr(item, ':'), *bracket = strchr(item, ']');
    bool has_port = colon && (bracket ? colon > bracket : strchr(item, ':') == colon);
    size_t n = has_port ? (size_t)(colon - item) : strlen(item);
    if (item[0] == '[' && bracket) {
        item++;
        n = (size_t)(bracket - item);
    }
    if (n >= MOST_HOST) n = MOST_HOST - 1;
    memcpy(host, item, n);
    host[n] = 0;
    *port = has_port ? port_of(colon + 1) : 0;
}

static bool host_fits(const char *pattern, const char *host) {
    if (pattern[0] == '*' && pattern[1] == '.') {
        size_t n = strlen(pattern) - 1, k = strlen(host);
        return k > n && strcasecmp(host + k - n, pattern + 1) == 0;
    }
    return strcasecmp(pattern, host) == 0;
}

bool pdl_net_grants(const path_list *net, const char *host, int port) {
    for (size_t i = 0; i < net->n; i++) {
        char pattern[MOST_HOST];
        int only;
        split(net->p[i], pattern, &only);
        if (host_fits(pattern, host) && (!only || only == port)) return true;
    }
    return false;
}

bool pdl_net_is_item(const char *item) {
    char host[MOST_HOST];
    int port;
    split(item, host, &port);
    const char *name = strncmp(host, "*.", 2) == 0 ? host + 2 : host;
    return port >= 0 && *name && strlen(item) < MOST_HOST && !strpbrk(name, "/*@?#\\ []") &&
           (item[0] == '[' || !strchr(name, ':') || inet_pton(AF_INET6, name, (char[16]){0}) == 1);
}

static bool is_private4(uint32_t a) {
    return a >> 24 == 10 || a >> 24 == 127 || a >> 24 == 0 || a >> 20 == 0xac1 ||
           a >> 16 == 0xc0a8 || a >> 16 == 0xa9fe || a >> 22 == 0x191 || a >> 24 >= 224 ||
           a >> 17 == 0x6309 || a >> 8 == 0xc00000 || a == 0xa83f8110 /* Azure's metadata */;
}

static bool is_private(const struct sockaddr *a) {
    if (a->sa_family == AF_INET)
        return is_private4(ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr));
    const unsigned char *b = ((const struct sockaddr_in6 *)(const void *)a)->sin6_addr.s6_addr;
    static const unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    static const unsigned char translated[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    static const unsigned char nat64[12] = {0, 0x64, 0xff, 0x9b}, local_nat64[] = {0,    0x64, 0xff,
                                                                                    0x9b, 0,    1};
    uint32_t last = (uint32_t)b[12] << 24 | (uint32_t)b[13] << 16 | (uint32_t)b[14] << 8 | b[15];
    bool low = true;
    for (int i = 0; i < 12; i++) low = low && b[i] == 0;
    if (memcmp(b, mapped, 12) == 0 || memcmp(b, nat64, 12) == 0 || memcmp(b, translated, 12) == 0)
        return is_private4(last);
    if (memcmp(b, local_nat64, sizeof local_nat64) == 0) return true;
    if (b[0] == 0x20 && b[1] == 0x02) /* 6to4 */
        return is_private4((uint32_t)b[2] << 24 | (uint32_t)b[3] << 16 | (uint32_t)b[4] << 8 |
                           b[5]);
    return low || b[0] >= 0xfc || (b[0] & 0xfe) == 0xfc;
}

/* Why there is no connection. */
enum { NOT_GRANTED = -1, NOT_REACHED = -2 };

/* A connection to the first address that may be used, or why there is none. */
static int connect_to(const path_list *net, const char *host, int port) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *all = NULL;
    char service[16];
    int fd = NOT_GRANTED;
    alarm(0);
    if (port < 1 || !pdl_net_grants(net, host, port)) return NOT_GRANTED;
    snprintf(service, sizeof service, "%d", port);
    if (getaddrinfo(host, service, &hints, &all) != 0) return NOT_REACHED;
    for (struct addrinfo *a = all; a && fd < 0; a = a->ai_next) {
        char shown[INET6_ADDRSTRLEN] = "";
        getnameinfo(a->ai_addr, a->ai_addrlen, shown, sizeof shown, NULL, 0, NI_NUMERICHOST);
        if (is_private(a->ai_addr) && !pdl_net_grants(net, shown, port)) continue;
        fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct timeval t = {CONNECT_MS / 1000, 0};
        if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
        if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) != 0) {
            close(fd);
            fd = NOT_REACHED;
        }
    }
    freeaddrinfo(all);
    return fd;
}

/* --- bytes ------------------------------------------------------------------------------------ */

static bool put_all(int fd, const char *p, size_t n) {
    while (n) {
        ssize_t k = send(fd, p, n, MSG_NOSIGNAL);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

static bool get_all(int fd, void *to, size_t n) {
    char *p = to;
    while (n) {
        ssize_t k = recv(fd, p, n, 0);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

static void pass_bytes(int a, int b) {
    char bytes[65536];
    bool open_a = true, open_b = true;
    while (open_a || open_b) {
        struct pollfd fds[] = {{open_a ? a : -1, POLLIN, 0}, {open_b ? b : -1, POLLIN, 0}};
        int ready = poll(fds, 2, IDLE_MS);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return;
        for (int i = 0; i < 2; i++) {
            if (!fds[i].revents) continue;
            int from = i ? b : a, to = i ? a : b;
            ssize_t n = recv(from, bytes, sizeof bytes, 0);
            if (n > 0 && put_all(to, bytes, (size_t)n)) continue;
            shutdown(to, SHUT_WR);
            if (i)
                open_b = false;
            else
                open_a = false;
        }
    }
}

/* --- HTTP ------------------------------------------------------------------------------------- */

/* Clients show the first line, the rest hardly any. */
static void refuse_http(int fd, const char *status) {
    char text[256];
    int n = snprintf(text, sizeof text,
                     "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n"
                     "Connection: close\r\n\r\n%s\n",
                     status, strlen(status) + 1, status);
    put_all(fd, text, (size_t)n);
}

static const char not_granted[] = "403 Not in net: of the sandbox's profile";
static const char not_reached[] = "502 The host cannot be reached from outside of the sandbox";

/* The head of a request, byte by byte: nothing after it is taken. */
static size_t read_head(int fd, char *head, size_t n) {
    while (n < MOST_HEAD - 1) {
        if (!get_all(fd, head + n, 1)) return 0;
        n++;
        if (n >= 4 && memcmp(head + n - 4, "\r\n\r\n", 4) == 0) break;
    }
    head[n] = 0;
    return n < MOST_HEAD - 1 ? n : 0;
}

static void serve_http(int fd, char first, const path_list *net) {
    static char head[MOST_HEAD];
    char method[32], target[4096], host[MOST_HOST], version[32];
    head[0] = first;
    size_t n = read_head(fd, head, 1);
    if (!n || sscanf(head, "%31s %4095s %31s", method, target, version) != 3) return;
    bool tunnel = strcmp(method, "CONNECT") == 0;
    const char *rest = target;
    int port = 0;
    if (!tunnel) {
        if (strncasecmp(target, "http://", 7) != 0) {
            refuse_http(fd, not_granted);
            return;
        }
        rest = target + 7;
    }
    size_t k = strcspn(rest, "/?#");
    char place[MOST_HOST + 8];
    if (k >= sizeof place || memchr(rest, '@', k)) {
        refuse_http(fd, not_granted);
        return;
    }
    memcpy(place, rest, k);
    place[k] = 0;
    split(place, host, &port);
    if (!port) port = tunnel ? 443 : 80;
    int out = connect_to(net, host, port);
    if (out < 0) {
        refuse_http(fd, out == NOT_GRANTED ? not_granted : not_reached);
        return;
    }
    if (tunnel) {
        put_all(fd, "HTTP/1.1 200 OK\r\n\r\n", 19);
    } else { /* one request: a second one could name another host */
        char line[4300];
        const char *path = rest[k] == '/' ? rest + k : "/", *end = strstr(head, "\r\n");
        int m = snprintf(line, sizeof line, "%s %s HTTP/1.1\r\nConnection: close", method, path);
        if (m <= 0 || !put_all(out, line, (size_t)m) ||
            !put_all(out, end, n - (size_t)(end - head)))
            return;
    }
    pass_bytes(fd, out);
}

/* --- SOCKS5 ----------------------------------------------------------------------------------- */

static void serve_socks(int fd, const path_list *net) {
    unsigned char b[300], port[2];
    char host[MOST_HOST];
    if (!get_all(fd, b, 1) || !get_all(fd, b + 1, b[0])) return;
    put_all(fd, "\x05\x00", 2);
    if (!get_all(fd, b, 4) || b[0] != 5 || b[1] != 1) return;
    if (b[3] == 3) {
        if (!get_all(fd, b, 1) || !get_all(fd, host, b[0])) return;
        host[b[0]] = 0;
        if (strlen(host) != b[0]) return;
    } else {
        size_t n = b[3] == 1 ? 4 : 16;
        int family = b[3] == 1 ? AF_INET : AF_INET6;
        if ((b[3] != 1 && b[3] != 4) || !get_all(fd, b, n) ||
            !inet_ntop(family, b, host, sizeof host))
            return;
    }
    if (!get_all(fd, port, 2)) return;
    int out = connect_to(net, host, port[0] << 8 | port[1]);
    unsigned char reply[10] = {5, out >= 0 ? 0 : out == NOT_GRANTED ? 2 : 4, 0, 1};
    put_all(fd, (const char *)reply, sizeof reply);
    if (out >= 0) pass_bytes(fd, out);
}

static void serve_one(int fd, const path_list *net) {
    char first;
    signal(SIGALRM, SIG_DFL);
    alarm(HEAD_SECONDS); /* until it is known what is asked for */
    if (!get_all(fd, &first, 1)) return;
    if (first == 5)
        serve_socks(fd, net);
    else
        serve_http(fd, first, net);
}

/* A process for each connection: what goes wrong in one is not seen by others. */
void pdl_proxy_serve(int listener, const path_list *net) {
    int n = 0;
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0 && errno == EINTR) continue;
        if (fd < 0) return;
        while (n > 0 && waitpid(-1, NULL, n >= MOST_OPEN ? 0 : WNOHANG) > 0) n--;
        pid_t self = getpid();
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != self) _exit(0); /* it has ended before */
            close(listener);
            serve_one(fd, net);
            _exit(0);
        }
        n++;
        close(fd);
    }
}
