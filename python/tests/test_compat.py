# SPDX-License-Identifier: Apache-2.0
"""The package pdl: the reference's modules on top of libpdl."""
import contextlib
import importlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import unittest

import libpdl
from pdl import pdl_ast as ast
from pdl.pdl import InterpreterConfig, exec_dict, exec_file, exec_program, exec_str, pdl, validate_scope, write_trace
from pdl.pdl_ast_utils import MappedFunctions, iter_block_children, map_block_children
from pdl.pdl_context import (DependentContext, IndependentContext, SerializeMode, SingletonContext, deserialize,
                             ensure_context)
from pdl.pdl_dumper import block_to_dict, dump_program_exclude_internals, dump_yaml, program_to_dict
from pdl.pdl_interpreter import InterpreterState, empty_scope, generate, process_prog
from pdl.pdl_interpreter_state import ScopeType
from pdl.pdl_lazy import PdlApply, PdlConst, PdlDict, PdlList, lazy_apply
from pdl.pdl_parser import PDLParseError, parse_dict, parse_file, parse_str
from pdl.pdl_scheduler import create_event_loop_thread
from pdl.pdl_utils import redact_secrets

BUILD = pathlib.Path(os.environ["PDL_BUILD"])
MODEL = "model: openai/x\nparameters: {mock_response: hey}\n"
STANDS_FOR_PYDANTIC = """
class Tag:
    def __init__(self, tag): self.tag = tag
class Discriminator:
    def __init__(self, discriminator): self.discriminator = discriminator
"""
TAKES_APART = """
import sys, typing
from pdl import pdl_ast as ast
from pdl.pdl_parser import parse_str
names = sys.modules.get("pydantic")
tag_in, function_in = (lambda t: t.tag, lambda f: f.discriminator) if names else (lambda t: t, lambda f: f)

def apart(alias):
    union, function = typing.get_args(alias.__value__)
    members = {}
    for member in typing.get_args(union):
        what, tag = typing.get_args(member)
        members[tag_in(tag)] = apart(what) if hasattr(what, "__value__") else what
    return function_in(function), members

def classes(place):
    for what in place[1].values():
        yield from classes(what) if isinstance(what, tuple) else [what]

def class_for(value):
    place = whole
    while isinstance(place, tuple):
        place = place[1][place[0](value)]
    return place

whole = apart(ast.BlockType)
blocks = typing.get_args(ast.AdvancedBlockType)
assert sorted(map(str, classes(whole))) == sorted(map(str, [*blocks, ast.ExpressionBlock]))
assert set(whole[1]) == {*ast.BlockKind, "expression"}
assert {k for k, what in whole[1].items() if isinstance(what, tuple)} == {"model", "code"}
assert {b for b in blocks if issubclass(b, ast.LeafBlock)} == set(typing.get_args(ast.LeafBlockType))
assert {b for b in blocks if issubclass(b, ast.StructuredBlock)} == set(typing.get_args(ast.StructuredBlockType))
assert ast.ImportBlock in typing.get_args(ast.StructuredBlockType)
for value, want in ((None, ast.ExpressionBlock), ("a", ast.ExpressionBlock), (1.5, ast.ExpressionBlock), ({"args": ["ls"]}, ast.ArgsBlock),
                    ({"lang": "Jinja", "code": ""}, ast.JinjaCodeBlock), ({"model": "m", "platform": "openai"}, ast.OpenaiModelBlock),
                    ({"model": "m"}, ast.LitellmModelBlock), ({"text": "a", "def": "x"}, ast.TextBlock), ({"def": "x"}, ast.EmptyBlock),
                    ({"kind": "data", "data": {"model": 1}}, ast.DataBlock), (parse_str("lang: command\\ncode: ls")[0].root, ast.CommandCodeBlock)):
    assert class_for(value) is want, (value, class_for(value))
typing.Optional[ast.BlockType], typing.List[ast.ModelBlockType]
print(len(blocks), "classes")
"""


def printed(run):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        result = run()
    return result, out.getvalue(), err.getvalue()


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="pdl_compat_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        (self.folder / name).write_text(text, "utf-8")
        return self.folder / name


class Runs(Folder):
    def test_four_ways(self):
        path = self.write("a.pdl", "data: ${ x + 1 }\n")
        prog, loc = parse_file(path)
        for result in (exec_str("data: ${ x + 1 }", scope={"x": 1}), exec_dict({"data": "${ x + 1 }"}, scope=PdlDict({"x": 1})),
                       exec_file(path, scope=ScopeType({"x": 1})), exec_program(prog, scope={"x": 1}, loc=loc)):
            self.assertEqual(result, 2)

    def test_a_trace_without_secrets(self):
        trace = ast.TextBlock(text="key sk-12 and sk-1, by word", description="sk-1")
        path = self.folder / "trace.json"
        for secrets in (None, [], [""]):
            write_trace(path, trace, secrets=secrets)
            self.assertIn("sk-12", path.read_text())
        write_trace(path, trace, secrets=["sk-1", "sk-12"])
        found = json.loads(path.read_text())
        self.assertEqual((found["text"], found["description"]), ("key [REDACTED] and [REDACTED], by word", "[REDACTED]"))
        self.assertEqual(redact_secrets({"a b": ["b", 2, None, {"k": "bb"}], "c": True}, ["b"]),
                         {"a [REDACTED]": ["[REDACTED]", 2, None, {"k": "[REDACTED][REDACTED]"}], "c": True})

    def test_all(self):
        result = exec_str("text: [a, {def: x, data: [1]}]", output="all")
        self.assertEqual((result["result"], result["scope"]["x"], result["score"]), ("a[1]", [1], 0))
        self.assertEqual(result["usage"], ast.PdlUsage())
        self.assertIsInstance(result["trace"], ast.TextBlock)
        self.assertEqual(result["trace"].text[1].pdl__id, "text.1.data")
        self.assertEqual([m["content"] for m in result["scope"]["pdl_context"]], ["a", [1]])
        with self.assertRaises(AssertionError):
            exec_str("a", output="some")

    def test_usage_is_added_up(self):
        usage = ast.PdlUsage(model_calls=1)
        for _ in range(2):
            exec_str(MODEL, config=InterpreterConfig(llm_usage=usage))
        self.assertEqual(usage.model_calls, 3)

    def test_objects_stay(self):
        hive = object()
        result = exec_str("data: ${ hive }", scope={"hive": hive}, output="all")
        self.assertIs(result["result"], hive)
        self.assertIs(result["scope"]["hive"], hive)

    def test_folders(self):
        self.write("b.pdl", "text: inner\n")
        path = self.write("a.pdl", "text: [{include: b.pdl}, {read: note.txt}]\n")
        self.write("note.txt", "!")
        self.assertEqual(exec_file(path), "inner!")
        self.assertEqual(exec_str(path.read_text("utf-8"), config={"cwd": self.folder}), "inner!")
        self.assertEqual(exec_dict({"include": "b.pdl"}, config={"cwd": self.folder}), "inner")
        self.assertEqual(exec_file(path, config={"cwd": pathlib.Path(self.folder)}), "inner!")

    def test_role_and_streams(self):
        context = exec_str("text: [a]", config={"role": "system"}, output="all")["scope"]["pdl_context"]
        self.assertEqual(context[0]["role"], "system")
        self.assertEqual(exec_str("a", config={"role": "system"}, output="all")["scope"]["pdl_context"][0]["role"], "system")
        program = "text: [a, {%s}]" % MODEL.strip().replace("\n", ", ")
        self.assertEqual(printed(lambda: exec_str(program, config={"yield_result": True, "batch": 0}))[1], "ahey")
        self.assertEqual(printed(lambda: exec_str(program, config={"yield_background": True}))[1], "user: a\nassistant: hey")
        self.assertEqual(printed(lambda: exec_str(program))[1], "")

    def test_decorator(self):
        @pdl
        def double(scope):
            """data: ${ x * 2 }"""
        self.assertEqual((double({"x": 4}), double.__name__), (8, "double"))

    def test_threads(self):
        found = []
        threads = [threading.Thread(target=lambda i=i: found.append(exec_str("data: ${ i }", scope={"i": i}))) for i in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual(sorted(found), [0, 1, 2, 3])

    def test_run_inside_of_a_run(self):
        self.assertEqual(exec_str("lang: python\ncode: |\n  from pdl.pdl import exec_str\n  result = exec_str('data: ${ 1 + 1 }')"), 2)

    def test_refused(self):
        for config, word in (({"replay": {"a": 1}}, "replay"), ({"with_resample": True}, "with_resample"),
                             ({"ignore_factor": True}, "ignore_factor"), ({"event_loop": object()}, "event_loop")):
            with self.assertRaisesRegex(NotImplementedError, word):
                exec_str("a", config=config)
        with self.assertRaisesRegex(ValueError, "nope"):
            exec_str("a", config={"nope": 1})
        self.assertEqual(exec_str("a", config={"event_loop": create_event_loop_thread(), "replay": {}}), "a")
        for name in ("pdl.optimize.util", "pdl.pdl_llms", "pdl.pdl_runner"):
            for kind in NotImplementedError, ImportError:
                with self.assertRaisesRegex(kind, re.escape(name) + ": .* "):
                    importlib.import_module(name)
        with self.assertRaisesRegex(ModuleNotFoundError, "No module named 'pdl.nothing'"):
            importlib.import_module("pdl.nothing")


class Functions(unittest.TestCase):
    PROGRAM = "defs:\n  f:\n    description: Adds.\n    function: {x: integer, y: {optional: integer}}\n    return: {data: '${ x + 1 }'}\ntext: ''\n"

    def test_closures(self):
        f = exec_str(self.PROGRAM, output="all")["scope"]["f"]
        self.assertIsInstance(f, ast.FunctionBlock)
        self.assertEqual((f(1), f(x=2), f.signature["function"]["name"], f.description), (2, 3, "f", "Adds."))
        self.assertEqual(f.signature["function"]["parameters"]["required"], ["x"])
        with self.assertRaises(ast.PDLRuntimeError):
            f("a")
        self.assertEqual(exec_str("data: ${ g(5) }", scope={"g": f}), 6)

    def test_python_sees_contexts(self):
        code = "lastOf:\n- hi\n- lang: python\n  code: result = pdl_context.serialize('litellm')[0]['content']"
        self.assertEqual(exec_str(code), "hi")


class Errors(Folder):
    def test_programs(self):
        for text, lines in (("{texts: a, role: x}", ["line 1 - Field not allowed: texts", "line 0 - Missing required field: function",
                                          "line 0 - Missing required field: return"]),
                            ("text:\n- {lang: python, cod: x}", ["line 2 - Missing required field: code", "line 2 - Field not allowed: cod"])):
            with self.assertRaises(PDLParseError) as e:
                parse_str(text)
            self.assertEqual(sorted(e.exception.message), sorted(lines))
        with self.assertRaises(PDLParseError) as e:
            parse_dict({"text": [{"lang": "python", "cod": "x", "code": "y"}]})
        self.assertEqual(e.exception.message, ["line 0 - Field not allowed: cod"])
        for wrong in (1.5 + 1j, {"text": [{"data": 1, 2: 3}]}, {"text": [object()]}):
            with self.assertRaises((PDLParseError, TypeError, NotImplementedError)):
                parse_dict(wrong)

    def test_runs(self):
        path = self.write("e.pdl", "text:\n- a\n- data: 1\n  spec: string\n")
        with self.assertRaises(ast.PDLRuntimeError) as e:
            exec_file(path, output="all")
        head = "%s:4 - " % path
        self.assertEqual(e.exception.message, "Type errors during spec checking:\n%s1 should be of type <class 'str'>" % head)
        self.assertEqual((e.exception.loc.file, list(e.exception.loc.table.values())), (str(path), [4]))
        self.assertIsInstance(e.exception.pdl__trace, ast.Block)
        with self.assertRaises(ast.PDLRuntimeExpressionError):
            exec_str("data: ${ nope }")
        with self.assertRaises(ast.PDLRuntimeParserError):
            exec_str("data: '('\nparser: {regex: '('}")
        with self.assertRaises(ast.PDLRuntimeError) as e:
            exec_str("lang: python\ncode: 1 / 0")
        self.assertIsInstance(e.exception.source_exception, ZeroDivisionError)

    def test_generate(self):
        good, bad = self.write("g.pdl", "data: [1, null]\n"), self.write("w.pdl", "text: ${ x }\n")
        self.assertEqual(printed(lambda: generate(good, None, empty_scope, self.folder / "t.json")), (0, "[1, null]\n", ""))
        self.assertEqual(json.loads((self.folder / "t.json").read_text())["kind"], "data")
        code, out, err = printed(lambda: generate(bad, None, empty_scope, self.folder / "u.json"))
        self.assertEqual((code, out), (1, ""))
        self.assertEqual(err, "%s:1 - Error during the evaluation of ${ x }: 'x' is undefined\n" % bad)
        self.assertTrue((self.folder / "u.json").exists())
        self.assertEqual(printed(lambda: generate(self.write("v.pdl", "texts: a"), None, empty_scope, None))[0], 1)

    def test_process_prog(self):
        prog, loc = parse_str("text: [a, {def: x, data: 1}]")
        result, background, scope, trace = process_prog(InterpreterState(), ScopeType({"y": 2}), prog, loc)
        self.assertEqual((result.result(), len(background), scope["x"], scope["y"], type(trace)), ("a1", 2, 1, 2, ast.TextBlock))

    def test_traces_of_calls_have_the_fields_of_the_reference(self):
        bad = self.write("bad.pdl", MODEL + "spec: integer\n")
        self.assertEqual(printed(lambda: generate(bad, None, empty_scope, self.folder / "t.json"))[0], 1)
        trace = json.loads((self.folder / "t.json").read_text())["program"]
        self.assertLessEqual(set(trace["pdl__timing"]), set(ast.PdlTiming.model_fields))
        self.assertIn("pdl__model_input", trace)

    def test_trace_that_cannot_be_written(self):
        self.assertIn("Failure generating the trace", printed(lambda: write_trace("/dev/null/t.json", ast.DataBlock(data=1)))[2])

    def test_scopes(self):
        validate_scope({"pdl_model_default_parameters": ast.get_default_model_parameters()})
        with self.assertRaises(ValueError):
            validate_scope({"pdl_model_default_parameters": [{"*": 1}]})


class Blocks(unittest.TestCase):
    def test_constructors(self):
        block = ast.DataBlock(data=1, **{"def": "x"})
        self.assertEqual((block.def_, block.kind, block.contribute), ("x", ast.BlockKind.DATA, ["result", "context"]))
        self.assertEqual(block, ast.DataBlock(data=1, def_="x"))
        self.assertNotEqual(block, ast.DataBlock(data=2, def_="x"))
        self.assertIn("DataBlock(", repr(block))
        for wrong in ({}, {"data": 1, "nope": 2}):
            with self.assertRaises(ValueError):
                ast.DataBlock(**wrong)

    def test_dumps_and_copies(self):
        block = ast.TextBlock(text=["a", {"data": 1}], role="user")
        self.assertIsInstance(block.text[1], ast.DataBlock)
        self.assertEqual(block.model_dump(exclude_unset=True), {"role": "user", "text": ["a", {"data": 1}]})
        self.assertEqual(json.loads(block.model_dump_json(exclude_none=True, exclude_defaults=True)), {"role": "user", "text": ["a", {"data": 1}]})
        self.assertEqual(block.model_dump(include={"role"}), {"role": "user"})
        self.assertNotIn("text", block.model_dump(exclude={"text"}))
        copy = block.model_copy(update={"role": "system"})
        self.assertEqual((copy.role, block.role, copy.text is block.text), ("system", "user", True))
        self.assertIsNot(block.model_copy(deep=True).text, block.text)
        with self.assertRaisesRegex(NotImplementedError, "round_trip"):
            block.model_dump(round_trip=True)

    def test_forms(self):
        rows = {"PythonCodeBlock": {"code": "x"}, "CommandCodeBlock": {"lang": "Command", "code": "x"}, "ArgsBlock": {"args": ["x"]},
                "LitellmModelBlock": {"model": "m"}, "GraniteioModelBlock": {"processor": {"backend": "x"}},
                "OpenaiModelBlock": {"model": "m", "platform": "openai"}, "MatchBlock": {"match": 1, "with": [{"case": 1, "then": 2}]},
                "EmptyBlock": {"defs": {"x": 1}}, "RepeatBlock": {"repeat": "x", "until": True}, "IfBlock": {"if": True, "then": "x"}}
        for name, data in rows.items():
            block = parse_dict(data).root
            self.assertEqual(type(block).__name__, name)
            self.assertEqual(parse_str(dump_yaml(program_to_dict(ast.Program(block))))[0].root, block)
            self.assertEqual(parse_str(dump_program_exclude_internals(ast.Program(block)))[0].root, block)
        for name in ("TextBlock", "FactorBlock", "ImportBlock", "AggregatorBlock", "ErrorBlock", "LeafBlock", "StructuredBlock"):
            self.assertTrue(issubclass(getattr(ast, name), ast.Block), name)

    def test_walks(self):
        prog, _ = parse_str("defs: {x: 1}\nif: ${ a }\nthen: {text: [b, c]}\nelse:\n  match: 1\n  with: [{case: 1, then: d}]\nfallback: e\n")
        children = []
        iter_block_children(children.append, prog.root)
        self.assertEqual([type(c).__name__ for c in children], ["int", "str", "TextBlock", "MatchBlock"])

        class Loud(MappedFunctions):
            def f_block(self, block):
                return block.upper() if isinstance(block, str) else map_block_children(self, block)
        loud = map_block_children(Loud(), prog.root)
        self.assertEqual((loud.then.text, loud.else_.with_[0].then, loud.fallback, prog.root.fallback), (["B", "C"], "D", "E", "e"))
        self.assertEqual(exec_program(ast.Program(loud), scope={"a": True}), "BC")

    def test_changed_blocks_count(self):
        prog, loc = parse_str("text: [a]\n# only this once\n")
        self.assertEqual(exec_program(prog, loc=loc), "a")
        prog.root.text.append("b")
        self.assertEqual(exec_program(prog, loc=loc), "ab")

    def test_types(self):
        self.assertIsInstance(ast.pdl_type_adapter.validate_python({"enum": [1]}), ast.EnumPdlType)
        with self.assertRaises(ValueError):
            ast.pdl_type_adapter.validate_python("numbers")
        trace = exec_str("data: {a: 1}\nspec: {a: integer}", output="all")["trace"]
        self.assertEqual(block_to_dict(trace, json_compatible=True)["spec"], {"a": "integer"})


class Values(unittest.TestCase):
    def test_contexts(self):
        a, b = SingletonContext({"role": "user", "content": "a"}), SingletonContext(PdlDict({"role": "user", "content": "b"}))
        both = a * (b + a)
        self.assertIsInstance(both, DependentContext)
        self.assertEqual(len(both), 2)
        self.assertEqual([m["content"] for m in both.serialize(SerializeMode.LITELLM)], ["a", "b", "a"])
        self.assertEqual([m["content"] for m in both.serialize("graniteio")[1]["independent"]], ["b", "a"])
        back = exec_str("data: ${ c }", scope={"c": both})
        self.assertEqual((repr(back), type(back.context.result()[1])), (repr(both), IndependentContext))
        self.assertEqual(ensure_context([{"role": "user", "content": "a"}]), deserialize([a]))
        with self.assertRaises(TypeError):
            ensure_context("a")

    def test_lazy(self):
        self.assertEqual(PdlConst(PdlConst(1)).result(), 1)
        self.assertEqual((PdlList([1, PdlConst(2)]) + [3]).result(), [1, 2, 3])
        self.assertEqual((PdlDict({"a": PdlConst(1)}) | {"b": 2}).result(), {"a": 1, "b": 2})
        self.assertEqual((PdlApply(len, PdlConst([1])).result(), lazy_apply(str, PdlConst(1)).result()), (1, "1"))


class Package(unittest.TestCase):
    def test_needs_no_other_package(self):
        code = ("import sys; import pdl.pdl, pdl.pdl_linter, pdl.pdl_dumper; print(sorted(set(m.partition('.')[0] for m in sys.modules) "
                "& {'pydantic', 'yaml', 'litellm', 'jinja2', 'IPython'}))")
        p = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True,
                           env={**os.environ, "PYTHONPATH": "%s:%s" % (BUILD / "python", BUILD / "python-compat")})
        self.assertEqual(p.stdout, "[]\n")

    def test_what_block_types_say(self):
        """The names of block types, read as the reference's newest tests read them: from classes of pydantic if
        pydantic is installed, otherwise from plain tags."""
        for has_pydantic in (True, False):
            with self.subTest(pydantic=has_pydantic), tempfile.TemporaryDirectory() as folder:
                (pathlib.Path(folder) / "pydantic.py").write_text(STANDS_FOR_PYDANTIC)
                p = subprocess.run([sys.executable, "-c", ("import pydantic\n" if has_pydantic else "") + TAKES_APART], capture_output=True, text=True,
                                   check=False, env={**os.environ, "PYTHONPATH": "%s:%s:%s" % (BUILD / "python", BUILD / "python-compat", folder)})
            self.assertEqual((p.returncode, p.stdout), (0, "30 classes\n"), p.stderr)

    def test_both_installed(self):
        with tempfile.TemporaryDirectory() as folder:
            info = pathlib.Path(folder) / "prompt_declaration_language-0.9.3.dist-info"
            info.mkdir()
            (info / "METADATA").write_text("Metadata-Version: 2.1\nName: prompt-declaration-language\nVersion: 0.9.3\n")
            p = subprocess.run([sys.executable, "-c", "import pdl"], capture_output=True, text=True, check=False,
                               env={**os.environ, "PYTHONPATH": "%s:%s:%s" % (BUILD / "python", BUILD / "python-compat", folder)})
        self.assertIn("uninstall prompt-declaration-language", p.stderr)

    def test_size(self):
        lines = sum(len(path.read_text("utf-8").splitlines()) for path in (BUILD / "python-compat" / "pdl").rglob("*.py"))
        self.assertLess(lines, 2400)

    def test_schema_beside_it(self):
        import pdl.pdl
        path = pathlib.Path(pdl.pdl.__file__).parent / "pdl-schema.json"
        self.assertEqual(json.loads(path.read_text("utf-8")), libpdl.schema())


if __name__ == "__main__":
    unittest.main()
