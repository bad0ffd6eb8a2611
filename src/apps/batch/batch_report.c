/* batch_report.c -- writes the summary of a batch, for people (HTML) and for machines (JSON). A
 * file that the batch reads or writes is refused as the place of the summary.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "batch/stats.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/termsafe.h"
#include "base/xml.h"
#include "batch/output.h"
#include "io/file.h"
#include "value/json_write.h"

#include "base/banned.h"

static const struct {
    const char *name;
    double part;
} quantiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p100", 1}};

static const char *kind_name(size_t k) {
    return k == PDL_E_COUNT ? "row" : pdl_err_kind_name((pdl_err_kind)k);
}

static pdl_val count(uint64_t n) { return pdl_int((int64_t)n); }

static pdl_val seconds_of(const stats *s) {
    pdl_val d = pdl_dict_new(8);
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++)
        d = pdl_dict_putz(d, quantiles[i].name,
                          pdl_float(pdl_batch_stats_quantile(s, quantiles[i].part)));
    double mean = s->n_times ? s->sum_seconds / (double)s->n_times : 0;
    return pdl_dict_putz(d, "mean", pdl_float(mean));
}

/* Returns a list of {from, to, rows}, from the first bin that contains rows to the last one. */
static pdl_val tokens_of(const stats *s) {
    pdl_val list = pdl_list_new(8);
    size_t first = 0, last = STATS_TOKENS;
    while (first < STATS_TOKENS && !s->tokens[first]) first++;
    while (last > first && !s->tokens[last - 1]) last--;
    for (size_t i = first; i < last; i++) {
        pdl_val d = pdl_dict_new(3);
        d = pdl_dict_putz(d, "from", pdl_int(i ? (int64_t)1 << i : 0));
        d = pdl_dict_putz(d, "to", pdl_int(((int64_t)1 << (i + 1)) - 1));
        list = pdl_list_push(list, pdl_dict_putz(d, "rows", count(s->tokens[i])));
    }
    return list;
}

static pdl_val kinds_of(const stats *s) {
    pdl_val d = pdl_dict_new(4);
    for (size_t k = 0; k < STATS_KINDS; k++)
        if (s->kinds[k]) d = pdl_dict_putz(d, kind_name(k), count(s->kinds[k]));
    return d;
}

static pdl_val report_of(const pdl_batch_options *o, const pdl_batch_totals *t, const stats *s) {
    pdl_val rows = pdl_dict_new(4), d = pdl_dict_new(12);
    rows = pdl_dict_putz(rows, "finished", count(t->finished));
    rows = pdl_dict_putz(rows, "failed", count(t->failed));
    rows = pdl_dict_putz(rows, "before", count(t->reused));
    d = pdl_dict_putz(d, "program", pdl_text(o->program->source->name));
    d = pdl_dict_putz(d, "input", pdl_text(o->input.name));
    d = pdl_dict_putz(d, "output", pdl_text(o->output.name));
    d = pdl_dict_putz(d, "complete", pdl_bool(t->ended));
    d = pdl_dict_putz(d, "rows", rows);
    d = pdl_dict_putz(d, "seconds", pdl_float(t->seconds));
    d = pdl_dict_putz(d, "calls", pdl_int(t->calls));
    d = pdl_dict_putz(d, "prompt_tokens", pdl_int(t->prompt_tokens));
    d = pdl_dict_putz(d, "completion_tokens", pdl_int(t->completion_tokens));
    d = pdl_dict_putz(d, "cost", t->cost > 0 ? pdl_float(t->cost) : pdl_null());
    d = pdl_dict_putz(d, "errors", kinds_of(s));
    d = pdl_dict_putz(d, "row_seconds", seconds_of(s));
    return pdl_dict_putz(d, "row_tokens", tokens_of(s));
}

/* --- HTML ------------------------------------------------------------------------------------- */

static void put_head(const pdl_batch_options *o, const pdl_batch_totals *t, pdl_buf *out) {
    PDL_PUT(out, "<!doctype html><html lang=en><meta charset=utf-8><title>");
    pdl_xml_put(out, o->output.name);
    PDL_PUT(out, "</title><style>body{font:15px/1.5 system-ui,sans-serif;max-width:50rem;"
                 "margin:2rem auto;padding:0 1rem;color:#1c1c1c}table{border-collapse:collapse}"
                 "td,th{padding:.15rem .8rem .15rem 0;text-align:left}td.n{text-align:right;"
                 "font-variant-numeric:tabular-nums}td b{display:inline-block;height:.8em;"
                 "background:#4477aa}</style><h1>");
    pdl_xml_put(out, o->program->source->name);
    PDL_PUT(out, "</h1><p>");
    pdl_xml_put(out, o->input.name);
    PDL_PUT(out, " &rarr; ");
    pdl_xml_put(out, o->output.name);
    pdl_buf_putf(out, "%s</p>", t->ended ? "" : " (not complete)");
}

static void put_number(pdl_buf *out, const char *name, double n) {
    pdl_buf_putf(out, "<tr><th>%s<td class=n>%.15g", name, n);
}

static void put_totals(const pdl_batch_totals *t, pdl_buf *out) {
    PDL_PUT(out, "<table>");
    put_number(out, "rows finished", (double)t->finished);
    put_number(out, "failed", (double)t->failed);
    put_number(out, "finished by earlier processes", (double)t->reused);
    put_number(out, "calls of models", (double)t->calls);
    put_number(out, "tokens of prompts", (double)t->prompt_tokens);
    put_number(out, "tokens of answers", (double)t->completion_tokens);
    if (t->cost > 0) put_number(out, "cost", t->cost);
    pdl_buf_putf(out, "<tr><th>seconds<td class=n>%.1f</table>", t->seconds);
}

static void put_bar(pdl_buf *out, uint64_t n, uint64_t most) {
    enum { WIDEST = 300 };
    pdl_buf_putf(out, "<td class=n>%llu<td><b style=\"width:%.0fpx\"></b>", (unsigned long long)n,
                 most ? (double)n / (double)most * WIDEST : 0);
}

static void put_errors(const stats *s, pdl_buf *out) {
    uint64_t most = 0;
    for (size_t k = 0; k < STATS_KINDS; k++)
        if (s->kinds[k] > most) most = s->kinds[k];
    if (!most) return;
    PDL_PUT(out, "<h2>Errors by kind</h2><table>");
    for (size_t k = 0; k < STATS_KINDS; k++) {
        if (!s->kinds[k]) continue;
        pdl_buf_putf(out, "<tr><th>%s", kind_name(k));
        put_bar(out, s->kinds[k], most);
    }
    PDL_PUT(out, "</table>");
}

static void put_times(const stats *s, pdl_buf *out) {
    PDL_PUT(out, "<h2>Seconds of a row</h2><table>");
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++)
        pdl_buf_putf(out, "<tr><th>%s<td class=n>%.3g", quantiles[i].name,
                     pdl_batch_stats_quantile(s, quantiles[i].part));
    PDL_PUT(out, "</table>");
}

static void put_tokens(const stats *s, pdl_buf *out) {
    uint64_t most = 0;
    for (size_t i = 0; i < STATS_TOKENS; i++)
        if (s->tokens[i] > most) most = s->tokens[i];
    PDL_PUT(out, "<h2>Tokens of a row</h2><table>");
    for (size_t i = 0; i < STATS_TOKENS; i++) {
        if (!s->tokens[i]) continue;
        pdl_buf_putf(out, "<tr><th>%lld to %lld", i ? 1LL << i : 0, (1LL << (i + 1)) - 1);
        put_bar(out, s->tokens[i], most);
    }
    PDL_PUT(out, "</table>");
}

static void put_data(pdl_str json, pdl_buf *out) {
    PDL_PUT(out, "<script type=\"application/json\" id=report>");
    pdl_xml_put_json(out, json);
    PDL_PUT(out, "</script></html>\n");
}

/* Returns true when the path is the journal of the output. The journal contains the rows of the
 * output. */
static bool is_journal(const pdl_table *output, pdl_str path) {
    char *name = pdl_batch_output_journal(output), *other = pdl_batch_output_target(path);
    bool same = strcmp(name, other) == 0 || pdl_file_is_same(name, other);
    pdl_free(name);
    pdl_free(other);
    return same;
}

static bool is_table(const pdl_table *t, const char *path) {
    char *other = pdl_str_dup(t->path);
    struct stat a, b;
    bool same =
        t->path.n && (strcmp(other, path) == 0 || (stat(other, &a) == 0 && stat(path, &b) == 0 &&
                                                   a.st_dev == b.st_dev && a.st_ino == b.st_ino));
    pdl_free(other);
    return same;
}

/* Returns true when the path is the file to which the shell redirected the output. */
static bool is_shell_file(const pdl_batch_options *o, const struct stat *st) {
    struct stat out;
    const pdl_table *t = &o->output;
    return (t->standard || t->is_open) && S_ISREG(st->st_mode) &&
           fstat(t->standard ? STDOUT_FILENO : t->fd, &out) == 0 && out.st_dev == st->st_dev &&
           out.st_ino == st->st_ino;
}

static bool is_standard(pdl_str file) { return pdl_str_is(file, "-"); }

bool pdl_batch_report_check(const pdl_batch_options *o, pdl_str file, pdl_err *err) {
    char *path = pdl_str_dup(file), *folder = pdl_str_dup(pdl_file_folder(file));
    struct stat st = {0};
    const char *why = NULL;
    int fd;
    if (is_standard(file) && !o->output.standard) {
        pdl_free(folder);
        pdl_free(path);
        return true;
    }
    bool there = stat(path, &st) == 0;
    bool in_place = pdl_file_descriptor(file, &fd) || (there && !S_ISREG(st.st_mode));
    if (is_standard(file))
        why = "that is the output";
    else if (there && S_ISDIR(st.st_mode))
        why = strerror(EISDIR);
    else if (in_place ? access(path, W_OK) != 0 : access(*folder ? folder : ".", W_OK | X_OK) != 0)
        why = strerror(errno);
    else if (is_table(&o->input, path) || is_table(&o->output, path) || is_shell_file(o, &st))
        why = "that is the input or the output";
    else if (is_journal(&o->output, file))
        why = "that is the journal of the output";
    if (why)
        pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "--report %s cannot be written: %s", path, why);
    pdl_free(folder);
    pdl_free(path);
    return !why;
}

static bool put_standard(pdl_str text, pdl_err *err) {
    if (pdl_write_termsafe(stdout, text) && fflush(stdout) == 0) return true;
    return pdl_file_errno(err, errno, "standard output");
}

bool pdl_batch_report_write(const pdl_batch_options *o, const pdl_batch_totals *t, const stats *s,
                            pdl_str file, pdl_err *err) {
    pdl_buf json = PDL_BUF, html = PDL_BUF;
    pdl_val report = report_of(o, t, s);
    bool is_json = pdl_str_ends(file, PDL_STR(".json")) || is_standard(file);
    bool ok = pdl_json_write(report, PDL_JSON_SPACED, is_json ? 2 : 0, &json, err);
    char *path = pdl_str_dup(file);
    if (is_json) {
        pdl_buf_putc(&json, '\n');
    } else {
        put_head(o, t, &html);
        put_totals(t, &html);
        put_errors(s, &html);
        put_times(s, &html);
        put_tokens(s, &html);
        put_data(pdl_buf_str(&json), &html);
    }
    if (is_standard(file))
        ok = ok && put_standard(pdl_buf_str(&json), err);
    else
        ok = ok && pdl_file_write(path, pdl_buf_str(is_json ? &json : &html), PDL_FILE_SHARED, err);
    pdl_free(path);
    pdl_drop(report);
    pdl_buf_fini(&json);
    pdl_buf_fini(&html);
    return ok;
}
