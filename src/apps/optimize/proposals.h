/* proposals.h -- decides which texts of the program a model may write during a search, how many,
 * and which model writes them. Private to optimize.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_OPTIMIZE_PROPOSALS_H
#define PDL_OPTIMIZE_PROPOSALS_H

#include "optimize/search.h"

/* refused_texts.c. Checks that a text which a model writes for this place cannot become a path or
 * code. Error: usage. */
PDL_MUST bool pdl_search_check_exposed(const opt_search *z, const opt_place *p, pdl_err *err);

/* Checks values of a method before they are added. The names of the values must be names that vary.
 * Texts must not be too long, and must not have control characters. Error: usage. */
PDL_MUST bool pdl_search_is_sound(const opt_search *z, pdl_vref values, pdl_err *err);
/* Returns true when the method may get texts from a model. */
bool pdl_search_may_propose(const opt_search *z);

/* reflection.c. Makes the program that asks the model for proposals. Called after the sessions of
 * the search were opened. Error: usage. */
PDL_MUST bool pdl_search_open_proposer(opt_search *z, pdl_err *err);
void pdl_search_close_proposer(opt_search *z);
/* number of rows for training that decide whether a proposal is evaluated further */
enum { OPT_MINIBATCH = 3 };
/* number of selections of demonstrations that the method demos draws */
enum { OPT_SELECTIONS = 24 };
/* how many merged candidates the method reflect accepts, and on how many rows each is tried */
enum { OPT_MERGES = 5, OPT_MERGE_ROWS = 5 };
/* Returns true when candidates with demonstrations will be drawn. */
static inline bool pdl_search_draws_demos(const opt_search *z) {
    return pdl_str_is(z->o->method, "demos");
}

/* proposal_plan.c. Decides which model proposes texts, and how many. Error: usage. */
PDL_MUST bool pdl_search_plan_proposals(opt_search *z, const opt_estimate *e, pdl_err *err);
/* Returns an estimate of what a proposal uses, without the evaluations of its text. */
opt_estimate pdl_search_estimate_proposal(const opt_estimate *e);
/* Returns the maximum number of evaluations before the test. */
double pdl_search_most(const opt_search *z);

#endif
