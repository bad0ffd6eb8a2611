/* inflight.h -- an effect in flight: a request to the outside, and the promises that its reply
 * fills. Private to vm.
 *
 * An effect is started at once and its reply is a promise, so the program continues until it needs
 * the text. Independent model calls overlap without the author's help. A model call that no fiber
 * waits for yet still has an owner, the fiber that made the request. The end of the block waits for
 * the call, and its failure is raised there, as if the block had waited from the start. Parser and
 * spec of the block are stages of the call: they run when the reply arrives, even while no fiber
 * waits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VM_INFLIGHT_H
#define PDL_VM_INFLIGHT_H

#include "effect/effect.h"
#include "vm/fiber.h"

typedef struct pdl_inflight pdl_inflight;

/* A step that is applied to the reply of a model when it arrives. */
typedef struct pdl_stage {
    const pdl_block *block; /* the block that has the parser or the spec */
    pdl_val in, out;        /* promises */
    bool parse, check;
    pdl_loc loc;
    struct pdl_stage *next;
} pdl_stage;

struct pdl_inflight {
    uint32_t id;
    uint32_t number; /* number of the call in its fiber */
    uint32_t fiber;  /* id of the fiber that owns the effect; 0 when it has no owner */
    pdl_effect_kind kind;
    bool imports;       /* for the kind `source`: the file is read for `import` */
    bool hidden;        /* a piece has arrived in a call whose answer is not shown */
    pdl_label label;    /* label of the whole reply, see pdl_effect_label */
    pdl_effect *effect; /* set while the effect is queued; NULL after it was launched */
    pdl_run *run;
    pdl_val value; /* promise of the value of the whole reply; absent when it is not used */
    /* for a model: promises of parts of the reply; otherwise absent */
    pdl_val text, role, extra, raw;
    pdl_str model; /* owned text */
    pdl_loc loc;
    /* For an object: the expression, in code, that uses the object; NULL when there is none. */
    const pdl_expr *expr;
    /* place where the program called the library function; all-zero outside of the library */
    pdl_loc library_entry_loc;
    /* The block that made the request. For a request of code it is the block of the program around
     * that code. */
    const pdl_block *block;
    pdl_code *code; /* kept */
    pdl_path *path;
    pdl_stage *stages;
    PDL_VEC(uint32_t) waiters; /* fiber ids */
    bool done, failed;
    /* a handler waits for the call, so a failure of the call is a failure of the handler's block */
    bool handled;
    bool nested;  /* the call was made inside lang: pdl */
    bool visible; /* pieces go to the output, at the position where the program prints */
    bool waits;   /* the pieces wait for the end of the call, since a stage may refuse the answer */
    bool refused; /* the pieces waited, and a stage has refused the answer */
    /* the answer is the run's result, so extras are reported as they arrive */
    bool gives_result;
    pdl_buf pieces;          /* text that was received and not printed yet */
    PDL_VEC(pdl_val) extras; /* received pieces that are not text */
    struct pdl_outitem *out; /* the call's item in the output queue; NULL when it has none */
};

pdl_inflight *pdl_inflight_new(pdl_fiber *f, pdl_effect_kind kind, pdl_loc loc);
void pdl_inflight_free(pdl_inflight *c);
/* Returns true when the effect is registered and its state agrees with its members. */
bool pdl_inflight_ok(const pdl_inflight *c);
/* Sends the request, or queues it when too many model calls are open. Takes request. */
void pdl_inflight_start(pdl_fiber *f, pdl_inflight *c, pdl_val request);
/* Returns true when a block around the fiber is `idempotent`. */
bool pdl_inflight_is_repeatable(const pdl_fiber *f);
/* Returns one bit for each module whose code the fiber runs and which has a policy. */
uint64_t pdl_inflight_modules(const pdl_fiber *f);
/* Does what pdl_inflight_start does, with `place` as the key of the effect in recordings. */
void pdl_inflight_start_at(pdl_fiber *f, pdl_inflight *c, pdl_val request, pdl_path *place,
                           uint32_t seq);
/* Starts an effect and pushes the promise of its reply. Takes request. */
void pdl_vm_start_effect(pdl_fiber *f, pdl_effect_kind kind, pdl_val request, pdl_loc loc);
/* Handles the reply: fills the promises, runs the stages, wakes the fibers that wait. */
void pdl_inflight_answered(pdl_inflight *c, const pdl_effect *e, const pdl_reply *reply);
/* Makes the fiber forget its calls numbered `from` and later, and ignore their failures, because an
 * attempt was abandoned. */
void pdl_inflight_forget(pdl_fiber *f, uint32_t from);
/* Makes the fiber of a map the owner of the calls of an iteration that ended. */
void pdl_inflight_adopt(pdl_fiber *to, pdl_fiber *from);

/* Asks the policy whether arguments (a dict, taken) may reach a sink that is not an effect; pushes
 * the promise of the answer. labels is a list of labels that would be dropped, and is taken; absent
 * when there are none.
 */
void pdl_vm_start_permit(pdl_fiber *f, const char *sink, pdl_val arguments, pdl_val labels);

#endif
