# SPDX-License-Identifier: Apache-2.0
"""Programs as tools of the Model Context Protocol: lines of JSON-RPC, POST /mcp, and the client of the `mcp` package of the Python registry over
both."""
import http.client
import json
import os
import re
import subprocess
import tempfile

import pytest

from .. import venv_of
from ..checks import check
from .kit import PDL, written

PROGRAMS = {
    "add": "description: adds\nfunction: {a: integer, b: {optional: integer}}\nreturn: {data: '${ a + (b | default(1)) }'}\n",
    "nothing": "function: {}\nreturn: {data: 7}\n",
    "greet": "description: greets\ndefs: {hello: Hello}\ntext: \"${ hello } ${ name }${ mark | default('!') }${ given }\"\n",
    "object": "data: {x: '${ n }'}\n",
    "talk": "text: said ${ pdl_context[-1].content }\n",
    "fail": "text: ${ 1 // zero }\n",
    "long": "text: ${ 'x' * size }\n",
    "slow": "lang: command\ncode: sleep 30\n",
    "says": "lang: python\ncode: |\n  print('noise', flush=True)\n  result = 'quiet'\n",
    "asks": "text: {if: true, then: {model: openai/none}}\n",
    "given": "model: openai/none\ninput: hi\n",
    "reads": "text: {read: null, fallback: no input}\n",
}


@pytest.fixture
def programs(folder):
    return written(folder, PROGRAMS)


def files(folder):
    return [str(folder / (name + ".pdl")) for name in PROGRAMS]


def request(i, method, **params):
    return {"jsonrpc": "2.0", "id": i, "method": method, "params": params}


def call(i, tool, /, **arguments):
    return request(i, "tools/call", name=tool, arguments=arguments)


class Lines:
    """A client on standard input and output."""

    def __init__(self, folder, *flags):
        self.p = subprocess.Popen([PDL, "serve", "--mcp", "-d", "given: ' ok'", *flags, *files(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, bufsize=1)

    def put(self, *messages):
        for m in messages:
            self.p.stdin.write((m if isinstance(m, str) else json.dumps(m)) + "\n")
        self.p.stdin.flush()

    def get(self):
        return json.loads(self.p.stdout.readline())

    def ask(self, m):
        self.put(m)
        return self.get()

    def close(self):
        self.p.stdin.close()
        rest, code = self.p.stdout.read(), self.p.wait(20)
        err = self.p.stderr.read()
        self.p.stdout.close()
        self.p.stderr.close()
        return code, rest, err


def said(answer):
    r = answer["result"]
    return r["content"][0]["text"].splitlines()[0], r["isError"]


# tool, arguments, text, is it an error
CALLS = [
    ("add", {"a": 2, "b": 3}, "5", False), ("add", {"a": 2}, "3", False), ("add", {}, "this argument is missing: a", True),
    ("add", {"a": 2, "pdl_context": []}, "there is no parameter pdl_context", True),
    ("object", {"n": 1, "pdl_model_default_parameters": []}, "there is no parameter pdl_model_default_parameters", True),
    ("add", {"a": "x"}, "Type errors during function call to ${ pdl_tool }:", True), ("nothing", {}, "7", False),
    ("greet", {"name": "Ann"}, "Hello Ann! ok", False), ("greet", {"name": "Ann", "mark": "?"}, "Hello Ann? ok", False),
    ("greet", {"mark": "?"}, "this argument is missing: name", True), ("object", {"n": 1}, '{"x": 1}', False), ("talk", {"question": "hi"}, "said hi", False),
    ("fail", {"zero": 0}, "Error during the evaluation of ${ 1 // zero }: integer division or modulo by zero", True), ("says", {"question": ""}, "quiet", False),
    ("reads", {"question": ""}, "no input", False), ("reads", {}, "no input", False), ("talk", {}, "this argument is missing: question", True),
    ("asks", {}, "this argument is missing: question", True),
]
# message, code
WRONG = [
    ("{", -32700), ("[" * 3000 + "]" * 3000, -32700), ('{"jsonrpc":"2.0","id":1,"method":"ping","params":%s1%s}' % ('{"a":' * 3000, "}" * 3000), -32700), ([], -32600), ({"id": 1, "method": "ping"}, -32600), ({"jsonrpc": "2.0", "id": None, "method": "ping"}, -32600),
    ({"jsonrpc": "2.0", "id": 1}, None), ({"jsonrpc": "2.0", "id": {}, "method": "ping"}, -32600), (request(1, "resources/list"), -32601),
    (call(1, "none"), -32602), (request(1, "tools/call", name="add", arguments=[1]), -32602), ({"jsonrpc": "2.0", "id": 1, "method": "tools/call"}, -32602),
]


def protocol(ask, name):
    """What is the same over both ways."""
    for version, answered in (("2025-06-18", "2025-06-18"), ("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-11-25")):
        r = ask(request(1, "initialize", protocolVersion=version, capabilities={}, clientInfo={"name": "t", "version": "1"}))["result"]
        check("%s: version %s" % (name, version), r["protocolVersion"] == answered and r["serverInfo"]["name"] == "pdl" and r["capabilities"] == {"tools": {}}, r)
    check(name + ": ping", ask(request("a", "ping")) == {"jsonrpc": "2.0", "id": "a", "result": {}})
    tools = {t["name"]: t for t in ask(request(2, "tools/list"))["result"]["tools"]}
    check(name + ": schema of a function", tools["add"]["description"] == "adds" and tools["add"]["inputSchema"] == {
        "type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}, tools["add"])
    check(name + ": schema of variables", tools["greet"]["inputSchema"] == {"type": "object", "properties": {"name": {}, "mark": {}}, "required": ["name"]} and
          tools["talk"]["inputSchema"]["required"] == ["question"] and tools["given"]["inputSchema"]["required"] == [] and set(tools) == set(PROGRAMS), tools)
    for tool, arguments, text, wrong in CALLS:
        r = ask(call(3, tool, **arguments))
        check("%s: %s %s" % (name, tool, arguments), said(r) == (text, wrong), r)
    check(name + ": an object", ask(call(3, "object", n=[1]))["result"]["structuredContent"] == {"x": [1]})
    check(name + ": a long answer", len(said(ask(call(3, "long", size=3000000)))[0]) == 3000000)
    for message, code in WRONG:
        if code:
            r = ask(message)
            check("%s: wrong: %.60s" % (name, message), r["error"]["code"] == code, r)


def test_lines(programs):
    c = Lines(programs)
    protocol(c.ask, "lines")
    check("the end of lines", c.close()[0] == 0)


def test_many_calls(programs):
    c = Lines(programs, "--max-requests", "3", "--max-waiting", "2")
    c.put({"jsonrpc": "2.0", "method": "notifications/initialized"}, {"jsonrpc": "2.0", "id": 1, "result": {}}, "", call(1, "slow", question=""), call(2, "add", a=1))
    check("others do not wait, and what is no question has no answer", c.get()["id"] == 2)
    c.put(*[call(10 + i, "slow", question="") for i in range(5)])
    r = c.get()
    check("too many", r["id"] == 14 and said(r) == ("as many requests as allowed are in flight", True), r)
    c.put(*[{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": i}} for i in (1, 10, 11, 12, 13)])
    check("cancelled, and nothing waits for a slow tool", said(c.ask(call(20, "add", a=1))) == ("2", False))
    c.put(*[call(i, "add", a=i) for i in range(100)])
    got = sorted(c.get()["id"] for _ in range(2)) # some are refused, all are answered
    check("many at a time", len(got) == 2)
    code, rest, err = c.close()
    check("the end", code == 0 and len(rest.splitlines()) == 98 and err.splitlines()[0].startswith("pdl: serving %d programs as tools" % len(PROGRAMS)), (code, err))


def test_limits_of_lines(programs):
    c = Lines(programs, "--request-time", "1")
    check("time", said(c.ask(call(1, "slow", question=""))) == ("the program did not end in time", True))
    try:
        c.put("x" * 40000000)
    except OSError:
        pass            # it has ended before all was written
    check("an endless line", c.get()["error"]["code"] == -32700 and c.p.wait(20) == 0)
    with open(os.devnull, encoding="utf-8") as null, tempfile.TemporaryFile() as file:
        p = subprocess.run([PDL, "serve", "--mcp", *files(programs)], stdin=file, stdout=null, stderr=subprocess.PIPE, timeout=20, check=False)
    check("no pipes", p.returncode == 1 and b"wants pipes" in p.stderr, p)


class Http:
    def __init__(self, folder):
        self.p = subprocess.Popen([PDL, "serve", "--mcp", "--port", "0", "-d", "given: ' ok'", *files(folder)], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.port = int(re.search(r":(\d+)/mcp", self.p.stderr.readline()).group(1))

    def post(self, message, method="POST", **headers):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            c.request(method, "/mcp", message if isinstance(message, str) else json.dumps(message), headers)
            r = c.getresponse()
            return r.status, r.read()
        finally:
            c.close()

    def ask(self, message):
        return json.loads(self.post(message)[1])


def test_http(programs):
    s = Http(programs)
    protocol(s.ask, "http")
    check("notification", s.post({"jsonrpc": "2.0", "method": "notifications/initialized"}) == (202, b""))
    check("no stream of its own", s.post("", "GET")[0] == 405)
    check("pages of elsewhere", s.post(request(1, "ping"), Origin="http://evil.example")[0] == 403)
    s.p.terminate()
    code, err = s.p.wait(20), s.p.stderr.read()
    check("http: the end", code == 0, (code, err))


CLIENT = '''
import asyncio
from sys import argv
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
import mcp.client.streamable_http as web
over_http = getattr(web, "streamable_http_client", None) or web.streamablehttp_client
async def talk(read, write):
    async with ClientSession(read, write) as s:
        await s.initialize()
        tools = (await s.list_tools()).model_dump(mode="json", by_alias=True)["tools"]
        print(tools[0]["name"], tools[0]["description"], tools[0]["inputSchema"]["required"])
        for name, arguments in (("add", {"a": 2, "b": 3}), ("object", {"n": 1}), ("fail", {"zero": 0})):
            r = (await s.call_tool(name, arguments)).model_dump(mode="json", by_alias=True)
            print(name, r["content"][0]["text"], r["isError"], r.get("structuredContent"))
        await s.send_ping()
async def main():
    if len(argv) == 2:
        async with over_http(argv[1]) as streams:
            await talk(streams[0], streams[1])
    else:
        async with stdio_client(StdioServerParameters(command=argv[1], args=argv[2:])) as (read, write):
            await talk(read, write)
asyncio.run(main())
'''
CLIENT_SAYS = """add adds ['a']
add 5 False None
object {"x": 1} False {'x': 1}
fail Error during the evaluation of ${ 1 // zero }: integer division or modulo by zero True None
"""


@pytest.mark.tier("all")
@pytest.mark.builds
@pytest.mark.parametrize("way", ("lines", "http"))
def test_real_client(programs, build, way):
    python, why = venv_of.python(build, "mcp")
    if not python:
        pytest.skip(why)
    where = [PDL, "serve", "--mcp", *files(programs)] if way == "lines" else ["http://127.0.0.1:%d/mcp" % Http(programs).port]
    p = subprocess.run([python, "-c", CLIENT, *where], capture_output=True, text=True, timeout=120, check=False)
    check("the client of the mcp package: " + way, p.stdout == CLIENT_SAYS, p.stdout + p.stderr[-800:])
