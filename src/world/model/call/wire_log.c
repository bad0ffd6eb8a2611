/* wire_log.c -- writes the literal requests and replies of calls to the log of --wire; see
 * wire_log.h. Secrets are redacted before an entry leaves this file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/call/wire_log.h"

#include "base/utf8.h"

#include "base/banned.h"

static bool is_on(const pdl_call *c) { return c->calls->opt.wire != NULL; }

/* Appends each line of text after "#CALL MARK "; an empty text is an empty line. */
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

/* Appends the lines of text with its secrets redacted, also secrets that span several lines. */
static void put_redacted(const pdl_call *c, char mark, pdl_str text, pdl_buf *out) {
    pdl_buf clean = PDL_BUF;
    pdl_redact_lines(c->calls->opt.secrets, text, &clean);
    put_lines(c, mark, pdl_buf_str(&clean), out);
    pdl_buf_fini(&clean);
}

/* Writes a whole entry at once, so that entries of different calls are not mixed. */
static void send_entry(const pdl_call *c, pdl_buf *entry) {
    pdl_buf fixed = PDL_BUF;
    pdl_utf8_repair(&fixed, pdl_buf_str(entry));
    c->calls->opt.wire(c->calls->opt.user, pdl_buf_str(&fixed));
    pdl_buf_fini(&fixed);
    pdl_buf_fini(entry);
}

/* Returns `label` when the policy hides a value with these labels. Otherwise returns 0, the set
 * without labels. */
static pdl_label hidden_of(const pdl_call *c, pdl_label label) {
    const pdl_redaction *m = c->calls->opt.redaction;
    return m && m->labels && pdl_redaction_covers(m, label) ? label : 0;
}

static pdl_label hidden_in_request(const pdl_call *c) {
    return hidden_of(c, pdl_label_of(c->e->request));
}

/* A reply has the labels of its request, and those of its kind and its source. */
static pdl_label hidden_in_reply(const pdl_call *c) { return hidden_of(c, pdl_effect_label(c->e)); }

/* Writes an entry without content, which only names the labels that hide the content. */
static void put_hidden(const pdl_call *c, char mark, pdl_label label, pdl_buf *out) {
    pdl_buf name = PDL_BUF;
    pdl_redaction_put(c->calls->opt.redaction, label, &name);
    put_lines(c, mark, pdl_buf_str(&name), out);
    pdl_buf_fini(&name);
}

static void put_header(const pdl_call *c, const char *line, pdl_buf *out) {
    pdl_buf shown = PDL_BUF;
    pdl_headers_show(pdl_str_of(line), &shown);
    put_redacted(c, '>', pdl_buf_str(&shown), out);
    pdl_buf_fini(&shown);
}

/* Appends the head of a reply. Cookies in it are redacted, because they are as secret as the keys
 * of a request. */
static void put_reply_head(const pdl_call *c, pdl_str head, pdl_buf *out) {
    while (head.n) {
        size_t nl = pdl_str_find(head, PDL_STR("\n"), 0);
        pdl_str line = pdl_str_trim(pdl_str_sub(head, 0, nl));
        size_t colon = pdl_str_find(line, PDL_STR(":"), 0);
        bool cookie = colon != PDL_NOT_FOUND &&
                      pdl_str_eq_nocase(pdl_str_sub(line, 0, colon), PDL_STR("set-cookie"));
        put_redacted(c, '<', cookie ? PDL_STR("Set-Cookie: ***") : line, out);
        head = nl == PDL_NOT_FOUND ? (pdl_str){"", 0} : pdl_str_sub(head, nl + 1, head.n);
    }
}

void pdl_wire_sent(const pdl_call *c, const pdl_http_request *r) {
    if (!is_on(c)) return;
    pdl_buf out = PDL_BUF, first = PDL_BUF;
    pdl_label hidden = hidden_in_request(c);
    if (hidden) {
        put_hidden(c, '>', hidden, &out);
        send_entry(c, &out);
        return;
    }
    pdl_buf_putf(&first, "%s ", r->method);
    pdl_address_put(pdl_str_of(r->url), &first);
    put_redacted(c, '>', pdl_buf_str(&first), &out);
    for (size_t i = 0; i < r->n_headers; i++) put_header(c, r->headers[i], &out);
    put_lines(c, '>', PDL_STR(""), &out);
    if (r->body.n) put_redacted(c, '>', r->body, &out);
    send_entry(c, &out);
    pdl_buf_fini(&first);
}

void pdl_wire_data(pdl_call *c, pdl_str bytes) {
    if (is_on(c) && !hidden_in_reply(c)) pdl_buf_put(&c->wire_text, bytes);
}

static void put_reply(const pdl_call *c, const pdl_http_reply *r, pdl_buf *out) {
    put_reply_head(c, pdl_str_trim(r->header_text), out);
    put_lines(c, '<', PDL_STR(""), out);
    if (c->wire_text.len) put_redacted(c, '<', pdl_buf_str(&c->wire_text), out);
    if (r->body.n) put_redacted(c, '<', r->body, out);
}

void pdl_wire_received(pdl_call *c, const pdl_http_reply *r) {
    if (!is_on(c)) return;
    pdl_buf out = PDL_BUF;
    pdl_label hidden = hidden_in_reply(c);
    if (hidden)
        put_hidden(c, '<', hidden, &out);
    else
        put_reply(c, r, &out);
    if (r->end != PDL_HTTP_OK)
        pdl_buf_putf(&out, "#%llu ! %s\n", (unsigned long long)c->number, r->why);
    pdl_buf_fini(&c->wire_text);
    send_entry(c, &out);
}
