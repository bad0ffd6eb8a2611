/* ops_model.c -- model blocks: messages, parameters, the request, and the promise of the reply
 * (spec execution 8; providers 1). The block does not wait for the reply: its value is a promise,
 * which is resolved where the text is needed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "value/context.h"
#include "value/text.h"
#include "value/type_words.h"
#include "vm/fiber.h"
#include "vm/inflight.h"
#include "vm/inflight_limit.h"
#include "vm/ops.h"
#include "vm/output_order.h"
#include "vm/particle.h"
#include "vm/retry.h"
#include "vm/run.h"
#include "vm/stacks.h"
#include "vm/wait.h"

#include "base/banned.h"

/* Makes the messages without the ids of their blocks. *traced gets the messages with ids, for the
 * trace; it is absent when the run is not traced. */
static bool messages_of(pdl_fiber *f, pdl_vref input, pdl_val *out, pdl_val *traced, pdl_err *err) {
    pdl_val ctx;
    *traced = pdl_absent();
    if (pdl_messages_are_plain(input)) {
        *out = pdl_keep(input);
        if (wants_blocks(f->run)) *traced = pdl_keep(input);
        return true;
    }
    if (pdl_is_str(input)) {
        ctx = pdl_context_one(pdl_keep(f->role), pdl_keep(input), pdl_absent(), NULL);
    } else if (!pdl_context_from(input, &ctx, err)) {
        if (pdl_is_int(input) || pdl_is(input, PDL_V_FLOAT) || pdl_is_bool(input))
            pdl_err_hint(err, PDL_CONTEXT_NUMBER);
        return false;
    }
    *out = pdl_context_messages(ctx);
    if (wants_blocks(f->run)) *traced = pdl_keep(ctx);
    pdl_drop(ctx);
    return true;
}

/* Reports the messages of the request in the form that a trace shows. Takes traced. */
static void send_input(pdl_fiber *f, pdl_val traced) {
    if (pdl_is_absent(traced)) return;
    pdl_vm_send_field(f, "pdl__model_input", traced, 0);
    pdl_drop(traced);
}

static pdl_step model_error(pdl_err *err, pdl_vref model, pdl_loc loc) {
    pdl_buf b = PDL_BUF;
    PDL_PUT(&b, "Error during '");
    pdl_val_show(model, false, 200, &b);
    pdl_buf_putf(&b, "' model call: %s(", err->py_class ? err->py_class : "ValueError");
    pdl_str_repr(pdl_str_of(err->msg), &b);
    pdl_buf_putc(&b, ')');
    pdl_err_reword(err, &b);
    err->kind = PDL_E_bad_request;
    err->loc = loc;
    return PDL_STEP_FAIL;
}

/* Replaces functions in the model's parameters by their declarations. Adds defaults when there is a
 * model. */
static bool parameters_of(pdl_fiber *f, pdl_vref model, pdl_vref given, pdl_val *out,
                          pdl_err *err) {
    if (!pdl_is_dict(given) && !pdl_is_null(given)) {
        pdl_err_host(err, "TypeError", "parameters should be an object, not %s",
                     pdl_type_name(given));
        pdl_err_hint(err, "write parameters: {NAME: VALUE}");
        return false;
    }
    pdl_val p = pdl_is_null(given) ? pdl_dict_new(0) : pdl_keep(given);
    if (!pdl_vm_declare_tools(f, &p, err)) return false;
    pdl_vref list = pdl_scope_find(f->scope, f->run->code.names.defaults);
    if (pdl_is_absent(model) || !f->run->opt.defaults || !pdl_is_list(list)) {
        *out = p;
        return true;
    }
    return f->run->opt.defaults(list, pdl_str_get(model), p, out, err);
}

static pdl_val schema_of(const pdl_b_model *b, pdl_vref params) {
    bool structured = !b->structured.given || b->structured.value;
    pdl_vref format = pdl_dict_getz(params, "response_format");
    bool asked = !pdl_is_absent(format) && !pdl_is_null(format);
    const pdl_type *spec = b->head.rare->spec.type;
    if (!structured || !spec || pdl_type_is_any(spec) || asked) return pdl_null();
    return pdl_type_schema(spec, false);
}

static void promise_parts(pdl_fiber *f, pdl_inflight *c, const pdl_b_model *b) {
    c->text = pdl_promise_new(c->id);
    c->role = pdl_promise_new(c->id);
    c->extra = pdl_promise_new(c->id);
    pdl_path *p = pdl_vm_block_path(f);
    set_val(&f->background,
            pdl_context_reply(pdl_keep(c->role), pdl_keep(c->text), pdl_keep(c->extra), p));
    if (!b->response.s.p) return;
    c->raw = pdl_promise_new(c->id);
    f->scope =
        pdl_scope_put(f->scope, pdl_intern(f->run->opt.names, b->response.s), pdl_keep(c->raw));
}

/* Returns true when the last message mentions the error. The messages then contain the context, to
 * which the failed attempt has already added the error. */
static bool mentions_error(pdl_vref messages) {
    size_t n = pdl_list_len(messages);
    pdl_vref last = n ? pdl_list_at(messages, n - 1) : pdl_absent();
    pdl_vref content = pdl_is_dict(last) ? pdl_dict_getz(last, "content") : pdl_absent();
    if (!pdl_is_str(content)) return false;
    return pdl_str_starts(pdl_str_get(content), PDL_STR(TRACED_ERROR)) ||
           pdl_str_is(pdl_str_get(content), TRACED_AGAIN);
}

/* Adds the messages that a failed attempt left. Takes messages. */
static pdl_val with_repair(pdl_fiber *f, pdl_val messages) {
    const pdl_attempts *a = block(f)->attempts;
    if (!a || pdl_is_absent(a->repair) || mentions_error(messages)) return messages;
    return pdl_list_concat(messages, a->repair);
}

/* Makes a list of a context to which with_repair will add messages. Any other context is unchanged,
 * so that a long one is not copied. Takes messages. */
static pdl_val listed(pdl_fiber *f, pdl_val messages) {
    const pdl_attempts *a = block(f)->attempts;
    if (!pdl_is(messages, PDL_V_CONTEXT) || !a || pdl_is_absent(a->repair)) return messages;
    pdl_val list = pdl_context_to_list(messages);
    pdl_drop(messages);
    return list;
}

/* Returns the model of a processor: its name, or else its type; null when it has neither of them.
 * Borrowed. */
static pdl_vref processor_model(pdl_vref processor) {
    pdl_vref m = pdl_dict_getz(processor, "model");
    if (!pdl_is_str(m)) m = pdl_dict_getz(processor, "type");
    return pdl_is_str(m) ? m : pdl_null();
}

static bool check_processor(const pdl_b_model *b, pdl_vref v, pdl_err *err) {
    return pdl_is_dict(v) ||
           pdl_err_set(err, PDL_E_type, pdl_field_loc(&b->head, "processor"),
                       "processor should be an object {type, model, backend} but is %s",
                       pdl_type_plain(v));
}

/* Makes the request. model is the name of the model, or the processor of a block that has no model.
 */
static pdl_val request_of(pdl_fiber *f, const pdl_b_model *b, pdl_vref model, pdl_val messages,
                          pdl_val params) {
    pdl_val r = pdl_dict_new(6);
    r = pdl_dict_putz(r, "model", pdl_keep(b->model ? model : processor_model(model)));
    if (!b->model) r = pdl_dict_putz(r, "processor", pdl_keep(model));
    r = pdl_dict_putz(r, "platform",
                      b->platform.s.p ? pdl_text(b->platform.s)
                                      : pdl_textz(b->model ? "litellm" : "granite-io"));
    r = pdl_dict_putz(r, "messages", messages);
    pdl_val schema = schema_of(b, params);
    r = pdl_dict_putz(r, "parameters", params);
    r = pdl_dict_putz(r, "schema", schema);
    if (!pdl_is_null(schema) && b->head.rare->parser)
        r = pdl_dict_putz(r, "parsed", pdl_bool(true));
    return pdl_dict_putz(r, "stream", pdl_bool(f->run->opt.stream != PDL_STREAM_NONE));
}

/* Returns true when this code, from here to its end, neither changes the result nor
 * adds a message. */
static bool is_last(const pdl_code *code, size_t pc) {
    static const uint8_t harmless[] = {PDL_OP_CHILD,     PDL_OP_LEAVE,       PDL_OP_BIND_KEEP,
                                       PDL_OP_JOIN_TEXT, PDL_OP_TRACE_FIELD, PDL_OP_AWAIT};
    while (pc < code->ins.n && code->ins.p[pc].op != PDL_OP_RETURN) {
        const pdl_ins *i = &code->ins.p[pc];
        if (i->op == PDL_OP_JUMP && i->c > pc) {
            pc = i->c;
            continue;
        }
        if (!memchr(harmless, i->op, sizeof harmless)) return false;
        pc++;
    }
    return true;
}

/* Returns true when the answer of the call that f makes now will be the result of the run in any
 * case. A client of `pdl serve` then gets the model's calls of tools and its thoughts while they
 * arrive. Most programs of a server end with the model. When this is not certain yet (in a handler,
 * a parser or a loop), the client gets the calls and thoughts at the end of the run. */
static bool gives_result(const pdl_fiber *f) {
    const pdl_run_options *opt = &f->run->opt;
    if (!opt->keep_answers || opt->stream == PDL_STREAM_NONE || !(f->print & PRINT_RESULT))
        return false;
    if (f != f->run->fibers.main || f->handlers.n || f->handled || f->loops.n || f->bufs.n)
        return false;
    const pdl_code *code = f->code;
    size_t pc = f->pc;
    for (size_t i = f->frames.n; i-- > 0;) {
        const pdl_vm_frame *fr = &f->frames.p[i];
        if (!is_last(code, pc)) return false;
        if (fr->kind == FRAME_MAIN) return true;
        if ((fr->kind != FRAME_CALL && fr->kind != FRAME_INCLUDE) || i == 0) return false;
        code = f->frames.p[i - 1].code;
        pc = fr->return_pc;
    }
    return false;
}

pdl_step pdl_op_MODEL(pdl_fiber *f, const pdl_b_model *b, pdl_err *err) {
    pdl_step s = pdl_vm_force_n(f, 3, err);
    if (s == PDL_STEP_DONE) s = pdl_await_model_slot(f);
    if (s == PDL_STEP_DONE) s = pdl_await_chance(f, false);
    if (s != PDL_STEP_DONE) return s;
    pdl_vref model = *under(f, 2), given = *under(f, 1), input = *top(f);
    pdl_val params, messages, traced;
    if (b->model && !pdl_is_str(model)) {
        pdl_err_set(err, PDL_E_type, pdl_field_loc(&b->head, "model"),
                    "model should be a string but is %s", pdl_type_plain(model));
        return PDL_STEP_FAIL;
    }
    if (!b->model && !check_processor(b, model, err)) return PDL_STEP_FAIL;
    pdl_vref name = b->model ? model : processor_model(model);
    if (!parameters_of(f, b->model ? name : pdl_absent(), given, &params, err))
        return model_error(err, name, pdl_field_loc(&b->head, "parameters"));
    if (!messages_of(f, input, &messages, &traced, err)) {
        pdl_drop(params);
        return model_error(err, name, pdl_block_own_loc(&b->head));
    }
    pdl_inflight *c = pdl_inflight_new(f, PDL_EFFECT_model, pdl_block_own_loc(&b->head));
    c->block = &b->head;
    promise_parts(f, c, b);
    if (block(f)->attempts) set_val(&block(f)->attempts->answer, pdl_keep(c->text));
    pdl_val request = request_of(f, b, model, with_repair(f, messages), params);
    if (!pdl_is_absent(traced)) traced = with_repair(f, listed(f, traced));
    send_input(f, traced);
    pdl_vm_cut_stack(f, f->stack.n - 3);
    push(f, pdl_keep(c->text));
    bool shows = (f->print & PRINT_RESULT) != 0, shows_context = (f->print & PRINT_CONTEXT) != 0;
    c->gives_result = gives_result(f);
    if (f->run->opt.stream != PDL_STREAM_NONE)
        pdl_out_call(f, c, shows || shows_context, shows_context);
    pdl_inflight_start(f, c, request);
    return step_of(true);
}
