/* demos.c -- makes demonstrations for a program from answers that the program itself got right. A
 * demonstration has the row, the right answer, and the results and model calls that led to the
 * answer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize/search.h"
#include "trace/event.h"
#include "value/json_read.h"
#include "value/json_write.h"

#include "base/banned.h"

pdl_val pdl_demo_plain(pdl_vref v) {
    pdl_buf b = PDL_BUF;
    pdl_err ignored = {0};
    pdl_val out;
    if (!pdl_json_write(v, PDL_JSON_LOOSE | PDL_JSON_CONTEXT | PDL_JSON_NAN_NULL, 0, &b,
                        &ignored) ||
        !pdl_json_read(pdl_buf_str(&b), 0, &out, NULL, &ignored))
        out = pdl_null();
    pdl_err_fini(&ignored);
    pdl_buf_fini(&b);
    return out;
}

static int64_t id_of(pdl_vref call) { return pdl_int_of(pdl_dict_getz(call, "id")); }

/* Calls are kept in the order in which they were made, but answers arrive in any order. */
void pdl_demo_take_event(pdl_val *trace, const pdl_event *e) {
    if (e->kind != PDL_EVENT_reply || e->effect->kind != PDL_EFFECT_model || e->reply->err.kind ||
        !pdl_is_dict(e->reply->value))
        return;
    pdl_val call = pdl_dict_putz(pdl_dict_new(3), "id", pdl_int(e->effect->id));
    pdl_vref messages = pdl_dict_getz(e->effect->request, "messages");
    call = pdl_dict_putz(call, "messages", pdl_demo_plain(messages));
    call = pdl_dict_putz(call, "answer", pdl_demo_plain(pdl_dict_getz(e->reply->value, "content")));
    size_t at = pdl_list_len(*trace);
    while (at && id_of(pdl_list_at(*trace, at - 1)) > id_of(call)) at--;
    *trace = pdl_list_insert(*trace, at, call);
}

pdl_val pdl_demo_trace(pdl_vref trace) {
    pdl_val list = pdl_list_new(pdl_list_len(trace)), id = pdl_textz("id");
    for (size_t i = 0; i < pdl_list_len(trace); i++)
        list = pdl_list_push(list, pdl_dict_del(pdl_keep(pdl_list_at(trace, i)), id));
    pdl_drop(id);
    return list;
}

void pdl_demo_keep(opt_search *z, size_t candidate, size_t row, pdl_vref result, pdl_vref trace) {
    pdl_vref right = pdl_search_right(z, row);
    pdl_val d = pdl_dict_new(8), question = pdl_search_question(z, row);
    /* Parts that only repeat other parts are left out: a result that equals the right answer, and
     * the trace of a program with a single call. */
    if (pdl_is_absent(right) || !pdl_val_eq(result, right))
        d = pdl_dict_putz(d, "result", pdl_keep(result));
    if (pdl_list_len(trace) > 1) d = pdl_dict_putz(d, "trace", pdl_demo_trace(trace));
    for (size_t i = 0; i < pdl_dict_len(question); i++)
        d = pdl_dict_put(d, pdl_keep(pdl_dict_key_at(question, i)),
                         pdl_demo_plain(pdl_dict_val_at(question, i)));
    if (!pdl_is_absent(right)) d = pdl_dict_puts(d, z->o->expect, pdl_demo_plain(right));
    pdl_drop(question);
    *pdl_vec_push(&z->demos) = (opt_demo){candidate, d};
}
