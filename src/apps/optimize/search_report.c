/* search_report.c -- writes the result of a search for people, as Markdown that is also readable in
 * a terminal. The only input is the result, a dict that search_result.c made.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/plural.h"
#include "base/utf8.h"
#include "optimize/objectives.h"
#include "value/int.h"
#include "value/json_write.h"

#include "base/banned.h"

enum { SHOWN = 10, WIDTH = 60 };

static double number(pdl_vref d, const char *key) {
    pdl_vref v = pdl_is_dict(d) ? pdl_dict_getz(d, key) : pdl_absent();
    return pdl_is_int(v) || pdl_is(v, PDL_V_FLOAT) ? pdl_num_to_double(v) : 0;
}

static pdl_str text(pdl_vref d, const char *key) {
    pdl_vref v = pdl_dict_getz(d, key);
    return pdl_is_str(v) ? pdl_str_get(v) : (pdl_str){0};
}

static bool text_is(pdl_vref d, const char *key, const char *s) {
    return pdl_is_dict(d) && pdl_text_is(pdl_dict_getz(d, key), s);
}

/* Appends the values that a candidate changes. */
static void put_values(pdl_vref values, bool is_out, pdl_buf *out) {
    pdl_buf b = PDL_BUF;
    pdl_err ignored = {0};
    for (size_t i = 0; i < pdl_dict_len(values); i++) {
        pdl_buf_putf(&b, "%s%.*s: ", i ? ", " : "",
                     PDL_FMT(pdl_str_get(pdl_dict_key_at(values, i))));
        if (!pdl_json_write(pdl_dict_val_at(values, i), PDL_JSON_SPACED | PDL_JSON_LOOSE, 0, &b,
                            &ignored))
            pdl_err_fini(&ignored);
    }
    pdl_str all = pdl_buf_str(&b), shown = pdl_utf8_cut(all, WIDTH);
    for (size_t i = 0; i < shown.n; i++) {
        if (shown.p[i] == '|') pdl_buf_putc(out, '\\');
        pdl_buf_putc(out, shown.p[i]);
    }
    if (!all.n) PDL_PUT(out, "the program as it was");
    if (shown.n < all.n) PDL_PUT(out, "...");
    if (is_out) PDL_PUT(out, " (worse on a row of --keep)");
    pdl_buf_fini(&b);
}

static void put_score(pdl_vref part, pdl_buf *out) {
    if (!pdl_is_dict(part)) {
        PDL_PUT(out, "  |  |  ");
        return;
    }
    pdl_vref in = pdl_dict_getz(part, "interval");
    pdl_buf_putf(out, " %.3f | %.3f to %.3f | %.0f ", number(part, "score"),
                 pdl_float_of(pdl_list_at(in, 0)), pdl_float_of(pdl_list_at(in, 1)),
                 number(part, "rows"));
    if (number(part, "failed") > 0) pdl_buf_putf(out, "(%.0f failed) ", number(part, "failed"));
}

/* The columns for the uses of a row. A column is shown when --objective or --at-most names it. */
static const char *const uses[] = {"calls", "tokens", "cost"};
enum { USES = sizeof uses / sizeof *uses };

static bool is_shown(pdl_vref r, const char *use) {
    pdl_vref list = pdl_dict_getz(r, "objective"), limits = pdl_dict_getz(r, "at_most");
    bool shown = pdl_is_dict(limits) && !pdl_is_absent(pdl_dict_getz(limits, use));
    for (size_t i = 0; pdl_is_list(list) && i < pdl_list_len(list); i++)
        shown = shown || pdl_text_is(pdl_list_at(list, i), use);
    return shown;
}

/* Appends the heads of the columns with uses. */
static void put_use_heads(pdl_vref r, pdl_buf *out) {
    for (size_t i = 0; i < USES; i++)
        if (is_shown(r, uses[i])) pdl_buf_putf(out, " %s a row |", uses[i]);
}

static void put_use_rules(pdl_vref r, pdl_buf *out) {
    for (size_t i = 0; i < USES; i++)
        if (is_shown(r, uses[i])) PDL_PUT(out, "---|");
}

static void put_use(pdl_vref r, pdl_vref part, pdl_buf *out) {
    for (size_t i = 0; i < USES; i++) {
        bool known = pdl_is_dict(part) && !pdl_is_null(pdl_dict_getz(part, uses[i]));
        if (!is_shown(r, uses[i])) continue;
        if (known)
            pdl_buf_putf(out, "| %.4g ", number(part, uses[i]));
        else
            PDL_PUT(out, "| ");
    }
}

static void put_standings(pdl_vref r, pdl_buf *out) {
    pdl_vref list = pdl_dict_getz(r, "standings");
    size_t n = pdl_list_len(list);
    if (n > SHOWN)
        pdl_buf_putf(out, "The first %d of %zu, which are all in candidates.jsonl:\n\n", SHOWN, n);
    PDL_PUT(out, "| candidate | score | 95 % interval | rows |");
    put_use_heads(r, out);
    PDL_PUT(out, " changes |\n|---|---|---|---|");
    put_use_rules(r, out);
    PDL_PUT(out, "---|\n");
    for (size_t i = 0; i < n && i < SHOWN; i++) {
        pdl_vref c = pdl_list_at(list, i);
        pdl_buf_putf(out, "| %.0f |", number(c, "candidate"));
        put_score(pdl_dict_getz(c, "validation"), out);
        put_use(r, pdl_dict_getz(c, "validation"), out);
        PDL_PUT(out, "| ");
        put_values(pdl_dict_getz(c, "values"), pdl_bool_of(pdl_dict_getz(c, "worse_on_kept")), out);
        PDL_PUT(out, " |\n");
    }
}

static void put_test(pdl_vref r, pdl_buf *out) {
    static const char *const keys[] = {"before", "winner"}, *const names[] = {"as it was",
                                                                              "winner"};
    bool compared = pdl_is_dict(pdl_dict_getz(r, "before"));
    bool differs = number(pdl_dict_getz(r, "winner"), "candidate") > 0;
    PDL_PUT(out, "| program | score | 95 % interval | rows |");
    put_use_heads(r, out);
    PDL_PUT(out, "\n|---|---|---|---|");
    put_use_rules(r, out);
    PDL_PUT(out, "\n");
    for (size_t i = compared ? 0 : 1; i < 1 + (size_t)differs; i++) {
        pdl_buf_putf(out, "| %s |", names[i]);
        put_score(pdl_dict_getz(pdl_dict_getz(r, keys[i]), "test"), out);
        put_use(r, pdl_dict_getz(pdl_dict_getz(r, keys[i]), "test"), out);
        PDL_PUT(out, "|\n");
    }
}

static void put_errors(pdl_vref r, pdl_buf *out) {
    pdl_vref before = pdl_dict_getz(r, "before");
    pdl_str why = pdl_is_dict(before) ? text(before, "first_error") : (pdl_str){0};
    if (!why.n) why = text(pdl_dict_getz(r, "winner"), "first_error");
    pdl_vref all = pdl_dict_getz(r, "standings");
    for (size_t i = 0; !why.n && i < pdl_list_len(all); i++)
        why = text(pdl_list_at(all, i), "first_error");
    if (why.n) pdl_buf_putf(out, "\nAnswers that failed count as wrong; %.*s\n", PDL_FMT(why));
}

static void put_difference(pdl_vref v, pdl_buf *out) {
    static const double least_shown = 0.0001;
    pdl_vref in = pdl_dict_getz(v, "interval"), p = pdl_dict_getz(v, "p");
    if (!pdl_is_list(in)) return;
    double rows = number(v, "rows"), more = number(v, "difference");
    double better = number(v, "only_winner"), sign = more < 0 ? -1 : 1;
    size_t first = more < 0;
    pdl_buf_putf(out,
                 " On %.0f row%s for the test its score is %s by %.3f (95 %% interval %.3f to "
                 "%.3f): better on %.0f row%s, worse on %.0f",
                 rows, PDL_PLURAL(rows), more < 0 ? "lower" : "higher", sign * more,
                 sign * pdl_float_of(pdl_list_at(in, first)),
                 sign * pdl_float_of(pdl_list_at(in, 1 - first)), better, PDL_PLURAL(better),
                 number(v, "only_before"));
    if (!pdl_is_null(p) && number(v, "p") < least_shown)
        pdl_buf_putf(out, "; exact McNemar p < %.4f", least_shown);
    else if (!pdl_is_null(p))
        pdl_buf_putf(out, "; exact McNemar p = %.4f", number(v, "p"));
    PDL_PUT(out, ".");
}

/* Returns true when a mean in `use` is above --at-most, or is unknown. */
static bool is_above_limits(pdl_vref r, pdl_vref use) {
    pdl_vref limits = pdl_dict_getz(r, "at_most");
    bool above = false;
    if (!pdl_is_dict(limits) || !pdl_is_dict(use)) return false;
    for (size_t i = 0; i < pdl_dict_len(limits); i++) {
        pdl_vref mean = pdl_dict_gets(use, pdl_str_get(pdl_dict_key_at(limits, i)));
        bool known = !pdl_is_absent(mean) && !pdl_is_null(mean);
        above = above || pdl_search_is_above(known ? pdl_num_to_double(mean) : NAN,
                                             pdl_num_to_double(pdl_dict_val_at(limits, i)));
    }
    return above;
}

static bool is_above_on_validation(pdl_vref r) {
    return is_above_limits(r, pdl_dict_getz(pdl_dict_getz(r, "before"), "validation"));
}

/* Returns what keeps a candidate with a better score from being the winner; NULL when nothing
 * does. */
static const char *what_excludes(pdl_vref r) {
    pdl_vref all = pdl_dict_getz(r, "standings");
    pdl_vref before = pdl_dict_getz(pdl_dict_getz(r, "before"), "validation");
    bool above = false;
    for (size_t i = 0; pdl_is_dict(before) && i < pdl_list_len(all); i++) {
        pdl_vref c = pdl_list_at(all, i), use = pdl_dict_getz(c, "validation");
        if (!pdl_is_dict(use) || number(use, "score") <= number(before, "score")) continue;
        if (pdl_bool_of(pdl_dict_getz(c, "worse_on_kept"))) return "worse on a row of --keep";
        above = above || is_above_limits(r, use);
    }
    return above ? "above --at-most" : NULL;
}

/* Appends the verdict that no candidate wins. When a candidate has a higher score but is excluded,
 * appends the reason. */
static void put_no_winner(pdl_vref r, pdl_buf *out) {
    const char *why = what_excludes(r);
    if (why)
        pdl_buf_putf(out, "A candidate that scores more is %s: the program as it was is kept.",
                     why);
    else
        PDL_PUT(out, "No candidate was better than the program as it was, which is kept.");
}

/* Appends what --at-most decided. */
static void put_within(pdl_vref r, pdl_buf *out) {
    pdl_vref within = pdl_dict_getz(r, "within");
    if (!pdl_is_dict(within)) return;
    bool before = pdl_bool_of(pdl_dict_getz(within, "before")),
         winner = pdl_bool_of(pdl_dict_getz(within, "winner")),
         same = text_is(pdl_dict_getz(r, "verdict"), "is", "same");
    if (same && !winner && is_above_on_validation(r))
        PDL_PUT(out, "No candidate is within --at-most: the program as it was is above it, too.\n");
    else if (same && !winner)
        PDL_PUT(out, "On the rows for the test it is above --at-most.\n");
    else if (!winner)
        pdl_buf_putf(out,
                     "On the rows for the test the winner is above --at-most: the program as "
                     "it was is kept%s.\n",
                     before ? "" : ", which is above it, too");
    else if (!before)
        PDL_PUT(out, "The program as it was is above --at-most: the winner is kept.\n");
}

static void put_verdict(pdl_vref r, pdl_buf *out) {
    pdl_vref v = pdl_dict_getz(r, "verdict");
    pdl_str is = text(v, "is");
    bool is_kept = text_is(r, "kept", "winner");
    if (pdl_str_is(is, "better"))
        PDL_PUT(out, "The winner is better than the program as it was.");
    else if (pdl_str_is(is, "same"))
        put_no_winner(r, out);
    else if (pdl_str_is(is, "worse"))
        pdl_buf_putf(out, "The winner is worse than the program as it was%s.",
                     is_kept ? "" : ", which is kept");
    else if (is_kept)
        PDL_PUT(out, "It is not shown that the winner is better than the program as it was.");
    else
        PDL_PUT(out, "It is not shown that the winner is better: the program as it was is kept.");
    put_difference(v, out);
    PDL_PUT(out, "\n");
    put_within(r, out);
    if (number(v, "rows") < number(v, "of") && !pdl_str_is(is, "same"))
        pdl_buf_putf(out, "The budget ended before %.0f of the %.0f rows for the test.\n",
                     number(v, "of") - number(v, "rows"), number(v, "of"));
}

void pdl_optimize_put_candidates(pdl_vref result, pdl_buf *out) {
    double n = number(result, "candidates"), of = number(result, "combinations");
    pdl_buf_putf(out, "%.0f candidates", n);
    if (of > n) pdl_buf_putf(out, ", drawn from %.0f combinations", of);
}

static void put_count(const char *before, double n, const char *what, pdl_buf *out) {
    pdl_buf_putf(out, "%s%.0f %s%s", before, n, what, PDL_PLURAL(n));
}

static void put_head(pdl_vref r, pdl_buf *out) {
    pdl_vref rows = pdl_dict_getz(r, "rows");
    pdl_buf_putf(out, "# %.*s by %.*s\n\n", PDL_FMT(text(r, "program")),
                 PDL_FMT(text(r, "method")));
    pdl_optimize_put_candidates(r, out);
    pdl_buf_putf(out,
                 ", %.*s: %.0f rows for training, %.0f for "
                 "validation, %.0f for the test. Scores by %.*s, seed %.0f.\n",
                 PDL_FMT(text(r, "data")), number(rows, "train"), number(rows, "validation"),
                 number(rows, "test"), PDL_FMT(text(r, "score_by")), number(r, "seed"));
    put_count("", number(r, "evaluations"), "evaluation", out);
    put_count(", ", number(r, "calls"), "call", out);
    put_count(", ", number(r, "tokens"), "token", out);
    if (number(r, "cost") > 0) pdl_buf_putf(out, ", cost %.4g", number(r, "cost"));
    pdl_buf_putf(out, "%s.\n\n",
                 pdl_bool_of(pdl_dict_getz(r, "budget_spent")) ? "; the budget ended it" : "");
}

/* Reports how many texts a model proposed, and how many of them were used. */
static void put_proposals(pdl_vref r, pdl_buf *out) {
    pdl_vref p = pdl_dict_getz(r, "proposals"), list = pdl_dict_getz(p, "history");
    size_t accepted = 0, merged = 0, refused = 0;
    for (size_t i = 0; i < pdl_list_len(list); i++) {
        pdl_vref step = pdl_list_at(list, i);
        bool in = pdl_is(pdl_dict_getz(step, "candidate"), PDL_V_INT);
        if (text_is(step, "what", "merge"))
            merged += in;
        else
            accepted += in;
        refused += pdl_is_str(pdl_dict_getz(step, "error"));
    }
    pdl_buf_putf(
        out, "%.0f text%s proposed by %.*s: %zu did better on a few rows and are candidates",
        number(p, "asked"), PDL_PLURAL(number(p, "asked")), PDL_FMT(text(p, "by")), accepted);
    if (refused) pdl_buf_putf(out, ", %zu were refused", refused);
    if (merged) pdl_buf_putf(out, "; %zu merged from others", merged);
    PDL_PUT(out, ".\n");
    pdl_str why = text(p, "first_error");
    if (why.n) pdl_buf_putf(out, "The model did not always answer: %.*s\n", PDL_FMT(why));
    PDL_PUT(out, "\n");
}

/* Appends the candidates that no other candidate beats in all objectives. */
static void put_front(pdl_vref r, pdl_buf *out) {
    pdl_vref list = pdl_dict_getz(r, "front");
    if (!pdl_is_list(list)) return;
    PDL_PUT(out, "\n## Front\n\nNo other candidate is better than one of these in everything:\n\n"
                 "| candidate | score |");
    put_use_heads(r, out);
    PDL_PUT(out, " program |\n|---|---|");
    put_use_rules(r, out);
    PDL_PUT(out, "---|\n");
    for (size_t i = 0; i < pdl_list_len(list); i++) {
        pdl_vref c = pdl_list_at(list, i);
        pdl_buf_putf(out, "| %.0f | %.3f ", number(c, "candidate"), number(c, "score"));
        put_use(r, c, out);
        pdl_buf_putf(out, "| %.*s |\n", PDL_FMT(text(c, "program")));
    }
}

void pdl_optimize_put_report(pdl_vref r, pdl_buf *out) {
    put_head(r, out);
    if (pdl_is_dict(pdl_dict_getz(r, "proposals"))) put_proposals(r, out);
    PDL_PUT(out, "## Validation\n\n");
    put_standings(r, out);
    if (pdl_bool_of(pdl_dict_getz(r, "certain")))
        PDL_PUT(out, "\nAll others are certainly worse than the winner on rows like these.\n");
    put_front(r, out);
    bool tested = number(pdl_dict_getz(r, "rows"), "test") > 0;
    if (tested) PDL_PUT(out, "\n## Test\n\n");
    if (tested) put_test(r, out);
    put_errors(r, out);
    PDL_PUT(out, "\n");
    if (pdl_is_dict(pdl_dict_getz(r, "verdict"))) put_verdict(r, out);
    pdl_vref left = pdl_dict_getz(r, "not_written");
    if (pdl_is_dict(left)) {
        PDL_PUT(out, "\nThe program has no defs, so that these values have to be given to it: ");
        put_values(left, false, out);
        PDL_PUT(out, "\n");
    }
    pdl_str output = text(r, "output");
    if (output.n) pdl_buf_putf(out, "\nWritten: %.*s\n", PDL_FMT(output));
    pdl_str folder = text(r, "folder");
    if (folder.n) pdl_buf_putf(out, "Records: %.*s\n", PDL_FMT(folder));
}
