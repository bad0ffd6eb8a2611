/* command_environment.c -- passes the environment of the command through the helper.
 *
 * The helper and bubblewrap run with all rights until the command begins, and the dynamic loader
 * obeys variables (LD_PRELOAD, LD_LIBRARY_PATH, LD_AUDIT) before main. With such a variable, the
 * configuration of a tool server could load a library outside the sandbox. A list of dangerous
 * names would never be complete, and passing the variables as arguments would show them to every
 * user of the machine. So each variable is passed with a mark before its name, and neither the
 * loader nor bubblewrap knows the marked name. Variables without the mark (TMPDIR, proxies) are
 * meant for the helper, and take precedence.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "sandbox/sandbox_impl.h"

#include "base/banned.h"

extern char **environ;

static const char mark = '@';

const char **pdl_sandbox_wrap_env(const char *const *env) {
    size_t n = 0, bytes = 0;
    for (; env[n]; n++) bytes += strlen(env[n]) + 2;
    const char **all = PDL_NEW_N(const char *, n + 1 + bytes / sizeof *all + 1);
    char *at = (char *)(void *)(all + n + 1); /* the texts are stored after the array */
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(env[i]) + 1;
        all[i] = at;
        *at++ = mark;
        memcpy(at, env[i], len);
        at += len;
    }
    all[n] = NULL;
    return all;
}

/* Restores the marked variables. setenv moves environ, so the variables are collected first. */
void pdl_unwrap_env(void) {
    PDL_VEC(char *) marked = {0};
    size_t kept = 0;
    for (char **e = environ; *e; e++) {
        if (**e == mark)
            *pdl_vec_push(&marked) = *e + 1;
        else
            environ[kept++] = *e;
    }
    environ[kept] = NULL;
    for (size_t i = 0; i < marked.n; i++) {
        size_t n = strcspn(marked.p[i], "=");
        char *name = pdl_str_dup((pdl_str){marked.p[i], n});
        if (marked.p[i][n]) setenv(name, marked.p[i] + n + 1, 0);
        pdl_free(name);
    }
    pdl_vec_fini(&marked);
}
