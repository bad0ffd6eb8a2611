/* open_files.c -- opens and closes the files of a session that answer or record effects: journals
 * and caches. They are opened before a program is read, so that their errors come first. They are
 * closed after the chain.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <unistd.h>

#include "api/session/session_impl.h"

#include "base/banned.h"

/* Returns true when path names an existing file. A run that is only explained makes no file, so it
 * uses only an existing cache. */
static bool is_file(pdl_str path) {
    char *z = pdl_str_dup(path);
    bool is = path.n && access(z, F_OK) == 0;
    pdl_free(z);
    return is;
}

bool pdl_open_files_open(pdl_session *s, pdl_err *err) {
    const pdl_session_options *o = &s->opt;
    if (o->run.explain && !is_file(o->files.cache)) return true;
    if (o->files.cache.n && !o->files.replay.n) {
        if (!pdl_cache_open(o->files.cache, s->around.secrets, &s->files.cache, err)) return false;
        pdl_cache_redact(s->files.cache, pdl_session_redaction(s, PDL_SINK_journal));
    }
    if (o->run.explain) return true;
    if ((o->files.record.n || o->files.replay.n) && !pdl_session_open_journal(s, err)) return false;
    return true;
}

bool pdl_open_files_are_ready(const pdl_open_files *f) {
    return (f->cache && pdl_cache_is_ready(f->cache)) ||
           (f->durable && pdl_durable_is_ready(f->durable));
}

void pdl_open_files_end(pdl_open_files *f) {
    if (f->journal) pdl_journal_close(f->journal);
    pdl_durable_close(f->owned);
    pdl_cache_close(f->cache);
}

bool pdl_open_files_ok(const pdl_open_files *f) {
    return (!f->owned || f->owned == f->durable) && !(f->server && f->durable);
}
