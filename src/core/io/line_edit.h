/* line_edit.h -- reads lines that a person types, with the usual keys of a terminal where there is
 * one.
 *
 * libedit gives history, cursor keys and completion. Like libcurl it is opened when it is first
 * needed, to read a line from a terminal, so that commands that never ask pay nothing. When libedit
 * is not installed, or input is no terminal, lines are read without it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_IO_LINE_EDIT_H
#define PDL_IO_LINE_EDIT_H

#include "base/buf.h"

typedef struct pdl_line_edit pdl_line_edit;

/* Lists the words that complete a line. before is the line up to the cursor. It ends with the
 * beginning of a word. The function calls put(to, word) for each word with this beginning; *n_typed
 * is the number of bytes that such a word replaces. */
typedef void pdl_complete_fn(void *user, pdl_str before, size_t *n_typed,
                             void (*put)(void *to, pdl_str word), void *to);

typedef struct pdl_line_edit_options {
    const char *history; /* a file of earlier lines, which only its owner may read; may be NULL */
    pdl_complete_fn *complete; /* may be NULL */
    void *user;                /* passed to complete */
    bool has_wake;             /* wake is used */
    int wake; /* becomes readable when the current line is to be dropped (INTERRUPTED) */
} pdl_line_edit_options;

/* Makes a line editor; borrows the strings. A process has at most one, which uses its terminal. */
pdl_line_edit *pdl_line_edit_new(const pdl_line_edit_options *options);
void pdl_line_edit_free(pdl_line_edit *e); /* writes the history; NULL is allowed */
bool pdl_line_edit_is_open(void);          /* returns true when the process has a line editor */

/* MORE means that the line is not complete yet. */
typedef enum { PDL_LINE_READ, PDL_LINE_END, PDL_LINE_INTERRUPTED, PDL_LINE_MORE } pdl_line_result;

/* Replaces *out by the next line of standard input, without its end. The prompt is shown on a
 * terminal only. Returns INTERRUPTED after a signal, and END when there are no more lines. */
pdl_line_result pdl_line_edit_read(pdl_line_edit *e, const char *prompt, pdl_buf *out);

/* Reads the answer to a question that is printed already; `row` is the text of the cursor's row.
 * The answer does not go to the history, and its words are not completed. Returns false when lines
 * cannot be edited. */
bool pdl_line_edit_ask(pdl_line_edit *e, const char *row, pdl_line_result *got, pdl_buf *out);

/* These read a line without waiting, for callers that have a loop. start shows the prompt at the
 * beginning of the cursor's row. take is called each time standard input can be read, until its
 * result is not MORE. stop ends the reading earlier. start returns false when lines cannot be
 * edited. */
bool pdl_line_edit_start(pdl_line_edit *e, const char *prompt);
pdl_line_result pdl_line_edit_take(pdl_line_edit *e, pdl_buf *out);
void pdl_line_edit_stop(pdl_line_edit *e);

/* The terminal of a command that prints while lines are read from it. */
typedef struct pdl_line_terminal {
    void *user;
    void (*flush)(void *user); /* prints the output that is buffered, before a question */
    /* Appends the text that is printed to the left of the cursor. Returns false when this text is
     * unknown, or longer than a row. */
    bool (*row)(void *user, pdl_buf *out);
    /* Called when the row has ended. is_shown is set when a key ended it, so that the terminal has
     * moved on. */
    void (*row_ended)(void *user, bool is_shown);
} pdl_line_terminal;

#endif
