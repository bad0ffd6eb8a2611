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

/* The time at work, over all processes. */
typedef struct durable_clock {
    uint64_t start_ns, earlier_ns;
    double seen; /* end of the latest row that was given, by the wall clock */
} durable_clock;

typedef struct durable_output {
    uint64_t printed, printed_before; /* bytes, by all processes and by earlier ones */
    uint32_t n_shown; /* open effects whose pieces the machine has had */
    bool has_output;  /* a server: something was printed since the last flush */
} durable_output;

/* Code that runs again for what it left in its worker: rebuild.c. */
typedef struct durable_rebuild {
    PDL_VEC(struct pending_effect *) recorded_code; /* answered from rows, in order */
    PDL_VEC(struct pending_effect *) after_rebuild;
    PDL_VEC(pdl_val) objects; /* results of code that ran again, with objects of the worker */
    PDL_VEC(char *) left;     /* modules in which recorded code left something; owned */
    size_t next_code;
    bool rebuilding, rebuilt;
} durable_rebuild;

/* How requests of this process differ from the rows. */
typedef struct durable_found {
    size_t n_reused, n_moved, n_asked, n_replaced, n_left, n_unlisted, n_changed;
    PDL_VEC(char *) notes; /* lines about requests that moved or changed; owned */
    pdl_idmap noted;       /* rows that a note says were not reused */
} durable_found;

#endif
