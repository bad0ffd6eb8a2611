/* cmd_doctor.c -- pdl doctor: reports what programs can use on this machine. The exit code is 1
 * when something is missing that programs need, so that a script can test a machine.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/doctor.h"
#include "base/termsafe.h"
#include "cli/cli.h"
#include "value/json_write.h"
#include "value/text.h"

#include "base/banned.h"

static pdl_str text_at(pdl_vref row, const char *key) {
    return pdl_str_get(pdl_dict_getz(row, key));
}

/* The texts contain values of variables and answers of services, which may have control
 * sequences. */
static void put_row(pdl_vref row, bool color, pdl_buf *out) {
    static const struct {
        const char *state, *color;
    } looks[] = {{"ok", "\033[32m"}, {"note", "\033[33m"}, {"missing", "\033[31m"}};
    pdl_str state = text_at(row, "state"), advice = text_at(row, "advice");
    const char *look = "";
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
        if (pdl_str_is(state, looks[i].state)) look = looks[i].color;
    pdl_buf_putf(out, "%s%-8.*s%s %-13.*s ", color ? look : "", PDL_FMT(state),
                 color ? "\033[0m" : "", PDL_FMT(text_at(row, "topic")));
    pdl_buf_put_shown(out, text_at(row, "text"));
    pdl_buf_putc(out, '\n');
    if (!advice.n) return;
    pdl_buf_putf(out, "%23s", "");
    pdl_buf_put_shown(out, advice);
    pdl_buf_putc(out, '\n');
}

static bool put_rows(pdl_vref rows, bool json, pdl_buf *out, pdl_err *err) {
    bool color =
        pdl_tty_color(1, &(pdl_tty_env){getenv("NO_COLOR"), getenv("FORCE_COLOR"), getenv("TERM")});
    if (json) return pdl_json_write(rows, 0, 2, out, err) && pdl_buf_add(out, PDL_STR("\n"), err);
    for (size_t i = 0; i < pdl_list_len(rows); i++) put_row(pdl_list_at(rows, i), color, out);
    return true;
}

static bool is_missing(pdl_vref rows) {
    for (size_t i = 0; i < pdl_list_len(rows); i++)
        if (pdl_str_is(text_at(pdl_list_at(rows, i), "state"), "missing")) return true;
    return false;
}

int pdl_cli_cmd_doctor(const arguments *a) {
    pdl_val rows;
    pdl_buf out = PDL_BUF;
    pdl_err err = {0};
    if (!pdl_doctor(a->given[OPT_net], &rows, &err)) {
        pdl_cli_print_error(&err, NULL);
        pdl_err_fini(&err);
        return 1;
    }
    int code = put_rows(rows, a->given[OPT_json], &out, &err) ? 0 : 1;
    if (code) pdl_cli_print_error(&err, NULL);
    if (!code && pdl_tty_is(1))
        code = fwrite(out.p, 1, out.len, stdout) == out.len ? 0 : pdl_cli_write_failed(errno);
    else if (!code)
        code = pdl_cli_put_stdout(pdl_buf_str(&out));
    if (!code && is_missing(rows)) code = 1;
    pdl_buf_fini(&out);
    pdl_err_fini(&err);
    pdl_drop(rows);
    return code;
}
