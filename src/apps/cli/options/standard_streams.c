/* standard_streams.c -- the name `-` means standard input or standard output.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cli.h"
#include "cli/options.h"

#include "base/banned.h"

/* Options whose readers and writers know only names of files. */
static const struct {
    opt_id id;
    const char *stream;
} streams[] = {{OPT_data_file, "/dev/stdin"},  {OPT_prices, "/dev/stdin"},
               {OPT_token_file, "/dev/stdin"}, {OPT_replies, "/dev/stdin"},
               {OPT_source, "/dev/stdin"},     {OPT_candidates, "/dev/stdin"},
               {OPT_trace, "/dev/stdout"},     {OPT_junit, "/dev/stdout"}};

pdl_str pdl_cli_stream_of(opt_id id, pdl_str value) {
    bool is_data = id == OPT_data || id == OPT_variable;
    if (is_data && pdl_str_is(value, "@-")) return PDL_STR("@/dev/stdin");
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
        if (streams[i].id == id && pdl_str_is(value, "-")) return pdl_str_of(streams[i].stream);
    return value;
}

bool pdl_cli_is_default_output(const arguments *a, opt_id id, pdl_str value) {
    bool prints = a->command->run == pdl_cli_cmd_run || a->command->run == pdl_cli_cmd_resume;
    return id == OPT_output && prints && pdl_str_is(value, "-");
}

static bool is_stdin(opt_id id, pdl_str value) {
    bool is_rows = id == OPT_input || id == OPT_data_rows;
    if (pdl_str_starts(value, PDL_STR("@"))) value = pdl_str_sub(value, 1, value.n);
    return pdl_str_is(value, "/dev/stdin") || (is_rows && pdl_str_is(value, "-"));
}

bool pdl_cli_reads_stdin_once(const arguments *a, char **message) {
    size_t n = 0;
    for (size_t i = 0; i < a->values.n; i++) n += is_stdin(a->values.p[i].id, a->values.p[i].value);
    for (size_t i = 0; i < a->files.n && a->command->run != pdl_cli_cmd_sandbox; i++)
        n += pdl_str_is(a->files.p[i], "-");
    if (n <= 1) return true;
    *message = pdl_str_dup(PDL_STR("standard input can be read only once: give - once"));
    return false;
}
