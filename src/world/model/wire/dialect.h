/* dialect.h -- the interface of a wire format: it writes a request, reads a reply, and reads the
 * events of a stream. There are about ten wire formats, and each service speaks one of them.
 * Private to model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_DIALECT_H
#define PDL_MODEL_DIALECT_H

#include "model/providers.h"
#include "model/wire/headers.h"
#include "model/wire/reply_builder.h"

/* One call as a dialect sees it. Values are owned by the call. */
typedef struct pdl_ask {
    const pdl_provider *provider;
    const pdl_env *env;
    pdl_str name;    /* name of the model on the wire */
    pdl_str base;    /* the address; borrowed, see pdl_route */
    bool base_given; /* see pdl_route */
    bool plain;      /* for the platform openai: parameters are sent unchanged */
    bool stream;
    bool no_schema; /* the service refused the schema before, so the prompt asks for it */
    /* the program reads the answer as JSON, so a text in the answer keeps its quotes */
    bool parsed;
    pdl_vref messages; /* list: the messages of the program */
    pdl_vref params;   /* dict without nulls and without control keys (params.h) */
    pdl_vref given;    /* the program's dict: control keys are read from it */
    pdl_vref schema;   /* dict, or absent */
    pdl_vref request;  /* dict: the request of the effect */
    pdl_vref texts;    /* list of texts to be embedded; absent when the call is a chat */
    /* --- set by write, used by read --- */
    bool forced_tool; /* the schema was sent as a forced tool */
    bool wrapped;     /* the service was asked for {value: ...}; see structured.h */
    bool nullable;    /* absent optional properties arrive as null; see strict.h */
    /* how `schema` is requested, a static text for the trace; NULL when it is not requested */
    const char *structured;
} pdl_ask;

/* A request that is written except for its credentials. */
typedef struct pdl_sign {
    const pdl_ask *ask;
    pdl_str key; /* the key of the route; may be empty */
    pdl_str url, body;
    pdl_secrets *secrets; /* tokens are registered here; may be NULL */
    pdl_headers *headers; /* contains the headers of the program, which take precedence */
    /* when it is set, the key is first exchanged at this address for a bearer token */
    pdl_buf *token_url;
    pdl_buf *token_request; /* the form that is posted to token_url */
    /* Identifies the token when token_request is different for each call. When it is empty,
     * token_request identifies the token. */
    pdl_buf *token_id;
} pdl_sign;

/* A job of the service: the address to poll, the address to cancel it, and its text so far. */
typedef struct pdl_job {
    pdl_buf get, cancel, text;
} pdl_job;

/* How a service embeds texts (embedding_wire.c). The contracts are those of pdl_dialect; read
 * returns {embeddings: [[number]], usage, model} with a vector for each of ask->texts in their
 * order; usage is null when the service reports none. */
typedef struct pdl_embedder {
    /* Number of texts in a request. 0 means a hundred, or fewer for services with a lower limit. */
    size_t batch;
    /* models whose names begin with this text take one text at a time; NULL when every model takes
     * several texts */
    const char *single;
    bool (*write)(pdl_ask *a, pdl_buf *path, pdl_val *body, pdl_err *err);
    bool (*read)(const pdl_ask *a, pdl_val json, pdl_val *out, pdl_err *err);
} pdl_embedder;

typedef enum {
    PDL_FRAMING_EVENTS, /* server-sent events */
    PDL_FRAMING_LINES,  /* lines of JSON */
    PDL_FRAMING_FRAMES, /* AWS event stream; an event is {TYPE: payload} */
    PDL_FRAMING_NONE,   /* replies do not stream */
} pdl_framing;

/* The contents of messages that are not text. A name that ends in _URL means that the address is
 * sent instead of the data. */
enum {
    PDL_MEDIA_IMAGE = 1,     /* images */
    PDL_MEDIA_IMAGE_URL = 2, /* images, sent by their address */
    PDL_MEDIA_AUDIO = 4,     /* audio */
    PDL_MEDIA_FILE = 8,      /* documents */
    PDL_MEDIA_FILE_URL = 16, /* documents, sent by their address */
    PDL_MEDIA_ANY = 31,      /* images, audio, documents */
};

/* The places where a model takes marks. */
typedef enum pdl_mark_places {
    PDL_MARKS_NOWHERE,
    PDL_MARKS_TEXT, /* in the system prompt and in messages */
    PDL_MARKS_ALL,  /* everywhere: on tools, too */
} pdl_mark_places;

/* How a request marks the end of a beginning that later requests share. Only some prompt caches
 * need marks (cache_marks.c). */
typedef struct pdl_mark_form {
    /* the member of the request that contains `tools`; NULL when `tools` is in the request
     * itself */
    const char *tools_in;
    const char *key;  /* name of the member that is the mark */
    const char *type; /* the value of that member is {type: this text} */
    /* Returns the places where a model takes marks. own is set when the program itself asks for
     * marks in this call. When the function is NULL, all models take marks everywhere. */
    pdl_mark_places (*places)(pdl_str model, bool own);
    bool own_block; /* the mark is a separate block after the block whose end it marks */
} pdl_mark_form;

/* Contracts of the functions:
 *
 *   `write`     appends the path to `path`, which holds the address, and returns the body. Errors:
 *               unsupported_params, bad_request, config; msg is the message without prefixes.
 *   `read`      turns a whole reply (taken, also on failure) into a response in OpenAI's form.
 *               Error: protocol.
 *   `event`     adds one event (text of a data line, or a line of NDJSON) to the reply builder. An
 *               error object of the server becomes the builder's error. Error: protocol.
 *   `sign`      adds the credentials; NULL: "Authorization: Bearer KEY" when there is a key.
 *               Error: auth.
 *   `by_prompt` is true when no field of the request constrains the answer, so that a schema is
 *               requested in words.
 *   `few_names` is true when the service takes only names of properties with letters, digits and
 *               "_.-" in a schema; any other schema is requested in words.
 *   `embedder`  is NULL when the service embeds no texts.
 *   `pending`   returns true when the reply is an unfinished job, and fills job. NULL: replies are
 *               never jobs.
 *
 */
struct pdl_dialect {
    const char *name;
    pdl_framing framing;
    unsigned media; /* PDL_MEDIA_...; any other content in a message is an error */
    bool by_prompt;
    bool few_names;
    bool resign; /* credentials expire quickly, so a retry needs new credentials */
    bool (*write)(pdl_ask *a, pdl_buf *path, pdl_val *body, pdl_err *err);
    bool (*read)(const pdl_ask *a, pdl_val json, pdl_val *raw, pdl_err *err);
    bool (*event)(const pdl_ask *a, pdl_str text, pdl_reply_builder *d, pdl_err *err);
    bool (*sign)(const pdl_sign *s, pdl_err *err);
    bool (*pending)(const pdl_ask *a, pdl_vref json, pdl_job *job);
    const pdl_embedder *embedder;
    const pdl_mark_form *marks; /* NULL when the service needs no marks */
};

extern const pdl_dialect pdl_dialect_openai;
extern const pdl_dialect pdl_dialect_huggingface;
extern const pdl_dialect pdl_dialect_completion;
extern const pdl_dialect pdl_dialect_ollama;
extern const pdl_dialect pdl_dialect_ollama_chat;
extern const pdl_dialect pdl_dialect_watsonx;
extern const pdl_dialect pdl_dialect_watsonx_text;
extern const pdl_dialect pdl_dialect_anthropic;
extern const pdl_dialect pdl_dialect_gemini;
extern const pdl_dialect pdl_dialect_vertex;
extern const pdl_dialect pdl_dialect_azure;
extern const pdl_dialect pdl_dialect_azure_ai;
extern const pdl_dialect pdl_dialect_replicate;
extern const pdl_dialect pdl_dialect_bedrock;

extern const pdl_embedder pdl_embedder_openai;
extern const pdl_embedder pdl_embedder_huggingface;
extern const pdl_embedder pdl_embedder_azure;
extern const pdl_embedder pdl_embedder_ollama;
extern const pdl_embedder pdl_embedder_watsonx;
extern const pdl_embedder pdl_embedder_gemini;
extern const pdl_embedder pdl_embedder_bedrock;
extern const pdl_embedder pdl_embedder_vertex;

#endif
