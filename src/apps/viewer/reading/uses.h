/* uses.h -- private to viewer: which names mean which work, and which of them a block uses.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_USES_H
#define PDL_VIEWER_USES_H

#include "base/map.h"
#include "base/vec.h"
#include "viewer/doc.h"

/* One work that a name means, and the next one of the same name as a number + 1; 0: none. */
typedef struct pdl_uses_link {
    uint32_t work, next;
} pdl_uses_link;

/* All-zero is empty. */
typedef struct pdl_uses {
    pdl_map names; /* name -> its first link as a number + 1 */
    PDL_VEC(pdl_uses_link) links;
} pdl_uses;

/* From now on name (which must outlive u) means this work alone. */
void pdl_uses_define(pdl_uses *u, pdl_str name, uint32_t work);
/* From now on name means what the expressions of this block use. */
void pdl_uses_follow(pdl_uses *u, pdl_str name, pdl_vref block);
/* Calls found(user, work) for what the expressions of the block use; the same work may come more
 * than once. The blocks in it are not examined. */
void pdl_uses_find(const pdl_uses *u, pdl_vref block, void (*found)(void *user, uint32_t work),
                   void *user);
void pdl_uses_fini(pdl_uses *u);

#endif
