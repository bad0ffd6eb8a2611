/* policy.h -- built-in policies, for the command.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_POLICY_H
#define PDL_API_POLICY_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* The text of default, careful or strict: lib/policies/NAME.yaml in the first of the folders that
 * has it, whose path goes to *file. Errors: usage (no such policy), io. */
PDL_MUST bool pdl_policy_built_in(const pdl_str *path, size_t n_path, pdl_str name, pdl_buf *file,
                                  pdl_buf *text, pdl_err *err);

#endif
