/* encode.h -- the tagged JSON form of values with options. Private to effect.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_EFFECT_ENCODE_H
#define PDL_EFFECT_ENCODE_H

#include "base/buf.h"
#include "base/err.h"
#include "effect/secret.h"

enum {
    PDL_ENC_SORT = 1,   /* keys are in the order of their text */
    PDL_ENC_REDACT = 2, /* texts under the names of secret parameters are written as [REDACTED] */
};

/* Writes v without the secrets of the register, which may be NULL. The secrets are removed from
 * every text before it is written as JSON. */
PDL_MUST bool pdl_effect_encode_with(pdl_vref v, int flags, const pdl_secrets *secrets,
                                     pdl_buf *out, pdl_err *err);

#endif
