/* secret.c -- decides what is a secret, and which parts of a call, a header or a URL are
 * registered. The decision depends on names and forms alone. The registered texts are then found
 * and replaced by redact.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "effect/secret.h"

#include <string.h>

#include "base/base64.h"
#include "base/ident.h"
#include "base/url.h"
#include "base/word_list.h"
#include "effect/control.h"
#include "effect/effect.h"

#include "base/banned.h"

static const struct {
    const char *name;
    size_t n;
    pdl_control what;
} controls[] = {
#define C(name, what) {#name, sizeof #name - 1, PDL_CONTROL_##what},
#include "effect/control.def"
#undef C
};

bool pdl_control_find(pdl_str name, pdl_control *what) {
    for (size_t i = 0; i < sizeof controls / sizeof controls[0]; i++)
        if (name.n == controls[i].n && (name.p[0] | 32) == controls[i].name[0] &&
            pdl_str_eq_nocase(name, (pdl_str){controls[i].name, controls[i].n})) {
            *what = controls[i].what;
            return true;
        }
    return false;
}

/* --- names ------------------------------------------------------------------------------------ */

bool pdl_is_secret_parameter(pdl_str name) {
    pdl_control c;
    return pdl_control_find(name, &c) && c == PDL_CONTROL_SECRET;
}

bool pdl_is_control_key(pdl_str name) {
    for (size_t i = 0; i < sizeof controls / sizeof controls[0]; i++)
        if (pdl_str_is(name, controls[i].name)) return controls[i].what != PDL_CONTROL_FORM;
    return false;
}

static bool contains_nocase(pdl_str s, pdl_str word) {
    for (size_t i = 0; i + word.n <= s.n; i++)
        if (pdl_str_eq_nocase(pdl_str_sub(s, i, i + word.n), word)) return true;
    return false;
}

bool pdl_is_secret_key(pdl_str name) {
    return pdl_is_secret_parameter(name) || contains_nocase(name, PDL_STR("authorization")) ||
           contains_nocase(name, PDL_STR("key"));
}

/* A header that is not in the list `shown` may have any content that the user gives it. */
bool pdl_is_secret_header(pdl_str name) {
    static const char *const shown[] = {
        "Accept",
        "Accept-Encoding",
        "Accept-Language",
        "Content-Type",
        "Content-Length",
        "User-Agent",
        "Host",
        "Date",
        "Prefer",
        "Referer",
        "HTTP-Referer",
        "X-Title",
        "OpenAI-Organization",
        "OpenAI-Beta",
        "anthropic-version",
        "anthropic-beta",
        "x-amz-date",
        "x-amz-content-sha256",
        "MCP-Protocol-Version",
    };
    return !PDL_STR_IN_NOCASE(name, shown);
}

/* Returns true for a part of a query that only selects what is requested. Such a part is no key. */
static bool is_shown_part(pdl_str name) {
    static const char *const shown[] = {"api-version", "alt", "version", "beta", "stream"};
    return PDL_STR_IN_NOCASE(name, shown);
}

/* --- addresses -------------------------------------------------------------------------------- */

/* The parts of a URL, borrowed. `user` is the part before the @, with colon and password. `query`
 * follows the question mark, and `fragment` follows the number sign. Without "://" in the text,
 * `scheme` and `user` are empty.
 */
typedef struct address {
    pdl_str scheme, user, rest, query, fragment;
    bool has_user, has_query;
} address;

static address address_of(pdl_str url) {
    address a = {.rest = url};
    size_t at = pdl_str_find(url, PDL_STR("://"), 0), end = 0;
    if (at != PDL_NOT_FOUND) {
        a.scheme = pdl_str_sub(url, 0, at + 3);
        a.rest = pdl_str_sub(url, at + 3, url.n);
    }
    while (end < a.rest.n && !strchr("/?#", a.rest.p[end])) end++;
    size_t user = pdl_str_rfind(pdl_str_sub(a.rest, 0, end), PDL_STR("@")), query;
    a.has_user = at != PDL_NOT_FOUND && user != PDL_NOT_FOUND;
    if (a.has_user) {
        a.user = pdl_str_sub(a.rest, 0, user);
        a.rest = pdl_str_sub(a.rest, user + 1, a.rest.n);
    }
    size_t fragment = pdl_str_find(a.rest, PDL_STR("#"), 0);
    if (fragment != PDL_NOT_FOUND) {
        a.fragment = pdl_str_sub(a.rest, fragment + 1, a.rest.n);
        a.rest = pdl_str_sub(a.rest, 0, fragment);
    }
    query = pdl_str_find(a.rest, PDL_STR("?"), 0);
    a.has_query = query != PDL_NOT_FOUND;
    if (a.has_query) {
        a.query = pdl_str_sub(a.rest, query + 1, a.rest.n);
        a.rest = pdl_str_sub(a.rest, 0, query);
    }
    return a;
}

/* Finds the next part "name=value" of a query. Each sign in `ends` ends a part. Returns false at
 * the end of the query. */
static bool next_part(pdl_str *query, const char *ends, pdl_str *name, pdl_str *value) {
    if (!query->n) return false;
    size_t end = 0;
    while (end < query->n && !strchr(ends, query->p[end])) end++;
    if (end == query->n) end = PDL_NOT_FOUND;
    pdl_str part = pdl_str_sub(*query, 0, end);
    size_t eq = pdl_str_find(part, PDL_STR("="), 0);
    *name = eq == PDL_NOT_FOUND ? (pdl_str){"", 0} : pdl_str_sub(part, 0, eq);
    *value = eq == PDL_NOT_FOUND ? part : pdl_str_sub(part, eq + 1, part.n);
    *query = end == PDL_NOT_FOUND ? (pdl_str){"", 0} : pdl_str_sub(*query, end + 1, query->n);
    return true;
}

static void put_query(pdl_str query, pdl_buf *out) {
    pdl_str name, value;
    for (char sign = '?'; next_part(&query, "&;", &name, &value); sign = '&') {
        pdl_buf_putc(out, sign);
        if (name.n) pdl_buf_putf(out, "%.*s=", PDL_FMT(name));
        pdl_buf_put(out, name.n && is_shown_part(name) ? value : PDL_STR("***"));
    }
}

/* Finds the next parameter in a path such as "/..;name=value/..", from *pos on. *start and *end get
 * the offsets of its value. Returns false when there is no further parameter. */
static bool next_parameter(pdl_str path, size_t *pos, size_t *start, size_t *end) {
    size_t semicolon = pdl_str_find(path, PDL_STR(";"), *pos);
    if (semicolon == PDL_NOT_FOUND) return false;
    for (*end = semicolon + 1; *end < path.n && !strchr("/;", path.p[*end]);) ++*end;
    size_t eq = pdl_str_find(pdl_str_sub(path, 0, *end), PDL_STR("="), semicolon);
    *start = eq == PDL_NOT_FOUND ? semicolon + 1 : eq + 1;
    *pos = *end;
    return true;
}

static void put_path(pdl_str path, pdl_buf *out) {
    size_t pos = 0, start, end, done = 0;
    for (; next_parameter(path, &pos, &start, &end); done = end) {
        pdl_buf_put(out, pdl_str_sub(path, done, start));
        if (end > start) PDL_PUT(out, "***");
    }
    pdl_buf_put(out, pdl_str_sub(path, done, path.n));
}

void pdl_address_put(pdl_str url, pdl_buf *out) {
    address a = address_of(url);
    pdl_buf_put(out, a.scheme);
    if (a.has_user) PDL_PUT(out, "***@");
    put_path(a.rest, out);
    if (a.has_query) put_query(a.query, out);
    if (a.fragment.n) PDL_PUT(out, "#***");
}

static void note_decoded(pdl_secrets *s, pdl_str text) {
    pdl_buf b = PDL_BUF;
    pdl_url_unquote(text, &b);
    pdl_secrets_note(s, pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

/* Registers the user information of a URL in three forms: decoded, the password alone, and the
 * Base64 form that the header of the request has. A user without a password is a token. */
static void note_user(pdl_secrets *s, pdl_str user) {
    size_t colon = pdl_str_find(user, PDL_STR(":"), 0);
    pdl_buf plain = PDL_BUF, header = PDL_BUF;
    pdl_url_unquote(user, &plain);
    if (colon == PDL_NOT_FOUND) pdl_buf_putc(&plain, ':');
    pdl_base64_put(pdl_buf_str(&plain), false, &header);
    pdl_secrets_note(s, pdl_buf_str(&header));
    note_decoded(s, user);
    if (colon != PDL_NOT_FOUND) note_decoded(s, pdl_str_sub(user, colon + 1, user.n));
    pdl_buf_fini(&header);
    pdl_buf_fini(&plain);
}

/* Registers the values of "name=value;name=value". A value may contain a semicolon, so three forms
 * are registered: each part alone, each part with the following parts that have no name, and
 * everything from the first value on. With in_query, parts that only select something are not
 * secrets. */
static void note_values(pdl_secrets *s, pdl_str text, bool in_query) {
    pdl_str all = text, name, value, run = {NULL, 0};
    for (const char *ends = ""; next_part(&all, ends, &name, &value);)
        if (!in_query || !is_shown_part(name)) note_decoded(s, value);
    while (next_part(&text, ";", &name, &value)) {
        bool is_shown = in_query && is_shown_part(name);
        if (!is_shown) note_decoded(s, value);
        if (run.p && !name.n) {
            run.n = (size_t)(value.p + value.n - run.p);
            continue;
        }
        note_decoded(s, run);
        run = is_shown ? (pdl_str){NULL, 0} : value;
    }
    note_decoded(s, run);
}

/* Registers the parameters of each segment of a path, "/..;name=value;name=value/..". */
static void note_path(pdl_secrets *s, pdl_str path) {
    size_t pos = 0, start;
    while ((start = pdl_str_find(path, PDL_STR(";"), pos)) != PDL_NOT_FOUND) {
        pos = pdl_str_find(path, PDL_STR("/"), start);
        if (pos == PDL_NOT_FOUND) pos = path.n;
        pdl_str parameters = pdl_str_sub(path, start + 1, pos);
        note_decoded(s, parameters);
        note_values(s, parameters, false);
    }
}

void pdl_secrets_note_address(pdl_secrets *s, pdl_str url) {
    address a = address_of(url);
    if (!s) return;
    if (a.has_user) note_user(s, a.user);
    note_path(s, a.rest);
    for (size_t end; a.query.n; a.query = pdl_str_sub(a.query, end, a.query.n)) {
        end = pdl_str_find(a.query, PDL_STR("&"), 0);
        note_values(s, pdl_str_sub(a.query, 0, end), true);
        end = end == PDL_NOT_FOUND ? a.query.n : end + 1;
    }
    note_decoded(s, a.fragment);
}

/* --- the register ----------------------------------------------------------------------------- */

void pdl_secrets_note(pdl_secrets *s, pdl_str text) {
    static const char *const nobodys[] = {"ollama", "lm-studio",          "not-needed",
                                          "no-key", "sk-no-key-required", "anything"};
    text = pdl_str_trim(text);
    if (!s || text.n < PDL_SECRET_MIN || PDL_STR_IN_NOCASE(text, nobodys)) return;
    /* most requests register a key that is registered already */
    if (!pdl_secrets_add_first(s, text)) return;
    /* the key in hexadecimal digits, because a recording writes bytes in this form */
    pdl_buf b = PDL_BUF;
    for (size_t i = 0; i < text.n; i++)
        pdl_buf_putf(&b, "%02x", (unsigned)(unsigned char)text.p[i]);
    pdl_secrets_add(s, pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

/* NAME_HOSTS says where the key NAME may go, and is not a key itself. */
bool pdl_is_secret_variable(pdl_str name) {
    return pdl_ident_says_secret(name) && !pdl_str_ends(name, PDL_STR("_HOSTS"));
}

void pdl_secrets_note_variable(pdl_secrets *s, pdl_str name, pdl_str value) {
    if (pdl_is_secret_variable(name)) pdl_secrets_note(s, value);
    address a = address_of(value);
    if (s && a.has_user) note_user(s, a.user);
}

/* Registers each value of cookies such as "a=1; b=2". */
static void note_cookies(pdl_secrets *s, pdl_str text) {
    while (text.n) {
        size_t end = pdl_str_find(text, PDL_STR(";"), 0),
               eq = pdl_str_find(pdl_str_sub(text, 0, end), PDL_STR("="), 0);
        if (eq != PDL_NOT_FOUND) pdl_secrets_note(s, pdl_str_sub(text, eq + 1, end));
        text = end == PDL_NOT_FOUND ? (pdl_str){"", 0} : pdl_str_sub(text, end + 1, text.n);
    }
}

/* Returns the length of a beginning such as "Bearer ", "Basic " or "Token ", which is one short
 * word of letters; 0 when the text has no such beginning. */
static size_t scheme_end(pdl_str value) {
    enum { LONGEST_SCHEME = 10 };
    size_t i = 0;
    while (i < value.n && i <= LONGEST_SCHEME && (value.p[i] | 32) >= 'a' &&
           (value.p[i] | 32) <= 'z')
        i++;
    return i && i < value.n && value.p[i] == ' ' ? i + 1 : 0;
}

void pdl_secrets_note_header(pdl_secrets *s, pdl_str name, pdl_str value) {
    if (!s || !pdl_is_secret_header(name)) return;
    value = pdl_str_trim(value);
    bool cookies = pdl_str_eq_nocase(name, PDL_STR("cookie"));
    size_t scheme = cookies ? 0 : scheme_end(value);
    pdl_secrets_note(s, pdl_str_sub(value, scheme, value.n));
    if (cookies) note_cookies(s, value);
}

/* --- names of models -------------------------------------------------------------------------- */

static bool is_key_char(char c) {
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '-' || c == '_' ||
           c == '.';
}

/* Returns true for a part of a name that is like a key. Names are shown everywhere, so a part
 * counts only when it begins like the keys of a known service. A name of a model that begins like a
 * key (pplx-70b-chat) is shorter than any key. */
static bool looks_like_key(pdl_str part) {
    static const char *const begin[] = {
        "sk-",  "sk_",  "gsk_", "csk-", "xai-",    "pplx-", "nvapi-",      "hf_",   "r8_",
        "AIza", "AKIA", "ASIA", "ABSK", "tgp_v1_", "ghp_",  "github_pat_", "jina_",
    };
    enum { SHORTEST_KEY = 20 };
    for (size_t i = 0; part.n >= SHORTEST_KEY && i < sizeof begin / sizeof begin[0]; i++)
        if (pdl_str_starts(part, pdl_str_of(begin[i]))) return true;
    return false;
}

void pdl_secrets_note_model(pdl_secrets *s, pdl_str name) {
    for (size_t i = 0, end; s && i < name.n; i = end + 1) {
        for (end = i; end < name.n && is_key_char(name.p[end]);) end++;
        if (looks_like_key(pdl_str_sub(name, i, end)))
            pdl_secrets_note(s, pdl_str_sub(name, i, end));
    }
}

/* --- parameters ------------------------------------------------------------------------------- */

static void note_params(pdl_secrets *s, pdl_vref v, unsigned depth);

static void note_headers(pdl_secrets *s, pdl_vref d) {
    for (size_t i = 0; pdl_is_dict(d) && i < pdl_dict_len(d); i++) {
        pdl_vref k = pdl_dict_key_at(d, i), v = pdl_dict_val_at(d, i);
        if (pdl_is_str(k) && pdl_is_str(v))
            pdl_secrets_note_header(s, pdl_str_get(k), pdl_str_get(v));
    }
}

/* Registers the private parts of credentials that are the content of a file. */
static void note_credentials(pdl_secrets *s, pdl_vref d) {
    static const char *const parts[] = {"private_key", "client_secret", "refresh_token"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        pdl_vref v = pdl_dict_getz(d, parts[i]);
        if (pdl_is_str(v)) pdl_secrets_note(s, pdl_str_get(v));
    }
}

static bool is_credential(pdl_str name) {
    static const char *const ends[] = {"key",          "secret",      "password",      "passwd",
                                       "credential",   "credentials", "authorization", "auth_token",
                                       "access_token", "api_token"};
    pdl_control c;
    if (pdl_control_find(name, &c)) return c == PDL_CONTROL_SECRET;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t n = strlen(ends[i]);
        if (name.n >= n &&
            pdl_str_eq_nocase(pdl_str_sub(name, name.n - n, name.n), pdl_str_of(ends[i])))
            return true;
    }
    return false;
}

/* Returns true for the path of a file with credentials. The path is not secret, but the content of
 * the file is. */
static bool is_file(pdl_str name, pdl_vref v) {
    return pdl_str_is(name, "vertex_credentials") &&
           !pdl_str_starts(pdl_str_trim(pdl_str_get(v)), PDL_STR("{"));
}

static void note_param(pdl_secrets *s, pdl_str name, pdl_vref v, unsigned depth) {
    static const char *const headers[] = {"headers", "extra_headers"},
                             *const places[] = {"api_base", "base_url", "url"},
                             *const nests[] = {"fallbacks", "model_list", "litellm_params",
                                               "context_window_fallback_dict"};
    if (PDL_STR_IN_NOCASE(name, headers))
        note_headers(s, v);
    else if (pdl_str_is(name, "model") && pdl_is_str(v))
        pdl_secrets_note_model(s, pdl_str_get(v));
    else if (PDL_STR_IN_NOCASE(name, nests))
        note_params(s, v, depth + 1);
    else if (pdl_is_str(v) && PDL_STR_IN_NOCASE(name, places))
        pdl_secrets_note_address(s, pdl_str_get(v));
    else if (pdl_is_str(v) && is_credential(name) && !is_file(name, v))
        pdl_secrets_note(s, pdl_str_get(v));
    else if (pdl_is_dict(v) && pdl_is_secret_parameter(name))
        note_credentials(s, v);
}

/* Registers secret parameters, even in lists of alternatives. The recursion ends at DEEPEST. */
static void note_params(pdl_secrets *s, pdl_vref v, unsigned depth) {
    enum { DEEPEST = 6 };
    if (depth > DEEPEST) return;
    for (size_t i = 0; pdl_is_list(v) && i < pdl_list_len(v); i++) {
        pdl_vref item = pdl_list_at(v, i);
        /* a fallback that is a text is the name of a model */
        if (pdl_is_str(item)) pdl_secrets_note_model(s, pdl_str_get(item));
        note_params(s, item, depth + 1);
    }
    for (size_t i = 0; pdl_is_dict(v) && i < pdl_dict_len(v); i++) {
        pdl_vref k = pdl_dict_key_at(v, i);
        if (pdl_is_str(k)) note_param(s, pdl_str_get(k), pdl_dict_val_at(v, i), depth);
    }
}

void pdl_secrets_note_parameters(pdl_secrets *s, pdl_vref parameters) {
    if (s) note_params(s, parameters, 0);
}

/* Returns true for a text that may be a key: it is long, has letters and digits, and has only
 * characters that occur in keys. */
static bool is_like_key(pdl_str s) {
    enum { SHORTEST = 16 };
    bool letter = false, digit = false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i], low = (char)(c | 32);
        if (!is_key_char(c) && c != '~' && c != '=') return false;
        digit = digit || (c >= '0' && c <= '9');
        letter = letter || (low >= 'a' && low <= 'z');
    }
    return s.n >= SHORTEST && letter && digit;
}

static bool is_key_of_query(pdl_str name) {
    static const char *const words[] = {"token", "sig", "signature", "auth", "pass", "pwd"};
    return is_credential(name) || PDL_STR_IN_NOCASE(name, words);
}

void pdl_secrets_note_page(pdl_secrets *s, pdl_vref request) {
    pdl_vref url = pdl_dict_getz(request, "url");
    if (!s) return;
    note_headers(s, pdl_dict_getz(request, "headers"));
    if (!pdl_is_str(url)) return;
    address a = address_of(pdl_str_get(url));
    pdl_str name, value;
    if (a.has_user) note_user(s, a.user);
    note_path(s, a.rest);
    while (next_part(&a.query, "&", &name, &value))
        if (is_key_of_query(name) || is_like_key(value)) note_decoded(s, value);
}
