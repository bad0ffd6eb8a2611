/* standard_input.c -- standard input: reads lines and gives them to effects in the order in which
 * the effects asked, without blocking the loop. A terminal or pipe is watched while an effect
 * waits; a regular file is read at once. Input that no effect has asked for yet is kept.
 *
 * On the terminal of a command the line can be edited (io/line_edit.h). Then keys are taken one by
 * one, and nothing is read ahead.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "host/host_impl.h"

#include <errno.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "io/file.h"
#include "io/tty.h"
#include "value/label.h"

#include "base/banned.h"

enum { CHUNK = 65536 };

static void serve(host *h);

static host_wait *first_input(host *h) {
    for (size_t i = 0; i < h->waits.n; i++)
        if (h->waits.p[i]->input) return h->waits.p[i];
    return NULL;
}

/* Reads once. Returns false when nothing can be read now. */
static bool read_more(host *h) {
    char *p = pdl_buf_room(&h->in, CHUNK);
    ssize_t n;
    do n = read(h->opt.input_fd, p, CHUNK);
    while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    if (n > 0)
        pdl_buf_grown(&h->in, (size_t)n);
    else
        h->in_end = true; /* a descriptor that cannot be read counts as empty */
    return true;
}

/* Finds the next line without its end (LF, CR LF or CR). Returns false when the line is
 * incomplete. */
static bool next_line(host *h, size_t from, pdl_str *line, size_t *next) {
    const char *p = h->in.p ? h->in.p + from : "";
    size_t n = h->in.len - from, i = h->in_seen;
    while (i < n && p[i] != '\n' && p[i] != '\r') i++;
    h->in_seen = i; /* the next search for a line end begins here */
    if (i == n && (!h->in_end || n == 0)) return false;
    /* the LF of this line end may still follow */
    if (i + 1 == n && p[i] == '\r' && !h->in_end) return false;
    *line = (pdl_str){p, i};
    *next = from + (i == n ? i : p[i] == '\r' && i + 1 < n && p[i + 1] == '\n' ? i + 2 : i + 1);
    return true;
}

/* --- lines that are edited -------------------------------------------------------------------- */

/* Starts to edit a line on the row of the cursor. The machine has printed the prompt there. */
static void edit_start(host *h) {
    const pdl_line_terminal *t = h->opt.terminal;
    bool has_part = h->in_off < h->in.len && h->in.p[h->in.len - 1] != '\n';
    if (!t || h->in_edit || h->asking || has_part) return;
    if (h->opt.input_fd != STDIN_FILENO || !pdl_tty_is(STDIN_FILENO)) return;
    pdl_buf_clear(&h->prompt);
    if (!t->row(t->user, &h->prompt)) return;
    if (!h->edit && !pdl_line_edit_is_open())
        h->edit = pdl_line_edit_new(&(pdl_line_edit_options){0});
    h->in_edit = h->edit && pdl_line_edit_start(h->edit, pdl_buf_z(&h->prompt));
}

static void edit_stop(host *h) {
    if (h->in_edit) pdl_line_edit_stop(h->edit);
    h->in_edit = false;
}

static void row_ended(const host *h, bool is_shown) {
    const pdl_line_terminal *t = h->opt.terminal;
    if (t && pdl_tty_is(h->opt.input_fd)) t->row_ended(t->user, is_shown);
}

/* Handles the keys that were pressed. The text that they make is added to the input that was read.
 */
static void edit_more(host *h) {
    pdl_buf line = PDL_BUF;
    pdl_line_result got = pdl_line_edit_take(h->edit, &line);
    h->in_edit = got == PDL_LINE_MORE;
    if (got == PDL_LINE_READ) {
        row_ended(h, true);
        pdl_buf_put(&h->in, pdl_buf_str(&line));
        pdl_buf_putc(&h->in, '\n');
    } else if (got == PDL_LINE_END) {
        h->in_end = true;
    }
    pdl_buf_fini(&line);
}

void pdl_host_input_idle(host *h) {
    if (first_input(h) || !h->watch) return;
    edit_stop(h);
    pdl_watch_stop(h->watch);
    h->watch = NULL;
}

/* --- serving the effects ---------------------------------------------------------------------- */

static void compact(host *h) {
    if (h->in_off < h->in.len && h->in_off < CHUNK) return;
    pdl_buf_shift(&h->in, h->in_off);
    h->in_off = 0;
}

static void answer(host_wait *s, pdl_val v) {
    pdl_effect *e = s->e;
    pdl_host_wait_end(s);
    pdl_effect_answer(e, v, 0);
}

static pdl_val valid_text(pdl_str bytes) {
    if (pdl_utf8_check(bytes) == PDL_NOT_FOUND) return pdl_text(bytes);
    pdl_buf b = PDL_BUF;
    pdl_utf8_repair(&b, bytes);
    return pdl_text_of_buf(&b);
}

/* Answers with all remaining lines, each with a newline. */
static void serve_all(host *h, host_wait *s) {
    pdl_buf_put(&s->text, pdl_str_sub(pdl_buf_str(&h->in), h->in_off, h->in.len));
    h->in_off = h->in.len;
    h->in_seen = 0;
    pdl_host_newlines(&s->text);
    if (s->text.len && s->text.p[s->text.len - 1] != '\n') pdl_buf_putc(&s->text, '\n');
    answer(s, valid_text(pdl_buf_str(&s->text)));
}

/* Returns true when the input that was not delivered yet has reached the limit of one answer.
 * refuse() then drops this input: a later effect gets the text after it. */
static bool is_too_long(const host *h) {
    return h->in.len - h->in_off >= pdl_file_most_of(h->opt.input_fd, PDL_MAX_TEXT);
}

static void refuse(host *h, host_wait *s) {
    pdl_err err = {0};
    pdl_err_set(&err, PDL_E_limit, (pdl_loc){0}, "the input is longer than %zu bytes%s",
                h->in.len - h->in_off, s->multiline ? "" : " without the end of a line");
    pdl_effect *e = s->e;
    pdl_host_wait_end(s);
    pdl_buf_clear(&h->in);
    h->in_off = h->in_seen = 0;
    pdl_effect_refuse(e, &err);
}

/* Serves the first effect in the queue from the input that was read. Returns false when more must
 * be read. */
static bool serve_one(host *h, host_wait *s) {
    pdl_str line;
    size_t next;
    if (!s->shown) {
        s->shown = true;
        if (h->opt.terminal) h->opt.terminal->flush(h->opt.terminal->user);
    }
    bool is_line = !s->multiline && next_line(h, h->in_off, &line, &next);
    if (is_line) {
        h->in_off = next;
        h->in_seen = 0;
        answer(s, valid_text(line));
    } else if (is_too_long(h)) {
        refuse(h, s);
    } else if (!h->in_end) {
        return false;
    } else if (s->multiline) {
        serve_all(h, s);
    } else {
        answer(s, pdl_null());
    }
    compact(h);
    /* on a terminal, Ctrl-D ends only one read */
    if (h->in_end && h->in_off == h->in.len && isatty(h->opt.input_fd)) h->in_end = false;
    return true;
}

static void on_readable(void *user, int events) {
    host *h = user;
    (void)events;
    if (h->in_edit)
        edit_more(h);
    else if (read_more(h) && h->in.len && h->in.p[h->in.len - 1] == '\n')
        row_ended(h, true);
    serve(h);
}

/* Serves the queue. An answer may lead to further questions: they join the queue, and this loop
 * serves them, too. */
static void serve(host *h) {
    if (h->in_serving || h->asking) return;
    h->in_serving = true;
    for (host_wait *s; (s = first_input(h));) {
        if (serve_one(h, s)) continue;
        edit_start(h);
        if (!h->watch)
            h->watch = pdl_watch_start(h->loop, h->opt.input_fd, PDL_WATCH_READ, on_readable, h);
        if (h->watch) break;
        if (!read_more(h)) h->in_end = true; /* a file is always ready */
    }
    h->in_serving = false;
    pdl_host_input_idle(h);
}

void pdl_host_input_start(host *h, pdl_effect *e) {
    if (!h->in.limit) h->in = h->prompt = PDL_BUF;
    host_wait *s = pdl_host_wait_new(h, e);
    s->input = true;
    s->multiline = pdl_host_flag(e, "multiline");
    s->text = PDL_BUF;
    serve(h);
}

bool pdl_host_answer_input(pdl_world *w, uint32_t id, pdl_str text) {
    host *h = (host *)(void *)w;
    host_wait *s = NULL;
    for (size_t i = 0; i < h->waits.n && !s; i++)
        if (h->waits.p[i]->input && h->waits.p[i]->e->id == id) s = h->waits.p[i];
    if (!s) return false;
    pdl_buf b = PDL_BUF;
    pdl_buf_put(&b, text);
    pdl_host_newlines(&b);
    if (s->multiline && b.len && b.p[b.len - 1] != '\n') pdl_buf_putc(&b, '\n');
    size_t end = pdl_str_find(pdl_buf_str(&b), PDL_STR("\n"), 0);
    if (!s->multiline && end != PDL_NOT_FOUND) pdl_buf_cut(&b, end);
    edit_stop(h);
    if (s->shown) row_ended(h, false);
    answer(s, valid_text(pdl_buf_str(&b)));
    pdl_buf_fini(&b);
    pdl_host_input_idle(h);
    return true;
}

void pdl_host_input_pause(host *h) {
    edit_stop(h);
    if (h->watch) pdl_watch_stop(h->watch);
    h->watch = NULL;
}

void pdl_host_input_resume(host *h) {
    if (first_input(h)) serve(h);
}

void pdl_host_input_close(host *h) {
    edit_stop(h);
    pdl_line_edit_free(h->edit);
    pdl_watch_stop(h->watch);
    pdl_buf_fini(&h->prompt);
    pdl_buf_fini(&h->in);
}
