/* uses.h -- private to viewer: remembers which works a name means, and finds the works that a block
 * uses.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_USES_H
#define PDL_VIEWER_USES_H

#include "base/map.h"
#include "base/vec.h"
#include "viewer/boxes.h"

/* One of the works that a name means. next: number of the next link for the same name, + 1; 0 when
 * there is none. */
typedef struct pdl_uses_link {
    uint32_t work, next;
} pdl_uses_link;

/* The works that names mean. There are no names when all members are zero. */
typedef struct pdl_uses {
    pdl_map names; /* name -> number of its first link, + 1 */
    PDL_VEC(pdl_uses_link) links;
} pdl_uses;

/* From now on, the name (which must outlive u) means only this work. */
void pdl_uses_define(pdl_uses *u, pdl_str name, uint32_t work);
/* From now on, the name means the works that the expressions of this block use. */
void pdl_uses_follow(pdl_uses *u, pdl_str name, pdl_vref block);
/* Calls found(user, work) for each work that the expressions of the block use; it may be called
 * twice for one work. Blocks inside of the block are not searched. */
void pdl_uses_find(const pdl_uses *u, pdl_vref block, void (*found)(void *user, uint32_t work),
                   void *user);
void pdl_uses_fini(pdl_uses *u);

#endif
