/* sent_parts.h -- what of an answer, besides its text, was sent while it came. Private to serve.
 *
 * The machine reports calls of tools, thoughts and logprobs of a model as they come where it is
 * sure that the model gives the result of the run; in all other programs this is known at the end
 * only. So each choice counts what it has sent, and at the end sends the difference to the answer,
 * in the same form: a client sees one stream, whichever program made it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SERVE_SENT_PARTS_H
#define PDL_SERVE_SENT_PARTS_H

#include "serve/answer.h"

void pdl_serve_sent_fini(sent *s);
/* Counts an extra of a run, and returns what of it is to be sent: owned, absent when it is nothing.
 */
pdl_val pdl_serve_sent_add(choice *c, pdl_vref extra);
/* What a has besides the text and was not sent: as an extra, owned; absent when it is nothing. */
pdl_val pdl_serve_sent_rest(choice *c, const answer *a);

#endif
