/* narrow_types.c -- see type.h: finds types whose values can carry only a few different messages,
 * for the policies.
 *
 * A text that a model wrote can be any instruction; a boolean that it wrote is one of two values.
 * Once a value was checked against a type that admits few values, its label says so: it is bounded
 * (label.h). The values that a type admits are counted from the schema alone, since a hostile
 * author chooses the value. A keyword that is not understood here counts as no limit. A schema with
 * several keywords admits no more values than each of its keywords alone, so one of them may be
 * counted. So a count is never too low.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "types/type_inside.h"

#include "base/limits.h"
#include "value/label.h"

#include "base/banned.h"

/* The number of values that fit a schema, and whether all of them have a known form. */
typedef struct bound {
    uint64_t count; /* 0 when there are too many to count */
    bool shaped;
} bound;

static const bound unbounded = {0, false};

static uint64_t times(uint64_t a, uint64_t b) { return b && a > UINT64_MAX / b ? 0 : a * b; }

/* Returns true when a value has only one form. For a schema 1 and 1.0 are the same value, but the
 * texts that are made of them differ. */
static bool has_one_form(pdl_vref v) {
    return pdl_is_null(v) || pdl_is_bool(v) || pdl_is(v, PDL_V_INT) || pdl_is_str(v);
}

static bound bound_of(pdl_vref schema, unsigned depth);

static bound bound_of_enum(pdl_vref list) {
    size_t n = pdl_list_len(list);
    for (size_t i = 0; i < n; i++)
        if (!has_one_form(pdl_list_at(list, i))) return unbounded;
    return (bound){n, true};
}

static bool limit_of(pdl_vref schema, const char *limit, const char *exclusive, int step,
                     int64_t *out) {
    pdl_vref v = pdl_dict_getz(schema, limit), x = pdl_dict_getz(schema, exclusive);
    if (pdl_is(v, PDL_V_INT)) {
        *out = pdl_int_of(v);
        return true;
    }
    if (!pdl_is(x, PDL_V_INT)) return false;
    return !PDL_ADD_OVERFLOWS(pdl_int_of(x), step, out);
}

static bound bound_of_integer(pdl_vref schema) {
    int64_t least, most;
    if (!limit_of(schema, "minimum", "exclusiveMinimum", 1, &least) ||
        !limit_of(schema, "maximum", "exclusiveMaximum", -1, &most) || most < least)
        return unbounded;
    uint64_t n = (uint64_t)most - (uint64_t)least;
    return (bound){n == UINT64_MAX ? 0 : n + 1, true};
}

static bool is_required(pdl_vref schema, pdl_vref key) {
    pdl_vref required = pdl_dict_getz(schema, "required");
    for (size_t i = 0, n = pdl_is_list(required) ? pdl_list_len(required) : 0; i < n; i++)
        if (pdl_val_eq(pdl_list_at(required, i), key)) return true;
    return false;
}

/* Counts the objects that fit the schema. Each order of the keys counts separately. Keys that the
 * schema does not name are not counted. bound_dict does not use the count for an object that has
 * such a key. */
static bound bound_of_object(pdl_vref schema, unsigned depth) {
    pdl_vref fields = pdl_dict_getz(schema, "properties");
    bound all = {1, true};
    if (!pdl_is_dict(fields)) return unbounded;
    for (size_t i = 0, n = pdl_dict_len(fields); i < n; i++) {
        bound one = bound_of(pdl_dict_val_at(fields, i), depth);
        uint64_t missing = is_required(schema, pdl_dict_key_at(fields, i)) ? 0 : 1;
        uint64_t forms = one.count == UINT64_MAX || !one.count ? 0 : one.count + missing;
        all.count = times(times(all.count, forms), i + 1);
        all.shaped = all.shaped && one.shaped;
    }
    return all;
}

static bound bound_of_type(pdl_vref schema, pdl_str word, unsigned depth) {
    if (pdl_str_is(word, "boolean")) return (bound){2, true};
    if (pdl_str_is(word, "null")) return (bound){1, true};
    if (pdl_str_is(word, "integer")) return bound_of_integer(schema);
    if (pdl_str_is(word, "object")) return bound_of_object(schema, depth);
    if (pdl_str_is(word, "string")) return (bound){0, pdl_is_str(pdl_dict_getz(schema, "pattern"))};
    if (pdl_str_is(word, "array"))
        return (bound){0, bound_of(pdl_dict_getz(schema, "items"), depth).shaped};
    return unbounded;
}

static bound bound_of_choice(pdl_vref list, unsigned depth) {
    bound all = {0, true};
    bool counted = true;
    for (size_t i = 0, n = pdl_list_len(list); i < n; i++) {
        bound one = bound_of(pdl_list_at(list, i), depth);
        counted = counted && one.count && !PDL_ADD_OVERFLOWS(all.count, one.count, &all.count);
        all.shaped = all.shaped && one.shaped;
    }
    if (!counted) all.count = 0;
    return all;
}

static bound bound_of(pdl_vref schema, unsigned depth) {
    if (!pdl_is_dict(schema) || depth >= (unsigned)PDL_MAX_SCHEMA_DEPTH) return unbounded;
    pdl_vref one = pdl_dict_getz(schema, "const"), few = pdl_dict_getz(schema, "enum");
    pdl_vref any = pdl_dict_getz(schema, "anyOf"), type = pdl_dict_getz(schema, "type");
    if (!pdl_is_absent(one)) return has_one_form(one) ? (bound){1, true} : unbounded;
    if (pdl_is_list(few)) return bound_of_enum(few);
    if (pdl_is_list(any)) return bound_of_choice(any, depth + 1);
    if (pdl_is_str(type)) return bound_of_type(schema, pdl_str_get(type), depth + 1);
    return unbounded;
}

/* --- the labels of a value -------------------------------------------------------------------- */

static pdl_val bound_value(uint64_t capacity, pdl_vref schema, pdl_val v, unsigned depth);

/* Returns the bits that the label loses when the value is bounded. */
static pdl_label lost(uint64_t capacity, bound of) {
    if (of.count && of.count <= capacity) return (pdl_label)PDL_LABEL_FREE;
    return of.shaped ? (pdl_label)PDL_LABEL_UNSHAPED : 0;
}

/* Adds the labels `whole`, without the bits `without`, to a container that has the labels of its
 * parts. Of the labels of the parts only SEVERAL is removed: when the type limits the values of all
 * parts together, the number of parts does not matter. */
static pdl_val rejoined(pdl_val container, pdl_label whole, pdl_label without) {
    unsigned parts = pdl_flags_of(container) & PDL_F_PARTS;
    pdl_label inner = pdl_label_of(container) & ~(without & (pdl_label)PDL_LABEL_SEVERAL);
    container = pdl_relabelled(container, inner | (pdl_label_built(whole) & ~without));
    return pdl_with_flags(container, parts);
}

static pdl_val bound_dict(uint64_t capacity, pdl_vref schema, pdl_val v, unsigned depth) {
    pdl_vref fields = pdl_dict_getz(schema, "properties");
    pdl_label outer = pdl_label_of_part(v), without = lost(capacity, bound_of(schema, depth));
    pdl_val out = pdl_dict_new(pdl_dict_len(v));
    for (size_t i = 0, n = pdl_dict_len(v); i < n; i++) {
        pdl_vref key = pdl_dict_key_at(v, i), field = pdl_dict_find(fields, key);
        pdl_label of_key = pdl_label_of(key) | outer;
        pdl_val x = pdl_with_label(pdl_keep(pdl_dict_val_at(v, i)), outer);
        if (pdl_is_absent(field))
            without = 0;
        else
            of_key &= ~(pdl_label)PDL_LABEL_FREE;
        x = bound_value(capacity, field, x, depth + 1);
        out = pdl_dict_put_known(out, pdl_relabelled(pdl_keep(key), of_key), x);
    }
    out = rejoined(out, pdl_label_of(v), without);
    pdl_drop(v);
    return out;
}

static pdl_val bound_list(uint64_t capacity, pdl_vref schema, pdl_val v, unsigned depth) {
    pdl_vref items = pdl_dict_getz(schema, "items");
    pdl_label outer = pdl_label_of_part(v), without = lost(capacity, bound_of(schema, depth));
    pdl_val out = pdl_list_new(pdl_list_len(v));
    for (size_t i = 0, n = pdl_list_len(v); i < n; i++) {
        pdl_val x = pdl_with_label(pdl_keep(pdl_list_at(v, i)), outer);
        out = pdl_list_push(out, bound_value(capacity, items, x, depth + 1));
    }
    out = rejoined(out, pdl_label_of(v), without);
    pdl_drop(v);
    return out;
}

/* Returns the branch of a choice that is for containers of this type. Returns absent unless there
 * is exactly one such branch. */
static pdl_vref branch_for(pdl_vref any, const char *type) {
    pdl_vref found = pdl_absent();
    for (size_t i = 0, n = pdl_list_len(any); i < n; i++) {
        pdl_vref one = pdl_list_at(any, i);
        if (!pdl_is_dict(one) || !pdl_text_is(pdl_dict_getz(one, "type"), type)) continue;
        if (!pdl_is_absent(found)) return pdl_absent();
        found = one;
    }
    return found;
}

/* Bounds the labels of v, which fits the schema. Takes v. */
static pdl_val bound_value(uint64_t capacity, pdl_vref schema, pdl_val v, unsigned depth) {
    pdl_label label = pdl_label_of(v);
    if (!pdl_is_dict(schema) || depth >= (unsigned)PDL_MAX_SCHEMA_DEPTH ||
        !(label & PDL_LABEL_FREE))
        return v;
    bool dict = pdl_is_dict(v), list = pdl_is_list(v);
    pdl_vref any = pdl_dict_getz(schema, "anyOf");
    if (pdl_is_list(any) && (dict || list)) schema = branch_for(any, dict ? "object" : "array");
    if (!pdl_is_dict(schema)) return v;
    if (dict && !(pdl_flags_of(v) & PDL_F_MODULE) &&
        pdl_is_dict(pdl_dict_getz(schema, "properties")))
        return bound_dict(capacity, schema, v, depth);
    if (list && pdl_is_dict(pdl_dict_getz(schema, "items")))
        return bound_list(capacity, schema, v, depth);
    if (!has_one_form(v)) return v;
    return pdl_relabelled(v, label & ~lost(capacity, bound_of(schema, depth)));
}

/* Makes no JSON Schema, because this function runs at every call, for the arguments and the
 * result. */
bool pdl_type_bounds_nothing(const pdl_type *t) {
    if (pdl_type_is_any(t)) return true;
    if (t->kind == PDL_TYPE_base)
        return t->base == PDL_BASE_string || t->base == PDL_BASE_number ||
               t->base == PDL_BASE_integer;
    if (t->kind != PDL_TYPE_object || !t->params) return false;
    for (size_t i = 0; i < t->n_fields; i++)
        if (!pdl_type_bounds_nothing(pdl_type_field(t, i))) return false;
    return true;
}

pdl_val pdl_type_bound(const pdl_type *t, pdl_val v, uint32_t capacity) {
    if (!(pdl_label_of(v) & PDL_LABEL_FREE) || pdl_type_bounds_nothing(t)) return v;
    pdl_val schema = pdl_type_schema(t, true);
    v = bound_value(capacity, schema, v, 0);
    pdl_drop(schema);
    return v;
}
