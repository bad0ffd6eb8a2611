/* models.h -- answers to what a check wants to know about models, for a session and for the module,
 * which has no environment.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_MODELS_H
#define PDL_API_MODELS_H

#include "check/check.h"
#include "model/catalog.h"

/* env is borrowed for as long as the result is used. keys: a key that is not set is a problem. */
pdl_check_models pdl_models_for(const pdl_model_env *env, bool keys);

#endif
