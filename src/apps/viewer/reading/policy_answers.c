/* policy_answers.c -- shows the questions of policies that a person has answered; see
 * policy_answers.h. A trace has them among the decisions about a block (world/policy/questions.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/reading/policy_answers.h"

#include <time.h>

#include "value/member.h"
#include "viewer/reading/reading.h"

#include "base/banned.h"

enum { NANOS_PER_SECOND = 1000000000 };

/* Returns the next decision that a person made, from number *i on; absent when there is none. */
static pdl_vref next_answer(const pdl_box *b, size_t *i) {
    pdl_vref list = pdl_box_get(b, "pdl__decisions");
    while (pdl_is_list(list) && *i < pdl_list_len(list)) {
        pdl_vref d = pdl_list_at(list, (*i)++);
        if (pdl_member_bool(d, "answered")) return d;
    }
    return pdl_absent();
}

bool pdl_box_was_approved(const pdl_box *b) {
    size_t i = 0;
    return !pdl_is_absent(next_answer(b, &i));
}

static void put_action(pdl_vref d, pdl_buf *out) {
    pdl_put_unescaped(pdl_member_str(d, "sink"), out);
    if (pdl_member_str(d, "name").n) pdl_buf_putc(out, ' ');
    pdl_put_unescaped(pdl_member_str(d, "name"), out);
}

static bool is_yes(pdl_vref d) { return pdl_str_is(pdl_member_str(d, "outcome"), "approved"); }

void pdl_put_approval(const pdl_box *b, pdl_buf *out) {
    size_t i = 0;
    PDL_PUT(out, "May this be done? ");
    for (pdl_vref d; !pdl_is_absent(d = next_answer(b, &i));) {
        if (out->p[out->len - 1] != ' ') PDL_PUT(out, "; ");
        put_action(d, out);
        pdl_buf_put(out, is_yes(d) ? PDL_STR(": yes") : PDL_STR(": no"));
    }
}

static void put_argument(pdl_vref a, pdl_buf *out) {
    pdl_put_unescaped(pdl_member_str(a, "name"), out);
    PDL_PUT(out, ": ");
    pdl_put_unescaped(pdl_member_str(a, "text"), out);
    pdl_str from = pdl_member_str(a, "sources");
    if (pdl_member_bool(a, "untrusted")) PDL_PUT(out, " (untrusted");
    if (from.n) {
        pdl_buf_put(out, pdl_member_bool(a, "untrusted") ? PDL_STR(", from ") : PDL_STR(" (from "));
        pdl_put_unescaped(from, out);
    }
    if (from.n || pdl_member_bool(a, "untrusted")) pdl_buf_putc(out, ')');
}

/* Appends when the answer was given, and how long the block had waited for it. */
static void put_moment(const pdl_box *b, int64_t nanos, pdl_buf *out) {
    char when[32];
    time_t t = (time_t)(nanos / NANOS_PER_SECOND);
    struct tm tm;
    if (nanos <= 0 || !gmtime_r(&t, &tm)) return;
    (void)strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &tm);
    pdl_buf_putf(out, ", %s", when);
    if (!b->start || nanos < b->start + NANOS_PER_SECOND / 1000) return;
    PDL_PUT(out, ", after ");
    pdl_put_time(nanos - b->start, out);
}

void pdl_put_approval_text(const pdl_box *b, pdl_buf *out) {
    size_t i = 0;
    for (pdl_vref d; !pdl_is_absent(d = next_answer(b, &i));) {
        pdl_vref args = pdl_member(d, "arguments");
        if (out->len) pdl_buf_putc(out, '\n');
        for (size_t k = 0; pdl_is_list(args) && k < pdl_list_len(args); k++) {
            if (k) PDL_PUT(out, ",\n");
            put_argument(pdl_list_at(args, k), out);
        }
        pdl_buf_put(out, is_yes(d) ? PDL_STR("\n\u2192 approved") : PDL_STR("\n\u2192 refused"));
        put_moment(b, pdl_member_int(d, "nanos", 0), out);
    }
}
