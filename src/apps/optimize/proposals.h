/* proposals.h -- texts of the program that a model writes during a search: which texts these may
 * be, how many, and by which model. Private to optimize.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_OPTIMIZE_PROPOSALS_H
#define PDL_OPTIMIZE_PROPOSALS_H

#include "optimize/search.h"

/* exposed.c. Checks that a text that a model writes for a place stays a text of the program: it is
 * no path and no code, and none is made of it. Error: usage. */
PDL_MUST bool pdl_search_check_exposed(const opt_search *z, const opt_place *p, pdl_err *err);

/* Checks values of a method before they are added: names that vary, texts that are not too long and
 * have no control characters. Error: usage. */
PDL_MUST bool pdl_search_is_sound(const opt_search *z, pdl_vref values, pdl_err *err);
/* Returns true when the method may get texts from a model. */
bool pdl_search_may_propose(const opt_search *z);

/* reflection.c. Makes the program that asks the proposer; the sessions are open. Error: usage. */
PDL_MUST bool pdl_search_open_proposer(opt_search *z, pdl_err *err);
void pdl_search_close_proposer(opt_search *z);
enum { OPT_MINIBATCH = 3 }; /* rows for training that decide whether a text is worth more */

/* proposal_plan.c. Decides which model proposes, and how many texts. Error: usage. */
PDL_MUST bool pdl_search_plan_proposals(opt_search *z, const opt_estimate *e, pdl_err *err);
/* Returns about what a proposal uses, without the evaluations of its text. */
opt_estimate pdl_search_estimate_proposal(const opt_estimate *e);
/* Returns how many evaluations there are before the test at most. */
double pdl_search_most(const opt_search *z);

#endif
