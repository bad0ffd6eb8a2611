/* template_options.c -- see expr.h. Keyword arguments of Jinja's Template() become pdl_xoptions,
 * with Python's error messages.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stddef.h>

#include "base/buf.h"
#include "expr/expr.h"
#include "value/text.h"

#include "base/banned.h"

typedef enum { O_TEXT, O_PREFIX, O_NEWLINE, O_FLAG, O_IGNORED, O_NONE } option_type;

static const struct {
    const char *name;
    option_type type;
    size_t offset;
} options[] = {
    {"block_start_string", O_TEXT, offsetof(pdl_xoptions, block_start)},
    {"block_end_string", O_TEXT, offsetof(pdl_xoptions, block_end)},
    {"variable_start_string", O_TEXT, offsetof(pdl_xoptions, variable_start)},
    {"variable_end_string", O_TEXT, offsetof(pdl_xoptions, variable_end)},
    {"comment_start_string", O_TEXT, offsetof(pdl_xoptions, comment_start)},
    {"comment_end_string", O_TEXT, offsetof(pdl_xoptions, comment_end)},
    {"line_statement_prefix", O_PREFIX, offsetof(pdl_xoptions, line_statement)},
    {"line_comment_prefix", O_PREFIX, offsetof(pdl_xoptions, line_comment)},
    {"newline_sequence", O_NEWLINE, offsetof(pdl_xoptions, newline)},
    {"trim_blocks", O_FLAG, offsetof(pdl_xoptions, trim_blocks)},
    {"lstrip_blocks", O_FLAG, offsetof(pdl_xoptions, lstrip_blocks)},
    {"keep_trailing_newline", O_FLAG, offsetof(pdl_xoptions, keep_trailing_newline)},
    {"autoescape", O_FLAG, offsetof(pdl_xoptions, autoescape)},
    {"optimized", O_IGNORED, 0},
    {"enable_async", O_NONE, 0},
    {"extensions", O_NONE, 0}, /* LIMIT: this interpreter has no extensions */
    {"finalize", O_NONE, 0},
};

static bool set_text(pdl_arena *a, pdl_vref v, pdl_str *out, pdl_err *err) {
    if (!pdl_is_str(v))
        return pdl_err_host(err, "TypeError", "object of type '%s' has no len()", pdl_type_name(v));
    *out = pdl_arena_str(a, pdl_str_get(v));
    return true;
}

static bool set_newline(pdl_arena *a, pdl_vref v, pdl_str *out, pdl_err *err) {
    if (!pdl_text_is(v, "\n") && !pdl_text_is(v, "\r\n") && !pdl_text_is(v, "\r"))
        return pdl_err_host(err, "AssertionError",
                            "'newline_sequence' must be one of '\\n', '\\r\\n', or '\\r'.");
    return set_text(a, v, out, err);
}

static bool set_option(pdl_arena *a, size_t i, pdl_vref v, pdl_xoptions *o, pdl_err *err) {
    char *at = (char *)o + options[i].offset;
    if (!pdl_is_hashable(v) && options[i].type != O_NONE)
        return pdl_err_host(err, "TypeError", "unhashable type: '%s'", pdl_type_name(v));
    switch (options[i].type) {
    case O_TEXT: return set_text(a, v, (pdl_str *)(void *)at, err);
    case O_PREFIX: return pdl_is_null(v) || set_text(a, v, (pdl_str *)(void *)at, err);
    case O_NEWLINE: return set_newline(a, v, (pdl_str *)(void *)at, err);
    case O_FLAG: *(bool *)(void *)at = pdl_val_truth(v); return true;
    case O_IGNORED: return true;
    case O_NONE: break;
    }
    return !pdl_val_truth(v) ||
           pdl_err_host(err, "ValueError", "option '%s' of a template is not supported",
                        options[i].name);
}

static size_t find_option(pdl_str name) {
    size_t n = sizeof options / sizeof options[0], i = 0;
    while (i < n && !pdl_str_is(name, options[i].name)) i++;
    return i;
}

static bool unknown_option(pdl_vref key, pdl_err *err) {
    if (!pdl_is_str(key)) return pdl_err_host(err, "TypeError", "keywords must be strings");
    pdl_str name = pdl_str_get(key);
    if (pdl_str_is(name, "source"))
        return pdl_err_host(err, "TypeError",
                            "Template.__new__() got multiple values for argument 'source'");
    return pdl_err_host(err, "TypeError",
                        "Template.__new__() got an unexpected keyword argument '%.*s'",
                        PDL_FMT(name));
}

/* Checks the openings. The reference compares the openings of blocks and variables, and the
 * openings of variables and comments. */
static bool check_openings(const pdl_xoptions *o, pdl_err *err) {
    pdl_str block = o->block_start.n ? o->block_start : PDL_STR("{%");
    pdl_str variable = o->variable_start.n ? o->variable_start : PDL_STR("{{");
    pdl_str comment = o->comment_start.n ? o->comment_start : PDL_STR("{#");
    if (!pdl_str_eq(block, variable) && !pdl_str_eq(variable, comment)) return true;
    return pdl_err_host(err, "AssertionError",
                        "block, variable and comment start strings must be different.");
}

bool pdl_expr_options(pdl_arena *a, pdl_vref dict, pdl_xoptions *out, pdl_err *err) {
    pdl_xoptions o = {0};
    size_t n = pdl_dict_len(dict), known = sizeof options / sizeof options[0];
    for (size_t i = 0; i < n; i++) {
        pdl_vref key = pdl_dict_key_at(dict, i);
        if (!pdl_is_str(key) || find_option(pdl_str_get(key)) == known)
            return unknown_option(key, err);
    }
    for (size_t i = 0; i < n; i++)
        if (!set_option(a, find_option(pdl_str_get(pdl_dict_key_at(dict, i))),
                        pdl_dict_val_at(dict, i), &o, err))
            return false;
    if (!check_openings(&o, err)) return false;
    *out = o;
    return true;
}
