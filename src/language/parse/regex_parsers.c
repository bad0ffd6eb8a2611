/* regex_parsers.c -- the regex parsers: search, match, fullmatch, split, findall, as in Python's
 * re. A pattern is compiled when the program is loaded, and used here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/regex.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "parse/readers.h"

#include "base/banned.h"

/* A walk over the matches in a text, from left to right. */
typedef struct {
    const pdl_regex *re;
    pdl_str text;
    size_t from;     /* offset at which the next search begins */
    bool was_empty;  /* the last match was empty, so another match at its place must be longer */
    pdl_span *spans; /* the match and its groups */
    size_t groups;
} walk;

static bool walk_next(walk *w, bool *hit, pdl_err *err) {
    pdl_regex_mode mode = w->was_empty ? PDL_RE_SEARCH_ON : PDL_RE_SEARCH;
    if (!pdl_check_cancel(err) ||
        !pdl_regex_match(w->re, (pdl_regex_search){w->text, w->from, mode}, hit, w->spans, err))
        return false;
    if (*hit) {
        w->from = w->spans[0].end;
        w->was_empty = w->spans[0].start == w->spans[0].end;
    }
    return true;
}

/* Returns the text of a group. Returns `missing` for a group that matched nothing. */
static pdl_val group_val(const walk *w, size_t i, pdl_val missing) {
    if (w->spans[i].start == PDL_NOT_FOUND) return missing;
    pdl_drop(missing);
    return pdl_text(pdl_str_sub(w->text, w->spans[i].start, w->spans[i].end));
}

static bool named_groups(const pdl_parser *p, const walk *w, pdl_val *out, pdl_err *err) {
    pdl_val d = pdl_dict_new(p->n_groups);
    for (size_t i = 0; i < p->n_groups; i++) {
        size_t g = pdl_regex_group_index(w->re, p->groups[i]);
        if (!g) {
            pdl_drop(d);
            return pdl_err_host(err, "IndexError", "no such group");
        }
        d = pdl_dict_puts(d, p->groups[i], group_val(w, g, pdl_null()));
    }
    *out = d;
    return true;
}

static bool match_once(const pdl_parser *p, walk *w, pdl_val *out, pdl_err *err) {
    static const pdl_regex_mode modes[] = {
        [PDL_PM_SEARCH] = PDL_RE_SEARCH,
        [PDL_PM_MATCH] = PDL_RE_MATCH,
        [PDL_PM_FULLMATCH] = PDL_RE_FULLMATCH,
    };
    bool hit;
    if (!pdl_regex_match(w->re, (pdl_regex_search){w->text, 0, modes[p->mode]}, &hit, w->spans,
                         err))
        return false;
    if (!hit) {
        *out = pdl_null();
        return true;
    }
    if (p->has_object_spec) return named_groups(p, w, out, err);
    pdl_val list = pdl_list_new(w->groups);
    for (size_t i = 1; i <= w->groups; i++) list = pdl_list_push(list, group_val(w, i, pdl_null()));
    *out = list;
    return true;
}

/* Returns one element of the result of findall: the match, its only group, or a tuple of its
 * groups. */
static pdl_val found(const walk *w) {
    if (w->groups <= 1) return group_val(w, w->groups, pdl_textz(""));
    pdl_val list = pdl_list_new(w->groups);
    for (size_t i = 1; i <= w->groups; i++)
        list = pdl_list_push(list, group_val(w, i, pdl_textz("")));
    return pdl_list_as_tuple(list);
}

static bool find_all(walk *w, bool split, pdl_val *out, pdl_err *err) {
    pdl_val list = pdl_list_new(0);
    size_t last = 0;
    for (bool hit;;) {
        if (!walk_next(w, &hit, err)) {
            pdl_drop(list);
            return false;
        }
        if (!hit) break;
        if (!split) {
            list = pdl_list_push(list, found(w));
            continue;
        }
        list = pdl_list_push(list, pdl_text(pdl_str_sub(w->text, last, w->spans[0].start)));
        for (size_t i = 1; i <= w->groups; i++)
            list = pdl_list_push(list, group_val(w, i, pdl_null()));
        last = w->spans[0].end;
    }
    if (split) list = pdl_list_push(list, pdl_text(pdl_str_sub(w->text, last, w->text.n)));
    *out = list;
    return true;
}

bool pdl_parse_regex(const pdl_parser *p, pdl_str text, pdl_val *out, pdl_err *err) {
    if (!p->compiled) { /* the regex is wrong, so compiling it again gives the error */
        pdl_regex *re;
        if (!pdl_regex_new(p->regex, PDL_RE_MULTILINE, &re, err)) return false;
        PDL_BUG("regular expression %.*s compiles only the second time", PDL_FMT(p->regex));
    }
    walk w = {p->compiled, text, 0, false, NULL, pdl_regex_groups(p->compiled)};
    w.spans = PDL_NEW_N(pdl_span, w.groups + 1);
    bool all = p->mode == PDL_PM_SPLIT || p->mode == PDL_PM_FINDALL;
    bool ok = all ? find_all(&w, p->mode == PDL_PM_SPLIT, out, err) : match_once(p, &w, out, err);
    pdl_free(w.spans);
    return ok;
}
