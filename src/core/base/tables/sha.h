/* sha.h -- SHA-256 of one block, in C, and with the instructions that many x86 processors have.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_SHA_H
#define PDL_BASE_SHA_H

#include <stdbool.h>
#include <stdint.h>

/* The constants of the 64 rounds. */
extern const uint32_t pdl_sha_rounds[64];

/* Returns true when this processor can run pdl_sha_x86_block. */
bool pdl_sha_x86_works(void);

/* pdl_sha_block and pdl_sha_x86_block update the state with one block. Their results are the
 * same. */
void pdl_sha_block(uint32_t state[8], const unsigned char block[64]);
void pdl_sha_x86_block(uint32_t state[8], const unsigned char block[64]);

#endif
