/* constants.c -- see constants.h.
 *
 * Sizes are limited: `"a" * 1000000000` must not slow a check down, and a chain of operations must
 * not grow its result step by step. An operand or a result is used only when it is small; natives
 * get no integer that could be a width or a count of millions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "check/types/constants.h"

#include "native/native.h"
#include "value/int.h"
#include "value/pyvalues.h"

#include "base/banned.h"

enum {
    MAX_PARTS = 256, /* maximum number of items of an operand, including the items of its parts */
    MAX_BYTES = 1024,
    MAX_COUNT = 1000, /* the largest integer that may be a width or a count */
    MAX_WIDTH = 3,    /* the maximum number of digits of a width in a format */
    MAX_DEPTH = 20
};

/* --- what is small ---------------------------------------------------------------------------- */

typedef struct weight {
    size_t parts, bytes;
    bool counts; /* an integer is small only up to MAX_COUNT */
} weight;

static bool is_small_int(pdl_vref v) {
    int64_t i;
    return pdl_int_get(v, &i) && i <= MAX_COUNT && i >= -MAX_COUNT;
}

/* Returns true when the text has a long number, which may be a width: '%1000000000d'. */
static bool has_wide_number(pdl_str s) {
    size_t digits = 0;
    for (size_t i = 0; i < s.n; i++) {
        digits = s.p[i] >= '0' && s.p[i] <= '9' ? digits + 1 : 0;
        if (digits > MAX_WIDTH) return true;
    }
    return false;
}

static bool is_small_text(pdl_str s, weight *m) {
    if (s.n > MAX_BYTES || (m->bytes += s.n) > MAX_BYTES) return false;
    return !m->counts || !has_wide_number(s);
}

static bool weigh_value(pdl_vref v, weight *m, unsigned depth);

static bool weigh_items(pdl_vref v, weight *m, unsigned depth) {
    size_t n = pdl_list_len(v);
    if (n > MAX_PARTS) return false;
    for (size_t i = 0; i < n; i++)
        if (!weigh_value(pdl_list_at(v, i), m, depth + 1)) return false;
    return true;
}

static bool weigh_entries(pdl_vref v, weight *m, unsigned depth) {
    size_t n = pdl_dict_len(v);
    if (n > MAX_PARTS) return false;
    for (size_t i = 0; i < n; i++)
        if (!weigh_value(pdl_dict_key_at(v, i), m, depth + 1) ||
            !weigh_value(pdl_dict_val_at(v, i), m, depth + 1))
            return false;
    return true;
}

static bool weigh_value(pdl_vref v, weight *m, unsigned depth) {
    if (depth > MAX_DEPTH || ++m->parts > MAX_PARTS) return false;
    switch (pdl_tag_of(v)) {
    case PDL_V_NULL:
    case PDL_V_BOOL:
    case PDL_V_FLOAT: return true;
    case PDL_V_INT: return !m->counts || is_small_int(v);
    case PDL_V_STR: return is_small_text(pdl_str_get(v), m);
    case PDL_V_LIST:
    case PDL_V_TUPLE: return weigh_items(v, m, depth);
    case PDL_V_DICT: return weigh_entries(v, m, depth);
    case PDL_V_RANGE: return pdl_range_len(v) <= MAX_PARTS;
    case PDL_V_ABSENT:
    case PDL_V_BIGINT:
    case PDL_V_SET:
    case PDL_V_BYTES:
    case PDL_V_DATE:
    case PDL_V_DATETIME:
    case PDL_V_VIEW:
    case PDL_V_CONTEXT:
    case PDL_V_UNDEFINED:
    case PDL_V_FUNC:
    case PDL_V_PROMISE:
    case PDL_V_HANDLE:
    case PDL_V_NATIVE:
    case PDL_V_CELL:
    case PDL_V_AGGREGATOR:
    case PDL_V_RECORD:
    case PDL_V_COUNT: break;
    }
    return false;
}

static bool is_small(pdl_vref v, bool counts) {
    weight m = {.counts = counts};
    return weigh_value(v, &m, 0);
}

static bool is_usable(const pdl_ty *t, bool counts) {
    return t && t->has_value && is_small(t->value, counts);
}

static void drop_value(void *p) { pdl_drop(*(pdl_val *)p); }

/* Returns the type of a computed value, which lives as long as the arena. Returns NULL when v is
 * not small. Takes v. */
static const pdl_ty *keep(pdl_arena *a, pdl_val v) {
    if (!is_small(v, false)) {
        pdl_drop(v);
        return NULL;
    }
    pdl_val *kept = pdl_arena_new(a, pdl_val);
    *kept = v;
    pdl_arena_defer(a, drop_value, kept);
    return pdl_ty_of_value(a, *kept);
}

/* --- operators -------------------------------------------------------------------------------- */

const pdl_ty *pdl_fold_unary(pdl_arena *a, pdl_xop op, const pdl_ty *x, pdl_err *err) {
    pdl_val out;
    if (!is_usable(x, false)) return NULL;
    if (op == PDL_XOP_NOT) return keep(a, pdl_bool(!pdl_val_truth(x->value)));
    if (op == PDL_XOP_NEG && (x->kinds & PDL_TY_NUMBER) && pdl_num_neg(x->value, &out, err))
        return keep(a, out);
    return NULL;
}

const pdl_ty *pdl_fold_binary(pdl_arena *a, pdl_xop op, const pdl_ty *x, const pdl_ty *y,
                              bool lenient, pdl_err *err) {
    bool formats = op == PDL_XOP_MOD && x->kinds == PDL_TY_STR,
         counts = formats || op == PDL_XOP_MUL || op == PDL_XOP_POW;
    pdl_val out;
    if (!is_usable(x, counts) || !is_usable(y, counts)) return NULL;
    bool ok = formats ? pdl_format_percent(x->value, y->value, lenient, &out, err)
                      : pdl_val_arith(pdl_xop_arith(op), x->value, y->value, &out, err);
    return ok ? keep(a, out) : NULL;
}

const pdl_ty *pdl_fold_compare(pdl_arena *a, pdl_xop op, const pdl_ty *x, const pdl_ty *y) {
    static const char orders[] = {[PDL_XOP_LT] = '<',
                                  [PDL_XOP_LE] = 'l',
                                  [PDL_XOP_GT] = '>',
                                  [PDL_XOP_GE] = 'g',
                                  [PDL_XOP_IN] = 0};
    pdl_err err = {0};
    bool out = false, ok = true;
    if (!is_usable(x, false) || !is_usable(y, false)) return NULL;
    if (op == PDL_XOP_EQ || op == PDL_XOP_NE)
        out = pdl_val_eq(x->value, y->value) == (op == PDL_XOP_EQ);
    else if (op == PDL_XOP_IN || op == PDL_XOP_NOTIN)
        ok = pdl_val_in(x->value, y->value, &out, &err);
    else
        ok = pdl_val_order(x->value, y->value, orders[op], &out, &err);
    pdl_err_fini(&err); /* the kinds do not fit; another rule reports this */
    return ok ? keep(a, pdl_bool(op == PDL_XOP_NOTIN ? !out : out)) : NULL;
}

/* --- calls ------------------------------------------------------------------------------------ */

/* Natives that are not computed. Natives that change a receiver are computed, because they may
 * refuse the change, but their results count as unknown. */
enum { NOT_COMPUTED = PDL_N_IMPURE | PDL_N_EFFECT | PDL_N_RAW };

static bool are_usable(const pdl_sig_args *args) {
    if (args->open || args->n_pos > PDL_NATIVE_MAX_ARGS || args->n_kw > PDL_NATIVE_MAX_ARGS)
        return false;
    for (size_t i = 0; i < args->n_pos; i++)
        if (!is_usable(args->pos[i], true)) return false;
    for (size_t i = 0; i < args->n_kw; i++)
        if (!is_usable(args->kw[i], true)) return false;
    return true;
}

const pdl_ty *pdl_fold_call(pdl_arena *a, const pdl_native *row, const pdl_sig_args *args,
                            bool lenient, pdl_err *err) {
    pdl_val pos[PDL_NATIVE_MAX_ARGS], kw[PDL_NATIVE_MAX_ARGS], out;
    if (row->flags & NOT_COMPUTED || !are_usable(args)) return NULL;
    for (size_t i = 0; i < args->n_pos; i++) pos[i] = pdl_keep(args->pos[i]->value);
    for (size_t i = 0; i < args->n_kw; i++) kw[i] = pdl_keep(args->kw[i]->value);
    const pdl_native_env env = {.lenient = lenient};
    const pdl_call_args given = {pos, args->n_pos, args->kw_names, kw, args->n_kw, 0};
    bool ok = pdl_native_call(row, &env, &given, &out, err);
    for (size_t i = 0; i < args->n_pos; i++) pdl_drop(pos[i]);
    for (size_t i = 0; i < args->n_kw; i++) pdl_drop(kw[i]);
    if (!ok) return NULL;
    if (!(row->flags & PDL_N_MUTATES)) return keep(a, out);
    pdl_drop(out);
    return NULL;
}

const pdl_ty *pdl_fold_item(pdl_arena *a, const pdl_ty *x, pdl_vref key, pdl_val *missing) {
    pdl_val v;
    pdl_err err = {0};
    bool ok = pdl_item(x->value, key, &v, &err);
    *missing = pdl_absent();
    pdl_err_fini(&err);
    if (!ok) return NULL;
    if (!pdl_is(v, PDL_V_UNDEFINED)) return keep(a, v);
    *missing = v;
    return NULL;
}

/* --- literals --------------------------------------------------------------------------------- */

const pdl_ty *pdl_fold_sequence(pdl_arena *a, const pdl_ty *const *items, size_t n, bool tuple) {
    for (size_t i = 0; i < n; i++)
        if (n > MAX_PARTS || !is_usable(items[i], false)) return NULL;
    pdl_val list = pdl_list_new(n);
    for (size_t i = 0; i < n; i++) list = pdl_list_push(list, pdl_keep(items[i]->value));
    return keep(a, tuple ? pdl_list_as_tuple(list) : list);
}

const pdl_ty *pdl_fold_object(pdl_arena *a, const pdl_ty *const *keys, const pdl_ty *const *values,
                              size_t n) {
    for (size_t i = 0; i < n; i++)
        if (n > MAX_PARTS || !is_usable(keys[i], false) || !is_usable(values[i], false) ||
            !pdl_is_hashable(keys[i]->value))
            return NULL;
    pdl_val dict = pdl_dict_new(n);
    for (size_t i = 0; i < n; i++)
        dict = pdl_dict_put(dict, pdl_keep(keys[i]->value), pdl_keep(values[i]->value));
    return keep(a, dict);
}
