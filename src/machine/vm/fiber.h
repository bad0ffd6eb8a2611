/* fiber.h -- a fiber: a strand of execution with stacks on the heap. Private to vm.
 *
 * A program waits for many models at once, inside of nested calls and loops. Threads would need
 * locks and megabytes of stacks, and cannot be cancelled safely. A fiber has registers, and stacks
 * on the heap (values, frames, blocks, scopes, loops, handlers). While it is parked, it has nothing
 * on the C stack: the instruction that waited is executed again. So a run can have thousands of
 * fibers, and cancelling one means freeing what its stacks own. What must stay true: an instruction
 * that may wait changes nothing before it parks.
 *
 * Heights in frames and handlers only grow upwards: RETURN and errors cut the stacks to them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VM_FIBER_H
#define PDL_VM_FIBER_H

#include "base/vec.h"
#include "value/label.h"
#include "value/path.h"
#include "value/promise.h"
#include "value/scope.h"
#include "vm/vm.h"

typedef struct pdl_fiber pdl_fiber;
typedef struct pdl_outq pdl_outq;
typedef struct pdl_attempts pdl_attempts; /* vm/retry.h */
typedef struct pdl_mapping pdl_mapping;   /* vm/loop.h */
/* Bits of the register `print`. MESSAGES_UNREAD is set in a silent part (vm/ops/ops_block.c). */
enum { PRINT_RESULT = 1, PRINT_CONTEXT = 2, MESSAGES_UNREAD = 4 };

typedef struct pdl_outbuf {
    pdl_buf text;
    pdl_label label;  /* the labels of the parts that were appended */
    pdl_label chosen; /* labels of the values that chose constants for the text */
} pdl_outbuf;

typedef enum {
    FRAME_MAIN,     /* first frame of a fiber */
    FRAME_CALL,     /* call block: prints and contributes as if its body were inlined */
    FRAME_EXPR,     /* call from an expression: silent; its result is resolved */
    FRAME_MACRO,    /* macro, or recursive loop of a template */
    FRAME_TEMPLATE, /* lang: jinja */
    FRAME_INCLUDE,
    FRAME_IMPORT,
    FRAME_PDL /* lang: pdl */
} pdl_vm_frame_kind;

/* The state that RETURN restores. The members with `base` in their names are heights of the fiber's
 * stacks when the frame began. */
typedef struct pdl_vm_frame {
    pdl_vm_frame_kind kind;
    pdl_code *code;     /* kept */
    uint32_t return_pc; /* position in the caller's code */
    uint32_t stack, blocks, saves, loops, bufs, handlers, locals;
    uint32_t depth;    /* for MACRO: number of frames of the same macro that are nested here */
    uint32_t below;    /* for MACRO: index of the next frame below with other code */
    uint32_t begun_ms; /* with reports_tools: when the frame began, by the clock of events */

    /* the caller's registers, which are restored when the frame ends */
    uint32_t local_base;
    pdl_scope *scope;
    pdl_val ctx, role, background;
    uint8_t print;
    bool autoescape;
    pdl_label control, chosen;

    pdl_label label;        /* labels of the text that became the code; 0 for the author's text */
    pdl_val func;           /* the closure that is running; or absent */
    pdl_loc loc;            /* the place where the call is written */
    const pdl_b_call *call; /* for CALL */
    pdl_val key;            /* for IMPORT: text of the file; else absent */
    pdl_val library;        /* for IMPORT: the standard library in the object; or absent */
    pdl_path *place;        /* for EXPR: id of the caller, and number of the call; owned */
    pdl_path *chain;        /* for EXPR: path with the calls around it, made later; owned */
} pdl_vm_frame;

/* A block that is running. When info is NULL the record is only a boundary, which has a path. */
typedef struct pdl_vm_block {
    const pdl_blockinfo *info;
    pdl_val ctx_in, role_in; /* owned: the background that LEAVE restores */
    pdl_val child_messages;  /* messages of the parts that have ended; absent when there are none */
    pdl_path *path;          /* made when it is needed; owned */
    pdl_attempts *attempts;  /* owned; NULL when the block has no handlers */
    uint32_t iter;           /* number of the iteration, for the ids of the iteration's parts */
    uint32_t effects;        /* number of effects that were started at the block's place */
    uint32_t instances;      /* number of calls that the block's expressions have made */
    uint8_t print_in, print; /* the fiber's register `print` before the block, and inside it */
    bool holds;              /* output waits until the block has succeeded; see pdl_out_hold */
    pdl_label control_in;    /* the fiber's register `control` before the block */
    pdl_budget *budget;      /* owned; the budget that this block made; NULL when it made none */
} pdl_vm_block;

typedef struct pdl_save {
    pdl_scope *scope;
    pdl_val ctx; /* absent when only the scope is saved */
    uint8_t print;
    uint32_t frame;
} pdl_save;

/* The iteration state of repeat, map and reduce. */
typedef struct pdl_vm_loop {
    pdl_name *names; /* owned array */
    pdl_val *lists;  /* owned array of lists or other sequences */
    uint32_t n;
    size_t len;  /* length of each list */
    size_t i;    /* next iteration */
    int64_t max; /* -1 when there is no maximum */
    pdl_name index;
    uint32_t block;          /* index of the block's record */
    struct pdl_mapping *map; /* owned; NULL for repeat */
    pdl_val func;            /* for reduce: the function; else absent */
} pdl_vm_loop;

typedef struct pdl_handler {
    uint32_t pc;
    uint32_t frame; /* this frame and the frames below it are kept */
    uint32_t stack, blocks, saves, loops, bufs, locals;
    pdl_scope *scope; /* owned copies */
    pdl_val ctx, role;
    uint8_t print;
    bool autoescape;
    pdl_label control, attempt_control, chosen;
    uint32_t calls_from; /* number of the first call that belongs to the attempt */
    pdl_outq *out;       /* the output queue of the attempt, and where in it the attempt began */
    size_t out_mark;
} pdl_handler;

typedef enum {
    FIBER_READY,
    FIBER_WAIT_CALL,
    FIBER_WAIT_CALLS,
    FIBER_WAIT_MAP,
    FIBER_WAIT_SLOT,
    FIBER_HELD, /* held by the engine of an inference, see particle.h */
    FIBER_DONE,
    FIBER_FAILED
} pdl_fiber_state;

/* A call of a fiber: it is open, or the fiber has not noticed its failure yet. */
struct pdl_made {
    uint32_t id, number;
    pdl_val failed; /* the call's failed promise, or absent while the call is open */
    bool raises;    /* a failure that was not noticed is an error at the end of the run */
};

/* The kinds of slots for which a parked fiber may wait; see inflight_limit.c. */
typedef enum { PDL_SLOT_MODEL, PDL_SLOT_EFFECT, PDL_SLOT_COUNT } pdl_slot;

struct pdl_fiber {
    pdl_run *run;
    uint32_t id;
    pdl_fiber_state state;
    /* The registers. */
    const pdl_code *code;
    uint32_t pc;
    pdl_scope *scope;
    pdl_val ctx;        /* background messages that the next block will see */
    pdl_val filtered;   /* result of OUT_FILTER, maybe a promise; or absent */
    pdl_val background; /* background after the last block; absent when it is empty */
    pdl_val role;
    uint8_t print;
    bool autoescape;
    /* With strict control: labels of the conditions that led to this point; else 0. */
    pdl_label control;
    uint32_t choices; /* with strict control: number of choices by values with an origin */
    /* Labels of the values that chose the running functions, and of the texts that became code. */
    pdl_label chosen;
    /* Labels of the values that could have ended the current attempt; 0 after it. */
    pdl_label attempt_control;
    uint32_t turns_since_effect; /* number of loop turns since the last effect that takes time */
    pdl_budget *budget;          /* owned; effects are charged to it; may be NULL */
    pdl_val sandbox;             /* profiles of the code that started the fiber, or absent */
    uint64_t modules;            /* modules with policies around the code that started the fiber */
    bool by_code, is_for_code;   /* code called the function that this fiber runs; see n_for_code */
    uint32_t caller;             /* fiber of the code that called the function, or 0 */
    /* The stacks. */
    PDL_VEC(pdl_val) stack;
    PDL_VEC(pdl_vm_frame) frames;
    PDL_VEC(pdl_vm_block) blocks;
    PDL_VEC(pdl_save) saves;
    PDL_VEC(pdl_vm_loop) loops;
    PDL_VEC(pdl_handler) handlers;
    PDL_VEC(pdl_outbuf) bufs;
    PDL_VEC(pdl_val) locals; /* variables of template loops, see local_base */
    uint32_t local_base;
    /* Calls of models, tools and objects, in order: open ones, and failures not noticed yet. */
    PDL_VEC(struct pdl_made) calls;
    uint32_t n_calls;   /* number of the next call */
    pdl_native_env env; /* the environment that is passed to natives */
    pdl_err err;        /* set when the state is FAILED */
    pdl_err raised;     /* an error that waits for earlier calls to end; unset at other times */
    pdl_fiber *parent;  /* for an iteration of a map: the fiber of the map; else NULL */
    size_t index;       /* number of the iteration */
    /* for a map in a call: the place of the call, which replaces the id base_from; or NULL */
    pdl_path *base, *base_from;
    pdl_outq *out;
    uint32_t wait_id;              /* for WAIT_CALL: id of the effect */
    uint32_t wait_from, wait_left; /* for WAIT_CALLS: first call, number of open calls */
    uint32_t nested;               /* frames of lang: pdl, whose model calls count separately */
    uint32_t n_open;               /* number of open calls in `calls` */
    bool handled;                  /* a fiber around this one has a handler */
    pdl_fiber *next_ready;
    bool queued, cancelled;
    bool woken; /* a slot is reserved for the fiber until its next turn (see n_woken) */
    pdl_slot woken_for;
    bool is_new; /* an iteration of a map that has not run yet */
    bool waits;  /* set for an iteration with maxWorkers: it is open until its calls have ended */
    bool is_weighed; /* held at a factor that the score already contains */
    /* called when a call from outside of the run has ended */
    void (*done)(void *user, pdl_val result, const pdl_err *err);
    void *done_user;
    pdl_fiber *prev_all, *next_all;
};

/* Returns the loc of the current instruction, or else the loc of its block, or else the loc of the
 * map of which f is an iteration. All members are zero when the loc is unknown. */
pdl_loc pdl_fiber_loc(const pdl_fiber *f);

pdl_fiber *pdl_fiber_new(pdl_run *r, pdl_code *code, uint32_t entry);
void pdl_fiber_free(pdl_fiber *f);
void pdl_fiber_ready(pdl_fiber *f);
/* Returns true when the stacks agree with the top frame and the top handler, and the state agrees
 * with the queues. Only the tops are examined, so the cost of an assertion does not grow with the
 * stacks. */
bool pdl_fiber_ok(const pdl_fiber *f);
/* Unwinds to the nearest handler after an error. Returns false when there is no handler; the fiber
 * has then failed. Takes the content of err. */
bool pdl_fiber_unwind(pdl_fiber *f, pdl_err *err);
void pdl_vm_frame_push(pdl_fiber *f, pdl_vm_frame_kind kind, const pdl_code *code, uint32_t entry,
                       pdl_loc loc);
/* Records that a value with this label decided what happens up to the end of the block or call. */
void pdl_vm_chosen_by(pdl_fiber *f, pdl_label label);
/* Records that a value with this label chose the function or code of the top frame. Everything that
 * this function or code does then has the label. */
void pdl_vm_enter_chosen(pdl_fiber *f, pdl_label label);
/* Restores the registers of the caller and cuts the stacks to the base of the frame. */
void pdl_vm_frame_pop(pdl_fiber *f);
/* Returns the id of the innermost running block, borrowed. */
pdl_path *pdl_vm_block_path(pdl_fiber *f);
/* Returns the id of a part that has no record; owned. */
pdl_path *pdl_vm_part_path(pdl_fiber *f, const pdl_blockinfo *info);
pdl_scope *pdl_vm_scope_of_dict(pdl_run *r, pdl_vref d);
/* Ends a block's record; its budget ends with it. */
void pdl_vm_block_fini(pdl_fiber *f, pdl_vm_block *b);
void pdl_vm_cut_blocks(pdl_fiber *f, size_t n);
void pdl_vm_cut_saves(pdl_fiber *f, size_t n);
void pdl_vm_cut_stack(pdl_fiber *f, size_t n);
void pdl_vm_cut_locals(pdl_fiber *f, size_t n);

#endif
