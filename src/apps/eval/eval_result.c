/* eval_result.c -- makes the result of an evaluation as a dict, and as a table for people. The dict
 * is what --json prints. The table is made from this dict alone, so both show the same numbers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>

#include "base/plural.h"
#include "eval/evaluation.h"
#include "eval/statistics.h"
#include "value/int.h"

#include "base/banned.h"

static pdl_val interval(double low, double high) {
    return pdl_list_push(pdl_list_push(pdl_list_new(2), pdl_float(low)), pdl_float(high));
}

/* Returns the numbers, from 1, of rows that have both right and wrong samples. */
static pdl_val flaky(const evaluation *e, const eval_scores *s) {
    bool *differs = PDL_NEW_N(bool, e->rows.n);
    pdl_val list = pdl_list_new(0);
    for (size_t i = 0; i < e->done; i++) {
        const double *score = &s->of.p[i * e->o->samples];
        for (size_t j = 1; j < e->o->samples; j++)
            if (pdl_eval_is_right(score[j]) != pdl_eval_is_right(score[0]))
                differs[e->order.p[i]] = true;
    }
    for (size_t i = 0; i < e->rows.n; i++)
        if (differs[i]) list = pdl_list_push(list, pdl_int((int64_t)i + 1));
    pdl_free(differs);
    return list;
}

static pdl_val program_result(const evaluation *e, pdl_str program, const eval_scores *s) {
    uint64_t right = 0, failed = 0;
    double sum = 0, pass = 0, n = (double)(e->done * e->o->samples), low, high;
    for (size_t i = 0; i < e->done; i++) {
        uint64_t c = 0;
        for (size_t j = 0; j < e->o->samples; j++) {
            double score = s->of.p[i * e->o->samples + j];
            c += pdl_eval_is_right(score);
            failed += score < 0;
            sum += score > 0 ? score : 0;
        }
        right += c;
        pass += pdl_eval_pass(e->o->samples, c, e->o->pass);
    }
    if (e->done) pass /= (double)e->done;
    pdl_eval_wilson(pass, (double)e->done, &low, &high);
    pdl_val d = pdl_dict_putz(pdl_dict_new(15), "program", pdl_text(program));
    d = pdl_dict_putz(d, "rows", pdl_int((int64_t)e->done));
    d = pdl_dict_putz(d, "samples", pdl_int((int64_t)e->o->samples));
    d = pdl_dict_putz(d, "right", pdl_int((int64_t)right));
    d = pdl_dict_putz(d, "failed", pdl_int((int64_t)failed));
    d = pdl_dict_putz(d, "first_error", pdl_eval_text_or_null(s->first));
    d = pdl_dict_putz(d, "score", e->done ? pdl_float(sum / n) : pdl_null());
    d = pdl_dict_putz(d, "flaky", flaky(e, s));
    d = pdl_dict_putz(d, "pass_k", pdl_int((int64_t)e->o->pass));
    d = pdl_dict_putz(d, "pass", e->done ? pdl_float(pass) : pdl_null());
    d = pdl_dict_putz(d, "interval", interval(low, high));
    d = pdl_dict_putz(d, "calls", pdl_int(s->totals.calls));
    d = pdl_dict_putz(d, "tokens", pdl_int(s->totals.prompt_tokens + s->totals.completion_tokens));
    d = pdl_dict_putz(d, "cost", s->totals.cost > 0 ? pdl_float(s->totals.cost) : pdl_null());
    return pdl_dict_putz(d, "inference",
                         e->o->infer && e->done ? pdl_eval_inference_result(e, s) : pdl_null());
}

static pdl_val comparison(const evaluation *e) {
    uint64_t only[2] = {0}, both = 0;
    for (size_t i = 0; i < e->done * e->o->samples; i++) {
        bool a = pdl_eval_is_right(e->of[0].of.p[i]), b = pdl_eval_is_right(e->of[1].of.p[i]);
        only[0] += a && !b;
        only[1] += b && !a;
        both += a && b;
    }
    pdl_val pairs = pdl_int((int64_t)(e->done * e->o->samples));
    pdl_val d = pdl_dict_putz(pdl_dict_new(5), "pairs", pairs);
    d = pdl_dict_putz(d, "both_right", pdl_int((int64_t)both));
    d = pdl_dict_putz(d, "only_first", pdl_int((int64_t)only[0]));
    d = pdl_dict_putz(d, "only_second", pdl_int((int64_t)only[1]));
    return pdl_dict_putz(d, "p", pdl_float(pdl_eval_mcnemar(only[0], only[1])));
}

double pdl_eval_difference(const evaluation *e, size_t at) {
    double sum = 0;
    for (size_t j = at * e->o->samples; j < (at + 1) * e->o->samples; j++)
        sum += fmax(e->of[0].of.p[j], 0) - fmax(e->of[1].of.p[j], 0);
    return sum / (double)e->o->samples;
}

static pdl_val verdict_of(const evaluation *e) {
    double low, high, sum = 0;
    size_t n = e->verdict.what ? e->decided : e->done;
    double *d = PDL_NEW_N(double, n + 1);
    for (size_t i = 0; i < n; i++) sum += d[i] = pdl_eval_difference(e, i);
    pdl_eval_verdict_interval(d, n, &low, &high);
    pdl_free(d);
    pdl_val v =
        pdl_dict_putz(pdl_dict_new(7), "is", pdl_textz(pdl_eval_verdict_name(e->verdict.what)));
    v = pdl_dict_putz(v, "rows", pdl_int((int64_t)n));
    v = pdl_dict_putz(v, "of", pdl_int((int64_t)e->rows.n));
    v = pdl_dict_putz(v, "difference", n ? pdl_float(sum / (double)n) : pdl_null());
    v = pdl_dict_putz(v, "budget_spent", pdl_bool(e->spent));
    v = pdl_dict_putz(v, "interval", interval(low, high));
    return pdl_dict_putz(v, "bound",
                         e->o->difference > 0 ? pdl_float(e->o->difference) : pdl_null());
}

pdl_val pdl_eval_result(const evaluation *e) {
    pdl_val list = pdl_list_push(pdl_list_new(2), program_result(e, e->o->program, &e->of[0]));
    if (e->o->against.n) list = pdl_list_push(list, program_result(e, e->o->against, &e->of[1]));
    pdl_val d = pdl_dict_putz(pdl_dict_new(5), "data", pdl_text(e->o->data.name));
    d = pdl_dict_putz(d, "score_by", pdl_text(e->o->judge.n ? e->o->judge : e->o->metric));
    d = pdl_dict_putz(d, "programs", list);
    d = pdl_dict_putz(d, "mcnemar", e->o->against.n ? comparison(e) : pdl_null());
    return pdl_dict_putz(d, "verdict", e->o->until_decided ? verdict_of(e) : pdl_null());
}

/* --- the table -------------------------------------------------------------------------------- */

static double number(pdl_vref d, const char *key) {
    pdl_vref v = pdl_dict_getz(d, key);
    return pdl_is_int(v) || pdl_is(v, PDL_V_FLOAT) ? pdl_num_to_double(v) : 0;
}

static void put_program(pdl_vref p, pdl_buf *out) {
    pdl_vref in = pdl_dict_getz(p, "interval");
    pdl_str name = pdl_str_get(pdl_dict_getz(p, "program"));
    pdl_buf_putf(out, "%-30.*s %6.0f %6.0f %7.0f %8.3f   %.3f to %.3f   %7.3f\n", PDL_FMT(name),
                 number(p, "right"), number(p, "rows") * number(p, "samples"), number(p, "failed"),
                 number(p, "pass"), pdl_float_of(pdl_list_at(in, 0)),
                 pdl_float_of(pdl_list_at(in, 1)), number(p, "score"));
}

static pdl_str name_at(pdl_vref programs, size_t i) {
    return pdl_str_get(pdl_dict_getz(pdl_list_at(programs, i), "program"));
}

static void put_flaky(pdl_vref p, pdl_buf *out) {
    enum { SHOWN = 12 };
    pdl_vref rows = pdl_dict_getz(p, "flaky");
    size_t n = pdl_list_len(rows);
    if (!n) return;
    pdl_str name = pdl_str_get(pdl_dict_getz(p, "program"));
    pdl_buf_putf(out, "%.*s: samples of %zu row%s differ:", PDL_FMT(name), n, PDL_PLURAL(n));
    for (size_t i = 0; i < n && i < SHOWN; i++)
        pdl_buf_putf(out, "%s %lld", i ? "," : "", (long long)pdl_int_of(pdl_list_at(rows, i)));
    pdl_buf_putf(out, "%s\n", n > SHOWN ? ", ..." : "");
}

/* Appends the difference, or a note that no row has been answered by both programs. When the budget
 * ended the evaluation, appends a note about that, too. */
static void put_difference(pdl_vref v, pdl_buf *out) {
    pdl_vref in = pdl_dict_getz(v, "interval");
    bool spent = pdl_bool_of(pdl_dict_getz(v, "budget_spent"));
    if (number(v, "rows") > 0)
        pdl_buf_putf(out,
                     ", after %.0f of %.0f rows: mean difference %.3f, 95 %% interval %.3f to "
                     "%.3f\n",
                     number(v, "rows"), number(v, "of"), number(v, "difference"),
                     pdl_float_of(pdl_list_at(in, 0)), pdl_float_of(pdl_list_at(in, 1)));
    else
        PDL_PUT(out, ": there is no row that both have answered\n");
    if (spent)
        PDL_PUT(out, "the budget is spent: a larger --budget asks more rows, and with --cache only "
                     "those\n");
}

static void put_verdict(pdl_vref programs, pdl_vref v, pdl_buf *out) {
    pdl_str is = pdl_str_get(pdl_dict_getz(v, "is")), a = name_at(programs, 0),
            b = name_at(programs, 1);
    if (pdl_str_is(is, "same"))
        pdl_buf_putf(out, "%.*s and %.*s differ by less than %.3g", PDL_FMT(a), PDL_FMT(b),
                     number(v, "bound"));
    else if (pdl_str_is(is, "undecided"))
        pdl_buf_putf(out, "undecided whether %.*s is better than %.*s", PDL_FMT(a), PDL_FMT(b));
    else
        pdl_buf_putf(out, "%.*s is %.*s than %.*s", PDL_FMT(a), PDL_FMT(is), PDL_FMT(b));
    put_difference(v, out);
}

void pdl_eval_put_table(pdl_vref result, pdl_buf *out) {
    enum { USUAL_PERCENT = 5 };
    static const double least_shown = 0.0001;
    pdl_vref list = pdl_dict_getz(result, "programs"), m = pdl_dict_getz(result, "mcnemar"),
             v = pdl_dict_getz(result, "verdict");
    if (pdl_is_dict(v) && number(v, "rows") < 1) {
        put_verdict(list, v, out);
        return;
    }
    pdl_buf_putf(out, "%-30s %6s %6s %7s   pass@%-2.0f   95 %% interval   mean score\n", "program",
                 "right", "of", "failed", number(pdl_list_at(list, 0), "pass_k"));
    for (size_t i = 0; i < pdl_list_len(list); i++) put_program(pdl_list_at(list, i), out);
    for (size_t i = 0; i < pdl_list_len(list); i++) put_flaky(pdl_list_at(list, i), out);
    for (size_t i = 0; i < pdl_list_len(list); i++)
        pdl_eval_put_inference(pdl_list_at(list, i), out);
    if (pdl_is_dict(v)) put_verdict(list, v, out);
    if (!pdl_is_dict(m) || pdl_is_dict(v)) return;
    bool differ = number(m, "p") * 100 < USUAL_PERCENT;
    bool tiny = number(m, "p") < least_shown;
    pdl_buf_putf(out,
                 "only the first is right: %.0f, only the second: %.0f; exact McNemar p %s %.4f: "
                 "%s\n",
                 number(m, "only_first"), number(m, "only_second"), tiny ? "<" : "=",
                 tiny ? least_shown : number(m, "p"),
                 differ ? "they differ" : "no difference is shown");
}
