/* server.h -- private to lsp: the state of a server, its documents, and helpers for messages.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LSP_SERVER_H
#define PDL_LSP_SERVER_H

#include "base/map.h"
#include "check/check.h"
#include "lang/program.h"
#include "lsp/index.h"
#include "lsp/lsp.h"
#include "value/member.h"

/* A file that is open in the editor, or lies in a folder of the workspace. */
typedef struct lsp_doc lsp_doc;
struct lsp_doc {
    char *uri;    /* as the client writes it, when it named it */
    char *key;    /* its path, or the address when it is no file: what it is found by */
    bool is_file; /* key is a path */
    bool open;    /* the editor's text counts, not the file's */
    bool gone;    /* the file was deleted */
    bool crlf;    /* line ends of edits that we make */
    bool shown;   /* diagnostics were sent that are not withdrawn */
    bool due;     /* diagnostics are to be computed */
    bool awaits_index; /* it is in to_index */
    int64_t version;
    lsp_text text;    /* of an open file, or while it is loaded */
    pdl_arena *arena; /* of the tree; NULL: there is none */
    lsp_tree tree;
    lsp_index *index;     /* NULL: not made yet */
    uint64_t revision;    /* grows with each change of the text */
    uint64_t checked;     /* revision of all files when it was checked */
    pdl_program *program; /* as it was checked last; NULL: never */
    pdl_val types; /* from "LINE:NAME" to what the check knows of the variable; absent: none */
    pdl_val diags; /* the list of that, as the client gets it; absent: none */
    pdl_val pushed;  /* the list that was pushed last; absent: never */
    pdl_val pulled;  /* the list that the client asked for last; absent: never */
    uint64_t pulled_revision; /* of the text then */
};

typedef struct lsp_config lsp_config; /* project_cache.c */

struct pdl_lsp {
    pdl_lsp_options opt;
    enum { LSP_NEW, LSP_READY, LSP_SHUT, LSP_OVER } state;
    bool utf8; /* positions count bytes */
    bool has_progress, has_watch, has_pull_refresh, has_snippets, has_markdown,
        has_code_links;
    bool has_pull; /* the client can ask for diagnostics */
    bool is_asked; /* it did: nothing is pushed any more, editors would show everything twice */
    bool is_stale; /* what it was told of a file is true no longer: it will be asked to ask again */
    bool has_doc_changes;   /* workspace edits with versions */
    PDL_VEC(char *) roots;  /* paths */
    PDL_VEC(pdl_val) queue; /* messages received, from queue_head */
    size_t queue_head, queue_bytes;
    PDL_VEC(lsp_doc *) docs;
    lsp_doc *current; /* the editor named it last; NULL: none yet */
    pdl_map by_key;
    pdl_map configs; /* from folder to lsp_config */
    PDL_VEC(char *) to_scan;     /* folders that are to be searched */
    PDL_VEC(lsp_doc *) to_index; /* files that are to be read */
    size_t n_indexed, n_found;   /* for the report of progress */
    bool is_reporting;
    int64_t next_id;   /* of our requests */
    uint64_t revision; /* of all files */
    pdl_check_library library; /* for all checks */
    struct {
        int code;
        char *message;
    } failure; /* of the request that is handled; message NULL: none */
};

/* JSON-RPC and LSP error codes. */
enum {
    LSP_PARSE_ERROR = -32700,
    LSP_INVALID_REQUEST = -32600,
    LSP_NO_METHOD = -32601,
    LSP_INVALID_PARAMS = -32602,
    LSP_NOT_INITIALIZED = -32002,
    LSP_REQUEST_FAILED = -32803,
    LSP_CANCELLED = -32800
};

/* --- rpc.c: messages -------------------------------------------------------------------------- */

lsp_pos pdl_lsp_get_pos(pdl_vref pos);
lsp_range pdl_lsp_get_range(pdl_vref range);

pdl_val pdl_lsp_put_pos(lsp_pos pos);
pdl_val pdl_lsp_put_range(lsp_range range);
pdl_val pdl_lsp_put_markdown(const pdl_lsp *s, pdl_str text); /* MarkupContent */
pdl_val pdl_lsp_put_location(const lsp_doc *d, lsp_range range);
/* TextEdit of d, with the line ends that its file has. text: with LF. */
pdl_val pdl_lsp_put_edit(const lsp_doc *d, lsp_range range, pdl_str text);

/* All take params or result. */
void pdl_lsp_notify(pdl_lsp *s, const char *method, pdl_val params);
/* Shows a message that the person at the editor has to see. Takes text. */
void pdl_lsp_show_problem(pdl_lsp *s, pdl_val text);
void pdl_lsp_ask(pdl_lsp *s, const char *method, pdl_val params);
void pdl_lsp_answer(pdl_lsp *s, pdl_vref id, pdl_val result);
void pdl_lsp_refuse(pdl_lsp *s, pdl_vref id, int code, const char *message);
/* The handled request fails. Returns absent. */
PDL_PRINTF(3, 4) pdl_val pdl_lsp_fail(pdl_lsp *s, int code, const char *fmt, ...);

/* --- docs.c ----------------------------------------------------------------------------------- */

lsp_doc *pdl_lsp_doc_of_uri(pdl_lsp *s, pdl_str uri); /* NULL: not known */
lsp_doc *pdl_lsp_doc_of_path(pdl_lsp *s, pdl_str path);
lsp_doc *pdl_lsp_doc_add(pdl_lsp *s, pdl_str uri); /* known or new; NULL: too many are known */
lsp_doc *pdl_lsp_doc_add_path(pdl_lsp *s, pdl_str path); /* the same */
/* The document's text, tree and index are there afterwards; a closed file is read. Returns false
 * when it cannot be. */
bool pdl_lsp_doc_load(pdl_lsp *s, lsp_doc *d);
/* The index of a document, which may be closed; NULL: the file cannot be read. */
lsp_index *pdl_lsp_doc_index(pdl_lsp *s, lsp_doc *d);
/* The text has changed. */
void pdl_lsp_doc_touch(pdl_lsp *s, lsp_doc *d);
/* Closed files keep their indexes alone. */
void pdl_lsp_docs_trim(pdl_lsp *s);
void pdl_lsp_docs_free(pdl_lsp *s);
/* Path of a file address; false: it is another kind of address. */
bool pdl_lsp_uri_path(pdl_str uri, pdl_buf *path);

/* Document of params.textDocument, loaded. NULL: the request fails. */
lsp_doc *pdl_lsp_doc_param(pdl_lsp *s, pdl_vref params);
/* The same with params.position as an offset. */
lsp_doc *pdl_lsp_doc_at(pdl_lsp *s, pdl_vref params, size_t *off);

/* The file that `include` or `import` in doc names, or NULL; path: as written. */
lsp_doc *pdl_lsp_doc_linked(pdl_lsp *s, const lsp_doc *d, pdl_str path, bool import);
/* Opens what a check asks for: a pdl_open_source_fn whose user is an lsp_opener. Texts of the
 * editor win over files. */
typedef struct lsp_opener {
    pdl_lsp *s;
    const lsp_doc *main;
} lsp_opener;
bool pdl_lsp_open_source(void *user, pdl_str from, pdl_str path, bool import, pdl_buf *name,
                         pdl_buf *bytes, pdl_err *err);

/* --- project_cache.c: pdl.toml ---------------------------------------------------------------- */

/* Levels of rules for a document, and the folders in which its imports are looked for; borrowed
 * until the next message. */
const uint8_t *pdl_lsp_levels(pdl_lsp *s, const lsp_doc *d);
const pdl_str *pdl_lsp_path(pdl_lsp *s, const lsp_doc *d, size_t *n);
/* They are read again when they are needed. */
void pdl_lsp_configs_forget(pdl_lsp *s);

/* --- workspace.c: files that are not open ----------------------------------------------------- */

void pdl_lsp_workspace_add(pdl_lsp *s, pdl_str root);
/* Its index will be made. */
void pdl_lsp_workspace_index(pdl_lsp *s, lsp_doc *d);
void pdl_lsp_workspace_remove(pdl_lsp *s, pdl_str root);
bool pdl_lsp_workspace_work(pdl_lsp *s); /* false: nothing is left to do */
/* All files are indexed: for requests that are about all of them. */
void pdl_lsp_workspace_finish(pdl_lsp *s);

/* --- diagnose.c ------------------------------------------------------------------------------- */

bool pdl_lsp_diagnose_work(pdl_lsp *s); /* false: nothing is left to do */
void pdl_lsp_withdraw(pdl_lsp *s, lsp_doc *d);
/* The type of a variable of an open document: as the check inferred it, else as its block says.
 * Appended. */
void pdl_lsp_put_type(pdl_lsp *s, lsp_doc *d, const lsp_sym *sym, pdl_buf *out);
/* The list for the client, borrowed. */
pdl_vref pdl_lsp_diagnose(pdl_lsp *s, lsp_doc *d);

#endif
