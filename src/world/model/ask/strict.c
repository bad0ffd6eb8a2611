/* strict.c -- rewrites a schema into OpenAI's strict form, and turns answers to it back; see
 * strict.h. Only a subset of JSON Schema has such a form, so each function may report that a schema
 * has none. The service refuses a request whose schema breaks one of its rules, and a refused
 * request is sent again without the schema, so a rule that is missing here costs a second call.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/ask/strict.h"

#include "base/limits.h"
#include "value/tool_schema.h"

#include "base/banned.h"

/* The keywords that the strict form does not have. */
static const char *const refused[] = {
    "allOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependencies",
    "dependentSchemas",
    "dependentRequired",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "minContains",
    "maxContains",
    "uniqueItems",
    "propertyNames",
    "patternProperties",
    "minProperties",
    "maxProperties",
    "unevaluatedProperties",
    "$dynamicRef",
    "$recursiveRef",
};

/* Keywords that say nothing about values. OpenAI refuses the first two everywhere, and the others
 * beside `$ref`. */
static const char *const remarks[] = {"default", "examples", "description", "title"};
enum { N_REFUSED_REMARKS = 2, N_REMARKS = 4 };

static bool is_one_of(pdl_vref key, const char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (pdl_text_is(key, names[i])) return true;
    return false;
}

static bool has(pdl_vref schema, const char *key) {
    return !pdl_is_absent(pdl_dict_getz(schema, key));
}

/* Returns true when a value of this schema may be null. A schema without a type allows any value.
 */
static bool takes_null(pdl_vref schema) {
    if (!pdl_is_dict(schema)) return true;
    pdl_vref any = pdl_dict_getz(schema, "anyOf"), values = pdl_dict_getz(schema, "enum"),
             value = pdl_dict_getz(schema, "const");
    for (size_t i = 0; pdl_is_list(any) && i < pdl_list_len(any); i++)
        if (pdl_schema_has_type(pdl_list_at(any, i), "null")) return true;
    if (pdl_is_list(values)) return pdl_schema_lists(values, pdl_null());
    if (!pdl_is_absent(value)) return pdl_is_null(value);
    if (pdl_is_list(any) || has(schema, "$ref")) return false;
    return !has(schema, "type") || pdl_schema_has_type(schema, "null");
}

/* --- the strict form -------------------------------------------------------------------------- */

typedef struct former {
    bool ok, nullable;
} former;

static pdl_val form(former *f, pdl_vref schema, unsigned depth);

static pdl_val form_map(former *f, pdl_vref map, unsigned depth) {
    pdl_val out = pdl_dict_new(pdl_dict_len(map));
    for (size_t i = 0; i < pdl_dict_len(map); i++)
        out = pdl_dict_put(out, pdl_keep(pdl_dict_key_at(map, i)),
                           form(f, pdl_dict_val_at(map, i), depth));
    return out;
}

static pdl_val form_list(former *f, pdl_vref list, unsigned depth) {
    pdl_val out = pdl_list_new(pdl_list_len(list));
    for (size_t i = 0; i < pdl_list_len(list); i++)
        out = pdl_list_push(out, form(f, pdl_list_at(list, i), depth));
    return out;
}

/* Returns the JSON type of a scalar; NULL for another value. */
static const char *type_of(pdl_vref v) {
    return pdl_is_null(v)           ? "null"
           : pdl_is_bool(v)         ? "boolean"
           : pdl_is(v, PDL_V_INT)   ? "integer"
           : pdl_is(v, PDL_V_FLOAT) ? "number"
           : pdl_is_str(v)          ? "string"
                                    : NULL;
}

/* Returns the types of the values of an enumeration: one name, or a list of names. Absent when a
 * value is not a scalar, or when there is none. */
static pdl_val types_of(pdl_vref values) {
    pdl_val names = pdl_list_new(1);
    bool ok = pdl_is_list(values);
    for (size_t i = 0; ok && i < pdl_list_len(values); i++) {
        const char *name = type_of(pdl_list_at(values, i));
        pdl_val word = name ? pdl_textz(name) : pdl_absent();
        ok = name != NULL;
        if (ok && !pdl_schema_lists(names, word)) names = pdl_list_push(names, pdl_keep(word));
        pdl_drop(word);
    }
    size_t n = ok ? pdl_list_len(names) : 0;
    if (n > 1) return names;
    pdl_val one = n ? pdl_keep(pdl_list_at(names, 0)) : pdl_absent();
    pdl_drop(names);
    return one;
}

/* Adds the type of an enumeration that has none. Takes out, the form of schema. */
static pdl_val with_type(former *f, pdl_vref schema, pdl_val out) {
    if (has(schema, "type") || has(schema, "anyOf") || has(schema, "$ref")) return out;
    pdl_vref values = pdl_dict_getz(schema, "enum"), value = pdl_dict_getz(schema, "const");
    pdl_val one =
        pdl_is_absent(value) ? pdl_keep(values) : pdl_list_push(pdl_list_new(1), pdl_keep(value));
    pdl_val type = types_of(one);
    pdl_drop(one);
    f->ok = f->ok && !pdl_is_absent(type);
    return pdl_is_absent(type) ? out : pdl_dict_putz(out, "type", type);
}

/* Returns true for a keyword that is left out: it only narrows the schema, and the answer is
 * checked against the spec anyway. */
static bool is_narrowing(pdl_vref key, pdl_vref v) {
    static const char *const lengths[] = {"minLength", "maxLength"};
    static const char *const formats[] = {"date-time", "time", "date", "duration", "email",
                                          "hostname",  "ipv4", "ipv6", "uuid"};
    if (pdl_text_is(key, "format"))
        return !is_one_of(v, formats, sizeof formats / sizeof formats[0]);
    return is_one_of(key, lengths, sizeof lengths / sizeof lengths[0]);
}

/* Returns true when no keyword of this level breaks a rule of the strict form. */
static bool keeps_rules(pdl_vref schema) {
    for (size_t i = 0; i < pdl_dict_len(schema); i++) {
        pdl_vref k = pdl_dict_key_at(schema, i);
        if (is_one_of(k, refused, sizeof refused / sizeof refused[0])) return false;
        if (has(schema, "$ref") && !pdl_text_is(k, "$ref") && !pdl_text_is(k, "$defs") &&
            !is_one_of(k, remarks, N_REMARKS))
            return false;
    }
    return !pdl_schema_has_type(schema, "array") || pdl_is_dict(pdl_dict_getz(schema, "items"));
}

static pdl_val or_null(former *f, pdl_val schema) {
    if (takes_null(schema)) return schema;
    f->nullable = true;
    pdl_val null = pdl_dict_putz(pdl_dict_new(1), "type", pdl_textz("null"));
    pdl_val any = pdl_list_push(pdl_list_push(pdl_list_new(2), schema), null);
    return pdl_dict_putz(pdl_dict_new(1), "anyOf", any);
}

/* Makes every property required. Takes object, whose properties were converted before. */
static pdl_val require_all(former *f, pdl_val object) {
    pdl_vref props = pdl_dict_getz(object, "properties"),
             required = pdl_dict_getz(object, "required");
    pdl_vref more = pdl_dict_getz(object, "additionalProperties");
    bool closed = pdl_is_absent(more) || (pdl_is_bool(more) && !pdl_bool_of(more));
    bool described = pdl_is_dict(props) && pdl_schema_describes(props, required);
    if (!described || !closed || has(object, "anyOf")) {
        f->ok = false;
        return object;
    }
    pdl_val all = pdl_list_new(pdl_dict_len(props)), out = pdl_dict_new(pdl_dict_len(props)),
            named = pdl_schema_names(required);
    for (size_t i = 0; i < pdl_dict_len(props); i++) {
        pdl_vref k = pdl_dict_key_at(props, i), p = pdl_dict_val_at(props, i);
        bool is_required = !pdl_is_absent(pdl_dict_find(named, k));
        out = pdl_dict_put(out, pdl_keep(k), is_required ? pdl_keep(p) : or_null(f, pdl_keep(p)));
        all = pdl_list_push(all, pdl_keep(k));
    }
    pdl_drop(named);
    object = pdl_dict_putz(object, "properties", out);
    object = pdl_dict_putz(object, "required", all);
    return pdl_dict_putz(object, "additionalProperties", pdl_bool(false));
}

static pdl_val form(former *f, pdl_vref schema, unsigned depth) {
    f->ok = f->ok && depth <= PDL_MAX_SCHEMA_DEPTH && pdl_is_dict(schema) && keeps_rules(schema);
    if (!f->ok) return pdl_keep(schema);
    size_t n_remarks = has(schema, "$ref") ? N_REMARKS : N_REFUSED_REMARKS;
    pdl_val out = pdl_dict_new(pdl_dict_len(schema) + 1);
    for (size_t i = 0; i < pdl_dict_len(schema); i++) {
        pdl_vref k = pdl_dict_key_at(schema, i), v = pdl_dict_val_at(schema, i);
        pdl_val x;
        if (is_one_of(k, remarks, n_remarks) || is_narrowing(k, v)) continue;
        if (pdl_is_dict(v) && (pdl_text_is(k, "properties") || pdl_text_is(k, "$defs") ||
                               pdl_text_is(k, "definitions")))
            x = form_map(f, v, depth + 1);
        else if (pdl_is_dict(v) && pdl_text_is(k, "items"))
            x = form(f, v, depth + 1);
        else if (pdl_is_list(v) && pdl_text_is(k, "anyOf"))
            x = form_list(f, v, depth + 1);
        else
            x = pdl_keep(v);
        out = pdl_dict_put(out, pdl_keep(k), x);
    }
    out = with_type(f, schema, out);
    return pdl_schema_has_type(out, "object") ? require_all(f, out) : out;
}

pdl_val pdl_strict_form(pdl_vref schema, bool *nullable) {
    former f = {.ok = true};
    pdl_val out = form(&f, schema, 0);
    *nullable = f.ok && f.nullable;
    if (f.ok) return out;
    pdl_drop(out);
    return pdl_absent();
}

bool pdl_strict_is_form(pdl_vref schema) {
    bool nullable;
    if (!pdl_schema_has_type(schema, "object")) return false;
    pdl_val strict = pdl_strict_form(schema, &nullable);
    bool same = !pdl_is_absent(strict) && pdl_val_eq(strict, schema);
    pdl_drop(strict);
    return same;
}

/* --- the way back ----------------------------------------------------------------------------- */

typedef struct undoer {
    pdl_vref root; /* the schema that references are relative to */
} undoer;

static pdl_val undo(const undoer *u, pdl_val v, pdl_vref schema, unsigned depth);

static pdl_val undo_object(const undoer *u, pdl_val v, pdl_vref schema, unsigned depth) {
    pdl_vref props = pdl_dict_getz(schema, "properties"),
             required = pdl_dict_getz(schema, "required");
    pdl_val out = pdl_dict_new(pdl_dict_len(v));
    for (size_t i = 0; i < pdl_dict_len(v); i++) {
        pdl_vref k = pdl_dict_key_at(v, i), x = pdl_dict_val_at(v, i);
        pdl_vref p = pdl_is_dict(props) ? pdl_dict_find(props, k) : pdl_absent();
        if (pdl_is_null(x) && !pdl_is_absent(p) && !pdl_schema_lists(required, k) && !takes_null(p))
            continue;
        out = pdl_dict_put(out, pdl_keep(k), undo(u, pdl_keep(x), p, depth));
    }
    pdl_drop(v);
    return out;
}

static pdl_val undo_list(const undoer *u, pdl_val v, pdl_vref items, unsigned depth) {
    pdl_val out = pdl_list_new(pdl_list_len(v));
    for (size_t i = 0; i < pdl_list_len(v); i++)
        out = pdl_list_push(out, undo(u, pdl_keep(pdl_list_at(v, i)), items, depth));
    pdl_drop(v);
    return out;
}

/* Follows a reference; a schema without one is returned as it is. */
static pdl_vref target_of(const undoer *u, pdl_vref schema) {
    pdl_vref ref = pdl_is_dict(schema) ? pdl_dict_getz(schema, "$ref") : pdl_absent();
    return pdl_is_absent(ref) ? schema : pdl_schema_local(u->root, ref);
}

/* Undoes the strict form in one value. Takes v. When v may fit several schemas, the first that
 * accepts the type of v is used. */
static pdl_val undo(const undoer *u, pdl_val v, pdl_vref schema, unsigned depth) {
    schema = target_of(u, schema);
    if (depth > PDL_MAX_SCHEMA_DEPTH || !pdl_is_dict(schema)) return v;
    pdl_vref any = pdl_dict_getz(schema, "anyOf");
    const char *kind = pdl_is_dict(v) ? "object" : "array";
    for (size_t i = 0; pdl_is_list(any) && i < pdl_list_len(any); i++)
        if (pdl_schema_has_type(target_of(u, pdl_list_at(any, i)), kind))
            return undo(u, v, pdl_list_at(any, i), depth + 1);
    if (pdl_is_dict(v)) return undo_object(u, v, schema, depth + 1);
    return pdl_is_list(v) ? undo_list(u, v, pdl_dict_getz(schema, "items"), depth + 1) : v;
}

pdl_val pdl_strict_undo(pdl_val v, pdl_vref schema) {
    return undo(&(undoer){.root = schema}, v, schema, 0);
}
