/* yaml_write.c -- see yaml.h: writes values as YAML in block style. A string is written as a plain
 * scalar only where it is read back as the same string.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>
#include <string.h>

#include "base/limits.h"
#include "base/num.h"
#include "base/utf8.h"
#include "value/context.h"
#include "value/int.h"
#include "value/pyvalues.h"
#include "value/text.h"
#include "yaml/resolve.h"
#include "yaml/yaml.h"

#include "base/banned.h"

/* The beginning of the line, which decides where content may start. */
typedef enum { AT_ROOT, AFTER_KEY, AFTER_DASH } spot;

typedef struct writer {
    pdl_buf *out;
    unsigned depth;
    size_t start;    /* where the value begins in out */
    size_t check_at; /* when out is longer than this, check_room is called */
} writer;

static void pad(writer *w, size_t n) {
    for (size_t i = 0; i < n; i++) pdl_buf_putc(w->out, ' ');
}

/* --- strings --- */

/* Returns true when the character must be escaped, because not every reader accepts it as it is. */
static bool special(uint32_t cp) {
    return (cp < 0x20 && cp != '\t' && cp != '\n') || cp == 0x7f || (cp >= 0x80 && cp < 0xa0) ||
           cp == 0x2028 || cp == 0x2029 || cp == 0xfeff || cp == 0xfffe || cp == 0xffff;
}

static bool has_special(pdl_str s) {
    for (const char *p = s.p, *end = s.p + s.n; p < end;)
        if (special(pdl_utf8_next(&p))) return true;
    return false;
}

static bool plain_ok(pdl_str s) {
    if (!s.n || pdl_ytag_of_plain(s) != PDL_YTAG_str) return false;
    if (strchr("!&*{}[],#|>@`\"'%?:-= \t~<", s.p[0])) {
        bool dash = (s.p[0] == '-' || s.p[0] == '?' || s.p[0] == ':') && s.n > 1 &&
                    !strchr(" \t,[]{}", s.p[1]);
        if (!dash && s.p[0] != '<' && s.p[0] != '~' && s.p[0] != '=') return false;
    }
    if (pdl_str_starts(s, PDL_STR("---")) || pdl_str_starts(s, PDL_STR("..."))) return false;
    if (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == ':') return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '\n' || c == '\t' || (c == ':' && s.p[i + 1] == ' ') ||
            (c == '#' && i && s.p[i - 1] == ' '))
            return false;
    }
    return true;
}

/* Returns true when a text without special characters is written as a literal block: it has a line
 * end and a line with content. */
static bool literal_ok(pdl_str s) {
    size_t i = 0;
    if (!s.n || !memchr(s.p, '\n', s.n)) return false;
    while (i < s.n && s.p[i] == '\n') i++;
    return i < s.n;
}

static void put_double(writer *w, pdl_str s) {
    pdl_buf_putc(w->out, '"');
    for (const char *p = s.p, *end = s.p + s.n; p < end;) {
        const char *from = p;
        uint32_t cp = pdl_utf8_next(&p);
        if (cp == '"' || cp == '\\')
            pdl_buf_putf(w->out, "\\%c", (char)cp);
        else if (cp == '\n')
            PDL_PUT(w->out, "\\n");
        else if (cp == '\t')
            PDL_PUT(w->out, "\\t");
        else if (cp == '\r')
            PDL_PUT(w->out, "\\r");
        else if (special(cp))
            pdl_buf_putf(w->out, cp < 0x100 ? "\\x%02X" : "\\u%04X", (unsigned)cp);
        else
            pdl_buf_put(w->out, (pdl_str){from, (size_t)(p - from)});
    }
    pdl_buf_putc(w->out, '"');
}

static void put_single(writer *w, pdl_str s) {
    pdl_buf_putc(w->out, '\'');
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\'') pdl_buf_putc(w->out, '\'');
        pdl_buf_putc(w->out, s.p[i]);
    }
    pdl_buf_putc(w->out, '\'');
}

static void put_literal(writer *w, pdl_str s, size_t indent) {
    size_t first = 0, tail = 0;
    while (s.p[first] == '\n') first++;
    while (tail < s.n && s.p[s.n - 1 - tail] == '\n') tail++;
    pdl_buf_putc(w->out, '|');
    if (s.p[first] == ' ' || first)
        /* the first line is empty or begins with a blank, so the header states the indentation */
        pdl_buf_putc(w->out, '2');
    if (tail != 1) pdl_buf_putc(w->out, tail ? '+' : '-');
    for (size_t from = 0; from < s.n;) {
        size_t to = pdl_str_find(s, PDL_STR("\n"), from);
        if (to == PDL_NOT_FOUND) to = s.n;
        pdl_buf_putc(w->out, '\n');
        if (to > from) pad(w, indent);
        pdl_buf_put(w->out, pdl_str_sub(s, from, to));
        from = to + 1;
    }
}

static void put_text(writer *w, pdl_str s, size_t indent, bool key) {
    bool odd = has_special(s);
    if (odd)
        put_double(w, s);
    else if (!key && literal_ok(s))
        put_literal(w, s, indent);
    else if (plain_ok(s))
        pdl_buf_put(w->out, s);
    else if (s.n && (memchr(s.p, '\n', s.n) || memchr(s.p, '\t', s.n)))
        put_double(w, s);
    else
        put_single(w, s);
}

/* --- other scalars --- */

static void put_float(writer *w, double d) {
    char text[PDL_NUM_MAX];
    if (isnan(d)) {
        PDL_PUT(w->out, ".nan");
    } else if (isinf(d)) {
        pdl_buf_put(w->out, d < 0 ? PDL_STR("-.inf") : PDL_STR(".inf"));
    } else {
        size_t n = pdl_num_double(d, text), e = 0;
        while (e < n && text[e] != 'e') e++;
        pdl_buf_put(w->out, (pdl_str){text, e});
        if (e < n && !memchr(text, '.', e)) PDL_PUT(w->out, ".0"); /* 1e+20 would be a string */
        pdl_buf_put(w->out, (pdl_str){text + e, n - e});
    }
}

static void put_base64(writer *w, pdl_str s) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    PDL_PUT(w->out, "!!binary \"");
    for (size_t i = 0; i < s.n; i += 3) {
        unsigned v = (unsigned)(unsigned char)s.p[i] << 16;
        if (i + 1 < s.n) v |= (unsigned)(unsigned char)s.p[i + 1] << 8;
        if (i + 2 < s.n) v |= (unsigned char)s.p[i + 2];
        pdl_buf_putc(w->out, digits[v >> 18]);
        pdl_buf_putc(w->out, digits[v >> 12 & 63]);
        pdl_buf_putc(w->out, i + 1 < s.n ? digits[v >> 6 & 63] : '=');
        pdl_buf_putc(w->out, i + 2 < s.n ? digits[v & 63] : '=');
    }
    pdl_buf_putc(w->out, '"');
}

/* Writes everything that is not a collection of YAML. */
static bool put_scalar(writer *w, pdl_vref v, size_t indent, bool key, pdl_err *err) {
    pdl_tag t = pdl_tag_of(v);
    if (t == PDL_V_NULL || t == PDL_V_ABSENT)
        PDL_PUT(w->out, "null");
    else if (t == PDL_V_BOOL)
        pdl_buf_put(w->out, pdl_bool_of(v) ? PDL_STR("true") : PDL_STR("false"));
    else if (t == PDL_V_INT || t == PDL_V_BIGINT)
        pdl_int_write(v, 10, w->out);
    else if (t == PDL_V_FLOAT)
        put_float(w, pdl_float_of(v));
    else if (t == PDL_V_STR)
        put_text(w, pdl_str_get(v), indent, key);
    else if (t == PDL_V_BYTES)
        put_base64(w, pdl_bytes_get(v));
    else if (t == PDL_V_DATE || t == PDL_V_DATETIME)
        pdl_time_iso(v, ' ', w->out);
    else {
        pdl_buf b = PDL_BUF;
        bool ok = pdl_val_str(v, &b, err);
        if (ok) put_text(w, pdl_buf_str(&b), indent, key);
        pdl_buf_fini(&b);
        return ok;
    }
    return true;
}

/* --- collections --- */

static bool put(writer *w, pdl_vref v, size_t indent, spot at, pdl_err *err);

static void new_item(writer *w, size_t indent, spot at, bool first) {
    if (first && at == AFTER_DASH) return; /* the compact form: "- - a" or "- k: v" */
    if (!first || at == AFTER_KEY) pdl_buf_putc(w->out, '\n');
    pad(w, indent);
}

static bool put_seq(writer *w, pdl_vref list, size_t indent, spot at, pdl_err *err) {
    for (size_t i = 0; i < pdl_list_len(list); i++) {
        new_item(w, indent, at, i == 0);
        PDL_PUT(w->out, "- ");
        if (!put(w, pdl_list_at(list, i), indent + 2, AFTER_DASH, err)) return false;
    }
    return true;
}

/* Writes a key. A key of more than 128 bytes gets the explicit form, because readers search only
 * 1024 characters for the colon. */
static bool put_key(writer *w, pdl_vref key, size_t indent, bool *is_explicit, pdl_err *err) {
    pdl_buf line = PDL_BUF;
    writer kw = {.out = &line, .depth = w->depth};
    if (!put_scalar(&kw, key, indent, true, err)) {
        pdl_buf_fini(&line);
        return false;
    }
    *is_explicit = line.len > 128;
    if (*is_explicit) PDL_PUT(w->out, "? ");
    pdl_buf_put(w->out, pdl_buf_str(&line));
    pdl_buf_fini(&line);
    if (*is_explicit) {
        pdl_buf_putc(w->out, '\n');
        pad(w, indent);
    }
    PDL_PUT(w->out, ":");
    return true;
}

static bool put_map(writer *w, pdl_vref d, bool set, size_t indent, spot at, pdl_err *err) {
    for (size_t i = 0; i < pdl_dict_len(d); i++) {
        pdl_vref x = pdl_dict_val_at(d, i);
        bool collection =
                 (pdl_is_list(x) && pdl_list_len(x)) || (pdl_is_dict(x) && pdl_dict_len(x)),
             is_explicit;
        new_item(w, indent, at, i == 0);
        if (!put_key(w, pdl_dict_key_at(d, i), indent, &is_explicit, err)) return false;
        if (set) {
            PDL_PUT(w->out, " null");
            continue;
        }
        if (!collection) pdl_buf_putc(w->out, ' ');
        /* A list under a key is written at the key's own column, as the reference writes it. */
        if (!put(w, x, pdl_is_list(x) ? indent : indent + 2, AFTER_KEY, err)) return false;
    }
    return true;
}

static bool put_listed(writer *w, pdl_val list, size_t indent, spot at, pdl_err *err) {
    bool ok = put(w, list, indent, at, err);
    pdl_drop(list);
    return ok;
}

static bool put_any(writer *w, pdl_vref v, size_t indent, spot at, pdl_err *err) {
    pdl_tag t = pdl_tag_of(v);
    if (t == PDL_V_LIST || t == PDL_V_TUPLE) {
        if (pdl_list_len(v)) return put_seq(w, v, indent, at, err);
        PDL_PUT(w->out, "[]");
        return true;
    }
    if (t == PDL_V_DICT) {
        if (pdl_dict_len(v)) return put_map(w, v, false, indent, at, err);
        PDL_PUT(w->out, "{}");
        return true;
    }
    if (t == PDL_V_SET) {
        bool any = pdl_dict_len(pdl_set_dict(v)) > 0;
        pdl_buf_put(w->out, any ? PDL_STR("!!set") : PDL_STR("!!set {}"));
        if (!any) return true;
        if (at == AFTER_KEY) return put_map(w, pdl_set_dict(v), true, indent, AFTER_KEY, err);
        pdl_buf_putc(w->out, '\n');
        return put_map(w, pdl_set_dict(v), true, indent, AT_ROOT, err);
    }
    if (t == PDL_V_CONTEXT) return put_listed(w, pdl_context_to_list(v), indent, at, err);
    if (t == PDL_V_RANGE || t == PDL_V_VIEW) {
        pdl_val list;
        return pdl_val_to_list(v, &list, err) && put_listed(w, list, indent, at, err);
    }
    return put_scalar(w, v, indent, false, err);
}

PDL_COLD static bool check_room(writer *w, pdl_err *err) {
    if (w->out->len - w->start > PDL_MAX_TEXT)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "text is longer than %zu bytes",
                           PDL_MAX_TEXT);
    w->check_at = w->out->len + PDL_BUF_CHECK_EVERY;
    return pdl_buf_check(w->out, err);
}

static bool put(writer *w, pdl_vref v, size_t indent, spot at, pdl_err *err) {
    if (w->depth >= PDL_MAX_YAML_DEPTH)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "value is nested deeper than %d levels",
                           (int)PDL_MAX_YAML_DEPTH);
    if (PDL_UNLIKELY(w->out->len > w->check_at) && !check_room(w, err)) return false;
    w->depth++;
    bool ok = put_any(w, v, indent, at, err);
    w->depth--;
    return ok;
}

bool pdl_yaml_write(pdl_vref v, pdl_buf *out, pdl_err *err) {
    writer w = {.out = out, .start = out->len, .check_at = out->len + PDL_BUF_CHECK_EVERY};
    if (!put(&w, v, pdl_is_str(v) ? 2 : 0, AT_ROOT, err)) return false;
    /* the last line end is missing even after the empty lines of a `|+` */
    pdl_buf_putc(out, '\n');
    return true;
}
