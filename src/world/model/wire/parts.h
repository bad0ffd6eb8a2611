/* parts.h -- pieces of messages that native interfaces write differently: media, tools, tool calls,
 * usage. Private to model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_PARTS_H
#define PDL_MODEL_PARTS_H

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
    pdl_vref value; /* the part itself; for a content that is no list of parts, absent */
    pdl_str text;
    pdl_str mime, data; /* base64 */
    pdl_str url;        /* when the data is elsewhere */
} pdl_part;

/* The parts of a content in order. A text is one part; so is any other value, as JSON (scratch
 * holds it; NULL suffices for a list of parts). */
size_t pdl_parts_count(pdl_vref content);
pdl_part pdl_parts_at(pdl_vref content, size_t i, pdl_buf *scratch);
/* Appends the result of `form` for each part to list; parts for which it is absent are left out.
 * Takes list. */
pdl_val pdl_parts_push(pdl_val list, pdl_vref content, pdl_val (*form)(const pdl_part *p));

/* --- turns ------------------------------------------------------------------------------------ */

/* A conversation that is being written for services that require alternating roles: neighbours of
 * the same role are merged. */
typedef struct pdl_turns {
    pdl_val done, head; /* lists; head: the system messages */
    const char *role;   /* of the turn being written, or NULL; static */
    const char *key;    /* key of its parts: "content"; static */
    pdl_val parts;      /* list */
} pdl_turns;

/* How a service writes them. A turn of the assistant is its thoughts, its text, its calls; results
 * are of the user. */
typedef struct pdl_turns_form {
    const char *key, *assistant; /* of parts; name of the role */
    pdl_val (*parts)(pdl_vref message,
                     pdl_val list);     /* appends the content of a message to list (taken) */
    pdl_val (*thought)(pdl_vref block); /* one of thinking_blocks, or absent; NULL: never sent */
    pdl_val (*call)(pdl_vref message, size_t i);    /* its i-th call */
    pdl_val (*result)(pdl_vref messages, size_t i); /* the i-th message answers a call */
} pdl_turns_form;

/* The messages (a list, or anything else: none) in turns; done and head are the caller's. */
pdl_turns pdl_turns_write(const pdl_turns_form *form, pdl_vref messages);
/* The same as the members `messages` and, when there is one, `system` of a request. Takes what t
 * holds. False: there is no message. */
bool pdl_turns_put(const pdl_turns *t, pdl_val *body);

/* An id of a call for services that accept only letters, digits and `more`: other characters become
 * _. */
pdl_val pdl_turns_id(pdl_vref id, const char *more);

/* --- tools ------------------------------------------------------------------------------------ */

/* The {name, description, parameters} of a tool of type function, or absent. Borrowed. */
pdl_vref pdl_tool_function(pdl_vref tool);
/* Its parameters, or the schema of an object without any. */
pdl_val pdl_tool_schema(pdl_vref function);

/* The calls of a message, a list or absent. Borrowed. */
pdl_vref pdl_message_calls(pdl_vref message);
pdl_str pdl_call_name(pdl_vref call);
/* Arguments as data; text that is no JSON stays text. */
pdl_val pdl_call_arguments(pdl_vref call);
/* The same where an object is required: {} for anything else. */
pdl_val pdl_call_input(pdl_vref call);
/* An id for a call of a service that gives none. */
pdl_val pdl_call_fresh_id(void);
/* {id, type, function: {name, arguments: text}} from borrowed values; no id: a fresh one. */
pdl_val pdl_call_new(pdl_vref id, pdl_vref name, pdl_vref arguments);
/* Name of the call with this id in the messages before n; empty: not found. */
pdl_str pdl_call_name_of(pdl_vref messages, size_t n, pdl_str id);

/* --- usage ------------------------------------------------------------------------------------ */

/* An integer of an object, or dflt. */
int64_t pdl_count_of(pdl_vref dict, const char *key, int64_t dflt);
/* {prompt_tokens, completion_tokens, total_tokens}; cached and reasoning are left out when
 * negative. */
pdl_val pdl_usage_new(int64_t prompt, int64_t completion, int64_t cached, int64_t reasoning);

#endif
