/* complete.h -- shared by the files of completion: the list of proposals and the search for an open
 * expression. Private to lsp.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LSP_COMPLETE_H
#define PDL_LSP_COMPLETE_H

#include "lsp/server.h"
#include "lsp/xref.h"

/* CompletionItemKind of the protocol. */
enum {
    ITEM_METHOD = 2,
    ITEM_FUNCTION = 3,
    ITEM_FIELD = 5,
    ITEM_VARIABLE = 6,
    ITEM_MODULE = 9,
    ITEM_PROPERTY = 10,
    ITEM_VALUE = 12,
    ITEM_KEYWORD = 14,
    ITEM_SNIPPET = 15,
    ITEM_FILE = 17,
    ITEM_FOLDER = 19,
    ITEM_ENUM_MEMBER = 20,
    ITEM_OPERATOR = 24
};

/* The list of proposals while it is made. A proposal replaces the word before the cursor, [from,
 * off). */
typedef struct lsp_completer {
    pdl_lsp *s;
    lsp_doc *d;
    size_t from, off;
    pdl_val items;
    pdl_arena *scratch;
} lsp_completer;

/* One proposal. Texts are borrowed. */
typedef struct lsp_item {
    pdl_str label, insert; /* when insert is empty, the label is inserted */
    pdl_str detail;        /* shown beside the label; may be empty */
    int kind;
    char order;        /* proposals are sorted by this character, then by their labels */
    bool is_snippet;   /* the inserted text has places that the user fills in */
    const char *table; /* the name of the table with its documentation, or NULL */
    int row;           /* the row in `table`; when it is -1, the row is found by the label */
} lsp_item;
void pdl_lsp_item_add(lsp_completer *c, const lsp_item *item);

/* complete_choice.c: finds the function that a call calls, and proposes values of an enum. */
bool pdl_lsp_complete_function(lsp_completer *c, const pdl_node *call, lsp_thing *t);
void pdl_lsp_complete_choice(lsp_completer *c, const lsp_spot *p);

/* Completes inside an expression; prefix is its text up to the cursor. */
void pdl_lsp_complete_expr(lsp_completer *c, pdl_str prefix);
/* Completes inside a statement of Jinja. prefix is the text after its {%. */
void pdl_lsp_complete_statement(lsp_completer *c, pdl_str prefix);
/* Returns the start of the expression that is open at an offset, or PDL_NOT_FOUND. The start is
 * searched back to line_start. jinja: {{ and {% open expressions, too. */
size_t pdl_lsp_expr_start(pdl_str text, size_t line_start, size_t off, bool jinja);
/* Appends the chain of names at the end of s: a.b for `1 + a["b"]`, a.[] for `a[0]`. Appends
 * nothing when the chain does not begin with a variable. */
void pdl_lsp_chain_before(pdl_str s, pdl_buf *out);
/* Appends the documentation of a proposal, which its `data` identifies. */
void pdl_lsp_document_item(pdl_lsp *s, pdl_str table, int row, pdl_str label, pdl_buf *out);

#endif
