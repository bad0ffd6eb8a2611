/* search_result.c -- makes the result of a search, a dict: the scores of the candidates, and
 * whether the winner is better than the original program, on rows that were not used to choose it.
 * The report and the output of --json are made from this dict, so they show the same numbers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>
#include <stdlib.h>

#include "eval/comparison.h"
#include "eval/statistics.h"
#include "io/clock.h"
#include "optimize/objectives.h"

#include "base/banned.h"

static pdl_val interval(double low, double high) {
    return pdl_list_push(pdl_list_push(pdl_list_new(2), pdl_float(low)), pdl_float(high));
}

/* Returns true for a score that can only mean right or wrong. */
static bool is_whole_score(double s) { return (s >= 0 && s <= 0) || (s >= 1 && s <= 1); }

static pdl_val part_result(const opt_search *z, size_t candidate, opt_part part) {
    size_t one[] = {candidate}, n = pdl_search_common(z, one, 1, part), failed = 0;
    double mean, low, high;
    bool binary = true;
    if (!pdl_search_mean(z, candidate, part, n, &mean)) return pdl_null();
    pdl_search_interval(z, candidate, part, n, &low, &high);
    for (size_t i = 0; i < n; i++) {
        float score = z->candidates.p[candidate].scores[z->part[part].p[i]];
        failed += isnan(score) != 0;
        binary = binary && (isnan(score) || is_whole_score(score));
    }
    /* the rows for the test are used only once, so the usual interval is valid */
    if (part == OPT_TEST && binary) pdl_eval_wilson(mean, (double)n, &low, &high);
    pdl_val d = pdl_dict_putz(pdl_dict_new(8), "rows", pdl_int((int64_t)n));
    d = pdl_dict_putz(d, "score", pdl_float(mean));
    d = pdl_dict_putz(d, "interval", interval(low, high));
    d = pdl_dict_putz(d, "failed", pdl_int((int64_t)failed));
    return pdl_search_put_use(z, candidate, part, n, d);
}

static pdl_val candidate_result(const opt_search *z, size_t candidate) {
    const opt_candidate *c = &z->candidates.p[candidate];
    pdl_val d = pdl_dict_putz(pdl_dict_new(6), "candidate", pdl_int((int64_t)candidate));
    d = pdl_dict_putz(d, "values", pdl_keep(c->values));
    d = pdl_dict_putz(d, "validation", part_result(z, candidate, OPT_VALIDATION));
    d = pdl_dict_putz(d, "test", part_result(z, candidate, OPT_TEST));
    d = pdl_dict_putz(d, "worse_on_kept", pdl_bool(c->is_out));
    return pdl_dict_putz(d, "first_error",
                         c->first_error ? pdl_text(pdl_str_of(c->first_error)) : pdl_null());
}

/* --- the verdict ------------------------------------------------------------------------------ */

typedef struct opt_pairs {
    double *d; /* the differences of the scores: the winner's minus the original program's */
    size_t n, up, down;
    bool binary; /* all scores are 0 or 1 */
} pairs;

static pairs compare(const opt_search *z, size_t winner) {
    size_t both[] = {0, winner};
    pairs p = {.n = pdl_search_common(z, both, 2, OPT_TEST), .binary = true};
    p.d = PDL_NEW_N(double, p.n + 1);
    for (size_t i = 0; i < p.n; i++) {
        size_t row = z->part[OPT_TEST].p[i];
        double a = pdl_search_score(z, winner, row), b = pdl_search_score(z, 0, row);
        p.d[i] = a - b;
        p.up += a > b;
        p.down += a < b;
        p.binary = p.binary && is_whole_score(a) && is_whole_score(b);
    }
    return p;
}

/* Computes the interval of the difference of two shares of the same rows. Half a pair is added to
 * each of the four kinds of pairs, after Agresti and Min ("Simple improved confidence intervals for
 * comparing matched proportions", Statistics in Medicine 24, 2005). */
static void share_interval(const pairs *p, double *low, double *high) {
    static const double z = 1.959963984540054;
    double n = (double)p->n + 2, up = (double)p->up + 0.5, down = (double)p->down + 0.5,
           d = (up - down) / n,
           half = z * sqrt(fmax(0, up + down - (up - down) * (up - down) / n)) / n;
    *low = fmax(-1, d - half);
    *high = fmin(1, d + half);
}

/* Decides which program is better. When answers are right or wrong, McNemar's exact test decides.
 * There is no such test for graded scores. For these, the bets of pdl eval --until decided are
 * used. */
static const char *decide(const pairs *p, double *chance) {
    *chance = pdl_eval_mcnemar(p->up, p->down);
    if (p->binary)
        return *chance >= PDL_VERDICT_LEVEL ? "undecided" : p->up > p->down ? "better" : "worse";
    pdl_eval_verdict v;
    pdl_eval_verdict_begin(&v, 0);
    for (size_t i = 0; i < p->n && !pdl_eval_verdict_take(&v, p->d[i]); i++) continue;
    return pdl_eval_verdict_name(v.what);
}

static pdl_val verdict_of(const opt_search *z, size_t winner) {
    pairs p = compare(z, winner);
    double low = -1, high = 1, sum = 0, chance = 1;
    const char *is = winner ? decide(&p, &chance) : "same";
    for (size_t i = 0; i < p.n; i++) sum += p.d[i];
    if (p.binary && p.n)
        share_interval(&p, &low, &high);
    else
        pdl_eval_verdict_interval(p.d, p.n, &low, &high);
    pdl_val v = pdl_dict_putz(pdl_dict_new(8), "is", pdl_textz(is));
    v = pdl_dict_putz(v, "rows", pdl_int((int64_t)p.n));
    v = pdl_dict_putz(v, "of", pdl_int((int64_t)z->part[OPT_TEST].n));
    v = pdl_dict_putz(v, "only_winner", pdl_int((int64_t)p.up));
    v = pdl_dict_putz(v, "only_before", pdl_int((int64_t)p.down));
    v = pdl_dict_putz(v, "difference", p.n && winner ? pdl_float(sum / (double)p.n) : pdl_null());
    v = pdl_dict_putz(v, "interval", p.n && winner ? interval(low, high) : pdl_null());
    v = pdl_dict_putz(v, "p", p.n && winner && p.binary ? pdl_float(chance) : pdl_null());
    pdl_free(p.d);
    return v;
}

/* --- the whole -------------------------------------------------------------------------------- */

static pdl_val rows_result(const opt_search *z) {
    pdl_val d = pdl_dict_new(OPT_PARTS);
    for (size_t i = 0; i < OPT_PARTS; i++)
        d = pdl_dict_putz(d, pdl_search_part_name((opt_part)i), pdl_int((int64_t)z->part[i].n));
    return d;
}

typedef struct opt_ranking {
    size_t candidate;
    double score;
    size_t rows;
} ranking;

static int by_ranking(const void *a, const void *b) {
    const ranking *x = a, *y = b;
    /* the candidate that was evaluated on more rows comes first */
    if (x->rows != y->rows) return x->rows > y->rows ? -1 : 1;
    if (x->score > y->score || x->score < y->score) return x->score > y->score ? -1 : 1;
    return x->candidate < y->candidate ? -1 : x->candidate > y->candidate;
}

static pdl_val standings(const opt_search *z) {
    size_t n = z->candidates.n, first = z->o->reference != NULL;
    ranking *s = PDL_NEW_N(ranking, n);
    pdl_val list = pdl_list_new(n);
    for (size_t i = 0; i < n; i++) {
        size_t one[] = {i};
        s[i] = (ranking){.candidate = i, .rows = pdl_search_common(z, one, 1, OPT_VALIDATION)};
        (void)pdl_search_mean(z, i, OPT_VALIDATION, s[i].rows, &s[i].score);
    }
    qsort(s, n, sizeof *s, by_ranking);
    for (size_t i = 0; i < n; i++)
        if (s[i].candidate >= first)
            list = pdl_list_push(list, candidate_result(z, s[i].candidate));
    pdl_free(s);
    return list;
}

static pdl_val proposals_result(const opt_search *z) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(4), "by", pdl_textz(z->proposer));
    d = pdl_dict_putz(d, "asked", pdl_int((int64_t)z->proposed));
    d = pdl_dict_putz(d, "first_error",
                      z->proposer_error ? pdl_textz(z->proposer_error) : pdl_null());
    return pdl_dict_putz(d, "history",
                         pdl_is_absent(z->history) ? pdl_list_new(0) : pdl_demo_plain(z->history));
}

/* Returns which program is kept. Without the reference's configuration, a winner within --at-most
 * is kept when it is better than the original program, or when the original program is above
 * --at-most. */
static const char *kept_of(const opt_search *z, pdl_vref result) {
    if (z->o->reference) return "winner"; /* a search that the reference describes has no verdict */
    pdl_vref is = pdl_dict_getz(pdl_dict_getz(result, "verdict"), "is"),
             within = pdl_dict_getz(result, "within");
    bool better = pdl_text_is(is, "better");
    if (!pdl_is_dict(within)) return better ? "winner" : "before";
    if (!pdl_bool_of(pdl_dict_getz(within, "winner")) || pdl_text_is(is, "same")) return "before";
    return better || !pdl_bool_of(pdl_dict_getz(within, "before")) ? "winner" : "before";
}

pdl_val pdl_search_combinations(const opt_search *z) {
    bool is_known = z->combinations && z->combinations <= INT64_MAX;
    return is_known ? pdl_int((int64_t)z->combinations) : pdl_null();
}

pdl_val pdl_search_result(const opt_search *z, size_t winner, bool certain) {
    const pdl_optimize_options *o = z->o;
    pdl_val d = pdl_dict_putz(pdl_dict_new(24), "program", pdl_text(o->program));
    d = pdl_dict_putz(d, "data", pdl_text(o->data.name));
    d = pdl_dict_putz(d, "score_by", pdl_text(o->judge.n ? o->judge : o->metric));
    d = pdl_dict_putz(d, "method", pdl_text(o->method));
    d = pdl_dict_putz(d, "seed", pdl_int((int64_t)o->seed));
    d = pdl_dict_putz(d, "rows", rows_result(z));
    d = pdl_dict_putz(d, "combinations", pdl_search_combinations(z));
    d = pdl_dict_putz(d, "candidates",
                      pdl_int((int64_t)z->candidates.n - (z->o->reference != NULL)));
    d = pdl_dict_putz(d, "evaluations", pdl_int((int64_t)z->evaluations));
    d = pdl_dict_putz(d, "calls", pdl_int(z->calls));
    d = pdl_dict_putz(d, "tokens", pdl_int(z->tokens));
    d = pdl_dict_putz(d, "cost", z->cost > 0 ? pdl_float(z->cost) : pdl_null());
    d = pdl_dict_putz(d, "seconds", pdl_float((double)(pdl_clock_ns() - z->begun_ns) / 1e9));
    if (z->proposer) d = pdl_dict_putz(d, "proposals", proposals_result(z));
    d = pdl_dict_putz(d, "budget_spent", pdl_bool(z->spent));
    d = pdl_dict_putz(d, "before", o->reference ? pdl_null() : candidate_result(z, 0));
    d = pdl_dict_putz(d, "winner", candidate_result(z, winner));
    d = pdl_dict_putz(d, "certain", pdl_bool(certain && winner));
    d = pdl_dict_putz(d, "verdict", o->reference ? pdl_null() : verdict_of(z, winner));
    d = pdl_search_put_objectives(z, winner, d);
    d = pdl_dict_putz(d, "kept", pdl_textz(kept_of(z, d)));
    return pdl_dict_putz(d, "standings", standings(z));
}
