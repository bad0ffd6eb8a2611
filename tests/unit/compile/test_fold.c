/* test_fold.c -- programs are run and their traces are compared; without a clock all times are 0.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "script_world.h"
#include "t.h"

#include <string.h>

#include "compile/compile.h"
#include "lang/load.h"
#include "trace/delayed_events.h"
#include "trace/fold.h"
#include "value/json_read.h"
#include "value/json_write.h"
#include "vm/vm.h"

#include "base/banned.h"

static pdl_val json(const char *text) {
    pdl_err err = {0};
    pdl_val v;
    if (!pdl_json_read(t_str(text), 0, &v, NULL, &err)) fail_msg("%s: %s", text, err.msg);
    return v;
}

/* Leaves what a row would only repeat out of the tree: times, leaves, empty lists, contexts. */
static pdl_val reduced(pdl_vref v);

static bool is_noise(pdl_str key, pdl_vref x) {
    static const char *const dropped[] = {"pdl__timing", "pdl__is_leaf", "pdl__usage",
                                          "pdl__context"};
    for (size_t i = 0; i < T_LEN(dropped); i++)
        if (pdl_str_is(key, dropped[i])) return true;
    if (pdl_str_is(key, "defs")) return pdl_dict_len(x) == 0;
    if (pdl_str_is(key, "expectations")) return pdl_list_len(x) == 0;
    return pdl_str_is(key, "context");
}

static pdl_val reduced(pdl_vref v) {
    if (pdl_is_list(v)) {
        pdl_val out = pdl_list_new(0);
        for (size_t i = 0; i < pdl_list_len(v); i++)
            out = pdl_list_push(out, reduced(pdl_list_at(v, i)));
        return out;
    }
    if (!pdl_is_dict(v)) return pdl_keep(v);
    pdl_val out = pdl_dict_new(0);
    for (size_t i = 0; i < pdl_dict_len(v); i++) {
        pdl_vref key = pdl_dict_key_at(v, i), x = pdl_dict_val_at(v, i);
        if (!is_noise(pdl_str_get(key), x)) out = pdl_dict_put(out, pdl_keep(key), reduced(x));
    }
    return out;
}

/* An attempt of the block `data` with this id, which failed. */
#define GONE(id)                                                                                   \
    "{\"kind\":\"error\",\"pdl__id\":\"\",\"program\":{\"kind\":\"data\",\"pdl__id\":"             \
    "\"" id "\",\"retry\":1,\"data\":\"${ nope }\",\"fallback\":\"f\"},\"msg\":\"Error during "    \
    "the evaluation of ${ nope }: 'nope' is undefined\"}"
#define DATA(id, expr, result)                                                                     \
    "{\"kind\":\"data\",\"pdl__id\":\"" id "\",\"data\":{\"pdl__expr\":" expr                      \
    ",\"pdl__result\":" result "},\"pdl__result\":" result "}"
#define TEXT(id, parts) "{\"kind\":\"text\",\"pdl__id\":\"" id "\",\"text\":[" parts "]"

static const struct {
    const char *program, *script, *trace;
} rows[] = {
    {"${ 1 + 1 }", "[]", DATA("data", "\"${ 1 + 1 }\"", "2")},
    {"text: [a, {if: false, then: {data: 1}, else: b}]", "[]",
     TEXT("text",
          DATA("text.0.data", "\"a\"",
               "\"a\"") ",{\"kind\":\"if\",\"pdl__id\":\"text.1.if\",\"if\":{\"pdl__expr\":false,"
                        "\"pdl__result\":false},"
                        "\"then\":{\"kind\":\"data\",\"pdl__id\":\"\",\"data\":1},\"else\":" DATA(
                            "text.1.if.else_.data", "\"b\"",
                            "\"b\"") ",\"pdl__result\":\"b\"}") ",\"pdl__result\":\"ab\"}"},
    {"data: '{\"a\": 1}'\nparser: json", "[]",
     "{\"kind\":\"data\",\"pdl__id\":\"data\",\"data\":{\"pdl__expr\":\"{\\\"a\\\": "
     "1}\",\"pdl__result\":\"{\\\"a\\\": 1}\"},"
     "\"pdl__result\":\"{\\\"a\\\": 1}\",\"parser\":\"json\","
     "\"pdl__parsed\":{\"a\":1}}"},
    {"for: {i: [1, 2]}\nmap: ${ i }\njoin: {as: array}", "[]",
     "{\"kind\":\"map\",\"pdl__id\":\"map\",\"for\":{\"pdl__expr\":{\"i\":[1,2]},\"pdl__result\":{"
     "\"i\":[1,2]}},\"map\":\"${ i }\","
     "\"join\":{\"as\":\"array\"},\"pdl__trace\":[" DATA("map.0.data", "\"${ i }\"", "1") "," DATA(
         "map.1.data", "\"${ i }\"", "2") "],\"pdl__result\":[1,2]}"},
    {"retry: 1\ndata: ${ nope }\nfallback: f", "[]",
     "{\"kind\":\"data\",\"pdl__id\":\"data.retry1\",\"retry\":1,\"data\":\"${ nope "
     "}\",\"fallback\":" DATA("data.fallback.data", "\"f\"", "\"f\"") ",\"pdl__abandoned\":[" GONE(
         "data") "," GONE("data.retry0") "]}"},
    {"text: [a, {data: '${ nope }'}, b]", "[]",
     TEXT("text", DATA("text.0.data", "\"a\"",
                       "\"a\"") ",{\"kind\":\"error\",\"pdl__id\":\"\",\"program\":{\"kind\":"
                                "\"data\",\"pdl__id\":\"text.1.data\","
                                "\"data\":\"${ nope }\"},\"msg\":\"Error during the evaluation of "
                                "${ nope }: 'nope' is undefined\"}") "}"},
    {"defs: {f: {function: {x: integer}, return: '${ x }'}}\ntext: ['${ f(2) }', {call: '${ f }', "
     "args: {x: 1}}]",
     "[]",
     "{\"kind\":\"text\",\"pdl__id\":\"text\",\"defs\":{\"f\":{\"kind\":\"function\",\"pdl__id\":"
     "\"\",\"function\":{\"x\":\"integer\"},\"return\":\"${ x }\","
     "\"def\":\"f\",\"pdl__result\":{\"kind\":\"function\",\"pdl__id\":\"\",\"function\":{\"x\":"
     "\"integer\"},\"return\":\"${ x }\",\"def\":\"f\"}}},\"text\":["
     "{\"kind\":\"data\",\"pdl__id\":\"text.0.data\",\"data\":{\"pdl__expr\":\"${ f(2) }\","
     "\"pdl__result\":2},\"pdl__result\":2,\"pdl__calls\":[{\"kind\":\"call\",\"pdl__id\":"
     "\"text.call0\",\"call\":\"f\",\"pdl__location\":{\"path\":[],\"file\":\"t.pdl\","
     "\"table\":{\"\":1}},\"args\":{\"pdl__expr\":{},\"pdl__result\":{\"x\":2}},"
     "\"pdl__trace\":" DATA(
         "text.call0.data", "\"${ x }\"",
         "2") ",\"pdl__result\":2}]},{\"kind\":\"call\",\"pdl__id\":\"text.1.call\","
              "\"call\":\"${ f "
              "}\",\"args\":{\"pdl__expr\":{\"x\":1},"
              "\"pdl__result\":{\"x\":1}},\"pdl__trace\":" DATA(
                  "text.1.call.data", "\"${ x }\"",
                  "1") ",\"pdl__result\":1}],\"pdl__result\":\"21\"}"},
    {"model: m\ninput: hush",
     "[{\"reply\": {\"content\": \"hush!\", \"message\": {}, \"usage\": {\"prompt_tokens\": 1, "
     "\"completion_tokens\": 2}}}]",
     "{\"kind\":\"model\",\"pdl__id\":\"model\",\"platform\":\"litellm\",\"model\":{\"pdl__expr\":"
     "\"m\",\"pdl__result\":\"m\"},\"input\":" DATA(
         "model.input.data", "\"[REDACTED]\"",
         "\"[REDACTED]\"") ",\"pdl__model_input\":[{\"role\":\"user\",\"content\":\"[REDACTED]\"}],"
                           "\"pdl__result\":\"[REDACTED]!\"}"},
};

/* late: the secret becomes known when all is written. kept: events are handed on after the run. */
static void run_row(const char *text, const char *script, const char *want, bool late, bool kept) {
    bool ok;
    pdl_err err = {0};
    pdl_program *p = pdl_program_new();
    pdl_program_load(p, PDL_STR("t.pdl"), t_str(text), &ok);
    t_assert(ok);
    pdl_interner *names = pdl_interner_new();
    pdl_secrets *secrets = pdl_secrets_new();
    if (!late) pdl_secrets_add(secrets, PDL_STR("hush"));
    pdl_fold *fold = pdl_fold_new(p, secrets, NULL);
    pdl_run_options o = {.names = names, .world = script_world_new(json(script), 1)};
    pdl_later *later = kept ? pdl_later_new(pdl_fold_sink(fold)) : NULL;
    pdl_fold *follows = pdl_fold_new(p, secrets, NULL);
    if (later) pdl_later_follow(later, pdl_fold_sink(follows));
    pdl_sinks_add(&o.sinks, later ? pdl_later_sink(later) : pdl_fold_sink(fold));
    pdl_run *r = pdl_run_new(&o);
    pdl_code *code = pdl_compile_program(p, names, true);
    pdl_run_start(r, code, pdl_absent());
    pdl_run_wait(r);
    pdl_run_free(r);
    pdl_code_drop(code);
    if (later) { /* a second fold gets the same events before the first does */
        pdl_fold *other = pdl_fold_new(p, secrets, NULL);
        pdl_buf first = PDL_BUF;
        t_assert(pdl_later_repeat(later, pdl_fold_sink(other)));
        t_assert(pdl_fold_json(other, &first, &err));
        for (int i = 0; i < 3; i++) pdl_later_pass(later, 2); /* the rest comes before the flush */
        pdl_later_flush(later);
        t_assert(!pdl_later_repeat(later, pdl_fold_sink(other)));
        pdl_buf again = PDL_BUF;
        t_assert(pdl_fold_json(fold, &again, &err));
        t_assert_str(pdl_buf_str(&again), pdl_buf_z(&first));
        pdl_buf_clear(&again);
        t_assert(pdl_fold_json(follows, &again, &err));
        t_assert_str(pdl_buf_str(&again), pdl_buf_z(&first));
        pdl_buf_fini(&first);
        pdl_buf_fini(&again);
        pdl_fold_free(other);
    }
    pdl_later_free(later);
    pdl_fold_free(follows);
    if (late) pdl_secrets_add(secrets, PDL_STR("hush"));
    pdl_buf b = PDL_BUF;
    t_assert(pdl_fold_json(fold, &b, &err));
    pdl_val all = json(pdl_buf_z(&b)), v = reduced(all);
    pdl_buf_clear(&b);
    t_assert(pdl_json_write(v, 0, 0, &b, &err));
    t_assert_str(pdl_buf_str(&b), want);
    pdl_buf_fini(&b);
    pdl_drop(v);
    pdl_drop(all);
    pdl_fold_free(fold);
    pdl_secrets_free(secrets);
    o.world->ops->close(o.world);
    pdl_program_drop(p);
    pdl_interner_drop(names);
}

static void test_trees(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        for (int how = 0; how < 4; how++)
            run_row(rows[i].program, rows[i].script, rows[i].trace, how & 1, how & 2);
    }
}

static void pass_some(void *user, const pdl_event *e) {
    if (e->kind == PDL_EVENT_block_end) pdl_later_pass(user, 3);
}

/* When too much is kept, the oldest events are passed on while the run goes on: also a call or an
 * error whose parts are in two chunks. */
static void test_oldest_first(void **state) {
    (void)state;
    enum { WAYS = 3 }; /* at once, kept, and as the follower of the kept events */
    bool ok;
    pdl_err err = {0};
    pdl_program *p = pdl_program_new();
    const char *text = "defs: {f: {function: {n: integer}, return: 'n is ${ n }'}}\n"
                       "for: {i: '${ range(200)|list }'}\n"
                       "repeat: {text: [{data: '${ range(100)|list }', contribute: []}, {call: "
                       "'${ f }', args: {n: '${ i }'}}, '${ f(n=i) }', {data: '${ none.x }', "
                       "fallback: y}]}";
    pdl_program_load(p, PDL_STR("t.pdl"), t_str(text), &ok);
    t_assert(ok);
    pdl_interner *names = pdl_interner_new();
    pdl_fold *folds[WAYS];
    pdl_buf traces[WAYS] = {PDL_BUF, PDL_BUF, PDL_BUF};
    for (int i = 0; i < WAYS; i++) folds[i] = pdl_fold_new(p, NULL, NULL);
    pdl_later *later = pdl_later_new(pdl_fold_sink(folds[1]));
    pdl_later_follow(later, pdl_fold_sink(folds[2]));
    pdl_run_options o = {.names = names, .world = pdl_null_world()};
    pdl_sinks_add(&o.sinks, pdl_fold_sink(folds[0]));
    pdl_sinks_add(&o.sinks, pdl_later_sink(later));
    pdl_sinks_add(&o.sinks, (pdl_sink){later, pass_some, true});
    pdl_run *r = pdl_run_new(&o);
    pdl_code *code = pdl_compile_program(p, names, true);
    pdl_run_start(r, code, pdl_absent());
    assert_int_equal(pdl_run_wait(r), PDL_STEP_DONE);
    t_assert(!pdl_later_repeat(later, pdl_fold_sink(folds[1])));
    pdl_later_flush(later);
    for (int i = 0; i < WAYS; i++) t_assert(pdl_fold_json(folds[i], &traces[i], &err));
    t_assert(traces[0].len > 100000);
    for (int i = 1; i < WAYS; i++) t_assert_str(pdl_buf_str(&traces[i]), pdl_buf_z(&traces[0]));
    pdl_run_free(r);
    pdl_code_drop(code);
    pdl_later_free(later);
    for (int i = 0; i < WAYS; i++) {
        pdl_buf_fini(&traces[i]);
        pdl_fold_free(folds[i]);
    }
    pdl_program_drop(p);
    pdl_interner_drop(names);
}

/* Recursion deeper than what is shown: the tree ends, nothing overflows. */
static void test_deep(void **state) {
    (void)state;
    bool ok;
    pdl_err err = {0};
    pdl_program *p = pdl_program_new();
    const char *text = "defs: {f: {function: {n: integer}, return: {if: '${ n > 0 }', then: {call: "
                       "'${ f }', args: {n: '${ n - 1 }'}}, else: z}}}\n"
                       "call: ${ f }\nargs: {n: 2000}";
    pdl_program_load(p, PDL_STR("t.pdl"), t_str(text), &ok);
    t_assert(ok);
    pdl_interner *names = pdl_interner_new();
    pdl_fold *fold = pdl_fold_new(p, NULL, NULL);
    pdl_run_options o = {.names = names, .world = pdl_null_world()};
    pdl_sinks_add(&o.sinks, pdl_fold_sink(fold));
    pdl_run *r = pdl_run_new(&o);
    pdl_code *code = pdl_compile_program(p, names, true);
    pdl_run_start(r, code, pdl_absent());
    assert_int_equal(pdl_run_wait(r), PDL_STEP_DONE);
    pdl_buf b = PDL_BUF;
    if (!pdl_fold_json(fold, &b, &err)) fail_msg("%s", err.msg);
    t_assert(b.len > 10000);
    pdl_buf_fini(&b);
    pdl_run_free(r);
    pdl_code_drop(code);
    pdl_fold_free(fold);
    pdl_program_drop(p);
    pdl_interner_drop(names);
}

static int finish(void **state) {
    (void)state;
    assert_int_equal(pdl_live_objects(), 0);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_trees),
                                       cmocka_unit_test(test_oldest_first),
                                       cmocka_unit_test(test_deep)};
    return cmocka_run_group_tests(tests, NULL, finish);
}
