/* test_proxy.c -- the proxy of a sandbox survives a moment in which no connection can be accepted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/sandbox_impl.h"

#include "base/banned.h"

enum { GONE = 3, MOMENT_MS = 300, PATIENCE_MS = 60000 };

static int connect_to(int port) {
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    t_assert(fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0);
    return fd;
}

/* The proxy in a process of its own, which may have no further descriptor. */
static pid_t begin_proxy(int listener) {
    pid_t p = fork();
    if (p == 0) {
        struct rlimit l;
        path_list none = {0};
        getrlimit(RLIMIT_NOFILE, &l);
        l.rlim_cur = (rlim_t)listener + 1;
        for (int fd = 0; fd < listener; fd++)
            if (dup2(listener, fd) < 0) _exit(1);
        setrlimit(RLIMIT_NOFILE, &l);
        pdl_proxy_serve(listener, &none);
        _exit(GONE);
    }
    return p;
}

static void it_outlasts_a_lack_of_descriptors(void **state) {
    (void)state;
    static const char request[] = "GET http://a.example/ HTTP/1.1\r\n\r\n";
    char answer[13] = "";
    int port, status, listener = pdl_proxy_listen(&port);
    struct rlimit l;
    t_assert(listener >= 0);
    int fd = connect_to(port);
    t_assert(send(fd, request, sizeof request - 1, MSG_NOSIGNAL) == sizeof request - 1);
    pid_t p = begin_proxy(listener);
    close(listener);
    t_assert(p > 0 && getrlimit(RLIMIT_NOFILE, &l) == 0);
    poll(NULL, 0, MOMENT_MS); /* enough for it to try; if not, nothing is lost */
    prlimit(p, RLIMIT_NOFILE, &l, NULL);
    struct pollfd wait = {fd, POLLIN, 0};
    t_assert(poll(&wait, 1, PATIENCE_MS) == 1);
    t_assert(recv(fd, answer, sizeof answer - 1, MSG_WAITALL) == sizeof answer - 1);
    t_assert(memcmp(answer, "HTTP/1.1 403", sizeof answer - 1) == 0);
    kill(p, SIGKILL);
    t_assert(waitpid(p, &status, 0) == p && WIFSIGNALED(status));
    close(fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(it_outlasts_a_lack_of_descriptors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
