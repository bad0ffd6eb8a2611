"""A value that a policy redacts in traces or in the output does not reach the collector of telemetry either: not in the names of spans, nor in their
attributes, nor in texts of errors, whether or not content is requested.
SPDX-License-Identifier: Apache-2.0
"""
import http.server
import threading

import pytest

from ..checks import check
from .tries import run, servers, tool

SECRET = "hid7canary"
OBJECT = "class Box:\n    def fail(self): raise ValueError(str(self.w))\nresult = Box()\nresult.w = x"
BLOCKS = {
    "a command": {"lang": "command", "args": ["echo", "${ x }"]}, "the name of a command": {"lang": "command", "args": ["${ x }"]},
    "a command that fails": {"lang": "command", "args": ["cat", "${ x }"]}, "a command in a shell": {"lang": "command", "code": "${ x } now"},
    "code": {"lang": "python", "code": "result = x"}, "code that fails": {"lang": "python", "code": "raise ValueError(x)"}, "code that exits": {"lang": "python", "code": "import sys\nsys.exit(x)"},
    "an object": {"defs": {"o": {"lang": "python", "code": OBJECT}}, "data": "${ o.fail() }"}, "an attribute": {"defs": {"o": {"lang": "python", "code": OBJECT}}, "data": "${ o[x]() }"},
    "a tool": "${ s.send(to=x) }", "the name of a tool": "${ s.call_tool(x, {}) }", "a server": "${ pdl_tool_call(x, 'send', {}) }", "a method": "${ pdl_tool_request('s', x, {}) }",
    "a tool that fails": "${ s.bad(to=x) }", "what a tool says": "${ s.echo() }", "an error of a tool": "${ s.err() }",
    "a model": {"model": "openai/m", "input": "${ x }", "parameters": {"mock_response": "a"}}, "its answer": {"model": "openai/m", "input": "q", "parameters": {"mock_response": "${ x }"}},
    "the name of a model": {"model": "openai/${ x }", "input": "q", "parameters": {"mock_response": "a"}}, "the name of a service": {"model": "${ x }/m", "input": "q"},
    "a parameter": {"model": "openai/m", "input": "q", "parameters": {"mock_response": "a", "stop": ["${ x }"]}}, "a model that fails": {"model": "openai/m", "input": "q", "parameters": {"api_base": "http://127.0.0.1:9/${ x }", "num_retries": 0}},
    "a model that is tried next": {"model": "openai/m", "input": "q", "parameters": {"api_base": "http://127.0.0.1:9", "num_retries": 0, "fallbacks": ["openai/${ x }"]}},
    "a model that answers wrongly": {"model": "openai/m", "input": "q", "parser": "json", "spec": "integer", "parameters": {"mock_response": "\"${ x }\""}},
    "embeddings": "${ stdlib.embed('openai/' ~ x, ['a']) }", "texts": "${ stdlib.embed('openai/m', [x], parameters={'api_base': 'http://127.0.0.1:9', 'num_retries': 0}) }",
    "a path": {"read": "./${ x }"}, "fail": "${ stdlib.fail(x) }", "a key": "${ {}[x] }", "an index": "${ [1][x] }", "an attribute of nothing": "${ x.a.b }", "arithmetic": "${ x + 1 }",
    "a spec": {"data": "${ x }", "spec": "integer"}, "a parser": {"data": "${ x } {", "parser": "json"}, "yaml": {"data": "${ x }: [", "parser": "yaml"}, "an expression": "${ x | int / 0 }",
    "a fallback": {"data": "${ stdlib.fail(x) }", "fallback": "b"}, "a retry": {"data": "${ stdlib.fail(x) }", "retry": 1, "fallback": "b", "def": "z"},
    "a computed program": {"lang": "pdl", "code": "{def: ${ x }, data: 1}"}, "its description": {"lang": "pdl", "code": "{description: ${ x }, data: 1}"}, "that is wrong": {"lang": "pdl", "code": "{${ x }: 1}"},
    "its places": {"lang": "pdl", "code": "defs: {${ x }: {data: 1}}\ntext: [{def: a, lang: command, args: [echo]}]"}, "its functions": {"lang": "pdl", "code": "defs: {${ x }: {function: null, return: a}}\ncall: ${'$'}{ ${ x } }"},
    "its keys": {"lang": "pdl", "code": "object: {${ x }: {def: a, lang: command, args: [echo, b]}}"},
    "its import": {"lang": "pdl", "code": "import: ${ x }"}, "its include": {"lang": "pdl", "code": "include: ${ x }.pdl"}, "a server of it": {"lang": "pdl", "code": "import: mcp:${ x }"},
    "a call": {"call": "${ x }"}, "arguments": {"defs": {"f": {"function": {"a": "integer"}, "return": "b"}}, "call": "${ f }", "args": {"a": "${ x }"}},
    "a template": {"lang": "jinja", "code": "{{ nothing[x].a.b }}"}, "a file": {"defs": {"o": {"aggregator": {"file": "${ x }/no/such"}}}, "data": "a", "contribute": ["o"]},
    "a loop": {"for": {"i": "${ x }"}, "repeat": "a"}, "a match": {"match": "${ x }", "with": [{"case": "q", "then": "a"}]}, "an assertion": {"data": "${ stdlib.check(x, 'integer') }"},
}


class Collector(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.server.got.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *args):
        pass


@pytest.fixture
def collector():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    server.got = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


@pytest.mark.parametrize("sink", ("trace", "output"))
@pytest.mark.parametrize("content", (True, False))
def test_a_secret(pdl, folder, part, collector, content, sink):
    policy = {"labels": {"secret": [{"read": "note"}]}, "rules": [{"sink": sink, "deny": ["secret"]}], "otherwise": "allow"}
    servers(folder, s=([tool("send", "to"), {**tool("bad"), "inputSchema": {"type": "object", "properties": {"to": {"enum": ["a"]}}}}], {}))
    more = ["--otlp-content"] if content else []
    for name, block in part(BLOCKS.items(), 6, name=lambda row: "%s, %s, %s" % (row[0], content, sink)):
        for hidden in (False, True) if content and sink == "trace" else (True,):
            program = {"defs": {"s": {"import": "mcp:s"}, "x": {"read": "note"}}, "text": [block]}
            collector.got.clear()
            (folder / "t.json").unlink(missing_ok=True)
            out, err = run(pdl, folder, program, "--trace", "t.json", "--otlp", "http://127.0.0.1:%d" % collector.server_port, *more, policy=policy if hidden else None, files={"note": SECRET})
            sent = b"".join(collector.got).decode()
            if not hidden:
                check(name + ": spans arrive", "resourceSpans" in sent, out, err)
            else:
                check(f"{name}: hidden by {sink}", SECRET not in sent and "resourceSpans" in sent, sent[max(0, sent.find(SECRET) - 300):sent.find(SECRET) + 100], err)
                shown = out + err if sink == "output" else (folder / "t.json").read_text()
                check(f"{name}: hidden in the {sink} itself", SECRET not in shown, shown)


def test_places_in_a_recording(pdl, folder):
    """The keys of a program that a text gave are in the places of its blocks and effects."""
    policy = {"labels": {"secret": [{"read": "note"}]}, "rules": [{"sink": "journal", "deny": ["secret"]}], "otherwise": "allow"}
    servers(folder, s=([], {}))
    for name in ("its places", "its functions", "its keys"):
        for hidden in (False, True):
            (folder / "r.journal").unlink(missing_ok=True)
            program = {"defs": {"x": {"read": "note"}}, "text": [BLOCKS[name]]}
            out, err = run(pdl, folder, program, "--record", "r.journal", policy=policy if hidden else None, files={"note": SECRET})
            check(f"{name}, {hidden}", (SECRET.encode() in (folder / "r.journal").read_bytes()) != hidden, out, err)
