/* spot.h -- what a node of a program means at its place. Private to lsp.
 *
 * An editor needs answers in programs that are not valid yet, which the loader refuses. So the
 * server reads the tree itself, with the same tables as the loader: the meaning of a node (the root
 * is a block) decides the meaning of each child. Keys that no table has are without meaning and
 * change nothing around them. The walk over a whole file (index.h) and the walk down to the cursor
 * both take these steps, so they cannot disagree.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LSP_SPOT_H
#define PDL_LSP_SPOT_H

#include "lang/block.h"
#include "lang/words.h"
#include "yaml/node.h"

typedef enum {
    ROLE_NONE,         /* the meaning is unknown */
    ROLE_BLOCK,        /* a block, or a list of blocks where one block is expected */
    ROLE_BLOCKS,       /* a block or a list of blocks */
    ROLE_NAMED_BLOCKS, /* `object`: names and blocks, or a list */
    ROLE_DEFS,         /* variables and blocks */
    ROLE_DATA,         /* data whose texts are expressions */
    ROLE_RAW,          /* data as written, without expressions */
    ROLE_TEXT,         /* a literal text */
    ROLE_WORD,         /* one of a few words; see group */
    ROLE_NAME,         /* the name of a variable that is set */
    ROLE_FILE,         /* path of a program: include, import */
    ROLE_GET,          /* an expression without braces */
    ROLE_MODEL,        /* the name of a model */
    ROLE_PARAMETERS,   /* parameters of a model call */
    ROLE_CALLEE,       /* a function, as an expression */
    ROLE_ARGS,         /* arguments by name */
    ROLE_CODE,         /* source text in another language */
    ROLE_TYPE,         /* a spec */
    ROLE_TYPE_FIELDS,  /* names and types, of an object or of parameters */
    ROLE_PARAMS,       /* parameters of a function and their types */
    ROLE_FORS,         /* loop variables and their lists */
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
    const pdl_node *key;    /* key of the node; NULL for an item of a list and for the root */
    const pdl_field *field; /* the field that has the node in its value; NULL when there is none */
    pdl_word_group group;   /* for WORD, WORDS */
    pdl_record record;      /* for RECORD */
    bool has_kind;          /* it is a mapping that is a block whose kind is known */
    pdl_block_kind kind;
    const struct lsp_spot *up; /* the node above; NULL for the root */
} lsp_spot;

/* Returns the spot of the whole file. */
lsp_spot pdl_lsp_spot_root(const pdl_node *root);
/* Returns the spot of the i-th item, or of the value of the i-th entry. up must outlive the
 * result. */
lsp_spot pdl_lsp_spot_child(const lsp_spot *up, uint32_t i);

/* Finds the kind of a mapping in the position of a block. Returns false when its keys decide
 * nothing. */
bool pdl_lsp_kind_of(const pdl_node *map, pdl_block_kind *kind);
/* Returns the innermost mapping of a block that is at, or around, the place; NULL when there is
 * none. */
const lsp_spot *pdl_lsp_spot_block(const lsp_spot *p);
/* Returns `lang` of a code block in lower case; "python" when it is not written. */
pdl_str pdl_lsp_lang_of(const pdl_node *block);

/* The longest way that pdl_lsp_way_to finds: the places from the root to the innermost node that
 * has the offset in its text, or in the text of its key. The last of *way is the result. */
enum { LSP_MAX_WAY = 128 };
typedef struct lsp_way {
    lsp_spot p[LSP_MAX_WAY];
    size_t n;      /* at least 1 */
    bool on_key;   /* the offset is in the key of the last place */
    bool complete; /* false when the way is deeper than LSP_MAX_WAY */
} lsp_way;
void pdl_lsp_way_to(const pdl_node *root, uint32_t off, lsp_way *way);
static inline const lsp_spot *pdl_lsp_way_end(const lsp_way *way) { return &way->p[way->n - 1]; }

#endif
