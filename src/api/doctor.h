/* doctor.h -- reports what a program can use on this machine: Python, libraries, keys, folders,
 * services.
 *
 * Everything is tried in the way in which a run uses it: a block of Python runs, libraries are
 * opened, services get a request. A list of settings would not show why a run fails.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_DOCTOR_H
#define PDL_API_DOCTOR_H

#include "base/err.h"
#include "value/val.h"

/* Stores a list of {topic, state: ok|note|missing, text, advice}: advice is empty when there is
 * nothing to do. The state `missing` means that programs which need the topic fail. With `asks`,
 * each configured provider gets a request without a key, to find out whether it answers. *out is
 * owned and contains no secrets. The error says why no session can be made. */
PDL_MUST bool pdl_doctor(bool asks, pdl_val *out, pdl_err *err);

#endif
