/* secret_references.h -- references to keys by name. A journal, or the state of a search, contains
 * these references instead of the keys; a reader replaces them by the keys.
 *
 * In a JSON string a reference is \u0001k:NAME\u0001. A byte 1 that the text itself contains is
 * written as \u0001l\u0001, so that no text is taken for a reference.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_JOURNAL_SECRET_REFERENCES_H
#define PDL_JOURNAL_SECRET_REFERENCES_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

typedef struct secret_refs {
    PDL_VEC(struct key {
        char *name;
        pdl_str value; /* the key, with the escapes of a JSON string; owned */
    })
    keys;
    bool lenient;   /* a key that is not set becomes [REDACTED] */
    bool of_search; /* true: the text is the state of a search; false: it is a journal of a run */
} secret_refs;

/* Adds a key with its name; longer keys are replaced first. */
void pdl_secret_refs_add(secret_refs *k, pdl_str name, pdl_str value);
void pdl_secret_refs_copy(const secret_refs *from, secret_refs *to);
void pdl_secret_refs_fini(secret_refs *k);

/* Appends JSON text with references instead of keys. */
void pdl_secret_refs_refer(const secret_refs *k, pdl_str json, pdl_buf *out);
/* Replaces references by the keys. Errors: config, which names a key that is not set; replay, when
 * a reference is malformed. */
PDL_MUST bool pdl_secret_refs_fill(const secret_refs *k, pdl_str json, pdl_buf *out, pdl_err *err);
/* Replaces references by [REDACTED], for text that others may read. */
void pdl_secret_refs_redact(pdl_str json, pdl_buf *out);

#endif
