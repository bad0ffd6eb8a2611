/* forecast.h -- what a resume would do with the program of today: a verdict about a waiting run
 * (spec know 2).
 *
 * It comes from a run that is opened with PDL_DURABLE_CHECK: that run is the resume itself, up to
 * the requests that the journal cannot answer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_JOURNAL_FORECAST_H
#define PDL_JOURNAL_FORECAST_H

#include "journal/durable.h"

typedef enum {
    PDL_VERDICT_CONTINUES, /* everything recorded is reused */
    PDL_VERDICT_ASKS,      /* something is requested again, or was inserted before where it is */
    PDL_VERDICT_STOPS      /* the resume ends with an error */
} pdl_verdict;
const char *pdl_verdict_name(pdl_verdict v); /* "continues", "asks again", "stops" */

/* A request that would be made again. */
typedef struct pdl_forecast_request {
    char *place, *file; /* owned; file is NULL when it is unknown */
    uint32_t line;
    const char *kind, *why; /* why: changed, moved or new */
    double cost;            /* price of the recorded answer; 0 for a new request */
} pdl_forecast_request;

typedef struct pdl_forecast {
    pdl_verdict verdict;
    char *id; /* owned; NULL when it is unknown */
    /* The place that decides, or the one where a run that continues waits. Owned; NULL when it is
     * unknown. */
    char *place, *file;
    uint32_t line;
    char *why, *hint; /* STOPS: the message; owned; hint may be NULL */
    /* Answers of models, code, tools, commands and people: in the journal; of these, those that
     * answer; and the requests that would be made again, with what those answers cost. */
    size_t recorded, reused, asked;
    double cost;
    PDL_VEC(pdl_forecast_request) requests; /* the first thousand that would be made again */
    PDL_VEC(char *) gone; /* places of answers that nothing requests any more; owned; as many */
} pdl_forecast;

/* Makes the forecast, after the checked run has come as far as it can. failure: the error with
 * which it ended, or NULL. Error: io. */
PDL_MUST bool pdl_durable_forecast(pdl_durable *d, const pdl_err *failure, pdl_forecast *out,
                                   pdl_err *err);
/* Fills the forecast of a run that a resume cannot even begin. why is kept. */
void pdl_forecast_stop(pdl_forecast *f, pdl_str place, const pdl_err *why);
/* Returns an unanswered request to a model or a tool, which the resume would send; or NULL. */
const pdl_effect *pdl_durable_next_call(const pdl_durable *d);
void pdl_forecast_fini(pdl_forecast *f);

#endif
