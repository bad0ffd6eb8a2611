/* cutoff.h -- the text of an answer up to a stop sequence, or up to a number of tokens.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SERVE_CUTOFF_H
#define PDL_SERVE_CUTOFF_H

#include "base/buf.h"
#include "value/val.h"

enum {
    CUT_MAX_STOPS = 4,
    CUT_MAX_STOP = 1000,   /* bytes of a stop sequence, and of the text held back */
    CUT_BYTES_OF_TOKEN = 4 /* a text that no model made has no tokens: an estimate, as for rates */
};

/* All-zero, apart from limit and stops, is the start. */
typedef struct cutoff {
    pdl_vref stops; /* list of texts, borrowed; or absent */
    size_t limit;   /* bytes of text that count; SIZE_MAX: any number */
    size_t used;
    pdl_buf held;    /* may be the beginning of a stop sequence */
    const char *why; /* finish_reason once the text has ended; NULL before */
} cutoff;

/* stop and max_tokens of a request; borrows body. */
cutoff pdl_serve_cutoff_of(pdl_vref body);
void pdl_serve_cutoff_fini(cutoff *c);
bool pdl_serve_cutoff_has_stops(const cutoff *c);
/* Adds text; appends to out what certainly belongs to the answer. counts: it counts against the
 * limit. */
void pdl_serve_cutoff_feed(cutoff *c, pdl_str text, bool counts, pdl_buf *out);
/* Appends the rest: no more text follows. */
void pdl_serve_cutoff_end(cutoff *c, pdl_buf *out);

/* max_completion_tokens, else max_tokens, of a request; 0: none. */
int64_t pdl_serve_cutoff_max_tokens(pdl_vref body);
/* Are stop sequences of this form taken? null and absent are. */
bool pdl_serve_cutoff_is_stop(pdl_vref stop);

#endif
