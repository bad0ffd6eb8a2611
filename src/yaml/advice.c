/* advice.c -- help for the mistakes that beginners make in YAML: the message of the reader says
 * what it cannot read, the help what to write instead.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "yaml/events.h"

#include "base/banned.h"

/* What beginners meet, and what they should write. */
static const struct {
    const char *problem, *hint;
} advices[] = {
    {"mapping values are not allowed here",
     "a text that contains `: ` is put in quotes, or after `|` on lines of its own"},
    {"found character '\\t' that cannot start any token", "tabs may not indent: use blanks"},
    {"found character '@' that cannot start any token",
     "a text that begins with @ is put in quotes"},
    {"found character '`' that cannot start any token",
     "a text that begins with ` is put in quotes"},
    {"found character '%' that cannot start any token",
     "a text that begins with % is put in quotes"},
    {"expected ',' or '}', but got",
     "a text that begins with { is put in quotes; an expression is written ${ ... }"},
    {"expected ',' or ']', but got", "a text that begins with [ is put in quotes"},
    {"expected alphabetic or numeric character, but found",
     "a text that begins with * or & is put in quotes"},
};

void pdl_yaml_advise(pdl_err *err) {
    for (size_t i = 0; err->msg && i < sizeof advices / sizeof *advices; i++)
        if (strstr(err->msg, advices[i].problem)) {
            pdl_err_hint(err, "%s", advices[i].hint);
            return;
        }
}
