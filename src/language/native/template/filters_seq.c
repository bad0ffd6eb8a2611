/* filters_seq.c -- filters on sequences. Where Jinja returns an iterator, these filters return the
 * list of its items.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "native/natives.h"

#include "value/int.h"
#include "value/pyvalues.h"
#include "value/text.h"
#include <math.h>

#include "base/banned.h"

static pdl_val none_because(const char *why) { return pdl_undefined(pdl_textz(why)); }

/* --- ends ------------------------------------------------------------------------------------- */

bool pdl_f_first(PDL_ARGS) {
    pdl_iter it;
    /* the call is lenient, because a strict call has failed before */
    if (pdl_is(argv[0], PDL_V_UNDEFINED)) {
        *out = none_because("No first item, sequence was empty.");
        return true;
    }
    if (!pdl_iter_init(&it, argv[0], err)) return false;
    if (!pdl_iter_next(&it, out)) *out = none_because("No first item, sequence was empty.");
    pdl_iter_fini(&it);
    return true;
}

bool pdl_f_last(PDL_ARGS) {
    pdl_vref v = argv[0];
    pdl_tag t = pdl_tag_of(v);
    size_t n = 0;
    if (t != PDL_V_UNDEFINED && (t == PDL_V_SET || t == PDL_V_HANDLE || !pdl_val_len(v, &n)))
        return pdl_err_host(err, "TypeError", "'%s' object is not reversible", pdl_py_type(v));
    if (n == 0)
        *out = none_because("No last item, sequence was empty.");
    else if (t == PDL_V_DICT)
        *out = pdl_keep(pdl_dict_key_at(v, n - 1));
    else if (t != PDL_V_VIEW)
        return pdl_item(v, pdl_int(-1), out, err);
    else {
        pdl_val list;
        if (!pdl_val_to_list(v, &list, err)) return false;
        *out = pdl_keep(pdl_list_at(list, n - 1));
        pdl_drop(list);
    }
    return true;
}

bool pdl_f_list(PDL_ARGS) { return pdl_arg_list(env, argv[0], out, err); }

static pdl_val reversed(pdl_vref list) {
    size_t n = pdl_list_len(list);
    pdl_val r = pdl_list_new(n);
    for (size_t i = n; i-- > 0 && pdl_walk_may_continue_at(i);)
        r = pdl_list_push(r, pdl_keep(pdl_list_at(list, i)));
    return r;
}

bool pdl_f_reverse(PDL_ARGS) {
    if (pdl_is_str(argv[0]))
        return pdl_slice(argv[0], pdl_absent(), pdl_absent(), pdl_int(-1), out, err);
    pdl_val list;
    pdl_err why = {0};
    if (!pdl_arg_list(env, argv[0], &list, &why)) {
        bool type = why.py_class && strcmp(why.py_class, "TypeError") == 0;
        if (!type) {
            pdl_err_move(err, &why);
            return false;
        }
        pdl_err_fini(&why);
        return pdl_err_host(err, "FilterArgumentError", "argument must be iterable");
    }
    *out = reversed(list);
    pdl_drop(list);
    return true;
}

bool pdl_f_items(PDL_ARGS) {
    if (pdl_is(argv[0], PDL_V_UNDEFINED)) {
        *out = pdl_list_new(0);
        return true;
    }
    if (!pdl_is_dict(argv[0]))
        return pdl_err_host(err, "TypeError", "Can only get item pairs from a mapping.");
    pdl_val view = pdl_view_new(pdl_keep(argv[0]), PDL_VIEW_ITEMS);
    bool ok = pdl_val_to_list(view, out, err);
    pdl_drop(view);
    return ok;
}

/* --- parts ------------------------------------------------------------------------------------ */

static pdl_val sublist(pdl_vref list, size_t from, size_t to) {
    pdl_val r = pdl_list_new(to - from);
    for (size_t i = from; i < to && pdl_walk_may_continue_at(i); i++)
        r = pdl_list_push(r, pdl_keep(pdl_list_at(list, i)));
    return r;
}

/* Returns the number of items of a batch: v, when v is a whole number or, as in Jinja2, a float
 * without a fraction. Returns -1 for other values; all items are then in one list, because no list
 * has this length. */
static int64_t batch_size(pdl_vref v) {
    int64_t size = -1;
    double d = pdl_is(v, PDL_V_FLOAT) ? pdl_float_of(v) : -1;
    if (pdl_is_int(v) || pdl_is_bool(v)) (void)pdl_int_get(v, &size);
    return d >= 0 && d <= PDL_MAX_RANGE_ITEMS && d == floor(d) ? (int64_t)d : size;
}

/* Checks that the last list, which has n items, can be filled up, in Python's words. */
static bool can_fill(pdl_vref linecount, size_t n, int64_t size, pdl_err *err) {
    if (!pdl_is_number(linecount))
        return pdl_err_host(err, "TypeError",
                            "'<' not supported between instances of 'int' and '%s'",
                            pdl_py_type(linecount));
    if (pdl_is(linecount, PDL_V_FLOAT) && (double)n < pdl_float_of(linecount))
        return pdl_err_host(err, "TypeError", "can't multiply sequence by non-int of type 'float'");
    return size <= PDL_MAX_RANGE_ITEMS ||
           pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "list is longer than %d items",
                       PDL_MAX_RANGE_ITEMS);
}

bool pdl_f_batch(PDL_ARGS) {
    int64_t size = batch_size(argv[1]);
    pdl_val items;
    if (!pdl_arg_list(env, argv[0], &items, err)) return false;
    size_t n = pdl_list_len(items), from = 0;
    pdl_val r = pdl_list_new(0), tail = pdl_list_new(0);
    for (size_t i = 0; i < n && pdl_walk_may_continue_at(i); i++) {
        if ((int64_t)(i - from) == size) {
            r = pdl_list_push(r, tail);
            tail = pdl_list_new(0);
            from = i;
        }
        tail = pdl_list_push(tail, pdl_keep(pdl_list_at(items, i)));
    }
    pdl_drop(items);
    if (n && pdl_given(argv[2]) && !can_fill(argv[1], pdl_list_len(tail), size, err)) {
        pdl_drop(r);
        pdl_drop(tail);
        return false;
    }
    if (n && pdl_given(argv[2]))
        while ((int64_t)pdl_list_len(tail) < size && pdl_walk_may_continue_at(pdl_list_len(tail)))
            tail = pdl_list_push(tail, pdl_keep(argv[2]));
    if (n)
        r = pdl_list_push(r, tail);
    else
        pdl_drop(tail);
    *out = r;
    return true;
}

bool pdl_f_slice(PDL_ARGS) {
    int64_t slices = 0;
    pdl_val items;
    if (!pdl_arg_list(env, argv[0], &items, err)) return false;
    bool ok =
        pdl_is_number(argv[1])
            ? pdl_arg_int(argv[1], &slices, err)
            : pdl_err_host(err, "TypeError", "unsupported operand type(s) for //: 'int' and '%s'",
                           pdl_py_type(argv[1]));
    if (ok && slices == 0)
        ok = pdl_err_host(err, "ZeroDivisionError", "integer division or modulo by zero");
    else if (ok && slices > PDL_MAX_RANGE_ITEMS)
        ok = pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "list is longer than %d items",
                         PDL_MAX_RANGE_ITEMS);
    if (ok) {
        size_t n = pdl_list_len(items), k = slices > 0 ? (size_t)slices : 0, each = k ? n / k : 0,
               more = k ? n % k : 0, at = 0;
        pdl_val r = pdl_list_new(k);
        for (size_t i = 0; i < k && pdl_walk_may_continue_at(i); i++) {
            size_t end = at + each + (i < more ? 1 : 0);
            pdl_val part = sublist(items, at, end);
            if (pdl_given(argv[2]) && i >= more) part = pdl_list_push(part, pdl_keep(argv[2]));
            r = pdl_list_push(r, part);
            at = end;
        }
        *out = r;
    }
    pdl_drop(items);
    return ok;
}

/* --- order ------------------------------------------------------------------------------------ */

/* Returns the items, sorted by g. */
static bool sort_items(const pdl_getter *g, pdl_vref items, bool reverse, pdl_val *out,
                       pdl_err *err) {
    pdl_val keys;
    if (!pdl_getter_all(g, items, &keys, err)) return false;
    bool ok = pdl_sorted(items, keys, reverse, out, err);
    pdl_drop(keys);
    return ok;
}

/* Sorts by lists that have one key each. The comparison of lists first searches for items that
 * differ, so equal keys without an order (null, objects) can be sorted. This is called only after a
 * failure, since most keys have an order. */
static bool sort_listed(const pdl_getter *g, pdl_vref items, bool reverse, pdl_val *out,
                        pdl_err *err) {
    pdl_val keys, lists = pdl_list_new(pdl_list_len(items));
    if (!pdl_getter_all(g, items, &keys, err)) {
        pdl_drop(lists);
        return false;
    }
    for (size_t i = 0; i < pdl_list_len(keys) && pdl_walk_may_continue_at(i); i++)
        lists =
            pdl_list_push(lists, pdl_list_push(pdl_list_new(1), pdl_keep(pdl_list_at(keys, i))));
    bool ok = pdl_check_walk(err) && pdl_sorted(items, lists, reverse, out, err);
    pdl_drop(keys);
    pdl_drop(lists);
    return ok;
}

bool pdl_f_sort(PDL_ARGS) {
    bool reverse, sensitive;
    pdl_val items;
    if (!pdl_arg_truth(env, argv[2], &sensitive, err) || !pdl_arg_list(env, argv[0], &items, err))
        return false;
    if (!pdl_arg_reverse(argv[1], &reverse, err)) {
        pdl_drop(items);
        return false;
    }
    pdl_getter g;
    pdl_getter_init(&g, argv[3], true, !sensitive);
    bool ok = sort_items(&g, items, reverse, out, err);
    if (!ok && !g.multi && !err->uncatchable) {
        pdl_err_fini(err);
        ok = sort_listed(&g, items, reverse, out, err);
    }
    pdl_getter_fini(&g);
    pdl_drop(items);
    return ok;
}

bool pdl_f_dictsort(PDL_ARGS) {
    bool sensitive, reverse, by_value = pdl_text_is(argv[2], "value");
    if (!pdl_arg_truth(env, argv[1], &sensitive, err)) return false;
    if (!pdl_is_absent(argv[2]) && !by_value && !pdl_text_is(argv[2], "key"))
        return pdl_err_host(err, "FilterArgumentError",
                            "You can only sort by either \"key\" or \"value\"");
    if (pdl_is(argv[0], PDL_V_UNDEFINED)) return pdl_undefined_error(argv[0], err);
    if (!pdl_is_dict(argv[0]))
        return pdl_err_host(err, "AttributeError", "'%s' object has no attribute 'items'",
                            pdl_py_type(argv[0]));
    if (!pdl_arg_reverse(argv[3], &reverse, err)) return false;
    pdl_val view = pdl_view_new(pdl_keep(argv[0]), PDL_VIEW_ITEMS), items;
    bool ok = pdl_val_to_list(view, &items, err);
    pdl_drop(view);
    if (!ok) return false;
    pdl_getter g;
    pdl_getter_init(&g, pdl_int(by_value), false, !sensitive);
    ok = sort_items(&g, items, reverse, out, err);
    pdl_getter_fini(&g);
    pdl_drop(items);
    return ok;
}

/* Finds the index of the largest key (op '>') or of the smallest key (op '<'). */
static bool extreme(pdl_vref keys, char op, size_t *out, pdl_err *err) {
    size_t best = 0;
    for (size_t i = 1; i < pdl_list_len(keys); i++) {
        bool better;
        if (!pdl_check_cancel_at(i, err)) return false;
        pdl_vref a = pdl_list_at(keys, i), b = pdl_list_at(keys, best);
        if (pdl_is(a, PDL_V_UNDEFINED)) return pdl_undefined_error(a, err);
        if (pdl_is(b, PDL_V_UNDEFINED)) return pdl_undefined_error(b, err);
        if (!pdl_val_order(a, b, op, &better, err)) return false;
        if (better) best = i;
    }
    *out = best;
    return true;
}

static bool pick_extreme(const pdl_native_env *env, const pdl_val *argv, char op, pdl_val *out,
                         pdl_err *err) {
    bool sensitive;
    pdl_val items, keys;
    if (!pdl_arg_truth(env, argv[1], &sensitive, err) || !pdl_arg_list(env, argv[0], &items, err))
        return false;
    if (pdl_list_len(items) == 0) {
        pdl_drop(items);
        *out = none_because("No aggregated item, sequence was empty.");
        return true;
    }
    pdl_getter g;
    pdl_getter_init(&g, argv[2], false, !sensitive);
    bool ok = pdl_getter_all(&g, items, &keys, err);
    pdl_getter_fini(&g);
    if (ok) {
        size_t best = 0;
        ok = extreme(keys, op, &best, err);
        if (ok) *out = pdl_keep(pdl_list_at(items, best));
        pdl_drop(keys);
    }
    pdl_drop(items);
    return ok;
}

bool pdl_f_max(PDL_ARGS) { return pick_extreme(env, argv, '>', out, err); }
bool pdl_f_min(PDL_ARGS) { return pick_extreme(env, argv, '<', out, err); }

/* --- same and different ----------------------------------------------------------------------- */

/* Groups adjacent items of `sorted` whose keys (the items of `keys`) are equal. The name of a group
 * is the value of show for its first item. */
static bool make_groups(const pdl_getter *show, pdl_vref sorted, pdl_vref keys, pdl_val *out,
                        pdl_err *err) {
    size_t n = pdl_list_len(sorted);
    pdl_val r = pdl_list_new(0);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && pdl_walk_may_continue_at(to) &&
                            pdl_val_eq(pdl_list_at(keys, to), pdl_list_at(keys, from));)
            to++;
        pdl_val name;
        if (!pdl_getter_get(show, pdl_list_at(sorted, from), &name, err)) {
            pdl_drop(r);
            return false;
        }
        const pdl_val pair[2] = {name, sublist(sorted, from, to)};
        r = pdl_list_push(r, pdl_with_flags(pdl_tuple_new(pair, 2), PDL_F_GROUP));
    }
    *out = r;
    return true;
}

bool pdl_f_groupby(PDL_ARGS) {
    bool sensitive;
    pdl_val items, sorted = pdl_absent(), keys = pdl_absent();
    if (!pdl_arg_truth(env, argv[3], &sensitive, err) || !pdl_arg_list(env, argv[0], &items, err))
        return false;
    pdl_getter g, show;
    pdl_getter_init(&g, argv[1], false, !sensitive);
    pdl_getter_init(&show, argv[1], false, false);
    g.deflt = show.deflt = argv[2];
    bool ok = sort_items(&g, items, false, &sorted, err) &&
              pdl_getter_all(&g, sorted, &keys, err) && make_groups(&show, sorted, keys, out, err);
    pdl_getter_fini(&g);
    pdl_getter_fini(&show);
    pdl_drop(items);
    pdl_drop(sorted);
    pdl_drop(keys);
    return ok;
}

bool pdl_f_unique(PDL_ARGS) {
    bool sensitive, ok = true, undefined_seen = false;
    pdl_val items;
    if (!pdl_arg_truth(env, argv[1], &sensitive, err) || !pdl_arg_list(env, argv[0], &items, err))
        return false;
    pdl_getter g;
    pdl_getter_init(&g, argv[2], false, !sensitive);
    pdl_val r = pdl_list_new(0), seen = pdl_dict_new(0);
    for (size_t i = 0; ok && i < pdl_list_len(items); i++) {
        pdl_vref x = pdl_list_at(items, i);
        pdl_val key;
        ok = pdl_getter_get(&g, x, &key, err);
        if (!ok) break;
        bool is_new = false;
        if (pdl_is(key, PDL_V_UNDEFINED)) {
            ok = env->lenient || pdl_undefined_error(key, err);
            is_new = !undefined_seen;
            undefined_seen = true;
        } else if (!pdl_is_hashable(key)) {
            ok = pdl_err_host(err, "TypeError", "unhashable type: '%s'", pdl_py_type(key));
        } else if (pdl_is_absent(pdl_dict_find(seen, key))) {
            is_new = true;
            seen = pdl_dict_put(seen, pdl_keep(key), pdl_null());
        }
        if (ok && is_new) r = pdl_list_push(r, pdl_keep(x));
        pdl_drop(key);
    }
    pdl_getter_fini(&g);
    pdl_drop(seen);
    pdl_drop(items);
    if (ok)
        *out = r;
    else
        pdl_drop(r);
    return ok;
}

/* --- join ------------------------------------------------------------------------------------- */

/* Makes a text of each item. Sets *any_safe when a text is marked as safe. */
static bool texts_of(const pdl_native_env *env, const pdl_getter *g, pdl_vref items, pdl_val *out,
                     bool *any_safe, pdl_err *err) {
    pdl_val r = pdl_list_new(pdl_list_len(items));
    *any_safe = false;
    for (size_t i = 0; i < pdl_list_len(items); i++) {
        pdl_val x, s;
        if (!pdl_getter_get(g, pdl_list_at(items, i), &x, err)) goto failed;
        bool ok = pdl_arg_text(env, x, &s, err);
        pdl_drop(x);
        if (!ok) goto failed;
        if (pdl_is_safe(s)) *any_safe = true;
        r = pdl_list_push(r, s);
    }
    *out = r;
    return true;
failed:
    pdl_drop(r);
    return false;
}

bool pdl_f_join(PDL_ARGS) {
    pdl_val items, texts, sep;
    if (!pdl_arg_list(env, argv[0], &items, err)) return false;
    pdl_getter g;
    pdl_getter_init(&g, argv[2], false, false);
    bool any_safe, ok = texts_of(env, &g, items, &texts, &any_safe, err);
    pdl_getter_fini(&g);
    pdl_drop(items);
    if (!ok) return false;
    if (pdl_is_absent(argv[1]))
        sep = pdl_text((pdl_str){"", 0});
    else if (!pdl_arg_text(env, argv[1], &sep, err)) {
        pdl_drop(texts);
        return false;
    }
    /* With autoescape, when an item or the separator is safe, those of them that are not safe are
     * escaped. */
    bool sep_safe = pdl_is_safe(sep), safe = env->autoescape && (any_safe || sep_safe);
    if (safe && !sep_safe) {
        pdl_val escaped;
        ok = pdl_escape_html(sep, &escaped, err);
        pdl_drop(sep);
        sep = ok ? escaped : pdl_absent();
    }
    ok = ok && pdl_join_text(sep, texts, safe, out, err);
    pdl_drop(sep);
    pdl_drop(texts);
    return ok;
}
