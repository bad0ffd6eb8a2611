/* tool_schemas.c -- see tool_schemas.h.
 *
 * Tool servers describe arguments with all of JSON Schema. Services refuse a request when one of
 * its tools has a choice (anyOf) or a reference at the root, or an array without `items`, so one
 * such tool would make all others useless. The arguments of all choices are therefore written at
 * the root. This says less than the choice did, but the tool itself still checks its arguments.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/ask/tool_schemas.h"

#include "model/ask/structured.h"
#include "value/member.h"
#include "value/tool_schema.h"

#include "base/banned.h"

enum {
    MAX_STEPS = 16,      /* references, or choices inside choices, that are followed */
    MAX_BRANCHES = 1000, /* choices of one schema that are read */
    MAX_FORMS = 64       /* forms of one property; a property with more may be anything */
};

/* The keywords that services refuse at the root. */
static const char *const at_root[] = {"$ref", "allOf", "anyOf", "oneOf",
                                      "not",  "enum",  "const", NULL};

/* The arguments that the parts of a schema describe. */
typedef struct gathered {
    pdl_vref root;           /* where references lead */
    pdl_val props, required; /* two dicts, owned; the keys of `required` are names */
    size_t n_branches;
} gathered;

/* Returns the schema that a schema with nothing but references leads to. */
static pdl_vref resolved(pdl_vref root, pdl_vref schema) {
    for (int i = 0; i < MAX_STEPS; i++) {
        pdl_vref next = pdl_schema_local(root, pdl_member(schema, "$ref"));
        if (!pdl_is_dict(next)) break;
        schema = next;
    }
    return schema;
}

static bool is_null(pdl_vref root, pdl_vref schema) {
    return pdl_text_is(pdl_member(resolved(root, schema), "type"), "null");
}

/* Returns the schema of a property that has the form `old` already: one that two parts describe in
 * two ways may have either form in a choice, and must have both elsewhere. */
static pdl_val combined(pdl_vref old, pdl_vref schema, bool choice) {
    const char *word = choice ? "anyOf" : "allOf";
    pdl_vref given = pdl_member(old, word);
    bool ours = pdl_is_list(given) && pdl_dict_len(old) == 1;
    if (pdl_is_dict(old) && pdl_dict_len(old) == 0) return pdl_keep(choice ? old : schema);
    if (ours && pdl_schema_lists(given, schema)) return pdl_keep(old);
    if (ours && pdl_list_len(given) >= MAX_FORMS) return pdl_dict_new(0);
    pdl_val list = ours ? pdl_keep(given) : pdl_list_push(pdl_list_new(2), pdl_keep(old));
    return pdl_dict_putz(pdl_dict_new(1), word, pdl_list_push(list, pdl_keep(schema)));
}

static void add_property(gathered *g, pdl_vref name, pdl_vref schema, bool choice) {
    pdl_vref old = pdl_dict_find(g->props, name);
    bool is_new = pdl_is_absent(old);
    if (!is_new && pdl_val_eq(old, schema)) return;
    pdl_val made = is_new ? pdl_keep(schema) : combined(old, schema, choice);
    g->props = pdl_dict_put(g->props, pdl_keep(name), made);
}

static void require(gathered *g, pdl_vref name) {
    if (pdl_is_str(name)) g->required = pdl_dict_put(g->required, pdl_keep(name), pdl_null());
}

/* Requires the properties that each of the choices but null requires. */
static void require_common(gathered *g, pdl_vref choices) {
    pdl_val counts = pdl_dict_new(0); /* name -> how many choices, from the first on, require it */
    int64_t n = 0;
    for (size_t i = 0; i < pdl_list_len(choices); i++) {
        pdl_vref one = resolved(g->root, pdl_list_at(choices, i));
        if (is_null(g->root, one)) continue;
        pdl_vref names = pdl_member(one, "required");
        for (size_t k = 0; pdl_is_list(names) && k < pdl_list_len(names); k++) {
            pdl_vref name = pdl_list_at(names, k);
            if (!pdl_is_str(name)) continue;
            pdl_vref count = pdl_dict_find(counts, name);
            if (n == 0 || (pdl_is(count, PDL_V_INT) && pdl_int_of(count) == n))
                counts = pdl_dict_put(counts, pdl_keep(name), pdl_int(n + 1));
        }
        n++;
    }
    for (size_t i = 0; i < pdl_dict_len(counts); i++)
        if (pdl_int_of(pdl_dict_val_at(counts, i)) == n) require(g, pdl_dict_key_at(counts, i));
    pdl_drop(counts);
}

static void add_list(gathered *g, pdl_vref list, bool choice, unsigned depth);

/* Adds a part of the schema. choice: it is one of several. */
static void add_part(gathered *g, pdl_vref part, bool choice, unsigned depth) {
    if (depth > MAX_STEPS || ++g->n_branches > MAX_BRANCHES) return;
    pdl_vref s = resolved(g->root, part), props = pdl_member(s, "properties"),
             required = pdl_member(s, "required");
    for (size_t i = 0; pdl_is_dict(props) && i < pdl_dict_len(props); i++)
        add_property(g, pdl_dict_key_at(props, i), pdl_dict_val_at(props, i), choice);
    for (size_t i = 0; !choice && pdl_is_list(required) && i < pdl_list_len(required); i++)
        require(g, pdl_list_at(required, i));
    add_list(g, pdl_member(s, "allOf"), choice, depth);
    add_list(g, pdl_member(s, "anyOf"), true, depth);
    add_list(g, pdl_member(s, "oneOf"), true, depth);
}

static void add_list(gathered *g, pdl_vref list, bool choice, unsigned depth) {
    if (!pdl_is_list(list) || pdl_list_len(list) > MAX_BRANCHES) return;
    for (size_t i = 0; i < pdl_list_len(list); i++)
        add_part(g, pdl_list_at(list, i), choice, depth + 1);
    if (choice && depth == 0) require_common(g, list);
}

bool pdl_tool_schema_has_plain_root(pdl_vref schema) {
    bool found = false;
    for (size_t i = 0; at_root[i]; i++)
        found = found || !pdl_is_absent(pdl_member(schema, at_root[i]));
    return !found;
}

static pdl_val without_key(pdl_val dict, const char *name) {
    pdl_val key = pdl_textz(name), out = pdl_dict_del(dict, key);
    pdl_drop(key);
    return out;
}

static pdl_val keys_of(pdl_vref dict) {
    pdl_val out = pdl_list_new(pdl_dict_len(dict));
    for (size_t i = 0; i < pdl_dict_len(dict); i++)
        out = pdl_list_push(out, pdl_keep(pdl_dict_key_at(dict, i)));
    return out;
}

/* Returns the schema with the arguments of all its parts at the root. Takes schema. */
static pdl_val flat(pdl_val schema) {
    if (pdl_tool_schema_has_plain_root(schema)) return schema;
    gathered g = {.root = schema, .props = pdl_dict_new(4), .required = pdl_dict_new(2)};
    pdl_vref named = resolved(schema, schema);
    add_part(&g, schema, false, 0);
    pdl_val own =
        pdl_val_eq(named, schema) ? pdl_keep(schema) : pdl_dict_merge(pdl_keep(named), schema);
    for (size_t i = 0; at_root[i]; i++) own = without_key(own, at_root[i]);
    own = pdl_dict_putz(own, "type", pdl_textz("object"));
    own = pdl_dict_putz(own, "properties", g.props);
    own = without_key(own, "required");
    if (pdl_dict_len(g.required)) own = pdl_dict_putz(own, "required", keys_of(g.required));
    pdl_drop(g.required);
    pdl_drop(schema);
    return own;
}

static pdl_val tool_of(pdl_vref tool) {
    pdl_vref f = pdl_member(tool, "function"), schema = pdl_member(f, "parameters");
    if (!pdl_is_dict(schema)) return pdl_keep(tool);
    pdl_val fixed = flat(pdl_structured_with_items(schema));
    return pdl_dict_putz(pdl_keep(tool), "function",
                         pdl_dict_putz(pdl_keep(f), "parameters", fixed));
}

pdl_val pdl_tool_schemas(pdl_vref tools) {
    pdl_val whole = pdl_tools_whole(tools), out = pdl_list_new(pdl_list_len(whole));
    for (size_t i = 0; i < pdl_list_len(whole); i++)
        out = pdl_list_push(out, tool_of(pdl_list_at(whole, i)));
    pdl_drop(whole);
    return out;
}
