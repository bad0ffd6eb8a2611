/* term.h -- the terminal as a sink of events: streaming, colours, and what happens when nobody
 * reads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_TERM_H
#define PDL_CLI_TERM_H

#include "io/line_edit.h"
#include "io/tty.h"
#include "trace/sink.h"

typedef struct term {
    bool color, color_err; /* of standard output, of standard error */
    bool tty;              /* standard output is a terminal: models do not control it */
    bool broken;           /* the reader of standard output went away */
    bool may_block;        /* standard output is no regular file */
    bool inside_line;      /* the last that a terminal got was no line end */
    pdl_buf row;           /* the unfinished line on a terminal, or its beginning */
    bool interrupted; /* a signal came while its reader did not read: nothing more is written */
    /* Of a durable run: what is printed is held until release, which writes what it depends on and
     * then calls pdl_cli_term_write. provisional: pieces of answers are not held. */
    bool holds, provisional, writing;
    pdl_buf held;
    uint64_t skip, written; /* bytes still to be left out; bytes written or left out so far */
    void (*release)(void *user);
    void *release_user;
    int error;                     /* errno of another failed write, 0: none */
    void (*on_broken)(void *user); /* once; may be NULL */
    void *user;
} term;

void pdl_cli_term_init(term *t, const pdl_tty_env *env);
void pdl_cli_term_fini(term *t);
pdl_sink pdl_cli_term_sink(term *t);

/* Has the terminal an unfinished line of output? */
bool pdl_cli_term_is_inside_line(const term *t);

/* Before a message on standard error: ends an unfinished line of output that is on the same
 * terminal. */
void pdl_cli_term_end_line(term *t);

/* Text to standard output, through the same checks. */
void pdl_cli_term_put(term *t, pdl_str text);
/* The same; untrusted: not the program's own words, a terminal does not obey them. */
void pdl_cli_term_show(term *t, pdl_str text, bool untrusted);
void pdl_cli_term_flush(term *t);
/* Of a durable run, for pdl_durable_options: is anything held? Write it; the bytes so far. */
bool pdl_cli_term_has_held(void *t);
uint64_t pdl_cli_term_write(void *t);
/* What code wrote on standard error. */
void pdl_cli_term_errors(void *t, pdl_str bytes);
/* For those who read lines from it. */
pdl_line_terminal pdl_cli_term_lines(term *t);

#endif
