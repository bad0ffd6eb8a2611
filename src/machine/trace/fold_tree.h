/* fold_tree.h -- private to trace: one node for each execution of a block.
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

/* Facts of the body of a function that an expression called. */
#define FOLD_CALL_NAME "pdl__call"
#define FOLD_CALL_ARGS "pdl__call_args"

/* Nested executions that are shown; each level is up to three levels of the JSON. */
enum { FOLD_DEEPEST = PDL_MAX_JSON_DEPTH / 4 };

/* Value that a field had. */
typedef struct fold_fact {
    const char *key; /* interned by the fold */
    uint32_t index;
    uint32_t next; /* fact + 1 of the same index, when there are many; 0: none */
    pdl_val value;
} fold_fact;

/* An iteration of a loop that is written before an earlier one: all that stays of its node. */
typedef struct fold_ahead {
    uint32_t number;
    pdl_buf text; /* refers to the spill */
} fold_ahead;

/* Texts in the order of their numbers: iterations of a loop, calls in the expressions of a block.
 * All-zero but for items is empty. */
typedef struct fold_series {
    uint32_t begun, collected; /* how many began, and are in items */
    pdl_buf items;             /* the first ones */
    size_t aside;              /* this part of items refers to spilled text already */
    pdl_idmap ahead;           /* number + 1 -> fold_ahead, owned */
    bool gathered;             /* all of them are in items */
} fold_series;

/* Invariants: a node that is written has text and neither facts nor children; n_left children are
 * not written. */
typedef struct fold_node {
    const pdl_block *block;
    struct fold_node *parent;                     /* NULL: the root, or its parent was freed */
    struct fold_node *first, *last, *next, *prev; /* children that show, in order of execution */
    struct fold_node *cursor;                     /* where the search for a child continues */
    struct fold_node *older, *newer;              /* list of all nodes */
    struct fold_node *queue_next;                 /* list of the nodes that are over and wait */
    uint64_t due;                                 /* in the queue: not examined before this event */
    pdl_entry entry;
    uint32_t fiber;
    uint32_t number; /* of an iteration, or of a call in an expression */
    uint32_t n_left;
    unsigned depth; /* executions around it */
    unsigned level; /* containers of the JSON around it */
    unsigned tries;
    pdl_path *path;
    pdl_path *place; /* path with the calls from expressions around it; NULL: none */
    pdl_path *call; /* a model: its place in calls, kept; NULL: none */
    uint64_t tick; /* the number of the event with which it began */
    int64_t start, end;
    int64_t sent;        /* a model: when the request that was answered went out; 0: unknown */
    int64_t first_piece; /* a model: when it arrived; 0: the answer came at once */
    PDL_VEC(fold_fact) facts;
    pdl_idmap by_index; /* index + 1 -> the last fact of it, as a number + 1; empty for few facts */
    pdl_val context;    /* models: incoming messages */
    int64_t usage[3];   /* calls, completion, prompt */
    double cost;        /* negative: unknown */
    char *failure;      /* owned: the innermost block that failed */
    char *answer_failed; /* owned: a model: its answer, an error, that came before its end */
    pdl_buf text;        /* its JSON with holes (fold_text.c) */
    fold_series rounds;  /* of a loop */
    fold_series calls;   /* in its expressions */
    bool over;           /* ended or failed */
    bool part_failed;
    bool fell_back; /* its fallback produced the result */
    bool silent;    /* does not show */
    bool in_input;  /* its result is the `input` of a model */
    bool plain;     /* made of nothing but messages and values; set when it is written */
    bool waits;     /* a model: for its reply */
    bool queued, written;
    bool given_up; /* belongs to an attempt that failed: freed once nothing refers to it */
} fold_node;

/* Lists of messages that a model has in the trace. */
typedef enum { FOLD_CONTEXT, FOLD_INPUT, FOLD_LISTS } fold_list;
typedef struct fold_bases fold_bases; /* fold_same.c */
/* The model itself: its id, and its `pdl__context`. Both are borrowed. */
typedef struct fold_own {
    pdl_vref id, context;
} fold_own;

/* A named block that was not executed at this position. */
typedef struct fold_written {
    const pdl_block *block;
    char *name;   /* owned; NULL: none */
    size_t next;  /* entry + 1 of the same block; 0: none */
    pdl_buf text; /* made when it is first needed, after the end */
} fold_written;

struct pdl_fold {
    pdl_program *program;
    const pdl_secrets *secrets;
    const pdl_mask *mask;         /* NULL: nothing */
    pdl_fold_label_fn *put_label; /* NULL: origins are not written */
    const void *label_user;
    size_t n_secrets; /* size of the register when the first node was written */
    bool began;       /* a node was written */
    bool whole;       /* nothing is written that the reference does not write */
    fold_node *root;
    fold_node *all;
    fold_node *queue, *queue_end;
    uint64_t tick;   /* events so far */
    pdl_idmap tops;  /* fiber -> innermost node that runs */
    pdl_idmap calls; /* path of a model block that waits -> node */
    pdl_idmap bases; /* fiber -> fold_bases, owned */
    pdl_idmap last;  /* block -> path of its last execution (kept) */
    pdl_idmap taken; /* case without a test that was taken -> itself */
    pdl_idmap funcs; /* function block that made a closure -> itself */
    pdl_idmap holes; /* block -> its first entry in written, + 1 */
    pdl_idmap forms; /* block that was executed -> its fold_forms, owned */
    PDL_VEC(fold_written) written;
    pdl_idmap programs; /* of the blocks; kept */
    PDL_VEC(char *) keys;
    pdl_spill spill;
    pdl_cancel_grace grace; /* of all nodes that are written after the run was cancelled */
    pdl_err err;            /* the first problem with the spill or a text: there will be no trace */
};

/* --- fold_node.c: when a node is written and given back --------------------------------------- */

/* A node below up (NULL: none) for an execution that begins. Takes nothing. */
fold_node *pdl_fold_node_new(pdl_fold *f, fold_node *up);
/* The last child that is a part of n, no call in one of its expressions; NULL: none. */
fold_node *pdl_fold_last_part(const fold_node *n);
/* The series of its parent that n belongs to; NULL: it is a part. */
fold_series *pdl_fold_series_of(const fold_node *n);
/* Link n as the last child of its parent. */
void pdl_fold_node_link(fold_node *n);
/* n has ended: writes it and the nodes that become complete with it, or queues it. Frees a node
 * that is not shown. */
void pdl_fold_node_over(pdl_fold *f, fold_node *n);
/* Look at nodes that wait. */
void pdl_fold_queue_turn(pdl_fold *f);
/* The parts of n but its definitions belong to an attempt that failed. */
void pdl_fold_give_up_parts(pdl_fold *f, fold_node *n);
/* n waits for the reply of the model call of this place; NULL: of none. */
/* A block with many parts has one fact for each: a match, one for each case. */
fold_fact *pdl_fold_fact(const fold_node *n, const char *key, uint32_t index); /* NULL: none */
/* Adds a fact that is not there. Takes value; key is interned. */
void pdl_fold_fact_add(fold_node *n, const char *key, uint32_t index, pdl_val value);
/* The facts from `keep` on were removed, and others may have moved. */
void pdl_fold_facts_cut(fold_node *n, size_t keep);
/* Drops the facts and the context of n. */
void pdl_fold_forget_values(fold_node *n);
void pdl_fold_set_call(pdl_fold *f, fold_node *n, pdl_path *place);
void pdl_fold_nodes_free(pdl_fold *f);

/* --- fold_write.c: what a node looks like ----------------------------------------------------- */

/* Makes n->text; all its parts are written. */
void pdl_fold_node_write(pdl_fold *f, fold_node *n);
/* The JSON of a block that was not executed, in its state at the end. */
PDL_MUST bool pdl_fold_written_json(const pdl_fold *f, const fold_written *w, pdl_buf *out,
                                    pdl_err *err);
/* n is written: the body of a function that an expression called becomes the text of that call. */
void pdl_fold_call_write(pdl_fold *f, fold_node *n);
/* Is child an iteration of the loop b? */
bool pdl_fold_is_loop_body(const pdl_block *b, const pdl_block *child);

/* --- fold_same.c: lists that repeat one before them ------------------------------------------ */

/* How many messages of v, a list or a context, a block has already whose id becomes *id (owned);
 * 0: none. own: the model of the node; NULL: it may not be named. */
size_t pdl_fold_same(const pdl_fold *f, const fold_node *n, const fold_own *own, fold_list which,
                     pdl_vref v, pdl_val *id);
pdl_val pdl_fold_rest(pdl_vref v, size_t from); /* the messages from this one on, as a list */
/* The model n has these lists under this id (text); later ones may name it. */
void pdl_fold_same_note(pdl_fold *f, const fold_node *n, pdl_vref id, pdl_vref context,
                        pdl_vref input);
/* The parts of n are taken out of the trace: none of them is named any more. */
void pdl_fold_same_forget(pdl_fold *f, const fold_node *n);
/* n was the outermost node of its fiber, which has ended. */
void pdl_fold_same_end(pdl_fold *f, const fold_node *n);
void pdl_fold_same_free(pdl_fold *f);

/* --- fold_labels.c: where values came from ---------------------------------------------------- */

/* Adds the origins of a field's value, and of its parts, to out (absent: none yet). Takes out. */
pdl_val pdl_fold_labels_put(const pdl_fold *f, pdl_val out, pdl_str field, pdl_vref v);

/* --- fold_text.c: text with holes ------------------------------------------------------------- */

/* Values that are replaced by text in a tree (owned). */
pdl_val pdl_fold_hole_text(const pdl_buf *text);   /* borrowed until the tree is written */
pdl_val pdl_fold_hole_items(const pdl_buf *items); /* the same, as a list */
pdl_val pdl_fold_hole_written(pdl_fold *f, const pdl_block *b, pdl_str name);
pdl_val
pdl_fold_hole_taken(const pdl_case *c);    /* true when the case was taken somewhere, else null */
pdl_val pdl_fold_hole_slot(size_t answer); /* of a form (fold_form.c) */
bool pdl_fold_is_slot(pdl_vref v, size_t *answer);
/* For pdl_json_part: writes the other kinds. */
bool pdl_fold_put_hole(void *user, pdl_vref v, unsigned depth, pdl_buf *out);

enum {
    PDL_FOLD_JSON_FLAGS =
        PDL_JSON_ASCII | PDL_JSON_SPACED | PDL_JSON_NAN | PDL_JSON_LOOSE | PDL_JSON_CUT
};
/* Append v as JSON. */
PDL_MUST bool pdl_fold_put_json(pdl_vref v, pdl_buf *out, pdl_err *err);
/* Append v as JSON inside `level` containers, long text put aside. False: f->err says why. */
PDL_MUST bool pdl_fold_put_node(pdl_fold *f, pdl_vref v, unsigned level, pdl_buf *out);
/* Spills the text from an offset on if it is long. Returns where text after it begins. */
size_t pdl_fold_shorten(pdl_fold *f, pdl_buf *text, size_t from);
/* Spills the whole text, also a short one, unless it is a reference already. */
void pdl_fold_put_aside(pdl_fold *f, pdl_buf *text);
/* The text as the next item of a series. */
void pdl_fold_add_item(pdl_fold *f, fold_series *to, const pdl_buf *text);

#endif
