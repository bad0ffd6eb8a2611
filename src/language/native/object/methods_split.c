/* methods_split.c -- methods that split and join text. Text is split into words at white space of
 * any script, or into parts at a separator, from either end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "native/natives.h"
#include "value/pyvalues.h"

#include "base/banned.h"

static bool is_blank_at(pdl_str s, size_t i, size_t *n) {
    const char *p = s.p + i;
    bool blank = pdl_cp_is_space(pdl_utf8_next(&p));
    *n = (size_t)(p - (s.p + i));
    return blank;
}

/* The parts of a text so far. A text may have a hundred million parts. */
typedef struct {
    pdl_val list;
    pdl_vref of;
    pdl_err *err;
} pieces;

/* Checks the limit for lists. From PDL_CANCEL_EVERY parts on, each time n has doubled, also checks
 * whether the memory has room for n more parts. */
static bool may_grow(size_t n, pdl_err *err) {
    size_t each = sizeof(pdl_val) * 2 + sizeof(pdl_strobj) + 16;
    if (n >= PDL_MAX_RANGE_ITEMS)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "list is longer than %d items",
                           PDL_MAX_RANGE_ITEMS);
    return n < PDL_CANCEL_EVERY || (n & (n - 1)) != 0 || pdl_err_memory(err, n * each);
}

static bool add(pieces *p, pdl_str s) {
    size_t n = pdl_list_len(p->list);
    if (!pdl_check_cancel_at(n, p->err) || !may_grow(n, p->err)) return false;
    p->list = pdl_list_push(p->list, pdl_piece_like(s, p->of));
    return true;
}

/* Splits into words, like str.split() without separator. After max splits the rest is unchanged,
 * except that blanks at its start are removed. */
static bool split_words(pieces *p, int64_t max) {
    pdl_str s = pdl_str_get(p->of);
    size_t i = 0, n;
    for (;; max--) {
        while (i < s.n && is_blank_at(s, i, &n)) i += n;
        if (i == s.n) return true;
        size_t from = i;
        if (max == 0) return add(p, pdl_str_sub(s, from, s.n));
        while (i < s.n && !is_blank_at(s, i, &n)) i += n;
        if (!add(p, pdl_str_sub(s, from, i))) return false;
    }
}

static bool split_by(pieces *p, pdl_str sep, int64_t max) {
    pdl_str s = pdl_str_get(p->of);
    size_t from = 0;
    for (; max != 0; max--) {
        size_t at = pdl_str_find_walk(s, sep, from);
        if (at == PDL_NOT_FOUND) break;
        if (!add(p, pdl_str_sub(s, from, at))) return false;
        from = at + sep.n;
    }
    return add(p, pdl_str_sub(s, from, s.n));
}

/* Returns where the last word of s begins. */
static size_t last_word(pdl_str s) {
    size_t from = s.n;
    while (from > 0) {
        size_t at = from - 1, n;
        while (at > 0 && ((unsigned char)s.p[at] & 0xc0) == 0x80) at--;
        if (is_blank_at(s, at, &n)) break;
        from = at;
    }
    return from;
}

/* Finds pieces from the end, the last one first. */
static bool rsplit_words(pieces *p, int64_t max) {
    pdl_str s = pdl_str_get(p->of);
    for (;; max--) {
        s = pdl_strip_text(s, (pdl_str){0}, true, false, true);
        if (s.n == 0) return true;
        if (max == 0) return add(p, s);
        size_t from = last_word(s);
        if (!add(p, pdl_str_sub(s, from, s.n))) return false;
        s = pdl_str_sub(s, 0, from);
    }
}

static bool rsplit_by(pieces *p, pdl_str sep, int64_t max) {
    pdl_str s = pdl_str_get(p->of);
    for (; max != 0; max--) {
        size_t at = pdl_str_rfind(s, sep);
        if (at == PDL_NOT_FOUND) break;
        if (!add(p, pdl_str_sub(s, at + sep.n, s.n))) return false;
        s = pdl_str_sub(s, 0, at);
    }
    return add(p, s);
}

static pdl_val backwards(pdl_val list) {
    size_t n = pdl_list_len(list);
    pdl_val r = pdl_list_new(n);
    for (size_t i = n; i-- > 0 && pdl_walk_may_continue_at(i);)
        r = pdl_list_push(r, pdl_keep(pdl_list_at(list, i)));
    pdl_drop(list);
    return r;
}

static bool split_args(const pdl_val *argv, bool *words, pdl_str *sep, int64_t *max, pdl_err *err) {
    *max = -1;
    *words = !pdl_given(argv[1]);
    *sep = (pdl_str){0};
    if (!pdl_arg_size(argv[2], max, err)) return false;
    if (*words) return true;
    if (!pdl_is_str(argv[1]))
        return pdl_err_host(err, "TypeError", "must be str or None, not %s", pdl_py_type(argv[1]));
    *sep = pdl_str_get(argv[1]);
    return sep->n || pdl_err_host(err, "ValueError", "empty separator");
}

/* Moves the list of the pieces to *out. Drops the list when ok is false. */
static bool take(pieces *p, bool ok, pdl_val *out) {
    if (ok)
        *out = p->list;
    else
        pdl_drop(p->list);
    return ok;
}

bool pdl_m_split(PDL_ARGS) {
    bool words;
    pdl_str sep;
    int64_t max;
    if (!split_args(argv, &words, &sep, &max, err)) return false;
    pieces p = {pdl_list_new(0), argv[0], err};
    return take(&p, words ? split_words(&p, max) : split_by(&p, sep, max), out);
}

bool pdl_m_rsplit(PDL_ARGS) {
    bool words;
    pdl_str sep;
    int64_t max;
    if (!split_args(argv, &words, &sep, &max, err)) return false;
    pieces p = {pdl_list_new(0), argv[0], err};
    bool ok = words ? rsplit_words(&p, max) : rsplit_by(&p, sep, max);
    if (ok) p.list = backwards(p.list);
    return take(&p, ok, out);
}

bool pdl_m_splitlines(PDL_ARGS) {
    int64_t keep = 0;
    if (!pdl_arg_c_int(argv[1], &keep, err)) return false;
    pdl_str line, whole;
    pieces p = {pdl_list_new(0), argv[0], err};
    bool ok = true;
    for (size_t pos = 0; ok && pdl_next_line(pdl_str_get(argv[0]), &pos, &line, &whole);)
        ok = add(&p, keep ? whole : line);
    return take(&p, ok, out);
}

/* Returns the part before the separator, the separator, and the part after it. When s does not have
 * the separator, the first part (with last, the third) has the whole text. */
static bool partition(const pdl_val *argv, bool last, pdl_val *out, pdl_err *err) {
    if (!pdl_is_str(argv[1]))
        return pdl_err_host(err, "TypeError", "must be str, not %s", pdl_py_type(argv[1]));
    pdl_str s = pdl_str_get(argv[0]), sep = pdl_str_get(argv[1]);
    if (sep.n == 0) return pdl_err_host(err, "ValueError", "empty separator");
    size_t at = last ? pdl_str_rfind(s, sep) : pdl_str_find_walk(s, sep, 0);
    pdl_str part[3] = {s, {"", 0}, {"", 0}};
    if (at != PDL_NOT_FOUND) {
        part[0] = pdl_str_sub(s, 0, at);
        part[1] = sep;
        part[2] = pdl_str_sub(s, at + sep.n, s.n);
    } else if (last) {
        part[0] = part[1];
        part[2] = s;
    }
    pdl_val v[3];
    for (size_t i = 0; i < 3; i++) v[i] = pdl_piece_like(part[i], argv[0]);
    *out = pdl_tuple_new(v, 3);
    return true;
}

bool pdl_m_partition(PDL_ARGS) { return partition(argv, false, out, err); }
bool pdl_m_rpartition(PDL_ARGS) { return partition(argv, true, out, err); }

static bool strip(const pdl_val *argv, const char *name, bool left, bool right, pdl_val *out,
                  pdl_err *err) {
    bool chars = pdl_given(argv[1]);
    if (chars && !pdl_is_str(argv[1]))
        return pdl_err_host(err, "TypeError", "%s arg must be None or str", name);
    pdl_str s = pdl_strip_text(pdl_str_get(argv[0]), chars ? pdl_str_get(argv[1]) : (pdl_str){0},
                               !chars, left, right);
    *out = pdl_piece_like(s, argv[0]);
    return true;
}

bool pdl_m_strip(PDL_ARGS) { return strip(argv, "strip", true, true, out, err); }
bool pdl_m_lstrip(PDL_ARGS) { return strip(argv, "lstrip", true, false, out, err); }
bool pdl_m_rstrip(PDL_ARGS) { return strip(argv, "rstrip", false, true, out, err); }

bool pdl_m_join(PDL_ARGS) {
    pdl_val items;
    size_t n;
    bool iterable = pdl_is(argv[1], PDL_V_UNDEFINED) || pdl_val_len(argv[1], &n);
    if (!iterable) return pdl_err_host(err, "TypeError", "can only join an iterable");
    if (!pdl_arg_list(env, argv[1], &items, err)) return false;
    bool ok = pdl_join_text(argv[0], items, pdl_is_safe(argv[0]), out, err);
    pdl_drop(items);
    return ok;
}
