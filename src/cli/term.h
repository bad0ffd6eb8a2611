/* term.h -- the terminal as a sink of events: streaming, colours, and the case that nobody reads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_TERM_H
#define PDL_CLI_TERM_H

#include "io/tty.h"
#include "trace/sink.h"

typedef struct term {
    bool color, color_err; /* of standard output, of standard error */
    bool tty;              /* standard output is a terminal: models do not control it */
    bool broken;           /* the reader of standard output has closed it */
    bool may_block;        /* standard output is no regular file */
    bool interrupted; /* a signal arrived while its reader did not read: nothing more is written */
    int error;        /* errno of another failed write; 0: none */
    void (*on_broken)(void *user); /* once; may be NULL */
    void *user;
} term;

void pdl_cli_term_init(term *t, const pdl_tty_env *env);
pdl_sink pdl_cli_term_sink(term *t);

/* Text to standard output, through the same checks. */
void pdl_cli_term_put(term *t, pdl_str text);
/* The same; untrusted: not the program's own words, so control characters are neutralised. */
void pdl_cli_term_show(term *t, pdl_str text, bool untrusted);
void pdl_cli_term_flush(term *t);
/* What code wrote on standard error. */
void pdl_cli_term_errors(void *t, pdl_str bytes, bool untrusted);
/* A prompt of standard input: printed and flushed. */
void pdl_cli_term_prompt(void *t, pdl_str prompt);

#endif
