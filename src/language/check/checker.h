/* checker.h -- private to check: state of one check.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CHECK_CHECKER_H
#define PDL_CHECK_CHECKER_H

#include "check/names/check_scope.h"
#include "lang/fields.h"

/* A file that was included or imported: it is checked once. */
typedef struct pdl_module {
    pdl_str name;          /* owned by program's arena */
    pdl_program *program;  /* the one that is checked owns it in the end */
    pdl_name_def *defines; /* names left in scope when it has run; in the arena of the check */
    size_t n_defines;
    const pdl_ty *result;
    bool busy;       /* being walked: meeting it again is a cycle */
    bool open_ended; /* its definitions are not known completely */
} pdl_module;

typedef struct pdl_modules {
    PDL_VEC(pdl_module *) all;
    pdl_map by_name;
    pdl_check_library library; /* where the options have none */
    bool names_library;        /* the program that is checked holds it */
} pdl_modules;

typedef struct pdl_checker {
    pdl_program *p;
    const pdl_check_options *opt;
    pdl_modules *modules;
    pdl_scope_state scope;            /* its arena is shared by the modules of a check */
    PDL_VEC(const pdl_xnode *) spine; /* operators whose left operand is being looked at */
    bool quiet;                       /* nothing is reported: a second look */
    bool open_ended;                  /* any name may have been defined */
    bool outer_unknown; /* names from outside the file are not known: it is included */
    bool sure;          /* every way through the program comes here */
    bool dead;          /* no way does */
    /* Something that is examined has the type of a parameter. Calls from expressions do not check
     * their arguments, so that an error that follows from it is a warning. */
    bool assumed;
    bool may_exit;   /* code that ran may have ended the program */
    bool local;      /* definitions end with the function or iteration around them */
    bool in_code;    /* below the source text of a code block */
    bool in_jinja;   /* whose language is Jinja */
    bool reads_all;  /* something reads names that cannot be seen: pdl_scope, code, a file */
    unsigned caught; /* blocks around this one whose fallback catches errors */
    unsigned depth;  /* of includes */
    unsigned inside; /* how many programs that are texts are around this one */
    unsigned n_near; /* suggestions of names that were searched for */
} pdl_checker;

/* Keeps variables out of the frames of recursive functions. */
#define PDL_NOINLINE __attribute__((noinline))

static inline pdl_arena *pdl_checker_arena(const pdl_checker *c) { return c->scope.arena; }

/* names.c: definitions and uses */
void pdl_checker_define(pdl_checker *c, pdl_def_kind kind, pdl_str name, const pdl_ty *type,
                        pdl_loc loc);
bool pdl_checker_has(const pdl_checker *c, pdl_str name);
void pdl_checker_predefine(pdl_checker *c);
/* The body of a loop may run again: what is defined in it is unknown at its start. */
void pdl_checker_loosen_body(pdl_checker *c, const pdl_block *body);
/* The names that an expression reads, which nothing defines, are reported. lenient: of a template,
 * where an undefined name prints as nothing. */
void pdl_checker_free_names(pdl_checker *c, const pdl_expr *e, const pdl_node *node, pdl_loc loc,
                            bool lenient);
/* Adds the name in scope that is most like one that nothing defines, at mark; d may be NULL. */
void pdl_checker_suggest(pdl_checker *c, pdl_diag *d, pdl_loc mark, pdl_str name);
/* Names that a condition tests (`x is defined`, `x`) count as defined, and nothing is known of them
 * below it. */
void pdl_checker_guards(pdl_checker *c, const pdl_tree *t);
void pdl_checker_narrow(pdl_checker *c, const pdl_xnode *x);
/* Reports local names from mark on that nothing read, and leaves their scope. */
void pdl_checker_leave(pdl_checker *c, size_t mark);

/* infer.c: expressions. pdl_checker_expr reports what is wrong and returns the type; tree: of data
 * with expressions inside. */
const pdl_ty *pdl_checker_expr(pdl_checker *c, const pdl_expr *e, const pdl_node *node,
                               pdl_loc loc);
const pdl_ty *pdl_checker_tree(pdl_checker *c, const pdl_tree *t);

/* uncalled.c: reports a function that becomes text; says of a method that it is none, and how a
 * field that it hides is read. To find the mark takes time that is linear in the length of the
 * expression, so a caller with many parts asks is_function first. */
bool pdl_checker_is_function(const pdl_ty *t);
void pdl_checker_printed(pdl_checker *c, const pdl_ty *t, pdl_loc loc, pdl_loc mark);
void pdl_checker_hint_method(pdl_checker *c, pdl_diag *d, const pdl_ty *t);
bool pdl_checker_hides_field(const pdl_checker *c, const pdl_ty *t, pdl_str *name);

/* jinja.c: a template in a code block that could be read. */
void pdl_checker_template(pdl_checker *c, const pdl_expr *e, const pdl_node *node, pdl_loc loc);

/* modules.c: returns the type of the result */
const pdl_ty *pdl_checker_module(pdl_checker *c, const pdl_block *b, pdl_str path, bool import);
/* The object `stdlib`. */
const pdl_ty *pdl_checker_stdlib(pdl_checker *c);
/* Hands the programs over to the one that was checked. */
void pdl_checker_modules_fini(pdl_modules *m, pdl_program *checked);

/* ignore.c: drops what levels and comments switch off. */
void pdl_checker_settle(pdl_program *p, const pdl_check_options *opt);

/* check_walk.c: returns the type of the block's variable (def), which without `result` in
 * contribute is not that of what the block around it gets. */
const pdl_ty *pdl_checker_block(pdl_checker *c, const pdl_block *b, pdl_str self);

/* kinds.c: the part of a block that its kind has; type of its result. */
const pdl_ty *pdl_checker_kind(pdl_checker *c, const pdl_block *b, pdl_str self);

/* results.c: parser, spec, joins */
const pdl_ty *pdl_checker_parsed(pdl_checker *c, const pdl_block *b, const pdl_ty *t);
const pdl_ty *pdl_checker_fitted(pdl_checker *c, const pdl_block *b, const pdl_ty *t);
void pdl_checker_params(pdl_checker *c, const pdl_params *p);
/* A value that becomes messages: a message, or a list of such values. n: where it is written, or
 * NULL. takes_text: a text would do, too. */
void pdl_checker_context(pdl_checker *c, const pdl_ty *t, const pdl_node *n, pdl_loc loc,
                         pdl_loc mark, bool takes_text);
/* The result of iterations or blocks with this type each. */
const pdl_ty *pdl_checker_joined(pdl_checker *c, const pdl_join *join, const pdl_ty *each,
                                 bool may_be_empty);

/* cases.c: match */
const pdl_ty *pdl_checker_match(pdl_checker *c, const pdl_b_match *b);

/* code_blocks.c */
const pdl_ty *pdl_checker_code(pdl_checker *c, const pdl_b_code *b);
/* Every word of the text may be a variable that it reads. */
void pdl_checker_use_words(pdl_checker *c, pdl_str text);
/* literals.c: commands and programs; t: the text when it is written in the program, else NULL. */
void pdl_checker_command(pdl_checker *c, const pdl_b_code *b, const pdl_tree *t);
void pdl_checker_program(pdl_checker *c, const pdl_b_code *b, const pdl_tree *t);
void pdl_checker_model(pdl_checker *c, const pdl_b_model *b);

/* parameters.c: the value of a parameter, whose type is t. */
void pdl_checker_parameter(pdl_checker *c, const pdl_node *value, pdl_str model, pdl_str name,
                           const pdl_ty *t);

/* sent_objects.c: messages; a parameter that services get as it is written. n and tree may be NULL.
 * False: what is wrong with its type has been reported. */
void pdl_checker_messages(pdl_checker *c, const pdl_ty *t, const pdl_node *n, pdl_loc loc);
bool pdl_checker_sent(pdl_checker *c, pdl_str name, const pdl_tree *tree, const pdl_ty *t,
                      const pdl_node *n, pdl_loc loc);

/* calls.c: calls of functions of the program */
const pdl_ty *pdl_checker_call(pdl_checker *c, const pdl_b_call *b);
/* values: how many are folded; less than 2: perhaps none or one */
void pdl_checker_reduce(pdl_checker *c, const pdl_join *join, int64_t values);

/* lint.c */
void pdl_checker_lint_block(pdl_checker *c, const pdl_block *b);
void pdl_checker_lint_role(pdl_checker *c, pdl_str role, pdl_loc loc, pdl_loc value);
void pdl_checker_lint_program(pdl_checker *c, const pdl_block *main);
void pdl_checker_lint_keys(pdl_checker *c, const pdl_node *n);
void pdl_checker_lint_text(pdl_checker *c, pdl_str text, const pdl_node *node, pdl_loc loc);

/* texts.c: what is written as if it were no YAML; a block, a scalar, an entry of an object. */
void pdl_checker_lint_written(pdl_checker *c, const pdl_block *b);
void pdl_checker_lint_name(pdl_checker *c, pdl_str name, pdl_loc loc, pdl_loc mark);
void pdl_checker_lint_scalar(pdl_checker *c, const pdl_node *n);
void pdl_checker_lint_pair(pdl_checker *c, const pdl_node *map, const pdl_pair *pair);

/* foreign.c: a text with variables as other template languages write them. */
void pdl_checker_lint_forms(pdl_checker *c, const pdl_tree *t);

/* problems.c: NULL when the checker is quiet. loc is what FILE:LINE prints, mark the exact span. An
 * error is a warning where it is caught or never reached. */
PDL_PRINTF(5, 6)
pdl_diag *pdl_checker_diag(pdl_checker *c, pdl_rule_id rule, pdl_loc loc, pdl_loc mark,
                           const char *fmt, ...);
/* The following take what pdl_checker_diag returned, NULL included. */
PDL_PRINTF(3, 4) void pdl_checker_hint(pdl_checker *c, pdl_diag *d, const char *fmt, ...);
/* False when so many names were searched for something near that more would take too long. */
bool pdl_checker_may_suggest(pdl_checker *c);
/* Adds an edit to the fix, which is the one right answer. */
void pdl_checker_fix(pdl_checker *c, pdl_diag *d, pdl_loc at, pdl_str text);
void pdl_checker_relate(pdl_checker *c, pdl_diag *d, pdl_loc loc, const char *text);
/* The same problem is not an error, though its rule says so. */
void pdl_checker_soften(pdl_diag *d);

/* The place of a field's value, or of its key. */
pdl_loc pdl_checker_value_loc(const pdl_block *b, const char *key);

#endif
