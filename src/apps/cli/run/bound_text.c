/* bound_text.c -- writes the bound of a run; see bound_text.h. The first line has the totals, such
 * as "at most 14 calls, 900 tokens of answers, about $0.31". The calls without a bound follow, each
 * with the reason and a remedy. Then come the budget, and a line for each place that makes calls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/bound_text.h"

#include <string.h>

#include "base/plural.h"
#include "value/int.h"
#include "value/member.h"

#include "base/banned.h"

/* Returns a number; negative when it is null. */
static int64_t number(pdl_vref d, const char *name) {
    int64_t n;
    return pdl_int_get(pdl_dict_getz(d, name), &n) ? n : -1;
}

static void put_reason(pdl_vref r, pdl_buf *out) {
    pdl_str remedy = pdl_member_str(r, "remedy");
    bool calls = pdl_str_is(pdl_member_str(r, "what"), "calls");
    pdl_buf_putf(out, "no bound%s: %.*s:%lld: %.*s", calls ? "" : " of tokens",
                 PDL_FMT(pdl_member_str(r, "file")), (long long)number(r, "line"),
                 PDL_FMT(pdl_member_str(r, "why")));
    if (remedy.n) pdl_buf_putf(out, " (%.*s)", PDL_FMT(remedy));
    PDL_PUT(out, "\n");
}

static void put_site(pdl_vref s, pdl_buf *out) {
    int64_t calls = number(s, "calls"), answer = number(s, "answer_tokens");
    pdl_buf_putf(out, "  %.*s:%lld: ", PDL_FMT(pdl_member_str(s, "file")),
                 (long long)number(s, "line"));
    if (calls < 0)
        PDL_PUT(out, "any number of calls");
    else
        pdl_buf_putf(out, "%lld call%s", (long long)calls, PDL_PLURAL(calls));
    if (answer >= 0) pdl_buf_putf(out, ", %lld tokens of answers", (long long)answer);
    PDL_PUT(out, "\n");
}

static void put_first_line(pdl_vref bound, pdl_buf *out) {
    pdl_vref tokens = pdl_dict_getz(bound, "tokens"), cost = pdl_dict_getz(bound, "cost");
    int64_t calls = number(bound, "calls"), prompt = number(tokens, "prompt"),
            answer = number(tokens, "answer");
    if (calls < 0) return;
    pdl_buf_putf(out, "at most %lld call%s", (long long)calls, PDL_PLURAL(calls));
    if (answer >= 0) pdl_buf_putf(out, ", %lld tokens of answers", (long long)answer);
    if (prompt >= 0) pdl_buf_putf(out, ", about %lld tokens of prompts", (long long)prompt);
    if (pdl_is(cost, PDL_V_FLOAT)) pdl_buf_putf(out, ", about $%.6g", pdl_float_of(cost));
    PDL_PUT(out, "\n");
}

void pdl_cli_put_bound(pdl_vref bound, pdl_buf *out) {
    pdl_vref reasons = pdl_dict_getz(bound, "no_bound"), sites = pdl_dict_getz(bound, "sites"),
             budget = pdl_dict_getz(bound, "budget");
    put_first_line(bound, out);
    for (size_t i = 0; i < pdl_list_len(reasons); i++) put_reason(pdl_list_at(reasons, i), out);
    for (size_t i = 0; i < pdl_dict_len(budget); i++)
        pdl_buf_putf(out, "%s%.*s=%g", i ? "," : "the budget allows ",
                     PDL_FMT(pdl_str_get(pdl_dict_key_at(budget, i))),
                     pdl_float_of(pdl_dict_val_at(budget, i)));
    if (pdl_dict_len(budget)) PDL_PUT(out, "\n");
    for (size_t i = 0; i < pdl_list_len(sites); i++) put_site(pdl_list_at(sites, i), out);
}
