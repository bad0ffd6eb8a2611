/* tool_schema.c -- completes the schemas of tools; see tool_schema.h.
 *
 * Tool servers and programs give tools without arguments in many forms: no `properties`, null, {}
 * or a schema of another type. Services of models refuse most of them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/tool_schema.h"

#include "value/member.h"

#include "base/banned.h"

/* Returns true for a type that allows objects: "object", or a list with it. */
static bool allows_object(pdl_vref type) {
    bool found = pdl_text_is(type, "object");
    for (size_t i = 0; pdl_is_list(type) && i < pdl_list_len(type); i++)
        found = found || pdl_text_is(pdl_list_at(type, i), "object");
    return found;
}

/* Returns true when `properties` or another part of the schema describes arguments. */
static bool describes_arguments(pdl_vref schema) {
    static const char *const elsewhere[] = {"$ref", "allOf", "anyOf", "oneOf"};
    pdl_vref props = pdl_member(schema, "properties");
    bool found = pdl_is_dict(props) && pdl_dict_len(props) > 0;
    for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++)
        found = found || !pdl_is_absent(pdl_member(schema, elsewhere[i]));
    return found;
}

pdl_vref pdl_schema_local(pdl_vref root, pdl_vref ref) {
    static const struct {
        const char *path, *key;
    } places[] = {{"#/$defs/", "$defs"}, {"#/definitions/", "definitions"}};
    pdl_str s = pdl_is_str(ref) ? pdl_str_get(ref) : (pdl_str){0};
    if (pdl_str_is(s, "#")) return root;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        pdl_str path = pdl_str_of(places[i].path);
        pdl_vref defs = pdl_member(root, places[i].key);
        if (pdl_str_starts(s, path) && pdl_is_dict(defs))
            return pdl_dict_gets(defs, pdl_str_sub(s, path.n, s.n));
    }
    return pdl_absent();
}

bool pdl_schema_has_type(pdl_vref schema, const char *name) {
    pdl_vref type = pdl_member(schema, "type");
    bool found = pdl_text_is(type, name);
    for (size_t i = 0; pdl_is_list(type) && i < pdl_list_len(type); i++)
        found = found || pdl_text_is(pdl_list_at(type, i), name);
    return found;
}

bool pdl_schema_lists(pdl_vref v, pdl_vref x) {
    for (size_t i = 0; pdl_is_list(v) && i < pdl_list_len(v); i++)
        if (pdl_val_eq(pdl_list_at(v, i), x)) return true;
    return false;
}

bool pdl_schema_describes(pdl_vref properties, pdl_vref required) {
    bool ok = true;
    for (size_t i = 0; ok && pdl_is_list(required) && i < pdl_list_len(required); i++)
        ok = pdl_is_dict(properties) &&
             !pdl_is_absent(pdl_dict_find(properties, pdl_list_at(required, i)));
    return ok;
}

pdl_val pdl_schema_names(pdl_vref list) {
    pdl_val d = pdl_dict_new(0);
    for (size_t i = 0, n = pdl_is_list(list) ? pdl_list_len(list) : 0; i < n; i++)
        if (pdl_is_str(pdl_list_at(list, i)))
            d = pdl_dict_put(d, pdl_keep(pdl_list_at(list, i)), pdl_null());
    return d;
}

static bool has_null(pdl_vref schema) {
    bool found = false;
    for (size_t i = 0; pdl_is_dict(schema) && i < pdl_dict_len(schema); i++)
        found = found || pdl_is_null(pdl_dict_val_at(schema, i));
    return found;
}

static bool is_whole(pdl_vref schema) {
    bool has = pdl_is_dict(pdl_member(schema, "properties")) || describes_arguments(schema);
    return has && pdl_text_is(pdl_member(schema, "type"), "object") && !has_null(schema);
}

/* Returns the schema without keywords whose value is null, such as `required`, which some tool
 * servers write for a list that they do not have. */
static pdl_val without_nulls(pdl_vref schema) {
    pdl_val out = pdl_dict_new(pdl_dict_len(schema));
    for (size_t i = 0; i < pdl_dict_len(schema); i++) {
        pdl_vref v = pdl_dict_val_at(schema, i);
        if (!pdl_is_null(v))
            out = pdl_dict_put(out, pdl_keep(pdl_dict_key_at(schema, i)), pdl_keep(v));
    }
    return out;
}

pdl_val pdl_tool_schema_whole(pdl_vref schema) {
    pdl_vref type = pdl_member(schema, "type");
    if (is_whole(schema)) return pdl_keep(schema);
    bool typed = !pdl_is_absent(type) && !pdl_is_null(type);
    bool keeps =
        pdl_is_dict(schema) && (!typed || describes_arguments(schema) || allows_object(type));
    pdl_val out = keeps ? without_nulls(schema) : pdl_dict_new(2);
    out = pdl_dict_putz(out, "type", pdl_textz("object"));
    bool has = pdl_is_dict(pdl_dict_getz(out, "properties")) || describes_arguments(out);
    return has ? out : pdl_dict_putz(out, "properties", pdl_dict_new(0));
}

static pdl_val without_parameters(pdl_vref function) {
    pdl_val key = pdl_textz("parameters"), out = pdl_dict_del(pdl_keep(function), key);
    pdl_drop(key);
    return out;
}

static pdl_val accepted(pdl_vref schema) {
    pdl_val whole = pdl_tool_schema_whole(schema), out = pdl_tool_schema_of_draft(whole);
    pdl_drop(whole);
    return out;
}

static pdl_val whole_tool(pdl_vref tool) {
    pdl_vref f = pdl_member(tool, "function"), schema = pdl_member(f, "parameters");
    if (pdl_is_absent(schema)) return pdl_keep(tool);
    pdl_val whole = pdl_is_null(schema)
                        ? without_parameters(f)
                        : pdl_dict_putz(pdl_keep(f), "parameters", accepted(schema));
    return pdl_dict_putz(pdl_keep(tool), "function", whole);
}

pdl_val pdl_tools_whole(pdl_vref tools) {
    pdl_val out = pdl_list_new(pdl_list_len(tools));
    for (size_t i = 0; i < pdl_list_len(tools); i++)
        out = pdl_list_push(out, whole_tool(pdl_list_at(tools, i)));
    return out;
}
