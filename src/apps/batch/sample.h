/* sample.h -- decides which rows of a table belong to a batch: all rows, or some that are drawn at
 * random. Private to batch.
 *
 * The draw is the same in every process, so that a batch that continues has the same rows. Rows are
 * drawn in order, so that nothing needs to be stored. Each remaining row is taken with such a
 * probability that the number of rows is exact in the end (Knuth's algorithm S).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BATCH_SAMPLE_H
#define PDL_BATCH_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct batch_sample {
    uint64_t row; /* the last row that was drawn */
    /* rows is the number of rows that remain, and wanted says how many of these are still to be
     * drawn. Neither is used when all rows are taken. */
    uint64_t rows, wanted;
    bool all;
    uint64_t state;
} sample;

/* Begins a draw. wanted is 0 when all rows are taken. rows is the number of rows in the table. */
static inline sample pdl_batch_sample_of(uint64_t rows, uint64_t wanted) {
    return (sample){.rows = rows, .wanted = wanted, .all = !wanted, .state = 0x70646c62617463};
}

/* Returns a random number of 64 bits, by one step of splitmix64. */
static inline uint64_t pdl_batch_sample_chance(sample *s) {
    uint64_t z = s->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Returns the number of the next row; 0 when there are no more rows. */
static inline uint64_t pdl_batch_sample_next(sample *s) {
    if (s->all) return ++s->row;
    while (s->wanted && s->rows) {
        s->row++;
        bool taken = pdl_batch_sample_chance(s) % s->rows < s->wanted;
        s->rows--;
        s->wanted -= taken;
        if (taken) return s->row;
    }
    return 0;
}

#endif
