/* rpc.c -- reads and writes the messages of the protocol; see server.h. What depends on the client,
 * such as Markdown and line ends, is decided here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lsp/server.h"
#include "value/json_write.h"

#include "base/banned.h"

/* --- reading ---------------------------------------------------------------------------------- */

static uint32_t get_u32(pdl_vref d, const char *key) {
    int64_t n = pdl_member_int(d, key, 0);
    return n < 0 ? 0 : n > INT32_MAX ? INT32_MAX : (uint32_t)n;
}

lsp_pos pdl_lsp_get_pos(pdl_vref pos) {
    return (lsp_pos){get_u32(pos, "line"), get_u32(pos, "character")};
}

lsp_range pdl_lsp_get_range(pdl_vref range) {
    return (lsp_range){pdl_lsp_get_pos(pdl_member(range, "start")),
                       pdl_lsp_get_pos(pdl_member(range, "end"))};
}

/* --- writing ---------------------------------------------------------------------------------- */

pdl_val pdl_lsp_put_pos(lsp_pos pos) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(2), "line", pdl_int(pos.line));
    return pdl_dict_putz(d, "character", pdl_int(pos.ch));
}

pdl_val pdl_lsp_put_range(lsp_range range) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(2), "start", pdl_lsp_put_pos(range.from));
    return pdl_dict_putz(d, "end", pdl_lsp_put_pos(range.to));
}

/* Appends text for clients that would show the marks of Markdown: leaves out ** and the lines of
 * fences. */
static void put_plain(pdl_str text, pdl_buf *out) {
    for (size_t i = 0; i < text.n;) {
        pdl_str rest = pdl_str_sub(text, i, text.n);
        bool begins = !i || text.p[i - 1] == '\n';
        if (begins && pdl_str_starts(rest, PDL_STR("```"))) {
            size_t end = pdl_str_find(rest, PDL_STR("\n"), 0);
            i += end == PDL_NOT_FOUND ? rest.n : end + 1;
        } else if (pdl_str_starts(rest, PDL_STR("**"))) {
            i += 2;
        } else {
            pdl_buf_putc(out, text.p[i++]);
        }
    }
}

pdl_val pdl_lsp_put_markdown(const pdl_lsp *s, pdl_str text) {
    pdl_buf plain = PDL_BUF;
    if (!s->has_markdown) put_plain(text, &plain);
    pdl_val d = pdl_dict_putz(pdl_dict_new(2), "kind",
                              pdl_textz(s->has_markdown ? "markdown" : "plaintext"));
    d = pdl_dict_putz(d, "value", pdl_text(s->has_markdown ? text : pdl_buf_str(&plain)));
    pdl_buf_fini(&plain);
    return d;
}

pdl_val pdl_lsp_put_location(const lsp_doc *doc, lsp_range range) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(2), "uri", pdl_textz(doc->uri));
    return pdl_dict_putz(d, "range", pdl_lsp_put_range(range));
}

static pdl_val with_crlf(pdl_str text) {
    pdl_buf b = PDL_BUF;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\n') pdl_buf_putc(&b, '\r');
        pdl_buf_putc(&b, text.p[i]);
    }
    return pdl_text_of_buf(&b);
}

pdl_val pdl_lsp_put_edit(const lsp_doc *doc, lsp_range range, pdl_str text) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(2), "range", pdl_lsp_put_range(range));
    return pdl_dict_putz(d, "newText", doc->crlf ? with_crlf(text) : pdl_text(text));
}

static void send(pdl_lsp *s, pdl_val message) {
    pdl_buf b = PDL_BUF;
    pdl_err err = {0};
    message = pdl_dict_putz(message, "jsonrpc", pdl_textz("2.0"));
    int flags = PDL_JSON_LOOSE | PDL_JSON_CUT | PDL_JSON_NAN_NULL;
    if (pdl_json_write(message, flags, 0, &b, &err)) s->opt.send(s->opt.user, pdl_buf_str(&b));
    pdl_err_fini(&err); /* a message that is too long to be written is not sent */
    pdl_buf_fini(&b);
    pdl_drop(message);
}

void pdl_lsp_notify(pdl_lsp *s, const char *method, pdl_val params) {
    pdl_val m = pdl_dict_putz(pdl_dict_new(3), "method", pdl_textz(method));
    send(s, pdl_dict_putz(m, "params", params));
}

void pdl_lsp_show_problem(pdl_lsp *s, pdl_val text) {
    pdl_val p = pdl_dict_putz(pdl_dict_new(2), "type", pdl_int(1));
    pdl_lsp_notify(s, "window/showMessage", pdl_dict_putz(p, "message", text));
}

void pdl_lsp_ask(pdl_lsp *s, const char *method, pdl_val params) {
    pdl_val m = pdl_dict_putz(pdl_dict_new(4), "id", pdl_int(++s->next_id));
    m = pdl_dict_putz(m, "method", pdl_textz(method));
    send(s, pdl_is_absent(params) ? m : pdl_dict_putz(m, "params", params));
}

void pdl_lsp_answer(pdl_lsp *s, pdl_vref id, pdl_val result) {
    pdl_val m = pdl_dict_putz(pdl_dict_new(3), "id", pdl_keep(id));
    send(s, pdl_dict_putz(m, "result", result));
}

void pdl_lsp_refuse(pdl_lsp *s, pdl_vref id, int code, const char *message) {
    pdl_val e = pdl_dict_putz(pdl_dict_new(2), "code", pdl_int(code));
    e = pdl_dict_putz(e, "message", pdl_textz(message));
    pdl_val m = pdl_dict_putz(pdl_dict_new(3), "id", pdl_keep(id));
    send(s, pdl_dict_putz(m, "error", e));
}

pdl_val pdl_lsp_fail(pdl_lsp *s, int code, const char *fmt, ...) {
    pdl_buf b = PDL_BUF;
    va_list ap;
    va_start(ap, fmt);
    pdl_buf_vputf(&b, fmt, ap);
    va_end(ap);
    pdl_free(s->failure.message);
    s->failure.code = code;
    s->failure.message = pdl_buf_take(&b);
    return pdl_absent();
}
