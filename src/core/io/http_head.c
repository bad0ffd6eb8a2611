/* http_head.c -- parses the head of a request, and chunked bodies; see http_head.h.
 *
 * The end of the head is searched while bytes arrive, and the head is parsed once it is complete.
 * The path is decoded into new memory; all other parts point into the bytes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/http_head.h"

#include "base/num.h"
#include "base/utf8.h"

#include "base/banned.h"

/* --- characters ------------------------------------------------------------------------------- */

static bool is_token_char(char c) {
    bool alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return alnum || pdl_byte_in(c, PDL_STR("!#$%&'*+-.^_`|~"));
}

static bool is_token(pdl_str s) {
    for (size_t i = 0; i < s.n; i++)
        if (!is_token_char(s.p[i])) return false;
    return s.n > 0;
}

static bool is_control(char c) { return (unsigned char)c < ' ' || c == 127; }

static pdl_str trim(pdl_str s) {
    while (s.n && pdl_byte_in(s.p[0], PDL_STR(" \t"))) s = pdl_str_sub(s, 1, s.n);
    while (s.n && pdl_byte_in(s.p[s.n - 1], PDL_STR(" \t"))) s.n--;
    return s;
}

#define NOT_HTTP "the first line of the request is not HTTP"

/* --- the end ---------------------------------------------------------------------------------- */

size_t pdl_http_head_end(pdl_str bytes, size_t *scanned) {
    for (size_t i = *scanned; i < bytes.n; i++) {
        if (bytes.p[i] != '\n') continue;
        if (i == 0 || bytes.p[i - 1] != '\r') return PDL_NOT_FOUND;
        if (i >= 3 && bytes.p[i - 2] == '\n') return i + 1;
    }
    *scanned = bytes.n;
    return 0;
}

const char *pdl_http_head_nonsense(pdl_str bytes) {
    enum { TLS_HANDSHAKE = 0x16 }; /* the first byte of every TLS connection */
    if (!bytes.n || bytes.p[0] == '\r' || is_token_char(bytes.p[0])) return NULL;
    return bytes.p[0] == TLS_HANDSHAKE ? "this server has no TLS: its address begins with http://"
                                       : NOT_HTTP;
}

/* --- the first line --------------------------------------------------------------------------- */

/* Decodes %XX. Returns false for a wrong escape, a control character, or invalid UTF-8. */
static bool decode_path(pdl_str s, char **out) {
    pdl_buf b = PDL_BUF;
    bool ok = true;
    for (size_t i = 0; ok && i < s.n; i++) {
        int c = (unsigned char)s.p[i];
        if (c == '%') {
            int high = i + 2 < s.n ? pdl_hex_digit(s.p[i + 1]) : -1,
                low = i + 2 < s.n ? pdl_hex_digit(s.p[i + 2]) : -1;
            ok = high >= 0 && low >= 0;
            c = high * 16 + low;
            i += 2;
        }
        ok = ok && !is_control((char)c);
        if (ok) pdl_buf_putc(&b, (char)c);
    }
    ok = ok && pdl_utf8_check(pdl_buf_str(&b)) == PDL_NOT_FOUND;
    *out = pdl_buf_take(&b);
    return ok;
}

/* Reads a target: /path, http://host/path, or the * of OPTIONS. *host gets the host in the target;
 * empty when there is none. */
static bool read_target(pdl_str target, pdl_http_head *h, pdl_str *host) {
    pdl_str scheme = PDL_STR("http://");
    *host = (pdl_str){0};
    if (pdl_str_eq_nocase(pdl_str_sub(target, 0, scheme.n), scheme)) {
        size_t slash = pdl_str_find(target, PDL_STR("/"), scheme.n);
        size_t end = slash == PDL_NOT_FOUND ? target.n : slash;
        *host = pdl_str_sub(target, scheme.n, end);
        target = slash == PDL_NOT_FOUND ? PDL_STR("/") : pdl_str_sub(target, slash, target.n);
    }
    size_t query = pdl_str_find(target, PDL_STR("?"), 0);
    if (query != PDL_NOT_FOUND) {
        h->query = pdl_str_sub(target, query + 1, target.n);
        target = pdl_str_sub(target, 0, query);
    }
    bool whole = pdl_str_is(h->method, "OPTIONS") && pdl_str_is(target, "*");
    return (whole || pdl_str_starts(target, PDL_STR("/"))) && decode_path(target, &h->path);
}

static int read_first_line(pdl_str line, pdl_http_head *h, pdl_str *host, const char **why) {
    size_t first = pdl_str_find(line, PDL_STR(" "), 0), last = pdl_str_rfind(line, PDL_STR(" "));
    *why = NOT_HTTP;
    if (first == PDL_NOT_FOUND || first == last) return 400;
    pdl_str version = pdl_str_sub(line, last + 1, line.n),
            target = pdl_str_sub(line, first + 1, last);
    h->method = pdl_str_sub(line, 0, first);
    if (!is_token(h->method) || !pdl_str_starts(version, PDL_STR("HTTP/"))) return 400;
    h->is_1_0 = pdl_str_is(version, "HTTP/1.0");
    if (!h->is_1_0 && !pdl_str_is(version, "HTTP/1.1"))
        return *why = "this is a server of HTTP/1.1", 505;
    *why = "the path of the request is not valid";
    return pdl_byte_in(' ', target) || !read_target(target, h, host) ? 400 : 0;
}

/* --- fields ----------------------------------------------------------------------------------- */

static bool read_field(pdl_str line, pdl_http_field *out) {
    size_t colon = pdl_str_find(line, PDL_STR(":"), 0);
    if (colon == PDL_NOT_FOUND) return false;
    *out =
        (pdl_http_field){pdl_str_sub(line, 0, colon), trim(pdl_str_sub(line, colon + 1, line.n))};
    for (size_t i = 0; i < out->value.n; i++)
        if (is_control(out->value.p[i]) && out->value.p[i] != '\t') return false;
    return is_token(out->name);
}

pdl_str pdl_http_head_field(const pdl_http_head *h, const char *name) {
    for (size_t i = 0; i < h->fields.n; i++)
        if (pdl_str_eq_nocase(h->fields.p[i].name, pdl_str_of(name))) return h->fields.p[i].value;
    return (pdl_str){0};
}

static size_t count(const pdl_http_head *h, const char *name) {
    size_t n = 0;
    for (size_t i = 0; i < h->fields.n; i++)
        n += pdl_str_eq_nocase(h->fields.p[i].name, pdl_str_of(name));
    return n;
}

/* Returns true when the word is in a list whose items are separated by commas. */
static bool has_word(pdl_str list, const char *word) {
    while (list.n) {
        size_t comma = pdl_str_find(list, PDL_STR(","), 0),
               n = comma == PDL_NOT_FOUND ? list.n : comma;
        if (pdl_str_eq_nocase(trim(pdl_str_sub(list, 0, n)), pdl_str_of(word))) return true;
        list = pdl_str_sub(list, n + 1, list.n);
    }
    return false;
}

static bool read_length(pdl_str s, int64_t *out) {
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9') return false;
    /* the number is larger than any limit */
    if (s.n && !pdl_num_read_int(s, out)) *out = INT64_MAX;
    return s.n > 0;
}

/* Determines the length of the body. */
static int read_framing(pdl_http_head *h, const char **why) {
    size_t lengths = count(h, "Content-Length"), encodings = count(h, "Transfer-Encoding");
    h->has_length = lengths > 0;
    *why = "the length of the body is not clear";
    if (lengths > 1 || encodings > 1 || (lengths && encodings) || (encodings && h->is_1_0))
        return 400;
    if (lengths && !read_length(pdl_http_head_field(h, "Content-Length"), &h->length)) return 400;
    if (!encodings) return 0;
    h->length = -1;
    *why = "the only transfer encoding here is chunked";
    return pdl_str_eq_nocase(pdl_http_head_field(h, "Transfer-Encoding"), PDL_STR("chunked")) ? 0
                                                                                              : 501;
}

static int read_meaning(pdl_http_head *h, pdl_str host, const char **why) {
    size_t hosts = count(h, "Host");
    pdl_str connection = pdl_http_head_field(h, "Connection");
    *why = "a request has one Host, which is that of its target";
    if (hosts > 1 || (!hosts && !h->is_1_0)) return 400;
    if (host.p && !pdl_str_eq_nocase(host, pdl_http_head_field(h, "Host"))) return 400;
    h->keep_alive = h->is_1_0 ? has_word(connection, "keep-alive") : !has_word(connection, "close");
    h->expects_continue = !h->is_1_0 && has_word(pdl_http_head_field(h, "Expect"), "100-continue");
    return read_framing(h, why);
}

int pdl_http_head_read(pdl_str bytes, pdl_http_head *out, const char **why) {
    *out = (pdl_http_head){0};
    pdl_str end = PDL_STR("\r\n"), host;
    size_t at = pdl_str_find(bytes, end, 0);
    int status = read_first_line(pdl_str_sub(bytes, 0, at), out, &host, why);
    while (!status) {
        bytes = pdl_str_sub(bytes, at + end.n, bytes.n);
        at = pdl_str_find(bytes, end, 0);
        if (at == 0 || at == PDL_NOT_FOUND) return read_meaning(out, host, why);
        *why = "the request has too many headers";
        if (out->fields.n == PDL_HTTP_MAX_FIELDS) return 431;
        *why = "a header of the request is not valid";
        if (!read_field(pdl_str_sub(bytes, 0, at), pdl_vec_push(&out->fields))) return 400;
    }
    return status;
}

void pdl_http_head_fini(pdl_http_head *h) {
    pdl_free(h->path);
    pdl_vec_fini(&h->fields);
    *h = (pdl_http_head){0};
}

/* Appends s with %XX and + decoded. Bytes that are not UTF-8 after that are replaced. */
static void decode_parameter(pdl_str s, pdl_buf *out) {
    pdl_buf bytes = PDL_BUF;
    for (size_t i = 0; i < s.n; i++) {
        int high = s.p[i] == '%' && i + 2 < s.n ? pdl_hex_digit(s.p[i + 1]) : -1,
            low = high >= 0 ? pdl_hex_digit(s.p[i + 2]) : -1;
        if (low >= 0) i += 2;
        pdl_buf_putc(&bytes, low >= 0 ? (char)(high * 16 + low) : s.p[i] == '+' ? ' ' : s.p[i]);
    }
    pdl_utf8_repair(out, pdl_buf_str(&bytes));
    pdl_buf_fini(&bytes);
}

bool pdl_http_head_parameter(const pdl_http_head *h, const char *name, pdl_buf *out) {
    pdl_str rest = h->query;
    while (rest.n) {
        size_t end = pdl_str_find(rest, PDL_STR("&"), 0);
        pdl_str one = pdl_str_sub(rest, 0, end);
        size_t equals = pdl_str_find(one, PDL_STR("="), 0);
        if (pdl_str_is(pdl_str_sub(one, 0, equals), name)) {
            if (equals != PDL_NOT_FOUND) decode_parameter(pdl_str_sub(one, equals + 1, one.n), out);
            return true;
        }
        rest = end == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_sub(rest, end + 1, rest.n);
    }
    return false;
}

/* --- chunks ----------------------------------------------------------------------------------- */

static bool take_size(pdl_chunks *c, char b) {
    int digit = pdl_hex_digit((unsigned char)b);
    if (digit >= 0) {
        c->left = c->left * 16 + (unsigned)digit;
        return ++c->digits <= 15; /* the number has at most 60 bits */
    }
    if (!c->digits) return false;
    if (b == '\r')
        c->at = CHUNK_SIZE_LF;
    else if (pdl_byte_in(b, PDL_STR("; \t")))
        c->at = CHUNK_EXTENSION;
    else
        return false;
    return true;
}

/* Reads a byte that is not data. */
static bool take_byte(pdl_chunks *c, char b) {
    bool lf = b == '\n';
    switch (c->at) {
    case CHUNK_SIZE: return take_size(c, b);
    case CHUNK_EXTENSION:
        if (b == '\r') c->at = CHUNK_SIZE_LF;
        return !lf && ++c->line <= PDL_HTTP_MAX_CHUNK_LINE;
    case CHUNK_SIZE_LF:
        c->at = c->left ? CHUNK_DATA : CHUNK_TRAILER;
        c->digits = c->line = 0;
        return lf;
    case CHUNK_CR: c->at = CHUNK_LF; return b == '\r';
    case CHUNK_LF: c->at = CHUNK_SIZE; return lf;
    case CHUNK_TRAILER:
        if (b == '\r')
            c->at = CHUNK_TRAILER_LF;
        else
            c->line++;
        return !lf && ++c->trailer <= PDL_HTTP_MAX_CHUNK_LINE;
    case CHUNK_TRAILER_LF:
        c->at = c->line ? CHUNK_TRAILER : CHUNK_END; /* the empty line is the last line */
        c->line = 0;
        return lf;
    case CHUNK_DATA:
    case CHUNK_END: return false;
    }
    PDL_BUG("state %d of a body in chunks", (int)c->at);
}

bool pdl_chunks_take(pdl_chunks *c, pdl_str *in, pdl_str *data) {
    *data = (pdl_str){0};
    while (in->n && c->at != CHUNK_END) {
        if (c->at == CHUNK_DATA) {
            *data = pdl_str_sub(*in, 0, c->left < in->n ? (size_t)c->left : in->n);
            *in = pdl_str_sub(*in, data->n, in->n);
            c->left -= data->n;
            if (!c->left) c->at = CHUNK_CR;
            return true;
        }
        char b = in->p[0];
        *in = pdl_str_sub(*in, 1, in->n);
        if (!take_byte(c, b)) return false;
    }
    return true;
}
