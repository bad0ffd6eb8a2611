/* context.h -- the background context: messages in dependent (ordered) or independent (unordered)
 * composition (spec execution 4).
 *
 * A context is empty, one message, a dependent sequence, or an independent group. It is a
 * persistent rope. Every block sees the messages before it, so a list for each block would copy the
 * conversation at each message. In the rope adding a message is O(1) and shares the existing part,
 * and index access flattens once. Nested dependent-in-dependent and independent-in-independent
 * groups are flattened; empty parts vanish.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_CONTEXT_H
#define PDL_VALUE_CONTEXT_H

#include "base/buf.h"
#include "value/path.h"
#include "value/val.h"

/* A borrowed view of a message, which lives as long as the context. */
typedef struct pdl_message {
    pdl_vref role;    /* str */
    pdl_vref content; /* any value */
    /* Dict of further keys (name, tool_call_id, tool_calls, provider extras) or absent. */
    pdl_vref extra;
    pdl_path *defsite; /* id of the block that made the message, or NULL */
    pdl_vref source;   /* promise of a model's text that the message was made from, or absent */
} pdl_message;

pdl_val pdl_context_empty(void);
/* Makes one message. Takes role, content and extra, and borrows defsite. extra may be absent, and
 * defsite may be NULL. */
pdl_val pdl_context_one(pdl_val role, pdl_val content, pdl_val extra, pdl_path *defsite);
/* Makes the message of a model's reply. content is the promise of its text. The message keeps this
 * promise in `source` after it was resolved. */
pdl_val pdl_context_reply(pdl_val role, pdl_val content, pdl_val extra, pdl_path *defsite);
/* pdl_context_dep puts a before b; pdl_context_ind makes a and b independent. Both functions take a
 * and b. */
pdl_val pdl_context_dep(pdl_val a, pdl_val b);
pdl_val pdl_context_ind(pdl_val a, pdl_val b);

bool pdl_context_is_empty(pdl_vref c);
/* Returns the number of elements as `length` counts them: an independent group inside a sequence is
 * one element. */
size_t pdl_context_len(pdl_vref c);
/* Returns the number of all messages, including the messages in groups. */
size_t pdl_context_count(pdl_vref c);
/* Fails when c has more than PDL_MAX_MESSAGES. Contexts share parts, so forty of them can hold 2^40
 * messages: this is called wherever two contexts of any size become one. */
PDL_MUST bool pdl_context_fits(pdl_vref c, pdl_err *err);

typedef enum {
    PDL_CONTEXT_IS_MESSAGE,
    PDL_CONTEXT_IS_DEPENDENT, /* the empty context is dependent */
    PDL_CONTEXT_IS_INDEPENDENT
} pdl_context_shape;
pdl_context_shape pdl_context_shape_of(pdl_vref c);
/* Returns the parts of a group: a list (owned) of contexts, each a message or a group of the other
 * kind. */
pdl_val pdl_context_parts(pdl_vref c);

/* Returns the i-th message of the flattened list as an ordinary dict: role, content, pdl__defsite,
 * then extras. */
pdl_val pdl_context_at(pdl_vref c, size_t i);
/* Returns all messages as a list of dicts. */
pdl_val pdl_context_to_list(pdl_vref c);
/* Returns the messages in the form that is sent to models: dicts of role, content and the extras,
 * without ids of blocks. The dicts are made once and are shared, so that a call after each new
 * message only adds a reference to each dict. */
pdl_val pdl_context_messages(pdl_vref c);
/* Returns true when v is a non-empty list of dicts of the form that pdl_context_messages
 * returns. */
bool pdl_messages_are_plain(pdl_vref v);
/* Calls fn in order for the messages that may hold a promise, until it returns false. The walk does
 * not recurse, and a cancelled run does not end it, because a search for promises has to see all of
 * them. */
void pdl_context_each_unsettled(pdl_vref c, bool (*fn)(void *user, const pdl_message *m),
                                void *user);
/* Returns the number of messages of base if c begins with all of them, and 0 otherwise. The part
 * that both share is not read, so this is cheap when one conversation continues the other. */
size_t pdl_context_shared(pdl_vref c, pdl_vref base);
/* Finds the last message. Returns false when c is empty. */
bool pdl_context_last(pdl_vref c, pdl_message *out);

/* The hint for a number that is given in place of messages or a text. */
#define PDL_CONTEXT_NUMBER "a number is no message: write ${ ... | string } to send it as text"

/* Makes a context from what users write: a context, a message dict (role, content, ...), or a list
 * or tuple of contexts and messages. A string is not accepted here. Error: TypeError "'<class
 * 'int'>' object is not a valid context". */
PDL_MUST bool pdl_context_from(pdl_vref v, pdl_val *out, pdl_err *err);

/* Appends a Python-like repr: {..} for one message, [m1,m2] dependent, {m1,m2} independent (spec
 * execution 4.6). */
void pdl_context_repr(pdl_vref c, pdl_buf *out);

bool pdl_context_eq(pdl_vref a, pdl_vref b);
/* pdl_context_eq_by compares values with the caller's function, which knows the depth that it has
 * reached. */
typedef bool pdl_eq_fn(void *user, pdl_vref a, pdl_vref b);
bool pdl_context_eq_by(pdl_vref a, pdl_vref b, pdl_eq_fn *eq, void *user);

/* Replaces parts of messages that may hold promises by the result of fn, which the context then
 * owns. The parts are replaced in place: programs cannot distinguish a filled promise from its
 * value. *out is the context without PDL_F_PROMISE, with the labels of the results. */
typedef bool pdl_resolve_fn(void *user, pdl_vref v, pdl_val *out, pdl_err *err);
PDL_MUST bool pdl_context_resolve(pdl_vref c, pdl_resolve_fn *fn, void *user, pdl_val *out,
                                  pdl_err *err);

#endif
