/* redact.c -- see redact.h. What holds no secret is shared, not copied. */
#include "trace/redact.h"

#include <string.h>

#include "base/limits.h"

#include "base/banned.h"

typedef struct key_name {
    char text[24];
    size_t n;
} key_name;
#define WORD(w) {w, sizeof w - 1}
static const key_name secret_keys[] = {WORD("api_key"),        WORD("apikey"),
                                   WORD("token"),          WORD("zen_api_key"),
                                   WORD("azure_ad_token"), WORD("aws_secret_access_key"),
                                   WORD("aws_session_token")};
static const key_name header_keys[] = {WORD("extra_headers"), WORD("headers")};

#define SHOWN "[REDACTED]"

typedef struct redactor {
    const pdl_str *secrets;
    size_t n;
    unsigned depth;
} redactor;

static bool listed(pdl_str key, const key_name *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (key.n == list[i].n && pdl_str_eq_nocase(key, (pdl_str){list[i].text, list[i].n})) return true;
    return false;
}

static bool contains_nocase(pdl_str s, pdl_str word) {
    for (size_t i = 0; i + word.n <= s.n; i++)
        if (pdl_str_eq_nocase(pdl_str_sub(s, i, i + word.n), word)) return true;
    return false;
}

static bool is_secret_header(pdl_str key) {
    return contains_nocase(key, PDL_STR("authorization")) || contains_nocase(key, PDL_STR("key"));
}

/* The first secret in text at or behind from; *which of them. Longest wins where several begin. */
static size_t next_secret(pdl_str text, size_t from, const pdl_str *secrets, size_t n, size_t *which) {
    size_t best = PDL_NOT_FOUND;
    for (size_t i = 0; i < n; i++) {
        size_t at = secrets[i].n ? pdl_str_find(text, secrets[i], from) : PDL_NOT_FOUND;
        if (at == PDL_NOT_FOUND || at > best) continue;
        if (at < best || secrets[i].n > secrets[*which].n) *which = i;
        best = at;
    }
    return best;
}

void pdl_redact_text(pdl_str text, const pdl_str *secrets, size_t n, pdl_buf *out) {
    size_t from = 0, which = 0, at;
    while ((at = next_secret(text, from, secrets, n, &which)) != PDL_NOT_FOUND) {
        pdl_buf_put(out, pdl_str_sub(text, from, at));
        PDL_PUT(out, SHOWN);
        from = at + secrets[which].n;
    }
    pdl_buf_put(out, pdl_str_sub(text, from, text.n));
}

/* The redacted form (owned), or absent when v can stay. */
static pdl_val redacted(redactor *r, pdl_vref v, bool headers);

static pdl_val redacted_text(const redactor *r, pdl_vref v) {
    size_t which = 0;
    pdl_str s = pdl_str_get(v);
    if (next_secret(s, 0, r->secrets, r->n, &which) == PDL_NOT_FOUND) return pdl_absent();
    pdl_buf b = PDL_BUF;
    pdl_redact_text(s, r->secrets, r->n, &b);
    return pdl_text_of_buf(&b);
}

static pdl_val redacted_list(redactor *r, pdl_vref v) {
    pdl_val out = pdl_absent();
    for (size_t i = 0; i < pdl_list_len(v); i++) {
        pdl_val x = redacted(r, pdl_list_at(v, i), false);
        if (pdl_is_absent(x)) continue;
        if (pdl_is_absent(out)) out = pdl_keep(v);
        out = pdl_list_set(out, i, x);
    }
    return out;
}

static pdl_val redacted_dict(redactor *r, pdl_vref v, bool headers) {
    pdl_val out = pdl_absent();
    for (size_t i = 0; i < pdl_dict_len(v); i++) {
        pdl_vref key = pdl_dict_key_at(v, i), x = pdl_dict_val_at(v, i);
        pdl_str k = pdl_is_str(key) ? pdl_str_get(key) : PDL_STR("");
        bool secret = listed(k, secret_keys, sizeof secret_keys / sizeof *secret_keys) ||
                      (headers && is_secret_header(k));
        bool inside = listed(k, header_keys, sizeof header_keys / sizeof *header_keys);
        pdl_val now = secret && pdl_is_str(x) && pdl_str_get(x).n ? pdl_textz(SHOWN) : redacted(r, x, inside);
        if (pdl_is_absent(now)) continue;
        if (pdl_is_absent(out)) out = pdl_keep(v);
        out = pdl_dict_put(out, pdl_keep(key), now);
    }
    return out;
}

static pdl_val redacted(redactor *r, pdl_vref v, bool headers) {
    if (pdl_is_str(v)) return r->n ? redacted_text(r, v) : pdl_absent();
    if (!pdl_is_list(v) && !pdl_is_dict(v)) return pdl_absent();
    if (r->depth >= PDL_MAX_JSON_DEPTH) return pdl_absent(); /* deeper than anything that is written */
    r->depth++;
    pdl_val out = pdl_is_list(v) ? redacted_list(r, v) : redacted_dict(r, v, headers);
    r->depth--;
    return out;
}

pdl_val pdl_redact_val(pdl_val v, const pdl_str *secrets, size_t n) {
    redactor r = {secrets, n, 0};
    pdl_val out = redacted(&r, v, false);
    if (pdl_is_absent(out)) return v;
    pdl_drop(v);
    return out;
}
