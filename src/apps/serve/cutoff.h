/* cutoff.h -- cuts the text of an answer at a stop sequence, or at a number of tokens. The server
 * cuts the answers of every program, since a program need not pass the limits to a model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SERVE_CUTOFF_H
#define PDL_SERVE_CUTOFF_H

#include "base/buf.h"
#include "value/val.h"

enum {
    CUT_MAX_STOPS = 4,
    CUT_MAX_STOP = 1000, /* maximum length of a stop sequence, and of the text that is held back */
    /* estimated number of bytes per token, for texts that no model made */
    CUT_BYTES_OF_TOKEN = 4
};

/* The state of cutting off one text. */
typedef struct cutoff {
    pdl_vref stops; /* a text or a list of texts, borrowed; may be absent */
    size_t limit;   /* how many bytes of text are allowed; SIZE_MAX means any number */
    size_t used;
    pdl_buf held;    /* text that may be the beginning of a stop sequence */
    const char *why; /* finish_reason after the text has ended; NULL before */
} cutoff;

/* Makes a cutoff from stop and max_tokens of a request; borrows body. */
cutoff pdl_serve_cutoff_of(pdl_vref body);
void pdl_serve_cutoff_fini(cutoff *c);
bool pdl_serve_cutoff_has_stops(const cutoff *c);
/* Adds text. Appends to out the text that certainly belongs to the answer. counts is set when the
 * bytes of the text count against the limit. */
void pdl_serve_cutoff_feed(cutoff *c, pdl_str text, bool counts, pdl_buf *out);
/* Appends the text that was held back, because no more text follows. */
void pdl_serve_cutoff_end(cutoff *c, pdl_buf *out);

/* Returns max_completion_tokens of a request, or else max_tokens; 0 when the request has
 * neither. */
int64_t pdl_serve_cutoff_max_tokens(pdl_vref body);
/* Returns true when `stop` has a form that is accepted; null and absent are accepted. */
bool pdl_serve_cutoff_is_stop(pdl_vref stop);

#endif
