/* tool_call.c -- see tool_call.h. The arguments without a parameter are bound as a dict, under a
 * name that no parameter of a tool has. The native that makes the effect adds the items of this
 * dict to the named arguments, each with its labels. So policies see all arguments in the same way.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "vm/run/tool_call.h"

#include "lang/tool_arguments.h"
#include "value/member.h"
#include "value/text.h"
#include "vm/run.h"
#include "vm/stacks.h"

#include "base/banned.h"

pdl_vref pdl_vm_tool_schema(const pdl_closure *c) {
    if (!pdl_vm_is_of_server(c)) return pdl_absent();
    pdl_vref declared = pdl_dict_gets(c->code->signatures, c->info->name_text);
    if (!pdl_is_dict(declared)) return pdl_absent();
    return pdl_member(pdl_member(declared, "function"), "parameters");
}

static bool has_param(const pdl_closure *c, pdl_str name) {
    const pdl_params *p = &c->info->block->params;
    for (uint32_t i = 0; i < p->n; i++)
        if (pdl_str_eq(p->names[i], name)) return true;
    return false;
}

bool pdl_vm_is_other(const pdl_closure *c, pdl_str name) {
    return pdl_is_dict(pdl_vm_tool_schema(c)) && !has_param(c, name);
}

bool pdl_vm_tool_takes(const pdl_closure *c, pdl_str name, pdl_label of_name, pdl_err *err) {
    if (!pdl_vm_is_other(c, name)) return true;
    pdl_vref schema = pdl_vm_tool_schema(c);
    if (pdl_tool_allows(schema, name)) return true;
    pdl_tool_refuse(c->info->name_text, schema, name, err);
    /* the message has the name, and words of the schema */
    err->label |= of_name | pdl_label_of(c->base.signature);
    return false;
}

/* Returns the place of an argument in the program. */
static pdl_loc loc_of_argument(const pdl_b_call *b, pdl_str name) {
    const pdl_node *map = b->args && b->args->kind != PDL_TREE_EXPR ? b->args->node : NULL;
    const pdl_pair *pair = NULL;
    if (map && map->kind == PDL_NODE_MAP && pdl_node_find(map, name, &pair))
        return pdl_node_loc(pair->key);
    return b->args ? b->args->loc : b->head.loc;
}

/* Sets *n to the number of arguments that are no parameters. */
static bool count_others(const pdl_b_call *b, const pdl_closure *c, pdl_vref args, size_t *n,
                         pdl_err *err) {
    *n = 0;
    for (size_t i = 0; i < pdl_dict_len(args); i++) {
        pdl_vref key = pdl_dict_key_at(args, i);
        if (!pdl_is_str(key)) continue; /* the check of the named arguments refuses such a key */
        if (!pdl_vm_tool_takes(c, pdl_str_get(key), pdl_label_of(key) | pdl_label_of(args), err)) {
            pdl_err_at(err, loc_of_argument(b, pdl_str_get(key)));
            return false;
        }
        *n += pdl_vm_is_other(c, pdl_str_get(key));
    }
    return true;
}

bool pdl_vm_take_others(const pdl_b_call *b, const pdl_closure *c, pdl_val *args, pdl_val *others,
                        pdl_err *err) {
    size_t n;
    if (!pdl_vm_is_of_server(c)) return true;
    if (!count_others(b, c, *args, &n, err)) return false;
    if (!n) return true;
    pdl_val named = pdl_dict_new(pdl_dict_len(*args) - n), rest = pdl_dict_new(n);
    for (size_t i = 0; i < pdl_dict_len(*args); i++) {
        pdl_vref key = pdl_dict_key_at(*args, i);
        pdl_val k = pdl_with_label(pdl_keep(key), pdl_label_of_part(*args));
        if (pdl_is_str(key) && !has_param(c, pdl_str_get(key)))
            rest = pdl_dict_put(rest, k, pdl_dict_part(*args, i));
        else
            named = pdl_dict_put(named, k, pdl_dict_part(*args, i));
    }
    *others = rest;
    set_val(args, named);
    return true;
}

pdl_scope *pdl_vm_bind_others(const pdl_run *r, const pdl_closure *c, pdl_scope *s,
                              pdl_val others) {
    if (!pdl_vm_is_of_server(c)) return s;
    pdl_name name = pdl_intern(r->opt.names, PDL_STR(PDL_TOOL_OTHERS));
    if (!pdl_is_absent(others)) return pdl_scope_put(s, name, others);
    return pdl_is_absent(pdl_scope_find(s, name)) ? s : pdl_scope_del(s, name);
}
