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
    uint32_t asked;   /* models, code, people and files that were asked in it */
    uint32_t models;  /* calls of models that are not those of a tool inside of it */
    uint32_t functions; /* definitions of functions in it */
    uint32_t tools;   /* calls of tools, the box itself included */
    int64_t start, end; /* the first and the last moment in it, in ns; 0: not known */
    bool failed;      /* a failure that counts is in it */
    bool recovered;   /* something in it failed and was taken care of */
} pdl_digest;

/* The digests of all boxes of d; owned. */
pdl_digest *pdl_digests_new(const pdl_doc *d);

/* The name of the tool that the box calls, as --verbose has it; may be empty. Borrowed. */
pdl_str pdl_box_tool(const pdl_box *b);
/* Its arguments by name; absent: not known. Borrowed. */
pdl_vref pdl_box_tool_arguments(const pdl_box *b);
/* The arguments of any call, in the same form. */
pdl_vref pdl_box_arguments(const pdl_box *b);
bool pdl_box_is_kind(const pdl_box *b, const char *kind);
/* Is it code that leaves the run: a program, a command? Templates and PDL do not. */
bool pdl_box_is_code(const pdl_box *b);
/* Does it read a file, and does not ask a person? */
bool pdl_box_reads_file(const pdl_box *b);

#endif
