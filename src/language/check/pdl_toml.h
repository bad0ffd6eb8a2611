/* pdl_toml.h -- pdl.toml, and the other ways in which a user sets the levels of rules: --rule and
 * PDL_RULES.
 *
 * pdl.toml has only levels of rules and folders for imports. It cannot have a policy, sandbox, key
 * or URL, because a pdl.toml may come with a program that was received from others.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CHECK_PDL_TOML_H
#define PDL_CHECK_PDL_TOML_H

#include "check/check.h"

typedef struct pdl_check_config {
    uint8_t levels[PDL_RULE_COUNT]; /* a pdl_rule_level for each rule */
    PDL_VEC(pdl_str) import;        /* folders, in the arena */
    pdl_arena *arena;               /* the caller's */
} pdl_check_config;

/* Reads "NAME=LEVEL,NAME=LEVEL". Error: usage, with the right form. */
PDL_MUST bool pdl_check_config_rules(pdl_check_config *c, pdl_str text, pdl_err *err);

/* Reads the text of a pdl.toml. folder is the folder that contains the file; `import` is relative
 * to folder. Error: usage, with the line. */
PDL_MUST bool pdl_check_config_read(pdl_check_config *c, pdl_str file, pdl_str folder, pdl_str text,
                                    pdl_err *err);

#endif
