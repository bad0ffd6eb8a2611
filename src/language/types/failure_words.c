/* failure_words.c -- selects the failure of a validation that is reported, and writes it in the
 * words of Python's jsonschema; see fail.h.
 *
 * The selection is that of jsonschema's best_match, so a program gets the same message here and in
 * the reference.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "types/checking.h"

#include <stdlib.h>

#include "base/plural.h"
#include "value/int.h"
#include "value/text.h"

#include "base/banned.h"

/* --- the most relevant one -------------------------------------------------------------------- */

static int cmp_step(const pdl_step *a, const pdl_step *b) {
    bool ta = pdl_is_str(a->key), tb = pdl_is_str(b->key);
    if (ta && tb) return pdl_str_cmp(pdl_str_get(a->key), pdl_str_get(b->key));
    if (ta != tb) return ta ? 1 : -1;
    return a->i < b->i ? -1 : a->i > b->i;
}

static bool matches_type(const pdl_fail *f) {
    pdl_vref t = pdl_is_dict(f->schema) ? pdl_dict_getz(f->schema, "type") : pdl_absent();
    if (pdl_is_str(t)) return pdl_json_is(f->v, pdl_str_get(t), PDL_D20);
    if (!pdl_is_list(t)) return false;
    for (size_t i = 0; i < pdl_list_len(t); i++)
        if (pdl_is_str(pdl_list_at(t, i)) &&
            pdl_json_is(f->v, pdl_str_get(pdl_list_at(t, i)), PDL_D20))
            return true;
    return false;
}

/* Returns a positive number when a is more relevant than b, a negative one when b is. A failure is
 * more relevant when it is nearer to the top, when it is later among siblings, when it does not
 * belong to a union, or when the value has a wrong type. */
static int relevance(const pdl_fail *a, const pdl_fail *b) {
    if (a->n_path != b->n_path) return a->n_path < b->n_path ? 1 : -1;
    for (size_t i = 0; i < a->n_path; i++) {
        int c = cmp_step(&a->path[i], &b->path[i]);
        if (c) return c;
    }
    if (a->weak != b->weak) return a->weak ? -1 : 1;
    bool ma = matches_type(a), mb = matches_type(b);
    return ma == mb ? 0 : ma ? -1 : 1;
}

const pdl_fail *pdl_fail_best(const pdl_fails *all) {
    const pdl_fail *best = all->first;
    for (const pdl_fail *f = best; f; f = f->next)
        if (relevance(f, best) > 0) best = f;
    /* below a union the deepest failure is reported, unless two are equally deep */
    while (best && best->inner) {
        const pdl_fail *least = best->inner;
        bool alike = false;
        for (const pdl_fail *f = least->next; f; f = f->next) {
            int c = relevance(f, least);
            if (c < 0) least = f;
            if (c <= 0) alike = c == 0;
        }
        if (alike) return best;
        best = least;
    }
    return best;
}

/* --- its sentence ----------------------------------------------------------------------------- */

/* The sentences, in the order of pdl_fail_kind. @v is the repr of the value, @w the repr of the
 * keyword's value, @k its keys, @t its types, @m the limit, @x the name, @n the count, @p the count
 * of items. @l is the list, @s the list in order, @r the list in brackets, @c its length. @b is
 * "was" or "were", @d is "does" or "do", @o is the text of PDL_FAIL_said. */
static const char *const sentences[] = {
    [PDL_FAIL_false] = "False schema does not allow @v",
    [PDL_FAIL_type] = "@v is not of type @t",
    [PDL_FAIL_enum] = "@v is not one of @w",
    [PDL_FAIL_const] = "@w was expected",
    [PDL_FAIL_minimum] = "@v is less than the minimum of @w",
    [PDL_FAIL_maximum] = "@v is greater than the maximum of @w",
    [PDL_FAIL_above] = "@v is less than or equal to the minimum of @m",
    [PDL_FAIL_below] = "@v is greater than or equal to the maximum of @m",
    [PDL_FAIL_multiple] = "@v is not a multiple of @w",
    [PDL_FAIL_short] = "@v is too short",
    [PDL_FAIL_empty] = "@v should be non-empty",
    [PDL_FAIL_long] = "@v is too long",
    [PDL_FAIL_not_empty] = "@v is expected to be empty",
    [PDL_FAIL_pattern] = "@v does not match @w",
    [PDL_FAIL_few_properties] = "@v does not have enough properties",
    [PDL_FAIL_many_properties] = "@v has too many properties",
    [PDL_FAIL_unique] = "@v has non-unique elements",
    [PDL_FAIL_contains] = "@v does not contain items matching the given schema",
    [PDL_FAIL_none] = "None of @v are valid under the given schema",
    [PDL_FAIL_few] =
        "Too few items match the given schema (expected at least @w but only @n matched)",
    [PDL_FAIL_many] = "Too many items match the given schema (expected at most @w)",
    [PDL_FAIL_not] = "@v should not be valid under @w",
    [PDL_FAIL_any] = "@v is not valid under any of the given schemas",
    [PDL_FAIL_each] = "@v is valid under each of @l",
    [PDL_FAIL_required] = "@x is a required property",
    [PDL_FAIL_depends] = "@x is a dependency of @w",
    [PDL_FAIL_additional] = "Additional properties are not allowed (@s @b unexpected)",
    [PDL_FAIL_no_pattern] = "@s @d not match any of the regexes: @k",
    [PDL_FAIL_items] = "Expected at most @p but found @c extra: @r",
    [PDL_FAIL_items_old] = "Additional items are not allowed (@l @b unexpected)",
    [PDL_FAIL_uneval_items] = "Unevaluated items are not allowed (@l @b unexpected)",
    [PDL_FAIL_uneval_props] = "Unevaluated properties are not allowed (@s @b unexpected)",
    [PDL_FAIL_uneval_schema] = ("Unevaluated properties are not valid under the given schema (@l "
                                "@b unevaluated and invalid)"),
    [PDL_FAIL_said] = "@o",
};

static void put_repr(pdl_buf *out, pdl_vref v) {
    pdl_err err = {0};
    if (pdl_val_repr(v, out, &err)) return;
    pdl_err_fini(&err);
    pdl_val_show(v, true, 200, out);
}

static void put_list(pdl_buf *out, const pdl_vref *p, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (i) PDL_PUT(out, ", ");
        put_repr(out, p[i]);
    }
}

static int by_text(const void *a, const void *b) {
    pdl_vref x = *(const pdl_vref *)a, y = *(const pdl_vref *)b;
    if (pdl_is_str(x) && pdl_is_str(y)) return pdl_str_cmp(pdl_str_get(x), pdl_str_get(y));
    return pdl_is_str(x) - pdl_is_str(y);
}

static void put_sorted(pdl_buf *out, const pdl_vref *p, size_t n) {
    pdl_vref *copy = PDL_NEW_N(pdl_vref, n ? n : 1);
    for (size_t i = 0; i < n; i++) copy[i] = p[i];
    qsort(copy, n, sizeof *copy, by_text);
    put_list(out, copy, n);
    pdl_free(copy);
}

static void put_keys(pdl_buf *out, pdl_vref d) {
    size_t n = pdl_dict_len(d);
    pdl_vref *keys = PDL_NEW_N(pdl_vref, n ? n : 1);
    for (size_t i = 0; i < n; i++) keys[i] = pdl_dict_key_at(d, i);
    put_sorted(out, keys, n);
    pdl_free(keys);
}

static void put_types(pdl_buf *out, pdl_vref t) {
    if (!pdl_is_list(t)) {
        put_repr(out, t);
        return;
    }
    for (size_t i = 0; i < pdl_list_len(t); i++) {
        if (i) PDL_PUT(out, ", ");
        put_repr(out, pdl_list_at(t, i));
    }
}

/* Returns the limit of a failure. In draft 4 exclusiveMinimum is a flag, and the limit is the
 * keyword minimum beside it. */
static pdl_vref limit_of(const pdl_fail *f) {
    if (!pdl_is_bool(f->want)) return f->want;
    return pdl_dict_getz(f->schema, f->kind == PDL_FAIL_above ? "minimum" : "maximum");
}

static void put_rest(pdl_buf *out, const pdl_fail *f) {
    if (f->n_list != 1) PDL_PUT(out, "[");
    put_list(out, f->list, f->n_list);
    if (f->n_list != 1) PDL_PUT(out, "]");
}

/* Writes one placeholder. The function is a flat switch with a row for each. */
static void put_part(pdl_buf *out, const pdl_fail *f, char what) {
    switch (what) {
    case 'v': put_repr(out, f->v); break;
    case 'w': put_repr(out, f->want); break;
    case 'm': put_repr(out, limit_of(f)); break;
    case 'x': put_repr(out, f->x); break;
    case 'l': put_list(out, f->list, f->n_list); break;
    case 's': put_sorted(out, f->list, f->n_list); break;
    case 'k': put_keys(out, f->want); break;
    case 't': put_types(out, f->want); break;
    case 'n': pdl_buf_putf(out, "%zu", f->n); break;
    case 'c': pdl_buf_putf(out, "%zu", f->n_list); break;
    case 'p': pdl_buf_putf(out, "%zu item%s", f->n, PDL_PLURAL(f->n)); break;
    case 'r': put_rest(out, f); break;
    case 'b': pdl_buf_put(out, f->n_list == 1 ? PDL_STR("was") : PDL_STR("were")); break;
    case 'd': pdl_buf_put(out, f->n_list == 1 ? PDL_STR("does") : PDL_STR("do")); break;
    case 'o': pdl_buf_put(out, f->said); break;
    default: PDL_BUG("placeholder %c", what);
    }
}

void pdl_fail_words(const pdl_fail *f, pdl_buf *out) {
    for (const char *s = sentences[f->kind]; *s; s++) {
        if (*s == '@')
            put_part(out, f, *++s);
        else
            pdl_buf_putc(out, *s);
    }
}

void pdl_step_put(const pdl_step *s, pdl_buf *out) {
    if (pdl_is_absent(s->key)) {
        pdl_buf_putf(out, "[%zu]", s->i);
        return;
    }
    pdl_buf_putc(out, '.');
    pdl_val_show(s->key, false, 200, out);
}
