/* filters_prompt.c -- filters that write values into prompts: json, pylist (spec patterns 1).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "native/natives.h"
#include "value/json_write.h"
#include "value/text.h"

#include "base/banned.h"

bool pdl_f_json(PDL_ARGS) {
    bool ascii = false;
    if (!pdl_is_absent(argv[1]) && !pdl_arg_truth(env, argv[1], &ascii, err)) return false;
    int flags = PDL_JSON_SPACED | PDL_JSON_NAN | PDL_JSON_LOOSE | PDL_JSON_CONTEXT |
                (ascii ? PDL_JSON_ASCII : 0);
    pdl_buf b = PDL_BUF;
    bool ok =
        pdl_json_write(argv[0], flags, 0, &b, err) && pdl_text_like(&b, pdl_absent(), out, err);
    pdl_buf_fini(&b);
    return ok;
}

/* Writes a list such as "['a', 'b']": the text of each item, in the form that Python prints inside
 * a list. */
bool pdl_f_pylist(PDL_ARGS) {
    pdl_val items;
    if (!pdl_arg_list(env, argv[0], &items, err)) return false;
    pdl_buf b = PDL_BUF;
    bool ok = true;
    pdl_buf_putc(&b, '[');
    for (size_t i = 0; ok && i < pdl_list_len(items); i++) {
        pdl_val text;
        ok = pdl_val_str_val(pdl_list_at(items, i), &text, err);
        if (!ok) break;
        if (i) PDL_PUT(&b, ", ");
        pdl_str_repr(pdl_str_get(text), &b);
        pdl_drop(text);
    }
    pdl_buf_putc(&b, ']');
    ok = ok && pdl_text_like(&b, pdl_absent(), out, err);
    pdl_buf_fini(&b);
    pdl_drop(items);
    return ok;
}
