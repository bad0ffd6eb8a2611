/* json_rows.c -- writes the rows of commands with --json; see json_rows.h. Programs read these
 * rows, so they have one layout for all commands: one row on a line.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>
#include <stdio.h>

#include "cli/json_rows.h"

#include "base/num.h"
#include "value/json_write.h"

#include "base/banned.h"

void pdl_cli_put_json(pdl_val row, pdl_buf *out) {
    pdl_err ignored = {0};
    int flags = PDL_JSON_SPACED | PDL_JSON_LOOSE | PDL_JSON_NAN_NULL | PDL_JSON_CUT;
    /* A row is made of values that JSON has, so it can always be written. */
    if (!pdl_json_write(row, flags, 0, out, &ignored))
        PDL_BUG("a row cannot be written: %s", ignored.msg);
    pdl_drop(row);
}

void pdl_cli_open_rows(pdl_val head, const char *key, pdl_buf *out) {
    pdl_cli_put_json(pdl_dict_putz(head, key, pdl_list_new(0)), out);
    pdl_buf_cut(out, out->len - 2); /* removes the ends of the empty list and of the object */
}

void pdl_cli_close_rows(pdl_buf *out) { PDL_PUT(out, "]}\n"); }

pdl_val pdl_cli_json_number(double n) {
    char digits[32];
    if (n == floor(n) && fabs(n) < 1e9) return pdl_int((int64_t)n);
    snprintf(digits, sizeof digits, "%.9g", n);
    if (!pdl_num_read_double(pdl_str_of(digits), &n)) n = NAN;
    return pdl_float(n);
}

pdl_val pdl_cli_json_text(const char *text) { return text ? pdl_textz(text) : pdl_null(); }
