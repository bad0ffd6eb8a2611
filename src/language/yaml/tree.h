/* tree.h -- a document with all its bytes, for the formatter and the editor.
 *
 * pdl_node (node.h) has what a program means; a tree has what is written: comments, indicators,
 * blank lines, anchors, entries in their order and duplicates. A tree exists for every text. Where
 * the reader of runs stops with an error, the tree has a note that names the skipped bytes. The
 * tree continues at the next line whose indentation fits the open collections.
 *
 * A tree is two arrays. Tokens cover the text in order: between two of them are only blanks and
 * line ends, so text and tokens together are lossless. Nodes are in the order of their beginning,
 * linked by index. Offsets are bytes of src->text, whose line ends are LF and which has no byte
 * order mark: lines and columns are those of the file. All of it lives in the arena and is
 * immutable.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_YAML_TREE_H
#define PDL_YAML_TREE_H

#include "base/source.h"
#include "yaml/node.h"

/* X(id, name). The name is that of the kind in outlines. */
#define PDL_YTREE_TOKENS(X)                                                                        \
    X(COMMENT, "comment") /* from '#' to the end of the line */                                    \
    X(SKIPPED, "skipped") /* text that recovery skipped; may have several lines */                 \
    X(SCALAR, "scalar")   /* includes quotes, or the header of a block scalar */                   \
    X(ALIAS, "alias")                                                                              \
    X(ANCHOR, "anchor")                                                                            \
    X(TAG, "tag")                                                                                  \
    X(KEY, "?")                                                                                    \
    X(VALUE, ":")                                                                                  \
    X(ENTRY, "-")                                                                                  \
    X(COMMA, ",")                                                                                  \
    X(SEQ_OPEN, "[")                                                                               \
    X(SEQ_CLOSE, "]")                                                                              \
    X(MAP_OPEN, "{")                                                                               \
    X(MAP_CLOSE, "}")                                                                              \
    X(DIRECTIVE, "directive")                                                                      \
    X(DOC_START, "---")                                                                            \
    X(DOC_END, "...")

typedef enum {
#define X(id, name) PDL_YTREE_##id##_TOKEN,
    PDL_YTREE_TOKENS(X)
#undef X
} pdl_ytree_token_kind;

/* Tokens do not overlap or contain each other: an anchor, a tag and their scalar are three tokens.
 * Text that recovery supposes has no token. A block scalar contains its last line end; a comment
 * ends before its line end. */
typedef struct pdl_ytree_token {
    pdl_ytree_token_kind kind;
    uint32_t start, end; /* offsets in bytes */
} pdl_ytree_token;

typedef uint32_t pdl_ytree_id; /* index of a node */
#define PDL_YTREE_NONE UINT32_MAX

typedef enum {
    PDL_YTREE_SCALAR, /* a scalar that is not written is plain and empty: start == end */
    PDL_YTREE_ALIAS,  /* text: the name to which the alias refers */
    PDL_YTREE_SEQ,    /* children: items */
    PDL_YTREE_MAP     /* children: key, value, key, value...; every key has a value */
} pdl_ytree_kind;

typedef struct pdl_ytree_node {
    pdl_ytree_kind kind : 8;
    pdl_node_style style : 8;
    bool is_key : 1;   /* child of a MAP: the next sibling is its value */
    bool missing : 1;  /* recovery supposed this value, or the ':' before it */
    bool resolved : 1; /* has no tag: the type of a scalar follows from its text (plain) */
    /* span without anchor and tag; a block collection ends with its last child */
    uint32_t start, end;
    /* where the anchor or the tag begins; the same as `start` when the node has neither */
    uint32_t outer;
    /* siblings are linked by next, which is PDL_YTREE_NONE at the last one */
    pdl_ytree_id parent, first, last, next;
    pdl_ytree_id target; /* for ALIAS: the named node; PDL_YTREE_NONE when undefined */
    pdl_str text;        /* SCALAR: the text after unquoting and folding */
    pdl_str anchor, tag; /* empty when there is none; the tag has its full name */
} pdl_ytree_node;

/* A part of the text that could not be read. */
typedef struct pdl_ytree_note {
    uint32_t start, end;     /* place of the problem */
    uint32_t mark, mark_end; /* place that messages show: the open bracket or quote */
    /* bytes that belong to no node; empty when nothing was skipped */
    uint32_t skipped, skipped_end;
    pdl_str msg;      /* the message of the reader of runs */
    pdl_str py_class; /* "ScannerError", ... */
    pdl_str hint;     /* the text to write instead, or empty */
} pdl_ytree_note;

typedef struct pdl_ytree {
    const pdl_source *src;
    const pdl_ytree_token *tokens; /* the tokens, in the order of the text */
    const pdl_ytree_node *nodes;
    const pdl_ytree_note
        *notes; /* the first note is the error of pdl_yaml_load, if the reader found it */
    size_t n_tokens, n_nodes, n_notes;
    pdl_ytree_id root; /* root of the first document; PDL_YTREE_NONE when the text has no content */
    bool several;      /* the text has more documents, of which the tree has only tokens */
} pdl_ytree;

/* Never fails. Text that is nested deeper than PDL_MAX_YAML_DEPTH is skipped, with a note. */
const pdl_ytree *pdl_ytree_read(pdl_arena *a, const pdl_source *src);

/* Reads the text again, with the same recovery, and makes the nodes that a run would use. The nodes
 * show what a broken program means, as far as the text can be read. Returns NULL when the values
 * cannot be constructed (an undefined alias, an unknown tag); err has the reason. The caller
 * releases err. */
PDL_MUST const pdl_node *pdl_ytree_load(pdl_arena *a, const pdl_source *src, pdl_err *err);

static inline const pdl_ytree_node *pdl_ytree_node_of(const pdl_ytree *t, pdl_ytree_id id) {
    return id == PDL_YTREE_NONE ? NULL : &t->nodes[id];
}

/* Returns the index of the first token that ends after off; n_tokens when there is none. That token
 * contains off only if it begins at or before off. Otherwise off is between two tokens. */
size_t pdl_ytree_token_at(const pdl_ytree *t, uint32_t off);

/* Returns the innermost node with outer <= off <= end, or PDL_YTREE_NONE. When two nodes touch at
 * off, it returns the node that begins there. */
pdl_ytree_id pdl_ytree_at(const pdl_ytree *t, uint32_t off);

/* Returns the innermost block collection to which a new line at off would belong if `column`
 * characters were before its content. Returns the flow collection around off, if there is one.
 * Returns PDL_YTREE_NONE for the document. Completion on an empty line needs this. */
pdl_ytree_id pdl_ytree_parent_for(const pdl_ytree *t, uint32_t off, uint32_t column);

/* Returns the value under a scalar key with this text, or PDL_YTREE_NONE. When the key occurs more
 * than once, returns the last value. */
pdl_ytree_id pdl_ytree_find(const pdl_ytree *t, pdl_ytree_id map, pdl_str key);

/* Returns the byte at which the line of off begins. */
uint32_t pdl_ytree_line_start(const pdl_ytree *t, uint32_t off);

/* Appends an outline for tests: tokens, nodes and notes. */
struct pdl_buf;
void pdl_ytree_dump(const pdl_ytree *t, struct pdl_buf *out);

#endif
