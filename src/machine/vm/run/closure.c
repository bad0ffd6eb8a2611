/* closure.c -- makes closures, calls them from blocks, from expressions and from code outside the
 * run, and returns from them. The scope of a body is made from the scope of the definition, so the
 * variables of the caller are not visible in it. Arguments of a call block are checked against the
 * declared types; those of a call in an expression are not.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "vm/closure.h"
#include "base/limits.h"
#include "compile/compile.h"
#include "lang/tool_arguments.h"
#include "lang/walk.h"
#include "value/context.h"
#include "value/func.h"
#include "value/handle.h"
#include "value/text.h"
#include "value/type_words.h"
#include "vm/effect_key.h"
#include "vm/effects/result_check.h"
#include "vm/err_span.h"
#include "vm/fiber.h"
#include "vm/inflight.h"
#include "vm/ops.h"
#include "vm/output_order.h"
#include "vm/run.h"
#include "vm/run/tool_call.h"
#include "vm/stacks.h"
#include "vm/wait.h"

#include "base/banned.h"

static pdl_vref closure_child(const pdl_obj *o, size_t i) {
    const pdl_closure *c = (const pdl_closure *)(const void *)o;
    switch (i) {
    case 0: return c->base.name;
    case 1: return c->role;
    case 2: return c->base.signature; /* the signature is absent exactly when params is absent */
    case 3: return c->base.params;
    case 4: return c->base.spec;
    default: return pdl_absent();
    }
}

static void closure_fini(pdl_obj *o) {
    pdl_closure *c = (pdl_closure *)(void *)o;
    pdl_scope_drop(c->scope);
    pdl_code_drop(c->code);
    pdl_path_drop(c->path);
}

static const pdl_class closure_class = {
    .type_name = "ClosureBlock",
    .child = closure_child,
    .fini = closure_fini,
};

/* Makes {"type": "function", "function": {"name", "description", "parameters"}} (spec execution
 * 6.4). */
static pdl_val signature_of(const pdl_func_info *info) {
    const pdl_b_function *b = info->block;
    pdl_val f = pdl_dict_new(3);
    if (info->name_text.n) f = pdl_dict_putz(f, "name", pdl_text(info->name_text));
    if (b->head.rare->description.s.p)
        f = pdl_dict_putz(f, "description", pdl_text(b->head.rare->description.s));
    f = pdl_dict_putz(f, "parameters",
                      b->params.is_null ? pdl_dict_new(0) : pdl_type_schema(b->params.all, true));
    pdl_val s = pdl_dict_putz(pdl_dict_new(2), "type", pdl_textz("function"));
    return pdl_dict_putz(s, "function", f);
}

static pdl_val params_of(const pdl_b_function *b) {
    return b->params.is_null ? pdl_null() : pdl_type_as_written(b->params.all);
}

static void describe(pdl_func *f) {
    const pdl_closure *c = (const pdl_closure *)(const void *)f;
    if (pdl_is_absent(f->signature)) f->signature = signature_of(c->info);
    f->params = params_of(c->info->block);
    const pdl_type *spec = c->info->block->head.rare->spec.type;
    f->spec = spec ? pdl_type_as_written(spec) : pdl_null();
}

pdl_val pdl_closure_new(pdl_fiber *f, const pdl_func_info *info) {
    pdl_closure *c = pdl_ext_new(PDL_V_FUNC, &closure_class, sizeof *c);
    c->base.name = info->name_text.n ? pdl_text(info->name_text) : pdl_null();
    c->code = pdl_code_keep(frame(f)->code);
    pdl_val declared = pdl_is_dict(c->code->signatures) && info->name_text.n
                           ? pdl_dict_part_named(c->code->signatures, info->name_text)
                           : pdl_absent();
    c->base.signature = declared;
    c->base.params = c->base.spec = pdl_absent();
    c->base.describe = describe;
    c->info = info;
    c->base.block = info->block;
    c->scope = pdl_scope_keep(f->scope);
    c->role = pdl_keep(f->role);
    c->path = pdl_path_keep(pdl_vm_block_path(f));
    c->loc = info->block->head.loc;
    set_val(&f->background, pdl_absent());
    return pdl_from_obj(PDL_V_FUNC, &c->base.ext.head, 0);
}

static uint32_t entry_of(const pdl_closure *c) { return pdl_compile_function(c->code, c->info); }

/* Makes the scope of the body without the arguments: the scope of the definition, and the
 * function's own name. */
static pdl_scope *body_scope(const pdl_closure *c, pdl_vref func) {
    pdl_scope *s = pdl_scope_keep(c->scope);
    if (c->info->name) s = pdl_scope_put(s, c->info->name, pdl_keep(func));
    return s;
}

static bool too_deep(pdl_fiber *f, pdl_err *err) {
    bool full = f->frames.n == f->frames.cap;
    if (full && !pdl_err_memory(err, (f->frames.cap + f->frames.cap / 2) * sizeof *f->frames.p))
        return true;
    if (f->frames.n < PDL_MAX_CALL_DEPTH) return !pdl_run_has_memory(f->run, err);
    pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "calls are nested more than %d deep",
                PDL_MAX_CALL_DEPTH);
    return true;
}

/* --- call blocks ------------------------------------------------------------------------------ */

/* Sets the error for the value v of `call: src`, which is not a function. A function of this name
 * is meant when `is_named` is set. */
static void set_not_a_function(const pdl_b_call *b, pdl_vref v, const char *src, bool is_named,
                               pdl_err *err) {
    const pdl_type_word *word = pdl_type_word_of(v);
    pdl_buf rest = PDL_BUF;
    PDL_PUT(&rest, " but should be a function.");
    if (is_named) pdl_buf_putf(&rest, " You might want to call `${ %s }`.", src);
    pdl_err_set(err, PDL_E_type, pdl_field_loc(&b->head, "call"),
                "Type error: %s is of type <class '%s'>%s", src, pdl_type_name(v),
                pdl_buf_z(&rest));
    if (word)
        pdl_err_plain(err, "Type error: %s is of type %s%s", src, word->json, pdl_buf_z(&rest));
    pdl_buf_fini(&rest);
}

static pdl_step not_a_function(pdl_fiber *f, const pdl_b_call *b, pdl_vref v, pdl_err *err) {
    pdl_buf src = PDL_BUF, shown = PDL_BUF;
    const pdl_tree *t = b->func;
    if (t->kind == PDL_TREE_EXPR)
        pdl_buf_put(&shown, t->text->source);
    else
        pdl_val_show(t->kind == PDL_TREE_CONST ? t->value : v, false, 200, &shown);
    pdl_expr_quote(pdl_buf_str(&shown), 0, &src);
    pdl_buf_fini(&shown);
    bool named =
        pdl_is_str(v) &&
        pdl_is(pdl_scope_find(f->scope, pdl_intern(f->run->opt.names, pdl_str_get(v))), PDL_V_FUNC);
    set_not_a_function(b, v, pdl_buf_z(&src), named, err);
    if (pdl_is(v, PDL_V_HANDLE) && pdl_handle_of(v)->callable)
        pdl_err_hint(err, "`call` is for functions of PDL; call those of Python in an expression, "
                          "as in ${ f(x) }");
    else if (pdl_is(v, PDL_V_NATIVE) && t->kind == PDL_TREE_EXPR)
        pdl_vm_advise_called(f, t->text, err);
    else if (pdl_str_find(pdl_buf_str(&src), PDL_STR("("), 0) != PDL_NOT_FOUND)
        pdl_err_hint(err, PDL_CALL_NAMES);
    else if (!named && t->kind == PDL_TREE_CONST && pdl_is_str(v))
        pdl_err_hint(err, PDL_CALL_TEXT);
    pdl_buf_fini(&src);
    return PDL_STEP_FAIL;
}

static pdl_str call_source(const pdl_b_call *b) {
    if (b->func->kind == PDL_TREE_EXPR) return b->func->text->source;
    return pdl_is_str(b->func->value) ? pdl_str_get(b->func->value) : PDL_STR("function");
}

/* Checks the arguments. Promises stay as they are when no parameter has a type and the names of the
 * arguments match the parameters. Otherwise all arguments are resolved. */
static pdl_step check_args(pdl_fiber *f, const pdl_b_call *b, const pdl_closure *c, pdl_val *args,
                           pdl_err *err) {
    const pdl_params *p = &c->info->block->params;
    size_t n = pdl_dict_len(*args), named = 0;
    bool any = true;
    for (uint32_t i = 0; i < p->n; i++) {
        named += !pdl_is_absent(pdl_dict_gets(*args, p->names[i]));
        any = any && pdl_type_is_any(p->types[i]);
    }
    if ((any && named == n && named == p->n) || (p->n == 0 && n == 0)) return PDL_STEP_DONE;
    pdl_step s = pdl_vm_force(f, args, err);
    if (s != PDL_STEP_DONE) return s;
    const pdl_node *node = b->args && b->args->kind != PDL_TREE_EXPR ? b->args->node : NULL;
    pdl_loc loc = b->args ? b->args->loc : b->head.loc;
    pdl_checked of = {"during function call to", call_source(b), loc, node};
    bool ok = pdl_vm_check_value(f->run, p->all, args, &of, err);
    /* the message has the words of the types */
    if (!ok) err->label |= pdl_label_of(c->base.signature);
    return step_of(ok);
}

/* Binds the parameters to the arguments of the same names and hides outer variables that have the
 * name of a missing argument. Takes s. */
static pdl_scope *bind_params(pdl_scope *s, const pdl_func_info *info, pdl_vref args) {
    for (uint32_t i = 0; i < info->n_params; i++) {
        pdl_val v = pdl_dict_part_named(args, info->block->params.names[i]);
        if (!pdl_is_absent(v))
            s = pdl_scope_put(s, info->params[i], v);
        else if (!pdl_is_absent(pdl_scope_find(s, info->params[i])))
            s = pdl_scope_del(s, info->params[i]);
    }
    return s;
}

/* Binds the arguments of the usual call, in which each parameter has an argument, and each argument
 * is a single value that fits a simple type. Nothing has to be resolved or bounded then, and no
 * context is given. Returns the scope of the body, or NULL for any other call. */
static pdl_scope *bind_simple(const pdl_fiber *f, const pdl_closure *c, pdl_vref func,
                              pdl_vref args) {
    const pdl_params *p = &c->info->block->params;
    bool may_bound = f->run->opt.guarded && (pdl_label_of(args) & PDL_LABEL_FREE);
    if (pdl_dict_len(args) != p->n) return NULL;
    pdl_scope *s = body_scope(c, func);
    for (uint32_t i = 0; i < p->n; i++) {
        pdl_val v = pdl_dict_part_named(args, p->names[i]);
        bool simple = !pdl_is_absent(v) && c->info->params[i] != f->run->code.names.context &&
                      pdl_type_fits_single(p->types[i], v) &&
                      (!may_bound || pdl_type_bounds_nothing(p->types[i]));
        if (!simple) {
            pdl_drop(v);
            pdl_scope_drop(s);
            return NULL;
        }
        s = pdl_scope_put(s, c->info->params[i], v);
    }
    return s;
}

/* Takes pdl_context out of the arguments. It replaces the context of the body, and need not be a
 * parameter. */
static pdl_step take_context(pdl_fiber *f, pdl_val *args, pdl_val *ctx, pdl_err *err) {
    pdl_vref given = pdl_dict_getz(*args, "pdl_context");
    *ctx = pdl_absent();
    if (pdl_is_absent(given)) return PDL_STEP_DONE;
    if (pdl_is(given, PDL_V_PROMISE)) {
        pdl_step s = pdl_vm_force(f, args, err);
        if (s != PDL_STEP_DONE) return s;
    }
    pdl_val key = pdl_textz("pdl_context"), part = pdl_dict_part_at(*args, key);
    bool ok = pdl_context_from(part, ctx, err);
    if (ok) *args = pdl_dict_del(*args, key);
    pdl_drop(part);
    pdl_drop(key);
    return step_of(ok);
}

/* Checks the arguments of a tool that are no parameters of its function, as far as the schema of
 * the tool describes them. */
static pdl_step check_others(pdl_fiber *f, const pdl_b_call *b, const pdl_closure *c,
                             pdl_val *others, pdl_err *err) {
    pdl_step s = pdl_vm_force(f, others, err);
    if (s != PDL_STEP_DONE) return s;
    pdl_val schema = pdl_tool_others_schema(pdl_vm_tool_schema(c));
    pdl_arena *a = pdl_arena_make();
    const pdl_type *t = NULL;
    pdl_err none = {0}, why = {0};
    bool ok = true;
    if (!pdl_is_absent(schema) && pdl_type_from_val(a, schema, &t, &none)) {
        const pdl_node *node = b->args && b->args->kind != PDL_TREE_EXPR ? b->args->node : NULL;
        pdl_loc loc = b->args ? b->args->loc : b->head.loc;
        pdl_checked of = {"during function call to", call_source(b), loc, node};
        /* when the schema itself is wrong, the server checks the arguments */
        ok = pdl_vm_check_value(f->run, t, others, &of, &why) || why.kind == PDL_E_schema;
        if (!ok) pdl_err_move(err, &why);
        if (!ok) err->label |= pdl_label_of(c->base.signature);
    }
    pdl_err_fini(&none);
    pdl_err_fini(&why);
    pdl_arena_free(a);
    pdl_drop(schema);
    return step_of(ok);
}

/* Binds the arguments of any call. Makes the scope of the body, and its context if one is given.
 * Both are set only when the result is DONE. */
static pdl_step bind_args(pdl_fiber *f, const pdl_b_call *b, const pdl_closure *c,
                          pdl_scope **scope, pdl_val *ctx, pdl_err *err) {
    pdl_val given = pdl_keep(*under(f, 1)), context = pdl_absent(), others = pdl_absent();
    pdl_step s = take_context(f, &given, &context, err);
    if (s == PDL_STEP_DONE) s = step_of(pdl_vm_take_others(b, c, &given, &others, err));
    if (s == PDL_STEP_DONE) s = check_args(f, b, c, &given, err);
    if (s == PDL_STEP_DONE && !pdl_is_absent(others)) s = check_others(f, b, c, &others, err);
    if (s == PDL_STEP_DONE) {
        *scope = bind_params(body_scope(c, *top(f)), c->info, given);
        *scope = pdl_vm_bind_others(f->run, c, *scope, others);
        *ctx = context;
    } else {
        pdl_drop(others);
        pdl_drop(context);
    }
    pdl_drop(given);
    return s;
}

pdl_label pdl_vm_label_of_arguments(const pdl_fiber *f, pdl_vref func) {
    return f->nested && f->run->opt.guarded ? pdl_label_of(func) : 0;
}

/* Returns the arguments of a call with further labels on each of them. Takes args. */
static pdl_val label_arguments(pdl_val args, pdl_label label) {
    if (!label) return args;
    pdl_val out = pdl_dict_new(pdl_dict_len(args));
    for (size_t i = 0; i < pdl_dict_len(args); i++)
        out = pdl_dict_put(out, pdl_keep(pdl_dict_key_at(args, i)),
                           pdl_with_label(pdl_dict_part(args, i), label));
    pdl_drop(args);
    return out;
}

/* Enters a function. label is the label of the value that holds the function. Where the policy
 * watches plans (control: plans), the function counts as a plan with this label. */
static void enter_function(pdl_fiber *f, pdl_label label) {
    pdl_vm_enter_chosen(f, label);
    if (f->run->opt.strict_plans) f->control |= label;
}

pdl_step pdl_op_CALL_BLOCK(pdl_fiber *f, const pdl_b_call *b, pdl_err *err) {
    pdl_step s = pdl_vm_force(f, top(f), err);
    if (s != PDL_STEP_DONE) return s;
    if (!pdl_is(*top(f), PDL_V_FUNC)) return not_a_function(f, b, *top(f), err);
    pdl_val *args = under(f, 1);
    if (pdl_is(*args, PDL_V_PROMISE)) {
        s = pdl_vm_force(f, args, err);
        if (s != PDL_STEP_DONE) return s;
    }
    if (!pdl_is_dict(*args)) {
        pdl_err_set(err, PDL_E_type, b->args ? b->args->loc : b->head.loc,
                    "args of a call should be an object but got a value of type %s",
                    pdl_type_name(*args));
        pdl_err_hint(err, "write args: {PARAMETER: VALUE}");
        return PDL_STEP_FAIL;
    }
    const pdl_closure *c = closure_of(*top(f));
    *args = label_arguments(*args, pdl_vm_label_of_arguments(f, *top(f)));
    pdl_val ctx = pdl_absent();
    pdl_scope *scope = bind_simple(f, c, *top(f), *args);
    if (!scope) s = bind_args(f, b, c, &scope, &ctx, err);
    if (s == PDL_STEP_DONE && too_deep(f, err)) s = PDL_STEP_FAIL;
    if (s != PDL_STEP_DONE) {
        pdl_scope_drop(scope);
        pdl_drop(ctx);
        return s;
    }
    pdl_val func = pop(f);
    pdl_drop(pop(f));
    pdl_vm_frame_push(f, FRAME_CALL, c->code, entry_of(c), b->head.loc);
    pdl_vm_frame *fr = frame(f);
    fr->func = func;
    fr->call = b;
    enter_function(f, pdl_label_of(func));
    pdl_scope_drop(f->scope);
    f->scope = scope;
    if (!pdl_is_absent(ctx)) set_val(&f->ctx, ctx);
    return PDL_STEP_DONE;
}

/* --- calls from expressions ------------------------------------------------------------------- */

static void drop_all(const pdl_val *v, size_t n) {
    for (size_t i = 0; i < n; i++) pdl_drop(v[i]);
}

/* Pushes a record that separates the body from its caller. The ids of the blocks in the body begin
 * with the function's id and the number of the call. */
static void push_instance(pdl_fiber *f, pdl_closure *c) {
    pdl_path *place = NULL;
    if (f->blocks.n) {
        pdl_path *up = pdl_vm_place_path(f);
        place = pdl_path_numbered(up, "call", pdl_vm_place_block(f)->instances++);
        pdl_path_drop(up);
    }
    frame(f)->place = place;
    pdl_vm_block *b = pdl_vec_push(&f->blocks);
    *b = (pdl_vm_block){
        .path = pdl_path_numbered(c->path, "instance", c->instances++),
        .ctx_in = pdl_null(),
        .role_in = pdl_null(),
        .child_messages = pdl_absent(),
    };
}

/* Checks the arguments of a call from an expression. Sets *ctx to the context that is given, if
 * any. */
static bool accept_args(const pdl_fiber *f, const pdl_closure *c, const pdl_call_args *args,
                        pdl_val *ctx, pdl_err *err) {
    const pdl_func_info *info = c->info;
    bool ok = true;
    if (args->n_pos > info->n_params)
        return pdl_err_set(err, PDL_E_type, c->loc, "Too many arguments to the call%s%.*s",
                           info->name_text.n ? " of " : "", PDL_FMT(info->name_text));
    for (size_t i = 0; ok && i < args->n_pos; i++)
        if (info->params[i] == f->run->code.names.context)
            ok = pdl_context_from(args->pos[i], ctx, err);
    for (size_t i = 0; ok && i < args->n_kw; i++) {
        if (pdl_str_is(args->kw_names[i], "pdl_context"))
            ok = pdl_context_from(args->kw[i], ctx, err);
        else if (PDL_UNLIKELY(pdl_vm_is_of_server(c)))
            ok = pdl_vm_tool_takes(c, args->kw_names[i], args->of_names, err);
    }
    return ok;
}

/* Binds the arguments of a call from an expression. Takes s and the values. A name that is not a
 * parameter is bound as well, except for a tool. */
static pdl_scope *bind_call(const pdl_fiber *f, const pdl_closure *c, pdl_scope *s,
                            const pdl_call_args *args) {
    const pdl_func_info *info = c->info;
    bool of_server = pdl_vm_is_of_server(c);
    pdl_val others = pdl_absent();
    for (size_t i = args->n_pos; i < info->n_params; i++)
        if (!pdl_is_absent(pdl_scope_find(s, info->params[i])))
            s = pdl_scope_del(s, info->params[i]);
    for (size_t i = 0; i < args->n_pos; i++) {
        if (info->params[i] == f->run->code.names.context)
            pdl_drop(args->pos[i]);
        else
            s = pdl_scope_put(s, info->params[i], args->pos[i]);
    }
    for (size_t i = 0; i < args->n_kw; i++) {
        pdl_str name = args->kw_names[i];
        if (pdl_str_is(name, "pdl_context")) {
            pdl_drop(args->kw[i]);
        } else if (PDL_UNLIKELY(of_server) && pdl_vm_is_other(c, name)) {
            if (pdl_is_absent(others)) others = pdl_dict_new(1);
            pdl_val key = pdl_with_label(pdl_text(name), args->of_names);
            others = pdl_dict_put(others, key, args->kw[i]);
        } else {
            s = pdl_scope_put(s, pdl_intern(f->run->opt.names, name), args->kw[i]);
        }
    }
    return of_server ? pdl_vm_bind_others(f->run, c, s, others) : s;
}

pdl_step pdl_vm_call_closure(pdl_fiber *f, pdl_val func, const pdl_call_args *args, pdl_err *err) {
    pdl_closure *c = closure_of(func);
    pdl_val ctx = pdl_absent();
    if (too_deep(f, err) || !accept_args(f, c, args, &ctx, err)) {
        drop_all(args->pos, args->n_pos);
        drop_all(args->kw, args->n_kw);
        pdl_drop(func);
        pdl_drop(ctx);
        return PDL_STEP_FAIL;
    }
    pdl_scope *scope = bind_call(f, c, body_scope(c, func), args);
    pdl_loc loc = f->code ? f->code->sites.p[f->code->where.p[f->pc - 1].site].loc : (pdl_loc){0};
    pdl_vm_frame_push(f, FRAME_EXPR, c->code, entry_of(c), loc);
    push_instance(f, c);
    frame(f)->func = func;
    enter_function(f, pdl_label_of(func));
    frame(f)->blocks = (uint32_t)f->blocks.n - 1;
    pdl_scope_drop(f->scope);
    f->scope = scope;
    set_val(&f->role, pdl_keep(c->role));
    if (!pdl_is_absent(ctx)) set_val(&f->ctx, ctx);
    f->print = f->run->output.print_silent;
    f->autoescape = false;
    return PDL_STEP_DONE;
}

/* --- returns ---------------------------------------------------------------------------------- */

static void end_import(pdl_fiber *f, pdl_vm_frame *fr) {
    pdl_run *r = f->run;
    pdl_val module = pdl_vm_module_value(f, fr);
    r->code.imports = pdl_dict_put(r->code.imports, pdl_keep(fr->key), pdl_keep(module));
    pdl_drop(pop(f));
    pdl_vm_frame_pop(f);
    push(f, module);
}

/* Ends an include. Its scope and background stay. */
static void end_include(pdl_fiber *f) {
    pdl_val v = pop(f), background = f->background;
    pdl_scope *scope = f->scope;
    f->background = pdl_absent();
    f->scope = NULL;
    pdl_vm_frame_pop(f);
    pdl_scope_drop(f->scope);
    f->scope = scope;
    set_val(&f->background, background);
    push(f, v);
}

/* Ends a routine. With keep_bg, the background that the routine left stays in the register. */
static void end_plain(pdl_fiber *f, bool keep_bg) {
    pdl_label label = frame(f)->label | f->control;
    pdl_val v = pop(f), background = f->background;
    f->background = pdl_absent();
    pdl_vm_frame_pop(f);
    if (keep_bg)
        set_val(&f->background, background);
    else
        pdl_drop(background);
    push(f, pdl_with_label(v, label));
}

pdl_step pdl_vm_return(pdl_fiber *f, pdl_err *err, bool *ended) {
    pdl_vm_frame *fr = frame(f);
    pdl_step s = PDL_STEP_DONE;
    bool reports = f->run->opt.reports_tools;
    switch (fr->kind) {
    case FRAME_MAIN:
        if (f->waits) {
            s = pdl_inflight_await(f, 0, false, err);
            if (s != PDL_STEP_DONE) return s;
        }
        /* The function was called by code, which needs a value. */
        if (f->done) s = pdl_vm_force(f, top(f), err);
        if (s != PDL_STEP_DONE) return s;
        f->state = FIBER_DONE;
        *ended = true;
        return PDL_STEP_DONE;
    case FRAME_EXPR:
        s = pdl_vm_force(f, top(f), err);
        if (s == PDL_STEP_DONE) s = pdl_vm_check_function_result(f, closure_of(fr->func), err);
        if (PDL_UNLIKELY(reports) && s == PDL_STEP_DONE && pdl_vm_enters_program(f, fr))
            pdl_vm_report_tool(f, fr, false);
        if (s == PDL_STEP_DONE) end_plain(f, false);
        break;
    case FRAME_CALL:
        s = pdl_vm_check_function_result(f, closure_of(fr->func), err);
        if (PDL_UNLIKELY(reports) && s == PDL_STEP_DONE && pdl_vm_enters_program(f, fr))
            pdl_vm_report_tool(f, fr, false);
        if (s == PDL_STEP_DONE) end_plain(f, true);
        break;
    case FRAME_PDL: end_plain(f, false); break;
    case FRAME_MACRO:
        end_plain(f, false);
        /* the text is markup where the call is written, whatever the body has escaped */
        if (f->autoescape) push(f, pdl_with_flags(pop(f), PDL_F_SAFE));
        break;
    case FRAME_TEMPLATE: end_plain(f, false); break;
    case FRAME_INCLUDE: end_include(f); break;
    case FRAME_IMPORT: end_import(f, fr); break;
    }
    return s;
}

/* --- calls from outside ----------------------------------------------------------------------- */

void pdl_run_call_in(void *user, const pdl_effect *code, pdl_val func, pdl_val args, pdl_val kwargs,
                     pdl_call_done done) {
    pdl_run *r = user;
    pdl_err err = {0};
    if (!pdl_is(func, PDL_V_FUNC)) {
        pdl_err_host(&err, "TypeError", "'%s' object is not callable", pdl_type_name(func));
        done.fn(done.user, pdl_absent(), &err);
        pdl_err_fini(&err);
        pdl_drop(func);
        pdl_drop(args);
        pdl_drop(kwargs);
        return;
    }
    pdl_closure *c = closure_of(func);
    pdl_fiber *f = pdl_fiber_new(r, c->code, entry_of(c));
    f->done = done.fn;
    f->done_user = done.user;
    f->out = r->fibers.main->out;
    set_val(&f->sandbox, pdl_keep(code->sandbox));
    f->modules = code->modules;
    r->code.has_modules = r->code.has_modules || code->modules;
    f->by_code = f->is_for_code = true;
    r->fibers.n_for_code++;
    pdl_inflight *asked = pdl_idmap_find(&r->effects.by_id, code->id);
    f->caller = asked ? asked->fiber : 0;
    /* the code that calls waits in a block of the main fiber */
    pdl_vm_set_budget(f, r->fibers.main->budget);
    set_val(&f->ctx, pdl_keep(r->fibers.main->ctx));
    pdl_vm_enter_chosen(f, pdl_label_of(args) | pdl_label_of(kwargs));
    size_t n = pdl_list_len(args), n_kw = pdl_dict_len(kwargs);
    pdl_val *vals = PDL_NEW_N(pdl_val, n + n_kw);
    pdl_str *names = PDL_NEW_N(pdl_str, n_kw);
    for (size_t i = 0; i < n; i++)
        vals[i] = pdl_with_label(pdl_keep(pdl_list_at(args, i)), pdl_label_of(args));
    for (size_t i = 0; i < n_kw; i++) {
        names[i] = pdl_str_get(pdl_dict_key_at(kwargs, i));
        vals[n + i] = pdl_with_label(pdl_keep(pdl_dict_val_at(kwargs, i)), pdl_label_of(kwargs));
    }
    pdl_handles_made(args, pdl_label_of(args));
    pdl_handles_made(kwargs, pdl_label_of(kwargs));
    /* so that an error in the call itself is reported at the right place */
    f->pc = entry_of(c) + 1;
    const pdl_call_args given = {vals, n, names, vals + n, n_kw, pdl_label_of(kwargs)};
    pdl_step s = pdl_vm_call_closure(f, func, &given, &err);
    pdl_free(vals);
    pdl_free(names);
    pdl_drop(args);
    pdl_drop(kwargs);
    if (s == PDL_STEP_FAIL) {
        pdl_err_move(&f->err, &err);
        f->state = FIBER_FAILED;
        done.fn(done.user, pdl_absent(), &f->err);
        f->done = NULL;
        f->out = NULL;
        pdl_fiber_free(f);
        return;
    }
    frame(f)->kind = FRAME_MAIN; /* the return from this frame ends the fiber */
    pdl_fiber_ready(f);
}

void pdl_run_reads_input(pdl_run *r, uint32_t id) {
    pdl_inflight *asks = pdl_idmap_find(&r->effects.by_id, id);
    pdl_fiber *f = asks ? pdl_idmap_find(&r->fibers.by_id, asks->fiber) : NULL;
    if (f) pdl_out_release(f);
}
