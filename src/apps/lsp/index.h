/* index.h -- the symbols of a file. Private to lsp.
 *
 * One walk over the tree of a file collects the variables that the file sets, the places that read
 * their names, the functions that it calls with their arguments, and the files that it names. The
 * result owns its texts and has positions instead of offsets, so that it outlives tree and text: in
 * a workspace with thousands of files, only the indexes are in memory.
 *
 * A variable belongs to a region: the file, or the body of a function. A name that is read belongs
 * to the innermost region around it that sets the name. If no region of the file does, it belongs
 * to a file that this file includes, or that includes this file. The fields of an `object` with a
 * name are symbols, too: their region contains no text, so only a member of the object leads to
 * them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LSP_INDEX_H
#define PDL_LSP_INDEX_H

#include "base/map.h"
#include "lsp/node_roles.h"
#include "lsp/serve/doc_text.h"
#include "lsp/serve/doc_tree.h"

typedef enum {
    SYM_VARIABLE, /* set by def or defs */
    SYM_FUNCTION, /* a function that def or defs names */
    SYM_MODULE,   /* an imported module that def or defs names */
    SYM_PARAMETER,
    SYM_LOOP,     /* a variable of `for`, or `index` */
    SYM_PATTERN,  /* set by def in a pattern */
    SYM_RESPONSE, /* set by modelResponse */
    SYM_FIELD     /* field of an object; a field that is a function is SYM_FUNCTION */
} lsp_sym_kind;

typedef struct lsp_sym {
    pdl_str name;
    lsp_sym_kind kind;
    uint32_t region; /* the region in which the symbol is visible */
    uint32_t body;   /* for a FUNCTION, the region of its body; otherwise 0 */
    /* the region of the fields of all objects of this name, or 0 */
    uint32_t fields;
    /* the symbol whose text contains this symbol, as index + 1; 0 for a symbol outside of all
     * others */
    uint32_t up;
    lsp_range range;       /* range of the name */
    lsp_range whole;       /* range of the block that sets the symbol */
    pdl_str type;          /* the type in words; empty when it is unknown */
    pdl_str doc;           /* description of the block; may be empty */
    pdl_str path;          /* for a MODULE, the path as it is written in `import` */
    uint32_t at;           /* offset of the name, valid until the text changes */
    const pdl_node *value; /* the block; NULL after the tree was released */
    /* the type of a PARAMETER; NULL for other symbols and after the tree was released */
    const pdl_node *type_node;
} lsp_sym;

typedef enum {
    REF_READ,   /* a name in an expression */
    REF_CALL,   /* a name that an expression calls */
    REF_MEMBER, /* the last name of chain.name or chain['name'] */
    REF_ARG,    /* the name of an argument in a call of `chain` */
    REF_TARGET, /* an aggregator in `contribute` */
    REF_CODE    /* a name that Python code reads */
} lsp_ref_kind;

typedef struct lsp_ref {
    pdl_str name;
    /* names of a variable and of members, joined by dots; not empty for MEMBER and ARG */
    pdl_str chain;
    lsp_ref_kind kind;
    bool called; /* for a MEMBER: chain.name is called */
    uint32_t region;
    lsp_range range; /* range of the name */
    uint32_t at;
} lsp_ref;

typedef struct lsp_region {
    /* number of the region around this one; it is 0 for the region of the file, whose own number is
     * 0, too */
    uint32_t up;
    uint32_t sym; /* the symbol of the function, as index + 1; 0 when the function has no name */
    lsp_range range;
    uint32_t from, to;        /* offsets */
    uint32_t param, n_params; /* the symbols of its parameters */
} lsp_region;

/* Returns true when the region holds the fields of an object. */
static inline bool pdl_lsp_is_fields(const lsp_region *r) { return r->from > r->to; }

/* A file that is included or imported. */
typedef struct lsp_file {
    pdl_str path; /* path as written */
    bool import;
    lsp_range range;
    uint32_t at;
    struct lsp_doc *doc; /* the file at its last look-up, or NULL */
    uint64_t looked_up;  /* the revision of all files at that look-up */
} lsp_file;

/* A model that is called. */
typedef struct lsp_use {
    pdl_str name;
    lsp_range range; /* range of the key `model` */
    const pdl_node *block;
} lsp_use;

typedef struct lsp_index {
    pdl_arena *arena; /* owns the texts */
    PDL_VEC(lsp_sym) syms;
    PDL_VEC(lsp_ref) refs;
    PDL_VEC(lsp_region) regions; /* the first region is the file */
    PDL_VEC(lsp_file) files;
    PDL_VEC(lsp_use) models;
    pdl_map names; /* region and name -> 1 + index of the first such symbol */
} lsp_index;

/* Makes the index of a tree; text is the text from which it was read. Never returns NULL. */
lsp_index *pdl_lsp_index_make(const lsp_tree *tree, const lsp_text *text);
/* Drops the pointers to nodes, before the tree is released. */
void pdl_lsp_index_detach(lsp_index *x);
void pdl_lsp_index_free(lsp_index *x); /* x may be NULL */
/* Returns true when the invariants hold: the file is the first region, and each other region is
 * inside an earlier one, so that walking outward ends; everything that symbols and references name
 * is in the index. */
bool pdl_lsp_index_ok(const lsp_index *x);

/* Returns the innermost region that contains the offset. */
uint32_t pdl_lsp_index_region(const lsp_index *x, uint32_t off);
/* Finds the region, from `from` outward, that sets the name. Returns false when no region sets the
 * name. */
bool pdl_lsp_index_owner(const lsp_index *x, uint32_t from, pdl_str name, uint32_t *region);
/* Returns the first symbol of that name and region, or NULL. */
const lsp_sym *pdl_lsp_index_sym(const lsp_index *x, uint32_t region, pdl_str name);

/* Appends the name of a variable, or of a field with the objects that contain it: `o.f`. */
void pdl_lsp_put_path(const lsp_index *x, const lsp_sym *sym, pdl_buf *out);
/* Returns the name of a member, of x.name or x['name']; empty when it is computed. */
pdl_str pdl_lsp_member_name(const pdl_xnode *x);
/* Appends the names of an expression such as f, lib.f or lib['o'].f, joined by dots, and returns
 * its variable. Returns NULL when x is another expression; the appended text is then useless. A
 * name that contains a dot is not a part of a chain. */
const pdl_xnode *pdl_lsp_put_chain(const pdl_xnode *x, pdl_buf *out);

const char *pdl_lsp_sym_kind_name(lsp_sym_kind k); /* Returns a word such as "variable". */

#endif
