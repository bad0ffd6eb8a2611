/* exceptions.h -- the names of errors that `retry.exceptions` takes: classes of Python, those of
 * clients of models, and PDL's kinds. The check needs them before a run, and the run when it
 * matches errors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LANG_EXCEPTIONS_H
#define PDL_LANG_EXCEPTIONS_H

#include "base/str.h"

/* Returns the class that a class derives from, "" for the first one; NULL: there is no such
 * class. */
const char *pdl_exception_base(pdl_str name);
/* Returns true when `retry.exceptions` can have this name. */
bool pdl_exception_is_known(pdl_str name);
/* Returns the i-th name, for completion; NULL after the last one. */
const char *pdl_exception_at(size_t i);
/* Returns the known name that is most like this name, or empty. */
pdl_str pdl_exception_near(pdl_str name);

#endif
