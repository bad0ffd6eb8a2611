/* sent_parts.h -- what was sent of an answer, besides its text, while it arrived. Private to serve.
 *
 * The machine reports tool calls, thoughts and logprobs of a model immediately when it is certain
 * that the model gives the result of the run; in all other programs they are known only at the end.
 * So each choice counts what it has sent, and at the end sends the difference to the answer, in the
 * same form: a client sees one stream, whichever program made it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SERVE_SENT_PARTS_H
#define PDL_SERVE_SENT_PARTS_H

#include "serve/answer.h"

void pdl_serve_sent_fini(sent *s);
/* Counts an extra of a run, and returns the part of it that must be sent: owned, absent when there
 * is none.
 */
pdl_val pdl_serve_sent_add(choice *c, pdl_vref extra);
/* Returns the parts of a, besides the text, that were not sent, as an extra: owned, absent when
 * there are none. */
pdl_val pdl_serve_sent_rest(choice *c, const answer *a);

#endif
