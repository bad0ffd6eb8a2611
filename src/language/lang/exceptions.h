/* exceptions.h -- the names of errors that `retry.exceptions` takes: classes of Python, classes of
 * clients of models, and PDL's kinds. The check needs the names before a run. The run needs them
 * when it matches errors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LANG_EXCEPTIONS_H
#define PDL_LANG_EXCEPTIONS_H

#include "base/str.h"

/* Returns the class from which a class derives, and "" for BaseException. Returns NULL for an
 * unknown class. */
const char *pdl_exception_base(pdl_str name);
/* Returns true when `retry.exceptions` can have this name. */
bool pdl_exception_is_known(pdl_str name);
/* Returns the i-th known name, for completion; NULL after the last one. */
const char *pdl_exception_at(size_t i);
/* Returns the known name that is most like this name, or an empty text. */
pdl_str pdl_exception_near(pdl_str name);

#endif
