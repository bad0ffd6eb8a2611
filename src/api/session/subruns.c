/* subruns.c -- starts, steps and ends programs inside others; see subruns.h. Code waits for the
 * program that it has started. Such a program is stepped beside the run of the code, and its
 * effects get ids from a range that no other run uses.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/session/subruns.h"

#include "base/banned.h"

typedef struct subrun {
    pdl_run *run;
    pdl_sub_done_fn *done;
    void *done_user;
    bool all;
    uint32_t range, root;
    char *dir; /* owned */
    struct subrun *next;
} subrun;

struct pdl_subruns {
    subrun *first;
    uint32_t n_made; /* number of programs made so far; it numbers their places */
    uint32_t last;   /* the range of ids that was given out last */
    bool taken[PDL_SUB_RANGES];
};

pdl_subruns *pdl_subruns_new(void) { return PDL_NEW(pdl_subruns); }

static void release(pdl_subruns *s, subrun *sub) {
    s->taken[sub->range] = false;
    pdl_run_free(sub->run);
    pdl_free(sub->dir);
    pdl_free(sub);
}

void pdl_subruns_free(pdl_subruns *s) {
    while (s && s->first) {
        subrun *sub = s->first;
        s->first = sub->next;
        release(s, sub);
    }
    pdl_free(s);
}

/* Returns the next free range after the one that was given out last, so that ids are not used again
 * soon. Returns 0 when no range is free.
 */
static uint32_t free_range(pdl_subruns *s) {
    for (uint32_t i = 1; i < PDL_SUB_RANGES; i++) {
        uint32_t range = (s->last + i - 1) % (PDL_SUB_RANGES - 1) + 1;
        if (!s->taken[range]) return s->last = range;
    }
    return 0;
}

uint32_t pdl_subruns_root(const pdl_subruns *s, uint32_t effect) {
    uint32_t range = effect / PDL_RANGE_IDS;
    if (range == 0 || range >= PDL_SUB_RANGES) return range;
    const subrun *sub = s->first;
    while (sub && sub->range != range) sub = sub->next;
    return sub ? sub->root : 0;
}

bool pdl_subruns_start(pdl_subruns *s, const pdl_effect *asker, pdl_run_options *o,
                       const pdl_subrun_start *start, pdl_err *err) {
    uint32_t range = free_range(s);
    if (!range)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0},
                           "more than %d programs run inside others", PDL_SUB_RANGES - 1);
    subrun *sub = PDL_NEW(subrun);
    *sub = (subrun){.done = start->done,
                    .done_user = start->done_user,
                    .all = start->all,
                    .range = range,
                    .next = s->first};
    sub->root = pdl_subruns_root(s, asker->id);
    sub->dir = pdl_str_dup(o->dir);
    s->taken[range] = true;
    o->dir = pdl_str_of(sub->dir);
    o->first_id = range * PDL_RANGE_IDS;
    o->n_ids = PDL_RANGE_IDS - 1;
    o->place = pdl_path_numbered(asker->place, "exec", ++s->n_made);
    sub->run = pdl_run_new(o);
    pdl_path_drop(o->place);
    pdl_run_start(sub->run, start->code, start->variables);
    s->first = sub;
    return true;
}

static pdl_val all_of(const pdl_run *r) {
    int64_t calls, completion, prompt;
    pdl_run_usage(r, &calls, &completion, &prompt);
    pdl_val u = pdl_dict_putz(pdl_dict_new(3), "model_calls", pdl_int(calls));
    u = pdl_dict_putz(u, "completion_tokens", pdl_int(completion));
    u = pdl_dict_putz(u, "prompt_tokens", pdl_int(prompt));
    pdl_val d = pdl_dict_putz(pdl_dict_new(5), "result", pdl_keep(pdl_run_result(r)));
    d = pdl_dict_putz(d, "scope", pdl_run_scope(r));
    d = pdl_dict_putz(d, "trace", pdl_null());
    d = pdl_dict_putz(d, "replay", pdl_dict_new(0));
    return pdl_dict_putz(d, "usage", u);
}

static void end(pdl_subruns *s, subrun *sub, pdl_step step) {
    if (step == PDL_STEP_DONE)
        sub->done(sub->done_user, sub->all ? all_of(sub->run) : pdl_keep(pdl_run_result(sub->run)),
                  NULL);
    else
        sub->done(sub->done_user, pdl_absent(), pdl_run_error(sub->run));
    release(s, sub);
}

bool pdl_subruns_step(pdl_subruns *s) {
    bool any = false;
    for (subrun **at = &s->first; *at;) {
        subrun *sub = *at;
        pdl_step step = pdl_run_step(sub->run);
        if (step == PDL_STEP_WAIT) {
            at = &(*at)->next;
            continue;
        }
        *at = sub->next;
        end(s, sub, step);
        any = true;
    }
    return any;
}

bool pdl_subruns_are_ready(const pdl_subruns *s) {
    for (const subrun *sub = s->first; sub; sub = sub->next)
        if (pdl_run_is_ready(sub->run)) return true;
    return false;
}

void pdl_subruns_cancel(pdl_subruns *s, uint32_t range) {
    for (subrun **at = &s->first; *at;) {
        subrun *sub = *at;
        if (sub->root != range) {
            at = &sub->next;
            continue;
        }
        pdl_err err = {0};
        *at = sub->next;
        pdl_err_set(&err, PDL_E_interrupt, (pdl_loc){0}, "the run that started this has ended");
        pdl_run_cancel(sub->run, &err);
        end(s, sub, PDL_STEP_FAIL);
    }
}
