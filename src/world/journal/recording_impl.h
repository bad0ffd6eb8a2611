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
#include "journal/journal.h"
#include "journal/recording_file.h"

struct pdl_journal {
    pdl_world world; /* the world for the run */
    db *db;
    const pdl_debug *debug;         /* reports of the category journal; may be NULL */
    const pdl_secrets *secrets;     /* texts that are removed from everything stored; may be NULL */
    const pdl_redaction *redaction; /* values with these labels are not stored; or NULL */
    /* owned folder of the program, to which paths in requests are relative; may be NULL */
    char *folder;
    pdl_err problem; /* the reason why the file can no longer be written or read */
    void (*fini)(pdl_journal *j);
};

/* The identity by which the recorded row of an effect is searched. */
typedef struct journal_id {
    pdl_buf place, request;
    char hash[65];
    int64_t key;
} journal_id;
/* The form in which a request is written: without the texts in `secrets` (may be NULL), and with
 * paths in `folder` moved to `prefix` (pdl_effect_moved). The member `shown` of a read, the path in
 * messages, depends on where the run was started, so it is left out. With `twice`, `shown` is set
 * to the path of the request, as in older recordings. */
typedef struct journal_form {
    const pdl_secrets *secrets;
    const pdl_redaction *redaction;
    pdl_str folder, prefix;
    bool twice;
} journal_form;
/* Returns the form in which this recording stores requests. */
journal_form pdl_journal_form_of(const pdl_journal *j);
PDL_MUST bool pdl_journal_key(const journal_form *form, const pdl_effect *e, journal_id *out,
                              pdl_err *err);
void pdl_journal_id_fini(journal_id *id);
/* Appends a place. When the redaction covers the label, names below the `code` of a computed
 * program are hidden, because the text of that program chose them. */
void pdl_journal_put_place(const pdl_redaction *m, pdl_label label, const pdl_path *place,
                           pdl_buf *out);

/* The first function returns the failure of the effect `asked` as a dict (owned). The second sets
 * the error from such a dict. folder: the program's folder. */
pdl_val pdl_journal_error_value(pdl_str folder, const pdl_effect *asked, const pdl_err *e);
void pdl_journal_error_read(pdl_str folder, const pdl_effect *asked, pdl_vref v, pdl_err *out);

#endif
