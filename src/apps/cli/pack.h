/* pack.h -- the form of a packed command, which `pdl pack` writes and the start reads.
 *
 * The bytes of the command are followed by the bytes of its parts, by an index with one line for
 * each part, and by a tail of fixed size. The tail has the place of the parts and the hash of the
 * index. A line of the index is ROLE HASH SIZE NAME. One byte of the command's mark says that it is
 * packed. So a command that is not packed does not search for a tail, and a packed command without
 * its tail refuses to run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_PACK_H
#define PDL_CLI_PACK_H

#include "base/hash.h"
#include "base/vec.h"

enum { PDL_PACK_TAIL = 64, PDL_PACK_MAX_PARTS = 4096 };
#define PDL_PACK_MAGIC "PDL-PARTS-0001\r\n"
/* Prefixes of names that are not relative to the folder of the program. */
#define PDL_PACK_LIBRARY "@lib/"
#define PDL_PACK_HERE    "@here/"

/* The mark, without its last byte, which is + in a packed command. */
pdl_str pdl_pack_mark(void);
bool pdl_pack_is_packed(void);

/* Reads the parts of this command and rewrites the user's command line. With --serve or --mcp the
 * command offers the packed program; otherwise it runs the program. Returns 0, or the exit code
 * when the parts differ from the packed ones. */
int pdl_pack_begin(int *argc, char ***argv);

#endif
