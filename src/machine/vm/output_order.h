/* output_order.h -- output in the order of the program. Private to vm; output_order.c explains this
 * order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VM_OUTPUT_ORDER_H
#define PDL_VM_OUTPUT_ORDER_H

#include "effect/effect.h"
#include "trace/event.h"
#include "vm/fiber.h"
#include "vm/inflight.h"

/* Returns true when text with this label may contain words that are not the author's. */
bool pdl_out_is_untrusted(pdl_label label);
pdl_outq *pdl_outq_new(pdl_run *r, pdl_outq *parent);
void pdl_outq_free(pdl_outq *q);
/* Returns true when the ends of the list agree, and when an item of a call and its effect refer to
 * each other. */
bool pdl_outq_ok(const pdl_outq *q);
/* Ends the queue of a fiber that will print nothing more. Items after q may then be sent. */
void pdl_outq_end(pdl_outq *q);
/* Lets f print into a queue from now on. pdl_out_accept sends the queue. */
void pdl_out_hold(pdl_fiber *f);
/* Ends the state that pdl_out_hold began. The text that was printed since then may be sent. */
void pdl_out_accept(pdl_fiber *f);
/* Sends the output that f holds, before a person is asked a question: this output belongs to the
 * question, and the answer cannot be taken back. What is printed afterwards waits again. */
void pdl_out_release(pdl_fiber *f);
/* Adds a queue for an iteration of a map to the queue of f, which owns it. */
pdl_outq *pdl_out_child(pdl_fiber *f);

/* Prints for a fiber. The text is printed at once when no earlier output is missing; otherwise it
 * is queued. */
void pdl_out_text(pdl_fiber *f, pdl_str text, pdl_look look, pdl_label label);
void pdl_out_write(pdl_fiber *f, pdl_str text, uint32_t descriptor, pdl_label label);
/* Writes text that cannot wait until an attempt has succeeded: a question, or an error. */
void pdl_out_write_now(pdl_fiber *f, pdl_str text, uint32_t descriptor, pdl_label label);
/* Shows a text while the block runs: writes it to standard output, and notes it as a field. */
void pdl_out_show(pdl_fiber *f, pdl_str text, pdl_label label);
void pdl_out_message(pdl_fiber *f, pdl_vref role, pdl_str text, pdl_label label);
/* Adds a piece of the answer of a model. */
void pdl_out_piece(pdl_inflight *c, pdl_str text);
void pdl_out_call(pdl_fiber *f, pdl_inflight *c, bool visible, bool message);
/* Sends everything that is complete. */
void pdl_out_flush(pdl_run *r);

/* Returns the position of f in its queue, for pdl_out_forget. */
size_t pdl_out_mark(pdl_fiber *f);
/* Drops the output that an abandoned attempt queued since `mark`. When output is held, all of it is
 * dropped. Otherwise only the output from the first failed call on is dropped. */
void pdl_out_forget(pdl_fiber *f, size_t mark);
/* Returns true when text that f printed since `mark` was sent, so that it cannot be taken back. */
bool pdl_out_was_sent(const pdl_fiber *f, size_t mark);
/* Returns false when the cursor is not at a failed call; else fills err with its error. */
bool pdl_out_failed(pdl_run *r, pdl_err *err);

#endif
