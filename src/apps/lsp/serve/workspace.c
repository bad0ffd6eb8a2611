/* workspace.c -- the programs in the folders of the workspace; see server.h.
 *
 * Folders are searched and files are read in small pieces, so that a request waits for one file at
 * most. For a file that is not open, only the index is kept; tree and text are released when the
 * index has been made.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/word_list.h"
#include "io/file.h"
#include "lsp/server.h"

#include "base/banned.h"

enum { MAX_FILES = 50000, MAX_DEPTH = 40, MAX_ROOTS = 1000 };

/* Returns true for folders with generated files or with files of other projects. */
static bool is_skipped(pdl_str name) {
    static const char *const skipped[] = {"node_modules", "__pycache__", "build", "dist", "venv"};
    if (!name.n || name.p[0] == '.') return true;
    return PDL_STR_IN(name, skipped);
}

static size_t depth_of(pdl_str path) {
    size_t n = 0;
    for (size_t i = 0; i < path.n; i++) n += path.p[i] == '/';
    return n;
}

typedef struct scan {
    pdl_lsp *s;
    pdl_str folder;
} scan;

void pdl_lsp_workspace_index(pdl_lsp *s, lsp_doc *d) {
    if (!d->awaits_index) *pdl_vec_push(&s->to_index) = d;
    d->awaits_index = true;
}

static void add_file(pdl_lsp *s, pdl_str path) {
    lsp_doc *d = pdl_lsp_doc_add_path(s, path);
    if (d->index || d->open) return;
    pdl_lsp_workspace_index(s, d);
    s->n_found++;
}

static void on_entry(void *user, const char *entry, pdl_file_kind kind) {
    const scan *c = user;
    pdl_str name = pdl_str_of(entry);
    pdl_buf path = PDL_BUF;
    pdl_buf_putf(&path, "%.*s/%s", PDL_FMT(c->folder), entry);
    if (kind == PDL_FILE_REGULAR && pdl_str_ends(name, PDL_STR(".pdl")) && c->s->docs.n < MAX_FILES)
        add_file(c->s, pdl_buf_str(&path));
    if (kind == PDL_FILE_DIR && !is_skipped(name) && depth_of(pdl_buf_str(&path)) < MAX_DEPTH)
        *pdl_vec_push(&c->s->to_scan) = pdl_str_dup(pdl_buf_str(&path));
    pdl_buf_fini(&path);
}

static bool has_path(char *const *paths, size_t n, pdl_str path) {
    return pdl_str_in(path, (const char *const *)paths, n);
}

void pdl_lsp_workspace_add(pdl_lsp *s, pdl_str root) {
    if (!root.n) return;
    if (!has_path(s->roots.p, s->roots.n, root)) {
        if (s->roots.n >= MAX_ROOTS) return;
        *pdl_vec_push(&s->roots) = pdl_str_dup(root);
    }
    if (!has_path(s->to_scan.p, s->to_scan.n, root)) *pdl_vec_push(&s->to_scan) = pdl_str_dup(root);
}

static bool is_below(const lsp_doc *d, pdl_str root) {
    pdl_str key = pdl_str_of(d->key);
    return pdl_str_starts(key, root) && (key.n == root.n || key.p[root.n] == '/');
}

void pdl_lsp_workspace_remove(pdl_lsp *s, pdl_str root) {
    for (size_t i = 0; i < s->roots.n; i++) {
        if (!pdl_str_is(root, s->roots.p[i])) continue;
        pdl_free(s->roots.p[i]);
        s->roots.p[i] = s->roots.p[--s->roots.n];
        break;
    }
    for (size_t i = 0; i < s->docs.n; i++)
        if (!s->docs.p[i]->open && is_below(s->docs.p[i], root)) s->docs.p[i]->gone = true;
}

/* --- progress --------------------------------------------------------------------------------- */

static void report(pdl_lsp *s, const char *kind) {
    pdl_val v = pdl_dict_putz(pdl_dict_new(4), "kind", pdl_textz(kind));
    if (!s->has_progress) {
        pdl_drop(v);
        return;
    }
    if (strcmp(kind, "begin") == 0) v = pdl_dict_putz(v, "title", pdl_textz("Reading programs"));
    if (strcmp(kind, "end") != 0) {
        size_t all = s->n_found ? s->n_found : 1;
        v = pdl_dict_putz(v, "percentage", pdl_int((int64_t)(100 * s->n_indexed / all)));
        v = pdl_dict_putz(v, "message", pdl_textf("%zu of %zu", s->n_indexed, s->n_found));
    }
    pdl_val p = pdl_dict_putz(pdl_dict_new(2), "token", pdl_textz("pdl/index"));
    pdl_lsp_notify(s, "$/progress", pdl_dict_putz(p, "value", v));
}

static void begin_report(pdl_lsp *s) {
    if (s->is_reporting) return;
    s->is_reporting = true;
    if (s->has_progress)
        pdl_lsp_ask(s, "window/workDoneProgress/create",
                    pdl_dict_putz(pdl_dict_new(1), "token", pdl_textz("pdl/index")));
    report(s, "begin");
}

/* --- work ------------------------------------------------------------------------------------- */

static void scan_folder(pdl_lsp *s) {
    char *folder = s->to_scan.p[--s->to_scan.n];
    scan c = {s, pdl_str_of(folder)};
    pdl_file_each(folder, on_entry, &c);
    pdl_free(folder);
}

static void index_file(pdl_lsp *s) {
    lsp_doc *d = s->to_index.p[--s->to_index.n];
    d->awaits_index = false;
    if (!d->index && !d->open) pdl_lsp_doc_index(s, d);
    pdl_lsp_docs_trim(s);
    if (++s->n_indexed % 100 == 0) report(s, "report");
}

bool pdl_lsp_workspace_work(pdl_lsp *s) {
    if (!s->to_scan.n && !s->to_index.n) {
        if (s->is_reporting) report(s, "end");
        s->is_reporting = false;
        return false;
    }
    begin_report(s);
    if (s->to_scan.n)
        scan_folder(s);
    else
        index_file(s);
    return true;
}

void pdl_lsp_workspace_finish(pdl_lsp *s) {
    while (pdl_lsp_workspace_work(s)) {}
}
