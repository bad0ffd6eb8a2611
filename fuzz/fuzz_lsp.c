/* fuzz_lsp.c -- messages to the language server, and texts that are edited while it answers. The
 * input is a text; every few bytes of it choose an edit of an open file or a request at a place.
 * Properties: each request is answered exactly once, with a result or an error, and all output is
 * JSON.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fuzz.h"

#include "lsp/lsp.h"
#include "value/json_read.h"

enum { MAX_STEPS = 24 };

typedef struct client {
    pdl_lsp *s;
    size_t asked, answered;
} client;

static void on_sent(void *user, pdl_str message) {
    client *c = user;
    pdl_err err = {0};
    pdl_val v;
    FUZZ_MUST(pdl_json_read(message, 0, &v, NULL, &err));
    bool is_request = !pdl_is_absent(pdl_dict_getz(v, "method"));
    c->answered += !is_request && !pdl_is_absent(pdl_dict_getz(v, "id"));
    pdl_drop(v);
}

static void tell(client *c, pdl_buf *message) {
    pdl_lsp_receive(c->s, pdl_buf_str(message));
    pdl_buf_fini(message);
    while (pdl_lsp_step(c->s)) {}
}

static void ask(client *c, const char *method, unsigned line, unsigned ch) {
    pdl_buf b = PDL_BUF;
    c->asked++;
    pdl_buf_putf(&b,
                 "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"%s\",\"params\":{\"textDocument\":"
                 "{\"uri\":\"untitled:a\"},\"newName\":\"n\",\"ch\":\"\\n\",\"query\":\"a\","
                 "\"context\":{\"includeDeclaration\":true,\"diagnostics\":[]},"
                 "\"options\":{\"tabSize\":2},\"positions\":[{\"line\":%u,\"character\":%u}],"
                 "\"range\":{\"start\":{\"line\":0,\"character\":0},\"end\":{\"line\":%u,"
                 "\"character\":%u}},\"position\":{\"line\":%u,\"character\":%u}}}",
                 c->asked, method, line, ch, line, ch, line, ch);
    tell(c, &b);
}

static void edit(client *c, pdl_str text, unsigned line, unsigned ch) {
    pdl_buf b = PDL_BUF;
    PDL_PUT(&b, "{\"method\":\"textDocument/didChange\",\"params\":{\"textDocument\":{\"uri\":"
                "\"untitled:a\",\"version\":2},\"contentChanges\":[{\"text\":");
    pdl_json_quote(text, 0, &b);
    pdl_buf_putf(&b,
                 ",\"range\":{\"start\":{\"line\":%u,\"character\":%u},\"end\":{\"line\":%u,"
                 "\"character\":%u}}}]}}",
                 line, ch, line, ch + 1);
    tell(c, &b);
}

static void open_text(client *c, pdl_str text) {
    pdl_buf b = PDL_BUF;
    PDL_PUT(&b, "{\"id\":0,\"method\":\"initialize\",\"params\":{\"capabilities\":{}}}");
    c->asked++;
    tell(c, &b);
    PDL_PUT(&b, "{\"method\":\"textDocument/didOpen\",\"params\":{\"textDocument\":{\"uri\":"
                "\"untitled:a\",\"languageId\":\"pdl\",\"version\":1,\"text\":");
    pdl_json_quote(text, 0, &b);
    PDL_PUT(&b, "}}}");
    tell(c, &b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const methods[] = {
        "textDocument/completion",
        "textDocument/hover",
        "textDocument/documentSymbol",
        "textDocument/definition",
        "textDocument/references",
        "textDocument/rename",
        "textDocument/prepareRename",
        "textDocument/foldingRange",
        "textDocument/codeLens",
        "textDocument/selectionRange",
        "textDocument/inlayHint",
        "textDocument/documentLink",
        "textDocument/codeAction",
        "textDocument/semanticTokens/full",
        "textDocument/diagnostic",
        "textDocument/formatting",
        "textDocument/onTypeFormatting",
        "textDocument/documentHighlight",
        "textDocument/prepareCallHierarchy",
        "textDocument/signatureHelp",
        "workspace/symbol",
        "pdl/regions",
    };
    client c = {0};
    pdl_buf text = fuzz_text(data, size);
    c.s = pdl_lsp_new(&(pdl_lsp_options){.send = on_sent, .user = &c});
    open_text(&c, pdl_buf_str(&text));
    pdl_lsp_receive(c.s, (pdl_str){(const char *)data, size}); /* bytes as a message */
    while (pdl_lsp_step(c.s)) {}
    pdl_lsp_free(c.s);
    c.asked = c.answered = 0;
    c.s = pdl_lsp_new(&(pdl_lsp_options){.send = on_sent, .user = &c});
    open_text(&c, pdl_buf_str(&text));
    for (size_t i = 0; i + 3 < size && i / 4 < MAX_STEPS; i += 4) {
        unsigned line = data[i + 1] & 31, ch = data[i + 2] & 63;
        if (data[i] & 1)
            edit(&c, pdl_utf8_cut(pdl_buf_str(&text), data[i + 3] & 15), line, ch);
        else
            ask(&c, methods[data[i] / 2 % (sizeof methods / sizeof *methods)], line, ch);
        while ((data[i + 3] & 16) && pdl_lsp_work(c.s)) {}
    }
    FUZZ_MUST(c.asked == c.answered);
    pdl_lsp_free(c.s);
    pdl_buf_fini(&text);
    return 0;
}
