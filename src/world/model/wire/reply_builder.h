/* reply_builder.h -- a reply that is built from the events of a stream, and the final steps for
 * every reply.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_REPLY_BUILDER_H
#define PDL_MODEL_REPLY_BUILDER_H

#include "base/buf.h"
#include "base/err.h"
#include "base/idmap.h"
#include "base/vec.h"
#include "model/wire/halves.h"
#include "value/json_read.h"
#include "value/val.h"

/* A tool call whose pieces are arriving. */
typedef struct pdl_reply_builder_tool {
    int64_t index;
    pdl_val id, type, name; /* strings or absent */
    pdl_buf args;
    pdl_buf whole;      /* arguments that came with its name: they count where no others come */
    unsigned depth;     /* of brackets in args */
    bool quoted, escaped; /* args end inside of a string; after a backslash there */
    bool object;        /* args begin with { */
    bool ended;         /* args are one whole object */
    bool made;          /* the service gave no id: this one is ours */
    bool begun;         /* pdl_reply_builder_extra has given its id and name */
    bool grows;         /* it is in the list of those that the last events changed */
    size_t sent;        /* bytes of args that it has given */
} pdl_reply_builder_tool;

typedef enum { PDL_THINK_UNKNOWN, PDL_THINK_INSIDE, PDL_THINK_NONE } pdl_think;

/* All-zero is the start, except for what pdl_reply_builder_init sets. */
typedef struct pdl_reply_builder {
    pdl_val head;  /* dict: id, created, model and other top-level fields of the events */
    pdl_val extra; /* dict: further fields of the deltas, last value wins */
    pdl_val role, finish, usage, logprobs; /* or absent */
    pdl_val finish_message; /* what the service says about the end, or absent */
    pdl_buf content, reasoning, refusal;
    bool has_content, has_reasoning, has_refusal;
    PDL_VEC(pdl_reply_builder_tool) tools;
    pdl_idmap tool_places; /* by index, see reply_tools.c -> place in tools of the latest, + 1 */
    pdl_val tool_ids;      /* dict: id -> place in tools, or absent */
    pdl_buf schema;        /* input of the schema tool that came with its name, as `whole` */
    pdl_val function;      /* name in a function_call, the older form of a call, or absent */
    pdl_buf function_args;
    size_t mark;           /* for dialects: where the current thought begins in reasoning */
    pdl_think think;       /* <think> at the start of the content */
    pdl_buf held;          /* text that may be the beginning of a tag */
    pdl_buf piece;         /* text to show that arrived since the caller last cleared it */
    pdl_val error;         /* an error of the server in place of an event, or absent */
    size_t arrived;        /* bytes and other parts of the answer; an event may bring none */
    bool done;             /* the stream announced its end */
    pdl_half half;         /* of a character whose other half may follow */
    bool begun;            /* a choice, or a part of the answer, has arrived */
    bool closed;           /* [DONE] of a service that does not have it: the rest is ignored */
    bool quiet;            /* the text may turn out to be a call: it is not shown */
    /* For pdl_reply_builder_extra: what it has given, and what came since. */
    bool wants_extra;
    size_t reasoning_sent, refusal_sent;
    PDL_VEC(size_t) growing; /* places in tools */
    pdl_val new_logprobs;    /* absent: none */
    pdl_json_keys keys;      /* keys of the events */
} pdl_reply_builder;

void pdl_reply_builder_init(pdl_reply_builder *d);
void pdl_reply_builder_fini(pdl_reply_builder *d);

/* What every dialect does with the next event of a stream: the function `add` gets it as an object.
 * Nothing is added when the event is blank or when the stream has announced its end. An event that
 * reports a failure, or that `is_ours` does not know as one of the dialect, is kept in d->error.
 * Errors: protocol (no JSON, no object). */
struct pdl_ask;
typedef bool pdl_is_ours_fn(pdl_vref event);
typedef void pdl_add_event_fn(const struct pdl_ask *a, pdl_vref event, pdl_reply_builder *d);
PDL_MUST bool pdl_reply_builder_event(pdl_reply_builder *d, const struct pdl_ask *a, pdl_str text,
                                      pdl_is_ours_fn *is_ours, pdl_add_event_fn *add,
                                      pdl_err *err);

/* More text of the answer / of the reasoning / of the refusal. */
void pdl_reply_builder_text(pdl_reply_builder *d, pdl_str text);
void pdl_reply_builder_reasoning(pdl_reply_builder *d, pdl_str text);
void pdl_reply_builder_refusal(pdl_reply_builder *d, pdl_str text);
/* A content in parts (Mistral): texts, thoughts, images; a list of them or one. */
void pdl_reply_builder_parts(pdl_reply_builder *d, pdl_vref parts);
void pdl_reply_builder_part(pdl_reply_builder *d, pdl_vref part);
/* The calls of a delta (spec providers 6): list of {index?, id?, type?, function: {name?,
 * arguments?}}. */
void pdl_reply_builder_tools(pdl_reply_builder *d, pdl_vref list);
/* Appends the lists of v (content, refusal; tokens, token_logprobs) to the logprobs. */
void pdl_reply_builder_logprobs(pdl_reply_builder *d, pdl_vref v);
/* What came besides text since the last time, in the form of a sink's extra: owned, absent when
 * there is nothing. Only where wants_extra is set. A call appears once its id and name are known;
 * reasoning between tags of a text once the end tag shows that it is not part of the text. */
pdl_val pdl_reply_builder_extra(pdl_reply_builder *d);
/* More of the arguments of the call of this index. Without such a call they are those of the schema
 * tool, whose arguments are the text of the answer; where no schema was sent (forced is false) they
 * are dropped. */
void pdl_reply_builder_arguments(pdl_reply_builder *d, int64_t index, pdl_str piece, bool forced);
/* A call with this index has begun: its id, its name and the input that came with them, which may
 * be empty. schema: it is the schema tool, whose arguments are the text of the answer. */
void pdl_reply_builder_call(pdl_reply_builder *d, int64_t index, pdl_vref id, pdl_vref name,
                            pdl_vref input, bool schema);
/* The stop reason of Anthropic's models: tool_use without a call, which the schema tool causes, is
 * an ordinary end. */
void pdl_reply_builder_stop(pdl_reply_builder *d, pdl_vref reason);
/* The reason why the model ended; anything but a text with content is none. */
void pdl_reply_builder_finish(pdl_reply_builder *d, pdl_vref reason);
/* Replaces the value in *slot; takes v. */
void pdl_reply_builder_set(pdl_val *slot, pdl_val v);

/* Returns true when the service said that the model ended (spec providers 5): by a finish reason,
 * or by the end of a stream in which an answer had begun. */
bool pdl_reply_builder_is_complete(const pdl_reply_builder *d);
/* The same of a whole reply, as an error. */
PDL_MUST bool pdl_reply_builder_check(const pdl_reply_builder *d, pdl_err *err);

/* The response in OpenAI's shape; empties the builder. Text held back goes to piece. */
pdl_val pdl_reply_builder_take(pdl_reply_builder *d);

/* --- reply_tools.c ---------------------------------------------------------------------------- */

/* Everything has arrived: calls without arguments get those that came with their names. */
void pdl_reply_tools_end(pdl_reply_builder *d);
/* The calls as a list; releases them. */
pdl_val pdl_reply_tools_take(pdl_reply_builder *d);
/* Puts what the calls have grown by into extra (taken), as tool_calls. */
pdl_val pdl_reply_tools_grown(pdl_val extra, pdl_reply_builder *d);
void pdl_reply_tools_fini(pdl_reply_builder *d);

/* --- every reply ------------------------------------------------------------------------------ */

/* Turns a response in OpenAI's shape (taken, also on failure) into the reply of the effect: finish
 * reasons mapped and thinking split off (spec providers 10, 4.6), {content, message, raw, usage}.
 * Error: protocol when there is no choice. */
enum {
    PDL_REPLY_TOOL = 1,   /* the call of the schema tool is the content (spec providers 15.3) */
    PDL_REPLY_VALUE = 2,  /* the content is {value: ...}: it is unwrapped */
    PDL_REPLY_PARSED = 4, /* a text in such a value keeps its quotes */
    PDL_REPLY_NULLS = 8,  /* absent optional properties of schema arrive as null */
    PDL_REPLY_SHORT_IDS = 32, /* ids of calls that the service left out are of the short form */
    PDL_REPLY_PLAIN = 16, /* <think> in the content stays: its pieces were shown with it */
};
/* Looks at a whole reply in OpenAI's shape before: the first choice must hold an answer (spec
 * providers 5). A choice with `text` or `delta` in place of `message` gets its message. Takes *raw,
 * which stays the caller's on failure too. Errors: protocol. */
PDL_MUST bool pdl_reply_check(pdl_val *raw, pdl_err *err);
/* The reason of the first choice when it is no ordinary end, else empty. Borrowed. */
pdl_str pdl_reply_odd_reason(pdl_vref raw);
PDL_MUST bool pdl_reply_finish(pdl_val raw, unsigned how, pdl_vref schema, pdl_val *out,
                               pdl_err *err);

/* stop, length, tool_calls, content_filter, function_call for the words of services; static. NULL
 * for a word that is no ordinary end (spec providers 10). */
const char *pdl_finish_reason(pdl_str s);

#define PDL_SCHEMA_TOOL "json_tool_call"

#endif
