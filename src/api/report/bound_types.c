/* bound_types.c -- computes the maximum length of a value of a type, which is a `spec` or the type
 * of a parameter; see bound_impl.h.
 *
 * A keyword of a schema that is not understood here counts as no limit. A schema with several
 * keywords allows no more than each of its keywords alone, so one of them may be used. So a length
 * is never too small.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/report/bound_impl.h"

#include "value/int.h"

#include "base/banned.h"

enum { DEEPEST_TYPE = 20 };

static double words_of(pdl_vref schema, int depth);
static double length_of(pdl_vref schema, int depth);

/* Returns the greatest value of fn for the items of `list`. Returns `unknown` when `list` is no
 * list, or when fn returns `unknown` for an item. */
static double most_of(pdl_vref list, double (*fn)(pdl_vref, int), int depth, double unknown) {
    double most = pdl_is_list(list) ? 0 : unknown;
    for (size_t i = 0; pdl_is_list(list) && i < pdl_list_len(list); i++) {
        double n = fn(pdl_list_at(list, i), depth + 1);
        if (n == unknown) return unknown;
        most = fmax(most, n);
    }
    return most;
}

static double number_at(pdl_vref schema, const char *key) {
    int64_t n;
    return pdl_int_get(pdl_dict_getz(schema, key), &n) ? (double)n : -1;
}

/* --- words ------------------------------------------------------------------------------------ */

static double words_of_constant(pdl_vref v, int depth) {
    (void)depth;
    return pdl_bound_value_words(v);
}

static double words_of_array(pdl_vref schema, int depth) {
    double items = number_at(schema, "maxItems");
    double each = fmax(1, words_of(pdl_dict_getz(schema, "items"), depth + 1));
    /* types of the first items, to which `items` does not apply */
    pdl_vref first = pdl_dict_getz(schema, "prefixItems");
    if (!pdl_is_absent(first)) each = fmax(each, most_of(first, words_of, depth, INFINITY));
    return items < 0 ? INFINITY : items == 0 ? 1 : items * each;
}

static double words_of_object(pdl_vref schema, int depth) {
    pdl_vref fields = pdl_dict_getz(schema, "properties");
    pdl_vref others = pdl_dict_getz(schema, "additionalProperties");
    if (!pdl_is_dict(fields) || !pdl_is_bool(others) || pdl_bool_of(others)) return INFINITY;
    if (!pdl_is_absent(pdl_dict_getz(schema, "patternProperties"))) return INFINITY;
    double n = 1;
    for (size_t i = 0; i < pdl_dict_len(fields); i++)
        n += pdl_bound_value_words(pdl_dict_key_at(fields, i)) +
             fmax(1, words_of(pdl_dict_val_at(fields, i), depth + 1));
    return n;
}

/* Returns the maximum number of words in a value of the type that `word` names, such as
 * "string". */
static double words_of_word(pdl_vref schema, pdl_str word, int depth) {
    double n = number_at(schema, "maxLength");
    if (pdl_str_is(word, "string")) return n < 0 ? INFINITY : ceil(n / 2);
    if (pdl_str_is(word, "array")) return words_of_array(schema, depth);
    if (pdl_str_is(word, "object")) return words_of_object(schema, depth);
    bool single = pdl_str_is(word, "integer") || pdl_str_is(word, "number") ||
                  pdl_str_is(word, "boolean") || pdl_str_is(word, "null");
    return single ? 1 : INFINITY;
}

static double words_of_named(pdl_vref schema, int depth) {
    pdl_vref type = pdl_dict_getz(schema, "type");
    if (pdl_is_str(type)) return words_of_word(schema, pdl_str_get(type), depth);
    double most = pdl_is_list(type) ? 0 : INFINITY;
    for (size_t i = 0; pdl_is_list(type) && i < pdl_list_len(type); i++) {
        pdl_vref one = pdl_list_at(type, i);
        bool word = pdl_is_str(one);
        most = fmax(most, word ? words_of_word(schema, pdl_str_get(one), depth) : INFINITY);
    }
    return most;
}

static double words_of(pdl_vref schema, int depth) {
    if (!pdl_is_dict(schema) || depth > DEEPEST_TYPE) return INFINITY;
    pdl_vref one = pdl_dict_getz(schema, "const");
    double n = words_of_named(schema, depth);
    if (!pdl_is_absent(one)) n = fmin(n, pdl_bound_value_words(one));
    n = fmin(n, most_of(pdl_dict_getz(schema, "enum"), words_of_constant, depth, INFINITY));
    n = fmin(n, most_of(pdl_dict_getz(schema, "anyOf"), words_of, depth, INFINITY));
    return fmin(n, most_of(pdl_dict_getz(schema, "oneOf"), words_of, depth, INFINITY));
}

/* --- lists ------------------------------------------------------------------------------------ */

/* Returns how many items a value has. A text has at most as many characters as bytes. */
static double length_of_constant(pdl_vref v, int depth) {
    (void)depth;
    if (pdl_is_dict(v)) return (double)pdl_dict_len(v);
    if (pdl_is_str(v)) return (double)pdl_str_get(v).n;
    return pdl_is_list(v) ? (double)pdl_list_len(v) : 0;
}

static double length_of(pdl_vref schema, int depth) {
    if (!pdl_is_dict(schema) || depth > DEEPEST_TYPE) return -1;
    pdl_vref type = pdl_dict_getz(schema, "type");
    bool is_array = pdl_is_str(type) && pdl_str_is(pdl_str_get(type), "array");
    bool is_null = pdl_is_str(type) && pdl_str_is(pdl_str_get(type), "null");
    if (is_array && number_at(schema, "maxItems") >= 0) return number_at(schema, "maxItems");
    if (is_null) return 0;
    double n = most_of(pdl_dict_getz(schema, "enum"), length_of_constant, depth, -1);
    return n >= 0 ? n : most_of(pdl_dict_getz(schema, "anyOf"), length_of, depth, -1);
}

/* --- the questions ---------------------------------------------------------------------------- */

double pdl_bound_type_words(const pdl_type *t) {
    pdl_val schema = pdl_type_schema(t, false);
    double n = words_of(schema, 0);
    pdl_drop(schema);
    return n;
}

double pdl_bound_type_length(const pdl_type *t) {
    pdl_val schema = pdl_type_schema(t, false);
    double n = length_of(schema, 0);
    pdl_drop(schema);
    return n;
}

double pdl_bound_field_words(const pdl_type *t, pdl_str field) {
    pdl_val schema = pdl_type_schema(t, false);
    pdl_vref fields = pdl_dict_getz(schema, "properties");
    double n = pdl_is_dict(fields) ? words_of(pdl_dict_gets(fields, field), 0) : INFINITY;
    pdl_drop(schema);
    return n;
}

double pdl_bound_type_item_words(const pdl_type *t) {
    pdl_val schema = pdl_type_schema(t, false);
    pdl_vref first = pdl_dict_getz(schema, "prefixItems");
    double n = words_of(pdl_dict_getz(schema, "items"), 0);
    if (!pdl_is_absent(first)) n = fmax(n, most_of(first, words_of, 0, INFINITY));
    pdl_drop(schema);
    return n;
}
