/* worker_kit.h -- helpers of the tests of the worker: a world with a Python process, requests to
 * it, and the text of its answers. These tests are several programs because most of them wait for
 * processes to end. When the programs run at the same time, all of them take as long as one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_TESTS_WORKER_KIT_H
#define PDL_TESTS_WORKER_KIT_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "io/clock.h"
#include "t.h"
#include "value/context.h"
#include "value/func.h"
#include "value/handle.h"
#include "value/json_read.h"
#include "value/text.h"
#include "worker/worker.h"

#include "base/banned.h"

enum { DEPTH = 5 };

/* How the error of a Python process begins that is not there any more. */
#define ENDED "code: Python Code error: the Python process "

static struct {
    pdl_loop *loop;
    pdl_world *world;
    /* answers: repr of {result, rebound}, of the reply, or "KIND: MSG [FOREIGN] DETAIL" */
    pdl_buf got;
    pdl_buf out;  /* pieces */
    pdl_val kept; /* result of the last block */
    uint32_t id;
    int nested;
    const char *python;
} t;

/* --- the run that asks ------------------------------------------------------------------------ */

static inline void on_piece(void *user, const pdl_effect *e, pdl_str text) {
    (void)user;
    (void)e;
    pdl_buf_put(&t.out, text);
}

static inline void show(pdl_vref v) {
    pdl_err err = {0};
    assert_true(pdl_val_repr(v, &t.got, &err));
}

static inline void on_reply(void *user, const pdl_effect *e, const pdl_reply *r) {
    (void)user;
    if (t.got.len) pdl_buf_putc(&t.got, '\n');
    if (r->err.kind) {
        pdl_buf_putf(&t.got, "%s: %s [%s] ", pdl_err_kind_name(r->err.kind), r->err.msg,
                     r->err.py_class ? r->err.py_class : "");
        if (r->err.facts.line1) pdl_buf_putf(&t.got, "line %u", r->err.facts.line1);
        if (r->err.has_status) pdl_buf_putf(&t.got, " %d", r->err.status);
        return;
    }
    if (e->kind != PDL_EFFECT_code) {
        show(r->value);
        return;
    }
    pdl_drop(t.kept);
    t.kept = pdl_keep(pdl_dict_getz(r->value, "result"));
    show(t.kept);
    if (pdl_dict_len(pdl_dict_getz(r->value, "rebound"))) show(pdl_dict_getz(r->value, "rebound"));
}

static const pdl_call_in call_in;
static const pdl_class func_class = {"function", NULL, NULL, NULL};

static inline pdl_val func_new(void) {
    pdl_func *f = pdl_ext_new(PDL_V_FUNC, &func_class, sizeof *f);
    f->name = f->signature = f->params = pdl_null();
    return pdl_from_obj(PDL_V_FUNC, &f->ext.head, 0);
}

static inline uint32_t start(pdl_effect_kind kind, pdl_val request, pdl_effect_sink sink) {
    pdl_effect *e = pdl_effect_new(kind, (pdl_effect_at){.id = ++t.id}, request, sink);
    e->call_in = &call_in;
    t.world->ops->start(t.world, e);
    return e ? t.id : 0;
}

static inline pdl_val request_of(const char *lang, const char *code, const char *vars) {
    pdl_val v, r = pdl_dict_new(4);
    pdl_err err = {0};
    assert_true(pdl_json_read(t_str(vars ? vars : "{}"), PDL_JSON_PYTHON, &v, NULL, &err));
    v = pdl_dict_putz(v, "f", func_new());
    v = pdl_dict_putz(v, "c",
                      pdl_context_one(pdl_textz("user"), pdl_textz("hello"), pdl_absent(), NULL));
    if (pdl_is(t.kept, PDL_V_HANDLE)) v = pdl_dict_putz(v, "kept", pdl_keep(t.kept));
    r = pdl_dict_putz(r, "lang", pdl_textz(lang));
    r = pdl_dict_putz(r, "code", pdl_textz(code));
    return pdl_dict_putz(r, "vars", v);
}

static inline uint32_t start_code(const char *lang, const char *code, const char *vars) {
    return start(PDL_EFFECT_code, request_of(lang, code, vars),
                 (pdl_effect_sink){.user = NULL, .piece = on_piece, .reply = on_reply});
}

static inline void run(void) {
    while (t.world->ops->poll(t.world, -1)) {}
}

static inline const char *block(const char *code, const char *vars) {
    pdl_buf_clear(&t.got);
    pdl_buf_clear(&t.out);
    start_code("python", code, vars);
    run();
    return pdl_buf_z(&t.got);
}

/* --- PDL functions: f(x) gives x; f('fail') fails; f('exit') ends the run; f('nest') runs blocks
 * that call f again, DEPTH deep --- */

typedef struct pending {
    void (*done)(void *user, pdl_val v, const pdl_err *err);
    void *user;
} pending;

static inline void on_nested(void *user, const pdl_effect *e, const pdl_reply *r) {
    pending p = *(pending *)user;
    (void)e;
    pdl_free(user);
    assert_int_equal(r->err.kind, PDL_E_NONE);
    p.done(p.user, pdl_keep(pdl_dict_getz(r->value, "result")), NULL);
}

static inline void nest(pending p) {
    pending *q = PDL_NEW(pending);
    *q = p;
    const char *code = ++t.nested < DEPTH ? "result = f('nest') + 1" : "result = f(100)";
    start(PDL_EFFECT_code, request_of("python", code, NULL),
          (pdl_effect_sink){.user = q, .piece = on_piece, .reply = on_nested});
}

static inline void call_start(void *user, const pdl_effect *code, pdl_val func, pdl_val args,
                              pdl_val kwargs, pdl_call_done done) {
    pdl_err err = {0};
    (void)user;
    (void)code;
    pdl_val a = pdl_list_len(args) ? pdl_keep(pdl_list_at(args, 0)) : pdl_keep(kwargs);
    pdl_drop(func);
    pdl_drop(args);
    pdl_drop(kwargs);
    if (pdl_text_is(a, "fail")) pdl_err_host(&err, "KeyError", "no such key");
    if (pdl_text_is(a, "exit")) {
        pdl_err_set(&err, PDL_E_exit, (pdl_loc){0}, "exit");
        err.status = 7;
        err.has_status = true;
    }
    if (pdl_text_is(a, "nest"))
        nest((pending){done.fn, done.user});
    else if (err.kind)
        done.fn(done.user, pdl_absent(), &err);
    else
        done.fn(done.user, pdl_keep(a), NULL);
    pdl_drop(a);
    pdl_err_fini(&err);
}

static const pdl_call_in call_in = {NULL, call_start};

static inline void ask_input(void *user, const pdl_effect *code, pdl_worker_answer_fn *answer,
                             void *answer_user) {
    int *n = user;
    (void)code;
    bool eof = ++*n > 2;
    answer(answer_user, eof ? PDL_STR("") : PDL_STR("l\xc3\xafne"), eof);
}

static inline void run_program(void *user, const pdl_effect *code, pdl_val request,
                               pdl_worker_done_fn *done, void *done_user) {
    pdl_err err = {0};
    (void)user;
    (void)code;
    if (pdl_text_is(pdl_dict_getz(request, "text"), "bad")) {
        pdl_err_set(&err, PDL_E_schema, (pdl_loc){0}, "not a program");
        pdl_drop(request);
        done(done_user, pdl_absent(), &err);
        pdl_err_fini(&err);
    } else {
        done(done_user, request, NULL);
    }
}

static int n_asked;

static inline int open_world(void **state) {
    (void)state;
    const char *candidates[] = {"/nonexistent/python", t.python};
    pdl_worker_options o = {.pythons = candidates,
                            .n_pythons = 2,
                            .user = &n_asked,
                            .ask_input = ask_input,
                            .run_program = run_program};
    n_asked = 0;
    t.nested = 0;
    t.loop = pdl_loop_new();
    t.world = pdl_worker_world_new(t.loop, &o);
    t.got = t.out = PDL_BUF;
    t.kept = pdl_absent();
    return 0;
}

static inline void wait_10_ms(void) { nanosleep(&(struct timespec){0, 10000000}, NULL); }

static inline int close_world(void **state) {
    (void)state;
    int pid = pdl_worker_pid(t.world);
    t.world->ops->close(t.world);
    pdl_drop(t.kept); /* values may outlive the world */
    pdl_loop_free(t.loop);
    pdl_buf_fini(&t.got);
    pdl_buf_fini(&t.out);
    /* Nobody of its group is left, but for what the system has not collected yet. */
    for (int i = 0; pid && i < 200 && kill(-pid, 0) == 0; i++) wait_10_ms();
    return pid && kill(-pid, 0) == 0;
}

/* A test within a world of its own. */
#define IN_WORLD(f) cmocka_unit_test_setup_teardown(f, open_world, close_world)

/* To be called first; where it returns false, the test program has reported that it is skipped. */
static inline bool has_python(void) {
    t.python = "python3";
    open_world(NULL);
    bool has = strcmp(block("result = 1", NULL), "1") == 0;
    close_world(NULL);
    if (!has) printf("1..0 # SKIP no python3\n");
    return has;
}

#endif
