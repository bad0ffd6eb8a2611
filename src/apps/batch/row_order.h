/* row_order.h -- begins rows that share a long text one after another. Private to batch.
 *
 * Providers keep what they computed for the beginning of a prompt, and charge less, or answer
 * sooner, when the next request begins with the same text. Rows of a table that share a document
 * are seldom adjacent. So when rows have long texts, some rows are read ahead. The next row is then
 * the one among them that shares most with the previous row. A row is passed over only a limited
 * number of times. Rows without long texts are begun in their order, because no provider keeps such
 * short beginnings.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_ROW_ORDER_H
#define PDL_BATCH_ROW_ORDER_H

#include "base/vec.h"
#include "batch/rows.h"

enum {
    /* minimum length of a long text: about 1024 tokens, because providers keep no shorter
     * beginnings */
    AHEAD_LONG = 4096,
    AHEAD_ROWS = 256,
    AHEAD_BYTES = 32 << 20, /* maximum size of the long texts of all rows together */
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
    uint32_t passed; /* number of later rows that were begun before this row */
} ahead_row;

/* The rows that were read and not begun yet, in the order of reading. A struct with only zeros has
 * no rows. */
typedef struct batch_ahead {
    PDL_VEC(ahead_row) rows;
    long_texts last; /* long texts of the row that was taken last */
    size_t bytes;
    bool any; /* a row with a long text has been read */
} ahead;

/* Adds a row. Takes the content of row. */
void pdl_batch_ahead_put(ahead *a, pdl_row *row);
/* Returns true when more rows should be read before the next row is begun. */
bool pdl_batch_ahead_has_room(const ahead *a);
/* Stores the row to begin next, which the caller then owns. Returns false when there is no row. */
bool pdl_batch_ahead_take(ahead *a, pdl_row *out);
/* Returns true when the invariants hold: `bytes` is the size of all long texts, and is 0 as long as
 * no row with a long text was read. */
bool pdl_batch_ahead_ok(const ahead *a);
void pdl_batch_ahead_fini(ahead *a);

#endif
