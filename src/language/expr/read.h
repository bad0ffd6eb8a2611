/* read.h -- state of one reading, shared by the readers of expressions and statements. Private to
 * expr.
 *
 * A function that makes a node returns NULL when it has set r->fail.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_EXPR_READ_H
#define PDL_EXPR_READ_H

#include "base/map.h"
#include "expr/cases.h"
#include "expr/token.h"

/* --- names (free_names.c) --------------------------------------------------------------------- */

/* A name in the text. The text itself has set the name when the name was set at top level or in the
 * block that is being read. */
typedef struct pdl_symbol {
    pdl_str name;
    /* the number of the block whose scopes set the name now; 0 when no block sets it */
    uint32_t set_in;
    bool set_at_top;
    bool is_free;
    struct pdl_symbol *next_free;
} pdl_symbol;

typedef struct pdl_undo {
    pdl_symbol *symbol;
    uint32_t set_in;
} pdl_undo;

/* Names that the body of a macro reads in addition to its parameters. */
typedef struct pdl_macro_use {
    struct pdl_macro_use *outer;
    /* Bits PDL_USES_*: `reads` has the names that the macro reads. `stops` has the names that the
     * macro set before; these are ordinary variables. */
    unsigned reads, stops;
} pdl_macro_use;
enum { PDL_USES_CALLER = 1, PDL_USES_VARARGS = 2, PDL_USES_KWARGS = 4 };

enum { PDL_FEW_SYMBOLS = 12 };

typedef struct pdl_names {
    pdl_arena *arena;
    /* the first symbols; a reading with more symbols has all of them in `many` */
    pdl_symbol few[PDL_FEW_SYMBOLS];
    uint32_t n;
    uint32_t depth; /* number of open scopes */
    uint32_t block; /* the number of the current block; the first block is 1 */
    uint32_t n_blocks;
    pdl_map many;
    struct {
        pdl_undo *p;
        size_t n, cap;
    } undo;
    pdl_symbol *first_free, **last_free;
    uint32_t n_free;
    pdl_macro_use *macro;
    /* counts statements that set names; a loop in which this grows is not closed (PDL_X_FOR) */
    uint32_t n_sets;
} pdl_names;

void pdl_names_init(pdl_names *ns, pdl_arena *a);
void pdl_names_fini(pdl_names *ns);
void pdl_names_read(pdl_names *ns, pdl_str name);
void pdl_names_set(pdl_names *ns, pdl_str name);
size_t pdl_names_open(pdl_names *ns); /* opens a scope; pdl_names_close gets the result */
void pdl_names_close(pdl_names *ns, size_t mark);
/* Enters a `block` statement, in which only names set at top level stay visible. Returns a value
 * for the call that leaves the block. */
uint32_t pdl_names_enter_block(pdl_names *ns);
void pdl_names_leave_block(pdl_names *ns, uint32_t outer);
/* returns the free names in the order of their first use, in the arena */
pdl_str *pdl_names_free(pdl_names *ns, uint32_t *n);

/* --- the reader ------------------------------------------------------------------------------- */

typedef struct pdl_xitem {
    const pdl_xnode *node, *other;
    pdl_str name;
    pdl_xop op;
} pdl_xitem;

enum { PDL_FEW_ITEMS = 8 };

/* The tags that are open, for messages. */
typedef struct pdl_open_tag {
    const struct pdl_open_tag *outer;
    pdl_str name;
} pdl_open_tag;

typedef struct pdl_open_ends {
    const struct pdl_open_ends *outer;
    /* the words that may end the tag, "endfor", "else"; NULL ends the list */
    const char *const *names;
} pdl_open_ends;

typedef struct pdl_reader {
    pdl_arena *arena;
    const pdl_xnames *known; /* NULL means that every filter and test is known */
    pdl_holder holder;
    pdl_xfail fail;
    pdl_token t, ahead; /* t is the current token; ahead is the next token when has_ahead is set */
    bool has_ahead;
    bool in_target; /* names are being set and not read */
    bool has_call;
    uint32_t last_end; /* the end of the token before t */
    uint32_t depth;
    uint32_t operators; /* number of operators whose right side is being read */
    /* The number of places where the order of checks matters. When it is not 0, expr_check.c
     * searches for the first problem. */
    uint32_t suspects;
    /* A problem that only Python's compiler would find. It is reported when no other problem was
     * found. */
    pdl_xfail late;
    pdl_xitem few[PDL_FEW_ITEMS], *items; /* the stack of list items that are being read */
    size_t n_items, cap_items;
    const pdl_open_tag *tags;
    const pdl_open_ends *ends;
    pdl_names names;
    uint32_t n_blocks;    /* the number of `block` statements so far */
    const uint32_t *cuts; /* offsets in the normalised source after which a CR was left out */
    size_t n_cuts;
    uint32_t base; /* where the normalised source begins in the whole text */
    pdl_lexer lexer;
} pdl_reader;

/* returns the number of CRs that were left out before `at` */
uint32_t pdl_read_cuts(const pdl_reader *r, uint32_t at);
/* Returns the offset in the text before its line ends were changed. */
static inline uint32_t pdl_read_offset(const pdl_reader *r, uint32_t at) {
    return at + r->base + (r->n_cuts ? pdl_read_cuts(r, at) : 0);
}

static inline void pdl_read_advance(pdl_reader *r) {
    r->last_end = r->t.end;
    if (r->has_ahead) {
        r->t = r->ahead;
        r->has_ahead = false;
    } else if (r->t.kind != PDL_TK_EOF) {
        pdl_lex_next(&r->lexer, &r->t);
    }
}
const pdl_token *pdl_read_look(pdl_reader *r);
bool pdl_read_expect(pdl_reader *r, pdl_tk kind);
bool pdl_read_expect_word(pdl_reader *r, const char *word);
bool pdl_read_is_word(const pdl_reader *r, const char *word);
bool pdl_read_skip(pdl_reader *r, pdl_tk kind);
bool pdl_read_skip_word(pdl_reader *r, const char *word);

/* Sets a message about the current token. Returns NULL. */
PDL_PRINTF(2, 3) pdl_xnode *pdl_read_fail(pdl_reader *r, const char *fmt, ...);

/* Enters one more level. Returns false with an error when the level is too deep. The caller leaves
 * the level with r->depth--. */
bool pdl_read_deeper(pdl_reader *r);

/* Returns the bytes of a node. A node is only as large as its kind needs. The function is in the
 * header so that clearing a node of a constant kind becomes a few instructions. */
#define PDL_XNODE_SIZE(member) (offsetof(pdl_xnode, u) + sizeof(((pdl_xnode *)NULL)->u.member))
static inline size_t pdl_xnode_size(pdl_xkind kind) {
    switch (kind) {
    case PDL_X_CONST: return PDL_XNODE_SIZE(value);
    case PDL_X_NAME: return PDL_XNODE_SIZE(name);
    case PDL_X_ATTR:
    case PDL_X_ITEM: return PDL_XNODE_SIZE(access);
    case PDL_X_SLICE: return PDL_XNODE_SIZE(slice);
    case PDL_X_CALL: return PDL_XNODE_SIZE(call);
    case PDL_X_FILTER:
    case PDL_X_TEST: return PDL_XNODE_SIZE(filter);
    case PDL_X_UNARY:
    case PDL_X_BINARY:
    case PDL_X_AND:
    case PDL_X_OR: return PDL_XNODE_SIZE(op);
    case PDL_X_COMPARE: return PDL_XNODE_SIZE(compare);
    case PDL_X_COND: return PDL_XNODE_SIZE(cond);
    case PDL_X_DICT: return PDL_XNODE_SIZE(dict);
    case PDL_X_LIST:
    case PDL_X_TUPLE:
    case PDL_X_CONCAT:
    case PDL_X_OUTPUT:
    case PDL_X_SEQ: return PDL_XNODE_SIZE(list);
    case PDL_X_TEXT:
        return PDL_XNODE_SIZE(text);
    PDL_X_STATEMENTS:
        break;
    }
    return sizeof(pdl_xnode);
}

static inline pdl_xnode *pdl_xnode_new(pdl_reader *r, pdl_xkind kind, uint32_t start) {
    pdl_xnode *n = pdl_arena_get(r->arena, pdl_xnode_size(kind));
    n->kind = kind;
    n->start = start;
    return n;
}
static inline pdl_xnode *pdl_read_node(pdl_reader *r, pdl_xkind kind, uint32_t start) {
    return pdl_xnode_new(r, kind, pdl_read_offset(r, start));
}
/* Makes a node that begins where `first` begins. */
static inline pdl_xnode *pdl_read_node_from(pdl_reader *r, pdl_xkind kind, const pdl_xnode *first) {
    return pdl_xnode_new(r, kind, first->start);
}
/* Sets the end of n to the end of the token before the current token. */
static inline pdl_xnode *pdl_read_close(pdl_reader *r, pdl_xnode *n) {
    if (n) n->end = pdl_read_offset(r, r->last_end);
    return n;
}

pdl_xitem *pdl_read_push(pdl_reader *r, const pdl_xnode *node);
pdl_xlist pdl_read_take(pdl_reader *r, size_t mark); /* pops the nodes from `mark` on */
/* Returns a copy of the nodes from mark on, which stay on the stack. */
const pdl_xnode **pdl_read_copy(pdl_reader *r, size_t mark);

/* These functions read expressions (read.c). */
const pdl_xnode *pdl_read_expression(pdl_reader *r);
const pdl_xnode *pdl_read_or(pdl_reader *r); /* reads an expression and stops before `if` */
const pdl_xnode *pdl_read_tuple(pdl_reader *r, bool with_cond, bool in_parens);
const pdl_xnode *pdl_read_primary(pdl_reader *r, bool with_namespace);
pdl_xnode *pdl_read_filters(pdl_reader *r, const pdl_xnode *obj, bool inline_start);
const pdl_xnode *pdl_read_target(pdl_reader *r, bool with_namespace);

/* Reads the whole template as a SEQ (read_stmt.c). */
const pdl_xnode *pdl_read_template(pdl_reader *r);

/* Reports the first construct below root that the reference's compiler refuses (expr_check.c). */
void pdl_check(pdl_reader *r, const pdl_xnode *root);
/* Returns how messages name a node that cannot be assigned to: "const", "name", "add". */
const char *pdl_xnode_word(const pdl_xnode *n);

/* --- expr_advice.c ---------------------------------------------------------------------------- */

/* Returns a hint for the mistake that r->fail reports; empty when there is no hint. */
pdl_str pdl_read_advice(const pdl_reader *r);

#endif
