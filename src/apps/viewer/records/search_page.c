/* search_page.c -- makes the document of a search (pdl optimize) from the files in its folder. The
 * document has the sentences of the report, and the candidates with their scores, each with the
 * rows on which it was evaluated.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>

#include "base/utf8.h"
#include "value/int.h"
#include "value/json_write.h"
#include "value/member.h"
#include "viewer/records/record_rows.h"

#include "base/banned.h"

enum { MAX_CANDIDATES = 100000 };

/* The sum of the scores of a candidate. It is used while the search has no standings yet. */
typedef struct running_score {
    uint64_t rows;
    double sum;
} running_score;

/* A search that is being read. */
typedef struct reading_search {
    pdl_val scores; /* for each candidate, the list of its records */
    running_score *so_far;
    size_t n;
    uint64_t evaluations;
} reading_search;

/* Returns the number of a record's candidate; SIZE_MAX when the record names no candidate. */
static size_t candidate_of(pdl_vref record) {
    int64_t i = pdl_member_int(record, "candidate", -1);
    return i >= 0 && i < MAX_CANDIDATES ? (size_t)i : SIZE_MAX;
}

/* Sets the number of candidates. */
static void count_candidates(reading_search *s, pdl_str candidates) {
    for (pdl_val c; !pdl_is_absent(c = pdl_next_record(&candidates)); pdl_drop(c)) {
        size_t i = candidate_of(c);
        if (i != SIZE_MAX && i >= s->n) s->n = i + 1;
    }
}

/* Divides the scores among their candidates. */
static void read_scores(reading_search *s, pdl_str lines) {
    s->so_far = PDL_NEW_N(running_score, s->n + 1);
    pdl_run_table *tables = PDL_NEW_N(pdl_run_table, s->n + 1);
    for (size_t i = 0; i < s->n; i++) tables[i] = pdl_run_table_begin();
    for (pdl_val r; !pdl_is_absent(r = pdl_next_record(&lines)); pdl_drop(r)) {
        size_t i = candidate_of(r);
        double score = pdl_record_number(r, "score");
        if (i >= s->n) continue;
        s->evaluations++;
        pdl_record_rows_add(&tables[i], r, false);
        if (!pdl_str_is(pdl_member_str(r, "part"), "validation")) continue;
        s->so_far[i].rows++;
        s->so_far[i].sum += isnan(score) ? 0 : score;
    }
    s->scores = pdl_list_new(s->n);
    for (size_t i = 0; i < s->n; i++)
        s->scores = pdl_list_push(s->scores, pdl_run_table_take(&tables[i], "evaluations"));
    pdl_free(tables);
}

/* --- candidates ------------------------------------------------------------------------------- */

static pdl_val interval_of(pdl_vref part) {
    pdl_vref in = pdl_member(part, "interval");
    bool is = pdl_is_list(in) && pdl_list_len(in) == 2 && pdl_is(pdl_list_at(in, 0), PDL_V_FLOAT) &&
              pdl_is(pdl_list_at(in, 1), PDL_V_FLOAT);
    return is ? pdl_textf("%.3f to %.3f", pdl_float_of(pdl_list_at(in, 0)),
                          pdl_float_of(pdl_list_at(in, 1)))
              : pdl_null();
}

/* Returns the values that a candidate changes, such as "ask: Is it good?", shortened to a readable
 * length. */
static pdl_val changes_of(pdl_vref values) {
    enum { MAX_CHANGES = 80 };
    pdl_buf b = PDL_BUF;
    pdl_err ignored = {0};
    for (size_t i = 0; pdl_is_dict(values) && i < pdl_dict_len(values); i++) {
        pdl_vref key = pdl_dict_key_at(values, i), v = pdl_dict_val_at(values, i);
        if (b.len) pdl_buf_putc(&b, '\n');
        pdl_buf_put(&b, pdl_str_get(key));
        PDL_PUT(&b, ": ");
        if (pdl_is_str(v))
            pdl_buf_put(&b, pdl_str_get(v));
        else if (!pdl_json_write(v, PDL_JSON_SPACED | PDL_JSON_LOOSE, 0, &b, &ignored))
            pdl_err_fini(&ignored);
    }
    if (b.len > MAX_CHANGES) {
        pdl_buf_cut(&b, pdl_utf8_cut(pdl_buf_str(&b), MAX_CHANGES).n);
        PDL_PUT(&b, " \u2026");
    }
    return b.len ? pdl_text_of_buf(&b) : pdl_textz("nothing");
}

/* Adds a number of a part. Adds nothing when the number is unknown. */
static pdl_val with_number(pdl_val d, const char *name, pdl_vref part, const char *key) {
    double x = pdl_record_number(part, key);
    return isnan(x) ? d : pdl_dict_putz(d, name, pdl_rounded(x));
}

/* Returns the score of a candidate; while the search is running, the mean over the rows so far,
 * which is NaN before the first row. */
static double score_of(const reading_search *s, pdl_vref validation, size_t i) {
    const running_score *now = &s->so_far[i];
    if (pdl_is_dict(validation)) return pdl_record_number(validation, "score");
    return now->rows ? now->sum / (double)now->rows : (double)NAN;
}

/* Returns the columns of a candidate. The score is before the changes, because these are long, and
 * a narrow window shows only the first columns. */
static pdl_val columns_of(const reading_search *s, pdl_vref c, size_t i, const char *mark) {
    pdl_vref validation = pdl_member(c, "validation"), test = pdl_member(c, "test");
    pdl_val d = pdl_dict_putz(pdl_dict_new(10), "is", pdl_textz(mark));
    d = pdl_dict_putz(d, "score", pdl_rounded(score_of(s, validation, i)));
    d = pdl_dict_putz(d, "changes", changes_of(pdl_member(c, "values")));
    if (pdl_is_dict(validation)) {
        d = pdl_dict_putz(d, "95 % interval", interval_of(validation));
        d = pdl_dict_putz(d, "rows", pdl_keep(pdl_member(validation, "rows")));
        d = with_number(d, "in the test", test, "score");
        d = with_number(d, "calls a row", validation, "calls");
        d = with_number(d, "tokens a row", validation, "tokens");
        double cost = pdl_record_number(validation, "cost");
        if (!isnan(cost)) d = pdl_dict_putz(d, "cost a row", pdl_float(cost));
    } else if (s->so_far[i].rows) {
        d = pdl_dict_putz(d, "rows", pdl_int((int64_t)s->so_far[i].rows));
    }
    return d;
}

static void put_said(pdl_vref c, pdl_buf *out) {
    pdl_vref validation = pdl_member(c, "validation");
    double score = pdl_record_number(validation, "score");
    if (!isnan(score))
        pdl_buf_putf(out, "score %.3f on %.0f rows", score, pdl_record_number(validation, "rows"));
    pdl_str why = pdl_member_str(c, "first_error");
    if (why.n) pdl_buf_putf(out, "\n\n%.*s", PDL_FMT(why));
}

/* Adds a candidate. first: the candidate is the first in the standings, which are sorted. */
static void add_candidate(reading_search *s, pdl_run_table *t, pdl_vref c, bool first) {
    size_t i = candidate_of(c);
    if (i == SIZE_MAX) return;
    const char *mark = !i ? "as it was" : first ? "winner" : "";
    if (pdl_member_bool(c, "worse_on_kept")) mark = "worse on a row to keep";
    pdl_vref values = pdl_member(c, "values");
    pdl_val name = pdl_textf("candidate %zu", i);
    pdl_buf said = PDL_BUF;
    put_said(c, &said);
    pdl_run_table_given(t, PDL_STR("candidate"), pdl_int((int64_t)i));
    pdl_run_table_add(t, pdl_str_get(name), pdl_is_dict(values) ? pdl_keep(values) : pdl_absent(),
                      pdl_buf_str(&said), columns_of(s, c, i, mark),
                      pdl_keep(pdl_list_at(s->scores, i)));
    pdl_drop(name);
    pdl_buf_fini(&said);
}

/* --- the text --------------------------------------------------------------------------------- */

/* Appends the sentences of the report, without its headings, its tables and the lines that
 * introduce a table, because the page shows the candidates below. */
static void put_sentences(pdl_str report, pdl_buf *out) {
    while (report.n) {
        pdl_str line = pdl_str_take(&report, PDL_STR("\n"));
        if (!line.n || line.p[0] == '#' || line.p[0] == '|' || line.p[line.n - 1] == ':') continue;
        pdl_buf_put(out, line);
        pdl_buf_putc(out, '\n');
    }
}

/* Appends the sentences of the report: first those of its last section, which has the verdict, and
 * then those before it. */
static void put_report(pdl_str report, pdl_buf *out) {
    size_t last = report.n, next = 0;
    while ((next = pdl_str_find(report, PDL_STR("\n## "), next)) != PDL_NOT_FOUND) last = next++;
    put_sentences(pdl_str_sub(report, last, report.n), out);
    if (out->len) pdl_buf_putc(out, '\n');
    put_sentences(pdl_str_sub(report, 0, last), out);
}

/* Returns the first heading of the report. */
static pdl_str heading_of(pdl_str report) {
    pdl_str line = pdl_str_take(&report, PDL_STR("\n"));
    return pdl_str_starts(line, PDL_STR("# ")) ? pdl_str_sub(line, 2, line.n) : PDL_STR("Search");
}

bool pdl_view_search_new(pdl_str name, const pdl_view_search *files, pdl_view_run **out,
                         pdl_err *err) {
    reading_search s = {.n = 0};
    pdl_str candidates = files->candidates;
    pdl_buf text = PDL_BUF;
    pdl_run_table t = pdl_run_table_begin();
    bool has_ended = pdl_str_trim(files->report).n > 0, first = has_ended;
    count_candidates(&s, candidates);
    read_scores(&s, files->scores);
    for (pdl_val c; !pdl_is_absent(c = pdl_next_record(&candidates)); pdl_drop(c)) {
        add_candidate(&s, &t, c, first);
        first = false;
    }
    put_report(files->report, &text);
    if (!has_ended)
        pdl_put_counted("The search has not ended: ", s.evaluations,
                        s.evaluations == 1 ? " evaluation so far.\n" : " evaluations so far.\n",
                        &text);
    pdl_many_runs m = {
        name, heading_of(files->report), pdl_buf_str(&text), "candidates", !has_ended, 0};
    bool ok = pdl_many_runs_new(&m, pdl_run_table_take(&t, "candidates"), out, err);
    pdl_drop(s.scores);
    pdl_free(s.so_far);
    pdl_buf_fini(&text);
    return ok;
}
