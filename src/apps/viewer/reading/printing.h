/* printing.h -- private to viewer: which blocks print, and what.
 *
 * A run prints while it runs: a text prints its parts one after the other, an array prints itself
 * when it is complete, a definition prints nothing. These are the rules of the machine
 * (compile/emit_block.c), read from a trace.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_PRINTING_H
#define PDL_VIEWER_PRINTING_H

#include "base/buf.h"
#include "viewer/doc.h"

typedef enum {
    PDL_PRINTS_NOTHING,
    PDL_PRINTS_PARTS, /* the blocks in it print */
    PDL_PRINTS_RESULT /* its result is printed as a whole */
} pdl_printing;

/* Says what a box prints where it is allowed to print. */
pdl_printing pdl_box_printing(const pdl_box *b);
/* Does this child print where its parent, which prints its parts, may? */
bool pdl_child_prints(const pdl_box *parent, const pdl_box *child);
/* Does the block keep its result out of the text, and of the messages? */
bool pdl_box_has_no_result(const pdl_box *b);
bool pdl_box_adds_no_messages(const pdl_box *b);
/* The text that a loop or a sequence prints between two of its parts; it may be empty. */
pdl_str pdl_box_separator(const pdl_box *b);
/* How the result of box i is printed. Appended. */
void pdl_box_print(const pdl_doc *d, uint32_t i, pdl_buf *out);
/* Is the step of a child the name of this member, or inside of it? */
bool pdl_step_is_in(const pdl_box *child, const char *member);

#endif
