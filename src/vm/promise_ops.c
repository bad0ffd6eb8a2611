/* promise_ops.c -- waiting for what is not there yet, and the calls to the outside that fill it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "vm/fiber.h"

#include <assert.h>

#include "base/limits.h"

#include "base/banned.h"

static const char spec_checking[] = "during spec checking";

static pdl_step wait_for_call(pdl_fiber *f, uint32_t id) {
    pdl_inflight *c = pdl_idmap_find(&f->run->calls, id);
    if (!c) PDL_BUG("promise of call %u that is gone", id);
    *pdl_vec_push(&c->waiters) = f->id;
    f->state = FIBER_WAIT_CALL;
    f->wait_id = id;
    return PDL_STEP_WAIT;
}

pdl_step pdl_vm_force(pdl_fiber *f, pdl_val *slot, pdl_err *err) {
    if (PDL_LIKELY(!pdl_may_hold_promise(*slot))) return PDL_STEP_DONE;
    pdl_vref b = pdl_promise_blocking(*slot);
    if (pdl_is_absent(b)) {
        pdl_val out;
        if (!pdl_promise_resolve(*slot, &out, err)) return PDL_STEP_FAIL;
        set_val(slot, out);
        return PDL_STEP_DONE;
    }
    pdl_promise *p = pdl_promise_of(b);
    if (p->state == PDL_PROMISE_FAILED) {
        pdl_err_copy(err, &p->err);
        return PDL_STEP_FAIL;
    }
    return wait_for_call(f, p->id);
}

pdl_step pdl_vm_force_n(pdl_fiber *f, size_t n, pdl_err *err) {
    for (size_t i = 0; i < n; i++) {
        pdl_step s = pdl_vm_force(f, under(f, i), err);
        if (s != PDL_STEP_DONE) return s;
    }
    return PDL_STEP_DONE;
}

pdl_step pdl_inflight_await(pdl_fiber *f, uint32_t from, bool raise, pdl_err *err) {
    uint32_t open = 0;
    for (size_t i = f->calls.n; i-- > 0 && f->calls.p[i].number >= from;)
        open += pdl_is_absent(f->calls.p[i].failed);
    if (open) {
        f->state = FIBER_WAIT_CALLS;
        f->wait_from = from;
        f->wait_left = open;
        return PDL_STEP_WAIT;
    }
    size_t first = f->calls.n; /* what is left has failed */
    while (first > 0 && f->calls.p[first - 1].number >= from) first--;
    if (!raise || first == f->calls.n) return PDL_STEP_DONE;
    pdl_err_copy(err, &pdl_promise_of(f->calls.p[first].failed)->err);
    while (f->calls.n > first) pdl_drop(f->calls.p[--f->calls.n].failed);
    return PDL_STEP_FAIL;
}

void pdl_inflight_forget(pdl_fiber *f, uint32_t from) {
    while (f->calls.n && f->calls.p[f->calls.n - 1].number >= from)
        pdl_drop(f->calls.p[--f->calls.n].failed);
}

void pdl_inflight_adopt(pdl_fiber *to, pdl_fiber *from) {
    for (size_t i = 0; i < from->calls.n; i++) {
        struct pdl_made m = from->calls.p[i];
        m.number = to->n_calls++;
        pdl_inflight *c = pdl_is_absent(m.failed) ? pdl_idmap_find(&to->run->calls, m.id) : NULL;
        if (c) {
            c->fiber = to->id;
            c->number = m.number;
            to->n_open++;
        }
        *pdl_vec_push(&to->calls) = m;
    }
    from->calls.n = 0;
    from->n_open = 0;
}

/* --- calls ------------------------------------------------------------------------------------ */

static void on_piece(void *user, const pdl_effect *e, pdl_str text) {
    pdl_run *r = user;
    pdl_inflight *c = pdl_idmap_find(&r->calls, e->id);
    if (!c) return;
    pdl_sinks_send(&r->opt.sinks, &(pdl_event){
                                      .kind = PDL_EVENT_piece,
                                      .effect = e,
                                      .text = text,
                                      .value = pdl_absent(),
                                      .context = pdl_absent(),
                                  });
    c->label |= pdl_effect_label(e);
    /* what code prints goes straight out: L4 made it wait for all that stands before */
    if (c->kind == PDL_EFFECT_code) {
        pdl_fiber *f = pdl_idmap_find(&r->fibers, c->fiber);
        if (f) pdl_out_write(f, text, 1, c->label);
        return;
    }
    if (!c->out) return;
    pdl_buf_put(&c->pieces, text);
    pdl_out_flush(r);
}

/* What a world says of a model call beside its answer, or of its failure. Owned; absent:
 * nothing. */
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
    pdl_inflight *c = pdl_idmap_find(&r->calls, e->id);
    pdl_val notes = r->opt.sinks.wants_blocks ? notes_of(e, reply) : pdl_absent();
    pdl_sinks_send(&r->opt.sinks, &(pdl_event){.kind = PDL_EVENT_reply,
                                               .effect = e,
                                               .reply = reply,
                                               .block = c ? c->block : NULL,
                                               .path = e->place,
                                               .err = reply->err.kind ? &reply->err : NULL,
                                               .value = notes,
                                               .context = pdl_absent()});
    pdl_drop(notes);
    r->heard |= (pdl_effect_label(e) & PDL_LABELS_UNTRUSTED) != 0;
    if (c) c->label |= pdl_effect_label(e);
    if (c) pdl_inflight_answered(c, reply);
}

/* Of a run with a range of ids for itself that is used up they come again. LIMIT: when all are in
 * use at the same time, which takes a million open calls, those of the next range follow. */
static uint32_t next_id(pdl_run *r) {
    uint32_t last = r->opt.first_id + r->opt.n_ids;
    bool ends = r->opt.n_ids && r->calls.n < r->opt.n_ids;
    do {
        if (ends && r->next_call >= last) r->next_call = r->opt.first_id;
        r->next_call++;
    } while (ends && pdl_idmap_find(&r->calls, r->next_call));
    return r->next_call;
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
    if (f->frames.n) c->code = pdl_code_keep(f->frames.p[f->frames.n - 1].code);
    if (kind == PDL_EFFECT_object && f->code == c->code && !f->code->jinja)
        c->expr = f->code->sites.p[f->code->where.p[f->pc - 1].site].expr;
    c->pieces = PDL_BUF;
    c->nested = f->nested > 0;
    pdl_idmap_put(&r->calls, c->id, c);
    return c;
}

void pdl_inflight_free(pdl_inflight *c) {
    pdl_idmap_del(&c->run->calls, c->id);
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
        pdl_drop(s->func_name);
        pdl_free(s);
    }
    pdl_vec_fini(&c->waiters);
    pdl_buf_fini(&c->pieces);
    pdl_free(c);
}

static void launch(pdl_run *r, pdl_inflight *c) {
    pdl_effect *e = c->effect;
    c->effect = NULL;
    if (c->kind == PDL_EFFECT_model) r->open_models++;
    if (c->kind == PDL_EFFECT_model || c->kind == PDL_EFFECT_embed)
        pdl_secrets_note_parameters(r->opt.secrets, pdl_dict_getz(e->request, "parameters"));
    pdl_sinks_send(&r->opt.sinks, &(pdl_event){
                                      .kind = PDL_EVENT_effect,
                                      .effect = e,
                                      .value = pdl_absent(),
                                      .context = pdl_absent(),
                                  });
    PDL_TRACE(r->opt.debug, effect, "%s %u starts", pdl_effect_kind_name(e->kind), e->id);
    r->opt.world->ops->start(r->opt.world, e);
}

void pdl_run_queue_models(pdl_run *r) {
    uint32_t jobs = r->opt.jobs ? r->opt.jobs : PDL_MAX_JOBS;
    while (r->queue_head < r->queue.n && r->open_models < jobs) {
        pdl_inflight *c = pdl_idmap_find(&r->calls, r->queue.p[r->queue_head++]);
        if (c && c->effect) launch(r, c);
    }
    if (r->queue_head == r->queue.n) r->queue_head = r->queue.n = 0;
}

void pdl_inflight_start(pdl_fiber *f, pdl_inflight *c, pdl_val request) {
    pdl_path *place = pdl_vm_place_of(f);
    pdl_inflight_start_at(f, c, request, place, f->blks.n ? pdl_vm_place_block(f)->effects++ : 0);
    pdl_path_drop(place);
}

void pdl_inflight_start_at(pdl_fiber *f, pdl_inflight *c, pdl_val request, pdl_path *place,
                           uint32_t seq) {
    pdl_run *r = f->run;
    pdl_effect_sink sink = {r, on_piece, on_reply};
    assert(pdl_effect_is_request(c->kind, request));
    c->effect = pdl_effect_new(c->kind, c->id, place, seq, c->loc, request, sink);
    c->effect->call_in = &r->call_in;
    c->effect->budget = pdl_budget_keep(f->budget);
    if (pdl_effect_has(c->kind, PDL_EFFECT_WAITS)) pdl_run_mark_progress(f);
    if (c->kind != PDL_EFFECT_model) {
        launch(r, c);
        return;
    }
    c->handled = f->handlers.n > 0 || f->handled;
    c->number = f->n_calls++;
    f->n_open++;
    *pdl_vec_push(&f->calls) = (struct pdl_made){c->id, c->number, pdl_absent()};
    *pdl_vec_push(&r->queue) = c->id;
    pdl_run_queue_models(r);
}

void pdl_vm_start_effect(pdl_fiber *f, pdl_effect_kind kind, pdl_val request, pdl_loc loc) {
    pdl_inflight *c = pdl_inflight_new(f, kind, loc);
    c->value = pdl_promise_new(c->id);
    push(f, pdl_keep(c->value));
    pdl_inflight_start(f, c, request);
}

static void fail_promise(pdl_val p, const pdl_err *err) {
    if (!pdl_is_absent(p) && pdl_promise_of(p)->state == PDL_PROMISE_PENDING)
        pdl_promise_fail(pdl_promise_of(p), err);
}

/* Applies parser and spec in order; each stage takes the value of the one before. */
static void run_stage(pdl_run *r, pdl_stage *s) {
    pdl_promise *in = pdl_promise_of(s->in);
    pdl_err err = {0};
    if (in->state == PDL_PROMISE_FAILED) {
        fail_promise(s->out, &in->err);
        return;
    }
    pdl_val v = pdl_keep(in->value), parsed;
    bool ok = true;
    if (s->parse) {
        ok = pdl_parse(s->block->more->parser->parser, v, &parsed, &err);
        if (ok)
            set_val(&v, pdl_with_label(parsed, pdl_label_of(in->value)));
        else {
            err.label |= pdl_label_of(v);
            pdl_err_at(&err, s->loc);
        }
    } else if (s->check) {
        ok = pdl_vm_check_value(r, s->block->more->spec, v,
                                &(pdl_checked){spec_checking, .loc = s->loc}, &err);
    }
    if (ok) {
        pdl_promise_fill(pdl_promise_of(s->out), v);
        return;
    }
    pdl_drop(v);
    fail_promise(s->out, &err);
    pdl_err_fini(&err);
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
    pdl_usage *u = c->nested ? &c->run->nested_usage : &c->run->usage;
    u->calls++;
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
    /* did not come in pieces */
    if (!pdl_is_str(content) && !c->pieces.len && !pdl_stringify(content, &c->pieces, &ignored))
        pdl_err_fini(&ignored);
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

/* The owner's list: an ended call leaves it, a failed one stays until somebody notices. */
static void tell_owner(pdl_inflight *c, pdl_val failed) {
    pdl_fiber *f = pdl_idmap_find(&c->run->fibers, c->fiber);
    if (!f || c->kind != PDL_EFFECT_model) {
        pdl_drop(failed);
        return;
    }
    size_t lo = 0, hi = f->calls.n; /* ordered by number */
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (f->calls.p[mid].number < c->number)
            lo = mid + 1;
        else
            hi = mid;
    }
    f->n_open--;
    bool known = lo < f->calls.n &&
                 f->calls.p[lo].id == c->id; /* not made by an attempt that was given up */
    if (known) {
        if (!pdl_is_absent(failed)) {
            f->calls.p[lo].failed = failed;
            failed = pdl_absent();
        } else {
            memmove(&f->calls.p[lo], &f->calls.p[lo + 1],
                    (f->calls.n - lo - 1) * sizeof f->calls.p[0]);
            f->calls.n--;
        }
    }
    pdl_drop(failed);
    if (known && f->state == FIBER_WAIT_CALLS && c->number >= f->wait_from && --f->wait_left == 0)
        pdl_fiber_ready(f);
}

static void fail_call(pdl_inflight *c, const pdl_err *why) {
    pdl_err err = {0};
    pdl_err_copy(&err, why);
    err.label |= c->label;
    if (c->kind == PDL_EFFECT_code && c->block && !err.loc.src) pdl_vm_mark_code(c->block, &err);
    bool raised = err.kind == PDL_E_code ||
                  err.kind == PDL_E_expression; /* not refused by a host, with a kind of its own */
    if (c->expr && raised && !err.uncatchable) pdl_vm_expression_error(c->expr, &err);
    pdl_err_at(&err, c->loc);
    c->failed = true;
    fail_promise(c->value, &err);
    fail_promise(c->text, &err);
    fail_promise(c->role, &err);
    fail_promise(c->extra, &err);
    fail_promise(c->raw, &err);
    pdl_err_fini(&err);
}

void pdl_inflight_answered(pdl_inflight *c, const pdl_reply *reply) {
    pdl_run *r = c->run;
    c->done = true;
    if (c->kind == PDL_EFFECT_model) r->open_models--;
    PDL_TRACE(r->opt.debug, effect, "%s %u ends%s%s", pdl_effect_kind_name(c->kind), c->id,
              reply->err.kind ? ": " : "", reply->err.kind ? reply->err.msg : "");
    if (reply->err.kind)
        fail_call(c, &reply->err);
    else if (c->kind == PDL_EFFECT_model)
        fill_model(c, reply->value);
    else
        pdl_promise_fill(pdl_promise_of(c->value),
                         pdl_with_label(pdl_keep(reply->value), c->label));
    pdl_val failed = c->failed ? pdl_keep(c->text) : pdl_absent();
    for (pdl_stage *s = c->stages; s; s = s->next) {
        run_stage(r, s);
        if (pdl_is_absent(failed) && pdl_promise_of(s->out)->state == PDL_PROMISE_FAILED)
            failed = pdl_keep(s->out);
    }
    if (!pdl_is_absent(failed) && c->code) pdl_vm_keep_code(r, c->code);
    tell_owner(c, failed);
    for (size_t i = 0; i < c->waiters.n; i++) {
        pdl_fiber *f = pdl_idmap_find(&r->fibers, c->waiters.p[i]);
        if (f && f->state == FIBER_WAIT_CALL && f->wait_id == c->id) pdl_fiber_ready(f);
    }
    bool standing = c->out != NULL;
    if (standing)
        pdl_out_flush(r); /* the output frees it when it has passed */
    else
        pdl_inflight_free(c);
    pdl_run_queue_models(r);
}

/* --- what is pending on a promise ------------------------------------------------------------- */

/* A stage behind the promise on top, which a call will fill: the top becomes the promise of the
 * stage. */
static bool add_stage(pdl_fiber *f, const pdl_block *b, bool parse, pdl_loc loc) {
    if (!pdl_is(*top(f), PDL_V_PROMISE)) return false;
    pdl_promise *p = pdl_promise_of(*top(f));
    pdl_inflight *c =
        p->state == PDL_PROMISE_PENDING && p->id ? pdl_idmap_find(&f->run->calls, p->id) : NULL;
    if (!c || c->kind != PDL_EFFECT_model) return false;
    pdl_stage *s = PDL_NEW(pdl_stage), **end = &c->stages;
    *s = (pdl_stage){
        .block = b,
        .in = *top(f),
        .out = pdl_promise_new(c->id),
        .parse = parse,
        .check = !parse,
        .func_name = pdl_absent(),
        .loc = loc,
    };
    *top(f) = pdl_keep(s->out);
    while (*end) end = &(*end)->next;
    *end = s;
    return true;
}

pdl_step pdl_op_parse(pdl_fiber *f, const pdl_block *b, pdl_err *err) {
    if (add_stage(f, b, true, b->more->parser_loc)) return PDL_STEP_DONE;
    pdl_step s = pdl_vm_force(f, top(f), err);
    if (s != PDL_STEP_DONE) return s;
    pdl_val out;
    if (!pdl_parse(b->more->parser->parser, *top(f), &out, err)) {
        err->label |= pdl_label_of(*top(f));
        pdl_err_at(err, b->more->parser_loc);
        return PDL_STEP_FAIL;
    }
    set_top(f, pdl_with_label(out, pdl_label_of(*top(f))));
    return PDL_STEP_DONE;
}

/* The problems as one message, a line each. */
static bool report_problems(const pdl_problems *problems, const pdl_checked *of, pdl_err *err) {
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "Type errors %s%s%.*s:", of->header, of->name.n ? " " : "", PDL_FMT(of->name));
    for (size_t i = 0; i < problems->n; i++) {
        const pdl_problem *p = &problems->p[i];
        pdl_loc at = p->loc.src && !p->at_header ? p->loc : of->loc;
        pdl_buf_putc(&b, '\n');
        pdl_loc_put(at, &b);
        pdl_buf_put(&b, p->text);
    }
    pdl_err_set(err, PDL_E_type, of->loc, "%s", pdl_buf_z(&b));
    pdl_buf_fini(&b);
    return false;
}

bool pdl_vm_check_value(pdl_run *r, const pdl_type *t, pdl_vref v, const pdl_checked *of,
                        pdl_err *err) {
    pdl_mark m = pdl_arena_mark(r->scratch);
    pdl_problems problems = {0};
    bool fits = false;
    bool done = pdl_type_check(t, v, of->args, r->scratch, &fits, &problems, err);
    PDL_TRACE(r->opt.debug, types, "%.*s:%u value %s", of->loc.src ? (int)of->loc.src->name.n : 0,
              of->loc.src ? of->loc.src->name.p : "", pdl_loc_line(of->loc),
              fits ? "fits" : "does not fit");
    if (!done)
        pdl_err_at(err, of->loc);
    else if (!fits)
        report_problems(&problems, of, err);
    if (!done || !fits) err->label |= pdl_label_of(v);
    pdl_arena_reset(r->scratch, m);
    return done && fits;
}

pdl_step pdl_op_check(pdl_fiber *f, const pdl_block *b, bool fallback, pdl_err *err) {
    pdl_loc loc = fallback ? b->more->fallback->loc : b->more->spec_loc;
    if (pdl_type_is_any(b->more->spec)) return PDL_STEP_DONE;
    if (!fallback && add_stage(f, b, false, loc)) return PDL_STEP_DONE;
    pdl_step s = pdl_vm_force(f, top(f), err);
    if (s != PDL_STEP_DONE) return s;
    return step_of(pdl_vm_check_value(f->run, b->more->spec, *top(f),
                                      &(pdl_checked){spec_checking, .loc = loc}, err));
}

pdl_step pdl_vm_check_function_result(pdl_fiber *f, const pdl_closure *c, pdl_err *err) {
    const pdl_block *b = &c->info->block->head;
    if (!b->more->spec || pdl_type_is_any(b->more->spec)) return PDL_STEP_DONE;
    pdl_step s = pdl_vm_force(f, top(f), err);
    if (s != PDL_STEP_DONE) return s;
    pdl_checked of = {"in result of the function", c->info->name_text, pdl_field_loc(b, "return"),
                      NULL};
    return step_of(pdl_vm_check_value(f->run, b->more->spec, *top(f), &of, err));
}
