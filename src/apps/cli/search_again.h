/* search_again.h -- durable searches of pdl optimize and inferences of pdl infer. pdl resume
 * continues them with the words of their command.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_SEARCH_AGAIN_H
#define PDL_CLI_SEARCH_AGAIN_H

#include "base/buf.h"
#include "cli/options.h"
#include "journal/durable.h"
#include "journal/forecast.h"
#include "value/val.h"

struct pdl_forecast;

/* Appends, as JSON, the command of a search and the working folder of the command. */
void pdl_cli_search_command(const arguments *a, pdl_buf *out);
/* The first file is only in the folder of a durable search; the second file is in the folder of
 * every search. */
#define PDL_SEARCH_STATE      "state.json"
#define PDL_SEARCH_CANDIDATES "candidates.jsonl"
/* Returns the folder of a search that has this file, owned. name is its path, or a name in
 * experiments. Returns NULL when there is no such folder. */
char *pdl_cli_search_folder(pdl_str name, const char *file);
/* Continues the search in a folder. Takes folder. Returns the exit code. */
int pdl_cli_search_resume(const arguments *given, char *folder);

/* Returns the words of a command as a list: its operands, and the options with the bit `kept`.
 * Owned. */
pdl_val pdl_cli_words_of(const arguments *a, opt_resume kept);
/* Sets the value of an option, even when the command line gave another value. Borrows value. */
void pdl_cli_replace_value(arguments *a, opt_id id, pdl_str value);
/* Appends the absolute path of the file that an option names. Appends nothing when the option is
 * not given. */
void pdl_cli_put_file(const arguments *given, opt_id id, pdl_buf *out);
/* Runs a command with these words. An option without the bit `kept` has no effect, because the file
 * with the words may be someone else's. begin changes the arguments before the command runs. */
int pdl_cli_run_words(const char *name, pdl_vref words, opt_resume kept,
                      void (*begin)(void *user, arguments *a), void *user);

/* infer_again.c. Adds the options of an inference, and its seed, to the options in a journal.
 * Variables are left out, because the journal stores them separately, without keys. Takes options.
 */
pdl_val pdl_cli_infer_put_words(pdl_val options, const arguments *a, uint64_t seed);
/* Returns true when the command line that resumes an inference has an option that is not allowed
 * there. *which is the first such option. */
bool pdl_cli_infer_refuses(const arguments *given, opt_id *which);
/* Returns true when the journal belongs to an inference. */
bool pdl_cli_is_inference(const pdl_durable_facts *f);
/* Checks that an open journal can be shown as one run. The journal of an inference has the places
 * of many runs, so it cannot be shown as one. Returns false when err is set: usage. */
bool pdl_cli_is_one_run(const pdl_durable *run, pdl_err *err);
/* Continues the inference of an open journal. a has the options of the command line that resumes
 * it. */
int pdl_cli_infer_resume(const arguments *a, struct durable_command *l);
/* Makes the forecast of the resume of an inference, without running the inference. Returns false
 * when err is set: the resume would stop. */
bool pdl_cli_infer_forecast(const struct durable_command *l, pdl_str file, struct pdl_forecast *out,
                            pdl_err *err);
/* Checks that the program is unchanged. Returns false when err is set: usage. */
bool pdl_cli_infer_is_unchanged(const struct durable_command *l, pdl_str text, pdl_err *err);

#endif
