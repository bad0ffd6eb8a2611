/* docs.c -- documents, found by address and by path; see server.h.
 *
 * A document is found by the path in its address, and not by the address itself, because clients
 * differ in the characters of a path that they escape. An address without a path (of an unsaved
 * buffer) is itself the key. Documents are never removed, since messages may name them again; a
 * closed one takes a few hundred bytes and its index.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "api/import_search.h"
#include "base/url.h"
#include "base/utf8.h"
#include "io/file.h"
#include "lsp/server.h"

#include "base/banned.h"

enum {
    MAX_FILE = 256 << 20, /* maximum size of a file that is read for the workspace */
    MAX_DOCS = 100000     /* maximum number of documents that a client may name */
};

/* --- addresses -------------------------------------------------------------------------------- */

bool pdl_lsp_uri_path(pdl_str uri, pdl_buf *path) {
    if (!pdl_str_starts(uri, PDL_STR("file://"))) return false;
    size_t i = 7;
    while (i < uri.n && uri.p[i] != '/') i++; /* skips the hostname */
    size_t before = path->len;
    pdl_url_unquote(pdl_str_sub(uri, i, uri.n), path);
    pdl_str text = pdl_str_sub(pdl_buf_str(path), before, path->len);
    return text.n > 0 && !memchr(text.p, 0, text.n) && pdl_utf8_check(text) == PDL_NOT_FOUND;
}

/* --- documents -------------------------------------------------------------------------------- */

/* Makes the key of an address. *is_file: the key is a path. */
static void key_of(pdl_str uri, pdl_buf *key, bool *is_file) {
    *is_file = pdl_lsp_uri_path(uri, key);
    if (*is_file) return;
    pdl_buf_clear(key);
    pdl_buf_put(key, uri);
}

lsp_doc *pdl_lsp_doc_of_path(pdl_lsp *s, pdl_str path) { return pdl_map_find(&s->by_key, path); }

lsp_doc *pdl_lsp_doc_of_uri(pdl_lsp *s, pdl_str uri) {
    pdl_buf key = PDL_BUF;
    bool is_file;
    key_of(uri, &key, &is_file);
    lsp_doc *d = pdl_map_find(&s->by_key, pdl_buf_str(&key));
    pdl_buf_fini(&key);
    return d;
}

static lsp_doc *add(pdl_lsp *s, pdl_str uri, pdl_str key, bool is_file) {
    lsp_doc *d = PDL_NEW(lsp_doc);
    d->uri = pdl_str_dup(uri);
    d->key = pdl_str_dup(key);
    d->is_file = is_file;
    d->text.utf8 = s->utf8;
    d->diags = d->types = d->pushed = d->pulled = pdl_absent();
    *pdl_vec_push(&s->docs) = d;
    pdl_map_put(&s->by_key, (pdl_str){d->key, key.n}, d);
    return d;
}

lsp_doc *pdl_lsp_doc_add(pdl_lsp *s, pdl_str uri) {
    pdl_buf key = PDL_BUF;
    bool is_file;
    key_of(uri, &key, &is_file);
    lsp_doc *d = pdl_map_find(&s->by_key, pdl_buf_str(&key));
    if (!d && s->docs.n < MAX_DOCS) d = add(s, uri, pdl_buf_str(&key), is_file);
    pdl_buf_fini(&key);
    return d;
}

lsp_doc *pdl_lsp_doc_add_path(pdl_lsp *s, pdl_str path) {
    lsp_doc *d = pdl_lsp_doc_of_path(s, path);
    if (d) return d;
    pdl_buf uri = PDL_BUF;
    pdl_url_put_file(path, &uri);
    d = add(s, pdl_buf_str(&uri), path, true);
    pdl_buf_fini(&uri);
    return d;
}

/* Releases the tree of a file. */
static void forget_tree(lsp_doc *d) {
    if (d->index) pdl_lsp_index_detach(d->index);
    pdl_arena_free(d->arena);
    d->arena = NULL;
    d->tree = (lsp_tree){0};
}

void pdl_lsp_doc_touch(pdl_lsp *s, lsp_doc *d) {
    forget_tree(d);
    pdl_lsp_index_free(d->index);
    d->index = NULL;
    d->revision = ++s->revision;
}

static bool read_text(lsp_doc *d) {
    pdl_buf b = PDL_BUF_INIT(MAX_FILE), text = PDL_BUF;
    pdl_err err = {0};
    bool ok = d->is_file && pdl_file_kind_of(d->key) == PDL_FILE_REGULAR &&
              pdl_file_read(d->key, &b, &err);
    pdl_err_fini(&err);
    d->gone = !ok;
    pdl_utf8_repair(&text, pdl_buf_str(&b));
    if (ok) pdl_lsp_text_set(&d->text, pdl_buf_str(&text));
    d->crlf = pdl_str_find(pdl_buf_str(&text), PDL_STR("\r\n"), 0) != PDL_NOT_FOUND;
    pdl_buf_fini(&b);
    pdl_buf_fini(&text);
    return ok;
}

bool pdl_lsp_doc_load(pdl_lsp *s, lsp_doc *d) {
    (void)s;
    if (d->arena && d->index) return true;
    if (!d->open && !d->text.lines.n && !read_text(d)) return false;
    if (!d->text.lines.n) pdl_lsp_text_set(&d->text, (pdl_str){0});
    d->arena = pdl_arena_make();
    d->tree = pdl_lsp_tree_read(d->arena, pdl_str_of(d->key), pdl_lsp_text_str(&d->text));
    pdl_lsp_index_free(d->index);
    d->index = pdl_lsp_index_make(&d->tree, &d->text);
    return true;
}

lsp_index *pdl_lsp_doc_index(pdl_lsp *s, lsp_doc *d) {
    if (!d->index && !pdl_lsp_doc_load(s, d)) return NULL;
    return d->index;
}

void pdl_lsp_docs_trim(pdl_lsp *s) {
    for (size_t i = 0; i < s->docs.n; i++) {
        lsp_doc *d = s->docs.p[i];
        if (d->open || (!d->arena && !d->text.lines.n)) continue;
        forget_tree(d);
        pdl_lsp_text_fini(&d->text);
    }
}

void pdl_lsp_docs_free(pdl_lsp *s) {
    for (size_t i = 0; i < s->docs.n; i++) {
        lsp_doc *d = s->docs.p[i];
        forget_tree(d);
        pdl_lsp_index_free(d->index);
        pdl_lsp_text_fini(&d->text);
        pdl_program_drop(d->program);
        pdl_drop(d->diags);
        pdl_drop(d->pushed);
        pdl_drop(d->pulled);
        pdl_drop(d->types);
        pdl_free(d->uri);
        pdl_free(d->key);
        pdl_free(d);
    }
    pdl_lsp_configs_forget(s);
    pdl_vec_fini(&s->docs);
    pdl_map_fini(&s->by_key);
}

/* --- documents of requests -------------------------------------------------------------------- */

pdl_val pdl_lsp_not_open(pdl_lsp *s, pdl_str uri) {
    return uri.n
               ? pdl_lsp_fail(s, LSP_INVALID_PARAMS, "the document %.*s is not open", PDL_FMT(uri))
               : pdl_lsp_fail(s, LSP_INVALID_PARAMS, "textDocument.uri is missing");
}

lsp_doc *pdl_lsp_doc_param(pdl_lsp *s, pdl_vref params) {
    pdl_str uri = pdl_member_str(pdl_member(params, "textDocument"), "uri");
    lsp_doc *d = pdl_lsp_doc_of_uri(s, uri);
    if (d && pdl_lsp_doc_load(s, d)) return d;
    (void)pdl_lsp_not_open(s, uri);
    return NULL;
}

lsp_doc *pdl_lsp_doc_at(pdl_lsp *s, pdl_vref params, size_t *off) {
    lsp_doc *d = pdl_lsp_doc_param(s, params);
    if (!d) return NULL;
    s->current = d;
    *off = pdl_lsp_text_offset(&d->text, pdl_lsp_get_pos(pdl_member(params, "position")));
    return d;
}

/* --- files that programs name ----------------------------------------------------------------- */

/* Appends the path folder/path, with the suffix .pdl for imports. */
static void join(pdl_str folder, pdl_str path, bool import, pdl_buf *out) {
    pdl_buf_clear(out);
    if (!pdl_str_starts(path, PDL_STR("/"))) pdl_file_put_parts(folder, out);
    pdl_file_put_parts(path, out);
    if (import && !pdl_str_ends(path, PDL_STR(".pdl"))) PDL_PUT(out, ".pdl");
}

/* A name in the file `from` is searched in several folders. Stores the i-th of these folders;
 * returns false when there are no more. */
static bool folder_at(const lsp_opener *o, pdl_str from, bool import, size_t i, pdl_str *out) {
    if (i == 0) *out = pdl_file_folder(pdl_str_of(o->main->key));
    if (i == 1) *out = pdl_file_folder(from);
    if (i < 2) return true;
    size_t n;
    const pdl_str *path = pdl_lsp_path(o->s, o->main, &n);
    if (!import || i - 2 >= n) return false;
    *out = path[i - 2];
    return true;
}

/* Returns the open document that a name denotes. Returns NULL when no open document has the name,
 * or when a file in an earlier folder has it; the caller then searches the file system. */
static lsp_doc *find_open(const lsp_opener *o, pdl_str from, pdl_str path, bool import) {
    pdl_buf name = PDL_BUF;
    lsp_doc *found = NULL;
    pdl_str folder;
    for (size_t i = 0; !found && folder_at(o, from, import, i, &folder); i++) {
        join(folder, path, import, &name);
        lsp_doc *d = pdl_lsp_doc_of_path(o->s, pdl_buf_str(&name));
        if (d && d->open) found = d;
        if (!found && pdl_file_kind_of(pdl_buf_z(&name)) != PDL_FILE_NONE) break;
    }
    pdl_buf_fini(&name);
    return found;
}

bool pdl_lsp_open_source(void *user, const pdl_module_name *module, pdl_buf *name, pdl_buf *bytes,
                         pdl_err *err) {
    const lsp_opener *o = user;
    pdl_finder f = {.file = pdl_str_of(o->main->key)};
    f.path = pdl_lsp_path(o->s, o->main, &f.n_path);
    const lsp_doc *d = find_open(o, module->from, module->path, module->is_import);
    if (!d) return pdl_find_open(&f, module, name, bytes, err);
    pdl_buf_put(name, pdl_str_of(d->key));
    pdl_buf_put(bytes, pdl_lsp_text_str(&d->text));
    return true;
}

lsp_doc *pdl_lsp_doc_linked(pdl_lsp *s, const lsp_doc *d, pdl_str path, bool import) {
    lsp_opener o = {s, d};
    pdl_str from = pdl_str_of(d->key), folder;
    if (!d->is_file || !path.n) return NULL;
    lsp_doc *found = find_open(&o, from, path, import);
    pdl_buf name = PDL_BUF;
    for (size_t i = 0; !found && folder_at(&o, from, import, i, &folder); i++) {
        join(folder, path, import, &name);
        if (pdl_file_kind_of(pdl_buf_z(&name)) == PDL_FILE_REGULAR)
            found = pdl_lsp_doc_add_path(s, pdl_buf_str(&name));
    }
    pdl_buf_fini(&name);
    return found;
}
