/* sent_parts.h -- keeps count of the parts of an answer, besides its text, that were sent while it
 * arrived. Private to serve.
 *
 * The machine reports tool calls, thoughts and logprobs of a model immediately if it is certain
 * that the model gives the result of the run. In all other programs, they are known only at the
 * end. So each choice counts the parts that it has sent. At the end it sends the rest of the answer
 * in the same form, so that every program gives a client one stream.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SERVE_SENT_PARTS_H
#define PDL_SERVE_SENT_PARTS_H

#include "serve/answer.h"

void pdl_serve_sent_fini(sent *s);
/* Counts the parts of an answer that a run reports, and returns the parts that must be sent now,
 * owned. Returns absent when no part must be sent.
 */
pdl_val pdl_serve_sent_add(choice *c, pdl_vref extra);
/* Returns the parts of the answer a, besides the text, that were not sent yet, owned. Returns
 * absent when all were sent. */
pdl_val pdl_serve_sent_rest(choice *c, const answer *a);

#endif
