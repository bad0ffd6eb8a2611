/* request_fields.c -- checks the fields of a request for a completion: their types and ranges as in
 * OpenAI's interface. An error names the field (param) and has OpenAI's code, so that clients can
 * distinguish it from errors of the program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>
#include <stdio.h>

#include "base/num.h"
#include "base/utf8.h"
#include "serve/serve_impl.h"
#include "value/int.h"

#include "base/banned.h"

enum { AS_BOOL = 1, AS_INT = 2, AS_NUMBER = 4, AS_TEXT = 8, AS_LIST = 16, AS_OBJECT = 32 };

/* Types and ranges of the fields. null and absent fields are always valid. min and max apply to
 * numbers; INFINITY means no limit. */
static const struct {
    const char *name;
    int types;
    double min, max;
} fields[] = {
    {"model", AS_TEXT, 0, 0},
    {"messages", AS_LIST, 0, 0},
    {"stream", AS_BOOL, 0, 0},
    {"stream_options", AS_OBJECT, 0, 0},
    {"temperature", AS_NUMBER, 0, 2},
    {"top_p", AS_NUMBER, 0, 1},
    {"presence_penalty", AS_NUMBER, -2, 2},
    {"frequency_penalty", AS_NUMBER, -2, 2},
    {"max_tokens", AS_INT, 1, INFINITY},
    {"max_completion_tokens", AS_INT, 1, INFINITY},
    {"seed", AS_INT, -INFINITY, INFINITY},
    {"logprobs", AS_BOOL, 0, 0},
    {"top_logprobs", AS_INT, 0, 20},
    {"logit_bias", AS_OBJECT, 0, 0},
    {"stop", AS_TEXT | AS_LIST, 0, 0},
    {"tools", AS_LIST, 0, 0},
    {"tool_choice", AS_TEXT | AS_OBJECT, 0, 0},
    {"parallel_tool_calls", AS_BOOL, 0, 0},
    {"response_format", AS_OBJECT, 0, 0},
    {"metadata", AS_OBJECT, 0, 0},
    {"user", AS_TEXT, 0, 0},
};

static const char *const roles[] = {"system", "developer", "user", "assistant", "tool", "function"};

/* --- types ------------------------------------------------------------------------------------ */

static int types_of(pdl_vref v) {
    if (pdl_is_bool(v)) return AS_BOOL;
    if (pdl_is_int(v)) return AS_INT | AS_NUMBER;
    if (pdl_is(v, PDL_V_FLOAT)) return AS_NUMBER;
    if (pdl_is_str(v)) return AS_TEXT;
    if (pdl_is_list(v)) return AS_LIST;
    return pdl_is_dict(v) ? AS_OBJECT : 0;
}

static void put_types(int types, pdl_buf *b) {
    static const struct {
        int type;
        const char *name;
    } names[] = {{AS_BOOL, "a boolean"}, {AS_INT, "an integer"}, {AS_NUMBER, "a decimal"},
                 {AS_TEXT, "a string"},  {AS_LIST, "an array"},  {AS_OBJECT, "an object"}};
    size_t start = b->len;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (types & names[i].type)
            pdl_buf_putf(b, "%s%s", b->len > start ? " or " : "", names[i].name);
    if (b->len == start) PDL_PUT(b, "null");
}

static bool refuse(pdl_exchange *x, const char *param, const char *code, pdl_buf *message) {
    pdl_serve_answer_wrong(x, param, code, pdl_buf_str(message));
    pdl_buf_fini(message);
    return false;
}

static bool wrong_type(pdl_exchange *x, const char *param, int types, pdl_vref v) {
    pdl_buf b = PDL_BUF;
    int is = types_of(v);
    pdl_buf_putf(&b, "Invalid type for '%s': expected ", param);
    put_types(types, &b);
    PDL_PUT(&b, ", but got ");
    put_types(is & AS_INT ? AS_INT : is, &b);
    PDL_PUT(&b, " instead");
    return refuse(x, param, "invalid_type", &b);
}

static bool is_in_range(pdl_exchange *x, const char *param, bool whole, pdl_vref v, double min,
                        double max) {
    int64_t n = 0;
    bool fits = !pdl_is_int(v) || pdl_int_get(v, &n);
    double d = pdl_is_int(v) ? (fits ? (double)n : INFINITY) : pdl_float_of(v);
    if (fits && d >= min && d <= max) return true;
    bool low = d < min;
    char limit[PDL_NUM_MAX];
    size_t k = pdl_num_double(low ? min : max, limit);
    if (!fits || d != d) k = (size_t)snprintf(limit, sizeof limit, "%lld", (long long)INT64_MAX);
    if (k > 2 && limit[k - 2] == '.' && limit[k - 1] == '0') k -= 2;
    const char *kind = whole ? "integer" : "decimal";
    pdl_buf b = PDL_BUF, code = PDL_BUF;
    pdl_buf_putf(&b, "Invalid '%s': %s %s value. Expected a value %s %.*s", param, kind,
                 low ? "below minimum" : "above maximum", low ? ">=" : "<=", (int)k, limit);
    pdl_buf_putf(&code, "%s_%s_value", kind, low ? "below_min" : "above_max");
    (void)refuse(x, param, pdl_buf_z(&code), &b);
    pdl_buf_fini(&code);
    return false;
}

/* --- messages --------------------------------------------------------------------------------- */

static bool has_role(pdl_exchange *x, pdl_vref role, size_t i) {
    enum { SHOWN = 40 };
    char param[PDL_NUM_MAX + 32];
    pdl_buf b = PDL_BUF;
    snprintf(param, sizeof param, "messages[%zu].role", i);
    if (!pdl_is_str(role)) return wrong_type(x, param, AS_TEXT, role);
    pdl_buf_putf(&b, "Invalid value: '%.*s'. Supported values are: ",
                 PDL_FMT(pdl_utf8_cut(pdl_str_get(role), SHOWN)));
    for (size_t k = 0; k < sizeof roles / sizeof roles[0]; k++) {
        if (pdl_str_is(pdl_str_get(role), roles[k])) {
            pdl_buf_fini(&b);
            return true;
        }
        pdl_buf_putf(&b, "%s'%s'", k ? ", " : "", roles[k]);
    }
    return refuse(x, param, "invalid_value", &b);
}

static bool has_content(pdl_exchange *x, pdl_vref content, size_t i) {
    char param[2 * PDL_NUM_MAX + 32];
    snprintf(param, sizeof param, "messages[%zu].content", i);
    if (pdl_is_absent(content) || pdl_is_null(content) || pdl_is_str(content)) return true;
    if (!pdl_is_list(content)) return wrong_type(x, param, AS_TEXT | AS_LIST, content);
    for (size_t k = 0; k < pdl_list_len(content); k++) {
        if (pdl_is_dict(pdl_list_at(content, k))) continue;
        snprintf(param, sizeof param, "messages[%zu].content[%zu]", i, k);
        return wrong_type(x, param, AS_OBJECT, pdl_list_at(content, k));
    }
    return true;
}

bool pdl_serve_ask_messages(pdl_exchange *x, pdl_vref list) {
    char param[PDL_NUM_MAX + 32];
    pdl_buf b = PDL_BUF;
    if (pdl_is_absent(list) || pdl_is_null(list)) {
        PDL_PUT(&b, "Missing required parameter: 'messages'");
        return refuse(x, "messages", "missing_required_parameter", &b);
    }
    if (!pdl_is_list(list)) return wrong_type(x, "messages", AS_LIST, list);
    if (!pdl_list_len(list)) {
        PDL_PUT(&b, "Invalid 'messages': empty array. Expected an array with at least one message");
        return refuse(x, "messages", "empty_array", &b);
    }
    for (size_t i = 0; i < pdl_list_len(list); i++) {
        pdl_vref m = pdl_list_at(list, i);
        snprintf(param, sizeof param, "messages[%zu]", i);
        if (!pdl_is_dict(m)) return wrong_type(x, param, AS_OBJECT, m);
        if (!has_role(x, pdl_dict_getz(m, "role"), i) ||
            !has_content(x, pdl_dict_getz(m, "content"), i))
            return false;
    }
    return true;
}

bool pdl_serve_ask_fields(pdl_exchange *x, pdl_vref body) {
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        pdl_vref v = pdl_dict_getz(body, fields[i].name);
        bool number = fields[i].types & (AS_INT | AS_NUMBER);
        if (pdl_is_absent(v) || pdl_is_null(v)) continue;
        if (!(types_of(v) & fields[i].types))
            return wrong_type(x, fields[i].name, fields[i].types, v);
        if (number && !is_in_range(x, fields[i].name, fields[i].types == AS_INT, v, fields[i].min,
                                   fields[i].max))
            return false;
    }
    return true;
}
