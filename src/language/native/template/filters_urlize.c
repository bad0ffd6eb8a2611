/* filters_urlize.c -- urlize: turns URLs in a text into HTML links. Which words are URLs, and which
 * signs at their ends do not belong to them, is decided as in Jinja.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/regex.h"
#include "base/utf8.h"
#include "native/natives.h"
#include "value/text.h"

#include "base/banned.h"

/* The pattern of a URL. It begins with a domain after a scheme or www., with a domain that has a
 * well-known ending, or with an IP number after a scheme. A port and a path may follow. */
static const char web_pattern[] =
    "^((https?://|www\\.)(([\\w%-]+\\.)+)?([a-z]{2,63}|xn--[\\w%]{2,59})"
    "|([\\w%-]{2,63}\\.)+(com|net|int|edu|gov|org|info|mil)"
    "|(https?://"
    ")((([\\d]{1,3})(\\.[\\d]{1,3}){3})|(\\[([\\da-fA-F]{0,4}:){2}([\\da-fA-F]{0,4}:?){1,6}\\])))"
    "(?::[\\d]{1,5})?(?:[/?#]\\S*)?$";
static const char mail_pattern[] = "^\\S+@\\w[\\w.-]*\\.\\w+$";

typedef struct {
    pdl_regex *web, *mail;
    /* Maximum number of code points of the URL that are displayed. As in a slice of Python, a
     * negative limit leaves out code points at the end. */
    int64_t limit;
    bool has_limit;
    pdl_buf attributes; /* rel and target, escaped */
    pdl_val schemes;    /* list of further prefixes, or absent */
    pdl_buf out;
    pdl_err *err;
} linker;

/* --- one word --------------------------------------------------------------------------------- */

typedef struct {
    pdl_str head, middle, tail;
} word;

static size_t count(pdl_str s, pdl_str what) {
    size_t n = 0;
    for (size_t at = 0; (at = pdl_str_find_walk(s, what, at)) != PDL_NOT_FOUND; at += what.n) n++;
    return n;
}

/* opening returns the length of the opening bracket at the start of s. closing returns the length
 * of the closing bracket or punctuation at the end of s. Both return 0 when there is none. */
static size_t opening(pdl_str s) {
    if (s.n && (s.p[0] == '(' || s.p[0] == '<')) return 1;
    return pdl_str_starts(s, PDL_STR("&lt;")) ? 4 : 0;
}
static size_t closing(pdl_str s) {
    if (s.n && strchr(")>.,\n", s.p[s.n - 1])) return 1;
    return pdl_str_ends(s, PDL_STR("&gt;")) ? 4 : 0;
}

/* Adds to the URL the closing brackets that balance opening brackets in it. */
static void balance(word *w, pdl_str open, pdl_str close) {
    size_t opened = count(w->middle, open), more = count(w->tail, close);
    if (opened <= count(w->middle, close)) return;
    for (size_t i = 0; i < opened && i < more; i++) {
        size_t end = pdl_str_find(w->tail, close, 0) + close.n;
        /* the tail follows the middle in memory, so the middle can grow into it */
        w->middle.n += end;
        w->tail = pdl_str_sub(w->tail, end, w->tail.n);
    }
}

static word cut(pdl_str s) {
    word w = {pdl_str_sub(s, 0, 0), s, pdl_str_sub(s, s.n, s.n)};
    size_t n;
    while ((n = opening(w.middle)) > 0) {
        w.head.n += n;
        w.middle = pdl_str_sub(w.middle, n, w.middle.n);
    }
    while ((n = closing(w.middle)) > 0) w.middle.n -= n;
    w.tail = pdl_str_sub(s, w.head.n + w.middle.n, s.n);
    balance(&w, PDL_STR("("), PDL_STR(")"));
    balance(&w, PDL_STR("<"), PDL_STR(">"));
    balance(&w, PDL_STR("&lt;"), PDL_STR("&gt;"));
    return w;
}

static bool matches(linker *l, const pdl_regex *re, pdl_str s, bool *hit) {
    pdl_span spans[32];
    return pdl_regex_match(re, (pdl_regex_search){s, 0, PDL_RE_MATCH}, hit, spans, l->err);
}

static void put_shown(linker *l, pdl_str s) {
    int64_t n = (int64_t)pdl_utf8_count(s), kept = l->limit;
    if (!l->has_limit || n <= l->limit) {
        pdl_buf_put(&l->out, s);
        return;
    }
    if (kept < 0) kept = kept < -n ? 0 : n + kept;
    pdl_buf_put(&l->out, pdl_str_sub(s, 0, pdl_utf8_offset(s, (size_t)kept)));
    PDL_PUT(&l->out, "...");
}

static void put_link(linker *l, const char *scheme, pdl_str href, bool attributes, pdl_str shown,
                     bool trim) {
    pdl_buf_putf(&l->out, "<a href=\"%s", scheme);
    pdl_buf_put(&l->out, href);
    PDL_PUT(&l->out, "\"");
    if (attributes) pdl_buf_put(&l->out, pdl_buf_str(&l->attributes));
    PDL_PUT(&l->out, ">");
    if (trim)
        put_shown(l, shown);
    else
        pdl_buf_put(&l->out, shown);
    PDL_PUT(&l->out, "</a>");
}

static bool put_other_scheme(linker *l, pdl_str s) {
    for (size_t i = 0; !pdl_is_absent(l->schemes) && i < pdl_list_len(l->schemes); i++) {
        pdl_str scheme = pdl_str_get(pdl_list_at(l->schemes, i));
        if (pdl_str_eq(s, scheme) || !pdl_str_starts(s, scheme)) continue;
        put_link(l, "", s, true, s, false);
        return true;
    }
    return false;
}

static bool put_middle(linker *l, pdl_str s) {
    bool hit = false;
    if (!matches(l, l->web, s, &hit)) return false;
    if (hit) {
        bool has_scheme =
            pdl_str_starts(s, PDL_STR("https://")) || pdl_str_starts(s, PDL_STR("http://"));
        put_link(l, has_scheme ? "" : "https://", s, true, s, true);
        return true;
    }
    if (pdl_str_starts(s, PDL_STR("mailto:"))) {
        pdl_str address = pdl_str_sub(s, 7, s.n);
        if (!matches(l, l->mail, address, &hit)) return false;
        if (hit) {
            put_link(l, "", s, false, address, false);
            return true;
        }
    }
    bool may = s.n && memchr(s.p, '@', s.n) && !pdl_str_starts(s, PDL_STR("www.")) &&
               s.p[0] != '@' && !memchr(s.p, ':', s.n);
    if (may && !matches(l, l->mail, s, &hit)) return false;
    if (may && hit)
        put_link(l, "mailto:", s, false, s, false);
    else if (!put_other_scheme(l, s))
        pdl_buf_put(&l->out, s);
    return true;
}

static bool put_word(linker *l, pdl_str s) {
    word w = cut(s);
    pdl_buf_put(&l->out, w.head);
    if (!put_middle(l, w.middle)) return false;
    pdl_buf_put(&l->out, w.tail);
    return true;
}

/* --- the text --------------------------------------------------------------------------------- */

static bool put_words(linker *l, pdl_str s) {
    const char *p = s.p, *end = s.p + s.n;
    pdl_steps steps = {0};
    while (p < end && pdl_steps_may_continue(&steps)) {
        const char *from = p, *next = p;
        bool blank = pdl_cp_is_space(pdl_utf8_next(&next));
        for (p = next; p < end && pdl_steps_may_continue(&steps); p = next)
            if (pdl_cp_is_space(pdl_utf8_next(&next)) != blank) break;
        pdl_str piece = {from, (size_t)(p - from)};
        if (blank)
            pdl_buf_put(&l->out, piece);
        else if (!put_word(l, piece))
            return false;
    }
    return true;
}

/* Appends name="value" with the value escaped. */
static void put_attribute(linker *l, const char *name, pdl_str value) {
    if (value.n == 0) return;
    pdl_buf_putf(&l->attributes, " %s=\"", name);
    pdl_escape_put(value, &l->attributes);
    PDL_PUT(&l->attributes, "\"");
}

/* Appends the attribute rel. Its words are noopener, perhaps nofollow, and those of the argument,
 * each once and sorted. Words after the first MAX_WORDS are left out. */
static bool put_rel(linker *l, const pdl_native_env *env, pdl_vref rel, bool nofollow) {
    bool has;
    if (!pdl_arg_truth(env, rel, &has, l->err)) return false;
    if (has && !pdl_is_str(rel))
        return pdl_err_host(l->err, "AttributeError", "'%s' object has no attribute 'split'",
                            pdl_py_type(rel));
    enum { MAX_WORDS = 64 };
    pdl_str words[MAX_WORDS] = {PDL_STR("noopener")};
    size_t n = 1;
    if (nofollow) words[n++] = PDL_STR("nofollow");
    for (pdl_str s = has ? pdl_str_get(rel) : (pdl_str){"", 0}; n < MAX_WORDS;) {
        s = pdl_str_trim(s);
        if (s.n == 0) break;
        size_t k = 0;
        while (k < s.n && !strchr(" \t\r\n\f\v", s.p[k])) k++;
        words[n++] = pdl_str_sub(s, 0, k);
        s = pdl_str_sub(s, k, s.n);
    }
    for (size_t i = 1; i < n; i++) /* there are only a few words, so this is an insertion sort */
        for (size_t k = i; k > 0 && pdl_str_cmp(words[k], words[k - 1]) < 0; k--) {
            pdl_str swap = words[k];
            words[k] = words[k - 1];
            words[k - 1] = swap;
        }
    pdl_buf b = PDL_BUF;
    for (size_t i = 0; i < n; i++) {
        if (i && pdl_str_eq(words[i], words[i - 1])) continue;
        if (b.len) pdl_buf_putc(&b, ' ');
        pdl_buf_put(&b, words[i]);
    }
    put_attribute(l, "rel", pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return true;
}

/* Checks that each scheme is a word of two or more characters and a colon, with at most two slashes
 * at its end. */
static bool check_schemes(linker *l) {
    for (size_t i = 0; i < pdl_list_len(l->schemes); i++) {
        pdl_vref v = pdl_list_at(l->schemes, i);
        if (!pdl_is_str(v))
            return pdl_err_host(l->err, "TypeError",
                                "expected string or bytes-like object, got '%s'", pdl_py_type(v));
        pdl_str s = pdl_str_get(v);
        size_t n = s.n, slashes = 0;
        while (n && s.p[n - 1] == '/' && slashes < 2) n--, slashes++;
        bool ok = n > 2 && s.p[n - 1] == ':';
        const char *p = s.p, *end = s.p + (n ? n - 1 : 0);
        while (ok && p < end) {
            uint32_t cp = pdl_utf8_next(&p);
            ok = cp == '_' || cp == '.' || cp == '+' || cp == '-' || pdl_cp_is_alnum(cp);
        }
        if (ok) continue;
        pdl_buf b = PDL_BUF;
        pdl_str_repr(s, &b);
        pdl_err_host(l->err, "FilterArgumentError", "%s is not a valid URI scheme prefix.",
                     pdl_buf_z(&b));
        pdl_buf_fini(&b);
        return false;
    }
    return true;
}

static bool prepare(linker *l, const pdl_native_env *env, const pdl_val *argv) {
    bool nofollow;
    l->has_limit = pdl_given(argv[1]);
    if (l->has_limit && !pdl_arg_int(argv[1], &l->limit, l->err)) return false;
    if (!pdl_arg_truth(env, argv[2], &nofollow, l->err) || !put_rel(l, env, argv[4], nofollow))
        return false;
    if (pdl_given(argv[3])) {
        pdl_val target;
        if (!pdl_arg_text(env, argv[3], &target, l->err)) return false;
        put_attribute(l, "target", pdl_str_get(target));
        pdl_drop(target);
    }
    if (pdl_given(argv[5]) &&
        (!pdl_arg_list(env, argv[5], &l->schemes, l->err) || !check_schemes(l)))
        return false;
    return pdl_regex_new(pdl_str_of(web_pattern), PDL_RE_NOCASE, &l->web, l->err) &&
           pdl_regex_new(pdl_str_of(mail_pattern), 0, &l->mail, l->err);
}

bool pdl_f_urlize(PDL_ARGS) {
    linker l = {.attributes = PDL_BUF, .schemes = pdl_absent(), .out = PDL_BUF, .err = err};
    pdl_val escaped = pdl_absent();
    bool ok = prepare(&l, env, argv) && pdl_escape_html(argv[0], &escaped, err) &&
              put_words(&l, pdl_str_get(escaped)) && pdl_text_like(&l.out, pdl_absent(), out, err);
    if (ok && env->autoescape) *out = pdl_with_flags(*out, PDL_F_SAFE);
    pdl_regex_free(l.web);
    pdl_regex_free(l.mail);
    pdl_buf_fini(&l.attributes);
    pdl_buf_fini(&l.out);
    pdl_drop(l.schemes);
    pdl_drop(escaped);
    return ok;
}
