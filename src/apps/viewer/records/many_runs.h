/* many_runs.h -- private to viewer: a document about many runs, made of their records.
 *
 * A search, an evaluation and an inference leave records of many runs, and no trace. Their document
 * shows a trace that this code makes: a text with a table below it, in which each row is a block of
 * the kind "run". So this document has the same page, Markdown and search as the document of one
 * run. The block of a row has these members:
 *
 *   run          the name of the run
 *   args         the values that the run was given
 *   said         the text that is shown when the row is opened
 *   pdl__result  an object with a column for each member
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_MANY_RUNS_H
#define PDL_VIEWER_MANY_RUNS_H

#include "base/buf.h"
#include "base/err.h"
#include "value/val.h"
#include "viewer/viewer.h"

/* A table that is being made. A struct of zeros is not valid. */
typedef struct pdl_run_table {
    pdl_val lists; /* the values that the runs were given: name of a column -> list */
    pdl_val rows;  /* blocks */
} pdl_run_table;

/* Appends a number between words, such as ", 1,234 failed". */
void pdl_put_counted(const char *before, uint64_t n, const char *after, pdl_buf *out);

pdl_run_table pdl_run_table_begin(void);
/* Adds a value to a column of `lists`. Takes v. A row that has no value in a column gets null. */
void pdl_run_table_given(pdl_run_table *t, pdl_str column, pdl_val v);
/* Ends a row. Takes args, result and inside. inside is the table of the runs that the row is about,
 * or the list of what the run did. args and inside may be absent. */
void pdl_run_table_add(pdl_run_table *t, pdl_str run, pdl_val args, pdl_str said, pdl_val result,
                       pdl_val inside);
/* Sets the times of the last row. Takes timing: {start_nanos, end_nanos}. */
void pdl_run_table_time(pdl_run_table *t, pdl_val timing);
/* Returns the table as a block, owned, and leaves t empty. name: the name of the table. */
pdl_val pdl_run_table_take(pdl_run_table *t, const char *name);

/* The words above the table. Everything is borrowed. */
typedef struct pdl_many_runs {
    pdl_str file; /* the file or folder of the records */
    pdl_str title, text;
    const char *name; /* the name of the table */
    bool not_ended;   /* there may be more runs later */
    uint64_t runs;    /* how many runs there were; 0 when each row is one run */
} pdl_many_runs;

/* Makes the document. Takes table. */
PDL_MUST bool pdl_many_runs_new(const pdl_many_runs *m, pdl_val table, pdl_view_run **out,
                                pdl_err *err);

/* Returns true when d has the form of the output of pdl infer --json. */
bool pdl_is_distribution(pdl_vref d);
/* Returns what run number `run` of an inference asked: a list of blocks, owned, or absent. Adds
 * columns to *row, the row of the run. */
typedef pdl_val pdl_requests_fn(void *user, size_t run, pdl_val *row);
/* The parts of the document of a distribution that are not in the distribution. Borrowed. */
typedef struct pdl_distribution_parts {
    pdl_str file, title, text; /* text: what is said below the facts; may be empty */
    pdl_requests_fn *requests; /* NULL when what the runs asked is unknown */
    void (*rest)(void *user, pdl_run_table *t); /* adds rows after those of the values; or NULL */
    void *user;
} pdl_distribution_parts;
/* Makes the document of the distribution d. */
PDL_MUST bool pdl_distribution_page(pdl_vref d, const pdl_distribution_parts *parts,
                                    pdl_view_run **out, pdl_err *err);

/* Returns false when no object in the JSON text has this key, which is written with its quotes. So
 * a trace of a hundred megabytes need not be parsed to see that it is no record. */
bool pdl_may_have_member(pdl_str json, const char *quoted);
/* Returns the next line of *rest as JSON, owned, or absent when there is none. Lines that are no
 * JSON object are left out. */
pdl_val pdl_next_record(pdl_str *rest);
/* Returns a number of a record, or NAN when it has none. */
double pdl_record_number(pdl_vref record, const char *key);
/* Returns x rounded to three decimals; null for NaN and infinities. */
pdl_val pdl_rounded(double x);

#endif
