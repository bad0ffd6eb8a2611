/* contexts.c -- makes contexts from parts, and takes them apart, for users of the library. The C
 * interface has no type for the tree of a context. So its users see a list of parts, and this file
 * builds a balanced tree from them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/handles.h"
#include "value/context.h"

#include "base/banned.h"

pdl_context_form pdl_value_context_form(const pdl_value *v) {
    static const pdl_context_form forms[] = {
        [PDL_CONTEXT_IS_MESSAGE] = PDL_CONTEXT_MESSAGE,
        [PDL_CONTEXT_IS_DEPENDENT] = PDL_CONTEXT_DEPENDENT,
        [PDL_CONTEXT_IS_INDEPENDENT] = PDL_CONTEXT_INDEPENDENT,
    };
    if (!v || !pdl_is(pdl_value_settled(v), PDL_V_CONTEXT)) return PDL_CONTEXT_NONE;
    return forms[pdl_context_shape_of(pdl_value_settled(v))];
}

pdl_value *pdl_value_context_parts(const pdl_value *v) {
    pdl_context_form form = pdl_value_context_form(v);
    return form == PDL_CONTEXT_DEPENDENT || form == PDL_CONTEXT_INDEPENDENT
               ? pdl_value_box(pdl_context_parts(pdl_value_settled(v)))
               : NULL;
}

/* Combines the parts in pairs, then in groups of four, and so on, so that a context of n parts is
 * only log n deep. */
static pdl_val composed(pdl_val *parts, size_t n, bool independent) {
    if (n == 0) return pdl_context_empty();
    for (size_t step = 1; step < n; step *= 2)
        for (size_t i = 0; i + step < n; i += 2 * step)
            parts[i] = independent ? pdl_context_ind(parts[i], parts[i + step])
                                   : pdl_context_dep(parts[i], parts[i + step]);
    return parts[0];
}

pdl_value *pdl_value_context(const pdl_value *parts, bool independent, pdl_error **error) {
    pdl_err err = {0};
    if (!parts || !pdl_is_list(pdl_value_settled(parts))) {
        pdl_misuse(error, "pdl_value_context: parts is not a list");
        return NULL;
    }
    pdl_vref list = pdl_value_settled(parts);
    size_t n = pdl_list_len(list), i = 0;
    pdl_val *made = PDL_NEW_N(pdl_val, n + 1), whole;
    while (i < n && pdl_context_from(pdl_list_at(list, i), &made[i], &err)) i++;
    if (i == n) {
        /* the empty context is added, so that even a single part becomes a context with parts */
        made[n] = pdl_context_empty();
        whole = composed(made, n ? n + 1 : 0, independent);
        if (!n) pdl_drop(made[n]);
    } else {
        while (i) pdl_drop(made[--i]);
        (void)pdl_error_give(error, &err, NULL);
    }
    pdl_free(made);
    return i == n ? pdl_value_box(whole) : NULL;
}
