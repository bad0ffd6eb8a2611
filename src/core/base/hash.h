/* hash.h -- a fast seeded hash for tables, and SHA-256 for the keys of cache and journal. The fast
 * hash differs from process to process, so it must never be stored. SHA-256 is the same everywhere,
 * so it can name content in files.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_HASH_H
#define PDL_BASE_HASH_H

#include "base/str.h"

/* Returns a fast hash for tables, which is never 0. The seed is drawn once for each process, so
 * that input cannot aim at collisions. */
uint32_t pdl_hash_str(pdl_str s);

/* Mixes a 64-bit number into a table hash. The result is never 0. */
uint32_t pdl_hash_u64(uint64_t x);

typedef struct {
    uint32_t state[8];
    uint64_t len;
    unsigned char block[64];
} pdl_sha256;

/* pdl_sha256_init begins a hash, pdl_sha256_add adds a piece of the content, and pdl_sha256_done
 * writes the digest. */
void pdl_sha256_init(pdl_sha256 *h);
void pdl_sha256_add(pdl_sha256 *h, pdl_str bytes);
void pdl_sha256_done(pdl_sha256 *h, unsigned char out[32]);

/* Writes the SHA-256 of bytes as 64 lower-case hex digits and a NUL. */
void pdl_hash_hex(pdl_str bytes, char out[65]);

#endif
