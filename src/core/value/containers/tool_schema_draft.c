/* tool_schema_draft.c -- rewrites the schema of a tool's arguments as one of draft 2020-12.
 *
 * Services of models refuse a whole request when the schema of one tool is not valid. Tool servers
 * send older drafts (`required: true` in a property, lists as `items`), the habits of other
 * languages (`type: STRING`, `properties: []`) and null for what is not there. What such a form
 * means is kept; a keyword with any other value is left out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/limits.h"
#include "value/member.h"
#include "value/memo.h"
#include "value/text.h"
#include "value/tool_schema.h"

#include "base/banned.h"

enum {
    /* no service takes an enumeration that is longer */
    MAX_DISTINCT_VALUES = 1000
};

/* the form that the value of a keyword must have */
typedef enum { ANY, NOT_NULL, TYPE, TEXTS, VALUES, BOUND, ITEMS, SCHEMA, SCHEMAS, MAP } value_form;

static const struct {
    const char *name;
    value_form form;
} keywords[] = {
    {"const", ANY},
    {"default", ANY},
    {"example", ANY},
    {"type", TYPE},
    {"required", TEXTS},
    {"enum", VALUES},
    {"exclusiveMinimum", BOUND},
    {"exclusiveMaximum", BOUND},
    {"items", ITEMS},
    {"additionalItems", SCHEMA},
    {"additionalProperties", SCHEMA},
    {"propertyNames", SCHEMA},
    {"contains", SCHEMA},
    {"not", SCHEMA},
    {"if", SCHEMA},
    {"then", SCHEMA},
    {"else", SCHEMA},
    {"unevaluatedItems", SCHEMA},
    {"unevaluatedProperties", SCHEMA},
    {"prefixItems", SCHEMAS},
    {"allOf", SCHEMAS},
    {"anyOf", SCHEMAS},
    {"oneOf", SCHEMAS},
    {"properties", MAP},
    {"patternProperties", MAP},
    {"dependentSchemas", MAP},
    {"$defs", MAP},
    {"definitions", MAP},
};

static value_form form_of(pdl_vref key) {
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++)
        if (pdl_text_is(key, keywords[i].name)) return keywords[i].form;
    return NOT_NULL;
}

/* --- types ------------------------------------------------------------------------------------ */

/* names of types that tool servers use, each with the name that JSON Schema has */
static const struct {
    const char *name, *type;
} types[] = {
    {"string", "string"}, {"number", "number"}, {"integer", "integer"}, {"boolean", "boolean"},
    {"object", "object"}, {"array", "array"},   {"null", "null"},       {"str", "string"},
    {"float", "number"},  {"double", "number"}, {"int", "integer"},     {"long", "integer"},
    {"bool", "boolean"},  {"dict", "object"},   {"list", "array"},      {"none", "null"},
};

/* Returns the name of the type; absent for a word that is no type, such as "any". */
static pdl_val type_named(pdl_vref v) {
    for (size_t i = 0; pdl_is_str(v) && i < sizeof types / sizeof types[0]; i++)
        if (pdl_str_eq_nocase(pdl_str_get(v), pdl_str_of(types[i].name)))
            return pdl_textz(types[i].type);
    return pdl_absent();
}

/* Returns a type or a list of types; absent when a word in it is no type. */
static pdl_val mended_type(pdl_vref v) {
    if (!pdl_is_list(v)) return type_named(v);
    pdl_val out = pdl_list_new(pdl_list_len(v));
    bool ok = pdl_list_len(v) > 0;
    for (size_t i = 0; ok && i < pdl_list_len(v); i++) {
        pdl_val type = type_named(pdl_list_at(v, i));
        ok = !pdl_is_absent(type);
        if (ok) out = pdl_list_push(out, type);
    }
    if (ok) return out;
    pdl_drop(out);
    return pdl_absent();
}

/* --- keywords --------------------------------------------------------------------------------- */

static pdl_val mended(pdl_memo *seen, pdl_vref v, unsigned depth);

/* Returns the schema for v, which is in the place of a schema: the name of a type is the schema
 * of this type, and what is no schema allows everything. */
static pdl_val as_schema(pdl_memo *seen, pdl_vref v, unsigned depth) {
    if (pdl_is_dict(v)) return mended(seen, v, depth);
    if (pdl_is_bool(v) && !pdl_bool_of(v)) return pdl_keep(v);
    pdl_val type = type_named(v);
    return pdl_is_absent(type) ? pdl_dict_new(0) : pdl_dict_putz(pdl_dict_new(1), "type", type);
}

static pdl_val mended_list(pdl_memo *seen, pdl_vref v, unsigned depth) {
    if (!pdl_is_list(v) || pdl_list_len(v) == 0) return pdl_absent();
    pdl_val out = pdl_list_new(pdl_list_len(v));
    for (size_t i = 0; i < pdl_list_len(v); i++)
        out = pdl_list_push(out, as_schema(seen, pdl_list_at(v, i), depth));
    return out;
}

static pdl_val mended_map(pdl_memo *seen, pdl_vref v, unsigned depth) {
    if (!pdl_is_dict(v)) return pdl_dict_new(0);
    pdl_val out = pdl_dict_new(pdl_dict_len(v));
    for (size_t i = 0; i < pdl_dict_len(v); i++)
        out = pdl_dict_put(out, pdl_keep(pdl_dict_key_at(v, i)),
                           as_schema(seen, pdl_dict_val_at(v, i), depth));
    return out;
}

/* Returns the values of a list, or its texts alone, each once; absent when it is no list. Values
 * after the first MAX_DISTINCT_VALUES are not compared. */
static pdl_val distinct(pdl_vref v, bool texts) {
    if (!pdl_is_list(v)) return pdl_absent();
    pdl_val out = pdl_list_new(pdl_list_len(v));
    for (size_t i = 0; i < pdl_list_len(v); i++) {
        pdl_vref x = pdl_list_at(v, i);
        if (texts && !pdl_is_str(x)) continue;
        if (i >= MAX_DISTINCT_VALUES || !pdl_schema_lists(out, x))
            out = pdl_list_push(out, pdl_keep(x));
    }
    return out;
}

/* Returns the value of a keyword in the form that it must have; absent when there is none. */
static pdl_val mended_value(pdl_memo *seen, value_form form, pdl_vref v, unsigned depth) {
    switch (form) {
    case ANY: return pdl_keep(v);
    case NOT_NULL: return pdl_is_null(v) ? pdl_absent() : pdl_keep(v);
    case TYPE: return mended_type(v);
    case TEXTS: return distinct(v, true);
    case VALUES: return pdl_is_list(v) && pdl_list_len(v) ? distinct(v, false) : pdl_absent();
    case BOUND: return pdl_is_bool(v) || pdl_is_null(v) ? pdl_absent() : pdl_keep(v);
    case ITEMS: return pdl_is_list(v) ? pdl_absent() : as_schema(seen, v, depth);
    case SCHEMA: return pdl_is_bool(v) ? pdl_keep(v) : as_schema(seen, v, depth);
    case SCHEMAS: return mended_list(seen, v, depth);
    case MAP: return mended_map(seen, v, depth);
    }
    return pdl_absent();
}

/* --- the older drafts ------------------------------------------------------------------------- */

/* Writes `exclusiveMinimum: true` beside `minimum`, which draft 4 had, as a bound. Takes out. */
static pdl_val put_bound(pdl_val out, pdl_vref old, const char *exclusive, const char *bound) {
    pdl_vref flag = pdl_dict_getz(old, exclusive), limit = pdl_dict_getz(old, bound);
    if (!pdl_is_bool(flag) || !pdl_bool_of(flag) || pdl_is_absent(limit) || pdl_is_null(limit))
        return out;
    pdl_val key = pdl_textz(bound);
    out = pdl_dict_putz(pdl_dict_del(out, key), exclusive, pdl_keep(limit));
    pdl_drop(key);
    return out;
}

/* Writes a list of `items`, which later drafts call `prefixItems`, and gives every array `items`,
 * without which OpenAI refuses it. Takes out. */
static pdl_val put_items(pdl_memo *seen, pdl_val out, pdl_vref old, unsigned depth) {
    pdl_vref items = pdl_dict_getz(old, "items");
    if (pdl_is_list(items) && pdl_is_absent(pdl_dict_getz(old, "prefixItems"))) {
        pdl_val first = mended_list(seen, items, depth), key = pdl_textz("additionalItems");
        pdl_vref more = pdl_dict_getz(out, "additionalItems");
        if (!pdl_is_absent(first)) out = pdl_dict_putz(out, "prefixItems", first);
        if (!pdl_is_absent(more)) out = pdl_dict_putz(out, "items", pdl_keep(more));
        out = pdl_dict_del(out, key);
        pdl_drop(key);
    }
    bool has = !pdl_is_absent(pdl_dict_getz(out, "items"));
    return pdl_schema_has_type(out, "array") && !has ? pdl_dict_putz(out, "items", pdl_dict_new(0))
                                                     : out;
}

/* Names the properties with `required: true`, which draft 3 had, in `required`. Takes out. */
static pdl_val put_required(pdl_val out, pdl_vref old) {
    pdl_vref props = pdl_dict_getz(old, "properties"), given = pdl_dict_getz(out, "required");
    pdl_val named = pdl_schema_names(given),
            list = pdl_is_list(given) ? pdl_keep(given) : pdl_list_new(0);
    size_t n = pdl_list_len(list);
    for (size_t i = 0; pdl_is_dict(props) && i < pdl_dict_len(props); i++) {
        pdl_vref key = pdl_dict_key_at(props, i);
        bool asked = pdl_member_bool(pdl_dict_val_at(props, i), "required");
        if (asked && pdl_is_absent(pdl_dict_find(named, key)))
            list = pdl_list_push(list, pdl_keep(key));
    }
    pdl_drop(named);
    if (pdl_list_len(list) > n) return pdl_dict_putz(out, "required", list);
    pdl_drop(list);
    return out;
}

static pdl_val mended(pdl_memo *seen, pdl_vref v, unsigned depth) {
    pdl_vref known;
    if (depth > PDL_MAX_SCHEMA_DEPTH) return pdl_keep(v);
    if (pdl_memo_find(seen, v, 0, &known)) return pdl_keep(known);
    pdl_val out = pdl_dict_new(pdl_dict_len(v));
    for (size_t i = 0; i < pdl_dict_len(v); i++) {
        pdl_vref key = pdl_dict_key_at(v, i);
        pdl_val x = mended_value(seen, form_of(key), pdl_dict_val_at(v, i), depth + 1);
        if (!pdl_is_absent(x)) out = pdl_dict_put(out, pdl_keep(key), x);
    }
    out = put_bound(out, v, "exclusiveMinimum", "minimum");
    out = put_bound(out, v, "exclusiveMaximum", "maximum");
    out = put_required(put_items(seen, out, v, depth + 1), v);
    pdl_memo_put(seen, v, 0, out);
    return out;
}

pdl_val pdl_tool_schema_of_draft(pdl_vref schema) {
    pdl_memo seen = {0};
    pdl_val out = mended(&seen, schema, 0);
    pdl_memo_fini(&seen);
    return out;
}
