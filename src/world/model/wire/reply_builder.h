/* reply_builder.h -- builds a reply from the events of a stream, and has the final steps for every
 * reply. All dialects end here, so the program sees one form.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_REPLY_BUILDER_H
#define PDL_MODEL_REPLY_BUILDER_H

#include "base/buf.h"
#include "base/err.h"
#include "base/idmap.h"
#include "base/vec.h"
#include "model/wire/surrogate_halves.h"
#include "value/json_read.h"
#include "value/val.h"

/* A tool call of which pieces are still arriving. */
typedef struct pdl_reply_builder_tool {
    int64_t index;
    pdl_val id, type, name; /* strings or absent */
    /* dicts: further members of the call and of its function, the last value of each; or absent */
    pdl_val more, function_more;
    pdl_buf args;
    /* arguments that arrived with the name; used only when no further arguments arrive */
    pdl_buf whole;
    pdl_val partial; /* arguments that arrive value by value (partial_arguments.h), or absent */
    unsigned depth;  /* number of brackets that are open in args */
    bool quoted, escaped; /* the last byte of args is inside a string; it is a backslash */
    bool object;          /* args begin with a brace */
    bool ended;           /* args are one whole object */
    bool made;            /* the service gave no id, so the builder made one */
    bool begun; /* pdl_reply_builder_extra has passed on the id and the name of the call */
    bool grows; /* the call is in the list of calls that the last events changed */
    bool older; /* the call came as function_call, the form of calls before tool_calls */
    /* a function_call that repeats a call in tool_calls; set at the end of the calls */
    bool repeated;
    size_t sent; /* bytes of args that pdl_reply_builder_extra has passed on */
} pdl_reply_builder_tool;

struct pdl_ask;
typedef struct pdl_reply_builder pdl_reply_builder;
typedef bool pdl_is_ours_fn(pdl_vref event);
typedef void pdl_add_event_fn(const struct pdl_ask *a, pdl_vref event, pdl_reply_builder *d);

typedef enum { PDL_THINK_UNKNOWN, PDL_THINK_INSIDE, PDL_THINK_NONE } pdl_think;

/* When all members are zero, no reply was read. pdl_reply_builder_init sets the other values of an
 * empty builder. */
struct pdl_reply_builder {
    pdl_val head;  /* dict: id, created, model and other top-level fields of the events */
    pdl_val extra; /* dict: further members of the deltas; the last value of each is kept */
    pdl_val role, finish, usage, logprobs; /* each may be absent */
    pdl_val finish_message;                /* the service's explanation of the end, or absent */
    pdl_buf content, reasoning, refusal;
    bool has_content, has_reasoning, has_refusal;
    PDL_VEC(pdl_reply_builder_tool) tools;
    /* the service's index of a call (see reply_tools.c) -> 1 + the position in `tools` of the
     * latest call with that index */
    pdl_idmap tool_places;
    pdl_val tool_ids; /* dict: id -> position in tools; or absent */
    /* the input that arrived with the name of the schema tool; used like `whole` */
    pdl_buf schema;
    size_t n_older; /* how many of `tools` came as function_call */
    /* 1 + the positions in `tools` of the last call that came as tool_calls, and of the last one
     * that came as function_call; 0 while there is none */
    size_t last_call[2];
    /* The member reasoning_details (reply_details.c). details: the items that are complete, a list;
     * detail: the last item, without its text; detail_text: the text of the last item so far.
     * details and detail are absent while there are no items. */
    pdl_val details, detail;
    pdl_buf detail_text;
    size_t mark;     /* for dialects: offset in reasoning at which the current thought begins */
    pdl_think think; /* state of reading a <think> tag at the start of the content */
    pdl_buf held;    /* text that may be the beginning of a tag */
    pdl_buf piece;   /* text to be shown that arrived since the caller last cleared this buffer */
    pdl_val error;   /* error that the server sent in place of an event; or absent */
    /* the first event that looks like a failure or cannot be read, if this event came before any
     * part of the answer; or else the first event with words in place of a part. It may explain why
     * no answer came. Absent when there is no such event. */
    pdl_val suspect;
    bool suspect_is_note; /* `suspect` has words in place of a part */
    /* choices of the stream that all have the same index, not 0. The list is kept until a choice
     * with index 0 arrives, or until it is clear that no such choice will arrive. Absent when there
     * are no choices. */
    pdl_val aside;
    pdl_add_event_fn *add_aside; /* adds one of the choices in `aside` */
    /* how many bytes and other parts of the answer have arrived; some events add none */
    size_t arrived;
    bool done;      /* the stream announced its end */
    pdl_half half;  /* first half of a character whose other half may be in a later event */
    bool begun;     /* a choice or a part of the answer was received */
    int64_t choice; /* the index of the choice that is the answer */
    /* [DONE] came from a service whose streams have no such end, so the rest is ignored */
    bool closed;
    bool quiet;      /* the text may turn out to be a call, so it is not shown */
    bool has_unread; /* a piece has content in a form that this code does not know */
    bool by_message; /* the service sends the pieces as `message` and not as `delta` */
    /* --- what pdl_reply_builder_extra has passed on, and what was received since --- */
    bool wants_extra;
    size_t reasoning_sent, refusal_sent;
    PDL_VEC(size_t) growing; /* positions in `tools` of the calls that the last events changed */
    pdl_val new_logprobs;    /* absent when there are none */
    pdl_json_keys keys;      /* keys of the events */
};

void pdl_reply_builder_init(pdl_reply_builder *d);
void pdl_reply_builder_fini(pdl_reply_builder *d);

/* Handles the next event of a stream for every dialect: passes the event as an object to `add`.
 * Nothing is added when the event is blank or when the stream has announced its end. d->error gets
 * an event that reports a failure, a text or a list that is not empty, or an event that `is_ours`
 * refuses because the event does not belong to the dialect. Error: protocol (not JSON, or another
 * value that is not an object). */
PDL_MUST bool pdl_reply_builder_event(pdl_reply_builder *d, const struct pdl_ask *a, pdl_str text,
                                      pdl_is_ours_fn *is_ours, pdl_add_event_fn *add, pdl_err *err);

/* Passes the choices that belong to the answer to `add`. These are the choices with index 0. Some
 * servers count from 1. So when one choice was requested and the stream has no choice 0, the
 * choices with the first other index belong to the answer. */
void pdl_reply_builder_choices(pdl_reply_builder *d, const struct pdl_ask *a, pdl_vref list,
                               pdl_add_event_fn *add);
/* Adds, at the end of a stream without a choice 0, the choices that were kept. */
void pdl_reply_builder_close(pdl_reply_builder *d, const struct pdl_ask *a);

/* These functions add text of the answer, of the reasoning or of the refusal. */
void pdl_reply_builder_text(pdl_reply_builder *d, pdl_str text);
void pdl_reply_builder_reasoning(pdl_reply_builder *d, pdl_str text);
void pdl_reply_builder_refusal(pdl_reply_builder *d, pdl_str text);
/* Adds a thought in the form of Anthropic's models, as their services get it back. Takes block. */
void pdl_reply_builder_thought(pdl_reply_builder *d, pdl_val block);
/* Adds a content in any form: a text, one part or a list of parts (Mistral: texts, thoughts and
 * images). Content in an unknown form sets has_unread. */
void pdl_reply_builder_parts(pdl_reply_builder *d, pdl_vref parts);
/* Returns true when content is a part with a type or with nothing but a text, or a list of such
 * parts and texts. Other content is an answer in another form. */
bool pdl_reply_content_is_parts(pdl_vref content);
/* Returns true for null, and for a list or an object without members. */
bool pdl_reply_is_void(pdl_vref v);
/* Adds the calls of a delta (spec providers 6): one {index?, id?, type?, function: {name?,
 * arguments?}}, or a list of them. */
void pdl_reply_builder_tools(pdl_reply_builder *d, pdl_vref list);
/* Adds a piece of function_call, the form of calls before tool_calls: {name?, arguments?}. */
void pdl_reply_builder_function(pdl_reply_builder *d, pdl_vref f);
/* Appends the lists of v (content, refusal; tokens, token_logprobs) to the logprobs. */
void pdl_reply_builder_logprobs(pdl_reply_builder *d, pdl_vref v);
/* Returns the parts other than text that were received since the last call, in the form of a sink's
 * extra: owned; absent when there are no such parts. Called only when wants_extra is set. A call
 * appears once its id and name are known; reasoning between tags appears once the end tag shows
 * that it is not part of the text. */
pdl_val pdl_reply_builder_extra(pdl_reply_builder *d);
/* Adds arguments to the call of this index: a text or an object. Without such a call the arguments
 * belong to the schema tool, whose arguments are the text of the answer. When no schema was sent
 * (forced is false), the arguments are dropped. */
void pdl_reply_builder_arguments(pdl_reply_builder *d, int64_t index, pdl_vref piece, bool forced);
/* Begins a call with this index: its id, its name and the input that came with them, which may be
 * empty. schema: the schema tool is called; no call begins, and its arguments are the text of the
 * answer. */
void pdl_reply_builder_call(pdl_reply_builder *d, int64_t index, pdl_vref id, pdl_vref name,
                            pdl_vref input, bool schema);
/* Sets the stop reason of Anthropic's models. When only the schema tool was called, the reason
 * tool_use counts as an ordinary end. */
void pdl_reply_builder_stop(pdl_reply_builder *d, pdl_vref reason);
/* Sets the reason why the model ended. A value that is not a text, or is empty, is ignored. */
void pdl_reply_builder_finish(pdl_reply_builder *d, pdl_vref reason);
/* Replaces the value in *slot; takes v. */
void pdl_reply_builder_set(pdl_val *slot, pdl_val v);

/* Returns true when the service said that the model ended (spec providers 5): by a finish reason,
 * or by the end of a stream in which an answer had begun. */
bool pdl_reply_builder_is_complete(const pdl_reply_builder *d);
/* Returns true when there is nothing but content in forms that this code does not know. */
bool pdl_reply_builder_is_unread(const pdl_reply_builder *d);
/* Checks that a whole reply is complete and can be read; the error says what is missing. */
PDL_MUST bool pdl_reply_builder_check(const pdl_reply_builder *d, pdl_err *err);

/* Returns the response in OpenAI's form and empties the builder. Text that was held back goes to
 * piece. */
pdl_val pdl_reply_builder_take(pdl_reply_builder *d);

/* Ends the reading of a whole answer: *raw gets the response when the reply is complete. Releases
 * the builder and the answer. Error: protocol. */
PDL_MUST bool pdl_reply_builder_end(pdl_reply_builder *d, pdl_val answer, pdl_val *raw,
                                    pdl_err *err);

/* --- reply_tools.c ---------------------------------------------------------------------------- */

/* Ends the calls. A call without arguments gets the arguments that arrived with its name. The input
 * of the schema tool becomes text of the answer when no other arguments of it came. */
void pdl_reply_tools_end(pdl_reply_builder *d);
/* Returns the calls as a list and releases them. When exactly one call came as function_call, this
 * call is not in the list but in *function. Otherwise *function is absent. */
pdl_val pdl_reply_tools_take(pdl_reply_builder *d, pdl_val *function);
/* Puts the new parts of the calls into extra (taken), under the name tool_calls. */
pdl_val pdl_reply_tools_grown(pdl_val extra, pdl_reply_builder *d);
void pdl_reply_tools_fini(pdl_reply_builder *d);

/* --- reply_details.c -------------------------------------------------------------------------- */

/* Adds a list of reasoning_details, some of which continue the last one. */
void pdl_reply_details_add(pdl_reply_builder *d, pdl_vref list);
bool pdl_reply_details_any(const pdl_reply_builder *d);
/* Returns the reasoning_details as a list, and forgets them; absent when there are none. */
pdl_val pdl_reply_details_take(pdl_reply_builder *d);
void pdl_reply_details_fini(pdl_reply_builder *d);

/* --- every reply ------------------------------------------------------------------------------ */

/* Flags of pdl_reply_finish. pdl_reply_finish turns a response in OpenAI's form (taken, also on
 * failure) into the reply of the effect: {content, message, raw, usage}. In the reply, finish
 * reasons have their usual names and thoughts are separated from the text (spec providers 10, 4.6).
 * Error: protocol when there is no choice; server when the first choice has no answer although its
 * reason requires one. */
enum {
    PDL_REPLY_TOOL = 1,   /* the call of the schema tool is the content (spec providers 15.3) */
    PDL_REPLY_VALUE = 2,  /* the content is {value: ...} and is unwrapped */
    PDL_REPLY_PARSED = 4, /* a text in such a value keeps its quotes */
    PDL_REPLY_NULLS = 8,  /* absent optional properties of schema arrive as null */
    /* ids that the service left out are made in the short form, for services that need it */
    PDL_REPLY_SHORT_IDS = 32,
    /* <think> stays in the content; pieces may already have been shown with <think> */
    PDL_REPLY_PLAIN = 16,
};
/* Checks a whole reply in OpenAI's form: the first choice must have a message that holds an answer,
 * or a message and a finish reason (spec providers 5). A choice with `text`, `content` or `delta`
 * instead of `message` gets its message. *raw remains owned by the caller, also on failure. Error:
 * protocol. */
PDL_MUST bool pdl_reply_check(pdl_val *raw, pdl_err *err);
/* Returns true when the first choice has no answer: no text, call or thought. */
bool pdl_reply_is_empty(pdl_vref raw);
/* Returns the reason of the first choice that pdl_finish_reason does not know, or an empty text. */
pdl_str pdl_reply_odd_reason(pdl_vref raw);
/* Returns the name of the tool whose call was cut by the limit of tokens, or an empty text. */
pdl_str pdl_reply_cut_call(pdl_vref raw);
/* Appends why an answer has no text, such as a refusal. Returns false when it has a text, a call or
 * another content, and when nothing explains why it has none. */
bool pdl_reply_put_lack(pdl_vref raw, pdl_buf *out);
/* Returns true when the reason of the first choice explains why there is no text: a limit, a filter
 * or a reason that pdl_finish_reason does not know. */
bool pdl_reply_is_cut(pdl_vref raw);
PDL_MUST bool pdl_reply_finish(pdl_val raw, unsigned how, pdl_vref schema, pdl_val *out,
                               pdl_err *err);

/* Translates the words of services to stop, length, tool_calls, content_filter, function_call;
 * static. An empty word is translated to stop. Returns NULL for an unknown word (spec providers
 * 10). */
const char *pdl_finish_reason(pdl_str s);

#define PDL_SCHEMA_TOOL "json_tool_call"

#endif
