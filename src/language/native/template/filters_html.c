/* filters_html.c -- filters that write HTML and URLs (urlize is in filters_urlize.c). A text that
 * is marked as safe is not escaped again, as in markupsafe.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "native/natives.h"
#include "value/pyvalues.h"
#include "value/text.h"

#include "base/banned.h"

/* --- escaping --------------------------------------------------------------------------------- */

static const char *entity(char c) {
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '\'': return "&#39;";
    case '"': return "&#34;";
    default: return NULL;
    }
}

void pdl_escape_put(pdl_str s, pdl_buf *out) {
    size_t from = 0;
    for (size_t i = 0; i < s.n && pdl_walk_may_continue_at(i); i++) {
        const char *e = entity(s.p[i]);
        if (!e) continue;
        pdl_buf_put(out, pdl_str_sub(s, from, i));
        pdl_buf_put(out, pdl_str_of(e));
        from = i + 1;
    }
    pdl_buf_put(out, pdl_str_sub(s, from, s.n));
}

bool pdl_escape_html(pdl_vref x, pdl_val *out, pdl_err *err) {
    if (pdl_is_safe(x)) {
        *out = pdl_keep(x);
        return true;
    }
    pdl_val s;
    if (!pdl_val_str_val(x, &s, err)) return false;
    pdl_buf b = PDL_BUF;
    pdl_escape_put(pdl_str_get(s), &b);
    pdl_label l = pdl_label_of(s);
    pdl_drop(s);
    pdl_val r;
    if (!pdl_text_like(&b, pdl_absent(), &r, err)) return false;
    *out = pdl_with_label(pdl_with_flags(r, PDL_F_SAFE), l);
    return true;
}

/* Returns the text of v without its mark of safety. */
static bool plain_text(const pdl_native_env *env, pdl_vref v, pdl_val *out, pdl_err *err) {
    pdl_val s;
    if (!pdl_arg_text(env, v, &s, err)) return false;
    if (!pdl_is_safe(s)) {
        *out = s;
        return true;
    }
    *out = pdl_text(pdl_str_get(s));
    pdl_drop(s);
    return true;
}

bool pdl_f_escape(PDL_ARGS) { return pdl_escape_html(argv[0], out, err); }

bool pdl_f_forceescape(PDL_ARGS) {
    pdl_val s;
    if (!plain_text(env, argv[0], &s, err)) return false;
    bool ok = pdl_escape_html(s, out, err);
    pdl_drop(s);
    return ok;
}

bool pdl_f_safe(PDL_ARGS) {
    pdl_val s;
    if (!pdl_arg_text(env, argv[0], &s, err)) return false;
    *out = pdl_with_flags(s, PDL_F_SAFE);
    return true;
}

/* --- tags ------------------------------------------------------------------------------------- */

/* Returns the end of the tag or comment that begins at start; PDL_NOT_FOUND when it is not
 * closed. */
static size_t tag_end(pdl_str s, size_t start) {
    bool comment = pdl_str_starts(pdl_str_sub(s, start, s.n), PDL_STR("<!--"));
    pdl_str close = comment ? PDL_STR("-->") : PDL_STR(">");
    size_t at = pdl_str_find_walk(s, close, comment ? start + 4 : start);
    return at == PDL_NOT_FOUND ? at : at + close.n;
}

static void put_without_tags(pdl_str s, pdl_buf *out) {
    size_t pos = 0;
    pdl_steps steps = {0};
    while (pdl_steps_may_continue(&steps)) {
        size_t start = pdl_str_find_walk(s, PDL_STR("<"), pos);
        size_t end = start == PDL_NOT_FOUND ? PDL_NOT_FOUND : tag_end(s, start);
        if (end == PDL_NOT_FOUND) break;
        pdl_buf_put(out, pdl_str_sub(s, pos, start));
        pos = end;
    }
    pdl_buf_put(out, pdl_str_sub(s, pos, s.n));
}

/* Appends words with one blank between them. */
static void put_squeezed(pdl_str s, pdl_buf *out) {
    const char *p = s.p, *end = s.p + s.n;
    bool pending = false, any = false;
    pdl_steps steps = {0};
    while (p < end && pdl_steps_may_continue(&steps)) {
        const char *from = p;
        if (pdl_cp_is_space(pdl_utf8_next(&p))) {
            pending = any;
            continue;
        }
        if (pending) pdl_buf_putc(out, ' ');
        pending = false;
        any = true;
        pdl_buf_put(out, (pdl_str){from, (size_t)(p - from)});
    }
}

bool pdl_f_striptags(PDL_ARGS) {
    pdl_val s;
    if (!pdl_arg_text(env, argv[0], &s, err)) return false;
    pdl_buf bare = PDL_BUF, words = PDL_BUF, text = PDL_BUF;
    put_without_tags(pdl_str_get(s), &bare);
    put_squeezed(pdl_buf_str(&bare), &words);
    pdl_unescape_put(pdl_buf_str(&words), &text);
    pdl_buf_fini(&bare);
    pdl_buf_fini(&words);
    pdl_drop(s);
    return pdl_text_like(&text, pdl_absent(), out, err);
}

/* --- attributes ------------------------------------------------------------------------------- */

static bool bad_attr_key(pdl_str s) {
    for (size_t i = 0; i < s.n; i++)
        if (strchr(" \t\n\r\f\v/>=", s.p[i]) && s.p[i]) return true;
    return false;
}

/* Appends key="value". */
static bool put_attr(pdl_vref key, pdl_vref value, pdl_buf *b, pdl_err *err) {
    if (!pdl_is_str(key))
        return pdl_err_host(err, "TypeError", "expected string or bytes-like object, got '%s'",
                            pdl_py_type(key));
    if (bad_attr_key(pdl_str_get(key))) {
        pdl_buf shown = PDL_BUF;
        pdl_val_show(key, true, 200, &shown);
        pdl_err_host(err, "ValueError", "Invalid character in attribute name: %s",
                     pdl_buf_z(&shown));
        pdl_buf_fini(&shown);
        return false;
    }
    pdl_val k, v;
    if (!pdl_escape_html(key, &k, err)) return false;
    if (!pdl_escape_html(value, &v, err)) {
        pdl_drop(k);
        return false;
    }
    bool ok = pdl_buf_add(b, pdl_str_get(k), err) && pdl_buf_add(b, PDL_STR("=\""), err) &&
              pdl_buf_add(b, pdl_str_get(v), err) && pdl_buf_add(b, PDL_STR("\""), err);
    pdl_drop(k);
    pdl_drop(v);
    return ok;
}

bool pdl_f_xmlattr(PDL_ARGS) {
    bool space = true, any = false;
    if (pdl_is(argv[0], PDL_V_UNDEFINED)) return pdl_undefined_error(argv[0], err);
    if (!pdl_is_dict(argv[0]))
        return pdl_err_host(err, "AttributeError", "'%s' object has no attribute 'items'",
                            pdl_py_type(argv[0]));
    if (!pdl_is_absent(argv[1]) && !pdl_arg_truth(env, argv[1], &space, err)) return false;
    pdl_buf b = PDL_BUF_INIT(PDL_MAX_TEXT);
    for (size_t i = 0; i < pdl_dict_len(argv[0]) && pdl_walk_may_continue_at(i); i++) {
        pdl_vref v = pdl_dict_val_at(argv[0], i);
        if (pdl_is_null(v) || pdl_is(v, PDL_V_UNDEFINED)) continue;
        bool blank = any || space;
        any = true;
        if ((!blank || pdl_buf_add(&b, PDL_STR(" "), err)) &&
            put_attr(pdl_dict_key_at(argv[0], i), v, &b, err))
            continue;
        pdl_buf_fini(&b);
        return false;
    }
    *out = pdl_with_flags(pdl_text_of_buf(&b), env->autoescape ? PDL_F_SAFE : 0);
    return true;
}

/* --- percent-encoding ------------------------------------------------------------------------- */

static void put_percent(pdl_str s, bool query, pdl_buf *out) {
    for (size_t i = 0; i < s.n && pdl_walk_may_continue_at(i); i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     (c && strchr("_.-~", c) != NULL);
        if (plain || (c == '/' && !query))
            pdl_buf_putc(out, (char)c);
        else if (c == ' ' && query)
            pdl_buf_putc(out, '+');
        else
            pdl_buf_putf(out, "%%%02X", c);
    }
}

static bool put_quoted(const pdl_native_env *env, pdl_vref v, bool query, pdl_buf *out,
                       pdl_err *err) {
    if (pdl_is(v, PDL_V_BYTES)) {
        put_percent(pdl_bytes_get(v), query, out);
        return true;
    }
    pdl_val s;
    if (!pdl_arg_text(env, v, &s, err)) return false;
    put_percent(pdl_str_get(s), query, out);
    pdl_drop(s);
    return true;
}

/* Reads the two values of a pair, which may be any kind of sequence. */
static bool unpack_pair(pdl_vref v, pdl_val out[2], pdl_err *err) {
    size_t n;
    if (pdl_is(v, PDL_V_UNDEFINED)) return pdl_undefined_error(v, err);
    if (!pdl_val_len(v, &n))
        return pdl_err_host(err, "TypeError", "cannot unpack non-iterable %s object",
                            pdl_py_type(v));
    pdl_val list;
    if (!pdl_val_to_list(v, &list, err)) return false;
    n = pdl_list_len(list);
    if (n == 2)
        for (size_t i = 0; i < 2; i++) out[i] = pdl_keep(pdl_list_at(list, i));
    pdl_drop(list);
    if (n > 2) return pdl_err_host(err, "ValueError", "too many values to unpack (expected 2)");
    return n == 2 ||
           pdl_err_host(err, "ValueError", "not enough values to unpack (expected 2, got %zu)", n);
}

static bool put_query(const pdl_native_env *env, pdl_vref pairs, pdl_buf *b, pdl_err *err) {
    for (size_t i = 0; i < pdl_list_len(pairs); i++) {
        pdl_val pair[2];
        if (!pdl_check_cancel_at(i, err)) return false;
        if (!unpack_pair(pdl_list_at(pairs, i), pair, err)) return false;
        if (i) pdl_buf_putc(b, '&');
        bool ok = put_quoted(env, pair[0], true, b, err);
        if (ok) pdl_buf_putc(b, '=');
        ok = ok && put_quoted(env, pair[1], true, b, err);
        pdl_drop(pair[0]);
        pdl_drop(pair[1]);
        if (!ok) return false;
    }
    return true;
}

bool pdl_f_urlencode(PDL_ARGS) {
    pdl_buf b = PDL_BUF;
    pdl_val pairs = pdl_absent();
    size_t n;
    bool ok;
    if (pdl_is_str(argv[0]) || (!pdl_is(argv[0], PDL_V_UNDEFINED) && !pdl_val_len(argv[0], &n))) {
        ok = put_quoted(env, argv[0], false, &b, err);
    } else {
        pdl_val view = pdl_is_dict(argv[0]) ? pdl_view_new(pdl_keep(argv[0]), PDL_VIEW_ITEMS)
                                            : pdl_keep(argv[0]);
        ok = pdl_arg_list(env, view, &pairs, err) && put_query(env, pairs, &b, err);
        pdl_drop(view);
    }
    ok = ok && pdl_text_like(&b, pdl_absent(), out, err);
    pdl_buf_fini(&b);
    pdl_drop(pairs);
    return ok;
}
