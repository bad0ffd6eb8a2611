/* node_roles.h -- the meaning of a node of a program, which follows from its place. Private to lsp.
 *
 * An editor needs answers in programs that are not valid yet, which the loader refuses. So the
 * server reads the tree itself, with the same tables as the loader: the meaning of a node (the root
 * is a block) decides the meaning of each child. A key that is in no table has no meaning, and does
 * not change the meaning of other nodes. The walk over a whole file (index.h) and the walk down to
 * the cursor both take these steps, so they cannot disagree.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LSP_NODE_ROLES_H
#define PDL_LSP_NODE_ROLES_H

#include "lang/block.h"
#include "lang/field_words.h"
#include "yaml/node.h"

typedef enum {
    ROLE_NONE,         /* the meaning is unknown */
    ROLE_BLOCK,        /* a block, or a list of blocks where one block is expected */
    ROLE_BLOCKS,       /* a block or a list of blocks */
    ROLE_NAMED_BLOCKS, /* the value of `object`: names and blocks, or a list */
    ROLE_DEFS,         /* the value of `defs`: names of variables and blocks */
    ROLE_DATA,         /* data whose texts are expressions */
    ROLE_RAW,          /* data without expressions */
    ROLE_TEXT,         /* a literal text */
    ROLE_WORD,         /* one of a few words; `group` says which */
    ROLE_NAME,         /* the name of a variable that is set */
    ROLE_FILE,         /* path of a program: include, import */
    ROLE_GET,          /* an expression that is written without braces */
    ROLE_MODEL,        /* the name of a model */
    ROLE_PARAMETERS,   /* parameters of a model call */
    ROLE_CALLEE,       /* a function, as an expression */
    ROLE_ARGS,         /* arguments by name */
    ROLE_CODE,         /* source text in another language */
    ROLE_TYPE,         /* a spec */
    ROLE_TYPE_FIELDS,  /* names and types, of an object or of parameters */
    ROLE_PARAMS,       /* the parameters of a function, with their types */
    ROLE_FORS,         /* the value of `for`: variables and their lists */
    ROLE_WORDS,        /* an object whose keys are a group of words */
    ROLE_RECORD,       /* an object whose keys are a record: retry, budget, aggregator */
    ROLE_CASES,        /* list of cases */
    ROLE_PATTERN,
    ROLE_PATTERNS,      /* list of patterns */
    ROLE_PATTERN_FIELDS /* names and patterns */
} lsp_role;

typedef struct lsp_spot {
    lsp_role role;
    const pdl_node *node;
    const pdl_node *key;    /* the key of the node; NULL for an item of a list and for the root */
    const pdl_field *field; /* the field whose value contains the node, or NULL */
    pdl_word_group group;   /* the group of words, for ROLE_WORD and ROLE_WORDS */
    pdl_record record;      /* for RECORD */
    bool has_kind;          /* the node is a mapping that is a block whose kind is known */
    pdl_block_kind kind;
    const struct lsp_spot *up; /* the node around it; NULL for the root */
} lsp_spot;

/* Returns the meaning of the root of a file. */
lsp_spot pdl_lsp_spot_root(const pdl_node *root);
/* Returns the meaning of the i-th item, or of the value of the i-th entry. up must outlive the
 * result. */
lsp_spot pdl_lsp_spot_child(const lsp_spot *up, uint32_t i);

/* Finds the kind of a mapping in the place of a block. Returns false when its keys do not determine
 * a kind. */
bool pdl_lsp_kind_of(const pdl_node *map, pdl_block_kind *kind);
/* Returns the innermost mapping of a block at or around the place, or NULL. */
const lsp_spot *pdl_lsp_spot_block(const lsp_spot *p);
/* Returns `lang` of a code block as it is written; "python" when the block has no `lang`. */
pdl_str pdl_lsp_lang_of(const pdl_node *block);

/* The path that pdl_lsp_way_to finds: the nodes from the root to the innermost node that has the
 * offset in its text, or in the text of its key. The last node of *way is the result. A longer path
 * is cut. */
enum { LSP_MAX_WAY = 128 };
typedef struct lsp_way {
    lsp_spot p[LSP_MAX_WAY];
    size_t n;      /* number of nodes on the way; at least 1 */
    bool on_key;   /* the offset is in the key of the last place */
    bool complete; /* false when the path is longer than LSP_MAX_WAY */
} lsp_way;
void pdl_lsp_way_to(const pdl_node *root, uint32_t off, lsp_way *way);
static inline const lsp_spot *pdl_lsp_way_end(const lsp_way *way) { return &way->p[way->n - 1]; }

#endif
