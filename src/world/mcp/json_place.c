/* json_place.c -- walks through the text of a JSON document without reading values; see
 * json_place.h. The text is known to be valid JSON, so only brackets and quotes matter.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mcp/json_place.h"

#include "base/num.h"
#include "value/json_read.h"

#include "base/banned.h"

static size_t skip_blanks(pdl_str t, size_t at) {
    while (at < t.n && pdl_byte_in(t.p[at], PDL_STR(" \t\r\n,:"))) at++;
    return at;
}

/* Returns the offset after the string that begins at `at`. */
static size_t skip_string(pdl_str t, size_t at) {
    for (at++; at < t.n && t.p[at] != '"'; at++)
        if (t.p[at] == '\\') at++;
    return at < t.n ? at + 1 : t.n;
}

/* Returns the offset after the value that begins at `at`. */
static size_t skip_value(pdl_str t, size_t at) {
    size_t depth = 0;
    while (at < t.n) {
        char c = t.p[at];
        if (c == '"') {
            at = skip_string(t, at);
        } else if (c == '{' || c == '[') {
            depth++;
            at++;
        } else if (c == '}' || c == ']') {
            if (!depth) return at; /* a number or a word ends at the bracket around it */
            depth--;
            at++;
        } else if (depth || !pdl_byte_in(c, PDL_STR(" \t\r\n,"))) {
            at++;
            continue;
        }
        if (!depth) return at;
    }
    return at;
}

static bool is_key(pdl_str quoted, pdl_str key) {
    pdl_val v;
    pdl_err err = {0};
    pdl_str plain = pdl_str_sub(quoted, 1, quoted.n - 1);
    if (pdl_str_find(plain, PDL_STR("\\"), 0) == PDL_NOT_FOUND) return pdl_str_eq(plain, key);
    if (!pdl_json_read(quoted, 0, &v, NULL, &err)) {
        pdl_err_fini(&err);
        return false;
    }
    bool same = pdl_is_str(v) && pdl_str_eq(pdl_str_get(v), key);
    pdl_drop(v);
    return same;
}

/* An object or an array begins at `at`. Returns the offset of its value for this key or index;
 * PDL_NOT_FOUND when there is no such value. When a key occurs several times, the last one
 * counts. */
static size_t step(pdl_str t, size_t at, pdl_str key) {
    int64_t number = -1;
    bool object = t.p[at] == '{';
    size_t found = PDL_NOT_FOUND;
    if (!object && (t.p[at] != '[' || !pdl_num_read_int(key, &number))) return found;
    at = skip_blanks(t, at + 1);
    for (int64_t i = 0; at < t.n && t.p[at] != '}' && t.p[at] != ']'; i++) {
        size_t end = object ? skip_string(t, at) : at, value = skip_blanks(t, end);
        if (value >= t.n) break;
        if (object ? is_key(pdl_str_sub(t, at, end), key) : i == number) found = value;
        at = skip_blanks(t, skip_value(t, value));
    }
    return found;
}

size_t pdl_mcp_json_place(pdl_str text, const pdl_str *path, size_t n) {
    size_t at = skip_blanks(text, 0);
    for (size_t i = 0, next; i < n && at < text.n; i++, at = next) {
        next = step(text, at, path[i]);
        if (next == PDL_NOT_FOUND) break;
    }
    return at;
}

/* Returns true when the key that is written from `at` to `end` is already in `before`; otherwise
 * adds the key to `before`. */
static bool is_repeated(pdl_str t, size_t at, size_t end, pdl_val *before,
                        pdl_mcp_json_repeat *out) {
    pdl_val key;
    pdl_err err = {0};
    pdl_str quoted = pdl_str_sub(t, at, end);
    if (!pdl_json_read(quoted, 0, &key, NULL, &err)) {
        pdl_err_fini(&err);
        return false;
    }
    pdl_vref first = pdl_dict_find(*before, key);
    if (pdl_is_absent(first)) {
        *before = pdl_dict_put(*before, key, pdl_int((int64_t)at));
        return false;
    }
    *out = (pdl_mcp_json_repeat){quoted, (size_t)pdl_int_of(first), at};
    pdl_drop(key);
    return true;
}

bool pdl_mcp_json_repeats(pdl_str t, size_t at, unsigned deep, pdl_str only,
                          pdl_mcp_json_repeat *out) {
    bool object = at < t.n && t.p[at] == '{', found = false;
    if (!object && (at >= t.n || t.p[at] != '[')) return false;
    pdl_val before = pdl_dict_new(0);
    at = skip_blanks(t, at + 1);
    while (!found && at < t.n && t.p[at] != '}' && t.p[at] != ']') {
        size_t end = object ? skip_string(t, at) : at, value = skip_blanks(t, end);
        if (value >= t.n) break;
        bool counts = object && (!only.n || pdl_str_eq(pdl_str_sub(t, at, end), only));
        found = (counts && is_repeated(t, at, end, &before, out)) ||
                (deep && pdl_mcp_json_repeats(t, value, deep - 1, only, out));
        at = skip_blanks(t, skip_value(t, value));
    }
    pdl_drop(before);
    return found;
}

void pdl_mcp_json_line(pdl_str text, size_t off, unsigned *line, unsigned *column) {
    *line = *column = 1;
    for (size_t i = 0; i < off && i < text.n; i++) {
        if (text.p[i] == '\n') {
            ++*line;
            *column = 1;
        } else if (((unsigned char)text.p[i] & 0xC0) != 0x80) {
            ++*column;
        }
    }
}
