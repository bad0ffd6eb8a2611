# SPDX-License-Identifier: Apache-2.0
"""Passes wrong values to every parameter of every public function: each raises TypeError or UsageError, and the message
names the parameter.

The functions and their parameters come from the package, so a function or parameter that is added without a row here
fails."""
import asyncio
import copy
import gc
import inspect
import math
import pathlib
import tempfile
import unittest
import unittest.mock

import libpdl


class Odd:
    """An object that is wrong for every parameter."""

    def __repr__(self):
        return "Odd()"


def nothing():
    """A function."""


ODD = Odd()
TEXTS = [None, 1, 1.5, b"text: a", [], {}, ODD, nothing, "\ud800"]
PATHS = [1, 1.5, b"a.pdl", [], ODD, nothing, "", "a\0b", "\ud800"]
NAMES = PATHS  # None is a wrong name
SCOPES = [1, "a", b"a", [1], ODD, nothing, {1: 2}, {None: 1}]
COUNTS = [None, 0, -1, True, 1.5, "1", [], ODD, 10 ** 20, math.nan]
TYPES = ["int", 5, ODD, [int], b"x"]
ROWS = [None, 1, "ab", b"ab", {}, ODD, nothing]
FUNCTIONS = [None, 1, "f", [], {}, ODD, b"f"]
SIZES = [0, -1, True, 1.5, [], ODD, math.nan, math.inf, {"calls": -1}, {"calls": math.inf}, {"calls": "1"}, {"calls": math.nan}, {1: 1}, {"bees": 1}, "bees=1", "\ud800"]
ENGINE = {
    "models": [1, "m", [], ODD, {1: nothing}, {"m": 1}, {"m": "f"}, {"a*b": nothing}, {"\ud800": nothing}],
    "tools": [None, 1, "f", {}, ODD, nothing, [1], ["f"], [ODD], [lambda: 1], [nothing, type("nothing", (), {})]],
    "jobs": COUNTS,
    "cache": PATHS, "record": PATHS, "replay": PATHS,
    "budget": SIZES,
    "timeout": [0, -1, True, [], {}, ODD, math.nan, math.inf, "soon", "first=bees", "\ud800"],
    "prices": [1, 1.5, b"p", [], ODD, "", {"m": ODD}, {"m": math.nan}, {"m": math.inf}],
    "sandbox": [1, 1.5, b"s", [], ODD, "", {1: 2}, {"bees": 1}, {"read": [1]}],
    "policy": [1, 1.5, b"p", ODD, "", {1: 2}, {"bees": 1}, [1], [None], [{"policy": 1, "rules": 5}]],
    "approve": [1, True, "yes", [], {}, ODD],
    "paths": [None, 1, "lib", b"lib", {}, ODD, [1], [""], ["a\0b"], [b"lib"]],
    "code": [1, "", "there", b"here", [], ODD]}
INFERS = {"program": [None, *PATHS], "scope": SCOPES, "text": TEXTS[1:], "algo": [*TEXTS, "mcmc"], "n": [None, True, 1.5, "1", [], ODD, math.nan],
          "cwd": PATHS}
PROGRAM = libpdl.loads("text: hi")
RUNS = {"scope": SCOPES}
MAPS = {"rows": ROWS, "jobs": COUNTS}
LOADS = {"text": TEXTS, "name": NAMES, "returns": TYPES}
SEARCH = {"config": [None, 1, 1.5, b"a", [], ODD, nothing, "", "a\0b", {"a": ODD}], "output": PATHS, "experiments": PATHS, "cache": PATHS,
          "budget": [0, 1.5, [], {}, ODD, "\ud800"], "jobs": COUNTS[1:], "seed": [-1, True, 1.5, "1", [], ODD, 1 << 63]}
# name: the callable, arguments that are right, {parameter: values that are wrong}
ROWS_OF = {
    "load": (libpdl.load, {"path": "examples/hello.pdl"}, {"path": [None, *PATHS], "returns": TYPES}),
    "loads": (libpdl.loads, {"text": "text: a"}, LOADS),
    "from_dict": (libpdl.from_dict, {"program": {"text": "a"}},
                  {"program": [None, 1, b"a", ODD, nothing, {"text": ODD}, {"text": nothing}], "name": NAMES, "returns": TYPES}),
    "run": (libpdl.run, {"text": "text: a"}, {"text": TEXTS, "scope": SCOPES}),
    "schema": (libpdl.schema, {}, {}),
    "infer": (libpdl.infer, {"program": "examples/hello.pdl"}, INFERS),
    "ainfer": (lambda *a, **k: asyncio.run(libpdl.ainfer(*a, **k)), {"program": "examples/hello.pdl"}, INFERS),
    "tool": (libpdl.tool, {"function": nothing}, {"function": FUNCTIONS}),
    "optimize": (libpdl.optimize, {"config": "none.yaml"}, SEARCH),
    "aoptimize": (lambda *a, **k: asyncio.run(libpdl.aoptimize(*a, **k)), {"config": "none.yaml"}, SEARCH),
    "Engine": (lambda **options: libpdl.Engine(**options).run("text: a"), {}, ENGINE),  # the file is read when it is used
    "Program.run": (PROGRAM.run, {}, RUNS), "Program.traced": (PROGRAM.traced, {}, RUNS), "Program.traced_whole": (PROGRAM.traced_whole, {}, RUNS),
    "Program.stream": (PROGRAM.stream, {}, RUNS),
    "Program.arun": (lambda *a, **k: asyncio.run(PROGRAM.arun(*a, **k)), {}, RUNS), "Program.astream": (PROGRAM.astream, {}, RUNS),
    "Program.explain": (PROGRAM.explain, {}, RUNS), "Program.map": (PROGRAM.map, {"rows": []}, MAPS),
    "Program.map_unordered": (PROGRAM.map_unordered, {"rows": []}, MAPS),
    "Program.check": (PROGRAM.check, {}, {}), "Program.as_tool": (PROGRAM.as_tool, {}, {})}
ROWS_OF.update({"Engine." + name: ROWS_OF[name] for name in ("load", "loads", "from_dict", "run", "schema")})
GIVEN_BY_LIBPDL = {"ApprovalRequest", "AsyncStream", "Call", "Context", "Diagnostic", "Distribution", "Function", "Map", "ModelRequest", "Result", "Stream", "Tool"}


def parameters_of(call):
    return [p for p in inspect.signature(call).parameters.values() if p.name != "self" and p.kind is not p.VAR_KEYWORD]


def public():
    """Yields (name, function) for everything that users call with arguments."""
    for name in libpdl.__all__:
        value = getattr(libpdl, name)
        if name in GIVEN_BY_LIBPDL or (isinstance(value, type) and issubclass(value, BaseException)):
            continue
        if isinstance(value, type):
            if value is not libpdl.Program:
                yield name, value
            yield from (("%s.%s" % (name, k), f) for k, f in vars(value).items() if callable(f) and not k.startswith("_"))
        else:
            yield name, value


class Arguments(unittest.TestCase):
    def test_every_parameter_has_a_row(self):
        for name, f in public():
            with self.subTest(name):
                self.assertIn(name, ROWS_OF)
                self.assertEqual({p.name for p in parameters_of(f)}, set(ROWS_OF[name][2]))
        self.assertEqual(set(ROWS_OF), {name for name, _ in public()})

    def call(self, name, parameter, value):
        f, right, _ = ROWS_OF[name]
        declared = dict(public())[name]
        kinds = {p.name: p.kind for p in parameters_of(declared)}
        given = {**right, parameter: value}
        if name.endswith("load") and parameter != "path":
            given["path"] = self.file
        first = [given.pop(k) for k, kind in kinds.items() if kind is inspect.Parameter.POSITIONAL_ONLY and k in given]
        return f(*first, **given)

    def setUp(self):
        file = tempfile.NamedTemporaryFile("w", suffix=".pdl")
        self.addCleanup(file.close)
        file.write("text: a")
        file.flush()
        self.file = pathlib.Path(file.name)

    def test_wrong_values(self):
        for name, (f, _, wrong) in ROWS_OF.items():
            for parameter, values in wrong.items():
                for value in values:
                    with self.subTest(call=name, parameter=parameter, value=value):
                        with self.assertRaises((TypeError, libpdl.UsageError)) as raised:
                            self.call(name, parameter, value)
                        self.assertIn(parameter, str(raised.exception))

    def test_contexts(self):
        message = {"role": "user", "content": "a"}
        for parts in (5, None, "abc", b"ab", message, [1], [message, None], ["abc"]):
            with self.subTest(parts), self.assertRaisesRegex(TypeError, "parts"):
                libpdl.Context(parts)
        for form in ("bees", 5, None, []):
            with self.subTest(form), self.assertRaisesRegex(libpdl.UsageError, "form"):
                libpdl.Context([message], form)
        for parts in ([], [message, message]):
            with self.subTest(parts), self.assertRaisesRegex(libpdl.UsageError, "parts"):
                libpdl.Context(parts, "message")
        for right in (libpdl.Context([message], "message"), libpdl.Context(iter([message]), "independent"), libpdl.Context([libpdl.Context([message])])):
            self.assertEqual(libpdl.run("data: ${ pdl_context | length }", {"pdl_context": right}).value, 1)
            self.assertEqual((copy.copy(right), copy.copy(right).form), (right, right.form))

    def test_what_libpdl_gives_is_not_made_by_hand(self):
        # these are records that users do not make
        for name in sorted(GIVEN_BY_LIBPDL - {"Context", "Diagnostic", "ModelRequest", "ApprovalRequest"}):
            for arguments in ((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), (None,)):
                with self.subTest(name, arguments=arguments), unittest.mock.patch("sys.unraisablehook") as unraisable:
                    with self.assertRaises(TypeError):
                        getattr(libpdl, name)(*arguments)
                    gc.collect()
                    self.assertEqual(unraisable.mock_calls, [])

    def test_rows_of_a_map(self):
        for rows, name in (([5], "0"), ([{}, "a"], "1"), ([{}, {1: 1}], "1"), ([{}, {None: 1}], "1")):
            with self.subTest(rows), self.assertRaisesRegex(TypeError, r"rows\[%s\]" % name):
                list(PROGRAM.map(rows))

    def test_a_budget_of_nothing(self):
        """The budget is given as text, as a dict, and in the program: the first call exceeds it."""
        for budget in ("calls=0", {"calls": 0}, {"calls": 0.0}, {"tokens": 0}):
            with self.subTest(budget), self.assertRaisesRegex(libpdl.BudgetError, "the budget of 0 [a-z]+ is spent"):
                libpdl.Engine(models={"m": lambda request: "x"}, budget=budget).run("model: m\ninput: x")
        with self.assertRaisesRegex(libpdl.BudgetError, "the budget of 0 calls is spent"):
            libpdl.Engine(models={"m": lambda request: "x"}).run("model: m\ninput: x\nbudget: {calls: 0}")
        self.assertEqual(libpdl.Engine(budget={"calls": 0}).run("text: no calls").text, "no calls")

    def test_the_text_of_an_error_ends_without_a_line(self):
        for call in (lambda: libpdl.run("text: ["), lambda: libpdl.run("data: ${ nope }"), lambda: libpdl.Engine(budget="5").run("text: a")):
            with self.assertRaises(libpdl.Error) as raised:
                call()
            self.assertFalse(str(raised.exception).endswith("\n"))
            self.assertTrue(raised.exception.message)

    def test_files_that_are_not_there(self):
        for name in ("cache", "record", "replay", "prices", "sandbox", "policy"):
            with self.subTest(name), self.assertRaises(libpdl.Error) as raised:
                libpdl.Engine(**{name: "/dev/null/file"}).run("text: a")
            self.assertEqual(raised.exception.kind, "io", name)
            self.assertTrue(raised.exception.message.startswith(name), raised.exception.message)
            self.assertTrue(str(raised.exception).startswith(name), raised.exception)

    def test_unknown_and_missing(self):
        for name, f in public():
            with self.subTest(name):
                takes_more = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(f).parameters.values())
                if not takes_more:
                    with self.assertRaisesRegex(TypeError, "nonsense"):
                        ROWS_OF[name][0](**ROWS_OF[name][1], nonsense=1)
                for p in parameters_of(f):
                    if p.default is p.empty:
                        with self.assertRaisesRegex(TypeError, p.name):
                            ROWS_OF[name][0]()


if __name__ == "__main__":
    unittest.main()
