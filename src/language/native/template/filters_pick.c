/* filters_pick.c -- map, select, reject and their attribute forms. These filters apply other
 * filters and tests by name.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "native/natives.h"
#include "value/text.h"

#include "base/banned.h"

/* A filter or test with its further arguments. A row that is NULL means bool(). */
typedef struct {
    const pdl_native_env *env;
    const pdl_native *row;
    pdl_val *pos; /* [0] is set to the item for each call; the other items are owned */
    pdl_str *kw_names;
    pdl_val *kw;
    pdl_call_args args; /* the arguments of a call, made of the three members above */
} action;

static bool no_such(const char *what, pdl_vref name, pdl_err *err) {
    pdl_buf b = PDL_BUF;
    pdl_val_show(name, true, 100, &b);
    pdl_err_host(err, "TemplateRuntimeError", "No %s named %s.", what, pdl_buf_z(&b));
    pdl_buf_fini(&b);
    return false;
}

/* Begins an action. pos[0] is the name of its filter or test, and the other items are its
 * arguments. Without any pos, the action is bool(). */
static bool action_init(action *a, bool test, const pdl_val *pos, size_t n, pdl_vref kwargs,
                        pdl_err *err) {
    if (n == 0) return true;
    pdl_str name = pdl_is_str(pos[0]) ? pdl_str_get(pos[0]) : (pdl_str){"", 0};
    a->row = test ? pdl_test_find(name) : pdl_filter_find(name);
    if (!a->row) return no_such(test ? "test" : "filter", pos[0], err);
    size_t n_kw = pdl_is_absent(kwargs) ? 0 : pdl_dict_len(kwargs);
    a->pos = PDL_NEW_N(pdl_val, n);
    for (size_t i = 1; i < n; i++) a->pos[i] = pdl_keep(pos[i]);
    a->kw_names = PDL_NEW_N(pdl_str, n_kw + 1);
    a->kw = PDL_NEW_N(pdl_val, n_kw + 1);
    for (size_t i = 0; i < n_kw; i++) {
        a->kw_names[i] = pdl_str_get(pdl_dict_key_at(kwargs, i));
        a->kw[i] = pdl_keep(pdl_dict_val_at(kwargs, i));
    }
    a->args = (pdl_call_args){a->pos, n, a->kw_names, a->kw, n_kw, 0};
    return true;
}

static void action_fini(action *a) {
    for (size_t i = 1; i < a->args.n_pos; i++) pdl_drop(a->pos[i]);
    for (size_t i = 0; i < a->args.n_kw; i++) pdl_drop(a->kw[i]);
    pdl_free(a->pos);
    pdl_free(a->kw_names);
    pdl_free(a->kw);
}

static bool action_call(const action *a, pdl_vref item, pdl_val *out, pdl_err *err) {
    if (!a->row) {
        bool truth;
        if (!pdl_arg_truth(a->env, item, &truth, err)) return false;
        *out = pdl_bool(truth);
        return true;
    }
    a->pos[0] = pdl_keep(item);
    bool ok = pdl_native_call(a->row, a->env, &a->args, out, err);
    pdl_drop(a->pos[0]);
    return ok;
}

/* --- map -------------------------------------------------------------------------------------- */

static bool map_by_attribute(pdl_vref items, pdl_vref kwargs, pdl_val *out, pdl_err *err) {
    for (size_t i = 0; i < pdl_dict_len(kwargs); i++) {
        pdl_vref key = pdl_dict_key_at(kwargs, i);
        if (pdl_text_is(key, "attribute") || pdl_text_is(key, "default")) continue;
        pdl_buf b = PDL_BUF;
        pdl_val_show(key, true, 100, &b);
        pdl_err_host(err, "FilterArgumentError", "Unexpected keyword argument %s", pdl_buf_z(&b));
        pdl_buf_fini(&b);
        return false;
    }
    pdl_getter g;
    pdl_getter_init(&g, pdl_dict_getz(kwargs, "attribute"), false, false);
    g.deflt = pdl_dict_getz(kwargs, "default");
    bool ok = pdl_getter_all(&g, items, out, err);
    pdl_getter_fini(&g);
    return ok;
}

static bool map_filter(const action *a, pdl_vref items, pdl_val *out, pdl_err *err) {
    pdl_val r = pdl_list_new(pdl_list_len(items));
    for (size_t i = 0; i < pdl_list_len(items); i++) {
        pdl_val x;
        if (!action_call(a, pdl_list_at(items, i), &x, err)) {
            pdl_drop(r);
            return false;
        }
        r = pdl_list_push(r, x);
    }
    *out = r;
    return true;
}

bool pdl_f_map(PDL_ARGS) {
    bool truth, by_attribute = argc == 1 && !pdl_is_absent(kwargs) &&
                               !pdl_is_absent(pdl_dict_getz(kwargs, "attribute"));
    if (!pdl_arg_truth(env, argv[0], &truth, err)) return false;
    if (!truth) { /* a false value gives an empty list, even when it is no sequence */
        *out = pdl_list_new(0);
        return true;
    }
    if (argc == 1 && !by_attribute)
        return pdl_err_host(err, "FilterArgumentError", "map requires a filter argument");
    pdl_val items;
    if (!pdl_arg_list(env, argv[0], &items, err)) return false;
    bool ok;
    if (by_attribute) {
        ok = map_by_attribute(items, kwargs, out, err);
    } else {
        action a = {.env = env};
        ok = action_init(&a, false, argv + 1, argc - 1, kwargs, err) &&
             map_filter(&a, items, out, err);
        action_fini(&a);
    }
    pdl_drop(items);
    return ok;
}

/* --- select ----------------------------------------------------------------------------------- */

static bool keep_items(const action *a, const pdl_getter *g, pdl_vref items, bool want,
                       pdl_val *out, pdl_err *err) {
    pdl_val r = pdl_list_new(0);
    for (size_t i = 0; i < pdl_list_len(items); i++) {
        pdl_val x = pdl_absent(), verdict = pdl_absent();
        bool truth = false;
        bool ok = pdl_getter_get(g, pdl_list_at(items, i), &x, err) &&
                  action_call(a, x, &verdict, err) && pdl_arg_truth(a->env, verdict, &truth, err);
        pdl_drop(x);
        pdl_drop(verdict);
        if (!ok) {
            pdl_drop(r);
            return false;
        }
        if (truth == want) r = pdl_list_push(r, pdl_keep(pdl_list_at(items, i)));
    }
    *out = r;
    return true;
}

/* Says which items a filter such as `select` keeps. */
typedef struct {
    const pdl_native_env *env;
    bool want, attribute;
} picking;

static bool pick(picking how, const pdl_val *argv, size_t argc, pdl_vref kwargs, pdl_val *out,
                 pdl_err *err) {
    const pdl_native_env *env = how.env;
    bool truth;
    if (!pdl_arg_truth(env, argv[0], &truth, err)) return false;
    if (!truth) {
        *out = pdl_list_new(0);
        return true;
    }
    size_t off = how.attribute ? 2 : 1;
    if (argc < off)
        return pdl_err_host(err, "FilterArgumentError", "Missing parameter for attribute name");
    pdl_val items;
    if (!pdl_arg_list(env, argv[0], &items, err)) return false;
    pdl_getter g;
    action a = {.env = env};
    pdl_getter_init(&g, how.attribute ? argv[1] : pdl_absent(), false, false);
    bool ok = action_init(&a, true, argv + off, argc - off, kwargs, err) &&
              keep_items(&a, &g, items, how.want, out, err);
    action_fini(&a);
    pdl_getter_fini(&g);
    pdl_drop(items);
    return ok;
}

bool pdl_f_select(PDL_ARGS) {
    return pick((picking){env, true, false}, argv, argc, kwargs, out, err);
}
bool pdl_f_reject(PDL_ARGS) {
    return pick((picking){env, false, false}, argv, argc, kwargs, out, err);
}
bool pdl_f_selectattr(PDL_ARGS) {
    return pick((picking){env, true, true}, argv, argc, kwargs, out, err);
}
bool pdl_f_rejectattr(PDL_ARGS) {
    return pick((picking){env, false, true}, argv, argc, kwargs, out, err);
}
