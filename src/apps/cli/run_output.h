/* run_output.h -- a sink that prints the output of a run: it streams text, uses colours, and
 * notices when the reader closes the output.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_RUN_OUTPUT_H
#define PDL_CLI_RUN_OUTPUT_H

#include "io/line_edit.h"
#include "io/tty.h"
#include "trace/sink.h"

typedef struct term {
    bool color, color_err; /* whether colours are used on standard output, and on standard error */
    bool tty;              /* standard output is a terminal, which models must not control */
    bool broken;           /* the reader of standard output has closed it */
    bool may_block;        /* standard output is not a regular file */
    bool inside_line;      /* the last output to a terminal did not end with a line end */
    pdl_buf row;           /* the unfinished line on a terminal, or its beginning */
    bool interrupted; /* a signal came while the reader did not read, so no more text is written */
    /* For a durable run. holds is set when output is held. Then release writes the rows on which
     * the held output depends, and calls pdl_cli_term_write. provisional is set when pieces of
     * answers are not held. writing is set while held output is written. */
    bool holds, provisional, writing;
    pdl_buf held;
    /* skip is the number of bytes that are still left out, because an earlier process wrote them.
     * written is the number of bytes that were written or left out so far. */
    uint64_t skip, written;
    void (*release)(void *user);
    void *release_user;
    /* the errno of a write that failed although the reader had not closed the output; otherwise
     * 0 */
    int error;
    void (*on_broken)(void *user); /* called once; may be NULL */
    void *user;
} term;

void pdl_cli_term_init(term *t, const pdl_tty_env *env);
void pdl_cli_term_fini(term *t);
pdl_sink pdl_cli_term_sink(term *t);

/* Returns true when the terminal has an unfinished line of output. */
bool pdl_cli_term_is_inside_line(const term *t);

/* Ends an unfinished line of output on the terminal, before a message on standard error. */
void pdl_cli_term_end_line(term *t);

/* Writes text to standard output, with the same checks as output of the run. */
void pdl_cli_term_put(term *t, pdl_str text);
/* Writes text. Control characters of an untrusted text are neutralised on a terminal. */
void pdl_cli_term_show(term *t, pdl_str text, bool untrusted);
void pdl_cli_term_flush(term *t);
/* For pdl_durable_options. pdl_cli_term_has_held returns true when output is held;
 * pdl_cli_term_write writes it and returns how many bytes were written so far. */
bool pdl_cli_term_has_held(void *t);
uint64_t pdl_cli_term_write(void *t);
/* Writes text that code has written to its standard error. */
void pdl_cli_term_errors(void *t, pdl_str bytes);
/* Returns the interface by which lines are read from the terminal. */
pdl_line_terminal pdl_cli_term_lines(term *t);

#endif
