/* budget.c -- budgets: limits, what was used, and the errors of a limit that is reached; see
 * budget.h. The clock is monotonic and includes the time of earlier processes, so that neither a
 * change of the date nor a resume gives a run more seconds.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "effect/budget.h"

#include <assert.h>
#include <time.h>

#include "base/num.h"
#include "base/plural.h"
#include "effect/effect.h"
#include "value/int.h"

#include "base/banned.h"

static const struct {
    const char *name, *doc;
} items[] = {
#define X(id, doc) {#id, doc},
    PDL_BUDGET_ITEMS(X)
#undef X
};
static_assert(sizeof items / sizeof items[0] == PDL_BUDGET_COUNT, "a row for each item");

const char *pdl_budget_item_name(pdl_budget_item i) {
    assert((unsigned)i < PDL_BUDGET_COUNT);
    return items[i].name;
}
const char *pdl_budget_item_doc(pdl_budget_item i) {
    assert((unsigned)i < PDL_BUDGET_COUNT);
    return items[i].doc;
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

pdl_budget *pdl_budget_new(const double limit[PDL_BUDGET_COUNT], pdl_budget *up, pdl_loc loc) {
    pdl_budget *b = PDL_NEW(pdl_budget);
    b->refs = 1;
    b->up = pdl_budget_keep(up);
    b->depth = up ? up->depth + 1 : 0;
    b->loc = loc;
    for (size_t i = 0; i < PDL_BUDGET_COUNT; i++) b->limit[i] = limit[i];
    b->has_turns = limit[PDL_BUDGET_turns] >= 0 || (up && up->has_turns);
    b->start_ns = now_ns();
    if (up) pdl_budget_set_earlier(b, up->earlier_ns);
    return b;
}

uint64_t pdl_budget_clock_ns(const pdl_budget *b) {
    return now_ns() + (b->earlier_ns ? *b->earlier_ns : 0);
}

void pdl_budget_set_earlier(pdl_budget *b, const uint64_t *earlier_ns) {
    b->earlier_ns = earlier_ns;
    b->start_ns = pdl_budget_clock_ns(b);
}

pdl_budget *pdl_budget_keep(pdl_budget *b) {
    assert(!b || b->refs > 0);
    if (b) b->refs++;
    return b;
}

void pdl_budget_drop(pdl_budget *b) {
    assert(!b || b->refs > 0);
    while (b && --b->refs == 0) {
        pdl_budget *up = b->up;
        pdl_free(b);
        b = up;
    }
}

/* --- the option of the command ---------------------------------------------------------------- */

static bool read_item(pdl_str s, double limit[PDL_BUDGET_COUNT]) {
    size_t eq = pdl_str_find(s, PDL_STR("="), 0);
    double v;
    if (eq == PDL_NOT_FOUND || !pdl_num_read_double(pdl_str_trim(pdl_str_sub(s, eq + 1, s.n)), &v))
        return false;
    if (!(v >= 0)) return false;
    for (size_t i = 0; i < PDL_BUDGET_COUNT; i++) {
        if (!pdl_str_is(pdl_str_trim(pdl_str_sub(s, 0, eq)), items[i].name)) continue;
        limit[i] = v;
        return true;
    }
    return false;
}

static bool refuse_item(pdl_str item, pdl_err *err) {
    size_t equals = pdl_str_find(item, PDL_STR("="), 0);
    pdl_str names[PDL_BUDGET_COUNT], name = pdl_str_sub(item, 0, equals);
    for (size_t i = 0; i < PDL_BUDGET_COUNT; i++) names[i] = pdl_str_of(items[i].name);
    pdl_str near = pdl_str_nearest(pdl_str_trim(name), names, PDL_BUDGET_COUNT);
    pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                "'%.*s' is not a budget: write some of calls=N,tokens=N,cost=X,seconds=X,turns=N,"
                "requests=N",
                PDL_FMT(item));
    if (near.n && !pdl_str_eq(near, pdl_str_trim(name)))
        pdl_err_hint(err, "did you mean '%.*s'?", PDL_FMT(near));
    return false;
}

bool pdl_budget_read(pdl_str text, double limit[PDL_BUDGET_COUNT], pdl_err *err) {
    for (size_t i = 0; i < PDL_BUDGET_COUNT; i++) limit[i] = -1;
    for (size_t from = 0; from <= text.n;) {
        size_t comma = pdl_str_find(text, PDL_STR(","), from),
               to = comma == PDL_NOT_FOUND ? text.n : comma;
        if (!read_item(pdl_str_sub(text, from, to), limit))
            return refuse_item(pdl_str_sub(text, from, to), err);
        from = to + 1;
    }
    return true;
}

/* --- errors ----------------------------------------------------------------------------------- */

bool pdl_budget_refuse(const pdl_budget *b, pdl_budget_item item, pdl_str why, pdl_err *err) {
    assert((unsigned)item < PDL_BUDGET_COUNT);
    pdl_err_set(err, PDL_E_budget, (pdl_loc){0}, "%.*s", PDL_FMT(why));
    err->facts.has_budget = true;
    err->facts.budget_item = (uint8_t)item;
    err->facts.budget_depth = b->depth;
    if (b->loc.src)
        pdl_err_hint(err, "the budget is that of the block at %.*s:%u", PDL_FMT(b->loc.src->name),
                     pdl_loc_line(b->loc));
    else
        pdl_err_hint(err, "the budget is that of the run");
    return false;
}

static bool refuse_all(const pdl_budget *b, pdl_budget_item item, const char *one, pdl_err *err) {
    pdl_buf why = PDL_BUF;
    double limit = b->limit[item];
    pdl_buf_putf(&why, "the budget of %.15g %s%s is spent", limit, one, PDL_PLURAL(limit));
    pdl_budget_refuse(b, item, pdl_buf_str(&why), err);
    pdl_buf_fini(&why);
    return false;
}

bool pdl_budget_refuse_time(const pdl_budget *b, pdl_err *err) {
    return refuse_all(b, PDL_BUDGET_seconds, "second", err);
}

bool pdl_budget_take_turns(pdl_budget *b, size_t turns, pdl_err *err) {
    for (; b && b->has_turns; b = b->up) {
        double limit = b->limit[PDL_BUDGET_turns];
        b->used[PDL_BUDGET_turns] += (double)turns;
        if (limit >= 0 && b->used[PDL_BUDGET_turns] > limit)
            return refuse_all(b, PDL_BUDGET_turns, "turn", err);
    }
    return true;
}

bool pdl_budget_check_clock(const pdl_budget *b, pdl_err *err) {
    for (; b; b = b->up) {
        double limit = b->limit[PDL_BUDGET_seconds];
        if (limit < 0) continue;
        if ((double)(pdl_budget_clock_ns(b) - b->start_ns) / 1e9 >= limit)
            return pdl_budget_refuse_time(b, err);
    }
    return true;
}

bool pdl_budget_is_spent(const pdl_err *e, const pdl_budget *b) {
    return e->kind == PDL_E_budget && e->facts.has_budget && b && e->facts.budget_depth <= b->depth;
}
