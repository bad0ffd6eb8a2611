/* json.c -- reads strict JSON first, and uses the repairing reader when that fails. Models also
 * send JSON as the content of a string. When all quotes of a text are escaped, or the first quote
 * of an object or list is escaped, the text loses one level of escapes before it is read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/fence.h"
#include "base/utf8.h"
#include "parse/readers.h"
#include "value/json_read.h"

#include "base/banned.h"

enum { MAX_LEVELS = 3 }; /* maximum depth of JSON inside JSON strings */

/* Returns true for a blank, which may also be written as an escape. */
static bool is_blank(char c, bool escaped) {
    return c && strchr(escaped ? "nrt" : " \n\r\t", c) != NULL;
}

/* Returns true when every quotation mark is escaped and a container begins before the first one.
 * Such a text was the content of a JSON string whose quotes were lost. A mark after several
 * backslashes was escaped several times. After an escaped mark that directly follows the beginning
 * of a container, later marks may be plain: nothing else can be meant there. */
static bool is_escaped(pdl_str text) {
    bool doubles = false, singles = false, plain_singles = false, boxed = false, first = false;
    char before = 0; /* the last byte that is no blank */
    for (size_t i = 0; i < text.n; i++) {
        size_t from = i;
        while (i < text.n && text.p[i] == '\\') i++;
        char c = i < text.n ? text.p[i] : 0;
        if (c == '"' && !doubles) first = i > from && (before == '{' || before == '[');
        if (c == '"' && i == from && !first) return false;
        if (!is_blank(c, i > from)) before = c;
        if (!doubles && !singles) boxed |= c == '{' || c == '[';
        doubles |= c == '"';
        singles |= c == '\'' && i > from;
        plain_singles |= c == '\'' && i == from;
    }
    return boxed && (doubles || (singles && !plain_singles));
}

/* Removes one level of escapes, but not inside of plain quotes. The reader handles escapes of code
 * points. */
static void unescape(pdl_str text, pdl_buf *out) {
    static const char from[] = "\"'\\/bfnrt", to[] = "\"'\\/\b\f\n\r\t";
    bool quoted = false;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '"' && (quoted || i == 0 || text.p[i - 1] != '\\')) quoted = !quoted;
        if (quoted && text.p[i] == '\\' && i + 1 < text.n) {
            pdl_buf_putc(out, text.p[i++]);
            pdl_buf_putc(out, text.p[i]);
            continue;
        }
        const char *known = text.p[i] == '\\' && i + 1 < text.n && text.p[i + 1]
                                ? strchr(from, text.p[i + 1])
                                : NULL;
        pdl_buf_putc(out, known ? to[known - from] : text.p[i]);
        i += known != NULL;
    }
}

/* Reads one level. *n gets the number of values in the list *out. When *n is 1, *out is the value
 * itself. */
static bool read_level(pdl_str text, unsigned level, bool all, size_t *n, pdl_val *out,
                       pdl_err *err) {
    *n = 1;
    if (pdl_json_read(text, PDL_JSON_PYTHON, out, NULL, err)) return true;
    if (err->kind == PDL_E_limit || err->uncatchable) return false;
    pdl_err_fini(err);
    if (level == MAX_LEVELS || !is_escaped(text)) return pdl_repair_text(text, all, n, out, err);
    pdl_buf plain = PDL_BUF;
    unescape(text, &plain);
    bool ok = read_level(pdl_buf_str(&plain), level + 1, all, n, out, err);
    pdl_buf_fini(&plain);
    return ok;
}

bool pdl_json_repair(pdl_str text, pdl_val *out, pdl_err *err) {
    size_t n;
    return read_level(pdl_utf8_unmarked(text), 0, false, &n, out, err);
}

/* --- the values of a text --------------------------------------------------------------------- */

/* Returns the part after the thoughts of the model, or the whole text when there are none. */
static pdl_str without_thoughts(pdl_str text) {
    pdl_str end = PDL_STR("</think>");
    size_t from = 0, at;
    while ((at = pdl_str_find(text, end, from)) != PDL_NOT_FOUND) from = at + end.n;
    return pdl_str_sub(text, from, text.n);
}

static bool is_box(pdl_vref v) { return pdl_is_dict(v) || pdl_is_list(v); }

/* Adds the objects and lists of a text to *list. When the text is a JSON string, which is shorter
 * than its text, they are those of the string. */
static bool add_boxes(pdl_str text, pdl_val *list, pdl_err *err) {
    size_t n;
    pdl_val v;
    bool ok = true;
    if (!read_level(text, 0, true, &n, &v, err)) return false;
    if (n > 1)
        *list = pdl_list_concat(*list, v);
    else if (is_box(v))
        *list = pdl_list_push(*list, pdl_keep(v));
    else if (pdl_is_str(v) && !pdl_text_is(v, ""))
        ok = add_boxes(pdl_str_get(v), list, err);
    pdl_drop(v);
    return ok;
}

/* Adds the texts, numbers and words in fences. */
static void add_fenced(pdl_str text, pdl_val *list) {
    size_t at = 0;
    pdl_str body;
    while (pdl_fence_next(text, &at, &body)) {
        pdl_val v;
        pdl_err err = {0};
        if (pdl_json_read(body, PDL_JSON_PYTHON, &v, NULL, &err)) *list = pdl_list_push(*list, v);
        pdl_err_fini(&err);
    }
}

bool pdl_json_values(pdl_str text, pdl_val *out, pdl_err *err) {
    pdl_str answer = without_thoughts(pdl_utf8_unmarked(text));
    *out = pdl_list_new(4);
    bool ok = add_boxes(answer, out, err);
    if (ok && !pdl_list_len(*out)) add_fenced(answer, out);
    if (ok && !pdl_list_len(*out) && answer.n < text.n) ok = add_boxes(text, out, err);
    if (!ok) pdl_drop(*out);
    return ok;
}

bool pdl_parse_json(pdl_str text, pdl_val *out, pdl_err *err) {
    /* Models also write the words that Python has. Such a word is accepted when nothing is around
     * it. */
    text = pdl_utf8_unmarked(text);
    if (pdl_str_is(text, "True") || pdl_str_is(text, "False")) {
        *out = pdl_bool(text.n == 4);
        return true;
    }
    return pdl_json_repair(text, out, err);
}
