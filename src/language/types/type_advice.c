/* type_advice.c -- suggests how PDL writes a type that a user has written as in another language.
 * The message says what is not a type. A hint is made only when the intended type is known, and
 * repeats the user's words.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "types/type_inside.h"

#include "base/banned.h"

enum { MAX_PARTS = 8, SHOWN = 80 };

#define FORMS                                                                                      \
    "a type is null, boolean, string, number, integer, array, object, [TYPE], {NAME: TYPE}, "      \
    "{optional: TYPE}, {enum: [VALUE, ...]}, or a JSON Schema with `type`"
#define DEFAULTED                                                                                  \
    FORMS "; a parameter with a default is {optional: TYPE}, and ${ x | default(5) } reads it"

/* Words of other languages that users write as types. */
static const struct {
    const char *word, *hint;
} foreign[] = {
    {"any", "leave the type out (null) to allow any value"},
    {"text", "did you mean 'string'?"},
    {"dict", "did you mean 'object'?"},
    {"map", "did you mean 'object'?"},
    {"double", "did you mean 'number'?"},
    {"none", "did you mean '\"null\"'?"},
    {"nil", "did you mean '\"null\"'?"},
    {"tuple", "did you mean 'array'?"},
    {"json", "write object, array or another type; what reads JSON is `parser: json`"},
    {"date", "a date is a string"},
    {"datetime", "a time is a string"},
    {"time", "a time is a string"},
    {"url", "an address is a string"},
    {"email", "an address is a string"},
    {"enum", "write {enum: [VALUE, ...]}"},
    {"optional", "write {optional: TYPE}"},
};

/* For each way in which other languages write a type with an inner type: the text before and after
 * the inner type, the form in PDL, and the advice when the inner type is unknown. */
static const struct {
    const char *open, *close, *before, *after, *any;
} generics[] = {
    {"list[", "]", "[", "]", "a list of integers is [integer]"},
    {"array[", "]", "[", "]", "a list of integers is [integer]"},
    {"array<", ">", "[", "]", "a list of integers is [integer]"},
    {"list<", ">", "[", "]", "a list of integers is [integer]"},
    {"set[", "]", "[", "]", "a list of integers is [integer]"},
    {"", "[]", "[", "]", "a list of integers is [integer]"},
    {"list of ", "", "[", "]", "a list of integers is [integer]"},
    {"array of ", "", "[", "]", "a list of integers is [integer]"},
    {"optional[", "]", "{optional: ", "}", "an integer that may be missing is {optional: integer}"},
    {"optional ", "", "{optional: ", "}", "an integer that may be missing is {optional: integer}"},
    {"", "?", "{optional: ", "}", "an integer that may be missing is {optional: integer}"},
};

/* Returns the base type that a word names in one of its spellings: "str", "strings", "None"; or
 * NULL. */
static const char *base_of(pdl_str word) {
    static const struct {
        const char *word;
        pdl_base_type base;
    } spellings[] = {
        {"bool", PDL_BASE_boolean}, {"str", PDL_BASE_string},  {"text", PDL_BASE_string},
        {"float", PDL_BASE_number}, {"int", PDL_BASE_integer}, {"list", PDL_BASE_array},
        {"dict", PDL_BASE_object},  {"none", PDL_BASE_null},   {"nil", PDL_BASE_null}};
    pdl_str one = pdl_str_trim(word), many = one;
    if (many.n > 1 && many.p[many.n - 1] == 's') many.n--;
    for (int i = 0; i < PDL_BASE_COUNT; i++) {
        pdl_str name = pdl_str_of(pdl_base_names[i]);
        if (pdl_str_eq_nocase(one, name) || pdl_str_eq_nocase(many, name)) return pdl_base_names[i];
    }
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        if (pdl_str_eq_nocase(one, pdl_str_of(spellings[i].word)))
            return pdl_base_names[spellings[i].base];
    return NULL;
}

static bool starts_nocase(pdl_str s, const char *with) {
    pdl_str w = pdl_str_of(with);
    return s.n >= w.n && pdl_str_eq_nocase(pdl_str_sub(s, 0, w.n), w);
}

static bool by_word(pdl_err *err, pdl_str word) {
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        if (!pdl_str_eq_nocase(word, pdl_str_of(foreign[i].word))) continue;
        pdl_err_hint(err, "%s", foreign[i].hint);
        return true;
    }
    return false;
}

static bool by_generic(pdl_err *err, pdl_str word) {
    for (size_t i = 0; i < sizeof generics / sizeof *generics; i++) {
        pdl_str open = pdl_str_of(generics[i].open), close = pdl_str_of(generics[i].close);
        if (!starts_nocase(word, generics[i].open) || !pdl_str_ends(word, close)) continue;
        if (word.n <= open.n + close.n) continue;
        const char *inner = base_of(pdl_str_sub(word, open.n, word.n - close.n));
        if (inner)
            pdl_err_hint(err, "write %s%s%s", generics[i].before, inner, generics[i].after);
        else
            pdl_err_hint(err, "%s", generics[i].any);
        return true;
    }
    if (!starts_nocase(word, "dict[") && !starts_nocase(word, "map[") &&
        !starts_nocase(word, "record<"))
        return false;
    pdl_err_hint(err, "an object is {NAME: TYPE}, one of any names is object");
    return true;
}

/* --- one of several --------------------------------------------------------------------------- */

typedef struct parts {
    pdl_str p[MAX_PARTS];
    size_t n;
} parts;

/* Divides text at separators. Returns false when there are too many pieces, or an empty piece. */
static bool split(pdl_str text, pdl_str by, parts *out) {
    out->n = 0;
    for (size_t at = 0, end;; at = end + by.n) {
        end = pdl_str_find(text, by, at);
        pdl_str piece = pdl_str_trim(pdl_str_sub(text, at, end));
        if (!piece.n || out->n == MAX_PARTS) return false;
        out->p[out->n++] = piece;
        if (end == PDL_NOT_FOUND) return true;
    }
}

/* Suggests {optional: T} for a type and null, {type: [...]} when all pieces are types, and {enum:
 * [...]} when no piece is a type. Returns false in other cases. */
static bool say_one_of(pdl_err *err, const parts *all) {
    pdl_buf types = PDL_BUF, values = PDL_BUF;
    size_t n_types = 0, n_null = 0;
    const char *last = NULL;
    for (size_t i = 0; i < all->n; i++) {
        const char *base = base_of(all->p[i]);
        bool null = base && pdl_str_is(pdl_str_of(base), "null");
        n_types += base != NULL;
        n_null += null;
        if (base && !null) last = base;
        if (base) pdl_buf_putf(&types, null ? "%s\"%s\"" : "%s%s", i ? ", " : "", base);
        pdl_buf_putf(&values, "%s%.*s", i ? ", " : "", PDL_FMT(all->p[i]));
    }
    if (n_types == all->n && all->n == 2 && n_null == 1 && last)
        pdl_err_hint(err, "write {optional: %s}", last);
    else if (n_types == all->n)
        pdl_err_hint(err, "write {type: [%s]}", pdl_buf_z(&types));
    else if (n_types == 0)
        pdl_err_hint(err, "write {enum: [%s]}", pdl_buf_z(&values));
    pdl_buf_fini(&types);
    pdl_buf_fini(&values);
    return n_types == all->n || n_types == 0;
}

/* Suggests a type for forms such as `a | b`, `a or b`, Union[a, b], Literal[a, b], and
 * one of a, b. */
static bool by_choice(pdl_err *err, pdl_str word) {
    static const char *const wraps[] = {"union[", "literal[", "enum[", "enum("};
    static const char *const between[] = {"|", " or ", "/"};
    parts all;
    for (size_t i = 0; i < sizeof wraps / sizeof *wraps; i++) {
        pdl_str open = pdl_str_of(wraps[i]);
        if (starts_nocase(word, wraps[i]) && word.n > open.n &&
            split(pdl_str_sub(word, open.n, word.n - 1), PDL_STR(","), &all))
            return say_one_of(err, &all);
    }
    if (starts_nocase(word, "one of ") &&
        split(pdl_str_sub(word, sizeof "one of " - 1, word.n), PDL_STR(","), &all))
        return say_one_of(err, &all);
    for (size_t i = 0; i < sizeof between / sizeof *between; i++)
        if (split(word, pdl_str_of(between[i]), &all) && all.n > 1) return say_one_of(err, &all);
    return false;
}

/* --- hints ------------------------------------------------------------------------------------ */

/* Returns true for a text that looks like a list or an object. Its author has put the type in
 * quotes or after a |. */
static bool is_quoted(pdl_str word) {
    pdl_str s = pdl_str_trim(word);
    return s.n > 2 &&
           ((s.p[0] == '{' && s.p[s.n - 1] == '}') || (s.p[0] == '[' && s.p[s.n - 1] == ']'));
}

static void by_spelling(pdl_err *err, pdl_str word) {
    pdl_str names[PDL_BASE_COUNT], near = {0};
    for (size_t i = 0; i < PDL_BASE_COUNT; i++) {
        names[i] = pdl_str_of(pdl_base_names[i]);
        if (pdl_str_eq_nocase(word, names[i])) near = names[i];
    }
    if (!near.n) near = pdl_str_nearest(word, names, PDL_BASE_COUNT);
    if (near.n) pdl_err_hint(err, "did you mean '%.*s'?", PDL_FMT(near));
}

void pdl_type_advise_word(pdl_err *err, pdl_str word) {
    if (is_quoted(word))
        pdl_err_hint(err, "this is a text: write the type without quotes, and not after |");
    else if (pdl_str_find(word, PDL_STR("${"), 0) != PDL_NOT_FOUND)
        pdl_err_hint(err, "a type is written down: it has no expressions");
    else if (pdl_byte_in('=', word))
        pdl_err_hint(err, DEFAULTED);
    else if (!by_word(err, word) && !by_generic(err, word) && !by_choice(err, word))
        by_spelling(err, word);
}

void pdl_type_advise_rest(pdl_err *err, bool is_default) {
    pdl_str msg = pdl_str_of(err->msg);
    bool is_word = pdl_str_find(msg, PDL_STR(" is not a type"), 0) != PDL_NOT_FOUND;
    if (!err->hint && is_word) pdl_err_hint(err, "%s", is_default ? DEFAULTED : FORMS);
}

void pdl_type_advise_list(pdl_err *err, pdl_vref list) {
    parts all = {.n = 0};
    size_t n = pdl_list_len(list);
    bool words = n > 0 && n <= MAX_PARTS;
    for (size_t i = 0; words && i < n; i++) {
        pdl_vref v = pdl_list_at(list, i);
        words = pdl_is_str(v) || pdl_is_null(v);
        all.p[all.n++] = pdl_is_null(v) ? PDL_STR("null") : words ? pdl_str_get(v) : PDL_STR("");
    }
    if (words && say_one_of(err, &all)) return;
    pdl_err_hint(err, "a list of strings is [string], one of several types {type: [string, "
                      "integer]}, one of several values {enum: [...]}");
}
