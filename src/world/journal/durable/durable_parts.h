/* durable_parts.h -- parts of struct pdl_durable. Private to journal.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_JOURNAL_DURABLE_DURABLE_PARTS_H
#define PDL_JOURNAL_DURABLE_DURABLE_PARTS_H

#include "base/idmap.h"
#include "base/vec.h"
#include "value/val.h"

struct pending_effect;

/* The time that the run has run, over all processes. */
typedef struct durable_clock {
    uint64_t start_ns, earlier_ns;
    double seen; /* end of the latest row that was delivered, by the wall clock */
} durable_clock;

typedef struct durable_output {
    uint64_t printed, printed_before; /* bytes of output, by all processes and by earlier ones */
    uint32_t n_shown;                 /* open effects of which the machine got pieces */
    bool has_output;                  /* for a server: output was printed since the last flush */
} durable_output;

/* Code that runs again to restore its worker: rebuild.c. */
typedef struct durable_rebuild {
    /* effects that were answered from rows, in order */
    PDL_VEC(struct pending_effect *) recorded_code;
    PDL_VEC(struct pending_effect *) after_rebuild;
    PDL_VEC(pdl_val) objects; /* results of code that ran again, with objects of the worker */
    PDL_VEC(char *) left;     /* modules in which recorded code left something; owned */
    size_t next_code;
    bool rebuilding, rebuilt;
} durable_rebuild;

/* Differences between the requests of this process and the rows. */
typedef struct durable_found {
    size_t n_reused, n_moved, n_asked, n_replaced, n_left, n_unlisted, n_changed;
    PDL_VEC(char *) notes; /* lines about requests that moved or changed; owned */
    pdl_idmap noted;       /* rows whose note says that they were not reused */
} durable_found;

#endif
