/* tool_server_program.h -- writes the program for a tool server: `import: mcp:NAME` runs it like
 * any imported file (spec providers 19).
 *
 * The program defines `tools` (declarations for models), `call_tool`, `request`, and a function for
 * each tool whose name allows it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LANG_TOOL_SERVER_PROGRAM_H
#define PDL_LANG_TOOL_SERVER_PROGRAM_H

#include "base/buf.h"
#include "value/val.h"

/* The prefix of the name in `import`. */
#define PDL_TOOLS_PREFIX "mcp:"

/* The message for a text in place of a tool in a request, and the hint when the text is the name of
 * a function. The hint adds brackets where a list is missing. */
#define PDL_TOOL_IS_TEXT "a tool is a function or an object, and this is the text '%.*s'"
#define PDL_TOOL_BY_NAME "a function is not named but given: write %s\"${ %.*s }\"%s"

/* Writes the program for a server. tools is the list of its tools, in the form in which servers
 * send it. *taken, a dict, has the names by which models call the tools of other servers; this
 * server's names are added, with the server's name as a prefix where a name is taken. Returns an
 * owned dict from the name of each tool to its declaration, without the tools that are named as the
 * program's own functions. */
pdl_val pdl_toolbox_write(pdl_str server, pdl_vref tools, pdl_val *taken, pdl_buf *text);

#endif
