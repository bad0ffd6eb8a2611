/* call_numbers.c -- gives each model call of a run its number; see reading.h. A number identifies a
 * call for readers of the document, the table and the strip. The numbers follow the starts of the
 * calls, because replies arrive in any order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/reading/reading.h"

#include <stdlib.h>

#include "viewer/reading/failed_attempts.h"

#include "base/banned.h"

typedef struct begun {
    int64_t start;
    uint32_t box;
} begun;

static int by_start(const void *a, const void *b) {
    const begun *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return (x->box > y->box) - (x->box < y->box);
}

void pdl_reading_number_calls(pdl_reading *r) {
    PDL_VEC(begun) calls = {0};
    r->calls = PDL_NEW_N(uint32_t, r->doc->boxes.n);
    for (uint32_t i = 0; i < r->doc->boxes.n; i++)
        if (pdl_box_is_model_call(r->doc, i))
            *pdl_vec_push(&calls) = (begun){r->doc->boxes.p[i].start, i};
    if (calls.n) qsort(calls.p, calls.n, sizeof *calls.p, by_start);
    r->by_number = PDL_NEW_N(uint32_t, calls.n + 1);
    for (uint32_t i = 0; i < calls.n; i++) {
        r->by_number[i] = calls.p[i].box;
        r->calls[calls.p[i].box] = i + 1;
    }
    r->n_calls = (uint32_t)calls.n;
    pdl_vec_fini(&calls);
}
