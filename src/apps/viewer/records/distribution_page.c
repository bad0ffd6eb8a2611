/* distribution_page.c -- makes the document of an inference from the output of pdl infer --json.
 * The document has the sample, and below it the distinct values with their probabilities, each with
 * the runs that gave it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>

#include "value/int.h"
#include "value/json_read.h"
#include "value/member.h"
#include "value/text.h"
#include "viewer/records/many_runs.h"

#include "base/banned.h"

bool pdl_is_distribution(pdl_vref d) {
    pdl_vref values = pdl_member(d, "values"), probs = pdl_member(d, "probs");
    return pdl_is_absent(pdl_member(d, "kind")) && pdl_is_list(values) && pdl_is_list(probs) &&
           pdl_list_len(values) == pdl_list_len(probs) && pdl_member_str(d, "algorithm").n;
}

/* Returns the distribution, owned. Returns absent when the text has another form. */
static pdl_val read_distribution(pdl_str text) {
    pdl_val d;
    pdl_err ignored = {0};
    if (!pdl_may_have_member(text, "\"probs\"")) return pdl_absent();
    if (!pdl_json_read(text, PDL_JSON_PYTHON, &d, NULL, &ignored)) {
        pdl_err_fini(&ignored);
        return pdl_absent();
    }
    if (pdl_is_distribution(d)) return d;
    pdl_drop(d);
    return pdl_absent();
}

bool pdl_view_is_distribution(pdl_str text) {
    pdl_val d = read_distribution(text);
    bool is = !pdl_is_absent(d);
    if (is) pdl_drop(d);
    return is;
}

static void put_value(pdl_vref v, pdl_buf *out) {
    pdl_err ignored = {0};
    if (!pdl_stringify(v, out, &ignored)) pdl_err_fini(&ignored);
}

static double number_at(pdl_vref list, size_t i) {
    pdl_vref v = pdl_is_list(list) && i < pdl_list_len(list) ? pdl_list_at(list, i) : pdl_absent();
    return pdl_is_int(v) || pdl_is(v, PDL_V_FLOAT) ? pdl_num_to_double(v) : (double)NAN;
}

static void put_known(const char *what, double x, pdl_buf *out) {
    if (!isnan(x)) pdl_buf_putf(out, ", %s %.4g", what, x);
}

static uint64_t count_in(pdl_vref d, const char *key) {
    int64_t n = pdl_member_int(d, key, 0);
    return n > 0 ? (uint64_t)n : 0;
}

/* Appends the sample, and the facts about the inference. */
static void put_text(pdl_vref d, pdl_buf *out) {
    pdl_vref ess = pdl_member(d, "ess"), usage = pdl_member(d, "usage");
    size_t rounds = pdl_is_list(ess) ? pdl_list_len(ess) : 0;
    pdl_vref sample = pdl_member(d, "sample");
    if (!pdl_is_absent(sample)) put_value(sample, out);
    if (out->len) PDL_PUT(out, "\n\n");
    pdl_put_counted("", count_in(d, "runs"), " runs (algorithm: ", out);
    pdl_buf_putf(out, "%.*s)", PDL_FMT(pdl_member_str(d, "algorithm")));
    uint64_t failed = count_in(d, "failures");
    if (failed) pdl_put_counted(", ", failed, " failed", out);
    if (rounds) put_known("effective number of runs", number_at(ess, rounds - 1), out);
    if (rounds > 1) pdl_buf_putf(out, " in the last of %zu rounds", rounds);
    put_known("log evidence", pdl_record_number(d, "log_evidence"), out);
    uint64_t calls = count_in(usage, "model_calls");
    if (calls) {
        uint64_t in = count_in(usage, "prompt_tokens");
        pdl_put_counted(", ", calls, calls == 1 ? " model call" : " model calls", out);
        pdl_put_counted(", ", in, in == 1 ? " token in" : " tokens in", out);
        pdl_put_counted(", ", count_in(usage, "completion_tokens"), " out", out);
    }
    double cost = pdl_record_number(usage, "cost");
    if (cost > 0) put_known("cost", cost, out);
    if (!isnan(pdl_record_number(d, "seed")))
        pdl_buf_putf(out, ", seed %lld", (long long)pdl_member_int(d, "seed", 0));
    pdl_buf_putc(out, '\n');
}

/* Returns, for each value, the table of the runs that gave it. Runs are numbered in the order of
 * their lineage. */
static pdl_run_table *runs_of(pdl_vref d, const pdl_distribution_parts *parts, size_t n_values,
                              size_t *counts) {
    pdl_vref particles = pdl_member(d, "particles"), which = pdl_member(particles, "value"),
             logits = pdl_member(particles, "logit");
    pdl_run_table *tables = PDL_NEW_N(pdl_run_table, n_values + 1);
    for (size_t i = 0; i < n_values; i++) tables[i] = pdl_run_table_begin();
    for (size_t k = 0; pdl_is_list(which) && k < pdl_list_len(which); k++) {
        double i = number_at(which, k), logit = number_at(logits, k);
        if (!(i >= 0 && i < (double)n_values)) continue;
        pdl_val weight = pdl_dict_putz(pdl_dict_new(1), "log weight", pdl_rounded(logit));
        pdl_buf name = PDL_BUF, said = PDL_BUF;
        pdl_buf_putf(&name, "run %zu", k + 1);
        if (isnan(logit))
            PDL_PUT(&said, "weight zero");
        else
            pdl_buf_putf(&said, "log weight %.6g", logit);
        pdl_run_table_given(&tables[(size_t)i], PDL_STR("run"), pdl_int((int64_t)k + 1));
        pdl_val asked = parts->requests ? parts->requests(parts->user, k, &weight) : pdl_absent();
        pdl_run_table_add(&tables[(size_t)i], pdl_buf_str(&name), pdl_absent(), pdl_buf_str(&said),
                          weight, asked);
        counts[(size_t)i]++;
        pdl_buf_fini(&name);
        pdl_buf_fini(&said);
    }
    return tables;
}

bool pdl_distribution_page(pdl_vref d, const pdl_distribution_parts *parts, pdl_view_run **out,
                           pdl_err *err) {
    pdl_vref values = pdl_member(d, "values"), probs = pdl_member(d, "probs");
    size_t n = pdl_list_len(values);
    size_t *counts = PDL_NEW_N(size_t, n + 1);
    pdl_run_table t = pdl_run_table_begin(), *runs = runs_of(d, parts, n, counts);
    pdl_buf text = PDL_BUF;
    put_text(d, &text);
    pdl_buf_put(&text, parts->text);
    for (size_t i = 0; i < n; i++) {
        pdl_buf said = PDL_BUF;
        put_value(pdl_list_at(values, i), &said);
        pdl_val row = pdl_dict_putz(pdl_dict_new(3), "value", pdl_text(pdl_buf_str(&said)));
        row = pdl_dict_putz(row, "probability", pdl_rounded(number_at(probs, i)));
        row = pdl_dict_putz(row, "runs", pdl_int((int64_t)counts[i]));
        pdl_run_table_add(&t, PDL_STR("value"), pdl_absent(), pdl_buf_str(&said), row,
                          pdl_run_table_take(&runs[i], "runs"));
        pdl_buf_fini(&said);
    }
    if (parts->rest) parts->rest(parts->user, &t);
    pdl_many_runs m = {parts->file, parts->title, pdl_buf_str(&text),
                       "values",    false,        count_in(d, "runs")};
    bool ok = pdl_many_runs_new(&m, pdl_run_table_take(&t, "values"), out, err);
    pdl_free(counts);
    pdl_free(runs);
    pdl_buf_fini(&text);
    return ok;
}

bool pdl_view_distribution_new(pdl_str name, pdl_str json, pdl_view_run **out, pdl_err *err) {
    pdl_val d = read_distribution(json);
    if (pdl_is_absent(d))
        return pdl_err_set(err, PDL_E_syntax, (pdl_loc){0}, "no output of pdl infer --json");
    pdl_distribution_parts parts = {.file = name, .title = PDL_STR("Distribution")};
    bool ok = pdl_distribution_page(d, &parts, out, err);
    pdl_drop(d);
    return ok;
}
