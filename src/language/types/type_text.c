/* type_text.c -- writes a type as a short text, for messages and hover; see type.h. Keywords of a
 * JSON Schema that PDL's notation lacks are shown as JSON.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "types/type_inside.h"

#include "value/json_write.h"
#include "value/text.h"

#include "base/banned.h"

static void show_fields(const pdl_type *t, pdl_buf *out) {
    PDL_PUT(out, "{");
    for (size_t i = 0; i < t->n_fields; i++) {
        const pdl_type_entry *f = &t->fields[i];
        if (i) PDL_PUT(out, ", ");
        pdl_buf_put(out, pdl_str_get(f->name));
        if (f->optional) PDL_PUT(out, "?");
        PDL_PUT(out, ": ");
        pdl_type_show(f->type, out);
    }
    PDL_PUT(out, "}");
}

static void show_json(pdl_vref v, pdl_buf *out) {
    pdl_err err = {0};
    size_t len = out->len;
    if (pdl_json_write(v, PDL_JSON_SPACED | PDL_JSON_NAN | PDL_JSON_LOOSE, 0, out, &err)) return;
    pdl_err_fini(&err);
    pdl_buf_cut(out, len);
    pdl_val_show(v, true, 80, out);
}

/* Writes a text such as `"a" | "b"`, `string` or `string | null`, followed by the other
 * keywords. */
static void show_schema(pdl_vref s, pdl_buf *out) {
    pdl_vref choices = pdl_dict_getz(s, "enum"), words = pdl_dict_getz(s, "type");
    bool by_value = pdl_is_list(choices);
    pdl_vref alternatives = by_value ? choices : words;
    if (pdl_is_str(alternatives)) pdl_buf_put(out, pdl_str_get(alternatives));
    for (size_t i = 0; pdl_is_list(alternatives) && i < pdl_list_len(alternatives); i++) {
        pdl_vref x = pdl_list_at(alternatives, i);
        if (i) PDL_PUT(out, " | ");
        if (!by_value && pdl_is_str(x))
            pdl_buf_put(out, pdl_str_get(x));
        else
            show_json(x, out);
    }
    bool first = true;
    for (size_t i = 0; i < pdl_dict_len(s); i++) {
        pdl_vref key = pdl_dict_key_at(s, i);
        if (pdl_text_is(key, by_value ? "enum" : "type") || pdl_text_is(key, "description"))
            continue;
        pdl_buf_put(out, first ? PDL_STR(" (") : PDL_STR(", "));
        first = false;
        pdl_val_show(key, false, 80, out);
        PDL_PUT(out, ": ");
        show_json(pdl_dict_val_at(s, i), out);
    }
    if (!first) PDL_PUT(out, ")");
}

void pdl_type_show(const pdl_type *t, pdl_buf *out) {
    if (pdl_type_is_any(t)) {
        PDL_PUT(out, "any");
        return;
    }
    switch (t->kind) {
    case PDL_TYPE_any: break; /* shown above */
    case PDL_TYPE_base: pdl_buf_put(out, pdl_str_of(pdl_base_names[t->base])); break;
    case PDL_TYPE_list:
        PDL_PUT(out, "[");
        pdl_type_show(t->item, out);
        PDL_PUT(out, "]");
        break;
    case PDL_TYPE_optional:
        pdl_type_show(t->item, out);
        PDL_PUT(out, " | null");
        break;
    case PDL_TYPE_object: show_fields(t, out); break;
    case PDL_TYPE_schema: show_schema(t->schema, out); break;
    }
}
