/* find_object.c -- finds in a text the first JSON object that has given keys of given types, such
 * as a tool call that a model wrote (spec patterns 2).
 *
 * Every `{` is tried, from left to right. An attempt that fails inside of nested objects is
 * repeated for each of these objects. So the work is the length of the text times the depth of its
 * nesting, which has a limit.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "base/word_list.h"
#include "native/natives.h"
#include "value/json_read.h"

#include "base/banned.h"

static bool has_type(pdl_vref v, pdl_str type) {
    if (pdl_str_is(type, "string")) return pdl_is_str(v);
    if (pdl_str_is(type, "number")) return pdl_is_number(v) && !pdl_is_bool(v);
    if (pdl_str_is(type, "boolean")) return pdl_is_bool(v);
    if (pdl_str_is(type, "array")) return pdl_is_list(v);
    return pdl_is_dict(v);
}

static bool fits(pdl_vref object, pdl_vref keys) {
    for (size_t i = 0; i < pdl_dict_len(keys); i++) {
        pdl_vref v = pdl_dict_find(object, pdl_dict_key_at(keys, i));
        if (pdl_is_absent(v) || !has_type(v, pdl_str_get(pdl_dict_val_at(keys, i)))) return false;
    }
    return true;
}

static bool check_keys(pdl_vref keys, pdl_err *err) {
    static const char *const types[] = {"string", "number", "boolean", "array", "object"};
    if (!pdl_is_dict(keys))
        return pdl_err_host(err, "TypeError", "keys must be an object of types, not %s",
                            pdl_py_type(keys));
    for (size_t i = 0; i < pdl_dict_len(keys); i++) {
        pdl_vref type = pdl_dict_val_at(keys, i);
        if (!pdl_is_str(type) || !PDL_STR_IN(pdl_str_get(type), types))
            return pdl_err_host(err, "ValueError",
                                "types are string, number, boolean, array and object");
    }
    return true;
}

/* Returns {value, start, end} of an object at the byte `at`. start and end are indices of code
 * points. Takes object. */
static pdl_val found(pdl_val object, pdl_str s, size_t at, size_t len) {
    size_t start = pdl_utf8_count(pdl_str_sub(s, 0, at));
    size_t end = start + pdl_utf8_count(pdl_str_sub(s, at, at + len));
    pdl_val r = pdl_dict_putz(pdl_dict_new(3), "value", object);
    r = pdl_dict_putz(r, "start", pdl_int((int64_t)start));
    return pdl_dict_putz(r, "end", pdl_int((int64_t)end));
}

bool pdl_g_find_object(PDL_ARGS) {
    pdl_val text;
    if (!check_keys(argv[1], err) || !pdl_arg_text(env, argv[0], &text, err)) return false;
    pdl_str s = pdl_str_get(text);
    pdl_val r = pdl_null();
    for (size_t at = 0; pdl_is_null(r) && (at = pdl_str_find(s, PDL_STR("{"), at)) != PDL_NOT_FOUND;
         at++) {
        const int flags = PDL_JSON_PYTHON | PDL_JSON_PREFIX | PDL_JSON_CONTROL;
        pdl_err miss = {0};
        pdl_val v;
        size_t len = 0;
        if (!pdl_json_read(pdl_str_sub(s, at, s.n), flags, &v, &len, &miss)) {
            pdl_err_fini(&miss);
            continue;
        }
        if (fits(v, argv[1]))
            r = found(v, s, at, len);
        else
            pdl_drop(v);
    }
    pdl_drop(text);
    *out = r;
    return true;
}
