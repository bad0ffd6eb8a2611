/* dialect.h -- a wire format: how to write a request, read a reply, read the events of a stream. Inside of
 * model only. */
#ifndef PDL_MODEL_DIALECT_H
#define PDL_MODEL_DIALECT_H

#include "model/draft.h"
#include "model/providers.h"

/* One call as a dialect sees it. Values are owned by the call. */
typedef struct pdl_ask {
    const pdl_provider *provider;
    pdl_str name;    /* model name on the wire */
    bool base_given; /* see pdl_route */
    bool plain;      /* platform openai: parameters go out as they are */
    bool stream;
    bool no_schema;    /* the service refused the schema before: leave it out */
    pdl_vref messages; /* list as the program has it */
    pdl_vref params;   /* dict without nulls and without control keys (params.h) */
    pdl_vref given;    /* the program's own dict: control keys are read from it */
    pdl_vref schema;   /* dict, or absent */
    /* What write notes for read: */
    bool forced_tool;  /* the schema went out as a forced tool */
    bool asked_schema; /* a constraint made from `schema` went out */
} pdl_ask;

/* Vtable contracts:
 * write  append the path to path and hand over the body. Errors: unsupported_params, bad_request; msg is the
 * bare message. read   a whole reply (taken, also on failure) -> response in OpenAI's shape. Errors:
 * protocol. event  one event (text of a data line, or a line of NDJSON) into the draft. An error object of
 * the server goes to draft->error. Errors: protocol. */
struct pdl_dialect {
    const char *name;
    bool ndjson; /* streams are lines of JSON, not server-sent events */
    bool (*write)(pdl_ask *a, pdl_buf *path, pdl_val *body, pdl_err *err);
    bool (*read)(const pdl_ask *a, pdl_val json, pdl_val *raw, pdl_err *err);
    bool (*event)(const pdl_ask *a, pdl_str text, pdl_draft *d, pdl_err *err);
};

extern const pdl_dialect pdl_dialect_openai;
extern const pdl_dialect pdl_dialect_completion;
extern const pdl_dialect pdl_dialect_ollama;
extern const pdl_dialect pdl_dialect_ollama_chat;

#endif
