/* digest.h -- private to viewer: what happened inside of each box, counted once.
 *
 * Where a box is shown, and whether at all, depends on what is inside: a definition that only
 * computed is set-up, one that called models is work. Boxes have higher numbers than those around
 * them, so that one pass from the last to the first counts everything.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_DIGEST_H
#define PDL_VIEWER_DIGEST_H

#include "viewer/doc.h"

typedef struct pdl_digest {
    uint32_t asked;   /* number of requests to models, code, people and files in it */
    uint32_t models;  /* number of model calls in it, without those inside of a tool */
    uint32_t functions; /* number of function definitions in it */
    uint32_t tools;   /* number of tool calls, with the box itself */
    int64_t tokens_in, tokens_out; /* numbers of tokens of all model calls in it */
    int64_t start, end; /* its first and last moment in ns; 0 when unknown */
    uint32_t shown;   /* number of blocks in it that showed something on the way */
    bool failed;      /* it contains a failure that counts */
    bool recovered;   /* it contains a failure that a fallback or a retry handled */
} pdl_digest;

/* Returns the digests of all boxes of d; owned. */
pdl_digest *pdl_digests_new(const pdl_doc *d);

/* Returns the name of the tool that the box calls, as --verbose shows it; may be empty.
 * Borrowed. */
pdl_str pdl_box_tool(const pdl_box *b);
/* Returns the tool's arguments by name; absent when they are unknown. Borrowed. */
pdl_vref pdl_box_tool_arguments(const pdl_box *b);
/* Returns the arguments of any call in the same form. */
pdl_vref pdl_box_arguments(const pdl_box *b);
/* Returns the lists of `for` by the names of its variables; absent without any. */
pdl_vref pdl_box_loop_lists(const pdl_box *b);
bool pdl_box_is_kind(const pdl_box *b, const char *kind);
/* Returns true for code that leaves the run, such as Python or a command; templates and PDL do
 * not. */
bool pdl_box_is_code(const pdl_box *b);
/* Returns true for a block that reads a file and does not ask a person. */
bool pdl_box_reads_file(const pdl_box *b);

#endif
