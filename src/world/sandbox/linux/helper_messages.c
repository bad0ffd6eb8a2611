/* helper_messages.c -- messages between the processes of the helper: a number, and optionally a
 * descriptor. A descriptor can only be passed over a unix socket, so the processes share a pair of
 * sockets.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>
#include <sys/socket.h>

#include "sandbox/sandbox_impl.h"

#include "base/banned.h"

typedef union control {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
} control;

void pdl_pair_send(int to, int32_t status, int fd) {
    control c = {0};
    struct iovec io = {&status, sizeof status};
    struct msghdr msg = {.msg_iov = &io, .msg_iovlen = 1};
    if (fd >= 0) {
        msg.msg_control = c.bytes;
        msg.msg_controllen = sizeof c.bytes;
        c.head = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&c.head), &fd, sizeof fd);
    }
    (void)!sendmsg(to, &msg, MSG_NOSIGNAL);
}

bool pdl_pair_receive(int from, int32_t *status, int *fd) {
    control c = {0};
    struct iovec io = {status, sizeof *status};
    struct msghdr msg = {
        .msg_iov = &io, .msg_iovlen = 1, .msg_control = c.bytes, .msg_controllen = sizeof c.bytes};
    *fd = -1;
    if (recvmsg(from, &msg, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof *status) return false;
    if (msg.msg_controllen && c.head.cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(&c.head), sizeof *fd);
    return true;
}
