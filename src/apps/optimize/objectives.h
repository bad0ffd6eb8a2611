/* objectives.h -- what candidates are compared by beside their scores: the calls, tokens and cost
 * of a row, which --objective wants low and --at-most bounds. Private to optimize.
 *
 * Costs are those that the calls of a run would have if none of their answers was known: a
 * candidate whose answers another one paid for is no cheaper for that.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_OPTIMIZE_OBJECTIVES_H
#define PDL_OPTIMIZE_OBJECTIVES_H

#include "optimize/search.h"

/* Reads --objective and --at-most. Errors: usage. */
PDL_MUST bool pdl_search_read_objectives(opt_search *z, pdl_err *err);
/* Checks that costs can be known where they are needed. Error: usage. */
PDL_MUST bool pdl_search_check_prices(const opt_search *z, const opt_estimate *e, pdl_err *err);
/* Returns true when runs have to say what their calls cost. */
bool pdl_search_needs_costs(const opt_search *z);

/* Returns true for a mean above a limit; one that rounding of sums made is not above it, and an
 * unknown one (NaN) is. */
bool pdl_search_is_above(double mean, double limit);

/* Returns the mean use of a row over n rows, which are all known; NaN: a price is unknown. */
double pdl_search_use(const opt_search *z, size_t candidate, opt_use_item item, const size_t *rows,
                      size_t n);
/* Returns true when the mean of a row is above --at-most over these rows. */
bool pdl_search_is_over(const opt_search *z, size_t candidate, const size_t *rows, size_t n);
/* Returns true when it is above it over all rows of a part that the candidate knows; false when it
 * knows none. */
bool pdl_search_is_over_in(const opt_search *z, size_t candidate, opt_part part);
/* Returns true when, over these rows, one uses more of an objective than the other. */
bool pdl_search_uses_more(const opt_search *z, size_t candidate, size_t than, const size_t *rows,
                          size_t n);
/* Removes from a list the candidates that another one beats: it has no lower score, uses no more
 * of any objective, and differs. They are compared on the rows for validation that all know.
 * Without --objective all are removed but those with the best score. */
void pdl_search_keep_unbeaten(const opt_search *z, size_t *list, size_t *n);
/* Returns the winner, or the candidate that replaces it: one within --at-most, and among equal ones
 * the one that uses less. */
size_t pdl_search_settle_winner(const opt_search *z, size_t winner);

/* Adds the objectives, the front and whether winner and program as it was are within the limits. */
pdl_val pdl_search_put_objectives(const opt_search *z, size_t winner, pdl_val result);
/* Adds the mean use of a row over the first n rows of a part to a result. */
pdl_val pdl_search_put_use(const opt_search *z, size_t candidate, opt_part part, size_t n,
                           pdl_val d);
/* Writes the program of each candidate of the front into a folder `front` of the search. */
PDL_MUST bool pdl_search_write_front(const opt_search *z, pdl_vref result, pdl_err *err);

#endif
