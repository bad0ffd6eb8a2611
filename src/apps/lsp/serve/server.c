/* server.c -- the start and end of a server, the synchronisation of texts, and the table of
 * requests; see lsp.h.
 *
 * Messages are received as soon as they arrive and handled in their order. Receiving ahead makes
 * cancellation work without threads: when the cancellation of a request is in the queue, the
 * request is removed from it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <assert.h>
#include <math.h>

#include "base/utf8.h"
#include "base/version.h"
#include "lsp/features.h"
#include "value/json_read.h"

#include "base/banned.h"

enum {
    MAX_TEXT = 64 << 20,        /* maximum size of an open file; a larger file is not examined */
    MAX_OPEN_BYTES = 256 << 20, /* maximum size of all open files together */
    /* maximum number of messages that wait, and maximum of their total size */
    MAX_WAITING = 4096,
    MAX_WAITING_BYTES = 16 << 20
};

typedef struct method {
    const char *name;
    lsp_handler *fn;
    bool is_request;
} method;

/* --- life ------------------------------------------------------------------------------------- */

pdl_lsp *pdl_lsp_new(const pdl_lsp_options *options) {
    pdl_lsp *s = PDL_NEW(pdl_lsp);
    s->opt = *options;
    return s;
}

static void forget(lsp_waiting *w) {
    pdl_drop(w->m);
    pdl_free(w->no_json);
}

void pdl_lsp_free(pdl_lsp *s) {
    if (!s) return;
    for (size_t i = s->queue_head; i < s->queue.n; i++) forget(&s->queue.p[i]);
    for (size_t i = 0; i < s->roots.n; i++) pdl_free(s->roots.p[i]);
    for (size_t i = 0; i < s->to_scan.n; i++) pdl_free(s->to_scan.p[i]);
    pdl_check_library_fini(&s->library);
    pdl_vec_fini(&s->queue);
    pdl_vec_fini(&s->roots);
    pdl_vec_fini(&s->to_scan);
    pdl_vec_fini(&s->to_index);
    pdl_lsp_docs_free(s);
    pdl_free(s->failure.message);
    pdl_free(s);
}

static pdl_val words(const char *const *p) {
    pdl_val list = pdl_list_new(8);
    for (; *p; p++) list = pdl_list_push(list, pdl_textz(*p));
    return list;
}

static pdl_val put_flag(pdl_val d, const char *key) {
    return pdl_dict_putz(d, key, pdl_bool(true));
}

static pdl_val sync_capability(void) {
    pdl_val d = put_flag(pdl_dict_new(4), "openClose");
    /* the value means that the client sends changed ranges */
    d = pdl_dict_putz(d, "change", pdl_int(2));
    return put_flag(d, "save");
}

static pdl_val completion_capability(void) {
    static const char *const triggers[] = {"{", ".", "|", " ", "/", ":", "\"", "'", NULL};
    pdl_val d = pdl_dict_putz(pdl_dict_new(2), "triggerCharacters", words(triggers));
    return put_flag(d, "resolveProvider");
}

static pdl_val pull_capability(void) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(3), "identifier", pdl_textz("pdl"));
    d = put_flag(d, "interFileDependencies");
    return put_flag(d, "workspaceDiagnostics");
}

static pdl_val workspace_capability(void) {
    pdl_val folders = put_flag(pdl_dict_new(2), "supported");
    folders = put_flag(folders, "changeNotifications");
    return pdl_dict_putz(pdl_dict_new(1), "workspaceFolders", folders);
}

static pdl_val triggers_capability(const char *key, const char *one) {
    const char *const list[] = {one, ",", NULL};
    return pdl_dict_putz(pdl_dict_new(1), key, words(list));
}

static pdl_val actions_capability(void) {
    static const char *const kinds[] = {"quickfix", "source.fixAll.pdl", NULL};
    return pdl_dict_putz(pdl_dict_new(1), "codeActionKinds", words(kinds));
}

static pdl_val tokens_capability(void) {
    pdl_val legend = pdl_dict_putz(pdl_dict_new(2), "tokenTypes", words(pdl_lsp_token_types));
    legend = pdl_dict_putz(legend, "tokenModifiers", words(pdl_lsp_token_modifiers));
    pdl_val d = pdl_dict_putz(pdl_dict_new(3), "legend", legend);
    return put_flag(put_flag(d, "full"), "range");
}

/* Returns an object that is not empty, because some clients take an empty one for a missing
 * feature. */
static pdl_val no_resolve(void) {
    return pdl_dict_putz(pdl_dict_new(1), "resolveProvider", pdl_bool(false));
}

static pdl_val capabilities(const pdl_lsp *s) {
    static const char *const flags[] = {
        "hoverProvider",        "documentSymbolProvider",     "workspaceSymbolProvider",
        "definitionProvider",   "referencesProvider",         "documentHighlightProvider",
        "foldingRangeProvider", "selectionRangeProvider",     "callHierarchyProvider",
        "inlayHintProvider",    "documentFormattingProvider", "documentRangeFormattingProvider"};
    pdl_val d = pdl_dict_new(32);
    d = pdl_dict_putz(d, "positionEncoding", pdl_textz(s->utf8 ? "utf-8" : "utf-16"));
    d = pdl_dict_putz(d, "textDocumentSync", sync_capability());
    d = pdl_dict_putz(d, "completionProvider", completion_capability());
    d = pdl_dict_putz(d, "diagnosticProvider", pull_capability());
    d = pdl_dict_putz(d, "workspace", workspace_capability());
    d = pdl_dict_putz(d, "signatureHelpProvider", triggers_capability("triggerCharacters", "("));
    d = pdl_dict_putz(d, "renameProvider", put_flag(pdl_dict_new(1), "prepareProvider"));
    d = pdl_dict_putz(d, "documentLinkProvider", no_resolve());
    d = pdl_dict_putz(d, "codeLensProvider", no_resolve());
    d = pdl_dict_putz(d, "codeActionProvider", actions_capability());
    d = pdl_dict_putz(d, "semanticTokensProvider", tokens_capability());
    d = pdl_dict_putz(d, "executeCommandProvider",
                      pdl_dict_putz(pdl_dict_new(1), "commands", words(pdl_lsp_commands)));
    d = pdl_dict_putz(d, "documentOnTypeFormattingProvider",
                      pdl_dict_putz(pdl_dict_new(1), "firstTriggerCharacter", pdl_textz("\n")));
    d = pdl_dict_putz(d, "experimental", put_flag(pdl_dict_new(1), "pdl/regions"));
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) d = put_flag(d, flags[i]);
    return d;
}

static bool has_word(pdl_vref list, const char *word) {
    for (size_t i = 0; pdl_is_list(list) && i < pdl_list_len(list); i++)
        if (pdl_text_is(pdl_list_at(list, i), word)) return true;
    return false;
}

static void read_client(pdl_lsp *s, pdl_vref caps) {
    pdl_vref general = pdl_member(caps, "general"), text = pdl_member(caps, "textDocument"),
             work = pdl_member(caps, "workspace"), window = pdl_member(caps, "window");
    pdl_vref item = pdl_member(pdl_member(text, "completion"), "completionItem");
    s->utf8 = has_word(pdl_member(general, "positionEncodings"), "utf-8");
    s->has_progress = pdl_member_bool(window, "workDoneProgress");
    s->has_watch =
        pdl_member_bool(pdl_member(work, "didChangeWatchedFiles"), "dynamicRegistration");
    s->has_pull = pdl_is_dict(pdl_member(text, "diagnostic"));
    s->has_pull_refresh = pdl_member_bool(pdl_member(work, "diagnostics"), "refreshSupport");
    s->has_doc_changes = pdl_member_bool(pdl_member(work, "workspaceEdit"), "documentChanges");
    s->has_code_links =
        pdl_member_bool(pdl_member(text, "publishDiagnostics"), "codeDescriptionSupport");
    s->has_snippets = pdl_member_bool(item, "snippetSupport");
    s->has_markdown = has_word(pdl_member(pdl_member(text, "hover"), "contentFormat"), "markdown");
}

static void add_root(pdl_lsp *s, pdl_str uri) {
    pdl_buf path = PDL_BUF;
    if (pdl_lsp_uri_path(uri, &path)) {
        while (path.len > 1 && path.p[path.len - 1] == '/') pdl_buf_cut(&path, path.len - 1);
        pdl_lsp_workspace_add(s, pdl_buf_str(&path));
    }
    pdl_buf_fini(&path);
}

static pdl_val on_initialize(pdl_lsp *s, pdl_vref params) {
    if (s->state != LSP_NEW) return pdl_lsp_fail(s, LSP_INVALID_REQUEST, "initialized already");
    read_client(s, pdl_member(params, "capabilities"));
    pdl_vref folders = pdl_member(params, "workspaceFolders");
    for (size_t i = 0; pdl_is_list(folders) && i < pdl_list_len(folders); i++)
        add_root(s, pdl_member_str(pdl_list_at(folders, i), "uri"));
    if (!pdl_is_list(folders)) add_root(s, pdl_member_str(params, "rootUri"));
    s->client = pdl_member_int(params, "processId", 0);
    s->state = LSP_READY;
    pdl_val info = pdl_dict_putz(pdl_dict_new(2), "name", pdl_textz("pdl"));
    info = pdl_dict_putz(info, "version", pdl_textz(PDL_VERSION));
    pdl_val d = pdl_dict_putz(pdl_dict_new(2), "capabilities", capabilities(s));
    return pdl_dict_putz(d, "serverInfo", info);
}

/* Asks the client to report changes of programs that are not open. The server itself watches no
 * files. */
static pdl_val on_initialized(pdl_lsp *s, pdl_vref params) {
    (void)params;
    pdl_lsp_check_prices(s);
    if (!s->has_watch) return pdl_null();
    pdl_val w = pdl_dict_putz(pdl_dict_new(1), "globPattern", pdl_textz("**/{*.pdl,pdl.toml}"));
    pdl_val o = pdl_dict_putz(pdl_dict_new(1), "watchers", pdl_list_push(pdl_list_new(1), w));
    pdl_val r = pdl_dict_putz(pdl_dict_new(3), "id", pdl_textz("pdl-files"));
    r = pdl_dict_putz(r, "method", pdl_textz("workspace/didChangeWatchedFiles"));
    r = pdl_dict_putz(r, "registerOptions", o);
    pdl_lsp_ask(s, "client/registerCapability",
                pdl_dict_putz(pdl_dict_new(1), "registrations", pdl_list_push(pdl_list_new(1), r)));
    return pdl_null();
}

static pdl_val on_shutdown(pdl_lsp *s, pdl_vref params) {
    (void)params;
    s->state = LSP_SHUT;
    return pdl_null();
}

int64_t pdl_lsp_client(const pdl_lsp *s) { return s->client; }

bool pdl_lsp_is_over(const pdl_lsp *s, int *code) {
    *code = s->failure.code;
    return s->state == LSP_OVER;
}

/* --- text synchronisation --------------------------------------------------------------------- */

static lsp_doc *known(pdl_lsp *s, pdl_vref params) {
    return pdl_lsp_doc_of_uri(s, pdl_member_str(pdl_member(params, "textDocument"), "uri"));
}

static bool has_crlf(pdl_str text) {
    return pdl_str_find(text, PDL_STR("\r\n"), 0) != PDL_NOT_FOUND;
}

/* Returns true when n more bytes fit, in addition to the texts of the other open documents. */
static bool has_room(const pdl_lsp *s, const lsp_doc *d, size_t n) {
    for (size_t i = 0; i < s->docs.n; i++) {
        const lsp_doc *other = s->docs.p[i];
        if (other->open && other != d) n += other->text.b.len;
    }
    return n <= MAX_OPEN_BYTES;
}

static void set_text(const pdl_lsp *s, lsp_doc *d, pdl_str text) {
    if (text.n > MAX_TEXT || !has_room(s, d, text.n)) text = (pdl_str){0};
    d->crlf = has_crlf(text);
    pdl_lsp_text_set(&d->text, text);
}

/* Marks the files whose problems may have changed: this file and all open files. */
static void is_changed(pdl_lsp *s, lsp_doc *d) {
    pdl_lsp_doc_touch(s, d);
    for (size_t i = 0; i < s->docs.n; i++)
        if (s->docs.p[i]->open) s->docs.p[i]->due = true;
}

static pdl_val on_open(pdl_lsp *s, pdl_vref params) {
    pdl_vref item = pdl_member(params, "textDocument");
    pdl_str uri = pdl_member_str(item, "uri");
    lsp_doc *d = uri.n ? pdl_lsp_doc_add(s, uri) : NULL;
    if (!d) return pdl_null();
    pdl_lsp_configs_forget(s);
    pdl_free(d->uri);
    d->uri = pdl_str_dup(uri);
    d->open = true;
    s->current = d;
    d->version = pdl_member_int(item, "version", 0);
    set_text(s, d, pdl_member_str(item, "text"));
    is_changed(s, d);
    return pdl_null();
}

static void apply(const pdl_lsp *s, lsp_doc *d, pdl_vref change) {
    pdl_vref range = pdl_member(change, "range");
    pdl_str text = pdl_member_str(change, "text");
    if (!pdl_is_dict(range)) {
        set_text(s, d, text);
        return;
    }
    if (d->text.lines.n < 2) d->crlf = has_crlf(text);
    size_t n = d->text.b.len + text.n;
    if (n > MAX_TEXT || !has_room(s, d, n)) return;
    lsp_range r = pdl_lsp_get_range(range);
    pdl_lsp_text_replace(&d->text, r, text);
}

static pdl_val on_change(pdl_lsp *s, pdl_vref params) {
    lsp_doc *d = known(s, params);
    pdl_vref changes = pdl_member(params, "contentChanges");
    if (!d || !d->open) return pdl_null();
    s->current = d;
    d->version = pdl_member_int(pdl_member(params, "textDocument"), "version", d->version);
    for (size_t i = 0; pdl_is_list(changes) && i < pdl_list_len(changes); i++)
        apply(s, d, pdl_list_at(changes, i));
    is_changed(s, d);
    return pdl_null();
}

/* Closes a document: from now on its file is read. The diagnostics of this file are withdrawn;
 * diagnostics of files that import it are kept. */
static pdl_val on_close(pdl_lsp *s, pdl_vref params) {
    lsp_doc *d = known(s, params);
    if (!d || !d->open) return pdl_null();
    d->open = d->due = false;
    pdl_lsp_text_fini(&d->text);
    pdl_lsp_withdraw(s, d);
    is_changed(s, d);
    return pdl_null();
}

/* Marks every open program, because its problems may have changed. */
static void config_is_changed(pdl_lsp *s) {
    pdl_lsp_configs_forget(s);
    s->revision++;
    for (size_t i = 0; i < s->docs.n; i++)
        if (s->docs.p[i]->open) s->docs.p[i]->due = true;
}

static pdl_val on_watched(pdl_lsp *s, pdl_vref params) {
    pdl_vref changes = pdl_member(params, "changes");
    for (size_t i = 0; pdl_is_list(changes) && i < pdl_list_len(changes); i++) {
        pdl_vref c = pdl_list_at(changes, i);
        pdl_str uri = pdl_member_str(c, "uri");
        if (pdl_str_ends(uri, PDL_STR("/pdl.toml"))) {
            config_is_changed(s);
            continue;
        }
        lsp_doc *d = uri.n ? pdl_lsp_doc_add(s, uri) : NULL;
        if (!d || d->open) continue;
        d->gone = pdl_member_int(c, "type", 2) == 3;
        pdl_lsp_text_fini(&d->text);
        is_changed(s, d);
        if (!d->gone) pdl_lsp_workspace_index(s, d);
    }
    return pdl_null();
}

static pdl_val on_folders(pdl_lsp *s, pdl_vref params) {
    pdl_vref event = pdl_member(params, "event"), added = pdl_member(event, "added"),
             removed = pdl_member(event, "removed");
    for (size_t i = 0; pdl_is_list(removed) && i < pdl_list_len(removed); i++) {
        pdl_buf path = PDL_BUF;
        if (pdl_lsp_uri_path(pdl_member_str(pdl_list_at(removed, i), "uri"), &path))
            pdl_lsp_workspace_remove(s, pdl_buf_str(&path));
        pdl_buf_fini(&path);
    }
    for (size_t i = 0; pdl_is_list(added) && i < pdl_list_len(added); i++)
        add_root(s, pdl_member_str(pdl_list_at(added, i), "uri"));
    return pdl_null();
}

static pdl_val on_nothing(pdl_lsp *s, pdl_vref params) {
    (void)s;
    (void)params;
    return pdl_null();
}

/* --- dispatch --------------------------------------------------------------------------------- */

static const method methods[] = {
    {"initialize", on_initialize, true},
    {"initialized", on_initialized, false},
    {"shutdown", on_shutdown, true},
    {"$/setTrace", on_nothing, false},
    {"workspace/didChangeConfiguration", on_nothing, false},
    {"workspace/didChangeWatchedFiles", on_watched, false},
    {"workspace/didChangeWorkspaceFolders", on_folders, false},
    {"window/workDoneProgress/cancel", on_nothing, false},
    {"textDocument/didOpen", on_open, false},
    {"textDocument/didChange", on_change, false},
    {"textDocument/didSave", on_nothing, false},
    {"textDocument/didClose", on_close, false},
    {"textDocument/diagnostic", pdl_lsp_on_pull, true},
    {"workspace/diagnostic", pdl_lsp_on_workspace_pull, true},
    {"textDocument/completion", pdl_lsp_on_completion, true},
    {"completionItem/resolve", pdl_lsp_on_resolve_completion, true},
    {"textDocument/hover", pdl_lsp_on_hover, true},
    {"textDocument/signatureHelp", pdl_lsp_on_signature, true},
    {"textDocument/definition", pdl_lsp_on_definition, true},
    {"textDocument/references", pdl_lsp_on_references, true},
    {"textDocument/documentHighlight", pdl_lsp_on_highlight, true},
    {"textDocument/prepareRename", pdl_lsp_on_prepare_rename, true},
    {"textDocument/rename", pdl_lsp_on_rename, true},
    {"textDocument/documentLink", pdl_lsp_on_links, true},
    {"textDocument/foldingRange", pdl_lsp_on_folding, true},
    {"textDocument/selectionRange", pdl_lsp_on_selection, true},
    {"textDocument/prepareCallHierarchy", pdl_lsp_on_prepare_calls, true},
    {"callHierarchy/incomingCalls", pdl_lsp_on_incoming, true},
    {"callHierarchy/outgoingCalls", pdl_lsp_on_outgoing, true},
    {"textDocument/semanticTokens/full", pdl_lsp_on_tokens, true},
    {"textDocument/semanticTokens/range", pdl_lsp_on_tokens_range, true},
    {"textDocument/inlayHint", pdl_lsp_on_hints, true},
    {"textDocument/codeLens", pdl_lsp_on_lenses, true},
    {"textDocument/codeAction", pdl_lsp_on_actions, true},
    {"textDocument/formatting", pdl_lsp_on_format, true},
    {"textDocument/rangeFormatting", pdl_lsp_on_format_range, true},
    {"textDocument/onTypeFormatting", pdl_lsp_on_format_typing, true},
    {"workspace/executeCommand", pdl_lsp_on_command, true},
    {"pdl/regions", pdl_lsp_on_regions, true},
    {"textDocument/documentSymbol", pdl_lsp_on_document_symbols, true},
    {"workspace/symbol", pdl_lsp_on_workspace_symbols, true},
};

static const method *find_method(pdl_str name) {
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (pdl_str_is(name, methods[i].name)) return &methods[i];
    return NULL;
}

static bool is_request(pdl_vref m) {
    return pdl_is_str(pdl_member(m, "method")) && !pdl_is_absent(pdl_member(m, "id"));
}

/* Returns true for an id that an answer can repeat and that a client can recognise. */
static bool is_id(pdl_vref id) {
    return pdl_is_str(id) || pdl_is_int(id) ||
           (pdl_is(id, PDL_V_FLOAT) && isfinite(pdl_float_of(id)));
}

/* Handles a cancellation. A request that is still in the queue is removed and answered. */
static void cancel(pdl_lsp *s, pdl_vref id) {
    for (size_t i = s->queue_head; i < s->queue.n; i++) {
        pdl_vref m = s->queue.p[i].m;
        if (!is_request(m) || !is_id(id) || !pdl_val_eq(pdl_member(m, "id"), id)) continue;
        pdl_lsp_refuse(s, id, LSP_CANCELLED, "cancelled");
        pdl_drop(s->queue.p[i].m);
        s->queue.p[i].m = pdl_absent();
        return;
    }
}

void pdl_lsp_receive(pdl_lsp *s, pdl_str message) {
    pdl_err err = {0};
    pdl_val m;
    if (pdl_utf8_check(message) != PDL_NOT_FOUND ||
        !pdl_json_read_document(message, PDL_JSON_PYTHON, &m, &err)) {
        pdl_buf why = PDL_BUF;
        pdl_buf_putf(&why, "the message is not JSON: %s", err.kind ? err.msg : "it is not UTF-8");
        *pdl_vec_push(&s->queue) = (lsp_waiting){pdl_absent(), pdl_buf_take(&why)};
        s->queue_bytes += message.n;
        pdl_err_fini(&err);
        return;
    }
    if (pdl_str_is(pdl_member_str(m, "method"), "$/cancelRequest")) {
        cancel(s, pdl_member(pdl_member(m, "params"), "id"));
        pdl_drop(m);
        return;
    }
    *pdl_vec_push(&s->queue) = (lsp_waiting){m, NULL};
    s->queue_bytes += message.n;
}

bool pdl_lsp_is_full(const pdl_lsp *s) {
    return s->queue.n >= MAX_WAITING || s->queue_bytes >= MAX_WAITING_BYTES;
}

/* Returns true when the invariants hold between messages: each document is found by its key, no
 * document waits twice for its index, and no failure of a request is left. */
static inline bool server_ok(const pdl_lsp *s) {
    return s->queue_head <= s->queue.n && s->by_key.n == s->docs.n && s->to_index.n <= s->docs.n &&
           !s->failure.message;
}

static void end(pdl_lsp *s) {
    s->failure.code = s->state == LSP_SHUT ? 0 : 1;
    s->state = LSP_OVER;
}

static void run(pdl_lsp *s, const method *m, pdl_vref id, pdl_vref params) {
    pdl_val result = m->fn(s, params);
    pdl_lsp_docs_trim(s);
    if (pdl_is_absent(id)) {
        pdl_drop(result);
    } else if (s->failure.message) {
        pdl_lsp_refuse(s, id, s->failure.code, s->failure.message);
        pdl_drop(result);
    } else {
        pdl_lsp_answer(s, id, pdl_is_absent(result) ? pdl_null() : result);
    }
    pdl_free(s->failure.message);
    s->failure.message = NULL;
}

static bool is_reply(pdl_vref m) {
    return pdl_is_absent(pdl_member(m, "method")) &&
           (!pdl_is_absent(pdl_member(m, "result")) || !pdl_is_absent(pdl_member(m, "error")));
}

static void handle(pdl_lsp *s, pdl_vref m) {
    pdl_str name = pdl_member_str(m, "method");
    pdl_vref id = pdl_member(m, "id"), params = pdl_member(m, "params");
    const method *found = find_method(name);
    if (s->state == LSP_OVER || is_reply(m)) {
        /* an answer of the client needs no reaction */
    } else if (!name.n) {
        pdl_lsp_refuse(s, is_id(id) ? id : pdl_null(), LSP_INVALID_REQUEST,
                       "a message is an object with `method`, a text");
    } else if (!pdl_is_absent(id) && !is_id(id)) {
        pdl_lsp_refuse(s, pdl_null(), LSP_INVALID_REQUEST, "an id is a number or a text");
    } else if (pdl_str_is(name, "exit")) {
        end(s);
    } else if (s->state == LSP_NEW && found != &methods[0]) {
        if (is_request(m)) pdl_lsp_refuse(s, id, LSP_NOT_INITIALIZED, "initialize comes first");
    } else if (s->state == LSP_SHUT) {
        if (is_request(m)) pdl_lsp_refuse(s, id, LSP_INVALID_REQUEST, "the server is shut down");
    } else if (!found || found->is_request != is_request(m)) {
        if (is_request(m)) pdl_lsp_refuse(s, id, LSP_NO_METHOD, "no such method");
    } else {
        run(s, found, id, params);
    }
}

bool pdl_lsp_step(pdl_lsp *s) {
    assert(server_ok(s));
    if (s->queue_head == s->queue.n) {
        s->queue.n = s->queue_head = s->queue_bytes = 0;
        return false;
    }
    lsp_waiting next = s->queue.p[s->queue_head++];
    if (next.no_json)
        pdl_lsp_refuse(s, pdl_null(), LSP_PARSE_ERROR, next.no_json);
    else if (!pdl_is_absent(next.m)) /* a cancelled request was answered before */
        handle(s, next.m);
    forget(&next);
    return true;
}

bool pdl_lsp_work(pdl_lsp *s) {
    assert(server_ok(s));
    if (s->state != LSP_READY) return false;
    return pdl_lsp_diagnose_work(s) || pdl_lsp_workspace_work(s);
}
