/* http_setup.c -- sets the options of a libcurl handle: method, headers, limits, certificates and
 * address of a request. A handle that was used before keeps its options when the next request needs
 * the same ones.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "io/http_impl.h"

#include "base/banned.h"

enum {
    /* small, because thousands of transfers may be open and most answers are short */
    RECEIVE_BUFFER = 4000,
};

void pdl_http_clear_setup(transfer *t) {
    if (t->setup.p) pdl_os_wipe(t->setup.p, t->setup.cap);
    pdl_buf_clear(&t->setup);
    t->http->curl.slist_free_all(t->headers);
    t->headers = NULL;
}

void pdl_http_put_setup(const pdl_http_request *r, pdl_buf *out) {
    const uint64_t numbers[] = {r->connect_ms,   r->total_ms,       r->insecure, r->compressed,
                                r->data != NULL, r->body.p != NULL, r->once,     r->n_headers};
    pdl_buf_put(out, (pdl_str){(const char *)numbers, sizeof numbers});
    pdl_buf_put(out, (pdl_str){r->url, strlen(r->url) + 1});
    pdl_buf_put(out, (pdl_str){r->method, strlen(r->method) + 1});
    for (size_t i = 0; i < r->n_headers; i++)
        pdl_buf_put(out, (pdl_str){r->headers[i], strlen(r->headers[i]) + 1});
}

static void set_method(const pdl_curl *c, CURL *e, const pdl_http_request *r) {
    c->easy_setopt(e, r->body.p ? CURLOPT_POST : CURLOPT_HTTPGET, 1L);
    /* the answer has no body */
    if (strcmp(r->method, "HEAD") == 0) c->easy_setopt(e, CURLOPT_NOBODY, 1L);
    if (strcmp(r->method, r->body.p ? "POST" : "GET") != 0)
        c->easy_setopt(e, CURLOPT_CUSTOMREQUEST, r->method);
}

static void set_body(const pdl_curl *c, CURL *e, const pdl_http_request *r) {
    if (!r->body.p) return;
    c->easy_setopt(e, CURLOPT_POSTFIELDS, r->body.p);
    c->easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.n);
}

/* A line "Name:" would remove a header of libcurl, so a header without a value is written as
 * "Name;". */
static void add_header(transfer *t, const char *line) {
    pdl_str s = pdl_str_trim(pdl_str_of(line));
    if (strpbrk(line, "\r\n")) return; /* callers have already refused a header with a line end */
    if (!s.n || s.p[s.n - 1] != ':') {
        t->headers = t->http->curl.slist_append(t->headers, line);
        return;
    }
    pdl_buf empty = PDL_BUF;
    pdl_buf_putf(&empty, "%.*s;", PDL_FMT(pdl_str_sub(s, 0, s.n - 1)));
    t->headers = t->http->curl.slist_append(t->headers, pdl_buf_z(&empty));
    pdl_buf_fini(&empty);
}

static bool is_given(const pdl_http_request *r, pdl_str name) {
    bool found = false;
    for (size_t i = 0; i < r->n_headers && !found; i++)
        found = pdl_str_eq_nocase(pdl_str_sub(pdl_str_of(r->headers[i]), 0, name.n), name);
    return found;
}

/* Without TLS the server is on this machine or near it, so no compressed answer is requested:
 * libcurl writes headers letter by letter, and the names of the encodings would be a third of the
 * letters. An answer that is compressed all the same is decoded. */
static void set_headers(transfer *t, const pdl_http_request *r, bool tls) {
    const pdl_curl *c = &t->http->curl;
    t->headers = c->slist_append(NULL, "Expect:");
    if (r->compressed && !tls && !is_given(r, PDL_STR("Accept-Encoding:")))
        t->headers = c->slist_append(t->headers, "Accept-Encoding:");
    for (size_t i = 0; i < r->n_headers; i++) add_header(t, r->headers[i]);
    c->easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers);
}

/* Allows only HTTP and refuses redirects, which would carry the keys along. Returns false when
 * libcurl does not support this. */
static bool set_limits(const pdl_curl *c, CURL *e) {
    return c->easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           c->easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK;
}

static void set_security(const pdl_http *h, CURL *e, const pdl_http_request *r, bool tls) {
    const pdl_curl *c = &h->curl;
    c->easy_setopt(e, CURLOPT_HTTP_VERSION,
                   (long)(tls ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
    /* many calls to one host share a connection and its handshake */
    if (tls) c->easy_setopt(e, CURLOPT_PIPEWAIT, 1L);
    pdl_certificates_use(&h->certificates, c, e, tls);
    if (r->insecure) {
        c->easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 0L);
        c->easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 0L);
    }
}

/* Returns false for a URL that libcurl reads in another way than those who have judged its host:
 * libcurl takes the host of "http:/a/://b" to be "a", and that of "http://a\\@b" to be "b". */
static bool has_one_reading(const char *url) {
    pdl_str s = pdl_str_of(url), tls = PDL_STR("https://"), plain = PDL_STR("http://");
    size_t at = pdl_str_find(s, PDL_STR("://"), 0);
    const char *authority = at == PDL_NOT_FOUND ? url : url + at + 3;
    if (memchr(authority, '\\', strcspn(authority, "/?#"))) return false;
    if (at != PDL_NOT_FOUND)
        return pdl_str_eq_nocase(pdl_str_sub(s, 0, plain.n), plain) ||
               pdl_str_eq_nocase(pdl_str_sub(s, 0, tls.n), tls);
    size_t slash = pdl_str_find(s, PDL_STR("/"), 0);
    return slash == PDL_NOT_FOUND || slash == 0 || s.p[slash - 1] != ':';
}

/* Returns the parts of a URL, or NULL when libcurl itself has to read it, for example because it is
 * malformed. The parts of the last URL are kept, since most requests go to one URL and libcurl
 * spends a sixth of its time on reading it. While other transfers are open the parts are not
 * replaced, because those transfers refer to them. The flags are those that libcurl itself uses to
 * read URLs. */
static CURLU *read_address(pdl_http *h, const char *url) {
    if (h->address && strcmp(h->address, url) == 0) return h->parts;
    if (h->open > 1 || !has_one_reading(url)) return NULL;
    h->curl.url_cleanup(h->parts);
    pdl_free(h->address);
    h->address = NULL;
    h->parts = h->curl.url();
    if (!h->parts || h->curl.url_set(h->parts, CURLUPART_URL, url,
                                     CURLU_GUESS_SCHEME | CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
        return NULL;
    h->address = pdl_str_dup(pdl_str_of(url));
    return h->parts;
}

static bool set_options(transfer *t, const pdl_http_request *r) {
    pdl_http *h = t->http;
    const pdl_curl *c = &h->curl;
    CURL *e = t->easy;
    bool tls = has_tls(r->url);
    /* an empty URL fails as a malformed one */
    c->easy_setopt(e, CURLOPT_URL, has_one_reading(r->url) ? r->url : "");
    c->easy_setopt(e, CURLOPT_PRIVATE, (char *)t);
    c->easy_setopt(e, CURLOPT_ERRORBUFFER, t->why);
    c->easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    c->easy_setopt(e, CURLOPT_WRITEFUNCTION, pdl_http_on_body);
    c->easy_setopt(e, CURLOPT_WRITEDATA, t);
    c->easy_setopt(e, CURLOPT_HEADERFUNCTION, pdl_http_on_header);
    c->easy_setopt(e, CURLOPT_HEADERDATA, t);
    c->easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, pdl_curl_socket_open);
    c->easy_setopt(e, CURLOPT_OPENSOCKETDATA, &h->sockets);
    c->easy_setopt(e, CURLOPT_CLOSESOCKETFUNCTION, pdl_curl_socket_close);
    c->easy_setopt(e, CURLOPT_CLOSESOCKETDATA, &h->sockets);
    c->easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)(r->connect_ms ? r->connect_ms : 5000));
    c->easy_setopt(e, CURLOPT_TIMEOUT_MS, r->total_ms > LONG_MAX ? LONG_MAX : (long)r->total_ms);
    /* libcurl checks the announced length; pdl_http_on_body counts the bytes that arrive */
    c->easy_setopt(e, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)max_reply(h));
    c->easy_setopt(e, CURLOPT_BUFFERSIZE, (long)RECEIVE_BUFFER);
    c->easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
    if (h->share) c->easy_setopt(e, CURLOPT_SHARE, h->share);
    if (r->compressed) c->easy_setopt(e, CURLOPT_ACCEPT_ENCODING, "");
    /* a request is sent again when the connection was used before and ends without an answer */
    if (r->once) c->easy_setopt(e, CURLOPT_FRESH_CONNECT, 1L);
    set_security(h, e, r, tls);
    set_method(c, e, r);
    set_headers(t, r, tls);
    return set_limits(c, e);
}

bool pdl_http_set_up(transfer *t, const pdl_http_request *r) {
    pdl_http *h = t->http;
    pdl_str setup = pdl_buf_str(&h->setup);
    if (!t->easy || !pdl_str_eq(pdl_buf_str(&t->setup), setup)) {
        if (t->easy) pdl_http_clear_setup(t);
        if (t->easy)
            h->curl.easy_reset(t->easy);
        else if (!(t->easy = h->curl.easy_init()))
            pdl_out_of_memory(sizeof *t);
        if (!set_options(t, r)) return false;
        pdl_buf_put(&t->setup, setup);
    }
    h->curl.easy_setopt(t->easy, CURLOPT_CURLU, read_address(h, r->url));
    set_body(&h->curl, t->easy, r);
    return true;
}
