/* proposal_plan.c -- decides how many texts a model may propose in a search, by what the user
 * requests and what the budget allows. A search with only one or two proposals rarely finds
 * anything, so it is refused before it begins, unless the user confirms it (--yes).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize/proposals.h"

#include <math.h>

#include "base/plural.h"
#include "check/check.h"
#include "lang/load.h"
#include "value/json_write.h"

#include "base/banned.h"

enum { FEWEST = 3, DEFAULT_PROPOSALS = 10, MAX_PROPOSALS = 1000, PROMPT_TOKENS = 700 };

/* Returns the maximum number of evaluations for a proposal. It is evaluated on a few rows, together
 * with the candidate from which it was made. If it is better on these rows, it is evaluated on the
 * rows for validation, too. */
static double rows_each(const opt_search *z) {
    return 2 * OPT_MINIBATCH + (double)z->part[OPT_VALIDATION].n;
}

double pdl_search_most(const opt_search *z) {
    double validation = (double)z->part[OPT_VALIDATION].n, kept = (double)z->part[OPT_KEPT].n,
           candidates = (double)z->candidates.n, most = (double)z->proposals * rows_each(z);
    if (pdl_search_draws_demos(z)) {
        candidates += OPT_SELECTIONS;
        most += (double)z->part[OPT_TRAIN].n; /* the answers from which demonstrations are made */
    }
    if (z->o->n_tuned > 1) /* each accepted proposal may give a merge */
        most += (double)z->proposals * OPT_MERGE_ROWS +
                fmin(OPT_MERGES, (double)z->proposals) * validation;
    return most + validation * candidates + kept * (candidates + (double)z->proposals);
}

opt_estimate pdl_search_estimate_proposal(const opt_estimate *e) {
    double rows = OPT_MINIBATCH, prompt = PROMPT_TOKENS + rows * e->prompt_tokens;
    opt_estimate one = {.calls = 1, .prompt_tokens = prompt, .unpriced = pdl_absent()};
    /* The tokens of a proposal have the price of the program's prompts, since a proposal uses the
     * same model unless another one is named. */
    if (e->prompt_tokens > 0) one.cost = e->cost / e->prompt_tokens * prompt;
    one.answer_tokens = e->calls > 0 ? e->answer_tokens / e->calls : 0;
    return one;
}

/* Returns how many proposals the budget allows when each is evaluated on all rows of
 * the validation. */
static size_t allowed(const opt_search *z, const opt_estimate *e) {
    opt_estimate one = pdl_search_estimate_proposal(e);
    const struct {
        pdl_budget_item item;
        double each, proposal;
    } rows[] = {{PDL_BUDGET_calls, e->calls, one.calls},
                {PDL_BUDGET_tokens, e->prompt_tokens, one.prompt_tokens},
                {PDL_BUDGET_cost, e->cost, one.cost}};
    double n = MAX_PROPOSALS, first = (double)z->part[OPT_VALIDATION].n * (double)z->candidates.n;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double limit = z->budget->limit[rows[i].item], each = rows[i].each,
               one_more = rows[i].proposal + rows_each(z) * each,
               test = fmin(2 * (double)z->part[OPT_TEST].n * each, limit / 2);
        if (limit >= 0 && one_more > 0) n = fmin(n, (limit - test - first * each) / one_more);
    }
    return n > 0 ? (size_t)n : 0;
}

/* Returns the first model that the program names by a literal; empty when it names none. */
static pdl_str named_model(const opt_search *z) {
    for (pdl_ytree_id i = 0; i < z->tree->n_nodes; i++) {
        const pdl_ytree_node *n = pdl_ytree_node_of(z->tree, i),
                             *v = n->is_key ? pdl_ytree_node_of(z->tree, n->next) : NULL;
        if (v && v->kind == PDL_YTREE_SCALAR && pdl_str_is(n->text, "model") && v->text.n &&
            pdl_str_find(v->text, PDL_STR("${"), 0) == PDL_NOT_FOUND)
            return v->text;
    }
    return (pdl_str){0};
}

/* Returns true when there is a provider for the model of --proposer. The search calls that model
 * only after rows were paid for. So a wrong name is found before, by checking a program that only
 * calls this model. */
static bool knows_proposer(const opt_search *z, pdl_err *err) {
    pdl_buf b = PDL_BUF;
    bool loads, known = true;
    pdl_val name = pdl_text(z->o->proposer);
    PDL_PUT(&b, "model: ");
    if (!pdl_json_write(name, PDL_JSON_LOOSE, 0, &b, err)) known = false;
    PDL_PUT(&b, "\ninput: text\n");
    pdl_program *p = pdl_program_new();
    pdl_program_load(p, PDL_STR("proposer.pdl"), pdl_buf_str(&b), &loads);
    pdl_program *own = known && loads ? pdl_session_check(z->session, p) : NULL;
    const pdl_diag *d = own ? pdl_program_certain_error(own) : NULL;
    if (d) {
        pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "--proposer: %.*s", PDL_FMT(d->text));
        if (d->hint.n) pdl_err_hint(err, "%.*s", PDL_FMT(d->hint));
        known = false;
    }
    pdl_program_drop(own);
    pdl_program_drop(p);
    pdl_drop(name);
    pdl_buf_fini(&b);
    return known;
}

bool pdl_search_plan_proposals(opt_search *z, const opt_estimate *e, pdl_err *err) {
    const pdl_optimize_options *o = z->o;
    if (!pdl_search_may_propose(z)) return true;
    if (!z->part[OPT_TRAIN].n)
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "--method %.*s: no row of %.*s is for training", PDL_FMT(o->method),
                           PDL_FMT(o->data.name));
    pdl_str model = o->proposer.n ? o->proposer : e->model ? pdl_str_of(e->model) : named_model(z);
    if (!model.n)
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "no model of the program is known before it runs: --proposer MODEL "
                           "names the one that writes texts");
    if (o->proposer.n && !knows_proposer(z, err)) return false;
    z->proposer = pdl_str_dup(model);
    size_t can = z->budget ? allowed(z, e) : o->proposals ? MAX_PROPOSALS : DEFAULT_PROPOSALS;
    z->proposals = o->proposals && o->proposals < can ? o->proposals : can;
    bool few = can < FEWEST && (!o->proposals || can < o->proposals);
    if (!few || o->yes || o->dry_run) return true;
    pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                "--budget: it allows %zu proposal%s, too few to find a better text", can,
                PDL_PLURAL(can));
    pdl_err_hint(err, "a larger budget allows more; --yes searches with so few");
    return false;
}
