/* check_scope.h -- names in scope, with the facts that are known of their values. Private to check.
 *
 * A table has the binding of each name. A log has the bindings that definitions replaced. Leaving a
 * scope, or returning to try another branch, undoes the log down to a mark, so that neither costs
 * more than the definitions in between. After branches, the bindings that any branch changed are
 * joined.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CHECK_SCOPE_H
#define PDL_CHECK_SCOPE_H

#include "base/map.h"
#include "check/check.h"
#include "check/ty.h"

typedef struct pdl_binding {
    pdl_name_def def;
    bool is_used;
    bool is_local;   /* the name cannot be read outside of its scope */
    bool is_assumed; /* the type depends on the type of a parameter */
    /* the binding replaces another one inside of a condition that tests the name */
    bool is_narrowed;
    /* the value may still be the value of the binding that this one replaces */
    bool is_mixed;
    unsigned epoch;               /* pdl_scope_state.epoch when the binding was made */
    struct pdl_binding *original; /* when is_narrowed is set, the binding that this one replaces */
} pdl_binding;

typedef struct pdl_scope_entry {
    size_t at;           /* index of the name in names */
    pdl_binding *before; /* the name's binding before; NULL when the name was undefined */
} pdl_scope_entry;

typedef struct pdl_scope_name {
    pdl_str name;
    pdl_binding *now; /* the name's binding now; NULL when the name is undefined */
    uint32_t next;    /* 1 + index of the next name of the same chain, or 0 */
} pdl_scope_name;

enum { PDL_SCOPE_CHAINS = 256 };

typedef struct pdl_scope_state {
    pdl_arena *arena;              /* arena of bindings and types */
    PDL_VEC(pdl_scope_name) names; /* the names, in the order of their first definition */
    /* 1 + index of the newest name of each chain, or 0. */
    uint32_t chains[PDL_SCOPE_CHAINS];
    /* maps a name to 1 + its index; it is empty, or has all names (see check_scope.c) */
    pdl_map many;
    PDL_VEC(pdl_scope_entry) log;
    unsigned epoch; /* incremented after code ran that may change lists and objects in place */
} pdl_scope_state;

void pdl_scope_state_fini(pdl_scope_state *s);
/* Invariants: each name occurs once, in the chain that its bytes select, and newer names come
 * first; the map is empty or has all names; all entries of the log are about names of the table. */
bool pdl_scope_state_ok(const pdl_scope_state *s);

/* Defines a name. Returns its binding. */
pdl_binding *pdl_scope_define(pdl_scope_state *s, pdl_def_kind kind, pdl_str name,
                              const pdl_ty *type, pdl_loc loc);
/* Returns the binding of a name; NULL when it is undefined. */
pdl_binding *pdl_scope_binding(const pdl_scope_state *s, pdl_str name);
/* Returns the type that a binding's value is known to have now. Less is known after code that may
 * have changed the value. */
const pdl_ty *pdl_scope_type(const pdl_scope_state *s, const pdl_binding *b);
/* Forgets what is known of the value of a name. With narrow, the new binding is narrowed
 * (is_narrowed), and a name with an unknown type keeps its binding. Without narrow, the new binding
 * is mixed (is_mixed). */
void pdl_scope_forget(pdl_scope_state *s, pdl_str name, bool narrow);
/* Records that the value of a name was changed in place, so that only its kind is known. A change
 * in one branch counts for all branches. */
void pdl_scope_changed(pdl_scope_state *s, pdl_str name);

/* Returns the current binding of the name that log entry i defined. */
pdl_binding *pdl_scope_logged(const pdl_scope_state *s, size_t i);

size_t pdl_scope_mark(const pdl_scope_state *s);
void pdl_scope_back(pdl_scope_state *s, size_t mark);

/* Handles branches. The caller calls begin, then pdl_branches_next after the definitions of each
 * branch, then end. A branch that changes nothing counts as well. */
typedef struct pdl_branch_name {
    pdl_name_def def;
    size_t at;      /* index of the name in pdl_scope_state.names */
    unsigned count; /* number of branches that changed the name */
    unsigned last;  /* the branch that was counted last */
    bool is_used;
} pdl_branch_name;
typedef struct pdl_branches {
    size_t mark;
    unsigned n;
    PDL_VEC(pdl_branch_name) names;
    /* maps a name to 1 + its index in names; empty while there are only a few names */
    pdl_map many;
} pdl_branches;
void pdl_branches_begin(const pdl_scope_state *s, pdl_branches *b);
void pdl_branches_next(pdl_scope_state *s, pdl_branches *b);
void pdl_branches_end(pdl_scope_state *s, pdl_branches *b);

#endif
