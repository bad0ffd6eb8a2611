/* rand.h -- seeds for base/rand.h from the operating system.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_IO_RAND_H
#define PDL_IO_RAND_H

#include <stdint.h>

uint64_t pdl_rand_fresh_seed(void);

#endif
