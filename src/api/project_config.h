/* project_config.h -- the settings of pdl.toml beside a program and of PDL_RULES: levels of rules
 * and folders for imports.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_PROJECT_CONFIG_H
#define PDL_API_PROJECT_CONFIG_H

#include "api/session.h"
#include "check/pdl_toml.h"

/* Fills c with the settings of the pdl.toml nearest to a program, and of PDL_RULES, which takes
 * precedence. Before the call all members of c but its arena are zero. Errors: usage, io; settings
 * that were read before the error remain in c. */
PDL_MUST bool pdl_config_read(pdl_str file, pdl_check_config *c, pdl_err *err);
/* Puts levels and folders into o, which borrows them from c. */
void pdl_config_use(const pdl_check_config *c, pdl_session_options *o);
void pdl_config_fini(pdl_check_config *c); /* releases the arena of c, too */

#endif
