/* cmd_answer.c -- pdl answer answers a question of a durable run. The answer is written into the
 * journal of the run, so it is kept even when no process of the run exists. `pdl resume` then uses
 * it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cli.h"
#include "io/file.h"

#include "base/banned.h"

static bool read_text(pdl_str text, pdl_buf *out, pdl_err *err) {
    if (!pdl_str_is(text, "-")) return pdl_buf_add(out, text, err);
    if (!pdl_file_read_fd(0, out, err)) return false;
    if (out->len && out->p[out->len - 1] == '\n') pdl_buf_cut(out, out->len - 1);
    return true;
}

int pdl_cli_cmd_answer(const arguments *a) {
    pdl_err err = {0};
    pdl_buf text = PDL_BUF_INIT(PDL_MAX_TEXT);
    char *path = NULL;
    if (a->files.n < 2)
        return pdl_cli_refuse(a, "the following arguments are required: ID or FILE, TEXT");
    bool ok = read_text(a->files.p[1], &text, &err) &&
              pdl_cli_durable_path(a->files.p[0], &path, &err) &&
              pdl_durable_answer(pdl_str_of(path), a->value[OPT_at], pdl_buf_str(&text), &err);
    pdl_buf_fini(&text);
    pdl_free(path);
    return ok ? 0 : pdl_cli_fail(&err);
}
