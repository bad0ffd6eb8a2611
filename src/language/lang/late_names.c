/* late_names.c -- finds the place where a name gets its value, when this place comes after its use.
 * The message about an undefined name can then say that the definition comes too late.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/limits.h"
#include "lang/fields.h"
#include "lang/walk.h"

#include "base/banned.h"

typedef struct use_search {
    pdl_str name;
    pdl_loc at, found;
    unsigned depth;
} use_search;

static bool is_around(pdl_loc outer, pdl_loc inner) {
    return outer.src == inner.src && outer.start <= inner.start && inner.start < outer.end;
}

static void note(use_search *s, pdl_loc loc) {
    if (loc.src == s->at.src && loc.start > s->at.start && !s->found.src) s->found = loc;
}

/* Examines a block. The names that a function sets are visible in this function alone. A value that
 * reads the variable which it sets cannot be moved before itself, so it does not count. */
static void look(void *user, const pdl_block *b) {
    use_search *s = user;
    pdl_loc whole = b->node ? pdl_node_loc(b->node) : b->loc;
    bool hidden = b->kind == PDL_BLOCK_function && !is_around(whole, s->at);
    if (s->found.src || s->depth > PDL_MAX_BLOCK_DEPTH) return;
    const pdl_blocks *defs = &b->rare->defs;
    for (uint32_t i = 0; i < defs->n; i++) {
        pdl_loc value = pdl_node_loc(defs->p[i]->node);
        pdl_loc entry = {value.src, defs->p[i]->loc.start, value.end};
        if (pdl_str_eq(defs->names[i], s->name) && !is_around(entry, s->at)) note(s, value);
    }
    s->depth++;
    if (!hidden) pdl_block_each_child(b, look, s);
    s->depth--;
    if (b->def.s.p && pdl_str_eq(b->def.s, s->name) && !is_around(whole, s->at))
        note(s, pdl_field_loc(b, "def"));
}

bool pdl_program_sets_later(const pdl_program *p, pdl_str name, pdl_loc at, pdl_loc *where) {
    use_search s = {.name = name, .at = at};
    if (!p || !p->main || !at.src) return false;
    look(&s, p->main);
    if (s.found.src) *where = s.found;
    return s.found.src != NULL;
}
