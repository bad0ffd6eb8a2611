/* inflight.c -- see inflight.h. The life of an effect: it is made, perhaps queued, and launched.
 * Then its pieces and its reply arrive.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "vm/inflight.h"

#include <assert.h>

#include "base/bisect.h"
#include "base/idmap.h"
#include "base/limits.h"
#include "value/handle.h"
#include "value/int.h"
#include "value/text.h"
#include "vm/effect_key.h"
#include "vm/effects/result_check.h"
#include "vm/err_span.h"
#include "vm/fiber.h"
#include "vm/inflight_limit.h"
#include "vm/ops/object.h"
#include "vm/output_order.h"
#include "vm/particle.h"
#include "vm/run.h"
#include "vm/stacks.h"

#include "base/banned.h"

void pdl_inflight_forget(pdl_fiber *f, uint32_t from) {
    while (f->calls.n && f->calls.p[f->calls.n - 1].number >= from)
        pdl_drop(f->calls.p[--f->calls.n].failed);
}

void pdl_inflight_adopt(pdl_fiber *to, pdl_fiber *from) {
    for (size_t i = 0; i < from->calls.n; i++) {
        struct pdl_made m = from->calls.p[i];
        m.number = to->n_calls++;
        pdl_inflight *c =
            pdl_is_absent(m.failed) ? pdl_idmap_find(&to->run->effects.by_id, m.id) : NULL;
        if (c) {
            c->fiber = to->id;
            c->number = m.number;
            to->n_open++;
        }
        *pdl_vec_push(&to->calls) = m;
    }
    from->calls.n = 0;
    from->n_open = 0;
    assert(pdl_fiber_ok(to));
}

static void on_piece(void *user, const pdl_effect *e, pdl_str text) {
    pdl_run *r = user;
    pdl_inflight *c = pdl_idmap_find(&r->effects.by_id, e->id);
    if (!c) return;
    c->label |= pdl_effect_label(e);
    r->effects.seen |= c->label;
    if (!pdl_redaction_covers(r->opt.redaction, c->label))
        pdl_sinks_send(&r->opt.sinks, &(pdl_event){
                                          .kind = PDL_EVENT_piece,
                                          .effect = e,
                                          .caller = c->path,
                                          .text = text,
                                          .value = pdl_absent(),
                                          .context = pdl_absent(),
                                      });
    /* Output of code is printed at once, since the code waited for all output before it (spec
     * execution L4). */
    if (c->kind == PDL_EFFECT_code) {
        pdl_fiber *f = pdl_idmap_find(&r->fibers.by_id, c->fiber);
        if (f) pdl_out_show(f, text, c->label);
        return;
    }
    if (!c->out) return;
    pdl_out_piece(c, text);
    pdl_out_flush(r);
}

static void on_extra(void *user, const pdl_effect *e, pdl_vref extra) {
    pdl_run *r = user;
    pdl_inflight *c = pdl_idmap_find(&r->effects.by_id, e->id);
    if (!c || !c->out) return;
    *pdl_vec_push(&c->extras) = pdl_keep(extra);
    pdl_out_flush(r);
}

/* Returns the value that has the facts about a model call besides its answer or failure: the reply,
 * or the details of the error. Owned; absent when there are no such facts. */
static pdl_val notes_of(const pdl_effect *e, const pdl_reply *reply) {
    pdl_val v;
    pdl_err ignored = {0};
    if (e->kind != PDL_EFFECT_model) return pdl_absent();
    if (!reply->err.kind) return pdl_keep(reply->value);
    if (!reply->err.detail || !pdl_effect_decode(pdl_str_of(reply->err.detail), &v, &ignored)) {
        pdl_err_fini(&ignored);
        return pdl_absent();
    }
    if (pdl_is_dict(v)) return v;
    pdl_drop(v);
    return pdl_absent();
}

static void on_reply(void *user, const pdl_effect *e, const pdl_reply *reply) {
    pdl_run *r = user;
    pdl_inflight *c = pdl_idmap_find(&r->effects.by_id, e->id);
    pdl_val notes = r->opt.sinks.wants_blocks ? notes_of(e, reply) : pdl_absent();
    pdl_sinks_send(&r->opt.sinks, &(pdl_event){.kind = PDL_EVENT_reply,
                                               .effect = e,
                                               .reply = reply,
                                               .fiber = c ? c->fiber : 1,
                                               .block = c ? c->block : NULL,
                                               .handled = c && c->handled,
                                               .path = e->place,
                                               .caller = c ? c->path : NULL,
                                               .err = reply->err.kind ? &reply->err : NULL,
                                               .value = notes,
                                               .context = pdl_absent()});
    pdl_drop(notes);
    r->effects.seen |= pdl_effect_label(e) | reply->err.label;
    if (c) c->label |= pdl_effect_label(e);
    if (c) pdl_inflight_answered(c, e, reply);
}

static void on_decision(void *user, const pdl_effect *e, pdl_vref decision) {
    pdl_run *r = user;
    pdl_inflight *c = pdl_idmap_find(&r->effects.by_id, e->id);
    pdl_sinks_send(&r->opt.sinks, &(pdl_event){
                                      .kind = PDL_EVENT_decision,
                                      .fiber = c ? c->fiber : 1,
                                      .effect = e,
                                      .block = c ? c->block : NULL,
                                      .path = e->place,
                                      .caller = c ? c->path : NULL,
                                      .value = decision,
                                      .context = pdl_absent(),
                                  });
}

/* Returns the next id. Ids of a run with a range are reused once the range is used up. When all of
 * them are in use at the same time, which takes a hundred thousand open calls, ids of the next
 * range follow. */
static uint32_t next_id(pdl_run *r) {
    uint32_t last = r->opt.first_id + r->opt.n_ids;
    bool ends = r->opt.n_ids && r->effects.by_id.n < r->opt.n_ids;
    do {
        if (ends && r->effects.last_id >= last) r->effects.last_id = r->opt.first_id;
        r->effects.last_id++;
    } while (ends && pdl_idmap_find(&r->effects.by_id, r->effects.last_id));
    return r->effects.last_id;
}

pdl_inflight *pdl_inflight_new(pdl_fiber *f, pdl_effect_kind kind, pdl_loc loc) {
    pdl_run *r = f->run;
    pdl_inflight *c = PDL_NEW(pdl_inflight);
    c->id = next_id(r);
    c->fiber = f->id;
    c->kind = kind;
    c->run = r;
    c->loc = loc;
    c->library_entry_loc = pdl_library_entry_loc(f);
    c->value = c->text = c->role = c->extra = c->raw = pdl_absent();
    c->path = pdl_path_keep(pdl_vm_block_path(f));
    if (f->frames.n) c->code = pdl_code_keep(frame(f)->code);
    if (kind == PDL_EFFECT_object && f->code == c->code && !f->code->jinja)
        c->expr = f->code->sites.p[f->code->where.p[f->pc - 1].site].expr;
    c->pieces = PDL_BUF;
    c->nested = f->nested > 0;
    pdl_idmap_put(&r->effects.by_id, c->id, c);
    assert(pdl_inflight_ok(c));
    return c;
}

void pdl_inflight_free(pdl_inflight *c) {
    pdl_idmap_del(&c->run->effects.by_id, c->id);
    pdl_effect_free(c->effect);
    pdl_drop(c->value);
    pdl_drop(c->text);
    pdl_drop(c->role);
    pdl_drop(c->extra);
    pdl_drop(c->raw);
    pdl_path_drop(c->path);
    pdl_code_drop(c->code);
    pdl_free((char *)(uintptr_t)c->model.p);
    while (c->stages) {
        pdl_stage *s = c->stages;
        c->stages = s->next;
        pdl_drop(s->in);
        pdl_drop(s->out);
        pdl_free(s);
    }
    pdl_vec_fini(&c->waiters);
    pdl_buf_fini(&c->pieces);
    for (size_t i = 0; i < c->extras.n; i++) pdl_drop(c->extras.p[i]);
    pdl_vec_fini(&c->extras);
    pdl_free(c);
}

static void launch(pdl_run *r, pdl_inflight *c) {
    pdl_effect *e = c->effect;
    c->effect = NULL;
    if (c->kind == PDL_EFFECT_model) r->effects.n_models++;
    if (pdl_effect_has(c->kind, PDL_EFFECT_LATE)) r->effects.n_late++;
    if (c->kind == PDL_EFFECT_model || c->kind == PDL_EFFECT_embed) {
        pdl_vref model = pdl_dict_getz(e->request, "model");
        if (pdl_is_str(model)) pdl_secrets_note_model(r->opt.secrets, pdl_str_get(model));
        pdl_secrets_note_parameters(r->opt.secrets, pdl_dict_getz(e->request, "parameters"));
    }
    if (c->kind == PDL_EFFECT_http) pdl_secrets_note_page(r->opt.secrets, e->request);
    pdl_sinks_send(&r->opt.sinks, &(pdl_event){
                                      .kind = PDL_EVENT_effect,
                                      .effect = e,
                                      .label = c->code ? c->code->label : 0,
                                      .block = c->block,
                                      .path = c->path,
                                      .value = pdl_absent(),
                                      .context = pdl_absent(),
                                  });
    PDL_TRACE(r->opt.debug, effect, "%s %u starts", pdl_effect_kind_name(e->kind), e->id);
    r->opt.world->ops->start(r->opt.world, e);
}

static void launch_models(pdl_run *r) {
    for (pdl_inflight *c; (c = pdl_run_next_model(r));) launch(r, c);
    pdl_run_wake(r);
    assert(pdl_run_ok(r));
}

void pdl_inflight_start(pdl_fiber *f, pdl_inflight *c, pdl_val request) {
    pdl_path *place = pdl_vm_place_of(f);
    pdl_inflight_start_at(f, c, request, place, f->blocks.n ? pdl_vm_place_block(f)->effects++ : 0);
    pdl_path_drop(place);
}

/* Returns true when the requesting fiber waits for the end of effects of this kind, even when it
 * does not use their replies. */
static bool is_owned(pdl_effect_kind kind) {
    return kind == PDL_EFFECT_model || pdl_effect_has(kind, PDL_EFFECT_LATE);
}

/* Returns true when an unused failure is an error. A failed call of an object, a tool or a web
 * server is an error like a Python exception. A failed model call with an unused answer is not an
 * error (spec execution L1), and a failed attribute is undefined. */
static bool raises_unnoticed(pdl_effect_kind kind, pdl_vref request) {
    return kind == PDL_EFFECT_tool || kind == PDL_EFFECT_http ||
           (kind == PDL_EFFECT_object && pdl_text_is(pdl_dict_getz(request, "op"), "call"));
}

static void own(pdl_fiber *f, pdl_inflight *c, pdl_vref request) {
    c->handled = f->handlers.n > 0 || f->handled;
    c->number = f->n_calls++;
    f->n_open++;
    *pdl_vec_push(&f->calls) =
        (struct pdl_made){c->id, c->number, pdl_absent(), raises_unnoticed(c->kind, request)};
}

/* Returns true when a block around the effect is `idempotent`. An iteration of a map is also inside
 * the blocks around the map. */
bool pdl_inflight_is_repeatable(const pdl_fiber *f) {
    for (; f; f = f->parent)
        for (size_t i = f->blocks.n; i-- > 0;)
            if (f->blocks.p[i].info && f->blocks.p[i].info->block->rare->idempotent) return true;
    return false;
}

static bool has_profile(pdl_vref list, pdl_vref profile) {
    for (size_t i = 0; i < pdl_list_len(list); i++)
        if (pdl_val_eq(pdl_list_at(list, i), profile)) return true;
    return false;
}

/* Adds a profile at the front of the list, and returns the list. A block that calls itself adds its
 * profile once. */
static pdl_val add_profile(pdl_val list, pdl_val profile) {
    if (pdl_is_absent(profile)) return list;
    if (pdl_is_absent(list)) list = pdl_list_new(2);
    if (!has_profile(list, profile)) return pdl_list_insert(list, 0, profile);
    pdl_drop(profile);
    return list;
}

/* Leaves the frames that began inside of block number n or later: lowers *frames to the number of
 * the remaining frames, and collects the profiles and modules of the frames that were left. Takes
 * and returns the list. */
static pdl_val leave_frames(const pdl_fiber *f, size_t *frames, size_t n, pdl_effect *e,
                            pdl_val list) {
    while (*frames && f->frames.p[*frames - 1].blocks >= n) {
        const pdl_code *code = f->frames.p[--*frames].code;
        e->modules |= code->modules;
        if (!pdl_is_absent(code->sandbox)) list = add_profile(list, pdl_keep(code->sandbox));
    }
    return list;
}

/* Gives the effect its sandbox profiles and its modules. The profiles are the fields `sandbox` of
 * all blocks around the effect, and the profiles with which the fiber was started. The modules are
 * those around the effect that have a policy. An iteration of a map is also inside the blocks
 * around the map. */
static void confine(const pdl_fiber *f, pdl_effect *e) {
    pdl_val list = pdl_absent();
    const pdl_fiber *root = f;
    for (; f; root = f, f = f->parent) {
        size_t frames = f->run->code.has_modules ? f->frames.n : 0;
        for (size_t i = f->blocks.n; i-- > 0;) {
            list = leave_frames(f, &frames, i + 1, e, list);
            if (f->blocks.p[i].info && f->blocks.p[i].info->block->rare->sandbox)
                list = add_profile(list, pdl_block_sandbox(f->blocks.p[i].info->block));
        }
        list = leave_frames(f, &frames, 0, e, list);
    }
    e->modules |= root->modules;
    for (size_t i = pdl_is_list(root->sandbox) ? pdl_list_len(root->sandbox) : 0; i-- > 0;)
        list = add_profile(list, pdl_keep(pdl_list_at(root->sandbox, i)));
    e->sandbox = list;
    e->by_code = root->by_code;
}

uint64_t pdl_inflight_modules(const pdl_fiber *f) {
    uint64_t all = 0;
    for (; f && f->run->code.has_modules; f = f->parent) {
        for (size_t i = 0; i < f->frames.n; i++) all |= f->frames.p[i].code->modules;
        all |= f->modules;
    }
    return all;
}

void pdl_inflight_start_at(pdl_fiber *f, pdl_inflight *c, pdl_val request, pdl_path *place,
                           uint32_t seq) {
    pdl_run *r = f->run;
    pdl_effect_sink sink = {r, on_piece, on_reply, on_decision, c->gives_result ? on_extra : NULL};
    assert(pdl_inflight_ok(c) && !c->effect && !c->done);
    assert(pdl_effect_is_request(c->kind, request));
    c->effect = pdl_effect_new(c->kind, (pdl_effect_at){c->id, place, seq, c->loc}, request, sink);
    if (c->library_entry_loc.src) c->effect->user_loc = c->library_entry_loc;
    c->effect->control = f->control;
    c->effect->chosen = f->chosen;
    c->label |= f->control;
    c->effect->is_import = c->imports;
    c->effect->call_in = &r->effects.call_in;
    c->effect->own = r->opt.particle.own;
    c->effect->budget = pdl_budget_keep(f->budget);
    confine(f, c->effect);
    if (pdl_effect_has(c->kind, PDL_EFFECT_ACTS))
        c->effect->repeatable = !pdl_effect_acts(c->effect) || pdl_inflight_is_repeatable(f);
    if (pdl_effect_has(c->kind, PDL_EFFECT_WAITS)) pdl_run_mark_progress(f);
    if (is_owned(c->kind)) own(f, c, request);
    if (pdl_run_misses_chance(r, c->kind, c->effect->repeatable)) return;
    if (c->kind != PDL_EFFECT_model) {
        launch(r, c);
        return;
    }
    pdl_run_queue_model(r, c);
    launch_models(r);
}

void pdl_vm_start_effect(pdl_fiber *f, pdl_effect_kind kind, pdl_val request, pdl_loc loc) {
    pdl_inflight *c = pdl_inflight_new(f, kind, loc);
    c->value = pdl_promise_new(c->id);
    push(f, pdl_keep(c->value));
    pdl_inflight_start(f, c, request);
}

void pdl_vm_start_permit(pdl_fiber *f, const char *sink, pdl_val arguments, pdl_val labels) {
    pdl_val r = pdl_dict_putz(pdl_dict_new(4), "sink", pdl_textz(sink));
    r = pdl_dict_putz(r, "name", pdl_textz(""));
    r = pdl_dict_putz(r, "arguments", arguments);
    if (!pdl_is_absent(labels)) r = pdl_dict_putz(r, "labels", labels);
    pdl_inflight *c = pdl_inflight_new(f, PDL_EFFECT_permit, pdl_fiber_loc(f));
    c->value = pdl_promise_new(c->id);
    push(f, pdl_keep(c->value));
    pdl_path *place = pdl_vm_place_of(f);
    pdl_inflight_start_at(f, c, r, place, 0);
    pdl_path_drop(place);
}

static void fail_promise(pdl_val p, const pdl_err *err) {
    if (!pdl_is_absent(p) && pdl_promise_of(p)->state == PDL_PROMISE_PENDING)
        pdl_promise_fail(pdl_promise_of(p), err);
}

static pdl_val message_extra(pdl_vref message) {
    pdl_val d = pdl_dict_new(2);
    for (size_t i = 0, n = pdl_is_dict(message) ? pdl_dict_len(message) : 0; i < n; i++) {
        pdl_vref k = pdl_dict_key_at(message, i), v = pdl_dict_val_at(message, i);
        if (pdl_text_is(k, "role") || pdl_text_is(k, "content") || pdl_is_null(v)) continue;
        d = pdl_dict_put(d, pdl_keep(k), pdl_keep(v));
    }
    return d;
}

static void count_usage(pdl_inflight *c, pdl_vref usage) {
    if (!pdl_is_dict(usage)) return;
    int64_t prompt, completion;
    if (!pdl_int_get(pdl_dict_getz(usage, "prompt_tokens"), &prompt)) return;
    if (!pdl_int_get(pdl_dict_getz(usage, "completion_tokens"), &completion)) return;
    pdl_usage *u = c->nested ? &c->run->effects.nested_usage : &c->run->effects.usage;
    u->calls++;
    u->label |= c->label;
    u->prompt += prompt;
    u->completion += completion;
    pdl_sinks_send(&c->run->opt.sinks, &(pdl_event){
                                           .kind = PDL_EVENT_usage,
                                           .block = c->block,
                                           .path = c->path,
                                           .value = usage,
                                           .context = pdl_absent(),
                                       });
}

static pdl_val choice_of(pdl_vref raw) {
    pdl_vref choices = pdl_is_dict(raw) ? pdl_dict_getz(raw, "choices") : pdl_absent();
    pdl_vref first =
        pdl_is_list(choices) && pdl_list_len(choices) ? pdl_list_at(choices, 0) : pdl_absent();
    return pdl_is_dict(first) ? pdl_keep(first) : pdl_absent();
}

static void fill_model(pdl_inflight *c, pdl_vref v) {
    pdl_vref content = pdl_dict_getz(v, "content"), message = pdl_dict_getz(v, "message"),
             raw = pdl_dict_getz(v, "raw");
    pdl_vref role = pdl_is_dict(message) ? pdl_dict_getz(message, "role") : pdl_absent();
    pdl_err ignored = {0};
    /* A content that is not a text has no pieces, so its text becomes one piece here. */
    pdl_buf whole = PDL_BUF_INIT(PDL_MAX_TEXT);
    if (!pdl_is_str(content) && !c->pieces.len && !pdl_stringify(content, &whole, &ignored))
        pdl_err_fini(&ignored);
    else
        pdl_out_piece(c, pdl_buf_str(&whole));
    pdl_buf_fini(&whole);
    pdl_promise_fill(pdl_promise_of(c->text), pdl_with_label(pdl_keep(content), c->label));
    if (c->run->opt.keep_answers) pdl_promise_of(c->text)->answer = choice_of(raw);
    pdl_promise_fill(pdl_promise_of(c->role), pdl_is_str(role)
                                                  ? pdl_with_label(pdl_keep(role), c->label)
                                                  : pdl_textz("assistant"));
    pdl_promise_fill(pdl_promise_of(c->extra), pdl_with_label(message_extra(message), c->label));
    if (!pdl_is_absent(c->raw))
        pdl_promise_fill(pdl_promise_of(c->raw),
                         pdl_with_label(pdl_is_absent(raw) ? pdl_null() : pdl_keep(raw), c->label));
    count_usage(c, pdl_dict_getz(v, "usage"));
}

/* Returns the labels that the objects in a value got when they were made. An item, an attribute or
 * the result of a filter gets the labels of the objects from which it was taken. The conditions
 * that chose the value add labels to the value, but not to its objects. */
static pdl_label label_of_making(const pdl_inflight *c, const pdl_effect *e) {
    if (c->kind != PDL_EFFECT_object || pdl_text_is(pdl_dict_getz(e->request, "op"), "call"))
        return c->label;
    return pdl_handles_making(e->request);
}

static void fill_value(pdl_inflight *c, const pdl_effect *e, pdl_vref v) {
    if (pdl_flags_of(v) & PDL_F_HANDLE) pdl_handles_made(v, label_of_making(c, e));
    pdl_promise_fill(pdl_promise_of(c->value), pdl_with_label(pdl_keep(v), c->label));
}

static void cut_call(pdl_fiber *f, size_t i) {
    struct pdl_made *p = &f->calls.p[i];
    pdl_drop(p->failed);
    memmove(p, p + 1, (f->calls.n - i - 1) * sizeof *p);
    f->calls.n--;
}

/* Returns true when an attempt of f began between the calls with the numbers `earlier` and
 * `later`. */
static bool is_attempt_between(const pdl_fiber *f, uint32_t earlier, uint32_t later) {
    for (size_t i = f->handlers.n; i-- > 0 && f->handlers.p[i].calls_from > earlier;)
        if (f->handlers.p[i].calls_from <= later) return true;
    return false;
}

/* Forgets the i-th unnoticed failure when the failure before it is always reported in its place. So
 * a loop whose calls all fail takes no memory. */
static void cut_repeated(pdl_fiber *f, size_t i) {
    if (i == 0 || i >= f->calls.n) return;
    const struct pdl_made *a = &f->calls.p[i - 1], *b = &f->calls.p[i];
    if (pdl_is_absent(a->failed) || pdl_is_absent(b->failed) || (b->raises && !a->raises)) return;
    if (!is_attempt_between(f, a->number, b->number)) cut_call(f, i);
}

/* Updates the owner's list. An ended call leaves the list; a failed call stays in it until its
 * failure is noticed. */
static void remove_from_owner(pdl_inflight *c, pdl_val failed) {
    pdl_fiber *f = pdl_idmap_find(&c->run->fibers.by_id, c->fiber);
    if (!f || !is_owned(c->kind)) {
        pdl_drop(failed);
        return;
    }
    size_t lo = 0; /* the calls are sorted by number */
    PDL_BISECT(lo, f->calls.n, f->calls.p[mid].number < c->number);
    assert(f->n_open > 0);
    f->n_open--;
    bool known = lo < f->calls.n &&
                 /* false when the call belongs to an abandoned attempt */
                 f->calls.p[lo].id == c->id;
    if (known) {
        bool attribute = c->kind == PDL_EFFECT_object && !f->calls.p[lo].raises;
        f->calls.p[lo].failed = failed;
        if (pdl_is_absent(failed) || attribute) cut_call(f, lo);
        failed = pdl_absent();
        cut_repeated(f, lo + 1);
        cut_repeated(f, lo);
    }
    pdl_drop(failed);
    if (known && f->state == FIBER_WAIT_CALLS && c->number >= f->wait_from && --f->wait_left == 0)
        pdl_fiber_ready(f);
}

static void fail_call(pdl_inflight *c, const pdl_err *why) {
    pdl_err err = {0};
    pdl_err_copy(&err, why);
    err.label |= c->label;
    if (c->kind == PDL_EFFECT_code && c->block && !err.loc.src) {
        pdl_vm_mark_code(c->block, &err);
        pdl_vm_advise_python(PDL_AS(code, c->block), &err);
    }
    /* An error of another kind, such as a host program may give, is not reworded. */
    bool raised =
        err.kind == PDL_E_code || err.kind == PDL_E_memory || err.kind == PDL_E_expression;
    if (c->expr && raised && !err.uncatchable) pdl_vm_expression_error(c->expr, &err);
    pdl_err_at(&err, c->loc);
    /* the reply may be awaited after the function of the library has returned */
    pdl_err_move_to_call(&err, c->library_entry_loc);
    if (c->code && c->code->stdlib) err.skips_library = false;
    c->failed = true;
    fail_promise(c->value, &err);
    fail_promise(c->text, &err);
    fail_promise(c->role, &err);
    fail_promise(c->extra, &err);
    fail_promise(c->raw, &err);
    pdl_err_fini(&err);
}

/* Reports when code has left something outside of the run. */
static void note_state(pdl_run *r, const pdl_effect *e, const pdl_reply *reply, pdl_loc loc) {
    bool is_object = !pdl_is_absent(reply->value) && pdl_vm_has_object(reply->value);
    if (is_object || pdl_effect_uses_session(e)) pdl_run_cannot_copy(r, loc);
}

void pdl_inflight_answered(pdl_inflight *c, const pdl_effect *e, const pdl_reply *reply) {
    pdl_run *r = c->run;
    assert(pdl_inflight_ok(c) && !c->done);
    c->done = true;
    assert(c->kind != PDL_EFFECT_model || r->effects.n_models > 0);
    assert(!pdl_effect_has(c->kind, PDL_EFFECT_LATE) || r->effects.n_late > 0);
    if (c->kind == PDL_EFFECT_model) r->effects.n_models--;
    if (pdl_effect_has(c->kind, PDL_EFFECT_LATE)) r->effects.n_late--;
    PDL_TRACE(r->opt.debug, effect, "%s %u ends%s%s", pdl_effect_kind_name(c->kind), c->id,
              reply->err.kind ? ": " : "", reply->err.kind ? reply->err.msg : "");
    if (reply->err.kind)
        fail_call(c, &reply->err);
    else if (c->kind == PDL_EFFECT_model)
        fill_model(c, reply->value);
    else
        fill_value(c, e, reply->value);
    if (c->kind == PDL_EFFECT_code) note_state(r, e, reply, c->loc);
    pdl_val failed = !c->failed                    ? pdl_absent()
                     : c->kind == PDL_EFFECT_model ? pdl_keep(c->text)
                                                   : pdl_keep(c->value);
    for (pdl_stage *s = c->stages; s; s = s->next) {
        pdl_vm_run_stage(r, s, reply->err.kind ? pdl_absent() : reply->value);
        if (pdl_is_absent(failed) && pdl_promise_of(s->out)->state == PDL_PROMISE_FAILED)
            failed = pdl_keep(s->out);
    }
    if (!pdl_is_absent(failed) && c->code) pdl_vm_keep_code(r, c->code);
    c->refused = c->waits && !pdl_is_absent(failed) && !c->failed;
    remove_from_owner(c, failed);
    assert(pdl_inflight_ok(c));
    for (size_t i = 0; i < c->waiters.n; i++) {
        pdl_fiber *f = pdl_idmap_find(&r->fibers.by_id, c->waiters.p[i]);
        if (f && f->state == FIBER_WAIT_CALL && f->wait_id == c->id) pdl_fiber_ready(f);
    }
    bool standing = c->out != NULL;
    if (standing)
        pdl_out_flush(r); /* the queue frees the call after sending its pieces */
    else
        pdl_inflight_free(c);
    launch_models(r);
}

/* --- all of a run ----------------------------------------------------------------------------- */

void pdl_run_effects_cancel(const pdl_run *r) {
    const pdl_idmap *all = &r->effects.by_id;
    for (size_t i = 0; all->keys && i <= all->mask; i++) {
        if (!all->keys[i]) continue;
        const pdl_inflight *c = all->vals[i];
        if (!c->done && !c->effect) r->opt.world->ops->cancel(r->opt.world, c->id);
    }
}

/* Freeing an effect moves other effects in the table, so they are listed first. */
void pdl_run_effects_end(pdl_run_effects *e) {
    PDL_VEC(pdl_inflight *) all = {0};
    for (size_t i = 0; e->by_id.keys && i <= e->by_id.mask; i++)
        if (e->by_id.keys[i]) *pdl_vec_push(&all) = e->by_id.vals[i];
    for (size_t i = 0; i < all.n; i++) pdl_inflight_free(all.p[i]);
    pdl_vec_fini(&all);
    pdl_idmap_fini(&e->by_id);
    pdl_vec_fini(&e->queue);
}

bool pdl_run_effects_ok(const pdl_run_effects *e) {
    return e->queue_head <= e->queue.n && e->n_models <= e->by_id.n && e->n_late <= e->by_id.n;
}

void pdl_run_usage(const pdl_run *r, int64_t *calls, int64_t *completion, int64_t *prompt) {
    *calls = r->effects.usage.calls;
    *completion = r->effects.usage.completion;
    *prompt = r->effects.usage.prompt;
}
