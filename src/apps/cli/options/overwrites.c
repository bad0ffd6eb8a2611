/* overwrites.c -- refuses a command line that would overwrite its inputs.
 *
 * A trace named like its program once replaced the program, which was the user's only copy. So
 * before a command does anything, the files that it would write are compared with all other files
 * on the command line, by identity and not by name. A terminal or a pipe, which several options may
 * write, is not a regular file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/options.h"
#include "io/file.h"

#include "base/banned.h"

/* Options that name a file which is replaced or appended to. */
static const opt_id written[] = {OPT_trace, OPT_output, OPT_wire, OPT_log,   OPT_html,
                                 OPT_svg,   OPT_md,     OPT_text, OPT_junit, OPT_report};

/* Returns true for a table that the batch itself compares: rows may come from one table of a file
 * and go to another table of the same file. */
static bool is_table(const arguments *a, opt_id id) {
    return a->command->run == pdl_cli_cmd_batch && (id == OPT_input || id == OPT_output);
}

static bool names_written(opt_id id) {
    for (size_t i = 0; i < sizeof written / sizeof *written; i++)
        if (written[i] == id) return true;
    return false;
}

static bool is_written(const arguments *a, opt_id id) {
    return !is_table(a, id) && names_written(id);
}

static bool is_same(const char *path, pdl_str other) {
    if (!other.n || memchr(other.p, 0, other.n)) return false;
    char *name = pdl_str_dup(other);
    bool same = pdl_file_is_same(path, name);
    pdl_free(name);
    return same;
}

static bool is_read_too(const arguments *a, opt_id id, const char *path) {
    for (size_t i = 0; i < a->files.n; i++)
        if (is_same(path, a->files.p[i])) return true;
    for (size_t i = 0; i < a->values.n; i++)
        if (a->values.p[i].id != id && !is_table(a, a->values.p[i].id) &&
            is_same(path, a->values.p[i].value))
            return true;
    return false;
}

static void add_name(pdl_str value, pdl_cli_names *out) {
    if (value.n && !pdl_str_is(value, "-")) *pdl_vec_push(out) = pdl_str_dup(value);
}

/* Options that name files which are read, and which decide what a run does or how it is judged. */
static const opt_id inputs[] = {OPT_input,      OPT_data_file, OPT_judge,
                                OPT_against,    OPT_config,    OPT_data_rows,
                                OPT_candidates, OPT_keep_rows, OPT_method};

void pdl_cli_input_files(const arguments *a, pdl_cli_names *out) {
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) add_name(a->value[inputs[i]], out);
    for (size_t i = 0; i < a->values.n; i++) {
        opt_id id = a->values.p[i].id;
        pdl_str value = a->values.p[i].value;
        if ((id == OPT_data || id == OPT_variable) && pdl_str_starts(value, PDL_STR("@")))
            add_name(pdl_str_sub(value, 1, value.n), out);
    }
}

void pdl_cli_written_files(const arguments *a, pdl_cli_names *out) {
    for (size_t i = 0; i < sizeof written / sizeof *written; i++)
        add_name(a->value[written[i]], out); /* the last value, or the value of the resumed run */
    for (size_t i = 0; i < a->values.n; i++)
        if (names_written(a->values.p[i].id)) add_name(a->values.p[i].value, out);
}

bool pdl_cli_spares_files(const arguments *a, char **message) {
    for (size_t i = 0; i < a->values.n && !*message; i++) {
        opt_id id = a->values.p[i].id;
        pdl_str value = a->values.p[i].value;
        if (!is_written(a, id) || !value.n) continue;
        char *path = pdl_str_dup(value);
        if (pdl_file_kind_of(path) == PDL_FILE_REGULAR && is_read_too(a, id, path)) {
            pdl_buf b = PDL_BUF;
            pdl_buf_putf(&b, "argument --%s: a file that is read would be overwritten: '%s'",
                         pdl_cli_option_of(id)->name, path);
            *message = pdl_buf_take(&b);
        }
        pdl_free(path);
    }
    return !*message;
}
