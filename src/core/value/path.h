/* path.h -- the id of a block in a run ("text.2.if.then.data") as a shared, persistent list of
 * segments.
 *
 * An id is as deep as the run, so ids are never stored as text where recursion could multiply them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_PATH_H
#define PDL_VALUE_PATH_H

#include "base/buf.h"
#include "base/str.h"

/* Reference counted, immutable. */
typedef struct pdl_path {
    uint32_t refs;
    /* the index of a segment whose name is NULL, or the number after a numbered name (retry0) */
    uint32_t n;
    const char *name; /* a static or interned text, or NULL */
    bool numbered;
    bool iterates; /* the index counts rounds of a loop or rows of a map, not items of a list */
    struct pdl_path *up; /* owned; NULL for the root */
} pdl_path;

/* These return the path `up` (borrowed; may be NULL) with one more segment. */
pdl_path *pdl_path_name(pdl_path *up, const char *name);
pdl_path *pdl_path_index(pdl_path *up, uint32_t i);
/* the segment is an iteration, which is printed like an index */
pdl_path *pdl_path_iteration(pdl_path *up, uint32_t i);
pdl_path *pdl_path_numbered(pdl_path *up, const char *name, uint32_t n);
pdl_path *pdl_path_keep(pdl_path *p);
void pdl_path_drop(pdl_path *p); /* iterative; p may be NULL */

/* Returns `onto` with the segments of p below `from`. `from` is one of p's ancestors, by identity;
 * for NULL or another path all of p is appended. All are borrowed. */
pdl_path *pdl_path_rebase(pdl_path *onto, const pdl_path *p, const pdl_path *from);

/* Appends the segments with dots between them. Appends nothing for NULL. */
void pdl_path_text(const pdl_path *p, pdl_buf *out);
/* Appends the segments with `instead` in place of every name below the first segment `under`. */
void pdl_path_put_hidden(const pdl_path *p, const char *under, pdl_str instead, pdl_buf *out);
/* Appends the numbers of the rounds around p, innermost first (".3.0"). They stay the same when
 * blocks outside of the loops are moved. */
void pdl_path_put_iterations(const pdl_path *p, pdl_buf *out);
/* Appends the last `most` segments. "...." replaces the segments before them, if there are any. */
void pdl_path_end(const pdl_path *p, size_t most, pdl_buf *out);

#endif
