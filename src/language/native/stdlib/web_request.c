/* web_request.c -- functions for `stdlib.http`. They check a request, make its effect, and find the
 * target of a redirect.
 *
 * A redirect is a new request. It goes through a new effect, so that policy, budget and journal
 * judge it like the first one. Another server only gets headers that say nothing about the user.
 * Each part of a request keeps its own labels, because a policy judges address and body separately.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "base/web_address.h"
#include "base/word_list.h"
#include "native/natives.h"
#include "value/int.h"
#include "value/json_write.h"
#include "value/text.h"

#include "base/banned.h"

enum { MAX_SECONDS = 3600, MAX_HEADERS = 100, MAX_VALUE = 16384 };

static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};

/* Reports a request that cannot be made, in the words of the user and not of the library. */
PDL_PRINTF(2, 3) static bool wrong_request(pdl_err *err, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    bool set = pdl_err_vset(err, PDL_E_bad_request, (pdl_loc){0}, fmt, ap);
    va_end(ap);
    return set;
}

static bool wrong_type(pdl_err *err, const char *name, const char *wanted, pdl_vref v) {
    return wrong_request(err, "http: %s should be %s, not %s", name, wanted, pdl_py_type(v));
}

/* --- parts of a request ----------------------------------------------------------------------- */

static bool read_method(pdl_vref v, pdl_val *out, pdl_err *err) {
    pdl_str s = pdl_is_str(v) ? pdl_str_get(v) : PDL_STR("");
    for (size_t i = 0; i < PDL_N_COUNT(methods); i++) {
        if (!pdl_str_eq_nocase(s, pdl_str_of(methods[i]))) continue;
        *out = pdl_with_label(pdl_textz(methods[i]), pdl_label_of(v));
        return true;
    }
    return wrong_request(err,
                         "http: method should be GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS");
}

static bool read_url(pdl_vref v, pdl_val *out, pdl_err *err) {
    pdl_buf b = PDL_BUF;
    if (!pdl_is_str(v)) return wrong_type(err, "url", "a string", v);
    if (!pdl_web_address_read(pdl_str_get(v), &b, err)) {
        pdl_buf_fini(&b);
        return false;
    }
    *out = pdl_with_label(pdl_text_of_buf(&b), pdl_label_of(v));
    return true;
}

static bool is_token(pdl_str s) {
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool separates = pdl_byte_in(s.p[i], PDL_STR("()<>@,;:\\\"/[]?={}"));
        if (c <= ' ' || c >= 127 || separates) return false;
    }
    return s.n > 0;
}

static bool is_one_line(pdl_str s) {
    for (size_t i = 0; i < s.n; i++)
        if (((unsigned char)s.p[i] < ' ' && s.p[i] != '\t') || s.p[i] == 127) return false;
    return s.n <= MAX_VALUE;
}

/* Checks one header. Only the engine sets the headers for length, connection and host. Another
 * value could make two requests out of one, or a request for a host that no policy has seen. */
static bool check_header(pdl_vref key, pdl_vref value, pdl_err *err) {
    static const char *const own[] = {"Host",       "Content-Length", "Transfer-Encoding",
                                      "Connection", "Upgrade",        "Expect",
                                      "TE",         "Trailer"};
    if (!pdl_is_str(key) || !is_token(pdl_str_get(key)))
        return wrong_request(err, "http: the name of a header is wrong");
    pdl_str name = pdl_str_get(key);
    if (PDL_STR_IN_NOCASE(name, own))
        return wrong_request(err, "http: the header %.*s is not set by programs", PDL_FMT(name));
    if (!pdl_is_str(value))
        return wrong_request(err, "http: the header %.*s should be a string, not %s", PDL_FMT(name),
                             pdl_py_type(value));
    return is_one_line(pdl_str_get(value)) ||
           wrong_request(err, "http: the value of the header %.*s is not one line", PDL_FMT(name));
}

static bool check_headers(pdl_vref v, pdl_err *err) {
    if (!pdl_is_dict(v)) return wrong_type(err, "headers", "an object", v);
    if (pdl_dict_len(v) > MAX_HEADERS)
        return wrong_request(err, "http: more than %d headers", MAX_HEADERS);
    for (size_t i = 0; i < pdl_dict_len(v); i++)
        if (!check_header(pdl_dict_key_at(v, i), pdl_dict_val_at(v, i), err)) return false;
    return true;
}

static bool has_header(pdl_vref headers, const char *name) {
    bool found = false;
    for (size_t i = 0; i < pdl_dict_len(headers) && !found; i++)
        found = pdl_str_eq_nocase(pdl_str_get(pdl_dict_key_at(headers, i)), pdl_str_of(name));
    return found;
}

static bool with_body(pdl_vref method, pdl_err *err) {
    return wrong_request(err, "http: a request with a body is no %.*s",
                         PDL_FMT(pdl_str_get(method)));
}

/* Makes the text of a body. Objects and lists become JSON. Adds a header for the type of the body,
 * if the headers have none. */
static bool read_body(pdl_vref v, pdl_vref method, pdl_val *headers, pdl_val *out, pdl_err *err) {
    bool looks = pdl_text_is(method, "GET") || pdl_text_is(method, "HEAD");
    bool none = pdl_is_null(v) || pdl_is_absent(v);
    if (!none && looks) return with_body(method, err);
    if (none) {
        bool needs = !looks && !pdl_text_is(method, "DELETE") && !pdl_text_is(method, "OPTIONS");
        *out = needs ? pdl_textz("") : pdl_null();
        return true;
    }
    bool json = pdl_is_dict(v) || pdl_is_list(v);
    if (!json && !pdl_is_str(v))
        return wrong_type(err, "body", "a string, an object or an array", v);
    const char *type = json ? "application/json" : "text/plain; charset=utf-8";
    if (!has_header(*headers, "Content-Type"))
        *headers = pdl_dict_putz(*headers, "Content-Type", pdl_textz(type));
    pdl_buf b = PDL_BUF;
    if (json && !pdl_json_write(v, PDL_JSON_LOOSE, 0, &b, err)) {
        pdl_buf_fini(&b);
        return false;
    }
    *out = json ? pdl_text_of_buf(&b) : pdl_text(pdl_str_get(v));
    *out = pdl_with_label(*out, pdl_label_of(v));
    return true;
}

static bool read_numbers(pdl_vref timeout, pdl_vref most, pdl_err *err) {
    int64_t n;
    bool number = pdl_is_int(timeout) || pdl_is(timeout, PDL_V_FLOAT);
    double seconds = number ? pdl_num_to_double(timeout) : 0;
    if (!(seconds > 0 && seconds <= MAX_SECONDS))
        return wrong_request(err, "http: timeout should be a number of seconds up to %d",
                             MAX_SECONDS);
    if (!pdl_is_int(most) || !pdl_int_get(most, &n) || n < 1 || n > (int64_t)PDL_MAX_REPLY_BYTES)
        return wrong_request(err, "http: max_bytes should be a number from 1 to %lld",
                             (long long)PDL_MAX_REPLY_BYTES);
    return true;
}

/* Returns true when the name of a variable says that it holds a key. Only such variables can be
 * sent. */
static bool names_key(pdl_str s) {
    static const char *const ends[] = {"KEY", "TOKEN", "SECRET", "PASSWORD"};
    for (size_t i = 0; i < s.n; i++)
        if (!pdl_byte_in(s.p[i], PDL_STR("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
                                         "0123456789")))
            return false;
    for (size_t i = 0; i < PDL_N_COUNT(ends); i++)
        if (pdl_str_ends(s, pdl_str_of(ends[i]))) return true;
    return false;
}

/* Reads {variable, header, prefix}, and fills in header and prefix. */
static bool read_auth(pdl_vref v, pdl_val *out, pdl_err *err) {
    static const char *const known[] = {"variable", "header", "prefix"};
    if (!pdl_is_dict(v)) return wrong_type(err, "auth", "an object {variable, header, prefix}", v);
    for (size_t i = 0; i < pdl_dict_len(v); i++) {
        pdl_vref key = pdl_dict_key_at(v, i), x = pdl_dict_val_at(v, i);
        bool is_known = pdl_is_str(key) && PDL_STR_IN_NOCASE(pdl_str_get(key), known);
        if (!is_known || !pdl_is_str(x) || !is_one_line(pdl_str_get(x)))
            return wrong_request(
                err, "http: auth should be an object {variable, header, prefix} of texts");
    }
    pdl_vref variable = pdl_dict_getz(v, "variable"), header = pdl_dict_getz(v, "header"),
             prefix = pdl_dict_getz(v, "prefix");
    if (!pdl_is_str(variable) || !names_key(pdl_str_get(variable)))
        return wrong_request(err,
                             "http: auth.variable should be the name of an environment variable "
                             "that ends in KEY, TOKEN, SECRET or PASSWORD");
    bool own = pdl_is_str(header);
    if (own && !check_header(header, variable, err)) return false;
    pdl_val d = pdl_dict_putz(pdl_dict_new(3), "variable", pdl_keep(variable));
    d = pdl_dict_putz(d, "header", own ? pdl_keep(header) : pdl_textz("Authorization"));
    *out = pdl_dict_putz(d, "prefix",
                         pdl_is_str(prefix) ? pdl_keep(prefix) : pdl_textz(own ? "" : "Bearer "));
    return true;
}

/* --- requests --------------------------------------------------------------------------------- */

enum { A_URL, A_METHOD, A_HEADERS, A_BODY, A_TIMEOUT, A_MAX_BYTES, A_AUTH };

bool pdl_g_http_request(PDL_ARGS) {
    pdl_val url = pdl_absent(), method = pdl_absent(), body = pdl_absent(), auth = pdl_absent();
    pdl_val headers = pdl_keep(argv[A_HEADERS]);
    bool ok = read_url(argv[A_URL], &url, err) && read_method(argv[A_METHOD], &method, err) &&
              check_headers(headers, err) &&
              read_body(argv[A_BODY], method, &headers, &body, err) &&
              read_numbers(argv[A_TIMEOUT], argv[A_MAX_BYTES], err) &&
              (pdl_is_null(argv[A_AUTH]) || read_auth(argv[A_AUTH], &auth, err));
    if (!ok) {
        pdl_drop(url);
        pdl_drop(method);
        pdl_drop(body);
        pdl_drop(auth);
        pdl_drop(headers);
        return false;
    }
    pdl_val r = pdl_dict_putz(pdl_dict_new(7), "method", method);
    r = pdl_dict_putz(r, "url", url);
    r = pdl_dict_putz(r, "headers", headers);
    r = pdl_dict_putz(r, "body", body);
    if (!pdl_is_absent(auth)) r = pdl_dict_putz(r, "auth", auth);
    r = pdl_dict_putz(r, "timeout", pdl_keep(argv[A_TIMEOUT]));
    *out = pdl_dict_putz(r, "max_bytes", pdl_keep(argv[A_MAX_BYTES]));
    return true;
}

/* Returns true when v is in normal form, so that reading it again changes nothing. `again` is the
 * result of that reading. Takes again. */
static bool is_normal(pdl_vref v, pdl_val again, pdl_err *err) {
    bool same = pdl_val_eq(v, again);
    pdl_drop(again);
    return same || wrong_request(err, "http: the request is not as pdl_http_request makes it");
}

/* Checks a request, which the program may have made itself. A policy judges the address, so the
 * address must not be ambiguous, and no header may turn the request into another one. */
static bool check_request(pdl_vref r, pdl_err *err) {
    if (!pdl_is_dict(r)) return wrong_type(err, "request", "an object", r);
    pdl_vref method = pdl_dict_getz(r, "method"), url = pdl_dict_getz(r, "url");
    pdl_vref body = pdl_dict_getz(r, "body"), auth = pdl_dict_getz(r, "auth");
    pdl_val again = pdl_absent();
    if (!read_url(url, &again, err) || !is_normal(url, again, err)) return false;
    if (!read_method(method, &again, err) || !is_normal(method, again, err)) return false;
    if (!check_headers(pdl_dict_getz(r, "headers"), err)) return false;
    if (!pdl_is_null(body) && !pdl_is_str(body))
        return wrong_type(err, "body of a request", "a string or null", body);
    if (!pdl_is_null(body) && (pdl_text_is(method, "GET") || pdl_text_is(method, "HEAD")))
        return with_body(method, err);
    if (!pdl_is_absent(auth) && (!read_auth(auth, &again, err) || !is_normal(auth, again, err)))
        return false;
    return read_numbers(pdl_dict_getz(r, "timeout"), pdl_dict_getz(r, "max_bytes"), err);
}

bool pdl_g_http(PDL_ARGS) {
    if (!check_request(argv[0], err)) return false;
    *out = pdl_tuple_new((pdl_val[]){pdl_textz("http"), pdl_keep(argv[0])}, 2);
    return true;
}

/* --- redirects -------------------------------------------------------------------------------- */

/* Returns the headers that the next request keeps. For another server, these are only headers that
 * every client sends. Without a body, headers that describe a body are left out. */
static pdl_val carried_headers(pdl_vref headers, bool same_server, bool with_body) {
    static const char *const common[] = {"Accept", "Accept-Language", "User-Agent", "Content-Type"};
    pdl_val d = pdl_dict_new(pdl_dict_len(headers));
    for (size_t i = 0; i < pdl_dict_len(headers); i++) {
        pdl_vref key = pdl_dict_key_at(headers, i);
        pdl_str name = pdl_str_get(key);
        bool of_body = pdl_str_eq_nocase(pdl_str_sub(name, 0, 8), PDL_STR("Content-"));
        if ((of_body && !with_body) || (!same_server && !PDL_STR_IN_NOCASE(name, common))) continue;
        d = pdl_dict_put(d, pdl_keep(key), pdl_keep(pdl_dict_val_at(headers, i)));
    }
    return d;
}

static bool is_redirect(int64_t status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/* Makes the request to which an answer redirects. Takes url. */
static pdl_val redirected(pdl_vref request, pdl_val url, int64_t status) {
    pdl_vref method = pdl_dict_getz(request, "method"), body = pdl_dict_getz(request, "body");
    pdl_str before = pdl_web_address_origin(pdl_str_get(pdl_dict_getz(request, "url")));
    bool same = pdl_str_eq(before, pdl_web_address_origin(pdl_str_get(url)));
    bool looks = pdl_text_is(method, "GET") || pdl_text_is(method, "HEAD");
    bool becomes_get =
        !looks && status != 307 && status != 308 && (status == 303 || pdl_text_is(method, "POST"));
    bool with_body = !becomes_get && !pdl_is_null(body);
    pdl_val headers = carried_headers(pdl_dict_getz(request, "headers"), same, with_body);
    pdl_val r = pdl_keep(request), auth = pdl_textz("auth");
    r = pdl_dict_putz(r, "url", url);
    r = pdl_dict_putz(r, "headers", headers);
    if (becomes_get) {
        r = pdl_dict_putz(r, "method", pdl_textz("GET"));
        r = pdl_dict_putz(r, "body", pdl_null());
    }
    if (!same && !pdl_is_absent(pdl_dict_getz(r, "auth"))) r = pdl_dict_del(r, auth);
    pdl_drop(auth);
    return r;
}

/* Returns the request to which a reply redirects; null when it does not redirect. `left` is the
 * number of redirects that may still follow. */
bool pdl_g_http_next(PDL_ARGS) {
    pdl_vref request = argv[0], reply = argv[1];
    pdl_vref headers = pdl_is_dict(reply) ? pdl_dict_getz(reply, "headers") : pdl_absent();
    pdl_vref location = pdl_is_dict(headers) ? pdl_dict_getz(headers, "location") : pdl_absent();
    int64_t status = 0, left = 0;
    if (!pdl_is_dict(reply) || !pdl_int_get(pdl_dict_getz(reply, "status"), &status) ||
        !is_redirect(status) || !pdl_is_str(location)) {
        *out = pdl_with_label(pdl_null(), pdl_label_of(reply));
        return true;
    }
    pdl_str url = pdl_str_get(pdl_dict_getz(request, "url"));
    if (!pdl_is_int(argv[2]) || !pdl_int_get(argv[2], &left) || left <= 0)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0},
                           "too many redirects, the last one from %.*s",
                           PDL_FMT(pdl_web_address_authority(url)));
    pdl_buf b = PDL_BUF;
    pdl_err why = {0};
    if (!pdl_web_address_join(url, pdl_str_get(location), &b, &why)) {
        pdl_err_set(err, PDL_E_protocol, (pdl_loc){0},
                    "%.*s redirects where nothing can be asked: %s",
                    PDL_FMT(pdl_web_address_authority(url)), why.msg);
        pdl_err_fini(&why);
        pdl_buf_fini(&b);
        return false;
    }
    pdl_label label = pdl_label_of(reply) | pdl_label_of(pdl_dict_getz(request, "url"));
    *out = redirected(request, pdl_with_label(pdl_text_of_buf(&b), label), status);
    return true;
}
