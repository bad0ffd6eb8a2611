/* structured.c -- writes the schema of a spec in each of the forms that services accept; see
 * structured.h for the reason that there are several.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/ask/structured.h"

#include "base/limits.h"
#include "model/ask/messages.h"
#include "model/ask/strict.h"
#include "model/ask/tool_schemas.h"
#include "value/json_write.h"
#include "value/memo.h"
#include "value/tool_schema.h"

#include <ctype.h>

#include "base/banned.h"

enum {
    /* the longest name of a property that Anthropic's service takes */
    MAX_NAME_BYTES = 64
};

static pdl_val format(pdl_val schema, bool strict) {
    pdl_val js = pdl_dict_putz(pdl_dict_new(3), "name", pdl_textz("schema"));
    js = pdl_dict_putz(js, "schema", schema);
    js = pdl_dict_putz(js, "strict", pdl_bool(strict));
    pdl_val out = pdl_dict_putz(pdl_dict_new(2), "type", pdl_textz("json_schema"));
    return pdl_dict_putz(out, "json_schema", js);
}

pdl_val pdl_structured_format(pdl_vref schema) {
    return format(pdl_keep(schema), pdl_strict_is_form(schema));
}

pdl_vref pdl_structured_schema(pdl_vref response_format) {
    if (!pdl_is_dict(response_format) ||
        !pdl_text_is(pdl_dict_getz(response_format, "type"), "json_schema"))
        return pdl_absent();
    pdl_vref js = pdl_dict_getz(response_format, "json_schema");
    return pdl_is_dict(js) ? pdl_dict_getz(js, "schema") : pdl_absent();
}

/* --- the schema of the program ---------------------------------------------------------------- */

static bool has_type(pdl_vref schema, const char *type) {
    return pdl_is_dict(schema) && pdl_text_is(pdl_dict_getz(schema, "type"), type);
}

bool pdl_structured_is_text(pdl_vref schema) {
    return has_type(schema, "string") && pdl_is_absent(pdl_dict_getz(schema, "enum")) &&
           pdl_is_absent(pdl_dict_getz(schema, "pattern"));
}

bool pdl_structured_is_own(const pdl_ask *a) {
    static const char *const names[] = {"response_format", "guided_regex",       "guided_choice",
                                        "guided_grammar",  "structured_outputs", "grammar",
                                        "json_schema"};
    pdl_vref extra = pdl_dict_getz(a->params, "extra_body");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!pdl_is_absent(pdl_dict_getz(a->params, names[i]))) return true;
        if (pdl_is_dict(extra) && !pdl_is_absent(pdl_dict_getz(extra, names[i]))) return true;
    }
    return false;
}

pdl_vref pdl_structured_wanted(const pdl_ask *a) {
    return pdl_is_dict(a->schema) && !a->no_schema && !pdl_structured_is_own(a) ? a->schema
                                                                                : pdl_absent();
}

/* Moves the definitions of a schema to the new root, since references are relative to it. Takes
 * both. */
static pdl_val move_definitions(pdl_val root, pdl_val *schema) {
    static const char *const names[] = {"$defs", "definitions"};
    for (size_t i = 0; pdl_is_dict(*schema) && i < sizeof names / sizeof names[0]; i++) {
        pdl_vref defs = pdl_dict_getz(*schema, names[i]);
        if (pdl_is_absent(defs)) continue;
        pdl_val key = pdl_textz(names[i]);
        root = pdl_dict_putz(root, names[i], pdl_keep(defs));
        *schema = pdl_dict_del(*schema, key);
        pdl_drop(key);
    }
    return root;
}

pdl_val pdl_structured_wrap(pdl_vref schema) {
    pdl_val inner = pdl_keep(schema), out = move_definitions(pdl_dict_new(5), &inner);
    pdl_val props = pdl_dict_putz(pdl_dict_new(1), "value", inner);
    out = pdl_dict_putz(out, "type", pdl_textz("object"));
    out = pdl_dict_putz(out, "properties", props);
    out = pdl_dict_putz(out, "required", pdl_list_push(pdl_list_new(1), pdl_textz("value")));
    return pdl_dict_putz(out, "additionalProperties", pdl_bool(false));
}

/* Returns the schema itself when it describes an object without a choice at its root, and otherwise
 * the schema wrapped in an object. Owned. */
static pdl_val as_object(pdl_ask *a, pdl_vref schema) {
    a->wrapped = !has_type(schema, "object") || !pdl_tool_schema_has_plain_root(schema);
    return a->wrapped ? pdl_structured_wrap(schema) : pdl_keep(schema);
}

pdl_val pdl_structured_for_tool(pdl_ask *a) {
    pdl_vref given = pdl_structured_schema(pdl_dict_getz(a->params, "response_format"));
    if (pdl_is_dict(given)) return pdl_keep(given);
    pdl_vref schema = pdl_structured_wanted(a);
    if (pdl_is_absent(schema) || pdl_structured_is_text(schema)) return pdl_absent();
    a->structured = PDL_BY_TOOL;
    return as_object(a, schema);
}

static bool is_few_name(pdl_vref key) {
    pdl_str s = pdl_is_str(key) ? pdl_str_get(key) : (pdl_str){0};
    for (size_t i = 0; i < s.n; i++)
        if (!s.p[i] || (!isalnum((unsigned char)s.p[i]) && !strchr("_.-", s.p[i]))) return false;
    return s.n > 0 && s.n <= MAX_NAME_BYTES;
}

/* is_map: the keys of v are names of properties. */
static bool has_few_names(pdl_memo *seen, pdl_vref v, bool is_map, unsigned depth) {
    pdl_vref known;
    if (depth > PDL_MAX_SCHEMA_DEPTH || (!pdl_is_dict(v) && !pdl_is_list(v))) return true;
    if (pdl_memo_find(seen, v, is_map, &known)) return true;
    bool ok = true;
    for (size_t i = 0; ok && pdl_is_list(v) && i < pdl_list_len(v); i++)
        ok = has_few_names(seen, pdl_list_at(v, i), false, depth + 1);
    for (size_t i = 0; ok && pdl_is_dict(v) && i < pdl_dict_len(v); i++) {
        pdl_vref key = pdl_dict_key_at(v, i);
        bool map = !is_map && pdl_text_is(key, "properties");
        ok = (!is_map || is_few_name(key)) &&
             has_few_names(seen, pdl_dict_val_at(v, i), map, depth + 1);
    }
    pdl_memo_put(seen, v, is_map, pdl_absent());
    return ok;
}

bool pdl_structured_has_few_names(pdl_vref schema) {
    pdl_memo seen = {0};
    bool ok = has_few_names(&seen, schema, false, 0);
    pdl_memo_fini(&seen);
    return ok;
}

/* --- the schema in words ---------------------------------------------------------------------- */

static void put_request(pdl_vref schema, pdl_buf *out) {
    pdl_err err = {0};
    PDL_PUT(out,
            "Reply with JSON that is valid against this JSON Schema, and with nothing else:\n");
    if (!pdl_json_write(schema, PDL_JSON_SPACED | PDL_JSON_LOOSE | PDL_JSON_NAN, 0, out, &err))
        pdl_err_fini(&err);
}

/* Returns content with the text appended. */
static pdl_val extended(pdl_vref content, pdl_str text) {
    if (pdl_message_is_parts(content)) {
        pdl_val part = pdl_dict_putz(pdl_dict_new(2), "type", pdl_textz("text"));
        return pdl_list_push(pdl_keep(content), pdl_dict_putz(part, "text", pdl_text(text)));
    }
    pdl_buf all = PDL_BUF;
    pdl_message_text(content, &all);
    if (all.len) PDL_PUT(&all, "\n\n");
    pdl_buf_put(&all, text);
    return pdl_text_of_buf(&all);
}

pdl_val pdl_structured_prompt(pdl_vref messages, pdl_vref schema) {
    pdl_val list = pdl_is_list(messages) ? pdl_keep(messages) : pdl_list_new(1);
    size_t n = pdl_list_len(list);
    pdl_vref last = n ? pdl_list_at(list, n - 1) : pdl_absent();
    pdl_buf text = PDL_BUF;
    put_request(schema, &text);
    if (pdl_is_dict(last) && pdl_str_is(pdl_message_role(last), "user")) {
        pdl_val content = extended(pdl_dict_getz(last, "content"), pdl_buf_str(&text));
        list = pdl_list_set(list, n - 1, pdl_dict_putz(pdl_keep(last), "content", content));
    } else {
        pdl_val m = pdl_dict_putz(pdl_dict_new(2), "role", pdl_textz("user"));
        list = pdl_list_push(list, pdl_dict_putz(m, "content", pdl_text(pdl_buf_str(&text))));
    }
    pdl_buf_fini(&text);
    return list;
}

/* --- OpenAI's strict mode --------------------------------------------------------------------- */

pdl_val pdl_structured_plain(pdl_vref schema) {
    bool nullable = false;
    pdl_val strict = pdl_strict_form(schema, &nullable);
    bool is_whole = !pdl_is_absent(strict) && !nullable;
    pdl_drop(strict);
    return format(pdl_keep(schema), is_whole);
}

pdl_val pdl_structured_openai(pdl_ask *a) {
    pdl_val schema = as_object(a, a->schema), strict = pdl_strict_form(schema, &a->nullable);
    bool ok = !pdl_is_absent(strict);
    a->structured = ok ? PDL_BY_STRICT : PDL_BY_SCHEMA;
    if (!ok) strict = pdl_structured_with_items(schema);
    pdl_drop(schema);
    return format(strict, ok);
}

/* --- fewer keywords --------------------------------------------------------------------------- */

static bool is_named(pdl_vref k, const char *const *names) {
    for (; *names; names++)
        if (pdl_text_is(k, *names)) return true;
    return false;
}

typedef struct remover {
    const char *const *names;
    bool items; /* an array that does not say what is in it gets `items` that allow anything */
    /* results that are known already; their keys have way 1 for a value that was read as a map of
     * names, and way 0 for a schema */
    pdl_memo memo;
} remover;

/* Returns true for the schema of an array, or of an array or another value. */
static bool is_array(pdl_vref schema) {
    return pdl_schema_has_type(schema, "array") &&
           pdl_is_absent(pdl_dict_getz(schema, "prefixItems"));
}

/* Removes the keywords. is_map: the keys of v are the user's names, not keywords. */
static pdl_val without(remover *r, pdl_vref v, bool is_map, unsigned depth);

static pdl_val list_without(remover *r, pdl_vref v, unsigned depth) {
    pdl_val list = pdl_list_new(pdl_list_len(v));
    for (size_t i = 0; i < pdl_list_len(v); i++)
        list = pdl_list_push(list, without(r, pdl_list_at(v, i), false, depth + 1));
    return list;
}

static pdl_val dict_without(remover *r, pdl_vref v, bool is_map, unsigned depth) {
    pdl_val out = pdl_dict_new(pdl_dict_len(v));
    for (size_t i = 0; i < pdl_dict_len(v); i++) {
        pdl_vref k = pdl_dict_key_at(v, i), x = pdl_dict_val_at(v, i);
        bool map = !is_map && (pdl_text_is(k, "properties") || pdl_text_is(k, "$defs"));
        bool data = !is_map && (pdl_text_is(k, "enum") || pdl_text_is(k, "const") ||
                                pdl_text_is(k, "default"));
        if (!is_map && is_named(k, r->names)) continue;
        out = pdl_dict_put(out, pdl_keep(k), data ? pdl_keep(x) : without(r, x, map, depth + 1));
    }
    bool open = r->items && !is_map && is_array(v) && pdl_is_absent(pdl_dict_getz(v, "items"));
    return open ? pdl_dict_putz(out, "items", pdl_dict_new(0)) : out;
}

static pdl_val without(remover *r, pdl_vref v, bool is_map, unsigned depth) {
    pdl_vref known;
    if (depth > PDL_MAX_SCHEMA_DEPTH || (!pdl_is_dict(v) && !pdl_is_list(v))) return pdl_keep(v);
    if (pdl_memo_find(&r->memo, v, is_map, &known)) return pdl_keep(known);
    pdl_val out = pdl_is_list(v) ? list_without(r, v, depth) : dict_without(r, v, is_map, depth);
    pdl_memo_put(&r->memo, v, is_map, out);
    return out;
}

pdl_val pdl_structured_without(pdl_vref schema, const char *const *keywords) {
    remover r = {.names = keywords};
    pdl_val out = without(&r, schema, false, 0);
    pdl_memo_fini(&r.memo);
    return out;
}

pdl_val pdl_structured_with_items(pdl_vref schema) {
    static const char *const none[] = {NULL};
    remover r = {.names = none, .items = true};
    pdl_val out = without(&r, schema, false, 0);
    pdl_memo_fini(&r.memo);
    return out;
}

/* --- forced tool, plain JSON mode ------------------------------------------------------------- */

pdl_val pdl_structured_tool(pdl_vref schema) {
    pdl_val f = pdl_dict_putz(pdl_dict_new(2), "name", pdl_textz(PDL_SCHEMA_TOOL));
    f = pdl_dict_putz(f, "parameters", pdl_keep(schema));
    pdl_val tool = pdl_dict_putz(pdl_dict_new(2), "type", pdl_textz("function"));
    return pdl_dict_putz(tool, "function", f);
}

pdl_val pdl_structured_choice(void) {
    pdl_val f = pdl_dict_putz(pdl_dict_new(1), "name", pdl_textz(PDL_SCHEMA_TOOL));
    pdl_val choice = pdl_dict_putz(pdl_dict_new(2), "type", pdl_textz("function"));
    return pdl_dict_putz(choice, "function", f);
}

static bool mentions_json(pdl_str s) {
    for (size_t i = 0; i + 4 <= s.n; i++)
        if ((s.p[i] | 32) == 'j' && pdl_str_eq_nocase(pdl_str_sub(s, i, i + 4), PDL_STR("json")))
            return true;
    return false;
}

bool pdl_structured_says_json(pdl_vref messages) {
    bool found = false;
    if (!pdl_is_list(messages)) return false;
    for (size_t i = 0; i < pdl_list_len(messages) && !found; i++) {
        pdl_vref m = pdl_list_at(messages, i);
        pdl_buf text = PDL_BUF;
        if (pdl_is_dict(m)) pdl_message_text(pdl_dict_getz(m, "content"), &text);
        found = mentions_json(pdl_buf_str(&text));
        pdl_buf_fini(&text);
    }
    return found;
}
