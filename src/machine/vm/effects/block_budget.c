/* block_budget.c -- the field `budget` of a block: every effect that the block requests is charged
 * to it, until the block ends or its fallback begins. The world in world/budget counts them.
 *
 * No effect reports the time that code needs to compute. Such code requests nothing, so the world
 * would never notice that the seconds of the budget are over. The machine therefore reads the clock
 * itself, at turns of loops and at returns of functions. The machine also counts these turns, for
 * budgets of turns: the number of turns is the same on every computer. Reading the clock every time
 * would cost more than most turns do. So the first FREE_TURNS turns after an effect are free,
 * because the world has just read the clock. After the free turns, every LOOK-th turn reads the
 * clock. A single long operation, such as a sum over a large list, has no turns: base/cancel.h
 * bounds it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "vm/fiber.h"
#include "vm/ops.h"
#include "vm/run.h"
#include "vm/stacks.h"
#include "vm/wait.h"

#include "base/banned.h"

void pdl_vm_set_budget(pdl_fiber *f, pdl_budget *b) {
    pdl_budget *old = f->budget;
    f->budget = pdl_budget_keep(b);
    pdl_budget_drop(old);
}

void pdl_run_mark_progress(pdl_fiber *f) {
    for (; f; f = f->parent) f->turns_since_effect = 0;
}

bool pdl_budget_check_time(pdl_fiber *f, size_t turns, pdl_err *err) {
    enum { FREE_TURNS = 1024, LOOK = 64 };
    uint32_t before = f->turns_since_effect / LOOK;
    if (f->budget->has_turns && !pdl_budget_take_turns(f->budget, turns, err)) return false;
    f->turns_since_effect += (uint32_t)turns;
    return f->turns_since_effect < FREE_TURNS || f->turns_since_effect / LOOK == before ||
           pdl_budget_check_clock(f->budget, err);
}

static bool read_limit(pdl_vref v, pdl_budget_item item, pdl_loc loc, double *out, pdl_err *err) {
    if (pdl_is_absent(v) || pdl_is_null(v)) return true;
    if (!pdl_is_int(v) && !pdl_is(v, PDL_V_FLOAT))
        return pdl_err_set(err, PDL_E_type, loc,
                           "%s of budget is expected to be a number but got a value of type %s",
                           pdl_budget_item_name(item), pdl_type_name(v));
    *out = pdl_num_to_double(v);
    return *out >= 0 || pdl_err_set(err, PDL_E_type, loc,
                                    "%s of budget is negative: write 0 or more, or leave it out",
                                    pdl_budget_item_name(item));
}

/* Reads the values on the stack, one for each item of a budget. Absent or null means no limit. */
pdl_step pdl_op_BUDGET(pdl_fiber *f, pdl_err *err) {
    double limit[PDL_BUDGET_COUNT];
    pdl_vm_block *b = block(f);
    pdl_step s = pdl_vm_force_n(f, PDL_BUDGET_COUNT, err);
    if (s != PDL_STEP_DONE) return s;
    for (size_t i = 0; i < PDL_BUDGET_COUNT; i++) {
        limit[i] = -1;
        if (!read_limit(*under(f, PDL_BUDGET_COUNT - 1 - i), (pdl_budget_item)i,
                        b->info->block->rare->budget->loc, &limit[i], err))
            return PDL_STEP_FAIL;
    }
    pdl_vm_cut_stack(f, f->stack.n - PDL_BUDGET_COUNT);
    b->budget = pdl_budget_new(limit, f->budget, b->info->block->loc);
    pdl_budget_set_earlier(b->budget, f->run->opt.earlier_ns);
    pdl_vm_set_budget(f, b->budget);
    return PDL_STEP_DONE;
}
