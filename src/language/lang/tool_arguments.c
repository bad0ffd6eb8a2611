/* tool_arguments.c -- see tool_arguments.h. Keywords that combine schemas (allOf, $ref, ...) are
 * left to the server: they can refuse an argument, but they cannot allow an argument that
 * `additionalProperties: false` refuses.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lang/tool_arguments.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "types/type.h"
#include "value/text.h"

#include "base/banned.h"

static bool find_reference(pdl_vref v, unsigned depth) {
    if (depth > PDL_MAX_SCHEMA_DEPTH) return true;
    if (pdl_is_list(v)) {
        for (size_t i = 0; i < pdl_list_len(v); i++)
            if (find_reference(pdl_list_at(v, i), depth + 1)) return true;
    } else if (pdl_is_dict(v)) {
        for (size_t i = 0; i < pdl_dict_len(v); i++) {
            pdl_vref k = pdl_dict_key_at(v, i);
            if (pdl_text_is(k, "$ref") || pdl_text_is(k, "$dynamicRef")) return true;
            if (find_reference(pdl_dict_val_at(v, i), depth + 1)) return true;
        }
    }
    return false;
}

bool pdl_tool_has_reference(pdl_vref v) { return find_reference(v, 0); }

static bool is_closed(pdl_vref schema) {
    pdl_vref others = pdl_dict_getz(schema, "additionalProperties");
    return pdl_is_bool(others) && !pdl_bool_of(others);
}

/* Returns `patternProperties`, or absent when the schema has no patterns. */
static pdl_vref patterns_of(pdl_vref schema) {
    pdl_vref patterns = pdl_dict_getz(schema, "patternProperties");
    return pdl_is_dict(patterns) && pdl_dict_len(patterns) ? patterns : pdl_absent();
}

/* Returns true when the name matches a pattern. A pattern that cannot be read counts as a match:
 * the server decides. */
static bool is_matched(pdl_vref patterns, pdl_str name) {
    pdl_val any = pdl_dict_new(pdl_dict_len(patterns));
    for (size_t i = 0; i < pdl_dict_len(patterns); i++)
        any = pdl_dict_put(any, pdl_keep(pdl_dict_key_at(patterns, i)), pdl_dict_new(0));
    pdl_val s = pdl_dict_putz(pdl_dict_new(2), "patternProperties", any);
    s = pdl_dict_putz(s, "additionalProperties", pdl_bool(false));
    pdl_val v = pdl_dict_puts(pdl_dict_new(1), name, pdl_null());
    pdl_arena *a = pdl_arena_make();
    pdl_type_verdict found;
    pdl_err err = {0};
    bool known = pdl_schema_validate(s, v, NULL, a, &found, &err);
    pdl_err_fini(&err);
    pdl_arena_free(a);
    pdl_drop(v);
    pdl_drop(s);
    return !known || found.fits;
}

bool pdl_tool_allows(pdl_vref schema, pdl_str name) {
    if (!is_closed(schema)) return true;
    pdl_vref patterns = patterns_of(schema);
    return !pdl_is_absent(patterns) && is_matched(patterns, name);
}

/* --- errors ----------------------------------------------------------------------------------- */

enum { SHOWN = 20, SHOWN_BYTES = 60 }; /* maximum number of names, and of bytes of a name */

static void put_shown(pdl_vref name, pdl_buf *out) {
    if (out->len) PDL_PUT(out, ", ");
    if (pdl_is_str(name)) pdl_buf_put(out, pdl_utf8_cut(pdl_str_get(name), SHOWN_BYTES));
}

static bool is_required(pdl_vref schema, pdl_vref name) {
    pdl_vref list = pdl_dict_getz(schema, "required");
    for (size_t i = 0; pdl_is_list(list) && i < pdl_list_len(list); i++)
        if (pdl_val_eq(pdl_list_at(list, i), name)) return true;
    return false;
}

/* Writes what the tool takes, as in "text, times (optional), names like ^x-". */
static void put_taken(pdl_vref schema, pdl_buf *out) {
    pdl_vref props = pdl_dict_getz(schema, "properties"), patterns = patterns_of(schema);
    size_t n = pdl_is_dict(props) ? pdl_dict_len(props) : 0;
    for (size_t i = 0; i < n && i < SHOWN; i++) {
        put_shown(pdl_dict_key_at(props, i), out);
        if (!is_required(schema, pdl_dict_key_at(props, i))) PDL_PUT(out, " (optional)");
    }
    if (n > SHOWN) pdl_buf_putf(out, " and %zu more", n - SHOWN);
    for (size_t i = 0; !pdl_is_absent(patterns) && i < pdl_dict_len(patterns) && i < SHOWN; i++) {
        if (out->len) PDL_PUT(out, ", ");
        PDL_PUT(out, "names like ");
        pdl_vref pattern = pdl_dict_key_at(patterns, i);
        if (pdl_is_str(pattern)) pdl_buf_put(out, pdl_utf8_cut(pdl_str_get(pattern), SHOWN_BYTES));
    }
    if (!out->len) PDL_PUT(out, "no arguments");
}

static pdl_str nearest(pdl_vref schema, pdl_str name) {
    pdl_vref props = pdl_dict_getz(schema, "properties");
    pdl_str names[64];
    size_t n = 0;
    for (size_t i = 0; pdl_is_dict(props) && i < pdl_dict_len(props); i++)
        if (n < sizeof names / sizeof names[0] && pdl_is_str(pdl_dict_key_at(props, i)))
            names[n++] = pdl_str_get(pdl_dict_key_at(props, i));
    return pdl_str_nearest(name, names, n);
}

bool pdl_tool_refuse(pdl_str tool, pdl_vref schema, pdl_str name, pdl_err *err) {
    pdl_buf taken = PDL_BUF, shown = PDL_BUF;
    pdl_str near = nearest(schema, name);
    put_taken(schema, &taken);
    pdl_str_repr(pdl_utf8_cut(name, SHOWN_BYTES), &shown);
    pdl_err_set(err, PDL_E_type, (pdl_loc){0}, "the tool %.*s has no argument %s; it takes %s",
                PDL_FMT(tool), pdl_buf_z(&shown), pdl_buf_z(&taken));
    if (near.n) pdl_err_hint(err, "did you mean '%.*s'?", PDL_FMT(near));
    pdl_buf_fini(&taken);
    pdl_buf_fini(&shown);
    return false;
}

/* --- values ----------------------------------------------------------------------------------- */

pdl_val pdl_tool_others_schema(pdl_vref schema) {
    static const char *const kept[] = {"$schema", "patternProperties", "additionalProperties",
                                       "propertyNames"};
    pdl_val s = pdl_dict_putz(pdl_dict_new(5), "type", pdl_textz("object"));
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        pdl_vref v = pdl_dict_getz(schema, kept[i]);
        if (!pdl_is_absent(v)) s = pdl_dict_putz(s, kept[i], pdl_keep(v));
    }
    if (!pdl_tool_has_reference(s)) return s;
    pdl_drop(s);
    return pdl_absent();
}
