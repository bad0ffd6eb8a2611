/* effect.h -- the only way out of the machine.
 *
 * Everything that a run requests from the outside is one pdl_effect handed to a pdl_world; the
 * world answers with one pdl_reply, preceded by pieces when it streams. Policy, record, replay,
 * cache, dry run and tests are worlds in front of a world. If the machine opened files or called
 * models itself, each of these would need its own hooks in every such place, and a replay could
 * never be known to be complete. What must stay true: the result of a program depends only on its
 * text, its inputs and the replies.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_EFFECT_EFFECT_H
#define PDL_EFFECT_EFFECT_H

#include "base/buf.h"
#include "base/err.h"
#include "effect/budget.h"
#include "effect/secret.h"
#include "value/path.h"
#include "value/val.h"

/* The kinds, their requests and their replies: effects.def. */
#define ASK(id, field, forms, doc)
#define SAY(id, field, forms, doc)
#define OP(id, op, forms)
typedef enum {
#define EFFECT(id, origin, traits, reply, doc) PDL_EFFECT_##id,
#include "effect/effects.def"
#undef EFFECT
    PDL_EFFECT_COUNT
} pdl_effect_kind;
#undef ASK
#undef SAY
#undef OP

typedef struct pdl_effect pdl_effect;

/* How the code of an effect calls a PDL function (declared here, implemented by vm): starts a call
 * of `func` with arguments, which are taken; `done` is called when it has ended. The worker uses it
 * for callbacks from Python. */
typedef struct pdl_call_in {
    void *user;
    void (*start)(void *user, const pdl_effect *code, pdl_val func, pdl_val args /* list */,
                  pdl_val kwargs /* dict */,
                  void (*done)(void *done_user, pdl_val result /* taken; absent on failure */,
                               const pdl_err *err),
                  void *done_user);
} pdl_call_in;

/* The final answer. Exactly one of value (present) and err (kind set). */
typedef struct pdl_reply {
    pdl_val value; /* owned by the reply */
    pdl_err err;
    double seconds; /* how long it took; 0 unknown */
} pdl_reply;
void pdl_reply_fini(pdl_reply *r);
/* How many of these seconds a call of a model waited for its turn, a rate or another attempt; what
 * is left was spent on the network. */
double pdl_reply_waited(const pdl_reply *r);

/* Receives the answer: both callbacks run on the run's thread, possibly inside of start(). */
typedef struct pdl_effect_sink {
    void *user;
    /* A piece of a streamed answer: text for models (valid UTF-8), stdout of code. Borrowed. Never
     * after reply. */
    void (*piece)(void *user, const pdl_effect *e, pdl_str text);
    /* The final answer. Borrows r: copy what is kept. The world releases the effect after this
     * returns. */
    void (*reply)(void *user, const pdl_effect *e, const pdl_reply *r);
    /* A policy has decided about e, before it is forwarded or refused: a dict, borrowed. May be
     * NULL. */
    void (*decided)(void *user, const pdl_effect *e, pdl_vref decision);
    /* More of a streamed answer of a model besides its text: a dict, borrowed, with some of
     * reasoning_content, refusal (texts), logprobs (a dict of lists) and tool_calls (a list of
     * {index, id?, type?, function: {name?, arguments?}}). The reply has it again, whole; a world
     * may pass on less. NULL: not wanted. */
    void (*extra)(void *user, const pdl_effect *e, pdl_vref extra);
} pdl_effect_sink;

/* Who keeps account of the requests of an effect, so that one that is sent again after a crash is
 * known to the service as the same: name gives the text of its Idempotency-Key (32 hex digits and a
 * NUL) when a request goes out, answered hears of the status of each whole answer. part: of an
 * effect that is sent in several. */
typedef struct pdl_sender {
    void *user;
    void (*name)(void *user, uint32_t effect, uint32_t part, char out[33]);
    void (*answered)(void *user, uint32_t effect, int status);
} pdl_sender;

struct pdl_effect {
    pdl_effect_kind kind;
    uint32_t id;     /* unique in the run, from 1; names the effect in cancel and late replies */
    pdl_path *place; /* owned: block id with iterations; journal key */
    uint32_t seq;    /* number of the effect at this place, from 0 */
    pdl_loc loc;     /* block in the program */
    pdl_val request; /* owned dict, see the table above */
    pdl_effect_sink sink;
    const pdl_call_in *call_in; /* for code; borrowed from the run */
    /* origins that went into the reply besides those of its request: the worlds add to them */
    pdl_label added_labels;
    pdl_label control;        /* with control: strict, of what chose that it happens */
    /* of what chose the function in which it happens, whatever `control` is */
    pdl_label chosen;
    bool is_trusted;          /* a policy says that its reply has not the origin of its kind */
    bool is_import;           /* of kind source: for `import`, else for `include` */
    pdl_budget *budget;       /* owned; what the effect is charged to; NULL: nothing */
    const pdl_sender *sender; /* borrowed from the world that sends it on; NULL: none */
    /* owned list of the profiles of the blocks around it, outermost first; absent: none */
    pdl_val sandbox;
    uint64_t modules; /* bits of the modules around it that have a policy */
    /* of code and objects: the number of the process that answers it and of its session, given by
     * the policies, which know what went in; 0: the profile alone decides */
    uint32_t process, session;
    bool by_code;    /* code of a worker asked for it: it may do what that code may, and no more */
    bool repeatable; /* the block says that doing it twice is as doing it once */
    bool continues;  /* write: the file was begun by an earlier process, what is in it stays */
};

pdl_effect *pdl_effect_new(pdl_effect_kind kind, uint32_t id, pdl_path *place /* borrowed */,
                           uint32_t seq, pdl_loc loc, pdl_val request /* taken */,
                           pdl_effect_sink sink);
void pdl_effect_free(pdl_effect *e);
/* The same effect for the next world, which frees it; its answer goes to sink. e stays with the
 * caller, who is the one that answers it. Nobody else copies the struct: what it owns is known
 * here alone. */
pdl_effect *pdl_effect_forward(const pdl_effect *e, pdl_effect_sink sink);

/* What effects.def says of a kind. */
typedef enum {
    PDL_EFFECT_ACTS = 1,
    PDL_EFFECT_WAITS = 2,
    PDL_EFFECT_KEPT = 4,
    PDL_EFFECT_LATE = 8
} pdl_effect_trait;
const char *pdl_effect_kind_name(pdl_effect_kind k);
bool pdl_effect_kind_find(pdl_str name, pdl_effect_kind *out);
/* The label of the reply of e: the origin of its kind, the labels of its request, and added_labels.
 */
pdl_label pdl_effect_label(const pdl_effect *e);
pdl_label pdl_effect_origin(pdl_effect_kind k); /* of the kind alone */
bool pdl_effect_has(pdl_effect_kind k, pdl_effect_trait trait);
/* Code whose process forgets what was before, as `session: new` asks. */
bool pdl_effect_begins_session(const pdl_effect *e);

/* The request with its paths moved to another folder: the prefix `folder` (empty: none) is replaced
 * by `prefix`, which ends with a slash or is empty. Paths outside of the folder stay. Owned. */
pdl_val pdl_effect_moved(const pdl_effect *e, pdl_str folder, pdl_str prefix);
/* Has the request the form of its kind? For assertions: requests are made by the machine. */
bool pdl_effect_is_request(pdl_effect_kind k, pdl_vref request);
/* Checks that a reply from a host program has the form that e demands. Error: protocol, without a
 * place. */
PDL_MUST bool pdl_effect_check(const pdl_effect *e, pdl_vref reply, pdl_err *err);
/* The stored reply of e, checked; the stored pieces, a list of texts. Answers from journals and
 * caches, which may be made by somebody else, must be read with these. Errors: syntax, protocol. */
PDL_MUST bool pdl_effect_read(const pdl_effect *e, pdl_str json, pdl_val *out, pdl_err *err);
PDL_MUST bool pdl_effect_read_pieces(pdl_str json, pdl_val *out, pdl_err *err);

/* Canonical JSON of a request of this kind without keys and control parameters (spec execution
 * 10.5), and without the secrets of the register (NULL: none): it is hashed and stored. Values that
 * are not JSON have a tagged form that pdl_effect_decode reads back. */
PDL_MUST bool pdl_effect_canonical(pdl_effect_kind kind, pdl_vref request,
                                   const pdl_secrets *secrets, pdl_buf *out, pdl_err *err);

/* The facts of an error as an owned dict, empty when there are none: {line} of code, {budget,
 * budget_depth}, {provider, model, retry_after_seconds, attempts} of a model call. */
pdl_val pdl_effect_error_facts(const pdl_err *err);
/* Sets the facts of err from the JSON text of such a dict. Ignores facts of another form. */
void pdl_effect_error_facts_read(pdl_str json, pdl_err *err);
/* The same for a model request independent of its place: includes the parameters that configure the
 * client but influence what the model reads (roles, templates, another provider). The key of the
 * cache. */
PDL_MUST bool pdl_effect_content(const pdl_effect *e, const pdl_secrets *secrets, pdl_buf *out,
                                 pdl_err *err);
/* The reply of e with added_labels, which its reader could not know, and without the secrets of the
 * register; for pdl_effect_read. */
PDL_MUST bool pdl_effect_encode_reply(const pdl_effect *e, pdl_vref reply,
                                      const pdl_secrets *secrets, pdl_buf *out, pdl_err *err);
/* Any value as JSON text and back, losslessly ({"$pdl": "tuple", ...}); functions become their
 * text, handles keep their number. */
PDL_MUST bool pdl_effect_encode(pdl_vref v, pdl_buf *out, pdl_err *err);
/* The same without the secrets of the register. */
PDL_MUST bool pdl_effect_encode_hidden(pdl_vref v, const pdl_secrets *secrets, pdl_buf *out,
                                       pdl_err *err);
PDL_MUST bool pdl_effect_decode(pdl_str json, pdl_val *out, pdl_err *err);

/* Calls fn for each address that the program names for a call of a model or of embeddings, for its
 * fallbacks too, until it returns false. labels: of the address and of what it is in. Parts that
 * are nested too deep to be examined are passed whole, as they are. Returns false when fn did. */
typedef bool pdl_address_fn(void *user, pdl_vref address, pdl_label labels);
bool pdl_effect_each_address(const pdl_effect *e, pdl_address_fn *fn, void *user);

/* The reply to a tool effect with the op `list` may name tools that the program does not get, as
 * {name, left_out: why}, without a definition: an error that misses one can then say why. */
#define PDL_TOOL_LEFT_OUT "left_out"

/* Returns true for parameters of a model call that configure the client and are never sent:
 * control.def. */
bool pdl_is_control_key(pdl_str name);

/* A world answers effects. Vtable contracts:
 *
 *  start   Takes e: the world frees it with pdl_effect_free after the reply was delivered or the
 *          effect was cancelled. May call e->sink.reply before it returns. Never blocks longer than
 *          a local file operation.
 *  cancel  Ends the effect with this id if it is still open: its sink is not called any more.
 *          Ignores unknown ids.
 *  poll    Delivers what is ready; waits at most timeout_ms (-1: until something happens, 0: does
 *          not wait). Returns false when nothing is open in this world, because waiting would never
 *          end. A front world forwards to the next one.
 *  close   Releases the world and what it owns. A front world does not close the next one.
 */
typedef struct pdl_world pdl_world;
typedef struct pdl_world_ops {
    void (*start)(pdl_world *w, pdl_effect *e);
    void (*cancel)(pdl_world *w, uint32_t id);
    bool (*poll)(pdl_world *w, int timeout_ms);
    void (*close)(pdl_world *w);
} pdl_world_ops;
struct pdl_world {
    const pdl_world_ops *ops;
};

/* Deliver the reply of e and release both. Takes value. For worlds. */
void pdl_effect_answer(pdl_effect *e, pdl_val value, double seconds);
/* Deliver a failure; takes the content of err. seconds: as in pdl_reply. */
void pdl_effect_refuse(pdl_effect *e, pdl_err *err);
void pdl_effect_refuse_after(pdl_effect *e, pdl_err *err, double seconds);

/* Answers everything with an error: unit tests, fuzzing. Static lifetime. */
pdl_world *pdl_null_world(void);

/* Answers from a list: tests. Takes script, a list of {kind, reply | error, pieces?} consumed in
 * order; `order`: 0 at once inside start, 1 later in order of poll, 2 later in reverse order. */
pdl_world *pdl_script_world_new(pdl_val script, int order);

#endif
