/* seatbelt.c -- the sandbox on macOS: the helper becomes sandbox-exec, with a profile that is
 * written from its instructions, and sandbox-exec becomes the command.
 *
 * The system has no namespaces: other processes stay visible, there is no separate network, and
 * memory and processes are limited for each process alone. So the strength of this sandbox is
 * `process`, never `full`. This file is compiled and linked in the project's checks, and was not
 * run on macOS.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/sandbox_impl.h"
#include "value/json_write.h"

#include "base/banned.h"

static const char SANDBOX_EXEC[] = "/usr/bin/sandbox-exec";

/* --- the abilities ---------------------------------------------------------------------------- */

void pdl_machine_probe(sandbox_machine *m, const char *without, bool ask_bwrap) {
    (void)ask_bwrap;
    *m = (sandbox_machine){0};
    bool absent = access(SANDBOX_EXEC, X_OK) != 0 || (without && strstr(without, "seatbelt"));
    m->lacks = absent ? "the system has no sandbox-exec" : NULL;
    snprintf(m->why_namespaces, sizeof m->why_namespaces, "macOS has no namespaces");
    snprintf(m->why_bwrap, sizeof m->why_bwrap, "%s", m->why_namespaces);
}

const sandbox_weakness pdl_weaknesses[] = {
    {.text = "other processes and System V IPC stay visible"},
    {.text = "names and sizes of files can be asked for"},
    {.text = "memory: is not limited, and tmp: does not limit temporary files"},
    {.text = "processes: counts all processes of the user"},
    {.text = "folders in which a protected file could be made are not guarded", .of_write = true},
};
const size_t pdl_n_weaknesses = sizeof pdl_weaknesses / sizeof pdl_weaknesses[0];

bool pdl_weakness_holds(size_t i, const sandbox_machine *m) {
    (void)m;
    return i < pdl_n_weaknesses;
}

static void put_json(const sandbox_machine *m, const char *strength, const char *helper,
                     pdl_buf *out) {
    pdl_err ignored = {0};
    pdl_val d = pdl_dict_new(4), weaker = pdl_list_new(pdl_n_weaknesses);
    for (size_t i = 0; !m->lacks && i < pdl_n_weaknesses; i++)
        weaker = pdl_list_push(weaker, pdl_textz(pdl_weaknesses[i].text));
    d = pdl_dict_putz(d, "strength", pdl_textz(strength));
    d = pdl_dict_putz(d, "weaker", weaker);
    d = pdl_dict_putz(d, "seatbelt", pdl_bool(!m->lacks));
    d = pdl_dict_putz(d, "helper", helper ? pdl_textz(helper) : pdl_null());
    if (!pdl_json_write(d, 0, 0, out, &ignored)) pdl_err_fini(&ignored);
    pdl_buf_putc(out, '\n');
    pdl_drop(d);
}

void pdl_sandbox_check(const char *helper, const char *(*env)(void *user, const char *name),
                       void *user, bool json, pdl_buf *out) {
    sandbox_machine m;
    pdl_machine_probe(&m, env(user, "PDL_SANDBOX_WITHOUT"), false);
    const char *strength = m.lacks || !helper ? "none" : "process";
    if (json) {
        put_json(&m, strength, helper, out);
        return;
    }
    pdl_buf_putf(out, "namespaces   %s\n", m.why_namespaces);
    pdl_buf_putf(out, "seatbelt     %s\n", m.lacks ? m.lacks : "yes");
    pdl_buf_putf(out, "helper       %s\n", helper ? helper : "not found");
    pdl_buf_putf(out, "strength     %s%s\n", strength,
                 m.lacks ? "" : " (--sandbox-min process), weaker than full:");
    for (size_t i = 0; !m.lacks && i < pdl_n_weaknesses; i++)
        pdl_buf_putf(out, "             - %s\n", pdl_weaknesses[i].text);
}

/* --- the helper ------------------------------------------------------------------------------- */

/* macOS has no real-time signals, and programs do not use SIGEMT. */
int pdl_sandbox_signal_of(pdl_sandbox_end end) {
    (void)end;
    return SIGEMT;
}

pdl_sandbox_end pdl_sandbox_end_of(int signal) {
    return signal == SIGEMT ? PDL_SANDBOX_SETUP : PDL_SANDBOX_ENDED;
}

static int end_by(int sig) {
    signal(sig, SIG_DFL);
    kill(getpid(), sig);
    return 128 + sig;
}

static int complain(const char *what) {
    fprintf(stderr, "pdl: the sandbox cannot be made: %s: %s\n", what, strerror(errno));
    return end_by(pdl_sandbox_signal_of(PDL_SANDBOX_SETUP));
}

static void put_path(pdl_buf *out, const char *rule, const char *kind, const char *path) {
    pdl_buf_putf(out, "(%s (%s \"", rule, kind);
    for (const char *p = path; *p; p++) {
        if (*p == '"' || *p == '\\') pdl_buf_putc(out, '\\');
        pdl_buf_putc(out, *p);
    }
    PDL_PUT(out, "\"))\n");
}

static void put_paths(pdl_buf *out, const char *rule, const path_list *l) {
    for (size_t i = 0; i < l->n; i++) put_path(out, rule, "subpath", l->p[i]);
}

/* Writes the profile. A later rule takes precedence over an earlier one. */
static void put_profile(const sandbox_spec *s, const char *tmp, pdl_buf *out) {
    PDL_PUT(out, "(version 1)\n(deny default)\n(allow process-fork)\n(allow process-exec*)\n"
                 "(allow signal (target same-sandbox))\n(allow sysctl-read)\n"
                 "(allow file-read-metadata)\n(allow file-read* file-write* (literal "
                 "\"/dev/null\"))\n(allow file-read* (literal \"/dev/urandom\"))\n");
    put_paths(out, "allow file-read*", &s->ro);
    put_paths(out, "allow file-read* file-write*", &s->rw);
    put_path(out, "allow file-read* file-write*", "subpath", tmp);
    put_paths(out, "deny file-write*", &s->kept);
    put_paths(out, "deny file-write*", &s->placeholders);
    put_paths(out, "deny file-read* file-write*", &s->masked);
}

static void limit(int what, int64_t most) {
    struct rlimit r = {(rlim_t)most, (rlim_t)most};
    if (most > 0) (void)setrlimit(what, &r);
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st;
    (void)kind;
    (void)at;
    (void)remove(path);
    return 0;
}

/* Runs in the child; returns only when the command could not be started. */
static int become(const sandbox_spec *s, const char *tmp, char **argv) {
    size_t n = 0;
    pdl_buf profile = PDL_BUF;
    while (argv[n]) n++;
    const char **all = PDL_NEW_N(const char *, n + 4);
    put_profile(s, tmp, &profile);
    all[0] = SANDBOX_EXEC;
    all[1] = "-p";
    all[2] = pdl_buf_z(&profile);
    for (size_t i = 0; i <= n; i++) all[3 + i] = argv[i];
    pdl_unwrap_env();
    unsetenv(PDL_SANDBOX_AS_SHELL);
    setenv("TMPDIR", tmp, 1);
    if (s->cwd && chdir(s->cwd) != 0) return complain(s->cwd);
    limit(RLIMIT_NPROC, s->processes);
    limit(RLIMIT_FSIZE, s->file);
    execv(SANDBOX_EXEC, (char **)(void *)all);
    return complain(SANDBOX_EXEC);
}

int pdl_sandbox_confine(int argc, char **argv, bool inside) {
    sandbox_spec s = {0};
    char tmp[] = "/private/tmp/pdl-sandbox-XXXXXX";
    int status = 0;
    (void)inside;
    char **command = argc < 2 ? NULL : pdl_spec_read(argv, &s);
    if (!command) {
        errno = EINVAL;
        return complain("its instructions");
    }
    if (!mkdtemp(tmp)) return complain("a folder for temporary files");
    pid_t child = fork();
    if (child == 0) _exit(become(&s, tmp, command));
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    (void)nftw(tmp, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    if (child < 0) return complain("a process");
    return WIFSIGNALED(status) ? end_by(WTERMSIG(status)) : WEXITSTATUS(status);
}
