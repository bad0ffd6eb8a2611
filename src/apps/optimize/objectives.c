/* objectives.c -- compares candidates by objectives and limits; see objectives.h. By scores alone,
 * an expensive candidate would win with a small advantage. So a candidate is compared by its score
 * and its uses together, over the rows on which all of the compared candidates were evaluated.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize/objectives.h"

#include "base/num.h"
#include "io/file.h"
#include "optimize/records.h"
#include "value/int.h"

#include "base/banned.h"

static const char *const names[OPT_USES] = {"calls", "tokens", "cost"};

/* --- options ---------------------------------------------------------------------------------- */

/* Finds the use `name`. When there is none, sets err to a message with the names that exist;
 * `score` is one of them when with_score is true. */
static bool find_item(pdl_str name, bool with_score, opt_use_item *out, pdl_err *err) {
    pdl_str known[OPT_USES + 1];
    for (size_t i = 0; i < OPT_USES; i++) {
        known[i] = pdl_str_of(names[i]);
        *out = (opt_use_item)i;
        if (pdl_str_eq(known[i], name)) return true;
    }
    known[OPT_USES] = PDL_STR("score");
    pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                "%s: there is no '%.*s': expected some of %scalls, tokens and cost",
                with_score ? "--objective" : "--at-most", PDL_FMT(name),
                with_score ? "score, " : "");
    pdl_str near = pdl_str_nearest(name, known, with_score ? OPT_USES + 1 : OPT_USES);
    if (near.n) pdl_err_hint(err, "did you mean '%.*s'?", PDL_FMT(near));
    return false;
}

static bool read_objective(opt_search *z, pdl_err *err) {
    pdl_str list = z->o->objective;
    bool has_score = !list.n;
    while (list.n) {
        pdl_str word = pdl_str_trim(pdl_str_take(&list, PDL_STR(",")));
        opt_use_item item;
        if (pdl_str_is(word, "score")) {
            has_score = true;
            continue;
        }
        if (!find_item(word, true, &item, err)) return false;
        z->wanted_low[item] = true;
    }
    return has_score ||
           pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                       "--objective: 'score' is missing: expected score and some of calls, tokens "
                       "and cost, as in score,cost");
}

static bool read_at_most(opt_search *z, pdl_err *err) {
    pdl_str list = z->o->at_most;
    while (list.n) {
        pdl_str word = pdl_str_take(&list, PDL_STR(","));
        size_t eq = pdl_str_find(word, PDL_STR("="), 0);
        opt_use_item item;
        double n = -1;
        pdl_str number =
            eq == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_trim(pdl_str_sub(word, eq + 1, word.n));
        if (!pdl_num_read_double(number, &n) || !(n >= 0) || isinf(n))
            return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                               "--at-most: '%.*s' is no limit: expected NAME=NUMBER, as in "
                               "cost=0.002",
                               PDL_FMT(word));
        if (!find_item(pdl_str_trim(pdl_str_sub(word, 0, eq)), false, &item, err)) return false;
        z->most[item] = n;
    }
    return true;
}

bool pdl_search_read_objectives(opt_search *z, pdl_err *err) {
    for (size_t i = 0; i < OPT_USES; i++) z->most[i] = -1;
    return read_objective(z, err) && read_at_most(z, err);
}

bool pdl_search_needs_costs(const opt_search *z) {
    return z->wanted_low[OPT_COST] || z->most[OPT_COST] >= 0;
}

/* --- comparisons ------------------------------------------------------------------------------ */

bool pdl_search_has_objectives(const opt_search *z) {
    bool any = false;
    for (size_t i = 0; i < OPT_USES; i++) any = any || z->wanted_low[i];
    return any;
}

static bool has_limits(const opt_search *z) {
    bool any = false;
    for (size_t i = 0; i < OPT_USES; i++) any = any || z->most[i] >= 0;
    return any;
}

double pdl_search_use(const opt_search *z, size_t candidate, opt_use_item item, const size_t *rows,
                      size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)z->candidates.p[candidate].uses[rows[i]].of[item];
    return n ? sum / (double)n : NAN;
}

bool pdl_search_is_above(double mean, double limit) { return !(mean <= limit * (1 + 1e-6)); }

bool pdl_search_is_over(const opt_search *z, size_t candidate, const size_t *rows, size_t n) {
    bool over = false;
    for (size_t i = 0; n && i < OPT_USES; i++)
        over = over || (z->most[i] >= 0 &&
                        pdl_search_is_above(pdl_search_use(z, candidate, (opt_use_item)i, rows, n),
                                            z->most[i]));
    return over;
}

bool pdl_search_is_over_in(const opt_search *z, size_t candidate, opt_part part) {
    size_t n = pdl_search_common(z, &candidate, 1, part);
    return pdl_search_is_over(z, candidate, z->part[part].p, n);
}

bool pdl_search_uses_more(const opt_search *z, size_t candidate, size_t than, const size_t *rows,
                          size_t n) {
    bool more = false;
    for (size_t i = 0; n && i < OPT_USES; i++)
        more = more || (z->wanted_low[i] &&
                        pdl_search_is_above(pdl_search_use(z, candidate, (opt_use_item)i, rows, n),
                                            pdl_search_use(z, than, (opt_use_item)i, rows, n)));
    return more;
}

/* The means over n rows for validation by which a candidate is compared. */
typedef struct standing {
    bool is_known;
    double score, use[OPT_USES];
    bool over; /* above --at-most */
} standing;

static standing standing_of(const opt_search *z, size_t candidate, size_t n) {
    const size_t *rows = z->part[OPT_VALIDATION].p;
    standing s = {.over = pdl_search_is_over(z, candidate, rows, n)};
    s.is_known = pdl_search_mean(z, candidate, OPT_VALIDATION, n, &s.score);
    for (size_t i = 0; i < OPT_USES; i++)
        s.use[i] = pdl_search_use(z, candidate, (opt_use_item)i, rows, n);
    return s;
}

static bool uses_more(const opt_search *z, const standing *a, const standing *b) {
    bool more = false;
    for (size_t i = 0; i < OPT_USES; i++)
        more = more || (z->wanted_low[i] && pdl_search_is_above(a->use[i], b->use[i]));
    return more;
}

/* Returns true when a is at least as good as b in everything, and better in something. */
static bool beats(const opt_search *z, const standing *a, const standing *b) {
    if (!a->is_known || !b->is_known || a->score < b->score || uses_more(z, a, b)) return false;
    return a->score > b->score || uses_more(z, b, a);
}

/* Each pair of candidates is compared. The means over the rows are computed only once, because a
 * search has at most 1000 candidates, but a table may have many rows. */
void pdl_search_keep_unbeaten(const opt_search *z, size_t *list, size_t *n) {
    size_t common = pdl_search_common(z, list, *n, OPT_VALIDATION), kept = 0;
    standing *all = PDL_NEW_N(standing, *n + 1);
    for (size_t i = 0; i < *n; i++) all[i] = standing_of(z, list[i], common);
    for (size_t i = 0; i < *n; i++) {
        bool out = all[i].over;
        for (size_t k = 0; k < *n && !out; k++) out = beats(z, &all[k], &all[i]);
        if (!out) list[kept++] = list[i];
    }
    *n = kept;
    pdl_free(all);
}

/* Returns the best candidate within the limits, among those that were evaluated on the most rows; 0
 * when no candidate is within the limits. */
static size_t best_within(const opt_search *z) {
    size_t best = 0, most = 0;
    double high = 0, mean;
    for (size_t i = 0; i < z->candidates.n; i++) {
        size_t n = pdl_search_common(z, &i, 1, OPT_VALIDATION);
        if (z->candidates.p[i].is_out || !n || pdl_search_is_over_in(z, i, OPT_VALIDATION) ||
            !pdl_search_mean(z, i, OPT_VALIDATION, n, &mean))
            continue;
        if (n < most || (n == most && mean <= high)) continue;
        best = i;
        most = n;
        high = mean;
    }
    return best;
}

size_t pdl_search_settle_winner(const opt_search *z, size_t winner) {
    if (has_limits(z) && pdl_search_is_over_in(z, winner, OPT_VALIDATION)) winner = best_within(z);
    if (!pdl_search_has_objectives(z)) return winner;
    size_t n = pdl_search_common(z, &winner, 1, OPT_VALIDATION);
    standing best = standing_of(z, winner, n);
    for (size_t i = 0; i < z->candidates.n; i++) {
        size_t both[] = {i, winner};
        if (z->candidates.p[i].is_out || pdl_search_common(z, both, 2, OPT_VALIDATION) < n)
            continue;
        standing s = standing_of(z, i, n);
        if (!beats(z, &s, &best) || pdl_search_is_over_in(z, i, OPT_VALIDATION)) continue;
        winner = i;
        best = s;
    }
    return winner;
}

#define FRONT "front"

/* --- the result ------------------------------------------------------------------------------- */

pdl_val pdl_search_put_use(const opt_search *z, size_t candidate, opt_part part, size_t n,
                           pdl_val d) {
    for (size_t i = 0; i < OPT_USES; i++) {
        bool known = i != OPT_COST || pdl_search_needs_costs(z);
        double mean = pdl_search_use(z, candidate, (opt_use_item)i, z->part[part].p, n);
        d = pdl_dict_putz(d, names[i], known && isfinite(mean) ? pdl_float(mean) : pdl_null());
    }
    return d;
}

static pdl_val front_of(const opt_search *z, size_t winner) {
    size_t n = pdl_search_common(z, &winner, 1, OPT_VALIDATION), kept = 0;
    size_t *list = PDL_NEW_N(size_t, z->candidates.n);
    for (size_t i = 0; i < z->candidates.n; i++)
        if (!z->candidates.p[i].is_out && n && pdl_search_common(z, &i, 1, OPT_VALIDATION) >= n)
            list[kept++] = i;
    if (kept) pdl_search_keep_unbeaten(z, list, &kept);
    pdl_val front = pdl_list_new(kept);
    for (size_t i = 0; i < kept; i++) {
        double mean;
        pdl_buf path = PDL_BUF;
        pdl_val d = pdl_dict_putz(pdl_dict_new(8), "candidate", pdl_int((int64_t)list[i]));
        (void)pdl_search_mean(z, list[i], OPT_VALIDATION, n, &mean);
        d = pdl_dict_putz(d, "rows", pdl_int((int64_t)n));
        d = pdl_search_put_use(z, list[i], OPT_VALIDATION, n,
                               pdl_dict_putz(d, "score", pdl_float(mean)));
        pdl_buf_putf(&path, "%s/" FRONT "/%zu.pdl", z->folder, list[i]);
        front = pdl_list_push(front, pdl_dict_putz(d, "program", pdl_text_of_buf(&path)));
    }
    pdl_free(list);
    return front;
}

static bool is_within(const opt_search *z, size_t candidate) {
    return !pdl_search_is_over_in(z, candidate, OPT_VALIDATION) &&
           !pdl_search_is_over_in(z, candidate, OPT_TEST);
}

pdl_val pdl_search_put_objectives(const opt_search *z, size_t winner, pdl_val d) {
    if (pdl_search_has_objectives(z)) {
        pdl_val list = pdl_list_push(pdl_list_new(OPT_USES + 1), pdl_textz("score"));
        for (size_t i = 0; i < OPT_USES; i++)
            if (z->wanted_low[i]) list = pdl_list_push(list, pdl_textz(names[i]));
        d = pdl_dict_putz(d, "objective", list);
        d = pdl_dict_putz(d, "front", front_of(z, winner));
    }
    if (!has_limits(z)) return d;
    pdl_val limits = pdl_dict_new(OPT_USES);
    for (size_t i = 0; i < OPT_USES; i++)
        if (z->most[i] >= 0) limits = pdl_dict_putz(limits, names[i], pdl_float(z->most[i]));
    d = pdl_dict_putz(d, "at_most", limits);
    pdl_val within = pdl_dict_putz(pdl_dict_new(2), "before", pdl_bool(is_within(z, 0)));
    return pdl_dict_putz(d, "within",
                         pdl_dict_putz(within, "winner", pdl_bool(is_within(z, winner))));
}

static bool write_one(const opt_search *z, pdl_vref member, pdl_err *err) {
    pdl_buf text = PDL_BUF;
    pdl_val left = pdl_absent();
    size_t number = (size_t)pdl_int_of(pdl_dict_getz(member, "candidate"));
    char name[sizeof FRONT "/.pdl" + 20];
    (void)snprintf(name, sizeof name, FRONT "/%zu.pdl", number);
    bool ok = pdl_search_put_program(z, number, false, &text, &left, err) &&
              pdl_search_write_file(z, name, pdl_buf_str(&text), err);
    if (!pdl_is_absent(left)) pdl_drop(left);
    pdl_buf_fini(&text);
    return ok;
}

bool pdl_search_write_front(const opt_search *z, pdl_vref result, pdl_err *err) {
    pdl_vref front = pdl_dict_getz(result, "front");
    pdl_buf folder = PDL_BUF;
    if (!pdl_is_list(front)) return true;
    pdl_buf_putf(&folder, "%s/" FRONT, z->folder);
    bool ok = pdl_file_mkdir(pdl_buf_z(&folder), err);
    for (size_t i = 0; ok && i < pdl_list_len(front); i++)
        ok = write_one(z, pdl_list_at(front, i), err);
    pdl_buf_fini(&folder);
    return ok;
}
