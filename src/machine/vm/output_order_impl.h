/* output_order_impl.h -- the layout of an output queue, for output_order.c and run_invariants.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VM_OUTPUT_ORDER_IMPL_H
#define PDL_VM_OUTPUT_ORDER_IMPL_H

#include "vm/output_order.h"

typedef enum {
    PDL_OUT_TEXT,
    PDL_OUT_WRITE,
    PDL_OUT_MESSAGE,
    PDL_OUT_CALL,
    PDL_OUT_QUEUE
} pdl_out_kind;

typedef struct pdl_outitem {
    pdl_out_kind kind;
    struct pdl_outitem *next, *before;
    pdl_val text; /* for TEXT, WRITE and MESSAGE */
    pdl_val role; /* for MESSAGE */
    pdl_look look;
    bool untrusted;
    uint32_t descriptor;
    size_t number;      /* position in the queue, from 1 */
    size_t n_held;      /* number of bytes that are counted in held_bytes of the run */
    pdl_inflight *call; /* for CALL: NULL when the call was forgotten */
    bool visible, message, begun;
    pdl_outq *queue; /* for QUEUE */
} pdl_outitem;

struct pdl_outq {
    pdl_run *run;
    pdl_outq *parent;
    pdl_outitem *item; /* the item of this queue in `parent`; NULL for the queue of the run */
    pdl_outitem *first, *last;
    size_t n_added;
    size_t last_sent; /* position of the last text that was sent; 0 when none was sent */
    bool ended;
    bool is_held;     /* nothing is sent until the queue was ended */
    bool is_released; /* what is queued is sent although the queue is held; see pdl_out_release */
    pdl_outq *twin;   /* the copy of this queue, while the run is copied */
};

#endif
