/* ops_code.c -- code blocks and commands, through effects (spec execution 7). Code and commands run
 * outside of this process, and the variables that the code reads travel with the request.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/ident.h"
#include "base/limits.h"
#include "base/shlex.h"
#include "value/int.h"
#include "value/text.h"
#include "vm/err_span.h"
#include "vm/fiber.h"
#include "vm/inflight.h"
#include "vm/ops.h"
#include "vm/output_order.h"
#include "vm/particle.h"
#include "vm/run.h"
#include "vm/stacks.h"
#include "vm/wait.h"

#include "base/banned.h"

static bool wants_all(pdl_str text) {
    static const char *const words[] = {"globals", "locals", "vars", "dir"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (pdl_ident_is_in(text, pdl_str_of(words[i]))) return true;
    return false;
}

struct pick {
    pdl_fiber *f;
    pdl_str text;
    bool all, has_function;
    pdl_val vars;
};

/* Returns true when the code may read the name. Always returns true for the name `result`: when the
 * code does not set `result`, the variable of that name is the result of the code. */
static bool reads(const struct pick *p, pdl_str name) {
    return p->all || pdl_str_is(name, "result") || pdl_ident_is_in(p->text, name);
}

static bool pick_variable(void *user, pdl_name name, pdl_vref v) {
    struct pick *p = user;
    pdl_str s = pdl_name_str(p->f->run->opt.names, name);
    if (!reads(p, s)) return true;
    bool function = pdl_is(v, PDL_V_FUNC);
    /* Code can read all attributes of a function. */
    pdl_label said = function ? pdl_label_of(pdl_func_of(v)->signature) : 0;
    p->vars = pdl_dict_puts(p->vars, s, pdl_with_label(pdl_keep(v), said));
    p->has_function |= function;
    return true;
}

/* Returns the variables that the text reads, the context and usage among them. When scope is a
 * dict, only its values are variables. The context is passed with functions of the program, because
 * they see it when the code calls them. */
static pdl_val variables(pdl_fiber *f, pdl_vref scope, pdl_str text) {
    struct pick p = {f, text, wants_all(text), false, pdl_dict_new(4)};
    if (pdl_is_dict(scope)) {
        for (size_t i = 0; i < pdl_dict_len(scope); i++) {
            pdl_vref k = pdl_dict_key_at(scope, i);
            if (pdl_is_str(k) && reads(&p, pdl_str_get(k)))
                p.vars = pdl_dict_put(p.vars, pdl_keep(k), pdl_dict_part(scope, i));
        }
        return p.vars;
    }
    pdl_scope_each(f->scope, pick_variable, &p);
    if (p.all || p.has_function || pdl_ident_is_in(text, PDL_STR("pdl_context")))
        p.vars = pdl_dict_putz(p.vars, "pdl_context", pdl_keep(f->ctx));
    if (f->run->opt.particle.is_one && (p.all || pdl_ident_is_in(text, PDL_STR("pdl_particle_id"))))
        p.vars = pdl_dict_putz(p.vars, "pdl_particle_id", pdl_int(f->run->opt.particle.number));
    if (p.all || pdl_ident_is_in(text, PDL_STR("pdl_usage")))
        p.vars = pdl_dict_putz(p.vars, "pdl_usage", pdl_vm_usage_value(f->run));
    return p.vars;
}

/* On the stack: text scope -> promise of {result, rebound}. */
pdl_step pdl_op_CODE(pdl_fiber *f, const pdl_b_code *b, pdl_err *err) {
    pdl_step s = pdl_inflight_await(f, 0, false, err);
    if (s == PDL_STEP_DONE) s = pdl_vm_force_n(f, 2, err);
    if (s != PDL_STEP_DONE) return s;
    pdl_vref scope = *top(f), text = *under(f, 1);
    if (!pdl_is_absent(scope) && !pdl_is_null(scope) && !pdl_is_dict(scope)) {
        pdl_err_set(err, PDL_E_code, pdl_block_own_loc(&b->head),
                    "Python Code error: TypeError: scope should be an object but is of type %s",
                    pdl_type_name(scope));
        return PDL_STEP_FAIL;
    }
    if (!pdl_is_str(text)) {
        pdl_err_set(err, PDL_E_code, pdl_block_own_loc(&b->head),
                    "Python Code error: Traceback (most recent call last):\nTypeError: compile() "
                    "arg 1 must be a string, bytes or AST object");
        return PDL_STEP_FAIL;
    }
    pdl_val vars = variables(f, scope, pdl_str_get(text));
    s = pdl_vm_force(f, &vars, err); /* waits for everything that the code may read */
    if (s == PDL_STEP_DONE) s = pdl_await_chance(f, true);
    if (s != PDL_STEP_DONE) {
        pdl_drop(vars);
        return s;
    }
    pdl_val r = pdl_dict_new(5);
    bool ipython = pdl_str_eq_nocase(b->lang.s, PDL_STR("ipython"));
    r = pdl_dict_putz(r, "lang", pdl_textz(ipython ? "ipython" : "python"));
    r = pdl_dict_putz(r, "code", pdl_keep(text));
    r = pdl_dict_putz(r, "vars", vars);
    r = pdl_dict_putz(r, "cwd", pdl_text(f->run->opt.dir));
    if (b->session.s.p) r = pdl_dict_putz(r, "session", pdl_text(b->session.s));
    pdl_vm_cut_stack(f, f->stack.n - 2);
    pdl_inflight *c = pdl_inflight_new(f, PDL_EFFECT_code, pdl_block_own_loc(&b->head));
    c->value = pdl_promise_new(c->id);
    c->block = &b->head;
    push(f, pdl_keep(c->value));
    pdl_inflight_start(f, c, r);
    return PDL_STEP_DONE;
}

static pdl_step command_end(pdl_fiber *f, const pdl_b_code *b, pdl_err *err) {
    pdl_val r = *top(f);
    int64_t status = 0;
    pdl_vref errors = pdl_dict_getz(r, "stderr");
    if (pdl_is_str(errors) && pdl_str_get(errors).n) {
        pdl_buf out = PDL_BUF_INIT(PDL_MAX_TEXT);
        pdl_buf_put(&out, pdl_str_get(errors));
        pdl_buf_putc(&out, '\n');
        pdl_out_write_now(f, pdl_buf_str(&out), 2, pdl_label_of(r));
        pdl_buf_fini(&out);
    }
    if (pdl_int_get(pdl_dict_getz(r, "status"), &status) && status != 0) {
        bool full = pdl_text_is(pdl_dict_getz(r, "ended"), pdl_err_kind_name(PDL_E_memory));
        pdl_err_set(err, full ? PDL_E_memory : PDL_E_code, pdl_block_own_loc(&b->head),
                    "Shell Code error: ValueError('command exited with non zero code: %lld')%s",
                    (long long)status, full ? ": it used more memory than its sandbox allows" : "");
        err->py_class = pdl_str_dup(PDL_STR("ValueError"));
        err->status = (int)status;
        err->has_status = true;
        pdl_vm_advise_command(b, err);
        return PDL_STEP_FAIL;
    }
    set_top(f, pdl_with_label(pdl_keep(pdl_dict_getz(r, "stdout")), pdl_label_of(r)));
    return PDL_STEP_DONE;
}

/* Replaces the reply on top by the result and rebinds what the code changed in place. command: the
 * reply is that of a command, which rebinds nothing. */
pdl_step pdl_op_CODE_END(pdl_fiber *f, bool command, const pdl_b_code *b, pdl_err *err) {
    if (command) return command_end(f, b, err);
    pdl_vref rebound = pdl_dict_getz(*top(f), "rebound");
    pdl_label label = pdl_label_of(*top(f));
    for (size_t i = 0, n = pdl_is_dict(rebound) ? pdl_dict_len(rebound) : 0; i < n; i++) {
        pdl_vref k = pdl_dict_key_at(rebound, i);
        if (!pdl_text_is(k, "pdl_context") && !pdl_text_is(k, "pdl_usage"))
            f->scope = pdl_scope_put(f->scope, pdl_intern(f->run->opt.names, pdl_str_get(k)),
                                     pdl_with_label(pdl_keep(pdl_dict_val_at(rebound, i)), label));
    }
    set_top(f, pdl_with_label(pdl_keep(pdl_dict_getz(*top(f), "result")), label));
    return PDL_STEP_DONE;
}

/* --- commands --------------------------------------------------------------------------------- */

struct words {
    pdl_val *argv;
    pdl_label label; /* label of the text that is divided */
};

static bool add_word(void *user, pdl_str w) {
    struct words *x = user;
    *x->argv = pdl_list_push(*x->argv, pdl_with_label(pdl_text(w), x->label));
    return true;
}

static bool words_of(pdl_vref v, bool vector, pdl_val *argv, pdl_err *err) {
    *argv = pdl_list_new(4);
    if (!vector || !pdl_is_list(v)) {
        if (!pdl_is_str(v))
            return pdl_err_host(err, "AttributeError", "'%s' object has no attribute 'read'",
                                pdl_type_name(v));
        return pdl_shlex_split(pdl_str_get(v), add_word, &(struct words){argv, pdl_label_of(v)},
                               err);
    }
    for (size_t i = 0; i < pdl_list_len(v); i++) {
        pdl_vref w = pdl_list_at(v, i);
        if (pdl_is_str(w))
            *argv = pdl_list_push(*argv, pdl_list_part(v, i));
        else
            return pdl_err_host(err, "TypeError",
                                "expected str, bytes or os.PathLike object, not %s",
                                pdl_type_name(w));
    }
    return true;
}

pdl_step pdl_op_COMMAND(pdl_fiber *f, bool vector, const pdl_b_code *b, pdl_err *err) {
    pdl_step s = pdl_inflight_await(f, 0, false, err);
    if (s == PDL_STEP_DONE) s = pdl_vm_force(f, top(f), err);
    if (s == PDL_STEP_DONE) s = pdl_await_chance(f, true);
    if (s != PDL_STEP_DONE) return s;
    pdl_val argv;
    bool ok = words_of(*top(f), vector, &argv, err);
    if (ok && !pdl_list_len(argv)) ok = pdl_err_host(err, "IndexError", "list index out of range");
    if (!ok) {
        pdl_drop(argv);
        pdl_vm_code_error("Shell", "ValueError", pdl_block_own_loc(&b->head), err);
        return PDL_STEP_FAIL;
    }
    pdl_val r = pdl_dict_putz(pdl_dict_new(1), "argv", argv);
    pdl_drop(pop(f));
    pdl_vm_start_effect(f, PDL_EFFECT_command, r, pdl_block_own_loc(&b->head));
    return step_of(true);
}
