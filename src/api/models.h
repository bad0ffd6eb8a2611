/* models.h -- answers the questions that a check has about models, such as which parameters exist.
 * Sessions use these functions, and so does the module for browsers, which has no environment.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_MODELS_H
#define PDL_API_MODELS_H

#include "check/check.h"
#include "model/catalog.h"

/* Returns the functions that answer a check's questions. env is borrowed as long as the result is
 * used. With `keys`, a key that is not set counts as a problem. */
pdl_check_models pdl_models_for(const pdl_model_env *env, bool keys);

#endif
