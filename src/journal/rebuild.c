/* rebuild.c -- the worker that earlier processes of a run had, made again.
 *
 * Results of code come from the journal, but what code left in Python (objects, PDL_SESSION, module
 * globals) died with its process. When later code needs that, the code and object effects that were
 * answered from rows run again, in their order, before it; their JSON results must be the same.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "journal/survive.h"
#include "value/text.h"

#include "base/banned.h"

/* --- the worker that earlier processes had ---------------------------------------------------- */

static bool holds_handle(pdl_vref v) { return (pdl_flags_of(v) & PDL_F_HANDLE) != 0; }

/* Does it look at what earlier blocks left in the worker? */
static bool needs_session(const pdl_effect *e) {
    pdl_vref code = pdl_dict_getz(e->request, "code"), lang = pdl_dict_getz(e->request, "lang");
    if (e->kind == PDL_EFFECT_object) return true;
    return (pdl_is_str(code) &&
            pdl_str_find(pdl_str_get(code), PDL_STR("PDL_SESSION"), 0) != PDL_NOT_FOUND) ||
           pdl_text_is(lang, "ipython") || holds_handle(pdl_dict_getz(e->request, "vars"));
}

static void no_piece(void *user, const pdl_effect *e, pdl_str text) {
    (void)user;
    (void)e;
    (void)text;
}

static void no_reply(void *user, const pdl_effect *e, const pdl_reply *r) {
    (void)user;
    (void)e;
    (void)r;
}

/* What was answered from a row is kept until it is known whether it must run again. */
void pdl_durable_remember_code(pdl_durable *d, const pending_effect *o) {
    if (!pdl_durable_is_of_worker(o->e->kind) || d->rebuilt) return;
    const pdl_effect *e = o->e;
    pdl_effect *copy = pdl_durable_twin(e, (pdl_effect_sink){.piece = no_piece, .reply = no_reply});
    pending_effect *r = pdl_durable_pending_new(d, copy);
    r->rebuilds = true;
    r->expected = o->err.kind ? pdl_absent() : pdl_keep(o->value);
    *pdl_vec_push(&d->recorded_code) = r;
}

/* JSON values that code gave before and gives now; objects are compared by nobody. */
static bool same_result(const pending_effect *o) {
    if (pdl_is_absent(o->expected)) return true;
    pdl_vref was = o->expected, is = o->value;
    if (o->e->kind == PDL_EFFECT_code && pdl_is_dict(was) && pdl_is_dict(is)) {
        was = pdl_dict_getz(was, "result");
        is = pdl_dict_getz(is, "result");
    }
    return holds_handle(was) || holds_handle(is) || pdl_val_eq(was, is);
}

static void end_rebuild(pdl_durable *d) {
    d->rebuilding = false;
    d->rebuilt = true;
    for (size_t i = 0; i < d->after_rebuild.n; i++) {
        pending_effect *o = d->after_rebuild.p[i];
        if (d->problem.kind)
            pdl_durable_refuse(d, o);
        else
            *pdl_vec_push(&d->held) = o;
    }
    d->after_rebuild.n = 0;
}

static void differs(pdl_durable *d, const pending_effect *o) {
    pdl_buf place = PDL_BUF, was = PDL_BUF, is = PDL_BUF;
    enum { SHOWN_CP = 200 };
    pdl_err err = {0};
    pdl_path_text(o->e->place, &place);
    pdl_val_show(o->expected, true, SHOWN_CP, &was);
    if (o->err.kind)
        pdl_buf_putf(&is, "an error: %s", o->err.msg);
    else
        pdl_val_show(o->value, true, SHOWN_CP, &is);
    pdl_err_set(&err, PDL_E_code, o->e->loc,
                "code at %s gave another result when it ran again: %s, and before %s",
                pdl_buf_z(&place), pdl_buf_z(&is), pdl_buf_z(&was));
    pdl_durable_note_problem(d, &err);
    pdl_buf_fini(&place);
    pdl_buf_fini(&was);
    pdl_buf_fini(&is);
}

/* One after the other, in the order in which they were asked. done: the one that ended. */
void pdl_durable_pump_rebuild(pdl_durable *d, pending_effect *done) {
    if (done) {
        bool failed = done->err.kind && !pdl_is_absent(done->expected);
        if (failed || (!done->err.kind && !same_result(done))) differs(d, done);
        pdl_durable_drop_open(done);
    }
    if (d->problem.kind || d->next_code >= d->recorded_code.n) {
        end_rebuild(d);
        return;
    }
    pending_effect *o = d->recorded_code.p[d->next_code];
    d->recorded_code.p[d->next_code++] = NULL;
    o->e->id = 0x7fffffffu - (uint32_t)d->next_code; /* above all that a run gives */
    pdl_durable_send(d, o);
}

/* Takes o: code that looks at what others left waits until they have run again. */
/* What ran where nothing can come out may run again. */
static bool all_harmless(const pdl_durable *d) {
    for (size_t i = 0; i < d->recorded_code.n; i++)
        if (!pdl_durable_may_repeat(d, d->recorded_code.p[i]->e)) return false;
    return true;
}

bool pdl_durable_waits_for_session(pdl_durable *d, pending_effect *o) {
    pdl_err err = {0};
    if (!pdl_durable_is_of_worker(o->e->kind) || d->rebuilt || !d->recorded_code.n) return false;
    if (!d->rebuilding && !needs_session(o->e)) return false;
    if (!d->opt.rebuild && !all_harmless(d)) {
        pdl_err_set(&err, PDL_E_runtime, o->e->loc,
                    "this code needs what earlier blocks left in Python, which ended with the "
                    "process");
        pdl_err_hint(&err, "--rebuild runs them again, in their order");
        pdl_durable_note_problem(d, &err);
        return false;
    }
    *pdl_vec_push(&d->after_rebuild) = o;
    if (d->rebuilding) return true;
    d->rebuilding = true;
    pdl_durable_pump_rebuild(d, NULL);
    return true;
}
