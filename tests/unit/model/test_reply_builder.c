/* test_reply_builder.c -- a reply is built from events, and the fast reader of events refuses what
 * it must refuse.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/wire/chunk.h"
#include "model/wire/dialect.h"
#include "model/wire/reply_builder.h"
#include "value/json_write.h"

#include "t.h"

#include "base/banned.h"

#define E(delta)                                                                                   \
    "{\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":" delta ",\"finish_reason\":null}]}"

static const struct {
    const char *event;
    bool quick;
    const char *text; /* what the generic or the quick reader must add */
} events[] = {
    {E("{\"content\":\"ab\"}"), true, "ab"},
    {E("{\"role\":\"assistant\",\"content\":\"\"}"), true, ""},
    {" { \"choices\" : [ { \"index\" : 0 , \"delta\" : { \"content\" : \"x\" } , \"logprobs\" : "
     "null } ] , "
     "\"usage\" : null } ",
     true, "x"},
    {E("{\"content\":\"a\\n\\t\\\"\\\\\\/\\u00e4\\ud83d\\ude00b\"}"), true,
     "a\n\t\"\\/\xc3\xa4\xf0\x9f\x98\x80"
     "b"},
    {E("{\"content\":\"\xe4\xb8\x96\"}"), true, "\xe4\xb8\x96"},
    {E("{}"), true, ""},
    {E("{\"content\":null}"), true, ""},
    /* The first half of a pair waits for the other one, which may come with the next event. */
    {E("{\"content\":\"\\ud83d\"}"), false, ""},
    {E("{\"tool_calls\":[]}"), false, ""},
    {E("{\"reasoning_content\":\"x\"}"), false, ""},
    {"{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"x\"}}]}", false, ""},
    {"{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}",
     false, "x"},
    {"{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}},{\"index\":1,\"delta\":{"
     "\"content\":\"y\"}}]"
     "}",
     false, "x"},
    {"{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}],\"usage\":{\"prompt_tokens\":1}}",
     false, "x"},
    {"{\"choices\":[],\"usage\":null}", false, ""},
    {"{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\",\"content\":\"y\"}}]}", false, "y"},
    {"{\"id\":\"\\u0041\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}", false, "x"},
};

static void test_events(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(events); i++) {
        T_ROW(i);
        for (int through = 0; through < 2; through++) {
            pdl_reply_builder d;
            pdl_err err = {0};
            pdl_ask a = {0};
            pdl_reply_builder_init(&d);
            t_assert(!pdl_chunk_read(t_str(E("{\"content\":\"first\"}")), &d));
            pdl_str head = PDL_STR("{\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{}}]}");
            t_assert(pdl_dialect_openai.event(&a, head, &d, &err));
            if (through) {
                t_assert(pdl_dialect_openai.event(&a, t_str(events[i].event), &d, &err));
                t_assert_str(pdl_buf_str(&d.piece), events[i].text);
            } else {
                t_assert(pdl_chunk_read(t_str(events[i].event), &d) == events[i].quick);
                t_assert_str(pdl_buf_str(&d.piece), events[i].quick ? events[i].text : "");
            }
            pdl_reply_builder_fini(&d);
        }
    }
}

static const char *const no_json[] = {
    "",
    "{",
    "{}",
    "[]",
    "nope",
    "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]} x",
    "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x",
    "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\n\"}}]}",
    "{\"choices\":[{\"index\":00,\"delta\":{\"content\":\"x\"}}]}",
    "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\\q\"}}]}"};

static void test_quick_refuses(void **state) {
    (void)state;
    pdl_reply_builder d;
    pdl_reply_builder_init(&d);
    d.head = pdl_dict_putz(d.head, "id", pdl_null());
    for (size_t i = 0; i < T_LEN(no_json); i++) {
        T_ROW(i);
        t_assert(!pdl_chunk_read(t_str(no_json[i]), &d));
        t_assert(!d.begun);
    }
    pdl_reply_builder_fini(&d);
}

/* Pieces of content -> what is shown while they come, and the message. */
static const struct {
    const char *pieces[6];
    const char *shown, *message;
} thoughts[] = {
    {{"plain ", "text"}, "plain text", "{\"role\":\"assistant\",\"content\":\"plain text\"}"},
    {{"<thi", "nk>a", "b</th", "ink>c"},
     "c",
     "{\"role\":\"assistant\",\"content\":\"c\",\"reasoning_content\":\"ab\"}"},
    {{"<think></think>c"},
     "c",
     "{\"role\":\"assistant\",\"content\":\"c\",\"reasoning_content\":\"\"}"},
    {{"<thi", "s>"}, "<this>", "{\"role\":\"assistant\",\"content\":\"<this>\"}"},
    {{"<think>x", "y</thin"},
     "<think>xy</thin",
     "{\"role\":\"assistant\",\"content\":\"<think>xy</thin\"}"},
    {{"<th"}, "<th", "{\"role\":\"assistant\",\"content\":\"<th\"}"},
    {{"", ""}, "", "{\"role\":\"assistant\",\"content\":\"\"}"},
    {{NULL}, "", "{\"role\":\"assistant\",\"content\":null}"},
};

static void test_thinking(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(thoughts); i++) {
        T_ROW(i);
        pdl_reply_builder d;
        pdl_err err = {0};
        pdl_buf text = PDL_BUF;
        pdl_reply_builder_init(&d);
        for (size_t k = 0; thoughts[i].pieces[k]; k++)
            pdl_reply_builder_text(&d, t_str(thoughts[i].pieces[k]));
        pdl_val raw = pdl_reply_builder_take(&d);
        t_assert_str(pdl_buf_str(&d.piece), thoughts[i].shown);
        pdl_vref choice = pdl_list_at(pdl_dict_getz(raw, "choices"), 0);
        t_assert(pdl_json_write(pdl_dict_getz(choice, "message"), 0, 0, &text, &err));
        t_assert_str(pdl_buf_str(&text), thoughts[i].message);
        pdl_drop(raw);
        pdl_buf_fini(&text);
        pdl_reply_builder_fini(&d);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_events),
                                       cmocka_unit_test(test_quick_refuses),
                                       cmocka_unit_test(test_thinking)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
