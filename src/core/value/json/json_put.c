/* json_put.c -- writes JSON member by member; see json_put.h.
 *
 * Each function finds out from the last byte of the text whether a comma is needed, so the caller
 * keeps no state between two members.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/json_put.h"

#include "base/num.h"
#include "value/json_write.h"

#include "base/banned.h"

static void put_comma(pdl_buf *out) {
    char last = out->len ? out->p[out->len - 1] : '{';
    if (last != '{' && last != '[' && last != ':') pdl_buf_putc(out, ',');
}

void pdl_json_open(pdl_buf *out, char bracket) {
    put_comma(out);
    pdl_buf_putc(out, bracket);
}

void pdl_json_put_key(pdl_buf *out, const char *name) {
    put_comma(out);
    pdl_json_quote(pdl_str_of(name), 0, out);
    pdl_buf_putc(out, ':');
}

void pdl_json_put_text(pdl_buf *out, const char *name, pdl_str text) {
    pdl_json_put_key(out, name);
    pdl_json_quote(text, 0, out);
}

void pdl_json_put_int(pdl_buf *out, const char *name, int64_t n) {
    char digits[PDL_NUM_MAX];
    size_t length = pdl_num_int(n, digits);
    pdl_json_put_key(out, name);
    pdl_buf_put(out, (pdl_str){digits, length});
}

void pdl_json_put_bool(pdl_buf *out, const char *name, bool value) {
    pdl_json_put_key(out, name);
    pdl_buf_put(out, value ? PDL_STR("true") : PDL_STR("false"));
}

void pdl_json_put_hex(pdl_buf *out, const char *name, pdl_str bytes) {
    static const char digits[] = "0123456789abcdef";
    pdl_json_put_key(out, name);
    pdl_buf_putc(out, '"');
    for (size_t i = 0; i < bytes.n; i++) {
        unsigned char c = (unsigned char)bytes.p[i];
        pdl_buf_putc(out, digits[c >> 4]);
        pdl_buf_putc(out, digits[c & 15]);
    }
    pdl_buf_putc(out, '"');
}

void pdl_json_put_value(pdl_buf *out, const char *name, pdl_vref v) {
    pdl_err ignored = {0};
    pdl_json_put_key(out, name);
    size_t from = out->len;
    if (pdl_json_write(v, PDL_JSON_LOOSE, 0, out, &ignored)) return;
    pdl_err_fini(&ignored);
    pdl_buf_cut(out, from);
    pdl_buf_put(out, PDL_STR("null"));
}

void pdl_json_add_text(pdl_buf *out, pdl_str text) {
    put_comma(out);
    pdl_json_quote(text, 0, out);
}

void pdl_json_open_kind(pdl_buf *out, const char *kind) {
    pdl_buf_putc(out, '{');
    pdl_json_put_text(out, "$pdl", pdl_str_of(kind));
}
