/* literal.h -- finds literals of a program by their place, and replaces them in its text. Comments
 * and the order of the text are kept. Private to optimize.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_OPTIMIZE_LITERAL_H
#define PDL_OPTIMIZE_LITERAL_H

#include "base/buf.h"
#include "base/err.h"
#include "value/val.h"
#include "yaml/tree.h"

/* A literal of a program. */
typedef struct opt_literal {
    pdl_ytree_id node;
    /* the literal is inside a block of data, where any value can be written directly */
    bool is_data;
    bool is_raw; /* the literal is data whose texts are never read as expressions */
    /* the literal is in the place of a block, so a list or a mapping is written as a block of
     * data */
    bool is_block;
} opt_literal;

/* Finds a literal by its place, "text.0.input" or "text[0].input". Error: usage, when the program
 * has no such place (the message names the most similar place), or when the place has no literal.
 */
PDL_MUST bool pdl_literal_find(const pdl_ytree *t, pdl_str place, opt_literal *out, pdl_err *err);
/* Finds the literal of a variable in the `defs` of the program. *there is set when defs contains
 * the variable. Error: usage, when its definition is not a literal. */
PDL_MUST bool pdl_literal_find_def(const pdl_ytree *t, pdl_str name, bool *there, opt_literal *out,
                                   pdl_err *err);
/* Finds the definition of a variable in `defs`, of any form. */
void pdl_literal_find_node(const pdl_ytree *t, pdl_str name, bool *there, opt_literal *out);
/* Returns the value of the literal; owned. */
pdl_val pdl_literal_value(const pdl_ytree *t, const opt_literal *l);

/* Writes a proposal for a text of the program. Expressions `${ }` of the old text are kept, and
 * every other beginning of an expression becomes data. Error: usage, when the proposal lacks an
 * expression of the old text. */
PDL_MUST bool pdl_literal_encode(pdl_str old, pdl_str proposal, pdl_buf *out, pdl_err *err);

typedef struct opt_edit {
    opt_literal literal;
    /* A text must come from pdl_literal_encode, unless the literal is raw. Texts in a list or
     * mapping are encoded when they are written, so they must not come from pdl_literal_encode. */
    pdl_vref value;
} opt_edit;
/* Appends the text of the program with the literals replaced. The edits may be in any order. Error:
 * usage, when a value cannot be written at its place. */
PDL_MUST bool pdl_literal_replace(const pdl_ytree *t, const opt_edit *edits, size_t n, pdl_buf *out,
                                  pdl_err *err);

/* Appends the text of a program with one more variable in the `defs` of its block. *done is false,
 * and nothing is appended, when the text has no place for such a variable. */
PDL_MUST bool pdl_literal_define(const pdl_ytree *t, pdl_str name, pdl_vref value, bool *done,
                                 pdl_buf *out, pdl_err *err);

#endif
