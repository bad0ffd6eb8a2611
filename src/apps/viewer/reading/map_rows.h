/* map_rows.h -- private to viewer: makes a table of the rows of a map, sorted and filtered for the
 * page.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_MAP_ROWS_H
#define PDL_VIEWER_MAP_ROWS_H

#include "viewer/reading/reading.h"

/* The rows of a map that a page requests. */
typedef struct pdl_rows_query {
    uint32_t item; /* number of the map's item */
    uint32_t from, n;
    /* The column by which rows are sorted. With "-" before it, the largest value comes first. When
     * it is empty, rows are in the order of their numbers. */
    pdl_str sort;
    pdl_str where; /* "failed", or a text that a cell contains; when it is empty, all rows fit */
} pdl_rows_query;

/* Appends {"columns": [{"name", "kind", "values", "median", "most"}], "items": [{"id", "number",
 * "cells": [text], "took", "tokens_in", "tokens_out", "state"}], "total", "all", "failed"}. Columns
 * are the variables of `for` and the result; when results are objects, each of their fields is a
 * column. took: microseconds. */
void pdl_rows_json(const pdl_reading *r, const pdl_rows_query *q, pdl_buf *out);

#endif
