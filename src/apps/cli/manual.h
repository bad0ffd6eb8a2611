/* manual.h -- the manual that the command holds: its sections, and how they are shown in a
 * terminal. pdl docs searches it, and pdl help takes rules and messages from it. Private to cli.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_MANUAL_H
#define PDL_CLI_MANUAL_H

#include "base/buf.h"

/* A section ends where the next heading of any level begins. */
typedef struct manual_section {
    pdl_str page; /* file of the page in the sources, such as docs/manual/guide.md */
    pdl_str title, heading, body;
    bool is_first; /* the heading is the title of the page */
} manual_section;

/* A walk over all sections in the order of reading. All members are zero at its beginning. */
typedef struct manual_walk {
    pdl_str rest, page, title;
    bool begun;
} manual_walk;

/* The place in the manual to which a row of the glossary leads. */
typedef struct manual_place {
    /* such as "production.md" and "logs"; an empty anchor means the whole page */
    pdl_str file, anchor;
} manual_place;

bool pdl_manual_next(manual_walk *w, manual_section *s);
/* Finds the row of the glossary for a word of other tools. Returns false when no row has the
 * word. */
bool pdl_manual_called(pdl_str word, manual_place *out);
/* Returns true for the section that has the rows of the glossary. */
bool pdl_manual_has_called(const manual_section *s);
bool pdl_manual_is_at(const manual_section *s, const manual_place *place);
/* Takes a line of a text, without its end. */
pdl_str pdl_manual_take_line(pdl_str *text);
/* Writes Markdown as plain text; code is indented. */
void pdl_manual_put(pdl_str body, pdl_buf *out);
/* Writes a heading or the cell of a table without its marks. */
void pdl_manual_put_plain(pdl_str text, pdl_buf *out);
/* Returns true when a name is the heading, or the anchor of the heading. Case, blanks and
 * punctuation are ignored. */
bool pdl_manual_is_named(pdl_str heading, pdl_str name);
/* Counts the words of a text that begin with the given word, without regard to case. A word that is
 * equal to it counts threefold. */
size_t pdl_manual_count(pdl_str text, pdl_str word);

#endif
