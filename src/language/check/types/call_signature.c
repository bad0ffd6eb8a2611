/* call_signature.c -- see call_signature.h. The number and the names of arguments are judged by the
 * code that binds them in a run, so that a problem is reported in the words of the run. In place of
 * the native, this code calls a function that does nothing. Most correct calls are recognised
 * earlier, without that code. The types are compared with the column `type` of the tables of
 * natives.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "check/call_signature.h"

#include "base/banned.h"

enum {
    SIZED = PDL_TY_STR | PDL_TY_LIST | PDL_TY_TUPLE | PDL_TY_DICT | PDL_TY_CONTEXT | PDL_TY_RANGE |
            PDL_TY_OTHER | PDL_TY_NATIVE,
    INTEGER = PDL_TY_INT | PDL_TY_BOOL | PDL_TY_OTHER,
    MAX_POS = PDL_NATIVE_MAX_ARGS
};

/* --- the column `type` ------------------------------------------------------------------------ */

/* Takes the next part of *text, up to the byte `end`, and returns it without the blanks around
 * it. */
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

/* Returns the kinds that "a|b" accepts. */
static uint32_t accepted(pdl_str type) {
    uint32_t kinds = 0;
    if (!type.n) return PDL_TY_ANY;
    while (type.n) kinds |= kinds_of_word(next_part(&type, '|'));
    return kinds;
}

/* --- rows, read once -------------------------------------------------------------------------- */

enum { MAX_RESULTS = 2, N_KEPT = 64 };

/* The forms of the type of a result (column `type`). */
typedef enum { R_KINDS, R_ITEM, R_SAME, R_ARG1, R_ARG2 } result_word;

typedef struct result_part {
    const pdl_ty *known; /* used by KINDS; NULL when no static type has these kinds */
    uint32_t kinds;
    result_word word;
    bool list;
} result_part;

/* The columns `type` and `params` of a row. */
typedef struct signature {
    const pdl_native *row;
    uint32_t takes[MAX_POS]; /* the accepted kinds of each parameter */
    struct {
        uint16_t at, n;
    } names[MAX_POS]; /* the names are parts of row->params */
    uint8_t n_params, n_results;
    result_part results[MAX_RESULTS];
} signature;

/* Reads the type of a result. The kinds of a result are exact: a parameter that accepts an integer
 * also accepts true, but an integer result is never true. */
static result_part read_result(pdl_str word) {
    static const struct {
        const char *word;
        const pdl_ty *type;
    } exact[] = {{"integer", &pdl_ty_int},
                 {"number", &pdl_ty_number},
                 {"string", &pdl_ty_str},
                 {"object", &pdl_ty_dict}};
    result_part r = {.list = word.n > 2 && word.p[0] == '['};
    if (r.list) word = pdl_str_sub(word, 1, word.n - 1);
    if (pdl_str_is(word, "item")) r.word = R_ITEM;
    if (pdl_str_is(word, "same")) r.word = R_SAME;
    if (pdl_str_is(word, "arg1")) r.word = R_ARG1;
    if (pdl_str_is(word, "arg2")) r.word = R_ARG2;
    for (size_t i = 0; i < sizeof exact / sizeof exact[0]; i++)
        if (pdl_str_is(word, exact[i].word)) r.known = exact[i].type;
    r.kinds = pdl_str_is(word, "tuple") ? PDL_TY_TUPLE : kinds_of_word(word);
    return r;
}

/* Returns the position of ->, where the types of parameters end. The name of a type has no dash. */
static size_t arrow_of(pdl_str type) {
    const char *dash = memchr(type.p, '-', type.n);
    return dash ? (size_t)(dash - type.p) : type.n;
}

static void read_row(const pdl_native *row, signature *s) {
    pdl_str type = pdl_str_of(row->type), params = pdl_str_of(row->params), names = params;
    size_t arrow = arrow_of(type);
    pdl_str types = pdl_str_sub(type, 0, arrow), result = pdl_str_sub(type, arrow + 2, type.n);
    *s = (signature){.row = row};
    for (; types.n || names.n; s->n_params++) {
        if (s->n_params == MAX_POS) PDL_BUG("too many parameters: %s", row->name);
        pdl_str part = next_part(&types, ','), name = next_part(&names, ',');
        s->takes[s->n_params] = accepted(part);
        s->names[s->n_params].at = name.n ? (uint16_t)(name.p - params.p) : 0;
        s->names[s->n_params].n = (uint16_t)name.n;
    }
    while (result.n) {
        if (s->n_results == MAX_RESULTS) PDL_BUG("too many results: %s", row->name);
        s->results[s->n_results++] = read_result(next_part(&result, '|'));
    }
}

/* Returns the columns of a row as a struct. The columns are texts, which the manual and hover show
 * unchanged. Reading them takes longer than the check itself, so each thread keeps the columns that
 * it used last. The result is valid until the next call. */
static const signature *signature_of(const pdl_native *row) {
    static _Thread_local signature kept[N_KEPT];
    signature *s = &kept[(uintptr_t)row / sizeof *row % N_KEPT];
    if (s->row != row) read_row(row, s);
    return s;
}

static pdl_str name_of(const signature *s, size_t i) {
    return (pdl_str){s->row->params + s->names[i].at, s->names[i].n};
}

/* --- results ---------------------------------------------------------------------------------- */

static const pdl_ty *argument(const pdl_sig_args *args, size_t i) {
    return i < args->n_pos ? args->pos[i] : NULL;
}

/* Returns the type of the second argument. This argument is a default, and the call may pass it by
 * name. */
static const pdl_ty *second(const pdl_sig_args *args) {
    if (args->open) return &pdl_ty_any;
    return args->n_pos > 1 ? args->pos[1] : args->n_kw ? &pdl_ty_any : NULL;
}

static const pdl_ty *without_undefined(pdl_arena *a, const pdl_ty *t) {
    if (!t || !(t->kinds & PDL_TY_UNDEFINED)) return t;
    uint32_t kinds = t->kinds & ~(uint32_t)PDL_TY_UNDEFINED;
    return kinds ? pdl_ty_of_kinds(a, pdl_ty_is_unknown(t) ? PDL_TY_ANY : kinds) : NULL;
}

static const pdl_ty *result_part_of(pdl_arena *a, const result_part *r, const pdl_sig_args *args) {
    const pdl_ty *first = argument(args, 0);
    if (!first) first = &pdl_ty_any;
    switch (r->word) {
    case R_ITEM: return pdl_ty_items(a, first);
    case R_SAME: return first;
    case R_ARG1: return without_undefined(a, first);
    case R_ARG2: return second(args);
    case R_KINDS: break;
    }
    return r->known ? r->known : pdl_ty_of_kinds(a, r->kinds);
}

static const pdl_ty *result_of(pdl_arena *a, const signature *s, const pdl_sig_args *args) {
    const pdl_ty *t = NULL;
    for (size_t i = 0; i < s->n_results; i++) {
        const pdl_ty *x = result_part_of(a, &s->results[i], args);
        if (!x) continue;
        if (s->results[i].list) x = pdl_ty_list_of(a, x);
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

/* Returns a value of the type, for messages that name the type. Returns null for all types that are
 * not here. Owned. */
static pdl_val example_of(const pdl_ty *t) {
    if (t && t->kinds == PDL_TY_STR) return pdl_text((pdl_str){0});
    if (t && t->kinds == PDL_TY_LIST) return pdl_list_new(0);
    if (t && t->kinds == PDL_TY_DICT) return pdl_dict_new(0);
    if (t && t->kinds == PDL_TY_INT) return pdl_int(0);
    if (t && t->kinds == PDL_TY_FLOAT) return pdl_float(0);
    return pdl_null();
}

/* Returns true for the usual correct call. Each of its keywords names a parameter that has no
 * argument yet, or every name is accepted. All required arguments are present. */
static bool binds_plainly(const signature *s, const pdl_sig_args *args) {
    const pdl_native *row = s->row;
    bool any_name = row->flags & PDL_N_KWARGS, any_number = row->flags & PDL_N_VARARGS;
    if (row->style > PDL_NS_ENV && !any_name) return false;
    if (row->style == PDL_NS_NAMED || (args->n_pos > row->n_max && !any_number)) return false;
    uint32_t given = (1u << args->n_pos) - 1, needed = (1u << row->n_min) - 1;
    for (size_t k = 0; k < args->n_kw; k++) {
        size_t i = 0;
        while (i < row->n_max && !pdl_str_eq(name_of(s, i), args->kw_names[k])) i++;
        if (i < row->n_max ? given >> i & 1 : !any_name) return false;
        if (i < row->n_max) given |= 1u << i;
    }
    return !(needed & ~given);
}

static bool binds(const signature *s, const pdl_sig_args *args, pdl_buf *problem) {
    const pdl_native *row = s->row;
    if (args->open || args->n_pos > MAX_POS || args->n_kw > MAX_POS) return true;
    if (!args->n_kw && args->n_pos >= row->n_min && args->n_pos <= row->n_max) return true;
    if (binds_plainly(s, args)) return true;
    pdl_native stub = *row;
    stub.fn = accept;
    stub.flags &= (uint8_t) ~(PDL_N_MUTATES | PDL_N_EFFECT);
    pdl_val pos[MAX_POS], kw[MAX_POS], out = pdl_null();
    pdl_err err = {0};
    for (size_t i = 0; i < args->n_pos; i++) pos[i] = i ? pdl_null() : example_of(args->pos[0]);
    for (size_t i = 0; i < args->n_kw; i++) kw[i] = pdl_null();
    const pdl_call_args given = {pos, args->n_pos, args->kw_names, kw, args->n_kw, 0};
    bool ok = pdl_native_call(&stub, &(pdl_native_env){0}, &given, &out, &err);
    if (ok)
        pdl_drop(out);
    else
        pdl_buf_put(problem, pdl_str_of(err.msg));
    pdl_err_fini(&err);
    if (args->n_pos) pdl_drop(pos[0]);
    return ok;
}

/* --- types of arguments ----------------------------------------------------------------------- */

static bool is_taken(const pdl_ty *t, uint32_t kinds) {
    return !t || (t->kinds & kinds) || t->kinds == PDL_TY_UNDEFINED; /* reported elsewhere */
}

/* Returns the type of the i-th parameter as its row writes it. */
static pdl_str type_at(const pdl_native *row, size_t i) {
    pdl_str type = pdl_str_of(row->type), types = {type.p, arrow_of(type)};
    pdl_str part = next_part(&types, ',');
    while (i-- > 0) part = next_part(&types, ',');
    return part;
}

static void refuse(const signature *s, size_t i, const pdl_ty *t, pdl_buf *problem) {
    const pdl_native *row = s->row;
    pdl_buf_putf(problem, "`%s` takes ", row->name);
    pdl_buf_put(problem, type_at(row, i));
    pdl_buf_putf(problem, " for %.*s, not ", PDL_FMT(name_of(s, i)));
    pdl_ty_show(t, problem);
}

/* Returns the index of the first argument whose type its parameter does not accept, or -1. */
static int wrong_argument(const signature *s, const pdl_sig_args *args, pdl_buf *problem) {
    for (size_t i = 0; i < s->n_params && (args->n_kw || i < args->n_pos); i++) {
        if (i < args->n_pos && !is_taken(args->pos[i], s->takes[i])) {
            refuse(s, i, args->pos[i], problem);
            return (int)i;
        }
        for (size_t k = 0; k < args->n_kw; k++)
            if (!is_taken(args->kw[k], s->takes[i]) &&
                pdl_str_eq(args->kw_names[k], name_of(s, i))) {
                refuse(s, i, args->kw[k], problem);
                return (int)(args->n_pos + k);
            }
    }
    return -1;
}

const pdl_ty *pdl_sig_call(pdl_arena *a, const pdl_native *row, const pdl_sig_args *args,
                           pdl_buf *problem, int *at) {
    const signature *s = signature_of(row);
    *at = -1;
    if (binds(s, args, problem)) *at = wrong_argument(s, args, problem);
    return problem->len ? &pdl_ty_any : result_of(a, s, args);
}
