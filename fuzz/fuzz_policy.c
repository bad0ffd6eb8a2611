/* fuzz_policy.c -- a policy, the line "---", and a name or a lock file. Properties: the refusal of
 * a policy has a reason. A value without a label is never refused. Further labels never make a
 * verdict milder.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fuzz.h"

#include "policy/policy.h"
#include "value/label.h"

static pdl_verdict judge(const pdl_policies *p, pdl_sink_id sink, pdl_str name, pdl_label label) {
    pdl_argument args[] = {{PDL_STR("to"), pdl_null(), 0, 0},
                           {PDL_STR("to.0"), pdl_null(), label, 0}};
    pdl_policy_ask ask = {
        .sink = sink, .name = name, .args = args, .n = 2, .folder = PDL_STR("/home")};
    pdl_decision d = pdl_policies_judge(p, &ask);
    FUZZ_MUST(d.verdict == PDL_VERDICT_ALLOW || d.arg);
    return d.verdict;
}

static void judge_all(const pdl_policies *p, pdl_str name) {
    static const pdl_label labels[] = {0, PDL_LABEL_user, PDL_LABEL_user | PDL_LABEL_tool,
                                       PDL_LABEL_user | PDL_LABEL_tool | PDL_LABEL_FREE,
                                       PDL_LABEL_ORIGINS | (pdl_label)PDL_LABEL_FREE};
    for (int s = 0; s < PDL_SINK_COUNT; s++) {
        pdl_verdict before = PDL_VERDICT_ALLOW;
        for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
            pdl_verdict now = judge(p, (pdl_sink_id)s, name, labels[i]);
            FUZZ_MUST(labels[i] || now != PDL_VERDICT_DENY);
            FUZZ_MUST(now >= before);
            before = now;
        }
        (void)pdl_policies_redacted(p, (pdl_sink_id)s);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pdl_buf text = fuzz_text(data, size);
    pdl_str policy, rest;
    fuzz_split(pdl_buf_str(&text), &policy, &rest);
    pdl_policies *p = pdl_policies_new(NULL);
    pdl_err err = {0};
    pdl_loc loc;
    pdl_val locked;
    if (pdl_policies_add(p, PDL_STR("p.yaml"), policy, false, &err)) {
        bool trusted;
        judge_all(p, rest);
        (void)pdl_policies_label_of(p, PDL_EFFECT_read, rest, PDL_STR("/home"), 0, &trusted);
        (void)pdl_policies_have_tools(p, rest, NULL);
        if (pdl_policies_lock_path(p, &loc).n && !pdl_policies_lock(p, rest, rest, &err))
            FUZZ_MUST(err.msg);
    } else {
        FUZZ_MUST(err.kind && err.msg);
    }
    pdl_err_fini(&err);
    if (pdl_lock_read(PDL_STR("lock"), rest, &locked, &err)) {
        pdl_buf out = PDL_BUF;
        FUZZ_MUST(pdl_lock_write(locked, &out, &err));
        pdl_buf_fini(&out);
        pdl_drop(locked);
    }
    pdl_err_fini(&err);
    pdl_policies_free(p);
    pdl_buf_fini(&text);
    return 0;
}
