/* partial_arguments.c -- see partial_arguments.h. Vertex AI sends long arguments in this form when
 * the program sets streamFunctionCallArguments: each piece names a value by its path, such as
 * $.city or $.days[0].name, and the next piece of the same text repeats the path.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/wire/partial_arguments.h"

#include "base/num.h"
#include "value/member.h"

#include "base/banned.h"

enum {
    MAX_DEPTH = 64,   /* steps of a path */
    MAX_ITEMS = 10000 /* a list grows by one item at a time, so a larger index is damaged */
};

/* One step of a path: a name, or an index when name.p is NULL. */
typedef struct partial_step {
    pdl_str name;
    int64_t index;
} partial_step;

/* Reads .NAME, [INDEX] or ['NAME'] from the beginning of *path. */
static bool read_step(pdl_str *path, partial_step *out) {
    size_t end = 1;
    if (path->n < 2) return false;
    if (path->p[0] == '.') {
        while (end < path->n && path->p[end] != '.' && path->p[end] != '[') end++;
        *out = (partial_step){.name = pdl_str_sub(*path, 1, end)};
        *path = pdl_str_sub(*path, end, path->n);
        return out->name.n > 0;
    }
    end = pdl_str_find(*path, PDL_STR("]"), 0);
    if (path->p[0] != '[' || end == PDL_NOT_FOUND) return false;
    pdl_str inside = pdl_str_sub(*path, 1, end);
    *path = pdl_str_sub(*path, end + 1, path->n);
    *out = (partial_step){0};
    if (inside.n > 2 && (inside.p[0] == '\'' || inside.p[0] == '"')) {
        out->name = pdl_str_sub(inside, 1, inside.n - 1);
        return true;
    }
    return pdl_num_read_int(inside, &out->index) && out->index >= 0 && out->index < MAX_ITEMS;
}

/* Returns the value at the end of a path: x, or the text that is there already and x. Takes old. */
static pdl_val joined(pdl_val old, pdl_vref x) {
    pdl_err err = {0};
    pdl_val out;
    if (pdl_is_str(old) && pdl_is_str(x)) {
        if (pdl_text_append(old, pdl_str_get(x), &out, &err)) return out;
        pdl_err_fini(&err); /* longer than a text can be, which the limit of replies prevents */
        return pdl_keep(x);
    }
    pdl_drop(old);
    return pdl_keep(x);
}

static pdl_val put_at(pdl_val v, pdl_str path, pdl_vref x, unsigned depth);

/* Returns the dict with x at the path below key. The value at key is taken out while it changes:
 * what has one owner changes in place, so that a long text is not copied for each piece. Takes d
 * and key. */
static pdl_val put_in_dict(pdl_val d, pdl_val key, pdl_str path, pdl_vref x, unsigned depth) {
    pdl_val old = pdl_keep(pdl_dict_find(d, key));
    if (!pdl_is_absent(old)) d = pdl_dict_put(d, pdl_keep(key), pdl_null());
    pdl_val inner = put_at(old, path, x, depth);
    if (!pdl_is_absent(inner)) return pdl_dict_put(d, key, inner);
    pdl_drop(key);
    return d;
}

/* Does the same for a list, which can grow by one item. Takes list. */
static pdl_val put_in_list(pdl_val list, size_t at, pdl_str path, pdl_vref x, unsigned depth) {
    size_t n = pdl_list_len(list);
    if (at > n) return list;
    pdl_val old = at < n ? pdl_keep(pdl_list_at(list, at)) : pdl_absent();
    if (at < n) list = pdl_list_set(list, at, pdl_null());
    pdl_val inner = put_at(old, path, x, depth);
    if (pdl_is_absent(inner)) return list;
    return at < n ? pdl_list_set(list, at, inner) : pdl_list_push(list, inner);
}

/* Returns v, or `empty` when v is of another kind. Takes both. */
static pdl_val box(bool fits, pdl_val v, pdl_val empty) {
    pdl_drop(fits ? empty : v);
    return fits ? v : empty;
}

/* Returns v with x at the path. Takes v. */
static pdl_val put_at(pdl_val v, pdl_str path, pdl_vref x, unsigned depth) {
    partial_step s;
    if (path.n == 0) return joined(v, x);
    if (depth > MAX_DEPTH || !read_step(&path, &s)) return v;
    if (s.name.p)
        return put_in_dict(box(pdl_is_dict(v), v, pdl_dict_new(1)), pdl_text(s.name), path, x,
                           depth + 1);
    return put_in_list(box(pdl_is_list(v), v, pdl_list_new(1)), (size_t)s.index, path, x,
                       depth + 1);
}

/* Returns the value of an item; absent when it has none. Borrowed. */
static pdl_vref value_of(pdl_vref item) {
    static const char *const keys[] = {"stringValue", "numberValue", "boolValue"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        pdl_vref v = pdl_member(item, keys[i]);
        if (!pdl_is_absent(v)) return v;
    }
    return pdl_is_absent(pdl_member(item, "nullValue")) ? pdl_absent() : pdl_null();
}

pdl_val pdl_partial_arguments_add(pdl_val args, pdl_vref list) {
    for (size_t i = 0; pdl_is_list(list) && i < pdl_list_len(list); i++) {
        pdl_vref item = pdl_list_at(list, i), x = value_of(item);
        pdl_str path = pdl_member_str(item, "jsonPath");
        if (!pdl_str_starts(path, PDL_STR("$")) || pdl_is_absent(x)) continue;
        args = put_at(args, pdl_str_sub(path, 1, path.n), x, 0);
    }
    return args;
}
