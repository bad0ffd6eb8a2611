/* label.h -- where a value came from: a set of origins as a bit set. Joining is OR.
 *
 * What a model, a tool or a page wrote may try to steer the program or its user. Whether a value is
 * such text cannot be seen from the value, so each value carries its origins and every operation
 * joins those of its operands. Checking only at the borders would not do: a text that was read, cut
 * and pasted into a command is no less foreign. What must stay true: an operation may add origins,
 * and only the program's author can drop them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_LABEL_H
#define PDL_VALUE_LABEL_H

#include "value/val.h"

/*   X(id, doc)   The program's own text has the empty set: it is trusted. */
#define PDL_LABELS(X)                                                                              \
    X(user, "typed by the user, or standard input")                                                \
    X(data, "given on the command line or in a data file")                                         \
    X(file, "read from a file")                                                                    \
    X(model, "written by a model")                                                                 \
    X(tool, "result of a tool or MCP server")                                                      \
    X(command, "output of a command")                                                              \
    X(code, "result of a code block")                                                              \
    X(net, "fetched from the network")                                                             \
    X(clock, "time or random number")

enum {
#define X(id, doc) PDL_LABEL_BIT_##id,
    PDL_LABELS(X)
#undef X
        PDL_LABEL_COUNT
};
enum {
#define X(id, doc) PDL_LABEL_##id = 1 << PDL_LABEL_BIT_##id,
    PDL_LABELS(X)
#undef X
};

/* UNTRUSTED: not the user's own words; a terminal gets them with control sequences neutralised.
 * MAYBE_TAINTED: may repeat what the run has received from a model or a tool, so untrusted once the
 * run is tainted. */
enum {
    PDL_LABELS_UNTRUSTED = PDL_LABEL_model | PDL_LABEL_tool | PDL_LABEL_net,
    PDL_LABELS_MAYBE_TAINTED = PDL_LABEL_file | PDL_LABEL_command | PDL_LABEL_code
};

#endif
