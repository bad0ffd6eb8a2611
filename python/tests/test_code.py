# SPDX-License-Identifier: Apache-2.0
"""Code blocks in the calling interpreter."""
import asyncio
import contextlib
import io
import pathlib
import sys
import tempfile
import threading
import unittest

import libpdl


def block(code, **more):
    return {"lang": "python", "code": code, **more}


def run(code, **variables):
    return libpdl.from_dict(block(code)).run(variables).value


class Blocks(unittest.TestCase):
    def test_variables_and_result(self):
        self.assertEqual(run("result = x + 1", x=1), 2)
        self.assertEqual(run("def f():\n    return x\nresult = f()", x=5), 5)
        self.assertEqual(run("import threading\nresult = threading.get_ident()"), threading.get_ident())

    def test_objects_are_themselves(self):
        thing = object()
        self.assertIs(run("result = [thing]", thing=thing)[0], thing)

    def test_what_is_changed_in_place(self):
        program = libpdl.from_dict({"defs": {"a": {"data": [1]}, "d": {"data": {"k": [1]}}, "same": {"data": [0]}}, "text": [
            block("a.append(2); d['k'].append(9); d['n'] = 1; same = 5; result = ''"), "${ a } ${ d } ${ same }"]})
        self.assertEqual(program.run().text, "[1, 2] {'k': [1, 9], 'n': 1} [0]" if "'" in program.run().text
                         else '[1, 2] {"k": [1, 9], "n": 1} [0]')

    def test_the_session_stays(self):
        run("PDL_SESSION.n = 3; result = 0")
        self.assertEqual(run("result = PDL_SESSION.n"), 3)

    def test_print(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            run("print('hello'); result = 0")
        self.assertEqual(out.getvalue(), "hello\n")

    def test_modules_beside_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "beside_the_program.py").write_text("x = 7\n")
            program = pathlib.Path(folder) / "p.pdl"
            program.write_text("lang: python\ncode: |\n  import beside_the_program as m\n  result = m.x\n")
            before = list(sys.path)
            self.assertEqual(libpdl.load(program).run().value, 7)
            self.assertEqual(sys.path, before)
            del sys.modules["beside_the_program"]

    def test_errors_are_those_of_the_process(self):
        process = libpdl.Engine(code="process")
        for code in ("def f():\n    return 1/0\nresult = f()", "x = 1", "result = (", "raise KeyError('a')"):
            found = []
            for engine in (libpdl.Engine(), process):
                with self.assertRaises(libpdl.RunError) as caught:
                    engine.from_dict(block(code)).run()
                found.append((caught.exception.kind, caught.exception.message, caught.exception.exit_code))
            self.assertEqual(found[0], found[1])

    def test_the_exception_is_the_cause(self):
        with self.assertRaises(libpdl.RunError) as caught:
            run("def f():\n    return 1/0\nresult = f()")
        cause = caught.exception.__cause__
        self.assertIsInstance(cause, ZeroDivisionError)
        names = []
        trace = cause.__traceback__
        while trace:
            names.append(trace.tb_frame.f_code.co_name)
            trace = trace.tb_next
        self.assertIn("f", names)

    def test_retry_sees_the_class(self):
        program = libpdl.from_dict(block("raise KeyError('a')", fallback={"data": "caught"}))
        self.assertEqual(program.run().value, "caught")

    def test_ctrl_c_and_exit(self):
        for what in (KeyboardInterrupt, SystemExit):
            with self.assertRaises(what):
                libpdl.from_dict({**block("raise stop"), "fallback": "caught"}).run(stop=what)

    def test_await(self):
        async def fetch(x):
            await asyncio.sleep(0.01)
            return x * 2
        code = block("import asyncio\na, b = await asyncio.gather(fetch(1), fetch(2))\nresult = a + b")

        async def main():
            return (await libpdl.from_dict(code).arun(fetch=fetch)).value
        self.assertEqual(asyncio.run(main()), 6)
        self.assertEqual(libpdl.from_dict(code).run(fetch=fetch).value, 6)

    def test_await_that_fails(self):
        async def fail():
            raise ValueError("no bees")

        async def main():
            await libpdl.from_dict(block("result = await fail()")).arun(fail=fail)
        with self.assertRaises(libpdl.RunError) as caught:
            asyncio.run(main())
        self.assertIsInstance(caught.exception.__cause__, ValueError)

    def test_other_languages_run_elsewhere(self):
        self.assertEqual(libpdl.from_dict({"lang": "command", "code": "echo hi"}).run().text.strip(), "hi")

    def test_a_result_that_cannot_be_one(self):
        with self.assertRaisesRegex(libpdl.RunError, "holds itself"):
            run("result = []\nresult.append(result)")


if __name__ == "__main__":
    unittest.main()
