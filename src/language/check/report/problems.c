/* problems.c -- the diagnostics of the checker: their severity, their hints and their fixes.
 *
 * The severity depends on the place: an error becomes a warning where a fallback catches it, where
 * the program never arrives, and where it follows from a type that calls do not check.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "check/checker.h"

#include "base/banned.h"

/* Turns a message into one line. */
static void make_one_line(pdl_str s) {
    for (char *p = (char *)(uintptr_t)s.p; p < s.p + s.n; p++)
        if (*p == '\n') *p = ' ';
}

pdl_diag *pdl_checker_diag(pdl_checker *c, pdl_rule_id rule, pdl_loc loc, pdl_loc mark,
                           const char *fmt, ...) {
    size_t n;
    const pdl_rule *r = &pdl_rules(&n)[rule];
    bool lint = r->severity == PDL_DIAG_WARNING && rule != PDL_RULE_name_undefined;
    if (c->quiet || (lint && c->opt->no_lint)) return NULL;
    bool softer =
        r->severity == PDL_DIAG_ERROR && !r->at_load && (c->caught || c->dead || c->assumed);
    va_list ap;
    va_start(ap, fmt);
    pdl_diag *d = pdl_program_vdiag(
        c->p, PDL_DIAG_OF(softer ? PDL_DIAG_WARNING : r->severity, r->name, loc, mark), fmt, ap);
    va_end(ap);
    d->reference_only = r->strict;
    d->certain = d->severity == PDL_DIAG_ERROR && c->sure && !c->may_exit && !c->caught && !c->dead;
    make_one_line(d->text);
    return d;
}

void pdl_checker_soften(pdl_diag *d) {
    if (!d) return;
    d->severity = PDL_DIAG_WARNING;
    d->certain = false;
}

/* Limits the number of suggestions. Each suggestion compares a word with all names in scope, and a
 * user reads only a few. */
bool pdl_checker_may_suggest(pdl_checker *c) {
    enum { MAX_NEAR = 100 };
    return c->n_near++ < MAX_NEAR;
}

void pdl_checker_hint(pdl_checker *c, pdl_diag *d, const char *fmt, ...) {
    if (!d) return;
    va_list ap;
    va_start(ap, fmt);
    d->hint = pdl_program_vtext(c->p, fmt, ap);
    va_end(ap);
}

void pdl_checker_fix(pdl_checker *c, pdl_diag *d, pdl_loc at, pdl_str text) {
    if (!d) return;
    pdl_program_edit(c->p, d, at, text);
    d->fix_is_sure = true;
}

void pdl_checker_relate(pdl_checker *c, pdl_diag *d, pdl_loc loc, const char *text) {
    if (d && loc.src) pdl_program_relate(c->p, d, loc, text);
}

pdl_loc pdl_checker_value_loc(const pdl_block *b, const char *key) {
    const pdl_node *n = b->node && b->node->kind == PDL_NODE_MAP
                            ? pdl_node_find(b->node, pdl_str_of(key), NULL)
                            : NULL;
    return n ? pdl_node_loc(n) : pdl_field_loc(b, key);
}
