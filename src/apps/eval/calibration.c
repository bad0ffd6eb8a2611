/* calibration.c -- measures how reliable the probabilities of inferences are: how many answers are
 * right after how many runs, and whether answers with the probability 0.8 are right in eight of ten
 * questions. A program whose probabilities are right can be trusted when it says that it is
 * uncertain, and the table of runs shows how many runs are worth their price.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "eval/evaluation.h"
#include "value/int.h"

#include "base/banned.h"

enum { BINS = 10 };

typedef struct calibration_bin {
    uint64_t n, right;
    double sure;
} bin;

/* Returns the next number of runs that is reported: every number up to 20, and after that numbers
 * that grow by a tenth each time. */
static uint64_t next_number(uint64_t k, uint64_t n) {
    enum { EACH = 20, PART = 10 };
    uint64_t next = k < EACH ? k + 1 : k + k / PART;
    return k < n && next > n ? n : next;
}

/* Returns how many answers would be right after k runs, for each k that is reported. */
static pdl_val by_runs(const evaluation *e, const eval_scores *s) {
    uint64_t n = e->o->infer->n;
    bool only_n = e->o->infer->algorithm == PDL_INFER_SMC;
    pdl_val list = pdl_list_new(0);
    /* for each number in `at`: how many more answers are right than for the number before it */
    PDL_VEC(int64_t) change = {0};
    PDL_VEC(uint64_t) at = {0};
    for (uint64_t k = only_n ? n : 1; k <= n; k = next_number(k, n)) {
        *pdl_vec_push(&at) = k;
        *pdl_vec_push(&change) = 0;
    }
    bool was_right = false;
    for (size_t i = 0; i < s->leads.n && s->leads.p[i].answer < e->done; i++) {
        const eval_lead *lead = &s->leads.p[i];
        bool right = pdl_eval_is_right(lead->score);
        if (!i || s->leads.p[i - 1].answer != lead->answer) was_right = false;
        size_t low = 0, high = at.n;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (at.p[middle] < lead->from)
                low = middle + 1;
            else
                high = middle;
        }
        if (low < at.n) change.p[low] += right - was_right;
        was_right = right;
    }
    int64_t right = 0;
    for (size_t i = 0; i < at.n; i++) {
        right += change.p[i];
        pdl_val d = pdl_dict_putz(pdl_dict_new(3), "n", pdl_int((int64_t)at.p[i]));
        d = pdl_dict_putz(d, "right", pdl_int(right));
        d = pdl_dict_putz(d, "accuracy", pdl_float((double)right / (double)e->done));
        list = pdl_list_push(list, d);
    }
    pdl_vec_fini(&change);
    pdl_vec_fini(&at);
    return list;
}

static pdl_val bins_of(const bin *bins) {
    pdl_val list = pdl_list_new(BINS);
    for (size_t i = 0; i < BINS; i++) {
        double n = (double)bins[i].n;
        pdl_val d = pdl_dict_putz(pdl_dict_new(5), "from", pdl_float((double)i / BINS));
        d = pdl_dict_putz(d, "to", pdl_float((double)(i + 1) / BINS));
        d = pdl_dict_putz(d, "n", pdl_int((int64_t)bins[i].n));
        d = pdl_dict_putz(d, "confidence", n > 0 ? pdl_float(bins[i].sure / n) : pdl_null());
        d = pdl_dict_putz(d, "accuracy", n > 0 ? pdl_float((double)bins[i].right / n) : pdl_null());
        list = pdl_list_push(list, d);
    }
    return list;
}

pdl_val pdl_eval_inference_result(const evaluation *e, const eval_scores *s) {
    bin bins[BINS] = {{0}};
    double brier = 0, n = 0;
    for (size_t i = 0; i < e->done; i++) {
        double sure = s->sure.p[i], right = pdl_eval_is_right(s->of.p[i]);
        if (sure < 0) continue;
        size_t k = (size_t)(sure * BINS);
        bin *b = &bins[k < BINS ? k : BINS - 1];
        b->n++;
        b->right += right > 0;
        b->sure += sure;
        brier += (sure - right) * (sure - right);
        n++;
    }
    pdl_val d = pdl_dict_putz(pdl_dict_new(7), "algorithm",
                              pdl_textz(pdl_infer_algorithm_name(e->o->infer->algorithm)));
    d = pdl_dict_putz(d, "n", pdl_int((int64_t)e->o->infer->n));
    d = pdl_dict_putz(d, "runs", pdl_int((int64_t)s->runs));
    d = pdl_dict_putz(d, "seed", pdl_int((int64_t)e->o->infer->seed));
    d = pdl_dict_putz(d, "by_n", by_runs(e, s));
    d = pdl_dict_putz(d, "brier", n > 0 ? pdl_float(brier / n) : pdl_null());
    return pdl_dict_putz(d, "bins", bins_of(bins));
}

/* --- lines for people ------------------------------------------------------------------------- */

static double number_at(pdl_vref d, const char *key) {
    pdl_vref v = pdl_dict_getz(d, key);
    return pdl_is_int(v) || pdl_is(v, PDL_V_FLOAT) ? pdl_num_to_double(v) : 0;
}

static void put_by_runs(pdl_vref list, pdl_buf *out) {
    enum { SHOWN = 10 };
    size_t n = pdl_list_len(list), step = (n + SHOWN - 1) / SHOWN;
    PDL_PUT(out, "  right after n runs:");
    for (size_t i = 0; i < n; i++) {
        if (i + 1 < n && i % step) continue;
        pdl_vref d = pdl_list_at(list, i);
        pdl_buf_putf(out, "%s %.0f: %.3f", i ? "," : "", number_at(d, "n"),
                     number_at(d, "accuracy"));
    }
    PDL_PUT(out, "\n");
}

void pdl_eval_put_inference(pdl_vref program, pdl_buf *out) {
    pdl_vref d = pdl_dict_getz(program, "inference"), bins;
    if (!pdl_is_dict(d)) return;
    double rows = number_at(program, "rows"), runs = number_at(d, "runs");
    pdl_buf_putf(out, "%.*s: --infer %.*s -n %.0f: %.0f runs, %.2f a row, %.0f calls\n",
                 PDL_FMT(pdl_str_get(pdl_dict_getz(program, "program"))),
                 PDL_FMT(pdl_str_get(pdl_dict_getz(d, "algorithm"))), number_at(d, "n"), runs,
                 runs / rows, number_at(program, "calls"));
    put_by_runs(pdl_dict_getz(d, "by_n"), out);
    if (pdl_is_null(pdl_dict_getz(d, "brier"))) return;
    pdl_buf_putf(out, "  Brier score %.3f\n  probability   answers   mean   right\n",
                 number_at(d, "brier"));
    bins = pdl_dict_getz(d, "bins");
    for (size_t i = 0; i < pdl_list_len(bins); i++) {
        pdl_vref b = pdl_list_at(bins, i);
        if (number_at(b, "n") > 0)
            pdl_buf_putf(out, "  %.1f to %.1f    %7.0f  %.3f   %.3f\n", number_at(b, "from"),
                         number_at(b, "to"), number_at(b, "n"), number_at(b, "confidence"),
                         number_at(b, "accuracy"));
    }
}
