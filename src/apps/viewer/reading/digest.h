/* digest.h -- private to viewer: counts, for each box, what happened inside of it.
 *
 * Whether and where a box is shown depends on its content: a definition that only computed a value
 * is set-up, and a definition that called models is work. A box has a higher number than the boxes
 * around it, so one pass from the last box to the first suffices.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_DIGEST_H
#define PDL_VIEWER_DIGEST_H

#include "viewer/boxes.h"

enum {
    /* Minimum number of rounds with which a loop becomes an item. The first three and the last
     * three rounds of such a loop are shown. */
    PDL_LONG_LOOP = 7,
    PDL_LONG_MAP = 4, /* minimum number of rows with which a map becomes an item */
};

typedef struct pdl_digest {
    uint32_t asked;     /* requests of the box to models, code, people and files */
    uint32_t models;    /* model calls inside the box, except calls inside of a tool */
    uint32_t functions; /* number of function definitions in the box */
    uint32_t rows;      /* iterations of the box, when it is a loop or a map */
    uint32_t loops;     /* long loops and maps inside the box, except those inside of calls */
    uint32_t runs;      /* runs of programs in records of many runs */
    uint32_t tools;     /* tool calls inside the box; the box itself may be a tool call */
    int64_t tokens_in, tokens_out; /* tokens of all model calls inside the box */
    int64_t start, end;            /* first and last moment of the box, in ns; 0 when unknown */
    uint32_t shown;                /* blocks inside the box that showed output before the result */
    bool failed;                   /* the box contains a failure that counts */
    bool recovered; /* the box contains a failure that a fallback or a retry handled */
} pdl_digest;

/* Returns the digests of all boxes of d; owned. */
pdl_digest *pdl_digests_new(const pdl_doc *d);

/* Returns the name of the tool that the box calls, as --verbose shows it; may be empty.
 * Borrowed. */
pdl_str pdl_box_tool(const pdl_box *b);
/* Returns the tool's arguments by name; absent when they are unknown. Borrowed. */
pdl_vref pdl_box_tool_arguments(const pdl_box *b);
/* Returns the arguments of any call, by name; absent when they are unknown. Borrowed. */
pdl_vref pdl_box_arguments(const pdl_box *b);
/* Returns the lists of `for`, by the names of its variables; absent when there are none. */
pdl_vref pdl_box_loop_lists(const pdl_box *b);
/* Returns true for a run in the records of many runs (records/many_runs.h). */
bool pdl_box_is_run(const pdl_box *b);
bool pdl_box_is_kind(const pdl_box *b, const char *kind);
/* Returns true for code that runs outside of the interpreter, such as Python or a command. The
 * interpreter itself runs templates and PDL code. */
bool pdl_box_is_code(const pdl_box *b);
/* Returns true for a block that reads a file. Returns false for a block that asks a person. */
bool pdl_box_reads_file(const pdl_box *b);

#endif
