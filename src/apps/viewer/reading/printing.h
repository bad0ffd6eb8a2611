/* printing.h -- private to viewer: decides which blocks print, and which text. A run prints while
 * it runs: a text block prints its parts one after the other, an array prints itself when it is
 * complete, and a definition prints nothing. The viewer has only a trace, so this file repeats the
 * rules by which the machine prints (compile/emit_block.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_PRINTING_H
#define PDL_VIEWER_PRINTING_H

#include "base/buf.h"
#include "viewer/boxes.h"

typedef enum {
    PDL_PRINTS_NOTHING,
    PDL_PRINTS_PARTS, /* the blocks inside it print */
    PDL_PRINTS_RESULT /* its result is printed as a whole */
} pdl_printing;

/* Returns which part of a box is printed, if the box around it may print. */
pdl_printing pdl_box_printing(const pdl_box *b);
/* Returns true when the child is one of the parts that its parent prints, provided that the parent
 * may print. */
bool pdl_child_prints(const pdl_box *parent, const pdl_box *child);
/* Returns true when the block adds its result neither to the text nor to the messages. */
bool pdl_box_has_no_result(const pdl_box *b);
bool pdl_box_adds_no_messages(const pdl_box *b);
/* Returns true when the block writes its result to standard output while the run continues. */
bool pdl_box_is_shown(const pdl_box *b);
/* Appends the text that box i wrote to standard output while the run continued. */
void pdl_box_put_shown(const pdl_doc *d, uint32_t i, pdl_buf *out);
/* Returns the text that a loop or a sequence prints between two parts; may be empty. */
pdl_str pdl_box_separator(const pdl_box *b);
/* Appends the result of box i in the form in which it is printed. */
void pdl_box_print(const pdl_doc *d, uint32_t i, pdl_buf *out);
/* Returns true when the child is this member of the block around it, or is inside of this
 * member. */
bool pdl_step_is_in(const pdl_box *child, const char *member);

#endif
