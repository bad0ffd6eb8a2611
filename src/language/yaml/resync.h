/* resync.h -- private to yaml: reading on after an error.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_YAML_RESYNC_H
#define PDL_YAML_RESYNC_H

#include "yaml/reader.h"
#include "yaml/tree.h"

/* A note while it is made. The texts are owned. */
typedef struct pdl_yproblem {
    pdl_err err;
    uint32_t skipped, skipped_end;
} pdl_yproblem;

/* What a tolerant reader collects. Starts as {0}; outlives the reader. */
typedef struct pdl_yrecovery {
    pdl_ylog log;
    PDL_VEC(pdl_yproblem) notes;
    pdl_err first;      /* of the strict reader, until the first note takes it */
    bool closing;       /* events are due that end what the failure left open */
    bool owed;          /* first of them: a node whose place was reached */
    size_t close_to;    /* collections that stay open */
    uint32_t at;        /* place of those events */
    uint32_t last_line; /* where it continued last, plus one: it never goes back there */
    size_t work;        /* bytes that were read again */
} pdl_yrecovery;

/* A reader that keeps notes in rec and the tokens in rec->log. Takes the content of known, an error
 * that is there in any case, or none. */
pdl_yreader *pdl_yreader_new_tolerant(const pdl_source *src, pdl_yrecovery *rec, pdl_err *known);
void pdl_yrecovery_fini(pdl_yrecovery *rec);

/* The notes in the arena. */
const pdl_ytree_note *pdl_yrecovery_notes(pdl_yrecovery *rec, pdl_arena *a);

/* What begins at off is not read: it is nested too deep. */
void pdl_yrecover_too_deep(pdl_yrecovery *rec, const pdl_source *src, uint32_t off);

/* At off a ':' was supposed to be. */
void pdl_yrecover_missing(pdl_yreader *r, uint32_t off);

#endif
