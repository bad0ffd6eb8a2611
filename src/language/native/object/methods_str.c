/* methods_str.c -- the table of Python's methods of text, and the methods that are not in
 * methods_split.c and methods_class.c. Safe text stays safe where markupsafe keeps it safe. Text
 * that is added to safe text is escaped.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "native/natives.h"
#include "value/int.h"
#include "value/pyvalues.h"
#include "value/text.h"

#include "base/banned.h"

static pdl_str self_of(const pdl_val *argv) { return pdl_str_get(argv[0]); }

static bool need_str(pdl_vref v, const char *what, pdl_err *err) {
    /* A message that names the argument comes from another part of Python, which calls the type of
     * None "None". */
    const char *type = pdl_is_null(v) && *what ? "None" : pdl_py_type(v);
    return pdl_is_str(v) || pdl_err_host(err, "TypeError", "%smust be str, not %s", what, type);
}

/* --- case ------------------------------------------------------------------------------------- */

typedef void recase_fn(pdl_buf *out, pdl_str s);

static bool recased(pdl_vref v, recase_fn *fn, pdl_val *out, pdl_err *err) {
    pdl_buf b = PDL_BUF;
    fn(&b, pdl_str_get(v));
    return pdl_text_like(&b, v, out, err);
}

static bool m_capitalize(PDL_ARGS) { return recased(argv[0], pdl_utf8_capitalize, out, err); }
static bool m_casefold(PDL_ARGS) { return recased(argv[0], pdl_utf8_casefold, out, err); }
static bool m_lower(PDL_ARGS) { return recased(argv[0], pdl_utf8_lower, out, err); }
static bool m_swapcase(PDL_ARGS) { return recased(argv[0], pdl_utf8_swapcase, out, err); }
static bool m_title(PDL_ARGS) { return recased(argv[0], pdl_utf8_title, out, err); }
static bool m_upper(PDL_ARGS) { return recased(argv[0], pdl_utf8_upper, out, err); }

/* --- searching -------------------------------------------------------------------------------- */

/* The part of a text that `start` and `end` select. They count code points, as in a slice. */
typedef struct {
    pdl_str s;
    size_t first; /* the number of code points before the part */
    bool ascii;
    bool outside; /* start is after the end, so that even the empty text is not found */
} window;

static bool bound(pdl_vref v, int64_t n, int64_t dflt, int64_t *out, pdl_err *err) {
    *out = dflt;
    if (!pdl_given(v)) return true;
    if (!pdl_is_int(v) && !pdl_is_bool(v))
        return pdl_err_host(err, "TypeError",
                            "slice indices must be integers or None or have an __index__ method");
    if (!pdl_arg_int(v, out, err)) return false;
    if (*out < 0) *out = *out < -n ? 0 : *out + n;
    return true;
}

static bool window_of(pdl_vref v, pdl_vref start, pdl_vref end, window *w, pdl_err *err) {
    int64_t n = (int64_t)pdl_text_len_cp(v), from, to;
    if (!bound(start, n, 0, &from, err) || !bound(end, n, n, &to, err)) return false;
    if (to > n) to = n;
    pdl_str s = pdl_str_get(v);
    *w = (window){.ascii = pdl_is_ascii(v), .first = (size_t)from, .outside = from > to};
    if (w->outside) {
        w->s = (pdl_str){s.p, 0};
        return true;
    }
    size_t a = w->ascii ? (size_t)from : pdl_utf8_offset(s, (size_t)from);
    size_t b = w->ascii ? (size_t)to : pdl_utf8_offset(s, (size_t)to);
    w->s = pdl_str_sub(s, a, b);
    return true;
}

/* Finds where argv[1] is in the text. *at is the index in code points of the whole text, or -1. */
static bool find(const pdl_val *argv, bool last, int64_t *at, pdl_err *err) {
    window w;
    if (!window_of(argv[0], argv[2], argv[3], &w, err) || !need_str(argv[1], "", err)) return false;
    pdl_str sub = pdl_str_get(argv[1]);
    size_t hit = w.outside ? PDL_NOT_FOUND
                 : last    ? pdl_str_rfind(w.s, sub)
                           : pdl_str_find_walk(w.s, sub, 0);
    *at = -1;
    if (hit == PDL_NOT_FOUND) return true;
    size_t before = w.ascii ? hit : pdl_utf8_count(pdl_str_sub(w.s, 0, hit));
    *at = (int64_t)(w.first + before);
    return true;
}

static bool find_index(const pdl_val *argv, bool last, bool must, pdl_val *out, pdl_err *err) {
    int64_t at;
    if (!find(argv, last, &at, err)) return false;
    if (must && at < 0) return pdl_err_host(err, "ValueError", "substring not found");
    *out = pdl_int(at);
    return true;
}

static bool m_find(PDL_ARGS) { return find_index(argv, false, false, out, err); }
static bool m_rfind(PDL_ARGS) { return find_index(argv, true, false, out, err); }
static bool m_index(PDL_ARGS) { return find_index(argv, false, true, out, err); }
static bool m_rindex(PDL_ARGS) { return find_index(argv, true, true, out, err); }

static bool m_count(PDL_ARGS) {
    window w;
    if (!window_of(argv[0], argv[2], argv[3], &w, err) || !need_str(argv[1], "", err)) return false;
    pdl_str sub = pdl_str_get(argv[1]);
    int64_t n = 0;
    if (w.outside)
        n = 0;
    else if (sub.n == 0)
        n = (int64_t)pdl_utf8_count(w.s) + 1;
    else
        for (size_t at = 0; (at = pdl_str_find_walk(w.s, sub, at)) != PDL_NOT_FOUND; at += sub.n)
            if (!pdl_walk_may_continue_at((size_t)++n)) break;
    *out = pdl_int(n);
    return true;
}

/* Stores in *out whether the text begins or ends with argv[1], or with a text of the tuple
 * argv[1]. */
static bool has_affix(const pdl_val *argv, const char *name, bool (*test)(pdl_str, pdl_str),
                      pdl_val *out, pdl_err *err) {
    window w;
    if (!window_of(argv[0], argv[2], argv[3], &w, err)) return false;
    bool many = pdl_is(argv[1], PDL_V_TUPLE), yes = false;
    size_t n = many ? pdl_list_len(argv[1]) : 1;
    for (size_t i = 0; i < n && !yes; i++) {
        pdl_vref x = many ? pdl_list_at(argv[1], i) : argv[1];
        if (!pdl_is_str(x) && many)
            return pdl_err_host(err, "TypeError", "tuple for %s must only contain str, not %s",
                                name, pdl_py_type(x));
        if (!pdl_is_str(x))
            return pdl_err_host(err, "TypeError",
                                "%s first arg must be str or a tuple of str, not %s", name,
                                pdl_py_type(x));
        yes = !w.outside && test(w.s, pdl_str_get(x));
    }
    *out = pdl_bool(yes);
    return true;
}

static bool m_startswith(PDL_ARGS) {
    return has_affix(argv, "startswith", pdl_str_starts, out, err);
}
static bool m_endswith(PDL_ARGS) { return has_affix(argv, "endswith", pdl_str_ends, out, err); }

/* --- changing --------------------------------------------------------------------------------- */

static bool m_removeprefix(PDL_ARGS) {
    if (!need_str(argv[1], "removeprefix() argument ", err)) return false;
    pdl_str s = self_of(argv), x = pdl_str_get(argv[1]);
    *out = pdl_piece_like(pdl_str_starts(s, x) ? pdl_str_sub(s, x.n, s.n) : s, argv[0]);
    return true;
}

static bool m_removesuffix(PDL_ARGS) {
    if (!need_str(argv[1], "removesuffix() argument ", err)) return false;
    pdl_str s = self_of(argv), x = pdl_str_get(argv[1]);
    *out = pdl_piece_like(pdl_str_ends(s, x) ? pdl_str_sub(s, 0, s.n - x.n) : s, argv[0]);
    return true;
}

static bool m_replace(PDL_ARGS) {
    int64_t count = -1;
    bool safe = pdl_is_safe(argv[0]);
    if (!need_str(argv[1], "replace() argument 1 ", err) ||
        (!safe && !need_str(argv[2], "replace() argument 2 ", err)) ||
        !pdl_arg_size(argv[3], &count, err))
        return false;
    pdl_val with;
    if (!safe)
        with = pdl_keep(argv[2]);
    else if (!pdl_escape_html(argv[2], &with, err))
        return false;
    pdl_buf b = PDL_BUF_INIT(PDL_MAX_TEXT);
    bool ok =
        pdl_replace_text(self_of(argv), pdl_str_get(argv[1]), pdl_str_get(with), count, &b, err) &&
        pdl_text_like(&b, argv[0], out, err);
    pdl_buf_fini(&b);
    pdl_drop(with);
    return ok;
}

/* Reads the fill character of ljust, rjust and center. */
static bool fill_of(pdl_vref v, pdl_str *out, pdl_err *err) {
    *out = PDL_STR(" ");
    if (pdl_is_absent(v)) return true;
    if (!pdl_is_str(v))
        return pdl_err_host(err, "TypeError",
                            "The fill character must be a unicode character, not %s",
                            pdl_py_type(v));
    *out = pdl_str_get(v);
    return pdl_text_len_cp(v) == 1 ||
           pdl_err_host(err, "TypeError", "The fill character must be exactly one character long");
}

typedef enum { AT_LEFT, AT_RIGHT, AT_CENTER } side;

static bool justify_with(const pdl_val *argv, pdl_vref filler, side where, pdl_val *out,
                         pdl_err *err) {
    int64_t width = 0;
    pdl_str fill;
    if (!pdl_arg_size(argv[1], &width, err) || !fill_of(filler, &fill, err)) return false;
    int64_t n = (int64_t)pdl_text_len_cp(argv[0]), pad = width > n ? width - n : 0;
    int64_t left = where == AT_LEFT ? 0 : where == AT_RIGHT ? pad : pad / 2 + (pad & width & 1);
    pdl_buf b = PDL_BUF;
    bool ok = pdl_pad_text(&b, self_of(argv), (size_t)left, (size_t)(pad - left), fill, err) &&
              pdl_text_like(&b, argv[0], out, err);
    pdl_buf_fini(&b);
    return ok;
}

/* Justifies text. For safe text, the fill character is escaped. */
static bool justify(const pdl_val *argv, side where, pdl_val *out, pdl_err *err) {
    if (!pdl_is_safe(argv[0]) || pdl_is_absent(argv[2]))
        return justify_with(argv, argv[2], where, out, err);
    pdl_val filler;
    if (!pdl_escape_html(argv[2], &filler, err)) return false;
    bool ok = justify_with(argv, filler, where, out, err);
    pdl_drop(filler);
    return ok;
}

static bool m_ljust(PDL_ARGS) { return justify(argv, AT_LEFT, out, err); }
static bool m_rjust(PDL_ARGS) { return justify(argv, AT_RIGHT, out, err); }
static bool m_center(PDL_ARGS) { return justify(argv, AT_CENTER, out, err); }

static bool m_zfill(PDL_ARGS) {
    int64_t width = 0;
    if (!pdl_arg_size(argv[1], &width, err)) return false;
    int64_t n = (int64_t)pdl_text_len_cp(argv[0]), pad = width > n ? width - n : 0;
    pdl_str s = self_of(argv);
    size_t sign = s.n && (s.p[0] == '-' || s.p[0] == '+') ? 1 : 0;
    pdl_buf b = PDL_BUF;
    pdl_buf_put(&b, pdl_str_sub(s, 0, sign));
    bool ok = pdl_pad_text(&b, pdl_str_sub(s, sign, s.n), (size_t)pad, 0, PDL_STR("0"), err) &&
              pdl_text_like(&b, argv[0], out, err);
    pdl_buf_fini(&b);
    return ok;
}

static bool m_expandtabs(PDL_ARGS) {
    int64_t size = 8, column = 0;
    if (!pdl_arg_c_int(argv[1], &size, err)) return false;
    pdl_str s = self_of(argv);
    pdl_buf b = PDL_BUF_INIT(PDL_MAX_TEXT);
    for (size_t i = 0; i < s.n && pdl_walk_may_continue_at(i); i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c != '\t') {
            if ((c & 0xc0) != 0x80) column = c == '\n' || c == '\r' ? 0 : column + 1;
            if (pdl_buf_add(&b, pdl_str_sub(s, i, i + 1), err)) continue;
            pdl_buf_fini(&b);
            return false;
        }
        if (size <= 0) continue;
        int64_t pad = size - column % size;
        column += pad;
        if (pdl_buf_fill(&b, PDL_STR(" "), (size_t)pad, err)) continue;
        pdl_buf_fini(&b);
        return false;
    }
    return pdl_text_like(&b, argv[0], out, err);
}

/* Appends the table's value `to` (text, number or null) in place of the code point `one`. Appends
 * `one` when `to` is absent. */
static bool put_translated(pdl_str one, pdl_vref to, pdl_buf *b, pdl_err *err) {
    int64_t cp;
    if (pdl_is_absent(to)) return pdl_buf_add(b, one, err);
    if (pdl_is_null(to)) return true;
    if (pdl_is_str(to)) return pdl_buf_add(b, pdl_str_get(to), err);
    if (!pdl_is_int(to))
        return pdl_err_host(err, "TypeError", "character mapping must return integer, None or str");
    if (!pdl_int_get(to, &cp) || cp < 0 || cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000))
        return pdl_err_host(err, "ValueError", "character mapping must be in range(0x110000)");
    char t[4];
    return pdl_buf_add(b, (pdl_str){t, pdl_utf8_put((uint32_t)cp, t)}, err);
}

/* Returns the entry of a table: of a dict by its key, or of a sequence by its index. Returns absent
 * for a missing entry. Owned. */
static pdl_val entry_of(pdl_vref table, uint32_t cp) {
    if (pdl_is_dict(table)) {
        pdl_vref v = pdl_dict_find(table, pdl_int(cp));
        return pdl_is_absent(v) ? pdl_absent() : pdl_keep(v);
    }
    pdl_val v;
    pdl_err why = {0};
    if (!pdl_item(table, pdl_int(cp), &v, &why)) {
        pdl_err_fini(&why);
        return pdl_absent();
    }
    if (!pdl_is(v, PDL_V_UNDEFINED)) return v;
    pdl_drop(v);
    return pdl_absent();
}

static bool m_translate(PDL_ARGS) {
    pdl_str s = self_of(argv);
    bool table = pdl_is_dict(argv[1]) || pdl_is_seq(argv[1]) || pdl_is_str(argv[1]) ||
                 pdl_is(argv[1], PDL_V_RANGE);
    if (s.n && !table)
        return pdl_err_host(err, "TypeError", "'%s' object is not subscriptable",
                            pdl_py_type(argv[1]));
    const char *p = s.p, *end = s.p + s.n;
    pdl_buf b = PDL_BUF_INIT(PDL_MAX_TEXT);
    for (size_t i = 0; p < end && pdl_walk_may_continue_at(i); i++) {
        const char *from = p;
        pdl_val to = entry_of(argv[1], pdl_utf8_next(&p));
        bool ok = put_translated((pdl_str){from, (size_t)(p - from)}, to, &b, err);
        pdl_drop(to);
        if (ok) continue;
        pdl_buf_fini(&b);
        return false;
    }
    return pdl_text_like(&b, argv[0], out, err);
}

/* Appends the code points of text to list. Takes list. */
static pdl_val with_code_points(pdl_val list, pdl_vref text) {
    pdl_str s = pdl_str_get(text);
    const char *p = s.p, *end = s.p + s.n;
    while (p < end && pdl_walk_may_continue_at(pdl_list_len(list)))
        list = pdl_list_push(list, pdl_int(pdl_utf8_next(&p)));
    return list;
}

/* Adds one entry of a table that is a dict. Its keys are code points or single characters. Takes d,
 * which is dropped on failure. */
static bool put_entry(pdl_val d, pdl_vref key, pdl_vref to, pdl_val *out, pdl_err *err) {
    if (pdl_is_str(key) && pdl_text_len_cp(key) == 1) {
        const char *p = pdl_str_get(key).p;
        *out = pdl_dict_put(d, pdl_int(pdl_utf8_next(&p)), pdl_keep(to));
        return true;
    }
    if (pdl_is_int(key)) {
        *out = pdl_dict_put(d, pdl_keep(key), pdl_keep(to));
        return true;
    }
    pdl_drop(d);
    if (pdl_is_str(key))
        return pdl_err_host(err, "ValueError",
                            "string keys in translate table must be of length 1");
    return pdl_err_host(err, "TypeError", "keys in translate table must be strings or integers");
}

static bool table_of_dict(pdl_vref from, pdl_val *out, pdl_err *err) {
    if (!pdl_is_dict(from))
        return pdl_err_host(err, "TypeError",
                            "if you give only one argument to maketrans it must be a dict");
    pdl_val d = pdl_dict_new(pdl_dict_len(from));
    for (size_t i = 0; i < pdl_dict_len(from) && pdl_walk_may_continue_at(i); i++)
        if (!put_entry(d, pdl_dict_key_at(from, i), pdl_dict_val_at(from, i), &d, err))
            return false;
    *out = d;
    return true;
}

/* Makes a table for translate from one dict, or from two texts of equal length and an optional
 * third with characters to delete. */
static bool m_maketrans(PDL_ARGS) {
    if (pdl_is_absent(argv[2])) return table_of_dict(argv[1], out, err);
    if (!pdl_is_str(argv[1]))
        return pdl_err_host(
            err, "TypeError",
            "first maketrans argument must be a string if there is a second argument");
    static const char *const names[] = {"maketrans() argument 2 ", "maketrans() argument 3 "};
    for (size_t i = 2; i < 4; i++)
        if (!pdl_is_absent(argv[i]) && !need_str(argv[i], names[i - 2], err)) return false;
    if (pdl_text_len_cp(argv[1]) != pdl_text_len_cp(argv[2]))
        return pdl_err_host(err, "ValueError",
                            "the first two maketrans arguments must have equal length");
    pdl_val from = with_code_points(pdl_list_new(0), argv[1]),
            to = with_code_points(pdl_list_new(0), argv[2]), d = pdl_dict_new(0);
    for (size_t i = 0; i < pdl_list_len(from) && pdl_walk_may_continue_at(i); i++)
        d = pdl_dict_put(d, pdl_keep(pdl_list_at(from, i)), pdl_keep(pdl_list_at(to, i)));
    pdl_val gone =
        pdl_is_absent(argv[3]) ? pdl_list_new(0) : with_code_points(pdl_list_new(0), argv[3]);
    for (size_t i = 0; i < pdl_list_len(gone) && pdl_walk_may_continue_at(i); i++)
        d = pdl_dict_put(d, pdl_keep(pdl_list_at(gone, i)), pdl_null());
    pdl_drop(from);
    pdl_drop(to);
    pdl_drop(gone);
    *out = d;
    return true;
}

/* --- encode ----------------------------------------------------------------------------------- */

/* Compares names of encodings: "UTF_8" and "utf-8" are equal. */
static bool is_encoding(pdl_str name, const char *z) {
    size_t n = strlen(z), k = 0;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        if (c == '-' || c == '_' || c == ' ') continue;
        if (c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
        if (k == n || c != z[k++]) return false;
    }
    return k == n;
}

static bool encode_narrow(pdl_str s, pdl_str errors, uint32_t limit, pdl_buf *b, pdl_err *err) {
    const char *p = s.p, *end = s.p + s.n;
    for (size_t i = 0; p < end && pdl_walk_may_continue_at(i); i++) {
        uint32_t cp = pdl_utf8_next(&p);
        if (cp < limit)
            pdl_buf_putc(b, (char)(unsigned char)cp);
        else if (pdl_str_is(errors, "ignore"))
            continue;
        else if (pdl_str_is(errors, "replace"))
            pdl_buf_putc(b, '?');
        else if (pdl_str_is(errors, "xmlcharrefreplace"))
            pdl_buf_putf(b, "&#%u;", (unsigned)cp);
        else {
            pdl_buf shown = PDL_BUF;
            pdl_buf_putf(&shown,
                         cp < 0x100     ? "\\x%02x"
                         : cp < 0x10000 ? "\\u%04x"
                                        : "\\U%08x",
                         (unsigned)cp);
            pdl_err_host(
                err, "UnicodeEncodeError",
                "'%s' codec can't encode character '%s' in position %zu: ordinal not in range(%u)",
                limit == 128 ? "ascii" : "latin-1", pdl_buf_z(&shown), i, (unsigned)limit);
            pdl_buf_fini(&shown);
            return false;
        }
    }
    return true;
}

static bool m_encode(PDL_ARGS) {
    if (!pdl_is_absent(argv[1]) && !need_str(argv[1], "encode() argument 'encoding' ", err))
        return false;
    if (!pdl_is_absent(argv[2]) && !need_str(argv[2], "encode() argument 'errors' ", err))
        return false;
    pdl_str name = pdl_is_absent(argv[1]) ? PDL_STR("utf8") : pdl_str_get(argv[1]);
    pdl_str errors = pdl_is_absent(argv[2]) ? PDL_STR("strict") : pdl_str_get(argv[2]);
    if (is_encoding(name, "utf8") || is_encoding(name, "u8") || is_encoding(name, "utf")) {
        *out = pdl_bytes(self_of(argv));
        return true;
    }
    bool ascii = is_encoding(name, "ascii") || is_encoding(name, "usascii");
    if (!ascii && !is_encoding(name, "latin1") && !is_encoding(name, "iso88591") &&
        !is_encoding(name, "l1"))
        return pdl_err_host(err, "LookupError", "unknown encoding: %.*s", PDL_FMT(name));
    pdl_buf b = PDL_BUF;
    bool ok = encode_narrow(self_of(argv), errors, ascii ? 128 : 256, &b, err);
    if (ok) *out = pdl_bytes(pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return ok;
}

/* --- format ----------------------------------------------------------------------------------- */

static bool m_format(PDL_ARGS) {
    pdl_format_args a = {argv + 1, argc - 1, kwargs, pdl_is_safe(argv[0]), env->lenient};
    return pdl_braces(self_of(argv), &a, out, err);
}

static bool m_format_map(PDL_ARGS) {
    pdl_format_args a = {NULL, 0, argv[1], pdl_is_safe(argv[0]), env->lenient};
    return pdl_braces(self_of(argv), &a, out, err);
}

/* --- table ------------------------------------------------------------------------------------ */

static const pdl_native methods[] = {
    {"capitalize", m_capitalize, "self", 1, 1, 0,
     "First letter in upper case, the others in lower case.", NULL, PDL_NS_NONE,
     "string -> string"},
    {"casefold", m_casefold, "self", 1, 1, 0, "Form for comparison without case.", NULL,
     PDL_NS_NONE, "string -> string"},
    {"center", m_center, "self, width, fillchar", 2, 3, 0, "In the middle of a field.", NULL,
     PDL_NS_POS, "string, integer, string -> string"},
    {"count", m_count, "self, sub, start, end", 2, 4, 0, "How often a part occurs.", NULL,
     PDL_NS_SUB, "string, string, integer|null, integer|null -> integer"},
    {"encode", m_encode, "self, encoding, errors", 1, 3, 0, "The bytes of the text.", NULL,
     PDL_NS_KW, "string, string, string -> any"},
    {"endswith", m_endswith, "self, suffix, start, end", 2, 4, 0, "Ends so.", NULL, PDL_NS_SUB,
     "string, string|tuple, integer|null, integer|null -> boolean"},
    {"expandtabs", m_expandtabs, "self, tabsize", 1, 2, 0, "Tabs as spaces.", NULL, PDL_NS_KW,
     "string, integer -> string"},
    {"find", m_find, "self, sub, start, end", 2, 4, 0, "Place of the first occurrence, or -1.",
     NULL, PDL_NS_SUB, "string, string, integer|null, integer|null -> integer"},
    {"format", m_format, "self", 1, 1, PDL_N_VARARGS | PDL_N_KWARGS,
     "Fields in braces replaced by arguments.", NULL, PDL_NS_DEF, "string -> string"},
    {"format_map", m_format_map, "self, mapping", 2, 2, 0,
     "Fields in braces replaced by items of an object.", NULL, PDL_NS_ONE, "string, any -> string"},
    {"index", m_index, "self, sub, start, end", 2, 4, 0, "Place of the first occurrence.", NULL,
     PDL_NS_SUB, "string, string, integer|null, integer|null -> integer"},
    {"isalnum", pdl_m_isalnum, "self", 1, 1, 0, "Letters and digits only.", NULL, PDL_NS_NONE,
     "string -> boolean"},
    {"isalpha", pdl_m_isalpha, "self", 1, 1, 0, "Letters only.", NULL, PDL_NS_NONE,
     "string -> boolean"},
    {"isascii", pdl_m_isascii, "self", 1, 1, 0, "ASCII only.", NULL, PDL_NS_NONE,
     "string -> boolean"},
    {"isdecimal", pdl_m_isdecimal, "self", 1, 1, 0, "Decimal digits only.", NULL, PDL_NS_NONE,
     "string -> boolean"},
    {"isdigit", pdl_m_isdigit, "self", 1, 1, 0, "Digits only.", NULL, PDL_NS_NONE,
     "string -> boolean"},
    {"isidentifier", pdl_m_isidentifier, "self", 1, 1, 0, "Could be the name of a variable.", NULL,
     PDL_NS_NONE, "string -> boolean"},
    {"islower", pdl_m_islower, "self", 1, 1, 0, "In lower case.", NULL, PDL_NS_NONE,
     "string -> boolean"},
    {"isnumeric", pdl_m_isnumeric, "self", 1, 1, 0, "Numeric characters only.", NULL, PDL_NS_NONE,
     "string -> boolean"},
    {"isprintable", pdl_m_isprintable, "self", 1, 1, 0, "Nothing that repr would escape.", NULL,
     PDL_NS_NONE, "string -> boolean"},
    {"isspace", pdl_m_isspace, "self", 1, 1, 0, "Blanks only.", NULL, PDL_NS_NONE,
     "string -> boolean"},
    {"istitle", pdl_m_istitle, "self", 1, 1, 0, "Words begin with upper case.", NULL, PDL_NS_NONE,
     "string -> boolean"},
    {"isupper", pdl_m_isupper, "self", 1, 1, 0, "In upper case.", NULL, PDL_NS_NONE,
     "string -> boolean"},
    {"join", pdl_m_join, "self, iterable", 2, 2, 0, "The items with this text between them.", NULL,
     PDL_NS_ONE, "string, iterable -> string"},
    {"ljust", m_ljust, "self, width, fillchar", 2, 3, 0, "At the left of a field.", NULL,
     PDL_NS_POS, "string, integer, string -> string"},
    {"lower", m_lower, "self", 1, 1, 0, "In lower case.", NULL, PDL_NS_NONE, "string -> string"},
    {"lstrip", pdl_m_lstrip, "self, chars", 1, 2, 0, "Without spaces at the start.", NULL,
     PDL_NS_POS, "string, string|null -> string"},
    {"maketrans", m_maketrans, "self, x, y, z", 2, 4, 0, "A table for translate.", NULL, PDL_NS_POS,
     "string, any, any, any -> object"},
    {"partition", pdl_m_partition, "self, sep", 2, 2, 0,
     "The part before, the separator, the part after.", NULL, PDL_NS_ONE,
     "string, string -> tuple"},
    {"removeprefix", m_removeprefix, "self, prefix", 2, 2, 0, "Without this beginning.", NULL,
     PDL_NS_ONE, "string, string -> string"},
    {"removesuffix", m_removesuffix, "self, suffix", 2, 2, 0, "Without this end.", NULL, PDL_NS_ONE,
     "string, string -> string"},
    {"replace", m_replace, "self, old, new, count", 3, 4, 0, "One part replaced by another.", NULL,
     PDL_NS_POS, "string, string, string, integer -> string"},
    {"rfind", m_rfind, "self, sub, start, end", 2, 4, 0, "Place of the last occurrence, or -1.",
     NULL, PDL_NS_SUB, "string, string, integer|null, integer|null -> integer"},
    {"rindex", m_rindex, "self, sub, start, end", 2, 4, 0, "Place of the last occurrence.", NULL,
     PDL_NS_SUB, "string, string, integer|null, integer|null -> integer"},
    {"rjust", m_rjust, "self, width, fillchar", 2, 3, 0, "At the right of a field.", NULL,
     PDL_NS_POS, "string, integer, string -> string"},
    {"rpartition", pdl_m_rpartition, "self, sep", 2, 2, 0,
     "The part before, the separator, the part after, at its last occurrence.", NULL, PDL_NS_ONE,
     "string, string -> tuple"},
    {"rsplit", pdl_m_rsplit, "self, sep, maxsplit", 1, 3, 0,
     "Parts between separators, counted from the end.", NULL, PDL_NS_KW,
     "string, string|null, integer -> [string]"},
    {"rstrip", pdl_m_rstrip, "self, chars", 1, 2, 0, "Without spaces at the end.", NULL, PDL_NS_POS,
     "string, string|null -> string"},
    {"split", pdl_m_split, "self, sep, maxsplit", 1, 3, 0, "Parts between separators; words.", NULL,
     PDL_NS_KW, "string, string|null, integer -> [string]"},
    {"splitlines", pdl_m_splitlines, "self, keepends", 1, 2, 0, "Lines.", NULL, PDL_NS_KW,
     "string, any -> [string]"},
    {"startswith", m_startswith, "self, prefix, start, end", 2, 4, 0, "Begins so.", NULL,
     PDL_NS_SUB, "string, string|tuple, integer|null, integer|null -> boolean"},
    {"strip", pdl_m_strip, "self, chars", 1, 2, 0, "Without spaces at both ends.", NULL, PDL_NS_POS,
     "string, string|null -> string"},
    {"swapcase", m_swapcase, "self", 1, 1, 0, "Upper case for lower case and back.", NULL,
     PDL_NS_NONE, "string -> string"},
    {"title", m_title, "self", 1, 1, 0, "Words begin with upper case.", NULL, PDL_NS_NONE,
     "string -> string"},
    {"translate", m_translate, "self, table", 2, 2, 0, "Characters replaced by a table.", NULL,
     PDL_NS_ONE, "string, any -> string"},
    {"upper", m_upper, "self", 1, 1, 0, "In upper case.", NULL, PDL_NS_NONE, "string -> string"},
    {"zfill", m_zfill, "self, width", 2, 2, 0, "Filled with zeros after the sign.", NULL,
     PDL_NS_ONE, "string, integer -> string"},
};

pdl_rows pdl_rows_str(void) { return (pdl_rows){methods, PDL_N_COUNT(methods)}; }
