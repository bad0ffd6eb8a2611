/* ops_tools.c -- tools: `import: mcp:NAME`, and functions among the parameters of a model call.
 *
 * When a program uses the declarations of a server's tools as values, these have the labels of the
 * server's reply. The same is true of the attributes and names of their functions. The functions
 * themselves have no labels: when a tool is called by its name, the author of the program has
 * chosen it. When a value has chosen the tool, such as a name in the list of the server, the tool
 * has the labels of that value.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "lang/field_words.h"
#include "lang/tool_server_program.h"
#include "native/native.h"
#include "value/func.h"
#include "value/text.h"
#include "vm/fiber.h"
#include "vm/inflight.h"
#include "vm/ops.h"
#include "vm/run.h"
#include "vm/stacks.h"

#include "base/banned.h"

/* Refuses tools that are texts, because no service accepts them. When the text is the name of a
 * function of the program, a hint shows how to write the function. */
static bool has_no_texts(const pdl_fiber *f, pdl_vref tools, pdl_err *err) {
    bool is_list = pdl_is_list(tools);
    for (size_t i = 0, n = is_list ? pdl_list_len(tools) : 1; i < n; i++) {
        pdl_vref one = is_list ? pdl_list_at(tools, i) : tools;
        if (!pdl_is_str(one)) continue;
        pdl_str text = pdl_str_get(one);
        pdl_vref meant = pdl_scope_find(f->scope, pdl_intern_find(f->run->opt.names, text));
        pdl_err_host(err, "TypeError", PDL_TOOL_IS_TEXT, PDL_FMT(pdl_utf8_cut(text, 60)));
        if (pdl_is(meant, PDL_V_FUNC))
            pdl_err_hint(err, PDL_TOOL_BY_NAME, is_list ? "" : "[", PDL_FMT(text),
                         is_list ? "" : "]");
        return false;
    }
    return true;
}

/* Replaces functions in the parameters `tools` and `tool_choice` by their declarations. Takes the
 * parameters in *params and stores the new parameters there. On failure, releases them. */
bool pdl_vm_declare_tools(const pdl_fiber *f, pdl_val *params, pdl_err *err) {
    pdl_vref tools = pdl_dict_getz(*params, "tools"),
             choice = pdl_dict_getz(*params, "tool_choice");
    if (pdl_is(choice, PDL_V_FUNC)) {
        const pdl_func *chosen = pdl_func_of(choice);
        pdl_label label = pdl_label_of(choice) | pdl_label_of(chosen->signature);
        pdl_val name = pdl_with_label(pdl_keep(chosen->name), label);
        pdl_val function = pdl_dict_putz(pdl_dict_new(1), "name", name);
        pdl_val d = pdl_dict_putz(pdl_dict_new(2), "type", pdl_textz("function"));
        *params = pdl_dict_putz(*params, "tool_choice", pdl_dict_putz(d, "function", function));
        tools = pdl_dict_getz(*params, "tools");
    }
    if (!has_no_texts(f, tools, err)) {
        pdl_drop(*params);
        return false;
    }
    if (!pdl_is_list(tools)) return true;
    pdl_val declared;
    if (!pdl_tools_declare(tools, &declared, err)) {
        pdl_drop(*params);
        return false;
    }
    *params = pdl_dict_putz(*params, "tools", declared);
    return true;
}

static pdl_str server_of(const pdl_block *b) {
    pdl_str path = PDL_AS(import, b)->path.s;
    return pdl_str_sub(path, strlen(PDL_TOOLS_PREFIX), path.n);
}

void pdl_op_TOOL_LIST(pdl_fiber *f, const pdl_block *b) {
    pdl_val server = pdl_with_label(pdl_text(server_of(b)), f->code->label);
    pdl_val r = pdl_dict_putz(pdl_dict_new(2), "server", server);
    pdl_vm_start_effect(f, PDL_EFFECT_tool, pdl_dict_putz(r, "op", pdl_textz("list")), b->loc);
}

/* Notes the tools that the program does not get. Errors about these tools give the reason
 * (advise.c). */
static void note_left_out(pdl_run *r, pdl_str server, pdl_vref tools) {
    for (size_t i = 0; i < pdl_list_len(tools); i++) {
        pdl_vref t = pdl_list_at(tools, i);
        pdl_vref why = pdl_is_dict(t) ? pdl_dict_getz(t, PDL_TOOL_LEFT_OUT) : pdl_absent();
        pdl_vref name = pdl_is_dict(t) ? pdl_dict_getz(t, "name") : pdl_absent();
        if (!pdl_is_str(why) || !pdl_is_str(name)) continue;
        pdl_val text = pdl_textf("the server %.*s has such a tool, which the policy left out: %.*s",
                                 PDL_FMT(server), PDL_FMT(pdl_str_get(why)));
        r->code.left_out = pdl_dict_put(r->code.left_out, pdl_keep(name), text);
    }
}

pdl_step pdl_op_TOOL_MODULE(pdl_fiber *f, const pdl_block *b, pdl_err *err) {
    pdl_str server = server_of(b);
    if (!pdl_is_list(*top(f))) /* a host program has answered the effect */
        return step_of(pdl_err_set(err, PDL_E_include, pdl_block_own_loc(b),
                                   "the tool server %.*s gave no list of tools", PDL_FMT(server)));
    pdl_val tools = pop(f);
    note_left_out(f->run, server, tools);
    pdl_buf text = PDL_BUF;
    pdl_val declarations = pdl_with_label(
        pdl_toolbox_write(server, tools, &f->run->code.tool_names, &text), pdl_label_of(tools));
    pdl_drop(tools);
    push(f, pdl_text(PDL_AS(import, b)->path.s));
    push(f, pdl_text_of_buf(&text));
    push(f, declarations);
    pdl_buf_fini(&text);
    return PDL_STEP_DONE;
}
