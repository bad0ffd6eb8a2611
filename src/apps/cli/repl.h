/* repl.h -- the interactive session: its state, and how typed text becomes programs. Private to
 * cli.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_CLI_REPL_H
#define PDL_CLI_REPL_H

#include "base/vec.h"
#include "cli/run_output.h"
#include "io/line_edit.h"
#include "pdl.h"

typedef struct repl {
    pdl_engine *engine;
    /* the variables and context with which the next entry begins, or NULL */
    pdl_value *inputs;
    pdl_value *shown;        /* inputs as they may be printed, or NULL */
    PDL_VEC(char *) entries; /* owned texts of programs that succeeded */
    /* the model that gets lines of text; owned; may be NULL */
    char *model;
    /* options of the command line that apply to each entry; may be NULL */
    const char *cache, *budget;
    pdl_line_edit *lines;
    term term;
    bool is_over;
} repl;

/* Runs a program and keeps the variables and the context that it leaves. When the program failed,
 * prints the error and returns false. */
bool pdl_repl_run(repl *r, pdl_str text);

/* Returns true when the entry is complete. is_empty is set when its last line is empty. */
bool pdl_repl_is_whole(pdl_str entry, bool is_empty);
/* Appends the program for an entry. A block is taken unchanged. When there is a model, a line of
 * text becomes a question to the model. */
void pdl_repl_put_program(pdl_str entry, const char *model, pdl_buf *out);
/* Appends the program for an entry as an item of a list. */
void pdl_repl_put_item(const char *program, pdl_buf *out);

/* Completes words of an entry. This is a pdl_complete_fn, whose user is a repl. */
void pdl_repl_complete(void *user, pdl_str before, size_t *n_typed,
                       void (*put)(void *to, pdl_str word), void *to);
void pdl_repl_each_command(void (*fn)(void *to, pdl_str name), void *to);

#endif
