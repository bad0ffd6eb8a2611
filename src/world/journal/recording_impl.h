/* recording_impl.h -- the state that recording and replaying share. Private to journal.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_JOURNAL_RECORDING_IMPL_H
#define PDL_JOURNAL_RECORDING_IMPL_H

#include <string.h>

#include "base/debug.h"
#include "base/hash.h"
#include "base/vec.h"
#include "journal/db.h"
#include "journal/journal.h"

struct pdl_journal {
    pdl_world world; /* the world for the run */
    db *db;
    const pdl_debug *debug;         /* category journal; may be NULL */
    const pdl_secrets *secrets;     /* removed from what is stored; may be NULL */
    const pdl_redaction *redaction; /* values with these labels are not stored; or NULL */
    /* owned folder of the program, to which paths in requests are relative; may be NULL */
    char *folder;
    pdl_err problem; /* the reason why the file cannot be written or read any more */
    void (*fini)(pdl_journal *j);
};

/* The identity of an effect. */
typedef struct journal_id {
    pdl_buf place, request;
    char hash[65];
    int64_t key;
} journal_id;
/* How a request is written: without these secrets (may be NULL), its paths moved from `folder` to
 * `prefix` (pdl_effect_moved). The spelling of a path in messages depends on where the run was
 * started and is left out; twice: the path replaces it, as in older recordings. */
typedef struct journal_form {
    const pdl_secrets *secrets;
    const pdl_redaction *redaction;
    pdl_str folder, prefix;
    bool twice;
} journal_form;
journal_form pdl_journal_form_of(const pdl_journal *j); /* returns the recorded form */
PDL_MUST bool pdl_journal_key(const journal_form *form, const pdl_effect *e, journal_id *out,
                              pdl_err *err);
void pdl_journal_id_fini(journal_id *id);

/* Return the failure of `asked` by a program in that folder as a dict (owned), and back. */
pdl_val pdl_journal_error_value(pdl_str folder, const pdl_effect *asked, const pdl_err *e);
void pdl_journal_error_read(pdl_str folder, const pdl_effect *asked, pdl_vref v, pdl_err *out);

#endif
