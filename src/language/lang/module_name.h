/* module_name.h -- the name by which a program includes or imports a file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LANG_MODULE_NAME_H
#define PDL_LANG_MODULE_NAME_H

#include "base/str.h"

/* A file that a program includes or imports, as it is written there. */
typedef struct pdl_module_name {
    /* the name of the source with the block, and the file that the block names */
    pdl_str from, path;
    bool is_import;
} pdl_module_name;

#endif
