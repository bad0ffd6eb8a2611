/* redact.h -- finds secrets in a text. Private to effect.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_EFFECT_REDACT_H
#define PDL_EFFECT_REDACT_H

#include "effect/secret.h"

/* The treatment of a secret that the end of the text cuts off: it is shown, redacted, or held back
 * until the rest arrives. */
typedef enum { SHOW_CUT, REDACT_CUT, HOLD_CUT } pdl_at_end;

/* Returns how many bytes of t at `at` must be redacted. Sets *cut when t ends before it is known
 * whether a secret, or a longer secret, begins here. The register must not be empty. */
size_t pdl_redact_match(const pdl_secrets *s, pdl_str t, size_t at, pdl_at_end end, bool *cut);

#endif
