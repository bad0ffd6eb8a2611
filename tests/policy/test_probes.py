# SPDX-License-Identifier: Apache-2.0
"""Untrusted text from every source is moved through a program in every way, into every sink. If a label were lost on a way, the sink would get the
value; the policy must refuse each of them. The programs are made from the tables below. The last rows are values without origins, which no sink
refuses."""
import json
import os
import re
import subprocess
import tempfile
import urllib.request
from pathlib import Path

import pytest

from . import tool_server
from .. import http_of
from ..checks import check

SERVER = tool_server.text('[{"name": "send", "description": "abc", "inputSchema": {"type": "object", "properties": {"to": {}}}}]', '"abc"')
NOTHING = "http://127.0.0.1:9/v1"


def mock(**more):
    return {"model": "openai/x", "input": "q", "parameters": {"mock_response": "abc", "num_retries": 0}, **more}


def called(**parameters):
    return {"model": "openai/x", "input": "q", "parameters": {"mock_response": "abc", "num_retries": 0, **parameters}}


def said(role):
    return mock(input={"array": [{"data": {"role": role, "content": "${ w }"}}]})


# --- sinks: a block that brings w there. Values in ${ } are those of the row -----------------------
SINKS = {
    "command: program": {"lang": "command", "args": ["${ w }"]}, "command: argument": {"lang": "command", "args": ["echo", "${ w }"]},
    "command: part of an argument": {"lang": "command", "args": ["echo", "--x=${ w }"]}, "command: a line": {"lang": "command", "code": "echo ${ w }"},
    "code: text": {"lang": "python", "code": "${ w }"},
    "code: part of the text": {"lang": "python", "code": "result = '${ w }'"}, "code: variable": {"lang": "python", "code": "result = w"},
    "code: scope": {"lang": "python", "scope": {"z": "${ w }"}, "code": "result = z"}, "code: name in a scope": {"lang": "python", "scope": "${ {w: 1} }", "code": "result = len(globals())"},
    "code: inside a variable": {"defs": {"z": {"data": [{"a": "${ w }"}]}}, "lang": "python", "code": "result = z"},
    "template": {"lang": "jinja", "code": "${ w }"}, "pdl": {"lang": "pdl", "code": "data: ${ w }"},
    "tool: argument": {"call": "${ s.send }", "args": {"to": "${ w }"}}, "tool: argument in an expression": "${ s.send(to=w) }",
    "tool: nested": {"call": "${ s.send }", "args": {"to": {"a": ["${ w }"]}}}, "tool: by name": "${ s.call_tool('send', {'to': w}) }", "tool: which": "${ s.call_tool(w, {}) }",
    "tool: request": "${ s.request('other', {'x': w}) }", "tool: of a model": {"call": "${ stdlib.call_tools }", "args": {
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "send", "arguments": "${ {'to': w} | json }"}}], "tools": ["${ s }"], "on_error": "raise"}},
    "server": "${ pdl_tool_call(w, 'x', {}) }", "read": {"read": "${ w }"},
    "write: path": {"defs": {"g": {"aggregator": {"file": "${ w }"}}}, "data": "x", "contribute": ["g"]},
    "write: content": {"defs": {"g": {"aggregator": {"file": "out"}}}, "data": "${ w }", "contribute": ["g"]},
    "write: prefix": {"defs": {"g": {"aggregator": {"file": "out", "prefix": "${ w }"}}}, "data": "x", "contribute": ["g"]},
    "url": called(api_base="${ w }"), "url: fallback": called(fallbacks=[{"model": "openai/y", "api_base": "${ w }"}]),
    "url: of a processor": {"processor": {"type": "granite", "model": "m", "backend": "openai", "openai_base_url": "${ w }"}, "input": "q"},
    "model: user": mock(input="${ w }"), **{"model: " + r: said(r) for r in ("system", "assistant", "tool")}, "model: which": mock(model="openai/${ w }"),
    "model: part of a message": mock(input="Say ${ w } again"), "model: parameters": called(user="${ w }"), "model: headers": called(extra_headers={"X-A": "${ w }"}),
    "model: stop": called(stop=["${ w }"]), "model: fallback": called(fallbacks=["openai/${ w }"]), "model: the context": {"lastOf": [{"text": "${ w }", "contribute": ["context"]}, {
        k: v for k, v in mock().items() if k != "input"}]},
    "model: tools": called(tools=[{"type": "function", "function": {"name": "n", "description": "${ w }", "parameters": {}}}]),
    "url: a query": "${ stdlib.http('%s/?q=' ~ w | string | urlencode) }" % NOTHING,
    "url: a body": "${ stdlib.http('%s', method='POST', body=w) }" % NOTHING, "url: a part of a body": "${ stdlib.http('%s', method='POST', body={'a': [w]}) }" % NOTHING,
    "url: a header": "${ stdlib.http('%s', headers={'X-A': w | string | urlencode}) }" % NOTHING,
    "embed": "${ stdlib.embed('openai/x', [w], {'api_base': '%s', 'num_retries': 0}) }" % NOTHING,
    "embed: one": "${ stdlib.embed('openai/x', w, {'api_base': '%s', 'num_retries': 0}) }" % NOTHING, "endorse": {"data": "${ w }", "endorse": {"labels": ["LABEL"], "why": "w"}},
}
ALL = ("command", "code", "tool", "pdl", "template", "read", "write", "url", "embed", "server", "model", "endorse")

# --- ways: blocks after which w is what v was ------------------------------------------------------


def w(expression):
    return {"w": {"data": "${ %s }" % expression}}


def block(b):
    return {"w": b}


F = {"f": {"function": {"p": None}, "return": "${ p }"}, "g": {"function": {"p": "string"}, "return": {"text": ["a", "${ p }"]}}, "h": {"function": None, "return": "${ v }"}}
MESSAGE = "${ pdl_error.message }"
WAYS = {
    "direct": w("v"), "a member of a list": w("[1, v][1]"), "of a dict": w("{'a': v}.a"), "deep": w("{'a': [{'b': (v, 1)}]}.a[0].b[0]"), "data": block({"data": {"a": ["${ v }"]}}),
    "a key": w("({v: 1} | list)[0]"), "items": w("({'a': v} | items | list)[0][1]"), "values": w("({'a': v}.values() | list)[0]"),
    "text": block({"text": ["a ", "${ v }"]}), "in a text": block("a ${ v } b"), "percent": w("'%s!' % v"), "percent with a dict": w("'%(a)s' % {'a': v}"), "format": w("'{} {}'.format(1, v)"),
    "format by name": w("'{a[0]}'.format(a=[v])"), "the filter format": w("'%s' | format(v)"), "tilde": w("'a' ~ v"), "plus": w("'a' + v"), "times": w("v * 2"), "a slice": w("v[0:2]"),
    "a character": w("v[0]"), "upper": w("v | upper"), "replace": w("'abc' | replace('b', v)"), "default": w("nothing | default(v)"), "sorted": w("[v, 'a'] | sort | last"),
    "map and join": w("[v, 'a'] | map('upper') | join('-')"), "join with it": w("['a', 'b'] | join(v)"), "sum": w("[[v]] | sum(start=[]) | first"), "group": w("([{'a': v}] | groupby('a'))[0][0]"),
    "split": w("(v ~ ' x').split()[0]"), "partition": w("v.partition('b')[0]"), "json and back": w("(v | json)"), "pretty": w("[v] | pprint"), "string": w("[v] | string"), "length": w("v | length"),
    "a function": {"w": "${ f(v) }", **{"defs": F}}, "a typed function": {"w": "${ g(v) }", "defs": F}, "what a function sees": {"w": "${ h() }", "defs": F},
    "a call": {"w": {"call": "${ f }", "args": {"p": "${ v }"}}, "defs": F}, "arguments as an object": {"w": {"call": "${ f }", "args": "${ {'p': v} }"}, "defs": F},
    "a default of an argument": {"w": "${ f(**{'p': v}) }", "defs": F}, "a parser": block({"data": '["${ v }"]', "parser": "json"}), "yaml": block({"data": "a: ${ v }", "parser": "yaml"}),
    "csv": block({"data": "a,${ v }", "parser": "csv"}), "jsonl": block({"data": '{"a": "${ v }"}\n', "parser": "jsonl"}),
    "a pattern": block({"data": "${ v }", "parser": {"regex": "(?P<a>.)", "mode": "search", "spec": {"a": "string"}}}), "all of a pattern": block({"data": "${ v }", "parser": {"regex": ".", "mode": "findall"}}),
    "a type": block({"data": "${ v }", "spec": "string"}), "a loop": block({"for": {"i": "${ ['x', v] }"}, "repeat": "${ i }"}), "a loop over its letters": block({"for": {"i": "${ v | list }"}, "repeat": "${ i }"}),
    "a loop with an array": block({"for": {"i": "${ [v] }"}, "repeat": "${ i }", "join": {"as": "array"}}), "a loop with objects": block({"for": {"i": "${ [v] }"}, "repeat": "${ {'a': i} }", "join": {"as": "object"}}),
    "the last of a loop": block({"for": {"i": "${ ['x', v] }"}, "repeat": "${ i }", "join": {"as": "lastOf"}}), "a reduced loop": {"w": {"for": {"i": "${ ['x', v] }"}, "repeat": "${ i }", "join": {
        "reduce": "${ plus }"}}, "defs": {"plus": {"function": {"p": None, "q": None}, "return": "${ p ~ q }"}}},
    "numbers around it": w("[1, 2] | join(v)"),
    "a loop that carries": {"w": {"lastOf": [{"repeat": {"def": "acc", "text": "${ acc }${ v }"}, "maxIterations": 2}, "${ acc }"]}, "defs": {"acc": {"data": ""}}},
    "map": block({"for": {"i": "${ [v, 'x'] }"}, "map": "${ i }"}), "map of calls": {"w": {"for": {"i": "${ [v] }"}, "map": "${ f(i) }", "join": {"as": "array"}}, "defs": F},
    "an if": block({"if": True, "then": "${ v }"}), "an if in an expression": w("v if true else 1"), "or": w("'' or v"), "and": w("true and v"),
    "a case": block({"match": "${ v }", "with": [{"case": {"any": None, "def": "m"}, "then": "${ m }"}]}), "a part of a case": block({"match": "${ {'a': [v]} }", "with": [{"case": {"object": {"a": {"array": [{"any": None, "def": "m"}]}}}, "then": "${ m }"}]}),
    "an object": block({"object": {"a": "${ v }"}}), "an array": block({"array": ["${ v }"]}), "the last": block({"lastOf": ["x", "${ v }"]}), "a sequence": block({"sequence": ["x", "${ v }"], "join": {"as": "array"}}),
    "get": block({"get": "v"}), "defs": block({"defs": {"z": "${ v }"}, "data": "${ z }"}), "a role": block({"lastOf": [{"role": "system", "text": "${ v }", "contribute": ["context"]}, "${ pdl_context[-1].content }"]}),
    "a message": block({"lastOf": [{"role": "user", "content": "${ v }", "contribute": ["context"]}, "${ pdl_context[-1].content }"]}),
    "the context as text": block({"lastOf": [{"text": "${ v }", "contribute": ["context"]}, "${ pdl_context }"]}), "the context as JSON": block({"lastOf": [{"text": "${ v }", "contribute": ["context"]}, "${ pdl_context | json }"]}),
    "a part of the context": block({"lastOf": [{"text": "${ v }", "contribute": ["context"]}, "${ pdl_context[-1:] }"]}), "the name of a message": block({"lastOf": [
        {"data": {"role": "user", "content": "x", "name": "${ v }"}, "contribute": [{"context": {"value": "${ [{'role': 'user', 'content': 'x', 'name': v}] }"}}]}, "${ pdl_context[-1].name }"]}),
    "a contribution to the context": block({"lastOf": [{"text": "x", "contribute": [{"context": {"value": "${ [{'role': 'user', 'content': v}] }"}}]}, "${ pdl_context[-1].content }"]}),
        "an aggregator": block({"lastOf": [{"def": "a", "aggregator": "context"}, {"data": "${ v }", "contribute": ["a"]}, "${ a.messages }"]}),
    "an included program": block({"include": "inner.pdl"}), "an imported function": block({"lastOf": [{"def": "m", "import": "module.pdl"}, "${ m.f(v) }"]}),
    "jinja": block({"lang": "jinja", "code": "{% for c in v %}{{ c }}{% endfor %}"}), "jinja: a macro": block({"lang": "jinja", "code": "{% macro m(a) %}{{ a }}{% endmacro %}{% set x = m(v) %}{{ x }}"}),
    "jinja: a scope": block({"lang": "jinja", "scope": {"z": "${ v }"}, "code": "{{ z }}"}), "jinja: a namespace": block({"lang": "jinja", "code": "{% set n = namespace(a=1) %}{% set n.a = v %}{{ n.a }}"}),
    "a computed program": block({"lang": "pdl", "code": "get: v"}), "a computed program with a scope": block({"lang": "pdl", "scope": {"z": "${ v }"}, "code": "get: z"}),
    "an error": block({"data": "${ stdlib.fail(v) }", "fallback": MESSAGE}), "an error as a whole": block({"data": "${ stdlib.fail(v) }", "fallback": "${ pdl_error | string }"}),
    "an error of a type": block({"lastOf": [{"data": "${ v }", "spec": {"enum": ["x"]}}], "fallback": MESSAGE}), "an error of a parser": block({"lastOf": [{"data": "${ v } [", "parser": "json"}], "fallback": MESSAGE}),
    "an error of a filter": block({"data": "${ v.no.attribute }", "fallback": MESSAGE}), "an error of a key": block({"data": "${ {}[v] }", "fallback": MESSAGE}),
    "an error of a number": block({"data": "${ v + 1 }", "fallback": MESSAGE}), "an error of an argument": {"w": {"call": "${ i }", "args": {"p": "${ v }"}, "fallback": MESSAGE}, "defs": {
        "i": {"function": {"p": "integer"}, "return": "${ p }"}}}, "an error of a pattern": block({"lastOf": [{"data": "${ v }", "parser": {"regex": "x", "mode": "fullmatch", "spec": {"a": "string"}}, "spec": {"a": "string"}}], "fallback": MESSAGE}),
    "an error of a case": block({"data": "${ stdlib.check(v, {'type': 'integer'}) }", "fallback": MESSAGE}), "an error inside a loop": block({"for": {"i": "${ [v] }"}, "repeat": "${ stdlib.fail(i) }", "fallback": MESSAGE}),
    "an error inside a map": block({"for": {"i": "${ [v] }"}, "map": "${ stdlib.fail(i) }", "fallback": MESSAGE}), "an error inside a function": {"w": {"data": "${ e(v) }", "fallback": MESSAGE}, "defs": {
        "e": {"function": {"p": None}, "return": "${ stdlib.fail(p) }"}}}, "an error of a computed program": block({"lang": "pdl", "scope": {"v": "${ v }"}, "code": "data: ${ stdlib.fail(v) }", "fallback": MESSAGE}),
    "an error after an error": block({"data": "${ stdlib.fail(v) }", "fallback": {"data": "${ stdlib.fail(pdl_error.message) }", "fallback": MESSAGE}}),
    "what a retry is told": block({"data": "${ stdlib.fail(v) if pdl_context | length == 0 else pdl_context[-1].content }", "retry": 1, "trace_error_on_retry": True}),
    "what a retry of a type is told": block({"data": "${ v if pdl_context | length == 0 else pdl_context[-1].content ~ '' }", "spec": {"type": "string", "pattern": "^.{5}"}, "retry": 1, "trace_error_on_retry": True}),
    "a library function": block({"lastOf": [{"def": "m", "import": "lib/tools/form"}, "${ m.text_of([v]) }"]}), "fill": w("stdlib.fill('{x}', {'x': v})"), "find_object": w("stdlib.find_object('{\"a\": \"' ~ v ~ '\"}', {'a': 'string'})"),
    "slots": w("stdlib.slots('{' ~ v ~ '}') | list"),
}
# ways that pass a sink: its rules are left out. Each is a run of its own, since processes and files remember
THROUGH = {
    "a model": (("model",), mock(input="${ v }")), "what a model knows of tools": (("model",), called(tools=[{"type": "function", "function": {"name": "n", "description": "${ v }", "parameters": {}}}])),
    "the whole response": (("model",), {"lastOf": [mock(input="${ v }", modelResponse="r"), "${ r.choices[0].message.content }"]}),
    "the message of a model": (("model",), {"lastOf": [mock(input="${ v }", contribute=["context"]), "${ pdl_context[-1].content }"]}),
    "python": (("code",), {"lang": "python", "code": "result = v"}), "python: what it prints": (("code",), {"lastOf": [{"lang": "python", "code": "print(v)\nresult = v[0]"}]}),
    "python: later": (("code",), {"lastOf": [{"lang": "python", "code": "keep = v\nPDL_SESSION.k = v\nresult = 1"}, {"lang": "python", "code": "result = 'abc'"}]}),
    "python: rebound": (("code",), {"defs": {"z": {"data": [1]}}, "lastOf": [{"lang": "python", "code": "z[0] = v\nresult = 1"}, "${ z }"]}),
    "python: an object": (("code",), {"lastOf": [{"def": "o", "lang": "python", "code": "class A: pass\nresult = A()\nresult.a = v"}, "${ o.a }"]}),
    "python: an error": (("code",), {"lang": "python", "code": "raise ValueError(v)", "fallback": MESSAGE}),
    "python: a function of the program": (("code",), {"defs": F, "lang": "python", "code": "result = f(v)"}), "python: a list": (("code",), {"lang": "python", "code": "result = [v]"}),
    "python: a program": (("code", "pdl"), {"lang": "python", "code": "from pdl.pdl import exec_str\nresult = exec_str('data: ' + repr(v))"}),
    "python: a scope": (("code", "pdl"), {"lang": "python", "code": "from pdl.pdl import exec_str\nresult = exec_str('get: z', scope={'z': v})"}),
    "a command": (("command",), {"lang": "command", "args": ["echo", "${ v }"]}), "a command: an error": (("command",), {"lang": "command", "args": ["cat", "./${ v }"], "fallback": MESSAGE}),
    "a command: later": (("command",), {"lastOf": [{"lang": "command", "args": ["true", "${ v }"]}, {"lang": "command", "args": ["echo", "abc"]}]}),
    "a tool": (("tool", "server"), "${ s.send(to=v) }"), "a request": (("tool", "server"), "${ s.request('other', {'x': v}) | string }"),
    "a file": (("write",), {"lastOf": [{"defs": {"g": {"aggregator": {"file": "mid"}}}, "data": "${ v }", "contribute": ["g"]}, {"read": "mid"}]}),
    "a file of code": (("code",), {"lastOf": [{"lang": "python", "code": "open('mid', 'w').write(v)\nresult = 1"}, {"read": "mid"}]}),
    "a file of a command": (("command",), {"lastOf": [{"lang": "command", "args": ["sh", "-c", "printf %s \"$0\" > mid", "${ v }"]}, {"read": "mid"}]}),
    "a file that is included": (("write", "include"), {"lastOf": [{"defs": {"g": {"aggregator": {"file": "gen.pdl"}}}, "data": "data: ${ v }", "contribute": ["g"]}, {"include": "gen.pdl"}]}),
    "a file that is imported": (("write", "import"), {"lastOf": [{"defs": {"g": {"aggregator": {"file": "gen.pdl"}}}, "data": "defs: {x: '${ v }'}\ndata: 1", "contribute": ["g"]},
                                                             {"def": "m", "import": "gen"}, "${ m.x }"]}),
    "a computed program from it": (("pdl",), {"lang": "pdl", "code": "data: ['${ v }']"}), "a template from it": (("template",), {"lang": "jinja", "code": "a ${ v }"}),
    "what was endorsed of another": (("endorse",), {"data": "${ v }", "endorse": {"labels": ["OTHER"], "why": "w"}}),
}


def in_sink(b, label):
    return json.loads(json.dumps(b).replace("LABEL", label))


def rows(ways, sinks, label):
    """[name], the blocks: each prints its number and what became of it."""
    names, blocks = [], []
    for way, made in ways.items():
        made = json.loads(json.dumps(made).replace("OTHER", "clock" if label != "clock" else "net"))
        inner = []
        for sink in sinks:
            names.append((way, sink))
            inner += ["%d=" % (len(names) - 1), {"text": in_sink(SINKS[sink], label), "fallback": "!${ pdl_error.kind } ${ pdl_error.message | truncate(150) | replace('\n', ' ') }", "context": "independent", "contribute": ["result"]}, "\n"]
        blocks.append({"context": "independent", "contribute": ["result"], "text": {"defs": {**made.get("defs", {}), "way": made["w"], "w": "${ way if way is string else way | string }"}, "text": inner},
                       "fallback": "WAY %s: ${ pdl_error.message }\n" % way})
    return names, blocks


class Folder:
    def __init__(self, pdl):
        self.pdl, self.d = pdl, tempfile.mkdtemp()
        for name, text in (("note", "abc"), ("inner.pdl", "data: ${ v }\n"), ("module.pdl", "defs:\n  f: {function: {p: }, return: '${ p }'}\ndata: 1\n"), ("server.py", SERVER),
                           ("mcp.json", tool_server.config())):
            Path(self.d, name).write_text(text)
        self.env = {**os.environ, "PDL_MCP_CONFIG": "mcp.json", "OPENAI_API_KEY": "k", "HOME": self.d, "XDG_STATE_HOME": self.d + "/state", "PDL_POLICY": "p.yaml"}

    def policy(self, label, without=()):
        Path(self.d, "p.yaml").write_text(json.dumps({"policy": 1, "rules": [{"sink": s, "deny": [label]} for s in ALL if s not in without], "otherwise": "allow"}))

    def run(self, *args, env=None, **more):
        p = subprocess.run([self.pdl, *args], cwd=self.d, env=env or self.env, capture_output=True, text=True, timeout=300, start_new_session=True, **{"stdin": subprocess.DEVNULL, **more})
        return p.stdout if p.returncode == 0 else p.stdout + "\nexit %d: %s" % (p.returncode, p.stderr[-1500:])

    def write(self, program, name="a.pdl"):
        Path(self.d, name).write_text(json.dumps(program) if not isinstance(program, str) else program)


# --- sources: how a run gets v, and what its label is -----------------------------------------------
def plain(defs, more=("a.pdl",), **options):
    def run(f, blocks):
        f.write({"defs": {"s": {"import": "mcp:s"}, **defs}, "text": [{"text": "\n", "contribute": ["result"]}, *blocks]})
        return f.run("--stream", "none", *more, **options)
    return run


def twice(first, second):
    """Once without the rows and with a policy that lets everything pass, so that the reply is there, then with both."""
    def run(f, blocks):
        program = {"defs": {"s": {"import": "mcp:s"}, "v": mock()}, "text": ["x"]}
        f.write(program)
        f.run(*first, "a.pdl", env={**f.env, "PDL_POLICY": "default"})
        f.write({**program, "text": blocks})
        return f.run(*second)
    return run


def resumed(f, blocks):
    f.write({"defs": {"s": {"import": "mcp:s"}, "v": mock()}, "text": [{"read": "go", "contribute": []}, *blocks]})
    f.run("--durable", "--stream", "none", "--id", "r", "a.pdl")
    Path(f.d, "go").write_text("")
    return f.run("resume", "r")


def of_a_batch(f, blocks):
    f.write({"defs": {"s": {"import": "mcp:s"}}, "text": blocks})
    Path(f.d, "in.jsonl").write_text('{"v": "abc"}\n')
    out = f.run("batch", "a.pdl", "--allow-files", "--input", "in.jsonl", "--output", "out.jsonl")
    return json.loads(Path(f.d, "out.jsonl").read_text())["result"] if Path(f.d, "out.jsonl").exists() else out


def posted(f, path, body, read):
    """What a server of the program answers."""
    p = subprocess.Popen([f.pdl, "serve", "--port", "0", "a.pdl"], cwd=f.d, env=f.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        line = p.stderr.readline() or p.stdout.readline()
        found = re.search(r"http://[^ ]*?:(\d+)", line)
        if not found:
            return line
        request = urllib.request.Request("http://127.0.0.1:%s%s" % (found.group(1), path), json.dumps(body).encode(), {"Content-Type": "application/json", "Accept": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            return read(json.load(answer))
    finally:
        p.terminate()
        p.communicate(timeout=60)


def served(f, blocks):
    """A message of a chat becomes the context; its text is v."""
    f.write({"defs": {"s": {"import": "mcp:s"}, "v": "${ pdl_context[-1].content }"}, "text": blocks})
    return posted(f, "/v1/chat/completions", {"messages": [{"role": "user", "content": "abc"}]}, lambda a: a["choices"][0]["message"]["content"])


def called_as_tool(f, blocks):
    """The argument of a program that is a tool; `question` is the context, too."""
    f.write({"defs": {"s": {"import": "mcp:s"}, "v": "${ pdl_context[-1].content }"}, "text": blocks, "description": "a program that takes ${ question }"})
    return posted(f, "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a", "arguments": {"question": "abc"}}},
                  lambda a: a["result"]["content"][0]["text"] if "result" in a else str(a))


def SOURCE(b, **more):
    return plain({"v": b}, **more)


def of_a_vector(f, blocks):
    """The service says how long it is."""
    class Handler(http_of.Quiet):
        def do_POST(self):
            self.body()
            self.reply(json.dumps({"object": "list", "model": "x", "data": [{"object": "embedding", "index": 0, "embedding": [0.5]}],
                                   "usage": {"prompt_tokens": 1, "total_tokens": 1}}).encode())
    port = http_of.serve(Handler).server_address[1]
    return SOURCE("${ 'abc' ~ (stdlib.embed('openai/x', ['a'], {'api_base': 'http://127.0.0.1:%d/v1'}) | length) }" % port)(f, blocks)


SOURCES = {
    "a model": ("model", SOURCE(mock())), "a tool": ("tool", SOURCE("${ s.send(to='x') }")),
    "a file": ("file", SOURCE({"read": "note"})), "a command": ("command", SOURCE({"lang": "command", "args": ["printf", "abc"]})),
    "code": ("code", SOURCE({"lang": "python", "code": "result = 'abc'"})), "a vector": ("net", of_a_vector),
    "a user": ("user", SOURCE({"read": None}, input="abc\n", stdin=None)),
}
FEW = {w: WAYS[w] for w in ("direct", "a member of a list", "in a text", "a parser", "a loop", "map", "a function", "an error", "a message", "what a retry is told")}


def sinks_without(*names):
    return {n: b for n, b in SINKS.items() if n not in names}


# a replay refuses what was not recorded before the policy is asked what goes there; rows of a batch would write one file
SPECIAL = {
    "a replay": ("model", twice(("--record", "j"), ("--stream", "none", "--replay", "j", "a.pdl")), FEW, sinks_without("write: content", "write: prefix")),
    "the cache": ("model", twice(("--cache", "c"), ("--stream", "none", "--cache", "c", "a.pdl")), FEW, SINKS), "a run that is resumed": ("model", resumed, FEW, SINKS),
    "a row of a batch": ("data", of_a_batch, FEW, sinks_without("write: content", "write: prefix")), "data of the command line": ("data", plain({}, ("--data", '{"v": "abc"}', "a.pdl")), FEW, SINKS),
    "a chat": ("user", served, FEW, SINKS), "a call of a program": ("user", called_as_tool, FEW, SINKS),
    "the program": ("model", plain({"v": "abc"}), {"direct": WAYS["direct"]}, SINKS),
}


def probe(pdl, source, label, run, ways, sinks, without=(), refused=True):
    names, blocks = rows(ways, sinks, label)
    f = Folder(pdl)
    f.policy(label, without)
    out = run(f, blocks)
    got = dict(re.findall(r"^(\d+)=(.*)", out, re.M))
    check("%s: every row is there" % source, len(got) == len(names), "%d of %d; %s" % (len(got), len(names), "\n".join(re.findall(r"WAY .*", out)) or out[-1000:]))
    for i, (way, sink) in enumerate(names):
        if str(i) in got:
            check("%s, %s, %s" % (source, way, sink), got[str(i)].startswith("!policy ") == refused, got[str(i)][:200])


@pytest.mark.parametrize("source", SOURCES)
def test_sources(pdl, part, source):
    label, run = SOURCES[source]
    probe(pdl, source, label, run, dict(part(WAYS.items(), 4, name=lambda row: source + row[0])), SINKS)


@pytest.mark.parametrize("source", SPECIAL)
def test_runs_of_other_kinds(pdl, source):
    label, run, ways, sinks = SPECIAL[source]
    probe(pdl, source, label, run, ways, sinks, refused=source != "the program")


def test_ways_through_a_sink(pdl, part):
    for way, (passes, made) in part(THROUGH.items(), 3, name=lambda row: row[0]):
        probe(pdl, "a model", "model", SOURCES["a model"][1], {way: {"w": made}}, {n: b for n, b in SINKS.items() if n.split(":")[0] not in passes}, passes)
