/* loop_uv.h -- the libuv loop of a pdl_loop, for the files that need other handles. Private to io.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_IO_LOOP_UV_H
#define PDL_IO_LOOP_UV_H

#include <uv.h>

#include "io/loop.h"

/* The result is borrowed. */
uv_loop_t *pdl_loop_uv(pdl_loop *l);

/* Adds (1) or removes (-1) something that keeps the loop open. */
void pdl_loop_ref(pdl_loop *l, int delta);

#endif
