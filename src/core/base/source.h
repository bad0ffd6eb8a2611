/* source.h -- a named piece of program text, and places in it.
 *
 * A source lives in an arena (with its text) and is immutable. A pdl_loc is a byte span in a
 * source; line and column are computed on demand. The line terminator is LF; readers normalise CR
 * LF and CR.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_SOURCE_H
#define PDL_BASE_SOURCE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

typedef struct pdl_source {
    pdl_str name;          /* the path as the user wrote it; empty for a program without a file */
    pdl_str text;          /* valid UTF-8, LF line ends */
    uint32_t *line_starts; /* byte offset of each line, made on demand */
    uint32_t n_lines;
    bool from_tree; /* the text was written from a tree of values */
    /* the text has only printable ASCII and LF; set by readers that saw every byte */
    bool simple;
    pdl_arena *arena;
} pdl_source;

/* A span in a source. No place is known when all members are zero. */
typedef struct pdl_loc {
    const pdl_source *src; /* NULL when it is unknown */
    uint32_t start, end;   /* bytes, start <= end <= text.n */
} pdl_loc;

/* Number of NULs after the text of a source. Readers may look this far ahead without checking for
 * the end. */
enum { PDL_SOURCE_PAD = 16 };

/* Copies name and text into the arena. text must be valid UTF-8 of at most PDL_MAX_SOURCE_BYTES. */
pdl_source *pdl_source_new(pdl_arena *a, pdl_str name, pdl_str text);

/* These return the 1-based line of a byte offset, and its 1-based column in code points. */
uint32_t pdl_source_line(const pdl_source *s, uint32_t off);
uint32_t pdl_source_column(const pdl_source *s, uint32_t off);

/* Returns the text of a 1-based line without its terminator; empty when there is no such line.
 * Borrowed from s. */
pdl_str pdl_source_line_text(const pdl_source *s, uint32_t line1);

/* Appends "FILE:LINE - ". Appends "line LINE - " when there is no file, and nothing when the place
 * is unknown. */
struct pdl_buf;
void pdl_loc_put(pdl_loc loc, struct pdl_buf *out);

static inline uint32_t pdl_loc_line(pdl_loc l) {
    return l.src ? pdl_source_line(l.src, l.start) : 0;
}

#endif
