/* viewer.h -- runs shown in a web page, as a document or as nested boxes.
 *
 * The first view is the document: the text that the run made, how it came about, and the lines of
 * the program beside both. The second view has a box for each executed block. This code reads only
 * traces and does not use the machine. So it can show traces of other versions and of the reference
 * interpreter, and nothing that it shows can run.
 *
 * The viewer makes either one HTML file, which needs neither server nor network, or a server on
 * loopback. The server sends boxes when the page requests them, so that a run of a hundred thousand
 * blocks opens at once.
 *
 * The content of a run was written by models and strangers. The page therefore gets it as JSON and
 * puts it into the document only as text, under a policy that forbids all other scripts. The server
 * answers only browsers that have opened a printed address, which works once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_VIEWER_H
#define PDL_VIEWER_VIEWER_H

#include "base/buf.h"
#include "base/debug.h"
#include "base/err.h"
#include "io/loop.h"
#include "lang/module_name.h"
#include "value/val.h"

/* A run that can be shown: its boxes, and the program beside them. */
typedef struct pdl_view_run pdl_view_run;

/* Finds the file that a program includes or imports. Appends the file's name and text. Error: any;
 * the text is then made from the trace. */
typedef bool pdl_view_open_fn(void *user, const pdl_module_name *module, pdl_buf *name,
                              pdl_buf *text, pdl_err *err);

/* The program of a run. */
typedef struct pdl_view_program {
    /* name and text of the program's file; text.p is NULL when the text is made from the trace */
    pdl_str name, text;
    /* When it is NULL, the texts of included files are made from the trace. */
    pdl_view_open_fn *open;
    void *user;
    /* Appends the text of a file without keys. When it is NULL, files are shown unchanged, since
     * the user edits them. */
    void (*redact)(pdl_str text, pdl_buf *out);
    bool running; /* the run continues, and its trace is not complete yet */
} pdl_view_program;

/* Makes a run from the text of a trace, which this program or the reference interpreter wrote.
 * Bytes that are not UTF-8 are replaced. name is shown to users, and copied. A damaged trace is
 * shown as far as possible. Error: syntax when the text holds no JSON object. */
PDL_MUST bool pdl_view_run_new(pdl_str name, pdl_str trace, const pdl_view_program *program,
                               pdl_view_run **out, pdl_err *err);
/* The files in the folder of a search. report is empty while the search continues. */
typedef struct pdl_view_search {
    pdl_str candidates, scores, report;
} pdl_view_search;
/* These functions make a document of the records of many runs: the files of a search, the rows that
 * pdl eval -o wrote, or the output of pdl infer --json. name is the file or folder, and is
 * copied. */
PDL_MUST bool pdl_view_search_new(pdl_str name, const pdl_view_search *files, pdl_view_run **out,
                                  pdl_err *err);
PDL_MUST bool pdl_view_rows_new(pdl_str name, pdl_str lines, pdl_view_run **out, pdl_err *err);
PDL_MUST bool pdl_view_distribution_new(pdl_str name, pdl_str json, pdl_view_run **out,
                                        pdl_err *err);
/* A request of an inference, and its answer. Borrowed. */
typedef struct pdl_view_asked {
    pdl_str place, kind;
    pdl_vref request, reply, messages; /* absent when unknown */
    double start, end;                 /* seconds since the epoch */
} pdl_view_asked;
/* The requests in the journal of an inference, from which a document of its runs is made. */
typedef struct pdl_view_inference pdl_view_inference;
pdl_view_inference *pdl_view_inference_begin(void);
void pdl_view_inference_add(pdl_view_inference *x, const pdl_view_asked *a);
/* How an inference ended. Borrowed. */
typedef struct pdl_view_ended {
    pdl_str name;      /* the program */
    const char *state; /* such as "has ended" */
    /* the distribution with the lineages of its runs (infer.h, `ended`); absent when unknown */
    pdl_vref result;
} pdl_view_ended;
/* Makes the document, and frees x. */
PDL_MUST bool pdl_view_inference_end(pdl_view_inference *x, const pdl_view_ended *e,
                                     pdl_view_run **out, pdl_err *err);
bool pdl_view_are_rows(pdl_str text);
bool pdl_view_is_distribution(pdl_str text);
void pdl_view_run_free(pdl_view_run *r); /* r may be NULL */

/* Returns the report of pdl_prefix_report, owned, which says how much the model calls of a run
 * share at their beginnings. Returns absent when there is no report. */
typedef pdl_val pdl_view_compare_fn(void *user);
/* Sets the function that compares calls. It is called at most once, when the first call is opened.
 * user is borrowed for the life of r. */
void pdl_view_run_compare(pdl_view_run *r, pdl_view_compare_fn *fn, void *user);

/* Appends one HTML file that shows the run without network and server. */
void pdl_view_html(const pdl_view_run *r, pdl_buf *out);
/* Appends the boxes as an SVG picture, cut after a few hundred boxes. */
void pdl_view_svg(const pdl_view_run *r, pdl_buf *out);

/* Appends the run as a Markdown document: its text, and how the text was made.
 * pdl_view_markdown_all includes the messages to each model, and the definitions. */
void pdl_view_markdown(const pdl_view_run *r, pdl_buf *out);
void pdl_view_markdown_all(const pdl_view_run *r, pdl_buf *out);
/* Appends the printed text, byte for byte. */
void pdl_view_text(const pdl_view_run *r, pdl_buf *out);

/* A question of the page about a run, without its transport: GET or POST /api/RUN/path. */
typedef struct pdl_view_request {
    pdl_str path, body;
    bool posted;
    bool running; /* the run continues, so only questions about its document are answered */
    bool late;    /* events have happened that this view of the run does not show */
    /* Appends a parameter of the address. Returns false when the address has no parameter of this
     * name. */
    bool (*parameter)(const void *user, const char *name, pdl_buf *out);
    const void *user;
} pdl_view_request;

/* Appends the answer, and sets its media type. Returns the HTTP status. Every status but 200 is a
 * refusal, whose answer is a sentence. r may be NULL when there is no run. */
int pdl_view_ask(const pdl_view_run *r, const pdl_view_request *request, const char **type,
                 pdl_buf *out);
/* Appends, as a JSON object, the facts about the run that the page needs at its start. */
void pdl_view_summary(const pdl_view_run *r, pdl_buf *out);
/* Appends the same object for a run in progress. Only the name of that run is known. */
void pdl_view_live_summary(pdl_str name, pdl_buf *out);

typedef struct pdl_viewer pdl_viewer;

/* A run that is shown while it runs. */
typedef struct pdl_live pdl_live;
struct pdl_sink;
struct pdl_later;

/* The files of a run. The files are collected from the events of the run, so that they are shown
 * with the text that ran, even if they have changed since or exist only in a journal. */
typedef struct pdl_view_files pdl_view_files;
pdl_view_files *pdl_view_files_new(void);
void pdl_view_files_free(pdl_view_files *f); /* f may be NULL */
void pdl_view_files_listen(pdl_view_files *f, struct pdl_sink *out);
/* This is a pdl_view_open_fn. user is the pdl_view_files. */
bool pdl_view_files_open(void *user, const pdl_module_name *module, pdl_buf *name, pdl_buf *text,
                         pdl_err *err);

/* redact appends a text without secrets; it may be NULL. */
pdl_live *pdl_live_new(void (*redact)(void *user, pdl_str text, pdl_buf *out), void *user);
void pdl_live_free(pdl_live *l); /* l may be NULL */
/* Sets *out to a sink that the caller adds to the run. */
void pdl_live_listen(pdl_live *l, struct pdl_sink *out);
/* Sets two sinks for a run that keeps the events of its blocks (trace/delayed_events.h): *out does
 * not want these events, and *kept gets them later. `later` returns the list of kept events, or
 * NULL before the run. While the run computes, boxes are made only for pages, a few at a time. So
 * the run hardly waits for them. */
void pdl_live_listen_later(pdl_live *l, struct pdl_later *(*later)(const void *user),
                           const void *user, struct pdl_sink *out, struct pdl_sink *kept);
/* Returns the files of the run in progress; borrowed. */
pdl_view_files *pdl_live_files(pdl_live *l);

/* An answer of the user that replaces the recorded one, for the block at this place. */
typedef struct pdl_view_answer {
    pdl_str place, text;
} pdl_view_answer;

/* The user's version of a file that the program includes or imports. */
typedef struct pdl_view_change {
    pdl_str name, before, after;
} pdl_view_change;

/* The run that the user requests. */
typedef struct pdl_view_start {
    pdl_str text;  /* the text of the program */
    pdl_str place; /* the first block that is executed again */
    /* requests of this block and of all later ones are sent again, even when they are unchanged */
    bool fresh;
    const pdl_view_answer *answers;
    size_t n_answers;
    const pdl_view_change *files;
    size_t n_files;
} pdl_view_start;

/* A program that can be run again with the user's changes. */
typedef struct pdl_view_again {
    pdl_str file, text; /* the user's program; text.p is NULL when nothing can be run again */
    /* Starts a run of the text. Requests before the block at this place get their recorded answers.
     * The function calls pdl_viewer_begin. Error: any, which the page shows. */
    bool (*start)(void *user, const pdl_view_start *s, pdl_err *err);
    /* Appends the recorded answer of the block at this place. *json is set when the answer is JSON.
     * Error: the block sent no request. */
    bool (*answer_at)(void *user, pdl_str place, pdl_buf *text, bool *json, pdl_err *err);
    /* Returns true when the file on the disk has the text that is shown. */
    bool (*is_own)(void *user, pdl_str name, pdl_str text);
    void (*stop)(void *user); /* ends the run that was started */
} pdl_view_again;

/* Everything is borrowed for the life of the server. */
typedef struct pdl_viewer_options {
    pdl_loop *loop;
    /* the runs that are shown; the last one is compared with the first; empty during a run */
    pdl_view_run *const *runs;
    size_t n_runs;
    pdl_live *live;             /* the run in progress; may be NULL */
    pdl_str live_name, program; /* the file name of the run in progress, and the program's text */
    /* Answers a question of the run in progress. Returns false when the question is not open any
     * more. When the function is NULL, pages cannot answer. */
    bool (*answer)(void *user, uint32_t effect, pdl_str text);
    /* Makes a view of the run in progress up to now; owned. Returns NULL when there is none. When
     * the function is NULL, pages show boxes instead of a document. */
    pdl_view_run *(*so_far)(void *user);
    pdl_view_again again; /* says how the first run can be run again */
    void *user;
    const char *host; /* address to listen at */
    /* Origins of pages that may show this page in a frame, separated by commas, in the form that
     * pdl_viewer_can_frame accepts; empty when there are none. */
    pdl_str frames;
    uint16_t port; /* 0 means any free port */
    const pdl_debug *debug;
} pdl_viewer_options;

/* Returns true for a list, separated by commas, of origins (https://a.example) or schemes of
 * applications (vscode-webview:). Refuses patterns, and schemes that every web page can use. */
bool pdl_viewer_can_frame(pdl_str origins);
/* Starts the server. Error: io with the address and the reason. */
PDL_MUST bool pdl_viewer_start(const pdl_viewer_options *o, pdl_viewer **out, pdl_err *err);
uint16_t pdl_viewer_port(const pdl_viewer *v);
/* From now on, pages show this run, which is in progress (borrowed). */
void pdl_viewer_begin(pdl_viewer *v, pdl_live *live, pdl_str name, pdl_str program);
/* The run in progress is over: from now on pages show these runs (borrowed). */
void pdl_viewer_over(pdl_viewer *v, pdl_view_run *const *runs, size_t n);
/* A caller calls this when the run in progress is over and its view is not made yet. `make` makes
 * the view and calls pdl_viewer_over. `make` is called at once when a page follows the run, and
 * otherwise when a page requests the view. */
void pdl_viewer_when_asked(pdl_viewer *v, void (*make)(void *user), void *user);
/* Ends the pages when the server ends before the run. Pages keep what they show, and also show this
 * text. */
void pdl_viewer_leave(pdl_viewer *v, const char *why);
/* Appends a new address that opens the page once. */
void pdl_viewer_address(pdl_viewer *v, pdl_buf *out);
/* Returns true when the newest address was used. */
bool pdl_viewer_was_opened(const pdl_viewer *v);
void pdl_viewer_free(pdl_viewer *v); /* v may be NULL */

#endif
