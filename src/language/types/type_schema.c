/* type_schema.c -- writes a pdl_type as JSON Schema, and as the value that was written; see type.h
 * (spec syntax 3.2).
 *
 * Models and the validator get the JSON Schema. Traces and `f.function` show the type as the
 * program has it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "types/type_inside.h"

#include "base/banned.h"

static pdl_val type_word(const char *word) {
    return pdl_dict_putz(pdl_dict_new(1), "type", pdl_textz(word));
}

static pdl_val object_schema(const pdl_type *t, bool closed) {
    pdl_val props = pdl_dict_new(t->n_fields), required = pdl_list_new(t->n_fields);
    for (size_t i = 0; i < t->n_fields; i++) {
        const pdl_type_entry *f = &t->fields[i];
        props = pdl_dict_put(props, pdl_keep(f->name), pdl_type_schema(f->type, closed));
        if (!f->optional) required = pdl_list_push(required, pdl_keep(f->name));
    }
    pdl_val s = pdl_dict_putz(type_word("object"), "properties", props);
    s = pdl_dict_putz(s, "required", required);
    return closed ? pdl_dict_putz(s, "additionalProperties", pdl_bool(false)) : s;
}

pdl_val pdl_type_schema(const pdl_type *t, bool closed) {
    pdl_val s = pdl_null();
    if (pdl_type_is_any(t)) return pdl_dict_new(0);
    switch (t->kind) {
    case PDL_TYPE_any: break; /* returned above */
    case PDL_TYPE_base: s = type_word(pdl_base_names[t->base]); break;
    case PDL_TYPE_list:
        s = pdl_dict_putz(type_word("array"), "items", pdl_type_schema(t->item, closed));
        break;
    case PDL_TYPE_optional:
        s = pdl_list_push(pdl_list_new(2), pdl_type_schema(t->item, closed));
        s = pdl_dict_putz(pdl_dict_new(1), "anyOf", pdl_list_push(s, type_word("null")));
        break;
    case PDL_TYPE_object: s = object_schema(t, closed); break;
    case PDL_TYPE_schema: s = pdl_keep(t->schema); break;
    }
    return s;
}

static pdl_val fields_as_written(const pdl_type *t) {
    pdl_val d = pdl_dict_new(t->n_fields);
    for (size_t i = 0; i < t->n_fields; i++) {
        const pdl_type_entry *f = &t->fields[i];
        pdl_val x = pdl_type_as_written(f->type);
        if (f->optional) x = pdl_dict_putz(pdl_dict_new(1), "optional", x);
        d = pdl_dict_put(d, pdl_keep(f->name), x);
    }
    return d;
}

pdl_val pdl_type_as_written(const pdl_type *t) {
    pdl_val v = pdl_null();
    if (pdl_type_is_any(t)) return v;
    switch (t->kind) {
    case PDL_TYPE_any: break;
    case PDL_TYPE_base: v = pdl_textz(pdl_base_names[t->base]); break;
    case PDL_TYPE_list: v = pdl_list_push(pdl_list_new(1), pdl_type_as_written(t->item)); break;
    case PDL_TYPE_optional:
        v = pdl_dict_putz(pdl_dict_new(1), "optional", pdl_type_as_written(t->item));
        break;
    case PDL_TYPE_object:
        v = fields_as_written(t);
        if (t->wrapped) v = pdl_dict_putz(pdl_dict_new(1), "object", v);
        break;
    case PDL_TYPE_schema: v = pdl_keep(t->schema); break;
    }
    return v;
}
