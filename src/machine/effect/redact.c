/* redact.c -- see secret.h. Finds the secrets of the register in a text and replaces them.
 *
 * The register is a tree of bytes: a search at one position of a text takes one step for each byte
 * that agrees with a secret, however many secrets there are. A long secret (the key of a service
 * account) is registered in parts. So when a part almost matches, the search steps back by the
 * length of a part at most, and redaction takes linear time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "effect/redact.h"

#include <assert.h>
#include <string.h>

#include "base/limits.h"
#include "base/os.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "value/memo.h"
#include "value/text.h"

#include "base/banned.h"

enum {
    LONGEST_PART = 512,
    /* maximum number of backslashes in a row; each level of JSON inside JSON doubles
     * their number */
    LONGEST_RUN = 64,
    /* When the end of a text cuts a secret, the beginning of the secret is redacted if it has at
     * least this length. A shorter beginning is shown. */
    MIN_CUT = 4,
    /* Number of excerpts in which the end of a secret is searched. Excerpts after these are
     * redacted as a whole. */
    MAX_TAILS = 100,
};

/* An edge of the tree, in a hash table. The key is from << 8 | byte, plus one, since 0 is an empty
 * slot. */
typedef struct edge {
    uint64_t key;
    uint32_t to;
} edge;

struct pdl_secrets {
    bool begins[256]; /* bytes with which a secret begins */
    edge *edges;      /* hash table with cap slots; cap is a power of two */
    size_t n_edges, cap;
    size_t n_ends; /* number of nodes with the flag ENDS */
    /* flags ENDS, GOES_ON, FIRST of each node; the first node is the root */
    PDL_VEC(unsigned char) nodes;
};

enum { ENDS = 1, GOES_ON = 2, FIRST = 4 /* set by pdl_secrets_add_first */ };

pdl_secrets *pdl_secrets_new(void) {
    pdl_secrets *s = PDL_NEW(pdl_secrets);
    *pdl_vec_push(&s->nodes) = 0;
    return s;
}

void pdl_secrets_free(pdl_secrets *s) {
    if (!s) return;
    if (s->edges) pdl_os_wipe(s->edges, s->cap * sizeof *s->edges);
    pdl_free(s->edges);
    pdl_vec_fini(&s->nodes);
    pdl_free(s);
}

bool pdl_secrets_any(const pdl_secrets *s) { return s && s->n_edges; }
size_t pdl_secrets_size(const pdl_secrets *s) { return s ? s->n_ends : 0; }

/* --- the tree --------------------------------------------------------------------------------- */

static edge *slot_of(const pdl_secrets *s, uint64_t key) {
    uint64_t h = key * UINT64_C(0x9e3779b97f4a7c15);
    size_t i = (size_t)(h >> 32) & (s->cap - 1);
    while (s->edges[i].key && s->edges[i].key != key) i = (i + 1) & (s->cap - 1);
    return &s->edges[i];
}

static uint64_t key_of(uint32_t from, char c) {
    return ((uint64_t)from << 8 | (unsigned char)c) + 1;
}

/* Returns the child of a node for the character; 0 when there is no such child. */
static uint32_t child(const pdl_secrets *s, uint32_t from, char c) {
    return slot_of(s, key_of(from, c))->to;
}

static void grow(pdl_secrets *s) {
    if (s->cap && s->n_edges * 2 < s->cap) return;
    edge *old = s->edges;
    size_t n = s->cap;
    s->cap = n ? n * 2 : 256;
    s->edges = PDL_NEW_N(edge, s->cap);
    for (size_t i = 0; i < n; i++)
        if (old[i].key) *slot_of(s, old[i].key) = old[i];
    if (old) pdl_os_wipe(old, n * sizeof *old);
    pdl_free(old);
}

static uint32_t child_made(pdl_secrets *s, uint32_t from, char c) {
    grow(s);
    edge *e = slot_of(s, key_of(from, c));
    if (e->to) return e->to;
    *e = (edge){key_of(from, c), (uint32_t)s->nodes.n};
    s->n_edges++;
    s->nodes.p[from] |= GOES_ON;
    *pdl_vec_push(&s->nodes) = 0;
    return e->to;
}

static uint32_t add_part(pdl_secrets *s, pdl_str text) {
    uint32_t node = 0;
    s->begins[(unsigned char)text.p[0]] = true;
    for (size_t i = 0; i < text.n; i++) node = child_made(s, node, text.p[i]);
    s->n_ends += !(s->nodes.p[node] & ENDS);
    s->nodes.p[node] |= ENDS;
    return node;
}

void pdl_secrets_add(pdl_secrets *s, pdl_str text) {
    if (!s || !text.n) return;
    size_t parts = (text.n + LONGEST_PART - 1) / LONGEST_PART;
    for (size_t i = 0; i < parts; i++)
        add_part(s, pdl_str_sub(text, text.n * i / parts, text.n * (i + 1) / parts));
}

bool pdl_secrets_add_first(pdl_secrets *s, pdl_str text) {
    if (!s || !text.n) return false;
    if (text.n > LONGEST_PART) {
        pdl_secrets_add(s, text);
        return true;
    }
    uint32_t node = add_part(s, text); /* this call may move the nodes */
    bool first = !(s->nodes.p[node] & FIRST);
    s->nodes.p[node] |= FIRST;
    return first;
}

/* --- finding ---------------------------------------------------------------------------------- */

/* The ways in which a secret may be spelled. ESCAPED: its backslashes are doubled. NUMBERED: its
 * backslashes are written as \u005c or \x5c. ENTITIES: with the entities of HTML, also inside JSON.
 * ENTITIES_DEEP: &amp;lt; also means <. */
typedef enum { AS_IT_IS, ESCAPED, NUMBERED, PERCENT, ENTITIES, ENTITIES_DEEP, N_WRITINGS } writing;

/* The state of a search at one position of t. t was read up to `at`. The longest secret found so
 * far ends at `end`, which is 0 when none was found. `cut` says that t ends before the answer is
 * known. */
typedef struct redact_walk {
    const pdl_secrets *s;
    pdl_str t;
    size_t at, end;
    uint32_t node;
    bool cut, met[N_WRITINGS]; /* met[i]: the escape character of spelling i was read */
} walk;

static bool take(walk *w, char c) {
    assert(w->node < w->s->nodes.n);
    uint32_t to = child(w->s, w->node, c);
    if (to) w->node = to;
    return to != 0;
}

static bool take_all(walk *w, const char *p, size_t n) {
    uint32_t before = w->node;
    for (size_t i = 0; i < n; i++)
        if (!take(w, p[i])) {
            w->node = before;
            return false;
        }
    return true;
}

static int digit(char c) {
    int low = c | 32;
    if (c >= '0' && c <= '9') return c - '0';
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/* Returns the value of n hexadecimal digits at `at`; -1 when there are not n digits. */
static int32_t number_at(walk *w, size_t at, size_t n) {
    int32_t v = 0;
    for (size_t i = 0; i < n; i++) {
        if (at + i >= w->t.n) {
            w->cut = true;
            return -1;
        }
        int d = digit(w->t.p[at + i]);
        if (d < 0) return -1;
        v = v << 4 | d;
    }
    return v;
}

static size_t run_at(const walk *w, size_t at) {
    size_t n = 0;
    while (n < LONGEST_RUN && at + n < w->t.n && w->t.p[at + n] == '\\') n++;
    return n;
}

/* Returns the code point whose hexadecimal digits follow "\u"; -1 when there is none. A pair of
 * surrogates is one code point, written as two such escapes. *n gets the number of bytes from the
 * first digit to the last, including the "\u" between a pair. */
static int32_t unicode_at(walk *w, size_t at, size_t *n) {
    int32_t high = number_at(w, at, 4);
    *n = 4;
    if (high < 0xd800 || high > 0xdfff) return high;
    size_t low_at = at + 4 + run_at(w, at + 4) + 1;
    int32_t low = number_at(w, low_at, 4);
    if (high > 0xdbff || low < 0xdc00 || low > 0xdfff) return -1;
    *n = low_at + 4 - at;
    return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

/* Reads the letter of an escape, after its backslashes. */
static bool take_escape(walk *w) {
    /* the letter 0 means the NUL that ends controls */
    static const char letters[] = "ntrbf0", controls[] = "\n\t\r\b\f";
    char c = w->t.p[w->at], utf8[4];
    const char *known = c ? strchr(letters, c) : NULL;
    size_t n = 0;
    int32_t v = -1;
    if (c == 'u') v = unicode_at(w, w->at + 1, &n);
    if (c == 'x') v = number_at(w, w->at + 1, n = 2);
    if (v >= 0 && take_all(w, utf8, pdl_utf8_put((uint32_t)v, utf8))) {
        w->at += n + 1;
        return true;
    }
    if (!(known && take(w, controls[known - letters])) && !take(w, c)) return false;
    w->at++;
    return true;
}

/* Reads backslashes and the characters that they escape. Each level of escaping doubles the
 * backslashes of the secret. */
static bool take_backslashes(walk *w) {
    size_t run = run_at(w, w->at), own = 0, used = 0;
    while (own < run && take(w, '\\')) own++;
    for (used = own; used && used * 2 <= run;) used *= 2;
    if (own && w->s->nodes.p[w->node] & ENDS) w->end = w->at + used;
    w->at += run;
    if (w->at >= w->t.n) {
        w->cut = true;
        return false;
    }
    return take_escape(w);
}

/* Reads a backslash of the secret that is written by its number: \u005c or \x5c. */
static bool take_numbered(walk *w) {
    size_t n = run_at(w, w->at), digits = 0, at = w->at + n;
    char kind = at < w->t.n ? w->t.p[at] : '\0';
    int32_t v = kind == 'u'   ? number_at(w, at + 1, digits = 4)
                : kind == 'x' ? number_at(w, at + 1, digits = 2)
                              : -1;
    if (v != '\\' || !take(w, '\\')) return take_backslashes(w);
    w->at = at + 1 + digits;
    return true;
}

static bool take_percent(walk *w) {
    int32_t v = number_at(w, w->at + 1, 2);
    if (v < 0 || !take(w, (char)(unsigned char)v)) return false;
    w->at += 3;
    return true;
}

/* Returns how many bytes of t at `at` spell an ampersand, which may be written as \u0026. */
static size_t ampersand_at(walk *w, size_t at) {
    if (at < w->t.n && w->t.p[at] == '&') return 1;
    size_t n = run_at(w, at), u = at + n;
    return n && u < w->t.n && w->t.p[u] == 'u' && number_at(w, u + 1, 4) == '&' ? n + 5 : 0;
}

/* Returns the code point of "amp;", "#38;" or "#x26;" at `at`; -1 when there is no entity. *n gets
 * the number of its bytes. */
static int32_t entity_at(walk *w, size_t at, size_t *n) {
    static const struct {
        const char *name;
        char c;
    } names[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
    enum { LONGEST_ENTITY = 12, MAX_POINT = 0x10ffff };
    pdl_str rest = pdl_str_sub(w->t, at, w->t.n);
    size_t end = 0;
    while (end < rest.n && end < LONGEST_ENTITY && rest.p[end] != ';') end++;
    if (end == rest.n) w->cut = true;
    if (end == rest.n || rest.p[end] != ';') return -1;
    *n = end + 1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (pdl_str_eq(pdl_str_sub(rest, 0, end), pdl_str_of(names[i].name))) return names[i].c;
    if (end < 2 || rest.p[0] != '#') return -1;
    bool hex = (rest.p[1] | 32) == 'x';
    int32_t v = hex && end == 2 ? -1 : 0;
    for (size_t i = hex ? 2 : 1; v >= 0 && v <= MAX_POINT && i < end; i++) {
        int d = digit(rest.p[i]);
        v = d < 0 || (!hex && d > 9) ? -1 : v * (hex ? 16 : 10) + d;
    }
    return v > MAX_POINT || (v >= 0xd800 && v <= 0xdfff) ? -1 : v;
}

/* Reads a character that is written as an entity. With `deep`, the ampersand of an entity may be an
 * entity itself, at any depth. */
static bool take_entity(walk *w, bool deep) {
    char utf8[4];
    size_t n = 0, at = w->at + ampersand_at(w, w->at), from = at;
    uint32_t before = w->node, taken = 0;
    for (unsigned depth = 0; at > w->at && depth < LONGEST_RUN; depth++) {
        int32_t v = entity_at(w, at, &n);
        if (v < 0) break;
        at += n;
        w->node = before;
        if (take_all(w, utf8, pdl_utf8_put((uint32_t)v, utf8))) {
            taken = w->node;
            from = at;
        }
        if (v != '&' || !deep) break;
    }
    w->node = taken ? taken : before;
    if (taken) w->at = from;
    return taken != 0;
}

/* Reads the next character of a secret in this spelling. c is the character of the text at w->at.
 * Returns false when no secret continues with this character. */
static bool take_written(walk *w, char c, writing how) {
    bool entities = how == ENTITIES || how == ENTITIES_DEEP;
    if (entities && (c == '&' || c == '\\') && take_entity(w, how == ENTITIES_DEEP)) return true;
    if (how == PERCENT && c == '%') return take_percent(w);
    if (how == NUMBERED && c == '\\') return take_numbered(w);
    if ((how == ESCAPED || entities) && c == '\\') return take_backslashes(w);
    if (!take(w, c)) return false;
    w->at++;
    return true;
}

/* Returns true for the beginning of a secret in a text that was visibly shortened: "abcd...". */
static bool is_shortened(const walk *w, size_t from) {
    return w->at - from >= MIN_CUT &&
           pdl_str_starts(pdl_str_sub(w->t, w->at, w->t.n), PDL_STR("..."));
}

/* Returns how many bytes of t at `at` are a secret in this spelling; 0 when there is no secret.
 * When t begins inside of a secret, `node` is the node of the tree after the bytes that were cut
 * off; otherwise it is 0. */
static size_t match_so(walk *w, size_t at, uint32_t node, writing how) {
    w->at = at;
    w->node = node;
    w->end = 0;
    for (;;) {
        if (w->at >= w->t.n) {
            w->cut = w->cut || w->s->nodes.p[w->node] & GOES_ON;
            break;
        }
        char c = w->t.p[w->at];
        if (c == '\\') w->met[ESCAPED] = w->met[NUMBERED] = true;
        if (c == '%') w->met[PERCENT] = true;
        if (c == '&' || c == '\\') w->met[ENTITIES] = w->met[ENTITIES_DEEP] = true;
        if (!take_written(w, c, how)) {
            if (!w->end && is_shortened(w, at)) w->end = w->at;
            break;
        }
        if (w->s->nodes.p[w->node] & ENDS) w->end = w->at;
    }
    return w->end ? w->end - at : 0;
}

static bool may_begin(const pdl_secrets *s, char c) {
    return s->begins[(unsigned char)c] || c == '\\' || c == '%' || c == '&';
}

size_t pdl_redact_match(const pdl_secrets *s, pdl_str t, size_t at, pdl_at_end end, bool *cut) {
    walk w = {.s = s, .t = t};
    size_t best = 0;
    *cut = false;
    if (!may_begin(s, t.p[at])) return 0;
    w.met[AS_IT_IS] = true;
    for (int how = AS_IT_IS; how < N_WRITINGS; how++) {
        /* a spelling whose escape character was not read is the same as AS_IT_IS */
        if (!w.met[how]) continue;
        w.cut = false;
        size_t n = match_so(&w, at, 0, (writing)how);
        best = n > best ? n : best;
        *cut = *cut || w.cut;
    }
    if (!best && *cut && end == REDACT_CUT && t.n - at >= MIN_CUT) return t.n - at;
    return best;
}

/* Returns true when the mark of an excerpt ends at `at`. Such an excerpt begins in the middle of a
 * long source line. */
static bool is_left_cut(pdl_str t, size_t at) {
    const pdl_str mark = PDL_STR("| ...");
    return at >= mark.n && pdl_str_eq(pdl_str_sub(t, at - mark.n, at), mark);
}

static size_t rest_of_line(pdl_str t, size_t at) {
    size_t end = pdl_str_find(t, PDL_STR("\n"), at);
    return (end == PDL_NOT_FOUND ? t.n : end) - at;
}

/* Returns how many bytes of t at `at` are the end of a secret whose beginning is not in t. The
 * search starts at each byte of each secret, so it is used only for the few excerpts of an
 * error. */
static size_t match_tail(const pdl_secrets *s, pdl_str t, size_t at) {
    walk w = {.s = s, .t = t};
    size_t best = 0;
    for (uint32_t node = 1; node < s->nodes.n; node++)
        for (int how = AS_IT_IS; how < N_WRITINGS; how++) {
            size_t n = match_so(&w, at, node, (writing)how);
            best = n > best ? n : best;
        }
    return best >= MIN_CUT ? best : 0;
}

/* --- redaction -------------------------------------------------------------------------------- */

static bool holds_any(const pdl_secrets *s, pdl_str t) {
    bool cut;
    for (size_t i = 0; i < t.n; i++)
        if (pdl_redact_match(s, t, i, SHOW_CUT, &cut)) return true;
    return false;
}

/* Appends t without secrets. Returns how much of t is done: all of it, unless the end is held back.
 */
static size_t redact(const pdl_secrets *s, pdl_str t, pdl_at_end end, pdl_buf *out) {
    size_t from = 0, i = 0;
    unsigned tails = 0;
    while (i < t.n) {
        bool cut;
        size_t n = pdl_redact_match(s, t, i, end, &cut);
        if (!n && end == REDACT_CUT && is_left_cut(t, i))
            n = tails++ < MAX_TAILS ? match_tail(s, t, i) : rest_of_line(t, i);
        if (cut && end == HOLD_CUT) break;
        if (!n) {
            i++;
            continue;
        }
        pdl_buf_put(out, pdl_str_sub(t, from, i));
        PDL_PUT(out, PDL_SECRET_SHOWN);
        from = i += n;
    }
    pdl_buf_put(out, pdl_str_sub(t, from, i));
    return i;
}

void pdl_secrets_each_in(const pdl_secrets *s, pdl_str text, void (*fn)(void *user, pdl_str found),
                         void *user) {
    bool cut;
    if (!pdl_secrets_any(s)) return;
    for (size_t i = 0, n; i < text.n; i += n ? n : 1) {
        n = pdl_redact_match(s, text, i, SHOW_CUT, &cut);
        if (n) fn(user, pdl_str_sub(text, i, i + n));
    }
}

void pdl_redact_text(const pdl_secrets *s, pdl_str text, pdl_buf *out) {
    if (pdl_secrets_any(s))
        (void)redact(s, text, SHOW_CUT, out);
    else
        pdl_buf_put(out, text);
}

void pdl_redact_cut(const pdl_secrets *s, pdl_str text, pdl_buf *out) {
    if (pdl_secrets_any(s))
        (void)redact(s, text, REDACT_CUT, out);
    else
        pdl_buf_put(out, text);
}

void pdl_redactor_feed(pdl_redactor *h, pdl_str piece, pdl_buf *out) {
    if (!h->held.len && !pdl_secrets_any(h->secrets)) {
        pdl_buf_put(out, piece);
        return;
    }
    pdl_buf_put(&h->held, piece);
    pdl_buf_shift(&h->held, redact(h->secrets, pdl_buf_str(&h->held), HOLD_CUT, out));
}

void pdl_redactor_end(pdl_redactor *h, pdl_buf *out) {
    if (h->held.len) (void)redact(h->secrets, pdl_buf_str(&h->held), SHOW_CUT, out);
    pdl_buf_fini(&h->held);
    h->held = PDL_BUF;
}

/* --- values ----------------------------------------------------------------------------------- */

typedef struct redaction {
    const pdl_secrets *s;
    unsigned depth;
    pdl_steps steps;
    /* memo of values whose redacted form is known; its `way` is 1 for headers and 0 for other
     * values */
    pdl_memo memo;
} redaction;

/* Returns the redacted form (owned), or absent when v can stay: values without a secret are shared,
 * not copied. */
static pdl_val redacted(redaction *h, pdl_vref v, bool headers);

static pdl_val redacted_text(const redaction *h, pdl_vref v) {
    pdl_str t = pdl_str_get(v);
    if (!holds_any(h->s, t)) return pdl_absent();
    pdl_buf b = PDL_BUF;
    (void)redact(h->s, t, SHOW_CUT, &b);
    return pdl_text_of_buf(&b);
}

static pdl_val redacted_list(redaction *h, pdl_vref v) {
    pdl_val out = pdl_absent();
    for (size_t i = 0; i < pdl_list_len(v); i++) {
        pdl_val x = redacted(h, pdl_list_at(v, i), false);
        if (pdl_is_absent(x)) continue;
        if (pdl_is_absent(out)) out = pdl_keep(v);
        out = pdl_list_set(out, i, x);
    }
    return out;
}

static bool is_headers(pdl_str key) {
    return pdl_str_eq_nocase(key, PDL_STR("headers")) ||
           pdl_str_eq_nocase(key, PDL_STR("extra_headers"));
}

/* Redacts the value of a key. The name of the key is examined only when the value is a text,
 * because a trace has millions of keys. */
static pdl_val redacted_at(redaction *h, pdl_str key, pdl_vref x, bool headers) {
    if (pdl_is_dict(x)) return redacted(h, x, is_headers(key));
    if (!pdl_is_str(x) || !pdl_str_get(x).n) return redacted(h, x, false);
    bool secret = pdl_is_secret_parameter(key) || (headers && pdl_is_secret_header(key));
    return secret ? pdl_textz(PDL_SECRET_SHOWN) : redacted(h, x, false);
}

static bool any_redacted_key(const redaction *h, pdl_vref v) {
    bool any = false;
    for (size_t i = 0; !any && pdl_secrets_any(h->s) && i < pdl_dict_len(v); i++) {
        pdl_vref key = pdl_dict_key_at(v, i);
        pdl_val x = pdl_is_str(key) ? redacted_text(h, key) : pdl_absent();
        any = !pdl_is_absent(x);
        pdl_drop(x);
    }
    return any;
}

static pdl_val with_keys_redacted(const redaction *h, pdl_vref v) {
    pdl_val d = pdl_dict_new(pdl_dict_len(v));
    for (size_t i = 0; i < pdl_dict_len(v); i++) {
        pdl_vref key = pdl_dict_key_at(v, i);
        pdl_val x = pdl_is_str(key) ? redacted_text(h, key) : pdl_absent();
        d = pdl_dict_put(d, pdl_is_absent(x) ? pdl_keep(key) : x, pdl_keep(pdl_dict_val_at(v, i)));
    }
    return d;
}

static pdl_val redacted_dict(redaction *h, pdl_vref v, bool headers) {
    pdl_val out = pdl_absent();
    for (size_t i = 0; i < pdl_dict_len(v); i++) {
        pdl_vref key = pdl_dict_key_at(v, i);
        pdl_val now = redacted_at(h, pdl_is_str(key) ? pdl_str_get(key) : PDL_STR(""),
                                  pdl_dict_val_at(v, i), headers);
        if (pdl_is_absent(now)) continue;
        if (pdl_is_absent(out)) out = pdl_keep(v);
        out = pdl_dict_put(out, pdl_keep(key), now);
    }
    if (!any_redacted_key(h, v)) return out;
    pdl_val all = with_keys_redacted(h, pdl_is_absent(out) ? v : out);
    pdl_drop(out);
    return all;
}

/* A value that JSON does not have is written as its text. Returns this text, redacted, when it has
 * a secret; otherwise absent. */
static pdl_val redacted_other(redaction *h, pdl_vref v) {
    pdl_err ignored = {0};
    if (!pdl_is(v, PDL_V_TUPLE) && !pdl_is(v, PDL_V_SET) && !pdl_is(v, PDL_V_BYTES) &&
        !pdl_is(v, PDL_V_HANDLE) && !pdl_is(v, PDL_V_UNDEFINED))
        return pdl_absent();
    pdl_buf b = PDL_BUF;
    bool found = pdl_val_str(v, &b, &ignored) && holds_any(h->s, pdl_buf_str(&b));
    pdl_val out = found ? pdl_text_of_buf(&b) : pdl_absent(),
            shown = found ? redacted_text(h, out) : pdl_absent();
    if (!found) pdl_buf_fini(&b);
    pdl_drop(out);
    pdl_err_fini(&ignored);
    return shown;
}

static pdl_val redacted(redaction *h, pdl_vref v, bool headers) {
    if (pdl_is_str(v))
        return pdl_secrets_any(h->s) && pdl_steps_may_continue(&h->steps) ? redacted_text(h, v)
                                                                          : pdl_absent();
    if (!pdl_is_list(v) && !pdl_is_dict(v))
        return pdl_secrets_any(h->s) ? redacted_other(h, v) : pdl_absent();
    pdl_vref known;
    if (h->depth >= PDL_MAX_JSON_DEPTH || !pdl_steps_may_continue(&h->steps))
        return pdl_absent(); /* v is too deep to be written, or the walk was cancelled */
    if (pdl_memo_find(&h->memo, v, headers, &known)) return pdl_keep(known);
    h->depth++;
    pdl_val out = pdl_is_list(v) ? redacted_list(h, v) : redacted_dict(h, v, headers);
    h->depth--;
    pdl_memo_put(&h->memo, v, headers, out);
    return out;
}

pdl_val pdl_redact_val(const pdl_secrets *s, pdl_val v) {
    redaction h = {.s = s};
    pdl_val out = redacted(&h, v, false);
    pdl_memo_fini(&h.memo);
    if (pdl_is_walk_cancelled()) { /* a copy that was cancelled still has secrets */
        pdl_drop(out);
        out = pdl_null();
    }
    if (pdl_is_absent(out)) return v;
    pdl_drop(v);
    return out;
}
