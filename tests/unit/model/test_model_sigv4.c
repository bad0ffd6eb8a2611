/* test_model_sigv4.c -- compares signatures of AWS with known ones; also frames of its event
 * streams.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"

#include "model/wire/eventstream.h"
#include "model/wire/sigv4.h"

#include "base/banned.h"

static void signatures(void **state) {
    (void)state;
    static const struct {
        const char *token, *path, *body, *want;
    } rows[] = {
        {"", "/model/anthropic.claude-3-5-sonnet-20240620-v1%3A0/converse",
         "{\"messages\": [{\"role\": \"user\", \"content\": [{\"text\": \"Hello\"}]}], "
         "\"inferenceConfig\": {}}",
         "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240102/us-east-1/bedrock/aws4_request, "
         "SignedHeaders=content-type;host;x-amz-date, "
         "Signature=390cc7db46f2ec97f5a7c81b274c29cd556d9c51cb54e7dfde255fe7979af1de"},
        {"TOKEN//x=", "/model/amazon.nova-lite-v1%3A0/converse-stream", "{\"messages\": []}",
         "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20240102/us-east-1/bedrock/aws4_request, "
         "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, "
         "Signature=6fb1ca82a9af312705ed8c582b45e6b679e27fa60d7314a271fd5d5b4edda07d"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_buf time = PDL_BUF, out = PDL_BUF;
        pdl_sigv4_time(INT64_C(1704164645) * 1000000000, &time);
        pdl_sigv4 s = {
            .access_key = PDL_STR("AKIDEXAMPLE"),
            .secret_key = PDL_STR("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
            .session_token = t_str(rows[i].token),
            .region = PDL_STR("us-east-1"),
            .service = PDL_STR("bedrock"),
            .timestamp = pdl_buf_str(&time),
            .host = PDL_STR("bedrock-runtime.us-east-1.amazonaws.com"),
            .path = t_str(rows[i].path),
            .content_type = PDL_STR("application/json"),
            .body = t_str(rows[i].body),
        };
        pdl_sigv4_write(&s, &out);
        t_assert_str(pdl_buf_str(&time), "20240102T030405Z");
        t_assert_str(pdl_buf_str(&out), rows[i].want);
        pdl_buf_fini(&time);
        pdl_buf_fini(&out);
    }
}

/* The first frame of conformance/providers/bedrock-converse-stream.json. */
static const char frame[] =
    "\x00\x00\x00\x77\x00\x00\x00\x52\xab\xb5\xd3\x6e\r:message-type\x07\x00\x05"
    "event\x0b:event-type\x07\x00\x0cmessageStart\r:content-type\x07\x00\x10"
    "application/json{\"role\": \"assistant\"}\xc1\x2c\x0f\x38";
enum { FRAME = sizeof frame - 1 };

static bool keep(void *user, pdl_str name, pdl_str text, pdl_err *err) {
    (void)name;
    (void)err;
    pdl_buf_put(user, text);
    return true;
}

static void frames(void **state) {
    (void)state;
    for (size_t cut = 0; cut <= FRAME; cut++) {
        pdl_eventstream s = {0};
        pdl_buf out = PDL_BUF;
        pdl_err err = {0};
        T_ROW(cut);
        t_assert(pdl_eventstream_feed(&s, (pdl_str){frame, cut}, keep, &out, &err));
        bool whole = cut == 0 || cut == FRAME;
        t_assert(pdl_eventstream_end(&s, &err) == whole);
        pdl_err_fini(&err);
        t_assert(pdl_eventstream_feed(&s, (pdl_str){frame + cut, FRAME - cut}, keep, &out, &err));
        t_assert(pdl_eventstream_end(&s, &err));
        t_assert_str(pdl_buf_str(&out), "{\"messageStart\":{\"role\": \"assistant\"}}");
        pdl_eventstream_fini(&s);
        pdl_buf_fini(&out);
    }
    for (size_t i = 0; i < FRAME; i++) { /* one wrong byte is seen, or more is waited for */
        pdl_eventstream s = {0};
        pdl_buf out = PDL_BUF;
        pdl_err err = {0};
        char bad[FRAME];
        T_ROW(i);
        memcpy(bad, frame, FRAME);
        bad[i] ^= 0x10;
        t_assert(!pdl_eventstream_feed(&s, (pdl_str){bad, FRAME}, keep, &out, &err));
        t_assert(err.kind == PDL_E_protocol && out.len == 0);
        pdl_err_fini(&err);
        pdl_eventstream_fini(&s);
        pdl_buf_fini(&out);
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {cmocka_unit_test(signatures),
                                              cmocka_unit_test(frames)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
