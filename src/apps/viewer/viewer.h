/* viewer.h -- runs shown as nested boxes in a web page.
 *
 * A run is shown as people draw it when they explain a prompt: a box for each block that was
 * executed, in it the text that it made, and beside it the program. The room reads traces and
 * nothing else: it knows no machine, so it can show what other versions and the reference
 * interpreter wrote, and nothing that it shows can run. It makes either one HTML file that needs
 * neither server nor network, or a server on loopback that hands out boxes as the page asks for
 * them, so that a run of a hundred thousand blocks opens at once.
 *
 * What a run holds was written by models and strangers. The page therefore gets it as JSON and puts
 * it into the document as text only, under a policy that forbids scripts other than its own; the
 * server answers only those who came through an address that was printed, and works once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_VIEWER_H
#define PDL_VIEWER_VIEWER_H

#include "base/buf.h"
#include "base/debug.h"
#include "base/err.h"
#include "io/loop.h"
#include "value/val.h"

/* A run that can be shown: its boxes, and the program beside them. */
typedef struct pdl_view_run pdl_view_run;

/* Finds the file that a program includes or imports. from: name of the including file; path: as it
 * is written there. Appends the file's name and text. Error: any; the text is then made from the
 * trace. */
typedef bool pdl_view_open_fn(void *user, pdl_str from, pdl_str path, bool import, pdl_buf *name,
                              pdl_buf *text, pdl_err *err);

/* The program of a run. */
typedef struct pdl_view_program {
    pdl_str name, text;     /* its file; text.p NULL: the text is made from the trace */
    pdl_view_open_fn *open; /* NULL: included programs are made from the trace */
    void *user;
    /* Appends the text of a file as it is shown, without keys; NULL: files are shown as they are,
     * since the user edits them. */
    void (*redact)(pdl_str text, pdl_buf *out);
    bool running; /* the run continues; its trace is what there is */
} pdl_view_program;

/* Makes a run from the text of a trace, ours or the reference's; bytes that are not UTF-8 are
 * replaced. name: shown to users; copied. Error: syntax when the text holds no JSON object; a
 * damaged trace is shown as far as possible. */
PDL_MUST bool pdl_view_run_new(pdl_str name, pdl_str trace, const pdl_view_program *program,
                               pdl_view_run **out, pdl_err *err);
void pdl_view_run_free(pdl_view_run *r); /* NULL is fine */

/* Returns what the calls of models of a run share at their beginnings: the report of
 * pdl_prefix_report, owned; absent when there is none. */
typedef pdl_val pdl_view_compare_fn(void *user);
/* fn is called once at most, when the first call is opened. user is borrowed for the life of r. */
void pdl_view_run_compare(pdl_view_run *r, pdl_view_compare_fn *fn, void *user);

/* Appends one HTML file that shows the run without network and server. */
void pdl_view_html(const pdl_view_run *r, pdl_buf *out);
/* Appends the boxes as an SVG picture, cut after a few hundred boxes. */
void pdl_view_svg(const pdl_view_run *r, pdl_buf *out);

/* Appends the run as a Markdown document: its text, and how the text came about. all: also with the
 * messages to each model, and the definitions. */
void pdl_view_markdown(const pdl_view_run *r, pdl_buf *out);
void pdl_view_markdown_all(const pdl_view_run *r, pdl_buf *out);
/* Appends the printed text, byte for byte. */
void pdl_view_text(const pdl_view_run *r, pdl_buf *out);

/* A question of the page about a run, GET or POST /api/RUN/path, without its transport. */
typedef struct pdl_view_request {
    pdl_str path, body;
    bool posted;
    bool running; /* the run continues: only what a document needs is answered */
    bool late;    /* something has happened that the run does not show yet */
    /* Appends a parameter of the address; returns false when it has none of this name. */
    bool (*parameter)(const void *user, const char *name, pdl_buf *out);
    const void *user;
} pdl_view_request;

/* Appends the answer, and sets its media type. Returns its HTTP status; all but 200 is a refusal,
 * with a sentence as the answer. r may be NULL: nothing is there. */
int pdl_view_ask(const pdl_view_run *r, const pdl_view_request *request, const char **type,
                    pdl_buf *out);
/* Appends what the page says of a run before anything of it is asked for, as a JSON object. */
void pdl_view_summary(const pdl_view_run *r, pdl_buf *out);

typedef struct pdl_viewer pdl_viewer;

/* A run that is shown while it runs. */
typedef struct pdl_live pdl_live;
struct pdl_sink;

/* The files of a run, collected from its events, so that they are shown as they ran, even if they
 * have changed since or are only in a journal. */
typedef struct pdl_view_files pdl_view_files;
pdl_view_files *pdl_view_files_new(void);
void pdl_view_files_free(pdl_view_files *f); /* NULL is fine */
void pdl_view_files_listen(pdl_view_files *f, struct pdl_sink *out);
/* user: the pdl_view_files */
bool pdl_view_files_open(void *user, pdl_str from, pdl_str path, bool import, pdl_buf *name,
                         pdl_buf *text, pdl_err *err);

/* redact (may be NULL) appends text without secrets. */
pdl_live *pdl_live_new(void (*redact)(void *user, pdl_str text, pdl_buf *out), void *user);
void pdl_live_free(pdl_live *l); /* NULL is fine */
/* Sets *out to a sink that the caller adds to the run. */
void pdl_live_listen(pdl_live *l, struct pdl_sink *out);
pdl_view_files *pdl_live_files(pdl_live *l); /* the files of its run; borrowed */

/* The user's answer in place of the recorded one, for the question of the block at this place. */
typedef struct pdl_view_answer {
    pdl_str place, text;
} pdl_view_answer;

/* The user's version of a file that the program includes or imports. */
typedef struct pdl_view_change {
    pdl_str name, before, after;
} pdl_view_change;

/* The run that the user requests. */
typedef struct pdl_view_start {
    pdl_str text;  /* the program */
    pdl_str place; /* the first block that is executed again */
    bool fresh;    /* requests of this block and all later ones are sent again */
    const pdl_view_answer *answers;
    size_t n_answers;
    const pdl_view_change *files;
    size_t n_files;
} pdl_view_start;

/* A program that can be run again with the user's changes. */
typedef struct pdl_view_again {
    pdl_str file, text; /* the user's file; p NULL: nothing can be run again */
    /* Starts a run of the text. Requests from before the block at the place are answered as
     * recorded. Calls pdl_viewer_begin. Error: any, which the page shows. */
    bool (*start)(void *user, const pdl_view_start *s, pdl_err *err);
    /* Appends the recorded answer of the block at this place; *json: it is JSON. Error: the block
     * sent no request. */
    bool (*answer_at)(void *user, pdl_str place, pdl_buf *text, bool *json, pdl_err *err);
    /* Returns true when the file on the disk is the one that is shown. */
    bool (*is_own)(void *user, pdl_str name, pdl_str text);
    void (*stop)(void *user); /* ends the run that was started */
} pdl_view_again;

/* Everything is borrowed for the life of the server. */
typedef struct pdl_viewer_options {
    pdl_loop *loop;
    pdl_view_run *const *runs; /* the last is compared with the first; empty during a run */
    size_t n_runs;
    pdl_live *live;             /* the run in progress; may be NULL */
    pdl_str live_name, program; /* the file of live, and its text */
    /* Answers a question of the run in progress; returns false when it is not open any more. NULL:
     * pages cannot answer. */
    bool (*answer)(void *user, uint32_t effect, pdl_str text);
    /* Makes the view of the run in progress, as far as it is; owned. Returns NULL when there is
     * none. NULL: pages show the boxes. */
    pdl_view_run *(*so_far)(void *user);
    pdl_view_again again; /* belongs to the first run */
    void *user;
    const char *host; /* address to listen at */
    /* Origins of pages that may show this one in a frame, separated by commas, as
     * pdl_viewer_can_frame accepts them; empty: none. */
    pdl_str frames;
    uint16_t port; /* 0: any free port */
    const pdl_debug *debug;
} pdl_viewer_options;

/* Returns true for a list, separated by commas, of origins (https://a.example) or schemes of
 * applications (vscode-webview:). Patterns, and schemes that every web page has, are refused. */
bool pdl_viewer_can_frame(pdl_str origins);
/* Error: io with the address and the reason. */
PDL_MUST bool pdl_viewer_start(const pdl_viewer_options *o, pdl_viewer **out, pdl_err *err);
uint16_t pdl_viewer_port(const pdl_viewer *v);
/* From now on pages show this run, which is in progress (borrowed). */
void pdl_viewer_begin(pdl_viewer *v, pdl_live *live, pdl_str name, pdl_str program);
/* The run in progress is over: from now on pages show these runs (borrowed). */
void pdl_viewer_over(pdl_viewer *v, pdl_view_run *const *runs, size_t n);
/* The run in progress is over, but its view is not made yet. Calls `make`, which calls
 * pdl_viewer_over: at once if a page follows the run, else when a page requests the view. */
void pdl_viewer_when_asked(pdl_viewer *v, void (*make)(void *user), void *user);
/* The server ends before the run: pages keep what they have, and show this text. */
void pdl_viewer_leave(pdl_viewer *v, const char *why);
/* Appends a new address that opens the page once. */
void pdl_viewer_address(pdl_viewer *v, pdl_buf *out);
/* Returns true when the newest address was used. */
bool pdl_viewer_was_opened(const pdl_viewer *v);
void pdl_viewer_free(pdl_viewer *v); /* NULL is fine */

#endif
