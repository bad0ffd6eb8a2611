/* reply_usage.c -- removes impossible numbers from the usage that a service reports; see
 * reply_usage.h. A wrong number of a service would make sums, costs and budgets wrong for the rest
 * of a run, so it is dropped before anything counts it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "effect/reply_usage.h"

#include "value/int.h"

#include "base/banned.h"

static const double MAX_USED = 1e12;

static bool is_possible(pdl_vref v) {
    if (!pdl_is_int(v) && !pdl_is(v, PDL_V_FLOAT)) return true;
    double n = pdl_num_to_double(v);
    return n >= 0 && n <= MAX_USED;
}

/* A usage may contain dicts of details. Dicts inside of these details are not examined. */
static bool is_fine(pdl_vref usage, bool inside) {
    for (size_t i = 0; i < pdl_dict_len(usage); i++) {
        pdl_vref v = pdl_dict_val_at(usage, i);
        if (!is_possible(v) || (!inside && pdl_is_dict(v) && !is_fine(v, true))) return false;
    }
    return true;
}

static pdl_val checked(pdl_vref usage, bool inside) {
    if (is_fine(usage, inside)) return pdl_keep(usage);
    pdl_val out = pdl_dict_new(pdl_dict_len(usage));
    for (size_t i = 0; i < pdl_dict_len(usage); i++) {
        pdl_vref key = pdl_dict_key_at(usage, i), v = pdl_dict_val_at(usage, i);
        bool details = !inside && pdl_is_dict(v);
        if (is_possible(v))
            out = pdl_dict_put(out, pdl_keep(key), details ? checked(v, true) : pdl_keep(v));
    }
    return out;
}

pdl_val pdl_usage_checked(pdl_vref usage) {
    return pdl_is_dict(usage) ? checked(usage, false) : pdl_keep(usage);
}
