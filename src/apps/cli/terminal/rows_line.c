/* rows_line.c -- draws the progress of the rows of a table; see rows_line.h. The time that is left
 * can only be estimated, from the part of the input that was read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/rows_line.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/pace.h"
#include "base/termsafe.h"
#include "cli/cli.h"

#include "base/banned.h"

enum { TICK_MS = 200, LINES_MS = 5000, AFTER_MS = 1000 };

void pdl_cli_put_count(pdl_buf *out, uint64_t n, const char *one, const char *many) {
    pdl_buf_putf(out, "%llu %s", (unsigned long long)n, n == 1 ? one : many);
}

/* Appends a number of seconds in the form that people use. */
void pdl_cli_put_time(pdl_buf *out, double s) {
    static const double longest = 1e12;
    if (!(s < longest)) s = longest;
    if (s < 60)
        pdl_buf_putf(out, "%.0f s", s);
    else if (s < 3600)
        pdl_buf_putf(out, "%d min %02d s", (int)(s / 60), (int)s % 60);
    else
        pdl_buf_putf(out, "%.0f h %02d min", floor(s / 3600), (int)fmod(s / 60, 60));
}

/* Appends an estimate of the time that is left. The estimate assumes that the rest of the input
 * takes as much time for each byte as the finished rows took. */
static void put_left(pdl_buf *out, const pdl_batch_totals *t) {
    double part = t->all_bytes ? (double)t->bytes / (double)t->all_bytes : 0;
    if (t->open) part *= (double)t->finished / (double)(t->finished + t->open);
    if (part <= 0 || t->seconds < 1) return;
    pdl_buf_putf(out, ", %.0f %%", part * 100);
    if (part < 1) {
        PDL_PUT(out, ", ");
        pdl_cli_put_time(out, t->seconds * (1 - part) / part);
        PDL_PUT(out, " left");
    }
    if (t->cost > 0 && part < 1)
        pdl_buf_putf(out, ", cost %.4g of about %.4g", t->cost, t->cost / part);
}

static void put_progress(pdl_buf *out, const pdl_batch_totals *t) {
    uint64_t fresh = t->finished - t->reused;
    pdl_cli_put_count(out, t->finished, "row", "rows");
    pdl_buf_putf(out, " done, %llu failed, %llu open", (unsigned long long)t->failed,
                 (unsigned long long)t->open);
    if (t->seconds > 0) pdl_buf_putf(out, ", %.1f/s", (double)fresh / t->seconds);
    put_left(out, t);
    if (t->calls)
        pdl_buf_putf(out, ", %lld + %lld tokens", (long long)t->prompt_tokens,
                     (long long)t->completion_tokens);
}

void pdl_cli_rows_line_clear(rows_line *l) {
    if (l->is_shown) fputs("\r\033[K", stderr);
    l->is_shown = false;
}

static void clear(void *user) {
    pdl_cli_rows_line_clear(user);
    fflush(stderr);
}

void pdl_cli_rows_line_put(rows_line *l, pdl_str text, double seconds) {
    pdl_buf line = PDL_BUF;
    bool is_early = seconds * 1e3 < (double)pdl_pace_ms(AFTER_MS);
    if (l->on_terminal && (is_early || pdl_tty_is_asked())) return;
    pdl_cli_rows_line_clear(l);
    pdl_buf_put(&line, text);
    if (!l->on_terminal) pdl_buf_putc(&line, '\n');
    pdl_cli_put_stderr(pdl_buf_str(&line), NULL);
    l->is_shown = l->on_terminal;
    pdl_buf_fini(&line);
}

void pdl_cli_rows_line_show(rows_line *l, const pdl_batch_totals *t) {
    pdl_buf line = PDL_BUF;
    put_progress(&line, t);
    pdl_cli_rows_line_put(l, pdl_buf_str(&line), t->seconds);
    pdl_buf_fini(&line);
}

uint32_t pdl_cli_rows_line_init(rows_line *l, const arguments *a) {
    pdl_str how = a->given[OPT_progress] ? a->value[OPT_progress] : PDL_STR("auto");
    bool lines = pdl_str_is(how, "line");
    *l = (rows_line){.on_terminal = pdl_str_is(how, "auto") && pdl_tty_is(STDERR_FILENO)};
    pdl_tty_before_question(clear, l);
    if (lines) return (uint32_t)pdl_pace_ms(LINES_MS);
    return l->on_terminal ? (uint32_t)pdl_pace_ms(TICK_MS) : 0;
}
