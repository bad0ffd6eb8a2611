/* fmt.h -- the formatter: writes a program in the one layout of PDL, for `pdl fmt` and editors.
 *
 * The meaning of a program does not change, and the decisions of its author stay: comments, the
 * order of keys, quotes, block scalars, and where lines end. The formatter decides only about
 * blanks. It indents by two, puts a list into the column of its key, and leaves one blank after
 * `:`, `-` and `,` and inside of `${ x }`. It leaves at most one empty line, and no blanks at ends
 * of lines. It also breaks flow collections that do not fit into PDL_FORMAT_WIDTH columns. At each
 * call the result is read again and compared with the text before it is returned. Formatting twice
 * changes nothing more.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_FMT_FMT_H
#define PDL_FMT_FMT_H

#include "base/buf.h"
#include "base/err.h"

enum { PDL_FORMAT_WIDTH = 100 };

/* With all members zero, the formatter formats the whole text, in its order. */
typedef struct pdl_format_options {
    pdl_str name; /* the name of the file, for errors */
    /* Only lines first_line to last_line (from 1) are formatted; first_line 0 means all lines.
     * Collections that begin or end outside of these lines keep their column. */
    uint32_t first_line, last_line;
    /* sorts the keys of blocks in the order of the documentation; first_line must be 0 */
    bool sort;
} pdl_format_options;

/* Appends the formatted text. All line ends become LF or CR LF, like the first line end that has an
 * LF. In a text without LF, they stay CR. Lines that are not formatted keep their line ends. A byte
 * order mark is kept. On an error nothing is appended. An error means that the text cannot be read
 * as YAML, that the text does not fit the schema of programs, or that a step would change its
 * meaning. Includes and names are not searched. The place in err refers to a source in arena a, so
 * the arena must outlive err. */
PDL_MUST bool pdl_format(pdl_arena *a, pdl_str bytes, const pdl_format_options *o, pdl_buf *out,
                         pdl_err *err);

#endif
