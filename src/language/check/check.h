/* check.h -- finds problems of a program without running it, for `pdl check`, the language server,
 * and every run before its first request.
 *
 * A check adds diagnostics to a loaded program. Each diagnostic belongs to a rule of rules.def,
 * whose name, severity and title are also in docs/manual/rules.md. An error is a place that fails
 * whenever it is executed. The error is `certain` when every path through the program comes to this
 * place; a run is then stopped before its first request. A problem that may have several causes, or
 * that depends on variables from outside, is a warning. A value that is not known is never judged,
 * because a false alarm costs more than a problem that is not found.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CHECK_CHECK_H
#define PDL_CHECK_CHECK_H

#include "base/err.h"
#include "check/ty.h"
#include "lang/module_name.h"

/* --- rules ------------------------------------------------------------------------------------ */

typedef enum {
#define RULE(id, name, severity, title) PDL_RULE_##id,
#include "check/rules.def"
    PDL_RULE_COUNT
} pdl_rule_id;

typedef struct pdl_rule {
    const char *name; /* such as "name-undefined"; the anchor in docs/manual/rules.md */
    pdl_severity severity;
    const char *title;
    bool at_load; /* a rule of the loader, which cannot be ignored */
    bool strict;  /* the rule is about the reference interpreter, and needs --strict */
} pdl_rule;

/* Returns all rules, indexed by pdl_rule_id. */
const pdl_rule *pdl_rules(size_t *n);
/* Returns the rule of that name, or NULL. */
const pdl_rule *pdl_rule_find(pdl_str name);
/* Returns true for a rule about an old form of the language; r may be NULL. */
bool pdl_rule_is_old_form(const pdl_rule *r);
/* Returns the nearest name of a rule; empty when no name is near. */
pdl_str pdl_rule_near(pdl_str name);

/* The level that a user sets for a rule. */
typedef enum {
    PDL_LEVEL_DEFAULT,
    PDL_LEVEL_OFF,
    PDL_LEVEL_WARNING,
    PDL_LEVEL_ERROR
} pdl_rule_level;

/* --- checking --------------------------------------------------------------------------------- */

/* Finds the text of a module. Fills name (for messages) and bytes. Error: the file is missing or
 * cannot be read. */
typedef bool pdl_open_source_fn(void *user, const pdl_module_name *module, pdl_buf *name,
                                pdl_buf *bytes, pdl_err *err);

/* --- what the checker knows at each place, for editors ---------------------------------------- */

typedef enum {
    PDL_DEF_PREDEFINED, /* the name is always defined: stdlib, pdl_context, ... */
    PDL_DEF_OUTSIDE,    /* the variable comes from -d, -f or the host program */
    PDL_DEF_VARIABLE,   /* the field `def` of a block */
    PDL_DEF_DEFS,       /* an entry of the field `defs` */
    PDL_DEF_FOR,        /* the variable of a loop */
    PDL_DEF_INDEX,
    PDL_DEF_PARAMETER,
    PDL_DEF_PATTERN,  /* the field `def` of a pattern */
    PDL_DEF_RESPONSE, /* the field `modelResponse` */
    PDL_DEF_INCLUDED, /* a definition of an included file */
} pdl_def_kind;

/* A definition of a name. loc is the place of the name in the text; it has no source for a
 * predefined name. */
typedef struct pdl_name_def {
    pdl_def_kind kind;
    pdl_str name;
    const pdl_ty *type;
    pdl_loc loc;
} pdl_name_def;

/* The names at one place; valid only inside of the callback that gets them. */
typedef struct pdl_checker pdl_scope_view;
void pdl_scope_view_each(const pdl_scope_view *v, void (*fn)(void *user, const pdl_name_def *def),
                         void *user);
/* Returns the type that an expression (without ${ }) has at the place of v. Returns pdl_ty_any when
 * the expression cannot be read. */
const pdl_ty *pdl_scope_view_type(pdl_scope_view *v, pdl_str expression);

/* Functions that receive the findings of a check. Each may be NULL. The values that they get are
 * valid only inside of the call. Included and imported files are walked as well; loc.src is the
 * file. */
typedef struct pdl_check_watch {
    void *user;
    void (*define)(void *user, const pdl_name_def *def);
    /* Called for a name that is read. def is NULL when nothing defines it, or when its definition
     * is unknown. */
    void (*use)(void *user, pdl_str name, pdl_loc at, const pdl_name_def *def);
    /* `before` is called with the names that are in scope before a block, and `after` with the type
     * of the block's result. */
    void (*before)(void *user, const pdl_block *b, pdl_scope_view *scope);
    void (*after)(void *user, const pdl_block *b, pdl_scope_view *scope, const pdl_ty *result);
} pdl_check_watch;

/* Questions about models. The caller answers them, because this code may not include the tables of
 * models. */
typedef struct pdl_check_models {
    void *user;
    /* Returns false when no provider is known for the model. The reason is appended to text, and
     * the name that may be meant is appended to near. */
    bool (*provider)(void *user, pdl_str model, const pdl_node *parameters, pdl_buf *text,
                     pdl_buf *near);
    /* Returns false when the model's provider does not know the parameter. *near is then the name
     * that may be meant. */
    bool (*parameter)(void *user, pdl_str model, pdl_str name, pdl_str *near);
    /* Finds the values that the parameter accepts. *type is number, integer, boolean, or empty, and
     * *takes has bounds or types as in model/catalog.h. Returns false when the values are
     * unknown. */
    bool (*takes)(pdl_str name, pdl_str *type, pdl_str *takes);
    /* Returns false when the key of the provider is not set; its name is appended to text. When the
     * function is NULL, keys are not checked. */
    bool (*key)(void *user, pdl_str model, const pdl_node *parameters, pdl_buf *text);
} pdl_check_models;

/* Python's report on a text. The checker releases it. */
typedef struct pdl_python_report {
    size_t start, end; /* bytes of the text that does not compile */
    pdl_buf message;   /* the reason why the text does not compile; empty when it compiles */
    /* The names that the text reads and never sets, as lists [name, start, end] of bytes; absent
     * when they are unknown. */
    pdl_val names;
    bool no_result; /* the text cannot set `result` */
} pdl_python_report;

/* Knowledge of the standard library, kept from one check to the next. All members are zero at the
 * beginning. The library is read when a program first names `stdlib`, and again when its text has
 * changed. Threads must not share it. */
typedef struct pdl_check_library {
    pdl_str text;         /* the text that was read */
    pdl_program *program; /* NULL before the library was read */
    const pdl_ty *type;   /* lives as long as the program */
} pdl_check_library;

void pdl_check_library_fini(pdl_check_library *l);

/* The options of a check. When all members are zero, there are no names from outside, and all lint
 * checks are made. No file is opened then, so names after an include are not judged. */
typedef struct pdl_check_options {
    pdl_open_source_fn *open;
    void *user;
    const pdl_str *names; /* variables defined outside of the program, by -d and -f */
    size_t n_names;
    /* For each name, the set of PDL_TY_... kinds that its value may have; 0 when they are unknown.
     * When `kinds` is NULL, the kinds of all names are unknown. */
    const uint32_t *kinds;
    bool closed;   /* `names` has all variables from outside, so an undefined name is an error */
    bool no_names; /* do not report undefined names */
    bool no_lint;  /* report errors and undefined names only */
    /* A pdl_rule_level for each rule. When it is NULL, rules have the levels of rules.def. */
    const uint8_t *levels;
    pdl_str stdlib; /* text of the standard library; when it is empty, the library is unknown */
    /* the place where the library is kept; when it is NULL, the library is read for this check
     * only */
    pdl_check_library *library;
    const pdl_check_models *models; /* when it is NULL, models are not checked */
    /* Compiles Python code. The report stays all-zero when that is not possible. When the function
     * is NULL, code is not checked. */
    void (*python)(void *user, pdl_str code, pdl_python_report *report);
    void *python_user;
    const pdl_check_watch *watch; /* may be NULL */
    /* Called for each undefined name, perhaps several times. optional is set when the program tests
     * whether the name is defined. May be NULL. */
    void (*input)(void *user, pdl_str name, bool optional);
    void *input_user;
} pdl_check_options;

/* Adds diagnostics to a loaded program and sorts them. A problem in an included or imported file is
 * reported at the place of the include, and its place in the file is a related place. Levels and `#
 * pdl: ignore` comments are applied. A program that did not load keeps the loader's diagnostics,
 * except those that only follow from others (pdl_diag.follows). */
void pdl_program_check(pdl_program *p, const pdl_check_options *opt);

/* Applies levels and comments to diagnostics that were added after the check. */
void pdl_program_settle(pdl_program *p, const uint8_t *levels);

/* Makes a second program with the blocks of p. A check writes its results into the copy, and p does
 * not change, so a program that runs or is shared can be checked without loading it again. The copy
 * keeps p alive. */
pdl_program *pdl_program_copy(pdl_program *p);

/* Returns the program of the module with this name and text, if a check of p has loaded it. Returns
 * NULL otherwise. Borrowed. */
pdl_program *pdl_program_checked_module(const pdl_program *p, pdl_str name, pdl_str text);

/* Returns the first error that every path through the checked program meets, or NULL. */
const pdl_diag *pdl_program_certain_error(const pdl_program *p);

/* Returns true for the name of a function that every program has, such as range. */
bool pdl_check_is_builtin(pdl_str name);

/* --- fixes ------------------------------------------------------------------------------------ */

/* Applies the fixes that have one right answer to `bytes`, the text from which p was loaded. Leaves
 * out fixes that overlap an earlier one, and fixes that edit a file that p includes. Line ends and
 * a byte order mark stay as they were. Appends the new text to out. Returns the number of problems
 * that were fixed. */
size_t pdl_program_fix(const pdl_program *p, pdl_str bytes, pdl_buf *out);

#endif
