/* search_again.h -- durable searches of pdl optimize, which pdl resume continues.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_SEARCH_AGAIN_H
#define PDL_CLI_SEARCH_AGAIN_H

#include "base/buf.h"
#include "cli/options.h"

/* Appends the command of a search and its working folder, as JSON. */
void pdl_cli_search_command(const arguments *a, pdl_buf *out);
/* Returns the folder of a durable search: a path, or a name in experiments. Owned; NULL: there is
 * none. */
char *pdl_cli_search_folder(pdl_str name);
/* Continues the search in a folder, which it takes. Returns the exit code. */
int pdl_cli_search_resume(const arguments *given, char *folder);

#endif
