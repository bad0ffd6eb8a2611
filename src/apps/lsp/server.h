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
    char *uri; /* address as the client writes it; NULL when the client has not named the file */
    /* the key that finds the document: its path, or the address when it is not a file */
    char *key;
    bool is_file;      /* key is a path */
    bool open;         /* the text of the editor is used, not the file */
    bool gone;         /* the file was deleted */
    bool crlf;         /* the file has CR LF line ends, so edits that are sent have them, too */
    bool shown;        /* diagnostics were sent and not withdrawn */
    bool due;          /* diagnostics must be computed */
    bool awaits_index; /* the document is in to_index */
    int64_t version;
    lsp_text text;    /* text of an open file; for any other file, only while the file is loaded */
    pdl_arena *arena; /* the owner of the tree, or NULL */
    lsp_tree tree;
    lsp_index *index;     /* NULL until the index is needed */
    uint64_t revision;    /* incremented with each change of the text */
    uint64_t checked;     /* the revision of all files at the last check */
    pdl_program *program; /* the program of the last check; NULL before the first check */
    /* "LINE:NAME" -> type of the variable as the check inferred it; absent before the first
     * check */
    pdl_val types;
    pdl_val diags;            /* the list of diagnostics in the form of the client, or absent */
    pdl_val pushed;           /* list that was pushed last; absent before the first push */
    pdl_val pulled;           /* list that the client pulled last; absent before the first pull */
    uint64_t pulled_revision; /* the revision of the text at that pull */
};

typedef struct lsp_config lsp_config; /* project_cache.c */

/* A received message that waits until those before it are answered. */
typedef struct lsp_waiting {
    pdl_val m;     /* absent when the message was cancelled, or cannot be read */
    char *no_json; /* why the message cannot be read, or NULL */
} lsp_waiting;

struct pdl_lsp {
    pdl_lsp_options opt;
    enum { LSP_NEW, LSP_READY, LSP_SHUT, LSP_OVER } state;
    bool utf8; /* positions count bytes */
    bool has_progress, has_watch, has_pull_refresh, has_snippets, has_markdown, has_code_links;
    bool has_pull; /* the client can pull diagnostics */
    /* the client has pulled diagnostics, so none are pushed: editors would show each diagnostic
     * twice */
    bool is_asked;
    bool is_stale; /* a result of a pull has changed: the client will be asked to pull again */
    bool has_doc_changes;       /* the client accepts workspace edits with versions */
    PDL_VEC(char *) roots;      /* paths */
    PDL_VEC(lsp_waiting) queue; /* received messages, from queue_head on */
    size_t queue_head, queue_bytes;
    PDL_VEC(lsp_doc *) docs;
    /* the document that the editor named most recently; NULL before the first message */
    lsp_doc *current;
    pdl_map by_key;
    pdl_map configs;             /* folder -> lsp_config */
    PDL_VEC(char *) to_scan;     /* folders that have to be searched */
    PDL_VEC(lsp_doc *) to_index; /* files that have to be read */
    size_t n_indexed, n_found;   /* counts for the report of progress */
    bool is_reporting;
    int64_t client;            /* number of the client's process; 0 when it was not given */
    int64_t next_id;           /* id of our next request */
    uint64_t revision;         /* revision of all files */
    pdl_check_library library; /* used by all checks */
    struct {
        int code;
        char *message;
    } failure; /* error of the handled request; message is NULL when it did not fail */
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
pdl_val pdl_lsp_put_markdown(const pdl_lsp *s, pdl_str text); /* returns MarkupContent */
pdl_val pdl_lsp_put_location(const lsp_doc *d, lsp_range range);
/* Returns a TextEdit of d, with the line ends of its file. text has LF line ends. */
pdl_val pdl_lsp_put_edit(const lsp_doc *d, lsp_range range, pdl_str text);

/* These functions send a message. They take params or result. */
void pdl_lsp_notify(pdl_lsp *s, const char *method, pdl_val params);
/* Shows a message that the user of the editor has to see. Takes text. */
void pdl_lsp_show_problem(pdl_lsp *s, pdl_val text);
void pdl_lsp_ask(pdl_lsp *s, const char *method, pdl_val params);
void pdl_lsp_answer(pdl_lsp *s, pdl_vref id, pdl_val result);
void pdl_lsp_refuse(pdl_lsp *s, pdl_vref id, int code, const char *message);
/* Lets the handled request fail. Returns absent. */
PDL_PRINTF(3, 4) pdl_val pdl_lsp_fail(pdl_lsp *s, int code, const char *fmt, ...);

/* --- docs.c ----------------------------------------------------------------------------------- */

/* returns NULL when the document is not known */
lsp_doc *pdl_lsp_doc_of_uri(pdl_lsp *s, pdl_str uri);
lsp_doc *pdl_lsp_doc_of_path(pdl_lsp *s, pdl_str path);
/* returns a known or a new document; NULL when too many are known */
lsp_doc *pdl_lsp_doc_add(pdl_lsp *s, pdl_str uri);
/* returns a known or a new document; never NULL */
lsp_doc *pdl_lsp_doc_add_path(pdl_lsp *s, pdl_str path);
/* Makes text, tree and index of a document; a closed file is read. Returns false when the file
 * cannot be read. */
bool pdl_lsp_doc_load(pdl_lsp *s, lsp_doc *d);
/* Returns the index of a document, which may be closed. Returns NULL when the file
 * cannot be read. */
lsp_index *pdl_lsp_doc_index(pdl_lsp *s, lsp_doc *d);
/* Notes that the text has changed. */
void pdl_lsp_doc_touch(pdl_lsp *s, lsp_doc *d);
/* Releases the texts and trees of closed files. Their indexes stay. */
void pdl_lsp_docs_trim(pdl_lsp *s);
void pdl_lsp_docs_free(pdl_lsp *s);
/* Stores the path of a file address; returns false for another kind of address. */
bool pdl_lsp_uri_path(pdl_str uri, pdl_buf *path);

/* Refuses a request about a document that is not open. Returns absent. */
pdl_val pdl_lsp_not_open(pdl_lsp *s, pdl_str uri);
/* Returns the document of params.textDocument, loaded. Returns NULL after letting the request
 * fail. */
lsp_doc *pdl_lsp_doc_param(pdl_lsp *s, pdl_vref params);
/* Finds the document like pdl_lsp_doc_param, and returns params.position as an offset. */
lsp_doc *pdl_lsp_doc_at(pdl_lsp *s, pdl_vref params, size_t *off);

/* Returns the file that an `include` or `import` in d names, or NULL. path: as it is written
 * there. */
lsp_doc *pdl_lsp_doc_linked(pdl_lsp *s, const lsp_doc *d, pdl_str path, bool import);
/* Opens the files that a check needs: a pdl_open_source_fn whose user is an lsp_opener. Texts of
 * the editor take precedence over files. */
typedef struct lsp_opener {
    pdl_lsp *s;
    const lsp_doc *main;
} lsp_opener;
bool pdl_lsp_open_source(void *user, const pdl_module_name *module, pdl_buf *name, pdl_buf *bytes,
                         pdl_err *err);

/* --- project_cache.c: pdl.toml ---------------------------------------------------------------- */

/* Returns the levels of rules for a document; pdl_lsp_path returns the folders in which its imports
 * are searched. Borrowed until the next message. */
const uint8_t *pdl_lsp_levels(pdl_lsp *s, const lsp_doc *d);
const pdl_str *pdl_lsp_path(pdl_lsp *s, const lsp_doc *d, size_t *n);
/* Forgets the settings that were read. The files are read again when they are needed. */
void pdl_lsp_configs_forget(pdl_lsp *s);

/* --- workspace.c: files that are not open ----------------------------------------------------- */

void pdl_lsp_workspace_add(pdl_lsp *s, pdl_str root);
/* Puts the file on the list of files to index. */
void pdl_lsp_workspace_index(pdl_lsp *s, lsp_doc *d);
void pdl_lsp_workspace_remove(pdl_lsp *s, pdl_str root);
bool pdl_lsp_workspace_work(pdl_lsp *s); /* returns false when all work is done */
/* Indexes all remaining files, for requests that are about all of them. */
void pdl_lsp_workspace_finish(pdl_lsp *s);

/* --- diagnose.c ------------------------------------------------------------------------------- */

bool pdl_lsp_diagnose_work(pdl_lsp *s); /* returns false when all work is done */
void pdl_lsp_withdraw(pdl_lsp *s, lsp_doc *d);
/* Appends the type of a variable: in an open document the type that the check inferred, or else the
 * type that its block states. */
void pdl_lsp_put_type(pdl_lsp *s, lsp_doc *d, const lsp_sym *sym, pdl_buf *out);
/* Returns the diagnostics in the form of the client, borrowed. */
pdl_vref pdl_lsp_diagnose(pdl_lsp *s, lsp_doc *d);

#endif
