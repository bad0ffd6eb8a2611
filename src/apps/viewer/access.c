/* access.c -- decides which requests are answered, by secret, cookie, Host and Origin; see
 * access.h. All decisions are in this file, so that no function that answers a request can forget
 * one of them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/access.h"

#include <ctype.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/word_list.h"
#include "io/entropy.h"
#include "io/httpd.h"
#include "viewer/viewer.h"

#include "base/banned.h"

enum {
    SECRET_BYTES = 16,
    SECRET_TEXT = 2 * SECRET_BYTES + 1,
    MAX_ADDRESSES = 100, /* maximum number of printed addresses that were not used yet */
};

struct pdl_access {
    const char *host;
    char *policy; /* the Content-Security-Policy; owned */
    bool frames;  /* the user has named pages that may show this one in a frame */
    char cookie[SECRET_TEXT];
    /* secrets in the addresses that were printed; an address that was used has an empty text */
    char addresses[MAX_ADDRESSES][SECRET_TEXT];
    size_t newest;
    bool was_opened; /* the newest address was used */
};

/* --- secrets ---------------------------------------------------------------------------------- */

static bool new_secret(char out[SECRET_TEXT]) {
    unsigned char bytes[SECRET_BYTES];
    if (!pdl_rand_secret(bytes, sizeof bytes)) return false;
    for (size_t i = 0; i < sizeof bytes; i++) {
        out[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
    out[SECRET_TEXT - 1] = 0;
    return true;
}

/* Returns true when the secret is right. The time depends only on the length of `said`, not on how
 * many of its bytes are right. */
static bool is_secret(pdl_str said, const char *secret) {
    unsigned char differs = said.n != SECRET_TEXT - 1 || !*secret;
    for (size_t i = 0; i < said.n; i++)
        differs |= (unsigned char)(said.p[i] ^ secret[i % SECRET_TEXT]);
    return !differs;
}

void pdl_access_put_address(pdl_access *a, uint16_t port, pdl_buf *out) {
    a->newest = (a->newest + 1) % MAX_ADDRESSES;
    a->was_opened = false;
    if (!new_secret(a->addresses[a->newest])) PDL_BUG("the system gives no random numbers");
    pdl_httpd_put_origin(pdl_str_of(a->host), port, out);
    pdl_buf_putf(out, "/open/%s", a->addresses[a->newest]);
}

bool pdl_access_was_opened(const pdl_access *a) { return a->was_opened; }

/* Returns true when the secret belongs to a printed address that was not used yet. After that, the
 * address counts as used. */
static bool open_with(pdl_access *a, pdl_str secret) {
    for (size_t i = 0; i < MAX_ADDRESSES; i++)
        if (is_secret(secret, a->addresses[i])) {
            a->addresses[i][0] = 0;
            a->was_opened = a->was_opened || i == a->newest;
            return true;
        }
    return false;
}

/* --- answers ---------------------------------------------------------------------------------- */

static const pdl_answer_header common[] = {
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
};
enum { N_COMMON = sizeof common / sizeof *common };

void pdl_access_answer(pdl_exchange *x, int status, const char *type, pdl_str body) {
    pdl_answer_header headers[N_COMMON + 1];
    memcpy(headers, common, sizeof common);
    headers[N_COMMON] = (pdl_answer_header){"Content-Type", type};
    pdl_exchange_answer(x, status, headers, N_COMMON + 1, body);
}

void pdl_access_begin(pdl_exchange *x, const char *type) {
    pdl_answer_header headers[N_COMMON + 1];
    memcpy(headers, common, sizeof common);
    headers[N_COMMON] = (pdl_answer_header){"Content-Type", type};
    pdl_exchange_begin(x, 200, headers, N_COMMON + 1);
}

void pdl_access_refuse(pdl_exchange *x, int status, const char *why) {
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%s\n", why);
    pdl_access_answer(x, status, "text/plain; charset=utf-8", pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

void pdl_access_answer_json(pdl_exchange *x, pdl_buf *b) {
    pdl_access_answer(x, 200, "application/json", pdl_buf_str(b));
    pdl_buf_fini(b);
}

/* --- who may ask ------------------------------------------------------------------------------ */

static pdl_str without_port(pdl_str host, uint16_t port) {
    char text[16];
    int n = snprintf(text, sizeof text, ":%u", (unsigned)port);
    pdl_str end = {text, (size_t)n};
    return pdl_str_ends(host, end) ? pdl_str_sub(host, 0, host.n - end.n) : (pdl_str){0};
}

/* Returns true for a host name of this server: a name of loopback, or the address that the user
 * chose. */
static bool is_our_host(const pdl_access *a, uint16_t port, pdl_str host) {
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    pdl_str name = without_port(host, port);
    if (PDL_STR_IN_NOCASE(name, names)) return true;
    return name.n && pdl_str_is(name, a->host);
}

static bool is_our_origin(const pdl_exchange *x) {
    pdl_str origin = pdl_exchange_header(x, "Origin"), host = pdl_exchange_header(x, "Host");
    pdl_str http = PDL_STR("http://");
    if (!origin.p) return !pdl_str_is(pdl_exchange_method(x), "POST");
    return pdl_str_starts(origin, http) &&
           pdl_str_eq_nocase(pdl_str_sub(origin, http.n, origin.n), host);
}

/* The name of the cookie contains the port, because browsers send cookies of a host to all its
 * ports. */
static void cookie_name(uint16_t port, pdl_buf *out) {
    pdl_buf_putf(out, "pdl_view_%u", (unsigned)port);
}

static bool has_cookie(const pdl_access *a, uint16_t port, const pdl_exchange *x) {
    pdl_str rest = pdl_exchange_header(x, "Cookie");
    pdl_buf name = PDL_BUF;
    bool ok = false;
    cookie_name(port, &name);
    pdl_buf_putc(&name, '=');
    while (rest.n && !ok) {
        size_t end = pdl_str_find(rest, PDL_STR(";"), 0);
        pdl_str one = pdl_str_trim(pdl_str_sub(rest, 0, end));
        if (pdl_str_starts(one, pdl_buf_str(&name)))
            ok = is_secret(pdl_str_sub(one, name.len, one.n), a->cookie);
        rest = end == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_sub(rest, end + 1, rest.n);
    }
    pdl_buf_fini(&name);
    return ok;
}

/* Opens the page. A browser does not send a strict cookie after a redirect that began on another
 * site, such as the page that --open makes. In that case the answer is a page that loads the real
 * page by itself. */
void pdl_access_open(pdl_access *a, uint16_t port, pdl_exchange *x, pdl_str secret) {
    pdl_buf cookie = PDL_BUF;
    bool far = pdl_str_is(pdl_exchange_header(x, "Sec-Fetch-Site"), "cross-site");
    bool frame = a->frames && pdl_str_is(pdl_exchange_header(x, "Sec-Fetch-Dest"), "iframe");
    if (!open_with(a, secret)) {
        pdl_access_refuse(x, 403,
                          "This address was used already, or never printed. Each line that is "
                          "typed where pdl view runs prints a new one.");
        return;
    }
    cookie_name(port, &cookie);
    pdl_buf_putf(&cookie, "=%s; Path=/; HttpOnly; %s", a->cookie,
                 frame ? "SameSite=None; Secure; Partitioned" : "SameSite=Strict");
    pdl_exchange_add_header(x, "Set-Cookie", pdl_buf_z(&cookie));
    pdl_exchange_add_header(x, far ? "Refresh" : "Location", far ? "0; url=/" : "/");
    pdl_access_answer(x, far ? 200 : 303, "text/plain; charset=utf-8",
                      PDL_STR("The page is at /\n"));
    pdl_buf_fini(&cookie);
}

static bool is_free(pdl_str path) { return pdl_str_starts(path, PDL_STR("/page/")); }

bool pdl_access_check(const pdl_access *a, uint16_t port, pdl_exchange *x) {
    pdl_str path = pdl_exchange_path(x), method = pdl_exchange_method(x);
    bool post = pdl_str_is(method, "POST"), get = pdl_str_is(method, "GET");
    pdl_exchange_add_header(x, "Content-Security-Policy", a->policy);
    if (!is_our_host(a, port, pdl_exchange_header(x, "Host")))
        pdl_access_refuse(x, 403, "The server answers under the address that it printed only.");
    else if (!is_our_origin(x))
        pdl_access_refuse(x, 403, "Pages of other origins are not answered.");
    else if (!post && !get && !pdl_str_is(method, "HEAD"))
        pdl_access_refuse(x, 405, "GET, HEAD and POST are understood.");
    else if (!is_free(path) && !pdl_str_starts(path, PDL_STR("/open/")) && !has_cookie(a, port, x))
        pdl_access_refuse(x, 403,
                          "Open the address that was printed. It works once; each line that is "
                          "typed where pdl view runs prints a new one.");
    else
        return true;
    return false;
}

/* --- frames ----------------------------------------------------------------------------------- */

static bool is_scheme(pdl_str s) {
    if (!s.n || !isalpha((unsigned char)s.p[0])) return false;
    for (size_t i = 0; i < s.n; i++)
        if (!isalnum((unsigned char)s.p[i]) && !strchr("+-.", s.p[i])) return false;
    return true;
}

/* Returns true for a scheme that any web page can use for a frame, so that the scheme says nothing
 * about who shows the page. */
static bool is_anybodys(pdl_str scheme) {
    static const char *const schemes[] = {"http", "https", "data", "blob", "about", "javascript"};
    return PDL_STR_IN_NOCASE(scheme, schemes);
}

/* Returns true for a single host name, which needs no quotes in a Content-Security-Policy. */
static bool is_host(pdl_str s) {
    for (size_t i = 0; i < s.n; i++)
        if (!isalnum((unsigned char)s.p[i]) && !strchr("-._:[]", s.p[i])) return false;
    return s.n > 0;
}

static bool can_frame(pdl_str origin) {
    size_t colon = pdl_str_find(origin, PDL_STR(":"), 0);
    pdl_str scheme = pdl_str_sub(origin, 0, colon), slashes = PDL_STR("//");
    if (colon == PDL_NOT_FOUND || !is_scheme(scheme)) return false;
    pdl_str rest = pdl_str_sub(origin, colon + 1, origin.n);
    if (!rest.n) return !is_anybodys(scheme);
    return pdl_str_starts(rest, slashes) && is_host(pdl_str_sub(rest, slashes.n, rest.n));
}

/* Appends the origins in the form that a Content-Security-Policy has, unless out is NULL. Returns
 * false when an item of the list is not an allowed origin. */
static bool put_origins(pdl_str list, pdl_buf *out) {
    while (list.n) {
        pdl_str one = pdl_str_take(&list, PDL_STR(","));
        if (!can_frame(one)) return false;
        if (!out) continue;
        pdl_buf_putc(out, ' ');
        pdl_buf_put(out, one);
    }
    return true;
}

bool pdl_viewer_can_frame(pdl_str origins) { return origins.n && put_origins(origins, NULL); }

/* --- life ------------------------------------------------------------------------------------- */

bool pdl_access_new(const char *host, pdl_str frames, pdl_access **out, pdl_err *err) {
    pdl_access *a = PDL_NEW(pdl_access);
    pdl_buf policy = PDL_BUF;
    a->host = host;
    a->frames = pdl_viewer_can_frame(frames);
    PDL_PUT(&policy, "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; "
                     "connect-src 'self'; frame-ancestors");
    if (!a->frames || !put_origins(frames, &policy)) PDL_PUT(&policy, " 'none'");
    a->policy = pdl_buf_take(&policy);
    if (new_secret(a->cookie)) {
        *out = a;
        return true;
    }
    pdl_access_free(a);
    return pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "the system gives no random numbers");
}

void pdl_access_free(pdl_access *a) {
    if (!a) return;
    pdl_free(a->policy);
    pdl_free(a);
}
