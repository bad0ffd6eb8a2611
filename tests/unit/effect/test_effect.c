/* test_effect.c -- effects, their text form, and the two worlds of the tests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "t.h"
#include "script_world.h"

#include <string.h>

#include "value/context.h"
#include "value/handle.h"
#include "value/json_read.h"
#include "value/pyvalues.h"
#include "value/text.h"

#include "base/banned.h"

static pdl_val json(const char *text) {
    pdl_err err = {0};
    pdl_val v;
    if (!pdl_json_read(t_str(text), 0, &v, NULL, &err)) fail_msg("%s: %s", text, err.msg);
    return v;
}

static void round_trip(pdl_val v, const char *want) {
    pdl_err err = {0};
    pdl_buf b = PDL_BUF, c = PDL_BUF, r1 = PDL_BUF, r2 = PDL_BUF;
    pdl_val back;
    t_assert(pdl_effect_encode(v, &b, &err));
    if (want) t_assert_str(pdl_buf_str(&b), want);
    if (!pdl_effect_decode(pdl_buf_str(&b), &back, &err))
        fail_msg("%s: %s", pdl_buf_z(&b), err.msg);
    assert_int_equal(pdl_tag_of(v), pdl_tag_of(back));
    t_assert(pdl_effect_encode(back, &c, &err));
    t_assert_str(pdl_buf_str(&c), pdl_buf_z(&b));
    t_assert(pdl_val_repr(v, &r1, &err) && pdl_val_repr(back, &r2, &err));
    t_assert_str(pdl_buf_str(&r2), pdl_buf_z(&r1));
    pdl_drop(v);
    pdl_drop(back);
    pdl_buf_fini(&b);
    pdl_buf_fini(&c);
    pdl_buf_fini(&r1);
    pdl_buf_fini(&r2);
}

static void test_encode(void **state) {
    (void)state;
    pdl_err err = {0};
    static const char *const plain[] = {"null",
                                        "true",
                                        "-5",
                                        "1.5",
                                        "1e+300",
                                        "123456789012345678901234567890",
                                        "\"a\\u0000\xc3\xa9\"",
                                        "[1,[2],{\"a\":[]}]"};
    for (size_t i = 0; i < T_LEN(plain); i++) {
        T_ROW(i);
        round_trip(json(plain[i]), NULL);
    }
    pdl_val two[] = {pdl_int(1), pdl_textz("x")};
    round_trip(pdl_tuple_new(two, 2), "{\"$pdl\":\"tuple\",\"items\":[1,\"x\"]}");
    round_trip(pdl_float(1.0 / 0.0), "{\"$pdl\":\"float\",\"text\":\"inf\"}");
    round_trip(pdl_bytes(PDL_STR("\x00\xff")), "{\"$pdl\":\"bytes\",\"hex\":\"00ff\"}");
    round_trip(pdl_range_new(0, 10, 3), "{\"$pdl\":\"range\",\"items\":[0,10,3]}");
    round_trip(pdl_dict_put(pdl_dict_new(1), pdl_int(1), pdl_textz("a")),
               "{\"$pdl\":\"dict\",\"items\":[[1,\"a\"]]}");
    round_trip(pdl_dict_putz(pdl_dict_new(1), "$pdl", pdl_textz("tuple")),
               "{\"$pdl\":\"dict\",\"items\":[[\"$pdl\",\"tuple\"]]}");
    round_trip(pdl_set_from_dict(pdl_dict_put(pdl_dict_new(1), pdl_int(1), pdl_null())),
               "{\"$pdl\":\"set\",\"items\":[1]}");
    round_trip(pdl_with_flags(pdl_textz("<b>"), PDL_F_SAFE),
               "{\"$pdl\":\"safe\",\"text\":\"<b>\"}");
    round_trip(pdl_context_one(pdl_textz("user"), pdl_textz("hi"), pdl_absent(), NULL), NULL);
    pdl_time t = {
        .year = 2024, .month = 1, .day = 15, .hour = 10, .has_zone = true, .zone_seconds = -18000};
    pdl_val d;
    t_assert(pdl_date_new(&t, &d, &err));
    round_trip(d, "{\"$pdl\":\"date\",\"text\":\"2024-01-15\"}");
    t_assert(pdl_datetime_new(&t, &d, &err));
    round_trip(d, "{\"$pdl\":\"datetime\",\"text\":\"2024-01-15 10:00:00-05:00\"}");
}

/* An object of the worker travels with its texts and, where it has one, its form as data; a
 * function as its text. */
static void test_handles(void **state) {
    (void)state;
    pdl_val h = pdl_handle_new(7, pdl_textz("Thing"), pdl_textz("s\"t"), pdl_textz("r"), true, 3);
    round_trip(pdl_keep(h), "{\"$pdl\":\"handle\",\"id\":7,\"len\":3,\"truth\":true,\"callable\":"
                            "false,\"texts\":[\"Thing\",\"s\\\"t\",\"r\"]}");
    pdl_handle_of(h)->callable = true;
    pdl_handle_of(h)->json = json("[1,{\"a\":2}]");
    round_trip(pdl_keep(h), "{\"$pdl\":\"handle\",\"id\":7,\"len\":3,\"truth\":true,\"callable\":"
                            "true,\"texts\":[\"Thing\",\"s\\\"t\",\"r\"],\"json\":[1,{\"a\":2}]}");
    pdl_drop(h);
    round_trip(pdl_undefined(pdl_textz("'x' is undefined")), NULL);
}

static void test_malformed(void **state) {
    (void)state;
    static const char *const rows[] = {
        "{\"$pdl\":\"nope\"}",
        "{\"$pdl\":\"tuple\"}",
        "{\"$pdl\":\"tuple\",\"items\":1}",
        "{\"$pdl\":5,\"items\":[]}",
        "{\"$pdl\":\"dict\",\"items\":[1]}",
        "{\"$pdl\":\"dict\",\"items\":[[[],1]]}",
        "{\"$pdl\":\"bytes\",\"hex\":\"0\"}",
        "{\"$pdl\":\"range\",\"items\":[0,1,0]}",
        "{\"$pdl\":\"date\",\"text\":\"x\"}",
        "{\"$pdl\":\"datetime\",\"text\":\"2024-02-30 00:00:00\"}",
        "{\"$pdl\":\"float\",\"text\":\"x\"}",
        "{\"$pdl\":\"nope\",\"text\":\"x\"}",
        "{\"$pdl\":\"nope\",\"items\":[]}",
        "{\"$pdl\":\"tuple\",\"items\":[{\"$pdl\":\"nope\"}]}",
        "{\"a\":{\"$pdl\":\"nope\"}}",
        "{\"$pdl\":\"set\",\"items\":[[]]}",
        "{\"$pdl\":\"bytes\",\"hex\":\"zz\"}",
        "{\"$pdl\":\"bytes\"}",
        "{\"$pdl\":\"range\",\"items\":[0,\"1\",1]}",
        "{\"$pdl\":\"range\",\"items\":[0,1]}",
        "{\"$pdl\":\"handle\"}",
        "{\"$pdl\":\"handle\",\"id\":1,\"len\":0,\"texts\":[\"a\",\"b\"]}",
        "{\"$pdl\":\"handle\",\"id\":1,\"len\":0,\"texts\":[\"a\",\"b\",5]}",
        "{\"$pdl\":\"handle\",\"id\":\"1\",\"len\":0,\"texts\":[\"a\",\"b\",\"c\"]}",
        "{\"$pdl\":\"handle\",\"id\":1,\"len\":0,\"texts\":[\"a\",\"b\",\"c\"],\"json\":{\"$pdl\":"
        "5}}",
        "{\"$pdl\":\"handle\",\"id\":1,\"len\":-2,\"texts\":[\"a\",\"b\",\"c\"]}",
        "{\"$pdl\":\"range\",\"items\":[0,9223372036854775807,1]}",
        "{\"$pdl\":\"range\",\"items\":[-9223372036854775808,9223372036854775807,1]}",
        "{\"$pdl\":\"absent\"}",
        "{\"$pdl\":\"set\",\"items\":[{\"$pdl\":\"absent\"}]}",
        "[",
        ""};
    for (size_t i = 0; i < T_LEN(rows); i++) {
        pdl_err err = {0};
        pdl_val v;
        T_ROW(i);
        t_assert(!pdl_effect_decode(t_str(rows[i]), &v, &err));
        pdl_err_fini(&err);
    }
}

static void test_canonical(void **state) {
    (void)state;
    pdl_err err = {0};
    pdl_buf b = PDL_BUF;
    pdl_val r =
        json("{\"stream\":true,\"model\":\"m\",\"parameters\":{\"temperature\":0.5,\"api_key\":"
             "\"s3\",\"api_base\":\"u\",\"timeout\":3,"
             "\"X-Subscription-Key\":\"s\"},\"messages\":[{\"role\":\"user\",\"content\":\"c\"}]}");
    pdl_effect *e =
        pdl_effect_new(PDL_EFFECT_model, (pdl_effect_at){.id = 1}, r, (pdl_effect_sink){0});
    t_assert(pdl_effect_canonical(e->kind, e->request, NULL, &b, &err));
    t_assert_str(pdl_buf_str(&b),
                 "{\"messages\":[{\"content\":\"c\",\"role\":\"user\"}],\"model\":\"m\","
                 "\"parameters\":{\"temperature\":0.5}}");
    pdl_effect_free(e);
    pdl_buf_clear(&b);
    e = pdl_effect_new(PDL_EFFECT_code, (pdl_effect_at){.id = 1},
                       json("{\"vars\":{\"token\":\"s\",\"n\":1}}"), (pdl_effect_sink){0});
    t_assert(pdl_effect_canonical(e->kind, e->request, NULL, &b, &err));
    t_assert_str(pdl_buf_str(&b), "{\"vars\":{\"n\":1,\"token\":\"[REDACTED]\"}}");
    pdl_effect_free(e);
    pdl_buf_fini(&b);
    t_assert(pdl_is_secret_key(t_str("API_KEY")) &&
             pdl_is_secret_key(t_str("Proxy-Authorization")) &&
             pdl_is_secret_key(t_str("x-api-key")));
    t_assert(!pdl_is_secret_key(t_str("temperature")) && !pdl_is_secret_key(t_str("max_tokens")));
}

/* Each effect frees what it owns, so the second one lives on without the first; what it does not
 * own is the same. */
static void test_forward(void **state) {
    (void)state;
    static const pdl_call_in call_in = {0};
    static const pdl_sender sender = {0};
    const double limits[PDL_BUDGET_COUNT] = {1};
    pdl_path *place = pdl_path_name(NULL, "here");
    pdl_effect *e = pdl_effect_new(
        PDL_EFFECT_code, (pdl_effect_at){7, place, 3, (pdl_loc){.start = 5, .end = 5}},
        json("{\"code\":\"a text that is not short\"}"), (pdl_effect_sink){.user = place});
    pdl_path_drop(place);
    e->call_in = &call_in;
    e->sender = &sender;
    e->budget = pdl_budget_new(limits, NULL, (pdl_loc){0});
    e->sandbox = json("[{\"network\":[\"a host that is not short\"]}]");
    e->added_labels = 1;
    e->control = 2;
    e->chosen = 4;
    e->process = 8;
    e->session = 9;
    e->is_trusted = e->is_import = e->by_code = e->repeatable = e->continues = true;
    int other;
    pdl_effect *same = pdl_effect_forward(e, (pdl_effect_sink){.user = &other});
    t_assert(e->sink.user != &other && same->sink.user == &other);
    pdl_effect_free(e);
    pdl_buf text = PDL_BUF;
    pdl_path_text(same->place, &text);
    t_assert_str(pdl_buf_str(&text), "here");
    t_assert_str(pdl_str_get(pdl_dict_getz(same->request, "code")), "a text that is not short");
    t_assert(pdl_list_len(same->sandbox) == 1 && same->budget);
    t_assert(same->kind == PDL_EFFECT_code && same->id == 7 && same->seq == 3);
    t_assert(same->loc.start == 5 && same->call_in == &call_in && same->sender == &sender);
    t_assert(same->added_labels == 1 && same->control == 2 && same->chosen == 4);
    t_assert(same->process == 8 && same->session == 9);
    t_assert(same->is_trusted && same->is_import && same->by_code && same->repeatable &&
             same->continues);
    pdl_buf_fini(&text);
    pdl_effect_free(same);
}

typedef struct seen {
    pdl_buf log;
    pdl_world *world;
    uint32_t cancel_on_piece;
} seen;

static void on_piece(void *user, const pdl_effect *e, pdl_str text) {
    seen *s = user;
    pdl_buf_putf(&s->log, "%u+%.*s ", e->id, PDL_FMT(text));
    if (s->cancel_on_piece == e->id) s->world->ops->cancel(s->world, e->id);
}

static void on_reply(void *user, const pdl_effect *e, const pdl_reply *r) {
    seen *s = user;
    if (r->err.kind != PDL_E_NONE)
        pdl_buf_putf(&s->log, "%u!%s:%s ", e->id, pdl_err_kind_name(r->err.kind), r->err.msg);
    else
        pdl_buf_putf(&s->log, "%u=%lld ", e->id, (long long)pdl_int_of(r->value));
}

static void run_script(const char *script, int order, int n, uint32_t cancel,
                       uint32_t cancel_on_piece, const char *want) {
    seen s = {.log = PDL_BUF, .cancel_on_piece = cancel_on_piece};
    pdl_world *w = s.world = script_world_new(json(script), order);
    pdl_effect_sink sink = {.user = &s, .piece = on_piece, .reply = on_reply};
    for (int i = 1; i <= n; i++)
        w->ops->start(w, pdl_effect_new(PDL_EFFECT_now, (pdl_effect_at){.id = (uint32_t)i},
                                        pdl_dict_new(0), sink));
    w->ops->cancel(w, cancel);
    for (int left = n; left > 2 && w->ops->poll(w, -1); left--) {}
    t_assert_str(pdl_buf_str(&s.log), want);
    w->ops->close(w);
    pdl_buf_fini(&s.log);
}

static void test_worlds(void **state) {
    (void)state;
    static const char three[] =
        "[{\"kind\":\"now\",\"reply\":1},{\"error\":{\"kind\":\"rate_limit\","
        "\"message\":\"slow\"},\"pieces\":[\"a\",\"b\"]},{\"kind\":\"sleep\"}]";
    run_script(
        three, 0, 4, 9, 0,
        "1=1 2+a 2+b 2!rate_limit:slow 3!runtime:the script expects sleep, not now 4!runtime:the "
        "script has no more answers: now ");
    run_script(three, 1, 4, 1, 0,
               "2+a 2+b 2!rate_limit:slow 3!runtime:the script expects sleep, not now ");
    run_script(three, 2, 4, 3, 2, "4!runtime:the script has no more answers: now 2+a ");
    run_script(three, 1, 2, 0, 0, "");
    seen s = {.log = PDL_BUF};
    pdl_world *w = pdl_null_world();
    w->ops->start(
        w, pdl_effect_new(PDL_EFFECT_read, (pdl_effect_at){.id = 7}, pdl_dict_new(0),
                          (pdl_effect_sink){.user = &s, .piece = on_piece, .reply = on_reply}));
    t_assert_str(pdl_buf_str(&s.log), "7!runtime:nothing outside can be reached: read ");
    t_assert(!w->ops->poll(w, -1));
    w->ops->close(w);
    pdl_buf_fini(&s.log);
}

/* One reply of each kind that is right, and some that are not; {op} is part of the request. */
static void test_forms(void **state) {
    (void)state;
    static const struct {
        pdl_effect_kind kind;
        const char *request, *reply, *problem; /* NULL: none */
    } rows[] = {
        {PDL_EFFECT_model, "{}",
         "{\"content\":\"a\",\"message\":{\"role\":\"x\"},\"raw\":{\"a\":[1,null]},\"usage\":null}",
         NULL},
        {PDL_EFFECT_model, "{}", "4702111234474983745",
         "a value of type int is not a reply of kind model"},
        {PDL_EFFECT_model, "{}", "{\"$pdl\":\"set\",\"items\":[\"content\"]}",
         "a value of type set is not a reply of kind model"},
        {PDL_EFFECT_model, "{}", "{\"message\":{}}", "a reply of kind model has no content"},
        {PDL_EFFECT_model, "{}", "{\"content\":\"a\",\"message\":5}",
         "message in a reply of kind model cannot be this value of type int"},
        {PDL_EFFECT_model, "{}",
         "{\"content\":\"a\",\"raw\":{\"x\":[{\"$pdl\":\"undefined\",\"text\":\"u\"}]}}",
         "raw in a reply of"},
        {PDL_EFFECT_model, "{}", "{\"$pdl\":\"dict\",\"items\":[[\"content\",\"a\"],[5,6]]}",
         "a value of type dict is not a reply"},
        {PDL_EFFECT_embed, "{}", "{\"embeddings\":[[1,2.5],[]],\"usage\":{},\"model\":\"m\"}",
         NULL},
        {PDL_EFFECT_http, "{}",
         "{\"status\":200,\"headers\":{},\"type\":\"\",\"charset\":null,\"text\":null,"
         "\"base64\":\"\"}",
         NULL},
        {PDL_EFFECT_http, "{}", "{\"status\":\"200\"}", "status in a reply of"},
        {PDL_EFFECT_embed, "{}", "{\"embeddings\":[[1,\"2\"]]}", "embeddings in a reply of"},
        {PDL_EFFECT_code, "{}",
         "{\"result\":{\"$pdl\":\"set\",\"items\":[1]},\"rebound\":{\"x\":1},\"stdout\":\"\"}",
         NULL},
        {PDL_EFFECT_code, "{}", "{\"rebound\":{}}", "a reply of kind code has no result"},
        {PDL_EFFECT_code, "{}", "{\"result\":1,\"rebound\":{\"$pdl\":\"dict\",\"items\":[[5,6]]}}",
         "rebound in a reply of"},
        {PDL_EFFECT_object, "{\"op\":\"attr\"}", "5", NULL},
        {PDL_EFFECT_object, "{\"op\":\"iter\"}", "[5]", NULL},
        {PDL_EFFECT_object, "{\"op\":\"iter\"}", "5",
         "a value of type int is not a reply of kind object"},
        {PDL_EFFECT_object, "{\"op\":\"len\"}", "\"5\"",
         "a value of type str is not a reply of kind object"},
        {PDL_EFFECT_tool, "{\"op\":\"list\"}", "[{\"name\":\"n\",\"inputSchema\":{}}]", NULL},
        {PDL_EFFECT_tool, "{\"op\":\"list\"}", "{}",
         "a value of type dict is not a reply of kind tool"},
        {PDL_EFFECT_tool, "{\"op\":\"call\"}", "{\"content\":[],\"text\":\"t\"}", NULL},
        {PDL_EFFECT_tool, "{\"op\":\"call\"}", "[]",
         "a value of type list is not a reply of kind tool"},
        {PDL_EFFECT_tool, "{\"op\":\"request\"}", "5", NULL},
        {PDL_EFFECT_tool, "{\"op\":\"request\"}", "[{\"$pdl\":\"bytes\",\"hex\":\"00\"}]",
         "a value of type list is not a reply of kind tool"},
        {PDL_EFFECT_command, "{}", "{\"stdout\":\"\",\"stderr\":\"\",\"status\":0}", NULL},
        {PDL_EFFECT_command, "{}", "{\"stdout\":\"\",\"stderr\":\"\",\"status\":1.5}",
         "status in a reply of kind command cannot be"},
        {PDL_EFFECT_read, "{}", "\"t\"", NULL},
        {PDL_EFFECT_read, "{}", "null", "a value of type NoneType is not a reply of kind read"},
        {PDL_EFFECT_write, "{}", "null", NULL},
        {PDL_EFFECT_write, "{}", "1", "a value of type int is not a reply of kind write"},
        {PDL_EFFECT_input, "{}", "null", NULL},
        {PDL_EFFECT_input, "{}", "1", "a value of type int is not a reply of kind input"},
        {PDL_EFFECT_source, "{}", "{\"path\":\"p\",\"text\":\"t\"}", NULL},
        {PDL_EFFECT_source, "{}", "{\"path\":\"p\"}", "a reply of kind source has no text"},
        {PDL_EFFECT_sleep, "{}", "null", NULL},
        {PDL_EFFECT_now, "{}", "1.5", NULL},
        {PDL_EFFECT_now, "{}", "true", "a value of type bool is not a reply of kind now"},
        {PDL_EFFECT_random, "{}", "123456789012345678901234567890", NULL},
        {PDL_EFFECT_random, "{}", "1.5", "a value of type float is not a reply of kind random"},
    };
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        pdl_err err = {0};
        pdl_val v;
        pdl_effect *e = pdl_effect_new(rows[i].kind, (pdl_effect_at){.id = 1},
                                       json(rows[i].request), (pdl_effect_sink){0});
        bool ok = pdl_effect_read(e, t_str(rows[i].reply), &v, &err);
        if (ok) pdl_drop(v);
        if (ok != !rows[i].problem || (!ok && !strstr(err.msg, rows[i].problem)))
            fail_msg("row %zu: %s", i, ok ? "fits" : err.msg);
        pdl_err_fini(&err);
        pdl_effect_free(e);
    }
}

static void test_names(void **state) {
    (void)state;
    pdl_effect_kind k;
    for (int i = 0; i < PDL_EFFECT_COUNT; i++)
        t_assert(pdl_effect_kind_find(t_str(pdl_effect_kind_name((pdl_effect_kind)i)), &k) &&
                 (int)k == i);
    t_assert(!pdl_effect_kind_find(t_str("nope"), &k));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encode),    cmocka_unit_test(test_handles),
        cmocka_unit_test(test_malformed), cmocka_unit_test(test_canonical),
        cmocka_unit_test(test_worlds),    cmocka_unit_test(test_forms),
        cmocka_unit_test(test_names),     cmocka_unit_test(test_forward)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
