/* match.c -- compares patterns of match blocks with values (spec execution 5.2). A pattern binds
 * variables while it matches. A part of a value keeps the labels of the whole, so that a policy
 * sees where a variable came from.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/pyvalues.h"
#include "vm/fiber.h"
#include "vm/ops.h"
#include "vm/run.h"

#include "base/banned.h"

static bool is_sequence(pdl_vref v) {
    return pdl_is_list(v) || pdl_is(v, PDL_V_TUPLE) || pdl_is_str(v) || pdl_is(v, PDL_V_CONTEXT) ||
           pdl_is(v, PDL_V_RANGE);
}

static bool match_array(pdl_fiber *f, const pdl_pattern *p, pdl_vref v) {
    pdl_val list;
    pdl_err ignored = {0};
    if (!is_sequence(v) || !pdl_val_to_list(v, &list, &ignored)) {
        pdl_err_fini(&ignored);
        return false;
    }
    bool ok = pdl_list_len(list) == p->n;
    for (uint32_t i = 0; ok && i < p->n; i++) {
        pdl_val x = pdl_with_label(pdl_list_part(list, i), pdl_label_of_part(v));
        ok = pdl_vm_pattern_match(f, p->items[i], x);
        pdl_drop(x);
    }
    pdl_drop(list);
    return ok;
}

static bool match_object(pdl_fiber *f, const pdl_pattern *p, pdl_vref v) {
    if (!pdl_is_dict(v)) return false;
    for (uint32_t i = 0; i < p->n; i++) {
        pdl_val x = pdl_dict_part_named(v, p->keys[i]);
        if (pdl_is_absent(x)) return false;
        bool fits = pdl_vm_pattern_match(f, p->items[i], x);
        pdl_drop(x);
        if (!fits) return false;
    }
    return true;
}

/* Matches alternatives. An alternative that does not match leaves no bindings. */
static bool match_any_of(pdl_fiber *f, const pdl_pattern *p, pdl_vref v) {
    for (uint32_t i = 0; i < p->n; i++) {
        pdl_scope *before = pdl_scope_keep(f->scope);
        if (pdl_vm_pattern_match(f, p->items[i], v)) {
            pdl_scope_drop(before);
            return true;
        }
        pdl_scope_drop(f->scope);
        f->scope = before;
    }
    return false;
}

/* Matches a pattern. The C stack is as deep as the nesting of the pattern in the source. */
bool pdl_vm_pattern_match(pdl_fiber *f, const pdl_pattern *p, pdl_vref v) {
    bool ok = false;
    switch (p->kind) {
    case PDL_PAT_CONST: ok = pdl_val_eq(p->value, v); break;
    case PDL_PAT_ANY: ok = true; break;
    case PDL_PAT_ANYOF: ok = match_any_of(f, p, v); break;
    case PDL_PAT_ARRAY: ok = match_array(f, p, v); break;
    case PDL_PAT_OBJECT: ok = match_object(f, p, v); break;
    }
    if (ok && p->def.p)
        f->scope = pdl_scope_put(f->scope, pdl_intern(f->run->opt.names, p->def), pdl_keep(v));
    return ok;
}
