/* cmd_fmt.c -- pdl fmt [FILE]...: rewrites programs in the standard layout. With --check or --diff,
 * files stay unchanged and differences are printed. A file is replaced as a whole, so a failure
 * cannot leave a part of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>

#include "cli/cli.h"
#include "fmt/diff.h"
#include "fmt/fmt.h"
#include "io/file.h"
#include "lang/load.h"

#include "base/banned.h"

typedef struct formatter {
    const arguments *a;
    pdl_session *session; /* the session is used for messages */
    pdl_format_options options;
    size_t changed, failed;
    int code; /* exit code after a failed write */
} formatter;

static void put_changed(formatter *f, pdl_str file, pdl_str before, pdl_str after) {
    pdl_buf out = PDL_BUF;
    f->changed++;
    if (f->a->given[OPT_diff])
        pdl_diff(file, before, after, &out);
    else
        pdl_buf_putf(&out, "%.*s\n", PDL_FMT(file));
    if (!f->code) f->code = pdl_cli_put_stdout(pdl_buf_str(&out));
    pdl_buf_fini(&out);
}

/* Shows the formatted text, compares it, or writes it to the file. */
static bool deliver(formatter *f, pdl_str file, pdl_str before, pdl_str after, pdl_err *err) {
    bool same = pdl_str_eq(before, after), ok = true;
    bool looks = f->a->given[OPT_fmt_check] || f->a->given[OPT_diff];
    if (looks && !same) put_changed(f, file, before, after);
    if (looks) return true;
    if (pdl_str_is(file, "-")) {
        if (!f->code) f->code = pdl_cli_put_stdout(after);
    } else if (!same) {
        char *path = pdl_str_dup(file);
        ok = pdl_file_write(path, after, PDL_FILE_ATOMIC, err);
        pdl_free(path);
    }
    return ok;
}

/* Prints an error. A key in the program may be in the excerpt of the error, so keys are
 * redacted. */
static void print_error(const formatter *f, pdl_str file, pdl_str text, const pdl_err *err) {
    bool ok;
    pdl_program *p = pdl_program_new();
    pdl_program_load(p, file, text, &ok);
    pdl_session_note(f->session, p);
    pdl_cli_print_error(err, f->session);
    pdl_program_drop(p);
}

static void format_file(formatter *f, pdl_str file) {
    pdl_buf text = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE), out = PDL_BUF;
    pdl_arena *a = pdl_arena_make();
    pdl_err err = {0};
    f->options.name = file;
    bool ok = pdl_cli_read_program(file, &text, &err) &&
              pdl_format(a, pdl_buf_str(&text), &f->options, &out, &err) &&
              deliver(f, file, pdl_buf_str(&text), pdl_buf_str(&out), &err);
    if (!ok) {
        f->failed++;
        print_error(f, file, pdl_buf_str(&text), &err);
    }
    pdl_err_fini(&err);
    pdl_arena_free(a);
    pdl_buf_fini(&out);
    pdl_buf_fini(&text);
}

/* Reads a range of lines: "A:B", "A" or "A:". */
static bool read_lines(pdl_str s, pdl_format_options *o) {
    uint64_t n[2] = {0, 0};
    size_t i = 0, part = 0, digits = 0;
    for (; i < s.n; i++) {
        if (s.p[i] == ':' && !part && digits) {
            part = 1;
            digits = 0;
        } else if (s.p[i] >= '0' && s.p[i] <= '9' && n[part] < UINT32_MAX / 10) {
            n[part] = n[part] * 10 + (uint64_t)(s.p[i] - '0');
            digits++;
        } else {
            return false;
        }
    }
    if (!part) n[1] = n[0];
    if (part && !digits) n[1] = UINT32_MAX;
    o->first_line = (uint32_t)n[0];
    o->last_line = (uint32_t)n[1];
    return n[0] && n[1] >= n[0];
}

static int format_files(formatter *f) {
    static const pdl_str stdin_name = {"-", 1};
    pdl_err err = {0};
    size_t n = f->a->files.n ? f->a->files.n : 1;
    const pdl_str *files = f->a->files.n ? f->a->files.p : &stdin_name;
    pdl_session_options text = {.program.file = files[0], .run.purpose = PDL_FOR_TEXT};
    if (!pdl_session_new(&text, &f->session, &err)) {
        pdl_cli_print_error(&err, NULL);
        pdl_err_fini(&err);
        return 1;
    }
    for (size_t i = 0; i < n && !f->code; i++) format_file(f, files[i]);
    pdl_session_free(f->session);
    if (f->code) return f->code;
    return f->failed || (f->changed && f->a->given[OPT_fmt_check]) ? 1 : 0;
}

int pdl_cli_cmd_fmt(const arguments *a) {
    formatter f = {.a = a, .options = {.sort = a->given[OPT_sort]}};
    if (a->given[OPT_lines] && !read_lines(a->value[OPT_lines], &f.options))
        return pdl_cli_refuse(a, "argument --lines: expected A:B, lines from 1");
    if (a->given[OPT_lines] && a->given[OPT_sort])
        return pdl_cli_refuse(a, "--sort moves entries: it goes without --lines");
    if (a->given[OPT_lines] && a->files.n > 1) return pdl_cli_refuse(a, "--lines is for one FILE");
    return format_files(&f);
}
