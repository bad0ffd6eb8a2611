/* parse.c -- the table of parsers, and the errors of parsers for users; see parse.h.
 *
 * Each parser fails with the message of Python's exception. This file puts the message into the
 * sentence that users see.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "parse/parse.h"

#include "base/fence.h"
#include "parse/readers.h"
#include "value/text.h"

#include "base/banned.h"

static const pdl_parser_row parsers[] = {
    {"json", PDL_PARSE_JSON, "one JSON value; text that is not quite JSON is repaired"},
    {"jsonl", PDL_PARSE_JSONL, "one JSON value a line; gives an array"},
    {"yaml", PDL_PARSE_YAML, "one YAML document"},
    {"csv", PDL_PARSE_CSV, "comma-separated values; gives an array of arrays of strings"},
};
enum { N_PARSERS = sizeof parsers / sizeof parsers[0] };

static const char *const mode_names[] = {
    [PDL_PM_SEARCH] = "search", [PDL_PM_MATCH] = "match",     [PDL_PM_FULLMATCH] = "fullmatch",
    [PDL_PM_SPLIT] = "split",   [PDL_PM_FINDALL] = "findall",
};

const pdl_parser_row *pdl_parsers(size_t *n) {
    *n = N_PARSERS;
    return parsers;
}

pdl_parser_kind pdl_parser_find(pdl_str name, bool *found) {
    for (size_t i = 0; i < N_PARSERS; i++)
        if (pdl_str_eq_nocase(name, pdl_str_of(parsers[i].name))) {
            *found = true;
            return parsers[i].kind;
        }
    *found = false;
    return PDL_PARSE_JSON;
}

const char *pdl_parser_mode_name(pdl_parser_mode m) { return mode_names[m]; }

bool pdl_parser_mode_find(pdl_str name, pdl_parser_mode *out) {
    for (size_t i = 0; i < sizeof mode_names / sizeof mode_names[0]; i++)
        if (pdl_str_eq_nocase(name, pdl_str_of(mode_names[i]))) {
            *out = (pdl_parser_mode)i;
            return true;
        }
    return false;
}

static void free_regex(void *p) { pdl_regex_free(p); }

pdl_parser *pdl_parser_regex(pdl_arena *a, pdl_str regex, pdl_parser_mode mode,
                             const pdl_str *groups, size_t n_groups, bool object_spec) {
    pdl_parser *p = pdl_parser_word(a, PDL_PARSE_REGEX);
    pdl_err err = {0};
    p->mode = mode;
    p->regex = pdl_arena_str(a, regex);
    p->has_object_spec = object_spec;
    p->n_groups = (uint32_t)n_groups;
    p->groups = pdl_arena_new_n(a, pdl_str, n_groups);
    for (size_t i = 0; i < n_groups; i++) p->groups[i] = groups[i];
    if (pdl_regex_new(p->regex, PDL_RE_MULTILINE, &p->compiled, &err))
        pdl_arena_defer(a, free_regex, p->compiled);
    else
        /* a wrong regex is an error only when it is used, as in the reference */
        p->compiled = NULL;
    pdl_err_fini(&err);
    return p;
}

pdl_parser *pdl_parser_word(pdl_arena *a, pdl_parser_kind kind) {
    pdl_parser *p = pdl_arena_new(a, pdl_parser);
    p->kind = kind;
    return p;
}

/* Returns the kind of v in the words of the types of PDL. */
static const char *kind_word(pdl_vref v) {
    if (pdl_is_null(v)) return "null";
    if (pdl_is_bool(v)) return "boolean";
    if (pdl_is_int(v)) return "integer";
    if (pdl_is(v, PDL_V_FLOAT)) return "number";
    if (pdl_is_list(v) || pdl_is(v, PDL_V_TUPLE)) return "array";
    if (pdl_is_dict(v)) return "object";
    return pdl_type_name(v);
}

static bool not_text(const pdl_parser *p, pdl_vref v, pdl_err *err) {
    if (p->kind == PDL_PARSE_REGEX)
        return pdl_err_host(err, "TypeError", "expected string or bytes-like object, got '%s'",
                            pdl_type_name(v));
    return pdl_err_host(err, "TypeError", "expected a string but got %s", kind_word(v));
}

static bool read_text(const pdl_parser *p, pdl_str text, bool raw, pdl_val *out, pdl_err *err) {
    switch (p->kind) {
    case PDL_PARSE_JSON: return pdl_parse_json(text, out, err);
    case PDL_PARSE_JSONL: return pdl_parse_jsonl(text, out, err);
    case PDL_PARSE_YAML: return pdl_parse_yaml(text, raw, out, err);
    case PDL_PARSE_CSV: return pdl_parse_csv(p, pdl_fence_inside(text), out, err);
    case PDL_PARSE_REGEX: return pdl_parse_regex(p, text, out, err);
    }
    PDL_BUG("parser kind %d", (int)p->kind);
}

/* Reads a value; the result has the labels of the text. */
static bool read_value(const pdl_parser *p, pdl_vref v, bool raw, pdl_val *out, pdl_err *err) {
    if (!pdl_is_str(v))
        not_text(p, v, err);
    else if (read_text(p, pdl_str_get(v), raw, out, err)) {
        *out = pdl_with_label(*out, pdl_label_of(v));
        return true;
    }
    if (err->kind != PDL_E_limit && !err->uncatchable) err->kind = PDL_E_parser;
    return false;
}

bool pdl_parse_raw(const pdl_parser *p, pdl_vref v, pdl_val *out, pdl_err *err) {
    return read_value(p, v, true, out, err);
}

/* Writes the message. With as_exception it has the form in which Python prints the exception,
 * Class('message'), unless libpdl itself has worded the message. */
static void put_why(const pdl_err *err, bool as_exception, pdl_buf *b) {
    if (as_exception && err->py_class) {
        pdl_buf_putf(b, "%s(", err->py_class);
        pdl_str_repr(pdl_str_of(err->msg), b);
        pdl_buf_putc(b, ')');
    } else {
        pdl_buf_put(b, pdl_str_of(err->msg));
    }
}

/* Returns the index of the first name that is not a group of the regex. */
static size_t missing_group(const pdl_parser *p) {
    size_t i = 0;
    while (i + 1 < p->n_groups && pdl_regex_group_index(p->compiled, p->groups[i])) i++;
    return i;
}

bool pdl_parse(const pdl_parser *p, pdl_vref v, pdl_val *out, pdl_err *err) {
    static const char *const words[] = {
        [PDL_PARSE_JSON] = "JSON", [PDL_PARSE_JSONL] = "JSON", [PDL_PARSE_YAML] = "YAML",
        [PDL_PARSE_CSV] = "CSV",   [PDL_PARSE_REGEX] = "",
    };
    if (read_value(p, v, false, out, err)) return true;
    if (err->uncatchable) return false;
    pdl_buf b = PDL_BUF;
    if (p->kind != PDL_PARSE_REGEX) {
        pdl_buf_putf(&b, "Attempted to parse ill-formed %s: ", words[p->kind]);
        put_why(err, p->kind != PDL_PARSE_YAML && pdl_is_str(v), &b);
    } else if (err->py_class && pdl_str_is(pdl_str_of(err->py_class), "IndexError")) {
        pdl_buf_putf(&b, "No group named %.*s found by %.*s in ",
                     PDL_FMT(p->groups[missing_group(p)]), PDL_FMT(p->regex));
        pdl_buf_put(&b, pdl_str_get(v));
    } else {
        pdl_buf_putf(&b, "Fail to parse with regex %.*s: ", PDL_FMT(p->regex));
        put_why(err, true, &b);
    }
    pdl_err_reword(err, &b);
    return false;
}
