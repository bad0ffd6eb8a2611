/* budget.h -- a budget says how many calls, tokens, seconds and so on a part of a run may use.
 * Everything that is charged to it is also charged to the budgets around it.
 *
 * The machine makes a budget for each block that has the field `budget`, and for the run. It
 * attaches the innermost budget to every effect. A front world (world/budget) reserves, settles and
 * refuses. Reference counted, not thread-safe.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_EFFECT_BUDGET_H
#define PDL_EFFECT_BUDGET_H

#include "base/err.h"

/*   X(id, doc) */
#define PDL_BUDGET_ITEMS(X)                                                                        \
    X(calls, "calls of models")                                                                    \
    X(tokens, "tokens of prompts and answers")                                                     \
    X(cost, "what the calls cost, by the table of prices")                                         \
    X(seconds, "time since the block began")                                                       \
    X(turns, "turns of loops and returns of functions")                                            \
    X(requests, "requests to the web")

typedef enum {
#define X(id, doc) PDL_BUDGET_##id,
    PDL_BUDGET_ITEMS(X)
#undef X
        PDL_BUDGET_COUNT
} pdl_budget_item;

/* The maximum rates of requests to models, for all runs of a session together. 0 means no limit. */
typedef struct pdl_rate_limits {
    double requests_per_second, tokens_per_minute;
} pdl_rate_limits;

const char *pdl_budget_item_name(pdl_budget_item i);
const char *pdl_budget_item_doc(pdl_budget_item i);

/* Invariants: used and reserved count calls, tokens, cost and requests; seconds are measured from
 * start_ns; used[turns] is counted when has_turns is set. */
typedef struct pdl_budget {
    uint32_t refs;
    uint32_t depth;                 /* number of budgets around this one */
    struct pdl_budget *up;          /* kept; NULL for the outermost budget */
    pdl_loc loc;                    /* place of the block; all-zero for the run's budget */
    double limit[PDL_BUDGET_COUNT]; /* a negative number means no limit */
    /* amounts used by effects that ended; a call or a request counts when it starts */
    double used[PDL_BUDGET_COUNT];
    double reserved[PDL_BUDGET_COUNT]; /* amounts that are set aside for effects in flight */
    /* number of calls that ended, and their tokens, for the average length of answers */
    double answers, answer_tokens;
    uint32_t going;    /* number of calls in flight */
    bool has_turns;    /* this budget or one around it limits turns */
    uint64_t start_ns; /* time by a monotonic clock, see pdl_budget_clock_ns */
    /* How long earlier processes of the run worked; borrowed; NULL when there were none. */
    const uint64_t *earlier_ns;
} pdl_budget;

/* Makes a budget inside of the budget `up`, which is borrowed and kept. */
pdl_budget *pdl_budget_new(const double limit[PDL_BUDGET_COUNT], pdl_budget *up, pdl_loc loc);
/* Returns the time of the budget's clock, which includes *earlier_ns. earlier_ns is set before b is
 * used. */
uint64_t pdl_budget_clock_ns(const pdl_budget *b);
void pdl_budget_set_earlier(pdl_budget *b, const uint64_t *earlier_ns);
pdl_budget *pdl_budget_keep(pdl_budget *b); /* b may be NULL */
void pdl_budget_drop(pdl_budget *b);        /* b may be NULL */

/* Reads limits, such as "calls=10,tokens=5000,cost=0.5,seconds=60", into `limit`. Errors: usage,
 * naming what is accepted.
 */
PDL_MUST bool pdl_budget_read(pdl_str text, double limit[PDL_BUDGET_COUNT], pdl_err *err);

/* Returns true when e is about b or an enclosing budget: another attempt inside of b is useless
 * then. An error of kind budget names its budget. So a replay, which counts nothing, also knows
 * which budget is used up. */
bool pdl_budget_is_spent(const pdl_err *e, const pdl_budget *b);
/* Fills err with the error that the limit of an item in b is reached. why is the message, such as
 * "the budget of 3 calls is spent". Always returns false. */
bool pdl_budget_refuse(const pdl_budget *b, pdl_budget_item item, pdl_str why, pdl_err *err);
/* Fills err with the error that the seconds of b are used up. Always returns false. */
bool pdl_budget_refuse_time(const pdl_budget *b, pdl_err *err);
/* Counts turns in b and in the budgets around b. The machine calls this function itself, since
 * turns make no effects. Error: budget. b may be NULL. */
PDL_MUST bool pdl_budget_take_turns(pdl_budget *b, size_t turns, pdl_err *err);
/* Checks that b and all budgets around it have seconds left. Error: budget. b may be NULL. */
PDL_MUST bool pdl_budget_check_clock(const pdl_budget *b, pdl_err *err);

#endif
