/* template_slots.c -- templates whose slots are {name}: lists their names and fills them (spec
 * patterns 1).
 *
 * A name is letters, digits and `_` of any script; any other brace is plain text. The text is read
 * in one pass, so inserted text is not searched for slots.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "native/natives.h"
#include "value/json_write.h"

#include "base/banned.h"

/* Finds the next slot of s at or after *pos. Sets *name, and *at to the offset of the opening
 * brace, and moves *pos after the slot. Returns false when there is no further slot. */
static bool next_slot(pdl_str s, size_t *pos, size_t *at, pdl_str *name) {
    for (size_t open = *pos; (open = pdl_str_find(s, PDL_STR("{"), open)) != PDL_NOT_FOUND;
         open++) {
        const char *p = s.p + open + 1, *end = s.p + s.n, *before = p;
        while (p < end) {
            before = p;
            uint32_t c = pdl_utf8_next(&p);
            if (c != '_' && !pdl_cp_is_alnum(c)) break;
            before = p;
        }
        if (before == end || *before != '}' || before == s.p + open + 1) continue;
        *at = open;
        *name = (pdl_str){s.p + open + 1, (size_t)(before - s.p) - open - 1};
        *pos = (size_t)(before - s.p) + 1;
        return true;
    }
    return false;
}

bool pdl_g_slots(PDL_ARGS) {
    pdl_val text;
    if (!pdl_arg_text(env, argv[0], &text, err)) return false;
    pdl_str s = pdl_str_get(text), name;
    pdl_val seen = pdl_dict_new(0), names = pdl_list_new(0);
    for (size_t pos = 0, at; next_slot(s, &pos, &at, &name);) {
        if (!pdl_is_absent(pdl_dict_gets(seen, name))) continue;
        seen = pdl_dict_puts(seen, name, pdl_null());
        names = pdl_list_push(names, pdl_text(name));
    }
    pdl_drop(seen);
    pdl_drop(text);
    *out = names;
    return true;
}

/* Appends the text of a value: a string unchanged, any other value as JSON. */
static bool put_value(pdl_vref v, pdl_buf *b, pdl_err *err) {
    if (pdl_is_str(v)) return pdl_buf_add(b, pdl_str_get(v), err);
    return pdl_json_write(v, PDL_JSON_SPACED | PDL_JSON_NAN | PDL_JSON_LOOSE, 0, b, err);
}

bool pdl_g_fill(PDL_ARGS) {
    if (!pdl_is_dict(argv[1]))
        return pdl_err_host(err, "TypeError", "values of slots must be an object, not %s",
                            pdl_py_type(argv[1]));
    pdl_val text;
    if (!pdl_arg_text(env, argv[0], &text, err)) return false;
    pdl_str s = pdl_str_get(text), name;
    pdl_buf b = PDL_BUF_INIT(PDL_MAX_TEXT);
    size_t from = 0;
    bool ok = true;
    for (size_t pos = 0, at; ok && next_slot(s, &pos, &at, &name);) {
        pdl_vref v = pdl_dict_gets(argv[1], name);
        if (pdl_is_absent(v)) continue; /* the slot stays as it is written */
        ok = pdl_buf_add(&b, pdl_str_sub(s, from, at), err) && put_value(v, &b, err);
        from = pos;
    }
    ok = ok && pdl_buf_add(&b, pdl_str_sub(s, from, s.n), err) &&
         pdl_text_like(&b, pdl_absent(), out, err);
    pdl_buf_fini(&b);
    pdl_drop(text);
    return ok;
}
