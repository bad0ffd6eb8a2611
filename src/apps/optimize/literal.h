/* literal.h -- finds literals of a program by their place, and replaces them in its text, with
 * comments and the order of everything kept. Private to optimize.
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
    bool is_data; /* a block of values: anything can be written there as it is */
    bool is_raw;   /* data whose texts are never expressions */
    bool is_block; /* elsewhere a list or a mapping is put into a block of data */
} opt_literal;

/* Finds a literal by its place, "text.0.input" or "text[0].input". Errors: usage, when there is no
 * such place, with what is near; or when it has no literal. */
PDL_MUST bool pdl_literal_find(const pdl_ytree *t, pdl_str place, opt_literal *out, pdl_err *err);
/* Finds the literal of a variable in the `defs` of the program. *there: defs has the variable.
 * Error: usage, when its definition is no literal. */
PDL_MUST bool pdl_literal_find_def(const pdl_ytree *t, pdl_str name, bool *there, opt_literal *out,
                                   pdl_err *err);
/* Finds the definition of a variable in `defs`, whatever it is. */
void pdl_literal_find_node(const pdl_ytree *t, pdl_str name, bool *there, opt_literal *out);
/* Returns the value that is written there; owned. */
pdl_val pdl_literal_value(const pdl_ytree *t, const opt_literal *l);

/* Writes a proposal for a text of the program: its `${ }` are those of the old text, which are all
 * kept, and every other opening of an expression becomes data. Error: usage, when it has lost an
 * expression of the old text. */
PDL_MUST bool pdl_literal_encode(pdl_str old, pdl_str proposal, pdl_buf *out, pdl_err *err);

typedef struct opt_edit {
    opt_literal literal;
    pdl_vref value; /* a text is encoded already, the texts in a list or mapping are not */
} opt_edit;
/* Appends the text of the program with the literals replaced; they are in any order. Error: usage,
 * when a value cannot be written at its place. */
PDL_MUST bool pdl_literal_replace(const pdl_ytree *t, const opt_edit *edits, size_t n, pdl_buf *out,
                                  pdl_err *err);

/* Appends the text of a program with one more variable in the `defs` of its block. *done is false,
 * and nothing is appended, when the program is no block in which that could be written. */
PDL_MUST bool pdl_literal_define(const pdl_ytree *t, pdl_str name, pdl_vref value, bool *done,
                                 pdl_buf *out, pdl_err *err);

#endif
