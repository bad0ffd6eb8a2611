/* approvals.c -- effects that wait until a person has approved or refused them.
 *
 * A rule may say `approve`. The question goes to the next world as a separate effect, so that a
 * journal keeps its answer. The effect waits here together with its judgement: after the answer the
 * examination continues with the next sink. The person decides about the action that the question
 * showed, even if files that a rule reads have changed since.
 *
 * The same question is asked only once: another effect that needs the answer meanwhile waits for
 * it, and a later effect gets it at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "policy/policy_impl.h"

#include "base/banned.h"

/* An effect that waits. */
typedef struct pending {
    policy_front *front;
    judging judged; /* owned, with its effect */
    pdl_val key;    /* the question, as a text */
    uint32_t id;    /* id of the question; 0 when another waiting effect asks the same question */
    struct pending *link;
} pending;

bool pdl_policy_front_ok(const policy_front *r) {
    if (r->n_questions > r->most_questions) return false;
    for (const pending *p = r->pending; p; p = p->link)
        if (p->front != r || !p->judged.e || p->judged.next >= p->judged.asks.asks.n ||
            (p->id && p->id - r->opt.first_id > r->next_id))
            return false;
    for (const flight *f = r->flights; f; f = f->link)
        if (f->front != r) return false;
    return true;
}

static const pdl_policy_ask *ask_of(const judging *j) { return &j->asks.asks.p[j->next]; }

/* Makes the key of a question. Two questions are the same when their sink, name and arguments are
 * equal. */
static bool key_of(const pdl_policy_ask *ask, pdl_val *out, pdl_err *err) {
    pdl_buf b = PDL_BUF_INIT(PDL_MAX_TEXT);
    pdl_buf_putf(&b, "%s %zu %.*s", pdl_sink_name(ask->sink), ask->name.n, PDL_FMT(ask->name));
    bool ok = true;
    for (size_t i = 0; ok && i < ask->n; i++) {
        pdl_buf_putf(&b, "\n%zu %.*s ", ask->args[i].name.n, PDL_FMT(ask->args[i].name));
        if (!pdl_is_absent(ask->args[i].value)) ok = pdl_effect_encode(ask->args[i].value, &b, err);
    }
    if (ok) *out = pdl_text_of_buf(&b);
    pdl_buf_fini(&b);
    return ok;
}

static pending *find_same(const policy_front *r, pdl_vref key) {
    pending *p = r->pending;
    while (p && !pdl_val_eq(p->key, key)) p = p->link;
    return p;
}

/* Removes the waiting effect from the list, and returns its judgement. */
static judging take_out(pending *p) {
    pending **at = &p->front->pending;
    while (*at != p) at = &(*at)->link;
    *at = p->link;
    judging j = p->judged;
    pdl_drop(p->key);
    pdl_free(p);
    return j;
}

/* Continues after the question. answered: a person has answered it; otherwise there was no way to
 * ask. yes: the action was approved. */
static void resume(policy_front *r, pending *p, bool answered, bool yes, const char *why) {
    judging j = take_out(p);
    j.decision.answered = answered;
    if (!yes) {
        pdl_policy_refuse(r, &j, "refused", why);
        return;
    }
    pdl_policy_allow_ask(r, &j, "approved");
    pdl_policy_continue(r, &j);
}

static void no_piece(void *user, const pdl_effect *e, pdl_str text) {
    (void)user;
    (void)e;
    (void)text;
}

static void answered(void *user, const pdl_effect *e, const pdl_reply *reply) {
    pending *asked = user;
    policy_front *r = asked->front;
    bool yes = !reply->err.kind && pdl_is_bool(reply->value) && pdl_bool_of(reply->value);
    bool none = reply->err.kind != PDL_E_NONE;
    char *why = pdl_str_dup(pdl_str_of(none ? reply->err.msg : "it was not approved"));
    pdl_val key = pdl_keep(asked->key);
    (void)e;
    asked->id = 0;
    if (!none) r->answers = pdl_dict_put(r->answers, pdl_keep(key), pdl_bool(yes));
    for (pending *p; (p = find_same(r, key));) resume(r, p, !none, yes, why);
    pdl_drop(key);
    pdl_free(why);
}

/* Sends the question of p. The answer counts for all effects that wait with the same question. */
static void put_question(policy_front *r, pending *p) {
    const pdl_effect *e = p->judged.e;
    p->id = r->opt.first_id + ++r->next_id;
    pdl_path *place = pdl_path_name(e->place, "approval");
    pdl_val request = pdl_policy_question(r->opt.policies, &r->sources, NULL, ask_of(&p->judged),
                                          &p->judged.decision);
    pdl_effect *question =
        pdl_effect_new(PDL_EFFECT_approval, (pdl_effect_at){p->id, place, e->seq, e->loc}, request,
                       (pdl_effect_sink){.user = p, .piece = no_piece, .reply = answered});
    pdl_path_drop(place);
    r->world.next->ops->start(r->world.next, question);
}

/* Lets the effect wait for the answer. Takes what j holds, and key. */
static void wait_for_answer(policy_front *r, const judging *j, pdl_val key) {
    bool is_asked = find_same(r, key) != NULL;
    pending *p = PDL_NEW(pending);
    *p = (pending){.front = r, .judged = *j, .key = key, .link = r->pending};
    r->pending = p;
    if (is_asked) return;
    r->n_questions++;
    put_question(r, p);
}

bool pdl_policy_approve(policy_front *r, judging *j) {
    pdl_val key;
    pdl_err err = {0};
    if (!key_of(ask_of(j), &key, &err)) {
        pdl_policy_refuse(r, j, "refused", "it is too large to be shown");
        pdl_err_fini(&err);
        return false;
    }
    pdl_vref known = pdl_dict_find(r->answers, key);
    if (pdl_is_bool(known)) {
        bool yes = pdl_bool_of(known);
        pdl_drop(key);
        if (yes)
            pdl_policy_allow_ask(r, j, "approved");
        else
            pdl_policy_refuse(r, j, "refused", "it was not approved");
        return yes;
    }
    if (r->n_questions >= r->most_questions && !find_same(r, key)) {
        pdl_drop(key);
        pdl_policy_refuse(r, j, "refused", "more was to be approved than `approvals` allows");
        return false;
    }
    wait_for_answer(r, j, key);
    return false;
}

/* Cancels a waiting effect. When others wait for the same answer, one of them asks instead. */
static void cancel_pending(policy_front *r, pending *p) {
    uint32_t id = p->id;
    pdl_val key = pdl_keep(p->key);
    judging j = take_out(p);
    pdl_asks_fini(&j.asks);
    pdl_effect_free(j.e);
    pending *heir = id ? find_same(r, key) : NULL;
    pdl_drop(key);
    if (id) r->world.next->ops->cancel(r->world.next, id);
    if (heir) put_question(r, heir);
}

bool pdl_approvals_cancel(policy_front *r, uint32_t id) {
    pending *p = r->pending;
    while (p && p->judged.e->id != id) p = p->link;
    if (p) cancel_pending(r, p);
    return p != NULL;
}

void pdl_approvals_close(policy_front *r) {
    while (r->pending) {
        uint32_t id = r->pending->id;
        judging j = take_out(r->pending);
        if (id) r->world.next->ops->cancel(r->world.next, id);
        pdl_asks_fini(&j.asks);
        pdl_effect_free(j.e);
    }
}
