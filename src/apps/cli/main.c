/* main.c -- the command `pdl`: finds the command word, and runs the command. Before that, it puts
 * the process into a known state: descriptors, signals, and the pool of memory. It also accepts the
 * names of the reference's commands.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/debug.h"
#include "base/os.h"
#include "base/pool.h"
#include "base/utf8.h"
#include "base/version.h"
#include "cli/cli.h"
#include "cli/pack.h"
#include "io/http.h"
#include "io/loop.h"
#include "sandbox/sandbox.h"
#include "value/int.h"

#include "base/banned.h"

static int show_help(const command *c) {
    pdl_buf b = PDL_BUF;
    pdl_cli_help_write(c, &b);
    if (pdl_pack_is_packed())
        PDL_PUT(&b, "\nThis command has its program inside and takes no FILE. With --serve or "
                    "--mcp as\nits first argument it serves the program, as pdl serve does.\n");
    int code = pdl_cli_put_stdout(pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return code;
}

int pdl_cli_cmd_version(const arguments *a) {
    (void)a;
    return pdl_cli_put_stdout(PDL_STR("PDL " PDL_VERSION "\n"));
}

/* Returns true when a name may be a word of the language, such as retry or bool_confidence. */
static bool is_word(pdl_str name) {
    for (size_t i = 0; i < name.n; i++)
        if (!pdl_cp_is_alnum((unsigned char)name.p[i]) && name.p[i] != '_' && name.p[i] != '-')
            return false;
    return name.n > 0 && name.p[0] != '-';
}

int pdl_cli_cmd_help(const arguments *a) {
    size_t n;
    const command *all = pdl_cli_commands(&n);
    if (a->command->run != pdl_cli_cmd_help || !a->files.n) return show_help(&all[0]);
    for (size_t i = 0; i < n; i++)
        if (pdl_str_is(a->files.p[0], all[i].name)) return show_help(&all[i]);
    pdl_buf b = PDL_BUF;
    int shown;
    if (pdl_cli_help_name(a->files.p[0], &b)) {
        shown = pdl_cli_put_stdout(pdl_buf_str(&b));
        pdl_buf_fini(&b);
        return shown;
    }
    if (is_word(a->files.p[0]) && pdl_cli_docs_show(a->files.p[0], &shown)) {
        pdl_buf_fini(&b);
        return shown;
    }
    if (pdl_str_find(a->files.p[0], PDL_STR(" "), 0) != PDL_NOT_FOUND) {
        pdl_buf_fini(&b);
        return pdl_cli_docs_nearest(a->files.p[0]);
    }
    pdl_buf_putf(&b, "no command, rule, option or message is called %.*s; ",
                 PDL_FMT(pdl_cli_visible(a->files.p[0])));
    pdl_str near = pdl_cli_help_nearest(a->files.p[0]);
    if (near.p)
        pdl_buf_putf(&b, "did you mean %s%.*s?",
                     pdl_str_starts(a->files.p[0], PDL_STR("-")) ? "--" : "", PDL_FMT(near));
    else
        PDL_PUT(&b, "pdl docs WORD searches the manual");
    int code = pdl_cli_refuse(a, pdl_buf_z(&b));
    pdl_buf_fini(&b);
    return code;
}

static int wrong_usage(const arguments *a, char *message) {
    int code = pdl_cli_refuse(a, message);
    pdl_free(message);
    return code;
}

/* Opens the standard descriptors that are closed, because other files would get their numbers. The
 * replacement cannot be written to, so output to it fails with an error. */
static void hold_descriptors(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd) _exit(1);
}

/* Undoes what a parent may have passed on: with blocked signals no run could be ended, and the
 * children of a process that ignores SIGCHLD leave no exit status. An ignored SIGHUP or SIGINT is
 * intended, as by nohup. */
static void begin_signals(void) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGCHLD, SIG_DFL);
    pdl_signals_end_children();
    /* when the reader of a pipe has closed it, the write fails with an error */
    signal(SIGPIPE, SIG_IGN);
    /* when a file reaches its size limit, the write fails with an error, too */
    signal(SIGXFSZ, SIG_IGN);
}

/* Returns true when the help is requested. pdl-infer also shows it when no program is given, as the
 * reference's command does. */
static bool wants_help(const arguments *a) {
    bool infers = a->is_reference && a->command->run == pdl_cli_cmd_infer;
    return a->given[OPT_help] || (infers && !a->files.n && !a->given[OPT_version]);
}

static int run_command(const arguments *a) {
    char why[PDL_DEBUG_WHY];
    if (!pdl_debug_init_process(getenv("PDL_STRESS"), why)) return pdl_cli_refuse(a, why);
    return a->command->run(a);
}

/* When the command was called as pdl-optimize, the name of the reference's command, returns the
 * arguments of `pdl optimize ...` in an array that the caller owns. Otherwise returns argv. */
static char **named_arguments(int *argc, char **argv, bool *renamed) {
    static char word[] = "optimize";
    const char *slash = argv[0] ? strrchr(argv[0], '/') : NULL, *name = slash ? slash + 1 : argv[0];
    *renamed = name && strcmp(name, "pdl-optimize") == 0;
    if (!*renamed) return argv;
    char **more = PDL_NEW_N(char *, (size_t)*argc + 2);
    more[0] = argv[0];
    more[1] = word;
    for (int i = 1; i < *argc; i++) more[i + 1] = argv[i];
    ++*argc;
    return more;
}

int main(int argc, char **argv) {
    arguments a;
    bool renamed;
    const char *word;
    char *message = NULL;
    hold_descriptors();
    begin_signals();
    pdl_os_keep_large_blocks();
    pdl_int_use_alloc();
    pdl_loop_use_alloc();
    pdl_http_use_alloc();
    pdl_pool_enter(pdl_pool_new()); /* the pool is used until the process ends */
    if (argc > 3 && strcmp(argv[1], "__confine") == 0)
        return pdl_sandbox_confine(argc - 2, argv + 2, false);
    if (argc > 3 && strcmp(argv[1], "__confined") == 0)
        return pdl_sandbox_confine(argc - 2, argv + 2, true);
    int bad_pack = pdl_pack_begin(&argc, &argv);
    if (bad_pack) return bad_pack;
    argv = named_arguments(&argc, argv, &renamed);
    bool ok = pdl_cli_arguments_read(argc, argv, &a, &word, &message) &&
              pdl_cli_find_program(&a, word, &message) && pdl_cli_finds_files(&a, &message) &&
              pdl_cli_spares_files(&a, &message);
    a.is_reference = a.is_reference || renamed;
    int code = !ok              ? wrong_usage(&a, message)
               : wants_help(&a) ? show_help(a.command)
                                : run_command(&a);
    pdl_cli_arguments_fini(&a);
    if (renamed) pdl_free(argv);
    return pdl_cli_exit_code(code);
}
