/* lsp.h -- the language server: Language Server Protocol 3.17 over any transport.
 *
 * A server is an object that receives messages and sends messages; it has no threads and never
 * blocks. `pdl lsp` (pdl_lsp_serve) connects it to standard input and output; the tests and the
 * fuzz target call it directly. Expensive work that no request needs (diagnostics of a file that is
 * being typed, the index of a workspace) is done in pieces by pdl_lsp_work. The transport calls it
 * only when there is no message. So a message of the client is always handled first. An edit, for
 * example, does not wait for diagnostics of the old text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LSP_LSP_H
#define PDL_LSP_LSP_H

#include "base/buf.h"
#include "base/err.h"
#include "check/check.h"

typedef struct pdl_lsp pdl_lsp;

/* All members but send may be zero. */
typedef struct pdl_lsp_options {
    /* Sends one message (JSON, without a frame). Borrowed for the call. */
    void (*send)(void *user, pdl_str message);
    void *user;
    const pdl_str *path; /* further folders for imports; borrowed */
    size_t n_path;
    /* folder with the pages of the manual, to which links lead; borrowed; may be NULL */
    const char *manual;
    const char *prices; /* file with a table of prices, which hover shows; borrowed; may be NULL */
    /* The text of a table of prices, used instead of a file when it is not empty; borrowed; may be
     * NULL. The text may be changed between two messages. */
    const pdl_str *price_table;
    /* Appends text without the keys of the environment, before values of a run are shown. May be
     * NULL. */
    void (*redact)(void *user, pdl_str text, pdl_buf *out);
    void *redact_user;
    /* Finds in a journal the last run of the program at an absolute path. *trace is the trace of
     * the run (JSON, borrowed until the next call), and *when is the time at which the journal was
     * written, in ns since the epoch. May be NULL. */
    bool (*last_run)(void *user, const char *program, pdl_str *trace, int64_t *when);
    void *last_run_user;
    /* models and python: tests of models and of Python code, as in pdl_check_options; NULL when
     * these are not examined */
    const pdl_check_models *models;
    void (*python)(void *user, pdl_str code, pdl_python_report *report);
    void *python_user;
    pdl_str library; /* the text of the standard library, for members of `stdlib.` */
} pdl_lsp_options;

pdl_lsp *pdl_lsp_new(const pdl_lsp_options *options);
void pdl_lsp_free(pdl_lsp *s); /* s may be NULL */

/* Returns the number of the client's process, as `initialize` gave it; 0 when it gave none. */
int64_t pdl_lsp_client(const pdl_lsp *s);

/* Receives one message of the client, which may have any content. A request is answered later, by
 * pdl_lsp_step, so that a cancellation can remove it before it is answered. */
void pdl_lsp_receive(pdl_lsp *s, pdl_str message);
/* Returns true when so many messages wait that no further message is received until pdl_lsp_step
 * has handled all of them. */
bool pdl_lsp_is_full(const pdl_lsp *s);
/* Handles the oldest message. Returns false when no message waits. */
bool pdl_lsp_step(pdl_lsp *s);
/* Does a piece of the work for which no request waits. Returns false when all work is done. */
bool pdl_lsp_work(pdl_lsp *s);
/* Returns true after the notification `exit`; *code is then the exit code of the process. */
bool pdl_lsp_is_over(const pdl_lsp *s, int *code);

/* Serves standard input and output until `exit` or the end of input. Returns the exit code. */
int pdl_lsp_serve(const pdl_lsp_options *options);

#endif
