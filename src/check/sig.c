/* sig.c -- see sig.h. The number and the names of arguments are judged by the code that binds them
 * in a run, with a function in place of the native that does nothing: so the words of the problem
 * are those of the run. Their types are compared with the column `type` of the tables of natives.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "check/sig.h"

#include "base/banned.h"

enum {
    SIZED = PDL_TY_STR | PDL_TY_LIST | PDL_TY_TUPLE | PDL_TY_DICT | PDL_TY_CONTEXT | PDL_TY_RANGE |
            PDL_TY_OTHER | PDL_TY_NATIVE,
    INTEGER = PDL_TY_INT | PDL_TY_BOOL | PDL_TY_OTHER,
    MAX_POS = PDL_NATIVE_MAX_ARGS
};

/* --- the column `type` ------------------------------------------------------------------------ */

/* The next part of text up to a byte of `ends`, blanks trimmed. */
static pdl_str next_part(pdl_str *text, char end) {
    size_t i = 0;
    while (i < text->n && text->p[i] != end) i++;
    pdl_str part = {text->p, i};
    *text = i < text->n ? pdl_str_sub(*text, i + 1, text->n) : (pdl_str){0};
    bool blanks = i && (part.p[0] == ' ' || part.p[i - 1] == ' ');
    return blanks ? pdl_str_trim(part) : part;
}

static uint32_t kinds_of_word(pdl_str word) {
    if (pdl_str_is(word, "any")) return PDL_TY_ANY;
    static const struct {
        const char *word;
        uint32_t kinds;
    } words[] = {{"null", PDL_TY_NULL},
                 {"boolean", PDL_TY_BOOL},
                 {"integer", INTEGER},
                 {"float", PDL_TY_FLOAT},
                 {"number", PDL_TY_NUMBER | PDL_TY_OTHER},
                 {"string", PDL_TY_STR | PDL_TY_OTHER},
                 {"list", PDL_TY_LIST},
                 {"tuple", PDL_TY_TUPLE | PDL_TY_OTHER},
                 {"object", PDL_TY_DICT | PDL_TY_OTHER},
                 {"range", PDL_TY_RANGE},
                 {"undefined", PDL_TY_UNDEFINED},
                 {"sized", SIZED},
                 {"iterable", SIZED}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (pdl_str_is(word, words[i].word)) return words[i].kinds;
    return PDL_TY_ANY;
}

/* Kinds that "a|b" accepts. */
static uint32_t accepted(pdl_str type) {
    uint32_t kinds = 0;
    if (!type.n) return PDL_TY_ANY;
    while (type.n) kinds |= kinds_of_word(next_part(&type, '|'));
    return kinds;
}

static const pdl_ty *argument(const pdl_sig_args *args, size_t i) {
    return i < args->n_pos ? args->pos[i] : NULL;
}

/* The named or second argument, which is a default. */
static const pdl_ty *second(const pdl_sig_args *args) {
    if (args->open) return &pdl_ty_any;
    return args->n_pos > 1 ? args->pos[1] : args->n_kw ? &pdl_ty_any : NULL;
}

static const pdl_ty *without_undefined(pdl_arena *a, const pdl_ty *t) {
    if (!t || !(t->kinds & PDL_TY_UNDEFINED)) return t;
    uint32_t kinds = t->kinds & ~(uint32_t)PDL_TY_UNDEFINED;
    return kinds ? pdl_ty_of_kinds(a, pdl_ty_is_unknown(t) ? PDL_TY_ANY : kinds) : NULL;
}

/* Kinds of a result are exact: what takes an integer also takes true, but gives an integer. */
static const pdl_ty *result_word(pdl_arena *a, pdl_str word, const pdl_sig_args *args) {
    const pdl_ty *first = argument(args, 0);
    if (!first) first = &pdl_ty_any;
    if (pdl_str_is(word, "item")) return pdl_ty_items(a, first);
    if (pdl_str_is(word, "same")) return first;
    if (pdl_str_is(word, "arg1")) return without_undefined(a, first);
    if (pdl_str_is(word, "arg2")) return second(args);
    if (pdl_str_is(word, "integer")) return &pdl_ty_int;
    if (pdl_str_is(word, "number")) return &pdl_ty_number;
    if (pdl_str_is(word, "string")) return &pdl_ty_str;
    if (pdl_str_is(word, "object")) return &pdl_ty_dict;
    if (pdl_str_is(word, "tuple")) return pdl_ty_of_kinds(a, PDL_TY_TUPLE);
    return pdl_ty_of_kinds(a, kinds_of_word(word));
}

static const pdl_ty *result_of(pdl_arena *a, pdl_str type, const pdl_sig_args *args) {
    const pdl_ty *t = NULL;
    while (type.n) {
        pdl_str word = next_part(&type, '|');
        bool list = word.n > 2 && word.p[0] == '[';
        if (list) word = pdl_str_sub(word, 1, word.n - 1);
        const pdl_ty *x = result_word(a, word, args);
        if (!x) continue;
        if (list) x = pdl_ty_list_of(a, x);
        t = t ? pdl_ty_join(a, t, x) : x;
    }
    return t ? t : &pdl_ty_any;
}

/* --- numbers and names of arguments ----------------------------------------------------------- */

static bool accept(const pdl_native_env *env, const pdl_val *argv, size_t argc, pdl_vref kwargs,
                   pdl_val *out, pdl_err *err) {
    (void)env, (void)argv, (void)argc, (void)kwargs, (void)err;
    *out = pdl_null();
    return true;
}

/* A value of the first kind, for messages that name its type. Owned. */
static pdl_val example_of(const pdl_ty *t) {
    if (t && t->kinds == PDL_TY_STR) return pdl_text((pdl_str){0});
    if (t && t->kinds == PDL_TY_LIST) return pdl_list_new(0);
    if (t && t->kinds == PDL_TY_DICT) return pdl_dict_new(0);
    if (t && t->kinds == PDL_TY_INT) return pdl_int(0);
    if (t && t->kinds == PDL_TY_FLOAT) return pdl_float(0);
    return pdl_null();
}

static bool binds(const pdl_native *row, const pdl_sig_args *args, pdl_buf *problem) {
    if (args->open || args->n_pos > MAX_POS || args->n_kw > MAX_POS) return true;
    if (!args->n_kw && args->n_pos >= row->n_min && args->n_pos <= row->n_max) return true;
    pdl_native stub = *row;
    stub.fn = accept;
    stub.flags &= (uint8_t) ~(PDL_N_MUTATES | PDL_N_EFFECT);
    pdl_val pos[MAX_POS], kw[MAX_POS], out = pdl_null();
    pdl_err err = {0};
    for (size_t i = 0; i < args->n_pos; i++) pos[i] = i ? pdl_null() : example_of(args->pos[0]);
    for (size_t i = 0; i < args->n_kw; i++) kw[i] = pdl_null();
    bool ok = pdl_native_call(&stub, &(pdl_native_env){0}, pos, args->n_pos, args->kw_names, kw,
                              args->n_kw, &out, &err);
    if (ok)
        pdl_drop(out);
    else
        pdl_buf_put(problem, pdl_str_of(err.msg));
    pdl_err_fini(&err);
    if (args->n_pos) pdl_drop(pos[0]);
    return ok;
}

/* --- types of arguments ----------------------------------------------------------------------- */

static bool takes(const pdl_ty *t, pdl_str type, pdl_str name, const pdl_native *row,
                  pdl_buf *problem) {
    if (!t || pdl_ty_is_unknown(t) || t->kinds & accepted(type)) return true;
    if (t->kinds == PDL_TY_UNDEFINED) return true; /* reported as such */
    pdl_buf_putf(problem, "`%s` takes %.*s for %.*s, not ", row->name, PDL_FMT(type),
                 PDL_FMT(name));
    pdl_ty_show(t, problem);
    return false;
}

static bool are_unknown(const pdl_ty *const *p, size_t n) {
    size_t i = 0;
    while (i < n && (!p[i] || pdl_ty_is_unknown(p[i]))) i++;
    return i == n;
}

/* Types of the parameters up to `->` (at arrow), with their names. Most arguments are not known:
 * then nothing has to be read. */
static int wrong_argument(const pdl_native *row, size_t arrow, const pdl_sig_args *args,
                          pdl_buf *problem) {
    if (are_unknown(args->pos, args->n_pos) && are_unknown(args->kw, args->n_kw)) return -1;
    pdl_str types = {row->type, arrow}, names = pdl_str_of(row->params);
    for (size_t i = 0; types.n && (args->n_kw || i < args->n_pos); i++) {
        pdl_str type = next_part(&types, ','), name = next_part(&names, ',');
        if (i < args->n_pos && !takes(args->pos[i], type, name, row, problem)) return (int)i;
        for (size_t k = 0; k < args->n_kw; k++)
            if (pdl_str_eq(args->kw_names[k], name) &&
                !takes(args->kw[k], type, name, row, problem))
                return (int)(args->n_pos + k);
    }
    return -1;
}

const pdl_ty *pdl_sig_call(pdl_arena *a, const pdl_native *row, const pdl_sig_args *args,
                           pdl_buf *problem, int *at) {
    pdl_str type = pdl_str_of(row->type);
    const char *dash = memchr(type.p, '-', type.n); /* of ->, which no word has */
    size_t arrow = dash ? (size_t)(dash - type.p) : type.n;
    *at = -1;
    if (binds(row, args, problem)) *at = wrong_argument(row, arrow, args, problem);
    return problem->len ? &pdl_ty_any : result_of(a, pdl_str_sub(type, arrow + 2, type.n), args);
}
