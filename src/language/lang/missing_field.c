/* missing_field.c -- reports a field that an object lacks.
 *
 * A misspelt field is also a missing field. The user should see one problem then, so a missing
 * field whose misspelt key was reported before is marked as a problem that follows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lang/loader.h"

#include "base/banned.h"

/* Returns true when a hint is about the field: 'field', `field`, or field: ... */
static bool is_about(pdl_str hint, pdl_str field) {
    for (size_t i = 0; (i = pdl_str_find(hint, field, i)) != PDL_NOT_FOUND; i++) {
        bool quoted = i && pdl_byte_in(hint.p[i - 1], PDL_STR("'`")), begins = i && !quoted;
        char next = i + field.n < hint.n ? hint.p[i + field.n] : ' ';
        if (quoted && pdl_byte_in(next, PDL_STR("'`"))) return true;
        if (begins && hint.p[i - 1] == ' ' && next == ':') return true;
    }
    return false;
}

/* Returns true when a key of n was reported with a hint about the field. The problems of n's parts
 * are at the end of the list. */
static bool is_misspelt(const pdl_loader *l, const pdl_node *n, const char *field) {
    uint32_t from = pdl_node_loc(n).start;
    bool found = false;
    for (size_t i = l->p->diags.n; i > 0 && !found; i--) {
        const pdl_diag *d = &l->p->diags.p[i - 1];
        if (d->mark.start < from) break;
        if (!is_about(d->hint, pdl_str_of(field))) continue;
        for (uint32_t k = 0; k < n->n && !found; k++)
            found = pdl_node_loc(n->pairs[k].key).start == d->mark.start;
    }
    return found;
}

void pdl_loader_missing(pdl_loader *l, const pdl_node *n, pdl_loc loc, const char *field) {
    bool follows = is_misspelt(l, n, field);
    pdl_diag *d =
        pdl_loader_diag(l, "field-missing", loc, loc, "Missing required field: %s", field);
    d->lacks = field;
    d->follows = follows;
}
