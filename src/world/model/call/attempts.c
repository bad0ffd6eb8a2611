/* attempts.c -- appends the outcome of a request to the list of a call; see attempts.h. A call
 * whose first request succeeds has no list.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/call/attempts.h"

#include "base/utf8.h"
#include "io/clock.h"

#include "base/banned.h"

enum { MAX_TRIES = 100, MESSAGE_BYTES = 300 };

static const char *const next_names[] = {"retry", "fallback", "without schema", "new token",
                                         "none"};

void pdl_attempts_add(pdl_attempts_made *a, pdl_vref model, const pdl_fault *f, pdl_str message,
                      pdl_next next, uint64_t wait_ms) {
    double seconds = a->start_ns ? (double)(pdl_clock_ns() - a->start_ns) / 1e9 : 0;
    a->failed_s += seconds;
    a->start_ns = 0;
    if (pdl_is_absent(a->list)) a->list = pdl_list_new(2);
    if (pdl_list_len(a->list) >= MAX_TRIES) return;
    pdl_val d = pdl_dict_putz(pdl_dict_new(7), "model", pdl_keep(model));
    d = pdl_dict_putz(d, "kind", pdl_textz(pdl_err_kind_name(f->kind)));
    d = pdl_dict_putz(d, "status", f->status > 0 ? pdl_int(f->status) : pdl_null());
    d = pdl_dict_putz(d, "message", pdl_text(pdl_utf8_cut(message, MESSAGE_BYTES)));
    d = pdl_dict_putz(d, "seconds", pdl_float(seconds));
    d = pdl_dict_putz(d, "next", pdl_textz(next_names[next]));
    if (next == PDL_NEXT_RETRY)
        d = pdl_dict_putz(d, "wait_seconds", pdl_float((double)wait_ms / 1000));
    a->list = pdl_list_push(a->list, d);
}
