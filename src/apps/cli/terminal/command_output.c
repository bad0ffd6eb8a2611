/* command_output.c -- output of the commands, and reports of failed writes. Commands print by these
 * functions, so that each text is neutralised on a terminal, the line of progress is removed before
 * a message, and a reader that has closed the pipe leads to the same exit code everywhere.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/termsafe.h"
#include "cli/cli.h"
#include "cli/terminal/progress_line.h"

#include "base/banned.h"

static bool was_cut; /* a write has failed because the reader of standard output went away */

int pdl_cli_write_failed(int e) {
    was_cut = was_cut || e == EPIPE;
    if (e == EPIPE) return 141;
    pdl_cli_note("pdl: error: cannot write to standard output: %s", strerror(e));
    return 1;
}

bool pdl_cli_is_cut(const pdl_err *err) {
    struct pollfd p = {.fd = STDOUT_FILENO};
    pdl_str class = pdl_str_of(err->py_class ? err->py_class : "");
    bool is_cut = pdl_str_starts(class, PDL_STR("BrokenPipeError")) && poll(&p, 1, 0) == 1 &&
                  (p.revents & POLLERR) != 0;
    was_cut = was_cut || is_cut;
    return is_cut;
}

int pdl_cli_exit_code(int code) { return code == 1 && was_cut ? 141 : code; }

int pdl_cli_put_stdout(pdl_str text) {
    bool ok = pdl_write_termsafe(stdout, text);
    return ok && fflush(stdout) == 0 ? 0 : pdl_cli_write_failed(errno);
}

void pdl_cli_put_stderr(pdl_str text, const pdl_session *s) {
    pdl_buf shown = PDL_BUF;
    if (s)
        pdl_session_redact(s, text, &shown);
    else
        pdl_buf_put(&shown, text);
    pdl_cli_progress_clear();
    (void)pdl_write_termsafe(stderr, pdl_buf_str(&shown));
    fflush(stderr);
    pdl_buf_fini(&shown);
}

void pdl_cli_note(const char *fmt, ...) {
    pdl_buf b = PDL_BUF;
    va_list ap;
    va_start(ap, fmt);
    pdl_buf_vputf(&b, fmt, ap);
    va_end(ap);
    pdl_buf_putc(&b, '\n');
    pdl_cli_put_stderr(pdl_buf_str(&b), NULL);
    pdl_buf_fini(&b);
}

/* Returns true for "FILE:LINE - ...": the text of an error that has its place only in its words, or
 * that has several places. */
static bool begins_with_place(pdl_str text) {
    size_t dash = pdl_str_find(text, PDL_STR(" - "), 0);
    int64_t line;
    if (dash == PDL_NOT_FOUND) return false;
    size_t colon = pdl_str_rfind(pdl_str_sub(text, 0, dash), PDL_STR(":"));
    return colon != PDL_NOT_FOUND && pdl_num_read_int(pdl_str_sub(text, colon + 1, dash), &line);
}

/* Returns true when the message needs the name of the command before it. An error in a program
 * begins with its place instead. */
static bool needs_prefix(const pdl_err *err) {
    pdl_str text = pdl_str_of(err->msg);
    return !err->loc.src && !err->preformatted && !pdl_str_starts(text, PDL_STR("pdl: ")) &&
           !begins_with_place(text);
}

void pdl_cli_print_error(const pdl_err *err, const pdl_session *s) {
    pdl_buf b = PDL_BUF;
    pdl_err instead = {0};
    if (!err->loc.src && pdl_cli_is_cut(err)) return;
    if (needs_prefix(err)) PDL_PUT(&b, "pdl: error: ");
    bool hides = s && pdl_session_hides_error(s, err, &instead);
    pdl_err_print(hides ? &instead : err, true, &b);
    pdl_cli_put_stderr(pdl_buf_str(&b), s);
    pdl_buf_fini(&b);
    pdl_err_fini(&instead);
}

int pdl_cli_fail(pdl_err *err) {
    pdl_cli_print_error(err, NULL);
    int code = err->kind == PDL_E_usage ? 2 : 1;
    pdl_err_fini(err);
    return code;
}

void pdl_cli_print_load_errors(const pdl_program *p, const pdl_session *s) {
    pdl_buf b = PDL_BUF;
    if (s) pdl_session_note(s, p);
    pdl_program_errors(p, &b, true);
    pdl_cli_put_stderr(pdl_buf_str(&b), s);
    pdl_buf_fini(&b);
}
