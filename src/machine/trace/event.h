/* event.h -- pdl_event: everything that a run reports is an event. Sinks borrow the event during
 * the call.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_TRACE_EVENT_H
#define PDL_TRACE_EVENT_H

#include "base/err.h"
#include "lang/block.h"
#include "value/path.h"
#include "value/val.h"

typedef enum {
#define EVENT(id, doc) PDL_EVENT_##id,
#include "trace/events.def"
    PDL_EVENT_COUNT
} pdl_event_kind;

/* The ways in which text is displayed on a terminal. */
typedef enum { PDL_LOOK_PLAIN, PDL_LOOK_MODEL, PDL_LOOK_CODE } pdl_look;

/* The ways in which a block is entered (for block_begin). */
typedef enum {
    PDL_ENTRY_PART,    /* a part of the block around it */
    PDL_ENTRY_DEF,     /* an entry of the defs of the block around it */
    PDL_ENTRY_CALL,    /* the body of the function that the call block around it calls */
    PDL_ENTRY_INCLUDE, /* the main block of a file, for include and import */
    PDL_ENTRY_SILENT   /* called from an expression or from code, or the program of lang: pdl */
} pdl_entry;

typedef struct pdl_event {
    pdl_event_kind kind;
    pdl_entry entry; /* set for block_begin */
    uint32_t fiber;  /* 1 is the main fiber */
    /* For block_begin, the fiber that started this fiber. That fiber runs the map of which this
     * fiber is an iteration, or the code that called the function of this fiber. 0 when no fiber
     * started this one. */
    uint32_t parent;
    /* block_begin: the program of the block; NULL when it is unknown. */
    struct pdl_program *program;
    const pdl_block *block;
    pdl_path *path;
    /* Events of blocks: the path in the form of a journal, with the calls from expressions that led
     * to the block. NULL when there were no such calls: then `path` is the whole path. */
    pdl_path *place;
    /* piece, reply, decision: the path of the block that made the request; NULL when it
     * is unknown. */
    pdl_path *caller;
    /* Absent when the event has no value. block_begin: the arguments, by name, when an expression
     * or code called the function; key is then the name of the function. */
    pdl_vref value;
    /* block_begin: the incoming messages; block_end: the messages that a leaf adds; absent when
     * there are none. */
    pdl_vref context;
    pdl_str key; /* set for `field` and `block_begin` */
    pdl_str text;
    pdl_str role; /* set for message */
    /* Number of an attempt or of an iteration; index of a case, from 1; for `out`, the file
     * descriptor. */
    uint32_t number;
    pdl_look look;
    bool library; /* block_begin: the block is in a module of the library, or of a tool server */
    /* block_begin: `library` is set, and the function around the block was called from outside the
     * library */
    bool entered;
    /* block_begin: `library` is set, another module of the library called the function around the
     * block, and the program handed this function to the library, as a tool */
    bool handed;
    /* block_begin: this block is the body of the function `key`, which a library called */
    bool tool;
    bool handled; /* reply: a block around the request handles and reports this failure */
    /* text, out, note: on a terminal, control sequences in the text are neutralised */
    bool untrusted;
    const pdl_err *err;
    const struct pdl_effect *effect;
    const struct pdl_reply *reply;
    /* Blocks, effect: label of the text in which the block is written; 0 for the author's text. */
    pdl_label label;
    int64_t nanos; /* wall time, which the fan-out sets; 0 before that */
} pdl_event;

const char *pdl_event_name(pdl_event_kind k);

#endif
