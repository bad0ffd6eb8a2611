/* glob.c -- see glob.h.
 *
 * The text is read once, and all places of the pattern that it may have reached are followed
 * together. Trying each length of each ** in turn would take exponential time for a pattern with
 * several of them, and an attacker may choose the text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/glob.h"

#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"

#include "base/banned.h"

typedef enum {
    PART_LITERAL, /* one character */
    PART_ONE,     /* ? */
    PART_SET,     /* [abc] */
    PART_STAR,    /* the * of a path: any characters of a name */
    PART_DEEP,    /* any characters */
    PART_FOLDERS, /* ** between slashes: nothing, or any characters up to and with a slash */
    PART_INSIDE   /* one of the characters that PART_FOLDERS matches */
} part_kind;

typedef struct glob_part {
    part_kind kind;
    pdl_str text; /* LITERAL: the character; SET: the text between the brackets */
} glob_part;

/* a pattern with at most this many bytes needs no allocated memory */
enum { FEW = 48 };

typedef struct glob {
    const glob_part *parts;
    uint32_t n;
    bool paths; /* * and ? match no slash */
} glob;

/* The parts of the pattern that the text may have reached. Each is listed at most once. */
typedef struct places {
    uint32_t *p;
    uint32_t n;
    uint32_t *mark; /* number of the step, from 1, in which a place was added */
} places;

/* Adds a place, and the places that are reached from it without reading a character. */
static void add_place(places *to, const glob *g, uint32_t at, uint32_t step) {
    while (to->mark[at] != step) {
        to->mark[at] = step;
        to->p[to->n++] = at;
        if (at == g->n) return;
        if (g->parts[at].kind == PART_FOLDERS && to->mark[at + 1] != step) {
            to->mark[at + 1] = step;
            to->p[to->n++] = at + 1;
            at += 2;
        } else if (g->parts[at].kind == PART_STAR || g->parts[at].kind == PART_DEEP) {
            at++;
        } else {
            return;
        }
    }
}

static pdl_str next_character(pdl_str s, size_t at) {
    size_t n = pdl_utf8_len((unsigned char)s.p[at]);
    return pdl_str_sub(s, at, n && at + n <= s.n ? at + n : at + 1);
}

/* Compares two characters. In UTF-8 the order of bytes is the order of code points. */
static int order_of(pdl_str a, pdl_str b) {
    int order = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);
    return order ? order : (a.n > b.n) - (a.n < b.n);
}

/* Returns true when c is in the set, which is the text between the brackets. */
static bool in_set(pdl_str set, pdl_str c) {
    bool not = set.n && set.p[0] == '!', hit = false;
    for (size_t i = not ; i < set.n;) {
        pdl_str low = next_character(set, i), high = low;
        i += low.n;
        if (i + 1 < set.n && set.p[i] == '-') {
            high = next_character(set, i + 1);
            i += 1 + high.n;
        }
        hit = hit || (order_of(low, c) <= 0 && order_of(c, high) <= 0);
    }
    return hit != not ;
}

/* Adds the places after one more character of the text. */
static void take(places *to, const glob *g, uint32_t at, pdl_str c, uint32_t step) {
    if (at == g->n) return;
    bool slash = g->paths && pdl_str_is(c, "/");
    switch (g->parts[at].kind) {
    case PART_LITERAL:
        if (pdl_str_eq(g->parts[at].text, c)) add_place(to, g, at + 1, step);
        return;
    case PART_ONE:
        if (!slash) add_place(to, g, at + 1, step);
        return;
    case PART_SET:
        if (!slash && in_set(g->parts[at].text, c)) add_place(to, g, at + 1, step);
        return;
    case PART_STAR:
        if (!slash) add_place(to, g, at, step);
        return;
    case PART_DEEP: add_place(to, g, at, step); return;
    case PART_FOLDERS: return; /* the PART_INSIDE of the same ** was added as well */
    case PART_INSIDE:
        if (slash) add_place(to, g, at + 1, step);
        add_place(to, g, at, step);
        return;
    }
}

/* k is the offset after a '['. Returns the offset of the ] that closes the set, or PDL_NOT_FOUND
 * when there is none and the '[' is literal. A ] at the beginning is a member of the set. */
static size_t set_end(pdl_str pattern, size_t k) {
    size_t from = k + (k < pattern.n && pattern.p[k] == '!') + 1;
    return from > pattern.n ? PDL_NOT_FOUND : pdl_str_find(pattern, PDL_STR("]"), from);
}

/* Reads the part at k, which does not begin with a star. Returns the offset of the next part. */
static size_t read_one(pdl_str pattern, size_t k, unsigned special, glob_part *out) {
    size_t end =
        special & PDL_GLOB_SETS && pattern.p[k] == '[' ? set_end(pattern, k + 1) : PDL_NOT_FOUND;
    if (end != PDL_NOT_FOUND) {
        *out = (glob_part){PART_SET, pdl_str_sub(pattern, k + 1, end)};
        return end + 1;
    }
    pdl_str c = next_character(pattern, k);
    bool any = special & PDL_GLOB_ONE && pdl_str_is(c, "?");
    *out = (glob_part){any ? PART_ONE : PART_LITERAL, c};
    return k + c.n;
}

/* Returns the number of parts; out has room for as many as the pattern has bytes. */
static uint32_t read_parts(pdl_str pattern, unsigned special, glob_part *out) {
    bool paths = (special & PDL_GLOB_PATHS) != 0;
    uint32_t n = 0;
    for (size_t k = 0; k < pattern.n;) {
        size_t stars = 0;
        while (k + stars < pattern.n && pattern.p[k + stars] == '*') stars++;
        bool after_slash = k > 0 && pattern.p[k - 1] == '/';
        bool before_slash = k + stars < pattern.n && pattern.p[k + stars] == '/';
        if (paths && stars >= 2 && after_slash && before_slash) {
            out[n++] = (glob_part){.kind = PART_FOLDERS};
            out[n++] = (glob_part){.kind = PART_INSIDE};
            k += stars + 1;
        } else if (stars) {
            out[n++] = (glob_part){.kind = paths && stars == 1 ? PART_STAR : PART_DEEP};
            k += stars;
        } else {
            k = read_one(pattern, k, special, &out[n++]);
        }
    }
    return n;
}

/* Returns true when the text matches. `all` has room for three arrays of n + 1 numbers, filled with
 * zeros: the places before a character, the places after it, and the marks. */
static bool follow(const glob *g, pdl_str text, uint32_t *all) {
    uint32_t step = 1, n = g->n;
    places now = {all, 0, all + 2 * ((size_t)n + 1)}, next = {all + n + 1, 0, now.mark};
    add_place(&now, g, 0, step);
    for (size_t i = 0; i < text.n && now.n;) {
        pdl_str c = next_character(text, i);
        i += c.n;
        step++;
        next.n = 0;
        for (uint32_t k = 0; k < now.n; k++) take(&next, g, now.p[k], c, step);
        places was = now;
        now = next;
        next = was;
    }
    for (uint32_t k = 0; k < now.n; k++)
        if (now.p[k] == n) return true;
    return false;
}

/* Returns true when stars are the only special characters in the pattern and `*` means any
 * characters. */
static bool has_only_stars(pdl_str pattern, unsigned special) {
    if (special & PDL_GLOB_PATHS) return false;
    for (size_t i = 0; i < pattern.n; i++)
        if ((pattern.p[i] == '?' && special & PDL_GLOB_ONE) ||
            (pattern.p[i] == '[' && special & PDL_GLOB_SETS))
            return false;
    return true;
}

/* Matches a pattern that has at least one star and no other special characters. The text must begin
 * with the part before the first star, and end with the part after the last star. A part between
 * two stars is matched where it first occurs, because that leaves most of the text for the other
 * parts. This function has to be fast, because every call of a model is compared with seven
 * patterns. */
static bool follow_stars(pdl_str pattern, pdl_str text) {
    size_t first = pdl_str_find(pattern, PDL_STR("*"), 0),
           last = pdl_str_rfind(pattern, PDL_STR("*"));
    pdl_str head = pdl_str_sub(pattern, 0, first), tail = pdl_str_sub(pattern, last + 1, pattern.n);
    if (text.n < head.n + tail.n || !pdl_str_starts(text, head) || !pdl_str_ends(text, tail))
        return false;
    text = pdl_str_sub(text, head.n, text.n - tail.n);
    for (size_t k = first; k < last;) {
        size_t next = pdl_str_find(pattern, PDL_STR("*"), k + 1);
        pdl_str part = pdl_str_sub(pattern, k + 1, next);
        size_t at = part.n ? pdl_str_find(text, part, 0) : 0;
        if (at == PDL_NOT_FOUND) return false;
        text = pdl_str_sub(text, at + part.n, text.n);
        k = next;
    }
    return true;
}

static bool has_special(pdl_str pattern) {
    for (size_t i = 0; i < pattern.n; i++)
        if (pattern.p[i] == '*' || pattern.p[i] == '?' || pattern.p[i] == '[') return true;
    return false;
}

static bool fits_parts(pdl_str pattern, pdl_str s, unsigned special) {
    glob_part few[FEW], *parts = few;
    uint32_t room[3 * (FEW + 1)] = {0}, *all = room;
    if (pattern.n > FEW) parts = PDL_NEW_N(glob_part, pattern.n);
    glob g = {parts, read_parts(pattern, special, parts), (special & PDL_GLOB_PATHS) != 0};
    if (g.n > FEW) all = PDL_NEW_N(uint32_t, 3 * ((size_t)g.n + 1));
    bool fits = follow(&g, s, all);
    if (all != room) pdl_free(all);
    if (parts != few) pdl_free(parts);
    return fits;
}

bool pdl_glob_fits(pdl_str pattern, pdl_str s, unsigned special) {
    if (!has_special(pattern)) return pdl_str_eq(pattern, s);
    bool simple = has_only_stars(pattern, special) && memchr(pattern.p, '*', pattern.n);
    return simple ? follow_stars(pattern, s) : fits_parts(pattern, s, special);
}
