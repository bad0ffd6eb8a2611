/* retry.c -- retries of a block: attempts, delays, the errors that lead to another attempt,
 * expectations (spec execution 5.5, 5.7, 5.8, 5.9).
 *
 * An attempt may print, change variables and leave calls open before it fails, and the next attempt
 * must start as if nothing had happened. So a block that retries or has a fallback pushes a handler
 * that records the heights of all stacks, the scope and the position in the output. A failure
 * unwinds to the handler, drops queued output of the attempt and forgets its calls. Printed output
 * cannot be taken back. So a pipe gets the output of an attempt only after the block has succeeded.
 * A terminal gets it at once, followed by a note if the attempt was refused. A block does not wait
 * for its model call. So the end of an attempt waits for the calls of the attempt: a failure that
 * arrives late must still find its handler.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "vm/retry.h"

#include <assert.h>
#include <math.h>

#include "lang/exceptions.h"
#include "value/context.h"
#include "value/handle.h"
#include "value/int.h"
#include "value/text.h"
#include "vm/closure.h"
#include "vm/effects/result_check.h"
#include "vm/fiber.h"
#include "vm/inflight.h"
#include "vm/ops.h"
#include "vm/output_order.h"
#include "vm/run.h"
#include "vm/stacks.h"
#include "vm/wait.h"

#include "base/banned.h"

/* --- exception names -------------------------------------------------------------------------- */

/* Returns true when the class, or one of its bases, has this name. */
static bool derives(pdl_str cls, pdl_str name) {
    while (cls.n) {
        if (pdl_str_eq(cls, name)) return true;
        const char *base = pdl_exception_base(cls);
        if (!base) return false;
        cls = pdl_str_of(base);
    }
    return false;
}

static const char *class_of_kind(pdl_err_kind k) {
    if (k == PDL_E_expression) return "PDLRuntimeExpressionError";
    return k == PDL_E_parser ? "PDLRuntimeParserError" : "PDLRuntimeError";
}

/* The classes that Python has for errors of models and for timeouts. */
static const struct {
    pdl_err_kind kind;
    const char *name;
} host_classes[] = {
    {PDL_E_timeout, "Timeout"},
    {PDL_E_stream, "APIConnectionError"},
    {PDL_E_connection, "APIConnectionError"},
    {PDL_E_auth, "AuthenticationError"},
    {PDL_E_permission, "PermissionDeniedError"},
    {PDL_E_not_found, "NotFoundError"},
    {PDL_E_quota, "RateLimitError"},
    {PDL_E_rate_limit, "RateLimitError"},
    {PDL_E_context_window, "ContextWindowExceededError"},
    {PDL_E_content_policy, "ContentPolicyViolationError"},
    {PDL_E_unsupported_params, "UnsupportedParamsError"},
    {PDL_E_bad_request, "BadRequestError"},
    {PDL_E_unavailable, "ServiceUnavailableError"},
    {PDL_E_protocol, "InternalServerError"},
    {PDL_E_server, "InternalServerError"},
    {PDL_E_type, "TypeError"},
};

static const char *host_class(const pdl_err *e) {
    if (e->kind == PDL_E_code && e->has_status) return "ValueError";
    for (size_t i = 0; i < sizeof host_classes / sizeof *host_classes; i++)
        if (host_classes[i].kind == e->kind) return host_classes[i].name;
    return "Exception";
}

bool pdl_vm_err_matches(const pdl_err *err, pdl_str name) {
    for (const pdl_err *e = err; e; e = e->cause) {
        if (pdl_str_is(name, "Exception") || pdl_str_is(name, "BaseException") ||
            pdl_str_is(name, "PDLException") || pdl_str_is(name, "PDLRuntimeError") ||
            pdl_str_is(name, "PDLRuntimeProcessBlocksError"))
            return true;
        if (pdl_str_is(name, class_of_kind(e->kind)) ||
            pdl_str_is(name, pdl_err_kind_name(e->kind)))
            return true;
        pdl_str list = pdl_str_of(e->py_class ? e->py_class : host_class(e));
        for (size_t from = 0; from <= list.n;) { /* "ZeroDivisionError,ArithmeticError,..." */
            size_t comma = pdl_str_find(list, PDL_STR(","), from);
            size_t to = comma == PDL_NOT_FOUND ? list.n : comma;
            if (derives(pdl_str_trim(pdl_str_sub(list, from, to)), name)) return true;
            from = to + 1;
        }
    }
    return false;
}

/* --- settings --------------------------------------------------------------------------------- */

static bool number(pdl_vref v, const char *field, double *out, pdl_err *err) {
    if (pdl_is_int(v) || pdl_is_bool(v) || pdl_is(v, PDL_V_FLOAT)) {
        *out = pdl_num_to_double(v);
        return true;
    }
    return pdl_err_set(err, PDL_E_type, (pdl_loc){0},
                       "%s of retry is expected to be a number but got a value of type %s", field,
                       pdl_type_name(v));
}

static bool read_jitter(pdl_attempts *a, pdl_vref v, pdl_err *err) {
    if (pdl_is_list(v) || pdl_is(v, PDL_V_TUPLE)) {
        if (pdl_list_len(v) != 2)
            return pdl_err_set(err, PDL_E_type, (pdl_loc){0},
                               "jitter of retry is expected to be a number or a pair of numbers");
        if (!number(pdl_list_at(v, 0), "jitter", &a->jitter_min, err) ||
            !number(pdl_list_at(v, 1), "jitter", &a->jitter_max, err))
            return false;
        double least = fmin(a->jitter_min, a->jitter_max);
        a->jitter_max = fmax(a->jitter_min, a->jitter_max);
        a->jitter_min = least;
        return true;
    }
    if (!number(v, "jitter", &a->jitter_min, err)) return false;
    a->jitter_max = a->jitter_min;
    return true;
}

static bool read_exceptions(pdl_attempts *a, pdl_vref v, pdl_err *err) {
    pdl_val list = pdl_is_list(v) || pdl_is(v, PDL_V_TUPLE)
                       ? pdl_keep(v)
                       : pdl_list_push(pdl_list_new(1), pdl_keep(v));
    a->exceptions = list;
    for (size_t i = 0; i < pdl_list_len(list); i++) {
        pdl_vref x = pdl_list_at(list, i);
        if (pdl_is(x, PDL_V_HANDLE)) continue; /* a class that code made is matched by its name */
        pdl_buf b = PDL_BUF;
        pdl_val_show(x, true, 80, &b);
        if (!pdl_is_str(x) || !pdl_exception_is_known(pdl_str_get(x)))
            pdl_err_set(err, PDL_E_runtime, (pdl_loc){0},
                        "Invalid exception in the retry configuration: %s", pdl_buf_z(&b));
        pdl_buf_fini(&b);
        if (err->kind) return false;
    }
    return true;
}

/* Reads the values on the stack: tries delay max_delay backoff jitter exceptions. An absent value
 * means the default. */
static bool read_object(pdl_attempts *a, const pdl_val *v, pdl_err *err) {
    double tries = -1;
    if (!pdl_is_absent(v[0]) && !number(v[0], "tries", &tries, err)) return false;
    a->tries = !(tries >= 0) ? -1 : tries > 1e15 ? INT64_MAX : (int64_t)tries;
    if (!pdl_is_absent(v[1]) && !number(v[1], "delay", &a->delay, err)) return false;
    if (!pdl_is_absent(v[2]) && !pdl_is_null(v[2])) {
        if (!number(v[2], "max_delay", &a->max_delay, err)) return false;
        a->has_max = true;
    }
    if (!pdl_is_absent(v[3]) && !number(v[3], "backoff", &a->backoff, err)) return false;
    if (!pdl_is_absent(v[4]) && !read_jitter(a, v[4], err)) return false;
    return pdl_is_absent(v[5]) || read_exceptions(a, v[5], err);
}

/* Forgets the path of the block, because the id of the block has changed. */
static void path_again(pdl_vm_block *b) {
    pdl_path_drop(b->path);
    b->path = NULL;
}

pdl_step pdl_op_RETRY_INIT(pdl_fiber *f, size_t n, pdl_err *err) {
    pdl_step s = pdl_vm_force_n(f, n, err);
    if (s != PDL_STEP_DONE) return s;
    pdl_attempts *a = PDL_NEW(pdl_attempts);
    a->backoff = 1.0;
    a->exceptions = a->extra = a->answer = a->repair = a->pdl_error = pdl_absent();
    bool ok = true;
    if (n == 1)
        a->tries = pdl_int_of(*top(f)) < 0 ? -1 : pdl_int_of(*top(f));
    else if (n)
        ok = read_object(a, f->stack.p + f->stack.n - n, err);
    if (!ok) {
        pdl_vm_attempts_free(a);
        return PDL_STEP_FAIL;
    }
    pdl_vm_cut_stack(f, f->stack.n - n);
    pdl_vm_attempts_free(block(f)->attempts);
    block(f)->attempts = a;
    path_again(block(f)); /* the id gets a segment for the attempt */
    return PDL_STEP_DONE;
}

/* --- after a failure -------------------------------------------------------------------------- */

static bool wants_retry(const pdl_fiber *f, const pdl_attempts *a) {
    if (a->err.kind == PDL_E_policy) return false; /* a policy would refuse the action again */
    if (a->err.uncatchable || pdl_budget_is_spent(&a->err, f->budget)) return false;
    if (a->tries >= 0 && a->done >= a->tries) return false;
    if (pdl_is_absent(a->exceptions)) return true;
    for (size_t i = 0; i < pdl_list_len(a->exceptions); i++) {
        pdl_vref x = pdl_list_at(a->exceptions, i);
        if (pdl_is_str(x) && pdl_vm_err_matches(&a->err, pdl_str_get(x))) return true;
    }
    return false;
}

#define REFUSED "The text above was refused.\n"

/* Notes on the terminal that text shown there was refused. */
static void note_refused(pdl_fiber *f) {
    pdl_sinks_send(&f->run->opt.sinks, &(pdl_event){.kind = PDL_EVENT_note,
                                                    .text = PDL_STR("\n" REFUSED),
                                                    .value = pdl_absent(),
                                                    .context = pdl_absent()});
}

static void note_retry(pdl_fiber *f, const pdl_attempts *a) {
    pdl_buf b = PDL_BUF, shown = PDL_BUF;
    pdl_buf_putf(&b, "\n[Retry %lld/%lld] ", (long long)a->done + 1, (long long)a->tries);
    pdl_loc_put(block(f)->info->block->loc, &b);
    pdl_label label = a->err.has_words ? a->err.words : a->err.label;
    bool hidden = pdl_redaction_covers(f->run->opt.redaction, label);
    PDL_PUT(&b, "An error occurred in a PDL block. Error details: ");
    if (hidden)
        pdl_redaction_put(f->run->opt.redaction, label, &b);
    else
        pdl_buf_put(&b, pdl_err_in_plain(&a->err));
    pdl_buf_putc(&b, '\n');
    if (block(f)->info->is_refusable && a->was_sent) PDL_PUT(&b, REFUSED);
    /* a hint that quotes a redacted value is left out */
    if (a->err.hint && !hidden) pdl_buf_putf(&b, "%s\n", a->err.hint);
    pdl_buf_putc(&b, '\n');
    pdl_redact_text(f->run->opt.secrets, pdl_buf_str(&b), &shown);
    pdl_sinks_send(&f->run->opt.sinks, &(pdl_event){.kind = PDL_EVENT_note,
                                                    .text = pdl_buf_str(&shown),
                                                    .err = &a->err,
                                                    .block = block(f)->info->block,
                                                    .path = pdl_vm_block_path(f),
                                                    .number = (uint32_t)a->done + 1,
                                                    .value = pdl_absent(),
                                                    .context = pdl_absent()});
    pdl_buf_fini(&shown);
    pdl_buf_fini(&b);
}

/* Adds a message to the end of the context of the next attempt. Takes text. */
static void add_context(pdl_fiber *f, pdl_attempts *a, const char *role, pdl_val text) {
    pdl_val m = pdl_context_one(pdl_textz(role), text, pdl_absent(), pdl_vm_block_path(f));
    a->extra = pdl_vm_background_add(a->extra, m);
}

/* Returns the incoming context of the block, followed by the messages that the attempts added. */
static pdl_val next_context(pdl_fiber *f, const pdl_attempts *a) {
    pdl_val in = pdl_keep(block(f)->ctx_in);
    return pdl_is_absent(a->extra) ? in : pdl_context_dep(in, pdl_keep(a->extra));
}

/* Returns a promise if it was filled, or NULL. */
static const pdl_promise *filled(pdl_vref v) {
    const pdl_promise *p = pdl_is_absent(v) ? NULL : pdl_promise_of(v);
    return p && p->state == PDL_PROMISE_FILLED ? p : NULL;
}

/* Appends everything that is wrong with the answer of a model, with the names that JSON has for
 * types. The message of the error has Python's names, as in the reference. */
static bool put_answer_faults(pdl_fiber *f, const pdl_attempts *a, pdl_buf *out) {
    const pdl_promise *p = filled(a->answer);
    if (!p || a->err.kind != PDL_E_type) return false;
    return pdl_vm_put_faults(f->run, block(f)->info->block, p->value, out);
}

/* Returns true when messages of this kind name files by paths that depend on the folder where the
 * program runs. Errors of other kinds come from outside the run. The messages of these errors are
 * in the recording, so they are the same in every folder. */
static bool names_files_here(pdl_err_kind kind) {
    return kind == PDL_E_syntax || kind == PDL_E_schema || kind == PDL_E_expression ||
           kind == PDL_E_type || kind == PDL_E_include || kind == PDL_E_io ||
           kind == PDL_E_runtime || kind == PDL_E_limit;
}

/* Appends a message of the error e. A model may see this message, so files in the program's folder
 * are named by their path from that folder. Then a recording can be replayed from any folder. */
static void put_message(const pdl_fiber *f, const pdl_err *e, pdl_str msg, pdl_buf *out) {
    pdl_str folder = f->run->opt.dir;
    bool begins = true; /* at this character a file name may begin */
    while (pdl_str_starts(folder, PDL_STR("./"))) folder = pdl_str_sub(folder, 2, folder.n);
    if (!names_files_here(e->kind) || !folder.n || pdl_str_is(folder, ".")) {
        pdl_buf_put(out, msg);
        return;
    }
    for (size_t i = 0; i < msg.n; i++) {
        pdl_str rest = pdl_str_sub(msg, i, msg.n);
        if (begins && pdl_str_starts(rest, PDL_STR("./"))) rest = pdl_str_sub(rest, 2, rest.n);
        bool below =
            begins && pdl_str_starts(rest, folder) && rest.n > folder.n && rest.p[folder.n] == '/';
        if (below) i = (size_t)(rest.p - msg.p) + folder.n;
        begins = memchr(" \n'\"(", msg.p[i], 5) != NULL;
        if (!below) pdl_buf_putc(out, msg.p[i]);
    }
}

static void trace_error(pdl_fiber *f, pdl_attempts *a) {
    pdl_buf b = PDL_BUF, faults = PDL_BUF;
    bool typed = put_answer_faults(f, a, &faults);
    PDL_PUT(&b, TRACED_ERROR);
    if (typed)
        pdl_buf_put(&b, pdl_buf_str(&faults));
    else
        put_message(f, &a->err, pdl_str_of(a->err.msg ? a->err.msg : ""), &b);
    pdl_buf_fini(&faults);
    pdl_val ctx = next_context(f, a);
    pdl_message last;
    pdl_buf was = PDL_BUF;
    if (pdl_context_last(ctx, &last)) pdl_val_show(last.content, false, (size_t)1 << 30, &was);
    bool again =
        was.len && pdl_str_ends(pdl_str_trim(pdl_buf_str(&was)), pdl_str_trim(pdl_buf_str(&b)));
    pdl_val text = pdl_text(again ? PDL_STR(TRACED_AGAIN) : pdl_buf_str(&b));
    add_context(f, a, "assistant", pdl_with_label(text, a->err.label));
    pdl_buf_fini(&b);
    pdl_buf_fini(&was);
    pdl_drop(ctx);
}

static pdl_val message(const char *role, pdl_val text) {
    pdl_val m = pdl_dict_putz(pdl_dict_new(2), "role", pdl_textz(role));
    return pdl_dict_putz(m, "content", text);
}

/* Appends the text of an error without its source places ("FILE:LINE - " before lines), which are
 * meaningless to a model. */
static void put_reasons(pdl_str msg, pdl_buf *out) {
    for (pdl_str rest = msg; rest.n;) {
        size_t end = pdl_str_find(rest, PDL_STR("\n"), 0),
               at = pdl_str_find(pdl_str_sub(rest, 0, end), PDL_STR(" - "), 0), i = at;
        pdl_str line = pdl_str_sub(rest, 0, end);
        while (at != PDL_NOT_FOUND && i && line.p[i - 1] >= '0' && line.p[i - 1] <= '9') i--;
        bool placed = at != PDL_NOT_FOUND && i && i < at && line.p[i - 1] == ':';
        pdl_buf_put(out, pdl_str_trim(placed ? pdl_str_sub(line, at + 3, line.n) : line));
        pdl_buf_putc(out, '\n');
        rest = end == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_sub(rest, end + 1, rest.n);
    }
}

/* Shows the model its last answer and why parser or spec refused it. A block with its own `input`
 * needs this, because its input does not contain the context with the error. */
static void repair(pdl_fiber *f, pdl_attempts *a) {
    const pdl_block *b = block(f)->info->block;
    const pdl_promise *p = filled(a->answer);
    if (!p || (a->err.kind != PDL_E_type && a->err.kind != PDL_E_parser)) return;
    if (!PDL_AS(model, b)->input) return;
    pdl_val list = pdl_list_new(2);
    pdl_buf answer = PDL_BUF, why = PDL_BUF;
    pdl_val_show(p->value, false, (size_t)1 << 30, &answer);
    if (pdl_str_trim(pdl_buf_str(&answer)).n)
        list = pdl_list_push(list, message("assistant", pdl_text(pdl_buf_str(&answer))));
    PDL_PUT(&why, "This answer cannot be used:\n");
    if (!put_answer_faults(f, a, &why)) put_reasons(pdl_str_of(a->err.msg), &why);
    PDL_PUT(&why, "Answer again, with the corrected answer and nothing else.");
    list = pdl_list_push(list, message("user", pdl_text_of_buf(&why)));
    set_val(&a->repair, pdl_with_label(list, pdl_label_of(p->value) | a->err.label));
    pdl_buf_fini(&answer);
}

static double delay_of(pdl_fiber *f, const pdl_attempts *a) {
    double d = a->delay * pow(a->backoff, (double)a->done);
    if (a->has_max && d > a->max_delay) d = a->max_delay;
    if (a->jitter_max > a->jitter_min)
        d += a->jitter_min + pdl_run_random(f->run) * (a->jitter_max - a->jitter_min);
    else
        d += a->jitter_min;
    return d > 0 ? d : 0;
}

/* Pushes the promise that the delay before another attempt ends, or null when there is no delay. */
static void push_delay(pdl_fiber *f, const pdl_attempts *a) {
    double seconds = delay_of(f, a);
    if (seconds <= 0) {
        push(f, pdl_null());
        return;
    }
    pdl_val r = pdl_dict_putz(pdl_dict_new(1), "seconds", pdl_float(seconds));
    pdl_vm_start_effect(f, PDL_EFFECT_sleep, r, block(f)->info->block->loc);
}

/* Returns the member `file` of pdl_error: the path from the program's folder, or null. */
static pdl_val shown_file(const pdl_fiber *f, pdl_loc loc) {
    return loc.src ? pdl_text(pdl_effect_path_from(loc.src->name, f->run->opt.dir)) : pdl_null();
}

/* Returns the member `message` or `plain` of pdl_error. */
static pdl_val shown_message(const pdl_fiber *f, const pdl_err *e, const char *msg) {
    pdl_buf b = PDL_BUF;
    put_message(f, e, pdl_str_of(msg ? msg : ""), &b);
    return pdl_with_label(pdl_text_of_buf(&b), e->label);
}

static pdl_val error_value(const pdl_fiber *f, const pdl_err *e) {
    pdl_val d = pdl_dict_new(6);
    d = pdl_dict_putz(d, "message", shown_message(f, e, e->msg));
    if (e->plain) d = pdl_dict_putz(d, "plain", shown_message(f, e, e->plain));
    d = pdl_dict_putz(d, "kind", pdl_textz(pdl_err_kind_name(e->kind)));
    d = pdl_dict_putz(d, "file", shown_file(f, e->loc));
    d = pdl_dict_putz(d, "line", e->loc.src ? pdl_int(pdl_loc_line(e->loc)) : pdl_null());
    d = pdl_dict_putz(d, "status", e->has_status ? pdl_int(e->status) : pdl_null());
    pdl_val facts = pdl_effect_error_facts(e);
    /* the members of d take precedence, so the line is the line in the program */
    pdl_val all = pdl_dict_merge(pdl_keep(facts), d);
    pdl_drop(facts);
    pdl_drop(d);
    return pdl_with_label(all, e->label);
}

static void begin_fallback(pdl_fiber *f, pdl_attempts *a) {
    pdl_name name = f->run->code.names.error;
    pdl_vref old = pdl_scope_find(f->scope, name);
    a->pdl_error = pdl_keep(old);
    f->scope = pdl_scope_put(f->scope, name, error_value(f, &a->err));
    a->in_fallback = true;
    /* The budget of the block does not limit the fallback. */
    if (block(f)->budget) pdl_vm_set_budget(f, block(f)->budget->up);
    path_again(block(f));
    f->print = block(f)->print;
}

pdl_step pdl_vm_catch(pdl_fiber *f, bool has_fallback, uint32_t fallback, pdl_err *err) {
    pdl_vm_block *b = block(f);
    pdl_attempts *a = b->attempts;
    assert(a); /* RETRY_INIT has made the attempts */
    set_val(&b->child_messages, pdl_absent());
    set_val(&f->background, pdl_absent());
    if (wants_retry(f, a)) {
        note_retry(f, a);
        if (b->info->block->rare->trace_error_on_retry) {
            trace_error(f, a);
            repair(f, a);
        }
        set_val(&a->answer, pdl_absent());
        push_delay(f, a);
        return PDL_STEP_DONE;
    }
    if (!has_fallback || a->err.uncatchable) {
        pdl_err_move(err, &a->err);
        return PDL_STEP_FAIL;
    }
    if (b->info->is_refusable && a->was_sent) note_refused(f);
    begin_fallback(f, a);
    f->pc = fallback;
    return PDL_STEP_DONE;
}

static void next_attempt(pdl_fiber *f, uint32_t attempt) {
    pdl_attempts *a = block(f)->attempts;
    assert(a && attempt < f->code->ins.n);
    pdl_err_fini(&a->err);
    a->done++;
    a->unmet = false;
    path_again(block(f));
    f->pc = attempt;
}

void pdl_vm_retry_again(pdl_fiber *f, uint32_t attempt) {
    pdl_drop(pop(f)); /* the delay */
    next_attempt(f, attempt);
}

void pdl_op_CATCH_END(pdl_fiber *f) {
    pdl_attempts *a = block(f)->attempts;
    pdl_name name = f->run->code.names.error;
    if (pdl_is_absent(a->pdl_error))
        f->scope = pdl_scope_del(f->scope, name);
    else
        f->scope = pdl_scope_put(f->scope, name, pdl_keep(a->pdl_error));
    pdl_err_fini(&a->err);
    a->in_fallback = false;
    path_again(block(f));
}

/* --- expectations ----------------------------------------------------------------------------- */

static void add_if_declared(pdl_fiber *f, const pdl_closure *c, pdl_name name, pdl_str *kw,
                            pdl_val *kwv, size_t *n) {
    for (uint32_t i = 0; i < c->info->n_params; i++) {
        if (c->info->params[i] != name) continue;
        pdl_vref v = pdl_scope_find(f->scope, name);
        if (pdl_is_absent(v)) return;
        kw[*n] = pdl_name_str(f->run->opt.names, name);
        kwv[(*n)++] = pdl_keep(v);
    }
}

/* On the stack: result expectation feedback -> result answer. Calls the feedback function with
 * keyword arguments, without output. */
pdl_step pdl_op_EXPECT(pdl_fiber *f, pdl_err *err) {
    pdl_step s = pdl_vm_force_n(f, 3, err);
    if (s != PDL_STEP_DONE) return s;
    pdl_val func = *top(f);
    if (!pdl_is(func, PDL_V_FUNC))
        return step_of(pdl_err_host(err, "TypeError",
                                    "feedback should be a function but is of type %s",
                                    pdl_type_name(func)));
    const pdl_closure *c = closure_of(func);
    pdl_str kw[5] = {PDL_STR("expectation"), PDL_STR("response")};
    pdl_val kwv[5] = {pdl_keep(*under(f, 1)), pdl_keep(*under(f, 2))};
    size_t n = 2;
    add_if_declared(f, c, f->run->code.names.judge, kw, kwv, &n);
    add_if_declared(f, c, f->run->code.names.transformer, kw, kwv, &n);
    const pdl_type *params = c->info->block->params.all;
    const pdl_block *b = block(f)->info->block;
    pdl_val args = pdl_dict_new(n);
    for (size_t i = 0; i < n; i++) args = pdl_dict_puts(args, kw[i], pdl_keep(kwv[i]));
    pdl_checked of = {"during function call to", PDL_STR("feedback"), b->loc, b->node};
    bool ok = !params || pdl_vm_check_value(f->run, params, &args, &of, err);
    pdl_drop(args);
    if (!ok) {
        for (size_t i = 0; i < n; i++) pdl_drop(kwv[i]);
        return PDL_STEP_FAIL;
    }
    kw[n] = PDL_STR("pdl_context");
    kwv[n++] = next_context(f, block(f)->attempts);
    pdl_keep(func);
    pdl_vm_cut_stack(f, f->stack.n - 2);
    return pdl_vm_call_closure(f, func, &(pdl_call_args){NULL, 0, kw, kwv, n, 0}, err);
}

static void take_feedback(pdl_fiber *f, pdl_attempts *a, pdl_vref answer) {
    pdl_vref score = answer, instruction = answer;
    if ((pdl_is_list(answer) || pdl_is(answer, PDL_V_TUPLE)) && pdl_list_len(answer) == 2) {
        score = pdl_list_at(answer, 0);
        instruction = pdl_list_at(answer, 1);
    }
    if (pdl_is(score, PDL_V_FLOAT)) f->run->outcome.score += pdl_float_of(score);
    bool again = pdl_is_str(instruction) && pdl_str_get(instruction).n &&
                 (a->tries < 0 || a->done < a->tries);
    if (!again) return;
    add_context(f, a, "user", pdl_keep(instruction));
    a->unmet = true;
}

pdl_step pdl_op_EXPECT_DONE(pdl_fiber *f, pdl_err *err) {
    pdl_step s = pdl_vm_force(f, top(f), err);
    if (s != PDL_STEP_DONE) return s;
    pdl_val answer = pop(f);
    take_feedback(f, block(f)->attempts, answer);
    pdl_drop(answer);
    return PDL_STEP_DONE;
}

bool pdl_vm_expect_retry(pdl_fiber *f) {
    const pdl_attempts *a = block(f)->attempts;
    assert(a); /* RETRY_INIT has made the attempts */
    if (a->unmet) push_delay(f, a);
    return a->unmet;
}

/* Ends the output of an attempt whose result does not meet an expectation. When the block has a
 * `spec` and no parser, the output is refused. Otherwise the attempt has not failed, and its output
 * is kept (as in the conformance kit). */
static void end_unmet(pdl_fiber *f, const pdl_handler *h) {
    const pdl_vm_block *b = block(f);
    assert(f->out == h->out);
    if (!b->info->is_refusable) return;
    bool is_refused = b->info->block->rare->spec.type && !b->info->has_parser;
    if (is_refused && pdl_out_was_sent(f, h->out_mark)) note_refused(f);
    if (is_refused) {
        pdl_out_forget(f, h->out_mark);
    } else if (b->holds) {
        pdl_out_accept(f);
        pdl_out_hold(f);
    }
}

/* Restores the handler's state and starts the next attempt, as a failure does. */
void pdl_op_EXPECT_AGAIN(pdl_fiber *f, uint32_t attempt) {
    pdl_drop(pop(f)); /* the delay */
    pdl_drop(pop(f)); /* this is the result that did not satisfy the expectations */
    set_val(&block(f)->child_messages, pdl_absent());
    pdl_handler h = pop_handler(f);
    end_unmet(f, &h);
    pdl_scope_drop(f->scope);
    f->scope = h.scope;
    set_val(&f->ctx, h.ctx);
    set_val(&f->role, h.role);
    f->print = h.print;
    next_attempt(f, attempt);
}
