/* cachefile.h -- the file of a cache: makes and checks its table, finds and adds rows. Private to
 * cache.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CACHE_CACHEFILE_H
#define PDL_CACHE_CACHEFILE_H

#include "cache/cache.h"

typedef struct cachefile cachefile;

PDL_MUST bool pdl_cachefile_open(pdl_str path, bool make, cachefile **out, pdl_err *err);
void pdl_cachefile_close(cachefile *f); /* f may be NULL */
pdl_str pdl_cachefile_path(const cachefile *f);

/* Appends the stored reply (JSON) to `reply` when there is one (*found), and records the use. */
PDL_MUST bool pdl_cachefile_find(cachefile *f, pdl_str key, int64_t number, bool *found,
                                 pdl_buf *reply, pdl_err *err);
/* Stores a reply. When another process has stored a reply for the same key meanwhile, that reply is
 * kept. */
PDL_MUST bool pdl_cachefile_add(cachefile *f, const pdl_cache_row *row, pdl_err *err);
/* Makes the writes visible to others. No lock is held between two commits when nothing was written.
 */
PDL_MUST bool pdl_cachefile_commit(cachefile *f, pdl_err *err);

PDL_MUST bool pdl_cachefile_each(cachefile *f, bool (*fn)(void *user, const pdl_cache_row *row),
                                 void *user, pdl_err *err);
PDL_MUST bool pdl_cachefile_prune(cachefile *f, int64_t before, pdl_str model, int64_t *n,
                                  pdl_err *err);

#endif
