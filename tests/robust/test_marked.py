# SPDX-License-Identifier: Apache-2.0
"""A byte order mark before JSON, YAML or a table is no part of the text, for every reader: files, options, requests of clients, messages of
editors."""
import json
import os
import re
import subprocess
import sys
import urllib.request

import pytest

from .. import serve_of
from ..checks import check, same

MARK = "\ufeff"
SERVER = os.path.join(os.path.dirname(__file__), "..", "mcp", "server.py")
GIVEN = 'text: "hi ${ x }"\n'
PARSED = 'text:\n- {def: v, read: data, parser: PARSER}\n- "hi ${ v.x }"\n'

# what it is, its text (the mark comes before it), the program, the arguments; the output is "hi you"
FILES = [
    ("data of -f as JSON", '{"x": "you"}', GIVEN, ["-f", "data", "p.pdl"]),
    ("data of -f as YAML", "x: you\n", GIVEN, ["-f", "data", "p.pdl"]),
    ("parser: json", '{"x": "you"}', PARSED.replace("PARSER", "json"), ["p.pdl"]),
    ("parser: yaml", "x: you\n", PARSED.replace("PARSER", "yaml"), ["p.pdl"]),
    ("parser: csv", "x\nyou\n", PARSED.replace("PARSER", "{csv: header}").replace("v.x", "v[0].x"), ["p.pdl"]),
    ("a program", 'text: "hi you"\n', "", ["data"]),
    ("a program that is included", 'text: "hi you"\n', "text: [{include: data}]\n", ["p.pdl"]),
    ("a policy", "policy: 1\nrules: [{sink: command}]\n", 'text: "hi you"\n', ["--policy", "./data", "p.pdl"]),
    ("a table of prices", '{"openai/*": {"input": 1, "output": 1}}', 'text: "hi you"\n', ["--prices", "data", "p.pdl"]),
    ("rows of a batch as JSON", '{"x": "you"}\n', GIVEN, ["batch", "p.pdl", "-i", "data", "--format", "jsonl"]),
    ("rows of a batch as a table", "x\nyou\n", GIVEN, ["batch", "p.pdl", "-i", "data", "--format", "csv"]),
]


def test_files(pdl, folder):
    for name, text, program, args in FILES:
        (folder / "data").write_text(MARK + text, "utf-8")
        (folder / "p.pdl").write_text(program, "utf-8")
        done = subprocess.run([pdl, "--stream", "none", *args] if args[0] != "batch" else [pdl, *args], cwd=folder, capture_output=True, text=True, timeout=60)
        check(name, done.returncode == 0 and "hi you" in done.stdout, done.returncode, done.stdout, done.stderr)


def test_tool_servers_and_their_lock(pdl, folder):
    entry = {"command": sys.executable, "args": ["-I", "-S", SERVER, "good"]}
    (folder / "servers.json").write_text(MARK + json.dumps({"mcpServers": {"s": entry}}), "utf-8")
    (folder / "p.pdl").write_text('defs: {s: {import: "mcp:s"}}\ntext: ${ s.echo(text="hi you") }\n', "utf-8")
    env = {**os.environ, "PDL_MCP_CONFIG": "servers.json"}

    def run(*args):
        return subprocess.run([pdl, *args], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    same(run("p.pdl").stdout, "hi you\n")
    (folder / "policy.yaml").write_text("policy: 1\nlock: tools.lock\notherwise: allow\n", "utf-8")
    same(run("policy", "lock", "tools.lock").returncode, 0)
    (folder / "tools.lock").write_text(MARK + (folder / "tools.lock").read_text("utf-8"), "utf-8")
    done = run("--policy", "policy.yaml", "p.pdl")
    same((done.returncode, done.stdout), (0, "hi you\n"), done.stderr)


def post(port, path, body):
    asked = urllib.request.Request("http://127.0.0.1:%d%s" % (port, path), (MARK + json.dumps(body)).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return json.loads(answer.read())


def test_requests_of_clients(pdl, folder):
    (folder / "p.pdl").write_text("text: hi you\n", "utf-8")
    p, port = serve_of.start(pdl, "p.pdl", cwd=folder)
    try:
        asked = [{"role": "user", "content": "x"}]
        same(post(port, "/v1/chat/completions", {"model": "p", "messages": asked})["choices"][0]["message"]["content"], "hi you")
        same(post(port, "/v1/responses", {"model": "p", "input": "x"})["output"][0]["content"][0]["text"], "hi you")
    finally:
        p.terminate()
        p.wait()


def test_the_model_for_tests(pdl):
    p = subprocess.Popen([pdl, "mock", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        port = int(re.search(r":(\d+)/", p.stdout.readline()).group(1))
        same(post(port, "/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "hi you"}]})["choices"][0]["message"]["content"], "hi you")
    finally:
        p.terminate()
        p.wait()


HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}}


def framed(*messages):
    texts = [(MARK + json.dumps(m)).encode() for m in messages]
    return b"".join(b"Content-Length: %d\r\n\r\n" % len(t) + t for t in texts)


@pytest.mark.parametrize("args, sent, want", [
    (("serve", "--mcp", "p.pdl"), (MARK + json.dumps(HELLO) + "\n").encode(), b'"serverInfo"'),
    (("lsp",), framed(HELLO, {"jsonrpc": "2.0", "id": 2, "method": "shutdown"}, {"jsonrpc": "2.0", "method": "exit"}), b'"positionEncoding"'),
    (("dap",), framed({"seq": 1, "type": "request", "command": "initialize", "arguments": {}}, {"seq": 2, "type": "request", "command": "disconnect"}), b'"success":true'),
], ids=["mcp", "lsp", "dap"])
def test_messages(pdl, folder, args, sent, want):
    (folder / "p.pdl").write_text("text: hi you\n", "utf-8")
    done = subprocess.run([pdl, *args], cwd=folder, input=sent, capture_output=True, timeout=60)
    check("it is read", done.returncode == 0 and want in done.stdout, done.returncode, done.stdout, done.stderr)
