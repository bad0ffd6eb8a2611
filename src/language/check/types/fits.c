/* fits.c -- decides whether a value of a type can satisfy a spec. A known value is checked as in a
 * run. For other values, the kinds, fields and items are compared.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "check/ty.h"

#include "base/banned.h"

enum { MAX_DEPTH = 40, MAX_CHOICES = 64 };

/* The kinds that every spec may accept, because objects of Python may be anything. */
enum {
    OPAQUE = PDL_TY_TUPLE | PDL_TY_CONTEXT | PDL_TY_RANGE | PDL_TY_AGGREGATOR | PDL_TY_NATIVE |
             PDL_TY_OTHER | PDL_TY_UNDEFINED
};

static bool value_fits(pdl_arena *a, pdl_vref v, const pdl_type *spec, pdl_buf *problem) {
    pdl_type_verdict found;
    pdl_err err = {0};
    if (!pdl_type_check(spec, v, NULL, a, &found, &err)) {
        pdl_err_fini(&err); /* another rule reports an invalid schema */
        return true;
    }
    if (found.fits) return true;
    const pdl_problem *p = found.problems.p;
    for (size_t i = 0; i < found.problems.n && problem && i < 1; i++) {
        pdl_str path = p[i].path;
        if (path.n && path.p[0] == '.') path = pdl_str_sub(path, 1, path.n);
        if (p[i].help.n)
            pdl_buf_putf(problem, "%.*s %.*s", PDL_FMT(path.n ? path : PDL_STR("it")),
                         PDL_FMT(p[i].help));
        else
            pdl_buf_put(problem, p[i].text);
    }
    return false;
}

static bool refuse(const pdl_ty *t, const pdl_type *spec, pdl_str path, pdl_buf *problem) {
    if (!problem) return false;
    if (path.n)
        pdl_buf_putf(problem, "%.*s is ", PDL_FMT(path));
    else
        PDL_PUT(problem, "it is ");
    pdl_ty_show(t, problem);
    PDL_PUT(problem, ", should be ");
    pdl_type_show(spec, problem);
    return false;
}

static bool may_fit(pdl_arena *a, const pdl_ty *t, const pdl_type *spec, pdl_str path,
                    pdl_buf *problem, unsigned depth);

static bool has_field(const pdl_type *spec, pdl_str name) {
    for (size_t i = 0; i < pdl_type_fields(spec); i++)
        if (pdl_str_eq(pdl_type_field_name(spec, i), name)) return true;
    return false;
}

static bool fields_fit(pdl_arena *a, const pdl_ty *t, const pdl_type *spec, pdl_str path,
                       pdl_buf *problem, unsigned depth) {
    for (size_t i = 0; i < pdl_type_fields(spec); i++) {
        pdl_str name = pdl_type_field_name(spec, i);
        bool known;
        const pdl_ty *x = pdl_ty_field_of(a, t, name, &known);
        if (!x && known && !pdl_type_field_optional(spec, i)) {
            if (problem) pdl_buf_putf(problem, "field %.*s is missing", PDL_FMT(name));
            return false;
        }
        if (!x || x->kinds & PDL_TY_UNDEFINED) continue;
        pdl_buf at = PDL_BUF;
        pdl_buf_putf(&at, "%.*s%s%.*s", PDL_FMT(path), path.n ? "." : "", PDL_FMT(name));
        bool ok = may_fit(a, x, pdl_type_field(spec, i), pdl_buf_str(&at), problem, depth + 1);
        pdl_buf_fini(&at);
        if (!ok) return false;
    }
    for (uint32_t i = 0; i < t->n_fields; i++) {
        if (t->fields[i].optional || has_field(spec, t->fields[i].name)) continue;
        if (problem)
            pdl_buf_putf(problem, "field %.*s is not in the spec", PDL_FMT(t->fields[i].name));
        return false;
    }
    return true;
}

/* Returns true when the items may fit. The items may have any type when the list may be empty. */
static bool items_fit(pdl_arena *a, const pdl_ty *t, const pdl_type *spec, pdl_str path,
                      pdl_buf *problem, unsigned depth) {
    if (!t->least || !t->item) return true;
    pdl_buf at = PDL_BUF;
    pdl_buf_putf(&at, "%.*s[0]", PDL_FMT(path));
    bool ok = may_fit(a, t->item, pdl_type_item_of(spec), pdl_buf_str(&at), problem, depth + 1);
    pdl_buf_fini(&at);
    return ok;
}

/* Returns true when a value of an enum fits. */
static bool choice_fits(pdl_arena *a, const pdl_ty *t, const pdl_type *spec) {
    size_t n = pdl_list_len(t->choices);
    if (n > MAX_CHOICES || t->kinds & PDL_TY_NULL) return true;
    for (size_t i = 0; i < n; i++)
        if (value_fits(a, pdl_list_at(t->choices, i), spec, NULL)) return true;
    return n == 0;
}

static bool may_fit(pdl_arena *a, const pdl_ty *t, const pdl_type *spec, pdl_str path,
                    pdl_buf *problem, unsigned depth) {
    if (pdl_type_is_any(spec) || t->kinds & OPAQUE || depth > MAX_DEPTH) return true;
    if (t->has_value && !path.n) return value_fits(a, t->value, spec, problem);
    if (t->has_value) return value_fits(a, t->value, spec, NULL) || refuse(t, spec, path, problem);
    if (t->is_choice && !choice_fits(a, t, spec)) return refuse(t, spec, path, problem);
    if (pdl_type_kind_of(spec) == PDL_TYPE_optional) {
        if (t->kinds & PDL_TY_NULL) return true;
        return may_fit(a, t, pdl_type_item_of(spec), path, problem, depth + 1);
    }
    uint32_t both = t->kinds & pdl_ty_of_spec(a, spec)->kinds;
    if (!both) return refuse(t, spec, path, problem);
    if (pdl_type_kind_of(spec) == PDL_TYPE_list && t->kinds == PDL_TY_LIST)
        return items_fit(a, t, spec, path, problem, depth);
    if (pdl_type_kind_of(spec) == PDL_TYPE_object && both == PDL_TY_DICT)
        return fields_fit(a, pdl_ty_part(a, t, PDL_TY_DICT), spec, path, problem, depth);
    return true;
}

bool pdl_ty_may_fit(pdl_arena *a, const pdl_ty *t, const pdl_type *spec, pdl_buf *problem) {
    return may_fit(a, t, spec, (pdl_str){0}, problem, 0);
}
