/* keyring.h -- references to keys by name. A journal, or the state of a search, contains these
 * references instead of the keys; a reader replaces them by the keys.
 *
 * In a JSON string a reference is \u0001k:NAME\u0001. A byte 1 that the text itself contains is
 * written as \u0001l\u0001, so that no text is taken for a reference.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_JOURNAL_KEYRING_H
#define PDL_JOURNAL_KEYRING_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

typedef struct keyring {
    PDL_VEC(struct key {
        char *name;
        pdl_str value; /* with the escapes of a JSON string; owned */
    })
    keys;
    bool lenient;   /* a key that is not set becomes [REDACTED] */
    bool of_search; /* true: the text is the state of a search; false: it is a journal of a run */
} keyring;

/* Adds a key with its name; longer keys are replaced first. */
void pdl_keyring_add(keyring *k, pdl_str name, pdl_str value);
void pdl_keyring_copy(const keyring *from, keyring *to);
void pdl_keyring_fini(keyring *k);

/* Appends JSON text with references instead of keys. */
void pdl_keyring_refer(const keyring *k, pdl_str json, pdl_buf *out);
/* Replaces references by the keys. Errors: config, which names a key that is not set; replay, when
 * a reference is malformed. */
PDL_MUST bool pdl_keyring_fill(const keyring *k, pdl_str json, pdl_buf *out, pdl_err *err);
/* Replaces references by [REDACTED], for text that others may read. */
void pdl_keyring_redact(pdl_str json, pdl_buf *out);

#endif
