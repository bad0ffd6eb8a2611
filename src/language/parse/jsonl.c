/* jsonl.c -- one strict JSON document for each line. Rows share their key strings.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cancel.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "parse/readers.h"
#include "value/json_read.h"

#include "base/banned.h"

static bool read_lines(pdl_str text, pdl_json_keys *keys, pdl_val *rows, pdl_err *err) {
    size_t at = 0, n = 0;
    while (at < text.n) {
        const char *p = text.p + at, *lf = memchr(p, '\n', text.n - at);
        pdl_str line = {p, lf ? (size_t)(lf - p) : text.n - at};
        at += line.n + 1;
        n++;
        if (!line.n) continue;
        pdl_val row;
        if (!pdl_check_cancel_at(pdl_list_len(*rows), err)) return false;
        if (!pdl_json_read_with(line, PDL_JSON_PYTHON, keys, &row, NULL, err)) {
            if (pdl_utf8_unmarked(line).n < line.n)
                pdl_err_hint(err, "the text begins with a byte order mark: save it without");
            else
                pdl_err_hint(err, "this is line %zu of the text", n);
            return false;
        }
        *rows = pdl_list_push(*rows, row);
    }
    return true;
}

bool pdl_parse_jsonl(pdl_str text, pdl_val *out, pdl_err *err) {
    pdl_json_keys keys = {0};
    pdl_val rows = pdl_list_new(0);
    bool ok = read_lines(text, &keys, &rows, err);
    pdl_json_keys_fini(&keys);
    if (ok)
        *out = rows;
    else
        pdl_drop(rows);
    return ok;
}
