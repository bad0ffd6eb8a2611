/* Code outside: blocks, values, calls back, commands, the life of the process. Needs a python3 on
 * PATH, else it is skipped.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "worker/worker.h"

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

#include "base/banned.h"

enum { DEPTH = 5 };

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

static void on_piece(void *user, const pdl_effect *e, pdl_str text) {
    (void)user;
    (void)e;
    pdl_buf_put(&t.out, text);
}

static void show(pdl_vref v) {
    pdl_err err = {0};
    assert_true(pdl_val_repr(v, &t.got, &err));
}

static void on_reply(void *user, const pdl_effect *e, const pdl_reply *r) {
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

static pdl_val func_new(void) {
    pdl_func *f = pdl_ext_new(PDL_V_FUNC, &func_class, sizeof *f);
    f->name = f->signature = f->params = pdl_null();
    return pdl_from_obj(PDL_V_FUNC, &f->ext.head, 0);
}

static uint32_t start(pdl_effect_kind kind, pdl_val request, pdl_effect_sink sink) {
    pdl_effect *e = pdl_effect_new(kind, ++t.id, NULL, 0, (pdl_loc){0}, request, sink);
    e->call_in = &call_in;
    t.world->ops->start(t.world, e);
    return e ? t.id : 0;
}

static pdl_val request_of(const char *lang, const char *code, const char *vars) {
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

static uint32_t start_code(const char *lang, const char *code, const char *vars) {
    return start(PDL_EFFECT_code, request_of(lang, code, vars),
                 (pdl_effect_sink){.user = NULL, .piece = on_piece, .reply = on_reply});
}

static void run(void) {
    while (t.world->ops->poll(t.world, -1)) {}
}

static const char *block(const char *code, const char *vars) {
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

static void on_nested(void *user, const pdl_effect *e, const pdl_reply *r) {
    pending p = *(pending *)user;
    (void)e;
    pdl_free(user);
    assert_int_equal(r->err.kind, PDL_E_NONE);
    p.done(p.user, pdl_keep(pdl_dict_getz(r->value, "result")), NULL);
}

static void nest(pending p) {
    pending *q = PDL_NEW(pending);
    *q = p;
    const char *code = ++t.nested < DEPTH ? "result = f('nest') + 1" : "result = f(100)";
    start(PDL_EFFECT_code, request_of("python", code, NULL),
          (pdl_effect_sink){.user = q, .piece = on_piece, .reply = on_nested});
}

static void call_start(void *user, const pdl_effect *code, pdl_val func, pdl_val args,
                       pdl_val kwargs, void (*done)(void *, pdl_val, const pdl_err *),
                       void *done_user) {
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
        nest((pending){done, done_user});
    else if (err.kind)
        done(done_user, pdl_absent(), &err);
    else
        done(done_user, pdl_keep(a), NULL);
    pdl_drop(a);
    pdl_err_fini(&err);
}

static const pdl_call_in call_in = {NULL, call_start};

static void ask_input(void *user, const pdl_effect *code, pdl_worker_answer_fn *answer,
                      void *answer_user) {
    int *n = user;
    (void)code;
    bool eof = ++*n > 2;
    answer(answer_user, eof ? PDL_STR("") : PDL_STR("l\xc3\xafne"), eof);
}

static void run_program(void *user, const pdl_effect *code, pdl_val request,
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

static int open_world(void **state) {
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

static void wait_10_ms(void) { nanosleep(&(struct timespec){0, 10000000}, NULL); }

static int close_world(void **state) {
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

/* --- tests ------------------------------------------------------------------------------------ */

#define TRACE "Python Code error: Traceback (most recent call last):\n"

/* One world: what a block leaves in PDL_SESSION is there for the next. */
static const struct {
    const char *code, *vars, *want;
} rows[] = {
    {"result = 5", NULL, "5"},
    {"result = [None, True, 1, 1.5, 'x\\n\\u00e9', {'a': []}]", NULL,
     "[None, True, 1, 1.5, 'x\\n\xc3\xa9', {'a': []}]"},
    {"result = (1, {1, 2}, b'\\xff', range(1, 9, 2), {(1, 'a'): None, 2: 3})", NULL,
     "(1, {1, 2}, b'\\xff', range(1, 9, 2), {(1, 'a'): None, 2: 3})"},
    {"import datetime as d\nresult = [d.date(2024, 2, 29), d.datetime(2024, 1, 2, 3, 4, 5, 6)]",
     NULL, "[datetime.date(2024, 2, 29), datetime.datetime(2024, 1, 2, 3, 4, 5, 6)]"},
    {"result = [10**30, -10**30, float('inf'), float('nan')]", NULL,
     "[1000000000000000000000000000000, -1000000000000000000000000000000, inf, nan]"},
    {"result = 10**5000", NULL, NULL},
    {"result = [x + 1, y, type(z)]", "{\"x\": 1, \"y\": {\"$pdl\": 1}, \"z\": 1e400}",
     "[2, {'$pdl': 1}, <class 'float'>]"},
    {"l.append(9); d['k'] = (1,); n = 3; result = 0",
     "{\"l\": [1], \"d\": {}, \"n\": [1], \"same\": [1, {\"a\": 2}]}",
     "0{'l': [1, 9], 'd': {'k': (1,)}}"},
    {"l[0] = True; result = 0", "{\"l\": [1]}", "0{'l': [True]}"},
    {"PDL_SESSION.k = 5\nresult = None", NULL, "None"},
    {"result = [PDL_SESSION.k, 'k' in globals()]", NULL, "[5, False]"},
    {"result = [c[0]['content'], len(c), c[-1]['role']]", NULL, "['hello', 1, 'user']"},
    {"result = [f(1), f(k=2), f((1, {2}))]", NULL, "[1, {'k': 2}, (1, {2})]"},
    {"try:\n  f('fail')\nexcept Exception as e:\n  result = [type(e).__name__, str(e)]", NULL,
     "['PDLRuntimeExpressionError', 'no such key']"},
    {"result = f('nest')", NULL, "104"},
    {"import threading\nr = []\nt = threading.Thread(target=lambda: "
     "r.append(f('nest')))\nt.start(); t.join()\nresult = r",
     NULL, "[100]"},
    {"f('exit')", NULL, "exit: exit [SystemExit]  7"},
    {"import sys\nsys.exit(3)", NULL, "exit: exit [SystemExit]  3"},
    {"raise SystemExit", NULL, "exit: exit [SystemExit]  0"},
    {"x = 1", NULL,
     "code: " TRACE "AttributeError: 'types.SimpleNamespace' object has no attribute 'result' "
     "[AttributeError,Exception] "},
    {"\nclass E(KeyError): pass\nraise E('boo')", NULL,
     "code: " TRACE "  File \"<code-block>\", line 3, in <module>\n    raise E('boo')\nE: 'boo' "
     "[E,KeyError,LookupError,Exception] line 3"},
    {"import input_of_nobody", NULL,
     "code: " TRACE "  File \"<code-block>\", line 1, in <module>\n    import input_of_nobody\n"
     "ModuleNotFoundError: No module named 'input_of_nobody' "
     "[ModuleNotFoundError,ImportError,Exception] line 1"},
    {"from pdl.pdl import exec_str\nresult = exec_str('text: a', scope={'x': (1,)})['scope']", NULL,
     "{'x': (1,)}"},
    {"import pdl.pdl_parser as p\ntry:\n  p.parse_str('bad')\nexcept p.PDLParseError as e:\n  "
     "result = str(e)",
     NULL, "'not a program'"},
    {"import collections\nresult = [collections.OrderedDict(a=1), collections.Counter('aa')]", NULL,
     "[{'a': 1}, {'a': 2}]"},
};

static void blocks_give_values(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(rows); i++) {
        T_ROW(i);
        const char *got = block(rows[i].code, rows[i].vars);
        if (rows[i].want)
            t_assert_str(t_str(got), rows[i].want);
        else
            t_assert(strlen(got) == 5001);
    }
}

static void prints_come_in_order(void **state) {
    (void)state;
    block("import os, sys, subprocess\nprint('a')\nos.system('echo b')\nprint('c', "
          "end='')\nsys.stdout.flush()\n"
          "subprocess.run(['echo', "
          "'d'])\nsys.stdout.buffer.write(b'e\\n')\nprint('\xc3\xa9')\nresult = 1",
          NULL);
    t_assert_str(pdl_buf_str(&t.out), "a\nb\ncd\ne\n\xc3\xa9\n");
}

static void input_is_asked_of_the_run(void **state) {
    (void)state;
    block("import sys\nresult = [input('? '), sys.stdin.readline(), sys.stdin.read()]\ntry:\n  "
          "input()\nexcept EOFError:\n  result.append('end')",
          NULL);
    t_assert_str(pdl_buf_str(&t.got), "['l\xc3\xafne', 'l\xc3\xafne\\n', '', 'end']");
    t_assert_str(pdl_buf_str(&t.out), "? ");
}

/* Requests with the id of the object: class P with v = [1], m(a, b=2) = a + b, len 7, items 1 2. */
static const struct {
    const char *request, *want;
} object_rows[] = {
    {"\"op\": \"attr\", \"name\": \"v\"", "[1]"},
    {"\"op\": \"attr\", \"name\": \"w\"", "Undefined"},
    {"\"op\": \"item\", \"key\": 3", "Undefined"},
    {"\"op\": \"call\", \"name\": \"m\", \"args\": [1], \"kwargs\": {\"b\": 5}", "6"},
    {"\"op\": \"iter\"", "[1, 2]"},
    {"\"op\": \"len\"", "7"},
    {"\"op\": \"str\"", "'P!'"},
    {"\"op\": \"call\", \"args\": []", "code: 'P' object is not callable [TypeError,Exception] "},
};

static void objects_stay_in_the_worker(void **state) {
    (void)state;
    block("class P:\n  v = [1]\n  def m(self, a, b=2): return a + b\n  def __len__(self): return "
          "7\n  def __iter__(self): return iter([1, 2])\n"
          "  def __repr__(self): return 'P!'\nresult = P()",
          NULL);
    t_assert_str(pdl_buf_str(&t.got), "P!");
    assert_true(pdl_is(t.kept, PDL_V_HANDLE));
    assert_int_equal(pdl_handle_of(t.kept)->len, 7);
    for (size_t i = 0; i < T_LEN(object_rows); i++) {
        T_ROW(i);
        char text[200];
        pdl_val r;
        pdl_err err = {0};
        snprintf(text, sizeof text, "{\"id\": %llu, %s}",
                 (unsigned long long)pdl_handle_of(t.kept)->id, object_rows[i].request);
        assert_true(pdl_json_read(t_str(text), 0, &r, NULL, &err));
        pdl_buf_clear(&t.got);
        start(PDL_EFFECT_object, r,
              (pdl_effect_sink){.user = NULL, .piece = NULL, .reply = on_reply});
        run();
        t_assert_str(pdl_buf_str(&t.got), object_rows[i].want);
    }
    t_assert_str(t_str(block("result = kept.m(40)", NULL)), "42");
}

static void a_dead_process_is_replaced(void **state) {
    (void)state;
    block("result = object()", NULL);
    const char *msg = "code: Python Code error: the Python process ended unexpectedly (signal 9) "
                      "[RuntimeError,Exception] ";
    t_assert_str(t_str(block("import os\nos.kill(os.getpid(), 9)", NULL)), msg);
    assert_true(pdl_str_starts(t_str(block("result = kept", NULL)),
                               PDL_STR("expression: the object of class object is gone")));
    pdl_drop(t.kept);
    t.kept = pdl_absent();
    t_assert_str(t_str(block("result = 'again'", NULL)), "'again'");
}

static void a_cancelled_block_ends(void **state) {
    (void)state;
    block("PDL_SESSION.n = 1\nresult = 0", NULL);
    uint32_t id = start_code("python", "while True: pass", NULL);
    pdl_loop_run(t.loop, 20);
    t.world->ops->cancel(t.world, id);
    t.world->ops->cancel(t.world, 12345);
    t_assert_str(t_str(block("result = PDL_SESSION.n", NULL)), "1");
}

/* A block is cancelled at a moment of its life, from before it is read to long after it began: the
 * next one must not notice. The moments are spread over 5 ms by a fixed sequence. */
static void blocks_are_given_up_at_any_moment(void **state) {
    static const char *const codes[] = {
        "while True: pass",
        "while True: print('x' * 50)",
        "while True: f(1)",
        "import time\nwhile True: time.sleep(0.001)",
        "import os\nos.system('sleep 10')",
        "while True:\n  try: f(1)\n  except ValueError: pass",
    };
    uint64_t x = 1;
    (void)state;
    block("PDL_SESSION.n = 7\nresult = 0", NULL);
    for (size_t i = 0; i < 150; i++) {
        T_ROW(i);
        uint32_t id = start_code("python", codes[i % T_LEN(codes)], NULL);
        uint32_t waiting = i % 5 == 0 ? start_code("python", codes[0], NULL) : 0;
        x = x * 6364136223846793005u + 1442695040888963407u;
        uint64_t until = pdl_clock_ns() + (x >> 33) % 5000000 / (1 + i % 10);
        while (pdl_clock_ns() < until) pdl_loop_run(t.loop, 0);
        t.world->ops->cancel(t.world, id);
        if (waiting) t.world->ops->cancel(t.world, waiting);
        t_assert_str(t_str(block("result = PDL_SESSION.n", NULL)), "7");
    }
}

#define ENDED "code: Python Code error: the Python process "

/* Code that breaks the process or what connects it: one error, and the next block finds a new
 * process. */
static const struct {
    const char *code, *want;
} breakers[] = {
    {"import os\nos._exit(3)", ENDED "ended unexpectedly (status 3)"},
    {"import os\nos.abort()", ENDED "ended unexpectedly (signal 6)"},
    {"import os\nos.write(4, b'junk of some length')",
     ENDED "wrote what is no message on descriptor 4"},
    {"import os\nos.write(4, b'\\xff\\xff\\xff\\xff{')", "code: Python Code error: a message of"},
    {"import os\nos.write(4, b'\\0\\0\\0\\2{]')", "code: Python Code error: "},
    {"import os\nos.write(4, b'\\0\\0\\0\\2[]')", ENDED "sent a message that is not an object"},
    {"import os\nos.write(4, b'\\0\\0\\0\\2\\xff\\xfe')", ENDED "sent text that is not UTF-8"},
    {"import os\nos.write(4, b'\\0\\0\\0\\4{')\nos._exit(0)",
     ENDED "ended unexpectedly (status 0)"},
    {"import os, time\nos.closerange(0, 64)\ntime.sleep(100)", ENDED "closed descriptor 4"},
    {"import os, time\nos.close(4)\ntime.sleep(100)", ENDED "closed descriptor 4"},
    {"import os\nif os.fork() == 0:\n  os.setpgid(0, 0)\n  os._exit(0)\nos.closerange(3, 5)",
     ENDED},
    {"import ctypes\nctypes.string_at(0)", ENDED "ended unexpectedly (signal 11)"},
};

static void a_broken_process_is_one_error(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(breakers); i++) {
        T_ROW(i);
        uint64_t start_ns = pdl_clock_ns();
        t_assert_str(pdl_str_sub(t_str(block(breakers[i].code, NULL)), 0, strlen(breakers[i].want)),
                     breakers[i].want);
        assert_true(pdl_clock_ns() - start_ns < 10000000000u);
        t_assert_str(t_str(block("result = 1", NULL)), "1");
    }
}

/* What a block leaves behind: forks that continue with the code, children, threads. */
static void forks_do_not_disturb(void **state) {
    (void)state;
    t_assert_str(t_str(block("import os\nfor _ in range(4): os.fork()\nresult = 1", NULL)), "1");
    t_assert_str(t_str(block("import os\npid = os.fork()\nif pid == 0:\n  print('child', "
                             "flush=True)\n  os._exit(0)\nos.waitpid(pid, 0)\nresult = 2",
                             NULL)),
                 "2");
    t_assert_str(pdl_buf_str(&t.out), "child\n");
    t_assert_str(
        t_str(block("import multiprocessing as m\np = m.get_context('fork').Pool(2)\nresult = "
                    "p.map(abs, [-1, 2])\np.terminate()",
                    NULL)),
        "[1, 2]");
    t_assert_str(t_str(block("result = 3", NULL)), "3");
}

static int sleeper;

/* Does it run? One that nobody has collected yet does not. */
static bool sleeper_runs(void) {
    char path[40], line[200] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", sleeper);
    FILE *f = fopen(path, "re");
    if (!f) return false;
    size_t n = fread(line, 1, sizeof line - 1, f);
    fclose(f);
    return n && !strstr(line, ") Z");
}

static void assert_gone(void) {
    for (int i = 0; i < 200 && sleeper_runs(); i++) wait_10_ms();
    assert_false(sleeper_runs());
}

static void start_sleeper(const char *end) {
    char code[300];
    snprintf(code, sizeof code,
             "import os, subprocess\np = subprocess.Popen(['sleep', '100'])\nprint(p.pid, "
             "flush=True)\n%s",
             end);
    block(code, NULL);
    sleeper = (int)strtol(pdl_buf_z(&t.out), NULL, 10);
    assert_true(sleeper > 1);
}

static void what_code_started_ends_with_its_process(void **state) {
    (void)state;
    start_sleeper("os._exit(1)");
    assert_gone();
    start_sleeper("os.kill(os.getpid(), 9)");
    assert_gone();
    start_sleeper("result = 1");
    assert_true(sleeper_runs());
    t.world->ops->close(t.world);
    t.world = pdl_worker_world_new(t.loop, NULL);
    assert_gone();
}

/* It has two seconds to end; what waits for its turn then is reported. */
static void a_block_that_cannot_be_interrupted_is_ended(void **state) {
    (void)state;
    pdl_buf_clear(&t.out);
    uint32_t id = start_code("python",
                             "while True:\n  try:\n    print('x')\n    while True: pass\n  except "
                             "KeyboardInterrupt: pass",
                             NULL);
    while (!t.out.len) t.world->ops->poll(t.world, -1);
    t.world->ops->cancel(t.world, id);
    t_assert_str(t_str(block("result = 1", NULL)), ENDED
                 "was ended: a block that was given up did not end [RuntimeError,Exception] ");
    t_assert_str(t_str(block("result = 1", NULL)), "1");
}

static void blocks_have_limits(void **state) {
    (void)state;
    pdl_world *before = t.world;
    t.world = pdl_worker_world_new(t.loop, &(pdl_worker_options){.max_memory = (size_t)1 << 30});
    assert_non_null(strstr(block("x = bytearray(1 << 31)", NULL),
                           "MemoryError [MemoryError,Exception] line 1"));
    t_assert_str(t_str(block("result = 1", NULL)), "1");
    t.world->ops->close(t.world);
    t.world = pdl_worker_world_new(t.loop, &(pdl_worker_options){.time_limit_ms = 1500});
    t_assert_str(t_str(block("while True: pass", NULL)),
                 "code: Python Code error: TimeoutError: the block ran longer than 1.5 seconds "
                 "[TimeoutError,OSError,Exception] ");
    t_assert_str(t_str(block("result = 1", NULL)), "1");
    pdl_val argv;
    pdl_err err = {0};
    assert_true(pdl_json_read(PDL_STR("[\"sleep\", \"100\"]"), 0, &argv, NULL, &err));
    pdl_buf_clear(&t.got);
    start(PDL_EFFECT_command, pdl_dict_putz(pdl_dict_new(1), "argv", argv),
          (pdl_effect_sink){.user = NULL, .piece = NULL, .reply = on_reply});
    run();
    t_assert_str(pdl_buf_str(&t.got),
                 "code: Shell Code error: TimeoutExpired: the command ran longer than 1.5 seconds "
                 "[TimeoutExpired,SubprocessError,Exception] ");
    t.world->ops->close(t.world);
    t.world = before;
}

static void blocks_wait_for_their_turn(void **state) {
    (void)state;
    pdl_buf_clear(&t.got);
    start_code("python", "result = f('a')", NULL);
    start_code("python", "result = f('nest')", NULL);
    start_code("python", "result = 'c'", NULL);
    run();
    pdl_str got = pdl_buf_str(&t.got);
    assert_true(pdl_str_find(got, PDL_STR("'a'"), 0) != PDL_NOT_FOUND);
    assert_true(pdl_str_find(got, PDL_STR("104"), 0) != PDL_NOT_FOUND);
    assert_true(pdl_str_find(got, PDL_STR("'c'"), 0) != PDL_NOT_FOUND);
}

static const struct {
    const char *argv, *want;
} commands[] = {
    {"[\"echo\", \"a b\", \"$HOME\"]", "{'stdout': 'a b $HOME\\n', 'stderr': '', 'status': 0}"},
    {"[\"sh\", \"-c\", \"printf 'x\\\\r\\\\ny\\\\377'; echo e >&2; exit 3\"]",
     "{'stdout': 'x\\ny\xef\xbf\xbd', 'stderr': 'e\\n', 'status': 3}"},
    {"[\"sh\", \"-c\", \"kill -9 $$\"]", "{'stdout': '', 'stderr': '', 'status': -9}"},
    {"[\"no-such-command\"]", "code: Shell Code error: FileNotFoundError(2, 'No such file or "
                              "directory') [FileNotFoundError,OSError,Exception] "},
    {"[\"/tmp\"]", "code: Shell Code error: PermissionError(13, 'Permission denied') "
                   "[PermissionError,OSError,Exception] "},
    {"[]", "code: Shell Code error: IndexError('list index out of range') "
           "[IndexError,LookupError,Exception] "},
    {"[\"echo\", 3]", "code: Shell Code error: TypeError('expected str, bytes or os.PathLike "
                      "object, not int') [TypeError,Exception] "},
};

static void commands_are_run_without_a_shell(void **state) {
    (void)state;
    for (size_t i = 0; i < T_LEN(commands); i++) {
        T_ROW(i);
        pdl_val argv;
        pdl_err err = {0};
        assert_true(pdl_json_read(t_str(commands[i].argv), 0, &argv, NULL, &err));
        pdl_buf_clear(&t.got);
        start(PDL_EFFECT_command, pdl_dict_putz(pdl_dict_new(1), "argv", argv),
              (pdl_effect_sink){.user = NULL, .piece = NULL, .reply = on_reply});
        run();
        t_assert_str(pdl_buf_str(&t.got), commands[i].want);
    }
}

static void cells_give_their_output(void **state) {
    (void)state;
    pdl_buf_clear(&t.got);
    start_code("ipython", "print(n * 2)", "{\"n\": 3}");
    start_code("ipython", "x = 1", NULL);
    start_code("ipython", "print('y' * 2001)", NULL);
    run();
    pdl_str got = pdl_buf_str(&t.got);
    assert_true(
        pdl_str_starts(got, PDL_STR("'6\\n'\n'[Executed Successfully with No Output]'\n'yyy")));
    assert_true(pdl_str_ends(got, PDL_STR("y...\\n[Output Truncated]'")));
}

static void no_python_is_an_error(void **state) {
    (void)state;
    const char *candidates[] = {"/nonexistent/python"};
    pdl_world *before = t.world;
    t.world =
        pdl_worker_world_new(t.loop, &(pdl_worker_options){.pythons = candidates, .n_pythons = 1});
    assert_true(
        pdl_str_starts(t_str(block("result = 1", NULL)),
                       PDL_STR("code: Python Code error: no python3 found (set PDL_PYTHON)")));
    t.world->ops->close(t.world);
    t.world = before;
}

static bool has_python(void) {
    open_world(NULL);
    bool has = strcmp(block("result = 1", NULL), "1") == 0;
    close_world(NULL);
    return has;
}

int main(void) {
    t.python = "python3";
    if (!has_python()) {
        printf("1..0 # SKIP no python3\n");
        return 0;
    }
#define IN_WORLD(f) cmocka_unit_test_setup_teardown(f, open_world, close_world)
    const struct CMUnitTest tests[] = {
        IN_WORLD(blocks_give_values),
        IN_WORLD(prints_come_in_order),
        IN_WORLD(input_is_asked_of_the_run),
        IN_WORLD(objects_stay_in_the_worker),
        IN_WORLD(a_dead_process_is_replaced),
        IN_WORLD(a_cancelled_block_ends),
        IN_WORLD(blocks_are_given_up_at_any_moment),
        IN_WORLD(a_broken_process_is_one_error),
        IN_WORLD(forks_do_not_disturb),
        IN_WORLD(what_code_started_ends_with_its_process),
        IN_WORLD(a_block_that_cannot_be_interrupted_is_ended),
        IN_WORLD(blocks_have_limits),
        IN_WORLD(blocks_wait_for_their_turn),
        IN_WORLD(commands_are_run_without_a_shell),
        IN_WORLD(cells_give_their_output),
        IN_WORLD(no_python_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
