/* emit_code.c -- code blocks: python, ipython, jinja, pdl, commands. The language of a block
 * decides which instruction runs its text. A computed text becomes a program or a template only
 * after a policy was asked.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "compile/emit.h"

#include "base/banned.h"

static void emit_text_of(pdl_emit *e, const pdl_b_code *b) {
    pdl_emit_value_of(e, b->code,
                      (pdl_pos){.seg = PDL_SEG_NAME, .name = PDL_STR("code"), .no_context = true});
}

static void emit_or_absent(pdl_emit *e, const pdl_tree *t, const char *key) {
    if (!t) {
        pdl_emit_const(e, pdl_absent());
        return;
    }
    pdl_emit_tree(e, t);
    pdl_emit_trace_field(e, key);
}

static void emit_end(pdl_emit *e, const pdl_blockinfo *info, pdl_message_form message) {
    emit_MESSAGE(e, info->no_context ? PDL_MESSAGE_SILENT : message, NULL);
    emit_EMIT(e, true);
}

static void emit_command(pdl_emit *e, const pdl_b_code *b, const pdl_blockinfo *info) {
    if (b->args) {
        pdl_emit_tree_at(e, b->args, b->head.loc);
        pdl_emit_trace_field(e, "args");
    } else {
        emit_text_of(e, b);
    }
    pdl_emit_set_loc(e, b->head.loc);
    emit_COMMAND(e, b->args != NULL, b);
    emit_AWAIT(e);
    emit_CODE_END(e, true, b);
    emit_end(e, info, PDL_MESSAGE_PLAIN);
}

/* Emits a request for permission: a policy must allow that computed text becomes a program or a
 * template. */
static void emit_permit_for(pdl_emit *e, pdl_permit_kind kind, uint32_t depth) {
    emit_PERMIT(e, kind, depth);
    emit_AWAIT(e);
    emit_POP(e);
}

void pdl_emit_code(pdl_emit *e, const pdl_b_code *b, pdl_blockinfo *info) {
    pdl_str lang = b->lang.s;
    if (b->args || pdl_str_eq_nocase(lang, PDL_STR("command"))) {
        emit_command(e, b, info);
        return;
    }
    emit_text_of(e, b);
    emit_or_absent(e, b->scope, "scope");
    if (pdl_str_eq_nocase(lang, PDL_STR("jinja"))) {
        emit_or_absent(e, b->parameters, "parameters");
        pdl_emit_set_loc(e, b->head.loc);
        emit_permit_for(e, PDL_PERMIT_TEMPLATE, 2);
        emit_JINJA(e, b);
        emit_end(e, info, PDL_MESSAGE_PLAIN);
        return;
    }
    pdl_emit_set_loc(e, b->head.loc);
    if (pdl_str_eq_nocase(lang, PDL_STR("pdl"))) {
        emit_permit_for(e, PDL_PERMIT_PDL, 1);
        emit_PDL_CODE(e, b);
        emit_end(e, info, PDL_MESSAGE_PLAIN);
        return;
    }
    bool python = !lang.p || pdl_str_eq_nocase(lang, PDL_STR("python"));
    emit_CODE(e, b);
    emit_AWAIT(e);
    emit_CODE_END(e, false, b);
    emit_end(e, info, python ? PDL_MESSAGE_STR : PDL_MESSAGE_PLAIN);
}
