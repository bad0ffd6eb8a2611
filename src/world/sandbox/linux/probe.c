/* probe.c -- finds out what this machine can do, by doing it in a process that ends at once.
 *
 * `without` names features that count as missing, for tests of weaker machines: some of
 * landlock, seccomp, userns, bwrap. With a number, as in landlock3, that ABI and all later ones
 * are missing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "sandbox/sandbox_impl.h"
#include "value/int.h"
#include "value/json_write.h"

#include "base/banned.h"

/* A program named bwrap may do nothing or never end. So bubblewrap counts as working only when a
 * program inside it has run and ended with this status. */
enum { IT_RAN = 42, BWRAP_SECONDS = 10 };

static bool has_word(const char *list, const char *word) {
    return list && strstr(list, word) != NULL;
}

static int wait_for(pid_t p) {
    int status = -1;
    while (p > 0 && waitpid(p, &status, 0) < 0 && errno == EINTR) {}
    return p > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Tries namespaces in a child, whose exit status is errno, so that the reason can be reported. */
static void try_namespaces(sandbox_machine *m) {
    pid_t p = fork();
    if (p == 0) {
        const char *what;
        if (!pdl_native_namespaces(&what, (unsigned)getuid(), (unsigned)getgid())) _exit(errno);
        pid_t first = fork();
        if (first == 0)
            _exit(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
                          mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) ==
                              0
                      ? 0
                      : errno);
        _exit(wait_for(first));
    }
    int e = wait_for(p);
    m->namespaces = e == 0;
    if (e == 0) return;
    snprintf(m->why_namespaces, sizeof m->why_namespaces,
             "namespaces of users cannot be made here: %s", e > 0 ? strerror(e) : "no answer");
}

/* Explains a failure of bubblewrap by the first line that it wrote. Characters that cannot be
 * displayed become "?". */
static void explain_bwrap(sandbox_machine *m, int status, int said) {
    char line[81];
    fcntl(said, F_SETFL, O_NONBLOCK);
    ssize_t n = read(said, line, sizeof line - 1);
    line[n > 0 ? n : 0] = 0;
    line[strcspn(line, "\n")] = 0;
    for (char *c = line; *c; c++)
        if (*c < ' ' || *c > '~') *c = '?';
    if (status < 0)
        snprintf(m->why_bwrap, sizeof m->why_bwrap, "%s does not answer here", pdl_bubblewrap);
    else
        snprintf(m->why_bwrap, sizeof m->why_bwrap, "%s does not work here (exit status %d)%s%s",
                 pdl_bubblewrap, status, *line ? ": " : "", line);
}

static void try_bwrap(sandbox_machine *m) {
    struct stat st;
    if (stat(pdl_bubblewrap, &st) != 0) {
        snprintf(m->why_bwrap, sizeof m->why_bwrap,
                 "bubblewrap is not installed (Debian package bubblewrap)");
        return;
    }
    if (st.st_mode & S_ISUID) {
        snprintf(m->why_bwrap, sizeof m->why_bwrap,
                 "%s is setuid, which is not used: it would run as root", pdl_bubblewrap);
        return;
    }
    int said[2];
    if (pipe2(said, O_CLOEXEC) != 0) return;
    pid_t p = fork();
    if (p == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        for (int fd = 0; null >= 0 && fd < 2; fd++) dup2(null, fd);
        dup2(said[1], 2);
        setpgid(0, 0);
        signal(SIGALRM, SIG_DFL);
        alarm(BWRAP_SECONDS);
        pdl_bwrap_exec_probe("exit 42");
        _exit(127);
    }
    int status = wait_for(p);
    m->bwrap = status == IT_RAN;
    if (p > 0 && !m->bwrap) kill(-p, SIGKILL);
    close(said[1]);
    if (!m->bwrap) explain_bwrap(m, status, said[0]);
    close(said[0]);
}

/* Returns the ABI of Landlock that `without` leaves; 0 when there is none. */
static int ask_landlock(const char *without) {
    static const char word[] = "landlock";
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    const char *missing = without ? strstr(without, word) : NULL;
    char *end;
    if (missing) {
        long from = strtol(missing + sizeof word - 1, &end, 10);
        long most = from > 0 ? from - 1 : 0;
        if (abi > most) abi = most;
    }
    return abi > 0 ? (int)abi : 0;
}

void pdl_machine_probe(sandbox_machine *m, const char *without, bool ask_bwrap) {
    *m = (sandbox_machine){0};
    m->seccomp = !has_word(without, "seccomp") && prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
    m->landlock = ask_landlock(without);
    m->lacks = !m->seccomp    ? "the kernel has no seccomp"
               : !m->landlock ? "the kernel has no Landlock, or it is not enabled (lsm=)"
                              : NULL;
    bool no_users = has_word(without, "userns");
    /* a program that embeds the library may ignore this signal, and then children leave no exit
     * status */
    struct sigaction was, usual = {.sa_handler = SIG_DFL};
    bool ignored = sigaction(SIGCHLD, NULL, &was) == 0 && was.sa_handler == SIG_IGN;
    if (ignored) sigaction(SIGCHLD, &usual, NULL);
    if (has_word(without, "bwrap"))
        snprintf(m->why_bwrap, sizeof m->why_bwrap,
                 "bubblewrap is not installed (Debian package bubblewrap)");
    else if (ask_bwrap && !no_users)
        try_bwrap(m);
    if (no_users)
        snprintf(m->why_namespaces, sizeof m->why_namespaces,
                 "namespaces of users cannot be made here");
    else if (m->bwrap)
        /* bubblewrap has just made namespaces; trying again directly takes milliseconds */
        m->namespaces = true;
    else
        try_namespaces(m);
    if (ignored) sigaction(SIGCHLD, &was, NULL);
    if (!m->bwrap && !m->why_bwrap[0])
        snprintf(m->why_bwrap, sizeof m->why_bwrap, "%s", m->why_namespaces);
}

const sandbox_weakness pdl_weaknesses[] = {
    {.text = "other processes and System V IPC stay visible"},
    {.text = "files are guarded by Landlock alone: their names and sizes can be asked for"},
    {.text = "tmp: does not limit temporary files (file_size: limits each)"},
    {.text = "there is no /dev/shm (pools and queues of multiprocessing)"},
    {.text = "in a folder of write: files can be made in folders inside of it, not beside them",
     .of_write = true},
    {.text = "code can send signals to other processes (Landlock is older than ABI 6)",
     .has_landlock = LANDLOCK_SCOPES},
};
const size_t pdl_n_weaknesses = sizeof pdl_weaknesses / sizeof pdl_weaknesses[0];

bool pdl_weakness_holds(size_t i, const sandbox_machine *m) {
    return !pdl_weaknesses[i].has_landlock || m->landlock < pdl_weaknesses[i].has_landlock;
}

static const char *strength_of(const sandbox_machine *m, const char *helper) {
    bool locks = !m->lacks && helper;
    return locks && m->namespaces ? "full" : locks ? "process" : "none";
}

static pdl_val ability(bool has, const char *why) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(2), "works", pdl_bool(has));
    return pdl_dict_putz(d, "why", has || !*why ? pdl_null() : pdl_textz(why));
}

static bool is_process(const sandbox_machine *m, const char *helper) {
    return strcmp(strength_of(m, helper), "process") == 0;
}

static void put_json(const sandbox_machine *m, const char *helper, pdl_buf *out) {
    pdl_err ignored = {0};
    pdl_val d = pdl_dict_new(8), weaker = pdl_list_new(pdl_n_weaknesses);
    for (size_t i = 0; is_process(m, helper) && i < pdl_n_weaknesses; i++)
        if (pdl_weakness_holds(i, m))
            weaker = pdl_list_push(weaker, pdl_textz(pdl_weaknesses[i].text));
    d = pdl_dict_putz(d, "strength", pdl_textz(strength_of(m, helper)));
    d = pdl_dict_putz(d, "weaker", weaker);
    d = pdl_dict_putz(d, "namespaces", ability(m->namespaces, m->why_namespaces));
    d = pdl_dict_putz(d, "bubblewrap", ability(m->bwrap, m->why_bwrap));
    d = pdl_dict_putz(d, "landlock", pdl_int(m->landlock));
    d = pdl_dict_putz(d, "seccomp", pdl_bool(m->seccomp));
    d = pdl_dict_putz(d, "helper", helper ? pdl_textz(helper) : pdl_null());
    if (!pdl_json_write(d, 0, 0, out, &ignored)) pdl_err_fini(&ignored);
    pdl_buf_putc(out, '\n');
    pdl_drop(d);
}

void pdl_sandbox_check(const char *helper, const char *(*env)(void *user, const char *name),
                       void *user, bool json, pdl_buf *out) {
    sandbox_machine m;
    pdl_machine_probe(&m, env(user, "PDL_SANDBOX_WITHOUT"), true);
    if (json) {
        put_json(&m, helper, out);
        return;
    }
    pdl_buf_putf(out, "namespaces   %s\n", m.namespaces ? "yes" : m.why_namespaces);
    pdl_buf_putf(out, "bubblewrap   %s\n", m.bwrap ? "yes" : m.why_bwrap);
    if (m.landlock)
        pdl_buf_putf(out, "Landlock     yes, ABI %d%s\n", m.landlock,
                     m.landlock >= LANDLOCK_SCOPES
                         ? ""
                         : " (6 is needed against signals at the strength process)");
    else
        PDL_PUT(out, "Landlock     no: the kernel has not got it, or it is not enabled (lsm=)\n");
    pdl_buf_putf(out, "seccomp      %s\n", m.seccomp ? "yes" : "no: the kernel has not got it");
    PDL_PUT(out, "memory       a limit for each process; none for all together\n");
    pdl_buf_putf(out, "helper       %s\n", helper ? helper : "not found");
    bool process = is_process(&m, helper);
    pdl_buf_putf(out, "strength     %s%s\n", strength_of(&m, helper),
                 process ? " (--sandbox-min process), weaker than full:" : "");
    for (size_t i = 0; process && i < pdl_n_weaknesses; i++)
        if (pdl_weakness_holds(i, &m))
            pdl_buf_putf(out, "             - %s\n", pdl_weaknesses[i].text);
}
