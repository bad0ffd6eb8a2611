/* schema_keywords.c -- the keywords of JSON Schema: the table of them, and the functions that check
 * what they assert. See schema.h.
 *
 * An asserting function returns whether its keyword holds, and records failures in the reference's
 * order. While failures are collected, it continues after a failure; otherwise it may stop.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "types/checking.h"

#include <assert.h>
#include <math.h>

#include "base/bisect.h"
#include "value/int.h"

#include "base/banned.h"

static bool bad(const pdl_kw_at *k, pdl_fail_kind kind) {
    pdl_check_fail(k->c, kind, k->v, k->want, k->schema);
    return false;
}

/* Returns true when further parts must be checked. */
static bool must_continue(const pdl_kw_at *k, bool ok) {
    return !k->c->stopped && (ok || k->c->fails);
}

static bool is_number(pdl_vref v) { return pdl_is_int(v) || pdl_is(v, PDL_V_FLOAT); }
static bool is_false(pdl_vref v) { return pdl_is_bool(v) && !pdl_bool_of(v); }
static bool is_true(pdl_vref v) { return pdl_is_bool(v) && pdl_bool_of(v); }
static pdl_vref beside(const pdl_kw_at *k, const char *key) {
    return pdl_dict_getz(k->schema, key);
}

/* --- what was seen ---------------------------------------------------------------------------- */

static void see(pdl_seen *s, size_t i) {
    if (s && i < s->n) s->bits[i / 64] |= (uint64_t)1 << (i % 64);
}
static void see_all(pdl_seen *s) {
    for (size_t i = 0; s && i < s->n; i++) see(s, i);
}
static bool was_seen(const pdl_seen *s, size_t i) { return s && (s->bits[i / 64] >> (i % 64) & 1); }

/* Applies the schema to the same value. If the schema holds, the entries that it evaluated count as
 * evaluated. */
static bool apply(const pdl_kw_at *k, pdl_vref schema, const pdl_dyn *dyn, bool quiet) {
    pdl_seen tmp = {0};
    if (k->seen) {
        tmp.n = k->seen->n;
        tmp.bits = pdl_arena_new_n(k->c->arena, uint64_t, tmp.n / 64 + 1);
    }
    pdl_seen *seen = k->seen ? &tmp : NULL;
    bool ok = quiet ? pdl_check_quiet(k->c, schema, k->v, dyn, seen)
                    : pdl_check_run(k->c, schema, k->v, dyn, seen);
    for (size_t i = 0; ok && seen && i <= tmp.n / 64; i++) k->seen->bits[i] |= tmp.bits[i];
    return ok;
}

/* --- any value -------------------------------------------------------------------------------- */

static bool kw_type(const pdl_kw_at *k) {
    unsigned draft = k->dyn->res->draft;
    if (pdl_is_str(k->want))
        return pdl_json_is(k->v, pdl_str_get(k->want), draft) || bad(k, PDL_FAIL_type);
    if (!pdl_is_list(k->want)) return true;
    for (size_t i = 0; i < pdl_list_len(k->want); i++) {
        pdl_vref word = pdl_list_at(k->want, i);
        if (pdl_is_str(word) && pdl_json_is(k->v, pdl_str_get(word), draft)) return true;
    }
    return bad(k, PDL_FAIL_type);
}

static bool kw_enum(const pdl_kw_at *k) {
    if (!pdl_is_list(k->want)) return true;
    for (size_t i = 0; i < pdl_list_len(k->want); i++)
        if (pdl_json_eq(pdl_list_at(k->want, i), k->v)) return true;
    return bad(k, PDL_FAIL_enum);
}

static bool kw_const(const pdl_kw_at *k) {
    return pdl_json_eq(k->v, k->want) || bad(k, PDL_FAIL_const);
}

/* --- numbers ---------------------------------------------------------------------------------- */

static int compared(const pdl_kw_at *k) {
    return is_number(k->v) && is_number(k->want) ? pdl_num_cmp(k->v, k->want) : 2;
}

static bool kw_minimum(const pdl_kw_at *k) {
    int cmp = compared(k);
    if (k->dyn->res->draft == PDL_D4 && is_true(beside(k, "exclusiveMinimum")))
        return (cmp != -1 && cmp != 0) || bad(k, PDL_FAIL_above);
    return cmp != -1 || bad(k, PDL_FAIL_minimum);
}

static bool kw_maximum(const pdl_kw_at *k) {
    int cmp = compared(k);
    if (k->dyn->res->draft == PDL_D4 && is_true(beside(k, "exclusiveMaximum")))
        return (cmp != 1 && cmp != 0) || bad(k, PDL_FAIL_below);
    return cmp != 1 || bad(k, PDL_FAIL_maximum);
}

static bool kw_above(const pdl_kw_at *k) {
    int cmp = compared(k);
    return (cmp != -1 && cmp != 0) || bad(k, PDL_FAIL_above);
}

static bool kw_below(const pdl_kw_at *k) {
    int cmp = compared(k);
    return (cmp != 1 && cmp != 0) || bad(k, PDL_FAIL_below);
}

/* Returns true when v is a multiple of `of`. When one of the two is a float, they are divided as in
 * Python, so 0.3 is not a multiple of 0.1. Where the division overflows, the remainder is computed
 * exactly. */
static bool is_multiple(pdl_vref v, pdl_vref of) {
    if (pdl_is(of, PDL_V_FLOAT)) {
        double a = pdl_num_to_double(v), b = pdl_float_of(of), q = a / b;
        if (isfinite(q)) return floor(q) >= q;
        return isfinite(a) && fmod(a, b) == 0.0; /* fmod is exact */
    }
    pdl_val rest = pdl_null();
    pdl_err err = {0};
    bool handled = false;
    if (!pdl_num_arith(PDL_OP_MOD, v, of, &handled, &rest, &err)) {
        pdl_err_fini(&err);
        return false;
    }
    bool zero = handled && pdl_num_cmp(rest, pdl_int(0)) == 0;
    pdl_drop(rest);
    return zero;
}

static bool kw_multiple(const pdl_kw_at *k) {
    if (!is_number(k->v) || !is_number(k->want)) return true;
    return is_multiple(k->v, k->want) || bad(k, PDL_FAIL_multiple);
}

/* --- sizes ------------------------------------------------------------------------------------ */

static bool at_least(const pdl_kw_at *k, size_t n, pdl_fail_kind kind) {
    if (!is_number(k->want) || pdl_num_cmp(pdl_int((int64_t)n), k->want) >= 0) return true;
    return bad(k, pdl_num_cmp(k->want, pdl_int(1)) == 0 ? PDL_FAIL_empty : kind);
}

static bool at_most(const pdl_kw_at *k, size_t n, pdl_fail_kind kind) {
    if (!is_number(k->want) || pdl_num_cmp(pdl_int((int64_t)n), k->want) <= 0) return true;
    return bad(k, pdl_num_cmp(k->want, pdl_int(0)) == 0 ? PDL_FAIL_not_empty : kind);
}

static bool kw_min_length(const pdl_kw_at *k) {
    return !pdl_is_str(k->v) || at_least(k, pdl_text_len_cp(k->v), PDL_FAIL_short);
}
static bool kw_max_length(const pdl_kw_at *k) {
    return !pdl_is_str(k->v) || at_most(k, pdl_text_len_cp(k->v), PDL_FAIL_long);
}
static bool kw_min_items(const pdl_kw_at *k) {
    return !pdl_is_list(k->v) || at_least(k, pdl_list_len(k->v), PDL_FAIL_short);
}
static bool kw_max_items(const pdl_kw_at *k) {
    return !pdl_is_list(k->v) || at_most(k, pdl_list_len(k->v), PDL_FAIL_long);
}
static bool kw_min_properties(const pdl_kw_at *k) {
    return !pdl_is_dict(k->v) || at_least(k, pdl_dict_len(k->v), PDL_FAIL_few_properties);
}
static bool kw_max_properties(const pdl_kw_at *k) {
    return !pdl_is_dict(k->v) || at_most(k, pdl_dict_len(k->v), PDL_FAIL_many_properties);
}

static bool kw_pattern(const pdl_kw_at *k) {
    if (!pdl_is_str(k->v) || !pdl_is_str(k->want)) return true;
    return pdl_check_match(k->c, k->want, pdl_str_get(k->v)) || bad(k, PDL_FAIL_pattern);
}

/* --- arrays ----------------------------------------------------------------------------------- */

/* Checks the items [from, to) against one schema. */
static bool each_item(const pdl_kw_at *k, pdl_vref schema, size_t from, size_t to) {
    bool ok = true;
    for (size_t i = from; i < to && must_continue(k, ok); i++) {
        see(k->seen, i);
        if (!pdl_check_in(k->c, schema, pdl_list_at(k->v, i), k->dyn, pdl_absent(), i)) ok = false;
    }
    return ok;
}

/* Checks the i-th item against the i-th schema. */
static bool zip_items(const pdl_kw_at *k, pdl_vref schemas) {
    bool ok = true;
    size_t n = pdl_list_len(k->v), m = pdl_list_len(schemas);
    for (size_t i = 0; i < n && i < m && must_continue(k, ok); i++)
        if (!each_item(k, pdl_list_at(schemas, i), i, i + 1)) ok = false;
    return ok;
}

/* Lists the items from `from` on in a failure. */
static void list_rest(const pdl_kw_at *k, pdl_fail *f, size_t from) {
    if (!f) return;
    size_t n = pdl_list_len(k->v);
    f->n = from;
    f->list = pdl_arena_new_n(k->c->arena, pdl_vref, n - from);
    for (size_t i = from; i < n; i++) f->list[f->n_list++] = pdl_list_at(k->v, i);
}

static bool kw_prefix(const pdl_kw_at *k) {
    return !pdl_is_list(k->v) || !pdl_is_list(k->want) || zip_items(k, k->want);
}

static bool kw_items(const pdl_kw_at *k) {
    if (!pdl_is_list(k->v)) return true;
    pdl_vref prefix = beside(k, "prefixItems");
    size_t from = pdl_is_list(prefix) ? pdl_list_len(prefix) : 0, n = pdl_list_len(k->v);
    if (from >= n) return true;
    if (!is_false(k->want)) return each_item(k, k->want, from, n);
    list_rest(k, pdl_check_fail(k->c, PDL_FAIL_items, k->v, k->want, k->schema), from);
    return false;
}

static bool kw_items_old(const pdl_kw_at *k) {
    if (!pdl_is_list(k->v)) return true;
    if (pdl_is_list(k->want)) return zip_items(k, k->want);
    return each_item(k, k->want, 0, pdl_list_len(k->v));
}

static bool kw_additional_items(const pdl_kw_at *k) {
    pdl_vref items = beside(k, "items");
    if (!pdl_is_list(k->v) || !pdl_is_list(items)) return true;
    size_t from = pdl_list_len(items), n = pdl_list_len(k->v);
    if (from >= n) return true;
    if (!is_false(k->want)) return each_item(k, k->want, from, n);
    list_rest(k, pdl_check_fail(k->c, PDL_FAIL_items_old, k->v, k->want, k->schema), from);
    return false;
}

static bool kw_contains(const pdl_kw_at *k) {
    if (!pdl_is_list(k->v)) return true;
    unsigned draft = k->dyn->res->draft;
    pdl_vref min = beside(k, "minContains"), max = beside(k, "maxContains");
    if (draft < PDL_D19 || !is_number(min)) min = pdl_int(1);
    if (draft < PDL_D19 || !is_number(max)) max = pdl_int((int64_t)pdl_list_len(k->v));
    int64_t n = 0;
    for (size_t i = 0; i < pdl_list_len(k->v) && !k->c->stopped; i++) {
        if (!pdl_check_quiet(k->c, k->want, pdl_list_at(k->v, i), k->dyn, NULL)) continue;
        if (draft == PDL_D20) see(k->seen, i);
        if (pdl_num_cmp(pdl_int(++n), max) <= 0) continue;
        pdl_fail *f = pdl_check_fail(k->c, PDL_FAIL_many, k->v, max, k->schema);
        if (f) f->n = (size_t)n;
        return false;
    }
    if (pdl_num_cmp(pdl_int(n), min) >= 0) return true;
    if (n == 0) return bad(k, draft < PDL_D19 ? PDL_FAIL_none : PDL_FAIL_contains);
    pdl_fail *f = pdl_check_fail(k->c, PDL_FAIL_few, k->v, min, k->schema);
    if (f) f->n = (size_t)n;
    return false;
}

static bool kw_unique(const pdl_kw_at *k) {
    if (!is_true(k->want) || !pdl_is_list(k->v)) return true;
    return pdl_json_unique(k->v, k->c->arena) || bad(k, PDL_FAIL_unique);
}

static bool kw_unevaluated_items(const pdl_kw_at *k) {
    if (!pdl_is_list(k->v)) return true;
    pdl_fail *f = NULL;
    bool ok = true;
    size_t n = pdl_list_len(k->v);
    for (size_t i = 0; i < n && must_continue(k, ok); i++) {
        if (was_seen(k->seen, i)) continue;
        if (pdl_check_quiet(k->c, k->want, pdl_list_at(k->v, i), k->dyn, NULL)) continue;
        if (ok) f = pdl_check_fail(k->c, PDL_FAIL_uneval_items, k->v, k->want, k->schema);
        if (f && !f->list) f->list = pdl_arena_new_n(k->c->arena, pdl_vref, n);
        if (f) f->list[f->n_list++] = pdl_list_at(k->v, i);
        ok = false;
    }
    see_all(k->seen);
    return ok;
}

/* --- objects ---------------------------------------------------------------------------------- */

static bool kw_properties(const pdl_kw_at *k) {
    if (!pdl_is_dict(k->v) || !pdl_is_dict(k->want)) return true;
    bool ok = true;
    for (size_t i = 0; k->seen && i < pdl_dict_len(k->v); i++)
        if (!pdl_is_absent(pdl_dict_find(k->want, pdl_dict_key_at(k->v, i)))) see(k->seen, i);
    for (size_t i = 0; i < pdl_dict_len(k->want) && must_continue(k, ok); i++) {
        pdl_vref key = pdl_dict_key_at(k->want, i), x = pdl_dict_find(k->v, key);
        if (pdl_is_absent(x)) continue;
        if (!pdl_check_in(k->c, pdl_dict_val_at(k->want, i), x, k->dyn, key, 0)) ok = false;
    }
    return ok;
}

static bool matches(const pdl_kw_at *k, pdl_vref pattern, pdl_vref key) {
    return pdl_is_str(key) && pdl_check_match(k->c, pattern, pdl_str_get(key));
}

static bool kw_pattern_properties(const pdl_kw_at *k) {
    if (!pdl_is_dict(k->v) || !pdl_is_dict(k->want)) return true;
    bool ok = true;
    for (size_t p = 0; p < pdl_dict_len(k->want); p++)
        for (size_t i = 0; i < pdl_dict_len(k->v) && must_continue(k, ok); i++) {
            pdl_vref key = pdl_dict_key_at(k->v, i);
            if (!matches(k, pdl_dict_key_at(k->want, p), key)) continue;
            see(k->seen, i);
            if (!pdl_check_in(k->c, pdl_dict_val_at(k->want, p), pdl_dict_val_at(k->v, i), k->dyn,
                              key, 0))
                ok = false;
        }
    return ok && !k->c->stopped;
}

/* Returns true when `properties` names the key or `patternProperties` matches it. */
static bool is_known(const pdl_kw_at *k, pdl_vref props, pdl_vref patterns, pdl_vref key) {
    if (pdl_is_dict(props) && !pdl_is_absent(pdl_dict_find(props, key))) return true;
    for (size_t p = 0; pdl_is_dict(patterns) && p < pdl_dict_len(patterns); p++)
        if (matches(k, pdl_dict_key_at(patterns, p), key)) return true;
    return false;
}

static bool kw_additional_properties(const pdl_kw_at *k) {
    if (!pdl_is_dict(k->v)) return true;
    pdl_vref props = beside(k, "properties"), patterns = beside(k, "patternProperties");
    bool ok = true, closed = is_false(k->want);
    size_t n = pdl_dict_len(k->v);
    pdl_fail *f = NULL;
    for (size_t i = 0; i < n && must_continue(k, ok); i++) {
        pdl_vref key = pdl_dict_key_at(k->v, i);
        if (is_known(k, props, patterns, key)) continue;
        see(k->seen, i);
        if (!closed) {
            if (!pdl_check_in(k->c, k->want, pdl_dict_val_at(k->v, i), k->dyn, key, 0)) ok = false;
            continue;
        }
        if (ok) {
            bool regexes = pdl_is_dict(patterns);
            f = pdl_check_fail(k->c, regexes ? PDL_FAIL_no_pattern : PDL_FAIL_additional, k->v,
                               regexes ? patterns : k->want, k->schema);
            if (f) f->list = pdl_arena_new_n(k->c->arena, pdl_vref, n);
        }
        if (f) f->list[f->n_list++] = key;
        ok = false;
    }
    return ok && !k->c->stopped;
}

static bool kw_property_names(const pdl_kw_at *k) {
    bool ok = true;
    for (size_t i = 0; pdl_is_dict(k->v) && i < pdl_dict_len(k->v) && must_continue(k, ok); i++)
        if (!pdl_check_run(k->c, k->want, pdl_dict_key_at(k->v, i), k->dyn, NULL)) ok = false;
    return ok;
}

static bool kw_required(const pdl_kw_at *k) {
    if (!pdl_is_dict(k->v) || !pdl_is_list(k->want)) return true;
    bool ok = true;
    for (size_t i = 0; i < pdl_list_len(k->want) && must_continue(k, ok); i++) {
        pdl_vref name = pdl_list_at(k->want, i);
        if (!pdl_is_str(name) || !pdl_is_absent(pdl_dict_find(k->v, name))) continue;
        pdl_fail *f = pdl_check_fail(k->c, PDL_FAIL_required, k->v, k->want, k->schema);
        if (f) f->x = name;
        ok = false;
    }
    return ok;
}

/* Checks that the object, which has the key, also has all of `names`. */
static bool needs(const pdl_kw_at *k, pdl_vref key, pdl_vref names) {
    bool ok = true;
    for (size_t i = 0; i < pdl_list_len(names); i++) {
        pdl_vref name = pdl_list_at(names, i);
        if (!pdl_is_str(name) || !pdl_is_absent(pdl_dict_find(k->v, name))) continue;
        pdl_fail *f = pdl_check_fail(k->c, PDL_FAIL_depends, k->v, key, k->schema);
        if (f) f->x = name;
        ok = false;
    }
    return ok;
}

/* Checks dependentRequired, dependentSchemas and dependencies. Lists contain names; other values
 * are schemas. */
static bool kw_dependent(const pdl_kw_at *k) {
    if (!pdl_is_dict(k->v) || !pdl_is_dict(k->want)) return true;
    bool ok = true;
    for (size_t i = 0; i < pdl_dict_len(k->want) && must_continue(k, ok); i++) {
        pdl_vref key = pdl_dict_key_at(k->want, i), x = pdl_dict_val_at(k->want, i);
        if (pdl_is_absent(pdl_dict_find(k->v, key))) continue;
        if (!(pdl_is_list(x) ? needs(k, key, x) : apply(k, x, k->dyn, false))) ok = false;
    }
    return ok;
}

static bool kw_unevaluated_properties(const pdl_kw_at *k) {
    if (!pdl_is_dict(k->v)) return true;
    bool ok = true;
    size_t n = pdl_dict_len(k->v);
    pdl_fail *f = NULL;
    for (size_t i = 0; i < n && must_continue(k, ok); i++) {
        if (was_seen(k->seen, i)) continue;
        if (pdl_check_quiet(k->c, k->want, pdl_dict_val_at(k->v, i), k->dyn, NULL)) continue;
        pdl_fail_kind kind = is_false(k->want) ? PDL_FAIL_uneval_props : PDL_FAIL_uneval_schema;
        if (ok) f = pdl_check_fail(k->c, kind, k->v, k->want, k->schema);
        if (f && !f->list) f->list = pdl_arena_new_n(k->c->arena, pdl_vref, n);
        if (f) f->list[f->n_list++] = pdl_dict_key_at(k->v, i);
        ok = false;
    }
    see_all(k->seen);
    return ok;
}

/* --- combinations ----------------------------------------------------------------------------- */

static bool kw_all_of(const pdl_kw_at *k) {
    bool ok = true;
    for (size_t i = 0; pdl_is_list(k->want) && i < pdl_list_len(k->want) && must_continue(k, ok);
         i++)
        if (!apply(k, pdl_list_at(k->want, i), k->dyn, false)) ok = false;
    return ok;
}

/* Checks the branches from *i on until one of them holds. *i is then its index, or the number of
 * branches. Failures go to *inner. */
static void find_holding(const pdl_kw_at *k, size_t *i, pdl_fails *inner) {
    pdl_check *c = k->c;
    pdl_fails *outer = c->fails;
    const pdl_step *start = c->path_start;
    if (outer) c->fails = inner;
    c->path_start = c->path;
    while (*i < pdl_list_len(k->want) && !c->stopped &&
           !apply(k, pdl_list_at(k->want, *i), k->dyn, false))
        (*i)++;
    c->fails = outer;
    c->path_start = start;
}

static bool bad_union(const pdl_kw_at *k, const pdl_fails *inner) {
    pdl_fail *f = pdl_check_fail(k->c, PDL_FAIL_any, k->v, k->want, k->schema);
    if (!f) return false;
    f->weak = true;
    f->inner = inner->first;
    return false;
}

static bool kw_any_of(const pdl_kw_at *k) {
    if (!pdl_is_list(k->want)) return true;
    size_t i = 0;
    pdl_fails inner = {0};
    find_holding(k, &i, &inner);
    if (k->c->stopped) return false;
    if (i == pdl_list_len(k->want)) return bad_union(k, &inner);
    for (i++; k->seen && i < pdl_list_len(k->want); i++)
        (void)apply(k, pdl_list_at(k->want, i), k->dyn, true);
    return !k->c->stopped;
}

static bool kw_one_of(const pdl_kw_at *k) {
    if (!pdl_is_list(k->want)) return true;
    size_t first = 0, n = pdl_list_len(k->want);
    pdl_fails inner = {0};
    find_holding(k, &first, &inner);
    if (k->c->stopped) return false;
    if (first == n) return bad_union(k, &inner);
    pdl_fail *f = NULL;
    bool ok = true;
    for (size_t i = first + 1; i < n && must_continue(k, ok); i++) {
        if (!pdl_check_quiet(k->c, pdl_list_at(k->want, i), k->v, k->dyn, NULL)) continue;
        if (ok) f = pdl_check_fail(k->c, PDL_FAIL_each, k->v, k->want, k->schema);
        if (f && !f->list) f->list = pdl_arena_new_n(k->c->arena, pdl_vref, n);
        if (f) f->list[f->n_list++] = pdl_list_at(k->want, i);
        ok = false;
    }
    if (f) {
        f->weak = true;
        f->list[f->n_list++] = pdl_list_at(k->want, first);
    }
    return ok && !k->c->stopped;
}

static bool kw_not(const pdl_kw_at *k) {
    if (!pdl_check_quiet(k->c, k->want, k->v, k->dyn, NULL)) return !k->c->stopped;
    return bad(k, PDL_FAIL_not);
}

static bool kw_if(const pdl_kw_at *k) {
    bool holds = apply(k, k->want, k->dyn, true);
    if (k->c->stopped) return false;
    pdl_vref next = beside(k, holds ? "then" : "else");
    return pdl_is_absent(next) || apply(k, next, k->dyn, false);
}

/* --- references ------------------------------------------------------------------------------- */

static bool go_to(const pdl_kw_at *k, pdl_vref target, const pdl_resource *res) {
    if (!res->meta) {
        pdl_dyn there = {res, k->dyn};
        return apply(k, target, &there, false);
    }
    pdl_err err = {0};
    if (pdl_schema_shape(k->c->arena, k->v, res->draft, &err)) return true;
    pdl_fail *f = pdl_check_fail(k->c, PDL_FAIL_said, k->v, k->want, k->schema);
    if (f) f->said = pdl_arena_str(k->c->arena, pdl_str_of(err.msg));
    pdl_err_fini(&err);
    return false;
}

static bool kw_ref(const pdl_kw_at *k) {
    pdl_vref target;
    const pdl_resource *res;
    if (!pdl_is_str(k->want)) return true;
    return pdl_check_ref(k->c, pdl_str_get(k->want), k->dyn, &target, &res) &&
           go_to(k, target, res);
}

static bool kw_dynamic_ref(const pdl_kw_at *k) {
    pdl_vref target;
    const pdl_resource *res;
    if (!pdl_is_str(k->want)) return true;
    return pdl_check_dynamic_ref(k->c, pdl_str_get(k->want), k->dyn, &target, &res) &&
           go_to(k, target, res);
}

static bool kw_recursive_ref(const pdl_kw_at *k) {
    pdl_vref target;
    const pdl_resource *res;
    return pdl_check_recursive_ref(k->c, k->dyn, &target, &res) && go_to(k, target, res);
}

/* --- the table -------------------------------------------------------------------------------- */

enum {
    ALL = PDL_D4 | PDL_D6 | PDL_D7 | PDL_D19 | PDL_D20,
    OLD = PDL_D4 | PDL_D6 | PDL_D7,
    NEW = PDL_D19 | PDL_D20,
    FROM6 = ALL & ~PDL_D4,
    FROM7 = PDL_D7 | NEW
};

/* The keywords, sorted by name. Rows of the same name are for different drafts. */
static const pdl_keyword keywords[] = {
    {"$anchor", NEW, PDL_KW_anchor, false, NULL},
    {"$comment", FROM7, PDL_KW_string, false, NULL},
    {"$defs", NEW, PDL_KW_schema_map, false, NULL},
    {"$dynamicAnchor", PDL_D20, PDL_KW_anchor, false, NULL},
    {"$dynamicRef", PDL_D20, PDL_KW_string, false, kw_dynamic_ref},
    {"$id", FROM6, PDL_KW_id, false, NULL},
    {"$recursiveAnchor", PDL_D19, PDL_KW_bool, false, NULL},
    {"$recursiveRef", PDL_D19, PDL_KW_string, false, kw_recursive_ref},
    {"$ref", ALL, PDL_KW_string, false, kw_ref},
    {"$schema", ALL, PDL_KW_string, false, NULL},
    {"$vocabulary", NEW, PDL_KW_bool_map, false, NULL},
    {"additionalItems", PDL_D4, PDL_KW_bool_or_schema, false, kw_additional_items},
    {"additionalItems", PDL_D6 | PDL_D7 | PDL_D19, PDL_KW_schema, false, kw_additional_items},
    {"additionalProperties", PDL_D4, PDL_KW_bool_or_schema, false, kw_additional_properties},
    {"additionalProperties", FROM6, PDL_KW_schema, false, kw_additional_properties},
    {"allOf", ALL, PDL_KW_schemas, false, kw_all_of},
    {"anyOf", ALL, PDL_KW_schemas, false, kw_any_of},
    {"const", FROM6, PDL_KW_any, false, kw_const},
    {"contains", FROM6, PDL_KW_schema, false, kw_contains},
    {"contentEncoding", FROM7, PDL_KW_string, false, NULL},
    {"contentMediaType", FROM7, PDL_KW_string, false, NULL},
    {"contentSchema", NEW, PDL_KW_schema, false, NULL},
    {"definitions", ALL, PDL_KW_schema_map, false, NULL},
    {"dependencies", OLD, PDL_KW_dependencies, false, kw_dependent},
    {"dependencies", NEW, PDL_KW_dependencies, false, NULL},
    {"dependentRequired", NEW, PDL_KW_strings_map, false, kw_dependent},
    {"dependentSchemas", NEW, PDL_KW_schema_map, false, kw_dependent},
    {"deprecated", NEW, PDL_KW_bool, false, NULL},
    {"description", ALL, PDL_KW_string, false, NULL},
    {"else", FROM7, PDL_KW_schema, false, NULL},
    {"enum", ALL, PDL_KW_array, false, kw_enum},
    {"exclusiveMaximum", PDL_D4, PDL_KW_bool, false, NULL},
    {"exclusiveMaximum", FROM6, PDL_KW_number, false, kw_below},
    {"exclusiveMinimum", PDL_D4, PDL_KW_bool, false, NULL},
    {"exclusiveMinimum", FROM6, PDL_KW_number, false, kw_above},
    {"format", ALL, PDL_KW_string, false, NULL},
    {"id", PDL_D4, PDL_KW_id, false, NULL},
    {"if", FROM7, PDL_KW_schema, false, kw_if},
    {"items", OLD | PDL_D19, PDL_KW_items, false, kw_items_old},
    {"items", PDL_D20, PDL_KW_schema, false, kw_items},
    {"maxContains", NEW, PDL_KW_count, false, NULL},
    {"maxItems", ALL, PDL_KW_count, false, kw_max_items},
    {"maxLength", ALL, PDL_KW_count, false, kw_max_length},
    {"maxProperties", ALL, PDL_KW_count, false, kw_max_properties},
    {"maximum", ALL, PDL_KW_number, false, kw_maximum},
    {"minContains", NEW, PDL_KW_count, false, NULL},
    {"minItems", ALL, PDL_KW_count, false, kw_min_items},
    {"minLength", ALL, PDL_KW_count, false, kw_min_length},
    {"minProperties", ALL, PDL_KW_count, false, kw_min_properties},
    {"minimum", ALL, PDL_KW_number, false, kw_minimum},
    {"multipleOf", ALL, PDL_KW_positive, false, kw_multiple},
    {"not", ALL, PDL_KW_schema, false, kw_not},
    {"oneOf", ALL, PDL_KW_schemas, false, kw_one_of},
    {"pattern", ALL, PDL_KW_pattern, false, kw_pattern},
    {"patternProperties", ALL, PDL_KW_pattern_map, false, kw_pattern_properties},
    {"prefixItems", PDL_D20, PDL_KW_schemas, false, kw_prefix},
    {"properties", ALL, PDL_KW_schema_map, false, kw_properties},
    {"propertyNames", FROM6, PDL_KW_schema, false, kw_property_names},
    {"readOnly", FROM7, PDL_KW_bool, false, NULL},
    {"required", ALL, PDL_KW_strings1, false, kw_required},
    {"then", FROM7, PDL_KW_schema, false, NULL},
    {"title", ALL, PDL_KW_string, false, NULL},
    {"type", ALL, PDL_KW_type, false, kw_type},
    {"unevaluatedItems", NEW, PDL_KW_schema, true, kw_unevaluated_items},
    {"unevaluatedProperties", NEW, PDL_KW_schema, true, kw_unevaluated_properties},
    {"uniqueItems", ALL, PDL_KW_bool, false, kw_unique},
    {"writeOnly", FROM7, PDL_KW_bool, false, NULL},
};

const pdl_keyword *pdl_keyword_find(pdl_str name, unsigned draft) {
    assert(draft && !(draft & (draft - 1))); /* exactly one of PDL_D* */
    size_t lo = 0;
    PDL_BISECT(lo, sizeof keywords / sizeof *keywords,
               pdl_str_cmp(pdl_str_of(keywords[mid].name), name) < 0);
    for (; lo < sizeof keywords / sizeof *keywords && pdl_str_is(name, keywords[lo].name); lo++)
        if (keywords[lo].drafts & draft) return &keywords[lo];
    return NULL;
}
