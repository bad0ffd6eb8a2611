/* methods_dict.c -- Python's methods of dicts. Methods that change a dict return (new dict, value
 * of the call).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "native/natives.h"
#include "value/pyvalues.h"
#include "value/text.h"

#include "base/banned.h"

static bool changed(pdl_val self, pdl_val value, pdl_val *out) {
    const pdl_val pair[2] = {self, value};
    *out = pdl_tuple_new(pair, 2);
    return true;
}

static bool need_key(pdl_vref key, pdl_err *err) {
    return pdl_is_hashable(key) ||
           pdl_err_host(err, "TypeError", "unhashable type: '%s'", pdl_py_type(key));
}

static pdl_val or_null(pdl_vref v) { return pdl_is_absent(v) ? pdl_null() : pdl_keep(v); }

static bool m_clear(PDL_ARGS) { return changed(pdl_dict_new(0), pdl_null(), out); }

static bool m_copy(PDL_ARGS) {
    *out = pdl_keep(argv[0]);
    return true;
}

static bool m_get(PDL_ARGS) {
    if (pdl_is(argv[1], PDL_V_UNDEFINED) && env->lenient) { /* a dict never has an undefined key */
        *out = or_null(argv[2]);
        return true;
    }
    if (!need_key(argv[1], err)) return false;
    pdl_vref v = pdl_dict_find(argv[0], argv[1]);
    *out = pdl_is_absent(v) ? or_null(argv[2]) : pdl_keep(v);
    return true;
}

static bool m_items(PDL_ARGS) {
    *out = pdl_view_new(pdl_keep(argv[0]), PDL_VIEW_ITEMS);
    return true;
}
static bool m_keys(PDL_ARGS) {
    *out = pdl_view_new(pdl_keep(argv[0]), PDL_VIEW_KEYS);
    return true;
}
static bool m_values(PDL_ARGS) {
    *out = pdl_view_new(pdl_keep(argv[0]), PDL_VIEW_VALUES);
    return true;
}

static bool m_pop(PDL_ARGS) {
    if (!need_key(argv[1], err)) return false;
    pdl_vref v = pdl_dict_find(argv[0], argv[1]);
    /* the remaining entries depend on the key, so they get its labels */
    pdl_label chosen = pdl_label_of(argv[1]);
    if (!pdl_is_absent(v)) {
        pdl_val x = pdl_keep(v);
        return changed(pdl_with_label(pdl_dict_del(pdl_keep(argv[0]), argv[1]), chosen), x, out);
    }
    if (!pdl_is_absent(argv[2]))
        return changed(pdl_with_label(pdl_keep(argv[0]), chosen), pdl_keep(argv[2]), out);
    pdl_buf b = PDL_BUF;
    pdl_val_show(argv[1], true, 300, &b);
    pdl_err_host(err, "KeyError", "%s", pdl_buf_z(&b));
    pdl_buf_fini(&b);
    return false;
}

static bool m_popitem(PDL_ARGS) {
    size_t n = pdl_dict_len(argv[0]);
    if (n == 0) return pdl_err_host(err, "KeyError", "'popitem(): dictionary is empty'");
    pdl_val key = pdl_keep(pdl_dict_key_at(argv[0], n - 1));
    const pdl_val pair[2] = {pdl_keep(key), pdl_keep(pdl_dict_val_at(argv[0], n - 1))};
    pdl_val self = pdl_dict_del(pdl_keep(argv[0]), key);
    pdl_drop(key);
    return changed(self, pdl_tuple_new(pair, 2), out);
}

static bool m_setdefault(PDL_ARGS) {
    if (!need_key(argv[1], err)) return false;
    pdl_vref v = pdl_dict_find(argv[0], argv[1]);
    if (!pdl_is_absent(v)) return changed(pdl_keep(argv[0]), pdl_keep(v), out);
    return changed(pdl_dict_put(pdl_keep(argv[0]), pdl_keep(argv[1]), or_null(argv[2])),
                   or_null(argv[2]), out);
}

/* Puts one pair of update([(k, v), ...]). Takes self, which is dropped on failure. */
static bool put_pair(pdl_val self, pdl_vref pair, size_t i, pdl_val *out, pdl_err *err) {
    pdl_val list;
    pdl_err why = {0};
    if (!pdl_check_cancel_at(i, err)) {
        pdl_drop(self);
        return false;
    }
    if (!pdl_val_to_list(pair, &list, &why)) {
        pdl_err_fini(&why);
        pdl_drop(self);
        return pdl_err_host(err, "TypeError",
                            "cannot convert dictionary update sequence element #%zu to a sequence",
                            i);
    }
    size_t n = pdl_list_len(list);
    bool ok =
        n == 2 ||
        pdl_err_host(err, "ValueError",
                     "dictionary update sequence element #%zu has length %zu; 2 is required", i, n);
    ok = ok && need_key(pdl_list_at(list, 0), err);
    if (ok)
        *out = pdl_dict_put(self, pdl_keep(pdl_list_at(list, 0)), pdl_keep(pdl_list_at(list, 1)));
    else
        pdl_drop(self);
    pdl_drop(list);
    return ok;
}

bool pdl_dict_update(const pdl_native_env *env, pdl_val self, pdl_vref more, pdl_vref kwargs,
                     pdl_val *out, pdl_err *err) {
    if (pdl_is(more, PDL_V_UNDEFINED)) {
        pdl_drop(self);
        return pdl_undefined_error(more, err);
    }
    if (pdl_is_dict(more)) {
        self = pdl_dict_merge(self, more);
    } else if (!pdl_is_absent(more)) {
        pdl_val pairs;
        if (!pdl_arg_list(env, more, &pairs, err)) {
            pdl_drop(self);
            return false;
        }
        bool ok = true;
        for (size_t i = 0; ok && i < pdl_list_len(pairs); i++)
            ok = put_pair(self, pdl_list_at(pairs, i), i, &self, err);
        pdl_drop(pairs);
        if (!ok) return false;
    }
    *out = pdl_is_absent(kwargs) ? self : pdl_dict_merge(self, kwargs);
    return true;
}

static bool m_update(PDL_ARGS) {
    pdl_val self;
    return pdl_dict_update(env, pdl_keep(argv[0]), argv[1], kwargs, &self, err) &&
           changed(self, pdl_null(), out);
}

static bool m_fromkeys(PDL_ARGS) {
    pdl_val keys;
    if (!pdl_arg_list(env, argv[1], &keys, err)) return false;
    pdl_val d = pdl_dict_new(pdl_list_len(keys));
    bool ok = true;
    for (size_t i = 0; ok && i < pdl_list_len(keys); i++) {
        ok = pdl_check_cancel_at(i, err) && need_key(pdl_list_at(keys, i), err);
        if (ok) d = pdl_dict_put(d, pdl_keep(pdl_list_at(keys, i)), or_null(argv[2]));
    }
    pdl_drop(keys);
    if (ok)
        *out = d;
    else
        pdl_drop(d);
    return ok;
}

static const pdl_native methods[] = {
    {"clear", m_clear, "self", 1, 1, PDL_N_MUTATES, "Removes all items.", NULL, PDL_NS_NONE,
     "object -> null"},
    {"copy", m_copy, "self", 1, 1, 0, "The same object.", NULL, PDL_NS_NONE, "object -> same"},
    {"fromkeys", m_fromkeys, "self, iterable, value", 2, 3, 0,
     "An object of these keys, each with the same value.", NULL, PDL_NS_POS,
     "object, iterable, any -> object"},
    {"get", m_get, "self, key, default", 2, 3, 0, "The value of a key, or another one.", NULL,
     PDL_NS_POS, "object, any, any -> any"},
    {"items", m_items, "self", 1, 1, 0, "Pairs of key and value.", NULL, PDL_NS_NONE,
     "object -> list"},
    {"keys", m_keys, "self", 1, 1, 0, "The keys.", NULL, PDL_NS_NONE, "object -> list"},
    {"pop", m_pop, "self, key, default", 2, 3, PDL_N_MUTATES, "Removes a key and gives its value.",
     NULL, PDL_NS_POS, "object, any, any -> any"},
    {"popitem", m_popitem, "self", 1, 1, PDL_N_MUTATES, "Removes and gives the last pair.", NULL,
     PDL_NS_NONE, "object -> tuple"},
    {"setdefault", m_setdefault, "self, key, default", 2, 3, PDL_N_MUTATES,
     "The value of a key, set when it is missing.", NULL, PDL_NS_POS, "object, any, any -> any"},
    /* The second parameter has an empty name, so it is given only by its position. */
    {"update", m_update, "self, ", 1, 2, PDL_N_MUTATES | PDL_N_KWARGS, "Sets many keys.", NULL,
     PDL_NS_POS, "object, any -> null"},
    {"values", m_values, "self", 1, 1, 0, "The values.", NULL, PDL_NS_NONE, "object -> list"},
};

pdl_rows pdl_rows_dict(void) { return (pdl_rows){methods, PDL_N_COUNT(methods)}; }
