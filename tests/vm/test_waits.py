#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_waits.py BUILD_DIR [NAME ...] -- every instruction that waits, inside every construct that keeps values on the stack.

A program is a construct around a waiting block. Every waiting block gives the text "v", so a construct around it gives what it gives
around the text itself. NAME: only waiting blocks or constructs with this text in their names. Python standard library only.
"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import check, finish  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
MODELS = HERE.parent / "conformance" / "model_server.py"
TOOLS = HERE.parent / "mcp" / "server.py"

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
    "arguments": lambda w: {"data": "${ g(1, f(), 3) }"},
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


def program(wait, construct):
    defs = {
        "py": {"lang": "python", "code": PYTHON},
        "file": {"function": {}, "return": {"include": "v.pdl"}},
        "add": {"function": {"a": None, "b": None}, "return": {"lastOf": [{"include": "v.pdl"}, "${ a ~ b }"]}},
        "ask": {"function": {}, "return": {"model": "openai/slow-5ms+say:v", "input": "x"}},
        "never": {"function": {"expectation": None, "response": None}, "return": {"lastOf": [{"include": "v.pdl"}, "again"]}},
        "f": {"function": {}, "return": wait},
        "g": {"function": {"a": None, "b": None, "c": None}, "return": "${ [a, b, c] }"},
    }
    if "py." not in json.dumps(wait):
        del defs["py"]  # a process to be started
    return {"lastOf": [{"defs": defs, "data": ""}, construct(wait)]}


def run(pdl, work, env, name, wait, construct):
    path = work / ("p%d.pdl" % run.n)
    run.n += 1
    path.write_text(json.dumps(program(wait, construct)))
    try:
        p = subprocess.run([pdl, "--stream", "none", path.name], cwd=work, env=env, input=b"v\n" * 40, capture_output=True, timeout=60)
    except subprocess.TimeoutExpired:
        return name, "time-out", b""
    return name, (p.returncode, p.stdout.decode()), p.stderr


run.n = 0


def main():
    pdl, only = str(pathlib.Path(sys.argv[1]).resolve() / "pdl"), sys.argv[2:]
    server = subprocess.Popen([sys.executable, str(MODELS)], stdout=subprocess.PIPE, text=True)
    base = server.stdout.readline().strip()
    with tempfile.TemporaryDirectory() as d, concurrent.futures.ThreadPoolExecutor(4) as pool:
        work = pathlib.Path(d)
        for name, text in {"v.pdl": "data: v\n", "sub/inner.pdl": "include: w.pdl\n", "sub/w.pdl": "data: v\n", "v.txt": "v", "m.pdl": "defs: {value: v}\ndata: 1\n",
                           "lib/far.pdl": "defs: {value: {include: v.pdl}}\ndata: 1\n"}.items():
            (work / name).parent.mkdir(exist_ok=True)
            (work / name).write_text(text)
        (work / "servers.json").write_text(json.dumps({"mcpServers": {"s": {"command": sys.executable, "args": [str(TOOLS), "good"]}}}))
        env = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "PDL_"))}
        env.update(OPENAI_API_BASE=base + "/v1", OPENAI_BASE_URL=base + "/v1", OPENAI_API_KEY="sk-test", PDL_PATH="lib",
                   PDL_MCP_CONFIG=str(work / "servers.json"))
        jobs = {}
        for c, construct in CONSTRUCTS.items():
            want = run(pdl, work, env, c, WAITS["text"], construct)
            if want[1][0] != 0 or "v" not in want[1][1] and c not in ("comparison", "condition of a loop"):
                check(c, False, want[1], want[2].decode())
                continue
            for w, wait in WAITS.items():
                if not only or any(o in w or o in c for o in only):
                    jobs[pool.submit(run, pdl, work, env, "%s in %s" % (w, c), wait, construct)] = want[1]
        for job, want in jobs.items():
            name, got, err = job.result()
            check(name, got == want, "%r, not %r\n%s" % (got, want, err.decode("utf-8", "replace")[-600:]))
    server.terminate()
    server.wait()
    return finish()


if __name__ == "__main__":
    sys.exit(main())
