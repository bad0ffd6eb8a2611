/* methods_split.c -- methods that take text apart and put it together. */
#include "base/utf8.h"
#include "native/room.h"
#include "value/exotic.h"

#include "base/banned.h"

static bool is_blank_at(pdl_str s, size_t i, size_t *n) {
    const char *p = s.p + i;
    bool blank = pdl_cp_is_space(pdl_utf8_next(&p));
    *n = (size_t)(p - (s.p + i));
    return blank;
}

/* str.split() without separator: words; behind max splits the rest as it is, without blanks at its start only. */
static pdl_val split_words(pdl_vref v, int64_t max) {
    pdl_str s = pdl_str_get(v);
    pdl_val r = pdl_list_new(0);
    size_t i = 0, n;
    for (;;) {
        while (i < s.n && is_blank_at(s, i, &n)) i += n;
        if (i == s.n) return r;
        size_t from = i;
        if (max == 0) return pdl_list_push(r, pdl_piece_like(pdl_str_sub(s, from, s.n), v));
        while (i < s.n && !is_blank_at(s, i, &n)) i += n;
        r = pdl_list_push(r, pdl_piece_like(pdl_str_sub(s, from, i), v));
        if (max > 0) max--;
    }
}

static pdl_val split_by(pdl_vref v, pdl_str sep, int64_t max) {
    pdl_str s = pdl_str_get(v);
    pdl_val r = pdl_list_new(0);
    size_t from = 0;
    for (; max != 0; max--) {
        size_t at = pdl_str_find(s, sep, from);
        if (at == PDL_NOT_FOUND) break;
        r = pdl_list_push(r, pdl_piece_like(pdl_str_sub(s, from, at), v));
        from = at + sep.n;
    }
    return pdl_list_push(r, pdl_piece_like(pdl_str_sub(s, from, s.n), v));
}

/* Pieces found from the end, the last one first. */
static pdl_val rsplit_pieces(pdl_vref v, bool words, pdl_str sep, int64_t max) {
    pdl_str s = pdl_str_get(v);
    pdl_val r = pdl_list_new(0);
    for (;; max--) {
        if (words) {
            s = pdl_strip_text(s, (pdl_str){0}, true, false, true);
            if (s.n == 0) return r;
        }
        size_t from, to;
        if (max == 0) return pdl_list_push(r, pdl_piece_like(s, v));
        if (words) {
            for (from = s.n; from > 0;) {
                size_t at = from - 1, n;
                while (at > 0 && ((unsigned char)s.p[at] & 0xc0) == 0x80) at--;
                if (is_blank_at(s, at, &n)) break;
                from = at;
            }
            to = from;
        } else {
            to = pdl_str_rfind(s, sep);
            if (to == PDL_NOT_FOUND) return pdl_list_push(r, pdl_piece_like(s, v));
            from = to + sep.n;
        }
        r = pdl_list_push(r, pdl_piece_like(pdl_str_sub(s, from, s.n), v));
        s = pdl_str_sub(s, 0, to);
    }
}

static pdl_val backwards(pdl_val list) {
    size_t n = pdl_list_len(list);
    pdl_val r = pdl_list_new(n);
    for (size_t i = n; i-- > 0;) r = pdl_list_push(r, pdl_keep(pdl_list_at(list, i)));
    pdl_drop(list);
    return r;
}

static bool split_args(const pdl_val *argv, bool *words, pdl_str *sep, int64_t *max, pdl_err *err) {
    *max = -1;
    *words = !pdl_given(argv[1]);
    *sep = (pdl_str){0};
    if (!pdl_arg_int(argv[2], max, err)) return false;
    if (*words) return true;
    if (!pdl_is_str(argv[1]))
        return pdl_err_host(err, "TypeError", "must be str or None, not %s", pdl_py_type(argv[1]));
    *sep = pdl_str_get(argv[1]);
    return sep->n || pdl_err_host(err, "ValueError", "empty separator");
}

bool pdl_m_split(PDL_ARGS) {
    bool words;
    pdl_str sep;
    int64_t max;
    if (!split_args(argv, &words, &sep, &max, err)) return false;
    *out = words ? split_words(argv[0], max) : split_by(argv[0], sep, max);
    return true;
}

bool pdl_m_rsplit(PDL_ARGS) {
    bool words;
    pdl_str sep;
    int64_t max;
    if (!split_args(argv, &words, &sep, &max, err)) return false;
    *out = backwards(rsplit_pieces(argv[0], words, sep, max));
    return true;
}

bool pdl_m_splitlines(PDL_ARGS) {
    int64_t keep = 0;
    if (!pdl_arg_int(argv[1], &keep, err)) return false;
    pdl_str line, whole;
    pdl_val r = pdl_list_new(0);
    for (size_t pos = 0; pdl_next_line(pdl_str_get(argv[0]), &pos, &line, &whole);)
        r = pdl_list_push(r, pdl_piece_like(keep ? whole : line, argv[0]));
    *out = r;
    return true;
}

/* Before, separator, behind; all in one place of three when it is not there. */
static bool partition(const pdl_val *argv, bool last, pdl_val *out, pdl_err *err) {
    if (!pdl_is_str(argv[1]))
        return pdl_err_host(err, "TypeError", "must be str, not %s", pdl_py_type(argv[1]));
    pdl_str s = pdl_str_get(argv[0]), sep = pdl_str_get(argv[1]);
    if (sep.n == 0) return pdl_err_host(err, "ValueError", "empty separator");
    size_t at = last ? pdl_str_rfind(s, sep) : pdl_str_find(s, sep, 0);
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

static bool strip(const pdl_val *argv, const char *name, bool left, bool right, pdl_val *out, pdl_err *err) {
    bool chars = pdl_given(argv[1]);
    if (chars && !pdl_is_str(argv[1]))
        return pdl_err_host(err, "TypeError", "%s arg must be None or str", name);
    pdl_str s = pdl_strip_text(pdl_str_get(argv[0]), chars ? pdl_str_get(argv[1]) : (pdl_str){0}, !chars,
                               left, right);
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
