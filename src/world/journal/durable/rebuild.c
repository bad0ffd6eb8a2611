/* rebuild.c -- restores the worker that earlier processes of a run had.
 *
 * Results of code come from the journal, but what code left in Python (objects, PDL_SESSION, module
 * globals) ended with its process. When later code needs what earlier code left, the code and
 * object effects that were answered from rows run again first, in their order. Their JSON results
 * must be equal to the recorded ones.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/ident.h"
#include "journal/durable/durable_impl.h"
#include "value/handle.h"
#include "value/text.h"

#include "base/banned.h"

/* --- the worker of earlier processes ---------------------------------------------------------- */

static bool holds_handle(pdl_vref v) { return (pdl_flags_of(v) & PDL_F_HANDLE) != 0; }

/* The class of the error with which the worker refuses code that needs the earlier session
 * (worker.h). */
#define NEEDS_SESSION "PDLNeedsSession"
/* Replaces the names of the modules when code failed, because it is not known what this code left
 * in the worker. */
#define UNKNOWN "?"

/* Returns true when an effect uses objects that earlier blocks left in the worker. Uses of modules
 * are not seen here; the worker reports them. */
static bool needs_session(const pdl_effect *e) {
    return e->kind == PDL_EFFECT_object || pdl_effect_uses_session(e) ||
           pdl_text_is(pdl_dict_getz(e->request, "lang"), "ipython") ||
           holds_handle(pdl_dict_getz(e->request, "vars"));
}

static void add_left(pdl_durable *d, pdl_str name) {
    for (size_t i = 0; i < d->rebuild.left.n; i++)
        if (pdl_str_is(name, d->rebuild.left.p[i])) return;
    *pdl_vec_push(&d->rebuild.left) = pdl_str_dup(name);
}

/* Remembers the modules in which code left objects. The result of the code lists these modules. */
static void remember_left(pdl_durable *d, const pending_effect *o) {
    pdl_vref left = pdl_is_dict(o->value) ? pdl_dict_getz(o->value, "left") : pdl_absent();
    pdl_vref code = pdl_dict_getz(o->e->request, "code");
    for (size_t i = 0; pdl_is_list(left) && i < pdl_list_len(left); i++)
        if (pdl_is_str(pdl_list_at(left, i))) add_left(d, pdl_str_get(pdl_list_at(left, i)));
    bool failed = o->err.kind && pdl_is_str(code);
    if (failed && pdl_ident_is_in(pdl_str_get(code), PDL_STR("import")))
        add_left(d, PDL_STR(UNKNOWN));
}

/* Sends the names of the modules in which recorded code left objects. The worker refuses code that
 * uses one of them, before it executes any of that code. */
void pdl_durable_name_left(const pdl_durable *d, const pending_effect *o, pdl_effect *forwarded) {
    if (o->rebuilds || d->rebuild.rebuilt || !d->rebuild.left.n ||
        forwarded->kind != PDL_EFFECT_code)
        return;
    pdl_val list = pdl_list_new(d->rebuild.left.n);
    for (size_t i = 0; i < d->rebuild.left.n; i++)
        list = pdl_list_push(list, pdl_textz(d->rebuild.left.p[i]));
    forwarded->request = pdl_dict_putz(forwarded->request, "left", list);
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

/* Remembers a code or object effect that was answered from a row, until it is known whether the
 * code must run again. */
void pdl_durable_remember_code(pdl_durable *d, const pending_effect *o) {
    if (!pdl_durable_is_of_worker(o->e->kind) || d->rebuild.rebuilt) return;
    const pdl_effect *e = o->e;
    remember_left(d, o);
    pdl_effect_sink nobody = {.piece = no_piece, .reply = no_reply};
    pdl_effect *copy = pdl_effect_forward(e, nobody);
    pending_effect *r = pdl_durable_pending_new(d, copy);
    r->rebuilds = true;
    r->expected = o->err.kind ? pdl_absent() : pdl_keep(o->value);
    *pdl_vec_push(&d->rebuild.recorded_code) = r;
}

/* Returns true when two values have their remote objects at the same positions; the machine knows
 * objects by their numbers. */
static bool same_objects(pdl_vref was, pdl_vref is, size_t depth) {
    if (!holds_handle(was) && !holds_handle(is)) return pdl_val_eq(was, is);
    if (pdl_is(was, PDL_V_HANDLE) && pdl_is(is, PDL_V_HANDLE))
        return pdl_handle_of(was)->id == pdl_handle_of(is)->id;
    bool lists = pdl_is_list(was) && pdl_is_list(is) && pdl_list_len(was) == pdl_list_len(is);
    bool dicts = pdl_is_dict(was) && pdl_is_dict(is) && pdl_dict_len(was) == pdl_dict_len(is);
    bool same = depth > 0 && (lists || dicts);
    for (size_t i = 0; same && lists && i < pdl_list_len(was); i++)
        same = same_objects(pdl_list_at(was, i), pdl_list_at(is, i), depth - 1);
    for (size_t i = 0; same && dicts && i < pdl_dict_len(was); i++)
        same = same_objects(pdl_dict_val_at(was, i), pdl_dict_val_at(is, i), depth - 1);
    return same;
}

/* Returns true when the code that ran again gave its recorded result. */
static bool same_result(const pending_effect *o) {
    if (pdl_is_absent(o->expected)) return true;
    pdl_vref was = o->expected, is = o->value;
    if (o->e->kind == PDL_EFFECT_code && pdl_is_dict(was) && pdl_is_dict(is)) {
        was = pdl_dict_getz(was, "result");
        is = pdl_dict_getz(is, "result");
    }
    enum { DEEPEST = 100 };
    return same_objects(was, is, DEEPEST);
}

static void end_rebuild(pdl_durable *d) {
    d->rebuild.rebuilding = false;
    d->rebuild.rebuilt = true;
    for (size_t i = 0; i < d->rebuild.after_rebuild.n; i++) {
        pending_effect *o = d->rebuild.after_rebuild.p[i];
        if (d->file.problem.kind)
            pdl_durable_refuse(d, o);
        else
            *pdl_vec_push(&d->pending.queued) = o;
    }
    d->rebuild.after_rebuild.n = 0;
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

/* Runs recorded code again, one effect after the other, in the recorded order. done: the effect
 * that has just ended, or NULL. */
void pdl_durable_pump_rebuild(pdl_durable *d, pending_effect *done) {
    if (done) {
        bool failed = done->err.kind && !pdl_is_absent(done->expected);
        if (failed || (!done->err.kind && !same_result(done))) differs(d, done);
        /* The machine refers to these objects by their old numbers, so the values that keep them
         * alive are kept. */
        if (holds_handle(done->value)) *pdl_vec_push(&d->rebuild.objects) = pdl_keep(done->value);
        pdl_durable_drop_open(done);
    }
    if (d->file.problem.kind || d->rebuild.next_code >= d->rebuild.recorded_code.n) {
        end_rebuild(d);
        return;
    }
    pending_effect *o = d->rebuild.recorded_code.p[d->rebuild.next_code];
    d->rebuild.recorded_code.p[d->rebuild.next_code++] = NULL;
    /* an id above all ids that a run gives */
    o->e->id = 0x7fffffffu - (uint32_t)d->rebuild.next_code;
    pdl_durable_send(d, o);
}

/* Returns true when all recorded code ran in sandboxes that let nothing out. Such code may safely
 * run again. */
static bool all_harmless(const pdl_durable *d) {
    for (size_t i = 0; i < d->rebuild.recorded_code.n; i++)
        if (!pdl_durable_may_repeat(d, d->rebuild.recorded_code.p[i]->e)) return false;
    return true;
}

static bool may_rebuild(pdl_durable *d, const pending_effect *o) {
    pdl_err err = {0};
    if (d->rebuild.rebuilding || d->setup.opt.rebuild || all_harmless(d)) return true;
    pdl_err_set(&err, PDL_E_runtime, o->e->loc,
                "this code needs what earlier blocks left in Python, which ended with the process");
    pdl_err_hint(&err, "--rebuild runs them again, in their order");
    pdl_durable_note_problem(d, &err);
    return false;
}

bool pdl_durable_waits_for_session(pdl_durable *d, const pending_effect *o) {
    if (!pdl_durable_is_of_worker(o->e->kind) || d->rebuild.rebuilt || !d->rebuild.recorded_code.n)
        return false;
    return (d->rebuild.rebuilding || needs_session(o->e)) && may_rebuild(d, o);
}

void pdl_durable_rebuild_first(pdl_durable *d, pending_effect *o) {
    *pdl_vec_push(&d->rebuild.after_rebuild) = o;
    if (d->rebuild.rebuilding) return;
    d->rebuild.rebuilding = true;
    pdl_durable_pump_rebuild(d, NULL);
}

bool pdl_durable_was_refused(pdl_durable *d, pending_effect *o, const pdl_reply *reply) {
    pdl_err err = {0};
    if (!reply->err.py_class || strcmp(reply->err.py_class, NEEDS_SESSION) != 0) return false;
    if (may_rebuild(d, o)) {
        pdl_durable_rebuild_first(d, o);
        return true;
    }
    store_effect row = {.id = o->row, .attempt = o->attempt, .state = STORE_REFUSED};
    if (o->row &&
        !(pdl_store_end(d->file.store, &row, &err) && pdl_store_commit(d->file.store, true, &err)))
        pdl_durable_note_problem(d, &err);
    pdl_durable_refuse(d, o);
    return true;
}

void pdl_durable_rebuild_end(durable_rebuild *r) {
    pdl_durable_drop_list(r->recorded_code.p, r->recorded_code.n);
    pdl_durable_drop_list(r->after_rebuild.p, r->after_rebuild.n);
    pdl_vec_fini(&r->recorded_code);
    pdl_vec_fini(&r->after_rebuild);
    for (size_t i = 0; i < r->objects.n; i++) pdl_drop(r->objects.p[i]);
    pdl_vec_fini(&r->objects);
    for (size_t i = 0; i < r->left.n; i++) pdl_free(r->left.p[i]);
    pdl_vec_fini(&r->left);
}

bool pdl_durable_rebuild_ok(const durable_rebuild *r) {
    return r->next_code <= r->recorded_code.n && !(r->rebuilding && r->rebuilt);
}
