/* csv_output.c -- writes the header and the rows of a CSV file. A cell is quoted only when it
 * contains a quote, a separator or a line break.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "batch/output_impl.h"
#include "value/json_read.h"
#include "value/json_write.h"

#include "base/banned.h"

static void put_cell(pdl_str text, char separator, pdl_buf *out) {
    bool quoted = false;
    for (size_t i = 0; i < text.n && !quoted; i++)
        quoted = text.p[i] == separator || pdl_byte_in(text.p[i], PDL_STR("\"\r\n"));
    if (!quoted) {
        pdl_buf_put(out, text);
        return;
    }
    pdl_buf_putc(out, '"');
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '"') pdl_buf_putc(out, '"');
        pdl_buf_putc(out, text.p[i]);
    }
    pdl_buf_putc(out, '"');
}

/* Writes a text unchanged, and every other value as JSON. A missing value and null become an empty
 * cell. */
static bool put_value(pdl_vref v, char separator, pdl_buf *out, pdl_err *err) {
    if (pdl_is_absent(v) || pdl_is_null(v)) return true;
    if (pdl_is_str(v)) {
        put_cell(pdl_str_get(v), separator, out);
        return true;
    }
    pdl_buf text = PDL_BUF;
    bool ok = pdl_json_write(v, PDL_JSON_SPACED | PDL_JSON_NAN, 0, &text, err);
    if (ok) put_cell(pdl_buf_str(&text), separator, out);
    pdl_buf_fini(&text);
    return ok;
}

void pdl_batch_csv_header(const pdl_batch_output *s, pdl_buf *out) {
    for (size_t i = 0; i < s->columns.n; i++) {
        if (i) pdl_buf_putc(out, s->table.separator);
        put_cell(pdl_str_of(s->columns.p[i]), s->table.separator, out);
    }
    pdl_buf_putc(out, '\n');
}

bool pdl_batch_csv_row(const pdl_batch_output *s, pdl_str json, pdl_buf *out, pdl_err *err) {
    pdl_val row;
    size_t start = out->len;
    if (!pdl_json_read(json, PDL_JSON_PYTHON, &row, NULL, err)) return false;
    pdl_vref failed = pdl_dict_getz(row, pdl_batch_own_column(BATCH_ERROR));
    bool ok = true;
    for (size_t i = 0; ok && i < s->columns.n; i++) {
        bool is_result = pdl_batch_output_is_result(s, i);
        pdl_vref v = pdl_dict_getz(row, s->columns.p[i]);
        if (i) pdl_buf_putc(out, s->table.separator);
        if (is_result && pdl_is_null(v) && pdl_is_null(failed))
            PDL_PUT(out, "null"); /* null is a result, while a missing value is an empty cell */
        else
            ok = put_value(v, s->table.separator, out, err);
    }
    pdl_buf_putc(out, '\n');
    if (!ok) pdl_buf_cut(out, start);
    pdl_drop(row);
    return ok;
}
