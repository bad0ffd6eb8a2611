/* effect.c -- see effect.h: makes and answers effects. The kinds are in effect_forms.c, the text
 * form of values is in encode.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "effect/effect.h"

#include <assert.h>
#include <string.h>

#include "base/banned.h"

pdl_val pdl_effect_http_reply(pdl_val given) {
    if (!pdl_is_str(given) && !pdl_is_dict(given)) return given;
    pdl_val d = pdl_is_dict(given) ? given : pdl_dict_putz(pdl_dict_new(6), "text", given);
    bool text = pdl_is_str(pdl_dict_getz(d, "text"));
    const struct {
        const char *name;
        pdl_val value;
    } rest[] = {{"status", pdl_int(200)},
                {"headers", pdl_dict_new(0)},
                {"type", pdl_textz(text ? "text/plain" : "")},
                {"charset", text ? pdl_textz("utf-8") : pdl_null()},
                {"text", pdl_null()},
                {"base64", pdl_null()}};
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++) {
        if (pdl_is_absent(pdl_dict_getz(d, rest[i].name)))
            d = pdl_dict_putz(d, rest[i].name, rest[i].value);
        else
            pdl_drop(rest[i].value);
    }
    return d;
}

pdl_effect *pdl_effect_new(pdl_effect_kind kind, pdl_effect_at from, pdl_val request,
                           pdl_effect_sink sink) {
    assert((unsigned)kind < PDL_EFFECT_COUNT);
    pdl_effect *e = PDL_NEW(pdl_effect);
    e->kind = kind;
    e->id = from.id;
    e->place = from.place ? pdl_path_keep(from.place) : NULL;
    e->seq = from.seq;
    e->loc = e->user_loc = from.loc;
    e->request = request;
    e->sink = sink;
    e->sandbox = pdl_absent();
    return e;
}

pdl_effect *pdl_effect_forward(const pdl_effect *e, pdl_effect_sink sink) {
    pdl_effect *same = PDL_NEW(pdl_effect);
    *same = *e;
    same->place = e->place ? pdl_path_keep(e->place) : NULL;
    same->first_place = e->first_place ? pdl_path_keep(e->first_place) : NULL;
    same->request = pdl_keep(e->request);
    same->budget = pdl_budget_keep(e->budget);
    same->sandbox = pdl_keep(e->sandbox);
    same->sink = sink;
    return same;
}

void pdl_effect_free(pdl_effect *e) {
    if (!e) return;
    pdl_path_drop(e->place);
    pdl_path_drop(e->first_place);
    pdl_drop(e->request);
    pdl_budget_drop(e->budget);
    pdl_drop(e->sandbox);
    pdl_free(e);
}

void pdl_reply_fini(pdl_reply *r) {
    pdl_drop(r->value);
    pdl_err_fini(&r->err);
    r->value = pdl_absent();
    r->seconds = 0;
}

static void deliver(pdl_effect *e, pdl_reply *r) {
    if (e->sink.reply) e->sink.reply(e->sink.user, e, r);
    pdl_reply_fini(r);
    pdl_effect_free(e);
}

void pdl_effect_answer(pdl_effect *e, pdl_val value, double seconds) {
    assert(e->sink.reply);
    pdl_reply r = {.value = value, .seconds = seconds};
    deliver(e, &r);
}

void pdl_effect_refuse_after(pdl_effect *e, pdl_err *err, double seconds) {
    assert(e->sink.reply);
    assert(err->kind != PDL_E_NONE);
    pdl_reply r = {.value = pdl_absent(), .seconds = seconds};
    pdl_err_move(&r.err, err);
    deliver(e, &r);
}

void pdl_effect_refuse(pdl_effect *e, pdl_err *err) { pdl_effect_refuse_after(e, err, 0); }

bool pdl_world_may_repeat(pdl_world *w, const pdl_effect *e) {
    while (w && !(w->ops->may_repeat && w->ops->may_repeat(w, e))) w = w->next;
    return w;
}

void pdl_world_charge(pdl_world *w, const pdl_effect *e, const pdl_reply *reply) {
    for (; w; w = w->next)
        if (w->ops->charge) w->ops->charge(w, e, reply);
}

bool pdl_world_has_output(pdl_world *w) {
    while (w && !(w->ops->has_output && w->ops->has_output(w))) w = w->next;
    return w;
}

uint64_t pdl_world_put_output(pdl_world *w) {
    while (w && !w->ops->put_output) w = w->next;
    return w ? w->ops->put_output(w) : 0;
}
