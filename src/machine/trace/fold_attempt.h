/* fold_attempt.h -- attempts of a block that failed and were handled by its retry or fallback. The
 * trace shows each as an error block in `pdl__abandoned`. Private to trace.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_TRACE_FOLD_ATTEMPT_H
#define PDL_TRACE_FOLD_ATTEMPT_H

#include "trace/fold_tree.h"

/* Maximum depth at which failed attempts are shown. Each level of attempts adds three levels of
 * JSON. */
enum { FOLD_DEEPEST_ATTEMPT = 64 };

/* --- fold_node.c ------------------------------------------------------------------------------ */

/* Writes the attempt of n that has just failed with this message, as an item of n->attempts.
 * Returns false when the trace does not show it. */
bool pdl_fold_keep_attempt(pdl_fold *f, fold_node *n, const char *message, int64_t now);
/* Marks the parts of n, except its definitions, as parts of a failed attempt. kept says whether the
 * trace shows that attempt. */
void pdl_fold_give_up_parts(pdl_fold *f, fold_node *n, bool kept);

/* Called when the trace drops n and keeps only its last part. */
void pdl_fold_note_dropped(fold_node *n, const fold_node *last);

/* Returns the number of the event with which n began, or with which its current attempt began when
 * the trace shows an earlier attempt. */
static inline uint64_t pdl_fold_began(const fold_node *n) {
    return n->attempt_failed ? n->attempt_failed : n->tick;
}

/* --- fold_write.c ----------------------------------------------------------------------------- */

/* Appends the JSON of n as a failed attempt. All its parts were written before. */
void pdl_fold_attempt_write(pdl_fold *f, fold_node *n, pdl_buf *out);

#endif
