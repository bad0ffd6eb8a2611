/* records.c -- checks the numbers, texts and names in the fields that are objects: retry, budget
 * and the aggregator of a file. A value that a run refuses is an error here; a value that a run
 * accepts and ignores is a warning.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>

#include "base/utf8.h"
#include "check/checker.h"
#include "lang/exceptions.h"

#include "base/banned.h"

static pdl_loc mark_of(const pdl_tree *t) { return t->node ? pdl_node_loc(t->node) : t->loc; }

/* The kinds that the numbers of a record may have. */
enum { COUNTS = PDL_TY_NUMBER | PDL_TY_OTHER | PDL_TY_UNDEFINED | PDL_TY_NULL };

static bool is_number(const pdl_ty *t) {
    return t->has_value && t->kinds & (PDL_TY_INT | PDL_TY_FLOAT);
}

bool pdl_checker_is_below(const pdl_ty *t, double least) {
    return is_number(t) && pdl_num_to_double(t->value) < least;
}

bool pdl_checker_truth_counts(pdl_checker *c, pdl_rule_id rule, const char *name,
                              const pdl_node *n) {
    if (!n || n->kind != PDL_NODE_SCALAR || n->type != PDL_NT_BOOL) return false;
    pdl_diag *d = pdl_checker_diag(c, rule, pdl_node_loc(n), pdl_node_loc(n),
                                   "`%s` is a number, and a boolean counts as 0 or 1", name);
    pdl_checker_soften(d);
    pdl_checker_hint(c, d, "write a number");
    return true;
}

/* --- retry ------------------------------------------------------------------------------------ */

static void check_exception(pdl_checker *c, pdl_vref v, const pdl_node *n, pdl_loc loc) {
    if (!pdl_is_str(v) || pdl_exception_is_known(pdl_str_get(v))) return;
    pdl_loc mark = n ? pdl_node_loc(n) : loc;
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_retry_type, mark, mark,
                                   "`retry` knows no error '%.*s'", PDL_FMT(pdl_str_get(v)));
    pdl_str near = pdl_exception_near(pdl_str_get(v));
    if (near.n) pdl_checker_hint(c, d, "did you mean '%.*s'?", PDL_FMT(near));
}

static void report_soft(pdl_checker *c, const pdl_tree *part, const char *what, const char *hint) {
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_retry_type, part->loc, mark_of(part), "%s", what);
    pdl_checker_soften(d);
    if (hint) pdl_checker_hint(c, d, "%s", hint);
}

/* Checks names of errors that are written as text. Other names are only known in a run. */
static void check_exceptions(pdl_checker *c, const pdl_tree *t) {
    if (t->kind == PDL_TREE_LIST)
        for (uint32_t i = 0; i < t->n; i++) check_exceptions(c, t->items[i]);
    if (t->kind != PDL_TREE_CONST) return;
    if (!pdl_is_list(t->value)) {
        check_exception(c, t->value, t->node, t->loc);
        return;
    }
    size_t n = pdl_list_len(t->value);
    if (!n)
        report_soft(c, t, "`exceptions` is empty: nothing is tried again",
                    "leave it out, so that every error is");
    bool placed = t->node && t->node->kind == PDL_NODE_SEQ && t->node->n == n;
    for (size_t i = 0; i < n; i++)
        check_exception(c, pdl_list_at(t->value, i), placed ? t->node->items[i] : t->node, t->loc);
}

/* Reports a negative number of tries: a run then tries without end, as the reference does. */
static void report_tries(pdl_checker *c, pdl_loc loc, const pdl_node *n) {
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_retry_type, loc, n ? pdl_node_loc(n) : loc,
                                   "`retry` is negative: it is tried again without end");
    pdl_checker_soften(d);
    pdl_checker_hint(c, d, "write how often it is tried again: retry: {tries: 3}");
}

/* Checks a number in the object form, `retry: {...}`. */
static void check_retry_number(pdl_checker *c, const pdl_tree *part, const char *key,
                               const pdl_ty *t) {
    bool is_tries = pdl_str_is(pdl_str_of(key), "tries");
    if (pdl_checker_truth_counts(c, PDL_RULE_retry_type, key, part->node)) return;
    if (!(t->kinds & COUNTS)) {
        pdl_buf shown = PDL_BUF;
        pdl_ty_show(t, &shown);
        pdl_checker_diag(c, PDL_RULE_retry_type, part->loc, mark_of(part),
                         "`%s` of retry is a number, and this is %.*s", key,
                         PDL_FMT(pdl_buf_str(&shown)));
        pdl_buf_fini(&shown);
    } else if (pdl_checker_is_below(t, 0) && is_tries) {
        report_tries(c, part->loc, part->node);
    } else if (pdl_checker_is_below(t, 0)) {
        pdl_diag *d = pdl_checker_diag(c, PDL_RULE_retry_type, part->loc, mark_of(part),
                                       "`%s` of retry is negative", key);
        pdl_checker_soften(d);
        pdl_checker_hint(c, d, "write a number of at least 0, or leave it out");
    }
}

static PDL_NOINLINE void check_retry(pdl_checker *c, const pdl_retry *retry) {
    size_t n;
    const pdl_record_part *parts = pdl_record_parts(PDL_RECORD_retry, &n);
    if (!retry->is_object && retry->count < 0) report_tries(c, retry->loc, retry->node);
    if (!retry->is_object)
        (void)pdl_checker_truth_counts(c, PDL_RULE_retry_type, "retry", retry->node);
    if (retry->is_object && !retry->tries) {
        pdl_diag *d = pdl_checker_diag(c, PDL_RULE_retry_type, retry->loc, retry->loc,
                                       "`retry` has no `tries`: it is tried again without end");
        pdl_checker_soften(d);
        pdl_checker_hint(c, d, "write how often it is tried again: retry: {tries: 3}");
    }
    for (size_t i = 0; i < n; i++) {
        const pdl_tree *part = pdl_record_part_at(retry, &parts[i]);
        const pdl_ty *t = pdl_checker_tree(c, part);
        if (part && parts[i].type == PDL_RT_WORDS) check_exceptions(c, part);
        if (part && (parts[i].type == PDL_RT_XINT || parts[i].type == PDL_RT_XNUM))
            check_retry_number(c, part, parts[i].key, t);
    }
}

/* Reports a `trace_error_on_retry` that is a text, or that does nothing because there is no
 * retry. */
static void check_traced(pdl_checker *c, const pdl_block *b) {
    const pdl_node *n = pdl_node_find(b->node, PDL_STR("trace_error_on_retry"), NULL);
    if (!n || c->quiet || c->opt->no_lint) return;
    pdl_loc key = pdl_field_loc(b, "trace_error_on_retry"), at = pdl_node_loc(n);
    if (pdl_node_is_str(n) && n->text.n) {
        pdl_diag *d = pdl_checker_diag(c, PDL_RULE_literal_condition, key, at,
                                       "`trace_error_on_retry` is the text '%.*s', which is "
                                       "always true",
                                       PDL_FMT(pdl_utf8_cut(n->text, 60)));
        pdl_checker_hint(c, d, "write true or false without quotes");
    } else if (b->rare->trace_error_on_retry && !b->rare->retry) {
        pdl_diag *d = pdl_checker_diag(c, PDL_RULE_retry_type, key, key,
                                       "`trace_error_on_retry` does nothing without `retry`");
        pdl_checker_soften(d);
        pdl_checker_hint(c, d, "write how often it is tried again: retry: 3");
    }
}

void pdl_checker_retry(pdl_checker *c, const pdl_block *b) {
    if (b->rare->retry) check_retry(c, b->rare->retry);
    check_traced(c, b);
}

/* --- budget ----------------------------------------------------------------------------------- */

static void report_limit(pdl_checker *c, const pdl_tree *part, const char *key, const pdl_ty *t) {
    bool is_nan = is_number(t) && isnan(pdl_num_to_double(t->value));
    if (pdl_checker_is_below(t, 0) || is_nan) {
        pdl_checker_diag(c, PDL_RULE_budget_type, part->loc, mark_of(part), "`%s` of budget is %s",
                         key, is_nan ? "not a number" : "negative");
    } else if (!(t->kinds & COUNTS & ~(unsigned)PDL_TY_BOOL)) {
        pdl_buf shown = PDL_BUF;
        pdl_ty_show(t, &shown);
        pdl_checker_diag(c, PDL_RULE_budget_type, part->loc, mark_of(part),
                         "`%s` of budget is a number, and this is %.*s", key,
                         PDL_FMT(pdl_buf_str(&shown)));
        pdl_buf_fini(&shown);
    }
}

void pdl_checker_budget(pdl_checker *c, const pdl_budget_field *budget) {
    size_t n;
    bool limits = false;
    const pdl_record_part *parts = pdl_record_parts(PDL_RECORD_budget, &n);
    for (size_t i = 0; i < n; i++) {
        const pdl_tree *part = pdl_record_part_at(budget, &parts[i]);
        if (part) report_limit(c, part, parts[i].key, pdl_checker_tree(c, part));
        limits = limits || part;
    }
    if (limits) return;
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_budget_type, budget->loc, budget->loc,
                                   "`budget` is empty and limits nothing");
    pdl_checker_soften(d);
    pdl_checker_hint(c, d, "write a limit, as in budget: {calls: 20}");
}

/* --- aggregator ------------------------------------------------------------------------------- */

static void check_mode(pdl_checker *c, const pdl_tree *part, const pdl_ty *t) {
    if (!t->has_value || !pdl_is_str(t->value)) return;
    pdl_str mode = pdl_str_get(t->value);
    bool writes = false, known = true;
    for (size_t i = 0; i < mode.n; i++) {
        writes = writes || pdl_byte_in(mode.p[i], PDL_STR("wax+"));
        known = known && pdl_byte_in(mode.p[i], PDL_STR("rwax+bt"));
    }
    if (writes && known) return;
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_aggregator_type, part->loc, mark_of(part),
                                   "a file is not written in the mode '%.*s'",
                                   PDL_FMT(pdl_utf8_cut(mode, 60)));
    pdl_checker_hint(c, d, "write w (from its beginning), a (at its end) or x (a new file)");
}

/* Reports a text in place of a boolean: a text is true unless it is empty. */
static void check_flush(pdl_checker *c, const pdl_tree *part, const pdl_ty *t) {
    if (!t->has_value || !pdl_is_str(t->value) || !pdl_str_get(t->value).n) return;
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_literal_condition, part->loc, mark_of(part),
                                   "`flush` is the text '%.*s', which is always true",
                                   PDL_FMT(pdl_utf8_cut(pdl_str_get(t->value), 60)));
    pdl_checker_hint(c, d, "write true or false without quotes");
}

void pdl_checker_aggregator(pdl_checker *c, const pdl_agg *agg) {
    size_t n;
    const pdl_record_part *parts = pdl_record_parts(PDL_RECORD_aggregator, &n);
    for (size_t i = 0; i < n; i++) {
        const pdl_tree *part = pdl_record_part_at(agg, &parts[i]);
        if (!part) continue;
        const pdl_ty *t = pdl_checker_tree(c, part);
        if (pdl_str_is(pdl_str_of(parts[i].key), "mode")) check_mode(c, part, t);
        if (pdl_str_is(pdl_str_of(parts[i].key), "flush")) check_flush(c, part, t);
    }
}
