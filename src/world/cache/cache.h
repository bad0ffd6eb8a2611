/* cache.h -- replies that several runs share: of models, of embeddings and of GET requests.
 *
 * The replies are in one SQLite file in WAL mode, which any number of processes use at the same
 * time. A reply is found by the content of the request (model, platform, messages, parameters that
 * shape the answer, schema) and the number of the repetition. When a run makes the same request for
 * the nth time, it gets the nth reply. Without the number a program that samples ten answers would
 * get one answer ten times. Where a program is run many times to be judged (`pdl eval`), each of
 * its runs has a name (row and sample), which is part of the key. So two rows with the same request
 * get two answers. In a later run each row gets its own answer again, in whatever order the rows
 * run. Later versions keep the form of the key (docs/internals/cache.md). A failure is not stored:
 * its number goes to the next equal request. Secrets are not in the file. A journal cannot replace
 * a cache: it belongs to one run and answers by place, so a changed program finds nothing in it. A
 * cache answers by content and outlives the program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CACHE_CACHE_H
#define PDL_CACHE_CACHE_H

#include "effect/effect.h"
#include "value/label.h"

typedef struct pdl_cache pdl_cache;

/* Opens the file, and makes it when it does not exist. The secrets (borrowed until close) are
 * replaced in everything that is stored. Error: io (cannot be opened or made; not a cache;
 * damaged). */
PDL_MUST bool pdl_cache_open(pdl_str path, const pdl_secrets *secrets, pdl_cache **out,
                             pdl_err *err);

/* From now on, calls with values that the redaction (borrowed) covers bypass the cache. */
void pdl_cache_redact(pdl_cache *c, const pdl_redaction *redaction);

/* Opens the cache for listing and pruning, without making a file. Errors: as for pdl_cache_open. */
PDL_MUST bool pdl_cache_open_existing(pdl_str path, pdl_cache **out, pdl_err *err);

/* Returns the world that answers models, embeddings and GET requests from the file. It forwards
 * everything else to `next` (borrowed). The returned world belongs to the cache, and closing it
 * does nothing. Call once per cache. */
pdl_world *pdl_cache_world(pdl_cache *c, pdl_world *next);

/* The requests of one run (or group of runs) among several that share the cache. Repetitions are
 * counted in each view. draw: a name that becomes a part of the keys (copied); when it is empty,
 * replies are found by their request alone. Close the view after its effects were answered or
 * cancelled, and before the cache. */
typedef struct pdl_cache_view pdl_cache_view;
pdl_cache_view *pdl_cache_view_new(pdl_cache *c, pdl_str draw);
void pdl_cache_view_close(pdl_cache_view *v); /* v may be NULL */

/* Returns the view to which the effect with this id belongs. Returns NULL for the view of the cache
 * itself. Views are not separate worlds, because then the worlds between the runs and the cache
 * (policies and journals) would be left out. */
typedef pdl_cache_view *pdl_cache_view_fn(void *user, uint32_t effect);
void pdl_cache_split(pdl_cache *c, pdl_cache_view_fn *fn, void *user);

/* Writes everything to the file. Returns false with the first error that prevented a write (io, for
 * instance a full disk), also at later calls. */
PDL_MUST bool pdl_cache_finish(pdl_cache *c, pdl_err *err);

/* Returns how many effects were answered from the file. */
size_t pdl_cache_answered(const pdl_cache *c);

/* Returns true when there are answers that poll delivers without waiting. */
bool pdl_cache_is_ready(const pdl_cache *c);

void pdl_cache_close(pdl_cache *c); /* c may be NULL */

/* One stored reply. Texts live during the call. Times are seconds since the epoch. */
typedef struct pdl_cache_row {
    pdl_str key, model, request, reply; /* request and reply are JSON */
    int64_t number;                     /* number of the repetition, from 0 */
    int64_t stored, used, hits;
} pdl_cache_row;
PDL_MUST bool pdl_cache_each(pdl_cache *c, bool (*fn)(void *user, const pdl_cache_row *row),
                             void *user, pdl_err *err);

/* Removes the replies of models that match the glob and that were last used before `before`. An
 * empty glob matches all models, and 0 means any time. Sets *n to the number of removed rows. */
PDL_MUST bool pdl_cache_prune(pdl_cache *c, int64_t before, pdl_str model, int64_t *n,
                              pdl_err *err);

#endif
