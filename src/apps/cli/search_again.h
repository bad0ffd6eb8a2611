/* search_again.h -- durable searches of pdl optimize and inferences of pdl infer, which pdl resume
 * continues with the words of their command.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_SEARCH_AGAIN_H
#define PDL_CLI_SEARCH_AGAIN_H

#include "base/buf.h"
#include "cli/options.h"
#include "journal/durable.h"
#include "value/val.h"

/* Appends the command of a search and its working folder, as JSON. */
void pdl_cli_search_command(const arguments *a, pdl_buf *out);
/* Returns the folder of a durable search: a path, or a name in experiments. Owned; NULL: there is
 * none. */
char *pdl_cli_search_folder(pdl_str name);
/* Continues the search in a folder, which it takes. Returns the exit code. */
int pdl_cli_search_resume(const arguments *given, char *folder);

/* Returns the words of a command as a list, without the options in `except`, which OPT_COUNT ends.
 * Owned. */
pdl_val pdl_cli_words_of(const arguments *a, const opt_id *except);
/* Runs a command with these words. begin: changes its arguments before it runs. */
int pdl_cli_run_words(const char *name, pdl_vref words,
                      void (*begin)(void *user, arguments *a), void *user);

/* infer_again.c. Returns the words of an inference with its seed, which its journal keeps. The
 * variables are left out: the journal has these itself, without keys. Owned. */
pdl_val pdl_cli_infer_words(const arguments *a, uint64_t seed);
/* Returns true when the journal is that of an inference. */
bool pdl_cli_is_inference(const pdl_durable_facts *f);
/* Continues the inference of an open journal. a: what the command line that resumes it gives. */
int pdl_cli_infer_resume(const arguments *a, struct durable_command *l);
/* Checks that the program is as it was. Returns false when err is set: usage. */
bool pdl_cli_infer_is_unchanged(const struct durable_command *l, pdl_str text, pdl_err *err);

#endif
