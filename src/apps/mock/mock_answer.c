/* mock_answer.c -- sends an answer that was decided before, as a whole or word by word; see
 * mock_answer.h. The words of a stream may be delayed, so an answer is an object with a timer that
 * lives as long as its exchange.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mock/mock_answer.h"

#include <stdio.h>

#include "value/json_write.h"

#include "base/banned.h"

/* --- sending ---------------------------------------------------------------------------------- */

void pdl_mock_put_json(pdl_vref v, pdl_buf *out) {
    pdl_err ignored = {0};
    int flags = PDL_JSON_LOOSE | PDL_JSON_CUT | PDL_JSON_NAN_NULL;
    if (!pdl_json_write(v, flags, 0, out, &ignored)) PDL_PUT(out, "null");
    pdl_err_fini(&ignored);
}

void pdl_mock_send(pdl_exchange *x, int status, pdl_val v) {
    static const pdl_answer_header headers[] = {{"Content-Type", "application/json"}};
    pdl_buf b = PDL_BUF;
    pdl_mock_put_json(v, &b);
    pdl_exchange_answer(x, status, headers, 1, pdl_buf_str(&b));
    pdl_drop(v);
    pdl_buf_fini(&b);
}

void pdl_mock_refuse(const pdl_mock_form *form, pdl_exchange *x, int status, pdl_str why) {
    pdl_mock_send(x, status, form->error(status, why));
}

static void stream_on(void *user);

static void wait_for(pdl_mock_answer *a, int64_t ms, void (*fn)(void *user)) {
    a->timer = pdl_timer_start(a->opt->loop, (uint64_t)ms, fn, a);
}

static void begin_stream(pdl_mock_answer *a) {
    pdl_answer_header headers[] = {{"Content-Type", a->form->streams},
                                   {"Cache-Control", "no-store"}};
    pdl_exchange_begin(a->x, 200, headers, 2);
    if (a->form->begin) a->form->begin(a);
    a->began = true;
}

/* Sends the words of the present choice, with the delay before each. Without a delay, sends all
 * words at once. Returns false when it must wait. */
static bool stream_choice(pdl_mock_answer *a) {
    pdl_str said = pdl_mock_said(a);
    for (pdl_str word = pdl_mock_next_word(said, &a->at); word.n;
         word = pdl_mock_next_word(said, &a->at)) {
        a->form->word(a, word);
        if (!a->opt->delay_ms) continue;
        wait_for(a, a->opt->delay_ms, stream_on);
        return false;
    }
    a->form->end(a);
    return true;
}

/* Sends one choice after the other. */
static void stream_on(void *user) {
    pdl_mock_answer *a = user;
    a->timer = NULL;
    if (!a->began) begin_stream(a);
    while (stream_choice(a)) {
        if (a->choice + 1 == a->choices.n) {
            if (a->form->done) a->form->done(a);
            pdl_exchange_end(a->x);
            return;
        }
        pdl_mock_choose(a, a->choice + 1);
        a->at = 0;
        if (a->form->begin) a->form->begin(a);
    }
}

static void answer_now(void *user) {
    pdl_mock_answer *a = user;
    char seconds[32];
    a->timer = NULL;
    if (a->item && a->item->status) {
        if (a->item->retry_after >= 0) {
            snprintf(seconds, sizeof seconds, "%g", a->item->retry_after);
            pdl_exchange_add_header(a->x, "Retry-After", seconds);
        }
        pdl_mock_refuse(a->form, a->x, (int)a->item->status, pdl_mock_why(a));
    } else if (!a->item && a->opt->strict) {
        pdl_mock_refuse(a->form, a->x, 404, pdl_mock_why(a));
    } else if (a->streams) {
        stream_on(a);
    } else {
        pdl_mock_send(a->x, 200, a->form->whole(a));
    }
}

/* Returns the content: a text, or a list of texts when there are several choices. */
static pdl_val said_of(const pdl_mock_answer *a) {
    if (a->choices.n == 1) return pdl_keep(pdl_dict_getz(a->message, "content"));
    pdl_val list = pdl_list_new(a->choices.n);
    for (size_t i = 0; i < a->choices.n; i++)
        list = pdl_list_push(list, pdl_keep(pdl_dict_getz(a->choices.p[i].message, "content")));
    return list;
}

static void log_answer(const pdl_mock_answer *a) {
    pdl_buf b = PDL_BUF, asked = PDL_BUF;
    if (!a->opt->log) return;
    pdl_mock_put_asked(a, 0, &asked);
    pdl_val v =
        pdl_dict_putz(pdl_dict_new(3), "model", pdl_keep(pdl_dict_getz(a->request, "model")));
    v = pdl_dict_putz(v, "asked", pdl_text_of_buf(&asked));
    if (a->item && a->item->status)
        v = pdl_dict_putz(v, "status", pdl_int(a->item->status));
    else
        v = pdl_dict_putz(v, "said", said_of(a));
    pdl_mock_put_json(v, &b);
    pdl_buf_putc(&b, '\n');
    a->opt->log(a->opt->user, pdl_buf_str(&b));
    pdl_drop(v);
    pdl_buf_fini(&b);
}

void pdl_mock_answer_start(const pdl_mock_options *o, pdl_mock_script *script, uint64_t number,
                           const pdl_mock_form *form, pdl_exchange *x, pdl_val request) {
    pdl_mock_answer *a = PDL_NEW(pdl_mock_answer);
    *a = (pdl_mock_answer){
        .opt = o, .form = form, .x = x, .request = request, .message = pdl_absent()};
    a->streams = pdl_mock_asks(request, "stream", form->by_default);
    pdl_exchange_set(x, a);
    if (pdl_mock_wanted(form, request) < 0) {
        pdl_mock_refuse(form, x, 400, PDL_STR("n: expected a whole number from 1 to 128"));
        return;
    }
    pdl_mock_decide(a, script, number);
    log_answer(a);
    int64_t delay = (a->item ? a->item->delay_ms : 0) + o->delay_ms;
    if (delay)
        wait_for(a, delay, answer_now);
    else
        answer_now(a);
}

void pdl_mock_answer_free(pdl_mock_answer *a) {
    if (!a) return;
    pdl_timer_stop(a->timer);
    pdl_drop(a->request);
    pdl_mock_choices_fini(a);
    pdl_free(a);
}
