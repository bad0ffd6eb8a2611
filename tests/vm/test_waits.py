# SPDX-License-Identifier: Apache-2.0
"""test_waits.py -- every instruction that waits, inside of every construct that keeps values on the stack.

A program is a list of all constructs around a waiting block. Every waiting block gives the text "v", so a construct around it must give the same as
around the text itself. When a result differs, each construct runs in a separate program, which shows the construct that failed.
"""
import ast
import json
import subprocess
import sys

import pytest

from ..checks import check
from ..conformance.model_server import ModelServer
from ..harness.choice import ROOT
from .kit import models_env

TOOLS = ROOT / "tests" / "mcp" / "server.py"
FILES = {"v.pdl": "data: v\n", "sub/inner.pdl": "include: w.pdl\n", "sub/w.pdl": "data: v\n", "v.txt": "v", "m.pdl": "defs: {value: v}\ndata: 1\n",
         "lib/far.pdl": "defs: {value: {include: v.pdl}}\ndata: 1\n",
         "servers.json": json.dumps({"mcpServers": {"s": {"command": sys.executable, "args": ["-I", "-S", str(TOOLS), "good"]}}})}

# Blocks that wait, each for something else.
WAITS = {
    "text": "v",
    "include": {"include": "v.pdl"},
    "include of an include": {"include": "sub/inner.pdl"},
    "import": {"lastOf": [{"import": "m", "def": "mm"}, "${ mm.value }"]},
    "import from the path": {"lastOf": [{"import": "far", "def": "mm"}, "${ mm.value }"]},
    "import that is missing": {"import": "nowhere", "fallback": "v"},
    "import of tools": {"lastOf": [{"import": "mcp:s", "def": "s"}, "${ s.echo('v') }"]},
    "model": {"model": "openai/slow-5ms+say:v", "input": "x"},
    "model through an if": {"if": "${ ask() == 'v' }", "then": "v"},
    "python": {"lang": "python", "code": "result = 'v'"},
    "object of python": "${ py.upper_of('V') if py.small() else '' }",
    "iterator of python": {"for": {"q": "${ py.items() }"}, "repeat": "${ q }"},
    "fold by python": {"for": {"q": ["", "v", ""]}, "repeat": "${ q }", "join": {"reduce": "${ py.add }"}},
    "fold": {"for": {"q": ["", "v"]}, "repeat": "${ q }", "join": {"reduce": "${ add }"}},
    "command": {"lang": "command", "code": "printf v"},
    "read": {"read": "v.txt"},
    "input": {"read": None, "message": ""},
    "jinja": {"lang": "jinja", "code": "{% for i in [1] %}{{ file() }}{% endfor %}"},
    "pdl": {"lang": "pdl", "code": "include: v.pdl"},
    "usage": "${ 'v' if pdl_usage.model_calls >= 0 else '' }",
    "retry with a delay": {"lastOf": ["${ nope }"], "retry": {"tries": 2, "delay": 0.001}, "fallback": {"include": "v.pdl"}},
    "expectation with a delay": {"data": "v", "retry": {"tries": 1, "delay": 0.001}, "expectations": [{"expect": "w", "feedback": "${ never }"}]},
    "call": {"call": "${ file }"},
    "map": {"for": {"q": ["v"]}, "map": {"include": "v.pdl"}, "join": {"with": ""}},
    "map in groups": {"for": {"q": ["", "v"]}, "map": {"lastOf": [{"include": "v.pdl"}, "${ q }"]}, "maxWorkers": 1, "join": {"with": ""}},
    "parser": {"model": "openai/say:\"v\"", "input": "x", "parser": "json"},
}

# What keeps values on the stack while W runs, or while f, a function that runs it, does.
CONSTRUCTS = {
    "array": lambda w: {"array": [5, 7, w]},
    "two in an array": lambda w: {"array": [w, 7, w]},
    "object": lambda w: {"object": {"a": 1, "b": w, "c": 3}},
    "text": lambda w: {"text": ["a", w, "b"]},
    "text of numbers": lambda w: {"text": [5, 7, w]},
    "reduce": lambda w: fold({"array": [5, 7, w]}),
    "reduce with text": lambda w: fold({"text": ["${ a }", 7, w]}),
    "reduce of a map": lambda w: {"lastOf": [{"defs": {"g": {"function": {"a": None, "b": None}, "return": {"array": [5, 7, w]}}}, "data": ""},
                                             {"for": {"x": [1, 2, 3]}, "map": "${ x }", "join": {"reduce": "${ g }"}}]},
    "reduce in a reduce": lambda w: fold({"array": [5, 7, fold({"array": [5, 7, w]})]}),
    "repeat": lambda w: {"for": {"x": [1, 2]}, "repeat": w},
    "repeat into a list": lambda w: {"for": {"x": [1, 2]}, "repeat": {"array": ["${ x }", w]}, "join": {"as": "array"}},
    "map": lambda w: {"for": {"x": [1, 2]}, "map": {"array": ["${ x }", w]}},
    "sequence": lambda w: {"sequence": [5, 7, w], "join": {"as": "array"}},
    "arguments": lambda w: {"data": "${ three(1, f(), 3) }"},
    "operators": lambda w: {"data": "${ 1 ~ (2 ~ (f() ~ 3)) }"},
    "list expression": lambda w: {"data": "${ [5, 7, f(), {'k': f()}] }"},
    "comparison": lambda w: {"data": "${ 'a' < f() < 'w' }"},
    "filter": lambda w: {"data": "${ ['a', 'b'] | join(f()) }"},
    "hole": lambda w: "x ${ f() } y ${ f() } z",
    "loop of a template": lambda w: {"lang": "jinja", "code": "{% for i in [1, 2] %}{{ i }}{{ f() }}{% endfor %}"},
    "match": lambda w: {"match": "${ f() }", "with": [{"case": "u", "then": 1}, {"case": "v", "if": "${ f() == 'v' }", "then": {"array": [1, w]}}]},
    "if": lambda w: {"array": [1, {"if": "${ f() == 'v' }", "then": w}]},
    "condition of a loop": lambda w: {"for": {"x": [1, 2]}, "repeat": "${ x }", "until": "${ f() != 'v' }"},
    "message": lambda w: {"array": [1, {"role": "user", "content": w}]},
    "defs": lambda w: {"array": [1, {"defs": {"d": w}, "text": "${ d }${ d }"}]},
    "input of a model": lambda w: {"array": [1, {"model": "openai/echo", "input": w}]},
    "fallback": lambda w: {"array": [1, {"text": [2, "${ nope }"], "fallback": w}]},
    "code": lambda w: {"array": [1, {"lang": "command", "code": {"text": ["printf %s ", w]}}]},
}

PYTHON = """
class Py:
    def small(self): return True
    def upper_of(self, x): return x.lower()
    def items(self): return iter(["v"])
    def add(self, a, b): return a + b
result = Py()
"""


def fold(body):
    """An array joined by a function whose body is given; its result is that of the last call."""
    f = {"function": {"a": None, "b": None}, "return": body}
    return {"lastOf": [{"defs": {"g": f}, "data": ""}, {"array": [1, 2, 3], "def": "l"},
                       {"for": {"x": "${ l }"}, "repeat": "${ x }", "join": {"reduce": "${ g }"}}]}


def program(wait, constructs):
    defs = {
        "py": {"lang": "python", "code": PYTHON},
        "file": {"function": {}, "return": {"include": "v.pdl"}},
        "add": {"function": {"a": None, "b": None}, "return": {"lastOf": [{"include": "v.pdl"}, "${ a ~ b }"]}},
        "ask": {"function": {}, "return": {"model": "openai/slow-5ms+say:v", "input": "x"}},
        "never": {"function": {"expectation": None, "response": None}, "return": {"lastOf": [{"include": "v.pdl"}, "again"]}},
        "f": {"function": {}, "return": wait},
        "three": {"function": {"a": None, "b": None, "c": None}, "return": "${ [a, b, c] }"},
    }
    if "py." not in json.dumps(wait):
        del defs["py"]  # a process to be started
    return {"lastOf": [{"defs": defs, "data": ""}, {"array": [CONSTRUCTS[c](wait) for c in constructs]}]}


def without_places(x):
    """A value whose messages do not say which block they come from."""
    if isinstance(x, dict):
        return {k: without_places(v) for k, v in x.items() if k != "pdl__defsite"}
    return [without_places(v) for v in x] if isinstance(x, list) else x


class Waits:
    def __init__(self, pdl, folder):
        self.pdl, self.folder = pdl, folder
        for name, text in FILES.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
        self.env = models_env(ModelServer().start().url, PDL_PATH="lib", PDL_MCP_CONFIG=str(folder / "servers.json"))

    def run(self, wait, constructs):
        """-> the results, or why there are none"""
        (self.folder / "p.pdl").write_text(json.dumps(program(wait, constructs)))
        try:
            p = subprocess.run([self.pdl, "--stream", "none", "p.pdl"], cwd=self.folder, env=self.env, input=b"v\n" * 40 * len(constructs), capture_output=True,
                               timeout=100, check=False)
        except subprocess.TimeoutExpired:
            return "time-out"
        try:
            got = without_places(ast.literal_eval(p.stdout.decode()))
        except (ValueError, SyntaxError):
            got = None
        if p.returncode or not isinstance(got, list) or len(got) != len(constructs):
            return "exit status %d\n%s\n%s" % (p.returncode, p.stdout.decode()[-600:], p.stderr.decode("utf-8", "replace")[-600:])
        return got


@pytest.mark.parametrize("name", WAITS)
def test_waits(pdl, folder, name):
    w, names = Waits(pdl, folder), list(CONSTRUCTS)
    want, got = w.run(WAITS["text"], names), w.run(WAITS[name], names)
    if not isinstance(want, list):
        raise AssertionError("around a text: " + want)
    for i, c in enumerate(names):
        one = got[i:i + 1]
        if one != want[i:i + 1]:
            one = w.run(WAITS[name], [c])
        shows = "v" in json.dumps(want[i]) or c in ("comparison", "condition of a loop")
        check("%s in %s" % (name, c), one == want[i:i + 1] and shows, "%r, not %r" % (one, want[i]))
