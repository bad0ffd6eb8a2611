# SPDX-License-Identifier: Apache-2.0
"""Wrong arguments, types of results, tools, the manual, annotations."""
import dataclasses
import datetime
import decimal
import enum
import fractions
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import uuid
from typing import Annotated, Any, ClassVar, Dict, Generic, List, Literal, Mapping, NamedTuple, NewType, Optional, Sequence, Tuple, TypedDict, TypeVar, Union

import libpdl

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent.parent))
from tests import node_of, venv_of  # noqa: E402

BARE = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "PYTHONPATH")}

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@dataclasses.dataclass
class Person:
    name: str
    age: float = 1
    tags: List[str] = dataclasses.field(default_factory=list)


class Book(TypedDict):
    title: str
    by: Person


class Mood(enum.Enum):
    GOOD = "good"
    TWO = 2


class Pair(NamedTuple):
    a: int
    b: str = "x"


T = TypeVar("T")


@dataclasses.dataclass
class Box(Generic[T]):
    content: T


@dataclasses.dataclass
class Visit:
    mood: Mood
    when: datetime.datetime
    where: Optional[pathlib.Path] = None
    n: int = dataclasses.field(init=False, default=3)
    kinds: ClassVar[int] = 2

    def __post_init__(self):
        if self.when.year < 2000:
            raise ValueError("too long ago")


Id = NewType("Id", int)


class WrongArguments(unittest.TestCase):
    def test_each(self):
        p = libpdl.loads("text: a")
        engine = libpdl.Engine
        cases = [
            (lambda: libpdl.load(5), "path"), (lambda: libpdl.load(""), "path"), (lambda: libpdl.load("a\0b"), "path"),
            (lambda: libpdl.load(b"a"), "path"), (lambda: libpdl.loads(5), "text"), (lambda: libpdl.loads(None), "text"),
            (lambda: libpdl.loads("a\ud800"), "text"), (lambda: libpdl.loads("a", name=5), "name"),
            (lambda: libpdl.loads("text: a", returns=5), "returns"), (lambda: libpdl.from_dict(5), "program"),
            (lambda: libpdl.run(b"text: a"), "text"), (lambda: p.run(5), "scope"), (lambda: p.run({5: 1}), "scope"),
            (lambda: p.run([1]), "scope"), (lambda: p.stream("x"), "scope"), (lambda: p.astream("x"), "scope"),
            (lambda: p.map(5), "rows"), (lambda: p.map("abc"), "rows"), (lambda: list(p.map([5])), "rows[0]"),
            (lambda: p.map([], jobs=0), "jobs"), (lambda: p.map_unordered([], jobs="a"), "jobs"),
            (lambda: engine(models=[1]), "models"), (lambda: engine(models={"a": 1}), "models"),
            (lambda: engine(models={1: len}), "models"), (lambda: engine(models={"a*b": len}), "models"),
            (lambda: engine(tools="x"), "tools"), (lambda: engine(tools=[1]), "tools"), (lambda: engine(tools=5), "tools"),
            (lambda: engine(jobs=-1), "jobs"), (lambda: engine(jobs=True), "jobs"), (lambda: engine(jobs=10**30), "jobs"),
            (lambda: engine(cache=5), "cache"), (lambda: engine(record=5), "record"), (lambda: engine(replay=5.5), "replay"),
            (lambda: engine(record="a", replay="b"), "record"), (lambda: engine(budget={"calls": "x"}), "budget"),
            (lambda: engine(budget={"calls": -1}), "budget"), (lambda: engine(timeout=-1), "timeout"),
            (lambda: engine(timeout=float("nan")), "timeout"), (lambda: engine(timeout=True), "timeout"),
            (lambda: engine(prices=5), "prices"), (lambda: engine(prices={"a": object()}), "prices"),
            (lambda: engine(paths="x"), "paths"), (lambda: engine(paths=[5]), "paths"), (lambda: engine(code="there"), "code"),
            (lambda: engine(sandbox=5), "sandbox"), (lambda: engine(sandbox={"read": [5]}), "sandbox"), (lambda: engine(policy=5), "policy"),
            (lambda: engine(policy=[5]), "policy"), (lambda: engine(policy={1: 2}), "policy"), (lambda: engine(sandbox=True, code="here"), "code"),
            (lambda: engine(policy={"policy": 1, "rules": [{"sink": "code", "deny": ["model"]}]}, code="here"), "code"),
            (lambda: libpdl.from_dict({"data": object()}), "program"), (lambda: p.explain(5), "scope"),
            (lambda: p.run(greeting="\ud800"), "greeting"), (lambda: p.explain(a=1, greeting=["\ud800"]), "greeting"),
            (lambda: p.as_tool(1), "as_tool"), (lambda: p.as_tool()(1), "program"), (lambda: libpdl.tool(5), "function"), (lambda: libpdl.Program(), "libpdl.load"), (lambda: engine(nonsense=1), "nonsense")]
        for call, name in cases:
            with self.assertRaises((TypeError, libpdl.UsageError)) as e:
                call()
            self.assertIn(name, str(e.exception))

    def test_the_extension_itself(self):
        from libpdl import _pdl
        core = libpdl.Engine()._core()
        for kind in (_pdl.Program, _pdl.Run, _pdl.Request, _pdl.Handle, _pdl.Bound):
            self.assertRaises(TypeError, kind)
        for call in (lambda: core.start(1, {}), lambda: core.load_file(5), lambda: core.step("a"), lambda: _pdl.Engine(), lambda: core.load_text("a\0b", 5)):
            self.assertRaises((TypeError, ValueError), call)
        with self.assertRaises(libpdl.UsageError):
            core.handle("nonsense", "", len)

    def test_record_serves_one_run(self):
        with tempfile.TemporaryDirectory() as d:
            e = libpdl.Engine(models={"m": lambda r: "x"}, record=d + "/j")
            p = e.loads("model: m\ninput: a")
            self.assertEqual(p.run().value, "x")
            self.assertRaises(libpdl.UsageError, p.run)
            self.assertEqual(libpdl.Engine(replay=d + "/j").loads("model: m\ninput: a").run().value, "x")


class Returns(unittest.TestCase):
    def fit(self, kind, value):
        return libpdl.loads("data: ${ x }", returns=kind).run(x=value).value

    def test_types(self):
        self.assertEqual(self.fit(Person, {"name": "Ada", "tags": ["a"]}), Person("Ada", 1, ["a"]))
        self.assertEqual(self.fit(Book, {"title": "t", "by": {"name": "n"}}), {"title": "t", "by": Person("n")})
        for kind, value in ((int, 1), (float, 1.5), (str, "a"), (Any, [1]), (List[int], [1]), (Dict[str, int], {"a": 1}),
                            (Optional[int], None), (Union[int, str], "a"), (Literal["a", 2], 2), (list, [1]), (dict, {})):
            self.assertEqual(self.fit(kind, value), value)
        self.assertEqual(self.fit(Tuple[int, str], [1, "a"]), (1, "a"))

    def test_what_json_has_no_form_for(self):
        day = datetime.date(2026, 1, 2)
        for kind, value, want in (
                (Mood, "good", Mood.GOOD), (List[Mood], ["good", 2], [Mood.GOOD, Mood.TWO]), (Optional[Mood], None, None),
                (Dict[Mood, int], {"good": 1}, {Mood.GOOD: 1}), (Dict[int, str], {"1": "a"}, {1: "a"}),
                (Pair, [1, "a"], Pair(1, "a")), (Pair, {"a": 1}, Pair(1)), (Id, 3, 3), (List[Id], [3], [3]), (Annotated[int, "n"], 3, 3),
                (datetime.date, "2026-01-02", day), (datetime.date, day, day), (datetime.time, "10:00", datetime.time(10)),
                (datetime.datetime, "2026-01-02T03:04:05Z", datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)),
                (List, [1], [1]), (Dict, {"a": 1}, {"a": 1}), (Tuple, [1], (1,)), (tuple, [1], (1,)), (set, [1], {1}), (Box[int], {"content": 1}, Box(1)),
                (Mapping[str, Person], {"a": {"name": "n"}}, {"a": Person("n")}), (Sequence[Person], [{"name": "n"}], [Person("n")]),
                (Visit, {"mood": 2, "when": "2026-01-02", "where": "/a"}, Visit(Mood.TWO, datetime.datetime(2026, 1, 2), pathlib.Path("/a")))):
            with self.subTest(kind=kind, value=value):
                self.assertEqual(self.fit(kind, value), want)

    def test_values_that_a_type_refuses(self):
        for kind, value, where in ((Mood, "bad", "the result should be of type Mood"), (datetime.date, "today", "of type date"),
                                   (datetime.date, datetime.datetime(2026, 1, 2), "of type date"),
                                   (Visit, {"mood": "bad", "when": "2026-01-02"}, "the result.mood should be of type Mood"),
                                   (Visit, {"mood": 2, "when": "1999-01-02"}, "of type Visit"), (Visit, {"mood": 2, "when": "2026-01-02", "n": 1}, "'n'"),
                                   (Visit, {"mood": 2, "when": "2026-01-02", "kinds": 1}, "'kinds'"), (Pair, [1, "a", 2], "of type Pair"),
                                   (Pair, {"b": "x"}, "lacks the field 'a'"), (Pair, {"a": 1, "c": 2}, "'c'"), (Dict[int, str], {"x": "a"}, "of type int"),
                                   (Mapping[str, Person], {"a": {}}, "lacks the field 'name'")):
            with self.subTest(kind=kind, value=value), self.assertRaises(libpdl.RunError) as e:
                self.fit(kind, value)
            self.assertEqual(e.exception.kind, "type")
            self.assertIn(where, str(e.exception))

    def test_annotations_that_mean_nothing(self):
        Broken = dataclasses.make_dataclass("Broken", [("a", "Nowhere")])
        with self.assertRaisesRegex(TypeError, "returns: the annotations of Broken"):
            self.fit(Broken, {"a": 1})

    def test_misfits(self):
        for kind, value in ((int, "a"), (int, True), (Person, {}), (Person, {"name": 5}), (Person, {"name": "a", "x": 1}), (Book, {"title": "t"}),
                            (List[int], ["a"]), (Dict[str, int], [1]), (Literal["a"], "b"), (Tuple[int, str], [1]), (Union[int, None], "a")):
            with self.assertRaises(libpdl.RunError) as e:
                self.fit(kind, value)
            self.assertEqual(e.exception.kind, "type")


WITH_PACKAGES = """
import enum, numpy as np, pandas as pd, pydantic, libpdl
from typing import Optional
def back(x):
    return libpdl.run("data: ${ x }", x=x).value
class More(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    a: int
    @pydantic.computed_field
    @property
    def twice(self) -> int:
        return self.a * 2
class Rows(pydantic.RootModel[list[More]]):
    pass
assert back(More(a=1, b=2)) == More(a=1, b=2).model_dump() == {"a": 1, "b": 2, "twice": 2}
assert back(Rows([More(a=1)])) == [{"a": 1, "twice": 2}]
assert libpdl.loads("data: {a: 3}", returns=More).run().value == More(a=3)
assert libpdl.loads("data: [{a: 3}]", returns=Rows).run().value == Rows([More(a=3)])
for scalar in (np.int8(3), np.float32(1.5), np.longdouble(1.5), np.bool_(True), np.str_("a"), np.uint64(2 ** 64 - 1)):
    assert back(scalar) == scalar and type(back(scalar)) in (int, float, bool, str), repr(scalar)
assert back(np.array([1.5, 2], dtype=np.longdouble)) == [1.5, 2] and back({"a": np.array([1, 2])}) == {"a": [1, 2]}
wide, table = np.zeros((2, 2)), pd.DataFrame({"a": [1, 2]})
assert back(wide) is wide and back(table) is table
assert libpdl.run("data: ${ t.a.sum() + 1 }", t=table).value == 4
assert [r.value for r in libpdl.loads("data: ${ a + 1 }").map(table.to_dict("records"))] == [2, 3]
print("fine")
"""


class ReturnsOfText(unittest.TestCase):
    def test_numbers_and_ids(self):
        for kind, text in ((decimal.Decimal, "1.50"), (uuid.UUID, "00000000-0000-0000-0000-000000000005"), (fractions.Fraction, "1/3")):
            self.assertEqual(libpdl.loads("data: ${ x }", returns=List[kind]).run(x=[text]).value, [kind(text)])
            with self.assertRaisesRegex(libpdl.RunError, "should be of type %s, but is 'abc'" % kind.__name__):
                libpdl.loads("data: abc", returns=kind).run()

    def test_a_literal_names_what_it_may_be(self):
        with self.assertRaisesRegex(libpdl.RunError, "should be one of 'a', 'b', but is 'c'"):
            libpdl.loads("data: c", returns=Literal["a", "b"]).run()


class Packages(unittest.TestCase):
    def test_values(self):
        """Values of pydantic, NumPy and pandas."""
        build = pathlib.Path(os.environ["PDL_BUILD"])
        if "PDL_PYTHON_PRELOADED" in os.environ:
            self.skipTest("the packages do not run under sanitizers")
        python, why = venv_of.python(build, "numpy", "pydantic", "pandas", name="test-venv-values")
        if python is None:
            self.skipTest(why)
        p = subprocess.run([python, "-c", WITH_PACKAGES], env={**BARE, "PYTHONPATH": os.environ["PYTHONPATH"]}, capture_output=True, text=True, timeout=120,
                           check=False)
        self.assertEqual((p.stdout, p.stderr), ("fine\n", ""))


class Tools(unittest.TestCase):
    def test_schema(self):
        def find(what: str, n: Optional[int] = None) -> List[str]:
            """Finds things."""
            return [what] * (n or 1)
        t = libpdl.tool(find)
        f = t.schema["function"]
        self.assertEqual((f["name"], f["description"], f["parameters"]["required"]), ("find", "Finds things.", ["what"]))
        self.assertEqual(f["parameters"]["properties"]["n"], {"anyOf": [{"type": "integer"}, {"type": "null"}]})
        self.assertEqual(libpdl.Engine(tools=[t]).run("data: ${ find('a', n=2) }").value, ["a", "a"])

    def test_annotations(self):
        def visit(mood: Mood, city: Annotated[str, "in English"], day: Optional[datetime.date] = None, by: Id = Id(1)) -> None:
            pass
        self.assertEqual(libpdl.tool(visit).schema["function"]["parameters"]["properties"], {
            "mood": {"enum": ["good", 2]}, "city": {"type": "string", "description": "in English"},
            "day": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]}, "by": {"type": "integer"}})


class Code(unittest.TestCase):
    def test_here(self):
        r = libpdl.run("defs: {a: {data: [1]}}\nlang: python\ncode: |\n  import os\n  PDL_SESSION.pid = os.getpid()\n  result = [PDL_SESSION.pid, a]")
        import os
        self.assertEqual(r.value, [os.getpid(), [1]])

    def test_process(self):
        import os
        r = libpdl.Engine(code="process").run("lang: python\ncode: |\n  import os\n  result = os.getpid()")
        self.assertNotEqual(r.value, os.getpid())

    def test_an_exception_is_the_cause(self):
        with self.assertRaises(libpdl.RunError) as e:
            libpdl.run("lang: python\ncode: |\n  x = 1\n  1 // 0")
        self.assertIsInstance(e.exception.__cause__, ZeroDivisionError)
        self.assertEqual(e.exception.kind, "code")


class Pages(unittest.TestCase):
    def test_samples_of_the_manual(self):
        """Runs each ```python block that is followed by a ```stdout block, beside files with the text of the blocks that have file=NAME."""
        page = (ROOT / "docs" / "manual" / "python.md").read_text("utf-8")
        blocks = re.findall(r"^```(\w+)([^\n]*)\n(.*?)^```$", page, re.M | re.S)
        ran = 0
        with tempfile.TemporaryDirectory() as d:
            for (kind, info, text), (next_kind, _, want) in zip(blocks, [*blocks[1:], ("", "", "")]):
                name = re.search(r"file=(\S+)", info)
                if name:
                    (pathlib.Path(d) / name.group(1)).write_text(text, "utf-8")
                if kind == "python" and next_kind == "stdout":
                    p = subprocess.run([sys.executable, "-c", text], cwd=d, capture_output=True, text=True, check=False)
                    self.assertEqual(p.stdout.rstrip(), want.rstrip(), text + p.stderr)
                    ran += 1
        self.assertGreater(ran, 5)

    def test_tools_of_python_are_called_with_their_arguments(self):
        def area(width: float, height: float = 1) -> float:
            return width * height

        program = libpdl.loads("data: ${ stdlib.tool_answer_or_error(call, [tool], 'observe') }")
        for run in (area, libpdl.tool(area)):
            tool = {**libpdl.tool(area).schema, "run": run}
            for arguments, want in (('{"width": 3, "height": 4}', "12"), ('{"width": 2}', "2"), ('{"depth": 1}', "Error: "), ("[", "Error: ")):
                call = {"id": "c", "type": "function", "function": {"name": "area", "arguments": arguments}}
                self.assertIn(want, program.run(tool=tool, call=call).value, arguments)
        self.assertIn("no function to run", program.run(tool={**libpdl.tool(area).schema, "run": 5}, call=call).value)

    def samples(self):
        """Writes the samples of the manual as files."""
        folder = tempfile.TemporaryDirectory(prefix="pdl_samples_")
        self.addCleanup(folder.cleanup)
        page = (ROOT / "docs" / "manual" / "python.md").read_text("utf-8")
        for i, sample in enumerate(re.findall("^```python\n(.*?)^```", page, re.M | re.S)):
            (pathlib.Path(folder.name) / ("sample_%d.py" % i)).write_text(sample, "utf-8")
        return sorted(map(str, pathlib.Path(folder.name).glob("*.py")))

    def test_annotations(self):
        """mypy and pyright find nothing wrong with the package, with a program that uses all of it, and with the samples of the manual."""
        build = pathlib.Path(os.environ["PDL_BUILD"])
        python, why = venv_of.python(build, "mypy", name="test-venv-mypy")
        if python is None:
            self.skipTest(why)
        typed = ROOT / "python" / "tests" / "typed.py"
        p = subprocess.run([python, "-m", "mypy", "--strict", "--cache-dir=%s" % (build / "mypy-cache"), str(ROOT / "python" / "libpdl"), str(typed),
                            *self.samples()], capture_output=True, text=True, check=False, env=BARE)
        self.assertEqual(p.returncode, 0, p.stdout + p.stderr)

    def test_annotations_for_pyright(self):
        build = pathlib.Path(os.environ["PDL_BUILD"])
        modules, why = node_of.modules(build, "pyright")
        if modules is None:
            self.skipTest(why)
        typed = ROOT / "python" / "tests" / "typed.py"
        p = subprocess.run(["node", str(pathlib.Path(modules) / "pyright" / "index.js"), "--pythonpath", sys.executable, str(typed),
                            *self.samples()], capture_output=True, text=True, check=False, env={**BARE, "PYTHONPATH": str(ROOT / "python")}, cwd=str(ROOT / "python"))
        self.assertEqual(p.returncode, 0, p.stdout + p.stderr)


class ProgramsAsData(unittest.TestCase):
    def test_trees(self):
        tree = {"data": ["yes", "1", 1, "2024-01-01", {"a b": None}, "two\nlines\n", float("inf"), 10 ** 40, True], "raw": True}
        self.assertEqual(libpdl.from_dict(tree).run().value, tree["data"])
        self.assertEqual(libpdl.from_dict("hello").run().value, "hello")
        self.assertEqual(libpdl.from_dict(["a", {"text": "b"}]).run().value, "b")

    def test_places(self):
        with self.assertRaises(libpdl.RunError) as caught:
            libpdl.from_dict({"text": ["a", "${ nope }"]}, name="made.pdl").run()
        self.assertEqual((caught.exception.file, caught.exception.line), ("made.pdl", 3))
        with self.assertRaises(libpdl.ProgramError) as caught:
            libpdl.from_dict({"text": ["a", {"iff": True}]})
        self.assertEqual(caught.exception.line, 3)

    def test_what_is_no_program(self):
        knot = {}
        knot["text"] = [knot]
        with self.assertRaisesRegex(libpdl.Error, "holds itself"):
            libpdl.from_dict(knot)


class Previews(unittest.TestCase):
    def test_calls(self):
        program = libpdl.loads("model: openai/gpt\ninput: ${ q }\nparameters: {api_key: secret}\n")
        calls = program.explain(q="bees")
        self.assertEqual([(c.call, c.model, c.line, c.messages[0]["content"], c.problem) for c in calls], [(1, "openai/gpt", 1, "bees", None)])
        self.assertEqual(calls[0].request["body"]["model"], "gpt")
        self.assertNotIn("secret", repr(calls[0].request))
        self.assertEqual([d["kind"] for d in libpdl.loads("lang: command\ncode: rm -r x").explain().not_done], ["command"])
        self.assertIsInstance(calls[0], libpdl.Call)

    def test_models_and_functions_of_python(self):
        def never(request):
            raise AssertionError("asked")
        calls = libpdl.Engine(models={"m": never}).loads("model: m\ninput: ${ f('x') }").explain(f=str.upper)
        self.assertEqual((calls[0].messages[0]["content"], calls[0].problem), ("X", None))

    def test_errors(self):
        with self.assertRaises(libpdl.RunError) as caught:
            libpdl.loads("text: ${ f() }").explain(f=lambda: 1 // 0)
        self.assertIsInstance(caught.exception.__cause__, ZeroDivisionError)


class ProgramsAsTools(unittest.TestCase):
    def test_a_tool(self):
        tool = libpdl.loads("description: Greets.\ndefs: {hi: Hello}\ntext: ${ hi } ${ name } ${ mark }", name="dir/greet.pdl").as_tool()
        self.assertEqual(tool.schema, {"type": "function", "function": {"name": "greet", "description": "Greets.", "parameters": {
            "type": "object", "properties": {"name": {}, "mark": {}}, "required": ["name", "mark"]}}})
        self.assertEqual(tool("Ada", mark="!"), "Hello Ada !")
        self.assertRaises(TypeError, tool, "a", "b", "c")
        self.assertRaises(TypeError, tool, "a", name="b")
        self.assertEqual(libpdl.run("data: ${ t('Bo', mark='?') }", t=tool).value, "Hello Bo ?")


if __name__ == "__main__":
    unittest.main()
