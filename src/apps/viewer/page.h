/* page.h -- private to viewer: the files of the page, and the page as one file.
 *
 * The page is plain ES modules and CSS that the server sends as they are. For mail and tickets, the
 * whole page becomes one file. Scripts are joined in the order of page.def without their import
 * lines, and the data is in separate elements. The policy of the file allows only this script and
 * this style, by their hashes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_PAGE_H
#define PDL_VIEWER_PAGE_H

#include "base/buf.h"
#include "viewer/boxes.h"

typedef struct pdl_page_file {
    const char *name, *type;
    const unsigned char *bytes;
    const size_t *n;
} pdl_page_file;

/* Returns the file of this name, or NULL. */
const pdl_page_file *pdl_page_named(pdl_str name);
/* Returns the file in the form that browsers get: tools/embed.c, which put it into the program,
 * dropped the comments and the indentation of scripts and style sheets. */
pdl_str pdl_page_bytes(const pdl_page_file *f);
/* Appends the colours of kinds.def as CSS. */
void pdl_page_colours(pdl_buf *out);

/* Appends one HTML file that shows the run and needs no other file. s is the source of the run. */
struct pdl_reading;
struct pdl_view_source;
void pdl_page_export(const struct pdl_reading *r, const struct pdl_view_source *s, pdl_str title,
                     pdl_buf *out);

#endif
