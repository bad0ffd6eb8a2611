# SPDX-License-Identifier: Apache-2.0
"""What a process does to an extension: signals, threads, forks, exits, other interpreters, wrong values over and over."""
import asyncio
import concurrent.futures
import gc
import importlib.util
import os
import pathlib
import subprocess
import sys
import textwrap
import threading
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent.parent))
from tests import venv_of  # noqa: E402

import libpdl  # noqa: E402

SLOW = "PDL_PYTHON_PRELOADED" in os.environ  # set when the tests run under sanitizers


def script(text, timeout=120):
    """Runs the text in a new process. Returns (status, output, errors)."""
    p = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, timeout=timeout, check=False)
    return p.returncode, p.stdout, p.stderr


class Exits(unittest.TestCase):
    def ends(self, text, status=0, out=""):
        got = script(text)
        self.assertEqual((got[0], got[1]), (status, out), got[2])
        self.assertNotIn("Fatal", got[2])
        self.assertNotIn("Sanitizer", got[2])

    def test_in_the_middle_of_a_stream(self):
        for last in ("", "sys.exit(0)", "del s", "s = None; gc.collect()"):
            with self.subTest(last):
                self.ends("""
                    import gc, sys, libpdl
                    def model(request):
                        yield "a"
                        yield "b"
                    s = libpdl.Engine(models={"m": model}).loads("text:\\n- {model: m, input: x}\\n- {lang: command, code: sleep 30}").stream()
                    print(next(s))
                    %s
                """ % last, out="a\n")

    def test_in_the_middle_of_asyncio(self):
        self.ends("""
            import asyncio, libpdl
            async def model(request):
                await asyncio.sleep(30)
            async def main():
                program = libpdl.Engine(models={"m": model}).loads("model: m\\ninput: x")
                asyncio.ensure_future(program.arun())
                stream = program.astream()
                asyncio.ensure_future(stream.__anext__())
                await asyncio.sleep(0.1)
                print("over")
            asyncio.run(main())
        """, out="over\n")

    def test_with_a_thread_that_runs(self):
        self.ends("""
            import threading, time, libpdl
            threading.Thread(target=lambda: libpdl.run("lang: command\\ncode: sleep 30"), daemon=True).start()
            threading.Thread(target=lambda: libpdl.run("data: ${ f(1) }", f=lambda x: time.sleep(30)), daemon=True).start()
            time.sleep(0.3)
            print("over")
        """, out="over\n")

    def test_many_at_once(self):
        """Many processes end at the same time, so that in some of them a thread is still inside of the library."""
        text = """
            import threading, time, libpdl
            def never(x):
                while True:
                    time.sleep(0.001)
            def stream():
                for part in libpdl.loads("lang: command\\ncode: sh -c 'while true; do echo a; sleep 0.02; done'").stream():
                    pass
            for run in (lambda: libpdl.run("data: ${ f(1) }", f=never), lambda: libpdl.run("lang: command\\ncode: sleep 30"), stream):
                threading.Thread(target=run, daemon=True).start()
            time.sleep(0.3)
            print("over")
        """
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for status, out, errors in pool.map(script, [text] * 24):
                self.assertEqual((status, out, errors), (0, "over\n", ""))

    def test_with_things_left_in_modules(self):
        self.ends("""
            import libpdl
            class Loud:
                def __del__(self):
                    libpdl
            engine = libpdl.Engine(tools=[print])
            program = engine.loads("defs: {f: {function: {a: integer}, return: '${ a }'}}\\ndata: ${ x }")
            result = program.run(x=Loud())
            function = result.variables["f"]
            rows = program.map([{"x": 1}, {"x": 2}])
            next(rows)
            libpdl.kept = (engine, program, result, function, rows)
            print(function(3))
        """, out="3\n")


class Interpreters(unittest.TestCase):
    def test_sub_interpreters_are_refused(self):
        if not any(importlib.util.find_spec(name) for name in ("_xxsubinterpreters", "_interpreters")):
            self.skipTest("this Python has no module for sub-interpreters")
        status, out, errors = script("""
            try:
                import _interpreters as sub
            except ImportError:
                import _xxsubinterpreters as sub
            one = sub.create()
            code = "try:\\n    import libpdl\\nexcept ImportError as e:\\n    print(e, flush=True)"
            (getattr(sub, "run_string", None) or sub.exec)(one, code)
            import libpdl
            print(libpdl.run("text: here").text)
        """)
        self.assertEqual((status, out.splitlines()[-1]), (0, "here"), errors)
        self.assertRegex(out, "sub-?interpreter")  # from Python 3.12 on, Python itself writes the message


class Forks(unittest.TestCase):
    def test_in_the_middle_of_a_stream(self):
        status, out, errors = script("""
            import asyncio, os, libpdl
            def model(request):
                yield "a"
                yield "b"
            engine = libpdl.Engine(models={"m": model})
            program = engine.loads("text:\\n- {model: m, input: x}\\n- ' end'")
            stream = program.stream()
            next(stream)
            if os.fork() == 0:
                print(program.run().text, asyncio.run(program.arun()).text, engine.run("text: new").text, flush=True)
                del stream
                os._exit(0)
            os.wait()
            print("".join(stream), program.run().text)
        """)
        self.assertEqual((status, out), (0, "ab end ab end new\nb end ab end\n"), errors)


class Threads(unittest.TestCase):
    def test_eight_with_an_engine_each(self):
        class Thing:
            n = 5
        wrong = []

        def work(i):
            engine = libpdl.Engine(models={"m": lambda request: request.messages[-1]["content"].upper()})
            program = engine.loads("defs: {f: {function: {a: integer}, return: '${ a + 1 }'}}\ntext:\n- ${ f(a=i) } ${ g(i) } ${ t.n } \n"
                                   "- {model: m, input: 'x${ i }'}\n- lang: python\n  code: result = str(i * 2)")
            for k in range(5 if SLOW else 40):
                text = program.run(i=i, g=lambda x: x * 10, t=Thing()).text
                if text != "%d %d 5 X%d%d" % (i + 1, i * 10, i, i * 2) and text != "%d %d 5X%d%d" % (i + 1, i * 10, i, i * 2):
                    wrong.append(text)
                if k % 10 == 0:
                    wrong.extend(r for r in asyncio.run(many(program, i)) if not isinstance(r, libpdl.Result))

        async def many(program, i):
            return await asyncio.gather(*(program.arun(i=i, g=abs, t=Thing()) for _ in range(5)))
        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_things_die_in_other_threads(self):
        """The last reference to a function, an object and an engine is released in a thread that never used them."""
        made = []

        def make():
            engine = libpdl.Engine()
            result = engine.loads("defs: {f: {function: {a: integer}, return: '${ a }'}}\ndata: ${ x }").run(x=object())
            made.append((engine, result, result.variables["f"]))
        for _ in range(20):
            t = threading.Thread(target=make)
            t.start()
            t.join()
        made.clear()
        gc.collect()


class Interrupts(unittest.TestCase):
    def test_in_every_operation_on_an_object(self):
        def interrupted(self, *args):
            raise KeyboardInterrupt
        for expression, names in (
                ("x | length", "len"), ("[x] | map('length') | list", "len"), ("1 if x else 2", "bool"), ("1 if x else 2", "len"), ("x == y", "eq"),
                ("y in [x]", "eq"), ("[x] == [y]", "eq"), ("[x].count(y)", "eq"), ("(x, 1) in [(y, 1)]", "eq"), ("x ~ 'a'", "str"), ("[x] ~ ''", "repr"),
                ("x['a']", "getitem"), ("x.a", "getitem"), ("x | list", "iter"), ("x()", "call"), ("x + 1", "add"), ("1 in x", "contains"),
                ("x < y", "lt"), ("[x, y] | sort", "lt")):
            kind = type("Thing", (), {"__%s__" % name: interrupted for name in names.split()})
            with self.subTest(expression), self.assertRaises(KeyboardInterrupt):
                libpdl.run("data: ${ %s }\nfallback: caught" % expression, x=kind(), y=kind())

    def test_in_one_long_operation(self):
        """The comparison would take years: each of sixty lists contains the list before it twice."""
        status, out, errors = script("""
            import os, signal, libpdl
            program = libpdl.loads("defs: {x: {data: [1]}, y: {data: [1]}}\\ntext:\\n- for: {i: '${ range(60) }'}\\n  repeat: {defs: {x: '${ [x, x] }', "
                                   "y: '${ [y, y] }'}, text: ''}\\n- '${ f() }'\\n- '${ x == y }'")
            def begins():
                os.system("(sleep 1; kill -INT %d) &" % os.getpid())
                return ""
            try:
                program.run(f=begins)
            except KeyboardInterrupt:
                print("interrupted")
            assert libpdl.run("text: works").text == "works"
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
            try:
                os.kill(os.getpid(), signal.SIGINT)
                print("lost")
            except KeyboardInterrupt:
                print("again")
        """, timeout=120)
        self.assertEqual((status, out), (0, "interrupted\nagain\n"), errors[-3000:])

    def test_at_random_moments(self):
        moments = 40 if SLOW else 200
        status, out, errors = script("""
            import os, random, signal, sys, libpdl
            # Before: in a debug build of CPython 3.11 an import that is interrupted may abort in os.stat, without libpdl as well.
            import ast, asyncio, linecache, re, tokenize, traceback
            random.seed(7)
            class Thing:
                def __str__(self): return "x" * 10
                def __call__(self): return [1] * 100
            def model(request):
                for i in range(5): yield "piece "
            engine = libpdl.Engine(models={"m": model})
            programs = [engine.loads(t) for t in (
                "for: {i: '${ range(3000) }'}\\nrepeat: ${ t() | length + i }\\njoin: {as: lastOf}",
                "for: {i: '${ range(200) }'}\\nrepeat: {model: m, input: '${ i }'}\\njoin: {as: text}\\nfallback: caught",
                "repeat: {lang: python, code: 'result = [i for i in range(300)]'}\\nindex: i\\nmaxIterations: 3000",
                "lang: command\\ncode: sleep 5\\nfallback: caught",
                "text: ['${ t }', {for: {i: '${ range(5000) }'}, repeat: '${ t }'}]")]
            hits = 0
            signal.signal(signal.SIGALRM, lambda *a: os.kill(os.getpid(), signal.SIGINT))
            k = 0
            while hits < %d and k < %d:
                k += 1
                program = random.choice(programs)
                try:
                    try:
                        signal.setitimer(signal.ITIMER_REAL, random.random() * 0.02 + 0.0005)
                        if k %% 3 == 0:
                            for piece in program.stream(t=Thing()): pass
                        else:
                            program.run(t=Thing())
                    finally:
                        signal.setitimer(signal.ITIMER_REAL, 0)
                except KeyboardInterrupt:
                    hits += 1
                except libpdl.Error as e:
                    print("error", e.kind, e)
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except KeyboardInterrupt:
                    hits += 1
                for attempt in range(3):
                    try:
                        assert engine.run("text: works").text == "works"
                        break
                    except KeyboardInterrupt:  # it was sent before the timer was stopped
                        hits += 1
            print("done", hits)
        """ % (moments, 100 * moments), timeout=300)
        self.assertEqual(status, 0, errors[-3000:])
        self.assertRegex(out, r"\Adone [0-9]+\n\Z", errors[-3000:])
        self.assertGreaterEqual(int(out.split()[1]), moments, errors[-3000:])
        self.assertNotIn("answered already", errors)
        self.assertNotIn("Sanitizer", errors)


HAS_COUNT = hasattr(sys, "gettotalrefcount")  # a debug build of Python


class Counting(unittest.TestCase):
    def grows(self, action, times, count=sys.getallocatedblocks):
        """Returns how many blocks of memory a call of `action` leaves allocated. Takes the least of several averages:
        Python first fills its free lists."""
        least = 1e9
        for _ in range(30):
            before = count()
            for _ in range(times):
                action()
            gc.collect()
            least = min(least, (count() - before) / times)
            if least < 0.2:
                break
        return least

    def test_nothing_is_left_behind(self):
        class Thing:
            def __init__(self):
                self.n = 1

            def fail(self):
                raise ValueError("no bees")
        engine = libpdl.Engine(models={"m": lambda r: "x", "bad": lambda r: 1 / 0})
        names = engine.loads("defs: {f: {function: {a: integer}, return: '${ a }'}}\ntext: ''").run().variables
        program = engine.loads("data: ${ [x, x.n, g(x)] }")
        model = engine.loads("model: m\ninput: hi")

        def fails(call, *args, **kwargs):
            def action():
                try:
                    call(*args, **kwargs)
                except (libpdl.Error, TypeError, ValueError):
                    return
                raise AssertionError("it did not fail")
            return action

        async def later():
            await model.arun()

        def stream():
            s = model.stream()
            next(s)
            s.close()
        cyclic = []
        cyclic.append(cyclic)
        actions = {
            "run": lambda: program.run(x=Thing(), g=lambda x: x), "variables": lambda: program.run(x=Thing(), g=id).variables,
            "function": lambda: names["f"](1), "model": model.run, "stream": stream, "astream": lambda: asyncio.run(later()),
            "map": lambda: list(model.map([{}, {}])), "load": lambda: engine.loads("text: a"), "tree": lambda: engine.from_dict({"text": "a"}),
            "check": lambda: program.check(), "explain": lambda: model.explain(),
            "an error of the program": fails(engine.loads, "tex: a"), "an error of the run": fails(engine.run, "data: ${ nope }"),
            "an error of Python": fails(engine.run, "data: ${ x.fail() }", x=Thing()), "a model that fails": fails(engine.run, "model: bad\ninput: x"),
            "a cyclic value": fails(program.run, x=cyclic, g=1), "a lone surrogate": fails(program.run, x="\ud800", g=1),
            "a wrong scope": fails(program.run, 5), "wrong arguments of a function": fails(names["f"], 1, 2, 3),
            "another engine's": fails(libpdl.run, "data: ${ f }", f=names["f"]), "code": lambda: engine.run("lang: python\ncode: result = [1]"),
            "code that fails": fails(engine.run, "lang: python\ncode: 1/0"),
            "an engine": lambda: libpdl.Engine(models={"m": lambda r: "x"}).run("model: m\ninput: x"),
            "a wrong engine": fails(libpdl.Engine, jobs="x")}
        for name, action in actions.items():
            with self.subTest(name):
                self.assertLess(self.grows(action, 20 if SLOW else 60), 0.5)
                if HAS_COUNT:
                    self.assertLess(self.grows(action, 20 if SLOW else 60, sys.gettotalrefcount), 0.5)


OTHER_LOOPS = """
    import asyncio, libpdl

    async def model(request):
        await asyncio.sleep(0.01)
        return "x"

    program = libpdl.Engine(models={"m": model}).loads("model: m\\ninput: hi")
    slow = libpdl.loads("lang: command\\ncode: sleep 30")

    async def use():
        values = [r.value for r in await asyncio.gather(*(program.arun() for _ in range(100)))]
        pieces = [piece async for piece in program.astream()]
        task = asyncio.ensure_future(slow.arun())
        await asyncio.sleep(0.05)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            print(values == ["x"] * 100, pieces)
"""


class Loops(unittest.TestCase):
    """Event loops other than asyncio's own, whose packages are fetched."""

    def use(self, lines):
        if HAS_COUNT:
            self.skipTest("the packages are for another build of Python")
        exe, why = venv_of.python(os.environ["PDL_BUILD"], "uvloop", "anyio")
        if not exe:
            self.skipTest(why)
        code = textwrap.dedent(OTHER_LOOPS) + textwrap.dedent(lines)
        p = subprocess.run([exe, "-c", code], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual((p.returncode, p.stdout), (0, "True ['x']\n"), p.stderr)

    def test_uvloop(self):
        self.use("""
            import uvloop
            uvloop.run(use())
        """)

    def test_anyio(self):
        self.use("""
            import anyio
            anyio.run(use)
        """)

    def test_anyio_on_uvloop_with_a_task_group(self):
        self.use("""
            import anyio

            async def main():
                async with anyio.create_task_group() as group:
                    group.start_soon(use)
                with anyio.move_on_after(0.05) as scope:
                    await slow.arun()
                assert scope.cancelled_caught
                assert (await program.arun()).value == "x"
            anyio.run(main, backend_options={"use_uvloop": True})
        """)


if __name__ == "__main__":
    unittest.main()
