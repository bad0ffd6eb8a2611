/* run_copy.c -- copies the journal of a durable run, with its secrets or redacted, without running
 * it. A redacted copy lacks the keys that requests need, so it can be replayed but not continued.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <unistd.h>

#include "journal/durable/durable_impl.h"
#include "journal/run_lock.h"

#include "base/banned.h"

static void redact_row(void *user, pdl_str text, pdl_buf *out) {
    pdl_buf named = PDL_BUF;
    pdl_secret_refs_redact(text, &named);
    pdl_redact_lines(user, pdl_buf_str(&named), out);
    pdl_buf_fini(&named);
}

static bool redact(pdl_str path, const pdl_secrets *secrets, pdl_err *err) {
    pdl_store *s = NULL;
    bool ok = pdl_store_open(path, true, true, &s, err) &&
              pdl_store_put(s, "redacted", PDL_STR("yes"), err) && pdl_store_commit(s, true, err) &&
              pdl_store_rewrite(s, redact_row, (void *)(uintptr_t)secrets, err) &&
              pdl_store_put(s, "salt", PDL_STR(""), err) &&
              pdl_store_put(s, "secrets", PDL_STR(""), err);
    pdl_store_close(s, ok);
    return ok;
}

/* Removes the owner from a copy. Called when no process owns the original. */
static bool disown(pdl_str path, pdl_err *err) {
    pdl_store *s = NULL;
    bool ok =
        pdl_store_open(path, true, true, &s, err) && pdl_store_put(s, "owner", PDL_STR(""), err);
    pdl_store_close(s, ok);
    return ok;
}

bool pdl_durable_export(pdl_str path, pdl_str to, const pdl_secrets *secrets, pdl_err *err) {
    pdl_store *s = NULL;
    bool held = pdl_lock_is_held(path);
    bool ok = pdl_durable_check_begun(path, err) && pdl_store_open(path, false, false, &s, err) &&
              pdl_store_copy(s, to, err);
    held = held && ok && !pdl_lock_owner_is_gone(s);
    pdl_store_close(s, false);
    if (ok && !held) ok = disown(to, err);
    if (!ok || !secrets) return ok;
    if (redact(to, secrets, err)) return true;
    char *name = pdl_str_dup(to);
    unlink(name);
    pdl_free(name);
    return false;
}
