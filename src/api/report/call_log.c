/* call_log.c -- writes a line on standard error when a call of a model begins, and another line
 * when it ends; see call_log.h. As in the reference, a call whose answer streams gets no lines,
 * because its text shows that it is running.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/report/call_log.h"

#include "effect/effect.h"
#include "value/text.h"

#include "base/banned.h"

static void put_begin(const pdl_event *e, pdl_buf *out) {
    PDL_PUT(out, "Asynchronous model call started to ");
    pdl_val_show(pdl_dict_getz(e->effect->request, "model"), false, 200, out);
    pdl_buf_putc(out, '\n');
}

static void put_end(const pdl_event *e, pdl_buf *out) {
    pdl_vref v = e->reply->value,
             content = pdl_is_dict(v) ? pdl_dict_getz(v, "content") : pdl_absent();
    if (e->reply->err.kind) return;
    PDL_PUT(out, "Asynchronous model call to ");
    pdl_val_show(pdl_dict_getz(e->effect->request, "model"), false, 200, out);
    pdl_buf_putf(out, " completed in %.3fms\n", e->reply->seconds * 1000);
    if (pdl_is_str(content)) pdl_buf_put(out, pdl_str_get(content));
    PDL_PUT(out, "\n\n\n");
}

static void on_event(void *user, const pdl_event *e) {
    pdl_sink *to = user;
    pdl_buf text = PDL_BUF;
    if ((e->kind != PDL_EVENT_effect && e->kind != PDL_EVENT_reply) ||
        e->effect->kind != PDL_EFFECT_model)
        return;
    pdl_vref stream = pdl_dict_getz(e->effect->request, "stream");
    if (pdl_is_bool(stream) && pdl_bool_of(stream)) return;
    (e->kind == PDL_EVENT_effect ? put_begin : put_end)(e, &text);
    if (text.len)
        to->event(to->user, &(pdl_event){.kind = PDL_EVENT_out,
                                         .text = pdl_buf_str(&text),
                                         .number = 2,
                                         .untrusted = true,
                                         .value = pdl_absent(),
                                         .context = pdl_absent()});
    pdl_buf_fini(&text);
}

pdl_sink pdl_calls_sink(pdl_sink *to) { return (pdl_sink){to, on_event, false}; }
