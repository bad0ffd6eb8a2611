/* err_facts.c -- makes a dict of the facts of an error (base/err.h), for the variable pdl_error of
 * a program and for the row of a journal. A failed model call has further facts, which are JSON
 * text because base does not know their names.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "effect/budget.h"
#include "effect/effect.h"
#include "value/int.h"

#include "base/banned.h"

pdl_val pdl_effect_error_facts(const pdl_err *e) {
    pdl_val d;
    pdl_err ignored = {0};
    if (e->detail && pdl_effect_decode(pdl_str_of(e->detail), &d, &ignored)) {
        if (pdl_is_dict(d)) return d;
        pdl_drop(d);
    }
    pdl_err_fini(&ignored);
    d = pdl_dict_new(2);
    if (e->facts.line1) d = pdl_dict_putz(d, "line", pdl_int(e->facts.line1));
    if (e->facts.has_budget) {
        const char *item = pdl_budget_item_name((pdl_budget_item)e->facts.budget_item);
        d = pdl_dict_putz(d, "budget", pdl_textz(item));
        d = pdl_dict_putz(d, "budget_depth", pdl_int(e->facts.budget_depth));
    }
    return d;
}

static double positive(pdl_vref v) {
    return pdl_is(v, PDL_V_FLOAT) && pdl_float_of(v) > 0 ? pdl_float_of(v) : 0;
}

/* The list of attempts has the waits of a failed call: each attempt has the wait before the next
 * attempt. */
double pdl_reply_waited(const pdl_reply *r) {
    double seconds = 0;
    if (!r->err.kind)
        return pdl_is_dict(r->value) ? positive(pdl_dict_getz(r->value, "waited")) : 0;
    if (!r->err.detail) return 0;
    pdl_val facts = pdl_effect_error_facts(&r->err);
    pdl_vref list = pdl_dict_getz(facts, "attempts");
    for (size_t i = 0; pdl_is_list(list) && i < pdl_list_len(list); i++) {
        pdl_vref one = pdl_list_at(list, i);
        if (pdl_is_dict(one)) seconds += positive(pdl_dict_getz(one, "wait_seconds"));
    }
    pdl_drop(facts);
    return seconds;
}

/* Returns false when d has no number under this name. */
static bool number_of(pdl_vref d, const char *key, uint32_t *out) {
    int64_t n;
    if (!pdl_int_get(pdl_dict_getz(d, key), &n) || n < 0 || n > UINT32_MAX) return false;
    *out = (uint32_t)n;
    return true;
}

static bool budget_item_of(pdl_vref name, uint8_t *out) {
    for (int i = 0; pdl_is_str(name) && i < PDL_BUDGET_COUNT; i++) {
        if (!pdl_text_is(name, pdl_budget_item_name((pdl_budget_item)i))) continue;
        *out = (uint8_t)i;
        return true;
    }
    return false;
}

void pdl_effect_error_facts_read(pdl_str json, pdl_err *err) {
    pdl_val d;
    pdl_err ignored = {0};
    if (!pdl_effect_decode(json, &d, &ignored)) {
        pdl_err_fini(&ignored);
        return;
    }
    if (pdl_is_dict(d)) {
        pdl_err_facts *f = &err->facts;
        number_of(d, "line", &f->line1);
        f->has_budget = number_of(d, "budget_depth", &f->budget_depth) &&
                        budget_item_of(pdl_dict_getz(d, "budget"), &f->budget_item);
        pdl_vref wait = pdl_dict_getz(d, "retry_after_seconds");
        if (pdl_is(wait, PDL_V_FLOAT)) f->retry_after = pdl_float_of(wait);
        if (!pdl_is_absent(pdl_dict_getz(d, "provider"))) err->detail = pdl_str_dup(json);
    }
    pdl_drop(d);
}
