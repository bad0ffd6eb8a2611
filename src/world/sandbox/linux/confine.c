/* confine.c -- the helper (sandbox.h): three processes, so that each does one thing.
 *
 *   `outside` stays as it was started. It forwards signals, serves the network of `net:`, removes
 *             the mount points that were made, and ends as the command did.
 *   `monitor` is the first process of the namespaces. It counts processes, and ends all of them.
 *   `command` drops its rights and becomes the command.
 *
 * The processes `outside` and `monitor` communicate over a pair of sockets. The monitor sends over
 * it the listening socket of the sandbox's network, and later how the command ended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/sandbox_impl.h"

#include "base/banned.h"

/* Each kind of end has a signal. The signals are taken downward from the last one, since the C
 * libraries use the first real-time signals. */
int pdl_sandbox_signal_of(pdl_sandbox_end end) { return SIGRTMAX - (PDL_SANDBOX_SETUP - (int)end); }

pdl_sandbox_end pdl_sandbox_end_of(int signal) {
    int below = SIGRTMAX - signal;
    return signal && below >= 0 && below <= PDL_SANDBOX_SETUP - PDL_SANDBOX_BUSY
               ? (pdl_sandbox_end)(PDL_SANDBOX_SETUP - below)
               : PDL_SANDBOX_ENDED;
}

/* Reports why there is no sandbox, by errno. Returns the signal with which the helper ends. The
 * signal differs for a resource that is missing only at this moment, because then another try may
 * succeed. */
static int complain(const char *what) {
    static const int shortages[] = {ENOSPC, EDQUOT, ENOMEM, EAGAIN, EMFILE, ENFILE};
    char line[256];
    int e = errno;
    int n =
        snprintf(line, sizeof line, "pdl: the sandbox cannot be made: %s: %s\n", what, strerror(e));
    if (n > 0) (void)!write(2, line, (size_t)n);
    for (size_t i = 0; i < sizeof shortages / sizeof shortages[0]; i++)
        if (e == shortages[i]) return pdl_sandbox_signal_of(PDL_SANDBOX_BUSY);
    return pdl_sandbox_signal_of(PDL_SANDBOX_SETUP);
}

static void close_from(int first) {
    if (syscall(SYS_close_range, first, ~0U, 0) == 0) return;
    for (int fd = first; fd < 1024; fd++) close(fd);
}

/* Makes the kernel end this process when its parent ends. When the parent has already ended, ends
 * this process at once. */
static void end_with(pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
}

static bool outside_is_gone(void) {
    struct pollfd pair = {PASS_FD, 0, 0};
    return poll(&pair, 1, 0) > 0 && pair.revents & POLLHUP;
}

/* Has the same effect as end_with for a process in new namespaces, which may not see its parent.
 * Such a process notices the end of the parent when the other end of their pair of sockets is
 * closed. */
static void end_with_outside(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (outside_is_gone()) _exit(0);
}

/* --- the command ------------------------------------------------------------------------------ */

static void enter_folder(const sandbox_spec *s) {
    if (s->cwd && chdir(s->cwd) == 0) return;
    for (size_t i = s->ro.n; i-- > 0;)
        if (chdir(s->ro.p[i]) == 0) return;
    if (chdir("/") != 0) {}
}

static void name_proxy(int port) {
    static const char *const names[] = {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
                                        "http_proxy", "https_proxy", "all_proxy"};
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d", port);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) setenv(names[i], url, 1);
}

/* Ends this process by the signal that ended another one. */
static int end_by(int sig) {
    sigset_t all;
    sigfillset(&all);
    signal(sig, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    kill(getpid(), sig);
    return 128 + sig;
}

static void reset_signals(void) {
    sigset_t none;
    sigemptyset(&none);
    for (int sig = 1; sig < 32; sig++) signal(sig, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Reports that a command cannot be executed, and returns the exit status that a shell would have.
 * Control characters in the name are replaced, because the name may come from an attacker. */
static int refuse_as_shell(const char *name, bool is_absent) {
    char line[512];
    const char *shown = *name ? name : "''";
    const char *why = is_absent ? "" : strerror(errno);
    int n = snprintf(line, sizeof line, "pdl: %.300s: %s in the sandbox%s%s\n", shown,
                     is_absent ? "not found" : "cannot be executed", *why ? ": " : "", why);
    for (int i = 0; i < n - 1; i++)
        if ((unsigned char)line[i] < ' ' || line[i] == 127) line[i] = '?';
    if (n > 0) (void)!write(2, line, (size_t)n);
    return is_absent ? 127 : 126;
}

static int run_command(const sandbox_spec *s, char **argv, int to_monitor) {
    const char *what;
    int calls;
    /* the variables of the command still have their mark, so this is a variable of the helper */
    bool as_shell = getenv(PDL_SANDBOX_AS_SHELL) != NULL;
    unsetenv(PDL_SANDBOX_AS_SHELL);
    reset_signals();
    pdl_unwrap_env();
    enter_folder(s);
    if (!pdl_inside_confine(s, &calls, &what)) return end_by(complain(what));
    if (calls >= 0) pdl_pair_send(to_monitor, 0, calls);
    execvp(argv[0], argv);
    bool is_absent = errno == ENOENT || errno == ENOTDIR;
    if (as_shell) return refuse_as_shell(argv[0], is_absent);
    return end_by(pdl_sandbox_signal_of(is_absent ? PDL_SANDBOX_NOT_FOUND : PDL_SANDBOX_DENIED));
}

/* --- the monitor ------------------------------------------------------------------------------ */

/* Returns true when the command, or a child that a shell waited for, was killed while the memory of
 * the profile was in use. Half of the memory suffices, because a program reserves more addresses
 * than it writes to, and strings often grow by doubling. */
static bool died_full(const sandbox_spec *s, int status, const struct rusage *used) {
    enum { SHELLS = 128, PARTS = 2 };
    int by = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) - SHELLS;
    bool killed = by == SIGKILL || by == SIGABRT || by == SIGSEGV || by == SIGBUS || by == SIGTRAP;
    return killed && used->ru_maxrss >= s->memory / 1024 / PARTS;
}

/* Waits for the command and counts processes. The counts are more frequent when there are more
 * processes. */
static int32_t watch(const sandbox_spec *s, pid_t command) {
    bool is_only = s->backend != BACKEND_NONE;
    enum { SLOW_MS = 100, MANY = 8 };
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    for (;;) {
        int status;
        struct rusage used;
        for (pid_t p; (p = wait4(-1, &status, WNOHANG, &used)) > 0;)
            if (p == command)
                return died_full(s, status, &used) ? pdl_sandbox_signal_of(PDL_SANDBOX_MEMORY)
                                                   : status;
        size_t n = pdl_processes_count(is_only);
        if (outside_is_gone()) return pdl_sandbox_signal_of(PDL_SANDBOX_SETUP);
        if (n > (size_t)s->processes) return pdl_sandbox_signal_of(PDL_SANDBOX_PROCESSES);
        long ms = n > MANY ? WATCH_MS : SLOW_MS;
        sigtimedwait(&child, NULL, &(struct timespec){0, ms * 1000000});
    }
}

/* Ignores signals that are meant for the command, which receives them as a member of the group. */
static void ignore_signals(void) {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
}

/* Reports that the helper failed before the command began. */
static int fail(const char *what) {
    pdl_pair_send(PASS_FD, complain(what), -1);
    return PDL_SANDBOX_SETUP;
}

static int monitor(const sandbox_spec *s, char **argv) {
    int port = 0;
    end_with_outside();
    /* without a namespace of processes, the monitor has to end the processes itself */
    if (s->backend == BACKEND_NONE) {
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        prctl(PR_SET_PDEATHSIG, 0);
    }
    fcntl(PASS_FD, F_SETFD, FD_CLOEXEC);
    if (s->net.n) {
        int listener = pdl_proxy_listen(&port);
        if (listener < 0) return fail("the network inside");
        pdl_pair_send(PASS_FD, -1, listener);
        close(listener);
        name_proxy(port);
    }
    ignore_signals();
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return fail("sockets");
    pid_t command = fork();
    if (command == 0) _exit(run_command(s, argv, pair[1]));
    close(pair[1]);
    /* the outside process kills its group, so the monitor leaves that group */
    if (s->backend == BACKEND_NONE) setpgid(0, 0);
    for (int fd = 3; fd < PASS_FD; fd++)
        if (fd != pair[0]) close(fd); /* the other descriptors are ends of the command's pipes */
    /* this call uses the lowest descriptors, so it comes after the loop */
    pdl_sockets_serve(pair[0]);
    int32_t status = command < 0 ? complain("a process") : watch(s, command);
    pdl_processes_kill(s->backend != BACKEND_NONE);
    pdl_pair_send(PASS_FD, status, -1);
    return 0;
}

/* --- outside ---------------------------------------------------------------------------------- */

static void make_placeholders(const path_list *l) {
    for (size_t i = 0; i < l->n; i++) {
        size_t n = strlen(l->p[i]);
        if (l->p[i][n - 1] == '/') {
            l->p[i][n - 1] = 0;
            if (mkdir(l->p[i], 0500) != 0) l->p[i][0] = 0;
        } else {
            int fd = open(l->p[i], O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0400);
            if (fd < 0)
                l->p[i][0] = 0;
            else
                close(fd);
        }
    }
}

/* Removes placeholders that are still empty. */
static void remove_placeholders(const path_list *l) {
    struct stat st;
    for (size_t i = 0; i < l->n; i++) {
        if (!l->p[i][0] || lstat(l->p[i], &st) != 0) continue;
        if (S_ISDIR(st.st_mode))
            rmdir(l->p[i]);
        else if (S_ISREG(st.st_mode) && st.st_size == 0)
            unlink(l->p[i]);
    }
}

static int begin_native(sandbox_spec *s, char **argv) {
    const char *what;
    if (!pdl_native_namespaces(&what, (unsigned)getuid(), (unsigned)getgid())) return fail(what);
    pid_t first = fork(); /* the first process of the new namespace of processes */
    if (first == 0) {
        end_with_outside();
        mode_t mask = umask(022); /* folders of the new root are readable for every user */
        bool ok = pdl_native_root(s, &what);
        umask(mask);
        _exit(ok ? monitor(s, argv) : fail(what));
    }
    if (first < 0) return fail("a process");
    /* called a second time, because the kernel resets the setting when rights change */
    end_with_outside();
    for (int fd = 0; fd <= PASS_FD; fd++) close(fd);
    int status = 0;
    while (first > 0 && waitpid(first, &status, 0) < 0 && errno == EINTR) {}
    return WIFEXITED(status) ? WEXITSTATUS(status) : PDL_SANDBOX_SETUP;
}

/* Begins the helper. all: argv with the instructions before it. */
static int begin(sandbox_spec *s, char **all, char **argv) {
    signal(SIGINT, SIG_IGN); /* bubblewrap inherits this: a signal must not end bubblewrap */
    signal(SIGTERM, SIG_IGN);
    switch (s->backend) {
    case BACKEND_NATIVE: return begin_native(s, argv);
    case BACKEND_NONE: return monitor(s, argv);
    case BACKEND_BWRAP: pdl_bwrap_exec(s, all); return fail("bubblewrap");
    }
    return PDL_SANDBOX_SETUP;
}

static void serve_network(int listener, const sandbox_spec *s) {
    pid_t self = getpid(), p = fork();
    if (p == 0) {
        end_with(self);
        setpgid(0, 0); /* this process does not get the signals for the command */
        pdl_proxy_serve(listener, &s->net);
        _exit(0);
    }
    close(listener);
}

/* Passes a signal on to the group, because only this process may have received it. A terminal has
 * sent its signal to the whole group already. This process takes back the copy that it sends to
 * itself at once. The copy cannot be recognized later: when a process of the group is in another
 * namespace, the kernel may write 0 in place of the sender. */
static void hand_on(int signals) {
    struct signalfd_siginfo info;
    if (read(signals, &info, sizeof info) != (ssize_t)sizeof info) return;
    if (info.ssi_code == SI_KERNEL) return;
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, (int)info.ssi_signo);
    kill(0, (int)info.ssi_signo);
    (void)sigtimedwait(&own, NULL, &(struct timespec){0});
}

static int end_as(int32_t status) {
    if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
    pdl_sandbox_end end = pdl_sandbox_end_of(WTERMSIG(status));
    return end && getenv(PDL_SANDBOX_AS_SHELL) ? (int)end : end_by(WTERMSIG(status));
}

/* Serves the monitor until it sends the status of the command or closes its side of the pair.
 * Returns the status. */
static int32_t attend(int pair, int signals, pid_t child, const sandbox_spec *s) {
    int32_t end = pdl_sandbox_signal_of(PDL_SANDBOX_SETUP);
    bool known = false;
    for (;;) {
        struct pollfd fds[] = {{pair, POLLIN, 0}, {signals, POLLIN, 0}};
        if (poll(fds, 2, -1) < 0 && errno != EINTR) break;
        if (fds[1].revents & POLLIN) hand_on(signals);
        if (!(fds[0].revents & (POLLIN | POLLHUP))) continue;
        int32_t status;
        int fd;
        if (!pdl_pair_receive(pair, &status, &fd)) break;
        if (fd >= 0) {
            serve_network(fd, s);
            continue;
        }
        end = status;
        known = true;
        break;
    }
    if (known && s->backend != BACKEND_NONE) kill(child, SIGKILL);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {}
    return end;
}

/* Gives the command a new folder as its /tmp when there are no mounts. */
static bool make_own_tmp(sandbox_spec *s, char *path) {
    if (s->backend != BACKEND_NONE) return true;
    if (!mkdtemp(path)) return false;
    pdl_paths_add(&s->rw, pdl_str_of(path));
    return setenv("TMPDIR", path, 1) == 0 && setenv("HOME", path, 1) == 0;
}

static int remove_entry(const char *path, const struct stat *st, int what, struct FTW *at) {
    (void)st;
    (void)what;
    (void)at;
    return remove(path);
}

/* Begins a process that removes the folder. The outside process may be killed at any time, and no
 * other process knows the folder. A signal to the group does not reach the new process; it removes
 * the folder when the returned end of a pipe is closed. */
static int begin_cleaner(const char *folder, pid_t *cleaner) {
    enum { TRIES = 100, PAUSE_US = 10000 }; /* a killed process may still be writing */
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    *cleaner = fork();
    if (*cleaner == 0) {
        char byte;
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, 0);
        dup2(ends[0], 0);
        close_from(1); /* this call also closes both ends of the pipe */
        while (read(0, &byte, 1) < 0 && errno == EINTR) {}
        for (int i = 0; i < TRIES; i++) {
            if (nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) == 0) break;
            if (access(folder, F_OK) != 0) break;
            usleep(PAUSE_US);
        }
        _exit(0);
    }
    /* outside() closes the lowest descriptors later */
    int end = fcntl(ends[1], F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    close(ends[0]);
    close(ends[1]);
    return end;
}

static void end_cleaner(int pipe_end, pid_t cleaner) {
    if (pipe_end < 0) return;
    close(pipe_end);
    while (waitpid(cleaner, NULL, 0) < 0 && errno == EINTR) {}
}

static int outside(sandbox_spec *s, char **all, char **argv) {
    char tmp[] = "/tmp/pdl-sandbox-XXXXXX";
    int pair[2];
    sigset_t block;
    sigemptyset(&block);
    sigaddset(&block, SIGINT);
    sigaddset(&block, SIGTERM);
    close_from(FIRST_FREE_FD);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0) return end_as(complain("sockets"));
    int own = fcntl(pair[0], F_DUPFD_CLOEXEC, 10), other = fcntl(pair[1], F_DUPFD, 10);
    close(pair[0]);
    close(pair[1]);
    if (!make_own_tmp(s, tmp)) return end_as(complain("a folder for temporary files in /tmp"));
    pid_t cleaner = 0;
    int clean = s->backend == BACKEND_NONE ? begin_cleaner(tmp, &cleaner) : -1;
    make_placeholders(&s->placeholders);
    pid_t self = getpid(), child = fork();
    if (child == 0) {
        end_with(self);
        if (clean >= 0) close(clean);
        dup2(other, PASS_FD);
        close(other);
        close(own);
        _exit(begin(s, all, argv));
    }
    close(other);
    /* the lowest descriptors may be ends of the command's pipes */
    for (int fd = 0; fd < FIRST_FREE_FD; fd++) close(fd);
    sigprocmask(SIG_BLOCK, &block, NULL);
    int signals = signalfd(-1, &block, SFD_CLOEXEC);
    int32_t status = attend(own, signals, child, s);
    remove_placeholders(&s->placeholders);
    end_cleaner(clean, cleaner);
    return end_as(status);
}

int pdl_sandbox_confine(int argc, char **argv, bool inside) {
    sandbox_spec s = {0};
    char **command = argc < 2 ? NULL : pdl_spec_read(argv, &s);
    if (!command) {
        errno = EINVAL;
        return end_as(complain("its instructions"));
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* No exit handler may run: the one of a sanitizer would report leaks without a standard error,
     * and would replace the exit status of the command. */
    _exit(inside ? monitor(&s, command) : outside(&s, argv, command));
}
