/* check.h -- problems of a program, found without running it: `pdl check`, the language server, and
 * every run before its first request.
 *
 * A check adds diagnostics to a loaded program. Each belongs to a rule of rules.def, whose name,
 * severity and title they share with docs/manual/rules.md. An error is what fails whenever it is
 * executed; it is `certain` when every way through the program meets it, and then a run is stopped
 * before its first request. What may have several causes, or depends on variables from outside, is
 * a warning. Unknown stays unknown: a false alarm costs more than a problem that is not found.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CHECK_CHECK_H
#define PDL_CHECK_CHECK_H

#include "base/err.h"
#include "check/ty.h"

/* --- rules ------------------------------------------------------------------------------------ */

typedef enum {
#define RULE(id, name, severity, title) PDL_RULE_##id,
#include "check/rules.def"
    PDL_RULE_COUNT
} pdl_rule_id;

typedef struct pdl_rule {
    const char *name; /* "name-undefined"; the anchor in docs/manual/rules.md */
    pdl_severity severity;
    const char *title;
    bool at_load; /* of the loader: cannot be ignored */
    bool strict;  /* about the reference: with --strict alone */
} pdl_rule;

/* All rules, indexed by pdl_rule_id. */
const pdl_rule *pdl_rules(size_t *n);
/* NULL: there is no rule of that name. */
const pdl_rule *pdl_rule_find(pdl_str name);
/* The rule of that name that is nearest; empty when none is near. */
pdl_str pdl_rule_near(pdl_str name);

/* What a user wants of a rule. */
typedef enum {
    PDL_LEVEL_DEFAULT,
    PDL_LEVEL_OFF,
    PDL_LEVEL_WARNING,
    PDL_LEVEL_ERROR
} pdl_rule_level;

/* --- checking --------------------------------------------------------------------------------- */

/* Finds the text of `include: path` / `import: path` written in the source named `from`. Fills name
 * (for messages) and bytes. Error: the file is missing or cannot be read. */
typedef bool pdl_open_source_fn(void *user, pdl_str from, pdl_str path, bool import, pdl_buf *name,
                                pdl_buf *bytes, pdl_err *err);

/* --- what the checker knows at each place, for editors ---------------------------------------- */

typedef enum {
    PDL_DEF_PREDEFINED, /* stdlib, pdl_context, ... */
    PDL_DEF_OUTSIDE,    /* -d, -f, the host program */
    PDL_DEF_VARIABLE,   /* def */
    PDL_DEF_DEFS,       /* an entry of defs */
    PDL_DEF_FOR,        /* variable of a loop */
    PDL_DEF_INDEX,
    PDL_DEF_PARAMETER,
    PDL_DEF_PATTERN,  /* def of a pattern */
    PDL_DEF_RESPONSE, /* modelResponse */
    PDL_DEF_INCLUDED, /* by an included file */
} pdl_def_kind;

/* A definition of a name. loc is that of its name in the text, without a source when it is
 * predefined. */
typedef struct pdl_name_def {
    pdl_def_kind kind;
    pdl_str name;
    const pdl_ty *type;
    pdl_loc loc;
} pdl_name_def;

/* The names at one place; valid inside of the callback that gets it. */
typedef struct pdl_checker pdl_scope_view;
void pdl_scope_view_each(const pdl_scope_view *v, void (*fn)(void *user, const pdl_name_def *def),
                         void *user);
/* The type of an expression (without ${ }) there; any when it cannot be read. */
const pdl_ty *pdl_scope_view_type(pdl_scope_view *v, pdl_str expression);

/* Functions may be NULL. Everything they get is valid inside of the call alone; files that are
 * included or imported are seen too (loc.src says which). */
typedef struct pdl_check_watch {
    void *user;
    void (*define)(void *user, const pdl_name_def *def);
    /* a name that is read; def NULL: nothing defines it, or it is not known */
    void (*use)(void *user, pdl_str name, pdl_loc at, const pdl_name_def *def);
    /* before a block is examined, the names before it; after it, the type of its result */
    void (*before)(void *user, const pdl_block *b, pdl_scope_view *scope);
    void (*after)(void *user, const pdl_block *b, pdl_scope_view *scope, const pdl_ty *result);
} pdl_check_watch;

/* What is known of providers of models: the room of models is above this one. */
typedef struct pdl_check_models {
    void *user;
    /* false: no provider is known for the model; why is appended to text, and to near the name that
     * may be meant */
    bool (*provider)(void *user, pdl_str model, const pdl_node *parameters, pdl_buf *text,
                     pdl_buf *near);
    /* false: the provider of the model does not know the parameter; *near: what may be meant */
    bool (*parameter)(void *user, pdl_str model, pdl_str name, pdl_str *near);
    /* What the parameter takes: a type (number, integer, boolean, or empty), and bounds or types as
     * in model/catalog.h; false: nothing is known of it */
    bool (*takes)(pdl_str name, pdl_str *type, pdl_str *takes);
    /* false: the key of the provider is not set; which is appended to text. NULL: not asked */
    bool (*key)(void *user, pdl_str model, const pdl_node *parameters, pdl_buf *text);
} pdl_check_models;

/* What Python says of a text. The checker releases it. */
typedef struct pdl_python_report {
    size_t start, end; /* bytes of the text that does not compile */
    pdl_buf message;   /* why; empty: it compiles */
    /* names that it reads and never sets: lists [name, start, end] of bytes; absent: not known */
    pdl_val names;
    bool no_result; /* it cannot set `result` */
} pdl_python_report;

/* What is known of the standard library, for one check after the other. All-zero at the beginning;
 * it is read when a program first names `stdlib`, and again when the text is another one. Not
 * shared by threads. */
typedef struct pdl_check_library {
    pdl_str text;         /* that was read */
    pdl_program *program; /* NULL: nothing was read */
    const pdl_ty *type;   /* lives as long as the program */
} pdl_check_library;

void pdl_check_library_fini(pdl_check_library *l);

/* All-zero: no file is opened (names are then not judged after an include), no names from outside,
 * all lint checks. */
typedef struct pdl_check_options {
    pdl_open_source_fn *open;
    void *user;
    const pdl_str *names; /* variables defined outside: -d, -f */
    size_t n_names;
    const uint32_t *kinds; /* what they may be: sets of PDL_TY_..., 0 unknown; NULL: all are */
    bool closed;   /* these are all the variables from outside: undefined names are errors */
    bool no_names; /* do not report undefined names */
    bool no_lint;  /* errors, and undefined names */
    /* a pdl_rule_level for each rule, or NULL: as rules.def says */
    const uint8_t *levels;
    pdl_str stdlib; /* text of the standard library; empty: nothing is known of `stdlib` */
    pdl_check_library *library; /* where it is kept; NULL: it is read for this check alone */
    const pdl_check_models *models; /* NULL: models are not examined */
    /* Compiles Python code; the report stays all-zero where it is not known. NULL: not examined */
    void (*python)(void *user, pdl_str code, pdl_python_report *report);
    void *python_user;
    const pdl_check_watch *watch; /* NULL: none */
    /* Called for each undefined name, perhaps more than once; optional: the program tests whether
     * it is defined. NULL: not called */
    void (*input)(void *user, pdl_str name, bool optional);
    void *input_user;
} pdl_check_options;

/* Adds diagnostics to a loaded program and sorts them; those of files that it includes or imports
 * are at the place of the include, with places in those files. Levels and `# pdl: ignore`
 * comments are applied. A program that did not load keeps the loader's diagnostics. */
void pdl_program_check(pdl_program *p, const pdl_check_options *opt);

/* Levels and comments for diagnostics that somebody else added after the check. */
void pdl_program_settle(pdl_program *p, const uint8_t *levels);

/* The first error that every way through the checked program meets, or NULL. */
const pdl_diag *pdl_program_certain_error(const pdl_program *p);

bool pdl_check_is_builtin(pdl_str name); /* a function that every program has, such as range */

/* --- fixes ------------------------------------------------------------------------------------ */

/* Applies to bytes, from which p was loaded, the fixes that have one right answer, leaving out
 * those that overlap an earlier one. Line ends and a byte order mark stay as they were. Result: the
 * number of problems that were fixed; out is then the new text. Edits of other files that p
 * includes are left out. */
size_t pdl_program_fix(const pdl_program *p, pdl_str bytes, pdl_buf *out);

#endif
