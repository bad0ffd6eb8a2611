/* test_worker.c -- code in Python: blocks, values, calls back into the program, objects, commands.
 * Skipped without a python3 on PATH.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "worker_kit.h"

#include "base/banned.h"

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
     "code: Python Code error: the code never sets `result`, which is the value of the block\n"
     "AttributeError: 'types.SimpleNamespace' object has no attribute 'result' "
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

/* The traceback of a deep recursion has its both ends; so has that of its cause the inner one. */
static void long_tracebacks_are_cut(void **state) {
    (void)state;
    const char *got = block("import sys\nsys.setrecursionlimit(9000)\n"
                            "def f(n):\n  if n:\n    f(n - 1)\n"
                            "  else:\n    raise KeyError(n)\ndef g():\n  try: f(2500)\n"
                            "  except KeyError as e: raise ValueError('deep') from e\n"
                            "def h(n): h(n - 1) if n else g()\nh(2500)",
                            NULL);
    t_assert(strstr(got, "line 12, in <module>\n    h(2500)\n"));
    t_assert(strstr(got, " frames in the middle are left out]\n"));
    t_assert(strstr(got, "    raise KeyError(n)\n") && strstr(got, "ValueError: deep"));
    t_assert(strstr(got, "[Previous line repeated 1996 more times]") && strlen(got) < 3000);
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
    assert_true(pdl_str_starts(t_str(block("result = 1", NULL)),
                               PDL_STR("code: Python Code error: '/nonexistent/python' cannot be "
                                       "started: PDL_PYTHON names it")));
    t.world->ops->close(t.world);
    t.world = before;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_WORLD(blocks_give_values),         IN_WORLD(prints_come_in_order),
        IN_WORLD(input_is_asked_of_the_run),  IN_WORLD(objects_stay_in_the_worker),
        IN_WORLD(blocks_wait_for_their_turn), IN_WORLD(commands_are_run_without_a_shell),
        IN_WORLD(cells_give_their_output),    IN_WORLD(no_python_is_an_error),
        IN_WORLD(long_tracebacks_are_cut),
    };
    return has_python() ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
