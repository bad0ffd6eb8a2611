/* run_output.c -- writes the output of a run; see run_output.h. stdio buffers the output. It is
 * flushed when a model's text arrives, when the program waits for an answer, and at the end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/run_output.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"
#include "base/termsafe.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/terminal/progress_line.h"

#include "base/banned.h"

enum { MAX_ROW = 1024 };

void pdl_cli_term_init(term *t, const pdl_tty_env *env) {
    *t = (term){.color = pdl_tty_color(1, env),
                .color_err = pdl_tty_color(2, env),
                .tty = pdl_tty_is(1),
                .row = PDL_BUF};
    struct stat st;
    t->may_block = fstat(STDOUT_FILENO, &st) == 0 && !S_ISREG(st.st_mode);
}

void pdl_cli_term_fini(term *t) {
    pdl_buf_fini(&t->held);
    pdl_buf_fini(&t->row);
}

static void check(term *t, bool ok) {
    if (ok || t->broken || t->error || t->interrupted) return;
    if (errno == EINTR) {
        t->interrupted = true;
        return;
    }
    if (errno == EPIPE)
        t->broken = true;
    else
        t->error = errno;
    if (t->on_broken) t->on_broken(t->user);
}

/* The size of the parts in which text is written. A part is half a page: stdio writes at most one
 * page at a time, which a ready descriptor accepts without blocking. */
enum { PART = 2048 };

/* Before n bytes are written, waits until the reader of standard output accepts more, or until a
 * signal arrives. */
static bool is_ready(term *t, size_t n) {
    enum { LOOK_MS = 20 };
    struct pollfd p = {STDOUT_FILENO, POLLOUT, 0};
    if (!t->may_block || (!t->tty && pdl_os_pending(stdout) + n < pdl_os_buffer_size(stdout)))
        return true; /* the bytes stay in the buffer */
    while (poll(&p, 1, LOOK_MS) <= 0) {
        if (!*pdl_cli_signal_received()) continue;
        t->interrupted = true;
        pdl_os_purge(stdout); /* otherwise exit() would wait for the reader */
        return false;
    }
    return true;
}

/* Returns the text without the beginning that earlier processes have already written. */
static pdl_str without_old(term *t, pdl_str text) {
    size_t n = t->skip < text.n ? (size_t)t->skip : text.n;
    t->skip -= n;
    t->written += n;
    return pdl_str_sub(text, n, text.n);
}

/* Keeps the text to the left of the cursor, up to MAX_ROW bytes. */
static void keep_row(term *t, pdl_str text) {
    size_t end = text.n;
    while (end && text.p[end - 1] != '\n') end--;
    if (end) pdl_buf_clear(&t->row);
    pdl_str rest = pdl_str_sub(text, end, text.n);
    pdl_buf_put(&t->row, pdl_str_sub(rest, 0, MAX_ROW - t->row.len));
}

/* Returns the text without colour codes at its end, which do not move the cursor. Held output
 * contains such codes. */
static pdl_str without_colors(pdl_str text) {
    while (text.n && text.p[text.n - 1] == 'm') {
        size_t from = text.n - 1;
        while (from && pdl_byte_in(text.p[from - 1], PDL_STR("0123456789;"))) from--;
        if (from < 2 || text.p[from - 1] != '[' || text.p[from - 2] != '\033') break;
        text.n = from - 2;
    }
    return text;
}

void pdl_cli_term_put(term *t, pdl_str text) {
    if (t->holds && !t->writing) {
        pdl_buf_put(&t->held, without_old(t, text));
        return;
    }
    if (t->tty && text.n) {
        pdl_cli_progress_clear();
        pdl_str visible = without_colors(text);
        if (visible.n) t->inside_line = visible.p[visible.n - 1] != '\n';
        keep_row(t, text);
    }
    while (text.n && !t->broken && !t->error && !t->interrupted) {
        pdl_str part = t->may_block ? pdl_str_sub(text, 0, PART) : text;
        if (!is_ready(t, part.n)) return;
        check(t, fwrite(part.p, 1, part.n, stdout) == part.n);
        text = pdl_str_sub(text, part.n, text.n);
    }
}

bool pdl_cli_term_has_held(void *user) {
    const term *t = user;
    return t->held.len > 0;
}

uint64_t pdl_cli_term_write(void *user) {
    term *t = user;
    pdl_buf all = t->held;
    t->held = PDL_BUF;
    t->writing = true;
    pdl_cli_term_put(t, pdl_buf_str(&all));
    pdl_cli_term_flush(t);
    t->writing = false;
    if (!t->broken && !t->error && !t->interrupted) t->written += all.len;
    pdl_buf_fini(&all);
    return t->written;
}

static void release(term *t) {
    if (t->holds && t->held.len) t->release(t->release_user);
}

bool pdl_cli_term_is_inside_line(const term *t) { return t->inside_line; }

static bool errors_are_on_it(const term *t) {
    struct stat out, err;
    return t->tty && pdl_tty_is(STDERR_FILENO) && fstat(STDOUT_FILENO, &out) == 0 &&
           fstat(STDERR_FILENO, &err) == 0 && out.st_rdev == err.st_rdev;
}

void pdl_cli_term_end_line(term *t) {
    if (!t->inside_line || t->broken || t->error || !errors_are_on_it(t)) return;
    pdl_cli_put_stderr(PDL_STR("\n"), NULL);
    t->inside_line = false;
    pdl_buf_clear(&t->row);
}

void pdl_cli_term_flush(term *t) {
    if (t->holds && !t->writing) return;
    if (!pdl_os_pending(stdout)) return; /* most turns of a run print nothing */
    if (t->broken || t->error || t->interrupted || !is_ready(t, SIZE_MAX / 2)) return;
    check(t, fflush(stdout) == 0);
}

static const char *color_of(pdl_look look) {
    switch (look) {
    case PDL_LOOK_MODEL: return "\033[32m";
    case PDL_LOOK_CODE: return "\033[35m";
    case PDL_LOOK_PLAIN: return "";
    }
    PDL_BUG("look %d", (int)look);
}

/* Writes untrusted text with its control characters neutralised. */
static void put_untrusted(term *t, pdl_str s) {
    if (!t->tty) {
        pdl_cli_term_put(t, s);
        return;
    }
    pdl_buf b = PDL_BUF;
    pdl_buf_put_shown(&b, s);
    pdl_cli_term_put(t, pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

void pdl_cli_term_show(term *t, pdl_str text, bool untrusted) {
    if (untrusted)
        put_untrusted(t, text);
    else
        pdl_cli_term_put(t, text);
}

static void put_colored(term *t, pdl_str text, const char *color, bool untrusted) {
    bool on = t->color && *color;
    if (on) pdl_cli_term_put(t, pdl_str_of(color));
    pdl_cli_term_show(t, text, untrusted);
    bool inside_line = t->inside_line;
    if (on) pdl_cli_term_put(t, PDL_STR("\033[0m"));
    t->inside_line = inside_line;
}

static const char *role_color(pdl_str role) {
    if (pdl_str_is(role, "assistant")) return "\033[32m";
    if (pdl_str_is(role, "system")) return "\033[36m";
    if (pdl_str_is(role, "available_tools")) return "\033[35m";
    return "";
}

static void put_message(term *t, const pdl_event *e) {
    pdl_str role = e->role.n ? e->role : PDL_STR("assistant");
    pdl_cli_term_put(t, PDL_STR("\n"));
    put_colored(t, role, "\033[34m", true);
    pdl_cli_term_put(t, PDL_STR(": "));
    put_colored(t, e->text, role_color(role), true);
}

static void put_error(term *t, pdl_str text, bool untrusted) {
    release(t);
    pdl_cli_progress_clear();
    pdl_cli_term_flush(t); /* earlier output is written first */
    errno = 0;
    bool ok =
        untrusted ? pdl_write_termsafe(stderr, text) : fwrite(text.p, 1, text.n, stderr) == text.n;
    ok = fflush(stderr) == 0 && ok;
    if (!ok && errno == EINTR) t->interrupted = true;
}

/* Prints a failure that does not end the run, in red and on its own lines. */
static void put_note(term *t, const pdl_event *e) {
    pdl_str s = e->text;
    if (!t->color_err || !e->err) {
        put_error(t, s, true);
        return;
    }
    size_t start = 0, end = s.n;
    while (start < end && s.p[start] == '\n') start++;
    while (end > start && s.p[end - 1] == '\n') end--;
    put_error(t, pdl_str_sub(s, 0, start), true);
    put_error(t, PDL_STR("\033[0;31m"), false);
    put_error(t, pdl_str_sub(s, start, end), true);
    put_error(t, PDL_STR("\033[0m"), false);
    put_error(t, pdl_str_sub(s, end, s.n), true);
}

static void on_event(void *user, const pdl_event *e) {
    term *t = user;
    switch (e->kind) {
    case PDL_EVENT_text:
        put_colored(t, e->text, color_of(e->look), e->untrusted);
        if (e->look == PDL_LOOK_MODEL && t->provisional) release(t);
        if (e->look == PDL_LOOK_MODEL) pdl_cli_term_flush(t);
        return;
    case PDL_EVENT_message: put_message(t, e); return;
    case PDL_EVENT_out:
        if (e->number == 2)
            put_error(t, e->text, e->untrusted);
        else
            pdl_cli_term_show(t, e->text, e->untrusted);
        if (e->number == 1) pdl_cli_term_flush(t);
        return;
    case PDL_EVENT_note: put_note(t, e); return;
    case PDL_EVENT_effect: pdl_cli_term_flush(t); return;
    case PDL_EVENT_run_begin:
    case PDL_EVENT_run_end:
    case PDL_EVENT_block_begin:
    case PDL_EVENT_block_end:
    case PDL_EVENT_block_fail:
    case PDL_EVENT_field:
    case PDL_EVENT_attempt:
    case PDL_EVENT_piece:
    case PDL_EVENT_extra:
    case PDL_EVENT_reply:
    case PDL_EVENT_usage:
    case PDL_EVENT_decision:
    case PDL_EVENT_COUNT: return;
    }
}

pdl_sink pdl_cli_term_sink(term *t) { return (pdl_sink){t, on_event, false}; }

/* --- reading lines ---------------------------------------------------------------------------- */

static void flush(void *user) { pdl_cli_term_flush(user); }

/* Appends the present row without colours, since the line editor draws it again. Returns false when
 * the row is not completely known or does not fit. */
static bool row(void *user, pdl_buf *out) {
    const term *t = user;
    pdl_str s = pdl_buf_str(&t->row);
    size_t n_before = out->len;
    const char *kind = getenv("TERM");
    /* this terminal cannot move the cursor */
    if (!kind || !*kind || strcmp(kind, "dumb") == 0) return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\033') {
            while (i < s.n && s.p[i] != 'm') i++;
            continue;
        }
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7F) return false;
        pdl_buf_putc(out, s.p[i]);
    }
    size_t n = pdl_utf8_count(pdl_str_sub(pdl_buf_str(out), n_before, out->len));
    return s.n < MAX_ROW && n < (size_t)pdl_tty_width(STDOUT_FILENO, getenv("COLUMNS"));
}

static void row_ended(void *user, bool is_shown) {
    term *t = user;
    if (!is_shown) pdl_cli_term_put(t, PDL_STR("\n"));
    if (!is_shown) pdl_cli_term_flush(t);
    t->inside_line = false;
    pdl_buf_clear(&t->row);
}

pdl_line_terminal pdl_cli_term_lines(term *t) {
    return (pdl_line_terminal){t, flush, row, row_ended};
}

void pdl_cli_term_errors(void *user, pdl_str bytes) {
    pdl_buf text = PDL_BUF;
    pdl_utf8_repair(&text, bytes);
    put_error(user, pdl_buf_str(&text), true);
    pdl_buf_fini(&text);
}
