/* wirelog.c -- see wirelog.h. */
#include "model/wirelog.h"

#include "base/utf8.h"

#include "base/banned.h"

enum { SHORTEST_SECRET = 8 };

/* text without a secret, should it have been repeated. */
static void mask(pdl_buf *text, pdl_str secret) {
    pdl_buf out = PDL_BUF;
    pdl_str s = pdl_buf_str(text);
    size_t pos = 0;
    if (secret.n < SHORTEST_SECRET || pdl_str_find(s, secret, 0) == PDL_NOT_FOUND) return;
    for (size_t at; (at = pdl_str_find(s, secret, pos)) != PDL_NOT_FOUND; pos = at + secret.n) {
        pdl_buf_put(&out, pdl_str_sub(s, pos, at));
        PDL_PUT(&out, "***");
    }
    pdl_buf_put(&out, pdl_str_sub(s, pos, s.n));
    pdl_buf_fini(text);
    *text = out;
}

void pdl_call_put_masked(const pdl_call *c, pdl_str text, pdl_buf *out) {
    pdl_str secret;
    pdl_buf_put(out, text);
    mask(out, pdl_buf_str(&c->route.key));
    for (size_t i = 0; i < c->headers.n; i++)
        if (pdl_headers_is_secret(c->headers.p[i], &secret)) mask(out, secret);
}

/* --- the log ------------------------------------------------------------------------------------------------------ */

static bool is_on(const pdl_call *c) { return c->calls->opt.wire != NULL; }

/* Each line of text behind "#CALL MARK "; an empty text is an empty line. */
static void put_lines(const pdl_call *c, char mark, pdl_str text, pdl_buf *out) {
    size_t from = 0;
    do {
        size_t nl = pdl_str_find(text, PDL_STR("\n"), from), to = nl == PDL_NOT_FOUND ? text.n : nl;
        pdl_str line = pdl_str_sub(text, from, to);
        if (line.n && line.p[line.n - 1] == '\r') line.n--;
        pdl_buf_putf(out, "#%llu %c ", (unsigned long long)c->number, mark);
        pdl_buf_put(out, line);
        pdl_buf_putc(out, '\n');
        from = to + 1;
    } while (from < text.n);
}

/* A whole entry at once: those of other calls do not come in between. */
static void tell(const pdl_call *c, pdl_buf *entry) {
    pdl_buf clean = PDL_BUF, fixed = PDL_BUF;
    pdl_call_put_masked(c, pdl_buf_str(entry), &clean);
    pdl_utf8_repair(&fixed, pdl_buf_str(&clean));
    c->calls->opt.wire(c->calls->opt.user, pdl_buf_str(&fixed));
    pdl_buf_fini(&fixed);
    pdl_buf_fini(&clean);
    pdl_buf_fini(entry);
}

static void put_header(const pdl_call *c, const char *line, pdl_buf *out) {
    pdl_str s = pdl_str_of(line), secret;
    size_t colon = pdl_str_find(s, PDL_STR(":"), 0);
    pdl_buf shown = PDL_BUF;
    if (colon != PDL_NOT_FOUND && pdl_headers_is_secret(line, &secret)) {
        pdl_buf_put(&shown, pdl_str_sub(s, 0, colon));
        PDL_PUT(&shown, ": ***");
    } else {
        pdl_buf_put(&shown, s);
    }
    put_lines(c, '>', pdl_buf_str(&shown), out);
    pdl_buf_fini(&shown);
}

void pdl_wire_sent(const pdl_call *c, const pdl_http_request *r) {
    if (!is_on(c)) return;
    pdl_buf out = PDL_BUF, first = PDL_BUF;
    pdl_buf_putf(&first, "%s %s", r->method, r->url);
    put_lines(c, '>', pdl_buf_str(&first), &out);
    for (size_t i = 0; i < r->n_headers; i++) put_header(c, r->headers[i], &out);
    put_lines(c, '>', PDL_STR(""), &out);
    if (r->body.n) put_lines(c, '>', r->body, &out);
    tell(c, &out);
    pdl_buf_fini(&first);
}

void pdl_wire_data(pdl_call *c, pdl_str bytes) {
    if (is_on(c)) pdl_buf_put(&c->wired, bytes);
}

void pdl_wire_came(pdl_call *c, const pdl_http_reply *r) {
    if (!is_on(c)) return;
    pdl_buf out = PDL_BUF;
    put_lines(c, '<', pdl_str_trim(r->header_text), &out);
    put_lines(c, '<', PDL_STR(""), &out);
    if (c->wired.len) put_lines(c, '<', pdl_buf_str(&c->wired), &out);
    if (r->body.n) put_lines(c, '<', r->body, &out);
    if (r->end != PDL_HTTP_OK) pdl_buf_putf(&out, "#%u ! %s\n", c->e->id, r->why);
    pdl_buf_fini(&c->wired);
    tell(c, &out);
}
