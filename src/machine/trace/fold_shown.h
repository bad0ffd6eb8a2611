/* fold_shown.h -- text that a block showed while it ran, kept in pieces and written as one text.
 * Private to trace.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_TRACE_FOLD_SHOWN_H
#define PDL_TRACE_FOLD_SHOWN_H

#include "trace/fold_tree.h"

/* Keeps a piece of text that was shown, for the innermost block that is in the trace: n or a block
 * around n. key is FOLD_SHOWN, interned. */
void pdl_fold_note_shown(fold_node *n, const char *key, pdl_vref text);
/* Returns all text that the node showed, redacted; absent when it showed none. */
pdl_val pdl_fold_shown(const pdl_fold *f, const fold_node *n);

#endif
