/* c_code.c -- code blocks: python, ipython, jinja, pdl, commands. */
#include "compile/emit.h"

#include "base/banned.h"

static void c_text_of(pdl_emit *e, const pdl_b_code *b) {
    c_sub(e, b->code, (pdl_pos){.seg = PDL_SEG_NAME, .name = PDL_STR("code"), .no_context = true});
}

static void c_or_absent(pdl_emit *e, const pdl_tree *t, const char *key) {
    if (!t) {
        emit_const(e, pdl_absent());
        return;
    }
    c_tree(e, t);
    c_trace_field(e, key);
}

static void c_end(pdl_emit *e, const pdl_info *info, unsigned message) {
    emit(e, PDL_OP_MESSAGE, info->no_context ? 2 : message, 0, 0);
    emit(e, PDL_OP_EMIT, 1, 0, 0);
}

static void c_command(pdl_emit *e, const pdl_b_code *b, const pdl_info *info) {
    if (b->args) {
        c_tree_at(e, b->args, b->head.loc);
        c_trace_field(e, "args");
    } else {
        c_text_of(e, b);
    }
    c_at(e, b->head.loc);
    emit(e, PDL_OP_COMMAND, b->args != NULL, 0, add_ptr(e, b));
    emit(e, PDL_OP_AWAIT, 0, 0, 0);
    emit(e, PDL_OP_CODE_END, 1, 0, add_ptr(e, b));
    c_end(e, info, 0);
}

void c_code(pdl_emit *e, const pdl_b_code *b, pdl_info *info) {
    pdl_str lang = b->lang.s;
    if (b->args || pdl_str_eq_nocase(lang, PDL_STR("command"))) {
        c_command(e, b, info);
        return;
    }
    c_text_of(e, b);
    c_or_absent(e, b->scope, "scope");
    if (pdl_str_eq_nocase(lang, PDL_STR("jinja"))) {
        c_or_absent(e, b->parameters, "parameters");
        c_at(e, b->head.loc);
        emit(e, PDL_OP_JINJA, 0, 0, add_ptr(e, b));
        c_end(e, info, 0);
        return;
    }
    c_at(e, b->head.loc);
    if (pdl_str_eq_nocase(lang, PDL_STR("pdl"))) {
        emit(e, PDL_OP_PDL_CODE, 0, 0, add_ptr(e, b));
        c_end(e, info, 0);
        return;
    }
    bool python = !lang.p || pdl_str_eq_nocase(lang, PDL_STR("python"));
    emit(e, PDL_OP_CODE, 0, 0, add_ptr(e, b));
    emit(e, PDL_OP_AWAIT, 0, 0, 0);
    emit(e, PDL_OP_CODE_END, 0, 0, add_ptr(e, b));
    c_end(e, info, python ? 1 : 0);
}
