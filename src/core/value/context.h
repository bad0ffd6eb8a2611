/* context.h -- the background context: messages in dependent (ordered) or independent (unordered)
 * composition (spec execution 4).
 *
 * A context is empty, one message, a dependent sequence, or an
 * independent group. It is a persistent rope. Every block sees the messages before it, so a list
 * per block would copy the conversation at each message; in the rope adding a message is O(1) and
 * shares the existing part, and index access flattens once. Nested dependent-in-dependent and
 * independent-in-independent groups are flattened; empty parts vanish.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_CONTEXT_H
#define PDL_VALUE_CONTEXT_H

#include "base/buf.h"
#include "value/path.h"
#include "value/val.h"

/* What a message holds. Borrowed view, lives as long as the context. */
typedef struct pdl_message {
    pdl_vref role;    /* str */
    pdl_vref content; /* any value */
    /* Dict of further keys (name, tool_call_id, tool_calls, provider extras) or absent. */
    pdl_vref extra;
    pdl_path *defsite; /* id of the block that made it, or NULL */
    pdl_vref source;   /* promise of a model's text that it was made from, or absent */
} pdl_message;

pdl_val pdl_context_empty(void);
/* One message. Takes role, content, extra (absent: none); borrows defsite (NULL: none). */
pdl_val pdl_context_one(pdl_val role, pdl_val content, pdl_val extra, pdl_path *defsite);
/* The message of a model's reply: content is the promise of its text, which can still be found
 * after it was resolved. */
pdl_val pdl_context_reply(pdl_val role, pdl_val content, pdl_val extra, pdl_path *defsite);
/* a then b; a beside b. Both are taken. */
pdl_val pdl_context_dep(pdl_val a, pdl_val b);
pdl_val pdl_context_ind(pdl_val a, pdl_val b);

bool pdl_context_is_empty(pdl_vref c);
/* Elements as `length` counts: an independent group inside a sequence counts as one. */
size_t pdl_context_len(pdl_vref c);
/* All messages in written order, groups flattened. */
size_t pdl_context_count(pdl_vref c);
/* Are those at most PDL_MAX_MESSAGES? Contexts share parts: forty of them can hold 2^40. Asked
 * wherever two contexts of any size become one. */
PDL_MUST bool pdl_context_fits(pdl_vref c, pdl_err *err);

typedef enum {
    PDL_CONTEXT_IS_MESSAGE,
    PDL_CONTEXT_IS_DEPENDENT, /* also the empty one */
    PDL_CONTEXT_IS_INDEPENDENT
} pdl_context_shape;
pdl_context_shape pdl_context_shape_of(pdl_vref c);
/* The parts of a group: a list (owned) of contexts, each a message or a group of the other kind. */
pdl_val pdl_context_parts(pdl_vref c);

/* The i-th message of the flattened list as an ordinary dict: role, content, pdl__defsite, then
 * extras. */
pdl_val pdl_context_at(pdl_vref c, size_t i);
/* All messages as a list of dicts. */
pdl_val pdl_context_to_list(pdl_vref c);
/* The messages in the form that is sent to models: dicts of role, content and the extras, without
 * ids of blocks. The dicts are made once and shared, so repeating this after one more message costs
 * a reference per message. */
pdl_val pdl_context_messages(pdl_vref c);
/* Returns true when v is a non-empty list of such dicts. */
bool pdl_messages_are_plain(pdl_vref v);
/* Calls back per message in order until fn returns false. Iterative. A cancelled run does not end
 * it: who looks for promises has to see all of them. */
void pdl_context_each(pdl_vref c, bool (*fn)(void *user, const pdl_message *m), void *user);
/* How many messages base has if c begins with all of them, else 0. What both share is not read, so
 * this is cheap for a conversation and one that continues it. */
size_t pdl_context_shared(pdl_vref c, pdl_vref base);
/* Last message; false when empty. Cheap. */
bool pdl_context_last(pdl_vref c, pdl_message *out);

/* The hint for a number where messages or a text are expected. */
#define PDL_CONTEXT_NUMBER "a number is no message: write ${ ... | string } to send it as text"

/* A context from what users write: a context, a message dict (role, content, ...), a list of such,
 * a tuple. A string is not accepted here. Error: TypeError "'<class 'int'>' object is not a valid
 * context". */
PDL_MUST bool pdl_context_from(pdl_vref v, pdl_val *out, pdl_err *err);

/* Python-like repr: {..} for one, [m1,m2] dependent, {m1,m2} independent (spec execution 4.6). */
void pdl_context_repr(pdl_vref c, pdl_buf *out);

bool pdl_context_eq(pdl_vref a, pdl_vref b);
/* The same with the caller's equality of values, which knows the depth it has reached. */
typedef bool pdl_eq_fn(void *user, pdl_vref a, pdl_vref b);
bool pdl_context_eq_by(pdl_vref a, pdl_vref b, pdl_eq_fn *eq, void *user);

/* Replaces parts of messages that may hold promises by fn's result (taken), in place: a filled
 * promise and its value are indistinguishable to programs. out: the context without PDL_F_PROMISE,
 * with the labels of the results. */
typedef bool pdl_resolve_fn(void *user, pdl_vref v, pdl_val *out, pdl_err *err);
PDL_MUST bool pdl_context_resolve(pdl_vref c, pdl_resolve_fn *fn, void *user, pdl_val *out,
                                  pdl_err *err);

#endif
