/* progress_line.c -- draws one line of progress; see progress_line.h.
 *
 * The line is written to standard error, and has a row of the terminal for itself. It is drawn only
 * while the cursor is at the beginning of a row. Every function that writes to the terminal removes
 * the line first. So it never mixes with output, and nothing of it remains. The run is stepped with
 * a limit of time, because a call that takes a minute sends no event that could redraw the line.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/terminal/progress_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/pace.h"
#include "base/termsafe.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "io/clock.h"
#include "io/file.h"

#include "base/banned.h"

enum { REDRAW_MS = 200, NS_PER_MS = 1000000, AFTER_MS = 1000 };

static bool on_screen; /* not a member, because the process has one terminal */

void pdl_cli_progress_clear(void) {
    if (!on_screen) return;
    on_screen = false;
    fputs("\r\033[K", stderr);
    fflush(stderr);
}

static void clear(void *user) {
    (void)user;
    pdl_cli_progress_clear();
}

/* Returns true when the terminal can remove a line again. */
static bool can_draw(void) {
    const char *kind = getenv("TERM");
    return pdl_tty_is(STDERR_FILENO) && kind && *kind && strcmp(kind, "dumb") != 0;
}

static void redact(const progress *p, pdl_str text, pdl_buf *out) {
    if (*p->session)
        pdl_session_redact(*p->session, text, out);
    else
        pdl_buf_put(out, text);
}

/* Returns the first n characters of a text. */
static pdl_str cut(pdl_str s, size_t n) {
    size_t end = 0;
    while (n-- && end < s.n) end += pdl_utf8_len((unsigned char)s.p[end]);
    return pdl_str_sub(s, 0, end);
}

static void put_line(const progress *p, uint64_t now_ns, pdl_buf *out) {
    pdl_buf line = PDL_BUF, shown = PDL_BUF;
    pdl_buf_putf(&line, "pdl: %llu s", (unsigned long long)((now_ns - p->start_ns) / 1000000000));
    size_t before = line.len;
    PDL_PUT(&line, ", ");
    pdl_progress_numbers(&p->numbers, &line);
    if (line.len == before + 2) line.len = before;
    if (p->numbers.open) pdl_buf_putf(&line, "; %s", pdl_buf_z(&p->numbers.latest));
    pdl_buf hidden = PDL_BUF;
    redact(p, pdl_buf_str(&line), &hidden);
    pdl_buf_put_shown(&shown, pdl_buf_str(&hidden));
    int width = pdl_tty_width(STDERR_FILENO, getenv("COLUMNS"));
    pdl_buf_put(out, cut(pdl_buf_str(&shown), width > 1 ? (size_t)width - 1 : 0));
    pdl_buf_fini(&hidden);
    pdl_buf_fini(&shown);
    pdl_buf_fini(&line);
}

static void draw(progress *p) {
    uint64_t now = pdl_clock_ns();
    /* the program or a policy is asking the user something */
    bool is_asked = p->numbers.asking || pdl_tty_is_asked();
    bool is_free = !is_asked && !pdl_cli_term_is_inside_line(p->term);
    if (!p->has_line || !is_free || now - p->start_ns < p->delay_ns) return;
    pdl_buf line = PDL_BUF;
    put_line(p, now, &line);
    if (!on_screen || !pdl_str_eq(pdl_buf_str(&line), pdl_buf_str(&p->drawn))) {
        fprintf(stderr, "\r\033[K%s", pdl_buf_z(&line));
        fflush(stderr);
    }
    on_screen = true;
    pdl_buf_fini(&p->drawn);
    p->drawn = line;
}

static void report_step(const progress *p, const pdl_event *e) {
    pdl_buf line = PDL_BUF;
    if (pdl_tty_is_asked()) pdl_buf_putc(&line, '\n'); /* the cursor is right after the question */
    PDL_PUT(&line, "pdl: ");
    /* a user would take a line number of the library for one of the program */
    pdl_loc loc = e->effect->loc;
    if (loc.src && p->program.n && !pdl_str_eq(loc.src->name, p->program))
        pdl_buf_putf(&line, "%.*s ", PDL_FMT(pdl_file_name(loc.src->name)));
    pdl_progress_describe_end(&p->numbers, e, &line);
    bool sent = p->prefix && e->effect->kind == PDL_EFFECT_model && !e->err;
    int share = sent ? pdl_prefix_share(p->prefix, e->effect->id) : -1;
    if (share >= 0) pdl_buf_putf(&line, ", prefix %d %%", share);
    pdl_buf_putc(&line, '\n');
    pdl_cli_put_stderr(pdl_buf_str(&line), *p->session);
    pdl_buf_fini(&line);
}

static void on_event(void *user, const pdl_event *e) {
    progress *p = user;
    bool is_end = pdl_progress_take(&p->numbers, e);
    if (p->numbers.asking) pdl_cli_progress_clear();
    p->next.event(p->next.user, e);
    if (is_end && p->has_steps) report_step(p, e);
}

static pdl_val shown(void *user, pdl_vref v) {
    const pdl_session *s = *((const progress *)user)->session;
    return s ? pdl_session_shown(s, v) : pdl_keep(v);
}

pdl_sink pdl_cli_progress_init(progress *p, const arguments *a, const term *t,
                               pdl_session *const *session, pdl_sink next) {
    pdl_str how = a->given[OPT_progress] ? a->value[OPT_progress] : PDL_STR("auto");
    *p = (progress){.next = next, .session = session, .term = t, .drawn = PDL_BUF};
    pdl_progress_init(&p->numbers);
    p->numbers.shown = shown;
    p->numbers.shown_user = p;
    p->has_steps = a->given[OPT_verbose];
    if (p->has_steps) p->prefix = pdl_prefix_new(false);
    if (a->files.n) p->program = a->files.p[0];
    p->has_line = !pdl_str_is(how, "none") && can_draw();
    p->delay_ns = pdl_str_is(how, "line") ? 0 : pdl_pace_ms(AFTER_MS) * NS_PER_MS;
    if (!p->has_line && !p->has_steps) return next;
    pdl_tty_before_question(clear, NULL);
    return (pdl_sink){p, on_event, next.wants_blocks};
}

pdl_step pdl_cli_progress_run(progress *p, pdl_session *s) {
    pdl_step step;
    if (!p->has_line) return pdl_session_run(s);
    p->start_ns = pdl_clock_ns();
    pdl_session_start(s);
    while ((step = pdl_session_step(s, (int)pdl_pace_ms(REDRAW_MS))) == PDL_STEP_WAIT) draw(p);
    pdl_cli_progress_clear();
    return step;
}

void pdl_cli_progress_fini(progress *p) {
    pdl_prefix_free(p->prefix);
    pdl_progress_fini(&p->numbers);
    pdl_buf_fini(&p->drawn);
}
