/* message_parts.h -- reads the parts of messages that services other than OpenAI write in another
 * way: media, tools, tool calls, usage. Each dialect passes functions that write these parts.
 * Private to model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_MESSAGE_PARTS_H
#define PDL_MODEL_MESSAGE_PARTS_H

#include "base/buf.h"
#include "value/val.h"

/* --- content ---------------------------------------------------------------------------------- */

typedef enum {
    PDL_PART_TEXT,
    PDL_PART_IMAGE,
    PDL_PART_AUDIO,
    PDL_PART_FILE,
    PDL_PART_OTHER
} pdl_part_kind;

/* A content part (spec providers 4.5). Borrowed from the value. */
typedef struct pdl_part {
    pdl_part_kind kind;
    pdl_vref value; /* the part itself; absent when the content is a single value */
    pdl_str text;
    pdl_str mime, data; /* base64 */
    pdl_str url;        /* set when the data is at another address */
} pdl_part;

/* Returns the number of parts of a content. pdl_parts_at reads the parts in order. A text counts as
 * one part. Any other value counts as one part, too, with its JSON as the text; scratch holds that
 * JSON (NULL suffices for a list of parts). */
size_t pdl_parts_count(pdl_vref content);
pdl_part pdl_parts_at(pdl_vref content, size_t i, pdl_buf *scratch);
/* Returns true for a text without anything but white space, for which the services of Anthropic's
 * models refuse the whole request. */
static inline bool pdl_part_is_blank(const pdl_part *p) { return pdl_str_trim(p->text).n == 0; }
/* Appends to list the result of `form` for each part. A part for which `form` returns absent is
 * left out. Takes list. */
pdl_val pdl_parts_push(pdl_val list, pdl_vref content, pdl_val (*form)(const pdl_part *p));

/* --- turns ------------------------------------------------------------------------------------ */

/* A conversation while it is written for services that require alternating roles: adjacent messages
 * of the same role are merged. */
typedef struct pdl_turns {
    pdl_val done, head; /* lists; head has the system messages */
    const char *role;   /* role of the turn that is being written, or NULL; static */
    const char *key;    /* key under which a turn has its parts, such as "content"; static */
    pdl_val parts;      /* list of the parts of the turn that is being written */
    size_t n_results;   /* how many results of calls are at the beginning of parts */
} pdl_turns;

/* How a service writes turns. A turn of the assistant has its thoughts, its text and its calls;
 * results are in turns of the user, before other parts, because services refuse results that do not
 * directly follow their calls. */
typedef struct pdl_turns_form {
    /* key: name of the member with the parts; assistant: name of the role of the assistant */
    const char *key, *assistant;
    pdl_val (*parts)(pdl_vref message,
                     pdl_val list); /* appends the content of a message to list (taken) */
    /* writes an entry of thinking_blocks, or returns absent; when it is NULL, thoughts are never
     * sent */
    pdl_val (*thought)(pdl_vref block);
    pdl_val (*call)(pdl_vref message, size_t i); /* writes the i-th call of a message */
    /* writes the result in the i-th message, which is the answer to a call */
    pdl_val (*result)(pdl_vref messages, size_t i);
} pdl_turns_form;

/* Writes the messages as turns. A value that is not a list has no turns. The caller owns done and
 * head. */
pdl_turns pdl_turns_write(const pdl_turns_form *form, pdl_vref messages);
/* Puts the turns into body as `messages`, and the system messages, if there are any, as `system`.
 * Takes what t holds. Returns false when there is no message. */
bool pdl_turns_put(const pdl_turns *t, pdl_val *body);

/* Returns an id of a call for services that accept only letters, digits and the characters of
 * `more`: other characters become _. */
pdl_val pdl_turns_id(pdl_vref id, const char *more);

/* --- tools ------------------------------------------------------------------------------------ */

/* Returns the {name, description, parameters} of a tool of type function, or absent. Borrowed. */
pdl_vref pdl_tool_function(pdl_vref tool);
/* Returns the parameters of a function, or the schema of an object without properties. */
pdl_val pdl_tool_schema(pdl_vref function);

/* Returns the calls of a message, a list or absent. Borrowed. */
pdl_vref pdl_message_calls(pdl_vref message);
pdl_str pdl_call_name(pdl_vref call);
/* Returns the arguments as data. A text that is not JSON stays a text. */
pdl_val pdl_call_arguments(pdl_vref call);
/* Returns the arguments as an object. Arguments that are not an object become {}. */
pdl_val pdl_call_input(pdl_vref call);
/* Returns a new id for a call, for services that give no ids. */
pdl_val pdl_call_fresh_id(void);
/* Returns {id, type, function: {name, arguments: text}} from borrowed values; a missing id is
 * replaced by a new one. */
pdl_val pdl_call_new(pdl_vref id, pdl_vref name, pdl_vref arguments);
/* Returns the name of the call with this id in the messages before n; empty when it is not
 * found. */
pdl_str pdl_call_name_of(pdl_vref messages, size_t n, pdl_str id);

/* Reads an index, which some servers write as a text or as a decimal number. Returns false for any
 * other value. */
bool pdl_index_read(pdl_vref v, int64_t *out);

/* --- usage ------------------------------------------------------------------------------------ */

/* Returns a count: the member of an object when it is an integer that is not negative and below
 * INT32_MAX, otherwise dflt. */
int64_t pdl_count_of(pdl_vref dict, const char *key, int64_t dflt);
/* Returns {prompt_tokens, completion_tokens, total_tokens} and the counts cached and reasoning,
 * which are left out when they are negative. */
pdl_val pdl_usage_new(int64_t prompt, int64_t completion, int64_t cached, int64_t reasoning);

#endif
