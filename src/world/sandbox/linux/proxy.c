/* proxy.c -- the network of a profile with `net:`. The sandbox has a separate network with one
 * listening socket; connections to it are served from outside the namespace.
 *
 * The proxy speaks HTTP CONNECT, plain requests with an absolute address, and SOCKS5 with names.
 * Names are resolved here, once, and the connection goes to the address that was examined: a name
 * cannot change its meaning in between. Private, link-local and metadata addresses are refused
 * unless the profile has the address itself.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
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
    MAX_HEAD = 16384,
    MAX_OPEN = 64,
    /* a connection that sends nothing in this time is closed, because others wait for its place */
    HEAD_SECONDS = 30,
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

/* --- addresses that a domain does not grant --------------------------------------------------- */

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
    static const unsigned char nat64[12] = {0, 0x64, 0xff, 0x9b},
                               local_nat64[] = {0, 0x64, 0xff, 0x9b, 0, 1};
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

/* The reasons why there is no connection. */
enum { NOT_GRANTED = -1, NOT_REACHED = -2 };

static int connected(const struct addrinfo *to) {
    struct timeval t = {CONNECT_MS / 1000, 0};
    int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return NOT_REACHED;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
    if (connect(fd, to->ai_addr, to->ai_addrlen) == 0) return fd;
    close(fd);
    return NOT_REACHED;
}

/* Connects to the first address that may be used. Returns the socket, or a reason. */
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
        fd = connected(a);
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

/* Refuses a request. Clients show the first line, and rarely the rest. */
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

/* Reads the head of a request byte by byte, so that bytes after the head remain in the socket. */
static size_t read_head(int fd, char *head, size_t n) {
    while (n < MAX_HEAD - 1) {
        if (!get_all(fd, head + n, 1)) return 0;
        n++;
        if (n >= 4 && memcmp(head + n - 4, "\r\n\r\n", 4) == 0) break;
    }
    head[n] = 0;
    return n < MAX_HEAD - 1 ? n : 0;
}

/* The parts of a head; they point into it. */
typedef struct http_request {
    pdl_str method, target, version, fields; /* fields: the header lines, with their line ends */
} http_request;

/* Returns true when every server reads the lines of the head as we do. A CR or LF alone and a
 * continued line are read in more than one way, so the server might see a field that the proxy does
 * not. */
static bool is_plain(pdl_str head) {
    for (size_t i = 0; i < head.n; i++) {
        unsigned char c = (unsigned char)head.p[i];
        bool ends = c == '\n' && i && head.p[i - 1] == '\r';
        if (ends && i + 1 < head.n && (head.p[i + 1] == ' ' || head.p[i + 1] == '\t')) return false;
        if ((c < ' ' && c != '\t' && !ends && !(c == '\r' && head.p[i + 1] == '\n')) || c == 127)
            return false;
    }
    return true;
}

static pdl_str cut(pdl_str *from, const char *at) {
    size_t end = pdl_str_find(*from, pdl_str_of(at), 0);
    pdl_str first = end == PDL_NOT_FOUND ? *from : pdl_str_sub(*from, 0, end);
    *from = end == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_sub(*from, end + strlen(at), from->n);
    return first;
}

static bool parse_head(pdl_str head, http_request *r) {
    if (!is_plain(head)) return false;
    r->fields = pdl_str_sub(head, 0, head.n - 2);
    pdl_str line = cut(&r->fields, "\r\n");
    r->method = cut(&line, " ");
    r->target = cut(&line, " ");
    r->version = line;
    for (pdl_str left = r->fields, field; left.n;) {
        field = cut(&left, "\r\n");
        pdl_str name = cut(&field, ":");
        if (!name.n || memchr(name.p, ' ', name.n) || memchr(name.p, '\t', name.n)) return false;
    }
    return r->method.n && r->target.n &&
           (pdl_str_is(line, "HTTP/1.1") || pdl_str_is(line, "HTTP/1.0"));
}

static bool is_field(pdl_str name, const char *of) {
    return pdl_str_eq_nocase(name, pdl_str_of(of));
}

/* Forwards one request only, since a second one could name another host. The field Host is made
 * from the host that was judged. A change of protocol (web sockets) is passed on unchanged. */
static bool forward(int out, const http_request *r, pdl_str place, pdl_str path) {
    static const char *const own[] = {"Host", "Connection", "Proxy-Connection", "Keep-Alive",
                                      "Proxy-Authorization"};
    pdl_buf b = PDL_BUF, kept = PDL_BUF;
    bool upgrades = false;
    for (pdl_str left = r->fields; left.n;) {
        pdl_str field = cut(&left, "\r\n"), value = field, name = cut(&value, ":");
        bool is_own = false;
        for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
            is_own = is_own || is_field(name, own[i]);
        if (is_field(name, "Connection"))
            upgrades = upgrades || pdl_str_eq_nocase(pdl_str_trim(value), PDL_STR("upgrade"));
        if (!is_own) pdl_buf_putf(&kept, "%.*s\r\n", PDL_FMT(field));
    }
    pdl_buf_putf(&b, "%.*s %s%.*s %.*s\r\nHost: %.*s\r\nConnection: %s\r\n", PDL_FMT(r->method),
                 pdl_str_starts(path, PDL_STR("/")) ? "" : "/", PDL_FMT(path), PDL_FMT(r->version),
                 PDL_FMT(place), upgrades ? "Upgrade" : "close");
    pdl_buf_put(&b, pdl_buf_str(&kept));
    PDL_PUT(&b, "\r\n");
    bool ok = put_all(out, pdl_buf_str(&b).p, pdl_buf_str(&b).n);
    pdl_buf_fini(&kept);
    pdl_buf_fini(&b);
    return ok;
}

static void serve_http(int fd, char first, const path_list *net) {
    static char head[MAX_HEAD];
    static const char scheme[] = "http://";
    char host[PDL_NET_MAX_HOST], place[PDL_NET_MAX_HOST + 8];
    http_request r;
    head[0] = first;
    size_t n = read_head(fd, head, 1);
    if (!n) return;
    if (!parse_head((pdl_str){head, n}, &r)) {
        refuse_http(fd, "400 Not a request that a proxy takes");
        return;
    }
    bool tunnel = pdl_str_is(r.method, "CONNECT");
    pdl_str rest = r.target;
    bool has_scheme =
        rest.n >= sizeof scheme - 1 && is_field(pdl_str_sub(rest, 0, sizeof scheme - 1), scheme);
    if (has_scheme) rest = pdl_str_sub(rest, sizeof scheme - 1, rest.n);
    size_t k = 0;
    while (k < rest.n && !strchr("/?#", rest.p[k])) k++;
    if (has_scheme == tunnel || k >= sizeof place || (tunnel && k < rest.n) ||
        memchr(rest.p, '@', k)) {
        refuse_http(fd, not_granted);
        return;
    }
    memcpy(place, rest.p, k);
    place[k] = 0;
    int port = 0;
    pdl_net_split(place, host, &port);
    if (!port) port = tunnel ? 443 : 80;
    int out = connect_to(net, host, port);
    if (out < 0) {
        refuse_http(fd, out == NOT_GRANTED ? not_granted : not_reached);
        return;
    }
    if (tunnel)
        put_all(fd, "HTTP/1.1 200 OK\r\n\r\n", 19);
    else if (!forward(out, &r, pdl_str_sub(rest, 0, k), pdl_str_sub(rest, k, rest.n)))
        return;
    pass_bytes(fd, out);
}

/* --- SOCKS5 ----------------------------------------------------------------------------------- */

static void serve_socks(int fd, const path_list *net) {
    unsigned char b[300], port[2];
    char host[PDL_NET_MAX_HOST];
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
    alarm(HEAD_SECONDS); /* the limit ends when the request is known */
    if (!get_all(fd, &first, 1)) return;
    if (first == 5)
        serve_socks(fd, net);
    else
        serve_http(fd, first, net);
}

/* Returns the next connection, or -1 when there can be none. The proxy does not stop when a
 * connection ended early, or when a resource is missing at this moment. */
static int next_connection(int listener) {
    enum { PAUSE_US = 10000 };
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        if (fd >= 0 || errno == EBADF || errno == EINVAL || errno == ENOTSOCK) return fd;
        if (errno != EINTR) usleep(PAUSE_US);
    }
}

/* Serves each connection in a separate process, so that a failure in one does not affect others. */
void pdl_proxy_serve(int listener, const path_list *net) {
    int n = 0, fd;
    while ((fd = next_connection(listener)) >= 0) {
        while (n > 0 && waitpid(-1, NULL, n >= MAX_OPEN ? 0 : WNOHANG) > 0) n--;
        pid_t self = getpid(), child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != self) _exit(0); /* the parent ended before the call */
            close(listener);
            serve_one(fd, net);
            _exit(0);
        }
        n += child > 0;
        close(fd);
    }
}
