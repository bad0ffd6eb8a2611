/* reading.h -- private to viewer: makes a document of a run, in the order in which a person reads
 * it. A trace is nested like its program, but a person reads text from top to bottom. So the
 * reading is a flat list of items. Some items are pieces of the printed text; a new piece begins
 * where its maker (makers.def) changes. The other items are everything else that happened.
 * They are between the printed lines, where they help to understand the text. Items are in
 * preorder: the items inside of an item follow it, up to its `end`. The texts of the pieces
 * together are what the run printed, byte for byte. The page, Markdown and comparisons are made
 * from this list alone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_READING_H
#define PDL_VIEWER_READING_H

#include "base/buf.h"
#include "base/vec.h"
#include "viewer/boxes.h"
#include "viewer/program_text.h"
#include "viewer/reading/digest.h"
#include "viewer/reading/provenance.h"

typedef enum {
#define SHAPE(id, name, doc) PDL_SHAPE_##id,
#include "viewer/reading/shapes.def"
    PDL_SHAPE_COUNT
} pdl_shape;

typedef enum {
#define MAKER(id, name) PDL_MADE_BY_##id,
#include "viewer/reading/makers.def"
    PDL_MAKER_COUNT
} pdl_maker;

typedef struct pdl_item {
    pdl_shape shape;
    pdl_maker maker;
    uint32_t box; /* number of the box that the item is about */
    /* number of the item around this item; the item's own number when there is none */
    uint32_t parent;
    uint32_t depth; /* how many items are around this item */
    uint32_t end;   /* number of the next item that is not inside this one */
    /* number of a turn, round or row, from 1; for a setup, loop or map, the number of its parts */
    uint32_t number;
    size_t from, to;   /* the text of a piece, as offsets into the printed text */
    uint32_t call_box; /* box of the model call that made the item, or else its own box */
    pdl_str name;      /* the variable or tool that the item is about; may be empty. Borrowed */
    bool unused;       /* no piece uses the result of this work */
} pdl_item;

/* A report on how much the calls of a run share at their beginnings. It is computed when the first
 * call is opened. */
typedef struct pdl_comparison {
    /* computes the report; NULL when it cannot be computed, or was computed */
    pdl_val (*fn)(void *user);
    void *user;
    pdl_val report; /* {calls}, or absent */
} pdl_comparison;

typedef struct pdl_reading {
    const pdl_doc *doc;
    PDL_VEC(pdl_item) items;
    pdl_buf text;        /* the printed text, without a line end at the end of the run */
    pdl_digest *digests; /* indexed by box */
    /* indexed by box: the number of its model call, from 1; 0 when it is no model call */
    uint32_t *calls;
    uint32_t n_calls;
    uint32_t *by_number;    /* the boxes of the calls; call n is at index n - 1 */
    pdl_provenance origins; /* where the pieces came from */
    /* indexed by box: the number of the item about it + 1; 0 when there is none */
    uint32_t *item_of;
    /* the name by which users refer to the run: a file or an id; may be empty. Borrowed */
    pdl_str name;
    pdl_comparison *comparison; /* never NULL */
} pdl_reading;

/* Returns the reading of d, which must outlive it. This never fails: parts that are missing in the
 * trace are left out. */
pdl_reading *pdl_reading_new(const pdl_doc *d);
void pdl_reading_free(pdl_reading *r); /* r may be NULL */
/* Returns true when items nest, pieces are in order and cover the text. */
bool pdl_reading_ok(const pdl_reading *r);

const char *pdl_shape_name(pdl_shape s);
const char *pdl_maker_name(pdl_maker m);

/* Appends the standard output of the run, its last line end included. */
void pdl_reading_text(const pdl_reading *r, pdl_buf *out);

/* call_numbers.c. Numbers the model calls of the run in the order in which they began. */
void pdl_reading_number_calls(pdl_reading *r);

/* setup_item.c. Puts one item with the definitions inside it before all other items except a
 * note. */
void pdl_reading_put_setup(pdl_reading *r, const pdl_item *setup, uint32_t n_setup);

/* --- titles.c: what the document says around the text of the run ------------------------------ */

/* Appends one line about the item, without Markdown, such as "How out came about: an agent, 2
 * turns, 2.2 s". */
void pdl_item_title(const pdl_reading *r, uint32_t i, pdl_buf *out);
/* Returns the words that are shown for a reply that has no text. */
const char *pdl_item_no_text(const pdl_reading *r, uint32_t i);
/* Appends the task of an agent, which is the last message of a user in its first call. Appends
 * nothing for another item. Appends nothing for a long message, because it is a prompt with
 * examples. */
void pdl_item_task(const pdl_reading *r, uint32_t i, pdl_buf *out);
/* Appends the text that an attempt had made, without escape sequences, when no item inside of it
 * has the same text. */
void pdl_item_gone(const pdl_reading *r, uint32_t i, pdl_buf *out);
/* Appends the text of the item, without escape sequences that control terminals. */
void pdl_item_text(const pdl_reading *r, uint32_t i, pdl_buf *out);
/* Appends the title of the document. It is the description of the program, the first sentence of
 * its leading comment, or the name of its file without folders. When the program has no file, it is
 * the name of the trace. */
void pdl_reading_title(const pdl_reading *r, const pdl_view_source *s, pdl_buf *out);
/* Appends facts such as "Finished · team.pdl · 2.2 s · 6 model calls · 512 tokens in, 39 out". The
 * text `between` replaces the dots. */
void pdl_reading_facts(const pdl_reading *r, const pdl_view_source *s, pdl_str between,
                       pdl_buf *out);
/* Returns "Finished", "Failed", "Running" or "Stopped". Returns "Not ended" for records that may
 * still grow, and "Cut" when the trace is damaged. */
const char *pdl_reading_state(const pdl_reading *r);
/* Appends the place of the item's block: "team.pdl, line 11"; nothing when it is unknown. */
void pdl_item_place(const pdl_reading *r, const pdl_view_source *s, uint32_t i, pdl_buf *out);
/* Appends s without the sequences that control a terminal. */
void pdl_put_unescaped(pdl_str s, pdl_buf *out);
/* Appends a number for people, such as "1,234". The page writes numbers in the same way. */
void pdl_put_number(uint64_t n, pdl_buf *out);
/* Appends a time for people, such as "0.38 s" or "12 ms"; nothing when it is below a
 * millisecond. */
void pdl_put_time(int64_t nanos, pdl_buf *out);

/* --- markdown.c ------------------------------------------------------------------------------- */

/* Appends the document as Markdown. all: includes the parts that are closed on the page at
 * first. */
void pdl_reading_markdown(const pdl_reading *r, const pdl_view_source *s, bool all, pdl_buf *out);

#endif
