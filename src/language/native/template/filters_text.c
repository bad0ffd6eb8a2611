/* filters_text.c -- filters on text. A result is marked as safe only when the text was safe, or was
 * escaped, and the filter cannot make new markup.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>

#include "base/utf8.h"
#include "native/natives.h"
#include "value/int.h"
#include "value/pyvalues.h"
#include "value/text.h"

#include "base/banned.h"

static const pdl_str BLANK = {" ", 1};

/* --- case ------------------------------------------------------------------------------------- */

typedef void recase_fn(pdl_buf *out, pdl_str s);

static bool recased(const pdl_native_env *env, pdl_vref v, recase_fn *fn, pdl_val *out,
                    pdl_err *err) {
    pdl_val s;
    if (!pdl_arg_text(env, v, &s, err)) return false;
    char space[PDL_SHORT_TEXT];
    pdl_buf b = pdl_buf_in(space, sizeof space, PDL_BUF.limit);
    fn(&b, pdl_str_get(s));
    bool ok = pdl_text_like(&b, s, out, err);
    pdl_drop(s);
    return ok;
}

/* Appends the text of v in another case. A short text is written directly into out, because its
 * result has at most three times its size. */
static bool put_recased(const pdl_native_env *env, pdl_vref v, recase_fn *fn, pdl_buf *out,
                        pdl_err *err) {
    if (pdl_is_str(v) && pdl_str_get(v).n <= PDL_SHORT_TEXT &&
        out->limit - out->len > 3 * PDL_SHORT_TEXT) {
        fn(out, pdl_str_get(v));
        return true;
    }
    pdl_val s;
    if (!recased(env, v, fn, &s, err)) return false;
    bool ok = pdl_buf_add(out, pdl_str_get(s), err);
    pdl_drop(s);
    return ok;
}

bool pdl_f_capitalize(PDL_ARGS) { return recased(env, argv[0], pdl_utf8_capitalize, out, err); }
bool pdl_f_lower(PDL_ARGS) { return recased(env, argv[0], pdl_utf8_lower, out, err); }
bool pdl_f_upper(PDL_ARGS) { return recased(env, argv[0], pdl_utf8_upper, out, err); }
bool pdl_w_capitalize(PDL_WRITES) {
    return put_recased(env, argv[0], pdl_utf8_capitalize, out, err);
}
bool pdl_w_lower(PDL_WRITES) { return put_recased(env, argv[0], pdl_utf8_lower, out, err); }
bool pdl_w_upper(PDL_WRITES) { return put_recased(env, argv[0], pdl_utf8_upper, out, err); }

static bool splits_words(uint32_t cp) {
    return cp == '-' || cp == '(' || cp == '{' || cp == '[' || cp == '<' || pdl_cp_is_space(cp);
}

/* Writes the title case. Words are the pieces of text between the splitting characters. */
static void put_title(pdl_buf *out, pdl_str s) {
    const char *p = s.p, *end = s.p + s.n;
    pdl_steps steps = {0};
    while (p < end && pdl_steps_may_continue(&steps)) {
        const char *from = p, *next = p;
        bool blank = splits_words(pdl_utf8_next(&next));
        const char *second = next;
        for (p = next; p < end && pdl_steps_may_continue(&steps); p = next)
            if (splits_words(pdl_utf8_next(&next)) != blank) break;
        if (blank) {
            pdl_buf_put(out, (pdl_str){from, (size_t)(p - from)});
            continue;
        }
        pdl_utf8_upper(out, (pdl_str){from, (size_t)(second - from)});
        pdl_utf8_lower(out, (pdl_str){second, (size_t)(p - second)});
    }
}

bool pdl_f_title(PDL_ARGS) {
    if (!recased(env, argv[0], put_title, out, err)) return false;
    if (!pdl_is_safe(*out)) return true;
    /* a safe text that is divided into words loses its mark */
    pdl_val plain = pdl_text(pdl_str_get(*out));
    pdl_drop(*out);
    *out = plain;
    return true;
}

/* --- blanks ----------------------------------------------------------------------------------- */

bool pdl_f_center(PDL_ARGS) {
    int64_t width = 80;
    pdl_val s;
    if (!pdl_arg_size(argv[1], &width, err) || !pdl_arg_text(env, argv[0], &s, err)) return false;
    int64_t n = (int64_t)pdl_text_len_cp(s), pad = width > n ? width - n : 0;
    int64_t left = pad / 2 + (pad & width & 1);
    pdl_buf b = PDL_BUF;
    bool ok = pdl_pad_text(&b, pdl_str_get(s), (size_t)left, (size_t)(pad - left), BLANK, err);
    ok = ok && pdl_text_like(&b, s, out, err);
    pdl_buf_fini(&b);
    pdl_drop(s);
    return ok;
}

bool pdl_f_trim(PDL_ARGS) {
    bool chars = pdl_given(argv[1]);
    if (chars && !pdl_is_str(argv[1]))
        return pdl_err_host(err, "TypeError", "strip arg must be None or str");
    pdl_val s;
    if (!pdl_arg_text(env, argv[0], &s, err)) return false;
    *out =
        pdl_piece_like(pdl_strip_text(pdl_str_get(s), chars ? pdl_str_get(argv[1]) : (pdl_str){0},
                                      !chars, true, true),
                       s);
    pdl_drop(s);
    return true;
}

static bool not_a_string(pdl_vref v, const char *op_with, pdl_err *err) {
    if (pdl_is(v, PDL_V_UNDEFINED)) return pdl_undefined_error(v, err);
    if (pdl_is(v, PDL_V_TUPLE))
        return pdl_err_host(err, "TypeError", "can only concatenate tuple (not \"str\") to tuple");
    if (op_with && !pdl_is_list(v))
        return pdl_err_host(err, "TypeError", "unsupported operand type(s) for %s: '%s' and 'str'",
                            op_with, pdl_py_type(v));
    return pdl_err_host(err, "AttributeError", "'%s' object has no attribute 'splitlines'",
                        pdl_py_type(v));
}

/* Returns the indentation for the argument `width`: a text is itself the indentation, and a number
 * counts blanks. Owned. */
static bool indentation(pdl_vref width, pdl_val *out, pdl_err *err) {
    if (pdl_is_str(width)) {
        *out = pdl_keep(width);
        return true;
    }
    if (!pdl_is_absent(width) && !pdl_is_int(width) && !pdl_is_bool(width))
        return pdl_err_host(err, "TypeError", "can't multiply sequence by non-int of type '%s'",
                            pdl_py_type(width));
    int64_t n = 4;
    if (!pdl_arg_int(width, &n, err)) return false;
    pdl_buf b = PDL_BUF;
    if (!pdl_pad_text(&b, (pdl_str){"", 0}, n > 0 ? (size_t)n : 0, 0, BLANK, err)) return false;
    *out = pdl_text_of_buf(&b);
    return true;
}

static bool put_indented(pdl_str s, pdl_str by, bool first, bool blank, pdl_buf *b, pdl_err *err) {
    size_t pos = 0, k = 0;
    pdl_str line, whole;
    /* the text ends with a line terminator, so that another, empty line follows */
    bool ended = true;
    if (first && !pdl_buf_add(b, by, err)) return false;
    for (; pdl_next_line(s, &pos, &line, &whole); k++) {
        if (!pdl_check_cancel_at(k, err)) return false;
        if (k && !pdl_buf_add(b, PDL_STR("\n"), err)) return false;
        if (k && (blank || line.n) && !pdl_buf_add(b, by, err)) return false;
        if (!pdl_buf_add(b, line, err)) return false;
        ended = whole.n > line.n;
    }
    /* "\r" at the end and the added "\n" are one terminator. */
    if (k == 0 || !ended || (s.n && s.p[s.n - 1] == '\r')) return true;
    return pdl_buf_add(b, PDL_STR("\n"), err) && (!blank || pdl_buf_add(b, by, err));
}

bool pdl_f_indent(PDL_ARGS) {
    bool first, blank;
    if (!pdl_arg_truth(env, argv[2], &first, err) || !pdl_arg_truth(env, argv[3], &blank, err))
        return false;
    pdl_val by = pdl_absent();
    if (!indentation(argv[1], &by, err)) return false;
    pdl_buf b = PDL_BUF_INIT(PDL_MAX_TEXT);
    bool ok = pdl_is_str(argv[0]) || not_a_string(argv[0], "+=", err);
    ok = ok && put_indented(pdl_str_get(argv[0]), pdl_str_get(by), first, blank, &b, err) &&
         pdl_text_like(&b, argv[0], out, err);
    pdl_buf_fini(&b);
    pdl_drop(by);
    return ok;
}

/* --- parts ------------------------------------------------------------------------------------ */

static bool escaped_unless_safe(pdl_vref s, bool wanted, pdl_val *out, pdl_err *err) {
    if (wanted) return pdl_escape_html(s, out, err);
    *out = pdl_keep(s);
    return true;
}

bool pdl_f_replace(PDL_ARGS) {
    int64_t count = -1;
    if (pdl_given(argv[3]) && !pdl_arg_size(argv[3], &count, err)) return false;
    pdl_val s = pdl_absent(), old = pdl_absent(), with = pdl_absent(), text = pdl_absent(),
            by = pdl_absent();
    pdl_buf b = PDL_BUF_INIT(PDL_MAX_TEXT);
    bool ok = pdl_arg_text(env, argv[0], &s, err) && pdl_arg_text(env, argv[1], &old, err) &&
              pdl_arg_text(env, argv[2], &with, err);
    if (ok) {
        bool escape =
            env->autoescape && (pdl_is_safe(old) || (pdl_is_safe(with) && !pdl_is_safe(s)));
        ok = escaped_unless_safe(s, escape, &text, err) &&
             escaped_unless_safe(with, env->autoescape && pdl_is_safe(text), &by, err) &&
             pdl_replace_text(pdl_str_get(text), pdl_str_get(old), pdl_str_get(by), count, &b,
                              err) &&
             pdl_text_like(&b, env->autoescape ? text : pdl_absent(), out, err);
    }
    pdl_buf_fini(&b);
    pdl_val all[] = {s, old, with, text, by};
    for (size_t i = 0; i < PDL_N_COUNT(all); i++) pdl_drop(all[i]);
    return ok;
}

/* Returns s without its last word. A text of one word is unchanged. Takes s. */
static pdl_val without_last_word(pdl_val s) {
    pdl_str t = pdl_str_get(s);
    size_t at = pdl_str_rfind(t, BLANK);
    if (at == PDL_NOT_FOUND) return s;
    pdl_val head = pdl_piece_like(pdl_str_sub(t, 0, at), s);
    pdl_drop(s);
    return head;
}

static bool check_truncate(pdl_vref end, int64_t length, int64_t leeway, size_t *end_len,
                           pdl_err *err) {
    *end_len = 3;
    if (!pdl_is_absent(end) && !pdl_val_len(end, end_len))
        return pdl_err_host(err, "TypeError", "object of type '%s' has no len()", pdl_py_type(end));
    if (length < (int64_t)*end_len)
        return pdl_err_host(err, "AssertionError", "expected length >= %zu, got %lld", *end_len,
                            (long long)length);
    if (leeway < 0)
        return pdl_err_host(err, "AssertionError", "expected leeway >= 0, got %lld",
                            (long long)leeway);
    return true;
}

/* Reads a length from a number, which is rounded down. */
static bool length_of(pdl_vref v, int64_t *out, pdl_err *err) {
    if (pdl_is_absent(v)) return true;
    if (!pdl_is_number(v))
        return pdl_err_host(err, "TypeError",
                            "'>=' not supported between instances of '%s' and 'int'",
                            pdl_py_type(v));
    if (!pdl_is(v, PDL_V_FLOAT)) return pdl_arg_int(v, out, err);
    double d = floor(pdl_float_of(v));
    *out = d >= 1e15 ? INT64_MAX : d <= -1e15 ? INT64_MIN : d == d ? (int64_t)d : INT64_MIN;
    return true;
}

bool pdl_f_truncate(PDL_ARGS) {
    int64_t length = 255, leeway = 5;
    bool killwords;
    size_t end_len, n = 0;
    if (!length_of(argv[1], &length, err) || !pdl_arg_truth(env, argv[2], &killwords, err) ||
        (pdl_given(argv[4]) && !length_of(argv[4], &leeway, err)) ||
        !check_truncate(argv[3], length, leeway, &end_len, err))
        return false;
    pdl_vref s = argv[0];
    if (!pdl_is(s, PDL_V_UNDEFINED) && !pdl_val_len(s, &n))
        return pdl_err_host(err, "TypeError", "object of type '%s' has no len()", pdl_py_type(s));
    if (leeway > INT64_MAX - length || (int64_t)n <= length + leeway) {
        *out = pdl_keep(s);
        return true;
    }
    pdl_val head, to = pdl_is(argv[1], PDL_V_FLOAT) ? argv[1] : pdl_int(length - (int64_t)end_len);
    if (!pdl_slice(s, pdl_absent(), to, pdl_absent(), &head, err)) return false;
    bool ok = pdl_is_str(head) || killwords ||
              pdl_err_host(err, "AttributeError", "'%s' object has no attribute 'rsplit'",
                           pdl_py_type(head));
    if (ok) {
        if (!killwords) head = without_last_word(head);
        pdl_val end = pdl_is_absent(argv[3]) ? pdl_textz("...") : pdl_keep(argv[3]);
        ok = pdl_val_arith(PDL_OP_ADD, head, end, out, err);
        pdl_drop(end);
    }
    pdl_drop(head);
    return ok;
}

static bool is_word(uint32_t cp) { return cp == '_' || pdl_cp_is_alnum(cp); }

bool pdl_f_wordcount(PDL_ARGS) {
    pdl_val s;
    if (!pdl_arg_text(env, argv[0], &s, err)) return false;
    const char *p = pdl_str_get(s).p, *end = p + pdl_str_get(s).n;
    int64_t n = 0;
    pdl_steps steps = {0};
    for (bool in = false; p < end && pdl_steps_may_continue(&steps);) {
        bool word = is_word(pdl_utf8_next(&p));
        n += word && !in;
        in = word;
    }
    pdl_drop(s);
    *out = pdl_int(n);
    return true;
}

static bool formatted(pdl_vref format, const pdl_val *args, size_t n, bool lenient, pdl_val *out,
                      pdl_err *err) {
    char space[PDL_SHORT_TEXT];
    pdl_buf b = pdl_buf_in(space, sizeof space, PDL_MAX_TEXT);
    bool ok = pdl_format_percent_put(format, args, n, lenient, &b, err) &&
              pdl_text_like(&b, format, out, err);
    pdl_buf_fini(&b);
    return ok;
}

bool pdl_f_format(PDL_ARGS) {
    bool has_kw = !pdl_is_absent(kwargs) && pdl_dict_len(kwargs) > 0;
    if (argc > 1 && has_kw)
        return pdl_err_host(err, "FilterArgumentError",
                            "can't handle positional and keyword arguments at the same time");
    pdl_val s;
    if (!pdl_arg_text(env, argv[0], &s, err)) return false;
    bool ok = has_kw ? pdl_format_percent(s, kwargs, env->lenient, out, err)
                     : formatted(s, argv + 1, argc - 1, env->lenient, out, err);
    pdl_drop(s);
    return ok;
}

bool pdl_w_format(PDL_WRITES) {
    pdl_val s;
    if (!pdl_arg_text(env, argv[0], &s, err)) return false;
    bool ok = pdl_format_percent_put(s, argv + 1, argc - 1, env->lenient, out, err);
    pdl_drop(s);
    return ok;
}
