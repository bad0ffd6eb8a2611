/* run_globals.c -- the code of a run and its names. The names are the variables that every program
 * sees (spec execution 1.1), the usage record, and the objects of imported files.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/context.h"
#include "value/int.h"
#include "value/shape.h"
#include "vm/closure.h"
#include "vm/fiber.h"
#include "vm/inflight.h"
#include "vm/ops.h"
#include "vm/run.h"
#include "vm/stacks.h"

#include "base/banned.h"

/* The names that programs and the machine use before anything is compiled. */
static void know_names(pdl_run_code *c, pdl_interner *in) {
    c->names.context = pdl_intern(in, PDL_STR("pdl_context"));
    c->names.error = pdl_intern(in, PDL_STR("pdl_error"));
    c->names.usage = pdl_intern(in, PDL_STR("pdl_usage"));
    c->names.loop = pdl_intern(in, PDL_STR("loop"));
    c->names.caller = pdl_intern(in, PDL_STR("caller"));
    c->names.varargs = pdl_intern(in, PDL_STR("varargs"));
    c->names.kwargs = pdl_intern(in, PDL_STR("kwargs"));
    c->names.stdlib = pdl_intern(in, PDL_STR("stdlib"));
    c->names.defaults = pdl_intern(in, PDL_STR("pdl_model_default_parameters"));
    c->names.particle = pdl_intern(in, PDL_STR("pdl_particle_id"));
    c->names.judge = pdl_intern(in, PDL_STR("pdl_llm_as_judge"));
    c->names.transformer = pdl_intern(in, PDL_STR("pdl_llm_context_transformer"));
}

void pdl_run_code_open(pdl_run *r) {
    pdl_run_code *c = &r->code;
    know_names(c, r->opt.names);
    pdl_scope *s = NULL;
    /* The number of a particle changes when the particle is copied, so it is in no
     * scope (op_name). */
    if (!r->opt.particle.is_one) s = pdl_scope_put(s, c->names.particle, pdl_int(0));
    s = pdl_scope_put(s, c->names.judge, pdl_textz("watsonx/openai/gpt-oss-120b"));
    s = pdl_scope_put(s, c->names.transformer, pdl_textz("watsonx/openai/gpt-oss-120b"));
    c->globals = s;
    c->imports = pdl_dict_new(0);
    c->tool_names = pdl_dict_new(0);
    c->left_out = pdl_dict_new(0);
    c->has_modules = r->opt.modules != 0;
}

/* The source places of errors point into the sources of a program, so the sources must live as long
 * as the errors. */
void pdl_vm_keep_code(pdl_run *r, pdl_code *code) {
    /* The failures of a loop are in a few programs. So only the programs that were kept last are
     * compared; a program that is kept twice costs little. */
    enum { LOOK_BACK = 8 };
    for (size_t i = r->code.failed.n, n = 0; i-- > 0 && n < LOOK_BACK; n++)
        if (r->code.failed.p[i] == code) return;
    *pdl_vec_push(&r->code.failed) = pdl_code_keep(code);
}

void pdl_run_code_end(pdl_run_code *c) {
    pdl_vm_templates_fini(c);
    pdl_scope_drop(c->globals);
    pdl_scope_drop(c->initial);
    pdl_drop(c->imports);
    pdl_drop(c->tool_names);
    pdl_drop(c->left_out);
    pdl_idmap_fini(&c->handed);
    for (size_t i = 0; i < PDL_RUN_LITERALS; i++) pdl_shape_drop(c->literals[i]);
    for (size_t i = 0; i < c->failed.n; i++) pdl_code_drop(c->failed.p[i]);
    pdl_vec_fini(&c->failed);
}

bool pdl_run_code_ok(const pdl_run_code *c) {
    return pdl_is_dict(c->imports) && pdl_is_dict(c->tool_names) && pdl_is_dict(c->left_out) &&
           c->globals;
}

/* --- pdl_usage: a snapshot with three attributes ---------------------------------------------- */

typedef struct usage_obj {
    pdl_ext ext;
    pdl_usage u;
} usage_obj;

static const usage_obj *usage_of(pdl_vref v) {
    return (const usage_obj *)(const void *)pdl_obj_of(v);
}

static bool usage_attr(pdl_vref self, pdl_str name, pdl_val *out) {
    const pdl_usage *u = &usage_of(self)->u;
    if (pdl_str_is(name, "model_calls"))
        *out = pdl_int(u->calls);
    else if (pdl_str_is(name, "completion_tokens"))
        *out = pdl_int(u->completion);
    else if (pdl_str_is(name, "prompt_tokens"))
        *out = pdl_int(u->prompt);
    else
        return false;
    return true;
}

static void usage_text(const pdl_obj *o, bool repr, pdl_buf *out) {
    const pdl_usage *u = &((const usage_obj *)(const void *)o)->u;
    pdl_buf_putf(out, "%smodel_calls=%lld%s completion_tokens=%lld%s prompt_tokens=%lld%s",
                 repr ? "PdlUsage(" : "", (long long)u->calls, repr ? "," : "",
                 (long long)u->completion, repr ? "," : "", (long long)u->prompt, repr ? ")" : "");
}

static const pdl_attr_class usage_class = {
    .base = {.type_name = "PdlUsage", .text = usage_text},
    .attr = usage_attr,
};

pdl_val pdl_vm_usage_value(pdl_run *r) {
    usage_obj *o = pdl_ext_new(PDL_V_RECORD, &usage_class.base, sizeof *o);
    o->u = r->fibers.main && r->fibers.main->nested ? r->effects.nested_usage : r->effects.usage;
    return pdl_with_label(pdl_from_obj(PDL_V_RECORD, &o->ext.head, 0), o->u.label);
}

pdl_val pdl_vm_scope_value(pdl_fiber *f) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(0), "pdl_context", pdl_keep(f->ctx));
    pdl_val rest = pdl_scope_to_dict(f->scope, f->run->opt.names);
    d = pdl_dict_merge(d, rest);
    pdl_drop(rest);
    return d;
}

pdl_val pdl_run_scope_of(const pdl_run *r, uint32_t fiber) {
    pdl_fiber *f = pdl_idmap_find(&r->fibers.by_id, fiber);
    return f ? pdl_vm_scope_value(f) : pdl_dict_new(0);
}

pdl_scope *pdl_run_keep_scope_of(const pdl_run *r, uint32_t fiber) {
    const pdl_fiber *f = pdl_idmap_find(&r->fibers.by_id, fiber);
    return f ? pdl_scope_keep(f->scope) : NULL;
}

bool pdl_run_set_variable(pdl_run *r, uint32_t fiber, pdl_str text, pdl_vref old, pdl_vref v) {
    pdl_fiber *f = pdl_idmap_find(&r->fibers.by_id, fiber);
    pdl_name name = pdl_intern(r->opt.names, text);
    bool set = f && pdl_scope_rebind(&f->scope, name, old, v);
    /* the saved scopes of this frame are restored before it ends, so they change as well */
    for (size_t i = f ? f->saves.n : 0; i > 0 && f->saves.p[i - 1].frame == f->frames.n; i--)
        set = pdl_scope_rebind(&f->saves.p[i - 1].scope, name, old, v) || set;
    return set;
}

/* Returns true inside of an imported file, which has no usage record. */
static bool is_imported(const pdl_fiber *f) {
    for (size_t i = 0; i < f->frames.n; i++)
        if (f->frames.p[i].kind == FRAME_IMPORT) return true;
    return false;
}

struct module_job {
    const pdl_fiber *f;
    const pdl_vm_frame *frame;
    pdl_val dict;
    /* true: the names with which every file begins; false: the names that are added after the
     * library */
    bool first;
    pdl_label said; /* labels of a tool server's definitions; 0 for an ordinary file */
};

/* Returns true for parameters that the models of a module inherit from its importer. They are not
 * variables of the module itself. */
static bool is_inherited(const struct module_job *job, pdl_name name, pdl_vref v) {
    if (name != job->f->run->code.names.defaults) return false;
    pdl_vref given = pdl_scope_find(job->frame->scope, name);
    return pdl_tag_of(given) == pdl_tag_of(v) && !pdl_is_absent(given) &&
           pdl_obj_of(given) == pdl_obj_of(v);
}

/* Returns true when the member of a module is from its tool server: a tool, or the declarations. */
static bool is_said(const struct module_job *job, pdl_str key, pdl_vref v) {
    return pdl_is(v, PDL_V_FUNC) ? !pdl_is_absent(pdl_dict_gets(job->frame->code->signatures, key))
                                 : pdl_str_is(key, "tools");
}

static bool add_to_module(void *user, pdl_name name, pdl_vref v) {
    struct module_job *job = user;
    const pdl_run *r = job->f->run;
    bool global = !pdl_is_absent(pdl_scope_find(r->code.globals, name));
    if (global != job->first || name == r->code.names.context || is_inherited(job, name, v))
        return true;
    pdl_str key = pdl_name_str(r->opt.names, name);
    if (job->said && is_said(job, key, v)) /* a tool that is called by its name has no label */
        job->dict = pdl_dict_put_known(
            job->dict, pdl_with_label(pdl_text(key), job->said),
            pdl_is(v, PDL_V_FUNC) ? pdl_keep(v) : pdl_with_label(pdl_keep(v), job->said));
    else
        job->dict = pdl_dict_puts(job->dict, key, pdl_keep(v));
    return true;
}

pdl_val pdl_vm_module_value(const pdl_fiber *f, const pdl_vm_frame *fr) {
    pdl_val context = pdl_is_absent(f->background) ? pdl_context_empty() : pdl_keep(f->background);
    pdl_vref declared = fr->code->signatures;
    struct module_job job = {f, fr, pdl_dict_putz(pdl_dict_new(8), "pdl_context", context), true,
                             pdl_is_dict(declared) ? pdl_label_of(declared) : 0};
    pdl_scope_each(f->scope, add_to_module, &job);
    if (!pdl_is_absent(fr->library))
        job.dict = pdl_dict_putz(job.dict, "stdlib", pdl_keep(fr->library));
    job.first = false;
    pdl_scope_each(f->scope, add_to_module, &job);
    return pdl_with_flags(job.dict, PDL_F_MODULE);
}

/* Pushes a dict of all variables: those with which the run began, then `stdlib` and `pdl_usage`,
 * then those that the program defined. */
void pdl_op_SCOPE(pdl_fiber *f) {
    pdl_run *r = f->run;
    pdl_val lib = pop(f), d = pdl_dict_putz(pdl_dict_new(1), "pdl_context", pdl_keep(f->ctx));
    pdl_val names = pdl_scope_to_dict(f->scope, r->opt.names);
    size_t n = pdl_dict_len(names), i = 0;
    for (; i < n; i++) {
        pdl_vref key = pdl_dict_key_at(names, i);
        if (pdl_is_absent(
                pdl_scope_find(r->code.initial, pdl_intern(r->opt.names, pdl_str_get(key)))))
            break;
        d = pdl_dict_put(d, pdl_keep(key), pdl_keep(pdl_dict_val_at(names, i)));
    }
    if (pdl_is(lib, PDL_V_UNDEFINED))
        pdl_drop(lib); /* this file is the library itself */
    else
        d = pdl_dict_putz(d, "stdlib", lib);
    if (!is_imported(f)) d = pdl_dict_putz(d, "pdl_usage", pdl_vm_usage_value(r));
    for (; i < n; i++)
        d = pdl_dict_put(d, pdl_keep(pdl_dict_key_at(names, i)),
                         pdl_keep(pdl_dict_val_at(names, i)));
    pdl_drop(names);
    push(f, d);
}
