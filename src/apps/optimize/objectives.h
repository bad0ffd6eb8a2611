/* objectives.h -- the objectives besides the score by which candidates are compared: the calls,
 * tokens and cost of a row. --objective wants them low, and --at-most bounds them. Private to
 * optimize. A run is charged the cost that its calls would have if no answer was known before. So a
 * candidate does not become cheaper when another candidate has paid for the same answers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_OPTIMIZE_OBJECTIVES_H
#define PDL_OPTIMIZE_OBJECTIVES_H

#include "optimize/search.h"

/* Reads --objective and --at-most. Errors: usage. */
PDL_MUST bool pdl_search_read_objectives(opt_search *z, pdl_err *err);
/* prepare.c. Adds the use of one evaluation, as far as it is known, and sends nothing. */
PDL_MUST bool pdl_search_explain(const opt_search *z, size_t candidate, size_t row, opt_estimate *e,
                                 pdl_err *err);
/* price_check.c. Checks the models of all branches of a program with these variables: they need
 * prices when an objective, a limit or the budget needs costs. Error: usage. */
PDL_MUST bool pdl_search_check_program_prices(const opt_search *z, const pdl_program *p,
                                              pdl_vref variables, pdl_err *err);
/* price_check.c. Checks the models that runs would call, as far as their requests are known. Error:
 * usage. */
PDL_MUST bool pdl_search_check_prices(const opt_search *z, const opt_estimate *e, pdl_err *err);
/* Returns true when --objective names more than the score. */
bool pdl_search_has_objectives(const opt_search *z);
/* Returns true when runs have to say what their calls cost. */
bool pdl_search_needs_costs(const opt_search *z);

/* Returns true for a mean above a limit, and for an unknown mean (NaN). A difference that only
 * comes from the rounding of sums does not count. */
bool pdl_search_is_above(double mean, double limit);

/* Returns the mean of the use `item` over the n rows, on which the candidate was evaluated; NaN
 * when a price is unknown, or n is 0. */
double pdl_search_use(const opt_search *z, size_t candidate, opt_use_item item, const size_t *rows,
                      size_t n);
/* Returns true when a mean use over the n rows is above --at-most. */
bool pdl_search_is_over(const opt_search *z, size_t candidate, const size_t *rows, size_t n);
/* Does the same as pdl_search_is_over for the rows of one part on which the candidate was
 * evaluated. Returns false when there are no such rows. */
bool pdl_search_is_over_in(const opt_search *z, size_t candidate, opt_part part);
/* Returns true when, over these rows, one candidate uses more of an objective than the other. */
bool pdl_search_uses_more(const opt_search *z, size_t candidate, size_t than, const size_t *rows,
                          size_t n);
/* Removes from a list the candidates above --at-most, and those that another candidate beats. One
 * candidate beats another when it is at least as good in its score and in each objective, and
 * better in one of them. The candidates are compared on the rows for validation on which all were
 * evaluated. Without --objective, only the candidates with the best score are left. */
void pdl_search_keep_unbeaten(const opt_search *z, size_t *list, size_t *n);
/* Returns the winner, or the candidate that replaces it. A winner above --at-most is replaced by
 * the best candidate within the limits, or by the original program when there is no such candidate.
 * With --objective, a candidate that beats the winner replaces it. */
size_t pdl_search_settle_winner(const opt_search *z, size_t winner);

/* Adds the objectives, the front, and whether the winner and the original program are within the
 * limits. */
pdl_val pdl_search_put_objectives(const opt_search *z, size_t winner, pdl_val result);
/* Adds to d the mean use over the first n rows of a part. */
pdl_val pdl_search_put_use(const opt_search *z, size_t candidate, opt_part part, size_t n,
                           pdl_val d);
/* Writes the program of each candidate of the front into a folder `front` of the search. */
PDL_MUST bool pdl_search_write_front(const opt_search *z, pdl_vref result, pdl_err *err);

#endif
