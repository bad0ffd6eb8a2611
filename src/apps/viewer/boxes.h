/* boxes.h -- private to viewer: a run as a tree of boxes, read from its trace.
 *
 * A trace is the program, in which every executed block also has the facts of its execution. A box
 * is one execution of one block. The tree of boxes is made once, breadth first, so the children of
 * a box have neighbouring numbers. A page that shows one level asks for a range, and a run of a
 * hundred thousand blocks needs neither recursion nor lists. Texts and values stay in the trace,
 * which the document owns; a box borrows its block from there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_BOXES_H
#define PDL_VIEWER_BOXES_H

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "value/val.h"

/* How the execution ended. */
typedef enum {
    PDL_BOX_DONE,
    PDL_BOX_FAILED,
    PDL_BOX_RECOVERED, /* the block failed, and its fallback ran */
    PDL_BOX_RUNNING,   /* the block has not ended yet, or its answer has not arrived */
} pdl_box_state;

typedef struct pdl_box {
    uint32_t parent;     /* number of the box around this one; for the root, its own number */
    uint32_t first;      /* number of the first child */
    uint32_t n_children; /* the children have the numbers from `first` on */
    uint32_t depth;      /* the root has depth 0 */
    pdl_vref block;      /* the block in the trace: a dict; borrowed */
    pdl_str kind;        /* kind of the block in the trace; "block" when it has none */
    pdl_str place;       /* place in the run; may be empty */
    pdl_str step;        /* the path in the source from the block around it, such as "text.0" */
    int64_t start, end;  /* ns since the epoch; 0 when unknown */
    pdl_box_state state;
    bool counts; /* the box failed, but no box inside it did; so each failure is counted once */
    /* the box is an innermost one that had not ended when the run was interrupted or another block
     * failed */
    bool stopped;
    /* the box is a failed attempt that was handled, or is inside of such an attempt */
    bool abandoned;
} pdl_box;

typedef struct pdl_doc {
    pdl_arena *arena;       /* texts of the boxes */
    pdl_val trace;          /* owned */
    PDL_VEC(pdl_box) boxes; /* the root is number 0 */
    char *notice;           /* owned; describes the damage of the trace; NULL when it is intact */
    pdl_map places;         /* place of a model block -> number of its box + 1 */
    bool running;           /* the run continues, so a block without an end has not failed */
    bool stopped;           /* the run was interrupted: it did not end, and no block of it failed */
    bool cut; /* some blocks are left out: the trace has more than PDL_DOC_MAX_BOXES */
} pdl_doc;

enum { PDL_DOC_MAX_BOXES = 5000000 };

/* Reads a trace. A damaged trace is read as far as possible, with a notice. running is true while
 * the run continues. Error: syntax when the text holds no JSON object at all. */
PDL_MUST bool pdl_doc_read(pdl_str text, bool running, pdl_doc **out, pdl_err *err);
void pdl_doc_free(pdl_doc *d); /* d may be NULL */

/* Returns how long box i, a model call, waited for its turn, a rate or another attempt, in ns.
 * Returns 0 when it hardly waited. A call spends the rest of its time on the network. */
int64_t pdl_doc_waited(const pdl_doc *d, uint32_t i);

/* Returns the value of a member of the box's block, or absent; borrowed. */
pdl_vref pdl_box_get(const pdl_box *b, const char *key);
/* Returns the messages of v as an owned list; absent when v holds no list. v is the given member of
 * box i, or a part of that member. A list may say that it continues the list of another block
 * (machine/trace/fold_same.c). When that block is missing, only the written part of the list is
 * returned. */
pdl_val pdl_doc_messages(const pdl_doc *d, uint32_t i, pdl_str member, pdl_vref v);
/* Returns true when the list v in *member of box *i continues the list of another block, or of
 * another member. Sets *i and *member to the box and the member with that list. */
bool pdl_doc_continues(const pdl_doc *d, uint32_t *i, pdl_str *member, pdl_vref v);
/* Returns the box of the model with this `pdl__id`, or the number of all boxes if there is none. */
uint32_t pdl_doc_model_at(const pdl_doc *d, pdl_str place);
/* Returns true for a block: a dict with a text as its "kind". */
bool pdl_doc_is_block(pdl_vref v);
/* Returns true for a member with a fact of the execution, such as "pdl__result", which is not in
 * the source. */
bool pdl_doc_is_fact(pdl_str key);

/* Appends the steps from the root to box i: "text.0.repeat.text.1". */
void pdl_doc_source_path(const pdl_doc *d, uint32_t i, pdl_buf *out);

#endif
