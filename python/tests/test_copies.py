# SPDX-License-Identifier: Apache-2.0
"""Copies of engines, programs and results, and what other processes get of them."""
import copy
import pathlib
import pickle
import subprocess
import sys
import tempfile
import textwrap
import unittest

import libpdl

WITH_FUNCTION = "defs:\n  f:\n    function: {x: integer}\n    return:\n      data: ${ x + 1 }\ntext: hi ${ y }"


def shout(request):
    return request.messages[-1]["content"].upper()


def both(thing):
    return copy.deepcopy(thing), pickle.loads(pickle.dumps(thing))


class Copies(unittest.TestCase):
    def test_results(self):
        first = libpdl.loads("defs: {a: 1}\ntext: hi ${ y }").traced(y="Ada")
        for r in both(first):
            self.assertEqual((r.text, r.value, r.usage, r.score, r.trace, r.messages, r.variables["a"]),
                             (first.text, first.value, first.usage, first.score, first.trace, first.messages, 1))

    def test_functions_of_programs(self):
        r = libpdl.loads(WITH_FUNCTION).run(y=1)
        self.assertEqual(copy.deepcopy(r).variables["f"](1), 2)
        self.assertEqual(copy.copy(r.variables["f"])(1), 2)
        with self.assertRaisesRegex(TypeError, "function of a program: f"):
            pickle.dumps(r)

    def test_engines_share_nothing_that_runs(self):
        engine = libpdl.Engine(models={"m": shout}, budget={"calls": 1})
        engine.run("text: a")
        for other in (copy.copy(engine), *both(engine)):
            self.assertIsNot(other._cores, engine._cores)
            self.assertEqual(other.run("model: m\ninput: hi").text, "HI")
            with self.assertRaises(libpdl.BudgetError):
                other.run("array: [{model: m, input: a}, {model: m, input: b}]")

    def test_programs(self):
        engine = libpdl.Engine(models={"m": shout})
        for program in (engine.loads("model: m\ninput: ${ x }", returns=str), engine.from_dict({"model": "m", "input": "${ x }"})):
            program.run(x="a")
            for other in both(program):
                self.assertEqual(other.run(x="hi").value, "HI")

    def test_other_processes(self):
        """A program goes to the processes of a pool, its results come back."""
        text = """
            import multiprocessing, libpdl
            def shout(request):
                return request.messages[-1]["content"].upper()
            def main():
                program = libpdl.Engine(models={"m": shout}).loads("model: m\\ninput: ${ x }")
                program.run(x="before")
                for how in ("fork", "spawn"):
                    with multiprocessing.get_context(how).Pool(2) as pool:
                        print([r.text for r in pool.map(program.run, [{"x": c} for c in "abcd"])])
            if __name__ == "__main__":
                main()
        """
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "pool.py")
            file.write_text(textwrap.dedent(text))
            p = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((p.stdout, p.stderr, p.returncode), ("['A', 'B', 'C', 'D']\n" * 2, "", 0))

    def test_errors_stay_whole(self):
        with self.assertRaises(libpdl.RunError) as caught:
            libpdl.run("text: ${ nothing }")
        for e in both(caught.exception):
            self.assertEqual((type(e), str(e), vars(e)), (libpdl.RunError, str(caught.exception), vars(caught.exception)))


if __name__ == "__main__":
    unittest.main()
