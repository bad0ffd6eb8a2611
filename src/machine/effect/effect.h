/* effect.h -- the only way out of the machine.
 *
 * Everything that a run requests from the outside is one pdl_effect, which is given to a pdl_world;
 * the world answers with one pdl_reply, preceded by pieces when it streams. Policy, recording,
 * replay, cache, dry run and tests are front worlds: they forward effects to the next world. If the
 * machine opened files or called models itself, each of these features would need hooks at every
 * such place. Then it could never be certain that a replay is complete. What must stay true: the
 * result of a program depends only on its text, its inputs and the replies.
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

/* The kinds; effects.def has their requests and replies. */
#define ASK(id, field, forms, doc)
#define SAY(id, field, forms, doc)
#define VALUE(id, field)
#define OP(id, op, forms)
typedef enum {
#define EFFECT(id, origin, traits, reply, doc) PDL_EFFECT_##id,
#include "effect/effects.def"
#undef EFFECT
    PDL_EFFECT_COUNT
} pdl_effect_kind;
#undef ASK
#undef SAY
#undef VALUE
#undef OP

typedef struct pdl_effect pdl_effect;

/* How the code of an effect calls a PDL function (declared here and implemented by vm). start
 * begins a call of `func` with arguments, which it takes; `done` is called when the call has ended.
 * The worker uses pdl_call_in for callbacks from Python. */
typedef struct pdl_call_done {
    void (*fn)(void *user, pdl_val result /* taken; absent on failure */, const pdl_err *err);
    void *user;
} pdl_call_done;
typedef struct pdl_call_in {
    void *user;
    void (*start)(void *user, const pdl_effect *code, pdl_val func, pdl_val args /* list */,
                  pdl_val kwargs /* dict */, pdl_call_done done);
} pdl_call_in;

/* The final answer. Either value is present, or the kind of err is set. */
typedef struct pdl_reply {
    pdl_val value; /* the reply owns the value */
    pdl_err err;
    double seconds; /* duration in seconds; 0 when it is unknown */
} pdl_reply;
void pdl_reply_fini(pdl_reply *r);
/* Returns how many seconds a call of a model waited: for its turn, for a rate, or before another
 * attempt. These seconds are a part of the duration of the reply; the rest of the duration was
 * spent on the network. */
double pdl_reply_waited(const pdl_reply *r);

/* Receives the answer. The callbacks run on the thread of the run, possibly before start() has
 * returned. */
typedef struct pdl_effect_sink {
    void *user;
    /* Called with a piece of a streamed answer: text of models (valid UTF-8), stdout of code.
     * Borrowed. Never called after reply. */
    void (*piece)(void *user, const pdl_effect *e, pdl_str text);
    /* Called with the final answer. Borrows r, so the callee copies what it keeps. The world
     * releases the effect after the call. */
    void (*reply)(void *user, const pdl_effect *e, const pdl_reply *r);
    /* Called when a policy has decided about e, before the reply. The decision is a dict, borrowed.
     * The function may be NULL. */
    void (*decided)(void *user, const pdl_effect *e, pdl_vref decision);
    /* Called with parts of a model's streamed answer besides its text: a dict, borrowed, with some
     * of reasoning_content, refusal (texts), logprobs (a dict of lists) and tool_calls (a list of
     * {index, id?, type?, function: {name?, arguments?}}). The reply contains all these parts
     * again; a world may pass on fewer of them. When the function is NULL, no parts are passed.
     */
    void (*extra)(void *user, const pdl_effect *e, pdl_vref extra);
} pdl_effect_sink;

/* Counts the requests of an effect, so that the service recognises a request that is sent again
 * after a crash. `name` gives the Idempotency-Key of a request that is sent (32 hex digits and a
 * NUL). `answered` gets the status of each whole answer. `part` is the number of the request when
 * the effect is sent in several requests. */
typedef struct pdl_sender {
    void *user;
    void (*name)(void *user, uint32_t effect, uint32_t part, char out[33]);
    void (*answered)(void *user, uint32_t effect, int status);
} pdl_sender;

struct pdl_effect {
    pdl_effect_kind kind;
    uint32_t id;     /* unique in the run, from 1; names the effect in cancel and late replies */
    pdl_path *place; /* owned: block id with iterations; journal key */
    /* Owned: place of the effect that this one repeats for another particle of an inference; NULL
     * when it repeats no effect. */
    pdl_path *first_place;
    uint32_t seq; /* number of the effect at this place, from 0 */
    pdl_loc loc;  /* place of the block */
    /* The place that people see: the call of the library function that makes the request, or else
     * loc. */
    pdl_loc user_loc;
    pdl_val request; /* owned dict, see effects.def */
    pdl_effect_sink sink;
    const pdl_call_in *call_in; /* for code; borrowed from the run */
    /* Labels of the reply besides those of its request: the worlds add to them. */
    pdl_label added_labels;
    /* labels of the values that decided about the request; only in strict control */
    pdl_label control;
    /* Labels of the values that chose the function which makes the request. They are set with and
     * without strict control. */
    pdl_label chosen;
    bool is_trusted;          /* a policy says that the reply does not get the origin of its kind */
    bool is_import;           /* for the kind source: true for `import`, false for `include` */
    pdl_budget *budget;       /* owned; the budget to which the effect is charged; may be NULL */
    const pdl_sender *sender; /* borrowed from the world that forwards the effect; may be NULL */
    /* Owned list of the profiles of the blocks around the effect, outermost first; absent when no
     * block has one. */
    pdl_val sandbox;
    uint64_t modules; /* one bit for each module around the effect that has a policy */
    /* For code and objects: the number of the process that answers the effect, and of its session.
     * The policies set these numbers, because they know which data the process has received. With
     * 0, the process depends on the profile alone. */
    uint32_t process, session;
    /* number of the particle that has its own PDL_SESSION; 0 when all particles share it */
    uint64_t own;
    /* code in a worker made the request; the effect may do only what the code may do */
    bool by_code;
    /* Confined code made the request: a key of the user is not sent to an address that the request
     * names. */
    bool keeps_keys;
    bool repeatable; /* the block or a policy says that the effect may be repeated without harm */
    bool continues;  /* for write: an earlier process began the file, so its content stays */
};

/* The number and place of an effect in its run. */
typedef struct pdl_effect_at {
    uint32_t id;
    pdl_path *place; /* borrowed */
    uint32_t seq;
    pdl_loc loc;
} pdl_effect_at;

pdl_effect *pdl_effect_new(pdl_effect_kind kind, pdl_effect_at from, pdl_val request /* taken */,
                           pdl_effect_sink sink);
void pdl_effect_free(pdl_effect *e);
/* Makes a copy of e for the next world, which frees the copy. The answer to the copy goes to sink.
 * The caller keeps e and answers it. No other code copies the struct, because only this function
 * knows which members are owned. */
pdl_effect *pdl_effect_forward(const pdl_effect *e, pdl_effect_sink sink);

/* The traits of a kind; effects.def explains them. */
typedef enum {
    PDL_EFFECT_ACTS = 1,
    PDL_EFFECT_WAITS = 2,
    PDL_EFFECT_KEPT = 4,
    PDL_EFFECT_LATE = 8,
    PDL_EFFECT_CHANCE = 16
} pdl_effect_trait;
const char *pdl_effect_kind_name(pdl_effect_kind k);
bool pdl_effect_kind_find(pdl_str name, pdl_effect_kind *out);
/* Returns the label of the reply of e: the origin of its kind, unless e is trusted, the labels of
 * its request, and the members added_labels, control and chosen. */
pdl_label pdl_effect_label(const pdl_effect *e);
pdl_label pdl_effect_origin(pdl_effect_kind k); /* the origin that the kind alone determines */
bool pdl_effect_has(pdl_effect_kind k, pdl_effect_trait trait);
/* Returns true when e changes something outside: effects of its kind do, and e is not a request
 * that the web defines as safe (GET, HEAD). */
bool pdl_effect_acts(const pdl_effect *e);
/* Returns true for code with `session: new`, whose process forgets the variables of earlier
 * code. */
bool pdl_effect_begins_session(const pdl_effect *e);
/* Returns true for code that names PDL_SESSION, the object that the blocks of a worker share. */
bool pdl_effect_uses_session(const pdl_effect *e);
/* Returns the field of a reply that is the value of the block, such as the text of a model; NULL
 * when the whole reply is the value. */
const char *pdl_effect_value_key(pdl_effect_kind k);
/* Returns the value in a reply of this kind; borrowed. */
pdl_vref pdl_effect_value(pdl_effect_kind k, pdl_vref reply);

/* Returns the request with its paths moved to another folder: the prefix `folder`, which may be
 * empty, is replaced by `prefix`, which ends with a slash or is empty. Paths outside of the folder
 * are unchanged. Owned. */
pdl_val pdl_effect_moved(const pdl_effect *e, pdl_str folder, pdl_str prefix);
/* Returns the path as seen from the folder; a path that is not below the folder does not change.
 * Borrows path. Texts for models name files in this way, because a recording replays from any
 * folder. */
pdl_str pdl_effect_path_from(pdl_str path, pdl_str folder);
/* Returns true when the request has the form of its kind. Used by assertions, because the machine
 * makes requests. */
bool pdl_effect_is_request(pdl_effect_kind k, pdl_vref request);
/* Checks that a reply from a host program has the form that e demands. Error: protocol, without a
 * place. */
PDL_MUST bool pdl_effect_check(const pdl_effect *e, pdl_vref reply, pdl_err *err);
/* Completes the reply to a request to the web that a person or a host program gives: a text, or an
 * object with some of the fields. Takes given. A value of another form is returned unchanged. */
pdl_val pdl_effect_http_reply(pdl_val given);
/* These functions read and check the stored reply of e, and its stored pieces, which are a list of
 * texts. Only these functions may read answers from journals and caches, because other people may
 * have made the files. Errors: syntax, protocol. */
PDL_MUST bool pdl_effect_read(const pdl_effect *e, pdl_str json, pdl_val *out, pdl_err *err);
PDL_MUST bool pdl_effect_read_pieces(pdl_str json, pdl_val *out, pdl_err *err);

/* Appends the canonical JSON of a request of this kind (spec execution 10.5) without secret keys,
 * without parameters that do not change the question, and without the secrets of the register,
 * which may be NULL. This text is hashed and stored. Values that are not JSON have a tagged form
 * that pdl_effect_decode reads back. */
PDL_MUST bool pdl_effect_canonical(pdl_effect_kind kind, pdl_vref request,
                                   const pdl_secrets *secrets, pdl_buf *out, pdl_err *err);

/* Returns the facts of an error as an owned dict, empty when there are none: {line} of code,
 * {budget, budget_depth}, {provider, model, retry_after_seconds, attempts} of a model call. */
pdl_val pdl_effect_error_facts(const pdl_err *err);
/* Sets the facts of err from a dict of facts in JSON. Facts of another form are ignored. */
void pdl_effect_error_facts_read(pdl_str json, pdl_err *err);
/* Does what pdl_effect_canonical does, but includes the parameters that configure the client and
 * influence what the model reads (roles, templates, another provider). This text is the key of the
 * cache. */
PDL_MUST bool pdl_effect_content(const pdl_effect *e, const pdl_secrets *secrets, pdl_buf *out,
                                 pdl_err *err);
/* Appends the reply of e for pdl_effect_read: without the secrets of the register, and with
 * added_labels, because the reader cannot compute them. */
PDL_MUST bool pdl_effect_encode_reply(const pdl_effect *e, pdl_vref reply,
                                      const pdl_secrets *secrets, pdl_buf *out, pdl_err *err);
/* These functions write any value as JSON text, and read it back without loss: a tuple is {"$pdl":
 * "tuple", ...}. But a function becomes its text, and labels are lost. */
PDL_MUST bool pdl_effect_encode(pdl_vref v, pdl_buf *out, pdl_err *err);
/* Writes the value without the secrets of the register. */
PDL_MUST bool pdl_effect_encode_redacted(pdl_vref v, const pdl_secrets *secrets, pdl_buf *out,
                                         pdl_err *err);
PDL_MUST bool pdl_effect_decode(pdl_str json, pdl_val *out, pdl_err *err);

/* Calls fn for each URL that the program names, until fn returns false. e is a request to the web,
 * or a call of a model or of embeddings, whose fallbacks count, too. labels has the labels of the
 * URL and of the values that contain it. A part that is nested too deep to be examined is passed as
 * a whole. Returns false when fn has returned false. */
typedef bool pdl_address_fn(void *user, pdl_vref address, pdl_label labels);
bool pdl_effect_each_address(const pdl_effect *e, pdl_address_fn *fn, void *user);
/* Does the same with the paths of files that the engine reads for the call, because a parameter
 * names them. */
bool pdl_effect_each_file(const pdl_effect *e, pdl_address_fn *fn, void *user);

/* The reply to a tool effect with the op `list` may name tools that the program does not get, as
 * {name, left_out: why}, without a definition. An error about a missing tool can then say why it is
 * missing. */
#define PDL_TOOL_LEFT_OUT "left_out"

/* Returns true for a parameter of a model call that configures the client and is never sent;
 * control.def lists them. */
bool pdl_is_control_key(pdl_str name);

/* A world answers effects. Vtable contracts:
 *
 *   `start`   takes e: the world frees it with pdl_effect_free after the reply was delivered or
 *           the effect was cancelled. It may call e->sink.reply before it returns. It never blocks
 *           longer than a local file operation.
 *   `cancel`  ends the effect with this id if it is still open: its sink is not called any more.
 *           Unknown ids are ignored.
 *   `poll`  delivers what is ready; waits at most timeout_ms (-1: until something happens, 0: does
 *           not wait). It returns false when no effect is open in this world, because a wait would
 *           then never end. A front world forwards to the next one.
 *   `close`   releases the world and what it owns. A front world does not close the next one.
 *
 * A world may leave out the other members. Earlier worlds of the chain use them through the
 * functions below.
 *
 * `may_repeat` returns true when this world executes e so that it changes nothing outside. Then e
 * may be executed a second time. `charge` counts the costs of e, which an earlier world has
 * answered from a file. `has_output` returns true when this world holds unwritten output of the
 * run. `put_output` writes that output, and returns how many bytes of output were written
 * in all. */
typedef struct pdl_world pdl_world;
typedef struct pdl_world_ops {
    void (*start)(pdl_world *w, pdl_effect *e);
    void (*cancel)(pdl_world *w, uint32_t id);
    bool (*poll)(pdl_world *w, int timeout_ms);
    void (*close)(pdl_world *w);
    bool (*may_repeat)(pdl_world *w, const pdl_effect *e);
    void (*charge)(pdl_world *w, const pdl_effect *e, const pdl_reply *reply);
    bool (*has_output)(pdl_world *w);
    uint64_t (*put_output)(pdl_world *w);
} pdl_world_ops;
struct pdl_world {
    const pdl_world_ops *ops;
    /* the world to which a front world forwards; borrowed; NULL for other worlds */
    pdl_world *next;
};

/* These functions call the member of the same name in the worlds of the chain from w on; w may be
 * NULL. The functions that return bool return true when one of the worlds does. At most one world
 * of a chain holds output; without one, pdl_world_put_output returns 0. */
bool pdl_world_may_repeat(pdl_world *w, const pdl_effect *e);
void pdl_world_charge(pdl_world *w, const pdl_effect *e, const pdl_reply *reply);
bool pdl_world_has_output(pdl_world *w);
uint64_t pdl_world_put_output(pdl_world *w);

/* Called by a world: answers e with value, which it takes, and frees e. */
void pdl_effect_answer(pdl_effect *e, pdl_val value, double seconds);
/* Answers e with an error. Takes the content of err. seconds is as in pdl_reply. */
void pdl_effect_refuse(pdl_effect *e, pdl_err *err);
void pdl_effect_refuse_after(pdl_effect *e, pdl_err *err, double seconds);

/* Returns a world that answers everything with an error. A run that may send nothing, such as a
 * replay, has this world. Static lifetime. */
pdl_world *pdl_null_world(void);

#endif
