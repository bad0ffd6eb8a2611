/* fold_tree.h -- the tree of a trace, with one node for each execution of a block. Private to
 * trace.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_TRACE_FOLD_TREE_H
#define PDL_TRACE_FOLD_TREE_H

#include "base/cancel.h"
#include "base/idmap.h"
#include "base/limits.h"
#include "base/vec.h"
#include "trace/fold.h"
#include "trace/spill.h"
#include "value/json_write.h"

/* Facts about the body of a function that an expression called: its name and its arguments. */
#define FOLD_CALL_NAME "pdl__call"
#define FOLD_CALL_ARGS "pdl__call_args"
/* This fact is the name of the function, when --verbose shows the call as the call of a tool. */
#define FOLD_TOOL "pdl__tool"
/* This fact is the value that a parser made from the result. */
#define FOLD_PARSED "pdl__parsed"
/* This fact is the list of pieces that the block showed while it ran (fold_shown.h). */
#define FOLD_SHOWN "pdl__shown"

/* Maximum depth of executions that are shown. Each level makes up to three levels of JSON. */
enum { FOLD_DEEPEST = PDL_MAX_JSON_DEPTH / 4 };

/* The value of a field. */
typedef struct fold_fact {
    const char *key; /* interned by the fold */
    uint32_t index;
    uint32_t next; /* 1 + position of another fact with the same index; 0 for the last one */
    pdl_val value;
} fold_fact;

/* An iteration of a loop whose text was written before that of an earlier iteration. */
typedef struct fold_ahead {
    uint32_t number;
    pdl_buf text; /* refers to spilled text */
} fold_ahead;

/* Texts in the order of their numbers: iterations of a loop, or calls in the expressions of a
 * block. In an empty series all members but items are zero. */
typedef struct fold_series {
    uint32_t begun, collected; /* number of executions that began, and of texts in items */
    pdl_buf items;             /* texts of the first executions */
    size_t aside;              /* items before this offset refer to spilled text */
    pdl_idmap ahead;           /* number + 1 -> fold_ahead; owned */
    bool gathered;             /* all texts are in items */
} fold_series;

/* Counts calls of models, with their tokens and prices. */
typedef struct fold_usage {
    int64_t counts[3]; /* numbers of calls, of completion tokens and of prompt tokens */
    double cost;       /* 0 when it is unknown */
} fold_usage;

/* Invariants: a node that was written has text, and neither facts nor children; n_left counts the
 * children that were not written. */
typedef struct fold_node {
    const pdl_block *block;
    struct fold_node *parent; /* NULL when the node is the root, or its parent was freed */
    struct fold_node *first, *last, *next, *prev; /* shown children, in order */
    struct fold_node *cursor;                     /* the child at which the next search begins */
    struct fold_node *older, *newer;              /* links of the list of all nodes */
    struct fold_node *queue_next;                 /* next node in the queue of ended nodes */
    uint64_t due; /* number of the event before which the queue does not examine the node */
    pdl_entry entry;
    uint32_t fiber;
    uint32_t number; /* number of an iteration, or of a call in an expression */
    uint32_t n_left;
    unsigned depth; /* number of executions around the node */
    unsigned level; /* number of JSON containers around the node */
    unsigned tries;
    pdl_path *path;
    pdl_path *place; /* path with the calls around it; NULL when there are no calls */
    pdl_path *call;  /* for a model: key of its place in `calls`, kept; NULL for other nodes */
    uint64_t tick;   /* number of the event with which the execution began */
    /* Numbers of the events with which the last item of `attempts` began and failed, or 0. */
    uint64_t attempt_began, attempt_failed;
    int64_t start, end;
    int64_t sent;        /* for a model: when the answered request was sent; 0 when it is unknown */
    int64_t first_piece; /* for a model: time of the first piece; 0 when the answer was one piece */
    PDL_VEC(fold_fact) facts;
    /* Set when there are many facts. Maps index + 1 to the position + 1 of the last fact with this
     * index. */
    pdl_idmap by_index;
    pdl_val context;          /* for models: the incoming messages */
    int64_t usage[3];         /* numbers as in fold_usage.counts */
    double cost;              /* negative when it is unknown */
    fold_usage inside;        /* usage of parts that were written and freed */
    fold_usage lost;          /* usage of failed attempts that the trace does not show */
    fold_usage kept, dropped; /* usage of failed attempts, and of dropped parts */
    char *failure;            /* owned: set for the innermost block that failed */
    /* For a model, owned: the error of its answer, when it arrived before the block ended. */
    char *answer_failed;
    pdl_buf text;           /* the JSON of the node, with holes (fold_text.c) */
    fold_series rounds;     /* used by a loop */
    fold_series calls;      /* calls in the expressions of the block */
    fold_series attempts;   /* failed attempts */
    bool over, part_failed; /* over: the node has ended or failed; part_failed: a part has failed */
    bool fell_back;         /* the result is the result of the fallback */
    bool silent;            /* the trace does not show the node */
    bool in_input;          /* the result is the `input` of a model */
    bool plain;             /* the node has only messages and values; set when it is written */
    bool waits;             /* the node is a model that waits for its reply */
    bool queued, written;
    bool given_up;   /* the node has left the tree; freed when nothing refers to it */
    bool is_attempt; /* the node is being written as a failed attempt */
} fold_node;

/* The lists of messages that a model has in the trace. */
typedef enum { FOLD_CONTEXT, FOLD_INPUT, FOLD_LISTS } fold_list;
typedef struct fold_bases fold_bases; /* fold_same.c */
/* The id and the `pdl__context` of the model whose list is being written. Both are borrowed. */
typedef struct fold_own {
    pdl_vref id, context;
} fold_own;

/* A block that the trace shows at a position where it was not executed. */
typedef struct fold_written {
    const pdl_block *block;
    char *name;   /* owned; NULL when the block has no name */
    size_t next;  /* 1 + index of the next entry for the same block, or 0 */
    pdl_buf text; /* made after the end, when it is needed */
} fold_written;

struct pdl_fold {
    pdl_program *program;
    const pdl_secrets *secrets;
    const pdl_redaction *redaction; /* when it is NULL, no text is redacted */
    pdl_fold_label_fn *put_label;   /* when it is NULL, origins are not written */
    const void *label_user;
    size_t n_secrets; /* size of the register of secrets when the first node was written */
    bool began;       /* a node was written */
    bool whole;       /* only what the reference writes is written */
    bool replayed;    /* the answers come from a recording */
    fold_node *root;
    fold_node *all;
    fold_node *queue, *queue_end;
    uint64_t tick;   /* number of events so far */
    pdl_idmap tops;  /* maps a fiber to its innermost running node */
    pdl_idmap calls; /* maps the path of a waiting model block to its node */
    pdl_idmap bases; /* maps a fiber to its fold_bases, owned */
    pdl_idmap last;  /* maps a block to the path of its last execution; keeps that path */
    pdl_idmap taken; /* set of the cases without a test that were taken */
    pdl_idmap funcs; /* set of function blocks that made a closure */
    pdl_idmap holes; /* maps a block to 1 + the position of its first entry in `written` */
    pdl_idmap forms; /* maps an executed block to its fold_forms, owned */
    PDL_VEC(fold_written) written;
    pdl_idmap programs; /* programs of the blocks; kept */
    PDL_VEC(char *) keys;
    pdl_spill spill;
    pdl_cancel_grace grace; /* for all nodes that are written after a cancellation */
    pdl_err err;            /* first problem with the spill or a text: no trace is made */
};

/* --- fold_node.c: when a node is written and freed ------------------------------------------- */

/* Makes a node below up, which may be NULL, for an execution that begins. Takes nothing. */
fold_node *pdl_fold_node_new(pdl_fold *f, fold_node *up);
/* Returns the last child that is a part of n and not a call in one of its expressions; NULL when
 * there is no such child. */
fold_node *pdl_fold_last_part(const fold_node *n);
/* Returns the series of n's parent to which n belongs; NULL when n is a part. */
fold_series *pdl_fold_series_of(const fold_node *n);
/* Links n as the last child of its parent. */
void pdl_fold_node_link(fold_node *n);
/* Ends n: writes it and the nodes that become complete with it, or queues it. Frees a node that is
 * not shown. */
void pdl_fold_node_over(pdl_fold *f, fold_node *n);
/* Examines some of the waiting nodes. */
void pdl_fold_queue_turn(pdl_fold *f);
/* Finds a fact. A block with many parts has a fact for each part, such as a match for each case. */
fold_fact *pdl_fold_fact(const fold_node *n, const char *key, uint32_t index); /* may return NULL */
/* Adds a fact that n does not have yet. Takes value; key is interned. */
void pdl_fold_fact_add(fold_node *n, const char *key, uint32_t index, pdl_val value);
/* Called after the facts from index `keep` on were removed. Other facts may have moved. */
void pdl_fold_facts_cut(fold_node *n, size_t keep);
/* Adds up what n and its parts used. The C stack is at most FOLD_DEEPEST levels deep. */
fold_usage pdl_fold_usage_of(const fold_node *n);
/* Drops the facts and the context of n. */
void pdl_fold_forget_values(fold_node *n);
void pdl_fold_set_call(pdl_fold *f, fold_node *n, pdl_path *place);
void pdl_fold_nodes_free(pdl_fold *f);

/* --- fold_write.c: what a node looks like ----------------------------------------------------- */

/* Makes n->text. All parts of n were written before. */
void pdl_fold_node_write(pdl_fold *f, fold_node *n);
/* Appends the JSON of a block that was not executed, in its state at the end. */
PDL_MUST bool pdl_fold_written_json(const pdl_fold *f, const fold_written *w, pdl_buf *out,
                                    pdl_err *err);
/* Makes the text of a call in an expression. n is the body of the called function. */
void pdl_fold_call_write(pdl_fold *f, fold_node *n);
/* Returns true when child is an iteration of the loop b. */
bool pdl_fold_is_loop_body(const pdl_block *b, const pdl_block *child);

/* --- fold_same.c: lists that repeat one before them ------------------------------------------ */

/* Returns how many of the first messages of v (list or context) another block has already; 0 when
 * no block has any. *id (owned) is the id of that block. own is the model of the node; NULL when
 * the model may not be named. */
size_t pdl_fold_same(const pdl_fold *f, const fold_node *n, const fold_own *own, fold_list which,
                     pdl_vref v, pdl_val *id);
pdl_val pdl_fold_rest(pdl_vref v, size_t from); /* the messages from this index on */
/* Records that the model n has these lists under this id (a text). Later models may then name n. */
void pdl_fold_same_note(pdl_fold *f, const fold_node *n, pdl_vref id, pdl_vref context,
                        pdl_vref input);
/* Forgets the parts of n, because the trace drops them. Later lists name none of these parts. */
void pdl_fold_same_forget(pdl_fold *f, const fold_node *n);
/* Called for the outermost node n of a fiber when n has ended, and again when n is written. */
void pdl_fold_same_end(pdl_fold *f, const fold_node *n);
void pdl_fold_same_free(pdl_fold *f);

/* --- fold_labels.c: where values came from ---------------------------------------------------- */

/* Adds the origins of a field's value, and of its parts, to out, which may be absent. Takes out. */
pdl_val pdl_fold_labels_put(const pdl_fold *f, pdl_val out, pdl_str field, pdl_vref v);

/* --- fold_text.c: text with holes ------------------------------------------------------------- */

/* These functions make values (owned) that text replaces when a tree is written. */
pdl_val pdl_fold_hole_text(const pdl_buf *text);   /* borrowed until the tree is written */
pdl_val pdl_fold_hole_items(const pdl_buf *items); /* becomes a list; borrows the items */
pdl_val pdl_fold_hole_written(pdl_fold *f, const pdl_block *b, pdl_str name);
pdl_val pdl_fold_hole_taken(const pdl_case *c); /* becomes true if the case was taken, else null */
pdl_val pdl_fold_hole_slot(size_t answer);      /* becomes a slot of a form (fold_form.c) */
bool pdl_fold_is_slot(pdl_vref v, size_t *answer);
/* Writes a hole. This is the function `other` of pdl_json_part. */
bool pdl_fold_put_hole(void *user, pdl_vref v, unsigned depth, pdl_buf *out);
enum {
    PDL_FOLD_JSON_FLAGS =
        PDL_JSON_ASCII | PDL_JSON_SPACED | PDL_JSON_NAN | PDL_JSON_LOOSE | PDL_JSON_CUT
};
/* Appends v as JSON. */
PDL_MUST bool pdl_fold_put_json(pdl_vref v, pdl_buf *out, pdl_err *err);
/* Appends v as JSON inside of `level` containers, with long text put aside. Returns false with the
 * reason in f->err. */
PDL_MUST bool pdl_fold_put_node(pdl_fold *f, pdl_vref v, unsigned level, pdl_buf *out);
/* Spills the text from an offset on if it is long. Returns the offset for the next text. */
size_t pdl_fold_shorten(pdl_fold *f, pdl_buf *text, size_t from);
/* Spills the whole text, even a short one, unless it is a reference already. */
void pdl_fold_put_aside(pdl_fold *f, pdl_buf *text);
/* Adds the text as the next item of a series. */
void pdl_fold_add_item(pdl_fold *f, fold_series *to, const pdl_buf *text);

#endif
