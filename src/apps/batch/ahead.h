/* ahead.h -- rows that share a long text are begun one after another. Private to batch.
 *
 * Providers keep what they computed for the beginning of a prompt, and charge less, or answer
 * sooner, when the next request begins with the same text. Rows of a table that share a document
 * seldom stand together, so some rows are read ahead where they hold long texts, and the row that
 * is begun next is the one that shares most with the one before it. A row is not passed over for
 * ever. Rows without long texts are begun as they come: no provider keeps beginnings that short.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_AHEAD_H
#define PDL_BATCH_AHEAD_H

#include "base/vec.h"
#include "batch/rows.h"

enum {
    AHEAD_LONG = 4096, /* bytes of a text; about 1024 tokens, from which on prefixes are kept */
    AHEAD_ROWS = 256,
    AHEAD_BYTES = 32 << 20, /* of the long texts */
    AHEAD_PASSED = 4 * AHEAD_ROWS
};

/* A long text of a row. */
typedef struct batch_text {
    uint64_t column, hash;
    size_t n;
} long_text;
typedef PDL_VEC(long_text) long_texts;

typedef struct batch_ahead_row {
    pdl_row row;
    long_texts texts;
    uint32_t passed; /* rows that were read later and taken earlier */
} ahead_row;

/* Rows in the order in which they were read. All-zero: none. */
typedef struct batch_ahead {
    PDL_VEC(ahead_row) rows;
    long_texts last; /* of the row that was taken last */
    size_t bytes;
    bool any; /* a row with a long text was seen */
} ahead;

/* Takes the content of row. */
void pdl_batch_ahead_put(ahead *a, pdl_row *row);
/* Shall more rows be read before the next one is begun? */
bool pdl_batch_ahead_has_room(const ahead *a);
/* The row to begin next; false: there is none. The caller owns it. */
bool pdl_batch_ahead_take(ahead *a, pdl_row *out);
void pdl_batch_ahead_fini(ahead *a);

#endif
