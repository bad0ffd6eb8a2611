/* cmd_docs.c -- pdl docs WORD...: the manual in the terminal. The section that fits best is shown,
 * and other sections that have all the words are listed. When no section has all words, the
 * sections that have the most words are listed.
 *
 * Words in a heading weigh more than words in a text, and a text weighs more when the words are a
 * larger part of it. A word weighs less when many sections have it. A section may lack a word that
 * most sections have, such as "how" or "a". The section that the glossary names for a word of other
 * tools comes first.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/manual.h"

#include "base/banned.h"

enum { COMMON = 4 }; /* a common word is in more than a fourth of the sections */
enum { NAMED = 1000000, IN_HEADING = 1000, MAX_IN_BODY = 500, MAX_OTHERS = 8, LIST = 4 };
/* each word is searched in the whole manual, so the number of words is limited */
enum { MAX_WORDS = 16 };

typedef struct scored_section {
    manual_section s;
    size_t score;
} scored_section;

/* A word that is looked for, and how many sections have it. */
typedef struct sought {
    pdl_str text;
    size_t sections;
} sought;

typedef struct query_words {
    PDL_VEC(sought) v;
    size_t sections;     /* the number of sections in the manual */
    size_t rare;         /* the number of words that a section must have */
    manual_place called; /* the section that the glossary names for the whole query */
} query_words;

/* Divides the operands into words at blanks. */
static void read_words(const arguments *a, query_words *out, pdl_buf *all) {
    for (size_t i = 0; i < a->files.n; i++) {
        if (i) pdl_buf_putc(all, ' ');
        pdl_buf_put(all, a->files.p[i]);
    }
    for (pdl_str rest = pdl_buf_str(all); rest.n;) {
        pdl_str word = pdl_str_take(&rest, PDL_STR(" "));
        if (word.n) *pdl_vec_push(&out->v) = (sought){word, 0};
    }
}

static bool is_rare(const query_words *all, const sought *w) {
    return w->sections * COMMON <= all->sections;
}

/* Counts the sections that have each word. Rare words are required; when every word is common,
 * every word is required. */
static void weigh(query_words *all) {
    manual_walk w = {0};
    for (manual_section s; pdl_manual_next(&w, &s); all->sections++)
        for (size_t i = 0; i < all->v.n; i++)
            all->v.p[i].sections += pdl_manual_count(s.heading, all->v.p[i].text) ||
                                    pdl_manual_count(s.body, all->v.p[i].text);
    for (size_t i = 0; i < all->v.n; i++) all->rare += is_rare(all, &all->v.p[i]);
}

/* Returns true for a page that is a list with a short section for each word. In the results, such
 * sections come after sections that explain the word. */
static bool is_list(pdl_str page) {
    return pdl_str_is(page, "docs/manual/rules.md") ||
           pdl_str_is(page, "docs/manual/quick-reference.md") ||
           pdl_str_is(page, "docs/differences.md") ||
           pdl_str_starts(page, PDL_STR("docs/manual/messages"));
}

static size_t words_in(pdl_str heading) {
    size_t n = 1;
    for (size_t i = 0; i < heading.n; i++) n += heading.p[i] == ' ';
    return n;
}

/* Returns true when the query is a heading, or the name of a page: "mock" means
 * docs/manual/mock.md. */
static bool is_named(const manual_section *s, pdl_str query) {
    size_t slash = pdl_str_rfind(s->page, PDL_STR("/"));
    size_t end = pdl_str_rfind(s->page, PDL_STR("."));
    return pdl_manual_is_named(s->heading, query) ||
           (s->is_first && slash != PDL_NOT_FOUND && end != PDL_NOT_FOUND &&
            pdl_manual_is_named(pdl_str_sub(s->page, slash + 1, end), query));
}

/* Returns what a word adds to the score of a section; 0 when the section lacks it. */
static size_t score_of_word(const manual_section *s, const query_words *all, const sought *w) {
    size_t in_heading = pdl_manual_count(s->heading, w->text);
    size_t in_body = pdl_manual_count(s->body, w->text);
    size_t share = in_body * 10000 / (s->body.n + 500);
    if (!in_heading && !in_body) return 0;
    size_t score = (in_heading ? IN_HEADING / words_in(s->heading) : 0) +
                   (share < MAX_IN_BODY ? share : MAX_IN_BODY);
    return score * (all->sections - w->sections) / all->sections + 1;
}

/* Returns the score of a section; 0 when the section has fewer of the required words than
 * `least`. */
static size_t score_of(const manual_section *s, const query_words *all, pdl_str query,
                       size_t least) {
    if (pdl_manual_is_at(s, &all->called)) return NAMED + 1;
    if (is_named(s, query)) return NAMED;
    if (pdl_manual_has_called(s)) return 0; /* this section only leads to others */
    size_t score = 0, found = 0;
    for (size_t i = 0; i < all->v.n; i++) {
        size_t more = score_of_word(s, all, &all->v.p[i]);
        score += more;
        found += more && (!all->rare || is_rare(all, &all->v.p[i]));
    }
    if (found < least) return 0;
    return is_list(s->page) ? score / LIST + 1 : score;
}

/* Inserts a section into the list of the best sections, which is sorted. */
static void keep(scored_section *best, size_t *n, scored_section f) {
    size_t at = *n;
    while (at && best[at - 1].score < f.score) at--;
    if (at > MAX_OTHERS) return;
    if (*n <= MAX_OTHERS) ++*n;
    for (size_t i = *n - 1; i > at; i--) best[i] = best[i - 1];
    best[at] = f;
}

static void put_name(const manual_section *s, pdl_buf *out) {
    pdl_manual_put_plain(s->title, out);
    if (s->is_first) return;
    PDL_PUT(out, ": ");
    pdl_manual_put_plain(s->heading, out);
}

static void put_names(const scored_section *best, size_t n, pdl_buf *out) {
    for (size_t i = 0; i < n; i++) {
        PDL_PUT(out, "  ");
        put_name(&best[i].s, out);
        pdl_buf_putc(out, '\n');
    }
}

static int show(const scored_section *best, size_t n) {
    pdl_buf out = PDL_BUF;
    put_name(&best[0].s, &out);
    pdl_buf_putf(&out, " (%.*s)\n\n", PDL_FMT(best[0].s.page));
    pdl_manual_put(best[0].s.body, &out);
    if (n > 1) PDL_PUT(&out, "\nMore in the manual (pdl docs HEADING shows one):\n");
    put_names(best + 1, n - 1, &out);
    int code = pdl_cli_put_stdout(pdl_buf_str(&out));
    pdl_buf_fini(&out);
    return code;
}

/* Prints the list of the pages of the manual. */
static int show_pages(void) {
    pdl_buf out = PDL_BUF;
    manual_walk w = {0};
    for (manual_section s; pdl_manual_next(&w, &s);) {
        if (!s.is_first) continue;
        pdl_manual_put_plain(s.heading, &out);
        pdl_buf_putc(&out, '\n');
    }
    int code = pdl_cli_put_stdout(pdl_buf_str(&out));
    pdl_buf_fini(&out);
    return code;
}

/* Finds the sections that have at least so many of the required words, the best one first. Returns
 * their number. */
static size_t find(const query_words *all, pdl_str query, size_t least, scored_section *best) {
    size_t n = 0;
    manual_walk w = {0};
    for (manual_section s; all->v.n && pdl_manual_next(&w, &s);) {
        /* this section is only a list of sections */
        if (pdl_str_starts(s.heading, PDL_STR("["))) continue;
        size_t score = score_of(&s, all, query, least);
        if (score) keep(best, &n, (scored_section){s, score});
    }
    return n;
}

static size_t required(const query_words *all) { return all->rare ? all->rare : all->v.n; }

bool pdl_cli_docs_show(pdl_str word, int *code) {
    query_words all = {0};
    scored_section best[MAX_OTHERS + 1];
    *pdl_vec_push(&all.v) = (sought){word, 0};
    weigh(&all);
    (void)pdl_manual_called(word, &all.called);
    size_t n = find(&all, word, 1, best);
    if (n) *code = show(best, n);
    pdl_vec_fini(&all.v);
    return n > 0;
}

/* Prints an error that says what was not found. Then lists the sections that have the most of the
 * words. No section has more than `most` words. */
static int list_nearest(const query_words *all, pdl_str query, size_t most, const char *missing) {
    scored_section best[MAX_OTHERS + 1];
    size_t n = 0;
    for (size_t least = most; !n && least; least--) n = find(all, query, least, best);
    pdl_err err = {0};
    (void)pdl_err_set(&err, PDL_E_runtime, (pdl_loc){0}, "%s %.*s; %s", missing,
                      PDL_FMT(pdl_cli_visible(query)),
                      n ? "these have some of it" : "pdl docs lists its pages");
    pdl_cli_print_error(&err, NULL);
    pdl_err_fini(&err);
    pdl_buf out = PDL_BUF;
    put_names(best, n, &out);
    if (n) (void)pdl_cli_put_stdout(pdl_buf_str(&out));
    pdl_buf_fini(&out);
    return 1;
}

static int show_nearest(const query_words *all, pdl_str query) {
    size_t all_words = required(all);
    return list_nearest(all, query, all_words ? all_words - 1 : 0, "no section of the manual has");
}

/* Returns a word without the punctuation around it. The result is empty for a name, path or number
 * of a program, which the manual cannot have. */
static pdl_str plain_word(pdl_str word) {
    while (word.n && !pdl_cp_is_alnum((unsigned char)word.p[0]))
        word = pdl_str_sub(word, 1, word.n);
    while (word.n && !pdl_cp_is_alnum((unsigned char)word.p[word.n - 1])) word.n--;
    for (size_t i = 0; i < word.n; i++)
        if (word.p[i] != '-' && (pdl_lower(word.p[i]) < 'a' || pdl_lower(word.p[i]) > 'z'))
            return (pdl_str){0};
    return word;
}

int pdl_cli_docs_nearest(pdl_str message) {
    query_words all = {0};
    for (pdl_str rest = message; rest.n && all.v.n < MAX_WORDS;) {
        pdl_str word = plain_word(pdl_str_take(&rest, PDL_STR(" ")));
        if (word.n) *pdl_vec_push(&all.v) = (sought){word, 0};
    }
    weigh(&all);
    const char *missing = "no section of the manual shows the message";
    int code = list_nearest(&all, message, required(&all), missing);
    pdl_vec_fini(&all.v);
    return code;
}

int pdl_cli_cmd_docs(const arguments *a) {
    if (!a->files.n) return show_pages();
    query_words all = {0};
    pdl_buf query = PDL_BUF;
    scored_section best[MAX_OTHERS + 1];
    int code;
    read_words(a, &all, &query);
    if (all.v.n > MAX_WORDS) {
        code = pdl_cli_refuse(a, "at most 16 words are looked for");
    } else {
        weigh(&all);
        (void)pdl_manual_called(pdl_buf_str(&query), &all.called);
        size_t n = find(&all, pdl_buf_str(&query), required(&all), best);
        code = n ? show(best, n) : show_nearest(&all, pdl_buf_str(&query));
    }
    pdl_buf_fini(&query);
    pdl_vec_fini(&all.v);
    return code;
}
