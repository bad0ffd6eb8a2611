/* gemini_schema.c -- decides in which of two forms Gemini gets the parameters of a function; see
 * gemini_schema.h.
 *
 * The service refuses keywords that it does not know. So a table lists the keywords that it takes
 * in the plain form, and the form that each value must have.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/wire/gemini_schema.h"

#include "base/limits.h"
#include "value/member.h"
#include "value/memo.h"
#include "value/text.h"
#include "value/tool_schema.h"

#include "base/banned.h"

/* the form that the value of a keyword must have */
typedef enum { ANY, TYPE, FORMAT, TEXTS, SCHEMA, SCHEMAS, NAMED_SCHEMAS } value_form;

static const struct {
    const char *name;
    value_form form;
} keywords[] = {
    {"type", TYPE},         {"format", FORMAT},        {"enum", TEXTS},
    {"items", SCHEMA},      {"anyOf", SCHEMAS},        {"properties", NAMED_SCHEMAS},
    {"title", ANY},         {"description", ANY},      {"nullable", ANY},
    {"default", ANY},       {"example", ANY},          {"pattern", ANY},
    {"required", ANY},      {"propertyOrdering", ANY}, {"minimum", ANY},
    {"maximum", ANY},       {"minItems", ANY},         {"maxItems", ANY},
    {"minLength", ANY},     {"maxLength", ANY},        {"minProperties", ANY},
    {"maxProperties", ANY},
};

static const char *const types[] = {"string", "number", "integer", "boolean",
                                    "array",  "object", "null"};
static const char *const formats[] = {"enum", "date-time", "int32", "int64", "float", "double"};

static bool is_one_of(pdl_vref v, const char *const *names, size_t n) {
    for (size_t i = 0; pdl_is_str(v) && i < n; i++)
        if (pdl_str_eq_nocase(pdl_str_get(v), pdl_str_of(names[i]))) return true;
    return false;
}

static bool are_texts(pdl_vref list) {
    bool ok = pdl_is_list(list);
    for (size_t i = 0; ok && i < pdl_list_len(list); i++)
        ok = pdl_is_str(pdl_list_at(list, i)) && pdl_str_get(pdl_list_at(list, i)).n > 0;
    return ok;
}

static bool is_plain(pdl_memo *seen, pdl_vref schema, unsigned depth);

static bool are_plain(pdl_memo *seen, pdl_vref v, unsigned depth) {
    bool is_map = pdl_is_dict(v), ok = is_map || pdl_is_list(v);
    for (size_t i = 0, n = is_map ? pdl_dict_len(v) : ok ? pdl_list_len(v) : 0; ok && i < n; i++)
        ok = is_plain(seen, is_map ? pdl_dict_val_at(v, i) : pdl_list_at(v, i), depth + 1);
    return ok;
}

static bool fits(pdl_memo *seen, value_form form, pdl_vref v, unsigned depth) {
    switch (form) {
    case ANY: return true;
    case TYPE: return is_one_of(v, types, sizeof types / sizeof types[0]);
    case FORMAT: return is_one_of(v, formats, sizeof formats / sizeof formats[0]);
    case TEXTS: return are_texts(v);
    case SCHEMA: return is_plain(seen, v, depth + 1);
    case SCHEMAS: return pdl_is_list(v) && are_plain(seen, v, depth);
    case NAMED_SCHEMAS: return pdl_is_dict(v) && are_plain(seen, v, depth);
    }
    return false;
}

/* Returns true when the keywords of one level go together: there is a type or a choice, not both,
 * a list says what is in it, and only an object has properties, which are all that it requires. */
static bool is_consistent(pdl_vref schema) {
    pdl_vref type = pdl_dict_getz(schema, "type");
    bool typed = pdl_is_str(type), choice = !pdl_is_absent(pdl_dict_getz(schema, "anyOf"));
    pdl_vref props = pdl_dict_getz(schema, "properties"),
             required = pdl_dict_getz(schema, "required");
    bool object = !pdl_is_absent(props) || !pdl_is_absent(required);
    if (typed == choice) return false;
    if (pdl_text_is(type, "array") && pdl_is_absent(pdl_dict_getz(schema, "items"))) return false;
    if (!pdl_schema_describes(props, required)) return false;
    return !object || pdl_text_is(type, "object");
}

static bool is_plain(pdl_memo *seen, pdl_vref schema, unsigned depth) {
    pdl_vref known;
    if (depth > PDL_MAX_SCHEMA_DEPTH || !pdl_is_dict(schema) || !is_consistent(schema))
        return false;
    if (pdl_memo_find(seen, schema, 0, &known)) return true;
    for (size_t i = 0; i < pdl_dict_len(schema); i++) {
        size_t k = 0, n = sizeof keywords / sizeof keywords[0];
        while (k < n && !pdl_text_is(pdl_dict_key_at(schema, i), keywords[k].name)) k++;
        if (k == n || !fits(seen, keywords[k].form, pdl_dict_val_at(schema, i), depth))
            return false;
    }
    pdl_memo_put(seen, schema, 0, pdl_absent());
    return true;
}

bool pdl_gemini_schema_is_plain(pdl_vref schema) {
    pdl_memo seen = {0};
    bool ok = is_plain(&seen, schema, 0);
    pdl_memo_fini(&seen);
    return ok;
}
