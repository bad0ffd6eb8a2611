/* contribute.c -- sends a result to its targets: streams, aggregators, or the background or result
 * that it replaces (spec execution 4.7, 4.8). An aggregator is the value of a variable: it writes
 * text to a file, or collects messages.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/limits.h"
#include "value/context.h"
#include "value/label.h"
#include "value/text.h"
#include "value/type_words.h"
#include "vm/closure.h"
#include "vm/fiber.h"
#include "vm/inflight.h"
#include "vm/ops.h"
#include "vm/output_order.h"
#include "vm/run.h"
#include "vm/stacks.h"
#include "vm/wait.h"

#include "base/banned.h"

typedef struct aggregator {
    pdl_ext ext;
    bool is_file;
    pdl_val messages; /* used by the context aggregator */
    pdl_val path, mode, encoding, prefix, suffix;
    bool flush;
} aggregator;

static pdl_vref agg_child(const pdl_obj *o, size_t i) {
    const aggregator *a = (const aggregator *)(const void *)o;
    pdl_vref all[] = {a->messages, a->path, a->mode, a->encoding, a->prefix, a->suffix};
    if (i >= sizeof all / sizeof all[0]) return pdl_absent();
    return pdl_is_absent(all[i]) ? pdl_null() : all[i];
}

static const pdl_class context_class = {.type_name = "ContextAggregator", .child = agg_child};
static const pdl_class file_class = {.type_name = "FileAggregator", .child = agg_child};

static aggregator *agg_of(pdl_vref v) { return (aggregator *)(void *)pdl_obj_of(v); }

static aggregator *agg_new(bool file) {
    aggregator *a = pdl_ext_new(PDL_V_AGGREGATOR, file ? &file_class : &context_class, sizeof *a);
    a->is_file = file;
    a->messages = pdl_context_empty();
    a->path = a->mode = a->encoding = a->prefix = a->suffix = pdl_null();
    return a;
}

bool pdl_vm_is_aggregator_messages(pdl_vref v, pdl_str name, pdl_val *out) {
    if (!pdl_is(v, PDL_V_AGGREGATOR) || !pdl_str_is(name, "messages") || agg_of(v)->is_file)
        return false;
    *out = pdl_keep(agg_of(v)->messages);
    return true;
}

static pdl_val write_request(const aggregator *a, pdl_val text, bool close) {
    pdl_val r = pdl_dict_new(6);
    r = pdl_dict_putz(r, "path", pdl_keep(a->path));
    r = pdl_dict_putz(r, "mode", pdl_keep(a->mode));
    r = pdl_dict_putz(r, "text", text);
    r = pdl_dict_putz(r, "encoding", pdl_keep(a->encoding));
    r = pdl_dict_putz(r, "flush", pdl_bool(a->flush));
    return pdl_dict_putz(r, "close", pdl_bool(close));
}

static bool need_text(pdl_vref v, const char *field, pdl_err *err) {
    if (pdl_is_str(v)) return true;
    return pdl_err_set(
        err, PDL_E_type, (pdl_loc){0},
        "%s of a file aggregator is expected to be a string but got a value of type %s", field,
        pdl_type_name(v));
}

pdl_step pdl_op_AGGREGATOR(pdl_fiber *f, bool file, pdl_err *err) {
    set_val(&f->background, pdl_absent());
    if (!file) {
        push(f, pdl_from_obj(PDL_V_AGGREGATOR, &agg_new(false)->ext.head, 0));
        return PDL_STEP_DONE;
    }
    static const char *const fields[] = {"flush", "suffix", "prefix", "encoding", "mode", "file"};
    pdl_step s = pdl_inflight_await(f, 0, false, err);
    if (s != PDL_STEP_DONE) return s;
    s = pdl_vm_force_n(f, 6, err);
    if (s != PDL_STEP_DONE) return s;
    for (size_t i = 1; i < 6; i++) {
        if (i == 3 && pdl_is_null(*under(f, i))) continue;
        if (!need_text(*under(f, i), fields[i], err)) return PDL_STEP_FAIL;
    }
    aggregator *a = agg_new(true);
    a->flush = pdl_val_truth(*top(f));
    a->suffix = pdl_keep(*under(f, 1));
    a->prefix = pdl_keep(*under(f, 2));
    a->encoding = pdl_keep(*under(f, 3));
    a->mode = pdl_keep(*under(f, 4));
    a->path = pdl_keep(*under(f, 5));
    pdl_vm_cut_stack(f, f->stack.n - 6);
    pdl_val v = pdl_from_obj(PDL_V_AGGREGATOR, &a->ext.head, 0);
    *pdl_vec_push(&f->run->output.files) = pdl_keep(v);
    push(f, v);
    /* the first write, of an empty text, opens the file now */
    pdl_vm_start_effect(f, PDL_EFFECT_write, write_request(a, pdl_textz(""), false), (pdl_loc){0});
    pdl_val opened = pop(f);
    pdl_promise *p = pdl_promise_of(opened);
    bool failed = p->state == PDL_PROMISE_FAILED;
    if (failed) pdl_err_copy(err, &p->err);
    pdl_drop(opened);
    return step_of(!failed);
}

void pdl_vm_files_close(pdl_run *r) {
    for (size_t i = 0; i < r->output.files.n; i++) {
        if (r->fibers.main) {
            pdl_vm_start_effect(r->fibers.main, PDL_EFFECT_write,
                                write_request(agg_of(r->output.files.p[i]), pdl_textz(""), true),
                                (pdl_loc){0});
            pdl_drop(pop(r->fibers.main));
        }
        pdl_drop(r->output.files.p[i]);
    }
    pdl_vec_fini(&r->output.files);
}

/* Writes prefix + text + suffix to the file. */
static pdl_step to_file(pdl_fiber *f, const aggregator *a, pdl_vref v, pdl_err *err) {
    pdl_buf b = PDL_BUF_INIT(PDL_MAX_TEXT);
    bool ok = pdl_buf_add(&b, pdl_str_get(a->prefix), err) && pdl_stringify(v, &b, err) &&
              pdl_buf_add(&b, pdl_str_get(a->suffix), err);
    if (ok) {
        pdl_label around = pdl_label_of(a->prefix) | pdl_label_of(a->suffix);
        pdl_label label = around ? pdl_label_built(around | pdl_label_of(v)) : pdl_label_of(v);
        pdl_val text = pdl_with_label(pdl_text(pdl_buf_str(&b)), label);
        pdl_vm_start_effect(f, PDL_EFFECT_write, write_request(a, text, false), (pdl_loc){0});
        pdl_val reply = pop(f);
        ok = pdl_promise_of(reply)->state != PDL_PROMISE_FAILED;
        if (!ok) pdl_err_copy(err, &pdl_promise_of(reply)->err);
        pdl_drop(reply);
    }
    pdl_buf_fini(&b);
    return step_of(ok);
}

/* Adds a message to the aggregator. Only the messages of leaf blocks are collected. Each has the
 * role that the block's own field `role` gives. */
static void to_messages(pdl_fiber *f, pdl_name name, const aggregator *a, pdl_vref v) {
    const pdl_blockinfo *info = block(f)->info;
    if (!info->leaf) return;
    aggregator *next = agg_new(false);
    pdl_val role = pdl_is_absent(info->role) ? pdl_null() : pdl_keep(info->role);
    pdl_val one = pdl_context_one(role, pdl_keep(v), pdl_absent(), pdl_vm_block_path(f));
    set_val(&next->messages, pdl_context_dep(pdl_keep(a->messages), one));
    f->scope = pdl_scope_put(f->scope, name, pdl_from_obj(PDL_V_AGGREGATOR, &next->ext.head, 0));
}

static pdl_step to_name(pdl_fiber *f, const pdl_contribute *c, pdl_vref v, pdl_err *err) {
    pdl_name name = pdl_intern(f->run->opt.names, c->name);
    pdl_vref a = pdl_scope_find(f->scope, name);
    if (pdl_is_absent(a)) {
        pdl_err_set(err, PDL_E_expression, c->loc,
                    "Error during the evaluation of ${ %.*s }: '%.*s' is undefined",
                    PDL_FMT(c->name), PDL_FMT(c->name));
        pdl_err_hint(err, "what a block may contribute to is result, context, stdout, stderr, or "
                          "the name of an aggregator");
        return PDL_STEP_FAIL;
    }
    if (!pdl_is(a, PDL_V_AGGREGATOR)) {
        pdl_err_set(err, PDL_E_type, c->loc,
                    "An aggregator was expected but got a value of type <class '%s'>.",
                    pdl_type_name(a));
        const pdl_type_word *word = pdl_type_word_of(a);
        if (word)
            pdl_err_plain(err, "An aggregator was expected but got a value of type %s.",
                          word->json);
        return PDL_STEP_FAIL;
    }
    if (agg_of(a)->is_file) return to_file(f, agg_of(a), v, err);
    to_messages(f, name, agg_of(a), v);
    return PDL_STEP_DONE;
}

static pdl_step to_stream(pdl_fiber *f, pdl_vref v, uint32_t descriptor, pdl_err *err) {
    pdl_buf b = PDL_BUF_INIT(PDL_MAX_TEXT);
    bool ok = pdl_stringify(v, &b, err);
    if (ok) {
        pdl_buf_putc(&b, '\n');
        if (descriptor == 2)
            pdl_out_write_now(f, pdl_buf_str(&b), 2, pdl_label_of(v));
        else
            pdl_out_write(f, pdl_buf_str(&b), descriptor, pdl_label_of(v));
    }
    pdl_buf_fini(&b);
    return step_of(ok);
}

static pdl_step to_context(pdl_fiber *f, pdl_vref v, pdl_err *err) {
    pdl_val c;
    if (!pdl_context_from(v, &c, err)) return PDL_STEP_FAIL;
    if (block(f)->info->leaf) {
        set_val(&f->background, c);
    } else {
        set_val(&block(f)->child_messages, c);
    }
    return PDL_STEP_DONE;
}

pdl_step pdl_op_CONTRIBUTE(pdl_fiber *f, bool with_value, const pdl_contribute *c, pdl_err *err) {
    if (c->target == PDL_TO_INVALID) {
        pdl_err_set(
            err, PDL_E_type, c->loc,
            "Contributions are expected to be strings or dictionaries of length 1 but got {elem}");
        return PDL_STEP_FAIL;
    }
    if (c->target ==
        PDL_TO_RESULT) { /* the visible result; the variable of `def` keeps the block's value */
        pdl_val v = pop(f);
        set_top(f, v);
        return PDL_STEP_DONE;
    }
    pdl_step s = pdl_inflight_await(f, 0, false,
                                    err); /* an action waits until the calls before it have ended */
    if (s == PDL_STEP_DONE) s = pdl_vm_force(f, top(f), err);
    if (s != PDL_STEP_DONE) return s;
    pdl_vref v = *top(f);
    switch (c->target) {
    case PDL_TO_STDOUT: s = to_stream(f, v, 1, err); break;
    case PDL_TO_STDERR: s = to_stream(f, v, 2, err); break;
    case PDL_TO_CONTEXT: s = to_context(f, v, err); break;
    case PDL_TO_NAME: s = to_name(f, c, v, err); break;
    case PDL_TO_RESULT:
    case PDL_TO_INVALID: break;
    }
    if (s == PDL_STEP_DONE && with_value) pdl_drop(pop(f));
    return s;
}
