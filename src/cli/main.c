/* main.c -- the command `pdl`: finds the command word, runs it. */
#include <stdio.h>

#include "base/debug.h"
#include "cli/options.h"

#include "base/banned.h"

static void put(FILE *f, const pdl_buf *b) { fwrite(pdl_buf_z(b), 1, b->len, f); }

int cmd_help(const arguments *a) {
    size_t n;
    const command *all = commands(&n);
    const command *c = &all[0];
    for (size_t i = 0; a->files.n && i < n; i++)
        if (pdl_str_is(a->files.p[0], all[i].name)) c = &all[i];
    pdl_buf b = PDL_BUF;
    help_write(c, &b);
    put(stdout, &b);
    pdl_buf_fini(&b);
    return 0;
}

static int wrong_usage(const arguments *a, char *message) {
    pdl_buf b = PDL_BUF;
    usage_write(a->command, &b);
    pdl_buf_putf(&b, "pdl: error: %s\n", message);
    put(stderr, &b);
    pdl_buf_fini(&b);
    pdl_free(message);
    return 2;
}

static int show_help(const arguments *a) {
    pdl_buf b = PDL_BUF;
    help_write(a->command, &b);
    put(stdout, &b);
    pdl_buf_fini(&b);
    return 0;
}

int main(int argc, char **argv) {
    arguments a;
    char *message = NULL;
    bool ok = arguments_read(argc, argv, &a, &message);
    int code = !ok ? wrong_usage(&a, message) : a.given[OPT_help] ? show_help(&a) : a.command->run(&a);
    arguments_fini(&a);
    return code;
}
