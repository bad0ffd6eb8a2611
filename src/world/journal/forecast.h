/* forecast.h -- predicts for a waiting run whether its resume, with the present program, would
 * continue, send requests again or stop (spec know 2).
 *
 * The forecast is made by a run that is opened with PDL_DURABLE_CHECK. This run does what the
 * resume would do, up to the requests that the journal cannot answer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_JOURNAL_FORECAST_H
#define PDL_JOURNAL_FORECAST_H

#include "journal/durable.h"

typedef enum {
    PDL_VERDICT_CONTINUES, /* everything recorded is reused */
    /* a recorded request is made again, or a new request was inserted before the point where the
     * run waits */
    PDL_VERDICT_ASKS,
    PDL_VERDICT_STOPS /* the resume would end with an error */
} pdl_verdict;
const char *pdl_verdict_name(pdl_verdict v); /* "continues", "asks again", "stops" */

/* A request that would be made again. */
typedef struct pdl_forecast_request {
    char *place, *file; /* owned; file is NULL when it is unknown */
    uint32_t line;
    const char *kind, *why; /* why is "changed", "moved" or "new" */
    double cost;            /* price of the recorded answer; 0 for a new request */
} pdl_forecast_request;

typedef struct pdl_forecast {
    pdl_verdict verdict;
    char *id; /* owned; NULL when it is unknown */
    /* The place that decides the verdict. When the run continues, it is the place where the run
     * waits. Owned; NULL when it is unknown. */
    char *place, *file;
    uint32_t line;
    /* For PDL_VERDICT_STOPS: the message and its hint, which may be NULL; owned. */
    char *why, *hint;
    /* Counts of effects for which pdl_forecast_counts returns true. recorded: answers in the
     * journal. reused: the answers that the resume would use. asked: requests that would be made
     * again; cost: what their recorded answers had cost. */
    size_t recorded, reused, asked;
    double cost;
    /* the first thousand requests that would be made again */
    PDL_VEC(pdl_forecast_request) requests;
    /* places of recorded answers that the program does not request any more; owned; at most a
     * thousand */
    PDL_VEC(char *) gone;
} pdl_forecast;

/* Makes the forecast after the checked run has ended or can do nothing more. failure: the error
 * with which the checked run ended, or NULL. Error: io. */
PDL_MUST bool pdl_durable_forecast(pdl_durable *d, const pdl_err *failure, pdl_forecast *out,
                                   pdl_err *err);
/* Returns true for the kinds of effects that a forecast counts: those that take time or change
 * something outside, such as calls of models, code, tools, commands and questions to people; but
 * not sleeps and writes to files. */
bool pdl_forecast_counts(pdl_effect_kind k);
/* Fills the forecast of a run whose resume cannot even begin. why: the reason; it is not taken. */
void pdl_forecast_stop(pdl_forecast *f, pdl_str place, const pdl_err *why);
/* Returns a request to a model, a tool or the web that the resume would send and that has no
 * answer; NULL when there is no such request. */
const pdl_effect *pdl_durable_next_call(const pdl_durable *d);
void pdl_forecast_fini(pdl_forecast *f);

#endif
