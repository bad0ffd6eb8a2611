/* checker.h -- the state of one check. Private to check.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CHECK_CHECKER_H
#define PDL_CHECK_CHECKER_H

#include "base/map.h"
#include "check/names/check_scope.h"
#include "lang/fields.h"

/* A file that was included or imported. It is checked once. */
typedef struct pdl_module {
    pdl_str name;          /* owned by program's arena */
    pdl_program *program;  /* the checked program owns it in the end */
    pdl_name_def *defines; /* names in scope after the file has run; in the arena of the check */
    size_t n_defines;
    const pdl_ty *result;
    bool busy;       /* the file is being walked, so meeting it again is a cycle */
    bool open_ended; /* not all definitions of the file are known */
} pdl_module;

typedef struct pdl_modules {
    PDL_VEC(pdl_module *) all;
    pdl_map by_name;
    pdl_check_library library; /* used when the caller's options have no library */
    bool names_library;        /* the checked program keeps the library alive */
} pdl_modules;

typedef struct pdl_checker {
    pdl_program *p;
    const pdl_check_options *opt;
    pdl_modules *modules;
    pdl_scope_state scope;            /* the modules of a check share its arena */
    PDL_VEC(const pdl_xnode *) spine; /* operators whose left operand is being examined */
    bool quiet;                       /* nothing is reported, because this is a second pass */
    bool open_ended;                  /* any name may have been defined */
    bool outer_unknown; /* another file, whose names are unknown, includes this file */
    bool sure;          /* every path through the program comes to the current block */
    bool dead;          /* no path comes to the current block */
    /* The examined part depends on the declared type of a parameter. A call from an expression does
     * not check its arguments against that type, so an error that follows from it is a warning. */
    bool assumed;
    bool may_exit; /* code that ran may have ended the program */
    bool local;    /* definitions end with the function or iteration around them */
    bool in_code;  /* the walk is inside of the source text of a code block */
    bool in_jinja; /* the walk is inside of a code block whose language is Jinja */
    /* unknown names are read, by pdl_scope, code or a file, so any definition may be used */
    bool reads_all;
    unsigned caught; /* number of blocks around the current one whose fallback catches errors */
    unsigned depth;  /* depth of includes */
    unsigned inside; /* number of programs around the current one that are texts in code blocks */
    unsigned n_near; /* number of names for which a suggestion was searched */
    /* Facts about the variables of the program (changing_names.c). prompt_names has the kind of
     * each variable, a pdl_prompt_name. prompt_blocks has the block that defines a variable, for
     * each variable with one definition. */
    pdl_map prompt_names, prompt_blocks;
    bool knows_prompt_names;
} pdl_checker;

/* Returns true when the invariants hold outside of all blocks of a file: the walk has left every
 * expression, code block, function and iteration that it entered. */
bool pdl_checker_ok(const pdl_checker *c);

/* A function with this attribute is not inlined, so its variables are not in the frame of the
 * recursive function that calls it. */
#define PDL_NOINLINE __attribute__((noinline))

static inline pdl_arena *pdl_checker_arena(const pdl_checker *c) { return c->scope.arena; }

/* Examines the texts of a prompt (unstable.c). */
void pdl_checker_lint_prefix(pdl_checker *c, const pdl_block *b);
/* The kinds of variables in prompts (changing_names.c). A variable that is set at several places
 * changes when one of these values does. */
typedef enum { PDL_NAME_OTHER = 1, PDL_NAME_IS_WRITTEN, PDL_NAME_CHANGES } pdl_prompt_name;
bool pdl_checker_name_is(pdl_checker *c, pdl_str name, pdl_prompt_name kind);
/* Returns the text of a variable that has only one definition. Returns NULL for other variables,
 * and when the function was called before with this name, so that each text is examined once. */
const pdl_tree *pdl_checker_take_prompt(pdl_checker *c, pdl_str name);
/* Returns true for an expression that draws at random. */
bool pdl_checker_node_draws(const pdl_xnode *x);
bool pdl_checker_has_letter(pdl_str s);
void pdl_checker_forget_prompts(pdl_checker *c);
/* Offers to move the sentence with the changing parts to the end of the text (unstable_fix.c).
 * first and last are the places where the first and the last changing part begin. */
void pdl_checker_move_sentence(pdl_checker *c, pdl_diag *d, const pdl_node *n,
                               const pdl_xlist *parts, uint32_t first, uint32_t last);

/* The functions from here on handle definitions and uses of names (names.c). */
void pdl_checker_define(pdl_checker *c, pdl_def_kind kind, pdl_str name, const pdl_ty *type,
                        pdl_loc loc);
bool pdl_checker_has(const pdl_checker *c, pdl_str name);
void pdl_checker_predefine(pdl_checker *c);
/* Forgets the values of the names that the body of a loop defines. At the start of the body they
 * are unknown, because the body may run again. */
void pdl_checker_loosen_body(pdl_checker *c, const pdl_block *body);
/* Reports the names that an expression reads and that are not defined. lenient is set for a
 * template, where an undefined name prints as nothing. */
void pdl_checker_free_names(pdl_checker *c, const pdl_expr *e, const pdl_node *node, pdl_loc loc,
                            bool lenient);
/* Adds a suggestion to d, at mark: the name in scope that is most like the undefined name. d may be
 * NULL. */
void pdl_checker_suggest(pdl_checker *c, pdl_diag *d, pdl_loc mark, pdl_str name);
/* Defines the names that a condition tests (`x is defined`, `x`). Nothing is known of their values
 * in the branch. */
void pdl_checker_guards(pdl_checker *c, const pdl_tree *t);
void pdl_checker_narrow(pdl_checker *c, const pdl_xnode *x);
/* Reports local names from mark on that were never read, and leaves their scope. */
void pdl_checker_leave(pdl_checker *c, size_t mark);

/* pdl_checker_expr reports the problems of an expression and returns its type (infer.c).
 * pdl_checker_tree does the same for data with expressions inside. */
const pdl_ty *pdl_checker_expr(pdl_checker *c, const pdl_expr *e, const pdl_node *node,
                               pdl_loc loc);
const pdl_ty *pdl_checker_tree(pdl_checker *c, const pdl_tree *t);

/* pdl_checker_printed reports a function whose text would be printed. For a method, the message
 * says that the method is not called, and how to read a field of the same name (uncalled.c).
 * Finding the mark takes time linear in the length of the expression, so a caller with many parts
 * calls pdl_checker_is_function first. */
bool pdl_checker_is_function(const pdl_ty *t);
void pdl_checker_printed(pdl_checker *c, const pdl_ty *t, pdl_loc loc, pdl_loc mark);
/* Reports a condition that is a function, which is always true. The condition may be NULL. */
void pdl_checker_condition(pdl_checker *c, const pdl_ty *t, const pdl_tree *cond);
void pdl_checker_hint_method(pdl_checker *c, pdl_diag *d, const pdl_ty *t);
bool pdl_checker_hides_field(const pdl_checker *c, const pdl_ty *t, pdl_str *name);

/* Checks a template that is in a code block and was read without an error (jinja.c). */
void pdl_checker_template(pdl_checker *c, const pdl_expr *e, const pdl_node *node, pdl_loc loc);

/* Checks a module. Returns the type of the result (modules.c). */
const pdl_ty *pdl_checker_module(pdl_checker *c, const pdl_block *b, pdl_str path, bool import);
/* Returns the type of the object `stdlib`. */
const pdl_ty *pdl_checker_stdlib(pdl_checker *c);
/* Makes the checked program the owner of the programs of all modules. */
void pdl_checker_modules_fini(pdl_modules *m, pdl_program *checked);

/* Drops the diagnostics that levels and comments switch off (ignore.c). */
void pdl_checker_settle(pdl_program *p, const pdl_check_options *opt);

/* Returns the type of the value that the block around b gets. It is a text when `contribute` of b
 * lacks `result` (check_walk.c). */
const pdl_ty *pdl_checker_block(pdl_checker *c, const pdl_block *b, pdl_str self);

/* Checks the fields that belong to the block's kind. Returns the type of its result (kinds.c). */
const pdl_ty *pdl_checker_kind(pdl_checker *c, const pdl_block *b, pdl_str self);

/* The next functions are about parsers, specs and joins (results.c). */
const pdl_ty *pdl_checker_parsed(pdl_checker *c, const pdl_block *b, const pdl_ty *t);
const pdl_ty *pdl_checker_fitted(pdl_checker *c, const pdl_block *b, const pdl_ty *t);
void pdl_checker_params(pdl_checker *c, const pdl_params *p);
/* Checks a value that becomes messages: a message, or a list of such values. n is the node in which
 * it is written, or NULL. takes_text is set where a text would be right, too: the hint for a number
 * is then to make it a text. */
void pdl_checker_context(pdl_checker *c, const pdl_ty *t, const pdl_node *n, pdl_loc loc,
                         pdl_loc mark, bool takes_text);
/* Returns the type of the results of iterations or blocks that have the type `each`. */
const pdl_ty *pdl_checker_joined(pdl_checker *c, const pdl_join *join, const pdl_ty *each,
                                 bool may_be_empty);

/* Checks `match` (match_cases.c). */
const pdl_ty *pdl_checker_match(pdl_checker *c, const pdl_b_match *b);

/* The next functions are about code blocks and calls of models (code_blocks.c). */
const pdl_ty *pdl_checker_code(pdl_checker *c, const pdl_b_code *b);
/* Marks every word of the text as used, since it may be a variable that the text reads. */
void pdl_checker_use_words(pdl_checker *c, pdl_str text);
/* pdl_checker_command and pdl_checker_program check commands and programs (literals.c). t is the
 * text when it is written in the program, and NULL otherwise. */
void pdl_checker_command(pdl_checker *c, const pdl_b_code *b, const pdl_tree *t);
void pdl_checker_program(pdl_checker *c, const pdl_b_code *b, const pdl_tree *t);
void pdl_checker_model(pdl_checker *c, const pdl_b_model *b);

/* Checks the value of a parameter, whose type is t (parameters.c). */
void pdl_checker_parameter(pdl_checker *c, const pdl_node *value, pdl_str model, pdl_str name,
                           const pdl_ty *t);

/* pdl_checker_messages checks messages. pdl_checker_sent checks a parameter that services get
 * unchanged (sent_objects.c). n and tree may be NULL. pdl_checker_sent returns false when it
 * reported a wrong type. */
void pdl_checker_messages(pdl_checker *c, const pdl_ty *t, const pdl_node *n, pdl_loc loc);
bool pdl_checker_sent(pdl_checker *c, pdl_str name, const pdl_tree *tree, const pdl_ty *t,
                      const pdl_node *n, pdl_loc loc);

/* The next two functions check calls of functions of the program (calls.c). */
const pdl_ty *pdl_checker_call(pdl_checker *c, const pdl_b_call *b);
/* values is the number of values that are folded. When this number is less than 2, the function of
 * `reduce` may never be called. */
void pdl_checker_reduce(pdl_checker *c, const pdl_join *join, int64_t values);

/* The next functions find constructs that run but are rarely intended (lint.c). */
void pdl_checker_lint_block(pdl_checker *c, const pdl_block *b);
void pdl_checker_lint_role(pdl_checker *c, pdl_str role, pdl_loc loc, pdl_loc value);
void pdl_checker_lint_program(pdl_checker *c, const pdl_block *main);
void pdl_checker_lint_keys(pdl_checker *c, const pdl_node *n);
void pdl_checker_lint_text(pdl_checker *c, pdl_str text, const pdl_node *node, pdl_loc loc);

/* The next functions apply the rule norway (norway.c) to a block that is a scalar, to a key of
 * data, to a number, and to a number that becomes text. */
void pdl_checker_norway_boolean(pdl_checker *c, const pdl_block *b);
void pdl_checker_norway_key(pdl_checker *c, const pdl_node *key);
void pdl_checker_norway_number(pdl_checker *c, const pdl_node *n);
void pdl_checker_norway_text(pdl_checker *c, const pdl_node *n);

/* The next functions find texts that are written as if YAML had other rules (suspect_texts.c). */
void pdl_checker_lint_written(pdl_checker *c, const pdl_block *b);
void pdl_checker_lint_name(pdl_checker *c, pdl_str name, pdl_loc loc, pdl_loc mark);
void pdl_checker_lint_pair(pdl_checker *c, const pdl_node *map, const pdl_pair *pair);

/* Checks a text for variables in the form of other template languages (foreign_templates.c). */
void pdl_checker_lint_forms(pdl_checker *c, const pdl_tree *t);

/* Reports a problem (problems.c). Returns NULL when the checker is quiet. loc is the place that is
 * printed as FILE:LINE, and mark is the exact span. An error becomes a warning when it is caught or
 * never reached. */
PDL_PRINTF(5, 6)
pdl_diag *pdl_checker_diag(pdl_checker *c, pdl_rule_id rule, pdl_loc loc, pdl_loc mark,
                           const char *fmt, ...);
/* The following functions accept the result of pdl_checker_diag, also NULL. */
PDL_PRINTF(3, 4) void pdl_checker_hint(pdl_checker *c, pdl_diag *d, const char *fmt, ...);
/* Returns false when further comparisons of names would take too long. */
bool pdl_checker_may_suggest(pdl_checker *c);
/* Adds an edit to the fix of d. Called only for a fix that is certainly right. */
void pdl_checker_fix(pdl_checker *c, pdl_diag *d, pdl_loc at, pdl_str text);
void pdl_checker_relate(pdl_checker *c, pdl_diag *d, pdl_loc loc, const char *text);
/* Makes d a warning, although its rule is an error. */
void pdl_checker_soften(pdl_diag *d);

/* Returns the place of a field's value, or else what pdl_field_loc returns. */
pdl_loc pdl_checker_value_loc(const pdl_block *b, const char *key);

/* The next three functions check the fields that are objects (records.c). */
void pdl_checker_retry(pdl_checker *c, const pdl_block *b);
void pdl_checker_budget(pdl_checker *c, const pdl_budget_field *budget);
void pdl_checker_aggregator(pdl_checker *c, const pdl_agg *agg);
/* Returns true when the value is known to be a number below `least`. */
bool pdl_checker_is_below(const pdl_ty *t, double least);
/* Warns of a boolean in place of a number. The boolean counts as 0 or 1. Returns true when n is a
 * boolean. */
bool pdl_checker_truth_counts(pdl_checker *c, pdl_rule_id rule, const char *name,
                              const pdl_node *n);

#endif
