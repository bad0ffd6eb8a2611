/* operators.c -- the types of operators, attributes and items for each kind of operand.
 *
 * For two kinds `pair` returns the kind of an operator's result, or nothing when the operator must
 * fail. An operator works on two sets of kinds when one pair of kinds works.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "check/infer.h"
#include "check/types/constants.h"
#include "native/native.h"
#include "value/int.h"

#include "base/banned.h"

enum {
    NUMBER = PDL_TY_NUMBER,
    /* The kinds whose operators are unknown. */
    OPAQUE = PDL_TY_OTHER | PDL_TY_UNDEFINED | PDL_TY_CONTEXT | PDL_TY_AGGREGATOR
};

/* Takes the least bit out of a set and returns it. */
static uint32_t take(uint32_t *set) {
    uint32_t bit = *set & (0u - *set);
    *set &= ~bit;
    return bit;
}

/* --- arithmetic ------------------------------------------------------------------------------- */

static uint32_t number_of(uint32_t a, uint32_t b) {
    return (a | b) & PDL_TY_FLOAT ? PDL_TY_FLOAT : PDL_TY_INT;
}

static bool is_sequence(uint32_t kind) {
    return (kind & (PDL_TY_STR | PDL_TY_LIST | PDL_TY_TUPLE)) != 0;
}

static bool is_count(uint32_t kind) { return (kind & (PDL_TY_INT | PDL_TY_BOOL)) != 0; }

/* Returns the kind of `a op b` for two single kinds, or 0 when it fails. The function is a flat
 * switch over the operators. */
static uint32_t pair(pdl_xop op, uint32_t a, uint32_t b) {
    if ((a | b) & OPAQUE) return PDL_TY_ANY;
    bool numbers = a & NUMBER && b & NUMBER;
    switch (op) {
    case PDL_XOP_ADD:
        if (numbers) return number_of(a, b);
        return a == b && is_sequence(a) ? a : 0;
    case PDL_XOP_MUL:
        if (numbers) return number_of(a, b);
        if (is_sequence(a) && is_count(b)) return a;
        return is_count(a) && is_sequence(b) ? b : 0;
    case PDL_XOP_MOD:
        if (a == PDL_TY_STR) return PDL_TY_STR;
        return numbers ? number_of(a, b) : 0;
    case PDL_XOP_SUB:
    case PDL_XOP_FLOORDIV: return numbers ? number_of(a, b) : 0;
    case PDL_XOP_POW: return numbers ? PDL_TY_INT | PDL_TY_FLOAT | PDL_TY_OTHER : 0;
    case PDL_XOP_DIV: return numbers ? PDL_TY_FLOAT : 0;
    case PDL_XOP_NONE:
    case PDL_XOP_NOT:
    case PDL_XOP_NEG:
    case PDL_XOP_POS:
    case PDL_XOP_EQ:
    case PDL_XOP_NE:
    case PDL_XOP_LT:
    case PDL_XOP_LE:
    case PDL_XOP_GT:
    case PDL_XOP_GE:
    case PDL_XOP_IN:
    case PDL_XOP_NOTIN: break;
    }
    return PDL_TY_ANY;
}

static bool is_zero(const pdl_ty *t) {
    if (!t->has_value) return false;
    if (pdl_is(t->value, PDL_V_INT)) return pdl_int_of(t->value) == 0;
    if (pdl_is(t->value, PDL_V_FLOAT)) return pdl_float_of(t->value) == 0;
    return pdl_is_bool(t->value) && !pdl_bool_of(t->value);
}

static bool divides(pdl_xop op) {
    return op == PDL_XOP_DIV || op == PDL_XOP_FLOORDIV || op == PDL_XOP_MOD;
}

/* Returns true when the operator takes two numbers, and one operand or both are texts. */
static bool wants_numbers(pdl_xop op, const pdl_ty *a, const pdl_ty *b) {
    bool orders = op == PDL_XOP_LT || op == PDL_XOP_LE || op == PDL_XOP_GT || op == PDL_XOP_GE;
    bool computes = op == PDL_XOP_SUB || op == PDL_XOP_MUL || divides(op) || op == PDL_XOP_POW;
    unsigned both = PDL_TY_STR | PDL_TY_NUMBER;
    return (orders || computes) && !((a->kinds | b->kinds) & ~both) &&
           (a->kinds == PDL_TY_STR || b->kinds == PDL_TY_STR);
}

static void report_operands(pdl_infer *in, const pdl_xnode *x, pdl_xop op, const pdl_ty *a,
                            const pdl_ty *b) {
    pdl_buf left = PDL_BUF, right = PDL_BUF;
    pdl_ty_show(a, &left);
    pdl_ty_show(b, &right);
    pdl_diag *d =
        pdl_infer_diag(in, PDL_RULE_operand_type, x, "`%s` does not take %.*s and %.*s",
                       pdl_xop_text(op), PDL_FMT(pdl_buf_str(&left)), PDL_FMT(pdl_buf_str(&right)));
    const pdl_ty *method = pdl_ty_native_of(a) ? a : pdl_ty_native_of(b) ? b : NULL;
    if (method)
        pdl_checker_hint_method(in->c, d, method);
    else if (op == PDL_XOP_ADD && (a->kinds == PDL_TY_STR || b->kinds == PDL_TY_STR))
        pdl_checker_hint(in->c, d, "`~` joins values as text");
    else if (op == PDL_XOP_ADD && a->kinds == PDL_TY_DICT && b->kinds == PDL_TY_DICT)
        pdl_checker_hint(in->c, d, "write dict(x, **y)");
    else if (op == PDL_XOP_ADD && a->kinds == PDL_TY_LIST)
        pdl_checker_hint(in->c, d, "write x + [item]");
    else if (wants_numbers(op, a, b))
        pdl_checker_hint(in->c, d, PDL_TEXT_NUMBER);
    pdl_buf_fini(&left);
    pdl_buf_fini(&right);
}

/* Returns the result when both operands are known; NULL when the result is unknown. */
static const pdl_ty *computed(pdl_infer *in, const pdl_xnode *x, const pdl_ty *a, const pdl_ty *b) {
    pdl_err err = {0};
    const pdl_ty *t =
        pdl_fold_binary(pdl_checker_arena(in->c), x->u.op.op, a, b, in->lenient, &err);
    if (err.kind) {
        bool zero = err.py_class && strcmp(err.py_class, "ZeroDivisionError") == 0;
        pdl_infer_diag(in, zero ? PDL_RULE_division_by_zero : PDL_RULE_operand_type, x, "%s",
                       err.msg);
        t = &pdl_ty_any;
    }
    pdl_err_fini(&err);
    return t;
}

const pdl_ty *pdl_infer_binary(pdl_infer *in, const pdl_xnode *x, const pdl_ty *a,
                               const pdl_ty *b) {
    pdl_xop op = x->u.op.op;
    uint32_t kinds = 0;
    if (pdl_ty_is_unknown(a) && pdl_ty_is_unknown(b)) return &pdl_ty_any;
    for (uint32_t i = a->kinds; i;) {
        uint32_t left = take(&i);
        for (uint32_t k = b->kinds; k;) kinds |= pair(op, left, take(&k));
    }
    if (!kinds) {
        report_operands(in, x, op, a, b);
        return &pdl_ty_any;
    }
    const pdl_ty *known = computed(in, x, a, b);
    if (known) return known;
    if (divides(op) && pdl_ty_is_only(a, NUMBER) && is_zero(b))
        pdl_infer_diag(in, PDL_RULE_division_by_zero, x, "division by zero");
    if (kinds & OPAQUE) return &pdl_ty_any;
    pdl_arena *arena = pdl_checker_arena(in->c);
    if (kinds == PDL_TY_LIST && a->kinds == PDL_TY_LIST && b->kinds == PDL_TY_LIST)
        return pdl_ty_list_of(arena,
                              pdl_ty_join(arena, pdl_ty_items(arena, a), pdl_ty_items(arena, b)));
    return pdl_ty_of_kinds(arena, kinds);
}

const pdl_ty *pdl_infer_unary(pdl_infer *in, const pdl_xnode *x, const pdl_ty *a) {
    pdl_err err = {0};
    const pdl_ty *known = pdl_fold_unary(pdl_checker_arena(in->c), x->u.op.op, a, &err);
    pdl_err_fini(&err);
    if (known) return known;
    if (x->u.op.op == PDL_XOP_NOT) {
        pdl_infer_function(in, x->u.op.a, a);
        return &pdl_ty_bool;
    }
    if (a->kinds & (NUMBER | OPAQUE)) {
        if (!pdl_ty_is_only(a, NUMBER)) return &pdl_ty_any;
        return pdl_ty_of_kinds(pdl_checker_arena(in->c),
                               a->kinds == PDL_TY_FLOAT ? PDL_TY_FLOAT
                                                        : PDL_TY_INT | (a->kinds & PDL_TY_FLOAT));
    }
    pdl_buf shown = PDL_BUF;
    pdl_ty_show(a, &shown);
    pdl_infer_diag(in, PDL_RULE_operand_type, x, "`%s` does not take %.*s",
                   pdl_xop_text(x->u.op.op), PDL_FMT(pdl_buf_str(&shown)));
    pdl_buf_fini(&shown);
    return &pdl_ty_any;
}

/* Returns true when values of these two kinds can be ordered. */
static bool has_order(uint32_t a, uint32_t b) {
    if ((a | b) & OPAQUE) return true;
    return (a & NUMBER && b & NUMBER) || (a == b && is_sequence(a));
}

static bool may_contain(uint32_t a, uint32_t b) {
    if (b & OPAQUE) return true;
    if (b == PDL_TY_STR) return a == PDL_TY_STR || a & OPAQUE;
    return (b & (PDL_TY_LIST | PDL_TY_TUPLE | PDL_TY_DICT | PDL_TY_RANGE)) != 0;
}

const pdl_ty *pdl_infer_compare(pdl_infer *in, const pdl_xnode *x, pdl_xop op, const pdl_ty *a,
                                const pdl_ty *b) {
    const pdl_ty *known = pdl_fold_compare(pdl_checker_arena(in->c), op, a, b);
    if (known) return known;
    if (op == PDL_XOP_EQ || op == PDL_XOP_NE || pdl_ty_is_unknown(a) || pdl_ty_is_unknown(b))
        return &pdl_ty_bool;
    bool inside = op == PDL_XOP_IN || op == PDL_XOP_NOTIN;
    for (uint32_t i = a->kinds; i;) {
        uint32_t left = take(&i);
        for (uint32_t k = b->kinds; k;) {
            uint32_t right = take(&k);
            if (inside ? may_contain(left, right) : has_order(left, right)) return &pdl_ty_bool;
        }
    }
    report_operands(in, x, op, a, b);
    return &pdl_ty_bool;
}

/* --- attributes and items --------------------------------------------------------------------- */

/* Returns a value (owned) that has the attributes of every value of the kind; absent when no such
 * value is known. */
static pdl_val example(uint32_t kind) {
    switch (kind) {
    case PDL_TY_NULL: return pdl_null();
    case PDL_TY_BOOL: return pdl_bool(false);
    case PDL_TY_INT: return pdl_int(0);
    case PDL_TY_FLOAT: return pdl_float(0);
    case PDL_TY_STR: return pdl_text((pdl_str){0});
    case PDL_TY_LIST: return pdl_list_new(0);
    case PDL_TY_DICT: return pdl_dict_new(0);
    default: return pdl_absent();
    }
}

/* Returns the type of v when v is undefined; the type has the reason. Returns NULL for every other
 * v, also for an absent v. Takes v. */
static const pdl_ty *if_undefined(pdl_arena *a, pdl_val v) {
    const pdl_ty *t = NULL;
    pdl_err err = {0};
    if (pdl_is(v, PDL_V_UNDEFINED)) {
        pdl_undefined_error(v, &err);
        t = pdl_ty_undefined(a, pdl_str_of(err.msg), (pdl_str){0});
        pdl_err_fini(&err);
    }
    pdl_drop(v);
    return t;
}

static const pdl_ty *method_of(pdl_arena *a, const pdl_native *row, const pdl_ty *receiver) {
    return pdl_ty_new(a, (pdl_ty){.kinds = PDL_TY_NATIVE, .one.native = row, .receiver = receiver});
}

/* Returns the type of t.name for a t of this kind. Returns an undefined type for an unknown
 * attribute. */
static const pdl_ty *attr_of_kind(pdl_arena *a, const pdl_ty *t, uint32_t kind, pdl_str name) {
    pdl_err err = {0};
    bool known;
    if (kind == PDL_TY_DICT && !pdl_is_dict_method(name)) {
        const pdl_ty *field = pdl_ty_field_of(a, t, name, &known);
        if (field || !known) return field ? field : &pdl_ty_any;
    }
    pdl_val x = example(kind), v;
    if (pdl_is_absent(x)) return &pdl_ty_any;
    const pdl_native *row = pdl_method_find(x, name);
    const pdl_ty *found = row ? method_of(a, row, t) : NULL;
    if (!found && pdl_attr(x, name, &v, &err)) found = if_undefined(a, v);
    pdl_err_fini(&err);
    pdl_drop(x);
    return found ? found : &pdl_ty_any;
}

static const pdl_ty *item_of_value(pdl_arena *a, const pdl_ty *t, pdl_vref key) {
    pdl_val missing;
    const pdl_ty *item = pdl_fold_item(a, t, key, &missing);
    return item ? item : if_undefined(a, missing);
}

/* Returns the undefined type when the key is an index beyond the known length of a list, and
 * otherwise NULL. */
static const pdl_ty *item_of_sized(pdl_arena *a, const pdl_ty *t, pdl_vref key) {
    int64_t i;
    if (!t->sized || !pdl_int_get(key, &i)) return NULL;
    if (i < t->least && i >= -(int64_t)t->least) return NULL;
    pdl_buf why = PDL_BUF;
    pdl_buf_putf(&why, "list object has no element %lld", (long long)i);
    const pdl_ty *missing = pdl_ty_undefined(a, pdl_buf_str(&why), (pdl_str){0});
    pdl_buf_fini(&why);
    return missing;
}

/* Returns the type of t[key] for a known key. */
static const pdl_ty *item_of_kind(pdl_arena *a, const pdl_ty *t, uint32_t kind, pdl_vref key) {
    bool number = pdl_is_int(key) || pdl_is_bool(key), known;
    if (t->has_value && kind & (PDL_TY_LIST | PDL_TY_TUPLE | PDL_TY_DICT | PDL_TY_STR)) {
        const pdl_ty *item = item_of_value(a, t, key);
        if (item) return item;
    }
    const pdl_ty *beyond = kind == PDL_TY_LIST ? item_of_sized(a, t, key) : NULL;
    if (beyond) return beyond;
    if (kind == PDL_TY_DICT && pdl_is_str(key)) {
        const pdl_ty *field = pdl_ty_field_of(a, t, pdl_str_get(key), &known);
        if (field || !known) return field ? field : &pdl_ty_any;
        return attr_of_kind(a, t, kind, pdl_str_get(key));
    }
    if (kind == PDL_TY_STR && number) return &pdl_ty_str;
    if (kind == PDL_TY_LIST && number) return pdl_ty_items(a, t);
    if (kind == PDL_TY_DICT || (!pdl_is_str(key) && !number)) return &pdl_ty_any;
    if (pdl_is_str(key)) return attr_of_kind(a, t, kind, pdl_str_get(key));
    pdl_val x = example(kind), v;
    pdl_err err = {0};
    const pdl_ty *missing = NULL;
    if (!pdl_is_absent(x) && pdl_item(x, key, &v, &err)) missing = if_undefined(a, v);
    pdl_err_fini(&err);
    pdl_drop(x);
    return missing ? missing : &pdl_ty_any;
}

/* Joins the results of the kinds of t. The result is undefined only when it is undefined for every
 * kind. */
static const pdl_ty *each_kind(pdl_infer *in, const pdl_ty *t, pdl_str name, pdl_vref key) {
    pdl_arena *a = pdl_checker_arena(in->c);
    const pdl_ty *all = NULL;
    if (pdl_ty_is_unknown(t)) return &pdl_ty_any;
    for (uint32_t i = t->kinds; i;) {
        uint32_t kind = take(&i);
        const pdl_ty *one = pdl_ty_part(a, t, kind), *x = pdl_is_absent(key)
                                                              ? attr_of_kind(a, one, kind, name)
                                                              : item_of_kind(a, one, kind, key);
        all = all ? pdl_ty_join(a, all, x) : x;
    }
    if (!all || all->kinds != PDL_TY_UNDEFINED || pdl_ty_missing_of(all).why.n) return all;
    pdl_buf why = PDL_BUF; /* the kinds have different reasons, so a common reason is made */
    pdl_ty_show(t, &why);
    pdl_buf_putf(&why, pdl_is_absent(key) ? " has no attribute '%.*s'" : " has no such item",
                 PDL_FMT(name));
    all = pdl_ty_undefined(a, pdl_buf_str(&why), (pdl_str){0});
    pdl_buf_fini(&why);
    return all;
}

/* the maximum number of fields that are compared with a misspelt field */
enum { MAX_FIELDS = 1000 };

/* Returns the field of an object that is most like the name. */
static pdl_str near_field(const pdl_ty *t, pdl_str name) {
    PDL_VEC(pdl_str) names = {0};
    for (uint32_t i = 0; i < t->n_fields; i++) *pdl_vec_push(&names) = t->fields[i].name;
    size_t n = t->has_value && pdl_is_dict(t->value) ? pdl_dict_len(t->value) : 0;
    for (size_t i = 0; i < n && i < MAX_FIELDS; i++)
        if (pdl_is_str(pdl_dict_key_at(t->value, i)))
            *pdl_vec_push(&names) = pdl_str_get(pdl_dict_key_at(t->value, i));
    pdl_str near = pdl_str_nearest(name, names.p, names.n);
    pdl_vec_fini(&names);
    return near;
}

/* Suggests a field or a method in place of a field that an object does not have. The name may be
 * misspelt, or be a method's name in another language. Only the first kind of t is searched: the
 * others are mostly null. access is x.name or x[name]. */
static const pdl_ty *suggest_field(pdl_infer *in, const pdl_ty *t, const pdl_ty *found,
                                   pdl_str name, const pdl_xnode *access) {
    bool method = access->kind == PDL_X_ATTR;
    if (found->kinds != PDL_TY_UNDEFINED || !name.n || !pdl_checker_may_suggest(in->c))
        return found;
    pdl_arena *a = pdl_checker_arena(in->c);
    pdl_str near = t->kinds & PDL_TY_DICT ? near_field(t, name) : (pdl_str){0},
            other = method ? pdl_attribute_advice(name) : (pdl_str){0};
    uint32_t kinds = t->kinds & ~(uint32_t)PDL_TY_NULL;
    pdl_val x = example(take(&kinds));
    if (!near.n && !other.n && method) near = pdl_method_near(x, name);
    pdl_buf hint = PDL_BUF;
    pdl_str hidden;
    bool one_kind = !(t->kinds & (t->kinds - 1));
    if (near.n)
        pdl_buf_putf(&hint, "did you mean '%.*s'?", PDL_FMT(near));
    else if (other.n)
        pdl_buf_put(&hint, other);
    else if (pdl_checker_hides_field(in->c, t, &hidden))
        PDL_PUT(&hint, "a method of objects has the name of the field: write x['name']");
    else if (one_kind)
        pdl_fields_advise(t->has_value ? t->value : x, name,
                          pdl_xnode_is_called(in->e->root, access), &hint);
    pdl_drop(x);
    const pdl_ty *out = found;
    if (hint.len) out = pdl_ty_undefined(a, pdl_ty_missing_of(found).why, pdl_buf_str(&hint));
    pdl_buf_fini(&hint);
    return out;
}

const pdl_ty *pdl_infer_attr(pdl_infer *in, const pdl_xnode *x, const pdl_ty *t) {
    pdl_str name = x->u.access.name;
    return suggest_field(in, t, each_kind(in, t, name, pdl_absent()), name, x);
}

static const pdl_ty *slice_of(const pdl_ty *t) {
    if (t->kinds == PDL_TY_STR) return &pdl_ty_str;
    return t->kinds == PDL_TY_LIST && !t->has_value ? t
           : t->kinds == PDL_TY_LIST                ? &pdl_ty_list
                                                    : &pdl_ty_any;
}

const pdl_ty *pdl_infer_item(pdl_infer *in, const pdl_xnode *x, const pdl_ty *t) {
    const pdl_xnode *key = x->u.access.key;
    if (key->kind == PDL_X_SLICE) {
        const pdl_xnode *bounds[] = {key->u.slice.from, key->u.slice.to, key->u.slice.step};
        for (size_t i = 0; i < 3; i++)
            if (bounds[i]) pdl_infer_used(in, bounds[i], pdl_infer_type(in, bounds[i]));
        return slice_of(t);
    }
    const pdl_ty *k = pdl_infer_used(in, key, pdl_infer_type(in, key));
    if (!k->has_value) return &pdl_ty_any;
    pdl_str name = pdl_is_str(k->value) ? pdl_str_get(k->value) : (pdl_str){0};
    return suggest_field(in, t, each_kind(in, t, name, k->value), name, x);
}
