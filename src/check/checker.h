/* checker.h -- private to check: state of one check.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CHECK_CHECKER_H
#define PDL_CHECK_CHECKER_H

#include "base/map.h"
#include "check/check.h"
#include "lang/fields.h"

/* A file that was included or imported: its definitions are found once. */
typedef struct pdl_module {
    pdl_str name;         /* owned by program's arena */
    pdl_program *program; /* the one that is checked owns it in the end */
    pdl_str *defines;     /* names left in scope when it has run; in the program's arena */
    size_t n_defines;
    bool busy;       /* being walked: meeting it again is a cycle */
    bool open_ended; /* its definitions are not known completely */
} pdl_module;

typedef struct pdl_modules {
    PDL_VEC(pdl_module *) all;
    pdl_map by_name;
} pdl_modules;

/* The names in scope are those with a value in `names`; `trail` lists them in order of definition,
 * so that leaving a scope cuts it. */
typedef struct pdl_checker {
    pdl_program *p;
    const pdl_check_options *opt;
    pdl_modules *modules;
    pdl_map names;
    PDL_VEC(pdl_str) trail;
    bool quiet;         /* only the definitions are collected, nothing is reported */
    bool open_ended;    /* any name may have been defined */
    bool outer_unknown; /* names from outside the file are not known: it is included */
    bool collected;     /* inside of a loop whose definitions are in scope already */
    unsigned depth;     /* of includes */
} pdl_checker;

/* Keeps variables out of the frames of recursive functions. */
#define PDL_NOINLINE __attribute__((noinline))

/* names.c: scope */
void pdl_checker_scope_add(pdl_checker *c, pdl_str name);
size_t pdl_checker_scope_mark(const pdl_checker *c);
void pdl_checker_scope_back(pdl_checker *c, size_t mark);
bool pdl_checker_scope_has(const pdl_checker *c, pdl_str name);
void pdl_checker_scope_predefined(pdl_checker *c);
void pdl_checker_scope_collect(pdl_checker *c,
                               const pdl_block *b); /* every definition inside of b */

/* names.c: one expression: syntax, filters, names */
void pdl_checker_expr(pdl_checker *c, const pdl_expr *e, const pdl_node *node, pdl_loc loc);
void pdl_checker_scope_guards(
    pdl_checker *c,
    const pdl_tree *t); /* names that a condition tests (`x is defined`) count as defined */

/* modules.c */
void pdl_checker_module(pdl_checker *c, const pdl_block *b, pdl_str path, bool import);
/* Hands the programs over to the one that was checked. */
void pdl_checker_modules_fini(pdl_modules *m, pdl_program *checked);

/* ignore.c: drops what levels and comments switch off. */
void pdl_checker_settle(pdl_program *p, const pdl_check_options *opt);

/* walk.c */
void pdl_checker_block(pdl_checker *c, const pdl_block *b, pdl_str self);

/* lint.c */
void pdl_checker_lint_block(pdl_checker *c, const pdl_block *b);
void pdl_checker_lint_text(pdl_checker *c, pdl_str text, const pdl_node *node, pdl_loc loc);

/* walk.c: problems; NULL when the checker is quiet. loc is what FILE:LINE prints, mark the exact
 * span. */
PDL_PRINTF(5, 6)
pdl_diag *pdl_checker_diag(pdl_checker *c, pdl_rule_id rule, pdl_loc loc, pdl_loc mark,
                           const char *fmt, ...);
/* The following take what pdl_checker_diag returned, NULL included. */
PDL_PRINTF(3, 4) void pdl_checker_hint(pdl_checker *c, pdl_diag *d, const char *fmt, ...);
/* Adds an edit to the fix, which is the one right answer. */
void pdl_checker_fix(pdl_checker *c, pdl_diag *d, pdl_loc at, pdl_str text);

#endif
