/* node.h -- pdl_node: located syntax tree of a YAML document. It lives in an arena and is immutable
 * after loading.
 *
 * Programs are kept as trees and not as values, because messages quote the place of a part, and the
 * language server edits parts. Besides, the meaning of a program depends on which scalars are
 * quoted. A node knows the byte span of its text in the source; values are made from the node on
 * demand. A subtree that an alias names is one node with several parents.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_YAML_NODE_H
#define PDL_YAML_NODE_H

#include "base/arena.h"
#include "base/source.h"
#include "value/val.h"

typedef enum { PDL_NODE_SCALAR, PDL_NODE_SEQ, PDL_NODE_MAP } pdl_node_kind;

/* The kinds that a scalar (or a tagged collection) resolves to. */
typedef enum {
    PDL_NT_STR,
    PDL_NT_NULL,
    PDL_NT_BOOL,
    PDL_NT_INT,
    PDL_NT_FLOAT,
    PDL_NT_TIMESTAMP,
    PDL_NT_BINARY,
    PDL_NT_SEQ,
    PDL_NT_MAP,
    PDL_NT_SET,
    PDL_NT_OMAP,
    PDL_NT_PAIRS
} pdl_node_type;

typedef enum {
    PDL_STYLE_PLAIN,
    PDL_STYLE_SINGLE,
    PDL_STYLE_DOUBLE,
    PDL_STYLE_LITERAL,
    PDL_STYLE_FOLDED,
    PDL_STYLE_FLOW,
    PDL_STYLE_BLOCK
} pdl_node_style;

typedef struct pdl_node pdl_node;

/* One entry of a mapping, after merge keys were applied. key is a scalar for everything that PDL
 * accepts as a field. */
typedef struct pdl_pair {
    const pdl_node *key;
    const pdl_node *value;
} pdl_pair;

/* The struct is kept small: a program has a node for every eight of its bytes. */
struct pdl_node {
    pdl_node_kind kind : 8;
    pdl_node_type type : 8;
    pdl_node_style style : 8;
    bool shared : 1; /* the node has several parents (an alias) */
    /* For MAP: a key was written twice. pairs[n] is then the first repetition. It has the second
     * key as its key, and the first key as its value. */
    bool repeats : 1;
    bool counted : 1;    /* for SCALAR: `text` is inside of a string value */
    uint32_t start, end; /* offsets of bytes in src */
    uint32_t n;          /* number of items or pairs; 0 for a scalar */
    const pdl_source *src;
    union {
        pdl_str text; /* for SCALAR: the text after unquoting and folding; empty for the others */
        struct {
            union {
                const pdl_node **items; /* used by SEQ */
                pdl_pair *pairs;        /* used by MAP */
            };
            size_t no_text; /* overlays the length of text, which is 0 */
        };
    };
};

static inline pdl_loc pdl_node_loc(const pdl_node *n) {
    return n ? (pdl_loc){n->src, n->start, n->end} : (pdl_loc){0};
}

/* Returns the place of bytes [from, to) of a scalar's text in the source, for the caret under a
 * part of an expression. The function follows quoting, escapes, folding and indentation. When it
 * cannot find the part, it returns the place of the whole scalar. */
pdl_loc pdl_node_text_loc(const pdl_node *n, size_t from, size_t to);

/* Makes the value of a scalar: null, bool, int, float, str, date, or bytes. The result is owned. A
 * value is made at each call, except for long texts. */
pdl_val pdl_node_value(const pdl_node *scalar);

/* A cache for pdl_recent_value, which does the same as pdl_node_value. Equal texts of at most
 * PDL_NODE_SHORT bytes that are near each other share a value. The cache starts as {0} and must not
 * outlive the nodes. */
enum { PDL_NODE_SHORT = 24, PDL_NODE_RECENT = 256 };
typedef struct pdl_recent {
    unsigned asked; /* number of requests so far; a few values do not need the cache */
    struct {
        const char *p;
        pdl_val value;
    } * slots; /* an array of PDL_NODE_RECENT slots, or NULL */
} pdl_recent;
pdl_val pdl_recent_value(pdl_recent *r, const pdl_node *scalar);
void pdl_recent_fini(pdl_recent *r);

/* Returns the value under a string key of a mapping, or NULL. Sets *pair to the entry; pair may be
 * NULL. */
const pdl_node *pdl_node_find(const pdl_node *map, pdl_str key, const pdl_pair **pair);

static inline bool pdl_node_is_null(const pdl_node *n) {
    return n->kind == PDL_NODE_SCALAR && n->type == PDL_NT_NULL;
}
static inline bool pdl_node_is_str(const pdl_node *n) {
    return n->kind == PDL_NODE_SCALAR && n->type == PDL_NT_STR;
}

/* Returns true for a boolean that is written as a word without quotes or a tag: no, on, true. */
static inline bool pdl_node_is_word(const pdl_node *n) {
    return n->kind == PDL_NODE_SCALAR && n->type == PDL_NT_BOOL && n->style == PDL_STYLE_PLAIN;
}

/* Returns true for a key that is a name: a text, or a word, which stays as it is written. */
static inline bool pdl_node_is_name(const pdl_node *n) {
    return pdl_node_is_str(n) || pdl_node_is_word(n);
}

/* Appends an indented outline for `pdl dump --nodes`, with kind, type, place and text. */
struct pdl_buf;
void pdl_node_dump(const pdl_node *n, struct pdl_buf *out);

#endif
