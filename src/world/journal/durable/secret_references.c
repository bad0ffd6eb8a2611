/* secret_references.c -- replaces keys by references and back; see secret_references.h.
 *
 * The text is JSON, in which a key may have escapes. So keys are searched in their escaped form,
 * the longer ones first.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "journal/durable/secret_references.h"

#include <string.h>

#include "effect/secret.h"
#include "value/json_write.h"

#include "base/banned.h"

#define MARK "\\u0001"
enum { MARK_LEN = sizeof MARK - 1 };

void pdl_secret_refs_add(secret_refs *k, pdl_str name, pdl_str value) {
    pdl_buf quoted = PDL_BUF;
    if (value.n < PDL_SECRET_MIN) return;
    pdl_json_quote(value, 0, &quoted);
    pdl_str inner = pdl_str_sub(pdl_buf_str(&quoted), 1, quoted.len - 1);
    struct key *at = pdl_vec_push(&k->keys);
    while (at > k->keys.p && at[-1].value.n < inner.n) {
        *at = at[-1];
        at--;
    }
    *at = (struct key){pdl_str_dup(name), {pdl_str_dup(inner), inner.n}};
    pdl_buf_fini(&quoted);
}

void pdl_secret_refs_copy(const secret_refs *from, secret_refs *to) {
    for (size_t i = 0; i < from->keys.n; i++) {
        const struct key *k = &from->keys.p[i];
        *pdl_vec_push(&to->keys) =
            (struct key){pdl_str_dup(pdl_str_of(k->name)), {pdl_str_dup(k->value), k->value.n}};
    }
}

void pdl_secret_refs_fini(secret_refs *k) {
    for (size_t i = 0; i < k->keys.n; i++) {
        pdl_free(k->keys.p[i].name);
        pdl_free((char *)(uintptr_t)k->keys.p[i].value.p);
    }
    pdl_vec_fini(&k->keys);
}

/* Returns the key whose text begins at offset `at`; NULL when there is none. */
static const struct key *key_at(const secret_refs *k, pdl_str s, size_t at) {
    for (size_t i = 0; i < k->keys.n; i++) {
        pdl_str v = k->keys.p[i].value;
        if (s.n - at >= v.n && memcmp(s.p + at, v.p, v.n) == 0) return &k->keys.p[i];
    }
    return NULL;
}

/* Returns the number of bytes of the character at offset `at`. An escape is one character. */
static size_t width(pdl_str s, size_t at) {
    if (s.p[at] != '\\' || at + 1 >= s.n) return 1;
    size_t n = s.p[at + 1] == 'u' ? MARK_LEN : 2;
    return s.n - at < n ? s.n - at : n;
}

static bool is_mark(pdl_str s, size_t at) {
    return s.n - at >= MARK_LEN && memcmp(s.p + at, MARK, MARK_LEN) == 0;
}

static bool holds_any(const secret_refs *k, pdl_str s) {
    if (pdl_str_find(s, PDL_STR(MARK), 0) != PDL_NOT_FOUND) return true;
    for (size_t i = 0; i < k->keys.n; i++)
        if (pdl_str_find(s, k->keys.p[i].value, 0) != PDL_NOT_FOUND) return true;
    return false;
}

void pdl_secret_refs_refer(const secret_refs *k, pdl_str s, pdl_buf *out) {
    if (!holds_any(k, s)) {
        pdl_buf_put(out, s);
        return;
    }
    for (size_t at = 0; at < s.n;) {
        const struct key *key = key_at(k, s, at);
        size_t n = key ? key->value.n : width(s, at);
        if (key)
            pdl_buf_putf(out, MARK "k:%s" MARK, key->name);
        else if (is_mark(s, at))
            PDL_PUT(out, MARK "l" MARK);
        else
            pdl_buf_put(out, pdl_str_sub(s, at, at + n));
        at += n;
    }
}

/* Finds the text between the mark at offset `at` and the next mark. *next: the offset after the
 * second mark. Returns false when there is no second mark, or the text is not a reference. */
static bool reference(pdl_str s, size_t at, pdl_str *what, size_t *next) {
    size_t from = at + MARK_LEN, to = pdl_str_find(s, PDL_STR(MARK), from);
    if (to == PDL_NOT_FOUND) return false;
    *what = pdl_str_sub(s, from, to);
    *next = to + MARK_LEN;
    return pdl_str_is(*what, "l") || pdl_str_starts(*what, PDL_STR("k:"));
}

static bool put_key(const secret_refs *k, pdl_str name, pdl_buf *out, pdl_err *err) {
    for (size_t i = 0; i < k->keys.n; i++) {
        if (!pdl_str_is(name, k->keys.p[i].name)) continue;
        pdl_buf_put(out, k->keys.p[i].value);
        return true;
    }
    if (k->lenient) {
        PDL_PUT(out, PDL_SECRET_SHOWN);
        return true;
    }
    return pdl_err_set(err, PDL_E_config, (pdl_loc){0},
                       "the %s used the key %.*s, which is not set: %s holds its name alone",
                       k->of_search ? "search" : "run", PDL_FMT(name),
                       k->of_search ? "its state" : "a journal");
}

bool pdl_secret_refs_fill(const secret_refs *k, pdl_str s, pdl_buf *out, pdl_err *err) {
    bool ok = true;
    for (size_t at = 0; ok && at < s.n;) {
        size_t mark = pdl_str_find(s, PDL_STR("\\"), at), next;
        pdl_str what;
        pdl_buf_put(out, pdl_str_sub(s, at, mark));
        if (mark == PDL_NOT_FOUND) return true;
        at = mark;
        if (!is_mark(s, at)) {
            next = at + width(s, at);
            pdl_buf_put(out, pdl_str_sub(s, at, next));
        } else if (!reference(s, at, &what, &next)) {
            return pdl_err_set(err, PDL_E_replay, (pdl_loc){0},
                               "the %s is damaged: a reference without an end",
                               k->of_search ? "state" : "journal");
        } else if (what.n == 1) {
            PDL_PUT(out, MARK);
        } else {
            ok = put_key(k, pdl_str_sub(what, 2, what.n), out, err);
        }
        at = next;
    }
    return ok;
}

void pdl_secret_refs_redact(pdl_str s, pdl_buf *out) {
    for (size_t at = 0; at < s.n;) {
        size_t mark = pdl_str_find(s, PDL_STR("\\"), at), next;
        pdl_str what;
        pdl_buf_put(out, pdl_str_sub(s, at, mark));
        if (mark == PDL_NOT_FOUND) return;
        at = mark;
        if (is_mark(s, at) && reference(s, at, &what, &next) && what.n > 1) {
            PDL_PUT(out, PDL_SECRET_SHOWN);
        } else {
            next = at + width(s, at);
            pdl_buf_put(out, pdl_str_sub(s, at, next));
        }
        at = next;
    }
}
