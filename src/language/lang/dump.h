/* dump.h -- blocks as values: the normal form of a program, and the form of traces (spec syntax
 * 7.3).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LANG_DUMP_H
#define PDL_LANG_DUMP_H

#include "lang/program.h"

/* The places where a view may add entries. */
typedef enum {
    PDL_DUMP_HEAD, /* after `kind` come pdl__id and pdl__context */
    /* After the fields of the kind come pdl__trace, pdl__usage, pdl__model_input and pdl__score. */
    PDL_DUMP_FIELDS,
    PDL_DUMP_RESULT, /* after `contribute` comes pdl__result */
    PDL_DUMP_TAIL    /* after `fallback` come pdl__timing and pdl__is_leaf */
} pdl_dump_place;

/* The facts about one execution of the block that is dumped. Every function may be NULL. */
typedef struct pdl_dump_view {
    void *user;
    /* Returns the dump (owned) of a sub-block that was executed. Returns absent for any other
     * sub-block, which is then dumped as written. key is the field ("text", "then", "with", "defs",
     * ...), and index is the place in the list, mapping or cases. */
    pdl_val (*child)(void *user, const pdl_block *b, const pdl_block *child, const char *key,
                     uint32_t index);
    /* Returns the value (owned) of an evaluated field, and absent for any other field. The keys of
     * a case are "if", "pdl__case_result", "pdl__if_result" and "pdl__matched"; index is then the
     * number of the case. */
    pdl_val (*value)(void *user, const pdl_block *b, const char *key, uint32_t index);
    /* Takes the dict and returns it with more entries. */
    pdl_val (*add_entries)(void *user, const pdl_block *b, pdl_dump_place place, pdl_val dict);
} pdl_dump_view;

/* Returns a block as an owned value. When view is NULL, the block is dumped as written, without
 * defaults. Loading this dump gives an equal program. Otherwise the dump has the form of traces:
 * plain values become data blocks, and defaults are written out. */
pdl_val pdl_block_dump(const pdl_block *b, const pdl_dump_view *view);

/* Dumps, for a trace, a block that was not executed. The dump has the form of traces, but plain
 * values stay plain. */
pdl_val pdl_block_dump_written(const pdl_block *b);

/* Lists every expression, fully parenthesised, and every type, as JSON Schema. Each has a line
 * `LINE:COLUMN KEY TEXT`, whose parts are separated by tabs (dump_listing.c). */
void pdl_list_exprs(const pdl_program *p, pdl_buf *out);
PDL_MUST bool pdl_list_types(const pdl_program *p, pdl_buf *out, pdl_err *err);

#endif
