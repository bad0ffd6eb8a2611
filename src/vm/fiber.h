/* fiber.h -- the inside of the machine: fibers, frames, block records, calls, output. Private to
 * vm.
 *
 * A fiber is a strand: a value stack, a frame stack (routines), a block stack, saves, loops,
 * handlers, and registers. A parked fiber has no C state: the instruction it stands at is executed
 * again when it resumes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VM_FIBER_H
#define PDL_VM_FIBER_H

#include "base/idmap.h"
#include "base/rand.h"
#include "base/vec.h"
#include "value/context.h"
#include "value/func.h"
#include "value/handle.h"
#include "value/int.h"
#include "value/label.h"
#include "value/path.h"
#include "value/promise.h"
#include "value/pyvalues.h"
#include "value/scope.h"
#include "value/text.h"
#include "vm/vm.h"

typedef struct pdl_fiber pdl_fiber;
typedef struct pdl_inflight pdl_inflight;
typedef struct pdl_outq pdl_outq;

enum { PRINT_RESULT = 1, PRINT_CONTEXT = 2 };

/* --- closures and macros ---------------------------------------------------------------------- */

typedef struct pdl_closure {
    pdl_func base;
    pdl_code *code; /* kept */
    const pdl_func_info *info;
    pdl_scope *scope; /* at the definition, without its own name */
    pdl_val role;     /* at the definition */
    pdl_path *path;   /* id of the function block */
    pdl_loc loc;
    uint32_t instances; /* expression calls so far */
} pdl_closure;
static inline pdl_closure *closure_of(pdl_vref v) { return (pdl_closure *)(void *)pdl_obj_of(v); }

/* --- output of templates ---------------------------------------------------------------------- */

typedef struct pdl_outbuf {
    pdl_buf text;
    pdl_label label; /* of what was put in */
} pdl_outbuf;

/* --- frames ----------------------------------------------------------------------------------- */

typedef enum {
    FRAME_MAIN,     /* first frame of a fiber */
    FRAME_CALL,     /* call block: prints and contributes as if inlined */
    FRAME_EXPR,     /* call from an expression: silent, result forced */
    FRAME_MACRO,    /* macro or recursive loop of a template */
    FRAME_TEMPLATE, /* lang: jinja */
    FRAME_INCLUDE,
    FRAME_IMPORT,
    FRAME_PDL /* lang: pdl */
} pdl_vm_frame_kind;

/* What RETURN restores. Bases are heights of the fiber's stacks when the frame began. */
typedef struct pdl_vm_frame {
    pdl_vm_frame_kind kind;
    pdl_code *code;     /* kept */
    uint32_t return_pc; /* in the caller's code */
    uint32_t stack, blks, saves, loops, bufs, handlers, locals;
    uint32_t local_base;   /* of the caller */
    uint32_t depth;        /* MACRO: how many of them stand here without a break */
    uint32_t below;        /* MACRO: the next frame below that is none of this code */
    pdl_scope *scope;      /* of the caller */
    pdl_val ctx, role, bg; /* of the caller */
    uint8_t print;
    bool autoescape;
    pdl_val func;           /* closure that is called, or absent */
    pdl_loc loc;            /* of the call */
    const pdl_b_call *call; /* CALL */
    pdl_val key;            /* IMPORT: text of the file; absent else */
    pdl_val library;        /* IMPORT: the standard library for the object; absent: not in it */
    pdl_path *place;        /* EXPR: id of the caller and number of the call, owned */
    pdl_path *chain;        /* EXPR: the same with the calls around it, made on demand, owned */
} pdl_vm_frame;

/* Settings and state of retry of one block. */
typedef struct pdl_attempts {
    int64_t tries; /* further attempts; -1: unlimited */
    int64_t done;  /* attempts that failed so far */
    double delay, max_delay, backoff, jitter_min, jitter_max;
    bool has_max;
    pdl_val exceptions; /* list of names; absent: all */
    pdl_val extra;      /* context added by errors and feedback; absent: none */
    pdl_val answer;     /* of the model in this attempt, a promise; absent: none was asked */
    /* messages that show the model what was wrong with its last answer; absent: none */
    pdl_val repair;
    pdl_err err;       /* of the last attempt while it is handled */
    pdl_val pdl_error; /* what pdl_error was before the fallback */
    bool in_fallback;
    bool unmet; /* an expectation of this attempt wants another one */
} pdl_attempts;

/* How the messages of trace_error_on_retry begin. */
#define TRACED_ERROR "An error occurred in a PDL block. Error details: "
#define TRACED_AGAIN "The previous error occurs multiple times."

/* A block that is running. info NULL: a boundary that only carries a path. */
typedef struct pdl_blk {
    const pdl_blockinfo *info;
    pdl_val ctx_in, role_in; /* owned: restored by LEAVE */
    pdl_val acc;             /* background of the parts so far; absent: empty */
    pdl_path *path;          /* made on demand, owned */
    pdl_attempts *attempts;  /* owned, NULL without handlers */
    uint32_t iter;           /* number of the iteration, for the ids of its parts */
    uint32_t effects;        /* started at this place */
    uint32_t instances;      /* expression calls made here */
    uint8_t print_in;        /* of the parent */
    uint8_t print;           /* of this block's position */
    pdl_budget *budget;      /* owned; made by this block: NULL without one */
} pdl_blk;

typedef struct pdl_save {
    pdl_scope *scope;
    pdl_val ctx; /* absent: scope only */
    uint8_t print;
    uint32_t frame;
} pdl_save;

/* Iteration state of repeat, map and reduce. */
typedef struct pdl_vm_loop {
    pdl_name *names; /* owned array */
    pdl_val *lists;  /* owned array of lists or other sequences */
    uint32_t n;
    size_t len;  /* of the lists */
    size_t i;    /* next iteration */
    int64_t max; /* -1: none */
    pdl_name index;
    uint32_t blk;            /* the block's record */
    struct pdl_mapping *map; /* owned, NULL for repeat */
    pdl_val func;            /* reduce: what is called; absent else */
} pdl_vm_loop;

typedef struct pdl_handler {
    uint32_t pc;
    uint32_t frame; /* frames below and with this one stay */
    uint32_t stack, blks, saves, loops, bufs, locals;
    pdl_scope *scope; /* owned copies */
    pdl_val ctx, role;
    uint8_t print;
    bool autoescape;
    uint32_t calls_from; /* calls of the fiber with this number or later belong to the attempt */
    size_t out_mark;
} pdl_handler;

typedef enum {
    FIBER_READY,
    FIBER_WAIT_CALL,
    FIBER_WAIT_CALLS,
    FIBER_WAIT_MAP,
    FIBER_DONE,
    FIBER_FAILED
} pdl_fiber_state;

/* A model call of a fiber that is open, or that failed and may still be noticed. */
struct pdl_made {
    uint32_t id, number;
    pdl_val failed; /* its failed promise, or absent while open */
};

struct pdl_fiber {
    pdl_run *run;
    uint32_t id;
    pdl_fiber_state state;
    /* registers */
    const pdl_code *code;
    uint32_t pc;
    pdl_scope *scope;
    pdl_val ctx;      /* background messages that the next block sees */
    pdl_val filtered; /* OUT_FILTER: its result, perhaps a promise; absent: not there yet */
    pdl_val bg;       /* background of the last block; absent: empty */
    pdl_val role;
    uint8_t print;
    bool autoescape;
    uint32_t quiet;     /* turns since something that takes time was asked of the outside */
    pdl_budget *budget; /* owned; what effects are charged to: NULL without one */
    /* stacks */
    PDL_VEC(pdl_val) stack;
    PDL_VEC(pdl_vm_frame) frames;
    PDL_VEC(pdl_blk) blks;
    PDL_VEC(pdl_save) saves;
    PDL_VEC(pdl_vm_loop) loops;
    PDL_VEC(pdl_handler) handlers;
    PDL_VEC(pdl_outbuf) bufs;
    PDL_VEC(pdl_val)
    locals; /* variables of loops of templates; slot 0 of the frame is at local_base */
    uint32_t local_base;
    /* calls made by this fiber, open or failed and not yet noticed */
    PDL_VEC(struct pdl_made) calls; /* open or failed calls of models, in order */
    uint32_t n_calls;               /* made so far, numbers them */
    pdl_native_env env;             /* what natives are told */
    pdl_err err;                    /* FAILED */
    pdl_err raised;    /* an error that waits for the calls made before it; unset else */
    pdl_fiber *parent; /* of an iteration of a map; NULL */
    size_t index;      /* its number there */
    pdl_path *base,
        /* place of the call around the map; ids below base_from are its body. Owned, or NULL */
        *base_from;
    pdl_outq *out;
    uint32_t wait_id;   /* WAIT_CALL */
    uint32_t wait_from; /* WAIT_CALLS: calls numbered from here */
    uint32_t wait_left; /* WAIT_CALLS: of them still open */
    uint32_t nested;    /* frames of lang: pdl: their model calls are counted apart */
    uint32_t n_open;    /* calls of models still open */
    bool handled;       /* a fiber above this one has a handler */
    pdl_fiber *next_ready;
    bool queued, cancelled;
    bool waits; /* an iteration of a map with maxWorkers: open until its calls have ended */
    void (*done)(void *user, pdl_val result, const pdl_err *err); /* a call from outside */
    void *done_user;
    pdl_fiber *prev_all, *next_all;
};

/* A map under way. */
typedef struct pdl_mapping {
    pdl_val *results; /* n, absent until done */
    size_t n, started, ended, open;
    size_t failed; /* smallest index that failed; (size_t)-1 none */
    pdl_err err;
    bool begun;
    pdl_fiber **fibers; /* started and not ended, by index; NULL else */
    size_t fibers_cap;
} pdl_mapping;

/* --- calls: effects under way ----------------------------------------------------------------- */

/* A step that is applied to a model's reply when it is there (architecture D2). */
typedef struct pdl_stage {
    const pdl_block *block; /* its parser and/or spec */
    pdl_val in, out;        /* promises */
    bool parse, check;
    pdl_val func_name; /* result of this function: absent else */
    pdl_loc loc;
    struct pdl_stage *next;
} pdl_stage;

struct pdl_inflight {
    uint32_t id;
    uint32_t number; /* in its fiber */
    uint32_t fiber;  /* id of the owner; 0: nobody */
    pdl_effect_kind kind;
    pdl_label label;    /* of all that comes back: pdl_effect_label */
    pdl_effect *effect; /* not started yet (waits for a place), else NULL */
    pdl_run *run;
    pdl_val value; /* promise of the whole reply value; absent when nobody wants it */
    pdl_val text, role, extra, raw; /* model: promises of the parts; absent unless a model */
    pdl_str model;                  /* owned text */
    pdl_loc loc;
    const pdl_expr *expr;      /* object: the expression that asks, in code; NULL: none */
    pdl_loc library_entry_loc; /* where the program called the library; all-zero outside of it */
    const pdl_block *block;    /* in the program of code */
    pdl_code *code;            /* kept */
    pdl_path *path;
    pdl_stage *stages;
    PDL_VEC(uint32_t) waiters; /* fiber ids */
    bool done, failed;
    bool handled;            /* a handler waits for it: its failure is that block's */
    bool nested;             /* inside lang: pdl */
    bool visible;            /* pieces go to the output (printing position) */
    pdl_buf pieces;          /* not printed yet */
    struct pdl_outitem *out; /* where it stands in the output; NULL: nowhere */
    double started;
};

/* --- run -------------------------------------------------------------------------------------- */

typedef struct pdl_usage {
    int64_t calls, completion, prompt;
} pdl_usage;

struct pdl_run {
    pdl_run_options opt;
    pdl_fiber *main;
    pdl_fiber *all; /* list of live fibers */
    pdl_fiber *ready_first, *ready_last;
    pdl_idmap fibers, calls; /* named by id: a late reply finds nobody instead of a freed object */
    uint32_t next_fiber, next_call;
    uint32_t open_models;
    PDL_VEC(uint32_t) queue; /* model calls that wait for a place, FIFO from queue_head */
    size_t queue_head;
    pdl_outq *out;
    bool closing; /* all fibers are being freed, in any order: maps leave theirs alone */
    bool finished, failed, draining;
    pdl_fiber *current;    /* whose turn it is; NULL: nobody's */
    pdl_cancel cancel;     /* entered while the run works */
    void *reserve, *words; /* memory.c; NULL: given back */
    size_t
        /* an allocation of so many bytes took the reserve: the program is to end; 0: none did */
        wanted;
    bool heard; /* a model or a tool has answered */
    pdl_val result;
    pdl_val answer; /* of the model that gives the result, as far as it is kept; or absent */
    pdl_err err;
    double score;
    pdl_usage usage, nested_usage;
    bool stream_failed, yielded;
    uint32_t turns;
    pdl_val tool_names;  /* dict from names of tools, as models call them, to their servers */
    pdl_val imports;     /* dict from text to module object, or true while it is running */
    pdl_idmap templates; /* compiled templates by hash of their text */
    PDL_VEC(struct pdl_template *) template_list;
    PDL_VEC(pdl_val) files; /* open file aggregators */
    uint64_t sched;         /* state of PDL_STRESS=sched */
    pdl_rand rng;
    bool rng_ready;
    pdl_err rng_err; /* no seed was to be had: the run fails */
    pdl_call_in call_in;
    struct {
        pdl_name context, error, usage, loop, caller, varargs, kwargs, stdlib, defaults, particle,
            judge, transformer;
    } names;
    pdl_scope *globals; /* what an imported file starts with */
    pdl_scope *initial; /* what the program starts with */
    pdl_arena *scratch;
    PDL_VEC(pdl_code *) failed_code; /* kept: errors point into their sources */
};

/* memory.c */
/* The run is asked when this thread has no memory. Returns who was asked before. */
pdl_alloc_watch pdl_run_watch(pdl_run *r);
void pdl_run_unwatch(pdl_run *r); /* at the end of the run */
/* False: memory had run out, and the program ends for it (PDL_E_limit). */
bool pdl_run_has_memory(pdl_run *r, pdl_err *err);

/* run.c: the place of a strand's instruction, its block, or the map that it is an iteration of;
 * all-zero: unknown */
pdl_loc pdl_fiber_loc(const pdl_fiber *f);

/* fiber.c */
pdl_fiber *pdl_fiber_new(pdl_run *r, pdl_code *code, uint32_t entry);
void pdl_fiber_free(pdl_fiber *f);
void pdl_fiber_ready(pdl_fiber *f);
/* An error arrived: unwind to the nearest handler. False when there is none: the fiber has failed.
 * Takes err. */
bool pdl_fiber_unwind(pdl_fiber *f, pdl_err *err);
/* An error that leaves a library function is told as one of the call: the user wrote neither the
 * lines above nor below. pdl_library_entry_loc: where the program calls the library function that
 * runs; all-zero when none does. */
pdl_loc pdl_library_entry_loc(const pdl_fiber *f);
void pdl_err_move_to_call(pdl_err *err, pdl_loc call); /* nothing when call is all-zero */
void pdl_vm_frame_push(pdl_fiber *f, pdl_vm_frame_kind kind, const pdl_code *code, uint32_t entry,
                       pdl_loc loc);
void pdl_vm_frame_pop(
    pdl_fiber *f); /* registers of the caller come back; the stack is cut to the base */
pdl_path *pdl_vm_block_path(pdl_fiber *f); /* id of the innermost running block, borrowed */
pdl_path *pdl_vm_part_path(pdl_fiber *f,
                           const pdl_blockinfo *info); /* id of a part that has no record, owned */
void pdl_vm_keep_code(pdl_run *r, pdl_code *code); /* for errors, which point into its sources */
/* The error becomes one of code: "LANGUAGE Code error: CLASS('message')", class_name where it has
 * none. */
void pdl_vm_code_error(const char *language, const char *class_name, pdl_loc loc, pdl_err *err);
void pdl_vm_expression_error(const pdl_expr *expr,
                             pdl_err *err); /* an error of the expression that asked an object */
pdl_scope *pdl_vm_scope_of_dict(pdl_run *r, pdl_vref d); /* owned; keys that are text */
void pdl_vm_block_fini(pdl_fiber *f, pdl_blk *b); /* what is charged to its budget ends with it */
void pdl_vm_loop_fini(pdl_fiber *f, pdl_vm_loop *l);
void pdl_vm_cut_blocks(pdl_fiber *f, size_t n);
void pdl_vm_cut_saves(pdl_fiber *f, size_t n);
void pdl_vm_cut_stack(pdl_fiber *f, size_t n);
void pdl_vm_cut_locals(pdl_fiber *f, size_t n);

static inline pdl_step step_of(bool ok) { return ok ? PDL_STEP_DONE : PDL_STEP_FAIL; }
static inline void push(pdl_fiber *f, pdl_val v) { *pdl_vec_push(&f->stack) = v; }
static inline pdl_val pop(pdl_fiber *f) { return f->stack.p[--f->stack.n]; }
static inline pdl_val *top(pdl_fiber *f) { return &f->stack.p[f->stack.n - 1]; }
static inline pdl_val *under(pdl_fiber *f, size_t k) { return &f->stack.p[f->stack.n - 1 - k]; }
static inline void set_top(pdl_fiber *f, pdl_val v) {
    pdl_drop(f->stack.p[f->stack.n - 1]);
    f->stack.p[f->stack.n - 1] = v;
}
static inline pdl_val *local(pdl_fiber *f, size_t slot) {
    return &f->locals.p[f->local_base + slot];
}
static inline pdl_blk *blk(pdl_fiber *f) { return &f->blks.p[f->blks.n - 1]; }
static inline void set_val(pdl_val *slot, pdl_val v) { /* takes v */
    pdl_val old = *slot;
    *slot = v;
    pdl_drop(old);
}

/* exec.c */
pdl_step pdl_fiber_run(pdl_fiber *f, pdl_err *err);

/* promise_ops.c: waiting. WAIT: the fiber is parked. */
pdl_step pdl_vm_force(pdl_fiber *f, pdl_val *slot, pdl_err *err);
pdl_step pdl_vm_force_n(pdl_fiber *f, size_t n, pdl_err *err); /* the n topmost */
pdl_step pdl_inflight_await(pdl_fiber *f, uint32_t from, bool raise, pdl_err *err);
pdl_inflight *pdl_inflight_new(pdl_fiber *f, pdl_effect_kind kind, pdl_loc loc);
void pdl_inflight_start(pdl_fiber *f, pdl_inflight *c, pdl_val request); /* takes request */
void pdl_inflight_start_at(pdl_fiber *f, pdl_inflight *c, pdl_val request, pdl_path *place,
                           uint32_t seq);
/* Start an effect and push the promise of its reply. Takes request. */
void pdl_vm_start_effect(pdl_fiber *f, pdl_effect_kind kind, pdl_val request, pdl_loc loc);
void pdl_inflight_free(pdl_inflight *c);
pdl_blk *pdl_vm_place_block(pdl_fiber *f);
pdl_path *pdl_vm_place_path(pdl_fiber *f);
/* Where an effect of the fiber stands in the run. Owned. */
pdl_path *pdl_vm_place_of(pdl_fiber *f);
/* The child, an iteration of a map, stands in the calls that f stands in. */
void pdl_vm_place_child(pdl_fiber *f, pdl_fiber *child);
void pdl_inflight_answered(pdl_inflight *c, const pdl_reply *reply);
void pdl_run_queue_models(pdl_run *r);
pdl_step pdl_op_parse(pdl_fiber *f, const pdl_block *b, pdl_err *err);
pdl_step pdl_op_check(pdl_fiber *f, const pdl_block *b, bool fallback, pdl_err *err);
/* What a check is of, for the message "Type errors HEADER NAME:". */
typedef struct pdl_checked {
    const char *header;
    pdl_str name;         /* may be empty */
    pdl_loc loc;          /* of the message, and of problems without a place */
    const pdl_node *args; /* of a call: where its arguments were written; NULL else */
} pdl_checked;
bool pdl_vm_check_value(pdl_run *r, const pdl_type *t, pdl_vref v, const pdl_checked *of,
                        pdl_err *err);
pdl_step pdl_vm_check_function_result(pdl_fiber *f, const pdl_closure *c, pdl_err *err);
/* The attempt that made the calls numbered from here was given up: whether they fail is of no
 * interest any more. */
void pdl_inflight_forget(pdl_fiber *f, uint32_t from);
void pdl_inflight_adopt(pdl_fiber *to, pdl_fiber *from);

/* out.c: output in the order of the program */
bool pdl_out_is_untrusted(const pdl_run *r,
                          pdl_label label); /* may text with this label be of a model or a tool? */
pdl_outq *pdl_outq_new(pdl_run *r, pdl_outq *parent);
void pdl_outq_end(pdl_outq *q); /* nothing more comes from its fiber */
pdl_outq *pdl_out_child(
    pdl_fiber *f); /* a queue at the cursor of f, for an iteration; owned by the queue of f */
void pdl_outq_free(pdl_outq *q);
void pdl_out_text(pdl_fiber *f, pdl_str text, pdl_look look, pdl_label label);
void pdl_out_write(pdl_fiber *f, pdl_str text, uint32_t descriptor, pdl_label label);
void pdl_out_message(pdl_fiber *f, pdl_vref role, pdl_str text);
void pdl_out_call(pdl_fiber *f, pdl_inflight *c, bool visible, bool message);
void pdl_out_flush(pdl_run *r);
void out_flush_all(pdl_run *r);
size_t pdl_out_mark(pdl_fiber *f);
/* An attempt was given up: what it queued from `mark` on stays up to the first call that failed. */
void pdl_out_forget(pdl_fiber *f, size_t mark);
bool pdl_out_failed(pdl_run *r, pdl_err *err);

/* ops_expr.c */
void pdl_vm_native_env_init(pdl_fiber *f);
pdl_step pdl_op_binary(pdl_fiber *f, const pdl_ins *i, pdl_err *err);
pdl_step pdl_op_unary(pdl_fiber *f, pdl_opcode op, pdl_err *err);
pdl_step pdl_op_compare(pdl_fiber *f, const pdl_ins *i, pdl_err *err);
pdl_step pdl_op_attr(pdl_fiber *f, const pdl_ins *i, pdl_err *err);
pdl_step pdl_op_item(pdl_fiber *f, pdl_err *err);
pdl_step pdl_op_slice(pdl_fiber *f, pdl_err *err);
pdl_step pdl_op_concat(pdl_fiber *f, size_t n, pdl_err *err);
pdl_step pdl_op_str_join(pdl_fiber *f, size_t n, pdl_err *err);
pdl_step pdl_op_dict(pdl_fiber *f, size_t n, pdl_err *err);
pdl_step pdl_op_call(pdl_fiber *f, const pdl_callsig *s, pdl_err *err);
pdl_step pdl_op_method(pdl_fiber *f, const pdl_callsig *s, pdl_err *err);
pdl_step pdl_op_filter(pdl_fiber *f, const pdl_callsig *s, bool test, bool negated, pdl_err *err);
pdl_step pdl_op_out_filter(pdl_fiber *f, const pdl_callsig *s, pdl_err *err);
pdl_step pdl_op_rebind(pdl_fiber *f, const pdl_callsig *s);
pdl_step pdl_op_truth(pdl_fiber *f, bool *truth, pdl_err *err); /* of the top, which stays */
pdl_val pdl_vm_name_value(pdl_fiber *f, pdl_name name);
/* Append str(v); pdl_vm_put_escaped: for HTML, what is marked safe as it is. Undefined is nothing,
 * or an error. */
bool pdl_vm_put_str(pdl_fiber *f, pdl_vref v, pdl_buf *b, pdl_err *err);
bool pdl_vm_put_escaped(pdl_fiber *f, pdl_vref v, pdl_buf *b, pdl_err *err);

/* ops_template.c */
pdl_step pdl_op_out(pdl_fiber *f, bool only_text, pdl_err *err);
pdl_step pdl_op_loop(pdl_fiber *f, bool recursive, uint32_t entry, pdl_err *err);
bool pdl_vm_loop_next(pdl_fiber *f, pdl_val *item);
bool pdl_vm_loop_attr(pdl_vref x, pdl_str name,
                      pdl_val *out); /* false when x is no loop, or has no such attribute */
pdl_step pdl_op_unpack(pdl_fiber *f, size_t n, pdl_err *err);
pdl_val pdl_vm_macro_new(pdl_fiber *f, const pdl_macro_info *m);
pdl_step pdl_vm_cell_call(pdl_fiber *f, pdl_val callee, const pdl_val *pos, size_t n_pos,
                          const pdl_str *kw, const pdl_val *kwv, size_t n_kw, bool *handled,
                          pdl_val *out, pdl_err *err);
pdl_step pdl_op_jinja(pdl_fiber *f, const pdl_b_code *b, pdl_err *err);
void pdl_vm_templates_fini(pdl_run *r);

/* ops_block.c */
void pdl_op_enter(pdl_fiber *f, const pdl_blockinfo *info);
void pdl_op_leave(pdl_fiber *f);
void pdl_op_child(pdl_fiber *f);
void pdl_op_sub_begin(pdl_fiber *f, bool silent);
void pdl_op_sub_end(pdl_fiber *f);
pdl_step pdl_op_message(pdl_fiber *f, pdl_message_form form, const pdl_blockinfo *info,
                        pdl_err *err);
pdl_step pdl_op_emit(pdl_fiber *f, bool is_of_code, pdl_err *err);
pdl_step pdl_op_join_text(pdl_fiber *f, size_t n, pdl_err *err);
pdl_step pdl_op_text_add(pdl_fiber *f, pdl_err *err);
pdl_step pdl_op_join_list(pdl_fiber *f, pdl_join_kind kind, pdl_vref sep, pdl_err *err);
pdl_step pdl_op_set_context(pdl_fiber *f, pdl_err *err);
pdl_step pdl_op_to_message(pdl_fiber *f);
pdl_step pdl_op_factor(pdl_fiber *f, pdl_err *err);
pdl_val pdl_vm_background_add(pdl_val a, pdl_val b); /* takes both; absent is empty */

/* contribute.c */
pdl_step pdl_op_contribute(pdl_fiber *f, const pdl_contribute *c, bool with_value, pdl_err *err);
pdl_step pdl_op_aggregator(pdl_fiber *f, bool file, pdl_err *err);
void pdl_vm_files_close(pdl_run *r);
bool pdl_vm_is_aggregator_messages(pdl_vref v, pdl_str name, pdl_val *out);

/* ops_loop.c */
pdl_step pdl_op_for_list(pdl_fiber *f, pdl_err *err);
pdl_step pdl_op_fors(pdl_fiber *f, const pdl_fors_info *info, pdl_err *err);
bool pdl_op_for_next(pdl_fiber *f);
void pdl_op_for_bind(pdl_fiber *f);
void pdl_op_for_end(pdl_fiber *f);
pdl_step pdl_op_for_sep(pdl_fiber *f, pdl_vref sep, pdl_err *err);
pdl_step pdl_op_map(pdl_fiber *f, const pdl_map_info *m, pdl_err *err);
pdl_step pdl_op_reduce(pdl_fiber *f, pdl_err *err);
pdl_step pdl_op_reduce_next(pdl_fiber *f, uint32_t end, pdl_err *err);
void pdl_vm_map_child_ended(pdl_fiber *child);
void pdl_vm_map_child_fails(pdl_fiber *child); /* an error will end it: later iterations end now */
void pdl_vm_mapping_free(pdl_run *r, pdl_mapping *m);

/* budget.c */
void pdl_vm_set_budget(pdl_fiber *f, pdl_budget *b); /* b is borrowed and kept; NULL: none */
/* A strand that asks the outside now and then is ended where it asks, which a replay does at the
 * same place. One that was quiet for many turns of its loops is looked at in between: error budget
 * when the time of f's is over. */
PDL_MUST bool pdl_budget_check_time(pdl_fiber *f, size_t turns, pdl_err *err);
void pdl_run_mark_progress(pdl_fiber *f); /* it asks for something that takes time */
pdl_step pdl_op_budget(pdl_fiber *f, pdl_err *err);

/* match.c */
bool pdl_vm_pattern_match(pdl_fiber *f, const pdl_pattern *p, pdl_vref v);

/* call.c */
pdl_val pdl_closure_new(pdl_fiber *f, const pdl_func_info *info);
pdl_step pdl_op_call_block(pdl_fiber *f, const pdl_b_call *b, pdl_err *err);
/* Push the frame of an expression call; arguments are taken. */
pdl_step pdl_vm_call_closure(pdl_fiber *f, pdl_val func, const pdl_val *pos, size_t n_pos,
                             const pdl_str *kw, const pdl_val *kwv, size_t n_kw, pdl_err *err);
pdl_step pdl_op_return(pdl_fiber *f, pdl_err *err, bool *ended);
void pdl_run_call_in(void *user, pdl_val func, pdl_val args, pdl_val kwargs,
                     void (*done)(void *, pdl_val, const pdl_err *), void *done_user);

/* retry.c */
pdl_step pdl_op_retry_init(pdl_fiber *f, const pdl_ins *i, pdl_err *err);
pdl_step pdl_op_catch(pdl_fiber *f, const pdl_ins *i, pdl_err *err);
void pdl_op_retry_again(pdl_fiber *f, uint32_t attempt);
void pdl_op_catch_end(pdl_fiber *f);
pdl_step pdl_op_expect(pdl_fiber *f, pdl_err *err);
pdl_step pdl_op_expect_done(pdl_fiber *f, pdl_err *err);
bool pdl_op_expect_retry(pdl_fiber *f); /* false: no other attempt is wanted */
void pdl_op_expect_again(pdl_fiber *f, uint32_t attempt);
bool pdl_vm_err_matches(const pdl_err *e, pdl_str class_name);
bool pdl_vm_is_exception_name(pdl_str name);
void pdl_vm_attempts_free(pdl_attempts *a);

/* ops_model.c, ops_code.c, ops_file.c */
pdl_step pdl_op_model(pdl_fiber *f, const pdl_b_model *b, pdl_err *err);
pdl_step pdl_op_code(pdl_fiber *f, const pdl_b_code *b, pdl_err *err);
pdl_step pdl_op_code_end(pdl_fiber *f, const pdl_b_code *b, bool command, pdl_err *err);
pdl_step pdl_op_command(pdl_fiber *f, const pdl_b_code *b, bool vector, pdl_err *err);
pdl_step pdl_op_pdl_code(pdl_fiber *f, const pdl_b_code *b, pdl_err *err);
pdl_step pdl_op_read_file(pdl_fiber *f, const pdl_b_read *b, pdl_err *err);
pdl_step pdl_op_input(pdl_fiber *f, const pdl_b_read *b, pdl_err *err);
pdl_step pdl_op_read_end(pdl_fiber *f, const pdl_b_read *b, pdl_err *err);
pdl_step pdl_op_stdlib(pdl_fiber *f,
                       pdl_err *err); /* pushes the standard library, running it on first use */
void pdl_op_source(pdl_fiber *f, const pdl_block *b, pdl_file_place place);
bool pdl_op_source_found(pdl_fiber *f);
pdl_step pdl_op_source_missing(pdl_fiber *f, const pdl_block *b, pdl_err *err);
pdl_step pdl_op_include(pdl_fiber *f, const pdl_block *b, pdl_err *err);
void pdl_op_module(pdl_fiber *f);
pdl_step pdl_op_import_known(pdl_fiber *f, uint32_t known, pdl_err *err);
pdl_step pdl_op_import(pdl_fiber *f, const pdl_block *b, pdl_err *err);
/* ops_tools.c */
void pdl_op_tool_list(pdl_fiber *f, const pdl_block *b);
pdl_step pdl_op_tool_module(pdl_fiber *f, const pdl_block *b, pdl_err *err);
PDL_MUST bool pdl_vm_declare_tools(pdl_val *params,
                                   pdl_err *err); /* functions in the parameter `tools` */

/* ops_object.c: each pushes the promise of what the code worker answers; all take their values */
void pdl_vm_start_attr(pdl_fiber *f, pdl_val handle, pdl_val name);
void pdl_vm_start_item(pdl_fiber *f, pdl_val handle, pdl_val key);
void pdl_vm_start_iter(pdl_fiber *f, pdl_val handle);
void pdl_vm_start_call(pdl_fiber *f, pdl_val handle, pdl_val name, pdl_val args,
                       pdl_val kwargs); /* name: of a method, or absent */
void pdl_vm_start_slice(pdl_fiber *f);  /* object and three bounds on the stack */
void pdl_vm_start_unary(pdl_fiber *f, const char *operator); /* object on the stack */
void pdl_vm_start_binary(pdl_fiber *f, const char *operator,
                         bool negated); /* operands on the stack */
/* A test of an object, or against one, that is an operator: started in place of its operands. */
bool pdl_object_test(pdl_fiber *f, const pdl_callsig *sh, bool negated);
const char *pdl_vm_arith_text(pdl_arith op);
bool pdl_vm_has_object(pdl_vref v);                   /* is or may contain one */
bool pdl_vm_any_object(const pdl_fiber *f, size_t n); /* among the n topmost */
/* A filter whose value (under its arguments) is or holds objects. done: its result is on the stack
 * in place of them; otherwise it is called as always, and pdl_object_filter_end after that. */
pdl_step pdl_object_filter(pdl_fiber *f, const pdl_callsig *sh, bool *done, pdl_err *err);
void pdl_object_filter_end(pdl_fiber *f, const pdl_callsig *sh);
bool pdl_object_method(
    pdl_fiber *f,
    const pdl_callsig *sh); /* a method that formats objects: started in place of its operands */
size_t pdl_vm_arg_count(const pdl_callsig *s);

/* globals.c */
void pdl_run_globals(pdl_run *r);
pdl_val pdl_vm_usage_value(pdl_run *r);
/* The object of an imported file, which ends in this frame: everything it has defined. */
pdl_val pdl_vm_module_value(const pdl_fiber *f, const pdl_vm_frame *fr);
pdl_val pdl_vm_scope_value(pdl_fiber *f);
void pdl_op_scope(
    pdl_fiber *f); /* pdl_scope, in place of the standard library on top of the stack */
double pdl_run_random(void *run);

/* events */
static inline bool wants_blocks(const pdl_run *r) { return r->opt.sinks.wants_blocks; }
void pdl_vm_send_block(pdl_fiber *f, pdl_event_kind kind, const pdl_blockinfo *info, pdl_vref value,
                       const pdl_err *err);
void pdl_vm_send_field(pdl_fiber *f, const char *key, pdl_vref value, uint32_t number);

/* err_span.c: exact places of errors. The k-th part of the template whose STR_JOIN fails. */
void pdl_vm_mark_part(const pdl_fiber *f, size_t k, pdl_err *err);
/* The line of Python code that failed; b is a code block. */
void pdl_vm_mark_code(const pdl_block *b, pdl_err *err);

#endif
