/* ops_template.c -- instructions of Jinja templates: output, loops, macros, and the run of a jinja
 * code block. A loop and a macro are values whose attributes a template can read. Their bodies are
 * routines of the bytecode, so they can wait for a model like all other code.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/hash.h"
#include "base/idmap.h"
#include "base/limits.h"
#include "compile/compile.h"
#include "value/pyvalues.h"
#include "value/text.h"
#include "vm/closure.h"
#include "vm/err_span.h"
#include "vm/fiber.h"
#include "vm/ops.h"
#include "vm/ops/object.h"
#include "vm/run.h"
#include "vm/stacks.h"
#include "vm/wait.h"

#include "base/banned.h"

pdl_step pdl_op_OUT(pdl_fiber *f, bool only_text, pdl_err *err) {
    pdl_step s = pdl_vm_force(f, top(f), err);
    if (s != PDL_STEP_DONE) return s;
    pdl_vref v = *top(f);
    if (only_text && !pdl_is_str(v)) { /* the result of a filter block is output unchanged */
        pdl_err_host(err, "TypeError", "sequence item 0: expected str instance, %s found",
                     pdl_type_name(v));
        return PDL_STEP_FAIL;
    }
    pdl_outbuf *to = outbuf(f);
    to->label |= pdl_label_of(v);
    bool escaped = f->autoescape && !only_text;
    if (!(escaped ? pdl_vm_put_escaped(f, v, &to->text, err)
                  : pdl_vm_put_str(f, v, &to->text, err)))
        return PDL_STEP_FAIL;
    pdl_drop(pop(f));
    return PDL_STEP_DONE;
}

/* --- loops ------------------------------------------------------------------------------------ */

typedef struct loop_obj {
    pdl_ext ext;
    pdl_val items;  /* list */
    size_t i;       /* number of items that have begun; the current item has the index i - 1 */
    uint32_t depth; /* from 0 */
    bool recursive, autoescape;
    uint32_t entry; /* where the body begins, for a call of loop(...) */
    /* for a recursive loop: index of the save that holds the variables from before the loop */
    uint32_t before;
    const pdl_code *code;
    pdl_val changed; /* arguments of the last call of loop.changed(); or absent */
} loop_obj;

static pdl_vref loop_child(const pdl_obj *o, size_t i) {
    const loop_obj *l = (const loop_obj *)(const void *)o;
    if (i == 0) return l->items;
    return i == 1 ? l->changed : pdl_absent();
}

/* A method with its loop: loop.cycle, loop.changed. */
typedef struct bound_obj {
    pdl_ext ext;
    pdl_val self, name;
} bound_obj;

static pdl_vref bound_child(const pdl_obj *o, size_t i) {
    const bound_obj *b = (const bound_obj *)(const void *)o;
    if (i == 0) return b->self;
    return i == 1 ? b->name : pdl_absent();
}

static const pdl_attr_class bound_class = {.base = {.type_name = "method", .child = bound_child}};

static pdl_val bound_new(pdl_vref self, pdl_str name) {
    bound_obj *b = pdl_ext_new(PDL_V_CELL, &bound_class.base, sizeof *b);
    b->self = pdl_keep(self);
    b->name = pdl_text(name);
    return pdl_from_obj(PDL_V_CELL, &b->ext.head, 0);
}

static void loop_text(const pdl_obj *o, bool repr, pdl_buf *out) {
    const loop_obj *l = (const loop_obj *)(const void *)o;
    (void)repr;
    pdl_buf_putf(out, "<LoopContext %zu/%zu>", l->i, pdl_list_len(l->items));
}

static const pdl_attr_class loop_class = {
    .base = {.type_name = "LoopContext", .child = loop_child, .text = loop_text},
    .attr = pdl_vm_loop_attr,
};

static loop_obj *loop_of(pdl_vref v) {
    return pdl_is(v, PDL_V_CELL) && pdl_class_of(v) == &loop_class.base
               ? (loop_obj *)(void *)pdl_obj_of(v)
               : NULL;
}

static pdl_val item_or_undefined(const loop_obj *l, size_t i, const char *what) {
    if (i < pdl_list_len(l->items)) return pdl_list_part(l->items, i);
    return pdl_undefined(pdl_textf("there is no %s item", what));
}

bool pdl_vm_loop_attr(pdl_vref self, pdl_str name, pdl_val *out) {
    const loop_obj *l = loop_of(self);
    if (!l) return false;
    int64_t n = (int64_t)pdl_list_len(l->items), i = (int64_t)l->i - 1;
    /* label of the number of items, for attributes such as `length` that reveal the number */
    pdl_label whole = pdl_label_of(l->items);
    if (pdl_str_is(name, "index"))
        *out = pdl_int(i + 1);
    else if (pdl_str_is(name, "index0"))
        *out = pdl_int(i);
    else if (pdl_str_is(name, "revindex"))
        *out = pdl_with_label(pdl_int(n - i), whole);
    else if (pdl_str_is(name, "revindex0"))
        *out = pdl_with_label(pdl_int(n - i - 1), whole);
    else if (pdl_str_is(name, "first"))
        *out = pdl_bool(i == 0);
    else if (pdl_str_is(name, "last"))
        *out = pdl_with_label(pdl_bool(i + 1 == n), pdl_label_of_truth(whole));
    else if (pdl_str_is(name, "length"))
        *out = pdl_with_label(pdl_int(n), whole);
    else if (pdl_str_is(name, "depth"))
        *out = pdl_int((int64_t)l->depth + 1);
    else if (pdl_str_is(name, "depth0"))
        *out = pdl_int(l->depth);
    else if (pdl_str_is(name, "previtem"))
        *out = item_or_undefined(l, (size_t)(i - 1), "previous");
    else if (pdl_str_is(name, "nextitem"))
        *out = item_or_undefined(l, (size_t)(i + 1), "next");
    else if (pdl_str_is(name, "cycle") || pdl_str_is(name, "changed"))
        *out = bound_new(self, name);
    else
        return false;
    return true;
}

/* Returns the depth of a loop that begins. In a recursive loop whose body runs again it is one more
 * than before; otherwise it is 0. */
static uint32_t loop_depth(pdl_fiber *f, uint32_t entry) {
    const pdl_vm_frame *fr = frame(f);
    const loop_obj *l = fr->kind == FRAME_MACRO ? loop_of(fr->func) : NULL;
    return l && l->entry == entry ? l->depth + 1 : 0;
}

pdl_step pdl_vm_loop_begin(pdl_fiber *f, bool recursive, uint32_t entry, pdl_err *err) {
    pdl_step s = pdl_vm_force(f, top(f), err);
    if (s != PDL_STEP_DONE) return s;
    pdl_val v = *top(f), items;
    /* fetches the object's items; the loop then begins with their list */
    if (pdl_is(v, PDL_V_HANDLE)) {
        pop(f);
        pdl_vm_start_iter(f, v);
        return pdl_vm_loop_begin(f, recursive, entry, err);
    }
    if (pdl_is(v, PDL_V_UNDEFINED)) {
        if (!f->code->jinja) return pdl_undefined_error(v, err) ? PDL_STEP_DONE : PDL_STEP_FAIL;
        items = pdl_list_new(0);
    } else if (pdl_is_list(v)) {
        items = pdl_keep(v);
    } else if (!pdl_val_to_list(v, &items, err)) {
        return PDL_STEP_FAIL;
    }
    pdl_vm_chosen_by(f, pdl_label_of(items));
    loop_obj *l = pdl_ext_new(PDL_V_CELL, &loop_class.base, sizeof *l);
    l->items = items;
    l->changed = pdl_absent();
    l->recursive = recursive;
    l->entry = entry;
    l->code = f->code;
    l->before = (uint32_t)f->saves.n - 1;
    l->depth = recursive ? loop_depth(f, entry) : 0;
    set_top(f, pdl_from_obj(PDL_V_CELL, &l->ext.head, pdl_flags_of(items) & PDL_F_PROMISE));
    return PDL_STEP_DONE;
}

bool pdl_vm_loop_next(pdl_fiber *f, pdl_val *item) {
    loop_obj *l = loop_of(*top(f));
    if (l->i >= pdl_list_len(l->items)) return false;
    *item = pdl_list_part(l->items, l->i++);
    return true;
}

pdl_step pdl_op_UNPACK(pdl_fiber *f, size_t n, pdl_err *err) {
    pdl_step s = pdl_vm_force(f, top(f), err);
    if (s != PDL_STEP_DONE) return s;
    pdl_val v = *top(f), list;
    if (pdl_is(v, PDL_V_UNDEFINED) && !f->code->jinja)
        return pdl_undefined_error(v, err) ? PDL_STEP_DONE : PDL_STEP_FAIL;
    if (pdl_is(v, PDL_V_UNDEFINED))
        list = pdl_list_new(0);
    else if (!pdl_val_to_list(v, &list, err)) {
        pdl_err_fini(err);
        pdl_err_host(err, "TypeError", "cannot unpack non-iterable %s object", pdl_type_name(v));
        return PDL_STEP_FAIL;
    }
    size_t got = pdl_list_len(list);
    if (got != n) {
        pdl_drop(list);
        if (got > n)
            pdl_err_host(err, "ValueError", "too many values to unpack (expected %zu)", n);
        else
            pdl_err_host(err, "ValueError", "not enough values to unpack (expected %zu, got %zu)",
                         n, got);
        return PDL_STEP_FAIL;
    }
    pdl_drop(pop(f));
    for (size_t i = 0; i < n; i++) push(f, pdl_list_part(list, i));
    pdl_drop(list);
    return PDL_STEP_DONE;
}

/* --- macros ----------------------------------------------------------------------------------- */

typedef struct macro_obj {
    pdl_ext ext;
    const pdl_macro_info *info;
    pdl_code *code;   /* kept */
    pdl_scope *scope; /* the scope in which the macro was defined */
    bool autoescape;  /* the output of the body is escaped, because it is where it was defined */
    /* defined inside a loop or macro: the body sees the scope of that place instead of the
     * template's */
    bool nested;
} macro_obj;

static void macro_fini(pdl_obj *o) {
    macro_obj *m = (macro_obj *)(void *)o;
    pdl_code_drop(m->code);
    pdl_scope_drop(m->scope);
}

static bool macro_attr(pdl_vref self, pdl_str name, pdl_val *out);
static void macro_text(const pdl_obj *o, bool repr, pdl_buf *out);
static const pdl_attr_class macro_class = {
    .base = {.type_name = "Macro", .fini = macro_fini, .text = macro_text},
    .attr = macro_attr,
};

static macro_obj *macro_of(pdl_vref v) {
    return pdl_is(v, PDL_V_CELL) && pdl_class_of(v) == &macro_class.base
               ? (macro_obj *)(void *)pdl_obj_of(v)
               : NULL;
}

static void macro_text(const pdl_obj *o, bool repr, pdl_buf *out) {
    const macro_obj *m = (const macro_obj *)(const void *)o;
    (void)repr;
    PDL_PUT(out, "<Macro ");
    if (m->info->name.n)
        pdl_str_repr(m->info->name, out);
    else
        PDL_PUT(out, "anonymous");
    PDL_PUT(out, ">");
}

static bool macro_attr(pdl_vref self, pdl_str name, pdl_val *out) {
    const pdl_macro_info *i = macro_of(self)->info;
    if (pdl_str_is(name, "name"))
        *out = pdl_text(i->name);
    else if (pdl_str_is(name, "caller"))
        *out = pdl_bool(i->uses_caller);
    else if (pdl_str_is(name, "catch_varargs"))
        *out = pdl_bool(i->uses_varargs);
    else if (pdl_str_is(name, "catch_kwargs"))
        *out = pdl_bool(i->uses_kwargs);
    else if (pdl_str_is(name, "arguments")) {
        pdl_val l = pdl_list_new(i->n_params);
        for (uint32_t k = 0; k < i->n_params; k++) l = pdl_list_push(l, pdl_text(i->params[k]));
        *out = pdl_list_as_tuple(l);
    } else
        return false;
    return true;
}

pdl_val pdl_vm_macro_new(pdl_fiber *f, const pdl_macro_info *info) {
    macro_obj *m = pdl_ext_new(PDL_V_CELL, &macro_class.base, sizeof *m);
    m->info = info;
    m->code = pdl_code_keep(frame(f)->code);
    m->scope = pdl_scope_keep(f->scope);
    m->autoescape = f->autoescape;
    m->nested = f->saves.n > frame(f)->saves || frame(f)->kind == FRAME_MACRO;
    return pdl_from_obj(PDL_V_CELL, &m->ext.head, 0);
}

/* Pushes the frame of a macro or of the body of a recursive loop. Takes callee, which is that macro
 * or loop. */
static void push_macro(pdl_fiber *f, pdl_val callee, const pdl_code *code, uint32_t entry) {
    uint32_t top = (uint32_t)f->frames.n - 1;
    const pdl_vm_frame *fr = &f->frames.p[top];
    uint32_t below = fr->kind == FRAME_MACRO && fr->code == code ? fr->below : top;
    uint32_t depth = fr->kind == FRAME_MACRO ? fr->depth + 1 : 1;
    pdl_vm_frame_push(f, FRAME_MACRO, code, entry, (pdl_loc){0});
    f->frames.p[top + 1].below = below;
    f->frames.p[top + 1].depth = depth;
    f->frames.p[top + 1].func = callee;
}

void pdl_vm_rebind_outside(pdl_fiber *f, pdl_name name, pdl_vref old, pdl_vref x) {
    size_t i = f->frames.n;
    for (; i > 0 && f->frames.p[i - 1].kind == FRAME_MACRO; i--) {
        pdl_vm_frame *fr = &f->frames.p[i - 1];
        if (fr->code != f->code) break;
        macro_obj *m = macro_of(fr->func);
        if (m) (void)pdl_scope_rebind(&m->scope, name, old, x);
        (void)pdl_scope_rebind(&fr->scope, name, old, x);
    }
    for (size_t k = i ? f->frames.p[i - 1].saves : 0; k < f->saves.n; k++)
        (void)pdl_scope_rebind(&f->saves.p[k].scope, name, old, x);
}

static bool too_deep(pdl_fiber *f, pdl_err *err) {
    const pdl_vm_frame *fr = frame(f);
    if (f->frames.n < PDL_MAX_CALL_DEPTH &&
        (fr->kind != FRAME_MACRO || fr->depth < PDL_MAX_MACRO_DEPTH))
        return !pdl_run_has_memory(f->run, err);
    pdl_err_host(err, "RecursionError", "maximum recursion depth exceeded");
    return true;
}

/* Returns the scope that a macro sees. A nested macro sees the scope of its definition. A macro at
 * the top level of a template sees the current variables of the template, without the variables of
 * loops. */
static pdl_scope *template_scope(pdl_fiber *f, const macro_obj *m) {
    if (m->nested) return pdl_scope_keep(m->scope);
    for (size_t i = f->frames.n; i-- > 0;) {
        const pdl_vm_frame *fr = &f->frames.p[i];
        if (fr->code != m->code) break;
        if (fr->kind == FRAME_MACRO) {
            /* skips all frames of the macro in one step; with a step for each, a macro that calls
             * itself would take quadratic time */
            i = fr->below + 1;
            continue;
        }
        const pdl_vm_frame *above = i + 1 == f->frames.n ? NULL : &f->frames.p[i + 1];
        /* The oldest save has the variables of the template; what autoescape has saved has none. */
        for (size_t k = fr->saves; k < (above ? above->saves : f->saves.n); k++)
            if (f->saves.p[k].scope) return pdl_scope_keep(f->saves.p[k].scope);
        return pdl_scope_keep(above ? above->scope : f->scope);
    }
    return pdl_scope_keep(m->scope);
}

/* The arguments of a call of a macro, bound to its parameters. */
typedef struct macro_args {
    /* owned scope for the body: the variables that the macro sees, and the parameters */
    pdl_scope *scope;
    /* owned: the value of `kwargs`; the body of a {% call %}, or absent */
    pdl_val extra, caller;
    /* a name that is not a parameter; p is NULL when all names are parameters */
    pdl_str unknown;
} macro_args;

static void bind_positions(macro_args *a, const pdl_macro_info *info, const pdl_val *pos,
                           size_t given) {
    for (size_t i = 0; i < given; i++)
        a->scope = pdl_scope_put(a->scope, info->names[i], pdl_keep(pos[i]));
    for (size_t i = given; i < info->n_params; i++)
        a->scope = pdl_scope_put(a->scope, info->names[i],
                                 pdl_undefined(pdl_textf("parameter '%.*s' was not provided",
                                                         PDL_FMT(info->params[i]))));
}

/* Binds an argument by name. A parameter that was given by position cannot be given again by name.
 */
static void bind_keyword(macro_args *a, const pdl_macro_info *info, size_t given, pdl_str name,
                         pdl_vref v) {
    size_t k = 0;
    while (k < info->n_params && !pdl_str_eq(info->params[k], name)) k++;
    if (k >= given && k < info->n_params)
        a->scope = pdl_scope_put(a->scope, info->names[k], pdl_keep(v));
    else if (pdl_str_is(name, "caller"))
        set_val(&a->caller, pdl_keep(v));
    else if (info->uses_kwargs)
        a->extra = pdl_dict_puts(a->extra, name, pdl_keep(v));
    else
        a->unknown = name;
}

static bool check_macro_args(const macro_args *a, const pdl_macro_info *info, size_t n_pos,
                             pdl_err *err) {
    if (a->unknown.p)
        return pdl_err_host(err, "TypeError", "macro '%.*s' takes no keyword argument '%.*s'",
                            PDL_FMT(info->name), PDL_FMT(a->unknown));
    if (n_pos > info->n_params && !info->uses_varargs)
        return pdl_err_host(err, "TypeError", "macro '%.*s' takes not more than %u argument(s)",
                            PDL_FMT(info->name), info->n_params);
    if (!pdl_is_absent(a->caller) && !info->uses_caller)
        return pdl_err_host(err, "TypeError",
                            "macro '%.*s' was invoked with two values for the special caller "
                            "argument. This is most likely a bug.",
                            PDL_FMT(info->name));
    return true;
}

/* Binds varargs, kwargs and caller when the body of the macro uses them. */
static void bind_special(pdl_fiber *f, macro_args *a, const pdl_macro_info *info,
                         const pdl_val *pos, size_t n_pos) {
    pdl_interner *in = f->run->opt.names;
    if (info->uses_varargs) {
        pdl_val rest = pdl_list_new(0);
        for (size_t i = info->n_params; i < n_pos; i++)
            rest = pdl_list_push(rest, pdl_keep(pos[i]));
        a->scope =
            pdl_scope_put(a->scope, pdl_intern(in, PDL_STR("varargs")), pdl_list_as_tuple(rest));
    }
    if (info->uses_kwargs)
        a->scope = pdl_scope_put(a->scope, pdl_intern(in, PDL_STR("kwargs")), pdl_keep(a->extra));
    if (info->uses_caller)
        a->scope =
            pdl_scope_put(a->scope, f->run->code.names.caller,
                          pdl_is_absent(a->caller) ? pdl_undefined(pdl_textz("No caller defined"))
                                                   : pdl_keep(a->caller));
}

static pdl_step macro_call(pdl_fiber *f, pdl_vref callee, const pdl_call_args *args, pdl_err *err) {
    macro_obj *m = macro_of(callee);
    const pdl_macro_info *info = m->info;
    size_t n_pos = args->n_pos, given = n_pos < info->n_params ? n_pos : info->n_params;
    macro_args a = {template_scope(f, m), pdl_dict_new(0), pdl_absent(), {0}};
    bind_positions(&a, info, args->pos, given);
    for (size_t i = 0; i < args->n_kw; i++)
        bind_keyword(&a, info, given, args->kw_names[i], args->kw[i]);
    bind_special(f, &a, info, args->pos, n_pos);
    bool ok = check_macro_args(&a, info, n_pos, err) && !too_deep(f, err);
    pdl_drop(a.extra);
    pdl_drop(a.caller);
    if (!ok) {
        pdl_scope_drop(a.scope);
        return PDL_STEP_FAIL;
    }
    push_macro(f, pdl_keep(callee), m->code, info->entry);
    pdl_scope_drop(f->scope);
    f->scope = a.scope;
    f->autoescape = m->autoescape;
    return PDL_STEP_DONE;
}

/* Calls loop(items) in a recursive loop. The body of the loop then runs as a routine, with the
 * items on the stack. */
static pdl_step loop_call(pdl_fiber *f, pdl_vref callee, loop_obj *l, const pdl_val *pos,
                          size_t n_pos, pdl_err *err) {
    if (!l->recursive) {
        pdl_err_host(err, "TypeError",
                     "The loop must have the 'recursive' marker to be called recursively.");
        return PDL_STEP_FAIL;
    }
    if (n_pos != 1) {
        pdl_err_host(err, "TypeError",
                     "LoopContext.__call__() takes 2 positional arguments but %zu were given",
                     n_pos + 1);
        return PDL_STEP_FAIL;
    }
    if (too_deep(f, err)) return PDL_STEP_FAIL;
    pdl_val items = pdl_keep(pos[0]);
    push_macro(f, pdl_keep(callee), l->code, l->entry);
    /* the body does not see what the iteration that calls it has set */
    if (l->before < f->saves.n) {
        pdl_scope_drop(f->scope);
        f->scope = pdl_scope_keep(f->saves.p[l->before].scope);
    }
    /* The list is above the arguments, where the frame of the macro expects it. */
    push(f, items);
    return PDL_STEP_DONE;
}

static bool loop_method(pdl_vref callee, const pdl_val *pos, size_t n_pos, pdl_val *out,
                        pdl_err *err) {
    const bound_obj *b = (const bound_obj *)(const void *)pdl_obj_of(callee);
    loop_obj *l = loop_of(b->self);
    pdl_str name = pdl_str_get(b->name);
    if (pdl_str_is(name, "cycle")) {
        if (!n_pos) {
            pdl_err_host(err, "TypeError", "no items for cycling given");
            return true;
        }
        *out = pdl_keep(pos[(l->i - 1) % n_pos]);
        return true;
    }
    pdl_val now = pdl_list_new(n_pos);
    for (size_t i = 0; i < n_pos; i++) now = pdl_list_push(now, pdl_keep(pos[i]));
    bool same = !pdl_is_absent(l->changed) && pdl_val_eq(l->changed, now);
    pdl_label label = pdl_label_of(now) | pdl_label_of(l->changed);
    set_val(&l->changed, now);
    if (pdl_check_walk(err)) *out = pdl_with_label(pdl_bool(!same), pdl_label_of_truth(label));
    return true;
}

pdl_step pdl_vm_cell_call(pdl_fiber *f, pdl_val callee, const pdl_call_args *args, bool *handled,
                          pdl_val *out, pdl_err *err) {
    const pdl_val *pos = args->pos;
    size_t n_pos = args->n_pos;
    loop_obj *l = loop_of(callee);
    *handled = true;
    *out = pdl_absent();
    if (macro_of(callee)) return macro_call(f, callee, args, err);
    if (l) return loop_call(f, callee, l, pos, n_pos, err);
    if (pdl_class_of(callee) == &bound_class.base && loop_method(callee, pos, n_pos, out, err))
        return err->kind ? PDL_STEP_FAIL : PDL_STEP_DONE;
    pdl_cell_choose(callee, f->control);
    return pdl_cell_call(callee, n_pos, handled, out, err) ? PDL_STEP_DONE : PDL_STEP_FAIL;
}

/* --- jinja code blocks ------------------------------------------------------------------------ */

/* A template that was compiled. It is found again by its text and options. */
struct pdl_template {
    pdl_arena *arena;
    pdl_code *code;
    pdl_val text, options;
    bool autoescape;
    struct pdl_template *same_hash;
};

void pdl_vm_templates_fini(pdl_run_code *c) {
    for (size_t i = 0; i < c->template_list.n; i++) {
        struct pdl_template *t = c->template_list.p[i];
        pdl_code_drop(t->code);
        pdl_drop(t->text);
        pdl_drop(t->options);
        pdl_arena_free(t->arena);
        pdl_free(t);
    }
    pdl_vec_fini(&c->template_list);
    pdl_idmap_fini(&c->templates);
}

static struct pdl_template *template_get(pdl_run *r, pdl_vref text, pdl_vref options,
                                         pdl_err *err) {
    uint32_t hash = pdl_hash_str(pdl_str_get(text));
    pdl_label label = pdl_label_of(text) | pdl_label_of(options);
    struct pdl_template *first = pdl_idmap_find(&r->code.templates, hash);
    for (struct pdl_template *t = first; t; t = t->same_hash)
        if (t->code->label == label && pdl_val_eq(t->text, text) &&
            (pdl_is_absent(options)
                 ? pdl_is_absent(t->options)
                 : !pdl_is_absent(t->options) && pdl_val_eq(t->options, options)))
            return t;
    pdl_arena *a = pdl_arena_make();
    pdl_xoptions opt = {0};
    if (!pdl_is_absent(options) && !pdl_is_null(options) &&
        !pdl_expr_options(a, options, &opt, err)) {
        pdl_arena_free(a);
        return NULL;
    }
    struct pdl_template *t = PDL_NEW(struct pdl_template);
    t->arena = a;
    t->text = pdl_keep(text);
    t->options = pdl_keep(options);
    t->autoescape = opt.autoescape;
    t->code =
        pdl_compile_expr(pdl_expr_read_template(a, pdl_str_get(text), &opt, &pdl_known_xnames),
                         true, NULL, (pdl_loc){0}, r->opt.names);
    /* the template may put its constants into objects that outlive it */
    pdl_code_relabel(t->code, label);
    t->same_hash = first;
    pdl_idmap_put(&r->code.templates, hash, t);
    *pdl_vec_push(&r->code.template_list) = t;
    return t;
}

pdl_step pdl_op_JINJA(pdl_fiber *f, const pdl_b_code *b, pdl_err *err) {
    pdl_step s = pdl_vm_force_n(f, 3, err);
    if (s != PDL_STEP_DONE) return s;
    pdl_vref options = *top(f), scope = *under(f, 1), text = *under(f, 2);
    bool bad_scope = !pdl_is_absent(scope) && !pdl_is_null(scope) && !pdl_is_dict(scope);
    struct pdl_template *t =
        bad_scope || !pdl_is_str(text) ? NULL : template_get(f->run, text, options, err);
    if (bad_scope)
        pdl_err_host(err, "TypeError", "'%s' object is not a mapping", pdl_type_name(scope));
    else if (!pdl_is_str(text))
        pdl_err_host(err, "TypeError", "Can't compile non template nodes");
    if (!t) {
        err->label |= pdl_label_of(text) | pdl_label_of(options);
        pdl_vm_code_error("Jinja", "TypeError", b->head.loc, err);
        return PDL_STEP_FAIL;
    }
    pdl_scope *vars =
        pdl_is_dict(scope) ? pdl_vm_scope_of_dict(f->run, scope) : pdl_scope_keep(f->scope);
    pdl_vm_cut_stack(f, f->stack.n - 3);
    pdl_vm_frame_push(f, FRAME_TEMPLATE, t->code, 0, b->head.loc);
    pdl_vm_enter_chosen(f, t->code->label);
    pdl_scope_drop(f->scope);
    f->scope = vars;
    f->print = 0;
    f->autoescape = t->autoescape;
    return PDL_STEP_DONE;
}
