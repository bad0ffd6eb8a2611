/* schema.h -- what is made from the tables of the language: its JSON Schema (`pdl --schema`),
 * the table of blocks and fields, the page of builtins (spec syntax 7.2).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LANG_SCHEMA_H
#define PDL_LANG_SCHEMA_H

#include "base/buf.h"
#include "value/val.h"

/* Returns an owned dict {"$defs": ..., "title": ..., "anyOf": ...}, draft 2020-12. */
pdl_val pdl_language_schema(void);

/* Returns an owned dict {"blocks": [...], "forms": [...], "common": [...], "records": [...],
 * "trace": [...]}: the rows of blocks.def, common.def and records.def, for generators in other
 * languages. */
pdl_val pdl_language_table(void);

/* Appends the filters, tests, functions and methods that expressions know, as a page of the manual
 * (Markdown). */
void pdl_builtins_page(struct pdl_buf *out);
/* Calls fn for the name of each filter, for completion. */
void pdl_each_filter_name(void (*fn)(void *to, pdl_str name), void *to);

#endif
