/* resync.h -- continues reading after an error. Private to yaml.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_YAML_RESYNC_H
#define PDL_YAML_RESYNC_H

#include "yaml/reader.h"
#include "yaml/tree.h"

/* A note (tree.h) that is being made, with texts that it owns. */
typedef struct pdl_yproblem {
    pdl_err err;
    uint32_t skipped, skipped_end;
} pdl_yproblem;

/* The findings of a tolerant reader. The struct starts as {0}, and outlives the reader. */
typedef struct pdl_yrecovery {
    pdl_ylog log;
    PDL_VEC(pdl_yproblem) notes;
    pdl_err first; /* error of the strict reader; the next note takes it */
    bool closing;  /* the next events end the collections that the failure left open */
    /* the first of these events is a node that begins here and has no event yet */
    bool owed;
    size_t close_to; /* number of collections that stay open */
    uint32_t at;     /* place of the events that close collections */
    /* the place where reading continued last, plus one; reading continues only after it */
    uint32_t last_line;
    size_t work; /* number of bytes that were read again */
} pdl_yrecovery;

/* Makes a reader that puts notes into rec and tokens into rec->log. Takes the content of known,
 * which is an error that is certain to be in the text, or an empty error. */
pdl_yreader *pdl_yreader_new_tolerant(const pdl_source *src, pdl_yrecovery *rec, pdl_err *known);
void pdl_yrecovery_fini(pdl_yrecovery *rec);

/* Returns the notes in the arena. */
const pdl_ytree_note *pdl_yrecovery_notes(pdl_yrecovery *rec, pdl_arena *a);

/* Notes that the text at off is not read because it is nested too deep. */
void pdl_yrecover_too_deep(pdl_yrecovery *rec, const pdl_source *src, uint32_t off);

/* Notes that the reader supposed a ':' at off. */
void pdl_yrecover_missing(pdl_yreader *r, uint32_t off);

#endif
