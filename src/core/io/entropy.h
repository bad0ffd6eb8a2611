/* entropy.h -- random numbers from the operating system: seeds for base/rand.h, and secrets.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_IO_ENTROPY_H
#define PDL_IO_ENTROPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint64_t pdl_rand_fresh_seed(void);
/* Writes n bytes (at most 256) that cannot be guessed. Returns false when the system gives no
 * random bytes. */
bool pdl_rand_secret(void *out, size_t n);

#endif
