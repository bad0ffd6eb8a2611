/* config.h -- the settings of pdl.toml beside a program and of PDL_RULES: levels of rules and
 * folders for imports.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_API_CONFIG_H
#define PDL_API_CONFIG_H

#include "api/session.h"
#include "check/config.h"

/* Fills c, which is zero but for its arena, with the nearest pdl.toml of a program and with
 * PDL_RULES, which takes precedence. Errors: usage, io; c keeps what was read until then. */
PDL_MUST bool pdl_config_read(pdl_str file, pdl_check_config *c, pdl_err *err);
/* Puts levels and folders into o, which borrows them from c. */
void pdl_config_use(const pdl_check_config *c, pdl_session_options *o);
void pdl_config_fini(pdl_check_config *c); /* releases its arena, too */

#endif
