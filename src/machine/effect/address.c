/* address.c -- the URLs that a program names for a call of a model, or for a request to the web,
 * and the files that the engine reads for such a call.
 *
 * The URLs of a model are in its parameters, in the parameters of its fallbacks, and in a
 * processor. Messages are sent to each of these URLs, perhaps with a key, so policies and sandboxes
 * have to see all of them. The service itself sends to some of them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/word_list.h"
#include "effect/effect.h"
#include "value/json_read.h"
#include "value/text.h"

#include "base/banned.h"

enum { MAX_DEPTH = 16 };

typedef struct address_search {
    pdl_address_fn *fn;
    void *user;
    bool files; /* searches for files in place of URLs */
} address_search;

/* Returns true for the name of a member that a service may take for an address: it then sends there
 * itself (server_url of an MCP tool, the endpoint of a data source, a webhook). Upper and lower
 * case do not matter. */
static bool may_name_address(pdl_str name) {
    static const char *const ends[] = {"url", "uri", "endpoint", "webhook"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        pdl_str end = pdl_str_of(ends[i]);
        if (name.n >= end.n && pdl_str_eq_nocase(pdl_str_sub(name, name.n - end.n, name.n), end))
            return true;
    }
    return false;
}

/* Returns true when the member with this key and value is an address. */
static bool is_address(pdl_vref key, pdl_str value) {
    static const char *const names[] = {"api_base", "base_url", "url", "openai_base_url"};
    if (!pdl_is_str(key)) return false;
    if (PDL_STR_IN(pdl_str_get(key), names)) return true;
    return pdl_str_find(value, PDL_STR("://"), 0) != PDL_NOT_FOUND &&
           may_name_address(pdl_str_get(key));
}

/* Returns true for the JSON text of credentials. Another text is the path of a file. */
static bool is_json(pdl_vref v) {
    return pdl_is_str(v) && pdl_str_starts(pdl_str_trim(pdl_str_get(v)), PDL_STR("{"));
}

/* Searches the parameter vertex_credentials. The credentials say where they are exchanged for a
 * token; the usual place needs no judgement. Their other URLs are not used. */
static bool search_credentials(const address_search *s, pdl_vref v, pdl_label labels) {
    pdl_val decoded = pdl_absent();
    pdl_err ignored = {0};
    labels |= pdl_label_of(v);
    if (s->files) return !pdl_is_str(v) || is_json(v) || s->fn(s->user, v, labels);
    if (is_json(v) && !pdl_json_read_document(pdl_str_get(v), 0, &decoded, &ignored)) {
        pdl_err_fini(&ignored); /* these credentials cannot be used */
        return true;
    }
    pdl_vref c = pdl_is_dict(v) ? v : decoded;
    pdl_vref uri = pdl_is_dict(c) ? pdl_dict_getz(c, "token_uri") : pdl_absent();
    bool ok = !pdl_is_str(uri) || pdl_text_is(uri, "https://oauth2.googleapis.com/token") ||
              s->fn(s->user, uri, labels | pdl_label_of(uri));
    pdl_drop(decoded);
    return ok;
}

static bool search(const address_search *s, pdl_vref v, pdl_label outer, unsigned depth) {
    pdl_label inner = outer | pdl_label_of_part(v);
    if (!pdl_is_list(v) && !pdl_is_dict(v)) return true;
    if (depth > MAX_DEPTH) return s->fn(s->user, v, outer | pdl_label_of(v));
    for (size_t i = 0, n = pdl_is_list(v) ? pdl_list_len(v) : 0; i < n; i++)
        if (!search(s, pdl_list_at(v, i), inner, depth + 1)) return false;
    for (size_t i = 0, n = pdl_is_dict(v) ? pdl_dict_len(v) : 0; i < n; i++) {
        pdl_vref key = pdl_dict_key_at(v, i), x = pdl_dict_val_at(v, i);
        pdl_label with_key = inner | pdl_label_of(key);
        if (pdl_text_is(key, "vertex_credentials")) {
            if (!search_credentials(s, x, with_key)) return false;
        } else if (!s->files && pdl_is_str(x) && is_address(key, pdl_str_get(x))) {
            if (!s->fn(s->user, x, with_key | pdl_label_of(x))) return false;
        } else if (!search(s, x, with_key, depth + 1)) {
            return false;
        }
    }
    return true;
}

bool pdl_effect_each_address(const pdl_effect *e, pdl_address_fn *fn, void *user) {
    const address_search s = {fn, user, false};
    pdl_vref r = e->request;
    if (e->kind == PDL_EFFECT_http) {
        pdl_vref url = pdl_dict_getz(r, "url");
        return fn(user, url, pdl_label_of_part(r) | pdl_label_of(url));
    }
    return !pdl_is_dict(r) || (search(&s, pdl_dict_getz(r, "parameters"), 0, 0) &&
                               search(&s, pdl_dict_getz(r, "processor"), 0, 0));
}

bool pdl_effect_each_file(const pdl_effect *e, pdl_address_fn *fn, void *user) {
    const address_search s = {fn, user, true};
    pdl_vref r = e->request;
    return !pdl_is_dict(r) || search(&s, pdl_dict_getz(r, "parameters"), 0, 0);
}
