/* expr.h -- the text of `${ }` and of Jinja templates as a tree: expressions, their three outcomes,
 * full Jinja, lexical rules (spec syntax 4, 4.2, 4.8, 4.9).
 *
 * The dialect is Jinja 3.1's.
 *
 * A string of a program has one of three forms (pdl_xform). A template engine always gives text,
 * but `${ xs }` must give the list itself, or nothing could be passed on. So a string that is one
 * expression and nothing else gives the value of the expression. A string without expressions stays
 * as it is, to the byte. Every other string gives text. The form follows from the string alone and
 * is chosen when it is read: the form of `${ a }` never depends on what `a` is. A text that cannot
 * be read is a fourth form, PDL_X_BROKEN: it fails when it is evaluated, not before.
 *
 * Trees live in an arena and are immutable. Spans are byte offsets in the source text of the
 * expression.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_EXPR_EXPR_H
#define PDL_EXPR_EXPR_H

#include "base/arena.h"
#include "base/err.h"
#include "base/intern.h"
#include "value/int.h"
#include "value/val.h"

typedef struct pdl_xnode pdl_xnode;

/* Operators of PDL_X_UNARY, PDL_X_BINARY, PDL_X_COMPARE. */
typedef enum {
    PDL_XOP_NONE,
    PDL_XOP_NOT,
    PDL_XOP_NEG,
    PDL_XOP_POS,
    PDL_XOP_ADD,
    PDL_XOP_SUB,
    PDL_XOP_MUL,
    PDL_XOP_DIV,
    PDL_XOP_FLOORDIV,
    PDL_XOP_MOD,
    PDL_XOP_POW,
    PDL_XOP_EQ,
    PDL_XOP_NE,
    PDL_XOP_LT,
    PDL_XOP_LE,
    PDL_XOP_GT,
    PDL_XOP_GE,
    PDL_XOP_IN,
    PDL_XOP_NOTIN
} pdl_xop;

/* Returns the operator as it is written: "not in". */
const char *pdl_xop_text(pdl_xop op);
/* Returns the operation of values for an arithmetic operator. */
pdl_arith pdl_xop_arith(pdl_xop op);

/* The arguments of a call, filter or test, in source order. `star` and `starstar` are NULL when
 * absent. */
typedef struct pdl_xargs {
    const pdl_xnode **pos;
    uint32_t n_pos;
    uint32_t n_kw;
    pdl_str *kw_names;
    const pdl_xnode **kw;
    const pdl_xnode *star, *starstar;
} pdl_xargs;

typedef struct pdl_xlist {
    const pdl_xnode **p;
    uint32_t n;
} pdl_xlist;

/*   Kind   expression                members of u with its parts
 *   CONST                            value (owned by the tree's arena: dropped with it)
 *   NAME                             name
 *   ATTR   a.name                    access {obj, name}
 *   ITEM   a[b]                      access {obj, key}; `a.0` is an ITEM with an int CONST
 *   SLICE  b:c:d inside ITEM's key   slice (each may be NULL)
 *   CALL                             call {obj, args}
 *   FILTER x|f(args)                 filter {obj, name, args}; obj is NULL in a filter block, which
 *                                    filters the text of the block
 *   TEST   x is f(args)              filter; negated: `is not`
 *   UNARY BINARY AND OR              op {op, a, b}
 *   COMPARE a < b < c                compare {first, n, ops, rest}
 *   CONCAT a ~ b ~ c                 list
 *   COND   a if c else b             cond {test, yes, no (NULL: undefined)}
 *   LIST TUPLE                       list
 *   DICT                             dict {n, keys, vals}
 *   Template statements
 *   TEXT                             text (literal output)
 *   OUTPUT                           list of expressions printed one after the other
 *   SEQ                              list of statements
 *   IF                               cond; yes: a SEQ; no: the SEQ of an `else`, the IF of an
 *                                    `elif`, or NULL
 *   FOR                              loop; closed: few targets, nothing in it sets a variable, and
 *                                    nothing in it can be called from outside
 *   SET                              set {target, value}; target: NAME, TUPLE of targets, or NSREF
 *   SETBLOCK                         set {target, filter, body}; filter: NULL, or a FILTER chain
 *                                    whose innermost obj is NULL
 *   NSREF  ns.attr as target         access {obj: NAME, name}
 *   MACRO                            macro {name, params, defaults, body}
 *   CALLBLOCK                        macro (params of `call(x)`), value: the CALL
 *   FILTERBLOCK                      set {filter, body}
 *   WITH                             with {n, targets, values, body}
 *   BLOCK                            macro {name, body, scoped, required}; scoped: sees the
 *                                    variables around it; required: fails when executed
 *   AUTOESCAPE                       set {value, body}
 *   RAISE                            fault {text, cls, value}: evaluates value (may be NULL), then
 *                                    fails with text ("no loader for this environment specified")
 *                                    of class cls; strict: an undefined value is an error.
 *                                    extends: the tag was `extends`
 *
 * filter.unknown (FILTER, TEST): no such filter or test, inside a branch of `if` or of a
 * conditional expression. Operand and arguments are evaluated, then the node fails:
 * TemplateRuntimeError "No filter named 'x' found." ("No test named ..."). Left-associative chains
 * (a + b + c, x|f|g, a.b.c, f()()) are left-deep and of any length, `no` of COND and IF (else
 * chains) right-deep and of any length: walk these spines in a loop. All other nesting is at most
 * PDL_MAX_EXPR_DEPTH deep. */
typedef enum {
    PDL_X_CONST,
    PDL_X_NAME,
    PDL_X_ATTR,
    PDL_X_ITEM,
    PDL_X_SLICE,
    PDL_X_CALL,
    PDL_X_FILTER,
    PDL_X_TEST,
    PDL_X_UNARY,
    PDL_X_BINARY,
    PDL_X_AND,
    PDL_X_OR,
    PDL_X_COMPARE,
    PDL_X_CONCAT,
    PDL_X_COND,
    PDL_X_LIST,
    PDL_X_TUPLE,
    PDL_X_DICT,
    PDL_X_TEXT,
    PDL_X_OUTPUT,
    PDL_X_SEQ,
    PDL_X_IF,
    PDL_X_FOR,
    PDL_X_SET,
    PDL_X_SETBLOCK,
    PDL_X_NSREF,
    PDL_X_MACRO,
    PDL_X_CALLBLOCK,
    PDL_X_FILTERBLOCK,
    PDL_X_WITH,
    PDL_X_BLOCK,
    PDL_X_AUTOESCAPE,
    PDL_X_RAISE,
    PDL_X_COUNT
} pdl_xkind;

struct pdl_xnode {
    pdl_xkind kind;
    uint32_t start, end; /* offsets in bytes of the source text */
    union {
        pdl_val value;
        pdl_str name;
        pdl_str text;
        pdl_xlist list;
        struct {
            const pdl_xnode *obj;
            pdl_str name;
            const pdl_xnode *key;
        } access;
        struct {
            const pdl_xnode *from, *to, *step;
        } slice;
        struct {
            const pdl_xnode *obj;
            pdl_xargs args;
        } call;
        struct {
            const pdl_xnode *obj;
            pdl_str name;
            pdl_xargs args;
            bool negated, unknown;
        } filter;
        struct {
            pdl_xop op;
            const pdl_xnode *a, *b;
        } op;
        struct {
            const pdl_xnode *first;
            uint32_t n;
            const pdl_xop *ops;
            const pdl_xnode **rest;
        } compare;
        struct {
            const pdl_xnode *test, *yes, *no;
        } cond;
        struct {
            uint32_t n;
            const pdl_xnode **keys, **vals;
        } dict;
        struct {
            const pdl_xnode *target, *over, *test, *body, *otherwise;
            bool recursive, closed;
        } loop;
        struct {
            const pdl_xnode *target, *value, *filter, *body;
        } set;
        /* defaults are those of the last n_defaults parameters */
        struct {
            pdl_str name;
            uint32_t n_params, n_defaults;
            pdl_str *params;
            const pdl_xnode **defaults;
            const pdl_xnode *body, *call;
            bool uses_caller, uses_varargs, uses_kwargs, scoped, required;
        } macro;
        struct {
            uint32_t n;
            const pdl_xnode **targets, **values;
            const pdl_xnode *body;
        } with;
        /* used by RAISE; u.text is the message */
        struct {
            pdl_str text;
            const char *cls;
            const pdl_xnode *value;
            bool strict, extends;
        } fault;
    } u;
};

typedef enum {
    PDL_X_PLAIN,    /* one run of text: the value is `source` unchanged */
    PDL_X_NATIVE,   /* exactly one expression, `root`; its value may have any type */
    PDL_X_TEMPLATE, /* anything else: `root` is a SEQ, the value is text */
    PDL_X_BROKEN    /* the text cannot be read; `fault` says why */
} pdl_xform;

/* The reason why a text cannot be read. */
typedef struct pdl_xfault {
    pdl_str msg; /* "unexpected '}', expected ')'" */
    /* "TemplateSyntaxError", "TemplateAssertionError", or Python's "SyntaxError" for a repeated
     * keyword argument */
    const char *cls;
    pdl_str hint; /* "did you mean 'upper'?", "write `and`"; empty when there is none */
    uint32_t start, end;
    bool no_filter, no_test; /* the name of a filter, or of a test, is unknown */
} pdl_xfault;

typedef struct pdl_expr {
    pdl_xform form : 8;
    bool has_unknown : 1; /* filter.unknown may be set somewhere */
    bool has_call : 1;    /* the expression has a CALL */
    bool is_unread : 1;   /* made by pdl_expr_later: only the source is known */
    uint32_t n_free;
    pdl_str source; /* the whole text as written, in the arena */
    union {
        const pdl_xnode *root; /* NULL when the form is PLAIN or BROKEN */
        pdl_arena *arena;      /* while is_unread is set: the arena of the expression */
    };
    const pdl_xfault *fault; /* set for BROKEN */
    union {
        /* Names that the text reads but does not set, each once, in order of first use. */
        pdl_str *free_names;
        /* while is_unread is set: the names that pdl_expr_read will get */
        const struct pdl_xnames *known;
    };
} pdl_expr;

/* Options of a Jinja environment (`parameters` of a jinja code block). An empty delimiter means the
 * default. */
typedef struct pdl_xoptions {
    pdl_str block_start, block_end, variable_start, variable_end, comment_start, comment_end;
    pdl_str line_statement, line_comment; /* empty when switched off */
    pdl_str newline;                      /* "\n" when empty */
    bool trim_blocks, lstrip_blocks, keep_trailing_newline, autoescape;
} pdl_xoptions;

/* The names of filters and tests. Reading a text with an unknown name fails ("No filter named
 * 'x'."). */
typedef struct pdl_xnames {
    bool (*is_filter)(pdl_str name);
    bool (*is_test)(pdl_str name);
    /* Writes the hint for a missing filter, or nothing; may be NULL. */
    void (*advise_filter)(pdl_str name, struct pdl_buf *out);
    /* Writes the hint for a missing test, or nothing; may be NULL. */
    void (*advise_test)(pdl_str name, struct pdl_buf *out);
} pdl_xnames;

/* Reads a string of a program with `${ }` (spec syntax 4.1, 4.2). Never fails: see PDL_X_BROKEN.
 * The text is copied into the arena. */
const pdl_expr *pdl_expr_read(pdl_arena *a, pdl_str text, const pdl_xnames *names);

/* Works as pdl_expr_read, but may read the text later. A text that is one ${ }, and so cannot be
 * plain text, is read only when pdl_expr_now is called. The text must live as long as the arena.
 * The reason is that most expressions of a library are in functions that a program never calls, and
 * loading needs only their text. */
const pdl_expr *pdl_expr_later(pdl_arena *a, pdl_str text, const pdl_xnames *names);
void pdl_expr_read_now(const pdl_expr *e);
static inline const pdl_expr *pdl_expr_now(const pdl_expr *e) {
    if (e->is_unread) pdl_expr_read_now(e);
    return e;
}

/* Reads a whole Jinja template: its form is TEMPLATE or BROKEN. */
const pdl_expr *pdl_expr_read_template(pdl_arena *a, pdl_str text, const pdl_xoptions *options,
                                       const pdl_xnames *names);

/* Reads options from a dict of keyword arguments of Jinja's Template(). Error: TypeError as Python
 * words it for an unknown option ("Template.__new__() got an unexpected keyword argument 'foo'") or
 * for a bad value. Strings are copied into a. */
PDL_MUST bool pdl_expr_options(pdl_arena *a, pdl_vref dict, pdl_xoptions *out, pdl_err *err);

/* Returns true when text has no `${`, no `{#` and no long statement opener, and is not a single
 * line end with a CR. Such a text is PDL_X_PLAIN and need not be read. */
bool pdl_expr_is_plain(pdl_str text);

/* Calls fn for x (may be NULL) and for all nodes below it. A node comes before its parts.
 * pdl_xnode_each_plain skips the inside of statements of templates. */
typedef void pdl_xnode_fn(void *user, const pdl_xnode *x);
void pdl_xnode_each(const pdl_xnode *x, pdl_xnode_fn *fn, void *user);
void pdl_xnode_each_plain(const pdl_xnode *x, pdl_xnode_fn *fn, void *user);

/* Returns how root, which may be NULL, uses a name: PDL_USED_CALLED for name(x), and
 * PDL_USED_DOTTED for name.x or name[x]. */
enum { PDL_USED_CALLED = 1, PDL_USED_DOTTED = 2 };
unsigned pdl_xnode_uses(const pdl_xnode *root, pdl_str name);
/* Returns true when root has a call of the part x, as in x.y(). */
bool pdl_xnode_is_called(const pdl_xnode *root, const pdl_xnode *x);

/* Appends the text as messages show it. A short text is shown whole; a long text is shown by the
 * line of byte `at` between dots. */
void pdl_expr_quote(pdl_str source, size_t at, struct pdl_buf *out);

/* Appends the tree as text for tests and `pdl dump --expr`: a fully parenthesised form. */
void pdl_expr_print(const pdl_expr *e, struct pdl_buf *out);

#endif
