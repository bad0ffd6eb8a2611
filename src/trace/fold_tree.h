/* fold_tree.h -- the inside of fold: one node for each execution of a block. Private to trace. */
#ifndef PDL_TRACE_FOLD_TREE_H
#define PDL_TRACE_FOLD_TREE_H

#include "base/idmap.h"
#include "base/vec.h"
#include "trace/fold.h"
#include "value/shapes.h"

/* Value that a field had. */
typedef struct fold_fact {
    const char *key; /* interned by the fold */
    uint32_t index;
    pdl_val value;
} fold_fact;

typedef struct fold_node {
    const pdl_block *block;
    struct fold_node *parent;      /* NULL: the root */
    struct fold_node *first, *last, *next; /* children in order of execution */
    struct fold_node *cursor;      /* where the search for a child goes on */
    struct fold_node *older;       /* list of all nodes */
    pdl_entry entry;
    uint32_t fiber;
    uint32_t number;               /* of an iteration of a map */
    unsigned depth;
    pdl_path *path;
    int64_t start, end;
    PDL_VEC(fold_fact) facts;
    pdl_val context;               /* models: incoming messages */
    int64_t usage[3];              /* calls, completion, prompt */
    char *failure;                 /* owned: the innermost block that failed */
    bool over;                     /* ended or failed */
    bool part_failed;
    bool fell_back;                /* its fallback gave the result */
    bool silent;                   /* does not show */
} fold_node;

/* A closure that was made: kept, so that its address stays its own. */
typedef struct fold_func {
    pdl_val func;
    const pdl_block *block;
} fold_func;

struct pdl_fold {
    pdl_program *program;
    const pdl_secrets *secrets;
    fold_node *root;
    fold_node *all;
    pdl_idmap tops;    /* fiber -> innermost node that runs */
    pdl_idmap calls;   /* path of a model block that waits -> node */
    pdl_idmap last;    /* block -> path of its last execution (kept) */
    pdl_idmap taken;   /* case without a test that was taken -> itself */
    pdl_idmap funcs;   /* address of a closure -> its block */
    PDL_VEC(pdl_val) closures;
    PDL_VEC(pdl_program *) programs;
    PDL_VEC(char *) keys;
    pdl_shapes *shapes; /* of the nodes as they are written */
};

#endif
